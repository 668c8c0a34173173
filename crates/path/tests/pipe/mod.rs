//! Two machines over a simulated pipe in virtual time: seeded loss, delay with variation, repetition, outages.
#![allow(dead_code, reason = "each test file takes its part")]

use baton_path::{
    Event, Initiator, InitiatorConfig, Listener, ListenerConfig, PACKET, PathKey, PresharedKey,
    PrivateKey, Rejected,
};
use baton_proto::time::{Duration, Instant};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::SocketAddr;

/// Wall clock at the start of a test.
pub const CLOCK: u64 = 1_700_000_000_000_000_000;

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

    /// A number from 0 to below 1.
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

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Flying {
    arrival: Instant,
    number: u64,
    to_home: bool,
    datagram: Vec<u8>,
}

/// Numbers of the pipe's own: its truth.
#[derive(Default, Clone, Copy, Debug)]
pub struct Truth {
    pub offered: u64,
    pub lost: u64,
    pub bytes: u64,
}

/// A router's path, a home agent, and the pipe between them.
pub struct Pair {
    pub now: Instant,
    pub router: Initiator,
    pub home: Listener,
    pub behaviour: Behaviour,
    pub draws: Draws,
    pub router_address: SocketAddr,
    pub home_address: SocketAddr,
    flying: BinaryHeap<Reverse<Flying>>,
    number: u64,
    /// Towards the home agent, and from it.
    pub truth: [Truth; 2],
    pub router_events: Vec<(Instant, Event)>,
    pub home_events: Vec<(Instant, PathKey, Event)>,
    pub at_router: Vec<(Instant, Vec<u8>)>,
    pub at_home: Vec<(Instant, Vec<u8>)>,
    /// Every datagram that was sent, with its direction.
    pub seen: Vec<(bool, Vec<u8>)>,
    /// True if `seen` is kept.
    pub watched: bool,
}

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
        remote: "198.51.100.1:4191".parse().unwrap(),
        path,
        uplink_mtu: 1500,
        unix_nanoseconds: CLOCK,
        seed: [seed; 32],
    }
}

pub fn listener(now: Instant, seed: u8) -> Listener {
    let config = ListenerConfig {
        local: home_key(),
        uplink_mtu: 1500,
        seed: [seed; 32],
    };
    let mut home = Listener::new(now, config);
    let preshared = PresharedKey::from_bytes([9; 32]);
    home.add_peer(router_key(1).public(), preshared, b"assigned")
        .unwrap();
    home
}

impl Pair {
    pub fn new(behaviour: Behaviour, seed: u64) -> Pair {
        let now = Instant::from_secs(1);
        Pair {
            now,
            router: Initiator::new(now, initiator_config(1, 0, 1)),
            home: listener(now, 2),
            behaviour,
            draws: Draws(seed),
            router_address: "192.0.2.1:1000".parse().unwrap(),
            home_address: "198.51.100.1:4191".parse().unwrap(),
            flying: BinaryHeap::new(),
            number: 0,
            truth: [Truth::default(); 2],
            router_events: Vec::new(),
            home_events: Vec::new(),
            at_router: Vec::new(),
            at_home: Vec::new(),
            seen: Vec::new(),
            watched: false,
        }
    }

    /// A pair whose path is up.
    pub fn up(behaviour: Behaviour, seed: u64) -> Pair {
        let mut pair = Pair::new(
            Behaviour {
                loss: 0.0,
                jitter: Duration::ZERO,
                ..behaviour
            },
            seed,
        );
        pair.run_for(Duration::from_secs(1));
        pair.behaviour = behaviour;
        assert!(pair.router.is_up() && pair.key_is_up(), "no handshake");
        pair
    }

    pub fn key(&self) -> PathKey {
        self.home.find(&router_key(1).public(), 0).expect("no path")
    }

    pub fn key_is_up(&self) -> bool {
        self.home.path(self.key()).is_some_and(|path| path.is_up)
    }

    pub fn send_up(&mut self, packet: &[u8]) -> u64 {
        let mut datagram = Vec::new();
        let sent = self
            .router
            .send(self.now, PACKET, packet, &mut datagram)
            .unwrap();
        self.fly(true, datagram);
        self.flush();
        sent.counter
    }

    pub fn send_down(&mut self, packet: &[u8]) -> u64 {
        let (mut datagram, key) = (Vec::new(), self.key());
        let sent = self
            .home
            .send(self.now, key, PACKET, packet, &mut datagram)
            .unwrap();
        self.fly(false, datagram);
        self.flush();
        sent.counter
    }

    /// Puts a datagram into the pipe.
    pub fn fly(&mut self, to_home: bool, datagram: Vec<u8>) {
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
            self.number += 1;
            let flying = Flying {
                arrival: self.now + delay + more,
                number: self.number,
                to_home,
                datagram: datagram.clone(),
            };
            self.flying.push(Reverse(flying));
        }
    }

    /// Loses all that is under way.
    pub fn cut(&mut self) {
        self.behaviour.is_dead = true;
        self.flying.clear();
    }

    /// Carries out what both machines want at this moment.
    pub fn flush(&mut self) {
        loop {
            let mut datagram = Vec::new();
            if self.router.poll_transmit(self.now, &mut datagram).is_some() {
                self.fly(true, datagram);
            } else if let Some(to) = self.home.poll_transmit(self.now, &mut datagram) {
                if to == self.router_address {
                    self.fly(false, datagram);
                }
            } else {
                break;
            }
        }
        while let Some(event) = self.router.poll_event() {
            self.router_events.push((self.now, event));
        }
        while let Some((key, event)) = self.home.poll_event() {
            self.home_events.push((self.now, key, event));
        }
    }

    fn next(&self) -> Option<Instant> {
        let flying = self.flying.peek().map(|Reverse(flying)| flying.arrival);
        let timeouts = [self.router.poll_timeout(), self.home.poll_timeout(), flying];
        timeouts.into_iter().flatten().min()
    }

    pub fn run_for(&mut self, length: Duration) {
        self.run_until(self.now + length);
    }

    pub fn run_until(&mut self, end: Instant) {
        self.flush();
        let mut idle = 0;
        while let Some(next) = self.next().filter(|next| *next <= end) {
            idle = if next <= self.now { idle + 1 } else { 0 };
            assert!(idle < 10_000, "deadlines do not move on from {}", self.now);
            self.now = self.now.max(next);
            while self
                .flying
                .peek()
                .is_some_and(|Reverse(flying)| flying.arrival <= self.now)
            {
                let Reverse(mut flying) = self.flying.pop().unwrap();
                self.deliver(flying.to_home, &mut flying.datagram);
            }
            self.router.handle_timeout(self.now);
            self.home.handle_timeout(self.now);
            self.flush();
        }
        self.now = end;
    }

    /// Hands a datagram to its receiver.
    pub fn deliver(&mut self, to_home: bool, datagram: &mut [u8]) {
        if to_home {
            let taken = self
                .home
                .handle_datagram(self.now, self.router_address, datagram);
            if let Ok(Some((_, content))) = taken {
                self.at_home.push((self.now, content.packet.to_vec()));
            }
        } else {
            let taken = self
                .router
                .handle_datagram(self.now, self.home_address, datagram);
            if let Ok(Some(content)) = taken {
                self.at_router.push((self.now, content.packet.to_vec()));
            }
        }
        self.flush();
    }

    /// Sends `count` packets, one each `gap`, in one direction or both, numbered in their first bytes.
    pub fn stream(&mut self, count: u32, gap: Duration, up: bool, down: bool, length: usize) {
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

    /// Numbers of times at which the router and the home agent took the path for dead.
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

    /// Datagrams that either has rejected.
    pub fn rejected(&self) -> u64 {
        let count = |reason| {
            self.router.counters().rejected(reason) + self.home.counters().rejected(reason)
        };
        Rejected::ALL.into_iter().map(count).sum()
    }
}
