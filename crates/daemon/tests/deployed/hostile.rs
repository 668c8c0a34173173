//! Attacks on a pair of gateways: from the network between them, by strangers, and from behind one of them.

use crate::attacks::{Numbers, attacker};
use crate::gateways::{PORT, Setup, Transfer, start};
use crate::world::daemons::{Daemon, Surroundings, make_key};
use crate::world::datagram::{datagram, endpoints, payload};
use crate::world::{CORRESPONDENT, HOME_AGENT, HOST, Version, WLAN, WWAN, World};
use baton_daemon::keys;
use baton_path::{Initiator, InitiatorConfig, PresharedKey};
use baton_proto::aerotp::Configuration;
use baton_proto::host::Host;
use baton_proto::interface::InterfaceId;
use baton_proto::rate::DataRate;
use baton_proto::tcp::Endpoint;
use baton_proto::tcp::profile::Profile;
use baton_proto::time;
use std::net::{IpAddr, SocketAddr, SocketAddrV4, TcpListener};
use std::thread::sleep;
use std::time::{Duration, Instant};

const PORTS: [u16; 2] = [4191, 4192];
/// The most connections that a gateway keeps half open.
const MOST_HALF_OPEN: u64 = 1024;
/// Growth of a process's memory that its allocator may cause; a hundred bytes for each datagram of a flood would be more.
const SLACK: u64 = 512 << 10;

/// Returns how many datagrams a gateway has rejected for a reason.
fn rejected(gateway: &Daemon, reason: &str) -> u64 {
    *gateway.state().rejected.get(reason).unwrap_or(&0)
}

/// Rebuilds a datagram around another payload.
fn with(packet: &[u8], payload: &[u8]) -> Vec<u8> {
    let Some((SocketAddr::V4(from), SocketAddr::V4(to))) = endpoints(packet) else {
        panic!("over IPv4");
    };
    datagram(from, to, payload)
}

/// Loses, flips, cuts short, repeats, delays and replaces datagrams, of each ten in a hundred at most.
pub fn relay(number: u64, packet: Vec<u8>) -> Vec<(Duration, Vec<u8>)> {
    let later = |milliseconds| Duration::from_millis(milliseconds);
    let (now, content) = (Duration::ZERO, payload(&packet).to_vec());
    let place = (number * 7919) as usize % content.len();
    match number % 31 {
        3 => vec![],
        5 => {
            let mut flipped = content;
            flipped[place] ^= 1 << (number % 8);
            vec![(now, with(&packet, &flipped))]
        }
        // Shorter than any frame, or not.
        7 => vec![(now, with(&packet, &content[..place % 64]))],
        11 => vec![(now, packet.clone()), (later(60), packet)],
        13 => vec![(later(30), packet)],
        17 => {
            let mut noise = Numbers(number as u32).bytes(content.len());
            noise[..4].copy_from_slice(&content[..4]);
            vec![(now, with(&packet, &noise)), (now, packet)]
        }
        _ => vec![(now, packet)],
    }
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn a_relay_that_damages_repeats_and_reorders_datagrams_harms_no_transfer() {
    let world = World::new(Version::V4);
    let gateways = start(&world, Version::V4, "");
    for uplink in [WLAN, WWAN] {
        world.air.state().uplinks[uplink].relay = Some(relay);
    }
    // Every byte is compared. So many datagrams return, too, that each kind of damage meets some.
    for version in [Version::V4, Version::V6] {
        let bytes = 6_000_000;
        Transfer::begin(&world, version, bytes).end(bytes);
    }
    for gateway in &gateways {
        for reason in ["Forged", "Replayed", "Length", "UnknownSession"] {
            let number = rejected(gateway, reason);
            assert!(number > 0, "{reason}: {}", gateway.status());
        }
        // An operator reads it, too.
        let status = gateway.status();
        assert!(status.contains("datagrams not taken: Forged"), "{status}");
    }
}

/// The far gateway's view of strangers: its key is public, its peer's traffic was recorded.
struct Strangers<'a> {
    world: &'a World,
    numbers: Numbers,
    /// Datagrams to the far gateway, and to the near one, each with its link.
    recorded: [Vec<(usize, Vec<u8>)>; 2],
    sent: usize,
}

impl Strangers<'_> {
    fn new(world: &World) -> Strangers<'_> {
        let state = world.air.state();
        let mut recorded = [Vec::new(), Vec::new()];
        for link in [WLAN, WWAN] {
            for packet in &state.uplinks[link].seen {
                let Some((_, to)) = endpoints(packet) else {
                    continue;
                };
                let is_answer = usize::from(to.port() != PORTS[link]);
                recorded[is_answer].push((link, payload(packet).to_vec()));
            }
        }
        drop(state);
        Strangers {
            world,
            numbers: Numbers(1),
            recorded,
            sent: 0,
        }
    }

    fn send(&mut self, link: usize, from: SocketAddrV4, content: &[u8]) {
        let to = SocketAddrV4::new(HOME_AGENT[0].parse().unwrap(), PORTS[link]);
        self.world.air.inject(datagram(from, to, content));
        self.sent += content.len();
    }

    /// Returns a datagram to the far gateway (0) or the near one (1) with its link, and the datagram with a bit flipped.
    fn pick(&mut self, direction: usize) -> (usize, Vec<u8>, Vec<u8>) {
        let recorded = &self.recorded[direction];
        let (link, replayed) = recorded[self.numbers.next() as usize % recorded.len()].clone();
        let mut forged = replayed.clone();
        let place = self.numbers.next() as usize % forged.len();
        forged[place] ^= 1 << (self.numbers.next() % 8);
        (link, replayed, forged)
    }

    /// Sends rounds of seven datagrams of as many kinds, each round from another address.
    fn flood(&mut self, rounds: u32) {
        let outside = [WLAN, WWAN].map(|link| {
            let Some(SocketAddr::V4(outside)) = self.world.air.state().uplinks[link].outside else {
                panic!("over IPv4");
            };
            outside
        });
        for round in 0..rounds {
            let (link, replayed, forged) = self.pick(0);
            let cut = self.numbers.next() as usize % replayed.len();
            let length = self.numbers.next() as usize % 1400;
            let noise = self.numbers.bytes(length + 1);
            let mut garbage = noise.clone();
            garbage[0] = replayed[0];
            let (first, initiation) = self.recorded[0][0].clone();
            self.send(link, attacker(round), &replayed);
            self.send(link, outside[link], &replayed);
            self.send(link, outside[link], &forged);
            self.send(link, outside[link], &replayed[..cut]);
            self.send(link, outside[link], &garbage);
            self.send(link, attacker(round), &noise);
            self.send(first, attacker(round), &initiation);
            // The near gateway's socket is reached by whoever can use the way from the other.
            let (link, replayed, forged) = self.pick(1);
            let Some(SocketAddr::V4(inside)) = self.world.air.state().uplinks[link].inside else {
                panic!("over IPv4");
            };
            let from = SocketAddrV4::new(HOME_AGENT[0].parse().unwrap(), PORTS[link]);
            for content in [
                &replayed[..],
                &forged,
                &replayed[..round as usize % 32],
                &noise,
            ] {
                self.world
                    .air
                    .inject_by(link, datagram(from, inside, content));
            }
            sleep(Duration::from_micros(500));
        }
    }
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn strangers_get_no_state_and_no_packets_and_stop_no_transfer() {
    let world = World::new(Version::V4);
    let [near, far] = start(&world, Version::V4, "");
    let warm = 2_000_000;
    Transfer::begin(&world, Version::V4, warm).end(warm);
    let mut strangers = Strangers::new(&world);
    strangers.flood(1000);
    let before = [&near, &far].map(|gateway| gateway.memory());
    strangers.flood(2000);
    for (gateway, before) in [&near, &far].into_iter().zip(before) {
        let after = gateway.memory();
        println!("{before} B before 2,000 rounds, {after} B after");
        assert!(after < before + SLACK, "{before} B, then {after} B");
    }
    let bytes = 4_000_000;
    let transfer = Transfer::begin(&world, Version::V4, bytes);
    strangers.flood(1000);
    transfer.end(bytes);
    for gateway in [&near, &far] {
        for reason in ["Type", "Length", "Forged", "Replayed", "UnknownSession"] {
            assert!(
                rejected(gateway, reason) > 0,
                "{reason}: {}",
                gateway.status()
            );
        }
        assert_eq!(gateway.times("has moved"), 0, "{}", gateway.said());
        assert_eq!(gateway.times("started anew"), 0, "{}", gateway.said());
    }
    assert!(rejected(&far, "Stranger") + rejected(&far, "Stale") > 0);
    // Under load an address has to show its cookie before it costs a handshake. How many a second this machine takes is
    // not known.
    let initiation = strangers.recorded[0][0].clone();
    let begun = Instant::now();
    while rejected(&far, "Load") == 0 {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "{}",
            far.status()
        );
        for number in 0..3000 {
            strangers.send(initiation.0, attacker(number), &initiation.1);
        }
        sleep(Duration::from_millis(200));
    }
    // Answers are fewer than what was sent: nobody can have a flood made larger.
    let astray = &world.air.state().astray;
    let answers: usize = astray.iter().map(|packet| packet.len() - 28).sum();
    println!("{answers} B of answers to {} B", strangers.sent);
    assert!(
        answers < strangers.sent / 2,
        "{answers} of {}",
        strangers.sent
    );
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn a_gateway_with_another_key_or_of_another_version_is_refused_and_counted() {
    let world = World::new(Version::V4);
    let [near, far] = start(&world, Version::V4, "");
    let folder = &world.folder.0;
    let public = |name: &str| make_key(&folder.join(name));
    let (own, peer) = (folder.join("third"), public("far"));
    public("third");
    let text = format!(
        "private_key = {own:?}\nnetworks = [\"10.9.0.0/24\"]\n[peer]\npublic_key = \"{peer}\"\n[[links]]\nname = \"a\"\nendpoint = \"{}:4191\"\n",
        HOME_AGENT[0]
    );
    let file = world.file("third.toml", &text);
    let mut third = Daemon::start(&world.another, ("gateway", &file), &Surroundings::default());
    third.until("running");
    let until = |reason: &str| {
        let begun = Instant::now();
        while rejected(&far, reason) == 0 {
            assert!(
                begun.elapsed() < Duration::from_secs(20),
                "{}",
                far.status()
            );
            sleep(Duration::from_millis(50));
        }
    };
    until("UnknownPeer");
    assert!(!third.said().contains("a is up"), "{}", third.said());
    // A path whose ends do not find its rate is the other version that there is.
    let local = keys::read_private(&folder.join("near")).unwrap();
    let remote = keys::read_private(&folder.join("far")).unwrap().public();
    let config = InitiatorConfig {
        local,
        home_agent: remote,
        preshared: PresharedKey::default(),
        remote: SocketAddr::new(HOME_AGENT[0].parse().unwrap(), PORTS[0]),
        path: 0,
        uplink_mtu: 1500,
        finds_rate: false,
        unix_nanoseconds: u64::MAX / 2,
        seed: [3; 32],
    };
    let now = time::Instant::ZERO;
    let mut initiation = Vec::new();
    let mut other = Initiator::new(now, config);
    other.poll_transmit(now, &mut initiation).unwrap();
    let to = SocketAddrV4::new(HOME_AGENT[0].parse().unwrap(), PORTS[0]);
    world.air.inject(datagram(attacker(1), to, &initiation));
    until("Handshake");
    // The pair goes on.
    let bytes = 500_000;
    Transfer::begin(&world, Version::V4, bytes).end(bytes);
    assert_eq!(near.state().rejected.get("Handshake"), None);
}

/// A machine behind the near gateway, with any address.
fn machine(address: IpAddr) -> Host {
    let mut host = Host::new(address, [9; 16]);
    host.add_interface(1400);
    host.routes_mut().set_default(Some(InterfaceId(0)));
    host
}

fn server() -> Endpoint {
    Endpoint {
        address: CORRESPONDENT[0].parse().unwrap(),
        port: PORT,
    }
}

fn bytes_of(host: &mut Host) -> Vec<u8> {
    while host.poll_event().is_some() {}
    let (_, packet) = host.poll_transmit(time::Instant::ZERO).unwrap();
    let mut bytes = Vec::new();
    packet.encode(&mut bytes);
    bytes
}

/// Opens a connection in the name of a machine that does not exist.
fn forged_syn(number: u32) -> Vec<u8> {
    let [.., third, fourth] = number.to_be_bytes();
    let mut host = machine([10, 7, third, fourth].into());
    host.tcp_connect(time::Instant::ZERO, server(), &Profile::linux_6(), None);
    bytes_of(&mut host)
}

/// Opens an AeroTP connection, as only a gateway may.
fn forged_opening(address: IpAddr) -> Vec<u8> {
    let mut host = machine(address);
    let configuration = Configuration::new(DataRate::from_bits_per_second(1_000_000));
    host.aerotp_connect(time::Instant::ZERO, server(), configuration, None);
    bytes_of(&mut host)
}

/// Returns the number of packets with a protocol unknown to the kernel of this namespace.
fn unknown_protocols() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
    let mut lines = text.lines().filter(|line| line.starts_with("Ip:"));
    let [names, numbers] = [(); 2].map(|()| lines.next().unwrap().split(' '));
    let mut both = names.zip(numbers);
    let found = both.find(|(name, _)| *name == "InUnknownProtos");
    found.unwrap().1.parse().unwrap()
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn machines_behind_a_gateway_cannot_speak_for_it_nor_fill_it_with_connections() {
    let world = World::new(Version::V4);
    let gateways = start(&world, Version::V4, "");
    let [near, far] = &gateways;
    let carried = |gateway: &Daemon| gateway.state().gateway.unwrap();
    // AeroTP of the host, of a machine of the far network, and of the gateway's own address.
    let before = world.correspondent.run(unknown_protocols);
    for address in [HOST[0], "10.9.0.77", "192.0.0.8"] {
        world
            .air
            .inject_from_behind(forged_opening(address.parse().unwrap()));
    }
    let begun = Instant::now();
    while world.correspondent.run(unknown_protocols) < before + 1 {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "{}",
            far.status()
        );
        sleep(Duration::from_millis(20));
    }
    for gateway in &gateways {
        let status = carried(gateway);
        assert_eq!((status.connections, status.strangers), (0, 0), "{status:?}");
    }
    // A flood of openings, to a server that answers each of them.
    let bytes = 2_000_000;
    let flood = |first: u32, count: u32| {
        for number in first..first + count {
            world.air.inject_from_behind(forged_syn(number));
            if number % 50 == 0 {
                sleep(Duration::from_millis(10));
            }
        }
    };
    // The resets of the last ones that made room may still be on their way to the far gateway.
    let check = || {
        for gateway in &gateways {
            let begun = Instant::now();
            let mut status = carried(gateway);
            while status.connections > MOST_HALF_OPEN + 2 {
                assert!(begun.elapsed() < Duration::from_secs(5), "{status:?}");
                sleep(Duration::from_millis(20));
                status = carried(gateway);
            }
            println!("{status:?}, {} B of memory", gateway.memory());
        }
    };
    let transfer = Transfer::begin(&world, Version::V4, bytes);
    flood(256, 4000);
    transfer.end(bytes);
    check();
    let full = gateways.each_ref().map(|gateway| gateway.memory());
    let listener = world
        .correspondent
        .run(|| TcpListener::bind((CORRESPONDENT[0], PORT)).unwrap());
    flood(4256, 4000);
    sleep(Duration::from_secs(1));
    check();
    drop(listener);
    for (gateway, full) in gateways.iter().zip(full) {
        let after = gateway.memory();
        assert!(after < full + 2 * SLACK, "{full} B, then {after} B");
    }
    let status = carried(near);
    assert!(status.replaced > 1000, "{status:?}");
    let words = near.status();
    assert!(words.contains("half-open connections replaced"), "{words}");
    let bytes = 300_000;
    Transfer::begin(&world, Version::V4, bytes).end(bytes);
}

/// The near gateway's file system is full, that of its key log as well, and nobody takes what it says.
#[test]
#[ignore = "needs root: it makes network namespaces"]
fn a_full_disk_stops_no_gateway() {
    let world = World::new(Version::V4);
    let log = world.folder.0.join("near.0.run/keys");
    let keys = &format!("key_log = {log:?}");
    let [near, far] = Setup {
        keys,
        ..Setup::over(Version::V4)
    }
    .configure(&world);
    let full = Surroundings {
        is_full: true,
        ..Surroundings::default()
    };
    let near = Daemon::start(&world.router, ("gateway", &near), &full);
    let mut far = Daemon::start(&world.home, ("gateway", &far), &Surroundings::default());
    far.until("wlan0 is up");
    far.until("wwan0 is up");
    for version in [Version::V4, Version::V6] {
        let bytes = 1_000_000;
        Transfer::begin(&world, version, bytes).end(bytes);
    }
    let status = near.status();
    assert!(status.contains("connections carried"), "{status}");
}
