//! Times of acknowledgments: RFC 1122's delay, or Linux's quick and adaptive acknowledgments.
//!
//! Linux (`net/ipv4/tcp_input.c`, `tcp_output.c` and `tcp_timer.c` of 6.18) acknowledges a SYN-ACK and the first segments
//! of a connection at once, and again after anything odd (*quick acknowledgments*), so that a sender in slow start is
//! not held up. Later it delays by the *acknowledgment timeout*, which follows the gaps between arrivals, 40 ms at
//! the least. An end that answers within that time is *interactive*: its data carries the acknowledgments.

use super::profile::Profile;
use crate::time::{Duration, Instant};

/// Most segments that are acknowledged at once: `TCP_MAX_QUICKACKS`.
const MOST_QUICK: u32 = 16;
/// Longest delay of an acknowledgment: `TCP_DELACK_MAX`.
const LONGEST_DELAY: Duration = Duration::from_millis(200);
/// Acknowledgments of a gap that are not compressed: `TCP_FASTRETRANS_THRESH`, so that the sender sees the loss.
const PROMPT_DUPLICATES: u32 = 3;
/// Most that one compressed acknowledgment stands for: `tcp_comp_sack_nr`.
const MOST_COMPRESSED: u32 = 44;
/// Lateness that the timer for that may have, and has, where nothing else wakes the processor:
/// `tcp_comp_sack_slack_ns`.
const COMPRESSION_SLACK: Duration = Duration::from_micros(100);

/// State of Linux's rules.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckState {
    /// Segments still to be acknowledged at once.
    quick: u32,
    /// The acknowledgment timeout; zero before the first data.
    timeout: Duration,
    last_arrival: Instant,
    interactive: bool,
    /// Something arrived that ends a write of the peer's: reading all of it acknowledges.
    pushed: bool,
    /// The peer's SYN-ACK is to be acknowledged, before any data of ours leaves.
    handshake: bool,
    /// Acknowledgments of gaps since data was last in order: those sent, and those held back.
    gap_acks: u32,
    compressed: u32,
    /// A duplicate to report (RFC 2883).
    duplicate: Option<(u64, u64)>,
}

/// Facts about the connection that these rules need.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckSurroundings {
    pub(super) window: u64,
    /// The peer's full segment.
    pub(super) segment_size: u32,
    pub(super) rto: Duration,
}

impl AckState {
    /// Data has arrived, in order or not.
    pub(super) fn on_data(&mut self, now: Instant, least: Duration, around: &AckSurroundings) {
        let gap = now.saturating_since(self.last_arrival);
        self.last_arrival = now;
        if self.timeout.is_zero() {
            self.raise_quick(around);
            self.timeout = least;
        } else if gap <= least.half() {
            self.timeout = self.timeout.half() + least.half();
        } else if gap < self.timeout {
            self.timeout = (self.timeout.half() + gap).min(around.rto);
        } else if gap > around.rto {
            // The sender was idle and may be in slow start again.
            self.raise_quick(around);
        }
    }

    fn raise_quick(&mut self, around: &AckSurroundings) {
        let segments = match around.window / (2 * u64::from(around.segment_size.max(1))) {
            0 => 2,
            segments => segments.min(u64::from(MOST_QUICK)) as u32,
        };
        self.quick = self.quick.max(segments);
    }

    /// Something odd arrived: a duplicate, or what lies outside the window.
    pub(super) fn hurry(&mut self, least: Duration, around: &AckSurroundings) {
        self.raise_quick(around);
        self.interactive = false;
        self.timeout = least;
    }

    /// The window grows: one segment at least is acknowledged at once.
    pub(super) fn hurry_one(&mut self) {
        self.quick |= 1;
    }

    pub(super) fn is_quick(&self) -> bool {
        self.quick > 0 && !self.interactive
    }

    pub(super) fn push(&mut self) {
        self.pushed = true;
    }

    /// The peer's SYN-ACK has arrived: its acknowledgment does not wait for what the application will write
    /// (`tcp_rcv_synsent_state_process`). The peer's first sample of the round-trip time is then that of small packets.
    pub(super) fn hurry_handshake(&mut self) {
        self.handshake = true;
    }

    /// Returns true if an acknowledgment leaves even where data could carry it.
    pub(super) fn is_due_alone(&self) -> bool {
        self.handshake
    }

    /// Returns true if reading everything is a reason to acknowledge.
    pub(super) fn wants_ack_after_reading(&self) -> bool {
        self.pushed && !self.interactive
    }

    /// The peer has closed: what this end still sends carries the acknowledgments (`tcp_fin`).
    pub(super) fn become_interactive(&mut self) {
        self.interactive = true;
    }

    /// Returns the time that an acknowledgment may wait.
    pub(super) fn delay(&self, least: Duration, smoothed_rtt: Option<Duration>) -> Duration {
        if self.timeout <= least {
            return self.timeout.max(least);
        }
        let most = if self.interactive || self.pushed {
            LONGEST_DELAY
        } else {
            Duration::from_millis(500)
        };
        let most = smoothed_rtt.map_or(most, |rtt| most.min(rtt.max(least)));
        self.timeout.min(most).min(LONGEST_DELAY)
    }

    /// The delay ran out before anything carried the acknowledgment.
    pub(super) fn on_delay_over(&mut self, least: Duration, rto: Duration) {
        if self.interactive {
            self.interactive = false;
            self.timeout = least;
        } else {
            self.timeout = self.timeout.saturating_mul(2).min(rto);
        }
    }

    /// An acknowledgment leaves, which `owed` tells whether data waited for.
    pub(super) fn on_sent(&mut self, least: Duration, owed: bool) {
        if self.quick > 0 && owed {
            self.quick -= 1;
            if self.quick == 0 {
                self.timeout = least;
            }
        }
        self.pushed = false;
        self.handshake = false;
        self.compressed = 0;
        self.duplicate = None;
    }

    /// Data of ours leaves.
    pub(super) fn on_data_sent(&mut self, now: Instant) {
        if now.saturating_since(self.last_arrival) < self.timeout {
            self.interactive = true;
        }
    }

    /// Data in order has moved "RCV.NXT".
    pub(super) fn on_progress(&mut self) {
        self.gap_acks = 0;
    }

    /// Data beyond a gap arrived: how long its acknowledgment waits, if it does. Linux: after three, for 5 % of
    /// the round-trip time, and `longest` at most (`tcp_comp_sack_delay_ns`).
    pub(super) fn compression(
        &mut self,
        longest: Option<Duration>,
        rtt: Option<Duration>,
    ) -> Option<Duration> {
        let (longest, rtt) = (longest?, rtt?);
        if self.compressed >= MOST_COMPRESSED {
            return None;
        }
        if self.gap_acks < PROMPT_DUPLICATES {
            self.gap_acks += 1;
            return None;
        }
        self.compressed += 1;
        let delay = longest.min(Duration::from_nanos(rtt.as_nanos() / 20));
        Some(delay + COMPRESSION_SLACK)
    }

    /// Acknowledgments of gaps are held back.
    pub(super) fn holds_back(&self) -> bool {
        self.compressed > 0
    }

    pub(super) fn report_duplicate(&mut self, start: u64, end: u64) {
        if start < end {
            self.duplicate = Some((start, end));
        }
    }

    /// The duplicate stands in a segment that leaves: once is enough (RFC 2883 section 4).
    pub(super) fn forget_duplicate(&mut self) {
        self.duplicate = None;
    }

    pub(super) fn duplicate(&self) -> Option<(u64, u64)> {
        self.duplicate
    }
}

impl super::Connection {
    /// Linux's least delay, where its rules hold.
    pub(super) fn quick_acks(&self) -> Option<Duration> {
        quick_acks(&self.profile)
    }

    /// Data beyond a gap is about to be taken in. Before it moves blocks down in the SACK option that no acknowledgment has shown
    /// among the first two, what is held back leaves (`tcp_sack_new_ofo_skb`): the option may end there, and what it
    /// never shows would be sent again.
    pub(super) fn release_held_back(&mut self, now: Instant, start: i64, length: u32) {
        if self.acks.holds_back() && self.receive.moves_blocks_down(start, length) {
            self.early_ack = Some(self.bare_acknowledgment(now));
        }
    }

    pub(super) fn ack_surroundings(&self) -> AckSurroundings {
        AckSurroundings {
            window: self.receive.window(),
            segment_size: self.receive_segment_size(),
            rto: self.rtt.rto(),
        }
    }

    /// The next acknowledgment tells that this was there before.
    pub(super) fn report_duplicate(&mut self, start: u64, end: u64) {
        if self.profile.duplicate_sack && self.negotiated.sack {
            self.acks.report_duplicate(start, end);
        }
    }

    /// All or part of what arrived, from `start` to `end`, was there before.
    pub(super) fn note_duplicate(&mut self, start: i64, end: i64) {
        let position = |number: i64| u64::try_from(number).unwrap_or(0);
        self.report_duplicate(position(start), position(end));
        if let Some(least) = self.quick_acks() {
            let around = self.ack_surroundings();
            self.acks.hurry(least, &around);
        }
    }
}

fn quick_acks(profile: &Profile) -> Option<Duration> {
    profile.delayed_ack.filter(|_| profile.quick_acks)
}
