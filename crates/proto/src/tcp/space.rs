//! The send sequence space (RFC 9293 section 3.3.1): data written, data in flight, and the peer's window.
//!
//! Positions are 64-bit distances from this end's initial sequence number: 0 is its SYN, 1 the first byte.

use super::sent::{Acknowledged, SentQueue, SentSegment};
use crate::packet::{Payload, SendBuffer};
use crate::time::Instant;
use crate::wire::sequence::SequenceNumber;
use crate::wire::split_context::TcpContext;

/// "SND.UNA", "SND.NXT", "SND.WND" and their data. Positions only rise, "SND.UNA" to "SND.NXT" at most, and the queue
/// holds the segments between the two.
#[derive(Debug)]
#[repr(C)]
pub(super) struct SendSpace {
    /// Largest payload of a segment.
    segment_size: u32,
    /// Initial sequence number of this end.
    initial: SequenceNumber,
    /// "SND.UNA".
    unacknowledged: u64,
    /// "SND.NXT".
    next: u64,
    /// "SND.WND", unscaled.
    window: u64,
    /// "MAX.SND.WND" (RFC 5961 section 5).
    largest_window: u64,
    /// "SND.WL1" and "SND.WL2": position and acknowledgment of the last window update.
    window_update: (i64, u64),
    /// True after the application has closed: a FIN follows the written data.
    closed: bool,
    /// Bytes less in the first segment, because it carries the SYN.
    beside_syn: u32,
    pub(super) buffer: SendBuffer,
    pub(super) sent: SentQueue,
    /// Time of the last departure of data.
    last_sent_at: Option<Instant>,
}

/// New data that fits the peer's window in one segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewData {
    /// Length, in bytes.
    pub(super) length: u64,
    /// Data written and never sent, in bytes.
    pub(super) unsent: u64,
    /// True if it fills the segment.
    full: bool,
    /// True if the FIN goes with it.
    pub(super) fin: bool,
}

impl NewData {
    /// Returns its length in sequence space.
    pub(super) fn in_sequence(&self) -> u32 {
        self.length as u32 + u32::from(self.fin)
    }
}

impl SendSpace {
    /// Creates a send space. `buffer` is in bytes.
    pub(super) fn new(initial: SequenceNumber, buffer: u32) -> SendSpace {
        SendSpace {
            segment_size: 0,
            initial,
            unacknowledged: 0,
            next: 0,
            window: 0,
            largest_window: 0,
            window_update: (0, 0),
            closed: false,
            beside_syn: 0,
            buffer: SendBuffer::new(buffer),
            sent: SentQueue::default(),
            last_sent_at: None,
        }
    }

    /// Resumes with another gateway's send space; `ago` converts an age to a time.
    pub(super) fn resume(
        context: &TcpContext,
        buffer: u32,
        ago: impl Fn(crate::time::Duration) -> Instant,
    ) -> SendSpace {
        let start = context.unacknowledged;
        let unacknowledged = &context.unacknowledged_bytes;
        SendSpace {
            unacknowledged: start,
            next: context.next,
            window: context.peer_window.into(),
            largest_window: context.largest_peer_window.into(),
            window_update: (context.window_update.0 as i64, context.window_update.1),
            closed: context.close_requested,
            buffer: SendBuffer::resume(buffer, context.written, unacknowledged),
            last_sent_at: context.idle.map(&ago),
            sent: SentQueue::resume(start, &context.outstanding, ago),
            ..SendSpace::new(context.initial_sequence, buffer)
        }
    }

    pub(super) fn segment_size(&self) -> u32 {
        self.segment_size
    }

    pub(super) fn set_segment_size(&mut self, bytes: u32) {
        self.segment_size = bytes;
    }

    /// Reserves room in the first segment for the SYN, with options of `options` bytes; none once it is acknowledged.
    pub(super) fn share_first_segment(&mut self, options: u32) {
        self.beside_syn = options;
    }

    pub(super) fn initial(&self) -> SequenceNumber {
        self.initial
    }

    /// Returns the sequence number of a position.
    pub(super) fn sequence(&self, position: u64) -> SequenceNumber {
        self.initial + position as u32
    }

    /// Returns the position of a sequence number of this end, near the oldest unacknowledged one.
    pub(super) fn position(&self, sequence: SequenceNumber) -> i64 {
        let reference = self.sequence(self.unacknowledged);
        self.unacknowledged as i64 + i64::from(sequence.distance_from(reference))
    }

    /// Returns "SND.UNA".
    pub(super) fn unacknowledged(&self) -> u64 {
        self.unacknowledged
    }

    /// Returns "SND.NXT".
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Returns "SND.WND".
    pub(super) fn window(&self) -> u64 {
        self.window
    }

    /// Returns "MAX.SND.WND".
    pub(super) fn largest_window(&self) -> u64 {
        self.largest_window
    }

    /// Returns "SND.WL1" and "SND.WL2".
    pub(super) fn window_update(&self) -> (i64, u64) {
        self.window_update
    }

    pub(super) fn last_sent_at(&self) -> Option<Instant> {
        self.last_sent_at
    }

    /// Notes the departure of data.
    pub(super) fn note_sent(&mut self, now: Instant) {
        self.last_sent_at = Some(now);
    }

    /// Forgets the last departure, once the idleness after it was handled.
    pub(super) fn forget_last_sent(&mut self) {
        self.last_sent_at = None;
    }

    /// Returns the sequence space sent and not yet acknowledged: "FlightSize" (RFC 5681).
    pub(super) fn in_flight(&self) -> u64 {
        self.next - self.unacknowledged
    }

    /// Returns the number of bytes that the peer has acknowledged.
    pub(super) fn bytes_acknowledged(&self) -> u64 {
        let data = self.unacknowledged.saturating_sub(1);
        data.min(self.buffer.written())
    }

    /// Sends the SYN.
    pub(super) fn send_syn(&mut self) {
        self.next = self.next.max(1);
    }

    /// Takes in the ACK of the SYN, or treats it as acknowledged.
    pub(super) fn begin(&mut self) {
        (self.unacknowledged, self.next) = (1, 1);
    }

    /// Takes in the window of the peer's SYN.
    pub(super) fn take_first_window(&mut self, window: u64) {
        self.window = window;
        self.largest_window = window;
        self.window_update = (0, 0);
    }

    /// Sets the window, without checking the order of segments.
    pub(super) fn set_window(&mut self, window: u64) {
        self.window = window;
        self.largest_window = self.largest_window.max(window);
    }

    /// Takes in the window of a segment of the peer's at `start`, which acknowledges `position`, unless it is older
    /// than the last one. Returns true if it was taken.
    ///
    /// RFC 9293 section 3.10.7.4 checks the sequence number first. But retransmitted data has an old number and the
    /// present window: without this exception, an ACK of more data would move the old window's edge along.
    pub(super) fn update_window(&mut self, start: i64, position: u64, window: u64) -> bool {
        let (last_start, last_position) = self.window_update;
        let acknowledges_more = position > self.unacknowledged;
        let old = last_start > start || last_start == start && last_position > position;
        if old && !acknowledges_more {
            return false;
        }
        self.window_update = (start.max(last_start), position);
        self.set_window(window);
        true
    }

    /// Closes this direction: no more data will be written.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Returns the position of the FIN, once the application has closed.
    pub(super) fn fin_position(&self) -> Option<u64> {
        self.closed.then(|| 1 + self.buffer.written())
    }

    /// Returns true if the FIN lies before `position`.
    pub(super) fn fin_is_before(&self, position: u64) -> bool {
        self.fin_position().is_some_and(|fin| fin < position)
    }

    /// Returns the number of bytes written and never sent.
    pub(super) fn unsent(&self) -> u64 {
        (1 + self.buffer.written()).saturating_sub(self.next)
    }

    pub(super) fn fin_unsent(&self) -> bool {
        self.fin_position().is_some_and(|fin| fin >= self.next)
    }

    /// Returns true if data or the FIN waits to be sent for the first time.
    pub(super) fn has_unsent(&self) -> bool {
        self.unsent() > 0 || self.fin_unsent()
    }

    /// Returns the number of bytes of the peer's window beyond `position`.
    pub(super) fn offered_beyond(&self, position: u64) -> u64 {
        (self.unacknowledged + self.window).saturating_sub(position)
    }

    /// Returns true if the segment at `position` lies beyond the peer's window: a window probe, which tells nothing
    /// about congestion.
    pub(super) fn is_window_probe(&self, position: u64) -> bool {
        position >= self.unacknowledged + self.window
    }

    /// Returns true if the oldest segment in flight is such a probe.
    pub(super) fn first_is_probe(&self) -> bool {
        let first = self.sent.first();
        first.is_some_and(|first| self.is_window_probe(first.start))
    }

    /// Returns true if the whole next new segment fits the window (`tcp_snd_wnd_test`).
    pub(super) fn next_segment_fits(&self) -> bool {
        let most = u64::from(self.segment_size);
        let unsent = self.unsent();
        let fin = unsent <= most && self.fin_unsent();
        self.offered_beyond(self.next) >= unsent.min(most) + u64::from(fin)
    }

    /// Trims a retransmission to the window, which may have shrunk; `None` if all of it lies beyond. Into a closed
    /// window the oldest segment goes whole, as a probe (`__tcp_retransmit_skb`).
    pub(super) fn cut_to_window(&self, start: u64, length: u32) -> Option<u32> {
        match self.offered_beyond(start) {
            0 => (start == self.unacknowledged).then_some(length),
            room => Some(u64::from(length).min(room) as u32),
        }
    }

    /// Returns the payload that fits a segment at `position`: less in one that carries the SYN.
    pub(super) fn segment_size_at(&self, position: u64) -> u32 {
        if position > 1 || self.beside_syn == 0 {
            return self.segment_size;
        }
        self.segment_size.saturating_sub(self.beside_syn).max(1)
    }

    /// Returns the length of a retransmission in sequence space: that of the segment, limited by the present segment
    /// size.
    pub(super) fn retransmission_length(&self, index: usize) -> Option<u32> {
        let segment = self.sent.get(index)?;
        let with_fin = self.fin_is_before(segment.end());
        let data = segment.length - u32::from(with_fin);
        let most = self.segment_size_at(segment.start);
        Some(if data > most { most } else { segment.length })
    }

    /// Returns the next new segment within the peer's window.
    pub(super) fn next_new(&self) -> NewData {
        let usable = self.offered_beyond(self.next);
        let unsent = self.unsent();
        let most = u64::from(self.segment_size_at(self.next));
        let length = unsent.min(usable).min(most);
        NewData {
            length,
            unsent,
            full: length == most,
            fin: self.fin_unsent() && length == unsent && usable > length,
        }
    }

    /// Returns true if new data is worth sending, by the sender's silly-window avoidance (RFC 9293 section 3.8.6.2.1)
    /// and Nagle's rule (section 3.7.4).
    pub(super) fn is_worth_sending(&self, new: &NewData, idle: bool, nagle: bool) -> bool {
        if new.fin {
            return true;
        }
        let rest = new.length == new.unsent && (idle || !nagle || self.closed);
        let large = new.length >= self.largest_window / 2;
        new.length > 0 && (new.full || rest || large && new.length < new.unsent)
    }

    /// Returns true if nothing was written beyond this data.
    pub(super) fn ends_writing(&self, start: u64, length: u32) -> bool {
        start + u64::from(length) > self.buffer.written()
    }

    /// Adds new data that leaves now, or has left at `sent_at`. Returns its position, and true if it ends the written
    /// data.
    pub(super) fn push(&mut self, now: Instant, length: u32, sent_at: Instant) -> (u64, bool) {
        let start = self.next;
        self.next += u64::from(length);
        self.last_sent_at = Some(now);
        self.sent.push(start, length, sent_at);
        let pushed = self.ends_writing(start, length);
        if pushed {
            self.sent.push_last();
        }
        (start, pushed)
    }

    /// Removes data acknowledged up to `position`: calls `each` for whole segments that were not SACKed before, and
    /// frees room for the application.
    pub(super) fn acknowledge(
        &mut self,
        position: u64,
        each: impl FnMut(&SentSegment),
    ) -> Acknowledged {
        let gone = self.sent.acknowledge(position, each);
        if position > self.unacknowledged {
            self.unacknowledged = position;
            self.buffer.release(position - 1);
        }
        gone
    }

    /// Returns the data of a segment.
    pub(super) fn payload(&self, start: u64, length: u32) -> Payload {
        self.buffer.payload(start - 1, length)
    }

    /// Shifts both ends of the data in flight, to test sequence numbers far from the initial one.
    #[cfg(test)]
    pub(super) fn shift(&mut self, bytes: u64) {
        self.next += bytes;
        self.unacknowledged += bytes;
    }
}
