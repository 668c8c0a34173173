//! A mobile router of many in one process: its node, and two paths to the home agent, without devices.

use baton_daemon::config::{self, Config};
use baton_daemon::engine::{Engine, Outlet, Owner};
use baton_daemon::node;
use baton_daemon::tunnel::addresses::CareOfPrefix;
use baton_daemon::tunnel::outer::Outer;
use baton_daemon::tunnel::registration_key;
use baton_daemon::tunnel::uplink::advertisement;
use baton_path::{Event, Initiator, InitiatorConfig, PresharedKey, PrivateKey, PublicKey};
use baton_proto::host::{Host, HostEvent};
use baton_proto::interface::InterfaceId;
use baton_proto::mobility::attachment::Signal;
use baton_proto::mobility::mobile_ipv6::MobileNode;
use baton_proto::packet::{Body, Packet};
use baton_proto::time::Instant;
use baton_proto::wire::icmp::IcmpMessage;
use core::net::{Ipv6Addr, SocketAddr};

pub const HOME_AGENT: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 0x100, 0, 0, 0, 0, 1);

/// A router.
pub struct Router {
    engine: Engine,
    pub paths: [Initiator; 2],
    identifier: u64,
    outer: [Option<Outer>; 2],
    outgoing: Outgoing,
    news: News,
    pub is_bound: bool,
    /// The interface that it is to use.
    current: usize,
}

/// News of a router's node.
#[derive(Default)]
struct News {
    /// Acknowledged bindings that nobody has heard of.
    registered: u64,
}

#[derive(Default)]
struct Outgoing(Vec<(InterfaceId, Packet)>);

impl Outlet for Outgoing {
    fn send(&mut self, interface: InterfaceId, packet: &Packet) {
        self.0.push((interface, packet.clone()));
    }
}

impl Owner for News {
    fn handle_event(&mut self, _: Instant, _: &mut Host, event: HostEvent) {
        if let HostEvent::Layer(wording) = event {
            self.registered += u64::from(wording.name == "Registered");
        }
    }

    fn handle_attachment(&mut self, _: Instant, _: Signal) {}

    fn handle_link(&mut self, _: Instant, _: (InterfaceId, bool)) {}
}

/// Returns the address of the router with a number.
pub fn home_address(number: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xDB8, 0x100, 0, 0, 0, 1, number)
}

/// Returns the key of the router with a number.
pub fn key(number: u16) -> PrivateKey {
    let mut bytes = [0x55; 32];
    // Of the first byte and of the last X25519 does not use all bits.
    bytes[8..10].copy_from_slice(&number.to_be_bytes());
    PrivateKey::from_bytes(bytes)
}

impl Router {
    /// Makes a router, whose links come up when its paths do.
    pub fn new(now: Instant, number: u16, home_agent: &PublicKey, remote: SocketAddr) -> Router {
        let secret = registration_key(&key(number), home_agent);
        let secret: String = secret.0.iter().map(|byte| format!("{byte:02x}")).collect();
        let text = format!(
            "interfaces = {{ a = {{ kind = \"tun\" }}, b = {{ kind = \"tun\" }}, inside = {{ kind = \"tun\" }} }}\n\
             routes = {{ \"{0}\" = \"inside\" }}\n[mobile_node]\nhome_address = \"{1}\"\nhome_prefix = \"2001:db8:100::/64\"\n\
             home_agent = \"{HOME_AGENT}\"\nfailback = {{ prefer = [\"a\", \"b\"] }}\nnetworks = [\"{0}\"]\nkey = \"{secret}\"\n\
             duplicate_address_detection = false\n",
            network(number),
            home_address(number)
        );
        let config = config::parse::<Config>(&text, "router").expect("a configuration");
        let interfaces = [("a", 1476), ("b", 1476), ("inside", 1436)];
        let host =
            node::host(&config, &interfaces, || Ok([number as u8; 16])).expect("no randomness");
        let path = |path: u8| {
            let mut seed = [path; 32];
            seed[..2].copy_from_slice(&number.to_be_bytes());
            let config = InitiatorConfig {
                local: key(number),
                home_agent: *home_agent,
                preshared: PresharedKey::default(),
                remote,
                path,
                uplink_mtu: 1500,
                finds_rate: false,
                unix_nanoseconds: 1_700_000_000_000_000_000,
                seed,
            };
            Initiator::new(now, config)
        };
        Router {
            engine: Engine::new(host),
            paths: [path(0), path(1)],
            identifier: home_address(number).to_bits() as u64,
            outer: [None; 2],
            outgoing: Outgoing::default(),
            news: News::default(),
            is_bound: false,
            current: 0,
        }
    }

    /// Returns when there is something to do.
    pub fn poll_timeout(&mut self) -> Option<Instant> {
        let due = self.paths.iter().filter_map(Initiator::poll_timeout);
        due.chain(self.engine.poll_timeout()).min()
    }

    /// Returns how many bindings were acknowledged since this was asked last.
    pub fn take_answers(&mut self) -> u64 {
        let answers = core::mem::take(&mut self.news.registered);
        self.is_bound |= answers > 0;
        answers
    }

    /// Changes over to the other path.
    pub fn hand_over(&mut self, now: Instant) {
        self.current = 1 - self.current;
        let interface = InterfaceId(self.current);
        if let Some(mobile) = self.engine.host_mut().layer_mut::<MobileNode>() {
            mobile.prefer(now, interface);
        }
        self.engine.drain(now, &mut self.news, &mut self.outgoing);
    }

    /// Takes a datagram for one of the paths.
    pub fn take(&mut self, now: Instant, (place, from): (usize, SocketAddr), datagram: &mut [u8]) {
        let taken = self.paths[place].handle_datagram(now, from, datagram);
        let packet = taken
            .ok()
            .flatten()
            .and_then(|content| Packet::verbatim(content.packet).ok());
        self.follow(now, place);
        if let Some(packet) = packet {
            self.arrive(now, place, packet);
        }
    }

    /// Does what is due, and gives each datagram that is to be sent, with its path, to `send`.
    pub fn turn(&mut self, now: Instant, mut send: impl FnMut(usize, &[u8])) {
        self.engine.advance(now, &mut self.news, &mut self.outgoing);
        for place in 0..self.paths.len() {
            self.paths[place].handle_timeout(now);
            self.follow(now, place);
        }
        let mut datagram = Vec::new();
        for (interface, packet) in core::mem::take(&mut self.outgoing.0) {
            let is_discovery = matches!(packet.body, Body::Icmp(IcmpMessage::NeighborDiscovery(_)));
            let Some(outer) = self
                .outer
                .get(interface.0)
                .copied()
                .flatten()
                .filter(|_| !is_discovery)
            else {
                continue;
            };
            let (kind, content) = outer.carried(&packet);
            let mut bytes = Vec::new();
            content.encode(&mut bytes);
            datagram.clear();
            if self.paths[interface.0]
                .send(now, kind, &bytes, &mut datagram)
                .is_ok()
            {
                send(interface.0, &datagram);
            }
        }
        for (place, path) in self.paths.iter_mut().enumerate() {
            datagram.clear();
            while path.poll_transmit(now, &mut datagram).is_some() {
                send(place, &datagram);
                datagram.clear();
            }
        }
    }

    fn follow(&mut self, now: Instant, place: usize) {
        while let Some(event) = self.paths[place].poll_event() {
            match event {
                Event::Up => {
                    self.link(now, place, true);
                    self.advertise(now, place);
                }
                Event::Down => self.link(now, place, false),
                Event::Restarted => {
                    let (news, outgoing) = (&mut self.news, &mut self.outgoing);
                    self.engine.handle_restarted_peer(now, news, outgoing);
                }
                _ => {}
            }
        }
    }

    fn link(&mut self, now: Instant, place: usize, is_up: bool) {
        let link = (InterfaceId(place), is_up);
        self.engine
            .handle_link(now, link, &mut self.news, &mut self.outgoing);
    }

    fn advertise(&mut self, now: Instant, place: usize) {
        let prefix = CareOfPrefix::read(self.paths[place].assigned()).expect("a prefix");
        let number = place as u8;
        let care_of = prefix.care_of(number, self.identifier);
        self.outer[place] = care_of.map(|source| Outer {
            source,
            destination: HOME_AGENT,
        });
        let network = prefix.network(number).expect("a network");
        self.arrive(now, place, advertisement(network));
    }

    fn arrive(&mut self, now: Instant, place: usize, packet: Packet) {
        let arrived = (InterfaceId(place), packet);
        self.engine
            .handle_packet(now, arrived, &mut self.news, &mut self.outgoing);
    }
}

/// Returns the network behind the router with a number.
pub fn network(number: u16) -> String {
    format!("2001:db8:8000:{number:x}::/64")
}
