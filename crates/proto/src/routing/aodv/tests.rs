//! Timelines of AODV.

use super::*;
use crate::routing::testing::{HOP, Lab, address, assert_no_loop};
use proptest::prelude::*;

fn chain(nodes: usize) -> Lab<Aodv<u32>> {
    let routers = (0..nodes).map(|node| Aodv::new(address(node), Instant::ZERO));
    let mut lab = Lab::new(routers.collect());
    for node in 1..nodes {
        lab.link(node - 1, node, true);
    }
    lab
}

/// Returns the times in milliseconds and the times to live of a node's requests of its own.
fn requests(lab: &Lab<Aodv<u32>>, node: usize) -> Vec<(u64, u8)> {
    let own = lab.messages.iter().filter(|(_, from, _)| *from == node);
    own.filter_map(|(at, _, bytes)| match Message::decode(bytes).unwrap() {
        (Message::Request(request), ttl) if request.originator == address(node) => {
            Some((at.as_nanos() / 1_000_000, ttl))
        }
        _ => None,
    })
    .collect()
}

#[test]
fn the_ring_expands_as_in_the_rfc_until_the_answer_comes() {
    // Section 6.4: TTL 1, 3, 5, 7, then 35; each is given 2 x 40 ms x (TTL + 2).
    let mut lab = chain(7);
    lab.send(0, 6, 1);
    lab.run(Instant::from_secs(2));
    assert_eq!(requests(&lab, 0), [(0, 1), (240, 3), (640, 5), (1200, 7)]);
    // Six hops there, six back, six with the datagram, whose limit falls at each of five relays.
    let route = lab.routers[0].route(address(6)).unwrap();
    assert_eq!((route.hop_count, route.next_hop), (6, address(1)));
    assert_eq!(lab.delivered, [(6, 1, 64 - 5)]);
}

#[test]
fn a_search_in_vain_ends_after_two_repetitions_in_the_whole_network() {
    let mut lab = chain(2);
    lab.send(0, 5, 1);
    lab.run(Instant::from_secs(60));
    // 720 ms for the ring of 7, then 2.8 s, 5.6 s and 11.2 s for the whole network.
    let expected = [
        (0, 1),
        (240, 3),
        (640, 5),
        (1200, 7),
        (1920, 35),
        (4720, 35),
        (10_320, 35),
    ];
    assert_eq!(requests(&lab, 0), expected);
    assert_eq!(lab.dropped, [(0, 1, DropReason::NoRoute)]);
}

#[test]
fn a_fresh_route_in_the_middle_answers_and_a_stale_one_does_not() {
    let mut lab = chain(4);
    lab.send(1, 3, 1);
    lab.run(Instant::from_secs(1));
    let asked = lab.messages.len();
    // Node 1 knows the way: one request, one reply, and no request beyond node 1.
    lab.send(0, 3, 2);
    lab.run(lab.now + HOP + HOP);
    let kinds: Vec<(usize, bool)> = lab.messages[asked..]
        .iter()
        .filter_map(|(_, from, bytes)| match Message::decode(bytes).unwrap().0 {
            Message::Request(_) => Some((*from, true)),
            Message::Reply(reply) if reply.originator == address(0) => Some((*from, false)),
            _ => None,
        })
        .collect();
    assert_eq!(kinds, [(0, true), (1, false)]);
    // A request for a later number than the route's passes on to the destination, which takes the number over.
    let request = RouteRequest {
        destination_only: false,
        hop_count: 0,
        id: 99,
        destination: address(3),
        destination_sequence: Some(50),
        originator: address(0),
        originator_sequence: 7,
    };
    let frame = Frame::broadcast(Message::Request(request).encode(9));
    let now = lab.now;
    lab.routers[1].handle_frame(now, address(0), frame);
    let Some(Action::Send(passed)) = lab.routers[1].poll() else {
        panic!("the request is not passed on");
    };
    let onward = RouteRequest {
        hop_count: 1,
        ..request
    };
    assert_eq!(
        Message::decode(&passed.message),
        Ok((Message::Request(onward), 8))
    );
    lab.routers[3].handle_frame(now, address(2), passed);
    assert_eq!(lab.routers[3].sequence, 50);
}

#[test]
fn a_broken_link_is_reported_to_the_source_which_asks_anew() {
    let mut lab = chain(4);
    lab.send(0, 3, 1);
    lab.run(Instant::from_secs(1));
    assert_eq!(lab.delivered.len(), 1);
    let before = lab.routers[0].route(address(3)).unwrap().sequence.unwrap();
    lab.link(2, 3, false);
    lab.send(0, 3, 2);
    lab.run(lab.now + Duration::from_millis(20));
    // The relay drops the datagram; the error takes two hops back, with the next number.
    assert_eq!(lab.dropped, [(2, 2, DropReason::NoRoute)]);
    assert_eq!(lab.routers[0].route(address(3)), None);
    let known = lab.routers[0].table.any(address(3)).unwrap();
    assert_eq!(known.sequence, Some(before + 1));
    // Another way appears, and the next search starts beyond the old distance: TTL 3 + 2.
    lab.link(1, 3, true);
    lab.send(0, 3, 3);
    lab.run(lab.now + Duration::from_millis(20));
    assert_eq!(requests(&lab, 0).last().unwrap().1, 5);
    assert_eq!(lab.delivered.last(), Some(&(3, 3, 63)));
}

#[test]
fn routes_end_after_their_lifetime_and_a_silent_neighbour_after_two_hellos() {
    let mut lab = chain(3);
    lab.send(0, 2, 1);
    lab.run(Instant::from_millis(300));
    assert!(lab.routers[0].route(address(2)).is_some());
    // Unused, it ends with the lifetime that the destination gave: 6 s after the reply.
    lab.run(Instant::from_millis(6200));
    assert!(lab.routers[0].route(address(2)).is_some());
    lab.run(Instant::from_millis(6300));
    assert!(lab.routers[0].route(address(2)).is_none());
    // With Hellos a neighbour that goes away is noticed 2 s after its last one, without any datagram.
    lab.send(0, 2, 2);
    lab.run(Instant::from_secs(8));
    assert!(lab.routers[1].route(address(2)).is_some());
    lab.link(1, 2, false);
    let gone = lab.now;
    lab.run(gone + Duration::from_millis(900));
    assert!(lab.routers[1].route(address(2)).is_some());
    lab.run(gone + Duration::from_secs(2));
    assert!(lab.routers[1].route(address(2)).is_none());
}

#[test]
fn sixty_four_datagrams_wait_and_ten_requests_go_out_in_a_second() {
    let mut lab = chain(1);
    for body in 0..65 {
        lab.send(0, 1 + body as usize % 20, body);
    }
    assert_eq!(lab.dropped, [(0, 64, DropReason::Full)]);
    assert_eq!(requests(&lab, 0).len(), 10);
    lab.run(Instant::from_millis(999));
    assert_eq!(requests(&lab, 0).len(), 10);
}

fn events() -> impl Strategy<Value = Vec<(u8, u8, bool, u16)>> {
    prop::collection::vec((0u8..7, 0u8..7, any::<bool>(), 0u16..3000), 20..80)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn no_loop_forms_however_the_links_change(events in events()) {
        let routers = (0..7).map(|node| Aodv::new(address(node), Instant::from_millis(37 * node as u64)));
        let mut lab = Lab::new(routers.collect());
        for (a, b, is_up, wait) in events {
            let (a, b) = (usize::from(a), usize::from(b));
            if a == b {
                continue;
            }
            lab.link(a, b, is_up);
            lab.send(a, (b + 3) % 7, 0);
            lab.send(b, (a + 5) % 7, 0);
            let until = lab.now + Duration::from_millis(wait.into());
            lab.run_checked(until, |lab| {
                assert_no_loop(7, |node, to| Some(lab.routers[node].route(to)?.next_hop));
            });
        }
    }

    #[test]
    fn arbitrary_messages_do_no_harm(messages: Vec<(Vec<u8>, u8, bool)>) {
        let mut router = Aodv::<u32>::new(address(0), Instant::ZERO);
        for (at, (mut message, kind, to_all)) in messages.into_iter().enumerate() {
            if let Some(first) = message.get_mut(1) {
                *first = kind % 4;
            }
            let receiver = (!to_all).then_some(address(0));
            let frame = Frame { receiver, message, datagram: None, is_damaged: false };
            let now = Instant::from_millis(100 * at as u64);
            router.handle_frame(now, address(1), frame);
            router.handle_timeout(now);
            while router.poll().is_some() {}
            let _ = router.next_deadline();
        }
    }
}
