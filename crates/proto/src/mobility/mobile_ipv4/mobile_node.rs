//! The node that moves (RFC 5944 sections 2.4 and 3.6), with the mobile policy table and the soft handover of study T: the
//! old interface goes on receiving, and sending, until the registration over the new one is answered.

mod movement;
mod registration;

use super::acquisition::{Acquisition, ConflictCheck, Step, message_to};
use super::discovery::{Discovery, News};
use super::{
    Clock, Delivery, Dropped, InterfaceId, Outbox, PolicyTable, Received, Transmit, Tunnel, v4,
};
use crate::mobility::draws::Draws;
use crate::packet::{Body, Packet};
use crate::time::Instant;
use crate::wire::agent_discovery::AgentDiscovery;
use crate::wire::dhcp::CLIENT_PORT;
use crate::wire::icmp::{IcmpError, IcmpMessage, QuotedPacket};
use crate::wire::mobile_ipv4::{Code, SecurityAssociation};
use core::net::{IpAddr, Ipv4Addr};
use registration::{Bound, Pending};
use std::collections::VecDeque;

/// How a mobile node is set up.
#[derive(Clone, Debug)]
pub struct MobileNodeConfig {
    /// The address that it keeps.
    pub home_address: Ipv4Addr,
    /// Its home agent's.
    pub home_agent: Ipv4Addr,
    /// Its security association with the home agent.
    pub home: SecurityAssociation,
    /// One with foreign agents and gateways: with it the mobile registers regionally below a gateway.
    pub foreign: Option<SecurityAssociation>,
    /// Whether it has its packets sent on by the foreign agent that it leaves; it needs the association with it.
    pub smooth_handoff: bool,
    /// How long a registration is asked for, in seconds, above zero; 65,535 is for ever.
    pub lifetime: u16,
    /// Whether earlier care-of addresses are kept, so that each gets a copy of every packet.
    pub simultaneous_bindings: bool,
    /// How its packets travel.
    pub policy: PolicyTable,
    /// When an acquired address is known to be nobody else's.
    pub conflict_check: ConflictCheck,
    /// Its time of day; a wrong one is set by the home agent's answer.
    pub clock: Clock,
    /// What its random intervals come from.
    pub secret: [u8; 16],
}

/// Where a mobile's care-of address on a link comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CareOf {
    /// From the foreign agent that is heard there.
    ForeignAgent,
    /// It is known, as from PPP. The home address says that this is the home link.
    Known(Ipv4Addr),
    /// It is asked for by DHCP.
    Acquired,
}

/// A point of attachment at which a mobile registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// The interface on this link.
    pub interface: InterfaceId,
    /// The address that is registered; at home the home address.
    pub care_of_address: Ipv4Addr,
    /// The foreign agent through which it is registered.
    pub agent: Option<Ipv4Addr>,
    /// The gateway above that agent, whose address the care-of address then is.
    pub gateway: Option<Ipv4Addr>,
}

/// What happened at a mobile node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MobileNodeEvent {
    /// It is registered, or registered again: packets come and go there now.
    Registered {
        /// Where.
        point: Point,
        /// For how long, in seconds.
        lifetime: u16,
    },
    /// It is at home, and no binding is left.
    AtHome {
        /// The home link.
        interface: InterfaceId,
    },
    /// A registration was refused; it is tried again.
    Refused {
        /// Where.
        point: Point,
        /// Why.
        code: Code,
    },
    /// A registration has ended before it was prolonged.
    Expired {
        /// Where it was.
        point: Point,
    },
    /// An acquired address can be used.
    AddressReady {
        /// The link.
        interface: InterfaceId,
        /// The address.
        address: Ipv4Addr,
    },
    /// An acquired address can be used no more.
    AddressLost {
        /// The link.
        interface: InterfaceId,
        /// The address.
        address: Ipv4Addr,
    },
}

/// A mobile node; how to drive it is told in the [module](super). When it comes to a link, call
/// [`MobileNode::attach`]; when a link has gone, or shall not receive any more, [`MobileNode::detach`].
#[derive(Debug)]
pub struct MobileNode {
    config: MobileNodeConfig,
    attachments: Vec<Attachment>,
    /// The link over which the mobile wants to be reached.
    chosen: Option<InterfaceId>,
    home_link: Option<InterfaceId>,
    /// The one that packets leave by stands last.
    bindings: Vec<Bound>,
    pending: Option<Pending>,
    last_identification: u64,
    /// The foreign agent of the last registration.
    previous_agent: Option<Ipv4Addr>,
    draws: Draws,
    outbox: Outbox,
    events: VecDeque<MobileNodeEvent>,
    dropped: Dropped,
}

/// A link at which the mobile is.
#[derive(Debug)]
struct Attachment {
    interface: InterfaceId,
    care_of: CareOf,
    discovery: Discovery,
    acquisition: Option<Acquisition>,
    /// The mobile's own address there.
    address: Option<Ipv4Addr>,
}

impl MobileNode {
    /// A mobile that is nowhere yet.
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
            outbox: Outbox::default(),
            events: VecDeque::new(),
            dropped: Dropped::default(),
        }
    }

    /// The point of attachment by which packets come and go now; `None` before the first registration and at home.
    pub fn registered(&self, now: Instant) -> Option<Point> {
        self.binding(now).map(|bound| bound.point)
    }

    /// The home link, while the mobile is known to be at home.
    pub fn home_link(&self) -> Option<InterfaceId> {
        self.home_link
    }

    /// What was dropped so far.
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

    /// The address from which a new conversation with a destination speaks: the care-of address where the policy says so
    /// and the mobile has one of its own.
    pub fn source_address(&self, destination: Ipv4Addr, port: Option<u16>) -> Ipv4Addr {
        let mut latest = self.bindings.iter().rev();
        let bound = latest.find(|bound| self.is_attached(bound.point.interface));
        let own = bound.filter(|bound| bound.is_colocated);
        match (self.config.policy.lookup(destination, port), own) {
            (Delivery::CareOfAddress, Some(bound)) => bound.point.care_of_address,
            _ => self.config.home_address,
        }
    }

    /// Sends a packet of this host as the policy table says. Returns it if the mobile is registered nowhere, or the source
    /// is none of the mobile's addresses.
    pub fn send(&mut self, now: Instant, mut packet: Packet) -> Option<Packet> {
        if packet.ip.source == IpAddr::V4(self.config.home_address) && is_unbound(&packet) {
            let destination = v4(packet.ip.destination)?;
            let source = self.source_address(destination, destination_port(&packet));
            packet.ip.source = source.into();
        }
        let Some(source) = v4(packet.ip.source) else {
            return Some(packet);
        };
        // Section 5.3.1 of study T: who has chosen a link's own address has decided.
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
        let Some(&Bound {
            point,
            is_colocated,
            reverse_tunnel,
            ..
        }) = self.binding(now)
        else {
            return Some(packet);
        };
        let delivery = v4(packet.ip.destination).map_or(Delivery::Triangle, |destination| {
            let policy = &self.config.policy;
            policy.lookup(destination, destination_port(&packet))
        });
        // Through a foreign agent the tunnel begins there.
        if delivery == Delivery::ReverseTunnel && is_colocated && reverse_tunnel {
            let tunnel = Tunnel {
                interface: Some(point.interface),
                entry: point.care_of_address,
                exit: self.config.home_agent,
                forwarded: false,
            };
            if let Err(refusal) = self.outbox.tunnel(now, tunnel, packet) {
                self.dropped.refuse(&refusal);
            }
        } else {
            self.outbox.push(Some(point.interface), packet);
        }
        None
    }

    /// The home link of a mobile that has begun there and was registered nowhere else: nothing has to be answered before it
    /// speaks.
    fn first_home_link(&self) -> Option<InterfaceId> {
        let chosen = self.chosen.filter(|_| self.bindings.is_empty())?;
        let mut links = self.attachments.iter();
        let link = links.find(|link| link.interface == chosen)?;
        (link.address == Some(self.config.home_address)).then_some(chosen)
    }

    /// Takes in a packet for this host or for all on a link. Returns what is for the host's own transports, out of its
    /// tunnel.
    pub fn handle_packet(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        packet: Packet,
    ) -> Option<Packet> {
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
        match packet.body {
            Body::Icmp(IcmpMessage::AgentDiscovery(message)) => {
                if let AgentDiscovery::Advertisement(advertisement) = *message
                    && let Some(source) = v4(packet.ip.source)
                {
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
            Body::Tunnel(_) if self.is_own(packet.ip.destination) => self.unpack(packet),
            Body::Icmp(IcmpMessage::Error { kind, ref quoted })
                if self.outbox.handle_too_big(now, kind, quoted) =>
            {
                None
            }
            body => Some(Packet { body, ..packet }),
        }
    }

    /// What was tunnelled to this mobile; a tunnel in a tunnel is one that another agent made.
    fn unpack(&mut self, mut packet: Packet) -> Option<Packet> {
        while let Body::Tunnel(inner) = packet.body {
            if !self.is_own(inner.ip.destination) {
                self.dropped.unexpected_tunnel += 1;
                return None;
            }
            packet = *inner;
        }
        Some(packet)
    }

    /// Whether it has an address: its home address, or one that is its own on a link.
    pub fn is_own(&self, address: IpAddr) -> bool {
        let mut links = self.attachments.iter();
        address == IpAddr::V4(self.config.home_address)
            || links.any(|link| link.address.is_some_and(|own| IpAddr::V4(own) == address))
    }

    /// The next packet to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.outbox.pop()
    }

    /// The next thing that happened.
    pub fn poll_event(&mut self) -> Option<MobileNodeEvent> {
        self.events.pop_front()
    }

    /// What this host's transports are to be told: the tunnel does not take a packet (RFC 2003 section 5.1).
    pub fn poll_error(&mut self) -> Option<(IcmpError, QuotedPacket)> {
        self.outbox.errors.pop_front()
    }
}

/// Whether nobody has chosen the source of a packet with care: connections have, and who answers; datagrams and echo
/// requests go from where the policy says (study T section 5.3.1).
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
