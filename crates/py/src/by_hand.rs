//! Between Python and a TCP connection: times, addresses, whole packets.

use crate::errors::{PacketError, from_decode, from_scenario};
use crate::values;
use baton_proto::packet::{BitErrors, Body, IpHeader, Packet, Payload};
use baton_proto::tcp::Endpoint;
use baton_proto::tcp::profile::Profile;
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::tcp::TcpHeader;
use baton_sim::scenario;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::net::SocketAddr;

/// Up to here a number of seconds tells every nanosecond: about 48 days.
const LATEST_S: f64 = (1u64 << 22) as f64;
/// IPv4's smallest (RFC 791) and IP's largest packet, in bytes.
const MTU: std::ops::RangeInclusive<u32> = 68..=65_535;
const HOP_LIMIT: u8 = 64;

/// The time, which never goes back.
pub(super) struct Clock(Instant);

impl Clock {
    /// A clock that nobody has looked at.
    pub(super) fn new() -> Clock {
        Clock(Instant::ZERO)
    }

    /// The moment `seconds` after zero, to the nearest nanosecond.
    pub(super) fn at(&mut self, seconds: f64) -> PyResult<Instant> {
        if !(0.0..=LATEST_S).contains(&seconds) {
            let message = format!(
                "now is {seconds} s; expected 0 to {LATEST_S} s, in which every nanosecond counts"
            );
            return Err(PyValueError::new_err(message));
        }
        let now = Instant::ZERO + Duration::from_secs_f64(seconds);
        if now < self.0 {
            let latest = self.0.as_secs_f64();
            let message =
                format!("now is {seconds} s; expected {latest} s or later, as of the call before");
            return Err(PyValueError::new_err(message));
        }
        self.0 = now;
        Ok(now)
    }
}

pub(super) fn endpoint(text: &str) -> PyResult<Endpoint> {
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

pub(super) fn text(end: Endpoint) -> String {
    SocketAddr::new(end.address, end.port).to_string()
}

pub(super) fn checked_mtu(mtu: u32) -> PyResult<u32> {
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

pub(super) fn settings(profile: &str, options: Option<&Bound<'_, PyDict>>) -> PyResult<Profile> {
    let mut table = match options {
        Some(options) => values::table(options, "tcp")?,
        None => toml::Table::new(),
    };
    table.insert("profile".to_owned(), profile.into());
    scenario::tcp_profile(table).map_err(from_scenario)
}

/// A packet's ends, the sender first, and the segment in it.
pub(super) fn segment(bytes: &[u8]) -> PyResult<(Endpoint, Endpoint, TcpHeader, Payload)> {
    let Packet { ip, body, .. } = Packet::decode(bytes).map_err(from_decode)?;
    let Body::Tcp(header, payload) = body else {
        return Err(PacketError::new_err("the packet holds no TCP segment"));
    };
    let end = |address, port| Endpoint { address, port };
    let from = end(ip.source, header.source_port);
    let to = end(ip.destination, header.destination_port);
    Ok((from, to, header, payload))
}

pub(super) fn stranger(from: Endpoint, to: Endpoint, expected: &str) -> PyErr {
    PacketError::new_err(format!(
        "the packet goes from {} to {}; expected {expected}",
        text(from),
        text(to)
    ))
}

pub(super) fn packet(from: Endpoint, to: Endpoint, identification: u16, body: Body) -> Packet {
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
        bit_errors: BitErrors::NONE,
    }
}

pub(super) fn encoded(packet: &Packet) -> Vec<u8> {
    let mut bytes = Vec::new();
    packet.encode(&mut bytes);
    bytes
}
