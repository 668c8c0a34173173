//! One end's node with its media, without its driver, clock and devices: the input determines the time and packets.

use baton_daemon::config::{self, Config};
use baton_daemon::engine::{Engine, Outlet, Owner};
use baton_daemon::medium::{Medium, MediumEvent};
use baton_daemon::node;
use baton_daemon::tunnel::pieces;
use baton_linux::addresses::AddressChange;
use baton_linux::links::LinkChange;
use baton_linux::offload;
use baton_proto::host::{Host, HostEvent};
use baton_proto::interface::{InterfaceId, LinkEvent};
use baton_proto::mobility::attachment::Signal;
use baton_proto::packet::Packet;
use baton_proto::time::Instant;
use std::collections::VecDeque;

/// Most packets kept by the kernel behind a node.
const MOST_KEPT: usize = 64;
/// Turns of a medium at one moment, more than it can ever need.
const MOST_TURNS: usize = 10_000;

/// A node, and the media behind its first interfaces. Behind the last interface is a kernel.
pub struct Node {
    engine: Engine,
    ports: Ports,
    inside: InterfaceId,
    is_up: Vec<Option<bool>>,
    log: Log,
}

struct Ports {
    media: Vec<Box<dyn Medium>>,
    now: Instant,
    /// Newest packets for the kernel.
    kernel: VecDeque<Vec<u8>>,
}

/// Events of the node: registrations.
#[derive(Default)]
struct Log {
    registered: usize,
}

impl Owner for Log {
    fn handle_event(&mut self, _: Instant, _: &mut Host, event: HostEvent) {
        if let HostEvent::Layer(wording) = event {
            self.registered += usize::from(wording.name == "Registered");
        }
    }

    fn handle_attachment(&mut self, _: Instant, _: Signal) {}

    fn handle_link(&mut self, _: Instant, _: (InterfaceId, bool)) {}
}

impl Outlet for Ports {
    fn send(&mut self, interface: InterfaceId, packet: &Packet) {
        if let Some(medium) = self.media.get_mut(interface.0) {
            medium.send(self.now, packet);
            return;
        }
        let mut bytes = Vec::new();
        packet.encode(&mut bytes);
        if self.kernel.len() == MOST_KEPT {
            self.kernel.pop_front();
        }
        self.kernel.push_back(bytes);
    }
}

impl Node {
    /// Creates the node of a configuration whose interfaces are the media, and one to the kernel.
    pub fn new(text: &str, names: &[&str], media: Vec<Box<dyn Medium>>) -> Node {
        let config = config::parse::<Config>(text, "node.toml").expect("a configuration");
        let interfaces: Vec<(&str, u32)> = names.iter().map(|name| (*name, 1500)).collect();
        let host = node::host(&config, &interfaces, || Ok([7; 16])).expect("no randomness");
        let inside = InterfaceId(media.len());
        let mut node = Node {
            engine: Engine::new(host),
            is_up: vec![None; names.len()],
            ports: Ports {
                media,
                now: Instant::ZERO,
                kernel: VecDeque::new(),
            },
            inside,
            log: Log::default(),
        };
        node.set_up(inside, true);
        node
    }

    /// Returns the media.
    pub fn media(&mut self) -> &mut [Box<dyn Medium>] {
        &mut self.ports.media
    }

    /// Returns the number of the node's registrations.
    pub fn registered(&self) -> usize {
        self.log.registered
    }

    /// Takes out the packets received by the kernel.
    pub fn take_delivered(&mut self) -> VecDeque<Vec<u8>> {
        core::mem::take(&mut self.ports.kernel)
    }

    /// Returns the next deadline.
    pub fn poll_timeout(&mut self) -> Option<Instant> {
        let due = self.ports.media.iter().filter_map(|one| one.poll_timeout());
        due.chain(self.engine.poll_timeout()).min()
    }

    /// Performs due actions, takes in received packets, and sends everything that is due.
    pub fn turn(&mut self, now: Instant) {
        self.ports.now = now;
        self.engine.advance(now, &mut self.log, &mut self.ports);
        for place in 0..self.ports.media.len() {
            let medium = &mut self.ports.media[place];
            if medium.poll_timeout().is_some_and(|due| due <= now) {
                medium.handle_timeout(now);
            }
            self.take_packets(InterfaceId(place));
        }
        self.engine.drain(now, &mut self.log, &mut self.ports);
        for medium in &mut self.ports.media {
            medium.flush(now);
        }
    }

    /// Takes in a frame of the kernel's.
    pub fn take_frame(&mut self, now: Instant, mut frame: Vec<u8>) {
        self.ports.now = now;
        let Some(packets) = offload::read_frame(&mut frame) else {
            return;
        };
        if let Ok(packet) = pieces::read(packets.whole()) {
            let arrived = (self.inside, packet);
            self.engine
                .handle_packet(now, arrived, &mut self.log, &mut self.ports);
        }
    }

    /// Takes in a change of the kernel's interface to a medium.
    pub fn take_link(&mut self, now: Instant, place: usize, change: &LinkChange) {
        self.ports.now = now;
        self.ports.media[place].handle_link(now, change);
        self.take_events(InterfaceId(place));
    }

    /// Takes in the kernel's address of an uplink's device.
    pub fn take_address(&mut self, now: Instant, place: usize, change: &AddressChange) {
        self.ports.now = now;
        self.ports.media[place].handle_address(now, change);
        self.take_events(InterfaceId(place));
    }

    fn take_packets(&mut self, interface: InterfaceId) {
        for _ in 0..MOST_TURNS {
            let received = self.ports.media[interface.0].receive(self.ports.now);
            self.take_events(interface);
            match received {
                Ok(Some(Ok(packet))) => {
                    let (now, arrived) = (self.ports.now, (interface, packet));
                    self.engine
                        .handle_packet(now, arrived, &mut self.log, &mut self.ports);
                }
                Ok(Some(Err(_))) => {}
                Ok(None) => return,
                Err(error) => panic!("a socket: {error}"),
            }
        }
        panic!("packets without end");
    }

    fn take_events(&mut self, interface: InterfaceId) {
        while let Some(event) = self.ports.media[interface.0].poll_event() {
            let now = self.ports.now;
            match event {
                MediumEvent::Up => self.set_up(interface, true),
                MediumEvent::Down => self.set_up(interface, false),
                MediumEvent::LossExpected(loss) => {
                    let link = (interface, loss);
                    self.engine
                        .foresee(now, link, &mut self.log, &mut self.ports);
                }
                MediumEvent::Restarted => {
                    self.engine
                        .handle_restarted_peer(now, &mut self.log, &mut self.ports);
                }
                MediumEvent::Parameters(parameters) => {
                    let event = (interface, LinkEvent::Parameters(parameters));
                    self.engine
                        .handle_event(now, event, &mut self.log, &mut self.ports);
                }
                MediumEvent::Mtu(mtu) => self.engine.host_mut().set_mtu(interface, mtu),
                MediumEvent::News(news) => assert!(!news.to_string().is_empty()),
            }
        }
    }

    fn set_up(&mut self, interface: InterfaceId, is_up: bool) {
        if self.is_up[interface.0].replace(is_up) != Some(is_up) {
            let (now, link) = (self.ports.now, (interface, is_up));
            self.engine
                .handle_link(now, link, &mut self.log, &mut self.ports);
        }
    }
}
