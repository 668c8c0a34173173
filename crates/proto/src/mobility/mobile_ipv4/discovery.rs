//! Agent discovery and move detection on a link (RFC 5944 section 2.4).

use super::policy::same_network;
use crate::mobility::draws::Draws;
use crate::time::{Duration, Instant};
use crate::wire::agent_discovery::{AgentFlags, RouterAdvertisement};
use core::net::Ipv4Addr;

/// Interval of the first three solicitations; it then doubles each time, up to a minute (RFC 5944 section 2.4).
const SOLICITATION_INTERVAL: Duration = Duration::from_secs(1);
const INITIAL_SOLICITATIONS: u32 = 3;
const LONGEST_SOLICITATION_INTERVAL: Duration = Duration::from_secs(60);
/// Maximum number of agents remembered on a link. Chosen: bounds the memory that advertisements can fill.
const REMEMBERED: usize = 4;

/// An agent that advertised itself.
#[derive(Clone, Debug)]
pub(super) struct Agent {
    pub(super) address: Ipv4Addr,
    pub(super) flags: AgentFlags,
    pub(super) registration_lifetime: u16,
    pub(super) care_of_addresses: Vec<Ipv4Addr>,
    prefix_length: Option<u8>,
    sequence: u16,
    expires: Instant,
}

impl Agent {
    /// Returns the agent's own care-of address, the first advertised.
    pub(super) fn care_of_address(&self) -> Option<Ipv4Addr> {
        self.care_of_addresses.first().copied()
    }

    /// Returns the agent of an advertisement from `source`; `None` if it is of another router.
    pub(super) fn heard(
        now: Instant,
        source: Ipv4Addr,
        advertisement: &RouterAdvertisement,
    ) -> Option<Agent> {
        let agent = advertisement.mobility_agent.as_ref()?;
        let routers = advertisement.routers.iter();
        let lengths = routers.zip(&advertisement.prefix_lengths);
        let prefix_length = lengths
            .filter(|((router, _), _)| *router == source)
            .map(|(_, &length)| length)
            .next();
        Some(Agent {
            address: source,
            flags: agent.flags,
            registration_lifetime: agent.registration_lifetime,
            care_of_addresses: agent.care_of_addresses.clone(),
            prefix_length,
            sequence: agent.sequence,
            expires: now + Duration::from_secs(advertisement.lifetime.into()),
        })
    }

    /// Returns true if the agent's advertisement has not expired.
    pub(super) fn is_present(&self, now: Instant) -> bool {
        now < self.expires
    }

    /// Returns the gateways above the agent, if the agent takes regional registrations.
    pub(super) fn gateways(&self) -> &[Ipv4Addr] {
        match self.care_of_addresses.split_first() {
            Some((_, gateways)) if self.flags.contains(AgentFlags::REGIONAL) => gateways,
            _ => &[],
        }
    }
}

/// News in an advertisement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// Nothing new.
    None,
    /// An agent that is new, had expired, or changed its care-of addresses.
    Another,
    /// The agent has restarted and lost its visitors (RFC 5944 section 2.4.1).
    Restarted,
}

/// Agent discovery on one link.
#[derive(Debug, Default)]
pub(super) struct Discovery {
    /// Known agents, the latest heard last.
    agents: Vec<Agent>,
    /// The agent that the mobile has chosen.
    current: Option<Ipv4Addr>,
    solicit_at: Option<Instant>,
    solicitations: u32,
}

impl Discovery {
    /// Starts discovery.
    pub(super) fn start(&mut self, now: Instant) {
        *self = Discovery {
            solicit_at: Some(now),
            ..Discovery::default()
        };
    }

    /// Starts discovery on a link whose agent is known.
    pub(super) fn resume(&mut self, agent: Agent) {
        *self = Discovery {
            current: Some(agent.address),
            agents: vec![agent],
            ..Discovery::default()
        };
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let expiries = self.agents.iter().map(|agent| agent.expires);
        expiries.chain(self.solicit_at).min()
    }

    /// Expires agents, and returns true if a solicitation is due.
    pub(super) fn handle_timeout(&mut self, now: Instant, draws: &mut Draws) -> bool {
        let heard = self.agents.len();
        self.agents.retain(|agent| now < agent.expires);
        if heard > 0 && self.agents.is_empty() {
            self.solicit_at = Some(now);
            self.solicitations = 0;
        }
        if self.solicit_at.is_none_or(|at| now < at) {
            return false;
        }
        self.solicitations += 1;
        let doublings = self
            .solicitations
            .saturating_sub(INITIAL_SOLICITATIONS)
            .min(6);
        let interval = SOLICITATION_INTERVAL.saturating_mul(1 << doublings);
        let interval = interval.min(LONGEST_SOLICITATION_INTERVAL);
        // RFC 5944 section 2.4 wants solicitations spread; the delay only adds, to keep the rate limit.
        let spread = draws.up_to(Duration::from_nanos(interval.as_nanos() / 10));
        self.solicit_at = Some(now + interval + spread);
        true
    }

    pub(super) fn handle_advertisement(
        &mut self,
        now: Instant,
        source: Ipv4Addr,
        advertisement: &RouterAdvertisement,
    ) -> News {
        let Some(heard) = Agent::heard(now, source, advertisement) else {
            return News::None;
        };
        self.solicit_at = None;
        self.solicitations = 0;
        let known = self.agents.iter().position(|known| known.address == source);
        let news = match known.map(|place| self.agents.remove(place)) {
            None => News::Another,
            Some(before) if is_restart(before.sequence, heard.sequence) => News::Restarted,
            Some(before) if before.care_of_addresses != heard.care_of_addresses => News::Another,
            Some(_) => News::None,
        };
        // Section 2.4.2: a new agent on another network shows that the mobile has moved. An agent heard all along shows
        // nothing: of two that overlap, the mobile stays with the one it reached last.
        let moved = |present: &Agent| is_usable(&heard) && is_elsewhere(present, &heard);
        if known.is_none() && self.present().is_some_and(moved) {
            self.current = Some(source);
        }
        if self.agents.len() == REMEMBERED {
            self.agents.remove(0);
        }
        self.agents.push(heard);
        news
    }

    /// Returns the agent to register with: the current one while it is heard, otherwise the latest heard.
    pub(super) fn choose(&mut self) -> Option<&Agent> {
        if self.present().is_none() {
            let newest = self.agents.iter().rev().find(|agent| is_usable(agent));
            self.current = newest.map(|agent| agent.address);
        }
        self.present()
    }

    fn present(&self) -> Option<&Agent> {
        let mut agents = self.agents.iter();
        agents.find(|agent| Some(agent.address) == self.current)
    }
}

/// Returns true for a foreign agent with room for visitors, and for a home agent.
pub(super) fn is_usable(agent: &Agent) -> bool {
    let foreign =
        agent.flags.contains(AgentFlags::FOREIGN_AGENT) && !agent.care_of_addresses.is_empty();
    agent.flags.contains(AgentFlags::HOME_AGENT)
        || foreign && !agent.flags.contains(AgentFlags::BUSY)
}

/// Returns true if two agents are on different networks; false unless both prefix lengths are known (section 2.4.2.2).
fn is_elsewhere(present: &Agent, newest: &Agent) -> bool {
    match (present.prefix_length, newest.prefix_length) {
        (Some(one), Some(other)) => {
            one != other || !same_network(present.address, newest.address, one)
        }
        _ => false,
    }
}

/// Returns true if the sequence number shows a restart: it is lower and below 256. Numbers go on from 65,535 to 256
/// (section 2.3.2).
fn is_restart(before: u16, after: u16) -> bool {
    after < before && after < 256
}
