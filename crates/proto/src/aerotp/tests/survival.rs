//! Outages, handovers, and new addresses.

use super::*;
use core::net::Ipv4Addr;

/// The hard handover of the issue: 2 Mbit/s 10 ms, 4 s without a link, then 1 Mbit/s 250 ms. From reconnection to the first new
/// byte, which takes 0.26 s at least: 12 ms of a packet and 250 ms of the way.
fn after_handover(is_told: bool) -> f64 {
    let links = [3, 4].map(|seed| Link::new(2_000_000, Duration::from_millis(10), seed));
    let mut configuration = with_mode(Mode::Reliable);
    configuration.initial_rate = DataRate::from_bits_per_second(2_000_000);
    let mut pair = Pair::new(configuration, links);
    let reconnected = 9.03;
    for link in &mut pair.links {
        let at = |seconds: f64| Instant::from_nanos((seconds * 1e9) as u64);
        link.outages.push((at(5.0), at(reconnected)));
    }
    pair.write(4 << 20);
    pair.seconds(5.0);
    if is_told {
        pair.a.link_down(PathId(0));
    }
    pair.seconds(reconnected);
    let now = pair.now();
    for link in &mut pair.links {
        link.rate = DataRate::from_bits_per_second(1_000_000);
        link.delay = Duration::from_millis(250);
        link.free_at = now;
    }
    if is_told {
        pair.a
            .link_up(PathId(0), Some(DataRate::from_bits_per_second(1_000_000)));
    }
    let before = pair.read_bytes[1];
    pair.seconds(14.0);
    let first = pair
        .arrivals
        .iter()
        .find(|(_, bytes)| *bytes > before)
        .unwrap()
        .0;
    // And then it goes on at the new rate.
    let goodput = (pair.read_bytes[1] - before) as f64 * 8.0 / 4.4;
    assert!(goodput > 0.8e6, "{goodput}");
    first.as_secs_f64() - reconnected
}

/// Ten minutes without traffic are no silence of the peer.
#[test]
fn a_connection_without_traffic_stays_and_goes_on() {
    for mode in [Mode::Reliable, Mode::NearReliable] {
        let mut pair = Pair::new(with_mode(mode), study_path(0.0, 1));
        pair.write(10_000);
        pair.seconds(600.0);
        pair.write(10_000);
        pair.seconds(610.0);
        pair.assert_read(20_000);
        assert!(!pair.saw(End::A, Event::TimedOut));
    }
}

/// A deadline at which nothing can be done would keep its caller waiting for ever.
#[test]
fn an_end_is_not_repeated_over_a_link_that_is_down() {
    let mut pair = Pair::new(with_mode(Mode::QuasiReliable), study_path(0.0, 1));
    pair.a.close();
    assert!(pair.a.poll_transmit(Instant::ZERO).is_some());
    let again = pair.a.poll_timeout().expect("it is sent three times");
    pair.a.link_down(PathId(0));
    pair.a.handle_timeout(again);
    assert_eq!(pair.a.poll_transmit(again), None);
    assert!(pair.a.poll_timeout().is_none_or(|at| at > again));
    pair.a.link_up(PathId(0), None);
    assert!(pair.a.poll_transmit(again).is_some());
}

/// The offer to a gateway goes with the opening.
#[test]
fn an_offer_comes_with_the_opening() {
    let offer = crate::wire::aerotp::TcpOffer {
        maximum_segment_size: 1380,
        window_scale: Some(7),
        sack_permitted: true,
        timestamps: false,
    };
    let mut pair = Pair::new(with_mode(Mode::Reliable), study_path(0.0, 1));
    pair.a.set_offer(offer);
    pair.write(100);
    pair.seconds(1.0);
    assert_eq!(pair.b.as_ref().unwrap().peer_offer(), Some(offer));
}

#[test]
fn data_comes_soon_after_a_hard_handover() {
    let told = after_handover(true);
    assert!((0.26..0.35).contains(&told), "{told}");
    let untold = after_handover(false);
    assert!((0.26..1.0).contains(&untold), "{untold}");
}

/// During an outage nobody sends blindly: only probes, one packet each 150 ms.
#[test]
fn an_outage_is_probed_and_not_flooded() {
    let mut pair = Pair::new(with_mode(Mode::Reliable), study_path(0.0, 5));
    for link in &mut pair.links {
        link.outages
            .push((Instant::from_secs(2), Instant::from_secs(62)));
    }
    pair.write(4 << 20);
    pair.seconds(3.0);
    let before = pair.a.statistics();
    pair.seconds(61.0);
    let after = pair.a.statistics();
    let sent = after.packets - before.packets;
    assert!((300..=400).contains(&sent), "{sent}");
    pair.seconds(70.0);
    pair.assert_read(4 << 20);
}

#[test]
fn an_end_that_is_never_heard_gives_up_after_its_time() {
    let mut pair = Pair::new(with_mode(Mode::Reliable), study_path(0.0, 5));
    pair.links[0].loss = 1.0;
    pair.write(1000);
    pair.seconds(299.0);
    assert_eq!(pair.a.state(), State::AsynSent);
    pair.seconds(301.0);
    assert!(pair.saw(End::A, Event::TimedOut) && pair.saw(End::A, Event::Closed));
}

/// A handover is not a new connection: the peer knows the token, and answers to the new address.
#[test]
fn a_connection_outlives_its_address() {
    let mut pair = Pair::new(with_mode(Mode::Reliable), study_path(1e-5, 6));
    pair.write(1_000_000);
    pair.seconds(0.5);
    let elsewhere = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 9));
    let now = pair.now();
    pair.a.move_to(now, PathId(0), elsewhere);
    pair.seconds(5.0);
    pair.assert_read(1_000_000);
    let last = pair
        .log
        .iter()
        .rev()
        .find(|(_, end, _)| *end == End::B)
        .unwrap();
    assert_eq!(last.2.ip.destination, elsewhere);
    assert_eq!(pair.b.as_ref().unwrap().statistics().refused, 0);
}

/// The token is shown until the peer has answered, and no longer.
#[test]
fn who_does_not_know_the_token_is_refused() {
    let mut pair = Pair::new(with_mode(Mode::Reliable), study_path(0.0, 7));
    pair.write(1000);
    pair.seconds(0.5);
    let (_, _, packet) = pair.log[0].clone();
    let Body::Aerotp(mut stolen) = packet.body else {
        unreachable!()
    };
    stolen.header.opening = None;
    let elsewhere = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 9));
    let now = pair.now();
    let b = pair.b.as_mut().unwrap();
    b.handle_packet(now, (elsewhere, THERE), *stolen);
    assert_eq!(b.statistics().refused, 1);
}
