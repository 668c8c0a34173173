//! Cellular IP: route updates, and hard and semisoft handoffs.

use super::*;

/// A route update changes the entries from the new base station to the crossover router, and refreshes those above. The
/// old ones stay until they expire.
#[test]
fn a_route_update_changes_entries_up_to_the_crossover_router() {
    let mut domain = settled(HARD);
    domain.attach(NEW);
    let changes = domain.changes(Duration::from_millis(200));
    assert_eq!(
        changes,
        [
            (10, NEW, vec![MOBILE]),
            (20, R2, vec![NEW]),
            (30, R0, vec![R2]),
        ]
    );
    assert_eq!(domain.ways()[&OLD], [MOBILE]);
    domain.net.run_for(Duration::from_secs(6));
    let routers: Vec<usize> = domain.ways().into_keys().collect();
    assert_eq!(routers, [ROOT, R0, R2, NEW]);
}

/// As with UNF: the round trip between the mobile and the crossover router, except for the old air.
#[test]
fn a_hard_handoff_loses_a_round_trip_to_the_crossover_router() {
    assert_a_round_trip_is_lost(HARD);
}

/// The request reaches the new base station after its way over the old one, 10 + 40 ms. Then copies are made from the
/// crossover router on, so that none is lost when the mobile moves after the draft's delay.
#[test]
fn a_semisoft_handoff_loses_nothing() {
    let mut domain = settled(SEMISOFT);
    domain.stream_until(at(2_000));
    let now = domain.net.now();
    let to = interface(MOBILE, NEW);
    domain.phone().client.prepare(now, to);
    domain.net.settle();
    let changes = domain.changes(Duration::from_millis(99));
    assert_eq!(
        changes,
        [
            (50, NEW, vec![MOBILE]),
            (60, R2, vec![NEW]),
            (70, R0, vec![R1, R2]),
        ]
    );
    let prepared = (at(2_100), ClientEvent::Prepared);
    assert_ne!(domain.phone().events.last(), Some(&prepared));
    domain.net.run_until(at(2_100));
    assert_eq!(domain.phone().events.last(), Some(&prepared));
    domain.stream_until(at(2_200));
    domain.attach(NEW);
    domain.stream_until(at(3_000));
    domain.net.run_for(Duration::from_secs(1));
    assert_eq!(domain.lost_and_doubled(), (0, 0));
    assert_eq!(domain.ways()[&R0], [R2], "the route update ends the copies");
    let copies = domain.router(R0).counters().copies;
    // Of the packets that pass R0, those from 2,120 ms on, as sent from 2,100, up to the route update at 2,230.
    assert!((109..=111).contains(&copies), "{copies} copies");
}

/// A mobile that stays gets single packets again after its next route update; one that waits for long keeps its copies.
#[test]
fn copies_end_when_the_mobile_stays() {
    let mut domain = settled(SEMISOFT);
    let now = domain.net.now();
    let to = interface(MOBILE, NEW);
    domain.phone().client.prepare(now, to);
    domain.net.run_for(Duration::from_secs(5));
    assert_eq!(domain.ways()[&R0], [R1, R2]);
    domain.phone().client.stay();
    domain.net.run_for(Duration::from_secs(3));
    assert_eq!(domain.ways()[&R0], [R1]);
}

/// Handoffs that no semisoft request can prepare are prepared at once: to where the mobile is, and hard ones.
#[test]
fn other_handoffs_need_no_preparation() {
    for (protocol, base_station) in [(SEMISOFT, OLD), (HARD, NEW), (UNF, NEW)] {
        let mut domain = settled(protocol);
        let now = domain.net.now();
        let to = interface(MOBILE, base_station);
        domain.phone().client.prepare(now, to);
        domain.phone().note_events(now);
        let prepared = (now, ClientEvent::Prepared);
        assert_eq!(domain.phone().events.last(), Some(&prepared));
    }
}
