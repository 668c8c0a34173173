//! Links with retransmission, links under flow control, and links with shapers and policers.

use super::*;
use crate::link::regulator::{Excess, RegulatorConfig};

/// Returns a link that loses all packets downward, or none, with so many attempts and a pause of 5 ms.
pub(super) fn repeating(loss: f64, attempts: u32) -> LinkConfig {
    let mut config = plain();
    config.down.channel.packet_error_rate = loss;
    config.down.retransmission = Some(Retransmission {
        attempts,
        pause: Duration::from_millis(5),
    });
    config
}

#[test]
fn what_never_passes_is_given_up_after_its_attempts() {
    let (mut link, ids) = loaded(repeating(1.0, 3));
    // Each attempt takes 8 ms, with 5 ms between two attempts at one packet.
    let given_up = |place: u64| (place * 34_000, place as usize - 1, "RetryLimit".into());
    let story = drain(&mut link, &ids, END);
    assert_eq!(story, [given_up(1), given_up(2), given_up(3)]);
    let failures: Vec<_> = core::iter::from_fn(|| link.poll_failure(END)).collect();
    let thrice = ids[..3].iter().flat_map(|&id| [(End::A, id); 3]);
    assert_eq!(failures, thrice.collect::<Vec<_>>());
}

#[test]
fn without_loss_a_link_that_would_repeat_is_as_any_other() {
    let (mut link, ids) = loaded(repeating(0.0, 3));
    let (mut other, _) = loaded(plain());
    let story = drain(&mut link, &ids, END);
    assert_eq!(story, drain(&mut other, &ids, END));
    assert_eq!(link.poll_failure(END), None);
}

/// Attempts are independent: their number has the geometric distribution, and no packet is lost or overtaken.
#[test]
fn attempts_have_the_geometric_distribution_s_mean() {
    let mut config = repeating(0.4, 1000);
    config.down.queue.limit = QueueLimit::Packets(10_000);
    let ids = packet_ids(10_000);
    let mut link = Link::new(config, Seed(3));
    for &id in &ids {
        link.offer(Instant::ZERO, End::A, id, 1000);
    }
    let story = drain(&mut link, &ids, END);
    let order: Vec<usize> = delivered(&story)
        .iter()
        .map(|&(_, packet)| packet)
        .collect();
    assert!(order.is_sorted() && order.len() == ids.len());
    let failures = core::iter::from_fn(|| link.poll_failure(END)).count() as f64;
    // 0.4 / 0.6 a packet; the standard error of the mean is √(0.4)/0.6/100 = 0.0105.
    assert!((failures / 10_000.0 - 2.0 / 3.0).abs() < 0.04, "{failures}");
    let last = story.last().unwrap().0;
    assert_eq!(last, 10_000 * 8_000 + failures as u64 * 13_000 + 10_000);
}

/// A bad state of some seconds is survived: the first attempt that ends in the good state succeeds.
#[test]
fn a_packet_waits_for_the_good_state() {
    let mut config = repeating(0.0, 100_000);
    config.down.queue.limit = QueueLimit::Packets(1000);
    config.down.channel.burst = Some(GilbertElliott {
        mean_good: Duration::from_secs(10),
        mean_bad: Duration::from_secs(4),
        loss_good: 0.0,
        loss_bad: 1.0,
    });
    let ids = packet_ids(300);
    let mut repeats = Link::new(config.clone(), Seed(1));
    config.down.retransmission = None;
    // The same states, on a link that loses packets in the bad one.
    let mut loses = Link::new(config, Seed(1));
    let mut stories = [Vec::new(), Vec::new()];
    for (link, story) in [&mut repeats, &mut loses].into_iter().zip(&mut stories) {
        for (second, &id) in ids.iter().enumerate() {
            let now = Instant::from_secs(second as u64);
            link.offer(now, End::A, id, 1000);
            while let Some(next) = link
                .next_deadline()
                .filter(|&next| next < now + Duration::from_secs(1))
            {
                while let Some(fate) = link.poll(next) {
                    story.push((fate.at, fate.packet, fate.outcome == Outcome::UNDAMAGED));
                }
            }
        }
    }
    let [kept, lost] = stories;
    let bad: Vec<_> = lost.iter().filter(|(.., arrived)| !arrived).collect();
    assert!(bad.len() > 20);
    assert!(kept.iter().all(|(.., arrived)| *arrived));
    // Packets that met no bad state and did not wait behind one are unaffected.
    let same = kept.iter().filter(|own| lost.contains(own)).count();
    assert!(same > 100, "{same}");
}

/// Returns a link in which two packets may wait; the third and fourth wait at IP.
fn controlled() -> LinkConfig {
    let mut config = plain();
    let LinkKind { down, up, .. } = &mut *config;
    for direction in [down, up] {
        direction.queue.limit = QueueLimit::Packets(10);
        direction.flow_control = Some(QueueLimit::Packets(2));
    }
    config
}

/// Returns a link with one packet in service and four waiting.
fn loaded_with_five(config: LinkConfig) -> (Link, Vec<PacketId>) {
    let (mut link, ids) = loaded(config);
    link.offer(Instant::ZERO, End::A, ids[3], 1000);
    link.offer(Instant::ZERO, End::A, ids[4], 1000);
    (link, ids)
}

#[test]
fn flow_control_changes_nothing_while_a_link_is_in_use() {
    let (mut link, ids) = loaded_with_five(controlled());
    let mut config = controlled();
    config.down.flow_control = None;
    let (mut other, _) = loaded_with_five(config);
    assert_eq!(drain(&mut link, &ids, END), drain(&mut other, &ids, END));
}

#[test]
fn what_waits_at_ip_can_be_taken_and_the_link_s_own_is_delivered() {
    let (mut link, ids) = loaded_with_five(controlled());
    assert_eq!(link.take_from_ip(at_ms(9), End::A), ids[4..]);
    assert_eq!(link.queue(End::A), (2, 2000));
    assert!(link.take_from_ip(at_ms(9), End::A).is_empty());
    assert!(link.take_from_ip(at_ms(9), End::B).is_empty());
    let story = drain(&mut link, &ids, END);
    let expected = [(18_000, 0), (26_000, 1), (34_000, 2), (42_000, 3)];
    assert_eq!(delivered(&story), expected);
    // In bytes: packets within the threshold are the link's.
    let mut config = controlled();
    config.down.flow_control = Some(QueueLimit::Bytes(2999));
    let (mut link, ids) = loaded_with_five(config);
    assert_eq!(link.take_from_ip(Instant::ZERO, End::A), ids[3..]);
    // Without flow control the link holds all packets.
    let mut config = controlled();
    config.down.flow_control = None;
    let (mut link, _) = loaded_with_five(config);
    assert!(link.take_from_ip(Instant::ZERO, End::A).is_empty());
}

#[test]
fn a_link_that_breaks_loses_its_own_and_ip_keeps_the_rest_and_what_comes() {
    let (mut link, ids) = loaded_with_five(controlled());
    let more = packet_ids(6)[5];
    // At 9 ms the first is in flight, the second in service, two are the link's, one waits at IP.
    link.hold_at_ip(at_ms(9));
    link.offer(at_ms(10), End::A, more, 1000);
    let mut lost = Vec::new();
    while let Some(fate) = link.poll(at_ms(10)) {
        assert_eq!(fate.outcome, Outcome::Dropped(DropReason::LinkDown));
        lost.push((fate.at, fate.packet));
    }
    let expected: Vec<_> = ids[..4].iter().map(|&id| (at_ms(9), id)).collect();
    assert_eq!(lost, expected);
    assert_eq!(link.next_deadline(), None);
    assert_eq!(link.take_from_ip(at_ms(20), End::A), [ids[4], more]);
    assert!(link.is_empty(End::A));
}

/// Returns a link with a shaper of flow 0: 500 kbit/s, a burst of one packet, up to three waiting.
pub(super) fn shaped() -> LinkConfig {
    let mut config = plain();
    config.down.queue.limit = QueueLimit::Packets(10);
    config.regulators = vec![RegulatorConfig {
        from: End::A,
        flows: vec![FlowId(0)],
        per_flow: false,
        rate: DataRate::from_bits_per_second(500_000),
        burst: 1500,
        excess: Excess::Waits(QueueLimit::Packets(3)),
        reports: false,
        opening: None,
    }];
    config
}

/// Offers packets 0 to 3 of flow 0, and packet 4 of another.
fn loaded_and_shaped(config: LinkConfig) -> (Link, Vec<PacketId>) {
    let ids = packet_ids(5);
    let mut link = Link::new(config, Seed(1));
    for (&id, flow) in ids.iter().zip([0, 0, 0, 0, 1]) {
        link.offer_labelled(Instant::ZERO, End::A, (id, 1000), label(flow));
    }
    (link, ids)
}

#[test]
fn shaped_packets_enter_the_queue_when_their_bucket_lets_them() {
    let (mut link, ids) = loaded_and_shaped(shaped());
    // One of the other flow waits for the line, three for their bucket.
    assert_eq!(link.queue(End::A), (4, 4000));
    // 500 B are left over; 1000 B take 16 ms at 500 kbit/s, and 8 ms on the line.
    let story = drain(&mut link, &ids, END);
    let expected = [
        (18_000, 0),
        (26_000, 4),
        (34_000, 1),
        (42_000, 2),
        (58_000, 3),
    ];
    assert_eq!(delivered(&story), expected);
    assert!(link.is_empty(End::A));
}

#[test]
fn a_link_that_goes_down_or_is_discarded_takes_what_is_shaped_along() {
    let (mut link, ids) = loaded_and_shaped(shaped());
    link.discard_queue(at_ms(1));
    let lost: Vec<_> = core::iter::from_fn(|| link.poll(at_ms(1))).collect();
    let lost: Vec<_> = lost.iter().map(|fate| fate.packet).collect();
    assert_eq!(lost, [ids[4], ids[1], ids[2], ids[3]]);
    let (mut link, ids) = loaded_and_shaped(shaped());
    link.set_down(at_ms(1), false);
    let lost = core::iter::from_fn(|| link.poll(at_ms(1))).count();
    assert_eq!(lost, ids.len());
    assert_eq!(link.next_deadline(), None);
    // A link that buffers keeps them in order.
    let (mut link, ids) = loaded_and_shaped(shaped());
    link.set_down(at_ms(1), true);
    link.set_up(at_ms(1000));
    let order: Vec<usize> = delivered(&drain(&mut link, &ids, END))
        .iter()
        .map(|&(_, packet)| packet)
        .collect();
    assert_eq!(order, [0, 4, 1, 2, 3]);
}

#[test]
fn shaped_packets_wait_at_ip_behind_those_that_were_let_in() {
    let mut config = shaped();
    config.down.flow_control = Some(QueueLimit::Packets(0));
    let (mut link, ids) = loaded_and_shaped(config);
    assert_eq!(
        link.take_from_ip(at_ms(1), End::A),
        [ids[4], ids[1], ids[2], ids[3]]
    );
}
