//! Output, in this order: resets, SYNs, lost data, new data, ACKs.

use super::linux::owes_window_probe;
use super::options;
use super::timer::Timer;
use super::{Connection, Segment, State};
use crate::packet::Payload;
use crate::time::Instant;
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::{TcpFlags, TcpHeader, TcpOptions};

/// Data to send, with the FIN that follows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    pub start: u64,
    pub length: u32,
    /// True if it was sent before.
    pub again: bool,
    /// True if it carries PSH, provided that it has data.
    pub pushed: bool,
}

/// Next segment to send.
enum Due {
    Reset,
    Syn,
    Data(Stretch),
    EarlyAcknowledgment,
    Acknowledgment,
    /// Linux's probe of a closed window.
    WindowProbe,
    /// An ACK on a remedy's behalf.
    OwedAcknowledgment,
}

impl Connection {
    /// Returns the next segment to send; call until it returns `None`.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        // Built where it is returned: a segment is large, and each variable it passes through is a copy.
        let segment = match self.next_due(now) {
            None => None,
            Some(Due::Reset) => self.reset_segment(now),
            Some(Due::Syn) => Some(self.syn_segment(now)),
            Some(Due::Data(stretch)) => Some(self.data_segment(now, stretch)),
            Some(Due::EarlyAcknowledgment) => self.receiving.take_early().map(bare),
            Some(Due::Acknowledgment) => {
                let header = self.bare_acknowledgment(now);
                self.receiving.orders.let_through(header).map(bare)
            }
            Some(Due::WindowProbe) => Some(bare(self.window_probe(now))),
            Some(Due::OwedAcknowledgment) => self.owed_acknowledgment(now).map(bare),
        };
        if let Some(segment) = &segment {
            self.common.statistics.count_sent(segment);
        }
        segment
    }

    fn next_due(&mut self, now: Instant) -> Option<Due> {
        if self.reset_due.is_some() {
            return Some(Due::Reset);
        }
        if self.receiving.has_early() && self.state != State::Closed {
            return Some(Due::EarlyAcknowledgment);
        }
        match self.state {
            State::Closed => return None,
            State::SynSent | State::SynReceived if self.handshake.is_syn_due() => {
                return Some(Due::Syn);
            }
            _ if self.receiving.orders.owes_acknowledgment() => {
                return Some(Due::OwedAcknowledgment);
            }
            _ if self.receiving.acks.is_due_alone() || self.sender.flow.orders.is_frozen() => {}
            _ if self.sender.flow.patience.is_probe_due() && self.owes_window_probe() => {
                return Some(Due::WindowProbe);
            }
            State::Established
            | State::CloseWait
            | State::FinWait1
            | State::Closing
            | State::LastAck => {
                if !self.sender.rests(&self.common, now)
                    && let Some(stretch) = self.next_data(now)
                {
                    return Some(Due::Data(stretch));
                }
            }
            State::SynSent | State::SynReceived | State::FinWait2 | State::TimeWait => {}
        }
        if self.handshake.is_syn_due() {
            return Some(Due::Syn);
        }
        (self.receiving.acks.is_due() && self.state != State::SynSent)
            .then_some(Due::Acknowledgment)
    }

    fn next_data(&mut self, now: Instant) -> Option<Stretch> {
        let stretch = self.sender.next_data(&mut self.common, now, &self.ends)?;
        if !stretch.again {
            self.after_new_data(now);
        }
        Some(stretch)
    }

    /// Updates the receiving half after new data was sent, and the state after the FIN.
    pub(super) fn after_new_data(&mut self, now: Instant) {
        if self.common.quick_acks().is_some() {
            self.receiving.acks.on_data_sent(now);
        }
        let space = &self.sender.flow.space;
        if space.fin_is_before(space.next()) {
            self.state = match self.state {
                State::Established => State::FinWait1,
                State::CloseWait => State::LastAck,
                state => state,
            };
        }
    }

    fn reset_segment(&mut self, now: Instant) -> Option<Segment> {
        let mut header = *self.reset_due.take()?;
        // Linux's own resets have its segments' fields; resets for unknown connections do not.
        if self.state == State::Closed && self.common.recovers_as_linux() {
            let agreed = self.common.negotiated.timestamps;
            header.options.timestamps = agreed.then(|| self.common.clock.stamp(now));
        }
        Some(bare(header))
    }

    fn syn_segment(&mut self, now: Instant) -> Segment {
        self.handshake.on_syn_sent(now);
        let flow = &mut self.sender.flow;
        flow.space.send_syn();
        if flow.space.sent.is_empty() {
            let timers = &mut self.common.timers;
            timers.set_after(Timer::Retransmission, now, flow.rtt.rto());
        }
        let opens = self.state == State::SynSent;
        let flags = match opens {
            true => TcpFlags::SYN,
            false => TcpFlags::SYN.with(TcpFlags::ACK),
        };
        let header = self.header(now, 0, flags, 0);
        let mut segment = Segment {
            retransmission: self.handshake.was_repeated(),
            ..bare(header)
        };
        if opens && self.handshake.is_transaction() {
            self.load_syn(&mut segment);
        }
        segment
    }

    /// Adds T/TCP's data and flags to the SYN.
    fn load_syn(&mut self, segment: &mut Segment) {
        let (common, flow) = (&self.common, &self.sender.flow);
        let options = segment.header.options.wire_length();
        let length = self
            .handshake
            .data_with_syn(common, flow, &self.ends, options);
        let space = &flow.space;
        let with_fin = space.fin_is_before(1 + u64::from(length));
        let data = length - u32::from(with_fin);
        let flags = &mut segment.header.flags;
        if with_fin {
            *flags = flags.with(TcpFlags::FIN);
        }
        if data > 0 && u64::from(data) == space.buffer.written() {
            *flags = flags.with(TcpFlags::PSH);
        }
        segment.payload = space.payload(1, data);
    }

    fn data_segment(&mut self, now: Instant, stretch: Stretch) -> Segment {
        let Stretch {
            start,
            length,
            again,
            pushed,
        } = stretch;
        let space = &self.sender.flow.space;
        let fin = space.fin_is_before(start + u64::from(length));
        let data = length - u32::from(fin);
        let room = space.segment_size().saturating_sub(data);
        let mut flags = TcpFlags::ACK;
        if fin {
            flags = flags.with(TcpFlags::FIN);
        }
        if data > 0 && pushed {
            flags = flags.with(TcpFlags::PSH);
        }
        let mut position = start;
        let handshake = &mut self.handshake;
        if start == 1
            && (again || handshake.transmissions() == 0)
            && handshake.is_half_synchronized()
        {
            position = 0;
            flags = flags.with(TcpFlags::SYN);
            handshake.on_syn_sent(now);
        }
        Segment {
            header: self.header(now, position, flags, room),
            payload: self.sender.flow.space.payload(start, data),
            retransmission: again,
        }
    }

    pub(super) fn bare_acknowledgment(&mut self, now: Instant) -> TcpHeader {
        let notice = self.receiving.next_notice();
        let next = self.sender.flow.space.next();
        let mut header = self.header(now, next, TcpFlags::ACK, u32::MAX);
        header.options.notice = notice;
        header
    }

    /// Returns the next ACK on a remedy's behalf.
    fn owed_acknowledgment(&mut self, now: Instant) -> Option<TcpHeader> {
        let in_force = self.receiving.orders.take_owed()?;
        let header = self.bare_acknowledgment(now);
        self.receiving.orders.restore(in_force);
        Some(header)
    }

    fn owes_window_probe(&self) -> bool {
        self.common.recovers_as_linux() && owes_window_probe(&self.sender.flow)
    }

    /// Returns an empty segment with an old sequence number, which the peer must answer: `tcp_xmit_probe_skb`.
    fn window_probe(&mut self, now: Instant) -> TcpHeader {
        self.common.statistics.window_probes += 1;
        let flow = &mut self.sender.flow;
        flow.patience.take_probe();
        let position = flow.space.unacknowledged().saturating_sub(1);
        self.header(now, position, TcpFlags::ACK, u32::MAX)
    }

    /// Returns a header with the present acknowledgment. SACK blocks, or a SNACK, take at most `sack_room` bytes.
    fn header(
        &mut self,
        now: Instant,
        position: u64,
        flags: TcpFlags,
        sack_room: u32,
    ) -> TcpHeader {
        let syn = flags.contains(TcpFlags::SYN);
        let acknowledges = flags.contains(TcpFlags::ACK);
        let common = &mut self.common;
        let flow = &self.sender.flow;
        // Filled in its place: a header is large.
        let mut header = TcpHeader {
            source_port: self.ends.local().port,
            destination_port: self.ends.remote().port,
            sequence: flow.space.sequence(position),
            acknowledgment: if acknowledges {
                self.receiving.acknowledgment()
            } else {
                SequenceNumber(0)
            },
            flags,
            window: 0,
            options: TcpOptions::default(),
        };
        if syn {
            let segment_size = self.ends.own_segment_size(common);
            let answered = acknowledges.then_some(&common.negotiated);
            let stamp = common.clock.stamp(now);
            header.options = options::on_syn(&common.profile, segment_size, answered, stamp);
        } else {
            if common.negotiated.timestamps {
                header.options.timestamps = Some(common.clock.stamp(now));
            }
            if self.receiving.has_ranges_to_report() {
                let others = common.timestamps_length() + self.handshake.count_length();
                header.options.sack = self.receiving.sack_blocks(common, sack_room, others);
            }
        }
        if !header.options.sack.is_empty() {
            self.receiving.acks.forget_duplicate();
        }
        if let Some(count) = self.handshake.count(flags) {
            header.options.sack.set_connection_count(count);
        }
        let shift = match common.negotiated.window_shifts {
            Some((ours, _)) if !syn => ours,
            _ => 0,
        };
        header.window = self.receiving.offer_window(flow, shift);
        if acknowledges {
            self.receiving.on_acknowledged(common);
        }
        header
    }

    /// Returns a reset that the peer accepts.
    pub(super) fn bare_reset(&self) -> TcpHeader {
        let space = &self.sender.flow.space;
        let expected = self.receiving.data.next();
        TcpHeader {
            source_port: self.ends.local().port,
            destination_port: self.ends.remote().port,
            sequence: space.sequence(space.next()),
            acknowledgment: self.receiving.sequence(expected),
            flags: TcpFlags::RST.with(TcpFlags::ACK),
            window: 0,
            options: TcpOptions::default(),
        }
    }
}

/// Returns a segment without data, sent for the first time.
fn bare(header: TcpHeader) -> Segment {
    Segment {
        header,
        payload: Payload::EMPTY,
        retransmission: false,
    }
}
