//! Idle mobiles: their updates, their first packets, moves, and losses.
//!
//! A mobile is idle 3 s after its last packet, and then updates every 5 s. Entries live for 6 s, paging entries for 15 s.

use super::*;
use crate::wire::micro_mobility::RouteKind;

const IDLE_AFTER: Duration = Duration::from_secs(3);
const PAGING_UPDATE: Duration = Duration::from_secs(5);
/// Hops of a paging update: from the mobile to the root.
const HOPS: usize = 4;

/// Returns a time when entries have expired, half a second after a paging update.
fn later() -> Instant {
    at(59_550)
}

/// Returns a domain with paging entries at these routers. Without the one at R0 both base stations are in one area.
fn with_entries_at(protocol: Protocol, routers: &[usize]) -> Domain {
    let below = |router| match router {
        ROOT => vec![R0],
        R0 => vec![R1, R2],
        R1 => vec![OLD],
        R2 => vec![NEW],
        _ => Vec::new(),
    };
    let change = |config: &mut DomainRouterConfig| {
        let mut all = ROUTERS.into_iter();
        let router = all.find(|&router| v4(router) == config.address);
        let router = router.expect("a router");
        let has_entries = routers.contains(&router);
        config.paging = Some(PagingConfig {
            lifetime: has_entries.then(|| PAGING_UPDATE.saturating_mul(LIFETIME)),
            below: below(router)
                .into_iter()
                .map(|to| interface(router, to))
                .collect(),
        });
    };
    let area = |base_station| {
        if routers.contains(&R0) {
            base_station
        } else {
            0
        }
    };
    let idle = IdleConfig {
        active_timeout: IDLE_AFTER,
        paging_update: PAGING_UPDATE,
        areas: [OLD, NEW]
            .map(|base_station| (interface(MOBILE, base_station), area(base_station)))
            .to_vec(),
    };
    Domain::with_idle(protocol, change, Some(idle))
}

/// Returns a domain whose mobile got its last packet at 1,050 ms, and is idle from 4,050 ms on.
fn quiet(protocol: Protocol, routers: &[usize]) -> Domain {
    let mut domain = with_entries_at(protocol, routers);
    domain.attach(OLD);
    domain.net.run_until(at(1_000));
    assert!(domain.reaches());
    domain.net.run_until(at(4_049));
    domain
}

/// Returns the same domain when it has been idle for a minute.
fn idle(protocol: Protocol, routers: &[usize]) -> Domain {
    let mut domain = quiet(protocol, routers);
    domain.net.run_until(later());
    assert!(domain.ways().is_empty(), "the entries have expired");
    domain
}

fn messages(domain: &Domain) -> usize {
    domain.air().messages
}

/// Lets the next packet be sent, and returns the time after which it arrives, in ms.
fn delay_of_the_next(domain: &mut Domain) -> u64 {
    let sent = domain.net.now();
    assert!(domain.reaches());
    let &(arrived, _) = domain.phone().received.last().expect("a packet");
    arrived.saturating_since(sent).as_nanos() / 1_000_000
}

/// Of an idle mobile one update at the beginning, and one each 5 s: 12 in 55.95 s. An active one refreshes its path every
/// 2 s, 28 times.
#[test]
fn an_idle_mobile_sends_few_updates() {
    for protocol in [UNF, HARD] {
        let mut domain = quiet(protocol, &[ROOT]);
        let before = messages(&domain);
        domain.net.run_until(at(60_000));
        assert_eq!(messages(&domain) - before, (1 + 11) * HOPS, "{protocol:?}");

        let mut active = settled(protocol);
        active.net.run_until(at(4_050));
        let before = messages(&active);
        active.net.run_until(at(60_000));
        let refreshes = (messages(&active) - before) / HOPS;
        assert!((27..=28).contains(&refreshes), "{refreshes} refreshes");
    }
}

/// With Cellular IP the first packet is the page, and takes five hops as any other. HAWAII's waits at the root for the
/// page, four hops down, and its answer, four hops up.
#[test]
fn the_first_packet_finds_an_idle_mobile() {
    for (protocol, delay) in [(HARD, 50), (UNF, 130), (MSF, 130)] {
        let mut domain = idle(protocol, &[ROOT]);
        assert_eq!(delay_of_the_next(&mut domain), delay, "{protocol:?}");
        assert_eq!(domain.ways().len(), 4, "the mobile has set up its path");
        assert_eq!(delay_of_the_next(&mut domain), 50);
        let root = domain.router(ROOT).counters().buffered;
        let expected = u64::from(protocol != HARD);
        assert_eq!((root.held, root.released), (expected, expected));
        assert_eq!(domain.router(R0).counters().copies, 1, "to both branches");
    }
}

/// Nothing is lost, doubled or put out of order at the beginning of a stream.
#[test]
fn a_stream_to_an_idle_mobile_loses_nothing() {
    for protocol in [HARD, UNF, SSF] {
        let mut domain = idle(protocol, &[ROOT]);
        domain.stream_until(later() + Duration::from_millis(300));
        domain.net.run_for(Duration::from_secs(1));
        assert_eq!(domain.lost_and_doubled(), (0, 0), "{protocol:?}");
        assert_eq!(domain.streams(), 1);
    }
}

/// Within its paging area an idle mobile moves without a message.
#[test]
fn a_move_within_the_paging_area_is_silent() {
    for (protocol, delay) in [(HARD, 50), (UNF, 130)] {
        let mut domain = idle(protocol, &[ROOT]);
        let before = messages(&domain);
        domain.attach(NEW);
        let ready = ClientEvent::Ready(interface(MOBILE, NEW));
        assert_eq!(domain.phone().events.last(), Some(&(later(), ready)));
        domain.net.run_for(Duration::from_secs(4));
        assert_eq!(messages(&domain), before);
        assert_eq!(delay_of_the_next(&mut domain), delay);
        assert_eq!(domain.ways()[&R0], [R2]);
    }
}

/// In another area it sends an update at once, and R0, with an entry, sends pages to one branch alone.
#[test]
fn a_mobile_tells_a_new_paging_area() {
    for (protocol, delay) in [(HARD, 50), (UNF, 130)] {
        let mut domain = idle(protocol, &[ROOT, R0]);
        let before = messages(&domain);
        domain.attach(NEW);
        domain.net.run_for(Duration::from_secs(1));
        assert_eq!(messages(&domain) - before, HOPS);
        assert_eq!(delay_of_the_next(&mut domain), delay);
        assert_eq!(domain.router(R0).counters().copies, 0);
    }
}

/// A mobile that becomes idle and moves while its entries live hands off as an active one.
#[test]
fn a_move_before_the_entries_expire_is_a_handoff() {
    for protocol in [HARD, UNF, MSF, SSF, MNF] {
        let mut domain = quiet(protocol, &[ROOT]);
        domain.net.run_until(at(5_000));
        assert_eq!(domain.ways().len(), 4);
        domain.attach(NEW);
        domain.net.run_for(Duration::from_millis(500));
        assert_eq!(delay_of_the_next(&mut domain), 50, "{protocol:?}");
    }
}

/// The mobile's own packets end its idleness.
#[test]
fn a_mobile_that_sends_is_active() {
    for protocol in [HARD, UNF] {
        let mut domain = idle(protocol, &[ROOT]);
        let now = domain.net.now();
        domain.phone().client.be_active(now);
        domain.net.settle();
        domain.net.run_for(Duration::from_millis(100));
        assert_eq!(domain.ways().len(), 4, "{protocol:?}");
        assert_eq!(delay_of_the_next(&mut domain), 50);
    }
}

/// HAWAII's root pages three times, a second apart, and then drops what waited. Cellular IP's packet is lost where the
/// mobile was. Without an update for 15 s the mobile is unknown.
#[test]
fn a_mobile_that_has_gone_is_given_up() {
    for (protocol, pages) in [(HARD, 0), (UNF, 3)] {
        let mut domain = idle(protocol, &[ROOT]);
        domain.break_air(OLD);
        let detached = interface(MOBILE, OLD);
        domain.phone().client.detach(detached);
        domain.air().heard = OUTSIDE;
        let begun = domain.net.sent.len();
        domain.ping();
        domain.net.run_for(Duration::from_secs(4));
        let sent = domain.net.sent[begun..].iter();
        let from_root = sent.filter(|sent| sent.from == ROOT);
        let kinds: Vec<_> = from_root
            .filter_map(|sent| RouteMessage::decode(message_bytes(&sent.packet)?).ok())
            .map(|message| message.kind)
            .collect();
        assert_eq!(kinds, vec![RouteKind::Page; pages]);
        let root = domain.router(ROOT).counters();
        let dropped = root.buffered.held - root.buffered.released;
        assert_eq!(dropped, u64::from(pages > 0));
        assert_eq!(root.discarded.no_route, 0);
        domain.net.run_for(Duration::from_secs(12));
        assert!(!domain.reaches());
        assert_eq!(domain.router(ROOT).counters().discarded.no_route, 1);
    }
}

/// A router with paging entries, but none for the mobile, ends the packet: it would go round.
#[test]
fn packets_do_not_go_round_where_a_paging_entry_is_missing() {
    let mut domain = idle(HARD, &[ROOT, R0]);
    let mut config = router_config(R0, HARD);
    config.paging = Some(PagingConfig {
        lifetime: Some(PAGING_UPDATE),
        below: vec![interface(R0, R1), interface(R0, R2)],
    });
    *domain.router(R0) = DomainRouter::new(config);
    let before = domain.net.sent.len();
    assert!(!domain.reaches());
    assert_eq!(
        domain.net.sent.len() - before,
        2,
        "outside and root send it"
    );
    assert_eq!(domain.router(R0).counters().discarded.no_route, 1);
}

/// Whichever one or two messages of a page are lost, HAWAII's packet arrives, once. Cellular IP's route update is
/// repeated by the next packet's or by time.
#[test]
fn a_page_survives_any_two_losses() {
    for protocol in [UNF, MSF, SSF, MNF, HARD] {
        for first in 0..16 {
            for second in first..16 {
                let mut domain = idle(protocol, &[ROOT]);
                let begun = messages(&domain);
                domain.air().lost = vec![begun + first, begun + second];
                domain.ping();
                domain.net.run_for(Duration::from_secs(3));
                let case = format!("{protocol:?}, messages {first} and {second}");
                assert_eq!(domain.lost_and_doubled(), (0, 0), "{case}");
                domain.net.run_for(Duration::from_secs(3));
                assert!(domain.reaches(), "{case}, later");
            }
        }
    }
}

/// Whichever one or two messages of an idle mobile in a new area are lost, it is found after two more updates.
#[test]
fn paging_converges_after_any_two_losses() {
    for protocol in [UNF, HARD] {
        for first in 0..12 {
            for second in first..12 {
                let mut domain = idle(protocol, &[ROOT, R0]);
                let begun = messages(&domain);
                domain.air().lost = vec![begun + first, begun + second];
                domain.attach(NEW);
                domain.net.run_for(Duration::from_millis(10_500));
                domain.ping();
                domain.net.run_for(Duration::from_secs(3));
                let case = format!("{protocol:?}, messages {first} and {second}");
                assert_eq!(domain.lost_and_doubled(), (0, 0), "{case}");
            }
        }
    }
}

/// A page without the mobile's key does not end its idleness, and a paging update that is repeated changes nothing.
#[test]
fn forged_pages_and_repeated_updates_are_refused() {
    let mut domain = idle(UNF, &[ROOT, R0]);
    let now = domain.net.now();
    let page = RouteMessage {
        kind: RouteKind::Page,
        mobile: CARE_OF,
        new_base_station: Ipv4Addr::UNSPECIFIED,
        old_base_station: Ipv4Addr::UNSPECIFIED,
        timestamp: Clock::default().timestamp(now),
    };
    let packet = message_packet((v4(ROOT), CARE_OF), &page, &[9; 16]);
    let before = messages(&domain);
    domain.phone().client.handle_packet(now, packet);
    domain.net.run_for(Duration::from_millis(100));
    assert_eq!(messages(&domain), before);
    assert_eq!(domain.phone().client.refused(), 1);

    let mut sent = domain.net.sent.iter();
    let update = sent.rfind(|sent| sent.from == R1 && sent.to == R0);
    let packet = update.expect("a paging update").packet.clone();
    let from_new = crate::testing::Arriving {
        to: R0,
        interface: interface(R0, R2),
        packet,
    };
    domain.net.wires.send(from_new, Duration::ZERO);
    domain.net.run_for(Duration::from_millis(100));
    assert_eq!(domain.router(R0).refused().old, 1);
    assert_eq!(delay_of_the_next(&mut domain), 130);
}
