//! AODV's routing table (RFC 3561 section 6.2).

use super::{ACTIVE_ROUTE_TIMEOUT, DELETE_PERIOD};
use crate::time::Instant;
use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet};

/// A route to a destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Sequence number of the destination, if known.
    pub sequence: Option<u32>,
    /// Hops to the destination.
    pub hop_count: u8,
    /// Neighbour on the way.
    pub next_hop: Ipv4Addr,
    /// True if datagrams may use it.
    pub is_valid: bool,
    /// End of its lifetime; then a valid route becomes invalid, and an invalid one is forgotten.
    pub expires: Instant,
    /// Neighbours that use it, to be told if it breaks.
    pub precursors: BTreeSet<Ipv4Addr>,
}

/// A route as a message tells it.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    pub destination: Ipv4Addr,
    pub sequence: Option<u32>,
    pub hop_count: u8,
    pub next_hop: Ipv4Addr,
    pub expires: Instant,
}

/// Routes by destination.
#[derive(Debug, Default)]
pub struct Table {
    routes: BTreeMap<Ipv4Addr, Route>,
}

/// Returns true if a sequence number is later than another, by their signed distance (section 6.1).
pub fn is_later(number: u32, than: u32) -> bool {
    number.wrapping_sub(than) as i32 > 0
}

/// Returns the sequence number of a route that has become invalid.
fn next(sequence: Option<u32>) -> Option<u32> {
    sequence.map(|number| number.wrapping_add(1))
}

impl Table {
    /// Returns the route to a destination, valid or not.
    pub fn any(&self, destination: Ipv4Addr) -> Option<&Route> {
        self.routes.get(&destination)
    }

    /// Returns the valid route to a destination.
    pub fn valid(&self, destination: Ipv4Addr) -> Option<&Route> {
        self.any(destination).filter(|route| route.is_valid)
    }

    /// Returns true if the node is a part of an active route: at its end, or as a relay.
    pub fn has_active(&self) -> bool {
        let is_used = |route: &Route| route.hop_count > 1 || !route.precursors.is_empty();
        self.routes
            .values()
            .any(|route| route.is_valid && is_used(route))
    }

    /// Takes a route if it is newer than the one known: a later sequence number, or the same and fewer hops or no valid
    /// route so far, or none known. A route to a neighbour that was heard, without a sequence number, is taken unless a
    /// valid one is known. The lifetime of a valid route never shrinks.
    pub fn update(&mut self, offer: Offer) {
        let Offer {
            destination,
            sequence,
            hop_count,
            next_hop,
            expires,
        } = offer;
        let known = self.routes.get_mut(&destination);
        let Some(known) = known else {
            let route = Route {
                sequence,
                hop_count,
                next_hop,
                is_valid: true,
                expires,
                precursors: BTreeSet::new(),
            };
            self.routes.insert(destination, route);
            return;
        };
        let is_better = match (known.sequence, sequence) {
            (Some(old), Some(new)) => {
                let is_shorter = !known.is_valid || hop_count < known.hop_count;
                is_later(new, old) || (new == old && is_shorter)
            }
            (None, Some(_)) => true,
            // A neighbour is one hop away whatever its number; an invalid route keeps the number.
            (_, None) => !known.is_valid || hop_count < known.hop_count,
        };
        if is_better {
            known.expires = match known.is_valid {
                true => known.expires.max(expires),
                false => expires,
            };
            known.sequence = sequence.or(known.sequence);
            known.hop_count = hop_count;
            known.next_hop = next_hop;
            known.is_valid = true;
        } else if known.is_valid && known.next_hop == next_hop {
            known.expires = known.expires.max(expires);
        }
    }

    /// Extends the lifetime of a valid route, which has been used.
    pub fn refresh(&mut self, now: Instant, destination: Ipv4Addr) {
        if let Some(route) = self.routes.get_mut(&destination)
            && route.is_valid
        {
            route.expires = route.expires.max(now + ACTIVE_ROUTE_TIMEOUT);
        }
    }

    /// Adds a neighbour to those that use a route.
    pub fn add_precursor(&mut self, destination: Ipv4Addr, precursor: Ipv4Addr) {
        if let Some(route) = self.routes.get_mut(&destination) {
            route.precursors.insert(precursor);
        }
    }

    /// Invalidates the routes over a neighbour whose link broke, with a sequence number one higher (section 6.11).
    /// Returns them with their precursors.
    pub fn break_link(&mut self, now: Instant, next_hop: Ipv4Addr) -> Vec<(Ipv4Addr, Route)> {
        self.invalidate(now, next_hop, |_, sequence| Some(next(sequence)))
    }

    /// Invalidates the routes over a neighbour that has told so, with its sequence numbers, or the next ones if those
    /// are not later. Returns them.
    pub fn take_error(
        &mut self,
        now: Instant,
        next_hop: Ipv4Addr,
        unreachable: &[(Ipv4Addr, u32)],
    ) -> Vec<(Ipv4Addr, Route)> {
        self.invalidate(now, next_hop, |destination, own| {
            let told = unreachable.iter().find(|(node, _)| *node == destination);
            let &(_, told) = told?;
            let later = next(own).filter(|&next| is_later(next, told));
            Some(later.or(Some(told)))
        })
    }

    fn invalidate(
        &mut self,
        now: Instant,
        next_hop: Ipv4Addr,
        number: impl Fn(Ipv4Addr, Option<u32>) -> Option<Option<u32>>,
    ) -> Vec<(Ipv4Addr, Route)> {
        let mut broken = Vec::new();
        for (&destination, route) in &mut self.routes {
            if !route.is_valid || route.next_hop != next_hop {
                continue;
            }
            let Some(sequence) = number(destination, route.sequence) else {
                continue;
            };
            route.sequence = sequence;
            route.is_valid = false;
            route.expires = now + DELETE_PERIOD;
            broken.push((destination, route.clone()));
            route.precursors.clear();
        }
        broken
    }

    /// Invalidates, with the next sequence number, and later forgets the routes whose lifetime is over.
    pub fn expire(&mut self, now: Instant) {
        self.routes.retain(|_, route| {
            if route.expires > now {
                return true;
            }
            let was_valid = core::mem::replace(&mut route.is_valid, false);
            route.expires = now + DELETE_PERIOD;
            route.sequence = next(route.sequence);
            was_valid
        });
    }

    /// Returns the time of the next [`expire`](Table::expire), or never.
    pub fn next_expiry(&self) -> Instant {
        let all = self.routes.values().map(|route| route.expires);
        all.min().unwrap_or(Instant::NEVER)
    }
}
