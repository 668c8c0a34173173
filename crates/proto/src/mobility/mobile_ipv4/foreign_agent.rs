//! The router on a visited network that takes mobiles in (RFC 5944 sections 3.7 and 4.2.2), alone or below a gateway
//! foreign agent (RFC 4857), which is one of these too.

mod relay;
pub(super) use relay::binding_update;
mod visitors;

use super::advertiser::Advertiser;
use super::{Advertising, Dropped, InterfaceId, Outbox, Received, Transmit, Tunnel, take_hop, v4};
use crate::mobility::draws::Draws;
use crate::packet::{Body, Packet};
use crate::time::{Duration, Instant};
use crate::wire::agent_discovery::{AgentDiscovery, AgentFlags, MobilityAgent};
use crate::wire::icmp::{IcmpError, IcmpMessage, QuotedPacket};
use crate::wire::mobile_ipv4::{Code, Content, PORT, Purpose, SecurityAssociation};
use core::net::{IpAddr, Ipv4Addr};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use visitors::{Departed, NextHop, Pending, Visitor};

/// A request that is not answered for so long is answered by the foreign agent: code 78. Chosen as long as a home agent
/// takes a request for new (section 5.7.1).
const PENDING_TIMEOUT: Duration = super::REPLAY_TOLERANCE;

/// How a foreign agent is set up.
#[derive(Clone, Debug)]
pub struct ForeignAgentConfig {
    /// Its address, which is its care-of address.
    pub address: Ipv4Addr,
    /// The gateway foreign agent above it.
    pub gateway: Option<Ipv4Addr>,
    /// The longest registration that it takes, in seconds; 65,535 is for ever.
    pub longest_lifetime: u16,
    /// Visitors, present and asking, that it takes at most.
    pub most_visitors: usize,
    /// Whether it tunnels back to home agents (RFC 3024).
    pub reverse_tunnel: bool,
    /// Whether mobiles with an address of their own must register through it too.
    pub registration_required: bool,
    /// Its security associations with mobiles, by home address: with them it takes regional registrations and follows
    /// those who leave. There need be none.
    pub mobiles: BTreeMap<Ipv4Addr, SecurityAssociation>,
    /// Its security associations with home agents; there need be none.
    pub home_agents: BTreeMap<Ipv4Addr, SecurityAssociation>,
    /// The links on which it takes visitors; a gateway has none.
    pub advertising: Advertising,
    /// What its random intervals come from.
    pub secret: [u8; 16],
}

/// What happened at a foreign agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignAgentEvent {
    /// A visitor was registered, or registered again.
    Arrived {
        /// The visitor.
        home_address: Ipv4Addr,
        /// For how long, in seconds.
        lifetime: u16,
    },
    /// A visitor is no longer served here.
    Left {
        /// The visitor.
        home_address: Ipv4Addr,
        /// Where its packets are sent on to.
        care_of_address: Option<Ipv4Addr>,
    },
    /// This agent, not the home agent, refused a registration.
    Refused {
        /// The mobile that it was for.
        home_address: Ipv4Addr,
        /// What it was told.
        code: Code,
    },
}

/// A foreign agent; how to drive it is told in the [module](super).
#[derive(Debug)]
pub struct ForeignAgent {
    config: ForeignAgentConfig,
    visitors: BTreeMap<Ipv4Addr, Visitor>,
    /// By home address: the request that was relayed last and is not answered.
    pending: BTreeMap<Ipv4Addr, Pending>,
    departed: BTreeMap<Ipv4Addr, Departed>,
    /// When to look at a mobile's entries again: never too late, and once too often where one was prolonged.
    expiries: BTreeSet<(Instant, Ipv4Addr)>,
    advertiser: Advertiser,
    outbox: Outbox,
    events: VecDeque<ForeignAgentEvent>,
    dropped: Dropped,
}

impl ForeignAgent {
    /// A foreign agent that begins to advertise itself.
    pub fn new(now: Instant, config: ForeignAgentConfig) -> ForeignAgent {
        let set = |flag, is_set| if is_set { flag } else { AgentFlags(0) };
        let flags = AgentFlags::FOREIGN_AGENT
            .with(set(AgentFlags::REVERSE_TUNNEL, config.reverse_tunnel))
            .with(set(
                AgentFlags::REGISTRATION_REQUIRED,
                config.registration_required,
            ))
            .with(set(AgentFlags::REGIONAL, config.gateway.is_some()));
        let agent = MobilityAgent {
            sequence: 0,
            registration_lifetime: config.longest_lifetime,
            flags,
            care_of_addresses: [config.address].into_iter().chain(config.gateway).collect(),
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
            expiries: BTreeSet::new(),
            outbox: Outbox::default(),
            events: VecDeque::new(),
            dropped: Dropped::default(),
        }
    }

    /// Mobiles that are registered here now.
    pub fn visitors(&self, now: Instant) -> impl Iterator<Item = Ipv4Addr> {
        let present = self.visitors.iter();
        present
            .filter(move |(_, visitor)| now < visitor.expires)
            .map(|(&home_address, _)| home_address)
    }

    /// The link on which a visitor is, where a host's route to it leads.
    pub fn interface_of(&self, home_address: Ipv4Addr) -> Option<InterfaceId> {
        match self.visitors.get(&home_address)?.next {
            NextHop::Link(interface) => Some(interface),
            NextHop::Agent(_) => None,
        }
    }

    /// Its address.
    pub fn address(&self) -> Ipv4Addr {
        self.config.address
    }

    /// Whether it takes visitors on a link.
    pub fn is_on(&self, interface: InterfaceId) -> bool {
        self.config.advertising.interfaces.contains(&interface)
    }

    /// Whether packets from an address are for [`forward`](Self::forward): it is that of a visitor with a reverse tunnel.
    pub fn forwards(&self, source: Ipv4Addr) -> bool {
        let visitor = self.visitors.get(&source);
        visitor.is_some_and(|visitor| visitor.reverse_tunnel)
    }

    /// What was dropped so far.
    pub fn dropped(&self) -> Dropped {
        self.dropped
    }

    /// Takes in a packet for this host or for all on a link. Returns what is none of the agent's business.
    pub fn handle_packet(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        packet: Packet,
    ) -> Option<Packet> {
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
        match packet.body {
            Body::Icmp(IcmpMessage::AgentDiscovery(message)) => {
                if *message == AgentDiscovery::Solicitation {
                    self.advertiser.handle_solicitation(
                        interface,
                        packet.ip.source,
                        &mut self.outbox,
                    );
                }
                None
            }
            Body::Tunnel(inner) if packet.ip.destination == IpAddr::V4(self.config.address) => {
                self.handle_tunnel(now, packet.ip.source, *inner);
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

    /// Takes a visitor's packet that came in over `interface` and would be forwarded, and tunnels it to the home agent
    /// (RFC 3024, direct delivery). Returns it if it is none that goes into a reverse tunnel.
    pub fn forward(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        packet: Packet,
    ) -> Option<Packet> {
        let visitor = v4(packet.ip.source).and_then(|address| self.visitors.get(&address));
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

    /// What the other end of a tunnel sent: to a visitor, after one that has left, or back to a home agent.
    fn handle_tunnel(&mut self, now: Instant, outer_source: IpAddr, mut inner: Packet) {
        let destination = v4(inner.ip.destination);
        if let Some(next) = destination.and_then(|address| self.next_hop(now, address)) {
            match next {
                NextHop::Agent(agent) => self.send_into_tunnel(now, agent, inner),
                NextHop::Link(interface) => match take_hop(&mut inner) {
                    true => self.outbox.push(Some(interface), inner),
                    false => self.dropped.hop_limit += 1,
                },
            }
            return;
        }
        let departed = destination.and_then(|address| self.departed.get(&address));
        if let Some(departed) = departed.filter(|departed| now < departed.expires) {
            let care_of_address = departed.care_of_address;
            // Back to where it came from it must not go (RFC 2003 section 4).
            if IpAddr::V4(care_of_address) == outer_source {
                self.dropped.looping += 1;
            } else {
                self.send_into_tunnel(now, care_of_address, inner);
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
            // Section 4.2.2: what is for nobody here must not be forwarded, or it would come back.
            None => self.dropped.unexpected_tunnel += 1,
        }
    }

    /// Where a mobile that is here, or asks to be, gets its packets. Of one that asks they come only from the agent that it has
    /// left, which follows it before the home agent does: smooth handoff.
    fn next_hop(&self, now: Instant, home_address: Ipv4Addr) -> Option<NextHop> {
        let visitor = self.visitors.get(&home_address);
        let visitor = visitor.filter(|visitor| now < visitor.expires);
        let pending = self.pending.get(&home_address);
        let pending =
            pending.filter(|pending| now < pending.expires && pending.request.lifetime > 0);
        let asking = pending.map(|pending| pending.next);
        visitor.map(|visitor| visitor.next).or(asking)
    }

    fn send_into_tunnel(&mut self, now: Instant, exit: Ipv4Addr, packet: Packet) {
        let tunnel = Tunnel {
            interface: None,
            entry: self.config.address,
            exit,
            forwarded: true,
        };
        if let Err(refusal) = self.outbox.tunnel(now, tunnel, packet) {
            self.dropped.refuse(&refusal);
        }
    }

    /// An ICMP error about a relayed request: codes 80 to 88.
    fn handle_unreachable(&mut self, error: IcmpError, destination: IpAddr) {
        let code = match error {
            IcmpError::Unreachable => Code::HOME_AGENT_HOST_UNREACHABLE,
            IcmpError::PortUnreachable => Code::HOME_AGENT_PORT_UNREACHABLE,
            IcmpError::PacketTooBig { .. }
            | IcmpError::ProtocolUnreachable
            | IcmpError::TimeExceeded => Code::HOME_AGENT_UNREACHABLE,
            // It is still on its way.
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

    /// When [`ForeignAgent::handle_timeout`] is due.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let expiry = self.expiries.first().map(|&(expiry, _)| expiry);
        expiry
            .into_iter()
            .chain(self.advertiser.poll_timeout())
            .min()
    }

    /// Ends what has lasted long enough, and advertises.
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
            }
        }
        self.advertiser.set_busy(self.is_full());
        self.advertiser.handle_timeout(now, &mut self.outbox);
    }

    fn is_full(&self) -> bool {
        self.visitors.len() + self.pending.len() >= self.config.most_visitors
    }

    /// The next packet to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.outbox.pop()
    }

    /// The next thing that happened.
    pub fn poll_event(&mut self) -> Option<ForeignAgentEvent> {
        self.events.pop_front()
    }

    /// What the source of a packet is to be told by this host: a tunnel does not take it (RFC 2003 section 5.1).
    pub fn poll_error(&mut self) -> Option<(IcmpError, QuotedPacket)> {
        self.outbox.errors.pop_front()
    }
}
