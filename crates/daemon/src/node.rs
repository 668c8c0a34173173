//! A node built from its configuration.

use crate::config::{
    AccessRouterConfig, Advertisements, Config, FailbackConfig, HomeAgentConfig, MobileNodeConfig,
    Network, Registration, Secret, SecurityParameterIndex, SubscriberConfig,
};
use crate::device::{Device, DeviceError};
use crate::gateway::{self, GatewayConfig};
use crate::port::Port;
use crate::routing::Routing;
use baton_linux::netlink::RouteSocket;
use baton_proto::host::Host;
use baton_proto::host::layer::Rank;
use baton_proto::interface::InterfaceId;
use baton_proto::mobility::address_configuration::{
    ConfigurationSettings, ConfigurationTimes, DuplicateAddressDetection, Uniqueness,
};
use baton_proto::mobility::attachment::{
    AccessInterface, Attachment, Policy, Preference, Settings as AttachmentSettings,
};
use baton_proto::mobility::binding::BindingTimes;
use baton_proto::mobility::buffering::{BufferPolicy, Overflow};
use baton_proto::mobility::draws::Draws;
use baton_proto::mobility::home_network::HomeNetwork;
use baton_proto::mobility::mobile_ipv6::{
    AccessRouter, AccessRouters, AdvertisingSettings, BufferingRequest, FleetSettings, HomeAgent,
    HomeAgentSettings, MobileNode, MobileSettings, RouterRegistration, SharedKey, Strategy,
    Subscriber,
};
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::prefix::Prefix;
use core::net::Ipv6Addr;
use std::io;
use std::sync::Arc;

/// Buffer for a mobile that requests one (chosen: 100 Mbit/s for 80 ms, as for a path that dies; the newest packets are
/// the most valuable).
const BUFFER: BufferPolicy = BufferPolicy {
    bytes: 1 << 20,
    age: Duration::from_secs(60),
    overflow: Overflow::DropOldest,
    pace: None,
    drop_duplicates: true,
};

/// A node to run: its interfaces, and its configuration.
#[derive(Debug)]
pub struct Plan {
    /// The interfaces, a mobile's or a gateway's links first.
    pub ports: Vec<Port>,
    /// The configuration, whose interfaces have the names of the ports.
    pub node: Node,
    /// Routes and rules for the kernel.
    pub routing: Routing,
}

/// The configuration of a node.
#[derive(Debug)]
pub enum Node {
    /// A node of Mobile IPv6.
    Mobility(Box<Config>),
    /// One of a pair of gateways.
    Gateway(Box<GatewayConfig>),
}

impl Node {
    /// Builds the node with these interfaces, each given by its name and its MTU in bytes. `random` returns a new
    /// secret at each call, from the kernel's randomness.
    ///
    /// # Errors
    /// Errors of `random`.
    pub fn host(
        &self,
        interfaces: &[(&str, u32)],
        random: impl FnMut() -> io::Result<[u8; 16]>,
    ) -> io::Result<Host> {
        match self {
            Node::Mobility(config) => host(config, interfaces, random),
            Node::Gateway(config) => config.host(interfaces, random),
        }
    }
}

/// Opens the devices of a node, in the order of its interfaces.
///
/// # Errors
/// The first device that cannot be opened. Those opened before are released.
pub fn open_ports(config: &Config, kernel: &mut RouteSocket) -> Result<Vec<Port>, DeviceError> {
    let interfaces = config.interfaces_in_order().into_iter();
    interfaces
        .map(|interface| Device::open(interface, kernel))
        .collect()
}

/// Builds a node of Mobile IPv6, as [`Node::host`] does.
///
/// # Errors
/// Errors of `random`.
pub fn host(
    config: &Config,
    interfaces: &[(&str, u32)],
    mut random: impl FnMut() -> io::Result<[u8; 16]>,
) -> io::Result<Host> {
    let addresses = addresses(config);
    // A configuration without an address is refused.
    let first = addresses.first().copied();
    let mut host = Host::new(first.unwrap_or(Ipv6Addr::LOCALHOST).into(), random()?);
    for &address in addresses.iter().skip(1) {
        if !host.has_address(address.into()) {
            host.add_address(address.into());
        }
    }
    for &(_, mtu) in interfaces {
        host.add_interface(mtu);
    }
    let place = |name: &str| interfaces.iter().position(|(known, _)| *known == name);
    let interface = |name: &str| place(name).map(InterfaceId);
    let mtus = || interfaces.iter().map(|&(_, mtu)| mtu);
    if let Some(mobile) = &config.mobile_node {
        let links = mobile.failback.prefer.len();
        let path_mtu = mtus().take(links).min().unwrap_or(1500);
        let settings = mobile_settings(mobile, path_mtu);
        host.add_layer(MobileNode::new(settings, links, random()?));
        host.set_attachment(attachment(&mobile.failback), false);
    }
    if let Some(agent) = &config.home_agent {
        // It learns of a smaller path MTU by ICMP.
        let path_mtu = mtus().max().unwrap_or(1500);
        host.add_layer(home_agent(agent, path_mtu));
        subscribe(&mut host, &agent.mobiles);
        host.add_layer(HomeNetwork::default());
        let home_network = Rank::HomeNetwork.interface();
        host.routes_mut()
            .set_prefix(agent.home_prefix.0.into(), home_network);
    }
    for (name, router) in &config.access_routers {
        let Some(interface) = interface(name) else {
            continue;
        };
        let settings = advertising(router, interface);
        let router = AccessRouter::new(Instant::ZERO, settings.clone(), Draws::new(random()?));
        let layers = host.layers_mut();
        layers.get_or_add(AccessRouters::default).push(router);
        let prefix = settings.prefix.into();
        host.routes_mut().set_prefix(prefix, interface);
    }
    for (Network(network), name) in &config.routes {
        if let Some(interface) = interface(name) {
            host.routes_mut().set_prefix(*network, interface);
        }
    }
    let tunnel = host.default_tunnel();
    host.routes_mut().set_default(tunnel);
    Ok(host)
}

/// Returns all addresses of a node, its source address first.
fn addresses(config: &Config) -> Vec<Ipv6Addr> {
    let mobile = config.mobile_node.iter();
    let agent = config.home_agent.iter();
    let routers = config.access_routers.values();
    mobile
        .map(|mobile| mobile.home_address.0)
        .chain(config.addresses.iter().map(|address| address.0))
        .chain(agent.map(|agent| agent.address.0))
        .chain(routers.map(|router| router.prefix.0.address_of(router.link_local.0)))
        .collect()
}

/// Builds a mobile's attachment: its access links are the node's first interfaces, by preference.
fn attachment(config: &FailbackConfig) -> Attachment {
    let interfaces: Vec<InterfaceId> = (0..config.prefer.len()).map(InterfaceId).collect();
    let access = interfaces.iter().map(|&id| AccessInterface {
        id,
        // As in a radio network, the mobile is present there even while it uses another link, so that an address is
        // ready when it moves.
        is_network: true,
    });
    Attachment::new(AttachmentSettings {
        interfaces: access.collect(),
        policy: Policy::Preference(Box::new(Preference::new(config.times(), interfaces))),
        registers: true,
        signalling: None,
        detaches_old: false,
    })
}

fn mobile_settings(config: &MobileNodeConfig, path_mtu: u32) -> MobileSettings {
    let prefixes = prefixes(&config.networks);
    MobileSettings {
        home_address: config.home_address.0,
        key: Some(shared_key(config.security_parameter_index, config.key)),
        anchors: None,
        router: (!prefixes.is_empty()).then_some(RouterRegistration {
            prefixes: prefixes.into(),
            explicit: config.registration == Registration::Explicit,
        }),
        interface_identifier: config.home_address.0.to_bits() as u64,
        access: None,
        handover_service: None,
        fleet: Arc::new(FleetSettings {
            home_agent: config.home_agent.0,
            lifetime: config.lifetime.0,
            is_prefix_assigned: false,
            configuration: Arc::new(ConfigurationSettings {
                detection: match config.duplicate_address_detection {
                    true => DuplicateAddressDetection::STANDARD,
                    false => DuplicateAddressDetection::NotNeeded(Uniqueness::HomeNetworkPrefix),
                },
                times: ConfigurationTimes::default(),
                home_prefix: Some(config.home_prefix.0),
            }),
            binding_times: binding_times(config.is_proven),
            buffering: Some(BufferingRequest {
                timeout: binding_times(config.is_proven).initial_timeout,
                ..BufferingRequest::STUDY_D
            }),
            asks_for_bicasting: config.bicast,
            tells_routers: false,
            has_group: false,
            optimizes_routes: false,
            sends_before_acknowledgement: config.is_proven,
            path_mtu,
            clamp_segment_size: true,
        }),
    }
}

/// Returns the timers of registration. Over a path, a lost update is retransmitted sooner than after the second of RFC
/// 6275 section 12 (chosen: three within a second, its MAX_UPDATE_RATE), since the home agent does not detect
/// duplicates before it answers.
fn binding_times(is_proven: bool) -> BindingTimes {
    let times = BindingTimes::default();
    match is_proven {
        true => BindingTimes {
            initial_timeout: Duration::from_millis(250),
            first_registration_timeout: Duration::from_millis(250),
            ..times
        },
        false => times,
    }
}

/// Tells a node that its peer has restarted: a mobile node's home agent without its binding, or the other gateway of a pair
/// without its connections.
pub fn peer_restarted(host: &mut Host, now: Instant) {
    if let Some(mobile) = host.layer_mut::<MobileNode>() {
        mobile.home_agent_restarted(now);
    }
    gateway::peer_restarted(host, now);
}

/// Replaces the mobiles of a node's home agent by these.
pub fn subscribe(host: &mut Host, mobiles: &[SubscriberConfig]) {
    let Some(agent) = host.layers_mut().get_mut::<HomeAgent>() else {
        return;
    };
    let wanted = |home: &Ipv6Addr| mobiles.iter().any(|mobile| mobile.home_address.0 == *home);
    let gone: Vec<Ipv6Addr> = agent.subscribed().filter(|home| !wanted(home)).collect();
    gone.into_iter().for_each(|home| agent.unsubscribe(home));
    for mobile in mobiles {
        let prefixes = prefixes(&mobile.networks);
        agent.subscribe(Subscriber {
            home_address: mobile.home_address.0,
            key: Some(shared_key(mobile.security_parameter_index, mobile.key)),
            prefixes: (!prefixes.is_empty()).then_some(prefixes.into()),
        });
    }
    // Until a router is bound, packets for its networks come from the kernel, and must not go back to it.
    for Network(network) in mobiles.iter().flat_map(|mobile| &mobile.networks) {
        host.routes_mut()
            .set_prefix(*network, Rank::HomeNetwork.interface());
    }
}

fn home_agent(config: &HomeAgentConfig, path_mtu: u32) -> HomeAgent {
    HomeAgent::new(HomeAgentSettings {
        is_anchor_point: false,
        address: config.address.0,
        home_prefix: config.home_prefix.0,
        home_interface: Rank::HomeNetwork.interface(),
        longest_lifetime: config.longest_lifetime.0,
        // There is no home link on which another node could have a mobile's address.
        detection: DuplicateAddressDetection::NotNeeded(Uniqueness::HomeNetworkPrefix),
        retransmission_time: ConfigurationTimes::default().retransmission_time,
        strategy: Strategy::Buffer(BUFFER),
        bicast_on_request: config.bicast.map(|overlap| overlap.0),
        proven_care_of: config.proven_care_of,
        path_mtu,
        clamp_segment_size: true,
    })
}

fn advertising(config: &AccessRouterConfig, interface: InterfaceId) -> AdvertisingSettings {
    let (link_local, prefix) = (config.link_local.0, config.prefix.0);
    let mut settings = AdvertisingSettings::standard(interface, link_local, prefix);
    if config.advertisements == Advertisements::Frequent {
        settings.shortest_interval = Duration::from_millis(30);
        settings.longest_interval = Duration::from_millis(70);
        settings.shortest_spacing = Duration::from_millis(30);
        settings.says_interval = true;
    }
    settings
}

fn prefixes(networks: &[Network]) -> Vec<Prefix> {
    networks.iter().map(|network| network.0).collect()
}

/// Builds the security association of a mobile and its home agent.
pub(crate) fn shared_key(index: SecurityParameterIndex, key: Secret) -> SharedKey {
    SharedKey {
        security_parameter_index: index.0,
        key: key.0,
    }
}
