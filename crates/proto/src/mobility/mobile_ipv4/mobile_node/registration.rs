//! Registering, again and again until it is answered, and again before it ends (RFC 5944 section 3.6).

use super::{MobileNode, MobileNodeEvent, Point, Received};
use crate::mobility::mobile_ipv4::foreign_agent::binding_update;
use crate::mobility::mobile_ipv4::{Envelope, HOP_LIMIT, end_of};
use crate::time::{Duration, Instant};
use crate::wire::mobile_ipv4::{
    AuthenticationKind, Code, Content, Extension, INFINITE_LIFETIME, Message, PORT,
    PreviousForeignAgent, Purpose, Reply, Request, RequestFlags,
};
use core::net::Ipv4Addr;

/// The shortest time until a request is sent again (RFC 5944 section 3.6.3); the next one is twice as long.
const FIRST_TIMEOUT: Duration = Duration::from_secs(1);
/// Requests that are changed as a refusal says are sent at once, but not for ever: chosen, one for each reason that there is.
const MOST_CHANGES: u8 = 4;
/// Regional requests without an answer before the home agent is asked: chosen.
const MOST_REGIONAL: u8 = 3;
/// For how long a previous foreign agent is asked to send packets on, in seconds: chosen, longer than a registration
/// takes.
const HANDOFF_LIFETIME: u16 = 10;

/// A point of attachment, and what is known of registering there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) point: Point,
    pub(super) is_home: bool,
    /// The care-of address is the mobile's own.
    pub(super) is_colocated: bool,
    pub(super) reverse_tunnel: bool,
    pub(super) longest_lifetime: u16,
    /// The address on the link itself: the foreign agent's or the mobile's own, also below a gateway.
    pub(super) end: Ipv4Addr,
}

/// A registration that holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    pub(super) point: Point,
    pub(super) is_colocated: bool,
    pub(super) reverse_tunnel: bool,
    pub(super) expires: Instant,
    target: Target,
    renew: Instant,
}

/// A registration that is asked for.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) target: Target,
    purpose: Purpose,
    lifetime: u16,
    identification: u64,
    sent: Instant,
    attempts: u8,
    changes: u8,
    /// It only prolongs what is registered.
    pub(super) is_renewal: bool,
    timeout: Duration,
    deadline: Instant,
}

impl MobileNode {
    pub(super) fn register(&mut self, now: Instant, target: Target) {
        let gateway = target.point.gateway;
        let mut known = self.bindings.iter();
        let is_regional = gateway.is_some()
            && known.any(|bound| bound.point.gateway == gateway && now < bound.renew);
        let lifetime = match target.is_home {
            true => 0,
            false => self.config.lifetime.min(target.longest_lifetime).max(1),
        };
        self.pending = Some(Pending {
            target,
            purpose: match is_regional {
                true => Purpose::Regional,
                false => Purpose::Home,
            },
            lifetime,
            identification: 0,
            sent: now,
            attempts: 0,
            changes: 0,
            is_renewal: false,
            timeout: FIRST_TIMEOUT,
            deadline: now,
        });
        self.transmit(now);
    }

    /// Sends the pending request, with a new identification (section 3.6.3).
    fn transmit(&mut self, now: Instant) {
        let identification = self.config.clock.timestamp(now);
        let identification = identification.max(self.last_identification.wrapping_add(1));
        let Some(pending) = &mut self.pending else {
            return;
        };
        self.last_identification = identification;
        pending.identification = identification;
        pending.sent = now;
        pending.attempts = pending.attempts.saturating_add(1);
        pending.deadline = now + pending.timeout;
        // No longer than the registration would last.
        let longest = match pending.lifetime {
            0 | INFINITE_LIFETIME => Duration::MAX,
            seconds => Duration::from_secs(seconds.into()).max(FIRST_TIMEOUT),
        };
        let doubled = pending.timeout.saturating_mul(2);
        pending.timeout = doubled.min(longest).min(Duration::from_secs(60));
        if pending.purpose == Purpose::Regional && pending.attempts > MOST_REGIONAL {
            pending.purpose = Purpose::Home;
        }
        let (target, asked) = (pending.target, (pending.purpose, pending.lifetime));
        let Target { point, end, .. } = target;
        let message = self.request(&target, asked, identification);
        let (source, destination, hop_limit) = match point.agent {
            // 255, for an agent that asks whether the mobile is on its link (RFC 3024).
            Some(agent) => (self.config.home_address, agent, 255),
            None => (end, self.config.home_agent, HOP_LIMIT),
        };
        let envelope = Envelope {
            source,
            destination,
            port: PORT,
            hop_limit,
        };
        self.outbox
            .send_message(Some(point.interface), envelope, &message);
    }

    /// The request, signed; and, with an address of its own, the mobile's word to the agent that it has left.
    fn request(
        &mut self,
        target: &Target,
        (purpose, lifetime): (Purpose, u16),
        identification: u64,
    ) -> Message {
        let asked = !target.is_home;
        let point = target.point;
        let home_address = self.config.home_address;
        let is_regional = purpose == Purpose::Regional;
        let mut message = Message::from(Request {
            purpose,
            flags: RequestFlags::default()
                .with_if(
                    RequestFlags::SIMULTANEOUS,
                    asked && self.config.simultaneous_bindings,
                )
                .with_if(RequestFlags::DECAPSULATION, target.is_colocated)
                .with_if(RequestFlags::REVERSE_TUNNEL, target.reverse_tunnel),
            lifetime,
            home_address,
            agent: match point.gateway {
                Some(gateway) if is_regional => gateway,
                _ => self.config.home_agent,
            },
            care_of_address: match is_regional {
                true => target.end,
                false => point.care_of_address,
            },
            identification,
        });
        match (is_regional, &self.config.foreign) {
            (true, Some(foreign)) => message.sign(AuthenticationKind::MobileGateway, foreign),
            _ => message.sign(AuthenticationKind::MobileHome, &self.config.home),
        }
        let previous = self
            .previous_agent
            .filter(|&previous| Some(previous) != point.agent);
        let Some(foreign) = &self.config.foreign else {
            return message;
        };
        // Where the earlier address is kept, its agent goes on as it was.
        let has_left = asked && self.config.smooth_handoff && !self.config.simultaneous_bindings;
        if let Some(previous) = previous.filter(|_| has_left) {
            let notification = notify(
                home_address,
                identification,
                (previous, target.end),
                foreign,
            );
            match point.agent {
                Some(_) => message
                    .extensions
                    .push(Extension::PreviousForeignAgent(notification)),
                None => {
                    let update = binding_update(home_address, identification, &notification);
                    let envelope = Envelope {
                        source: target.end,
                        destination: previous,
                        port: PORT,
                        hop_limit: HOP_LIMIT,
                    };
                    self.outbox
                        .send_message(Some(point.interface), envelope, &update);
                }
            }
        }
        if point.agent.is_some() {
            message.sign(AuthenticationKind::MobileForeign, foreign);
        }
        message
    }

    pub(super) fn handle_message(&mut self, now: Instant, received: &Received) {
        let Content::Reply(reply) = received.message.content else {
            self.dropped.malformed += 1;
            return;
        };
        // An answer of a previous foreign agent changes nothing.
        if reply.purpose == Purpose::Handoff {
            return;
        }
        let is_expected = self.pending.as_ref().is_some_and(|pending| {
            pending.purpose == reply.purpose
                && pending.identification as u32 == reply.identification as u32
                && reply.home_address == self.config.home_address
        });
        if !is_expected {
            self.dropped.malformed += 1;
        } else if !self.is_authentic(&received.message, &reply) {
            self.dropped.not_authentic += 1;
        } else if reply.code.is_accepted() {
            self.accept(now, &reply);
        } else {
            self.handle_refusal(now, &reply);
        }
    }

    /// Section 3.6.2.1. A foreign agent's refusal is believed without a signature, since there need be no association.
    fn is_authentic(&self, message: &Message, reply: &Reply) -> bool {
        let (kind, association) = match (reply.purpose, &self.config.foreign) {
            (Purpose::Regional, Some(foreign)) => (AuthenticationKind::MobileGateway, foreign),
            _ => (AuthenticationKind::MobileHome, &self.config.home),
        };
        let foreign = match (
            message.place(AuthenticationKind::MobileForeign),
            &self.config.foreign,
        ) {
            (Some(_), Some(foreign)) => message
                .verify(AuthenticationKind::MobileForeign, foreign)
                .is_ok(),
            _ => true,
        };
        let is_signed = message.verify(kind, association).is_ok();
        foreign && (is_signed || reply.code.is_foreign_refusal() && message.place(kind).is_none())
    }

    fn accept(&mut self, now: Instant, reply: &Reply) {
        let Some(pending) = self.pending.take() else {
            return;
        };
        let target = pending.target;
        let point = target.point;
        if target.is_home {
            self.bindings.clear();
            self.previous_agent = None;
            self.home_link = Some(point.interface);
            self.events.push_back(MobileNodeEvent::AtHome {
                interface: point.interface,
            });
            return self.reconsider(now, false);
        }
        let lifetime = reply.lifetime.min(pending.lifetime);
        // Section 3.6.2.2: the lifetime began when the request was sent.
        let mut expires = end_of(pending.sent, lifetime);
        let mut renew = match lifetime {
            INFINITE_LIFETIME => Instant::NEVER,
            // Chosen: a quarter is left for requests that are lost.
            seconds => pending.sent + Duration::from_millis(u64::from(seconds) * 750),
        };
        if pending.purpose == Purpose::Regional {
            let mut known = self.bindings.iter();
            let at_home = known.find(|bound| bound.point.gateway == point.gateway);
            // The home agent's registration goes on as it was.
            (expires, renew) =
                at_home.map_or((expires, renew), |bound| (bound.expires, bound.renew));
        }
        if self.config.simultaneous_bindings && reply.code == Code::ACCEPTED {
            self.forget(point.care_of_address);
        } else {
            self.bindings.clear();
        }
        let bound = Bound {
            point,
            is_colocated: target.is_colocated,
            reverse_tunnel: target.reverse_tunnel,
            expires,
            target,
            renew,
        };
        self.bindings.reserve_exact(1);
        // The renewal of another binding does not change where packets leave.
        match self.chosen == Some(point.interface) {
            true => self.bindings.push(bound),
            false => self.bindings.insert(0, bound),
        }
        self.home_link = None;
        self.previous_agent = point.agent.filter(|_| !target.is_colocated);
        self.events
            .push_back(MobileNodeEvent::Registered { point, lifetime });
        self.reconsider(now, false);
    }

    /// Drops what is registered for an address.
    pub(super) fn forget(&mut self, care_of_address: Ipv4Addr) {
        self.bindings
            .retain(|bound| bound.point.care_of_address != care_of_address);
    }

    /// What is refused is asked for again as the refusal says, or else when the time comes.
    fn handle_refusal(&mut self, now: Instant, reply: &Reply) {
        let Some(pending) = &mut self.pending else {
            return;
        };
        let point = pending.target.point;
        let code = reply.code;
        let is_changed = match code {
            _ if pending.purpose == Purpose::Regional => {
                pending.purpose = Purpose::Home;
                true
            }
            // Section 5.7.1.
            Code::IDENTIFICATION_MISMATCH => {
                let clock = &mut self.config.clock;
                clock.synchronise(pending.sent, reply.identification);
                // What a clock that went before has numbered is past.
                self.last_identification = 0;
                true
            }
            Code::FOREIGN_LIFETIME if (1..pending.lifetime).contains(&reply.lifetime) => {
                pending.lifetime = reply.lifetime;
                true
            }
            Code::FOREIGN_REVERSE_TUNNEL_UNAVAILABLE | Code::HOME_REVERSE_TUNNEL_UNAVAILABLE => {
                core::mem::replace(&mut pending.target.reverse_tunnel, false)
            }
            Code::FOREIGN_REVERSE_TUNNEL_MANDATORY | Code::HOME_REVERSE_TUNNEL_MANDATORY => {
                !core::mem::replace(&mut pending.target.reverse_tunnel, true)
            }
            _ => false,
        };
        let at_once = is_changed && pending.changes < MOST_CHANGES;
        pending.changes = pending.changes.saturating_add(1);
        self.events
            .push_back(MobileNodeEvent::Refused { point, code });
        if at_once {
            self.transmit(now);
        }
    }

    pub(super) fn registration_timeout(&self) -> Option<Instant> {
        let deadline = self.pending.as_ref().map(|pending| pending.deadline);
        let renewals = self.bindings.iter().filter_map(|bound| {
            let can_renew = self.pending.is_none() && self.is_attached(bound.point.interface);
            can_renew.then_some(bound.renew)
        });
        let ends = self.bindings.iter().map(|bound| bound.expires);
        deadline.into_iter().chain(renewals).chain(ends).min()
    }

    pub(super) fn handle_registration_timeout(&mut self, now: Instant) {
        for bound in self.bindings.extract_if(.., |bound| bound.expires <= now) {
            let point = bound.point;
            self.events.push_back(MobileNodeEvent::Expired { point });
        }
        match &self.pending {
            Some(pending) if pending.deadline <= now => self.transmit(now),
            Some(_) => {}
            None => {
                let mut due = self.bindings.iter().filter(|bound| bound.renew <= now);
                let due = due.find(|bound| self.is_attached(bound.point.interface));
                if let Some(target) = due.map(|bound| bound.target) {
                    self.register(now, target);
                    if let Some(pending) = &mut self.pending {
                        pending.is_renewal = true;
                    }
                }
            }
        }
    }
}

/// The notification, with the signature of the fast binding update that is made of it.
fn notify(
    home_address: Ipv4Addr,
    identification: u64,
    (previous, care_of_address): (Ipv4Addr, Ipv4Addr),
    association: &crate::wire::mobile_ipv4::SecurityAssociation,
) -> PreviousForeignAgent {
    let mut notification = PreviousForeignAgent {
        lifetime: HANDOFF_LIFETIME,
        previous,
        care_of_address,
        index: association.index,
        authenticator: [0; 16],
    };
    let mut update = binding_update(home_address, identification, &notification);
    update.extensions.clear();
    update.sign(AuthenticationKind::MobileForeign, association);
    if let Some(Extension::Authentication { authenticator, .. }) = update.extensions.first() {
        notification.authenticator = *authenticator;
    }
    notification
}
