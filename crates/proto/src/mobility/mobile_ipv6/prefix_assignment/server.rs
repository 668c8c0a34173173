//! The home agent's side: the responder of IKEv2, with a pool of prefixes.

use super::pool::PrefixPool;
use super::{Ipv6Prefix, key_exchange};
use crate::mobility::draws::Draws;
use crate::mobility::mobile_ipv6::Subscriber;
use crate::time::{Duration, Instant};
use crate::wire::ikev2::{AssignedPrefix, Content, Ikev2, Proof, Protection};
use core::net::Ipv6Addr;
use std::collections::{BTreeMap, VecDeque};

/// Time for which an exchange is remembered, so that a retransmitted request gets the same answer. Chosen: longer than
/// a mobile retransmits.
const MEMORY: Duration = Duration::from_secs(60);
/// Most exchanges remembered; further ones are ignored, so that requests from anywhere take limited memory. Chosen.
const MOST_EXCHANGES: usize = 1 << 16;

/// Counts of discarded messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrefixServerCounts {
    /// Requests of unknown mobiles, or with wrong authenticators; they get no answer.
    pub unproved: u64,
    /// Malformed messages, and messages without an exchange or room for one.
    pub unexpected: u64,
}

/// The exchanges of one initiator.
#[derive(Clone, Debug)]
struct Exchange {
    /// Request and response of IKE_SA_INIT.
    init: [Ikev2; 2],
    /// Request and response of IKE_AUTH.
    auth: Option<[Ikev2; 2]>,
}

/// Assigns home network prefixes to known mobiles. It is a part of a [home agent](crate::mobility::mobile_ipv6::HomeAgent),
/// which drives it.
#[derive(Clone, Debug)]
pub struct PrefixServer {
    pool: PrefixPool,
    /// Mobiles by interface identifier. Of their home addresses only the identifier counts.
    mobiles: BTreeMap<u64, Subscriber>,
    exchanges: BTreeMap<(Ipv6Addr, u64), Exchange>,
    /// Exchanges in the order of their beginning, with the times at which they are forgotten.
    ends: VecDeque<(Instant, (Ipv6Addr, u64))>,
    draws: Draws,
    counts: PrefixServerCounts,
    /// Mobiles with a new prefix, not yet polled.
    assigned: VecDeque<Subscriber>,
}

impl PrefixServer {
    /// Creates a server without mobiles.
    pub fn new(pool: PrefixPool, draws: Draws) -> PrefixServer {
        PrefixServer {
            pool,
            mobiles: BTreeMap::new(),
            exchanges: BTreeMap::new(),
            ends: VecDeque::new(),
            draws,
            counts: PrefixServerCounts::default(),
            assigned: VecDeque::new(),
        }
    }

    /// Adds or replaces a mobile, by the interface identifier in its home address; the prefix of that address does not
    /// count.
    pub fn enrol(&mut self, subscriber: Subscriber) {
        let mobile = identifier(subscriber.home_address);
        self.mobiles.insert(mobile, subscriber);
    }

    /// Lends a mobile a prefix without a request, as if it had been connected until `now`. Returns the prefix, if one is
    /// left.
    pub fn lend(&mut self, now: Instant, mobile: u64) -> Option<Ipv6Prefix> {
        self.pool.lend(now, mobile, None)
    }

    /// Returns the counts of discarded messages.
    pub const fn counts(&self) -> PrefixServerCounts {
        self.counts
    }

    /// Takes in a message from this address; returns the answer.
    pub(in crate::mobility::mobile_ipv6) fn handle_message(
        &mut self,
        now: Instant,
        source: Ipv6Addr,
        home_agent: Ipv6Addr,
        bytes: &[u8],
    ) -> Option<Ikev2> {
        self.forget(now);
        let Ok(request) = Ikev2::decode(bytes) else {
            self.counts.unexpected += 1;
            return None;
        };
        match request.content {
            Content::InitRequest(_) => self.begin(now, source, request),
            Content::AuthRequest { mobile, wanted, .. } => {
                let asked = (mobile, wanted, home_agent);
                self.authenticate(now, source, request, asked)
            }
            Content::InitResponse(_) | Content::AuthResponse { .. } => {
                self.counts.unexpected += 1;
                None
            }
        }
    }

    fn begin(&mut self, now: Instant, source: Ipv6Addr, request: Ikev2) -> Option<Ikev2> {
        let key = (source, request.initiator_spi);
        if let Some(known) = self.exchanges.get(&key)
            && known.init[0] == request
        {
            return Some(known.init[1].clone());
        }
        let is_known = self.exchanges.contains_key(&key);
        if is_known || request.responder_spi != 0 || self.exchanges.len() >= MOST_EXCHANGES {
            self.counts.unexpected += 1;
            return None;
        }
        let response = Ikev2 {
            responder_spi: self.draws.bits().max(1),
            content: Content::InitResponse(key_exchange(&mut self.draws)),
            ..request
        };
        let init = [request, response.clone()];
        self.exchanges.insert(key, Exchange { init, auth: None });
        self.ends.push_back((now + MEMORY, key));
        Some(response)
    }

    fn authenticate(
        &mut self,
        now: Instant,
        source: Ipv6Addr,
        request: Ikev2,
        (mobile, wanted, home_agent): (u64, Option<Ipv6Prefix>, Ipv6Addr),
    ) -> Option<Ikev2> {
        let key = (source, request.initiator_spi);
        let known = self.exchanges.get_mut(&key);
        let Some(exchange) =
            known.filter(|known| known.init[1].responder_spi == request.responder_spi)
        else {
            self.counts.unexpected += 1;
            return None;
        };
        if let Some([asked, answer]) = &exchange.auth {
            if *asked == request {
                return Some(answer.clone());
            }
            self.counts.unexpected += 1;
            return None;
        }
        let subscriber = self.mobiles.get(&mobile);
        let protection = subscriber.and_then(|subscriber| {
            let key = subscriber.key.map_or([0; 20], |shared| shared.key);
            Protection::new(key, &exchange.init[0], &exchange.init[1])
        });
        let (Some(subscriber), Some(protection)) = (
            subscriber,
            protection.filter(|protection| protection.proves(&request)),
        ) else {
            self.counts.unproved += 1;
            return None;
        };
        let prefix = self.pool.lend(now, mobile, wanted);
        self.assigned.extend(prefix.map(|prefix| Subscriber {
            home_address: prefix.address_of(subscriber.home_address),
            ..subscriber.clone()
        }));
        let mut answer = Ikev2 {
            content: Content::AuthResponse {
                home_agent,
                assigned: prefix.map(|prefix| AssignedPrefix {
                    prefix,
                    lifetime_s: self.pool.lifetime_s(),
                }),
                proof: Proof::default(),
            },
            ..request
        };
        protection.seal(&mut answer);
        exchange.auth = Some([request, answer.clone()]);
        Some(answer)
    }

    /// Forgets old exchanges.
    fn forget(&mut self, now: Instant) {
        while let Some(&(end, key)) = self.ends.front()
            && end <= now
        {
            self.ends.pop_front();
            self.exchanges.remove(&key);
        }
    }

    /// Returns the next mobile with a new or renewed prefix, which its home address now has.
    pub(in crate::mobility::mobile_ipv6) fn poll_assigned(&mut self) -> Option<Subscriber> {
        self.assigned.pop_front()
    }

    /// Returns the end of the lease that ends first.
    pub(in crate::mobility::mobile_ipv6) fn poll_timeout(&self) -> Option<Instant> {
        self.pool.poll_timeout()
    }

    /// Ends a lease that is due; returns the home address that its mobile had.
    pub(in crate::mobility::mobile_ipv6) fn poll_ended(
        &mut self,
        now: Instant,
    ) -> Option<Ipv6Addr> {
        let (mobile, prefix) = self.pool.poll_ended(now)?;
        Some(prefix.address_of(Ipv6Addr::from_bits(mobile.into())))
    }
}

fn identifier(address: Ipv6Addr) -> u64 {
    address.to_bits() as u64
}
