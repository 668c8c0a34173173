//! The timeline of one exchange, and throughput against the closed form of Jun, Peddabachagari and Sichitiu,
//! "Theoretical maximum throughput of IEEE 802.11 and its applications" (NCA 2003).

use super::super::config::{DcfConfig, LinkConfig, Medium};
use super::super::kinds::wifi;
use super::super::tests::{drain, packet_ids};
use super::super::{Link, Outcome};
use super::*;
use crate::packets::PacketId;
use baton_proto::rate::DataRate;

/// Returns an 802.11b link at 11 Mbit/s.
fn cell(control_bits_per_second: u64, preamble: u64) -> LinkConfig {
    let mut config = wifi::link("cell");
    config.medium = Medium::Dcf(DcfConfig {
        control_rate: DataRate::from_bits_per_second(control_bits_per_second),
        preamble: Duration::from_micros(preamble),
        retry_limit: 7,
    });
    config
}

/// Runs for `seconds` with 1500 B always waiting downward and, if `answers`, a packet of 40 B upward for every second
/// arrival. Returns the bits per second that arrive downward.
fn throughput(config: LinkConfig, answers: bool, seconds: u64) -> f64 {
    let ids: Vec<PacketId> = packet_ids(2);
    let mut link = Link::new(config, Seed(1));
    let mut delivered = 0_u64;
    let mut now = Instant::ZERO;
    while now < Instant::from_secs(seconds) {
        while let Some(fate) = link.poll(now) {
            let arrived = matches!(fate.outcome, Outcome::Delivered { .. });
            if arrived && fate.from == End::A {
                delivered += 1;
                if answers && delivered.is_multiple_of(2) {
                    link.offer(now, End::B, ids[1], 40);
                }
            }
        }
        while link.queue(End::A).0 < 5 {
            link.offer(now, End::A, ids[0], 1500);
        }
        now = link.next_deadline().expect("there is always more");
    }
    delivered as f64 * 12_000.0 / seconds as f64
}

/// Returns the paper's formula, with this module's 36 B of headers for its 34: DIFS, a mean backoff of 15.5 slots, the
/// data frame, SIFS and the acknowledgment.
fn closed_form(control_bits_per_second: f64, preamble: f64) -> f64 {
    let data = preamble + 8.0 * 1536.0 / 11.0;
    let acknowledgment = preamble + 112.0 / control_bits_per_second * 1e6;
    12_000.0 / (50.0 + 15.5 * 20.0 + data + 10.0 + acknowledgment) * 1e6
}

#[test]
fn one_way_saturation_is_the_theoretical_maximum() {
    // The paper's figure for long preamble and acknowledgments at 1 Mbit/s: 12 000 bits in
    // 0.72727 × 1500 + 890.73 µs.
    assert!((closed_form(1e6, 192.0) / (12_000.0 / 1981.64e-6) - 1.0).abs() < 1e-3);
    for (control, preamble) in [(1_000_000, 192), (2_000_000, 192), (2_000_000, 96)] {
        let expected = closed_form(control as f64, preamble as f64);
        let found = throughput(cell(control, preamble), false, 60);
        println!("one way, control {control}, preamble {preamble} µs: {found} of {expected}");
        // 30 000 backoffs of standard deviation 185 µs in exchanges of 1.9 ms: standard error 0.06 %.
        assert!(
            (found / expected - 1.0).abs() < 0.002,
            "{found} of {expected}"
        );
    }
}

#[test]
fn a_transfer_with_acknowledgments_gets_about_5_4_megabits() {
    for (control, preamble, low, high) in [
        (1_000_000, 192, 4.9e6, 5.5e6),
        (2_000_000, 192, 5.1e6, 5.7e6),
        (2_000_000, 96, 5.5e6, 6.5e6),
    ] {
        let found = throughput(cell(control, preamble), true, 60);
        println!("with answers, control {control}, preamble {preamble} µs: {found}");
        assert!((low..high).contains(&found), "{found}");
    }
}

#[test]
fn an_idle_medium_is_taken_at_once_and_backoff_follows() {
    let ids = packet_ids(2);
    let mut link = Link::new(cell(2_000_000, 192), Seed(1));
    let offered = Instant::from_millis(1);
    link.offer(offered, End::A, ids[0], 1500);
    link.offer(offered, End::A, ids[1], 1500);
    let story = drain(&mut link, &ids, Instant::from_secs(1));
    // 192 µs + 1536 B at 11 Mbit/s = 1309.09 µs, 1 µs on the way.
    assert_eq!(story[0], (2310, 0, "delivered".into()));
    // SIFS 10, acknowledgment 248, DIFS 50, then whole slots, then the next frame.
    let slots = (story[1].0 - 2310 - 308 - 1309) as f64 / 20.0;
    assert!(
        (0.0..=31.0).contains(&slots) && slots.fract() < 0.06,
        "{slots}"
    );
}

#[test]
fn stations_that_meet_repeat_and_both_arrive() {
    // Both arrive while the medium is busy with a third frame; with many seeds some draw equal backoffs.
    let ids = packet_ids(3);
    let mut collisions = 0;
    for seed in 0..2_000 {
        let mut link = Link::new(cell(2_000_000, 192), Seed(seed));
        link.offer(Instant::ZERO, End::A, ids[0], 1500);
        link.offer(Instant::from_nanos(100_000), End::A, ids[1], 1500);
        link.offer(Instant::from_nanos(100_000), End::B, ids[2], 1500);
        let story = drain(&mut link, &ids, Instant::from_secs(1));
        assert!(story.iter().all(|(_, _, what)| what == "delivered"));
        // Without a collision the second frame arrives after at most 31 slots.
        collisions += u32::from(story[1].0 > 1310 + 308 + 31 * 20 + 1311);
    }
    // Two draws from 32 are equal once in 32: 62.5 of 2000, standard deviation 7.8.
    assert!((31..94).contains(&collisions), "{collisions}");
}

#[test]
fn a_damaged_frame_is_repeated_up_to_the_limit() {
    let ids = packet_ids(1);
    let mut config = cell(2_000_000, 192);
    config.down.channel.packet_error_rate = 1.0;
    let mut link = Link::new(config, Seed(1));
    link.offer(Instant::ZERO, End::A, ids[0], 1500);
    let story = drain(&mut link, &ids, Instant::from_secs(1));
    assert_eq!(story.len(), 1);
    assert_eq!(story[0].2, "RetryLimit");
    // Seven frames, and six times EIFS (364 µs) and backoffs below 64, 128, … 1024, 1024 slots.
    let frames = 7 * 1309 + 6 * 364;
    assert!(
        story[0].0 > frames && story[0].0 < frames + 3008 * 20,
        "{story:?}"
    );
}

#[test]
fn at_a_loss_of_one_frame_in_ten_nearly_all_packets_arrive() {
    let mut config = cell(2_000_000, 192);
    config.down.channel.packet_error_rate = 0.1;
    let found = throughput(config, false, 60);
    let clean = closed_form(2e6, 192.0);
    // One exchange in ten is retransmitted; each costs at least its airtime.
    assert!((0.80 * clean..0.92 * clean).contains(&found), "{found}");
}
