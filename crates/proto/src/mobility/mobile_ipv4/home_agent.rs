//! The home agent, a router on the home network that keeps its mobiles' bindings (RFC 5944 sections 3.8 and 4).

mod broadcasts;
mod registration;

use super::advertiser::Advertiser;
use super::{
    Advertising, Clock, Dropped, Encapsulations, InterfaceId, Outbox, Received, Transmit, Tunnel,
    take_hop, v4,
};
use crate::mobility::draws::Draws;
use crate::mobility::tunnel::{Refusal, take_back};
use crate::packet::{Body, Packet};
use crate::time::Instant;
use crate::wire::agent_discovery::{AgentDiscovery, AgentFlags, MobilityAgent};
use crate::wire::encapsulation::Encapsulation;
use crate::wire::icmp::{IcmpError, IcmpMessage, QuotedPacket};
use crate::wire::mobile_ipv4::{Code, SecurityAssociation};
use core::net::{IpAddr, Ipv4Addr};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Settings of a home agent.
#[derive(Clone, Debug)]
pub struct HomeAgentConfig {
    /// Address of the agent.
    pub address: Ipv4Addr,
    /// Maximum lifetime to grant, in seconds; 65,535 is infinite.
    pub longest_lifetime: u16,
    /// Maximum number of care-of addresses per mobile.
    pub simultaneous_bindings: usize,
    /// True to accept reverse tunnels (RFC 3024).
    pub reverse_tunnel: bool,
    /// Encapsulations on offer.
    pub encapsulations: Encapsulations,
    /// Mobility security associations with foreign agents, by address; may be empty.
    pub foreign_agents: BTreeMap<Ipv4Addr, SecurityAssociation>,
    /// Advertising on the home links.
    pub advertising: Advertising,
    /// Time of day.
    pub clock: Clock,
    /// Secret behind the random intervals.
    pub secret: [u8; 16],
}

/// Event at a home agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HomeAgentEvent {
    /// A binding was registered or renewed.
    Bound {
        /// Home address of the mobile.
        home_address: Ipv4Addr,
        /// Care-of address.
        care_of_address: Ipv4Addr,
        /// Lifetime in seconds.
        lifetime: u16,
    },
    /// A binding was removed.
    Unbound {
        /// Home address of the mobile.
        home_address: Ipv4Addr,
        /// Former care-of address.
        care_of_address: Ipv4Addr,
        /// True if the lifetime ran out; false if the mobile ended or replaced the binding.
        expired: bool,
    },
    /// A registration was refused.
    Refused {
        /// Home address of the mobile.
        home_address: Ipv4Addr,
        /// Code of the reply.
        code: Code,
    },
}

/// A home agent; the [module](super) tells how to drive it.
#[derive(Debug)]
pub struct HomeAgent {
    config: HomeAgentConfig,
    mobiles: BTreeMap<Ipv4Addr, Mobile>,
    /// Expiry times of bindings by mobile: at most one for each mobile, its earliest.
    expiries: BTreeSet<(Instant, Ipv4Addr)>,
    advertiser: Advertiser,
    outbox: Outbox,
    events: VecDeque<HomeAgentEvent>,
    /// Home addresses of mobiles that have registered, for [`HomeAgent::poll_bound`].
    bound: VecDeque<Ipv4Addr>,
    dropped: Dropped,
}

/// A mobile's association and bindings: some hundred bytes.
#[derive(Debug)]
struct Mobile {
    association: SecurityAssociation,
    /// Highest accepted identification (RFC 5944 section 5.7.1).
    identification: u64,
    bindings: Vec<Binding>,
}

#[derive(Clone, Copy, Debug)]
struct Binding {
    care_of_address: Ipv4Addr,
    reverse_tunnel: bool,
    encapsulation: Encapsulation,
    /// True if the mobile asks for broadcasts of its home network.
    broadcasts: bool,
    is_colocated: bool,
    expires: Instant,
}

impl Mobile {
    fn first_expiry(&self) -> Option<Instant> {
        let expiries = self.bindings.iter().map(|binding| binding.expires);
        expiries.min().filter(|&expiry| expiry < Instant::NEVER)
    }

    fn current(&self, now: Instant) -> impl Iterator<Item = &Binding> {
        self.bindings
            .iter()
            .filter(move |binding| now < binding.expires)
    }
}

impl HomeAgent {
    /// Creates a home agent, which begins to advertise.
    pub fn new(now: Instant, config: HomeAgentConfig) -> HomeAgent {
        let reverse_tunnel = match config.reverse_tunnel {
            true => AgentFlags::REVERSE_TUNNEL,
            false => AgentFlags(0),
        };
        let agent = MobilityAgent {
            registration_lifetime: config.longest_lifetime,
            flags: AgentFlags::HOME_AGENT
                .with(reverse_tunnel)
                .with(config.encapsulations.advertised()),
            ..MobilityAgent::default()
        };
        HomeAgent {
            advertiser: Advertiser::new(
                now,
                config.advertising.clone(),
                config.address,
                agent,
                Draws::new(config.secret),
            ),
            config,
            mobiles: BTreeMap::new(),
            expiries: BTreeSet::new(),
            outbox: Outbox::default(),
            events: VecDeque::new(),
            bound: VecDeque::new(),
            dropped: Dropped::default(),
        }
    }

    /// Adds a mobile, with the mobility security association shared with it.
    pub fn add_mobile(&mut self, home_address: Ipv4Addr, association: SecurityAssociation) {
        let mobile = Mobile {
            association,
            identification: 0,
            bindings: Vec::new(),
        };
        self.mobiles.insert(home_address, mobile);
    }

    /// Returns a mobile's current care-of addresses; none at home.
    pub fn care_of_addresses(
        &self,
        now: Instant,
        home_address: Ipv4Addr,
    ) -> impl Iterator<Item = Ipv4Addr> {
        let mobile = self.mobiles.get(&home_address).into_iter();
        let bindings = mobile.flat_map(move |mobile| mobile.current(now));
        bindings.map(|binding| binding.care_of_address)
    }

    /// Returns the agent's address.
    pub fn address(&self) -> Ipv4Addr {
        self.config.address
    }

    /// Returns true for an interface to a home link.
    pub fn is_on(&self, interface: InterfaceId) -> bool {
        self.config.advertising.interfaces.contains(&interface)
    }

    /// Returns true if packets to an address go through [`tunnel`](Self::tunnel): a mobile with bindings has it.
    pub fn intercepts(&self, address: Ipv4Addr) -> bool {
        let mobile = self.mobiles.get(&address);
        mobile.is_some_and(|mobile| !mobile.bindings.is_empty())
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
        match Received::from_packet(&packet) {
            Some(Ok(received)) => self.handle_message(now, &received),
            Some(Err(_)) => self.dropped.malformed += 1,
            None => return self.handle_other(now, interface, packet),
        }
        None
    }

    fn handle_other(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        packet: Packet,
    ) -> Option<Packet> {
        if self.is_on(interface) {
            self.forward_broadcast(now, &packet);
        }
        let is_ours = packet.ip.destination == IpAddr::V4(self.config.address);
        if is_ours && packet.body.inner().is_some() {
            let source = packet.ip.source;
            if let Some(inner) = packet.decapsulate() {
                self.handle_reverse_tunnel(now, source, inner);
            }
            return None;
        }
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
            Body::Icmp(IcmpMessage::Error { kind, ref quoted })
                if self.outbox.handle_too_big(now, kind, quoted) =>
            {
                None
            }
            body => Some(Packet { body, ..packet }),
        }
    }

    /// Tunnels a packet that would be forwarded to the mobile's care-of addresses. Returns it if its destination is not
    /// a mobile with a binding.
    pub fn tunnel(&mut self, now: Instant, packet: Packet) -> Option<Packet> {
        let mobile = v4(packet.ip.destination).and_then(|address| self.mobiles.get(&address));
        let Some(mobile) = mobile.filter(|mobile| mobile.current(now).next().is_some()) else {
            return Some(packet);
        };
        // RFC 5944 section 4.2.3: a tunnel that ends at the mobile is one of ours that has come back if it starts at
        // the care-of address; any other is redirected to the care-of address.
        let inner = packet.body.inner();
        let is_for_mobile =
            inner.is_some_and(|inner| inner.ip.destination == packet.ip.destination);
        let last = mobile.current(now).count();
        let mut packet = Some(packet);
        for (place, binding) in mobile.current(now).enumerate() {
            let copy = match place + 1 == last {
                true => packet.take(),
                false => packet.clone(),
            };
            let Some(copy) = copy else { break };
            let tunnel = Tunnel {
                interface: None,
                entry: self.config.address,
                exit: binding.care_of_address,
                encapsulation: binding.encapsulation,
                forwarded: true,
            };
            let sent = match is_for_mobile {
                true => lead_on(&mut self.outbox, tunnel, copy),
                false => self.outbox.tunnel(now, tunnel, copy),
            };
            if let Err(refusal) = sent {
                self.dropped.refuse(&refusal);
            }
        }
        None
    }

    /// Redirects a waiting tunnel packet of this agent to the mobile's latest care-of address, unless its own is still
    /// registered. For a mobile that is back at home, takes it out of the tunnel.
    pub fn redirect(&self, now: Instant, packet: &mut Packet) {
        let Some(inner) = packet.body.inner() else {
            return;
        };
        let mobile = v4(inner.ip.destination).and_then(|address| self.mobiles.get(&address));
        let Some(mobile) = mobile.filter(|_| packet.ip.source == IpAddr::V4(self.config.address))
        else {
            return;
        };
        let mut care_of = mobile.current(now).map(|binding| binding.care_of_address);
        if care_of.any(|address| packet.ip.destination == IpAddr::V4(address)) {
            return;
        }
        match mobile.current(now).last() {
            Some(latest) => packet.ip.destination = latest.care_of_address.into(),
            None => take_back(packet, true),
        }
    }

    /// Forwards a packet from a reverse tunnel, which only the registered care-of address may start (RFC 3024).
    fn handle_reverse_tunnel(&mut self, now: Instant, outer_source: IpAddr, mut inner: Packet) {
        let mobile = v4(inner.ip.source).and_then(|address| self.mobiles.get(&address));
        let is_registered = mobile.is_some_and(|mobile| {
            mobile.current(now).any(|binding| {
                binding.reverse_tunnel && IpAddr::V4(binding.care_of_address) == outer_source
            })
        });
        if !is_registered {
            self.dropped.unexpected_tunnel += 1;
            return;
        }
        // A packet for another mobile with a binding goes on in its tunnel.
        let Some(packet) = self.tunnel(now, inner) else {
            return;
        };
        inner = packet;
        match take_hop(&mut inner) {
            true => self.outbox.push(None, inner),
            false => self.dropped.hop_limit += 1,
        }
    }

    /// Returns the time of the next [`HomeAgent::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Instant> {
        let expiry = self.expiries.first().map(|&(expiry, _)| expiry);
        expiry
            .into_iter()
            .chain(self.advertiser.poll_timeout())
            .min()
    }

    /// Removes expired bindings, and advertises.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(&(expiry, home_address)) = self.expiries.first()
            && expiry <= now
        {
            self.expiries.pop_first();
            let Some(mobile) = self.mobiles.get_mut(&home_address) else {
                continue;
            };
            for binding in mobile
                .bindings
                .extract_if(.., |binding| binding.expires <= now)
            {
                self.events.push_back(HomeAgentEvent::Unbound {
                    home_address,
                    care_of_address: binding.care_of_address,
                    expired: true,
                });
            }
            if let Some(next) = mobile.first_expiry() {
                self.expiries.insert((next, home_address));
            }
        }
        self.advertiser.handle_timeout(now, &mut self.outbox);
    }

    /// Returns the next packet to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.outbox.pop()
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<HomeAgentEvent> {
        self.events.pop_front()
    }

    /// Returns the home address of the next mobile that has registered.
    pub fn poll_bound(&mut self) -> Option<Ipv4Addr> {
        self.bound.pop_front()
    }

    /// Returns the next error for the source of a packet that exceeds a tunnel's MTU (RFC 2003 section 5.1).
    pub fn poll_error(&mut self) -> Option<(IcmpError, QuotedPacket)> {
        self.outbox.errors.pop_front()
    }
}

/// Redirects a tunnel packet to the care-of address, without another tunnel around it.
fn lead_on(outbox: &mut Outbox, tunnel: Tunnel, mut packet: Packet) -> Result<(), Refusal> {
    let ends = [tunnel.entry, tunnel.exit];
    if ends.map(IpAddr::V4).contains(&packet.ip.source) {
        return Err(Refusal::Loop);
    }
    if !take_hop(&mut packet) {
        return Err(Refusal::HopLimit);
    }
    packet.ip.destination = tunnel.exit.into();
    outbox.push(tunnel.interface, packet);
    Ok(())
}

/// Memory of a mobile with one binding, in bytes: its entries in two trees, two thirds full on average, with a quarter
/// of overhead, and its binding.
#[cfg(test)]
pub(super) const fn bytes_of_mobile() -> usize {
    let entries = size_of::<(Ipv4Addr, Mobile)>() + size_of::<(Instant, Ipv4Addr)>();
    entries * 15 / 8 + size_of::<Binding>()
}
