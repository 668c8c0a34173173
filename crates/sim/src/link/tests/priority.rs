//! Queues with strict priority.

use super::*;
use crate::packets::PacketId;

fn prioritised(limit: QueueLimit) -> LinkConfig {
    let mut config = plain();
    config.down.queue = QueueConfig {
        limit,
        management: Management::Priority(Priority {}),
    };
    config
}

/// Offers packets of 1000 B (8 ms each) at once, one of each given precedence.
fn offered(config: LinkConfig, precedences: &[u32]) -> (Link, Vec<PacketId>) {
    let ids = packet_ids(precedences.len());
    let mut link = Link::new(config, Seed(1));
    for (&id, &precedence) in ids.iter().zip(precedences) {
        link.offer_labelled(Instant::ZERO, End::A, (id, 1000), label(precedence));
    }
    (link, ids)
}

fn order(story: &[(u64, usize, String)]) -> Vec<usize> {
    let arrived = story.iter().filter(|(.., fate)| fate == "delivered");
    arrived.map(|&(_, packet, _)| packet).collect()
}

fn dropped(story: &[(u64, usize, String)]) -> Vec<usize> {
    let full = story.iter().filter(|(.., fate)| fate == "QueueFull");
    full.map(|&(_, packet, _)| packet).collect()
}

#[test]
fn the_highest_precedence_goes_first_and_equals_in_order_of_arrival() {
    let config = prioritised(QueueLimit::Packets(100));
    let (mut link, ids) = offered(config, &[0, 3, 7, 0, 3, 7, 5]);
    assert_eq!(link.queue(End::A), (6, 6000));
    let story = drain(&mut link, &ids, END);
    // The first found the link idle: it is not preempted.
    assert_eq!(order(&story), [0, 2, 5, 6, 1, 4, 3]);
    let times: Vec<u64> = story.iter().map(|&(at, ..)| at).collect();
    assert_eq!(
        times,
        [18_000, 26_000, 34_000, 42_000, 50_000, 58_000, 66_000]
    );
}

#[test]
fn the_other_direction_and_links_without_priorities_stay_first_in_first_out() {
    let (mut link, ids) = offered(plain(), &[0, 0, 7]);
    assert_eq!(order(&drain(&mut link, &ids, END)), [0, 1, 2]);
    let mut link = Link::new(prioritised(QueueLimit::Packets(9)), Seed(1));
    for (&id, precedence) in ids.iter().zip([0, 0, 7]) {
        link.offer_labelled(Instant::ZERO, End::B, (id, 1000), label(precedence));
    }
    assert_eq!(order(&drain(&mut link, &ids, END)), [0, 1, 2]);
}

#[test]
fn who_finds_it_full_pushes_out_the_youngest_of_the_lowest_below_it() {
    // One is served, three wait: 1, 2 and 3.
    let config = prioritised(QueueLimit::Packets(3));
    let (mut link, ids) = offered(config, &[0, 2, 1, 1, 1, 0, 2, 7, 7, 7]);
    let story = drain(&mut link, &ids, END);
    // 4 is no better than the last waiting packet, 5 is worse. 6 takes the place of 3, 7 that of 2, 8 that of 6, which
    // is younger than 1, and 9 that of 1.
    assert_eq!(dropped(&story), [4, 5, 3, 2, 6, 1]);
    assert_eq!(order(&story), [0, 7, 8, 9]);
}

#[test]
fn as_many_are_pushed_out_as_make_room_and_none_in_vain() {
    let config = prioritised(QueueLimit::Bytes(2500));
    let ids = packet_ids(6);
    let mut link = Link::new(config, Seed(1));
    let mut offer = |place: usize, length, precedence| {
        let packet = (ids[place], length);
        link.offer_labelled(Instant::ZERO, End::A, packet, label(precedence));
        link.queue(End::A)
    };
    offer(0, 1000, 0);
    assert_eq!(offer(1, 500, 5), (1, 500));
    assert_eq!(offer(2, 1000, 1), (2, 1500));
    assert_eq!(offer(3, 1000, 0), (3, 2500));
    // 1200 B have room only without the packets of precedence 0 and 1: both are dropped.
    assert_eq!(offer(4, 1200, 2), (2, 1700));
    // 2100 B have no room even without all packets that they may displace.
    assert_eq!(offer(5, 2100, 4), (2, 1700));
    let story = drain(&mut link, &ids, END);
    assert_eq!(dropped(&story), [3, 2, 5]);
    assert_eq!(order(&story), [0, 1, 4]);
}

#[test]
fn what_comes_back_at_an_outage_goes_first_again() {
    let config = prioritised(QueueLimit::Packets(3));
    let (mut link, ids) = offered(config, &[0, 0, 0, 6]);
    // The first is in flight, packet 3 is in service; both go back to the head.
    let now = at_ms(10);
    assert!(link.poll(now).is_none());
    link.set_down(now, true);
    assert_eq!(link.queue(End::A), (4, 4000));
    let later = packet_ids(5)[4];
    link.offer_labelled(now, End::A, (later, 1000), label(7));
    link.set_up(now);
    let all: Vec<PacketId> = ids.into_iter().chain([later]).collect();
    let story = drain(&mut link, &all, END);
    assert_eq!(order(&story), [0, 3, 4]);
    // Four wait where three may: the newcomer displaces two.
    assert_eq!(dropped(&story), [2, 1]);
}

#[test]
fn who_waited_before_there_were_priorities_is_served_before_those_who_come() {
    let mut before = plain();
    before.down.queue.limit = QueueLimit::Packets(9);
    let (mut link, _) = offered(before, &[0, 7, 0]);
    link.reconfigure(Instant::ZERO, prioritised(QueueLimit::Packets(9)));
    let ids = packet_ids(5);
    for (&id, precedence) in ids[3..].iter().zip([1, 7]) {
        link.offer_labelled(Instant::ZERO, End::A, (id, 1000), label(precedence));
    }
    assert_eq!(order(&drain(&mut link, &ids, END)), [0, 1, 2, 4, 3]);
}

#[test]
fn the_lowest_wait_at_ip_and_can_be_taken_from_there() {
    let mut config = prioritised(QueueLimit::Packets(9));
    config.down.flow_control = Some(QueueLimit::Packets(2));
    let (mut link, ids) = offered(config, &[0, 1, 4, 0, 7]);
    assert_eq!(link.take_from_ip(Instant::ZERO, End::A), [ids[1], ids[3]]);
    let later = packet_ids(6)[5];
    link.offer_labelled(Instant::ZERO, End::A, (later, 1000), label(5));
    let all: Vec<PacketId> = ids.into_iter().chain([later]).collect();
    assert_eq!(order(&drain(&mut link, &all, END)), [0, 4, 5, 2]);
}

/// Checks the definition on any load: while a packet waits, service begins for none of a lower precedence, and for none
/// of its own that arrived later; and a refused packet finds none of lower precedence.
#[test]
fn nobody_waits_behind_a_lower_precedence() {
    for seed in 0..20 {
        let mut draws = Seed(seed).stream("load");
        let ids = packet_ids(400);
        let mut link = Link::new(prioritised(QueueLimit::Packets(12)), Seed(1));
        let mut now = 0;
        let (mut offers, mut fates) = (Vec::new(), std::collections::BTreeMap::new());
        let mut tell = |link: &mut Link, until: Instant| {
            while let Some(at) = link.next_deadline().filter(|&at| at <= until) {
                while let Some(fate) = link.poll(at) {
                    fates.insert(fate.packet, (fate.at, fate.outcome));
                }
            }
        };
        for &id in &ids {
            // 1.1 packets for each one served.
            now += draws.below(14_500_000);
            let at = Instant::from_nanos(now);
            tell(&mut link, at);
            let precedence = draws.below(8) as u32;
            link.offer_labelled(at, End::A, (id, 1000), label(precedence));
            offers.push((id, at, precedence));
        }
        tell(&mut link, END);
        assert_eq!(fates.len(), ids.len(), "each has a fate");
        let began = |id: &PacketId| match &fates[id] {
            (at, Outcome::Delivered { .. }) => {
                Some(Instant::from_nanos(at.as_nanos() - 18_000_000))
            }
            _ => None,
        };
        let mut pairs = 0;
        for (place, (id, offered, precedence)) in offers.iter().enumerate() {
            let until = began(id).unwrap_or(fates[id].0);
            for (other_place, (other, _, other_precedence)) in offers.iter().enumerate() {
                let goes_before = (other_precedence, place) > (precedence, other_place);
                if goes_before || other == id {
                    continue;
                }
                let unjust = began(other).is_some_and(|begins| begins > *offered && begins < until);
                assert!(!unjust, "{seed}: {other:?} before {id:?}");
                pairs += 1;
            }
        }
        assert!(pairs > 40_000);
    }
}
