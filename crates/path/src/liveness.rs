//! Detection of dead paths, by their past behaviour and not by a constant timeout.
//!
//! Suspicion: a datagram that requests an answer is in flight and nothing at all has arrived since, for longer than an
//! answer takes; or a steady stream of datagrams stops. A suspect path is probed by a train, and is down if nothing
//! arrives by the time of an answer to the third probe: `srtt + 4 * variation + 10 ms`. Any authentic datagram clears
//! the suspicion.

use crate::measure::RoundTrip;
use baton_proto::time::{Duration, Instant};

/// Allowance for the peer's timers and scheduling (chosen).
const GRACE: Duration = Duration::from_millis(10);
/// Longest delay of a receipt by the peer (see `receipts`).
const RECEIPT: Duration = Duration::from_millis(25);
/// Interval of a train's probes (chosen: loss bursts of radio links are shorter).
const TRAIN_GAP: Duration = Duration::from_millis(10);
/// Shortest silence of a steady stream that causes suspicion (chosen).
const LEAST_SILENCE: Duration = Duration::from_millis(20);
/// Largest mean gap of a stream that counts as steady (chosen: a voice codec's 20 ms, twice).
const STEADY_GAP: Duration = Duration::from_millis(50);
/// Datagrams that form a stream (chosen).
const STEADY: u32 = 8;
/// Unanswered or missing datagrams needed for a verdict. On a path that loses 2% each way, six in a row are lost once
/// in 10^8 times.
const EVIDENCE: u64 = 6;
/// Most probes of a train.
const LONGEST_TRAIN: u32 = 8;
/// Longest interval between two probes of a path that is down (chosen).
const SLOWEST_PROBE: Duration = Duration::from_secs(1);
/// The same of a path that is used beside others, to which no handover leads back (chosen: 4 kbit/s).
const SLOWEST_PROBE_BESIDE: Duration = Duration::from_millis(200);

/// State of a path, judged by its datagrams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Alive,
    /// Suspicion, with a train in progress: probes sent, the time of the next one, and that of the verdict.
    Suspect(u32, Instant, Instant),
    /// Path down, with further probes: the time of the next one, and the interval to the one after.
    Down(Instant, Duration),
}

/// Outcome of a deadline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// A probe to send.
    Probe,
    /// New suspicion, with a probe to send.
    Suspect,
    /// Death of the path.
    Down,
}

/// Monitor of one path.
pub(crate) struct Liveness {
    state: State,
    last_arrival: Instant,
    /// Packets and receipts since the last silence, and their mean interval.
    stream: u32,
    mean_gap: Duration,
    last_of_stream: Instant,
    /// Time since which a report is awaited; `None` if the peer has reported all.
    waiting_since: Option<Instant>,
    /// Datagrams sent since the last arrival that request an answer.
    in_vain: u64,
    /// Longest silence of a path without traffic, at an end that expects the peer's probes.
    patience: Option<Duration>,
    /// Longest interval between two probes of a path that is down.
    slowest_probe: Duration,
}

impl Liveness {
    /// Creates the monitor of a path that has just proved alive.
    pub(crate) fn new(now: Instant, patience: Option<Duration>) -> Liveness {
        Liveness {
            state: State::Alive,
            last_arrival: now,
            stream: 0,
            mean_gap: Duration::ZERO,
            last_of_stream: now,
            waiting_since: None,
            in_vain: 0,
            patience,
            slowest_probe: SLOWEST_PROBE,
        }
    }

    /// Takes in that the path is used beside others.
    pub(crate) fn stand_beside_others(&mut self) {
        self.slowest_probe = SLOWEST_PROBE_BESIDE;
    }

    pub(crate) fn is_down(&self) -> bool {
        matches!(self.state, State::Down(..))
    }

    /// Returns the time since the last authentic datagram.
    pub(crate) fn silence(&self, now: Instant) -> Duration {
        now.saturating_since(self.last_arrival)
    }

    /// Notes the departure of a datagram that requests an answer.
    pub(crate) fn asked(&mut self, now: Instant) {
        self.in_vain = self.in_vain.saturating_add(1);
        self.waiting_since.get_or_insert(now);
    }

    /// Notes the arrival of an authentic datagram; `all_reported` if the peer has reported all that request an answer.
    /// Returns true if the path was down.
    pub(crate) fn arrived(&mut self, now: Instant, all_reported: bool) -> bool {
        let was = core::mem::replace(&mut self.state, State::Alive);
        self.last_arrival = now;
        self.in_vain = 0;
        self.waiting_since = if all_reported {
            None
        } else {
            self.waiting_since.and(Some(now))
        };
        if was != State::Alive {
            self.stream = 0;
        }
        matches!(was, State::Down(..))
    }

    /// Notes the arrival of a packet or receipt. Probes and their answers do not form a stream: they come in trains,
    /// and stop.
    pub(crate) fn stream_arrived(&mut self, now: Instant) {
        let gap = now.saturating_since(self.last_of_stream);
        self.last_of_stream = now;
        if self.stream == 0 || gap > STEADY_GAP.saturating_mul(4) {
            self.stream = 1;
            self.mean_gap = Duration::ZERO;
            return;
        }
        let mean = self.mean_gap.as_nanos();
        let divisor = u64::from(self.stream.min(16));
        self.mean_gap = Duration::from_nanos(mean - mean / divisor + gap.as_nanos() / divisor);
        self.stream = self.stream.saturating_add(1);
    }

    /// Sets the path down, for a reason other than its datagrams. Returns true if it was not down before.
    pub(crate) fn set_down(&mut self, now: Instant) -> bool {
        let new = !self.is_down();
        if new {
            let gap = Duration::from_millis(100);
            self.state = State::Down(now + gap, gap);
        }
        new
    }

    /// Makes the next probe due at once.
    pub(crate) fn hurry(&mut self, now: Instant) {
        if self.is_down() {
            self.state = State::Down(now, Duration::from_millis(100));
        }
    }

    pub(crate) fn deadline(&self, round_trip: &RoundTrip) -> Option<Instant> {
        match self.state {
            State::Alive => self.suspicion(round_trip),
            State::Suspect(_, next, verdict) => Some(next.min(verdict)),
            State::Down(next, _) => Some(next),
        }
    }

    /// Returns the time at which the path becomes suspect, if nothing arrives.
    fn suspicion(&self, round_trip: &RoundTrip) -> Option<Instant> {
        let unanswered = self
            .waiting_since
            .map(|since| since + round_trip.answer_time() + RECEIPT + GRACE);
        let stopped = self
            .is_steady()
            .then(|| self.last_arrival + self.mean_gap.saturating_mul(4).max(LEAST_SILENCE));
        let quiet = self.patience.map(|patience| self.last_arrival + patience);
        [unanswered, stopped, quiet].into_iter().flatten().min()
    }

    fn is_steady(&self) -> bool {
        self.stream >= STEADY && self.mean_gap <= STEADY_GAP
    }

    pub(crate) fn handle_timeout(
        &mut self,
        now: Instant,
        round_trip: &RoundTrip,
    ) -> Option<Verdict> {
        if self
            .deadline(round_trip)
            .is_none_or(|deadline| now < deadline)
        {
            return None;
        }
        match self.state {
            State::Alive => {
                self.begin_train(now, round_trip);
                Some(Verdict::Suspect)
            }
            State::Suspect(_, _, verdict) if now >= verdict => {
                if self.evidence(now) >= EVIDENCE {
                    self.set_down(now);
                    return Some(Verdict::Down);
                }
                self.begin_train(now, round_trip);
                Some(Verdict::Probe)
            }
            State::Suspect(sent, _, verdict) => {
                self.state = State::Suspect(
                    sent + 1,
                    following(now, sent + 1, verdict, round_trip),
                    verdict,
                );
                Some(Verdict::Probe)
            }
            State::Down(_, gap) => {
                let gap = gap.saturating_mul(2).min(self.slowest_probe);
                self.state = State::Down(now + gap, gap);
                Some(Verdict::Probe)
            }
        }
    }

    fn begin_train(&mut self, now: Instant, round_trip: &RoundTrip) {
        let verdict = now + TRAIN_GAP.saturating_mul(2) + round_trip.answer_time() + GRACE;
        self.state = State::Suspect(1, now + TRAIN_GAP, verdict);
    }

    /// Returns the number of datagrams whose absence indicates a dead path: this end's without an answer, the peer's
    /// missing from a stream.
    fn evidence(&self, now: Instant) -> u64 {
        let silence = self.silence(now).as_nanos();
        let missing = silence.checked_div(self.mean_gap.as_nanos()).unwrap_or(0);
        self.in_vain + if self.is_steady() { missing } else { 0 }
    }
}

/// Returns the time of the probe after `sent` others: after the third, only while its answer may still arrive before
/// the verdict.
fn following(now: Instant, sent: u32, verdict: Instant, round_trip: &RoundTrip) -> Instant {
    if sent < 3 {
        return now + TRAIN_GAP;
    }
    let next = now + TRAIN_GAP.max(round_trip.variation());
    let answered = next + round_trip.smoothed().unwrap_or(Duration::MAX);
    if sent < LONGEST_TRAIN && answered < verdict {
        next
    } else {
        verdict
    }
}
