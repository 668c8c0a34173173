//! Translations, checked by decoding the result: decoding verifies all checksums.

use super::*;
use crate::packet::{BitErrors, Body, Identity, IpHeader, Payload};
use crate::wire::icmp::{Echo, IcmpError, IcmpMessage, QuotedPacket};
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::{TcpFlags, TcpHeader, TcpOptions};
use crate::wire::udp::UdpHeader;

pub(super) const NOW: Instant = Instant::from_secs(100);

/// Addresses of the translator, the host inside and a host outside.
pub(super) fn addresses(v6: bool) -> [IpAddr; 3] {
    let texts = match v6 {
        false => ["198.18.0.1", "10.0.0.3", "203.0.113.9"],
        true => ["2001:db8:2::1", "fd00::3", "2001:db8:f::9"],
    };
    texts.map(|text| text.parse().expect("an address"))
}

pub(super) fn nat() -> Nat {
    Nat::new([addresses(false)[0], addresses(true)[0]], 2000)
}

pub(super) fn packet(source: IpAddr, destination: IpAddr, body: Body) -> Packet {
    Packet {
        ip: IpHeader {
            source,
            destination,
            hop_limit: 9,
            traffic_class: 0,
            identification: 0,
            dont_fragment: true,
        },
        body,
        flow: None,
        retransmission: false,
        bit_errors: BitErrors::NONE,
        identity: Identity::NONE,
    }
}

/// Returns the packet as its own kernel would write it.
pub(super) fn written(packet: &Packet) -> Packet {
    let mut bytes = Vec::new();
    packet.encode(&mut bytes);
    Packet::verbatim(&bytes).expect("a right header")
}

pub(super) fn datagram(source_port: u16, destination_port: u16, data: &[u8]) -> Body {
    let header = UdpHeader {
        source_port,
        destination_port,
    };
    Body::Udp(header, Payload::from_slice(data))
}

fn segment(source_port: u16, destination_port: u16) -> Body {
    let header = TcpHeader {
        source_port,
        destination_port,
        sequence: SequenceNumber(77),
        acknowledgment: SequenceNumber(0),
        flags: TcpFlags::SYN,
        window: 1000,
        options: TcpOptions::default(),
    };
    Body::Tcp(header, Payload::from_slice(b"odd"))
}

/// Returns the packet as a receiver reads it.
pub(super) fn read(packet: &Packet) -> Packet {
    let mut bytes = Vec::new();
    packet.encode(&mut bytes);
    Packet::decode(&bytes).expect("right checksums")
}

#[test]
fn there_and_back() {
    for v6 in [false, true] {
        let [translator, inside, server] = addresses(v6);
        type Body2 = fn(u16, u16) -> Body;
        let bodies: [Body2; 2] = [segment, |from, to| datagram(from, to, b"hello")];
        for body in bodies {
            let mut nat = nat();
            let mut out = written(&packet(inside, server, body(5555, 443)));
            assert!(nat.translate_out(NOW, &mut out));
            let sent = read(&out);
            assert_eq!((out.ip.source, sent.ip.source), (translator, translator));
            assert_eq!(sent.body, body(2000, 443));
            let mut back = written(&packet(server, translator, body(443, 2000)));
            assert!(nat.translate_in(NOW, &mut back));
            let received = read(&back);
            assert_eq!(
                (back.ip.destination, received.ip.destination),
                (inside, inside)
            );
            assert_eq!(received.body, body(443, 5555));
            // RFC 4787 REQ-1 and REQ-8: the same port towards and from every address.
            let other = packet(
                inside,
                translator,
                Body::Icmp(IcmpMessage::EchoRequest(Echo::counting(1, 1, 0))),
            );
            assert!(!nat.translate_out(NOW, &mut written(&other)), "a hairpin");
            let other: IpAddr = if v6 { "2001:db8::7" } else { "192.0.2.7" }
                .parse()
                .expect("an address");
            let mut out = written(&packet(inside, other, body(5555, 80)));
            assert!(nat.translate_out(NOW, &mut out));
            assert_eq!(read(&out).body, body(2000, 80));
            assert!(nat.translate_in(
                NOW,
                &mut written(&packet(other, translator, body(81, 2000)))
            ));
            let mut out = written(&packet(inside, server, body(5556, 443)));
            assert!(nat.translate_out(NOW, &mut out));
            assert_eq!(read(&out).body, body(2001, 443));
        }
    }
}

#[test]
fn echoes_and_errors_about_them() {
    for v6 in [false, true] {
        let [translator, inside, server] = addresses(v6);
        let mut nat = nat();
        let ping =
            |identifier| Body::Icmp(IcmpMessage::EchoRequest(Echo::counting(identifier, 4, 3)));
        let pong =
            |identifier| Body::Icmp(IcmpMessage::EchoReply(Echo::counting(identifier, 4, 3)));
        let mut out = written(&packet(inside, server, ping(9)));
        assert!(nat.translate_out(NOW, &mut out));
        assert_eq!(read(&out).body, ping(2000));
        let mut back = written(&packet(server, translator, pong(2000)));
        assert!(nat.translate_in(NOW, &mut back));
        assert_eq!((read(&back).body, back.ip.destination), (pong(9), inside));
        // A ping from outside, even to an identifier that is in use.
        assert!(!nat.translate_in(NOW, &mut written(&packet(server, translator, ping(2000)))));
        // A router's error about the request: type 8 or 128 in the first word, the identifier in the last.
        let error = |source, identifier: u16| {
            Body::Icmp(IcmpMessage::Error {
                kind: IcmpError::TimeExceeded,
                quoted: QuotedPacket {
                    source,
                    destination: server,
                    protocol: if v6 { 58 } else { 1 },
                    source_port: if v6 { 0x8000 } else { 0x0800 },
                    destination_port: 0x1234,
                    sequence: u32::from(identifier) << 16 | 4,
                    within: None,
                },
            })
        };
        let mut back = written(&packet(server, translator, error(translator, 2000)));
        assert!(nat.translate_in(NOW, &mut back));
        let received = read(&back);
        assert_eq!(received.ip.destination, inside);
        let Body::Icmp(IcmpMessage::Error { quoted, .. }) = received.body else {
            panic!("not an error");
        };
        assert_eq!((quoted.source, quoted.sequence), (inside, 9 << 16 | 4));
    }
}

/// Returns an ICMP error that quotes a whole packet, as kernels send it.
fn error_about(source: IpAddr, destination: IpAddr, quoted: &Packet) -> Packet {
    let v6 = source.is_ipv6();
    let mut bytes = if v6 {
        vec![1, 4, 0, 0]
    } else {
        vec![3, 3, 0, 0]
    };
    bytes.extend_from_slice(&[0; 4]);
    quoted.encode(&mut bytes);
    let protocol = if v6 { protocol::ICMPV6 } else { protocol::ICMP };
    let mut whole = packet(
        source,
        destination,
        Body::Udp(
            UdpHeader {
                source_port: 0,
                destination_port: 0,
            },
            Payload::EMPTY,
        ),
    );
    let mut sum = match v6 {
        true => crate::wire::checksum::Checksum::pseudo_header(&whole.ip, protocol, bytes.len()),
        false => crate::wire::checksum::Checksum::new(),
    };
    sum.add(&bytes);
    bytes[2..4].copy_from_slice(&sum.finish().to_be_bytes());
    whole.body = Body::Opaque {
        protocol,
        fragment: 0,
        bytes: bytes.into(),
    };
    written(&whole)
}

/// Returns the packet quoted by an error, with its checksums verified.
fn quoted(error: &Packet) -> Packet {
    assert!(matches!(
        read(error).body,
        Body::Icmp(IcmpMessage::Error { .. })
    ));
    let Body::Verbatim(verbatim) = &error.body else {
        panic!("typed");
    };
    Packet::decode(&verbatim.carried().bytes[8..]).expect("right checksums inside as well")
}

#[test]
fn quoted_packets_are_translated_with_their_checksums() {
    for v6 in [false, true] {
        let [translator, inside, server] = addresses(v6);
        // Seven bytes: the quotation ends in the middle of a word.
        for body in [segment(5555, 443), datagram(5555, 443, b"seven b")] {
            let mut nat = nat();
            let original = packet(inside, server, body.clone());
            let mut out = written(&original);
            assert!(nat.translate_out(NOW, &mut out));
            let mut error = error_about(server, translator, &out);
            assert!(nat.translate_in(NOW, &mut error));
            assert_eq!(error.ip.destination, inside);
            let seen = quoted(&error);
            assert_eq!((seen.ip.source, seen.body), (inside, body));

            // In the other direction: the inside host cannot take an answer.
            let mut answer = written(&packet(server, translator, datagram(443, 2000, b"a")));
            let udp = nat.translate_in(NOW, &mut answer);
            if let (true, Body::Udp(..)) = (udp, &original.body) {
                let mut error = error_about(inside, server, &answer);
                assert!(nat.translate_out(NOW, &mut error));
                assert_eq!(read(&error).ip.source, translator);
                let seen = quoted(&error);
                assert_eq!(seen.ip.destination, translator);
                assert_eq!(seen.body, datagram(443, 2000, b"a"));
            }
        }
    }
}

#[test]
fn mappings_end_and_ports_are_not_shared() {
    let [translator, inside, server] = addresses(false);
    let mut nat = nat();
    let send = |nat: &mut Nat, now: Instant, port: u16| {
        let mut out = written(&packet(inside, server, datagram(port, 53, b"")));
        assert!(nat.translate_out(now, &mut out));
        match read(&out).body {
            Body::Udp(header, _) => header.source_port,
            other => panic!("not UDP: {other:?}"),
        }
    };
    let answer = |nat: &mut Nat, now: Instant| {
        let mut back = written(&packet(server, translator, datagram(53, 2000, b"")));
        nat.translate_in(now, &mut back)
    };
    assert_eq!(send(&mut nat, NOW, 7), 2000);
    let minutes = |count: u64| NOW + Duration::from_secs(60 * count);
    assert!(answer(&mut nat, minutes(4)));
    // Incoming packets do not prolong a mapping (RFC 4787 REQ-6), outgoing ones do.
    assert!(!answer(&mut nat, minutes(5)));
    assert_eq!(send(&mut nat, minutes(4), 7), 2000);
    assert!(answer(&mut nat, minutes(8)));
    assert_eq!(send(&mut nat, minutes(20), 7), 2001);
    assert_eq!(nat.refused().unmapped, 1);
    // All 64,512 ports but the one in use, and then none.
    for port in 100..64_611 {
        send(&mut nat, minutes(20), port);
    }
    let mut out = written(&packet(inside, server, datagram(99, 53, b"")));
    assert!(!nat.translate_out(minutes(20), &mut out));
    assert_eq!(nat.refused().out_of_ports, 1);
    assert_eq!(nat.by_inside.len(), 64_512);
}

#[test]
fn what_nobody_translates_is_refused_and_counted() {
    let [translator, inside, server] = addresses(false);
    let mut nat = nat();
    let opaque = |protocol, fragment| Body::Opaque {
        protocol,
        fragment,
        bytes: [0; 20].into(),
    };
    // GRE, TP++, and a fragment of UDP.
    for body in [opaque(47, 0), opaque(39, 0), opaque(17, 0x2000)] {
        assert!(!nat.translate_out(NOW, &mut packet(inside, server, body.clone())));
        assert!(!nat.translate_in(NOW, &mut packet(server, translator, body)));
    }
    assert_eq!(nat.refused().unsupported, 6);
    assert!(!nat.translate_in(NOW, &mut packet(server, translator, segment(1, 2))));
    assert!(!nat.translate_in(NOW, &mut packet(server, inside, segment(1, 2))));
    assert_eq!(nat.refused().unmapped, 2);
    assert_eq!(nat.refused().total(), 8);
}

#[test]
fn a_datagram_without_checksum_stays_without() {
    let [_, inside, server] = addresses(false);
    let typed = packet(inside, server, datagram(5, 6, b"x"));
    let mut bytes = Vec::new();
    typed.encode(&mut bytes);
    bytes[26..28].fill(0);
    let mut out = Packet::verbatim(&bytes).expect("a right header");
    assert!(nat().translate_out(NOW, &mut out));
    bytes.clear();
    out.encode(&mut bytes);
    assert_eq!(bytes[26..28], [0, 0]);
    assert_eq!(read(&out).body, datagram(2000, 6, b"x"));
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config {
        rng_seed: proptest::test_runner::RngSeed::Fixed(1),
        failure_persistence: None,
        ..Default::default()
    })]

    // Arbitrary bytes after a valid header.
    #[test]
    fn no_bytes_panic(
        body in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..120),
        first in proptest::sample::select(&[0u8, 3, 8, 11, 1, 2, 128, 129][..]),
        quoted in proptest::sample::select(&[0x45u8, 0x4F, 0x60, 0x00][..]),
        number in proptest::sample::select(&[1u8, 6, 17, 58][..]),
        v6 in proptest::prelude::any::<bool>(),
    ) {
        let [translator, inside, server] = addresses(v6);
        let mut bytes = body;
        if let Some(byte) = bytes.get_mut(0) {
            *byte = first;
        }
        if let Some(byte) = bytes.get_mut(8) {
            *byte = quoted;
        }
        for at in [8 + 6, 8 + 9] {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = number;
            }
        }
        let body = Body::Opaque { protocol: number, fragment: 0, bytes: bytes.into() };
        let mut nat = nat();
        let mut out = written(&packet(inside, server, body.clone()));
        let length = out.wire_length();
        nat.translate_out(NOW, &mut out);
        let mut back = written(&packet(server, translator, body));
        nat.translate_in(NOW, &mut back);
        proptest::prop_assert_eq!(out.wire_length(), length);
    }
}
