//! Visitors of a foreign agent: registered, pending and departed.

use super::{ForeignAgent, ForeignAgentEvent, InterfaceId, PENDING_TIMEOUT};
use crate::mobility::mobile_ipv4::end_of;
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

/// Destination of a reply.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReplyTo {
    /// The mobile's link; `None` to use the host's routes.
    pub(super) interface: Option<InterfaceId>,
    pub(super) address: Ipv4Addr,
    pub(super) port: u16,
}

/// A request relayed to the home agent or a gateway.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) next: NextHop,
    pub(super) reply_to: ReplyTo,
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
        (next, reply_to): (NextHop, ReplyTo),
        (request, relayed_to): (Request, Ipv4Addr),
    ) {
        let expires = now + PENDING_TIMEOUT;
        let pending = Pending {
            next,
            reply_to,
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

    /// Registers a visitor, or renews its registration. A mobile that is back gets what was to be forwarded.
    pub(super) fn admit(&mut self, now: Instant, pending: &Pending, lifetime: u16) {
        let expires = end_of(now, lifetime);
        let request = &pending.request;
        let gateway = match request.purpose {
            Purpose::Regional => Some(request.agent),
            _ => {
                let mut gateways = self.config.gateways.iter();
                gateways
                    .find(|&&gateway| gateway == request.care_of_address)
                    .copied()
            }
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
        let back = self
            .copies
            .as_mut()
            .map(|copies| copies.take_back(now, home_address));
        if let NextHop::Link(interface) = pending.next {
            for packet in back.into_iter().flatten() {
                self.deliver(now, (home_address, interface), packet);
            }
        }
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
            if care_of_address.is_none() {
                self.forget_copies(home_address);
            }
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
