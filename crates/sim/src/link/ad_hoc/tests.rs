//! Packets through small networks, timed by hand.

use super::*;
use crate::link::config::{Damaged, LinkConfig, Medium, QueueLimit};
use crate::link::kinds::{plain, symmetric};
use crate::link::{DropReason, End, Fate, Label, Link, Outcome};
use crate::packets::PacketId;
use crate::position::{Position, Track};
use crate::rng::Seed;
use baton_proto::rate::DataRate;
use baton_proto::time::{Duration, Instant};
use std::sync::Arc;

const METRES_A_DEGREE: f64 = 111_194.93;

/// Returns a course that stands so many kilometres east of a point on the equator.
fn at_km(km: f64) -> Course {
    Course::Track(Arc::new(Track::fixed(on_equator(km))))
}

fn on_equator(km: f64) -> Position {
    Position::new(0.0, km * 1e3 / METRES_A_DEGREE, 0.0)
}

/// Returns a course along the equator.
fn flying(from_km: f64, to_km: f64, speed_m_s: f64) -> Course {
    let points = [on_equator(from_km), on_equator(to_km)];
    let track = Track::legs(Instant::ZERO, &points, speed_m_s).unwrap();
    Course::Track(Arc::new(track))
}

/// IP header of a datagram between the nodes, without identification.
const BETWEEN_NODES: TranslatedHeader = TranslatedHeader {
    protocol: 17,
    traffic_class: 0,
    hop_limit: 64,
    source: None,
    destination: None,
    identification: 0,
    dont_fragment: true,
};

const FERRY: Routing = Routing::Aerorp {
    keeping: Keeping::Ferry,
    beacons: true,
};

fn config(routing: Routing, courses: Vec<Course>) -> LinkConfig {
    let network = AdHocConfig {
        routing,
        range_m: 27_800.0,
        courses,
    };
    let rate = DataRate::from_bits_per_second(1_000_000);
    let direction = plain(rate, Duration::ZERO, QueueLimit::Packets(3));
    symmetric("air", Medium::AdHoc(network.into()), direction)
}

/// Returns the fates until a moment.
fn fates(link: &mut Link, until: Instant) -> Vec<Fate> {
    let mut fates = Vec::new();
    loop {
        match link.next_deadline() {
            Some(next) if next <= until => fates.extend(link.poll(next)),
            _ => return fates,
        }
    }
}

fn seconds(fate: &Fate) -> f64 {
    fate.at.as_secs_f64()
}

#[test]
fn a_chain_takes_a_transmission_and_the_light_s_way_a_hop() {
    // 75 km in three hops of 25 km.
    let courses = vec![at_km(0.0), at_km(75.0), at_km(25.0), at_km(50.0)];
    for (routing, header) in [(FERRY, 35), (Routing::Aodv, 0), (Routing::Dsdv, 0)] {
        let mut link = Link::new(config(routing, courses.clone()), Seed(1));
        // The first packet finds the way, and has it after 20 s whatever the protocol.
        let begin = Instant::from_secs(20);
        link.offer(begin, End::B, PacketId(0), 1000);
        let first = fates(&mut link, Instant::from_secs(22));
        assert_eq!(first.len(), 1, "{routing:?}");
        assert_eq!(first[0].outcome, Outcome::UNDAMAGED);
        let begin = Instant::from_millis(22_500);
        link.offer(begin, End::B, PacketId(1), 1000);
        let second = fates(&mut link, Instant::from_secs(24));
        let hop = f64::from(8 * (1000 + header)) / 1e6 + 25e3 / 299_792_458.0;
        let took = seconds(&second[0]) - 22.5;
        // A routing message may be in the way at each node.
        assert!(
            (-1e-5..0.004).contains(&(took - 3.0 * hop)),
            "{routing:?}: {took} {hop}"
        );
        assert!(link.is_empty(End::B) && link.is_empty(End::A));
    }
}

#[test]
fn a_translated_header_shortens_each_hop() {
    let courses = vec![at_km(0.0), at_km(75.0), at_km(25.0), at_km(50.0)];
    let mut link = Link::new(config(FERRY, courses), Seed(1));
    assert!(link.translates());
    let mut send = |now, id, translated| {
        let label = Label {
            translated,
            ..Label::default()
        };
        link.offer_labelled(now, End::B, (PacketId(id), 1000), label);
        let end = now + Duration::from_millis(900);
        let all = fates(&mut link, end);
        assert_eq!(all.len(), 1);
        (seconds(&all[0]) - now.as_secs_f64(), all[0].outcome.clone())
    };
    let (whole, outcome) = send(Instant::from_millis(22_500), 0, None);
    assert_eq!(outcome, Outcome::UNDAMAGED);
    let (short, outcome) = send(Instant::from_millis(23_500), 1, Some(BETWEEN_NODES));
    // 20 B of IP less and 3 B of AeroNP more, three times, at 1 Mbit/s.
    let saved = whole - short;
    assert!((saved - 3.0 * 17.0 * 8.0 / 1e6).abs() < 1e-6, "{saved}");
    let Outcome::Delivered {
        exit: Some(exit), ..
    } = outcome
    else {
        panic!("{outcome:?}");
    };
    assert_eq!(exit.translated, Some(BETWEEN_NODES));
}

/// Sends 4000 packets of 1000 B over so many hops of 25 km with 2 wrong bits in 100,000. Returns the shares that arrive,
/// and that arrive without damage.
fn shares_over_noise(hops: u8, routing: Routing, damaged: Damaged) -> (f64, f64) {
    const PACKETS: u32 = 4000;
    let length = 25.0 * f64::from(hops);
    let relays = (1..hops).map(|place| at_km(25.0 * f64::from(place)));
    let courses = [at_km(0.0), at_km(length)].into_iter().chain(relays);
    let mut config = config(routing, courses.collect());
    config.down.channel.bit_error_rate = 2e-5;
    config.down.channel.damaged = damaged;
    let mut link = Link::new(config, Seed(3));
    let (mut arrived, mut clean) = (0, 0);
    for number in 0..PACKETS {
        let now = Instant::from_secs(20) + Duration::from_millis(40).saturating_mul(number.into());
        let label = Label {
            translated: link.translates().then_some(BETWEEN_NODES),
            ..Label::default()
        };
        link.offer_labelled(now, End::B, (PacketId(number), 1000), label);
        for fate in fates(&mut link, now + Duration::from_millis(39)) {
            let Outcome::Delivered { bit_errors, exit } = fate.outcome else {
                assert_eq!(fate.outcome, Outcome::Dropped(DropReason::ChannelError));
                continue;
            };
            arrived += 1;
            clean += u32::from(bit_errors.is_empty());
            // IP's header is as it was, since AeroNP carries what it says.
            let first = if link.translates() { 160 } else { 0 };
            let positions = bit_errors.positions();
            assert!(positions.iter().all(|bit| (first..8000).contains(bit)));
            if let Some(exit) = exit {
                assert_eq!(exit.corruption, !bit_errors.is_empty());
            }
        }
    }
    let share = |count| f64::from(count) / f64::from(PACKETS);
    (share(arrived), share(clean))
}

/// Bits are hit independently: a header has to survive each hop, and a payload that is to arrive undamaged, too.
#[test]
fn damage_adds_up_over_hops_as_the_closed_form_says() {
    let survives = |bytes: i32, hops: u8| (1.0 - 2e-5_f64).powi(8 * bytes * i32::from(hops));
    for hops in 1..=3 {
        let (arrived, clean) = shares_over_noise(hops, FERRY, Damaged::Delivered);
        // Four standard errors of 4000 packets.
        let near = |share: f64, expected: f64| {
            let error = 4.0 * (expected * (1.0 - expected) / 4000.0).sqrt();
            assert!(
                (share - expected).abs() < error,
                "{hops}: {share}, {expected}"
            );
        };
        near(arrived, survives(38, hops));
        near(clean, survives(38 + 980, hops));
        let (arrived, clean) = shares_over_noise(hops, FERRY, Damaged::Dropped);
        near(arrived, survives(38 + 980, hops));
        assert_eq!(arrived, clean);
    }
    // Without AeroNP there is no header whose check could lose a packet, and nobody tells.
    let (arrived, clean) = shares_over_noise(2, Routing::Dsdv, Damaged::Delivered);
    assert_eq!(arrived, 1.0);
    assert!((clean - survives(1000, 2)).abs() < 0.03, "{clean}");
}

#[test]
fn a_gap_is_ferried_by_aerorp_and_no_way_for_the_others() {
    // B stands 200 km away; a relay flies from it to A at 1 km/s, so that nobody ever joins the two.
    let courses = vec![at_km(0.0), at_km(200.0), flying(200.0, 0.0, 1000.0)];
    let fate_of = |routing| {
        let mut link = Link::new(config(routing, courses.clone()), Seed(1));
        link.offer(Instant::from_secs(5), End::B, PacketId(0), 1000);
        fates(&mut link, Instant::from_secs(300)).pop()
    };
    // A's position reaches B only with the relay's way back, so B hands over to nobody.
    assert_eq!(fate_of(FERRY), None);
    for routing in [Routing::Aodv, Routing::Dsdv] {
        let fate = fate_of(routing).unwrap();
        assert_eq!(
            fate.outcome,
            Outcome::Dropped(DropReason::NoRoute),
            "{routing:?}"
        );
    }
    // A knows where B is once the relay has been with B: a packet for B from a relay that comes from A.
    let courses = vec![
        at_km(0.0),
        at_km(200.0),
        flying(0.0, 200.0, 1000.0),
        flying(200.0, 0.0, 1000.0),
    ];
    let mut link = Link::new(config(FERRY, courses), Seed(1));
    link.offer(Instant::from_secs(5), End::A, PacketId(0), 1000);
    // The relays meet half-way, 100 s after their departure; the one from A has left it by then. The one from B comes
    // to A's ears when it is within range, and is no better than A itself.
    let all = fates(&mut link, Instant::from_secs(400));
    assert!(all.is_empty(), "{all:?}");
}

#[test]
fn a_packet_waits_in_a_relay_that_approaches() {
    // B passes A's advertisement zone first: relay and B are within range of A, and of each other, at the start. The
    // relay then carries what B hands over after both have left: B flies on, the relay turns back.
    let there_and_back = [on_equator(0.0), on_equator(60.0), on_equator(0.0)];
    let relay = Track::legs(Instant::ZERO, &there_and_back, 1000.0).unwrap();
    let courses = vec![
        at_km(0.0),
        flying(0.0, 75.0, 1000.0),
        Course::Track(Arc::new(relay)),
    ];
    let mut link = Link::new(config(FERRY, courses), Seed(1));
    link.offer(Instant::from_secs(61), End::B, PacketId(0), 1000);
    let all = fates(&mut link, Instant::from_secs(120));
    // The relay, at 60 km after 60 s, is back in range at 92.2 s, and knows it with the next beacon.
    assert_eq!(all.len(), 1);
    assert!((92.0..94.0).contains(&seconds(&all[0])), "{all:?}");
}

#[test]
fn a_contact_lasts_as_long_as_the_range_allows() {
    // B flies over A at 1200 m/s from 60 km west to 60 km east: in range from 26.83 s to 73.17 s.
    let courses = vec![at_km(0.0), flying(-60.0, 60.0, 1200.0)];
    // A neighbour is known a beacon later; a request may just have begun its longest wait, 11.2 s.
    for (routing, latest) in [(FERRY, 29), (Routing::Aodv, 39)] {
        let mut link = Link::new(config(routing, courses.clone()), Seed(2));
        let mut delivered = Vec::new();
        for second in 0..100 {
            let now = Instant::from_secs(second);
            delivered.extend(fates(&mut link, now));
            link.offer(now, End::B, PacketId(second as u32), 1000);
        }
        delivered.extend(fates(&mut link, Instant::from_secs(140)));
        delivered.retain(|fate| fate.outcome == Outcome::UNDAMAGED);
        let direct = delivered
            .iter()
            .filter(|fate| seconds(fate) - f64::from(fate.packet.0) < 0.1);
        let direct: Vec<u32> = direct.map(|fate| fate.packet.0).collect();
        let (first, last) = (direct[0], direct[direct.len() - 1]);
        assert!((27..=latest).contains(&first), "{routing:?}: {first}");
        assert_eq!(last, 73, "{routing:?}");
    }
}

#[test]
fn a_full_queue_drops_and_a_link_that_goes_down_loses_all() {
    let mut link = Link::new(
        config(Routing::Dsdv, vec![at_km(0.0), at_km(10.0)]),
        Seed(1),
    );
    let now = Instant::from_secs(3);
    // One in transmission, three wait.
    for id in 0..5 {
        link.offer(now, End::A, PacketId(id), 1000);
    }
    assert_eq!(link.queue(End::A), (3, 3000));
    let full = link.poll(now).unwrap();
    assert_eq!(
        (full.packet, full.outcome),
        (PacketId(4), Outcome::Dropped(DropReason::QueueFull))
    );
    link.set_down(now, true);
    let lost: Vec<Fate> = std::iter::from_fn(|| link.poll(now)).collect();
    assert_eq!(lost.len(), 4);
    assert!(link.is_empty(End::A));
    link.offer(now, End::B, PacketId(5), 1000);
    let refused = link.poll(now).unwrap();
    assert_eq!((refused.packet, refused.from), (PacketId(5), End::B));
    // What was lost does not come out after all, whoever has its number now.
    link.set_up(now);
    link.offer(now, End::A, PacketId(0), 500);
    let after = fates(&mut link, Instant::from_secs(4));
    assert_eq!(after.len(), 1);
    assert_eq!(
        (after[0].packet, &after[0].outcome),
        (PacketId(0), &Outcome::UNDAMAGED)
    );
}

#[test]
fn the_same_seed_gives_the_same_fates() {
    let airspace = Airspace {
        centre: on_equator(0.0),
        side_m: 150e3,
        height_m: 10e3,
        speed_m_s: 600.0,
    };
    let mut courses = vec![Course::Wandering(airspace); 20];
    courses[0] = at_km(0.0);
    let run = |seed| {
        let mut link = Link::new(config(FERRY, courses.clone()), Seed(seed));
        let mut all = Vec::new();
        for second in 0..60 {
            link.offer(
                Instant::from_secs(second),
                End::B,
                PacketId(second as u32),
                1000,
            );
            all.extend(fates(&mut link, Instant::from_secs(second + 1)));
        }
        all
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

/// Returns true if nodes that stand as these join the first two.
fn is_joined(places: &[[f64; 3]]) -> bool {
    let hears = |a: &[f64; 3], b: &[f64; 3]| {
        let square: f64 = (0..3).map(|axis| (a[axis] - b[axis]).powi(2)).sum();
        square.sqrt() <= 27_800.0
    };
    let (mut reached, mut next) = (vec![0], 0);
    while next < reached.len() {
        let from = reached[next];
        let fresh = (0..places.len()).filter(|to| hears(&places[from], &places[*to]));
        let fresh: Vec<usize> = fresh.filter(|to| !reached.contains(to)).collect();
        reached.extend(fresh);
        next += 1;
    }
    reached.contains(&1)
}

#[test]
fn nodes_that_hardly_move_deliver_exactly_where_there_is_a_path() {
    let airspace = Airspace {
        centre: on_equator(0.0),
        side_m: 150e3,
        height_m: 10e3,
        speed_m_s: 0.1,
    };
    let mut courses = vec![Course::Wandering(airspace); 24];
    courses[0] = at_km(0.0);
    let mut joined = 0;
    for seed in 0..12 {
        let flights = courses.iter().enumerate().map(|(index, course)| {
            let draws = Seed(seed).stream(&format!("link air node {index} motion"));
            motion::Flight::new(course, draws).at(Instant::ZERO).0
        });
        let has_path = is_joined(&flights.collect::<Vec<_>>());
        joined += usize::from(has_path);
        for routing in [Routing::Aodv, Routing::Dsdv] {
            let mut link = Link::new(config(routing, courses.clone()), Seed(seed));
            link.offer(Instant::from_secs(31), End::B, PacketId(0), 1000);
            let fate = fates(&mut link, Instant::from_secs(70)).pop().unwrap();
            let is_delivered = fate.outcome == Outcome::UNDAMAGED;
            assert_eq!(is_delivered, has_path, "{routing:?}, seed {seed}");
        }
    }
    // Both cases occur.
    assert!((3..=9).contains(&joined), "{joined}");
}
