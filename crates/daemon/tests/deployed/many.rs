//! 10,000 TCP connections at once through a pair of gateways.

use crate::gateways::{PORT, address, start};
use crate::world::daemons::{Daemon, PATIENCE};
use crate::world::{CORRESPONDENT, Version, World};
use baton_linux::netlink::RouteSocket;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const CONNECTIONS: usize = 10_000;
const THREADS: usize = 8;
/// Packets in a queue, and connections that wait for the server.
const ROOM: u32 = 1 << 15;
/// The memory of an idle connection at each gateway, in bytes.
const MOST_MEMORY: u64 = 8_000;
/// A program that sends back what it gets. It is another process, so that neither has 20,000 files.
const ECHO: &str = include_str!("echo.py");

/// A program that is killed with this value.
struct Server(Child);

impl Server {
    /// Starts the server of the correspondent, at its addresses of both versions.
    fn start(world: &World) -> Server {
        let mut command = Command::new("python3");
        command.args(["-c", ECHO, &PORT.to_string()]);
        command.args(CORRESPONDENT).stdout(Stdio::piped());
        let mut child = world.correspondent.run(|| command.spawn().unwrap());
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        for _ in CORRESPONDENT {
            assert!(said.next().unwrap().unwrap().starts_with("listening"));
        }
        Server(child)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Gives the devices around the gateways queues in which all connections have room, since one thread reads them, and the
/// server's kernel room for all that open at once.
fn widen(world: &World) {
    let all: [(_, &[&str]); 4] = [
        (&world.host, &["eth0"]),
        (&world.router, &["lan0", "wlan0", "wwan0"]),
        (&world.home, &["lan0", "eth0"]),
        (&world.correspondent, &["eth0"]),
    ];
    for (namespace, devices) in all {
        namespace.run(|| {
            let mut kernel = RouteSocket::open().unwrap();
            for device in devices {
                let index = kernel.link(device).unwrap().index;
                kernel.set_queue_length(index, ROOM).unwrap();
            }
        });
    }
    world.correspondent.run(|| {
        for key in ["core/somaxconn", "ipv4/tcp_max_syn_backlog"] {
            fs::write(format!("/proc/sys/net/{key}"), ROOM.to_string()).unwrap();
        }
    });
}

/// Lets this process and those that it starts have a file for each connection.
fn allow_files() {
    let mut command = Command::new("prlimit");
    command.arg(format!("--pid={}", std::process::id()));
    command.arg(format!("--nofile={}:", CONNECTIONS + 1000));
    assert!(command.status().unwrap().success());
}

/// Returns the resident memory of a daemon, in bytes.
fn resident(daemon: &Daemon) -> u64 {
    let text = fs::read_to_string(format!("/proc/{}/smaps_rollup", daemon.id())).unwrap();
    let rest = text.lines().find_map(|line| line.strip_prefix("Rss:"));
    let kilobytes = rest.unwrap().trim().strip_suffix("kB").unwrap().trim();
    kilobytes.parse::<u64>().unwrap() * 1024
}

/// Returns how often the kernel of a host has repeated a SYN.
fn repeated_syns(world: &World) -> u64 {
    let text = world
        .host
        .run(|| fs::read_to_string("/proc/thread-self/net/netstat").unwrap());
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("TcpExt:"));
    let [names, values] = [lines.next(), lines.next()].map(|line| line.unwrap().split(' '));
    let mut pairs = names.zip(values);
    let found = pairs.find(|(name, _)| *name == "TCPSynRetrans");
    found.unwrap().1.parse().unwrap()
}

/// Opens connections, with both IP versions and in several threads.
fn open(world: &World) -> Vec<TcpStream> {
    let to = [Version::V4, Version::V6].map(|version| address(CORRESPONDENT, version));
    let part = |thread: usize| -> Vec<TcpStream> {
        let one = |number: usize| {
            let to = SocketAddr::new(to[(thread + number) % 2], PORT);
            let stream = TcpStream::connect(to).unwrap_or_else(|e| panic!("{number}: {e}"));
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            stream
        };
        (0..CONNECTIONS / THREADS).map(one).collect()
    };
    world.host.run(|| {
        // A thread of a thread is in the same namespace.
        std::thread::scope(|scope| {
            let parts: Vec<_> = (0..THREADS).map(|n| scope.spawn(move || part(n))).collect();
            let parts = parts.into_iter().flat_map(|part| part.join().unwrap());
            parts.collect()
        })
    })
}

/// Sends a few bytes on each connection, other ones on each, and reads them as they come back.
fn ask_all(streams: &mut [TcpStream], round: u32) {
    let words = |number: usize| [round.to_be_bytes(), (number as u32).to_be_bytes()].concat();
    for (number, stream) in streams.iter_mut().enumerate() {
        stream.write_all(&words(number)).unwrap();
    }
    for (number, stream) in streams.iter_mut().enumerate() {
        let mut answer = [0; 8];
        let read = stream.read_exact(&mut answer);
        read.unwrap_or_else(|error| panic!("round {round}, connection {number}: {error}"));
        assert_eq!(answer[..], words(number));
    }
}

/// Waits until no connection crosses any more.
fn until_none(gateway: &Daemon) {
    let begun = Instant::now();
    while !gateway.status().contains("\n0 connections carried") {
        let status = gateway.status();
        assert!(begun.elapsed() < 3 * PATIENCE, "{status}");
        sleep(Duration::from_millis(500));
    }
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn ten_thousand_connections_are_carried_and_answer_again_after_a_minute() {
    allow_files();
    let world = World::new(Version::V4);
    widen(&world);
    let gateways = start(&world, Version::V4, "");
    let _server = Server::start(&world);
    let before = gateways.each_ref().map(resident);
    let begun = Instant::now();
    let mut streams = open(&world);
    let opened = begun.elapsed();
    ask_all(&mut streams, 1);
    let answered = begun.elapsed();
    sleep(Duration::from_secs(60));
    let idle = gateways.each_ref().map(resident);
    let memory = [0, 1].map(|place| (idle[place] - before[place]) / CONNECTIONS as u64);
    let repeated = repeated_syns(&world);
    println!(
        "opened in {opened:?}, answered after {answered:?}; {memory:?} B each; {repeated} SYNs repeated"
    );
    for gateway in &gateways {
        let status = gateway.status();
        assert!(status.contains("10000 connections carried"), "{status}");
    }
    ask_all(&mut streams, 2);
    drop(streams);
    gateways.iter().for_each(until_none);
    for bytes in memory {
        // Less would mean that the connections are not there.
        assert!((1_000..=MOST_MEMORY).contains(&bytes), "{bytes} B");
    }
}
