//! Sockets of a host: lookup by segment, lists of connections with events or segments to send, deadlines.

use super::SocketId;
use super::few::FewQueued;
use super::origin::Origin;
use crate::crosslayer::{Acknowledgment, CrossLayerSignal, Remedy};
use crate::packet::{Body, FlowId, Packet, Payload};
use crate::tcp::isn::initial_sequence_number;
use crate::tcp::listener::{Admission, Listener};
use crate::tcp::profile::Profile;
use crate::tcp::transaction::OpeningCache;
use crate::tcp::{self, Connection, Endpoint, Segment, State};
use crate::time::Instant;
use crate::wire::icmp::{IcmpError, QuotedPacket};
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::TcpHeader;
use core::cmp::Reverse;
use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// First port given to connections that this host opens (IANA's dynamic ports begin here, RFC 6335).
pub const FIRST_EPHEMERAL_PORT: u16 = 49152;

/// A connection's two ends, the local one first.
pub type Pair = (Endpoint, Endpoint);

/// A connection in its host. Fields used for every packet come first.
#[derive(Debug)]
#[repr(C)]
struct Socket {
    pair: Pair,
    flow: Option<FlowId>,
    /// True while it is in the list of connections that may have an event.
    touched: bool,
    /// True while it is in the list of connections that may have a segment to send.
    ready: bool,
    /// True while a listener counts it as half open.
    half_open: bool,
    /// True once its application will not ask for it again.
    abandoned: bool,
    connection: Connection,
    /// Remedies in the order in which they hear signals. Most connections have none.
    remedies: Vec<Box<dyn Remedy>>,
    /// Its deadline in the heap, if any.
    queued_deadline: Option<Instant>,
}

#[derive(Debug)]
struct Listening {
    listener: Listener,
    profile: Profile,
    flow: Option<FlowId>,
}

/// A segment's fate.
pub enum Delivery {
    /// A connection took it.
    Taken,
    /// It opened a connection.
    Accepted(SocketId),
    /// It has no receiver; the reset to answer with, if one is required.
    Nobody(Option<TcpHeader>),
}

/// A connection to be opened.
pub struct Opening {
    /// Its ends; the local address may be another host's.
    pub pair: Pair,
    /// Largest packet on the path, in bytes.
    pub mtu: u32,
    pub flow: Option<FlowId>,
}

/// A segment to send.
pub struct Outgoing {
    pub local: Endpoint,
    pub remote: Endpoint,
    pub flow: Option<FlowId>,
    pub segment: Segment,
}

impl Outgoing {
    /// Returns the segment's packet.
    pub fn into_packet(self, origin: &mut Origin<'_>) -> Packet {
        let body = Body::Tcp(self.segment.header, self.segment.payload);
        let ends = (self.local.address, self.remote.address);
        let mut packet = origin.packet(ends, body, self.flow);
        packet.retransmission = self.segment.retransmission;
        packet
    }
}

impl Socket {
    /// Takes in a segment for a connection with remedies, which hear of its ACK and its notice.
    #[cold]
    fn handle_steered_segment(&mut self, now: Instant, header: &TcpHeader, payload: Payload) {
        let was_out = self.connection.bytes_in_flight() > 0;
        let acknowledged = self.connection.bytes_acknowledged();
        let samples = self.connection.statistics().rtt_samples;
        self.connection.handle_segment(now, header, payload);
        let bytes = self.connection.bytes_acknowledged() - acknowledged;
        if bytes > 0 {
            let measured = self.connection.statistics().rtt_samples > samples;
            let rtt = self.connection.last_rtt_sample().filter(|_| measured);
            self.tell_of_acknowledgment(&Acknowledgment {
                at: now,
                bytes,
                rtt,
            });
        }
        if let Some(notice) = header.options.notice {
            self.signal(now, &CrossLayerSignal::Noticed(notice));
        }
        if was_out && self.connection.bytes_in_flight() == 0 {
            self.signal(now, &CrossLayerSignal::AllAcknowledged);
        }
    }

    fn tell_of_acknowledgment(&mut self, acknowledgment: &Acknowledgment) {
        for remedy in &mut self.remedies {
            let view = self.connection.view();
            for control in remedy.on_acknowledged(acknowledgment, &view) {
                self.connection.steer(acknowledgment.at, control);
            }
        }
    }

    /// Passes a signal to remedies, and carries out the controls of each before the next one hears the signal.
    fn signal(&mut self, now: Instant, signal: &CrossLayerSignal) {
        for remedy in &mut self.remedies {
            for control in remedy.on_signal(signal, &self.connection.view()) {
                self.connection.steer(now, control);
            }
        }
    }
}

/// All sockets of a host. Fields used for every segment come first.
#[derive(Debug)]
#[repr(C)]
pub struct Sockets {
    sockets: Vec<Socket>,
    /// The socket last looked up by its pair or added: mostly the next one to be used.
    last: SocketId,
    touched: FewQueued<SocketId>,
    ready: FewQueued<SocketId>,
    /// Connections whose state may have changed; the last added is returned first.
    changed: FewQueued<SocketId>,
    /// `None` until there is a connection, a listener or a bound port: most hosts of a fleet have none.
    tables: Option<Box<Tables>>,
    secret: [u8; 16],
}

/// Tables of sockets and ports.
#[derive(Debug)]
struct Tables {
    /// The deadlines of all connections, where there are several.
    deadlines: BinaryHeap<Reverse<(Instant, SocketId)>>,
    by_pair: BTreeMap<Pair, SocketId>,
    listeners: BTreeMap<u16, Listening>,
    bound: BTreeSet<u16>,
    next_port: u16,
    /// `None` until a connection is opened or accepted with T/TCP.
    openings: Option<Box<OpeningCache>>,
    /// Places of abandoned connections that are closed.
    free: Vec<SocketId>,
}

impl Default for Tables {
    fn default() -> Tables {
        Tables {
            deadlines: BinaryHeap::new(),
            by_pair: BTreeMap::new(),
            listeners: BTreeMap::new(),
            bound: BTreeSet::new(),
            next_port: FIRST_EPHEMERAL_PORT,
            openings: None,
            free: Vec::new(),
        }
    }
}

impl Sockets {
    pub fn new(secret: [u8; 16]) -> Sockets {
        Sockets {
            sockets: Vec::new(),
            last: SocketId(0),
            touched: FewQueued::default(),
            ready: FewQueued::default(),
            changed: FewQueued::default(),
            tables: None,
            secret,
        }
    }

    fn tables(&mut self) -> &mut Tables {
        self.tables.get_or_insert_default()
    }

    fn pop_deadline(&mut self) -> Option<SocketId> {
        let Reverse((_, id)) = self.tables.as_mut()?.deadlines.pop()?;
        Some(id)
    }

    fn by_pair(&self, pair: &Pair) -> Option<SocketId> {
        self.tables.as_ref()?.by_pair.get(pair).copied()
    }

    /// Returns the key of numbers that must not be guessable.
    pub(super) fn secret(&self) -> [u8; 16] {
        self.secret
    }

    pub fn connect(
        &mut self,
        now: Instant,
        address: IpAddr,
        remote: Endpoint,
        profile: &Profile,
        mtu: u32,
        flow: Option<FlowId>,
    ) -> SocketId {
        let local = Endpoint {
            address,
            port: self.free_port(address, remote),
        };
        let pair = (local, remote);
        let id = self.open(now, Opening { pair, mtu, flow }, profile);
        if profile.transaction_opening {
            let cache = self.tables().openings.get_or_insert_default();
            let opening = cache.open(remote.address);
            let connection = &mut self.sockets[id.0 as usize].connection;
            connection.open_transaction(now, opening);
        }
        id
    }

    /// Opens a connection between two given ends.
    pub fn open(&mut self, now: Instant, opening: Opening, profile: &Profile) -> SocketId {
        let Opening { pair, mtu, flow } = opening;
        let initial = initial_sequence_number(&self.secret, now, pair.0, pair.1);
        let connection = Connection::connect(now, pair.0, pair.1, profile, initial, mtu);
        self.add(connection, pair, flow)
    }

    /// Answers a SYN, whatever address it was sent to.
    pub fn accept(
        &mut self,
        now: Instant,
        opening: Opening,
        profile: &Profile,
        syn: &TcpHeader,
    ) -> SocketId {
        let Opening { pair, mtu, flow } = opening;
        let initial = initial_sequence_number(&self.secret, now, pair.0, pair.1);
        let connection = Connection::accept(now, pair.0, pair.1, profile, initial, mtu, syn);
        self.add(connection, pair, flow)
    }

    /// Drops a connection without a segment to its peer; a closed one takes its place.
    pub fn detach(&mut self, id: SocketId) {
        if let Some(socket) = self.sockets.get_mut(id.0 as usize) {
            let ((local, remote), zero) = (socket.pair, SequenceNumber(0));
            let now = Instant::ZERO;
            let mut gone = Connection::connect(now, local, remote, &Profile::rfc(), zero, 1500);
            gone.abort();
            socket.connection = gone;
            socket.remedies.clear();
        }
    }

    /// Adds a connection that was begun elsewhere.
    pub fn attach(&mut self, connection: Connection, flow: Option<FlowId>) -> SocketId {
        let pair = (connection.local(), connection.remote());
        self.add(connection, pair, flow)
    }

    /// Returns the flow to which a connection's packets belong.
    pub fn flow(&self, id: SocketId) -> Option<FlowId> {
        self.sockets.get(id.0 as usize)?.flow
    }

    /// Returns true if there is a connection between these ends that is not closed.
    pub fn is_open(&self, pair: &Pair) -> bool {
        let id = self.by_pair(pair);
        id.and_then(|id| self.connection(id))
            .is_some_and(|connection| connection.state() != State::Closed)
    }

    /// Returns two different connections, to call on.
    pub fn two_mut(
        &mut self,
        one: SocketId,
        other: SocketId,
    ) -> Option<(&mut Connection, &mut Connection)> {
        self.touch(one);
        self.touch(other);
        let places = [one.0 as usize, other.0 as usize];
        let [one, other] = self.sockets.get_disjoint_mut(places).ok()?;
        Some((&mut one.connection, &mut other.connection))
    }

    /// Returns a local port without a connection to `remote`; if all are in use, the oldest is taken over,
    /// which RFC 9293 section 3.4.2 allows once its sequence space has moved on.
    fn free_port(&mut self, address: IpAddr, remote: Endpoint) -> u16 {
        for _ in FIRST_EPHEMERAL_PORT..=u16::MAX {
            let tables = self.tables();
            let port = tables.next_port;
            tables.next_port = port.checked_add(1).unwrap_or(FIRST_EPHEMERAL_PORT);
            let pair = (Endpoint { address, port }, remote);
            if !tables.by_pair.contains_key(&pair) {
                return port;
            }
        }
        self.tables().next_port
    }

    fn add(&mut self, connection: Connection, pair: Pair, flow: Option<FlowId>) -> SocketId {
        let socket = Socket {
            connection,
            remedies: Vec::new(),
            pair,
            flow,
            queued_deadline: None,
            touched: false,
            ready: false,
            half_open: false,
            abandoned: false,
        };
        let id = match self.tables().free.pop() {
            Some(id) => {
                self.sockets[id.0 as usize] = socket;
                id
            }
            None => {
                self.sockets.push(socket);
                SocketId(self.sockets.len() as u32 - 1)
            }
        };
        self.tables().by_pair.insert(pair, id);
        self.last = id;
        // The first needed no heap as long as it was the only one.
        if id.0 == 1 && self.sockets.len() == 2 {
            self.queue_deadline(SocketId(0));
        }
        self.touch(id);
        id
    }

    /// Returns the socket of a pair; the newest if there were several.
    #[inline(always)]
    fn find(&mut self, pair: &Pair) -> Option<SocketId> {
        let last = self.sockets.get(self.last.0 as usize);
        if last.is_none_or(|last| last.pair != *pair) {
            self.last = self.by_pair(pair)?;
        }
        Some(self.last)
    }

    pub fn listen(&mut self, port: u16, profile: Profile, backlog: u32, flow: Option<FlowId>) {
        self.tables().listeners.insert(
            port,
            Listening {
                listener: Listener::new(backlog),
                profile,
                flow,
            },
        );
    }

    pub fn bind(&mut self, port: u16) {
        self.tables().bound.insert(port);
    }

    pub fn is_bound(&self, port: u16) -> bool {
        let tables = self.tables.as_ref();
        tables.is_some_and(|tables| tables.bound.contains(&port))
    }

    pub fn connection(&self, id: SocketId) -> Option<&Connection> {
        self.sockets
            .get(id.0 as usize)
            .map(|socket| &socket.connection)
    }

    pub fn connection_mut(&mut self, id: SocketId) -> Option<&mut Connection> {
        self.touch(id);
        self.sockets
            .get_mut(id.0 as usize)
            .map(|socket| &mut socket.connection)
    }

    pub fn add_remedy(&mut self, id: SocketId, remedy: Box<dyn Remedy>) {
        if let Some(socket) = self.sockets.get_mut(id.0 as usize) {
            socket.remedies.push(remedy);
        }
    }

    /// Signals to the remedies of connections to the peers for which `concerned` returns true.
    pub fn signal(
        &mut self,
        now: Instant,
        signal: &CrossLayerSignal,
        concerned: impl Fn(IpAddr) -> bool,
    ) {
        for index in 0..self.sockets.len() {
            if concerned(self.sockets[index].pair.1.address) {
                self.signal_to(now, SocketId(index as u32), signal);
            }
        }
    }

    /// Returns the peers of connections, once for each connection that is not closed.
    pub fn peers(&self) -> impl Iterator<Item = IpAddr> {
        let open = |socket: &&Socket| socket.connection.state() != State::Closed;
        let open = self.sockets.iter().filter(open);
        open.map(|socket| socket.pair.1.address)
    }

    pub fn signal_to(&mut self, now: Instant, id: SocketId, signal: &CrossLayerSignal) {
        let socket = self.sockets.get_mut(id.0 as usize);
        if let Some(socket) = socket.filter(|socket| !socket.remedies.is_empty()) {
            socket.signal(now, signal);
            self.touch(id);
        }
    }

    pub fn deliver(
        &mut self,
        now: Instant,
        pair: Pair,
        header: &TcpHeader,
        payload: Payload,
        mtu: impl FnOnce() -> u32,
    ) -> Delivery {
        if let Some(id) = self.find(&pair) {
            let socket = &mut self.sockets[id.0 as usize];
            if socket.connection.state() != State::Closed {
                if socket.remedies.is_empty() {
                    socket.connection.handle_segment(now, header, payload);
                } else {
                    socket.handle_steered_segment(now, header, payload);
                }
                if let Some(learnt) = socket.connection.take_learnt() {
                    let cache = self.tables().openings.get_or_insert_default();
                    cache.learn(pair.1.address, learnt);
                }
                self.touch(id);
                return Delivery::Taken;
            }
        }
        let tables = self.tables.as_mut();
        let listening = tables.and_then(|tables| tables.listeners.get_mut(&pair.0.port));
        let Some(listening) = listening else {
            return Delivery::Nobody(tcp::reset_reply(header, payload.length()));
        };
        match listening.listener.admit(header, payload.length()) {
            Admission::Accept => {}
            Admission::Drop => return Delivery::Nobody(None),
            Admission::Reset(reset) => return Delivery::Nobody(Some(reset)),
        }
        let opening = Opening {
            pair,
            mtu: mtu(),
            flow: listening.flow,
        };
        let profile = listening.profile.clone();
        let id = self.accept(now, opening, &profile, header);
        if profile.transaction_opening {
            let cache = self.tables().openings.get_or_insert_default();
            if let Some(acceptance) = cache.accept(pair.1.address, header) {
                let connection = &mut self.sockets[id.0 as usize].connection;
                connection.accept_transaction(now, acceptance, header, payload);
            }
        }
        self.sockets[id.0 as usize].half_open = true;
        Delivery::Accepted(id)
    }

    /// Returns the number of SYNs that full listeners have dropped.
    pub fn refused(&self) -> u64 {
        let listeners = self.tables.iter().flat_map(|one| one.listeners.values());
        listeners
            .map(|listening| listening.listener.refused())
            .sum()
    }

    /// Returns true if a quoted packet belongs to a connection here that is not closed.
    pub fn is_about(&self, quoted: &QuotedPacket) -> bool {
        let (source, destination) = quoted.transport_addresses();
        let end = |address, port| Endpoint { address, port };
        let local = end(source, quoted.source_port);
        quoted.protocol == 6 && self.is_open(&(local, end(destination, quoted.destination_port)))
    }

    /// Hands an ICMP error to the connection that it is about; returns false if it is not about TCP.
    pub fn handle_icmp(&mut self, now: Instant, error: IcmpError, quoted: &QuotedPacket) -> bool {
        let (source, destination) = quoted.transport_addresses();
        let local = Endpoint {
            address: source,
            port: quoted.source_port,
        };
        let remote = Endpoint {
            address: destination,
            port: quoted.destination_port,
        };
        let id = self.by_pair(&(local, remote));
        let Some(id) = id.filter(|_| quoted.protocol == 6) else {
            return quoted.protocol == 6;
        };
        let socket = &mut self.sockets[id.0 as usize];
        if error != IcmpError::BadState {
            socket.connection.handle_icmp(now, error, quoted);
        } else if socket.connection.is_out(SequenceNumber(quoted.sequence)) {
            socket.signal(now, &CrossLayerSignal::BadState);
        }
        self.touch(id);
        true
    }

    pub fn poll_timeout(&mut self) -> Option<Instant> {
        if let [only] = &self.sockets[..] {
            return only.connection.poll_timeout();
        }
        while let Some(&Reverse((at, id))) = self.tables.as_ref()?.deadlines.peek() {
            let socket = &mut self.sockets[id.0 as usize];
            if socket.queued_deadline != Some(at) {
                self.pop_deadline();
                continue;
            }
            match socket.connection.poll_timeout() {
                Some(deadline) if deadline <= at => return Some(at),
                // The deadline has moved later since: queue it anew.
                later => {
                    socket.queued_deadline = None;
                    self.pop_deadline();
                    if later.is_some() {
                        self.queue_deadline(id);
                    }
                }
            }
        }
        None
    }

    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(at) = self.poll_timeout().filter(|&at| at <= now) {
            debug_assert!(at <= now);
            // The heap is empty for an only socket.
            let id = self.pop_deadline().unwrap_or(SocketId(0));
            let socket = &mut self.sockets[id.0 as usize];
            socket.queued_deadline = None;
            socket.connection.handle_timeout(now);
            self.touch(id);
        }
    }

    pub fn poll_event(&mut self) -> Option<(SocketId, tcp::Event)> {
        while let Some(id) = self.touched.front() {
            let socket = &mut self.sockets[id.0 as usize];
            if let Some(event) = socket.connection.poll_event() {
                if socket.abandoned {
                    continue;
                }
                return Some((id, event));
            }
            self.touched.pop_front();
            socket.touched = false;
            if !socket.ready {
                socket.ready = true;
                self.ready.push_back(id);
            }
        }
        None
    }

    /// Returns true if a connection may have a segment to send.
    #[inline]
    pub fn may_transmit(&self) -> bool {
        self.ready.front().is_some()
    }

    // Once a packet: left to the compiler, which sees gateways call it too, a call of it costs a hundredth of all instructions.
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Outgoing> {
        while let Some(id) = self.ready.front() {
            let socket = &mut self.sockets[id.0 as usize];
            if let Some(segment) = socket.connection.poll_transmit(now) {
                return Some(Outgoing {
                    local: socket.pair.0,
                    remote: socket.pair.1,
                    flow: socket.flow,
                    segment,
                });
            }
            self.ready.pop_front();
            socket.ready = false;
            if socket.half_open && socket.connection.state() != State::SynReceived {
                socket.half_open = false;
                let tables = self.tables.as_mut();
                let port = socket.pair.0.port;
                if let Some(listening) = tables.and_then(|tables| tables.listeners.get_mut(&port)) {
                    listening.listener.half_open_ended();
                }
            }
            let abandoned = socket.abandoned;
            self.changed.push_front(id);
            self.queue_deadline(id);
            if abandoned {
                self.free(id);
            }
        }
        None
    }

    /// Marks a connection that its application will not ask for again. Once it is closed and has no more events, its place is reused.
    pub fn abandon(&mut self, id: SocketId) {
        if let Some(socket) = self.sockets.get_mut(id.0 as usize) {
            socket.abandoned = true;
            self.touch(id);
        }
    }

    /// Frees an abandoned connection's place, if the connection is closed.
    #[cold]
    fn free(&mut self, id: SocketId) {
        let socket = &mut self.sockets[id.0 as usize];
        if socket.touched || socket.connection.state() != State::Closed {
            return;
        }
        socket.abandoned = false;
        let pair = socket.pair;
        if self.by_pair(&pair) == Some(id) {
            self.tables().by_pair.remove(&pair);
        }
        self.detach(id);
        self.tables().free.push(id);
    }

    #[inline]
    pub fn poll_changed(&mut self) -> Option<SocketId> {
        self.changed.pop_front()
    }

    /// Notes that a connection may have events, and then segments to send.
    #[inline]
    fn touch(&mut self, id: SocketId) {
        if let Some(socket) = self.sockets.get_mut(id.0 as usize)
            && !socket.touched
        {
            socket.touched = true;
            self.touched.push_back(id);
        }
    }

    /// Ensures that the heap holds an entry at the socket's deadline or before; an only socket needs none.
    fn queue_deadline(&mut self, id: SocketId) {
        if self.sockets.len() == 1 {
            return;
        }
        let socket = &mut self.sockets[id.0 as usize];
        let Some(deadline) = socket.connection.poll_timeout() else {
            return;
        };
        if socket
            .queued_deadline
            .is_none_or(|queued| deadline < queued)
        {
            socket.queued_deadline = Some(deadline);
            let due = Reverse((deadline, id));
            self.tables().deadlines.push(due);
        }
    }
}
