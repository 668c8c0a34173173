//! Agent advertisement (RFC 5944 section 2.3).

use super::{ALL_SYSTEMS, InterfaceId, Outbox, is_host, v4};
use crate::mobility::draws::Draws;
use crate::time::{Duration, Instant};
use crate::wire::agent_discovery::{
    AgentDiscovery, AgentFlags, MobilityAgent, RouterAdvertisement,
};
use core::net::{IpAddr, Ipv4Addr};

/// Minimum time between multicast advertisements (RFC 5944 section 2.3: once a second).
const SHORTEST_INTERVAL: Duration = Duration::from_secs(1);

/// Settings of the advertisements.
#[derive(Clone, Debug)]
pub struct Advertising {
    /// Links on which the agent advertises.
    pub interfaces: Vec<InterfaceId>,
    /// Maximum advertisement interval, at least a second. Each interval is drawn from three quarters of it (at least a
    /// second) up to it (RFC 1256 section 4.1); the advertised lifetime is three times as long (RFC 5944 section 2.3).
    pub interval: Duration,
    /// Prefix length in bits of the agent's address, by which mobiles detect movement.
    pub prefix_length: u8,
}

#[derive(Debug)]
pub(super) struct Advertiser {
    advertising: Advertising,
    address: Ipv4Addr,
    agent: MobilityAgent,
    next: Instant,
    draws: Draws,
}

impl Advertiser {
    pub(super) fn new(
        now: Instant,
        advertising: Advertising,
        address: Ipv4Addr,
        agent: MobilityAgent,
        mut draws: Draws,
    ) -> Advertiser {
        Advertiser {
            address,
            agent,
            // RFC 1256 section 4.1: a random delay keeps agents from all sending their first advertisement at once.
            next: now + draws.up_to(SHORTEST_INTERVAL),
            advertising,
            draws,
        }
    }

    pub(super) fn set_busy(&mut self, busy: bool) {
        let others = self.agent.flags.0 & !AgentFlags::BUSY.0;
        let busy = if busy { AgentFlags::BUSY.0 } else { 0 };
        self.agent.flags = AgentFlags(others | busy);
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        (!self.advertising.interfaces.is_empty()).then_some(self.next)
    }

    pub(super) fn handle_timeout(&mut self, now: Instant, outbox: &mut Outbox) {
        if self.poll_timeout().is_none_or(|next| now < next) {
            return;
        }
        for place in 0..self.advertising.interfaces.len() {
            let interface = Some(self.advertising.interfaces[place]);
            self.advertise(interface, ALL_SYSTEMS, outbox);
        }
        self.count();
        let longest = self.advertising.interval.max(SHORTEST_INTERVAL);
        let shortest = Duration::from_nanos(longest.as_nanos() / 4 * 3);
        let shortest = shortest.max(SHORTEST_INTERVAL);
        self.next = now + self.draws.between(shortest, longest);
    }

    /// Answers a solicitation over a link for visitors.
    pub(super) fn handle_solicitation(
        &mut self,
        interface: InterfaceId,
        source: IpAddr,
        outbox: &mut Outbox,
    ) {
        if let Some(source) = v4(source)
            && self.advertising.interfaces.contains(&interface)
        {
            self.answer(Some(interface), source, outbox);
        }
    }

    /// Answers a solicitation at once and by unicast (RFC 1256 section 3 leaves that open), which keeps the multicast
    /// rate: over a link, or another agent's across the network.
    pub(super) fn answer(
        &mut self,
        interface: Option<InterfaceId>,
        source: Ipv4Addr,
        outbox: &mut Outbox,
    ) {
        if is_host(source) {
            self.advertise(interface, source, outbox);
            self.count();
        }
    }

    fn advertise(
        &self,
        interface: Option<InterfaceId>,
        destination: Ipv4Addr,
        outbox: &mut Outbox,
    ) {
        let lifetime = self.advertising.interval.max(SHORTEST_INTERVAL).as_nanos() * 3;
        let lifetime = lifetime.div_ceil(1_000_000_000);
        let advertisement = RouterAdvertisement {
            lifetime: u16::try_from(lifetime).unwrap_or(u16::MAX),
            routers: vec![(self.address, 0)],
            prefix_lengths: vec![self.advertising.prefix_length],
            mobility_agent: Some(self.agent.clone()),
            access_point: None,
        };
        outbox.send_discovery(
            interface,
            [self.address, destination],
            AgentDiscovery::Advertisement(advertisement),
        );
    }

    /// Increments the sequence number, which skips 0 to 255 on overflow: they mark a restart (RFC 5944 section 2.3.2).
    fn count(&mut self) {
        self.agent.sequence = self.agent.sequence.checked_add(1).unwrap_or(256);
    }
}
