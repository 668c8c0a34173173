//! A network namespace of a test's own, and devices in it.
#![allow(dead_code, reason = "no file of tests needs all of it")]

use baton_linux::netlink::{InterfaceIndex, RouteSocket};
use baton_linux::readiness::wait_readable;
use baton_linux::tun::Tun;
use nix::sched::{CloneFlags, setns, unshare};
use std::fs::File;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::panic::resume_unwind;
use std::time::Duration;

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
    }
    index
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
