//! The domain of HAWAII's examples (draft-ietf-mobileip-hawaii-01, path set-up schemes), with a root above:
//!
//! ```text
//! outside -- root -- R0 -- R1 -- old base station -- mobile
//!                     \--- R2 -- new base station --/
//! ```
//! Every hop takes 10 ms. R0 is the crossover router.

mod cellular_ip;
mod hawaii;
mod hostile;
mod losses;
mod paging;

use super::*;
use crate::host::Host;
use crate::host::layer::{Arrival, Layer, Neighbor, Rank, Step};
use crate::interface::{InterfaceId, LinkEvent};
use crate::mobility::clock::Clock;
use crate::packet::IpHeader;
use crate::testing::{Entering, Hop, Hosts, Net, Passage, address, at};
use crate::time::{Duration, Instant};
use crate::wire::icmp::{Echo, IcmpMessage};
use crate::wire::micro_mobility::mobile_key;
use core::net::IpAddr;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

const OUTSIDE: usize = 0;
const ROOT: usize = 1;
const R0: usize = 2;
const R1: usize = 3;
const R2: usize = 4;
const OLD: usize = 5;
const NEW: usize = 6;
const MOBILE: usize = 7;

/// Wires between hosts. A host numbers its interfaces in this order.
const WIRES: [(usize, usize); 8] = [
    (OUTSIDE, ROOT),
    (ROOT, R0),
    (R0, R1),
    (R0, R2),
    (R1, OLD),
    (R2, NEW),
    (OLD, MOBILE),
    (NEW, MOBILE),
];
const ROUTERS: [usize; 6] = [ROOT, R0, R1, R2, OLD, NEW];

const HOP: Duration = Duration::from_millis(10);
const CARE_OF: Ipv4Addr = Ipv4Addr::new(172, 16, 0, 2);
const NETWORK_KEY: [u8; 16] = [7; 16];

const UNF: Protocol = Protocol::Hawaii(PathSetup::UnicastNonForwarding);
const MSF: Protocol = Protocol::Hawaii(PathSetup::MultipleStreamForwarding);
const SSF: Protocol = Protocol::Hawaii(PathSetup::SingleStreamForwarding);
const MNF: Protocol = Protocol::Hawaii(PathSetup::MulticastNonForwarding);
const HARD: Protocol = Protocol::CellularIp { semisoft: false };
const SEMISOFT: Protocol = Protocol::CellularIp { semisoft: true };

fn v4(host: usize) -> Ipv4Addr {
    match address(host) {
        IpAddr::V4(address) => address,
        IpAddr::V6(_) => unreachable!("hosts in a row have IPv4 addresses"),
    }
}

/// Returns the interface of a host on the wire to another.
fn interface(host: usize, to: usize) -> InterfaceId {
    let mut own = WIRES.iter().filter(|(a, b)| *a == host || *b == host);
    let place = own.position(|&(a, b)| a + b - host == to);
    InterfaceId(place.expect("a wire"))
}

/// Returns the next host from one to another, on the tree without the mobile.
fn next_hop(from: usize, to: usize) -> Option<usize> {
    let parent = |host| match host {
        ROOT => OUTSIDE,
        R0 => ROOT,
        R1 | R2 => R0,
        OLD => R1,
        _ => R2,
    };
    let mut step = to;
    while step != OUTSIDE {
        match parent(step) {
            above if above == from => return Some(step),
            above => step = above,
        }
    }
    (from != OUTSIDE).then(|| parent(from))
}

/// Returns a domain in which the mobile has set up its path at the old base station.
fn settled(protocol: Protocol) -> Domain {
    let mut domain = Domain::new(protocol);
    domain.attach(OLD);
    domain.net.run_until(at(1_000));
    domain
}

/// A packet a millisecond, and a mobile that hears one base station at a time: lost is the round trip between the mobile
/// and the crossover router, except for the old air, 30 + 20 ms.
fn assert_a_round_trip_is_lost(protocol: Protocol) {
    let mut domain = settled(protocol);
    domain.stream_until(at(2_000));
    domain.attach(NEW);
    domain.stream_until(at(3_000));
    domain.net.run_for(Duration::from_secs(1));
    let (lost, doubled) = domain.lost_and_doubled();
    assert!((49..=51).contains(&lost), "{lost} lost");
    assert_eq!(doubled, 0);
}

fn router_config(router: usize, protocol: Protocol) -> DomainRouterConfig {
    let air = [OLD, NEW].contains(&router);
    DomainRouterConfig {
        address: v4(router),
        root: v4(ROOT),
        path_setup: match protocol {
            Protocol::Hawaii(scheme) => Some(scheme),
            Protocol::CellularIp { .. } => None,
        },
        network_key: NETWORK_KEY,
        mobiles: [(CARE_OF, air.then(|| interface(router, MOBILE)))].into(),
        route_lifetime: Duration::from_secs(6),
        buffer: 0,
        paging: None,
        clock: Clock::default(),
    }
}

/// The mobile's layer: a client, and the numbers of the echo requests that arrived, with their times.
#[derive(Debug)]
struct Phone {
    client: Client,
    received: Vec<(Instant, u16)>,
    events: Vec<(Instant, ClientEvent)>,
}

impl Phone {
    fn note_events(&mut self, now: Instant) {
        while let Some(event) = self.client.poll_event() {
            self.events.push((now, event));
        }
    }
}

impl Layer for Phone {
    fn rank(&self) -> Rank {
        Rank::MobileNodeIpv4
    }

    fn takes(&self, ip: &IpHeader) -> bool {
        ip.destination == IpAddr::V4(CARE_OF)
    }

    fn input(&mut self, now: Instant, _arrival: Arrival, packet: Packet) -> Option<Packet> {
        let packet = self.client.handle_packet(now, packet);
        self.note_events(now);
        if let Body::Icmp(IcmpMessage::EchoRequest(echo)) = packet?.body {
            self.received.push((now, echo.sequence));
        }
        None
    }

    fn poll_step(&mut self) -> Option<Step> {
        let (interface, packet) = self.client.poll_transmit()?;
        Some(Step::Send(interface, packet))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.client.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.client.handle_timeout(now);
        self.note_events(now);
    }
}

/// A message that entered a wire, and the fate of messages by their order.
#[derive(Debug, Default)]
struct Air {
    /// The base station that the mobile hears.
    heard: usize,
    hears_both: bool,
    /// Messages so far.
    messages: usize,
    /// Places of the messages to lose.
    lost: Vec<usize>,
}

/// The network, and the conditions on its wires.
struct Domain {
    net: Net<Hosts>,
    air: Arc<Mutex<Air>>,
    sent: u16,
}

impl Domain {
    fn new(protocol: Protocol) -> Domain {
        Domain::with(protocol, |_| ())
    }

    /// Creates a domain whose routers' settings are changed.
    fn with(protocol: Protocol, change: impl Fn(&mut DomainRouterConfig)) -> Domain {
        Domain::with_idle(protocol, change, None)
    }

    /// Creates one whose mobile may be idle, too.
    fn with_idle(
        protocol: Protocol,
        change: impl Fn(&mut DomainRouterConfig),
        idle: Option<IdleConfig>,
    ) -> Domain {
        let mut hosts: Vec<Host> = (0..=MOBILE)
            .map(|host| Host::new(address(host), [host as u8 + 1; 16]))
            .collect();
        for (a, b) in WIRES {
            hosts[a].add_interface(1500);
            hosts[b].add_interface(1500);
        }
        for (from, host) in hosts.iter_mut().enumerate().take(MOBILE) {
            let routes = host.routes_mut();
            for to in (OUTSIDE..MOBILE).filter(|&to| to != from) {
                let way = next_hop(from, to).expect("a path");
                routes.set(address(to), interface(from, way));
            }
            let to_mobile = match from {
                ROOT => Rank::DomainRouter.interface(),
                _ => interface(from, next_hop(from, ROOT).expect("a path")),
            };
            routes.set(CARE_OF.into(), to_mobile);
        }
        for router in ROUTERS {
            let mut config = router_config(router, protocol);
            change(&mut config);
            hosts[router].add_layer(DomainRouter::new(config));
        }
        let client = Client::new(ClientConfig {
            address: CARE_OF,
            root: v4(ROOT),
            key: mobile_key(&NETWORK_KEY, CARE_OF),
            protocol,
            refresh: Duration::from_secs(2),
            base_stations: [OLD, NEW]
                .map(|at| (interface(MOBILE, at), v4(at)))
                .to_vec(),
            idle,
            clock: Clock::default(),
        });
        hosts[MOBILE].add_layer(Phone {
            client,
            received: Vec::new(),
            events: Vec::new(),
        });
        let mut hosts = Hosts::new(hosts, |from, out, _| {
            let mut own = WIRES.iter().filter(|(a, b)| *a == from || *b == from);
            let &(a, b) = own.nth(out.0)?;
            let to = a + b - from;
            Some(Hop {
                to,
                interface: interface(to, from),
                delay: HOP,
            })
        });
        let air = Arc::new(Mutex::new(Air::default()));
        let shared = Arc::clone(&air);
        hosts.decide(move |packet, entering| {
            shared.lock().expect("one thread").decide(packet, entering)
        });
        Domain {
            net: Net::of(hosts),
            air,
            sent: 0,
        }
    }

    fn air(&self) -> std::sync::MutexGuard<'_, Air> {
        self.air.lock().expect("one thread")
    }

    fn phone(&mut self) -> &mut Phone {
        self.net.hosts[MOBILE].layer_mut().expect("a phone")
    }

    fn router(&mut self, router: usize) -> &mut DomainRouter {
        self.net.hosts[router].layer_mut().expect("a router")
    }

    /// Moves the mobile to a base station; it hears no other from now on.
    fn attach(&mut self, base_station: usize) {
        self.air().heard = base_station;
        let now = self.net.now();
        let other = [OLD, NEW].into_iter().find(|&other| other != base_station);
        let other = other.expect("two base stations");
        let phone = self.phone();
        phone.client.detach(interface(MOBILE, other));
        phone.client.attach(now, interface(MOBILE, base_station));
        phone.note_events(now);
        self.net.settle();
    }

    /// Tells a base station that its link to the mobile is down.
    fn break_air(&mut self, base_station: usize) {
        let now = self.net.now();
        let here = interface(base_station, MOBILE);
        let neighbor = Neighbor::new(CARE_OF.into());
        let host = &mut self.net.hosts[base_station];
        host.handle_neighbor(now, here, LinkEvent::Down, neighbor);
    }

    /// Sends an echo request every millisecond until a time.
    fn stream_until(&mut self, end: Instant) {
        while self.net.now() < end {
            self.ping();
            self.net.run_for(Duration::from_millis(1));
        }
    }

    fn ping(&mut self) {
        let echo = Echo {
            identifier: 1,
            sequence: self.sent,
            data: Payload::EMPTY,
        };
        self.sent += 1;
        self.net.hosts[OUTSIDE].ping(CARE_OF.into(), echo, None);
        self.net.settle();
    }

    /// Returns the number of requests that never arrived, and of those that arrived more than once.
    fn lost_and_doubled(&mut self) -> (usize, usize) {
        let sent = self.sent;
        let mut times = BTreeMap::<u16, u32>::new();
        for &(_, number) in &self.phone().received {
            *times.entry(number).or_default() += 1;
        }
        let doubled = times.values().filter(|&&times| times > 1).count();
        (usize::from(sent) - times.len(), doubled)
    }

    /// Returns the least number of streams, each in order, that make up the requests in the order of their arrival.
    fn streams(&mut self) -> usize {
        let mut last = Vec::<u16>::new();
        for &(_, number) in &self.phone().received {
            let before = last.iter_mut().filter(|last| **last < number).max();
            match before {
                Some(last) => *last = number,
                None => last.push(number),
            }
        }
        last.len()
    }

    /// Returns the next host to which each router sends the mobile's packets.
    fn ways(&mut self) -> BTreeMap<usize, Vec<usize>> {
        let mut ways = BTreeMap::new();
        for router in ROUTERS {
            if let Some(route) = self.router(router).route(CARE_OF) {
                let turned = route.turned.map(|(_, to)| to);
                let interfaces = [Some(route.interface), route.second, turned];
                let to = |out: InterfaceId| {
                    let mut all = OUTSIDE..=MOBILE;
                    let is_there = |&to: &usize| {
                        let wires = [(router, to), (to, router)];
                        WIRES.iter().any(|wire| wires.contains(wire))
                            && interface(router, to) == out
                    };
                    all.find(is_there).expect("a host")
                };
                ways.insert(router, interfaces.into_iter().flatten().map(to).collect());
            }
        }
        ways
    }

    /// Lets time pass, and returns the changes of entries: time since now in ms, router, next hosts.
    fn changes(&mut self, time: Duration) -> Vec<(u64, usize, Vec<usize>)> {
        let begin = self.net.now();
        let mut before = self.ways();
        let mut changes = Vec::new();
        while self.net.now() < begin + time {
            self.net.run_for(Duration::from_millis(1));
            let now = self.ways();
            let elapsed = self.net.now().saturating_since(begin).as_nanos() / 1_000_000;
            for (&router, to) in &now {
                if before.get(&router) != Some(to) {
                    changes.push((elapsed, router, to.clone()));
                }
            }
            before = now;
        }
        changes
    }

    /// Returns true if a packet from outside reaches the mobile, once.
    fn reaches(&mut self) -> bool {
        let before = self.phone().received.len();
        self.ping();
        self.net.run_for(Duration::from_millis(500));
        self.phone().received.len() == before + 1
    }
}

impl Air {
    fn decide(&mut self, packet: &Packet, entering: Entering) -> Passage {
        let ends = [entering.from, entering.to];
        let is_in_air = ends.contains(&MOBILE);
        let mut passes = !is_in_air || self.hears_both || ends.contains(&self.heard);
        if message_bytes(packet).is_some() {
            passes &= !self.lost.contains(&self.messages);
            self.messages += 1;
        }
        match passes {
            true => Passage::Arrives,
            false => Passage::Lost,
        }
    }
}
