//! Fragmentation of IPv4 packets in front of a tunnel (RFC 791 section 3.2).
//!
//! RFC 2473 section 7.2 (b) has the tunnel packet fragmented instead. Then the tunnel's exit must reassemble it, and a
//! lost fragment holds memory there. Here the packet's destination reassembles, as RFC 791 permits for any router.

use crate::packet::{BitErrors, Body, IpHeader, Packet};

/// "More fragments" in IPv4's word of flags and fragment offset.
const MORE_FRAGMENTS: u16 = 0x2000;
/// Length of a header without options, in bytes.
const HEADER: usize = 20;

/// Divides an IPv4 packet of more than `mtu` bytes into fragments of at most `mtu`, without IPv4 options. Returns
/// `None` for a packet that fits or must not be fragmented: one with "don't fragment", an IPv6 packet, or a tunnel
/// packet, whose loops would be hidden.
pub fn fragments(packet: &Packet, mtu: u32) -> Option<Vec<Packet>> {
    let is_tunnel = packet.body.inner().is_some();
    let may_be_cut = packet.ip.source.is_ipv4() && !packet.ip.dont_fragment && !is_tunnel;
    if !may_be_cut || packet.wire_length() <= mtu {
        return None;
    }
    let mut bytes = Vec::new();
    packet.encode(&mut bytes);
    let (header, payload) = IpHeader::decode(&bytes).ok()?;
    // All fragments but the last carry a multiple of eight bytes.
    let each = (mtu as usize).saturating_sub(HEADER) / 8 * 8;
    if each == 0 {
        return None;
    }
    let count = payload.bytes.len().div_ceil(each);
    let pieces = payload.bytes.chunks(each).enumerate();
    let pieces = pieces.map(|(place, piece)| {
        // The packet may itself be a fragment. Its offset and those of the pieces fit 16 bits.
        let offset = (place * each / 8) as u16;
        let more = if place + 1 < count { MORE_FRAGMENTS } else { 0 };
        Packet {
            ip: header,
            flow: packet.flow,
            retransmission: packet.retransmission,
            bit_errors: BitErrors::NONE,
            identity: packet.identity,
            body: Body::Opaque {
                protocol: payload.protocol,
                fragment: payload.fragment.wrapping_add(offset) | more,
                bytes: piece.into(),
            },
        }
    });
    Some(pieces.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Payload;
    use crate::wire::udp::UdpHeader;

    /// Fragments made by scapy 2.8.0: `fragment(IP(src="198.51.100.5", dst="10.1.0.7", ttl=64, id=0x1234, flags=0) /
    /// UDP(sport=1, dport=2) / Raw(bytes(range(100))), fragsize=48)`.
    const FRAGMENTS: [&str; 3] = [
        "450000441234200040111435c63364050a01000700010002006c2f05000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f2021222324252627",
        "45000044123420064011142fc63364050a01000728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f5051525354555657",
        "450000201234000c4011344dc63364050a01000758595a5b5c5d5e5f60616263",
    ];

    fn datagram() -> Packet {
        let ends = ["198.51.100.5", "10.1.0.7"].map(|text| text.parse().expect("an address"));
        let ports = UdpHeader {
            source_port: 1,
            destination_port: 2,
        };
        let payload: Vec<u8> = (0..100).collect();
        let body = Body::Udp(ports, Payload::from_slice(&payload));
        let mut packet = crate::mobility::packet(ends[0], ends[1], body);
        packet.ip.dont_fragment = false;
        packet.ip.identification = 0x1234;
        packet
    }

    fn hex(packet: &Packet) -> String {
        let mut bytes = Vec::new();
        packet.encode(&mut bytes);
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn a_packet_is_cut_as_another_cuts_it() {
        for mtu in [68, 75] {
            let cut = fragments(&datagram(), mtu).expect("too long");
            assert_eq!(cut.iter().map(hex).collect::<Vec<_>>(), FRAGMENTS, "{mtu}");
        }
        // Fragmented again for a smaller MTU, the pieces keep their offsets.
        let first = fragments(&datagram(), 120).expect("too long");
        let again: Vec<Packet> = first
            .iter()
            .flat_map(|packet| fragments(packet, 68).unwrap_or_else(|| vec![packet.clone()]))
            .collect();
        let places = |packets: &[Packet]| -> Vec<u16> {
            let fragment = |packet: &Packet| match packet.body {
                Body::Opaque { fragment, .. } => fragment,
                _ => 0,
            };
            packets.iter().map(fragment).collect()
        };
        // The pieces have 96 and 12 bytes; the 96 are divided into 48 and 48.
        assert_eq!(places(&first), [0x2000, 12]);
        assert_eq!(places(&again), [0x2000, 0x2006, 12]);
        assert_eq!(again.iter().map(hex).collect::<Vec<_>>(), FRAGMENTS);
    }

    #[test]
    fn what_fits_or_must_stay_whole_is_left() {
        assert_eq!(fragments(&datagram(), 128), None);
        let mut whole = datagram();
        whole.ip.dont_fragment = true;
        assert_eq!(fragments(&whole, 68), None);
        let inner = Body::Tunnel(Box::new(datagram()));
        let mut tunnel = crate::mobility::packet(whole.ip.source, whole.ip.destination, inner);
        tunnel.ip.dont_fragment = false;
        assert_eq!(fragments(&tunnel, 68), None);
        assert_eq!(fragments(&datagram(), 27), None);
    }
}
