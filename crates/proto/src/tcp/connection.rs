//! The connection: its parts, and its calls for applications and hosts. The processing of segments is in `input.rs`,
//! output in `output.rs`.

use super::challenge::ChallengeLimit;
use super::ends::Ends;
use super::handshake::Handshake;
use super::receiving::Receiving;
use super::sender::Sender;
use super::timer::Timer;
use super::{Common, Event, State};
use crate::time::Instant;
use crate::wire::icmp::{IcmpError, QuotedPacket};
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::TcpHeader;

/// One TCP connection; how to call it is told in the [module's documentation](super).
///
/// Here are its state and its parts, each of which keeps its own variables right; what one part needs of another it is lent for a
/// call. The parts stand in memory as they stand here, and so do their variables: what every segment asks for first, so that of
/// thousands of connections few cache lines each are fetched.
#[derive(Debug)]
#[repr(C)]
pub struct Connection {
    pub(super) state: State,
    pub(super) sender: Sender,
    pub(super) receiving: Receiving,
    pub(super) common: Common,
    pub(super) handshake: Handshake,
    pub(super) ends: Ends,
    pub(super) reset_due: Option<Box<TcpHeader>>,
    pub(super) challenges: ChallengeLimit,
}

impl Connection {
    /// Returns true if a segment with this sequence number is in flight: an error is believed only for these (RFC 5927
    /// section 4).
    pub fn is_out(&self, sequence: SequenceNumber) -> bool {
        let space = &self.sender.flow.space;
        let position = space.position(sequence);
        position >= space.unacknowledged() as i64 && position < space.next() as i64
    }

    /// Takes in a router's or host's error about one of this end's segments. Sequence numbers that are not in flight
    /// are not believed (RFC 5927 section 4).
    pub fn handle_icmp(&mut self, _now: Instant, error: IcmpError, quoted: &QuotedPacket) {
        if !self.is_out(SequenceNumber(quoted.sequence)) {
            return;
        }
        match error {
            IcmpError::PacketTooBig { mtu } => self.lower_path_mtu(mtu, quoted.extension_length()),
            // A hard error only before the connection is established; soft later (RFC 5461, RFC 5927 section 5).
            error if self.gives_up_opening(error) => self.end(Event::Refused),
            _ => {}
        }
    }

    /// Takes in the path MTU (RFC 1191, RFC 8201), of which `around` bytes are not TCP's.
    fn lower_path_mtu(&mut self, mtu: u32, around: u32) {
        if self.ends.lower_path_mtu(mtu, around) {
            self.common.statistics.path_mtu_reductions += 1;
            let size = self.sendable_segment_size();
            self.sender.shorten_segments(&self.common, size);
        }
    }

    /// Performs the actions due at `now`, if any.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.common.timers.next().is_none_or(|next| next > now) {
            return;
        }
        if self.common.timers.take_due(Timer::Retransmission, now) {
            self.on_retransmission_timeout(now);
        }
        if self.common.timers.take_due(Timer::Persist, now) {
            let end = self.sender.on_persist_timeout(&mut self.common, now);
            self.end_by(end);
        }
        if self.common.timers.take_due(Timer::DelayedAck, now) {
            self.receiving
                .on_delay_over(&self.common, &self.sender.flow);
        }
        // Paced segments are sent when they are polled.
        self.common.timers.take_due(Timer::Pacing, now);
        if self.common.timers.take_due(Timer::TimeWait, now) {
            self.state = State::Closed;
            self.common.timers.stop_all();
        }
    }

    fn on_retransmission_timeout(&mut self, now: Instant) {
        let nothing_out = self.sender.flow.space.sent.is_empty();
        let only_syn = self.handshake.is_half_synchronized() && nothing_out;
        let end = if matches!(self.state, State::SynSent | State::SynReceived) || only_syn {
            let rtt = &mut self.sender.flow.rtt;
            self.handshake.on_timeout(&mut self.common, rtt, self.state)
        } else {
            self.sender.on_retransmission_timeout(&mut self.common, now)
        };
        self.end_by(end);
    }

    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout).
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.common.timers.next()
    }

    /// Returns the next event for the application.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.common.events.poll()
    }

    /// Returns true if a writer whose data was taken only in part may go on at once, as `poll` would report it: with
    /// Linux if a third of the buffer is free. If not, [`Event::Writable`] follows.
    pub fn may_go_on_writing(&mut self) -> bool {
        if !self.may_write() {
            return false;
        }
        let flow = &mut self.sender.flow;
        let may = flow.room.wakes(&flow.space);
        flow.room.note_write(!may);
        may
    }

    /// Hands in data to be sent; returns how many bytes were taken. [`Event::Writable`] follows if it was not
    /// all. Nothing is taken after `close`, nor once a pattern was written.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        if !self.may_write() {
            return 0;
        }
        self.sender.before_write();
        let flow = &mut self.sender.flow;
        let taken = flow.space.buffer.write(bytes);
        flow.room.note_write(taken < bytes.len());
        taken
    }

    /// Hands in `length` bytes of pattern `stream` (see [`crate::packet::pattern_byte`]), which cost no
    /// memory; returns how many were taken. A connection carries either one pattern, from its first byte on,
    /// or real bytes.
    pub fn write_pattern(&mut self, stream: u32, length: u64) -> u64 {
        if !self.may_write() {
            return 0;
        }
        self.sender.before_write();
        let flow = &mut self.sender.flow;
        let taken = flow.space.buffer.write_pattern(stream, length);
        flow.room.note_write(taken < length);
        taken
    }

    /// Returns true if [`write`](Self::write) takes data once there is room: this direction is not closed.
    pub fn may_write(&self) -> bool {
        !self.sender.flow.space.is_closed()
            && matches!(
                self.state,
                State::SynSent | State::SynReceived | State::Established | State::CloseWait
            )
    }

    /// Returns the number of bytes that [`write`](Self::write) would take now.
    pub fn writable(&self) -> u64 {
        if self.may_write() {
            self.sender.flow.space.buffer.room()
        } else {
            0
        }
    }

    /// Copies received data into `out`; returns the number of bytes.
    pub fn read(&mut self, out: &mut [u8]) -> usize {
        let count = self.receiving.data.read(out);
        self.after_reading();
        count
    }

    /// Consumes up to `at_most` bytes unread; returns their number.
    pub fn discard(&mut self, at_most: u64) -> u64 {
        let count = self.receiving.data.discard(at_most);
        self.after_reading();
        count
    }

    pub(super) fn after_reading(&mut self) {
        let open = self.state.may_receive();
        self.receiving
            .after_reading(&self.common, &self.sender.flow, open);
    }

    /// Closes this direction: a FIN follows the written data. Reading goes on. A connection that is not yet established
    /// sends its data and the FIN once it is.
    pub fn close(&mut self) {
        self.sender.flow.space.close();
    }

    /// Aborts the connection, with a reset if the peer knows of it.
    pub fn abort(&mut self) {
        if !matches!(self.state, State::Closed | State::SynSent | State::TimeWait) {
            self.reset_due = Some(Box::new(self.bare_reset()));
        }
        self.state = State::Closed;
        self.common.timers.stop_all();
    }

    /// Ends the connection with this event: by the peer or a timeout, or after both FINs.
    pub(super) fn end(&mut self, event: Event) {
        self.state = State::Closed;
        self.sender.flow.space.sent.shrink();
        self.common.timers.stop_all();
        self.common.events.report(event);
    }

    /// Ends the connection if there is such an event.
    fn end_by(&mut self, event: Option<Event>) {
        if let Some(event) = event {
            self.end(event);
        }
    }
}
