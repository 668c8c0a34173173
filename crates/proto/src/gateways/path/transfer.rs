//! Transfer of split connections between gateways. The new gateway asks for them, like I-TCP's mobility support router
//! (Bakre and Badrinath, ICDCS 1995), since it is the first to know the mobile's location.
//!
//! A gateway learns of a mobile's arrival from its own access link (Link_Up) or, with Mobile IPv6, from a binding
//! update in transit. It then asks each of its peers over a TCP connection of its own. A peer answers with its contexts
//! and closes. A peer that itself waits for contexts of that mobile answers once they have come, so that contexts
//! follow a mobile that has moved on; if the mobile comes to that peer meanwhile, they stay there. Each request is
//! answered once, so that contexts do not circulate.
//!
//! Peers are trusted by their configured addresses alone: messages are not signed, and anyone who can send from a
//! peer's address can request a mobile's connections.
//!
//! Contexts lost on the way are gone: the ends find no connection, as after a gateway's failure.

use super::PathAgents;
use crate::host::SocketId;
use crate::host::layer::{Around, Ended};
use crate::host::sockets::Delivery;
use crate::host::table::Pair;
use crate::packet::{Body, Packet, Payload};
use crate::tcp::profile::Profile;
use crate::tcp::{Endpoint, Event};
use crate::time::{Duration, Instant};
use crate::wire::split_context::{LONGEST_BODY, Message, PORT};
use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of half-open connections of peers.
const BACKLOG: u32 = 16;
/// Time without data after which a peer is given up. Chosen: a context of a few megabytes takes minutes over a satellite.
const PATIENCE: Duration = Duration::from_secs(300);
/// Retransmissions of a request's SYN. Chosen: an absent peer causes a delay of at most 7 s.
const SYN_RETRIES: u32 = 2;

/// The peers of a gateway, and its connections with them.
#[derive(Debug, Default)]
pub(super) struct Transfers {
    /// This gateway's address towards its peers.
    own: Option<IpAddr>,
    peers: BTreeSet<IpAddr>,
    exchanges: BTreeMap<SocketId, Exchange>,
    /// Connections with pending work.
    touched: BTreeSet<SocketId>,
    /// Mobiles that have just arrived.
    come: BTreeSet<IpAddr>,
    /// The latest unanswered request of a peer, by mobile.
    waiting: BTreeMap<IpAddr, SocketId>,
    /// Messages that were unreadable or unexpected, and contexts that no gateway has taken.
    refused: u64,
}

/// A connection with a peer: one request and its answer.
#[derive(Debug)]
struct Exchange {
    peer: IpAddr,
    /// The mobile that this gateway asks for; `None` if the peer asks.
    asked: Option<IpAddr>,
    /// True once the peer has asked.
    is_request: bool,
    /// Received bytes of an incomplete message.
    received: Vec<u8>,
    /// Arrival times of the first and the last of these bytes.
    began: Option<Instant>,
    heard: Instant,
    /// Contexts sent and not yet fully acknowledged.
    given: u64,
    ending: Option<Ending>,
}

/// Progress of a connection's closing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Ending {
    /// The peer has sent all its data.
    PeerClosed,
    /// All data is sent and acknowledged.
    Closed,
    Failed,
}

impl Exchange {
    fn new(now: Instant, peer: IpAddr, asked: Option<IpAddr>) -> Exchange {
        Exchange {
            peer,
            asked,
            is_request: false,
            received: Vec::new(),
            began: None,
            heard: now,
            given: 0,
            ending: None,
        }
    }

    /// Returns the time at which the connection is given up, while the peer has something to send.
    fn deadline(&self) -> Option<Instant> {
        (!self.is_request).then(|| self.heard + PATIENCE)
    }
}

impl Transfers {
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.exchanges.values().filter_map(Exchange::deadline).min()
    }

    pub fn handle_timeout(&mut self, now: Instant) {
        for (&socket, exchange) in &mut self.exchanges {
            if exchange.deadline().is_some_and(|at| at <= now) {
                exchange.ending = Some(Ending::Failed);
                self.touched.insert(socket);
            }
        }
    }

    /// Returns the unanswered requests for a mobile.
    fn asked<'a>(&'a self, mobile: &'a IpAddr) -> impl Iterator<Item = &'a Exchange> {
        let exchanges = self.exchanges.values();
        exchanges.filter(move |exchange| exchange.asked.as_ref() == Some(mobile))
    }
}

impl PathAgents {
    /// Notes that a mobile has arrived.
    pub(super) fn note_arrival(&mut self, mobile: IpAddr) {
        if !self.transfers.peers.is_empty() && self.moves_with(&mobile) {
            self.transfers.come.insert(mobile);
        }
    }

    /// Returns the number of messages and contexts refused.
    pub(super) fn refused(&self) -> u64 {
        self.transfers.refused
    }

    /// Adds a peer with which this gateway, at its own address, exchanges split connections when their mobile moves
    /// from one to the other.
    pub fn add_peer(&mut self, own: IpAddr, peer: IpAddr) {
        if self.transfers.peers.is_empty() {
            self.sockets.listen(PORT, profile().into(), BACKLOG, None);
        }
        self.transfers.own = Some(own);
        self.transfers.peers.insert(peer);
    }

    /// Returns the ends of the connection with a peer to which a packet belongs, own first.
    pub(super) fn find_exchange(&self, packet: &Packet) -> Option<Pair> {
        let Body::Tcp(header, _) = &packet.body else {
            return None;
        };
        let end = |address, port| Endpoint { address, port };
        let local = end(packet.ip.destination, header.destination_port);
        let pair = (local, end(packet.ip.source, header.source_port));
        let is_own = self.transfers.own == Some(local.address);
        (is_own && (local.port == PORT || self.sockets.is_open(&pair))).then_some(pair)
    }

    /// Takes in a packet of a connection with a peer, or one that opens such a connection.
    pub(super) fn take_for_exchange(
        &mut self,
        now: Instant,
        around: &mut Around<'_>,
        pair: Pair,
        packet: Packet,
    ) -> Ended {
        let Body::Tcp(header, payload) = packet.body else {
            return Ended::Refused;
        };
        let mtu = || around.mtu_towards(pair.1.address);
        match self.sockets.deliver(now, pair, &header, payload, mtu) {
            Delivery::Taken => Ended::Taken,
            Delivery::Accepted(socket) => {
                self.accept_peer(now, socket, pair.1.address);
                Ended::Taken
            }
            Delivery::Nobody(reset) => {
                self.discarded.no_receiver += 1;
                if let Some(reset) = reset {
                    let body = Body::Tcp(reset, Payload::EMPTY);
                    let ends = (pair.0.address, pair.1.address);
                    let packet = around.origin.packet(ends, body, packet.flow);
                    self.outbox.push_back(packet);
                }
                Ended::Refused
            }
        }
    }

    /// Accepts a connection to the gateways' port, or ends it if it does not come from a peer.
    fn accept_peer(&mut self, now: Instant, socket: SocketId, peer: IpAddr) {
        if self.transfers.peers.contains(&peer) {
            let exchange = Exchange::new(now, peer, None);
            self.transfers.exchanges.insert(socket, exchange);
        } else {
            self.refuse_peer(now, socket);
        }
    }

    /// Notes an event of a connection with a peer.
    pub(super) fn note_exchange(&mut self, socket: SocketId, event: Event) {
        let Some(exchange) = self.transfers.exchanges.get_mut(&socket) else {
            return;
        };
        let ending = match event {
            Event::Connected | Event::Readable | Event::Writable => None,
            Event::PeerClosed => Some(Ending::PeerClosed),
            Event::Closed => Some(Ending::Closed),
            Event::Refused | Event::Reset | Event::TimedOut => Some(Ending::Failed),
        };
        exchange.ending = exchange.ending.max(ending);
        self.transfers.touched.insert(socket);
    }

    /// Requests the contexts of arrived mobiles, and answers peers.
    pub(super) fn work_transfers(&mut self, now: Instant, around: &Around<'_>) {
        loop {
            self.relay_events();
            if let Some(mobile) = self.transfers.come.pop_first() {
                self.ask_peers(now, around, mobile);
            } else if let Some(socket) = self.transfers.touched.pop_first() {
                self.work_exchange(now, around, socket);
            } else {
                return;
            }
        }
    }

    /// Asks all peers for a mobile. Its contexts stay here even if peers have requested them, since the mobile is here.
    fn ask_peers(&mut self, now: Instant, around: &Around<'_>, mobile: IpAddr) {
        let Some(own) = self.transfers.own else {
            return;
        };
        let peers: Vec<IpAddr> = self.transfers.peers.iter().copied().collect();
        if let Some(request) = self.transfers.waiting.remove(&mobile) {
            self.answer_peer(request, Vec::new());
        }
        for address in peers {
            let remote = Endpoint {
                address,
                port: PORT,
            };
            let mtu = around.mtu_towards(address);
            let socket = self
                .sockets
                .connect(now, own, remote, &profile(), mtu, None);
            if let Some(connection) = self.sockets.connection_mut(socket) {
                connection.write(&Message::Request(mobile).encode());
                connection.close();
            }
            let exchange = Exchange::new(now, address, Some(mobile));
            self.transfers.exchanges.insert(socket, exchange);
        }
    }

    /// Reads a peer's messages, and acts on them.
    fn work_exchange(&mut self, now: Instant, around: &Around<'_>, socket: SocketId) {
        self.receive_from_peer(now, socket);
        while let Some(exchange) = self.transfers.exchanges.get_mut(&socket) {
            let (message, length) = match Message::decode(&exchange.received) {
                Ok(Some(read)) => read,
                Ok(None) => break,
                Err(_) => return self.refuse_peer(now, socket),
            };
            exchange.received.drain(..length);
            let began = exchange.began.unwrap_or(now);
            match (message, exchange.asked) {
                // Each connection carries one request.
                (Message::Request(_), None) if exchange.is_request => self.count_refused(1),
                (Message::Request(mobile), None) => {
                    exchange.is_request = true;
                    self.take_request(now, mobile, socket);
                }
                (Message::Context(context), Some(mobile)) if context.mobile.ip() == mobile => {
                    let away = now.saturating_since(began) + self.way_of(socket);
                    let taken = self.attach_context(now, away, around, &context);
                    self.count_refused(u64::from(!taken));
                }
                _ => return self.refuse_peer(now, socket),
            }
        }
        self.end_exchange(now, socket);
    }

    fn receive_from_peer(&mut self, now: Instant, socket: SocketId) {
        let Some(connection) = self.sockets.connection_mut(socket) else {
            return;
        };
        let mut bytes = vec![0; usize::try_from(connection.readable()).unwrap_or(0)];
        let count = connection.read(&mut bytes);
        if let Some(exchange) = self.transfers.exchanges.get_mut(&socket)
            && count > 0
        {
            exchange.received.extend_from_slice(&bytes[..count]);
            exchange.began.get_or_insert(now);
            exchange.heard = now;
        }
    }

    /// Returns the one-way delay from a peer: half a round trip.
    fn way_of(&self, socket: SocketId) -> Duration {
        let connection = self.sockets.connection(socket);
        let round_trip = connection.and_then(|connection| connection.smoothed_rtt());
        round_trip.unwrap_or_default().half()
    }

    /// Takes in a peer's claim that it has a mobile. If this gateway has an unanswered claim to the same mobile, either
    /// may be right: each keeps its contexts.
    fn take_request(&mut self, now: Instant, mobile: IpAddr, socket: SocketId) {
        let transfers = &mut self.transfers;
        let peer = transfers.exchanges.get(&socket).map(|one| one.peer);
        let mut asked = transfers.asked(&mobile);
        let crossed = asked.any(|own| Some(own.peer) == peer && own.began.is_none());
        drop(asked);
        if crossed {
            return self.answer_peer(socket, Vec::new());
        }
        let older = transfers.waiting.insert(mobile, socket);
        self.note_loss(&mobile);
        if let Some(older) = older {
            self.answer_peer(older, Vec::new());
        }
        self.serve_peer(now, mobile);
    }

    /// Answers the peer that asks for a mobile, once no more contexts of the mobile are expected.
    fn serve_peer(&mut self, now: Instant, mobile: IpAddr) {
        if self.transfers.asked(&mobile).next().is_some() {
            return;
        }
        let request = self.transfers.waiting.remove(&mobile);
        // A peer whose connection has just broken cannot be served.
        let hears = |socket: &SocketId| {
            let connection = self.sockets.connection(*socket);
            connection.is_some_and(|connection| connection.may_write())
        };
        if let Some(socket) = request.filter(hears) {
            let contexts = self.detach_contexts(now, mobile);
            let messages = contexts
                .into_iter()
                .map(|context| Message::Context(Box::new(context)).encode());
            self.answer_peer(socket, messages.collect());
        }
    }

    /// Sends these contexts to a peer, and closes.
    fn answer_peer(&mut self, socket: SocketId, contexts: Vec<Vec<u8>>) {
        let Some(connection) = self.sockets.connection_mut(socket) else {
            return;
        };
        let mut given = 0;
        let mut refused = 0;
        for context in contexts {
            let fits = context.len() as u64 <= connection.writable();
            match fits {
                true => {
                    connection.write(&context);
                    given += 1;
                }
                false => refused += 1,
            }
        }
        connection.close();
        self.count_refused(refused);
        if let Some(exchange) = self.transfers.exchanges.get_mut(&socket) {
            exchange.given = given;
        }
    }

    /// Ends a connection on which no more data is expected.
    fn end_exchange(&mut self, now: Instant, socket: SocketId) {
        let transfers = &mut self.transfers;
        let Some(exchange) = transfers.exchanges.get(&socket) else {
            return;
        };
        match (exchange.ending, exchange.asked) {
            (None, _) => {}
            (Some(Ending::Failed), _) => {
                transfers.refused += exchange.given;
                self.break_off_peer(now, socket);
            }
            // The peer waits for its answer, or has not sent a request.
            (Some(Ending::PeerClosed), None) => {
                let is_waiting = transfers.waiting.values().any(|&one| one == socket);
                let connection = self.sockets.connection_mut(socket);
                if let Some(connection) = connection.filter(|_| !is_waiting) {
                    connection.close();
                }
            }
            (Some(Ending::PeerClosed | Ending::Closed), _) => {
                transfers.refused += u64::from(!exchange.received.is_empty());
                self.forget_peer(now, socket);
            }
        }
    }

    /// Ends a connection whose peer violates the protocol.
    fn refuse_peer(&mut self, now: Instant, socket: SocketId) {
        self.count_refused(1);
        self.break_off_peer(now, socket);
    }

    fn break_off_peer(&mut self, now: Instant, socket: SocketId) {
        if let Some(connection) = self.sockets.connection_mut(socket) {
            connection.abort();
        }
        self.forget_peer(now, socket);
    }

    /// Removes a connection with a peer; requests that wait for its contexts stop waiting.
    fn forget_peer(&mut self, now: Instant, socket: SocketId) {
        self.sockets.abandon(socket);
        let transfers = &mut self.transfers;
        transfers.waiting.retain(|_, one| *one != socket);
        transfers.touched.remove(&socket);
        let exchange = transfers.exchanges.remove(&socket);
        if let Some(mobile) = exchange.and_then(|exchange| exchange.asked) {
            self.serve_peer(now, mobile);
        }
    }

    fn count_refused(&mut self, count: u64) {
        self.transfers.refused += count;
    }
}

/// Returns the TCP profile of the connections that carry contexts.
fn profile() -> Profile {
    Profile {
        send_buffer: LONGEST_BODY,
        syn_retries: SYN_RETRIES,
        ..Profile::rfc()
    }
}
