//! Handovers with a point of service, as timelines. Every path takes 20 ms. The links of the mobile's two interfaces
//! belong to the other gateway, unless stated otherwise.

use super::*;
use crate::mobility::handover_service::{
    HandoverServiceEvent, HandoverServiceSettings, PointOfServiceCounts, Signalling,
};
use crate::wire::mih::{Body as MihBody, Content, Handover, LinkIdentifier, Mih, Status, Step};
use HandoverServiceEvent::{Prepared, Unprepared};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// The messages of a handover between links of another gateway, in order.
const MESSAGES: [&str; 12] = [
    "MN_HO_Candidate_Query request",
    "N2N_HO_Query_Resources request",
    "N2N_HO_Query_Resources response",
    "MN_HO_Candidate_Query response",
    "MN_HO_Commit request",
    "N2N_HO_Commit request",
    "N2N_HO_Commit response",
    "MN_HO_Commit response",
    "MN_HO_Complete request",
    "N2N_HO_Complete request",
    "N2N_HO_Complete response",
    "MN_HO_Complete response",
];

pub(super) fn first_link() -> LinkIdentifier {
    LinkIdentifier::new(19, b"first")
}

pub(super) fn second_link() -> LinkIdentifier {
    LinkIdentifier::new(18, b"second")
}

pub(super) fn mobile() -> MihfId {
    MihfId::new(b"mobile")
}

pub(super) fn service(number: usize) -> MihfId {
    MihfId::new(SERVICES[number].as_bytes())
}

pub(super) fn settings(signalling: Signalling) -> MobileSettings {
    with_services(service_settings(signalling))
}

pub(super) fn with_services(settings: HandoverServiceSettings) -> MobileSettings {
    MobileSettings {
        handover_service: Some(Box::new(settings)),
        ..mobile_settings()
    }
}

pub(super) fn service_settings(signalling: Signalling) -> HandoverServiceSettings {
    HandoverServiceSettings {
        point_of_service: ip(SERVICES[0]),
        service_identifier: service(0),
        identifier: mobile(),
        links: vec![first_link(), second_link()],
        signalling,
        information: false,
        remote_links: vec![],
        rate_threshold: None,
        obeys: false,
        services_until: None,
    }
}

/// The mobile is registered on its first link, and both links are known.
fn world() -> World {
    world_of(1)
}

/// A network in which this gateway has the mobile's first link.
fn world_of(gateway: usize) -> World {
    world_with(gateway, Signalling::Backward)
}

fn world_with(gateway: usize, signalling: Signalling) -> World {
    let mut world = World::new(settings(signalling), agent_settings(), subscriber());
    let known = [0, 1].map(|number| (service(number), ip(SERVICES[number])));
    world.services[0].enrol(mobile());
    world.services[0].add_link(first_link(), known[gateway].clone());
    world.services[0].add_link(second_link(), known[1].clone());
    world.services[1].add_link(second_link(), known[1].clone());
    world.attach(0, 1);
    world.run_until(at(1000));
    assert_eq!(world.mobile.registered(world.now()), Some(care_of(1)));
    assert!(said(&world).is_empty());
    world
}

/// Lists the 802.21 messages, with their times in milliseconds.
fn said(world: &World) -> Vec<(u64, &'static str)> {
    let ladder = world.ladder.iter();
    let own = ladder.filter(|(_, name)| name.contains("_HO_"));
    own.map(|&(at, name)| (at.as_nanos() / 1_000_000, name))
        .collect()
}

/// Lists the results of preparations, with their times in milliseconds.
fn prepared(world: &World) -> Vec<(u64, HandoverServiceEvent)> {
    let events = world.events.iter();
    let own = events.filter_map(|(at, event)| match event {
        MobileEvent::HandoverService(event) => Some((at.as_nanos() / 1_000_000, *event)),
        _ => None,
    });
    own.collect()
}

/// Prepares a soft handover to the second link, makes it after the result, and returns the result and its time.
fn hand_over(world: &mut World) -> (u64, HandoverServiceEvent) {
    let now = world.now();
    world.mobile.prepare_handover(now, InterfaceId(1));
    let mut now = world.now();
    while prepared(world).is_empty() {
        now += Duration::from_millis(1);
        world.run_until(now);
    }
    world.attach(1, 2);
    let now = world.now();
    world.mobile.prefer(now, InterfaceId(1));
    world.run_until(now + Duration::from_secs(20));
    assert_eq!(world.mobile.registered(world.now()), Some(care_of(2)));
    prepared(world)[0]
}

/// Two round trips of 80 ms: to the point of service, and from there to the other gateway.
#[test]
fn a_handover_is_asked_for_committed_to_and_told() {
    let mut world = world();
    assert_eq!(hand_over(&mut world), (1160, Prepared));
    let times = said(&world);
    let names: Vec<&str> = times.iter().map(|&(_, name)| name).collect();
    assert_eq!(names, MESSAGES);
    let before: Vec<u64> = times[..8].iter().map(|&(at, _)| at).collect();
    assert_eq!(before, [1000, 1020, 1040, 1060, 1080, 1100, 1120, 1140]);
    // The advertisement takes 20 ms, the registration 40.
    let after: Vec<u64> = times[8..].iter().map(|&(at, _)| at).collect();
    assert_eq!(after, [1220, 1240, 1260, 1280]);
    assert_eq!(
        world.services.each_ref().map(PointOfService::counts),
        [
            PointOfServiceCounts::default(),
            PointOfServiceCounts::default()
        ]
    );
}

/// The point of service decides about its own links; the gateway of the link left is informed.
#[test]
fn nobody_else_is_asked_about_an_own_link() {
    let mut world = world_of(0);
    hand_over(&mut world);
    assert!(world.times_of(MESSAGES[9]).is_empty());
    let begun = world.now().as_nanos() / 1_000_000;
    let now = world.now();
    world.mobile.prepare_handover(now, InterfaceId(0));
    world.run_until(at(begun + 500));
    assert_eq!(prepared(&world).last(), Some(&(begun + 80, Prepared)));
    world.attach(0, 1);
    let now = world.now();
    world.mobile.prefer(now, InterfaceId(0));
    world.run_until(at(begun + 2000));
    let later: Vec<&str> = world.names_since(at(begun));
    let later: Vec<&str> = later
        .into_iter()
        .filter(|name| name.contains("_HO_"))
        .collect();
    let (asked, told) = (&MESSAGES[..8], &MESSAGES[8..]);
    let own: Vec<&str> = asked
        .iter()
        .copied()
        .filter(|name| name.starts_with("MN"))
        .collect();
    assert_eq!(later, [own.as_slice(), told].concat());
}

/// A lost message costs the first timeout, counted from the mobile's request.
#[test]
fn any_one_lost_message_costs_a_second() {
    for (number, name) in MESSAGES.into_iter().enumerate() {
        let mut whole = world();
        hand_over(&mut whole);
        let place = whole.ladder.iter().position(|(_, one)| *one == name);
        let mut world = world();
        world.lost = vec![place.expect("it was sent")];
        let (expected, last) = match number {
            0..8 => (2160, 2280),
            // A repeated report is passed on again.
            _ => (1160, 2280),
        };
        assert_eq!(hand_over(&mut world), (expected, Prepared), "{name}");
        let told = world.times_of("MN_HO_Complete response");
        assert_eq!(told.last(), Some(&last), "{name}");
    }
}

/// Without an answer, or the final one: three requests, after 1 and 2 s, and 4 s later the handover is made.
#[test]
fn without_the_point_of_service_the_handover_is_made_all_the_same() {
    for (number, name) in MESSAGES.into_iter().enumerate() {
        let mut world = world();
        world.lost_names = vec![name];
        let expected = match number {
            0..4 => (8000, Unprepared),
            4..8 => (8080, Unprepared),
            _ => (1160, Prepared),
        };
        assert_eq!(hand_over(&mut world), expected, "{name}");
        let begun = match number {
            0..4 => 1000,
            4..8 => 1080,
            _ => 1220,
        };
        let request = MESSAGES[number / 4 * 4];
        let times = [begun, begun + 1000, begun + 3000];
        assert_eq!(world.times_of(request), times, "{name}");
    }
}

#[test]
fn a_handover_without_warning_is_only_told() {
    let mut world = world();
    let hand_over = |world: &mut World, (from, to, link): (usize, usize, usize)| {
        let begun = world.now();
        world.detach(from);
        world.attach(to, link);
        let now = world.now();
        world.mobile.prefer(now, InterfaceId(to));
        world.run_until(begun + Duration::from_secs(5));
        let names = world.names_since(begun).into_iter();
        names
            .filter(|name| name.contains("_HO_"))
            .collect::<Vec<_>>()
    };
    // The report names the link that was left, so that its gateway is informed.
    assert_eq!(hand_over(&mut world, (0, 1, 2)), MESSAGES[8..]);
    assert_eq!(hand_over(&mut world, (1, 0, 1)), MESSAGES[8..]);
    assert!(prepared(&world).is_empty());
}

#[test]
fn a_lost_link_ends_the_preparation() {
    let mut world = world();
    let now = world.now();
    world.mobile.prepare_handover(now, InterfaceId(1));
    world.run_until(at(1030));
    world.detach(0);
    world.run_until(at(20_000));
    assert_eq!(prepared(&world), [(1030, Unprepared)]);
    assert_eq!(world.times_of(MESSAGES[0]), [1000]);
}

/// Forward signalling: the messages take the new link, so that they outlast the link in use, and end with the new one.
#[test]
fn forward_signalling_takes_the_new_link() {
    for (lost, expected) in [
        (None, (3160, Prepared)),
        (Some(0), (3160, Prepared)),
        (Some(1), (3030, Unprepared)),
    ] {
        let mut world = world_with(1, Signalling::Forward);
        world.attach(1, 2);
        world.run_until(at(3000));
        assert_eq!(world.mobile.interface(), Some(InterfaceId(0)));
        let now = world.now();
        world.mobile.prepare_handover(now, InterfaceId(1));
        world.run_until(at(3030));
        if let Some(interface) = lost {
            world.detach(interface);
        }
        world.run_until(at(20_000));
        assert_eq!(prepared(&world), [expected], "{lost:?}");
    }
    // The query names the link in use, so that its gateway hears of the end.
    let mut world = world_with(1, Signalling::Forward);
    world.attach(1, 2);
    world.run_until(at(3000));
    hand_over(&mut world);
    assert_eq!(world.times_of(MESSAGES[9]).len(), 1);
    // Without an address on the new link they wait for one, up to seven seconds.
    let mut world = world_with(1, Signalling::Forward);
    let now = world.now();
    world.mobile.prepare_handover(now, InterfaceId(1));
    world.run_until(at(2000));
    assert_eq!(world.times_of(MESSAGES[0]), []);
    world.attach(1, 2);
    world.run_until(at(3000));
    // The advertisement takes 20 ms.
    assert_eq!(prepared(&world), [(2180, Prepared)]);
    let now = world.now();
    world.detach(1);
    world.mobile.prepare_handover(now, InterfaceId(1));
    world.run_until(at(20_000));
    assert_eq!(prepared(&world)[1..], [(10_000, Unprepared)]);
}

#[test]
fn refusals_end_it() {
    // The gateway does not know the link as its own.
    let mut strange = world();
    strange.services[1] = PointOfService::new(service(1), ip(SERVICES[1]));
    assert_eq!(hand_over(&mut strange), (1080, Unprepared));
    // No gateway knows the link.
    let mut unknown = world();
    let own = (service(0), ip(SERVICES[0]));
    unknown.services[0] = PointOfService::new(service(0), ip(SERVICES[0]));
    unknown.services[0].enrol(mobile());
    unknown.services[0].add_link(first_link(), own);
    assert_eq!(hand_over(&mut unknown), (1040, Unprepared));
    // The mobile is not served.
    let mut stranger = world();
    stranger.services[0] = PointOfService::new(service(0), ip(SERVICES[0]));
    assert_eq!(hand_over(&mut stranger), (1040, Unprepared));
}

#[test]
fn nobody_elses_answer_is_taken() {
    let mut world = world();
    world.lost_names = vec![MESSAGES[0]];
    let now = world.now();
    world.mobile.prepare_handover(now, InterfaceId(1));
    world.run_until(at(1010));
    let right = Handover {
        mobile: None,
        step: Step::Query,
        current: Some(first_link()),
        content: Content::Request(second_link()),
    };
    let sent = |transaction, handover| {
        Mih::new(
            transaction,
            [mobile(), service(0)],
            MihBody::Handover(handover),
        )
    };
    let answer = |request: Mih, from: &str, world: &mut World| {
        let response = request.response(Status::Success).expect("a command");
        let bytes = response.encode();
        let ends = (ip(from), care_of(1));
        let packet = crate::mobility::datagram(ends, mih::PORT, bytes);
        let now = world.now();
        world.mobile.handle_packet(now, InterfaceId(0), packet);
        let now = world.now();
        world.run_until(now);
        world.times_of(MESSAGES[4]).len()
    };
    let other = Handover {
        content: Content::Request(first_link()),
        ..right.clone()
    };
    let committed = Handover {
        step: Step::Commit,
        ..right.clone()
    };
    let late = sent(2, right.clone());
    let right = sent(1, right);
    for wrong in [late, sent(1, other), sent(1, committed)] {
        assert_eq!(answer(wrong, SERVICES[0], &mut world), 0);
    }
    assert_eq!(world.mobile.counts().unexpected, 3);
    assert_eq!(answer(right.clone(), SERVICES[1], &mut world), 0);
    assert_eq!(answer(right.clone(), SERVICES[0], &mut world), 1);
    // Once.
    assert_eq!(answer(right, SERVICES[0], &mut world), 1);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 32,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Arbitrary bytes, and valid ones with one changed, at every port.
    #[test]
    fn anything_at_the_ports_is_survived(
        junk in prop::collection::vec(any::<u8>(), 0..60),
        (at_byte, to) in (any::<prop::sample::Index>(), any::<u8>()),
        response in any::<bool>(),
    ) {
        let mut world = world();
        let now = world.now();
        world.mobile.prepare_handover(now, InterfaceId(1));
        world.run_until(at(1030));
        let request = Mih::new(1, [mobile(), service(0)], MihBody::Handover(Handover {
            mobile: None,
            step: Step::Query,
            current: None,
            content: Content::Request(second_link()),
        }));
        let answer = request.response(Status::Success);
        let message = answer.filter(|_| response).unwrap_or(request);
        let mut changed = message.encode();
        let at_byte = at_byte.index(changed.len());
        changed[at_byte] = to;
        for bytes in [junk, changed] {
            let from_service = (ip(SERVICES[0]), care_of(1));
            let packet = crate::mobility::datagram(from_service, mih::PORT, bytes.clone());
            let now = world.now();
            world.mobile.handle_packet(now, InterfaceId(0), packet);
            let to_service = (care_of(1), ip(SERVICES[0]));
            let packet = crate::mobility::datagram(to_service, mih::PORT, bytes);
            prop_assert_eq!(world.services[0].handle_packet(now, packet), None);
        }
        world.run_until(at(20_000));
        prop_assert_eq!(prepared(&world).len(), 1);
    }
}
