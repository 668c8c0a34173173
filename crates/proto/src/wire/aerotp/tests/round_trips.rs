//! Round trips of arbitrary headers and payloads.

use super::*;
use core::net::Ipv6Addr;
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn addresses() -> impl Strategy<Value = IpHeader> {
    prop_oneof![
        any::<[u32; 2]>().prop_map(|ends| ends.map(|end| IpAddr::V4(Ipv4Addr::from_bits(end)))),
        any::<[u128; 2]>().prop_map(|ends| ends.map(|end| IpAddr::V6(Ipv6Addr::from_bits(end)))),
    ]
    .prop_map(|[source, destination]| between(source, destination))
}

/// Numbers of all three encoded lengths.
fn number() -> impl Strategy<Value = u32> {
    prop_oneof![0..0x41_u32, 0x3F..0x4001_u32, 0x3FFF..=LARGEST_NUMBER]
}

/// Ascending ranges that end before 2^29, the limit of a missing range's length.
fn ranges(least_gap: u32) -> impl Strategy<Value = Vec<Range>> {
    let sizes = || prop_oneof![1..200_u32, 0x1FFF..0x4001_u32, 1..1_000_000_u32];
    vec((sizes(), sizes(), any::<bool>()), 0..=255).prop_map(move |pairs| {
        let mut end = 0;
        let range = |(gap, length, adjoins): (u32, u32, bool)| {
            let gap = if adjoins { least_gap } else { gap };
            let range = Range {
                start: end + gap,
                length,
            };
            end = range.end();
            range
        };
        pairs.into_iter().map(range).collect()
    })
}

fn mack() -> impl Strategy<Value = Mack> {
    let numbers = [(); 5].map(|()| number());
    let missing = ranges(0).prop_flat_map(|ranges| {
        let count = ranges.len();
        (Just(ranges), vec(any::<bool>(), count))
    });
    let words = (any::<u32>(), any::<u32>(), any::<u8>(), any::<bool>());
    (words, numbers, ranges(1), missing).prop_map(
        |((cumulative, echo, rate, is_complete), numbers, received, (missing, damaged))| Mack {
            cumulative: SequenceNumber(cumulative),
            unconfirmed: numbers[0],
            window: numbers[1],
            echo,
            held_for: numbers[2],
            error_rate: ErrorRate::from_rate(f64::from(rate) / 1e4),
            arrival_rate: numbers[3],
            is_complete,
            restored: numbers[4],
            received,
            missing: (missing.into_iter().zip(damaged))
                .map(|(range, damaged)| MissingRange { range, damaged })
                .collect(),
        },
    )
}

fn offer() -> impl Strategy<Value = TcpOffer> {
    (any::<u16>(), of(0..=14_u8), any::<bool>(), any::<bool>()).prop_map(
        |(maximum_segment_size, window_scale, sack_permitted, timestamps)| TcpOffer {
            maximum_segment_size,
            window_scale,
            sack_permitted,
            timestamps,
        },
    )
}

fn place() -> impl Strategy<Value = BlockPlace> {
    (1..=255_u8)
        .prop_flat_map(|sources| (Just(sources), 0..=255 - sources))
        .prop_flat_map(|(sources, repairs)| {
            (
                any::<u16>(),
                0..=(sources - 1) + repairs,
                Just(sources),
                Just(repairs),
            )
        })
        .prop_map(|(block, index, sources, repairs)| BlockPlace {
            block,
            index,
            sources,
            repairs,
        })
}

fn resumption() -> impl Strategy<Value = Resumption> {
    (any::<(u32, bool)>(), of(0..u32::MAX), 0..1_u64 << 62).prop_map(
        |((incarnation, may_open), heard, received)| Resumption {
            incarnation,
            heard,
            received,
            may_open,
        },
    )
}

fn header() -> impl Strategy<Value = AerotpHeader> {
    let words = (any::<[u16; 2]>(), any::<[u32; 2]>(), 0..5_usize, 0..8_u8);
    let opening = any::<(u32, u32)>().prop_map(|(initial, token)| Opening {
        initial: SequenceNumber(initial),
        token,
    });
    let code = (0..=256_u16, any::<bool>());
    let extensions = (
        of(opening),
        of(offer()),
        of(mack()),
        of(any::<u32>()),
        of(place()),
        of(resumption()),
    );
    (words, any::<[bool; 5]>(), any::<u8>(), code, extensions).prop_map(
        |(words, flags, tcp_flags, (strength, covers_header), extensions)| {
            let (ports, numbers, mode, class) = words;
            let tcp_flags = match extensions.1 {
                Some(_) => TcpFlags(tcp_flags).with(TcpFlags::SYN),
                None => TcpFlags(tcp_flags).without(TcpFlags::SYN),
            };
            let tcp_flags = match extensions.5 {
                Some(_) => tcp_flags.with(TcpFlags::URG),
                None => tcp_flags.without(TcpFlags::URG),
            };
            AerotpHeader {
                source_port: ports[0],
                destination_port: ports[1],
                sequence: SequenceNumber(numbers[0]),
                timestamp: numbers[1],
                mode: Mode::ALL[mode],
                class: ServiceClass::new(class).unwrap(),
                is_final: flags[0],
                ends_record: flags[1],
                wants_mack: flags[2],
                tcp_flags,
                protection: protection(strength, covers_header),
                opening: extensions.0,
                tcp_offer: extensions.1,
                mack: extensions.2.map(Box::new),
                token: extensions.3,
                adds_path: flags[3],
                block: extensions.4,
                is_odd_incarnation: flags[4],
                resumption: extensions.5,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn a_packet_comes_back_as_it_was(ip in addresses(), header in header(), payload in vec(any::<u8>(), 0..600)) {
        let bytes = encode(&ip, &header, &payload);
        let packet = AerotpPacket::decode(&ip, &bytes);
        prop_assert_eq!(packet, Ok(AerotpPacket::new(header, Payload::from_slice(&payload))));
    }

    #[test]
    fn no_bytes_make_it_panic(ip in addresses(), bytes in vec(any::<u8>(), 0..200)) {
        let _ = AerotpPacket::decode(&ip, &bytes);
    }

    /// Decodes arbitrary bytes between a valid prelude and check.
    #[test]
    fn what_is_read_is_read_again_when_written(words in 0..3_u16, bytes in vec(any::<u8>(), 17..120), behind in vec(any::<u8>(), 0..40)) {
        let mut bytes = bytes;
        bytes[0] &= 0b1001_1110;
        let bytes = sealed(protection(words, false), &bytes, &behind);
        if let Ok(packet) = AerotpPacket::decode(&ip(), &bytes) {
            let mut again = Vec::new();
            packet.encode(&ip(), &mut again);
            prop_assert_eq!(AerotpPacket::decode(&ip(), &again).map(|again| again.header), Ok(packet.header));
        }
    }
}
