//! Mobility anchor points (RFC 5380): links 1 and 2 are in the domain of one, or of one each.

use super::*;
use crate::wire::mobility_header::{BindingAcknowledgement, BindingUpdate};
use crate::wire::neighbor_discovery::{NeighborDiscovery, RouterAdvertisement};

/// Returns the prefix of an anchor point's regional care-of addresses.
fn anchor_prefix(number: usize) -> Ipv6Prefix {
    prefix(["2001:db8:901::", "2001:db8:902::"][number], 64)
}

fn anchor_address(number: usize) -> Ipv6Addr {
    anchor_prefix(number).address_of(ip("::1"))
}

/// Returns the mobile's regional care-of address at an anchor point.
fn regional(number: usize) -> Ipv6Addr {
    anchor_prefix(number).address_of(ip("::abc"))
}

fn anchor_point(number: usize) -> AnchorPoint {
    AnchorPoint {
        distance: 2,
        preference: 15,
        forms_addresses: true,
        valid_lifetime_s: 3600,
        address: anchor_address(number),
    }
}

fn anchor_settings(number: usize) -> HomeAgentSettings {
    HomeAgentSettings {
        is_anchor_point: true,
        address: anchor_address(number),
        home_prefix: anchor_prefix(number),
        ..agent_settings()
    }
}

fn anchor(number: usize, key: Option<SharedKey>, settings: HomeAgentSettings) -> HomeAgent {
    let mut anchor = HomeAgent::new(settings);
    anchor.subscribe(Subscriber {
        home_address: regional(number),
        key,
        prefixes: None,
    });
    anchor
}

/// Returns the usual mobile, which uses anchor points.
fn anchored(key: Option<SharedKey>, change: impl FnOnce(&mut FleetSettings)) -> MobileSettings {
    MobileSettings {
        anchors: Some(Box::new(AnchorSettings { key })),
        ..mobile_with(change)
    }
}

/// Returns a network in which the routers of links 1 and 2 advertise these anchor points.
fn world_with(mobile: MobileSettings, points: [&[AnchorPoint]; 2]) -> World {
    let key = mobile.anchors.as_ref().and_then(|anchors| anchors.key);
    let mut world = World::new(mobile, agent_settings(), subscriber());
    world.anchors = (0..2)
        .map(|number| anchor(number, key, anchor_settings(number)))
        .collect();
    for (link, points) in [(1, points[0]), (2, points[1])] {
        world.routers[link] = router_with(link, points);
    }
    world
}

/// Returns a mobile on link 1, in the domain of anchor point 0, with link 2 in the same or the other domain.
fn settled(mobile: MobileSettings, other: usize) -> World {
    let mut world = world_with(mobile, [&[anchor_point(0)], &[anchor_point(other)]]);
    world.attach(0, 1);
    world.run_until(at(10_000));
    world
}

/// Lists the binding messages since a time, each with its time after that in milliseconds.
fn bindings_since(world: &World, since: Instant) -> Vec<(u64, &'static str)> {
    let all = world.ladder.iter().filter(|(sent, _)| *sent >= since);
    all.map(|&(sent, name)| (sent.saturating_since(since).as_nanos() / 1_000_000, name))
        .filter(|(_, name)| !["RA", "RS", "NS", "NA", "MLD"].contains(name))
        .collect()
}

/// Checks that a datagram each way arrives.
fn assert_reachable(world: &mut World, context: &str) {
    world.got.clear();
    world.stale.clear();
    world.send_down(ip(HOME), 1_000_000);
    world.send_up(ip(HOME), 1_000_001);
    let end = world.now() + Duration::from_secs(1);
    world.run_until(end);
    assert_eq!(world.got, [1_000_000], "{context}");
    let last = world.answered.last();
    assert_eq!(last, Some(&(1_000_001, ip(HOME).into())), "{context}");
    assert!(world.stale.is_empty(), "{context}");
}

/// Section 6.1: the mobile is bound at the anchor point first; the home agent gets the regional address, through the
/// anchor point's tunnel, so that its messages take two paths of 20 ms each way.
#[test]
fn the_home_agent_learns_the_regional_address() {
    let mut world = world_with(anchored(None, |_| {}), [&[anchor_point(0)], &[]]);
    world.attach(0, 1);
    let settled_at = world.times_of("LBU");
    world.run_until(at(10_000));
    assert_eq!(settled_at, [] as [u64; 0]);
    let begun = at(world.times_of("LBU")[0]);
    let expected = [
        (0, "LBU"),
        (20, "BA"),
        (40, "BU"),
        (60, "BU"),
        (80, "BA"),
        (100, "BA"),
    ];
    assert_eq!(bindings_since(&world, begun), expected);
    assert_eq!(world.anchors[0].care_of(regional(0)), Some(care_of(1)));
    assert_eq!(world.home_agent.care_of(ip(HOME)), Some(regional(0)));
    assert_eq!(world.mobile.registered(world.now()), Some(regional(0)));
    assert_reachable(&mut world, "anchored");
}

/// A move inside the domain is a round trip with the anchor point, and the home agent does not learn of it.
#[test]
fn a_move_inside_the_domain_is_reported_to_the_anchor_point_alone() {
    let mut world = settled(anchored(None, |_| {}), 0);
    world.detach(0);
    world.run_until(at(11_000));
    world.attach(1, 2);
    world.run_until(at(20_000));
    let begun = at(world.times_of("LBU")[1]);
    assert_eq!(bindings_since(&world, begun), [(0, "LBU"), (20, "BA")]);
    assert_eq!(world.anchors[0].care_of(regional(0)), Some(care_of(2)));
    assert_eq!(world.home_agent.care_of(ip(HOME)), Some(regional(0)));
    assert_reachable(&mut world, "moved");
}

/// With two links up, the mobile sends by the binding that the anchor point knows, and nothing is lost.
#[test]
fn soft_moves_lose_nothing() {
    for other in [0, 1] {
        let mut world = settled(anchored(None, |_| {}), other);
        for number in 0..100 {
            world.run_until(at(10_000 + number * 20));
            match number {
                10 => {
                    world.attach(1, 2);
                    let now = world.now();
                    world.mobile.prefer(now, InterfaceId(1));
                }
                90 => world.detach(0),
                _ => {}
            }
            world.send_down(ip(HOME), number);
            world.send_up(ip(HOME), number);
        }
        world.run_until(at(20_000));
        world.got.sort_unstable();
        assert_eq!(world.got, (0..100).collect::<Vec<_>>(), "{other}");
        let mut answered: Vec<u64> = world.answered.iter().map(|&(number, _)| number).collect();
        answered.sort_unstable();
        assert_eq!(answered, (0..100).collect::<Vec<_>>(), "{other}");
        assert_eq!(world.home_agent.care_of(ip(HOME)), Some(regional(other)));
        assert_reachable(&mut world, "moved");
    }
}

/// Section 8: the previous anchor point gets the new on-link address, and forwards what still comes there.
#[test]
fn the_previous_anchor_point_forwards_late_packets() {
    let mut world = settled(anchored(None, |_| {}), 1);
    world.detach(0);
    world.attach(1, 2);
    for number in 0..200 {
        world.run_until(at(10_000 + number * 10));
        world.send_down(ip(HOME), number);
    }
    world.run_until(at(20_000));
    let begun = at(world.times_of("LBU")[1]);
    let expected = [
        // To the previous anchor point and to the new one.
        (0, "LBU"),
        (0, "LBU"),
        (20, "BA"),
        (20, "BA"),
        (40, "BU"),
        (60, "BU"),
        (80, "BA"),
        (100, "BA"),
    ];
    assert_eq!(bindings_since(&world, begun), expected);
    assert_eq!(world.anchors[0].care_of(regional(0)), Some(care_of(2)));
    assert_eq!(world.home_agent.care_of(ip(HOME)), Some(regional(1)));
    // Two paths before the previous anchor point, each of 20 ms: what was sent before is lost, and nothing after.
    let first = world.got[0];
    assert_eq!(world.got, (first..200).collect::<Vec<_>>());
    let sent = at(10_000 + first * 10);
    let known = begun + Duration::from_millis(20);
    assert!(
        sent + Duration::from_millis(40) >= known,
        "{sent:?} {known:?}"
    );
    assert!(
        sent + Duration::from_millis(30) < known,
        "{sent:?} {known:?}"
    );
    // It forwards for 32 s, and for no longer.
    world.run_until(at(60_000));
    assert_eq!(world.anchors[0].care_of(regional(0)), None);
    assert_reachable(&mut world, "moved");
}

/// Section 9.1: the furthest anchor point that has a preference and a lifetime; the one in use as long as it is
/// advertised.
#[test]
fn the_furthest_available_anchor_point_is_chosen() {
    let point = |number, distance, preference, valid_lifetime_s| AnchorPoint {
        distance,
        preference,
        valid_lifetime_s,
        ..anchor_point(number)
    };
    for (points, expected) in [
        (vec![point(0, 1, 15, 60), point(1, 2, 1, 60)], Some(1)),
        (vec![point(0, 1, 15, 60), point(1, 2, 0, 60)], Some(0)),
        (vec![point(0, 1, 15, 60), point(1, 2, 1, 0)], Some(0)),
        (vec![point(0, 2, 1, 60), point(1, 2, 2, 60)], Some(1)),
        (vec![point(0, 2, 2, 60), point(1, 2, 2, 60)], Some(0)),
        (vec![point(0, 2, 0, 60)], None),
        (
            vec![AnchorPoint {
                forms_addresses: false,
                ..anchor_point(0)
            }],
            None,
        ),
        (
            vec![AnchorPoint {
                address: ip("fe80::1"),
                ..anchor_point(0)
            }],
            None,
        ),
        // The regional address would be the home address.
        (
            vec![AnchorPoint {
                address: ip(HOME_AGENT),
                ..anchor_point(0)
            }],
            None,
        ),
    ] {
        let mut world = world_with(anchored(None, |_| {}), [&points, &points]);
        world.attach(0, 1);
        world.run_until(at(10_000));
        let expected = expected.map_or(care_of(1), regional);
        let bound = world.home_agent.care_of(ip(HOME));
        assert_eq!(bound, Some(expected), "{points:?}");
        assert_reachable(&mut world, "anchored");
    }
    let both = [anchor_point(0), point(1, 9, 15, 60)];
    let mut world = world_with(anchored(None, |_| {}), [&both[..1], &both]);
    world.attach(0, 1);
    world.run_until(at(10_000));
    world.detach(0);
    world.attach(1, 2);
    world.run_until(at(20_000));
    assert_eq!(world.home_agent.care_of(ip(HOME)), Some(regional(0)));
}

/// An anchor point that is advertised without a lifetime has failed (section 10): the mobile does without it at once.
#[test]
fn an_anchor_point_that_has_failed_is_not_used() {
    for other in [None, Some(1)] {
        let mut world = settled(anchored(None, |_| {}), 0);
        let failed = AnchorPoint {
            valid_lifetime_s: 0,
            ..anchor_point(0)
        };
        let other_point = other.map(anchor_point);
        let points: Vec<AnchorPoint> = [failed].into_iter().chain(other_point).collect();
        world.routers[1] = router_with(1, &points);
        let (now, neighbor) = (world.now(), world.neighbor(1));
        world.routers[1].handle_arrival(now, neighbor);
        world.run_until(at(20_000));
        let expected = other.map_or(care_of(1), regional);
        assert_eq!(world.home_agent.care_of(ip(HOME)), Some(expected));
        let lost = MobileEvent::AnchorLost(anchor_address(0));
        assert!(world.events.iter().any(|(_, event)| *event == lost));
        assert_reachable(&mut world, "without");
    }
}

/// Its validity ends with the lifetime that was advertised last.
#[test]
fn an_anchor_point_is_valid_for_its_lifetime() {
    let point = AnchorPoint {
        valid_lifetime_s: 60,
        ..anchor_point(0)
    };
    let mut world = world_with(anchored(None, |_| {}), [&[point], &[]]);
    world.attach(0, 1);
    world.run_until(at(10_000));
    // Silent from now on.
    world.lost_names = vec!["RA"];
    let heard = *world.times_of("RA").last().expect("an advertisement");
    world.run_until(at(heard + 60_000));
    assert_eq!(world.home_agent.care_of(ip(HOME)), Some(regional(0)));
    world.run_until(at(heard + 61_000));
    assert_eq!(world.home_agent.care_of(ip(HOME)), Some(care_of(1)));
}

/// After 1.5, 3 and 6 s without an answer, at 10.5 s, the home agent gets the on-link address.
#[test]
fn an_anchor_point_that_does_not_answer_is_not_used() {
    let mut world = world_with(anchored(None, |_| {}), [&[anchor_point(0)], &[]]);
    world.lost_names = vec!["LBU"];
    world.attach(0, 1);
    world.run_until(at(30_000));
    let sent = world.times_of("LBU");
    let first = sent[0];
    assert_eq!(sent, [first, first + 1500, first + 4500]);
    assert_eq!(world.times_of("BU"), [first + 10_500]);
    assert_eq!(world.home_agent.care_of(ip(HOME)), Some(care_of(1)));
    assert_reachable(&mut world, "without");
}

/// A refusal shows the same at once.
#[test]
fn an_anchor_point_that_refuses_is_not_used() {
    let mut world = world_with(anchored(None, |_| {}), [&[anchor_point(0)], &[]]);
    world.anchors[0].unsubscribe(regional(0));
    world.attach(0, 1);
    world.run_until(at(10_000));
    assert_eq!(world.home_agent.care_of(ip(HOME)), Some(care_of(1)));
}

/// Section 6.1: no binding of the regional address outlives the address; it is refreshed at three quarters.
#[test]
fn the_home_agent_gets_no_longer_lifetime_than_the_anchor_point_grants() {
    let mut world = world_with(anchored(None, |_| {}), [&[anchor_point(0)], &[]]);
    let settings = HomeAgentSettings {
        longest_lifetime: BindingLifetime::at_most(100),
        ..anchor_settings(0)
    };
    world.anchors[0] = anchor(0, None, settings);
    world.attach(0, 1);
    world.run_until(at(10_000));
    let [local, home] = ["LBU", "BU"].map(|name| world.times_of(name)[0]);
    world.run_until(at(local + 75_000));
    assert_eq!(world.times_of("LBU"), [local, local + 75_000]);
    world.run_until(at(home + 75_500));
    assert_eq!(world.times_of("BU")[2], home + 75_000);
    // Without the mobile, both end.
    world.detach(0);
    world.run_until(at(home + 180_000));
    assert_eq!(world.anchors[0].care_of(regional(0)), None);
    assert_eq!(world.home_agent.care_of(ip(HOME)), None);
}

/// The anchor point holds packets as a home agent does, and the home agent is not asked.
#[test]
fn an_anchor_point_that_buffers_loses_nothing() {
    let mobile = anchored(None, |fleet| {
        fleet.buffering = Some(BufferingRequest::STUDY_D);
    });
    let mut world = world_with(mobile, [&[anchor_point(0)], &[anchor_point(0)]]);
    let settings = HomeAgentSettings {
        strategy: Strategy::Buffer(POLICY),
        ..anchor_settings(0)
    };
    world.anchors[0] = anchor(0, None, settings);
    world.attach(0, 1);
    world.run_until(at(10_000));
    for number in 0..100 {
        world.run_until(at(10_000 + number * 50));
        let now = world.now();
        match number {
            10 => world.mobile.link_going_down(now, InterfaceId(0)),
            20 => world.detach(0),
            30 => world.attach(1, 2),
            _ => {}
        }
        world.send_down(ip(HOME), number);
    }
    world.run_until(at(20_000));
    assert_eq!(world.got, (0..100).collect::<Vec<_>>());
    assert_eq!(world.times_of("MBU"), [10_500]);
    assert!(world.anchors[0].counts().buffered.held > 0);
    // A mobile that stays ends it.
    let now = world.now();
    world.mobile.link_going_down(now, InterfaceId(1));
    world.run_until(at(21_000));
    let now = world.now();
    world.mobile.link_rollback(now, InterfaceId(1));
    world.run_until(at(22_000));
    assert_reachable(&mut world, "stayed");
}

/// The routers of the links forward to the on-link address, inside the anchor point's tunnel, by both modes of fast
/// handovers.
#[test]
fn fast_handovers_inside_the_domain_lose_nothing() {
    for predicted in [false, true] {
        let mobile = anchored(None, |fleet| {
            fleet.tells_routers = true;
            fleet.configuration = configuration(DuplicateAddressDetection::STANDARD);
        });
        let mut world = settled(mobile, 0).with_buffering_routers(POLICY);
        if predicted {
            world = world.with_known_routers(POLICY);
        }
        for number in 0..100 {
            world.run_until(at(10_000 + number * 50));
            let now = world.now();
            match number {
                0 => world.mobile.prepare_handover(now, InterfaceId(1)),
                10 => world.detach(0),
                20 => world.attach(1, 2),
                _ => {}
            }
            world.send_down(ip(HOME), number);
        }
        world.run_until(at(20_000));
        world.got.sort_unstable();
        assert_eq!(world.got, (0..100).collect::<Vec<_>>(), "{predicted}");
        // Ahead of the second of duplicate address detection.
        let first = world.times_of("LBU")[1];
        assert_eq!(first == 11_000, predicted, "{first}");
        assert_eq!(world.home_agent.care_of(ip(HOME)), Some(regional(0)));
        assert_reachable(&mut world, "moved");
    }
}

/// A correspondent knows the regional address, and does not learn of a move inside the domain.
#[test]
fn optimised_routes_lead_to_the_regional_address() {
    let mut world = settled(anchored(None, |fleet| fleet.optimizes_routes = true), 0);
    world.send_down(ip(HOME), 1);
    world.run_until(at(20_000));
    let bound = world.correspondent.care_of(world.now(), ip(HOME));
    assert_eq!(bound, Some(regional(0)));
    assert_reachable(&mut world, "optimised");
    let begun = world.now();
    world.detach(0);
    world.attach(1, 2);
    world.run_until(at(30_000));
    let said: Vec<&str> = bindings_since(&world, begun)
        .into_iter()
        .map(|(_, name)| name)
        .collect();
    assert_eq!(said, ["LBU", "BA"]);
    assert_reachable(&mut world, "moved");
}

/// At home the anchor point is not used, and the mobile deregisters.
#[test]
fn a_mobile_at_home_has_no_anchor_point() {
    let mut world = settled(anchored(None, |_| {}), 0);
    world.detach(0);
    world.attach(0, 0);
    world.run_until(at(20_000));
    assert_eq!(world.home_agent.care_of(ip(HOME)), None);
    assert_reachable(&mut world, "at home");
    // Back at the anchor point, which remembers the sequence number.
    world.detach(0);
    world.attach(0, 1);
    world.run_until(at(30_000));
    assert_eq!(world.home_agent.care_of(ip(HOME)), Some(regional(0)));
    assert_reachable(&mut world, "away again");
}

const KEY: SharedKey = SharedKey {
    security_parameter_index: 300,
    key: [7; 20],
};

/// A local binding update counts only with its flag, and with the key if there is one; so does its acknowledgement.
#[test]
fn forged_messages_change_nothing() {
    let mut world = settled(anchored(Some(KEY), |_| {}), 0);
    assert_eq!(world.home_agent.care_of(ip(HOME)), Some(regional(0)));
    let forged = |home_registration, anchor_registration| {
        MobilityMessage::BindingUpdate(BindingUpdate {
            sequence: 1000,
            acknowledge: true,
            home_registration,
            anchor_registration,
            lifetime: BindingLifetime::at_most(600),
            ..BindingUpdate::default()
        })
    };
    let stranger = ip("2001:db8:666::6");
    let now = world.now();
    for (home, local) in [(false, true), (true, false), (true, true), (false, false)] {
        let to = |agent, bound| {
            let message = forged(home, local);
            mobility_packet((stranger, agent), (Some(bound), None), message)
        };
        world.anchors[0].handle_packet(now, to(anchor_address(0), regional(0)));
        // The home agent has no key here, and would believe its own updates.
        if local {
            world
                .home_agent
                .handle_packet(now, to(ip(HOME_AGENT), ip(HOME)));
        }
    }
    // Refusals for a stranger are dropped here.
    while world.anchors[0].poll_transmit().is_some() {}
    assert_eq!(world.anchors[0].care_of(regional(0)), Some(care_of(1)));
    assert_eq!(world.home_agent.care_of(ip(HOME)), Some(regional(0)));
    assert_eq!(world.home_agent.counts().unexpected, 2);
    let refusal = BindingAcknowledgement::new(BindingStatus(128), 2, BindingLifetime::ZERO);
    let refusal = MobilityMessage::BindingAcknowledgement(refusal);
    let ends = (anchor_address(0), care_of(1));
    let packet = mobility_packet(ends, (None, Some(regional(0))), refusal);
    world.mobile.handle_packet(now, InterfaceId(0), packet);
    assert_eq!(world.mobile.counts().unexpected, 1);
    // Nor does the tunnel carry messages of the link.
    let message = NeighborDiscovery::RouterAdvertisement(RouterAdvertisement::default());
    let inner = crate::mobility::discovery(ip("fe80::1"), regional(0), message);
    let body = Body::Tunnel(Box::new(inner));
    let outer = crate::mobility::packet(ends.0.into(), ends.1.into(), body);
    world.mobile.handle_packet(now, InterfaceId(0), outer);
    assert_eq!(world.mobile.counts().unregistered, 1);
    assert_reachable(&mut world, "after forgeries");
}

/// Goes from domain to domain and inside one, with detection everywhere and buffering at the anchor points.
fn journey(lost: Vec<usize>) -> World {
    let mobile = anchored(Some(KEY), |fleet| {
        fleet.configuration = configuration(DuplicateAddressDetection::STANDARD);
        fleet.buffering = Some(BufferingRequest::STUDY_D);
        fleet.optimizes_routes = true;
    });
    let mut world = world_with(
        mobile,
        [&[anchor_point(0)], &[anchor_point(1), anchor_point(0)]],
    );
    for number in 0..2 {
        let settings = HomeAgentSettings {
            detection: DuplicateAddressDetection::STANDARD,
            strategy: Strategy::Buffer(POLICY),
            ..anchor_settings(number)
        };
        world.anchors[number] = anchor(number, Some(KEY), settings);
    }
    world.lost = lost;
    world.attach(0, 2);
    for (link, leaves) in [(1, 20_000), (2, 50_000)] {
        world.run_until(at(leaves));
        let now = world.now();
        world.mobile.link_going_down(now, InterfaceId(0));
        world.run_until(at(leaves + 500));
        world.detach(0);
        world.run_until(at(leaves + 1000));
        world.attach(0, link);
        for second in 2..20 {
            world.run_until(at(leaves + second * 1000));
            world.send_down(ip(HOME), leaves + second);
        }
    }
    world.run_until(at(150_000));
    world
}

fn assert_converged(lost: &[usize]) -> usize {
    let mut world = journey(lost.to_vec());
    let names: Vec<&str> = lost
        .iter()
        .filter_map(|&place| world.ladder.get(place))
        .map(|&(_, name)| name)
        .collect();
    let context = format!("{lost:?} {names:?}");
    let messages = world.ladder.len();
    let bound = world.home_agent.care_of(ip(HOME));
    assert_eq!(world.mobile.registered(world.now()), bound, "{context}");
    // Only without any answer of an anchor point is the on-link address known.
    let here = [0, 1].map(|number| {
        let at_anchor = world.anchors[number].care_of(regional(number));
        bound == Some(regional(number)) && at_anchor == Some(care_of(2))
    });
    assert!(here.contains(&true), "{context} {bound:?}");
    assert_reachable(&mut world, &context);
    messages
}

#[test]
fn any_one_or_two_lost_messages_end_in_a_working_binding() {
    let messages = assert_converged(&[]);
    assert!(messages > 30, "{messages}");
    for first in 0..messages {
        let after = assert_converged(&[first]);
        for second in first + 1..after {
            assert_converged(&[first, second]);
        }
    }
}
