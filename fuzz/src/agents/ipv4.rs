//! Mobile IPv4: a mobile with four links, its home agent, a foreign agent below a gateway, a router with an address
//! server.

use super::network::Protocol;
use baton_proto::host::Host;
use baton_proto::interface::InterfaceId;
use baton_proto::mobility::buffering::{BufferPolicy, Overflow};
use baton_proto::mobility::mobile_ipv4::{
    AddressServer, Advertising, CareOf, Clock, ConflictCheck, Delivery, Encapsulations,
    ForeignAgent, ForeignAgentConfig, HomeAgent, HomeAgentConfig, LinkServer, Mobile, MobileNode,
    MobileNodeConfig, PolicyTable,
};
use baton_proto::packet::{Body, Packet, Payload};
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::encapsulation::Encapsulation;
use baton_proto::wire::mobile_ipv4::{AuthenticationKind, Message, PORT, SecurityAssociation};
use core::net::{IpAddr, Ipv4Addr};
use std::collections::BTreeMap;

const HOME: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 10);
const HOME_AGENT: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const FOREIGN_AGENT: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);
const GATEWAY: Ipv4Addr = Ipv4Addr::new(203, 0, 112, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const LEASED: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
const MODEM: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);

const ENCAPSULATIONS: Encapsulations = Encapsulations {
    minimal: true,
    generic: true,
};

const fn key(index: u32) -> SecurityAssociation {
    SecurityAssociation {
        index,
        key: [index as u8; 16],
    }
}

fn advertising(interfaces: &[usize]) -> Advertising {
    Advertising {
        interfaces: interfaces.iter().copied().map(InterfaceId).collect(),
        interval: Duration::from_secs(1),
        prefix_length: 24,
    }
}

fn mobile() -> Host {
    let node = MobileNode::new(MobileNodeConfig {
        home_address: HOME,
        home_agent: HOME_AGENT,
        home: key(256),
        foreign: Some(key(300)),
        smooth_handoff: true,
        names_received: true,
        sends_at_request: false,
        lifetime: 60,
        simultaneous_bindings: false,
        policy: PolicyTable::new(Vec::new(), Delivery::ReverseTunnel),
        encapsulation: Encapsulation::Minimal,
        header_compression: true,
        broadcasts: true,
        conflict_check: ConflictCheck::Background,
        clock: Clock::default(),
        secret: [1; 16],
    });
    let care_of = [
        CareOf::ForeignAgent,
        CareOf::ForeignAgent,
        CareOf::Known(MODEM),
        CareOf::Acquired,
    ];
    let care_of = care_of.into_iter().enumerate();
    let care_of = care_of.map(|(interface, care_of)| (InterfaceId(interface), care_of));
    let mut host = host(HOME, 4);
    host.add_layer(Mobile::new(node, care_of.collect()));
    host
}

fn home() -> Host {
    let mut agent = HomeAgent::new(
        Instant::ZERO,
        HomeAgentConfig {
            address: HOME_AGENT,
            longest_lifetime: 600,
            simultaneous_bindings: 3,
            reverse_tunnel: true,
            encapsulations: ENCAPSULATIONS,
            foreign_agents: BTreeMap::new(),
            advertising: advertising(&[0]),
            clock: Clock::default(),
            secret: [2; 16],
        },
    );
    agent.add_mobile(HOME, key(256));
    let mut host = host(HOME_AGENT, 4);
    for (address, interface) in [
        (HOME, 0),
        (FOREIGN_AGENT, 1),
        (MODEM, 1),
        (GATEWAY, 2),
        (LEASED, 3),
    ] {
        host.routes_mut()
            .set(address.into(), InterfaceId(interface));
    }
    host.add_layer(agent);
    host
}

fn foreign(address: Ipv4Addr, gateways: Vec<Ipv4Addr>, interfaces: &[usize]) -> ForeignAgent {
    ForeignAgent::new(
        Instant::ZERO,
        ForeignAgentConfig {
            address,
            gateways,
            domain: None,
            longest_lifetime: 600,
            most_visitors: 3,
            reverse_tunnel: true,
            encapsulations: ENCAPSULATIONS,
            header_compression: true,
            registration_required: false,
            mobiles: [(HOME, key(300))].into(),
            home_agents: BTreeMap::new(),
            advertising: advertising(interfaces),
            secret: [3; 16],
        },
    )
}

/// Returns a host whose packets leave by its last interface, unless routes say otherwise.
fn host(address: Ipv4Addr, interfaces: usize) -> Host {
    let mut host = Host::new(address.into(), [7; 16]);
    for _ in 0..interfaces {
        host.add_interface(1500);
    }
    host.routes_mut()
        .set_default(Some(InterfaceId(interfaces - 1)));
    host
}

pub struct MobileIpv4;

impl Protocol for MobileIpv4 {
    const WIRES: &'static [[(usize, usize); 2]] = &[
        [(0, 0), (1, 0)],
        [(0, 1), (2, 0)],
        [(0, 2), (2, 1)],
        [(0, 3), (4, 0)],
        [(1, 1), (2, 2)],
        [(1, 2), (3, 0)],
        [(1, 3), (4, 1)],
    ];
    const ACCESS: usize = 4;
    const ADDRESSES: [IpAddr; 2] = [IpAddr::V4(HOME), IpAddr::V4(GATEWAY)];

    fn hosts() -> Vec<Host> {
        let mut visited = host(FOREIGN_AGENT, 3);
        visited.routes_mut().set(MODEM.into(), InterfaceId(1));
        let mut agent = foreign(FOREIGN_AGENT, vec![GATEWAY], &[0]);
        agent.keep_copies(BufferPolicy {
            bytes: 4000,
            age: Duration::from_secs(1),
            overflow: Overflow::DropOldest,
            pace: None,
            drop_duplicates: false,
        });
        visited.add_layer(agent);
        let mut gateway = host(GATEWAY, 1);
        gateway.udp_bind(9);
        let agent = foreign(GATEWAY, Vec::new(), &[]);
        gateway.add_layer(agent);
        let mut leasing = host(SERVER, 2);
        leasing.routes_mut().set(LEASED.into(), InterfaceId(0));
        let server = AddressServer::new(SERVER, 24, [LEASED, LEASED], Duration::from_secs(60));
        leasing.add_layer(LinkServer {
            interface: InterfaceId(0),
            server,
        });
        vec![mobile(), home(), visited, gateway, leasing]
    }

    fn bindings(host: &Host, now: Instant) -> Vec<IpAddr> {
        let mobile = host.layer::<Mobile>();
        let point = mobile.and_then(|mobile| mobile.node().registered(now));
        let home = host.layer::<HomeAgent>();
        let bound = home.map(|home| home.care_of_addresses(now, HOME));
        let own = point.map(|point| point.care_of_address);
        own.into_iter()
            .chain(bound.into_iter().flatten())
            .map(IpAddr::V4)
            .collect()
    }

    fn message(packet: &Packet) -> Option<Vec<u8>> {
        let Body::Udp(ports, Payload::Bytes(bytes)) = &packet.body else {
            return None;
        };
        let mut message = Message::decode(bytes)
            .ok()
            .filter(|_| ports.destination_port == PORT)?;
        let home = message.place(AuthenticationKind::MobileHome);
        let end = home.or_else(|| message.place(AuthenticationKind::MobileGateway))?;
        // The extensions after it are added by others.
        message.extensions.truncate(end + 1);
        Some(message.encode())
    }

    fn malformed(host: &Host) -> u64 {
        let mobile = host.layer::<Mobile>().map(|agent| agent.node().dropped());
        let home = host.layer::<HomeAgent>().map(HomeAgent::dropped);
        let foreign = host.layer::<ForeignAgent>().map(ForeignAgent::dropped);
        let all = [mobile, home, foreign].into_iter().flatten();
        let of_agents: u64 = all.map(|dropped| dropped.malformed).sum();
        host.discarded().damaged + of_agents
    }

    fn is_malformed(host: &Host, packet: &Packet) -> bool {
        let Body::Udp(ports, Payload::Bytes(bytes)) = &packet.body else {
            return false;
        };
        let IpAddr::V4(to) = packet.ip.destination else {
            return false;
        };
        let mobile = host.layer::<Mobile>();
        let home = host.layer::<HomeAgent>().map(HomeAgent::address);
        let foreign = host.layer::<ForeignAgent>().map(ForeignAgent::address);
        let is_for_agent = mobile.is_some_and(|mobile| mobile.node().is_own(to.into()))
            || [home, foreign].contains(&Some(to));
        ports.destination_port == PORT && Message::decode(bytes).is_err() && is_for_agent
    }
}
