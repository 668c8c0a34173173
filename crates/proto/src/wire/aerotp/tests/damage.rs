//! Flipped bits: corrected or detected, and never misread.

use super::vectors::{Vector, vectors};
use super::*;

/// A small random generator (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }
}

fn flipped(vector: &Vector, bits: &[usize]) -> Vec<u8> {
    let mut bytes = vector.bytes.clone();
    for bit in bits {
        bytes[bit / 8] ^= 0x80 >> (bit % 8);
    }
    bytes
}

/// Returns true if a packet with a damaged header is rejected, or decodes as sent.
fn is_right(vector: &Vector, bits: &[usize]) -> bool {
    match AerotpPacket::decode(&vector.ip, &flipped(vector, bits)) {
        Ok(packet) => packet.header == vector.header,
        Err(_) => true,
    }
}

fn header_bits(vector: &Vector) -> usize {
    vector.header.wire_length() as usize * 8
}

fn uncoded() -> impl Iterator<Item = Vector> {
    let none = Strength::NONE;
    vectors()
        .into_iter()
        .filter(move |vector| vector.header.protection.strength == none)
}

#[test]
fn one_or_two_flipped_bits_of_a_header_are_never_misread() {
    for vector in uncoded() {
        for first in 0..header_bits(&vector) {
            assert!(is_right(&vector, &[first]), "{}: {first}", vector.name);
            // The prelude's own code is tested exhaustively elsewhere.
            for second in (PRELUDE * 8).max(first + 1)..header_bits(&vector) {
                assert!(
                    is_right(&vector, &[first, second]),
                    "{}: {first}, {second}",
                    vector.name
                );
            }
        }
    }
}

#[test]
fn three_flipped_bits_of_a_header_are_never_misread() {
    let mut random = Random(1);
    for vector in uncoded() {
        for _ in 0..20_000 {
            let bits = [(); 3].map(|()| random.below(header_bits(&vector)));
            assert!(is_right(&vector, &bits), "{}: {bits:?}", vector.name);
        }
    }
    // All bits after the prelude of a packet with the shortest header.
    let shortest = &vectors()[5];
    assert_eq!(header_bits(shortest), 22 * 8);
    for first in PRELUDE * 8..22 * 8 {
        for second in first + 1..22 * 8 {
            for third in second + 1..22 * 8 {
                assert!(is_right(shortest, &[first, second, third]));
            }
        }
    }
}

/// Checks that a damaged payload is reported as missing, and its header is used.
#[test]
fn a_payload_without_code_is_damaged_by_one_bit() {
    for vector in uncoded().filter(|vector| !vector.payload.is_empty()) {
        for bit in header_bits(&vector)..vector.bytes.len() * 8 {
            let packet = AerotpPacket::decode(&vector.ip, &flipped(&vector, &[bit])).unwrap();
            assert_eq!(packet.header, vector.header);
            assert_eq!(
                packet.condition,
                Condition::Damaged(vector.payload.len() as u32)
            );
            assert!(packet.payload.is_empty());
        }
    }
}

/// Checks that with the header inside the code, eight words correct any 16 bytes after the prelude, and the prelude's
/// code three bits.
#[test]
fn a_packet_whose_header_is_coded_comes_back_whole() {
    let mut random = Random(2);
    let vector = &vectors()[8];
    assert_eq!(vector.header.protection, protection(8, true));
    for _ in 0..2_000 {
        let mut places: Vec<usize> = Vec::new();
        while places.len() < 16 {
            let place = PRELUDE + random.below(vector.bytes.len() - PRELUDE);
            if !places.contains(&place) {
                places.push(place);
            }
        }
        let mut bits: Vec<usize> = places
            .iter()
            .map(|place| place * 8 + random.below(8))
            .collect();
        let first = random.below(24);
        bits.extend([first, (first + 5) % 24, (first + 11) % 24]);
        let packet = AerotpPacket::decode(&vector.ip, &flipped(vector, &bits)).unwrap();
        assert_eq!(packet.header, vector.header);
        assert_eq!(packet.payload, Payload::from_slice(&vector.payload));
        assert_eq!(packet.condition, Condition::Corrected(16));
    }
}

/// Checks that each of the payload's two codewords corrects eight bytes; a burst of sixteen affects both.
#[test]
fn a_burst_in_a_coded_payload_is_put_right() {
    let vector = &vectors()[7];
    let start = vector.header.wire_length() as usize;
    for first in start..vector.bytes.len() - 15 {
        let bits: Vec<usize> = (first..first + 16).map(|place| place * 8 + 3).collect();
        let packet = AerotpPacket::decode(&vector.ip, &flipped(vector, &bits)).unwrap();
        assert_eq!(packet.header, vector.header);
        assert_eq!(packet.payload, Payload::from_slice(&vector.payload));
        let is_hit = first < start + 256 + 4;
        let expected = if is_hit {
            Condition::Corrected(16)
        } else {
            Condition::Clean
        };
        assert_eq!(packet.condition, expected, "{first}");
    }
}

/// Checks a header made longer by an extension, and a payload shorter by as much, with two flipped bits. A check is
/// then read at a wrong place, and agrees for one value of 65,536; the payload's does not, so that nothing is delivered
/// (docs/aerotp.md, section "Header check").
#[test]
fn flips_that_move_the_check_pass_it_by_chance_alone() {
    let mut passed = Vec::new();
    for value in 0..=u16::MAX {
        // The check is read after the token that does not exist: two bytes of the right check, and two of the payload.
        let mut payload = [0; 12];
        payload[2..4].copy_from_slice(&value.to_be_bytes());
        let mut bytes = encode(&ip(), &plain(), &payload);
        bytes[PRELUDE + 1] ^= flag::TOKEN;
        bytes[PRELUDE + 16] ^= 4;
        if let Ok(packet) = AerotpPacket::decode(&ip(), &bytes) {
            passed.push(packet.condition);
        }
    }
    assert_eq!(passed, [Condition::Damaged(8)]);
}
