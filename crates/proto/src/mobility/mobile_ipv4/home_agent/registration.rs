//! Registration requests at a home agent (RFC 5944 section 3.8.2).

use super::{Binding, HomeAgent, HomeAgentEvent, Mobile};
use crate::mobility::mobile_ipv4::{Envelope, HOP_LIMIT, Received, end_of, is_host};
use crate::time::Instant;
use crate::wire::encapsulation::Encapsulation;
use crate::wire::mobile_ipv4::{
    AuthenticationKind, Code, Content, Message, Purpose, Reply, Request, RequestFlags,
};
use core::net::Ipv4Addr;

impl HomeAgent {
    pub(super) fn handle_message(&mut self, now: Instant, received: &Received) {
        let Content::Request(request) = received.message.content else {
            self.dropped.malformed += 1;
            return;
        };
        if request.purpose != Purpose::Home {
            self.dropped.malformed += 1;
            return;
        }
        let code = match self.check(now, received, &request) {
            Ok(encapsulation) => {
                self.bind(now, &request, encapsulation);
                Code::ACCEPTED
            }
            Err(code) => {
                let home_address = request.home_address;
                self.events
                    .push_back(HomeAgentEvent::Refused { home_address, code });
                code
            }
        };
        self.reply(now, received, &request, code);
    }

    /// Validates a request in the order of section 3.8.2.1: authenticators, then identification, then contents.
    /// Returns the tunnel's encapsulation.
    fn check(
        &mut self,
        now: Instant,
        received: &Received,
        request: &Request,
    ) -> Result<Encapsulation, Code> {
        let message = &received.message;
        let Some(mobile) = self.mobiles.get_mut(&request.home_address) else {
            self.dropped.not_authentic += 1;
            return Err(Code::HOME_MOBILE_AUTHENTICATION);
        };
        if message
            .verify(AuthenticationKind::MobileHome, &mobile.association)
            .is_err()
        {
            self.dropped.not_authentic += 1;
            return Err(Code::HOME_MOBILE_AUTHENTICATION);
        }
        if let Some(association) = self.config.foreign_agents.get(&received.source)
            && message
                .verify(AuthenticationKind::ForeignHome, association)
                .is_err()
        {
            self.dropped.not_authentic += 1;
            return Err(Code::HOME_FOREIGN_AUTHENTICATION);
        }
        let is_near = self.config.clock.is_near(request.identification, now);
        if !is_near || request.identification <= mobile.identification {
            return Err(Code::IDENTIFICATION_MISMATCH);
        }
        mobile.identification = request.identification;
        if request.agent != self.config.address {
            return Err(Code::UNKNOWN_HOME_AGENT);
        }
        let flags = request.flags;
        // The reserved bit must be zero (section 3.3). Header compression is for a foreign agent.
        if flags.0 & 0b001 != 0 || !is_possible(request, self.config.address) {
            return Err(Code::HOME_POORLY_FORMED);
        }
        let encapsulation = self.config.encapsulations.choose(flags);
        let encapsulation = encapsulation.ok_or(Code::HOME_ENCAPSULATION)?;
        if flags.contains(RequestFlags::REVERSE_TUNNEL) && !self.config.reverse_tunnel {
            return Err(Code::HOME_REVERSE_TUNNEL_UNAVAILABLE);
        }
        let others = mobile
            .current(now)
            .filter(|binding| binding.care_of_address != request.care_of_address);
        if request.lifetime > 0
            && flags.contains(RequestFlags::SIMULTANEOUS)
            && others.count() >= self.config.simultaneous_bindings
        {
            return Err(Code::TOO_MANY_BINDINGS);
        }
        Ok(encapsulation)
    }

    /// Updates the bindings by an accepted request (section 3.8.2.2).
    fn bind(&mut self, now: Instant, request: &Request, encapsulation: Encapsulation) {
        let home_address = request.home_address;
        let lifetime = request.lifetime.min(self.config.longest_lifetime);
        let Some(mobile) = self.mobiles.get_mut(&home_address) else {
            return;
        };
        let armed = mobile.first_expiry();
        let stays = |binding: &Binding| match request.lifetime {
            // The mobile is at home, or ends one binding.
            0 => {
                request.care_of_address != home_address
                    && binding.care_of_address != request.care_of_address
            }
            _ => {
                request.flags.contains(RequestFlags::SIMULTANEOUS)
                    || binding.care_of_address == request.care_of_address
            }
        };
        for gone in mobile.bindings.extract_if(.., |binding| !stays(binding)) {
            self.events.push_back(HomeAgentEvent::Unbound {
                home_address,
                care_of_address: gone.care_of_address,
                expired: false,
            });
        }
        if request.lifetime > 0 {
            mobile.keep(Binding {
                care_of_address: request.care_of_address,
                reverse_tunnel: request.flags.contains(RequestFlags::REVERSE_TUNNEL),
                encapsulation,
                broadcasts: request.flags.contains(RequestFlags::BROADCASTS),
                is_colocated: request.flags.contains(RequestFlags::DECAPSULATION),
                expires: end_of(now, lifetime),
            });
            self.bound.push_back(home_address);
            self.events.push_back(HomeAgentEvent::Bound {
                home_address,
                care_of_address: request.care_of_address,
                lifetime,
            });
        }
        let next = mobile.first_expiry();
        if armed != next {
            if let Some(armed) = armed {
                self.expiries.remove(&(armed, home_address));
            }
            if let Some(next) = next {
                self.expiries.insert((next, home_address));
            }
        }
    }

    fn reply(&mut self, now: Instant, received: &Received, request: &Request, code: Code) {
        let identification = match code {
            // Section 5.7.1: our time in the upper half, to which the mobile sets its clock; the request's lower half,
            // by which it recognises its request.
            Code::IDENTIFICATION_MISMATCH => {
                let ours = self.config.clock.timestamp(now);
                (ours & !0xFFFF_FFFF) | (request.identification & 0xFFFF_FFFF)
            }
            _ => request.identification,
        };
        let mut message = Message::from(Reply {
            purpose: Purpose::Home,
            code,
            lifetime: match code.is_accepted() {
                true => request.lifetime.min(self.config.longest_lifetime),
                false => 0,
            },
            home_address: request.home_address,
            agent: self.config.address,
            identification,
        });
        if let Some(mobile) = self.mobiles.get(&request.home_address) {
            message.sign(AuthenticationKind::MobileHome, &mobile.association);
        }
        if let Some(association) = self.config.foreign_agents.get(&received.source) {
            message.sign(AuthenticationKind::ForeignHome, association);
        }
        let envelope = Envelope {
            source: self.config.address,
            destination: received.source,
            port: received.port,
            hop_limit: HOP_LIMIT,
        };
        self.outbox.send_message(None, envelope, &message);
    }
}

impl Mobile {
    /// Inserts or replaces the binding of a care-of address.
    fn keep(&mut self, binding: Binding) {
        let mut bindings = self.bindings.iter_mut();
        match bindings.find(|known| known.care_of_address == binding.care_of_address) {
            Some(known) => *known = binding,
            None => {
                // Mostly one binding, and many mobiles.
                self.bindings.reserve_exact(1);
                self.bindings.push(binding);
            }
        }
    }
}

/// Returns true if a tunnel to the requested care-of address is possible.
fn is_possible(request: &Request, own: Ipv4Addr) -> bool {
    let care_of_address = request.care_of_address;
    let is_home = care_of_address == request.home_address;
    is_host(care_of_address)
        && care_of_address != own
        && is_home == (request.lifetime == 0 && is_home)
}
