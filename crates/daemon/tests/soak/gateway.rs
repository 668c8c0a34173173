//! A gateway as the daemon has it, without sockets and devices: the node, and an end of a path for each link.

use super::counting;
use baton_daemon::config;
use baton_daemon::engine::{Engine, Outlet, Owner};
use baton_daemon::gateway::GatewayConfig;
use baton_path::{
    ELIDED, Event, Initiator, InitiatorConfig, Listener, ListenerConfig, OVERHEAD, PACKET, PathKey,
    PresharedKey, PrivateKey,
};
use baton_proto::gateways::aerotp::AerotpGateway;
use baton_proto::gateways::aerotp::headers::Headers;
use baton_proto::host::{Host, HostEvent};
use baton_proto::interface::{InterfaceId, LinkEvent, LinkParameters};
use baton_proto::mobility::attachment::Signal;
use baton_proto::packet::{Body, Packet};
use baton_proto::rate::DataRate;
use baton_proto::time::{Duration, Instant};
use core::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

/// Links of the pair.
pub const LINKS: usize = 2;
/// Rate of each link, if the gateways are told it.
pub type ToldRates = [Option<DataRate>; LINKS];
/// Port of datagrams that go ahead of all else.
pub const CONTROL: u16 = 5003;
const RULES: &str = r#"
[[rules]]
port = 5003
mode = "unreliable-datagram"
class = 7

[[rules]]
mode = "near-reliable"
"#;
/// Interface to the machines behind a gateway.
const INSIDE: InterfaceId = InterfaceId(LINKS);
const HEADERS: u64 = 20 + 8 + OVERHEAD as u64;

/// Packets that leave a node, and events of its applications.
#[derive(Default)]
pub struct Outgoing(pub Vec<(InterfaceId, Packet)>);

impl Outlet for Outgoing {
    fn send(&mut self, interface: InterfaceId, packet: &Packet) {
        self.0.push((interface, packet.clone()));
    }
}

/// Events of a node.
#[derive(Default)]
pub struct Events(pub Vec<HostEvent>);

impl Owner for Events {
    fn handle_event(&mut self, _: Instant, _: &mut Host, event: HostEvent) {
        self.0.push(event);
    }

    fn handle_attachment(&mut self, _: Instant, _: Signal) {}

    fn handle_link(&mut self, _: Instant, _: (InterfaceId, bool)) {}
}

/// An end of a link's path.
enum End {
    Calls(Box<Initiator>),
    Listens(Box<Listener>, Option<PathKey>),
}

/// A gateway.
pub struct Gateway {
    engine: Engine,
    ends: Vec<End>,
    told: ToldRates,
    reported: [DataRate; LINKS],
    headers: [Headers; LINKS],
    is_near: bool,
}

/// Output of a gateway.
pub enum Leaves {
    /// A datagram by a link.
    Datagram(usize, Vec<u8>),
    /// A packet to the machines behind it.
    Packet(Packet),
}

pub fn address(link: usize, is_near: bool) -> SocketAddr {
    let address = Ipv4Addr::new(192, 0, 2, 10 * link as u8 + u8::from(is_near));
    SocketAddrV4::new(address, 4191 + link as u16).into()
}

fn key(is_near: bool) -> PrivateKey {
    PrivateKey::from_bytes([1 + u8::from(is_near); 32])
}

impl Gateway {
    /// Starts one of the pair. `incarnation` counts its starts.
    pub fn start(now: Instant, is_near: bool, incarnation: u8, told: ToldRates) -> Gateway {
        let networks = if is_near {
            "10.9.0.0/16"
        } else {
            "10.7.0.0/16"
        };
        let public_key = "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=";
        let link = |link| {
            let address = address(link, false);
            format!("[[links]]\nname = \"{link}\"\nlisten = \"{address}\"\n")
        };
        let text = format!(
            "private_key = \"-\"\nnetworks = [\"{networks}\"]\npeer = {{ public_key = \"{public_key}\" }}\n{}{}{RULES}",
            link(0),
            link(1)
        );
        let config: GatewayConfig = config::parse(&text, "gateway.toml").unwrap();
        let interfaces = [("0", 1400), ("1", 1400), ("inside", 1500)];
        let host = config.host(&interfaces, || Ok([incarnation; 16])).unwrap();
        let end = |link| match is_near {
            true => End::Calls(Box::new(caller(now, link, incarnation))),
            false => End::Listens(Box::new(listener(now, link, incarnation)), None),
        };
        let mut gateway = Gateway {
            engine: Engine::new(host),
            ends: (0..LINKS).map(end).collect(),
            told,
            reported: [DataRate::ZERO; LINKS],
            headers: Default::default(),
            is_near,
        };
        for link in 0..LINKS {
            gateway.tell(now, link, LinkEvent::Down, &mut Outgoing::default());
        }
        gateway.tell(now, INSIDE.0, LinkEvent::Up, &mut Outgoing::default());
        gateway
    }

    fn tell(&mut self, now: Instant, link: usize, event: LinkEvent, outgoing: &mut Outgoing) {
        let event = (InterfaceId(link), event);
        self.engine
            .handle_event(now, event, &mut Events::default(), outgoing);
    }

    /// Takes in a datagram by a link.
    pub fn take_datagram(
        &mut self,
        now: Instant,
        link: usize,
        mut datagram: Vec<u8>,
    ) -> Vec<Leaves> {
        let from = address(link, !self.is_near);
        let content = match &mut self.ends[link] {
            End::Calls(path) => path.handle_datagram(now, from, &mut datagram),
            End::Listens(listener, _) => {
                let taken = listener.handle_datagram(now, from, &mut datagram);
                taken.map(|taken| taken.map(|(_, content)| content))
            }
        };
        // A rejected one has changed nothing.
        let headers = &mut self.headers[link];
        let packet = content.ok().flatten().and_then(|content| {
            let packet = match content.kind {
                ELIDED => headers.read(now, content.packet).transpose()?,
                _ => Packet::verbatim(content.packet),
            };
            packet.ok()
        });
        let mut outgoing = Outgoing::default();
        self.follow_path(now, link, &mut outgoing);
        if let Some(packet) = packet {
            let arrived = (InterfaceId(link), packet);
            self.engine
                .handle_packet(now, arrived, &mut Events::default(), &mut outgoing);
        }
        self.leave(now, outgoing)
    }

    /// Takes in a packet of a machine behind it.
    pub fn take_packet(&mut self, now: Instant, packet: Packet) -> Vec<Leaves> {
        let mut outgoing = Outgoing::default();
        self.engine
            .handle_packet(now, (INSIDE, packet), &mut Events::default(), &mut outgoing);
        self.leave(now, outgoing)
    }

    /// Does what is due.
    pub fn turn(&mut self, now: Instant) -> Vec<Leaves> {
        let mut outgoing = Outgoing::default();
        for link in 0..LINKS {
            match &mut self.ends[link] {
                End::Calls(path) => path.handle_timeout(now),
                End::Listens(listener, _) => listener.handle_timeout(now),
            }
            self.follow_path(now, link, &mut outgoing);
        }
        self.engine
            .advance(now, &mut Events::default(), &mut outgoing);
        self.leave(now, outgoing)
    }

    pub fn poll_timeout(&mut self) -> Option<Instant> {
        let ends = self.ends.iter().filter_map(|end| match end {
            End::Calls(path) => path.poll_timeout(),
            End::Listens(listener, _) => listener.poll_timeout(),
        });
        ends.chain(self.engine.poll_timeout()).min()
    }

    /// Tells the node of events and of the pace of a link's path.
    fn follow_path(&mut self, now: Instant, link: usize, outgoing: &mut Outgoing) {
        loop {
            let event = match &mut self.ends[link] {
                End::Calls(path) => path.poll_event(),
                End::Listens(listener, key) => listener.poll_event().map(|(path, event)| {
                    if event == Event::Up {
                        *key = Some(path);
                    }
                    event
                }),
            };
            match event {
                Some(Event::Up) => {
                    self.believe(now, link);
                    self.tell_parameters(now, link, outgoing);
                    self.tell(now, link, LinkEvent::Up, outgoing);
                }
                Some(Event::Down) => self.tell(now, link, LinkEvent::Down, outgoing),
                Some(Event::Restarted) => {
                    self.headers[link].forget();
                    self.engine
                        .handle_restarted_peer(now, &mut Events::default(), outgoing);
                }
                Some(Event::PacketMtu(_)) => self.tell_parameters(now, link, outgoing),
                Some(_) => {}
                None => break,
            }
        }
        let (rate, reported) = (self.rate(now, link), self.reported[link]);
        let change = rate.bits_per_second().abs_diff(reported.bits_per_second());
        if change > reported.bits_per_second() / 100 {
            self.tell_parameters(now, link, outgoing);
        }
    }

    /// Takes the operator's word for the rate of a link.
    fn believe(&mut self, now: Instant, link: usize) {
        let told = self.told[link];
        match &mut self.ends[link] {
            End::Calls(path) => path.set_rate(now, told),
            End::Listens(listener, Some(key)) => listener.set_rate(now, *key, told),
            End::Listens(_, None) => {}
        }
    }

    fn mtu(&self, link: usize) -> u64 {
        match &self.ends[link] {
            End::Calls(path) => path.packet_mtu().into(),
            End::Listens(listener, key) => {
                let info = key.and_then(|key| listener.path(key));
                info.map_or(0, |info| info.packet_mtu.into())
            }
        }
    }

    /// Returns the rate of full packets inside the path; zero while it is full.
    fn rate(&self, now: Instant, link: usize) -> DataRate {
        let pace = match &self.ends[link] {
            End::Calls(path) => path.pace(now),
            End::Listens(listener, key) => key.and_then(|key| listener.pace(now, key)),
        };
        let pace = pace.filter(|pace| pace.departure != Instant::NEVER);
        let mtu = self.mtu(link);
        let on_link = mtu + HEADERS - u64::from(self.headers[link].saved());
        let rate = pace.map_or(0, |pace| pace.rate.bits_per_second());
        DataRate::from_bits_per_second(
            (u128::from(rate) * u128::from(mtu) / u128::from(on_link)) as u64,
        )
    }

    fn tell_parameters(&mut self, now: Instant, link: usize, outgoing: &mut Outgoing) {
        self.reported[link] = self.rate(now, link);
        let parameters = LinkParameters {
            outgoing: self.reported[link],
            incoming: self.reported[link],
            round_trip: Duration::ZERO,
            outgoing_queue: None,
            incoming_queue: None,
            mtu: self.mtu(link) as u32,
        };
        self.tell(now, link, LinkEvent::Parameters(parameters), outgoing);
    }

    /// Seals what leaves by links, and adds the paths' own datagrams.
    fn leave(&mut self, now: Instant, mut outgoing: Outgoing) -> Vec<Leaves> {
        let mut leaves = Vec::new();
        loop {
            for (interface, packet) in core::mem::take(&mut outgoing.0) {
                match interface == INSIDE {
                    true => leaves.push(Leaves::Packet(packet)),
                    false => leaves.extend(self.carry(now, interface.0, &packet)),
                }
            }
            for link in 0..LINKS {
                self.follow_path(now, link, &mut outgoing);
                let mut datagram = Vec::new();
                while match &mut self.ends[link] {
                    End::Calls(path) => path.poll_transmit(now, &mut datagram),
                    End::Listens(listener, _) => listener.poll_transmit(now, &mut datagram),
                }
                .is_some()
                {
                    leaves.push(Leaves::Datagram(link, core::mem::take(&mut datagram)));
                }
                while let Some(content) = self.headers[link].poll() {
                    leaves.extend(self.seal(now, link, ELIDED, &content));
                }
            }
            if outgoing.0.is_empty() {
                return leaves;
            }
        }
    }

    fn carry(&mut self, now: Instant, link: usize, packet: &Packet) -> Option<Leaves> {
        let (kind, content) = match packet.body {
            Body::Aerotp(_) => (ELIDED, self.headers[link].write(now, packet).to_vec()),
            _ => {
                let mut bytes = Vec::new();
                packet.encode(&mut bytes);
                (PACKET, bytes)
            }
        };
        self.seal(now, link, kind, &content)
    }

    fn seal(&mut self, now: Instant, link: usize, kind: u8, content: &[u8]) -> Option<Leaves> {
        let mut datagram = Vec::new();
        let sent = match &mut self.ends[link] {
            End::Calls(path) => path.send(now, kind, content, &mut datagram),
            End::Listens(listener, key) => {
                listener.send(now, (*key)?, kind, content, &mut datagram)
            }
        };
        sent.ok().map(|_| Leaves::Datagram(link, datagram))
    }

    /// Returns the connections carried, the TCP halves that are not closed, and the bytes in custody.
    pub fn state(&mut self) -> (usize, usize, u64) {
        let gateway = self.engine.host_mut().layer::<AerotpGateway>().unwrap();
        (gateway.connections(), gateway.halves(), gateway.custody())
    }

    /// Returns the number of datagrams that found no room.
    pub fn refused(&mut self) -> u64 {
        let gateway = self.engine.host_mut().layer::<AerotpGateway>().unwrap();
        gateway.discards().datagrams
    }

    /// Describes the connections carried.
    pub fn connections(&mut self) -> Vec<String> {
        let gateway = self.engine.host_mut().layer::<AerotpGateway>().unwrap();
        let all = gateway.aerotp_connections();
        all.map(|(ends, connection)| {
            let (state, known) = (connection.state(), connection.is_known());
            format!("{ends:?}: {state:?}, known: {known}")
        })
        .collect()
    }

    /// Ends it; returns the memory that it took, in bytes.
    pub fn end(self) -> i64 {
        let before = counting::live_bytes();
        drop(self);
        before - counting::live_bytes()
    }
}

fn caller(now: Instant, link: usize, incarnation: u8) -> Initiator {
    let config = InitiatorConfig {
        local: key(true),
        home_agent: key(false).public(),
        preshared: PresharedKey::default(),
        remote: address(link, false),
        path: 0,
        uplink_mtu: 1500,
        finds_rate: true,
        unix_nanoseconds: 1_700_000_000_000_000_000 + now.as_nanos(),
        seed: [incarnation + 10 * link as u8; 32],
    };
    Initiator::new(now, config)
}

fn listener(now: Instant, link: usize, incarnation: u8) -> Listener {
    let config = ListenerConfig {
        local: key(false),
        uplink_mtu: 1500,
        finds_rate: true,
        seed: [100 + incarnation + 10 * link as u8; 32],
    };
    let mut listener = Listener::new(now, config);
    let added = listener.add_peer(key(true).public(), PresharedKey::default(), &[]);
    added.unwrap();
    listener
}
