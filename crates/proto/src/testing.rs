//! A network for tests: hosts and the wires between them. A test reads as a timeline: it calls hosts, lets time pass,
//! and examines the events of all hosts and the packets on all wires, which are recorded with their times.

use crate::host::{Host, HostEvent, SocketEvent, SocketId, Verdict};
use crate::interface::InterfaceId;
use crate::packet::Packet;
use crate::time::{Duration, Instant};
use core::net::{IpAddr, Ipv4Addr};
use std::collections::BTreeMap;

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
    /// The packet as sent.
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
type Wires = Box<dyn FnMut(usize, InterfaceId, &Packet) -> Option<Hop>>;

/// Hosts and the wires between them.
pub struct Net {
    /// The hosts; after calling one, call [`Net::run_until`].
    pub hosts: Vec<Host>,
    /// Events so far, in order.
    pub log: Vec<Logged>,
    /// Packets that entered wires so far, in order.
    pub sent: Vec<Sent>,
    now: Instant,
    wires: Wires,
    decide: Decide,
    copies: u64,
    /// Packets by time of arrival and number.
    under_way: BTreeMap<(Instant, u64), (Hop, Packet)>,
}

/// Returns the address of a host in a row.
pub fn address(host: usize) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, host as u8 + 1))
}

/// Returns the time of so many milliseconds.
pub fn at(milliseconds: u64) -> Instant {
    Instant::from_millis(milliseconds)
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

impl Net {
    /// Creates a row of hosts with MTUs of 1500 bytes, and between each two neighbours a wire with one of these delays.
    /// Host `n` has the address 10.0.0.`n + 1`; its interfaces, from 0 on, lead to the previous host, if there is one,
    /// and to the next.
    pub fn row(delays: &[Duration]) -> Net {
        let count = delays.len() + 1;
        let delays = delays.to_vec();
        let hosts = (0..count).map(|place| in_row(place, count)).collect();
        Net::new(hosts, move |from, interface, _| {
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

    /// Creates a network of hosts and the wires between them.
    pub fn new(
        hosts: Vec<Host>,
        wires: impl FnMut(usize, InterfaceId, &Packet) -> Option<Hop> + 'static,
    ) -> Net {
        Net {
            hosts,
            log: Vec::new(),
            sent: Vec::new(),
            now: Instant::ZERO,
            wires: Box::new(wires),
            decide: Box::new(|_, _| Passage::Arrives),
            copies: 0,
            under_way: BTreeMap::new(),
        }
    }

    /// Replaces the wires; packets on the old ones still arrive.
    pub fn rewire(
        &mut self,
        wires: impl FnMut(usize, InterfaceId, &Packet) -> Option<Hop> + 'static,
    ) {
        self.wires = Box::new(wires);
    }

    /// Sets the function that decides about each packet from now on.
    pub fn decide(&mut self, decide: impl FnMut(&mut Packet, Entering) -> Passage + 'static) {
        self.decide = Box::new(decide);
    }

    /// Returns the present time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Runs until a time, and passes each event to `answer` as it occurs.
    pub fn run_answering(
        &mut self,
        until: Instant,
        mut answer: impl FnMut(&mut Net, usize, &HostEvent),
    ) {
        while self.step_answering(until, &mut answer) {}
    }

    /// Runs until a time.
    pub fn run_until(&mut self, until: Instant) {
        self.run_answering(until, |_, _, _| {});
    }

    /// Runs for a duration.
    pub fn run_for(&mut self, time: Duration) {
        self.run_until(self.now + time);
    }

    /// Runs to the next arrival or deadline; if there is none up to `until`, runs to that time and returns false.
    pub fn step(&mut self, until: Instant) -> bool {
        self.step_answering(until, &mut |_, _, _| {})
    }

    fn step_answering(
        &mut self,
        until: Instant,
        answer: &mut impl FnMut(&mut Net, usize, &HostEvent),
    ) -> bool {
        self.settle_answering(answer);
        let arrival = self.under_way.keys().next().map(|&(at, _)| at);
        let deadlines = self.hosts.iter_mut().filter_map(Host::poll_timeout);
        let next = deadlines.chain(arrival).min();
        let Some(next) = next.filter(|&next| next <= until) else {
            self.now = self.now.max(until);
            return false;
        };
        self.now = self.now.max(next);
        while let Some(first) = self.under_way.first_entry()
            && first.key().0 <= self.now
        {
            let (hop, packet) = first.remove();
            self.arrive(hop.to, hop.interface, packet);
            self.settle_answering(answer);
        }
        for host in &mut self.hosts {
            if host.poll_timeout().is_some_and(|due| due <= self.now) {
                host.handle_timeout(self.now);
            }
        }
        true
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

    /// Delivers a packet to a host.
    pub fn arrive(&mut self, to: usize, interface: InterfaceId, mut packet: Packet) {
        let length = packet.wire_length();
        match self.hosts[to].route(self.now, interface, &mut packet, length) {
            Verdict::Local => self.hosts[to].handle_packet(self.now, interface, packet),
            Verdict::Forward(out) => self.enter(to, out, packet),
            Verdict::Discard => {}
        }
    }

    fn enter(&mut self, from: usize, interface: InterfaceId, mut packet: Packet) {
        let Some(hop) = (self.wires)(from, interface, &packet) else {
            return;
        };
        let (at, to) = (self.now, hop.to);
        let entering = Entering {
            at,
            number: self.sent.len() as u64,
            from,
            to,
        };
        self.sent.push(Sent {
            at,
            from,
            to,
            packet: packet.clone(),
        });
        let later = match (self.decide)(&mut packet, entering) {
            Passage::Arrives => vec![Duration::ZERO],
            Passage::Lost => Vec::new(),
            Passage::Copies(later) => later,
        };
        for later in later {
            let arrives = (at + hop.delay + later, self.copies);
            self.under_way.insert(arrives, (hop, packet.clone()));
            self.copies += 1;
        }
    }

    /// Drains all hosts at the present time.
    pub fn settle(&mut self) {
        self.settle_answering(&mut |_, _, _| {});
    }

    /// Drains all hosts at the present time, and passes each event to `answer` as it occurs.
    fn settle_answering(&mut self, answer: &mut impl FnMut(&mut Net, usize, &HostEvent)) {
        loop {
            let mut is_quiet = true;
            for host in 0..self.hosts.len() {
                while let Some(event) = self.hosts[host].poll_event() {
                    is_quiet = false;
                    answer(self, host, &event);
                    let at = self.now;
                    self.log.push(Logged { at, host, event });
                }
                while let Some((interface, packet)) = self.hosts[host].poll_transmit(self.now) {
                    is_quiet = false;
                    self.enter(host, interface, packet);
                }
                while self.hosts[host].poll_changed().is_some() {}
            }
            if is_quiet {
                return;
            }
        }
    }
}
