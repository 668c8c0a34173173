//! The driver of one node: passes time, packets and link events to the node, and sends its packets.
//!
//! One thread does everything, and sleeps in between. The driver queues no packets: a packet that a device does not
//! take is counted and lost, as on any link.

use crate::engine::{Engine, Outlet, Owner};
use crate::gateway::signals::{LinkSignal, Source};
use crate::medium::{MediumEvent, News, Received};
use crate::port::Port;
use baton_linux::addresses::AddressMonitor;
use baton_linux::links::LinkMonitor;
use baton_linux::netlink::RouteSocket;
use baton_linux::readiness::{set_slack, wait_readable};
use baton_proto::host::Host;
use baton_proto::interface::{InterfaceId, LinkEvent};
use baton_proto::packet::Packet;
use baton_proto::time::{Duration, Instant};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Maximum number of packets taken from one device before the others have their turn: as many as one read of a socket
/// gives, so that what they cause leaves together.
const BATCH: usize = 64;

/// Lateness of short waits, which a fast link makes many of: fewer are then needed (chosen: a link of 1 Gbit/s sends 20 full
/// packets in this time, which leave together, and a path makes up for four times as much).
const LATENESS: Duration = Duration::from_micros(250);
/// Lateness of other waits: the kernel's default.
const LEAST_LATENESS: Duration = Duration::from_micros(50);
/// Waits below this are short (chosen: below the time of a packet at 20 Mbit/s, where a late one makes a queue).
const SHORT_WAIT: Duration = Duration::from_micros(500);
/// Longest time for which packets wait for others to leave with them, while more are taken in. Packets that a link has
/// spaced would else leave in one burst, and wait in its queue.
const LONGEST_HOLD: Duration = LATENESS;

/// Counts of packets and events carried, and of those lost. A packet that stands for several counts as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets read from devices.
    pub received: u64,
    /// Packets taken by devices.
    pub sent: u64,
    /// Packets not taken by a device: it was down, full, or gone.
    pub not_taken: u64,
    /// Received bytes that are not a valid IP packet: another version, impossible lengths, or a wrong header checksum.
    pub malformed: u64,
    /// Packets that the kernel dropped before they were read, as far as it reports them.
    pub dropped_unread: u64,
    /// Times that the kernel lost notifications of links or addresses, so that all were read again.
    pub missed_link_events: u64,
}

/// One node behind the system's monotonic clock and its ports.
pub struct Driver {
    engine: Engine,
    ports: Ports,
    links: LinkMonitor,
    addresses: AddressMonitor,
    /// Instant zero of the node's time.
    zero: std::time::Instant,
    /// Time since which packets to send may wait in the media.
    held_since: Instant,
    /// Lateness of this thread's waits, as last set.
    lateness: Duration,
    received: u64,
    malformed: u64,
}

/// Ports of a node as its outlet.
struct Ports {
    /// The ports, by the node's interfaces.
    all: Vec<Port>,
    now: Instant,
    sent: u64,
    not_taken: u64,
}

impl Outlet for Ports {
    fn send(&mut self, interface: InterfaceId, packet: &Packet) {
        match self.all[interface.0].medium.send(self.now, packet) {
            true => self.sent += 1,
            false => self.not_taken += 1,
        }
    }
}

impl Driver {
    /// Creates a driver for a node whose interfaces are these ports, in this order. The node's time begins now.
    pub fn new(
        host: Host,
        ports: Vec<Port>,
        (links, addresses): (LinkMonitor, AddressMonitor),
    ) -> Driver {
        Driver {
            engine: Engine::new(host),
            ports: Ports {
                all: ports,
                now: Instant::ZERO,
                sent: 0,
                not_taken: 0,
            },
            links,
            addresses,
            zero: std::time::Instant::now(),
            held_since: Instant::ZERO,
            lateness: LEAST_LATENESS,
            received: 0,
            malformed: 0,
        }
    }

    /// Returns the node, mutably, between two turns.
    pub fn host_mut(&mut self) -> &mut Host {
        self.engine.host_mut()
    }

    /// Takes in the forecast that the link at an interface goes down after a time, or (`None`) stays up.
    pub fn foresee(
        &mut self,
        owner: &mut impl Owner,
        (interface, left): (InterfaceId, Option<Duration>),
    ) {
        let loss = left.map(|left| self.now() + left);
        let signal = LinkSignal::Loss(Source::Forecast, loss);
        if !self.signal(owner, interface, signal) {
            let link = (interface, loss);
            self.engine
                .foresee(self.ports.now, link, owner, &mut self.ports);
        }
    }

    /// Passes a signal to the medium at an interface; returns false if that knows nothing of signals.
    pub fn signal(
        &mut self,
        owner: &mut impl Owner,
        interface: InterfaceId,
        signal: LinkSignal,
    ) -> bool {
        self.read_clock();
        let medium = &mut self.ports.all[interface.0].medium;
        let is_taken = medium.take_signal(self.ports.now, signal);
        self.take_events(interface, owner);
        is_taken
    }

    /// Returns the ports, by the node's interfaces.
    pub fn ports(&self) -> &[Port] {
        &self.ports.all
    }

    /// Returns the ports, mutably.
    pub fn ports_mut(&mut self) -> &mut [Port] {
        &mut self.ports.all
    }

    /// Returns the node's time.
    pub fn now(&self) -> Instant {
        Instant::from_nanos(u64::try_from(self.zero.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Returns the counts so far. A device that is gone no longer reports its drops.
    pub fn counts(&mut self, kernel: &mut RouteSocket) -> Counts {
        let ports = self.ports.all.iter();
        let dropped = ports.filter_map(|port| port.medium.dropped_unread(kernel).ok());
        Counts {
            received: self.received,
            sent: self.ports.sent,
            not_taken: self.ports.not_taken,
            malformed: self.malformed,
            dropped_unread: dropped.sum(),
            missed_link_events: self.links.missed() + self.addresses.missed(),
        }
    }

    /// Sleeps until the node or a medium has something to do, a packet or an event arrives, one of `others` is
    /// readable, or a maximum time has passed; then does all pending work.
    ///
    /// # Errors
    /// Errors of route netlink and of the wait. A device that cannot be read is down until it can be.
    pub fn turn(
        &mut self,
        owner: &mut impl Owner,
        others: &[BorrowedFd<'_>],
        most: Duration,
    ) -> io::Result<()> {
        // The owner may have called the node meanwhile.
        self.read_clock();
        self.engine.drain(self.ports.now, owner, &mut self.ports);
        self.flush();
        let ready = self.wait(others, most)?;
        // Actions due before a packet or an event arrived come before it.
        self.read_clock();
        self.held_since = self.ports.now;
        self.engine.advance(self.ports.now, owner, &mut self.ports);
        self.advance_media(owner);
        if ready.changes {
            self.take_changes(owner)?;
        }
        for place in ready.ports {
            self.take_packets(InterfaceId(place), owner);
        }
        self.flush();
        Ok(())
    }

    fn read_clock(&mut self) {
        self.ports.now = self.now();
    }

    /// Makes media send their waiting packets.
    fn flush(&mut self) {
        self.held_since = self.ports.now;
        for port in &mut self.ports.all {
            port.medium.flush(self.ports.now);
        }
    }

    /// Waits for packets, changes of links, and deadlines.
    fn wait(&mut self, others: &[BorrowedFd<'_>], most: Duration) -> io::Result<Ready> {
        let node_due = self.engine.poll_timeout();
        let media = self.ports.all.iter();
        let due = media.filter_map(Port::poll_timeout);
        let due = due.chain(node_due).min();
        let left = due.map_or(most, |due| due.saturating_since(self.now()).min(most));
        self.set_lateness(left)?;
        let mut waited = vec![self.links.as_fd(), self.addresses.as_fd()];
        let mut places = Vec::new();
        for (place, port) in self.ports.all.iter().enumerate() {
            if port.rests_until.is_some() {
                continue;
            }
            for descriptor in port.medium.descriptors() {
                if !port.is_paused {
                    waited.push(descriptor);
                    places.push(place);
                }
            }
        }
        waited.extend(others);
        let found = wait_readable(&waited, std::time::Duration::from_nanos(left.as_nanos()))?;
        let mut ports: Vec<usize> = places
            .into_iter()
            .zip(&found[2..])
            .filter_map(|(place, ready)| ready.then_some(place))
            .collect();
        ports.dedup();
        Ok(Ready {
            changes: found[0] || found[1],
            ports,
        })
    }

    /// Sets how late a wait of this length may end.
    fn set_lateness(&mut self, wait: Duration) -> io::Result<()> {
        let lateness = if wait < SHORT_WAIT {
            LATENESS
        } else {
            LEAST_LATENESS
        };
        if core::mem::replace(&mut self.lateness, lateness) != lateness {
            set_slack(std::time::Duration::from_nanos(lateness.as_nanos()))?;
        }
        Ok(())
    }

    /// Runs the media's actions that are due, and passes their events to the node.
    fn advance_media(&mut self, owner: &mut impl Owner) {
        for place in 0..self.ports.all.len() {
            let (now, port) = (self.ports.now, &mut self.ports.all[place]);
            if port.poll_timeout().is_some_and(|due| due <= now) {
                port.medium.handle_timeout(now);
                self.take_packets(InterfaceId(place), owner);
            }
        }
    }

    /// Passes changes of devices and addresses to the media, and by them to the node and its owner.
    fn take_changes(&mut self, owner: &mut impl Owner) -> io::Result<()> {
        while let Some(change) = self.links.poll()? {
            for place in 0..self.ports.all.len() {
                let medium = &mut self.ports.all[place].medium;
                medium.handle_link(self.ports.now, &change);
                self.take_events(InterfaceId(place), owner);
            }
        }
        while let Some(change) = self.addresses.poll()? {
            for place in 0..self.ports.all.len() {
                let medium = &mut self.ports.all[place].medium;
                medium.handle_address(self.ports.now, &change);
                self.take_events(InterfaceId(place), owner);
            }
        }
        Ok(())
    }

    /// Passes a medium's events to the node and its owner.
    fn take_events(&mut self, interface: InterfaceId, owner: &mut impl Owner) {
        while let Some(event) = self.ports.all[interface.0].medium.poll_event() {
            let port = &mut self.ports.all[interface.0];
            match event {
                MediumEvent::Mtu(mtu) => {
                    port.mtu = mtu;
                    self.engine.host_mut().set_mtu(interface, mtu);
                }
                MediumEvent::Parameters(parameters) => {
                    port.mtu = parameters.mtu;
                    let event = LinkEvent::Parameters(parameters);
                    self.tell(owner, interface, event);
                }
                MediumEvent::Up => {
                    (port.says_up, port.rests_until) = (Some(true), None);
                    self.set_up(owner, (interface, true));
                }
                MediumEvent::Down => {
                    port.says_up = Some(false);
                    self.set_up(owner, (interface, false));
                }
                MediumEvent::LossExpected(loss) => {
                    let (now, link) = (self.ports.now, (interface, loss));
                    self.engine.foresee(now, link, owner, &mut self.ports);
                }
                MediumEvent::Restarted => {
                    let now = self.ports.now;
                    self.engine
                        .handle_restarted_peer(now, owner, &mut self.ports);
                }
                MediumEvent::News(news) => owner.handle_news(self.ports.now, interface, &news),
            }
        }
    }

    /// Tells the node of an event of a medium.
    fn tell(&mut self, owner: &mut impl Owner, interface: InterfaceId, event: LinkEvent) {
        self.engine
            .handle_event(self.ports.now, (interface, event), owner, &mut self.ports);
    }

    /// Tells the node and its owner that a medium is up or down, unless they know.
    fn set_up(&mut self, owner: &mut impl Owner, (interface, is_up): (InterfaceId, bool)) {
        let port = &mut self.ports.all[interface.0];
        if port.is_up.replace(is_up) != Some(is_up) {
            self.engine
                .handle_link(self.ports.now, (interface, is_up), owner, &mut self.ports);
        }
    }

    /// Takes in the packets at a port. A port that cannot be read is down for the node until it can be.
    fn take_packets(&mut self, interface: InterfaceId, owner: &mut impl Owner) {
        for _ in 0..BATCH {
            let medium = &mut self.ports.all[interface.0].medium;
            let received = medium.receive(self.ports.now);
            self.take_events(interface, owner);
            match received {
                Ok(received) => {
                    let port = &mut self.ports.all[interface.0];
                    let has_rested = port.rests_until.take().is_some();
                    if let Some(is_up) = port.says_up.filter(|_| has_rested) {
                        self.set_up(owner, (interface, is_up));
                    }
                    match received {
                        Some(received) => self.take_packet((interface, received), owner),
                        None => return,
                    }
                }
                Err(error) => {
                    let now = self.ports.now;
                    if self.ports.all[interface.0].rest(now) {
                        let news = News::of(format!("cannot be read: {error}"));
                        owner.handle_news(now, interface, &news);
                    }
                    return self.set_up(owner, (interface, false));
                }
            }
        }
    }

    /// Takes in a packet read from a port.
    fn take_packet(
        &mut self,
        (interface, received): (InterfaceId, Received),
        owner: &mut impl Owner,
    ) {
        self.received += 1;
        self.read_clock();
        let now = self.ports.now;
        self.engine.advance(now, owner, &mut self.ports);
        match received {
            Ok(packet) => {
                let arrived = (interface, packet);
                self.engine
                    .handle_packet(now, arrived, owner, &mut self.ports);
            }
            Err(_) => self.malformed += 1,
        }
        if now.saturating_since(self.held_since) >= LONGEST_HOLD {
            self.flush();
        }
    }
}

/// Results of a wait: changes of links or addresses, and the indices of ports with packets.
struct Ready {
    changes: bool,
    ports: Vec<usize>,
}
