//! Hosts and the wires between them. A test calls hosts, lets time pass, and examines the events of all hosts and the
//! packets on all wires, which are recorded with their times.

use super::{Machines, Wires};
use crate::host::{Host, HostEvent, SocketEvent, SocketId, Verdict};
use crate::interface::InterfaceId;
use crate::packet::Packet;
use crate::time::{Duration, Instant};
use core::net::{IpAddr, Ipv4Addr};

/// A wire's decision about a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Passage {
    /// The packet arrives after the wire's delay.
    Arrives,
    /// The packet is lost.
    Lost,
    /// A copy arrives at each of these times after the wire's delay.
    Copies(Vec<Duration>),
}

/// Entry of a packet into a wire.
#[derive(Clone, Copy, Debug)]
pub struct Entering {
    /// Time of its entry.
    pub at: Instant,
    /// Number of packets that entered any wire earlier.
    pub number: u64,
    /// The sending host.
    pub from: usize,
    /// The host at the other end.
    pub to: usize,
    /// The interface by which it leaves.
    pub interface: InterfaceId,
}

/// The far end of a wire.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    /// The host there.
    pub to: usize,
    /// Its interface.
    pub interface: InterfaceId,
    /// Delay of the wire.
    pub delay: Duration,
}

/// A packet that entered a wire.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Time of its entry.
    pub at: Instant,
    /// The sending host.
    pub from: usize,
    /// The host at the other end.
    pub to: usize,
    /// The interface by which it left.
    pub interface: InterfaceId,
    /// The packet as sent.
    pub packet: Packet,
}

/// A packet on a wire, with the place of its arrival.
#[derive(Clone, Debug)]
pub struct Arriving {
    /// The host at the other end.
    pub to: usize,
    /// Its interface.
    pub interface: InterfaceId,
    /// The packet.
    pub packet: Packet,
}

/// An event of a host.
#[derive(Clone, Debug, PartialEq)]
pub struct Logged {
    /// Time of the event.
    pub at: Instant,
    /// The host.
    pub host: usize,
    /// The event.
    pub event: HostEvent,
}

/// Decision of the wires about each packet; it may change the packet.
type Decide = Box<dyn FnMut(&mut Packet, Entering) -> Passage>;

/// The wire at an interface of a host, on which a packet leaves; `None` if there is none.
type Topology = Box<dyn FnMut(usize, InterfaceId, &Packet) -> Option<Hop>>;

/// Hosts and the wires between them.
pub struct Hosts {
    /// The hosts; after calling one, let the network run.
    pub hosts: Vec<Host>,
    /// Events so far, in order.
    pub log: Vec<Logged>,
    /// Packets that entered wires so far, in order.
    pub sent: Vec<Sent>,
    topology: Topology,
    decide: Decide,
}

/// Returns the address of a host in a row.
pub fn address(host: usize) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, host as u8 + 1))
}

/// Creates the host at this place in a row of so many.
fn in_row(place: usize, count: usize) -> Host {
    let mut host = Host::new(address(place), [place as u8 + 1; 16]);
    let towards_start = (place > 0).then(|| host.add_interface(1500));
    let towards_end = (place + 1 < count).then(|| host.add_interface(1500));
    let routes = host.routes_mut();
    routes.set_default(towards_end.or(towards_start));
    for other in 0..count {
        let towards = if other < place {
            towards_start
        } else {
            towards_end
        };
        if let Some(interface) = towards.filter(|_| other != place) {
            routes.set(address(other), interface);
        }
    }
    host
}

impl Hosts {
    /// Creates a row of hosts with MTUs of 1500 bytes, and between each two neighbours a wire with one of these delays.
    /// Host `n` has the address 10.0.0.`n + 1`; its interfaces, from 0 on, lead to the previous host, if there is one,
    /// and to the next.
    pub fn row(delays: &[Duration]) -> Hosts {
        let count = delays.len() + 1;
        let delays = delays.to_vec();
        let hosts = (0..count).map(|place| in_row(place, count)).collect();
        Hosts::new(hosts, move |from, interface, _| {
            let to = match (from, interface.0) {
                (0, _) => 1,
                (_, 0) => from - 1,
                _ => from + 1,
            };
            Some(Hop {
                to,
                interface: InterfaceId(usize::from(from > to && to > 0)),
                delay: delays[from.min(to)],
            })
        })
    }

    /// Joins hosts by wires.
    pub fn new(
        hosts: Vec<Host>,
        topology: impl FnMut(usize, InterfaceId, &Packet) -> Option<Hop> + 'static,
    ) -> Hosts {
        Hosts {
            hosts,
            log: Vec::new(),
            sent: Vec::new(),
            topology: Box::new(topology),
            decide: Box::new(|_, _| Passage::Arrives),
        }
    }

    /// Replaces the wires; packets on the old ones still arrive.
    pub fn rewire(
        &mut self,
        topology: impl FnMut(usize, InterfaceId, &Packet) -> Option<Hop> + 'static,
    ) {
        self.topology = Box::new(topology);
    }

    /// Sets the function that decides about each packet from now on.
    pub fn decide(&mut self, decide: impl FnMut(&mut Packet, Entering) -> Passage + 'static) {
        self.decide = Box::new(decide);
    }

    /// Returns the time of the first such event of a socket at a host.
    pub fn seen(&self, host: usize, wanted: SocketEvent) -> Option<Instant> {
        let is_wanted = |logged: &&Logged| {
            let matches =
                matches!(logged.event, HostEvent::Socket { event, .. } if event == wanted);
            logged.host == host && matches
        };
        self.log.iter().find(is_wanted).map(|logged| logged.at)
    }

    /// Returns the sockets that a host has accepted.
    pub fn accepted(&self, host: usize) -> Vec<SocketId> {
        let of = |logged: &Logged| match logged.event {
            HostEvent::Accepted { socket, .. } if logged.host == host => Some(socket),
            _ => None,
        };
        self.log.iter().filter_map(of).collect()
    }

    fn enter(
        &mut self,
        from: usize,
        interface: InterfaceId,
        mut packet: Packet,
        wires: &mut Wires<Arriving>,
    ) {
        let Some(hop) = (self.topology)(from, interface, &packet) else {
            return;
        };
        let (at, to) = (wires.now(), hop.to);
        let entering = Entering {
            at,
            number: self.sent.len() as u64,
            from,
            to,
            interface,
        };
        self.sent.push(Sent {
            at,
            from,
            to,
            interface,
            packet: packet.clone(),
        });
        let later = match (self.decide)(&mut packet, entering) {
            Passage::Arrives => vec![Duration::ZERO],
            Passage::Lost => Vec::new(),
            Passage::Copies(later) => later,
        };
        for later in later {
            let arriving = Arriving {
                to,
                interface: hop.interface,
                packet: packet.clone(),
            };
            wires.send(arriving, hop.delay + later);
        }
    }
}

impl Machines for Hosts {
    type Message = Arriving;

    fn poll_timeout(&mut self) -> Option<Instant> {
        self.hosts.iter_mut().filter_map(Host::poll_timeout).min()
    }

    fn handle_timeout(&mut self, now: Instant) {
        for host in &mut self.hosts {
            if host.poll_timeout().is_some_and(|due| due <= now) {
                host.handle_timeout(now);
            }
        }
    }

    fn handle_arrival(&mut self, arriving: Arriving, wires: &mut Wires<Arriving>) {
        let Arriving {
            to,
            interface,
            mut packet,
        } = arriving;
        let (now, host) = (wires.now(), &mut self.hosts[to]);
        let length = packet.wire_length();
        match host.route(now, interface, &mut packet, length) {
            Verdict::Local => host.handle_packet(now, interface, packet),
            Verdict::Forward(out) => self.enter(to, out, packet, wires),
            Verdict::Discard => {}
        }
    }

    fn settle(&mut self, wires: &mut Wires<Arriving>) {
        let at = wires.now();
        loop {
            let mut is_quiet = true;
            for host in 0..self.hosts.len() {
                while let Some(event) = self.hosts[host].poll_event() {
                    is_quiet = false;
                    self.log.push(Logged { at, host, event });
                }
                while let Some((interface, packet)) = self.hosts[host].poll_transmit(at) {
                    is_quiet = false;
                    self.enter(host, interface, packet, wires);
                }
                while self.hosts[host].poll_changed().is_some() {}
            }
            if is_quiet {
                return;
            }
        }
    }
}
