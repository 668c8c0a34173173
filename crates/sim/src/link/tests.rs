//! Timelines of whole links.

mod priority;
mod waiting;

use super::config::*;
use super::queue::codel::CoDel;
use super::queue::priority::Priority;
use super::queue::red::Red;
use super::*;
use crate::packets::Packets;
use crate::rng::Stream;
use crate::scenario::units::PositiveTime;
use baton_proto::packet::{BitErrors, Body, Identity, IpHeader, Packet};
use baton_proto::rate::DataRate;
use baton_proto::time::Duration;
use core::net::{IpAddr, Ipv4Addr};

/// Returns packet ids for tests: links use nothing else of a packet.
pub(super) fn packet_ids(count: usize) -> Vec<PacketId> {
    let address = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
    let packet = Packet {
        ip: IpHeader {
            source: address,
            destination: address,
            hop_limit: 64,
            traffic_class: 0,
            identification: 0,
            dont_fragment: true,
        },
        body: Body::Opaque {
            fragment: 0,
            protocol: 253,
            bytes: Box::default(),
        },
        flow: None,
        retransmission: false,
        bit_errors: BitErrors::NONE,
        identity: Identity::NONE,
    };
    let mut slab = Packets::default();
    (0..count).map(|_| slab.insert(packet.clone())).collect()
}

/// Returns a link of 1 Mbit/s and 10 ms both ways: 1000 B take 8 ms.
pub(super) fn plain() -> LinkConfig {
    let rate = DataRate::from_bits_per_second(1_000_000);
    let direction = kinds::plain(rate, Duration::from_millis(10), QueueLimit::Packets(2));
    kinds::symmetric("test", Medium::FullDuplex, direction)
}

/// Polls at each deadline until `limit`; returns (time in µs, number of the packet, fate).
pub(super) fn drain(
    link: &mut Link,
    ids: &[PacketId],
    limit: Instant,
) -> Vec<(u64, usize, String)> {
    let mut story = Vec::new();
    let mut now = Instant::ZERO;
    loop {
        while let Some(fate) = link.poll(now) {
            assert!(fate.at <= now, "a fate from the future");
            let number = ids.iter().position(|&id| id == fate.packet);
            story.push((
                fate.at.as_nanos() / 1000,
                number.expect("a packet that was offered"),
                match fate.outcome {
                    Outcome::Delivered { .. } => "delivered".into(),
                    Outcome::Dropped(reason) => format!("{reason:?}"),
                },
            ));
        }
        match link.next_deadline() {
            Some(next) if next <= limit => {
                assert!(next > now || next == Instant::ZERO, "no progress at {now}");
                now = next;
            }
            _ => return story,
        }
    }
}

/// Labels flow 0 with precedence 0, flow 1 with precedence 1, and so on.
fn label(flow: u32) -> Label {
    Label {
        flow: Some(FlowId(flow)),
        class: Class {
            precedence: flow as u8,
            flow_hash: flow,
        },
        translated: None,
    }
}

fn at_ms(milliseconds: u64) -> Instant {
    Instant::from_millis(milliseconds)
}

fn delivered(story: &[(u64, usize, String)]) -> Vec<(u64, usize)> {
    assert!(
        story.iter().all(|(_, _, what)| what == "delivered"),
        "{story:?}"
    );
    story
        .iter()
        .map(|&(time, packet, _)| (time, packet))
        .collect()
}

/// Returns a link that holds packets 0, 1 and 2 of 1000 B, all offered at zero.
fn loaded(config: LinkConfig) -> (Link, Vec<PacketId>) {
    let ids = packet_ids(5);
    let mut link = Link::new(config, Seed(1));
    for &id in &ids[..3] {
        link.offer(Instant::ZERO, End::A, id, 1000);
    }
    (link, ids)
}

const END: Instant = Instant::from_secs(1000);

#[test]
fn packets_are_serialised_one_after_another_and_the_queue_has_an_end() {
    let (mut link, ids) = loaded(plain());
    link.offer(Instant::ZERO, End::A, ids[3], 1000);
    assert_eq!(link.queue(End::A), (2, 2000));
    assert_eq!(
        drain(&mut link, &ids, END),
        [
            (0, 3, "QueueFull".into()),
            (18_000, 0, "delivered".into()),
            (26_000, 1, "delivered".into()),
            (34_000, 2, "delivered".into()),
        ]
    );
    assert!(link.is_empty(End::A));
}

#[test]
fn a_queue_may_be_limited_in_bytes() {
    let mut config = plain();
    config.down.queue.limit = QueueLimit::Bytes(1500);
    let ids = packet_ids(4);
    let mut link = Link::new(config, Seed(1));
    for (&id, length) in ids.iter().zip([9000, 1000, 501, 500]) {
        link.offer(Instant::ZERO, End::A, id, length);
    }
    assert_eq!(link.queue(End::A), (2, 1500));
    assert_eq!(drain(&mut link, &ids, END)[0], (0, 2, "QueueFull".into()));
}

#[test]
fn directions_do_not_meet_without_medium_access_and_down_comes_first() {
    let ids = packet_ids(2);
    let mut link = Link::new(plain(), Seed(1));
    link.offer(Instant::ZERO, End::B, ids[1], 1000);
    link.offer(Instant::ZERO, End::A, ids[0], 1000);
    let story = drain(&mut link, &ids, END);
    assert_eq!(delivered(&story), [(18_000, 0), (18_000, 1)]);
}

#[test]
fn one_hop_costs_one_event() {
    let (mut link, _) = loaded(plain());
    let mut events = 0;
    while let Some(next) = link.next_deadline() {
        assert!(link.poll(next).is_some_and(|fate| fate.at == next));
        events += 1;
    }
    assert_eq!(events, 3);
}

#[test]
fn a_ping_over_gsm_takes_about_700_ms() {
    // Study T. 92 B with PPP's framing, 10 bits each, at 9600 bit/s: 95.83 ms, and 250 ms each way.
    let ids = packet_ids(1);
    let mut link = Link::new(kinds::gsm::link("gsm"), Seed(1));
    link.offer(Instant::ZERO, End::A, ids[0], 84);
    let there = drain(&mut link, &ids, END)[0].0;
    assert_eq!(there, 345_833);
    assert!((2 * there).abs_diff(700_000) < 20_000);
}

#[test]
fn jitter_spreads_but_never_reorders() {
    let mut config = plain();
    config.down.jitter = Duration::from_millis(20);
    config.down.queue.limit = QueueLimit::Packets(2000);
    let ids = packet_ids(1000);
    let mut link = Link::new(config, Seed(1));
    for &id in &ids {
        link.offer(Instant::ZERO, End::A, id, 1000);
    }
    let story = delivered(&drain(&mut link, &ids, END));
    assert!(story.iter().map(|&(_, packet)| packet).eq(0..1000));
    assert!(story.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    // Packet n leaves after 8 (n + 1) ms.
    let extra: Vec<u64> = (story.iter().zip(1..))
        .map(|(&(time, _), sent)| time - (sent * 8000 + 10_000))
        .collect();
    assert!(extra.iter().all(|&extra| extra < 20_000));
    assert!(extra.iter().any(|&extra| extra > 15_000) && extra.iter().any(|&extra| extra < 5_000));
}

#[test]
fn a_new_rate_meets_what_has_not_begun() {
    let (mut link, ids) = loaded(plain());
    let mut faster = plain();
    faster.down.rate = DataRate::from_bits_per_second(2_000_000);
    faster.down.delay = Duration::from_millis(1);
    // Packet 0 keeps its end at 8 ms, with the delay in force then; the next take 4 ms each.
    link.reconfigure(at_ms(3), faster);
    assert_eq!(
        delivered(&drain(&mut link, &ids, END)),
        [(9_000, 0), (13_000, 1), (17_000, 2)]
    );
}

#[test]
fn a_recording_that_comes_in_the_middle_meets_what_has_not_begun() {
    let (mut link, ids) = loaded(plain());
    let opportunities = trace::mahimahi::parse("x", "4\n9\n10", trace::AtEnd::Repeat).unwrap();
    let mut recorded = plain();
    recorded.down.trace = Some(std::sync::Arc::new(trace::Trace {
        capacity: Some(trace::Capacity::Opportunities(opportunities)),
        delay: None,
        loss: None,
    }));
    link.reconfigure(at_ms(3), recorded.clone());
    // Packet 0 ends at 8 ms. The same recording again changes nothing: 500 B are left of 9 ms.
    recorded.down.delay = Duration::from_millis(20);
    assert_eq!(link.poll(at_ms(9)), None);
    link.reconfigure(at_ms(9), recorded);
    assert_eq!(
        delivered(&drain(&mut link, &ids, END)),
        [(18_000, 0), (19_000, 1), (30_000, 2)]
    );
}

#[test]
fn an_outage_takes_back_the_opportunity_that_a_packet_waited_for() {
    let opportunities = trace::mahimahi::parse("x", "20", trace::AtEnd::Repeat).unwrap();
    let mut config = plain();
    config.down.trace = Some(std::sync::Arc::new(trace::Trace {
        capacity: Some(trace::Capacity::Opportunities(opportunities)),
        delay: None,
        loss: None,
    }));
    let ids = packet_ids(1);
    let mut link = Link::new(config, Seed(1));
    link.offer(Instant::ZERO, End::A, ids[0], 1000);
    link.set_down(at_ms(5), true);
    link.set_up(at_ms(6));
    assert_eq!(delivered(&drain(&mut link, &ids, END)), [(30_000, 0)]);
}

#[test]
fn a_shorter_delay_does_not_let_packets_overtake() {
    let (mut link, ids) = loaded(plain());
    let mut shorter = plain();
    shorter.down.delay = Duration::ZERO;
    link.reconfigure(at_ms(9), shorter);
    assert_eq!(
        delivered(&drain(&mut link, &ids, END)),
        [(18_000, 0), (18_000, 1), (24_000, 2)]
    );
}

#[test]
fn rate_zero_stalls_until_there_is_a_rate() {
    let (mut link, ids) = loaded(plain());
    let mut stopped = plain();
    stopped.down.rate = DataRate::ZERO;
    link.reconfigure(at_ms(3), stopped);
    assert_eq!(link.poll(at_ms(18)).map(|fate| fate.packet), Some(ids[0]));
    assert_eq!(link.next_deadline(), None);
    assert_eq!(link.queue(End::A), (1, 1000));
    link.reconfigure(at_ms(100), plain());
    assert_eq!(
        delivered(&drain(&mut link, &ids, END)),
        [(118_000, 1), (126_000, 2)]
    );
}

#[test]
fn an_outage_loses_everything_that_the_link_holds() {
    let (mut link, ids) = loaded(plain());
    // 0 is in flight, 1 in service, 2 waits; 3 comes meanwhile.
    link.set_down(at_ms(9), false);
    link.offer(at_ms(10), End::A, ids[3], 1000);
    assert!(!link.is_up() && link.is_empty(End::A));
    link.set_up(at_ms(20));
    link.offer(at_ms(20), End::A, ids[4], 1000);
    let lost = |time, packet| (time, packet, "LinkDown".to_string());
    assert_eq!(
        drain(&mut link, &ids, END),
        [
            lost(9_000, 0),
            lost(9_000, 1),
            lost(9_000, 2),
            lost(10_000, 3),
            (38_000, 4, "delivered".into())
        ]
    );
}

#[test]
fn an_outage_that_keeps_the_queue_serialises_everything_anew() {
    let (mut link, ids) = loaded(plain());
    link.set_down(at_ms(9), true);
    // The returned packets count, so that no new one has room.
    assert_eq!(link.queue(End::A), (3, 3000));
    link.offer(at_ms(10), End::A, ids[3], 1000);
    assert_eq!(link.next_deadline(), Some(at_ms(10)));
    link.set_up(at_ms(20));
    assert_eq!(
        drain(&mut link, &ids, END),
        [
            (10_000, 3, "QueueFull".into()),
            (38_000, 0, "delivered".into()),
            (46_000, 1, "delivered".into()),
            (54_000, 2, "delivered".into())
        ]
    );
}

#[test]
fn discarding_spares_what_has_left_the_queue() {
    let (mut link, ids) = loaded(plain());
    link.discard_queue(at_ms(9));
    assert_eq!(
        drain(&mut link, &ids, END),
        [
            (9_000, 2, "Discarded".into()),
            (18_000, 0, "delivered".into()),
            (26_000, 1, "delivered".into())
        ]
    );
}

#[test]
fn medium_access_can_be_switched_on_and_off() {
    let (mut link, ids) = loaded(plain());
    let mut shared = plain();
    shared.medium = Medium::Dcf(kinds::wifi::MEDIUM_ACCESS);
    link.reconfigure(at_ms(4), shared);
    // Packet 0 is sent anew: 192 µs of preamble and 1036 B at 1 Mbit/s.
    assert_eq!(link.next_deadline(), Some(Instant::from_nanos(22_480_000)));
    link.reconfigure(at_ms(5), plain());
    assert_eq!(
        delivered(&drain(&mut link, &ids, END)),
        [(23_000, 0), (31_000, 1), (39_000, 2)]
    );
}

#[test]
fn a_recording_s_opportunities_delays_and_losses_act_on_packets() {
    let opportunities = trace::mahimahi::parse("x", "4\n9\n10", trace::AtEnd::Repeat).unwrap();
    let rest = "time_s,delay_ms,loss\n0,5,0\n0.01,1,0\n0.019,7,1";
    let mut config = plain();
    config.down.trace = Some(std::sync::Arc::new(trace::Trace {
        capacity: Some(trace::Capacity::Opportunities(opportunities)),
        ..trace::csv::parse("x", rest, trace::AtEnd::Hold).unwrap()
    }));
    let (mut link, ids) = loaded(config);
    // 1000 B each: at 4 ms, at 9 ms with the rest of the first opportunity, and at 9 ms with 500 B of its own.
    link.offer(at_ms(9), End::A, ids[3], 2000);
    link.offer(at_ms(9), End::A, ids[4], 1000);
    // 3 takes 10 ms and a third of 14 ms, 4 the rest of it; after 19 ms all is lost.
    assert_eq!(
        delivered(&drain(&mut link, &ids, END)),
        [
            (9_000, 0),
            (14_000, 1),
            (14_000, 2),
            (15_000, 3),
            (15_000, 4)
        ]
    );
    let ids = packet_ids(1);
    link.offer(at_ms(20), End::A, ids[0], 1000);
    assert_eq!(
        drain(&mut link, &ids, END),
        [(31_000, 0, "BurstLoss".into())]
    );
}

/// Returns a link whose recordings are 1 s of opportunities at 4, 9 and 10 ms of each 10 ms, and 10 ms of delays.
fn recorded(start: Start) -> LinkConfig {
    let lines = (0..1000)
        .step_by(10)
        .flat_map(|at| [at + 4, at + 9, at + 10]);
    let lines: Vec<String> = lines.map(|at| at.to_string()).collect();
    let capacity = trace::mahimahi::parse("x", &lines.join("\n"), trace::AtEnd::Repeat).unwrap();
    let delays = "time_s,delay_ms\n0,5\n0.01,1\n";
    let mut config = plain();
    config.start = start;
    config.down.trace = Some(std::sync::Arc::new(trace::Trace {
        capacity: Some(trace::Capacity::Opportunities(capacity)),
        ..trace::csv::parse("x", delays, trace::AtEnd::Hold).unwrap()
    }));
    config
}

#[test]
fn a_run_may_begin_later_in_a_recording() {
    let (mut link, ids) = loaded(recorded(Start::At(Duration::from_millis(6))));
    let mut arrivals = delivered(&drain(&mut link, &ids[..3], at_ms(9)));
    arrivals.truncate(3);
    // 1000 B each. Opportunities at 3 and 4 ms, which are 9 and 10 ms of the recording; delays of 5 ms, then 1 ms,
    // without overtaking. The second packet takes the rest of the first's opportunity, and a part of the next.
    assert_eq!(arrivals, [(8_000, 0), (8_000, 1), (8_000, 2)]);
    let next = packet_ids(2);
    link.offer(at_ms(20), End::A, next[0], 1500);
    // At 20 ms, 26 of the recording: the next opportunity is at 29 of it, then 1 ms.
    assert_eq!(
        drain(&mut link, &next, END),
        [(24_000, 0, "delivered".into())]
    );
}

#[test]
fn each_seed_sees_another_piece_of_a_recording() {
    let config = recorded(Start::Random);
    let starts: Vec<u64> = (1..=20)
        .map(|seed| config.start.resolved(&config, Seed(seed)).as_nanos() / 1_000_000)
        .collect();
    let different: std::collections::BTreeSet<u64> = starts.iter().copied().collect();
    assert!(
        different.len() > 17 && starts.iter().all(|&start| start < 1000),
        "{starts:?}"
    );
    // Uniform: the probability that a quarter is empty is 4 x 0.75^20, 1.3 %.
    let quarters: std::collections::BTreeSet<u64> =
        starts.iter().map(|start| start / 250).collect();
    assert_eq!(quarters.len(), 4, "{starts:?}");
    let story = |start, seed| {
        let mut link = Link::new(recorded(start), Seed(seed));
        let ids = packet_ids(20);
        ids.iter()
            .for_each(|&id| link.offer(at_ms(0), End::A, id, 700));
        drain(&mut link, &ids, END)
    };
    let written = Start::At(Duration::from_millis(starts[6]));
    assert_eq!(story(Start::Random, 7), story(written, 7));
}

#[test]
fn damaged_packets_are_dropped_or_delivered_with_their_errors() {
    let mut config = plain();
    config.down.queue.limit = QueueLimit::Packets(1000);
    config.down.channel.bit_error_rate = 1e-4;
    let outcomes = |damaged| {
        let mut config = config.clone();
        config.down.channel.damaged = damaged;
        let mut link = Link::new(config, Seed(1));
        for id in packet_ids(500) {
            link.offer(Instant::ZERO, End::A, id, 1000);
        }
        std::iter::from_fn(|| link.poll(END))
            .map(|fate| fate.outcome)
            .collect::<Vec<_>>()
    };
    let (dropped, kept) = (outcomes(Damaged::Dropped), outcomes(Damaged::Delivered));
    let errors = kept.iter().map(|outcome| match outcome {
        Outcome::Delivered { bit_errors, .. } => bit_errors.positions().len(),
        Outcome::Dropped(_) => 0,
    });
    let lost = Outcome::Dropped(DropReason::ChannelError);
    assert!(
        dropped
            .iter()
            .map(|outcome| *outcome == lost)
            .eq(errors.map(|n| n > 0))
    );
    // 1 − (1 − 1e-4)^8000 = 0.5507; standard error of 500 is 0.022.
    let share = dropped.iter().filter(|&outcome| *outcome == lost).count() as f64 / 500.0;
    assert!((share - 0.5507).abs() < 0.09, "{share}");
}

#[test]
fn compared_variants_meet_the_same_channel() {
    let lost = |rate, upward: bool, red: bool| -> Vec<usize> {
        let mut config = plain();
        config.down.rate = DataRate::from_bits_per_second(rate);
        config.down.channel.packet_error_rate = 0.1;
        config.up.channel.packet_error_rate = 0.1;
        config.down.queue.limit = QueueLimit::Packets(1000);
        if red {
            config.up.queue.management = Management::Red(Red {
                minimum_threshold: 0.0,
                maximum_threshold: 2.0,
                maximum_probability: 0.5,
                weight: 1.0,
            });
        }
        let ids = packet_ids(500);
        let mut link = Link::new(config, Seed(4));
        for &id in &ids {
            link.offer(Instant::ZERO, End::A, id, 100);
            if upward {
                link.offer(Instant::ZERO, End::B, id, 100);
            }
        }
        std::iter::from_fn(|| link.poll(END))
            .filter(|fate| fate.from == End::A && matches!(fate.outcome, Outcome::Dropped(_)))
            .map(|fate| ids.iter().position(|&id| id == fate.packet).unwrap())
            .collect()
    };
    let expected = lost(1_000_000, false, false);
    assert!((20..80).contains(&expected.len()));
    assert_eq!(lost(3_000_000, false, false), expected);
    assert_eq!(lost(1_000_000, true, true), expected);
}

#[test]
fn waiting_times_are_those_of_the_m_d_1_queue() {
    // Pollaczek and Khinchine: with load ρ = 0.8 and service of 8 ms the mean wait is 8 ms × ρ / (2 (1 − ρ)).
    let mut config = plain();
    config.down.delay = Duration::ZERO;
    config.down.queue.limit = QueueLimit::Packets(100_000);
    let mut link = Link::new(config, Seed(1));
    let mut arrivals: Stream = Seed(1).stream("arrivals");
    let id = packet_ids(1)[0];
    let (mut now, mut packets) = (Instant::ZERO, 300_000_u32);
    let mut offered_sum = 0.0;
    let mut arrived_sum = 0.0;
    for _ in 0..packets {
        now += Duration::from_secs_f64(arrivals.exponential(0.010));
        link.offer(now, End::A, id, 1000);
        offered_sum += now.as_secs_f64();
        while let Some(fate) = link.poll(now) {
            arrived_sum += fate.at.as_secs_f64();
        }
    }
    while let Some(fate) = link.poll(now + Duration::from_secs(100)) {
        arrived_sum += fate.at.as_secs_f64();
    }
    packets = packets.max(1);
    let wait = (arrived_sum - offered_sum) / f64::from(packets) - 0.008;
    assert!((wait / 0.016 - 1.0).abs() < 0.05, "{wait}");
}

mod conservation {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Offer(End, u32),
        Wait(u64),
        Down(bool),
        Up,
        Discard,
        Reconfigure(usize),
        HoldAtIp,
        TakeFromIp(End),
    }

    fn end_of_link() -> impl Strategy<Value = End> {
        prop_oneof![Just(End::A), Just(End::B)]
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let end = end_of_link();
        let step = prop_oneof![
            8 => (end, 1_u32..3000).prop_map(|(from, length)| Step::Offer(from, length)),
            6 => (0_u64..20_000_000).prop_map(Step::Wait),
            1 => any::<bool>().prop_map(Step::Down),
            2 => Just(Step::Up),
            1 => Just(Step::Discard),
            1 => Just(Step::HoldAtIp),
            1 => end_of_link().prop_map(Step::TakeFromIp),
            1 => (0_usize..9).prop_map(Step::Reconfigure),
        ];
        prop::collection::vec(step, 1..120)
    }

    /// Links of every sort.
    fn variant(number: usize) -> LinkConfig {
        let mut config = plain();
        let down = &mut config.down;
        match number {
            0 => {}
            1 => {
                down.jitter = Duration::from_millis(7);
                down.channel.packet_error_rate = 0.2;
                down.queue.limit = QueueLimit::Packets(20);
                down.queue.management = Management::CoDel(CoDel {
                    target: PositiveTime(Duration::from_millis(5)),
                    interval: PositiveTime(Duration::from_millis(20)),
                });
            }
            2 => {
                down.queue.limit = QueueLimit::Bytes(9000);
                down.queue.management = Management::Red(Red {
                    minimum_threshold: 1.0,
                    maximum_threshold: 3.0,
                    maximum_probability: 0.3,
                    weight: 0.5,
                });
            }
            3 => {
                let text = "3\n3\n8\n";
                let file = trace::mahimahi::parse("x", text, trace::AtEnd::Repeat).unwrap();
                down.trace = Some(std::sync::Arc::new(trace::Trace {
                    capacity: Some(trace::Capacity::Opportunities(file)),
                    delay: None,
                    loss: None,
                }));
            }
            4 => {
                down.rate = DataRate::ZERO;
                let text = "time_s,rate_bps,delay_ms,loss\n0,1e6,9,0\n0.01,0,1,0.3\n0.02,3e5,4,0";
                let file = trace::csv::parse("x", text, trace::AtEnd::Repeat).unwrap();
                config.up.trace = Some(std::sync::Arc::new(file));
            }
            5 => {
                config = super::waiting::repeating(0.6, 4);
                config.up.flow_control = Some(QueueLimit::Bytes(3000));
            }
            6 => {
                config = super::waiting::shaped();
                config.down.flow_control = Some(QueueLimit::Packets(1));
                config.up.flow_control = Some(QueueLimit::Packets(0));
            }
            7 => {
                config.down.queue.limit = QueueLimit::Bytes(9000);
                config.down.flow_control = Some(QueueLimit::Packets(1));
                config.down.queue.management = Management::Priority(Priority {});
                config.up.queue.management = Management::Priority(Priority {});
                config.up.jitter = Duration::from_millis(7);
            }
            _ => {
                config.medium = Medium::Dcf(kinds::wifi::MEDIUM_ACCESS);
                config.down.channel.packet_error_rate = 0.4;
                config.down.delay = Duration::from_micros(3);
                config.up.queue = variant(1).down.queue.clone();
            }
        }
        config
    }

    /// Polls up to `until` as the world does, and checks the contract on the way.
    fn run(link: &mut Link, now: &mut Instant, until: Instant, fates: &mut Vec<Fate>) {
        loop {
            while let Some(fate) = link.poll(*now) {
                assert_eq!(fate.at, *now, "told late or early");
                fates.push(fate);
            }
            match link.next_deadline() {
                Some(next) if next <= until => {
                    assert!(next > *now, "no progress at {now}");
                    *now = next;
                }
                _ => break,
            }
        }
        *now = until;
        assert_eq!(link.poll(until), None, "a deadline was missed");
    }

    proptest! {
        #[test]
        fn every_packet_has_one_fate(first in 0_usize..9, steps in steps(), seed in any::<u64>()) {
            let ids = packet_ids(120);
            let mut link = Link::new(variant(first), Seed(seed));
            let mut now = Instant::ZERO;
            let mut fates = Vec::new();
            let (mut offered, mut taken) = (Vec::new(), Vec::new());
            let mut flows = std::collections::BTreeMap::new();
            for step in steps {
                match step {
                    Step::Offer(from, length) => {
                        let id = ids[offered.len()];
                        offered.push((id, from));
                        let number = u32::from(length % 3 == 0);
                        flows.insert(id, FlowId(number));
                        link.offer_labelled(now, from, (id, length), label(number));
                    }
                    Step::Wait(time) => {
                        let until = now + Duration::from_nanos(time);
                        run(&mut link, &mut now, until, &mut fates);
                    }
                    Step::Down(keep) => link.set_down(now, keep),
                    Step::Up => link.set_up(now),
                    Step::Discard => link.discard_queue(now),
                    Step::Reconfigure(number) => link.reconfigure(now, variant(number)),
                    Step::HoldAtIp => link.hold_at_ip(now),
                    Step::TakeFromIp(from) => {
                        let rerouted = link.take_from_ip(now, from);
                        taken.extend(rerouted.into_iter().map(|packet| (packet, from)));
                    }
                }
            }
            link.reconfigure(now, variant(0));
            link.set_up(now);
            let end = now + Duration::from_secs(1000);
            run(&mut link, &mut now, end, &mut fates);
            prop_assert!(link.is_empty(End::A) && link.is_empty(End::B));
            let mut decided: Vec<_> = fates.iter().map(|fate| (fate.packet, fate.from)).collect();
            decided.extend(taken);
            decided.sort();
            prop_assert_eq!(decided, offered.clone());
            // A shaped flow may be overtaken by another, and one of low precedence.
            for (from, flow) in [(End::A, 0), (End::A, 1), (End::B, 0), (End::B, 1)] {
                let arrived: Vec<_> = fates
                    .iter()
                    .filter(|fate| fate.from == from && flows[&fate.packet] == FlowId(flow))
                    .filter(|fate| matches!(fate.outcome, Outcome::Delivered { .. }))
                    .map(|fate| fate.packet)
                    .collect();
                prop_assert!(arrived.is_sorted(), "reordered");
            }
        }
    }
}
