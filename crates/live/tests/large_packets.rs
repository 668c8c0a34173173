//! Large packets of real kernels: a world sees each packet of the MTU, whatever the kernels pass at once.

use baton_live::clock::RealClock;
use baton_live::forwarding::{Forwarding, Hosts};
use baton_live::namespace::{HostSpec, InterfaceSpec, RealHost};
use baton_sim::run::{Run, RunOptions};
use baton_sim::scenario;
use nix::sched::{CloneFlags, setns};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};

/// Address that a world gives its second node, and a port.
const SINK: (&str, u16) = ("10.0.0.2", 5001);
const MTU: usize = 1500;
/// Payload of a segment: the MTU without the headers of IPv4 and TCP and without timestamps (RFC 7323).
const SEGMENT: usize = MTU - 52;
const BYTES: usize = 4_000_000;

/// Outcome of a transfer between two kernels over a link.
struct Transfer {
    /// Data as the sink got them.
    received: Vec<u8>,
    /// Packets that the sink's kernel counted at its interface.
    at_sink: usize,
    /// Packets that the world counted.
    in_world: usize,
    /// Packets lost outside the model.
    lost: u64,
}

/// Data in which each part differs from the others.
fn data() -> Vec<u8> {
    (0..BYTES as u32 / 4)
        .flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect()
}

/// Runs `work` in a thread that has entered a network namespace.
fn inside<T: Send + 'static>(
    namespace: &OwnedFd,
    work: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    let namespace = namespace.try_clone().unwrap();
    thread::spawn(move || {
        setns(namespace, CloneFlags::CLONE_NEWNET).unwrap();
        work()
    })
}

/// Sends the data from one kernel to the other over a link with these settings.
fn transfer(link: &str) -> Transfer {
    let text = format!(
        "name = \"large\"\nduration = \"60 s\"\n[links.wire]\nbetween = [\"a\", \"b\"]\nkind = \"wired\"\n{link}\n\
         [live]\nhosts = [\"a\", \"b\"]\n"
    );
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let (made, namespaces) = channel();
    let world = thread::spawn(move || {
        let loaded = scenario::parse(&text, "test.toml", Path::new(""), &[]).unwrap();
        let options = RunOptions {
            live: true,
            ..RunOptions::default()
        };
        let run = Run::new(loaded, &options).unwrap();
        let mut hosts = hosts(&run);
        let of_host = |host: &RealHost| host.namespace.try_clone().unwrap();
        made.send([of_host(&hosts.hosts[0]), of_host(&hosts.hosts[1])])
            .unwrap();
        let mut forwarding = Forwarding::new(run, &mut hosts, RealClock::start());
        while !stopped.load(Ordering::Relaxed) {
            forwarding.turn().unwrap();
        }
        let lost = forwarding.not_taken + forwarding.malformed();
        let packets = forwarding.run.finish(None).unwrap().summary.packets;
        (packets as usize, lost)
    });
    let namespaces: [OwnedFd; 2] = namespaces.recv().unwrap();
    let (listens, listening) = channel();
    let sink = inside(&namespaces[1], move || {
        let listener = TcpListener::bind(SINK).unwrap();
        listens.send(()).unwrap();
        let mut received = Vec::new();
        listener
            .accept()
            .unwrap()
            .0
            .read_to_end(&mut received)
            .unwrap();
        (received, packets_received())
    });
    listening.recv().unwrap();
    let source = inside(&namespaces[0], || {
        TcpStream::connect(SINK).unwrap().write_all(&data())
    });
    source.join().unwrap().unwrap();
    let (received, at_sink) = sink.join().unwrap();
    stop.store(true, Ordering::Relaxed);
    let (in_world, lost) = world.join().unwrap();
    Transfer {
        received,
        at_sink,
        in_world,
        lost,
    }
}

/// Makes a real host for each port of a world, with its interface up.
fn hosts(run: &Run) -> Hosts {
    let make = |port: &baton_sim::world::ports::Port| {
        let mut host = RealHost::build(HostSpec {
            name: "test".to_owned(),
            interfaces: vec![InterfaceSpec {
                name: "wire".to_owned(),
                mtu: port.mtu,
                addresses: port.addresses.clone(),
            }],
            sysctls: Vec::new(),
            metrics: Vec::new(),
            group: 0,
        })
        .unwrap();
        host.raise(0).unwrap();
        host.set_default_route(0).unwrap();
        host
    };
    Hosts {
        hosts: run.world().ports().iter().map(make).collect(),
        places: vec![(0, 0), (1, 0)],
        of_node: vec![Some(0), Some(1)],
    }
}

/// Returns the packets that the calling thread's kernel has counted at its interface, one for each that it got at once.
fn packets_received() -> usize {
    let table = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let line = table
        .lines()
        .find_map(|line| line.trim().strip_prefix("wire:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn a_fast_link_carries_packets_of_the_mtu_and_joins_them_behind_it() {
    let found = transfer("rate = \"100 Gbit/s\"\ndelay = \"0 ms\"\nqueue = \"100000 packets\"");
    assert!(found.received == data(), "the bytes differ");
    let segments = BYTES.div_ceil(SEGMENT);
    assert!(found.in_world >= segments, "{} packets", found.in_world);
    assert!(found.at_sink < segments / 2, "{} packets", found.at_sink);
    assert_eq!(found.lost, 0);
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn behind_a_slow_link_the_kernel_gets_each_packet_by_itself() {
    let found = transfer("rate = \"50 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"30 packets\"");
    assert!(found.received == data(), "the bytes differ");
    let segments = BYTES.div_ceil(SEGMENT);
    assert!(found.in_world >= segments, "{} packets", found.in_world);
    assert!(found.at_sink >= segments, "{} packets", found.at_sink);
    assert_eq!(found.lost, 0);
}
