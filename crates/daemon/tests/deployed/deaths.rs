//! Daemons that are killed, and one too many.

use crate::world::daemons::PATIENCE;
use crate::world::{ANOTHER, CORRESPONDENT, Version, WLAN, WWAN, World, until_bound};
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::thread::sleep;
use std::time::{Duration, Instant};

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn whoever_is_killed_is_bound_again_when_started_in_traffic_and_in_a_handover() {
    let world = World::new(Version::V4);
    let (mut home_agent, mut router) = world.start();
    let streams = world.streams(Version::V4);
    let until_flows = || streams.iter().for_each(|stream| stream.until_more(300));
    until_flows();
    for in_handover in [false, true] {
        for (home_agent_dies, router_dies) in [(true, false), (false, true), (true, true)] {
            let mut uplink = WLAN;
            if in_handover {
                world.air.cut(WLAN, true);
                sleep(Duration::from_millis(80));
                uplink = WWAN;
            }
            let killed = Instant::now();
            if router_dies {
                router.kill();
                router = world.start_router(&world.router);
            }
            if home_agent_dies {
                home_agent.kill();
                home_agent = world.start_home_agent();
            }
            if router_dies {
                until_bound(&mut router, uplink);
            }
            until_flows();
            println!(
                "killed home agent {home_agent_dies}, router {router_dies}, in a handover {in_handover}: 300 further datagrams {:?} later",
                killed.elapsed()
            );
            if in_handover {
                world.air.cut(WLAN, false);
                until_bound(&mut router, WLAN);
                until_flows();
            }
        }
    }
    for stream in streams {
        let record = stream.end();
        println!("the longest stall {:?}", record.stall(record.whole()));
    }
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn two_routers_with_one_key_harm_each_other_and_nobody_else() {
    let world = World::new(Version::V4);
    let (home_agent, router) = world.start();
    let streams = world.streams(Version::V6);
    let until_flows = || streams.iter().for_each(|stream| stream.until_more(300));
    until_flows();
    let mut another = world.start_router(&world.another);
    another.until("Registered");
    sleep(Duration::from_secs(5));
    let seen = world.air.state().uplinks[ANOTHER].seen.len();
    println!(
        "in 5 s: {} and {} bindings, {seen} packets of the other router",
        router.times("Registered"),
        another.times("Registered"),
    );
    // Each may say that it is the one, not all the time.
    assert!(
        home_agent.times("Binding Updated") < 100,
        "{}",
        home_agent.said()
    );
    another.kill();
    // Its binding may have stood all the time, as both have the same care-of address: data shows that it works.
    until_flows();
    for stream in streams {
        stream.end();
    }
}

/// A download that never ends, between the correspondent and the host, from before there is a way.
fn begin_download(world: &World) {
    let address = |pair: [&str; 2]| -> IpAddr { pair[0].parse().unwrap() };
    let server = world
        .correspondent
        .run(|| TcpListener::bind((address(CORRESPONDENT), 0)).unwrap());
    let to = server.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut taken, _) = server.accept().unwrap();
        while taken.write_all(&[0; 65_536]).is_ok() {}
    });
    world.host.run(|| {
        std::thread::spawn(move || {
            let patience = Duration::from_millis(100);
            let mut client = loop {
                match TcpStream::connect_timeout(&to, patience) {
                    Ok(client) => break client,
                    Err(_) => sleep(Duration::from_millis(1)),
                }
            };
            let mut buffer = [0; 65_536];
            while client.read(&mut buffer).is_ok_and(|length| length > 0) {}
        });
    });
}

/// Waits for a download's next 1,000 packets, and returns the longest.
fn longest_of_next(world: &World) -> usize {
    let seen = || world.air.state().uplinks[WLAN].seen.len();
    let (begun, before) = (Instant::now(), seen());
    while seen() < before + 1000 {
        assert!(begun.elapsed() < PATIENCE, "no download");
        sleep(Duration::from_millis(1));
    }
    let state = world.air.state();
    let new = state.uplinks[WLAN].seen[before..].iter();
    new.map(Vec::len).max().unwrap()
}

/// A kernel that has been told of a narrow path believes it for ten minutes (RFC 8201 section 4).
#[test]
#[ignore = "needs root: it makes network namespaces"]
fn a_download_over_a_path_of_unknown_mtu_has_long_packets_soon() {
    let world = World::new(Version::V4);
    begin_download(&world);
    let home_agent = world.start_home_agent();
    let mut router = world.start_router(&world.router);
    until_bound(&mut router, WLAN);
    sleep(Duration::from_secs(1));
    assert_eq!(longest_of_next(&world), 1500);
    home_agent.kill();
    let _home_agent = world.start_home_agent();
    sleep(Duration::from_secs(2));
    assert_eq!(longest_of_next(&world), 1500);
}
