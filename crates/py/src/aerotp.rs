//! One AeroTP connection for Python, driven by hand: bytes, times and what links say in, bytes and deadlines out.

mod beginning;
mod packet;

pub(crate) use packet::Packet;

use crate::by_hand::{Clock, Driven, Inner, closed, endpoints, icmp_error, stranger, text};
use crate::errors::{PacketError, guarded};
use baton_proto::aerotp::{self, Event, PathId, State, Statistics};
use baton_proto::packet::{Body, Payload};
use baton_proto::rate::DataRate;
use baton_proto::tcp::Endpoint;
use baton_proto::time::Duration;
use baton_proto::wire::icmp::IcmpError;
use baton_proto::wire::protocol;
use baton_sim::transport::aerotp::mode_name;
use beginning::{Beginning, rate};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::net::IpAddr;

/// The path that a connection begins with, of which links speak here.
const PATH: PathId = PathId(0);

/// One AeroTP connection (docs/aerotp.md) that reads no clock and sends nothing by itself.
///
/// Whoever holds it hands in what happened, with the time (`handle_packet`, `handle_timeout`, `write`, `read`,
/// `link_up`, `close`), then drains `poll_event` and `poll_transmit`, and then asks `poll_timeout` when to call
/// `handle_timeout` at the latest.
///
/// Times and the exceptions of wrong arguments are those of `baton.tcp.Connection`. Rates are texts with a unit,
/// like `"5 Mbit/s"`.
#[pyclass(frozen, module = "baton.aerotp")]
pub(crate) struct Connection(Driven<aerotp::Connection>);

#[pymethods]
impl Connection {
    /// Opens a connection actively. There is no handshake: what is written leaves with the first packet.
    ///
    /// The ends are like `"10.0.0.1:1000"` or `"[fd00::1]:1000"`, both of one version of IP. `rate` is that at which
    /// the link takes packets, IP headers included. `mtu` is the largest packet that it takes, 68 to 65535 B.
    /// `options` are those of a flow's `aerotp` in a scenario, like `mode="quasi-reliable"`,
    /// `coding={"words": 32, "header": True}`, `send_buffer="1 MiB"`; `class_=5` is its `class`. Mode
    /// `"unreliable-datagram"` has no connections: `Packet.datagram`.
    ///
    /// `initial_sequence` and `token` are for tests and lessons numbers of your choice; on a real network they must
    /// be some that nobody can guess.
    ///
    /// Raises `ScenarioError` for a wrong rate or option, `ValueError` for the rest.
    #[staticmethod]
    #[pyo3(signature = (local, remote, *, now, rate, mtu = 1500, initial_sequence = 0, token = 0, **options))]
    #[allow(clippy::too_many_arguments)] // Python's are keywords.
    fn connect(
        local: &str,
        remote: &str,
        now: f64,
        rate: &str,
        mtu: u32,
        initial_sequence: u32,
        token: u32,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Connection> {
        let ends = endpoints(local, remote)?;
        let beginning = Beginning::new(rate, mtu, (initial_sequence, token), options)?;
        let mut clock = Clock::new();
        let now = clock.at(now)?;
        guarded(|| {
            let connection = beginning.connect(now, ends)?;
            Ok(Connection(Driven::new(clock, connection)))
        })
    }

    /// Makes a connection of the first packet that came: any with ASYN will do, damaged data or none. `packet` is a
    /// whole IP packet, and is taken in; this end is where it went.
    ///
    /// The mode is the packet's; one of another than `mode` in the options is refused. The rest as in `connect`.
    /// Raises `PacketError` too, if the packet opens nothing.
    #[staticmethod]
    #[pyo3(signature = (packet, *, now, rate, mtu = 1500, initial_sequence = 0, token = 0, **options))]
    fn accept(
        packet: &[u8],
        now: f64,
        rate: &str,
        mtu: u32,
        initial_sequence: u32,
        token: u32,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Connection> {
        let opening = guarded(|| Packet::read(packet))?;
        let beginning = Beginning::new(rate, mtu, (initial_sequence, token), options)?;
        let mut clock = Clock::new();
        let at = clock.at(now)?;
        guarded(|| {
            let connection = beginning.accept(at, opening)?;
            Ok(Connection(Driven::new(clock, connection)))
        })
    }

    /// Takes in a packet: a whole IP packet, as the other end's `poll_transmit` gives it.
    ///
    /// Bits that were flipped on the way are put right as far as its code can. Data beyond repair is asked for again
    /// where the mode does that. Raises `PacketError`, and nothing has happened then, if a receiver would drop the
    /// packet or its ports or destination are not this connection's. One that the connection itself refuses, as from
    /// a strange address without the token, is counted in `statistics`.
    fn handle_packet(&self, now: f64, packet: &[u8]) -> PyResult<()> {
        guarded(|| {
            let packet = Packet::read(packet)?;
            let mut inner = self.0.inner();
            let (local, remote) = ends(&inner.connection);
            let (from, to) = packet.ends();
            if to != local || from.port != remote.port {
                let expected = format!("port {} of anyone to {}", remote.port, text(local));
                return Err(stranger(from, to, &expected));
            }
            let now = inner.clock.at(now)?;
            let addresses = (from.address, to.address);
            inner
                .connection
                .handle_packet(now, addresses, packet.packet);
            Ok(())
        })
    }

    /// Takes in an ICMP error about a packet of this connection: a whole IP packet. Backpressure lowers the rate,
    /// "too big" the size of packets; others change nothing.
    ///
    /// Raises `PacketError` if it is no ICMP error, or about another pair of addresses.
    fn handle_icmp(&self, now: f64, packet: &[u8]) -> PyResult<()> {
        guarded(|| {
            let (kind, quoted) = icmp_error(packet)?;
            let mut inner = self.0.inner();
            let (local, remote) = ends(&inner.connection);
            let addresses = quoted.transport_addresses();
            if quoted.protocol != protocol::AEROTP || addresses != (local.address, remote.address) {
                return Err(PacketError::new_err(format!(
                    "the error is about a packet of protocol {} from {} to {}; expected protocol {} from {} to {}",
                    quoted.protocol,
                    addresses.0,
                    addresses.1,
                    protocol::AEROTP,
                    local.address,
                    remote.address
                )));
            }
            let now = inner.clock.at(now)?;
            match kind {
                IcmpError::PacketTooBig { mtu } => inner.connection.set_mtu(PATH, mtu),
                IcmpError::Backpressure { rate } => {
                    let rate = DataRate::from_bits_per_second(u64::from(rate) * 1000);
                    inner.connection.backpressure(now, PATH, rate);
                }
                _ => {}
            }
            Ok(())
        })
    }

    /// The link is up again, or is a new one: with this rate, if one is given. What was under way counts as lost, and
    /// the peer is asked at once. Raises `ValueError` for a text that is not a rate.
    #[pyo3(signature = (rate = None))]
    fn link_up(&self, rate: Option<&str>) -> PyResult<()> {
        let rate = rate.map(self::rate).transpose()?;
        guarded(|| {
            self.0.with(|connection| connection.link_up(PATH, rate));
            Ok(())
        })
    }

    /// The link is down: nothing is sent until it is up.
    fn link_down(&self) {
        self.0.with(|connection| connection.link_down(PATH));
    }

    /// This end has another address, like `"10.0.1.1"`, and the same port. The peer is shown the token until it
    /// answers there. Raises `ValueError` for what is no address of the same version of IP.
    fn move_to(&self, now: f64, address: &str) -> PyResult<()> {
        guarded(|| {
            let mut inner = self.0.inner();
            let (local, _) = ends(&inner.connection);
            let moved: Option<IpAddr> = address.parse().ok();
            let same_version = |moved: &IpAddr| moved.is_ipv4() == local.address.is_ipv4();
            let Some(moved) = moved.filter(same_version) else {
                let expected = match local.address {
                    IpAddr::V4(_) => "an IPv4 address like \"10.0.1.1\"",
                    IpAddr::V6(_) => "an IPv6 address like \"fd00::1\"",
                };
                let message = format!("{address:?} is not valid here; expected {expected}");
                return Err(PyValueError::new_err(message));
            };
            let now = inner.clock.at(now)?;
            inner.connection.move_to(now, PATH, moved);
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

    /// The next packet to send, as a whole IP packet with its checks and code; None if there is none, or the rate
    /// holds it back until `poll_timeout`.
    fn poll_transmit<'py>(
        &self,
        py: Python<'py>,
        now: f64,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let sent = guarded(|| {
            let mut inner = self.0.inner();
            let now = inner.clock.at(now)?;
            let Some(sent) = inner.connection.poll_transmit(now) else {
                return Ok(None);
            };
            let (from, to) = sent.addresses;
            Ok(Some(inner.encoded(
                from,
                to,
                Body::Aerotp(Box::new(sent.packet)),
            )))
        })?;
        Ok(sent.map(|bytes| PyBytes::new(py, &bytes)))
    }

    /// Returns the time at which `handle_timeout` or `poll_transmit` has something to do next, in seconds; None for
    /// never. Never before the call before.
    fn poll_timeout(&self) -> Option<f64> {
        let inner = self.0.inner();
        let deadline = inner.connection.poll_timeout();
        deadline.map(|at| at.max(inner.clock.latest()).as_secs_f64())
    }

    /// The next thing that the application should know; None if there is none. How many bytes were "skipped",
    /// `statistics` tells.
    fn poll_event(&self) -> Option<&'static str> {
        self.0.with(aerotp::Connection::poll_event).map(event_name)
    }

    /// Hands in data to send; returns how many bytes were taken.
    ///
    /// If not all were, the event `writable` follows when there is room again.
    /// Raises `ValueError` when this end is closed: after `close` or `abort`, a reset, or a timeout.
    fn write(&self, data: &[u8]) -> PyResult<usize> {
        guarded(|| {
            let mut inner = self.0.inner();
            check_open(&inner)?;
            if data.is_empty() {
                return Ok(0);
            }
            // No more of it is copied than there is room for, and a byte, by which the connection sees that there was more.
            let most = inner.connection.room() as usize + 1;
            let payload = Payload::Bytes(data[..data.len().min(most)].into());
            Ok(inner.connection.write(&payload) as usize)
        })
    }

    /// Hands in a record, which is not divided and which the peer reads as one; returns whether there was room for it.
    ///
    /// Raises `ValueError` as `write` does, and for a record that is empty or longer than a packet takes.
    fn write_record(&self, data: &[u8]) -> PyResult<bool> {
        guarded(|| {
            let mut inner = self.0.inner();
            check_open(&inner)?;
            let most = inner.connection.largest_record();
            if data.is_empty() || data.len() > most as usize {
                let message = format!(
                    "the record is {} B; expected 1 B to {most} B, which fits a packet",
                    data.len()
                );
                return Err(PyValueError::new_err(message));
            }
            Ok(inner.connection.write_record(&Payload::Bytes(data.into())))
        })
    }

    /// Takes received data in order; all that there is, or `at_most` so many bytes. A record is not divided: one that is
    /// longer than what is left comes whole.
    #[pyo3(signature = (at_most = None))]
    fn read<'py>(&self, py: Python<'py>, at_most: Option<u64>) -> PyResult<Bound<'py, PyBytes>> {
        let data = guarded(|| {
            let mut inner = self.0.inner();
            let (now, most) = (inner.clock.latest(), at_most.unwrap_or(u64::MAX));
            let mut data = Vec::new();
            while let left @ 1.. = most.saturating_sub(data.len() as u64)
                && let Some(read) = inner.connection.read(now, left)
            {
                read.payload.copy_into(&mut data);
            }
            Ok(data)
        })?;
        Ok(PyBytes::new(py, &data))
    }

    /// Takes received data up to where a packet of the peer's, or a record, ended: the data, and whether it ends a
    /// record. None if there is none.
    fn read_piece<'py>(&self, py: Python<'py>) -> PyResult<Option<(Bound<'py, PyBytes>, bool)>> {
        let read = guarded(|| {
            let mut inner = self.0.inner();
            let now = inner.clock.latest();
            let read = inner.connection.read(now, u64::MAX);
            Ok(read.map(|read| {
                let mut data = Vec::new();
                read.payload.copy_into(&mut data);
                (data, read.ends_record)
            }))
        })?;
        Ok(read.map(|(data, ends_record)| (PyBytes::new(py, &data), ends_record)))
    }

    /// Ends this direction: AFIN goes with the last of what was written, or after it. Reading goes on.
    fn close(&self) {
        self.0.with(aerotp::Connection::close);
    }

    /// Ends the connection at once, with a reset that shows the token.
    fn abort(&self) {
        self.0.with(aerotp::Connection::abort);
    }

    /// State, as section 5.2 of docs/aerotp.md spells it.
    #[getter]
    fn state(&self) -> &'static str {
        state_name(self.0.with(|connection| connection.state()))
    }

    /// Guarantees of delivery.
    #[getter]
    fn mode(&self) -> &'static str {
        mode_name(self.0.with(|connection| connection.configuration().mode))
    }

    /// This end.
    #[getter]
    fn local(&self) -> String {
        text(self.0.with(|connection| ends(connection).0))
    }

    /// The other end: where it was when it last proved that it is the peer.
    #[getter]
    fn remote(&self) -> String {
        text(self.0.with(|connection| ends(connection).1))
    }

    /// Bytes that `write` would take now.
    #[getter]
    fn writable(&self) -> u64 {
        self.0.with(|connection| match connection.may_write() {
            true => connection.room(),
            false => 0,
        })
    }

    /// Bytes that can be read.
    #[getter]
    fn readable(&self) -> u64 {
        self.0.with(|connection| connection.readable())
    }

    /// Bytes written that the peer has not acknowledged; a gateway's custody.
    #[getter]
    fn bytes_held(&self) -> u64 {
        self.0.with(|connection| connection.held())
    }

    /// Bytes sent that have neither arrived nor been found lost.
    #[getter]
    fn bytes_in_flight(&self) -> u64 {
        self.0.with(|connection| connection.in_flight())
    }

    /// Bytes of ours that the peer has acknowledged.
    #[getter]
    fn bytes_acknowledged(&self) -> u64 {
        self.0.with(|connection| connection.acknowledged())
    }

    /// Bytes of ours that the far end has confirmed; fewer than acknowledged where a gateway holds some.
    #[getter]
    fn bytes_confirmed(&self) -> u64 {
        self.0.with(|connection| connection.confirmed())
    }

    /// The rate at which packets leave now, in bit/s with IP headers.
    #[getter]
    fn rate(&self) -> u64 {
        let rate = self.0.with(|connection| connection.rate(PATH));
        rate.map_or(0, DataRate::bits_per_second)
    }

    /// Largest record that `write_record` takes, in bytes.
    #[getter]
    fn largest_record(&self) -> u32 {
        self.0.with(|connection| connection.largest_record())
    }

    /// Smoothed round-trip time in seconds; None before the first sample.
    #[getter]
    fn smoothed_rtt(&self) -> Option<f64> {
        let rtt = self.0.with(|connection| connection.smoothed_rtt(PATH));
        rtt.map(Duration::as_secs_f64)
    }

    /// Bit error rate of the way to here, as this end measures it; 0 for none seen.
    #[getter]
    fn error_rate_here(&self) -> f64 {
        self.0
            .with(|connection| connection.error_rate_here().rate())
    }

    /// Bit error rate of the way to the peer, as the peer tells it; 0 for none seen.
    #[getter]
    fn error_rate_there(&self) -> f64 {
        self.0
            .with(|connection| connection.error_rate_there().rate())
    }

    /// Counters from the start. Sent: `packets`, of these `retransmitted`, `macks` (with nothing else) and `probes`.
    /// Received: packets `damaged` beyond repair, bytes `corrected`, packets that were `duplicates` or `refused`, bytes
    /// `skipped`, which will not come any more.
    #[getter]
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counters = PyDict::new(py);
        for (name, count) in counts(self.0.with(|connection| connection.statistics())) {
            counters.set_item(name, count)?;
        }
        Ok(counters)
    }

    fn __repr__(&self) -> String {
        let (local, remote, state) = self.0.with(|connection| {
            let (local, remote) = ends(connection);
            (local, remote, connection.state())
        });
        format!(
            "<baton.aerotp.Connection {} to {}, {}>",
            text(local),
            text(remote),
            state_name(state)
        )
    }
}

/// Own end and the peer's.
fn ends(connection: &aerotp::Connection) -> (Endpoint, Endpoint) {
    let identity = connection.identity();
    let (local, remote) = connection.addresses();
    let end = |address, port| Endpoint { address, port };
    (
        end(local, identity.local_port),
        end(remote, identity.remote_port),
    )
}

fn check_open(inner: &Inner<aerotp::Connection>) -> PyResult<()> {
    match inner.connection.may_write() {
        true => Ok(()),
        false => Err(closed(state_name(inner.connection.state()))),
    }
}

fn event_name(event: Event) -> &'static str {
    match event {
        Event::Established => "established",
        Event::Readable => "readable",
        Event::Writable => "writable",
        Event::Skipped(_) => "skipped",
        Event::Confirmed => "confirmed",
        Event::Finished => "finished",
        Event::Delivered => "delivered",
        Event::Reset => "reset",
        Event::TimedOut => "timed-out",
        Event::Closed => "closed",
    }
}

/// As section 5.2 of docs/aerotp.md spells them.
fn state_name(state: State) -> &'static str {
    match state {
        State::Closed => "CLOSED",
        State::AsynSent => "ASYN_SENT",
        State::Established => "ESTABLISHED",
        State::AfinSent => "AFIN_SENT",
        State::AfinReceived => "AFIN_RECEIVED",
    }
}

fn counts(statistics: Statistics) -> [(&'static str, u64); 9] {
    let s = statistics;
    [
        ("packets", s.packets),
        ("retransmitted", s.retransmitted),
        ("macks", s.macks),
        ("probes", s.probes),
        ("damaged", s.damaged),
        ("corrected", s.corrected),
        ("duplicates", s.duplicates),
        ("skipped", s.skipped),
        ("refused", s.refused),
    ]
}
