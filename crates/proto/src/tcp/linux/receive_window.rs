//! A receive window that grows with what is received: dynamic right-sizing (Fisk and Feng, 2001), as Linux does it
//! (`tcp_grow_window`, `tcp_rcv_space_adjust` and `tcp_rcvbuf_grow` of 6.18).
//!
//! Two bounds hold the window. The *buffer* follows what the application has read in a round trip: twice that, and as
//! much more as it has grown, so that a sender that doubles its window is never held up. The *limit*, Linux's
//! `rcv_ssthresh`, lets the window rise to it by two segments for each that arrives.
//!
//! The kernel counts memory. Of that it takes half for its overhead at first, and what the segments that come need of it
//! later (`tcp_measure_rcv_mss`): seen at TUN devices, the power of two that holds the packet, and a record.

use super::Connection;
use crate::tcp::options::TIMESTAMPS_LENGTH;
use crate::tcp::profile::Profile;
use crate::tcp::receive::Arrival;
use crate::time::{Duration, Instant};
use crate::wire::tcp::TcpHeader;

/// Memory with which a connection begins (`tcp_rmem`), and what of it is window before data has come, in 256ths.
const FIRST_MEMORY: u32 = 131_072;
const FIRST_SHARE: u64 = 128;
/// Bytes of memory beside a segment's payload: headers, room before them and the kernel's notes, and the record.
const HEADERS: u32 = 52 + 64 + 320;
const RECORD: u32 = 256;
/// Segments of the sender's first window, which are no growth: `TCP_INIT_CWND`.
const FIRST_SEGMENTS: u32 = 10;
/// A segment that is shorter does not raise the limit.
const LEAST_LENGTH: u32 = 128;

/// Memory of the receiver of a tuned window.
#[derive(Debug)]
pub(super) struct ReceiveTuning {
    /// Bytes of memory, and what of them is window, in 256ths.
    memory: u32,
    share: u64,
    /// Length of the segments that the share is for.
    segment: u32,
    /// A round trip as this end sees it: the shortest counts at once, longer ones by an eighth.
    round_trip: Option<Duration>,
    /// Echo that was measured last.
    echo: u32,
    /// Without timestamps: a window's worth takes a round trip, from this time until "RCV.NXT" is there.
    window_round: Option<(Instant, u64)>,
    /// Time of the last segment.
    arrived_at: Instant,
    /// Most bytes read in a round trip.
    most_read: u32,
    /// Place and time of the present count's beginning.
    read_from: u64,
    since: Instant,
}

impl ReceiveTuning {
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
}

/// Buffer and limit of a connection that begins, in bytes.
pub(in crate::tcp) fn first_window(profile: &Profile) -> (u32, u32) {
    if !profile.receive_autotuning {
        return (profile.receive_buffer, u32::MAX);
    }
    let buffer = profile.receive_buffer.min(FIRST_MEMORY / 2);
    let segment = u32::from(profile.maximum_segment_size).max(1);
    // Whole segments, if there is room for one.
    let limit = if buffer > segment {
        buffer / segment * segment
    } else {
        buffer
    };
    (buffer, limit)
}

impl Connection {
    /// The handshake is over: `tcp_init_buffer_space`.
    pub(super) fn start_receive_tuning(&mut self, now: Instant) {
        if !self.profile.receive_autotuning {
            return;
        }
        let options = if self.negotiated.timestamps {
            TIMESTAMPS_LENGTH
        } else {
            0
        };
        let segment = u32::from(self.profile.maximum_segment_size).saturating_sub(options);
        let first = FIRST_SEGMENTS.saturating_mul(segment);
        self.linux.receiving = Some(Box::new(ReceiveTuning {
            memory: FIRST_MEMORY.min(self.profile.receive_buffer.saturating_mul(2)),
            share: FIRST_SHARE,
            segment: 0,
            round_trip: None,
            echo: 0,
            window_round: None,
            arrived_at: now,
            most_read: first.min(self.receive.limit()).max(1),
            read_from: self.receive.next(),
            since: now,
        }));
    }

    /// Goes on with a buffer that has grown to so many bytes elsewhere; what it grows by is measured anew.
    pub(in crate::tcp) fn resume_receive_tuning(&mut self, buffer: u32) {
        let most = self.profile.receive_buffer.saturating_mul(2);
        let read = self.receive.next() - self.receive.readable_bytes();
        if let Some(tuning) = &mut self.linux.receiving {
            tuning.read_from = read;
            // Half of it is window.
            tuning.memory = tuning.memory.max(buffer.saturating_mul(2)).min(most);
            self.use_receive_memory();
        }
    }

    /// Data arrives and is not yet taken in: what round trip it shows (`tcp_rcv_rtt_measure_ts`).
    pub(in crate::tcp) fn measure_for_receive_window(
        &mut self,
        now: Instant,
        header: &TcpHeader,
        length: u32,
    ) {
        let echo = header.options.timestamps.map(|stamps| stamps.echo);
        let rtt = echo
            .filter(|_| self.negotiated.timestamps)
            .and_then(|echo| self.since_timestamp(now, echo));
        let (full, unread) = (self.largest_received, self.receive.readable_bytes());
        let Some(tuning) = &mut self.linux.receiving else {
            return;
        };
        tuning.arrived_at = now;
        if let (Some(rtt), Some(echo)) = (rtt, echo)
            && echo != tuning.echo
        {
            tuning.echo = echo;
            if length >= full {
                tuning.sample(rtt, unread == 0);
            }
        }
    }

    /// Data was taken in.
    pub(in crate::tcp) fn grow_receive_window(&mut self, length: u32, arrival: Arrival) {
        match arrival {
            Arrival::InOrder { .. } => {
                self.measure_overhead(length);
                self.measure_window_round();
                if length >= LEAST_LENGTH {
                    self.raise_receive_limit(length);
                }
            }
            // Without SACK a window that moves would keep the sender from counting duplicates.
            Arrival::Ahead => {
                // Since 6.17.
                self.measure_overhead(length);
                if self.negotiated.sack {
                    self.raise_receive_limit(length);
                }
                if let Some(tuning) = &self.linux.receiving {
                    self.grow_receive_buffer(tuning.most_read);
                }
            }
            Arrival::Nothing | Arrival::Scattered => {}
        }
    }

    /// The longest segment tells what of the memory is window (`tcp_measure_rcv_mss`); half at least, since short ones are
    /// put together (`tcp_try_coalesce`), and a window that shrinks may keep a sender waiting for a larger one.
    fn measure_overhead(&mut self, length: u32) {
        let Some(tuning) = self.linux.receiving.as_mut() else {
            return;
        };
        if length <= tuning.segment {
            return;
        }
        let memory = (length + HEADERS).next_power_of_two() + RECORD;
        tuning.segment = length;
        tuning.share = (256 * u64::from(length) / u64::from(memory)).max(FIRST_SHARE);
        self.use_receive_memory();
    }

    fn use_receive_memory(&mut self) {
        if let Some(tuning) = &self.linux.receiving {
            let window = u64::from(tuning.memory) * tuning.share / 256;
            let most = u64::from(self.profile.receive_buffer);
            self.receive.set_buffer(window.min(most) as u32);
        }
    }

    /// `tcp_rcv_rtt_measure`: a sample that can only be too long.
    fn measure_window_round(&mut self) {
        let (next, window) = (self.receive.next(), self.receive.window());
        let Some(tuning) = &mut self.linux.receiving else {
            return;
        };
        let now = tuning.arrived_at;
        match tuning.window_round {
            Some((_, end)) if next < end => return,
            Some((since, _)) => {
                let rtt = now.saturating_since(since).max(Duration::from_micros(1));
                if tuning.round_trip.is_none_or(|shortest| rtt < shortest) {
                    tuning.round_trip = Some(rtt);
                }
            }
            None => {}
        }
        tuning.window_round = Some((now, next + window));
    }

    /// `tcp_grow_window`. While the limit rises, segments are acknowledged at once.
    fn raise_receive_limit(&mut self, length: u32) {
        let most = 2 * length.max(self.receive_segment_size());
        if self.receive.raise_limit(most) {
            self.acks.hurry_one();
        }
    }

    /// The application has read: once a round trip, what it has read in it (`tcp_rcv_space_adjust`).
    pub(in crate::tcp) fn tune_receive_buffer(&mut self) {
        let unread = self.receive.readable_bytes();
        let position = self.receive.next() - unread;
        let Some(tuning) = &mut self.linux.receiving else {
            return;
        };
        let time = tuning.arrived_at.saturating_since(tuning.since);
        if tuning.round_trip.is_none_or(|round_trip| time < round_trip) {
            return;
        }
        let read = (position - tuning.read_from).saturating_sub(unread);
        (tuning.read_from, tuning.since) = (position, tuning.arrived_at);
        let read = u32::try_from(read).unwrap_or(u32::MAX);
        if read > tuning.most_read {
            self.grow_receive_buffer(read);
        }
    }

    /// `tcp_rcvbuf_grow`: room for what `read` bytes a round trip may become in the next.
    fn grow_receive_buffer(&mut self, read: u32) {
        let ahead = self.receive.ahead();
        let Some(tuning) = &mut self.linux.receiving else {
            return;
        };
        let before = core::mem::replace(&mut tuning.most_read, read);
        let wanted = room_for(read, before).saturating_add(ahead) * 256 / tuning.share;
        let most = u64::from(self.profile.receive_buffer) * 2;
        if wanted > u64::from(tuning.memory) {
            tuning.memory = wanted.min(most).min(u64::from(u32::MAX)) as u32;
            self.use_receive_memory();
        }
    }
}

/// Bytes of window for one who has read `read` bytes in a round trip, and `before` in the best one until then (not zero):
/// a count is a round trip old, so twice as much; and the growth may go on, and once more so in the round trip after.
fn room_for(read: u32, before: u32) -> u64 {
    let (read, before) = (u64::from(read), u64::from(before));
    let window = 2 * read;
    let growth = window * read.saturating_sub(before) / before;
    window + 2 * growth
}

#[cfg(test)]
mod tests {
    use super::room_for;

    /// A kernel (6.18.44) was seen with these: bytes read, the most before, data beyond a gap, and its `window_clamp`
    /// afterwards, which it rounds down by way of its memory (tracepoint `tcp_rcvbuf_grow`).
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
