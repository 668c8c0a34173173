//! AeroTP connections of a host: lookup by packet, lists of connections with events or packets to send, deadlines. Datagrams of the
//! stateless mode bypass them.

mod application;
mod on_host;
#[cfg(test)]
mod tests;
mod transport;

use super::Delivery;
use super::sockets::{FIRST_EPHEMERAL_PORT, Pair};
use crate::aerotp::{self, Configuration, Connection, Identity, PathId, State, timestamp};
use crate::packet::{Body, FlowId, Payload};
use crate::rate::DataRate;
use crate::tcp::Endpoint;
use crate::tcp::isn::{initial_sequence_number, pair_hasher};
use crate::time::Instant;
use crate::wire::aerotp::{AerotpHeader, AerotpPacket, Condition, Mode, Protection, ServiceClass};
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::TcpFlags;
use core::cmp::Reverse;
use core::hash::Hasher;
use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

/// The first path of a connection, the one meant by links and peers that know of no other.
const PATH: PathId = PathId(0);

/// A connection by its number, which is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct AerotpId(u32);

/// A datagram of the stateless mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AerotpDatagram {
    /// Own port.
    pub source_port: u16,
    /// Its destination.
    pub to: Endpoint,
    /// Its priority in queues.
    pub class: ServiceClass,
    /// Its code: without answers there is no report of the channel's state.
    pub protection: Protection,
    /// Its payload.
    pub payload: Payload,
}

impl AerotpDatagram {
    /// Returns the datagram's packet, as it leaves now.
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
    /// True while it is in the list of connections that may have an event.
    touched: bool,
    /// True while it is in the list of connections that may have a packet to send.
    ready: bool,
    /// Its deadline in the heap, if any.
    queued_deadline: Option<Instant>,
    /// The peer's token, by which the connection can be found.
    token: Option<u32>,
}

impl Socket {
    /// Returns the ends of each path, own first; ports are the same on all.
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

    /// Returns true while nothing shows that the peer really is at its packets' source address. Where the peer gets ACKs, its own ACKs
    /// show it; where it gets none, a second packet does, which is weaker evidence.
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

#[derive(Debug)]
struct Listener {
    configuration: Configuration,
    backlog: usize,
    flow: Option<FlowId>,
    /// Half-open connections, oldest first.
    half_open: VecDeque<AerotpId>,
}

/// A connection to be opened.
struct Beginning {
    pub pair: Pair,
    /// Largest packet on the path, in bytes.
    pub mtu: u32,
    pub flow: Option<FlowId>,
}

/// All AeroTP connections of a host.
#[derive(Debug)]
pub struct AerotpSockets {
    /// Boxed one by one: a tree's nodes are half empty where numbers ascend.
    sockets: BTreeMap<AerotpId, Box<Socket>>,
    /// Connections by the ends of each path.
    by_pair: BTreeMap<Pair, AerotpId>,
    /// Connections by ports, own first, and the peer's token.
    by_token: BTreeMap<(u16, u16, u32), AerotpId>,
    listeners: BTreeMap<u16, Listener>,
    bound: BTreeSet<u16>,
    touched: VecDeque<AerotpId>,
    ready: VecDeque<AerotpId>,
    changed: VecDeque<AerotpId>,
    deadlines: BinaryHeap<Reverse<(Instant, AerotpId)>>,
    /// Half-open connections dropped to make room, not yet reported.
    dropped: VecDeque<AerotpId>,
    dropped_in_all: u64,
    secret: [u8; 16],
    next_id: u32,
    next_port: u16,
}

impl AerotpSockets {
    fn new(secret: [u8; 16]) -> AerotpSockets {
        AerotpSockets {
            sockets: BTreeMap::new(),
            by_pair: BTreeMap::new(),
            by_token: BTreeMap::new(),
            listeners: BTreeMap::new(),
            bound: BTreeSet::new(),
            touched: VecDeque::new(),
            ready: VecDeque::new(),
            changed: VecDeque::new(),
            deadlines: BinaryHeap::new(),
            dropped: VecDeque::new(),
            dropped_in_all: 0,
            secret,
            next_id: 0,
            next_port: FIRST_EPHEMERAL_PORT,
        }
    }

    /// Opens a connection from a fresh port; the port in `beginning` is ignored.
    fn connect(
        &mut self,
        now: Instant,
        mut beginning: Beginning,
        configuration: Configuration,
    ) -> AerotpId {
        let (local, remote) = &mut beginning.pair;
        local.port = self.free_port(local.address, *remote);
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

    /// Returns a local port without a connection to `remote`; if all are in use, the oldest is taken over.
    fn free_port(&mut self, address: IpAddr, remote: Endpoint) -> u16 {
        for _ in FIRST_EPHEMERAL_PORT..=u16::MAX {
            let port = self.next_port;
            self.next_port = port.checked_add(1).unwrap_or(FIRST_EPHEMERAL_PORT);
            let pair = (Endpoint { address, port }, remote);
            if !self.by_pair.contains_key(&pair) {
                return port;
            }
        }
        self.next_port
    }

    fn add(&mut self, connection: Connection, beginning: &Beginning) -> AerotpId {
        let id = AerotpId(self.next_id);
        self.next_id += 1;
        let socket = Socket {
            flow: beginning.flow,
            connection,
            heard: 0,
            half_open: None,
            touched: false,
            ready: false,
            queued_deadline: None,
            token: None,
        };
        self.sockets.insert(id, Box::new(socket));
        self.by_pair.insert(beginning.pair, id);
        self.touch(id);
        id
    }

    fn listen(
        &mut self,
        port: u16,
        configuration: Configuration,
        backlog: u32,
        flow: Option<FlowId>,
    ) {
        self.listeners.insert(
            port,
            Listener {
                configuration,
                backlog: backlog.max(1) as usize,
                flow,
                half_open: VecDeque::new(),
            },
        );
    }

    fn bind(&mut self, port: u16) {
        self.bound.insert(port);
    }

    fn connection(&self, id: AerotpId) -> Option<&Connection> {
        self.sockets.get(&id).map(|socket| &socket.connection)
    }

    fn connection_mut(&mut self, id: AerotpId) -> Option<&mut Connection> {
        self.touch(id);
        self.sockets
            .get_mut(&id)
            .map(|socket| &mut socket.connection)
    }

    /// Moves a connection to another address of its host.
    fn move_to(&mut self, now: Instant, id: AerotpId, address: IpAddr) {
        self.change_paths(id, |connection| connection.move_to(now, PATH, address));
        self.touch(id);
    }

    /// Adds a path to a connection, between these addresses, own first.
    fn add_path(
        &mut self,
        now: Instant,
        id: AerotpId,
        addresses: (IpAddr, IpAddr),
        (mtu, rate): (u32, DataRate),
    ) {
        self.change_paths(id, |connection| {
            connection.add_path(now, addresses, mtu, rate);
        });
        self.touch(id);
    }

    /// Applies a change that may alter the addresses of a connection's paths, and updates the lookup by packet.
    fn change_paths(&mut self, id: AerotpId, change: impl FnOnce(&mut Connection)) {
        let Some(socket) = self.sockets.get_mut(&id) else {
            return;
        };
        let before: Vec<Pair> = socket.pairs().collect();
        change(&mut socket.connection);
        for pair in before {
            if self.by_pair.get(&pair) == Some(&id) {
                self.by_pair.remove(&pair);
            }
        }
        self.by_pair.extend(socket.pairs().map(|pair| (pair, id)));
    }

    /// Takes in a packet that came to the local end of `pair` from the other, over a path back for packets of `mtu` bytes.
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
        let Some(listener) = self.listeners.get_mut(&port).filter(opens) else {
            let reset = aerotp::reset_reply(&packet.header, now);
            return Delivery::Nobody(reset.map(|reset| Body::Aerotp(Box::new(reset))));
        };
        let flow = listener.flow;
        // The end that opens decides the class of both directions.
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
        if let Some(socket) = self.sockets.get_mut(&id) {
            socket.half_open = Some(port);
        }
        if let Some(listener) = self.listeners.get_mut(&port) {
            listener.half_open.push_back(id);
        }
        self.hand_in(now, (id, pair), packet);
        let number = id.0;
        Delivery::Accepted { number, port }
    }

    fn deliver_datagram(&self, (local, from): Pair, packet: AerotpPacket) -> Delivery {
        let port = local.port;
        match packet.condition {
            _ if !self.bound.contains(&port) => Delivery::Nobody(None),
            Condition::Damaged(_) => Delivery::Damaged,
            Condition::Clean | Condition::Corrected(_) => Delivery::Datagram {
                port,
                from,
                payload: packet.payload,
            },
        }
    }

    /// Finds a packet's connection by its ends, or by its token if the peer's address has changed.
    fn find(&self, pair: &Pair, header: &AerotpHeader) -> Option<AerotpId> {
        let open = |id: &&AerotpId| {
            let socket = self.sockets.get(id);
            socket.is_some_and(|socket| !socket.is_over())
        };
        if let Some(&id) = self.by_pair.get(pair).filter(open) {
            return Some(id);
        }
        let shown = header
            .token
            .or(header.opening.map(|opening| opening.token))?;
        let place = (header.destination_port, header.source_port, shown);
        self.by_token.get(&place).filter(open).copied()
    }

    fn hand_in(&mut self, now: Instant, (id, pair): (AerotpId, Pair), packet: AerotpPacket) {
        let Some(socket) = self.sockets.get_mut(&id) else {
            return;
        };
        socket.heard += 1;
        let ends = (pair.1.address, pair.0.address);
        if self.by_pair.get(&pair) == Some(&id) {
            socket.connection.handle_packet(now, ends, packet);
        } else {
            // Found by its token: the peer has moved, or uses a further address.
            self.change_paths(id, |connection| connection.handle_packet(now, ends, packet));
        }
        let Some(socket) = self.sockets.get_mut(&id) else {
            return;
        };
        if socket.token.is_none()
            && let Some(token) = socket.connection.peer_token()
        {
            socket.token = Some(token);
            self.by_token.insert((pair.0.port, pair.1.port, token), id);
        }
        self.end_half_open(id);
        self.touch(id);
    }

    /// Notes that a connection is no longer half open, or has ended while it was.
    fn end_half_open(&mut self, id: AerotpId) {
        let Some(socket) = self.sockets.get_mut(&id) else {
            return;
        };
        let Some(port) = socket.half_open.filter(|_| !socket.is_half_open()) else {
            return;
        };
        socket.half_open = None;
        if let Some(listener) = self.listeners.get_mut(&port) {
            listener.half_open.retain(|&other| other != id);
        }
    }

    /// Drops a half-open connection of a listener: the oldest of those that have received one packet, or else the oldest.
    fn make_room(&mut self, port: u16) {
        let Some(listener) = self.listeners.get(&port) else {
            return;
        };
        let heard_once = |id: &&AerotpId| {
            let socket = self.sockets.get(id);
            socket.is_some_and(|socket| socket.heard < 2)
        };
        let half_open = &listener.half_open;
        let Some(&id) = half_open.iter().find(heard_once).or(half_open.front()) else {
            return;
        };
        self.dropped_in_all += 1;
        self.dropped.push_back(id);
        self.forget(id);
    }

    /// Removes a connection and all its entries in the tables.
    fn forget(&mut self, id: AerotpId) {
        let Some(socket) = self.sockets.remove(&id) else {
            return;
        };
        for pair in socket.pairs() {
            if self.by_pair.get(&pair) == Some(&id) {
                self.by_pair.remove(&pair);
            }
        }
        if let Some(token) = socket.token {
            let ports = socket.connection.identity();
            let place = (ports.local_port, ports.remote_port, token);
            if self.by_token.get(&place) == Some(&id) {
                self.by_token.remove(&place);
            }
        }
        if let Some(port) = socket.half_open
            && let Some(listener) = self.listeners.get_mut(&port)
        {
            listener.half_open.retain(|&other| other != id);
        }
    }

    /// Notes that a connection may have events, and then packets to send.
    fn touch(&mut self, id: AerotpId) {
        if let Some(socket) = self.sockets.get_mut(&id)
            && !socket.touched
        {
            socket.touched = true;
            self.touched.push_back(id);
        }
    }
}
