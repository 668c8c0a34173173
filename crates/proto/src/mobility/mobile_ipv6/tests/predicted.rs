//! Fast handovers that the routers agree on ahead (RFC 5568, predictive mode).

use super::losses::assert_works;
use super::*;
use crate::wire::mobility_header::{
    BindingAcknowledgement, BindingUpdate, HandoverAcknowledge, HandoverCode, HandoverInitiate,
};

/// Returns a mobile on link 1, whose addresses take a second of duplicate address detection; its interface 1 leads to
/// link 2.
fn world(lost: Vec<usize>) -> World {
    let mobile = mobile_with(|fleet| {
        fleet.configuration = configuration(DuplicateAddressDetection::STANDARD);
        fleet.tells_routers = true;
    });
    let mut world = World::new(mobile, agent_settings(), subscriber())
        .with_buffering_routers(POLICY)
        .with_known_routers(POLICY);
    world.lost = lost;
    world.attach(0, 1);
    world.run_until(at(10_000));
    world
}

/// Moves to link 2: announced at 10 s, if so, left at 10.5 s, there at 11 s. A datagram leaves every 50 ms from 10 s to
/// 14 s.
fn moved(mut world: World, announced: bool) -> World {
    for number in 0..80 {
        world.run_until(at(10_000 + number * 50));
        let now = world.now();
        match number {
            0 if announced => world.mobile.prepare_handover(now, InterfaceId(1)),
            10 => world.detach(0),
            20 => world.attach(1, 2),
            _ => {}
        }
        world.send_down(ip(HOME), number);
    }
    world.run_until(at(40_000));
    world
}

#[test]
fn the_routers_agree_and_nothing_waits_for_the_new_address() {
    let mut world = moved(world(Vec::new()), true);
    // The router's packets reach a mobile on its link at once here, those that it held after 20 ms.
    world.got.sort_unstable();
    assert_eq!(world.got, (0..80).collect::<Vec<_>>());
    let said: Vec<(u64, &str)> = world
        .ladder
        .iter()
        .filter(|(sent, _)| *sent >= at(10_000))
        .map(|&(sent, name)| (sent.as_nanos() / 1_000_000, name))
        .filter(|(_, name)| !["RA", "RS", "NS", "MLD"].contains(name))
        .collect();
    // Each path takes 20 ms. The binding update leaves the moment that the link is up.
    let expected = [
        (10_000, "RtSolPr"),
        (10_020, "PrRtAdv"),
        (10_040, "FBU"),
        (10_060, "HI"),
        (10_080, "HAck"),
        (10_100, "FBack"),
        (11_000, "BU"),
        (11_020, "BA"),
    ];
    assert_eq!(said, expected);
    let counts = world.routers[2].counts();
    assert!(counts.held >= 10, "{counts:?}");
    assert_eq!(counts.held, counts.released);
    assert!(world.stale.is_empty());
}

/// Without an announcement the same mobile loses nothing either, but waits for the address: a second of detection.
#[test]
fn an_unforeseen_move_waits_for_the_new_address() {
    let world = moved(world(Vec::new()), false);
    assert_eq!(world.got, (0..80).collect::<Vec<_>>());
    let updates = world.times_of("FBU");
    assert!(updates[0] >= 12_000, "{updates:?}");
    assert!(world.times_of("HI").is_empty());
}

#[test]
fn a_mobile_that_nobody_expects_moves_in_the_reactive_mode() {
    for lost in ["RtSolPr", "PrRtAdv", "HI", "HAck"] {
        let mut world = world(Vec::new());
        world.lost_names = vec![lost];
        let world = moved(world, true);
        assert_eq!(world.got, (0..80).collect::<Vec<_>>(), "{lost}");
        let updates = world.times_of("FBU");
        assert!(updates.iter().any(|&sent| sent >= 12_000), "{updates:?}");
    }
}

#[test]
fn packets_for_a_mobile_that_stays_come_back_to_its_link() {
    let mut world = world(Vec::new());
    let now = world.now();
    world.mobile.prepare_handover(now, InterfaceId(1));
    world.run_until(at(10_500));
    world.send_down(ip(HOME), 1);
    world.run_until(at(11_000));
    assert!(world.got.is_empty(), "on its way to the next link");
    let now = world.now();
    let neighbor = world.neighbor(1);
    world.routers[1].handle_return(now, care_of(1));
    world.send_down(ip(HOME), 2);
    world.run_until(at(100_000));
    assert_eq!(world.got, [2]);
    let counts = world.routers[2].counts();
    assert_eq!((counts.held, counts.expired), (1, 1));
    // A later departure is a new one.
    let now = world.now();
    world.routers[1].handle_departure(now, neighbor);
    world.send_down(ip(HOME), 3);
    world.run_until(at(101_000));
    assert_eq!(world.routers[1].counts().held, 1);
}

/// Hands a message to a router and returns its answers.
fn told(
    router: &mut AccessRouter,
    from: Ipv6Addr,
    message: MobilityMessage,
) -> Vec<MobilityMessage> {
    let to = router.settings().address;
    let packet = mobility_packet((from, to), (None, None), message);
    assert_eq!(router.take_message(at(10_000), packet), None);
    let sent = core::iter::from_fn(|| router.poll_transmit());
    sent.filter_map(|(_, packet)| match packet.body {
        Body::Mobility(message) => Some(*message),
        _ => None,
    })
    .collect()
}

#[test]
fn strangers_and_wrong_addresses_are_refused() {
    let mut world = world(Vec::new());
    let asked = |new| {
        MobilityMessage::HandoverInitiate(HandoverInitiate {
            sequence: 7,
            buffers: true,
            previous_care_of_address: care_of(1),
            new_care_of_address: new,
        })
    };
    let answered = |code| {
        vec![MobilityMessage::HandoverAcknowledge(HandoverAcknowledge {
            sequence: 7,
            code,
        })]
    };
    let known = world.routers[1].settings().address;
    let free = link_prefix(2).address_of(ip("::77"));
    let router = &mut world.routers[2];
    assert_eq!(
        told(router, ip(CORRESPONDENT), asked(free)),
        answered(HandoverCode::ADMINISTRATIVELY_PROHIBITED)
    );
    assert_eq!(
        told(router, known, asked(care_of(1))),
        answered(HandoverCode::ADDRESS_NOT_VALID)
    );
    assert!(!router.takes(free.into()));
    assert_eq!(
        told(router, known, asked(free)),
        answered(HandoverCode::ACCEPTED)
    );
    assert!(router.takes(free.into()));
    // An answer that nobody asked for.
    let answer = answered(HandoverCode::ACCEPTED).remove(0);
    assert!(told(router, known, answer).is_empty());
    // A mobile on the link has the address.
    let mut neighbor = world.neighbor(2);
    neighbor.address = link_prefix(2).address_of(ip("::99")).into();
    world.routers[2].handle_arrival(at(10_000), neighbor);
    while world.routers[2].poll_transmit().is_some() {}
    let taken = link_prefix(2).address_of(ip("::99"));
    assert_eq!(
        told(&mut world.routers[2], known, asked(taken)),
        answered(HandoverCode::ADDRESS_NOT_VALID)
    );
    // An update ahead of a move, from a mobile that is not on the link.
    let update = BindingUpdate {
        sequence: 3,
        acknowledge: true,
        home_registration: true,
        lifetime: BindingLifetime::at_most(32),
        alternate_care_of_address: Some(care_of(2)),
        ..BindingUpdate::default()
    };
    let absent = link_prefix(1).address_of(ip("::55"));
    let message = MobilityMessage::FastBindingUpdate(update);
    let packet = mobility_packet((absent, known), (Some(absent), None), message);
    assert_eq!(world.routers[1].take_message(at(10_000), packet), None);
    let sent = world.routers[1].poll_transmit().map(|(_, packet)| packet);
    let refused =
        BindingAcknowledgement::new(BindingStatus::REASON_UNSPECIFIED, 3, BindingLifetime::ZERO);
    let message = MobilityMessage::FastBindingAcknowledgement(refused);
    assert_eq!(
        sent,
        Some(mobility_packet((known, absent), (None, None), message))
    );
    assert!(!world.routers[1].takes(absent.into()));
}

/// A mobile that stays tells its router, also if a message is lost, and moves in the reactive mode later on.
#[test]
fn a_mobile_that_stays_withdraws_its_report() {
    for (lost, back_by) in [(&[][..], 11_040), (&["FBU"], 12_040), (&["FBack"], 11_040)] {
        let mut world = world(Vec::new());
        let now = world.now();
        world.mobile.prepare_handover(now, InterfaceId(1));
        world.run_until(at(11_000));
        let now = world.now();
        world.lost_names = lost.to_vec();
        world.mobile.link_rollback(now, InterfaceId(0));
        world.settle();
        world.run_until(at(11_500));
        world.lost_names.clear();
        world.run_until(at(back_by));
        world.send_down(ip(HOME), 1);
        world.run_until(at(20_000));
        assert_eq!(world.got, [1], "{lost:?}");
        let updates = world.times_of("FBU").len();
        world.run_until(at(60_000));
        assert_eq!(world.times_of("FBU").len(), updates, "{lost:?}: answered");
        world.detach(0);
        world.attach(1, 2);
        for number in 2..40 {
            world.send_down(ip(HOME), number);
            let soon = world.now() + Duration::from_millis(100);
            world.run_until(soon);
        }
        world.run_until(at(70_000));
        world.got.sort_unstable();
        assert_eq!(world.got, (1..40).collect::<Vec<_>>(), "{lost:?}");
        assert!(world.times_of("FBU").len() > updates, "{lost:?}: reactive");
    }
}

/// Checks that the mobile is reached at link 2 in the end.
fn settled(mut world: World, lost: &[usize]) {
    world.run_until(at(200_000));
    assert_works(world, lost);
}

#[test]
fn any_one_or_two_lost_messages_end_in_a_working_binding() {
    let messages = moved(world(Vec::new()), true).ladder.len();
    assert!(messages > 15, "{messages}");
    for first in 0..messages {
        let one = moved(world(vec![first]), true);
        let after = one.ladder.len();
        settled(one, &[first]);
        for second in first + 1..after {
            settled(moved(world(vec![first, second]), true), &[first, second]);
        }
    }
}
