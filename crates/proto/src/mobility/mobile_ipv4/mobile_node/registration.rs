//! Registration with retransmission and renewal (RFC 5944 section 3.6).

use super::preregistration::{Ahead, MOST_ATTEMPTS};
use super::{MobileNode, MobileNodeEvent, Point, Received};
use crate::mobility::mobile_ipv4::encapsulations::requested;
use crate::mobility::mobile_ipv4::foreign_agent::binding_update;
use crate::mobility::mobile_ipv4::{Envelope, HOP_LIMIT, end_of};
use crate::packet::PacketName;
use crate::time::{Duration, Instant};
use crate::wire::encapsulation::Encapsulation;
use crate::wire::mobile_ipv4::{
    AuthenticationKind, Code, Content, Extension, INFINITE_LIFETIME, Message, PORT,
    PreviousForeignAgent, Purpose, Reply, Request, RequestFlags,
};
use core::net::Ipv4Addr;

/// Initial retransmission timeout of a request, doubled each time (RFC 5944 section 3.6.3).
pub(super) const FIRST_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum number of immediate requests changed after a refusal. Chosen: one for each reason for a change.
const MOST_CHANGES: u8 = 4;
/// Unanswered regional requests before the mobile turns to the home agent, and unanswered requests through a gateway
/// before it turns to the next one: chosen.
const MOST_THROUGH_GATEWAY: u8 = 3;
/// Lifetime of forwarding by a previous foreign agent, in seconds. Chosen: longer than a registration takes.
const HANDOFF_LIFETIME: u16 = 10;

/// A point of attachment, with the parameters of a registration there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) point: Point,
    pub(super) is_home: bool,
    /// True for a co-located care-of address.
    pub(super) is_colocated: bool,
    pub(super) reverse_tunnel: bool,
    pub(super) encapsulation: Encapsulation,
    /// True for header compression on the link to the foreign agent.
    pub(super) header_compression: bool,
    pub(super) longest_lifetime: u16,
    /// The address on the link itself, also below a gateway: the foreign agent's or the mobile's own.
    pub(super) end: Ipv4Addr,
}

/// A valid registration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    pub(super) point: Point,
    pub(super) is_colocated: bool,
    pub(super) reverse_tunnel: bool,
    pub(super) expires: Instant,
    pub(super) target: Target,
    /// Granted lifetime in seconds.
    pub(super) lifetime: u16,
    renew: Instant,
}

/// A pending registration.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) target: Target,
    /// Way of a registration ahead of a handover.
    pub(super) ahead: Option<Ahead>,
    pub(super) purpose: Purpose,
    lifetime: u16,
    identification: u64,
    sent: Instant,
    attempts: u8,
    changes: u8,
    /// True if the request only renews a registration.
    pub(super) is_renewal: bool,
    timeout: Duration,
    deadline: Instant,
}

impl MobileNode {
    pub(super) fn register(&mut self, now: Instant, target: Target) {
        self.begin(now, target);
        self.transmit(now);
    }

    fn begin(&mut self, now: Instant, target: Target) {
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
            ahead: None,
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
    }

    /// Registers at the next link, through the agent of the present one.
    pub(super) fn register_ahead(&mut self, now: Instant, target: Target, ahead: Ahead) {
        self.begin(now, target);
        if let Some(pending) = &mut self.pending {
            pending.ahead = Some(ahead);
        }
        self.transmit(now);
    }

    /// Sends the pending request with a new identification (section 3.6.3).
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
        // The timeout does not exceed the requested lifetime.
        let longest = match pending.lifetime {
            0 | INFINITE_LIFETIME => Duration::MAX,
            seconds => Duration::from_secs(seconds.into()).max(FIRST_TIMEOUT),
        };
        let doubled = pending.timeout.saturating_mul(2);
        pending.timeout = doubled.min(longest).min(Duration::from_secs(60));
        if pending.purpose == Purpose::Regional && pending.attempts > MOST_THROUGH_GATEWAY {
            pending.purpose = Purpose::Home;
        }
        let (target, ahead) = (pending.target, pending.ahead);
        let asked = (pending.purpose, pending.lifetime);
        let Target { point, end, .. } = target;
        let message = self.request((&target, ahead), asked, identification);
        let (source, destination, hop_limit) = match point.agent {
            // Hop limit 255, for an agent that checks that the mobile is on its link (RFC 3024).
            Some(agent) => (self.config.home_address, agent, 255),
            None => (end, self.config.home_agent, HOP_LIMIT),
        };
        let envelope = Envelope {
            source,
            destination,
            port: PORT,
            hop_limit,
        };
        let interface = ahead.map_or(point.interface, |way| way.interface);
        self.outbox
            .send_message(Some(interface), envelope, &message);
    }

    /// Builds the signed request. Also notifies the previous foreign agent: in the request, or directly from a
    /// co-located address.
    fn request(
        &mut self,
        (target, ahead): (&Target, Option<Ahead>),
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
                    asked && (self.config.simultaneous_bindings || ahead.is_some()),
                )
                .with_if(RequestFlags::DECAPSULATION, target.is_colocated)
                .with_if(RequestFlags::REVERSE_TUNNEL, target.reverse_tunnel)
                .with_if(requested(target.encapsulation), asked)
                .with_if(RequestFlags::HEADER_COMPRESSION, target.header_compression)
                .with_if(RequestFlags::BROADCASTS, asked && self.config.broadcasts),
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
        if let Some(Ahead { point, agent, .. }) = ahead {
            let addresses = [
                Extension::AccessPoint(point),
                Extension::PresentForeignAgent(agent),
            ];
            message.extensions.extend(addresses);
        }
        let previous = self
            .previous_agent
            .filter(|&previous| Some(previous) != point.agent);
        let Some(foreign) = &self.config.foreign else {
            return message;
        };
        // With simultaneous bindings the earlier address stays in use, so its agent keeps its visitor.
        let keeps_former = self.config.simultaneous_bindings || ahead.is_some();
        let has_left = asked && self.config.smooth_handoff && !keeps_former;
        if let Some(previous) = previous.filter(|_| has_left) {
            let received = self.received.received_from(previous);
            let of = (home_address, identification);
            let notification = notify(of, (previous, target.end), &received, foreign);
            match point.agent {
                Some(_) => {
                    let notification = Extension::PreviousForeignAgent(notification);
                    message.extensions.push(notification);
                    if !received.is_empty() {
                        message
                            .extensions
                            .push(Extension::ReceivedPackets(received));
                    }
                }
                None => {
                    let update = binding_update(of, &notification, &received);
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
        // A previous foreign agent's reply changes nothing.
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

    /// Authenticates a reply (section 3.6.2.1). Accepts a foreign agent's refusal without an authenticator, since the
    /// mobile need not have an association with it.
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
            self.received.begin(None, point.interface);
            self.events.push_back(MobileNodeEvent::AtHome {
                interface: point.interface,
            });
            return self.reconsider(now, false);
        }
        if let Some(compression) = self.compression(point.interface) {
            compression.begin(target.header_compression);
        }
        let lifetime = reply.lifetime.min(pending.lifetime);
        // Section 3.6.2.2: the lifetime begins with the request.
        let mut expires = end_of(pending.sent, lifetime);
        let mut renew = match lifetime {
            INFINITE_LIFETIME => Instant::NEVER,
            // Chosen: the last quarter is left for lost requests.
            seconds => pending.sent + Duration::from_millis(u64::from(seconds) * 750),
        };
        if pending.purpose == Purpose::Regional {
            let mut known = self.bindings.iter();
            let at_home = known.find(|bound| bound.point.gateway == point.gateway);
            // A regional registration does not extend the one with the home agent.
            (expires, renew) =
                at_home.map_or((expires, renew), |bound| (bound.expires, bound.renew));
        }
        let keeps_former = self.config.simultaneous_bindings || pending.ahead.is_some();
        if keeps_former && reply.code == Code::ACCEPTED {
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
            lifetime,
            renew,
        };
        self.bindings.reserve_exact(1);
        // The renewal of another binding does not change the one used for sending.
        match self.chosen == Some(point.interface) {
            true => self.bindings.push(bound),
            false => self.bindings.insert(0, bound),
        }
        self.home_link = None;
        if pending.ahead.is_some() {
            return self.end_preparation(now, true);
        }
        self.previous_agent = point.agent.filter(|_| !target.is_colocated);
        self.received.begin(self.previous_agent, point.interface);
        self.events
            .push_back(MobileNodeEvent::Registered { point, lifetime });
        self.reconsider(now, false);
    }

    /// Removes the registration of a care-of address.
    pub(super) fn forget(&mut self, care_of_address: Ipv4Addr) {
        self.bindings
            .retain(|bound| bound.point.care_of_address != care_of_address);
    }

    /// Handles a refusal: retries at once if the refusal tells how to change the request, otherwise at the timeout.
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
                // Identifications from a clock that was ahead no longer bind.
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
            Code::FOREIGN_ENCAPSULATION | Code::HOME_ENCAPSULATION => {
                let refused = core::mem::take(&mut pending.target.encapsulation);
                refused != Encapsulation::IpInIp
            }
            Code::FOREIGN_COMPRESSION => {
                core::mem::replace(&mut pending.target.header_compression, false)
            }
            _ => false,
        };
        let at_once = is_changed && pending.changes < MOST_CHANGES;
        pending.changes = pending.changes.saturating_add(1);
        let is_over = pending.ahead.is_some() && !at_once;
        self.events
            .push_back(MobileNodeEvent::Refused { point, code });
        if at_once {
            self.transmit(now);
        } else if is_over {
            self.end_preparation(now, false);
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
            Some(pending) if pending.deadline > now => {}
            Some(pending) if pending.ahead.is_some() && pending.attempts >= MOST_ATTEMPTS => {
                self.end_preparation(now, false);
            }
            Some(pending) => {
                if pending.attempts >= MOST_THROUGH_GATEWAY {
                    self.turn_to_next_gateway();
                }
                self.transmit(now);
            }
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

/// Builds the notification, with the authenticator of the fast binding update made from it.
fn notify(
    of: (Ipv4Addr, u64),
    (previous, care_of_address): (Ipv4Addr, Ipv4Addr),
    received: &[PacketName],
    association: &crate::wire::mobile_ipv4::SecurityAssociation,
) -> PreviousForeignAgent {
    let mut notification = PreviousForeignAgent {
        lifetime: HANDOFF_LIFETIME,
        previous,
        care_of_address,
        index: association.index,
        authenticator: [0; 16],
    };
    let mut update = binding_update(of, &notification, received);
    update.extensions.pop();
    update.sign(AuthenticationKind::MobileForeign, association);
    if let Some(Extension::Authentication { authenticator, .. }) = update.extensions.last() {
        notification.authenticator = *authenticator;
    }
    notification
}
