//! Facts about a connection, for an application, a trace or a gateway.

use super::linux::LinuxState;
use super::options::Negotiated;
use super::sent::SegmentCounts;
use super::{Connection, Endpoint, RecoveryPhase, State, Statistics};
use crate::time::Duration;

impl Connection {
    /// Returns the state.
    pub fn state(&self) -> State {
        self.state
    }

    /// Returns this end.
    pub fn local(&self) -> Endpoint {
        self.ends.local()
    }

    /// Returns the other end.
    pub fn remote(&self) -> Endpoint {
        self.ends.remote()
    }

    /// Returns the number of bytes that can be read.
    pub fn readable(&self) -> u64 {
        self.receiving.data.readable_bytes()
    }

    /// Returns the congestion window in bytes, including its inflation by duplicate ACKs during fast recovery.
    pub fn congestion_window(&self) -> u32 {
        self.sender.congestion_window()
    }

    /// Returns the slow-start threshold in bytes; `u32::MAX` while it is "arbitrarily high".
    pub fn slow_start_threshold(&self) -> u32 {
        self.sender.flow.congestion.slow_start_threshold()
    }

    /// Returns the sequence space sent and not yet acknowledged, in bytes: "FlightSize" (RFC 5681).
    pub fn bytes_in_flight(&self) -> u32 {
        self.sender.flow.in_flight()
    }

    /// Returns the number of bytes that the peer has acknowledged.
    pub fn bytes_acknowledged(&self) -> u64 {
        self.sender.flow.space.bytes_acknowledged()
    }

    /// Returns the peer's window, in bytes.
    pub fn peer_window(&self) -> u64 {
        self.sender.flow.space.window()
    }

    /// Returns the open part of this end's receive window, in bytes: "RCV.WND".
    pub fn receive_window(&self) -> u64 {
        self.receiving.data.window()
    }

    /// Returns the options negotiated by the SYNs; `None` before the peer's SYN.
    pub fn negotiated(&self) -> Option<&Negotiated> {
        let acknowledged = self.sender.flow.space.unacknowledged() > 0;
        let heard = acknowledged || self.state == State::SynReceived;
        heard.then_some(&self.common.negotiated)
    }

    /// Returns the phase of loss recovery.
    pub fn recovery_phase(&self) -> RecoveryPhase {
        self.sender.recovery_phase(&self.common)
    }

    /// Counts the segments in flight that are SACKed, lost or retransmitted. Linux without SACK counts a duplicate ACK
    /// as a SACKed segment.
    pub fn segment_counts(&self) -> SegmentCounts {
        self.sender.segment_counts()
    }

    /// Returns the largest payload of a segment now, in bytes.
    pub fn segment_size(&self) -> u32 {
        self.sender.flow.space.segment_size()
    }

    /// Returns the smoothed round-trip time (RFC 6298); `None` before the first sample.
    pub fn smoothed_rtt(&self) -> Option<Duration> {
        self.sender.flow.rtt.smoothed()
    }

    /// Returns the variation of the round-trip time, "RTTVAR" (RFC 6298); `None` before the first sample.
    pub fn rtt_variation(&self) -> Option<Duration> {
        let rtt = &self.sender.flow.rtt;
        rtt.smoothed().map(|_| rtt.variation())
    }

    /// Returns the last RTT sample.
    pub fn last_rtt_sample(&self) -> Option<Duration> {
        self.sender.flow.rtt.latest()
    }

    /// Returns the present retransmission timeout, backoff included.
    pub fn retransmission_timeout(&self) -> Duration {
        self.sender.flow.rtt.rto()
    }

    /// Returns the counters.
    pub fn statistics(&self) -> &Statistics {
        &self.common.statistics
    }

    /// Returns the memory of this connection in bytes, with its buffers' slack, without real payload.
    pub fn memory(&self) -> usize {
        size_of::<Connection>()
            + size_of::<LinuxState>()
            + self.sender.flow.space.sent.memory()
            + self.receiving.data.memory()
    }

    /// Returns the number of bytes that this connection holds: written and not acknowledged, and received and not read,
    /// also those beyond gaps.
    pub fn held(&self) -> u64 {
        self.sender.flow.space.buffer.held() + self.receiving.data.held()
    }
}
