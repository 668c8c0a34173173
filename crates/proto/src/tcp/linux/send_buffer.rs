//! A send buffer that grows with the congestion window: `tcp_sndbuf_expand`, when a writer waits for room and the
//! window is not full.

use super::Connection;
use crate::tcp::Event;
use crate::tcp::profile::{Profile, Recovery};
use crate::time::Instant;

/// What a connection begins with: `tcp_wmem`.
const FIRST_BUFFER: u32 = 16_384;
/// Segments for which there is room at least: `TCP_INIT_CWND`.
const LEAST_SEGMENTS: u32 = 10;
/// Windows that are held: one that is out and one that is ready to follow; a control that paces holds one more.
const WINDOWS: u32 = 2;
const PACED_WINDOWS: u32 = 3;
/// The kernel's room for headers and its notes on a segment, and the segment's own record.
const HEADERS: u32 = 640;
const RECORD: u32 = 256;
/// What a segment is charged beside its payload where the device takes no larger packets than the path (a kernel's `tcp_wmem`
/// of 4,194,304 bytes held 1,964 segments of 1448 bytes at a TUN device). Where packets are cut in the device, many
/// segments share it.
const CHARGED: u32 = 688;

/// Send buffer of a connection that begins, in bytes.
pub(in crate::tcp) fn first_size(profile: &Profile) -> u32 {
    if tunes(profile) {
        profile.send_buffer.min(FIRST_BUFFER)
    } else {
        profile.send_buffer
    }
}

/// Whether the buffer tunes itself.
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
        let segments = memory.div_ceil(u64::from(self.segment_size + CHARGED));
        self.send.grow(segments * u64::from(self.segment_size));
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
        self.offer_room();
    }

    /// Tells a writer that waits, once a third of the buffer is free.
    pub(in crate::tcp) fn offer_room(&mut self) {
        if self.write_blocked && self.send.room() >= self.send.capacity().div_ceil(3) {
            self.write_blocked = false;
            self.report(Event::Writable);
        }
    }
}
