//! Fields out of range, in packets with valid checks.

use super::*;
use crate::wire::DecodeError;

/// Offset of a field in the bytes between prelude and check.
const FLAGS: usize = 1;
const TCP_FLAGS: usize = 2;
const LENGTH: usize = 15;
const EXTENSIONS: usize = 17;

/// Returns a plain header's bytes with these flags, TCP flags and extensions.
fn header(flags: u8, tcp_flags: u8, extensions: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    plain().encode(0, &mut bytes);
    assert_eq!(bytes.len(), EXTENSIONS);
    bytes[FLAGS] = flags;
    bytes[TCP_FLAGS] = tcp_flags;
    bytes.extend_from_slice(extensions);
    bytes
}

/// Returns a MACK with these counts, and these numbers after its fixed part and its four numbers.
fn mack(flags: u8, counts: [u8; 2], numbers: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 8];
    bytes.extend_from_slice(&[0, flags, counts[0], counts[1], 0, 0, 0, 0]);
    bytes.extend_from_slice(numbers);
    bytes
}

fn refusal(header: &[u8], behind: &[u8]) -> DecodeError {
    let bytes = sealed(Protection::default(), header, behind);
    AerotpPacket::decode(&ip(), &bytes).unwrap_err()
}

#[track_caller]
fn refused(header: &[u8], field: &'static str, value: u32) {
    let expected = DecodeError::Field {
        header: "AeroTP",
        field,
        value,
    };
    assert_eq!(refusal(header, &[]), expected);
}

#[test]
fn modes_and_bits_that_are_not_assigned_are_refused() {
    let patched = |first: u8| {
        let mut bytes = header(0, 0, &[]);
        bytes[0] = first;
        bytes
    };
    for mode in 5..8 {
        refused(&patched(mode << 5), "mode", u32::from(mode));
    }
}

#[test]
fn impossible_resumptions_are_refused() {
    let resumption = |first: u8, last: u8| {
        let mut bytes = [0; 17];
        (bytes[8], bytes[16]) = (first, last);
        header(0, TcpFlags::URG.0, &bytes)
    };
    for first in [0x40, 0x80] {
        refused(&resumption(first, 0), "received", u32::from(first) << 24);
    }
    for last in 2..=255 {
        refused(&resumption(0, last), "resumption", u32::from(last));
    }
}

#[test]
fn offers_that_tcp_does_not_know_are_refused() {
    let offer = |scale, options| header(0, TcpFlags::SYN.0, &[5, 180, scale, options]);
    for scale in 15..255 {
        refused(&offer(scale, 0), "window scale", u32::from(scale));
    }
    for options in [4, 0x80, 0xFF] {
        refused(&offer(14, options), "TCP options", u32::from(options));
    }
}

#[test]
fn blocks_that_cannot_be_are_refused() {
    let place = |index, sources, repairs| header(flag::BLOCK, 0, &[0, 1, index, sources, repairs]);
    refused(&place(0, 0, 0), "block size", 0);
    refused(&place(0, 0, 9), "block size", 9);
    refused(&place(0, 255, 1), "block size", 256);
    refused(&place(0, 255, 255), "block size", 510);
    refused(&place(3, 2, 1), "block index", 3);
    refused(&place(255, 254, 1), "block index", 255);
}

#[test]
fn macks_that_contradict_themselves_are_refused() {
    let with = |flags, mack: Vec<u8>| header(flags, 0, &mack);
    let both = flag::MACK | flag::SNACK;
    refused(&with(flag::SNACK, vec![]), "SNACK without MACK", 0x10);
    for flags in [0x01, 0x20, 0xFF] {
        refused(
            &with(flag::MACK, mack(flags, [0, 0], &[])),
            "MACK flags",
            u32::from(flags),
        );
    }
    refused(&with(both, mack(0, [0, 0], &[])), "SNACK ranges", 0);
    refused(
        &with(flag::MACK, mack(0, [0, 1], &[1, 2])),
        "SNACK ranges",
        1,
    );
    refused(&with(flag::MACK, mack(0, [1, 0], &[0, 2])), "gap", 0);
    refused(&with(flag::MACK, mack(0, [2, 0], &[1, 2, 0, 2])), "gap", 0);
    refused(
        &with(flag::MACK, mack(0, [1, 0], &[1, 0])),
        "range length",
        0,
    );
    refused(&with(both, mack(0, [0, 1], &[0, 1])), "range length", 0);
}

#[test]
fn ranges_and_numbers_beyond_thirty_bits_are_refused() {
    let with = |counts: [u8; 2], numbers: &[u8]| {
        let snack = if counts[1] > 0 { flag::SNACK } else { 0 };
        header(flag::MACK | snack, 0, &mack(0, counts, numbers))
    };
    let most = (0x8000_0000 | LARGEST_NUMBER).to_be_bytes();
    // A gap of a byte before 2^30 - 1 missing bytes; and twice half as many.
    refused(
        &with([1, 0], &[&[1][..], &most].concat()),
        "range length",
        LARGEST_NUMBER,
    );
    refused(
        &with([0, 1], &[&most[..], &[2]].concat()),
        "range length",
        1,
    );
    let half = (0x8000_0000_u32 | 1 << 29).to_be_bytes();
    refused(
        &with([2, 0], &[&half[..], &[1], &half, &[1]].concat()),
        "range length",
        1,
    );
    refused(&with([1, 0], &[0xC0, 1]), "number", 0xC0);
    refused(&with([1, 0], &[1, 0xFF]), "number", 0xFF);
}

#[test]
fn what_extensions_lack_is_missed() {
    let all = flag::ASYN | flag::MACK | flag::TOKEN | flag::BLOCK;
    let full = [
        vec![0; 8],
        vec![0; 4],
        mack(0, [1, 0], &[1, 1]),
        vec![0; 4],
        vec![0, 0, 0, 1, 0],
    ];
    let full = full.concat();
    assert!(
        AerotpPacket::decode(
            &ip(),
            &sealed(
                Protection::default(),
                &header(all, TcpFlags::SYN.0, &full),
                &[]
            )
        )
        .is_ok()
    );
    for length in 0..full.len() {
        let mut bytes = Vec::new();
        Protection::default().encode(&mut bytes);
        bytes.extend(header(all, TcpFlags::SYN.0, &full[..length]));
        let error = AerotpPacket::decode(&ip(), &bytes).unwrap_err();
        assert!(
            matches!(error, DecodeError::Truncated { .. }),
            "{length}: {error}"
        );
    }
}

/// Checks length fields that are too small or too large.
#[test]
fn a_length_that_is_not_the_payloads_is_refused() {
    let payload = b"nine byte";
    let honest = encode(&ip(), &plain(), payload);
    let behind = &honest[PRELUDE + EXTENSIONS + HEC..];
    for length in [0_u16, 1, 8, 10, 13, 0xFFFF] {
        let mut lying = header(0, 0, &[]);
        lying[LENGTH..].copy_from_slice(&length.to_be_bytes());
        let expected = field("payload length", u32::from(length));
        assert_eq!(refusal(&lying, behind), expected);
    }
    let coded = sealed(protection(2, true), &header(0, 0, &[]), &[0; 7]);
    assert!(AerotpPacket::decode(&ip(), &coded).is_err());
}

/// Checks each vector of the document with an additional byte.
#[test]
fn what_follows_a_packet_is_refused() {
    for vector in super::vectors::vectors() {
        let longer = [&vector.bytes[..], &[0]].concat();
        assert!(
            AerotpPacket::decode(&vector.ip, &longer).is_err(),
            "{}",
            vector.name
        );
    }
}
