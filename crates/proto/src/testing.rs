//! A network for tests: hosts in a row, with a wire between neighbours. A test reads as a timeline: it calls on hosts, lets time run,
//! and looks at the events of all hosts, which are kept with their times.

use crate::host::{Host, HostEvent, SocketEvent, SocketId, Verdict};
use crate::interface::InterfaceId;
use crate::packet::Packet;
use crate::time::{Duration, Instant};
use core::net::{IpAddr, Ipv4Addr};
use std::collections::BTreeMap;

/// A wire's decision about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It arrives after the wire's delay.
    Arrives,
    /// It is lost.
    Lost,
}

/// Entry of a packet into a wire.
#[derive(Clone, Copy, Debug)]
pub struct Entering {
    /// Time of its entry.
    pub at: Instant,
    /// Number of packets that entered any wire before.
    pub number: u64,
    /// The host that sends it.
    pub from: usize,
    /// The neighbour at the other end.
    pub to: usize,
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

/// Hosts in a row. Host `n` has the address 10.0.0.`n + 1`, interface 0 towards the end before it, if there is one, and the next one
/// towards the end behind it.
pub struct Net {
    /// The hosts, to call on; then [`Net::run_until`].
    pub hosts: Vec<Host>,
    /// Events so far, in order.
    pub log: Vec<Logged>,
    now: Instant,
    delay: Duration,
    decide: Decide,
    entered: u64,
    /// Packets by time of arrival and number, each with the host that it comes from and the one that it comes to.
    under_way: BTreeMap<(Instant, u64), (usize, usize, Packet)>,
}

/// Returns the address of a host in the row.
pub fn address(host: usize) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, host as u8 + 1))
}

impl Net {
    /// Creates a row of hosts with wires of this delay, over which packets of 1500 bytes go.
    pub fn row(hosts: usize, delay: Duration) -> Net {
        let host = |number: usize| {
            let mut host = Host::new(address(number), [number as u8 + 1; 16]);
            let towards_start = (number > 0).then(|| host.add_interface(1500));
            let towards_end = (number + 1 < hosts).then(|| host.add_interface(1500));
            let routes = host.routes_mut();
            routes.set_default(towards_end.or(towards_start));
            for before in 0..number {
                if let Some(interface) = towards_start {
                    routes.set(address(before), interface);
                }
            }
            host
        };
        Net {
            hosts: (0..hosts).map(host).collect(),
            log: Vec::new(),
            now: Instant::ZERO,
            delay,
            decide: Box::new(|_, _| Passage::Arrives),
            entered: 0,
            under_way: BTreeMap::new(),
        }
    }

    /// Lets wires decide about each packet from now on.
    pub fn decide(&mut self, decide: impl FnMut(&mut Packet, Entering) -> Passage + 'static) {
        self.decide = Box::new(decide);
    }

    /// Returns the present time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Runs until a time, and answers each event by `answer` as it comes.
    pub fn run_answering(
        &mut self,
        until: Instant,
        mut answer: impl FnMut(&mut Net, usize, &HostEvent),
    ) {
        self.settle_answering(&mut answer);
        while let Some(next) = self.next().filter(|&next| next <= until) {
            self.now = self.now.max(next);
            while let Some((&(at, number), _)) = self.under_way.first_key_value()
                && at <= self.now
                && let Some((from, to, packet)) = self.under_way.remove(&(at, number))
            {
                self.arrive(from, to, packet);
                self.settle_answering(&mut answer);
            }
            for host in &mut self.hosts {
                if host.poll_timeout().is_some_and(|due| due <= self.now) {
                    host.handle_timeout(self.now);
                }
            }
            self.settle_answering(&mut answer);
        }
        self.now = self.now.max(until);
    }

    /// Runs until a time.
    pub fn run_until(&mut self, until: Instant) {
        self.run_answering(until, |_, _, _| {});
    }

    /// Returns the time at which a host saw an event of a socket first.
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

    fn next(&mut self) -> Option<Instant> {
        let arrival = self.under_way.keys().next().map(|&(at, _)| at);
        let deadlines = self.hosts.iter_mut().filter_map(Host::poll_timeout);
        deadlines.chain(arrival).min()
    }

    fn arrive(&mut self, from: usize, to: usize, mut packet: Packet) {
        let interface = InterfaceId(usize::from(from > to && to > 0));
        let length = packet.wire_length();
        match self.hosts[to].route(self.now, interface, &mut packet, length) {
            Verdict::Local => self.hosts[to].handle_packet(self.now, interface, packet),
            Verdict::Forward(out) => self.enter(to, out, packet),
            Verdict::Discard => {}
        }
    }

    fn enter(&mut self, from: usize, interface: InterfaceId, mut packet: Packet) {
        let to = match (from, interface.0) {
            (0, _) => 1,
            (_, 0) => from - 1,
            _ => from + 1,
        };
        let number = self.entered;
        self.entered += 1;
        let entering = Entering {
            at: self.now,
            number,
            from,
            to,
        };
        if (self.decide)(&mut packet, entering) == Passage::Arrives {
            let arrives = (self.now + self.delay, number);
            self.under_way.insert(arrives, (from, to, packet));
        }
    }

    /// Drains all hosts at the present time, and answers each event as it comes.
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
