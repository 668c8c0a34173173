//! A send buffer that grows with the congestion window, when a writer waits for room and the window is not full:
//! `tcp_sndbuf_expand`.

use super::{Common, Flow, LinuxState};
use crate::tcp::Event;
use crate::tcp::common::Events;
use crate::tcp::profile::{Profile, Recovery};
use crate::tcp::space::SendSpace;
use crate::time::Instant;

/// Initial size: `tcp_wmem`.
const FIRST_BUFFER: u32 = 16_384;
/// Least size in segments: `TCP_INIT_CWND`.
const LEAST_SEGMENTS: u32 = 10;
/// Windows in the buffer: one in flight and one ready to follow; a control that paces needs one more.
const WINDOWS: u32 = 2;
const PACED_WINDOWS: u32 = 3;
/// The kernel's space for headers and metadata of a segment, and the segment's own record.
const HEADERS: u32 = 640;
const RECORD: u32 = 256;
/// Charge for each piece in flight, beside its payload. Observed: ACKs free a third of 4,194,304 bytes when 1683
/// segments of 1448 bytes are in flight in pieces of four; unsent data is one piece (`tcp_fragment`).
const PIECE_CHARGE: u64 = 832;

/// Returns the initial send buffer of a connection, in bytes.
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

/// Room for more of the application's data, and a waiting writer.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp) struct SendRoom {
    /// True after a partial write: the application waits for room.
    awaited: bool,
    /// Memory of a buffer that tunes itself, in bytes: `sk_sndbuf`. It never shrinks; zero if the buffer does not tune
    /// itself.
    memory: u64,
}

impl SendRoom {
    /// Notes a write, partial if `short`.
    pub(in crate::tcp) fn note_write(&mut self, short: bool) {
        self.awaited |= short;
    }

    /// Returns true if a writer waits.
    pub(in crate::tcp) fn is_awaited(&self) -> bool {
        self.awaited
    }

    /// Fits the payload into the rest of the memory, in whole segments.
    pub(in crate::tcp) fn fit(&self, space: &mut SendSpace) {
        if self.memory == 0 {
            return;
        }
        let charged = PIECE_CHARGE * (space.sent.pieces() as u64 + 1);
        let size = u64::from(space.segment_size());
        let left = self.memory.saturating_sub(charged);
        space.buffer.resize(left.div_ceil(size).max(1) * size);
    }

    /// Returns true if there is room that wakes a writer: a third of the memory (`sk_stream_is_writeable`), or of a buffer of one
    /// size.
    pub(in crate::tcp) fn wakes(&self, space: &SendSpace) -> bool {
        let whole = self.memory.max(space.buffer.capacity());
        space.buffer.room() >= whole.div_ceil(3)
    }

    /// Reports room to a waiting writer, once a third of the buffer is free.
    pub(in crate::tcp) fn offer(&mut self, space: &SendSpace, events: &mut Events) {
        if self.awaited && self.wakes(space) {
            self.awaited = false;
            events.report(Event::Writable);
        }
    }
}

impl LinuxState {
    /// Expands the memory to two windows of segments, each charged with its size in a kernel: a power of two. The
    /// payload that fits is less, by the charges of segments.
    pub(super) fn expand_send_buffer(&self, flow: &mut Flow, common: &Common) {
        if !tunes(&common.profile) {
            return;
        }
        let segments = LEAST_SEGMENTS
            .max(flow.window_segments())
            .max(self.order.reordering() + 1);
        let windows = if self.rate.is_some() {
            PACED_WINDOWS
        } else {
            WINDOWS
        };
        let memory = (flow.space.segment_size() + HEADERS).next_power_of_two() + RECORD;
        let wanted = u64::from(windows) * u64::from(segments) * u64::from(memory);
        let memory = wanted.min(u64::from(common.profile.send_buffer));
        flow.room.memory = flow.room.memory.max(memory);
        flow.room.fit(&mut flow.space);
    }

    /// Expands the buffer after an ACK, if a writer waits while the window has room for more (`tcp_new_space`). A
    /// kernel checks after sending in response to the ACK; paced data is not sent yet.
    pub(super) fn offer_tuned_room(&self, flow: &mut Flow, common: &mut Common, now: Instant) {
        if !flow.room.is_awaited() || !tunes(&common.profile) {
            return;
        }
        let leaving = if self.is_held_by_pacing(now) {
            0
        } else {
            let size = u64::from(flow.space.segment_size());
            flow.space.unsent().div_ceil(size)
        };
        let filled = u64::from(self.in_flight(flow)) + leaving;
        if filled < u64::from(flow.window_segments()) {
            self.expand_send_buffer(flow, common);
        }
        flow.room.fit(&mut flow.space);
        flow.offer_room(common);
    }
}
