//! Addresses on their way from made to ready: group, duplicate address detection, assignment.

use super::{AddressConfiguration, Attachment, ConfigurationEvent, Repeat};
use crate::mobility::{discovery, listener_report};
use crate::time::{Duration, Instant};
use crate::wire::neighbor_discovery::{
    NeighborDiscovery, NeighborSolicitation, solicited_node_multicast,
};
use crate::wire::prefix::Ipv6Prefix;
use core::net::Ipv6Addr;
use core::num::NonZeroU8;

/// How it is known that nobody else on the link has an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuplicateAddressDetection {
    /// By asking: so many neighbour solicitations without an answer (DupAddrDetectTransmits, RFC 4862 section 5.1).
    Perform {
        /// Neighbour solicitations; the standard's default is one.
        transmits: NonZeroU8,
    },
    /// It cannot be otherwise, for this reason, so nobody is asked.
    NotNeeded(Uniqueness),
}

impl DuplicateAddressDetection {
    /// One solicitation.
    pub const STANDARD: DuplicateAddressDetection = DuplicateAddressDetection::Perform {
        transmits: NonZeroU8::MIN,
    };

    /// Neighbour solicitations to send.
    pub(crate) const fn transmits(self) -> u8 {
        match self {
            DuplicateAddressDetection::Perform { transmits } => transmits.get(),
            DuplicateAddressDetection::NotNeeded(_) => 0,
        }
    }
}

/// Why an address is unique without asking (study D, section 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uniqueness {
    /// Its interface identifier is the aircraft's ICAO address, which no other aircraft has.
    IcaoAddress,
    /// Its prefix is assigned to this mobile alone.
    HomeNetworkPrefix,
}

/// The prefix of addresses that hold on one link (RFC 4291 section 2.5.6).
pub(super) const LINK_LOCAL: Ipv6Prefix =
    match Ipv6Prefix::new(Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, 0), 64) {
        Some(prefix) => prefix,
        None => unreachable!(),
    };

/// An address that is not ready.
#[derive(Clone, Copy, Debug)]
pub(super) struct Detection {
    pub(super) address: Ipv6Addr,
    /// When the next solicitation goes out, or with none left, when the address is ready.
    pub(super) at: Instant,
    pub(super) left: u8,
}

/// Until when an address is valid by an advertisement of its prefix's valid lifetime, after the rules of RFC 4862
/// section 5.5.3 e: a lifetime below two hours shortens what is known to two hours at most, so that nobody can end
/// an address by forging an advertisement.
pub(super) fn valid_until(now: Instant, known: Option<Instant>, lifetime_s: u32) -> Instant {
    const TWO_HOURS: Duration = Duration::from_secs(2 * 3600);
    if lifetime_s == u32::MAX {
        return Instant::NEVER;
    }
    let lifetime = Duration::from_secs(u64::from(lifetime_s));
    let remaining = known.map_or(Duration::ZERO, |known| known.saturating_since(now));
    if lifetime > TWO_HOURS || lifetime > remaining {
        now + lifetime
    } else {
        now + remaining.min(TWO_HOURS)
    }
}

impl AddressConfiguration {
    pub(super) fn address_in(&self, prefix: Ipv6Prefix) -> Ipv6Addr {
        let identifier = u128::from(self.settings.interface_identifier);
        prefix.address_of(Ipv6Addr::from_bits(identifier))
    }

    /// The link-local address, or none as long as it is not ready.
    pub(super) fn source(&self) -> Ipv6Addr {
        let link_local = self.address_in(LINK_LOCAL);
        match self.has(link_local) {
            true => link_local,
            false => Ipv6Addr::UNSPECIFIED,
        }
    }

    /// Begins to make an address ready, unless that has begun before.
    pub(super) fn configure(&mut self, now: Instant, address: Ipv6Addr, multicast: bool) {
        let known = self.detections.iter().any(|one| one.address == address);
        if known || self.has(address) || self.duplicates.contains(&address) {
            return;
        }
        let left = self.settings.detection.transmits();
        // RFC 4862 section 5.4.2: nodes that all came up now, or have all heard the same advertisement, must not
        // all speak at once.
        let at = if left == 0 {
            now
        } else if now < self.first_message {
            self.first_message
        } else if multicast {
            now + self
                .draws
                .up_to(self.settings.times.longest_solicitation_delay)
        } else {
            now
        };
        self.detections.push(Detection { address, at, left });
    }

    /// Takes the steps of tentative addresses that are due.
    pub(super) fn step_detections(&mut self, now: Instant) {
        for place in 0..self.detections.len() {
            let Detection { address, at, left } = self.detections[place];
            if at > now {
                continue;
            }
            // The group is joined before the address is asked for (RFC 4862 section 5.4.2).
            self.join(now, solicited_node_multicast(address));
            if left == 0 {
                self.assigned.push(address);
            } else {
                self.outbox.push_back(probe(address));
                self.detections[place].left = left - 1;
                self.detections[place].at = now + self.retransmission_time;
            }
        }
        let assigned = &self.assigned;
        self.detections
            .retain(|one| !assigned.contains(&one.address));
    }

    fn join(&mut self, now: Instant, group: Ipv6Addr) {
        if self.groups.iter().any(|&(joined, _)| joined == group) {
            return;
        }
        let report = listener_report(self.source(), group);
        self.outbox.push_back(report);
        let again = Repeat {
            at: now
                + self
                    .draws
                    .up_to(self.settings.times.longest_report_interval),
            left: self.settings.times.reports.saturating_sub(1),
        };
        self.groups.push((group, again));
    }

    /// The router that was heard first and is still there is the one in use; another is gone over to when it is gone.
    pub(super) fn update_attachment(&mut self) {
        let attachments = self.routers.iter().map(|router| {
            let address = self.address_in(router.prefix);
            if self.settings.home_prefix == Some(router.prefix) {
                Attachment::Home
            } else if self.has(address) {
                Attachment::Away(address)
            } else {
                Attachment::None
            }
        });
        let attachment = attachments
            .into_iter()
            .find(|&attachment| attachment != Attachment::None)
            .unwrap_or(Attachment::None);
        if attachment != self.attachment {
            self.attachment = attachment;
            self.events
                .push_back(ConfigurationEvent::Attached(attachment));
        }
    }
}

/// The question of duplicate address detection (RFC 4862 section 5.4.2).
pub(crate) fn probe(target: Ipv6Addr) -> crate::packet::Packet {
    let message = NeighborDiscovery::NeighborSolicitation(NeighborSolicitation {
        target,
        source_link_layer_address: None,
    });
    let group = solicited_node_multicast(target);
    discovery(Ipv6Addr::UNSPECIFIED, group, message)
}
