//! A router with backpressure, the packets that it forwards, and the messages that it sends.

use super::*;
use crate::host::Host;
use crate::packet::{BitErrors, Identity, IpHeader, Payload};
use crate::wire::aerotp::ServiceClass;
use crate::wire::icmp::IcmpMessage;
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::{TcpFlags, TcpHeader, TcpOptions};

const QUEUE: InterfaceId = InterfaceId(1);

fn address(last: u8) -> IpAddr {
    [10, 0, 0, last].into()
}

fn at(milliseconds: u64) -> Instant {
    Instant::from_millis(milliseconds)
}

fn router() -> Host {
    let mut host = Host::new(address(9), [9; 16]);
    let back = host.add_interface(1500);
    host.add_interface(1500);
    host.routes_mut().set_default(Some(back));
    host.add_layer(Backpressure::default());
    host
}

fn packet(source: IpAddr, body: Body) -> Packet {
    Packet {
        ip: IpHeader {
            source,
            destination: address(8),
            hop_limit: 64,
            traffic_class: 0,
            identification: 1,
            dont_fragment: true,
        },
        body,
        flow: None,
        retransmission: false,
        bit_errors: BitErrors::NONE,
        identity: Identity::NONE,
    }
}

fn aerotp(source: IpAddr) -> Packet {
    let datagram = crate::host::AerotpDatagram {
        source_port: 1,
        to: crate::tcp::Endpoint {
            address: address(8),
            port: 2,
        },
        class: ServiceClass::default(),
        protection: Default::default(),
        payload: Payload::EMPTY,
    };
    let body = datagram.into_packet(Instant::ZERO);
    packet(source, Body::Aerotp(Box::new(body)))
}

/// Forwards a packet through the router, with a queue served at so many bits per second if it is more than half full.
/// Returns the sources notified, each with its rate in kbit/s.
fn told(
    host: &mut Host,
    now: Instant,
    (interface, packet): (InterfaceId, &Packet),
    pressure: Option<u64>,
) -> Vec<(IpAddr, u32)> {
    let pressure = pressure.map(DataRate::from_bits_per_second);
    let status = TransmitStatus::Queued { pressure };
    let polls = host.handle_transmit_status(now, interface, packet, status);
    let sent = core::iter::from_fn(|| host.poll_transmit(now));
    let messages = sent.map(|(interface, packet)| {
        assert_eq!(interface, InterfaceId(0));
        let Body::Icmp(IcmpMessage::Error { kind, .. }) = packet.body else {
            panic!("{packet:?}");
        };
        let IcmpError::Backpressure { rate } = kind else {
            panic!("{kind:?}");
        };
        (packet.ip.destination, rate)
    });
    let messages: Vec<_> = messages.collect();
    assert_eq!(polls, !messages.is_empty());
    messages
}

/// 95 % of 5 Mbit/s for the sources of the last second, each notified every 100 ms.
#[test]
fn sources_share_the_rate_of_a_queue_that_is_half_full() {
    let mut host = router();
    let full = Some(5_000_000);
    let [one, two] = [1, 2].map(|last| aerotp(address(last)));
    // While the queue is short no source is notified, but sources have their shares.
    assert_eq!(told(&mut host, at(0), (QUEUE, &one), None), []);
    let half = 4750 / 2;
    let to_two = [(address(2), half)];
    assert_eq!(told(&mut host, at(10), (QUEUE, &two), full), to_two);
    assert_eq!(told(&mut host, at(109), (QUEUE, &two), full), []);
    assert_eq!(told(&mut host, at(110), (QUEUE, &two), full), to_two);
    let to_one = [(address(1), half)];
    assert_eq!(told(&mut host, at(110), (QUEUE, &one), full), to_one);
    // A source loses its share a second after its last packet.
    let alone = [(address(2), 4750)];
    assert_eq!(told(&mut host, at(1109), (QUEUE, &two), full), to_two);
    assert_eq!(told(&mut host, at(1210), (QUEUE, &two), full), alone);
}

#[test]
fn each_queue_is_shared_by_its_own_sources() {
    let mut host = router();
    let full = Some(1_000_000);
    let [one, two] = [1, 2].map(|last| aerotp(address(last)));
    let other = InterfaceId(0);
    told(&mut host, at(0), (other, &one), None);
    let alone = [(address(2), 950)];
    assert_eq!(told(&mut host, at(1), (QUEUE, &two), full), alone);
}

#[test]
fn tcp_and_what_is_in_tunnels_hear_nothing_and_have_no_share() {
    let mut host = router();
    let full = Some(1_000_000);
    let header = TcpHeader {
        source_port: 1,
        destination_port: 2,
        sequence: SequenceNumber(0),
        acknowledgment: SequenceNumber(0),
        flags: TcpFlags::ACK,
        window: 1000,
        options: TcpOptions::default(),
    };
    let tcp = packet(address(1), Body::Tcp(header, Payload::EMPTY));
    let tunnelled = packet(address(2), Body::Tunnel(Box::new(aerotp(address(3)))));
    for packet in [tcp, tunnelled] {
        assert_eq!(told(&mut host, at(0), (QUEUE, &packet), full), []);
    }
    let alone = [(address(4), 950)];
    let plain = aerotp(address(4));
    assert_eq!(told(&mut host, at(0), (QUEUE, &plain), full), alone);
}

#[test]
fn only_hosts_with_the_layer_ask_media_for_their_queues() {
    assert!(router().status_interests().queued);
    let plain = Host::new(address(9), [9; 16]);
    assert_eq!(plain.status_interests(), StatusInterests::default());
}
