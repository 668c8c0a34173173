//! Progress of a flow: bytes in order, stalls, and the time to reach a rate after a handover.
//!
//! A *stall* is a time in which the application at the far end gets no data although some is due:
//! it begins with the last delivery before it, or, if all data that the source had handed over was delivered by
//! then, with the moment at which the source hands over more; it ends with the next delivery, when no more data is due, or with
//! the run. For datagrams no data is due while the source rests (between spurts, or at its end) and none is
//! under way: the silence between two spurts is no stall, though the last datagram of the first one may be lost. A flow
//! that never delivers anything stalls from its start. So the stall of a steady datagram flow is its delay or its interval,
//! whichever is shorter; one lost datagram adds an interval.

use baton_proto::rate::DataRate;
use baton_proto::time::{Duration, Instant};
use std::collections::VecDeque;

/// Delivery of a flow's bytes to the application at its far end.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Payload bytes delivered, in order.
    pub delivered_bytes: u64,
    /// Time of the last delivery.
    pub last_delivery: Option<Instant>,
    /// Longest time without a delivery while data was due.
    pub longest_stall: Duration,
    /// Start of the present wait for data, if data is due.
    waiting_since: Option<Instant>,
}

impl Progress {
    /// Notes that the source has data to deliver.
    pub fn start_waiting(&mut self, now: Instant) {
        self.waiting_since.get_or_insert(now);
    }

    /// Notes the delivery of `bytes`; `more` is true if more data is due. Returns the length of the wait.
    pub fn deliver(&mut self, now: Instant, bytes: u64, more: bool) -> Duration {
        let waited = self.current_stall(now);
        self.longest_stall = self.longest_stall.max(waited);
        self.delivered_bytes += bytes;
        self.last_delivery = Some(now);
        self.waiting_since = more.then_some(now);
        waited
    }

    /// Ends the present wait without a delivery, and begins another.
    pub fn wait_anew(&mut self, now: Instant) {
        self.give_up_waiting(now);
        self.waiting_since = Some(now);
    }

    /// Ends the present wait without a delivery. Returns its length.
    pub fn give_up_waiting(&mut self, now: Instant) -> Duration {
        let waited = self.current_stall(now);
        self.longest_stall = self.longest_stall.max(waited);
        self.waiting_since = None;
        waited
    }

    /// Notes that no more data is due.
    pub fn stop_waiting(&mut self) {
        self.waiting_since = None;
    }

    /// Returns true if data is due.
    pub fn is_waiting(&self) -> bool {
        self.waiting_since.is_some()
    }

    /// Returns the time without a delivery while data is due.
    pub fn current_stall(&self, now: Instant) -> Duration {
        self.waiting_since
            .map_or(Duration::ZERO, |since| now.saturating_since(since))
    }
}

/// Waits for a flow to reach a share of a rate: over a window, not over one burst.
#[derive(Clone, Debug)]
pub struct RateWatch {
    window: Duration,
    wanted_bytes: u64,
    recent: VecDeque<(Instant, u64)>,
    recent_bytes: u64,
    /// Time at which the rate was reached.
    pub reached: Option<Instant>,
}

impl RateWatch {
    /// Creates a watch for `rate`, of payload, over `window`.
    pub fn new(rate: DataRate, window: Duration) -> RateWatch {
        RateWatch {
            window,
            wanted_bytes: rate.bits_in(window) / 8,
            recent: VecDeque::new(),
            recent_bytes: 0,
            reached: None,
        }
    }

    /// Notes the delivery of `bytes`.
    pub fn deliver(&mut self, now: Instant, bytes: u64) {
        if self.reached.is_some() {
            return;
        }
        self.recent.push_back((now, bytes));
        self.recent_bytes += bytes;
        while let Some(&(at, old)) = self.recent.front()
            && at + self.window <= now
        {
            self.recent_bytes -= old;
            self.recent.pop_front();
        }
        if self.recent_bytes >= self.wanted_bytes && self.wanted_bytes > 0 {
            self.reached = Some(now);
            self.recent = VecDeque::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Instant {
        Instant::from_millis(milliseconds)
    }

    #[test]
    fn a_stall_counts_only_while_something_is_to_be_delivered() {
        let mut progress = Progress::default();
        progress.start_waiting(at(1000));
        assert_eq!(
            progress.deliver(at(1500), 100, true),
            Duration::from_millis(500)
        );
        assert_eq!(
            progress.deliver(at(1700), 100, false),
            Duration::from_millis(200)
        );
        // A pause of the source is no stall.
        progress.start_waiting(at(9000));
        assert_eq!(
            progress.deliver(at(9100), 100, true),
            Duration::from_millis(100)
        );
        assert_eq!(progress.longest_stall, Duration::from_millis(500));
        assert_eq!(progress.current_stall(at(9900)), Duration::from_millis(800));
        assert_eq!(progress.delivered_bytes, 300);
    }

    #[test]
    fn a_burst_is_not_a_rate() {
        // 8 kbit/s over 10 s are 10 kB.
        let mut watch = RateWatch::new(
            DataRate::from_bits_per_second(8000),
            Duration::from_secs(10),
        );
        watch.deliver(at(0), 6000);
        watch.deliver(at(10_000), 6000);
        assert_eq!(watch.reached, None);
        watch.deliver(at(14_000), 4000);
        assert_eq!(watch.reached, Some(at(14_000)));
    }
}
