//! Agents on the path: a router's services for TCP connections of others in transit.
//!
//! A gateway, the router at the network's end of a mobile's access links, serves connections between the mobile and its
//! correspondents. It looks through tunnels and Mobile IPv6's extension headers: a connection is known by home addresses.
//!
//! - **Split** (`split.rs`): the gateway ends the connection in the name of the mobile and opens one in the name of the
//!   correspondent; these are sockets of this host like its own, bound to addresses of others.
//! - **Snoop** (`snooping.rs`): the connection stays whole; the gateway keeps copies of packets to the mobile and retransmits
//!   the last hop's losses, and tells the mobile which of its own segments were lost there.
//!
//! Split connections may follow a mobile to another gateway (`context.rs`, `transfer.rs`).
//!
//! The route to a mobile away from home follows from its binding updates and the home agent's answers, which pass here
//! or, if the home agent is this router, leave from here.

mod context;
mod mobile_locations;
mod snooping;
mod split;
mod transfer;

pub use split::Split;

use crate::crosslayer::{CrossLayerSignal, PathParameters};
use crate::host::layer::{Around, Counters, Ended, Layer, Look, Neighbor, Rank, Step};
use crate::host::sockets::Sockets;
use crate::host::table::Pair;
use crate::host::{Discarded, RouteTable, SocketId};
use crate::interface::{InterfaceId, LinkEvent, StatusInterests, TransmitStatus};
use crate::packet::{Body, Packet};
use crate::tcp::Endpoint;
use crate::time::Instant;
use crate::wire::icmp::{IcmpError, IcmpMessage, QuotedPacket};
use crate::wire::tcp::TcpFlags;
use core::net::IpAddr;
use mobile_locations::{Asked, Binding, Wrapping};
use snooping::Snooping;
use split::Relay;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use transfer::Transfers;

/// Maximum tunnel overhead of a packet to a mobile, in bytes.
const TUNNEL_HEADER: u32 = 40;

/// Other hosts' connections that a gateway serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Served {
    /// The mobile's address: its home address, if it has one.
    pub mobile: IpAddr,
    /// The other end's address.
    pub correspondent: IpAddr,
    /// The port at which one of the two listens; `None` for any.
    pub port: Option<u16>,
}

/// A service for served connections.
#[derive(Debug)]
pub enum Service {
    /// The gateway retransmits losses of the last hop from copies, or reports them to the mobile.
    Watch,
    /// The gateway ends each connection, and opens another one.
    Split(Box<Split>),
}

impl Service {
    /// Returns true if connections follow their mobile to another gateway.
    fn transfers_context(&self) -> bool {
        matches!(self, Service::Split(split) if split.transfers_context())
    }
}

/// The agents on the path of one router.
#[derive(Debug)]
pub struct PathAgents {
    /// The halves of split connections, bound to addresses of others.
    sockets: Sockets,
    mobiles: BTreeMap<IpAddr, Mobile>,
    /// Mobiles by their bound care-of addresses.
    by_care_of: BTreeMap<IpAddr, IpAddr>,
    /// Halves of split connections.
    relays: BTreeMap<SocketId, Relay>,
    snooping: Snooping,
    /// Events of access links not yet acted upon.
    heard: VecDeque<Heard>,
    /// Mobiles that have just been bound elsewhere.
    moved: Vec<IpAddr>,
    transfers: Transfers,
    /// True if a packet in transit has left work for the layer.
    stirred: bool,
    /// The next deadline of a half, as of the latest work.
    half_deadline: Option<Instant>,
    outbox: VecDeque<Packet>,
    discarded: Discarded,
}

/// An event of an access link, about the mobile with this address there.
#[derive(Clone, Copy, Debug)]
struct Heard {
    interface: InterfaceId,
    event: LinkEvent,
    address: IpAddr,
}

/// A mobile that is served.
#[derive(Debug, Default)]
struct Mobile {
    /// The interfaces to its access links.
    access: BTreeSet<InterfaceId>,
    binding: Option<Binding>,
    asked: Option<Asked>,
    /// True while the mobile is unreachable.
    is_lost: bool,
    flows: BTreeMap<(IpAddr, Option<u16>), Flow>,
}

#[derive(Debug)]
struct Flow {
    service: Service,
    /// Encapsulation of the correspondent's packets to the mobile while it is away.
    wrapping: Wrapping,
}

impl PathAgents {
    /// Creates agents without a service; `secret` keys the initial sequence numbers of halves (RFC 6528).
    pub fn new(secret: [u8; 16]) -> PathAgents {
        PathAgents {
            sockets: Sockets::new(secret),
            mobiles: BTreeMap::new(),
            by_care_of: BTreeMap::new(),
            relays: BTreeMap::new(),
            snooping: Snooping::default(),
            heard: VecDeque::new(),
            moved: Vec::new(),
            transfers: Transfers::default(),
            stirred: false,
            half_deadline: None,
            outbox: VecDeque::new(),
            discarded: Discarded::default(),
        }
    }

    /// Adds connections to serve.
    pub fn serve(&mut self, served: Served, service: Service) {
        let mobile = self.mobiles.entry(served.mobile).or_default();
        let flow = Flow {
            service,
            wrapping: Wrapping::Routing,
        };
        mobile
            .flows
            .insert((served.correspondent, served.port), flow);
    }

    /// Notes that an interface leads to an access link of a mobile.
    pub fn add_access(&mut self, mobile: IpAddr, interface: InterfaceId) {
        let mobile = self.mobiles.entry(mobile).or_default();
        mobile.access.insert(interface);
    }

    /// Returns the mobile with an address on an access link: its own, or its bound care-of address.
    fn mobile_at(&self, address: IpAddr) -> Option<IpAddr> {
        match self.mobiles.contains_key(&address) {
            true => Some(address),
            false => self.by_care_of.get(&address).copied(),
        }
    }

    /// Signals an event of a mobile's access link to the halves towards the mobile.
    fn tell_of_link(&mut self, now: Instant, around: &Around<'_>, heard: Heard) {
        let Some(mobile) = self.mobile_at(heard.address) else {
            return;
        };
        if self.interface_towards(&mobile, around.routes) != Some(heard.interface) {
            return;
        }
        match heard.event {
            LinkEvent::Down => self.note_loss(&mobile),
            // A mobile whose protocol reports its location has arrived only with its binding.
            LinkEvent::Up if !self.mobiles[&mobile].is_bound() => self.note_arrival(mobile),
            _ => {}
        }
        let path = self.path_to(&mobile, around);
        if let Some(signal) = CrossLayerSignal::of_link(heard.event, path) {
            self.sockets.signal(now, &signal, |peer| peer == mobile);
        }
    }

    /// Inspects an arrived packet.
    fn look(&mut self, now: Instant, routes: &RouteTable, packet: &Packet) -> Look {
        self.learn_binding(packet);
        let Some((served, pair)) = self.find(packet) else {
            return Look::Pass;
        };
        self.learn_wrapping(packet, &served);
        let Some(flow) = self.flow(&served) else {
            return Look::Pass;
        };
        match flow.service {
            Service::Split(_) if self.takes(packet, &served, &pair, routes) => Look::Take,
            // The connection may still be transferred, if the mobile has come from another gateway.
            Service::Split(_)
                if flow.service.transfers_context() && self.is_here(&served.mobile, routes) =>
            {
                Look::Drop
            }
            Service::Watch
                if self.is_here(&served.mobile, routes)
                    && self.crosses_access(packet, (&served, &pair), routes) =>
            {
                self.stirred = true;
                self.snooping.look(now, packet, &served, &pair)
            }
            _ => Look::Pass,
        }
    }

    /// Notes that a queue of this router dropped a packet. The repair of last-hop losses must not hide this loss.
    fn handle_drop(&mut self, now: Instant, packet: &Packet) {
        if let Some((served, pair)) = self.find(packet)
            && pair.0.address == served.mobile
        {
            self.snooping.handle_drop(now, packet, &pair);
        }
    }

    /// Returns true if a packet belongs to a half of a split connection, or may open one. With several gateways on the
    /// path, only the one whose next hop is the mobile's access link may open a connection.
    fn takes(&self, packet: &Packet, served: &Served, pair: &Pair, routes: &RouteTable) -> bool {
        let opens = |packet: &Packet| {
            packet.segment_within().is_some_and(|segment| {
                let flags = segment.header.flags;
                flags.contains(TcpFlags::SYN)
                    && !flags.contains(TcpFlags::ACK)
                    && !flags.contains(TcpFlags::RST)
            })
        };
        self.sockets.is_open(pair) || opens(packet) && self.is_here(&served.mobile, routes)
    }

    /// Returns true for a packet to or from a mobile's access link. A tunnelled packet may pass twice, to the tunnel's
    /// end and from there: the mobile's ACKs must not count twice.
    fn crosses_access(
        &self,
        packet: &Packet,
        (served, pair): (&Served, &Pair),
        routes: &RouteTable,
    ) -> bool {
        let to_mobile = pair.0.address == served.mobile;
        let side = match to_mobile {
            true => packet.ip.destination,
            false => packet.ip.source,
        };
        let is_access = |interface: InterfaceId| {
            let known = self.mobiles.get(&served.mobile);
            // A home agent on this host sends it to the mobile's location.
            known.is_some_and(|mobile| mobile.access.contains(&interface))
                || to_mobile && interface.is_virtual()
        };
        routes.lookup(side).is_some_and(is_access)
    }

    /// Returns true if packets for a mobile leave by one of its access links.
    fn is_here(&self, mobile: &IpAddr, routes: &RouteTable) -> bool {
        self.interface_towards(mobile, routes).is_some()
    }

    /// Returns the interface of the access link by which packets for a mobile leave.
    fn interface_towards(&self, mobile: &IpAddr, routes: &RouteTable) -> Option<InterfaceId> {
        let known = self.mobiles.get(mobile)?;
        let care_of = known.binding.and_then(|binding| binding.care_of);
        let interface = routes.lookup(care_of.map_or(*mobile, IpAddr::V6))?;
        known.access.contains(&interface).then_some(interface)
    }

    /// Finds the served connections of a packet, and the ends of its own connection, the destination first. An ICMP
    /// error belongs to the sender of the quoted packet.
    fn find(&self, packet: &Packet) -> Option<(Served, Pair)> {
        let end = |address, port| Endpoint { address, port };
        let pair = if let Body::Icmp(IcmpMessage::Error { quoted, .. }) = &packet.body {
            let (source, destination) = quoted.transport_addresses();
            let local = end(source, quoted.source_port);
            (local, end(destination, quoted.destination_port))
        } else {
            let segment = packet.segment_within()?;
            let (ip, header) = (segment.ip, segment.header);
            let local = end(ip.destination, header.destination_port);
            (local, end(ip.source, header.source_port))
        };
        Some((self.served(pair.0, pair.1)?, pair))
    }

    /// Returns the served connections between two ends.
    fn served(&self, one: Endpoint, other: Endpoint) -> Option<Served> {
        let between = |mobile: Endpoint, peer: Endpoint| {
            let flows = &self.mobiles.get(&mobile.address)?.flows;
            let mut ports = [Some(peer.port), Some(mobile.port), None].into_iter();
            let port = ports.find(|&port| flows.contains_key(&(peer.address, port)))?;
            Some(Served {
                mobile: mobile.address,
                correspondent: peer.address,
                port,
            })
        };
        between(one, other).or_else(|| between(other, one))
    }

    fn flow(&self, served: &Served) -> Option<&Flow> {
        let flows = &self.mobiles.get(&served.mobile)?.flows;
        flows.get(&(served.correspondent, served.port))
    }

    fn flow_mut(&mut self, served: &Served) -> Option<&mut Flow> {
        let flows = &mut self.mobiles.get_mut(&served.mobile)?.flows;
        flows.get_mut(&(served.correspondent, served.port))
    }

    /// Returns the parameters of the access link by which packets for a mobile leave, if known.
    fn path_to(&self, mobile: &IpAddr, around: &Around<'_>) -> Option<PathParameters> {
        let access = self.interface_towards(mobile, around.routes)?;
        let link = around.link_parameters(access);
        link.map(PathParameters::at_network)
    }

    /// Signals a mobile's new access link to its halves.
    fn tell_of_moves(&mut self, now: Instant, around: &Around<'_>) {
        while let Some(mobile) = self.moved.pop() {
            if self.interface_towards(&mobile, around.routes).is_some() {
                self.note_arrival(mobile);
            }
            if let Some(path) = self.path_to(&mobile, around) {
                let connected = CrossLayerSignal::Connected(path);
                self.sockets.signal(now, &connected, |peer| peer == mobile);
            }
        }
    }

    /// Returns snoop's next packet, addressed to its mobile's present location.
    fn poll_snooping(&mut self) -> Option<Packet> {
        let mut packet = self.snooping.poll_transmit()?;
        let mobile = packet
            .segment_within()
            .and_then(|segment| self.mobiles.get(&segment.ip.destination));
        let care_of = mobile.and_then(|mobile| mobile.binding?.care_of);
        if let Some(care_of) = care_of
            && !matches!(packet.body, Body::Tcp(..))
        {
            packet.ip.destination = care_of.into();
        }
        Some(packet)
    }

    /// Returns the maximum encapsulation overhead of a packet for this address, in bytes.
    fn overhead(&self, address: &IpAddr) -> u32 {
        match self.mobiles.contains_key(address) && address.is_ipv6() {
            true => TUNNEL_HEADER,
            false => 0,
        }
    }
}

impl Layer for PathAgents {
    fn rank(&self) -> Rank {
        Rank::Path
    }

    fn inspects(&self) -> bool {
        true
    }

    fn inspect(
        &mut self,
        now: Instant,
        _interface: InterfaceId,
        routes: &RouteTable,
        packet: &mut Packet,
    ) -> Look {
        let look = self.look(now, routes, packet);
        match core::mem::take(&mut self.stirred) {
            true if look == Look::Pass => Look::Learn,
            _ => look,
        }
    }

    fn ends(&self, routes: &RouteTable, packet: &Packet) -> bool {
        self.find_split(packet, routes).is_some()
    }

    fn end(
        &mut self,
        now: Instant,
        around: &mut Around<'_>,
        _interface: InterfaceId,
        packet: Packet,
    ) -> Ended {
        if let Some((served, pair)) = self.find_split(&packet, around.routes) {
            return self.take_for_split(now, around, (served, pair), packet);
        }
        match self.find_exchange(&packet) {
            Some(pair) => self.take_for_exchange(now, around, pair, packet),
            None => Ended::No(packet),
        }
    }

    fn work(&mut self, now: Instant, around: &mut Around<'_>) {
        while let Some(heard) = self.heard.pop_front() {
            self.tell_of_link(now, around, heard);
        }
        self.tell_of_moves(now, around);
        self.work_transfers(now, around);
        while let Some(packet) = self.sockets.poll_transmit(now, &mut around.origin) {
            let packet = self.handle_outgoing(packet);
            self.outbox.push_back(packet);
        }
        while self.sockets.poll_changed().is_some() {}
        self.half_deadline = self.sockets.poll_timeout();
    }

    fn overhear(&mut self, packet: &Packet) {
        self.learn_binding(packet);
    }

    fn handle_neighbor(
        &mut self,
        _now: Instant,
        interface: InterfaceId,
        event: LinkEvent,
        neighbor: Neighbor,
    ) {
        let address = neighbor.address;
        self.heard.push_back(Heard {
            interface,
            event,
            address,
        });
    }

    fn handle_icmp(&mut self, now: Instant, error: IcmpError, quoted: &QuotedPacket) -> bool {
        self.sockets.is_about(quoted) && self.sockets.handle_icmp(now, error, quoted)
    }

    fn status_interests(&self) -> StatusInterests {
        StatusInterests {
            drops: true,
            ..StatusInterests::default()
        }
    }

    fn handle_transmit_status(
        &mut self,
        now: Instant,
        _interface: InterfaceId,
        packet: &Packet,
        status: TransmitStatus,
    ) -> bool {
        if status == TransmitStatus::Dropped {
            self.handle_drop(now, packet);
        }
        status == TransmitStatus::Dropped
    }

    fn poll_step(&mut self) -> Option<Step> {
        let packet = self.poll_snooping().or_else(|| self.outbox.pop_front());
        packet.map(Step::Originate)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let (snooping, transfers) = (self.snooping.poll_timeout(), self.transfers.poll_timeout());
        let all = [snooping, transfers, self.half_deadline];
        all.into_iter().flatten().min()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.sockets.handle_timeout(now);
        self.snooping.handle_timeout(now);
        self.transfers.handle_timeout(now);
    }

    fn counters(&self) -> Counters {
        let mut discarded = self.discarded;
        discarded.messages += self.refused();
        discarded.backlog += self.sockets.refused();
        Counters {
            discarded,
            ..Counters::default()
        }
    }
}

#[cfg(test)]
mod tests;
