//! Devices of this machine's kernel, in a network namespace of the test's own.

mod namespace;

use baton_linux::links::{LinkChange, LinkMonitor};
use baton_linux::netlink::RouteSocket;
use baton_linux::packet_socket::PacketSocket;
use baton_linux::readiness::wait_readable;
use baton_linux::tun::Tun;
use namespace::{in_new_namespace, wait};
use std::os::fd::AsFd;
use std::time::Duration;

/// An IPv6 packet without a payload (next header 59), its hop limit a number to tell it by.
fn packet(number: u8) -> Vec<u8> {
    let mut bytes = vec![0; 40];
    bytes[0] = 6 << 4;
    bytes[6] = 59;
    bytes[7] = number;
    for (place, address) in [(8, "2001:db8::1"), (24, "ff02::1")] {
        let address: std::net::Ipv6Addr = address.parse().unwrap();
        bytes[place..place + 16].copy_from_slice(&address.octets());
    }
    bytes
}

/// The state of an interface by the next change that tells of it: up or not; `None` if it is gone.
fn next_state(monitor: &mut LinkMonitor, index: u32) -> Option<bool> {
    loop {
        match monitor.poll().unwrap() {
            Some(LinkChange::Is(link)) if link.index == index => return Some(link.is_up),
            Some(LinkChange::Gone(gone)) if gone == index => return None,
            Some(_) => {}
            None => wait(monitor),
        }
    }
}

/// Reads changes until the interface is as wanted.
fn until(monitor: &mut LinkMonitor, index: u32, wanted: Option<bool>) {
    while next_state(monitor, index) != wanted {}
}

#[test]
#[ignore = "needs root: it makes a network namespace"]
fn the_two_ends_of_a_device_hear_each_other_and_not_themselves() {
    in_new_namespace(|| {
        let tun = Tun::create("air").unwrap();
        let mut kernel = RouteSocket::open().unwrap();
        let link = kernel.link("air").unwrap();
        assert!(!link.is_up && !link.has_link_address, "{link:?}");
        assert_eq!((link.name.as_str(), link.mtu), ("air", 1500));
        let socket = PacketSocket::open(link.index).unwrap();
        let mut buffer = [0; 2000];
        assert!(!tun.send(&packet(1)).unwrap(), "the device is off");
        assert!(!socket.send(&packet(1)).unwrap(), "the device is off");
        kernel.set_up(link.index, true).unwrap();
        // Another socket's packets leave, too, and the sockets beside it do not read them.
        let beside = PacketSocket::open(link.index).unwrap();
        for (sender, number) in [(&socket, 2), (&beside, 3)] {
            assert!(sender.send(&packet(number)).unwrap());
            wait(&tun);
            let length = tun.receive(&mut buffer).unwrap().unwrap();
            assert_eq!(buffer[..length], packet(number));
        }
        assert!(tun.send(&packet(4)).unwrap());
        for socket in [&socket, &beside] {
            wait(socket);
            let length = socket.receive(&mut buffer).unwrap().unwrap();
            assert_eq!(buffer[..length], packet(4));
            assert_eq!(socket.receive(&mut buffer).unwrap(), None);
        }
        // Off and on again, it is as it was.
        kernel.set_up(link.index, false).unwrap();
        assert_eq!(socket.receive(&mut buffer).unwrap(), None);
        assert!(!socket.send(&packet(5)).unwrap());
        kernel.set_up(link.index, true).unwrap();
        assert!(socket.send(&packet(6)).unwrap());
        wait(&tun);
        assert_eq!(tun.receive(&mut buffer).unwrap(), Some(40));
        assert_eq!(buffer[7], 6);
    });
}

#[test]
#[ignore = "needs root: it makes a network namespace"]
fn packets_that_find_a_socket_full_are_counted_once() {
    in_new_namespace(|| {
        let tun = Tun::create("air").unwrap();
        let mut kernel = RouteSocket::open().unwrap();
        let index = kernel.link("air").unwrap().index;
        kernel.set_up(index, true).unwrap();
        let socket = PacketSocket::open(index).unwrap();
        let sent = 20_000;
        for _ in 0..sent {
            assert!(tun.send(&packet(7)).unwrap());
        }
        let mut buffer = [0; 2000];
        let mut read = 0;
        while socket.receive(&mut buffer).unwrap().is_some() {
            read += 1;
        }
        let dropped = socket.take_dropped().unwrap();
        assert!(dropped > 0);
        assert_eq!(read + dropped, sent);
        assert_eq!(socket.take_dropped().unwrap(), 0);
    });
}

#[test]
#[ignore = "needs root: it makes a network namespace"]
fn packets_that_find_a_device_full_are_counted_once() {
    in_new_namespace(|| {
        let tun = Tun::create("air").unwrap();
        let mut kernel = RouteSocket::open().unwrap();
        let index = kernel.link("air").unwrap().index;
        kernel.set_queue_length(index, 10).unwrap();
        kernel.set_up(index, true).unwrap();
        let socket = PacketSocket::open(index).unwrap();
        let sent = 1_000;
        // A full device is no error, whether the kernel says so or only drops.
        let refused = (0..sent).filter(|_| !socket.send(&packet(7)).unwrap());
        let refused = refused.count() as u64;
        let mut buffer = [0; 2000];
        let mut read = 0;
        while tun.receive(&mut buffer).unwrap().is_some() {
            read += 1;
        }
        let dropped = kernel.counters(index).unwrap().dropped_outgoing;
        assert!(dropped > 0 && refused <= dropped, "{refused} of {dropped}");
        assert_eq!(read + dropped, sent);
    });
}

#[test]
#[ignore = "needs root: it makes a network namespace"]
fn a_device_that_is_gone_takes_and_gives_nothing_more() {
    in_new_namespace(|| {
        let tun = Tun::create("air").unwrap();
        let mut kernel = RouteSocket::open().unwrap();
        let index = kernel.link("air").unwrap().index;
        kernel.set_up(index, true).unwrap();
        let socket = PacketSocket::open(index).unwrap();
        drop(tun);
        let mut buffer = [0; 2000];
        assert_eq!(socket.receive(&mut buffer).unwrap(), None);
        assert!(!matches!(socket.send(&packet(1)), Ok(true)));
        // Nothing is left to wait for, so that nobody turns in a circle.
        let ready = wait_readable(&[socket.as_fd()], Duration::ZERO).unwrap();
        assert_eq!(ready, [false]);
        assert!(kernel.link("air").is_err() && kernel.counters(index).is_err());
    });
}

#[test]
#[ignore = "needs root: it makes a network namespace"]
fn the_monitor_tells_of_all_interfaces_and_then_of_changes() {
    in_new_namespace(|| {
        let mut kernel = RouteSocket::open().unwrap();
        let first = Tun::create("first").unwrap();
        let one = kernel.link("first").unwrap().index;
        kernel.set_up(one, true).unwrap();
        let mut monitor = LinkMonitor::open().unwrap();
        assert_eq!(next_state(&mut monitor, one), Some(true));
        kernel.set_up(one, false).unwrap();
        until(&mut monitor, one, Some(false));
        kernel.set_up(one, true).unwrap();
        until(&mut monitor, one, Some(true));
        // One that comes and goes later.
        let second = Tun::create("second").unwrap();
        let two = kernel.link("second").unwrap().index;
        until(&mut monitor, two, Some(false));
        drop(second);
        until(&mut monitor, two, None);
        assert_eq!(monitor.missed(), 0);
        // More changes than the socket holds: what is there in the end is told all the same, and what is gone.
        for turn in 0..5_000 {
            kernel.set_up(one, turn % 2 == 1).unwrap();
        }
        let third = Tun::create("third").unwrap();
        let three = kernel.link("third").unwrap().index;
        drop(first);
        until(&mut monitor, three, Some(false));
        until(&mut monitor, one, None);
        assert!(monitor.missed() > 0);
        drop(third);
    });
}
