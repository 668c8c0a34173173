//! Rules for the segments of one end, judged from outside: only by the segments that it received and sent. Positions
//! count from the initial sequence number, as everywhere in TCP: 0 is the SYN.

use super::{INITIAL, STREAMS};
use baton_proto::packet::pattern_byte;
use baton_proto::tcp::{Connection, Segment, State};
use baton_proto::time::Instant;
use baton_proto::wire::sequence::SequenceNumber;
use baton_proto::wire::tcp::{TcpFlags, TcpHeader};

/// Segments beyond the congestion window that one burst may hold: a forced retransmission, one into an idle
/// network, and two of limited transmit (RFC 3042).
const BEYOND_WINDOW: u64 = 4;

/// The rules for one end.
pub struct Rules {
    initial: SequenceNumber,
    stream: u32,
    /// Window scale offered in the SYN sent, if any.
    our_shift: Option<u8>,
    /// Largest shift that any SYN of the peer's has offered.
    peer_shift: Option<u8>,
    /// True if the peer's SYNs have contradicted each other on scaling: an observer cannot know which one counted.
    contradicted: bool,
    syns: u32,
    /// Next position never sent.
    next: u64,
    /// Highest position acknowledged by the peer.
    heard: u64,
    /// Highest right edge of any window offered by the peer.
    edge: u64,
    /// Latest acknowledgment sent and the right edge of the window offered with it.
    acknowledged: Option<SequenceNumber>,
    offered: Option<SequenceNumber>,
}

impl Rules {
    /// Creates the rules for the end with this number: 0 connects, 1 accepts.
    pub fn new(end: usize) -> Rules {
        Rules {
            initial: INITIAL[end],
            stream: STREAMS[end],
            our_shift: None,
            peer_shift: None,
            contradicted: false,
            syns: 0,
            next: 0,
            heard: 0,
            edge: 0,
            acknowledged: None,
            offered: None,
        }
    }

    /// Returns the next position never sent.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Takes in a segment received by this end.
    pub fn received(&mut self, header: &TcpHeader) {
        let syn = header.flags.contains(TcpFlags::SYN);
        if syn {
            let scaled = header.options.window_scale.is_some();
            self.contradicted |= self.syns > 0 && scaled != self.peer_shift.is_some();
            self.syns += 1;
            self.peer_shift = self.peer_shift.max(header.options.window_scale);
        }
        let scales = self.our_shift.is_some() && !syn;
        let shift = self.peer_shift.filter(|_| scales).unwrap_or(0).min(14);
        let position = header.acknowledgment.distance_from(self.at(self.next));
        let position = self.next as i64 + i64::from(position);
        let base = match header.flags.contains(TcpFlags::ACK) {
            true if position < 0 || position > self.next as i64 => return,
            true => {
                self.heard = self.heard.max(position as u64);
                position as u64
            }
            // The window of a bare SYN counts from our first byte.
            false if syn => 1,
            false => return,
        };
        let edge = base + (u64::from(header.window) << shift);
        self.edge = self.edge.max(edge);
    }

    fn at(&self, position: u64) -> SequenceNumber {
        self.initial + position as u32
    }

    /// Takes in a segment that was sent.
    pub fn sent(&mut self, connection: &Connection, segment: &Segment) {
        let header = &segment.header;
        assert_eq!(header.source_port, connection.local().port);
        assert_eq!(header.destination_port, connection.remote().port);
        if header.flags.contains(TcpFlags::RST) {
            assert!(segment.payload.is_empty());
            return;
        }
        let syn = header.flags.contains(TcpFlags::SYN);
        if syn {
            self.our_shift = header.options.window_scale;
            assert_eq!(header.sequence, self.initial, "a SYN with another number");
        }
        assert!(
            segment.payload.length() <= connection.segment_size(),
            "{} bytes in a segment of at most {}",
            segment.payload.length(),
            connection.segment_size()
        );
        assert!(header.wire_length() <= 60);
        self.check_place(segment);
        if header.flags.contains(TcpFlags::ACK) {
            self.check_acknowledgment(header);
        }
    }

    /// Checks that new data follows the data sent, within the peer's window; all else was sent before.
    fn check_place(&mut self, segment: &Segment) {
        let header = &segment.header;
        let flag = |bit| u64::from(header.flags.contains(bit));
        let length =
            u64::from(segment.payload.length()) + flag(TcpFlags::SYN) + flag(TcpFlags::FIN);
        let distance = header.sequence.distance_from(self.at(self.next));
        assert!(distance <= 0, "{distance} bytes were left out: {segment:?}");
        let start = self.next as i64 + i64::from(distance);
        assert!(start >= 0, "before the SYN: {segment:?}");
        let (start, end) = (start as u64, start as u64 + length);
        if length == 0 {
            // Linux probes a shut window by a number that is already acknowledged (RFC 9293 section 3.8.4 has it, too).
            let probe = start < self.heard;
            assert!(start == self.next || probe, "an old number: {segment:?}");
            return;
        }
        if start == self.next {
            assert!(!segment.retransmission, "new, and called old: {segment:?}");
            let probe = length == 1;
            let within = end <= self.edge || header.flags.contains(TcpFlags::SYN);
            assert!(within || probe, "sent {end}, offered {}", self.edge);
            self.next = end;
        } else {
            assert!(end <= self.next, "old and new in one: {segment:?}");
            assert!(segment.retransmission, "old, and called new: {segment:?}");
        }
        let mut bytes = Vec::new();
        segment.payload.copy_into(&mut bytes);
        for (position, byte) in (start.saturating_sub(1)..).zip(bytes) {
            assert_eq!(byte, pattern_byte(self.stream, position), "at {position}");
        }
    }

    /// Checks that neither the acknowledgment nor the window's right edge ever moves back (RFC 9293 section 3.8.6).
    fn check_acknowledgment(&mut self, header: &TcpHeader) {
        let syn = header.flags.contains(TcpFlags::SYN);
        let scales = self.peer_shift.is_some() && !syn;
        let shift = self.our_shift.filter(|_| scales).unwrap_or(0);
        let offered = header.acknowledgment + (u32::from(header.window) << shift);
        for (before, now, what) in [
            (self.acknowledged, header.acknowledgment, "acknowledgment"),
            // The window of a retransmitted SYN cannot express a scaled window sent meanwhile.
            (
                self.offered.filter(|_| !syn && !self.contradicted),
                offered,
                "right edge of the window",
            ),
        ] {
            let back = before.is_some_and(|before| before.is_after(now));
            assert!(
                !back,
                "the {what} moved back from {before:?} to {now:?}: {header:?}"
            );
        }
        self.acknowledged = Some(header.acknowledgment);
        self.offered = Some(self.offered.map_or(offered, |before| before.later(offered)));
    }
}

/// Sends everything due at `now`, judged by the rules; `each` takes the segments.
pub fn drain(
    now: Instant,
    connection: &mut Connection,
    rules: &mut Rules,
    mut each: impl FnMut(Segment),
) {
    let (mut window, mut sent, mut bare) = (0, 0, 0);
    loop {
        window = window.max(u64::from(connection.congestion_window()));
        let Some(segment) = connection.poll_transmit(now) else {
            break;
        };
        rules.sent(connection, &segment);
        sent += u64::from(segment.payload.length());
        let silent = TcpFlags(TcpFlags::SYN.0 | TcpFlags::FIN.0 | TcpFlags::RST.0);
        bare += u32::from(segment.payload.is_empty() && segment.header.flags.0 & silent.0 == 0);
        each(segment);
    }
    assert!(bare <= 1, "{bare} bare acknowledgments at once");
    let most = window + BEYOND_WINDOW * u64::from(connection.segment_size());
    assert!(sent <= most, "{sent} bytes at once, window {window}");
}

/// Serves the timers due at `now`, of which none may be due again and again.
pub fn serve_timers(now: Instant, connection: &mut Connection) {
    for _ in 0..4 {
        if connection.poll_timeout().is_none_or(|at| at > now) {
            return;
        }
        connection.handle_timeout(now);
    }
    panic!("a timer is due again and again at {now}");
}

/// Checks the rules for a connection whose segments are drained and whose timers are served.
pub fn check_rest(now: Instant, connection: &Connection, written: u64, most_memory: usize) {
    let waits = written > connection.bytes_acknowledged() || connection.bytes_in_flight() > 0;
    let alive = !matches!(connection.state(), State::Closed | State::TimeWait);
    let timeout = connection.poll_timeout();
    assert!(
        timeout.is_none_or(|at| at > now),
        "due at {timeout:?}, now {now}"
    );
    assert!(
        !(waits && alive) || timeout.is_some(),
        "it waits for nothing"
    );
    let memory = connection.memory();
    assert!(memory <= most_memory, "{memory} bytes of memory");
}
