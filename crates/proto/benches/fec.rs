//! Speed of forward error correction on one core, in MB/s of payload, beside its targets and, in the same run, the
//! crates `fec` and `reed-solomon`. The best of several rounds counts, in which all take turns, so that they meet the
//! same disturbances.

use baton_proto::fec::erasure::{BlockDecoder, BlockEncoder, BlockSize};
use baton_proto::fec::interleaved::{self, Strength};
use baton_proto::fec::reed_solomon::Code;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Many and short, so that the best of them is one that nothing else has interrupted.
const ROUNDS: usize = 100;
const ROUND: Duration = Duration::from_millis(2);
const PACKET: usize = 1500;

fn main() {
    println!("{:<54} {:>12} {:>16}", "case", "MB/s", "target");
    packets();
    for parity in [16, 32, 64] {
        codewords(parity);
    }
    blocks();
}

/// The best rates of several ways to do something, in MB/s of `payload` bytes.
fn rates(payload: usize, ways: &mut [&mut dyn FnMut()]) -> Vec<f64> {
    let mut best = vec![0.0_f64; ways.len()];
    for _ in 0..ROUNDS {
        for (best, way) in best.iter_mut().zip(ways.iter_mut()) {
            let (begun, mut calls) = (Instant::now(), 0_u32);
            while begun.elapsed() < ROUND {
                (0..4).for_each(|_| way());
                calls += 4;
            }
            let rate = f64::from(calls) * payload as f64 / begun.elapsed().as_secs_f64() / 1e6;
            *best = best.max(rate);
        }
    }
    best
}

fn line(case: &str, rate: f64, target: &str) {
    println!("{case:<54} {rate:>12.1} {target:>16}");
}

fn pattern(length: usize) -> Vec<u8> {
    let value = |at| (7 * at * at + 31 * at + 5) % 251;
    (0..length).map(|at| value(at) as u8).collect()
}

/// Adds to `count` bytes that are spread over the block.
fn damage(block: &mut [u8], count: usize) {
    let length = block.len();
    for index in 0..count {
        block[index * length / count] ^= 0x5A;
    }
}

/// Packets of 1500 B, at the study's strengths.
fn packets() {
    let data = pattern(PACKET);
    for (words, target) in [(8, ""), (32, ">= 125"), (96, ""), (256, "")] {
        let strength = Strength::from_words(words).expect("at most 256");
        let mut sent = data.clone();
        interleaved::encode(&data, strength, &mut sent);
        let (mut parity, mut block) = (Vec::with_capacity(1024), sent.clone());
        let mut few = sent.clone();
        damage(&mut few, 3);
        let encode = &mut || {
            parity.clear();
            interleaved::encode(black_box(&data), strength, &mut parity);
            black_box(&parity);
        };
        let decode = &mut || {
            block.copy_from_slice(&few);
            let corrected = interleaved::decode(black_box(&mut block), strength, &[]);
            assert_eq!(corrected, Ok(3));
        };
        let rates = rates(PACKET, &mut [encode, decode]);
        line(&format!("1500 B, {words} words: encode"), rates[0], target);
        line(
            &format!("1500 B, {words} words: 3 wrong bytes"),
            rates[1],
            "",
        );
    }
}

/// Full codewords, which the other crates have too.
fn codewords(parity: usize) {
    let code = Code::with_parity(parity as u8);
    let data = pattern(255 - parity);
    let mut sent = data.clone();
    code.encode(&data, &mut sent).expect("it fits");
    let their_polynomial = fec::reed_solomon::PRIMITIVE_POLYNOMIAL_8_4_3_2_0;
    let mut fec_encoder = fec::RsEncoder::new(their_polynomial, 0, 1, parity);
    let mut fec_decoder = fec::RsDecoder::new(their_polynomial, 0, 1, parity);
    let other_encoder = reed_solomon::Encoder::new(parity);
    let other_decoder = reed_solomon::Decoder::new(parity);

    let mut out = Vec::with_capacity(255);
    let mut fec_out = [0; 255];
    let encoded = rates(
        data.len(),
        &mut [
            &mut || {
                out.clear();
                code.encode(black_box(&data), &mut out).expect("it fits");
                black_box(&out);
            },
            &mut || {
                let _ = fec_encoder.encode(black_box(&data), &mut fec_out);
                black_box(&fec_out);
            },
            &mut || {
                black_box(other_encoder.encode(black_box(&data)));
            },
        ],
    );
    let name = format!("(255,{})", data.len());
    compared(&format!("{name}: encode"), &encoded);
    for wrong in [0, 1, parity / 2] {
        let mut received = sent.clone();
        damage(&mut received, wrong);
        let mut block = received.clone();
        let mut message = vec![0; data.len()];
        let decoded = rates(
            data.len(),
            &mut [
                &mut || {
                    block.copy_from_slice(&received);
                    assert_eq!(code.decode(black_box(&mut block), &[]), Ok(wrong));
                },
                &mut || {
                    let found = fec_decoder.decode(black_box(&received), &mut message);
                    assert!(found.is_ok());
                },
                &mut || {
                    let found = other_decoder.correct(black_box(&received), None);
                    assert!(found.is_ok());
                },
            ],
        );
        compared(&format!("{name}: {wrong} wrong bytes"), &decoded);
    }
}

/// Ours, and how many times each of the others, in their turn.
fn compared(case: &str, rates: &[f64]) {
    line(case, rates[0], ">= 1 x fec");
    for (name, rate) in ["fec", "reed-solomon"].into_iter().zip(&rates[1..]) {
        let ratio = rates[0] / rate;
        println!(
            "  {:<52} {rate:>12.1} {ratio:>14.1} x",
            format!("crate {name}")
        );
    }
}

/// Ten packets and three repair packets, of which three are lost.
fn blocks() {
    let packet = pattern(1408);
    let size = BlockSize::new(10, 3).expect("possible");
    let full = || {
        let mut encoder = BlockEncoder::new(size);
        for _ in 0..10 {
            encoder.add(black_box(&packet)).expect("there is room");
        }
        encoder
    };
    let encoder = full();
    let mut received = BlockDecoder::new(size);
    for index in 3..10 {
        received.add_source(index, &packet).expect("in the block");
    }
    for index in 0..3 {
        let repair = encoder.repair(index).expect("it exists");
        received.add_repair(index, repair).expect("in the block");
    }
    let encode = &mut || {
        black_box(full());
    };
    let decode = &mut || {
        let mut block = received.clone();
        let restored = black_box(&mut block).try_restore();
        assert!(restored.is_ok_and(|packets| packets.is_some_and(|them| them.len() == 3)));
    };
    let rates = rates(14_080, &mut [encode, decode]);
    line(
        "block of 10 + 3 packets of 1408 B: encode",
        rates[0],
        ">= 100",
    );
    line(
        "block of 10 + 3 packets of 1408 B: restore 3",
        rates[1],
        ">= 100",
    );
}
