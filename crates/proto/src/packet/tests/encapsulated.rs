//! Minimal and generic routing encapsulation.

use super::*;
use crate::wire::encapsulation::{Encapsulation, MinimalHeader};

/// Packets made by scapy 2.8.0. The datagram: `IP(src="198.51.100.5", dst="192.0.2.10", ttl=63, id=0x1234, flags="DF",
/// tos=0xb8) / UDP(sport=1, dport=2) / Raw(bytes(range(8)))`.
const PLAIN: &str = "45b80024123440003f113c9ac6336405c000020a00010002001007780001020304050607";
/// The datagram behind `IP(src="192.0.2.1", dst="203.0.113.1", ttl=64, id=7, tos=0xb8, flags="DF") / GRE()`.
const GENERIC: &str = "45b8003c00074000402f3bd1c0000201cb007101\
    0000080045b80024123440003f113c9ac6336405c000020a00010002001007780001020304050607";
/// The datagram's payload behind its own header with the tunnel's ends and protocol 55, and a minimal forwarding header
/// from RFC 2004's figure, with scapy's checksum.
const MINIMAL: &str = "45b80030123440003f372aa8c0000201cb007101\
    1180023cc000020ac633640500010002001007780001020304050607";
/// The same from the datagram's own source.
const MINIMAL_FROM_SOURCE: &str = "45b8002c123440003f37c274c6336405cb007101\
    11002cf5c000020a00010002001007780001020304050607";

#[test]
fn bytes_are_those_of_the_standards() {
    let plain = decode(PLAIN);
    for (text, form, length) in [
        (GENERIC, Encapsulation::Generic, 24),
        (MINIMAL, Encapsulation::Minimal, 12),
        (MINIMAL_FROM_SOURCE, Encapsulation::Minimal, 8),
    ] {
        let packet = decode(text);
        assert_eq!(packet.body, Body::encapsulate(plain.clone(), form));
        assert_eq!(encode(&packet), bytes(text));
        assert_eq!(packet.wire_length(), plain.wire_length() + length);
        assert_eq!(packet.headers_length(), 28 + length);
        assert_eq!(packet.view().ports, Some((1, 2)));
        let verbatim = Packet::verbatim(&bytes(text)).expect("a packet");
        assert_eq!(verbatim.view().ports, Some((1, 2)));
        assert_eq!(packet.innermost(), &plain);
        assert_eq!(packet.decapsulate(), Some(plain.clone()));
    }
}

/// RFC 2004 section 3.1: hops in the tunnel count, as there is only one hop limit. With GRE they do not.
#[test]
fn hops_in_a_minimal_tunnel_are_seen_behind_it() {
    for (text, left) in [(MINIMAL, 53), (GENERIC, 63)] {
        let mut packet = decode(text);
        packet.ip.hop_limit -= 10;
        let bytes = encode(&packet);
        for packet in [packet, Packet::decode(&bytes).expect("a packet")] {
            let inner = packet.decapsulate().expect("a tunnel");
            assert_eq!(inner.ip.hop_limit, left);
        }
    }
}

#[test]
fn faults_in_the_header_are_detected() {
    for (at, bit) in [(20, 1), (21, 1), (22, 1), (27, 0x80), (31, 1)] {
        let mut changed = bytes(MINIMAL);
        changed[at] ^= bit;
        let header = "minimal forwarding header";
        assert_eq!(
            Packet::decode(&changed),
            Err(DecodeError::Checksum { header })
        );
    }
    let all = bytes(MINIMAL);
    assert!(MinimalHeader::decode(&all[20..31]).is_err());
    assert!(MinimalHeader::decode(&all[20..27]).is_err());
    // A checksum, a key, another version or another protocol: not decoded.
    for (at, value) in [(20, 0x80), (20, 0x20), (21, 1), (22, 0x86), (24, 0x60)] {
        let mut changed = bytes(GENERIC);
        changed[at] = value;
        let packet = Packet::decode(&changed).expect("a packet");
        assert!(matches!(packet.body, Body::Opaque { protocol: 47, .. }));
    }
}

/// RFC 2004 section 3: there is no room for a fragment's offset.
#[test]
fn fragments_and_options_do_not_fit_minimal_encapsulation() {
    let whole = decode(PLAIN);
    assert!(whole.fits_minimal_encapsulation());
    for fragment in [0x2000, 5] {
        let body = Body::Opaque {
            protocol: 17,
            fragment,
            bytes: [0; 16].into(),
        };
        let piece = Packet {
            body,
            ..whole.clone()
        };
        assert!(!piece.fits_minimal_encapsulation());
    }
    let mut changed = bytes(PLAIN);
    // Header length 24, total length 40, and an option: no operation, four times.
    changed.splice(20..20, [1; 4]);
    (changed[0], changed[3]) = (0x46, 40);
    (changed[10], changed[11]) = (0, 0);
    let mut checksum = Checksum::new();
    checksum.add(&changed[..24]);
    changed[10..12].copy_from_slice(&checksum.finish().to_be_bytes());
    let packet = Packet::verbatim(&changed).expect("a packet");
    assert!(!packet.fits_minimal_encapsulation());
    assert!(
        Packet::verbatim(&bytes(PLAIN))
            .expect("a packet")
            .fits_minimal_encapsulation()
    );
}
