//! Decision that a path is dead, from how it has behaved and not from a constant of seconds.
//!
//! Suspicion: something that asks for an answer is out and nothing at all has come since, for longer than an answer takes;
//! or datagrams came steadily and stop. A suspect path is asked by a train of probes, and is down if nothing comes by the time
//! by which an answer to the third would have: `srtt + 4 * variation + 10 ms`. Anything authentic that arrives clears it.

use crate::measure::RoundTrip;
use baton_proto::time::{Duration, Instant};

/// Allowance for the peer's timers and scheduling (chosen).
const GRACE: Duration = Duration::from_millis(10);
/// Longest time that a peer holds a receipt back (see `receipts`).
const RECEIPT: Duration = Duration::from_millis(25);
/// Distance of a train's probes (chosen: losses of radio links come in bursts of less).
const TRAIN_GAP: Duration = Duration::from_millis(10);
/// Least silence of a steady stream that is suspect (chosen).
const LEAST_SILENCE: Duration = Duration::from_millis(20);
/// Largest mean gap of a stream that counts as steady (chosen: a voice codec's 20 ms, twice).
const STEADY_GAP: Duration = Duration::from_millis(50);
/// Datagrams that make a stream (chosen).
const STEADY: u32 = 8;
/// Datagrams in vain that make a verdict. On a path that loses 2% each way, six in a row are lost once in 10^8 times.
const EVIDENCE: u64 = 6;
/// Largest number of a train's probes.
const LONGEST_TRAIN: u32 = 8;
/// Longest time between two probes of a path that is down (chosen).
const SLOWEST_PROBE: Duration = Duration::from_secs(1);

/// State of a path, as far as datagrams tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Alive,
    /// A train is under way: probes sent, the next one's time, and that of the verdict.
    Suspect(u32, Instant, Instant),
    /// Probes go on: the next one's time, and the distance to the one after.
    Down(Instant, Duration),
}

/// Outcome of a deadline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// A probe is to be sent.
    Probe,
    /// The path has become suspect, and a probe is to be sent.
    Suspect,
    /// The path has died.
    Down,
}

/// Watch over one path.
pub(crate) struct Liveness {
    state: State,
    last_arrival: Instant,
    /// Packets and receipts since the last silence, and their mean distance.
    stream: u32,
    mean_gap: Duration,
    last_of_stream: Instant,
    /// Time since which a report is waited for; none, if the peer has reported all.
    waiting_since: Option<Instant>,
    /// Datagrams that ask for an answer, sent since the last arrival.
    in_vain: u64,
    /// Longest silence of a path without traffic, at an end that expects the other's probes.
    patience: Option<Duration>,
}

impl Liveness {
    /// A path that has just proved alive.
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
        }
    }

    pub(crate) fn is_down(&self) -> bool {
        matches!(self.state, State::Down(..))
    }

    /// Time since something authentic has arrived.
    pub(crate) fn silence(&self, now: Instant) -> Duration {
        now.saturating_since(self.last_arrival)
    }

    /// Notes that something has left that asks for an answer.
    pub(crate) fn asked(&mut self, now: Instant) {
        self.in_vain = self.in_vain.saturating_add(1);
        self.waiting_since.get_or_insert(now);
    }

    /// Notes that something authentic has arrived; `all_reported` says that the peer has reported all that asks for an
    /// answer. Returns whether the path was down.
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

    /// Notes that a packet or a receipt has arrived. Probes and their answers are no stream: they come in trains, and stop.
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

    /// Says that the path is down, for a reason that its datagrams do not tell. Returns whether that is new.
    pub(crate) fn set_down(&mut self, now: Instant) -> bool {
        let new = !self.is_down();
        if new {
            let gap = Duration::from_millis(100);
            self.state = State::Down(now + gap, gap);
        }
        new
    }

    /// Has the next probe sent at once.
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

    /// The moment at which the path becomes suspect, if nothing arrives.
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
                let gap = gap.saturating_mul(2).min(SLOWEST_PROBE);
                self.state = State::Down(now + gap, gap);
                Some(Verdict::Probe)
            }
        }
    }

    fn begin_train(&mut self, now: Instant, round_trip: &RoundTrip) {
        let verdict = now + TRAIN_GAP.saturating_mul(2) + round_trip.answer_time() + GRACE;
        self.state = State::Suspect(1, now + TRAIN_GAP, verdict);
    }

    /// Datagrams whose absence speaks against the path: ours without an answer, the peer's that a stream lacks.
    fn evidence(&self, now: Instant) -> u64 {
        let silence = self.silence(now).as_nanos();
        let missing = silence.checked_div(self.mean_gap.as_nanos()).unwrap_or(0);
        self.in_vain + if self.is_steady() { missing } else { 0 }
    }
}

/// The time of the probe after `sent` others: after the third, only while it may still be answered before the verdict.
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
