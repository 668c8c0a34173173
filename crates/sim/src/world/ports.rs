//! Real hosts: nodes of the world whose packets a kernel writes and reads.
//!
//! A driver that runs the world against a clock passes in a host's packets ([`World::inject`]) and takes out the packets
//! for it ([`World::poll_delivery`]). A port stands for a network interface of a real host. A mobile has one for
//! each of its access links, and its kernel chooses among them by [`World::poll_interface_event`];
//! any other host has one, behind which the world's routes pick the link. The world forwards packets in place of real
//! hosts.
//!
//! A real host with agents of a mobility protocol has one port, too, whose kernel knows its home address only: the agents stand
//! between the port and the links, where a simulated host has them below its transports ([`Host::leave_transports_to_kernel`](baton_proto::host::Host::leave_transports_to_kernel)).

mod announce;
mod build;

pub(super) use build::BehindAgent;
pub(crate) use build::BehindLink;

use super::World;
use super::packet_counts::LossCause;
use super::wires::LeadsTo;
use crate::packets::PacketId;
use crate::scenario::model::AddressPolicy;
use crate::scenario::model::{LinkIndex, NodeIndex};
use baton_proto::gateways::nat::{Refused, Translator};
use baton_proto::interface::InterfaceId;
use baton_proto::mobility::tunnel::error_about;
use baton_proto::packet::{IpHeader, Packet};
use baton_proto::time::Instant;
use baton_proto::wire::icmp::{IcmpError, QuotedPacket};
use core::net::IpAddr;
use std::collections::VecDeque;

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
    /// IPv4 and IPv6 addresses on this interface while it is up.
    pub addresses: Vec<IpAddr>,
}

/// An event for a real host's kernel. The first events describe time zero.
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

/// A packet delivered to a real host.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// Time of delivery.
    pub at: Instant,
    /// The interface.
    pub port: PortId,
    /// The packet; [`Packet::encode_damaged`] encodes it.
    pub packet: Packet,
}

/// Packets of real hosts that the world does not carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotForwarded {
    /// No IP packet: too short, another version, impossible lengths, or a wrong header checksum.
    pub malformed: u64,
    /// To several receivers, or with an address that is valid on one link only (neighbour
    /// discovery and the like).
    pub not_routable: u64,
}

impl NotForwarded {
    /// Returns the total.
    pub fn total(&self) -> u64 {
        self.malformed + self.not_routable
    }
}

/// The real hosts of a world.
#[derive(Debug, Default)]
pub(super) struct RealHosts {
    pub ports: Vec<Port>,
    /// MTU and state of each interface.
    states: Vec<PortState>,
    deliveries: VecDeque<Delivery>,
    events: VecDeque<InterfaceEvent>,
    not_forwarded: NotForwarded,
    /// True if layers of the world read more of packets than the IP header.
    are_read: bool,
    /// True if gateways of the world end connections.
    pub(super) meet_gateways: bool,
}

/// State of an interface as last reported to the kernel.
#[derive(Clone, Copy, Debug)]
struct PortState {
    mtu: u32,
    up: bool,
    default: bool,
}

/// Returns true if a packet is from one host to one host, both of which can be away from the link.
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
    /// Returns the interfaces of real hosts: host by host as in the live settings, a mobile's in the order of its links.
    pub fn ports(&self) -> &[Port] {
        &self.net.real.ports
    }

    /// Returns the address of either version by which others know a node. Without real hosts and mobility protocols no node has one
    /// of IPv6.
    pub fn address(&self, node: NodeIndex, v6: bool) -> IpAddr {
        self.net.directory.address(&self.scenario, node.0, v6)
    }

    /// Takes in an IP packet that a real host wrote to an interface, now. A packet that cannot be carried is counted
    /// ([`World::not_forwarded`]).
    pub fn inject(&mut self, port: PortId, bytes: &[u8]) {
        let mut packet = match Packet::verbatim(bytes) {
            Ok(packet) if is_routable(&packet.ip) => packet,
            Ok(_) => {
                self.net.real.not_forwarded.not_routable += 1;
                return;
            }
            Err(_) => {
                self.net.real.not_forwarded.malformed += 1;
                return;
            }
        };
        let node = self.net.real.ports[port.0].node.0;
        self.observe_sent(node, &mut packet);
        if self.net.real.are_read {
            packet = packet.typed_if_same();
        }
        if self.net.nodes[node].host.has_kernel() {
            self.send_by_agents(node, packet);
            return self.settle();
        }
        match self.first_hop(port, &mut packet) {
            Ok(interface) => {
                let id = self.net.packets.insert(packet);
                self.send(node, interface, id);
            }
            Err(error) => {
                self.account_unsent(node, &packet);
                if let Some(error) = error {
                    self.refuse(port, &packet, error);
                }
            }
        }
        self.settle();
    }

    /// Returns the next packet for a real host, in order of arrival.
    pub fn poll_delivery(&mut self) -> Option<Delivery> {
        self.net.real.deliveries.pop_front()
    }

    /// Returns the next event for a real host's kernel.
    pub fn poll_interface_event(&mut self) -> Option<InterfaceEvent> {
        self.net.real.events.pop_front()
    }

    /// Returns the counts of real hosts' packets that were not carried so far.
    pub fn not_forwarded(&self) -> NotForwarded {
        self.net.real.not_forwarded
    }

    /// Returns the packets that address translators have refused so far, all together.
    pub fn refused_by_nat(&self) -> Refused {
        let mut sum = Refused::default();
        for layers in self.net.nodes.iter().filter_map(|node| node.host.layers()) {
            for translator in layers.all::<Translator>() {
                sum.add(translator.refused());
            }
        }
        sum
    }

    /// Returns the node's interface by which a packet leaves, or the error for its sender, if there is one.
    fn first_hop(
        &mut self,
        port: PortId,
        packet: &mut Packet,
    ) -> Result<InterfaceId, Option<IcmpError>> {
        let Port { node, link, .. } = self.net.real.ports[port.0];
        let node = &mut self.net.nodes[node.0];
        let chosen = match link {
            None => None,
            Some(link) => {
                let wanted = |leads_to: &LeadsTo| matches!(*leads_to, LeadsTo::Link(joined, _) if joined as usize == link.0);
                let place = node.interfaces.iter().position(wanted);
                Some(InterfaceId(place.ok_or(IcmpError::Unreachable)?))
            }
        };
        node.host.route_written(self.now, chosen, packet)
    }

    /// Sends a real host an ICMP error about its packet at once. The error comes from a neighbour: a kernel ignores
    /// packets from its own address.
    fn refuse(&mut self, port: PortId, packet: &Packet, error: IcmpError) {
        let Port { node, link, .. } = self.net.real.ports[port.0];
        let link = link.map(|link| link.0).or_else(|| {
            let routes = self.net.nodes[node.0].host.routes();
            let towards = routes.lookup(packet.ip.destination);
            let towards = towards.unwrap_or(InterfaceId(0));
            let exit = self.net.exit(node.0, towards, packet.ip.destination);
            exit.map(|(link, _)| link)
        });
        let Some(link) = link else { return };
        let neighbour = self.net.wires.far_from(link, node.0);
        if let Some(answer) = self.net.nodes[neighbour.0].host.error_about(packet, error) {
            self.deliver(port, answer);
        }
    }

    /// Hands a packet that has arrived at a real host to its port.
    pub(super) fn deliver_to_port(&mut self, node: usize, id: PacketId) {
        let travelling = &self.net.packets[id];
        let (link, access) = (travelling.link, travelling.access());
        let packet = self.net.packets.remove(id);
        self.probes.arrived_over = access;
        self.account_delivered(node, &packet);
        self.probes.arrived_over = None;
        let at_link = self.net.wires[link.get()].port;
        if let Some(port) = self.net.nodes[node].port().or(at_link) {
            self.deliver(port, packet);
        }
    }

    /// Observes a packet that a kernel gets, and ends its way.
    fn account_delivered(&mut self, node: usize, packet: &Packet) {
        let identity = packet.identity_within();
        self.observe_delivered(node, identity.number(), packet);
        if let Some(flow) = packet.flow {
            // Its kernel's checksums find the damage.
            let lost = (!packet.bit_errors.is_empty()).then_some(LossCause::Channel);
            if self.end_way(flow, identity, lost) && lost.is_none() {
                let view = packet.view();
                let has_data = view.payload_bytes > 0 && view.echo.is_none();
                self.count_delay(flow, identity, has_data);
            }
        }
    }

    fn deliver(&mut self, port: PortId, packet: Packet) {
        let at = self.now;
        let delivery = Delivery { at, port, packet };
        self.net.real.deliveries.push_back(delivery);
    }

    /// Lets the agents of a real host send what its kernel has written.
    fn send_by_agents(&mut self, node: usize, mut packet: Packet) {
        self.begin_way(node, &mut packet);
        self.net.nodes[node].host.handle_written(packet);
        self.pump(node);
    }

    /// Hands a packet to the kernel above the agents of its host.
    pub(super) fn deliver_above_agents(&mut self, node: usize, packet: Packet) {
        // An agent's own error has no way behind it.
        if packet.identity_within().is_some() {
            self.probes.leave_agents(packet.identity_within());
            self.account_delivered(node, &packet);
        }
        if let Some(port) = self.net.nodes[node].port() {
            self.deliver(port, packet);
        }
    }

    /// Reports to a kernel an error about its packet at its agents' first hop, from a neighbour, like
    /// [`refuse`](Self::refuse). A mobile that is registered nowhere loses its packets silently: with an error a kernel
    /// would give up a connection that it opens.
    pub(super) fn tell_kernel(&mut self, node: usize, error: IcmpError, quoted: QuotedPacket) {
        if error == IcmpError::Unreachable {
            return;
        }
        let links = self.net.links_of(NodeIndex(node));
        let neighbour = links
            .first()
            .map(|&link| self.net.wires.far_from(link, node));
        let from = neighbour.and_then(|(neighbour, _)| {
            let mut own = self.net.nodes[neighbour].host.addresses();
            own.find(|own| own.is_ipv4() == quoted.source.is_ipv4())
        });
        if let (Some(from), Some(port)) = (from, self.net.nodes[node].port()) {
            self.deliver(port, error_about(from, error, quoted));
        }
    }
}
