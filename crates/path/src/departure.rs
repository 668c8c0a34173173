//! Announced losses: an end that expects its link to go down tells the other one, which can then leave the path in time.
//!
//! While a loss is expected, each probe of that end is a notice, with the time left; a plain probe calls the loss off.
//! The first of either is repeated until it is answered, so that no loss of datagrams keeps the news back.

use baton_proto::time::{Duration, Instant};

/// Shortest time to the repetition of a notice (chosen), and the time without a measured round trip.
const LEAST_WAIT: Duration = Duration::from_millis(50);
const UNKNOWN_WAIT: Duration = Duration::from_secs(1);
/// Difference of two notices about the same time: delays vary (chosen).
const SAME: Duration = Duration::from_millis(100);

/// Losses that both ends of a path expect.
#[derive(Default)]
pub(crate) struct Departure {
    /// Time of the loss that this end expects.
    own: Option<Instant>,
    /// Number of the latest notice, or of the probe that calls the loss off, and the time of its repetition; `None` once
    /// it is answered.
    unanswered: Option<(u16, Instant)>,
    /// Time of the loss that the peer expects.
    peers: Option<Instant>,
    /// Counter after that of the peer's newest notice or probe.
    heard: u64,
}

impl Departure {
    /// Takes in that this end expects its link to go down at a time, or (`None`) to stay up; returns true for news.
    pub(crate) fn expect(&mut self, now: Instant, at: Option<Instant>) -> bool {
        let is_news = self.own != at;
        if is_news {
            self.own = at;
            self.unanswered = Some((0, now));
        }
        is_news
    }

    /// Repeats the notice, of which a path that was down perhaps knows nothing.
    pub(crate) fn repeat(&mut self, now: Instant) {
        if self.own.is_some() {
            self.unanswered = Some((0, now));
        }
    }

    /// Returns the milliseconds to the loss that this end expects.
    pub(crate) fn left_ms(&self, now: Instant) -> Option<u32> {
        let left = self.own?.saturating_since(now).as_nanos() / 1_000_000;
        Some(u32::try_from(left).unwrap_or(u32::MAX))
    }

    /// Notes that a notice or probe leaves with this number.
    pub(crate) fn sent(&mut self, now: Instant, number: u16, round_trip: Option<Duration>) {
        let wait = round_trip.map_or(UNKNOWN_WAIT, |trip| trip.saturating_mul(2).max(LEAST_WAIT));
        if let Some(unanswered) = &mut self.unanswered {
            *unanswered = (number, now + wait);
        }
    }

    /// Takes in the answer to the probe or notice with this number.
    pub(crate) fn answered(&mut self, number: u16) {
        self.unanswered.take_if(|(asked, _)| *asked == number);
    }

    /// Returns the time at which the notice, or what calls it off, is to be sent again.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.unanswered.map(|(_, at)| at)
    }

    /// Takes in a notice with the time of the peer's loss, or (`None`) a probe; returns true for news.
    pub(crate) fn hear(&mut self, now: Instant, counter: u64, at: Option<Instant>) -> bool {
        if counter < self.heard {
            return false;
        }
        self.heard = counter.saturating_add(1);
        let differs = match (self.peers, at) {
            // All times that have come are the same.
            (Some(before), Some(at)) => {
                let [before, at] = [before, at].map(|time| time.max(now));
                before.max(at).saturating_since(before.min(at)) > SAME
            }
            (before, at) => before != at,
        };
        if differs {
            self.peers = at;
        }
        differs
    }

    /// Forgets a peer that has restarted; returns true if it expected a loss.
    pub(crate) fn forget_peer(&mut self) -> bool {
        self.heard = 0;
        self.peers.take().is_some()
    }
}
