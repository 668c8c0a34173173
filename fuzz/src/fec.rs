//! Forward error correction: damage within its capacity is corrected, and no input makes it panic.

use crate::bytes::Bytes;
use baton_proto::fec::FecError;
use baton_proto::fec::erasure::{BlockDecoder, BlockEncoder, BlockSize};
use baton_proto::fec::interleaved::{self, Strength};
use baton_proto::fec::reed_solomon::{Code, LONGEST_CODEWORD};
use baton_proto::gateways::aerotp::datagram_code::{DatagramCode, HEADER};

/// Tries foreign bytes in a decoder, or its own with damage.
pub fn check(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    match bytes.u8() % 4 {
        0 => foreign(&mut bytes),
        1 => codeword(&mut bytes),
        2 => packet(&mut bytes),
        _ => block(&mut bytes),
    }
}

fn strength(bytes: &mut Bytes) -> Strength {
    Strength::from_words(bytes.u16() % 257).expect("at most 256 words")
}

/// Tries any bytes with any parameters.
fn foreign(bytes: &mut Bytes) {
    let parity = bytes.u8();
    let strength = strength(bytes);
    let count = bytes.u8();
    let erasures: Vec<usize> = (0..count)
        .map(|_| usize::from(bytes.u16() % 2048))
        .collect();
    let mut received = bytes.rest().to_vec();
    let (mut code, mut coded) = (DatagramCode::default(), received.clone());
    if let Some((sealed, arrival)) = code.decode(&mut coded) {
        assert!(sealed.len() + HEADER <= received.len());
        code.opened(arrival);
    }
    let _ = interleaved::decode(&mut received.clone(), strength, &erasures);
    let before = received.clone();
    let found = Code::with_parity(parity).decode(&mut received, &erasures);
    let changed = differences(&before, &received);
    assert_eq!(changed, found.unwrap_or(0), "not what it says it did");
    assert!(found.is_err() || Code::with_parity(parity).decode(&mut received, &[]) == Ok(0));
}

fn differences(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).filter(|(a, b)| a != b).count()
}

/// Damages bytes, with the decoder's knowledge (erasures) and without, within a capacity in parity bytes; returns the
/// erasures.
fn damage(bytes: &mut Bytes, block: &mut [u8], capacity: usize) -> Vec<usize> {
    let mut erasures = Vec::new();
    let mut left = capacity;
    while !bytes.is_empty() && left > 0 && !block.is_empty() {
        let place = usize::from(bytes.u16()) % block.len();
        let told = left == 1 || bytes.bool();
        block[place] ^= bytes.u8();
        left -= if told { 1 } else { 2 };
        if told {
            erasures.push(place);
        }
    }
    erasures
}

/// Tries one codeword.
fn codeword(bytes: &mut Bytes) {
    let parity = bytes.u8();
    let length = usize::from(bytes.u8());
    let mut sent = bytes.take(length).to_vec();
    let data = sent.clone();
    let code = Code::with_parity(parity);
    let fits = data.len() + code.parity() <= LONGEST_CODEWORD;
    assert_eq!(code.encode(&data, &mut sent).is_ok(), fits);
    if fits {
        let mut received = sent.clone();
        let erasures = damage(bytes, &mut received, code.parity());
        let wrong = differences(&sent, &received);
        assert_eq!(code.decode(&mut received, &erasures), Ok(wrong));
        assert_eq!(received, sent);
    }
}

/// Tries a packet of several codewords, with damage that the one with the least parity can correct.
fn packet(bytes: &mut Bytes) {
    let strength = strength(bytes);
    let length = usize::from(bytes.u16() % 3000);
    let data = bytes.take(length).to_vec();
    let mut sent = data.clone();
    interleaved::encode(&data, strength, &mut sent);
    assert_eq!(sent.len(), data.len() + strength.bytes());
    let codewords = sent.len().div_ceil(LONGEST_CODEWORD).max(1);
    let mut received = sent.clone();
    let capacity = strength.bytes() / codewords;
    let erasures = damage(bytes, &mut received[..data.len()], capacity);
    let wrong = differences(&sent, &received);
    let found = interleaved::decode(&mut received, strength, &erasures);
    assert_eq!(found, Ok(wrong));
    assert_eq!(received, sent);
    let outside = interleaved::decode(&mut received, strength, &[sent.len()]);
    assert!(matches!(outside, Err(FecError::ErasureOutside { .. })));
}

/// Tries packets of a block, of which some arrive; then forged ones.
fn block(bytes: &mut Bytes) {
    let Ok(size) = BlockSize::new(bytes.u8() % 40, bytes.u8() % 40) else {
        return;
    };
    let mut encoder = BlockEncoder::new(size);
    let packets: Vec<Vec<u8>> = (0..size.sources())
        .map(|_| {
            let length = usize::from(bytes.u8());
            bytes.take(length).to_vec()
        })
        .collect();
    for packet in &packets {
        encoder.add(packet).expect("there is room");
    }
    let mut decoder = BlockDecoder::new(size);
    let mut arrived = vec![false; packets.len() + usize::from(size.repairs())];
    for (number, arrived) in (0_u8..).zip(&mut arrived) {
        *arrived = bytes.bool();
        if *arrived && number < size.sources() {
            let packet = &packets[usize::from(number)];
            decoder.add_source(number, packet).expect("in the block");
        } else if *arrived {
            let index = number - size.sources();
            let repair = encoder.repair(index).expect("it exists");
            decoder.add_repair(index, repair).expect("in the block");
        }
    }
    let enough = arrived.iter().filter(|one| **one).count() >= packets.len();
    let mut forged = decoder.clone();
    let restored = decoder.try_restore().expect("nothing contradicts");
    assert_eq!(restored.is_some(), enough);
    for (index, packet) in restored.into_iter().flatten() {
        assert!(!arrived[usize::from(index)]);
        assert_eq!(packet, packets[usize::from(index)]);
    }
    while !bytes.is_empty() {
        let (is_source, index, length) = (bytes.bool(), bytes.u8() % 40, bytes.u8());
        let packet = bytes.take(usize::from(length));
        let _ = match is_source {
            true => forged.add_source(index, packet),
            false => forged.add_repair(index, packet),
        };
        let _ = forged.try_restore();
    }
}
