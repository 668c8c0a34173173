//! Names by which two nodes refer to the same IPv4 packet.

use super::Packet;
use core::net::{IpAddr, Ipv4Addr};

/// Name of an IPv4 packet: two packets of a source do not have the same identification for a long time (RFC 791).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketName {
    /// Source address.
    pub source: Ipv4Addr,
    /// Identification field of the IP header.
    pub identification: u16,
}

impl PacketName {
    /// Returns the name of a packet, if it is an IPv4 packet.
    pub fn of(packet: &Packet) -> Option<PacketName> {
        match packet.ip.source {
            IpAddr::V4(source) => Some(PacketName {
                source,
                identification: packet.ip.identification,
            }),
            IpAddr::V6(_) => None,
        }
    }
}
