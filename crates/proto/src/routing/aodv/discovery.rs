//! Route discovery: the expanding ring search, and the datagrams that wait for it (RFC 3561 sections 6.3 and 6.4).

use super::{
    BUFFER_DATAGRAMS, BUFFER_TIME, NET_DIAMETER, NET_TRAVERSAL_TIME, NODE_TRAVERSAL_TIME, SECOND,
};
use crate::routing::Datagram;
use crate::time::{Duration, Instant};
use core::net::Ipv4Addr;
use std::collections::{BTreeMap, VecDeque};

/// Time to live of the first request.
pub const TTL_START: u8 = 1;
/// Growth of the ring.
pub const TTL_INCREMENT: u8 = 2;
/// Largest ring before the whole network.
pub const TTL_THRESHOLD: u8 = 7;
/// Hops' worth of time added to the wait for an answer.
pub const TIMEOUT_BUFFER: u64 = 2;
/// Requests to the whole network after the first.
pub const RREQ_RETRIES: u32 = 2;
/// Most requests of a node in a second.
pub const RREQ_RATELIMIT: usize = 10;

/// A search for a route.
#[derive(Debug)]
struct Search {
    /// Time to live of the next request.
    time_to_live: u8,
    /// Requests sent to the whole network.
    attempts: u32,
    next: Instant,
}

/// Searches for routes, and the datagrams that wait for them.
#[derive(Debug)]
pub struct Discovery<P> {
    searches: BTreeMap<Ipv4Addr, Search>,
    waiting: VecDeque<(Instant, Datagram<P>)>,
    /// Times of the last requests.
    requests: VecDeque<Instant>,
}

impl<P> Discovery<P> {
    /// Creates a discovery without searches.
    pub fn new() -> Discovery<P> {
        Discovery {
            searches: BTreeMap::new(),
            waiting: VecDeque::new(),
            requests: VecDeque::new(),
        }
    }

    /// Lets a datagram wait; returns it if there is no room.
    pub fn wait(&mut self, now: Instant, datagram: Datagram<P>) -> Option<Datagram<P>> {
        if self.waiting.len() >= BUFFER_DATAGRAMS {
            return Some(datagram);
        }
        self.waiting.push_back((now + BUFFER_TIME, datagram));
        None
    }

    /// Begins a search unless it is under way. A destination that was known begins beyond its last distance.
    pub fn begin(&mut self, now: Instant, destination: Ipv4Addr, known_hops: Option<u8>) {
        self.searches.entry(destination).or_insert_with(|| {
            let ring = known_hops.map_or(TTL_START, |hops| hops.saturating_add(TTL_INCREMENT));
            Search {
                time_to_live: if ring > TTL_THRESHOLD {
                    NET_DIAMETER
                } else {
                    ring
                },
                attempts: 0,
                next: now,
            }
        });
    }

    /// Returns the requests that are due, each with its time to live, and the datagrams whose search has failed.
    pub fn due(&mut self, now: Instant) -> (Vec<(Ipv4Addr, u8)>, Vec<Datagram<P>>) {
        while self.requests.front().is_some_and(|&at| at + SECOND <= now) {
            self.requests.pop_front();
        }
        let (mut requests, mut failed) = (Vec::new(), Vec::new());
        for (&destination, search) in &mut self.searches {
            if search.next > now {
                continue;
            }
            if search.attempts > RREQ_RETRIES {
                failed.push(destination);
            } else if let Some(&oldest) = self.requests.front()
                && self.requests.len() >= RREQ_RATELIMIT
            {
                search.next = oldest + SECOND;
            } else {
                self.requests.push_back(now);
                requests.push((destination, search.time_to_live));
                search.next = now + search.advance();
            }
        }
        self.searches.retain(|node, _| !failed.contains(node));
        (requests, self.take(|node| failed.contains(&node)))
    }

    /// Takes out the datagrams for these destinations, and ends the searches for them.
    pub fn take(&mut self, is_wanted: impl Fn(Ipv4Addr) -> bool) -> Vec<Datagram<P>> {
        self.searches.retain(|&node, _| !is_wanted(node));
        let mut taken = Vec::new();
        for (until, datagram) in core::mem::take(&mut self.waiting) {
            if is_wanted(datagram.destination) {
                taken.push(datagram);
            } else {
                self.waiting.push_back((until, datagram));
            }
        }
        taken
    }

    /// Takes out the datagrams that have waited for too long.
    pub fn expire(&mut self, now: Instant) -> Vec<Datagram<P>> {
        let mut expired = Vec::new();
        while self.waiting.front().is_some_and(|(until, _)| *until <= now) {
            expired.extend(self.waiting.pop_front().map(|(_, datagram)| datagram));
        }
        expired
    }

    /// Returns the time of the next request or expiry, or never.
    pub fn next_deadline(&self) -> Instant {
        let searches = self.searches.values().map(|search| search.next).min();
        let waiting = self.waiting.front().map(|(until, _)| *until);
        let never = Instant::NEVER;
        searches.unwrap_or(never).min(waiting.unwrap_or(never))
    }
}

impl Search {
    /// Moves on to the next ring, and returns the time to wait for the answer to the request just sent: that of the
    /// ring, or for the whole network [`NET_TRAVERSAL_TIME`], doubled with each attempt.
    fn advance(&mut self) -> Duration {
        if self.time_to_live == NET_DIAMETER {
            let wait = NET_TRAVERSAL_TIME.saturating_mul(1 << self.attempts);
            self.attempts += 1;
            return wait;
        }
        let hops = u64::from(self.time_to_live) + TIMEOUT_BUFFER;
        let ring = self.time_to_live + TTL_INCREMENT;
        self.time_to_live = if ring > TTL_THRESHOLD {
            NET_DIAMETER
        } else {
            ring
        };
        NODE_TRAVERSAL_TIME.saturating_mul(2 * hops)
    }
}
