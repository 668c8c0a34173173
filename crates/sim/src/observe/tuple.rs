//! Tuples that distinguish conversations.

use super::PacketView;
use baton_proto::tcp::Endpoint;
use core::net::IpAddr;

/// Protocol, addresses and ports, the same for both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FiveTuple {
    protocol: u8,
    /// Both ends, the lesser first.
    ends: [(IpAddr, u16); 2],
}

impl FiveTuple {
    /// Returns the 5-tuple of a packet.
    #[inline]
    pub fn of(view: &PacketView) -> FiveTuple {
        let (source_port, destination_port) = view.ports;
        FiveTuple::between(
            view.protocol,
            (view.source, source_port),
            (view.destination, destination_port),
        )
    }

    /// Returns the 5-tuple of a TCP connection.
    pub fn of_tcp(one: Endpoint, other: Endpoint) -> FiveTuple {
        let [one, other] = [one, other].map(|end| (end.address, end.port));
        FiveTuple::between(baton_proto::wire::protocol::TCP, one, other)
    }

    fn between(protocol: u8, one: (IpAddr, u16), other: (IpAddr, u16)) -> FiveTuple {
        let ends = if one <= other {
            [one, other]
        } else {
            [other, one]
        };
        FiveTuple { protocol, ends }
    }
}
