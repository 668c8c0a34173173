//! Hosts between which TP++ goes: what opens a connection, and what does not.

use super::*;
use crate::host::{Host, HostEvent};
use crate::interface::InterfaceId;
use crate::packet::{BitErrors, Packet, Payload};
use crate::rate::DataRate;
use crate::tcp::Endpoint;
use core::any::Any;
use core::net::IpAddr;

const PORT: u16 = 5001;

fn address(host: u8) -> IpAddr {
    [192, 0, 2, host].into()
}

fn configuration() -> Configuration {
    Configuration::new(DataRate::from_bits_per_second(1_000_000))
}

fn host(number: u8) -> Host {
    let mut host = Host::new(address(number), [number; 16]);
    let interface = host.add_interface(1500);
    host.routes_mut().set_default(Some(interface));
    host
}

fn listening() -> Host {
    let mut host = host(2);
    host.tp_plus_plus_listen(PORT, configuration(), None);
    host
}

/// Returns the first packet of a connection to port 5001, with 1000 bytes.
fn first_packet() -> Packet {
    let mut host = host(1);
    let remote = Endpoint {
        address: address(2),
        port: PORT,
    };
    let socket = host.tp_plus_plus_connect(Instant::ZERO, (None, remote), configuration(), None);
    let socket: &mut dyn Any = host.socket_mut(socket).expect("opened");
    let connection: &mut Connection = socket.downcast_mut().expect("TP++");
    let payload = Payload::Pattern {
        stream: 1,
        offset: 0,
        length: 1000,
    };
    assert_eq!(connection.write(&payload, false), 1000);
    while host.poll_event().is_some() {}
    host.poll_transmit(Instant::ZERO).expect("data").1
}

fn accepted(host: &mut Host) -> usize {
    let events = core::iter::from_fn(|| host.poll_event());
    events
        .filter(|event| matches!(event, HostEvent::Accepted { port: PORT, .. }))
        .count()
}

#[test]
fn the_first_packet_opens_and_a_damaged_label_does_not() {
    let mut host = listening();
    // A bit of the C.ID, behind IP's header and the ports: for any connection it is another one.
    for bit in 8 * 24..8 * 24 + 30 {
        let mut packet = first_packet();
        packet.bit_errors = BitErrors::from(vec![bit]);
        host.handle_packet(Instant::ZERO, InterfaceId(0), packet);
    }
    assert_eq!(accepted(&mut host), 0);
    assert!(host.poll_transmit(Instant::ZERO).is_none(), "no answers");
    host.handle_packet(Instant::ZERO, InterfaceId(0), first_packet());
    assert_eq!(accepted(&mut host), 1);
    let (_, sockets) = host.transport_mut(TpPlusPlusSockets::new);
    assert_eq!(
        sockets.by_label.len(),
        MOST_UNPROVEN,
        "15 and the proven one"
    );
}

#[test]
fn a_port_without_a_listener_does_not_answer() {
    let mut host = host(2);
    host.handle_packet(Instant::ZERO, InterfaceId(0), first_packet());
    assert_eq!(accepted(&mut host), 0);
    assert!(host.poll_transmit(Instant::ZERO).is_none());
}
