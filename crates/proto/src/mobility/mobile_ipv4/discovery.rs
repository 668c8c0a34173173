//! How a mobile finds agents on a link, and sees that they have changed (RFC 5944 section 2.4).

use super::policy::same_network;
use crate::mobility::draws::Draws;
use crate::time::{Duration, Instant};
use crate::wire::agent_discovery::{AgentFlags, RouterAdvertisement};
use core::net::Ipv4Addr;

/// The first three solicitations are a second apart, later ones twice as far as those before, up to a minute (RFC 5944
/// section 2.4).
const SOLICITATION_INTERVAL: Duration = Duration::from_secs(1);
const INITIAL_SOLICITATIONS: u32 = 3;
const LONGEST_SOLICITATION_INTERVAL: Duration = Duration::from_secs(60);
/// Agents that are remembered on a link: chosen, so that no advertisement can fill the memory.
const REMEMBERED: usize = 4;

/// An agent that was heard.
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
    /// The care-of address that is registered at home: of an agent below a gateway the gateway's.
    pub(super) fn care_of_address(&self) -> Option<Ipv4Addr> {
        self.care_of_addresses.first().copied()
    }

    /// The gateway above it, if it takes regional registrations.
    pub(super) fn gateway(&self) -> Option<Ipv4Addr> {
        let (gateway, below) = self.care_of_addresses.split_last()?;
        (self.flags.contains(AgentFlags::REGIONAL) && !below.is_empty()).then_some(*gateway)
    }
}

/// What an advertisement says that was not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// Nothing.
    None,
    /// An agent that was not heard before, or not for long.
    Another,
    /// The agent has started anew and knows nothing of its visitors (RFC 5944 section 2.4.1).
    Restarted,
}

/// Discovery on one link.
#[derive(Debug, Default)]
pub(super) struct Discovery {
    /// The one heard last stands last.
    agents: Vec<Agent>,
    /// The agent that the mobile has turned to.
    current: Option<Ipv4Addr>,
    solicit_at: Option<Instant>,
    solicitations: u32,
}

impl Discovery {
    /// Begins to look for agents.
    pub(super) fn start(&mut self, now: Instant) {
        *self = Discovery {
            solicit_at: Some(now),
            ..Discovery::default()
        };
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let expiries = self.agents.iter().map(|agent| agent.expires);
        expiries.chain(self.solicit_at).min()
    }

    /// Whether a solicitation is due.
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
        // RFC 5944 section 2.4 wants them spread; never nearer than the rate allows.
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
        let Some(agent) = &advertisement.mobility_agent else {
            return News::None;
        };
        let routers = advertisement.routers.iter();
        let lengths = routers.zip(&advertisement.prefix_lengths);
        let prefix_length = lengths
            .filter(|((router, _), _)| *router == source)
            .map(|(_, &length)| length)
            .next();
        let heard = Agent {
            address: source,
            flags: agent.flags,
            registration_lifetime: agent.registration_lifetime,
            care_of_addresses: agent.care_of_addresses.clone(),
            prefix_length,
            sequence: agent.sequence,
            expires: now + Duration::from_secs(advertisement.lifetime.into()),
        };
        self.solicit_at = None;
        self.solicitations = 0;
        let known = self.agents.iter().position(|known| known.address == source);
        let news = match known.map(|place| self.agents.remove(place)) {
            None => News::Another,
            Some(before) if is_restart(before.sequence, agent.sequence) => News::Restarted,
            Some(before) if before.care_of_addresses != heard.care_of_addresses => News::Another,
            Some(_) => News::None,
        };
        // Section 2.4.2: an agent on another network tells that the mobile has moved. One that was heard all the time
        // tells nothing: of two that overlap, the mobile keeps to the one that it came to last.
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

    /// The agent to register with: the present one as long as it is heard, otherwise the one heard last.
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

/// Whether an agent takes new visitors, or is a home agent.
fn is_usable(agent: &Agent) -> bool {
    let foreign =
        agent.flags.contains(AgentFlags::FOREIGN_AGENT) && !agent.care_of_addresses.is_empty();
    agent.flags.contains(AgentFlags::HOME_AGENT)
        || foreign && !agent.flags.contains(AgentFlags::BUSY)
}

/// Section 2.4.2.2: prefixes tell only if both agents give theirs.
fn is_elsewhere(present: &Agent, newest: &Agent) -> bool {
    match (present.prefix_length, newest.prefix_length) {
        (Some(one), Some(other)) => {
            one != other || !same_network(present.address, newest.address, one)
        }
        _ => false,
    }
}

/// Section 2.3.2: numbers go on, except from 65,535 to 256; a lower number, below 256, tells a new start.
fn is_restart(before: u16, after: u16) -> bool {
    after < before && after < 256
}
