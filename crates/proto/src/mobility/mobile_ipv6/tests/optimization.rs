//! Return routability and the direct path.

use super::*;
use crate::mobility::mobile_ipv6::return_routability::binding_management_key;
use crate::wire::mobility_header::{
    BindingAcknowledgement, BindingErrorStatus, BindingUpdate, NonceIndices,
};

fn optimizing() -> World {
    let mut world = World::new(
        mobile_with(|fleet| fleet.optimizes_routes = true),
        agent_settings(),
        subscriber(),
    );
    world.attach(0, 1);
    world.run_until(at(1000));
    world.send_down(ip(HOME), 1);
    world.run_until(at(2000));
    world
}

#[test]
fn the_first_packet_through_the_tunnel_begins_it() {
    let mut world = optimizing();
    let names = world.names_since(at(1000));
    let names: Vec<_> = names.into_iter().filter(|&name| name != "MLD").collect();
    // HoTI and HoT go through the tunnel, so the home agent forwards each once.
    assert_eq!(
        names,
        ["HoTI", "CoTI", "HoTI", "CoT", "HoT", "HoT", "BU", "BA"]
    );
    assert_eq!(
        world.correspondent.care_of(world.now(), ip(HOME)),
        Some(care_of(1))
    );
    // From here on packets bypass the home agent, and both ends still see home addresses.
    let mut gone = world.now();
    world.send_down(ip(HOME), 2);
    world.send_up(ip(HOME), 3);
    gone += world.delay;
    world.run_until(gone);
    assert_eq!(world.got, [1, 2]);
    assert_eq!(world.answered, [(3, ip(HOME).into())]);
}

/// RFC 6275 section 11.8: retransmitted after 1 s, doubled each time up to 32 s. Then no action is due.
#[test]
fn a_correspondent_that_answers_no_test_is_left_alone() {
    let settings = mobile_with(|fleet| fleet.optimizes_routes = true);
    let mut world = World::new(settings, agent_settings(), subscriber());
    world.lost_names = vec!["HoT", "CoT"];
    world.attach(0, 1);
    world.run_until(at(1000));
    world.send_down(ip(HOME), 1);
    world.run_until(at(300_000));
    let asked = world.times_of("CoTI");
    let since = |&at: &u64| (at - asked[0]) / 1000;
    let seconds: Vec<u64> = asked.iter().map(since).collect();
    assert_eq!(seconds, [0, 1, 3, 7, 15, 31]);
}

#[test]
fn the_direct_way_carries_the_standard_s_headers() {
    let mut world = optimizing();
    let down = datagram(ip(CORRESPONDENT), ip(HOME), 5);
    let now = world.now();
    let down = world.correspondent.handle_outgoing(now, down);
    assert_eq!(down.ip.destination, IpAddr::V6(care_of(1)));
    let Body::Extended(extended) = &down.body else {
        panic!("no routing header");
    };
    assert_eq!(extended.routing_home_address, Some(ip(HOME)));
    // 40 of IPv6, 24 of the routing header, 8 of UDP, 100 of data.
    assert_eq!(down.wire_length(), 172);
    let up = datagram(ip(HOME), ip(CORRESPONDENT), 6);
    let now = world.now();
    world.mobile.handle_outgoing(now, up);
    let (_, up) = world.mobile.poll_transmit().expect("a packet");
    assert_eq!(up.ip.source, IpAddr::V6(care_of(1)));
    let Body::Extended(extended) = &up.body else {
        panic!("no home address option");
    };
    assert_eq!(extended.home_address, Some(ip(HOME)));
    assert_eq!(up.wire_length(), 172);
}

/// The home token is valid for longer than a binding's refresh interval: after a move only the care-of address is
/// tested.
#[test]
fn after_a_movement_the_home_token_is_used_again() {
    let mut world = optimizing();
    world.run_until(at(10_000));
    world.detach(0);
    world.attach(0, 2);
    world.run_until(at(12_000));
    let names = world.names_since(at(10_000));
    assert!(
        names.contains(&"CoTI") && !names.contains(&"HoTI"),
        "{names:?}"
    );
    assert_eq!(
        world.correspondent.care_of(world.now(), ip(HOME)),
        Some(care_of(2))
    );
}

#[test]
fn at_home_the_correspondent_s_binding_is_deleted() {
    let mut world = optimizing();
    world.detach(0);
    world.attach(0, 0);
    world.run_until(at(10_000));
    assert_eq!(world.correspondent.care_of(world.now(), ip(HOME)), None);
    world.send_down(ip(HOME), 2);
    world.run_until(at(11_000));
    assert_eq!(world.got, [1, 2]);
}

#[test]
fn a_correspondent_that_has_forgotten_says_so_and_is_told_again() {
    let mut world = optimizing();
    world.correspondent = Correspondent::new(ip(CORRESPONDENT), [55; 20], [66; 16]);
    world.send_up(ip(HOME), 2);
    world.run_until(at(3000));
    // The packet is lost, and the binding registered again: silently refused with tokens of the old key.
    assert!(world.answered.is_empty());
    assert_eq!(world.correspondent.counts().unbound, 1);
    assert!(world.times_of("BE").len() == 1);
    world.run_until(at(400_000));
    world.send_up(ip(HOME), 3);
    world.run_until(at(401_000));
    assert_eq!(world.answered, [(3, ip(HOME).into())]);
}

#[test]
fn a_binding_in_use_is_renewed_and_one_that_is_not_runs_out() {
    let mut world = optimizing();
    for second in 2..900 {
        world.run_until(at(second * 1000));
        world.send_up(ip(HOME), second);
    }
    let bound = world.correspondent.care_of(world.now(), ip(HOME));
    assert_eq!(bound, Some(care_of(1)));
    assert_eq!(world.answered.len(), 897);
    world.run_until(at(2_000_000));
    assert_eq!(world.correspondent.care_of(world.now(), ip(HOME)), None);
}

/// Builds an update signed for the first care-of address.
fn signed_update(
    key: &[u8; 20],
    from: Ipv6Addr,
    (sequence, lifetime_s): (u16, u32),
    nonce_indices: Option<NonceIndices>,
) -> Packet {
    let mut message = MobilityMessage::BindingUpdate(BindingUpdate {
        sequence,
        acknowledge: true,
        lifetime: BindingLifetime::at_most(lifetime_s),
        nonce_indices,
        ..BindingUpdate::default()
    });
    sign_for_correspondent(key, (care_of(1), ip(CORRESPONDENT)), &mut message);
    mobility_packet((from, ip(CORRESPONDENT)), (Some(ip(HOME)), None), message)
}

/// Section 9.5.1, with a forger on neither path, on one of them, or replaying.
#[test]
fn updates_without_proof_are_refused() {
    let mut correspondent = Correspondent::new(ip(CORRESPONDENT), [5; 20], [6; 16]);
    let (home, now) = (ip(HOME), at(100_000));
    let mut tokens = Vec::new();
    let inits = [
        (home, MobilityMessage::HomeTestInit { cookie: [1; 8] }),
        (
            care_of(1),
            MobilityMessage::CareOfTestInit { cookie: [2; 8] },
        ),
    ];
    for (from, message) in inits {
        let packet = mobility_packet((from, ip(CORRESPONDENT)), (None, None), message);
        correspondent.handle_packet(now, packet);
        let answer = correspondent.poll_transmit().expect("an answer");
        assert_eq!(answer.ip.destination, IpAddr::V6(from));
        let Body::Mobility(message) = answer.body else {
            panic!("a test");
        };
        let (MobilityMessage::HomeTest(test) | MobilityMessage::CareOfTest(test)) = *message else {
            panic!("a test");
        };
        tokens.push(test);
    }
    let key = |home: &[u8; 8], care_of: &[u8; 8]| binding_management_key(home, Some(care_of));
    let right = key(&tokens[0].keygen_token, &tokens[1].keygen_token);
    let indices = NonceIndices {
        home: tokens[0].nonce_index,
        care_of: tokens[1].nonce_index,
    };
    let mut send = |now, key, from: Ipv6Addr, sequence, indices| {
        let packet = signed_update(&key, from, (sequence, 9000), indices);
        correspondent.handle_packet(now, packet);
        let packet = correspondent.poll_transmit()?;
        let Body::Extended(extended) = packet.body else {
            panic!("a routing header");
        };
        let Body::Mobility(message) = extended.body else {
            panic!("an answer");
        };
        match *message {
            MobilityMessage::BindingAcknowledgement(answer) => Some(answer),
            _ => panic!("an answer"),
        }
    };
    let indices = Some(indices);
    let one_way = key(&tokens[0].keygen_token, &[0; 8]);
    let other_way = key(&[0; 8], &tokens[1].keygen_token);
    for wrong in [one_way, other_way, [0; 20]] {
        assert_eq!(send(now, wrong, care_of(1), 1, indices), None);
    }
    assert_eq!(send(now, right, care_of(1), 1, None), None);
    // Signed for one care-of address, sent from another.
    assert_eq!(send(now, right, care_of(2), 1, indices), None);
    let accepted = send(now, right, care_of(1), 1, indices).expect("an answer");
    assert_eq!(accepted.status, BindingStatus::ACCEPTED);
    assert_eq!(accepted.lifetime.seconds(), 420);
    assert!(accepted.authenticator.is_some());
    let replayed = send(now, right, care_of(1), 1, indices).expect("an answer");
    assert_eq!(
        replayed.status,
        BindingStatus::SEQUENCE_NUMBER_OUT_OF_WINDOW
    );
    let nonce = |answer: Option<BindingAcknowledgement>| {
        let answer = answer.expect("an answer");
        assert_eq!(answer.authenticator, None);
        answer.status.0
    };
    let old = |home, care_of| Some(NonceIndices { home, care_of });
    let index = tokens[0].nonce_index;
    let stale = index.wrapping_sub(8);
    assert_eq!(
        nonce(send(now, right, care_of(1), 2, old(stale, index))),
        136
    );
    assert_eq!(
        nonce(send(now, right, care_of(1), 2, old(index, stale))),
        137
    );
    assert_eq!(
        nonce(send(now, right, care_of(1), 2, old(stale, stale))),
        138
    );
    assert_eq!(correspondent.care_of(now, home), Some(care_of(1)));

    // Section 9.5.3: after a deletion, the binding's updates do not restore it while their nonces are valid.
    let of_home = binding_management_key(&tokens[0].keygen_token, None);
    let mut status = |now, key, sequence, lifetime_s| {
        let packet = signed_update(&key, care_of(1), (sequence, lifetime_s), indices);
        correspondent.handle_timeout(now);
        correspondent.handle_packet(now, packet);
        let answer = correspondent.poll_transmit().expect("an answer");
        let Body::Extended(extended) = answer.body else {
            panic!("a routing header");
        };
        let bound = correspondent.care_of(now, home);
        match extended.body {
            Body::Mobility(message) => match *message {
                MobilityMessage::BindingAcknowledgement(answer) => {
                    (answer.status.0, answer.sequence, bound)
                }
                _ => panic!("an answer"),
            },
            _ => panic!("an answer"),
        }
    };
    assert_eq!(status(now, of_home, 2, 0), (0, 2, None));
    for later in [100_000, 200_000, 329_000] {
        assert_eq!(status(at(later), right, 1, 9000), (135, 2, None));
    }
    // From 90 s to 120 s, and valid until 330 s.
    assert_eq!(status(at(330_000), right, 1, 9000), (138, 1, None));
}

/// Sections 9.3.1 and 9.2.
#[test]
fn impossible_messages_are_answered_with_a_binding_error() {
    let mut correspondent = Correspondent::new(ip(CORRESPONDENT), [5; 20], [6; 16]);
    let mut unbound = datagram(care_of(1), ip(CORRESPONDENT), 1);
    unbound.body = extend((Some(ip(HOME)), None), unbound.body);
    let unknown = Body::Opaque {
        protocol: 135,
        fragment: 0,
        bytes: Box::new([59, 0, 99, 0, 0, 0, 0, 0]),
    };
    let unknown = crate::mobility::packet(care_of(1).into(), ip(CORRESPONDENT).into(), unknown);
    for (packet, status, home) in [
        (unbound, BindingErrorStatus::UnknownBinding, Some(ip(HOME))),
        (unknown, BindingErrorStatus::UnrecognizedType, None),
    ] {
        assert_eq!(correspondent.handle_packet(at(1), packet), None);
        let answer = correspondent.poll_transmit().expect("an error");
        assert_eq!(answer.ip.destination, IpAddr::V6(care_of(1)));
        let Body::Mobility(message) = answer.body else {
            panic!("an error");
        };
        let MobilityMessage::BindingError(error) = *message else {
            panic!("an error");
        };
        assert_eq!((error.status, error.home_address), (status, home));
    }
}

/// Section 11.7.3: a status of 136 to 138 makes the mobile repeat the expired tests, and only them.
#[test]
fn expired_tests_are_repeated() {
    for (status, tests) in [
        (BindingStatus::EXPIRED_HOME_NONCE_INDEX, vec!["HoTI"]),
        (BindingStatus::EXPIRED_CARE_OF_NONCE_INDEX, vec!["CoTI"]),
        (BindingStatus::EXPIRED_NONCES, vec!["HoTI", "CoTI"]),
    ] {
        let mut world = optimizing();
        world.lost_names = vec!["BA"];
        world.run_until(at(3000));
        // A refresh whose answer is lost.
        let message = MobilityMessage::BindingRefreshRequest;
        let ends = (ip(CORRESPONDENT), ip(HOME));
        let request = mobility_packet(ends, (None, None), message);
        let now = world.now();
        world.mobile.handle_packet(now, InterfaceId(0), request);
        world.run_until(at(3100));
        let sent = world
            .events
            .iter()
            .rev()
            .find_map(|(_, event)| match event {
                MobileEvent::UpdateSent { to, sequence } if *to == ip(CORRESPONDENT) => {
                    Some(*sequence)
                }
                _ => None,
            });
        let sequence = sent.expect("an update");
        let answer = BindingAcknowledgement::new(status, sequence, BindingLifetime::ZERO);
        let answer = MobilityMessage::BindingAcknowledgement(answer);
        let ends = (ip(CORRESPONDENT), care_of(1));
        let answer = mobility_packet(ends, (None, Some(ip(HOME))), answer);
        let now = world.now();
        world.mobile.handle_packet(now, InterfaceId(0), answer);
        let mut asked = Vec::new();
        while let Some((_, packet)) = world.mobile.poll_transmit() {
            asked.push(name_of(&packet));
        }
        assert_eq!(asked, tests, "{status:?}");
    }
}
