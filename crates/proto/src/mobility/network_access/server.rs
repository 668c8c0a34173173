//! The AAA server.

use super::AccessSecret;
use crate::host::Discarded;
use crate::host::layer::{Arrival, Counters, Layer, Rank, Step};
use crate::mobility::{datagram, pop};
use crate::packet::{Body, Packet, Payload};
use crate::time::{Duration, Instant};
use crate::wire::radius::{Code, PORT, Radius};
use core::net::{IpAddr, Ipv6Addr};
use std::collections::{BTreeMap, VecDeque};

/// A user known to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessUser {
    /// Secret shared with the user.
    pub secret: AccessSecret,
    /// True to accept the user, false to reject.
    pub welcome: bool,
    /// Processing time of a request.
    pub processing: Duration,
}

/// Counts of discarded requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccessServerCounts {
    /// Unknown user or wrong proof; such requests get no answer (RFC 3579 section 3.2).
    pub unproved: u64,
    /// Malformed messages, and messages other than Access-Request.
    pub unexpected: u64,
}

/// A request in processing.
#[derive(Clone, Debug)]
struct Waiting {
    ready_at: Instant,
    from: Ipv6Addr,
    request: Radius,
}

/// An AAA server that accepts or rejects users. Pass arriving packets to [`handle_packet`](Self::handle_packet), call
/// [`handle_timeout`](Self::handle_timeout) at [`poll_timeout`](Self::poll_timeout), and drain
/// [`poll_transmit`](Self::poll_transmit).
#[derive(Clone, Debug)]
pub struct AccessServer {
    address: Ipv6Addr,
    users: BTreeMap<Box<[u8]>, AccessUser>,
    /// Requests in processing, one per user: a new request replaces an older one.
    waiting: BTreeMap<Box<[u8]>, Waiting>,
    counts: AccessServerCounts,
    outbox: VecDeque<Packet>,
}

impl AccessServer {
    /// Creates a server at this address, without users.
    pub fn new(address: Ipv6Addr) -> AccessServer {
        AccessServer {
            address,
            users: BTreeMap::new(),
            waiting: BTreeMap::new(),
            counts: AccessServerCounts::default(),
            outbox: VecDeque::new(),
        }
    }

    /// Adds or replaces a user.
    pub fn enrol(&mut self, name: &[u8], user: AccessUser) {
        self.users.insert(name.into(), user);
    }

    /// Returns the counts of discarded requests.
    pub fn counts(&self) -> AccessServerCounts {
        self.counts
    }

    /// Takes in a packet for this host. Returns it if it is not addressed to the server.
    pub fn handle_packet(&mut self, now: Instant, packet: Packet) -> Option<Packet> {
        let (IpAddr::V6(from), Body::Udp(ports, Payload::Bytes(bytes))) =
            (packet.ip.source, &packet.body)
        else {
            return Some(packet);
        };
        if packet.ip.destination != IpAddr::V6(self.address) || ports.destination_port != PORT {
            return Some(packet);
        }
        match Radius::decode(bytes) {
            Ok(request) if request.code == Code::Request => self.consider(now, from, request),
            _ => self.counts.unexpected += 1,
        }
        None
    }

    fn consider(&mut self, now: Instant, from: Ipv6Addr, request: Radius) {
        let name = request.user_name.clone().unwrap_or_default();
        let known = self.users.get(&name);
        let Some(user) = known.filter(|user| request.is_request_of(&user.secret)) else {
            self.counts.unproved += 1;
            return;
        };
        // A retransmission does not restart the processing (RFC 5080 section 2.2.2).
        let same = |waiting: &&Waiting| waiting.request == request && waiting.from == from;
        if self.waiting.get(&name).filter(same).is_none() {
            let ready_at = now + user.processing;
            let waiting = Waiting {
                ready_at,
                from,
                request,
            };
            self.waiting.insert(name, waiting);
        }
        self.handle_timeout(now);
    }

    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout).
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.waiting.values().map(|waiting| waiting.ready_at).min()
    }

    /// Answers the requests whose processing has ended.
    pub fn handle_timeout(&mut self, now: Instant) {
        let (users, address, outbox) = (&self.users, self.address, &mut self.outbox);
        self.waiting.retain(|name, waiting| {
            if waiting.ready_at > now {
                return true;
            }
            if let Some(user) = users.get(name) {
                let code = if user.welcome {
                    Code::Accept
                } else {
                    Code::Reject
                };
                let answer = waiting.request.answer(code, &user.secret);
                outbox.push_back(datagram((address, waiting.from), PORT, answer.encode()));
            }
            false
        });
    }

    /// Returns the next packet to send, by the host's routes.
    pub fn poll_transmit(&mut self) -> Option<Packet> {
        pop(&mut self.outbox)
    }
}

impl Layer for AccessServer {
    fn rank(&self) -> Rank {
        Rank::AccessServer
    }

    fn input(&mut self, now: Instant, _arrival: Arrival, packet: Packet) -> Option<Packet> {
        self.handle_packet(now, packet)
    }

    fn poll_step(&mut self) -> Option<Step> {
        self.poll_transmit().map(Step::Forward)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        AccessServer::poll_timeout(self)
    }

    fn handle_timeout(&mut self, now: Instant) {
        AccessServer::handle_timeout(self, now);
    }

    fn counters(&self) -> Counters {
        let discarded = Discarded {
            messages: self.counts().unproved + self.counts().unexpected,
            ..Discarded::default()
        };
        Counters {
            discarded,
            ..Counters::default()
        }
    }
}
