//! One TCP connection for Python, driven by hand: bytes and times in, bytes and deadlines out.

mod listener;
mod segment;

pub(crate) use listener::Listener;

use crate::by_hand::{Clock, Driven, checked_mtu, closed, endpoints, icmp_error, stranger, text};
use crate::errors::guarded;
use baton_proto::packet::Body;
use baton_proto::tcp::{self, Endpoint, Event, RecoveryPhase, State, Statistics};
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::protocol;
use baton_proto::wire::sequence::SequenceNumber;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use segment::{segment, settings};

/// One TCP connection (RFC 9293) that reads no clock and sends nothing by itself.
///
/// Whoever holds it hands in what happened, with the time (`handle_segment`, `handle_timeout`, `write`, `read`,
/// `close`), then drains `poll_event` and `poll_transmit`, and then asks `poll_timeout` when to call
/// `handle_timeout` at the latest.
///
/// All times are seconds since a zero of the caller's choice, taken to the nearest nanosecond, from 0 to 2**22
/// (48 days): there a float tells every nanosecond, so that a time from `poll_timeout` handed back is the same
/// moment. Others raise `ValueError`, and so does one that lies before that of an earlier call.
///
/// As everywhere in Python an argument of another type raises `TypeError`, and an integer that is negative or
/// too large for its purpose `OverflowError`.
#[pyclass(frozen, module = "baton.tcp")]
pub(crate) struct Connection(Driven<tcp::Connection>);

impl Connection {
    fn new(clock: Clock, connection: tcp::Connection) -> Connection {
        Connection(Driven::new(clock, connection))
    }
}

#[pymethods]
impl Connection {
    /// Opens a connection actively; the SYN comes out of `poll_transmit`.
    ///
    /// The ends are like `"10.0.0.1:80"` or `"[fd00::1]:80"`, both of one version of IP. `mtu` is the largest
    /// packet that the path takes, 68 to 65535 B. `options` are those of a flow's `tcp` in a scenario, like
    /// `sack=False`, `congestion="cubic"`, `maximum_segment_size="1400 B"`.
    ///
    /// `initial_sequence` is for tests and lessons a number of your choice; on a real network it must be one
    /// that nobody can guess (RFC 6528).
    ///
    /// Raises `ScenarioError` for a wrong profile or option, `ValueError` for the rest.
    #[staticmethod]
    #[pyo3(signature = (local, remote, *, now, profile = "rfc", mtu = 1500, initial_sequence = 0, **options))]
    fn connect(
        local: &str,
        remote: &str,
        now: f64,
        profile: &str,
        mtu: u32,
        initial_sequence: u32,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Connection> {
        let (local, remote) = endpoints(local, remote)?;
        let (profile, mtu) = (settings(profile, options)?, checked_mtu(mtu)?);
        let (mut clock, initial) = (Clock::new(), SequenceNumber(initial_sequence));
        let now = clock.at(now)?;
        let connection = tcp::Connection::connect(now, local, remote, &profile, initial, mtu);
        Ok(Connection::new(clock, connection))
    }

    /// Listens at `local`, with room for `backlog` half-open connections. The rest as in `connect`.
    #[staticmethod]
    #[pyo3(signature = (local, *, backlog = 16, profile = "rfc", mtu = 1500, initial_sequence = 0, **options))]
    fn listen(
        local: &str,
        backlog: u32,
        profile: &str,
        mtu: u32,
        initial_sequence: u32,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Listener> {
        let profile = settings(profile, options)?;
        Listener::new(local, backlog, profile, mtu, initial_sequence)
    }

    /// Takes in a segment: a whole IP packet, as the other end's `poll_transmit` gives it.
    ///
    /// Its checksums are verified. Raises `PacketError`, and nothing has happened then, if a receiver would drop
    /// the packet or it is of another connection.
    fn handle_segment(&self, now: f64, packet: &[u8]) -> PyResult<()> {
        guarded(|| {
            let (from, to, header, payload) = segment(packet)?;
            let mut inner = self.0.inner();
            let (local, remote) = (inner.connection.local(), inner.connection.remote());
            if (to, from) != (local, remote) {
                let expected = format!("{} to {}", text(remote), text(local));
                return Err(stranger(from, to, &expected));
            }
            let now = inner.clock.at(now)?;
            inner.connection.handle_segment(now, &header, payload);
            Ok(())
        })
    }

    /// Takes in an ICMP error about a segment of this connection: a whole IP packet.
    ///
    /// Raises `PacketError` as `handle_segment` does.
    fn handle_icmp(&self, now: f64, packet: &[u8]) -> PyResult<()> {
        guarded(|| {
            let (kind, quoted) = icmp_error(packet)?;
            let end = |address, port| Endpoint { address, port };
            let (source, destination) = quoted.transport_addresses();
            let from = end(source, quoted.source_port);
            let to = end(destination, quoted.destination_port);
            let mut inner = self.0.inner();
            let (local, remote) = (inner.connection.local(), inner.connection.remote());
            if quoted.protocol != protocol::TCP || (from, to) != (local, remote) {
                let expected = format!("{} to {}", text(local), text(remote));
                return Err(stranger(from, to, &expected));
            }
            let now = inner.clock.at(now)?;
            inner.connection.handle_icmp(now, kind, &quoted);
            Ok(())
        })
    }

    /// Does what is due at `now`; nothing if nothing is.
    fn handle_timeout(&self, now: f64) -> PyResult<()> {
        guarded(|| {
            let mut inner = self.0.inner();
            let now = inner.clock.at(now)?;
            inner.connection.handle_timeout(now);
            Ok(())
        })
    }

    /// The next segment to send, as a whole IP packet with its checksums; None if there is none.
    fn poll_transmit<'py>(
        &self,
        py: Python<'py>,
        now: f64,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let sent = guarded(|| {
            let mut inner = self.0.inner();
            let now = inner.clock.at(now)?;
            let Some(segment) = inner.connection.poll_transmit(now) else {
                return Ok(None);
            };
            let (from, to) = (inner.connection.local(), inner.connection.remote());
            let body = Body::Tcp(segment.header, segment.payload);
            Ok(Some(inner.encoded(from.address, to.address, body)))
        })?;
        Ok(sent.map(|bytes| PyBytes::new(py, &bytes)))
    }

    /// Returns the time at which `handle_timeout` has something to do next, in seconds; None for never.
    fn poll_timeout(&self) -> Option<f64> {
        self.0
            .with(|connection| connection.poll_timeout().map(Instant::as_secs_f64))
    }

    /// The next thing that the application should know; None if there is none.
    fn poll_event(&self) -> Option<&'static str> {
        self.0.with(tcp::Connection::poll_event).map(event_name)
    }

    /// Hands in data to send; returns how many bytes were taken.
    ///
    /// If not all were, the event `writable` follows when a third of the buffer is free.
    /// Raises `ValueError` when this end is closed: after `close` or `abort`, a reset, or a timeout.
    fn write(&self, data: &[u8]) -> PyResult<usize> {
        guarded(|| {
            let mut inner = self.0.inner();
            if !inner.connection.may_write() {
                let state = state_name(inner.connection.state());
                return Err(closed(state));
            }
            Ok(inner.connection.write(data))
        })
    }

    /// Takes received data in order; all that there is, or `at_most` so many bytes.
    #[pyo3(signature = (at_most = None))]
    fn read<'py>(&self, py: Python<'py>, at_most: Option<u64>) -> PyResult<Bound<'py, PyBytes>> {
        let data = guarded(|| {
            let mut inner = self.0.inner();
            let connection = &mut inner.connection;
            let count = connection.readable().min(at_most.unwrap_or(u64::MAX));
            let mut data = vec![0; count as usize];
            let count = connection.read(&mut data);
            data.truncate(count);
            Ok(data)
        })?;
        Ok(PyBytes::new(py, &data))
    }

    /// Ends this direction: a FIN follows what was written. Reading goes on.
    fn close(&self) {
        self.0.with(tcp::Connection::close);
    }

    /// Ends the connection at once, with a reset if the peer knows of it.
    fn abort(&self) {
        self.0.with(tcp::Connection::abort);
    }

    /// State, as RFC 9293 section 3.3.2 spells it.
    #[getter]
    fn state(&self) -> &'static str {
        state_name(self.0.with(|connection| connection.state()))
    }

    /// This end.
    #[getter]
    fn local(&self) -> String {
        text(self.0.with(|connection| connection.local()))
    }

    /// The other end.
    #[getter]
    fn remote(&self) -> String {
        text(self.0.with(|connection| connection.remote()))
    }

    /// Bytes that `write` would take now.
    #[getter]
    fn writable(&self) -> u64 {
        self.0.with(|connection| connection.writable())
    }

    /// Bytes that can be read.
    #[getter]
    fn readable(&self) -> u64 {
        self.0.with(|connection| connection.readable())
    }

    /// Congestion window in bytes, with what duplicate acknowledgments add during fast recovery.
    #[getter]
    fn congestion_window(&self) -> u32 {
        self.0.with(|connection| connection.congestion_window())
    }

    /// Slow-start threshold in bytes; None while it is "arbitrarily high" (RFC 5681).
    #[getter]
    fn slow_start_threshold(&self) -> Option<u32> {
        let threshold = self.0.with(|connection| connection.slow_start_threshold());
        Some(threshold).filter(|&threshold| threshold != u32::MAX)
    }

    /// Sequence space sent and not yet acknowledged, in bytes: FlightSize (RFC 5681).
    #[getter]
    fn bytes_in_flight(&self) -> u32 {
        self.0.with(|connection| connection.bytes_in_flight())
    }

    /// Phase of loss recovery: `open`, `disorder`, `reduced` (CWR in Linux), `recovery`, `loss`.
    #[getter]
    fn phase(&self) -> &'static str {
        match self.0.with(|connection| connection.recovery_phase()) {
            RecoveryPhase::Open => "open",
            RecoveryPhase::Disorder => "disorder",
            RecoveryPhase::Reduced => "reduced",
            RecoveryPhase::Recovery => "recovery",
            RecoveryPhase::Loss => "loss",
        }
    }

    /// Segments that are out and SACKed; Linux without SACK counts duplicate acknowledgments.
    #[getter]
    fn segments_sacked(&self) -> u32 {
        self.0.with(|connection| connection.segment_counts().sacked)
    }

    /// Segments that are out and taken for lost, whether a copy is under way or not.
    #[getter]
    fn segments_lost(&self) -> u32 {
        self.0.with(|connection| connection.segment_counts().lost)
    }

    /// Segments that are out and were sent again, whose copies are under way.
    #[getter]
    fn segments_retransmitted(&self) -> u32 {
        self.0.with(|connection| connection.segment_counts().resent)
    }

    /// Bytes of ours that the peer has acknowledged.
    #[getter]
    fn bytes_acknowledged(&self) -> u64 {
        self.0.with(|connection| connection.bytes_acknowledged())
    }

    /// The window that the peer offers, in bytes: the send window (SND.WND).
    #[getter]
    fn peer_window(&self) -> u64 {
        self.0.with(|connection| connection.peer_window())
    }

    /// Rest of the window that this end has offered, in bytes (RCV.WND).
    #[getter]
    fn receive_window(&self) -> u64 {
        self.0.with(|connection| connection.receive_window())
    }

    /// Options that the SYNs have agreed on: `sack`, `timestamps` and `window_scaling`, and `peer_segment_size`, the
    /// largest payload in bytes that the peer takes. None before the peer's SYN has come.
    #[getter]
    fn negotiated<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(negotiated) = self.0.with(|connection| connection.negotiated().copied()) else {
            return Ok(None);
        };
        let dict = PyDict::new(py);
        dict.set_item("sack", negotiated.sack)?;
        dict.set_item("timestamps", negotiated.timestamps)?;
        dict.set_item("window_scaling", negotiated.window_shifts.is_some())?;
        dict.set_item("peer_segment_size", negotiated.peer_segment_size)?;
        Ok(Some(dict))
    }

    /// Largest payload that a segment of ours may carry now, in bytes.
    #[getter]
    fn segment_size(&self) -> u32 {
        self.0.with(|connection| connection.segment_size())
    }

    /// Smoothed round-trip time (RFC 6298) in seconds; None before the first sample.
    #[getter]
    fn smoothed_rtt(&self) -> Option<f64> {
        self.0
            .with(|connection| connection.smoothed_rtt().map(Duration::as_secs_f64))
    }

    /// Variation of the round-trip time (RTTVAR, RFC 6298) in seconds; None before the first sample.
    #[getter]
    fn rtt_variation(&self) -> Option<f64> {
        self.0
            .with(|connection| connection.rtt_variation().map(Duration::as_secs_f64))
    }

    /// The last round-trip time that was measured, in seconds.
    #[getter]
    fn last_rtt_sample(&self) -> Option<f64> {
        self.0
            .with(|connection| connection.last_rtt_sample().map(Duration::as_secs_f64))
    }

    /// The retransmission timeout in force, backoff included, in seconds.
    #[getter]
    fn retransmission_timeout(&self) -> f64 {
        self.0
            .with(|connection| connection.retransmission_timeout().as_secs_f64())
    }

    /// Counters from the start: `segments_sent`, `retransmitted`, `timeouts`, `fast_retransmits` and others.
    #[getter]
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counters = PyDict::new(py);
        for (name, count) in counts(self.0.with(|connection| *connection.statistics())) {
            counters.set_item(name, count)?;
        }
        Ok(counters)
    }

    fn __repr__(&self) -> String {
        let (local, remote, state) = self
            .0
            .with(|connection| (connection.local(), connection.remote(), connection.state()));
        format!(
            "<baton.tcp.Connection {} to {}, {}>",
            text(local),
            text(remote),
            state_name(state)
        )
    }
}

fn event_name(event: Event) -> &'static str {
    match event {
        Event::Connected => "connected",
        Event::Readable => "readable",
        Event::Writable => "writable",
        Event::PeerClosed => "peer-closed",
        Event::Closed => "closed",
        Event::Reset => "reset",
        Event::Refused => "refused",
        Event::TimedOut => "timed-out",
    }
}

/// As RFC 9293 section 3.3.2 spells them.
fn state_name(state: State) -> &'static str {
    match state {
        State::Closed => "CLOSED",
        State::SynSent => "SYN-SENT",
        State::SynReceived => "SYN-RECEIVED",
        State::Established => "ESTABLISHED",
        State::FinWait1 => "FIN-WAIT-1",
        State::FinWait2 => "FIN-WAIT-2",
        State::CloseWait => "CLOSE-WAIT",
        State::Closing => "CLOSING",
        State::LastAck => "LAST-ACK",
        State::TimeWait => "TIME-WAIT",
    }
}

fn counts(statistics: Statistics) -> [(&'static str, u64); 17] {
    let s = statistics;
    [
        ("segments_sent", s.segments_sent),
        ("segments_received", s.segments_received),
        ("bytes_sent", s.bytes_sent),
        ("retransmitted", s.retransmitted),
        ("bytes_retransmitted", s.bytes_retransmitted),
        ("timeouts", s.timeouts),
        ("fast_retransmits", s.fast_retransmits),
        ("duplicate_acks_received", s.duplicate_acks_received),
        ("rtt_samples", s.rtt_samples),
        ("window_probes", s.window_probes),
        ("duplicates_received", s.duplicates_received),
        ("out_of_order_received", s.out_of_order_received),
        ("scattered_dropped", s.scattered_dropped),
        ("challenge_acks", s.challenge_acks),
        ("challenge_acks_withheld", s.challenge_acks_withheld),
        ("old_timestamps", s.old_timestamps),
        ("path_mtu_reductions", s.path_mtu_reductions),
    ]
}
