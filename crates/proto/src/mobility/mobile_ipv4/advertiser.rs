//! How an agent makes itself known (RFC 5944 section 2.3).

use super::{ALL_SYSTEMS, InterfaceId, Outbox, is_host, v4};
use crate::mobility::draws::Draws;
use crate::time::{Duration, Instant};
use crate::wire::agent_discovery::{
    AgentDiscovery, AgentFlags, MobilityAgent, RouterAdvertisement,
};
use core::net::{IpAddr, Ipv4Addr};

/// Advertisements to all on a link are at least this far apart (RFC 5944 section 2.3: once a second).
const SHORTEST_INTERVAL: Duration = Duration::from_secs(1);

/// What an agent says of itself, where and how often.
#[derive(Clone, Debug)]
pub struct Advertising {
    /// The links on which it advertises.
    pub interfaces: Vec<InterfaceId>,
    /// The longest time between two advertisements, at least a second; each interval is drawn from three quarters of it,
    /// but no less than a second, up to it (RFC 1256 section 4.1), and what is said holds for three of them (RFC 5944 section 2.3).
    pub interval: Duration,
    /// Bits of the address that are its network's, which mobiles compare to see that they have moved.
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
            // RFC 1256 section 4.1: the first one is not sent by all at once.
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
            self.advertise(self.advertising.interfaces[place], ALL_SYSTEMS, outbox);
        }
        self.count();
        let longest = self.advertising.interval.max(SHORTEST_INTERVAL);
        let shortest = Duration::from_nanos(longest.as_nanos() / 4 * 3);
        let shortest = shortest.max(SHORTEST_INTERVAL);
        self.next = now + self.draws.between(shortest, longest);
    }

    /// Answers one who asks at once, and alone (RFC 1256 section 3 leaves that open), so that the others' rate is kept.
    pub(super) fn handle_solicitation(
        &mut self,
        interface: InterfaceId,
        source: IpAddr,
        outbox: &mut Outbox,
    ) {
        if let Some(source) = v4(source).filter(|&source| is_host(source))
            && self.advertising.interfaces.contains(&interface)
        {
            self.advertise(interface, source, outbox);
            self.count();
        }
    }

    fn advertise(&self, interface: InterfaceId, destination: Ipv4Addr, outbox: &mut Outbox) {
        let lifetime = self.advertising.interval.max(SHORTEST_INTERVAL).as_nanos() * 3;
        let lifetime = lifetime.div_ceil(1_000_000_000);
        let advertisement = RouterAdvertisement {
            lifetime: u16::try_from(lifetime).unwrap_or(u16::MAX),
            routers: vec![(self.address, 0)],
            prefix_lengths: vec![self.advertising.prefix_length],
            mobility_agent: Some(self.agent.clone()),
        };
        outbox.send_discovery(
            interface,
            [self.address, destination],
            AgentDiscovery::Advertisement(advertisement),
        );
    }

    /// RFC 5944 section 2.3.2: numbers below 256 are those of a new start.
    fn count(&mut self) {
        self.agent.sequence = self.agent.sequence.checked_add(1).unwrap_or(256);
    }
}
