//! A connection that goes on at another host: what a message tells of it, and how it is taken up there.
//!
//! The list of fields that are carried over, and of those that begin anew, stands in [`crate::wire::split_context`].

use super::congestion;
use super::linux::receive_window::first_window;
use super::linux::send_buffer::first_size;
use super::profile::Profile;
use super::receive::Receiver;
use super::recovery::Phase;
use super::sent::SentQueue;
use super::timer::Timer;
use super::{Connection, Endpoint, State};
use crate::packet::SendBuffer;
use crate::time::{Duration, Instant};
use crate::wire::split_context::{TcpContext, Timers, state};

/// States and the numbers that stand for them.
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
    /// Tells of this connection; `None` of one that has a reset to send, or that T/TCP opened, of which the format has nothing.
    pub fn context(&self, now: Instant) -> Option<TcpContext> {
        if self.reset_due.is_some() || self.transaction.is_some() {
            return None;
        }
        let number = STATES.iter().find(|(state, _)| *state == self.state)?.1;
        let is_over = matches!(self.state, State::Closed | State::TimeWait);
        let since = |at: Instant| now.saturating_since(at);
        let mut context = TcpContext {
            state: number,
            close_requested: self.close_requested,
            syn_due: self.syn_due,
            ack_due: self.ack_due || self.early_ack.is_some(),
            probe_due: self.probe_due,
            initial_sequence: self.initial_sequence,
            peer_initial_sequence: self.peer_initial_sequence,
            negotiated: self.negotiated,
            unacknowledged: self.unacknowledged,
            next: self.next,
            peer_window: in_32_bits(self.peer_window),
            largest_peer_window: in_32_bits(self.largest_peer_window),
            window_update: (
                u64::try_from(self.window_update.0).unwrap_or(0),
                self.window_update.1,
            ),
            written: self.send.written(),
            unacknowledged_bytes: self.send.runs(),
            outstanding: match is_over {
                true => Vec::new(),
                false => self.sent.context(now),
            },
            expected: 0,
            window_end: 0,
            receive_buffer: (0, 0),
            unread: Vec::new(),
            beyond_gap: Vec::new(),
            peer_fin: self.peer_fin,
            unanswered: self.ack_pending_bytes,
            last_acknowledged: self.last_ack_sent,
            largest_received: self.largest_received,
            congestion_window: self.congestion.window().max(1),
            slow_start_threshold: self.congestion.slow_start_threshold(),
            round_trip: self.rtt.context(),
            syn_transmissions: (
                u8::try_from(self.syn_transmissions).unwrap_or(u8::MAX),
                since(self.syn_sent_at),
            ),
            idle: self.last_data_sent_at.map(since),
            timestamp_clock: self.timestamp_clock(now),
            recent_timestamp: (self.recent_timestamp.0, since(self.recent_timestamp.1)),
            persist_backoff: u8::try_from(self.persist_backoff).unwrap_or(u8::MAX),
            timers: self.timers_left(now),
        };
        self.receive.write_context(&mut context);
        Some(context)
    }

    fn timers_left(&self, now: Instant) -> Timers {
        let left = |timer| {
            let deadline = self.timers.deadline(timer);
            deadline.map(|at| at.saturating_since(now))
        };
        Timers {
            retransmission: self.timeout_left(now),
            persist: left(Timer::Persist),
            delayed_ack: left(Timer::DelayedAck),
            time_wait: left(Timer::TimeWait),
        }
    }

    /// Takes up a connection between two ends, the local one first, of which another host has told `away` ago. `path_mtu` in bytes.
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
        let bounds = receive_bounds(profile, context.receive_buffer);
        let capacity = first_size(profile);
        let start = context.unacknowledged;
        let passed = (away.as_nanos() / 1_000_000) as u32;
        connection.set_timestamp_clock(now, context.timestamp_clock.wrapping_add(passed));
        connection.rtt.resume(&context.round_trip, context.next);
        connection = Connection {
            state: state.map_or(State::Closed, |(state, _)| *state),
            close_requested: context.close_requested,
            syn_due: context.syn_due,
            ack_due: context.ack_due,
            probe_due: context.probe_due,
            peer_initial_sequence: context.peer_initial_sequence,
            negotiated: context.negotiated,
            unacknowledged: context.unacknowledged,
            next: context.next,
            peer_window: context.peer_window.into(),
            largest_peer_window: context.largest_peer_window.into(),
            window_update: (context.window_update.0 as i64, context.window_update.1),
            send: SendBuffer::resume(capacity, context.written, &context.unacknowledged_bytes),
            sent: SentQueue::resume(start, &context.outstanding, ago),
            receive: Receiver::resume(context, bounds),
            peer_fin: context.peer_fin,
            ack_pending_bytes: context.unanswered,
            last_ack_sent: context.last_acknowledged,
            largest_received: context.largest_received,
            syn_transmissions: context.syn_transmissions.0.into(),
            syn_sent_at: ago(context.syn_transmissions.1),
            last_data_sent_at: context.idle.map(ago),
            recent_timestamp: (context.recent_timestamp.0, ago(context.recent_timestamp.1)),
            persist_backoff: context.persist_backoff.into(),
            ..connection
        };
        connection.resume_timers((now, away), &context.timers);
        connection.segment_size = connection.sendable_segment_size();
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
                self.timers.set(timer, now + left.saturating_sub(away));
            }
        }
    }

    /// Goes on with congestion control and loss recovery, which the handshake of a new connection would begin.
    fn resume_sending(&mut self, now: Instant, context: &TcpContext) {
        let (window, threshold) = (context.congestion_window, context.slow_start_threshold);
        self.congestion = congestion::new(&self.profile, self.segment_size, window);
        self.congestion.set(window, threshold);
        self.start_linux(now);
        self.resume_receive_tuning(context.receive_buffer.0);
        self.time_from(now);
        if self.sent.counts().lost > 0 {
            self.recovery.phase = Phase::AfterTimeout;
            self.recovery.point = self.next;
            if self.recovers_as_linux() {
                self.repair_without_reduction();
            }
        }
        if !matches!(self.state, State::Closed | State::TimeWait) {
            self.ensure_timer(now);
        }
    }
}

/// Buffer and bound of the window: as they have grown, where they tune themselves.
fn receive_bounds(profile: &Profile, grown: (u32, u32)) -> (u32, u32) {
    let first = first_window(profile);
    if !profile.receive_autotuning {
        return first;
    }
    let most = profile.receive_buffer;
    let buffer = grown.0.max(first.0).min(most);
    (buffer, grown.1.max(first.1).min(most))
}

fn in_32_bits(window: u64) -> u32 {
    u32::try_from(window).unwrap_or(u32::MAX)
}
