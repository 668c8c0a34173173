//! A gateway and a Mobile IPv6 mobile: the gateway sends to the mobile's location, learned from binding updates.

use super::*;
use crate::crosslayer::{Control, CrossLayerSignal, PathParameters, Remedy, TransportView};
use crate::packet::Extended;
use crate::remedies::Kind;
use crate::wire::mobility_header::{
    BindingAcknowledgement, BindingLifetime, BindingStatus, BindingUpdate, MobilityMessage,
};
use core::net::Ipv6Addr;
use std::sync::{Arc, Mutex};

const HOME: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 1, 0, 0, 0, 0, 7);
const AGENT: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 1, 0, 0, 0, 0, 1);
const SERVER: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 2, 0, 0, 0, 0, 1);

fn care_of(cell: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xDB8, 0x10 + cell, 0, 0, 0, 0, 7)
}

fn in_cell(cell: u64) -> LinkParameters {
    carries(cell * 1_000_000)
}

/// Returns a gateway whose interfaces 1 and 2 lead to cells 1 and 2.
fn gateway(service: Service) -> Host {
    let mut host = Host::new([10, 0, 0, 2].into(), [2; 16]);
    let network = host.add_interface(1500);
    host.routes_mut().set_default(Some(network));
    for cell in 1..=2 {
        let interface = host.add_interface(1500);
        host.routes_mut().set(care_of(cell).into(), interface);
        let path = host.layers_mut().get_or_add(|| PathAgents::new([2; 16]));
        path.add_access(HOME.into(), interface);
        let said = LinkEvent::Parameters(in_cell(cell.into()));
        host.handle_link(Instant::ZERO, interface, said);
    }
    let served = Served {
        mobile: HOME.into(),
        correspondent: SERVER.into(),
        port: Some(PORT),
    };
    host.layers_mut()
        .get_or_add(|| PathAgents::new([2; 16]))
        .serve(served, service);
    host
}

fn arrives(host: &mut Host, now: Instant, mut packet: Packet) -> Verdict {
    let length = packet.wire_length();
    let verdict = host.route(now, InterfaceId(0), &mut packet, length);
    if verdict == Verdict::Local {
        host.handle_packet(now, InterfaceId(0), packet);
    }
    verdict
}

fn sent(host: &mut Host, now: Instant) -> Vec<(InterfaceId, Packet)> {
    while host.poll_event().is_some() {}
    std::iter::from_fn(|| host.poll_transmit(now)).collect()
}

fn between(source: Ipv6Addr, destination: Ipv6Addr, body: Body) -> Packet {
    let mut packet = tcp(header(TcpFlags::ACK), Payload::EMPTY);
    (packet.ip.source, packet.ip.destination) = (source.into(), destination.into());
    packet.body = body;
    packet
}

/// Returns the mobile's update from a cell, or from home, on its way to the home agent.
fn update(sequence: u16, cell: Option<u16>) -> Packet {
    let update = BindingUpdate {
        sequence,
        acknowledge: true,
        home_registration: true,
        lifetime: BindingLifetime {
            units: if cell.is_some() { 100 } else { 0 },
        },
        ..BindingUpdate::default()
    };
    let extended = Extended {
        home_address: Some(HOME),
        routing_home_address: None,
        body: Body::Mobility(Box::new(MobilityMessage::BindingUpdate(update))),
    };
    let source = cell.map_or(HOME, care_of);
    between(source, AGENT, Body::Extended(Box::new(extended)))
}

/// Returns the home agent's answer to an update from a cell, or from home.
fn answered(sequence: u16, cell: Option<u16>, status: BindingStatus) -> Packet {
    let lifetime = BindingLifetime { units: 100 };
    let answer = BindingAcknowledgement::new(status, sequence, lifetime);
    let body = Body::Mobility(Box::new(MobilityMessage::BindingAcknowledgement(answer)));
    let Some(cell) = cell else {
        return between(AGENT, HOME, body);
    };
    let extended = Extended {
        home_address: None,
        routing_home_address: Some(HOME),
        body,
    };
    between(AGENT, care_of(cell), Body::Extended(Box::new(extended)))
}

/// Passes an update, and the answer that accepts it.
fn bind(host: &mut Host, now: Instant, sequence: u16, cell: u16) {
    let up = Verdict::Forward(InterfaceId(0));
    assert_eq!(arrives(host, now, update(sequence, Some(cell))), up);
    let accepted = answered(sequence, Some(cell), BindingStatus::ACCEPTED);
    let down = Verdict::Forward(InterfaceId(usize::from(cell)));
    assert_eq!(arrives(host, now, accepted), down);
}

/// Returns the server's SYN on its way to the mobile in a cell, in the home agent's tunnel or with a routing header.
fn syn(cell: u16, tunnelled: bool) -> Packet {
    let body = Body::Tcp(header(TcpFlags::SYN), Payload::EMPTY);
    if tunnelled {
        let inner = between(SERVER, HOME, body);
        return between(AGENT, care_of(cell), Body::Tunnel(Box::new(inner)));
    }
    let extended = Extended {
        home_address: None,
        routing_home_address: Some(HOME),
        body,
    };
    between(SERVER, care_of(cell), Body::Extended(Box::new(extended)))
}

#[derive(Debug)]
struct Listener(Arc<Mutex<Vec<CrossLayerSignal>>>);

impl Remedy for Listener {
    fn on_signal(&mut self, signal: &CrossLayerSignal, _: &TransportView) -> Vec<Control> {
        self.0.lock().unwrap().push(*signal);
        Vec::new()
    }
}

#[test]
fn halves_go_where_binding_updates_say_and_remedies_hear_of_it() {
    for tunnelled in [true, false] {
        let mut host = gateway(split(&Profile::rfc()));
        let mut now = Instant::ZERO;
        let passes = Verdict::Forward(InterfaceId(0));
        bind(&mut host, now, 5, 1);
        assert_eq!(arrives(&mut host, now, syn(1, tunnelled)), Verdict::Local);
        let answers = sent(&mut host, now);
        let [(to_server, answer), (to_mobile, request)] = &answers[..] else {
            panic!("{answers:?}");
        };
        assert_eq!((*to_server, *to_mobile), (InterfaceId(0), InterfaceId(1)));
        assert_eq!(answer.ip.source, IpAddr::V6(HOME));
        assert_eq!(answer.ip.destination, IpAddr::V6(SERVER));
        // The same encapsulation as that of the server's own packets to the mobile.
        let ends = match tunnelled {
            true => (AGENT, care_of(1)),
            false => (SERVER, care_of(1)),
        };
        assert_eq!(request.ip.source, IpAddr::V6(ends.0));
        assert_eq!(request.ip.destination, IpAddr::V6(ends.1));
        let inside = request.segment_within().unwrap();
        assert_eq!(inside.ip.source, IpAddr::V6(SERVER));
        assert_eq!(inside.ip.destination, IpAddr::V6(HOME));
        assert!(inside.header.flags == TcpFlags::SYN);

        let heard = Arc::new(Mutex::new(Vec::new()));
        let halves = &mut host.layer_mut::<PathAgents>().unwrap().sockets;
        halves.add_remedy(SocketId(1), Box::new(Listener(heard.clone())));
        bind(&mut host, now, 6, 2);
        assert!(host.take_needs_poll());
        assert!(sent(&mut host, now).is_empty());
        let connected = CrossLayerSignal::Connected(PathParameters::at_network(in_cell(2)));
        assert_eq!(*heard.lock().unwrap(), [connected]);
        // An older update, late over a slow link, changes nothing.
        bind(&mut host, now, 5, 1);
        while heard.lock().unwrap().len() == 1 && now < Instant::from_secs(2) {
            now = host.poll_timeout().unwrap();
            host.handle_timeout(now);
            for (interface, packet) in sent(&mut host, now) {
                if packet.segment_within().unwrap().ip.destination == IpAddr::V6(HOME) {
                    assert_eq!(interface, InterfaceId(2));
                    assert_eq!(packet.ip.destination, IpAddr::V6(care_of(2)));
                    heard.lock().unwrap().push(connected);
                }
            }
        }
        assert_eq!(heard.lock().unwrap().len(), 2, "the SYN again");
        // Home, behind another router: a SYN passes.
        arrives(&mut host, now, update(7, None));
        arrives(&mut host, now, answered(7, None, BindingStatus::ACCEPTED));
        let late = between(
            SERVER,
            HOME,
            Body::Tcp(header(TcpFlags::SYN), Payload::EMPTY),
        );
        let mut late = late;
        late.segment_mut().unwrap().0.source_port = 50_000;
        assert_eq!(arrives(&mut host, now, late), passes);
    }
}

/// A gateway asks its peers when a binding shows that the mobile has arrived, and again when it has returned from a
/// peer that has asked since; not when it stays.
#[test]
fn a_binding_that_passes_lets_a_gateway_ask_its_peers() {
    let peer: IpAddr = [10, 0, 0, 9].into();
    let asks = |host: &mut Host, now: Instant| {
        let syns = sent(host, now).into_iter().filter(|(_, packet)| {
            let segment = packet.segment_within();
            let is_syn = segment.is_some_and(|segment| segment.header.flags == TcpFlags::SYN);
            is_syn && packet.ip.destination == peer
        });
        syns.count()
    };
    let split = Split::new(Profile::rfc(), Profile::rfc(), vec![Kind::SatellitePep]);
    let mut host = gateway(Service::Split(Box::new(split)));
    let agents = host.layer_mut::<PathAgents>().unwrap();
    agents.add_peer([10, 0, 0, 2].into(), peer);
    let now = Instant::ZERO;
    let neighbor = Neighbor::new(care_of(1).into());
    host.handle_neighbor(now, InterfaceId(1), LinkEvent::Up, neighbor);
    assert_eq!(asks(&mut host, now), 0, "no binding yet");
    bind(&mut host, now, 5, 1);
    assert_eq!(asks(&mut host, now), 1);
    bind(&mut host, now, 6, 1);
    assert_eq!(asks(&mut host, now), 0);
    let neighbor = Neighbor::new(care_of(1).into());
    host.handle_neighbor(now, InterfaceId(1), LinkEvent::Up, neighbor);
    assert_eq!(asks(&mut host, now), 0, "the binding may be an old one");
    arrives(&mut host, now, update(7, Some(3)));
    arrives(
        &mut host,
        now,
        answered(7, Some(3), BindingStatus::ACCEPTED),
    );
    assert_eq!(asks(&mut host, now), 0, "it is at another gateway");
    bind(&mut host, now, 8, 1);
    assert_eq!(asks(&mut host, now), 1, "it is back");
    host.layer_mut::<PathAgents>()
        .unwrap()
        .note_loss(&HOME.into());
    bind(&mut host, now, 9, 1);
    assert_eq!(asks(&mut host, now), 1);
}

/// The mobile moves when the home agent has accepted its update, by an answer to any transmission of it (RFC 6275 section 11.7.3).
#[test]
fn halves_stay_until_the_home_agent_has_accepted() {
    let mut host = gateway(split(&Profile::rfc()));
    let now = Instant::ZERO;
    bind(&mut host, now, 5, 1);
    arrives(&mut host, now, syn(1, true));
    sent(&mut host, now);
    host.take_needs_poll();
    for sequence in [6, 7] {
        arrives(&mut host, now, update(sequence, Some(2)));
    }
    let refused = BindingStatus::INSUFFICIENT_RESOURCES;
    arrives(&mut host, now, answered(6, Some(2), refused));
    arrives(
        &mut host,
        now,
        answered(5, Some(2), BindingStatus::ACCEPTED),
    );
    // A correspondent's update has sequence numbers of its own.
    let mut other = answered(6, Some(2), BindingStatus::ACCEPTED);
    other.ip.source = SERVER.into();
    arrives(&mut host, now, other);
    assert!(!host.take_needs_poll());
    let again = host.poll_timeout().unwrap();
    host.handle_timeout(again);
    let places = |sent: Vec<(InterfaceId, Packet)>| -> Vec<InterfaceId> {
        let to_mobile = |packet: &Packet| {
            let inside = packet.segment_within().unwrap();
            inside.ip.destination == IpAddr::V6(HOME)
        };
        let sent = sent.into_iter().filter(|(_, packet)| to_mobile(packet));
        sent.map(|(interface, _)| interface).collect()
    };
    assert_eq!(places(sent(&mut host, again)), [InterfaceId(1)]);
    arrives(
        &mut host,
        again,
        answered(6, Some(2), BindingStatus::ACCEPTED),
    );
    assert!(host.take_needs_poll());
    let last = host.poll_timeout().unwrap();
    host.handle_timeout(last);
    let places = places(sent(&mut host, last));
    assert!(places.contains(&InterfaceId(2)) && !places.contains(&InterfaceId(1)));
}

/// The mobile's ACK goes to the home agent in a tunnel, and passes the gateway again on its way to the server: the
/// second passage is not a duplicate.
#[test]
fn what_the_mobile_says_counts_once_though_it_passes_twice() {
    let mut host = gateway(Service::Watch);
    let now = Instant::ZERO;
    let passes = Verdict::Forward(InterfaceId(0));
    bind(&mut host, now, 5, 1);
    for sequence in [100, 1100] {
        let mut said = header(TcpFlags::ACK);
        said.sequence = SequenceNumber(sequence);
        let length = 1000;
        let payload = Payload::Pattern {
            stream: 1,
            offset: 0,
            length,
        };
        let inner = between(SERVER, HOME, Body::Tcp(said, payload));
        // On its way to the home agent it passes for the first time.
        assert_eq!(arrives(&mut host, now, inner.clone()), passes);
        let outer = between(AGENT, care_of(1), Body::Tunnel(Box::new(inner)));
        assert_eq!(
            arrives(&mut host, now, outer),
            Verdict::Forward(InterfaceId(1))
        );
    }
    let mut said = header(TcpFlags::ACK);
    (said.source_port, said.destination_port) = (said.destination_port, said.source_port);
    said.acknowledgment = SequenceNumber(1100);
    let inner = between(HOME, SERVER, Body::Tcp(said, Payload::EMPTY));
    let outer = between(care_of(1), AGENT, Body::Tunnel(Box::new(inner.clone())));
    assert_eq!(arrives(&mut host, now, outer.clone()), passes);
    assert_eq!(arrives(&mut host, now, inner), passes);
    assert_eq!(sent(&mut host, now), vec![]);
    // From the mobile itself it would be a duplicate.
    assert_eq!(arrives(&mut host, now, outer), Verdict::Discard);
    assert_eq!(sent(&mut host, now).len(), 1);
}
