//! A network namespace of a test's own, and devices in it.
#![allow(dead_code, reason = "no file of tests needs all of it")]

use baton_linux::netlink::{InterfaceIndex, MAIN_TABLE, Prefix, Route, RouteSocket, Way};
use baton_linux::readiness::wait_readable;
use baton_linux::tun::Tun;
use nix::sched::{CloneFlags, setns, unshare};
use std::fs::File;
use std::net::{IpAddr, Ipv6Addr};
use std::os::fd::AsFd;
use std::panic::resume_unwind;
use std::time::{Duration, Instant};

/// A wait that takes longer hangs.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A network namespace. It lasts as long as this value, and what is in it: processes, devices, sockets.
pub struct Namespace(File);

impl Namespace {
    /// Makes a namespace in which the kernel is silent.
    pub fn new() -> Namespace {
        let made = std::thread::spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET).expect("root may make namespaces");
            std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1").unwrap();
            File::open("/proc/thread-self/ns/net").unwrap()
        });
        Namespace(made.join().unwrap())
    }

    /// Does `work` in the namespace.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let inside = scope.spawn(|| {
                setns(&self.0, CloneFlags::CLONE_NEWNET).expect("root may enter namespaces");
                work()
            });
            inside.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    }
}

/// Does `work` in a new network namespace, in which the kernel is silent.
pub fn in_new_namespace(work: impl FnOnce() + Send) {
    Namespace::new().run(work);
}

/// Waits until something can be read.
pub fn wait(descriptor: &impl AsFd) {
    let ready = wait_readable(&[descriptor.as_fd()], PATIENCE).unwrap();
    assert!(ready[0], "nothing comes");
}

/// Switches a device on and gives it addresses, which may be of IPv6, too.
pub fn raise(kernel: &mut RouteSocket, name: &str, addresses: &[&str]) -> InterfaceIndex {
    for (key, value) in [
        ("addr_gen_mode", "1"),
        ("router_solicitations", "0"),
        ("disable_ipv6", "0"),
    ] {
        std::fs::write(format!("/proc/sys/net/ipv6/conf/{name}/{key}"), value).unwrap();
    }
    let index = kernel.link(name).unwrap().index;
    kernel.set_up(index, true).unwrap();
    for address in addresses {
        let address: IpAddr = address.parse().unwrap();
        kernel.add_address(index, address).unwrap();
        if let IpAddr::V6(address) = address {
            wait_until_received(address);
        }
    }
    index
}

/// Waits until the kernel takes packets for its own address: it adds the local route a little after the address.
fn wait_until_received(address: Ipv6Addr) {
    /// Bit of a local route's flags (`RTF_LOCAL`).
    const LOCAL: u32 = 1 << 31;
    let destination = format!("{:032x} 80 ", u128::from(address));
    let begun = Instant::now();
    let is_local = || {
        let all = std::fs::read_to_string("/proc/thread-self/net/ipv6_route").unwrap();
        let mut lines = all.lines().filter(|line| line.starts_with(&destination));
        lines.any(|line| {
            let flags = line.split_whitespace().nth(8).unwrap();
            u32::from_str_radix(flags, 16).unwrap() & LOCAL != 0
        })
    };
    while !is_local() {
        assert!(begun.elapsed() < PATIENCE, "{address} has no local route");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Reads the next packet that holds something of a protocol, by its number: the kernel sends other ones, too.
pub fn next_packet(tun: &Tun, protocol: u8) -> Vec<u8> {
    let mut buffer = [0; 2000];
    loop {
        wait(tun);
        let Some(length) = tun.receive(&mut buffer).unwrap() else {
            continue;
        };
        if buffer[if buffer[0] >> 4 == 4 { 9 } else { 6 }] == protocol {
            return buffer[..length].to_vec();
        }
    }
}

/// Sends everything of an IP version out of a device.
pub fn lead(kernel: &mut RouteSocket, destination: Prefix, interface: u32) {
    let way = Way::Device {
        interface,
        source: None,
        metrics: &[],
    };
    let route = Route {
        destination,
        table: MAIN_TABLE,
        metric: 1,
        way,
    };
    kernel.set_route(&route).unwrap();
}

/// Lets this namespace's kernel forward, silently.
pub fn forward() {
    for (key, value) in [
        ("ipv4/ip_forward", "1"),
        ("ipv6/conf/all/forwarding", "1"),
        ("ipv4/conf/all/rp_filter", "0"),
        ("ipv4/conf/default/rp_filter", "0"),
    ] {
        std::fs::write(format!("/proc/sys/net/{key}"), value).unwrap();
    }
}

/// Reads how many frames a device has handed to the kernel of this thread's namespace.
pub fn frames_received(device: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let prefix = format!("{device}:");
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix(&prefix));
    let packets = line.unwrap().split_whitespace().nth(1).unwrap();
    packets.parse().unwrap()
}

/// Makes bytes of which no two pieces are alike.
pub fn numbered(length: usize) -> Vec<u8> {
    (0..length).map(|place| (place / 7 % 251) as u8).collect()
}
