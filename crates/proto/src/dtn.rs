//! A node of a delay-tolerant network: bundles of an application's records to one other node, with custody.
//!
//! The node keeps each bundle until the other has taken custody of it, by bundle-in-bundle encapsulation
//! ([`crate::wire::bundle`]): a bundle without a custody signal is sent again when its custody timer expires, with a new
//! transmission ID, so that each signal says which transmission it answers. A bundle fits one UDP datagram (RFC 7122).
//! The link's owner sets its rate: a node sends at the rate of its link, which is UDP's only congestion control here.
//! While the link is down, timers rest and bundles wait, up to the storage's capacity and each bundle's lifetime.

mod custody;
mod envelope;
mod ranges;
mod reception;
mod record;
mod round_trip;
#[cfg(test)]
mod tests;

pub use ranges::Ranges;
pub use record::{Content, Record, StreamId};

use crate::interface::InterfaceId;
use crate::packet::FlowId;
use crate::rate::DataRate;
use crate::time::{Duration, Instant};
use crate::wire::bundle::{AdministrativeRecord, CustodySignal};
use custody::Custody;
use reception::Reception;
use round_trip::RoundTrip;

/// Most bytes of a datagram's payload before there has been a path: IPv6 and UDP in the smallest MTU of IPv6 (RFC 8200
/// section 5).
const FIRST_DATAGRAM: usize = 1_280 - 48;

/// Identity of a node, and its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// Number of this node: its endpoints are `ipn:node.0` and `ipn:node.1`.
    pub node: u64,
    /// Number of the other node.
    pub peer: u64,
    /// DTN time at [`Instant::ZERO`]: milliseconds since the beginning of the year 2000.
    pub epoch_ms: u64,
    /// Time from a bundle's creation to its expiry.
    pub lifetime: Duration,
    /// Most bytes of data in custody, and most that wait at the receiver to be delivered.
    pub storage: u64,
}

/// Path to the other node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// The interface.
    pub interface: InterfaceId,
    /// Rate of IP packets; `None` if it is unknown: bundles then leave at once.
    pub rate: Option<DataRate>,
    /// Shortest round-trip time.
    pub round_trip: Duration,
    /// Most bytes of a datagram's payload.
    pub datagram: usize,
    /// Bytes of headers around it.
    pub headers: u32,
}

/// A datagram to the other node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Payload of the datagram: a bundle.
    pub bytes: Vec<u8>,
    /// Flow of the record in it, if it has one.
    pub flow: Option<FlowId>,
    /// True for a bundle sent before.
    pub retransmission: bool,
}

/// Counters of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Bundles taken into custody here.
    pub kept: u64,
    /// Bundles of which the other node has taken custody.
    pub released: u64,
    /// Bundles deleted at the end of their lifetime.
    pub expired: u64,
    /// Bundles deleted because their stream was reset.
    pub abandoned: u64,
    /// Retransmissions.
    pub retransmitted: u64,
    /// Bundles received again.
    pub duplicates: u64,
    /// Bundles refused for want of room.
    pub refused: u64,
    /// Bytes of their data.
    pub refused_bytes: u64,
    /// Datagrams that were not bundles from the other node.
    pub malformed: u64,
    /// Most bytes of data in custody at once.
    pub most_bytes: u64,
}

/// One of two nodes that exchange bundles.
#[derive(Debug)]
pub struct Node {
    configuration: Configuration,
    path: Option<Path>,
    /// Most bytes of a datagram's payload on the latest path.
    datagram: usize,
    /// Time from which the link is free for another datagram.
    free_at: Instant,
    round_trip: RoundTrip,
    custody: Custody,
    reception: Reception,
    counts: Counts,
}

impl Node {
    /// Creates a node without a path.
    pub fn new(configuration: Configuration) -> Node {
        Node {
            configuration,
            path: None,
            datagram: FIRST_DATAGRAM,
            free_at: Instant::ZERO,
            round_trip: RoundTrip::begin(Instant::ZERO, Duration::ZERO),
            custody: Custody::default(),
            reception: Reception::default(),
            counts: Counts::default(),
        }
    }

    /// Returns the counters.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns the number of bytes of data that can be taken into custody.
    pub fn room(&self) -> u64 {
        self.configuration
            .storage
            .saturating_sub(self.custody.bytes())
    }

    /// Returns the number of bytes of data in custody.
    pub fn held(&self) -> u64 {
        self.custody.bytes()
    }

    /// Takes custody of a record. Data beyond [`room`](Self::room) is the caller's mistake, and is kept all the same; it
    /// is split into bundles that fit the path, and joins the stream's last bundle that has not left.
    pub fn keep(&mut self, now: Instant, record: Record, flow: Option<FlowId>) {
        let most = self.datagram.saturating_sub(self.configuration.overhead());
        self.counts.kept += self.custody.keep(now, record, flow, most.max(1));
        self.counts.most_bytes = self.counts.most_bytes.max(self.custody.bytes());
    }

    /// Deletes the bundles of a stream.
    pub fn abandon(&mut self, stream: StreamId) {
        self.counts.abandoned += self.custody.abandon(stream);
    }

    /// Returns the next stream of which a bundle has expired.
    pub fn poll_expired(&mut self) -> Option<StreamId> {
        self.custody.poll_expired()
    }

    /// Takes note of the path to the other node; `None` while there is none. A path by another interface, or one that is
    /// there again, gives all bundles on their way a new custody timer.
    pub fn set_path(&mut self, now: Instant, path: Option<Path>) {
        let by = |path: Option<Path>| path.map(|path| path.interface);
        let is_new = by(path) != by(self.path);
        self.path = path;
        self.datagram = path.map_or(self.datagram, |path| path.datagram);
        if !is_new {
            return;
        }
        self.free_at = now;
        if let Some(path) = path {
            self.round_trip = RoundTrip::begin(now, path.round_trip);
            self.custody.restart_timers(now + self.round_trip.timeout());
        } else {
            self.custody.stop_timers();
        }
    }

    /// Takes in a datagram's payload. Returns the record in its bundle, if it is new and `admit` is true for it; else
    /// the node does not take custody.
    pub fn handle_datagram(
        &mut self,
        now: Instant,
        bytes: &[u8],
        admit: impl FnOnce(&Record) -> bool,
    ) -> Option<Record> {
        let Some(record) = self.configuration.read(bytes) else {
            self.counts.malformed += 1;
            return None;
        };
        match record {
            AdministrativeRecord::CustodySignal(signal) => {
                let timing = (now, &mut self.round_trip);
                self.counts.released += self.custody.handle_signal(timing, &signal);
                None
            }
            AdministrativeRecord::Encapsulated(unit) => {
                let Some((created, record)) = self.configuration.read_encapsulated(&unit.bundle)
                else {
                    self.counts.malformed += 1;
                    return None;
                };
                if self.configuration.is_expired(now, created) {
                    return None;
                }
                let arrived = (unit.transmission, created.sequence);
                let counts = &mut self.counts;
                self.reception.take(now, arrived, record, admit, counts)
            }
        }
    }

    /// Returns the next datagram to send.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Datagram> {
        let path = self.path?;
        if now < self.free_at {
            return None;
        }
        let datagram = match self.reception.poll_signal(now) {
            Some(signal) => self.signal(now, signal),
            None => self.next_bundle(now)?,
        };
        let length = datagram.bytes.len() as u64 + u64::from(path.headers);
        let time = path
            .rate
            .and_then(|rate| rate.transmission_time(length * 8));
        self.free_at = now + time.unwrap_or(Duration::ZERO);
        Some(datagram)
    }

    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout) or [`poll_transmit`](Self::poll_transmit).
    pub fn poll_timeout(&self) -> Option<Instant> {
        let expiry = self
            .custody
            .oldest()
            .map(|taken| taken + self.configuration.lifetime);
        let signal = self.reception.signal_at().filter(|_| self.path.is_some());
        let leaves = (self.path.is_some() && self.custody.has_waiting()).then_some(self.free_at);
        let timer = self.custody.next_timer();
        let all = [expiry, signal.map(|at| at.max(self.free_at)), leaves, timer];
        all.into_iter().flatten().min()
    }

    /// Performs the actions due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.custody.handle_timers(now);
        let lifetime = self.configuration.lifetime;
        self.counts.expired += self.custody.expire(now, lifetime);
    }

    fn next_bundle(&mut self, now: Instant) -> Option<Datagram> {
        let deadline = now + self.round_trip.timeout();
        let leaving = self.custody.next(now, deadline)?;
        self.counts.retransmitted += u64::from(leaving.retransmission);
        Some(Datagram {
            bytes: self.configuration.encapsulate(now, &leaving, deadline),
            flow: leaving.flow,
            retransmission: leaving.retransmission,
        })
    }

    fn signal(&self, now: Instant, signal: CustodySignal) -> Datagram {
        let record = AdministrativeRecord::CustodySignal(signal);
        let number = self.reception.signals();
        Datagram {
            bytes: self.configuration.administrative(now, number, &record),
            flow: None,
            retransmission: false,
        }
    }
}
