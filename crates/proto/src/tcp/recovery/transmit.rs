//! Choice of the next segments by the RFCs, in bytes of the congestion window.

use super::super::output::Stretch;
use super::super::timer::Timer;
use super::{Common, Flow, Phase, Recovery, RecoveryState, effective_recovery, is_linux_2_0};
use crate::time::Instant;

impl RecoveryState {
    /// Returns the next data: lost data, then new data, then RFC 6675's extra data.
    pub(in crate::tcp) fn next_data(
        &mut self,
        flow: &mut Flow,
        common: &mut Common,
        now: Instant,
    ) -> Option<Stretch> {
        let window = u64::from(self.window(flow));
        let space = &mut flow.space;
        if let Some(index) = space.sent.next_lost() {
            let length = space.retransmission_length(index)?;
            let pipe = space.sent.pipe();
            let fits = match is_linux_2_0(common) {
                true => self.repaired < flow.window_segments(),
                false => pipe + u64::from(length) <= window || pipe == 0,
            };
            if !fits && !self.forced && !self.repairs_by_snack(common) {
                return None;
            }
            return self.retransmit(flow, common, now, index, length);
        }
        self.forced = false;
        if !flow.space.has_unsent() {
            return self.sack_extra(flow, common, now, window);
        }
        self.new_data(flow, common, now, window)
    }

    /// Returns the congestion window in bytes, including its inflation by duplicate ACKs.
    fn window(&self, flow: &Flow) -> u32 {
        flow.congestion.window().saturating_add(self.inflation)
    }

    fn retransmit(
        &mut self,
        flow: &mut Flow,
        common: &mut Common,
        now: Instant,
        index: usize,
        length: u32,
    ) -> Option<Stretch> {
        let start = flow.space.sent.get(index)?.start;
        self.forced = false;
        self.repaired += 1;
        flow.space.sent.resend(index, length, now);
        arm_timer(flow, common, now);
        Some(Stretch {
            start,
            length,
            again: true,
            pushed: flow.space.ends_writing(start, length),
        })
    }

    /// Returns data by RFC 6675 "NextSeg" rules 3 and 4, if no loss is certain and no new data can be sent.
    fn sack_extra(
        &mut self,
        flow: &mut Flow,
        common: &mut Common,
        now: Instant,
        window: u64,
    ) -> Option<Stretch> {
        if self.phase != Phase::Fast || effective_recovery(common) != Recovery::Sack {
            return None;
        }
        let sent = &flow.space.sent;
        if sent.pipe() + u64::from(flow.space.segment_size()) > window {
            return None;
        }
        let index = match sent.next_hole() {
            Some(index) => index,
            None if !self.rescue_sent => {
                self.rescue_sent = true;
                sent.last_missing()?
            }
            None => return None,
        };
        if sent.get(index).is_some_and(|segment| segment.resent) {
            return None;
        }
        let length = flow.space.retransmission_length(index)?;
        self.retransmit(flow, common, now, index, length)
    }

    /// Returns new data within both windows.
    fn new_data(
        &mut self,
        flow: &mut Flow,
        common: &mut Common,
        now: Instant,
        window: u64,
    ) -> Option<Stretch> {
        let repairing = self.phase == Phase::AfterTimeout;
        if is_linux_2_0(common) && repairing || flow.orders.holds_new_data() {
            return None;
        }
        let idle = flow.space.in_flight() == 0;
        let window = if idle {
            restart_after_idle(flow, common, now);
            u64::from(self.window(flow))
        } else {
            window
        };
        let new = flow.space.next_new();
        let probing = flow.patience.take_probe() && idle;
        let nagle = common.profile.nagle;
        if !probing && !flow.space.is_worth_sending(&new, idle, nagle) {
            if idle && !common.timers.is_set(Timer::Persist) {
                let after = flow.rtt.timeout(flow.patience.persist_backoff());
                common.timers.set_after(Timer::Persist, now, after);
            }
            return None;
        }
        if !(idle || self.fits(flow, common, new.length, window)) {
            return None;
        }
        let length = if probing && new.length == 0 && !new.fin {
            common.statistics.window_probes += 1;
            1
        } else {
            new.in_sequence()
        };
        Some(self.send_new(flow, common, now, length, now))
    }

    /// Returns true if so many more bytes fit the congestion window, and a remedy's limit.
    fn fits(&self, flow: &Flow, common: &Common, length: u64, window: u64) -> bool {
        let in_the_network = self.in_the_network(flow, common);
        let unacknowledged = flow.space.unacknowledged();
        in_the_network + length <= window
            && flow
                .orders
                .fits_flight(length, unacknowledged, || in_the_network)
    }

    /// Returns the data that counts against the congestion window before new data is sent.
    fn in_the_network(&self, flow: &Flow, common: &Common) -> u64 {
        let flight = flow.space.in_flight();
        if self.phase != Phase::Open {
            return flow.space.sent.pipe();
        }
        // Limited transmit (RFC 3042): each of the first two duplicate ACKs lets out a new segment. With SACK, "pipe"
        // excludes the data that has left the network (RFC 6675 section 5 step 3).
        if !common.profile.limited_transmit {
            flight
        } else if common.negotiated.sack {
            flow.space.sent.pipe()
        } else {
            let extra = self.duplicate_acks.min(2) * flow.space.segment_size();
            flight.saturating_sub(u64::from(extra))
        }
    }

    /// Sends new data now, or notes data sent at `sent_at`.
    pub(in crate::tcp) fn send_new(
        &mut self,
        flow: &mut Flow,
        common: &mut Common,
        now: Instant,
        length: u32,
        sent_at: Instant,
    ) -> Stretch {
        let (start, pushed) = flow.space.push(now, length, sent_at);
        common.timers.stop(Timer::Persist);
        if is_linux_2_0(common) && !flow.space.first_is_probe() {
            self.restart_timer(flow, common, now);
        } else {
            arm_timer(flow, common, now);
        }
        Stretch {
            start,
            length,
            again: false,
            pushed,
        }
    }
}

/// Restarts from the initial window after idleness (RFC 5681 section 4.1).
fn restart_after_idle(flow: &mut Flow, common: &Common, now: Instant) {
    let last = flow.space.last_sent_at();
    let Some(gap) = last.map(|sent| now.saturating_since(sent)) else {
        return;
    };
    let idle = gap > flow.rtt.rto();
    flow.congestion.on_transmission_start(now, gap);
    if common.profile.idle_restart && idle {
        let segments = common.profile.initial_window.max(1);
        let initial = segments.saturating_mul(flow.space.segment_size());
        let window = flow.congestion.window();
        flow.congestion.on_idle_restart(initial.min(window));
        flow.space.forget_last_sent();
    }
}

fn arm_timer(flow: &Flow, common: &mut Common, now: Instant) {
    if common.timers.is_set(Timer::Retransmission) {
        return;
    }
    let after = if flow.space.first_is_probe() {
        flow.rtt.timeout(flow.patience.persist_backoff())
    } else {
        flow.rtt.rto()
    };
    common.timers.set_after(Timer::Retransmission, now, after);
}
