//! Handovers that nobody has announced.

use crate::world::stream::Record;
use crate::world::{DELAYS, Version, WLAN, WWAN, World, until_bound};
use std::ops::Range;
use std::thread::sleep;
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

/// Returns how late this machine was, at most: the senders' threads, and the one that carries packets.
fn lateness(world: &World, records: &[Record], when: &Range<Instant>) -> Duration {
    let senders = records.iter().map(|record| record.lateness(when.clone()));
    let air = world.air.lateness(when.start);
    senders.chain([air]).max().unwrap_or_default()
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn an_uplink_that_dies_unannounced_stalls_the_stream_shortly_and_loses_nothing_to_the_host() {
    let world = World::new(Version::V4);
    let (_home_agent, mut router) = world.start();
    let streams = world.streams(Version::V6);
    sleep(2 * SECOND);
    let cut = world.air.cut(WLAN, true);
    until_bound(&mut router, WWAN);
    sleep(SECOND);
    let records = streams.map(|stream| stream.end());
    let when = cut - DELAYS[WLAN]..Instant::now();
    let late = lateness(&world, &records, &when);
    let [to_host, from_host] = &records;
    let stalls = [to_host, from_host].map(|record| record.stall(when.clone()));
    println!(
        "stalls to the host {:?}, from it {:?}; lost {} and {} of {}; the machine was {late:?} late",
        stalls[0],
        stalls[1],
        to_host.lost(to_host.whole()),
        from_host.lost(from_host.whole()),
        to_host.sent.len(),
    );
    assert_eq!(to_host.lost(to_host.whole()), 0);
    // Issue: twice the round trip, one of the new uplink, and 50 ms.
    let most = 4 * DELAYS[WLAN] + 2 * DELAYS[WWAN] + Duration::from_millis(50);
    for stall in stalls {
        assert!(stall > 2 * DELAYS[WLAN], "no handover: {stall:?}");
        assert!(stall < most + 5 * late, "{stall:?}, late {late:?}");
    }
}
