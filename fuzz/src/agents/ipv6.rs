//! Mobile IPv6: a mobile with three links, its home agent, a router of two visited networks, a correspondent.

use super::network::Protocol;
use baton_proto::host::Host;
use baton_proto::host::layer::Rank;
use baton_proto::interface::InterfaceId;
use baton_proto::mobility::address_configuration::{
    ConfigurationSettings, ConfigurationTimes, DuplicateAddressDetection, Uniqueness,
};
use baton_proto::mobility::binding::BindingTimes;
use baton_proto::mobility::buffering::{BufferPolicy, Overflow};
use baton_proto::mobility::draws::Draws;
use baton_proto::mobility::mobile_ipv6::{
    AccessRouter, AccessRouters, AdvertisingSettings, Correspondent, FleetSettings, GroupMobile,
    HomeAgent, HomeAgentSettings, MobileNode, MobileSettings, RouterRegistration, SharedKey,
    Strategy, Subscriber,
};
use baton_proto::packet::{Body, Packet};
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::mobility_header::BindingLifetime;
use baton_proto::wire::prefix::{Ipv6Prefix, Prefix};
use core::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

/// Interface identifier of the mobile.
const IDENTIFIER: u64 = 0x40_0000;
const HOME: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0x40, 0);
const HOME_AGENT: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
const CORRESPONDENT: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 9, 0, 0, 0, 0, 9);
const ROUTER: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 8, 0, 0, 0, 0, 8);
/// No duplicate address detection, which takes a second; without it a binding changes when its message arrives.
const DETECTION: DuplicateAddressDetection =
    DuplicateAddressDetection::NotNeeded(Uniqueness::IcaoAddress);
const KEY: SharedKey = SharedKey {
    security_parameter_index: 256,
    key: [5; 20],
};

/// Limits of the copies that routers keep.
const COPIES: BufferPolicy = BufferPolicy {
    bytes: 10_000,
    age: Duration::from_secs(5),
    overflow: Overflow::DropOldest,
    pace: None,
    drop_duplicates: false,
};

/// Returns the prefix of the mobile's link of this number; the first is at home.
fn prefix(link: u16) -> Ipv6Prefix {
    let address = Ipv6Addr::new(0x2001, 0xdb8, link, 0, 0, 0, 0, 0);
    Ipv6Prefix::new(address, 64).expect("a length")
}

fn link_local(identifier: u64) -> Ipv6Addr {
    Ipv6Addr::from_bits((0xFE80 << 112) | u128::from(identifier))
}

fn lifetime(seconds: u32) -> BindingLifetime {
    BindingLifetime::at_most(seconds)
}

/// Returns a host whose packets leave by its last interface, unless routes say otherwise.
fn host(address: Ipv6Addr, interfaces: usize) -> Host {
    let mut host = Host::new(address.into(), [7; 16]);
    for _ in 0..interfaces {
        host.add_interface(1500);
    }
    host.routes_mut()
        .set_default(Some(InterfaceId(interfaces - 1)));
    host
}

/// Returns the networks behind the mobile.
fn networks() -> Box<[Prefix]> {
    let ipv4 = IpAddr::from([10, 1, 0, 0]);
    let ipv6 = Ipv6Addr::new(0x2001, 0xdb8, 7, 0, 0, 0, 0, 0);
    [(ipv4, 16), (ipv6.into(), 48)]
        .map(|(address, length)| Prefix::new(address, length).expect("a length"))
        .into()
}

fn mobile() -> Host {
    let settings = MobileSettings {
        home_address: HOME,
        key: Some(KEY),
        anchors: None,
        router: Some(RouterRegistration {
            prefixes: networks(),
            explicit: true,
        }),
        interface_identifier: IDENTIFIER,
        access: None,
        handover_service: None,
        fleet: Arc::new(FleetSettings {
            home_agent: HOME_AGENT,
            lifetime: lifetime(60),
            is_prefix_assigned: false,
            configuration: Arc::new(ConfigurationSettings {
                detection: DETECTION,
                times: ConfigurationTimes::default(),
                home_prefix: Some(prefix(0)),
            }),
            binding_times: BindingTimes::default(),
            buffering: None,
            asks_for_bicasting: true,
            tells_routers: true,
            has_group: true,
            optimizes_routes: true,
            sends_before_acknowledgement: true,
            path_mtu: 1500,
            clamp_segment_size: false,
        }),
    };
    let mut host = host(HOME, 3);
    host.routes_mut()
        .set_default(Some(Rank::MobileNode.interface()));
    host.add_layer(MobileNode::new(settings, 3, [1; 16]));
    host
}

/// Returns the address of a visited network's router.
fn member(link: u16) -> Ipv6Addr {
    prefix(link).address_of(link_local(0x1000 + u64::from(link)))
}

fn router(host: &mut Host, interface: usize, link: u16) {
    let identifier = 0x1000 + u64::from(link);
    let mut settings =
        AdvertisingSettings::standard(InterfaceId(interface), link_local(identifier), prefix(link));
    if link == 0 {
        settings.home_agent = true;
        settings.address = HOME_AGENT;
    }
    let address = settings.address;
    let mut router = AccessRouter::new(Instant::ZERO, settings, Draws::new([link as u8; 16]));
    if link > 0 {
        let mobile = GroupMobile {
            home_address: HOME,
            network: None,
            home_agent: HOME_AGENT,
        };
        router.join(mobile, COPIES);
        host.add_address(address.into());
    }
    host.layers_mut()
        .get_or_add(AccessRouters::default)
        .push(router);
}

fn home() -> Host {
    let mut agent = HomeAgent::new(HomeAgentSettings {
        is_anchor_point: false,
        address: HOME_AGENT,
        home_prefix: prefix(0),
        home_interface: InterfaceId(0),
        longest_lifetime: lifetime(600),
        detection: DETECTION,
        retransmission_time: Duration::from_secs(1),
        strategy: Strategy::Forward,
        bicast_on_request: Some(Duration::from_secs(1)),
        proven_care_of: None,
        path_mtu: 1500,
        clamp_segment_size: false,
    });
    agent.subscribe(Subscriber {
        home_address: HOME,
        key: Some(KEY),
        prefixes: Some(networks()),
    });
    agent.form_group(HOME, &[1, 2].map(member));
    let mut host = host(HOME_AGENT, 3);
    host.routes_mut().set(HOME.into(), InterfaceId(0));
    host.routes_mut().set(CORRESPONDENT.into(), InterfaceId(2));
    host.routes_mut().set_default(Some(InterfaceId(1)));
    host.add_layer(agent);
    router(&mut host, 0, 0);
    host
}

pub struct MobileIpv6;

impl Protocol for MobileIpv6 {
    const WIRES: &'static [[(usize, usize); 2]] = &[
        [(0, 0), (1, 0)],
        [(0, 1), (2, 0)],
        [(0, 2), (2, 1)],
        [(1, 1), (2, 2)],
        [(1, 2), (3, 0)],
    ];
    const ACCESS: usize = 3;
    const ADDRESSES: [IpAddr; 2] = [IpAddr::V6(HOME), IpAddr::V6(CORRESPONDENT)];

    fn hosts() -> Vec<Host> {
        let mut visited = host(ROUTER, 3);
        for link in [1, 2] {
            let interface = usize::from(link) - 1;
            let care_of = prefix(link).address_of(link_local(IDENTIFIER));
            visited
                .routes_mut()
                .set(care_of.into(), InterfaceId(interface));
            router(&mut visited, interface, link);
        }
        let mut correspondent = host(CORRESPONDENT, 1);
        correspondent.udp_bind(9);
        let agent = Correspondent::new(CORRESPONDENT, [5; 20], [6; 16]);
        correspondent.add_layer(agent);
        vec![mobile(), home(), visited, correspondent]
    }

    fn bindings(host: &Host, now: Instant) -> Vec<IpAddr> {
        let mobile = host.layer::<MobileNode>();
        let home = host.layer::<HomeAgent>();
        let correspondent = host.layer::<Correspondent>();
        let all = [
            mobile.and_then(|mobile| mobile.registered(now)),
            home.and_then(|home| home.care_of(HOME)),
            correspondent.and_then(|node| node.care_of(now, HOME)),
        ];
        all.into_iter().flatten().map(IpAddr::V6).collect()
    }

    fn message(packet: &Packet) -> Option<Vec<u8>> {
        let (message, addresses) = match &packet.body {
            Body::Mobility(message) => (message, Default::default()),
            Body::Extended(extended) => match &extended.body {
                Body::Mobility(message) => (
                    message,
                    [extended.home_address, extended.routing_home_address],
                ),
                _ => return None,
            },
            _ => return None,
        };
        // With the addresses, which are signed too.
        let ends = [packet.ip.source, packet.ip.destination];
        let mut out = format!("{ends:?}{addresses:?}").into_bytes();
        message.encode(&mut out);
        Some(out)
    }

    fn malformed(host: &Host) -> u64 {
        host.discarded().damaged
    }

    /// Returns false: packets are typed when they are parsed, and the agents get no others.
    fn is_malformed(_: &Host, _: &Packet) -> bool {
        false
    }
}
