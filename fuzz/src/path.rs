//! Both ends of a path over a pipe controlled by the input: forged datagrams are rejected, received packets were sent,
//! and once the pipe works again the path is up.

use crate::bytes::Bytes;
use baton_path::{
    Initiator, InitiatorConfig, Listener, ListenerConfig, PACKET, Pace, PresharedKey, PrivateKey,
};
use baton_proto::rate::DataRate;
use baton_proto::time::{Duration, Instant};
use core::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::collections::VecDeque;

const ROUTER: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 1), 1000));
const HOME: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::new(198, 51, 100, 1), 4191));
const ROUTER_KEY: PrivateKey = PrivateKey::from_bytes([1; 32]);
const HOME_KEY: PrivateKey = PrivateKey::from_bytes([2; 32]);
/// The least rate that a path finds: a full datagram in ten seconds.
const LEAST_RATE: DataRate = DataRate::from_bits_per_second(1_199);
/// Datagrams under way in each direction; further ones are lost.
const MOST_FLYING: usize = 32;
/// The last 16 bytes of an initiation, which count under load only.
const UNCHECKED: usize = 16;

struct Pair {
    now: Instant,
    router: Initiator,
    home: Listener,
    to_home: VecDeque<Vec<u8>>,
    to_router: VecDeque<Vec<u8>>,
    finds_rate: bool,
}

/// Plays a series of events at both ends.
pub fn check(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let now = Instant::from_secs(1);
    let seed = bytes.u8();
    let finds_rate = seed & 0x80 != 0;
    let mut pair = Pair {
        now,
        router: router(now, seed, finds_rate),
        home: home(now, 1, finds_rate),
        to_home: VecDeque::new(),
        to_router: VecDeque::new(),
        finds_rate,
    };
    pair.settle();
    while !bytes.is_empty() {
        let choice = bytes.u8();
        let up = choice & 0x80 != 0;
        match choice & 0x0F {
            0 => pair.wait(Duration::from_millis(u64::from(bytes.u8()))),
            1 => pair.wait(Duration::from_secs(u64::from(bytes.u8() & 0x3F))),
            2 | 3 => pair.send(up, usize::from(bytes.u8())),
            4..=6 => pair.deliver(up),
            7 => drop(pair.queue(up).pop_front()),
            8 => pair.repeat(up),
            9 => pair.flip(up, bytes.u16()),
            10 => pair.forge(up, bytes.u8(), bytes.take(usize::from(choice >> 4) * 16)),
            11 => pair.overtake(up),
            12 => pair.router.uplink_down(pair.now),
            13 => pair.router.uplink_up(pair.now),
            14 => pair.router = router(pair.now, bytes.u8(), finds_rate),
            _ => pair.home = home(pair.now, bytes.u8(), finds_rate),
        }
        pair.settle();
    }
    pair.heal();
}

fn router(now: Instant, seed: u8, finds_rate: bool) -> Initiator {
    let config = InitiatorConfig {
        local: ROUTER_KEY,
        home_agent: HOME_KEY.public(),
        preshared: PresharedKey::default(),
        remote: HOME,
        path: 3,
        uplink_mtu: 1500,
        finds_rate,
        // Clocks go back, too.
        unix_nanoseconds: 1_000_000_000 * u64::from(seed),
        seed: [seed; 32],
    };
    Initiator::new(now, config)
}

fn home(now: Instant, seed: u8, finds_rate: bool) -> Listener {
    let config = ListenerConfig {
        local: HOME_KEY,
        uplink_mtu: 1400,
        finds_rate,
        seed: [seed; 32],
    };
    let mut home = Listener::new(now, config);
    home.add_peer(ROUTER_KEY.public(), PresharedKey::default(), b"assigned")
        .expect("short");
    home
}

impl Pair {
    fn queue(&mut self, up: bool) -> &mut VecDeque<Vec<u8>> {
        if up {
            &mut self.to_home
        } else {
            &mut self.to_router
        }
    }

    /// Puts the datagrams of both ends into the pipe.
    fn settle(&mut self) {
        loop {
            let mut datagram = Vec::new();
            if self.router.poll_transmit(self.now, &mut datagram).is_some() {
                self.fly(true, datagram);
            } else if self.home.poll_transmit(self.now, &mut datagram).is_some() {
                self.fly(false, datagram);
            } else {
                break;
            }
        }
        while self.router.poll_event().is_some() || self.home.poll_event().is_some() {}
        let pace = self.router.pace(self.now);
        assert_eq!(pace.is_some(), self.finds_rate);
        let is_too_slow = |pace: Pace| pace.rate < LEAST_RATE;
        assert!(!pace.is_some_and(is_too_slow), "{pace:?}");
    }

    fn fly(&mut self, up: bool, datagram: Vec<u8>) {
        assert!(baton_path::is_frame(&datagram));
        let queue = self.queue(up);
        if queue.len() < MOST_FLYING {
            queue.push_back(datagram);
        }
    }

    fn wait(&mut self, length: Duration) {
        let end = self.now + length;
        let mut rounds = 0;
        loop {
            let next = [self.router.poll_timeout(), self.home.poll_timeout()];
            let Some(next) = next.into_iter().flatten().min().filter(|next| *next <= end) else {
                break;
            };
            self.now = self.now.max(next);
            self.router.handle_timeout(self.now);
            self.home.handle_timeout(self.now);
            self.settle();
            rounds += 1;
            assert!(
                rounds < 100_000,
                "deadlines do not move on from {}",
                self.now
            );
        }
        self.now = end;
    }

    /// Sends a packet whose bytes encode its length.
    fn send(&mut self, up: bool, length: usize) {
        let (packet, mut datagram) = (vec![length as u8; length], Vec::new());
        let peer = ROUTER_KEY.public();
        let sent = if up {
            self.router
                .send(self.now, PACKET, &packet, &mut datagram)
                .ok()
        } else {
            let key = self.home.find(&peer, 3);
            key.and_then(|key| {
                self.home
                    .send(self.now, key, PACKET, &packet, &mut datagram)
                    .ok()
            })
        };
        assert_eq!(sent.is_some(), !datagram.is_empty());
        if sent.is_some() {
            self.fly(up, datagram);
        }
    }

    /// Delivers a datagram, and returns true if it was accepted.
    fn hand_over(&mut self, up: bool, mut datagram: Vec<u8>) -> bool {
        let taken = if up {
            let taken = self.home.handle_datagram(self.now, ROUTER, &mut datagram);
            taken.map(|content| content.map(|(_, content)| content))
        } else {
            self.router.handle_datagram(self.now, HOME, &mut datagram)
        };
        if let Ok(Some(content)) = &taken {
            let length = content.packet.len();
            assert!(
                content
                    .packet
                    .iter()
                    .all(|byte| usize::from(*byte) == length),
                "another packet"
            );
        }
        taken.is_ok()
    }

    /// Moves the next datagram behind all others.
    fn overtake(&mut self, up: bool) {
        if let Some(first) = self.queue(up).pop_front() {
            self.queue(up).push_back(first);
        }
    }

    fn deliver(&mut self, up: bool) {
        if let Some(datagram) = self.queue(up).pop_front() {
            self.hand_over(up, datagram);
        }
    }

    /// Delivers the next datagram twice. Only the first may be accepted.
    fn repeat(&mut self, up: bool) {
        if let Some(datagram) = self.queue(up).pop_front() {
            self.hand_over(up, datagram.clone());
            assert!(!self.hand_over(up, datagram), "a repetition was taken");
        }
    }

    /// Delivers the next datagram with one bit flipped, and leaves it in the pipe.
    fn flip(&mut self, up: bool, bit: u16) {
        let Some(mut datagram) = self.queue(up).front().cloned() else {
            return;
        };
        let is_initiation = datagram.first() == Some(&1);
        let checked = datagram.len() - if is_initiation { UNCHECKED } else { 0 };
        let bit = usize::from(bit) % (checked * 8);
        if let Some(byte) = datagram.get_mut(bit / 8) {
            *byte ^= 1 << (bit % 8);
        }
        assert!(!self.hand_over(up, datagram), "a flipped bit was taken");
    }

    fn forge(&mut self, up: bool, kind: u8, rest: &[u8]) {
        let datagram = [&[kind % 6, 0, 0, 0], rest].concat();
        assert!(!self.hand_over(up, datagram), "a forgery was taken");
    }

    /// Lets everything through for a minute.
    fn heal(&mut self) {
        for _ in 0..1200 {
            while !self.to_home.is_empty() || !self.to_router.is_empty() {
                self.deliver(true);
                self.deliver(false);
                self.settle();
            }
            self.wait(Duration::from_millis(50));
        }
        assert!(self.router.is_up(), "the router's end is not up");
        let key = self.home.find(&ROUTER_KEY.public(), 3).expect("a path");
        assert!(
            self.home.path(key).is_some_and(|path| path.is_up),
            "the home agent's end is not up"
        );
    }
}
