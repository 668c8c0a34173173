//! Mobile IPv4 in the laboratory.

mod keys;
mod private_addresses;
mod resolve;
mod set_up;

use super::Mobility;
use crate::scenario::model::{Ipv4Prefix, LinkIndex, Mobile, NodeIndex};
use baton_proto::mobility::buffering::BufferPolicy;
use baton_proto::mobility::mobile_ipv4::{ConflictCheck, Delivery};
use baton_proto::wire::encapsulation::Encapsulation;
use core::net::Ipv4Addr;
pub use keys::{RawForeignAgent, RawMobileNode};
pub(super) use resolve::{foreign_agents, home_agent, mobility};

/// Reason that gateways cannot follow a mobile.
pub(super) const HIDDEN_FROM_GATEWAYS: &str = "does not follow a mobile of Mobile IPv4; expected protocol \"mobile-ipv6\", or none, at the mobile";

/// Mobile IPv4 at a mobile.
#[derive(Clone, Debug, PartialEq)]
pub struct MobileIpv4 {
    /// Its home agent, by its place in [`Ipv4Agents::home_agents`].
    pub home_agent: usize,
    /// Access link on which it is at home.
    pub home_link: Option<LinkIndex>,
    /// Source of its care-of addresses.
    pub care_of: CareOfSource,
    /// Conflict check of acquired addresses.
    pub conflict_check: ConflictCheck,
    /// Delivery of packets that match no rule.
    pub delivery: Delivery,
    /// Encapsulation in its tunnels.
    pub encapsulation: Encapsulation,
    /// True if headers are compressed on the link to a foreign agent.
    pub header_compression: bool,
    /// Delivery of its packets to some destinations.
    pub policy: Vec<PolicyRule>,
    /// True if earlier care-of addresses are kept.
    pub simultaneous_bindings: bool,
    /// True if the foreign agent that it leaves forwards packets to the new one.
    pub smooth_handoff: bool,
    /// True if it registers at the next foreign agent ahead of a handover.
    pub preregistration: bool,
    /// True if its own packets leave by a new link from the request on, not the reply.
    pub sends_at_request: bool,
    /// Lifetime of a registration request, in seconds.
    pub lifetime: u16,
    /// True if a micro-mobility domain prepares handovers.
    pub domain_prepares: bool,
}

impl MobileIpv4 {
    /// Returns true if handovers are prepared, with agents or in a domain.
    pub(super) fn prepares_handovers(&self) -> bool {
        self.preregistration || self.domain_prepares
    }

    /// Returns the protocol of a mobile, if it is this one.
    fn of(mobile: &Mobile) -> Option<&MobileIpv4> {
        match mobile.mobility.as_deref()? {
            Mobility::Ipv4(own) => Some(own),
            Mobility::Ipv6(_) => None,
        }
    }

    /// Returns true if packets of the mobile leave from its care-of address.
    pub(super) fn sends_from_care_of_address(&self) -> bool {
        let mut rules = self.policy.iter().map(|rule| rule.delivery);
        self.delivery == Delivery::CareOfAddress
            || rules.any(|delivery| delivery == Delivery::CareOfAddress)
    }

    /// Returns the home address of a mobile, by its number. The home agent has the first address of the home network, the mobiles the
    /// following ones.
    pub(super) fn home_address(&self, mobile: usize, agents: &Ipv4Agents) -> Ipv4Addr {
        let agent = &agents.home_agents[self.home_agent];
        agent.prefix.host(2 + mobile as u32)
    }
}

/// Source of care-of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CareOfSource {
    /// The foreign agent on a link; where there is none, as [`Known`](Self::Known).
    ForeignAgent,
    /// Known addresses, as from PPP.
    Known,
    /// Addresses assigned by DHCP.
    Acquired,
}

/// A line of a mobile policy table (study T section 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyRule {
    /// Destination node of the packets; `None`: any.
    pub to: Option<NodeIndex>,
    /// Destination port of the packets; `None`: any.
    pub port: Option<u16>,
    /// Their delivery.
    pub delivery: Delivery,
}

/// The agents of Mobile IPv4 in a scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ipv4Agents {
    /// Home agents, in the order of the file.
    pub home_agents: Vec<Ipv4HomeAgent>,
    /// Foreign agents, in the order of the file.
    pub foreign_agents: Vec<ForeignAgent>,
}

impl Ipv4Agents {
    /// Returns true if there are no agents.
    pub fn is_empty(&self) -> bool {
        self.home_agents.is_empty() && self.foreign_agents.is_empty()
    }
}

/// A home agent of Mobile IPv4.
#[derive(Clone, Debug, PartialEq)]
pub struct Ipv4HomeAgent {
    /// The node.
    pub node: NodeIndex,
    /// The prefix of the home network.
    pub prefix: Ipv4Prefix,
    /// The longest registration that it grants, in seconds.
    pub longest_lifetime: u16,
}

/// An address that only the nodes of a domain route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivateAddress {
    /// The address.
    pub address: Ipv4Addr,
    /// The nodes: the agent's, those that it reaches without passing one of its gateways, and these.
    pub domain: Vec<NodeIndex>,
}

/// A foreign agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignAgent {
    /// The node.
    pub node: NodeIndex,
    /// The gateway foreign agents above it.
    pub gateways: Vec<NodeIndex>,
    /// Its private address, in place of the node's.
    pub private_address: Option<PrivateAddress>,
    /// Policy for copies of visitors' packets.
    pub buffering: Option<BufferPolicy>,
}
