//! A small network of agents, in which any signalling message can be lost.

mod access;
mod anchors;
mod announcement;
mod group;
mod handover;
mod handover_service;
mod handover_service_events;
mod hostile;
mod ipv4_networks;
mod losses;
mod network_handovers;
mod optimization;
mod predicted;
mod prefix;
mod properties;
mod registration;
mod study_d;

use super::*;
use crate::host::layer::Neighbor;
use crate::interface::InterfaceId;
use crate::mobility::address_configuration::{
    ConfigurationSettings, ConfigurationTimes, DuplicateAddressDetection, Uniqueness,
    icao_interface_identifier,
};
use crate::mobility::binding::BindingTimes;
use crate::mobility::buffering::{BufferPolicy, Overflow};
use crate::mobility::draws::Draws;
use crate::mobility::handover_service::PointOfService;
use crate::mobility::network_access::AccessServer;
use crate::packet::Payload;
pub(super) use crate::testing::at;
use crate::testing::{Machines, Net, Wires};
use crate::time::{Duration, Instant};
use crate::wire::icmp::IcmpMessage;
use crate::wire::ikev2;
use crate::wire::mih::{self, MihfId};
use crate::wire::mobility_header::{BindingLifetime, BindingStatus};
use crate::wire::neighbor_discovery::{AnchorPoint, LinkLayerAddress, ProxyRouter};
use crate::wire::prefix::Ipv6Prefix;
use crate::wire::radius;
use crate::wire::udp::UdpHeader;
use std::sync::Arc;

pub(super) fn ip(text: &str) -> Ipv6Addr {
    text.parse().expect("an address")
}

pub(super) fn prefix(text: &str, length: u8) -> Ipv6Prefix {
    Ipv6Prefix::new(ip(text), length).expect("a prefix")
}

pub(super) const HOME: &str = "2001:db8:100::abc";
pub(super) const HOME_AGENT: &str = "2001:db8:100::1";
pub(super) const CORRESPONDENT: &str = "2001:db8:200::5";
/// The correspondent's IPv4 address.
pub(super) const CORRESPONDENT_V4: &str = "198.51.100.5";
pub(super) const ACCESS_SERVER: &str = "2001:db8:400::3";
/// A point of service, and the gateway of another network.
pub(super) const SERVICES: [&str; 2] = ["2001:db8:500::7", "2001:db8:600::8"];
pub(super) const BEHIND: &str = "2001:db8:aaaa::7";
pub(super) const NO_DETECTION: DuplicateAddressDetection =
    DuplicateAddressDetection::NotNeeded(Uniqueness::IcaoAddress);

/// Policy of all buffers.
pub(super) const POLICY: BufferPolicy = BufferPolicy {
    bytes: 100_000,
    age: Duration::from_secs(30),
    overflow: Overflow::DropOldest,
    pace: None,
    drop_duplicates: true,
};

/// Returns the prefix of a link: link 0 is the home link, links 1 and 2 are foreign.
pub(super) fn link_prefix(link: usize) -> Ipv6Prefix {
    prefix(
        ["2001:db8:100::", "2001:db8:301::", "2001:db8:302::"][link],
        64,
    )
}

/// Returns the care-of address on a foreign link.
pub(super) fn care_of(link: usize) -> Ipv6Addr {
    link_prefix(link).address_of(ip("::abc"))
}

pub(super) fn mobile_settings() -> MobileSettings {
    MobileSettings {
        home_address: ip(HOME),
        key: None,
        anchors: None,
        router: None,
        interface_identifier: icao_interface_identifier(0xABC),
        access: None,
        handover_service: None,
        fleet: Arc::new(FleetSettings {
            home_agent: ip(HOME_AGENT),
            lifetime: BindingLifetime::at_most(600),
            is_prefix_assigned: false,
            configuration: configuration(NO_DETECTION),
            binding_times: BindingTimes::default(),
            buffering: None,
            asks_for_bicasting: false,
            tells_routers: false,
            has_group: false,
            optimizes_routes: false,
            sends_before_acknowledgement: false,
            path_mtu: 1500,
            clamp_segment_size: false,
        }),
    }
}

/// Returns the mobile's settings with some of the fleet's changed.
pub(super) fn mobile_with(change: impl FnOnce(&mut FleetSettings)) -> MobileSettings {
    let mut settings = mobile_settings();
    change(Arc::make_mut(&mut settings.fleet));
    settings
}

pub(super) fn configuration(detection: DuplicateAddressDetection) -> Arc<ConfigurationSettings> {
    Arc::new(ConfigurationSettings {
        detection,
        times: ConfigurationTimes::default(),
        home_prefix: Some(link_prefix(0)),
    })
}

pub(super) fn agent_settings() -> HomeAgentSettings {
    HomeAgentSettings {
        is_anchor_point: false,
        address: ip(HOME_AGENT),
        home_prefix: link_prefix(0),
        home_interface: InterfaceId(0),
        longest_lifetime: BindingLifetime::at_most(3600),
        detection: DuplicateAddressDetection::NotNeeded(Uniqueness::HomeNetworkPrefix),
        retransmission_time: Duration::from_secs(1),
        strategy: Strategy::Forward,
        bicast_on_request: None,
        proven_care_of: None,
        path_mtu: 1500,
        clamp_segment_size: false,
    }
}

pub(super) fn subscriber() -> Subscriber {
    Subscriber {
        home_address: ip(HOME),
        key: None,
        prefixes: None,
    }
}

/// The correspondent's address of the same IP version as another.
fn correspondent_for(address: IpAddr) -> IpAddr {
    let correspondent = match address {
        IpAddr::V4(_) => CORRESPONDENT_V4,
        IpAddr::V6(_) => CORRESPONDENT,
    };
    correspondent.parse().expect("an address")
}

/// The `number`th datagram of a sequence.
pub(super) fn datagram(from: impl Into<IpAddr>, to: impl Into<IpAddr>, number: u64) -> Packet {
    let header = UdpHeader {
        source_port: 1,
        destination_port: 2,
    };
    let payload = Payload::Pattern {
        stream: 1,
        offset: number,
        length: 100,
    };
    crate::mobility::packet(from.into(), to.into(), Body::Udp(header, payload))
}

fn number_of(packet: &Packet) -> Option<u64> {
    match &packet.body {
        Body::Udp(_, Payload::Pattern { offset, .. }) => Some(*offset),
        _ => None,
    }
}

/// Names a packet's message for a timeline, in one word, through tunnels.
pub(super) fn name_of(packet: &Packet) -> &'static str {
    use crate::wire::neighbor_discovery::NeighborDiscovery as Discovery;
    match &packet.body {
        Body::Tunnel(inner) => name_of(inner),
        Body::Extended(extended) => match &extended.body {
            Body::Mobility(message) => name_of_message(message),
            _ => "data",
        },
        Body::Mobility(message) => name_of_message(message),
        Body::Icmp(IcmpMessage::NeighborDiscovery(message)) => match **message {
            Discovery::RouterSolicitation(_) => "RS",
            Discovery::RouterAdvertisement(_) => "RA",
            Discovery::NeighborSolicitation(_) => "NS",
            Discovery::NeighborAdvertisement(_) => "NA",
            Discovery::ProxySolicitation(_) => "RtSolPr",
            Discovery::ProxyAdvertisement(_) => "PrRtAdv",
        },
        Body::Icmp(IcmpMessage::MulticastListenerReport(_)) => "MLD",
        Body::Icmp(IcmpMessage::Error { .. }) => "error",
        Body::Udp(ports, Payload::Bytes(_))
            if [radius::PORT, mih::PORT, ikev2::PORT].contains(&ports.source_port) =>
        {
            packet.signal().map_or("unread", |signal| signal.name)
        }
        _ => "data",
    }
}

fn name_of_message(message: &MobilityMessage) -> &'static str {
    match message {
        MobilityMessage::BindingRefreshRequest => "BRR",
        MobilityMessage::HomeTestInit { .. } => "HoTI",
        MobilityMessage::CareOfTestInit { .. } => "CoTI",
        MobilityMessage::HomeTest(_) => "HoT",
        MobilityMessage::CareOfTest(_) => "CoT",
        MobilityMessage::BindingUpdate(update) if update.packet_buffering.is_some() => "MBU",
        MobilityMessage::BindingUpdate(update)
            if !update.home_registration && update.authenticator.is_none() =>
        {
            "LBU"
        }
        MobilityMessage::BindingUpdate(_) => "BU",
        MobilityMessage::BindingAcknowledgement(answer) if answer.packet_buffering.is_some() => {
            "MBA"
        }
        MobilityMessage::BindingAcknowledgement(_) => "BA",
        MobilityMessage::BindingError(_) => "BE",
        MobilityMessage::FastBindingUpdate(_) => "FBU",
        MobilityMessage::FastBindingAcknowledgement(_) => "FBack",
        MobilityMessage::HandoverInitiate(_) => "HI",
        MobilityMessage::HandoverAcknowledge(_) => "HAck",
    }
}

#[derive(Debug)]
pub(super) enum Arrival {
    /// From the network to the router of a link.
    Edge {
        interface: usize,
        link: usize,
        packet: Packet,
    },
    Mobile {
        interface: usize,
        link: usize,
        packet: Packet,
    },
    Router {
        link: usize,
        packet: Packet,
    },
    HomeAgent(Packet),
    Anchor(usize, Packet),
    Correspondent(Packet),
    AccessServer(Packet),
    Service(usize, Packet),
}

/// A mobile with two interfaces, its home agent, a correspondent, and the routers of three links.
pub(super) struct Agents {
    pub mobile: MobileNode,
    pub home_agent: HomeAgent,
    /// Mobility anchor points.
    pub anchors: Vec<HomeAgent>,
    pub correspondent: Correspondent,
    pub access_server: AccessServer,
    pub services: [PointOfService; 2],
    pub routers: Vec<AccessRouter>,
    /// Policy of routers for packets of a mobile that leaves.
    pub buffering: Option<BufferPolicy>,
    /// Link of each interface of the mobile.
    pub links: [Option<usize>; 2],
    /// Delay of every path.
    pub delay: Duration,
    /// Indices of lost signalling messages, in the order sent.
    pub lost: Vec<usize>,
    /// Names of lost signalling messages.
    pub lost_names: Vec<&'static str>,
    /// Times and names of the messages sent.
    pub ladder: Vec<(Instant, &'static str)>,
    /// Numbers of the datagrams received by the mobile or the network behind it.
    pub got: Vec<u64>,
    /// Numbers of the datagrams received by the correspondent, with their source addresses.
    pub answered: Vec<(u64, IpAddr)>,
    /// Packets that reached a link without the mobile, by time and care-of address.
    pub stale: Vec<(Instant, IpAddr)>,
    pub errors: Vec<Packet>,
    /// Copies sent by home agents before their replacement.
    pub copies: u64,
    pub events: Vec<(Instant, MobileEvent)>,
}

pub(super) type World = Net<Agents>;

fn router(link: usize) -> AccessRouter {
    router_with(link, &[])
}

/// Makes the router of a link, which advertises anchor points.
pub(super) fn router_with(link: usize, anchor_points: &[AnchorPoint]) -> AccessRouter {
    let link_local = ip("fe80::1").to_bits() + link as u128;
    let settings = AdvertisingSettings::standard(
        InterfaceId(0),
        Ipv6Addr::from_bits(link_local),
        link_prefix(link),
    );
    let settings = AdvertisingSettings {
        home_agent: link == 0,
        anchor_points: anchor_points.into(),
        ..settings
    };
    AccessRouter::new(Instant::ZERO, settings, Draws::new([link as u8; 16]))
}

/// Makes a router a member of the mobile's group; returns its address.
fn join(router: &mut AccessRouter, policy: BufferPolicy) -> Ipv6Addr {
    let mobile = GroupMobile {
        home_address: ip(HOME),
        network: Some(prefix("2001:db8:aaaa::", 48)),
        home_agent: ip(HOME_AGENT),
    };
    router.join(mobile, policy);
    router.settings().address
}

impl World {
    pub(super) fn new(
        mobile: MobileSettings,
        agent: HomeAgentSettings,
        subscriber: Subscriber,
    ) -> World {
        let mut home_agent = HomeAgent::new(agent);
        home_agent.subscribe(subscriber);
        Net::of(Agents {
            mobile: MobileNode::new(mobile, 2, [9; 16]),
            home_agent,
            anchors: Vec::new(),
            correspondent: Correspondent::new(ip(CORRESPONDENT), [5; 20], [6; 16]),
            access_server: AccessServer::new(ip(ACCESS_SERVER)),
            services: SERVICES
                .map(|address| PointOfService::new(MihfId::new(address.as_bytes()), ip(address))),
            routers: (0..3).map(router).collect(),
            buffering: None,
            links: [None; 2],
            delay: Duration::from_millis(20),
            lost: Vec::new(),
            lost_names: Vec::new(),
            ladder: Vec::new(),
            got: Vec::new(),
            answered: Vec::new(),
            stale: Vec::new(),
            errors: Vec::new(),
            copies: 0,
            events: Vec::new(),
        })
    }

    /// The usual network: no detection, no buffering, no optimisation.
    pub(super) fn plain() -> World {
        World::new(mobile_settings(), agent_settings(), subscriber())
    }

    /// Makes routers hold packets for a mobile that leaves.
    pub(super) fn with_buffering_routers(mut self, policy: BufferPolicy) -> World {
        self.buffering = Some(policy);
        self
    }

    /// Makes the routers know one another, and the mobile the access points of its interfaces: interface 0 leads to link
    /// 1 and interface 1 to link 2.
    pub(super) fn with_known_routers(mut self, policy: BufferPolicy) -> World {
        let point = |link: usize| LinkLayerAddress([2, 0, 0, 0, 0, link as u8]);
        for (own, other) in [(1, 2), (2, 1), (0, 1), (0, 2), (1, 0), (2, 0)] {
            let settings = self.routers[other].settings();
            let known = ProxyRouter {
                address: settings.address,
                prefix: settings.prefix,
            };
            self.routers[own].know(point(other), known, policy);
        }
        for link in [1, 2] {
            let interface = InterfaceId(link - 1);
            self.mobile.set_access_point(interface, point(link));
        }
        self
    }

    /// Makes the routers of foreign links get copies of packets for the mobile and the network behind it.
    pub(super) fn with_group(mut self, policy: BufferPolicy) -> World {
        let members = [1, 2].map(|link| join(&mut self.routers[link], policy));
        self.home_agent.form_group(ip(HOME), &members);
        self
    }

    /// Attaches an interface of the mobile to a link; both ends get the link event.
    pub(super) fn attach(&mut self, interface: usize, link: usize) {
        let now = self.now();
        self.links[interface] = Some(link);
        self.mobile.link_up(now, InterfaceId(interface));
        let neighbor = self.neighbor(link);
        self.routers[link].handle_arrival(now, neighbor);
        self.settle();
    }

    /// Detaches an interface from its link; both ends get the link event.
    pub(super) fn detach(&mut self, interface: usize) {
        let now = self.now();
        if let Some(link) = self.links[interface].take() {
            let neighbor = self.neighbor(link);
            self.routers[link].handle_loss(now, neighbor);
        }
        self.mobile.link_down(now, InterfaceId(interface));
        self.settle();
    }

    /// Sends a datagram from the correspondent to the mobile, or behind it.
    pub(super) fn send_down(&mut self, to: impl Into<IpAddr>, number: u64) {
        let to = to.into();
        let packet = datagram(correspondent_for(to), to, number);
        let now = self.now();
        let packet = self.correspondent.handle_outgoing(now, packet);
        let (arrival, delay) = (self.way(packet), self.delay);
        self.wires.send(arrival, delay);
        self.settle();
    }

    /// Sends a datagram from the mobile, or a node behind it, to the correspondent.
    pub(super) fn send_up(&mut self, from: impl Into<IpAddr>, number: u64) {
        let from = from.into();
        let packet = datagram(from, correspondent_for(from), number);
        let now = self.now();
        self.mobile.handle_outgoing(now, packet);
        self.settle();
    }
}

impl Agents {
    /// Returns the mobile as the router of a link knows it.
    pub fn neighbor(&self, link: usize) -> Neighbor {
        Neighbor {
            address: IpAddr::V6(if link == 0 { ip(HOME) } else { care_of(link) }),
            network: (link == 0).then(|| prefix("2001:db8:aaaa::", 48)),
            is_told: true,
            buffering: self.buffering,
        }
    }

    /// Lists the names of the messages sent since a time.
    pub fn names_since(&self, since: Instant) -> Vec<&'static str> {
        let since = self.ladder.iter().filter(|(at, _)| *at >= since);
        since.map(|&(_, name)| name).collect()
    }

    /// Lists the times of a message, in milliseconds.
    pub fn times_of(&self, name: &str) -> Vec<u64> {
        let named = self.ladder.iter().filter(|(_, one)| *one == name);
        named.map(|(at, _)| at.as_nanos() / 1_000_000).collect()
    }

    /// Records a packet for the mobile's transports, or for the network behind it.
    fn hear(&mut self, packet: Packet) {
        match number_of(&packet) {
            Some(number) => self.got.push(number),
            None => self.errors.push(packet),
        }
    }

    /// Returns the place where a packet arrives that is routed from anywhere.
    fn way(&self, packet: Packet) -> Arrival {
        if self.home_agent.intercepts(packet.ip.destination) {
            Arrival::HomeAgent(packet)
        } else {
            self.way_past_agent(packet)
        }
    }

    fn way_past_agent(&self, packet: Packet) -> Arrival {
        let IpAddr::V6(destination) = packet.ip.destination else {
            assert_eq!(packet.ip.destination.to_string(), CORRESPONDENT_V4);
            return Arrival::Correspondent(packet);
        };
        if destination == ip(HOME_AGENT) {
            return Arrival::HomeAgent(packet);
        }
        if destination == ip(CORRESPONDENT) {
            return Arrival::Correspondent(packet);
        }
        if destination == ip(ACCESS_SERVER) {
            return Arrival::AccessServer(packet);
        }
        if let Some(number) = SERVICES.iter().position(|&one| ip(one) == destination) {
            return Arrival::Service(number, packet);
        }
        let serves = |anchor: &HomeAgent| anchor.settings().home_prefix.contains(destination);
        if let Some(number) = self.anchors.iter().position(serves) {
            return Arrival::Anchor(number, packet);
        }
        let behind = prefix("2001:db8:aaaa::", 48).contains(destination);
        let link = (0..3).find(|&link| link_prefix(link).contains(destination));
        let Some(link) = link.or(behind.then_some(0)) else {
            panic!("nobody is at {destination}");
        };
        let interface = (0..2).find(|&one| self.links[one] == Some(link));
        if destination == self.routers[link].settings().address {
            return Arrival::Router { link, packet };
        }
        let interface = interface.unwrap_or(0);
        Arrival::Edge {
            interface,
            link,
            packet,
        }
    }

    fn post(&mut self, arrival: Arrival, wires: &mut Wires<Arrival>) {
        let (Arrival::Edge { packet, .. }
        | Arrival::Mobile { packet, .. }
        | Arrival::Router { packet, .. }
        | Arrival::HomeAgent(packet)
        | Arrival::Anchor(_, packet)
        | Arrival::Correspondent(packet)
        | Arrival::AccessServer(packet)
        | Arrival::Service(_, packet)) = &arrival;
        if self.count(packet, wires.now()) {
            return;
        }
        wires.send(arrival, self.delay);
    }

    /// Records a signalling message; returns true if it is lost.
    fn count(&mut self, packet: &Packet, now: Instant) -> bool {
        let name = name_of(packet);
        if name == "data" {
            return false;
        }
        let lost = self.lost.contains(&self.ladder.len()) || self.lost_names.contains(&name);
        self.ladder.push((now, name));
        lost
    }
}

impl Machines for Agents {
    type Message = Arrival;

    fn poll_timeout(&mut self) -> Option<Instant> {
        let routers = self.routers.iter().map(AccessRouter::poll_timeout);
        let anchors = self.anchors.iter().filter_map(HomeAgent::poll_timeout);
        let services = self.services.iter().map(PointOfService::poll_timeout);
        let next = [
            self.mobile.poll_timeout(),
            self.home_agent.poll_timeout(),
            self.correspondent.poll_timeout(),
            self.access_server.poll_timeout(),
            routers.min(),
            anchors.min(),
        ];
        next.into_iter().chain(services).flatten().min()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.mobile.handle_timeout(now);
        self.home_agent.handle_timeout(now);
        for anchor in &mut self.anchors {
            anchor.handle_timeout(now);
        }
        self.correspondent.handle_timeout(now);
        self.access_server.handle_timeout(now);
        for router in &mut self.routers {
            router.handle_timeout(now);
        }
        for service in &mut self.services {
            service.handle_timeout(now);
        }
    }

    fn handle_arrival(&mut self, arrival: Arrival, wires: &mut Wires<Arrival>) {
        let now = wires.now();
        match arrival {
            Arrival::Edge {
                interface,
                link,
                packet,
            } => {
                if let Some(packet) = self.routers[link].take(now, packet) {
                    // The mobile may have come meanwhile, by its other interface.
                    let mut interfaces = 0..2;
                    let there = interfaces.find(|&one| self.links[one] == Some(link));
                    let interface = there.unwrap_or(interface);
                    let arrival = Arrival::Mobile {
                        interface,
                        link,
                        packet,
                    };
                    self.handle_arrival(arrival, wires);
                }
            }
            Arrival::Mobile {
                interface,
                link,
                packet,
            } => {
                let takes = self.mobile.takes(packet.ip.destination);
                if self.links[interface] == Some(link) && takes {
                    let received = self
                        .mobile
                        .handle_packet(now, InterfaceId(interface), packet);
                    received.into_iter().for_each(|packet| self.hear(packet));
                } else {
                    self.stale.push((now, packet.ip.destination));
                }
            }
            Arrival::Router { link, packet } => {
                let Some(packet) = self.routers[link].take_message(now, packet) else {
                    return;
                };
                let Some(packet) = self.routers[link].take(now, packet) else {
                    return;
                };
                self.routers[link].handle_packet(now, &packet);
                if link == 0 {
                    self.home_agent.handle_packet(now, packet);
                }
            }
            Arrival::HomeAgent(packet) => {
                let Some(packet) = self.routers[0].take_message(now, packet) else {
                    return;
                };
                // The mobile has returned since the packet was sent here; the node forwards it.
                if let Some(packet) = self.home_agent.handle_packet(now, packet)
                    && packet.ip.destination != IpAddr::V6(ip(HOME_AGENT))
                {
                    self.post(self.way_past_agent(packet), wires);
                }
            }
            Arrival::Anchor(number, packet) => {
                if let Some(packet) = self.anchors[number].handle_packet(now, packet) {
                    self.stale.push((now, packet.ip.destination));
                }
            }
            Arrival::AccessServer(packet) => {
                assert_eq!(self.access_server.handle_packet(now, packet), None);
            }
            Arrival::Service(number, packet) => {
                assert_eq!(self.services[number].handle_packet(now, packet), None);
            }
            Arrival::Correspondent(packet) => {
                if let Some(packet) = self.correspondent.handle_packet(now, packet)
                    && let Some(number) = number_of(&packet)
                {
                    self.answered.push((number, packet.ip.source));
                }
            }
        }
    }

    fn settle(&mut self, wires: &mut Wires<Arrival>) {
        while let Some((towards, packet)) = self.mobile.poll_transmit() {
            let Towards::Interface(interface) = towards else {
                panic!("a mobile's packet leaves by an interface");
            };
            let Some(link) = self.links[interface.0] else {
                continue;
            };
            let IpAddr::V6(destination) = packet.ip.destination else {
                panic!("not of IPv6");
            };
            if destination.is_multicast() || destination.is_unicast_link_local() {
                self.post(Arrival::Router { link, packet }, wires);
            } else {
                self.post(self.way(packet), wires);
            }
        }
        while let Some((towards, packet)) = self.home_agent.poll_transmit() {
            match towards {
                Towards::Network => self.post(self.way_past_agent(packet), wires),
                Towards::Interface(_) => {
                    for interface in 0..2 {
                        let packet = packet.clone();
                        if self.links[interface] == Some(0) {
                            self.post(
                                Arrival::Mobile {
                                    interface,
                                    link: 0,
                                    packet,
                                },
                                wires,
                            );
                        } else if interface == 0 {
                            self.count(&packet, wires.now());
                        }
                    }
                }
            }
        }
        for number in 0..self.anchors.len() {
            while let Some((towards, packet)) = self.anchors[number].poll_transmit() {
                // Nobody else is on the link of the regional addresses.
                if towards == Towards::Network {
                    self.post(self.way(packet), wires);
                }
            }
        }
        while let Some(packet) = self.correspondent.poll_transmit() {
            self.post(self.way(packet), wires);
        }
        while let Some(packet) = self.access_server.poll_transmit() {
            self.post(self.way(packet), wires);
        }
        for number in 0..SERVICES.len() {
            while let Some(packet) = self.services[number].poll_transmit() {
                self.post(self.way(packet), wires);
            }
        }
        for link in 0..3 {
            while let Some((towards, packet)) = self.routers[link].poll_transmit() {
                if towards == Towards::Network {
                    self.post(self.way(packet), wires);
                    continue;
                }
                for interface in 0..2 {
                    if self.links[interface] == Some(link) {
                        let packet = packet.clone();
                        self.post(
                            Arrival::Mobile {
                                interface,
                                link,
                                packet,
                            },
                            wires,
                        );
                    }
                }
            }
        }
        while let Some(received) = self.mobile.poll_received() {
            let (Received::Local(packet) | Received::Behind(packet)) = received;
            self.hear(packet);
        }
        while let Some(event) = self.mobile.poll_event() {
            self.events.push((wires.now(), event));
        }
        while self.home_agent.poll_event().is_some() {}
    }
}
