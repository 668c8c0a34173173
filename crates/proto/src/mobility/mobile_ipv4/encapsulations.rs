//! Choice of the tunnel's encapsulation (RFC 5944 sections 3.3 and 4.1). Tunnels are symmetric: the reverse one has the
//! same encapsulation (RFC 3024 section 1).

use crate::wire::agent_discovery::AgentFlags;
use crate::wire::encapsulation::Encapsulation;
use crate::wire::mobile_ipv4::RequestFlags;

/// Encapsulations that an agent offers beside IP in IP, which every agent supports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Encapsulations {
    /// Minimal encapsulation (RFC 2004).
    pub minimal: bool,
    /// Generic routing encapsulation (RFC 2784).
    pub generic: bool,
}

impl Encapsulations {
    /// Returns the flags of the agent's advertisements.
    pub(super) fn advertised(self) -> AgentFlags {
        let set = |flag, is_set| if is_set { flag } else { AgentFlags(0) };
        set(AgentFlags::MINIMAL_ENCAPSULATION, self.minimal)
            .with(set(AgentFlags::GENERIC_ENCAPSULATION, self.generic))
    }

    /// Returns the encapsulation for a request; `None` if none of the requested ones is offered. Of two, the one with
    /// fewer bytes: chosen.
    pub(super) fn choose(self, asked: RequestFlags) -> Option<Encapsulation> {
        let minimal = asked.contains(RequestFlags::MINIMAL_ENCAPSULATION);
        let generic = asked.contains(RequestFlags::GENERIC_ENCAPSULATION);
        match (minimal, generic) {
            (false, false) => Some(Encapsulation::IpInIp),
            (true, _) if self.minimal => Some(Encapsulation::Minimal),
            (_, true) if self.generic => Some(Encapsulation::Generic),
            _ => None,
        }
    }
}

/// Returns the flags of a request for an encapsulation.
pub(super) const fn requested(encapsulation: Encapsulation) -> RequestFlags {
    match encapsulation {
        Encapsulation::IpInIp => RequestFlags(0),
        Encapsulation::Minimal => RequestFlags::MINIMAL_ENCAPSULATION,
        Encapsulation::Generic => RequestFlags::GENERIC_ENCAPSULATION,
    }
}

/// Returns true if an agent with these flags offers an encapsulation.
pub(super) const fn offers(agent: AgentFlags, encapsulation: Encapsulation) -> bool {
    match encapsulation {
        Encapsulation::IpInIp => true,
        Encapsulation::Minimal => agent.contains(AgentFlags::MINIMAL_ENCAPSULATION),
        Encapsulation::Generic => agent.contains(AgentFlags::GENERIC_ENCAPSULATION),
    }
}
