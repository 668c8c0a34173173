//! Common parts of connections that Python drives by hand: times, ends, options, whole packets.

use crate::errors::{PacketError, from_decode};
use crate::values;
use baton_proto::packet::{BitErrors, Body, Identity, IpHeader, Packet};
use baton_proto::tcp::Endpoint;
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::icmp::{IcmpError, IcmpMessage, QuotedPacket};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Up to here a number of seconds tells every nanosecond: about 48 days.
const LATEST_S: f64 = (1u64 << 22) as f64;
/// IPv4's smallest (RFC 791) and IP's largest packet, in bytes.
const MTU: std::ops::RangeInclusive<u32> = 68..=65_535;
const HOP_LIMIT: u8 = 64;

/// A connection and what goes with it, for one caller at a time.
pub(crate) struct Driven<C> {
    // Not `Sync` by itself. Nothing that holds the lock calls Python, so that nobody waits for it long.
    inner: Mutex<Inner<C>>,
}

pub(crate) struct Inner<C> {
    pub clock: Clock,
    pub connection: C,
    /// IPv4's identification of the last packet.
    identification: u16,
}

impl<C> Driven<C> {
    pub(crate) fn new(clock: Clock, connection: C) -> Driven<C> {
        let inner = Mutex::new(Inner {
            clock,
            connection,
            identification: 0,
        });
        Driven { inner }
    }

    pub(crate) fn inner(&self) -> MutexGuard<'_, Inner<C>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn with<T>(&self, call: impl FnOnce(&mut C) -> T) -> T {
        call(&mut self.inner().connection)
    }
}

impl<C> Inner<C> {
    /// The connection's next packet, as bytes.
    pub(crate) fn encoded(&mut self, from: IpAddr, to: IpAddr, body: Body) -> Vec<u8> {
        self.identification = self.identification.wrapping_add(1);
        encoded(from, to, self.identification, body)
    }
}

/// The time, which never goes back.
pub(crate) struct Clock(Instant);

impl Clock {
    /// A clock that nobody has looked at.
    pub(crate) fn new() -> Clock {
        Clock(Instant::ZERO)
    }

    /// The time of the call before.
    pub(crate) fn latest(&self) -> Instant {
        self.0
    }

    /// The moment `seconds` after zero, to the nearest nanosecond.
    pub(crate) fn at(&mut self, seconds: f64) -> PyResult<Instant> {
        if !(0.0..=LATEST_S).contains(&seconds) {
            let message = format!(
                "now is {seconds} s; expected 0 to {LATEST_S} s, for which nanoseconds are exact"
            );
            return Err(PyValueError::new_err(message));
        }
        let now = Instant::ZERO + Duration::from_secs_f64(seconds);
        if now < self.0 {
            let latest = self.0.as_secs_f64();
            let message = format!(
                "now is {seconds} s; expected {latest} s or later, the time of the previous call"
            );
            return Err(PyValueError::new_err(message));
        }
        self.0 = now;
        Ok(now)
    }
}

pub(crate) fn endpoint(text: &str) -> PyResult<Endpoint> {
    let Ok(end) = text.parse::<SocketAddr>() else {
        let message = format!(
            "{text:?} is not an address with a port; expected one like \"10.0.0.1:80\" or \"[fd00::1]:80\""
        );
        return Err(PyValueError::new_err(message));
    };
    Ok(Endpoint {
        address: end.ip(),
        port: end.port(),
    })
}

/// Own end and the peer's, of one version of IP.
pub(crate) fn endpoints(local: &str, remote: &str) -> PyResult<(Endpoint, Endpoint)> {
    let (local, remote) = (endpoint(local)?, endpoint(remote)?);
    if local.address.is_ipv4() == remote.address.is_ipv4() {
        return Ok((local, remote));
    }
    let message = format!(
        "{} and {} are of different versions of IP",
        text(local),
        text(remote)
    );
    Err(PyValueError::new_err(message))
}

pub(crate) fn text(end: Endpoint) -> String {
    SocketAddr::new(end.address, end.port).to_string()
}

pub(crate) fn checked_mtu(mtu: u32) -> PyResult<u32> {
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

pub(crate) fn stranger(from: Endpoint, to: Endpoint, expected: &str) -> PyErr {
    PacketError::new_err(format!(
        "the packet goes from {} to {}; expected {expected}",
        text(from),
        text(to)
    ))
}

/// The options of a call, as the settings of a scenario that `origin` names.
pub(crate) fn options(options: Option<&Bound<'_, PyDict>>, origin: &str) -> PyResult<toml::Table> {
    options.map_or(Ok(toml::Table::new()), |options| {
        values::table(options, origin)
    })
}

/// Makes the error that `state` takes no more data.
pub(crate) fn closed(state: &str) -> PyErr {
    PyValueError::new_err(format!(
        "nothing can be written: this end is closed (state {state}); write before `close`"
    ))
}

/// The ICMP error that a packet is, and what it quotes.
pub(crate) fn icmp_error(bytes: &[u8]) -> PyResult<(IcmpError, QuotedPacket)> {
    match Packet::decode(bytes).map_err(from_decode)?.body {
        Body::Icmp(IcmpMessage::Error { kind, quoted }) => Ok((kind, quoted)),
        _ => Err(PacketError::new_err("the packet is not an ICMP error")),
    }
}

/// A packet as bytes, with its checksums.
pub(crate) fn encoded(from: IpAddr, to: IpAddr, identification: u16, body: Body) -> Vec<u8> {
    let packet = Packet {
        ip: IpHeader {
            source: from,
            destination: to,
            hop_limit: HOP_LIMIT,
            traffic_class: 0,
            identification,
            dont_fragment: true,
        },
        body,
        flow: None,
        retransmission: false,
        bit_errors: BitErrors::NONE,
        identity: Identity::NONE,
    };
    let mut bytes = Vec::new();
    packet.encode(&mut bytes);
    bytes
}
