//! A source of requests with immediate replies, for their round-trip times.

use baton_proto::time::{Duration, Instant};
use std::collections::BTreeMap;

/// Most pending requests: numbers on the wire have 16 bits. Older ones count as lost.
const MOST_PENDING: usize = 1 << 16;

/// The source's view of its requests.
#[derive(Debug)]
pub(super) struct Ping {
    interval: Duration,
    /// Payload bytes of a request and of a reply.
    pub size: u32,
    /// Requests still to be sent; `None` is without end.
    left: Option<u32>,
    next: Instant,
    sent: u64,
    answered: u64,
    /// Send times of unanswered requests, by number.
    pending: BTreeMap<u64, Instant>,
    /// Bytes of replies that have come out of a connection.
    reply_bytes: u64,
    sum: Duration,
    /// The round-trip time of the latest reply.
    pub latest: Option<Duration>,
}

/// Round-trip times of a ping flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PingSummary {
    /// Requests sent.
    pub sent: u64,
    /// Replies received.
    pub answered: u64,
    /// Mean round-trip time of the answered requests.
    pub mean_rtt: Option<Duration>,
}

impl Ping {
    /// Creates a source whose first request is due at `start`.
    pub fn new(interval: Duration, size: u32, count: Option<u32>, start: Instant) -> Ping {
        Ping {
            interval,
            size,
            left: count,
            next: start,
            sent: 0,
            answered: 0,
            pending: BTreeMap::new(),
            reply_bytes: 0,
            sum: Duration::ZERO,
            latest: None,
        }
    }

    /// The number of the request that is due, if one is; it counts as sent.
    pub fn take_due(&mut self, now: Instant) -> Option<u64> {
        if self.next > now || self.left == Some(0) {
            return None;
        }
        self.left = self.left.map(|left| left - 1);
        self.next += self.interval;
        let number = self.sent;
        self.sent += 1;
        self.pending.insert(number, now);
        if self.pending.len() > MOST_PENDING {
            self.pending.pop_first();
        }
        Some(number)
    }

    /// Returns the time of the next request, if there is one.
    pub fn deadline(&self) -> Option<Instant> {
        (self.left != Some(0)).then_some(self.next)
    }

    /// Takes in the reply to the request whose number ends in these 16 bits; returns false if no such request is pending.
    pub fn answer(&mut self, now: Instant, low_bits: u16) -> bool {
        let Some(newest) = self.sent.checked_sub(1) else {
            return false;
        };
        let behind = (newest as u16).wrapping_sub(low_bits);
        let at = newest
            .checked_sub(u64::from(behind))
            .and_then(|number| self.pending.remove(&number));
        let Some(at) = at else { return false };
        let rtt = now.saturating_since(at);
        self.latest = Some(rtt);
        self.sum += rtt;
        self.answered += 1;
        true
    }

    /// Takes in `bytes` of replies from a connection; returns the number of replies completed.
    pub fn take_bytes(&mut self, now: Instant, bytes: u64) -> u64 {
        self.reply_bytes += bytes;
        let before = self.answered;
        while self.reply_bytes >= (self.answered + 1) * u64::from(self.size)
            && self.answer(now, self.answered as u16)
        {}
        self.answered - before
    }

    /// Returns true while the newest request is unanswered. Older ones may be lost:
    /// a missed reply does not end the wait for the next.
    pub fn waits(&self) -> bool {
        self.pending
            .last_key_value()
            .is_some_and(|(&number, _)| number + 1 == self.sent)
    }

    /// Returns true if all requests were sent and answered.
    pub fn is_done(&self) -> bool {
        self.left == Some(0) && self.answered == self.sent
    }

    pub fn summary(&self) -> PingSummary {
        PingSummary {
            sent: self.sent,
            answered: self.answered,
            mean_rtt: self
                .sum
                .as_nanos()
                .checked_div(self.answered)
                .map(Duration::from_nanos),
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
    fn a_lost_reply_is_not_waited_for_once_a_later_one_has_come() {
        let mut ping = Ping::new(Duration::from_millis(100), 56, Some(3), at(0));
        assert_eq!(ping.take_due(at(0)), Some(0));
        assert_eq!(ping.take_due(at(100)), Some(1));
        assert!(ping.answer(at(130), 1));
        assert!(!ping.answer(at(131), 1), "a second reply to the same");
        assert!(!ping.waits());
        assert_eq!(ping.take_due(at(200)), Some(2));
        assert!(ping.waits() && ping.answer(at(250), 2));
        assert_eq!((ping.deadline(), ping.is_done()), (None, false));
        let mean_rtt = Some(Duration::from_millis(40));
        let expected = PingSummary {
            sent: 3,
            answered: 2,
            mean_rtt,
        };
        assert_eq!(ping.summary(), expected);
    }

    #[test]
    fn numbers_go_round_and_memory_is_bounded() {
        let mut ping = Ping::new(Duration::from_millis(1), 56, None, at(0));
        for number in 0..70_000 {
            assert_eq!(ping.take_due(at(number)), Some(number));
        }
        assert_eq!(ping.pending.len(), MOST_PENDING);
        assert!(ping.answer(at(70_000), 69_990_u64 as u16));
        assert_eq!(ping.latest, Some(Duration::from_millis(10)));
    }
}
