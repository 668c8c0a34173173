//! Error control: the code first, then retransmission; the check of TPDUs in parts.

use super::pair::{DELAY, address, is_data};
use super::*;
use proptest::prelude::*;

/// Bytes of a TPDU with one chunk, which leaves room for a repair symbol's two bytes of length, its check, and a header
/// longer by two.
const CODED: u64 = 1437 - 12;

fn coded(mode: Mode, megabits: u64) -> Configuration {
    Configuration {
        mode,
        rate: DataRate::from_bits_per_second(1_000_000 * megabits),
        block: BlockSize::new(8, 2).ok(),
        ..configuration()
    }
}

/// A small generator (Knuth's constants for 64 bits), of which the high bits are used.
fn random(state: &mut u64) -> f64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*state >> 11) as f64 / (1_u64 << 53) as f64
}

/// "error control: hybrid": two losses in a block of 8 + 2 are restored without retransmission. Of three one is sent
/// again, and with it the code restores the other, which is on its way again, too.
#[test]
fn the_code_comes_first_and_then_the_timer() {
    for (lost, restored, again) in [(&[1, 6][..], 2, 0), (&[1, 6, 9][..], 1, 2)] {
        let mut pair = Pair::losing(coded(Mode::Reliable, 100), lost);
        pair.write(8 * CODED as u32, false);
        pair.a.close();
        pair.run_until(at(5000));
        assert_eq!(pair.assert_read(), 8 * CODED);
        assert_eq!(
            pair.b.as_ref().map(|b| b.statistics().restored),
            Some(restored)
        );
        assert_eq!(pair.a.statistics().retransmitted, again);
    }
}

/// "reliability modes: quasi-reliable": gaps are given up after the wait, counted, and make no packet.
#[test]
fn without_retransmission_gaps_are_counted() {
    let mut pair = Pair::losing(coded(Mode::QuasiReliable, 100), &[1, 6, 9]);
    pair.write(8 * CODED as u32, false);
    pair.a.close();
    pair.run_until(at(5000));
    assert_eq!(pair.assert_read(), 6 * CODED);
    assert_eq!(
        pair.b.as_ref().map(|b| b.statistics().skipped),
        Some(2 * CODED)
    );
    assert!(pair.saw(End::B, Event::Skipped) && pair.saw(End::B, Event::Finished));
    assert!(
        pair.log.iter().all(|(_, end, _)| *end == End::A),
        "no acknowledgments"
    );
    // Eight TPDUs, and the last one twice more, 50 ms apart.
    assert_eq!(pair.times(End::A, is_data).len(), 10);
}

/// The share of data lost behind a code of 8 + 2 at independent losses of p = 0.1 is the sum over j > 2 of
/// C(10, j) p^j (1 - p)^(10 - j) j / 10 = 2.25 %; three standard deviations for 2000 blocks are 0.6 %.
#[test]
fn the_code_leaves_what_the_binomial_formula_says() {
    let mut state = 1;
    let quick = Configuration {
        reordering_wait: Duration::from_millis(10),
        ..coded(Mode::QuasiReliable, 1000)
    };
    let mut pair = Pair::new(quick, move |_, _, _| match random(&mut state) < 0.1 {
        true => Vec::new(),
        false => vec![DELAY],
    });
    for _ in 0..20 {
        pair.write(100 * 8 * CODED as u32, false);
        pair.run_until(pair.now + Duration::from_secs(10));
        pair.read.clear();
        pair.log.clear();
    }
    let skipped = pair.b.as_ref().map_or(0, |b| b.statistics().skipped);
    let share = skipped as f64 / pair.written as f64;
    assert!((share - 0.0225).abs() < 0.006, "{share}");
}

/// A block that does not fill is closed after half of the wait.
#[test]
fn a_lone_tpdu_is_followed_by_its_repairs() {
    let mut pair = Pair::losing(coded(Mode::QuasiReliable, 100), &[0, 1]);
    pair.write(100, false);
    pair.run_until(at(1000));
    let repairs = pair.times(End::A, |content| matches!(content, Content::Repair(_)));
    assert_eq!(repairs[0], at(50));
    assert_eq!(pair.assert_read(), 100, "by the second symbol");
}

/// A TPDU of 1437 bytes that has become too long for the path goes in chunks of 537, 537 and 363 bytes, which may arrive
/// in any order.
#[test]
fn a_smaller_mtu_cuts_chunks() {
    let mut pair = Pair::new(configuration(), |end, number, _| match (end, number) {
        (End::A, 0) => Vec::new(),
        (End::A, _) => vec![Duration::from_millis(500 - 100 * number as u64)],
        _ => vec![DELAY],
    });
    pair.write(1437, false);
    pair.run_until(at(500));
    pair.a.set_mtu((address(1), address(2)), 600);
    pair.run_until(at(3000));
    let lengths: Vec<u32> = pair
        .log
        .iter()
        .map(|(_, _, sent)| sent.packet.payload_length())
        .collect();
    assert_eq!(lengths[..4], [1437, 537, 537, 363]);
    assert_eq!(pair.assert_read(), 1437);
    // The last part arrives first, and all are read with the first one: the check is of the whole.
    let read: Vec<_> = pair
        .read
        .iter()
        .map(|(now, chunk)| (*now, chunk.position))
        .collect();
    let sent = pair.log[1].0;
    let arrived = sent + Duration::from_millis(400);
    assert_eq!(read, [0, 537, 1074].map(|position| (arrived, position)));
}

proptest! {
    /// A packet with up to two wrong words delivers nothing wrong: labels and data are covered alike.
    #[test]
    fn damage_is_detected(flips in prop::collection::vec(0usize..(1480 * 8), 1..=2), cut in any::<bool>()) {
        let mut pair = Pair::losing(configuration(), &[0]);
        pair.write(1400, true);
        pair.run_until(at(0));
        if cut {
            pair.a.set_mtu((address(1), address(2)), 600);
        }
        let mut damage = Some(flips);
        pair.run_until(at(10));
        let sent = pair.log[0].2.packet.clone();
        let parts = match sent.content {
            Content::Data(tpdu) if cut => tpdu.into_parts(558),
            Content::Data(tpdu) => vec![tpdu],
            _ => Vec::new(),
        };
        let own = sent.label.reversed();
        let mut b = Connection::accept(configuration(), own, (address(2), address(1)), 1500);
        let mut is_same = true;
        for part in parts {
            let packet = TpPlusPlusPacket { label: sent.label, content: Content::Data(part) };
            let mut bytes = Vec::new();
            packet.encode(&mut bytes);
            let whole = bytes.clone();
            for flip in damage.take().unwrap_or_default() {
                let flip = flip % (8 * bytes.len());
                bytes[flip / 8] ^= 0x80 >> (flip % 8);
            }
            // The place in a block is not covered: a restored TPDU has its own check.
            is_same &= whole[..21] == bytes[..21] && whole[22..] == bytes[22..];
            if let Ok(read) = TpPlusPlusPacket::decode(&bytes) {
                b.handle_packet(at(60), (address(1), address(2)), read);
            }
        }
        prop_assert_eq!(b.read().is_some(), is_same);
    }

    /// Whatever a path does, all bytes arrive once; without retransmission those missing are counted.
    #[test]
    fn any_path_delivers_once(
        seed in any::<u64>(),
        mode in prop_oneof![Just(Mode::Reliable), Just(Mode::QuasiReliable)],
        has_code in any::<bool>(),
        loss in 0.0..0.4,
        duplication in 0.0..0.3,
        jitter in 0u64..400,
        records in prop::collection::vec(1u32..4000, 1..60),
    ) {
        let mut settings = coded(mode, 1);
        settings.block = settings.block.filter(|_| has_code);
        let mut state = seed;
        let mut pair = Pair::new(settings, move |_, _, _| {
            let copies = match (random(&mut state) < loss, random(&mut state) < duplication) {
                (true, _) => 0,
                (false, again) => 1 + u32::from(again),
            };
            let delays = (0..copies).map(|_| {
                DELAY + Duration::from_millis((random(&mut state) * jitter as f64) as u64)
            });
            delays.collect()
        });
        for record in records {
            pair.write(record, seed % 2 == 0);
        }
        pair.a.close();
        pair.run_until(at(250_000));
        let read = pair.assert_read();
        let skipped = pair.b.as_ref().map_or(0, |b| b.statistics().skipped);
        match mode {
            Mode::Reliable => {
                prop_assert_eq!(read, pair.written);
                prop_assert!(pair.saw(End::A, Event::Closed) && pair.saw(End::B, Event::Finished));
            }
            Mode::QuasiReliable if pair.saw(End::B, Event::Finished) => {
                prop_assert_eq!(read + skipped, pair.written);
            }
            Mode::QuasiReliable => prop_assert!(read <= pair.written),
        }
    }
}
