//! Two ends of a connection and the links between them.

use super::*;
use crate::testing::{Machines, Net, Wires};

/// An end of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    A,
    B,
}

/// Two ends and the links between them; A opens.
pub(super) struct Ends {
    pub a: Connection,
    pub b: Option<Connection>,
    pub configuration: Configuration,
    pub links: [Link; 2],
    /// Packets that are lost, by their numbers as they are sent.
    pub lose: Vec<usize>,
    pub sent: usize,
    /// Other links, for packets to or from these addresses.
    pub others: Vec<(IpAddr, [Link; 2])>,
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

pub(super) type Pair = Net<Ends>;

impl Pair {
    pub(super) fn new(configuration: Configuration, links: [Link; 2]) -> Pair {
        let a = Connection::connect(
            Instant::ZERO,
            configuration.clone(),
            identity(1000, 2000),
            (HERE, THERE),
            MTU,
        );
        Net::of(Ends {
            a,
            b: None,
            configuration,
            links,
            lose: Vec::new(),
            sent: 0,
            others: Vec::new(),
            log: Vec::new(),
            events: [Vec::new(), Vec::new()],
            read: [Vec::new(), Vec::new()],
            read_bytes: [0; 2],
            arrivals: Vec::new(),
            keeps: true,
        })
    }

    /// Runs until this many seconds.
    pub(super) fn seconds(&mut self, seconds: f64) {
        self.run_until(Instant::from_nanos((seconds * 1e9) as u64));
    }
}

impl Ends {
    fn send(&mut self, end: End, sent: Transmission, wires: &mut Wires<(End, Packet)>) {
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
            self.log.push((wires.now(), end, packet.clone()));
        }
        self.sent += 1;
        if self.lose.contains(&(self.sent - 1)) {
            return;
        }
        let ends = [packet.ip.source, packet.ip.destination];
        let mut others = self.others.iter_mut();
        let links = match others.find(|(address, _)| ends.contains(address)) {
            Some((_, links)) => links,
            None => &mut self.links,
        };
        for (delay, flips) in links[end as usize].fate(wires.now(), &packet) {
            let mut copy = packet.clone();
            copy.bit_errors = flips.into();
            wires.send((end, copy), delay);
        }
    }

    /// Reads and sends what an end has; returns true if it sent a packet.
    fn drain(&mut self, end: End, wires: &mut Wires<(End, Packet)>) -> bool {
        let connection = match end {
            End::A => Some(&mut self.a),
            End::B => self.b.as_mut(),
        };
        let Some(connection) = connection else {
            return false;
        };
        let now = wires.now();
        while let Some(event) = connection.poll_event() {
            self.events[end as usize].push((now, event));
        }
        while let Some(read) = connection.read(now, u64::MAX) {
            self.read_bytes[end as usize] += u64::from(read.payload.length());
            if end == End::B {
                self.arrivals.push((now, self.read_bytes[1]));
            }
            if self.keeps {
                self.read[end as usize].push(read);
            }
        }
        let sent = connection.poll_transmit(now);
        let has_sent = sent.is_some();
        if let Some(sent) = sent {
            self.send(end, sent, wires);
        }
        has_sent
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

impl Machines for Ends {
    type Message = (End, Packet);

    fn poll_timeout(&mut self) -> Option<Instant> {
        let b = self.b.as_ref().and_then(Connection::poll_timeout);
        self.a.poll_timeout().into_iter().chain(b).min()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.a.handle_timeout(now);
        if let Some(b) = &mut self.b {
            b.handle_timeout(now);
        }
    }

    fn handle_arrival(&mut self, (from, packet): (End, Packet), wires: &mut Wires<(End, Packet)>) {
        let Ok(packet) = packet.apply_bit_errors() else {
            return;
        };
        let Body::Aerotp(body) = packet.body else {
            return;
        };
        let (now, addresses) = (wires.now(), (packet.ip.source, packet.ip.destination));
        if from == End::B {
            return self.a.handle_packet(now, addresses, *body);
        }
        if self.b.is_none() && body.header.opening.is_some() {
            let header = &body.header;
            let identity = identity(header.destination_port, header.source_port);
            let mut configuration = self.configuration.clone();
            configuration.mode = header.mode;
            let ends = (addresses.1, addresses.0);
            self.b = Some(Connection::accept(now, configuration, identity, ends, MTU));
        }
        if let Some(b) = &mut self.b {
            b.handle_packet(now, addresses, *body);
        }
    }

    fn settle(&mut self, wires: &mut Wires<(End, Packet)>) {
        while self.drain(End::A, wires) | self.drain(End::B, wires) {}
    }
}
