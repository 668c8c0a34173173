//! Arriving data, and the ACKs for it.

use super::acks::AckSurroundings;
use super::receiver::Arrival;
use super::{Receiving, Tuning};
use crate::packet::Payload;
use crate::tcp::flow::Flow;
use crate::tcp::{Common, Event, State, Timer};
use crate::time::{Duration, Instant};
use crate::wire::tcp::{TcpFlags, TcpHeader};

impl Receiving {
    /// Returns true if a segment is acceptable (RFC 9293 section 3.10.7.4, first step). The section's exceptions at the
    /// edges are included: an ACK at the end of the window, after its sender has filled it, and one with data for a
    /// closed window. The data is trimmed later.
    pub(in crate::tcp) fn is_acceptable(&self, start: i64, length: u32) -> bool {
        let next = self.data.next() as i64;
        let end = next + self.data.window() as i64;
        let last = start + i64::from(length) - 1;
        if length == 0 {
            (next..=end).contains(&start)
        } else if next == end {
            start == next
        } else {
            start < end && last >= next
        }
    }

    /// Returns true if a segment without new data ends at or after the last ACK.
    pub(in crate::tcp) fn ends_lately(&self, start: i64, length: u32) -> bool {
        let end = start + i64::from(length);
        (self.acks.last_sent() as i64..=self.data.next() as i64).contains(&end)
    }

    /// Acknowledges at once a segment without new data.
    pub(in crate::tcp) fn answer_duplicate(
        &mut self,
        common: &mut Common,
        flow: &Flow,
        start: i64,
        length: u32,
    ) {
        common.statistics.duplicates_received += 1;
        self.acks.demand();
        let end = start + i64::from(length);
        self.note_duplicate(common, flow, start, end.min(self.data.next() as i64));
    }

    /// Notes that all or part of a segment, from `start` to `end`, is a duplicate.
    pub(in crate::tcp) fn note_duplicate(
        &mut self,
        common: &Common,
        flow: &Flow,
        start: i64,
        end: i64,
    ) {
        let position = |number: i64| u64::try_from(number).unwrap_or(0);
        self.report_duplicate(common, position(start), position(end));
        if let Some(least) = common.quick_acks() {
            let around = self.surroundings(flow);
            self.acks.hurry(least, &around);
        }
    }

    /// Reports a duplicate with the next ACK.
    fn report_duplicate(&mut self, common: &Common, start: u64, end: u64) {
        if common.profile.duplicate_sack && common.negotiated.sack {
            self.acks.report_duplicate(start, end);
        }
    }

    fn surroundings(&self, flow: &Flow) -> AckSurroundings {
        AckSurroundings {
            window: self.data.window(),
            segment_size: self.segment_size(flow.space.segment_size()),
            rto: flow.rtt.rto(),
        }
    }

    /// Notes a FIN that ends a segment of `length` bytes.
    pub(in crate::tcp) fn note_fin(&mut self, start: i64, length: u32) {
        let fin = u64::try_from(start + i64::from(length)).unwrap_or(0);
        if fin >= self.data.next() {
            self.fin.get_or_insert(fin);
        }
    }

    /// Returns true if all data before the peer's FIN has arrived.
    pub(in crate::tcp) fn reaches_fin(&self) -> bool {
        self.fin == Some(self.data.next())
    }

    /// Prepares for arrived data.
    pub(in crate::tcp) fn before_data(
        &mut self,
        common: &Common,
        now: Instant,
        header: &TcpHeader,
        length: u32,
    ) {
        self.largest = self.largest.max(length);
        let Tuning::Linux(tuning) = &mut self.tuning else {
            return;
        };
        let echo = header.options.timestamps.map(|stamps| stamps.echo);
        let rtt = echo
            .filter(|_| common.negotiated.timestamps)
            .and_then(|echo| Some((echo, common.clock.since(now, echo)?)));
        let nothing_unread = self.data.readable_bytes() == 0;
        tuning.on_arrival(now, rtt, length >= self.largest, nothing_unread);
    }

    /// Takes data in (RFC 9293 section 3.10.7.4, seventh step).
    pub(in crate::tcp) fn take_data(
        &mut self,
        common: &mut Common,
        flow: &Flow,
        now: Instant,
        header: &TcpHeader,
        start: i64,
        payload: Payload,
    ) {
        let length = payload.length();
        let before = self.data.next();
        let end = start + i64::from(length);
        let overlap = self.data.overlap(start, end);
        let arrival = self.data.accept(start, payload);
        if start < before as i64 {
            self.note_duplicate(common, flow, start, end.min(before as i64));
        } else if arrival == Arrival::Nothing {
            let (from, to) = overlap.unwrap_or_default();
            self.note_duplicate(common, flow, from as i64, to as i64);
        } else if let Some((from, to)) = overlap {
            self.report_duplicate(common, from, to);
        }
        if let Some(least) = common.quick_acks() {
            let around = self.surroundings(flow);
            self.acks.on_data(now, least, &around);
            if length < self.largest || header.flags.contains(TcpFlags::PSH) {
                self.acks.push();
            }
        }
        let delay = self.delay(common, flow, now, header.flags.contains(TcpFlags::PSH));
        self.tune(common, flow, now, length, arrival);
        self.acknowledge_arrival(common, flow, now, arrival, (before, delay));
        // Data that did not fit is dropped: the sender should learn of it soon.
        if self.data.window() == 0 && self.data.next() as i64 != end {
            self.acks.demand();
        }
    }

    /// Lets the window grow with the data taken in. While Linux's limit rises, segments are acknowledged at once.
    fn tune(&mut self, common: &Common, flow: &Flow, now: Instant, length: u32, arrival: Arrival) {
        let full = self.segment_size(flow.space.segment_size());
        match &mut self.tuning {
            Tuning::Off => {}
            Tuning::Linux(tuning) => {
                let sack = common.negotiated.sack;
                if tuning.on_taken(&mut self.data, sack, (length, full), arrival) {
                    self.acks.hurry_one();
                }
            }
            Tuning::RightSizing(tuning) => tuning.on_taken(&mut self.data, now, arrival),
        }
    }

    /// Returns the delay of the ACK for data that has arrived; `None` acknowledges at once.
    fn delay(
        &mut self,
        common: &Common,
        flow: &Flow,
        now: Instant,
        pushed: bool,
    ) -> Option<Duration> {
        let longest = common.profile.delayed_ack?;
        if !common.profile.delay_by_gaps {
            return Some(longest);
        }
        let times = (common.profile.tick, flow.rtt.rto());
        Some(self.acks.on_gap(now, times, longest, pushed))
    }

    /// Acknowledges a segment: at once if it is out of order or closes a gap, otherwise at every second full segment or
    /// when the timer expires (RFC 5681 section 4.2).
    fn acknowledge_arrival(
        &mut self,
        common: &mut Common,
        flow: &Flow,
        now: Instant,
        arrival: Arrival,
        (before, delay): (u64, Option<Duration>),
    ) {
        match arrival {
            Arrival::Nothing => {
                common.statistics.duplicates_received += 1;
                self.acks.demand();
            }
            Arrival::Ahead => {
                common.statistics.out_of_order_received += 1;
                if !self.is_held() {
                    self.acknowledge_gap(common, flow, now);
                }
            }
            Arrival::Scattered => {
                common.statistics.scattered_dropped += 1;
                self.acks.demand();
            }
            Arrival::InOrder { filled } => {
                common.events.report(Event::Readable);
                self.acks.add_pending(self.data.next() - before);
                if self.is_held() {
                    return;
                }
                if common.profile.quick_acks {
                    self.acks.on_progress();
                    return self.acknowledge_in_order(common, flow, now, filled);
                }
                // Linux 2.0 acknowledges no earlier what fills a gap.
                let filled = filled && !common.profile.delay_by_gaps;
                match delay {
                    Some(delay) if !filled && self.acks.pending_bytes() < self.enough(common) => {
                        let due = common.timers.deadline(Timer::DelayedAck);
                        if due.is_none_or(|due| due > now + delay) {
                            common.timers.set_after(Timer::DelayedAck, now, delay);
                        }
                    }
                    _ => self.acks.demand(),
                }
            }
        }
    }

    /// Returns the number of bytes in order that are acknowledged at once: two full segments. Linux 2.0 (`max_unacked`):
    /// 2048 at the end that opened the connection, any number at the other one.
    fn enough(&self, common: &Common) -> u64 {
        match (common.profile.delay_by_gaps, self.accepted) {
            (false, _) => 2 * u64::from(self.largest),
            (true, false) => 2_048,
            (true, true) => u64::MAX,
        }
    }

    /// Acknowledges data in order by Linux's rules: at once if more than a full segment is pending, or ACKs are quick.
    fn acknowledge_in_order(
        &mut self,
        common: &mut Common,
        flow: &Flow,
        now: Instant,
        filled: bool,
    ) {
        let more_than_one = self.acks.pending_bytes() > u64::from(self.largest);
        let Some(least) = common
            .quick_acks()
            .filter(|_| !filled && !more_than_one && !self.acks.is_quick())
        else {
            return self.acks.demand();
        };
        let delay = self.acks.delay(least, flow.rtt.smoothed());
        let due = common.timers.deadline(Timer::DelayedAck);
        if due.is_none_or(|due| due > now + delay) {
            common.timers.set_after(Timer::DelayedAck, now, delay);
        }
    }

    /// Acknowledges data beyond a gap: at once (RFC 5681 section 4.2), but Linux compresses these ACKs after the third.
    fn acknowledge_gap(&mut self, common: &mut Common, flow: &Flow, now: Instant) {
        let longest = common.profile.sack_compression;
        let longest = longest.filter(|_| common.negotiated.sack);
        match self.acks.compression(longest, flow.rtt.smoothed()) {
            // A separate, exact timer.
            Some(delay) if !self.acks.is_due() => {
                let due = common.timers.deadline(Timer::DelayedAck);
                let at = due.map_or(now + delay, |due| due.min(now + delay));
                common.timers.set(Timer::DelayedAck, at);
            }
            _ => self.acks.demand(),
        }
    }

    /// Takes in the peer's FIN, and acknowledges it at once. In Linux, an end that may still send waits briefly for
    /// data to carry the ACK, unless more than a full segment is unacknowledged.
    pub(in crate::tcp) fn take_fin(
        &mut self,
        common: &mut Common,
        flow: &Flow,
        now: Instant,
        state: State,
    ) {
        self.data.take_fin();
        let owed = self.data.next() - self.acks.last_sent();
        let may_wait = owed <= u64::from(self.largest) && !self.acks.is_due();
        match common.quick_acks() {
            Some(least) if state == State::Established && may_wait => {
                self.acks.become_interactive();
                let delay = self.acks.delay(least, flow.rtt.smoothed());
                if !common.timers.is_set(Timer::DelayedAck) {
                    common.timers.set_after(Timer::DelayedAck, now, delay);
                }
            }
            _ => self.acks.demand(),
        }
    }

    /// Takes in the end of an ACK's delay.
    pub(in crate::tcp) fn on_delay_over(&mut self, common: &Common, flow: &Flow) {
        self.acks.demand();
        if let Some(least) = common.quick_acks()
            && self.acks.pending_bytes() > 0
        {
            self.acks.on_delay_over(least, flow.rtt.rto());
        }
    }

    /// Takes in a read by the application; `open` if the peer may still send.
    pub(in crate::tcp) fn after_reading(&mut self, common: &Common, flow: &Flow, open: bool) {
        if let Tuning::Linux(tuning) = &mut self.tuning {
            tuning.after_reading(&mut self.data);
        }
        let segment_size = self.segment_size(flow.space.segment_size());
        let updates = match common.profile.delay_by_gaps {
            true => self.data.would_double(segment_size),
            false => self.data.wants_update(segment_size),
        };
        let answers = common.quick_acks().is_some()
            && self.acks.pending_bytes() > 0
            && self.data.readable_bytes() == 0
            && self.acks.wants_ack_after_reading();
        if (open && updates) || answers {
            self.acks.demand();
        }
    }
}
