//! Registration at the home agent, as timelines.

use super::*;
use crate::wire::mobility_header::{BindingAcknowledgement, BindingUpdate};

const STANDARD: DuplicateAddressDetection = DuplicateAddressDetection::STANDARD;

/// Sends an update to the home agent from a care-of address; returns the answer.
fn ask(
    agent: &mut HomeAgent,
    now: Instant,
    from: Ipv6Addr,
    update: BindingUpdate,
) -> Option<BindingAcknowledgement> {
    let update = BindingUpdate {
        acknowledge: true,
        home_registration: true,
        ..update
    };
    let home = (from != ip(HOME)).then_some(ip(HOME));
    let message = MobilityMessage::BindingUpdate(update);
    let packet = mobility_packet((from, ip(HOME_AGENT)), (home, None), message);
    agent.handle_packet(now, packet);
    last_answer(agent)
}

fn last_answer(agent: &mut HomeAgent) -> Option<BindingAcknowledgement> {
    let packets = core::iter::from_fn(|| agent.poll_transmit());
    let answers = packets.filter_map(|(_, packet)| match packet.body {
        Body::Mobility(message) => Some(*message),
        Body::Extended(extended) => match extended.body {
            Body::Mobility(message) => Some(*message),
            _ => None,
        },
        _ => None,
    });
    let answers = answers.filter_map(|message| match message {
        MobilityMessage::BindingAcknowledgement(answer) => Some(answer),
        _ => None,
    });
    answers.last()
}

fn update(sequence: u16) -> BindingUpdate {
    BindingUpdate {
        sequence,
        lifetime: BindingLifetime::at_most(600),
        ..BindingUpdate::default()
    }
}

fn status(answer: Option<BindingAcknowledgement>) -> BindingStatus {
    answer.expect("an answer").status
}

/// Both detect duplicates, for a second each; the answer comes before the mobile's first timeout of 1.5 s (RFC 6275
/// section 11.8 chose it for that).
#[test]
fn registration_with_detection_takes_its_time_and_no_retransmission() {
    let mut world = World::new(
        mobile_with(|fleet| fleet.configuration = configuration(STANDARD)),
        HomeAgentSettings {
            detection: STANDARD,
            ..agent_settings()
        },
        subscriber(),
    );
    world.attach(0, 1);
    world.run_until(at(8000));
    // Random delay below 1 s, then RetransTimer; 20 ms to the home agent.
    let update = world.times_of("BU");
    assert_eq!(update.len(), 1);
    let first_probe = world.times_of("NS")[0];
    assert!(first_probe <= 1000, "{first_probe}");
    assert_eq!(update[0], first_probe + 1000);
    assert_eq!(world.times_of("BA"), [update[0] + 20 + 1000]);
    assert_eq!(world.mobile.registered(world.now()), Some(care_of(1)));
    assert_eq!(world.home_agent.care_of(ip(HOME)), Some(care_of(1)));
    // The group is joined before the address is solicited.
    let names = world.names_since(Instant::ZERO);
    let place = |name| names.iter().position(|&one| one == name);
    assert!(place("MLD") < place("NS"));
}

#[test]
fn registration_with_unique_addresses_takes_one_round_trip() {
    let mut world = World::plain();
    world.attach(0, 1);
    world.run_until(at(5000));
    assert_eq!(world.times_of("BU"), [20]);
    assert_eq!(world.times_of("BA"), [40]);
    assert_eq!(
        world.events.last(),
        Some(&(at(60), MobileEvent::Registered(care_of(1))))
    );
    assert!(world.times_of("NS").is_empty());
}

#[test]
fn an_update_without_an_answer_is_sent_again_with_a_new_number() {
    let mut world = World::plain();
    world.lost_names = vec!["BA"];
    world.attach(0, 1);
    world.run_until(at(100_000));
    assert_eq!(
        world.times_of("BU"),
        [20, 1520, 4520, 10_520, 22_520, 46_520, 78_520]
    );
    let numbers: Vec<u16> = world
        .events
        .iter()
        .filter_map(|(_, event)| match event {
            MobileEvent::UpdateSent { sequence, .. } => Some(*sequence),
            _ => None,
        })
        .collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn a_binding_is_refreshed_and_ends_without_refreshing() {
    let mut world = World::plain();
    world.attach(0, 1);
    world.run_until(at(1_000_000));
    // 600 s: refreshed three quarters after the update.
    assert_eq!(world.times_of("BU"), [20, 450_020, 900_020]);
    let lost = world.now();
    world.detach(0);
    world.run_until(lost + Duration::from_secs(600));
    assert_eq!(world.home_agent.care_of(ip(HOME)), None);
    assert_eq!(world.mobile.registered(world.now()), None);
    assert!(!world.home_agent.intercepts(ip(HOME).into()));
}

/// The medium detects the restart; the mobile alone would not have sent an update for 450 s.
#[test]
fn a_binding_that_a_home_agent_has_lost_by_a_restart_is_made_anew_at_once() {
    let mut world = World::plain();
    world.attach(0, 1);
    world.run_until(at(10_000));
    world.home_agent = HomeAgent::new(agent_settings());
    world.home_agent.subscribe(subscriber());
    let now = world.now();
    world.mobile.home_agent_restarted(now);
    world.run_until(at(10_100));
    assert_eq!(world.home_agent.care_of(ip(HOME)), Some(care_of(1)));
    assert_eq!(world.times_of("BU"), [20, 10_000]);
}

/// The home agent is unreachable for longer than a binding's lifetime of 12 s. The lifetime it grants afterwards counts
/// from the acknowledged update; the refresh comes after three quarters.
#[test]
fn a_binding_that_ran_out_while_nobody_answered_is_made_anew() {
    let mut world = World::new(
        mobile_with(|fleet| fleet.lifetime = BindingLifetime::at_most(12)),
        agent_settings(),
        subscriber(),
    );
    world.attach(0, 1);
    world.run_until(at(5000));
    world.lost_names = vec!["BU"];
    world.run_until(at(60_000));
    assert_eq!(world.mobile.registered(world.now()), None);
    world.lost_names.clear();
    world.run_until(at(100_000));
    assert_eq!(
        world.times_of("BU"),
        [
            20, 9020, 10_020, 12_020, 16_020, 24_020, 40_020, 72_020, 81_020, 90_020, 99_020
        ]
    );
    assert_eq!(world.mobile.registered(world.now()), Some(care_of(1)));
    assert_eq!(world.home_agent.care_of(ip(HOME)), Some(care_of(1)));
}

/// The answer is to the first of five updates, and grants 8 s, which have passed.
#[test]
fn an_answer_that_comes_after_its_lifetime_is_followed_by_an_update() {
    let mut world = World::plain();
    world.lost_names = vec!["BA"];
    world.attach(0, 1);
    world.run_until(at(30_000));
    assert_eq!(world.times_of("BU"), [20, 1520, 4520, 10_520, 22_520]);
    let lifetime = BindingLifetime::at_most(8);
    let answer = BindingAcknowledgement::new(BindingStatus::ACCEPTED, 1, lifetime);
    let message = MobilityMessage::BindingAcknowledgement(answer);
    let ends = (ip(HOME_AGENT), care_of(1));
    let packet = mobility_packet(ends, (None, Some(ip(HOME))), message);
    let now = world.now();
    world.mobile.handle_packet(now, InterfaceId(0), packet);
    world.lost_names.clear();
    world.run_until(at(31_000));
    assert_eq!(world.times_of("BU").last(), Some(&30_000));
    assert_eq!(world.mobile.registered(world.now()), Some(care_of(1)));
}

#[test]
fn at_home_the_binding_is_deleted() {
    let mut world = World::plain();
    world.attach(0, 1);
    world.run_until(at(5000));
    world.detach(0);
    world.attach(0, 0);
    world.run_until(at(6000));
    assert_eq!(world.home_agent.care_of(ip(HOME)), None);
    assert_eq!(world.mobile.registered(world.now()), None);
    world.send_down(ip(HOME), 7);
    world.send_up(ip(HOME), 8);
    world.run_until(at(7000));
    assert_eq!(world.got, [7]);
    assert_eq!(world.answered, [(8, ip(HOME).into())]);
    let updates = world.times_of("BU").len();
    world.run_until(at(2_000_000));
    assert_eq!(world.times_of("BU").len(), updates);
}

/// RFC 6275 section 9.5.1.
#[test]
fn an_update_out_of_sequence_is_refused_with_the_last_number() {
    let mut agent = HomeAgent::new(agent_settings());
    agent.subscribe(subscriber());
    let accepted = ask(&mut agent, at(0), care_of(1), update(15));
    assert_eq!(status(accepted), BindingStatus::ACCEPTED);
    for replayed in [15, 0, 32_783, 65_535] {
        let answer = ask(&mut agent, at(1), care_of(2), update(replayed)).expect("an answer");
        assert_eq!(answer.status, BindingStatus::SEQUENCE_NUMBER_OUT_OF_WINDOW);
        assert_eq!(answer.sequence, 15);
    }
    assert_eq!(agent.care_of(ip(HOME)), Some(care_of(1)));
    let accepted = ask(&mut agent, at(2), care_of(2), update(32_782));
    assert_eq!(status(accepted), BindingStatus::ACCEPTED);
    assert_eq!(agent.counts().refused_updates, 4);
}

#[test]
fn an_update_that_was_overtaken_does_not_bring_a_deleted_binding_back() {
    let mut agent = HomeAgent::new(agent_settings());
    agent.subscribe(subscriber());
    ask(&mut agent, at(0), care_of(1), update(4));
    let deletes = BindingUpdate {
        lifetime: BindingLifetime::ZERO,
        ..update(6)
    };
    let answer = ask(&mut agent, at(100), ip(HOME), deletes.clone());
    assert_eq!(status(answer), BindingStatus::ACCEPTED);
    let late = ask(&mut agent, at(200), care_of(1), update(5));
    assert_eq!(status(late), BindingStatus::SEQUENCE_NUMBER_OUT_OF_WINDOW);
    // The answer may be lost: a retransmission gets the same.
    let again = BindingUpdate {
        sequence: 7,
        ..deletes.clone()
    };
    let again = ask(&mut agent, at(300), ip(HOME), again);
    assert_eq!(status(again), BindingStatus::ACCEPTED);
    agent.handle_timeout(at(20_000));
    let unknown = ask(&mut agent, at(20_000), ip(HOME), deletes);
    assert_eq!(status(unknown), BindingStatus::NOT_HOME_AGENT);
}

/// Also after the binding is deleted, has expired, or has expired unnoticed. Without a secret IPsec refuses replays,
/// and without a binding any number is accepted (RFC 6275 section 9.5.1).
#[test]
fn a_signed_update_counts_once() {
    let key = SharedKey {
        security_parameter_index: 300,
        key: [3; 20],
    };
    let signed = |from: Ipv6Addr, update: BindingUpdate| {
        let mut message = MobilityMessage::BindingUpdate(BindingUpdate {
            home_registration: true,
            ..update
        });
        sign_for_home(&key, (from, ip(HOME)), &mut message);
        let home = (from != ip(HOME)).then_some(ip(HOME));
        mobility_packet((from, ip(HOME_AGENT)), (home, None), message)
    };
    let deletes = BindingUpdate {
        lifetime: BindingLifetime::ZERO,
        ..update(6)
    };
    for has_key in [true, false] {
        let mut agent = HomeAgent::new(agent_settings());
        agent.subscribe(Subscriber {
            key: has_key.then_some(key),
            ..subscriber()
        });
        let mut hand_over = |at: Instant, packet: &Packet, timeout: bool| {
            if timeout {
                agent.handle_timeout(at);
            }
            agent.handle_packet(at, packet.clone());
            let answer = last_answer(&mut agent).expect("an answer");
            (answer.status, answer.sequence)
        };
        let replayed = |last| match has_key {
            true => (BindingStatus::SEQUENCE_NUMBER_OUT_OF_WINDOW, last),
            false => (BindingStatus::ACCEPTED, 5),
        };
        let first = signed(care_of(1), update(5));
        assert_eq!(hand_over(at(0), &first, true).0, BindingStatus::ACCEPTED);
        let answer = hand_over(at(100), &signed(ip(HOME), deletes.clone()), true);
        assert_eq!(answer.0, BindingStatus::ACCEPTED);
        let gone = BindingStatus::SEQUENCE_NUMBER_OUT_OF_WINDOW;
        assert_eq!(hand_over(at(200), &first, true), (gone, 6));
        assert_eq!(hand_over(at(20_000), &first, true), replayed(6));
        let next = signed(care_of(2), update(7));
        assert_eq!(
            hand_over(at(30_000), &next, true).0,
            BindingStatus::ACCEPTED
        );
        assert_eq!(hand_over(at(630_000), &first, false), replayed(7));
        assert_eq!(hand_over(at(1_300_000), &first, true), replayed(7));
        let last = signed(care_of(2), update(8));
        let answer = hand_over(at(1_300_001), &last, true);
        assert_eq!(answer, (BindingStatus::ACCEPTED, 8));
    }
}

#[test]
fn a_mobile_that_has_forgotten_its_number_learns_it() {
    let mut world = World::plain();
    world.attach(0, 1);
    world.run_until(at(1000));
    // Three more updates, so that the number exceeds the mobile's first.
    for link in [2, 1, 2] {
        world.detach(0);
        world.attach(0, link);
        let next = world.now() + Duration::from_secs(1);
        world.run_until(next);
    }
    world.mobile = MobileNode::new(mobile_settings(), 2, [77; 16]);
    world.attach(0, 1);
    let next = world.now() + Duration::from_secs(1);
    world.run_until(next);
    assert_eq!(world.mobile.registered(world.now()), Some(care_of(1)));
    assert_eq!(world.home_agent.care_of(ip(HOME)), Some(care_of(1)));
    assert_eq!(world.home_agent.counts().refused_updates, 1);
}

#[test]
fn who_may_not_register_is_told_why() {
    let mut agent = HomeAgent::new(agent_settings());
    let stranger = ask(&mut agent, at(0), care_of(1), update(1));
    assert_eq!(status(stranger), BindingStatus::NOT_HOME_AGENT);
    let home = Some(ip("2001:db8:999::5"));
    let message = MobilityMessage::BindingUpdate(BindingUpdate {
        home_registration: true,
        ..update(1)
    });
    let packet = mobility_packet((care_of(1), ip(HOME_AGENT)), (home, None), message);
    agent.handle_packet(at(0), packet);
    let elsewhere = last_answer(&mut agent);
    assert_eq!(status(elsewhere), BindingStatus::NOT_HOME_SUBNET);

    agent.subscribe(subscriber());
    for wrong in ["ff02::1", "fe80::5", "::", HOME_AGENT] {
        let alternate = BindingUpdate {
            alternate_care_of_address: Some(ip(wrong)),
            ..update(1)
        };
        let answer = ask(&mut agent, at(0), care_of(1), alternate);
        assert_eq!(status(answer), BindingStatus::INVALID_CARE_OF_ADDRESS);
    }
    assert_eq!(agent.registered(), 0);
}

/// RFC 3963 sections 4.2 and 6.2.
#[test]
fn a_mobile_router_registers_the_prefixes_that_it_may() {
    let behind = prefix("2001:db8:aaaa::", 48);
    let router = |sequence, prefixes: &[Ipv6Prefix]| BindingUpdate {
        mobile_router: true,
        mobile_network_prefixes: prefixes.to_vec(),
        ..update(sequence)
    };
    let mut agent = HomeAgent::new(agent_settings());
    agent.subscribe(subscriber());
    let answer = ask(&mut agent, at(0), care_of(1), router(1, &[behind]));
    assert_eq!(status(answer), BindingStatus::MOBILE_ROUTER_NOT_PERMITTED);
    agent.subscribe(Subscriber {
        prefixes: Some(Box::default()),
        ..subscriber()
    });
    let answer = ask(&mut agent, at(0), care_of(1), router(1, &[]));
    assert_eq!(status(answer), BindingStatus::FORWARDING_SETUP_FAILED);
    agent.subscribe(Subscriber {
        prefixes: Some(Box::new([behind.into()])),
        ..subscriber()
    });
    let other = prefix("2001:db8:bbbb::", 48);
    let answer = ask(&mut agent, at(0), care_of(1), router(1, &[behind, other]));
    assert_eq!(status(answer), BindingStatus::NOT_AUTHORIZED_FOR_PREFIX);
    let everything = prefix("::", 0);
    let answer = ask(&mut agent, at(0), care_of(1), router(1, &[everything]));
    assert_eq!(status(answer), BindingStatus::INVALID_PREFIX);
    // It cannot be inside its own network.
    let answer = ask(&mut agent, at(0), ip(BEHIND), router(1, &[behind]));
    assert_eq!(status(answer), BindingStatus::INVALID_CARE_OF_ADDRESS);
    assert!(!agent.intercepts(ip(BEHIND).into()));
    for (sequence, prefixes) in [(1, vec![behind]), (2, vec![])] {
        let answer = ask(&mut agent, at(0), care_of(1), router(sequence, &prefixes));
        let answer = answer.expect("an answer");
        assert_eq!((answer.status.0, answer.mobile_router), (0, true));
        assert!(agent.intercepts(ip(BEHIND).into()));
    }
    let answer = ask(&mut agent, at(0), care_of(1), update(3));
    assert_eq!(
        status(answer),
        BindingStatus::REGISTRATION_TYPE_CHANGE_DISALLOWED
    );
    let deletes = BindingUpdate {
        lifetime: BindingLifetime::ZERO,
        ..update(4)
    };
    ask(&mut agent, at(0), care_of(1), deletes);
    assert!(!agent.intercepts(ip(BEHIND).into()));
}

#[test]
fn an_address_that_somebody_has_at_home_is_refused() {
    use crate::wire::neighbor_discovery::{NeighborAdvertisement, NeighborDiscovery};
    let mut agent = HomeAgent::new(HomeAgentSettings {
        detection: STANDARD,
        ..agent_settings()
    });
    agent.subscribe(subscriber());
    assert_eq!(ask(&mut agent, at(0), care_of(1), update(1)), None);
    // Until then the address is not intercepted.
    assert!(!agent.intercepts(ip(HOME).into()));
    let claim = NeighborDiscovery::NeighborAdvertisement(NeighborAdvertisement {
        target: ip(HOME),
        router: false,
        solicited: false,
        overrides: true,
        target_link_layer_address: None,
    });
    let all = crate::wire::neighbor_discovery::ALL_NODES;
    agent.handle_packet(at(500), crate::mobility::discovery(ip(HOME), all, claim));
    let answer = last_answer(&mut agent);
    assert_eq!(
        status(answer),
        BindingStatus::DUPLICATE_ADDRESS_DETECTION_FAILED
    );
    agent.handle_timeout(at(5000));
    assert_eq!(agent.registered(), 0);
}

#[test]
fn an_update_without_the_shared_secret_is_refused() {
    let key = SharedKey {
        security_parameter_index: 300,
        key: [3; 20],
    };
    let keyed = Subscriber {
        key: Some(key),
        ..subscriber()
    };
    let with = |key| MobileSettings {
        key,
        ..mobile_settings()
    };
    let mut world = World::new(with(Some(key)), agent_settings(), keyed.clone());
    world.attach(0, 1);
    world.run_until(at(1000));
    assert_eq!(world.home_agent.care_of(ip(HOME)), Some(care_of(1)));
    let other = SharedKey {
        key: [4; 20],
        ..key
    };
    for wrong in [None, Some(other)] {
        let mut world = World::new(with(wrong), agent_settings(), keyed.clone());
        world.attach(0, 1);
        world.run_until(at(1000));
        assert_eq!(world.home_agent.care_of(ip(HOME)), None);
        assert_eq!(world.home_agent.counts().refused_updates, 1);
        if wrong.is_none() {
            let refused = MobileEvent::Refused(BindingStatus::AUTHENTICATION_FAILED);
            assert_eq!(world.events.last(), Some(&(at(60), refused)));
        }
    }
    // A signature does not hold for another care-of address.
    let mut agent = HomeAgent::new(agent_settings());
    agent.subscribe(keyed);
    let mut message = MobilityMessage::BindingUpdate(BindingUpdate {
        home_registration: true,
        ..update(1)
    });
    sign_for_home(&key, (care_of(1), ip(HOME)), &mut message);
    let addresses = (care_of(2), ip(HOME_AGENT));
    let packet = mobility_packet(addresses, (Some(ip(HOME)), None), message);
    agent.handle_packet(at(0), packet);
    assert_eq!(
        status(last_answer(&mut agent)),
        BindingStatus::AUTHENTICATION_FAILED
    );
}

/// The home agent knows the second place, though the mobile got no answer: back at the first, it registers again.
#[test]
fn a_mobile_that_returns_before_it_was_answered_registers_anew() {
    let mut world = World::plain();
    world.attach(0, 1);
    world.run_until(at(1000));
    world.lost_names = vec!["BA"];
    world.detach(0);
    world.attach(0, 2);
    world.run_until(at(1200));
    assert_eq!(world.home_agent.care_of(ip(HOME)), Some(care_of(2)));
    world.lost_names.clear();
    world.detach(0);
    world.attach(0, 1);
    world.run_until(at(2000));
    assert_eq!(world.home_agent.care_of(ip(HOME)), Some(care_of(1)));
    assert_eq!(world.mobile.registered(world.now()), Some(care_of(1)));
}
