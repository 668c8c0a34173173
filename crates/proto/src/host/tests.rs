use super::*;
use crate::packet::Body;
use crate::tcp::State;
use crate::tcp::profile::Profile;
use crate::time::Duration;
use crate::wire::icmp::{IcmpMessage, QuotedWithin};
use core::net::Ipv4Addr;

fn address(last: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, last))
}

/// Returns a host with one interface, over which all packets go.
fn host(last: u8, mtu: u32) -> Host {
    let mut host = Host::new(address(last), [last; 16]);
    let interface = host.add_interface(mtu);
    host.routes_mut().set_default(Some(interface));
    host
}

fn sent(host: &mut Host, now: Instant) -> Vec<Packet> {
    std::iter::from_fn(|| {
        while host.poll_event().is_some() {}
        host.poll_transmit(now).map(|(_, packet)| packet)
    })
    .collect()
}

/// Exchanges packets without delay until neither host has more to send.
fn exchange(now: Instant, hosts: &mut [Host; 2]) -> Vec<HostEvent> {
    let mut events = Vec::new();
    loop {
        let mut quiet = true;
        for side in 0..2 {
            events.extend(std::iter::from_fn(|| hosts[side].poll_event()));
            while let Some((_, packet)) = hosts[side].poll_transmit(now) {
                quiet = false;
                hosts[1 - side].handle_packet(now, InterfaceId(0), packet);
            }
        }
        if quiet {
            return events;
        }
    }
}

#[test]
fn two_hosts_open_a_connection() {
    let mut hosts = [host(1, 1500), host(2, 1500)];
    let profile = Profile::named("rfc").unwrap();
    hosts[1].tcp_listen(80, profile.clone(), 1, None);
    let remote = Endpoint {
        address: address(2),
        port: 80,
    };
    let socket = hosts[0].tcp_connect(Instant::ZERO, remote, &profile, None);
    let events = exchange(Instant::ZERO, &mut hosts);
    assert_eq!(
        hosts[0].connection(socket).unwrap().state(),
        State::Established
    );
    assert!(
        events
            .iter()
            .any(|event| matches!(event, HostEvent::Accepted { port: 80, .. }))
    );
}

#[test]
fn a_full_backlog_refuses_and_a_failed_handshake_makes_room() {
    let mut server = host(2, 1500);
    let profile = Profile::named("rfc").unwrap();
    server.tcp_listen(80, profile.clone(), 1, None);
    let remote = Endpoint {
        address: address(2),
        port: 80,
    };
    let mut clients = [host(1, 1500), host(3, 1500), host(4, 1500)];
    let mut now = Instant::ZERO;
    for client in &mut clients[..2] {
        client.tcp_connect(now, remote, &profile, None);
        for syn in sent(client, now) {
            server.handle_packet(now, InterfaceId(0), syn);
        }
    }
    assert_eq!(
        sent(&mut server, now).len(),
        1,
        "one SYN ACK: the second SYN found the backlog full"
    );
    assert_eq!(server.discarded().backlog, 1);
    // Nobody answers the SYN ACK: it is retransmitted, given up, and its place is free again.
    while let Some(deadline) = server.poll_timeout() {
        now = deadline;
        server.handle_timeout(now);
        sent(&mut server, now);
    }
    clients[2].tcp_connect(now, remote, &profile, None);
    for syn in sent(&mut clients[2], now) {
        server.handle_packet(now, InterfaceId(0), syn);
    }
    assert_eq!(sent(&mut server, now).len(), 1);
}

fn route(router: &mut Host, packet: &mut Packet) -> Verdict {
    let length = packet.wire_length();
    router.route(Instant::ZERO, InterfaceId(0), packet, length)
}

#[test]
fn a_router_forwards_answers_for_what_it_cannot_and_counts_it() {
    let mut router = Host::new(address(9), [9; 16]);
    let wide = router.add_interface(1500);
    let narrow = router.add_interface(600);
    router.routes_mut().set(address(1), wide);
    router.routes_mut().set(address(2), narrow);
    let mut source = host(1, 1500);
    let mut datagram = |to: u8, length| {
        let payload = Payload::Pattern {
            stream: 0,
            offset: 0,
            length,
        };
        source.udp_send(
            5,
            Endpoint {
                address: address(to),
                port: 7,
            },
            payload,
            None,
        );
        sent(&mut source, Instant::ZERO).pop().unwrap()
    };
    let mut fits = datagram(2, 100);
    assert_eq!(route(&mut router, &mut fits), Verdict::Forward(narrow));
    assert_eq!(fits.ip.hop_limit, HOP_LIMIT - 1);
    let mut large = datagram(2, 1000);
    assert_eq!(route(&mut router, &mut large), Verdict::Discard);
    let mut lost = datagram(3, 100);
    assert_eq!(route(&mut router, &mut lost), Verdict::Discard);
    let mut old = datagram(2, 100);
    old.ip.hop_limit = 1;
    assert_eq!(route(&mut router, &mut old), Verdict::Discard);
    let errors: Vec<IcmpError> = sent(&mut router, Instant::ZERO)
        .into_iter()
        .filter_map(|packet| match packet.body {
            Body::Icmp(IcmpMessage::Error { kind, .. }) => Some(kind),
            _ => None,
        })
        .collect();
    let expected = [
        IcmpError::PacketTooBig { mtu: 600 },
        IcmpError::Unreachable,
        IcmpError::TimeExceeded,
    ];
    assert_eq!(errors, expected);
    let discarded = router.discarded();
    assert_eq!(
        (discarded.too_big, discarded.no_route, discarded.hop_limit),
        (1, 1, 1)
    );
}

#[test]
fn pings_are_answered_and_dead_ports_are_named() {
    let mut hosts = [host(1, 1500), host(2, 1500)];
    // Regardless of its data.
    let echo = Echo {
        data: Payload::Bytes((*b"anything").into()),
        ..Echo::counting(7, 3, 0)
    };
    hosts[0].ping(address(2), echo.clone(), None);
    hosts[0].udp_send(
        5,
        Endpoint {
            address: address(2),
            port: 9,
        },
        Payload::EMPTY,
        None,
    );
    let events = exchange(Instant::ZERO, &mut hosts);
    assert!(events.contains(&HostEvent::EchoReply { echo }));
    assert!(events.iter().any(|event| matches!(
        event,
        HostEvent::Undelivered { error: IcmpError::PortUnreachable, quoted } if quoted.destination_port == 9
    )));
}

#[test]
fn deadlines_come_out_of_the_heap_in_order() {
    let mut host = host(1, 1500);
    let profile = Profile::named("rfc").unwrap();
    let remote = Endpoint {
        address: address(2),
        port: 80,
    };
    let times = [0, 300, 700].map(Instant::from_millis);
    for now in times {
        host.tcp_connect(now, remote, &profile, None);
        sent(&mut host, now);
    }
    // RFC 6298 section 2.1: the first retransmission timeout is one second.
    for now in times {
        let deadline = now + Duration::from_secs(1);
        assert_eq!(host.poll_timeout(), Some(deadline));
        host.handle_timeout(deadline);
        assert_eq!(sent(&mut host, deadline).len(), 1);
    }
}

/// Returns a router's quotation of a packet that does not fit, as the packet's source reads it.
fn quoted_by_router(packet: Packet) -> QuotedPacket {
    let mut router = host(9, 1400);
    let kind = IcmpError::PacketTooBig { mtu: 1400 };
    let error = router.error_about(&packet, kind).expect("it is no error");
    assert_eq!(error.ip.destination, packet.ip.source);
    let mut bytes = Vec::new();
    error.encode(&mut bytes);
    let read = Packet::decode(&bytes).expect("a right error");
    assert_eq!(read.body, error.body);
    match read.body {
        Body::Icmp(IcmpMessage::Error { quoted, .. }) => quoted,
        other => panic!("no error: {other:?}"),
    }
}

#[test]
fn an_error_about_a_tunnel_tells_its_entry_whom_to_tell() {
    let mut sender = host(1, 1500);
    let wrap = |inner| {
        let outer = host(3, 1500).origin().packet(
            (address(3), address(4)),
            Body::Tunnel(Box::new(inner)),
            None,
        );
        quoted_by_router(outer)
    };
    let port = |host| Endpoint {
        address: address(host),
        port: 7,
    };
    sender.udp_send(5, port(2), Payload::EMPTY, None);
    let datagram = sent(&mut sender, Instant::ZERO).remove(0);
    let verbatim = {
        let mut bytes = Vec::new();
        datagram.encode(&mut bytes);
        Packet::verbatim(&bytes).expect("a right packet")
    };
    for inner in [datagram.clone(), verbatim] {
        let quoted = wrap(inner);
        assert_eq!((quoted.source, quoted.protocol), (address(3), 4));
        let Some(QuotedWithin::Tunnel(inner)) = quoted.within.as_deref() else {
            panic!("no tunnel: {quoted:?}");
        };
        assert_eq!((inner.source, inner.destination), (address(1), address(2)));
        assert_eq!((inner.source_port, inner.destination_port), (5, 7));
    }
    // The type of an ICMP error in the tunnel is visible: nothing may be sent about it (RFC 2003 section 4). Type 3 is
    // "destination unreachable", and code 3 means that nobody listens at the port (RFC 792).
    let error = host(2, 1500).error_about(&datagram, IcmpError::PortUnreachable);
    let quoted = wrap(error.expect("about a datagram"));
    let Some(QuotedWithin::Tunnel(inner)) = quoted.within.as_deref() else {
        panic!("no tunnel: {quoted:?}");
    };
    assert_eq!((inner.protocol, inner.source_port), (1, 0x0303));
}

#[test]
fn an_error_about_an_optimised_route_reaches_the_connection_at_home() {
    let [home, care_of, peer, gateway] =
        [1, 2, 3, 4].map(|last| core::net::Ipv6Addr::new(0x2001, 0xdb8, last, 0, 0, 0, 0, 1));
    let mut mobile = Host::new(home.into(), [1; 16]);
    let interface = mobile.add_interface(1500);
    mobile.routes_mut().set_default(Some(interface));
    let profile = Profile::named("rfc").unwrap();
    let remote = Endpoint {
        address: peer.into(),
        port: 80,
    };
    let socket = mobile.tcp_connect(Instant::ZERO, remote, &profile, None);
    let mut segment = sent(&mut mobile, Instant::ZERO).remove(0);
    segment.ip.source = care_of.into();
    segment.body = Body::Extended(Box::new(crate::packet::Extended {
        home_address: Some(home),
        routing_home_address: None,
        body: segment.body,
    }));
    let mut router = Host::new(gateway.into(), [4; 16]);
    let interface = router.add_interface(1400);
    router.routes_mut().set_default(Some(interface));
    let mut error = router
        .error_about(&segment, IcmpError::PortUnreachable)
        .expect("about a segment");
    // The error goes to the care-of address, which the mobile's layer removes.
    assert_eq!(error.ip.destination, IpAddr::V6(care_of));
    error.ip.destination = home.into();
    mobile.handle_packet(Instant::ZERO, InterfaceId(0), error);
    let event = HostEvent::Socket {
        socket,
        event: SocketEvent::Refused,
    };
    assert_eq!(mobile.poll_event(), Some(event));
}

/// A tunnel whose packets all leave by one interface.
#[derive(Debug)]
struct Through(InterfaceId);

impl Layer for Through {
    fn rank(&self) -> layer::Rank {
        layer::Rank::MobileNode
    }

    fn transmit(&mut self, _now: Instant, packet: Packet) -> layer::Transmitted {
        layer::Transmitted::Leaves(layer::Step::Send(self.0, packet))
    }
}

#[test]
fn what_a_kernel_wrote_passes_through_a_layer_that_its_route_leads_to() {
    let now = Instant::ZERO;
    let mut source = host(1, 1500);
    let remote = Endpoint {
        address: address(7),
        port: 7,
    };
    source.udp_send(5, remote, Payload::Bytes((*b"data").into()), None);
    let mut bytes = Vec::new();
    sent(&mut source, now)[0].encode(&mut bytes);
    let mut router = Host::new(address(9), [9; 16]);
    let inside = router.add_interface(1500);
    let outside = router.add_interface(1500);
    router.add_layer(Through(outside));
    let tunnel = layer::Rank::MobileNode.interface();
    router.routes_mut().set_default(Some(tunnel));
    let mut packet = Packet::verbatim(&bytes).unwrap();
    assert_eq!(route(&mut router, &mut packet), Verdict::Local);
    router.handle_packet(now, inside, packet);
    let (interface, passed) = router.poll_transmit(now).expect("it leaves");
    let mut left = Vec::new();
    passed.encode(&mut left);
    assert_eq!((interface, left), (outside, bytes));
    assert_eq!(router.discarded(), Discarded::default());
}
