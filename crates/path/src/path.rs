//! One path, at either of its ends: sessions one after the other, and what is measured over all of them.
//!
//! Counters go on across sessions, so that one replay window, one report and one account of losses serve them all; only an
//! end that has lost its state begins anew, and says so by another `incarnation`.

mod event;
mod receive;
#[cfg(test)]
mod tests;
mod transmit;

pub use event::{Event, NotSent, Sent};
pub use receive::Content;

use crate::frame::{Start, TAG_BYTES, TRANSPORT_HEADER};
use crate::liveness::{Liveness, Verdict};
use crate::measure::{Measured, Measurement};
use crate::message::{HEADER, Stamp};
use crate::mtu::{self, Mtu};
use crate::receipts::Receipts;
use crate::replay::ReplayWindow;
use crate::session::Session;
use baton_proto::time::{Duration, Instant};
use core::net::SocketAddr;
use std::collections::VecDeque;

/// Bytes that a path adds to a packet, beside IP and UDP.
pub const OVERHEAD: usize = TRANSPORT_HEADER + HEADER + TAG_BYTES;
/// Distance of the initiator's probes: with their answers and IPv6 and UDP headers 832 bit/s. They keep NATs open too.
const PROBE_INTERVAL: Duration = Duration::from_secs(2);
/// Their distances when the path has just come up, in milliseconds: both ends soon know how the round trip varies, and an uplink
/// that flickers is down again before anybody trusts it (chosen: 2 s).
const FIRST_PROBE_INTERVALS: [u64; 8] = [100, 100, 100, 100, 400, 400, 400, 400];
/// Silence after which a responder asks itself: two of the initiator's probes and some more (chosen).
const PATIENCE: Duration = Duration::from_secs(5);

/// State of one path.
pub(crate) struct Path {
    pub(crate) remote: SocketAddr,
    /// Sessions: in use for sending, before it, and made but not confirmed by the initiator.
    current: Option<Session>,
    previous: Option<Session>,
    next: Option<Session>,
    incarnation: u32,
    peer_incarnation: Option<u32>,
    counter: u64,
    mtu_counter: u64,
    window: ReplayWindow,
    mtu_seen: u64,
    received: u32,
    /// Sending time of the peer's datagram with the largest counter, and when it arrived.
    latest: (Stamp, Instant),
    /// The counter after the largest that the peer has reported, and after our last that asks for an answer.
    reported: u64,
    asked: u64,
    measurement: Measurement,
    liveness: Liveness,
    receipts: Receipts,
    mtu: Mtu,
    /// The moment of the next probe at an initiator.
    next_probe: Option<Instant>,
    /// Probes that were sent since the path has come up, as far as their distances differ.
    first_probes: u8,
    is_initiator: bool,
    probe_due: bool,
    sequence: u16,
    /// Probes to be answered, the last of each kind: number, sending time, arrival.
    answer: Option<(u16, Stamp, Instant)>,
    mtu_answer: Option<(u16, Stamp, Instant)>,
    large_sent: bool,
    pub(crate) events: VecDeque<Event>,
}

impl Path {
    /// A path without a session. `uplink_mtu` is the length of the longest IP packet that the device sends.
    pub(crate) fn new(
        now: Instant,
        remote: SocketAddr,
        is_initiator: bool,
        incarnation: u32,
        uplink_mtu: u16,
    ) -> Path {
        let mut liveness = Liveness::new(now, (!is_initiator).then_some(PATIENCE));
        liveness.set_down(now);
        Path {
            remote,
            current: None,
            previous: None,
            next: None,
            incarnation,
            peer_incarnation: None,
            counter: 0,
            mtu_counter: 0,
            window: ReplayWindow::default(),
            mtu_seen: 0,
            received: 0,
            latest: (Stamp::default(), now),
            reported: 0,
            asked: 0,
            measurement: Measurement::new(now),
            liveness,
            receipts: Receipts::default(),
            mtu: Mtu::new(now, uplink_mtu),
            next_probe: None,
            first_probes: 0,
            is_initiator,
            probe_due: false,
            sequence: 0,
            answer: None,
            mtu_answer: None,
            large_sent: false,
            events: VecDeque::new(),
        }
    }

    /// The beginning of this end's datagrams in the next session.
    pub(crate) fn start(&self) -> Start {
        Start {
            incarnation: self.incarnation,
            counter: self.counter,
        }
    }

    /// Takes a session whose other end is known to have it.
    pub(crate) fn adopt(&mut self, now: Instant, session: Session) {
        let known = self.peer_incarnation.replace(session.peer.incarnation);
        if known == Some(session.peer.incarnation) {
            self.previous = self.current.take();
        } else {
            if known.is_some() {
                self.events.push_back(Event::Restarted);
            }
            self.previous = None;
            self.window = ReplayWindow::new(session.peer.counter);
            self.mtu_seen = 0;
            self.received = 0;
            self.reported = session.own.counter;
            self.asked = session.own.counter;
            self.measurement.expect_reports_from(session.own.counter);
        }
        self.current = Some(session);
        self.arrived(now);
        if self.is_initiator {
            // The responder waits for it before it uses the new keys.
            self.probe(now);
        }
    }

    /// Has a probe sent, and plans the next.
    pub(crate) fn probe(&mut self, now: Instant) {
        self.probe_due = true;
        let first = FIRST_PROBE_INTERVALS.get(usize::from(self.first_probes));
        let interval = first.copied().map_or(PROBE_INTERVAL, Duration::from_millis);
        self.first_probes = self.first_probes.saturating_add(1);
        self.next_probe = Some(now + interval);
    }

    /// Keeps a session until its other end proves to have it.
    pub(crate) fn offer(&mut self, session: Session) {
        self.next = Some(session);
    }

    /// Returns true if a session waits for its other end's proof.
    pub(crate) fn is_offered(&self) -> bool {
        self.next.is_some()
    }

    /// Returns true if the path has no keys at all.
    pub(crate) fn is_idle(&self) -> bool {
        self.current.is_none() && self.next.is_none()
    }

    /// Notes a handshake's round trip.
    pub(crate) fn round_trip(&mut self, sample: Duration) {
        self.measurement.round_trip.sample(sample);
    }

    pub(crate) fn known_round_trip(&self) -> Option<Duration> {
        self.measurement.round_trip.smoothed()
    }

    pub(crate) fn session(&self) -> Option<&Session> {
        self.current.as_ref()
    }

    /// Returns true if a datagram with this counter was sent to the receiver with this index, and has not been reported.
    pub(crate) fn is_under_way(&self, remote_index: u32, counter: u64) -> bool {
        let sent = match counter & transmit::MTU_BIT {
            0 => self.reported..self.counter,
            bit => bit..self.mtu_counter | bit,
        };
        let session = self.current.as_ref();
        session.is_some_and(|session| session.is_to(remote_index)) && sent.contains(&counter)
    }

    /// Messages sent under the keys in use.
    pub(crate) fn messages(&self) -> u64 {
        let first = self
            .current
            .as_ref()
            .map_or(self.counter, |session| session.own.counter);
        self.counter.saturating_sub(first)
    }

    pub(crate) fn is_up(&self) -> bool {
        self.current.is_some() && !self.liveness.is_down()
    }

    pub(crate) fn measured(&mut self, now: Instant) -> Measured {
        self.measurement.measured(now)
    }

    /// The counter after the largest that the peer has reported.
    pub(crate) fn reported(&self) -> u64 {
        self.reported
    }

    /// Length of the longest packet that the path carries. Until the search has found more it is what fits into 1,280 bytes, and
    /// over IPv6 that is less than the 1,280 that an IPv6 packet may have.
    pub(crate) fn packet_mtu(&self) -> u16 {
        let headers = mtu::headers(self.remote) + OVERHEAD as u16;
        self.mtu.confirmed().saturating_sub(headers)
    }

    /// Length of the longest packet that the uplink itself carries.
    fn largest_packet(&self) -> u16 {
        let headers = mtu::headers(self.remote) + OVERHEAD as u16;
        self.mtu.largest().saturating_sub(headers)
    }

    /// Time since something authentic has arrived.
    pub(crate) fn silence(&self, now: Instant) -> Duration {
        self.liveness.silence(now)
    }

    /// Notes that the path is down because the caller says so.
    pub(crate) fn set_down(&mut self, now: Instant) {
        if self.liveness.set_down(now) {
            self.went_down();
        }
    }

    /// Probes at once, if the path is down.
    pub(crate) fn hurry(&mut self, now: Instant) {
        self.liveness.hurry(now);
    }

    fn went_down(&mut self) {
        self.mtu.pause();
        self.events.push_back(Event::Down);
    }

    /// Notes that something authentic has arrived.
    fn arrived(&mut self, now: Instant) {
        if self.liveness.arrived(now, self.reported >= self.asked) {
            self.mtu.resume(now);
            self.events.push_back(Event::Up);
            if self.is_initiator {
                self.first_probes = 0;
                self.probe(now);
            }
        }
    }

    /// The moment of the next [`Path::handle_timeout`], if [`Path::poll_transmit`] has nothing more.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let current = self.current.as_ref();
        let expiry = [current, self.previous.as_ref(), self.next.as_ref()];
        let expiry = expiry.into_iter().flatten().map(Session::expiry).min();
        if current.is_none() {
            return expiry;
        }
        let round_trip = &self.measurement.round_trip;
        let probing = if self.liveness.is_down() {
            [None, None]
        } else {
            [self.next_probe, self.mtu.deadline()]
        };
        let watched = [
            self.liveness.deadline(round_trip),
            self.receipts.deadline(round_trip),
        ];
        (probing.into_iter().chain(watched).flatten().chain(expiry)).min()
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.expire(now);
        if self.current.is_none() {
            return;
        }
        match self
            .liveness
            .handle_timeout(now, &self.measurement.round_trip)
        {
            Some(Verdict::Probe) => self.probe_due = true,
            Some(Verdict::Suspect) => {
                self.probe_due = true;
                self.events.push_back(Event::Suspect);
            }
            Some(Verdict::Down) => self.went_down(),
            None => {}
        }
        if self.liveness.is_down() {
            return;
        }
        if self.next_probe.is_some_and(|time| now >= time) {
            self.probe(now);
        }
        let before = self.packet_mtu();
        self.mtu.handle_timeout(now);
        self.tell_mtu(before);
    }

    fn tell_mtu(&mut self, before: u16) {
        let mtu = self.packet_mtu();
        if mtu != before {
            self.events.push_back(Event::PacketMtu(mtu));
        }
    }

    /// Drops keys that are too old.
    fn expire(&mut self, now: Instant) {
        let old = |session: &mut Session| now >= session.expiry();
        self.previous.take_if(old);
        self.next.take_if(old);
        if self.current.take_if(old).is_some() {
            self.next_probe = None;
            self.set_down(now);
        }
    }
}
