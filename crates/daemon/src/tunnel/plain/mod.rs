//! The unencrypted tunnel between a mobile router and its home agent: UDP over IPv4 as in RFC 5555, authenticated as in
//! RFC 4285 (`baton_proto::mobility::dual_stack`), as media of their nodes. Anyone on the path can read, change and
//! redirect its packets.

pub mod routers;
pub mod uplink;

use super::outer;
use super::pieces::Cutter;
use baton_path::NotSent;
use baton_proto::packet::Packet;

/// Length of the UDP and IPv4 headers around a packet, in bytes.
const HEADERS: u32 = 20 + 8;

/// Returns the MTU of a node's interface to this tunnel over an uplink with this MTU, in bytes, including the omitted
/// header.
pub fn longest_packet(uplink_mtu: u32) -> u32 {
    longest_carried(uplink_mtu) + outer::HEADER as u32
}

/// Returns the longest packet that a datagram carries over an uplink with this MTU, in bytes.
fn longest_carried(uplink_mtu: u32) -> u32 {
    uplink_mtu.saturating_sub(HEADERS)
}

/// Passes each packet for which one stands to `take`, up to the first that is too long for a datagram.
///
/// # Errors
/// [`NotSent::TooLong`]: the remaining packets are dropped.
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
