//! A half that returns after a restart of the gateway: its peer, which has noticed nothing, is asked how far it is.
//!
//! An ACK with an old sequence number must be answered (RFC 9293 section 3.10.7.4, first step). The acknowledgment
//! number of the answer, or of any other segment of the peer, is the position from which on the half sends: all data
//! before it has arrived, and the other gateway has kept all data behind it. The peer's own data is acknowledged only
//! when it is in the journal, so the next expected position is known.

use super::super::opening::fitted;
use super::super::{AerotpGateway, Near, Pair, Splice};
use super::Journal;
use super::carrying::Journaled;
use super::record::Beginning;
use crate::host::layer::{Around, Step};
use crate::packet::{Body, Packet, Payload};
use crate::tcp;
use crate::tcp::profile::Profile;
use crate::time::{Duration, Instant};
use crate::wire::split_context::{RoundTrip, TcpContext, Timers, state};
use crate::wire::tcp::{TcpFlags, TcpHeader, TcpOptions, Timestamps};

/// Pause before the second question, which doubles up to the longest one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Most bytes by which a segment's sequence number may differ from the next expected one, and its acknowledgment number
/// from the recorded one: more than the buffers here. A blind guess of both succeeds once in 100,000 times.
const NEARBY: u32 = 1 << 24;
/// Congestion window after the return, in segments (RFC 6928).
const FIRST_WINDOW: u32 = 10;

/// A half before its peer has answered.
#[derive(Clone, Copy, Debug)]
pub(in crate::gateways::aerotp) struct Returning {
    /// Time of the next question.
    pub ask_at: Instant,
    pause: Duration,
}

impl Returning {
    pub(super) fn new(now: Instant) -> Returning {
        Returning {
            ask_at: now,
            pause: FIRST_PAUSE,
        }
    }
}

impl AerotpGateway {
    /// Carries on with a connection whose half has not returned: custody goes to the other gateway meanwhile. Returns
    /// true if it continues.
    pub(in crate::gateways::aerotp) fn carry_returning(
        &mut self,
        now: Instant,
        around: &mut Around<'_>,
        splice: &mut Splice,
    ) -> bool {
        self.go_on(now, splice);
        if let Near::Returning(returning) = &mut splice.near
            && returning.ask_at <= now
        {
            returning.ask_at = now + returning.pause;
            returning.pause = returning.pause.saturating_mul(2).min(LONGEST_PAUSE);
            self.ask(now, around, splice);
        }
        if splice.near_failed {
            splice.aerotp.abort();
        }
        splice.aerotp.state() != crate::aerotp::State::Closed
    }

    fn ask(&mut self, now: Instant, around: &mut Around<'_>, splice: &Splice) {
        let (Some(journaled), Some(journal)) = (&splice.journaled, &self.custody.journal) else {
            return;
        };
        let Some(beginning) = &journaled.beginning else {
            return;
        };
        let question = question(now, beginning, journaled, journal);
        let ends = (splice.ends.1.address, splice.ends.0.address);
        let body = Body::Tcp(question, Payload::EMPTY);
        let packet = around.origin.packet(ends, body, splice.flow);
        self.outbox.push_back(Step::Originate(packet));
    }

    /// Takes in a segment for a half that has not returned. Returns true if it was of use.
    pub(in crate::gateways::aerotp) fn take_returning(
        &mut self,
        now: Instant,
        around: &mut Around<'_>,
        ends: Pair,
        packet: Packet,
    ) -> bool {
        let Body::Tcp(header, _) = &packet.body else {
            return false;
        };
        let (Some(splice), Some(journal)) =
            (self.splices.get_mut(&ends), self.custody.journal.as_ref())
        else {
            return false;
        };
        let Some(journaled) = splice.journaled.as_mut() else {
            return false;
        };
        let Some(beginning) = journaled.beginning else {
            return false;
        };
        let expected = beginning.peer_initial + journaled.expected() as u32;
        if header.flags.contains(TcpFlags::RST) {
            splice.near_failed |= header.sequence == expected;
            return true;
        }
        let is_near = header.sequence.distance_from(expected).unsigned_abs() <= NEARBY;
        let is_acknowledgment =
            header.flags.contains(TcpFlags::ACK) && !header.flags.contains(TcpFlags::SYN);
        let told = beginning.initial + (1 + journaled.delivered) as u32;
        let beyond = u32::try_from(header.acknowledgment.distance_from(told));
        let beyond = beyond.ok().filter(|&beyond| beyond <= NEARBY);
        let (true, true, Some(beyond)) = (is_near, is_acknowledgment, beyond) else {
            return false;
        };
        let reading = reading(now, &beginning, journal);
        let context = journaled.return_at(&beginning, beyond.into(), header, reading);
        let profile = splice.rule.profile.clone();
        let profile = fitted(around, profile, None, ends.1.address);
        let (near_end, taken, flow) = (journaled.near_end_durable, journaled.taken, splice.flow);
        let context = with_window(context, &profile);
        let mtu = around.mtu_towards(ends.0.address);
        let pair = (ends.1, ends.0);
        let mut half =
            tcp::Connection::resume((now, Duration::ZERO), pair, &profile, mtu, &context);
        half.hold_acknowledgments();
        half.release_acknowledgments(taken, near_end);
        let is_open = half.state() != tcp::State::Closed;
        let socket = self.sockets.attach(half, flow);
        splice.near = Near::Tcp(socket);
        self.by_socket.insert(socket, ends);
        !is_open || self.deliver(now, around, packet)
    }

    /// Ends the half here, with a reset.
    pub(in crate::gateways::aerotp) fn abort_near(&mut self, splice: &Splice) {
        if let Near::Tcp(socket) = splice.near
            && let Some(connection) = self.sockets.connection_mut(socket)
        {
            connection.abort();
        }
    }
}

/// Returns the present reading of the half's timestamp clock.
fn reading(now: Instant, beginning: &Beginning, journal: &Journal) -> u32 {
    let since = journal.wall_time(now).since(beginning.at);
    let passed = (since.as_nanos() / 1_000_000) as u32;
    beginning.clock.wrapping_add(passed)
}

/// Returns an ACK that the peer must answer.
fn question(
    now: Instant,
    beginning: &Beginning,
    journaled: &Journaled,
    journal: &Journal,
) -> TcpHeader {
    let stamp = Timestamps {
        value: reading(now, beginning, journal),
        echo: beginning.recent,
    };
    TcpHeader {
        source_port: beginning.ends.1.port,
        destination_port: beginning.ends.0.port,
        sequence: beginning.initial + journaled.delivered as u32,
        acknowledgment: beginning.peer_initial + journaled.expected() as u32,
        flags: TcpFlags::ACK,
        window: u16::MAX,
        options: TcpOptions {
            timestamps: beginning.negotiated.timestamps.then_some(stamp),
            ..TcpOptions::default()
        },
    }
}

impl Journaled {
    /// Returns the next position expected of the half's peer: behind the SYN, all data, and the FIN if it has come.
    fn expected(&self) -> u64 {
        1 + self.taken + u64::from(self.near_end_durable)
    }

    /// Takes in that the peer has so many bytes more than is recorded, and returns the half's context. One more than the
    /// far end has sent is the FIN.
    fn return_at(
        &mut self,
        beginning: &Beginning,
        beyond: u64,
        header: &TcpHeader,
        reading: u32,
    ) -> TcpContext {
        let acknowledged = self.delivered + beyond;
        let has_fin = self.far_end.is_some_and(|end| acknowledged > end);
        self.put = acknowledged - u64::from(has_fin);
        self.skip = self.put - self.delivered;
        let negotiated = beginning.negotiated;
        let shift = negotiated.window_shifts.map_or(0, |(_, theirs)| theirs);
        let window = u32::from(header.window) << shift;
        let expected = self.expected();
        let stamps = header.options.timestamps;
        // Its peer may have seen a later time than this end's clock shows, if that was set back.
        let seen = stamps.map_or(reading, |stamps| stamps.echo.wrapping_add(1));
        let is_behind = (seen.wrapping_sub(reading) as i32) > 0;
        TcpContext {
            state: match (self.near_end_durable, has_fin) {
                (false, false) => state::ESTABLISHED,
                (true, false) => state::CLOSE_WAIT,
                (false, true) => state::FIN_WAIT_2,
                (true, true) => state::CLOSED,
            },
            close_requested: has_fin,
            syn_due: false,
            ack_due: true,
            probe_due: false,
            initial_sequence: beginning.initial,
            peer_initial_sequence: beginning.peer_initial,
            negotiated,
            unacknowledged: 1 + acknowledged,
            next: 1 + acknowledged,
            peer_window: window,
            largest_peer_window: window,
            window_update: (0, 0),
            written: self.put,
            unacknowledged_bytes: Vec::new(),
            outstanding: Vec::new(),
            expected,
            window_end: expected,
            receive_buffer: (0, 0),
            unread: Vec::new(),
            beyond_gap: Vec::new(),
            peer_fin: self.near_end_durable.then_some(expected - 1),
            unanswered: 0,
            last_acknowledged: expected,
            largest_received: 0,
            congestion_window: FIRST_WINDOW * u32::from(negotiated.peer_segment_size),
            slow_start_threshold: u32::MAX,
            round_trip: RoundTrip {
                smoothed: None,
                variation: Duration::ZERO,
                timeout: Duration::from_secs(1),
                backoff: 0,
            },
            syn_transmissions: (1, Duration::ZERO),
            idle: None,
            timestamp_clock: if is_behind { seen } else { reading },
            recent_timestamp: (
                stamps.map_or(beginning.recent, |stamps| stamps.value),
                Duration::ZERO,
            ),
            persist_backoff: 0,
            timers: Timers::default(),
        }
    }
}

/// Opens the window as far as the earlier half may have: the peer may have data in flight up to there.
fn with_window(mut context: TcpContext, profile: &Profile) -> TcpContext {
    let most = profile.receive_buffer;
    context.receive_buffer = (most, most);
    context.window_end = context.expected + u64::from(most);
    context
}
