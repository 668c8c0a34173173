//! Loss recovery as a present Linux does it (6.18), where a profile asks for [`Recovery::Linux`].
//!
//! Linux counts segments, not bytes, and keeps one state machine ([`Phase`]) into which the RFCs' mechanisms are
//! fitted, one file each: finding losses by time (`rack.rs`, RFC 8985), probing for the loss of a tail (`probe.rs`,
//! RFC 8985 section 7), reducing the window in proportion (`reduction.rs`, RFC 6937), telling a spurious timeout
//! (`timeout.rs`, RFC 5682), and taking back a reduction that was wrong (`undo.rs`, RFC 3522 and 3708). What an
//! acknowledgment sets off is in `acknowledge.rs`, in the order in which the kernel does it; what is sent next in
//! `transmit.rs`. Facts are from `net/ipv4/tcp_input.c`, `tcp_output.c`, `tcp_recovery.c` and `tcp_timer.c`.
//!
//! [`Recovery::Linux`]: super::profile::Recovery::Linux

mod acknowledge;
mod alert;
mod bursts;
mod persist;
mod probe;
mod rack;
mod rate;
pub(super) mod receive_window;
mod reduction;
mod round_trip;
pub(super) mod send_buffer;
mod timeout;
mod transmit;
mod undo;

use super::Connection;
use super::highest::Highest;
use super::profile::Recovery;
use super::timer::Timer;
use crate::time::{Duration, Instant};
use RecoveryPhase as Phase;
use bursts::Piece;
use probe::Probe;
use rack::Rack;
use rate::DeliveryRate;
use receive_window::ReceiveTuning;
use reduction::Reduction;
use transmit::WindowUsage;
use undo::Undo;

/// Duplicates that show a loss before any reordering was seen: `tcp_reordering`.
const INITIAL_REORDERING: u32 = 3;
/// Most that reordering raises it to: `tcp_max_reordering`.
const MOST_REORDERING: u32 = 300;

/// Phase of loss recovery; Linux's `tcp_ca_state`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecoveryPhase {
    /// Nothing is dubious.
    #[default]
    Open,
    /// Something was SACKed or duplicated, or a retransmission is out, but nothing is lost for certain.
    Disorder,
    /// The window is reduced without a loss to repair.
    Reduced,
    /// Fast recovery.
    Recovery,
    /// After a timeout.
    Loss,
}

/// Purpose for which the one retransmission timer is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Pending {
    #[default]
    Timeout,
    Probe,
    Reordering,
}

/// Segments that an acknowledgment lets out beside those that the window holds: `REXMIT_NONE`, `_NEW` and `_LOST`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Repairs {
    /// New data only: what may be lost is in doubt again.
    None,
    /// New data, and lost segments if there is none: F-RTO.
    NewFirst,
    /// Lost segments, then new data.
    #[default]
    Lost,
}

/// All that Linux's recovery remembers.
#[derive(Debug)]
pub(super) struct LinuxState {
    phase: Phase,
    /// `high_seq`: "SND.NXT" when the phase began; it ends when this is acknowledged.
    point: u64,
    reordering: u32,
    reordering_seen: bool,
    /// Without SACK: duplicates, each of which stands for a segment that has arrived.
    duplicates: u32,
    /// Segments delivered and lost, from the start.
    delivered: u64,
    lost: u64,
    undo: Undo,
    reduction: Reduction,
    rack: Rack,
    probe: Probe,
    /// F-RTO is under way.
    forward_rto: bool,
    /// By the last acknowledgment.
    repairs: Repairs,
    /// The oldest segment goes out again whatever the window says.
    forced: bool,
    pending: Pending,
    usage: WindowUsage,
    piece: Piece,
    /// Bytes of memory of a send buffer that tunes itself: `sk_sndbuf`.
    send_memory: u64,
    /// Only with a control that goes by a rate.
    rate: Option<Box<DeliveryRate>>,
    /// Round-trip times, negated, in nanoseconds.
    shortest: Highest,
    /// Something was written after nothing had waited: the sender may have been idle.
    idle_check_due: bool,
    /// Arrival of the last acknowledgment that was not old: `rcv_tstamp`.
    heard_at: Instant,
    /// Only with a receive window that tunes itself.
    receiving: Option<Box<ReceiveTuning>>,
}

impl Default for LinuxState {
    fn default() -> LinuxState {
        LinuxState {
            phase: Phase::Open,
            point: 0,
            reordering: INITIAL_REORDERING,
            reordering_seen: false,
            duplicates: 0,
            delivered: 0,
            lost: 0,
            undo: Undo::default(),
            reduction: Reduction::default(),
            rack: Rack::default(),
            probe: Probe::default(),
            forward_rto: false,
            repairs: Repairs::default(),
            forced: false,
            pending: Pending::Timeout,
            usage: WindowUsage::default(),
            piece: Piece::default(),
            send_memory: 0,
            rate: None,
            shortest: Highest::default(),
            idle_check_due: false,
            heard_at: Instant::ZERO,
            receiving: None,
        }
    }
}

impl Connection {
    /// The handshake is over.
    pub(super) fn start_linux(&mut self, now: Instant) {
        if let Some(rtt) = self.rtt.minimum() {
            self.note_shortest(now, rtt);
        }
        self.start_rate(now);
        self.start_receive_tuning(now);
        if self.recovers_as_linux() && self.negotiated.window_shifts.is_none() {
            self.receive.round_window();
        }
        self.expand_send_buffer();
        self.offer_room();
    }

    pub(super) fn recovers_as_linux(&self) -> bool {
        self.profile.recovery == Recovery::Linux
    }

    /// `tcp_packets_in_flight`: segments that are out, without those that have arrived or are lost, with those
    /// sent again.
    pub(in crate::tcp) fn segments_in_flight(&self) -> u32 {
        let counts = self.sent.counts();
        let gone = counts.sacked + self.linux.duplicates + counts.lost;
        (self.sent.len() as u32 + counts.resent).saturating_sub(gone)
    }

    pub(super) fn linux_phase(&self) -> Phase {
        self.linux.phase
    }

    pub(super) fn linux_duplicates(&self) -> u32 {
        self.linux.duplicates
    }

    fn window_segments(&self) -> u32 {
        (self.congestion.window() / self.segment_size).max(1)
    }

    fn set_window_segments(&mut self, segments: u32) {
        let threshold = self.congestion.slow_start_threshold();
        self.congestion
            .set(segments.max(1).saturating_mul(self.segment_size), threshold);
    }

    fn is_reducing(&self) -> bool {
        matches!(self.linux.phase, Phase::Reduced | Phase::Recovery)
    }

    /// The oldest segment goes out again at once.
    pub(super) fn force_first(&mut self) {
        self.linux.forced = true;
    }

    /// The window that a reduction was on its way to belongs to another path: what is lost is repaired without it.
    pub(super) fn forget_reduction(&mut self) {
        if self.is_reducing() {
            self.repair_without_reduction();
        }
    }

    /// Round-trip times of another path say nothing of this one.
    pub(super) fn forget_shortest(&mut self) {
        self.linux.shortest = Highest::default();
    }

    /// `tcp_simple_retransmit`: what was too long for the path is lost without a reduction.
    pub(super) fn repair_without_reduction(&mut self) {
        self.linux.phase = Phase::Loss;
        self.linux.point = self.next;
        self.linux.undo = Undo::default();
        self.linux.forward_rto = false;
        self.linux.repairs = Repairs::Lost;
    }

    fn set_pending(&mut self, pending: Pending, now: Instant, after: Duration) {
        self.linux.pending = pending;
        self.set_timer(Timer::Retransmission, now, after);
    }

    /// Returns true if the timer that runs is the timeout's.
    pub(super) fn waits_for_timeout(&self) -> bool {
        self.linux.pending == Pending::Timeout
    }

    /// `tcp_rearm_rto`. In place of a probe or a reordering timer, the timeout counts from the last
    /// transmission of the oldest segment.
    pub(super) fn rearm_timeout(&mut self, now: Instant) {
        if self.sent.is_empty() {
            self.timers.stop(Timer::Retransmission);
            self.linux.pending = Pending::Timeout;
            return;
        }
        let armed = self.timers.is_set(Timer::Retransmission);
        let other = armed && self.linux.pending != Pending::Timeout;
        let after = if other {
            self.until_timeout(now).max(Duration::from_nanos(1))
        } else {
            self.rtt.rto()
        };
        self.set_pending(Pending::Timeout, now, after);
    }

    /// Time left of the timer, or of the timeout in whose place a probe's or a reordering timer runs.
    pub(super) fn timeout_left(&self, now: Instant) -> Option<Duration> {
        let deadline = self.timers.deadline(Timer::Retransmission)?;
        Some(match self.waits_for_timeout() {
            true => deadline.saturating_since(now),
            false => self.until_timeout(now),
        })
    }

    /// Gives up the probe, or the timer for reordering, that stands in the place of the timeout.
    pub(super) fn forgo_probe(&mut self) {
        self.linux.pending = Pending::Timeout;
    }

    /// A timer that stood in its place has gone off: the timeout still counts from the last transmission of the oldest segment.
    fn resume_timeout(&mut self, now: Instant) {
        let after = self.until_timeout(now).max(Duration::from_nanos(1));
        self.set_pending(Pending::Timeout, now, after);
    }

    /// Time left until the timeout of the oldest segment, counted from its last transmission.
    fn until_timeout(&self, now: Instant) -> Duration {
        let since = self.sent.first().map_or(now, |first| first.sent_at);
        (since + self.rtt.rto()).saturating_since(now)
    }
}
