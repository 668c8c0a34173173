//! A source of requests with immediate replies, for their round-trip times.

use crate::scenario::model::Traffic;
use baton_proto::time::{Duration, Instant};
use std::collections::BTreeMap;

/// Most pending requests: numbers on the wire have 16 bits. Older ones count as lost.
const MOST_PENDING: usize = 1 << 16;

/// A request and its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// The request's number, from 0.
    pub number: u64,
    /// Time of the reply.
    pub at: Instant,
    /// From request to reply.
    pub time: Duration,
}

/// The source's view of its requests.
#[derive(Debug)]
pub struct Requests {
    interval: Duration,
    /// Payload bytes of a request and of a reply.
    pub size: u32,
    /// Requests still to send; `None` means no limit.
    left: Option<u32>,
    next: Instant,
    /// Time from which no request is due.
    stop: Option<Instant>,
    sent: u64,
    answered: u64,
    /// Send times of unanswered requests, by number.
    pending: BTreeMap<u64, Instant>,
    /// Bytes of an incomplete reply.
    partial: u64,
    sum: Duration,
    /// Round-trip time of the latest reply.
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

impl Requests {
    /// Creates the requests of an application that sends some, from `start` on and before `stop`.
    pub fn of(traffic: &Traffic, start: Instant, stop: Option<Instant>) -> Option<Requests> {
        let Traffic::Ping {
            interval,
            size,
            count,
        } = *traffic
        else {
            return None;
        };
        Some(Requests {
            interval,
            size,
            left: count,
            next: start,
            stop,
            sent: 0,
            answered: 0,
            pending: BTreeMap::new(),
            partial: 0,
            sum: Duration::ZERO,
            latest: None,
        })
    }

    /// Returns the number of the request that is due, if one is; it counts as sent.
    pub fn take_due(&mut self, now: Instant) -> Option<u64> {
        if self.deadline()? > now {
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
        let is_before_stop = self.stop.is_none_or(|stop| self.next < stop);
        (is_before_stop && self.left != Some(0)).then_some(self.next)
    }

    /// Takes in the reply to the newest request whose number ends in these `bits`; `None` if no such request is
    /// pending.
    pub fn answer(&mut self, now: Instant, low: u16, bits: u32) -> Option<RoundTrip> {
        let newest = self.sent.checked_sub(1)?;
        let mask = (1_u64 << bits) - 1;
        let behind = newest.wrapping_sub(u64::from(low)) & mask;
        let number = newest.checked_sub(behind)?;
        let sent = self.pending.remove(&number)?;
        let time = now.saturating_since(sent);
        self.latest = Some(time);
        self.sum += time;
        self.answered += 1;
        Some(RoundTrip {
            number,
            at: now,
            time,
        })
    }

    /// Takes in `bytes` of replies from a connection, which arrive in order; returns the replies completed.
    pub fn take_bytes(&mut self, now: Instant, bytes: u64) -> Vec<RoundTrip> {
        let size = u64::from(self.size.max(1));
        self.partial += bytes;
        let complete = self.partial / size;
        self.partial %= size;
        let next = |_| self.answer(now, self.answered as u16, u16::BITS);
        (0..complete).map_while(next).collect()
    }

    /// Returns true while the newest request is unanswered. Older ones may be lost: their missing replies do not prolong
    /// the wait.
    pub fn waits(&self) -> bool {
        self.pending
            .last_key_value()
            .is_some_and(|(&number, _)| number + 1 == self.sent)
    }

    /// Returns true if all requests were sent and answered.
    pub fn is_done(&self) -> bool {
        self.left == Some(0) && self.answered == self.sent
    }

    /// Returns the measurements so far.
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

    fn requests(milliseconds: u64, count: Option<u32>) -> Requests {
        let traffic = Traffic::Ping {
            interval: Duration::from_millis(milliseconds),
            size: 56,
            count,
        };
        Requests::of(&traffic, Instant::ZERO, None).unwrap()
    }

    fn at(milliseconds: u64) -> Instant {
        Instant::from_millis(milliseconds)
    }

    #[test]
    fn a_lost_reply_is_not_waited_for_once_a_later_one_has_come() {
        let mut ping = requests(100, Some(3));
        assert_eq!(ping.take_due(at(0)), Some(0));
        assert_eq!(ping.take_due(at(100)), Some(1));
        assert!(ping.answer(at(130), 1, 16).is_some());
        assert!(
            ping.answer(at(131), 1, 16).is_none(),
            "a second reply to the same"
        );
        assert!(!ping.waits());
        assert_eq!(ping.take_due(at(200)), Some(2));
        assert!(ping.waits() && ping.answer(at(250), 2, 16).is_some());
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
        let mut ping = requests(1, None);
        for number in 0..70_000 {
            assert_eq!(ping.take_due(at(number)), Some(number));
        }
        assert_eq!(ping.pending.len(), MOST_PENDING);
        assert!(ping.answer(at(70_000), 69_990_u64 as u16, 16).is_some());
        assert_eq!(ping.latest, Some(Duration::from_millis(10)));
    }
}
