//! UDP sockets for tunnels, with this machine's kernel on the other side.

mod namespace;

use baton_linux::netlink::{InterfaceIndex, MAIN_TABLE, Prefix, Route, RouteSocket, Way};
use baton_linux::tun::Tun;
use baton_linux::udp::{Batch, ReceiveBuffer, UdpSocket, source_towards};
use namespace::{in_new_namespace, next_packet, numbered, raise, wait};
use netlink_packet_route::route::RouteMetric;
use nix::errno::Errno;
use nix::libc;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};

/// Expedited forwarding (RFC 3246) and ECT(0) (RFC 3168).
const CLASS: u8 = 0xb8 | 0b10;
/// Number of UDP in IP headers.
const UDP: u8 = 17;

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// Opens a namespace with the loopback interface only.
fn with_loopback(work: impl FnOnce() + Send + 'static) {
    in_new_namespace(|| {
        RouteSocket::open().unwrap().set_up(1, true).unwrap();
        work();
    });
}

/// Makes a TUN device with addresses, by which everything is sent; both routes' MTU is 1300 bytes.
fn device(kernel: &mut RouteSocket, name: &str, metric: u32, addresses: [&str; 2]) -> Tun {
    let tun = Tun::create(name).unwrap();
    let interface = raise(kernel, name, &addresses);
    set_routes(kernel, interface, metric);
    tun
}

fn set_routes(kernel: &mut RouteSocket, interface: InterfaceIndex, metric: u32) {
    for destination in [Prefix::ALL_IPV4, Prefix::ALL_IPV6] {
        let route = Route {
            destination,
            table: MAIN_TABLE,
            metric,
            way: Way::Device {
                interface,
                source: None,
                metrics: &[RouteMetric::Mtu(1300)],
            },
        };
        kernel.set_route(&route).unwrap();
    }
}

#[test]
#[ignore = "needs root: it makes a network namespace"]
fn datagrams_are_sent_and_received_several_at_once() {
    with_loopback(|| {
        for local in ["127.0.0.1:0", "[::1]:0"].map(address) {
            let sender = UdpSocket::open(local, None).unwrap();
            let receiver = UdpSocket::open(local, None).unwrap();
            let plain = std::net::UdpSocket::bind(local).unwrap();
            let bytes = numbered(60 * 1000 + 500);
            let to = receiver.local_address().unwrap();
            assert!(sender.send(to, CLASS, &bytes, 1000).unwrap());
            let (mut buffer, mut read, mut calls) = (ReceiveBuffer::default(), Vec::new(), 0);
            while read.len() < bytes.len() {
                wait(&receiver);
                let mut batch = receiver.receive(&mut buffer).unwrap().unwrap();
                assert_eq!(batch.sender, sender.local_address().unwrap());
                assert_eq!((batch.traffic_class, batch.segment), (CLASS, 1000));
                let lengths: Vec<usize> = batch.datagrams().map(|one| one.len()).collect();
                assert!(lengths.iter().rev().skip(1).all(|length| *length == 1000));
                read.extend_from_slice(batch.bytes);
                calls += 1;
            }
            assert_eq!(read, bytes);
            assert_eq!(calls, 1, "the kernel joins what was sent at once");
            assert!(receiver.receive(&mut buffer).unwrap().is_none());
            // A socket without these means gets them one by one.
            let to = plain.local_addr().unwrap();
            assert!(sender.send(to, CLASS, &bytes, 1000).unwrap());
            let mut one = [0; 2000];
            for expected in bytes.chunks(1000) {
                let length = plain.recv(&mut one).unwrap();
                assert_eq!(&one[..length], expected);
            }
        }
    });
}

#[test]
#[ignore = "needs root: it makes a network namespace"]
#[allow(unsafe_code)]
fn a_kernel_that_does_not_cut_gets_one_datagram_at_a_time() {
    with_loopback(|| {
        let local = address("127.0.0.1:0");
        let sender = UdpSocket::open(local, None).unwrap();
        // Without checksums nothing is cut: EINVAL.
        let on: libc::c_int = 1;
        let descriptor = sender.as_fd().as_raw_fd();
        // SAFETY: the option is an int, whose address and length are given.
        let set = unsafe {
            libc::setsockopt(
                descriptor,
                libc::SOL_SOCKET,
                libc::SO_NO_CHECK,
                (&raw const on).cast(),
                size_of_val(&on) as libc::socklen_t,
            )
        };
        assert_eq!(set, 0);
        let receiver = UdpSocket::open(local, None).unwrap();
        let to = receiver.local_address().unwrap();
        let bytes = numbered(2500);
        let mut buffer = ReceiveBuffer::default();
        for _ in 0..2 {
            assert!(sender.send(to, CLASS, &bytes, 1000).unwrap());
            for expected in bytes.chunks(1000) {
                wait(&receiver);
                let Batch { bytes, segment, .. } = receiver.receive(&mut buffer).unwrap().unwrap();
                assert_eq!((&*bytes, segment), (expected, expected.len()));
            }
        }
    });
}

#[test]
#[ignore = "needs root: it makes a network namespace"]
fn datagrams_leave_by_the_device_unfragmented_whatever_the_route_says() {
    in_new_namespace(|| {
        let mut kernel = RouteSocket::open().unwrap();
        let first = device(&mut kernel, "first", 1, ["192.0.2.1", "2001:db8::1"]);
        // Both are ways to everywhere, and the first is the better one.
        let second = device(&mut kernel, "second", 2, ["192.0.2.2", "2001:db8::2"]);
        for (local, to, headers) in [
            ("0.0.0.0:4191", "198.51.100.1:4191", 28),
            ("[::]:4191", "[2001:db8:1::1]:4191", 48),
        ] {
            let (local, to) = (address(local), address(to));
            let by_first = UdpSocket::open(local, Some("first")).unwrap();
            let by_second = UdpSocket::open(local, Some("second")).unwrap();
            for (socket, tun) in [(&by_first, &first), (&by_second, &second)] {
                let longest = numbered(1500 - headers);
                assert!(socket.send(to, CLASS, &longest, longest.len()).unwrap());
                let packet = next_packet(tun, UDP);
                assert_eq!(packet.len(), 1500);
                assert_eq!(packet[headers..], longest);
                if headers == 28 {
                    assert_eq!(
                        (packet[1], packet[6], packet[7]),
                        (CLASS, 0x40, 0),
                        "TOS, DF and no offset"
                    );
                } else {
                    let class = packet[0] << 4 | packet[1] >> 4;
                    assert_eq!((class, packet[6]), (CLASS, UDP));
                }
                // Several at once are cut for a device that cannot do it.
                let several = numbered(2500);
                assert!(socket.send(to, CLASS, &several, 1000).unwrap());
                for expected in several.chunks(1000) {
                    assert_eq!(next_packet(tun, UDP)[headers..], *expected);
                }
                // A byte more than the device carries.
                let longer = numbered(1501 - headers);
                let error = socket.send(to, CLASS, &longer, longer.len()).unwrap_err();
                assert_eq!(error.raw_os_error(), Some(Errno::EMSGSIZE as i32));
                let error = socket
                    .send(to, CLASS, &numbered(4000), 1501 - headers)
                    .unwrap_err();
                assert_eq!(error.raw_os_error(), Some(Errno::EMSGSIZE as i32));
            }
        }
        let error = UdpSocket::open(address("0.0.0.0:4191"), Some("third")).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::ENODEV as i32));
    });
}

/// The kernel drops a datagram over IPv6 without a checksum (RFC 8200, section 8.1) but for sockets that ask for it.
#[test]
#[ignore = "needs root: it makes a network namespace"]
fn datagrams_without_checksums_leave_and_arrive_damaged() {
    in_new_namespace(|| {
        let mut kernel = RouteSocket::open().unwrap();
        let tun = device(&mut kernel, "only", 1, ["192.0.2.1", "2001:db8::1"]);
        for (local, to, headers) in [
            ("0.0.0.0", "198.51.100.1:4191", 28),
            ("[::]", "[2001:db8:1::1]:4191", 48),
        ] {
            let to = address(to);
            let open = |port: u16| UdpSocket::open(address(&format!("{local}:{port}")), None);
            let (without, with) = (open(4191).unwrap(), open(4192).unwrap());
            without.leave_out_checksums().unwrap();
            let mut answers = [&with, &without].map(|socket| {
                assert!(socket.send(to, CLASS, &numbered(500), 500).unwrap());
                let packet = next_packet(&tun, UDP);
                let has_none = packet[headers - 2..headers] == [0, 0];
                assert_eq!(has_none, std::ptr::eq(socket, &without));
                returned(packet, headers)
            });
            for answer in &mut answers {
                answer[headers - 2..headers].fill(0);
                answer[headers + 77] ^= 0x10;
                tun.send(answer).unwrap();
            }
            wait(&without);
            let mut buffer = ReceiveBuffer::default();
            let batch = without.receive(&mut buffer).unwrap().unwrap();
            assert_eq!(*batch.bytes, answers[1][headers..]);
            let taken = with.receive(&mut buffer).unwrap().is_some();
            assert_eq!(taken, headers == 28);
        }
    });
}

/// Returns a datagram to where it came from; its checksums stay right.
fn returned(mut packet: Vec<u8>, headers: usize) -> Vec<u8> {
    let (addresses, length) = if headers == 28 { (12, 4) } else { (8, 16) };
    for (first, length) in [(addresses, length), (headers - 8, 2)] {
        let (one, other) = packet[first..first + 2 * length].split_at_mut(length);
        one.swap_with_slice(other);
    }
    packet
}

#[test]
#[ignore = "needs root: it makes a network namespace"]
fn a_network_that_cannot_be_reached_is_counted_and_no_failure() {
    in_new_namespace(|| {
        let mut kernel = RouteSocket::open().unwrap();
        let tun = device(&mut kernel, "uplink", 1, ["192.0.2.1", "2001:db8::1"]);
        let index = kernel.link("uplink").unwrap().index;
        for (local, to) in [
            ("0.0.0.0:0", "198.51.100.1:4191"),
            ("[::]:0", "[2001:db8:1::1]:4191"),
        ] {
            let socket = UdpSocket::open(address(local), Some("uplink")).unwrap();
            let send = || socket.send(address(to), 0, b"probe", 5).unwrap();
            assert!(send());
            assert_eq!(next_packet(&tun, UDP).len() % 20, 13);
            kernel.set_up(index, false).unwrap();
            assert!(!send());
            assert_eq!(socket.unreachable(), 1);
            let mut buffer = ReceiveBuffer::default();
            assert!(socket.receive(&mut buffer).unwrap().is_none());
            kernel.set_up(index, true).unwrap();
            raise(&mut kernel, "uplink", &["192.0.2.1", "2001:db8::1"]);
            set_routes(&mut kernel, index, 1);
            assert!(send());
            next_packet(&tun, UDP);
            assert_eq!(socket.unreachable(), 1);
        }
        // An address goes from under its socket.
        let source: IpAddr = "192.0.2.1".parse().unwrap();
        let socket = UdpSocket::open(SocketAddr::new(source, 0), None).unwrap();
        kernel.delete_address(index, source).unwrap();
        assert!(
            !socket
                .send(address("198.51.100.1:4191"), 0, b"probe", 5)
                .unwrap()
        );
        assert_eq!(socket.unreachable(), 1);
    });
}

#[test]
#[ignore = "needs root: it makes a network namespace"]
fn datagrams_that_find_a_socket_full_are_counted() {
    with_loopback(|| {
        let local = address("127.0.0.1:0");
        let sender = UdpSocket::open(local, None).unwrap();
        let receiver = UdpSocket::open(local, None).unwrap();
        let to = receiver.local_address().unwrap();
        let sent = 20_000;
        for _ in 0..sent {
            assert!(sender.send(to, 0, &[7; 1000], 1000).unwrap());
        }
        let (mut buffer, mut read) = (ReceiveBuffer::default(), 0);
        while let Some(mut batch) = receiver.receive(&mut buffer).unwrap() {
            read += batch.datagrams().count() as u32;
        }
        let dropped = receiver.dropped_unread().unwrap();
        assert!(dropped > 0);
        // The room for them is large where the test is root.
        assert!(read > 3_000, "{read}");
        assert_eq!(read + dropped, sent);
    });
}

#[test]
fn more_than_one_call_sends_is_refused() {
    let socket = UdpSocket::open(address("127.0.0.1:0"), None).unwrap();
    let to = socket.local_address().unwrap();
    for (length, segment) in [(65_001, 60_000), (65, 1), (1, 0)] {
        let error = socket.send(to, 0, &vec![0; length], segment).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput, "{error}");
    }
    assert!(UdpSocket::open(to, None).is_err(), "the port is taken");
}

#[test]
#[ignore = "needs root: it makes a network namespace"]
fn the_source_towards_a_peer_is_that_of_the_route_or_of_the_device_that_is_named() {
    in_new_namespace(|| {
        let mut kernel = RouteSocket::open().unwrap();
        let peers = ["198.51.100.1:4191", "[2001:db8:5::1]:4191"].map(address);
        for peer in peers {
            assert!(source_towards(peer, None).is_err(), "there is no route");
        }
        let _first = device(&mut kernel, "first", 1, ["192.0.2.1", "2001:db8::1"]);
        let _second = device(&mut kernel, "second", 2, ["192.0.2.2", "2001:db8::2"]);
        for (device, sources) in [
            (None, ["192.0.2.1", "2001:db8::1"]),
            (Some("second"), ["192.0.2.2", "2001:db8::2"]),
        ] {
            for (peer, source) in peers.into_iter().zip(sources) {
                let chosen = source_towards(peer, device).unwrap();
                assert_eq!(chosen, source.parse::<IpAddr>().unwrap());
            }
        }
    });
}
