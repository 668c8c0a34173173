//! Orders of remedies for the sending half.

use super::super::Common;
use super::super::rtt::RttEstimator;
use super::super::sender::Sender;
use super::super::timer::Timer;
use crate::time::{Duration, Instant};

/// Orders in force, if a remedy steers the connection.
#[derive(Debug, Default)]
pub(in crate::tcp) struct SendOrders(Option<Box<Orders>>);

#[derive(Debug, Default)]
struct Orders {
    holds_new_data: bool,
    frozen_since: Option<Instant>,
    /// True if the timer has expired while frozen.
    timed_out: bool,
    /// Time of the thaw, or of the first sample on a new path: data sent before it gives no RTT sample.
    timed_since: Option<Instant>,
    /// First byte in flight when the timer was last postponed.
    put_off_for: Option<u64>,
    flight: Option<Flight>,
    /// Position before whose ACK a timeout leaves the threshold at the window.
    forgives_until: u64,
    /// Position before whose ACK gaps are not losses.
    tolerates_until: u64,
}

/// Limit of the bytes in the network, without those before a position.
#[derive(Clone, Copy, Debug)]
struct Flight {
    most: u32,
    beside: u64,
}

impl SendOrders {
    fn orders(&mut self) -> &mut Orders {
        self.0.get_or_insert_default()
    }

    pub(super) fn hold_new_data(&mut self) {
        self.orders().holds_new_data = true;
    }

    pub(super) fn freeze(&mut self, now: Instant) {
        self.orders().frozen_since.get_or_insert(now);
    }

    fn thaw(&mut self, now: Instant) {
        let orders = self.orders();
        if orders.frozen_since.take().is_some() {
            orders.timed_since = Some(now);
        }
        (orders.holds_new_data, orders.timed_out) = (false, false);
    }

    /// Leaves the threshold at the window in a timeout before `position` is acknowledged.
    pub(super) fn forgive_until(&mut self, position: u64) {
        self.orders().forgives_until = position;
    }

    /// Takes gaps for reordering before `position` is acknowledged.
    pub(super) fn tolerate_until(&mut self, position: u64) {
        self.orders().tolerates_until = position;
    }

    /// Limits the bytes in the network, without data sent before `beside`.
    pub(super) fn limit_flight(&mut self, most: u32, beside: u64) {
        self.orders().flight = Some(Flight { most, beside });
    }

    /// Takes data sent before the limit for lost: it is limited, too.
    fn forget_beside(&mut self) {
        if let Some(flight) = self.0.as_mut().and_then(|orders| orders.flight.as_mut()) {
            flight.beside = 0;
        }
    }

    /// Excludes data sent before `now` from RTT samples.
    pub(in crate::tcp) fn time_from(&mut self, now: Instant) {
        self.orders().timed_since = Some(now);
    }

    /// Returns the time since which RTT samples are taken; `None` if always.
    pub(in crate::tcp) fn timed_since(&self) -> Option<Instant> {
        self.0.as_ref()?.timed_since
    }

    fn frozen_since(&self) -> Option<Instant> {
        self.0.as_ref()?.frozen_since
    }

    /// Returns true if neither data nor timeouts count now.
    pub(in crate::tcp) fn is_frozen(&self) -> bool {
        self.frozen_since().is_some()
    }

    /// Returns true if the timer has expired while frozen.
    pub(super) fn has_timed_out(&self) -> bool {
        self.0.as_ref().is_some_and(|orders| orders.timed_out)
    }

    /// Returns true if no new data may be sent.
    pub(in crate::tcp) fn holds_new_data(&self) -> bool {
        let orders = self.0.as_ref();
        orders.is_some_and(|orders| orders.frozen_since.is_some() || orders.holds_new_data)
    }

    /// Returns true if a remedy allows so many more bytes in the network, beside those in `in_the_network`.
    pub(in crate::tcp) fn fits_flight(
        &self,
        length: u64,
        unacknowledged: u64,
        in_the_network: impl FnOnce() -> u64,
    ) -> bool {
        let Some(flight) = self.0.as_ref().and_then(|orders| orders.flight) else {
            return true;
        };
        let elsewhere = flight.beside.saturating_sub(unacknowledged);
        in_the_network() + length <= u64::from(flight.most) + elsewhere
    }

    /// Takes in an expiry of the timer. Returns true if it must be ignored; otherwise gaps are losses again.
    pub(in crate::tcp) fn ignores_timeout(&mut self) -> bool {
        let Some(orders) = &mut self.0 else {
            return false;
        };
        if orders.frozen_since.is_some() {
            orders.timed_out = true;
            return true;
        }
        orders.tolerates_until = 0;
        false
    }

    /// Returns true if the present timeout leaves the threshold at the window.
    pub(in crate::tcp) fn forgives_timeout(&mut self, unacknowledged: u64) -> bool {
        let orders = self.0.as_mut();
        orders.is_some_and(|orders| core::mem::take(&mut orders.forgives_until) > unacknowledged)
    }

    /// Returns true if gaps are taken for reordering.
    pub(in crate::tcp) fn tolerates_reordering(&self, unacknowledged: u64) -> bool {
        let orders = self.0.as_ref();
        orders.is_some_and(|orders| orders.tolerates_until > unacknowledged)
    }

    /// Postpones the timer for the data at `position`. Returns true if it was already postponed for that.
    fn put_off_again(&mut self, position: u64) -> bool {
        self.orders().put_off_for.replace(position) == Some(position)
    }
}

/// Orders executed at once.
impl Sender {
    pub(super) fn thaw(&mut self, common: &mut Common, now: Instant) {
        self.linux.ask_for_idle_check();
        self.flow.orders.thaw(now);
        self.ensure_timer(common, now);
    }

    /// Retransmits the data in flight as after a timeout, but keeps the window.
    pub(in crate::tcp) fn resend_outstanding(&mut self, common: &Common) {
        self.lose_outstanding(common);
        if common.recovers_as_linux() && !self.flow.space.sent.is_empty() {
            self.linux.force_first();
        }
    }

    fn lose_outstanding(&mut self, common: &Common) {
        let flow = &mut self.flow;
        if flow.space.sent.is_empty() {
            return;
        }
        flow.orders.forget_beside();
        flow.space.sent.mark_all_lost();
        if common.recovers_as_linux() {
            self.linux.repair_without_reduction(flow);
        } else {
            self.recovery.repair_all(flow);
        }
    }

    /// Retransmits the data in flight after a break of the path. Data sent early enough had arrived before the break: by
    /// a round-trip time, less the way back of an ACK, which had no queue.
    pub(super) fn resend_cut_off(&mut self, common: &Common) {
        let broken_at = self.flow.orders.frozen_since();
        self.lose_outstanding(common);
        let rtt = &self.flow.rtt;
        if let (Some(at), Some(round_trip)) = (broken_at, rtt.smoothed()) {
            let way_back = rtt.minimum().unwrap_or(round_trip).half();
            let at_most = round_trip + rtt.variation().saturating_mul(4);
            let way_there = at_most.saturating_sub(way_back);
            let arrived = |sent_at: Instant| sent_at + way_there <= at;
            self.flow.space.sent.doubt_loss(arrived);
        }
    }

    /// Continues over another path, with this window and threshold in bytes.
    pub(super) fn go_on_from(&mut self, common: &Common, window: u32, threshold: u32) {
        let size = self.flow.space.segment_size();
        let threshold = threshold.max(size.saturating_mul(2));
        self.flow.congestion.on_path_change();
        self.flow.congestion.set(window.max(size), threshold);
        self.recovery.deflate();
        if common.recovers_as_linux() {
            self.linux.forget_reduction(&self.flow);
        }
    }

    /// Takes gaps for reordering until all data now in flight is acknowledged; ends this if `tolerates` is false.
    pub(super) fn tolerate_reordering(&mut self, tolerates: bool) {
        let until = if tolerates { self.flow.space.next() } else { 0 };
        self.flow.orders.tolerate_until(until);
        if !tolerates {
            self.recovery.end_tolerance();
        }
    }

    /// Restarts RTT measurement, beginning with `sample`.
    pub(super) fn restart_timing(
        &mut self,
        common: &mut Common,
        now: Instant,
        sample: Option<Duration>,
    ) {
        let flow = &mut self.flow;
        flow.rtt = RttEstimator::new(&common.profile);
        if common.recovers_as_linux() {
            self.linux.forget_shortest();
        }
        // Segments over the old path give no RTT sample for the new one.
        flow.orders.time_from(now);
        flow.patience.forgive();
        if let Some(sample) = sample {
            if common.recovers_as_linux() {
                let (oldest, next) = (flow.space.unacknowledged(), flow.space.next());
                flow.rtt.sample_as_linux(sample, oldest, next);
            } else {
                let segments = flow.window_segments();
                flow.rtt.sample(sample, segments);
            }
        }
        self.put_off_timer(common, now);
    }

    /// Restarts the timer, but only once for the same data: with handovers closer together than a timeout it would
    /// never expire.
    fn put_off_timer(&mut self, common: &mut Common, now: Instant) {
        let Some(running) = common.timers.deadline(Timer::Retransmission) else {
            return;
        };
        let is_timeout = !common.recovers_as_linux() || self.linux.waits_for_timeout();
        self.restart_timer(common, now);
        let oldest = self.flow.space.unacknowledged();
        let again = self.flow.orders.put_off_again(oldest);
        if is_timeout
            && again
            && let Some(restarted) = common.timers.deadline(Timer::Retransmission)
        {
            let earlier = running.min(restarted);
            common.timers.set(Timer::Retransmission, earlier);
        }
    }

    pub(super) fn restart_running_timer(&mut self, common: &mut Common, now: Instant) {
        if common.timers.is_set(Timer::Retransmission) {
            if common.recovers_as_linux() {
                self.linux.forgo_probe();
            }
            self.restart_timer(common, now);
        }
    }
}
