//! HAWAII: the examples of its path set-up schemes, and the losses at a handoff.

use super::*;

/// Power-up: hop by hop from the base station to the root, which acknowledges; the way back takes four hops.
#[test]
fn power_up_leads_from_the_root_to_the_mobile() {
    let mut domain = Domain::new(UNF);
    domain.attach(OLD);
    let changes = domain.changes(Duration::from_millis(100));
    assert_eq!(
        changes,
        [
            (10, OLD, vec![MOBILE]),
            (20, R1, vec![OLD]),
            (30, R0, vec![R1]),
            (40, ROOT, vec![R0]),
        ]
    );
    let ready = ClientEvent::Ready(interface(MOBILE, OLD));
    assert_eq!(domain.phone().events, [(at(80), ready)]);
    assert!(domain.reaches());
}

/// Asserts that a handoff changes these entries, each at its time in ms, and is acknowledged after 100 ms.
fn assert_a_handoff_changes(protocol: Protocol, expected: &[(u64, usize, Vec<usize>)]) {
    let mut domain = settled(protocol);
    domain.attach(NEW);
    let changes = domain.changes(Duration::from_millis(200));
    assert_eq!(changes, expected);
    let ready = ClientEvent::Ready(interface(MOBILE, NEW));
    assert_eq!(domain.phone().events.last(), Some(&(at(1_100), ready)));
}

/// The draft's UNF example: new base station, R2, crossover router, R1, old base station; the root's entry stays. The
/// old base station acknowledges.
#[test]
fn unf_changes_entries_from_the_new_base_station_on() {
    assert_a_handoff_changes(
        UNF,
        &[
            (10, NEW, vec![MOBILE]),
            (20, R2, vec![NEW]),
            (30, R0, vec![R2]),
            (40, R1, vec![R0]),
            (50, OLD, vec![R1]),
        ],
    );
}

/// The draft's MSF example: old base station, R1, crossover router, R2, new base station, which acknowledges.
#[test]
fn msf_changes_entries_from_the_old_base_station_on() {
    assert_a_handoff_changes(
        MSF,
        &[
            (50, OLD, vec![R1]),
            (60, R1, vec![R0]),
            (70, R0, vec![R2]),
            (80, R2, vec![NEW]),
            (90, NEW, vec![MOBILE]),
        ],
    );
}

/// SSF: the same way as MSF, but R1 and the crossover router only send on what has turned round below them (the second
/// of their ways here). Then the new base station has the crossover router change its entry, after two more hops.
#[test]
fn ssf_turns_packets_round_at_the_old_base_station() {
    assert_a_handoff_changes(
        SSF,
        &[
            (50, OLD, vec![R1]),
            (60, R1, vec![OLD, R0]),
            (70, R0, vec![R1, R2]),
            (80, R2, vec![NEW]),
            (90, NEW, vec![MOBILE]),
            (110, R0, vec![R2]),
        ],
    );
}

/// MNF: up to the crossover router as UNF, which sends to both; nothing changes below it. The old base station's
/// acknowledgment goes to the new one.
#[test]
fn mnf_changes_entries_up_to_the_crossover_router() {
    assert_a_handoff_changes(
        MNF,
        &[
            (10, NEW, vec![MOBILE]),
            (20, R2, vec![NEW]),
            (30, R0, vec![R2, R1]),
        ],
    );
}

/// MSF's stream falls apart into three, as of the old base station, of R1 and of the crossover router. SSF's stays whole
/// until the first packet by the direct path, which takes 30 ms from the crossover router, overtakes those on the
/// detour. The non-forwarding schemes change nothing in the order.
#[test]
fn the_order_of_packets_depends_on_the_scheme() {
    for (protocol, streams) in [(MSF, 3), (SSF, 2), (UNF, 1), (MNF, 1)] {
        let mut domain = settled(protocol);
        domain.stream_until(at(2_000));
        domain.attach(NEW);
        domain.stream_until(at(2_139));
        let until_direct = domain.streams();
        domain.stream_until(at(3_000));
        domain.net.run_for(Duration::from_secs(1));
        assert_eq!(domain.streams(), streams, "{protocol:?}");
        if protocol == SSF {
            assert_eq!(until_direct, 1);
        }
    }
}

/// A mobile that hears both base stations gets each packet of 100 ms twice with MNF.
#[test]
fn mnf_sends_to_both_base_stations_for_a_while() {
    let mut domain = settled(MNF);
    domain.stream_until(at(2_000));
    domain.air().hears_both = true;
    domain.attach(NEW);
    domain.stream_until(at(3_000));
    domain.net.run_for(Duration::from_secs(1));
    let (lost, doubled) = domain.lost_and_doubled();
    assert_eq!(lost, 0);
    assert!((99..=101).contains(&doubled), "{doubled} doubled");
    let copies = domain.router(R0).counters().copies;
    assert_eq!(copies, doubled as u64);
}

/// An announced handoff with MNF has copies made ahead of it, as a semisoft one, and loses nothing.
#[test]
fn an_announced_mnf_handoff_loses_nothing() {
    let mut domain = settled(MNF);
    domain.stream_until(at(2_000));
    let now = domain.net.now();
    let to = interface(MOBILE, NEW);
    domain.phone().client.prepare(now, to);
    domain.net.settle();
    domain.stream_until(at(2_200));
    let prepared = (at(2_100), ClientEvent::Prepared);
    assert!(domain.phone().events.contains(&prepared));
    domain.attach(NEW);
    domain.stream_until(at(3_000));
    domain.net.run_for(Duration::from_secs(1));
    assert_eq!(domain.lost_and_doubled(), (0, 0));
}

/// UNF loses what passes the crossover router until the message arrives there, and what is then still below it on the
/// old side.
#[test]
fn unf_loses_a_round_trip_to_the_crossover_router() {
    assert_a_round_trip_is_lost(UNF);
    assert_a_round_trip_is_lost(MNF);
}

/// With a mobile that hears both for longer than 50 ms, none.
#[test]
fn a_mobile_that_hears_both_base_stations_loses_nothing() {
    for protocol in [UNF, MSF, SSF, HARD] {
        let mut domain = settled(protocol);
        domain.stream_until(at(2_000));
        domain.air().hears_both = true;
        domain.attach(NEW);
        domain.stream_until(at(3_000));
        domain.net.run_for(Duration::from_secs(1));
        assert_eq!(domain.lost_and_doubled(), (0, 0), "{protocol:?}");
    }
}

/// The old base station of MSF and SSF forwards what reaches it after the mobile has left, if it keeps these packets: none
/// is lost. Without the buffer, those of 50 ms are: until the request has come from the mobile, over the crossover router.
#[test]
fn forwarding_schemes_lose_nothing_that_the_old_base_station_keeps() {
    let cases = [
        (MSF, 0, 49..=51),
        (MSF, 64_000, 0..=0),
        (SSF, 0, 49..=51),
        (SSF, 64_000, 0..=0),
    ];
    for (protocol, buffer, expected) in cases {
        let mut domain = Domain::with(protocol, |config| config.buffer = buffer);
        domain.attach(OLD);
        domain.net.run_until(at(1_000));
        domain.stream_until(at(2_000));
        domain.break_air(OLD);
        domain.attach(NEW);
        domain.stream_until(at(3_000));
        domain.net.run_for(Duration::from_secs(1));
        let (lost, doubled) = domain.lost_and_doubled();
        assert!(expected.contains(&lost), "{lost} lost with {buffer} B");
        assert_eq!(doubled, 0);
        assert!(protocol == MSF || domain.streams() == 2);
        let old = domain.router(OLD).counters();
        assert_eq!(old.buffered.held, old.buffered.released);
        assert_eq!(old.buffered.held > 0, buffer > 0);
    }
}

/// After the mobile's return, from the other side.
#[test]
fn a_mobile_comes_and_goes() {
    for protocol in [UNF, MSF, SSF, MNF, HARD, SEMISOFT] {
        let mut domain = settled(protocol);
        for base_station in [NEW, OLD, NEW, OLD] {
            domain.attach(base_station);
            domain.net.run_for(Duration::from_millis(500));
            assert!(domain.reaches(), "{protocol:?} at {base_station}");
        }
    }
}

/// Entries live for six seconds, and a handoff renews none above R0: those of a mobile that moves each second are
/// refreshed nevertheless.
#[test]
fn a_restless_mobile_keeps_its_path_above_the_crossover_router() {
    for protocol in [UNF, MSF, SSF, MNF, HARD, SEMISOFT] {
        let mut domain = settled(protocol);
        for second in 0..20 {
            domain.attach([NEW, OLD][second % 2]);
            domain.net.run_for(Duration::from_millis(1000));
            let ways = domain.ways();
            assert_eq!(ways.get(&ROOT), Some(&vec![R0]), "{protocol:?}, {second} s");
        }
        assert!(domain.reaches(), "{protocol:?}");
    }
}

/// Entries are soft state: six seconds after the last message there is none, and packets end at the root.
#[test]
fn entries_expire_without_refreshes() {
    for protocol in [UNF, MSF, HARD] {
        let mut domain = settled(protocol);
        domain.net.run_until(at(20_000));
        assert_eq!(domain.ways().len(), 4, "kept by refreshes");
        domain.phone().client.detach(interface(MOBILE, OLD));
        domain.net.run_until(at(24_000));
        assert_eq!(domain.ways().len(), 4, "at most two seconds old, four ago");
        domain.net.run_until(at(26_100));
        assert!(domain.ways().is_empty());
        assert!(!domain.reaches());
        assert_eq!(domain.router(ROOT).counters().discarded.no_route, 1);
        // Timestamps are forgotten, too.
        domain.net.run_until(at(60_000));
        assert!(domain.router(ROOT).poll_timeout().is_none());
    }
}

/// A router that has lost its entries does not send packets back up, from where they would return.
#[test]
fn packets_do_not_go_round_where_an_entry_is_missing() {
    let mut domain = settled(UNF);
    *domain.router(R1) = DomainRouter::new(router_config(R1, UNF));
    let before = domain.net.sent.len();
    assert!(!domain.reaches());
    assert_eq!(
        domain.net.sent.len() - before,
        3,
        "outside, root and R0 send it"
    );
    assert_eq!(domain.router(R1).counters().discarded.no_route, 1);
    // The next refresh repairs the path.
    domain.net.run_for(Duration::from_secs(2));
    assert!(domain.reaches());
}
