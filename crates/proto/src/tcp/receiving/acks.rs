//! Times of ACKs: RFC 1122's delay, Linux's quick and adaptive ACKs, or Linux 2.0's adaptive ones.
//!
//! Linux 2.0 delays an ACK by its *ACK timeout*, which is the last gap between arrivals and half of the earlier timeout;
//! for pushed data by 20 ms at most.
//!
//! Linux (`net/ipv4/tcp_input.c`, `tcp_output.c` and `tcp_timer.c` of 6.18) acknowledges a SYN-ACK and the first
//! segments of a connection at once, and again after anything unusual (*quick ACKs*), so as not to slow down a sender
//! in slow start. Later it delays ACKs by the *ACK timeout*, which follows the gaps between arrivals and is at least 40
//! ms. An end that answers within that time is *interactive*: its data carries the ACKs.

use crate::time::{Duration, Instant};

/// Most quick ACKs in a row: `TCP_MAX_QUICKACKS`.
const MOST_QUICK: u32 = 16;
/// Longest delay of an ACK: `TCP_DELACK_MAX`.
const LONGEST_DELAY: Duration = Duration::from_millis(200);
/// ACKs of a gap that are not compressed: `TCP_FASTRETRANS_THRESH`, so that the sender detects the loss.
const PROMPT_DUPLICATES: u32 = 3;
/// Most ACKs compressed into one: `tcp_comp_sack_nr`.
const MOST_COMPRESSED: u32 = 44;
/// Lateness of the compression timer where nothing else wakes the processor: `tcp_comp_sack_slack_ns`.
const COMPRESSION_SLACK: Duration = Duration::from_micros(100);

/// ACK timeout of Linux 2.0 before the second arrival: a third of a second.
const FIRST_TIMEOUT: Duration = Duration::from_millis(330);
/// Longest delay of an ACK for pushed data in Linux 2.0.
const PUSHED_DELAY: Duration = Duration::from_millis(20);

/// ACKs due or delayed, and the state of Linux's rules.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp) struct AckSchedule {
    /// True if an ACK is due now.
    due: bool,
    /// Bytes received in order and not yet acknowledged.
    pending_bytes: u64,
    /// "RCV.NXT" of the last ACK sent.
    last_sent: u64,
    /// Segments still to be acknowledged at once.
    quick: u32,
    /// ACK timeout; zero before the first data.
    timeout: Duration,
    last_arrival: Instant,
    interactive: bool,
    /// True after pushed data, the end of a write by the peer: reading all of it sends an ACK.
    pushed: bool,
    /// True if the peer's SYN-ACK must be acknowledged before this end's data leaves.
    handshake: bool,
    /// ACKs of gaps since data was last in order: those sent, and those held back.
    gap_acks: u32,
    compressed: u32,
    /// Duplicate data to report (RFC 2883).
    duplicate: Option<(u64, u64)>,
}

/// Facts about the connection for these rules.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckSurroundings {
    pub(super) window: u64,
    /// Size of the peer's full segment.
    pub(super) segment_size: u32,
    pub(super) rto: Duration,
}

impl AckSchedule {
    /// Resumes another gateway's schedule.
    pub(super) fn resume(due: bool, pending_bytes: u64, last_sent: u64) -> AckSchedule {
        AckSchedule {
            due,
            pending_bytes,
            last_sent,
            ..AckSchedule::default()
        }
    }

    /// Requests an ACK now.
    pub(in crate::tcp) fn demand(&mut self) {
        self.due = true;
    }

    pub(in crate::tcp) fn is_due(&self) -> bool {
        self.due
    }

    /// Returns the number of bytes received in order and not yet acknowledged.
    pub(in crate::tcp) fn pending_bytes(&self) -> u64 {
        self.pending_bytes
    }

    /// Returns "RCV.NXT" of the last ACK sent.
    pub(in crate::tcp) fn last_sent(&self) -> u64 {
        self.last_sent
    }

    /// Takes in the peer's SYN, whose position replaces the last ACK.
    pub(super) fn begin(&mut self, next: u64) {
        self.last_sent = next;
    }

    /// Adds data in order to acknowledge.
    pub(super) fn add_pending(&mut self, bytes: u64) {
        self.pending_bytes += bytes;
    }

    /// Takes in the arrival of data, in order or not.
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

    /// Takes in the arrival of data by Linux 2.0's rules, and returns the delay of its ACK, `longest` at most.
    pub(super) fn on_gap(
        &mut self,
        now: Instant,
        (tick, rto): (Duration, Duration),
        longest: Duration,
        pushed: bool,
    ) -> Duration {
        let gap = now.saturating_since(self.last_arrival).max(tick);
        self.last_arrival = now;
        self.timeout = match self.timeout.is_zero() {
            true => FIRST_TIMEOUT,
            false if gap > rto => rto,
            false => self.timeout.half() + gap,
        };
        let longest = if pushed {
            longest.min(PUSHED_DELAY)
        } else {
            longest
        };
        self.timeout.min(longest)
    }

    fn raise_quick(&mut self, around: &AckSurroundings) {
        let segments = match around.window / (2 * u64::from(around.segment_size.max(1))) {
            0 => 2,
            segments => segments.min(u64::from(MOST_QUICK)) as u32,
        };
        self.quick = self.quick.max(segments);
    }

    /// Requests quick ACKs after a duplicate, or a segment outside the window.
    pub(super) fn hurry(&mut self, least: Duration, around: &AckSurroundings) {
        self.raise_quick(around);
        self.interactive = false;
        self.timeout = least;
    }

    /// Requests at least one quick ACK, when the window grows.
    pub(super) fn hurry_one(&mut self) {
        self.quick |= 1;
    }

    pub(super) fn is_quick(&self) -> bool {
        self.quick > 0 && !self.interactive
    }

    pub(super) fn push(&mut self) {
        self.pushed = true;
    }

    /// Requests an immediate ACK of the SYN-ACK, before the application writes (`tcp_rcv_synsent_state_process`). The
    /// peer's first RTT sample is then that of small packets.
    pub(in crate::tcp) fn hurry_handshake(&mut self) {
        self.handshake = true;
    }

    /// Returns true if an ACK must leave now, even if data could carry it.
    pub(in crate::tcp) fn is_due_alone(&self) -> bool {
        self.handshake
    }

    /// Returns true if an ACK is due once everything is read.
    pub(super) fn wants_ack_after_reading(&self) -> bool {
        self.pushed && !self.interactive
    }

    /// Makes this end interactive after the peer's FIN: its remaining data carries the ACKs (`tcp_fin`).
    pub(super) fn become_interactive(&mut self) {
        self.interactive = true;
    }

    /// Returns the longest delay of an ACK.
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

    /// Takes in the end of the delay, before any data carried the ACK.
    pub(in crate::tcp) fn on_delay_over(&mut self, least: Duration, rto: Duration) {
        if self.interactive {
            self.interactive = false;
            self.timeout = least;
        } else {
            self.timeout = self.timeout.saturating_mul(2).min(rto);
        }
    }

    /// Takes in that an ACK of all data before `next` leaves; `least` is Linux's shortest delay, if its rules apply.
    pub(super) fn on_sent(&mut self, least: Option<Duration>, next: u64) {
        if let Some(least) = least {
            if self.quick > 0 && self.pending_bytes > 0 {
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
        self.due = false;
        self.pending_bytes = 0;
        self.last_sent = next;
    }

    /// Takes in that data leaves.
    pub(in crate::tcp) fn on_data_sent(&mut self, now: Instant) {
        if now.saturating_since(self.last_arrival) < self.timeout {
            self.interactive = true;
        }
    }

    /// Takes in that data in order has moved "RCV.NXT".
    pub(super) fn on_progress(&mut self) {
        self.gap_acks = 0;
    }

    /// Returns the delay of an ACK for data beyond a gap, if any. Linux: after three ACKs, 5 % of the round-trip time,
    /// at most `longest` (`tcp_comp_sack_delay_ns`).
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

    /// Returns true if ACKs of gaps are held back.
    pub(super) fn holds_back(&self) -> bool {
        self.compressed > 0
    }

    pub(super) fn report_duplicate(&mut self, start: u64, end: u64) {
        if start < end {
            self.duplicate = Some((start, end));
        }
    }

    /// Forgets the duplicate, once a segment has reported it: one report suffices (RFC 2883 section 4).
    pub(in crate::tcp) fn forget_duplicate(&mut self) {
        self.duplicate = None;
    }

    pub(super) fn duplicate(&self) -> Option<(u64, u64)> {
        self.duplicate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 330 ms at first; after gaps of 10 ms 175 and 97.5 ms; after one of 1.55 s half a second, since the timeout
    /// is 1.6 s; after one longer than the retransmission timeout that, and 20 ms for pushed data.
    #[test]
    fn linux_2_0_follows_the_gaps_between_arrivals() {
        let mut acks = AckSchedule::default();
        let longest = Duration::from_millis(500);
        let mut after = |at: u64, pushed| {
            let times = (Duration::from_millis(10), Duration::from_secs(3));
            acks.on_gap(Instant::from_millis(at), times, longest, pushed)
        };
        assert_eq!(after(100, false), Duration::from_millis(330));
        assert_eq!(after(110, false), Duration::from_millis(175));
        assert_eq!(after(112, false), Duration::from_micros(97_500));
        assert_eq!(after(1_662, false), longest);
        assert_eq!(after(9_000, false), longest);
        assert_eq!(after(9_010, true), Duration::from_millis(20));
        for at in 9_011..9_020 {
            after(at, false);
        }
        assert!(after(9_020, false) < Duration::from_millis(25));
    }
}
