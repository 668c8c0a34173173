//! Output, in this order: resets, SYNs, lost data, new data, acknowledgments.

use super::options::{self, TIMESTAMPS_LENGTH};
use super::profile::Recovery;
use super::recovery::Phase;
use super::timer::Timer;
use super::{Connection, Segment, State};
use crate::packet::Payload;
use crate::time::{Duration, Instant};
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::{
    LONGEST_OPTIONS, SNACK_LENGTH, SackBlocks, TcpFlags, TcpHeader, TcpOptions, Timestamps,
};

/// Data to be sent, the FIN behind it included.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    pub start: u64,
    pub length: u32,
    /// True if it was sent before.
    pub again: bool,
    /// True if it carries PSH, should it have data.
    pub pushed: bool,
}

/// The next thing to send.
enum Due {
    Reset,
    Syn,
    Data(Stretch),
    EarlyAcknowledgment,
    Acknowledgment,
    /// Linux's, of a shut window.
    WindowProbe,
    /// For a remedy.
    OwedAcknowledgment,
}

impl Connection {
    /// The next segment to send; call until it returns `None`.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        let due = self.next_due(now)?;
        // Written last and in one place: a segment is large, and each hand through which it goes copies it.
        let segment = match due {
            Due::Reset => {
                let mut header = *self.reset_due.take()?;
                // Linux's own reset has what its segments have; an answer to a stranger's has not.
                if self.state == State::Closed && self.recovers_as_linux() {
                    let agreed = self.negotiated.timestamps;
                    header.options.timestamps = agreed.then(|| self.timestamps(now));
                }
                bare(header)
            }
            Due::Syn => self.syn_segment(now),
            Due::Data(stretch) => self.data_segment(now, stretch),
            Due::EarlyAcknowledgment => bare(self.early_ack.take()?),
            Due::Acknowledgment => {
                let header = self.bare_acknowledgment(now);
                bare(self.let_through(header)?)
            }
            Due::WindowProbe => bare(self.window_probe(now)),
            Due::OwedAcknowledgment => bare(self.owed_acknowledgment(now)?),
        };
        self.statistics.count_sent(&segment);
        Some(segment)
    }

    fn next_due(&mut self, now: Instant) -> Option<Due> {
        if self.reset_due.is_some() {
            return Some(Due::Reset);
        }
        if self.early_ack.is_some() && self.state != State::Closed {
            return Some(Due::EarlyAcknowledgment);
        }
        match self.state {
            State::Closed => return None,
            State::SynSent | State::SynReceived if self.syn_due => return Some(Due::Syn),
            _ if self.owes_acknowledgment() => return Some(Due::OwedAcknowledgment),
            _ if self.acks.is_due_alone() || self.is_frozen() => {}
            _ if self.owes_window_probe() => return Some(Due::WindowProbe),
            State::Established
            | State::CloseWait
            | State::FinWait1
            | State::Closing
            | State::LastAck => {
                let stretch = if self.is_held_by_rate(now) {
                    None
                } else if self.recovers_as_linux() {
                    self.next_linux_data(now)
                } else {
                    self.next_data(now)
                };
                if let Some(stretch) = stretch {
                    self.spend_rate(now, stretch.length);
                    return Some(Due::Data(stretch));
                }
            }
            State::SynSent | State::SynReceived | State::FinWait2 | State::TimeWait => {}
        }
        if self.syn_due {
            return Some(Due::Syn);
        }
        (self.ack_due && self.state != State::SynSent).then_some(Due::Acknowledgment)
    }

    fn syn_segment(&mut self, now: Instant) -> Segment {
        self.syn_due = false;
        self.syn_transmissions += 1;
        self.syn_sent_at = now;
        self.next = self.next.max(1);
        if self.sent.is_empty() {
            let rto = self.rtt.rto();
            self.set_timer(Timer::Retransmission, now, rto);
        }
        let flags = match self.state {
            State::SynSent => TcpFlags::SYN,
            _ => TcpFlags::SYN.with(TcpFlags::ACK),
        };
        let header = self.header(now, 0, flags, 0);
        let mut segment = Segment {
            retransmission: self.syn_transmissions > 1,
            ..bare(header)
        };
        if self.state == State::SynSent && self.transaction.is_some() {
            self.load_syn(&mut segment);
        }
        segment
    }

    /// Puts on our first SYN what T/TCP sends with it.
    fn load_syn(&mut self, segment: &mut Segment) {
        if self.syn_transmissions == 1 {
            self.choose_data_with_syn(segment.header.options.wire_length());
        }
        let length = self.data_with_syn();
        let with_fin = self
            .fin_position()
            .is_some_and(|fin| fin < 1 + u64::from(length));
        let data = length - u32::from(with_fin);
        let flags = &mut segment.header.flags;
        if with_fin {
            *flags = flags.with(TcpFlags::FIN);
        }
        if data > 0 && u64::from(data) == self.send.written() {
            *flags = flags.with(TcpFlags::PSH);
        }
        segment.payload = self.send.payload(0, data);
    }

    /// Lost data first, then new data, then what RFC 6675 sends when there is neither.
    fn next_data(&mut self, now: Instant) -> Option<Stretch> {
        let window = u64::from(self.congestion_window());
        if let Some(index) = self.sent.next_lost() {
            let length = self.retransmission_length(index)?;
            let fits = self.sent.pipe() + u64::from(length) <= window || self.sent.pipe() == 0;
            if !fits && !self.recovery.forced && !self.repairs_by_snack() {
                return None;
            }
            return self.retransmit(now, index, length);
        }
        self.recovery.forced = false;
        if !self.has_unsent() {
            return self.sack_extra(now, window);
        }
        self.new_data(now, window)
    }

    /// Bytes written and never sent.
    pub(super) fn unsent(&self) -> u64 {
        (1 + self.send.written()).saturating_sub(self.next)
    }

    /// Returns true if data or the FIN waits to be sent for the first time.
    pub(super) fn has_unsent(&self) -> bool {
        self.unsent() > 0 || self.fin_unsent()
    }

    pub(super) fn fin_unsent(&self) -> bool {
        self.fin_position().is_some_and(|fin| fin >= self.next)
    }

    /// Length in sequence space of a retransmission: the segment as it was, or what the segment size now lets
    /// through.
    pub(super) fn retransmission_length(&self, index: usize) -> Option<u32> {
        let segment = self.sent.get(index)?;
        let with_fin = self.fin_position().is_some_and(|fin| fin < segment.end());
        let data = segment.length - u32::from(with_fin);
        let most = self.segment_size_at(segment.start);
        Some(if data > most { most } else { segment.length })
    }

    /// Data that fits a segment which begins at `position`: less in one that carries our SYN.
    fn segment_size_at(&self, position: u64) -> u32 {
        if position > 1 || !self.is_half_synchronized() {
            return self.segment_size;
        }
        let timestamps = match self.negotiated.timestamps {
            true => TIMESTAMPS_LENGTH,
            false => 0,
        };
        let more = LONGEST_OPTIONS - timestamps - self.count_length();
        self.segment_size.saturating_sub(more).max(1)
    }

    fn retransmit(&mut self, now: Instant, index: usize, length: u32) -> Option<Stretch> {
        let start = self.sent.get(index)?.start;
        self.recovery.forced = false;
        self.sent.resend(index, length, now);
        self.arm_retransmission(now);
        Some(Stretch {
            start,
            length,
            again: true,
            pushed: self.ends_writing(start, length),
        })
    }

    /// RFC 6675 "NextSeg" rules 3 and 4: nothing is lost for certain and nothing new can be sent.
    fn sack_extra(&mut self, now: Instant, window: u64) -> Option<Stretch> {
        let sack = self.effective_recovery() == Recovery::Sack;
        if self.recovery.phase != Phase::Fast || !sack {
            return None;
        }
        if self.sent.pipe() + u64::from(self.segment_size) > window {
            return None;
        }
        let index = match self.sent.next_hole() {
            Some(index) => index,
            None if !self.recovery.rescue_sent => {
                self.recovery.rescue_sent = true;
                self.sent.last_missing()?
            }
            None => return None,
        };
        if self.sent.get(index).is_some_and(|segment| segment.resent) {
            return None;
        }
        let length = self.retransmission_length(index)?;
        self.retransmit(now, index, length)
    }

    /// New data as far as both windows allow. `window` in bytes; Linux's, which counts segments, looks for itself.
    pub(super) fn new_data(&mut self, now: Instant, window: u64) -> Option<Stretch> {
        let repairing = self.recovery.phase == Phase::AfterTimeout;
        if self.profile.repair_before_new_data && repairing || self.holds_new_data() {
            return None;
        }
        let idle = self.next == self.unacknowledged;
        let window = if idle && !self.recovers_as_linux() {
            self.restart_after_idle(now)
        } else {
            window
        };
        let usable = (self.unacknowledged + self.peer_window).saturating_sub(self.next);
        let unsent = self.unsent();
        let length = unsent
            .min(usable)
            .min(self.segment_size_at(self.next).into());
        let fin = self.fin_unsent() && length == unsent && usable > length;
        let probing = core::mem::take(&mut self.probe_due) && idle;
        if !probing && !self.is_worth_sending(length, unsent, fin, idle) {
            if idle && self.recovers_as_linux() {
                self.start_persist_timer(now);
            } else if idle && !self.timers.is_set(Timer::Persist) {
                let after = self.rtt.timeout(self.persist_backoff);
                self.set_timer(Timer::Persist, now, after);
            }
            return None;
        }
        let fits = if self.recovers_as_linux() {
            self.window_has_room()
        } else {
            self.in_the_network() + length <= window
        };
        if !(idle || fits && self.fits_flight(length)) {
            return None;
        }
        let length = if probing && length == 0 && !fin {
            self.statistics.window_probes += 1;
            1
        } else {
            length as u32 + u32::from(fin)
        };
        let mut stretch = self.send_new(now, length);
        if probing && self.recovers_as_linux() {
            stretch.pushed = true;
            self.sent.push_last();
        }
        Some(stretch)
    }

    /// Tells if nothing was written beyond this stretch.
    fn ends_writing(&self, start: u64, length: u32) -> bool {
        start + u64::from(length) > self.send.written()
    }

    /// Sender's silly-window avoidance (RFC 9293 section 3.8.6.2.1) and Nagle's rule (section 3.7.4).
    fn is_worth_sending(&self, length: u64, unsent: u64, fin: bool, idle: bool) -> bool {
        if fin {
            return true;
        }
        let full = length >= u64::from(self.segment_size_at(self.next));
        let rest = length == unsent && (idle || !self.profile.nagle || self.close_requested);
        let large = length >= self.largest_peer_window / 2;
        length > 0 && (full || rest || large && length < unsent)
    }

    /// Returns our data that counts against the congestion window before new data is sent.
    pub(super) fn in_the_network(&self) -> u64 {
        let flight = self.next - self.unacknowledged;
        if self.recovery.phase != Phase::Open {
            return self.sent.pipe();
        }
        // Limited transmit (RFC 3042): the first two duplicate acknowledgments let out a new segment each.
        // With SACK, "pipe" tells what has left the network (RFC 6675 section 5 step 3).
        if !self.profile.limited_transmit {
            flight
        } else if self.negotiated.sack {
            self.sent.pipe()
        } else {
            let extra = self.recovery.duplicate_acks.min(2) * self.segment_size;
            flight.saturating_sub(u64::from(extra))
        }
    }

    /// RFC 5681 section 4.1. Returns the window.
    fn restart_after_idle(&mut self, now: Instant) -> u64 {
        let gap = self
            .last_data_sent_at
            .map(|sent| now.saturating_since(sent));
        let idle = gap.is_some_and(|gap| gap > self.rtt.rto());
        if let Some(gap) = gap {
            self.congestion.on_transmission_start(now, gap);
        }
        if self.profile.idle_restart && idle {
            let segments = self.profile.initial_window.max(1);
            let initial = segments.saturating_mul(self.segment_size);
            self.congestion
                .on_idle_restart(initial.min(self.congestion.window()));
            self.last_data_sent_at = None;
        }
        u64::from(self.congestion_window())
    }

    fn send_new(&mut self, now: Instant, length: u32) -> Stretch {
        self.take_as_sent(now, length, now)
    }

    /// As sent at `sent_at`, now or before.
    pub(super) fn take_as_sent(&mut self, now: Instant, length: u32, sent_at: Instant) -> Stretch {
        let start = self.next;
        // `tcp_event_data_sent`.
        if self.recovers_as_linux()
            && self.sent.is_empty()
            && let Some(last) = self.last_data_sent_at
        {
            let idle = now.saturating_since(last);
            self.congestion.on_transmission_start(now, idle);
        }
        self.next += u64::from(length);
        self.last_data_sent_at = Some(now);
        if self.quick_acks().is_some() {
            self.acks.on_data_sent(now);
        }
        self.sent.push(start, length, sent_at);
        let pushed = self.ends_writing(start, length);
        if pushed {
            self.sent.push_last();
        }
        self.timers.stop(Timer::Persist);
        if self.fin_position().is_some_and(|fin| fin < self.next) {
            self.state = match self.state {
                State::Established => State::FinWait1,
                State::CloseWait => State::LastAck,
                state => state,
            };
        }
        if self.recovers_as_linux() {
            self.on_linux_new_data(now, start, length);
        } else {
            self.arm_retransmission(now);
        }
        Stretch {
            start,
            length,
            again: false,
            pushed: pushed || self.profile.push_bursts && self.ends_piece(),
        }
    }

    /// Returns true if there is data, or a FIN, that the peer's window lets through.
    pub(super) fn has_new_data(&self) -> bool {
        let usable = self.unacknowledged + self.peer_window > self.next;
        usable && self.has_unsent() && !self.holds_new_data()
    }

    /// One new segment whatever congestion window and Nagle's rule say.
    pub(super) fn forced_new_data(&mut self, now: Instant) -> Option<Stretch> {
        let usable = (self.unacknowledged + self.peer_window).saturating_sub(self.next);
        let unsent = self.unsent();
        let length = unsent
            .min(usable)
            .min(self.segment_size_at(self.next).into());
        let fin = self.fin_unsent() && length == unsent && usable > length;
        let length = length as u32 + u32::from(fin);
        (length > 0).then(|| self.send_new(now, length))
    }

    fn arm_retransmission(&mut self, now: Instant) {
        if self.timers.is_set(Timer::Retransmission) {
            return;
        }
        let probe = self
            .sent
            .first()
            .is_some_and(|first| self.is_window_probe(first.start));
        let after = if probe {
            self.rtt.timeout(self.persist_backoff)
        } else {
            self.rtt.rto()
        };
        self.set_timer(Timer::Retransmission, now, after);
    }

    fn data_segment(&mut self, now: Instant, stretch: Stretch) -> Segment {
        let Stretch {
            start,
            length,
            again,
            pushed,
        } = stretch;
        let end = start + u64::from(length);
        let fin = self.fin_position().is_some_and(|fin| fin < end);
        let data = length - u32::from(fin);
        let mut flags = TcpFlags::ACK;
        if fin {
            flags = flags.with(TcpFlags::FIN);
        }
        if data > 0 && pushed {
            flags = flags.with(TcpFlags::PSH);
        }
        let mut position = start;
        if start == 1 && (again || self.syn_transmissions == 0) && self.is_half_synchronized() {
            position = 0;
            flags = flags.with(TcpFlags::SYN);
            self.syn_due = false;
            self.syn_transmissions += 1;
            self.syn_sent_at = now;
        }
        let room = self.segment_size.saturating_sub(data);
        Segment {
            header: self.header(now, position, flags, room),
            payload: self.send.payload(start - 1, data),
            retransmission: again,
        }
    }

    pub(super) fn bare_acknowledgment(&mut self, now: Instant) -> TcpHeader {
        let notice = self.next_notice();
        let mut header = self.header(now, self.next, TcpFlags::ACK, u32::MAX);
        header.options.notice = notice;
        header
    }

    /// A header of ours, with what there is to acknowledge. SACK blocks, or a SNACK, take at most `sack_room` bytes.
    pub(super) fn header(
        &mut self,
        now: Instant,
        position: u64,
        flags: TcpFlags,
        sack_room: u32,
    ) -> TcpHeader {
        let syn = flags.contains(TcpFlags::SYN);
        let acknowledges = flags.contains(TcpFlags::ACK);
        let mut options = if syn {
            self.syn_options(now, acknowledges)
        } else {
            TcpOptions {
                timestamps: self.negotiated.timestamps.then(|| self.timestamps(now)),
                sack: self.sack_blocks(sack_room),
                ..TcpOptions::default()
            }
        };
        if !options.sack.as_slice().is_empty() {
            self.acks.forget_duplicate();
        }
        if let Some(count) = self.connection_count(flags) {
            options.sack.set_connection_count(count);
        }
        let shift = match self.negotiated.window_shifts {
            Some((ours, _)) if !syn => ours,
            _ => 0,
        };
        let segment_size = self.receive_segment_size();
        let window = self.receive.advertise(segment_size, shift);
        let window = self.limit_offer(window, shift);
        let window = self.window_from_told(window, shift);
        if acknowledges {
            if let Some(least) = self.quick_acks() {
                self.acks.on_sent(least, self.ack_pending_bytes > 0);
            }
            self.ack_due = false;
            self.ack_pending_bytes = 0;
            self.last_ack_sent = self.receive.next();
            self.timers.stop(Timer::DelayedAck);
        }
        TcpHeader {
            source_port: self.local.port,
            destination_port: self.remote.port,
            sequence: self.initial_sequence + position as u32,
            acknowledgment: if acknowledges {
                self.peer_initial_sequence + self.told() as u32
            } else {
                SequenceNumber(0)
            },
            flags,
            window,
            options,
        }
    }

    fn syn_options(&self, now: Instant, answering: bool) -> TcpOptions {
        let segment_size = self.own_segment_size();
        let answered = answering.then_some(&self.negotiated);
        options::on_syn(&self.profile, segment_size, answered, self.timestamps(now))
    }

    /// The MSS of our SYN.
    pub(super) fn own_segment_size(&self) -> u16 {
        let path = self
            .path_mtu
            .saturating_sub(options::header_length(self.remote.address));
        u32::from(self.profile.maximum_segment_size).min(path) as u16
    }

    /// Our clock for timestamps: milliseconds, from an origin that says nothing about our uptime.
    pub(super) fn timestamp_clock(&self, now: Instant) -> u32 {
        milliseconds(now).wrapping_add(self.timestamp_origin)
    }

    /// Lets that clock show `value` now.
    pub(super) fn set_timestamp_clock(&mut self, now: Instant, value: u32) {
        self.timestamp_origin = value.wrapping_sub(milliseconds(now));
    }

    fn timestamps(&self, now: Instant) -> Timestamps {
        Timestamps {
            value: self.timestamp_clock(now),
            echo: self.recent_timestamp.0,
        }
    }

    /// The time since our clock showed `echo`; `None` if it has not shown that yet.
    pub(super) fn since_timestamp(&self, now: Instant, echo: u32) -> Option<Duration> {
        let milliseconds = self.timestamp_clock(now).wrapping_sub(echo) as i32;
        // The clock counts milliseconds: what took less is not known to be shorter than one.
        u64::try_from(milliseconds)
            .ok()
            .map(|count| Duration::from_millis(count.max(1)))
    }

    fn sack_blocks(&self, room: u32) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        if !self.negotiated.sack {
            let snack = self.snack().filter(|_| room >= SNACK_LENGTH);
            return snack.map_or(blocks, SackBlocks::negative);
        }
        // Options take 40 bytes at most: four blocks, or three beside timestamps (RFC 2018 section 3).
        let timestamps = match self.negotiated.timestamps {
            true => TIMESTAMPS_LENGTH,
            false => 0,
        };
        let space = LONGEST_OPTIONS - timestamps - self.count_length();
        let most = room.min(space).saturating_sub(4) / 8;
        // A duplicate comes first, whatever of it is in other blocks (RFC 2883 section 4).
        let duplicate = self.acks.duplicate();
        let ranges = duplicate.iter().chain(self.receive.blocks());
        for &(start, end) in ranges.take(most as usize) {
            let wire = |position: u64| self.peer_initial_sequence + position as u32;
            blocks.push(wire(start), wire(end));
        }
        blocks
    }

    /// A reset that the peer accepts.
    pub(super) fn bare_reset(&mut self) -> TcpHeader {
        TcpHeader {
            source_port: self.local.port,
            destination_port: self.remote.port,
            sequence: self.initial_sequence + self.next as u32,
            acknowledgment: self.peer_initial_sequence + self.receive.next() as u32,
            flags: TcpFlags::RST.with(TcpFlags::ACK),
            window: 0,
            options: TcpOptions::default(),
        }
    }
}

fn milliseconds(now: Instant) -> u32 {
    (now.as_nanos() / 1_000_000) as u32
}

/// A segment without data, sent for the first time.
fn bare(header: TcpHeader) -> Segment {
    Segment {
        header,
        payload: Payload::EMPTY,
        retransmission: false,
    }
}
