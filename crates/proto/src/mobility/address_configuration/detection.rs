//! Address assignment: multicast group, duplicate address detection, and the choice of the router in use.

use super::{AddressConfiguration, Attachment, ConfigurationEvent, Repeat};
use crate::mobility::{append, discovery, listener_report, retain};
use crate::time::{Duration, Instant};
use crate::wire::neighbor_discovery::{
    NeighborDiscovery, NeighborSolicitation, solicited_node_multicast,
};
use crate::wire::prefix::Ipv6Prefix;
use core::net::Ipv6Addr;
use core::num::NonZeroU8;

/// Method of ensuring that an address is unique on the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuplicateAddressDetection {
    /// Duplicate address detection: DupAddrDetectTransmits neighbour solicitations without an answer (RFC 4862 section
    /// 5.1).
    Perform {
        /// Number of neighbour solicitations; the standard's default is one.
        transmits: NonZeroU8,
    },
    /// No detection, because the address is unique for this reason.
    NotNeeded(Uniqueness),
}

impl DuplicateAddressDetection {
    /// Standard detection, with one solicitation.
    pub const STANDARD: DuplicateAddressDetection = DuplicateAddressDetection::Perform {
        transmits: NonZeroU8::MIN,
    };

    /// Returns the number of neighbour solicitations to send.
    pub(crate) const fn transmits(self) -> u8 {
        match self {
            DuplicateAddressDetection::Perform { transmits } => transmits.get(),
            DuplicateAddressDetection::NotNeeded(_) => 0,
        }
    }
}

/// Reason for an address to be unique without detection (study D, section 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uniqueness {
    /// The interface identifier is the aircraft's own ICAO address.
    IcaoAddress,
    /// The prefix is assigned to this mobile alone.
    HomeNetworkPrefix,
}

/// Prefix of link-local addresses (RFC 4291 section 2.5.6).
pub(crate) const LINK_LOCAL: Ipv6Prefix =
    match Ipv6Prefix::new(Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, 0), 64) {
        Some(prefix) => prefix,
        None => unreachable!(),
    };

/// A tentative address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Detection {
    pub(super) address: Ipv6Addr,
    /// Time of the next solicitation or, with none left, of the assignment.
    pub(super) at: Instant,
    pub(super) left: u8,
}

/// Returns the end of an address's validity after an advertisement of its prefix's valid lifetime (RFC 4862 section
/// 5.5.3 e). A lifetime below two hours leaves at least the smaller of two hours and the remaining time, so that a
/// forged advertisement cannot end an address.
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
        let identifier = u128::from(self.interface_identifier);
        prefix.address_of(Ipv6Addr::from_bits(identifier))
    }

    /// Returns the link-local address, or `::` until it is ready.
    pub(super) fn source(&self) -> Ipv6Addr {
        let link_local = self.address_in(LINK_LOCAL);
        match self.has(link_local) {
            true => link_local,
            false => Ipv6Addr::UNSPECIFIED,
        }
    }

    /// Starts the assignment of an address, unless it has already begun.
    pub(super) fn configure(&mut self, now: Instant, address: Ipv6Addr, multicast: bool) {
        let known = self.detections.iter().any(|one| one.address == address);
        if known || self.has(address) || self.duplicates.contains(&address) {
            return;
        }
        let left = self.settings.detection.transmits();
        // RFC 4862 section 5.4.2: nodes that came up together, or heard the same advertisement, must not all send at
        // once.
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
        append(&mut self.detections, Detection { address, at, left });
    }

    /// Performs the steps due for tentative addresses.
    pub(super) fn step_detections(&mut self, now: Instant) {
        for place in 0..self.detections.len() {
            let Detection { address, at, left } = self.detections[place];
            if at > now {
                continue;
            }
            // RFC 4862 section 5.4.2: join the group before soliciting the address.
            self.join(now, solicited_node_multicast(address));
            if left == 0 {
                append(&mut self.assigned, address);
            } else {
                self.outbox.push_back(probe(address));
                self.detections[place].left = left - 1;
                self.detections[place].at = now + self.retransmission_time;
            }
        }
        let assigned = &self.assigned;
        retain(&mut self.detections, |one| !assigned.contains(&one.address));
    }

    pub(super) fn join(&mut self, now: Instant, group: Ipv6Addr) {
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
        append(&mut self.groups, (group, again));
    }

    /// Attaches to the first-heard router still present whose prefix is usable.
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

/// Builds the neighbour solicitation of duplicate address detection (RFC 4862 section 5.4.2).
pub(crate) fn probe(target: Ipv6Addr) -> crate::packet::Packet {
    let message = NeighborDiscovery::NeighborSolicitation(NeighborSolicitation {
        target,
        source_link_layer_address: None,
    });
    let group = solicited_node_multicast(target);
    discovery(Ipv6Addr::UNSPECIFIED, group, message)
}
