//! Real hosts: nodes of the world whose packets a kernel writes and reads.
//!
//! Whoever runs the world against a clock hands in what a host wrote ([`World::inject`]) and takes out what is
//! for it ([`World::poll_delivery`]). A port stands for a network interface of a real host. A mobile has one for
//! each of its access links, and its kernel chooses among them as [`World::poll_interface_event`] tells it to;
//! any other host has one, behind which the world's routes pick the link. What a real host would have to
//! forward for others, the world forwards for it.

use super::World;
use crate::packets::PacketId;
pub use crate::scenario::model::AddressPolicy;
use crate::scenario::model::{LinkIndex, NodeIndex};
use baton_proto::host::InterfaceId;
use baton_proto::packet::{IpHeader, Packet};
use baton_proto::time::Instant;
use baton_proto::wire::icmp::IcmpError;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::collections::VecDeque;

/// First address of nodes: 10.0.0.1 and fd62:6174:6f6e::1 (a unique local prefix, RFC 4193).
const NODES: (u32, u128) = (0x0a00_0001, 0xfd62_6174_6f6e_0000_0000_0000_0000_0001);
/// First address of a mobile on one of its access links: 172.16.0.1 and fd62:6174:6f6e:1::1.
const ACCESS: (u32, u128) = (0xac10_0001, 0xfd62_6174_6f6e_0001_0000_0000_0000_0001);

/// Which hosts are real, and what their kernels see of handovers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveHosts {
    /// The nodes.
    pub hosts: Vec<NodeIndex>,
    /// What becomes of a mobile's addresses at a handover.
    pub address: AddressPolicy,
    /// Whether what a mobile sends leaves each access link under an address and port of that link's.
    pub nat: bool,
}

/// A port by its place in [`World::ports`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId(pub usize);

/// An interface of a real host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// The host.
    pub node: NodeIndex,
    /// The access link to which it leads; `None` if the world's routes pick the link.
    pub link: Option<LinkIndex>,
    /// Largest packet at time zero, in bytes.
    pub mtu: u32,
    /// IPv4 and IPv6 address that stand on this interface while it is up.
    pub addresses: Vec<IpAddr>,
}

/// What a real host's kernel is to be told. The first events describe time zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterfaceEvent {
    /// The interface gets its carrier and addresses. Only under [`AddressPolicy::New`], where every interface of
    /// a mobile begins without; all others are up from the start to the end.
    Up(PortId),
    /// The interface loses its carrier and addresses.
    Down(PortId),
    /// The mobile's default route leads out of this interface from now on.
    Default {
        /// The mobile.
        node: NodeIndex,
        /// The interface.
        port: PortId,
    },
    /// The interface takes packets of this many bytes from now on.
    Mtu(PortId, u32),
}

/// A packet that has come to a real host.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// When.
    pub at: Instant,
    /// Where.
    pub port: PortId,
    /// What: [`Packet::encode_damaged`] writes it out.
    pub packet: Packet,
}

/// What real hosts wrote that is not for the world to carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotForwarded {
    /// No IP packet: too short, another version, impossible lengths, or a wrong header checksum.
    pub malformed: u64,
    /// For many receivers, or from or for an address that means something on one link only (neighbour
    /// discovery and the like).
    pub not_routable: u64,
}

impl NotForwarded {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.malformed + self.not_routable
    }
}

/// The real hosts of a world.
#[derive(Debug, Default)]
pub(super) struct RealHosts {
    pub settings: LiveHosts,
    pub ports: Vec<Port>,
    /// Addresses that lie behind one access link, whatever is in use.
    pub behind_links: Vec<BehindLink>,
    /// What each interface takes now, and whether it is up.
    states: Vec<PortState>,
    deliveries: VecDeque<Delivery>,
    events: VecDeque<InterfaceEvent>,
    not_forwarded: NotForwarded,
}

impl RealHosts {
    pub fn new(settings: LiveHosts) -> RealHosts {
        RealHosts {
            settings,
            ..RealHosts::default()
        }
    }
}

/// What the kernel was told of an interface.
#[derive(Clone, Copy, Debug)]
struct PortState {
    mtu: u32,
    up: bool,
    default: bool,
}

/// An address that is reached over one access link only.
#[derive(Clone, Copy, Debug)]
pub(super) struct BehindLink {
    pub address: IpAddr,
    /// The node at the network's end of the link, and its interface.
    pub far: (usize, InterfaceId),
}

/// IPv4 and IPv6 address of the `number`-th after the first ones.
pub(super) fn addresses(first: (u32, u128), number: usize) -> [IpAddr; 2] {
    [
        Ipv4Addr::from_bits(first.0.wrapping_add(number as u32)).into(),
        Ipv6Addr::from_bits(first.1.wrapping_add(number as u128)).into(),
    ]
}

/// The addresses of a node: of all nodes IPv4, and IPv6 in a world with real hosts.
pub(super) fn node_addresses(node: usize) -> [IpAddr; 2] {
    addresses(NODES, node)
}

/// Whether a packet is from one host to one host, both of which can be away from the link.
fn is_routable(ip: &IpHeader) -> bool {
    [ip.source, ip.destination]
        .iter()
        .all(|address| match address {
            IpAddr::V4(address) => {
                !(address.is_multicast()
                    || address.is_broadcast()
                    || address.is_unspecified()
                    || address.is_link_local()
                    || address.is_loopback())
            }
            IpAddr::V6(address) => {
                !(address.is_multicast()
                    || address.is_unspecified()
                    || address.is_unicast_link_local()
                    || address.is_loopback())
            }
        })
}

impl World {
    /// The interfaces of real hosts: host by host as in the live settings, a mobile's in the order of its links.
    pub fn ports(&self) -> &[Port] {
        &self.real.ports
    }

    /// A node's address of either version. In a world without real hosts nobody has one of IPv6.
    pub fn address(&self, node: NodeIndex, v6: bool) -> IpAddr {
        node_addresses(node.0)[usize::from(v6)]
    }

    /// Takes in an IP packet that a real host wrote to an interface, now. What cannot be carried is counted
    /// ([`World::not_forwarded`]).
    pub fn inject(&mut self, port: PortId, bytes: &[u8]) {
        let mut packet = match Packet::verbatim(bytes) {
            Ok(packet) if is_routable(&packet.ip) => packet,
            Ok(_) => {
                self.real.not_forwarded.not_routable += 1;
                return;
            }
            Err(_) => {
                self.real.not_forwarded.malformed += 1;
                return;
            }
        };
        let node = self.real.ports[port.0].node.0;
        self.observe_sent(node, &mut packet);
        match self.first_hop(port, &packet) {
            Ok(interface) => self.send(node, interface, packet),
            Err(error) => self.refuse(port, &packet, error),
        }
        self.settle();
    }

    /// What a real host is to read, in the order in which it arrived.
    pub fn poll_delivery(&mut self) -> Option<Delivery> {
        self.real.deliveries.pop_front()
    }

    /// What a real host's kernel is to be told next.
    pub fn poll_interface_event(&mut self) -> Option<InterfaceEvent> {
        self.real.events.pop_front()
    }

    /// What real hosts wrote so far that was not carried.
    pub fn not_forwarded(&self) -> NotForwarded {
        self.real.not_forwarded
    }

    /// The interface of the node by which a packet leaves, if it fits.
    fn first_hop(&mut self, port: PortId, packet: &Packet) -> Result<InterfaceId, IcmpError> {
        let Port { node, link, .. } = self.real.ports[port.0];
        let node = &mut self.nodes[node.0];
        match link {
            None => node.host.route_out(packet),
            Some(link) => {
                let wanted = |&(joined, _): &(usize, _)| joined == link.0;
                let place = node.interfaces.iter().position(wanted);
                let interface = InterfaceId(place.ok_or(IcmpError::Unreachable)?);
                node.host.fit(interface, packet)
            }
        }
    }

    /// Tells a real host at once what became of its packet. It comes from a neighbour: a kernel takes nothing
    /// in that comes from its own address.
    fn refuse(&mut self, port: PortId, packet: &Packet, error: IcmpError) {
        let Port { node, link, .. } = self.real.ports[port.0];
        let link = link.map(|link| link.0).or_else(|| {
            let routes = self.nodes[node.0].host.routes();
            let towards = routes.lookup(packet.ip.destination);
            let interfaces = &self.nodes[node.0].interfaces;
            let place = towards.map_or(0, |interface| interface.0);
            interfaces.get(place).map(|&(link, _)| link)
        });
        let Some(link) = link else { return };
        let neighbour = self.wires[link].far_from(node.0);
        if let Some(answer) = self.nodes[neighbour.0].host.error_about(packet, error) {
            let at = self.now;
            self.real.deliveries.push_back(Delivery {
                at,
                port,
                packet: answer,
            });
        }
    }

    /// Hands a packet that has arrived at a real host to its port.
    pub(super) fn deliver_to_port(&mut self, node: usize, id: PacketId) {
        let travelling = &self.packets[id];
        let (number, access, (link, _)) = (travelling.number, travelling.access, travelling.on);
        let packet = self.packets.remove(id);
        self.arrived_over = access;
        self.observe_delivered(node, number, &packet);
        self.arrived_over = None;
        if let Some(port) = self.nodes[node].port.or(self.wires[link].port) {
            let at = self.now;
            self.real.deliveries.push_back(Delivery { at, port, packet });
        }
    }

    /// Makes the hosts of the settings real: gives them ports, and everybody addresses of both versions.
    pub(super) fn add_ports(&mut self) {
        if self.real.settings.hosts.is_empty() {
            return;
        }
        for (number, node) in self.nodes.iter_mut().enumerate() {
            node.host.add_address(node_addresses(number)[1]);
        }
        let access = self.access_addresses();
        for host in self.real.settings.hosts.clone() {
            self.nodes[host.0].real = true;
            if self.mobiles.iter().any(|mobile| mobile.node == host) {
                for link in self.links_of(host) {
                    let own = access.iter().find(|entry| entry.0 == (host, link));
                    self.add_access_port(host, link, own.map(|entry| entry.1));
                }
            } else {
                let links = self.links_of(host).into_iter();
                let mtu = links.map(|link| self.wires[link].link.config().mtu).max();
                self.nodes[host.0].port = Some(PortId(self.real.ports.len()));
                self.push_port(host, None, mtu.unwrap_or(0), node_addresses(host.0));
            }
        }
        (0..self.mobiles.len()).for_each(|mobile| self.announce(mobile));
    }

    /// Addresses of mobiles on their access links, numbered through all mobiles and their links.
    fn access_addresses(&self) -> Vec<((NodeIndex, usize), [IpAddr; 2])> {
        let nodes = self.mobiles.iter().map(|mobile| mobile.node);
        nodes
            .flat_map(|node| {
                self.links_of(node)
                    .into_iter()
                    .map(move |link| (node, link))
            })
            .enumerate()
            .map(|(number, pair)| (pair, addresses(ACCESS, number)))
            .collect()
    }

    fn links_of(&self, node: NodeIndex) -> Vec<usize> {
        let links = self.nodes[node.0].interfaces.iter();
        links.map(|&(link, _)| link).collect()
    }

    /// A port of a mobile at an access link; under [`AddressPolicy::New`] with addresses of its `own`.
    fn add_access_port(&mut self, host: NodeIndex, link: usize, own: Option<[IpAddr; 2]>) {
        let new = self.real.settings.address == AddressPolicy::New;
        let addresses = match own.filter(|_| new) {
            Some(own) => {
                let far = self.wires[link].far_from(host.0);
                for address in own {
                    self.nodes[host.0].host.add_address(address);
                    self.real.behind_links.push(BehindLink { address, far });
                }
                own
            }
            None => node_addresses(host.0),
        };
        self.wires[link].port = Some(PortId(self.real.ports.len()));
        let mtu = self.wires[link].link.config().mtu;
        self.push_port(host, Some(LinkIndex(link)), mtu, addresses);
    }

    fn push_port(
        &mut self,
        node: NodeIndex,
        link: Option<LinkIndex>,
        mtu: u32,
        addresses: [IpAddr; 2],
    ) {
        self.real.ports.push(Port {
            node,
            link,
            mtu,
            addresses: addresses.to_vec(),
        });
        self.real.states.push(PortState {
            mtu,
            up: link.is_none() || self.real.settings.address == AddressPolicy::Kept,
            default: false,
        });
    }

    /// Tells a real mobile's kernel what has changed since it was last told.
    pub(super) fn announce(&mut self, number: usize) {
        let node = self.mobiles[number].node;
        if !self.nodes[node.0].real {
            return;
        }
        let RealHosts {
            settings,
            ports,
            states,
            events,
            ..
        } = &mut self.real;
        let attached = self.mobiles[number].attached;
        let outgoing = self.mobiles[number].outgoing.or(attached);
        let mine = |place: usize| (ports[place].node == node).then_some(ports[place].link?.0);
        let mine: Vec<(usize, usize)> = (0..ports.len())
            .filter_map(|place| Some((place, mine(place)?)))
            .collect();
        if settings.address == AddressPolicy::New {
            for &(place, link) in &mine {
                if states[place].up && self.wires[link].broken {
                    (states[place].up, states[place].default) = (false, false);
                    events.push_back(InterfaceEvent::Down(PortId(place)));
                }
            }
            for &(place, link) in &mine {
                if attached == Some(link) && !states[place].up && !self.wires[link].broken {
                    states[place].up = true;
                    events.push_back(InterfaceEvent::Up(PortId(place)));
                }
            }
        }
        let chosen = mine
            .iter()
            .find(|&&(place, link)| outgoing == Some(link) && states[place].up);
        if let Some(&(chosen, _)) = chosen
            && !states[chosen].default
        {
            mine.iter()
                .for_each(|&(place, _)| states[place].default = false);
            states[chosen].default = true;
            let port = PortId(chosen);
            events.push_back(InterfaceEvent::Default { node, port });
        }
    }

    /// Tells the kernels at both ends of a link what it takes now.
    pub(super) fn announce_mtu(&mut self, link: usize) {
        for (node, _) in self.wires[link].ends {
            let host = NodeIndex(node);
            let Some(port) = self.nodes[node].port.or(self.wires[link].port) else {
                continue;
            };
            if self.real.ports[port.0].node != host {
                continue;
            }
            let links = match self.real.ports[port.0].link {
                Some(link) => vec![link.0],
                None => self.links_of(host),
            };
            let largest = links.iter().map(|&link| self.wires[link].link.config().mtu);
            let Some(mtu) = largest.max() else { continue };
            if self.real.states[port.0].mtu != mtu {
                self.real.states[port.0].mtu = mtu;
                self.real.events.push_back(InterfaceEvent::Mtu(port, mtu));
            }
        }
    }

    /// Whether a mobile's interfaces come and go with its links.
    pub(super) fn changes_address(&self, mobile: usize) -> bool {
        self.nodes[self.mobiles[mobile].node.0].real
            && self.real.settings.address == AddressPolicy::New
    }

    /// Begins to leave an old access link whose interface is to go when the link has drained.
    pub(super) fn begin_leaving(&mut self, link: usize) {
        let held = self.packets.iter().filter(|held| held.on.0 == link);
        self.wires[link].leaving = Some(held.map(|held| held.number).collect());
        self.touch(link);
    }

    /// Takes an old access link's interface down once all that it held at the handover has left it, and the
    /// mobile's own packets no longer take it.
    pub(super) fn leave_when_drained(&mut self, link: usize) {
        let wire = &self.wires[link];
        let (Some(held), Some(mobile)) = (&wire.leaving, wire.mobile) else {
            return;
        };
        if held.is_empty() && self.mobiles[mobile].outgoing != Some(link) {
            self.wires[link].leaving = None;
            self.silence(mobile, link);
            self.announce(mobile);
        }
    }
}
