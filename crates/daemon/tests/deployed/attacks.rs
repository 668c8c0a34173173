//! Attacks from the Internet, and eyes on the way.

use crate::world::datagram::{datagram, endpoints, payload};
use crate::world::stream::PLAINTEXT;
use crate::world::{CORRESPONDENT, HOME_AGENT, HOST, Version, WLAN, WWAN, World};
use std::net::{SocketAddr, SocketAddrV4, UdpSocket};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The attacker, who is everywhere.
pub fn attacker(number: u32) -> SocketAddrV4 {
    let [_, a, b, c] = number.to_be_bytes();
    SocketAddrV4::new(
        [100, 64 | a & 63, b, c].into(),
        1024 + number as u16 % 60_000,
    )
}

/// Numbers without an order, the same in each run (Numerical Recipes' generator).
pub struct Numbers(pub u32);

impl Numbers {
    pub fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.0 >> 8
    }

    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        core::iter::repeat_with(|| self.next() as u8)
            .take(length)
            .collect()
    }
}

/// Returns what the router has sent by an uplink.
pub fn recorded(world: &World, uplink: usize) -> Vec<Vec<u8>> {
    let seen = &world.air.state().uplinks[uplink].seen;
    let sent = seen.iter().filter(|packet| {
        endpoints(packet).is_some_and(|(_, destination)| destination.port() == 4191)
    });
    sent.map(|packet| payload(packet).to_vec()).collect()
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn forged_replayed_and_truncated_datagrams_and_floods_do_not_get_in_and_do_not_end_the_conversation()
 {
    let world = World::new(Version::V4);
    let (mut home_agent, mut router) = world.start();
    let streams = world.streams(Version::V6);
    streams.iter().for_each(|stream| stream.until_more(1000));
    let bindings = router.times("Registered");
    let recorded = recorded(&world, WLAN);
    let initiation = &recorded[0];
    let to = SocketAddrV4::new(HOME_AGENT[0].parse().unwrap(), 4191);
    let SocketAddr::V4(router_outside) = world.air.state().uplinks[WLAN].outside.unwrap() else {
        panic!("over IPv4");
    };
    let mut numbers = Numbers(1);
    let begun = Instant::now();
    let mut sent_bytes = 0;
    for round in 0..4000 {
        let replayed = &recorded[numbers.next() as usize % recorded.len()];
        let mut forged = replayed.clone();
        let place = numbers.next() as usize % forged.len();
        forged[place] ^= 1 << (numbers.next() % 8);
        let cut = numbers.next() as usize % replayed.len();
        let length = numbers.next() as usize % 1400;
        let mut garbage = numbers.bytes(length + 1);
        garbage[0] = replayed[0];
        let kinds = [
            (attacker(round), replayed.clone()),
            (router_outside, replayed.clone()),
            (router_outside, forged),
            (router_outside, replayed[..cut].to_vec()),
            (router_outside, garbage),
            (attacker(round), initiation.clone()),
        ];
        for (from, content) in kinds {
            sent_bytes += content.len();
            world.air.inject(datagram(from, to, &content));
        }
        sleep(Duration::from_micros(500));
    }
    println!("24,000 datagrams in {:?}", begun.elapsed());
    streams.iter().for_each(|stream| stream.until_more(1000));
    // No path has moved to an attacker or begun anew, and nobody else is bound.
    assert_eq!(home_agent.times("has moved"), 0, "{}", home_agent.said());
    assert_eq!(home_agent.times("started anew"), 0, "{}", home_agent.said());
    // A machine that stands still for a while looks as if a path had died; then packets are sent again on purpose.
    let is_steady = home_agent.times("is down") + router.times("is down") == 0;
    if is_steady {
        assert_eq!(router.times("Registered"), bindings, "{}", router.said());
    }
    for record in streams.map(|stream| stream.end()) {
        // A packet that arrives twice would be one that was replayed.
        assert!(!is_steady || record.again == 0, "{}", record.again);
        let (lost, all) = (record.lost(record.whole()), record.sent.len());
        println!(
            "lost {lost} of {all}, the longest gap {:?}",
            record.stall(record.whole())
        );
        assert!(lost * 50 < all, "{lost} of {all}");
    }
    // What the attackers got is less than what they sent: nobody can have a flood made larger.
    let answers: usize = world
        .air
        .state()
        .astray
        .iter()
        .map(|packet| packet.len() - 28)
        .sum();
    println!("{answers} bytes of answers to {sent_bytes}");
    assert!(answers < sent_bytes / 5, "{answers}");
    // Both go on as before.
    world.air.cut(WLAN, true);
    crate::world::until_bound(&mut router, WWAN);
    home_agent.until("Binding Updated");
}

/// Returns true if somewhere in a packet are these bytes.
fn holds(packet: &[u8], bytes: &[u8]) -> bool {
    packet.windows(bytes.len()).any(|window| window == bytes)
}

/// Packets whose hop limits end at the vehicle's router: its kernel answers each by an ICMP error, which quotes the packet.
#[test]
#[ignore = "needs root: it makes network namespaces"]
fn errors_of_the_routers_kernel_do_not_leave_outside_the_tunnel() {
    let world = World::new(Version::V4);
    let _daemons = world.start();
    for (host, correspondent) in HOST.into_iter().zip(CORRESPONDENT) {
        let socket = world
            .correspondent
            .run(|| UdpSocket::bind((correspondent, 0)).unwrap());
        let before = world.router.run(|| errors_about_hop_limits("Out"));
        for hops in 1..=5 {
            set_hop_limit(&socket, hops);
            // An error of a router before is told here.
            let _ = socket.send_to(PLAINTEXT, (host, 9));
            sleep(Duration::from_millis(200));
        }
        let errors = world.router.run(|| errors_about_hop_limits("Out")) - before;
        assert!(errors > 0, "{host}");
    }
    // From the kernels of the home agent and of the router, of each IP version one.
    let received = world.correspondent.run(|| errors_about_hop_limits("In"));
    assert_eq!(received, 2 * 2);
    let state = world.air.state();
    let mut seen = state.uplinks.iter().flat_map(|uplink| &uplink.seen);
    assert!(seen.all(|packet| !holds(packet, PLAINTEXT)));
}

fn set_hop_limit(socket: &UdpSocket, hops: u32) {
    match socket.local_addr().unwrap().is_ipv4() {
        true => socket.set_ttl(hops).unwrap(),
        false => {
            use nix::sys::socket::{setsockopt, sockopt::Ipv6Ttl};
            setsockopt(socket, Ipv6Ttl, &(hops as i32)).unwrap();
        }
    }
}

/// Returns the number of errors about hop limits that the kernel of this namespace has sent ("Out") or received ("In").
fn errors_about_hop_limits(direction: &str) -> u64 {
    let read = |file: &str| std::fs::read_to_string(file).unwrap();
    let v4 = read("/proc/thread-self/net/snmp");
    let mut icmp = v4.lines().filter(|line| line.starts_with("Icmp:"));
    let [names, numbers] = [(); 2].map(|()| icmp.next().unwrap().split(' '));
    let v4 = names
        .zip(numbers)
        .find(|(name, _)| *name == format!("{direction}TimeExcds"));
    let v6 = read("/proc/thread-self/net/snmp6");
    let v6 = v6
        .lines()
        .find_map(|line| line.strip_prefix(&format!("Icmp6{direction}TimeExcds")));
    let numbers = [v4.unwrap().1, v6.unwrap().trim()];
    numbers
        .map(|number| number.parse::<u64>().unwrap())
        .iter()
        .sum()
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn what_crosses_the_uplinks_is_not_to_be_read_and_without_a_tunnel_nothing_crosses_them() {
    let world = World::new(Version::V4);
    let mut router = world.start_router(&world.router);
    // No home agent yet: the host's packets have no way.
    let both = [Version::V4, Version::V6].map(|version| world.streams(version));
    sleep(Duration::from_secs(1));
    let home_agent = world.start_home_agent();
    router.until("Registered");
    for stream in both.iter().flatten() {
        stream.until_more(500);
    }
    world.air.state().astray.clear();
    // The tunnel has no uplink; then it is gone itself.
    for uplink in [WLAN, WWAN] {
        world.air.cut(uplink, true);
    }
    sleep(Duration::from_secs(1));
    router.kill();
    sleep(Duration::from_secs(1));
    // Then those for the vehicle have no way either.
    home_agent.kill();
    sleep(Duration::from_secs(1));
    for stream in both.into_iter().flatten() {
        let record = stream.end();
        assert!(record.lost(record.whole()) > 1000);
    }
    let state = world.air.state();
    let seen: Vec<&Vec<u8>> = state
        .uplinks
        .iter()
        .flat_map(|uplink| &uplink.seen)
        .collect();
    let hosts = HOST.map(|address| match address.parse().unwrap() {
        std::net::IpAddr::V4(address) => address.octets().to_vec(),
        std::net::IpAddr::V6(address) => address.octets().to_vec(),
    });
    assert!(!state.astray.iter().any(|packet| holds(packet, PLAINTEXT)));
    let long = seen.iter().filter(|packet| packet.len() > 200).count();
    assert!(long > 1000, "{long}");
    for packet in seen {
        assert!(!holds(packet, PLAINTEXT), "{packet:?}");
        assert!(hosts.iter().all(|host| !holds(packet, host)), "{packet:?}");
    }
}
