//! The driver of one node: it hands the node the time, packets, and events of links, and carries packets away.
//!
//! One thread does all of it and sleeps in between. The driver holds no packet: what a device does not take is counted and lost,
//! as on any link.

use crate::engine::{Engine, Outlet, Owner};
use crate::port::Port;
use baton_linux::links::{LinkChange, LinkMonitor};
use baton_linux::netlink::RouteSocket;
use baton_linux::readiness::wait_readable;
use baton_proto::host::Host;
use baton_proto::interface::InterfaceId;
use baton_proto::packet::Packet;
use baton_proto::time::{Duration, Instant};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Packets taken from one device before the others have their turn.
const BATCH: usize = 16;
/// Longest packet that a kernel hands over, in bytes.
const LONGEST_PACKET: usize = 65_536;

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
    engine: Engine,
    ports: Ports,
    links: LinkMonitor,
    /// The node's time zero.
    zero: std::time::Instant,
    received: u64,
    malformed: u64,
    incoming: Vec<u8>,
}

/// The ports of a node as its way out.
struct Ports {
    /// By the node's interfaces.
    all: Vec<Port>,
    sent: u64,
    not_taken: u64,
    outgoing: Vec<u8>,
}

impl Outlet for Ports {
    fn send(&mut self, interface: InterfaceId, packet: &Packet) {
        self.outgoing.clear();
        packet.encode(&mut self.outgoing);
        match self.all[interface.0].send(&self.outgoing) {
            true => self.sent += 1,
            false => self.not_taken += 1,
        }
    }
}

impl Driver {
    /// Drives a node whose interfaces are these ports, in this order. Its time begins now.
    pub fn new(host: Host, ports: Vec<Port>, links: LinkMonitor) -> Driver {
        Driver {
            engine: Engine::new(host),
            ports: Ports {
                all: ports,
                sent: 0,
                not_taken: 0,
                outgoing: Vec::with_capacity(LONGEST_PACKET),
            },
            links,
            zero: std::time::Instant::now(),
            received: 0,
            malformed: 0,
            incoming: vec![0; LONGEST_PACKET],
        }
    }

    /// Returns the node, to call on between two turns.
    pub fn host_mut(&mut self) -> &mut Host {
        self.engine.host_mut()
    }

    /// Returns the ports, by the node's interfaces.
    pub fn ports(&self) -> &[Port] {
        &self.ports.all
    }

    /// Returns the node's time.
    pub fn now(&self) -> Instant {
        Instant::from_nanos(u64::try_from(self.zero.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Returns the counts so far. A device that is gone no longer tells what it has dropped.
    pub fn counts(&mut self, kernel: &mut RouteSocket) -> Counts {
        let ports = self.ports.all.iter();
        let dropped = ports.filter_map(|port| port.dropped_unread(kernel).ok());
        Counts {
            received: self.received,
            sent: self.ports.sent,
            not_taken: self.ports.not_taken,
            malformed: self.malformed,
            dropped_unread: dropped.sum(),
            missed_link_events: self.links.missed(),
        }
    }

    /// Sleeps until the node has something to do, a packet or an event comes, or one of `others` is readable, at most for a
    /// time; then does what there is to do.
    ///
    /// # Errors
    /// Errors of route netlink and of the wait. A device that fails is down from then on.
    pub fn turn(
        &mut self,
        owner: &mut impl Owner,
        others: &[BorrowedFd<'_>],
        most: Duration,
    ) -> io::Result<()> {
        // The owner may have called on the node meanwhile.
        self.engine.drain(self.now(), owner, &mut self.ports);
        let ready = self.wait(others, most)?;
        // Timers that were due before a packet or an event came run before it.
        self.engine.advance(self.now(), owner, &mut self.ports);
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
    fn wait(&mut self, others: &[BorrowedFd<'_>], most: Duration) -> io::Result<Vec<bool>> {
        let now = self.now();
        let due = self.engine.poll_timeout();
        let left = due.map_or(most, |due| due.saturating_since(now).min(most));
        let ports = &self.ports.all;
        let readable: Vec<usize> = (0..ports.len())
            .filter(|&place| ports[place].is_readable)
            .collect();
        let devices = readable.iter().map(|&place| ports[place].as_fd());
        let links = core::iter::once(self.links.as_fd());
        let waited: Vec<BorrowedFd<'_>> =
            links.chain(devices).chain(others.iter().copied()).collect();
        let found = wait_readable(&waited, std::time::Duration::from_nanos(left.as_nanos()))?;
        let mut ready = vec![false; ports.len() + 1];
        ready[0] = found[0];
        for (place, found) in readable.into_iter().zip(&found[1..]) {
            ready[place + 1] = *found;
        }
        Ok(ready)
    }

    /// Lets the node and its owner hear of devices that have changed.
    fn take_link_changes(&mut self, owner: &mut impl Owner) -> io::Result<()> {
        while let Some(change) = self.links.poll()? {
            let (index, is_up, mtu) = match change {
                LinkChange::Is(link) => (link.index, link.is_up, Some(link.mtu)),
                LinkChange::Gone(index) => (index, false, None),
            };
            let mut ports = self.ports.all.iter();
            let Some(interface) = ports.position(|port| port.index == index).map(InterfaceId)
            else {
                continue;
            };
            let port = &mut self.ports.all[interface.0];
            if let Some(mtu) = mtu.filter(|&mtu| mtu != port.mtu) {
                port.mtu = mtu;
                self.engine.host_mut().set_mtu(interface, mtu);
            }
            self.set_up(owner, (interface, is_up));
        }
        Ok(())
    }

    /// Tells the node and its owner of a device that is up or down, unless they know.
    fn set_up(&mut self, owner: &mut impl Owner, (interface, is_up): (InterfaceId, bool)) {
        let port = &mut self.ports.all[interface.0];
        if port.is_up.replace(is_up) != Some(is_up) {
            let now = self.now();
            self.engine
                .handle_link(now, (interface, is_up), owner, &mut self.ports);
        }
    }

    fn take_packets(&mut self, interface: InterfaceId, owner: &mut impl Owner) {
        for _ in 0..BATCH {
            match self.ports.all[interface.0].receive(&mut self.incoming) {
                Ok(Some(length)) => self.take_packet((interface, length), owner),
                Ok(None) => return,
                Err(_) => {
                    self.ports.all[interface.0].is_readable = false;
                    return self.set_up(owner, (interface, false));
                }
            }
        }
    }

    /// Takes in the packet of `length` bytes that was read from a port.
    fn take_packet(&mut self, (interface, length): (InterfaceId, usize), owner: &mut impl Owner) {
        self.received += 1;
        let now = self.now();
        self.engine.advance(now, owner, &mut self.ports);
        match Packet::verbatim(&self.incoming[..length]) {
            Ok(packet) => {
                let arrived = (interface, packet);
                self.engine
                    .handle_packet(now, arrived, owner, &mut self.ports);
            }
            Err(_) => self.malformed += 1,
        }
    }
}
