//! The driver of one node: it hands the node the time, packets, and events of links, and carries packets away.
//!
//! One thread does all of it and sleeps in between. The driver holds no packet: what a device does not take is counted and lost,
//! as on any link.

use crate::port::Port;
use baton_linux::links::{LinkChange, LinkMonitor};
use baton_linux::netlink::RouteSocket;
use baton_linux::readiness::wait_readable;
use baton_proto::host::{Host, HostEvent, Verdict};
use baton_proto::interface::{InterfaceId, LinkEvent};
use baton_proto::packet::Packet;
use baton_proto::time::{Duration, Instant};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Packets taken from one device before the others have their turn.
const BATCH: usize = 16;
/// Longest packet that a kernel hands over, in bytes.
const LONGEST_PACKET: usize = 65_536;

/// The owner of a node: its applications, and its choice of links.
pub trait Owner {
    /// Takes an event of the node.
    fn handle_event(&mut self, now: Instant, host: &mut Host, event: HostEvent);

    /// Hears that the device of an interface is up or down, after the node has.
    fn handle_device(&mut self, now: Instant, host: &mut Host, device: (InterfaceId, bool));
}

/// Packets and events that the driver has carried, and those that it could not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets read from devices.
    pub received: u64,
    /// Packets that devices have taken.
    pub sent: u64,
    /// Packets that a device did not take: it was down, full, or gone.
    pub not_taken: u64,
    /// Received bytes that are no IP packet: another version, impossible lengths, or a wrong header checksum.
    pub malformed: u64,
    /// Packets that the kernel could not keep until they were read, as far as it says.
    pub dropped_unread: u64,
    /// Times that the kernel had no room to tell of links, and all were looked at anew.
    pub missed_link_events: u64,
}

/// One node behind the system's monotonic clock and its ports.
pub struct Driver {
    host: Host,
    /// By the node's interfaces.
    ports: Vec<Port>,
    links: LinkMonitor,
    /// The node's time zero.
    zero: std::time::Instant,
    counts: Counts,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
}

impl Driver {
    /// A node whose interfaces are these ports, in this order. Its time begins now.
    pub fn new(host: Host, ports: Vec<Port>, links: LinkMonitor) -> Driver {
        Driver {
            host,
            ports,
            links,
            zero: std::time::Instant::now(),
            counts: Counts::default(),
            incoming: vec![0; LONGEST_PACKET],
            outgoing: Vec::with_capacity(LONGEST_PACKET),
        }
    }

    /// The node, to call on between two turns.
    pub fn host_mut(&mut self) -> &mut Host {
        &mut self.host
    }

    /// The ports, by the node's interfaces.
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// The node's time.
    pub fn now(&self) -> Instant {
        Instant::from_nanos(u64::try_from(self.zero.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Returns the counts so far. A device that is gone no longer tells what it has dropped.
    pub fn counts(&mut self, kernel: &mut RouteSocket) -> Counts {
        let ports = self.ports.iter();
        let dropped = ports.filter_map(|port| port.dropped_unread(kernel).ok());
        Counts {
            dropped_unread: dropped.sum(),
            missed_link_events: self.links.missed(),
            ..self.counts
        }
    }

    /// Sleeps until the node has something to do, a packet or an event comes, or one of `others` is readable, at most for a
    /// time; then does what there is to do.
    ///
    /// # Errors
    /// Those of route netlink. A device that fails is down from then on.
    pub fn turn(
        &mut self,
        owner: &mut impl Owner,
        others: &[BorrowedFd<'_>],
        most: Duration,
    ) -> io::Result<()> {
        // The owner may have called on the node meanwhile.
        self.drain(owner);
        let ready = self.wait(others, most);
        // What was due before a packet or an event came happens before it.
        self.advance(owner);
        if ready[0] {
            self.take_link_changes(owner)?;
        }
        for (place, ready) in ready[1..].iter().enumerate() {
            if *ready {
                self.take_packets(InterfaceId(place), owner);
            }
        }
        Ok(())
    }

    /// Waits; returns whether there may be changes of links, and packets at each port.
    fn wait(&mut self, others: &[BorrowedFd<'_>], most: Duration) -> Vec<bool> {
        let now = self.now();
        let due = self.host.poll_timeout();
        let left = due.map_or(most, |due| due.saturating_since(now).min(most));
        let readable: Vec<usize> = (0..self.ports.len())
            .filter(|&place| self.ports[place].is_readable)
            .collect();
        let devices = readable.iter().map(|&place| self.ports[place].as_fd());
        let links = core::iter::once(self.links.as_fd());
        let waited: Vec<BorrowedFd<'_>> =
            links.chain(devices).chain(others.iter().copied()).collect();
        let found = wait_readable(&waited, std::time::Duration::from_nanos(left.as_nanos()));
        let mut ready = vec![false; self.ports.len() + 1];
        ready[0] = found[0];
        for (place, found) in readable.into_iter().zip(&found[1..]) {
            ready[place + 1] = *found;
        }
        ready
    }

    /// Does what the node has to do by now.
    fn advance(&mut self, owner: &mut impl Owner) {
        let now = self.now();
        if self.host.poll_timeout().is_some_and(|due| due <= now) {
            self.host.handle_timeout(now);
            self.drain(owner);
        }
    }

    /// Lets the node and its owner hear of devices that have changed.
    fn take_link_changes(&mut self, owner: &mut impl Owner) -> io::Result<()> {
        while let Some(change) = self.links.poll()? {
            let (index, is_up, mtu) = match change {
                LinkChange::Is(link) => (link.index, link.is_up, Some(link.mtu)),
                LinkChange::Gone(index) => (index, false, None),
            };
            let place = self.ports.iter().position(|port| port.index == index);
            let Some(interface) = place.map(InterfaceId) else {
                continue;
            };
            let port = &mut self.ports[interface.0];
            if let Some(mtu) = mtu.filter(|&mtu| mtu != port.mtu) {
                port.mtu = mtu;
                self.host.set_mtu(interface, mtu);
            }
            self.set_up(owner, (interface, is_up));
        }
        Ok(())
    }

    /// Tells the node and its owner of a device that is up or down, unless they know.
    fn set_up(&mut self, owner: &mut impl Owner, (interface, is_up): (InterfaceId, bool)) {
        let port = &mut self.ports[interface.0];
        if port.is_up.replace(is_up) == Some(is_up) {
            return;
        }
        let now = self.now();
        let event = match is_up {
            true => LinkEvent::Up,
            false => LinkEvent::Down,
        };
        self.host.handle_link(now, interface, event);
        owner.handle_device(now, &mut self.host, (interface, is_up));
        self.drain(owner);
    }

    fn take_packets(&mut self, interface: InterfaceId, owner: &mut impl Owner) {
        for _ in 0..BATCH {
            match self.ports[interface.0].receive(&mut self.incoming) {
                Ok(Some(length)) => {
                    self.advance(owner);
                    self.take_in(interface, length);
                    self.drain(owner);
                }
                Ok(None) => return,
                Err(_) => {
                    self.ports[interface.0].is_readable = false;
                    return self.set_up(owner, (interface, false));
                }
            }
        }
    }

    /// Takes in the packet of `length` bytes that was read from a port.
    fn take_in(&mut self, interface: InterfaceId, length: usize) {
        self.counts.received += 1;
        let Ok(mut packet) = Packet::verbatim(&self.incoming[..length]) else {
            self.counts.malformed += 1;
            return;
        };
        let now = self.now();
        let length = packet.wire_length();
        match self.host.route(now, &mut packet, length) {
            Verdict::Local => self.host.handle_packet(now, interface, packet),
            Verdict::Forward(interface) => self.send(interface, &packet),
            Verdict::Discard => {}
        }
    }

    /// Lets the node say all that it has to say.
    fn drain(&mut self, owner: &mut impl Owner) {
        let now = self.now();
        loop {
            while let Some(event) = self.host.poll_event() {
                owner.handle_event(now, &mut self.host, event);
            }
            while let Some((interface, packet)) = self.host.poll_transmit(now) {
                self.send(interface, &packet);
            }
            while self.host.poll_changed().is_some() {}
            // What found no route, or was too long for it, has made an event instead of a packet.
            if let Some(event) = self.host.poll_event() {
                owner.handle_event(now, &mut self.host, event);
            } else if !self.host.may_transmit() {
                return;
            }
        }
    }

    fn send(&mut self, interface: InterfaceId, packet: &Packet) {
        self.outgoing.clear();
        packet.encode(&mut self.outgoing);
        match self.ports[interface.0].send(&self.outgoing) {
            true => self.counts.sent += 1,
            false => self.counts.not_taken += 1,
        }
    }
}
