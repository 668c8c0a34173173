//! The order in which layers get packets, link events and signals, checked against the list of ranks.

use super::*;
use crate::crosslayer::Signal;
use crate::host::layer::{Rank, Transmitted};
use crate::host::{Host, HostEvent, Verdict};
use crate::packet::{BitErrors, Body, Identity, IpHeader, Payload, Wording};
use crate::wire::prefix::Prefix;
use crate::wire::udp::UdpHeader;
use std::sync::{Arc, Mutex};

type Log = Arc<Mutex<Vec<String>>>;

/// A layer that records its calls, and passes all packets except those to port 7.
#[derive(Debug)]
struct Scribe {
    rank: Rank,
    log: Log,
    signal: Option<Signal>,
    event: Option<Wording>,
}

impl Scribe {
    fn new(rank: Rank, log: &Log) -> Scribe {
        Scribe {
            rank,
            log: Arc::clone(log),
            signal: None,
            event: None,
        }
    }

    fn note(&self, what: &str) {
        let line = format!("{what} {}", self.rank.name());
        self.log.lock().expect("one thread").push(line);
    }
}

impl Layer for Scribe {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn input(&mut self, _: Instant, _: Arrival, packet: Packet) -> Option<Packet> {
        self.note("in");
        let Body::Udp(ports, _) = &packet.body else {
            return Some(packet);
        };
        (ports.destination_port != 7).then_some(packet)
    }

    fn output(&mut self, _: Instant, packet: Packet) -> Option<Packet> {
        self.note("out");
        Some(packet)
    }

    fn transmit(&mut self, _: Instant, packet: Packet) -> Transmitted {
        self.note("through");
        Transmitted::Leaves(Step::Send(InterfaceId(0), packet))
    }

    fn handle_signal(&mut self, _: Instant, signal: &Signal) {
        match signal {
            Signal::Link(_, event) => self.note(event.name()),
            _ => self.note("signal"),
        }
    }

    fn poll_signal(&mut self) -> Option<Signal> {
        self.signal.take()
    }

    fn poll_event(&mut self) -> Option<Wording> {
        self.event.take()
    }
}

const OWN: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(192, 0, 2, 1));
const OTHER: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(198, 51, 100, 1));

fn datagram(destination: IpAddr, port: u16) -> Packet {
    let header = UdpHeader {
        source_port: 9,
        destination_port: port,
    };
    Packet {
        ip: IpHeader {
            source: OTHER,
            destination,
            hop_limit: 64,
            traffic_class: 0,
            identification: 0,
            dont_fragment: true,
        },
        body: Body::Udp(header, Payload::Bytes(b"datagram".as_slice().into())),
        flow: None,
        retransmission: false,
        bit_errors: BitErrors::NONE,
        identity: Identity::NONE,
    }
}

/// Returns a host with three layers, added in another order than that of their ranks.
fn host() -> (Host, Log) {
    let log = Log::default();
    let mut host = Host::new(OWN, [7; 16]);
    host.add_interface(1500);
    host.routes_mut().set_default(Some(InterfaceId(0)));
    for rank in [Rank::Correspondent, Rank::AddressServer, Rank::HomeAgent] {
        host.add_layer(Scribe::new(rank, &log));
    }
    (host, log)
}

fn taken(log: &Log) -> Vec<String> {
    core::mem::take(&mut log.lock().expect("one thread"))
}

fn poll(host: &mut Host) -> Vec<(InterfaceId, Packet)> {
    core::iter::from_fn(|| host.poll_transmit(Instant::ZERO)).collect()
}

#[test]
fn packets_pass_layers_in_order_and_own_ones_in_reverse() {
    let (mut host, log) = host();
    host.handle_link(Instant::ZERO, InterfaceId(0), LinkEvent::Up);
    assert_eq!(
        taken(&log),
        [
            "Link_Up address server",
            "Link_Up home agent",
            "Link_Up correspondent"
        ]
    );
    host.udp_bind(5);
    host.handle_packet(Instant::ZERO, InterfaceId(0), datagram(OWN, 5));
    assert_eq!(
        taken(&log),
        ["in address server", "in home agent", "in correspondent"]
    );
    assert!(matches!(
        host.poll_event(),
        Some(HostEvent::Datagram { port: 5, .. })
    ));
    // The first layer keeps it: it reaches no other layer and no transport.
    host.handle_packet(Instant::ZERO, InterfaceId(0), datagram(OWN, 7));
    assert_eq!(taken(&log), ["in address server"]);
    assert_eq!(host.poll_event(), None);
    let to = crate::tcp::Endpoint {
        address: OTHER,
        port: 5,
    };
    host.udp_send(5, to, Payload::EMPTY, None);
    assert_eq!(poll(&mut host).len(), 1);
    assert_eq!(
        taken(&log),
        ["out correspondent", "out home agent", "out address server"]
    );
}

#[test]
fn a_route_to_a_virtual_interface_leads_through_its_layer() {
    let (mut host, log) = host();
    let tunnel = Rank::HomeAgent.interface();
    assert!(tunnel.is_virtual() && !InterfaceId(0).is_virtual());
    host.routes_mut().set(OTHER, tunnel);
    let mut packet = datagram(OTHER, 5);
    let length = packet.wire_length();
    let verdict = host.route(Instant::ZERO, InterfaceId(0), &mut packet, length);
    assert_eq!(verdict, Verdict::Local);
    assert_eq!(packet.ip.hop_limit, 64, "the layer takes the hop");
    host.handle_packet(Instant::ZERO, InterfaceId(0), packet.clone());
    assert_eq!(taken(&log), ["through home agent"]);
    assert_eq!(poll(&mut host), [(InterfaceId(0), packet)]);
    // Without a layer there, nothing leaves.
    host.routes_mut().set(OTHER, Rank::ForeignAgent.interface());
    let to = crate::tcp::Endpoint {
        address: OTHER,
        port: 5,
    };
    host.udp_send(5, to, Payload::EMPTY, None);
    assert_eq!(poll(&mut host), []);
}

#[test]
fn signals_reach_all_layers_before_anything_is_sent_and_events_the_driver() {
    let (mut host, log) = host();
    let event = Wording::new("Deregistered", String::new());
    let mut teller = Scribe::new(Rank::AccessServer, &log);
    teller.signal = Some(Signal::Bound(Prefix::single(OTHER)));
    teller.event = Some(event.clone());
    host.add_layer(teller);
    let to = crate::tcp::Endpoint {
        address: OTHER,
        port: 5,
    };
    host.udp_send(5, to, Payload::EMPTY, None);
    poll(&mut host);
    let heard = taken(&log);
    assert_eq!(
        heard[..4],
        [
            "signal address server",
            "signal access server",
            "signal home agent",
            "signal correspondent"
        ]
    );
    assert_eq!(heard[4], "out correspondent");
    assert_eq!(host.poll_event(), Some(HostEvent::MobileBound));
    assert_eq!(host.poll_event(), Some(HostEvent::Layer(event)));
    assert_eq!(host.poll_event(), None);
}
