//! A home network, two foreign agents with or without a gateway above, a modem line, a network with DHCP, a mobile that
//! moves among them, and a correspondent. Every link takes 10 ms.

mod broadcasts;
mod compression;
mod copies;
mod encapsulation;
mod gateways;
mod hostile;
mod losses;
mod preregistration;
mod timelines;

use super::*;
use crate::packet::FlowId;
use crate::testing::{Machines, Net, Wires};
use crate::wire::mobile_ipv4::{Content, SecurityAssociation};
use crate::wire::neighbor_discovery::LinkLayerAddress;
use std::collections::{BTreeMap, BTreeSet};

const HOME_ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 10);
const HOME_AGENT: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const FOREIGN_AGENTS: [Ipv4Addr; 2] = [
    Ipv4Addr::new(203, 0, 113, 1),
    Ipv4Addr::new(203, 0, 113, 129),
];
const GATEWAY: Ipv4Addr = Ipv4Addr::new(203, 0, 112, 1);
const MODEM: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);
const SERVER: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const CORRESPONDENT: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 1);

/// The mobile's interfaces, and thus its links.
const HOME_LINK: InterfaceId = InterfaceId(0);
const FOREIGN_LINKS: [InterfaceId; 2] = [InterfaceId(1), InterfaceId(2)];
const MODEM_LINK: InterfaceId = InterfaceId(3);
const DHCP_LINK: InterfaceId = InterfaceId(4);

/// Access points of the foreign agents.
const POINTS: [LinkLayerAddress; 2] = [
    LinkLayerAddress([2, 0, 0, 0, 0, 1]),
    LinkLayerAddress([2, 0, 0, 0, 0, 2]),
];

const HOP: Duration = Duration::from_millis(10);

/// Runs without losses, and with each one and two of the counted messages lost; `run` takes their places, and returns the
/// number of messages.
fn lose_any_two(run: impl Fn(&[usize]) -> usize) {
    let counted = run(&[]);
    for first in 0..counted {
        run(&[first]);
        for second in first + 1..counted {
            run(&[first, second]);
        }
    }
}

fn association(index: u32) -> SecurityAssociation {
    SecurityAssociation {
        index,
        key: [index as u8; 16],
    }
}

fn advertising(interfaces: &[InterfaceId], prefix_length: u8) -> Advertising {
    Advertising {
        interfaces: interfaces.to_vec(),
        interval: Duration::from_secs(1),
        prefix_length,
    }
}

fn mobile_config() -> MobileNodeConfig {
    MobileNodeConfig {
        home_address: HOME_ADDRESS,
        home_agent: HOME_AGENT,
        home: association(256),
        foreign: Some(association(300)),
        smooth_handoff: true,
        names_received: true,
        sends_at_request: false,
        lifetime: 60,
        simultaneous_bindings: false,
        policy: PolicyTable::new(Vec::new(), Delivery::Triangle),
        encapsulation: Encapsulation::IpInIp,
        header_compression: false,
        broadcasts: false,
        conflict_check: ConflictCheck::Background,
        clock: Clock::default(),
        secret: [1; 16],
    }
}

fn home_agent_config() -> HomeAgentConfig {
    HomeAgentConfig {
        address: HOME_AGENT,
        longest_lifetime: 600,
        simultaneous_bindings: 3,
        reverse_tunnel: true,
        encapsulations: Encapsulations::default(),
        foreign_agents: BTreeMap::new(),
        advertising: advertising(&[HOME_LINK], 24),
        clock: Clock::default(),
        secret: [2; 16],
    }
}

fn foreign_agent_config(place: usize) -> ForeignAgentConfig {
    ForeignAgentConfig {
        address: FOREIGN_AGENTS[place],
        gateways: Vec::new(),
        domain: None,
        longest_lifetime: 600,
        most_visitors: 100,
        reverse_tunnel: true,
        encapsulations: Encapsulations::default(),
        header_compression: false,
        registration_required: false,
        mobiles: [(HOME_ADDRESS, association(300))].into(),
        home_agents: BTreeMap::new(),
        advertising: advertising(&[FOREIGN_LINKS[place]], 25),
        secret: [3 + place as u8; 16],
    }
}

/// Node at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    Mobile,
    Home,
    Foreign(usize),
    Server,
    Correspondent,
}

/// A packet on a link.
#[derive(Clone, Debug)]
struct Sent {
    at: Instant,
    from: Node,
    packet: Packet,
}

impl Sent {
    fn content(&self) -> Option<Content> {
        let received = Received::from_packet(&self.packet)?;
        received.ok().map(|received| received.message.content)
    }
}

/// A packet on a link, with the node where it arrives and the mobile's link to it.
type Arriving = (Node, InterfaceId, Packet);

/// The mobile, the agents and the server, and what a test examines.
struct Agents {
    mobile: MobileNode,
    mobile_config: MobileNodeConfig,
    home: HomeAgent,
    home_config: HomeAgentConfig,
    /// Two foreign agents, and gateways if there are some.
    foreign: Vec<ForeignAgent>,
    foreign_configs: Vec<ForeignAgentConfig>,
    server: AddressServer,
    links_up: BTreeSet<InterfaceId>,
    /// Mobility messages in the order sent.
    signalling: Vec<Sent>,
    /// Numbers of the lost messages.
    lost: BTreeSet<usize>,
    delivered: Vec<(Instant, InterfaceId, Packet)>,
    at_correspondent: Vec<Packet>,
    events: Vec<(Instant, MobileNodeEvent)>,
}

type Network = Net<Agents>;

impl Net<Agents> {
    fn new() -> Network {
        Network::with(mobile_config(), home_agent_config(), false)
    }

    fn with(
        mobile_config: MobileNodeConfig,
        home_config: HomeAgentConfig,
        with_gateway: bool,
    ) -> Network {
        let mut foreign_configs: Vec<_> = (0..2).map(foreign_agent_config).collect();
        if with_gateway {
            for config in &mut foreign_configs {
                config.gateways = vec![GATEWAY];
            }
            foreign_configs.push(ForeignAgentConfig {
                address: GATEWAY,
                advertising: advertising(&[], 24),
                ..foreign_agent_config(0)
            });
        }
        Network::with_agents(mobile_config, home_config, foreign_configs)
    }

    fn with_agents(
        mobile_config: MobileNodeConfig,
        home_config: HomeAgentConfig,
        foreign_configs: Vec<ForeignAgentConfig>,
    ) -> Network {
        let now = Instant::ZERO;
        let mut home = HomeAgent::new(now, home_config.clone());
        home.add_mobile(HOME_ADDRESS, association(256));
        let foreign = foreign_configs.iter().cloned();
        let range = [50, 60].map(|host| Ipv4Addr::new(198, 18, 0, host));
        Net::of(Agents {
            mobile: MobileNode::new(mobile_config.clone()),
            mobile_config,
            home,
            home_config,
            foreign: foreign
                .map(|config| ForeignAgent::new(now, config))
                .collect(),
            foreign_configs,
            server: AddressServer::new(SERVER, 24, range, Duration::from_secs(3600)),
            links_up: BTreeSet::new(),
            signalling: Vec::new(),
            lost: BTreeSet::new(),
            delivered: Vec::new(),
            at_correspondent: Vec::new(),
            events: Vec::new(),
        })
    }

    /// Lets all agents offer these encapsulations from now on.
    fn offer(&mut self, encapsulations: Encapsulations) {
        self.home_config.encapsulations = encapsulations;
        self.restart_home();
        for place in 0..self.foreign.len() {
            self.foreign_configs[place].encapsulations = encapsulations;
            self.restart_foreign(place);
        }
    }

    /// Makes the access points known to the mobile and the agents, and the agents to one another.
    fn introduce(&mut self) {
        for (place, point) in POINTS.into_iter().enumerate() {
            self.mobile.set_access_point(FOREIGN_LINKS[place], point);
            self.foreign[place].set_access_point(point, FOREIGN_LINKS[place]);
            self.foreign[1 - place].know(point, FOREIGN_AGENTS[place]);
        }
    }

    /// Detaches the mobile from all links.
    fn detach_all(&mut self) {
        for link in core::mem::take(&mut self.links_up) {
            self.mobile.detach(link);
        }
    }

    /// Attaches the mobile to a link, in addition to its other links.
    fn attach(&mut self, interface: InterfaceId, care_of: CareOf) {
        self.links_up.insert(interface);
        let now = self.now();
        self.mobile.attach(now, interface, care_of);
        self.settle();
    }

    /// Makes a link, on which the mobile is, the one to be reached over.
    fn return_to(&mut self, interface: InterfaceId, care_of: CareOf) {
        let now = self.now();
        self.mobile.return_to(now, interface, care_of);
        self.settle();
    }

    /// Detaches the mobile from all other links at once.
    fn jump(&mut self, interface: InterfaceId, care_of: CareOf) {
        self.detach_all();
        self.attach(interface, care_of);
    }

    /// Moves to the foreign agent, modem line and so on, by interface number.
    fn jump_to(&mut self, interface: InterfaceId) {
        let care_of = match interface {
            MODEM_LINK => CareOf::Known(MODEM),
            DHCP_LINK => CareOf::Acquired,
            _ => CareOf::ForeignAgent,
        };
        self.jump(interface, care_of);
    }

    fn restart_home(&mut self) {
        self.home = HomeAgent::new(self.now(), self.home_config.clone());
        self.home.add_mobile(HOME_ADDRESS, association(256));
        self.settle();
    }

    fn restart_foreign(&mut self, place: usize) {
        self.foreign[place] = ForeignAgent::new(self.now(), self.foreign_configs[place].clone());
        self.settle();
    }

    /// Restarts the mobile at its link: it forgets all but its clock.
    fn restart_mobile(&mut self) {
        self.mobile = MobileNode::new(self.mobile_config.clone());
        if let Some(&link) = self.links_up.first() {
            self.jump_to(link);
        }
    }

    /// Tells the mobile of another node with its acquired address.
    fn conflict(&mut self) {
        let now = self.now();
        self.mobile.handle_conflict(now, DHCP_LINK);
        self.settle();
    }

    /// Sends a datagram with this number from the correspondent to the home address.
    fn send_data(&mut self, number: u32) {
        let mut packet = datagram(CORRESPONDENT, HOME_ADDRESS, number);
        packet.ip.identification = number as u16;
        self.wires.send((Node::Home, HOME_LINK, packet), HOP);
    }

    fn registered(&self) -> Option<Point> {
        self.mobile.registered(self.now())
    }

    fn bindings(&self) -> Vec<Ipv4Addr> {
        self.home
            .care_of_addresses(self.now(), HOME_ADDRESS)
            .collect()
    }
}

impl Machines for Agents {
    type Message = Arriving;

    fn poll_timeout(&mut self) -> Option<Instant> {
        let foreign = self.foreign.iter().filter_map(ForeignAgent::poll_timeout);
        let others = [self.mobile.poll_timeout(), self.home.poll_timeout()];
        foreign.chain(others.into_iter().flatten()).min()
    }

    fn handle_timeout(&mut self, now: Instant) {
        let due = |timeout: Option<Instant>| timeout.is_some_and(|at| at <= now);
        if due(self.mobile.poll_timeout()) {
            self.mobile.handle_timeout(now);
        }
        if due(self.home.poll_timeout()) {
            self.home.handle_timeout(now);
        }
        for agent in &mut self.foreign {
            if due(agent.poll_timeout()) {
                agent.handle_timeout(now);
            }
        }
        assert!(!due(self.poll_timeout()), "a machine does nothing at {now}");
    }

    fn handle_arrival(&mut self, (to, link, packet): Arriving, wires: &mut Wires<Arriving>) {
        let now = wires.now();
        match to {
            Node::Mobile => {
                if self.links_up.contains(&link)
                    && let Some(packet) = self.mobile.handle_packet(now, link, packet)
                {
                    self.delivered.push((now, link, packet));
                }
            }
            Node::Home => self.arrive_home(link, packet, wires),
            Node::Foreign(place) => {
                let agent = &mut self.foreign[place];
                let own = self.foreign_configs[place].address;
                let is_for_it = match packet.ip.destination {
                    IpAddr::V4(address) => address == own || address.is_multicast(),
                    IpAddr::V6(_) => false,
                };
                if is_for_it {
                    agent.handle_packet(now, link, packet);
                } else if let Some(packet) = agent.forward(now, link, packet)
                    && let Some(node) = self.routed(&packet)
                {
                    wires.send((node, link, packet), HOP);
                }
            }
            Node::Server => {
                self.server.handle_packet(now, link, packet);
            }
            Node::Correspondent => self.at_correspondent.push(packet),
        }
    }

    fn settle(&mut self, wires: &mut Wires<Arriving>) {
        while let Some(sent) = self.mobile.poll_transmit() {
            self.launch(Node::Mobile, sent, wires);
        }
        while let Some(sent) = self.home.poll_transmit() {
            self.launch(Node::Home, sent, wires);
        }
        while let Some(sent) = self.server.poll_transmit() {
            self.launch(Node::Server, sent, wires);
        }
        for place in 0..self.foreign.len() {
            while let Some(sent) = self.foreign[place].poll_transmit() {
                self.launch(Node::Foreign(place), sent, wires);
            }
            while self.foreign[place].poll_event().is_some() {}
        }
        while let Some(event) = self.mobile.poll_event() {
            self.events.push((wires.now(), event));
        }
        while self.home.poll_event().is_some() {}
    }
}

impl Agents {
    fn launch(&mut self, from: Node, sent: Transmit, wires: &mut Wires<Arriving>) {
        let Transmit { interface, packet } = sent;
        let is_signalling = match &packet.body {
            Body::Udp(ports, _) => [434, 67, 68].contains(&ports.destination_port),
            Body::Icmp(IcmpMessage::AgentDiscovery(_)) => true,
            _ => false,
        };
        if is_signalling {
            self.signalling.push(Sent {
                at: wires.now(),
                from,
                packet: packet.clone(),
            });
            if self.lost.contains(&(self.signalling.len() - 1)) {
                return;
            }
        }
        if let Some((to, link)) = self.way(from, interface, &packet) {
            // Every foreign agent and gateway is in a domain.
            let is_inside = |node| matches!(node, Node::Foreign(_) | Node::Mobile);
            let ends = [packet.ip.source, packet.ip.destination];
            let names_the_inside = ends.into_iter().any(is_private);
            assert!(
                is_inside(from) && is_inside(to) || !names_the_inside,
                "{packet:?}"
            );
            wires.send((to, link, packet), HOP);
        }
    }

    /// Returns the node where a packet arrives, and the mobile's link to it.
    fn way(
        &self,
        from: Node,
        interface: Option<InterfaceId>,
        packet: &Packet,
    ) -> Option<(Node, InterfaceId)> {
        if let Some(link) = interface {
            if !self.links_up.contains(&link) {
                return None;
            }
            if from != Node::Mobile {
                return Some((Node::Mobile, link));
            }
            // On a line into the network, no node takes packets for the link.
            let at_link = match link {
                HOME_LINK => Some(Node::Home),
                DHCP_LINK => Some(Node::Server),
                _ => FOREIGN_LINKS
                    .iter()
                    .position(|&own| own == link)
                    .map(Node::Foreign),
            };
            let is_local = match packet.ip.destination {
                IpAddr::V4(address) => address.is_multicast() || address.is_broadcast(),
                IpAddr::V6(_) => false,
            };
            return match (at_link, is_local) {
                (Some(Node::Foreign(place)), _) => Some((Node::Foreign(place), link)),
                (at_link, true) => at_link.map(|node| (node, link)),
                (_, false) => self.routed(packet).map(|node| (node, link)),
            };
        }
        let to = self.routed(packet)?;
        let link = match packet.ip.destination {
            IpAddr::V4(MODEM) => MODEM_LINK,
            IpAddr::V4(own) if own.octets()[0] == 203 => {
                FOREIGN_LINKS[usize::from(own.octets()[3] / 128)]
            }
            _ if to == Node::Mobile => DHCP_LINK,
            _ => HOME_LINK,
        };
        (to != Node::Mobile || self.links_up.contains(&link)).then_some((to, link))
    }

    fn routed(&self, packet: &Packet) -> Option<Node> {
        let IpAddr::V4(destination) = packet.ip.destination else {
            return None;
        };
        let mut agents = self.foreign_configs.iter();
        if let Some(place) = agents.position(|config| config.address == destination) {
            return Some(Node::Foreign(place));
        }
        Some(match destination.octets() {
            [192, 0, 2, _] => Node::Home,
            [198, 51, 100, _] | [198, 18, 0, _] | [203, 0, 113, _] => Node::Mobile,
            _ => Node::Correspondent,
        })
    }

    fn arrive_home(&mut self, link: InterfaceId, packet: Packet, wires: &mut Wires<Arriving>) {
        let IpAddr::V4(destination) = packet.ip.destination else {
            return;
        };
        if destination == HOME_AGENT || destination.is_multicast() {
            self.home.handle_packet(wires.now(), link, packet);
            return;
        }
        // The home link, if the mobile is there.
        if let Some(packet) = self.home.tunnel(wires.now(), packet)
            && destination == HOME_ADDRESS
            && self.links_up.contains(&HOME_LINK)
        {
            wires.send((Node::Mobile, HOME_LINK, packet), HOP);
        }
    }

    /// Counts the arrivals of each number at the mobile.
    fn received(&self, number: u32) -> usize {
        let all = self.delivered.iter();
        all.filter(|(_, _, packet)| packet.flow == Some(FlowId(number)))
            .count()
    }

    /// Lists the messages to and from port 434, with sender and time.
    fn registrations(&self) -> Vec<(Instant, Node, Content)> {
        let all = self.signalling.iter();
        all.filter_map(|sent| Some((sent.at, sent.from, sent.content()?)))
            .collect()
    }
}

fn is_private(address: IpAddr) -> bool {
    matches!(address, IpAddr::V4(address) if address.octets()[..2] == [192, 168])
}

fn datagram(source: Ipv4Addr, destination: Ipv4Addr, number: u32) -> Packet {
    let mut outbox = Outbox::default();
    let ip = outbox.header(source, destination, 64);
    Packet {
        ip,
        flow: Some(FlowId(number)),
        retransmission: false,
        bit_errors: BitErrors::NONE,
        identity: Identity::NONE,
        body: Body::Udp(
            UdpHeader {
                source_port: 5000,
                destination_port: 5001,
            },
            Payload::Pattern {
                stream: number,
                offset: 0,
                length: 100,
            },
        ),
    }
}

/// RFC 2003 section 3.1.
#[test]
fn a_tunnel_copies_the_type_of_service() {
    let mut outbox = Outbox::default();
    let mut packet = datagram(CORRESPONDENT, HOME_ADDRESS, 1);
    packet.ip.traffic_class = 0xb8;
    let tunnel = Tunnel {
        interface: None,
        entry: HOME_AGENT,
        exit: Ipv4Addr::new(10, 9, 0, 2),
        encapsulation: Encapsulation::IpInIp,
        forwarded: true,
    };
    assert!(outbox.tunnel(Instant::ZERO, tunnel, packet).is_ok());
    let sent = outbox.pop().unwrap();
    assert_eq!(sent.packet.ip.traffic_class, 0xb8);
}
