//! Handovers that the network begins, as timelines. Every path takes 20 ms. The point of service is the gateway of the
//! first link; the second link has a gateway of its own.

use super::handover_service::{
    first_link, mobile, second_link, service, service_settings, with_services,
};
use super::*;
use crate::interface::{LinkEvent, TransmitStatus};
use crate::mobility::handover_service::{HandoverServiceEvent, Offload, Signalling};
use crate::rate::DataRate;
use crate::wire::mih::{
    ActionKind, ActionOutcome, ActionResult, Answer, Body as MihBody, DetectedLink, LinkAction,
    LinkIdentifier, Mih, Query, Request, Response, Service, Status,
};

/// The messages of a handover that the network begins, in order.
const MESSAGES: [&str; 16] = [
    "MIH_Link_Get_Parameters request",
    "MIH_Link_Get_Parameters response",
    "Net_HO_Candidate_Query request",
    "Net_HO_Candidate_Query response",
    "N2N_HO_Query_Resources request",
    "N2N_HO_Query_Resources response",
    "N2N_HO_Commit request",
    "N2N_HO_Commit response",
    "Net_HO_Commit request",
    "Net_HO_Commit response",
    "MN_HO_Complete request",
    "MN_HO_Complete response",
    "MIH_Link_Actions request",
    "MIH_Link_Actions response",
    "MIH_Link_Actions request",
    "MIH_Link_Actions response",
];
/// The point of service's interface to the first link.
const INTERFACE: InterfaceId = InterfaceId(4);

fn rule() -> Offload {
    Offload {
        mobile: mobile(),
        from: first_link(),
        to: second_link(),
        after: Duration::from_secs(2),
        powers_down: true,
    }
}

/// The mobile is registered at the point of service, over its first link.
fn world() -> World {
    let mut settings = service_settings(Signalling::Backward);
    settings.obeys = true;
    let mut world = World::new(with_services(settings), agent_settings(), subscriber());
    world.services[0].enrol(mobile());
    for (link, gateway) in [(first_link(), 0), (second_link(), 1)] {
        let in_charge = (service(gateway), ip(SERVICES[gateway]));
        world.services[0].add_link(link.clone(), in_charge.clone());
        world.services[gateway].add_link(link, in_charge);
    }
    world.services[0].add_offload(INTERFACE, rule());
    world.attach(0, 1);
    world.run_until(at(1000));
    world
}

/// Offers a packet to the first link's queue, which is more than half full or not; returns true if a handover begins.
fn offer(world: &mut World, over_half: bool) -> bool {
    let pressure = over_half.then(|| DataRate::from_bits_per_second(1_000_000));
    let now = world.now();
    world.services[0].handle_status(now, INTERFACE, TransmitStatus::Queued { pressure })
}

/// Overloads the link for two seconds, until a handover begins.
fn overload(world: &mut World) {
    assert!(!offer(world, true));
    let end = world.now() + Duration::from_secs(2);
    world.run_until(end);
    assert!(offer(world, true));
    let now = world.now();
    world.run_until(now);
}

/// Lists the messages of IEEE 802.21 since a time in milliseconds.
fn said(world: &World, since: u64) -> Vec<&'static str> {
    let names = world.names_since(at(since)).into_iter();
    names
        .filter(|name| name.contains("_HO_") || name.starts_with("MIH"))
        .collect()
}

fn is_ordered(world: &World) -> bool {
    let mut events = world.events.iter();
    let ordered = HandoverServiceEvent::Ordered(InterfaceId(1));
    events.any(|(_, event)| *event == MobileEvent::HandoverService(ordered))
}

/// Runs until a time; the mobile makes the handover when it is ordered.
fn obey_until(world: &mut World, end: u64, step: u64) {
    let mut has_moved = false;
    while world.now() < at(end) {
        let now = world.now() + Duration::from_millis(step);
        world.run_until(now);
        if !has_moved && is_ordered(world) {
            has_moved = true;
            world.attach(1, 2);
            world.mobile.prefer(now, InterfaceId(1));
            world.run_until(now);
        }
    }
}

/// Each exchange takes 40 ms. The order arrives 180 ms after the overload is noticed.
#[test]
fn an_overloaded_link_s_mobile_is_ordered_to_another() {
    let mut world = world();
    overload(&mut world);
    obey_until(&mut world, 10_000, 1);
    assert_eq!(world.mobile.registered(world.now()), Some(care_of(2)));
    assert_eq!(said(&world, 3000), MESSAGES[..14]);
    for (number, name) in MESSAGES[..10].iter().enumerate() {
        assert_eq!(world.times_of(name), [3000 + 20 * number as u64], "{name}");
    }
    let ordered = world.events.iter().find_map(|(at, event)| match event {
        MobileEvent::HandoverService(HandoverServiceEvent::Ordered(to)) => Some((*at, *to)),
        _ => None,
    });
    assert_eq!(ordered, Some((at(3180), InterfaceId(1))));
    let released = MobileEvent::HandoverService(HandoverServiceEvent::Released(InterfaceId(0)));
    assert!(world.events.iter().any(|(_, event)| *event == released));
    assert_eq!(world.services[0].counts(), Default::default());
}

/// A packet that finds the queue at most half full ends the overload.
#[test]
fn only_a_lasting_overload_counts() {
    let mut world = world();
    for (time, over_half, begins) in [
        (1000, true, false),
        (2999, true, false),
        (3000, false, false),
        (3001, true, false),
        (5000, true, false),
        (5001, true, true),
        // It is under way.
        (9000, true, false),
    ] {
        world.run_until(at(time));
        assert_eq!(offer(&mut world, over_half), begins, "{time}");
    }
}

/// Any one or two lost messages are made good by retransmissions: the mobile moves, reports it, and powers its old link
/// down.
#[test]
fn any_two_lost_messages_still_lead_to_the_handover() {
    let whole = {
        let mut world = world();
        overload(&mut world);
        obey_until(&mut world, 10_000, 10);
        world.ladder.clone()
    };
    let is_ours =
        |place: &usize| MESSAGES.contains(&whole[*place].1) && whole[*place].0 >= at(3000);
    let places: Vec<usize> = (0..whole.len()).filter(is_ours).collect();
    assert_eq!(places.len(), 14);
    for (number, &first) in places.iter().enumerate() {
        for &second in &places[number..] {
            let mut world = world();
            world.lost = vec![first, second];
            overload(&mut world);
            obey_until(&mut world, 20_000, 10);
            let lost = [first, second].map(|place| whole[place].1);
            assert_eq!(
                world.mobile.registered(world.now()),
                Some(care_of(2)),
                "{lost:?}"
            );
            let released =
                MobileEvent::HandoverService(HandoverServiceEvent::Released(InterfaceId(0)));
            let told = world.events.iter().any(|(_, event)| *event == released);
            assert!(told, "{lost:?}");
            let names = said(&world, 3000);
            assert!(names.contains(&MESSAGES[11]), "{lost:?}");
        }
    }
}

/// Without an answer the network gives up after seven seconds, and tries again after the next overload.
#[test]
fn without_an_answer_the_mobile_stays() {
    for name in &MESSAGES[..8] {
        let mut world = world();
        world.lost_names = vec![name];
        overload(&mut world);
        obey_until(&mut world, 20_000, 10);
        assert_eq!(world.times_of(name).len(), 3, "{name}");
        assert!(!is_ordered(&world), "{name}");
        world.lost_names.clear();
        assert!(!offer(&mut world, true));
        world.run_until(at(22_000));
        assert!(offer(&mut world, true));
        obey_until(&mut world, 30_000, 10);
        assert!(is_ordered(&world), "{name}");
    }
}

/// The report of completion stands for an answer to the commitment that never comes.
#[test]
fn an_unanswered_commitment_is_settled_by_the_report() {
    let mut world = world();
    world.lost_names = vec![MESSAGES[9]];
    overload(&mut world);
    obey_until(&mut world, 20_000, 10);
    assert_eq!(world.times_of(MESSAGES[8]).len(), 1);
    assert_eq!(world.times_of(MESSAGES[12]).len(), 1);
}

#[test]
fn a_link_that_is_down_is_declined_and_one_that_is_off_is_powered_up() {
    let mut down = world();
    down.mobile.handle_medium(InterfaceId(1), LinkEvent::Down);
    overload(&mut down);
    obey_until(&mut down, 10_000, 10);
    assert_eq!(said(&down, 3000), MESSAGES[..4]);
    let mut off = world();
    let off_now = LinkAction {
        link: second_link(),
        kind: ActionKind::PowerDown,
        scans: false,
    };
    command(&mut off, Request::Act(vec![off_now]));
    let begun = off.ladder.len();
    overload(&mut off);
    obey_until(&mut off, 10_000, 10);
    let names: Vec<&str> = off.ladder[begun..].iter().map(|(_, name)| *name).collect();
    assert_eq!(
        names[..5],
        [
            MESSAGES[0],
            MESSAGES[1],
            MESSAGES[12],
            MESSAGES[13],
            MESSAGES[2]
        ]
    );
    assert!(is_ordered(&off));
}

/// Sends the mobile a request of its point of service, which expects no answer; returns the number of answers.
fn command(world: &mut World, request: Request) -> u64 {
    let before = world.services[0].counts().unexpected;
    let message = Mih::new(9, [service(0), mobile()], MihBody::Request(request));
    let ends = (ip(SERVICES[0]), care_of(1));
    let packet = crate::mobility::datagram(ends, mih::PORT, message.encode());
    let now = world.now();
    world.mobile.handle_packet(now, InterfaceId(0), packet);
    world.run_until(now + Duration::from_millis(100));
    world.services[0].counts().unexpected - before
}

/// Returns the result of an action of a link.
fn act(world: &mut World, link: LinkIdentifier, kind: ActionKind, scans: bool) -> ActionResult {
    let action = LinkAction { link, kind, scans };
    let request = MihBody::Request(Request::Act(vec![action]));
    let message = Mih::new(9, [service(0), mobile()], request);
    let ends = (ip(SERVICES[0]), care_of(1));
    let packet = crate::mobility::datagram(ends, mih::PORT, message.encode());
    let now = world.now();
    world.mobile.handle_packet(now, InterfaceId(0), packet);
    let (_, answer) = world.mobile.poll_transmit().expect("an answer");
    let crate::packet::Body::Udp(_, Payload::Bytes(bytes)) = answer.body else {
        panic!("{answer:?}");
    };
    match Mih::decode(&bytes).expect("a message").body {
        MihBody::Response(Response::Granted(Answer::Acted(mut results))) => {
            results.pop().expect("a result")
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn actions_of_links_have_results() {
    let mut world = world();
    let none: Option<Vec<DetectedLink>> = None;
    let other = LinkIdentifier::new(19, b"other");
    for (link, kind, scans, outcome, scan) in [
        // The link in use stays.
        (
            first_link(),
            ActionKind::PowerDown,
            false,
            ActionOutcome::Refused,
            none.clone(),
        ),
        (
            first_link(),
            ActionKind::Disconnect,
            false,
            ActionOutcome::Refused,
            none.clone(),
        ),
        (
            second_link(),
            ActionKind::LowPower,
            false,
            ActionOutcome::Incapable,
            none.clone(),
        ),
        (
            other,
            ActionKind::PowerUp,
            true,
            ActionOutcome::Incapable,
            none.clone(),
        ),
        // A scan finds the link, unless it is off.
        (
            second_link(),
            ActionKind::None,
            true,
            ActionOutcome::Success,
            Some(vec![DetectedLink::new(b"second", b"", 100)]),
        ),
        (
            second_link(),
            ActionKind::PowerDown,
            true,
            ActionOutcome::Success,
            Some(vec![]),
        ),
        (
            second_link(),
            ActionKind::PowerUp,
            false,
            ActionOutcome::Success,
            none,
        ),
    ] {
        let result = act(&mut world, link.clone(), kind, scans);
        assert_eq!(
            result,
            ActionResult {
                link,
                outcome,
                scan
            },
            "{kind:?}"
        );
    }
}

/// A query in SPARQL is refused; a fragment, and requests that are for mobiles, are not served.
#[test]
fn what_the_point_of_service_does_not_do() {
    let mut world = world();
    for (request, service_asked) in [
        (Request::GetInformation(Query::Rdf), Service::Information),
        (
            Request::GetParameters(vec![first_link()]),
            Service::Parameters,
        ),
        (Request::Act(vec![]), Service::Actions),
    ] {
        let message = Mih::new(9, [mobile(), service(0)], MihBody::Request(request));
        let ends = (care_of(1), ip(SERVICES[0]));
        let now = world.now();
        let packet = crate::mobility::datagram(ends, mih::PORT, message.encode());
        assert_eq!(world.services[0].handle_packet(now, packet), None);
        let answer = world.services[0].poll_transmit().expect("an answer");
        let refusal = Response::Refused(service_asked, Status::Rejected);
        let expected = message.answer(MihBody::Response(refusal)).encode();
        let crate::packet::Body::Udp(_, Payload::Bytes(bytes)) = answer.body else {
            panic!("{answer:?}");
        };
        assert_eq!(*bytes, *expected);
        // More fragments follow, or it is a later one.
        for (place, bit) in [(0, 0x01), (1, 0x02)] {
            let before = world.services[0].counts().unexpected;
            let mut fragment = message.encode();
            fragment[place] |= bit;
            let packet = crate::mobility::datagram(ends, mih::PORT, fragment);
            assert_eq!(world.services[0].handle_packet(now, packet), None);
            assert_eq!(world.services[0].counts().unexpected, before + 1);
            assert!(world.services[0].poll_transmit().is_none());
        }
    }
    // The mobile answers no requests for points of service but by a refusal.
    assert_eq!(command(&mut world, Request::Discover), 1);
}
