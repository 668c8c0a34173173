//! One half of a split connection in a message.
//!
//! Sequence numbers are distances from the initial one, which do not wrap: 0 is the SYN, 1 the first byte.

use super::codec::{Reader, write_count, write_duration, write_optional, write_payload};
use super::field;
use crate::packet::Payload;
use crate::time::Duration;
use crate::wire::DecodeError;
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::Negotiated;

/// States, by the numbers of `tcpConnectionState` (RFC 4022).
#[allow(missing_docs)] // RFC 9293 section 3.3.2 defines these names.
pub mod state {
    pub const CLOSED: u8 = 1;
    pub const SYN_SENT: u8 = 3;
    pub const SYN_RECEIVED: u8 = 4;
    pub const ESTABLISHED: u8 = 5;
    pub const FIN_WAIT_1: u8 = 6;
    pub const FIN_WAIT_2: u8 = 7;
    pub const CLOSE_WAIT: u8 = 8;
    pub const LAST_ACK: u8 = 9;
    pub const CLOSING: u8 = 10;
    pub const TIME_WAIT: u8 = 11;
}

/// Largest window of a header (RFC 7323 section 2.3).
const LARGEST_WINDOW: u32 = 0xFFFF << LARGEST_SHIFT;
const LARGEST_SHIFT: u8 = 14;
/// Absence of window scaling.
const NO_SHIFT: u8 = 0xFF;

/// State of a half for its new gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpContext {
    /// One of [`state`].
    pub state: u8,
    /// True if a FIN follows the written data.
    pub close_requested: bool,
    /// True if a SYN or SYN-ACK is due.
    pub syn_due: bool,
    /// True if an ACK is due.
    pub ack_due: bool,
    /// True if a probe of the closed window is due.
    pub probe_due: bool,
    /// Initial sequence number of this end.
    pub initial_sequence: SequenceNumber,
    /// Initial sequence number of the peer.
    pub peer_initial_sequence: SequenceNumber,
    /// Negotiated options.
    pub negotiated: Negotiated,
    /// "SND.UNA".
    pub unacknowledged: u64,
    /// "SND.NXT".
    pub next: u64,
    /// "SND.WND", in bytes.
    pub peer_window: u32,
    /// Largest window offered by the peer, in bytes.
    pub largest_peer_window: u32,
    /// "SND.WL1" and "SND.WL2".
    pub window_update: (u64, u64),
    /// Bytes written since the start of the connection.
    pub written: u64,
    /// Bytes written and not acknowledged.
    pub unacknowledged_bytes: Vec<Payload>,
    /// Segments in flight, in order, from "SND.UNA" to "SND.NXT".
    pub outstanding: Vec<OutstandingSegment>,
    /// "RCV.NXT".
    pub expected: u64,
    /// End of the offered window.
    pub window_end: u64,
    /// Receive buffer, in bytes, and limit of the window within it; their present sizes if they tune themselves.
    pub receive_buffer: (u32, u32),
    /// Bytes received and not read.
    pub unread: Vec<Payload>,
    /// Bytes received beyond a gap, with their positions, ascending.
    pub beyond_gap: Vec<(u64, Payload)>,
    /// Position of the peer's FIN, if it has arrived.
    pub peer_fin: Option<u64>,
    /// Bytes received in order and not acknowledged.
    pub unanswered: u64,
    /// Position acknowledged by the last ACK.
    pub last_acknowledged: u64,
    /// Largest payload received, in bytes.
    pub largest_received: u32,
    /// Congestion window, in bytes.
    pub congestion_window: u32,
    /// Slow-start threshold, in bytes; `u32::MAX` while it is "arbitrarily high".
    pub slow_start_threshold: u32,
    /// Estimates of the round-trip time.
    pub round_trip: RoundTrip,
    /// Transmissions of the SYN, and the time since the last one.
    pub syn_transmissions: (u8, Duration),
    /// Time since data was last sent.
    pub idle: Option<Duration>,
    /// Reading of this end's timestamp clock, in milliseconds.
    pub timestamp_clock: u32,
    /// "TS.Recent", and the time since it was taken.
    pub recent_timestamp: (u32, Duration),
    /// Doublings of the persist timer.
    pub persist_backoff: u8,
    /// Running timers.
    pub timers: Timers,
}

/// A segment in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutstandingSegment {
    /// Length in sequence space: bytes, and one for a FIN.
    pub length: u32,
    /// Time since its last transmission.
    pub age: Duration,
    /// True if SACKed.
    pub sacked: bool,
    /// True if considered lost.
    pub lost: bool,
    /// True if retransmitted since.
    pub resent: bool,
    /// True if sent more than once.
    pub retransmitted: bool,
}

/// Estimates of the round-trip time (RFC 6298).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// Smoothed round-trip time; `None` before the first sample.
    pub smoothed: Option<Duration>,
    /// Variation of the round-trip time.
    pub variation: Duration,
    /// Timeout without its doublings and bounds.
    pub timeout: Duration,
    /// Doublings of the timeout.
    pub backoff: u8,
}

/// Remaining time of each running timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timers {
    /// Retransmission of SYN, data or FIN (RFC 6298).
    pub retransmission: Option<Duration>,
    /// Probe of a window that has stopped this end (RFC 9293 section 3.8.6.1).
    pub persist: Option<Duration>,
    /// Delayed ACK (RFC 1122 section 4.2.3.2).
    pub delayed_ack: Option<Duration>,
    /// End of TIME-WAIT.
    pub time_wait: Option<Duration>,
}

impl TcpContext {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.state);
        let flags = [
            self.close_requested,
            self.syn_due,
            self.ack_due,
            self.probe_due,
            self.negotiated.timestamps,
            self.negotiated.sack,
        ];
        out.push(bits(&flags));
        let (ours, theirs) = self
            .negotiated
            .window_shifts
            .unwrap_or((NO_SHIFT, NO_SHIFT));
        out.extend_from_slice(&[ours, theirs]);
        out.extend_from_slice(&self.negotiated.snack_unit.unwrap_or(0).to_be_bytes());
        out.extend_from_slice(&self.negotiated.peer_segment_size.to_be_bytes());
        out.extend_from_slice(&[self.syn_transmissions.0, self.round_trip.backoff]);
        out.push(self.persist_backoff);
        let (buffer, bound) = self.receive_buffer;
        for number in [
            self.initial_sequence.0,
            self.peer_initial_sequence.0,
            self.peer_window,
            self.largest_peer_window,
            buffer,
            bound,
            self.largest_received,
            self.congestion_window,
            self.slow_start_threshold,
            self.timestamp_clock,
            self.recent_timestamp.0,
        ] {
            out.extend_from_slice(&number.to_be_bytes());
        }
        for position in [
            self.unacknowledged,
            self.next,
            self.window_update.0,
            self.window_update.1,
            self.written,
            self.expected,
            self.window_end,
            self.unanswered,
            self.last_acknowledged,
        ] {
            out.extend_from_slice(&position.to_be_bytes());
        }
        write_optional(self.peer_fin, out);
        self.encode_times(out);
        write_count(self.unacknowledged_bytes.len(), out);
        for run in &self.unacknowledged_bytes {
            write_payload(run, out);
        }
        write_count(self.outstanding.len(), out);
        for segment in &self.outstanding {
            segment.encode(out);
        }
        write_count(self.unread.len(), out);
        for run in &self.unread {
            write_payload(run, out);
        }
        write_count(self.beyond_gap.len(), out);
        for (start, run) in &self.beyond_gap {
            out.extend_from_slice(&start.to_be_bytes());
            write_payload(run, out);
        }
    }

    fn encode_times(&self, out: &mut Vec<u8>) {
        write_duration(self.syn_transmissions.1, out);
        write_duration(self.recent_timestamp.1, out);
        write_duration(self.round_trip.variation, out);
        write_duration(self.round_trip.timeout, out);
        let Timers {
            retransmission,
            persist,
            delayed_ack,
            time_wait,
        } = self.timers;
        let smoothed = self.round_trip.smoothed;
        for duration in [
            smoothed,
            self.idle,
            retransmission,
            persist,
            delayed_ack,
            time_wait,
        ] {
            write_optional(duration.map(Duration::as_nanos), out);
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<TcpContext, DecodeError> {
        let state = reader.u8()?;
        let flags = reader.u8()?;
        let flag = |place: u8| flags & 1 << place != 0;
        if flags >> 6 != 0 {
            return Err(field("flags", u64::from(flags)));
        }
        let negotiated = Negotiated {
            timestamps: flag(4),
            sack: flag(5),
            window_shifts: match (reader.u8()?, reader.u8()?) {
                (NO_SHIFT, NO_SHIFT) => None,
                shifts => Some(shifts),
            },
            snack_unit: Some(reader.u16()?).filter(|&unit| unit > 0),
            peer_segment_size: reader.u16()?,
        };
        let (syn_transmissions, backoff, persist_backoff) =
            (reader.u8()?, reader.u8()?, reader.u8()?);
        let mut numbers = [0; 11];
        for number in &mut numbers {
            *number = reader.u32()?;
        }
        let mut positions = [0; 9];
        for position in &mut positions {
            *position = reader.position("position")?;
        }
        let peer_fin = reader.optional("peer's FIN")?;
        let syn_age = reader.duration("time since the SYN")?;
        let recent_age = reader.duration("age of TS.Recent")?;
        let round_trip = RoundTrip {
            variation: reader.duration("RTTVAR")?,
            timeout: reader.duration("RTO")?,
            smoothed: reader.optional_duration("SRTT")?,
            backoff,
        };
        let read = TcpContext {
            state,
            close_requested: flag(0),
            syn_due: flag(1),
            ack_due: flag(2),
            probe_due: flag(3),
            initial_sequence: SequenceNumber(numbers[0]),
            peer_initial_sequence: SequenceNumber(numbers[1]),
            negotiated,
            unacknowledged: positions[0],
            next: positions[1],
            peer_window: numbers[2],
            largest_peer_window: numbers[3],
            window_update: (positions[2], positions[3]),
            written: positions[4],
            expected: positions[5],
            window_end: positions[6],
            receive_buffer: (numbers[4], numbers[5]),
            peer_fin,
            unanswered: positions[7],
            last_acknowledged: positions[8],
            largest_received: numbers[6],
            congestion_window: numbers[7],
            slow_start_threshold: numbers[8],
            round_trip,
            syn_transmissions: (syn_transmissions, syn_age),
            idle: reader.optional_duration("time since data")?,
            timestamp_clock: numbers[9],
            recent_timestamp: (numbers[10], recent_age),
            persist_backoff,
            timers: Timers {
                retransmission: reader.optional_duration("retransmission timer")?,
                persist: reader.optional_duration("persist timer")?,
                delayed_ack: reader.optional_duration("delay of an acknowledgment")?,
                time_wait: reader.optional_duration("TIME-WAIT")?,
            },
            unacknowledged_bytes: reader.list(Reader::payload)?,
            outstanding: reader.list(OutstandingSegment::read)?,
            unread: reader.list(Reader::payload)?,
            beyond_gap: reader
                .list(|reader| Ok((reader.position("start beyond a gap")?, reader.payload()?)))?,
        };
        read.check_sending()?;
        read.check_receiving()?;
        Ok(read)
    }

    /// Refuses inconsistent sequence numbers, options and send buffer.
    fn check_sending(&self) -> Result<(), DecodeError> {
        let (oldest, next, written) = (self.unacknowledged, self.next, self.written);
        let is_handshake = matches!(self.state, state::SYN_SENT | state::SYN_RECEIVED);
        let has_closed = self.close_requested && next == written + 2;
        let fits = match self.state {
            state::CLOSED => true,
            state::SYN_SENT | state::SYN_RECEIVED => oldest == 0 && next <= 1,
            state::ESTABLISHED | state::CLOSE_WAIT => oldest > 0 && next <= written + 1,
            state::FIN_WAIT_1 | state::LAST_ACK | state::CLOSING => oldest > 0 && has_closed,
            state::FIN_WAIT_2 | state::TIME_WAIT => oldest == next && has_closed,
            other => return Err(field("state", u64::from(other))),
        };
        ensure(
            fits && oldest <= next && next <= written + 2,
            "SND.NXT",
            next,
        )?;
        let held: u64 = total(&self.unacknowledged_bytes);
        let released = oldest.saturating_sub(1).min(written);
        ensure(released + held == written, "bytes to send", held)?;
        let out: u64 = self
            .outstanding
            .iter()
            .map(|one| u64::from(one.length))
            .sum();
        let is_out = match self.state {
            state::CLOSED => 0,
            _ if is_handshake => 0,
            _ => next - oldest,
        };
        ensure(out == is_out, "bytes outstanding", out)?;
        let window = self.largest_peer_window.max(self.peer_window);
        ensure(window <= LARGEST_WINDOW, "SND.WND", u64::from(window))?;
        let (ours, theirs) = self.negotiated.window_shifts.unwrap_or_default();
        let shift = ours.max(theirs);
        ensure(shift <= LARGEST_SHIFT, "window shift", u64::from(shift))?;
        let window = self.congestion_window;
        ensure(window > 0, "congestion window", u64::from(window))
    }

    /// Refuses an inconsistent receive buffer and window.
    fn check_receiving(&self) -> Result<(), DecodeError> {
        let next = self.expected;
        let end = self.window_end;
        let largest = next.saturating_add(u64::from(LARGEST_WINDOW));
        ensure(next > 0, "RCV.NXT", next)?;
        ensure((next..=largest).contains(&end), "end of the window", end)?;
        let unread = total(&self.unread);
        ensure(unread < next, "bytes to read", unread)?;
        let mut before = next + 1;
        for (start, run) in &self.beyond_gap {
            ensure(*start >= before, "start beyond a gap", *start)?;
            before = start + u64::from(run.length());
            ensure(before <= end, "end beyond a gap", before)?;
        }
        let told = self.last_acknowledged.max(self.unanswered);
        ensure(told <= next, "last acknowledgment", told)?;
        let largest = self.largest_received;
        ensure(largest <= 0xFFFF, "largest payload", u64::from(largest))
    }
}

impl OutstandingSegment {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.length.to_be_bytes());
        write_duration(self.age, out);
        out.push(bits(&[
            self.sacked,
            self.lost,
            self.resent,
            self.retransmitted,
        ]));
    }

    fn read(reader: &mut Reader<'_>) -> Result<OutstandingSegment, DecodeError> {
        let length = reader.u32()?;
        let age = reader.duration("age of a segment")?;
        let flags = reader.u8()?;
        ensure(length > 0, "segment length", 0)?;
        ensure(flags >> 4 == 0, "segment flags", u64::from(flags))?;
        let flag = |place: u8| flags & 1 << place != 0;
        Ok(OutstandingSegment {
            length,
            age,
            sacked: flag(0),
            lost: flag(1),
            resent: flag(2),
            retransmitted: flag(3),
        })
    }
}

fn bits(flags: &[bool]) -> u8 {
    let bits = flags.iter().enumerate();
    bits.map(|(place, &flag)| u8::from(flag) << place).sum()
}

pub(super) fn total(runs: &[Payload]) -> u64 {
    runs.iter().map(|run| u64::from(run.length())).sum()
}

fn ensure(holds: bool, name: &'static str, value: u64) -> Result<(), DecodeError> {
    match holds {
        true => Ok(()),
        false => Err(field(name, value)),
    }
}
