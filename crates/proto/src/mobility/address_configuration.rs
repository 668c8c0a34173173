//! IPv6 address configuration of a node on a link: router discovery, stateless address configuration, multicast
//! listener reports and duplicate address detection.
//!
//! RFC 4861 section 6.3 (routers), RFC 4862 sections 5.4 and 5.5 (addresses), RFC 3810 section 6.1 (reports). Call
//! [`link_up`](AddressConfiguration::link_up) and [`link_down`](AddressConfiguration::link_down) on link events,
//! [`handle_discovery`](AddressConfiguration::handle_discovery) for arriving messages, and
//! [`handle_timeout`](AddressConfiguration::handle_timeout) at [`poll_timeout`](AddressConfiguration::poll_timeout);
//! after each, drain [`poll_transmit`](AddressConfiguration::poll_transmit) and
//! [`poll_event`](AddressConfiguration::poll_event).

mod detection;

pub use detection::{DuplicateAddressDetection, Uniqueness};
pub(crate) use detection::{LINK_LOCAL, probe};

use super::draws::Draws;
use super::{append, discovery, listener_report, retain};
use crate::host::burst::Burst;
use crate::packet::Packet;
use crate::time::{Duration, Instant};
use crate::wire::neighbor_discovery::{
    ALL_NODES, ALL_ROUTERS, AnchorPoint, NeighborAdvertisement, NeighborDiscovery,
    NeighborSolicitation, PrefixInformation, ProxyRouter, RouterAdvertisement, RouterSolicitation,
    solicited_node_multicast,
};
use crate::wire::prefix::Ipv6Prefix;
use core::net::Ipv6Addr;
use detection::{Detection, valid_until};
use std::sync::Arc;

/// Timers and counts of the protocols, with the standards' defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigurationTimes {
    /// MAX_RTR_SOLICITATION_DELAY: maximum random delay of the first message on a link (RFC 4861 section 10).
    pub longest_solicitation_delay: Duration,
    /// RTR_SOLICITATION_INTERVAL between router solicitations (RFC 4861 section 10).
    pub solicitation_interval: Duration,
    /// MAX_RTR_SOLICITATIONS (RFC 4861 section 10).
    pub solicitations: u8,
    /// RetransTimer between neighbour solicitations, unless a router advertises another (RFC 4861 section 10).
    pub retransmission_time: Duration,
    /// Unsolicited Report Interval: maximum random time to the repetition of a listener report (RFC 3810 section 9.11).
    pub longest_report_interval: Duration,
    /// Robustness Variable: number of transmissions of a listener report (RFC 3810 section 9.1).
    pub reports: u8,
}

impl Default for ConfigurationTimes {
    fn default() -> ConfigurationTimes {
        ConfigurationTimes {
            longest_solicitation_delay: Duration::from_secs(1),
            solicitation_interval: Duration::from_secs(4),
            solicitations: 3,
            retransmission_time: Duration::from_secs(1),
            longest_report_interval: Duration::from_secs(1),
            reports: 2,
        }
    }
}

/// Makes the interface identifier of an aircraft from its 24-bit ICAO address, behind forty zero bits (study D, figure
/// 5; RFC 4291 appendix A, "links with other kinds of identifiers"). Ignores higher bits of the argument.
pub const fn icao_interface_identifier(icao_address: u32) -> u64 {
    (icao_address & 0xFF_FFFF) as u64
}

/// Makes the interface identifier of a 48-bit link-layer address: `fffe` in the middle, and the universal/local bit
/// inverted (RFC 4291 appendix A).
pub const fn ethernet_interface_identifier(address: [u8; 6]) -> u64 {
    let [a, b, c, d, e, f] = address;
    u64::from_be_bytes([a ^ 2, b, c, 0xFF, 0xFE, d, e, f])
}

/// Settings that interfaces may have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigurationSettings {
    /// Method of duplicate address detection.
    pub detection: DuplicateAddressDetection,
    /// Timers and counts of the protocols.
    pub times: ConfigurationTimes,
    /// The mobile's home prefix: no address is configured from it, since the mobile already has its home address there.
    pub home_prefix: Option<Ipv6Prefix>,
}

/// Attachment of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attachment {
    /// No known router, or no address ready.
    None,
    /// A router that advertises the home prefix.
    Home,
    /// An address, ready for use, of a router's prefix.
    Away(Ipv6Addr),
}

/// Event on an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigurationEvent {
    /// The attachment has changed.
    Attached(Attachment),
    /// Another node has this address, so it is not used on this link (RFC 4862 section 5.4.5).
    Duplicate(Ipv6Addr),
}

/// A router that advertised itself.
#[derive(Clone, Debug)]
struct Router {
    link_local: Ipv6Addr,
    /// The router's own address in the prefix, if advertised (RFC 6275 section 7.2).
    address: Option<Ipv6Addr>,
    prefix: Ipv6Prefix,
    /// Time until which the router counts as present: its lifetime, or three advertisement intervals, if shorter.
    until: Instant,
    /// End of the valid lifetime of addresses in the prefix.
    valid_until: Instant,
    /// True once it has advertised itself.
    is_advertised: bool,
    /// Mobility anchor points in the latest advertisement, and its time; `None` without any.
    anchor_points: Option<Box<(Vec<AnchorPoint>, Instant)>>,
}

/// Schedule of a repeated message.
#[derive(Clone, Copy, Debug)]
struct Repeat {
    at: Instant,
    left: u8,
}

impl Repeat {
    const NONE: Repeat = Repeat {
        at: Instant::ZERO,
        left: 0,
    };
}

/// Address configuration of one interface.
#[derive(Clone, Debug)]
pub struct AddressConfiguration {
    /// Last 64 bits of all addresses.
    interface_identifier: u64,
    settings: Arc<ConfigurationSettings>,
    draws: Draws,
    up: bool,
    retransmission_time: Duration,
    /// Earliest time of the first message on the link; earlier ones wait.
    first_message: Instant,
    /// With none left no router is solicited.
    solicitation: Repeat,
    routers: Box<[Router]>,
    detections: Box<[Detection]>,
    assigned: Box<[Ipv6Addr]>,
    duplicates: Box<[Ipv6Addr]>,
    groups: Box<[(Ipv6Addr, Repeat)]>,
    attachment: Attachment,
    outbox: Burst<Packet>,
    events: Burst<ConfigurationEvent>,
}

impl AddressConfiguration {
    /// Creates an interface whose link is down; `interface_identifier` is the last 64 bits of all its addresses.
    pub fn new(
        interface_identifier: u64,
        settings: Arc<ConfigurationSettings>,
        draws: Draws,
    ) -> AddressConfiguration {
        AddressConfiguration {
            interface_identifier,
            retransmission_time: settings.times.retransmission_time,
            settings,
            draws,
            up: false,
            first_message: Instant::ZERO,
            solicitation: Repeat::NONE,
            routers: Box::default(),
            detections: Box::default(),
            assigned: Box::default(),
            duplicates: Box::default(),
            groups: Box::default(),
            attachment: Attachment::None,
            outbox: Burst::default(),
            events: Burst::default(),
        }
    }

    /// Returns the current attachment.
    pub const fn attachment(&self) -> Attachment {
        self.attachment
    }

    /// Returns true if the address belongs to this interface and is ready for use.
    pub fn has(&self, address: Ipv6Addr) -> bool {
        self.assigned.contains(&address)
    }

    /// Returns true while the link is up.
    pub fn is_up(&self) -> bool {
        self.up
    }

    /// Returns true for this interface's link-local address, ready for use or not.
    pub fn is_link_local(&self, address: Ipv6Addr) -> bool {
        self.up && address == self.address_in(LINK_LOCAL)
    }

    /// Returns the global address of the router in use, if it advertised one.
    pub fn router_address(&self) -> Option<Ipv6Addr> {
        self.router_in_use()?.address
    }

    /// Returns the mobility anchor points in the latest advertisement of the router in use, and its time; `None` if it
    /// has not advertised itself.
    pub fn anchor_points(&self) -> Option<(&[AnchorPoint], Instant)> {
        let router = self.router_in_use().filter(|router| router.is_advertised)?;
        let points = router.anchor_points.as_deref();
        Some(points.map_or((&[][..], Instant::ZERO), |(points, heard)| (points, *heard)))
    }

    fn router_in_use(&self) -> Option<&Router> {
        let serves = |router: &&Router| match self.attachment {
            Attachment::None => false,
            Attachment::Home => self.settings.home_prefix == Some(router.prefix),
            Attachment::Away(address) => router.prefix.contains(address),
        };
        self.routers.iter().find(serves)
    }

    /// Restarts the configuration on a link that is up, perhaps at another router (RFC 6275 section 11.5.1).
    pub fn link_up(&mut self, now: Instant) {
        self.link_down();
        self.up = true;
        let longest = self.settings.times.longest_solicitation_delay;
        self.first_message = now + self.draws.up_to(longest);
        self.solicit(self.first_message);
        let link_local = self.address_in(LINK_LOCAL);
        self.configure(now, link_local, false);
        self.handle_timeout(now);
    }

    /// Uses an address of which the router on this link has said ahead that it is free (RFC 5568 section 4). The router
    /// counts as present until all solicitations would have gone unanswered, unless it advertises itself.
    pub fn assume(&mut self, now: Instant, router: ProxyRouter) {
        let times = &self.settings.times;
        let solicitations = times.solicitation_interval;
        let solicitations = solicitations.saturating_mul(times.solicitations.into());
        let until = now + times.longest_solicitation_delay + solicitations;
        let address = self.address_in(router.prefix);
        let assumed = Router {
            link_local: Ipv6Addr::UNSPECIFIED,
            address: Some(router.address),
            prefix: router.prefix,
            until,
            valid_until: until,
            is_advertised: false,
            anchor_points: None,
        };
        append(&mut self.routers, assumed);
        append(&mut self.assigned, address);
        self.join(now, solicited_node_multicast(address));
        self.update_attachment();
    }

    /// Forgets all addresses and routers, since the link is down.
    pub fn link_down(&mut self) {
        self.up = false;
        self.retransmission_time = self.settings.times.retransmission_time;
        self.solicitation = Repeat::NONE;
        self.routers = Box::default();
        self.detections = Box::default();
        self.assigned = Box::default();
        self.duplicates = Box::default();
        self.groups = Box::default();
        self.outbox.clear();
        self.update_attachment();
    }

    /// Takes in a Neighbor Discovery message from the link. `multicast`: its destination was a multicast address. The
    /// caller has checked that its hop limit is 255.
    pub fn handle_discovery(
        &mut self,
        now: Instant,
        (source, multicast): (Ipv6Addr, bool),
        message: &NeighborDiscovery,
    ) {
        if !self.up {
            return;
        }
        match message {
            NeighborDiscovery::RouterAdvertisement(advertisement) => {
                self.handle_advertisement(now, (source, multicast), advertisement);
            }
            NeighborDiscovery::NeighborSolicitation(solicitation) => {
                self.handle_solicitation(source, solicitation);
            }
            NeighborDiscovery::NeighborAdvertisement(advertisement) => {
                self.handle_claim(advertisement.target);
            }
            NeighborDiscovery::RouterSolicitation(_)
            | NeighborDiscovery::ProxySolicitation(_)
            | NeighborDiscovery::ProxyAdvertisement(_) => {}
        }
        self.handle_timeout(now);
    }

    fn handle_advertisement(
        &mut self,
        now: Instant,
        (source, multicast): (Ipv6Addr, bool),
        advertisement: &RouterAdvertisement,
    ) {
        // RFC 4861 section 6.1.2: the source must be a link-local address.
        if !LINK_LOCAL.contains(source) {
            return;
        }
        if advertisement.router_lifetime_s == 0 {
            retain(&mut self.routers, |router| router.link_local != source);
            self.forget_addresses();
            return;
        }
        self.solicitation = Repeat::NONE;
        if advertisement.retransmission_time_ms > 0 {
            let milliseconds = u64::from(advertisement.retransmission_time_ms);
            self.retransmission_time = Duration::from_millis(milliseconds);
        }
        let usable = |prefix: &&PrefixInformation| {
            prefix.autonomous
                && prefix.prefix.length() == 64
                && prefix.valid_lifetime_s > 0
                && prefix.preferred_lifetime_s <= prefix.valid_lifetime_s
                && prefix.prefix != LINK_LOCAL
        };
        let Some(information) = advertisement.prefixes.iter().find(usable) else {
            return;
        };
        let router = self.router(now, source, advertisement, information);
        retain(&mut self.routers, |known| {
            !known.link_local.is_unspecified() || known.prefix != information.prefix
        });
        match self
            .routers
            .iter_mut()
            .find(|known| known.link_local == source)
        {
            Some(known) => *known = router,
            None => append(&mut self.routers, router),
        }
        if self.settings.home_prefix != Some(information.prefix) {
            let address = self.address_in(information.prefix);
            self.configure(now, address, multicast);
        }
    }

    fn router(
        &self,
        now: Instant,
        source: Ipv6Addr,
        advertisement: &RouterAdvertisement,
        information: &PrefixInformation,
    ) -> Router {
        let seconds = |seconds: u32| Duration::from_secs(u64::from(seconds));
        let lifetime = now + seconds(u32::from(advertisement.router_lifetime_s));
        // RFC 6275 section 11.5.1: missing advertisements show that the router is gone. Chosen: after three intervals,
        // as in the default of the router lifetime.
        let heard = advertisement
            .advertisement_interval_ms
            .map(|interval| now + Duration::from_millis(u64::from(interval)).saturating_mul(3));
        let known = self
            .routers
            .iter()
            .find(|known| known.link_local == source && known.prefix == information.prefix);
        Router {
            link_local: source,
            address: information.router_address,
            prefix: information.prefix,
            until: heard.map_or(lifetime, |heard| heard.min(lifetime)),
            valid_until: valid_until(
                now,
                known.map(|known| known.valid_until),
                information.valid_lifetime_s,
            ),
            is_advertised: true,
            anchor_points: (!advertisement.anchor_points.is_empty())
                .then(|| Box::new((advertisement.anchor_points.clone(), now))),
        }
    }

    fn handle_solicitation(&mut self, source: Ipv6Addr, solicitation: &NeighborSolicitation) {
        let target = solicitation.target;
        if source.is_unspecified() {
            self.handle_claim(target);
        }
        if self.has(target) {
            let advertisement = NeighborAdvertisement {
                target,
                router: false,
                solicited: !source.is_unspecified(),
                overrides: true,
                target_link_layer_address: None,
            };
            let to = if source.is_unspecified() {
                ALL_NODES
            } else {
                source
            };
            let message = NeighborDiscovery::NeighborAdvertisement(advertisement);
            self.outbox.push_back(discovery(target, to, message));
        }
    }

    /// Treats an address that is tentative here as a duplicate: another node has or probes it (RFC 4862 sections 5.4.3
    /// and 5.4.4).
    fn handle_claim(&mut self, target: Ipv6Addr) {
        let tentative = self.detections.iter().any(|one| one.address == target);
        if tentative {
            retain(&mut self.detections, |one| one.address != target);
            self.duplicates = [&*self.duplicates, &[target]].concat().into();
            self.events.push_back(ConfigurationEvent::Duplicate(target));
        }
    }

    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout).
    pub fn poll_timeout(&self) -> Option<Instant> {
        let solicitation = Some(self.solicitation).filter(|repeat| repeat.left > 0);
        let solicitation = solicitation.into_iter().map(|repeat| repeat.at);
        let detections = self.detections.iter().map(|detection| detection.at);
        let groups = self.groups.iter().filter(|(_, repeat)| repeat.left > 0);
        let routers = self.routers.iter();
        solicitation
            .chain(detections)
            .chain(groups.map(|(_, repeat)| repeat.at))
            .chain(routers.map(|router| router.until.min(router.valid_until)))
            .min()
    }

    /// Performs the actions due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        if !self.up {
            return;
        }
        let known = self.routers.len();
        let is_present = |router: &Router| router.until > now && router.valid_until > now;
        retain(&mut self.routers, is_present);
        if self.routers.len() < known {
            self.forget_addresses();
        }
        if known > 0 && self.routers.is_empty() {
            self.solicit(now);
        }
        self.step_detections(now);
        self.repeat_reports(now);
        self.send_solicitation(now);
        self.update_attachment();
    }

    /// Removes addresses whose prefix no router advertises any more.
    fn forget_addresses(&mut self) {
        let routers = &self.routers;
        retain(&mut self.assigned, |&address| {
            let mut prefixes = routers.iter().map(|router| router.prefix);
            LINK_LOCAL.contains(address) || prefixes.any(|prefix| prefix.contains(address))
        });
    }

    fn send_solicitation(&mut self, now: Instant) {
        if self.solicitation.left == 0 || self.solicitation.at > now {
            return;
        }
        // RFC 4861 section 4.1: the source is unspecified until an address is assigned.
        let source = self.source();
        let message = NeighborDiscovery::RouterSolicitation(RouterSolicitation::default());
        self.outbox
            .push_back(discovery(source, ALL_ROUTERS, message));
        self.solicitation = Repeat {
            at: now + self.settings.times.solicitation_interval,
            left: self.solicitation.left - 1,
        };
    }

    fn repeat_reports(&mut self, now: Instant) {
        let source = self.source();
        for (group, repeat) in &mut self.groups {
            if repeat.left > 0 && repeat.at <= now {
                self.outbox.push_back(listener_report(source, *group));
                repeat.left -= 1;
                repeat.at = now
                    + self
                        .draws
                        .up_to(self.settings.times.longest_report_interval);
            }
        }
    }

    fn solicit(&mut self, at: Instant) {
        let left = self.settings.times.solicitations;
        self.solicitation = Repeat { at, left };
    }

    /// Returns the next packet for the link.
    pub fn poll_transmit(&mut self) -> Option<Packet> {
        self.outbox.pop_front()
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<ConfigurationEvent> {
        self.events.pop_front()
    }
}

#[cfg(test)]
mod tests;
