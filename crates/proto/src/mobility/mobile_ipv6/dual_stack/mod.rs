//! Registration over IPv4 in UDP (RFC 5555), authenticated by a shared key (RFC 4285) and not encrypted.
//!
//! The agents exchange messages between IPv6 care-of addresses known to these ends alone, one for each place of a
//! mobile. On the wire, a mobile's messages carry its home address instead, and its IPv4 address as an option (section
//! 4.2). A tunnelled packet is the whole payload of its datagram; its version field tells IPv4 from IPv6 (section 4.1).
//!
//! | end | runs at | tasks |
//! |---|---|---|
//! | [`MobileEnd`] | an uplink of a mobile | converts its messages, refreshes the translator's entry, detects loss of the path |
//! | [`HomeEnd`] | the home agent | authenticates updates, refuses replays, records the places of mobiles |
//!
//! RFC 5555 does not define the care-of address that RFC 4285's authenticator covers if the mobile has no IPv6 care-of
//! address: here it is the source of the packet, the home address. The IPv4 address, as an option, is covered too.

mod home_end;
mod liveness;
mod mobile_end;

pub use home_end::{Arrival, HomeEnd, HomeEndCounts, HomeEndSettings};
pub use mobile_end::{MobileEnd, MobileEndCounts, MobileEndSettings};

use super::return_routability::authenticator;
use super::{SharedKey, mobility_packet, sign_for_home};
use crate::packet::{Body, Packet};
use crate::wire::mobility_header::MobilityMessage;
use crate::wire::{protocol, u32_at};
use core::net::Ipv6Addr;

/// Length of an IPv6 header, in bytes.
const IPV6_HEADER: usize = 40;
/// Length of a binding update or acknowledgement without options, in bytes, and offset of its checksum.
const FIXED: usize = 12;
const CHECKSUM: core::ops::Range<usize> = 4..6;
/// Type and length of the authentication option, and its subtype for a mobile and its home agent (RFC 4285 section 5.1).
const AUTHENTICATION: [u8; 3] = [9, 17, 1];
/// Length of that option up to its SPI, in bytes.
const UP_TO_INDEX: usize = 7;

/// A received message, and the packet's source.
struct Signalling {
    source: Ipv6Addr,
    message: MobilityMessage,
}

/// Returns true if a datagram begins like an IP packet.
pub fn is_packet(datagram: &[u8]) -> bool {
    datagram
        .first()
        .is_some_and(|first| matches!(first >> 4, 4 | 6))
}

/// Returns true if a datagram carries a mobility message for an address.
fn is_signalling(datagram: &[u8], to: Ipv6Addr) -> bool {
    let is_ipv6 = datagram.first().is_some_and(|first| first >> 4 == 6);
    is_ipv6
        && datagram.get(6) == Some(&protocol::MOBILITY)
        && datagram.get(24..IPV6_HEADER) == Some(&to.octets())
}

/// Reads a mobility message; returns `None` if it is malformed.
fn read(datagram: &[u8]) -> Option<Signalling> {
    let packet = Packet::decode(datagram).ok()?;
    let (core::net::IpAddr::V6(source), Body::Mobility(message)) = (packet.ip.source, packet.body)
    else {
        return None;
    };
    Some(Signalling {
        source,
        message: *message,
    })
}

/// Returns true if a message that [`read`] has accepted is authenticated by the mobile with this home address. The
/// authenticator covers the received octets, so that a peer may order and pad options in its own way.
fn is_proved(shared: &SharedKey, home: Ipv6Addr, datagram: &[u8]) -> bool {
    let message = datagram.get(IPV6_HEADER..).unwrap_or_default();
    let Some((covered, proof)) = authenticated(shared, message) else {
        return false;
    };
    let mut covered = covered.to_vec();
    covered[CHECKSUM].fill(0);
    authenticator(&shared.key, (home, home), &covered) == *proof
}

/// Finds the authenticator of a message, if it names this key, and the octets that it covers.
fn authenticated<'a>(shared: &SharedKey, message: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
    let mut place = FIXED;
    loop {
        let option = message.get(place..)?;
        if option.starts_with(&AUTHENTICATION) {
            let covered = message.get(..place + UP_TO_INDEX)?;
            let index = u32_at(covered, place + AUTHENTICATION.len());
            let proof = message.get(place + UP_TO_INDEX..)?.first_chunk::<12>()?;
            return (index == shared.security_parameter_index).then_some((covered, proof));
        }
        place += match option {
            [0, ..] => 1,
            [_, length, ..] => 2 + usize::from(*length),
            _ => return None,
        };
    }
}

/// Builds a message on the wire, between the home agent and a mobile's home address.
fn signed(
    shared: &SharedKey,
    home: Ipv6Addr,
    ends: (Ipv6Addr, Ipv6Addr),
    mut message: MobilityMessage,
) -> Packet {
    sign_for_home(shared, (home, home), &mut message);
    mobility_packet(ends, (None, None), message)
}

#[cfg(test)]
mod tests;
