//! Registration, information and remote events of a point of service, as timelines. Every path takes 20 ms.

use super::handover_service::{
    first_link, mobile, second_link, service, service_settings, with_services,
};
use super::*;
use crate::crosslayer::{NetworkInformation, RemoteEvent};
use crate::interface::{LinkEvent, LinkParameters};
use crate::mobility::handover_service::{
    HandoverServiceEvent, HandoverServiceSettings, Signalling,
};
use crate::rate::DataRate;
use crate::wire::mih::{Body as MihBody, Event, LinkChange, LinkIdentifier, Mih, Network};

const UP: &str = "MIH_Link_Up indication";
const DOWN: &str = "MIH_Link_Down indication";
const GOING_DOWN: &str = "MIH_Link_Going_Down indication";
const ACKNOWLEDGEMENT: &str = "MIH acknowledgement";
/// The exchanges of a mobile with all services, in order.
const EXCHANGES: [&str; 5] = [
    "MIH_Capability_Discover",
    "MIH_Register",
    "MIH_Get_Information",
    "MIH_Event_Subscribe",
    "MIH_Link_Configure_Thresholds",
];
/// The point of service's interface to the backbone.
const INTERFACE: InterfaceId = InterfaceId(3);

fn backbone() -> LinkIdentifier {
    LinkIdentifier::new(15, b"backbone")
}

fn router() -> Ipv6Addr {
    ip("2001:db8:302::1")
}

/// A mobile, and a point of service that has all services.
fn unserved() -> World {
    world_of(all_services())
}

/// Returns the settings of a mobile that wants all services.
fn all_services() -> HandoverServiceSettings {
    let mut settings = service_settings(Signalling::Backward);
    settings.information = true;
    // The second one is not the point of service's.
    settings.remote_links = vec![backbone(), LinkIdentifier::new(15, b"elsewhere")];
    settings.rate_threshold = Some(1000);
    settings
}

fn world_of(settings: HandoverServiceSettings) -> World {
    let mut world = World::new(with_services(settings), agent_settings(), subscriber());
    world.services[0].add_own_link(INTERFACE, backbone());
    let mut network = Network::new(second_link(), b"operator", 5000, router());
    network.channel = Some([2_401_000, 2_423_000]);
    world.services[0].add_network(network);
    // Of another mobile's link.
    let other = LinkIdentifier::new(19, b"other");
    world.services[0].add_network(Network::new(other, b"operator", 1, router()));
    world
}

fn served() -> World {
    let mut world = unserved();
    world.services[0].enrol(mobile());
    world.attach(0, 1);
    world.run_until(at(1000));
    world
}

/// Lists the messages of the services, with their times in milliseconds.
fn said(world: &World) -> Vec<(u64, &'static str)> {
    let own = world
        .ladder
        .iter()
        .filter(|(_, name)| name.starts_with("MIH"));
    own.map(|&(at, name)| (at.as_nanos() / 1_000_000, name))
        .collect()
}

/// Lists the remote events, with their times in milliseconds.
fn events(world: &World) -> Vec<(u64, LinkEvent, Option<u64>)> {
    let all = world.events.iter().filter_map(|(at, event)| match event {
        MobileEvent::HandoverService(HandoverServiceEvent::Remote(RemoteEvent {
            link: 0,
            event,
            rate,
        })) => Some((
            at.as_nanos() / 1_000_000,
            *event,
            rate.map(DataRate::bits_per_second),
        )),
        _ => None,
    });
    all.collect()
}

fn report(world: &mut World, event: LinkEvent) {
    let now = world.now();
    world.services[0].handle_link(now, INTERFACE, event);
}

/// The address is ready 20 ms after the arrival; each exchange takes 40 ms.
#[test]
fn a_mobile_asks_for_its_services_at_its_first_place() {
    let world = served();
    let said = said(&world);
    let begun = said[0].0;
    for (number, exchange) in EXCHANGES.into_iter().enumerate() {
        let at = begun + 40 * number as u64;
        let expected = [
            (at, format!("{exchange} request")),
            (at + 20, format!("{exchange} response")),
        ];
        let found = said[2 * number..][..2]
            .iter()
            .map(|&(at, name)| (at, name.to_owned()));
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }
    assert_eq!(said.len(), 2 * EXCHANGES.len());
    let informed = world.events.iter().filter_map(|(_, event)| match event {
        MobileEvent::HandoverService(HandoverServiceEvent::Information(at, network)) => {
            Some((*at, *network))
        }
        _ => None,
    });
    let expected = NetworkInformation {
        rate: DataRate::from_bits_per_second(5_000_000),
        channel_khz: Some([2_401_000, 2_423_000]),
        router: router(),
    };
    assert_eq!(informed.collect::<Vec<_>>(), [(InterfaceId(1), expected)]);
}

/// A lost message costs a second; two cost two, or three in the same exchange. A message that is always lost ends the
/// requests after three transmissions.
#[test]
fn lost_requests_and_responses_are_made_good() {
    let whole = served().ladder.clone();
    let places: Vec<usize> = (0..whole.len())
        .filter(|&place| whole[place].1.starts_with("MIH"))
        .collect();
    let last = |world: &World| said(world).last().copied().expect("it speaks");
    let (without, granted) = last(&served());
    for (number, &first) in places.iter().enumerate() {
        for &second in &places[number..] {
            let mut world = unserved();
            world.services[0].enrol(mobile());
            world.lost = vec![first, second];
            world.attach(0, 1);
            world.run_until(at(20_000));
            let (at, name) = last(&world);
            assert_eq!(name, granted);
            // After a loss the second place may be another protocol's.
            let late: &[u64] = match first == second {
                true => &[1000],
                false => &[1000, 2000, 3000],
            };
            assert!(late.contains(&(at - without)), "{first} and {second}: {at}");
        }
        let mut never = unserved();
        never.services[0].enrol(mobile());
        never.lost_names = vec![whole[first].1];
        never.attach(0, 1);
        never.run_until(at(20_000));
        let sent = never.times_of(whole[first].1);
        assert_eq!(sent.len(), 3, "{}", whole[first].1);
        assert_eq!(sent[2] - sent[0], 3000);
        assert_eq!(last(&never).0, sent[2]);
    }
}

#[test]
fn an_event_is_reported_and_acknowledged() {
    let mut world = served();
    for (event, name) in [
        (LinkEvent::GoingDown, GOING_DOWN),
        (LinkEvent::Down, DOWN),
        (LinkEvent::Up, UP),
    ] {
        let begun = world.now();
        let now = begun.as_nanos() / 1_000_000;
        report(&mut world, event);
        world.run_until(begun + Duration::from_secs(10));
        let later: Vec<_> = said(&world)
            .into_iter()
            .filter(|&(at, _)| at >= now)
            .collect();
        assert_eq!(later, [(now, name), (now + 20, ACKNOWLEDGEMENT)]);
        assert_eq!(events(&world).last(), Some(&(now + 20, event, None)));
    }
    assert_eq!(events(&world).len(), 3);
    assert_eq!(world.services[0].counts(), Default::default());
}

/// A lost event comes a second later, and the next one after it. A lost acknowledgement costs a second too, but the event
/// counts once.
#[test]
fn events_are_retransmitted_until_they_are_acknowledged() {
    for (lost, times) in [(DOWN, [2020, 2060]), (ACKNOWLEDGEMENT, [1020, 2060])] {
        let mut world = served();
        let number = world.ladder.len();
        world.lost = vec![if lost == DOWN { number } else { number + 1 }];
        report(&mut world, LinkEvent::Down);
        report(&mut world, LinkEvent::Up);
        world.run_until(at(20_000));
        let expected = [
            (times[0], LinkEvent::Down, None),
            (times[1], LinkEvent::Up, None),
        ];
        assert_eq!(events(&world), expected, "{lost}");
        assert_eq!(world.times_of(DOWN), [1000, 2000]);
        assert_eq!(world.times_of(UP), [2040]);
    }
    // Never acknowledged: three times, and the next one seven seconds after the first.
    let mut world = served();
    world.lost_names = vec![DOWN];
    report(&mut world, LinkEvent::Down);
    report(&mut world, LinkEvent::Up);
    world.run_until(at(20_000));
    assert_eq!(world.times_of(DOWN), [1000, 2000, 4000]);
    assert_eq!(events(&world), [(8020, LinkEvent::Up, None)]);
}

/// Link_Parameters_Report tells of a data rate, the lower one of both directions, only when it crosses the threshold.
#[test]
fn a_data_rate_is_reported_at_its_threshold() {
    let mut world = served();
    let mut expected = Vec::new();
    for (outgoing, incoming, is_told) in [
        (2000, 2000, false),
        (2000, 999, true),
        (2000, 900, false),
        (1000, 2000, true),
        (1000, 1000, false),
        (999, 2000, true),
    ] {
        let rate = |kilobits: u64| DataRate::from_bits_per_second(1000 * kilobits);
        let now = world.now();
        report(
            &mut world,
            LinkEvent::Parameters(LinkParameters {
                outgoing: rate(outgoing),
                incoming: rate(incoming),
                round_trip: Duration::ZERO,
                outgoing_queue: None,
                incoming_queue: None,
                mtu: 1500,
            }),
        );
        if is_told {
            let at = now.as_nanos() / 1_000_000 + 20;
            expected.push((
                at,
                LinkEvent::ParametersReport,
                Some(1000 * outgoing.min(incoming)),
            ));
        }
        world.run_until(now + Duration::from_secs(1));
    }
    assert_eq!(events(&world), expected);
}

/// A mobile that is not served is refused, and asks again only once it has moved.
#[test]
fn a_refusal_ends_the_requests_until_the_next_move() {
    let mut world = unserved();
    world.attach(0, 1);
    world.run_until(at(20_000));
    let names: Vec<&str> = said(&world).into_iter().map(|(_, name)| name).collect();
    let expected = [
        "MIH_Capability_Discover request",
        "MIH_Capability_Discover response",
        "MIH_Register request",
        "MIH_Register response",
    ];
    assert_eq!(names, expected);
    world.services[0].enrol(mobile());
    world.detach(0);
    world.attach(1, 2);
    world.run_until(at(25_000));
    // Known capabilities are not requested again.
    assert_eq!(world.times_of(expected[0]).len(), 1);
    assert_eq!(
        world
            .times_of("MIH_Link_Configure_Thresholds response")
            .len(),
        1
    );
}

/// After a handover events go to the mobile's new address, once it has reported the handover.
#[test]
fn events_follow_the_mobile() {
    let mut world = served();
    let known = (service(0), ip(SERVICES[0]));
    world.services[0].add_link(first_link(), known.clone());
    world.services[0].add_link(second_link(), known);
    world.attach(1, 2);
    let now = world.now();
    world.mobile.prefer(now, InterfaceId(1));
    world.run_until(at(3000));
    world.detach(0);
    report(&mut world, LinkEvent::Down);
    world.run_until(at(4000));
    assert_eq!(events(&world), [(3020, LinkEvent::Down, None)]);
}

/// Events from others, of other links, and replays.
#[test]
fn nobody_elses_events_are_taken() {
    let mut world = served();
    let event = |link| {
        MihBody::Event(Event {
            link,
            change: LinkChange::Down,
        })
    };
    let right = Mih {
        wants_acknowledgement: true,
        ..Mih::new(77, [service(0), mobile()], event(backbone()))
    };
    let mut deliver = |message: &Mih, from: &str| {
        let packet = crate::mobility::datagram((ip(from), care_of(1)), mih::PORT, message.encode());
        let now = world.now();
        world.mobile.handle_packet(now, InterfaceId(0), packet);
        world.run_until(now);
        (events(&world).len(), world.times_of(ACKNOWLEDGEMENT).len())
    };
    let of_others = Mih::new(1, [service(0), service(1)], event(backbone()));
    let from_others = Mih::new(1, [service(1), mobile()], event(backbone()));
    let of_another = Mih::new(1, [service(0), mobile()], event(first_link()));
    for wrong in [of_others, from_others, of_another] {
        assert_eq!(deliver(&wrong, SERVICES[0]), (0, 0));
    }
    assert_eq!(deliver(&right, SERVICES[1]), (0, 0));
    assert_eq!(deliver(&right, SERVICES[0]), (1, 1));
    // Again: its acknowledgement may have been lost.
    assert_eq!(deliver(&right, SERVICES[0]), (1, 2));
    assert_eq!(world.mobile.counts().unexpected, 3);
    // Nobody waits for these acknowledgements.
    world.run_until(at(2000));
    assert_eq!(world.services[0].counts().unexpected, 2);
}

/// At the end of the services the mobile ends its subscription and its registration; later events do not reach it.
#[test]
fn services_end_at_their_time() {
    const END: [&str; 4] = [
        "MIH_Event_Unsubscribe request",
        "MIH_Event_Unsubscribe response",
        "MIH_DeRegister request",
        "MIH_DeRegister response",
    ];
    let ending = |lost: &[usize]| {
        let mut settings = all_services();
        settings.services_until = Some(at(5000));
        let mut world = world_of(settings);
        world.services[0].enrol(mobile());
        world.lost = lost.to_vec();
        world.attach(0, 1);
        world.run_until(at(20_000));
        world
    };
    let mut whole = ending(&[]);
    let times = [5000, 5020, 5040, 5060];
    for (name, at) in END.iter().zip(times) {
        assert_eq!(whole.times_of(name), [at], "{name}");
    }
    report(&mut whole, LinkEvent::Down);
    whole.run_until(at(25_000));
    assert!(events(&whole).is_empty());
    // Any two losses delay it.
    let places: Vec<usize> = (0..whole.ladder.len())
        .filter(|&place| END.contains(&whole.ladder[place].1))
        .collect();
    for (number, &first) in places.iter().enumerate() {
        for &second in &places[number..] {
            let mut world = ending(&[first, second]);
            assert!(!world.times_of(END[3]).is_empty());
            report(&mut world, LinkEvent::Down);
            world.run_until(at(30_000));
            assert!(events(&world).is_empty());
        }
    }
}

/// The rate of an access link that changes is pushed to the mobile that has queried the link's network, also if any one
/// message is lost; an unchanged rate is not.
#[test]
fn new_information_is_pushed() {
    const PUSH: &str = "MIH_Push_Information indication";
    let informed = |world: &World| {
        let mut all = world.events.iter().filter_map(|(at, event)| match event {
            MobileEvent::HandoverService(HandoverServiceEvent::Information(place, network)) => {
                let rate = network.rate.bits_per_second();
                Some((at.as_nanos() / 1_000_000, place.0, rate))
            }
            _ => None,
        });
        all.next_back().expect("information")
    };
    for (lost, arrived) in [(None, 1020), (Some(0), 2020), (Some(1), 1020)] {
        let mut world = served();
        world.services[0].add_access_link(InterfaceId(4), second_link());
        let number = world.ladder.len();
        world.lost = lost.map(|after| number + after).into_iter().collect();
        let rate = |kilobits: u64| DataRate::from_bits_per_second(1000 * kilobits);
        for kilobits in [5000, 700] {
            let parameters = LinkParameters {
                outgoing: rate(9000),
                incoming: rate(kilobits),
                round_trip: Duration::ZERO,
                outgoing_queue: None,
                incoming_queue: None,
                mtu: 1500,
            };
            let now = world.now();
            world.services[0].handle_link(now, InterfaceId(4), LinkEvent::Parameters(parameters));
            world.run_until(now);
        }
        world.run_until(at(20_000));
        assert_eq!(informed(&world), (arrived, 1, 700_000), "{lost:?}");
        let sent = world.times_of(PUSH).len();
        assert_eq!(sent, if lost.is_some() { 2 } else { 1 });
        assert_eq!(world.services[0].counts(), Default::default());
    }
}
