//! Malformed headers, rejected or decoded leniently. Headers written by a kernel are in the packet tests.

use super::checksum::Checksum;
use super::icmp::{Echo, IcmpError, IcmpMessage};
use super::sequence::SequenceNumber;
use super::tcp::{ConnectionCount, SackBlocks, Snack, TcpFlags, TcpHeader, TcpOptions, Timestamps};
use super::udp::UdpHeader;
use super::{DecodeError, protocol};
use crate::crosslayer::HandoverNotice;
use crate::packet::IpHeader;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::num::NonZeroU8;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn ip(v4: bool) -> IpHeader {
    let [source, destination] = if v4 {
        [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2)].map(IpAddr::V4)
    } else {
        [1, 2].map(|host| IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, host)))
    };
    IpHeader {
        source,
        destination,
        hop_limit: 64,
        traffic_class: 0,
        identification: 0,
        dont_fragment: true,
    }
}

/// Sets a valid checksum at byte `at`, so that only other faults remain.
fn seal(v4: bool, protocol: u8, bytes: &mut [u8], at: usize) {
    let mut checksum = match protocol {
        protocol::ICMP => Checksum::new(),
        _ => Checksum::pseudo_header(&ip(v4), protocol, bytes.len()),
    };
    checksum.add(bytes);
    bytes[at..at + 2].copy_from_slice(&checksum.finish().to_be_bytes());
}

/// Builds a segment with these option bytes.
fn with_options(options: &[u8]) -> Result<TcpOptions, DecodeError> {
    assert_eq!(options.len() % 4, 0);
    let mut bytes = vec![0; 20];
    bytes.extend_from_slice(options);
    bytes[12] = (bytes.len() as u8 / 4) << 4;
    seal(true, protocol::TCP, &mut bytes, 16);
    TcpHeader::decode(&ip(true), &bytes).map(|(header, _)| header.options)
}

#[test]
fn unknown_options_are_skipped() {
    // Kind 34 (TCP Fast Open) with two bytes of cookie, then MSS 1460.
    let options = with_options(&[34, 4, 0xAA, 0xBB, 2, 4, 0x05, 0xB4]).expect("well formed");
    assert_eq!(options.maximum_segment_size, Some(1460));
    // Bytes after the end of the options are padding.
    let options = with_options(&[1, 0, 2, 4]).expect("well formed");
    assert_eq!(options, TcpOptions::default());
}

/// Returns the encoding of these options.
fn written(options: &[u8]) -> Vec<u8> {
    let header = TcpHeader {
        source_port: 0,
        destination_port: 0,
        sequence: SequenceNumber(0),
        acknowledgment: SequenceNumber(0),
        flags: TcpFlags::SYN,
        window: 0,
        options: with_options(options).expect("well formed"),
    };
    let mut bytes = Vec::new();
    header.encode(&mut bytes);
    assert_eq!(bytes.len() as u32, header.wire_length());
    bytes.split_off(20)
}

/// Checks SYNs and SYN-ACKs of kernel 6.18, with all options, and without timestamps, SACK or window scaling.
#[test]
fn a_syn_s_options_stand_as_a_kernel_writes_them() {
    for options in [
        &[
            2, 4, 0xFF, 0xD7, 4, 2, 8, 10, 0x15, 0x61, 0xA5, 0x24, 0, 0, 0, 0, 1, 3, 3, 10,
        ][..],
        &[2, 4, 0xFF, 0xD7, 1, 1, 4, 2, 1, 3, 3, 10],
        &[
            2, 4, 0xFF, 0xD7, 1, 1, 8, 10, 0xDA, 1, 0x1E, 0xAB, 0, 0, 0, 0, 1, 3, 3, 10,
        ],
        &[
            2, 4, 0xFF, 0xD7, 4, 2, 8, 10, 0xE0, 0x3A, 0x9B, 0x7A, 0x7B, 10, 0xFA, 0x1B,
        ],
    ] {
        assert_eq!(written(options), options);
    }
}

/// Checks the layout of RFC 1644 section 3.2: kinds 11 to 13, six bytes each, padded as in BSD.
#[test]
fn connection_counts_have_their_layout() {
    let count = |options: &[u8]| with_options(options).map(|o| o.sack.connection_count());
    let cc = [1, 1, 11, 6, 0, 0, 1, 7];
    assert_eq!(count(&cc), Ok(Some(ConnectionCount::Count(0x107))));
    let new = [1, 1, 12, 6, 0xFF, 0xFF, 0xFF, 0xFF];
    assert_eq!(count(&new), Ok(Some(ConnectionCount::New(u32::MAX))));
    let both = [1, 1, 11, 6, 0, 0, 0, 7, 1, 1, 13, 6, 0, 0, 0, 9];
    let echo = ConnectionCount::Echo { own: 7, echo: 9 };
    assert_eq!(count(&both), Ok(Some(echo)));
    let turned = [13, 6, 0, 0, 0, 9, 11, 6, 0, 0, 0, 7];
    assert_eq!(count(&turned), Ok(Some(echo)));
    for options in [&cc[..], &new, &both] {
        assert_eq!(written(options), options);
    }
    let short = [11, 4, 0, 0];
    assert!(count(&short).is_err());
    // Two SACK blocks fit beside a count; of three the last is dropped.
    let mut sack = SackBlocks::default();
    for first in [10, 20, 30] {
        sack.push(SequenceNumber(first), SequenceNumber(first + 5));
    }
    assert_eq!(sack.connection_count(), None);
    sack.set_connection_count(ConnectionCount::Count(7));
    assert_eq!(sack.as_slice().len(), 2);
    assert!(!sack.push(SequenceNumber(1), SequenceNumber(2)));
    assert_eq!(sack.connection_count(), Some(ConnectionCount::Count(7)));
}

#[test]
fn options_of_impossible_length_are_refused() {
    for (options, length) in [
        ([1, 1, 1, 34].as_slice(), 0), // without a length
        (&[34, 0, 0, 0], 0),
        (&[34, 1, 0, 0], 1),
        (&[34, 5, 0, 0], 5),              // longer than the header
        (&[2, 3, 0, 0], 3),               // MSS is four bytes
        (&[3, 4, 7, 0], 4),               // window scale is three
        (&[4, 3, 0, 0], 3),               // SACK-permitted is two
        (&[8, 4, 0, 0], 4),               // timestamps are ten
        (&[5, 2, 0, 0], 2),               // no block
        (&[5, 6, 0, 0, 0, 0, 0, 0], 6),   // half a block
        (&[1, 1, 5, 12, 0, 0, 0, 0], 12), // truncated
    ] {
        assert_eq!(
            with_options(options),
            Err(DecodeError::Field {
                header: "TCP",
                field: "option length",
                value: length,
            }),
            "{options:?}"
        );
    }
}

#[test]
fn a_window_scale_beyond_fourteen_is_fourteen() {
    let options = with_options(&[1, 3, 3, 15]).expect("RFC 7323 section 2.3");
    assert_eq!(options.window_scale, Some(14));
}

#[test]
fn options_never_exceed_forty_bytes() {
    let mut sack = SackBlocks::default();
    for block in 0..4 {
        assert!(sack.push(SequenceNumber(block * 10), SequenceNumber(block * 10 + 5)));
    }
    let timestamps = Some(Timestamps { value: 1, echo: 2 });
    for (options, blocks) in [
        // RFC 2018 section 3: four blocks, "a maximum of 3 SACK blocks" beside timestamps.
        (
            TcpOptions {
                sack,
                ..TcpOptions::default()
            },
            4,
        ),
        (
            TcpOptions {
                sack,
                timestamps,
                ..TcpOptions::default()
            },
            3,
        ),
        (
            TcpOptions {
                sack,
                timestamps,
                maximum_segment_size: Some(1460),
                window_scale: Some(7),
                sack_permitted: true,
                ..TcpOptions::default()
            },
            2,
        ),
        // Never sent, but the header must not give a wrong length.
        (
            TcpOptions {
                sack: SackBlocks::negative(Snack { offset: 1, size: 2 }),
                timestamps,
                maximum_segment_size: Some(1460),
                window_scale: Some(7),
                sack_permitted: true,
                snack_permitted: true,
                notice: Some(HandoverNotice {
                    number: NonZeroU8::MIN,
                    outstanding: 3,
                }),
            },
            0,
        ),
    ] {
        let header = TcpHeader {
            source_port: 1,
            destination_port: 2,
            sequence: SequenceNumber(3),
            acknowledgment: SequenceNumber(4),
            flags: TcpFlags::ACK,
            window: 5,
            options,
        };
        let mut bytes = Vec::new();
        header.encode(&mut bytes);
        assert!(bytes.len() <= 60);
        assert_eq!(bytes.len() as u32, header.wire_length());
        seal(true, protocol::TCP, &mut bytes, 16);
        let (decoded, payload) = TcpHeader::decode(&ip(true), &bytes).expect("well formed");
        assert!(payload.is_empty());
        assert_eq!(
            decoded.options.sack.as_slice(),
            &sack.as_slice()[..blocks],
            "the first, which are the most recent"
        );
    }
}

#[test]
fn a_data_offset_outside_the_segment_is_refused() {
    let mut bytes = vec![0; 24];
    for (offset, expected) in [
        (
            4,
            DecodeError::Field {
                header: "TCP",
                field: "data offset",
                value: 4,
            },
        ),
        (
            7,
            DecodeError::Truncated {
                header: "TCP",
                needed: 28,
                actual: 24,
            },
        ),
    ] {
        bytes[12] = offset << 4;
        assert_eq!(TcpHeader::decode(&ip(true), &bytes), Err(expected));
    }
}

#[test]
fn a_datagram_without_checksum_is_right_over_ipv4_only() {
    let bytes = [0x12, 0x34, 0x00, 0x35, 0, 9, 0, 0, b'x'];
    let (header, payload) = UdpHeader::decode(&ip(true), &bytes).expect("no checksum to verify");
    assert_eq!((header.source_port, header.destination_port), (0x1234, 53));
    assert_eq!(payload, b"x");
    assert_eq!(
        UdpHeader::decode(&ip(false), &bytes),
        Err(DecodeError::Checksum { header: "UDP" })
    );
}

#[test]
fn a_datagram_ends_where_its_length_says() {
    let mut bytes = [0, 1, 0, 2, 0, 9, 0, 0, b'x', b'y'];
    let (_, payload) = UdpHeader::decode(&ip(true), &bytes).expect("the rest is padding");
    assert_eq!(payload, b"x");
    bytes[5] = 11;
    assert!(UdpHeader::decode(&ip(true), &bytes).is_err());
    bytes[5] = 7;
    assert!(UdpHeader::decode(&ip(true), &bytes).is_err());
}

/// Builds an ICMP error of this type and code about a UDP datagram over IPv4.
fn icmp_error(kind: u8, code: u8, second_word: u32) -> Result<Option<IcmpMessage>, DecodeError> {
    let mut bytes = vec![kind, code, 0, 0];
    bytes.extend_from_slice(&second_word.to_be_bytes());
    bytes.extend_from_slice(&[0x45, 0, 5, 0xDC, 0, 0, 0x40, 0, 1, 17, 0, 0]);
    bytes.extend_from_slice(&[192, 0, 2, 1, 198, 51, 100, 7]);
    bytes.extend_from_slice(&[0x13, 0x88, 0x00, 0x35, 5, 0xC8, 0, 0]);
    seal(true, protocol::ICMP, &mut bytes, 2);
    IcmpMessage::decode(&ip(true), &bytes)
}

#[test]
fn kinds_of_icmp_errors() {
    for (kind, code, word, expected) in [
        // RFC 1191: the MTU is in the low 16 bits; an old router leaves zero there.
        (3, 4, 576, IcmpError::PacketTooBig { mtu: 576 }),
        (3, 4, 0, IcmpError::PacketTooBig { mtu: 0 }),
        (3, 2, 0, IcmpError::ProtocolUnreachable),
        (3, 3, 0, IcmpError::PortUnreachable),
        (3, 0, 0, IcmpError::Unreachable),
        (3, 13, 0, IcmpError::Unreachable),
        (11, 0, 0, IcmpError::TimeExceeded),
        (253, 0, 0, IcmpError::BadState),
        // The numbers chosen for study A.
        (253, 1, 4750, IcmpError::Backpressure { rate: 4750 }),
    ] {
        let Ok(Some(IcmpMessage::Error { kind, quoted })) = icmp_error(kind, code, word) else {
            panic!("type {kind} code {code} is an error");
        };
        assert_eq!(kind, expected);
        assert_eq!((quoted.source_port, quoted.destination_port), (5000, 53));
        assert_eq!(quoted.destination, IpAddr::from([198, 51, 100, 7]));
        assert_eq!(quoted.protocol, protocol::UDP);
    }
    // Redirect and reassembly time exceeded are valid but not used here.
    assert_eq!(icmp_error(5, 1, 0), Ok(None));
    assert_eq!(icmp_error(11, 1, 0), Ok(None));
    assert_eq!(icmp_error(253, 2, 0), Ok(None));
}

/// Checks another experiment with the number of the bad state notification, which is not assigned (RFC 4727).
#[test]
fn another_experiment_of_the_same_number_is_right_and_means_nothing() {
    let mut bytes = vec![253, 0, 0, 0, 0, 0, 0, 0, 0xFF, 1, 2, 3];
    seal(true, protocol::ICMP, &mut bytes, 2);
    assert_eq!(IcmpMessage::decode(&ip(true), &bytes), Ok(None));
}

#[test]
fn an_icmp_error_without_the_quotation_is_refused() {
    let mut bytes = vec![3, 3, 0, 0, 0, 0, 0, 0, 0x45, 0, 0, 28];
    seal(true, protocol::ICMP, &mut bytes, 2);
    assert!(matches!(
        IcmpMessage::decode(&ip(true), &bytes),
        Err(DecodeError::Truncated { .. })
    ));
}

#[test]
fn an_echo_keeps_its_data() {
    let mut bytes = vec![8, 0, 0, 0, 0, 1, 0, 2, 0, 1, 2];
    seal(true, protocol::ICMP, &mut bytes, 2);
    assert_eq!(
        IcmpMessage::decode(&ip(true), &bytes),
        Ok(Some(IcmpMessage::EchoRequest(Echo::counting(1, 2, 3))))
    );
    bytes[2..4].fill(0);
    bytes[10] = 9;
    seal(true, protocol::ICMP, &mut bytes, 2);
    let Ok(Some(IcmpMessage::EchoRequest(echo))) = IcmpMessage::decode(&ip(true), &bytes) else {
        panic!("an echo request");
    };
    let mut data = Vec::new();
    echo.data.copy_into(&mut data);
    assert_eq!(data, [0, 1, 9]);
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    // After a valid checksum, which random bytes hardly ever have.
    #[test]
    fn no_transport_bytes_panic(
        mut bytes in proptest::collection::vec(any::<u8>(), 8..120),
        v4 in any::<bool>(),
        steer in any::<(u8, u8)>(),
    ) {
        let original = bytes.clone();
        if bytes.len() >= 20 {
            bytes[12] = (steer.0 % 12 + 4) << 4;
            bytes[16..18].fill(0);
            seal(v4, protocol::TCP, &mut bytes, 16);
            let _ = TcpHeader::decode(&ip(v4), &bytes);
        }

        let mut bytes = original.clone();
        bytes[4..6].copy_from_slice(&[0, steer.0]);
        bytes[6..8].fill(0);
        let end = usize::from(steer.0).clamp(8, bytes.len());
        seal(v4, protocol::UDP, &mut bytes[..end], 6);
        let _ = UdpHeader::decode(&ip(v4), &bytes);

        let mut bytes = original;
        let kinds = [0, 1, 2, 3, 8, 11, 128, 129];
        bytes[0] = kinds[usize::from(steer.1) % kinds.len()];
        bytes[1] = steer.0 % 5;
        bytes[2..4].fill(0);
        if let Some(quoted) = bytes.get_mut(8) {
            *quoted = [0x45, 0x46, 0x4F, 0x60, 0x41, steer.0][usize::from(steer.1 >> 4) % 6];
        }
        let protocol = if v4 { protocol::ICMP } else { protocol::ICMPV6 };
        seal(v4, protocol, &mut bytes, 2);
        let _ = IcmpMessage::decode(&ip(v4), &bytes);
    }

    #[test]
    fn no_options_panic(options in proptest::collection::vec(any::<u8>(), 0..=10)) {
        let options: Vec<u8> = options.iter().flat_map(|byte| [byte % 10, *byte % 12, 0, *byte]).collect();
        let _ = with_options(&options);
    }
}
