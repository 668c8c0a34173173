//! One path, at either end: successive sessions, and the measurements over all of them.
//!
//! Counters continue across sessions, so that all share one replay window, one report and one count of losses; only an
//! end that has lost its state restarts them, and announces this by another `incarnation`.

mod event;
mod receive;
#[cfg(test)]
mod tests;
mod transmit;

pub use event::{Event, NotSent, Sent};
pub use receive::Content;

use crate::departure::Departure;
use crate::frame::{Start, TAG_BYTES, TRANSPORT_HEADER};
use crate::liveness::{Liveness, Verdict};
use crate::measure::{Measured, Measurement};
use crate::message::{HEADER, Stamp};
use crate::mtu::{self, Mtu};
use crate::rate::{Finder, Pace};
use crate::receipts::Receipts;
use crate::replay::ReplayWindow;
use crate::session::Session;
use baton_proto::rate::DataRate;
use baton_proto::time::{Duration, Instant};
use core::net::SocketAddr;
use std::collections::VecDeque;

/// Bytes that a path adds to a packet, beside IP and UDP.
pub const OVERHEAD: usize = TRANSPORT_HEADER + HEADER + TAG_BYTES;
/// Interval of the initiator's probes: with their answers and IPv6 and UDP headers 832 bit/s. They keep NATs open too.
const PROBE_INTERVAL: Duration = Duration::from_secs(2);
/// Intervals of the first probes after the path has come up, in milliseconds: both ends soon know the variation of the
/// round-trip time, and a flickering uplink is down again before it is used (chosen: 2 s).
const FIRST_PROBE_INTERVALS: [u64; 8] = [100, 100, 100, 100, 400, 400, 400, 400];
/// Silence after which a responder sends its own probes: two intervals of the initiator's probes and some more
/// (chosen).
const PATIENCE: Duration = Duration::from_secs(5);

/// State of one path.
pub(crate) struct Path {
    pub(crate) remote: SocketAddr,
    /// Sessions: the one used for sending, the previous one, and one that the initiator has not confirmed yet.
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
    received_bytes: u32,
    /// Sending time and arrival of the peer's datagram with the largest counter.
    latest: (Stamp, Instant),
    /// Counter after the largest reported by the peer, and after this end's last that requests an answer.
    reported: u64,
    asked: u64,
    measurement: Measurement,
    liveness: Liveness,
    receipts: Receipts,
    mtu: Mtu,
    /// `None` unless the path finds its rate.
    finder: Option<Box<Finder>>,
    /// Time of the next probe at an initiator.
    next_probe: Option<Instant>,
    /// Probes sent since the path has come up, while their intervals differ.
    first_probes: u8,
    is_initiator: bool,
    probe_due: bool,
    sequence: u16,
    /// Probes to answer, the last of each kind: number, sending time, arrival.
    answer: Option<(u16, Stamp, Instant)>,
    mtu_answer: Option<(u16, Stamp, Instant)>,
    large_sent: bool,
    departure: Departure,
    pub(crate) events: VecDeque<Event>,
}

impl Path {
    /// Creates a path without a session. `uplink_mtu` is the longest IP packet that the device sends.
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
            received_bytes: 0,
            latest: (Stamp::default(), now),
            reported: 0,
            asked: 0,
            measurement: Measurement::new(now),
            liveness,
            receipts: Receipts::default(),
            mtu: Mtu::new(now, uplink_mtu),
            finder: None,
            next_probe: None,
            first_probes: 0,
            is_initiator,
            probe_due: false,
            sequence: 0,
            answer: None,
            mtu_answer: None,
            large_sent: false,
            departure: Departure::default(),
            events: VecDeque::new(),
        }
    }

    /// Makes the path find its rate, before it has sent anything: one link of a pair of gateways, which use all at once.
    pub(crate) fn find_rate(&mut self, now: Instant) {
        self.liveness.stand_beside_others();
        self.finder = Some(Box::new(Finder::new(now, self.counter)));
    }

    pub(crate) fn pace(&self, now: Instant) -> Option<Pace> {
        self.finder.as_ref().map(|finder| finder.pace(now))
    }

    pub(crate) fn set_rate(&mut self, now: Instant, rate: Option<DataRate>) {
        if let Some(finder) = &mut self.finder {
            finder.set_rate(now, rate);
        }
    }

    fn restart_search(&mut self, now: Instant) {
        if let Some(finder) = &mut self.finder {
            finder.restart(now);
        }
    }

    /// Returns the start of this end's datagrams in the next session.
    pub(crate) fn start(&self) -> Start {
        Start {
            incarnation: self.incarnation,
            counter: self.counter,
        }
    }

    /// Adopts a session that the peer is known to have.
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
            self.received_bytes = 0;
            self.reported = session.own.counter;
            self.asked = session.own.counter;
            self.measurement.expect_reports_from(session.own.counter);
            if self.departure.forget_peer() {
                self.events.push_back(Event::LossExpected(None));
            }
            self.restart_search(now);
        }
        self.current = Some(session);
        self.arrived(now);
        if self.is_initiator {
            // The responder waits for a datagram under the new keys before it uses them.
            self.probe(now);
        }
    }

    /// Makes a probe due, and schedules the next one.
    pub(crate) fn probe(&mut self, now: Instant) {
        self.probe_due = true;
        let first = FIRST_PROBE_INTERVALS.get(usize::from(self.first_probes));
        let interval = first.copied().map_or(PROBE_INTERVAL, Duration::from_millis);
        self.first_probes = self.first_probes.saturating_add(1);
        self.next_probe = Some(now + interval);
    }

    /// Keeps a session until the peer proves to have it.
    pub(crate) fn offer(&mut self, session: Session) {
        self.next = Some(session);
    }

    /// Returns true if a session waits for the peer's proof.
    pub(crate) fn is_offered(&self) -> bool {
        self.next.is_some()
    }

    /// Returns true if the path has no keys at all.
    pub(crate) fn is_idle(&self) -> bool {
        self.current.is_none() && self.next.is_none()
    }

    /// Takes in a handshake's round-trip time.
    pub(crate) fn round_trip(&mut self, sample: Duration) {
        self.measurement.round_trip.sample(sample);
    }

    pub(crate) fn known_round_trip(&self) -> Option<Duration> {
        self.measurement.round_trip.smoothed()
    }

    pub(crate) fn session(&self) -> Option<&Session> {
        self.current.as_ref()
    }

    /// Returns true if a datagram with this counter was sent to the receiver with this index, and not yet reported.
    pub(crate) fn is_under_way(&self, remote_index: u32, counter: u64) -> bool {
        let sent = match counter & transmit::MTU_BIT {
            0 => self.reported..self.counter,
            bit => bit..self.mtu_counter | bit,
        };
        let session = self.current.as_ref();
        session.is_some_and(|session| session.is_to(remote_index)) && sent.contains(&counter)
    }

    /// Returns the number of messages sent under the present keys.
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

    /// Returns the counter after the largest reported by the peer.
    pub(crate) fn reported(&self) -> u64 {
        self.reported
    }

    /// Returns the length of the longest packet that the path carries, in bytes. Until the search has found more, this
    /// is what fits into 1,280 bytes, over IPv6 less than the 1,280 bytes that an IPv6 packet may have.
    pub(crate) fn packet_mtu(&self) -> u16 {
        let headers = mtu::headers(self.remote) + OVERHEAD as u16;
        self.mtu.confirmed().saturating_sub(headers)
    }

    /// Returns the length of the longest packet that the uplink itself carries, in bytes.
    fn largest_packet(&self) -> u16 {
        let headers = mtu::headers(self.remote) + OVERHEAD as u16;
        self.mtu.largest().saturating_sub(headers)
    }

    /// Returns the time since the last authentic datagram.
    pub(crate) fn silence(&self, now: Instant) -> Duration {
        self.liveness.silence(now)
    }

    /// Sets the path down at the caller's request.
    pub(crate) fn set_down(&mut self, now: Instant) {
        if self.liveness.set_down(now) {
            self.went_down();
        }
    }

    /// Sends a probe at once, if the path is down.
    pub(crate) fn hurry(&mut self, now: Instant) {
        self.liveness.hurry(now);
    }

    /// Tells the peer that this end's link is expected to go down at a time, or (`None`) to stay up.
    pub(crate) fn expect_loss(&mut self, now: Instant, at: Option<Instant>) {
        self.probe_due |= self.departure.expect(now, at);
    }

    fn went_down(&mut self) {
        self.mtu.pause();
        self.events.push_back(Event::Down);
    }

    /// Notes the arrival of an authentic datagram.
    fn arrived(&mut self, now: Instant) {
        if self.liveness.arrived(now, self.reported >= self.asked) {
            self.mtu.resume(now);
            self.restart_search(now);
            self.events.push_back(Event::Up);
            self.departure.repeat(now);
            if self.is_initiator {
                self.first_probes = 0;
                self.probe(now);
            }
        }
    }

    /// Returns the time of the next [`Path::handle_timeout`], if [`Path::poll_transmit`] has nothing more.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let current = self.current.as_ref();
        let expiry = [current, self.previous.as_ref(), self.next.as_ref()];
        let expiry = expiry.into_iter().flatten().map(Session::expiry).min();
        if current.is_none() {
            return expiry;
        }
        let round_trip = &self.measurement.round_trip;
        let probing = if self.liveness.is_down() {
            [None, None, None]
        } else {
            let notice = self.departure.deadline();
            [self.next_probe, self.mtu.deadline(), notice]
        };
        let watched = [
            self.liveness.deadline(round_trip),
            self.receipts.deadline(round_trip),
            self.finder.as_ref().and_then(|finder| finder.deadline()),
        ];
        (probing.into_iter().chain(watched).flatten().chain(expiry)).min()
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.expire(now);
        if self.current.is_none() {
            return;
        }
        if let Some(finder) = &mut self.finder {
            finder.handle_timeout(now);
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
        self.probe_due |= self.departure.deadline().is_some_and(|time| now >= time);
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

    /// Drops expired keys.
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
