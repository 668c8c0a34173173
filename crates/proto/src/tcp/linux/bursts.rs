//! Bursts of segments that a kernel passes down as one and splits late (TSO). They leave together, and the last of
//! several carries PSH, so that the receiver delivers them at once (`__tcp_transmit_skb`). At the receiver, reading
//! pushed data sends an ACK.

use super::super::flow::Flow;
use super::{Common, LinuxState, Phase};
use crate::rate::DataRate;
use crate::time::{Duration, Instant};

/// Most bytes of a piece.
const LARGEST: u64 = 65_536;
/// Rate in bits a second below which segments leave one by one (`bbr_min_tso_rate`); at higher rates at least two leave
/// together (`tcp_min_tso_segs`).
const SLOW: u64 = 1_200_000;
/// Pacing rate of controls without one of their own, in percent of a window per round trip: in the first half of slow
/// start, and later (`tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
const SLOW_START_PACE: u64 = 200;
const PACE: u64 = 120;

/// Longest wait for a larger piece after the last one, and the part of a window that makes a piece large enough
/// (`tcp_tso_win_divisor`).
const RECENT: Duration = Duration::from_millis(1);
const WINDOW_SHARE: u64 = 3;

/// The piece being sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Piece {
    at: Instant,
    segments: u32,
    left: u32,
}

impl Piece {
    fn is_under_way(&self, now: Instant) -> bool {
        self.left > 0 && self.at == now
    }

    fn begin(&mut self, now: Instant, segments: u32) {
        *self = Piece {
            at: now,
            segments,
            left: segments,
        };
    }

    /// Returns true if the segment that leaves is the last of a piece of several.
    pub(super) fn is_over(&self) -> bool {
        self.left == 0 && self.segments > 1
    }
}

/// Returns the number of segments of a piece: a millisecond of the rate, more on short paths (`tcp_tso_autosize`).
fn piece_segments(flow: &Flow, rate: DataRate, least: u32) -> u32 {
    let bytes_per_second = rate.bits_per_second() / 8;
    let shortest = flow.rtt.minimum().unwrap_or(Duration::MAX).as_nanos() / 1_000;
    let nearness = (shortest >> 9).min(63);
    let bytes = (bytes_per_second >> 10) + (LARGEST >> nearness);
    let segments = bytes.min(LARGEST) / u64::from(flow.space.segment_size());
    (segments as u32).max(least)
}

/// Returns the number of segments of a piece under a control that paces.
pub(super) fn paced_segments(flow: &Flow, rate: DataRate) -> u32 {
    let least = if rate.bits_per_second() < SLOW { 1 } else { 2 };
    piece_segments(flow, rate, least)
}

fn largest_piece(flow: &Flow) -> u32 {
    if let Some(rate) = flow.congestion.pacing_rate() {
        return paced_segments(flow, rate);
    }
    let window = flow.congestion.window();
    let threshold = flow.congestion.slow_start_threshold();
    let percent = if window < threshold / 2 {
        SLOW_START_PACE
    } else {
        PACE
    };
    let smoothed = flow.rtt.smoothed().unwrap_or_default().as_nanos().max(1);
    let bits = u64::from(window) * 8 * percent / 100;
    let rate = u128::from(bits) * 1_000_000_000 / u128::from(smoothed);
    let rate = u64::try_from(rate).unwrap_or(u64::MAX);
    piece_segments(flow, DataRate::from_bits_per_second(rate), 2)
}

impl LinuxState {
    /// Returns true if new segments wait for ACKs to make room for a full piece: only within a millisecond of the last
    /// one, and if the oldest segment's ACK is due within one (`tcp_tso_should_defer` of Linux 6.18 and its
    /// predecessors since October 2025; half a round trip before).
    pub(super) fn waits_for_piece(&self, flow: &Flow, common: &Common, now: Instant) -> bool {
        let space = &flow.space;
        let under_way = self.piece.is_under_way(now);
        if !common.profile.push_bursts || under_way || self.phase >= Phase::Recovery {
            return false;
        }
        let left = match &self.rate {
            Some(rate) => Some(rate.next_burst()),
            None => space.last_sent_at(),
        };
        let recent = left.is_some_and(|left| now.saturating_since(left) <= RECENT);
        let (unsent, size) = (space.unsent(), u64::from(space.segment_size()));
        if !recent || unsent <= size {
            return false;
        }
        let room = u64::from(self.congestion_room(flow)) * size;
        let limit = room.min(space.offered_beyond(space.next()));
        let window = space.window().min(u64::from(flow.congestion.window()));
        let enough = (u64::from(largest_piece(flow)) * size).min(window / WINDOW_SHARE);
        let last = space.is_closed() && limit >= unsent;
        let smoothed = flow.rtt.smoothed().unwrap_or_default();
        let near = |sent: Instant| {
            let left = (sent + smoothed).saturating_since(now);
            left <= RECENT && left <= smoothed.half()
        };
        let first = space.sent.first();
        limit < enough && !last && first.is_some_and(|first| near(first.sent_at))
    }

    fn congestion_room(&self, flow: &Flow) -> u32 {
        let window = flow.window_segments();
        window.saturating_sub(self.in_flight(flow))
    }

    /// Takes in a new segment that has left. The congestion window, the peer's window and the data written limit a
    /// piece.
    pub(super) fn note_piece(&mut self, flow: &mut Flow, common: &Common, now: Instant) {
        if !common.profile.push_bursts {
            return;
        }
        if !self.piece.is_under_way(now) {
            let space = &mut flow.space;
            let offered = space.offered_beyond(space.next());
            let full = offered.min(space.unsent()) / u64::from(space.segment_size());
            let last = space.sent.len().saturating_sub(1);
            space.sent.begin_piece(last);
            let more = u64::from(self.congestion_room(flow)).min(full) as u32;
            let segments = largest_piece(flow).min(1 + more);
            self.piece.begin(now, segments);
        }
        self.piece.left -= 1;
    }
}
