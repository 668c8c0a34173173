//! Kernels' counters of their connections.

use super::super::World;
use super::flow::KernelCounts;
use crate::observe::{FiveTuple, TcpInfoSample};
use crate::record::Quantity;

impl World {
    /// Takes in a kernel's sample of one of its connections. Series are those of the end that sends the bulk of
    /// the data. A sample of a connection without an observed packet is ignored.
    pub fn note_tcp_info(&mut self, sample: &TcpInfoSample) {
        let tuple = FiveTuple::of_tcp(sample.local, sample.remote);
        let Some(flow) = self.probes.observed.table.find(tuple) else {
            return;
        };
        let main = self.load.flows[flow].main_side();
        let Some(observed) = self.load.flows[flow].observed.as_deref_mut() else {
            return;
        };
        let side = observed.side_of(sample.node.0);
        observed.kernel[side as usize] = Some(KernelCounts {
            retransmitted: sample.retransmitted,
            timeouts: sample.timeouts,
        });
        if main == Some(side) {
            self.record_tcp_info(flow, sample);
        }
    }

    fn record_tcp_info(&mut self, flow: usize, sample: &TcpInfoSample) {
        let subject = self.load.flows[flow].subject();
        let mut put = |quantity, value| {
            self.probes
                .recorder
                .series(sample.at, subject, quantity, value)
        };
        put(
            Quantity::CongestionWindow,
            f64::from(sample.congestion_window),
        );
        if let Some(threshold) = sample.slow_start_threshold {
            put(Quantity::SlowStartThreshold, f64::from(threshold));
        }
        put(Quantity::BytesInFlight, f64::from(sample.bytes_in_flight));
        put(
            Quantity::RetransmissionTimeout,
            sample.retransmission_timeout.as_secs_f64(),
        );
        put(
            Quantity::SmoothedRoundTripTime,
            sample.smoothed_rtt.as_secs_f64(),
        );
    }
}
