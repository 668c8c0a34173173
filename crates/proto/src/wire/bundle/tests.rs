//! Bundles against the bytes of other implementations.

use super::*;
use proptest::prelude::*;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(core::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

fn encoded(bundle: &Bundle) -> Vec<u8> {
    let mut out = Vec::new();
    bundle.encode(&mut out);
    out
}

fn ipn(node: u64, service: u64) -> EndpointId {
    EndpointId::Ipn { node, service }
}

fn bundle(crc: CrcType, flags: u64, lifetime_ms: u64) -> Bundle {
    Bundle {
        primary: PrimaryBlock {
            flags,
            crc,
            destination: ipn(2, 1),
            source: ipn(1, 1),
            report_to: EndpointId::None,
            created: CreationTimestamp {
                time_ms: 820_540_800_123,
                sequence: 7,
            },
            lifetime_ms,
        },
        extensions: Vec::new(),
        payload_flags: 0,
        payload_crc: crc,
        payload: b"a byte is a bit more".to_vec(),
    }
}

/// The bytes are those that the crate bp7, version 0.12.1, writes for the same fields.
#[test]
fn bundles_have_the_bytes_of_bp7() {
    let administrative = bundle_flags::ADMINISTRATIVE | bundle_flags::MUST_NOT_FRAGMENT;
    for (crc, flags, lifetime, expected) in [
        (
            CrcType::Crc16,
            0,
            3_600_000,
            "9f8907000182028202018202820101820100821b000000bf0c0afc7b071a0036ee804202ef86010100015461206279746520697320612062\
             6974206d6f7265423d44ff",
        ),
        (
            CrcType::Crc16,
            administrative,
            86_400_000,
            "9f8907060182028202018202820101820100821b000000bf0c0afc7b071a05265c0042394186010100015461206279746520697320612062\
             6974206d6f7265423d44ff",
        ),
        (
            CrcType::Crc32c,
            0,
            3_600_000,
            "9f8907000282028202018202820101820100821b000000bf0c0afc7b071a0036ee8044372368f486010100025461206279746520697320\
             6120626974206d6f72654401bf9de4ff",
        ),
        (
            CrcType::Crc32c,
            administrative,
            86_400_000,
            "9f8907060282028202018202820101820100821b000000bf0c0afc7b071a05265c0044a96f751a86010100025461206279746520697320\
             6120626974206d6f72654401bf9de4ff",
        ),
    ] {
        let (bundle, expected) = (bundle(crc, flags, lifetime), bytes(expected));
        assert_eq!(encoded(&bundle), expected);
        assert_eq!(Bundle::decode(&expected), Ok(bundle));
    }
}

/// RFC 9173, appendix A.1.4: a bundle whose primary block is protected by a block integrity block instead of a CRC.
#[test]
fn the_example_of_rfc_9173_is_read() {
    let example = bytes(
        "9f88070000820282010282028202018202820201820018281a000f4240850b0200005856810101018202820201828201078203008181820158\
         403bdc69b3a34a2b5d3a8554368bd1e808f606219d2a10a846eae3886ae4ecc83c4ee550fdfb1cc636b904e2f1a73e303dcd4b6ccece003e95\
         e8164dcc89a156e185010100005823526561647920746f2067656e657261746520612033322d62797465207061796c6f6164ff",
    );
    let bundle = Bundle::decode(&example).unwrap();
    assert_eq!(bundle.primary.destination, ipn(1, 2));
    assert_eq!(bundle.primary.source, ipn(2, 1));
    assert_eq!(bundle.primary.report_to, ipn(2, 1));
    assert_eq!(bundle.primary.created.sequence, 40);
    assert_eq!(bundle.primary.lifetime_ms, 1_000_000);
    assert_eq!(bundle.payload, b"Ready to generate a 32-byte payload");
    assert_eq!(encoded(&bundle), example);
    // Without that block the primary block is unprotected, as in appendix A.1.1.
    let bare = Bundle {
        extensions: Vec::new(),
        ..bundle
    };
    let error = Bundle::decode(&encoded(&bare)).unwrap_err().to_string();
    assert_eq!(error, "bundle: field CRC type of the primary block holds 0");
}

/// The layout is that of ION's `bibeclo`: [type, [transmission ID, deadline, bundle]], and [type, [disposition,
/// [[first, count], …]]].
#[test]
fn records_of_custody_have_their_bytes() {
    let unit = AdministrativeRecord::Encapsulated(Encapsulated {
        transmission: 500,
        retransmission_ms: 820_540_800_123,
        bundle: vec![0x9F, 0xFF],
    });
    let signal = AdministrativeRecord::CustodySignal(CustodySignal {
        disposition: Disposition::DepletedStorage,
        scope: vec![
            Scope { first: 1, last: 24 },
            Scope {
                first: 500,
                last: 500,
            },
        ],
    });
    for (record, expected) in [
        (unit, "82 03 83 1901f4 1b000000bf0c0afc7b 42 9fff"),
        (signal, "82 04 82 04 82 82 01 1818 82 1901f4 01"),
    ] {
        let (mut out, expected) = (Vec::new(), bytes(expected));
        record.encode(&mut out);
        assert_eq!(out, expected);
        assert_eq!(AdministrativeRecord::decode(&expected), Ok(record));
    }
}

#[test]
fn what_the_standards_forbid_is_refused() {
    let good = "9f8907000282028202018202820101820100821b000000bf0c0afc7b071a0036ee8044372368f486010100025461206279746520697320\
                6120626974206d6f72654401bf9de4ff";
    for (part, instead, message) in [
        ("9f8907", "9f8906", "bundle: field version holds 6"),
        (
            "9f890700",
            "9f890701",
            "bundle: field bundle processing control flags holds 1",
        ),
        (
            "9f890700",
            "9f8907181700",
            "bundle: field bundle processing control flags holds 23",
        ),
        ("8907000282", "8907000382", "bundle: field CRC type holds 3"),
        ("820282", "820382", "bundle: field URI scheme code holds 3"),
        (
            "820100",
            "820101",
            "bundle: field endpoint of scheme dtn holds 1",
        ),
        ("44372368f4", "44372368f5", "bundle: wrong checksum"),
        ("7b071a", "7b061a", "bundle: wrong checksum"),
        ("54612062", "54612063", "bundle: wrong checksum"),
        (
            "9de4ff",
            "9de4ff00",
            "bundle: field end of the bundle holds 0",
        ),
        ("9de4ff", "9de4", "bundle: 70 bytes where 71 are needed"),
    ] {
        let text: String = good.split_whitespace().collect();
        let wrong = text.replacen(part, instead, 1);
        assert_ne!(wrong, text, "{part} occurs");
        let error = Bundle::decode(&bytes(&wrong)).unwrap_err();
        assert_eq!(error.to_string(), message, "{part} as {instead}");
    }
    // Numbers of blocks differ, and 1 is the payload's.
    for numbers in [[1, 2], [0, 2], [2, 2]] {
        let block = |number| Block {
            kind: 192,
            number,
            flags: 0,
            crc: CrcType::None,
            data: Vec::new(),
        };
        let mut wrong = bundle(CrcType::Crc32c, 0, 1);
        wrong.extensions = numbers.map(block).to_vec();
        let error = Bundle::decode(&encoded(&wrong)).unwrap_err().to_string();
        assert_eq!(
            error,
            format!("bundle: field block number holds {}", numbers[0])
        );
    }
    for (record, message) in [
        (
            "8205 82 00 80",
            "bundle: field administrative record type holds 5",
        ),
        ("8204 82 02 80", "bundle: field disposition holds 2"),
        (
            "8204 82 00 81 82 01 00",
            "bundle: field length of the scope holds 0",
        ),
        (
            "8204 82 00 81 82 1bffffffffffffffff 02",
            "bundle: field length of the scope holds 2",
        ),
        (
            "8204 82 00 9a ffffffff",
            "bundle: 9 bytes where 10 are needed",
        ),
    ] {
        let error = AdministrativeRecord::decode(&bytes(record)).unwrap_err();
        assert_eq!(error.to_string(), message, "{record}");
    }
}

proptest! {
    /// Whatever is read has one encoding: the bytes read.
    #[test]
    fn any_bytes_are_refused_or_read_exactly(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(bundle) = Bundle::decode(&bytes) {
            prop_assert_eq!(encoded(&bundle), bytes.clone());
        }
        if let Ok(record) = AdministrativeRecord::decode(&bytes) {
            let mut out = Vec::new();
            record.encode(&mut out);
            prop_assert_eq!(out, bytes);
        }
    }

    /// A CRC finds each damaged bit.
    #[test]
    fn a_damaged_bundle_is_refused(bit in 0..71 * 8_usize) {
        let mut damaged = encoded(&bundle(CrcType::Crc32c, 0, 3_600_000));
        damaged[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(Bundle::decode(&damaged).is_err());
    }
}
