//! The router on the home network that knows where its mobiles are (RFC 5944 sections 3.8 and 4).

mod registration;

use super::advertiser::Advertiser;
use super::{
    Advertising, Clock, Dropped, InterfaceId, Outbox, Received, Transmit, Tunnel, take_hop, v4,
};
use crate::mobility::draws::Draws;
use crate::mobility::tunnel::Refusal;
use crate::packet::{Body, Packet};
use crate::time::Instant;
use crate::wire::agent_discovery::{AgentDiscovery, AgentFlags, MobilityAgent};
use crate::wire::icmp::{IcmpError, IcmpMessage, QuotedPacket};
use crate::wire::mobile_ipv4::{Code, SecurityAssociation};
use core::net::{IpAddr, Ipv4Addr};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// How a home agent is set up.
#[derive(Clone, Debug)]
pub struct HomeAgentConfig {
    /// Its address.
    pub address: Ipv4Addr,
    /// The longest registration that it grants, in seconds; 65,535 is for ever.
    pub longest_lifetime: u16,
    /// Care-of addresses that a mobile may have at once.
    pub simultaneous_bindings: usize,
    /// Whether mobiles may tunnel back to it (RFC 3024).
    pub reverse_tunnel: bool,
    /// Its security associations with foreign agents, by their addresses; there need be none.
    pub foreign_agents: BTreeMap<Ipv4Addr, SecurityAssociation>,
    /// The home links.
    pub advertising: Advertising,
    /// Its time of day.
    pub clock: Clock,
    /// What its random intervals come from.
    pub secret: [u8; 16],
}

/// What happened at a home agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HomeAgentEvent {
    /// A care-of address was registered, or registered again.
    Bound {
        /// The mobile.
        home_address: Ipv4Addr,
        /// Where it is.
        care_of_address: Ipv4Addr,
        /// For how long, in seconds.
        lifetime: u16,
    },
    /// A binding has gone.
    Unbound {
        /// The mobile.
        home_address: Ipv4Addr,
        /// Where it was.
        care_of_address: Ipv4Addr,
        /// Whether its lifetime had run out; otherwise the mobile ended or replaced it.
        expired: bool,
    },
    /// A registration was refused.
    Refused {
        /// The mobile that it was for.
        home_address: Ipv4Addr,
        /// What it was told.
        code: Code,
    },
}

/// A home agent; how to drive it is told in the [module](super).
#[derive(Debug)]
pub struct HomeAgent {
    config: HomeAgentConfig,
    mobiles: BTreeMap<Ipv4Addr, Mobile>,
    /// Ends of bindings, with the mobile: each mobile has at most one, its first.
    expiries: BTreeSet<(Instant, Ipv4Addr)>,
    advertiser: Advertiser,
    outbox: Outbox,
    events: VecDeque<HomeAgentEvent>,
    /// Mobiles that have registered where they are.
    bound: VecDeque<Ipv4Addr>,
    dropped: Dropped,
}

/// What is kept of each mobile: some hundred bytes.
#[derive(Debug)]
struct Mobile {
    association: SecurityAssociation,
    /// The highest that was accepted (RFC 5944 section 5.7.1).
    identification: u64,
    bindings: Vec<Binding>,
}

#[derive(Clone, Copy, Debug)]
struct Binding {
    care_of_address: Ipv4Addr,
    reverse_tunnel: bool,
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
    /// A home agent that begins to advertise itself.
    pub fn new(now: Instant, config: HomeAgentConfig) -> HomeAgent {
        let reverse_tunnel = match config.reverse_tunnel {
            true => AgentFlags::REVERSE_TUNNEL,
            false => AgentFlags(0),
        };
        let agent = MobilityAgent {
            registration_lifetime: config.longest_lifetime,
            flags: AgentFlags::HOME_AGENT.with(reverse_tunnel),
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

    /// Makes a mobile one of this agent's, with the key that the two share.
    pub fn add_mobile(&mut self, home_address: Ipv4Addr, association: SecurityAssociation) {
        let mobile = Mobile {
            association,
            identification: 0,
            bindings: Vec::new(),
        };
        self.mobiles.insert(home_address, mobile);
    }

    /// Where a mobile is registered now; nowhere when it is at home.
    pub fn care_of_addresses(
        &self,
        now: Instant,
        home_address: Ipv4Addr,
    ) -> impl Iterator<Item = Ipv4Addr> {
        let mobile = self.mobiles.get(&home_address).into_iter();
        let bindings = mobile.flat_map(move |mobile| mobile.current(now));
        bindings.map(|binding| binding.care_of_address)
    }

    /// Its address.
    pub fn address(&self) -> Ipv4Addr {
        self.config.address
    }

    /// Whether a link is one of its home links.
    pub fn is_on(&self, interface: InterfaceId) -> bool {
        self.config.advertising.interfaces.contains(&interface)
    }

    /// Whether packets for an address are for [`tunnel`](Self::tunnel): it is that of a mobile that is away.
    pub fn intercepts(&self, address: Ipv4Addr) -> bool {
        let mobile = self.mobiles.get(&address);
        mobile.is_some_and(|mobile| !mobile.bindings.is_empty())
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
                self.handle_reverse_tunnel(now, packet.ip.source, *inner);
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

    /// Takes a packet that would be forwarded and sends it to its mobile's care-of addresses. Returns it if its destination
    /// is no mobile that is away.
    pub fn tunnel(&mut self, now: Instant, packet: Packet) -> Option<Packet> {
        let mobile = v4(packet.ip.destination).and_then(|address| self.mobiles.get(&address));
        let Some(mobile) = mobile.filter(|mobile| mobile.current(now).next().is_some()) else {
            return Some(packet);
        };
        // RFC 5944 section 4.2.3: a tunnel that ends at the mobile and comes from its care-of address is one of ours that
        // has come back; any other one is led on to the care-of address.
        let is_for_mobile = matches!(&packet.body, Body::Tunnel(inner) if inner.ip.destination == packet.ip.destination);
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

    /// RFC 3024: only a mobile's registered care-of address may speak for it.
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
        // To another mobile that is away it goes on in that one's tunnel.
        let Some(packet) = self.tunnel(now, inner) else {
            return;
        };
        inner = packet;
        match take_hop(&mut inner) {
            true => self.outbox.push(None, inner),
            false => self.dropped.hop_limit += 1,
        }
    }

    /// When [`HomeAgent::handle_timeout`] is due.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let expiry = self.expiries.first().map(|&(expiry, _)| expiry);
        expiry
            .into_iter()
            .chain(self.advertiser.poll_timeout())
            .min()
    }

    /// Ends bindings whose time is over, and advertises.
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

    /// The next packet to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.outbox.pop()
    }

    /// The next thing that happened.
    pub fn poll_event(&mut self) -> Option<HomeAgentEvent> {
        self.events.pop_front()
    }

    /// A mobile, by its home address, that has registered where it is.
    pub fn poll_bound(&mut self) -> Option<Ipv4Addr> {
        self.bound.pop_front()
    }

    /// What the source of a packet is to be told by this host: a tunnel does not take it (RFC 2003 section 5.1).
    pub fn poll_error(&mut self) -> Option<(IcmpError, QuotedPacket)> {
        self.outbox.errors.pop_front()
    }
}

/// Sends a tunnel's packet on to the care-of address without another tunnel around it.
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

/// Bytes that a mobile with one binding takes: its entry in two trees, of which two thirds are full on average and which a
/// quarter of the room is added for, and its binding.
#[cfg(test)]
pub(super) const fn bytes_of_mobile() -> usize {
    let entries = size_of::<(Ipv4Addr, Mobile)>() + size_of::<(Instant, Ipv4Addr)>();
    entries * 15 / 8 + size_of::<Binding>()
}
