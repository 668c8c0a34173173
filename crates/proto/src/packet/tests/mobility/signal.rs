//! Message names of the standards, with the values given to scapy.

use super::*;
use crate::wire::dhcp::{Dhcp, DhcpKind};
use crate::wire::mobile_ipv4::{Code, Message, Purpose, Reply, Request, RequestFlags};

/// Returns the name and the details.
fn signal(hexadecimal: &str) -> (&'static str, String) {
    let signal = decode(hexadecimal).signal().expect("a signal");
    assert!(!signal.tunnelled);
    (signal.name, signal.details)
}

#[test]
fn messages_are_called_as_in_their_standards() {
    for (bytes, name, details) in [
        (ROUTER_SOLICITATION, "Router Solicitation", ""),
        (
            ROUTER_ADVERTISEMENT,
            "Router Advertisement",
            "prefix 2001:db8:1::/64, prefix 2001:db8:7::/48",
        ),
        (
            DETECTION,
            "Neighbor Solicitation",
            "target 2001:db8:1::100, duplicate address detection",
        ),
        (
            NEIGHBOR_SOLICITATION,
            "Neighbor Solicitation",
            "target 2001:db8:1::1",
        ),
        (
            NEIGHBOR_ADVERTISEMENT,
            "Neighbor Advertisement",
            "target 2001:db8:1::1",
        ),
        (REFRESH_REQUEST, "Binding Refresh Request", ""),
        (HOME_TEST_INIT, "Home Test Init", ""),
        (CARE_OF_TEST_INIT, "Care-of Test Init", ""),
        (HOME_TEST, "Home Test", "nonce index 513"),
        (CARE_OF_TEST, "Care-of Test", "nonce index 514"),
        (
            BUFFERING_UPDATE,
            "Binding Update",
            "sequence 65535, care-of address 2001:db8:2::100, lifetime 420 s, buffer",
        ),
        (
            REFUSAL,
            "Binding Acknowledgement",
            "sequence 7, refused (status 135), lifetime 0 s",
        ),
        (BINDING_ERROR, "Binding Error", "unknown binding"),
    ] {
        assert_eq!(signal(bytes), (name, details.to_owned()));
    }
    let (name, details) = signal(REPORT);
    assert_eq!(name, "Multicast Listener Report");
    assert!(
        details.starts_with("listens to ff02::1:ff00:100, leaves ff02::1:ff00:1"),
        "{details}"
    );
    // Without an alternate care-of address, the source; not the home address of the option.
    let (_, details) = signal(CORRESPONDENT_UPDATE);
    assert!(
        details.contains("care-of address 2001:db8:2::100,"),
        "{details}"
    );
}

#[test]
fn a_signal_in_a_tunnel_says_so_and_data_is_none() {
    let mut outer = decode(TUNNEL_6_IN_6);
    assert_eq!(outer.signal(), None);
    outer.body = Body::Tunnel(Box::new(decode(HOME_TEST_INIT)));
    let inner = outer.signal().unwrap();
    assert_eq!((inner.name, inner.tunnelled), ("Home Test Init", true));
    for data in [SYN, PING, PING_V6, UNREACHABLE_V6, OPTIMISED_UP] {
        assert_eq!(decode(data).signal(), None);
    }
}

/// Returns an IPv4 datagram with this payload.
fn datagram(ports: (u16, u16), bytes: Vec<u8>) -> Packet {
    let mut packet = decode(UDP);
    let header = UdpHeader {
        source_port: ports.0,
        destination_port: ports.1,
    };
    packet.body = Body::Udp(header, Payload::Bytes(bytes.into()));
    packet
}

#[test]
fn registrations_and_leases_are_read_from_their_datagrams() {
    let [home_address, agent, care_of_address] =
        [1, 2, 3].map(|last| Ipv4Addr::new(10, 0, 0, last));
    let request = Message::from(Request {
        purpose: Purpose::Home,
        flags: RequestFlags::default(),
        lifetime: 300,
        home_address,
        agent,
        care_of_address,
        identification: 1,
    });
    let reply = Message::from(Reply {
        purpose: Purpose::Regional,
        code: Code::HOME_MOBILE_AUTHENTICATION,
        lifetime: 60,
        home_address,
        agent,
        identification: 1,
    });
    let offer = Dhcp {
        kind: DhcpKind::Offer,
        transaction: 1,
        client: [0; 6],
        address: care_of_address,
        requested: None,
        server: None,
        lease: None,
        prefix_length: None,
    };
    for (ports, bytes, name, details) in [
        (
            (1024, 434),
            request.encode(),
            "Registration Request",
            "care-of address 10.0.0.3, lifetime 300 s",
        ),
        (
            (434, 1024),
            reply.encode(),
            "Regional Registration Reply",
            "home agent: mobile node failed authentication (code 131), lifetime 60 s",
        ),
        ((67, 68), offer.encode(), "DHCP Offer", "address 10.0.0.3"),
    ] {
        let signal = datagram(ports, bytes).signal().unwrap();
        assert_eq!((signal.name, signal.details.as_str()), (name, details));
    }
    assert_eq!(datagram((1024, 434), vec![1, 2, 3]).signal(), None);
    assert_eq!(datagram((1024, 435), request.encode()).signal(), None);
}
