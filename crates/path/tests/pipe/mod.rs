//! Two machines over a simulated pipe in virtual time: seeded loss, delay with variation, repetition, outages.
#![allow(dead_code, reason = "each test file takes its part")]

use baton_path::{
    Event, Initiator, InitiatorConfig, Listener, ListenerConfig, PACKET, PathKey, PresharedKey,
    PrivateKey, Rejected,
};
use baton_proto::testing::{Machines, Net, Wires};
use baton_proto::time::{Duration, Instant};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Wall clock at the start of a test.
pub const CLOCK: u64 = 1_700_000_000_000_000_000;

/// The home agent's address.
pub const HOME: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(198, 51, 100, 1)), 4191);

/// SplitMix64, which is enough for a pipe.
pub struct Draws(pub u64);

impl Draws {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Draws a number from 0 to below 1.
    pub fn share(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Behaviour of both directions.
#[derive(Clone, Copy)]
pub struct Behaviour {
    pub delay: Duration,
    /// Additional delay, evenly drawn from nothing to this.
    pub jitter: Duration,
    pub loss: f64,
    pub repetition: f64,
    /// Longest IP packet that passes.
    pub mtu: usize,
    pub is_dead: bool,
}

impl Behaviour {
    pub fn delayed(milliseconds: u64) -> Behaviour {
        Behaviour {
            delay: Duration::from_millis(milliseconds),
            jitter: Duration::ZERO,
            loss: 0.0,
            repetition: 0.0,
            mtu: 1500,
            is_dead: false,
        }
    }
}

/// Numbers of the pipe's own: its truth.
#[derive(Default, Clone, Copy, Debug)]
pub struct Truth {
    pub offered: u64,
    pub lost: u64,
    pub bytes: u64,
}

/// A datagram, after whether it goes towards the home agent.
pub type Datagram = (bool, Vec<u8>);

/// A router's path, a home agent, and the pipe between them.
pub struct Ends {
    pub router: Initiator,
    pub home: Listener,
    pub behaviour: Behaviour,
    pub draws: Draws,
    pub router_address: SocketAddr,
    /// Towards the home agent, and from it.
    pub truth: [Truth; 2],
    pub router_events: Vec<(Instant, Event)>,
    pub home_events: Vec<(Instant, PathKey, Event)>,
    pub at_router: Vec<(Instant, Vec<u8>)>,
    pub at_home: Vec<(Instant, Vec<u8>)>,
    /// Datagrams that a test sends; the pipe takes them first.
    pub outbox: Vec<Datagram>,
    /// Every datagram that was sent.
    pub seen: Vec<Datagram>,
    /// True if `seen` is kept.
    pub watched: bool,
}

pub type Pair = Net<Ends>;

pub fn router_key(number: u8) -> PrivateKey {
    PrivateKey::from_bytes([number; 32])
}

pub fn home_key() -> PrivateKey {
    PrivateKey::from_bytes([200; 32])
}

pub fn initiator_config(number: u8, path: u8, seed: u8) -> InitiatorConfig {
    InitiatorConfig {
        local: router_key(number),
        home_agent: home_key().public(),
        preshared: PresharedKey::from_bytes([9; 32]),
        remote: HOME,
        path,
        uplink_mtu: 1500,
        finds_rate: false,
        unix_nanoseconds: CLOCK,
        seed: [seed; 32],
    }
}

pub fn listener(now: Instant, seed: u8) -> Listener {
    let config = ListenerConfig {
        local: home_key(),
        uplink_mtu: 1500,
        finds_rate: false,
        seed: [seed; 32],
    };
    let mut home = Listener::new(now, config);
    let preshared = PresharedKey::from_bytes([9; 32]);
    home.add_peer(router_key(1).public(), preshared, b"assigned")
        .unwrap();
    home
}

/// Methods of a [`Pair`] that need its time or its wires.
pub trait PairExt {
    /// Creates a pair one second after the zero of time, with nothing sent.
    fn new(behaviour: Behaviour, seed: u64) -> Self;

    /// Creates a pair whose path is up.
    fn up(behaviour: Behaviour, seed: u64) -> Self;

    /// Sends a packet to the home agent, and returns its counter.
    fn send_up(&mut self, packet: &[u8]) -> u64;

    /// Sends a packet to the router, and returns its counter.
    fn send_down(&mut self, packet: &[u8]) -> u64;

    /// Sends `count` packets, one each `gap`, in one direction or both, numbered in their first bytes.
    fn stream(&mut self, count: u32, gap: Duration, up: bool, down: bool, length: usize);

    /// Cuts the pipe, and loses all that is under way.
    fn cut(&mut self);
}

impl PairExt for Pair {
    fn new(behaviour: Behaviour, seed: u64) -> Pair {
        let now = Instant::from_secs(1);
        let mut pair = Net::of(Ends {
            router: Initiator::new(now, initiator_config(1, 0, 1)),
            home: listener(now, 2),
            behaviour,
            draws: Draws(seed),
            router_address: "192.0.2.1:1000".parse().unwrap(),
            truth: [Truth::default(); 2],
            router_events: Vec::new(),
            home_events: Vec::new(),
            at_router: Vec::new(),
            at_home: Vec::new(),
            outbox: Vec::new(),
            seen: Vec::new(),
            watched: false,
        });
        // Leads to the time of the first initiation, which the next step sends.
        pair.step(now);
        pair
    }

    fn up(behaviour: Behaviour, seed: u64) -> Pair {
        let calm = Behaviour {
            loss: 0.0,
            jitter: Duration::ZERO,
            ..behaviour
        };
        let mut pair = Pair::new(calm, seed);
        pair.run_for(Duration::from_secs(1));
        pair.behaviour = behaviour;
        assert!(pair.router.is_up() && pair.key_is_up(), "no handshake");
        pair
    }

    fn send_up(&mut self, packet: &[u8]) -> u64 {
        let (now, mut datagram) = (self.now(), Vec::new());
        let sent = self.router.send(now, PACKET, packet, &mut datagram);
        self.outbox.push((true, datagram));
        self.settle();
        sent.unwrap().counter
    }

    fn send_down(&mut self, packet: &[u8]) -> u64 {
        let (now, key, mut datagram) = (self.now(), self.key(), Vec::new());
        let sent = self.home.send(now, key, PACKET, packet, &mut datagram);
        self.outbox.push((false, datagram));
        self.settle();
        sent.unwrap().counter
    }

    fn stream(&mut self, count: u32, gap: Duration, up: bool, down: bool, length: usize) {
        for number in 0..count {
            let mut packet = vec![0x45; length];
            packet[..4].copy_from_slice(&number.to_be_bytes());
            if up {
                self.send_up(&packet);
            }
            if down {
                self.send_down(&packet);
            }
            self.run_for(gap);
        }
    }

    fn cut(&mut self) {
        self.behaviour.is_dead = true;
        self.wires.lose_all();
    }
}

impl Ends {
    pub fn key(&self) -> PathKey {
        self.home.find(&router_key(1).public(), 0).expect("no path")
    }

    pub fn key_is_up(&self) -> bool {
        self.home.path(self.key()).is_some_and(|path| path.is_up)
    }

    /// Returns how often the router and the home agent took the path for dead.
    pub fn downs(&self) -> [usize; 2] {
        [
            self.router_events
                .iter()
                .filter(|(_, event)| *event == Event::Down)
                .count(),
            self.home_events
                .iter()
                .filter(|(_, _, event)| *event == Event::Down)
                .count(),
        ]
    }

    /// Returns the time at which each end first found the path down.
    pub fn first_down(&self) -> [Option<Instant>; 2] {
        [
            self.router_events
                .iter()
                .find(|(_, event)| *event == Event::Down)
                .map(|(time, _)| *time),
            self.home_events
                .iter()
                .find(|(_, _, event)| *event == Event::Down)
                .map(|(time, _, _)| *time),
        ]
    }

    /// Drops what has arrived and been told, except deaths.
    pub fn forget(&mut self) {
        self.at_home.clear();
        self.at_router.clear();
        self.router_events
            .retain(|(_, event)| *event == Event::Down);
        self.home_events
            .retain(|(_, _, event)| *event == Event::Down);
    }

    /// Returns the number of datagrams that either end has rejected.
    pub fn rejected(&self) -> u64 {
        let count = |reason| {
            self.router.counters().rejected(reason) + self.home.counters().rejected(reason)
        };
        Rejected::ALL.into_iter().map(count).sum()
    }

    /// Puts a datagram into the pipe.
    fn send(&mut self, (to_home, datagram): Datagram, wires: &mut Wires<Datagram>) {
        if self.watched {
            self.seen.push((to_home, datagram.clone()));
        }
        let truth = &mut self.truth[usize::from(!to_home)];
        truth.offered += 1;
        truth.bytes += datagram.len() as u64 + 28;
        let Behaviour {
            delay,
            jitter,
            loss,
            repetition,
            mtu,
            is_dead,
        } = self.behaviour;
        let lost = self.draws.share() < loss;
        if lost || is_dead || datagram.len() + 28 > mtu {
            truth.lost += 1;
            return;
        }
        let copies = 1 + usize::from(self.draws.share() < repetition);
        for _ in 0..copies {
            let more = Duration::from_secs_f64(jitter.as_secs_f64() * self.draws.share());
            wires.send((to_home, datagram.clone()), delay + more);
        }
    }
}

impl Machines for Ends {
    type Message = Datagram;

    fn poll_timeout(&mut self) -> Option<Instant> {
        let timeouts = [self.router.poll_timeout(), self.home.poll_timeout()];
        timeouts.into_iter().flatten().min()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.router.handle_timeout(now);
        self.home.handle_timeout(now);
    }

    fn handle_arrival(&mut self, (to_home, mut datagram): Datagram, wires: &mut Wires<Datagram>) {
        let now = wires.now();
        if to_home {
            let from = self.router_address;
            if let Ok(Some((_, content))) = self.home.handle_datagram(now, from, &mut datagram) {
                self.at_home.push((now, content.packet.to_vec()));
            }
        } else if let Ok(Some(content)) = self.router.handle_datagram(now, HOME, &mut datagram) {
            self.at_router.push((now, content.packet.to_vec()));
        }
    }

    fn settle(&mut self, wires: &mut Wires<Datagram>) {
        let now = wires.now();
        for datagram in core::mem::take(&mut self.outbox) {
            self.send(datagram, wires);
        }
        loop {
            let mut datagram = Vec::new();
            if self.router.poll_transmit(now, &mut datagram).is_some() {
                self.send((true, datagram), wires);
            } else if let Some(to) = self.home.poll_transmit(now, &mut datagram) {
                if to == self.router_address {
                    self.send((false, datagram), wires);
                }
            } else {
                break;
            }
        }
        while let Some(event) = self.router.poll_event() {
            self.router_events.push((now, event));
        }
        while let Some((key, event)) = self.home.poll_event() {
            self.home_events.push((now, key, event));
        }
    }
}
