//! Many aircraft in a cell.

use super::super::station::Station;
use super::*;

/// Returns the bytes that each aircraft has received by `end`, header counted, if each has 100 kB to receive.
fn bytes_by(lab: &mut Lab, aircraft: u32, priority: impl Fn(u32) -> u8, end: Instant) -> Vec<u32> {
    for station in 0..aircraft {
        for _ in 0..100 {
            lab.offer_with(ms(1.0), station, HOME, 993, (priority(station), true));
        }
    }
    lab.run_until(end);
    let mut bytes = vec![0; aircraft as usize];
    for fate in lab.fates() {
        bytes[fate.station.0 as usize] += 1000;
    }
    bytes
}

#[test]
fn aircraft_of_one_priority_share_equally() {
    // 10 s carry 167 multiframes of 24 frames of 91 B: 364 kB, of which twelve aircraft get 30.4 kB each. Whole packets
    // of 1000 B are counted.
    let mut lab = Lab::one_cell(12, |_| {});
    let bytes = bytes_by(&mut lab, 12, |_| 0, ms(10_000.0));
    assert!(
        bytes.iter().all(|bytes| bytes.abs_diff(30_400) <= 1200),
        "{bytes:?}"
    );
}

#[test]
fn a_higher_priority_takes_all_it_needs() {
    // Three aircraft with 100 kB each of priority 5 need 8.24 s; the others begin only then.
    let mut lab = Lab::one_cell(6, |_| {});
    let priority = |station| if station < 3 { 5 } else { 1 };
    let bytes = bytes_by(&mut lab, 6, priority, ms(8_000.0));
    assert!(bytes[..3].iter().all(|&bytes| bytes > 90_000), "{bytes:?}");
    assert_eq!(bytes[3..], [0, 0, 0]);
    lab.run_until(ms(17_000.0));
    assert_eq!(lab.fates().count(), 600);
    let urgent = lab
        .fates()
        .filter(|fate| fate.station.0 < 3)
        .map(|fate| fate.at)
        .max();
    let others = lab
        .fates()
        .filter(|fate| fate.station.0 >= 3)
        .map(|fate| fate.at)
        .min();
    assert!(urgent < others);
}

#[test]
fn the_common_control_channel_s_eight_frames_bound_how_many_are_served() {
    // Each needs 7 B of the map: (728 - 7) / 7 = 103 of 150 aircraft in the first, the others in the second.
    let mut lab = Lab::one_cell(150, |_| {});
    for station in 0..150 {
        lab.offer(ms(1.0), station, HOME, 8);
    }
    lab.run_until(ms(500.0));
    let first = lab
        .fates()
        .filter(|fate| fate.at < ms(32.64 + 58.32))
        .count();
    assert_eq!((first, lab.fates().count()), (103, 150));
}

#[test]
fn a_better_signal_carries_more() {
    let config = |adaptive: bool| {
        let mut lab = Lab::one_cell(1, |config| {
            config.errors = ErrorRates::BySignal;
            config.modulation = (!adaptive).then_some(modulation::Modulation::QpskHalf);
        });
        bytes_by(&mut lab, 1, |_| 0, ms(1_200.0))[0]
    };
    // At 100 km: -88.9 dBm, an SNR of 16.1 dB with the margin taken off; 16QAM 1/2 is fastest and carries twice as much.
    let (robust, adapted) = (config(false), config(true));
    assert!(
        (f64::from(adapted) / f64::from(robust) - 2.0).abs() < 0.1,
        "{robust} {adapted}"
    );
}

#[test]
fn every_packet_ends_once_whatever_happens() {
    for seed in 0..6 {
        let lab = turmoil(seed);
        let mut ended: Vec<u32> = lab.fates().map(|fate| fate.packet.0).collect();
        ended.sort_unstable();
        assert!(ended.into_iter().eq(0..lab.offered), "each packet once");
        assert!(
            lab.outputs
                .windows(2)
                .all(|pair| at(&pair[0]) <= at(&pair[1])),
            "in order of time"
        );
        assert!(lab.fates().any(delivered));
        let mut queues = lab.network.stations.iter().flat_map(|station: &Station| {
            [Direction::Forward, Direction::Return].map(|direction| station.queue(direction))
        });
        assert!(queues.all(|queue| queue.is_empty()));
    }
}

#[test]
fn a_seed_gives_the_same_outputs() {
    assert_eq!(turmoil(3).outputs, turmoil(3).outputs);
    assert_ne!(turmoil(3).outputs, turmoil(4).outputs);
}

fn at(output: &Output) -> Instant {
    match output {
        Output::Fate(fate) => fate.at,
        Output::Event(event) => event.at,
        Output::Message(message) => message.at,
    }
}

/// Runs aircraft that fly over the border of two cells at the same time, with traffic of all kinds both ways.
fn turmoil(seed: u64) -> Lab {
    let mut draws = Seed(seed).stream("turmoil");
    let mut lab = Lab::two_cells(6.0, |config| {
        config.errors = ErrorRates::AtTarget;
        config.packet_bit = seed.is_multiple_of(2);
        config.joint_coding = seed.is_multiple_of(3);
        config.forwards_queue = seed % 3 == 1;
        config.modulation = (seed % 2 == 1).then_some(modulation::Modulation::QpskHalf);
        if seed % 4 == 3 {
            config.handover = HandoverType::Two;
        }
        if seed % 5 == 4 {
            config.user_rate = Some(baton_proto::rate::DataRate::from_bits_per_second(31_500));
        }
    });
    let track = Arc::new(lab.network.stations[0].track().clone());
    for _ in 1..70 {
        lab.network
            .add_station(Instant::ZERO, track.clone(), Some(CellId(0)));
    }
    lab.network.add_station(Instant::ZERO, track, None);
    let mut now = 0.0;
    for _ in 0..3000 {
        now += draws.uniform() * 10.0;
        let station = draws.below(71) as u32;
        let way = match draws.below(3) {
            0 => Way::Return,
            cell => Way::Forward(CellId(cell as u16 - 1)),
        };
        let kind = (draws.below(9) as u8, draws.below(4) > 0);
        lab.offer_with(ms(now), station, way, 20 + draws.below(1200) as u32, kind);
    }
    lab.run_until(ms(now + 300_000.0));
    lab
}

#[test]
fn idle_aircraft_are_small_and_cost_nothing() {
    assert!(
        core::mem::size_of::<Station>() <= 256,
        "{}",
        core::mem::size_of::<Station>()
    );
    let mut lab = Lab::one_cell(1000, |_| {});
    // One measurement each at the beginning, and none later: they stand still.
    lab.run_until(ms(1.0));
    assert_eq!(lab.network.next_deadline(), None);
    // An aircraft that flies towards the edge of its cell 69 km away is not measured before it can be there.
    let mut lab = Lab::two_cells(400.0, |_| {});
    lab.run_until(ms(0.0));
    // 175 km less 400 s at 800 km/h: 86.1 km from its base station, Th1 is received at 168.75 km.
    let next = lab.network.next_deadline().expect("it moves").as_secs_f64();
    assert!((360.0..=372.0).contains(&next), "{next}");
}
