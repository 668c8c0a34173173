//! Messages that are forged, repeated, late or unreadable.

use super::*;
use crate::testing::Arriving;
use crate::wire::micro_mobility::{LENGTH, RouteKind};
use proptest::prelude::*;

const KEY: fn() -> [u8; 16] = || mobile_key(&NETWORK_KEY, CARE_OF);

fn update(timestamp: u64) -> RouteMessage {
    RouteMessage {
        kind: RouteKind::Update,
        mobile: CARE_OF,
        new_base_station: v4(NEW),
        old_base_station: Ipv4Addr::UNSPECIFIED,
        timestamp,
    }
}

/// Lets a packet arrive at the new base station as from the air.
fn inject(domain: &mut Domain, packet: Packet) {
    let arriving = Arriving {
        to: NEW,
        interface: interface(NEW, MOBILE),
        packet,
    };
    domain.net.wires.send(arriving, Duration::ZERO);
    domain.net.run_for(Duration::from_millis(200));
}

fn datagram(bytes: Vec<u8>, to: usize) -> Packet {
    let mut packet = message_packet((CARE_OF, v4(to)), &update(0), &[0; 16]);
    if let Body::Udp(_, payload) = &mut packet.body {
        *payload = Payload::Bytes(bytes.into());
    }
    packet
}

#[test]
fn a_message_must_be_readable_signed_and_new() {
    let mut domain = settled(UNF);
    let before = domain.ways();
    let now = domain.net.now();
    let time = |milliseconds| Clock::default().timestamp(at(milliseconds));
    let with = |message: RouteMessage, key: &[u8; 16]| datagram(message.encode(key), ROOT);
    let stranger = mobile_key(&NETWORK_KEY, Ipv4Addr::new(172, 16, 0, 3));
    let mut expected = Refused::default();
    // Refused where they are to end; a datagram of others to this port passes.
    for bytes in [vec![1, 1, 0], vec![0; LENGTH]] {
        inject(&mut domain, datagram(bytes.clone(), NEW));
        expected.malformed += 1;
        assert_eq!(domain.router(NEW).refused(), expected);
        inject(&mut domain, datagram(bytes, ROOT));
        assert_eq!(domain.router(NEW).refused(), expected);
        assert_eq!(domain.router(ROOT).refused().malformed, expected.malformed);
    }
    for key in [[9; 16], stranger, NETWORK_KEY] {
        inject(&mut domain, with(update(time(1_000)), &key));
        expected.not_authentic += 1;
        assert_eq!(domain.router(NEW).refused(), expected);
    }
    // Eight seconds off, ahead or behind.
    let ahead = Clock { ahead_seconds: 10 };
    for timestamp in [ahead.timestamp(now), time(0) - (8 << 32)] {
        inject(&mut domain, with(update(timestamp), &KEY()));
        expected.old += 1;
        assert_eq!(domain.router(NEW).refused(), expected);
    }
    assert_eq!(domain.ways(), before);
    // With key and time, it moves the path.
    let timestamp = Clock::default().timestamp(domain.net.now());
    inject(&mut domain, with(update(timestamp), &KEY()));
    assert_eq!(domain.router(NEW).refused(), expected);
}

/// A message heard at the old base station and repeated at the new one: it ends at the first router that has seen it or
/// a later one, so that packets do not move.
#[test]
fn a_repeated_message_does_not_move_the_path() {
    for protocol in [UNF, MSF, SSF, MNF, HARD] {
        let mut domain = settled(protocol);
        let heard: Vec<Packet> = domain
            .net
            .sent
            .iter()
            .filter(|sent| sent.from == MOBILE && sent.to == OLD)
            .map(|sent| sent.packet.clone())
            .collect();
        assert!(!heard.is_empty());
        for packet in heard {
            inject(&mut domain, packet);
        }
        assert!(domain.reaches(), "{protocol:?}");
        assert_eq!(domain.ways()[&R0], [R1]);
        assert!(domain.router(R0).refused().old > 0);
    }
}

/// Handoffs of the mobile's past, repeated after its return.
#[test]
fn a_repeated_handoff_does_not_move_the_path() {
    for protocol in [UNF, MSF, SSF, MNF] {
        let mut domain = settled(protocol);
        domain.attach(NEW);
        domain.net.run_for(Duration::from_millis(500));
        let handoff = domain
            .net
            .sent
            .iter()
            .rfind(|sent| sent.from == MOBILE && sent.to == NEW)
            .map(|sent| sent.packet.clone());
        domain.attach(OLD);
        domain.net.run_for(Duration::from_millis(500));
        inject(&mut domain, handoff.expect("a handoff"));
        assert!(domain.reaches(), "{protocol:?}");
        assert!(
            ROUTERS
                .iter()
                .any(|&router| domain.router(router).refused().old > 0)
        );
    }
}

/// The mobile believes no acknowledgment but one that is signed, for its present base station, and of its time.
#[test]
fn a_mobile_verifies_acknowledgments() {
    let mut domain = settled(UNF);
    domain.air().lost = (0..1_000).collect();
    domain.attach(NEW);
    let now = domain.net.now();
    let events = domain.phone().events.len();
    let right = RouteMessage {
        kind: RouteKind::Acknowledgment,
        ..update(Clock::default().timestamp(now))
    };
    let elsewhere = RouteMessage {
        new_base_station: v4(OLD),
        ..right
    };
    let early = RouteMessage {
        timestamp: right.timestamp - 1,
        ..right
    };
    let other = RouteMessage {
        kind: RouteKind::Forwarding,
        ..right
    };
    let cases = [
        (right, [9; 16]),
        (elsewhere, KEY()),
        (early, KEY()),
        (other, KEY()),
    ];
    for (number, (message, key)) in cases.into_iter().enumerate() {
        let packet = message_packet((v4(OLD), CARE_OF), &message, &key);
        assert_eq!(domain.phone().client.handle_packet(now, packet), None);
        domain.phone().note_events(now);
        assert_eq!(domain.phone().client.refused(), number as u64 + 1);
    }
    assert_eq!(domain.phone().events.len(), events);
    let packet = message_packet((v4(OLD), CARE_OF), &right, &KEY());
    domain.phone().client.handle_packet(now, packet);
    domain.phone().note_events(now);
    assert_eq!(domain.phone().events.len(), events + 1);
}

proptest! {
    /// No message of the mobile's key moves its packets to a place from which they do not come back: after the mobile's
    /// next handoff all is well.
    #[test]
    fn no_message_panics_or_outlives_a_handoff(
        kind in 1_u8..14,
        to in ROOT..=NEW,
        stations in (OUTSIDE..=MOBILE, OUTSIDE..=MOBILE),
        protocol in prop::sample::select(vec![UNF, MSF, SSF, MNF, HARD, SEMISOFT]),
    ) {
        let mut domain = settled(protocol);
        let message = RouteMessage {
            new_base_station: v4(stations.0),
            old_base_station: v4(stations.1),
            ..update(Clock::default().timestamp(domain.net.now()))
        };
        let mut bytes = message.encode(&KEY());
        bytes[1] = kind;
        let message = RouteMessage::decode(&bytes).expect("a kind");
        inject(&mut domain, datagram(message.encode(&KEY()), to));
        domain.attach(NEW);
        domain.net.run_for(Duration::from_secs(5));
        prop_assert!(domain.reaches());
    }
}
