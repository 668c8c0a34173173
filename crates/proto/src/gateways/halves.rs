//! TCP halves at a gateway: connections of other hosts that it ends.

use crate::host::layer::Around;
use crate::host::sockets::{Delivery, Sockets};
use crate::host::table::Pair;
use crate::packet::{Body, Packet, Payload};
use crate::tcp::Endpoint;
use crate::time::Instant;
use crate::wire::tcp::{TcpFlags, TcpHeader};
use core::net::IpAddr;

/// Returns an end of a connection.
pub(super) fn end(address: IpAddr, port: u16) -> Endpoint {
    Endpoint { address, port }
}

/// Returns the ends of a TCP segment, the sender first, and its header.
pub(super) fn segment_ends(packet: &Packet) -> Option<(Pair, &TcpHeader)> {
    let Body::Tcp(header, _) = &packet.body else {
        return None;
    };
    let from = end(packet.ip.source, header.source_port);
    let to = end(packet.ip.destination, header.destination_port);
    Some(((from, to), header))
}

/// Returns true for a SYN that opens a connection.
pub(super) fn opens(header: &TcpHeader) -> bool {
    header.flags.contains(TcpFlags::SYN)
        && !header.flags.contains(TcpFlags::ACK)
        && !header.flags.contains(TcpFlags::RST)
}

/// Outcome of a segment for a half.
pub(super) enum Outcome {
    /// The half has taken it.
    Taken,
    /// There is no such half; the reset that answers, if any.
    Nobody(Option<Packet>),
}

/// Passes a segment to its half.
pub(super) fn deliver(
    sockets: &mut Sockets,
    now: Instant,
    around: &mut Around<'_>,
    packet: Packet,
) -> Outcome {
    let ends = segment_ends(&packet).map(|(ends, _)| ends);
    let (Some((remote, local)), Body::Tcp(header, payload)) = (ends, packet.body) else {
        return Outcome::Nobody(None);
    };
    let mtu = || around.mtu_towards(remote.address);
    match sockets.deliver(now, (local, remote), &header, payload, mtu) {
        Delivery::Taken | Delivery::Accepted(_) => Outcome::Taken,
        Delivery::Nobody(reset) => Outcome::Nobody(reset.map(|reset| {
            let ends = (local.address, remote.address);
            let body = Body::Tcp(reset, Payload::EMPTY);
            around.origin.packet(ends, body, packet.flow)
        })),
    }
}
