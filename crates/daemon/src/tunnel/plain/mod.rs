//! The way between a mobile router and its home agent without encryption: UDP over IPv4 as in RFC 5555, authenticated as in RFC 4285
//! (`baton_proto::mobility::dual_stack`), as media of their nodes. Everybody on the way can read, change and redirect
//! what it carries.

pub mod routers;
pub mod uplink;

use super::outer;
use super::pieces::Cutter;
use baton_path::NotSent;
use baton_proto::packet::Packet;

/// Headers of UDP and IPv4 around a packet, in bytes.
const HEADERS: u32 = 20 + 8;

/// Returns the longest packet of a node's interface to this way over an uplink with this MTU, in bytes: with the header that is left
/// out.
pub fn longest_packet(uplink_mtu: u32) -> u32 {
    longest_carried(uplink_mtu) + outer::HEADER as u32
}

/// Returns the longest packet that a datagram carries over an uplink with this MTU, in bytes.
fn longest_carried(uplink_mtu: u32) -> u32 {
    uplink_mtu.saturating_sub(HEADERS)
}

/// Gives each packet for which one stands to `take`, as long as none is longer than a datagram carries.
///
/// # Errors
/// [`NotSent::TooLong`]: the packets behind are given up.
fn cut(
    cutter: &mut Cutter,
    packet: &Packet,
    most: u32,
    mut take: impl FnMut(&[u8]),
) -> Result<(), NotSent> {
    cutter.cut(packet, |bytes| {
        if bytes.len() > most as usize {
            return Err(NotSent::TooLong(u16::try_from(most).unwrap_or(u16::MAX)));
        }
        take(bytes);
        Ok(())
    })
}
