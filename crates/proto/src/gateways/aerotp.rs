//! An AeroTP gateway (study A, sections III-A and III-B; docs/aerotp.md, section "Gateways"): TCP and UDP on one side,
//! AeroTP over the link between two gateways.
//!
//! Both ends keep their addresses and ports. A TCP connection has one half at each gateway (a socket of this host bound
//! to an address of another), and one AeroTP connection between the halves. In reliable mode neither half acknowledges
//! a byte before the far TCP has; in the other connection modes the gateway takes custody and acknowledges at once. The
//! progress of one connection is in `aerotp/work.rs`.

mod custody;
pub mod datagram_code;
mod datagrams;
pub mod headers;
mod links;
mod opening;
mod rules;
mod sending;
mod splice;
mod turns;
mod work;

pub use custody::{
    CustodyCounts, Damage, JournalSettings, JournalStep, MissingRule, Recovered, WallTime,
};
pub use rules::{Rule, Selector};

use super::halves::{end, opens};
use crate::aerotp::{self, Identity, PathId};
use crate::host::layer::{Around, Counters, Ended, Layer, Look, Rank, Step};
use crate::host::sockets::Sockets;
use crate::host::table::Pair;
use crate::host::{Discarded, RouteTable, SocketId};
use crate::interface::{InterfaceId, LinkEvent, StatusInterests, TransmitStatus};
use crate::packet::{Body, IpHeader, Packet};
use crate::rate::DataRate;
use crate::tcp::isn::initial_sequence_number;
use crate::time::Instant;
use crate::wire::icmp::{IcmpError, QuotedPacket};
use crate::wire::protocol;
use core::net::{IpAddr, Ipv4Addr};
use custody::Custody;
use links::Links;
use splice::{Near, Splice};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use turns::Turns;

/// Maximum number of half-open connections; one more replaces another.
const MOST_HALF_OPEN: usize = 1024;

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

/// Packets from the other gateway, as the code across packets found them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GatewayRepairs {
    /// Lost packets restored.
    pub packets: u64,
    /// Blocks that lost more packets than they had repair packets.
    pub failed_blocks: u64,
}

impl GatewayRepairs {
    fn add(&mut self, connection: &aerotp::Connection) {
        let statistics = connection.statistics();
        self.packets += statistics.restored;
        self.failed_blocks += statistics.failed_blocks;
    }
}

/// The gateway of one host.
#[derive(Debug)]
pub struct AerotpGateway {
    links: Links,
    /// True if packets on the links are the other gateway's: the links authenticate them.
    links_authenticate: bool,
    rules: Vec<Arc<Rule>>,
    secret: [u8; 16],
    /// The TCP halves.
    sockets: Sockets,
    /// Connections by the ends of their AeroTP connection, own side first.
    splices: BTreeMap<Pair, Box<Splice>>,
    by_socket: BTreeMap<SocketId, Pair>,
    /// Connections whose other gateway or ends have not yet proved their addresses, by number.
    half_open: BTreeMap<u64, Pair>,
    /// Number of the next connection.
    next_number: u64,
    custody: Custody,
    /// Turns to send data.
    turns: Turns,
    /// Connections with pending work.
    touched: BTreeSet<Pair>,
    deadlines: BTreeSet<(Instant, Pair)>,
    /// The next deadline of a half, as of the latest work.
    half_deadline: Option<Instant>,
    /// Events of the links not yet acted upon.
    heard: Vec<(InterfaceId, LinkEvent)>,
    outbox: VecDeque<Step>,
    discards: GatewayDiscards,
    /// Repairs of connections that have ended.
    repairs: GatewayRepairs,
    discarded: Discarded,
}

impl AerotpGateway {
    /// Creates a gateway with links to the other gateway: their interfaces, and their rates until they report others.
    /// Each connection spreads its packets over all of them, at most eight. The first matching rule applies; packets
    /// without one pass unchanged. `secret` keys sequence numbers and tokens.
    pub fn new(
        links: &[(InterfaceId, DataRate)],
        rules: Vec<Rule>,
        secret: [u8; 16],
    ) -> AerotpGateway {
        let mut gateway = AerotpGateway {
            links: Links::new(links),
            links_authenticate: false,
            rules: Vec::new(),
            secret,
            sockets: Sockets::new(secret),
            splices: BTreeMap::new(),
            by_socket: BTreeMap::new(),
            half_open: BTreeMap::new(),
            next_number: 0,
            custody: Custody::new(),
            turns: Turns::default(),
            touched: BTreeSet::new(),
            deadlines: BTreeSet::new(),
            half_deadline: None,
            heard: Vec::new(),
            outbox: VecDeque::new(),
            discards: GatewayDiscards::default(),
            repairs: GatewayRepairs::default(),
            discarded: Discarded::default(),
        };
        gateway.set_rules(rules);
        gateway
    }

    /// Leaves the rates of the links to their media, which find them and report each change.
    pub fn leave_rates_to_media(&mut self) {
        self.links.leave_rates_to_media();
    }

    /// Replaces the rules; connections under way keep theirs.
    pub fn set_rules(&mut self, rules: Vec<Rule>) {
        let delays = rules.iter().map(|rule| rule.configuration.mack_delay);
        self.links
            .set_answers_within(delays.max().unwrap_or_default());
        self.rules = rules.into_iter().map(Arc::new).collect();
    }

    /// Leaves it to the links to authenticate the other gateway: then its connections prove themselves at once, and any
    /// number of them may open within a round trip.
    pub fn leave_authentication_to_links(&mut self) {
        self.links_authenticate = true;
    }

    /// Returns the counts of discarded packets and connections.
    pub fn discards(&self) -> GatewayDiscards {
        self.discards
    }

    /// Returns the counts of repairs, of all connections so far.
    pub fn repairs(&self) -> GatewayRepairs {
        let mut repairs = self.repairs;
        for (_, connection) in self.aerotp_connections() {
            repairs.add(connection);
        }
        repairs
    }

    /// Returns the number of connections carried.
    pub fn connections(&self) -> usize {
        self.splices.len()
    }

    /// Returns the number of TCP halves that are not closed.
    pub fn halves(&self) -> usize {
        self.sockets.peers().count()
    }

    /// Returns the bytes in custody: taken from their sender, but not yet acknowledged by the other gateway, or with a
    /// journal by the far end.
    pub fn custody(&self) -> u64 {
        self.splices.values().map(|splice| splice.custody()).sum()
    }

    /// Returns the AeroTP connections with their ends, own side first.
    pub fn aerotp_connections(&self) -> impl Iterator<Item = (&Pair, &aerotp::Connection)> {
        self.splices
            .iter()
            .map(|(pair, splice)| (pair, &splice.aerotp))
    }

    /// Returns the present rate of the link at an interface.
    pub fn rate(&self, interface: InterfaceId) -> Option<DataRate> {
        let mut links = self.links.iter();
        links
            .find(|(_, link)| link.interface() == interface)
            .map(|(_, link)| link.rate())
    }

    /// Returns true if the gateway sends in the name of a packet's source.
    fn speaks_for(&self, quoted: &QuotedPacket) -> bool {
        let (source, _) = quoted.transport_addresses();
        let mut own = self.splices.range(lowest_of(source)..);
        quoted.protocol == protocol::AEROTP
            && own.next().is_some_and(|(ends, _)| ends.0.address == source)
    }

    /// Returns the path by which a packet's route leads to the other gateway, if it does.
    fn leads_across(&self, packet: &Packet, routes: &RouteTable) -> Option<PathId> {
        self.links.path(routes.lookup(packet.ip.destination)?)
    }

    /// Returns true for a packet that this gateway takes.
    fn takes(&self, packet: &Packet, routes: &RouteTable) -> bool {
        let leads_across = || self.leads_across(packet, routes).is_some();
        let (source, destination) = (packet.ip.source, packet.ip.destination);
        if let Body::Aerotp(_) = &packet.body {
            return !leads_across();
        }
        let Some((protocol, (from, to))) = packet.conversation() else {
            return false;
        };
        self.splices
            .contains_key(&(end(source, from), end(destination, to)))
            || leads_across()
                && self.rule(packet, to).is_some()
                && (protocol == protocol::UDP || packet.view().tcp.is_some_and(|tcp| opens(&tcp)))
    }

    /// Takes in a packet that the gateway ends; returns false if it is of no use.
    fn take(
        &mut self,
        now: Instant,
        around: &mut Around<'_>,
        interface: InterfaceId,
        packet: Packet,
    ) -> bool {
        let (source, destination) = (packet.ip.source, packet.ip.destination);
        match &packet.body {
            Body::Aerotp(_) => self.take_from_air(now, around, interface, packet),
            Body::Tcp(header, _) => {
                let ends = (
                    end(source, header.source_port),
                    end(destination, header.destination_port),
                );
                self.take_segment(now, around, ends, packet)
            }
            _ => self.take_datagram(now, around, packet),
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

    fn add(&mut self, mut splice: Splice) {
        let ends = splice.ends;
        splice.number = self.next_number;
        self.next_number += 1;
        self.half_open.insert(splice.number, ends);
        if let Near::Tcp(socket) = splice.near {
            self.by_socket.insert(socket, ends);
        }
        self.splices.insert(ends, Box::new(splice));
        self.touched.insert(ends);
    }

    /// Takes a connection out, for work on it; then put it back.
    fn take_out(&mut self, ends: &Pair) -> Option<Box<Splice>> {
        let mut splice = self.splices.remove(ends)?;
        if let Some(deadline) = splice.deadline.take() {
            self.deadlines.remove(&(deadline, *ends));
        }
        Some(splice)
    }

    /// Removes a half-open connection if there are too many: the oldest of those with at most one packet received, or
    /// else the one with the oldest latest packet.
    fn make_room(&mut self) -> Option<Box<Splice>> {
        if self.half_open.len() < MOST_HALF_OPEN {
            return None;
        }
        let all = || {
            let known = |(&number, ends)| Some((number, self.splices.get(ends)?));
            self.half_open.iter().filter_map(known)
        };
        let oldest = all().find(|(_, splice)| splice.heard < 2);
        let least_heard = || all().min_by_key(|(_, splice)| splice.aerotp.last_heard());
        let (number, _) = oldest.or_else(least_heard)?;
        let ends = self.half_open.remove(&number)?;
        self.discards.half_open += 1;
        self.touched.remove(&ends);
        let mut splice = self.take_out(&ends)?;
        if let Near::Tcp(socket) = splice.near {
            self.by_socket.remove(&socket);
        }
        let woken = self.custody.count(&mut splice, false);
        self.touched.extend(woken);
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
        now: Instant,
        interface: InterfaceId,
        routes: &RouteTable,
        packet: &mut Packet,
    ) -> Look {
        if self.takes(packet, routes) {
            return Look::Take;
        }
        match self.leads_across(packet, routes) {
            Some(way) if self.links.path(interface).is_none() => self.pass_by(now, way, packet),
            _ => Look::Pass,
        }
    }

    fn ends(&self, routes: &RouteTable, packet: &Packet) -> bool {
        self.takes(packet, routes)
    }

    fn end(
        &mut self,
        now: Instant,
        around: &mut Around<'_>,
        interface: InterfaceId,
        packet: Packet,
    ) -> Ended {
        if !self.takes(&packet, around.routes) {
            return Ended::No(packet);
        }
        if packet.segmentation().is_some() {
            for piece in packet.read_segmented() {
                self.take(now, around, interface, piece);
            }
            return Ended::Taken;
        }
        match self.take(now, around, interface, packet) {
            true => Ended::Taken,
            false => Ended::Refused,
        }
    }

    fn work(&mut self, now: Instant, around: &mut Around<'_>) {
        self.restore(now, around);
        for (interface, event) in core::mem::take(&mut self.heard) {
            self.handle_link(interface, event, around.link_parameters(interface));
        }
        loop {
            self.work_splices(now, around);
            if !self.give_turn(now, around) {
                break;
            }
        }
        self.send_segments(now, around);
        self.half_deadline = self.sockets.poll_timeout();
    }

    fn tolerated_loss(&self, interface: InterfaceId) -> Option<u32> {
        let connections = self.aerotp_connections();
        let asked = connections.filter_map(|(_, connection)| connection.tolerated_loss());
        asked.min().filter(|_| self.links.path(interface).is_some())
    }

    fn handle_medium(&mut self, interface: InterfaceId, event: LinkEvent) {
        let concerns_links = matches!(
            event,
            LinkEvent::Up
                | LinkEvent::Down
                | LinkEvent::GoingDown
                | LinkEvent::CellGoingDown
                | LinkEvent::Rollback
                | LinkEvent::Parameters(_)
        );
        if concerns_links && self.links.path(interface).is_some() {
            self.heard.push((interface, event));
        }
    }

    fn status_interests(&self) -> StatusInterests {
        StatusInterests {
            queued: true,
            ..StatusInterests::default()
        }
    }

    /// Takes in the pressure of a queue at the entrance of a link.
    fn handle_transmit_status(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        _packet: &Packet,
        status: TransmitStatus,
    ) -> bool {
        if let TransmitStatus::Queued {
            pressure: Some(served),
        } = status
            && let Some((_, link)) = self.links.by_interface(interface)
        {
            link.backpressure(now, served);
        }
        false
    }

    fn handle_corruption(&mut self, protocol: u8, ip: &IpHeader, bytes: u32) {
        if protocol != protocol::AEROTP {
            return;
        }
        let of_host = self.splices.range_mut(lowest_of(ip.destination)..);
        for (_, splice) in of_host
            .take_while(|(ends, _)| ends.0.address == ip.destination)
            .filter(|(ends, _)| ends.1.address == ip.source)
        {
            splice.aerotp.note_corruption(bytes);
        }
    }

    fn handle_icmp(&mut self, now: Instant, error: IcmpError, quoted: &QuotedPacket) -> bool {
        // Reports about the queues before the links, which the gateway has taken in itself.
        if matches!(error, IcmpError::Backpressure { .. }) {
            return self.speaks_for(quoted);
        }
        self.sockets.is_about(quoted) && self.sockets.handle_icmp(now, error, quoted)
    }

    fn poll_step(&mut self) -> Option<Step> {
        self.outbox.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let splices = self.deadlines.first().map(|&(at, _)| at);
        let turn = self.turns.highest().and_then(|class| {
            let (_, link) = self.links.first_free(class)?;
            Some(link.free_at(class))
        });
        let silence = self.links.next_silence();
        let all = [splices, self.half_deadline, turn, silence];
        all.into_iter().flatten().min()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.sockets.handle_timeout(now);
        self.handle_deadlines(now);
        self.note_silence(now);
    }

    fn counters(&self) -> Counters {
        Counters {
            discarded: self.discarded,
            ..Counters::default()
        }
    }
}

/// Returns the first pair that a connection of a host behind this gateway can have.
fn lowest_of(host: IpAddr) -> Pair {
    (end(host, 0), end(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0))
}

#[cfg(test)]
mod tests;
