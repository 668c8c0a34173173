//! Addresses, routes and rules as a mobile router sets and watches them, with this machine's kernel as the judge.

mod namespace;

use baton_linux::addresses::{AddressChange, AddressMonitor, InterfaceAddress};
use baton_linux::netlink::{MAIN_TABLE, Prefix, Route, RouteSocket, Rule, Way};
use baton_linux::tun::Tun;
use namespace::{forward, in_new_namespace, next_packet, raise, wait};
use std::net::{IpAddr, UdpSocket};
use std::process::Command;

/// The table of what comes from the mobile network.
const TABLE: u32 = 4_191;
/// A number in IP headers of no protocol (RFC 3692).
const EXPERIMENT: u8 = 253;
/// Number of UDP in IP headers.
const UDP: u8 = 17;

/// An IP packet without a payload: it ends with its destination.
fn packet(from: IpAddr, to: IpAddr) -> Vec<u8> {
    let mut bytes = Vec::new();
    match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            bytes.extend([0x45, 0, 0, 20, 0, 0, 0, 0, 64, EXPERIMENT, 0, 0]);
            bytes.extend(from.octets());
            bytes.extend(to.octets());
            let sum: u32 = bytes
                .chunks(2)
                .map(|two| u32::from(two[0]) << 8 | u32::from(two[1]))
                .sum();
            let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
            bytes[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            bytes.extend([0x60, 0, 0, 0, 0, 0, EXPERIMENT, 64]);
            bytes.extend(from.octets());
            bytes.extend(to.octets());
        }
        _ => unreachable!("two IP versions"),
    }
    bytes
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

#[test]
fn a_prefix_holds_no_bits_of_a_host() {
    for (address, length, expected) in [
        ("10.11.12.13", 24, Some("10.11.12.0")),
        ("10.11.12.13", 32, Some("10.11.12.13")),
        ("10.11.12.13", 0, Some("0.0.0.0")),
        ("10.11.12.13", 33, None),
        ("2001:db8:f00::1", 36, Some("2001:db8::")),
        ("2001:db8::1", 128, Some("2001:db8::1")),
        ("2001:db8::1", 0, Some("::")),
        ("2001:db8::1", 129, None),
    ] {
        let expected = expected.map(|expected| Prefix::of(ip(expected), length).unwrap());
        assert_eq!(Prefix::of(ip(address), length), expected);
    }
    assert_eq!(Prefix::of(ip("10.1.2.3"), 0), Some(Prefix::ALL_IPV4));
    assert_ne!(
        Prefix::of(ip("10.1.2.3"), 16),
        Prefix::of(ip("10.1.0.0"), 15)
    );
}

#[test]
#[ignore = "needs root: it makes a network namespace"]
fn what_comes_from_the_mobile_network_leaves_by_the_tunnel_or_not_at_all() {
    in_new_namespace(|| {
        forward();
        let mut kernel = RouteSocket::open().unwrap();
        let mut device = |name: &str, addresses: &[&str]| {
            let tun = Tun::create(name).unwrap();
            (tun, raise(&mut kernel, name, addresses))
        };
        let uplink = device("uplink", &["192.0.2.1", "2001:db8::1"]);
        let tunnel = device("tunnel", &[]);
        let first = device("first", &["10.1.0.1", "2001:db8:1::1"]);
        let second = device("second", &["10.1.1.1", "2001:db8:1:1::1"]);
        for (hosts, subnet_bits, correspondent) in [
            (["10.1.0.2", "10.1.1.2"], 24, "198.51.100.1"),
            (["2001:db8:1::2", "2001:db8:1:1::2"], 64, "2001:db8:9::1"),
        ] {
            let ([host, other], correspondent) = (hosts.map(ip), ip(correspondent));
            let route = |destination, table, index| Route {
                destination,
                table,
                metric: 100,
                way: Way::Device {
                    interface: index,
                    source: None,
                    metrics: &[],
                },
            };
            let subnet = |host| Prefix::of(host, subnet_bits).unwrap();
            let all = Prefix::all(host);
            let tunnelled = route(all, TABLE, tunnel.1);
            let refused = Route {
                metric: 200,
                way: Way::Unreachable,
                ..tunnelled
            };
            let from = Prefix::of(host, subnet_bits - 8).unwrap();
            let out = Rule {
                priority: 1000,
                from,
                incoming: Some("first"),
                protocol: None,
                table: TABLE,
                suppressed_length: None,
            };
            let within = Rule {
                priority: 999,
                incoming: None,
                table: MAIN_TABLE,
                suppressed_length: Some(0),
                ..out
            };
            // Each twice: one that is there is as it should be.
            for _ in 0..2 {
                for route in [
                    route(all, MAIN_TABLE, uplink.1),
                    route(subnet(host), MAIN_TABLE, first.1),
                    route(subnet(other), MAIN_TABLE, second.1),
                    refused,
                    tunnelled,
                ] {
                    kernel.set_route(&route).unwrap();
                }
                kernel.add_rule(&out).unwrap();
                kernel.add_rule(&within).unwrap();
            }
            let forward = |to| assert!(first.0.send(&packet(host, to)).unwrap());
            let arrives = |device: &Tun, to| {
                let packet = next_packet(device, EXPERIMENT);
                assert!(packet.ends_with(&octets(to)), "{packet:?}");
            };
            forward(correspondent);
            arrives(&tunnel.0, correspondent);
            // Between subnets packets stay inside: only default routes are passed over.
            forward(other);
            arrives(&second.0, other);
            // The router's own leave by the uplink.
            let any = (if host.is_ipv4() { "0.0.0.0" } else { "::" }, 0);
            let own = UdpSocket::bind(any).unwrap();
            own.send_to(b"own", (correspondent, 4191)).unwrap();
            assert!(next_packet(&uplink.0, UDP).ends_with(b"own"));
            // Without the tunnel nothing leaves in plain: the host is told.
            kernel.delete_route(&tunnelled).unwrap();
            kernel.delete_route(&tunnelled).unwrap();
            forward(correspondent);
            let (protocol, header, no_route) = if host.is_ipv4() {
                // Host unreachable (RFC 792).
                (1, 20, [3, 1])
            } else {
                // No route to destination (RFC 4443 section 3.1).
                (58, 40, [1, 0])
            };
            let told = next_packet(&first.0, protocol);
            assert_eq!(told[header..header + 2], no_route);
            // Without the rule, the main table is asked.
            kernel.delete_rule(&out).unwrap();
            kernel.delete_rule(&out).unwrap();
            forward(correspondent);
            arrives(&uplink.0, correspondent);
        }
    });
}

/// Runs iproute2, as another program would set addresses.
fn run_ip(arguments: &str) -> String {
    let arguments = arguments.split_whitespace();
    let output = Command::new("ip").args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Reads changes up to one that changes something: some are told twice.
fn next_change(monitor: &mut AddressMonitor, last: &mut Option<AddressChange>) -> AddressChange {
    loop {
        match monitor.poll().unwrap() {
            Some(change) if *last != Some(change) => {
                *last = Some(change);
                return change;
            }
            Some(_) => {}
            None => wait(monitor),
        }
    }
}

#[test]
#[ignore = "needs root: it makes a network namespace"]
fn the_monitor_tells_of_addresses_as_soon_as_they_can_be_used() {
    if Command::new("ip").arg("-V").output().is_err() {
        println!("skipped: there is no iproute2");
        return;
    }
    in_new_namespace(|| {
        let mut kernel = RouteSocket::open().unwrap();
        let _tun = Tun::create("ppp").unwrap();
        let interface = raise(&mut kernel, "ppp", &["192.0.2.1"]);
        let at = |interface, address| InterfaceAddress {
            interface,
            address: ip(address),
        };
        let is = |address| AddressChange::Is(at(interface, address));
        let gone = |address| AddressChange::Gone(at(interface, address));
        run_ip("address add fe80::1 dev ppp");
        run_ip("address add 169.254.0.1/16 dev ppp");
        let mut monitor = AddressMonitor::open().unwrap();
        // The first is there from the beginning; those of the link are not told of, nor those of the machine.
        kernel.set_up(1, true).unwrap();
        let mut last = None;
        let mut next = |monitor: &mut AddressMonitor| next_change(monitor, &mut last);
        assert_eq!(next(&mut monitor), is("192.0.2.1"));
        run_ip("address add 192.0.2.2 peer 192.0.2.254 dev ppp");
        assert_eq!(next(&mut monitor), is("192.0.2.2"));
        run_ip("address add 2001:db8::1/64 dev ppp");
        assert_eq!(next(&mut monitor), is("2001:db8::1"));
        run_ip("address change 2001:db8::1/64 dev ppp preferred_lft 0 valid_lft 60");
        assert_eq!(next(&mut monitor), gone("2001:db8::1"));
        run_ip("address change 2001:db8::1/64 dev ppp preferred_lft 30 valid_lft 60");
        assert_eq!(next(&mut monitor), is("2001:db8::1"));
        for _ in 0..2 {
            kernel.delete_address(interface, ip("192.0.2.1")).unwrap();
        }
        assert_eq!(next(&mut monitor), gone("192.0.2.1"));
        // One that others may have: RFC 4862 section 5.4.
        run_ip("link add left type veth peer name right");
        raise(&mut kernel, "right", &[]);
        let left = raise(&mut kernel, "left", &[]);
        std::fs::write("/proc/sys/net/ipv6/conf/left/dad_transmits", "3").unwrap();
        run_ip("address add 2001:db8:1::1/64 dev left");
        assert_eq!(monitor.poll().unwrap(), None, "it is not usable yet");
        assert!(run_ip("address show dev left tentative").contains("2001:db8:1::1"));
        let is = AddressChange::Is(at(left, "2001:db8:1::1"));
        assert_eq!(next(&mut monitor), is);
        assert!(!run_ip("address show dev left tentative").contains("2001:db8:1::1"));
        // The device takes its addresses along.
        run_ip("link delete left");
        let gone = AddressChange::Gone(at(left, "2001:db8:1::1"));
        assert_eq!(next(&mut monitor), gone);
        assert_eq!(monitor.missed(), 0);
    });
}
