//! A packet that can be joined with the one before it: TCP over IP with data, without unusual fields, and with valid
//! checksums, since nothing verifies those of joined segments later.

use crate::offload::checksum::{fold, pseudo_header, sum};
use crate::offload::headers::{ACK, IPV4_HEADER, IPV6_HEADER, PSH, TCP, TCP_FLAGS, TCP_HEADER};

/// The DF bit of the IPv4 header; with all others zero, the packet is not a fragment.
const DF: u8 = 0x40;

/// A TCP segment with data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment<'a> {
    /// The packet.
    pub packet: &'a [u8],
    /// Offset of the TCP header.
    pub transport: usize,
    /// Length of both headers, in bytes.
    pub headers: usize,
}

impl<'a> Segment<'a> {
    /// Reads a packet; `None` if it is something else, or invalid.
    pub(super) fn read(packet: &'a [u8]) -> Option<Segment<'a>> {
        let transport = match packet {
            [0x45, _, a, b, _, _, flags, 0, _, TCP, ..]
                if usize::from(u16::from_be_bytes([*a, *b])) == packet.len()
                    && flags & !DF == 0
                    && fold(sum(packet.get(..IPV4_HEADER)?)) == u16::MAX =>
            {
                IPV4_HEADER
            }
            [first, _, _, _, a, b, TCP, ..]
                if first >> 4 == 6
                    && usize::from(u16::from_be_bytes([*a, *b])) + IPV6_HEADER == packet.len() =>
            {
                IPV6_HEADER
            }
            _ => return None,
        };
        let tcp = packet.get(transport..)?;
        let [offset, flags] = *tcp.get(12..)?.first_chunk()?;
        let length = usize::from(offset >> 4) * 4;
        let pseudo_header = pseudo_header(addresses(packet)?, TCP, tcp.len());
        let is_sound = (TCP_HEADER..tcp.len()).contains(&length)
            && offset & 0xf == 0
            && flags & !PSH == ACK
            && fold(pseudo_header + sum(tcp)) == u16::MAX;
        is_sound.then_some(Segment {
            packet,
            transport,
            headers: transport + length,
        })
    }

    /// Returns the data.
    pub(super) fn payload(&self) -> &'a [u8] {
        self.packet.get(self.headers..).unwrap_or_default()
    }

    /// Returns true if the sender had no more to send (PSH).
    pub(super) fn is_pushed(&self) -> bool {
        self.packet
            .get(self.transport + TCP_FLAGS)
            .is_some_and(|flags| flags & PSH != 0)
    }

    /// Returns true if a packet belongs to the same TCP connection and direction.
    pub(super) fn same_connection(&self, other: &[u8]) -> bool {
        let ports = self.transport..self.transport + 4;
        same_hosts(self.packet, other) && self.packet.get(ports.clone()) == other.get(ports)
    }

    /// Returns true if this segment continues so many packets with so much data, the first of which has these headers.
    pub(super) fn follows(&self, first: &[u8], packets: usize, data: usize) -> bool {
        let Some(headers) = self.packet.get(..self.headers) else {
            return false;
        };
        if headers.len() != first.len() || !self.same_connection(first) {
            return false;
        }
        let same = |from: usize, to: usize| headers.get(from..to) == first.get(from..to);
        let tcp = self.transport;
        let same_ip = if tcp == IPV4_HEADER {
            // All except length, identification and checksum.
            same(0, 2) && same(6, 10)
        } else {
            same(0, 4) && same(6, 40)
        };
        // The identification of a packet with DF has no meaning (RFC 6864 section 4.1).
        let is_numbered = tcp == IPV6_HEADER
            || headers.get(6) == Some(&DF)
            || number(headers, 4, 2) == number(first, 4, 2).wrapping_add(packets as u32) & 0xffff;
        // All except sequence number, PSH and checksum.
        let sequence = number(first, tcp + 4, 4).wrapping_add(data as u32);
        same_ip
            && is_numbered
            && number(headers, tcp + 4, 4) == sequence
            && same(tcp + 8, tcp + TCP_FLAGS)
            && same(tcp + 14, tcp + 16)
            && same(tcp + 18, headers.len())
    }
}

/// Returns true if two packets have the same source and destination addresses.
pub(super) fn same_hosts(one: &[u8], other: &[u8]) -> bool {
    addresses(one).is_some() && addresses(one) == addresses(other)
}

/// Returns the addresses of an IP packet; those of IPv6 are longer.
pub(super) fn addresses(packet: &[u8]) -> Option<&[u8]> {
    match packet.first()? >> 4 {
        4 => packet.get(12..20),
        6 => packet.get(8..40),
        _ => None,
    }
}

/// Reads a number in network byte order.
fn number(bytes: &[u8], place: usize, length: usize) -> u32 {
    let bytes = bytes.get(place..place + length).unwrap_or_default();
    bytes
        .iter()
        .fold(0, |number, byte| number << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::{any, proptest};

    proptest! {
        #[test]
        fn anything_is_a_segment_or_not(
            first in any::<u8>(),
            mut packet in vec(any::<u8>(), 0..100),
            other in vec(any::<u8>(), 0..100),
        ) {
            if let Some(byte) = packet.first_mut() {
                *byte = first;
            }
            let transport = if first >> 4 == 6 { IPV6_HEADER } else { IPV4_HEADER };
            let _ = Segment::read(&packet);
            // Treated as a valid segment: nothing depends on the earlier checks.
            let segment = Segment { packet: &packet, transport, headers: transport + 20 };
            let _ = (segment.payload(), segment.is_pushed(), segment.follows(&other, 1, 10));
            assert!(packet.len() < 60 || segment.same_connection(&packet) == matches!(first >> 4, 4 | 6));
        }
    }
}
