//! Registration through a foreign agent (RFC 5944 section 3.7), through a gateway above it (RFC 4857), and fast binding
//! updates of departing visitors (RFC 4988).

use super::preregistration::Ahead;
use super::visitors::{Departed, NextHop, Pending, ReplyTo};
use super::{ForeignAgent, ForeignAgentEvent, InterfaceId, Received};
use crate::mobility::mobile_ipv4::{Envelope, HOP_LIMIT, end_of, is_host};
use crate::packet::PacketName;
use crate::time::Instant;
use crate::wire::mobile_ipv4::{
    AuthenticationKind, Code, Extension, Message, PORT, PreviousForeignAgent, Purpose, Reply,
    Request, RequestFlags,
};
use core::net::Ipv4Addr;

impl ForeignAgent {
    pub(super) fn handle_request(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        received: Received,
        request: Request,
    ) {
        let below = received
            .message
            .extensions
            .iter()
            .find_map(|extension| match extension {
                Extension::HierarchicalForeignAgent(agent) => Some(*agent),
                _ => None,
            });
        let ahead = match self.origin_ahead(&received) {
            None => None,
            Some(Ok(ahead)) => Some(ahead),
            // The mobile is not here, so there is no way to refuse.
            Some(Err(())) => {
                self.dropped.malformed += 1;
                return;
            }
        };
        let next = match ahead {
            Some(ahead) => ahead.next,
            None => below.map_or(NextHop::Link(interface), NextHop::Agent),
        };
        let reply_to = match ahead {
            Some(Ahead { present, .. }) => ReplyTo {
                interface: None,
                address: present,
                port: PORT,
            },
            None => ReplyTo {
                interface: next.interface(),
                address: received.source,
                port: received.port,
            },
        };
        if let Err(code) = self.check(&received, &request, (next, ahead.is_some())) {
            self.refuse(reply_to, (&request, code));
            return;
        }
        if request.purpose == Purpose::Regional && request.agent == self.config.address {
            self.register_here(now, next, &received, request);
        } else {
            self.relay(now, (next, reply_to), received, request);
        }
    }

    /// Validates a request (section 3.7.2.1). Authenticates the mobile only if an association with it is configured.
    fn check(
        &mut self,
        received: &Received,
        request: &Request,
        (next, is_ahead): (NextHop, bool),
    ) -> Result<(), Code> {
        let message = &received.message;
        let kind = AuthenticationKind::MobileForeign;
        if message.place(kind).is_some()
            && let Some(association) = self.config.mobiles.get(&request.home_address)
            && message.verify(kind, association).is_err()
        {
            self.dropped.not_authentic += 1;
            return Err(Code::FOREIGN_MOBILE_AUTHENTICATION);
        }
        let flags = request.flags;
        let is_colocated = flags.contains(RequestFlags::DECAPSULATION);
        // The reserved bit must be zero (section 3.3).
        if flags.0 & 0b001 != 0 || !is_host(request.home_address) {
            return Err(Code::FOREIGN_POORLY_FORMED_REQUEST);
        }
        if !is_host(request.agent) {
            return Err(Code::INVALID_HOME_AGENT);
        }
        let is_new = !self.visitors.contains_key(&request.home_address)
            && !self.pending.contains_key(&request.home_address);
        if is_new && request.lifetime > 0 && self.is_full() {
            return Err(Code::FOREIGN_RESOURCES);
        }
        if request.lifetime > self.config.longest_lifetime {
            return Err(Code::FOREIGN_LIFETIME);
        }
        // A mobile with a co-located address is the end of its tunnel.
        if !is_colocated && self.config.encapsulations.choose(flags).is_none() {
            return Err(Code::FOREIGN_ENCAPSULATION);
        }
        if flags.contains(RequestFlags::HEADER_COMPRESSION)
            && matches!(next, NextHop::Link(_))
            && !self.config.header_compression
        {
            return Err(Code::FOREIGN_COMPRESSION);
        }
        if flags.contains(RequestFlags::REVERSE_TUNNEL) {
            if !self.config.reverse_tunnel {
                return Err(Code::FOREIGN_REVERSE_TUNNEL_UNAVAILABLE);
            }
            // RFC 3024: a mobile on the link sends with hop limit 255, which no farther node can achieve.
            let is_on_link = matches!(next, NextHop::Link(_)) && !is_ahead;
            if is_on_link && received.hop_limit != 255 {
                return Err(Code::FOREIGN_TOO_DISTANT);
            }
        }
        let is_regional = request.purpose == Purpose::Regional;
        // A home agent could not answer an agent with an address of its domain.
        let is_routed = self.config.domain.is_none();
        let care_of_address = request.care_of_address;
        // A regional request to the gateway names the agent below.
        let is_ours = care_of_address == self.config.address && (is_routed || is_regional)
            || self.config.gateways.contains(&care_of_address)
            || is_regional && matches!(next, NextHop::Agent(_));
        match is_ours || is_routed && (is_colocated || request.lifetime == 0) {
            true => Ok(()),
            false => Err(Code::FOREIGN_CARE_OF_ADDRESS),
        }
    }

    /// Relays a request to the home agent, or to the gateway if that is meant or its care-of address is requested.
    fn relay(
        &mut self,
        now: Instant,
        way: (NextHop, ReplyTo),
        received: Received,
        request: Request,
    ) {
        let care_of_address = request.care_of_address;
        let to_gateway = request.purpose == Purpose::Regional
            || self.config.gateways.contains(&care_of_address)
                && care_of_address != self.config.address;
        let end = match (to_gateway, request.purpose) {
            (false, _) => request.agent,
            (true, Purpose::Regional) => request.agent,
            (true, _) => request.care_of_address,
        };
        self.await_reply(now, way, (request, end));
        let mut message = received.message;
        self.pass_on_notification(&mut message, &request);
        // Section 3.7.2.2: extensions after the mobile's own authentication were for this agent.
        let own = match request.purpose {
            Purpose::Regional => AuthenticationKind::MobileGateway,
            _ => AuthenticationKind::MobileHome,
        };
        if let Some(place) = message.place(own) {
            message.extensions.truncate(place + 1);
        }
        if to_gateway {
            let below = Extension::HierarchicalForeignAgent(self.config.address);
            message.extensions.push(below);
        } else if let Some(association) = self.config.home_agents.get(&end) {
            message.sign(AuthenticationKind::ForeignHome, association);
        }
        self.send_to(end, &message);
    }

    /// Forwards a request's previous foreign agent notification: sends that agent a fast binding update, signed by the
    /// mobile.
    fn pass_on_notification(&mut self, message: &mut Message, request: &Request) {
        let notification = message
            .extensions
            .iter()
            .find_map(|extension| match extension {
                Extension::PreviousForeignAgent(notification) => Some(*notification),
                _ => None,
            });
        let Some(notification) = notification else {
            return;
        };
        let previous = notification.previous;
        let domain = self.config.domain;
        let is_in_reach = domain.is_none_or(|domain| domain.contains(previous));
        if is_host(previous) && previous != self.config.address && is_in_reach {
            let names = (request.home_address, request.identification);
            let update = binding_update(names, &notification, received_packets(message));
            self.send_to(previous, &update);
        }
    }

    /// Handles a fast binding update of a departed visitor.
    pub(super) fn handle_update(&mut self, now: Instant, received: &Received, request: &Request) {
        let home_address = request.home_address;
        let association = self.config.mobiles.get(&home_address);
        let is_authentic = association.is_some_and(|association| {
            let kind = AuthenticationKind::MobileForeign;
            received.message.verify(kind, association).is_ok()
        });
        let before = match (
            self.visitors.get(&home_address),
            self.departed.get(&home_address),
        ) {
            (Some(visitor), _) => Some(visitor.identification),
            (None, Some(departed)) => Some(departed.identification),
            (None, None) => None,
        };
        let code = match before {
            _ if !is_authentic => Code::FOREIGN_MOBILE_AUTHENTICATION,
            // Not a visitor, so there is nothing to forward.
            None => Code::FOREIGN_UNSPECIFIED,
            Some(before) if request.identification <= before => Code::IDENTIFICATION_MISMATCH,
            Some(_) if !is_host(request.care_of_address) => Code::FOREIGN_CARE_OF_ADDRESS,
            Some(_) if request.care_of_address == self.config.address => {
                Code::FOREIGN_CARE_OF_ADDRESS
            }
            Some(_) => Code::ACCEPTED,
        };
        if code.is_accepted() {
            let departed = Departed {
                care_of_address: request.care_of_address,
                identification: request.identification,
                expires: end_of(now, request.lifetime.min(self.config.longest_lifetime)),
            };
            self.follow(home_address, departed);
            let ends = (home_address, request.care_of_address);
            self.forward_copies(now, ends, received_packets(&received.message));
        } else {
            self.dropped.not_authentic += 1;
        }
        let mut reply = Message::from(answer(request, code, request.lifetime));
        if let Some(association) = self.config.mobiles.get(&home_address) {
            reply.sign(AuthenticationKind::MobileForeign, association);
        }
        self.send(ReplyTo::sender_of(received), &reply);
    }

    /// Handles a regional registration at this gateway: the visitor has moved below it.
    fn register_here(
        &mut self,
        now: Instant,
        next: NextHop,
        received: &Received,
        request: Request,
    ) {
        let home_address = request.home_address;
        let association = self.config.mobiles.get(&home_address).copied();
        let is_authentic = association.is_some_and(|association| {
            let kind = AuthenticationKind::MobileGateway;
            received.message.verify(kind, &association).is_ok()
        });
        let encapsulation = self.encapsulation(&request);
        let visitor = self.visitors.get_mut(&home_address);
        let visitor = visitor.filter(|visitor| now < visitor.expires);
        let mut lifetime = 0;
        let code = match visitor {
            _ if !is_authentic => Code::FOREIGN_MOBILE_AUTHENTICATION,
            // The mobile must first register with its home agent.
            None => Code::FOREIGN_UNSPECIFIED,
            Some(visitor) if request.identification <= visitor.identification => {
                Code::IDENTIFICATION_MISMATCH
            }
            Some(visitor) => {
                visitor.next = next;
                visitor.identification = request.identification;
                visitor.reverse_tunnel = request.flags.contains(RequestFlags::REVERSE_TUNNEL);
                visitor.encapsulation = encapsulation;
                lifetime = request.lifetime.min(seconds_until(now, visitor.expires));
                Code::ACCEPTED
            }
        };
        let mut reply = Message::from(answer(&request, code, lifetime));
        if let Some(association) = association {
            reply.sign(AuthenticationKind::MobileGateway, &association);
        }
        self.send(ReplyTo::sender_of(received), &reply);
        self.events.push_back(match code.is_accepted() {
            true => ForeignAgentEvent::Arrived {
                home_address,
                lifetime,
            },
            false => ForeignAgentEvent::Refused { home_address, code },
        });
    }

    /// Forwards a reply to a relayed request to the mobile (section 3.7.3).
    pub(super) fn handle_reply(&mut self, now: Instant, received: Received, reply: Reply) {
        let home_address = reply.home_address;
        let low = |identification: u64| identification as u32;
        let Some(&pending) = self.pending.get(&home_address).filter(|pending| {
            pending.request.purpose == reply.purpose
                && low(pending.request.identification) == low(reply.identification)
                && pending.relayed_to == received.source
        }) else {
            // The reply to a fast binding update is not awaited and not relayed.
            if reply.purpose != Purpose::Handoff && !self.hand_over(now, &received, &reply) {
                self.dropped.malformed += 1;
            }
            return;
        };
        let mut message = received.message;
        if let Some(association) = self.config.home_agents.get(&received.source)
            && message
                .verify(AuthenticationKind::ForeignHome, association)
                .is_err()
        {
            self.dropped.not_authentic += 1;
            self.refuse_pending(home_address, Code::FOREIGN_HOME_AUTHENTICATION);
            return;
        }
        self.pending.remove(&home_address);
        if let Some(place) = message.place(AuthenticationKind::ForeignHome) {
            message.extensions.truncate(place);
        }
        if reply.code.is_accepted() {
            // Section 3.7.3.1: no longer than requested.
            let lifetime = reply.lifetime.min(pending.request.lifetime);
            if lifetime == 0 {
                self.dismiss(home_address, None);
            } else {
                self.admit(now, &pending, lifetime);
            }
        }
        self.hand_down(&pending, message);
    }

    /// Refuses a pending request.
    pub(super) fn refuse_pending(&mut self, home_address: Ipv4Addr, code: Code) {
        let Some(pending) = self.pending.remove(&home_address) else {
            return;
        };
        self.refuse(pending.reply_to, (&pending.request, code));
    }

    fn refuse(&mut self, reply_to: ReplyTo, (request, code): (&Request, Code)) {
        let home_address = request.home_address;
        self.events
            .push_back(ForeignAgentEvent::Refused { home_address, code });
        let lifetime = match code {
            // Section 3.4: our maximum lifetime.
            Code::FOREIGN_LIFETIME => self.config.longest_lifetime,
            _ => 0,
        };
        let mut reply = Message::from(answer(request, code, lifetime));
        if let Some(association) = self.config.mobiles.get(&home_address) {
            reply.sign(AuthenticationKind::MobileForeign, association);
        }
        self.send(reply_to, &reply);
    }

    fn hand_down(&mut self, pending: &Pending, mut message: Message) {
        let home_address = pending.request.home_address;
        if let NextHop::Link(_) = pending.next
            && let Some(association) = self.config.mobiles.get(&home_address)
        {
            message.sign(AuthenticationKind::MobileForeign, association);
        }
        self.send(pending.reply_to, &message);
    }

    /// Sends a message to another agent.
    fn send_to(&mut self, agent: Ipv4Addr, message: &Message) {
        let to = ReplyTo {
            interface: None,
            address: agent,
            port: PORT,
        };
        self.send(to, message);
    }

    pub(super) fn send(&mut self, to: ReplyTo, message: &Message) {
        let envelope = Envelope {
            source: self.config.address,
            destination: to.address,
            port: to.port,
            hop_limit: HOP_LIMIT,
        };
        self.outbox.send_message(to.interface, envelope, message);
    }
}

impl NextHop {
    fn interface(self) -> Option<InterfaceId> {
        match self {
            NextHop::Link(interface) => Some(interface),
            NextHop::Agent(_) => None,
        }
    }
}

impl ReplyTo {
    /// Returns the sender of a message, by the host's routes.
    fn sender_of(received: &Received) -> ReplyTo {
        ReplyTo {
            interface: None,
            address: received.source,
            port: received.port,
        }
    }
}

/// Returns the packets that a message names as received.
fn received_packets(message: &Message) -> &[PacketName] {
    let named = message
        .extensions
        .iter()
        .find_map(|extension| match extension {
            Extension::ReceivedPackets(names) => Some(&**names),
            _ => None,
        });
    named.unwrap_or_default()
}

/// Builds the fast binding update of a notification, with the packets that the mobile has received. The mobile signs it,
/// the new foreign agent sends it.
pub(in crate::mobility::mobile_ipv4) fn binding_update(
    (home_address, identification): (Ipv4Addr, u64),
    notification: &PreviousForeignAgent,
    received: &[PacketName],
) -> Message {
    let mut update = Message::from(Request {
        purpose: Purpose::Handoff,
        flags: RequestFlags(0),
        lifetime: notification.lifetime,
        home_address,
        agent: notification.previous,
        care_of_address: notification.care_of_address,
        identification,
    });
    if !received.is_empty() {
        let names = Extension::ReceivedPackets(received.into());
        update.extensions.push(names);
    }
    update.extensions.push(Extension::Authentication {
        kind: AuthenticationKind::MobileForeign,
        index: notification.index,
        authenticator: notification.authenticator,
    });
    update
}

fn answer(request: &Request, code: Code, lifetime: u16) -> Reply {
    Reply {
        purpose: request.purpose,
        code,
        lifetime,
        home_address: request.home_address,
        agent: request.agent,
        identification: request.identification,
    }
}

fn seconds_until(now: Instant, end: Instant) -> u16 {
    let seconds = end.saturating_since(now).as_nanos() / 1_000_000_000;
    u16::try_from(seconds).unwrap_or(u16::MAX)
}
