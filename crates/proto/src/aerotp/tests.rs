//! Two ends and a channel between them that can do what channels do. Every packet goes through its bytes.

mod goodput;
mod hostile;
mod losses;
mod modes;
mod paths;
mod survival;
mod timelines;

use super::*;
use crate::packet::{BitErrors, Body, IpHeader, Packet};
use crate::rate::DataRate;
use crate::time::{Duration, Instant};
use crate::wire::aerotp::Mode;
use crate::wire::sequence::SequenceNumber;
use core::net::Ipv4Addr;
use std::collections::BTreeMap;

pub(super) const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
pub(super) const THERE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));
pub(super) const MTU: u32 = 1500;

/// A small generator of its own, for channels (SplitMix64).
#[derive(Clone, Debug)]
pub(super) struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Uniform over (0, 1].
    pub fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}

/// One direction of a link.
pub(super) struct Wire {
    pub rate: DataRate,
    pub delay: Duration,
    pub free_at: Instant,
    pub bit_error_rate: f64,
    /// True if the IP header is hit, too.
    pub hits_ip: bool,
    pub loss: f64,
    pub duplication: f64,
    pub jitter: Duration,
    /// Nothing passes from the first to the second of these moments.
    pub outages: Vec<(Instant, Instant)>,
    pub random: Random,
    /// Packets with data that were lost.
    pub lost: u64,
}

impl Wire {
    pub fn new(bits_per_second: u64, delay: Duration, seed: u64) -> Wire {
        Wire {
            rate: DataRate::from_bits_per_second(bits_per_second),
            delay,
            free_at: Instant::ZERO,
            bit_error_rate: 0.0,
            hits_ip: true,
            loss: 0.0,
            duplication: 0.0,
            jitter: Duration::ZERO,
            outages: Vec::new(),
            random: Random(seed),
            lost: 0,
        }
    }

    fn flips(&mut self, bits: u32, header_bits: u32) -> Vec<u32> {
        let mut flipped = Vec::new();
        if self.bit_error_rate <= 0.0 {
            return flipped;
        }
        let mut position = 0.0;
        loop {
            position += (self.random.unit().ln() / (-self.bit_error_rate).ln_1p()).floor();
            if position >= f64::from(bits) {
                return flipped;
            }
            if self.hits_ip || position >= f64::from(header_bits) {
                flipped.push(position as u32);
            }
            position += 1.0;
        }
    }

    fn fate(&mut self, now: Instant, packet: &Packet) -> Vec<(Instant, Vec<u32>)> {
        let bits = packet.wire_length() * 8;
        let start = self.free_at.max(now);
        self.free_at = start + self.rate.transmission_time(u64::from(bits)).unwrap();
        let arrival = self.free_at + self.delay;
        let out = self
            .outages
            .iter()
            .any(|&(from, to)| from <= self.free_at && self.free_at < to);
        if out || self.random.unit() <= self.loss {
            self.lost += u64::from(packet.view().payload_bytes > 0);
            return Vec::new();
        }
        let copies = if self.random.unit() <= self.duplication {
            2
        } else {
            1
        };
        (0..copies)
            .map(|_| {
                let late = (self.jitter.as_nanos() as f64 * self.random.unit()) as u64;
                let flips = self.flips(bits, packet.ip.wire_length() * 8);
                (arrival + Duration::from_nanos(late), flips)
            })
            .collect()
    }
}

/// An end of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    A,
    B,
}

/// Two ends and the wires between them; A opens.
pub(super) struct Pair {
    pub now: Instant,
    pub a: Connection,
    pub b: Option<Connection>,
    pub configuration: Configuration,
    pub wires: [Wire; 2],
    /// Packets that are lost, by their numbers as they are sent.
    pub lose: Vec<usize>,
    pub sent: usize,
    /// Other wires, for packets to or from these addresses.
    pub others: Vec<(IpAddr, [Wire; 2])>,
    flying: BTreeMap<(Instant, u64), (End, Packet)>,
    number: u64,
    pub log: Vec<(Instant, End, Packet)>,
    pub events: [Vec<(Instant, Event)>; 2],
    pub read: [Vec<Received>; 2],
    /// Bytes read at each end, and when the first came after a moment that a test asks about.
    pub read_bytes: [u64; 2],
    pub arrivals: Vec<(Instant, u64)>,
    pub keeps: bool,
}

pub(super) fn identity(local: u16, remote: u16) -> Identity {
    Identity {
        local_port: local,
        remote_port: remote,
        // So that sequence numbers wrap early.
        initial: SequenceNumber(0xFFFF_F000),
        token: 0x5EED_0000 | u32::from(local),
    }
}

impl Pair {
    pub fn new(configuration: Configuration, wires: [Wire; 2]) -> Pair {
        let a = Connection::connect(
            Instant::ZERO,
            configuration.clone(),
            identity(1000, 2000),
            (HERE, THERE),
            MTU,
        );
        Pair {
            now: Instant::ZERO,
            a,
            b: None,
            configuration,
            wires,
            lose: Vec::new(),
            sent: 0,
            others: Vec::new(),
            flying: BTreeMap::new(),
            number: 0,
            log: Vec::new(),
            events: [Vec::new(), Vec::new()],
            read: [Vec::new(), Vec::new()],
            read_bytes: [0; 2],
            arrivals: Vec::new(),
            keeps: true,
        }
    }

    fn send(&mut self, end: End, sent: Transmission) {
        let ip = IpHeader {
            source: sent.addresses.0,
            destination: sent.addresses.1,
            hop_limit: 64,
            traffic_class: 0,
            identification: 0,
            dont_fragment: true,
        };
        let packet = Packet {
            ip,
            flow: None,
            retransmission: sent.retransmission,
            bit_errors: BitErrors::NONE,
            identity: crate::packet::Identity::NONE,
            body: Body::Aerotp(Box::new(sent.packet)),
        };
        assert!(
            packet.wire_length() <= MTU,
            "{} bytes",
            packet.wire_length()
        );
        if self.keeps {
            self.log.push((self.now, end, packet.clone()));
        }
        self.sent += 1;
        if self.lose.contains(&(self.sent - 1)) {
            return;
        }
        let ends = [packet.ip.source, packet.ip.destination];
        let mut others = self.others.iter_mut();
        let wires = match others.find(|(address, _)| ends.contains(address)) {
            Some((_, wires)) => wires,
            None => &mut self.wires,
        };
        for (at, flips) in wires[end as usize].fate(self.now, &packet) {
            let mut copy = packet.clone();
            copy.bit_errors = flips.into();
            self.number += 1;
            self.flying.insert((at, self.number), (end, copy));
        }
    }

    /// Lets both ends say and send what they have.
    pub fn drain(&mut self) {
        loop {
            let mut idle = true;
            for end in [End::A, End::B] {
                let connection = match end {
                    End::A => Some(&mut self.a),
                    End::B => self.b.as_mut(),
                };
                let Some(connection) = connection else {
                    continue;
                };
                while let Some(event) = connection.poll_event() {
                    self.events[end as usize].push((self.now, event));
                }
                while let Some(read) = connection.read(self.now, u64::MAX) {
                    self.read_bytes[end as usize] += u64::from(read.payload.length());
                    if end == End::B {
                        self.arrivals.push((self.now, self.read_bytes[1]));
                    }
                    if self.keeps {
                        self.read[end as usize].push(read);
                    }
                }
                if let Some(sent) = connection.poll_transmit(self.now) {
                    idle = false;
                    self.send(end, sent);
                }
            }
            if idle {
                return;
            }
        }
    }

    fn deliver(&mut self, from: End, packet: Packet) {
        let Ok(packet) = packet.apply_bit_errors() else {
            return;
        };
        let Body::Aerotp(body) = packet.body else {
            return;
        };
        let addresses = (packet.ip.source, packet.ip.destination);
        match from {
            End::A => {
                if self.b.is_none() && body.header.opening.is_some() {
                    let header = &body.header;
                    let identity = identity(header.destination_port, header.source_port);
                    let mut configuration = self.configuration.clone();
                    configuration.mode = header.mode;
                    let ends = (addresses.1, addresses.0);
                    let accepted = Connection::accept(self.now, configuration, identity, ends, MTU);
                    self.b = Some(accepted);
                }
                if let Some(b) = &mut self.b {
                    b.handle_packet(self.now, addresses, *body);
                }
            }
            End::B => self.a.handle_packet(self.now, addresses, *body),
        }
    }

    /// Runs until `until`, or until nothing is left to happen.
    pub fn run(&mut self, until: Instant) {
        self.drain();
        let mut stuck = 0;
        loop {
            let packet = self.flying.first_key_value().map(|(&(at, _), _)| at);
            let a = self.a.poll_timeout();
            let b = self.b.as_ref().and_then(Connection::poll_timeout);
            let Some(next) = [packet, a, b].into_iter().flatten().min() else {
                break;
            };
            if next > until {
                break;
            }
            stuck = if next > self.now { 0 } else { stuck + 1 };
            assert!(
                stuck < 10_000,
                "no time passes at {:?}: {:?}\n{:?}",
                self.now,
                [packet, a, b],
                self.a
            );
            self.now = self.now.max(next);
            if packet == Some(next) {
                let (_, (from, packet)) = self.flying.pop_first().unwrap();
                self.deliver(from, packet);
            }
            self.a.handle_timeout(self.now);
            if let Some(b) = &mut self.b {
                b.handle_timeout(self.now);
            }
            self.drain();
        }
        self.now = self.now.max(until.min(Instant::from_nanos(u64::MAX / 2)));
    }

    pub fn seconds(&mut self, seconds: f64) {
        self.run(Instant::from_nanos((seconds * 1e9) as u64));
    }

    pub fn write(&mut self, bytes: u64) {
        let payload = Payload::Pattern {
            stream: 7,
            offset: self.a_written(),
            length: bytes as u32,
        };
        assert_eq!(self.a.write(&payload), bytes);
    }

    pub fn a_written(&self) -> u64 {
        self.a.acknowledged() + self.a.held()
    }

    /// Asserts that B has read the bytes that A has written, from the first on.
    pub fn assert_read(&self, bytes: u64) {
        let mut position = 0;
        for read in &self.read[1] {
            let mut there = Vec::new();
            read.payload.copy_into(&mut there);
            for byte in there {
                assert_eq!(
                    byte,
                    crate::packet::pattern_byte(7, position),
                    "at {position}"
                );
                position += 1;
            }
        }
        assert_eq!(position, bytes);
    }

    pub fn saw(&self, end: End, event: Event) -> bool {
        self.events[end as usize]
            .iter()
            .any(|(_, seen)| *seen == event)
    }
}

/// The study's path: 5 Mbit/s, 10 ms.
pub(super) fn study_path(bit_error_rate: f64, seed: u64) -> [Wire; 2] {
    [0, 1].map(|direction| {
        let mut wire = Wire::new(
            5_000_000,
            Duration::from_millis(10),
            seed.wrapping_mul(2) + direction,
        );
        wire.bit_error_rate = bit_error_rate;
        wire
    })
}

pub(super) fn with_mode(mode: Mode) -> Configuration {
    let mut configuration = Configuration::new(DataRate::from_bits_per_second(5_000_000));
    configuration.mode = mode;
    configuration
}
