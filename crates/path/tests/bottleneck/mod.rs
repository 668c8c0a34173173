//! Paths that find their rate, and TCP connections beside them, through one bottleneck with a drop-tail queue.
#![allow(dead_code, reason = "each test file takes its part")]

use crate::pipe::{Draws, HOME, home_key, initiator_config, router_key};
use baton_path::{Initiator, Listener, ListenerConfig, PACKET, Pace, PresharedKey};
use baton_proto::rate::DataRate;
use baton_proto::tcp::{Connection, Endpoint, Segment, profile::Profile};
use baton_proto::testing::{Machines, Net, Wires};
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::sequence::SequenceNumber;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Packet of a greedy sender: with all headers 1,464 bytes.
const PACKET_BYTES: usize = 1_400;
/// Headers of IPv4 and UDP.
const HEADERS: usize = 28;
/// Headers of IPv4 and TCP, with timestamps.
const TCP_HEADERS: usize = 52;

/// The bottleneck, towards the receivers; the way back only delays and loses.
#[derive(Clone, Copy)]
pub struct Link {
    pub rate: DataRate,
    /// Each way.
    pub delay: Duration,
    /// Evenly drawn, both ways.
    pub jitter: Duration,
    pub buffer_bytes: u64,
    /// Share lost behind the queue, and on the way back.
    pub loss: f64,
    pub repetition: f64,
}

impl Link {
    /// Creates a link with a round-trip time, and a buffer in units of the product of both.
    pub fn new(bits_per_second: u64, round_trip_ms: u64, buffer: f64) -> Link {
        let rate = DataRate::from_bits_per_second(bits_per_second);
        let product = bits_per_second as f64 / 8.0 * round_trip_ms as f64 / 1e3;
        Link {
            rate,
            delay: Duration::from_millis(round_trip_ms).half(),
            jitter: Duration::ZERO,
            buffer_bytes: ((product * buffer) as u64).max(6_000),
            loss: 0.0,
            repetition: 0.0,
        }
    }
}

/// Sending habit of a path's user.
#[derive(Clone, Copy)]
pub enum Habit {
    Silent,
    /// As much as the pace permits.
    Greedy,
    /// A packet each interval, if the pace permits.
    Every(Duration),
}

/// A path towards its listener.
pub struct Way {
    pub router: Initiator,
    pub home: Listener,
    pub habit: Habit,
    due: Instant,
    /// Wakes for the pacer.
    wake: Instant,
}

/// A TCP connection towards its listener.
pub struct Stream {
    client: Connection,
    server: Option<Connection>,
}

pub enum Flow {
    Way(Box<Way>),
    Stream(Box<Stream>),
}

pub enum Parcel {
    Datagram(Vec<u8>),
    Segment(Segment),
}

impl Parcel {
    fn bytes(&self) -> usize {
        match self {
            Parcel::Datagram(datagram) => datagram.len() + HEADERS,
            Parcel::Segment(segment) => segment.payload.length() as usize + TCP_HEADERS,
        }
    }
}

/// A parcel of a flow, after whether it goes forward.
pub type Passing = (usize, bool, Parcel);

pub struct World {
    pub flows: Vec<Flow>,
    pub link: Link,
    draws: Draws,
    queue: VecDeque<(usize, Parcel, Instant)>,
    queued: u64,
    /// Time at which the head of the queue has left.
    head_leaves: Option<Instant>,
    /// True if nothing passes.
    pub is_cut: bool,
    /// Bytes of each flow that were offered to the link, and that arrived; and those on the way back.
    pub offered: Vec<u64>,
    pub arrived: Vec<u64>,
    pub back: Vec<u64>,
    /// Delays in the queue, in seconds.
    pub waits: Vec<f64>,
}

pub type Lab = Net<World>;

fn address(number: usize) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], 1000 + number as u16))
}

impl World {
    pub fn new(link: Link, seed: u64) -> World {
        World {
            flows: Vec::new(),
            link,
            draws: Draws(seed),
            queue: VecDeque::new(),
            queued: 0,
            head_leaves: None,
            is_cut: false,
            offered: Vec::new(),
            arrived: Vec::new(),
            back: Vec::new(),
            waits: Vec::new(),
        }
    }

    fn add(&mut self, flow: Flow) -> usize {
        self.flows.push(flow);
        for counts in [&mut self.offered, &mut self.arrived, &mut self.back] {
            counts.push(0);
        }
        self.flows.len() - 1
    }

    pub fn way(&mut self, number: usize) -> &mut Way {
        match &mut self.flows[number] {
            Flow::Way(way) => way,
            Flow::Stream(_) => panic!("flow {number} is a TCP connection"),
        }
    }

    pub fn pace(&mut self, now: Instant, number: usize) -> Pace {
        self.way(number).router.pace(now).unwrap()
    }

    fn offer(&mut self, now: Instant, flow: usize, parcel: Parcel) {
        let bytes = parcel.bytes() as u64;
        self.offered[flow] += bytes;
        if self.queued + bytes <= self.link.buffer_bytes {
            self.queued += bytes;
            self.queue.push_back((flow, parcel, now));
        }
    }

    fn forward(&mut self, (flow, forward, parcel): Passing, wires: &mut Wires<Passing>) {
        if self.is_cut || self.draws.share() < self.link.loss {
            return;
        }
        let jitter = Duration::from_secs_f64(self.link.jitter.as_secs_f64() * self.draws.share());
        if let Parcel::Datagram(datagram) = &parcel
            && self.draws.share() < self.link.repetition
        {
            let again = Parcel::Datagram(datagram.clone());
            wires.send((flow, forward, again), self.link.delay);
        }
        wires.send((flow, forward, parcel), self.link.delay + jitter);
    }

    fn serve(&mut self, wires: &mut Wires<Passing>) {
        let now = wires.now();
        loop {
            match self.head_leaves {
                Some(time) if time <= now => {
                    self.head_leaves = None;
                    let (flow, parcel, since) = self.queue.pop_front().unwrap();
                    self.queued -= parcel.bytes() as u64;
                    self.waits.push(now.saturating_since(since).as_secs_f64());
                    self.forward((flow, true, parcel), wires);
                }
                Some(_) => return,
                None => {
                    let Some((_, parcel, _)) = self.queue.front() else {
                        return;
                    };
                    let bits = parcel.bytes() as u64 * 8;
                    self.head_leaves = Some(now + self.link.rate.transmission_time(bits).unwrap());
                }
            }
        }
    }

    /// Polls all that a flow has to send.
    fn drain(&mut self, number: usize, wires: &mut Wires<Passing>) {
        let now = wires.now();
        let mut sent = Vec::new();
        match &mut self.flows[number] {
            Flow::Way(way) => way.drain(now, number, &mut sent),
            Flow::Stream(stream) => stream.drain(now, &mut sent),
        }
        for (forward, parcel) in sent {
            match forward {
                true => self.offer(now, number, parcel),
                false => {
                    self.back[number] += parcel.bytes() as u64;
                    self.forward((number, false, parcel), wires);
                }
            }
        }
    }
}

impl Way {
    fn drain(&mut self, now: Instant, number: usize, sent: &mut Vec<(bool, Parcel)>) {
        loop {
            let mut datagram = Vec::new();
            if self.router.poll_transmit(now, &mut datagram).is_some() {
                sent.push((true, Parcel::Datagram(datagram)));
            } else if let Some(to) = self.home.poll_transmit(now, &mut datagram) {
                assert_eq!(to, address(number));
                sent.push((false, Parcel::Datagram(datagram)));
            } else {
                break;
            }
        }
        while self.router.poll_event().is_some() {}
        while self.home.poll_event().is_some() {}
        self.send_packets(now, sent);
    }

    fn send_packets(&mut self, now: Instant, sent: &mut Vec<(bool, Parcel)>) {
        self.wake = Instant::NEVER;
        while self.router.is_up() {
            let departure = self.router.pace(now).unwrap().departure;
            let due = match self.habit {
                Habit::Silent => return,
                Habit::Greedy => departure,
                Habit::Every(_) => departure.max(self.due),
            };
            if due > now {
                self.wake = due;
                return;
            }
            if let Habit::Every(interval) = self.habit {
                self.due = self.due.max(Instant::from_nanos(1)) + interval;
                self.due = self.due.max(now);
            }
            let mut datagram = Vec::new();
            let length = PACKET_BYTES.min(self.router.packet_mtu().into());
            let packet = vec![0x45; length];
            let sent_packet = self.router.send(now, PACKET, &packet, &mut datagram);
            if sent_packet.is_err() {
                // The size is being probed.
                return;
            }
            sent.push((true, Parcel::Datagram(datagram)));
        }
    }
}

impl Stream {
    fn drain(&mut self, now: Instant, sent: &mut Vec<(bool, Parcel)>) {
        let room = self.client.writable();
        self.client.write_pattern(1, room);
        while self.client.poll_event().is_some() {}
        while let Some(segment) = self.client.poll_transmit(now) {
            sent.push((true, Parcel::Segment(segment)));
        }
        let Some(server) = &mut self.server else {
            return;
        };
        server.discard(u64::MAX);
        while server.poll_event().is_some() {}
        while let Some(segment) = server.poll_transmit(now) {
            sent.push((false, Parcel::Segment(segment)));
        }
    }

    fn take(&mut self, now: Instant, forward: bool, segment: &Segment) {
        let (header, payload) = (&segment.header, segment.payload.clone());
        if !forward {
            return self.client.handle_segment(now, header, payload);
        }
        match &mut self.server {
            Some(server) => server.handle_segment(now, header, payload),
            None => {
                let (local, remote) = (self.client.remote(), self.client.local());
                let (profile, number) = (Profile::linux_6(), SequenceNumber(7));
                let server = Connection::accept(now, local, remote, &profile, number, 1500, header);
                self.server = Some(server);
            }
        }
    }
}

/// Additions to a [`Lab`] at its present time.
pub trait LabExt {
    fn lab(link: Link, seed: u64) -> Self;

    /// Adds a path that is up, and returns its number.
    fn add_way(&mut self, habit: Habit) -> usize;

    /// Adds a CUBIC connection of the profile `linux-6` with an endless stream.
    fn add_cubic(&mut self) -> usize;

    /// Runs, and returns the bytes of each flow that arrived meanwhile.
    fn arrivals(&mut self, time: Duration) -> Vec<f64>;
}

impl LabExt for Lab {
    fn lab(link: Link, seed: u64) -> Lab {
        let mut lab = Net::of(World::new(link, seed));
        lab.run_until(Instant::from_secs(1));
        lab
    }

    fn add_way(&mut self, habit: Habit) -> usize {
        let (now, seed) = (self.now(), self.flows.len() as u8 + 1);
        let mut config = initiator_config(1, 0, seed);
        config.finds_rate = true;
        let way = Way {
            router: Initiator::new(now, config),
            home: rated_listener(now, seed),
            habit,
            due: now,
            wake: Instant::NEVER,
        };
        let number = self.add(Flow::Way(Box::new(way)));
        self.settle();
        number
    }

    fn add_cubic(&mut self) -> usize {
        let now = self.now();
        let end = |port| Endpoint {
            address: HOME.ip(),
            port,
        };
        let (profile, number) = (Profile::linux_6(), SequenceNumber(1));
        let client = Connection::connect(now, end(1), end(2), &profile, number, 1500);
        let stream = Stream {
            client,
            server: None,
        };
        let number = self.add(Flow::Stream(Box::new(stream)));
        self.settle();
        number
    }

    fn arrivals(&mut self, time: Duration) -> Vec<f64> {
        let before = self.arrived.clone();
        self.run_for(time);
        let arrived = self.arrived.iter().zip(before);
        arrived
            .map(|(after, before)| (after - before) as f64)
            .collect()
    }
}

fn rated_listener(now: Instant, seed: u8) -> Listener {
    let config = ListenerConfig {
        local: home_key(),
        uplink_mtu: 1500,
        finds_rate: true,
        seed: [seed; 32],
    };
    let mut home = Listener::new(now, config);
    let preshared = PresharedKey::from_bytes([9; 32]);
    home.add_peer(router_key(1).public(), preshared, b"")
        .unwrap();
    home
}

impl Machines for World {
    type Message = Passing;

    fn poll_timeout(&mut self) -> Option<Instant> {
        let flows = self.flows.iter().flat_map(|flow| match flow {
            Flow::Way(way) => [
                way.router.poll_timeout(),
                way.home.poll_timeout(),
                Some(way.wake),
            ],
            Flow::Stream(stream) => {
                let server = stream.server.as_ref();
                let server = server.and_then(|server| server.poll_timeout());
                [stream.client.poll_timeout(), server, None]
            }
        });
        flows
            .flatten()
            .chain(self.head_leaves)
            .filter(|time| *time < Instant::NEVER)
            .min()
    }

    fn handle_timeout(&mut self, now: Instant) {
        for flow in &mut self.flows {
            match flow {
                Flow::Way(way) => {
                    way.router.handle_timeout(now);
                    way.home.handle_timeout(now);
                }
                Flow::Stream(stream) => {
                    stream.client.handle_timeout(now);
                    if let Some(server) = &mut stream.server {
                        server.handle_timeout(now);
                    }
                }
            }
        }
    }

    fn handle_arrival(&mut self, (number, forward, parcel): Passing, wires: &mut Wires<Passing>) {
        let now = wires.now();
        if forward {
            self.arrived[number] += parcel.bytes() as u64;
        }
        match (&mut self.flows[number], parcel) {
            (Flow::Way(way), Parcel::Datagram(mut datagram)) => {
                let _ = match forward {
                    true => (way
                        .home
                        .handle_datagram(now, address(number), &mut datagram))
                    .is_ok(),
                    false => way.router.handle_datagram(now, HOME, &mut datagram).is_ok(),
                };
            }
            (Flow::Stream(stream), Parcel::Segment(segment)) => stream.take(now, forward, &segment),
            _ => panic!("a parcel of another kind of flow"),
        }
    }

    fn settle(&mut self, wires: &mut Wires<Passing>) {
        self.serve(wires);
        for number in 0..self.flows.len() {
            self.drain(number, wires);
        }
        self.serve(wires);
    }
}
