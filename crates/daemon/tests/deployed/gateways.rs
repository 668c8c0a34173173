//! A pair of gateways: the host's conversations with the correspondent cross both uplinks as AeroTP.

use crate::world::daemons::{Daemon, Surroundings, make_key};
use crate::world::{CORRESPONDENT, HOME_AGENT, HOST, Version, WLAN, WWAN, World};
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);
pub const PORT: u16 = 5001;

/// Starts both gateways with these rules, and waits until both links carry packets.
pub fn start(world: &World, over: Version, rules: &str) -> [Daemon; 2] {
    let folder = &world.folder.0;
    let [near_key, far_key] = ["near", "far"].map(|name| make_key(&folder.join(name)));
    let home = HOME_AGENT[over as usize];
    let at = |address: &str, port: u16| match over {
        Version::V4 => format!("{address}:{port}"),
        Version::V6 => format!("[{address}]:{port}"),
    };
    let calling = |(name, port)| {
        let endpoint = at(home, port);
        format!(
            "[[links]]\nname = \"{name}\"\ndevice = \"{name}\"\nendpoint = \"{endpoint}\"\nrate = \"20 Mbit/s\"\n"
        )
    };
    let listening = |(name, port)| {
        let listen = at(home, port);
        format!("[[links]]\nname = \"{name}\"\nlisten = \"{listen}\"\nrate = \"20 Mbit/s\"\n")
    };
    let links = [("wlan0", 4191), ("wwan0", 4192)];
    let file = |own: &str, peer: &str, networks: [&str; 2], links: [String; 2]| {
        let key = folder.join(own);
        let [v4, v6] = networks;
        let text = format!(
            "private_key = {key:?}\nnetworks = [\"{v4}\", \"{v6}\"]\n[peer]\npublic_key = \"{peer}\"\n{}{}",
            links.concat(),
            rules
        );
        world.file(&format!("{own}.toml"), &text)
    };
    let beyond = ["10.9.0.0/24", "2001:db8:200::/64"];
    let behind = ["10.7.0.0/24", "2001:db8:7::/64"];
    let near = file("near", &far_key, beyond, links.map(calling));
    let far = file("far", &near_key, behind, links.map(listening));
    let surroundings = Surroundings::default();
    let mut far = Daemon::start(&world.home, ("gateway", &*far), &surroundings);
    far.until("running");
    let mut near = Daemon::start(&world.router, ("gateway", &*near), &surroundings);
    near.until("wlan0 is up");
    while !near.said().contains("wwan0 is up") {
        sleep(Duration::from_millis(2));
    }
    [near, far]
}

pub fn address(pair: [&str; 2], version: Version) -> IpAddr {
    pair[version as usize].parse().unwrap()
}

/// Returns the byte at a place of the data sent: its neighbours differ.
fn byte(place: usize) -> u8 {
    let mixed = (place as u64 ^ place as u64 >> 7).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 56) as u8
}

/// Data on its way from the host to the correspondent: the time of each receipt and the bytes so far.
struct Transfer {
    sender: JoinHandle<()>,
    receiver: JoinHandle<Vec<(Instant, usize)>>,
}

impl Transfer {
    /// Begins to send so many bytes.
    fn begin(world: &World, version: Version, bytes: usize) -> Transfer {
        let to = (address(CORRESPONDENT, version), PORT);
        let listener = world.correspondent.run(|| TcpListener::bind(to).unwrap());
        let mut stream = world.host.run(|| TcpStream::connect(to).unwrap());
        let (mut accepted, from) = listener.accept().unwrap();
        // Both ends keep their addresses.
        assert_eq!(from, stream.local_addr().unwrap());
        assert_eq!(from.ip(), address(HOST, version));
        let sender = thread::spawn(move || {
            let data: Vec<u8> = (0..bytes).map(byte).collect();
            stream.write_all(&data).unwrap();
        });
        let receiver = thread::spawn(move || {
            let (mut times, mut place, mut buffer) = (Vec::new(), 0, vec![0; 64 << 10]);
            accepted.set_read_timeout(Some(PATIENCE)).unwrap();
            loop {
                let read = accepted.read(&mut buffer).unwrap();
                if read == 0 {
                    return times;
                }
                for found in &buffer[..read] {
                    assert_eq!(*found, byte(place), "byte {place}");
                    place += 1;
                }
                times.push((Instant::now(), place));
            }
        });
        Transfer { sender, receiver }
    }

    /// Waits for its end; returns the receipts.
    fn end(self, bytes: usize) -> Vec<(Instant, usize)> {
        self.sender.join().unwrap();
        let times = self.receiver.join().unwrap();
        assert_eq!(times.last().map(|(_, place)| *place), Some(bytes));
        times
    }
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn tcp_and_udp_cross_a_pair_of_gateways_and_keep_their_ends() {
    for over in [Version::V4, Version::V6] {
        let world = World::new(over);
        let [near, far] = start(&world, over, "");
        for version in [Version::V4, Version::V6] {
            let bytes = 3_000_000;
            Transfer::begin(&world, version, bytes).end(bytes);
            let to = address(CORRESPONDENT, version);
            let echo = world
                .correspondent
                .run(|| UdpSocket::bind((to, PORT)).unwrap());
            let from = address(HOST, version);
            let socket = world.host.run(|| UdpSocket::bind((from, 0)).unwrap());
            for socket in [&echo, &socket] {
                socket.set_read_timeout(Some(PATIENCE)).unwrap();
            }
            let mut buffer = [0; 2000];
            for length in [1, 500, 1100] {
                socket.send_to(&vec![7; length], (to, PORT)).unwrap();
                let (read, sender) = echo.recv_from(&mut buffer).unwrap();
                assert_eq!((read, sender), (length, socket.local_addr().unwrap()));
                echo.send_to(&buffer[..read], sender).unwrap();
                assert_eq!(socket.recv(&mut buffer).unwrap(), length);
            }
        }
        // A gateway that carried nothing itself would have passed the packets on as they are.
        for gateway in [&near, &far] {
            let status = gateway.status();
            assert!(status.contains("carried"), "{status}");
        }
    }
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn a_transfer_goes_on_by_the_other_link_when_one_is_cut() {
    let world = World::new(Version::V4);
    let _gateways = start(&world, Version::V4, "");
    let bytes = 12_000_000;
    let transfer = Transfer::begin(&world, Version::V4, bytes);
    sleep(Duration::from_millis(700));
    let cut = world.air.cut(WLAN, true);
    sleep(Duration::from_millis(1500));
    world.air.cut(WLAN, false);
    sleep(Duration::from_millis(300));
    world.air.cut(WWAN, true);
    let times = transfer.end(bytes);
    let gaps = times.windows(2).map(|pair| pair[1].0 - pair[0].0);
    let longest = gaps.max().unwrap_or_default();
    let after = times.iter().filter(|(at, _)| *at > cut).count();
    println!("longest gap {longest:?}, {after} receipts after the cut");
    assert!(after > 0, "it ended before the cut");
    assert!(longest < Duration::from_millis(700), "{longest:?}");
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn packets_that_no_rule_selects_cross_as_they_are_by_the_link_that_is_up() {
    let world = World::new(Version::V4);
    let [near, _far] = start(&world, Version::V4, "[[rules]]\nport = 9\n");
    let streams = world.streams(Version::V6);
    sleep(Duration::from_millis(500));
    let begun = world.air.cut(WLAN, true);
    sleep(Duration::from_secs(1));
    streams.iter().for_each(|stream| stream.until_more(500));
    let when = begun..Instant::now();
    let status = near.status();
    assert!(status.contains("0 connections carried"), "{status}");
    let records = streams.map(|stream| stream.end());
    let late = world.lateness(&records, &when);
    for record in &records {
        let stall = record.stall(when.clone());
        println!("stall {stall:?}, lost {}", record.lost(record.whole()));
        assert!(stall < Duration::from_millis(300) + 5 * late, "{stall:?}");
    }
}
