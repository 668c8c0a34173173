//! A few hosts with agents, the links between them, and an attacker that forges packets for one of them.

use crate::bytes::Bytes;
use crate::checksums::mend;
use baton_proto::host::{Host, Verdict};
use baton_proto::interface::{InterfaceId, LinkEvent};
use baton_proto::packet::{Packet, Payload};
use baton_proto::tcp::Endpoint;
use baton_proto::time::{Duration, Instant};
use core::net::IpAddr;
use std::collections::{BTreeSet, VecDeque};

/// Delay of every link.
const DELAY: Duration = Duration::from_millis(10);
/// Most packets that one host may send at one moment: more would be a storm, or a tunnel in a loop.
const MOST_SENT: usize = 200;
/// Most remembered packets for the victim.
const REMEMBERED: usize = 64;
/// Place of the mobile among the hosts.
pub const MOBILE: usize = 0;

/// Hosts of a protocol, and the messages that may change their bindings.
pub trait Protocol {
    /// Returns the hosts.
    fn hosts() -> Vec<Host>;
    /// The links: node and interface at both ends.
    const WIRES: &'static [[(usize, usize); 2]];
    /// Number of the mobile's links, which are the first ones.
    const ACCESS: usize;
    /// Addresses of the mobile and of its correspondent.
    const ADDRESSES: [IpAddr; 2];
    /// Returns the care-of addresses that an agent uses. Only an owner of the key may change the destination of
    /// packets.
    fn bindings(host: &Host, now: Instant) -> Vec<IpAddr>;
    /// Returns the signed part of a packet's message that may change bindings.
    fn message(packet: &Packet) -> Option<Vec<u8>>;
    /// Returns the host's count of unreadable messages.
    fn malformed(host: &Host) -> u64;
    /// Returns true if the packet is an unreadable message to the host.
    fn is_malformed(host: &Host, packet: &Packet) -> bool;
}

/// A packet under way.
struct Flying {
    at: Instant,
    to: (usize, usize),
    packet: Packet,
}

/// The running hosts.
pub struct Network<P: Protocol> {
    now: Instant,
    hosts: Vec<Host>,
    flying: VecDeque<Flying>,
    victim: usize,
    /// Packets that arrived at the victim, each with its interface.
    seen: Vec<(usize, Vec<u8>)>,
    /// Messages made by agents.
    genuine: BTreeSet<Vec<u8>>,
    /// Messages that have changed a binding of the victim.
    used: BTreeSet<Vec<u8>>,
    protocol: core::marker::PhantomData<P>,
}

/// Plays events of the input, and forges packets for the host `victim`.
pub fn check<P: Protocol>(data: &[u8], victim: usize) {
    let mut bytes = Bytes::new(data);
    let mut network = Network::<P> {
        now: Instant::ZERO,
        hosts: P::hosts(),
        flying: VecDeque::new(),
        victim,
        seen: Vec::new(),
        genuine: BTreeSet::new(),
        used: BTreeSet::new(),
        protocol: core::marker::PhantomData,
    };
    network.drain();
    for _ in 0..32 {
        if bytes.is_empty() {
            break;
        }
        network.act(&mut bytes);
    }
}

impl<P: Protocol> Network<P> {
    fn act(&mut self, bytes: &mut Bytes<'_>) {
        match bytes.u8() % 8 {
            0 => self.run_for(Duration::from_millis(u64::from(bytes.u16() / 4))),
            1 => self.move_to(usize::from(bytes.u8()) % P::ACCESS),
            2 => self.link(usize::from(bytes.u8()) % P::ACCESS, LinkEvent::Down),
            3 => drop(self.flying.pop_front()),
            4 => self.send_data(bytes.bool()),
            5 => {
                let (interface, length) = (usize::from(bytes.u8()), usize::from(bytes.u8()));
                let mut packet = bytes.take(length).to_vec();
                mend(&mut packet);
                self.forge(interface, &packet);
            }
            6 => {
                if let Some((interface, packet)) = self.remembered(bytes.u8()) {
                    self.forge(interface, &packet);
                }
            }
            _ => {
                if let Some((interface, mut packet)) = self.remembered(bytes.u8()) {
                    for _ in 0..=bytes.u8() % 4 {
                        let position = usize::from(bytes.u16()) % (8 * packet.len());
                        packet[position / 8] ^= 0x80 >> (position % 8);
                    }
                    mend(&mut packet);
                    self.forge(interface, &packet);
                }
            }
        }
    }

    fn remembered(&self, number: u8) -> Option<(usize, Vec<u8>)> {
        let place = usize::from(number).checked_rem(self.seen.len())?;
        self.seen.get(place).cloned()
    }

    fn move_to(&mut self, link: usize) {
        let [(_, interface), _] = P::WIRES[link];
        let signal = LinkEvent::HandoverImminent;
        self.hosts[MOBILE].handle_link(self.now, InterfaceId(interface), signal);
        self.link(link, LinkEvent::Up);
    }

    fn link(&mut self, link: usize, signal: LinkEvent) {
        for (node, interface) in P::WIRES[link] {
            self.hosts[node].handle_link(self.now, InterfaceId(interface), signal);
        }
        self.drain();
    }

    fn send_data(&mut self, downwards: bool) {
        let [mobile, correspondent] = P::ADDRESSES;
        let (from, address) = match downwards {
            true => (3, mobile),
            false => (MOBILE, correspondent),
        };
        let to = Endpoint { address, port: 9 };
        let payload = Payload::Bytes(vec![1; 100].into());
        self.hosts[from].udp_send(9, to, payload, None);
        self.drain();
    }

    fn run_for(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let flying = self.flying.front().map(|flying| flying.at);
            let timeouts = self.hosts.iter_mut().filter_map(Host::poll_timeout);
            let Some(next) = timeouts.chain(flying).min().filter(|&next| next <= end) else {
                break;
            };
            self.now = self.now.max(next);
            if flying == Some(next)
                && let Some(Flying { to, packet, .. }) = self.flying.pop_front()
            {
                self.arrive(to, packet);
            }
            for (node, host) in self.hosts.iter_mut().enumerate() {
                let mut calls = 0;
                while host.poll_timeout().is_some_and(|due| due <= self.now) {
                    calls += 1;
                    assert!(calls < 4, "host {node} has something due again and again");
                    host.handle_timeout(self.now);
                }
            }
            self.drain();
        }
        self.now = end;
    }

    /// Lets every host send everything that is due.
    fn drain(&mut self) {
        for node in 0..self.hosts.len() {
            let mut sent = 0;
            while self.hosts[node].poll_event().is_some() {}
            while let Some((interface, packet)) = self.hosts[node].poll_transmit(self.now) {
                sent += 1;
                assert!(sent < MOST_SENT, "host {node} does not stop to send");
                self.genuine.extend(P::message(&packet));
                self.fly((node, interface.0), packet);
            }
            while self.hosts[node].poll_event().is_some() {}
            while self.hosts[node].poll_changed().is_some() {}
        }
    }

    fn fly(&mut self, from: (usize, usize), packet: Packet) {
        let far = P::WIRES.iter().find_map(|&[one, other]| match from {
            _ if from == one => Some(other),
            _ if from == other => Some(one),
            _ => None,
        });
        if let Some(to) = far {
            let at = self.now + DELAY;
            self.flying.push_back(Flying { at, to, packet });
        }
    }

    fn arrive(&mut self, (node, interface): (usize, usize), mut packet: Packet) {
        let length = packet.wire_length();
        match self.hosts[node].route(self.now, InterfaceId(interface), &mut packet, length) {
            Verdict::Local if node == self.victim => {
                let mut out = Vec::new();
                packet.encode(&mut out);
                if self.seen.len() < REMEMBERED {
                    self.seen.push((interface, out));
                }
                self.hand_over(interface, packet);
            }
            Verdict::Local => {
                self.hosts[node].handle_packet(self.now, InterfaceId(interface), packet);
            }
            Verdict::Forward(interface) => self.fly((node, interface.0), packet),
            Verdict::Discard => {}
        }
    }

    /// Gives the victim, as bytes, a packet that no host sent at this moment.
    fn forge(&mut self, interface: usize, bytes: &[u8]) {
        let interfaces = P::WIRES.iter().flatten();
        let count = interfaces.filter(|end| end.0 == self.victim).count();
        let interface = interface % count.max(1);
        let Ok(mut packet) = Packet::verbatim(bytes) else {
            return;
        };
        let length = packet.wire_length();
        match self.hosts[self.victim].route(self.now, InterfaceId(interface), &mut packet, length) {
            Verdict::Local => self.hand_over(interface, packet),
            Verdict::Forward(interface) => self.fly((self.victim, interface.0), packet),
            Verdict::Discard => {}
        }
        self.drain();
    }

    /// Checks that only a message made by an agent changes a binding, and only once. A mobile may also lose one, with
    /// its address.
    fn hand_over(&mut self, interface: usize, packet: Packet) {
        let read = packet.clone().apply_bit_errors();
        let message = read.as_ref().ok().and_then(P::message);
        let now = self.now;
        let host = &mut self.hosts[self.victim];
        let is_malformed = read.map_or(true, |read| P::is_malformed(host, &read));
        let (before, counted) = (P::bindings(host, now), P::malformed(host));
        host.handle_packet(now, InterfaceId(interface), packet);
        let after = P::bindings(host, now);
        let has_gained = after.iter().any(|address| !before.contains(address));
        if has_gained || after != before && self.victim != MOBILE {
            let message = message.expect("a binding has changed without a signed message");
            assert!(self.genuine.contains(&message), "a forged message counts");
            assert!(self.used.insert(message), "a message counts twice");
        }
        if is_malformed {
            assert_eq!(P::malformed(host), counted + 1, "dropped, but not counted");
        }
    }
}
