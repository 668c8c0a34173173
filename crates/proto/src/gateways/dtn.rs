//! A gateway to a delay-tolerant network: TCP on one side, bundles with custody ([`crate::dtn`]) between two gateways.
//!
//! Both ends of a connection keep their addresses and ports. A connection has one half at each gateway, a socket of this
//! host bound to an address of another, and a stream of bundles between the halves. A gateway may itself be an end. It
//! acknowledges what it has taken into custody, and closes the window when its storage is full.

mod arrival;
mod stream;
mod work;

use super::halves::{opens, segment_ends};
use crate::dtn::{Configuration, Counts, Node, Path, Ranges, StreamId};
use crate::host::layer::{Around, Counters, Ended, Layer, Look, Rank, Step};
use crate::host::sockets::Sockets;
use crate::host::table::Pair;
use crate::host::{Discarded, RouteTable, SocketId};
use crate::interface::InterfaceId;
use crate::mobility::buffering::BufferCounts;
use crate::packet::{Body, Packet};
use crate::tcp::profile::Profile;
use crate::time::{Duration, Instant};
use crate::wire::bundle::PORT;
use crate::wire::icmp::{IcmpError, QuotedPacket};
use crate::wire::protocol;
use crate::wire::tcp::TcpHeader;
use crate::wire::udp::UdpHeader;
use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use stream::Stream;

/// Most connections at once; a SYN beyond it is not answered. Chosen.
const MOST_STREAMS: usize = 4096;

/// The gateway of one host.
#[derive(Debug)]
pub struct BundleGateway {
    own: IpAddr,
    peer: IpAddr,
    profile: Profile,
    node: Node,
    /// Capacity for data from the other gateway that no half has taken.
    storage: u64,
    /// The TCP halves.
    sockets: Sockets,
    streams: BTreeMap<StreamId, Stream>,
    /// Streams by the ends of their connection, the end on this side first.
    by_ends: BTreeMap<Pair, StreamId>,
    by_socket: BTreeMap<SocketId, StreamId>,
    /// Number of the next stream opened here.
    next_stream: u64,
    /// Streams of the other gateway that have existed.
    seen: Ranges,
    /// Streams with new events.
    touched: BTreeSet<StreamId>,
    /// Streams whose half has data that storage had no room for.
    hungry: BTreeSet<StreamId>,
    /// The stream whose data was taken last.
    turn: Option<StreamId>,
    /// Segments of this host's own connections.
    own_segments: VecDeque<Packet>,
    /// Bytes of data that wait for halves.
    waiting: u64,
    /// The next deadline of a half, as of the latest work.
    half_deadline: Option<Instant>,
    outbox: VecDeque<Step>,
    discarded: Discarded,
}

impl BundleGateway {
    /// Creates the gateway of the host with the address `own`, for connections to and from what lies behind the gateway at
    /// `peer`. Halves have this profile; `secret` keys sequence numbers.
    pub fn new(
        [own, peer]: [IpAddr; 2],
        configuration: Configuration,
        profile: Profile,
        secret: [u8; 16],
    ) -> BundleGateway {
        BundleGateway {
            own,
            peer,
            profile,
            storage: configuration.storage,
            node: Node::new(configuration),
            sockets: Sockets::new(secret),
            streams: BTreeMap::new(),
            by_ends: BTreeMap::new(),
            by_socket: BTreeMap::new(),
            next_stream: 0,
            seen: Ranges::default(),
            touched: BTreeSet::new(),
            hungry: BTreeSet::new(),
            turn: None,
            own_segments: VecDeque::new(),
            waiting: 0,
            half_deadline: None,
            outbox: VecDeque::new(),
            discarded: Discarded::default(),
        }
    }

    /// Returns the counters of bundles.
    pub fn counts(&self) -> Counts {
        self.node.counts()
    }

    /// Returns the bytes of data in custody.
    pub fn custody(&self) -> u64 {
        self.node.held()
    }

    /// Returns the bytes of data from the other gateway that no half has taken.
    pub fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Returns the number of connections.
    pub fn connections(&self) -> usize {
        self.streams.len()
    }

    /// Returns true for a segment of a connection in bundles, or for a SYN that opens one.
    fn takes_segment(&self, packet: &Packet, routes: &RouteTable) -> bool {
        segment_ends(packet).is_some_and(|(ends, header)| {
            self.by_ends.contains_key(&ends)
                || opens(header) && self.leads_across(ends.1.address, routes)
        })
    }

    /// Returns true if the way to an address leads by the other gateway.
    fn leads_across(&self, address: IpAddr, routes: &RouteTable) -> bool {
        address == self.peer
            || address != self.own
                && routes
                    .lookup(self.peer)
                    .is_some_and(|by| routes.lookup(address) == Some(by))
    }

    fn is_datagram(&self, packet: &Packet) -> bool {
        let ports = |header: &UdpHeader| header.destination_port == PORT;
        (packet.ip.source, packet.ip.destination) == (self.peer, self.own)
            && matches!(&packet.body, Body::Udp(header, _) if ports(header))
    }

    /// Returns the present path to the other gateway.
    fn path(&self, around: &Around<'_>) -> Option<Path> {
        let interface = around.routes.lookup(self.peer)?;
        if around.is_link_down(interface) {
            return None;
        }
        let link = around.link_parameters(interface);
        let headers = if self.peer.is_ipv4() { 28 } else { 48 };
        let mtu = around.mtu_towards(self.peer);
        Some(Path {
            interface,
            rate: link.map(|link| link.outgoing),
            round_trip: link.map_or(Duration::from_secs(1), |link| link.round_trip),
            datagram: mtu.saturating_sub(headers) as usize,
            headers,
        })
    }
}

impl Layer for BundleGateway {
    fn rank(&self) -> Rank {
        Rank::BundleGateway
    }

    fn inspects(&self) -> bool {
        true
    }

    fn inspect(
        &mut self,
        _now: Instant,
        _interface: InterfaceId,
        routes: &RouteTable,
        packet: &mut Packet,
    ) -> Look {
        match self.ends(routes, packet) {
            true => Look::Take,
            false => Look::Pass,
        }
    }

    fn ends(&self, routes: &RouteTable, packet: &Packet) -> bool {
        self.is_datagram(packet) || self.takes_segment(packet, routes)
    }

    fn end(
        &mut self,
        now: Instant,
        around: &mut Around<'_>,
        _interface: InterfaceId,
        packet: Packet,
    ) -> Ended {
        if self.is_datagram(&packet) {
            return match self.take_datagram(now, around, packet) {
                true => Ended::Taken,
                false => Ended::Refused,
            };
        }
        if !self.takes_segment(&packet, around.routes) {
            return Ended::No(packet);
        }
        match self.take_segment(now, around, packet) {
            true => Ended::Taken,
            false => Ended::Refused,
        }
    }

    fn output(&mut self, _now: Instant, packet: Packet) -> Option<Packet> {
        let is_ours = |(ends, header): (Pair, &TcpHeader)| {
            ends.0.address == self.own && (self.by_ends.contains_key(&ends) || opens(header))
        };
        if !segment_ends(&packet).is_some_and(is_ours) {
            return Some(packet);
        }
        // Its fate depends on the routes, which the work knows.
        self.own_segments.push_back(packet);
        None
    }

    fn work(&mut self, now: Instant, around: &mut Around<'_>) {
        self.node.set_path(now, self.path(around));
        while let Some(packet) = self.own_segments.pop_front() {
            match self.takes_segment(&packet, around.routes) {
                true => {
                    self.take_segment(now, around, packet);
                }
                false => self.outbox.push_back(Step::Forward(packet)),
            }
        }
        self.work_streams(now, around);
        self.half_deadline = self.sockets.poll_timeout();
    }

    fn handle_icmp(&mut self, now: Instant, error: IcmpError, quoted: &QuotedPacket) -> bool {
        // A datagram that does not arrive is sent again by its custody timer.
        let is_datagram = quoted.protocol == protocol::UDP
            && quoted.transport_addresses() == (self.own, self.peer);
        is_datagram || self.sockets.is_about(quoted) && self.sockets.handle_icmp(now, error, quoted)
    }

    fn poll_step(&mut self) -> Option<Step> {
        self.outbox.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let all = [self.node.poll_timeout(), self.half_deadline];
        all.into_iter().flatten().min()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.sockets.handle_timeout(now);
        self.node.handle_timeout(now);
    }

    fn counters(&self) -> Counters {
        let counts = self.node.counts();
        let mut discarded = self.discarded;
        discarded.messages += counts.malformed;
        Counters {
            discarded,
            buffered: BufferCounts {
                held: counts.kept,
                released: counts.released,
                overflowed: counts.refused,
                overflowed_bytes: counts.refused_bytes,
                expired: counts.expired,
                duplicates: counts.duplicates,
                most_bytes: u32::try_from(counts.most_bytes).unwrap_or(u32::MAX),
            },
            copies: counts.retransmitted,
        }
    }
}

#[cfg(test)]
mod tests;
