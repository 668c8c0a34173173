use super::*;
use crate::mobility::packet;
use crate::packet::Payload;
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::{TcpHeader, TcpOptions};
use core::net::Ipv6Addr;

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

const NOW: Instant = Instant::ZERO;

fn tunnels() -> Tunnels {
    Tunnels::new(1500, false)
}

/// A packet of `length` bytes in total.
fn segment(length: u32, flags: TcpFlags) -> Packet {
    let header = TcpHeader {
        source_port: 80,
        destination_port: 4000,
        sequence: SequenceNumber(1),
        acknowledgment: SequenceNumber(1),
        flags,
        window: 1000,
        options: TcpOptions {
            maximum_segment_size: flags.contains(TcpFlags::SYN).then_some(1440),
            ..TcpOptions::default()
        },
    };
    let payload = Payload::Pattern {
        stream: 1,
        offset: 0,
        length: length - 40 - header.wire_length(),
    };
    let body = Body::Tcp(header, payload);
    packet(ip("2001:db8::1"), ip("2001:db8::2"), body)
}

fn ends(number: u16) -> (IpAddr, IpAddr) {
    let end = |side: u16| IpAddr::from([0x2001, 0xdb8, 1, side, 0, 0, 0, number]);
    (end(1), end(2))
}

#[test]
fn a_tunnelled_packet_is_forty_bytes_longer_and_comes_out_unchanged() {
    let inner = segment(1000, TcpFlags::ACK);
    let outer = tunnels().encapsulate(NOW, inner.clone(), ends(1), true);
    let outer = outer.expect("it fits");
    assert_eq!(outer.wire_length(), 1040);
    assert_eq!((outer.ip.source, outer.ip.destination), ends(1));
    let mut after = outer.decapsulate().expect("a tunnel");
    // RFC 2473 section 3.1: forwarding into the tunnel decrements the hop limit.
    assert_eq!(after.ip.hop_limit, inner.ip.hop_limit - 1);
    after.ip.hop_limit = inner.ip.hop_limit;
    assert_eq!(after, inner);
    let own = tunnels().encapsulate(NOW, inner.clone(), ends(1), false);
    assert_eq!(own.ok().and_then(Packet::decapsulate), Some(inner));
}

/// RFC 2003 section 3.1: the type of service is copied; RFC 2983 section 3.1, the uniform model.
#[test]
fn the_outer_header_has_the_traffic_class_of_the_inner_one() {
    let version_4 = (ip("192.0.2.1"), ip("192.0.2.2"));
    let of_version_4 = {
        let mut inner = segment(1000, TcpFlags::ACK);
        (inner.ip.source, inner.ip.destination) = (ip("10.1.0.7"), ip("192.0.2.9"));
        inner
    };
    for ((entry, exit), mut inner) in [
        (ends(1), segment(1000, TcpFlags::ACK)),
        (ends(1), of_version_4),
        (version_4, segment(1000, TcpFlags::ACK)),
    ] {
        inner.ip.traffic_class = 0xb8;
        let outer = tunnels().encapsulate(NOW, inner, (entry, exit), true);
        let mut bytes = Vec::new();
        outer.expect("it fits").encode(&mut bytes);
        let outer = Packet::decode(&bytes).expect("a packet");
        assert_eq!(outer.ip.traffic_class, 0xb8);
        let inner = outer.decapsulate().expect("a tunnel");
        assert_eq!(inner.ip.traffic_class, 0xb8);
    }
}

#[test]
fn a_packet_enters_no_tunnel_that_it_is_in_and_no_fifth() {
    let mut tunnels = tunnels();
    let mut packet = segment(100, TcpFlags::ACK);
    for number in 1..=4 {
        packet = tunnels
            .encapsulate(NOW, packet, ends(number), true)
            .expect("within the limit");
        for again in 1..=number {
            let refused = tunnels.encapsulate(NOW, packet.clone(), ends(again), true);
            assert_eq!(refused, Err(Refusal::Loop));
        }
    }
    let refused = tunnels.encapsulate(NOW, packet, ends(5), true);
    assert_eq!(refused, Err(Refusal::TooDeep));
    assert_eq!(
        (tunnels.refused().loops, tunnels.refused().too_deep),
        (10, 1)
    );
}

#[test]
fn the_last_hop_is_not_spent_on_a_tunnel() {
    let mut packet = segment(100, TcpFlags::ACK);
    packet.ip.hop_limit = 1;
    let refused = tunnels().encapsulate(NOW, packet.clone(), ends(1), true);
    assert_eq!(refused, Err(Refusal::HopLimit));
    assert!(tunnels().encapsulate(NOW, packet, ends(1), false).is_ok());
}

/// 1460 B fit into a tunnel over a path of 1500 B, 1420 B into two nested ones.
#[test]
fn a_path_of_1500_bytes_through_both_tunnels() {
    let mut tunnels = tunnels();
    let largest = tunnels.encapsulate(NOW, segment(1460, TcpFlags::ACK), ends(1), true);
    assert_eq!(largest.map(|outer| outer.wire_length()), Ok(1500));
    let refused = tunnels.encapsulate(NOW, segment(1461, TcpFlags::ACK), ends(1), true);
    assert!(matches!(refused, Err(Refusal::TooBig { mtu: 1460, .. })));
    // The second tunnel's entry informs the first one's, which informs the source.
    let mut outer = Tunnels::new(1500, false);
    let inside = tunnels
        .encapsulate(NOW, segment(1460, TcpFlags::ACK), ends(1), true)
        .expect("it fits");
    let refused = outer.encapsulate(NOW, inside, ends(2), true);
    let Err(Refusal::TooBig {
        mtu: 1460,
        quoted: Some(quoted),
    }) = refused
    else {
        panic!("{refused:?}");
    };
    let (error, source) = tunnels
        .handle_too_big(NOW, quoted, 1460)
        .expect("the packet inside is seen");
    assert_eq!(error, IcmpError::PacketTooBig { mtu: 1420 });
    assert_eq!(source.source, ip("2001:db8::1"));
    assert_eq!((source.source_port, source.destination_port), (80, 4000));
    let fits = tunnels
        .encapsulate(NOW, segment(1420, TcpFlags::ACK), ends(1), true)
        .expect("it fits");
    let fits = outer.encapsulate(NOW, fits, ends(2), true);
    assert_eq!(fits.map(|packet| packet.wire_length()), Ok(1500));
    // After ten minutes the path is probed again (RFC 8201 section 4).
    assert_eq!(tunnels.mtu(Instant::from_secs(599), ends(1).1), 1420);
    assert_eq!(tunnels.mtu(Instant::from_secs(601), ends(1).1), 1460);
}

#[test]
fn no_error_makes_a_tunnel_smaller_than_ipv6_allows_or_larger_than_it_is() {
    let mut tunnels = tunnels();
    let outer = tunnels.encapsulate(NOW, segment(1000, TcpFlags::ACK), ends(1), true);
    let quoted = outer.expect("it fits").quote().expect("not an error");
    for mtu in [9000, 0, 68, u32::MAX] {
        let told = tunnels.handle_too_big(NOW, quoted.clone(), mtu);
        let (IcmpError::PacketTooBig { mtu }, _) = told.expect("a source") else {
            panic!("another error");
        };
        assert!((1280..=1460).contains(&mtu), "{mtu}");
    }
    assert_eq!(tunnels.mtu(NOW, ends(1).1), 1280 - 40);
}

#[test]
fn errors_about_errors_are_not_sent() {
    let error = segment(1000, TcpFlags::ACK).quote().expect("not an error");
    let error = error_about(Ipv6Addr::LOCALHOST, IcmpError::TimeExceeded, error);
    let outer = tunnels().encapsulate(NOW, error, ends(1), true);
    let quoted = outer.expect("it fits").quote().expect("a tunnel");
    assert_eq!(tunnels().handle_too_big(NOW, quoted, 1300), None);
}

#[test]
fn the_segment_size_of_a_connection_is_lowered_to_what_the_tunnel_takes() {
    let mut clamping = Tunnels::new(1500, true);
    let size = |packet: Packet| match packet.decapsulate().map(|inner| inner.body) {
        Some(Body::Tcp(header, _)) => header.options.maximum_segment_size,
        _ => None,
    };
    let syn = segment(100, TcpFlags::SYN);
    let through = clamping.encapsulate(NOW, syn.clone(), ends(1), true);
    // 1460 less 40 of IPv6 and 20 of TCP.
    assert_eq!(through.ok().and_then(size), Some(1400));
    let through = tunnels().encapsulate(NOW, syn, ends(1), true);
    assert_eq!(through.ok().and_then(size), Some(1440));
}

/// A tunnel over 1500 B carries what its headers leave (RFC 2003 section 3.1, RFC 2004 section 3.1, RFC 2784 section 2),
/// also when an error inside it reports a smaller path.
#[test]
fn each_encapsulation_leaves_its_own_mtu() {
    let addresses = ["198.51.100.5", "192.0.2.10", "192.0.2.1", "203.0.113.1"].map(ip);
    let [source, home, agent, exit] = addresses;
    for (encapsulation, entry, added) in [
        (Encapsulation::IpInIp, agent, 20),
        (Encapsulation::Minimal, agent, 12),
        (Encapsulation::Minimal, source, 8),
        (Encapsulation::Generic, agent, 24),
    ] {
        let mut tunnels = tunnels();
        let ends = Ends {
            entry,
            exit,
            encapsulation,
        };
        // An IPv4 header is 20 bytes shorter.
        let of_length =
            |length: u32| packet(source, home, segment(length + 20, TcpFlags::ACK).body);
        let largest = 1500 - added;
        let fits = tunnels.encapsulate(NOW, of_length(largest), ends, true);
        let fits = fits.expect("fits");
        assert_eq!(fits.wire_length(), 1500, "{encapsulation:?}");
        let refused = tunnels.encapsulate(NOW, of_length(largest + 1), ends, true);
        assert!(
            matches!(refused, Err(Refusal::TooBig { mtu, .. }) if mtu == largest),
            "{encapsulation:?}: {refused:?}"
        );
        let quoted = fits.quote().expect("no error");
        let told = tunnels.handle_too_big(NOW, quoted, 1000);
        let (error, inner) = told.expect("the source");
        let expected = IcmpError::PacketTooBig { mtu: 1000 - added };
        assert_eq!(error, expected, "{encapsulation:?}");
        assert_eq!((inner.source, inner.destination), (source, home));
    }
}
