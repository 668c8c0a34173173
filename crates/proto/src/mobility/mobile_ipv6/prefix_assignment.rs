//! Assignment of a home network prefix to a mobile (study D, section 3.2: "a unique Home Network Prefix can be assigned
//! to each MR during the initial network connection phase"): by its home agent over IKEv2, as in RFC 5026 section 5.3.2.
//! A mobile needs two exchanges for it, once: the prefix stays when the mobile moves.
//!
//! Mobile and home agent have a shared key. The exchanges have the form and the length of RFC 7296's, but encrypt nothing
//! and compute no secret of a key exchange, and the IPsec association that they set up protects nothing.

mod pool;
mod server;

pub use pool::PrefixPool;
pub use server::{PrefixServer, PrefixServerCounts};

use super::is_routable;
use crate::interface::InterfaceId;
use crate::mobility::binding::Retransmission;
use crate::mobility::draws::Draws;
use crate::mobility::{datagram, pop};
use crate::packet::Packet;
use crate::time::{Duration, Instant};
use crate::wire::ikev2::{AssignedPrefix, Content, Ikev2, KeyExchange, PORT, Proof, Protection};
use crate::wire::prefix::Ipv6Prefix;
use core::net::Ipv6Addr;
use std::collections::VecDeque;

/// Timeout of a request's first transmission, doubled for each further one. Chosen, as for a binding update: RFC 7296
/// section 2.4 leaves it open.
const FIRST_TIMEOUT: Duration = Duration::from_secs(1);
/// Longest timeout; chosen.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(16);
/// Transmissions of a request; chosen.
const REQUESTS: u32 = 5;
/// Time from a refusal, or from the last unanswered request's timeout, to the next attempt; chosen.
const RETRY_AFTER: Duration = Duration::from_secs(30);
/// Length of a home network prefix in bits: that of a link, whose hosts form their addresses themselves (RFC 4291).
pub const HOME_PREFIX_LENGTH: u8 = 64;

/// Result of a request for a home network prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefixEvent {
    /// The home agent has assigned this prefix.
    Assigned(Ipv6Prefix),
    /// The home agent has no prefix left (INTERNAL_ADDRESS_FAILURE).
    NoneLeft,
    /// The home agent has not answered.
    Unanswered,
    /// The prefix is no longer assigned: its lifetime has ended, or the home agent does not know of it.
    Lost(Ipv6Prefix),
}

/// The mobile and its home agent, as the exchanges name them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parties {
    pub home_agent: Ipv6Addr,
    /// Interface identifier, the mobile's identity.
    pub mobile: u64,
    /// Shared key.
    pub key: [u8; 20],
}

/// A request without an answer.
#[derive(Clone, Debug)]
struct Asking {
    request: Ikev2,
    /// Keys of the exchange IKE_AUTH; `None` in IKE_SA_INIT.
    protection: Option<Protection>,
    retransmission: Retransmission,
}

/// A prefix on loan.
#[derive(Clone, Copy, Debug)]
struct Lease {
    prefix: Ipv6Prefix,
    renew_at: Instant,
    expires: Instant,
}

/// The mobile's client.
#[derive(Clone, Debug, Default)]
pub(super) struct PrefixAssignment {
    /// Interface and care-of address from which it asks.
    place: Option<(InterfaceId, Ipv6Addr)>,
    asking: Option<Asking>,
    retry_at: Option<Instant>,
    lease: Option<Lease>,
    /// The latest prefix, which it asks for again.
    latest: Option<Ipv6Prefix>,
    outbox: VecDeque<(InterfaceId, Packet)>,
    events: VecDeque<PrefixEvent>,
}

impl PrefixAssignment {
    /// Follows the mobile to a place; a mobile without a prefix asks for one from there.
    pub(super) fn follow(
        &mut self,
        now: Instant,
        place: Option<(InterfaceId, Ipv6Addr)>,
        parties: &Parties,
        draws: &mut Draws,
    ) {
        self.place = place;
        self.retry_at = None;
        let is_asking = self.asking.take().is_some();
        if is_asking || self.lease.is_none() {
            self.ask(now, parties, draws);
        }
    }

    /// Gives up the prefix, of which the home agent does not know, and asks for one.
    pub(super) fn restart(&mut self, now: Instant, parties: &Parties, draws: &mut Draws) {
        let lost = self.lease.take().map(|lease| lease.prefix);
        self.events.extend(lost.map(PrefixEvent::Lost));
        self.ask(now, parties, draws);
    }

    /// Asks whether the prefix is still assigned, unless a request is pending: the home agent may have restarted.
    pub(super) fn confirm(&mut self, now: Instant, parties: &Parties, draws: &mut Draws) {
        if self.asking.is_none() {
            self.ask(now, parties, draws);
        }
    }

    /// Begins the exchange IKE_SA_INIT.
    fn ask(&mut self, now: Instant, parties: &Parties, draws: &mut Draws) {
        if self.place.is_none() {
            return;
        }
        let request = Ikev2 {
            initiator_spi: draws.bits().max(1),
            responder_spi: 0,
            content: Content::InitRequest(key_exchange(draws)),
        };
        self.begin(now, (request, None), parties);
    }

    fn begin(
        &mut self,
        now: Instant,
        (request, protection): (Ikev2, Option<Protection>),
        parties: &Parties,
    ) {
        self.send(&request, parties);
        self.asking = Some(Asking {
            request,
            protection,
            retransmission: Retransmission::begin(now, FIRST_TIMEOUT),
        });
    }

    fn send(&mut self, request: &Ikev2, parties: &Parties) {
        if let Some((interface, care_of)) = self.place {
            let packet = datagram((care_of, parties.home_agent), PORT, request.encode());
            self.outbox.push_back((interface, packet));
        }
    }

    /// Takes in a message of the home agent. Returns true if it answers the pending request.
    pub(super) fn handle_answer(&mut self, now: Instant, bytes: &[u8], parties: &Parties) -> bool {
        let (Some(asking), Ok(answer)) = (&self.asking, Ikev2::decode(bytes)) else {
            return false;
        };
        if answer.initiator_spi != asking.request.initiator_spi || answer.responder_spi == 0 {
            return false;
        }
        match &asking.protection {
            None => match Protection::new(parties.key, &asking.request, &answer) {
                Some(protection) => self.authenticate(now, &answer, protection, parties),
                None => return false,
            },
            Some(protection) => match answer.content {
                Content::AuthResponse {
                    home_agent,
                    assigned,
                    ..
                } if home_agent == parties.home_agent && protection.proves(&answer) => {
                    self.take(now, assigned);
                }
                _ => return false,
            },
        }
        true
    }

    /// Begins the exchange IKE_AUTH after an answer to IKE_SA_INIT.
    fn authenticate(
        &mut self,
        now: Instant,
        answer: &Ikev2,
        protection: Protection,
        parties: &Parties,
    ) {
        let mut request = Ikev2 {
            content: Content::AuthRequest {
                mobile: parties.mobile,
                wanted: self.latest,
                proof: Proof::default(),
            },
            ..*answer
        };
        protection.seal(&mut request);
        self.begin(now, (request, Some(protection)), parties);
    }

    /// Takes in the result; a prefix that no home address can be formed from counts as none.
    fn take(&mut self, now: Instant, assigned: Option<AssignedPrefix>) {
        self.asking = None;
        let is_usable = |prefix: Ipv6Prefix| {
            prefix.length() <= HOME_PREFIX_LENGTH && is_routable(prefix.address())
        };
        let Some(assigned) = assigned.filter(|assigned| is_usable(assigned.prefix)) else {
            self.retry_at = Some(now + RETRY_AFTER);
            self.events.push_back(PrefixEvent::NoneLeft);
            return;
        };
        let lifetime = Duration::from_secs(assigned.lifetime_s.into());
        let prefix = assigned.prefix;
        let before = self.lease.replace(Lease {
            prefix,
            // Chosen, as for a binding: three quarters of the lifetime.
            renew_at: now + Duration::from_millis(u64::from(assigned.lifetime_s) * 750),
            expires: now + lifetime,
        });
        self.latest = Some(prefix);
        if before.is_none_or(|before| before.prefix != prefix) {
            self.events.push_back(PrefixEvent::Assigned(prefix));
        }
    }

    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout).
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let expiry = self.lease.map(|lease| lease.expires);
        let next = match &self.asking {
            Some(asking) => Some(asking.retransmission.deadline()),
            None => self.next_attempt().filter(|_| self.place.is_some()),
        };
        next.into_iter().chain(expiry).min()
    }

    /// Returns the time of the next attempt: after one that failed, or to renew the lease.
    fn next_attempt(&self) -> Option<Instant> {
        self.retry_at.or(self.lease.map(|lease| lease.renew_at))
    }

    /// Retransmits or repeats the requests that are due, and ends a lease.
    pub(super) fn handle_timeout(&mut self, now: Instant, parties: &Parties, draws: &mut Draws) {
        if let Some(lease) = self.lease.filter(|lease| lease.expires <= now) {
            self.lease = None;
            self.events.push_back(PrefixEvent::Lost(lease.prefix));
        }
        if let Some(asking) = &mut self.asking {
            if asking.retransmission.deadline() > now {
                return;
            }
            if asking.retransmission.sent() < REQUESTS {
                asking.retransmission.again(now, LONGEST_TIMEOUT);
                let request = asking.request.clone();
                self.send(&request, parties);
                return;
            }
            self.asking = None;
            self.retry_at = Some(now + RETRY_AFTER);
            self.events.push_back(PrefixEvent::Unanswered);
        } else if self.next_attempt().is_none_or(|at| at <= now) {
            self.retry_at = None;
            self.ask(now, parties, draws);
        }
    }

    /// Returns the next packet and its outgoing interface.
    pub(super) fn poll_transmit(&mut self) -> Option<(InterfaceId, Packet)> {
        pop(&mut self.outbox)
    }

    /// Returns the next event.
    pub(super) fn poll_event(&mut self) -> Option<PrefixEvent> {
        pop(&mut self.events)
    }
}

/// Draws one side's public value and nonce.
fn key_exchange(draws: &mut Draws) -> KeyExchange {
    let mut draw = || {
        let words = [(); 4].map(|()| draws.bits().to_be_bytes());
        core::array::from_fn(|place| words[place / 8][place % 8])
    };
    KeyExchange {
        public_value: draw(),
        nonce: draw(),
    }
}
