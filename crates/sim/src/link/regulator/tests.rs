//! Token buckets against their closed forms.

use super::super::queue::Class;
use super::super::tests::packet_ids;
use super::*;
use crate::rng::Seed;

const MEGABIT: DataRate = DataRate::from_bits_per_second(1_000_000);
const FLOW: FlowId = FlowId(0);
const OTHER: FlowId = FlowId(1);

fn config(excess: Excess) -> RegulatorConfig {
    RegulatorConfig {
        from: End::A,
        flows: vec![FLOW, OTHER],
        per_flow: false,
        rate: MEGABIT,
        burst: 3000,
        excess,
        reports: false,
        opening: None,
    }
}

fn entrance(config: RegulatorConfig) -> Entrance {
    *Entrance::new(&[config]).unwrap()
}

fn shaper() -> Entrance {
    entrance(config(Excess::Waits(QueueLimit::Packets(1000))))
}

/// A queue for handovers: closed it lets everything pass, open it holds back what exceeds its rate, and what waits when it
/// is closed passes at once, in order.
#[test]
fn a_closed_queue_lets_everything_pass() {
    let mut own = entrance(RegulatorConfig {
        burst: 1000,
        opening: Some(Opening {
            closes_after: Duration::ZERO,
            follows_window: false,
        }),
        ..config(Excess::Waits(QueueLimit::Packets(8)))
    });
    let ids = packet_ids(9);
    for &id in &ids[..4] {
        let admission = own.offer(Instant::ZERO, End::A, Some(FLOW), of(id, 1000));
        assert_eq!(admission, Admission::Passes);
    }
    own.set_open(Instant::ZERO, 0, Some(MEGABIT));
    let admissions: Vec<Admission> = ids[4..8]
        .iter()
        .map(|&id| own.offer(Instant::ZERO, End::A, Some(FLOW), of(id, 1000)))
        .collect();
    assert_eq!(admissions[0], Admission::Passes);
    assert!(admissions[1..].iter().all(|one| *one == Admission::Waits));
    // 1000 B at 1 Mbit/s; after 4 ms the rate is doubled, and the other half takes 2 ms.
    assert_eq!(own.next_release(), at_us(8000));
    own.set_open(
        at_us(4000),
        0,
        Some(DataRate::from_bits_per_second(2_000_000)),
    );
    assert_eq!(own.next_release(), at_us(6000));
    assert!(own.release(at_us(6000)).is_some());
    own.set_open(at_us(7000), 0, None);
    for id in [ids[6], ids[7]] {
        let (_, released) = own.release(at_us(7001)).expect("it passes");
        assert_eq!(released.packet, id);
    }
    let admission = own.offer(at_us(7001), End::A, Some(FLOW), of(ids[8], 1000));
    assert_eq!(admission, Admission::Passes);
}

/// A queue of eight packets: reports when it begins to fill, when it is more than half full, at most half full again, and
/// empty; in between none.
#[test]
fn a_queue_reports_its_levels() {
    let mut own = entrance(RegulatorConfig {
        reports: true,
        burst: 1000,
        ..config(Excess::Waits(QueueLimit::Packets(8)))
    });
    let mut told = Vec::new();
    for &id in &packet_ids(10) {
        own.offer(Instant::ZERO, End::A, Some(OTHER), of(id, 1000));
        while let Some(report) = own.poll_report() {
            assert_eq!(
                (report.from, report.number, &report.flows[..]),
                (End::A, 1, &[FLOW, OTHER][..])
            );
            assert_eq!(report.limit, QueueLimit::Packets(8));
            told.push(report.packets);
        }
    }
    while own.next_release() != Instant::NEVER {
        own.release(own.next_release());
        told.extend(own.poll_report().map(|report| report.packets));
    }
    assert_eq!(told, [1, 5, 4, 0]);
    // At once: a report has the latest state, and none if the queue is as it was.
    for &id in &packet_ids(6) {
        own.offer(at_us(100_000), End::A, Some(FLOW), of(id, 1000));
    }
    assert_eq!(own.poll_report().map(|report| report.packets), Some(5));
    assert_eq!(own.poll_report(), None);
    assert_eq!(own.take_waiting(End::A).len(), 5);
    assert_eq!(own.poll_report().map(|report| report.packets), Some(0));
}

fn of(packet: PacketId, length: u32) -> Offered {
    Offered {
        packet,
        length,
        class: Class::default(),
    }
}

fn at_us(microseconds: u64) -> Instant {
    Instant::from_nanos(microseconds * 1000)
}

/// Returns the time at which each packet passes, in µs, of packets of one length that are all offered at once.
fn passes_at(entrance: &mut Entrance, count: usize, length: u32) -> Vec<u64> {
    let mut times = Vec::new();
    for &id in &packet_ids(count) {
        let admission = entrance.offer(Instant::ZERO, End::A, Some(FLOW), of(id, length));
        times.extend((admission == Admission::Passes).then_some(0));
    }
    while entrance.next_release() != Instant::NEVER {
        let at = entrance.next_release();
        assert!(entrance.release(at).is_some(), "its time had come");
        times.push(at.as_nanos() / 1000);
    }
    times
}

#[test]
fn a_burst_passes_at_once_and_the_rest_at_the_rate() {
    // 1000 B at 1 Mbit/s are 8 ms.
    let times = passes_at(&mut shaper(), 6, 1000);
    assert_eq!(times, [0, 0, 0, 8_000, 16_000, 24_000]);
    let mut policer = entrance(config(Excess::Dropped));
    assert_eq!(passes_at(&mut policer, 6, 1000), [0, 0, 0]);
}

#[test]
fn credit_grows_while_nothing_is_sent_and_not_beyond_the_burst() {
    let mut policer = entrance(config(Excess::Dropped));
    let ids = packet_ids(20);
    let mut passed = |microseconds, length| {
        let offer = of(ids[0], length);
        let admission = policer.offer(at_us(microseconds), End::A, Some(FLOW), offer);
        admission == Admission::Passes
    };
    assert!(passed(0, 3000));
    assert!(!passed(7_999, 1000), "a bit is missing");
    assert!(passed(8_000, 1000));
    // A minute later there are 3000 B and no more.
    assert!(passed(60_000_000, 2999));
    assert!(!passed(60_000_000, 2));
    assert!(passed(60_000_000, 1));
}

/// Checks the definition (RFC 2698; Cruz 1991): in no interval passes more than b + r·t.
#[test]
fn no_interval_sees_more_than_burst_and_rate_allow() {
    for excess in [Excess::Dropped, Excess::Waits(QueueLimit::Packets(40))] {
        for seed in 0..20 {
            let mut draws = Seed(seed).stream("arrivals");
            let mut entrance = entrance(config(excess));
            let ids = packet_ids(400);
            let mut lengths = std::collections::BTreeMap::new();
            let (mut now, mut passed) = (0, Vec::new());
            for &id in &ids {
                // 1.6 Mbit/s on average, in clusters.
                now += draws.below(2) * draws.below(15_000_000);
                let length = 40 + draws.below(1461) as u32;
                lengths.insert(id, length);
                let now = Instant::from_nanos(now);
                while entrance.next_release() <= now {
                    let at = entrance.next_release();
                    let (_, released) = entrance.release(at).unwrap();
                    passed.push((at.as_nanos(), released.packet, released.length));
                }
                if entrance.offer(now, End::A, Some(FLOW), of(id, length)) == Admission::Passes {
                    passed.push((now.as_nanos(), id, length));
                }
            }
            assert!(passed.len() > 150 && passed.len() < 400);
            assert!(passed.iter().all(|(_, id, length)| lengths[id] == *length));
            assert!(passed.is_sorted_by_key(|&(_, id, _)| id), "in order");
            for (place, &(start, ..)) in passed.iter().enumerate() {
                let mut sent = 0;
                for &(end, _, length) in &passed[place..] {
                    sent += u128::from(length) * 8;
                    let allowed = 3000 * 8 * SECOND + u128::from(end - start) * 1_000_000;
                    assert!(sent * SECOND <= allowed, "{excess:?} {seed}");
                }
            }
        }
    }
}

#[test]
fn a_shaper_that_is_never_idle_lets_exactly_its_rate_pass() {
    // 1_000_003 bit/s divide no packet's bits: the rounding of one release does not add up.
    let mut config = config(Excess::Waits(QueueLimit::Packets(100_000)));
    config.rate = DataRate::from_bits_per_second(1_000_003);
    let times = passes_at(&mut entrance(config), 10_003, 1500);
    // The first two are the burst, 10 001 more take 12 000 bits each.
    let exact = 10_001.0 * 12_000.0 / 1_000_003.0 * 1e6;
    let last = *times.last().unwrap() as f64;
    assert!((last - exact).abs() <= 1.0, "{last} {exact}");
}

#[test]
fn flows_share_a_bucket_or_have_one_each() {
    for (per_flow, passed) in [(false, 3), (true, 6)] {
        let mut config = config(Excess::Dropped);
        config.per_flow = per_flow;
        let mut policer = entrance(config);
        let ids = packet_ids(8);
        let offers = ids.iter().zip([FLOW, OTHER].into_iter().cycle());
        let admitted = offers.filter(|&(&id, flow)| {
            policer.offer(Instant::ZERO, End::A, Some(flow), of(id, 1000)) == Admission::Passes
        });
        assert_eq!(admitted.count(), passed);
        // The bucket limits neither another flow, nor the other direction, nor packets without a flow.
        for (from, flow) in [
            (End::A, Some(FlowId(7))),
            (End::B, Some(FLOW)),
            (End::A, None),
        ] {
            let admission = policer.offer(Instant::ZERO, from, flow, of(ids[0], 9000));
            assert_eq!(admission, Admission::Passes);
        }
    }
}

#[test]
fn a_shaper_s_queue_has_an_end_and_what_is_too_long_never_waits() {
    let mut shaper = entrance(config(Excess::Waits(QueueLimit::Packets(2))));
    let ids = packet_ids(7);
    let mut offer = |place: usize, length| {
        shaper.offer(Instant::ZERO, End::A, Some(FLOW), of(ids[place], length))
    };
    let all: Vec<Admission> = (0..6).map(|place| offer(place, 1000)).collect();
    let full = Admission::Refused(DropReason::QueueFull);
    let (passes, waits) = (Admission::Passes, Admission::Waits);
    assert_eq!(all[..3], [passes, Admission::Passes, Admission::Passes]);
    assert_eq!(all[3..], [waits, Admission::Waits, full]);
    assert_eq!(offer(6, 3001), Admission::Refused(DropReason::Policer));
    assert_eq!(shaper.waiting(End::A), (2, 2000));
    assert_eq!(shaper.take_waiting(End::A), ids[3..5]);
    assert_eq!(shaper.waiting(End::A), (0, 0));
    assert_eq!(shaper.next_release(), Instant::NEVER);
}
