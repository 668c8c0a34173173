//! One TCP connection for Python, driven by hand: bytes and times in, bytes and deadlines out.

use crate::errors::{PacketError, from_decode, from_scenario};
use crate::values;
use baton_proto::packet::{Body, IpHeader, Packet, Payload};
use baton_proto::tcp::listener::{self, Admission};
use baton_proto::tcp::profile::Profile;
use baton_proto::tcp::{self, Endpoint, Event, State, Statistics};
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::icmp::IcmpMessage;
use baton_proto::wire::protocol;
use baton_proto::wire::sequence::SequenceNumber;
use baton_proto::wire::tcp::TcpHeader;
use baton_sim::scenario;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Up to here a number of seconds tells every nanosecond: about 48 days.
const LATEST_S: f64 = (1u64 << 22) as f64;
/// IPv4's smallest (RFC 791) and IP's largest packet, in bytes.
const MTU: std::ops::RangeInclusive<u32> = 68..=65_535;
const HOP_LIMIT: u8 = 64;

/// One TCP connection.
#[pyclass(frozen, module = "baton.tcp")]
pub(crate) struct Connection {
    // Not `Sync` by itself. Nothing that holds the lock calls Python, so that nobody waits for it long.
    inner: Mutex<Inner>,
}

struct Inner {
    connection: tcp::Connection,
    /// IPv4's identification of the next packet.
    identification: u16,
}

/// Makes connections of the SYNs that arrive at a port.
#[pyclass(frozen, module = "baton.tcp")]
pub(crate) struct Listener {
    inner: Mutex<Listening>,
}

struct Listening {
    listener: listener::Listener,
    local: Endpoint,
    profile: Profile,
    initial_sequence: SequenceNumber,
    mtu: u32,
    resets: VecDeque<Packet>,
}

fn lock<T>(inner: &Mutex<T>) -> MutexGuard<'_, T> {
    inner.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Connection {
    fn of(connection: tcp::Connection) -> Connection {
        let inner = Mutex::new(Inner {
            connection,
            identification: 0,
        });
        Connection { inner }
    }

    fn with<T>(&self, call: impl FnOnce(&mut tcp::Connection) -> T) -> T {
        call(&mut lock(&self.inner).connection)
    }
}

#[pymethods]
impl Connection {
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
        let (local, remote) = (endpoint(local)?, endpoint(remote)?);
        if local.address.is_ipv4() != remote.address.is_ipv4() {
            let message = format!(
                "{} and {} are not of one version of IP",
                text(local),
                text(remote)
            );
            return Err(PyValueError::new_err(message));
        }
        let (profile, mtu) = (settings(profile, options)?, checked_mtu(mtu)?);
        let initial = SequenceNumber(initial_sequence);
        Ok(Connection::of(tcp::Connection::connect(
            instant(now)?,
            local,
            remote,
            &profile,
            initial,
            mtu,
        )))
    }

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
        let inner = Mutex::new(Listening {
            listener: listener::Listener::new(backlog),
            local: endpoint(local)?,
            profile: settings(profile, options)?,
            initial_sequence: SequenceNumber(initial_sequence),
            mtu: checked_mtu(mtu)?,
            resets: VecDeque::new(),
        });
        Ok(Listener { inner })
    }

    fn handle_segment(&self, now: f64, packet: &[u8]) -> PyResult<()> {
        let now = instant(now)?;
        let (from, to, header, payload) = segment(packet)?;
        self.with(|connection| {
            let (local, remote) = (connection.local(), connection.remote());
            if (to, from) != (local, remote) {
                return Err(stranger(
                    from,
                    to,
                    &format!("{} to {}", text(remote), text(local)),
                ));
            }
            connection.handle_segment(now, &header, payload);
            Ok(())
        })
    }

    fn handle_icmp(&self, now: f64, packet: &[u8]) -> PyResult<()> {
        let now = instant(now)?;
        let packet = Packet::decode(packet).map_err(from_decode)?;
        let Body::Icmp(IcmpMessage::Error { kind, quoted }) = packet.body else {
            return Err(PacketError::new_err("the packet is no ICMP error"));
        };
        let end = |address, port| Endpoint { address, port };
        let from = end(quoted.source, quoted.source_port);
        let to = end(quoted.destination, quoted.destination_port);
        self.with(|connection| {
            let (local, remote) = (connection.local(), connection.remote());
            if quoted.protocol != protocol::TCP || (from, to) != (local, remote) {
                return Err(stranger(
                    from,
                    to,
                    &format!("{} to {}", text(local), text(remote)),
                ));
            }
            connection.handle_icmp(now, kind, SequenceNumber(quoted.sequence));
            Ok(())
        })
    }

    fn handle_timeout(&self, now: f64) -> PyResult<()> {
        let now = instant(now)?;
        self.with(|connection| connection.handle_timeout(now));
        Ok(())
    }

    fn poll_transmit<'py>(
        &self,
        py: Python<'py>,
        now: f64,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let now = instant(now)?;
        let mut inner = lock(&self.inner);
        let Some(segment) = inner.connection.poll_transmit(now) else {
            return Ok(None);
        };
        inner.identification = inner.identification.wrapping_add(1);
        let (local, remote) = (inner.connection.local(), inner.connection.remote());
        let body = Body::Tcp(segment.header, segment.payload);
        let packet = packet(local, remote, inner.identification, body);
        Ok(Some(encoded(py, &packet)))
    }

    fn poll_timeout(&self) -> Option<f64> {
        self.with(|connection| connection.poll_timeout().map(Instant::as_secs_f64))
    }

    fn poll_event(&self) -> Option<&'static str> {
        self.with(tcp::Connection::poll_event).map(event_name)
    }

    fn write(&self, data: &[u8]) -> usize {
        self.with(|connection| connection.write(data))
    }

    #[pyo3(signature = (at_most = None))]
    fn read<'py>(&self, py: Python<'py>, at_most: Option<u64>) -> Bound<'py, PyBytes> {
        let data = self.with(|connection| {
            let count = connection.readable().min(at_most.unwrap_or(u64::MAX));
            let mut data = vec![0; count as usize];
            let count = connection.read(&mut data);
            data.truncate(count);
            data
        });
        PyBytes::new(py, &data)
    }

    fn close(&self) {
        self.with(tcp::Connection::close);
    }

    fn abort(&self) {
        self.with(tcp::Connection::abort);
    }

    #[getter]
    fn state(&self) -> &'static str {
        state_name(self.with(|connection| connection.state()))
    }

    #[getter]
    fn local(&self) -> String {
        text(self.with(|connection| connection.local()))
    }

    #[getter]
    fn remote(&self) -> String {
        text(self.with(|connection| connection.remote()))
    }

    #[getter]
    fn readable(&self) -> u64 {
        self.with(|connection| connection.readable())
    }

    #[getter]
    fn congestion_window(&self) -> u32 {
        self.with(|connection| connection.congestion_window())
    }

    #[getter]
    fn slow_start_threshold(&self) -> Option<u32> {
        let threshold = self.with(|connection| connection.slow_start_threshold());
        Some(threshold).filter(|&threshold| threshold != u32::MAX)
    }

    #[getter]
    fn bytes_in_flight(&self) -> u32 {
        self.with(|connection| connection.bytes_in_flight())
    }

    #[getter]
    fn bytes_acknowledged(&self) -> u64 {
        self.with(|connection| connection.bytes_acknowledged())
    }

    #[getter]
    fn peer_window(&self) -> u64 {
        self.with(|connection| connection.peer_window())
    }

    #[getter]
    fn segment_size(&self) -> u32 {
        self.with(|connection| connection.segment_size())
    }

    #[getter]
    fn smoothed_rtt(&self) -> Option<f64> {
        self.with(|connection| connection.smoothed_rtt().map(Duration::as_secs_f64))
    }

    #[getter]
    fn last_rtt_sample(&self) -> Option<f64> {
        self.with(|connection| connection.last_rtt_sample().map(Duration::as_secs_f64))
    }

    #[getter]
    fn retransmission_timeout(&self) -> f64 {
        self.with(|connection| connection.retransmission_timeout().as_secs_f64())
    }

    #[getter]
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counters = PyDict::new(py);
        for (name, count) in counts(self.with(|connection| *connection.statistics())) {
            counters.set_item(name, count)?;
        }
        Ok(counters)
    }

    fn __repr__(&self) -> String {
        let (local, remote, state) =
            self.with(|connection| (connection.local(), connection.remote(), connection.state()));
        format!(
            "<baton.tcp.Connection {} to {}, {}>",
            text(local),
            text(remote),
            state_name(state)
        )
    }
}

#[pymethods]
impl Listener {
    fn handle_segment(&self, now: f64, packet: &[u8]) -> PyResult<Option<Connection>> {
        let now = instant(now)?;
        let (from, to, header, payload) = segment(packet)?;
        let mut inner = lock(&self.inner);
        if to != inner.local {
            return Err(stranger(
                from,
                to,
                &format!("anyone to {}", text(inner.local)),
            ));
        }
        match inner.listener.admit(&header, payload.length()) {
            Admission::Accept => {}
            Admission::Drop => return Ok(None),
            Admission::Reset(reset) => {
                let reset = self::packet(to, from, 0, Body::Tcp(reset, Payload::EMPTY));
                inner.resets.push_back(reset);
                return Ok(None);
            }
        }
        let (profile, initial, mtu) = (&inner.profile, inner.initial_sequence, inner.mtu);
        let connection = tcp::Connection::accept(now, to, from, profile, initial, mtu, &header);
        Ok(Some(Connection::of(connection)))
    }

    fn half_open_ended(&self) {
        lock(&self.inner).listener.half_open_ended();
    }

    fn poll_transmit<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let reset = lock(&self.inner).resets.pop_front()?;
        Some(encoded(py, &reset))
    }

    #[getter]
    fn local(&self) -> String {
        text(lock(&self.inner).local)
    }

    #[getter]
    fn half_open(&self) -> u32 {
        lock(&self.inner).listener.half_open()
    }

    #[getter]
    fn refused(&self) -> u64 {
        lock(&self.inner).listener.refused()
    }

    fn __repr__(&self) -> String {
        format!("<baton.tcp.Listener {}>", self.local())
    }
}

/// The moment `seconds` after zero, to the nearest nanosecond.
fn instant(seconds: f64) -> PyResult<Instant> {
    if (0.0..=LATEST_S).contains(&seconds) {
        return Ok(Instant::ZERO + Duration::from_secs_f64(seconds));
    }
    let message =
        format!("now is {seconds} s; expected 0 to {LATEST_S} s, in which every nanosecond counts");
    Err(PyValueError::new_err(message))
}

fn endpoint(text: &str) -> PyResult<Endpoint> {
    let Ok(end) = text.parse::<SocketAddr>() else {
        let message = format!(
            "{text:?} is no address with a port; expected one like \"10.0.0.1:80\" or \"[fd00::1]:80\""
        );
        return Err(PyValueError::new_err(message));
    };
    Ok(Endpoint {
        address: end.ip(),
        port: end.port(),
    })
}

fn text(end: Endpoint) -> String {
    SocketAddr::new(end.address, end.port).to_string()
}

fn checked_mtu(mtu: u32) -> PyResult<u32> {
    if MTU.contains(&mtu) {
        return Ok(mtu);
    }
    let message = format!(
        "mtu is {mtu} B; expected {} B to {} B",
        MTU.start(),
        MTU.end()
    );
    Err(PyValueError::new_err(message))
}

fn settings(profile: &str, options: Option<&Bound<'_, PyDict>>) -> PyResult<Profile> {
    let mut table = match options {
        Some(options) => values::table(options, "tcp")?,
        None => toml::Table::new(),
    };
    table.insert("profile".to_owned(), profile.into());
    scenario::tcp_profile(table).map_err(from_scenario)
}

/// A packet's ends, the sender first, and the segment in it.
fn segment(bytes: &[u8]) -> PyResult<(Endpoint, Endpoint, TcpHeader, Payload)> {
    let Packet { ip, body, .. } = Packet::decode(bytes).map_err(from_decode)?;
    let Body::Tcp(header, payload) = body else {
        return Err(PacketError::new_err("the packet holds no TCP segment"));
    };
    let end = |address, port| Endpoint { address, port };
    let from = end(ip.source, header.source_port);
    let to = end(ip.destination, header.destination_port);
    Ok((from, to, header, payload))
}

fn stranger(from: Endpoint, to: Endpoint, expected: &str) -> PyErr {
    PacketError::new_err(format!(
        "the packet goes from {} to {}; expected {expected}",
        text(from),
        text(to)
    ))
}

fn packet(from: Endpoint, to: Endpoint, identification: u16, body: Body) -> Packet {
    Packet {
        ip: IpHeader {
            source: from.address,
            destination: to.address,
            hop_limit: HOP_LIMIT,
            traffic_class: 0,
            identification,
            dont_fragment: true,
        },
        body,
        flow: None,
        retransmission: false,
        bit_errors: Vec::new(),
    }
}

fn encoded<'py>(py: Python<'py>, packet: &Packet) -> Bound<'py, PyBytes> {
    let mut bytes = Vec::new();
    packet.encode(&mut bytes);
    PyBytes::new(py, &bytes)
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
