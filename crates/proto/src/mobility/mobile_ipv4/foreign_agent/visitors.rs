//! Visitors of a foreign agent: registered, pending and departed.

use super::{ForeignAgent, ForeignAgentEvent, InterfaceId, PENDING_TIMEOUT, Received};
use crate::time::Instant;
use crate::wire::encapsulation::Encapsulation;
use crate::wire::mobile_ipv4::{Purpose, Request, RequestFlags};
use core::net::Ipv4Addr;

/// Next hop to a visitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextHop {
    /// This link.
    Link(InterfaceId),
    /// A tunnel to the agent below.
    Agent(Ipv4Addr),
}

/// A registered mobile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visitor {
    pub(super) next: NextHop,
    pub(super) home_agent: Ipv4Addr,
    /// Gateway whose care-of address is registered with the home agent.
    pub(super) gateway: Option<Ipv4Addr>,
    pub(super) reverse_tunnel: bool,
    pub(super) encapsulation: Encapsulation,
    /// Identification of the latest request, against replay.
    pub(super) identification: u64,
    pub(super) expires: Instant,
}

impl Visitor {
    /// Returns the exit and the encapsulation of the reverse tunnel that begins at `own`.
    pub(super) fn upwards(&self, own: Ipv4Addr) -> (Ipv4Addr, Encapsulation) {
        let gateway = self.gateway.filter(|&gateway| gateway != own);
        (gateway.unwrap_or(self.home_agent), self.encapsulation)
    }
}

/// A request relayed to the home agent or a gateway.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) next: NextHop,
    /// Destination of the reply.
    pub(super) source: Ipv4Addr,
    pub(super) port: u16,
    pub(super) relayed_to: Ipv4Addr,
    pub(super) request: Request,
    pub(super) encapsulation: Encapsulation,
    pub(super) expires: Instant,
}

/// A mobile that has reported its new care-of address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departed {
    pub(super) care_of_address: Ipv4Addr,
    pub(super) identification: u64,
    pub(super) expires: Instant,
}

impl ForeignAgent {
    /// Records a request relayed to `relayed_to`.
    pub(super) fn await_reply(
        &mut self,
        now: Instant,
        next: NextHop,
        received: &Received,
        (request, relayed_to): (Request, Ipv4Addr),
    ) {
        let expires = now + PENDING_TIMEOUT;
        let pending = Pending {
            next,
            source: received.source,
            port: received.port,
            relayed_to,
            request,
            encapsulation: self.encapsulation(&request),
            expires,
        };
        self.pending.insert(request.home_address, pending);
        self.expiries.insert((expires, request.home_address));
    }

    /// Returns the encapsulation of the tunnels for a request that this agent has accepted.
    pub(super) fn encapsulation(&self, request: &Request) -> Encapsulation {
        self.config
            .encapsulations
            .choose(request.flags)
            .unwrap_or_default()
    }

    /// Registers a visitor, or renews its registration, until `expires`.
    pub(super) fn admit(&mut self, pending: &Pending, lifetime: u16, expires: Instant) {
        let request = &pending.request;
        let gateway = match request.purpose {
            Purpose::Regional => Some(request.agent),
            _ => self
                .config
                .gateway
                .filter(|&gateway| gateway == request.care_of_address),
        };
        let home_address = request.home_address;
        let visitor = Visitor {
            next: pending.next,
            home_agent: request.agent,
            gateway,
            // A mobile with a co-located address makes its own tunnel.
            reverse_tunnel: request.flags.contains(RequestFlags::REVERSE_TUNNEL)
                && !request.flags.contains(RequestFlags::DECAPSULATION),
            encapsulation: pending.encapsulation,
            identification: request.identification,
            expires,
        };
        self.departed.remove(&home_address);
        self.begin_compression(request, pending.next);
        self.visitors.insert(home_address, visitor);
        if expires < Instant::NEVER {
            self.expiries.insert((expires, home_address));
        }
        self.events.push_back(ForeignAgentEvent::Arrived {
            home_address,
            lifetime,
        });
    }

    /// Begins header compression on a visitor's link if its request has the V bit.
    fn begin_compression(&mut self, request: &Request, next: NextHop) {
        let home_address = request.home_address;
        let before = self.visitors.get(&home_address).map(|before| before.next);
        let is_asked = request.flags.contains(RequestFlags::HEADER_COMPRESSION)
            && !request.flags.contains(RequestFlags::DECAPSULATION)
            && matches!(next, NextHop::Link(_));
        if !is_asked || before != Some(next) {
            self.compressions.remove(&home_address);
        }
        if is_asked {
            self.compressions
                .entry(home_address)
                .or_default()
                .begin(true);
        }
    }

    /// Removes a visitor.
    pub(super) fn dismiss(&mut self, home_address: Ipv4Addr, care_of_address: Option<Ipv4Addr>) {
        self.compressions.remove(&home_address);
        if self.visitors.remove(&home_address).is_some() {
            self.events.push_back(ForeignAgentEvent::Left {
                home_address,
                care_of_address,
            });
        }
    }

    /// Forwards a departed mobile's packets to its new care-of address.
    pub(super) fn follow(&mut self, home_address: Ipv4Addr, departed: Departed) {
        self.dismiss(home_address, Some(departed.care_of_address));
        self.expiries.insert((departed.expires, home_address));
        self.departed.insert(home_address, departed);
    }
}
