//! The foreign agent, a router on a visited network (RFC 5944 sections 3.7 and 4.2.2), alone or below a gateway foreign
//! agent (RFC 4857), which is of the same type.

mod copies;
mod preregistration;
mod relay;
pub(super) use relay::binding_update;
mod visitors;

use super::advertiser::Advertiser;
use super::compression::HeaderCompression;
use super::{
    Advertising, Dropped, Encapsulations, InterfaceId, Outbox, Received, Transmit, Tunnel,
    take_hop, v4,
};
use crate::host::layer::Look;
use crate::mobility::draws::Draws;
use crate::packet::{Body, Packet};
use crate::time::{Duration, Instant};
use crate::wire::agent_discovery::{AgentDiscovery, AgentFlags, MobilityAgent};
use crate::wire::encapsulation::Encapsulation;
use crate::wire::icmp::{IcmpError, IcmpMessage, QuotedPacket};
use crate::wire::mobile_ipv4::{Code, Content, PORT, Purpose, SecurityAssociation};
use crate::wire::prefix::Ipv4Prefix;
use copies::Copies;
use core::net::{IpAddr, Ipv4Addr};
use preregistration::Surroundings;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use visitors::{Departed, NextHop, Pending, ReplyTo, Visitor};

/// Time without a reply after which the foreign agent refuses a request itself, with code 78. Chosen: a home agent
/// accepts a request as new for as long (section 5.7.1).
const PENDING_TIMEOUT: Duration = super::REPLAY_TOLERANCE;

/// Settings of a foreign agent.
#[derive(Clone, Debug)]
pub struct ForeignAgentConfig {
    /// Address of the agent, also its care-of address.
    pub address: Ipv4Addr,
    /// Gateway foreign agents above it, at most 61. A mobile registers with one of them (TeleMIP: its mobility agent).
    pub gateways: Vec<Ipv4Addr>,
    /// Prefix of the private addresses that only the domain below the gateways routes (RFC 1918), of which the agent's is
    /// one (TeleMIP); `None` if it is routed everywhere. Such an agent serves mobiles of its gateways only, and names
    /// itself to no node outside the prefix but these.
    pub domain: Option<Ipv4Prefix>,
    /// Maximum lifetime to accept, in seconds; 65,535 is infinite.
    pub longest_lifetime: u16,
    /// Maximum number of visitors, registered and pending.
    pub most_visitors: usize,
    /// True to offer reverse tunnels (RFC 3024).
    pub reverse_tunnel: bool,
    /// Encapsulations on offer.
    pub encapsulations: Encapsulations,
    /// True to offer Van Jacobson's header compression on the links for visitors (the V bit).
    pub header_compression: bool,
    /// True if mobiles with a co-located care-of address must also register through it.
    pub registration_required: bool,
    /// Mobility security associations with mobiles, by home address; may be empty. They are required for regional
    /// registration and for forwarding to departed visitors.
    pub mobiles: BTreeMap<Ipv4Addr, SecurityAssociation>,
    /// Mobility security associations with home agents; may be empty.
    pub home_agents: BTreeMap<Ipv4Addr, SecurityAssociation>,
    /// Advertising on the links for visitors; a gateway has none.
    pub advertising: Advertising,
    /// Secret behind the random intervals.
    pub secret: [u8; 16],
}

/// Event at a foreign agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignAgentEvent {
    /// A visitor was registered or renewed.
    Arrived {
        /// Home address of the visitor.
        home_address: Ipv4Addr,
        /// Lifetime in seconds.
        lifetime: u16,
    },
    /// A visitor was removed.
    Left {
        /// Home address of the visitor.
        home_address: Ipv4Addr,
        /// New care-of address, if its packets are forwarded there.
        care_of_address: Option<Ipv4Addr>,
    },
    /// This agent, not the home agent, refused a registration.
    Refused {
        /// Home address of the mobile.
        home_address: Ipv4Addr,
        /// Code of the reply.
        code: Code,
    },
}

/// A foreign agent; the [module](super) tells how to drive it.
#[derive(Debug)]
pub struct ForeignAgent {
    config: ForeignAgentConfig,
    visitors: BTreeMap<Ipv4Addr, Visitor>,
    /// Latest relayed request without a reply, by home address.
    pending: BTreeMap<Ipv4Addr, Pending>,
    departed: BTreeMap<Ipv4Addr, Departed>,
    /// Visitors whose links compress headers.
    compressions: BTreeMap<Ipv4Addr, HeaderCompression>,
    copies: Option<Copies>,
    surroundings: Surroundings,
    /// Times at which to check a mobile's entries: never too late; an extended entry leaves one superfluous time.
    expiries: BTreeSet<(Instant, Ipv4Addr)>,
    advertiser: Advertiser,
    outbox: Outbox,
    events: VecDeque<ForeignAgentEvent>,
    dropped: Dropped,
}

impl ForeignAgent {
    /// Creates a foreign agent, which begins to advertise.
    pub fn new(now: Instant, config: ForeignAgentConfig) -> ForeignAgent {
        let set = |flag, is_set| if is_set { flag } else { AgentFlags(0) };
        let flags = AgentFlags::FOREIGN_AGENT
            .with(set(AgentFlags::REVERSE_TUNNEL, config.reverse_tunnel))
            .with(set(
                AgentFlags::REGISTRATION_REQUIRED,
                config.registration_required,
            ))
            .with(set(AgentFlags::REGIONAL, !config.gateways.is_empty()))
            .with(set(
                AgentFlags::HEADER_COMPRESSION,
                config.header_compression,
            ))
            .with(config.encapsulations.advertised());
        let agent = MobilityAgent {
            sequence: 0,
            registration_lifetime: config.longest_lifetime,
            flags,
            care_of_addresses: [&[config.address], &config.gateways[..]].concat(),
        };
        ForeignAgent {
            advertiser: Advertiser::new(
                now,
                config.advertising.clone(),
                config.address,
                agent,
                Draws::new(config.secret),
            ),
            config,
            visitors: BTreeMap::new(),
            pending: BTreeMap::new(),
            departed: BTreeMap::new(),
            compressions: BTreeMap::new(),
            copies: None,
            surroundings: Surroundings::default(),
            expiries: BTreeSet::new(),
            outbox: Outbox::default(),
            events: VecDeque::new(),
            dropped: Dropped::default(),
        }
    }

    /// Returns the mobiles currently registered here.
    pub fn visitors(&self, now: Instant) -> impl Iterator<Item = Ipv4Addr> {
        let present = self.visitors.iter();
        present
            .filter(move |(_, visitor)| now < visitor.expires)
            .map(|(&home_address, _)| home_address)
    }

    /// Returns the link of a visitor, for a host route to it.
    pub fn interface_of(&self, home_address: Ipv4Addr) -> Option<InterfaceId> {
        match self.visitors.get(&home_address)?.next {
            NextHop::Link(interface) => Some(interface),
            NextHop::Agent(_) => None,
        }
    }

    /// Returns the agent's address.
    pub fn address(&self) -> Ipv4Addr {
        self.config.address
    }

    /// Returns true for an interface to a link for visitors.
    pub fn is_on(&self, interface: InterfaceId) -> bool {
        self.config.advertising.interfaces.contains(&interface)
    }

    /// Returns true if packets from an address go through [`forward`](Self::forward): a visitor with a reverse tunnel
    /// has it.
    pub fn forwards(&self, source: Ipv4Addr) -> bool {
        let visitor = self.visitors.get(&source);
        visitor.is_some_and(|visitor| visitor.reverse_tunnel)
    }

    /// Returns true if the agent offers header compression, so that it has to see compressed packets before a router
    /// forwards them.
    pub(super) fn compresses(&self) -> bool {
        self.config.header_compression
    }

    /// Decides about a packet with compressed headers: the agent takes it from a visitor on its link, and drops any
    /// other, which nobody could restore.
    pub(super) fn look_at(&mut self, interface: InterfaceId, packet: &Packet) -> Look {
        let is_compressed = matches!(packet.body, Body::Compressed(_));
        match is_compressed {
            false => Look::Pass,
            true if self.is_compressed_from(interface, packet) => Look::Take,
            true => {
                self.dropped.compressed += 1;
                Look::Drop
            }
        }
    }

    /// Takes in a visitor's packet with compressed headers, and sends it on with whole ones, as the visitor's other
    /// packets go. Returns false if it has to be discarded.
    pub(super) fn send_on(&mut self, now: Instant, packet: Packet) -> bool {
        let source = v4(packet.ip.source);
        let interface = source.and_then(|source| self.interface_of(source));
        let is_ours = packet.ip.destination == IpAddr::V4(self.config.address);
        let Some(restored) = interface.and_then(|link| self.decompress(link, packet)) else {
            return false;
        };
        let left = match interface {
            Some(interface) if !is_ours => self.forward(now, interface, restored),
            _ => Some(restored),
        };
        if let Some(mut packet) = left {
            if !is_ours && !take_hop(&mut packet) {
                self.dropped.hop_limit += 1;
                return false;
            }
            self.outbox.push(None, packet);
        }
        true
    }

    /// Returns true if the source of a packet from an interface is a visitor there with header compression.
    fn is_compressed_from(&self, interface: InterfaceId, packet: &Packet) -> bool {
        v4(packet.ip.source).is_some_and(|source| {
            self.compressions.contains_key(&source) && self.interface_of(source) == Some(interface)
        })
    }

    /// Restores a visitor's packet from its link. Counts one that has to be discarded.
    fn decompress(&mut self, interface: InterfaceId, packet: Packet) -> Option<Packet> {
        if !matches!(packet.body, Body::Compressed(_)) {
            return Some(packet);
        }
        let is_known = self.is_compressed_from(interface, &packet);
        let source = v4(packet.ip.source).filter(|_| is_known);
        let compression = source.and_then(|source| self.compressions.get_mut(&source));
        let restored = compression.and_then(|compression| compression.decompress(packet));
        self.dropped.compressed += u64::from(restored.is_none());
        restored
    }

    /// Returns the counts of dropped packets.
    pub fn dropped(&self) -> Dropped {
        self.dropped
    }

    /// Takes in a packet for this host or for all on a link. Returns it if it is not for the agent.
    pub fn handle_packet(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        packet: Packet,
    ) -> Option<Packet> {
        let packet = self.decompress(interface, packet)?;
        match Received::from_packet(&packet) {
            Some(Ok(received)) => self.handle_message(now, interface, received),
            Some(Err(_)) => self.dropped.malformed += 1,
            None => return self.handle_other(now, interface, packet),
        }
        None
    }

    fn handle_message(&mut self, now: Instant, interface: InterfaceId, received: Received) {
        match received.message.content {
            Content::Request(request) if request.purpose == Purpose::Handoff => {
                self.handle_update(now, &received, &request);
            }
            Content::Request(request) => self.handle_request(now, interface, received, request),
            Content::Reply(reply) => self.handle_reply(now, received, reply),
        }
        self.advertiser.set_busy(self.is_full());
    }

    fn handle_other(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        packet: Packet,
    ) -> Option<Packet> {
        let is_ours = packet.ip.destination == IpAddr::V4(self.config.address);
        if is_ours && packet.body.inner().is_some() {
            let source = packet.ip.source;
            if let Some(inner) = packet.decapsulate() {
                self.handle_tunnel(now, source, inner);
            }
            return None;
        }
        match packet.body {
            Body::Icmp(IcmpMessage::AgentDiscovery(message)) => {
                self.handle_discovery(now, (interface, packet.ip.source), *message);
                None
            }
            Body::Icmp(IcmpMessage::Error { kind, ref quoted })
                if self.outbox.handle_too_big(now, kind, quoted) =>
            {
                None
            }
            Body::Icmp(IcmpMessage::Error { kind, quoted })
                if quoted.destination_port == PORT && quoted.protocol == 17 =>
            {
                self.handle_unreachable(kind, quoted.destination);
                None
            }
            body => Some(Packet { body, ..packet }),
        }
    }

    fn handle_discovery(
        &mut self,
        now: Instant,
        (interface, source): (InterfaceId, IpAddr),
        message: AgentDiscovery,
    ) {
        let (is_here, Some(sender)) = (self.is_on(interface), v4(source)) else {
            return;
        };
        match message {
            AgentDiscovery::Solicitation if self.surroundings.knows(sender) => {
                self.advertiser.answer(None, sender, &mut self.outbox);
            }
            AgentDiscovery::Solicitation if is_here => {
                let to = Some(interface);
                self.advertiser.answer(to, sender, &mut self.outbox);
            }
            AgentDiscovery::ProxySolicitation(point) if is_here => {
                self.advertise_next(now, sender, point);
            }
            AgentDiscovery::Advertisement(advertisement) => {
                self.handle_advertisement(now, sender, advertisement);
            }
            _ => {}
        }
    }

    /// Tunnels a visitor's packet that arrived over `interface` and would be forwarded to the home agent (RFC 3024,
    /// direct delivery). Returns it, with whole headers, if it does not belong in a reverse tunnel.
    pub fn forward(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        packet: Packet,
    ) -> Option<Packet> {
        let packet = self.decompress(interface, packet)?;
        let visitor = v4(packet.ip.source).and_then(|address| self.visitors.get(&address));
        // A request to the agent of the mobile's next link takes the direct way (RFC 4881 section 3).
        let is_ahead = v4(packet.ip.destination).is_some_and(|to| self.surroundings.knows(to));
        let visitor = visitor.filter(|_| !is_ahead);
        let Some(visitor) = visitor.filter(|visitor| {
            visitor.reverse_tunnel
                && now < visitor.expires
                && visitor.next == NextHop::Link(interface)
        }) else {
            return Some(packet);
        };
        let end = visitor.upwards(self.config.address);
        self.send_into_tunnel(now, end, packet);
        None
    }

    /// Takes in a decapsulated packet: for a visitor, for a departed one, or from a visitor to its home agent.
    fn handle_tunnel(&mut self, now: Instant, outer_source: IpAddr, inner: Packet) {
        let destination = v4(inner.ip.destination);
        let next = destination.and_then(|address| self.next_hop(now, address));
        if let (Some(home_address), Some((next, encapsulation))) = (destination, next) {
            match next {
                NextHop::Agent(agent) => self.send_into_tunnel(now, (agent, encapsulation), inner),
                NextHop::Link(interface) => self.deliver(now, (home_address, interface), inner),
            }
            return;
        }
        let departed =
            destination.and_then(|address| Some((address, self.departed.get(&address)?)));
        if let Some((home_address, departed)) = departed.filter(|(_, one)| now < one.expires) {
            let care_of_address = departed.care_of_address;
            // RFC 2003 section 4: the packet must not go back where it came from.
            if IpAddr::V4(care_of_address) == outer_source {
                self.dropped.looping += 1;
            } else {
                self.send_to_departed(now, (home_address, care_of_address), inner);
            }
            return;
        }
        let visitor = v4(inner.ip.source).and_then(|address| self.visitors.get(&address));
        let from_below = visitor.filter(|visitor| {
            let below = v4(outer_source).map(NextHop::Agent);
            visitor.reverse_tunnel && now < visitor.expires && Some(visitor.next) == below
        });
        match from_below.map(|visitor| visitor.upwards(self.config.address)) {
            Some(end) => self.send_into_tunnel(now, end, inner),
            // Section 4.2.2: a packet for no visitor must not be forwarded, or it would come back.
            None => self.dropped.unexpected_tunnel += 1,
        }
    }

    /// Sends a packet to a mobile on a link; keeps a copy of a visitor's.
    fn deliver(
        &mut self,
        now: Instant,
        (home_address, interface): (Ipv4Addr, InterfaceId),
        mut packet: Packet,
    ) {
        if let Some(copies) = &mut self.copies
            && self.visitors.contains_key(&home_address)
        {
            copies.keep(now, home_address, &packet);
        }
        if !take_hop(&mut packet) {
            self.dropped.hop_limit += 1;
            return;
        }
        let packet = match self.compressions.get_mut(&home_address) {
            Some(compression) => compression.compress(packet),
            None => packet,
        };
        self.outbox.push(Some(interface), packet);
    }

    /// Returns the next hop to a registered or pending mobile, and the encapsulation of a tunnel there. Packets for a pending one can only come from its
    /// previous agent, which forwards to it before the home agent does (smooth handoff).
    fn next_hop(&self, now: Instant, home_address: Ipv4Addr) -> Option<(NextHop, Encapsulation)> {
        let visitor = self.visitors.get(&home_address);
        let visitor = visitor.filter(|visitor| now < visitor.expires);
        let pending = self.pending.get(&home_address);
        let pending =
            pending.filter(|pending| now < pending.expires && pending.request.lifetime > 0);
        let asking = pending.map(|pending| (pending.next, pending.encapsulation));
        let registered = visitor.map(|visitor| (visitor.next, visitor.encapsulation));
        registered.or(asking)
    }

    fn send_into_tunnel(
        &mut self,
        now: Instant,
        (exit, encapsulation): (Ipv4Addr, Encapsulation),
        packet: Packet,
    ) {
        let tunnel = Tunnel {
            interface: None,
            entry: self.config.address,
            exit,
            encapsulation,
            forwarded: true,
        };
        if let Err(refusal) = self.outbox.tunnel(now, tunnel, packet) {
            self.dropped.refuse(&refusal);
        }
    }

    /// Handles an ICMP error about relayed requests (codes 80 to 88).
    fn handle_unreachable(&mut self, error: IcmpError, destination: IpAddr) {
        let code = match error {
            IcmpError::Unreachable => Code::HOME_AGENT_HOST_UNREACHABLE,
            IcmpError::PortUnreachable => Code::HOME_AGENT_PORT_UNREACHABLE,
            IcmpError::PacketTooBig { .. }
            | IcmpError::ProtocolUnreachable
            | IcmpError::TimeExceeded => Code::HOME_AGENT_UNREACHABLE,
            // The request is still under way.
            IcmpError::BadState | IcmpError::Backpressure { .. } => return,
        };
        let all = self.pending.iter();
        let lost: Vec<Ipv4Addr> = all
            .filter(|(_, pending)| IpAddr::V4(pending.relayed_to) == destination)
            .map(|(&home_address, _)| home_address)
            .collect();
        for home_address in lost {
            self.refuse_pending(home_address, code);
        }
    }

    /// Returns the time of the next [`ForeignAgent::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Instant> {
        let expiry = self.expiries.first().map(|&(expiry, _)| expiry);
        let copies = self.copies.as_ref().and_then(Copies::poll_timeout);
        expiry
            .into_iter()
            .chain(self.advertiser.poll_timeout())
            .chain(copies)
            .min()
    }

    /// Removes expired entries, and advertises.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(&(expiry, home_address)) = self.expiries.first()
            && expiry <= now
        {
            self.expiries.pop_first();
            let ends = |expires: Instant| expires <= now;
            if self
                .pending
                .get(&home_address)
                .is_some_and(|pending| ends(pending.expires))
            {
                self.refuse_pending(home_address, Code::FOREIGN_TIMEOUT);
            }
            if self
                .visitors
                .get(&home_address)
                .is_some_and(|visitor| ends(visitor.expires))
            {
                self.dismiss(home_address, None);
            }
            if self
                .departed
                .get(&home_address)
                .is_some_and(|departed| ends(departed.expires))
            {
                self.departed.remove(&home_address);
                self.forget_copies(home_address);
            }
        }
        self.release_copies(now);
        self.advertiser.set_busy(self.is_full());
        self.advertiser.handle_timeout(now, &mut self.outbox);
    }

    fn is_full(&self) -> bool {
        self.visitors.len() + self.pending.len() >= self.config.most_visitors
    }

    /// Returns the next packet to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.outbox.pop()
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<ForeignAgentEvent> {
        self.events.pop_front()
    }

    /// Returns the next error for the source of a packet that exceeds a tunnel's MTU (RFC 2003 section 5.1).
    pub fn poll_error(&mut self) -> Option<(IcmpError, QuotedPacket)> {
        self.outbox.errors.pop_front()
    }
}
