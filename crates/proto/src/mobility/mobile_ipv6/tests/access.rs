//! Access control of visited networks, as timelines. Every path takes 20 ms.

use super::*;
use crate::mobility::address_configuration::Attachment;
use crate::mobility::network_access::{AccessEvent, AccessSettings, AccessUser};
use crate::wire::radius::{Code, Radius};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const SECRET: [u8; 16] = [3; 16];
const NAME: &[u8] = b"2001:db8:100::abc";

fn settings() -> MobileSettings {
    MobileSettings {
        access: Some(Box::new(AccessSettings {
            server: ip(ACCESS_SERVER),
            user_name: NAME.into(),
            secret: SECRET,
        })),
        ..mobile_settings()
    }
}

/// A network whose server takes 100 ms for a request.
fn world(welcome: bool) -> World {
    let mut world = World::new(settings(), agent_settings(), subscriber());
    let user = AccessUser {
        secret: SECRET,
        welcome,
        processing: Duration::from_millis(100),
    };
    world.access_server.enrol(NAME, user);
    world
}

/// Lists the access events, with their times in milliseconds.
fn said(world: &World) -> Vec<(u64, AccessEvent)> {
    let events = world.events.iter();
    let access = events.filter_map(|(at, event)| match event {
        MobileEvent::Access(event) => Some((at.as_nanos() / 1_000_000, *event)),
        _ => None,
    });
    access.collect()
}

#[test]
fn a_care_of_address_is_used_when_the_server_has_said_so() {
    let mut world = world(true);
    world.attach(0, 1);
    // The advertisement arrives at 20 ms, the request at 40 ms; the answer leaves at 140 ms.
    world.run_until(at(159));
    assert_eq!(world.times_of("Access-Request"), [20]);
    assert_eq!(world.times_of("Access-Accept"), [140]);
    assert_eq!(world.mobile.attachment(), Attachment::None);
    assert!(world.times_of("BU").is_empty());
    world.run_until(at(160));
    assert_eq!(world.mobile.attachment(), Attachment::Away(care_of(1)));
    assert_eq!(said(&world), [(160, AccessEvent::Granted(care_of(1)))]);
    assert_eq!(world.times_of("BU"), [160]);
    world.run_until(at(1000));
    assert_eq!(world.mobile.registered(world.now()), Some(care_of(1)));
    // No second request.
    world.run_until(at(100_000));
    assert_eq!(world.times_of("Access-Request"), [20]);
}

#[test]
fn at_home_nobody_is_asked() {
    let mut world = world(true);
    world.attach(0, 0);
    world.run_until(at(10_000));
    assert_eq!(world.mobile.attachment(), Attachment::Home);
    assert!(world.times_of("Access-Request").is_empty());
}

/// RFC 5080 section 2.2.1: after 2, 4, 8 and 16 s, five times in total; the last timeout is 16 s.
#[test]
fn a_request_without_an_answer_is_sent_again_at_growing_intervals() {
    let mut world = world(true);
    world.lost_names = vec!["Access-Request"];
    world.attach(0, 1);
    world.run_until(at(46_020));
    assert_eq!(
        world.times_of("Access-Request"),
        [20, 2020, 6020, 14_020, 30_020]
    );
    assert_eq!(
        said(&world),
        [(46_020, AccessEvent::Unanswered(care_of(1)))]
    );
    assert_eq!(world.mobile.attachment(), Attachment::None);
    // A new attempt 30 s later.
    world.lost_names.clear();
    world.run_until(at(80_000));
    assert_eq!(world.times_of("Access-Request").last(), Some(&76_020));
    assert_eq!(world.mobile.registered(world.now()), Some(care_of(1)));
}

#[test]
fn a_lost_answer_costs_the_first_timeout() {
    let mut world = world(true);
    world.attach(0, 1);
    world.run_until(at(130));
    world.lost = vec![world.ladder.len()];
    world.run_until(at(3000));
    assert_eq!(world.times_of("Access-Request"), [20, 2020]);
    // The request is processed again.
    assert_eq!(world.times_of("Access-Accept"), [140, 2140]);
    assert_eq!(said(&world), [(2160, AccessEvent::Granted(care_of(1)))]);
}

#[test]
fn a_refused_mobile_stays_where_it_is_and_asks_again_later() {
    let mut world = world(false);
    world.attach(0, 0);
    world.run_until(at(1000));
    world.attach(1, 1);
    let now = world.now();
    world.mobile.prefer(now, InterfaceId(1));
    world.run_until(at(20_000));
    assert_eq!(said(&world), [(1160, AccessEvent::Refused(care_of(1)))]);
    assert_eq!(world.mobile.attachment(), Attachment::Home);
    assert!(!world.names_since(at(1000)).contains(&"BU"));
    // 30 s after the answer.
    world.run_until(at(32_000));
    assert_eq!(world.times_of("Access-Request"), [1020, 31_160]);
}

#[test]
fn a_soft_handover_uses_the_old_place_until_the_new_one_is_granted() {
    let mut world = world(true);
    world.attach(0, 1);
    world.run_until(at(5000));
    world.attach(1, 2);
    let now = world.now();
    world.mobile.prefer(now, InterfaceId(1));
    world.run_until(at(5159));
    assert_eq!(world.mobile.attachment(), Attachment::Away(care_of(1)));
    world.run_until(at(5160));
    assert_eq!(world.mobile.attachment(), Attachment::Away(care_of(2)));
}

#[test]
fn a_link_that_goes_down_takes_its_admission_along() {
    let mut world = world(true);
    world.attach(0, 1);
    world.run_until(at(1000));
    world.detach(0);
    world.run_until(at(2000));
    world.attach(0, 1);
    world.run_until(at(2100));
    assert_eq!(world.mobile.attachment(), Attachment::None);
    assert_eq!(world.times_of("Access-Request"), [20, 2020]);
}

/// Builds the server's answer to the mobile's request, with the given changes.
fn forged(world: &World, code: Code, secret: &[u8], source: &str, to: Ipv6Addr) -> Packet {
    let request = Radius::request((1, [0; 16]), NAME, care_of(1), secret);
    let answer = request.answer(code, secret).encode();
    let mut packet = datagram(ip(source), to, 0);
    let ports = UdpHeader {
        source_port: radius::PORT,
        destination_port: radius::PORT,
    };
    packet.body = Body::Udp(ports, Payload::Bytes(answer.into()));
    assert!(world.mobile.takes(to.into()));
    packet
}

#[test]
fn nobody_else_opens_the_network() {
    let mut world = world(true);
    world.lost_names = vec!["Access-Request"];
    world.attach(0, 1);
    world.run_until(at(100));
    let unexpected = world.mobile.counts().unexpected;
    for (code, secret, source) in [
        // The right secret, but another request, with an unknown random number.
        (Code::Accept, &SECRET[..], ACCESS_SERVER),
        (Code::Accept, b"guessed", ACCESS_SERVER),
        (Code::Reject, b"guessed", ACCESS_SERVER),
        (Code::Accept, &SECRET[..], CORRESPONDENT),
    ] {
        let packet = forged(&world, code, secret, source, care_of(1));
        let now = world.now();
        world.mobile.handle_packet(now, InterfaceId(0), packet);
    }
    assert_eq!(world.mobile.counts().unexpected, unexpected + 3);
    assert!(said(&world).is_empty());
    assert_eq!(world.mobile.attachment(), Attachment::None);
}

#[test]
fn the_server_answers_authenticated_requests_only() {
    let mut server = AccessServer::new(ip(ACCESS_SERVER));
    let user = AccessUser {
        secret: SECRET,
        welcome: true,
        processing: Duration::ZERO,
    };
    server.enrol(NAME, user);
    let mut ask = |name: &[u8], secret: &[u8]| {
        let request = Radius::request((1, [8; 16]), name, care_of(1), secret).encode();
        let mut packet = datagram(care_of(1), ip(ACCESS_SERVER), 0);
        let ports = UdpHeader {
            source_port: radius::PORT,
            destination_port: radius::PORT,
        };
        packet.body = Body::Udp(ports, Payload::Bytes(request.into()));
        assert_eq!(server.handle_packet(at(5), packet), None);
        server.poll_transmit().is_some()
    };
    assert!(ask(NAME, &SECRET));
    assert!(!ask(NAME, b"guessed"));
    assert!(!ask(b"somebody", &SECRET));
    assert_eq!(server.counts().unproved, 2);
    // A packet for another port is not the server's.
    let other = datagram(care_of(1), ip(ACCESS_SERVER), 0);
    assert_eq!(server.handle_packet(at(5), other.clone()), Some(other));
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Arbitrary bytes to either port cause no panic, grant no access, and make no server remember more than its users.
    #[test]
    fn anything_at_the_ports_is_survived(
        messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 1..20),
        headed in any::<bool>(),
    ) {
        let mut world = world(true);
        world.lost_names = vec!["Access-Request"];
        world.attach(0, 1);
        world.run_until(at(100));
        for mut bytes in messages {
            if headed && bytes.len() >= 20 {
                bytes[0] = 1 + bytes[0] % 3;
                let length = bytes.len() as u16;
                bytes[2..4].copy_from_slice(&length.to_be_bytes());
            }
            let ports = UdpHeader { source_port: radius::PORT, destination_port: radius::PORT };
            let body = Body::Udp(ports, Payload::Bytes(bytes.into()));
            let mut to_server = datagram(care_of(1), ip(ACCESS_SERVER), 0);
            to_server.body = body.clone();
            let mut to_mobile = datagram(ip(ACCESS_SERVER), care_of(1), 0);
            to_mobile.body = body;
            let now = world.now();
            prop_assert_eq!(world.access_server.handle_packet(now, to_server), None);
            let now = world.now();
            world.mobile.handle_packet(now, InterfaceId(0), to_mobile);
            prop_assert_eq!(world.mobile.attachment(), Attachment::None);
        }
        prop_assert!(world.access_server.poll_transmit().is_none());
        // Afterwards it works.
        world.lost_names.clear();
        world.run_until(at(10_000));
        prop_assert_eq!(world.mobile.registered(world.now()), Some(care_of(1)));
    }
}
