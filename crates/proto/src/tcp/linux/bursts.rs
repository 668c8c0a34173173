//! Segments that a kernel hands down as one and cuts late (TSO): which leave together, and that the last of several
//! carries PSH, so that the receiver passes them up at once (`__tcp_transmit_skb`). There, reading what was pushed
//! acknowledges it.

use super::{Connection, Phase};
use crate::rate::DataRate;
use crate::time::{Duration, Instant};

/// Bytes of the largest piece.
const LARGEST: u64 = 65_536;
/// Rates below this leave segment by segment, in bits a second (`bbr_min_tso_rate`); else two at least
/// (`tcp_min_tso_segs`).
const SLOW: u64 = 1_200_000;
/// Pace of a control without one of its own, in percent of a window a round trip: in the first half of slow start, and
/// later (`tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
const SLOW_START_PACE: u64 = 200;
const PACE: u64 = 120;

/// Time after the last piece for which a larger one is waited for, and the part of a window that is large enough
/// (`tcp_tso_win_divisor`).
const RECENT: Duration = Duration::from_millis(1);
const WINDOW_SHARE: u64 = 3;

/// The piece that is under way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Piece {
    at: Instant,
    segments: u32,
    left: u32,
}

impl Connection {
    /// `tcp_tso_autosize`: segments of a piece, a millisecond of the rate, more on short paths.
    pub(super) fn piece_segments(&self, rate: DataRate, least: u32) -> u32 {
        let bytes_per_second = rate.bits_per_second() / 8;
        let shortest = self.rtt.minimum().unwrap_or(Duration::MAX).as_nanos() / 1_000;
        let nearness = (shortest >> 9).min(63);
        let bytes = (bytes_per_second >> 10) + (LARGEST >> nearness);
        let segments = bytes.min(LARGEST) / u64::from(self.segment_size);
        (segments as u32).max(least)
    }

    /// With a control that paces.
    pub(super) fn paced_segments(&self, rate: DataRate) -> u32 {
        let least = if rate.bits_per_second() < SLOW { 1 } else { 2 };
        self.piece_segments(rate, least)
    }

    fn largest_piece(&self) -> u32 {
        if let Some(rate) = self.congestion.pacing_rate() {
            return self.paced_segments(rate);
        }
        let (window, threshold) = (self.congestion.window(), self.slow_start_threshold());
        let percent = if window < threshold / 2 {
            SLOW_START_PACE
        } else {
            PACE
        };
        let smoothed = self.rtt.smoothed().unwrap_or_default().as_nanos().max(1);
        let bits = u128::from(window) * 8 * u128::from(percent) / 100;
        let rate = bits * 1_000_000_000 / u128::from(smoothed);
        let rate = u64::try_from(rate).unwrap_or(u64::MAX);
        self.piece_segments(DataRate::from_bits_per_second(rate), 2)
    }

    /// `tcp_tso_should_defer`: new segments wait for acknowledgments to make room for a full piece, but for a millisecond
    /// after the last one only, and if the oldest segment's acknowledgment is due within one (Linux 6.18 and its
    /// predecessors since October 2025; half a round trip before).
    pub(super) fn waits_for_piece(&self, now: Instant) -> bool {
        let piece = &self.linux.piece;
        let under_way = piece.left > 0 && piece.at == now;
        let (unsent, size) = (self.unsent(), u64::from(self.segment_size));
        if !self.profile.push_bursts || under_way || self.linux.phase >= Phase::Recovery {
            return false;
        }
        let left = match &self.linux.rate {
            Some(rate) => Some(rate.next_burst()),
            None => self.last_data_sent_at,
        };
        let recent = left.is_some_and(|left| now.saturating_since(left) <= RECENT);
        if !recent || unsent <= size {
            return false;
        }
        let room = u64::from(self.congestion_room()) * size;
        let limit = room.min(self.offered_beyond(self.next));
        let window = self.peer_window.min(u64::from(self.congestion.window()));
        let enough = (u64::from(self.largest_piece()) * size).min(window / WINDOW_SHARE);
        let last = self.close_requested && limit >= unsent;
        let smoothed = self.rtt.smoothed().unwrap_or_default();
        let near = |sent: Instant| {
            let left = (sent + smoothed).saturating_since(now);
            left <= RECENT && left <= smoothed.half()
        };
        limit < enough && !last && self.sent.first().is_some_and(|first| near(first.sent_at))
    }

    fn congestion_room(&self) -> u32 {
        let window = self.window_segments();
        window.saturating_sub(self.segments_in_flight())
    }

    /// A new segment has left. A piece is as large as the window, the peer's and what was written allow.
    pub(super) fn note_piece(&mut self, now: Instant) {
        if !self.profile.push_bursts {
            return;
        }
        if self.linux.piece.left == 0 || self.linux.piece.at != now {
            let full =
                self.offered_beyond(self.next).min(self.unsent()) / u64::from(self.segment_size);
            let more = u64::from(self.congestion_room()).min(full) as u32;
            let segments = self.largest_piece().min(1 + more);
            self.linux.piece = Piece {
                at: now,
                segments,
                left: segments,
            };
            self.sent.begin_piece(self.sent.len().saturating_sub(1));
        }
        self.linux.piece.left -= 1;
    }

    /// Returns true if the segment that leaves is the last of several.
    pub(in crate::tcp) fn ends_piece(&self) -> bool {
        let piece = &self.linux.piece;
        piece.left == 0 && piece.segments > 1
    }
}
