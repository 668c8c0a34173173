//! Timelines of AeroRP.

use super::*;
use crate::wire::aeronp::TranslatedHeader;
use proptest::prelude::*;

const STATION: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const SELF: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const FAST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 3);
const SLOW: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 4);

fn router(keeping: Keeping) -> Aerorp<u32> {
    let mut router = Aerorp::new(AerorpConfig {
        address: SELF,
        range_m: 27_800.0,
        keeping,
        beacons: true,
        advertises: false,
        begin: Instant::from_secs(1000),
    });
    // 100 km from the station, and flying away.
    router.locate(at(100.0, 200.0));
    router
}

/// Returns a geolocation on a line, in kilometres and metres a second.
fn at(x_km: f64, velocity_m_s: f64) -> Geolocation {
    Geolocation::new([x_km * 1e3, 0.0, 0.0], [velocity_m_s, 0.0, 0.0])
}

fn header(kind: Kind, source: Ipv4Addr, geolocation: Geolocation) -> AeronpHeader {
    AeronpHeader {
        kind,
        congestion: false,
        corruption: false,
        priority: 0,
        hop_limit: 9,
        source,
        destination: Ipv4Addr::BROADCAST,
        next_hop: Ipv4Addr::BROADCAST,
        geolocation: Some(geolocation),
        translated: None,
    }
}

fn beacon(source: Ipv4Addr, geolocation: Geolocation) -> Frame<u32> {
    Frame::broadcast(encoded(&header(Kind::Beacon, source, geolocation)))
}

/// Returns the station's advertisement, passed on by a neighbour.
fn advertisement(by: Geolocation, number: u32, station: Geolocation) -> Frame<u32> {
    let mut message = encoded(&header(Kind::Advertisement, STATION, by));
    message.extend_from_slice(&number.to_be_bytes());
    station.encode(&mut message);
    Frame::broadcast(message)
}

fn datagram(body: u32) -> Datagram<u32> {
    Datagram {
        source: SELF,
        destination: STATION,
        hop_limit: HOP_LIMIT,
        congestion: false,
        corruption: false,
        translated: None,
        body,
    }
}

/// Returns the receivers and bodies of the datagrams sent so far.
fn sent(router: &mut Aerorp<u32>) -> Vec<(Ipv4Addr, u32)> {
    let actions = core::iter::from_fn(|| router.poll());
    let frames = actions.filter_map(|action| match action {
        Action::Send(frame) => Some((frame.receiver?, frame.datagram?.body)),
        _ => None,
    });
    frames.collect()
}

#[test]
fn the_neighbour_that_intercepts_first_gets_the_datagram() {
    let mut router = router(Keeping::Ferry);
    let second = Instant::from_secs(1);
    router.handle_frame(
        second,
        SLOW,
        advertisement(at(90.0, -50.0), 1, at(0.0, 0.0)),
    );
    // Farther from the station (72.2 km beyond range at 110 km less 27.8), but at 1200 m/s: 68.5 s against 1244 s.
    router.handle_frame(second, FAST, beacon(FAST, at(110.0, -1200.0)));
    router.send(second, datagram(1));
    assert_eq!(sent(&mut router), [(FAST, 1)]);
    // Four seconds after its last beacon a neighbour is forgotten.
    let later = Instant::from_secs(4);
    router.handle_frame(later, SLOW, beacon(SLOW, at(89.85, -50.0)));
    router.handle_frame(
        Instant::from_millis(5001),
        SLOW,
        beacon(SLOW, at(89.8, -50.0)),
    );
    router.send(Instant::from_millis(5001), datagram(2));
    assert_eq!(sent(&mut router), [(SLOW, 2)]);
}

#[test]
fn a_silent_neighbour_is_not_asked() {
    let mut router = router(Keeping::Ferry);
    router.handle_frame(
        Instant::ZERO,
        SLOW,
        advertisement(at(90.0, -1.0), 1, at(0.0, 0.0)),
    );
    router.send(Instant::from_millis(3999), datagram(1));
    router.send(Instant::from_millis(4000), datagram(2));
    assert_eq!(sent(&mut router), [(SLOW, 1)]);
}

#[test]
fn a_neighbour_out_of_range_by_now_is_not_asked() {
    let mut router = router(Keeping::Ferry);
    router.handle_frame(
        Instant::ZERO,
        SLOW,
        advertisement(at(110.0, -50.0), 1, at(0.0, 0.0)),
    );
    // 27 km away, and 1200 m/s faster: beyond 27.8 km after 0.7 s. The own position stays as it was told.
    router.handle_frame(Instant::ZERO, FAST, beacon(FAST, at(73.0, -1200.0)));
    router.send(Instant::from_millis(700), datagram(1));
    assert_eq!(sent(&mut router), [(SLOW, 1)]);
}

#[test]
fn a_datagram_is_ferried_buffered_or_dropped() {
    for keeping in [Keeping::Ferry, Keeping::Buffer, Keeping::Drop] {
        let mut router = router(keeping);
        router.handle_frame(
            Instant::ZERO,
            SLOW,
            advertisement(at(100.0, 200.0), 1, at(0.0, 0.0)),
        );
        while router.poll().is_some() {}
        for body in 0..65 {
            router.send(Instant::ZERO, datagram(body));
        }
        let dropped = core::iter::from_fn(|| router.poll()).count();
        assert_eq!(
            dropped,
            match keeping {
                Keeping::Ferry => 0,
                Keeping::Buffer => 1,
                Keeping::Drop => 65,
            }
        );
        // A better neighbour comes after half a minute.
        let later = Instant::from_secs(30);
        router.handle_timeout(later);
        router.handle_frame(later, FAST, beacon(FAST, at(95.0, -1200.0)));
        let ferried = sent(&mut router);
        assert_eq!(
            ferried.len(),
            if keeping == Keeping::Ferry { 65 } else { 0 }
        );
        assert!(
            ferried
                .iter()
                .map(|(_, body)| *body)
                .eq(0..ferried.len() as u32)
        );
    }
}

#[test]
fn the_destination_in_range_gets_it_directly() {
    let mut router = router(Keeping::Ferry);
    router.locate(at(20.0, 900.0));
    router.send(Instant::ZERO, datagram(1));
    assert_eq!(sent(&mut router), []);
    router.handle_frame(Instant::ZERO, FAST, beacon(FAST, at(1.0, 0.0)));
    router.handle_frame(Instant::ZERO, STATION, beacon(STATION, at(0.0, 0.0)));
    assert_eq!(sent(&mut router), [(STATION, 1)]);
}

#[test]
fn an_advertisement_is_passed_on_once_and_older_ones_not_at_all() {
    let mut router = router(Keeping::Ferry);
    let mut hear = |number| {
        router.handle_frame(
            Instant::ZERO,
            SLOW,
            advertisement(at(90.0, 0.0), number, at(5.0, 0.0)),
        );
        core::iter::from_fn(|| router.poll()).collect::<Vec<_>>()
    };
    let passed = hear(7);
    let [Action::Send(frame)] = &passed[..] else {
        panic!("{passed:?}");
    };
    let (onward, body) = AeronpHeader::decode(&frame.message).unwrap();
    assert_eq!(
        (onward.source, onward.hop_limit, onward.geolocation),
        (STATION, 8, Some(at(100.0, 200.0)))
    );
    assert_eq!(Geolocation::decode(&body[4..]), Ok(at(5.0, 0.0)));
    assert_eq!(hear(7), []);
    assert_eq!(hear(6), []);
    assert_eq!(hear(8).len(), 1);
}

#[test]
fn beacons_and_advertisements_keep_their_intervals() {
    let mut router = Aerorp::<u32>::new(AerorpConfig {
        address: STATION,
        range_m: 27_800.0,
        keeping: Keeping::Drop,
        beacons: true,
        advertises: true,
        begin: Instant::from_millis(250),
    });
    let mut kinds = Vec::new();
    while router.next_deadline() < Instant::from_secs(11) {
        let now = router.next_deadline();
        router.handle_timeout(now);
        while let Some(Action::Send(frame)) = router.poll() {
            kinds.push((
                now.as_nanos() / 1_000_000,
                AeronpHeader::decode(&frame.message).unwrap().0.kind,
            ));
        }
    }
    let times = |kind| {
        let of = kinds.iter().filter(move |(_, each)| *each == kind);
        of.map(|(at, _)| *at).collect::<Vec<_>>()
    };
    assert_eq!(
        times(Kind::Beacon),
        (0..11)
            .map(|second| 250 + 1000 * second)
            .collect::<Vec<_>>()
    );
    assert_eq!(times(Kind::Advertisement), [250, 5250, 10_250]);
}

#[test]
fn without_beacons_neighbours_are_learned_from_what_is_overheard() {
    let mut router = router(Keeping::Ferry);
    router.handle_frame(
        Instant::ZERO,
        SLOW,
        advertisement(at(100.0, 300.0), 1, at(0.0, 0.0)),
    );
    router.send(Instant::ZERO, datagram(1));
    let _ = sent(&mut router);
    let data = AeronpHeader {
        next_hop: SLOW,
        ..header(Kind::Data, FAST, at(95.0, -1200.0))
    };
    router.handle_overheard(Instant::ZERO, FAST, &encoded(&data));
    assert_eq!(sent(&mut router), [(FAST, 1)]);
}

#[test]
fn an_unreachable_neighbour_is_forgotten_and_the_datagram_goes_elsewhere() {
    let mut router = router(Keeping::Ferry);
    router.handle_frame(
        Instant::ZERO,
        SLOW,
        advertisement(at(90.0, -50.0), 1, at(0.0, 0.0)),
    );
    router.handle_frame(Instant::ZERO, FAST, beacon(FAST, at(95.0, -1200.0)));
    router.send(Instant::ZERO, datagram(1));
    while let Some(action) = router.poll() {
        if let Action::Send(
            frame @ Frame {
                receiver: Some(FAST),
                ..
            },
        ) = action
        {
            router.handle_failure(Instant::ZERO, frame);
        }
    }
    router.send(Instant::ZERO, datagram(2));
    assert_eq!(sent(&mut router), [(SLOW, 2)]);
}

/// Hands a datagram from FAST to a router that knows the way; returns the header that it writes.
fn passed_on(router: &mut Aerorp<u32>, arrived: &AeronpHeader, is_damaged: bool) -> AeronpHeader {
    router.handle_frame(Instant::ZERO, STATION, beacon(STATION, at(90.0, 0.0)));
    let frame = Frame {
        receiver: Some(SELF),
        message: encoded(arrived),
        datagram: Some(datagram(1)),
        is_damaged,
    };
    router.handle_frame(Instant::ZERO, FAST, frame);
    let Some(Action::Send(sent)) = router.poll() else {
        panic!("not forwarded");
    };
    assert!(!sent.is_damaged);
    AeronpHeader::decode(&sent.message).unwrap().0
}

/// The mark of a node with a congested queue stays on the datagram, and tells its neighbours in all that it sends.
#[test]
fn congestion_is_indicated_and_carried_on() {
    for (on_the_way, here) in [(false, false), (true, false), (false, true)] {
        let mut router = router(Keeping::Ferry);
        router.note_queue(here);
        let arrived = AeronpHeader {
            congestion: on_the_way,
            ..header(Kind::Data, FAST, at(99.0, 0.0))
        };
        let header = passed_on(&mut router, &arrived, false);
        assert_eq!(header.congestion, on_the_way || here);
        router.handle_timeout(Instant::from_secs(1000));
        let beacon = core::iter::from_fn(|| router.poll()).find_map(|action| match action {
            Action::Send(frame) => Some(AeronpHeader::decode(&frame.message).unwrap().0),
            _ => None,
        });
        assert_eq!(beacon.unwrap().congestion, here);
    }
}

/// A relay that receives a damaged datagram says so, and a later one leaves it said.
#[test]
fn corruption_is_indicated_and_carried_on() {
    for (on_the_way, here) in [(false, false), (true, false), (false, true)] {
        let arrived = AeronpHeader {
            corruption: on_the_way,
            ..header(Kind::Data, FAST, at(99.0, 0.0))
        };
        let header = passed_on(&mut router(Keeping::Ferry), &arrived, here);
        assert_eq!(header.corruption, on_the_way || here);
    }
}

/// A relay passes on the IP header that it reads in AeroNP's, with the priority of its code point.
#[test]
fn a_translated_header_goes_on() {
    let mut router = router(Keeping::Ferry);
    router.handle_frame(Instant::ZERO, STATION, beacon(STATION, at(90.0, 0.0)));
    let ip = TranslatedHeader {
        protocol: 6,
        traffic_class: 0xA0,
        hop_limit: 60,
        source: Some(Ipv4Addr::new(192, 0, 2, 1)),
        destination: None,
        identification: 0,
        dont_fragment: true,
    };
    let arrived = AeronpHeader {
        translated: Some(ip),
        ..header(Kind::Data, FAST, at(99.0, 0.0))
    };
    let frame = Frame {
        receiver: Some(SELF),
        message: encoded(&arrived),
        datagram: Some(datagram(1)),
        is_damaged: false,
    };
    router.handle_frame(Instant::ZERO, FAST, frame);
    let Some(Action::Send(sent)) = router.poll() else {
        panic!("not forwarded");
    };
    let (header, _) = AeronpHeader::decode(&sent.message).unwrap();
    assert_eq!((header.translated, header.priority), (Some(ip), 5));
}

#[test]
fn a_relay_counts_hops_down_and_drops_the_last() {
    let mut router = router(Keeping::Ferry);
    router.handle_frame(Instant::ZERO, STATION, beacon(STATION, at(90.0, 0.0)));
    let arrive = |router: &mut Aerorp<u32>, hop_limit| {
        let header = header(Kind::Data, FAST, at(99.0, 0.0));
        let frame = Frame {
            receiver: Some(SELF),
            message: encoded(&header),
            datagram: Some(Datagram {
                source: FAST,
                hop_limit,
                ..datagram(1)
            }),
            is_damaged: false,
        };
        router.handle_frame(Instant::ZERO, FAST, frame);
        router.poll()
    };
    let Some(Action::Send(frame)) = arrive(&mut router, 2) else {
        panic!("not forwarded");
    };
    let (sent, _) = AeronpHeader::decode(&frame.message).unwrap();
    assert_eq!(
        (sent.source, sent.destination, sent.next_hop, sent.hop_limit),
        (FAST, STATION, STATION, 1)
    );
    let dropped = arrive(&mut router, 1);
    assert!(matches!(
        dropped,
        Some(Action::Drop(_, DropReason::HopLimit))
    ));
}

proptest! {
    #[test]
    fn arbitrary_messages_do_no_harm(messages: Vec<Vec<u8>>, places: Vec<([i32; 3], [i16; 3])>) {
        let mut router = router(Keeping::Buffer);
        router.send(Instant::ZERO, datagram(1));
        for message in messages {
            router.handle_overheard(Instant::ZERO, FAST, &message);
            router.handle_frame(Instant::ZERO, FAST, Frame::broadcast(message));
        }
        for (position_dm, velocity_dm_s) in places {
            let place = Geolocation { position_dm, velocity_dm_s };
            router.handle_frame(Instant::ZERO, STATION, advertisement(place, 1, place));
            router.handle_frame(Instant::ZERO, STATION, Frame::broadcast(message_without_body(place)));
        }
        while router.poll().is_some() {}
    }
}

fn message_without_body(place: Geolocation) -> Vec<u8> {
    encoded(&header(Kind::Advertisement, STATION, place))
}
