//! A router of a domain: changes its entries by the messages that pass, and forwards the mobiles' packets by them.

mod held;
mod messages;
mod paging;

use super::routes::Routes;
use super::{PathSetup, Route, message_bytes};
use crate::host::layer::{Arrival, Counters, Layer, Look, Neighbor, Rank, Step, Transmitted};
use crate::host::{Discarded, RouteTable};
use crate::interface::{InterfaceId, LinkEvent};
use crate::mobility::buffering::Held;
use crate::mobility::clock::Clock;
use crate::packet::{IpHeader, Packet};
use crate::time::{Duration, Instant};
use core::net::{IpAddr, Ipv4Addr};
use held::HeldPackets;
use paging::Paging;
pub use paging::PagingConfig;
use std::collections::{BTreeMap, VecDeque};

/// Settings of a domain router.
#[derive(Clone, Debug)]
pub struct DomainRouterConfig {
    /// Address of the router, to which messages for it are sent.
    pub address: Ipv4Addr,
    /// Address of the root.
    pub root: Ipv4Addr,
    /// Scheme by which the router, as the new base station, sets up a path (HAWAII). Without one it refuses handoffs.
    pub path_setup: Option<PathSetup>,
    /// Key that all routers of the domain share.
    pub network_key: [u8; 16],
    /// Addresses of the domain's mobiles, each with the interface to it where this router is its base station.
    pub mobiles: BTreeMap<Ipv4Addr, Option<InterfaceId>>,
    /// Lifetime of an entry after the last message for it.
    pub route_lifetime: Duration,
    /// Largest number of bytes that are kept for a mobile whose link here is down, until its path leads elsewhere.
    pub buffer: u32,
    /// Settings of paging; `None` if mobiles are always active.
    pub paging: Option<PagingConfig>,
    /// Time of day.
    pub clock: Clock,
}

/// Counts of messages without effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// Messages that could not be decoded or make no sense here.
    pub malformed: u64,
    /// Messages with a wrong authenticator.
    pub not_authentic: u64,
    /// Messages that are not newer than the entry, or whose time is too far from the router's.
    pub old: u64,
}

/// A domain router as a layer of its node. At the root, routes to the mobiles' addresses lead to its virtual interface.
#[derive(Debug)]
pub struct DomainRouter {
    config: DomainRouterConfig,
    routes: Routes,
    /// Handoffs that await the end of a forwarding path set-up: their timestamps, and the interfaces to the mobiles.
    arriving: BTreeMap<Ipv4Addr, (u64, InterfaceId)>,
    held: HeldPackets,
    paging: Option<Paging>,
    outbox: VecDeque<Step>,
    refused: Refused,
    copies: u64,
    no_route: u64,
    hop_limit: u64,
}

impl DomainRouter {
    /// Creates a router without entries.
    pub fn new(config: DomainRouterConfig) -> DomainRouter {
        DomainRouter {
            routes: Routes::new(config.route_lifetime),
            arriving: BTreeMap::new(),
            held: HeldPackets::new(config.buffer),
            paging: config.paging.clone().map(Paging::new),
            outbox: VecDeque::new(),
            refused: Refused::default(),
            copies: 0,
            no_route: 0,
            hop_limit: 0,
            config,
        }
    }

    /// Returns the route to a mobile.
    pub fn route(&self, mobile: Ipv4Addr) -> Option<Route> {
        self.routes.get(mobile)
    }

    /// Returns the counts of refused messages.
    pub fn refused(&self) -> Refused {
        self.refused
    }

    /// Sends a packet that has come by an interface by its mobile's entry, or holds it; returns one without an entry.
    fn forward(&mut self, now: Instant, from: InterfaceId, packet: Packet) -> Option<Packet> {
        let IpAddr::V4(mobile) = packet.ip.destination else {
            return Some(packet);
        };
        let Some(route) = self.routes.look_up(now, mobile) else {
            return Some(packet);
        };
        let packet = self.held.take(now, mobile, packet)?;
        if let Some(second) = route.second {
            self.copies += 1;
            self.outbox.push_back(Step::Send(second, packet.clone()));
        }
        self.outbox.push_back(Step::Send(route.after(from), packet));
        None
    }

    /// Returns true for a packet that would go back where it came from: its mobile has no entry here.
    fn would_loop(&self, interface: InterfaceId, routes: &RouteTable, ip: &IpHeader) -> bool {
        let IpAddr::V4(mobile) = ip.destination else {
            return false;
        };
        // With paging, the packet ends in `input`.
        self.paging.is_none()
            && self.config.mobiles.contains_key(&mobile)
            && self.routes.get(mobile).is_none()
            && routes.lookup(ip.destination) == Some(interface)
    }
}

impl Layer for DomainRouter {
    fn rank(&self) -> Rank {
        Rank::DomainRouter
    }

    fn inspects(&self) -> bool {
        true
    }

    fn inspect(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        routes: &RouteTable,
        packet: &mut Packet,
    ) -> Look {
        if self.would_loop(interface, routes, &packet.ip) {
            self.no_route += 1;
            return Look::Drop;
        }
        // An acknowledgment is the mobile's to verify, and a damaged message its receiver's to discard.
        let is_for_mobile = matches!(packet.ip.destination,
            IpAddr::V4(to) if self.config.mobiles.contains_key(&to));
        match message_bytes(packet) {
            Some(bytes) if !is_for_mobile && packet.bit_errors.is_empty() => {
                let is_own = packet.ip.destination == IpAddr::V4(self.config.address);
                self.handle_message(now, (interface, routes), is_own, bytes)
            }
            _ => Look::Pass,
        }
    }

    fn takes(&self, ip: &IpHeader) -> bool {
        let is_paged =
            |to: &Ipv4Addr| self.paging.is_some() && self.config.mobiles.contains_key(to);
        matches!(ip.destination, IpAddr::V4(to) if self.routes.get(to).is_some() || is_paged(&to))
    }

    fn input(&mut self, now: Instant, arrival: Arrival, mut packet: Packet) -> Option<Packet> {
        if arrival.is_own {
            // A message has had its effect on inspection.
            return match message_bytes(&packet) {
                Some(_) => None,
                None => Some(packet),
            };
        }
        if !self.takes(&packet.ip) {
            return Some(packet);
        }
        if packet.ip.hop_limit <= 1 {
            self.hop_limit += 1;
            return None;
        }
        packet.ip.hop_limit -= 1;
        let packet = self.forward(now, arrival.interface, packet)?;
        if self.goes_up(arrival.interface, &packet.ip) {
            return Some(packet);
        }
        let lost = self.page(now, packet);
        self.no_route += u64::from(lost.is_some());
        None
    }

    fn output(&mut self, now: Instant, packet: Packet) -> Option<Packet> {
        self.forward(now, self.rank().interface(), packet)
    }

    fn transmit(&mut self, now: Instant, packet: Packet) -> Transmitted {
        let packet = self.forward(now, self.rank().interface(), packet);
        if packet.and_then(|packet| self.page(now, packet)).is_none() {
            return Transmitted::Kept;
        }
        self.no_route += 1;
        Transmitted::GivenUp
    }

    fn handle_neighbor(
        &mut self,
        _now: Instant,
        interface: InterfaceId,
        event: LinkEvent,
        neighbor: Neighbor,
    ) {
        let IpAddr::V4(mobile) = neighbor.address else {
            return;
        };
        let route = self.routes.get(mobile);
        if event == LinkEvent::Down && route.is_some_and(|route| route.interface == interface) {
            self.held.begin(mobile);
        }
    }

    fn poll_step(&mut self) -> Option<Step> {
        crate::mobility::pop(&mut self.outbox)
    }

    fn poll_held(&mut self) -> Option<Held> {
        let paged = self.paging.as_mut();
        self.held
            .poll_told()
            .or_else(|| paged.and_then(Paging::poll_told))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let paging = self.paging.as_ref().and_then(Paging::poll_timeout);
        self.routes.poll_timeout().into_iter().chain(paging).min()
    }

    fn handle_timeout(&mut self, now: Instant) {
        for mobile in self.routes.expire(now) {
            self.held.drop_all(mobile);
            self.arriving.remove(&mobile);
        }
        let paging = self.paging.as_mut();
        let again = paging.map(|paging| paging.handle_timeout(now));
        for mobile in again.into_iter().flatten() {
            self.send_page(now, mobile);
        }
    }

    fn counters(&self) -> Counters {
        let Refused {
            malformed,
            not_authentic,
            old,
        } = self.refused;
        let discarded = Discarded {
            messages: malformed + not_authentic + old,
            no_route: self.no_route,
            hop_limit: self.hop_limit,
            ..Discarded::default()
        };
        let mut buffered = self.held.counts();
        if let Some(paging) = &self.paging {
            buffered.add(paging.counts());
        }
        Counters {
            discarded,
            buffered,
            copies: self.copies,
        }
    }
}
