//! Registration ahead of a handover (RFC 4881 section 3, PRE-REGISTRATION): warned by its link, the mobile asks its
//! foreign agent for the agent of its next link, and registers with that one through the present one. The S bit keeps
//! the present care-of address, so packets come over both links until the mobile registers anew on arrival. A mobile
//! that stays registers at its present agent, which ends the other binding.
//!
//! Chosen: messages are repeated after a second, three times at most, as other solicitations and requests are; a mobile
//! does not register ahead below a gateway, which would send packets over one link only.

use super::registration::FIRST_TIMEOUT;
use super::{MobileNode, MobileNodeEvent};
use crate::interface::InterfaceId;
use crate::mobility::mobile_ipv4::discovery::{Agent, is_usable};
use crate::time::Instant;
use crate::wire::agent_discovery::{AgentDiscovery, RouterAdvertisement};
use crate::wire::neighbor_discovery::LinkLayerAddress;
use core::net::Ipv4Addr;
use std::collections::BTreeMap;

/// Maximum number of transmissions of each message.
pub(super) const MOST_ATTEMPTS: u8 = 3;

/// Access points of interfaces, and the move in preparation.
#[derive(Debug, Default)]
pub(super) struct Preregistration {
    access_points: BTreeMap<InterfaceId, LinkLayerAddress>,
    next: Option<Next>,
}

/// A move in preparation.
#[derive(Debug)]
struct Next {
    to: InterfaceId,
    ahead: Ahead,
    step: Step,
}

/// Way of a registration ahead of a handover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ahead {
    /// Access point of the next link.
    pub(super) point: LinkLayerAddress,
    /// The present link.
    pub(super) interface: InterfaceId,
    /// The present foreign agent.
    pub(super) agent: Ipv4Addr,
}

#[derive(Debug)]
enum Step {
    /// The present agent is asked for the next one.
    Asking { sent: u8, deadline: Instant },
    /// The next agent is known, and the request has left.
    Known(Agent),
    /// The mobile stays; an answer until then is to the withdrawn solicitation.
    Withdrawn { until: Instant },
}

impl MobileNode {
    /// Names the access point to which an interface leads, so that the mobile registers ahead of a handover there.
    pub fn set_access_point(&mut self, interface: InterfaceId, point: LinkLayerAddress) {
        let own = self.preregistration.get_or_insert_default();
        own.access_points.insert(interface, point);
    }

    /// Prepares a handover to an interface (a mobile trigger, section 3.3). The
    /// [outcome](MobileNodeEvent::Preregistered) is reported, at once if nothing can be prepared.
    pub fn prepare_handover(&mut self, now: Instant, to: InterfaceId) {
        let Some(own) = &self.preregistration else {
            return;
        };
        let point = own.access_points.get(&to).copied();
        match point.and_then(|point| self.way_ahead(now, to, point)) {
            Some(ahead) => self.ask(now, (to, ahead), 0),
            None => self.end_preparation(now, false),
        }
    }

    /// Returns the way of a registration ahead of a handover; `None` unless the mobile is with a foreign agent without
    /// a gateway on another link.
    fn way_ahead(&self, now: Instant, to: InterfaceId, point: LinkLayerAddress) -> Option<Ahead> {
        let bound = self.binding(now)?;
        let here = bound.point;
        let is_possible = !bound.is_colocated && here.gateway.is_none() && here.interface != to;
        let agent = here.agent.filter(|_| is_possible)?;
        Some(Ahead {
            point,
            interface: here.interface,
            agent,
        })
    }

    fn set_next(&mut self, next: Option<Next>) {
        if let Some(own) = &mut self.preregistration {
            own.next = next;
        }
    }

    fn ask(&mut self, now: Instant, (to, ahead): (InterfaceId, Ahead), sent: u8) {
        let step = Step::Asking {
            sent: sent + 1,
            deadline: now + FIRST_TIMEOUT,
        };
        self.set_next(Some(Next { to, ahead, step }));
        let ends = [self.config.home_address, ahead.agent];
        let message = AgentDiscovery::ProxySolicitation(ahead.point);
        self.outbox
            .send_discovery(Some(ahead.interface), ends, message);
    }

    /// Takes in the next agent's advertisement from the present agent, asked for or not, and registers.
    pub(super) fn handle_proxy_advertisement(
        &mut self,
        now: Instant,
        (interface, source): (InterfaceId, Ipv4Addr),
        (point, advertisement): (LinkLayerAddress, &RouterAdvertisement),
    ) {
        let Some(own) = &self.preregistration else {
            return;
        };
        let is_unwanted = |next: &Next| match next.step {
            Step::Asking { .. } => false,
            Step::Known(_) => true,
            Step::Withdrawn { until } => now < until,
        };
        let mut places = own.access_points.iter();
        let place = places.find(|(_, known)| **known == point);
        let (Some((&to, _)), false) = (place, own.next.as_ref().is_some_and(is_unwanted)) else {
            return;
        };
        let ahead = self.way_ahead(now, to, point);
        let ahead = ahead.filter(|way| (way.interface, way.agent) == (interface, source));
        let address = advertisement.routers.first().map(|(address, _)| *address);
        let agent = address.and_then(|address| Agent::heard(now, address, advertisement));
        let agent = agent.filter(|agent| is_usable(agent) && agent.gateways().is_empty());
        let (Some(ahead), Some(agent)) = (ahead, agent) else {
            return;
        };
        let Some(target) = self.target_at(to, &agent) else {
            return;
        };
        let step = Step::Known(agent);
        self.set_next(Some(Next { to, ahead, step }));
        self.register_ahead(now, target, ahead);
    }

    /// Returns true while the mobile has sent a request ahead of a handover, and has neither moved nor stayed.
    pub(super) fn is_ahead(&self) -> bool {
        let next = self
            .preregistration
            .as_ref()
            .and_then(|own| own.next.as_ref());
        next.is_some_and(|next| matches!(next.step, Step::Known(_)))
    }

    /// Ends the preparation at an arrival. Returns the agent to expect there.
    pub(super) fn arrive(&mut self, now: Instant, at: InterfaceId) -> Option<Agent> {
        let next = self.preregistration.as_mut()?.next.take()?;
        // The mobile registers anew, over the new link.
        self.pending.take_if(|pending| pending.ahead.is_some());
        match next.step {
            Step::Known(agent) if next.to == at && agent.is_present(now) => {
                // The home agent may send to both agents already, so the former one is not to forward.
                self.previous_agent = Some(agent.address);
                Some(agent)
            }
            _ => None,
        }
    }

    /// Ends the preparation of a mobile that stays on its link: registers there, which undoes the registration ahead.
    pub fn stay(&mut self, now: Instant) {
        let own = self.preregistration.as_mut();
        let Some(next) = own.and_then(|own| own.next.as_mut()) else {
            return;
        };
        let was_ahead = matches!(next.step, Step::Known(_));
        next.step = Step::Withdrawn {
            until: now + FIRST_TIMEOUT,
        };
        self.pending.take_if(|pending| pending.ahead.is_some());
        if was_ahead {
            self.reconsider(now, true);
        }
    }

    /// Ends what needs a link that is gone.
    pub(super) fn leave(&mut self, interface: InterfaceId) {
        let is_over = |next: &mut Next| {
            let asks = matches!(next.step, Step::Asking { .. });
            next.to == interface || asks && next.ahead.interface == interface
        };
        if let Some(own) = &mut self.preregistration {
            own.next.take_if(is_over);
        }
        let goes_there = |way: Option<Ahead>| way.is_some_and(|way| way.interface == interface);
        self.pending.take_if(|pending| goes_there(pending.ahead));
    }

    pub(super) fn preparation_timeout(&self) -> Option<Instant> {
        match self.preregistration.as_ref()?.next.as_ref()?.step {
            Step::Asking { deadline, .. } => Some(deadline),
            Step::Known(_) | Step::Withdrawn { .. } => None,
        }
    }

    /// Repeats an unanswered solicitation, and gives up after the last.
    pub(super) fn handle_preparation_timeout(&mut self, now: Instant) {
        let next = self
            .preregistration
            .as_ref()
            .and_then(|own| own.next.as_ref());
        let Some(&Next {
            to,
            ahead,
            step: Step::Asking { sent, deadline },
        }) = next
        else {
            return;
        };
        if deadline > now {
            return;
        }
        match sent < MOST_ATTEMPTS {
            true => self.ask(now, (to, ahead), sent),
            false => self.end_preparation(now, false),
        }
    }

    /// Reports the end of a preparation, and undoes one that failed, as far as it went.
    pub(super) fn end_preparation(&mut self, now: Instant, accepted: bool) {
        if !accepted {
            self.stay(now);
        }
        self.events
            .push_back(MobileNodeEvent::Preregistered { accepted });
    }
}
