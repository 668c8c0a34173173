//! An AeroTP gateway (study A, sections III-A and III-B; docs/aerotp.md, section "Gateways"): TCP and UDP on one side, AeroTP over
//! the link between two gateways.
//!
//! Both ends keep their addresses and ports; the gateways stand between them. A TCP connection has one half at each gateway, a
//! socket of this host bound to an address of another, and one AeroTP connection between the halves. In reliable mode neither
//! half acknowledges a byte before the far TCP has; in the others that are connections the gateway takes custody and
//! acknowledges at once. How one connection goes on is in `splice/work.rs`.

mod datagrams;
mod opening;
mod work;

use super::sockets::Pair;
use super::{Host, InterfaceId, LinkEvent, RouteTable, SocketId};
use crate::aerotp::{self, Configuration, Identity};
use crate::packet::{Body, FlowId, Packet};
use crate::rate::DataRate;
use crate::tcp::isn::initial_sequence_number;
use crate::tcp::profile::Profile;
use crate::tcp::{self, Endpoint};
use crate::time::Instant;
use crate::wire::aerotp::{AerotpPacket, Mode};
use crate::wire::icmp::QuotedPacket;
use crate::wire::protocol;
use crate::wire::tcp::{TcpFlags, TcpHeader};
use core::net::{IpAddr, Ipv4Addr};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Half-open connections, at most; one makes room for the next.
const MOST_HALF_OPEN: usize = 1024;

/// Which packets a rule is for. What is not said does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// The port at which the far end listens.
    pub port: Option<u16>,
    /// The six bits of the differentiated services field (RFC 2474).
    pub code_point: Option<u8>,
    /// Network of the destination, and the length of its prefix in bits.
    pub destination: Option<(IpAddr, u8)>,
}

/// How connections that it selects cross the link.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Which they are.
    pub selector: Selector,
    /// The AeroTP between the gateways; its mode above all.
    pub configuration: Configuration,
    /// The TCP of the halves.
    pub profile: Profile,
}

/// What was given up at a gateway, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GatewayDiscards {
    /// Half-open connections that made room for others.
    pub half_open: u64,
    /// Datagrams for which there was no room, or that are longer than a packet.
    pub datagrams: u64,
    /// AeroTP packets that belong to nothing here.
    pub strangers: u64,
}

/// The gateway of one host.
#[derive(Debug)]
pub struct AerotpGateway {
    /// The interface to the other gateway.
    airborne: InterfaceId,
    rules: Vec<Rule>,
    secret: [u8; 16],
    /// By the ends of the AeroTP connection, the one on this gateway's side first.
    splices: BTreeMap<Pair, Box<Splice>>,
    by_socket: BTreeMap<SocketId, Pair>,
    /// Connections of which nothing shows yet that their other end is where its packets say, oldest first.
    half_open: VecDeque<Pair>,
    /// Those with which something has happened.
    touched: BTreeSet<Pair>,
    deadlines: BTreeSet<(Instant, Pair)>,
    discards: GatewayDiscards,
}

/// What a splice joins to AeroTP.
#[derive(Debug)]
enum Near {
    /// A SYN waits until the far end has answered.
    Waiting(Box<TcpHeader>),
    /// The TCP half here.
    Tcp(SocketId),
    /// Datagrams.
    Udp,
}

/// One connection across the link.
#[derive(Debug)]
struct Splice {
    aerotp: aerotp::Connection,
    near: Near,
    rule: usize,
    flow: Option<FlowId>,
    /// Nothing is said to the other gateway before the TCP half here has been answered.
    is_held: bool,
    /// Packets of the other gateway that it was given.
    heard: u64,
    /// Whether it counts as half open.
    half_open: bool,
    /// The packet that opened it, to refuse it by.
    opened_by: Option<Box<AerotpPacket>>,
    /// The end here has sent all that it will.
    near_finished: bool,
    /// The half here was reset, refused, or timed out.
    near_failed: bool,
    /// The far end has sent all that it will.
    far_finished: bool,
    /// The other gateway has all that the end here has sent.
    end_delivered: bool,
    last_datagram: Instant,
    deadline: Option<Instant>,
}

impl Splice {
    fn new(
        now: Instant,
        aerotp: aerotp::Connection,
        near: Near,
        (rule, flow): (usize, Option<FlowId>),
    ) -> Splice {
        Splice {
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

    /// Whether nothing shows yet that the other gateway is where its packets say: it shows it by what it acknowledges, and so never
    /// in modes without answers.
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
    /// TCP needs a connection: without repetition, the nearest there is.
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
    /// A gateway whose `airborne` interface leads to the other one. The first rule that selects a packet counts; what none
    /// selects passes as it is. `secret` keys sequence numbers and tokens.
    pub fn new(airborne: InterfaceId, rules: Vec<Rule>, secret: [u8; 16]) -> AerotpGateway {
        AerotpGateway {
            airborne,
            rules,
            secret,
            splices: BTreeMap::new(),
            by_socket: BTreeMap::new(),
            half_open: VecDeque::new(),
            touched: BTreeSet::new(),
            deadlines: BTreeSet::new(),
            discards: GatewayDiscards::default(),
        }
    }

    /// What was given up.
    pub fn discards(&self) -> GatewayDiscards {
        self.discards
    }

    /// Connections that it carries.
    pub fn connections(&self) -> usize {
        self.splices.len()
    }

    /// The bytes in custody: acknowledged to their sender, and not yet by the other gateway.
    pub fn custody(&self) -> u64 {
        self.splices
            .values()
            .map(|splice| splice.aerotp.held())
            .sum()
    }

    /// The AeroTP connections, with their ends, own side first.
    pub fn aerotp_connections(&self) -> impl Iterator<Item = (&Pair, &aerotp::Connection)> {
        self.splices
            .iter()
            .map(|(pair, splice)| (pair, &splice.aerotp))
    }

    /// Takes in an event of a link here, which passes packets on at `rate` if the medium has said so.
    pub(super) fn on_link(
        &mut self,
        interface: InterfaceId,
        event: LinkEvent,
        rate: Option<DataRate>,
    ) {
        match event {
            _ if interface != self.airborne => {}
            LinkEvent::Up => self.link_up(rate),
            LinkEvent::Down => self.link_down(),
            _ => {}
        }
    }

    /// The link to the other gateway is up, with this rate if it is known; connections to come begin with it.
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

    /// The link to the other gateway is down.
    fn link_down(&mut self) {
        for splice in self.splices.values_mut() {
            splice.aerotp.link_down(aerotp::PathId(0));
        }
    }

    /// Whether something has happened to a connection since the host was polled.
    pub(super) fn has_work(&self) -> bool {
        !self.touched.is_empty()
    }

    /// Takes in the rate at which the queue to the other gateway can pass on what comes in the name of a packet's source: its
    /// connections that send share it. Returns true if the packet is one of theirs.
    pub(super) fn reduce_rate(
        &mut self,
        now: Instant,
        quoted: &QuotedPacket,
        rate: DataRate,
    ) -> bool {
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

    /// Whether a packet that arrives is this gateway's.
    pub(super) fn takes(&self, packet: &Packet, routes: &RouteTable) -> bool {
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

    /// What this end's connection is told of itself.
    fn identity(&self, now: Instant, ends: &Pair) -> Identity {
        let token = initial_sequence_number(&self.secret, Instant::ZERO, ends.1, ends.0);
        Identity {
            local_port: ends.0.port,
            remote_port: ends.1.port,
            initial: initial_sequence_number(&self.secret, now, ends.0, ends.1),
            token: token.0,
        }
    }

    fn add(&mut self, ends: Pair, splice: Splice) {
        self.half_open.push_back(ends);
        if let Near::Tcp(socket) = splice.near {
            self.by_socket.insert(socket, ends);
        }
        self.splices.insert(ends, Box::new(splice));
        self.touched.insert(ends);
    }

    /// Takes a half-open connection out if there are too many: the oldest of those that were heard at most once, or else the one that
    /// was last heard the longest ago.
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

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.deadlines.first().map(|&(at, _)| at)
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
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

/// An end of a connection.
fn end(address: IpAddr, port: u16) -> Endpoint {
    Endpoint { address, port }
}

fn opens(header: &TcpHeader) -> bool {
    header.flags.contains(TcpFlags::SYN)
        && !header.flags.contains(TcpFlags::ACK)
        && !header.flags.contains(TcpFlags::RST)
}

impl Host {
    /// Makes this host an AeroTP gateway.
    pub fn set_aerotp_gateway(&mut self, gateway: AerotpGateway) {
        self.agents_mut().gateway = Some(Box::new(gateway));
    }

    /// Its gateway, to look at.
    pub fn aerotp_gateway(&self) -> Option<&AerotpGateway> {
        self.agents.as_ref()?.gateway.as_deref()
    }

    /// Its gateway.
    pub fn aerotp_gateway_mut(&mut self) -> Option<&mut AerotpGateway> {
        self.agents.as_mut()?.gateway.as_deref_mut()
    }

    /// Whether a packet is the gateway's.
    pub(super) fn crosses(&self, packet: &Packet) -> bool {
        self.aerotp_gateway()
            .is_some_and(|gateway| gateway.takes(packet, &self.routes))
    }

    /// Offers a packet to the gateway; gives it back if it is not the gateway's.
    pub(super) fn offer_to_gateway(&mut self, now: Instant, packet: Packet) -> Option<Packet> {
        if !self.crosses(&packet) {
            return Some(packet);
        }
        self.accepted = true;
        let (source, destination) = (packet.ip.source, packet.ip.destination);
        match &packet.body {
            Body::Aerotp(_) => self.take_from_air(now, packet),
            Body::Tcp(header, _) => {
                let ends = (
                    end(source, header.source_port),
                    end(destination, header.destination_port),
                );
                self.take_segment(now, ends, packet);
            }
            _ => self.take_datagram(now, packet),
        }
        None
    }

    /// Whether a socket is a half of a connection across the link; its host's application does not hear of it.
    pub(super) fn is_half(&mut self, socket: SocketId, event: tcp::Event) -> bool {
        let Some(gateway) = self.aerotp_gateway_mut() else {
            return false;
        };
        let Some(&ends) = gateway.by_socket.get(&socket) else {
            return false;
        };
        gateway.touched.insert(ends);
        if let Some(splice) = gateway.splices.get_mut(&ends) {
            work::note(splice, event);
        }
        true
    }
}

#[cfg(test)]
mod tests;
