//! A router of a domain: changes its entries by the messages that pass, and forwards the mobiles' packets by them.

mod held;

use super::routes::Routes;
use super::{PathSetup, Route, message_bytes, message_packet};
use crate::host::layer::{Arrival, Counters, Layer, Look, Neighbor, Rank, Step, Transmitted};
use crate::host::{Discarded, RouteTable};
use crate::interface::{InterfaceId, LinkEvent};
use crate::mobility::buffering::Held;
use crate::mobility::clock::Clock;
use crate::packet::{IpHeader, Packet};
use crate::time::{Duration, Instant};
use crate::wire::micro_mobility::{RouteKind, RouteMessage, is_signed, mobile_key};
use core::net::{IpAddr, Ipv4Addr};
use held::HeldPackets;
use std::collections::{BTreeMap, VecDeque};

/// Time for which the crossover router sends to both base stations (MNF). Chosen, as the delay of a semisoft handoff.
const COPIES: Duration = Duration::from_millis(100);

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

    /// Takes in a message that has arrived, for this router or another.
    fn handle_message(
        &mut self,
        now: Instant,
        (interface, routes): (InterfaceId, &RouteTable),
        is_own: bool,
        bytes: &[u8],
    ) -> Look {
        let message = RouteMessage::decode(bytes).ok();
        let message = message.filter(|read| self.config.mobiles.contains_key(&read.mobile));
        let Some(message) = message else {
            // Another domain's message passes, as do others' datagrams to this port.
            self.refused.malformed += u64::from(is_own);
            return if is_own { Look::Drop } else { Look::Pass };
        };
        if !is_signed(bytes, &self.key(message.mobile)) {
            self.refused.not_authentic += 1;
            return Look::Drop;
        }
        let is_timely = self.config.clock.is_near(message.timestamp, now)
            && self.routes.is_news(message.mobile, message.timestamp);
        if !is_timely {
            self.refused.old += 1;
            return Look::Drop;
        }
        match self.change(now, (interface, routes), is_own, message) {
            Some(()) => Look::Learn,
            None => {
                self.refused.malformed += 1;
                Look::Drop
            }
        }
    }

    /// Makes the change of a message; `None` if the message makes no sense here.
    fn change(
        &mut self,
        now: Instant,
        (interface, routes): (InterfaceId, &RouteTable),
        is_own: bool,
        message: RouteMessage,
    ) -> Option<()> {
        let RouteMessage {
            kind,
            mobile,
            new_base_station,
            old_base_station,
            timestamp,
        } = message;
        let way = || routes.lookup(new_base_station.into());
        let here = [Ipv4Addr::UNSPECIFIED, self.config.address];
        let is_elsewhere = !here.contains(&old_base_station);
        match (kind, is_own) {
            (RouteKind::Update, _) => self.set(now, &message, interface),
            (RouteKind::PowerUp | RouteKind::NonForwarding, _) => {
                self.set(now, &message, interface);
                if is_own {
                    self.acknowledge(message);
                }
            }
            (RouteKind::Semisoft, _) => self.routes.add(now, mobile, timestamp, interface),
            (RouteKind::SemisoftRequest, true) => {
                let air = *self.config.mobiles.get(&mobile)?;
                self.routes.add(now, mobile, timestamp, air?);
                if self.config.address != self.config.root {
                    self.send(self.config.root, RouteKind::Semisoft, message);
                }
            }
            (RouteKind::Handoff, true) if is_elsewhere => match self.config.path_setup? {
                PathSetup::UnicastNonForwarding => {
                    self.set(now, &message, interface);
                    self.send(old_base_station, RouteKind::NonForwarding, message);
                }
                PathSetup::MulticastNonForwarding => {
                    self.set(now, &message, interface);
                    let kind = RouteKind::MulticastNonForwarding;
                    self.send(old_base_station, kind, message);
                }
                PathSetup::MultipleStreamForwarding | PathSetup::SingleStreamForwarding => {
                    self.arriving.insert(mobile, (timestamp, interface));
                    self.send(old_base_station, RouteKind::ForwardingRequest, message);
                }
            },
            (RouteKind::ForwardingRequest, true) => {
                let way = way()?;
                if self.config.path_setup? == PathSetup::SingleStreamForwarding {
                    // Ahead of the packets that were held, so that they find their way prepared.
                    self.send(new_base_station, RouteKind::SingleStream, message);
                    self.set(now, &message, way);
                } else {
                    self.set(now, &message, way);
                    self.send(new_base_station, RouteKind::Forwarding, message);
                }
            }
            (RouteKind::Forwarding, false) => self.set(now, &message, way()?),
            (RouteKind::SingleStream, false) => {
                let ways = (interface, way()?);
                self.routes.turn(now, mobile, timestamp, ways);
            }
            (RouteKind::Forwarding, true) => self.complete(now, message)?,
            (RouteKind::SingleStream, true) => {
                self.complete(now, message)?;
                self.take_direct_path(message);
            }
            (RouteKind::MulticastNonForwarding, _) => {
                self.change_beside(now, (interface, routes), message);
                if is_own {
                    self.held.drop_all(mobile);
                    let kind = RouteKind::Acknowledgment;
                    self.send(new_base_station, kind, second_of(message));
                }
            }
            // Entries at the old base station do not lead to the new one, which passes the acknowledgment on.
            (RouteKind::Acknowledgment, true) if new_base_station == self.config.address => {
                self.acknowledge(message);
            }
            (RouteKind::Handoff, true) | (RouteKind::Acknowledgment, true) => return None,
            (
                RouteKind::SemisoftRequest
                | RouteKind::Handoff
                | RouteKind::ForwardingRequest
                | RouteKind::Acknowledgment,
                false,
            ) => {}
        }
        Some(())
    }

    /// Ends a path set-up at the new base station, which the path reaches last; `None` if it has not begun here.
    fn complete(&mut self, now: Instant, message: RouteMessage) -> Option<()> {
        let arriving = self.arriving.remove(&message.mobile);
        let (_, air) = arriving.filter(|(arrived, _)| *arrived == message.timestamp)?;
        self.set(now, &message, air);
        self.acknowledge(message);
        Some(())
    }

    /// Has the routers above send the mobile's packets here without the detour (SSF).
    fn take_direct_path(&mut self, message: RouteMessage) {
        if self.config.address != self.config.root {
            self.send(self.config.root, RouteKind::Update, second_of(message));
        }
    }

    /// Changes an entry up to the crossover router, which sends copies by the present way, too (MNF). Below it nothing
    /// changes, so that the copies reach the old base station: there the message comes from above.
    fn change_beside(
        &mut self,
        now: Instant,
        (interface, routes): (InterfaceId, &RouteTable),
        message: RouteMessage,
    ) {
        let above = routes.lookup(self.config.root.into());
        if above == Some(interface) {
            return;
        }
        let present = self.routes.get(message.mobile).map(|route| route.interface);
        match present.filter(|&present| present != interface && Some(present) != above) {
            Some(present) => {
                let ways = (interface, present);
                let until = now + COPIES;
                self.routes
                    .set_both(now, message.mobile, message.timestamp, ways, until);
            }
            None => self.set(now, &message, interface),
        }
    }

    /// Leads a mobile's packets to an interface, beginning with those that were held.
    fn set(&mut self, now: Instant, message: &RouteMessage, interface: InterfaceId) {
        self.routes
            .set(now, message.mobile, message.timestamp, interface);
        let released = self.held.release(now, message.mobile);
        let steps = released
            .into_iter()
            .map(|packet| Step::Send(interface, packet));
        self.outbox.extend(steps);
    }

    fn acknowledge(&mut self, message: RouteMessage) {
        self.send(message.mobile, RouteKind::Acknowledgment, message);
    }

    /// Sends a message with the contents of another.
    fn send(&mut self, destination: Ipv4Addr, kind: RouteKind, contents: RouteMessage) {
        let message = RouteMessage { kind, ..contents };
        let ends = (self.config.address, destination);
        let packet = message_packet(ends, &message, &self.key(message.mobile));
        self.outbox.push_back(Step::Originate(packet));
    }

    fn key(&self, mobile: Ipv4Addr) -> [u8; 16] {
        mobile_key(&self.config.network_key, mobile)
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
        self.config.mobiles.contains_key(&mobile)
            && self.routes.get(mobile).is_none()
            && routes.lookup(ip.destination) == Some(interface)
    }
}

/// Returns the second message of a handoff, which routers take for newer than the first.
fn second_of(message: RouteMessage) -> RouteMessage {
    RouteMessage {
        timestamp: message.timestamp.saturating_add(1),
        ..message
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
        matches!(ip.destination, IpAddr::V4(to) if self.routes.get(to).is_some())
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
        self.forward(now, arrival.interface, packet)
    }

    fn output(&mut self, now: Instant, packet: Packet) -> Option<Packet> {
        self.forward(now, self.rank().interface(), packet)
    }

    fn transmit(&mut self, now: Instant, packet: Packet) -> Transmitted {
        if self.forward(now, self.rank().interface(), packet).is_none() {
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
        self.held.poll_told()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.routes.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Instant) {
        for mobile in self.routes.expire(now) {
            self.held.drop_all(mobile);
            self.arriving.remove(&mobile);
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
        Counters {
            discarded,
            buffered: self.held.counts(),
            copies: self.copies,
        }
    }
}
