//! The connection: its variables, and what an application or a host does with it. What happens when a
//! segment arrives is in `input.rs`, what is sent in `output.rs`, loss and its repair in `recovery.rs`.

use super::acks::AckState;
use super::congestion::{self, CongestionControl};
use super::linux::receive_window::first_window;
use super::linux::send_buffer::first_size;
use super::linux::{LinuxState, RecoveryPhase};
use super::options::{self, Negotiated, TIMESTAMPS_LENGTH};
use super::profile::Profile;
use super::receive::Receiver;
use super::recovery::{Phase, RecoveryState};
use super::rtt::RttEstimator;
use super::sent::{SegmentCounts, SentQueue};
use super::steering::Steering;
use super::timer::{self, Timer, TimerTable};
use super::transaction::Transaction;
use super::{Endpoint, Event, State, Statistics};
use crate::packet::SendBuffer;
use crate::time::{Duration, Instant};
use crate::wire::icmp::{IcmpError, QuotedPacket};
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::TcpHeader;

/// One TCP connection; how to call it is told in the [module's documentation](super).
///
/// The fields stand in memory as they stand here: what every segment asks for first, so that of thousands of
/// connections few cache lines each are fetched.
#[derive(Debug)]
#[repr(C)]
pub struct Connection {
    pub(super) state: State,
    pub(super) close_requested: bool,
    /// A write was cut short: tell the application when there is room.
    pub(super) write_blocked: bool,
    pub(super) syn_due: bool,
    /// An acknowledgment is to be sent now.
    pub(super) ack_due: bool,
    /// The persist timer went off: send into the closed window.
    pub(super) probe_due: bool,
    pub(super) events: u16,
    /// Largest payload that we send.
    pub(super) segment_size: u32,
    // Positions of what we send count from our initial sequence number, see `send.rs`; those of what we
    // receive from the peer's, see `receive.rs`.
    pub(super) initial_sequence: SequenceNumber,
    pub(super) peer_initial_sequence: SequenceNumber,
    pub(super) negotiated: Negotiated,
    /// "SND.UNA".
    pub(super) unacknowledged: u64,
    /// "SND.NXT".
    pub(super) next: u64,
    /// "SND.WND", unscaled.
    pub(super) peer_window: u64,
    /// "MAX.SND.WND" (RFC 5961 section 5).
    pub(super) largest_peer_window: u64,
    /// "SND.WL1" and "SND.WL2": position and acknowledgment of the last window update.
    pub(super) window_update: (i64, u64),
    pub(super) peer_fin: Option<u64>,
    pub(super) timers: TimerTable,
    pub(super) receive: Receiver,
    /// Bytes received in order and not yet acknowledged.
    pub(super) ack_pending_bytes: u64,
    pub(super) acks: AckState,
    pub(super) last_ack_sent: u64,
    /// The peer is not told of more than this has arrived, by position; see `relaying`.
    pub(super) told_up_to: u64,
    /// Largest payload received: what the peer's full segment is.
    pub(super) largest_received: u32,
    pub(super) local: Endpoint,
    pub(super) remote: Endpoint,
    pub(super) profile: Profile,
    pub(super) statistics: Statistics,
    pub(super) send: SendBuffer,
    pub(super) sent: SentQueue,
    pub(super) congestion: Box<dyn CongestionControl>,
    pub(super) recovery: RecoveryState,
    pub(super) linux: Box<LinuxState>,
    pub(super) rtt: RttEstimator,
    pub(super) last_data_sent_at: Option<Instant>,
    /// No data leaves before this, by rate control.
    pub(super) next_departure: Instant,
    /// "TS.Recent" and when it was taken (RFC 7323 section 4.3).
    pub(super) recent_timestamp: (u32, Instant),
    /// Reading of the clock of our timestamps at time zero.
    pub(super) timestamp_origin: u32,
    /// Doublings of the persist timer.
    pub(super) persist_backoff: u32,
    /// Only of a connection that a remedy steers.
    pub(super) steering: Option<Box<Steering>>,
    /// Only of a connection that was opened or accepted with T/TCP.
    pub(super) transaction: Option<Box<Transaction>>,
    pub(super) reset_due: Option<Box<TcpHeader>>,
    /// An acknowledgment from before what arrived last.
    pub(super) early_ack: Option<TcpHeader>,

    pub(super) path_mtu: u32,
    pub(super) syn_transmissions: u32,
    pub(super) syn_sent_at: Instant,
    /// Start of the current period of the challenge ACKs' limit, and how many it has seen.
    pub(super) challenges: (Instant, u32),
}

/// Events in the order in which they are reported.
const EVENT_ORDER: [Event; 8] = [
    Event::Connected,
    Event::Readable,
    Event::Writable,
    Event::PeerClosed,
    Event::Closed,
    Event::Refused,
    Event::Reset,
    Event::TimedOut,
];

impl Connection {
    /// Opens a connection actively; the SYN comes out of [`poll_transmit`](Self::poll_transmit).
    /// `initial_sequence` comes from [`super::isn::initial_sequence_number`]; `path_mtu` in bytes.
    pub fn connect(
        now: Instant,
        local: Endpoint,
        remote: Endpoint,
        profile: &Profile,
        initial_sequence: SequenceNumber,
        path_mtu: u32,
    ) -> Connection {
        let receive = Receiver::new(first_window(profile));
        let mut connection = Connection {
            profile: profile.clone(),
            local,
            remote,
            state: State::SynSent,
            negotiated: Negotiated::default(),
            path_mtu,
            segment_size: 0,
            initial_sequence,
            unacknowledged: 0,
            next: 0,
            peer_window: 0,
            largest_peer_window: 0,
            window_update: (0, 0),
            send: SendBuffer::new(first_size(profile)),
            sent: SentQueue::default(),
            close_requested: false,
            write_blocked: false,
            last_data_sent_at: None,
            next_departure: now,
            // Until `start_congestion_control` below.
            congestion: congestion::new(&Profile::rfc(), 1, 1),
            recovery: RecoveryState::default(),
            linux: Box::default(),
            rtt: RttEstimator::new(profile),
            syn_due: true,
            syn_transmissions: 0,
            syn_sent_at: now,
            peer_initial_sequence: SequenceNumber(0),
            receive,
            peer_fin: None,
            ack_due: false,
            ack_pending_bytes: 0,
            acks: AckState::default(),
            largest_received: 0,
            last_ack_sent: 0,
            told_up_to: u64::MAX,
            recent_timestamp: (0, now),
            timestamp_origin: initial_sequence.0,
            persist_backoff: 0,
            steering: None,
            transaction: None,
            probe_due: false,
            reset_due: None,
            early_ack: None,
            challenges: (now, 0),
            timers: TimerTable::default(),
            events: 0,
            statistics: Statistics::default(),
        };
        connection.negotiated.peer_segment_size = u16::MAX;
        connection.start_congestion_control();
        connection
    }

    /// Answers a SYN that a [`super::listener::Listener`] has accepted; the SYN-ACK comes out of
    /// [`poll_transmit`](Self::poll_transmit).
    #[allow(clippy::too_many_arguments)] // `connect` and the SYN; a struct of them would be built only here.
    pub fn accept(
        now: Instant,
        local: Endpoint,
        remote: Endpoint,
        profile: &Profile,
        initial_sequence: SequenceNumber,
        path_mtu: u32,
        syn: &TcpHeader,
    ) -> Connection {
        let mut connection =
            Connection::connect(now, local, remote, profile, initial_sequence, path_mtu);
        connection.state = State::SynReceived;
        connection.take_syn(now, syn);
        connection
    }

    /// Segment size and congestion control for the present path MTU and options.
    pub(super) fn start_congestion_control(&mut self) {
        self.segment_size = self.sendable_segment_size();
        // A lost SYN shows congestion: one segment then (RFC 5681 section 3.1). Linux wants two, since its first
        // timeout is shorter than it was when that was written.
        let shown_by = if self.recovers_as_linux() { 3 } else { 2 };
        let segments = if self.syn_transmissions < shown_by {
            self.profile.initial_window.max(1)
        } else {
            1
        };
        self.congestion = congestion::new(
            &self.profile,
            self.segment_size,
            segments.saturating_mul(self.segment_size),
        );
    }

    /// "Eff.snd.MSS" (RFC 9293 section 3.7.1, RFC 6691).
    pub(super) fn sendable_segment_size(&self) -> u32 {
        let timestamps = match self.negotiated.timestamps {
            true => TIMESTAMPS_LENGTH,
            false => 0,
        };
        let option = timestamps + self.count_length();
        let path = self
            .path_mtu
            .saturating_sub(options::header_length(self.remote.address) + option);
        let peer = u32::from(self.negotiated.peer_segment_size).saturating_sub(option);
        u32::from(self.profile.maximum_segment_size)
            .min(peer)
            .min(path)
            .max(1)
    }

    /// Returns true if a segment with this sequence number is out: only of these an error is believed (RFC 5927 section
    /// 4).
    pub fn is_out(&self, sequence: SequenceNumber) -> bool {
        let position = self.send_position(sequence);
        position >= self.unacknowledged as i64 && position < self.next as i64
    }

    /// A router or host reports an error about a segment of ours. Sequence numbers that are not in flight are not
    /// believed (RFC 5927 section 4).
    pub fn handle_icmp(&mut self, _now: Instant, error: IcmpError, quoted: &QuotedPacket) {
        if !self.is_out(SequenceNumber(quoted.sequence)) {
            return;
        }
        match error {
            IcmpError::PacketTooBig { mtu } => self.lower_path_mtu(mtu, quoted.extension_length()),
            // Hard only before the connection stands; soft later (RFC 5461, RFC 5927 section 5).
            error if self.gives_up_opening(error) => self.end(Event::Refused),
            _ => {}
        }
    }

    /// Returns true if an error ends the attempt to open: "protocol" and "port unreachable" by RFC 1122 section
    /// 4.2.3.9. To Linux also that the host cannot be reached now, and one that has answered a SYN forgets it then
    /// (`tcp_v4_err`, `tcp_req_err`).
    fn gives_up_opening(&self, error: IcmpError) -> bool {
        let hard = matches!(
            error,
            IcmpError::PortUnreachable | IcmpError::ProtocolUnreachable
        );
        let soft = matches!(error, IcmpError::Unreachable | IcmpError::TimeExceeded);
        match self.state {
            State::SynSent => hard || soft && self.recovers_as_linux(),
            State::SynReceived => soft && self.recovers_as_linux(),
            _ => false,
        }
    }

    /// Path-MTU discovery (RFC 1191, RFC 8201). What was too long is sent again in smaller segments at once
    /// and without a change of the congestion window (RFC 1191 section 6.4). Of what the path takes, `around` is not TCP's.
    fn lower_path_mtu(&mut self, mtu: u32, around: u32) {
        let floor = if self.remote.address.is_ipv4() {
            68
        } else {
            1280
        };
        let mtu = match mtu {
            // A router older than RFC 1191 names none: the next plateau of its section 7.1.
            0 => [1492, 1006, 508, 296]
                .into_iter()
                .find(|plateau| *plateau < self.path_mtu)
                .unwrap_or(floor),
            mtu => mtu.max(floor).saturating_sub(around),
        };
        if mtu >= self.path_mtu {
            return;
        }
        self.path_mtu = mtu;
        self.segment_size = self.sendable_segment_size();
        self.congestion.on_segment_size(self.segment_size);
        self.statistics.path_mtu_reductions += 1;
        self.sent.mark_longer_lost(self.segment_size);
        if self.recovers_as_linux() {
            self.repair_without_reduction();
        }
    }

    /// Does what is due at `now`; nothing if nothing is.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.timers.next().is_none_or(|next| next > now) {
            return;
        }
        if self.timers.take_due(Timer::Retransmission, now) {
            self.on_retransmission_timeout(now);
        }
        if self.timers.take_due(Timer::Persist, now) {
            self.on_persist_timeout(now);
        }
        if self.timers.take_due(Timer::DelayedAck, now) {
            self.ack_due = true;
            if let Some(least) = self.quick_acks()
                && self.ack_pending_bytes > 0
            {
                self.acks.on_delay_over(least, self.rtt.rto());
            }
        }
        // What was paced is sent when it is asked for.
        self.timers.take_due(Timer::Pacing, now);
        if self.timers.take_due(Timer::TimeWait, now) {
            self.state = State::Closed;
            self.timers.stop_all();
        }
    }

    /// Returns the time at which [`handle_timeout`](Self::handle_timeout) has something to do next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// The next thing that the application should know.
    pub fn poll_event(&mut self) -> Option<Event> {
        let index = self.events.trailing_zeros() as usize;
        let event = EVENT_ORDER.get(index).copied()?;
        self.events &= !(1 << index);
        Some(event)
    }

    pub(super) fn report(&mut self, event: Event) {
        if let Some(index) = EVENT_ORDER.iter().position(|known| *known == event) {
            self.events |= 1 << index;
        }
    }

    /// Returns true if a writer that has handed in a part of its data may go on at once, as `poll` would tell it: with
    /// Linux if a third of the buffer is free. If not, [`Event::Writable`] follows.
    pub fn may_go_on_writing(&mut self) -> bool {
        if !self.may_write() {
            return false;
        }
        let may = self.send.room() >= self.room_that_wakes();
        self.write_blocked |= !may;
        may
    }

    /// Hands in data to be sent; returns how many bytes were taken. [`Event::Writable`] follows if it was not
    /// all. Nothing is taken after `close`, nor once a pattern was written.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        if !self.may_write() {
            return 0;
        }
        self.fit_send_buffer();
        self.before_write();
        let taken = self.send.write(bytes);
        self.write_blocked |= taken < bytes.len();
        taken
    }

    /// Hands in `length` bytes of pattern `stream` (see [`crate::packet::pattern_byte`]), which cost no
    /// memory; returns how many were taken. A connection carries either one pattern, from its first byte on,
    /// or real bytes.
    pub fn write_pattern(&mut self, stream: u32, length: u64) -> u64 {
        if !self.may_write() {
            return 0;
        }
        self.fit_send_buffer();
        self.before_write();
        let taken = self.send.write_pattern(stream, length);
        self.write_blocked |= taken < length;
        taken
    }

    /// Returns true if [`write`](Self::write) takes anything, once there is room: neither end has closed our direction.
    pub fn may_write(&self) -> bool {
        !self.close_requested
            && matches!(
                self.state,
                State::SynSent | State::SynReceived | State::Established | State::CloseWait
            )
    }

    /// Bytes that [`write`](Self::write) would take now.
    pub fn writable(&self) -> u64 {
        if self.may_write() {
            self.send.room()
        } else {
            0
        }
    }

    /// Copies received data into `out`; returns how many bytes.
    pub fn read(&mut self, out: &mut [u8]) -> usize {
        let count = self.receive.read(out);
        self.after_reading();
        count
    }

    /// Consumes up to `at_most` bytes without looking at them; returns how many.
    pub fn discard(&mut self, at_most: u64) -> u64 {
        let count = self.receive.discard(at_most);
        self.after_reading();
        count
    }

    pub(super) fn after_reading(&mut self) {
        if self.profile.receive_autotuning {
            self.tune_receive_buffer();
        }
        let open = matches!(
            self.state,
            State::Established | State::FinWait1 | State::FinWait2
        );
        if open && self.receive.wants_update(self.receive_segment_size()) {
            self.ack_due = true;
        }
        if self.quick_acks().is_some()
            && self.ack_pending_bytes > 0
            && self.receive.readable_bytes() == 0
            && self.acks.wants_ack_after_reading()
        {
            self.ack_due = true;
        }
    }

    /// Bytes that can be read.
    pub fn readable(&self) -> u64 {
        self.receive.readable_bytes()
    }

    /// Ends our direction: a FIN follows what was written. Reading goes on. A connection that is not yet
    /// established sends what was written and the FIN once it is.
    pub fn close(&mut self) {
        self.close_requested = true;
    }

    /// Ends the connection at once, with a reset if the peer knows of it.
    pub fn abort(&mut self) {
        if !matches!(self.state, State::Closed | State::SynSent | State::TimeWait) {
            self.reset_due = Some(Box::new(self.bare_reset()));
        }
        self.state = State::Closed;
        self.timers.stop_all();
    }

    /// The connection is over, without our doing or after both FINs.
    pub(super) fn end(&mut self, event: Event) {
        self.state = State::Closed;
        self.sent.shrink();
        self.timers.stop_all();
        self.report(event);
    }

    /// The state.
    pub fn state(&self) -> State {
        self.state
    }

    /// This end.
    pub fn local(&self) -> Endpoint {
        self.local
    }

    /// The other end.
    pub fn remote(&self) -> Endpoint {
        self.remote
    }

    /// Congestion window in bytes, with the inflation by duplicate acknowledgments during fast recovery.
    pub fn congestion_window(&self) -> u32 {
        self.congestion
            .window()
            .saturating_add(self.recovery.inflation)
    }

    /// Slow-start threshold in bytes; `u32::MAX` while it is "arbitrarily high".
    pub fn slow_start_threshold(&self) -> u32 {
        self.congestion.slow_start_threshold()
    }

    /// Sequence space sent and not yet acknowledged, in bytes: "FlightSize" (RFC 5681).
    pub fn bytes_in_flight(&self) -> u32 {
        (self.next - self.unacknowledged) as u32
    }

    /// Bytes of ours that the peer has acknowledged.
    pub fn bytes_acknowledged(&self) -> u64 {
        self.unacknowledged
            .saturating_sub(1)
            .min(self.send.written())
    }

    /// The window that the peer offers, in bytes.
    pub fn peer_window(&self) -> u64 {
        self.peer_window
    }

    /// Returns the rest of the window that we have offered, in bytes: "RCV.WND".
    pub fn receive_window(&self) -> u64 {
        self.receive.window()
    }

    /// Returns the options that the SYNs have agreed on; `None` before the peer's has come.
    pub fn negotiated(&self) -> Option<&Negotiated> {
        let heard = self.unacknowledged > 0 || self.state == State::SynReceived;
        heard.then_some(&self.negotiated)
    }

    /// Returns the phase of loss recovery.
    pub fn recovery_phase(&self) -> RecoveryPhase {
        if self.recovers_as_linux() {
            return self.linux_phase();
        }
        match self.recovery.phase {
            Phase::Open => RecoveryPhase::Open,
            Phase::Fast => RecoveryPhase::Recovery,
            Phase::AfterTimeout => RecoveryPhase::Loss,
        }
    }

    /// Counts the segments that are out and SACKed, lost or sent again. Linux without SACK counts a duplicate
    /// acknowledgment as a segment SACKed.
    pub fn segment_counts(&self) -> SegmentCounts {
        let mut counts = self.sent.counts();
        counts.sacked += self.linux_duplicates();
        counts
    }

    /// Largest payload that a segment of ours may carry now, in bytes.
    pub fn segment_size(&self) -> u32 {
        self.segment_size
    }

    /// Smoothed round-trip time (RFC 6298); `None` before the first sample.
    pub fn smoothed_rtt(&self) -> Option<Duration> {
        self.rtt.smoothed()
    }

    /// Variation of the round-trip time, "RTTVAR" (RFC 6298); `None` before the first sample.
    pub fn rtt_variation(&self) -> Option<Duration> {
        self.rtt.smoothed().map(|_| self.rtt.variation())
    }

    /// The last round-trip time that was measured.
    pub fn last_rtt_sample(&self) -> Option<Duration> {
        self.rtt.latest()
    }

    /// The retransmission timeout in force, backoff included.
    pub fn retransmission_timeout(&self) -> Duration {
        self.rtt.rto()
    }

    /// The counters.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Bytes of memory that this connection holds, its buffers' slack included, real payload bytes not.
    pub fn memory(&self) -> usize {
        size_of::<Connection>()
            + size_of::<LinuxState>()
            + self.sent.memory()
            + self.receive.memory()
    }

    /// Largest payload that we ask the peer for; stands in for "its full segment" before one came.
    pub(super) fn receive_segment_size(&self) -> u32 {
        if self.largest_received > 0 {
            self.largest_received
        } else {
            self.segment_size
        }
    }

    /// Position of a sequence number of ours, near the oldest that is unacknowledged.
    pub(super) fn send_position(&self, sequence: SequenceNumber) -> i64 {
        let reference = self.initial_sequence + self.unacknowledged as u32;
        self.unacknowledged as i64 + i64::from(sequence.distance_from(reference))
    }

    /// Position of a sequence number of the peer's, near the next that is expected.
    pub(super) fn receive_position(&self, sequence: SequenceNumber) -> i64 {
        let next = self.receive.next();
        let reference = self.peer_initial_sequence + next as u32;
        next as i64 + i64::from(sequence.distance_from(reference))
    }

    /// Position of our FIN, once the application has closed.
    pub(super) fn fin_position(&self) -> Option<u64> {
        self.close_requested.then(|| 1 + self.send.written())
    }

    pub(super) fn set_timer(&mut self, timer: Timer, now: Instant, after: Duration) {
        if self.profile.timer_wheel {
            return self.timers.set(timer, timer::wheel(now, after));
        }
        let at = (now + after).as_nanos();
        let at = Duration::from_nanos(at).round_up_to(self.profile.tick);
        self.timers.set(timer, Instant::from_nanos(at.as_nanos()));
    }
}
