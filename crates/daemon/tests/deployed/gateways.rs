//! A pair of gateways: the host's conversations with the correspondent cross both uplinks as AeroTP.

use crate::world::daemons::{Daemon, Surroundings, make_key};
use crate::world::{CORRESPONDENT, DELAYS, HOME_AGENT, HOST, Version, WLAN, WWAN, World};
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::ops::Range;
use std::path::PathBuf;
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);
pub const PORT: u16 = 5001;
/// The names of the links, and of the near gateway's devices.
const NAMES: [&str; 2] = ["wlan0", "wwan0"];

/// A pair of gateways to start.
pub struct Setup<'a> {
    /// The IP version of each link.
    pub over: [Version; 2],
    /// The device of the first link at the far gateway.
    pub far_device: Option<&'a str>,
    /// The rate of each link, as told.
    pub rate: &'a str,
    /// Further keys of each link.
    pub of_links: &'a str,
    /// Further keys of both gateways.
    pub keys: &'a str,
    /// Further tables of the near gateway and of the far one.
    pub tables: [&'a str; 2],
}

/// Starts both gateways with these rules, and waits until both links carry packets.
pub fn start(world: &World, over: Version, rules: &str) -> [Daemon; 2] {
    let tables = [rules; 2];
    Setup {
        tables,
        ..Setup::over(over)
    }
    .start(world)
}

impl<'a> Setup<'a> {
    /// Returns gateways with links of 20 Mbit/s and no more than that.
    pub fn over(version: Version) -> Setup<'a> {
        Setup {
            over: [version; 2],
            far_device: None,
            rate: "20 Mbit/s",
            of_links: "",
            keys: "",
            tables: [""; 2],
        }
    }

    /// Starts both gateways, and waits until both links carry packets.
    pub fn start(&self, world: &World) -> [Daemon; 2] {
        start_both(world, self.configure(world))
    }

    /// Writes both gateways' configurations.
    pub fn configure(&self, world: &World) -> [PathBuf; 2] {
        let folder = &world.folder.0;
        let [near_key, far_key] = ["near", "far"].map(|name| make_key(&folder.join(name)));
        let link = |place: usize, ends: String| {
            let (name, rate, more) = (NAMES[place], self.rate, self.of_links);
            format!("[[links]]\nname = \"{name}\"\nrate = \"{rate}\"\n{ends}{more}")
        };
        let at = |place: usize| {
            let address = address(HOME_AGENT, self.over[place]);
            SocketAddr::new(address, 4191 + place as u16)
        };
        let calling = |place: usize| {
            let (device, endpoint) = (NAMES[place], at(place));
            link(
                place,
                format!("device = \"{device}\"\nendpoint = \"{endpoint}\"\n"),
            )
        };
        let listening = |place: usize| {
            let device = self.far_device.filter(|_| place == 0);
            let device = device.map(|device| format!("device = \"{device}\"\n"));
            let device = device.unwrap_or_default();
            link(place, format!("listen = \"{}\"\n{device}", at(place)))
        };
        let file = |own: &str, peer: &str, networks: [&str; 2], tables: String| {
            let (key, keys) = (folder.join(own), self.keys);
            let [v4, v6] = networks;
            let text = format!(
                "{keys}\nprivate_key = {key:?}\nnetworks = [\"{v4}\", \"{v6}\"]\n[peer]\npublic_key = \"{peer}\"\n{tables}"
            );
            world.file(&format!("{own}.toml"), &text)
        };
        let beyond = ["10.9.0.0/24", "2001:db8:200::/64"];
        let behind = ["10.7.0.0/24", "2001:db8:7::/64"];
        let [of_near, of_far] = self.tables;
        let near = [WLAN, WWAN].map(calling).concat() + of_near;
        let far = [WLAN, WWAN].map(listening).concat() + of_far;
        [
            file("near", &far_key, beyond, near),
            file("far", &near_key, behind, far),
        ]
    }
}

/// Starts both gateways with these files, and waits until both links carry packets.
fn start_both(world: &World, [near, far]: [PathBuf; 2]) -> [Daemon; 2] {
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
pub fn byte(place: usize) -> u8 {
    let mixed = (place as u64 ^ place as u64 >> 7).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 56) as u8
}

/// Data on its way from the host to the correspondent: the time of each receipt and the bytes so far.
pub struct Transfer {
    sender: JoinHandle<()>,
    receiver: JoinHandle<Vec<(Instant, usize)>>,
}

impl Transfer {
    /// Begins to send so many bytes.
    pub fn begin(world: &World, version: Version, bytes: usize) -> Transfer {
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
    pub fn end(self, bytes: usize) -> Vec<(Instant, usize)> {
        self.sender.join().unwrap();
        let times = self.receiver.join().unwrap();
        assert_eq!(times.last().map(|(_, place)| *place), Some(bytes));
        times
    }
}

/// Returns the longest pause that the loss of a link may cause: two of its round trips as the gateway has measured them, an
/// answer's delay, and the way over the other link.
pub fn longest_without(gateway: &Daemon, link: usize) -> Duration {
    let output = gateway.command(&["status", "--json"]).output().unwrap();
    let status: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let measured = &status["uplinks"][link];
    assert_eq!(measured["name"], NAMES[link]);
    let round_trip = Duration::from_secs_f64(measured["round_trip_s"].as_f64().unwrap());
    2 * round_trip + Duration::from_millis(10) + DELAYS[1 - link]
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

/// With a flipped bit in each hundred bytes no datagram would be authentic without the code, and over IPv6 the kernel
/// would drop each for its checksum.
#[test]
#[ignore = "needs root: it makes network namespaces"]
fn data_crosses_links_that_damage_every_datagram() {
    for over in [Version::V4, Version::V6] {
        let world = World::new(over);
        for uplink in &mut world.air.state().uplinks {
            uplink.bytes_a_flip = Some(100);
        }
        let of_links = "delivers_damaged = true\n";
        let gateways = Setup {
            of_links,
            ..Setup::over(over)
        }
        .start(&world);
        let bytes = 3_000_000;
        Transfer::begin(&world, Version::V4, bytes).end(bytes);
        let status = gateways.each_ref().map(Daemon::status).concat();
        let repaired: usize = status.lines().filter_map(repaired).sum();
        // No packet on the paths is longer than this.
        assert!(repaired > bytes / 1238, "{repaired}: {status}");
    }
}

/// Returns the number of repaired datagrams in a line about a link's code.
fn repaired(line: &str) -> Option<usize> {
    let (before, _) = line.split_once(" datagrams repaired")?;
    before.rsplit(' ').next()?.parse().ok()
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn a_transfer_goes_on_by_the_other_link_when_one_is_cut() {
    let world = World::new(Version::V4);
    let [near, _far] = start(&world, Version::V4, "");
    let bytes = 12_000_000;
    let transfer = Transfer::begin(&world, Version::V4, bytes);
    let begun = Instant::now();
    sleep(Duration::from_millis(700));
    let most_without_wlan = longest_without(&near, WLAN);
    let first = world.air.cut(WLAN, true);
    sleep(Duration::from_millis(1500));
    let calm = first + Duration::from_millis(700)..first + Duration::from_millis(1500);
    world.air.cut(WLAN, false);
    sleep(Duration::from_millis(300));
    let most_without_wwan = longest_without(&near, WWAN);
    let second = world.air.cut(WWAN, true);
    let times = transfer.end(bytes);
    let pause = |when: Range<Instant>| {
        let pauses = times.windows(2).filter(|pair| when.contains(&pair[1].0));
        pauses
            .map(|pair| pair[1].0 - pair[0].0)
            .max()
            .unwrap_or_default()
    };
    let after = times.iter().filter(|(at, _)| *at > second).count();
    assert!(after > 0, "it ended before the second cut");
    // How much this machine itself delays, while one link carries all.
    let calm = pause(calm);
    let pauses = [first, second].map(|cut| pause(cut..cut + Duration::from_millis(700)));
    let most = [most_without_wlan, most_without_wwan];
    println!(
        "pauses {pauses:?} of {most:?}, {calm:?} in between; it took {:?}",
        begun.elapsed()
    );
    let late = world.air.lateness(begun);
    for (pause, most) in pauses.into_iter().zip(most) {
        assert!(pause < most + 2 * calm + 5 * late, "{pause:?}");
    }
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
