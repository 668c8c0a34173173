//! A host's TCP sockets: delivery of segments, listeners, remedies.

use super::SocketId;
use super::origin::Origin;
use super::table::{Pair, SocketTable, Timed};
use crate::crosslayer::{Acknowledgment, CrossLayerSignal, Remedy};
use crate::packet::{Body, FlowId, Packet, Payload};
use crate::tcp::isn::initial_sequence_number;
use crate::tcp::listener::{Admission, Listener};
use crate::tcp::profile::Profile;
use crate::tcp::transaction::OpeningCache;
use crate::tcp::{self, Connection, Endpoint, State};
use crate::time::Instant;
use crate::wire::icmp::{IcmpError, QuotedPacket};
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::TcpHeader;
use core::net::IpAddr;
use std::sync::Arc;

/// A connection in its host. Fields used for every packet come first.
#[derive(Debug)]
#[repr(C)]
struct Socket {
    pair: Pair,
    flow: Option<FlowId>,
    /// True while a listener counts it as half open.
    half_open: bool,
    /// True once its application has abandoned it.
    abandoned: bool,
    connection: Connection,
    /// Remedies in the order in which they receive signals. Most connections have none.
    remedies: Vec<Box<dyn Remedy>>,
}

impl Timed for Socket {
    #[inline]
    fn poll_timeout(&mut self) -> Option<Instant> {
        self.connection.poll_timeout()
    }
}

#[derive(Debug)]
struct Listening {
    listener: Listener,
    profile: Arc<Profile>,
    flow: Option<FlowId>,
}

/// Fate of a segment.
pub enum Delivery {
    /// Taken by a connection.
    Taken,
    /// Opened a connection.
    Accepted(SocketId),
    /// No receiver; the reset to answer with, if one is required.
    Nobody(Option<TcpHeader>),
}

/// A connection to open.
pub struct Opening {
    /// Ends of the connection; the local address may be another host's.
    pub pair: Pair,
    /// Path MTU in bytes.
    pub mtu: u32,
    pub flow: Option<FlowId>,
}

impl Socket {
    /// Takes in a segment for a connection with remedies, which receive its ACK and its notice.
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

    /// Passes a signal to remedies, and applies the controls of each before the next one receives the signal.
    fn signal(&mut self, now: Instant, signal: &CrossLayerSignal) {
        for remedy in &mut self.remedies {
            for control in remedy.on_signal(signal, &self.connection.view()) {
                self.connection.steer(now, control);
            }
        }
    }
}

/// TCP sockets of a host. Fields used for every segment come first.
#[derive(Debug)]
#[repr(C)]
pub struct Sockets {
    /// The cache is `None` until a connection is opened or accepted with T/TCP.
    table: SocketTable<Socket, Listening, Option<Box<OpeningCache>>>,
    /// The socket last added or looked up by its pair: usually the next one to be used.
    last: SocketId,
    secret: [u8; 16],
}

impl Sockets {
    pub fn new(secret: [u8; 16]) -> Sockets {
        Sockets {
            table: SocketTable::default(),
            last: SocketId(0),
            secret,
        }
    }

    /// Returns the key of numbers that must be unpredictable.
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
            port: self.table.free_port(address, remote),
        };
        let pair = (local, remote);
        let id = self.open(now, Opening { pair, mtu, flow }, profile);
        if profile.transaction_opening {
            let cache = self.table.rare().get_or_insert_default();
            let opening = cache.open(remote.address);
            if let Some(socket) = self.table.get_mut(id.0) {
                socket.connection.open_transaction(now, opening);
            }
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

    /// Answers a SYN, whatever its destination address.
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

    /// Drops a connection without a segment to its peer, and leaves a closed one in its place.
    pub fn detach(&mut self, id: SocketId) {
        if let Some(socket) = self.table.get_mut(id.0) {
            let ((local, remote), zero) = (socket.pair, SequenceNumber(0));
            let now = Instant::ZERO;
            let mut gone = Connection::connect(now, local, remote, &Profile::rfc(), zero, 1500);
            gone.abort();
            socket.connection = gone;
            socket.remedies.clear();
        }
    }

    /// Adds a connection begun elsewhere.
    pub fn attach(&mut self, connection: Connection, flow: Option<FlowId>) -> SocketId {
        let pair = (connection.local(), connection.remote());
        self.add(connection, pair, flow)
    }

    /// Returns the flow to which a connection's packets belong.
    pub fn flow(&self, id: SocketId) -> Option<FlowId> {
        self.table.get(id.0)?.flow
    }

    /// Returns true if there is a connection between these ends that is not closed.
    pub fn is_open(&self, pair: &Pair) -> bool {
        let number = self.table.find(pair);
        let socket = number.and_then(|number| self.table.get(number));
        socket.is_some_and(|socket| socket.connection.state() != State::Closed)
    }

    /// Returns two different connections, mutably.
    pub fn two_mut(
        &mut self,
        one: SocketId,
        other: SocketId,
    ) -> Option<(&mut Connection, &mut Connection)> {
        self.table.touch(one.0);
        self.table.touch(other.0);
        let [one, other] = self.table.two_mut(one.0, other.0)?;
        Some((&mut one.connection, &mut other.connection))
    }

    fn add(&mut self, connection: Connection, pair: Pair, flow: Option<FlowId>) -> SocketId {
        let number = self.table.add(Socket {
            connection,
            remedies: Vec::new(),
            pair,
            flow,
            half_open: false,
            abandoned: false,
        });
        self.table.link(pair, number);
        self.last = SocketId(number);
        self.last
    }

    /// Returns the socket of a pair; the newest if there were several.
    #[inline(always)]
    fn find(&mut self, pair: &Pair) -> Option<SocketId> {
        let last = self.table.get(self.last.0);
        if last.is_none_or(|last| last.pair != *pair) {
            self.last = SocketId(self.table.find(pair)?);
        }
        Some(self.last)
    }

    pub fn listen(&mut self, port: u16, profile: Arc<Profile>, backlog: u32, flow: Option<FlowId>) {
        let listening = Listening {
            listener: Listener::new(backlog),
            profile,
            flow,
        };
        self.table.listen(port, listening);
    }

    pub fn bind(&mut self, port: u16) {
        self.table.bind(port);
    }

    pub fn is_bound(&self, port: u16) -> bool {
        self.table.is_bound(port)
    }

    pub fn connection(&self, id: SocketId) -> Option<&Connection> {
        self.table.get(id.0).map(|socket| &socket.connection)
    }

    pub fn connection_mut(&mut self, id: SocketId) -> Option<&mut Connection> {
        self.table.touch(id.0);
        let socket = self.table.get_mut(id.0);
        socket.map(|socket| &mut socket.connection)
    }

    pub fn add_remedy(&mut self, id: SocketId, remedy: Box<dyn Remedy>) {
        if let Some(socket) = self.table.get_mut(id.0) {
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
        self.table.touch_if(|socket| {
            let hears = concerned(socket.pair.1.address) && !socket.remedies.is_empty();
            if hears {
                socket.signal(now, signal);
            }
            hears
        });
    }

    /// Signals to the remedies of a flow's connections.
    pub fn signal_to_flow(&mut self, now: Instant, flow: FlowId, signal: &CrossLayerSignal) {
        self.table.touch_if(|socket| {
            let hears = socket.flow == Some(flow) && !socket.remedies.is_empty();
            if hears {
                socket.signal(now, signal);
            }
            hears
        });
    }

    /// Returns the peers of connections, once for each connection that is not closed.
    pub fn peers(&self) -> impl Iterator<Item = IpAddr> {
        let open = |socket: &&Socket| socket.connection.state() != State::Closed;
        let open = self.table.iter().filter(open);
        open.map(|socket| socket.pair.1.address)
    }

    pub fn signal_to(&mut self, now: Instant, id: SocketId, signal: &CrossLayerSignal) {
        let socket = self.table.get_mut(id.0);
        if let Some(socket) = socket.filter(|socket| !socket.remedies.is_empty()) {
            socket.signal(now, signal);
            self.table.touch(id.0);
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
        if let Some(id) = self.find(&pair)
            && let Some(socket) = self.table.get_mut(id.0)
            && socket.connection.state() != State::Closed
        {
            if socket.remedies.is_empty() {
                socket.connection.handle_segment(now, header, payload);
            } else {
                socket.handle_steered_segment(now, header, payload);
            }
            if let Some(learnt) = socket.connection.take_learnt() {
                let cache = self.table.rare().get_or_insert_default();
                cache.learn(pair.1.address, learnt);
            }
            self.table.touch(id.0);
            return Delivery::Taken;
        }
        let Some(listening) = self.table.listener_mut(pair.0.port) else {
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
        let acceptance = profile.transaction_opening.then(|| {
            let cache = self.table.rare().get_or_insert_default();
            cache.accept(pair.1.address, header)
        });
        if let Some(socket) = self.table.get_mut(id.0) {
            socket.half_open = true;
            if let Some(acceptance) = acceptance.flatten() {
                let connection = &mut socket.connection;
                connection.accept_transaction(now, acceptance, header, payload);
            }
        }
        Delivery::Accepted(id)
    }

    /// Returns the number of SYNs that full listeners have dropped.
    pub fn refused(&self) -> u64 {
        let refused = |listening: &Listening| listening.listener.refused();
        self.table.listeners().map(refused).sum()
    }

    /// Returns true if the quoted packet belongs to a connection here that is not closed.
    pub fn is_about(&self, quoted: &QuotedPacket) -> bool {
        let (source, destination) = quoted.transport_addresses();
        let end = |address, port| Endpoint { address, port };
        let local = end(source, quoted.source_port);
        quoted.protocol == 6 && self.is_open(&(local, end(destination, quoted.destination_port)))
    }

    /// Passes an ICMP error to the connection of the quoted packet; returns false if that is not a TCP segment.
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
        if quoted.protocol != 6 {
            return false;
        }
        let Some(number) = self.table.find(&(local, remote)) else {
            return true;
        };
        let Some(socket) = self.table.get_mut(number) else {
            return true;
        };
        if error != IcmpError::BadState {
            socket.connection.handle_icmp(now, error, quoted);
        } else if socket.connection.is_out(SequenceNumber(quoted.sequence)) {
            socket.signal(now, &CrossLayerSignal::BadState);
        }
        self.table.touch(number);
        true
    }

    #[inline]
    pub fn poll_timeout(&mut self) -> Option<Instant> {
        self.table.poll_timeout()
    }

    pub fn handle_timeout(&mut self, now: Instant) {
        let act = |socket: &mut Socket| socket.connection.handle_timeout(now);
        self.table.handle_timeout(now, act);
    }

    /// Returns true if a connection may have an event.
    #[inline]
    pub fn may_have_event(&self) -> bool {
        self.table.may_have_event()
    }

    // Called several times a packet; inlined for the reason given below.
    #[inline(always)]
    pub fn poll_event(&mut self) -> Option<(SocketId, tcp::Event)> {
        let (number, event) = self.table.poll_event(|socket| {
            loop {
                let event = socket.connection.poll_event()?;
                if !socket.abandoned {
                    return Some(event);
                }
            }
        })?;
        Some((SocketId(number), event))
    }

    /// Returns true if a connection may have a segment to send.
    #[inline]
    pub fn may_transmit(&self) -> bool {
        self.table.may_transmit()
    }

    /// Returns the next segment to send, in a packet.
    // Called once a packet: the compiler does not inline it by itself, since gateways call it too, and a call costs a
    // hundredth of all instructions.
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: Instant, origin: &mut Origin<'_>) -> Option<Packet> {
        while let Some((number, socket)) = self.table.ready() {
            if let Some(segment) = socket.connection.poll_transmit(now) {
                let (local, remote) = socket.pair;
                let body = Body::Tcp(segment.header, segment.payload);
                let mut packet = origin.packet((local.address, remote.address), body, socket.flow);
                packet.retransmission = segment.retransmission;
                return Some(packet);
            }
            self.table.end_turn();
            self.rest(number);
        }
        None
    }

    /// Notes that a connection has no more segments to send for now.
    fn rest(&mut self, number: u32) {
        let Some(socket) = self.table.get_mut(number) else {
            return;
        };
        let abandoned = socket.abandoned;
        if socket.half_open && socket.connection.state() != State::SynReceived {
            socket.half_open = false;
            let port = socket.pair.0.port;
            if let Some(listening) = self.table.listener_mut(port) {
                listening.listener.half_open_ended();
            }
        }
        self.table.rest_first(number);
        if abandoned {
            self.free(SocketId(number));
        }
    }

    /// Marks a connection as abandoned by its application. Once it is closed and has no more events, its place is
    /// reused.
    pub fn abandon(&mut self, id: SocketId) {
        if let Some(socket) = self.table.get_mut(id.0) {
            socket.abandoned = true;
            self.table.touch(id.0);
        }
    }

    /// Frees an abandoned connection's place, if the connection is closed.
    #[cold]
    fn free(&mut self, id: SocketId) {
        let is_touched = self.table.is_touched(id.0);
        let Some(socket) = self.table.get_mut(id.0).filter(|_| !is_touched) else {
            return;
        };
        if socket.connection.state() != State::Closed {
            return;
        }
        socket.abandoned = false;
        let pair = socket.pair;
        self.table.unlink(&pair, id.0);
        self.detach(id);
        self.table.free(id.0);
    }

    #[inline]
    pub fn poll_changed(&mut self) -> Option<SocketId> {
        self.table.poll_changed().map(SocketId)
    }
}
