//! AODV: Ad hoc On-Demand Distance Vector routing (RFC 3561).
//!
//! A node that needs a route floods a request, in rings of growing size; the destination, or a node with a fresh route
//! to it, answers along the way back. Sequence numbers of the destinations keep routes free of loops. A broken link is
//! noticed by the link layer or by missing Hellos, and reported to the nodes whose routes it breaks.
//!
//! Left out, all optional: gratuitous replies, acknowledged replies and blacklists, local repair, multicast, subnets,
//! and actions after a reboot. Where the RFC leaves room for loops (Bhargavan, Obradovic and Gunter, "Formal verification
//! of standards for distance vector routing protocols", 2002; van Glabbeek et al., "Sequence numbers do not guarantee
//! loop freedom", 2013), a route that becomes invalid for any reason gets a later sequence number, also by the end of its
//! lifetime, and a node has no route to itself. A Route Error about a datagram without a route has the number of the
//! invalid route, which was raised at that time and is not raised for each datagram (section 6.11, case ii).

mod discovery;
pub mod messages;
mod table;
#[cfg(test)]
mod tests;

pub use table::Route;

use super::{Action, Datagram, DropReason, Frame, Router};
use crate::time::{Duration, Instant};
use core::net::Ipv4Addr;
use discovery::Discovery;
use messages::{Message, RouteReply, RouteRequest};
use std::collections::{BTreeMap, VecDeque};
use table::{Offer, Table, is_later};

/// Lifetime of a route that is used (section 10, as all constants here unless noted).
pub const ACTIVE_ROUTE_TIMEOUT: Duration = Duration::from_secs(3);
/// Lifetime of a route in a reply of its destination.
pub const MY_ROUTE_TIMEOUT: Duration = Duration::from_secs(6);
/// Interval of Hellos.
pub const HELLO_INTERVAL: Duration = Duration::from_secs(1);
/// Hellos that may be missed.
pub const ALLOWED_HELLO_LOSS: u64 = 2;
/// Estimate of the time that one hop takes.
pub const NODE_TRAVERSAL_TIME: Duration = Duration::from_millis(40);
/// Largest number of hops in the network.
pub const NET_DIAMETER: u8 = 35;
/// Time to the far end of the network and back.
pub const NET_TRAVERSAL_TIME: Duration =
    NODE_TRAVERSAL_TIME.saturating_mul(2 * NET_DIAMETER as u64);
/// Time for which a request is known.
pub const PATH_DISCOVERY_TIME: Duration = NET_TRAVERSAL_TIME.saturating_mul(2);
/// Time for which an invalid route is kept: 5 times the longer of [`ACTIVE_ROUTE_TIMEOUT`] and [`HELLO_INTERVAL`].
pub const DELETE_PERIOD: Duration = Duration::from_secs(15);
/// Most Route Errors of a node in a second.
pub const RERR_RATELIMIT: usize = 10;
/// Most datagrams that wait for a route. Chosen: ns-3's value.
pub const BUFFER_DATAGRAMS: usize = 64;
/// Time for which a datagram waits for a route. Chosen: ns-3's value.
pub const BUFFER_TIME: Duration = Duration::from_secs(30);

/// Silence after which a neighbour is gone.
const HELLO_LIFETIME: Duration = HELLO_INTERVAL.saturating_mul(ALLOWED_HELLO_LOSS);
const SECOND: Duration = Duration::from_secs(1);

/// AODV of one node.
#[derive(Debug)]
pub struct Aodv<P> {
    address: Ipv4Addr,
    table: Table,
    sequence: u32,
    request_id: u32,
    /// Requests handled, and the time to forget each.
    seen: BTreeMap<(Ipv4Addr, u32), Instant>,
    discovery: Discovery<P>,
    /// Times of the last Route Errors.
    errors: VecDeque<Instant>,
    /// Neighbours that send Hellos, and the time after which they are gone.
    neighbours: BTreeMap<Ipv4Addr, Instant>,
    next_hello: Instant,
    actions: VecDeque<Action<P>>,
}

impl<P> Aodv<P> {
    /// Creates the router of a node that knows no other; its first Hello may come at `begin`.
    pub fn new(address: Ipv4Addr, begin: Instant) -> Aodv<P> {
        Aodv {
            address,
            table: Table::default(),
            sequence: 0,
            request_id: 0,
            seen: BTreeMap::new(),
            discovery: Discovery::new(),
            errors: VecDeque::new(),
            neighbours: BTreeMap::new(),
            next_hello: begin,
            actions: VecDeque::new(),
        }
    }

    /// Returns the valid route to a destination.
    pub fn route(&self, destination: Ipv4Addr) -> Option<&Route> {
        self.table.valid(destination)
    }

    /// Sends a datagram over its route, which exists, and extends the routes in use (section 6.2).
    fn forward(&mut self, now: Instant, datagram: Datagram<P>, next_hop: Ipv4Addr) {
        for used in [datagram.source, datagram.destination, next_hop] {
            self.table.refresh(now, used);
        }
        self.actions.push_back(Action::Send(Frame {
            receiver: Some(next_hop),
            message: Vec::new(),
            datagram: Some(datagram),
            is_damaged: false,
        }));
    }

    /// Lets a datagram of this node wait for a route, and requests one if that is not under way.
    fn wait_for_route(&mut self, now: Instant, datagram: Datagram<P>) {
        let destination = datagram.destination;
        if let Some(refused) = self.discovery.wait(now, datagram) {
            self.actions
                .push_back(Action::Drop(refused, DropReason::Full));
        } else {
            let known = self.table.any(destination).map(|route| route.hop_count);
            self.discovery.begin(now, destination, known);
            self.request_routes(now);
        }
    }

    /// Sends the requests that are due.
    fn request_routes(&mut self, now: Instant) {
        let (requests, failed) = self.discovery.due(now);
        for datagram in failed {
            self.actions
                .push_back(Action::Drop(datagram, DropReason::NoRoute));
        }
        for (destination, time_to_live) in requests {
            self.sequence = self.sequence.wrapping_add(1);
            self.request_id = self.request_id.wrapping_add(1);
            let id = self.request_id;
            self.seen
                .insert((self.address, id), now + PATH_DISCOVERY_TIME);
            let known = self.table.any(destination);
            let request = RouteRequest {
                destination_only: false,
                hop_count: 0,
                id,
                destination,
                destination_sequence: known.and_then(|route| route.sequence),
                originator: self.address,
                originator_sequence: self.sequence,
            };
            self.broadcast(now, &Message::Request(request), time_to_live);
        }
    }

    fn broadcast(&mut self, now: Instant, message: &Message, time_to_live: u8) {
        // Any broadcast stands for a Hello (section 6.9).
        self.next_hello = self.next_hello.max(now + HELLO_INTERVAL);
        let message = message.encode(time_to_live);
        self.actions
            .push_back(Action::Send(Frame::broadcast(message)));
    }

    /// Takes in a Route Request (section 6.5).
    fn handle_request(
        &mut self,
        now: Instant,
        from: Ipv4Addr,
        request: RouteRequest,
        time_to_live: u8,
    ) {
        let key = (request.originator, request.id);
        if request.originator == self.address || self.seen.contains_key(&key) {
            return;
        }
        self.seen.insert(key, now + PATH_DISCOVERY_TIME);
        let hop_count = request.hop_count.saturating_add(1);
        let back = NODE_TRAVERSAL_TIME.saturating_mul(2 * u64::from(hop_count));
        self.table.update(Offer {
            destination: request.originator,
            sequence: Some(request.originator_sequence),
            hop_count,
            next_hop: from,
            expires: now + NET_TRAVERSAL_TIME.saturating_mul(2).saturating_sub(back),
        });
        let wanted = request.destination_sequence;
        if request.destination == self.address {
            // The number in the request may be one that another node has raised (section 6.6.1).
            self.sequence = match wanted {
                Some(wanted) if is_later(wanted, self.sequence) => wanted,
                _ => self.sequence,
            };
            let lifetime = MY_ROUTE_TIMEOUT;
            return self.reply(&request, (0, self.sequence, lifetime));
        }
        let known = self.table.valid(request.destination);
        let fresh = known.and_then(|route| Some((route, route.sequence?)));
        let fresh = fresh.filter(|(_, own)| wanted.is_none_or(|wanted| !is_later(wanted, *own)));
        if let Some((route, sequence)) = fresh.filter(|_| !request.destination_only) {
            let lifetime = route.expires.saturating_since(now);
            let (hops, onward) = (route.hop_count, route.next_hop);
            self.table.add_precursor(request.destination, from);
            self.table.add_precursor(request.originator, onward);
            return self.reply(&request, (hops, sequence, lifetime));
        }
        if time_to_live > 1 {
            let own = self
                .table
                .any(request.destination)
                .and_then(|route| route.sequence);
            let latest = match (wanted, own) {
                (Some(wanted), Some(own)) if is_later(own, wanted) => Some(own),
                (wanted, own) => wanted.or(own),
            };
            let onward = RouteRequest {
                hop_count,
                destination_sequence: latest,
                ..request
            };
            self.broadcast(now, &Message::Request(onward), time_to_live - 1);
        }
    }

    /// Answers a request along the way back, with the hops, sequence number and lifetime of the route.
    fn reply(
        &mut self,
        request: &RouteRequest,
        (hop_count, sequence, lifetime): (u8, u32, Duration),
    ) {
        let Some(back) = self.table.valid(request.originator) else {
            return;
        };
        let reply = Message::Reply(RouteReply {
            hop_count,
            destination: request.destination,
            destination_sequence: sequence,
            originator: request.originator,
            lifetime_ms: u32::try_from(lifetime.as_nanos() / 1_000_000).unwrap_or(u32::MAX),
        });
        let frame = Frame::unicast(back.next_hop, reply.encode(NET_DIAMETER));
        self.actions.push_back(Action::Send(frame));
    }

    /// Takes in a Route Reply (section 6.7) with its time to live, or a Hello (section 6.9).
    fn handle_reply(
        &mut self,
        now: Instant,
        from: Ipv4Addr,
        reply: RouteReply,
        time_to_live: Option<u8>,
    ) {
        if reply.destination == self.address {
            return;
        }
        let hop_count = reply.hop_count.saturating_add(1);
        let lifetime = Duration::from_millis(reply.lifetime_ms.into());
        self.table.update(Offer {
            destination: reply.destination,
            sequence: Some(reply.destination_sequence),
            hop_count,
            next_hop: from,
            expires: now + lifetime,
        });
        match time_to_live {
            None => drop(self.neighbours.insert(from, now + lifetime)),
            Some(time_to_live) if reply.originator != self.address => {
                // It passes on the route that it has; a neighbour's may be its own already.
                let own = self.table.valid(reply.destination);
                if own.is_some_and(|own| own.next_hop == from) {
                    self.pass_reply_on(now, from, reply, (hop_count, time_to_live));
                }
            }
            Some(_) => {}
        }
    }

    /// Forwards a reply towards its originator.
    fn pass_reply_on(
        &mut self,
        now: Instant,
        from: Ipv4Addr,
        reply: RouteReply,
        (hop_count, time_to_live): (u8, u8),
    ) {
        let Some(back) = self.table.valid(reply.originator) else {
            return;
        };
        let next = back.next_hop;
        if time_to_live <= 1 {
            return;
        }
        self.table.add_precursor(reply.destination, next);
        self.table.add_precursor(from, next);
        self.table.add_precursor(reply.originator, from);
        self.table.refresh(now, reply.originator);
        let onward = Message::Reply(RouteReply { hop_count, ..reply });
        let frame = Frame::unicast(next, onward.encode(time_to_live - 1));
        self.actions.push_back(Action::Send(frame));
    }

    /// Reports broken routes to the neighbours that use them (section 6.11).
    fn report(&mut self, now: Instant, broken: Vec<(Ipv4Addr, Route)>) {
        let mut used = broken;
        used.retain(|(_, route)| !route.precursors.is_empty());
        let mut told = used.iter().flat_map(|(_, route)| &route.precursors);
        let Some(&first) = told.next() else {
            return;
        };
        let is_one = told.all(|&other| other == first);
        let unreachable: Vec<(Ipv4Addr, u32)> = used
            .iter()
            .map(|(node, route)| (*node, route.sequence.unwrap_or(0)))
            .collect();
        self.send_error(now, is_one.then_some(first), &unreachable);
    }

    /// Sends a Route Error, unless there were too many in the last second.
    fn send_error(&mut self, now: Instant, to: Option<Ipv4Addr>, unreachable: &[(Ipv4Addr, u32)]) {
        while self.errors.front().is_some_and(|&at| at + SECOND <= now) {
            self.errors.pop_front();
        }
        for part in unreachable.chunks(255) {
            if self.errors.len() >= RERR_RATELIMIT {
                return;
            }
            self.errors.push_back(now);
            let message = Message::Error(part.to_vec());
            match to {
                Some(to) => {
                    let frame = Frame::unicast(to, message.encode(1));
                    self.actions.push_back(Action::Send(frame));
                }
                None => self.broadcast(now, &message, 1),
            }
        }
    }

    /// Takes in a datagram of another node.
    fn handle_datagram(&mut self, now: Instant, from: Ipv4Addr, mut datagram: Datagram<P>) {
        self.table.refresh(now, from);
        if datagram.destination == self.address {
            self.table.refresh(now, datagram.source);
            return self.actions.push_back(Action::Deliver(datagram));
        }
        if datagram.hop_limit <= 1 {
            return self
                .actions
                .push_back(Action::Drop(datagram, DropReason::HopLimit));
        }
        datagram.hop_limit -= 1;
        let destination = datagram.destination;
        if let Some(route) = self.table.valid(destination) {
            let next_hop = route.next_hop;
            return self.forward(now, datagram, next_hop);
        }
        let known = self.table.any(destination);
        let sequence = known.and_then(|route| route.sequence).unwrap_or(0);
        self.send_error(now, Some(from), &[(destination, sequence)]);
        self.actions
            .push_back(Action::Drop(datagram, DropReason::NoRoute));
    }

    /// Notes that the link to a neighbour is broken.
    fn lose(&mut self, now: Instant, neighbour: Ipv4Addr) {
        self.neighbours.remove(&neighbour);
        let broken = self.table.break_link(now, neighbour);
        self.report(now, broken);
    }

    /// Sends the datagrams that now have a route.
    fn send_waiting(&mut self, now: Instant) {
        let table = &self.table;
        let ready = self
            .discovery
            .take(|destination| table.valid(destination).is_some());
        for datagram in ready {
            if let Some(route) = self.table.valid(datagram.destination) {
                let next_hop = route.next_hop;
                self.forward(now, datagram, next_hop);
            }
        }
    }

    fn expire(&mut self, now: Instant) {
        self.table.expire(now);
        self.seen.retain(|_, until| *until > now);
        let gone: Vec<Ipv4Addr> = self
            .neighbours
            .iter()
            .filter(|(_, until)| **until <= now)
            .map(|(&node, _)| node)
            .collect();
        for neighbour in gone {
            self.lose(now, neighbour);
        }
        for datagram in self.discovery.expire(now) {
            self.actions
                .push_back(Action::Drop(datagram, DropReason::NoRoute));
        }
    }
}

impl<P: core::fmt::Debug> Router<P> for Aodv<P> {
    fn send(&mut self, now: Instant, datagram: Datagram<P>) {
        self.expire(now);
        match self.table.valid(datagram.destination) {
            Some(route) => {
                let next_hop = route.next_hop;
                self.forward(now, datagram, next_hop);
            }
            None => self.wait_for_route(now, datagram),
        }
    }

    fn handle_frame(&mut self, now: Instant, from: Ipv4Addr, frame: Frame<P>) {
        self.expire(now);
        if let Some(until) = self.neighbours.get_mut(&from) {
            *until = (*until).max(now + HELLO_LIFETIME);
        }
        if let Some(datagram) = frame.datagram {
            return self.handle_datagram(now, from, datagram);
        }
        let Ok((message, time_to_live)) = Message::decode(&frame.message) else {
            return;
        };
        // A message makes its sender a neighbour (sections 6.5 and 6.7).
        self.table.update(Offer {
            destination: from,
            sequence: None,
            hop_count: 1,
            next_hop: from,
            expires: now + ACTIVE_ROUTE_TIMEOUT,
        });
        match message {
            Message::Request(request) => self.handle_request(now, from, request, time_to_live),
            Message::Reply(reply) => {
                let time_to_live = frame.receiver.map(|_| time_to_live);
                self.handle_reply(now, from, reply, time_to_live);
            }
            Message::Error(unreachable) => {
                let broken = self.table.take_error(now, from, &unreachable);
                self.report(now, broken);
            }
        }
        self.send_waiting(now);
    }

    fn handle_failure(&mut self, now: Instant, frame: Frame<P>) {
        if let Some(receiver) = frame.receiver {
            self.lose(now, receiver);
        }
        let Some(datagram) = frame.datagram else {
            return;
        };
        if datagram.source == self.address {
            self.send(now, datagram);
        } else {
            self.actions
                .push_back(Action::Drop(datagram, DropReason::NoRoute));
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.expire(now);
        self.request_routes(now);
        if self.next_hello <= now {
            self.next_hello = now + HELLO_INTERVAL;
            if self.table.has_active() {
                let hello = Message::Reply(RouteReply {
                    hop_count: 0,
                    destination: self.address,
                    destination_sequence: self.sequence,
                    originator: self.address,
                    lifetime_ms: (HELLO_LIFETIME.as_nanos() / 1_000_000) as u32,
                });
                self.broadcast(now, &hello, 1);
            }
        }
    }

    fn next_deadline(&self) -> Instant {
        let neighbours = self.neighbours.values().min().copied();
        let neighbours = neighbours.unwrap_or(Instant::NEVER);
        let table = self.table.next_expiry();
        let discovery = self.discovery.next_deadline();
        self.next_hello.min(neighbours).min(table).min(discovery)
    }

    fn poll(&mut self) -> Option<Action<P>> {
        self.actions.pop_front()
    }
}
