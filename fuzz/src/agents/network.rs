//! A few hosts with agents, the links between them, and an attacker that forges packets for one of them.

use crate::bytes::Bytes;
use crate::checksums::mend;
use baton_proto::host::{Host, Verdict};
use baton_proto::interface::{InterfaceId, LinkEvent};
use baton_proto::packet::{Packet, Payload};
use baton_proto::tcp::Endpoint;
use baton_proto::testing::{Machines, Net, Wires};
use baton_proto::time::{Duration, Instant};
use core::net::IpAddr;
use std::collections::BTreeSet;

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

/// The running hosts.
struct Hosts<P: Protocol> {
    hosts: Vec<Host>,
    victim: usize,
    /// Packets of other hosts that arrived at the victim, each with its interface.
    seen: Vec<(usize, Vec<u8>)>,
    /// Messages made by agents.
    genuine: BTreeSet<Vec<u8>>,
    /// Messages that have changed a binding of the victim.
    used: BTreeSet<Vec<u8>>,
    protocol: core::marker::PhantomData<P>,
}

type Network<P> = Net<Hosts<P>>;

/// A packet, and the node and interface at which it arrives.
type Arriving = ((usize, usize), Packet);

/// Plays events of the input, and forges packets for the host `victim`.
pub fn check<P: Protocol>(data: &[u8], victim: usize) {
    let mut bytes = Bytes::new(data);
    let mut network = Net::of(Hosts::<P> {
        hosts: P::hosts(),
        victim,
        seen: Vec::new(),
        genuine: BTreeSet::new(),
        used: BTreeSet::new(),
        protocol: core::marker::PhantomData,
    });
    network.settle();
    for _ in 0..32 {
        if bytes.is_empty() {
            break;
        }
        act(&mut network, &mut bytes);
    }
}

fn act<P: Protocol>(network: &mut Network<P>, bytes: &mut Bytes<'_>) {
    match bytes.u8() % 8 {
        0 => network.run_for(Duration::from_millis(u64::from(bytes.u16() / 4))),
        1 => move_to(network, usize::from(bytes.u8()) % P::ACCESS),
        2 => link(
            network,
            usize::from(bytes.u8()) % P::ACCESS,
            LinkEvent::Down,
        ),
        3 => network.wires.lose_next(),
        4 => send_data(network, bytes.bool()),
        5 => {
            let (interface, length) = (usize::from(bytes.u8()), usize::from(bytes.u8()));
            let mut packet = bytes.take(length).to_vec();
            mend(&mut packet);
            forge(network, interface, &packet);
        }
        6 => {
            if let Some((interface, packet)) = network.remembered(bytes.u8()) {
                forge(network, interface, &packet);
            }
        }
        _ => {
            if let Some((interface, mut packet)) = network.remembered(bytes.u8()) {
                for _ in 0..=bytes.u8() % 4 {
                    let position = usize::from(bytes.u16()) % (8 * packet.len());
                    packet[position / 8] ^= 0x80 >> (position % 8);
                }
                mend(&mut packet);
                forge(network, interface, &packet);
            }
        }
    }
}

fn move_to<P: Protocol>(network: &mut Network<P>, number: usize) {
    let [(_, interface), _] = P::WIRES[number];
    let (now, signal) = (network.now(), LinkEvent::HandoverImminent);
    network.hosts[MOBILE].handle_link(now, InterfaceId(interface), signal);
    link(network, number, LinkEvent::Up);
}

fn link<P: Protocol>(network: &mut Network<P>, number: usize, signal: LinkEvent) {
    let now = network.now();
    for (node, interface) in P::WIRES[number] {
        network.hosts[node].handle_link(now, InterfaceId(interface), signal);
    }
    network.settle();
}

fn send_data<P: Protocol>(network: &mut Network<P>, downwards: bool) {
    let [mobile, correspondent] = P::ADDRESSES;
    let (from, address) = match downwards {
        true => (3, mobile),
        false => (MOBILE, correspondent),
    };
    let to = Endpoint { address, port: 9 };
    let payload = Payload::Bytes(vec![1; 100].into());
    network.hosts[from].udp_send(9, to, payload, None);
    network.settle();
}

/// Gives the victim, as bytes, a packet that no host sent at this moment.
fn forge<P: Protocol>(network: &mut Network<P>, interface: usize, bytes: &[u8]) {
    let victim = network.victim;
    let interfaces = P::WIRES.iter().flatten();
    let count = interfaces.filter(|end| end.0 == victim).count();
    let interface = interface % count.max(1);
    if let Ok(packet) = Packet::verbatim(bytes) {
        let remembered = network.seen.len();
        network.arrive(((victim, interface), packet));
        network.seen.truncate(remembered);
    }
}

/// Returns the far end of the wire at a node's interface.
fn far<P: Protocol>(from: (usize, usize)) -> Option<(usize, usize)> {
    P::WIRES.iter().find_map(|&[one, other]| match from {
        _ if from == one => Some(other),
        _ if from == other => Some(one),
        _ => None,
    })
}

impl<P: Protocol> Machines for Hosts<P> {
    type Message = Arriving;

    fn poll_timeout(&mut self) -> Option<Instant> {
        self.hosts.iter_mut().filter_map(Host::poll_timeout).min()
    }

    fn handle_timeout(&mut self, now: Instant) {
        for (node, host) in self.hosts.iter_mut().enumerate() {
            let mut calls = 0;
            while host.poll_timeout().is_some_and(|due| due <= now) {
                calls += 1;
                assert!(calls < 4, "host {node} has something due again and again");
                host.handle_timeout(now);
            }
        }
    }

    fn handle_arrival(&mut self, (to, mut packet): Arriving, wires: &mut Wires<Arriving>) {
        let (now, (node, interface)) = (wires.now(), to);
        let length = packet.wire_length();
        match self.hosts[node].route(now, InterfaceId(interface), &mut packet, length) {
            Verdict::Local if node == self.victim => self.hand_over(now, interface, packet),
            Verdict::Local => self.hosts[node].handle_packet(now, InterfaceId(interface), packet),
            Verdict::Forward(interface) => {
                if let Some(to) = far::<P>((node, interface.0)) {
                    wires.send((to, packet), DELAY);
                }
            }
            Verdict::Discard => {}
        }
    }

    /// Lets every host send everything that is due.
    fn settle(&mut self, wires: &mut Wires<Arriving>) {
        for (node, host) in self.hosts.iter_mut().enumerate() {
            let mut sent = 0;
            while host.poll_event().is_some() {}
            while let Some((interface, packet)) = host.poll_transmit(wires.now()) {
                sent += 1;
                assert!(sent < MOST_SENT, "host {node} does not stop to send");
                self.genuine.extend(P::message(&packet));
                if let Some(to) = far::<P>((node, interface.0)) {
                    wires.send((to, packet), DELAY);
                }
            }
            while host.poll_event().is_some() {}
            while host.poll_changed().is_some() {}
        }
    }
}

impl<P: Protocol> Hosts<P> {
    fn remembered(&self, number: u8) -> Option<(usize, Vec<u8>)> {
        let place = usize::from(number).checked_rem(self.seen.len())?;
        self.seen.get(place).cloned()
    }

    /// Checks that only a message made by an agent changes a binding, and only once. A mobile may also lose one, with
    /// its address.
    fn hand_over(&mut self, now: Instant, interface: usize, packet: Packet) {
        if self.seen.len() < REMEMBERED {
            let mut bytes = Vec::new();
            packet.encode(&mut bytes);
            self.seen.push((interface, bytes));
        }
        let read = packet.clone().apply_bit_errors();
        let message = read.as_ref().ok().and_then(P::message);
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
