//! Two uplinks of one router, of which one dies unannounced under a stream: the stall, and what is lost of it.
//!
//! The mobility around the paths is the least that can be: the router moves to the other path at `Event::Down`, says so in a
//! packet, and the home agent sends again what the dead path has not reported.

mod pipe;

use baton_path::{Event, Initiator, Listener, PACKET, PathKey};
use baton_proto::testing::{Machines, Net, Wires};
use baton_proto::time::{Duration, Instant};
use pipe::{Draws, HOME, initiator_config, listener, router_key};
use std::collections::{BTreeSet, VecDeque};
use std::net::SocketAddr;

const SWITCH: &[u8] = b"switch";

/// A packet of the stream for the home agent, or a datagram on a link, towards the home agent or from it.
enum Message {
    Packet(Vec<u8>),
    Up(usize, Vec<u8>),
    Down(usize, Vec<u8>),
}

/// One way delays of both uplinks, and how the first varies.
struct Links {
    delays: [Duration; 2],
    jitter: Duration,
}

/// A router with a path over each link, and its home agent.
struct World {
    links: Links,
    draws: Draws,
    /// True if nothing passes the first link any more.
    is_dead: bool,
    routers: [Initiator; 2],
    home: Listener,
    active: usize,
    home_active: usize,
    /// Packets that the first path has not reported, with their counters.
    kept: VecDeque<(u64, Vec<u8>)>,
    arrived: Vec<(Instant, u32)>,
}

fn address(link: usize) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1 + link as u8], 1000))
}

impl World {
    fn new(links: Links) -> World {
        let now = Instant::ZERO;
        World {
            links,
            draws: Draws(1),
            is_dead: false,
            routers: [0, 1].map(|link| Initiator::new(now, initiator_config(1, link, 10 + link))),
            home: listener(now, 2),
            active: 0,
            home_active: 0,
            kept: VecDeque::new(),
            arrived: Vec::new(),
        }
    }

    fn key(&self, link: usize) -> PathKey {
        self.home
            .find(&router_key(1).public(), link as u8)
            .expect("a path")
    }

    /// Returns the delay of the next datagram on a link.
    fn delay(&mut self, link: usize) -> Duration {
        let jitter = if link == 0 {
            self.links.jitter.as_secs_f64()
        } else {
            0.0
        };
        self.links.delays[link] + Duration::from_secs_f64(jitter * self.draws.share())
    }

    /// Sends a packet of the stream to the router.
    fn send_down(&mut self, packet: Vec<u8>, wires: &mut Wires<Message>) {
        let (mut datagram, link) = (Vec::new(), self.home_active);
        let (now, key) = (wires.now(), self.key(link));
        let sent = self.home.send(now, key, PACKET, &packet, &mut datagram);
        let counter = sent.unwrap().counter;
        if link == 0 {
            self.kept.push_back((counter, packet));
        }
        wires.send(Message::Down(link, datagram), self.delay(link));
    }
}

impl Machines for World {
    type Message = Message;

    fn poll_timeout(&mut self) -> Option<Instant> {
        let [first, second] = self.routers.each_ref().map(Initiator::poll_timeout);
        let timeouts = [first, second, self.home.poll_timeout()];
        timeouts.into_iter().flatten().min()
    }

    fn handle_timeout(&mut self, now: Instant) {
        for router in &mut self.routers {
            router.handle_timeout(now);
        }
        self.home.handle_timeout(now);
    }

    fn handle_arrival(&mut self, message: Message, wires: &mut Wires<Message>) {
        let now = wires.now();
        match message {
            Message::Up(0, _) | Message::Down(0, _) if self.is_dead => {}
            Message::Packet(packet) => self.send_down(packet, wires),
            Message::Up(link, mut datagram) => {
                let from = address(link);
                let taken = self.home.handle_datagram(now, from, &mut datagram);
                if matches!(taken, Ok(Some((_, content))) if content.packet == SWITCH) {
                    self.home_active = 1;
                    for (_, packet) in core::mem::take(&mut self.kept) {
                        self.send_down(packet, wires);
                    }
                }
            }
            Message::Down(link, mut datagram) => {
                let taken = self.routers[link].handle_datagram(now, HOME, &mut datagram);
                if let Ok(Some(content)) = taken {
                    let number = u32::from_be_bytes(content.packet[..4].try_into().unwrap());
                    self.arrived.push((now, number));
                }
            }
        }
    }

    fn settle(&mut self, wires: &mut Wires<Message>) {
        let now = wires.now();
        let mut datagram = Vec::new();
        for link in [0, 1] {
            while self.routers[link]
                .poll_transmit(now, &mut datagram)
                .is_some()
            {
                let up = Message::Up(link, core::mem::take(&mut datagram));
                wires.send(up, self.delay(link));
            }
            while let Some(event) = self.routers[link].poll_event() {
                if event == Event::Down && link == 0 && self.active == 0 {
                    self.active = 1;
                    self.routers[1]
                        .send(now, PACKET, SWITCH, &mut datagram)
                        .unwrap();
                    let up = Message::Up(1, core::mem::take(&mut datagram));
                    wires.send(up, self.delay(1));
                }
            }
        }
        while let Some(to) = self.home.poll_transmit(now, &mut datagram) {
            let link = usize::from(to == address(1));
            let down = Message::Down(link, core::mem::take(&mut datagram));
            wires.send(down, self.delay(link));
        }
        while let Some((key, event)) = self.home.poll_event() {
            if let Event::Receipted { up_to } = event
                && self.home.path(key).is_some_and(|path| path.path == 0)
            {
                self.kept.retain(|(counter, _)| *counter >= up_to);
            }
        }
    }
}

/// Returns the longest time without a packet of a stream of 1,000 a second, around the death of the first uplink, and the
/// number of lost packets.
fn stall(links: Links) -> (Duration, usize) {
    let mut world = Net::of(World::new(links));
    world.run_for(Duration::from_secs(3));
    for number in 0..6_000_u32 {
        if number == 4_000 {
            world.is_dead = true;
        }
        let packet = [&number.to_be_bytes()[..], &[0; 996]].concat();
        world.arrive(Message::Packet(packet));
        world.run_for(Duration::from_millis(1));
    }
    world.run_for(Duration::from_secs(1));
    assert_eq!(world.active, 1, "the router has left the dead uplink");
    let gaps = world
        .arrived
        .windows(2)
        .map(|pair| pair[1].0.saturating_since(pair[0].0));
    let numbers: BTreeSet<u32> = world.arrived.iter().map(|(_, number)| *number).collect();
    (gaps.max().unwrap(), 6_000 - numbers.len())
}

/// The number for an unannounced loss of an uplink, with the packets that the dead path took with it.
#[test]
fn a_stream_stalls_for_at_most_two_round_trips_one_of_the_new_uplink_and_50_ms_and_loses_nothing() {
    for (old, new, jitter_us) in [
        (10, 40, 0),
        (20, 60, 500),
        (50, 50, 0),
        (50, 80, 2_000),
        (80, 20, 4_000),
        (600, 60, 0),
    ] {
        let links = Links {
            delays: [old, new].map(|round_trip| Duration::from_millis(round_trip).half()),
            jitter: Duration::from_micros(jitter_us),
        };
        let (stall, lost) = stall(links);
        let limit = Duration::from_millis(2 * old + new + 50);
        println!(
            "{old} ms to {new} ms, jitter {jitter_us} µs: stall {stall}, limit {limit}, {lost} lost"
        );
        assert!(stall <= limit, "{old} ms to {new} ms: {stall} of {limit}");
        assert_eq!(lost, 0, "{old} ms to {new} ms");
    }
}
