//! A source of requests that are answered at once, for their round-trip times.

use super::outcome::RoundTrip;
use baton_proto::time::{Duration, Instant};
use baton_sim::scenario::model::{Flow, Traffic};
use std::collections::BTreeMap;

/// Most requests that are waited for: numbers on the wire have 16 bits. Older ones count as lost.
const MOST_PENDING: usize = 1 << 16;

/// The source's view of its requests.
#[derive(Debug)]
pub(super) struct Requests {
    interval: Duration,
    /// Payload bytes of a request and of an answer.
    pub size: u32,
    /// Requests still to be sent; `None` is without end.
    left: Option<u32>,
    next: Instant,
    /// No request is due at or after this.
    stop: Option<Instant>,
    sent: u64,
    answered: u64,
    /// Sending times of the requests that are not answered yet.
    pending: BTreeMap<u64, Instant>,
}

impl Requests {
    /// The requests of a flow, if that is what it sends.
    pub fn of(flow: &Flow) -> Option<Requests> {
        let Traffic::Ping {
            interval,
            size,
            count,
        } = flow.traffic
        else {
            return None;
        };
        Some(Requests {
            interval,
            size,
            left: count,
            next: flow.start,
            stop: flow.stop,
            sent: 0,
            answered: 0,
            pending: BTreeMap::new(),
        })
    }

    /// The number of the request that is due, if one is; it counts as sent at `now`.
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

    /// Returns the time at which the next request is due, if there is one.
    pub fn deadline(&self) -> Option<Instant> {
        let is_before_stop = self.stop.is_none_or(|stop| self.next < stop);
        (is_before_stop && self.left != Some(0)).then_some(self.next)
    }

    /// The answer has come to the youngest request whose number ends in these `bits`; nothing if it was not
    /// waited for.
    pub fn answer(&mut self, now: Instant, low: u16, bits: u32) -> Option<RoundTrip> {
        let newest = self.sent.checked_sub(1)?;
        let mask = (1u64 << bits) - 1;
        let behind = newest.wrapping_sub(u64::from(low)) & mask;
        let number = newest.checked_sub(behind)?;
        let sent = self.pending.remove(&number)?;
        self.answered += 1;
        Some(RoundTrip {
            number,
            at: now,
            time: now.saturating_since(sent),
        })
    }

    /// The next answer of a stream, in which they come in order.
    pub fn answer_next(&mut self, now: Instant) -> Option<RoundTrip> {
        self.answer(now, self.answered as u16, u16::BITS)
    }

    /// Returns true if all requests were sent and answered.
    pub fn is_done(&self) -> bool {
        self.left == Some(0) && self.answered == self.sent
    }
}
