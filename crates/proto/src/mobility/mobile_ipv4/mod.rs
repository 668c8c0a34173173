//! Mobile IPv4 (RFC 5944): mobile node, home agent and foreign agent as state machines.
//!
//! All three are driven in the same way:
//! 1. A packet for this node, or for all nodes or agents of a link, goes to `handle_packet`. It returns the packet, or its
//!    decapsulated inner packet, if it is for the host itself. Agents read typed packets: a damaged packet first goes
//!    through `Packet::apply_bit_errors`.
//! 2. A packet to forward first goes to `HomeAgent::tunnel` or `ForeignAgent::forward`, before its hop limit is
//!    decremented; if they return it, it is forwarded as usual. A mobile's own packets go through `MobileNode::send`.
//! 3. At the time that `poll_timeout` returns, call `handle_timeout`.
//! 4. After each of these, drain `poll_transmit`, `poll_event` and `poll_error`.
//!
//! Links have no link-layer addresses here, so there is no ARP: a home agent intercepts the packets routed through it,
//! and a node is on a link if it receives the advertisements there.

mod acquisition;
mod address_server;
mod advertiser;
mod discovery;
mod encapsulations;
mod foreign_agent;
mod home_agent;
mod layers;
mod mobile_node;
mod policy;
mod words;

pub use crate::mobility::clock::{Clock, REPLAY_TOLERANCE};
pub use acquisition::ConflictCheck;
pub use address_server::AddressServer;
pub use advertiser::Advertising;
pub use encapsulations::Encapsulations;
pub use foreign_agent::{ForeignAgent, ForeignAgentConfig, ForeignAgentEvent};
pub use home_agent::{HomeAgent, HomeAgentConfig, HomeAgentEvent};
pub use layers::{LinkServer, Mobile};
pub use mobile_node::{CareOf, MobileNode, MobileNodeConfig, MobileNodeEvent, Point};
pub use policy::{Delivery, PolicyRule, PolicyTable};

use super::tunnel::{Ends, Refusal, Tunnels};
use crate::interface::InterfaceId;
use crate::packet::{BitErrors, Body, Identity, IpHeader, Packet, Payload};
use crate::time::{Duration, Instant};
use crate::wire::encapsulation::Encapsulation;
use crate::wire::icmp::{IcmpError, IcmpMessage, QuotedPacket, QuotedWithin};
use crate::wire::mobile_ipv4::{INFINITE_LIFETIME, Message, PORT};
use crate::wire::udp::UdpHeader;
use core::net::{IpAddr, Ipv4Addr};
use std::collections::VecDeque;

/// Hop limit of tunnels and of messages that cross the network (RFC 1700's recommended default).
const HOP_LIMIT: u8 = 64;
/// Path MTU between agents, in bytes, until an ICMP error reports less: Ethernet's.
const PATH_MTU: u32 = 1500;
/// All nodes of a link (RFC 1256 section 5).
pub const ALL_SYSTEMS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 1);
/// All routers of a link, the destination of solicitations (RFC 1256 section 5).
pub const ALL_ROUTERS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 2);

/// A packet to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Outgoing interface; `None` to use the host's routes.
    pub interface: Option<InterfaceId>,
    /// The packet.
    pub packet: Packet,
}

/// Outgoing packets of an agent.
#[derive(Debug)]
struct Outbox {
    packets: VecDeque<Transmit>,
    /// Identification field of the next packet, for reassembly.
    identification: u16,
    tunnels: Tunnels,
    /// ICMP errors for the sources of packets that exceed a tunnel's MTU.
    errors: VecDeque<(IcmpError, QuotedPacket)>,
}

impl Default for Outbox {
    fn default() -> Outbox {
        Outbox {
            packets: VecDeque::new(),
            identification: 0,
            tunnels: Tunnels::new(PATH_MTU, false),
            errors: VecDeque::new(),
        }
    }
}

/// The tunnel for a packet.
#[derive(Clone, Copy, Debug)]
struct Tunnel {
    /// Outgoing interface.
    interface: Option<InterfaceId>,
    entry: Ipv4Addr,
    exit: Ipv4Addr,
    encapsulation: Encapsulation,
    /// True if this node forwards the packet, which decrements its hop limit.
    forwarded: bool,
}

impl Outbox {
    fn pop(&mut self) -> Option<Transmit> {
        self.packets.pop_front()
    }

    fn push(&mut self, interface: Option<InterfaceId>, packet: Packet) {
        // Mostly one packet at a time, and many agents.
        if self.packets.capacity() == 0 {
            self.packets.reserve_exact(1);
        }
        self.packets.push_back(Transmit { interface, packet });
    }

    fn header(&mut self, source: Ipv4Addr, destination: Ipv4Addr, hop_limit: u8) -> IpHeader {
        self.identification = self.identification.wrapping_add(1);
        IpHeader {
            destination: destination.into(),
            hop_limit,
            traffic_class: 0,
            source: source.into(),
            identification: self.identification,
            dont_fragment: false,
        }
    }

    /// Sends a packet that this host originates.
    fn send(&mut self, interface: Option<InterfaceId>, ip: IpHeader, body: Body) {
        let packet = Packet {
            ip,
            flow: None,
            retransmission: false,
            bit_errors: BitErrors::NONE,
            identity: Identity::NONE,
            body,
        };
        self.push(interface, packet);
    }

    fn send_message(
        &mut self,
        interface: Option<InterfaceId>,
        envelope: Envelope,
        message: &Message,
    ) {
        let ip = self.header(envelope.source, envelope.destination, envelope.hop_limit);
        let ports = UdpHeader {
            source_port: PORT,
            destination_port: envelope.port,
        };
        let payload = Payload::Bytes(message.encode().into());
        self.send(interface, ip, Body::Udp(ports, payload));
    }

    fn send_discovery(
        &mut self,
        interface: InterfaceId,
        [source, destination]: [Ipv4Addr; 2],
        message: crate::wire::agent_discovery::AgentDiscovery,
    ) {
        // RFC 5944 section 2: neither message leaves its link.
        let ip = self.header(source, destination, 1);
        let body = Body::Icmp(IcmpMessage::AgentDiscovery(Box::new(message)));
        self.send(Some(interface), ip, body);
    }

    /// Sends `packet` through a tunnel.
    ///
    /// # Errors
    /// The reason for the refusal. For a packet that is too big, also queues an error for its source (RFC 2003 section
    /// 5.1).
    fn tunnel(&mut self, now: Instant, tunnel: Tunnel, packet: Packet) -> Result<(), Refusal> {
        // RFC 2003 section 4: a packet from either end of the tunnel would loop.
        let ends = [tunnel.entry, tunnel.exit];
        if ends.map(IpAddr::V4).contains(&packet.ip.source) {
            return Err(Refusal::Loop);
        }
        match self.enter(now, tunnel, packet) {
            Ok(packet) => {
                self.push(tunnel.interface, packet);
                Ok(())
            }
            Err(Refusal::TooBig { mtu, quoted }) => {
                let error = IcmpError::PacketTooBig { mtu };
                self.errors.extend(quoted.map(|quoted| (error, quoted)));
                Err(Refusal::TooBig { mtu, quoted: None })
            }
            Err(refusal) => Err(refusal),
        }
    }

    /// Puts `packet` into a tunnel (RFC 2003 section 3.1, RFC 2004 section 3, RFC 2784 section 5).
    ///
    /// # Errors
    /// The reason for the refusal.
    fn enter(&mut self, now: Instant, tunnel: Tunnel, packet: Packet) -> Result<Packet, Refusal> {
        let Tunnel { entry, exit, .. } = tunnel;
        let ends = Ends {
            entry: entry.into(),
            exit: exit.into(),
            encapsulation: tunnel.encapsulation,
        };
        let dont_fragment = packet.ip.dont_fragment;
        let mut packet = self
            .tunnels
            .encapsulate(now, packet, ends, tunnel.forwarded)?;
        packet.ip = match &packet.body {
            Body::Minimal(inner) => IpHeader {
                source: entry.into(),
                destination: exit.into(),
                ..inner.ip
            },
            _ => IpHeader {
                traffic_class: packet.ip.traffic_class,
                dont_fragment,
                ..self.header(entry, exit, HOP_LIMIT)
            },
        };
        Ok(packet)
    }

    /// Takes in a Packet Too Big error; returns false if it is not about a tunnel packet.
    fn handle_too_big(&mut self, now: Instant, kind: IcmpError, quoted: &QuotedPacket) -> bool {
        let IcmpError::PacketTooBig { mtu } = kind else {
            return false;
        };
        if !matches!(quoted.within.as_deref(), Some(QuotedWithin::Tunnel(_))) {
            return false;
        }
        let told = self.tunnels.handle_too_big(now, quoted.clone(), mtu);
        self.errors.extend(told);
        true
    }
}

/// Addressing of a message.
#[derive(Clone, Copy, Debug)]
struct Envelope {
    source: Ipv4Addr,
    destination: Ipv4Addr,
    port: u16,
    hop_limit: u8,
}

/// A registration message that arrived.
struct Received {
    source: Ipv4Addr,
    port: u16,
    hop_limit: u8,
    message: Message,
}

impl Received {
    /// Decodes the message in a datagram to port 434; `None` for any other packet.
    fn from_packet(packet: &Packet) -> Option<Result<Received, crate::wire::DecodeError>> {
        let Body::Udp(ports, payload) = &packet.body else {
            return None;
        };
        let IpAddr::V4(source) = packet.ip.source else {
            return None;
        };
        if ports.destination_port != PORT {
            return None;
        }
        let message = match payload {
            Payload::Bytes(bytes) => Message::decode(bytes),
            Payload::Pattern { .. } => {
                let mut bytes = Vec::new();
                payload.copy_into(&mut bytes);
                Message::decode(&bytes)
            }
        };
        Some(message.map(|message| Received {
            source,
            port: ports.source_port,
            hop_limit: packet.ip.hop_limit,
            message,
        }))
    }
}

/// Counts of dropped packets and messages, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Messages that could not be decoded, or that answer no pending request.
    pub malformed: u64,
    /// Messages with a missing or wrong authenticator, and replayed updates.
    pub not_authentic: u64,
    /// Tunnelled packets without a binding or visitor here.
    pub unexpected_tunnel: u64,
    /// Packets that would have looped in a tunnel.
    pub looping: u64,
    /// Packets whose hop limit was used up.
    pub hop_limit: u64,
    /// Packets larger than a tunnel's MTU.
    pub too_big: u64,
}

impl Dropped {
    /// Counts a packet that did not enter a tunnel.
    fn refuse(&mut self, refusal: &Refusal) {
        *match refusal {
            Refusal::Loop | Refusal::TooDeep => &mut self.looping,
            Refusal::HopLimit => &mut self.hop_limit,
            Refusal::TooBig { .. } => &mut self.too_big,
        } += 1;
    }
}

/// Decrements the hop limit of a forwarded packet; returns false if it is used up.
fn take_hop(packet: &mut Packet) -> bool {
    let left = packet.ip.hop_limit > 1;
    packet.ip.hop_limit = packet.ip.hop_limit.saturating_sub(1);
    left
}

/// Returns the end of a registration that is granted now.
fn end_of(now: Instant, lifetime: u16) -> Instant {
    match lifetime {
        INFINITE_LIFETIME => Instant::NEVER,
        seconds => now + Duration::from_secs(seconds.into()),
    }
}

/// Returns the address if it is an IPv4 address, as all agents' are here.
fn v4(address: IpAddr) -> Option<Ipv4Addr> {
    match address {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    }
}

/// Returns true if the address can belong to a host.
fn is_host(address: Ipv4Addr) -> bool {
    !(address.is_unspecified() || address.is_multicast() || address.is_broadcast())
}

#[cfg(test)]
mod tests;
