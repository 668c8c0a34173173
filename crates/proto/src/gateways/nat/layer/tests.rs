//! A router with a translator, tested by packets in transit and by its own.

use super::*;
use crate::gateways::nat::tests::{NOW, addresses, datagram, nat, packet, read, written};
use crate::host::{Host, Staying, Verdict};
use crate::packet::{Body, FlowId, Payload};
use crate::tcp::Endpoint;
use crate::wire::icmp::{Echo, IcmpError, IcmpMessage};
use core::net::IpAddr;

/// The router's interfaces: to the host inside, to the network, and to a network without a translator.
const INSIDE: InterfaceId = InterfaceId(0);
const NETWORK: InterfaceId = InterfaceId(1);
const BESIDE: InterfaceId = InterfaceId(2);

/// Addresses of the router, and of a host at its third interface.
fn others(v6: bool) -> [IpAddr; 2] {
    let texts = match v6 {
        false => ["10.0.0.1", "192.0.2.7"],
        true => ["fd00::1", "2001:db8:7::7"],
    };
    texts.map(|text| text.parse().expect("an address"))
}

fn router() -> Host {
    let mut router = Host::new(others(false)[0], [1; 16]);
    router.add_address(others(true)[0]);
    for interface in [INSIDE, NETWORK, BESIDE] {
        assert_eq!(router.add_interface(1500), interface);
    }
    for v6 in [false, true] {
        let [translator, inside, server] = addresses(v6);
        let routes = router.routes_mut();
        routes.set(translator, INSIDE);
        routes.set(inside, INSIDE);
        routes.set(server, NETWORK);
        routes.set(others(v6)[1], BESIDE);
    }
    router.add_layer(Translator::new(INSIDE, nat()));
    router
}

fn route(router: &mut Host, interface: InterfaceId, packet: &mut Packet) -> Verdict {
    let length = packet.wire_length();
    router.route(NOW, interface, packet, length)
}

fn refused(router: &Host) -> Refused {
    router
        .layer::<Translator>()
        .expect("a translator")
        .refused()
}

/// Sends from port 5555 of the inside host, which from then on has outside port 2000.
fn open(router: &mut Host, v6: bool) -> Packet {
    let [_, inside, server] = addresses(v6);
    let mut out = written(&packet(inside, server, datagram(5555, 443, b"hello")));
    let verdict = route(router, INSIDE, &mut out);
    assert_eq!(verdict, Verdict::Forward(NETWORK));
    out
}

#[test]
fn what_passes_its_interface_is_translated_and_nothing_else() {
    for v6 in [false, true] {
        let [translator, inside, server] = addresses(v6);
        let beside = others(v6)[1];
        let mut router = router();
        let sent = read(&open(&mut router, v6));
        assert_eq!((sent.ip.source, sent.ip.hop_limit), (translator, 8));
        assert_eq!(sent.body, datagram(2000, 443, b"hello"));
        let mut back = written(&packet(server, translator, datagram(443, 2000, b"world")));
        let verdict = route(&mut router, NETWORK, &mut back);
        assert_eq!(verdict, Verdict::Forward(INSIDE));
        let received = read(&back);
        assert_eq!(
            (received.ip.destination, received.ip.hop_limit),
            (inside, 8)
        );
        assert_eq!(received.body, datagram(443, 5555, b"world"));
        for (from, to, came, leaves) in [
            (beside, server, BESIDE, NETWORK),
            (server, beside, NETWORK, BESIDE),
        ] {
            let mut passing = written(&packet(from, to, datagram(5555, 443, b"hello")));
            let verdict = route(&mut router, came, &mut passing);
            assert_eq!(verdict, Verdict::Forward(leaves));
            let passed = read(&passing);
            assert_eq!((passed.ip.source, passed.ip.destination), (from, to));
            assert_eq!(passed.body, datagram(5555, 443, b"hello"));
        }
        assert_eq!(refused(&router).total(), 0);
    }
}

#[test]
fn what_it_refuses_ends_there_and_nobody_is_told() {
    for v6 in [false, true] {
        let [translator, inside, server] = addresses(v6);
        let mut router = router();
        open(&mut router, v6);
        for (interface, from, to, port) in [
            (NETWORK, server, translator, 2001),
            (NETWORK, server, inside, 5555),
            (INSIDE, inside, translator, 2000),
        ] {
            let mut out = written(&packet(from, to, datagram(443, port, b"")));
            assert_eq!(route(&mut router, interface, &mut out), Verdict::Discard);
        }
        let expected = Refused {
            unmapped: 2,
            hairpin: 1,
            ..Refused::default()
        };
        assert_eq!(refused(&router), expected);
        assert_eq!(router.poll_transmit(NOW), None);
    }
}

#[test]
fn a_routers_own_packets_pass_it() {
    for v6 in [false, true] {
        let [translator, inside, server] = addresses(v6);
        let own = others(v6)[0];
        let mut router = router();
        let ping = Body::Icmp(IcmpMessage::EchoRequest(Echo::counting(9, 4, 3)));
        let mut out = written(&packet(inside, own, ping));
        assert_eq!(route(&mut router, INSIDE, &mut out), Verdict::Local);
        router.handle_packet(NOW, INSIDE, out);
        let (interface, reply) = router.poll_transmit(NOW).expect("an echo reply");
        assert_eq!((interface, reply.ip.destination), (INSIDE, inside));
        let pong = Body::Icmp(IcmpMessage::EchoReply(Echo::counting(9, 4, 3)));
        assert_eq!(read(&reply).body, pong);
        // The error quotes the packet as it was inside (RFC 5508 REQ-4).
        let mut late = packet(inside, server, datagram(5555, 443, b"hello"));
        late.ip.hop_limit = 1;
        let mut late = written(&late);
        assert_eq!(route(&mut router, INSIDE, &mut late), Verdict::Discard);
        let (interface, error) = router.poll_transmit(NOW).expect("an error");
        assert_eq!((interface, error.ip.destination), (INSIDE, inside));
        let Body::Icmp(IcmpMessage::Error { kind, quoted }) = read(&error).body else {
            panic!("not an error");
        };
        assert_eq!(kind, IcmpError::TimeExceeded);
        assert_eq!((quoted.source, quoted.source_port), (inside, 5555));
        // To a port without a mapping.
        let nobody = Endpoint {
            address: translator,
            port: 3000,
        };
        router.udp_send(7, nobody, Payload::EMPTY, Some(FlowId(3)));
        assert_eq!(router.poll_transmit(NOW), None);
        let Some(Staying::Unsent(unsent)) = router.poll_staying() else {
            panic!("no packet of a flow");
        };
        assert_eq!(unsent.flow, FlowId(3));
        assert_eq!(refused(&router).unmapped, 1);
    }
}

#[test]
fn what_a_kernel_wrote_or_a_link_gave_back_passes_it() {
    for v6 in [false, true] {
        let [translator, inside, server] = addresses(v6);
        let mut router = router();
        open(&mut router, v6);
        for chosen in [None, Some(INSIDE)] {
            let mut to_mapped = written(&packet(server, translator, datagram(443, 2000, b"")));
            let mut to_nobody = written(&packet(server, translator, datagram(443, 2001, b"")));
            let interface = router.route_written(NOW, chosen, &mut to_mapped);
            assert_eq!(interface, Ok(INSIDE));
            assert_eq!(read(&to_mapped).ip.destination, inside);
            let interface = router.route_written(NOW, chosen, &mut to_nobody);
            assert_eq!(interface, Err(None));
        }
        // A packet that waited before another translator's link has been translated there.
        let mut translated = written(&packet(server, inside, datagram(443, 5555, b"")));
        assert_eq!(router.route_again(NOW, &mut translated), None);
        assert_eq!(refused(&router).unmapped, 3);
        assert_eq!(router.poll_transmit(NOW), None);
    }
}
