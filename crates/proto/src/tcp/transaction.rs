//! T/TCP (RFC 1644, experimental, since RFC 6247 historic): between hosts that have spoken before, a connection begins with its
//! request. The first SYN carries data, and the FIN if there is no more; the answer comes with the SYN-ACK.
//!
//! A *connection count* (CC) proves, instead of the three-way handshake, that a SYN is not an old one: a host numbers
//! the connections that it opens and accepts, and a SYN whose count is above the last one that was heard from its host
//! is new (the *TAO test*). Without a remembered count (CC.new, or no cache), or with one that is not above, the
//! three-way handshake decides, and the data waits for its end. Each segment of such a connection carries its count, so
//! that one of an earlier connection is told, and TIME-WAIT may be short.
//!
//! A count proves nothing about who sent it: whoever guesses it has his data taken in another's name. RFC 6247 therefore
//! withdrew it. Here it is off unless [`Profile::transaction_opening`] asks for it.
//!
//! [`Profile::transaction_opening`]: super::profile::Profile::transaction_opening

use super::options::header_length;
use super::timer::Timer;
use super::{Connection, Event, State};
use crate::packet::Payload;
use crate::time::{Duration, Instant};
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::{CONNECTION_COUNT_LENGTH, ConnectionCount, TcpFlags, TcpHeader, TcpOptions};
use core::net::IpAddr;
use core::num::NonZeroU32;
use std::collections::{BTreeMap, VecDeque};

/// Hosts that one remembers; with more the one that was first heard of is forgotten, which costs it a handshake.
const MOST_HOSTS: usize = 1024;
/// SYNs of an opening that carry count and data; later ones are plain, since something on the way may not let others through.
const FULL_ATTEMPTS: u32 = 3;
/// TIME-WAIT of a short connection, in timeouts (RFC 1644 section 2.4).
const TIME_WAIT_TIMEOUTS: u64 = 8;
/// Most data that is sent before the peer's window is known, in bytes: as in BSD (`TTCP_CLIENT_SND_WND`).
const LARGEST_OPENING: u32 = 4096;

/// Returns true if `one` comes after `other`, modulo 2^32.
fn is_above(one: NonZeroU32, other: NonZeroU32) -> bool {
    one.get().wrapping_sub(other.get()).cast_signed() > 0
}

/// Memory of a host: "cache.CC", "cache.CCsent" and the MSS of its last SYN.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    received: Option<NonZeroU32>,
    sent: Option<NonZeroU32>,
    segment_size: Option<u16>,
}

/// Memory of a host about others, for the TAO test and for its own openings.
#[derive(Debug, Default)]
pub struct OpeningCache {
    /// "CCgen": the last count given out.
    last: u32,
    hosts: BTreeMap<IpAddr, Known>,
    order: VecDeque<IpAddr>,
}

/// Active opening of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    /// Its count.
    count: NonZeroU32,
    /// The peer has answered a smaller one: CC instead of CC.new.
    known: bool,
    /// The peer's MSS, as it last said it.
    segment_size: Option<u16>,
}

/// Acceptance of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Acceptance {
    /// Its count.
    count: NonZeroU32,
    /// The peer's.
    peer: NonZeroU32,
    /// The TAO test is passed.
    trusted: bool,
}

/// Facts that a connection has shown about its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Learnt {
    /// This count of ours was answered.
    sent: Option<NonZeroU32>,
    /// This count of the peer's is no old one: a three-way handshake has shown it.
    received: Option<NonZeroU32>,
    /// The MSS of its SYN.
    segment_size: u16,
}

impl Learnt {
    /// A three-way handshake with a peer of this count and MSS.
    pub fn handshake(count: u32, segment_size: u16) -> Learnt {
        Learnt {
            sent: None,
            received: NonZeroU32::new(count),
            segment_size,
        }
    }
}

impl OpeningCache {
    fn next_count(&mut self) -> NonZeroU32 {
        self.last = self.last.wrapping_add(1).max(1);
        NonZeroU32::new(self.last).unwrap_or(NonZeroU32::MIN)
    }

    fn known(&mut self, host: IpAddr) -> &mut Known {
        if !self.hosts.contains_key(&host) {
            if self.hosts.len() >= MOST_HOSTS
                && let Some(first) = self.order.pop_front()
            {
                self.hosts.remove(&first);
            }
            self.order.push_back(host);
        }
        self.hosts.entry(host).or_default()
    }

    /// Hosts that are remembered.
    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    /// Returns true if there is none.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// For a connection to a host.
    pub fn open(&mut self, host: IpAddr) -> Opening {
        let count = self.next_count();
        let known = self.known(host);
        // A count that has gone round says nothing about those before it.
        known.sent = known
            .sent
            .filter(|&last| is_above(count, last))
            .map(|_| count);
        Opening {
            count,
            known: known.sent.is_some(),
            segment_size: known.segment_size,
        }
    }

    /// The TAO test, for a SYN of a host; `None` if it does not speak T/TCP.
    pub fn accept(&mut self, host: IpAddr, syn: &TcpHeader) -> Option<Acceptance> {
        let count = match syn.options.sack.connection_count() {
            Some(ConnectionCount::Count(count)) => NonZeroU32::new(count).map(|c| (c, true)),
            Some(ConnectionCount::New(count)) => NonZeroU32::new(count).map(|c| (c, false)),
            _ => None,
        };
        let Some((peer, tells)) = count else {
            // A host that has forgotten its counts may send old ones again.
            if let Some(known) = self.hosts.get_mut(&host) {
                known.received = None;
            }
            return None;
        };
        let own = self.next_count();
        let known = self.known(host);
        let trusted = tells && known.received.is_some_and(|last| is_above(peer, last));
        if trusted {
            known.received = Some(peer);
        } else if !tells {
            known.received = None;
        }
        Some(Acceptance {
            count: own,
            peer,
            trusted,
        })
    }

    /// Remembers what a connection has shown of its peer.
    pub fn learn(&mut self, host: IpAddr, learnt: Learnt) {
        let known = self.known(host);
        known.sent = known.sent.or(learnt.sent);
        known.received = known.received.or(learnt.received);
        known.segment_size = Some(learnt.segment_size);
    }
}

/// State of a T/TCP connection besides that of others.
#[derive(Debug)]
pub(super) struct Transaction {
    /// "TCB.CCsend".
    own: NonZeroU32,
    /// The first SYN has CC, not CC.new.
    known: bool,
    /// "TCB.CCrecv", once it is clear that the peer speaks T/TCP.
    peer: Option<NonZeroU32>,
    begun: Instant,
    /// The peer's MSS before it has said it, if it is remembered.
    segment_size: Option<u16>,
    /// Data and FIN that went with our first SYN, as sequence space.
    with_syn: u32,
    /// The connection stands, and our SYN is not yet acknowledged: the states with a star.
    is_half_synchronized: bool,
    /// Payload and flags of a SYN that did not pass the test.
    held: Option<(Payload, TcpFlags)>,
    learnt: Option<Learnt>,
}

impl Connection {
    /// Opens with T/TCP. To be called before anything is sent.
    pub fn open_transaction(&mut self, now: Instant, opening: Opening) {
        self.transaction = Some(Box::new(Transaction {
            own: opening.count,
            known: opening.known,
            peer: None,
            begun: now,
            segment_size: opening.segment_size,
            with_syn: 0,
            is_half_synchronized: false,
            held: None,
            learnt: None,
        }));
    }

    /// Accepts with T/TCP the SYN with which this connection was built, and what came with it. To be called before anything
    /// is sent.
    pub fn accept_transaction(
        &mut self,
        now: Instant,
        acceptance: Acceptance,
        syn: &TcpHeader,
        payload: Payload,
    ) {
        self.transaction = Some(Box::new(Transaction {
            own: acceptance.count,
            known: false,
            peer: Some(acceptance.peer),
            begun: now,
            segment_size: None,
            with_syn: 0,
            is_half_synchronized: acceptance.trusted,
            held: Some((payload, syn.flags)),
            learnt: None,
        }));
        self.segment_size = self.sendable_segment_size();
        if !acceptance.trusted {
            return;
        }
        // To the peer the window of a SYN-ACK is as good as offered.
        self.receive.advertise(self.segment_size, 0);
        self.unacknowledged = 1;
        self.next = 1;
        self.state = State::Established;
        self.report(Event::Connected);
        self.start_congestion_control();
        self.start_linux(now);
        self.syn_due = true;
        self.take_held(now);
    }

    /// Takes the data that was held back: the peer's SYN was no old one.
    pub(super) fn take_held(&mut self, now: Instant) {
        let held = self
            .transaction
            .as_mut()
            .and_then(|transaction| transaction.held.take());
        let Some((payload, flags)) = held else {
            return;
        };
        if payload.length() == 0 && !flags.contains(TcpFlags::FIN) {
            return;
        }
        let header = TcpHeader {
            source_port: self.remote.port,
            destination_port: self.local.port,
            sequence: self.peer_initial_sequence + 1,
            acknowledgment: SequenceNumber(0),
            flags: flags.without(TcpFlags::SYN),
            window: 0,
            options: TcpOptions::default(),
        };
        self.take_data(now, &header, 1, payload);
    }

    /// Returns true if T/TCP is agreed on, and every segment carries its count.
    pub(super) fn counts_connections(&self) -> bool {
        self.transaction
            .as_ref()
            .is_some_and(|transaction| transaction.peer.is_some())
    }

    /// Returns true if the connection stands though our SYN is not yet acknowledged.
    pub(super) fn is_half_synchronized(&self) -> bool {
        self.transaction
            .as_ref()
            .is_some_and(|transaction| transaction.is_half_synchronized)
    }

    /// Bytes that the count takes of each segment.
    pub(super) fn count_length(&self) -> u32 {
        match self.counts_connections() {
            true => CONNECTION_COUNT_LENGTH,
            false => 0,
        }
    }

    /// The count of a header of ours.
    pub(super) fn connection_count(&self, flags: TcpFlags) -> Option<ConnectionCount> {
        let transaction = self.transaction.as_ref()?;
        let own = transaction.own.get();
        let syn = flags.contains(TcpFlags::SYN);
        match (syn, flags.contains(TcpFlags::ACK), transaction.peer) {
            (true, false, _) if self.syn_transmissions > FULL_ATTEMPTS => None,
            (true, false, _) if transaction.known => Some(ConnectionCount::Count(own)),
            (true, false, _) => Some(ConnectionCount::New(own)),
            (true, true, Some(peer)) => Some(ConnectionCount::Echo {
                own,
                echo: peer.get(),
            }),
            (false, _, Some(_)) => Some(ConnectionCount::Count(own)),
            (_, _, None) => None,
        }
    }

    /// Chooses the data to go with our first SYN, whose options take `options` bytes: as sequence space.
    pub(super) fn choose_data_with_syn(&mut self, options: u32) {
        let default = super::options::default_segment_size(self.remote.address);
        let (written, path) = (self.send.written(), self.path_mtu);
        let fin = self.close_requested;
        let own = self.profile.maximum_segment_size;
        let Some(transaction) = &mut self.transaction else {
            return;
        };
        let peer = transaction.segment_size.unwrap_or(default).min(own);
        let path = path.saturating_sub(header_length(self.remote.address));
        let room = path.min(u32::from(peer)).saturating_sub(options);
        let data = written.min(u64::from(room.min(LARGEST_OPENING))) as u32;
        let with_fin = fin && u64::from(data) == written;
        transaction.with_syn = data + u32::from(with_fin);
    }

    /// Returns the data that goes with our SYN: as sequence space.
    pub(super) fn data_with_syn(&self) -> u32 {
        match &self.transaction {
            Some(transaction) if self.syn_transmissions <= FULL_ATTEMPTS => transaction.with_syn,
            _ => 0,
        }
    }

    /// Returns the highest position that an answer to our SYN may acknowledge.
    pub(super) fn most_acknowledged_of_syn(&self) -> i64 {
        let transaction = self.transaction.as_ref();
        1 + transaction.map_or(0, |transaction| i64::from(transaction.with_syn))
    }

    /// An answer to our SYN: false if it answers another, and is to be dropped (RFC 1644 section 3.4).
    pub(super) fn take_echo(&mut self, syn: &TcpHeader) -> bool {
        let Some(transaction) = &mut self.transaction else {
            return true;
        };
        match syn.options.sack.connection_count() {
            Some(ConnectionCount::Echo { own, echo }) if echo == transaction.own.get() => {
                transaction.peer = NonZeroU32::new(own);
                true
            }
            Some(ConnectionCount::Echo { .. }) => false,
            _ => true,
        }
    }

    /// Our SYN is acknowledged by the peer's, and the connection stands: what went with the SYN counts as sent, and is sent
    /// again at once to a peer that has probably thrown it away. Returns whether the peer speaks T/TCP.
    pub(super) fn resume_after_syn(&mut self, now: Instant, acknowledged: i64) -> bool {
        let (segment_size, again) = (
            self.negotiated.peer_segment_size,
            self.syn_transmissions > 1,
        );
        let Some(transaction) = &mut self.transaction else {
            return false;
        };
        let speaks = transaction.peer.is_some();
        let length = transaction.with_syn;
        if speaks {
            transaction.learnt = Some(Learnt {
                sent: Some(transaction.own),
                received: None,
                segment_size,
            });
        }
        if length > 0 {
            let sent_at = self.syn_sent_at;
            self.take_as_sent(now, length, sent_at);
            if again {
                self.sent.distrust_timing_of_first();
            }
            if !speaks && acknowledged == 1 {
                self.resend_outstanding();
            }
        }
        speaks
    }

    /// A segment that acknowledges our SYN has come to a connection that was accepted with T/TCP.
    pub(super) fn end_half_synchronized(&mut self, now: Instant, header: &TcpHeader) {
        let Some(transaction) = &mut self.transaction else {
            return;
        };
        if !core::mem::take(&mut transaction.is_half_synchronized) {
            return;
        }
        self.syn_due = false;
        if self.sent.is_empty() {
            self.timers.stop(Timer::Retransmission);
            self.sample_handshake(now, header);
        }
    }

    /// A three-way handshake has shown that the peer's SYN was no old one.
    pub(super) fn trust_peer(&mut self) {
        let segment_size = self.negotiated.peer_segment_size;
        if let Some(transaction) = &mut self.transaction
            && let Some(peer) = transaction.peer
        {
            transaction.learnt = Some(Learnt::handshake(peer.get(), segment_size));
        }
    }

    /// Takes the facts to be remembered of the peer, once.
    pub fn take_learnt(&mut self) -> Option<Learnt> {
        self.transaction.as_mut()?.learnt.take()
    }

    /// Returns true if this connection was opened or accepted with T/TCP.
    pub fn is_transaction(&self) -> bool {
        self.transaction.is_some()
    }

    /// False for a segment of another connection between the same ports: each carries its count (RFC 1644 section 3.4). Resets
    /// need none, and of a SYN its number tells as much.
    pub(super) fn is_of_this_connection(&self, header: &TcpHeader) -> bool {
        let peer = self.transaction.as_ref().and_then(|t| t.peer);
        let flag = |bit| header.flags.contains(bit);
        let Some(peer) = peer.filter(|_| !flag(TcpFlags::RST) && !flag(TcpFlags::SYN)) else {
            return true;
        };
        header.options.sack.connection_count() == Some(ConnectionCount::Count(peer.get()))
    }

    /// Returns the duration of TIME-WAIT: of a connection that took less than the maximum segment lifetime, whose old
    /// segments their counts tell, eight timeouts (RFC 1644 section 2.4).
    pub(super) fn time_wait(&self, now: Instant) -> Duration {
        let whole = self.profile.time_wait;
        let Some(transaction) = self.transaction.as_ref().filter(|t| t.peer.is_some()) else {
            return whole;
        };
        let is_short = now.saturating_since(transaction.begun).saturating_mul(2) < whole;
        match is_short {
            true => whole.min(self.rtt.rto().saturating_mul(TIME_WAIT_TIMEOUTS)),
            false => whole,
        }
    }
}
