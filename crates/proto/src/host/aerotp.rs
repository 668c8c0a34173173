//! A host's AeroTP sockets: delivery of packets, listeners, and connections whose ends move. Datagrams of the stateless
//! mode bypass them.

mod application;
mod on_host;
#[cfg(test)]
mod tests;
mod transport;

use super::Delivery;
use super::table::{Pair, SocketTable, Timed};
use crate::aerotp::{self, Configuration, Connection, Identity, PathId, State, timestamp};
use crate::packet::{Body, FlowId, Payload};
use crate::rate::DataRate;
use crate::tcp::Endpoint;
use crate::tcp::isn::{initial_sequence_number, pair_hasher};
use crate::time::Instant;
use crate::wire::aerotp::{AerotpHeader, AerotpPacket, Condition, Mode, Protection, ServiceClass};
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::TcpFlags;
use core::hash::Hasher;
use core::net::IpAddr;
use std::collections::{BTreeMap, VecDeque};

/// The first path of a connection, meant by links and peers that know no other.
const PATH: PathId = PathId(0);

/// A datagram of the stateless mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AerotpDatagram {
    /// Source port.
    pub source_port: u16,
    /// Destination.
    pub to: Endpoint,
    /// Service class.
    pub class: ServiceClass,
    /// Code of the packet: in this mode no report of the channel's state arrives.
    pub protection: Protection,
    /// Payload.
    pub payload: Payload,
}

impl AerotpDatagram {
    /// Returns the datagram's packet, sent at `now`.
    pub fn into_packet(self, now: Instant) -> AerotpPacket {
        let header = AerotpHeader {
            source_port: self.source_port,
            destination_port: self.to.port,
            sequence: SequenceNumber(0),
            timestamp: timestamp(now),
            mode: Mode::UnreliableDatagram,
            class: self.class,
            is_final: false,
            ends_record: true,
            wants_mack: false,
            tcp_flags: TcpFlags::NONE,
            protection: self.protection,
            opening: None,
            tcp_offer: None,
            mack: None,
            token: None,
            adds_path: false,
            block: None,
            is_odd_incarnation: false,
            resumption: None,
        };
        AerotpPacket::new(header, self.payload)
    }
}

#[derive(Debug)]
struct Socket {
    flow: Option<FlowId>,
    connection: Connection,
    /// Number of packets received.
    heard: u64,
    /// The port of the listener that counts it as half open.
    half_open: Option<u16>,
    /// Time of the latest idle moment: the deadline is no earlier, although a probe's may have passed while the link
    /// was down.
    rested: Instant,
    /// The peer's token, by which the connection can be found.
    token: Option<u32>,
}

impl Socket {
    /// Returns the ends of each path, own first; all paths have the same ports.
    fn pairs(&self) -> impl Iterator<Item = Pair> {
        let ports = self.connection.identity();
        let end = |address, port| Endpoint { address, port };
        self.connection.paths().map(move |(_, (local, remote))| {
            (end(local, ports.local_port), end(remote, ports.remote_port))
        })
    }

    /// Returns the peer's address on the first path.
    fn peer(&self) -> IpAddr {
        self.connection.addresses().1
    }

    /// Returns true while the peer is not known to be at its packets' source address. In modes with ACKs, the peer's
    /// own ACKs prove it; in others a second packet does, which is weaker evidence.
    fn is_half_open(&self) -> bool {
        match self.connection.configuration().mode.repeats() {
            true => !self.connection.is_known(),
            false => self.heard < 2,
        }
    }

    fn is_over(&self) -> bool {
        self.connection.state() == State::Closed
    }
}

/// A connection by a number that is never reused; `None` once it is forgotten.
type Seat = Option<Box<Socket>>;

impl Timed for Seat {
    fn poll_timeout(&mut self) -> Option<Instant> {
        let socket = self.as_ref()?;
        let deadline = socket.connection.poll_timeout()?;
        Some(deadline.max(socket.rested))
    }
}

#[derive(Debug)]
struct Listener {
    configuration: Configuration,
    backlog: usize,
    flow: Option<FlowId>,
    /// Half-open connections, oldest first.
    half_open: VecDeque<u32>,
}

/// A connection to open.
struct Beginning {
    pub pair: Pair,
    /// Largest packet on the path, in bytes.
    pub mtu: u32,
    pub flow: Option<FlowId>,
}

/// All AeroTP connections of a host.
#[derive(Debug)]
pub struct AerotpSockets {
    table: SocketTable<Seat, Listener>,
    /// Connections by ports, own first, and the peer's token.
    by_token: BTreeMap<(u16, u16, u32), u32>,
    /// Half-open connections dropped to make room, not yet reported.
    dropped: VecDeque<u32>,
    dropped_in_all: u64,
    secret: [u8; 16],
}

impl AerotpSockets {
    fn new(secret: [u8; 16]) -> AerotpSockets {
        AerotpSockets {
            table: SocketTable::default(),
            by_token: BTreeMap::new(),
            dropped: VecDeque::new(),
            dropped_in_all: 0,
            secret,
        }
    }

    /// Opens a connection from a fresh port; the port in `beginning` is ignored.
    fn connect(
        &mut self,
        now: Instant,
        mut beginning: Beginning,
        configuration: Configuration,
    ) -> u32 {
        let (local, remote) = &mut beginning.pair;
        local.port = self.table.free_port(local.address, *remote);
        let identity = self.identity(now, beginning.pair);
        let addresses = (beginning.pair.0.address, beginning.pair.1.address);
        let connection =
            Connection::connect(now, configuration, identity, addresses, beginning.mtu);
        self.add(connection, &beginning)
    }

    /// Returns numbers that nobody off the path can guess.
    fn identity(&self, now: Instant, (local, remote): Pair) -> Identity {
        let mut token = pair_hasher(&self.secret, local, remote);
        token.write(b"AeroTP");
        token.write_u64(now.as_nanos());
        Identity {
            local_port: local.port,
            remote_port: remote.port,
            initial: initial_sequence_number(&self.secret, now, local, remote),
            token: token.finish() as u32,
        }
    }

    fn add(&mut self, connection: Connection, beginning: &Beginning) -> u32 {
        let id = self.table.add(Some(Box::new(Socket {
            flow: beginning.flow,
            connection,
            heard: 0,
            half_open: None,
            rested: Instant::ZERO,
            token: None,
        })));
        self.table.link(beginning.pair, id);
        id
    }

    fn listen(
        &mut self,
        port: u16,
        configuration: Configuration,
        backlog: u32,
        flow: Option<FlowId>,
    ) {
        let listener = Listener {
            configuration,
            backlog: backlog.max(1) as usize,
            flow,
            half_open: VecDeque::new(),
        };
        self.table.listen(port, listener);
    }

    fn socket(&self, id: u32) -> Option<&Socket> {
        self.table.get(id)?.as_deref()
    }

    fn socket_mut(&mut self, id: u32) -> Option<&mut Socket> {
        self.table.get_mut(id)?.as_deref_mut()
    }

    fn connection(&self, id: u32) -> Option<&Connection> {
        Some(&self.socket(id)?.connection)
    }

    fn connection_mut(&mut self, id: u32) -> Option<&mut Connection> {
        self.table.touch(id);
        Some(&mut self.socket_mut(id)?.connection)
    }

    /// Moves a connection to another address of its host.
    fn move_to(&mut self, now: Instant, id: u32, address: IpAddr) {
        self.change_paths(id, |connection| connection.move_to(now, PATH, address));
        self.table.touch(id);
    }

    /// Adds a path to a connection, between these addresses, own first.
    fn add_path(
        &mut self,
        now: Instant,
        id: u32,
        addresses: (IpAddr, IpAddr),
        (mtu, rate): (u32, DataRate),
    ) {
        self.change_paths(id, |connection| {
            connection.add_path(now, addresses, mtu, rate);
        });
        self.table.touch(id);
    }

    /// Applies a change that may alter the addresses of a connection's paths, and updates the lookup by packet.
    fn change_paths(&mut self, id: u32, change: impl FnOnce(&mut Connection)) {
        let Some(socket) = self.socket_mut(id) else {
            return;
        };
        let before: Vec<Pair> = socket.pairs().collect();
        change(&mut socket.connection);
        let after: Vec<Pair> = socket.pairs().collect();
        for pair in before {
            self.table.unlink(&pair, id);
        }
        for pair in after {
            self.table.link(pair, id);
        }
    }

    /// Takes in a packet for the local end of `pair` from the other, with the MTU of the path back.
    fn deliver(&mut self, now: Instant, pair: Pair, packet: AerotpPacket, mtu: u32) -> Delivery {
        if packet.header.mode == Mode::UnreliableDatagram {
            return self.deliver_datagram(pair, packet);
        }
        if let Some(id) = self.find(&pair, &packet.header) {
            self.hand_in(now, (id, pair), packet);
            return Delivery::Taken;
        }
        let opens = |listener: &&mut Listener| {
            packet.header.opening.is_some()
                && !packet.header.tcp_flags.contains(TcpFlags::RST)
                && packet.header.mode == listener.configuration.mode
        };
        let port = pair.0.port;
        let Some(listener) = self.table.listener_mut(port).filter(opens) else {
            let reset = aerotp::reset_reply(&packet.header, now);
            return Delivery::Nobody(reset.map(|reset| Body::Aerotp(Box::new(reset))));
        };
        let flow = listener.flow;
        // The opening end chooses the class of both directions.
        let configuration = Configuration {
            class: packet.header.class,
            ..listener.configuration.clone()
        };
        let crowded = listener.half_open.len() >= listener.backlog;
        if crowded {
            self.make_room(port);
        }
        let beginning = Beginning { pair, mtu, flow };
        let identity = self.identity(now, pair);
        let addresses = (pair.0.address, pair.1.address);
        let connection = Connection::accept(now, configuration, identity, addresses, mtu);
        let id = self.add(connection, &beginning);
        if let Some(socket) = self.socket_mut(id) {
            socket.half_open = Some(port);
        }
        if let Some(listener) = self.table.listener_mut(port) {
            listener.half_open.push_back(id);
        }
        self.hand_in(now, (id, pair), packet);
        Delivery::Accepted { number: id, port }
    }

    fn deliver_datagram(&self, (local, from): Pair, packet: AerotpPacket) -> Delivery {
        let port = local.port;
        match packet.condition {
            _ if !self.table.is_bound(port) => Delivery::Nobody(None),
            Condition::Damaged(_) => Delivery::Damaged,
            Condition::Clean | Condition::Corrected(_) => Delivery::Datagram {
                port,
                from,
                payload: packet.payload,
            },
        }
    }

    /// Finds a packet's connection by its ends, or by its token if the peer's address has changed.
    fn find(&self, pair: &Pair, header: &AerotpHeader) -> Option<u32> {
        let open = |&id: &u32| self.socket(id).is_some_and(|socket| !socket.is_over());
        if let Some(id) = self.table.find(pair).filter(open) {
            return Some(id);
        }
        let shown = header
            .token
            .or(header.opening.map(|opening| opening.token))?;
        let place = (header.destination_port, header.source_port, shown);
        self.by_token.get(&place).copied().filter(open)
    }

    fn hand_in(&mut self, now: Instant, (id, pair): (u32, Pair), packet: AerotpPacket) {
        let is_known = self.table.find(&pair) == Some(id);
        let Some(socket) = self.socket_mut(id) else {
            return;
        };
        socket.heard += 1;
        let ends = (pair.1.address, pair.0.address);
        if is_known {
            socket.connection.handle_packet(now, ends, packet);
        } else {
            // Found by its token: the peer has moved, or uses another of its addresses.
            self.change_paths(id, |connection| connection.handle_packet(now, ends, packet));
        }
        let Some(socket) = self.socket_mut(id) else {
            return;
        };
        if socket.token.is_none()
            && let Some(token) = socket.connection.peer_token()
        {
            socket.token = Some(token);
            self.by_token.insert((pair.0.port, pair.1.port, token), id);
        }
        self.end_half_open(id);
        self.table.touch(id);
    }

    /// Takes a connection off the half-open ones: the peer has proved its address, or the connection has ended.
    fn end_half_open(&mut self, id: u32) {
        let Some(socket) = self.socket_mut(id) else {
            return;
        };
        let Some(port) = socket.half_open.filter(|_| !socket.is_half_open()) else {
            return;
        };
        socket.half_open = None;
        if let Some(listener) = self.table.listener_mut(port) {
            listener.half_open.retain(|&other| other != id);
        }
    }

    /// Drops a half-open connection of a listener: the oldest of those that have received one packet, or else the oldest.
    fn make_room(&mut self, port: u16) {
        let Some(listener) = self.table.listener(port) else {
            return;
        };
        let heard_once = |&&id: &&u32| self.socket(id).is_some_and(|socket| socket.heard < 2);
        let half_open = &listener.half_open;
        let Some(&id) = half_open.iter().find(heard_once).or(half_open.front()) else {
            return;
        };
        self.dropped_in_all += 1;
        self.dropped.push_back(id);
        self.forget(id);
    }

    /// Removes a connection and all its entries in the tables.
    fn forget(&mut self, id: u32) {
        let Some(socket) = self.table.get_mut(id).and_then(Option::take) else {
            return;
        };
        for pair in socket.pairs() {
            self.table.unlink(&pair, id);
        }
        if let Some(token) = socket.token {
            let ports = socket.connection.identity();
            let place = (ports.local_port, ports.remote_port, token);
            if self.by_token.get(&place) == Some(&id) {
                self.by_token.remove(&place);
            }
        }
        if let Some(port) = socket.half_open
            && let Some(listener) = self.table.listener_mut(port)
        {
            listener.half_open.retain(|&other| other != id);
        }
    }
}
