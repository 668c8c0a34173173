//! T/TCP (RFC 1644, experimental, historic since RFC 6247): between hosts that have communicated before, a connection
//! begins with its request. The first SYN carries data, and the FIN if there is no more; the answer comes with the
//! SYN-ACK.
//!
//! A *connection count* (CC) proves, instead of the three-way handshake, that a SYN is not old: a host numbers the
//! connections that it opens and accepts, and a SYN whose count is above the last one from its host is new (the *TAO
//! test*). Without a remembered count (CC.new, or no cache), or with one that is not above it, the three-way handshake
//! decides, and the data waits for its end. Each segment of such a connection carries its count, which distinguishes it
//! from those of an earlier connection, so that TIME-WAIT may be short.
//!
//! A count proves nothing about its sender: an attacker who guesses it can send data in another host's name. RFC 6247
//! therefore withdrew T/TCP. Here it is off unless [`Profile::transaction_opening`] enables it.
//!
//! [`Profile::transaction_opening`]: super::profile::Profile::transaction_opening

use super::ends::Ends;
use super::options::default_segment_size;
use super::space::SendSpace;
use crate::packet::Payload;
use crate::time::{Duration, Instant};
use crate::wire::tcp::{ConnectionCount, TcpFlags, TcpHeader};
use core::net::IpAddr;
use core::num::NonZeroU32;
use std::collections::{BTreeMap, VecDeque};

/// Most hosts in the cache; beyond that the oldest entry is dropped, which costs that host a handshake.
const MOST_HOSTS: usize = 1024;
/// SYNs of an opening that carry count and data; later ones are plain, since a middlebox may drop the others.
const FULL_ATTEMPTS: u32 = 3;
/// Duration of a short connection's TIME-WAIT, in timeouts (RFC 1644 section 2.4).
const TIME_WAIT_TIMEOUTS: u64 = 8;
/// Most data sent before the peer's window is known, in bytes: as in BSD (`TTCP_CLIENT_SND_WND`).
const LARGEST_OPENING: u32 = 4096;

/// Returns true if `one` comes after `other`, modulo 2^32.
fn is_above(one: NonZeroU32, other: NonZeroU32) -> bool {
    one.get().wrapping_sub(other.get()).cast_signed() > 0
}

/// Cache entry of a host: "cache.CC", "cache.CCsent" and the MSS of its last SYN.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    received: Option<NonZeroU32>,
    sent: Option<NonZeroU32>,
    segment_size: Option<u16>,
}

/// A host's cache about others, for the TAO test and for its own openings.
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
    /// Connection count.
    count: NonZeroU32,
    /// True if the peer has answered a smaller count: CC instead of CC.new.
    known: bool,
    /// Last MSS of the peer.
    segment_size: Option<u16>,
}

/// Acceptance of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Acceptance {
    /// Connection count.
    count: NonZeroU32,
    /// Connection count of the peer.
    peer: NonZeroU32,
    /// True if the TAO test was passed.
    trusted: bool,
}

/// Facts about the peer, learnt from a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Learnt {
    /// Count of this end that the peer answered.
    sent: Option<NonZeroU32>,
    /// Count of the peer, proved new by a three-way handshake.
    received: Option<NonZeroU32>,
    /// MSS of the peer's SYN.
    segment_size: u16,
}

impl Learnt {
    /// Returns the facts from a three-way handshake with a peer of this count and MSS.
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

    /// Returns the number of cached hosts.
    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    /// Returns true if the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// Prepares a connection to a host.
    pub fn open(&mut self, host: IpAddr) -> Opening {
        let count = self.next_count();
        let known = self.known(host);
        // A count that has wrapped around says nothing about earlier ones.
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

    /// Applies the TAO test to a host's SYN; `None` if it does not use T/TCP.
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

    /// Stores the facts learnt from a connection about its peer.
    pub fn learn(&mut self, host: IpAddr, learnt: Learnt) {
        let known = self.known(host);
        known.sent = known.sent.or(learnt.sent);
        known.received = known.received.or(learnt.received);
        known.segment_size = Some(learnt.segment_size);
    }
}

/// Additional state of a T/TCP connection.
#[derive(Debug)]
pub(super) struct Transaction {
    /// "TCB.CCsend".
    own: NonZeroU32,
    /// True if the first SYN has CC, not CC.new.
    known: bool,
    /// "TCB.CCrecv", once it is clear that the peer speaks T/TCP.
    peer: Option<NonZeroU32>,
    begun: Instant,
    /// Cached MSS of the peer, until its SYN arrives.
    segment_size: Option<u16>,
    /// Data and FIN in the first SYN, as sequence space.
    with_syn: u32,
    /// True if the connection is established and the SYN not yet acknowledged: the states with a star.
    is_half_synchronized: bool,
    /// Payload and flags of a SYN that did not pass the TAO test.
    held: Option<(Payload, TcpFlags)>,
    learnt: Option<Learnt>,
}

impl Transaction {
    pub(super) fn opening(now: Instant, opening: Opening) -> Transaction {
        Transaction {
            own: opening.count,
            known: opening.known,
            peer: None,
            begun: now,
            segment_size: opening.segment_size,
            with_syn: 0,
            is_half_synchronized: false,
            held: None,
            learnt: None,
        }
    }

    /// Creates the state of an accepted connection. `held` are payload and flags of the SYN, which wait until it is
    /// proved new.
    pub(super) fn acceptance(
        now: Instant,
        acceptance: Acceptance,
        held: (Payload, TcpFlags),
    ) -> Transaction {
        Transaction {
            own: acceptance.count,
            known: false,
            peer: Some(acceptance.peer),
            begun: now,
            segment_size: None,
            with_syn: 0,
            is_half_synchronized: acceptance.trusted,
            held: Some(held),
            learnt: None,
        }
    }

    /// Returns true if the peer speaks T/TCP, so that every segment carries a count.
    pub(super) fn is_agreed(&self) -> bool {
        self.peer.is_some()
    }

    /// Returns true if the connection is established though the SYN is not yet acknowledged.
    pub(super) fn is_half_synchronized(&self) -> bool {
        self.is_half_synchronized
    }

    /// Takes in the ACK of the SYN. Returns true if the connection was half-synchronized.
    pub(super) fn end_half_synchronized(&mut self) -> bool {
        core::mem::take(&mut self.is_half_synchronized)
    }

    /// Returns the count for a header of this end; `attempt` is the number of its SYN.
    pub(super) fn count(&self, flags: TcpFlags, attempt: u32) -> Option<ConnectionCount> {
        let own = self.own.get();
        let syn = flags.contains(TcpFlags::SYN);
        match (syn, flags.contains(TcpFlags::ACK), self.peer) {
            (true, false, _) if attempt > FULL_ATTEMPTS => None,
            (true, false, _) if self.known => Some(ConnectionCount::Count(own)),
            (true, false, _) => Some(ConnectionCount::New(own)),
            (true, true, Some(peer)) => Some(ConnectionCount::Echo {
                own,
                echo: peer.get(),
            }),
            (false, _, Some(_)) => Some(ConnectionCount::Count(own)),
            (_, _, None) => None,
        }
    }

    /// Chooses the data for the first SYN, whose options take `options` bytes: as sequence space.
    pub(super) fn choose_data_with_syn(
        &mut self,
        space: &SendSpace,
        ends: &Ends,
        own_segment_size: u16,
        options: u32,
    ) {
        let default = default_segment_size(ends.remote().address);
        let peer = self.segment_size.unwrap_or(default).min(own_segment_size);
        let room = ends.room_in_packet().min(u32::from(peer));
        let room = room.saturating_sub(options).min(LARGEST_OPENING);
        let written = space.buffer.written();
        let data = written.min(u64::from(room)) as u32;
        let with_fin = space.is_closed() && u64::from(data) == written;
        self.with_syn = data + u32::from(with_fin);
    }

    /// Returns the data in the SYN of this number: as sequence space.
    pub(super) fn data_with_syn(&self, attempt: u32) -> u32 {
        if attempt <= FULL_ATTEMPTS {
            self.with_syn
        } else {
            0
        }
    }

    /// Returns the data in the first SYN: as sequence space.
    pub(super) fn data_with_first_syn(&self) -> u32 {
        self.with_syn
    }

    /// Takes in the connection count echo of a SYN-ACK; returns false if it answers another SYN, and must be dropped
    /// (RFC 1644 section 3.4).
    pub(super) fn take_echo(&mut self, syn: &TcpHeader) -> bool {
        match syn.options.sack.connection_count() {
            Some(ConnectionCount::Echo { own, echo }) if echo == self.own.get() => {
                self.peer = NonZeroU32::new(own);
                true
            }
            Some(ConnectionCount::Echo { .. }) => false,
            _ => true,
        }
    }

    /// Takes in an answer of the peer, of this MSS, to the count. Returns true if the peer speaks T/TCP.
    pub(super) fn learn_answer(&mut self, segment_size: u16) -> bool {
        if self.is_agreed() {
            self.learnt = Some(Learnt {
                sent: Some(self.own),
                received: None,
                segment_size,
            });
        }
        self.is_agreed()
    }

    /// Takes in the end of a three-way handshake, which proves that the SYN of the peer, of this MSS, was not old.
    pub(super) fn trust_peer(&mut self, segment_size: u16) {
        if let Some(peer) = self.peer {
            self.learnt = Some(Learnt::handshake(peer.get(), segment_size));
        }
    }

    /// Takes the facts to remember about the peer, once.
    pub(super) fn take_learnt(&mut self) -> Option<Learnt> {
        self.learnt.take()
    }

    /// Takes the data held back, once.
    pub(super) fn take_held(&mut self) -> Option<(Payload, TcpFlags)> {
        self.held.take()
    }

    /// Returns false for a segment of another connection between the same ports: each carries its count (RFC 1644
    /// section 3.4). Resets need none, and a SYN is identified by its sequence number.
    pub(super) fn is_of_this_connection(&self, header: &TcpHeader) -> bool {
        let flag = |bit| header.flags.contains(bit);
        let exempt = flag(TcpFlags::RST) || flag(TcpFlags::SYN);
        let Some(peer) = self.peer.filter(|_| !exempt) else {
            return true;
        };
        header.options.sack.connection_count() == Some(ConnectionCount::Count(peer.get()))
    }

    /// Returns the duration of TIME-WAIT. For a connection shorter than the maximum segment lifetime, whose old
    /// segments are recognized by their counts, it is eight timeouts (RFC 1644 section 2.4), otherwise `whole`.
    pub(super) fn time_wait(&self, now: Instant, whole: Duration, timeout: Duration) -> Duration {
        let is_short = now.saturating_since(self.begun).saturating_mul(2) < whole;
        match is_short && self.is_agreed() {
            true => whole.min(timeout.saturating_mul(TIME_WAIT_TIMEOUTS)),
            false => whole,
        }
    }
}
