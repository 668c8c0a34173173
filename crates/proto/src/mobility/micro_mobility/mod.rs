//! Micro-mobility: a mobile keeps its care-of address within a domain, whose routers have a route for it alone. HAWAII
//! (draft-ietf-mobileip-hawaii-01) and Cellular IP (draft-ietf-mobileip-cellularip-00).
//!
//! A domain is a tree of routers below its root (HAWAII's domain root router, Cellular IP's gateway), with base stations
//! as leaves. Outside the domain, packets for the mobile are routed to the root. Inside, each router with an entry for
//! the mobile sends them by the entry's interface. Entries are soft state: they expire unless they are refreshed.
//!
//! | change of entries | message, on its way | router's new entry |
//! |---|---|---|
//! | route update, power-up | mobile to root | interface by which the message came |
//! | HAWAII, UNF | new base station to old one | interface by which the message came |
//! | HAWAII, MSF | old base station to new one | interface towards the new base station |
//! | HAWAII, SSF | old base station to new one | the same, for packets that have come from the old base station |
//! | HAWAII, MNF | new base station to old one | as with UNF up to the crossover router, there beside the present one |
//! | Cellular IP, semisoft | new base station to root | interface by which the message came, beside the present one |
//!
//! A mobile may be *idle*: after a time without packets it refreshes no path, and its entries expire. From time to time,
//! and when it enters another paging area, it sends a paging update to the root. Routers with paging entries note the
//! interface by which it came; the others send what is for an idle mobile to all routers below. With Cellular IP the
//! packet itself is the page. HAWAII's root keeps the packets and sends a page, until the mobile has set up its path.
//!
//! The [`Client`] is the mobile's part and the [`DomainRouter`] a router's. Messages are those of
//! [`crate::wire::micro_mobility`]. A message that is not newer than the last one with an effect on the same entry is
//! refused, so that neither a replay nor a late message moves a mobile back.

mod client;
mod router;
mod routes;

pub use client::{Client, ClientConfig, ClientEvent, IdleConfig};
pub use router::{DomainRouter, DomainRouterConfig, PagingConfig, Refused};
pub use routes::Route;

use super::packet;
use crate::packet::{Body, Packet, Payload};
use crate::wire::micro_mobility::{PORT, RouteMessage};
use crate::wire::udp::UdpHeader;
use core::net::Ipv4Addr;

/// Lifetime of an entry in intervals of its refreshes or updates (as RFC 2205 section 3.7 has K = 3: two lost messages do
/// no harm).
pub const LIFETIME: u64 = 3;

/// Path set-up scheme of HAWAII: the order in which routers change their entries at a handoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathSetup {
    /// Multiple stream forwarding: from the old base station on, which forwards what still reaches it. For mobiles that
    /// hear one base station at a time.
    MultipleStreamForwarding,
    /// Single stream forwarding: all packets turn round at the old base station, in their order, until the new one has
    /// the path changed from the root. For mobiles that hear one base station at a time.
    SingleStreamForwarding,
    /// Unicast non-forwarding: from the new base station on, so that the crossover router diverts packets early. For
    /// mobiles that hear both base stations.
    UnicastNonForwarding,
    /// Multicast non-forwarding: as unicast, and for a while the crossover router sends each packet to both base
    /// stations. For mobiles that hear one base station at a time.
    MulticastNonForwarding,
}

/// A micro-mobility protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HAWAII.
    Hawaii(PathSetup),
    /// Cellular IP.
    CellularIp {
        /// True for semisoft handoffs: ahead of an announced one, packets go to both base stations.
        semisoft: bool,
    },
}

impl Protocol {
    /// Returns true if announced handoffs are prepared: copies go to the new base station ahead of them.
    pub const fn prepares_handoffs(self) -> bool {
        matches!(
            self,
            Protocol::CellularIp { semisoft: true }
                | Protocol::Hawaii(PathSetup::MulticastNonForwarding)
        )
    }
}

/// Builds the datagram of a message, signed with the mobile's key.
fn message_packet(
    (source, destination): (Ipv4Addr, Ipv4Addr),
    message: &RouteMessage,
    key: &[u8; 16],
) -> Packet {
    let ports = UdpHeader {
        source_port: PORT,
        destination_port: PORT,
    };
    let payload = Payload::Bytes(message.encode(key).into());
    packet(source.into(), destination.into(), Body::Udp(ports, payload))
}

/// Returns the payload of a datagram that is to be a message; `None` for any other packet.
fn message_bytes(packet: &Packet) -> Option<&[u8]> {
    match &packet.body {
        Body::Udp(ports, Payload::Bytes(bytes)) if ports.destination_port == PORT => Some(bytes),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
