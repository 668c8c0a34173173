//! An AeroTP gateway (study A, sections III-A and III-B; docs/aerotp.md, section "Gateways"): TCP and UDP on one side,
//! AeroTP over the link between two gateways.
//!
//! Both ends keep their addresses and ports. A TCP connection has one half at each gateway (a socket of this host bound
//! to an address of another), and one AeroTP connection between the halves. In reliable mode neither half acknowledges
//! a byte before the far TCP has; in the other connection modes the gateway takes custody and acknowledges at once. The
//! progress of one connection is in `aerotp/work.rs`.

mod datagrams;
mod opening;
mod work;

use super::halves::{end, opens};
use crate::aerotp::{self, Configuration, Identity};
use crate::host::layer::{Around, Counters, Ended, Layer, Look, Rank, Step};
use crate::host::sockets::Sockets;
use crate::host::table::Pair;
use crate::host::{Discarded, RouteTable, SocketId};
use crate::interface::{InterfaceId, LinkEvent};
use crate::packet::{Body, FlowId, Packet};
use crate::rate::DataRate;
use crate::tcp::Endpoint;
use crate::tcp::isn::initial_sequence_number;
use crate::tcp::profile::Profile;
use crate::time::Instant;
use crate::wire::aerotp::{AerotpPacket, Mode};
use crate::wire::icmp::{IcmpError, QuotedPacket};
use crate::wire::protocol;
use crate::wire::tcp::TcpHeader;
use core::net::{IpAddr, Ipv4Addr};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Maximum number of half-open connections; one more replaces another.
const MOST_HALF_OPEN: usize = 1024;

/// Selection of packets for a rule. A field that is `None` matches every packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// Listening port of the far end.
    pub port: Option<u16>,
    /// Differentiated services code point: six bits (RFC 2474).
    pub code_point: Option<u8>,
    /// Network of the destination, and the length of its prefix in bits.
    pub destination: Option<(IpAddr, u8)>,
}

/// Treatment of the selected connections across the link.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The selection.
    pub selector: Selector,
    /// AeroTP settings between the gateways, above all the mode.
    pub configuration: Configuration,
    /// TCP profile of the halves.
    pub profile: Profile,
}

/// Discarded packets and connections of a gateway, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GatewayDiscards {
    /// Half-open connections removed to make room.
    pub half_open: u64,
    /// Datagrams that exceeded the buffer or the size of a packet.
    pub datagrams: u64,
    /// AeroTP packets without a connection here.
    pub strangers: u64,
}

/// The gateway of one host.
#[derive(Debug)]
pub struct AerotpGateway {
    /// The interface to the other gateway.
    airborne: InterfaceId,
    rules: Vec<Rule>,
    secret: [u8; 16],
    /// The TCP halves.
    sockets: Sockets,
    /// Connections by the ends of their AeroTP connection, own side first.
    splices: BTreeMap<Pair, Box<Splice>>,
    by_socket: BTreeMap<SocketId, Pair>,
    /// Connections whose other end has not yet proved its address, oldest first.
    half_open: VecDeque<Pair>,
    /// Connections with pending work.
    touched: BTreeSet<Pair>,
    deadlines: BTreeSet<(Instant, Pair)>,
    /// The next deadline of a half, as of the latest work.
    half_deadline: Option<Instant>,
    /// Events of the link not yet acted upon.
    heard: Vec<LinkEvent>,
    outbox: VecDeque<Packet>,
    discards: GatewayDiscards,
    discarded: Discarded,
}

/// The end on this side that a splice connects to AeroTP.
#[derive(Debug)]
enum Near {
    /// A SYN, held until the far end has answered.
    Waiting(Box<TcpHeader>),
    /// The TCP half here.
    Tcp(SocketId),
    /// Datagrams.
    Udp,
}

/// One connection across the link.
#[derive(Debug)]
struct Splice {
    /// The ends of the AeroTP connection, own side first.
    ends: Pair,
    aerotp: aerotp::Connection,
    near: Near,
    rule: usize,
    flow: Option<FlowId>,
    /// True until the TCP half here has an answer: no packet goes to the other gateway before.
    is_held: bool,
    /// Number of packets from the other gateway.
    heard: u64,
    /// True while half open.
    half_open: bool,
    /// The packet that opened the connection, needed to refuse it.
    opened_by: Option<Box<AerotpPacket>>,
    /// True once the end here has sent all its data.
    near_finished: bool,
    /// True once the half here was reset, refused or timed out.
    near_failed: bool,
    /// True once the far end has sent all its data.
    far_finished: bool,
    /// True once the other gateway has all data of the end here.
    end_delivered: bool,
    last_datagram: Instant,
    deadline: Option<Instant>,
}

impl Splice {
    fn new(
        now: Instant,
        ends: Pair,
        aerotp: aerotp::Connection,
        near: Near,
        rule: usize,
        flow: Option<FlowId>,
    ) -> Splice {
        Splice {
            ends,
            aerotp,
            near,
            rule,
            flow,
            is_held: false,
            heard: 0,
            half_open: true,
            opened_by: None,
            near_finished: false,
            near_failed: false,
            far_finished: false,
            end_delivered: false,
            last_datagram: now,
            deadline: None,
        }
    }

    /// Returns true while the other gateway is not known to be at its packets' source address. Its ACKs prove it, so
    /// this stays true in modes without ACKs.
    fn is_half_open(&self) -> bool {
        !(self.aerotp.configuration().mode.repeats() && self.aerotp.is_known())
    }
}

impl Selector {
    fn selects(&self, packet: &Packet, port: u16) -> bool {
        let code_point = packet.ip.traffic_class >> 2;
        self.leads_to(end(packet.ip.destination, port))
            && self
                .code_point
                .is_none_or(|selected| selected == code_point)
    }

    fn leads_to(&self, far: Endpoint) -> bool {
        self.port.is_none_or(|selected| selected == far.port)
            && self
                .destination
                .is_none_or(|(network, length)| is_within(far.address, network, length))
    }
}

impl Rule {
    /// Returns the mode for TCP, which needs a connection: for a mode without one, the nearest mode that has one.
    fn connection_mode(&self) -> Mode {
        match self.configuration.mode {
            Mode::UnreliableDatagram => Mode::UnreliableConnection,
            mode => mode,
        }
    }
}

fn is_within(address: IpAddr, network: IpAddr, length: u8) -> bool {
    let bits = |address: IpAddr| match address {
        IpAddr::V4(address) => (u128::from(u32::from(address)) << 96, 32),
        IpAddr::V6(address) => (u128::from(address), 128),
    };
    let ((address, width), (network, other)) = (bits(address), bits(network));
    let length = u32::from(length).min(width);
    let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
    width == other && address & mask == network & mask
}

impl AerotpGateway {
    /// Creates a gateway whose `airborne` interface leads to the other gateway. The first matching rule applies;
    /// packets without one pass unchanged. `secret` keys sequence numbers and tokens.
    pub fn new(airborne: InterfaceId, rules: Vec<Rule>, secret: [u8; 16]) -> AerotpGateway {
        AerotpGateway {
            airborne,
            rules,
            secret,
            sockets: Sockets::new(secret),
            splices: BTreeMap::new(),
            by_socket: BTreeMap::new(),
            half_open: VecDeque::new(),
            touched: BTreeSet::new(),
            deadlines: BTreeSet::new(),
            half_deadline: None,
            heard: Vec::new(),
            outbox: VecDeque::new(),
            discards: GatewayDiscards::default(),
            discarded: Discarded::default(),
        }
    }

    /// Returns the counts of discarded packets and connections.
    pub fn discards(&self) -> GatewayDiscards {
        self.discards
    }

    /// Returns the number of connections carried.
    pub fn connections(&self) -> usize {
        self.splices.len()
    }

    /// Returns the number of TCP halves that are not closed.
    pub fn halves(&self) -> usize {
        self.sockets.peers().count()
    }

    /// Returns the bytes in custody: acknowledged to their sender, but not yet by the other gateway.
    pub fn custody(&self) -> u64 {
        self.splices
            .values()
            .map(|splice| splice.aerotp.held())
            .sum()
    }

    /// Returns the AeroTP connections with their ends, own side first.
    pub fn aerotp_connections(&self) -> impl Iterator<Item = (&Pair, &aerotp::Connection)> {
        self.splices
            .iter()
            .map(|(pair, splice)| (pair, &splice.aerotp))
    }

    /// Notes that the link to the other gateway is up, with this rate if known; later connections start with that rate.
    fn link_up(&mut self, rate: Option<DataRate>) {
        if let Some(rate) = rate {
            for rule in &mut self.rules {
                rule.configuration.initial_rate = rate;
            }
        }
        for (pair, splice) in &mut self.splices {
            splice.aerotp.link_up(aerotp::PathId(0), rate);
            self.touched.insert(*pair);
        }
    }

    /// Notes that the link to the other gateway is down.
    fn link_down(&mut self) {
        for splice in self.splices.values_mut() {
            splice.aerotp.link_down(aerotp::PathId(0));
        }
    }

    /// Takes in the rate at which the queue to the other gateway can serve a packet's source, shared by the source's
    /// sending connections. Returns true if the packet belongs to one of them.
    fn reduce_rate(&mut self, now: Instant, quoted: &QuotedPacket, rate: DataRate) -> bool {
        if quoted.protocol != protocol::AEROTP {
            return false;
        }
        let (source, _) = quoted.transport_addresses();
        let lowest = end(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
        let all = (end(source, 0), lowest)..;
        let here = |(ends, _): &(&Pair, &mut Box<Splice>)| ends.0.address == source;
        let own = self.splices.range_mut(all).take_while(here);
        let mut senders: Vec<(&Pair, &mut Box<Splice>)> =
            own.filter(|(_, splice)| splice.aerotp.held() > 0).collect();
        if senders.is_empty() {
            return false;
        }
        let each = rate.bits_per_second() / senders.len() as u64;
        for (ends, splice) in &mut senders {
            let rate = DataRate::from_bits_per_second(each);
            splice.aerotp.backpressure(now, aerotp::PathId(0), rate);
            self.touched.insert(**ends);
        }
        true
    }

    /// Returns true for a packet that this gateway takes.
    fn takes(&self, packet: &Packet, routes: &RouteTable) -> bool {
        let leads_across = || routes.lookup(packet.ip.destination) == Some(self.airborne);
        let (source, destination) = (packet.ip.source, packet.ip.destination);
        match &packet.body {
            Body::Aerotp(_) => !leads_across(),
            Body::Tcp(header, _) => {
                let ends = (
                    end(source, header.source_port),
                    end(destination, header.destination_port),
                );
                self.splices.contains_key(&ends)
                    || opens(header)
                        && leads_across()
                        && self.rule(packet, header.destination_port).is_some()
            }
            Body::Udp(header, _) => {
                let ends = (
                    end(source, header.source_port),
                    end(destination, header.destination_port),
                );
                self.splices.contains_key(&ends)
                    || leads_across() && self.rule(packet, header.destination_port).is_some()
            }
            _ => false,
        }
    }

    fn rule(&self, packet: &Packet, port: u16) -> Option<usize> {
        self.rules
            .iter()
            .position(|rule| rule.selector.selects(packet, port))
    }

    /// Returns the identity of this end's connection.
    fn identity(&self, now: Instant, ends: &Pair) -> Identity {
        let token = initial_sequence_number(&self.secret, Instant::ZERO, ends.1, ends.0);
        Identity {
            local_port: ends.0.port,
            remote_port: ends.1.port,
            initial: initial_sequence_number(&self.secret, now, ends.0, ends.1),
            token: token.0,
        }
    }

    fn add(&mut self, splice: Splice) {
        let ends = splice.ends;
        self.half_open.push_back(ends);
        if let Near::Tcp(socket) = splice.near {
            self.by_socket.insert(socket, ends);
        }
        self.splices.insert(ends, Box::new(splice));
        self.touched.insert(ends);
    }

    /// Removes a half-open connection if there are too many: the oldest of those with at most one packet received, or
    /// else the one with the oldest latest packet.
    fn make_room(&mut self) -> Option<Box<Splice>> {
        if self.half_open.len() < MOST_HALF_OPEN {
            return None;
        }
        let hardly_heard = |ends: &Pair| {
            let splice = self.splices.get(ends);
            splice.is_none_or(|splice| splice.heard < 2)
        };
        let last_heard = |place: &usize| {
            let splice = self.splices.get(&self.half_open[*place]);
            splice.map(|splice| splice.aerotp.last_heard())
        };
        let place = self.half_open.iter().position(hardly_heard);
        let place = place.or_else(|| (0..self.half_open.len()).min_by_key(last_heard))?;
        let ends = self.half_open.remove(place)?;
        self.discards.half_open += 1;
        self.touched.remove(&ends);
        let splice = self.splices.remove(&ends)?;
        if let Near::Tcp(socket) = splice.near {
            self.by_socket.remove(&socket);
        }
        if let Some(deadline) = splice.deadline {
            self.deadlines.remove(&(deadline, ends));
        }
        Some(splice)
    }

    fn handle_deadlines(&mut self, now: Instant) {
        while let Some(&(at, ends)) = self.deadlines.first()
            && at <= now
        {
            self.deadlines.pop_first();
            if let Some(splice) = self.splices.get_mut(&ends) {
                splice.deadline = None;
                splice.aerotp.handle_timeout(now);
                self.touched.insert(ends);
            }
        }
    }
}

impl Layer for AerotpGateway {
    fn rank(&self) -> Rank {
        Rank::AerotpGateway
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
        match self.takes(packet, routes) {
            true => Look::Take,
            false => Look::Pass,
        }
    }

    fn ends(&self, routes: &RouteTable, packet: &Packet) -> bool {
        self.takes(packet, routes)
    }

    fn end(&mut self, now: Instant, around: &mut Around<'_>, packet: Packet) -> Ended {
        if !self.takes(&packet, around.routes) {
            return Ended::No(packet);
        }
        let (source, destination) = (packet.ip.source, packet.ip.destination);
        let is_taken = match &packet.body {
            Body::Aerotp(_) => self.take_from_air(now, around, packet),
            Body::Tcp(header, _) => {
                let ends = (
                    end(source, header.source_port),
                    end(destination, header.destination_port),
                );
                self.take_segment(now, around, ends, packet)
            }
            _ => self.take_datagram(now, around, packet),
        };
        match is_taken {
            true => Ended::Taken,
            false => Ended::Refused,
        }
    }

    fn work(&mut self, now: Instant, around: &mut Around<'_>) {
        for event in core::mem::take(&mut self.heard) {
            let link = around.link_parameters(self.airborne);
            match event {
                LinkEvent::Up => self.link_up(link.map(|link| link.outgoing)),
                _ => self.link_down(),
            }
        }
        self.work_splices(now, around);
        self.send_segments(now, around);
        self.half_deadline = self.sockets.poll_timeout();
    }

    fn tolerated_loss(&self, interface: InterfaceId) -> Option<u32> {
        let connections = self.aerotp_connections();
        let asked = connections.filter_map(|(_, connection)| connection.tolerated_loss());
        asked.min().filter(|_| interface == self.airborne)
    }

    fn handle_medium(&mut self, interface: InterfaceId, event: LinkEvent) {
        if interface == self.airborne && matches!(event, LinkEvent::Up | LinkEvent::Down) {
            self.heard.push(event);
        }
    }

    fn handle_icmp(&mut self, now: Instant, error: IcmpError, quoted: &QuotedPacket) -> bool {
        if let IcmpError::Backpressure { rate } = error {
            let rate = DataRate::from_bits_per_second(u64::from(rate) * 1000);
            return self.reduce_rate(now, quoted, rate);
        }
        self.sockets.is_about(quoted) && self.sockets.handle_icmp(now, error, quoted)
    }

    fn poll_step(&mut self) -> Option<Step> {
        self.outbox.pop_front().map(Step::Originate)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let splices = self.deadlines.first().map(|&(at, _)| at);
        splices.into_iter().chain(self.half_deadline).min()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.sockets.handle_timeout(now);
        self.handle_deadlines(now);
    }

    fn counters(&self) -> Counters {
        Counters {
            discarded: self.discarded,
            ..Counters::default()
        }
    }
}

#[cfg(test)]
mod tests;
