//! Study D's signalling: latencies of its three scenarios, and the four conditions of section 6.1.

use super::*;
use crate::mobility::buffering::{BufferPolicy, Overflow};

fn world() -> World {
    let policy = BufferPolicy {
        bytes: 100_000,
        age: Duration::from_secs(60),
        overflow: Overflow::DropOldest,
        pace: None,
        drop_duplicates: true,
    };
    World::new(
        mobile_with(|fleet| fleet.buffering = Some(BufferingRequest::STUDY_D)),
        HomeAgentSettings {
            strategy: Strategy::Buffer(policy),
            ..agent_settings()
        },
        subscriber(),
    )
}

/// Link 1 until the base station releases the mobile at 12 s, link 2 from 12.2 s on; Link_Going_Down at 10 s. A
/// datagram every 100 ms from 9 s to 20 s. The named messages are lost from 10 s on, `regular` ones from 12 s on.
fn handover(before: &[&'static str], regular: &[&'static str], until: u64) -> World {
    let mut world = world();
    world.attach(0, 1);
    for step in 90..200 {
        let now = step * 100;
        world.run_until(at(now));
        match now {
            10_000 => {
                world.lost_names = before.to_vec();
                let now = world.now();
                world.mobile.link_going_down(now, InterfaceId(0));
            }
            12_000 => world.detach(0),
            12_200 => {
                world.lost_names = regular.to_vec();
                world.attach(0, 2);
            }
            _ => {}
        }
        if now >= until {
            world.lost_names.clear();
        }
        world.send_down(ip(HOME), step);
    }
    world.run_until(at(30_000));
    world
}

fn missing(world: &World) -> Vec<u64> {
    (90..200)
        .filter(|number| !world.got.contains(number))
        .collect()
}

#[test]
fn with_nothing_lost_no_packet_is() {
    let world = handover(&[], &[], 12_200);
    assert_eq!(world.times_of("MBU"), [10_000]);
    assert!(missing(&world).is_empty());
    assert_eq!(world.got, (90..200).collect::<Vec<_>>());
}

/// All MBUs lost: sent at 10 s and 11 s; nothing is held, so packets are lost while the link is down.
#[test]
fn first_condition() {
    let world = handover(&["MBU"], &[], 12_200);
    assert_eq!(world.times_of("MBU"), [10_000, 11_000]);
    // From the first packet too late for the old link (40 ms on the way) to the update's arrival.
    assert_eq!(missing(&world), [120, 121, 122]);
    assert_eq!(world.home_agent.counts().buffered.held, 0);
    assert_eq!(world.mobile.registered(world.now()), Some(care_of(2)));
}

/// All requests, if the link stays long enough: after 1 s, doubled each time, three retransmissions.
#[test]
fn the_mobile_asks_four_times_and_then_waits() {
    let mut world = world();
    world.attach(0, 1);
    world.run_until(at(1000));
    world.lost_names = vec!["MBU"];
    let now = world.now();
    world.mobile.link_going_down(now, InterfaceId(0));
    world.run_until(at(60_000));
    assert_eq!(world.times_of("MBU"), [1000, 2000, 4000, 8000]);
    assert_eq!(
        world.events.last(),
        Some(&(at(16_000), MobileEvent::Buffering(false)))
    );
}

/// All MBAs lost: the home agent holds all the same.
#[test]
fn second_condition() {
    let world = handover(&["MBA"], &[], 12_200);
    assert!(missing(&world).is_empty());
    assert!(world.home_agent.counts().buffered.held >= 20);
}

/// All MBAs and the regular updates until 13 s lost: held until one arrives, 1 s after the first.
#[test]
fn third_condition() {
    let world = handover(&["MBA"], &["BU"], 13_000);
    assert_eq!(world.times_of("BU")[1..], [12_220, 13_220]);
    assert!(missing(&world).is_empty());
    assert_eq!(world.got, (90..200).collect::<Vec<_>>());
}

/// All MBAs and the first regular answer lost: the home agent sends its buffer, and the mobile drops it until the
/// answer to its second update.
#[test]
fn fourth_condition() {
    let world = handover(&["MBA"], &["BA"], 13_000);
    assert_eq!(world.times_of("BU")[1..], [12_220, 13_220]);
    let missing = missing(&world);
    assert!(!missing.is_empty());
    assert_eq!(world.mobile.counts().unregistered, missing.len() as u64);
    // The whole buffer, and the packets of the second until the answer.
    assert_eq!((missing[0], missing.last()), (101, Some(&132)));
    assert_eq!(world.mobile.registered(world.now()), Some(care_of(2)));
}

/// The baseline detects duplicates, which takes more than a second longer (study D, D7).
#[test]
fn detection_costs_more_than_a_second() {
    let completion = |detection| {
        let mut world = World::new(
            mobile_with(|fleet| fleet.configuration = configuration(detection)),
            agent_settings(),
            subscriber(),
        );
        world.attach(0, 1);
        world.run_until(at(10_000));
        world.detach(0);
        world.attach(0, 2);
        world.run_until(at(20_000));
        let (registered, event) = world.events.last().expect("an event");
        assert_eq!(*event, MobileEvent::Registered(care_of(2)));
        registered.saturating_since(at(10_000))
    };
    let baseline = completion(DuplicateAddressDetection::STANDARD);
    let proposal = completion(NO_DETECTION);
    assert_eq!(proposal, Duration::from_millis(60));
    let longer = baseline.saturating_sub(proposal);
    let second = Duration::from_secs(1);
    assert!(
        longer >= second && longer < Duration::from_secs(2),
        "{longer:?}"
    );
}
