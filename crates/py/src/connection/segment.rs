//! A TCP's settings and segments, of Python's options and bytes.

use crate::by_hand;
use crate::errors::{PacketError, from_decode, from_scenario};
use baton_proto::packet::{Body, Packet, Payload};
use baton_proto::tcp::Endpoint;
use baton_proto::tcp::profile::Profile;
use baton_proto::wire::tcp::TcpHeader;
use baton_sim::scenario;
use pyo3::prelude::*;
use pyo3::types::PyDict;

pub(super) fn settings(profile: &str, options: Option<&Bound<'_, PyDict>>) -> PyResult<Profile> {
    let mut table = by_hand::options(options, "tcp")?;
    table.insert("profile".to_owned(), profile.into());
    scenario::tcp_profile(table).map_err(from_scenario)
}

/// A packet's ends, the sender first, and the segment in it.
pub(super) fn segment(bytes: &[u8]) -> PyResult<(Endpoint, Endpoint, TcpHeader, Payload)> {
    let Packet { ip, body, .. } = Packet::decode(bytes).map_err(from_decode)?;
    let Body::Tcp(header, payload) = body else {
        return Err(PacketError::new_err(
            "the packet does not hold a TCP segment",
        ));
    };
    let end = |address, port| Endpoint { address, port };
    let from = end(ip.source, header.source_port);
    let to = end(ip.destination, header.destination_port);
    Ok((from, to, header, payload))
}
