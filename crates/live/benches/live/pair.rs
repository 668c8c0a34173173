//! Two real hosts, and what may stand between them: a bare copying thread, or a world.

use super::traffic::inside;
use baton_linux::netlink::RouteSocket;
use baton_linux::readiness::wait_readable;
use baton_linux::tun::Tun;
use baton_live::forwarding::{Forwarding, Hosts};
use baton_live::namespace::{HostSpec, InterfaceSpec, RealHost};
use baton_sim::run::{Run, RunOptions};
use baton_sim::scenario;
use nix::net::if_::if_nametoindex;
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Addresses of the two hosts: those that a world gives its first and its second node.
pub const ADDRESSES: [IpAddr; 2] = [
    IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)),
    IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2)),
];

/// A host with one interface, which is up.
pub fn host(name: &str, addresses: Vec<IpAddr>, mtu: u32) -> RealHost {
    let mut host = RealHost::build(HostSpec {
        name: name.to_owned(),
        interfaces: vec![InterfaceSpec {
            name: "wire".to_owned(),
            mtu,
            addresses,
        }],
        sysctls: Vec::new(),
        metrics: Vec::new(),
        group: 0,
    })
    .expect("a host can be made");
    host.raise(0).expect("its interface goes up");
    host.set_default_route(0).expect("it has a route");
    host
}

/// A host whose interface is a device without offloads: each packet crosses by itself, as in the model.
pub fn bare_host(address: IpAddr, mtu: u32) -> (OwnedFd, Tun) {
    let made = RealHost::build(HostSpec {
        name: "bare".to_owned(),
        interfaces: Vec::new(),
        sysctls: Vec::new(),
        metrics: Vec::new(),
        group: 0,
    });
    let namespace = made.expect("a host can be made").namespace;
    let device = inside(&namespace, move || {
        let tun = Tun::create("wire")?;
        let index = if_nametoindex("wire")?;
        let mut routes = RouteSocket::open()?;
        routes.set_queue_length(index, 20_000)?;
        routes.set_mtu(index, mtu)?;
        routes.set_up(index, true)?;
        routes.add_address(index, address)?;
        routes.set_default_route(index, address, &[])?;
        std::io::Result::Ok(tun)
    });
    let tun = device.join().expect("its thread ends");
    (namespace, tun.expect("a device can be made"))
}

/// Copies between two devices until told to stop: what any emulator in one thread must do at the least.
pub fn copy_until(devices: &[Tun; 2], stop: &AtomicBool) {
    let mut buffer = vec![0; 65_536];
    while !stop.load(Ordering::Relaxed) {
        let mut busy = false;
        for (from, to) in [(0, 1), (1, 0)] {
            for _ in 0..16 {
                let Ok(Some(length)) = devices[from].receive(&mut buffer) else {
                    break;
                };
                busy = true;
                let _ = devices[to].send(&buffer[..length]);
            }
        }
        if !busy {
            let waited = devices.each_ref().map(|device| device.as_fd());
            wait_readable(&waited, Duration::from_millis(10)).unwrap();
        }
    }
}

/// Losses under a world that are not the model's.
pub struct Outcome {
    /// Packets that were dropped and that the model did not drop.
    pub dropped: u64,
    /// Rows that the record could not keep up with.
    pub lost_rows: u64,
}

/// Works with the namespaces of two hosts while a world forwards between them over `link`, what stands in the
/// scenario's `[links.wire]`; `out` records everything there.
pub fn with_world<T>(
    link: &'static str,
    out: Option<PathBuf>,
    work: impl FnOnce(&[OwnedFd; 2]) -> T,
) -> (T, Outcome) {
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let (made, namespaces) = std::sync::mpsc::channel();
    let forwarder = thread::spawn(move || {
        baton_live::priority::raise();
        let mut world = World::new(link, out);
        let namespaces = core::mem::take(&mut world.namespaces);
        made.send(namespaces).expect("the bench waits");
        world.forward_until(&stopped)
    });
    let namespaces = namespaces.recv().expect("a world is made");
    let result = work(&namespaces.try_into().expect("there are two hosts"));
    stop.store(true, Ordering::Relaxed);
    (result, forwarder.join().expect("the forwarder ends"))
}

/// A world of one link between two real hosts.
struct World {
    run: Run,
    hosts: Hosts,
    namespaces: Vec<OwnedFd>,
}

impl World {
    fn new(link: &str, out: Option<PathBuf>) -> World {
        let record = out.is_some();
        let text = format!(
            "name = \"bench\"\nduration = \"3600 s\"\n[links.wire]\nbetween = [\"a\", \"b\"]\nkind = \"wired\"\n{link}\n\
             [live]\nhosts = [\"a\", \"b\"]\n[record]\nseries = {record}\npackets = {record}\n"
        );
        let loaded = scenario::parse(&text, "bench.toml", Path::new(""), &[]).expect("a scenario");
        let options = RunOptions {
            out,
            force: true,
            live: true,
            ..RunOptions::default()
        };
        let run = Run::new(loaded, &options).expect("a run");
        let hosts: Vec<RealHost> = run
            .world()
            .ports()
            .iter()
            .map(|port| host("bench", port.addresses.clone(), port.mtu))
            .collect();
        let namespaces = hosts
            .iter()
            .map(|host| {
                host.namespace
                    .try_clone()
                    .expect("a descriptor can be copied")
            })
            .collect();
        World {
            run,
            hosts: Hosts {
                hosts,
                places: vec![(0, 0), (1, 0)],
                of_node: vec![Some(0), Some(1)],
            },
            namespaces,
        }
    }

    fn forward_until(mut self, stop: &AtomicBool) -> Outcome {
        let mut forwarding = Forwarding::new(
            self.run,
            &mut self.hosts,
            baton_live::clock::RealClock::start(),
        );
        let mut quiet_turns = 0;
        while !stop.load(Ordering::Relaxed) {
            let busy = forwarding.turn().expect("forwarding goes on");
            quiet_turns = if busy { 0 } else { quiet_turns + 1 };
            if quiet_turns > 50 {
                forwarding
                    .rest(&[], baton_proto::time::Duration::from_millis(10))
                    .unwrap();
            }
        }
        let Forwarding { run, not_taken, .. } = forwarding;
        let lost_rows = run.lost_rows();
        run.finish(None).expect("the record is written");
        let outside: u64 = self
            .hosts
            .hosts
            .iter_mut()
            .map(|host| {
                let counters = host.counters().expect("counters are there");
                counters.dropped_incoming + counters.dropped_outgoing
            })
            .sum();
        Outcome {
            dropped: outside + not_taken,
            lost_rows,
        }
    }
}
