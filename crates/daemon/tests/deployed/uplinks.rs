//! Uplinks whose addresses and devices come and go.

use crate::world::daemons::Daemon;
use crate::world::{DELAYS, UPLINKS, Version, WLAN, WWAN, World, until_bound};
use std::net::SocketAddr;
use std::thread::sleep;
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);
/// An address that the better uplink gets, of each version.
const NEW: [&str; 2] = ["192.0.2.77", "2001:db8:a::77"];

/// A world without translators, so that the home agent sees the uplinks' own addresses.
fn world(over: Version) -> (World, Daemon, Daemon) {
    let world = World::new(over);
    let translators = world.air.state().uplinks.len();
    (0..translators).for_each(|place| world.air.state().uplinks[place].outside = None);
    let (home_agent, router) = world.start();
    (world, home_agent, router)
}

/// Waits until the home agent has heard the router's better uplink from an address.
fn until_moved(home_agent: &mut Daemon, address: &str) -> Instant {
    let at = SocketAddr::new(address.parse().unwrap(), 0).to_string();
    home_agent.until(&format!(" to {}", at.trim_end_matches('0')))
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn the_home_agent_hears_at_once_of_an_uplinks_new_address() {
    for over in [Version::V4, Version::V6] {
        let (world, mut home_agent, _router) = world(over);
        let old = UPLINKS[WLAN][over as usize];
        sleep(3 * SECOND);
        // Without traffic a path is probed every two seconds, and a probe leaves now.
        let seen = || world.air.state().uplinks[WLAN].seen.len();
        let before = seen();
        while seen() == before {
            sleep(Duration::from_millis(1));
        }
        let renumbered = Instant::now();
        world.renumber(WLAN, old, NEW[over as usize]);
        let moved = until_moved(&mut home_agent, NEW[over as usize]);
        println!("{over:?}: heard {:?} after it", moved - renumbered);
        assert!(moved - renumbered < SECOND);
    }
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn streams_go_on_when_an_uplink_is_renumbered() {
    for over in [Version::V4, Version::V6] {
        let (world, mut home_agent, router) = world(over);
        let streams = world.streams(Version::V6);
        sleep(2 * SECOND);
        let begun = Instant::now();
        world.renumber(WLAN, UPLINKS[WLAN][over as usize], NEW[over as usize]);
        until_moved(&mut home_agent, NEW[over as usize]);
        streams.iter().for_each(|stream| stream.until_more(500));
        let when = begun..Instant::now();
        // A machine that stands still for a while looks as if a path had died.
        let is_steady = router.times("is down") == 0;
        let records = streams.map(|stream| stream.end());
        let late = world.lateness(&records, &when);
        for record in &records {
            let (stall, lost) = (record.stall(when.clone()), record.lost(record.whole()));
            println!("{over:?}: renumbered: stall {stall:?}, lost {lost}; up to {late:?} late");
            let most = 4 * DELAYS[WLAN] + Duration::from_millis(50) + 5 * late;
            assert!(!is_steady || stall < most, "{stall:?}");
            // The home agent sends to the old address for a round trip at most, a packet each millisecond.
            assert!(!is_steady || lost < most.as_millis() as usize, "{lost}");
        }
    }
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn an_uplink_without_an_address_is_down_until_it_has_one_again() {
    for over in [Version::V4, Version::V6] {
        let (world, _home_agent, mut router) = world(over);
        let streams = world.streams(Version::V6);
        sleep(2 * SECOND);
        let begun = Instant::now();
        world.remove_address(WLAN, UPLINKS[WLAN][over as usize]);
        router.until("wlan0 is down");
        until_bound(&mut router, WWAN);
        streams.iter().for_each(|stream| stream.until_more(500));
        let when = begun..Instant::now();
        // An address of the other version is of no use.
        assert_eq!(router.times("wlan0 is up"), 1, "{}", router.said());
        world.add_address(WLAN, NEW[over as usize]);
        router.until("wlan0 is up");
        until_bound(&mut router, WLAN);
        streams.iter().for_each(|stream| stream.until_more(500));
        let records = streams.map(|stream| stream.end());
        let late = world.lateness(&records, &when);
        for record in &records {
            let (stall, lost) = (record.stall(when.clone()), record.lost(record.whole()));
            println!("{over:?}: without an address: stall {stall:?}, lost {lost}; {late:?} late");
        }
        assert_eq!(records[0].lost(records[0].whole()), 0);
    }
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn an_uplink_whose_device_is_pulled_out_and_put_back_is_used_again() {
    let (world, _home_agent, mut router) = world(Version::V4);
    let streams = world.streams(Version::V6);
    for round in 0..3 {
        streams.iter().for_each(|stream| stream.until_more(300));
        world.unplug(WLAN);
        router.until("wlan0 is down");
        // From the second time on its binding by the other uplink may hold still.
        router.until("uses wwan0");
        streams.iter().for_each(|stream| stream.until_more(300));
        world.plug_in(WLAN);
        router.until("wlan0 is up");
        router.until("uses wlan0");
        println!("round {round}: back on the device that was put in");
    }
    until_goes_by(&world, WLAN);
    let [to_host, _] = streams.map(|stream| stream.end());
    assert_eq!(to_host.lost(to_host.whole()), 0);
}

/// Waits until a stream's packets go by an uplink.
fn until_goes_by(world: &World, uplink: usize) {
    let seen = || world.air.state().uplinks[uplink].seen.len();
    let (begun, before) = (Instant::now(), seen());
    while seen() < before + 1000 {
        assert!(begun.elapsed() < 30 * SECOND, "nothing goes by the uplink");
        sleep(Duration::from_millis(1));
    }
}
