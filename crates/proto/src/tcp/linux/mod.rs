//! Loss recovery of a present Linux (6.18), for profiles with [`Recovery::Linux`].
//!
//! Linux counts segments, not bytes, and fits the RFCs' mechanisms into one state machine ([`Phase`]), one file each:
//! loss detection by time (`rack.rs`, RFC 8985), tail loss probes (`probe.rs`, RFC 8985 section 7), proportional rate
//! reduction (`reduction.rs`, RFC 6937), detection of spurious timeouts (`timeout.rs`, RFC 5682), and undoing of
//! spurious reductions (`undo.rs`, RFC 3522 and 3708). The effects of an ACK are in `acknowledge.rs`, in the order of
//! the kernel; the choice of the next segment in `transmit.rs`. Facts are from `net/ipv4/tcp_input.c`, `tcp_output.c`,
//! `tcp_recovery.c` and `tcp_timer.c`.
//!
//! [`Recovery::Linux`]: super::profile::Recovery::Linux

mod acknowledge;
mod alert;
mod bursts;
mod order;
mod persist;
mod probe;
mod rack;
mod rate;
mod reduction;
mod round_trip;
pub(super) mod send_buffer;
mod timeout;
mod timer;
mod transmit;
mod undo;
mod usage;

pub(super) use acknowledge::AckNews;
pub(super) use persist::owes_window_probe;

use super::flow::Flow;
use super::highest::Highest;
use super::{Common, Event};
use crate::time::{Duration, Instant};
use RecoveryPhase as Phase;
use bursts::Piece;
use order::ArrivalOrder;
use probe::Probe;
use rack::Rack;
use rate::DeliveryRate;
use reduction::Reduction;
use timer::{Pending, RepairTimer};
use undo::Undo;
use usage::WindowUsage;

/// Phase of loss recovery; Linux's `tcp_ca_state`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecoveryPhase {
    /// No dubious ACK.
    #[default]
    Open,
    /// SACKs, duplicate ACKs or a retransmission in flight, but no certain loss.
    Disorder,
    /// Reduced window, without a loss to repair.
    Reduced,
    /// Fast recovery.
    Recovery,
    /// Recovery after a timeout.
    Loss,
}

impl RecoveryPhase {
    /// Returns true if the window is being reduced to a lower threshold.
    fn is_reducing(self) -> bool {
        matches!(self, Phase::Reduced | Phase::Recovery)
    }
}

/// Segments that an ACK lets out beside those allowed by the window: `REXMIT_NONE`, `_NEW` and `_LOST`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Repairs {
    /// New data only: losses are in doubt again.
    None,
    /// New data, and lost segments if there is none: F-RTO.
    NewFirst,
    /// Lost segments, then new data.
    #[default]
    Lost,
}

/// Variables of Linux's recovery: the state machine, and one type for each mechanism.
#[derive(Debug, Default)]
pub(super) struct LinuxState {
    phase: Phase,
    /// `high_seq`: "SND.NXT" at the start of the phase, which ends when this is acknowledged.
    point: u64,
    order: ArrivalOrder,
    /// Segments delivered and lost, since the start.
    delivered: u64,
    lost: u64,
    undo: Undo,
    reduction: Reduction,
    rack: Rack,
    probe: Probe,
    /// True during F-RTO.
    forward_rto: bool,
    /// Repairs allowed by the last ACK.
    repairs: Repairs,
    /// True if the oldest segment goes out again, whatever the window.
    forced: bool,
    timer: RepairTimer,
    usage: WindowUsage,
    piece: Piece,
    /// Delivery rate, only for a control that uses rate samples.
    rate: Option<Box<DeliveryRate>>,
    /// Shortest round-trip time: the values are negated, in nanoseconds.
    shortest: Highest,
    /// True after a write into an empty queue: the sender may have been idle.
    idle_check_due: bool,
    /// Arrival of the last ACK that was not old: `rcv_tstamp`.
    heard_at: Instant,
}

impl LinuxState {
    /// Starts recovery at the end of the handshake.
    pub(super) fn start(&mut self, flow: &mut Flow, common: &Common, now: Instant) {
        if let Some(rtt) = flow.rtt.minimum() {
            self.note_shortest(flow, common, now, rtt);
        }
        if common.recovers_as_linux() && flow.congestion.is_rate_based() {
            self.rate = Some(Box::new(DeliveryRate::new(now)));
            flow.congestion.on_established(now, flow.rtt.minimum());
        }
        self.expand_send_buffer(flow, common);
    }

    /// Returns the number of segments in flight (`tcp_packets_in_flight`).
    fn in_flight(&self, flow: &Flow) -> u32 {
        self.order.in_flight(&flow.space.sent)
    }

    /// Returns true if the window allows another segment.
    fn window_has_room(&self, flow: &Flow) -> bool {
        self.in_flight(flow) < flow.window_segments()
    }

    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    /// Returns the number of arrivals inferred from duplicate ACKs.
    pub(super) fn duplicates(&self) -> u32 {
        self.order.duplicates()
    }

    /// Retransmits the oldest segment at once.
    pub(super) fn force_first(&mut self) {
        self.forced = true;
    }

    /// Abandons a reduction whose target belongs to another path: losses are repaired without it.
    pub(super) fn forget_reduction(&mut self, flow: &Flow) {
        if self.phase.is_reducing() {
            self.repair_without_reduction(flow);
        }
    }

    /// Forgets the shortest round-trip time after a change of path.
    pub(super) fn forget_shortest(&mut self) {
        self.shortest = Highest::default();
    }

    /// Marks segments too long for the path as lost, without a reduction: `tcp_simple_retransmit`.
    pub(super) fn repair_without_reduction(&mut self, flow: &Flow) {
        self.phase = Phase::Loss;
        self.point = flow.space.next();
        self.undo = Undo::default();
        self.forward_rto = false;
        self.repairs = Repairs::Lost;
    }

    /// Returns true if the running timer is the timeout's.
    pub(super) fn waits_for_timeout(&self) -> bool {
        self.timer.pending() == Pending::Timeout
    }

    /// Restarts the timer as the timeout's (`tcp_rearm_rto`).
    pub(super) fn rearm_timeout(&mut self, flow: &Flow, common: &mut Common, now: Instant) {
        self.timer.rearm(flow, common, now);
    }

    /// Returns the time left of the timer, or of the timeout that a probe's or a reordering timer has replaced.
    pub(super) fn timeout_left(
        &self,
        flow: &Flow,
        common: &Common,
        now: Instant,
    ) -> Option<Duration> {
        self.timer.timeout_left(flow, common, now)
    }

    /// Cancels the probe or reordering timer that has replaced the timeout.
    pub(super) fn forgo_probe(&mut self) {
        self.timer.forgo();
    }
}
