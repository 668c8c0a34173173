//! The network: its nodes and frames under one clock.

use super::motion::{Flight, Motion};
use super::noise::Noise;
use super::{AdHocConfig, Exit, Routing};
use crate::link::agenda::Agenda;
use crate::link::config::{DirectionConfig, LinkConfig, QueueLimit, Shared};
use crate::link::queue::Offered;
use crate::link::{DropReason, End, Fate, Outcome};
use crate::packets::PacketId;
use crate::rng::Seed;
use baton_proto::packet::BitErrors;
use baton_proto::rate::DataRate;
use baton_proto::routing::aerorp::{Aerorp, AerorpConfig};
use baton_proto::routing::aodv::Aodv;
use baton_proto::routing::dsdv::Dsdv;
use baton_proto::routing::{self, Action, Datagram, HOP_LIMIT, Router};
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::aeronp::{Geolocation, TranslatedHeader};
use core::net::Ipv4Addr;
use std::collections::{BTreeMap, VecDeque};

/// Speed of light in metres a second.
const LIGHT_M_S: f64 = 299_792_458.0;
/// Address of the first node; the others follow.
const FIRST: u32 = 0x0a00_0001;
/// Nodes begin within this time of each other, so that they do not all speak at once. Chosen: AeroRP's beacon interval.
const BEGIN_WITHIN: Duration = Duration::from_secs(1);

/// A packet of the link inside the network.
#[derive(Clone, Debug)]
pub(super) struct Carried {
    /// Its number among those offered; its id may be given to another packet once it is lost.
    number: u64,
    length: u32,
    /// Bits flipped so far.
    pub(super) bit_errors: BitErrors,
}

pub(super) type Frame = routing::Frame<Carried>;

/// A task, due at a moment.
#[derive(Debug)]
enum Task {
    /// A router's deadline.
    Timer(usize),
    /// End of a node's transmission.
    Sent(usize),
    /// Arrival of a frame at a node, from another.
    Arrival(usize, usize, Frame),
    /// Arrival of a frame for a third node.
    Overhearing(usize, usize, Vec<u8>),
}

#[derive(Debug)]
struct Node {
    flight: Flight,
    router: Box<dyn Router<Carried> + Send>,
    /// Routing messages that wait.
    messages: VecDeque<Frame>,
    /// Datagrams that wait, and their bytes.
    datagrams: VecDeque<Frame>,
    bytes: u64,
    /// Frame in transmission.
    sending: Option<Frame>,
    /// Time of its timer's task, or never.
    timer: Instant,
}

/// A mobile ad hoc network as a state machine.
#[derive(Debug)]
pub(in crate::link) struct AdHoc {
    config: Shared<AdHocConfig>,
    rate: DataRate,
    limit: QueueLimit,
    noise: Noise,
    nodes: Vec<Node>,
    agenda: Agenda<Task>,
    /// Translated IP headers of packets that shapers may still hold.
    announced: BTreeMap<PacketId, TranslatedHeader>,
    /// Packets offered so far.
    offered: u64,
    /// Packets under way by number, with the end at which each was offered.
    under_way: BTreeMap<u64, (PacketId, End)>,
    fates: VecDeque<Fate>,
}

fn address(node: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(FIRST + node as u32)
}

impl AdHoc {
    /// Creates the network of `link`, at time zero. Its random draws depend on `seed` and on the link's name.
    pub fn new(config: Shared<AdHocConfig>, link: &LinkConfig, seed: Seed) -> AdHoc {
        let nodes = config.courses.iter().enumerate().map(|(index, course)| {
            let draws =
                |what: &str| seed.stream(&format!("link {} node {index} {what}", link.name));
            let begin = draws("begin").below(BEGIN_WITHIN.as_nanos());
            Node {
                flight: Flight::new(course, draws("motion")),
                router: router(&config, index, Instant::from_nanos(begin)),
                messages: VecDeque::new(),
                datagrams: VecDeque::new(),
                bytes: 0,
                sending: None,
                timer: Instant::NEVER,
            }
        });
        let mut network = AdHoc {
            rate: link.down.rate,
            limit: link.down.queue.limit,
            noise: Noise::new(&link.down.channel, &link.name, seed),
            nodes: nodes.collect(),
            agenda: Agenda::new(),
            announced: BTreeMap::new(),
            offered: 0,
            under_way: BTreeMap::new(),
            fates: VecDeque::new(),
            config,
        };
        for index in 0..network.nodes.len() {
            network.settle(index, Instant::ZERO);
        }
        network
    }

    /// Takes another rate, queue limit and noise, from the next frame on.
    pub fn reconfigure(&mut self, now: Instant, direction: &DirectionConfig) {
        self.catch_up(now);
        self.rate = direction.rate;
        self.limit = direction.queue.limit;
        self.noise.follow(&direction.channel);
    }

    /// Takes the translated IP header of a packet that is about to be offered; without one it will travel whole.
    pub fn announce(&mut self, packet: PacketId, translated: Option<TranslatedHeader>) {
        match translated {
            Some(header) => self.announced.insert(packet, header),
            None => self.announced.remove(&packet),
        };
    }

    /// Takes a packet at an end, or loses it if the link is not up.
    pub fn offer(&mut self, now: Instant, from: End, offered: Offered, is_up: bool) {
        self.catch_up(now);
        let Offered { packet, length, .. } = offered;
        let translated = self.announced.remove(&packet);
        let number = self.offered;
        self.offered += 1;
        self.under_way.insert(number, (packet, from));
        if !is_up {
            return self.lose(now, number, DropReason::LinkDown);
        }
        let node = from.index();
        let datagram = Datagram {
            source: address(node),
            destination: address(from.other().index()),
            hop_limit: HOP_LIMIT,
            congestion: false,
            corruption: false,
            translated,
            body: Carried {
                number,
                length,
                bit_errors: BitErrors::NONE,
            },
        };
        self.locate(node, now);
        self.nodes[node].router.send(now, datagram);
        self.settle(node, now);
    }

    /// Returns the next fate.
    pub fn poll(&mut self) -> Option<Fate> {
        self.fates.pop_front()
    }

    /// Returns the time of the next task, or of a fate to be polled.
    pub fn next_deadline(&self) -> Option<Instant> {
        let fate = self.fates.front().map(|fate| fate.at);
        fate.or(self.agenda.next())
    }

    /// Loses all packets.
    pub fn lose_all(&mut self, now: Instant, reason: DropReason) {
        self.catch_up(now);
        for number in self.under_way.keys().copied().collect::<Vec<_>>() {
            self.lose(now, number, reason);
        }
        for node in &mut self.nodes {
            node.datagrams.clear();
            node.bytes = 0;
        }
    }

    /// Returns the packets and bytes that wait for transmission at an end.
    pub fn queue(&self, from: End) -> (u32, u64) {
        let node = &self.nodes[from.index()];
        (node.datagrams.len() as u32, node.bytes)
    }

    /// Returns true if no packet that was offered at this end is under way.
    pub fn is_empty(&self, from: End) -> bool {
        self.under_way.values().all(|&(_, end)| end != from)
    }

    /// Carries out all tasks up to `now`.
    pub fn catch_up(&mut self, now: Instant) {
        while let Some((at, task)) = self.agenda.pop(now) {
            match task {
                Task::Timer(node) => self.time_out(node, at),
                Task::Sent(node) => self.finish(node, at),
                Task::Arrival(node, from, frame) => {
                    self.locate(node, at);
                    let router = &mut self.nodes[node].router;
                    router.handle_frame(at, address(from), frame);
                    self.settle(node, at);
                }
                Task::Overhearing(node, from, message) => {
                    self.locate(node, at);
                    let router = &mut self.nodes[node].router;
                    router.handle_overheard(at, address(from), &message);
                    self.settle(node, at);
                }
            }
        }
    }

    fn time_out(&mut self, node: usize, at: Instant) {
        if self.nodes[node].timer != at {
            return;
        }
        self.nodes[node].timer = Instant::NEVER;
        self.locate(node, at);
        let router = &mut self.nodes[node].router;
        if router.next_deadline() <= at {
            router.handle_timeout(at);
        }
        self.settle(node, at);
    }

    /// Tells a router the state of its node's queue, and where the node is if that matters to it.
    fn locate(&mut self, node: usize, now: Instant) {
        let limit = self.limit;
        let Node {
            flight,
            router,
            datagrams,
            bytes,
            ..
        } = &mut self.nodes[node];
        router.note_queue(limit.is_half_full(datagrams.len() as u32, *bytes));
        if router.reads_geolocation() {
            let (position_m, velocity_m_s) = flight.at(now);
            router.locate(Geolocation::new(position_m, velocity_m_s));
        }
    }

    /// Carries out a router's actions, and sets its timer.
    fn settle(&mut self, node: usize, now: Instant) {
        while let Some(action) = self.nodes[node].router.poll() {
            match action {
                Action::Send(frame) => self.enqueue(node, now, frame),
                Action::Deliver(datagram) => {
                    let outcome = Outcome::Delivered {
                        exit: exit(&datagram),
                        bit_errors: datagram.body.bit_errors,
                    };
                    self.end(now, datagram.body.number, outcome);
                }
                Action::Drop(datagram, reason) => {
                    let reason = match reason {
                        routing::DropReason::Full => DropReason::QueueFull,
                        routing::DropReason::NoRoute | routing::DropReason::HopLimit => {
                            DropReason::NoRoute
                        }
                    };
                    self.lose(now, datagram.body.number, reason);
                }
            }
        }
        let Node { router, timer, .. } = &mut self.nodes[node];
        let deadline = router.next_deadline().max(now);
        if deadline < *timer {
            *timer = deadline;
            self.agenda.push(deadline, Task::Timer(node));
        }
    }

    fn enqueue(&mut self, node: usize, now: Instant, frame: Frame) {
        let Node {
            messages,
            datagrams,
            bytes,
            ..
        } = &mut self.nodes[node];
        match &frame.datagram {
            None => messages.push_back(frame),
            Some(datagram) => {
                let Carried { number, length, .. } = datagram.body;
                if !self.under_way.contains_key(&number) {
                    return;
                }
                if !self.limit.has_room(datagrams.len(), *bytes, length) {
                    return self.lose(now, number, DropReason::QueueFull);
                }
                *bytes += u64::from(length);
                datagrams.push_back(frame);
            }
        }
        self.start(node, now);
    }

    /// Begins to send the next frame if none is being sent.
    fn start(&mut self, node: usize, now: Instant) {
        let Node {
            messages,
            datagrams,
            bytes,
            sending,
            ..
        } = &mut self.nodes[node];
        if sending.is_some() {
            return;
        }
        let next = messages.pop_front().or_else(|| datagrams.pop_front());
        let Some(frame) = next else {
            return;
        };
        let length = frame.datagram.as_ref().map_or(0, |it| it.body.length);
        *bytes -= u64::from(length);
        let bits = 8 * (frame.message.len() as u64 + body_bytes(&frame));
        let time = self.rate.transmission_time(bits).unwrap_or(Duration::MAX);
        *sending = Some(frame);
        self.agenda.push(now + time, Task::Sent(node));
    }

    /// Ends a transmission: the nodes within range receive the frame.
    fn finish(&mut self, node: usize, at: Instant) {
        let Some(frame) = self.nodes[node].sending.take() else {
            return;
        };
        let motions: Vec<Motion> = self
            .nodes
            .iter_mut()
            .map(|node| node.flight.at(at))
            .collect();
        let (here, _) = motions[node];
        let near = motions
            .iter()
            .enumerate()
            .filter_map(|(other, &(there, _))| {
                let apart: [f64; 3] = core::array::from_fn(|axis| there[axis] - here[axis]);
                let distance_m = apart.iter().map(|part| part * part).sum::<f64>().sqrt();
                let delay = Duration::from_secs_f64(distance_m / LIGHT_M_S);
                (other != node && distance_m <= self.config.range_m).then_some((other, at + delay))
            });
        let near: Vec<(usize, Instant)> = near.collect();
        match frame.receiver {
            None => {
                for &(other, when) in &near {
                    if self.noise.spares(&frame.message) {
                        let arrival = Task::Arrival(other, node, frame.clone());
                        self.agenda.push(when, arrival);
                    }
                }
            }
            Some(receiver) => self.hand_over(node, at, (receiver, frame), &near),
        }
        self.start(node, at);
    }

    /// Hands a frame to its receiver and its message to the others within range, or the frame back to its sender.
    fn hand_over(
        &mut self,
        node: usize,
        at: Instant,
        (receiver, mut frame): (Ipv4Addr, Frame),
        near: &[(usize, Instant)],
    ) {
        let mut arrival = None;
        for &(other, when) in near {
            if address(other) == receiver {
                arrival = Some((other, when));
            } else if self.nodes[other].router.reads_geolocation()
                && self.noise.spares(&frame.message)
            {
                let overheard = Task::Overhearing(other, node, frame.message.clone());
                self.agenda.push(when, overheard);
            }
        }
        match arrival {
            Some((other, when)) => {
                let number = frame.datagram.as_ref().map(|it| it.body.number);
                if self.noise.receive(&mut frame) {
                    self.agenda.push(when, Task::Arrival(other, node, frame));
                } else if let Some(number) = number {
                    self.lose(at, number, DropReason::ChannelError);
                }
            }
            None => {
                self.locate(node, at);
                self.nodes[node].router.handle_failure(at, frame);
                self.settle(node, at);
            }
        }
    }

    fn lose(&mut self, at: Instant, number: u64, reason: DropReason) {
        self.end(at, number, Outcome::Dropped(reason));
    }

    /// Reports the fate of a packet, unless it was reported when the link went down.
    fn end(&mut self, at: Instant, number: u64, outcome: Outcome) {
        if let Some((packet, from)) = self.under_way.remove(&number) {
            self.fates.push_back(Fate {
                packet,
                from,
                at,
                outcome,
            });
        }
    }
}

/// Returns the bytes of a frame behind its message: the packet, without an IP header that is translated.
pub(super) fn body_bytes(frame: &Frame) -> u64 {
    frame.datagram.as_ref().map_or(0, |datagram| {
        let replaced = datagram
            .translated
            .map_or(0, |_| TranslatedHeader::REPLACED);
        u64::from(datagram.body.length.saturating_sub(replaced))
    })
}

/// Returns what the header of a datagram says where it leaves the network, if that is anything.
fn exit(datagram: &Datagram<Carried>) -> Option<Box<Exit>> {
    let exit = Exit {
        congestion: datagram.congestion,
        corruption: datagram.corruption,
        translated: datagram.translated,
    };
    let says = exit.congestion || exit.corruption || exit.translated.is_some();
    says.then(|| exit.into())
}

/// Creates the router of a node. The ends of the link are destinations.
fn router(config: &AdHocConfig, node: usize, begin: Instant) -> Box<dyn Router<Carried> + Send> {
    let address = address(node);
    match config.routing {
        Routing::Aerorp { keeping, beacons } => Box::new(Aerorp::new(AerorpConfig {
            address,
            range_m: config.range_m,
            keeping,
            beacons,
            advertises: node < 2,
            begin,
        })),
        Routing::Aodv => Box::new(Aodv::new(address, begin)),
        Routing::Dsdv => Box::new(Dsdv::new(address, 0, begin)),
    }
}
