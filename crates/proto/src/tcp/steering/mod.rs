//! Effects of remedies on a connection: execution of [`Control`]s, and the state that they leave in either half.

mod receiving;
mod sending;

pub(super) use receiving::AckOrders;
pub(super) use sending::SendOrders;

use super::{Connection, State};
use crate::crosslayer::{Control, TransportView};
use crate::time::Instant;

impl Connection {
    /// Executes a remedy's control.
    pub fn steer(&mut self, now: Instant, control: Control) {
        if matches!(self.state, State::Closed | State::TimeWait) {
            return;
        }
        let (common, sender) = (&mut self.common, &mut self.sender);
        let flow = &mut sender.flow;
        let acknowledgments = &mut self.receiving.orders;
        acknowledgments.begin();
        match control {
            Control::HoldNewData => flow.orders.hold_new_data(),
            Control::Freeze => flow.orders.freeze(now),
            Control::Thaw => sender.thaw(common, now),
            Control::ResendOutstanding => sender.resend_outstanding(common),
            Control::ResendCutOff => sender.resend_cut_off(common),
            Control::ForgiveTimeout => flow.orders.forgive_until(flow.space.next()),
            Control::NewPath { window, threshold } => sender.go_on_from(common, window, threshold),
            Control::LimitFlight(most) => flow.orders.limit_flight(most, flow.space.next()),
            Control::RaiseThreshold(threshold) => {
                let threshold = threshold.max(flow.congestion.slow_start_threshold());
                flow.congestion.set(flow.congestion.window(), threshold);
            }
            Control::ForgetPath => flow.congestion.on_path_change(),
            Control::RestartTiming(sample) => sender.restart_timing(common, now, sample),
            Control::RestartTimer => sender.restart_running_timer(common, now),
            Control::Offer(window) => acknowledgments.offer(window),
            Control::OfferMore {
                window,
                missing_arrives,
            } => acknowledgments.offer_more(window, missing_arrives),
            Control::KeepLastAcknowledgment(keeps) => acknowledgments.keep_last(keeps),
            // During the handshake there is nothing to acknowledge.
            Control::Acknowledge(_)
                if matches!(self.state, State::SynSent | State::SynReceived) => {}
            Control::Acknowledge(copies) => acknowledgments.acknowledge(copies),
            Control::Notice { number, times } => acknowledgments.notify(number, times),
            Control::TolerateReordering(tolerates) => sender.tolerate_reordering(tolerates),
        }
    }

    /// Returns the facts visible to a remedy.
    pub fn view(&self) -> TransportView {
        let flow = &self.sender.flow;
        TransportView {
            congestion_window: flow.congestion.window(),
            slow_start_threshold: flow.congestion.slow_start_threshold(),
            bytes_in_flight: flow.in_flight(),
            segment_size: flow.space.segment_size(),
            smoothed_rtt: flow.rtt.smoothed(),
            timed_out: flow.orders.has_timed_out(),
        }
    }
}
