//! A segment arrives: the steps of RFC 9293 section 3.10.7, with the checks of RFC 7323 and RFC 5961.

use super::linux::send_buffer;
use super::options;
use super::profile::RtoArithmetic;
use super::receive::Arrival;
use super::recovery::AckContext;
use super::timer::Timer;
use super::{Connection, Event, State, reset_reply, sequence_length};
use crate::packet::Payload;
use crate::time::{Duration, Instant};
use crate::wire::tcp::{TcpFlags, TcpHeader};

/// RFC 5961 section 7: at most 10 challenge ACKs in 5 seconds.
const MOST_CHALLENGES: u32 = 10;
const CHALLENGE_PERIOD: Duration = Duration::from_secs(5);
/// Linux answers one in so long a time: `tcp_invalid_ratelimit`.
const LINUX_CHALLENGE_PERIOD: Duration = Duration::from_millis(500);
/// Ticks by which a timestamp may be older and is in time to Linux: `TCP_PAWS_WINDOW`.
const LINUX_PAWS_TICKS: u32 = 1;
/// RFC 7323 section 5.5: a timestamp older than this is out of date and proves nothing.
const TIMESTAMP_VALIDITY: Duration = Duration::from_secs(24 * 24 * 3600);

impl Connection {
    /// A segment of this connection has arrived, its checksum verified.
    pub fn handle_segment(&mut self, now: Instant, header: &TcpHeader, payload: Payload) {
        self.statistics.segments_received += 1;
        let mut header = *header;
        match self.state {
            State::Closed => return,
            State::SynSent => return self.on_segment_in_syn_sent(now, &header, payload),
            State::SynReceived if self.is_syn_again(&header) => {
                if !header.flags.contains(TcpFlags::ACK) {
                    self.syn_due = true;
                    return;
                }
                // The SYN-ACK of a simultaneous open: its SYN is in already.
                header = self.without_syn(&header);
            }
            _ if self.is_half_synchronized() && self.is_syn_again(&header) => {
                self.syn_due = true;
                return;
            }
            _ => {}
        }
        if !self.is_of_this_connection(&header) {
            return self.challenge(now);
        }
        let start = self.receive_position(header.sequence);
        let is_pure =
            header.flags.contains(TcpFlags::ACK) && sequence_length(&header, payload.length()) == 0;
        let passes = is_pure
            && self.recovers_as_linux()
            && self.is_overtaken_acknowledgment(now, &header, start);
        if !passes && !self.is_timely(now, &header) {
            return self.on_old_timestamp(now, &header, start, payload.length());
        }
        let length = sequence_length(&header, payload.length());
        if !self.is_acceptable(start, length) && !self.is_recent_duplicate(start, length) {
            return self.answer_unacceptable(now, &header, start, length);
        }
        if header.flags.contains(TcpFlags::RST) {
            return self.on_reset(now, start);
        }
        if header.flags.contains(TcpFlags::SYN) {
            return self.challenge(now);
        }
        if !header.flags.contains(TcpFlags::ACK) {
            return;
        }
        if self.take_acknowledgment(now, &header, start, length) {
            self.take_held(now);
            self.remember_timestamp(now, &header, start);
            if length > 0 && self.is_recent_duplicate(start, length) {
                self.answer_duplicate(start, length);
            } else {
                self.take_data(now, &header, start, payload);
            }
        }
    }

    /// A segment whose SYN is in already.
    fn without_syn(&self, header: &TcpHeader) -> TcpHeader {
        let shifts = self.negotiated.window_shifts;
        TcpHeader {
            flags: header.flags.without(TcpFlags::SYN),
            sequence: header.sequence + 1,
            // It is not scaled (RFC 7323 section 2.2): what follows reads it as if it were.
            window: header.window >> shifts.map_or(0, |(_, theirs)| theirs),
            ..*header
        }
    }

    fn is_syn_again(&self, header: &TcpHeader) -> bool {
        header.flags.contains(TcpFlags::SYN)
            && !header.flags.contains(TcpFlags::RST)
            && header.sequence == self.peer_initial_sequence
    }

    /// RFC 9293 section 3.10.7.3.
    fn on_segment_in_syn_sent(&mut self, now: Instant, header: &TcpHeader, payload: Payload) {
        let flag = |bit| header.flags.contains(bit);
        let acknowledged = flag(TcpFlags::ACK);
        let position = self.send_position(header.acknowledgment);
        let ours = self.next == 1 && (1..=self.most_acknowledged_of_syn()).contains(&position);
        if acknowledged && !ours {
            self.reset_due = reset_reply(header, payload.length()).map(Box::new);
            return;
        }
        if flag(TcpFlags::RST) {
            if acknowledged {
                self.end(Event::Refused);
            }
            return;
        }
        if !flag(TcpFlags::SYN) || acknowledged && !self.take_echo(header) {
            return;
        }
        self.take_syn(now, header);
        if acknowledged {
            self.on_established(now, header);
            self.ack_due = true;
            if self.quick_acks().is_some() {
                self.acks.hurry_handshake();
            }
            self.take_beside_syn(now, header, payload);
        } else {
            self.state = State::SynReceived;
            self.syn_due = true;
        }
    }

    /// Takes the rest of a SYN-ACK, its other flags and its data, where T/TCP lets it.
    fn take_beside_syn(&mut self, now: Instant, header: &TcpHeader, payload: Payload) {
        let position = self.send_position(header.acknowledgment);
        let speaks = self.resume_after_syn(now, position);
        let header = self.without_syn(header);
        let length = sequence_length(&header, payload.length());
        if position == 1 && (length == 0 || !speaks) {
            return;
        }
        if self.take_acknowledgment(now, &header, 1, length) && speaks {
            self.take_data(now, &header, 1, payload);
        }
    }

    /// Takes the peer's initial sequence number and options.
    pub(super) fn take_syn(&mut self, now: Instant, syn: &TcpHeader) {
        self.peer_initial_sequence = syn.sequence;
        self.negotiated = options::negotiate(
            &self.profile,
            self.own_segment_size(),
            self.remote.address,
            syn,
        );
        if let Some((ours, _)) = self.negotiated.window_shifts {
            self.receive.set_window_shift(ours);
        }
        if let Some(timestamps) = syn.options.timestamps {
            self.recent_timestamp = (timestamps.value, now);
        }
        self.last_ack_sent = self.receive.next();
        // The window of a SYN is never scaled (RFC 7323 section 2.2).
        self.peer_window = u64::from(syn.window);
        self.largest_peer_window = self.peer_window;
        self.window_update = (0, 0);
        self.segment_size = self.sendable_segment_size();
    }

    /// Our SYN is acknowledged.
    fn on_established(&mut self, now: Instant, header: &TcpHeader) {
        self.unacknowledged = 1;
        self.next = 1;
        self.syn_due = false;
        self.state = State::Established;
        self.timers.stop(Timer::Retransmission);
        self.report(Event::Connected);
        self.sample_handshake(now, header);
        self.start_congestion_control();
        self.start_linux(now);
        if !header.flags.contains(TcpFlags::SYN) {
            self.peer_window = self.unscaled(header.window);
            self.largest_peer_window = self.largest_peer_window.max(self.peer_window);
        }
    }

    pub(super) fn sample_handshake(&mut self, now: Instant, header: &TcpHeader) {
        let arithmetic = self.profile.rto_arithmetic;
        let again = self.syn_transmissions > 1;
        let echo = header.options.timestamps.map(|stamps| stamps.echo);
        let sample = match echo.filter(|_| self.negotiated.timestamps) {
            _ if matches!(arithmetic, RtoArithmetic::Linux20 | RtoArithmetic::Inet) => None,
            _ if !again => Some(self.rtt.measure(self.syn_sent_at, now)),
            Some(echo) if arithmetic == RtoArithmetic::Linux => self.since_timestamp(now, echo),
            _ => None,
        };
        if again {
            self.rtt.handshake_retransmitted();
        }
        if let Some(sample) = sample {
            match arithmetic {
                RtoArithmetic::Linux => self.rtt.sample_as_linux(sample, 1, 1),
                _ => self.rtt.sample(sample, self.profile.initial_window),
            }
            self.statistics.rtt_samples += 1;
        }
    }

    fn unscaled(&self, window: u16) -> u64 {
        let shift = self
            .negotiated
            .window_shifts
            .map_or(0, |(_, theirs)| theirs);
        u64::from(window) << shift
    }

    /// PAWS (RFC 7323 section 5.3 R1): false for a segment that must be an old duplicate. Where timestamps
    /// are agreed on, a segment without one is one as well (section 3.2), but not to Linux (`tcp_validate_incoming`);
    /// resets are exempt.
    fn is_timely(&self, now: Instant, header: &TcpHeader) -> bool {
        if !self.negotiated.timestamps || header.flags.contains(TcpFlags::RST) {
            return true;
        }
        match header.options.timestamps {
            Some(timestamps) => {
                let late = if self.recovers_as_linux() {
                    LINUX_PAWS_TICKS
                } else {
                    0
                };
                self.timestamp_age(now, timestamps.value) <= late
            }
            None => self.recovers_as_linux(),
        }
    }

    /// By how many ticks of the peer's clock a timestamp is older than TS.Recent; one that is not, or of which nothing can be told,
    /// is so by none.
    fn timestamp_age(&self, now: Instant, value: u32) -> u32 {
        let (recent, since) = self.recent_timestamp;
        if now.saturating_since(since) > TIMESTAMP_VALIDITY {
            return 0;
        }
        u32::try_from(recent.wrapping_sub(value) as i32).unwrap_or(0)
    }

    /// Linux: an acknowledgment that was overtaken, and changes nothing but what SACK tells, counts if it is not older than about
    /// a timeout (`tcp_disordered_ack_check`).
    fn is_overtaken_acknowledgment(&self, now: Instant, header: &TcpHeader, start: i64) -> bool {
        let Some(timestamps) = header.options.timestamps else {
            return false;
        };
        let (from, _) = self.window_update;
        let window = self.unscaled(header.window);
        let moves_window =
            start > from || start == from && (window > self.peer_window || window == 0);
        // 1200 ticks a second: no clock of a peer's is faster.
        let most = self.rtt.rto().as_nanos() / 1_000_000 * 1_200 / 1_000;
        start == self.receive.next() as i64
            && self.send_position(header.acknowledgment) == self.unacknowledged as i64
            && !moves_window
            && u64::from(self.timestamp_age(now, timestamps.value)) <= most
    }

    /// Old data is a duplicate, and reported as one: a path that a handover has left delivers what was sent again
    /// over the other meanwhile. Old acknowledgments come in hundreds then; few are answered, as all that is out of place
    /// (`tcp_oow_rate_limited`). What lacks a timestamp is not answered (RFC 7323 section 3.2).
    fn on_old_timestamp(&mut self, now: Instant, header: &TcpHeader, start: i64, length: u32) {
        self.statistics.old_timestamps += 1;
        let (end, next) = (start + i64::from(length), self.receive.next() as i64);
        let nothing_new = length > 0 && self.receive.holds(start, end);
        self.statistics.duplicates_received += u64::from(nothing_new);
        if header.options.timestamps.is_none() {
            return;
        }
        if length == 0 {
            // Linux says nothing to one that data has overtaken as well (`PAWSOldAck`, since 6.14).
            let pure = sequence_length(header, 0) == 0 && header.flags.contains(TcpFlags::ACK);
            if !(pure && start < next && self.recovers_as_linux()) {
                self.challenge(now);
            }
            return;
        }
        self.ack_due = true;
        if start < next {
            self.note_duplicate(start, end.min(next));
        }
    }

    /// RFC 7323 section 4.3 (2).
    fn remember_timestamp(&mut self, now: Instant, header: &TcpHeader, start: i64) {
        if !self.negotiated.timestamps {
            return;
        }
        if let Some(timestamps) = header.options.timestamps
            && start <= self.last_ack_sent as i64
            && self.timestamp_age(now, timestamps.value) == 0
        {
            self.recent_timestamp = (timestamps.value, now);
        }
    }

    /// The test of RFC 9293 section 3.10.7.4, first step. At the edges it lets through what that section makes
    /// allowance for: an acknowledgment at the end of the window, whose sender has filled it, and one that
    /// comes with data for a window that is shut. The data is cut off later.
    fn is_acceptable(&self, start: i64, length: u32) -> bool {
        let next = self.receive.next() as i64;
        let end = next + self.receive.window() as i64;
        let last = start + i64::from(length) - 1;
        if length == 0 {
            (next..=end).contains(&start)
        } else if next == end {
            start == next
        } else {
            start < end && last >= next
        }
    }

    /// Linux drops what ends before the last acknowledgment that it sent, not what ends there or later (`tcp_sequence`): the
    /// acknowledgment and the timestamp of such a duplicate count.
    fn is_recent_duplicate(&self, start: i64, length: u32) -> bool {
        let stands = !matches!(self.state, State::SynReceived | State::TimeWait);
        let end = start + i64::from(length);
        self.recovers_as_linux()
            && stands
            && (self.last_ack_sent as i64..=self.receive.next() as i64).contains(&end)
    }

    /// All of it was there before: the peer hears so at once.
    fn answer_duplicate(&mut self, start: i64, length: u32) {
        self.statistics.duplicates_received += 1;
        self.ack_due = true;
        let end = start + i64::from(length);
        self.note_duplicate(start, end.min(self.receive.next() as i64));
    }

    fn answer_unacceptable(&mut self, now: Instant, header: &TcpHeader, start: i64, length: u32) {
        if header.flags.contains(TcpFlags::RST) {
            return;
        }
        if self.state == State::TimeWait && header.flags.contains(TcpFlags::FIN) {
            // The peer has not heard our last acknowledgment.
            let time_wait = self.time_wait(now);
            self.set_timer(Timer::TimeWait, now, time_wait);
        }
        if length > u32::from(header.flags.contains(TcpFlags::SYN)) {
            self.answer_duplicate(start, length);
        } else {
            // Two ends that have lost each other's place would answer each other for ever.
            self.challenge(now);
        }
    }

    /// RFC 5961 section 3.2: only the very next sequence number resets. In TIME-WAIT nothing does (RFC 1337).
    fn on_reset(&mut self, now: Instant, start: i64) {
        if start != self.receive.next() as i64 {
            return self.challenge(now);
        }
        match self.state {
            State::TimeWait => {}
            State::SynReceived => self.end(Event::Refused),
            _ => self.end(Event::Reset),
        }
    }

    /// An acknowledgment that asks a genuine peer to repeat itself (RFC 5961), if not too many were sent of late.
    fn challenge(&mut self, now: Instant) {
        let (since, count) = self.challenges;
        let (period, most) = if self.recovers_as_linux() {
            (LINUX_CHALLENGE_PERIOD, 1)
        } else {
            (CHALLENGE_PERIOD, MOST_CHALLENGES)
        };
        if now.saturating_since(since) >= period {
            self.challenges = (now, 1);
        } else if count < most {
            self.challenges = (since, count + 1);
        } else {
            self.statistics.challenge_acks_withheld += 1;
            return;
        }
        self.statistics.challenge_acks += 1;
        self.ack_due = true;
    }

    /// RFC 9293 section 3.10.7.4, fifth step. False if the segment is to be dropped.
    fn take_acknowledgment(
        &mut self,
        now: Instant,
        header: &TcpHeader,
        start: i64,
        length: u32,
    ) -> bool {
        let position = self.send_position(header.acknowledgment);
        if self.state == State::SynReceived {
            if position != 1 || self.next == 0 {
                self.reset_due = reset_reply(header, 0).map(Box::new);
                return false;
            }
            self.on_established(now, header);
            self.trust_peer();
        }
        // RFC 5961 section 5.2.
        let oldest = self.unacknowledged as i64 - self.largest_peer_window as i64;
        if position > self.next as i64 || position < oldest {
            self.challenge(now);
            return false;
        }
        if position < self.unacknowledged as i64 {
            self.take_sack_of_old(now, header, position);
            return true;
        }
        self.end_half_synchronized(now, header);
        let position = position as u64;
        let (old_window, newer) = (self.peer_window, start > self.window_update.0);
        self.take_window(now, header, start, position);
        if self.recovers_as_linux() {
            let window_moved = newer || self.peer_window > old_window || self.peer_window == 0;
            let not_duplicate = length > 0 || window_moved;
            self.on_linux_acknowledgment(now, header, position, not_duplicate);
            self.after_our_fin(now);
            return true;
        }
        // The peer is there, though its window may stay shut for as long as it likes (RFC 9293 section 3.8.6.1).
        if self.peer_window == 0 {
            (self.recovery.timeouts_in_row, self.recovery.retries) = (0, 0);
        }
        let context = AckContext {
            newly_sacked: self.take_sack(header),
            could_be_duplicate: length == 0 && self.peer_window == old_window,
            echo: header
                .options
                .timestamps
                .filter(|_| self.negotiated.timestamps)
                .map(|timestamps| timestamps.echo),
        };
        self.on_acknowledgment(now, position, context);
        if let Some(snack) = header.options.sack.snack() {
            self.take_snack(now, position, snack);
        }
        self.after_our_fin(now);
        true
    }

    /// Linux reads the SACK blocks of an acknowledgment that was overtaken by a higher one.
    fn take_sack_of_old(&mut self, now: Instant, header: &TcpHeader, position: i64) {
        let says = !header.options.sack.as_slice().is_empty() && self.negotiated.sack;
        if let Ok(position) = u64::try_from(position)
            && self.recovers_as_linux()
            && says
        {
            self.on_old_linux_acknowledgment(now, header, position);
        }
    }

    fn take_sack(&mut self, header: &TcpHeader) -> u64 {
        if !self.negotiated.sack || header.options.sack.as_slice().is_empty() {
            return 0;
        }
        let mut blocks = [(0, 0); 4];
        let mut count = 0;
        for &(first, after_last) in header.options.sack.as_slice() {
            let start = self.send_position(first);
            let end = self.send_position(after_last);
            if start >= self.unacknowledged as i64 && start < end && end <= self.next as i64 {
                blocks[count] = (start as u64, end as u64);
                count += 1;
            }
        }
        self.sent.mark_sacked(&blocks[..count], |_| {})
    }

    fn take_window(&mut self, now: Instant, header: &TcpHeader, start: i64, position: u64) {
        let (last_start, last_position) = self.window_update;
        // RFC 9293 section 3.10.7.4 looks at the number first. But data that is sent again has an old number and the
        // present window: without that, an acknowledgment of more would move the old window's edge along.
        let acknowledges_more = position > self.unacknowledged;
        let old = last_start > start || last_start == start && last_position > position;
        if old && !acknowledges_more {
            return;
        }
        let before = self.peer_window;
        let probing = self
            .sent
            .first()
            .is_some_and(|first| self.is_window_probe(first.start));
        self.window_update = (start.max(last_start), position);
        self.peer_window = self.unscaled(header.window);
        self.largest_peer_window = self.largest_peer_window.max(self.peer_window);
        if self.recovers_as_linux() {
            if self.peer_window != before {
                self.on_window_changed(now);
            }
            return;
        }
        if self.peer_window <= before {
            return;
        }
        self.timers.stop(Timer::Persist);
        self.persist_backoff = 0;
        if probing && position == self.unacknowledged {
            // The window has opened, and the probe was not taken: send it again with the rest.
            self.sent.mark_first_lost();
            self.recovery.forced = true;
            let rto = self.rtt.rto();
            self.set_timer(Timer::Retransmission, now, rto);
        }
    }

    /// The peer has what comes before `unacknowledged`: makes room for more of the application's.
    pub(super) fn release_acknowledged(&mut self) {
        self.send.release(self.unacknowledged - 1);
        if !send_buffer::tunes(&self.profile) {
            self.offer_room();
        }
    }

    fn after_our_fin(&mut self, now: Instant) {
        let acknowledged = self
            .fin_position()
            .is_some_and(|fin| self.unacknowledged > fin);
        if !acknowledged {
            return;
        }
        match self.state {
            State::FinWait1 => self.state = State::FinWait2,
            State::Closing => self.enter_time_wait(now),
            State::LastAck => self.end(Event::Closed),
            _ => {}
        }
    }

    fn enter_time_wait(&mut self, now: Instant) {
        self.state = State::TimeWait;
        self.sent.shrink();
        self.timers.stop_all();
        let time_wait = self.time_wait(now);
        self.set_timer(Timer::TimeWait, now, time_wait);
        self.report(Event::Closed);
    }

    /// RFC 9293 section 3.10.7.4, seventh and eighth step.
    pub(super) fn take_data(
        &mut self,
        now: Instant,
        header: &TcpHeader,
        start: i64,
        payload: Payload,
    ) {
        if !matches!(
            self.state,
            State::Established | State::FinWait1 | State::FinWait2
        ) {
            return;
        }
        let length = payload.length();
        if header.flags.contains(TcpFlags::FIN) {
            let fin = u64::try_from(start + i64::from(length)).unwrap_or(0);
            if fin >= self.receive.next() {
                self.peer_fin.get_or_insert(fin);
            }
        }
        if length > 0 {
            self.largest_received = self.largest_received.max(length);
            let before = self.receive.next();
            if self.profile.receive_autotuning {
                self.measure_for_receive_window(now, header, length);
            }
            self.release_held_back(now, start, length);
            let end = start + i64::from(length);
            let overlap = self.receive.overlap(start, end);
            let arrival = self.receive.accept(start, payload);
            if start < before as i64 {
                self.note_duplicate(start, end.min(before as i64));
            } else if arrival == Arrival::Nothing {
                let (from, to) = overlap.unwrap_or_default();
                self.note_duplicate(from as i64, to as i64);
            } else if let Some((from, to)) = overlap {
                self.report_duplicate(from, to);
            }
            if let Some(least) = self.quick_acks() {
                let around = self.ack_surroundings();
                self.acks.on_data(now, least, &around);
                if length < self.largest_received || header.flags.contains(TcpFlags::PSH) {
                    self.acks.push();
                }
            }
            if self.profile.receive_autotuning {
                self.grow_receive_window(length, arrival);
            }
            self.acknowledge_arrival(now, arrival, before);
            // Data that did not fit is dropped: the sender should know soon.
            self.ack_due |= self.receive.window() == 0 && self.receive.next() as i64 != end;
        }
        if self.peer_fin == Some(self.receive.next()) {
            self.on_fin(now);
        } else if header.flags.contains(TcpFlags::FIN) {
            self.ack_due = true;
        }
    }

    /// RFC 5681 section 4.2: at once for what is out of order or closes a gap, otherwise at every second full
    /// segment or when the timer says so.
    fn acknowledge_arrival(&mut self, now: Instant, arrival: Arrival, before: u64) {
        match arrival {
            Arrival::Nothing => {
                self.statistics.duplicates_received += 1;
                self.ack_due = true;
            }
            Arrival::Ahead => {
                self.statistics.out_of_order_received += 1;
                self.acknowledge_gap(now);
            }
            Arrival::Scattered => {
                self.statistics.scattered_dropped += 1;
                self.ack_due = true;
            }
            Arrival::InOrder { filled } => {
                self.report(Event::Readable);
                self.ack_pending_bytes += self.receive.next() - before;
                let enough = 2 * u64::from(self.largest_received);
                if self.profile.quick_acks {
                    self.acks.on_progress();
                    return self.acknowledge_in_order(now, filled);
                }
                match self.profile.delayed_ack {
                    Some(delay) if !filled && self.ack_pending_bytes < enough => {
                        if !self.timers.is_set(Timer::DelayedAck) {
                            self.set_timer(Timer::DelayedAck, now, delay);
                        }
                    }
                    _ => self.ack_due = true,
                }
            }
        }
    }

    /// Linux acknowledges more than one full segment at once, and each where it is quick.
    fn acknowledge_in_order(&mut self, now: Instant, filled: bool) {
        let more_than_one = self.ack_pending_bytes > u64::from(self.largest_received);
        let Some(least) = self
            .quick_acks()
            .filter(|_| !filled && !more_than_one && !self.acks.is_quick())
        else {
            self.ack_due = true;
            return;
        };
        let delay = self.acks.delay(least, self.rtt.smoothed());
        let due = self.timers.deadline(Timer::DelayedAck);
        if due.is_none_or(|due| due > now + delay) {
            self.set_timer(Timer::DelayedAck, now, delay);
        }
    }

    /// RFC 5681 section 4.2 asks for an acknowledgment at once; Linux compresses those after the third.
    fn acknowledge_gap(&mut self, now: Instant) {
        let longest = self
            .profile
            .sack_compression
            .filter(|_| self.negotiated.sack);
        match self.acks.compression(longest, self.rtt.smoothed()) {
            // A timer of its own, which is exact.
            Some(delay) if !self.ack_due => {
                let due = self.timers.deadline(Timer::DelayedAck);
                let at = due.map_or(now + delay, |due| due.min(now + delay));
                self.timers.set(Timer::DelayedAck, at);
            }
            _ => self.ack_due = true,
        }
    }

    /// At once, but that Linux's end that may still send waits a moment for data to carry it, unless more than a full segment
    /// is unacknowledged.
    fn acknowledge_fin(&mut self, now: Instant) {
        let owed = self.receive.next() - self.last_ack_sent;
        let may_wait = owed <= u64::from(self.largest_received) && !self.ack_due;
        match self.quick_acks() {
            Some(least) if self.state == State::Established && may_wait => {
                self.acks.become_interactive();
                let delay = self.acks.delay(least, self.rtt.smoothed());
                if !self.timers.is_set(Timer::DelayedAck) {
                    self.set_timer(Timer::DelayedAck, now, delay);
                }
            }
            _ => self.ack_due = true,
        }
    }

    fn on_fin(&mut self, now: Instant) {
        self.receive.take_fin();
        self.acknowledge_fin(now);
        self.report(Event::PeerClosed);
        match self.state {
            State::Established => self.state = State::CloseWait,
            // Had the FIN of ours been acknowledged, the state would be FIN-WAIT-2 by now.
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => self.enter_time_wait(now),
            _ => {}
        }
    }
}
