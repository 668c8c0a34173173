//! A home agent and a mobile router with two uplinks, both complete except for clock and devices, across a network
//! controlled by the input, with a stranger in it, and beside them a router with the same key that sends inside its
//! path whatever the input says.

use super::network::Network;
use super::node::Node;
use crate::bytes::Bytes;
use baton_daemon::config;
use baton_daemon::home_agent::HomeAgentRole;
use baton_daemon::keys::Public;
use baton_daemon::medium::Medium;
use baton_daemon::operation::status::Status;
use baton_daemon::tunnel::addresses::CareOfPrefix;
use baton_daemon::tunnel::datagrams::Sockets;
use baton_daemon::tunnel::held::Stranded;
use baton_daemon::tunnel::paths::Paths;
use baton_daemon::tunnel::plain::routers::PlainRouters;
use baton_daemon::tunnel::uplink::{Ends, Uplink};
use baton_linux::addresses::{AddressChange, InterfaceAddress};
use baton_linux::links::LinkChange;
use baton_linux::netlink::Link;
use baton_path::{
    ELIDED, Initiator, InitiatorConfig, Listener, ListenerConfig, PACKET, PresharedKey, PrivateKey,
};
use baton_proto::time::{Duration, Instant};
use core::net::{IpAddr, Ipv4Addr, SocketAddr};

const ROUTER_KEY: PrivateKey = PrivateKey::from_bytes([1; 32]);
const HOME_KEY: PrivateKey = PrivateKey::from_bytes([2; 32]);
/// Key unknown to the home agent.
const STRANGE_KEY: PrivateKey = PrivateKey::from_bytes([3; 32]);
const UPLINKS: usize = 2;
/// Device of all uplinks. The loopback device has the number 1.
const DEVICE: &str = "lo";
/// Address of the uplinks' device.
const ADDRESS: InterfaceAddress = InterfaceAddress {
    interface: 1,
    address: IpAddr::V4(Ipv4Addr::LOCALHOST),
};
/// Number of the path of the malicious router.
const CHATTY: u8 = 5;
/// Most packets held for a router without a path: 1 MiB, and none is shorter than its header.
const MOST_HELD: u64 = (1 << 20) / 20;

const HOME: &str = r#"
[interfaces.paths]
kind = "tun"
[interfaces.inside]
kind = "tun"
[routes]
"::/0" = "inside"
"0.0.0.0/0" = "inside"
"fd62:6174:6f6e::/60" = "paths"
[home_agent]
address = "2001:db8:100::1"
home_prefix = "2001:db8:100::/64"
[[home_agent.mobiles]]
home_address = "2001:db8:100::7"
networks = ["10.7.0.0/24", "2001:db8:7::/64"]
key = "00112233445566778899aabbccddeeff01234567"
"#;

const ROUTER: &str = r#"
[interfaces.a]
kind = "tun"
[interfaces.b]
kind = "tun"
[interfaces.inside]
kind = "tun"
[routes]
"10.7.0.0/24" = "inside"
"2001:db8:7::/64" = "inside"
[mobile_node]
home_address = "2001:db8:100::7"
home_prefix = "2001:db8:100::/64"
home_agent = "2001:db8:100::1"
failback = { prefer = ["a", "b"] }
networks = ["10.7.0.0/24", "2001:db8:7::/64"]
key = "00112233445566778899aabbccddeeff01234567"
duplicate_address_detection = false
"#;

/// UDP datagram between the hosts behind both, without a checksum: 10.9.0.2 to 10.7.0.2, and back.
const TO_ROUTER: [u8; 28] = [
    0x45, 0, 0, 28, 0, 1, 0, 0, 64, 17, 0x66, 0xBD, 10, 9, 0, 2, 10, 7, 0, 2, 0, 9, 0, 9, 0, 8, 0,
    0,
];
const TO_HOME: [u8; 28] = [
    0x45, 0, 0, 28, 0, 1, 0, 0, 64, 17, 0x66, 0xBD, 10, 7, 0, 2, 10, 9, 0, 2, 0, 9, 0, 9, 0, 8, 0,
    0,
];

struct Pair {
    now: Instant,
    home: Node,
    router: Node,
    network: Network,
    chatty: Initiator,
    stranger: Initiator,
}

/// Plays a series of events at both ends and between them.
pub fn check(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let mut pair = Pair::new(bytes.u8());
    pair.settle();
    while !bytes.is_empty() {
        pair.step(&mut bytes);
        pair.settle();
        pair.is_bounded();
    }
    pair.heal();
}

/// Creates a home agent; returns it with its address.
fn home_agent(now: Instant, seed: u8) -> (Node, SocketAddr) {
    let config = ListenerConfig {
        local: HOME_KEY,
        uplink_mtu: 1500,
        finds_rate: false,
        seed: [seed; 32],
    };
    let mut sockets = Sockets::default();
    let opened = sockets.open(&[(Ipv4Addr::LOCALHOST, 0).into()], None);
    opened.expect("a port");
    let address = sockets.all().next().map(|socket| socket.local_address());
    let inside = "2001:db8:100::1".parse().expect("an address");
    let listener = Listener::new(now, config);
    let ends = (inside, CareOfPrefix::default());
    let plain = PlainRouters::new(ends, 1500, 0);
    let mut paths = Paths::new((listener, plain), ends, sockets);
    let role = format!(
        "private_key = \"none\"\naddress = \"2001:db8:100::1\"\nhome_prefix = \"2001:db8:100::/64\"\n[[routers]]\n\
         public_key = \"{}\"\nhome_address = \"2001:db8:100::7\"\n",
        Public(ROUTER_KEY.public())
    );
    let role = config::parse::<HomeAgentRole>(&role, "home.toml").expect("a configuration");
    paths.set_routers(&role.routers).expect("a router");
    let node = Node::new(HOME, &["paths", "inside"], vec![Box::new(paths)]);
    (node, address.expect("a socket").expect("an address"))
}

fn initiator(
    now: Instant,
    local: PrivateKey,
    (path, remote): (u8, SocketAddr),
    seed: u8,
) -> Initiator {
    let config = InitiatorConfig {
        local,
        home_agent: HOME_KEY.public(),
        preshared: PresharedKey::default(),
        remote,
        path,
        uplink_mtu: 1500,
        finds_rate: false,
        // Clocks go back, too.
        unix_nanoseconds: 1_000_000_000 * u64::from(seed),
        seed: [seed.wrapping_add(path); 32],
    };
    Initiator::new(now, config)
}

fn mobile_router(now: Instant, network: &Network, seed: u8) -> Node {
    let ends = Ends {
        interface_identifier: 7,
        home_agent: "2001:db8:100::1".parse().expect("an address"),
    };
    let stranded = Stranded::default();
    let uplink = |place: usize| -> Box<dyn Medium> {
        let remote = network.endpoint(place);
        let path = initiator(now, ROUTER_KEY, (place as u8, remote), seed);
        Box::new(Uplink::new(
            DEVICE,
            (path, place as u8),
            remote,
            (ends, stranded.clone()),
        ))
    };
    let media = (0..UPLINKS).map(uplink).collect();
    Node::new(ROUTER, &["a", "b", "inside"], media)
}

/// Returns the kernel's state of an uplink's device.
fn link(is_up: bool) -> LinkChange {
    LinkChange::Is(Link {
        index: 1,
        name: DEVICE.to_owned(),
        is_up,
        mtu: 1500,
        has_link_address: false,
    })
}

impl Pair {
    fn new(seed: u8) -> Pair {
        let now = Instant::from_secs(1);
        let (home, address) = home_agent(now, seed);
        let network = Network::new(UPLINKS, address);
        let mut pair = Pair {
            router: mobile_router(now, &network, seed),
            chatty: initiator(now, ROUTER_KEY, (CHATTY, address), seed),
            stranger: initiator(now, STRANGE_KEY, (0, address), seed),
            now,
            home,
            network,
        };
        pair.raise();
        pair
    }

    fn raise(&mut self) {
        for uplink in 0..UPLINKS {
            self.router.take_link(self.now, uplink, &link(true));
            let address = AddressChange::Is(ADDRESS);
            self.router.take_address(self.now, uplink, &address);
        }
    }

    fn step(&mut self, bytes: &mut Bytes<'_>) {
        let choice = bytes.u8();
        let way = (usize::from(choice >> 6 & 1), choice & 0x80 != 0);
        let (now, length) = (self.now, usize::from(bytes.u8()));
        match choice & 0x0F {
            0 => self.wait(Duration::from_millis(length as u64)),
            1 => self.wait(Duration::from_secs(length as u64 & 0x1F)),
            2..=4 => {
                for _ in 0..=length & 7 {
                    self.network.deliver(way, false, |_| {});
                }
            }
            5 => self.network.lose(way),
            6 => drop(self.network.deliver(way, true, |_| {})),
            7 => self.network.delay(way),
            8 => {
                let bit = usize::from(bytes.u8());
                self.network.deliver(way, true, |datagram| {
                    let place = (bit * 256 + length) % (8 * datagram.len().max(1));
                    if let Some(byte) = datagram.get_mut(place / 8) {
                        *byte ^= 1 << (place % 8);
                    }
                });
            }
            9 => self.network.forge(way, bytes.take(length)),
            10 => self.take_frame(way.1, bytes.take(length).to_vec()),
            11 => self.take_frame(way.1, framed(if way.1 { &TO_HOME } else { &TO_ROUTER })),
            12 => self.router.take_link(now, way.0, &link(way.1)),
            13 => self.chat(way.1, bytes.take(length)),
            14 => self.restart(way.1, length as u8),
            _ if way.1 => self.router.take_link(now, way.0, &LinkChange::Gone(1)),
            _ => {
                let address = AddressChange::Gone(ADDRESS);
                self.router.take_address(now, way.0, &address);
            }
        }
    }

    fn take_frame(&mut self, at_router: bool, frame: Vec<u8>) {
        match at_router {
            true => self.router.take_frame(self.now, frame),
            false => self.home.take_frame(self.now, frame),
        }
    }

    /// Lets the malicious router send, and the stranger ask for a session.
    fn chat(&mut self, is_elided: bool, packet: &[u8]) {
        let kind = if is_elided { ELIDED } else { PACKET };
        let mut datagram = Vec::new();
        if self
            .chatty
            .send(self.now, kind, packet, &mut datagram)
            .is_ok()
        {
            self.network.forge((0, true), &datagram);
        }
    }

    fn restart(&mut self, at_router: bool, seed: u8) {
        if at_router {
            self.router = mobile_router(self.now, &self.network, seed);
            self.raise();
            return;
        }
        let (home, address) = home_agent(self.now, seed);
        self.home = home;
        self.network.lead_to(address);
    }

    /// Lets both perform due actions, and the network take in their packets.
    fn settle(&mut self) {
        let now = self.now;
        for outsider in [&mut self.chatty, &mut self.stranger] {
            outsider.handle_timeout(now);
            let mut datagram = Vec::new();
            while outsider.poll_transmit(now, &mut datagram).is_some() {
                self.network.forge((0, true), &datagram);
                datagram.clear();
            }
            while outsider.poll_event().is_some() {}
        }
        self.home.turn(now);
        self.router.turn(now);
        for mut answer in self.network.gather() {
            let home = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
            if self
                .chatty
                .handle_datagram(now, home, &mut answer.clone())
                .is_err()
            {
                drop(self.stranger.handle_datagram(now, home, &mut answer));
            }
        }
        assert!(!self.stranger.is_up(), "a stranger has a path");
    }

    fn wait(&mut self, length: Duration) {
        let end = self.now + length;
        let mut rounds = 0;
        loop {
            let due = [
                self.home.poll_timeout(),
                self.router.poll_timeout(),
                self.chatty.poll_timeout(),
                self.stranger.poll_timeout(),
            ];
            let next = due.into_iter().flatten().min();
            let Some(next) = next.filter(|next| *next <= end) else {
                break;
            };
            self.now = self.now.max(next);
            self.settle();
            rounds += 1;
            assert!(
                rounds < 20_000,
                "deadlines do not move on from {}",
                self.now
            );
        }
        self.now = end;
        self.settle();
    }

    /// Checks the packets held: for one router, by the paths of the owners of its key, and within the limit.
    fn is_bounded(&mut self) {
        let status = self.status(false);
        assert_eq!(status.routers.len(), 1);
        for router in &status.routers {
            assert!(router.paths.len() <= UPLINKS + 1, "{:?}", router.paths);
            assert!(router.held_packets <= MOST_HELD);
        }
    }

    /// Lets everything through, until the router is bound and packets pass both ways: within two minutes.
    fn heal(&mut self) {
        self.raise();
        for _ in 0..120 {
            for _ in 0..10 {
                for way in [(0, true), (0, false), (1, true), (1, false)] {
                    while self.network.deliver(way, false, |_| {}) {
                        self.settle();
                    }
                }
                self.wait(Duration::from_millis(100));
            }
            if self.router.registered() > 0
                && self.passes(true, &TO_HOME)
                && self.passes(false, &TO_ROUTER)
            {
                return;
            }
        }
        panic!(
            "no packets pass: {} and {}",
            self.status(true),
            self.status(false)
        );
    }

    /// Sends a packet, and returns true if it arrives.
    fn passes(&mut self, up: bool, packet: &[u8]) -> bool {
        self.router.take_delivered();
        self.home.take_delivered();
        self.take_frame(up, framed(packet));
        for _ in 0..4 {
            self.settle();
            for uplink in 0..UPLINKS {
                while self.network.deliver((uplink, up), false, |_| {}) {}
            }
        }
        self.settle();
        let receiver = if up { &mut self.home } else { &mut self.router };
        let arrived = receiver.take_delivered();
        // Except the hop limit and checksums: a datagram without a UDP checksum gets one.
        arrived
            .iter()
            .any(|one| one.get(12..26) == packet.get(12..26))
    }

    fn status(&mut self, of_router: bool) -> Status {
        let (now, mut status) = (self.now, Status::default());
        let node = if of_router {
            &mut self.router
        } else {
            &mut self.home
        };
        for medium in node.media() {
            medium.report(now, &mut status);
        }
        status
    }
}

/// Returns a packet as a frame of a TUN device, without a request to split it.
fn framed(packet: &[u8]) -> Vec<u8> {
    [&[0; 10], packet].concat()
}
