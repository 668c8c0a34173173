//! Arrival of a segment: the steps of RFC 9293 section 3.10.7, with the checks of RFC 7323 and RFC 5961.

use super::sender::Acknowledgment;
use super::timer::Timer;
use super::{Connection, Event, State, reset_reply, sequence_length};
use crate::packet::Payload;
use crate::time::Instant;
use crate::wire::tcp::{TcpFlags, TcpHeader};

/// Ticks by which Linux lets a timestamp be older: `TCP_PAWS_WINDOW`.
const LINUX_PAWS_TICKS: u32 = 1;

impl Connection {
    /// Takes in a segment of this connection with a verified checksum.
    pub fn handle_segment(&mut self, now: Instant, header: &TcpHeader, payload: Payload) {
        self.common.statistics.segments_received += 1;
        let without_syn;
        let mut header = header;
        match self.state {
            State::Closed => return,
            State::SynSent => return self.on_segment_in_syn_sent(now, header, payload),
            State::SynReceived if self.is_syn_again(header) => {
                if !header.flags.contains(TcpFlags::ACK) {
                    self.handshake.demand_syn();
                    return;
                }
                // The SYN-ACK of a simultaneous open: its SYN was already taken in.
                without_syn = self.without_syn(header);
                header = &without_syn;
            }
            _ if self.handshake.is_half_synchronized() && self.is_syn_again(header) => {
                self.handshake.demand_syn();
                return;
            }
            _ => {}
        }
        if !self.handshake.is_of_this_connection(header) {
            return self.challenge(now);
        }
        let start = self.receiving.position(header.sequence);
        let length = sequence_length(header, payload.length());
        if !self.is_timely(now, header) {
            let passes = header.flags.contains(TcpFlags::ACK)
                && length == 0
                && self.common.recovers_as_linux()
                && self.is_overtaken_acknowledgment(now, header, start);
            if !passes {
                return self.on_old_timestamp(now, header, start, payload.length());
            }
        }
        let acceptable = self.receiving.is_acceptable(start, length);
        if !acceptable && !self.is_recent_duplicate(start, length) {
            return self.answer_unacceptable(now, header, start, length);
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
        if self.take_acknowledgment(now, header, start, length) {
            self.take_held(now);
            self.remember_timestamp(now, header, start);
            if length > 0 && self.is_recent_duplicate(start, length) {
                self.answer_duplicate(start, length);
            } else {
                self.take_data(now, header, start, payload);
            }
        }
    }

    /// Returns the window of a segment without a SYN, in bytes.
    pub(super) fn unscaled(&self, window: u16) -> u64 {
        let shifts = self.common.negotiated.window_shifts;
        u64::from(window) << shifts.map_or(0, |(_, theirs)| theirs)
    }

    /// Returns false for an old duplicate by PAWS (RFC 7323 section 5.3 R1). With timestamps negotiated, a segment
    /// without one counts as old as well (section 3.2), but not in Linux (`tcp_validate_incoming`); resets are exempt.
    fn is_timely(&self, now: Instant, header: &TcpHeader) -> bool {
        let common = &self.common;
        if !common.negotiated.timestamps || header.flags.contains(TcpFlags::RST) {
            return true;
        }
        match header.options.timestamps {
            Some(timestamps) => {
                let late = if common.recovers_as_linux() {
                    LINUX_PAWS_TICKS
                } else {
                    0
                };
                common.clock.age(now, timestamps.value) <= late
            }
            None => common.recovers_as_linux(),
        }
    }

    /// Returns true for a reordered pure ACK that Linux accepts: it changes nothing but the scoreboard, and is not
    /// older than about a timeout (`tcp_disordered_ack_check`).
    fn is_overtaken_acknowledgment(&self, now: Instant, header: &TcpHeader, start: i64) -> bool {
        let Some(timestamps) = header.options.timestamps else {
            return false;
        };
        let flow = &self.sender.flow;
        let (from, _) = flow.space.window_update();
        let window = self.unscaled(header.window);
        let moves_window =
            start > from || start == from && (window > flow.space.window() || window == 0);
        // 1200 ticks a second: faster than every peer's clock.
        let most = flow.rtt.rto().as_nanos() / 1_000_000 * 1_200 / 1_000;
        let position = flow.space.position(header.acknowledgment);
        start == self.receiving.data.next() as i64
            && position == flow.space.unacknowledged() as i64
            && !moves_window
            && u64::from(self.common.clock.age(now, timestamps.value)) <= most
    }

    /// Answers a segment with an old timestamp. Old data is reported as a duplicate: the old path of a handover
    /// delivers data that was meanwhile retransmitted on the new one. Old ACKs then arrive in hundreds; the rate of
    /// answers is limited, as for all out-of-window segments (`tcp_oow_rate_limited`). A segment without a timestamp is
    /// not answered (RFC 7323 section 3.2).
    fn on_old_timestamp(&mut self, now: Instant, header: &TcpHeader, start: i64, length: u32) {
        let statistics = &mut self.common.statistics;
        statistics.old_timestamps += 1;
        let data = &self.receiving.data;
        let (end, next) = (start + i64::from(length), data.next() as i64);
        let nothing_new = length > 0 && data.holds(start, end);
        statistics.duplicates_received += u64::from(nothing_new);
        if header.options.timestamps.is_none() {
            return;
        }
        if length == 0 {
            // Linux does not answer a pure ACK that data has overtaken as well (`PAWSOldAck`, since 6.14).
            let pure = sequence_length(header, 0) == 0 && header.flags.contains(TcpFlags::ACK);
            if !(pure && start < next && self.common.recovers_as_linux()) {
                self.challenge(now);
            }
            return;
        }
        self.receiving.acks.demand();
        if start < next {
            let (common, flow) = (&self.common, &self.sender.flow);
            self.receiving
                .note_duplicate(common, flow, start, end.min(next));
        }
    }

    /// Updates TS.Recent (RFC 7323 section 4.3 (2)).
    fn remember_timestamp(&mut self, now: Instant, header: &TcpHeader, start: i64) {
        let clock = &mut self.common.clock;
        if self.common.negotiated.timestamps
            && let Some(timestamps) = header.options.timestamps
            && start <= self.receiving.acks.last_sent() as i64
            && clock.age(now, timestamps.value) == 0
        {
            clock.set_recent(timestamps.value, now);
        }
    }

    /// Returns true for a duplicate whose ACK and timestamp still count: Linux drops only segments that end before its
    /// last ACK sent (`tcp_sequence`).
    fn is_recent_duplicate(&self, start: i64, length: u32) -> bool {
        let stands = !matches!(self.state, State::SynReceived | State::TimeWait);
        self.common.recovers_as_linux() && stands && self.receiving.ends_lately(start, length)
    }

    /// Acknowledges at once a segment without new data.
    fn answer_duplicate(&mut self, start: i64, length: u32) {
        let (common, flow) = (&mut self.common, &self.sender.flow);
        self.receiving.answer_duplicate(common, flow, start, length);
    }

    fn answer_unacceptable(&mut self, now: Instant, header: &TcpHeader, start: i64, length: u32) {
        if header.flags.contains(TcpFlags::RST) {
            return;
        }
        if self.state == State::TimeWait && header.flags.contains(TcpFlags::FIN) {
            // The peer has not received this end's last ACK.
            self.start_time_wait(now);
        }
        if length > u32::from(header.flags.contains(TcpFlags::SYN)) {
            self.answer_duplicate(start, length);
        } else {
            // Two desynchronized ends would answer each other for ever.
            self.challenge(now);
        }
    }

    /// Takes in a reset, which needs exactly the next sequence number (RFC 5961 section 3.2). TIME-WAIT ignores resets
    /// (RFC 1337).
    fn on_reset(&mut self, now: Instant, start: i64) {
        if start != self.receiving.data.next() as i64 {
            return self.challenge(now);
        }
        match self.state {
            State::TimeWait => {}
            State::SynReceived => self.end(Event::Refused),
            _ => self.end(Event::Reset),
        }
    }

    /// Sends a challenge ACK, which a genuine peer answers (RFC 5961), subject to a rate limit.
    fn challenge(&mut self, now: Instant) {
        if self.challenges.admits(&mut self.common, now) {
            self.receiving.acks.demand();
        }
    }

    /// Takes in an acknowledgment number (RFC 9293 section 3.10.7.4, fifth step). Returns false if the segment must be
    /// dropped.
    pub(super) fn take_acknowledgment(
        &mut self,
        now: Instant,
        header: &TcpHeader,
        start: i64,
        length: u32,
    ) -> bool {
        let space = &self.sender.flow.space;
        let position = space.position(header.acknowledgment);
        if self.state == State::SynReceived {
            if position != 1 || space.next() == 0 {
                self.reset_due = reset_reply(header, 0).map(Box::new);
                return false;
            }
            self.on_established(now, header);
            self.handshake.trust_peer(&self.common);
        }
        let space = &self.sender.flow.space;
        let unacknowledged = space.unacknowledged() as i64;
        // RFC 5961 section 5.2.
        let oldest = unacknowledged - space.largest_window() as i64;
        if position > space.next() as i64 || position < oldest {
            self.challenge(now);
            return false;
        }
        if position < unacknowledged {
            let common = &mut self.common;
            self.sender.take_sack_of_old(common, now, header, position);
            return true;
        }
        self.end_half_synchronized(now, header);
        let window = self.unscaled(header.window);
        let acknowledgment = Acknowledgment {
            start,
            length,
            position: position as u64,
            window,
        };
        self.sender
            .take_acknowledgment(&mut self.common, now, header, &acknowledgment);
        self.after_our_fin(now);
        true
    }

    fn after_our_fin(&mut self, now: Instant) {
        let space = &self.sender.flow.space;
        if !space.fin_is_before(space.unacknowledged()) {
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
        self.sender.flow.space.sent.shrink();
        self.common.timers.stop_all();
        self.start_time_wait(now);
        self.common.events.report(Event::Closed);
    }

    fn start_time_wait(&mut self, now: Instant) {
        let rto = self.sender.flow.rtt.rto();
        let after = self.handshake.time_wait(&self.common, rto, now);
        self.common.timers.set_after(Timer::TimeWait, now, after);
    }

    /// Takes in data and FIN (RFC 9293 section 3.10.7.4, seventh and eighth step).
    pub(super) fn take_data(
        &mut self,
        now: Instant,
        header: &TcpHeader,
        start: i64,
        payload: Payload,
    ) {
        if !self.state.may_receive() {
            return;
        }
        let length = payload.length();
        let has_fin = header.flags.contains(TcpFlags::FIN);
        if has_fin {
            self.receiving.note_fin(start, length);
        }
        if length > 0 {
            self.receiving
                .before_data(&self.common, now, header, length);
            if self.receiving.needs_early_acknowledgment(start, length) {
                let header = self.bare_acknowledgment(now);
                self.receiving.keep_early(header);
            }
            let (common, flow) = (&mut self.common, &self.sender.flow);
            self.receiving
                .take_data(common, flow, now, header, start, payload);
        }
        if self.receiving.reaches_fin() {
            self.on_fin(now);
        } else if has_fin {
            self.receiving.acks.demand();
        }
    }

    fn on_fin(&mut self, now: Instant) {
        let (common, flow) = (&mut self.common, &self.sender.flow);
        self.receiving.take_fin(common, flow, now, self.state);
        self.common.events.report(Event::PeerClosed);
        match self.state {
            State::Established => self.state = State::CloseWait,
            // With the FIN acknowledged, the state would be FIN-WAIT-2 by now.
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => self.enter_time_wait(now),
            _ => {}
        }
    }
}
