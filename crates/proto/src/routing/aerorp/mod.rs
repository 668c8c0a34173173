//! AeroRP: geographic routing for nodes that fly fast (Jabbar and Sterbenz, ITC 2009; Peters et al., WCNC 2011).
//!
//! A node knows its own geolocation, its neighbours' from their beacons or from the headers of packets that it hears,
//! and that of the destination, which the destination floods. Between these it assumes straight flight. It hands a
//! datagram to the neighbour with the least [time to intercept](metric::rank) if that is less than its own, and keeps it
//! otherwise: it ferries the datagram, buffers it for a time, or drops it ([`Keeping`]).
//!
//! Not in the sources, and chosen: the distance decides between equal times to intercept, so that nodes that do not
//! approach hand over to a nearer one; a neighbour that the link layer cannot reach is forgotten, and its datagram is
//! routed anew. Left out: security, and advertisements of others' flight plans by the ground station.

pub mod metric;
#[cfg(test)]
mod tests;

use super::{Action, Datagram, DropReason, Frame, HOP_LIMIT, Router};
use crate::time::{Duration, Instant};
use crate::wire::aeronp::{AeronpHeader, Geolocation, Kind};
use core::net::Ipv4Addr;
use metric::{Rank, distance, rank};
use std::collections::{BTreeMap, VecDeque};

/// Interval of beacons. Chosen, as a public implementation for ns-3 has it.
pub const BEACON_INTERVAL: Duration = Duration::from_secs(1);
/// Time for which a neighbour is known after it was heard; from the same implementation.
pub const NEIGHBOUR_LIFETIME: Duration = Duration::from_secs(4);
/// Interval at which a destination floods its geolocation; from the same implementation.
pub const ADVERTISEMENT_INTERVAL: Duration = Duration::from_secs(5);
/// Time for which [`Keeping::Buffer`] keeps a datagram. Chosen: that of AODV's buffer, so that the two compare.
pub const BUFFER_TIME: Duration = super::aodv::BUFFER_TIME;
/// Most datagrams that [`Keeping::Buffer`] keeps; likewise.
pub const BUFFER_DATAGRAMS: usize = super::aodv::BUFFER_DATAGRAMS;

/// Treatment of a datagram for which no neighbour is better than the node itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeping {
    /// Kept until a better neighbour is met.
    Ferry,
    /// Kept for [`BUFFER_TIME`], at most [`BUFFER_DATAGRAMS`] of them.
    Buffer,
    /// Dropped.
    Drop,
}

/// Parameters of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AerorpConfig {
    /// The node.
    pub address: Ipv4Addr,
    /// Range of all nodes' radios in metres.
    pub range_m: f64,
    /// Treatment of datagrams without a better neighbour.
    pub keeping: Keeping,
    /// True if it sends beacons; otherwise its neighbours learn its geolocation from its packets alone.
    pub beacons: bool,
    /// True if it floods its geolocation, as a destination of datagrams.
    pub advertises: bool,
    /// Time of the first beacon or advertisement.
    pub begin: Instant,
}

/// Geolocation of another node.
#[derive(Clone, Copy, Debug)]
struct Sighting {
    geolocation: Geolocation,
    at: Instant,
}

impl Sighting {
    fn motion(&self, now: Instant) -> ([f64; 3], [f64; 3]) {
        let position = self.geolocation.position_m(now.saturating_since(self.at));
        (position, self.geolocation.velocity_m_s())
    }
}

#[derive(Debug)]
struct Kept<P> {
    datagram: Datagram<P>,
    until: Instant,
}

/// AeroRP of one node.
#[derive(Debug)]
pub struct Aerorp<P> {
    config: AerorpConfig,
    here: Geolocation,
    /// True while the node's queue is congested.
    is_congested: bool,
    neighbours: BTreeMap<Ipv4Addr, Sighting>,
    /// Nodes that have advertised themselves, with the number of the last advertisement.
    destinations: BTreeMap<Ipv4Addr, (u32, Sighting)>,
    kept: VecDeque<Kept<P>>,
    /// Number of its next advertisement.
    sequence: u32,
    next_beacon: Instant,
    next_advertisement: Instant,
    actions: VecDeque<Action<P>>,
}

impl<P> Aerorp<P> {
    /// Creates the router of a node that knows no other.
    pub fn new(config: AerorpConfig) -> Aerorp<P> {
        let begin_if = |does: bool| if does { config.begin } else { Instant::NEVER };
        Aerorp {
            here: Geolocation::default(),
            is_congested: false,
            neighbours: BTreeMap::new(),
            destinations: BTreeMap::new(),
            kept: VecDeque::new(),
            sequence: 0,
            next_beacon: begin_if(config.beacons),
            next_advertisement: begin_if(config.advertises),
            actions: VecDeque::new(),
            config,
        }
    }

    /// Routes a datagram: to a better neighbour, or as [`Keeping`] says.
    fn route(&mut self, now: Instant, datagram: Datagram<P>) {
        if let Some(next_hop) = self.next_hop(now, datagram.destination) {
            return self.forward(datagram, next_hop);
        }
        let until = match self.config.keeping {
            Keeping::Ferry => Instant::NEVER,
            Keeping::Buffer if self.kept.len() >= BUFFER_DATAGRAMS => {
                return self.drop(datagram, DropReason::Full);
            }
            Keeping::Buffer => now + BUFFER_TIME,
            Keeping::Drop => return self.drop(datagram, DropReason::NoRoute),
        };
        self.kept.push_back(Kept { datagram, until });
    }

    /// Returns the best neighbour for a destination, if it is better than this node.
    fn next_hop(&self, now: Instant, destination: Ipv4Addr) -> Option<Ipv4Addr> {
        let range_m = self.config.range_m;
        let own = (
            self.here.position_m(Duration::ZERO),
            self.here.velocity_m_s(),
        );
        let known = self.neighbours.iter();
        let fresh = known.filter(|(_, seen)| now < seen.at + NEIGHBOUR_LIFETIME);
        let near = fresh
            .map(|(&address, seen)| (address, seen.motion(now)))
            .filter(|(_, (position, _))| distance(own.0, *position) <= range_m);
        if near.clone().any(|(address, _)| address == destination) {
            return Some(destination);
        }
        let advertised = self.destinations.get(&destination).map(|(_, seen)| seen);
        let target = advertised.or(self.neighbours.get(&destination))?;
        let target = target.motion(now);
        let ranked = near.map(|(address, motion)| (rank(motion, target, range_m), address));
        let better = |a: &(Rank, Ipv4Addr), b: &(Rank, Ipv4Addr)| {
            a.partial_cmp(b).unwrap_or(core::cmp::Ordering::Equal)
        };
        let (best, address) = ranked.min_by(better)?;
        (best < rank(own, target, range_m)).then_some(address)
    }

    fn forward(&mut self, mut datagram: Datagram<P>, next_hop: Ipv4Addr) {
        datagram.congestion |= self.is_congested;
        let header = AeronpHeader {
            hop_limit: datagram.hop_limit,
            source: datagram.source,
            destination: datagram.destination,
            next_hop,
            congestion: datagram.congestion,
            corruption: datagram.corruption,
            priority: datagram.translated.map_or(0, |ip| ip.traffic_class >> 5),
            translated: datagram.translated,
            ..self.header(Kind::Data)
        };
        self.actions.push_back(Action::Send(Frame {
            receiver: Some(next_hop),
            message: encoded(&header),
            datagram: Some(datagram),
            is_damaged: false,
        }));
    }

    /// Returns a header of this node's, for all neighbours.
    fn header(&self, kind: Kind) -> AeronpHeader {
        AeronpHeader {
            kind,
            congestion: self.is_congested,
            corruption: false,
            priority: 0,
            hop_limit: 1,
            source: self.config.address,
            destination: Ipv4Addr::BROADCAST,
            next_hop: Ipv4Addr::BROADCAST,
            geolocation: Some(self.here),
            translated: None,
        }
    }

    fn drop(&mut self, datagram: Datagram<P>, reason: DropReason) {
        self.actions.push_back(Action::Drop(datagram, reason));
    }

    /// Gives up what it has kept for too long, and routes the rest again.
    fn route_kept(&mut self, now: Instant) {
        self.neighbours
            .retain(|_, seen| now < seen.at + NEIGHBOUR_LIFETIME);
        // Most are for the same destination.
        let mut next_hops = BTreeMap::new();
        for kept in core::mem::take(&mut self.kept) {
            let destination = kept.datagram.destination;
            let next_hop = next_hops.entry(destination);
            let next_hop = next_hop.or_insert_with(|| self.next_hop(now, destination));
            match *next_hop {
                _ if kept.until <= now => self.drop(kept.datagram, DropReason::NoRoute),
                Some(next_hop) => self.forward(kept.datagram, next_hop),
                None => self.kept.push_back(kept),
            }
        }
    }

    /// Takes in another node's advertisement, and passes it on once.
    fn handle_advertisement(&mut self, now: Instant, header: &AeronpHeader, body: &[u8]) {
        let source = header.source;
        let Some((number, rest)) = body.split_first_chunk::<4>() else {
            return;
        };
        let Ok(geolocation) = Geolocation::decode(rest) else {
            return;
        };
        let number = u32::from_be_bytes(*number);
        let known = self.destinations.get(&source);
        let is_news = known.is_none_or(|&(last, _)| number.wrapping_sub(last) as i32 > 0);
        if source == self.config.address || !is_news {
            return;
        }
        let sighting = Sighting {
            geolocation,
            at: now,
        };
        self.destinations.insert(source, (number, sighting));
        if header.hop_limit > 1 {
            let onward = AeronpHeader {
                hop_limit: header.hop_limit - 1,
                source,
                ..self.header(Kind::Advertisement)
            };
            let message = [encoded(&onward), body.to_vec()].concat();
            self.actions
                .push_back(Action::Send(Frame::broadcast(message)));
        }
    }

    fn advertise(&mut self) {
        let header = AeronpHeader {
            hop_limit: HOP_LIMIT,
            ..self.header(Kind::Advertisement)
        };
        let mut message = encoded(&header);
        message.extend_from_slice(&self.sequence.to_be_bytes());
        self.here.encode(&mut message);
        self.sequence = self.sequence.wrapping_add(1);
        self.actions
            .push_back(Action::Send(Frame::broadcast(message)));
    }

    fn learn(&mut self, now: Instant, from: Ipv4Addr, header: &AeronpHeader) {
        if let Some(geolocation) = header.geolocation {
            let sighting = Sighting {
                geolocation,
                at: now,
            };
            self.neighbours.insert(from, sighting);
        }
    }
}

fn encoded(header: &AeronpHeader) -> Vec<u8> {
    let mut message = Vec::new();
    header.encode(&mut message);
    message
}

impl<P: core::fmt::Debug> Router<P> for Aerorp<P> {
    fn locate(&mut self, here: Geolocation) {
        self.here = here;
    }

    fn reads_geolocation(&self) -> bool {
        true
    }

    fn note_queue(&mut self, is_congested: bool) {
        self.is_congested = is_congested;
    }

    fn send(&mut self, now: Instant, datagram: Datagram<P>) {
        self.route(now, datagram);
    }

    fn handle_frame(&mut self, now: Instant, from: Ipv4Addr, frame: Frame<P>) {
        let Ok((header, body)) = AeronpHeader::decode(&frame.message) else {
            return;
        };
        self.learn(now, from, &header);
        if header.kind == Kind::Advertisement {
            self.handle_advertisement(now, &header, body);
        }
        if let Some(mut datagram) = frame.datagram {
            datagram.congestion = header.congestion;
            datagram.corruption = header.corruption || frame.is_damaged;
            datagram.translated = header.translated;
            if datagram.destination == self.config.address {
                self.actions.push_back(Action::Deliver(datagram));
            } else if datagram.hop_limit <= 1 {
                self.drop(datagram, DropReason::HopLimit);
            } else {
                datagram.hop_limit -= 1;
                self.route(now, datagram);
            }
        }
        self.route_kept(now);
    }

    fn handle_overheard(&mut self, now: Instant, from: Ipv4Addr, message: &[u8]) {
        if let Ok((header, _)) = AeronpHeader::decode(message) {
            self.learn(now, from, &header);
            self.route_kept(now);
        }
    }

    fn handle_failure(&mut self, now: Instant, frame: Frame<P>) {
        if let Some(receiver) = frame.receiver {
            self.neighbours.remove(&receiver);
        }
        if let Some(datagram) = frame.datagram {
            self.route(now, datagram);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.next_beacon <= now {
            let beacon = encoded(&self.header(Kind::Beacon));
            self.actions
                .push_back(Action::Send(Frame::broadcast(beacon)));
            self.next_beacon = now + BEACON_INTERVAL;
        }
        if self.next_advertisement <= now {
            self.advertise();
            self.next_advertisement = now + ADVERTISEMENT_INTERVAL;
        }
        self.route_kept(now);
    }

    fn next_deadline(&self) -> Instant {
        // All are kept for the same time, so the first is the oldest.
        let kept = self.kept.front();
        let kept = kept.map_or(Instant::NEVER, |kept| kept.until);
        self.next_beacon.min(self.next_advertisement).min(kept)
    }

    fn poll(&mut self) -> Option<Action<P>> {
        self.actions.pop_front()
    }
}
