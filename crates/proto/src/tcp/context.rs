//! A connection that moves to another host: its context in a message, and its resumption there.
//!
//! [`crate::wire::split_context`] lists the fields that are transferred, and those that begin anew.

use super::flow::Patience;
use super::handshake::Handshake;
use super::linux::send_buffer::first_size;
use super::profile::Profile;
use super::receiving::Receiving;
use super::space::SendSpace;
use super::timer::Timer;
use super::{Connection, Endpoint, State};
use crate::time::{Duration, Instant};
use crate::wire::split_context::{TcpContext, Timers, state};

/// States and their numbers in the format.
const STATES: [(State, u8); 10] = [
    (State::Closed, state::CLOSED),
    (State::SynSent, state::SYN_SENT),
    (State::SynReceived, state::SYN_RECEIVED),
    (State::Established, state::ESTABLISHED),
    (State::FinWait1, state::FIN_WAIT_1),
    (State::FinWait2, state::FIN_WAIT_2),
    (State::CloseWait, state::CLOSE_WAIT),
    (State::LastAck, state::LAST_ACK),
    (State::Closing, state::CLOSING),
    (State::TimeWait, state::TIME_WAIT),
];

impl Connection {
    /// Returns the context of this connection; `None` if it has a reset to send, or was opened by T/TCP, which the
    /// format does not cover.
    pub fn context(&self, now: Instant) -> Option<TcpContext> {
        if self.reset_due.is_some() || self.handshake.is_transaction() {
            return None;
        }
        let number = STATES.iter().find(|(state, _)| *state == self.state)?.1;
        let is_over = matches!(self.state, State::Closed | State::TimeWait);
        let since = |at: Instant| now.saturating_since(at);
        let (flow, clock) = (&self.sender.flow, &self.common.clock);
        let space = &flow.space;
        let (window_from, window_by) = space.window_update();
        let (recent, recent_at) = clock.recent();
        let transmissions = u8::try_from(self.handshake.transmissions()).unwrap_or(u8::MAX);
        let mut context = TcpContext {
            state: number,
            close_requested: space.is_closed(),
            syn_due: self.handshake.is_syn_due(),
            ack_due: false,
            probe_due: flow.patience.is_probe_due(),
            initial_sequence: space.initial(),
            peer_initial_sequence: self.receiving.initial(),
            negotiated: self.common.negotiated,
            unacknowledged: space.unacknowledged(),
            next: space.next(),
            peer_window: in_32_bits(space.window()),
            largest_peer_window: in_32_bits(space.largest_window()),
            window_update: (u64::try_from(window_from).unwrap_or(0), window_by),
            written: space.buffer.written(),
            unacknowledged_bytes: space.buffer.runs(),
            outstanding: match is_over {
                true => Vec::new(),
                false => space.sent.context(now),
            },
            expected: 0,
            window_end: 0,
            receive_buffer: (0, 0),
            unread: Vec::new(),
            beyond_gap: Vec::new(),
            peer_fin: None,
            unanswered: 0,
            last_acknowledged: 0,
            largest_received: 0,
            congestion_window: flow.congestion.window().max(1),
            slow_start_threshold: flow.congestion.slow_start_threshold(),
            round_trip: flow.rtt.context(),
            syn_transmissions: (transmissions, since(self.handshake.sent_at())),
            idle: space.last_sent_at().map(since),
            timestamp_clock: clock.reading(now),
            recent_timestamp: (recent, since(recent_at)),
            persist_backoff: u8::try_from(flow.patience.persist_backoff()).unwrap_or(u8::MAX),
            timers: self.timers_left(now),
        };
        self.receiving.write_context(&mut context);
        Some(context)
    }

    fn timers_left(&self, now: Instant) -> Timers {
        let left = |timer| {
            let deadline = self.common.timers.deadline(timer);
            deadline.map(|at| at.saturating_since(now))
        };
        Timers {
            retransmission: self.sender.timeout_left(&self.common, now),
            persist: left(Timer::Persist),
            delayed_ack: left(Timer::DelayedAck),
            time_wait: left(Timer::TimeWait),
        }
    }

    /// Resumes a connection between two ends, the local one first, from a context that another host sent `away` ago.
    /// `path_mtu` is in bytes.
    pub fn resume(
        (now, away): (Instant, Duration),
        (local, remote): (Endpoint, Endpoint),
        profile: &Profile,
        path_mtu: u32,
        context: &TcpContext,
    ) -> Connection {
        let ago = |age: Duration| {
            let then = now.as_nanos().saturating_sub((age + away).as_nanos());
            Instant::from_nanos(then)
        };
        let initial = context.initial_sequence;
        let mut connection = Connection::connect(now, local, remote, profile, initial, path_mtu);
        let state = STATES.iter().find(|(_, number)| *number == context.state);
        connection.state = state.map_or(State::Closed, |(state, _)| *state);
        connection.receiving = Receiving::resume(profile, context);
        let (transmissions, since) = context.syn_transmissions;
        connection.handshake = Handshake::resume(context.syn_due, transmissions.into(), ago(since));

        let common = &mut connection.common;
        common.negotiated = context.negotiated;
        let passed = (away.as_nanos() / 1_000_000) as u32;
        let reading = context.timestamp_clock.wrapping_add(passed);
        common.clock.set(now, reading);
        let (recent, since) = context.recent_timestamp;
        common.clock.set_recent(recent, ago(since));

        let flow = &mut connection.sender.flow;
        flow.space = SendSpace::resume(context, first_size(profile), ago);
        flow.patience = Patience::resume(context.persist_backoff.into(), context.probe_due);
        flow.rtt.resume(&context.round_trip, context.next);

        connection.resume_timers((now, away), &context.timers);
        connection.choose_segment_size();
        if !matches!(connection.state, State::SynSent | State::SynReceived) {
            connection.resume_sending(now, context);
        }
        connection
    }

    fn resume_timers(&mut self, (now, away): (Instant, Duration), left: &Timers) {
        for (timer, left) in [
            (Timer::Retransmission, left.retransmission),
            (Timer::Persist, left.persist),
            (Timer::DelayedAck, left.delayed_ack),
            (Timer::TimeWait, left.time_wait),
        ] {
            if let Some(left) = left {
                self.common
                    .timers
                    .set(timer, now + left.saturating_sub(away));
            }
        }
    }

    /// Starts congestion control and loss recovery, as the handshake does for a new connection.
    fn resume_sending(&mut self, now: Instant, context: &TcpContext) {
        let (window, threshold) = (context.congestion_window, context.slow_start_threshold);
        self.sender.resume(&self.common, window, threshold);
        self.start_halves(now);
        self.receiving.resume_tuning(context.receive_buffer.0);
        self.receiving.orders.begin();
        self.sender.flow.orders.time_from(now);
        self.sender.resume_repair(&self.common);
        if !matches!(self.state, State::Closed | State::TimeWait) {
            self.sender.ensure_timer(&mut self.common, now);
        }
    }
}

fn in_32_bits(window: u64) -> u32 {
    u32::try_from(window).unwrap_or(u32::MAX)
}
