//! A receive window that grows with the received data as in Linux (`tcp_grow_window`, `tcp_rcv_space_adjust` and
//! `tcp_rcvbuf_grow` of 6.18), which took dynamic right-sizing ([`super::right_sizing`]) further.
//!
//! The window has two limits. The *buffer* follows the bytes that the application read in a round trip: twice that,
//! plus its growth, so that a sender that doubles its window is never held up. The *limit*, Linux's `rcv_ssthresh`,
//! lets the window rise towards the buffer by two segments for each that arrives.
//!
//! The kernel counts memory. Half of it is reserved for overhead at first, later the actual overhead of the arriving
//! segments (`tcp_measure_rcv_mss`): as observed at TUN devices, the power of two that holds the packet, and a record.

use super::receiver::{Arrival, Receiver};
use crate::tcp::Common;
use crate::time::{Duration, Instant};

/// Initial memory of a connection (`tcp_rmem`), and the share of window in it before data arrives, in 256ths.
const FIRST_MEMORY: u32 = 131_072;
const FIRST_SHARE: u64 = 128;
/// Bytes of memory beside a segment's payload: headers, headroom and metadata of the kernel, and the record.
const HEADERS: u32 = 52 + 64 + 320;
const RECORD: u32 = 256;
/// Segments of the sender's first window, which do not count as growth: `TCP_INIT_CWND`.
const FIRST_SEGMENTS: u32 = 10;
/// Least length of a segment that raises the limit.
const LEAST_LENGTH: u32 = 128;

/// State of the receiver for a tuned window.
#[derive(Debug)]
pub(super) struct ReceiveTuning {
    /// Largest buffer, in bytes.
    largest: u32,
    /// Bytes of memory, and the share of window in it, in 256ths.
    memory: u32,
    share: u64,
    /// Length of the segments that determined the share.
    segment: u32,
    /// Round-trip time seen by this end: shorter samples count at once, longer ones by an eighth.
    round_trip: Option<Duration>,
    /// Last echo measured.
    echo: u32,
    /// Without timestamps: a round trip, taken as the time from this moment until "RCV.NXT" has advanced by a window.
    window_round: Option<(Instant, u64)>,
    /// Time of the last segment.
    arrived_at: Instant,
    /// Most bytes read in a round trip.
    most_read: u32,
    /// Position and time of the start of the present count.
    read_from: u64,
    since: Instant,
}

impl ReceiveTuning {
    /// Starts at the end of the handshake: `tcp_init_buffer_space`.
    pub(super) fn new(common: &Common, data: &Receiver, now: Instant) -> ReceiveTuning {
        let profile = &common.profile;
        let options = common.timestamps_length();
        let segment = u32::from(profile.maximum_segment_size).saturating_sub(options);
        let first = FIRST_SEGMENTS.saturating_mul(segment);
        ReceiveTuning {
            memory: FIRST_MEMORY.min(profile.receive_buffer.saturating_mul(2)),
            largest: profile.receive_buffer,
            share: FIRST_SHARE,
            segment: 0,
            round_trip: None,
            echo: 0,
            window_round: None,
            arrived_at: now,
            most_read: first.min(data.limit()).max(1),
            read_from: data.next(),
            since: now,
        }
    }

    /// Resumes with a buffer that has grown to so many bytes at another gateway; its growth is measured anew.
    pub(super) fn resume(&mut self, data: &mut Receiver, buffer: u32) {
        let most = self.largest.saturating_mul(2);
        self.read_from = data.next() - data.readable_bytes();
        // Half of the memory is window.
        self.memory = self.memory.max(buffer.saturating_mul(2)).min(most);
        self.use_memory(data);
    }

    /// Prepares for arrived data: takes the RTT sample of a full segment (`tcp_rcv_rtt_measure_ts`). `echo` is its
    /// timestamp echo, with the time since this end's clock showed it.
    pub(super) fn on_arrival(
        &mut self,
        now: Instant,
        echo: Option<(u32, Duration)>,
        is_full: bool,
        nothing_unread: bool,
    ) {
        self.arrived_at = now;
        if let Some((echo, rtt)) = echo
            && echo != self.echo
        {
            self.echo = echo;
            if is_full {
                self.sample(rtt, nothing_unread);
            }
        }
    }

    fn sample(&mut self, rtt: Duration, nothing_unread: bool) {
        let smoothed = |old: Duration| {
            let (old, rtt) = (old.as_nanos(), rtt.as_nanos());
            Duration::from_nanos(old - old / 8 + rtt / 8)
        };
        self.round_trip = Some(match self.round_trip {
            Some(old) if rtt < old => rtt,
            Some(old) if nothing_unread => smoothed(old),
            Some(old) => old,
            None => rtt,
        });
    }

    /// Takes in that data was accepted, from a sender whose full segments have `full` bytes (`tcp_grow_window`).
    /// Returns true if the limit of the window rises.
    pub(super) fn on_taken(
        &mut self,
        data: &mut Receiver,
        sack: bool,
        (length, full): (u32, u32),
        arrival: Arrival,
    ) -> bool {
        let most = 2 * length.max(full);
        match arrival {
            Arrival::InOrder { .. } => {
                self.measure_overhead(data, length);
                self.measure_window_round(data);
                length >= LEAST_LENGTH && data.raise_limit(most)
            }
            Arrival::Ahead => {
                // Since 6.17.
                self.measure_overhead(data, length);
                // Without SACK, a moving window would prevent the sender from counting duplicate ACKs.
                let rises = sack && data.raise_limit(most);
                self.grow_buffer(data, self.most_read);
                rises
            }
            Arrival::Nothing | Arrival::Scattered => false,
        }
    }

    /// Measures the share of window in the memory by the longest segment (`tcp_measure_rcv_mss`); half at least, since
    /// short segments are coalesced (`tcp_try_coalesce`), and a shrinking window may keep a sender waiting for a larger
    /// one.
    fn measure_overhead(&mut self, data: &mut Receiver, length: u32) {
        if length <= self.segment {
            return;
        }
        let memory = (length + HEADERS).next_power_of_two() + RECORD;
        self.segment = length;
        self.share = (256 * u64::from(length) / u64::from(memory)).max(FIRST_SHARE);
        self.use_memory(data);
    }

    fn use_memory(&self, data: &mut Receiver) {
        let window = u64::from(self.memory) * self.share / 256;
        data.set_buffer(window.min(u64::from(self.largest)) as u32);
    }

    /// Takes an RTT sample from a window of data, which can only be too long: `tcp_rcv_rtt_measure`.
    fn measure_window_round(&mut self, data: &Receiver) {
        let (next, now) = (data.next(), self.arrived_at);
        match self.window_round {
            Some((_, end)) if next < end => return,
            Some((since, _)) => {
                let rtt = now.saturating_since(since).max(Duration::from_micros(1));
                if self.round_trip.is_none_or(|shortest| rtt < shortest) {
                    self.round_trip = Some(rtt);
                }
            }
            None => {}
        }
        self.window_round = Some((now, next + data.window()));
    }

    /// Evaluates once a round trip the bytes that the application has read in it (`tcp_rcv_space_adjust`).
    pub(super) fn after_reading(&mut self, data: &mut Receiver) {
        let unread = data.readable_bytes();
        let position = data.next() - unread;
        let time = self.arrived_at.saturating_since(self.since);
        if self.round_trip.is_none_or(|round_trip| time < round_trip) {
            return;
        }
        let read = (position - self.read_from).saturating_sub(unread);
        (self.read_from, self.since) = (position, self.arrived_at);
        let read = u32::try_from(read).unwrap_or(u32::MAX);
        if read > self.most_read {
            self.grow_buffer(data, read);
        }
    }

    /// Grows the buffer for the next round trip, after `read` bytes in the last one: `tcp_rcvbuf_grow`.
    fn grow_buffer(&mut self, data: &mut Receiver, read: u32) {
        let before = core::mem::replace(&mut self.most_read, read);
        let wanted = room_for(read, before).saturating_add(data.ahead()) * 256 / self.share;
        let most = u64::from(self.largest) * 2;
        if wanted > u64::from(self.memory) {
            self.memory = wanted.min(most).min(u64::from(u32::MAX)) as u32;
            self.use_memory(data);
        }
    }
}

/// Returns the initial buffer and limit of a connection with a buffer of at most `largest` bytes.
pub(super) fn first_window(largest: u32, segment_size: u32) -> (u32, u32) {
    let buffer = largest.min(FIRST_MEMORY / 2);
    let segment = segment_size.max(1);
    // In whole segments, if there is room for one.
    let limit = if buffer > segment {
        buffer / segment * segment
    } else {
        buffer
    };
    (buffer, limit)
}

/// Returns the number of bytes of window for an application that has read `read` bytes in a round trip, and at most
/// `before` in one until then (not zero): twice as much, since the count is a round trip old; and more for the growth,
/// which may continue, and again in the next round trip.
fn room_for(read: u32, before: u32) -> u64 {
    let (read, before) = (u64::from(read), u64::from(before));
    let window = 2 * read;
    let growth = window * read.saturating_sub(before) / before;
    window + 2 * growth
}

#[cfg(test)]
mod tests {
    use super::room_for;

    /// Observed in a kernel (6.18.44, tracepoint `tcp_rcvbuf_grow`): bytes read, the most before, data beyond a gap,
    /// and its `window_clamp` afterwards, rounded down by the conversion to memory.
    #[test]
    fn a_kernels_windows() {
        for (read, before, ahead, clamp) in [
            (30_408, 15_928, 0, 171_390),
            (78_192, 37_648, 0, 493_210),
            (156_952, 78_192, 39_096, 985_367),
        ] {
            let off = room_for(read, before) + ahead - clamp;
            assert!(off <= 1, "{clamp}");
        }
    }
}
