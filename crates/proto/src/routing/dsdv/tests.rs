//! Timelines of DSDV, among them the example of the paper.

use super::*;
use crate::routing::testing::{Lab, address, assert_no_loop};
use proptest::prelude::*;

/// Returns a table's rows as in the paper, nodes counted from 1: destination, next hop, metric, sequence number.
fn rows(lab: &Lab<Dsdv<u32>>, node: usize) -> Vec<(usize, usize, u32, u32)> {
    let entries = (0..lab.routers.len()).filter_map(|to| {
        let entry = lab.routers[node].entry(address(to))?;
        let Metric::Hops(hops) = entry.metric else {
            return None;
        };
        let next_hop = crate::routing::testing::node(entry.next_hop);
        Some((to + 1, next_hop + 1, hops, entry.sequence))
    });
    entries.collect()
}

#[test]
fn the_tables_of_the_paper_s_example() {
    // Perkins and Bhagwat, figure 1 and tables 1 to 4: eight mobile hosts; MH1 moves from MH2 to MH7 and MH8. Between
    // the two tables each number has grown by 110: 55 updates.
    let numbers = [406, 128, 564, 710, 392, 76, 128, 50];
    // The farther from MH4, the earlier, so that an update passes through the network in one round.
    let begin_ms = [10, 30, 20, 40, 20, 30, 20, 0];
    let routers = numbers.iter().zip(begin_ms).enumerate();
    let routers = routers.map(|(node, (&number, begin))| {
        // The first update adds 2.
        Dsdv::new(address(node), number - 2, Instant::from_millis(begin))
    });
    let mut lab = Lab::new(routers.collect());
    let mut link = |a: usize, b: usize, is_up| lab.link(a - 1, b - 1, is_up);
    for (a, b) in [(1, 2), (2, 3), (2, 4), (4, 6), (5, 6), (6, 7), (7, 8)] {
        link(a, b, true);
    }
    lab.run(Instant::from_secs(14));
    let before = [
        (1, 2, 2, 406),
        (2, 2, 1, 128),
        (3, 2, 2, 564),
        (4, 4, 0, 710),
        (5, 6, 2, 392),
        (6, 6, 1, 76),
        (7, 6, 2, 128),
        (8, 6, 3, 50),
    ];
    assert_eq!(rows(&lab, 3), before);
    lab.link(0, 1, false);
    lab.link(0, 6, true);
    lab.link(0, 7, true);
    lab.run(Instant::from_secs(15 * 56 - 1));
    let after = [
        (1, 6, 3, 516),
        (2, 2, 1, 238),
        (3, 2, 2, 674),
        (4, 4, 0, 820),
        (5, 6, 2, 502),
        (6, 6, 1, 186),
        (7, 6, 2, 238),
        (8, 6, 3, 160),
    ];
    assert_eq!(rows(&lab, 3), after);
}

fn chain(nodes: usize) -> Lab<Dsdv<u32>> {
    let begin = |node: usize| Instant::from_millis(node as u64 * 10);
    let routers = (0..nodes).map(|node| Dsdv::new(address(node), 0, begin(node)));
    let mut lab = Lab::new(routers.collect());
    for node in 1..nodes {
        lab.link(node - 1, node, true);
    }
    lab.run(Instant::from_secs(20));
    lab
}

#[test]
fn a_lost_next_hop_is_told_with_an_odd_number_and_the_destination_s_next_number_mends_it() {
    let mut lab = chain(4);
    lab.send(0, 3, 1);
    lab.run(Instant::from_millis(20_010));
    assert_eq!(lab.delivered, [(3, 1, 62)]);
    let number = lab.routers[2].entry(address(3)).unwrap().sequence;
    lab.link(2, 3, false);
    // The link layer fails at node 2; the news is back at node 0 with the next triggered updates.
    lab.send(0, 3, 2);
    lab.run(Instant::from_millis(20_500));
    assert_eq!(lab.dropped, [(2, 2, DropReason::NoRoute)]);
    let entry = lab.routers[0].entry(address(3)).unwrap();
    assert_eq!(
        (entry.metric, entry.sequence),
        (Metric::Infinite, number + 1)
    );
    lab.send(0, 3, 3);
    assert_eq!(lab.dropped.last(), Some(&(0, 3, DropReason::NoRoute)));
    // Next to node 0 now: it hears at 30 s that it is out of reach, and takes the next even number, then another for its
    // own update.
    lab.link(0, 3, true);
    lab.run(Instant::from_secs(31));
    let entry = lab.routers[0].entry(address(3)).unwrap();
    assert_eq!(
        (entry.metric, entry.sequence),
        (Metric::Hops(1), number + 4)
    );
}

#[test]
fn a_silent_neighbour_is_gone_after_three_updates() {
    let mut lab = chain(2);
    lab.link(0, 1, false);
    // The last update came at 15.01 s.
    lab.run(Instant::from_millis(60_000));
    assert_eq!(
        lab.routers[0].entry(address(1)).unwrap().metric,
        Metric::Hops(1)
    );
    lab.run(Instant::from_millis(60_020));
    assert_eq!(
        lab.routers[0].entry(address(1)).unwrap().metric,
        Metric::Infinite
    );
}

#[test]
fn a_fluctuating_route_is_told_after_twice_its_settling_time() {
    let told = |destination, hops, sequence| table::Advertised {
        destination,
        metric: Metric::Hops(hops),
        sequence,
    };
    let mut router = Dsdv::<u32>::new(address(0), 0, Instant::from_secs(1000));
    let mut hear = |at: u64, from: usize, hops, sequence| {
        let message = table::encode(&[told(address(9), hops, sequence)]);
        router.handle_frame(
            Instant::from_secs(at),
            address(from),
            Frame::broadcast(message),
        );
        router.table.next_change()
    };
    // A new destination is told at once.
    assert_eq!(hear(0, 1, 4, 2), Instant::from_secs(0));
    // The better route of number 2 comes 8 s after the first: the average is 8 s / 8 = 1 s.
    hear(8, 2, 2, 2);
    router.table.full();
    // The long way is first again, for 2 s. The short one, back in time, is what is told.
    let mut hear = |at: u64, from: usize, hops, sequence| {
        let message = table::encode(&[told(address(9), hops, sequence)]);
        router.handle_frame(
            Instant::from_secs(at),
            address(from),
            Frame::broadcast(message),
        );
        router.table.next_change()
    };
    assert_eq!(hear(15, 1, 4, 4), Instant::from_secs(17));
    assert!(hear(16, 2, 2, 4) <= Instant::from_secs(17));
    assert_eq!(
        router.table.changed(Instant::from_secs(17))[1],
        told(address(9), 3, 4)
    );
}

#[test]
fn a_node_that_hears_a_later_number_of_itself_takes_a_later_even_one() {
    let mut router = Dsdv::<u32>::new(address(0), 10, Instant::from_secs(1));
    let broken = table::Advertised {
        destination: address(0),
        metric: Metric::Infinite,
        sequence: 21,
    };
    let frame = Frame::broadcast(table::encode(&[broken]));
    router.handle_frame(Instant::ZERO, address(1), frame);
    assert_eq!(router.entry(address(0)).unwrap().sequence, 22);
}

#[test]
fn a_message_of_a_wrong_length_is_refused() {
    let error = table::decode(&[0; 13]).unwrap_err().to_string();
    assert_eq!(error, "DSDV: 13 bytes where 24 are needed");
    assert_eq!(table::decode(&[]), Ok(Vec::new()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn no_loop_forms_however_the_links_change(
        events in prop::collection::vec((0u8..7, 0u8..7, any::<bool>(), 0u16..4000), 20..80),
    ) {
        let begin = |node: u64| Instant::from_millis(1370 * node);
        let routers = (0..7).map(|node| Dsdv::new(address(node), 0, begin(node as u64)));
        let mut lab = Lab::new(routers.collect());
        for (a, b, is_up, wait) in events {
            let (a, b) = (usize::from(a), usize::from(b));
            if a == b {
                continue;
            }
            lab.link(a, b, is_up);
            lab.send(a, (b + 3) % 7, 0);
            let until = lab.now + Duration::from_millis(wait.into());
            lab.run_checked(until, |lab| {
                assert_no_loop(7, |node, to| lab.routers[node].table.next_hop(to));
            });
        }
    }

    #[test]
    fn arbitrary_messages_do_no_harm(messages: Vec<Vec<u8>>) {
        let mut router = Dsdv::<u32>::new(address(0), 0, Instant::ZERO);
        for (at, message) in messages.into_iter().enumerate() {
            let now = Instant::from_secs(at as u64);
            router.handle_frame(now, address(1), Frame::broadcast(message));
            router.handle_timeout(now);
            while router.poll().is_some() {}
        }
    }
}
