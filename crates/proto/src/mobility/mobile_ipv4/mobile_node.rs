//! The mobile node (RFC 5944 sections 2.4 and 3.6), with the mobile policy table and the soft handover of study T: the
//! old interface receives and sends until the reply to the registration over the new one.

mod gateways;
mod movement;
mod names;
mod preregistration;
mod registration;

use super::acquisition::{Acquisition, ConflictCheck, Step, message_to};
use super::compression::HeaderCompression;
use super::discovery::{Discovery, News};
use super::{
    Clock, Delivery, Dropped, InterfaceId, Outbox, PolicyTable, Received, Transmit, Tunnel, v4,
};
use crate::mobility::draws::Draws;
use crate::mobility::tunnel::take_back;
use crate::packet::{Body, Packet};
use crate::time::Instant;
use crate::wire::agent_discovery::AgentDiscovery;
use crate::wire::dhcp::CLIENT_PORT;
use crate::wire::encapsulation::Encapsulation;
use crate::wire::icmp::{IcmpError, IcmpMessage, QuotedPacket};
use crate::wire::mobile_ipv4::{Code, SecurityAssociation};
use core::net::{IpAddr, Ipv4Addr};
use names::Names;
use preregistration::Preregistration;
use registration::{Bound, Pending};
use std::collections::VecDeque;

/// Settings of a mobile node.
#[derive(Clone, Debug)]
pub struct MobileNodeConfig {
    /// Home address.
    pub home_address: Ipv4Addr,
    /// Home agent's address.
    pub home_agent: Ipv4Addr,
    /// Mobility security association with the home agent.
    pub home: SecurityAssociation,
    /// Mobility security association with foreign agents and gateways; enables regional registration below a gateway.
    pub foreign: Option<SecurityAssociation>,
    /// True if the previous foreign agent forwards packets to the new care-of address; requires an association with it.
    pub smooth_handoff: bool,
    /// True if the mobile names the packets that it has received, for a previous foreign agent that keeps copies.
    pub names_received: bool,
    /// True if packets that need no reverse tunnel leave by a new link from the request on, with a co-located care-of
    /// address; false from the reply on (study T section 6).
    pub sends_at_request: bool,
    /// Lifetime to request, in seconds, above zero; 65,535 is infinite.
    pub lifetime: u16,
    /// True to keep earlier care-of addresses, so that each gets a copy of every packet.
    pub simultaneous_bindings: bool,
    /// Policy table for the mobile's packets.
    pub policy: PolicyTable,
    /// Encapsulation to request. Through a foreign agent only one that it advertises is requested.
    pub encapsulation: Encapsulation,
    /// True to ask foreign agents that advertise it for Van Jacobson's header compression on the link (the V bit).
    pub header_compression: bool,
    /// True to ask for the limited broadcasts of the home network (RFC 5944 section 4.3).
    pub broadcasts: bool,
    /// Time of the address conflict detection.
    pub conflict_check: ConflictCheck,
    /// Time of day; the home agent's reply corrects it if it is wrong.
    pub clock: Clock,
    /// Secret behind the random intervals.
    pub secret: [u8; 16],
}

/// Source of a mobile's care-of address on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CareOf {
    /// The foreign agent discovered there.
    ForeignAgent,
    /// A known address, as from PPP. The home address marks the home link.
    Known(Ipv4Addr),
    /// DHCP.
    Acquired,
}

/// A point of attachment, possible or registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Interface on the link.
    pub interface: InterfaceId,
    /// Care-of address; at home the home address.
    pub care_of_address: Ipv4Addr,
    /// Foreign agent through which the mobile registers.
    pub agent: Option<Ipv4Addr>,
    /// Gateway above that agent, whose address is then the care-of address.
    pub gateway: Option<Ipv4Addr>,
}

/// Event at a mobile node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MobileNodeEvent {
    /// A registration was accepted or renewed: packets now use it.
    Registered {
        /// Point of attachment.
        point: Point,
        /// Lifetime in seconds.
        lifetime: u16,
    },
    /// The mobile is at home, and no binding is left.
    AtHome {
        /// Interface to the home link.
        interface: InterfaceId,
    },
    /// A registration was refused; it is retried.
    Refused {
        /// Point of attachment.
        point: Point,
        /// Reason.
        code: Code,
    },
    /// The preparation of a handover has ended: accepted if the mobile is registered at the next link, too.
    Preregistered {
        /// True for a registration.
        accepted: bool,
    },
    /// A registration expired before it was renewed.
    Expired {
        /// Former point of attachment.
        point: Point,
    },
    /// An acquired address is ready for use.
    AddressReady {
        /// Interface to the link.
        interface: InterfaceId,
        /// The address.
        address: Ipv4Addr,
    },
    /// An acquired address can no longer be used.
    AddressLost {
        /// Interface to the link.
        interface: InterfaceId,
        /// The address.
        address: Ipv4Addr,
    },
}

/// A mobile node; the [module](super) tells how to drive it. Call [`MobileNode::attach`] when it comes to a link, and
/// [`MobileNode::detach`] when a link is gone or is to receive no more.
#[derive(Debug)]
pub struct MobileNode {
    config: MobileNodeConfig,
    attachments: Vec<Attachment>,
    /// The link over which the mobile wants to be reached.
    chosen: Option<InterfaceId>,
    home_link: Option<InterfaceId>,
    /// Registrations, the one used for sending last.
    bindings: Vec<Bound>,
    pending: Option<Pending>,
    last_identification: u64,
    /// Foreign agent of the latest registration.
    previous_agent: Option<Ipv4Addr>,
    preregistration: Option<Box<Preregistration>>,
    /// Number of times that the mobile has turned from a silent gateway to the next.
    gateways_left: u8,
    received: Names,
    draws: Draws,
    outbox: Outbox,
    events: VecDeque<MobileNodeEvent>,
    dropped: Dropped,
}

/// A link that the mobile is attached to.
#[derive(Debug)]
struct Attachment {
    interface: InterfaceId,
    care_of: CareOf,
    discovery: Discovery,
    acquisition: Option<Acquisition>,
    /// `None` unless the mobile asks for header compression.
    compression: Option<Box<HeaderCompression>>,
    /// The mobile's own address on the link.
    address: Option<Ipv4Addr>,
}

impl MobileNode {
    /// Creates a mobile without attachments.
    pub fn new(config: MobileNodeConfig) -> MobileNode {
        MobileNode {
            draws: Draws::new(config.secret),
            config,
            attachments: Vec::new(),
            chosen: None,
            home_link: None,
            bindings: Vec::new(),
            pending: None,
            last_identification: 0,
            previous_agent: None,
            preregistration: None,
            gateways_left: 0,
            received: Names::default(),
            outbox: Outbox::default(),
            events: VecDeque::new(),
            dropped: Dropped::default(),
        }
    }

    /// Returns the point of attachment in use; `None` before the first registration and at home.
    pub fn registered(&self, now: Instant) -> Option<Point> {
        self.binding(now).map(|bound| bound.point)
    }

    /// Returns the home link while the mobile is registered there, which is at home.
    pub fn home_link(&self) -> Option<InterfaceId> {
        self.home_link
    }

    /// Returns the counts of dropped packets.
    pub fn dropped(&self) -> Dropped {
        self.dropped
    }

    fn binding(&self, now: Instant) -> Option<&Bound> {
        let mut latest = self.bindings.iter().rev();
        latest.find(|bound| now < bound.expires && self.is_attached(bound.point.interface))
    }

    fn is_attached(&self, interface: InterfaceId) -> bool {
        let mut all = self.attachments.iter();
        all.any(|attachment| attachment.interface == interface)
    }

    /// Returns the source address for a new conversation with a destination: the care-of address if the policy says so
    /// and the mobile has a co-located one, otherwise the home address.
    pub fn source_address(&self, destination: Ipv4Addr, port: Option<u16>) -> Ipv4Addr {
        let mut latest = self.bindings.iter().rev();
        let bound = latest.find(|bound| self.is_attached(bound.point.interface));
        let own = bound.filter(|bound| bound.is_colocated);
        match (self.config.policy.lookup(destination, port), own) {
            (Delivery::CareOfAddress, Some(bound)) => bound.point.care_of_address,
            _ => self.config.home_address,
        }
    }

    /// Sends a packet of this host by the policy table. Returns it if the mobile has no registration, or the source is
    /// none of its addresses.
    pub fn send(&mut self, now: Instant, mut packet: Packet) -> Option<Packet> {
        if packet.ip.source == IpAddr::V4(self.config.home_address) && is_unbound(&packet) {
            let destination = v4(packet.ip.destination)?;
            let source = self.source_address(destination, destination_port(&packet));
            packet.ip.source = source.into();
        }
        let Some(source) = v4(packet.ip.source) else {
            return Some(packet);
        };
        // Study T, section 5.3.1: a sender that chose a link's own address has decided.
        let mut links = self.attachments.iter();
        if source != self.config.home_address {
            let Some(link) = links.find(|link| link.address == Some(source)) else {
                return Some(packet);
            };
            self.outbox.push(Some(link.interface), packet);
            return None;
        }
        if let Some(interface) = self.home_link.or_else(|| self.first_home_link()) {
            self.outbox.push(Some(interface), packet);
            return None;
        }
        let delivery = v4(packet.ip.destination).map_or(Delivery::Triangle, |destination| {
            let policy = &self.config.policy;
            policy.lookup(destination, destination_port(&packet))
        });
        if let Some(interface) = self
            .requested()
            .filter(|_| delivery != Delivery::ReverseTunnel)
        {
            self.outbox.push(Some(interface), packet);
            return None;
        }
        let Some(&Bound {
            point,
            is_colocated,
            reverse_tunnel,
            target,
            ..
        }) = self.binding(now)
        else {
            return Some(packet);
        };
        // Through a foreign agent, the tunnel begins at the agent.
        if delivery == Delivery::ReverseTunnel && is_colocated && reverse_tunnel {
            let tunnel = Tunnel {
                interface: Some(point.interface),
                entry: point.care_of_address,
                exit: self.config.home_agent,
                encapsulation: target.encapsulation,
                forwarded: false,
            };
            if let Err(refusal) = self.outbox.tunnel(now, tunnel, packet) {
                self.dropped.refuse(&refusal);
            }
        } else {
            let packet = match self.compression(point.interface) {
                Some(compression) => compression.compress(packet),
                None => packet,
            };
            self.outbox.push(Some(point.interface), packet);
        }
        None
    }

    /// Returns the header compression of a link, if the mobile asks for it.
    fn compression(&mut self, interface: InterfaceId) -> Option<&mut HeaderCompression> {
        let mut links = self.attachments.iter_mut();
        let link = links.find(|link| link.interface == interface)?;
        link.compression.as_deref_mut()
    }

    /// Redirects a waiting packet of this host, by the present registration: a reverse tunnel then begins at the present
    /// care-of address, and its headers are whole. Returns the interface by which the packet leaves. A packet from a link's
    /// own address stays there.
    pub fn redirect(&self, now: Instant, packet: &mut Packet) -> Option<InterfaceId> {
        if let Body::Compressed(_) = packet.body {
            *packet = packet.clone().without_compression();
        }
        let home_address = IpAddr::V4(self.config.home_address);
        let inner = packet.body.inner();
        let is_tunnelled = packet.ip.destination == IpAddr::V4(self.config.home_agent)
            && inner.is_some_and(|inner| inner.ip.source == home_address);
        if !is_tunnelled && packet.ip.source != home_address {
            let mut links = self.attachments.iter();
            let link = links.find(|link| link.address.map(IpAddr::V4) == Some(packet.ip.source));
            return link.map(|link| link.interface);
        }
        let bound = self.binding(now).filter(|_| self.home_link.is_none());
        if is_tunnelled {
            match bound {
                Some(bound) if bound.is_colocated && bound.reverse_tunnel => {
                    packet.ip.source = bound.point.care_of_address.into();
                }
                _ => take_back(packet, false),
            }
        }
        self.home_link.or(bound.map(|bound| bound.point.interface))
    }

    /// Returns the link of a requested registration, if packets leave there before the reply.
    fn requested(&self) -> Option<InterfaceId> {
        let pending = self
            .pending
            .as_ref()
            .filter(|_| self.config.sends_at_request)?;
        let target = pending.target;
        (target.is_colocated && !pending.is_renewal).then_some(target.point.interface)
    }

    /// Returns the home link of a mobile that started there and has no other registration: it may send before any
    /// reply.
    fn first_home_link(&self) -> Option<InterfaceId> {
        let chosen = self.chosen.filter(|_| self.bindings.is_empty())?;
        let mut links = self.attachments.iter();
        let link = links.find(|link| link.interface == chosen)?;
        (link.address == Some(self.config.home_address)).then_some(chosen)
    }

    /// Takes in a packet for this host or for all on a link. Returns a packet for the host's transports, decapsulated.
    pub fn handle_packet(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        packet: Packet,
    ) -> Option<Packet> {
        if let Body::Compressed(_) = packet.body {
            let compression = self.compression(interface);
            let restored = compression.and_then(|compression| compression.decompress(packet));
            self.dropped.compressed += u64::from(restored.is_none());
            return restored;
        }
        match Received::from_packet(&packet) {
            Some(Ok(received)) => {
                self.handle_message(now, &received);
                return None;
            }
            Some(Err(_)) => {
                self.dropped.malformed += 1;
                return None;
            }
            None => {}
        }
        if let Some(message) = message_to(CLIENT_PORT, &packet) {
            let place = self
                .attachments
                .iter()
                .position(|link| link.interface == interface);
            if let Some(link) = place.map(|place| &mut self.attachments[place])
                && let Some(acquisition) = &mut link.acquisition
            {
                let step =
                    acquisition.handle_message(now, &message, &mut self.draws, &mut self.outbox);
                self.handle_address(now, interface, step);
            }
            return None;
        }
        if packet.body.inner().is_some() && self.is_own(packet.ip.destination) {
            return self.unpack(packet);
        }
        match packet.body {
            Body::Icmp(IcmpMessage::AgentDiscovery(message)) => {
                if let AgentDiscovery::Advertisement(advertisement) = *message
                    && let Some(source) = v4(packet.ip.source)
                {
                    if let Some(point) = advertisement.access_point {
                        let from = (interface, source);
                        self.handle_proxy_advertisement(now, from, (point, &advertisement));
                        return None;
                    }
                    let mut links = self.attachments.iter_mut();
                    let link = links.find(|link| link.interface == interface);
                    let news = link.map_or(News::None, |link| {
                        link.discovery
                            .handle_advertisement(now, source, &advertisement)
                    });
                    self.handle_news(now, source, news);
                }
                None
            }
            Body::Icmp(IcmpMessage::Error { kind, ref quoted })
                if self.outbox.handle_too_big(now, kind, quoted) =>
            {
                None
            }
            body => {
                let packet = Packet { body, ..packet };
                if self.config.names_received {
                    self.received.note(interface, &packet);
                }
                Some(packet)
            }
        }
    }

    /// Decapsulates a packet for this mobile, also from nested tunnels of other agents, or a broadcast that the home
    /// agent has put into a tunnel for it.
    fn unpack(&mut self, mut packet: Packet) -> Option<Packet> {
        while packet.body.inner().is_some() {
            let is_from_home = packet.ip.source == IpAddr::V4(self.config.home_agent);
            packet = packet.decapsulate()?;
            let is_broadcast = packet.ip.destination == IpAddr::V4(Ipv4Addr::BROADCAST);
            let is_asked_for = is_broadcast && is_from_home && self.config.broadcasts;
            if !is_asked_for && !self.is_own(packet.ip.destination) {
                self.dropped.unexpected_tunnel += 1;
                return None;
            }
        }
        Some(packet)
    }

    /// Returns true for the home address and the mobile's own addresses on its links.
    pub fn is_own(&self, address: IpAddr) -> bool {
        let mut links = self.attachments.iter();
        address == IpAddr::V4(self.config.home_address)
            || links.any(|link| link.address.is_some_and(|own| IpAddr::V4(own) == address))
    }

    /// Returns the next packet to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.outbox.pop()
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<MobileNodeEvent> {
        self.events.pop_front()
    }

    /// Returns the next error for this host's transports: a packet exceeds the tunnel MTU (RFC 2003 section 5.1).
    pub fn poll_error(&mut self) -> Option<(IcmpError, QuotedPacket)> {
        self.outbox.errors.pop_front()
    }
}

/// Returns true for datagrams and echo requests, whose source the policy may choose. Connections and replies keep their
/// source (study T section 5.3.1).
fn is_unbound(packet: &Packet) -> bool {
    matches!(
        packet.body,
        Body::Udp(..) | Body::Icmp(IcmpMessage::EchoRequest(_))
    )
}

fn destination_port(packet: &Packet) -> Option<u16> {
    match &packet.body {
        Body::Tcp(header, _) => Some(header.destination_port),
        Body::Udp(header, _) => Some(header.destination_port),
        _ => None,
    }
}
