//! A send buffer that grows with the congestion window: `tcp_sndbuf_expand`, when a writer waits for room and the
//! window is not full.

use super::Connection;
use crate::tcp::Event;
use crate::tcp::profile::{Profile, Recovery};
use crate::time::Instant;

/// Size at the beginning of a connection: `tcp_wmem`.
const FIRST_BUFFER: u32 = 16_384;
/// Segments for which there is room at least: `TCP_INIT_CWND`.
const LEAST_SEGMENTS: u32 = 10;
/// Windows that are held: one that is out and one that is ready to follow; a control that paces holds one more.
const WINDOWS: u32 = 2;
const PACED_WINDOWS: u32 = 3;
/// The kernel's room for headers and its notes on a segment, and the segment's own record.
const HEADERS: u32 = 640;
const RECORD: u32 = 256;
/// Charge for each piece that is out, beside its payload. Seen where acknowledgments free a third of 4,194,304 bytes
/// when 1683 segments of 1448 bytes are out in fours; what is not sent yet is one piece (`tcp_fragment`).
const PIECE_CHARGE: u64 = 832;

/// Send buffer of a connection that begins, in bytes.
pub(in crate::tcp) fn first_size(profile: &Profile) -> u32 {
    if tunes(profile) {
        profile.send_buffer.min(FIRST_BUFFER)
    } else {
        profile.send_buffer
    }
}

/// Returns true if the buffer tunes itself.
pub(in crate::tcp) fn tunes(profile: &Profile) -> bool {
    profile.send_autotuning && profile.recovery == Recovery::Linux
}

impl Connection {
    /// Memory for two windows of segments, each of which is counted as what it might take in a kernel: a power of two. The
    /// payload that finds room in it is less, by what segments are charged.
    pub(super) fn expand_send_buffer(&mut self) {
        if !tunes(&self.profile) {
            return;
        }
        let segments = LEAST_SEGMENTS
            .max(self.window_segments())
            .max(self.linux.reordering + 1);
        let windows = if self.linux.rate.is_some() {
            PACED_WINDOWS
        } else {
            WINDOWS
        };
        let memory = (self.segment_size + HEADERS).next_power_of_two() + RECORD;
        let wanted = u64::from(windows) * u64::from(segments) * u64::from(memory);
        let memory = wanted.min(u64::from(self.profile.send_buffer));
        self.linux.send_memory = self.linux.send_memory.max(memory);
        self.fit_send_buffer();
    }

    /// Fits the payload into the rest of the memory, in whole segments.
    pub(in crate::tcp) fn fit_send_buffer(&mut self) {
        if self.linux.send_memory == 0 {
            return;
        }
        let charged = PIECE_CHARGE * (self.sent.pieces() as u64 + 1);
        let size = u64::from(self.segment_size);
        let left = self.linux.send_memory.saturating_sub(charged);
        self.send.resize(left.div_ceil(size).max(1) * size);
    }

    /// Free room that wakes a writer: a third of the memory (`sk_stream_is_writeable`), or of a buffer of one size.
    pub(in crate::tcp) fn room_that_wakes(&self) -> u64 {
        let whole = self.linux.send_memory.max(self.send.capacity());
        whole.div_ceil(3)
    }

    /// After an acknowledgment. If a writer waits while the window has room for more, the buffer is too small
    /// (`tcp_new_space`). A kernel looks when what the acknowledgment lets out has left; what pacing holds back has not.
    pub(super) fn offer_tuned_room(&mut self, now: Instant) {
        if !self.write_blocked || !tunes(&self.profile) {
            return;
        }
        let leaving = if self.is_held_by_pacing(now) {
            0
        } else {
            self.unsent().div_ceil(u64::from(self.segment_size))
        };
        let filled = u64::from(self.segments_in_flight()) + leaving;
        if filled < u64::from(self.window_segments()) {
            self.expand_send_buffer();
        }
        self.fit_send_buffer();
        self.offer_room();
    }

    /// Tells a writer that waits, once a third of the buffer is free.
    pub(in crate::tcp) fn offer_room(&mut self) {
        if self.write_blocked && self.send.room() >= self.room_that_wakes() {
            self.write_blocked = false;
            self.report(Event::Writable);
        }
    }
}
