//! Many TCP connections across two AeroTP gateways, driven directly: clients, two gateways and a server, with no delay
//! between them. A gateway's memory is measured as the difference that its removal makes.

use super::counting;
use super::measured::processor_seconds;
use baton_proto::aerotp::Configuration;
use baton_proto::gateways::aerotp::{AerotpGateway, Rule, Selector};
use baton_proto::host::{Host, HostEvent, SocketId, Verdict};
use baton_proto::interface::InterfaceId;
use baton_proto::packet::{Packet, Payload};
use baton_proto::rate::DataRate;
use baton_proto::tcp::Endpoint;
use baton_proto::tcp::profile::Profile;
use baton_proto::time::{Duration, Instant};
use core::net::{IpAddr, Ipv4Addr};
use std::collections::VecDeque;

/// Connections of each client: a client has 16 384 ports.
const OF_A_CLIENT: usize = 1000;
/// Connections begun each millisecond.
const OF_A_STEP: usize = 10;
const STEP: Duration = Duration::from_millis(1);
/// Time until nothing waits for its acknowledgment any more.
const QUIET: Duration = Duration::from_secs(5);
const PORT: u16 = 80;
const BYTES: u64 = 500;
const SERVER: u32 = 0x0AFF_0001;

/// Cost of a number of idle connections.
pub struct Taken {
    /// Bytes at the gateway on the clients' side.
    pub near_bytes: f64,
    /// Bytes at the other gateway.
    pub far_bytes: f64,
    /// Processor time to open each, carry 500 B across and wait, in microseconds.
    pub microseconds: f64,
}

fn configuration() -> Configuration {
    Configuration::new(rate())
}

fn rate() -> DataRate {
    DataRate::from_bits_per_second(10_000_000_000)
}

fn client_address(number: usize) -> IpAddr {
    Ipv4Addr::from_bits(0x0A00_0001 + number as u32).into()
}

fn server() -> Endpoint {
    Endpoint {
        address: Ipv4Addr::from_bits(SERVER).into(),
        port: PORT,
    }
}

/// Hosts in a row: clients, their gateway, the other gateway, the server.
struct Row {
    now: Instant,
    hosts: Vec<Host>,
    clients: usize,
    /// Packets under way, with the next host of each.
    flying: VecDeque<(usize, InterfaceId, Packet)>,
}

impl Row {
    fn new(clients: usize) -> Row {
        let mut hosts: Vec<Host> = (0..clients)
            .map(|number| end(client_address(number)))
            .collect();
        hosts.extend((0..2).map(|side| gateway(side, clients)));
        hosts.push(end(server().address));
        hosts[clients + 2].tcp_listen(PORT, Profile::linux_6(), 1024, None);
        Row {
            now: Instant::ZERO,
            hosts,
            clients,
            flying: VecDeque::new(),
        }
    }

    /// Lets a host send everything that is due.
    fn drain(&mut self, node: usize) {
        loop {
            let mut quiet = true;
            while let Some(event) = self.hosts[node].poll_event() {
                quiet = false;
                self.read(node, &event);
            }
            while let Some((out, packet)) = self.hosts[node].poll_transmit(self.now) {
                quiet = false;
                let (to, interface) = self.next_hop(node, out, &packet);
                self.flying.push_back((to, interface, packet));
            }
            while self.hosts[node].poll_changed().is_some() {}
            if quiet {
                return;
            }
        }
    }

    /// Reads for the applications at once, so that no buffer holds received data.
    fn read(&mut self, node: usize, event: &HostEvent) {
        if let HostEvent::Socket { socket, .. } | HostEvent::Accepted { socket, .. } = event
            && let Some(connection) = self.hosts[node].connection_mut(*socket)
        {
            connection.discard(u64::MAX);
        }
    }

    /// Returns the next host; interface 0 of a gateway leads to the clients, 1 to the server.
    fn next_hop(&self, node: usize, out: InterfaceId, packet: &Packet) -> (usize, InterfaceId) {
        let near = self.clients;
        match (node, out.0) {
            (node, 0) if node == near => {
                let IpAddr::V4(address) = packet.ip.destination else {
                    unreachable!("all addresses are IPv4")
                };
                ((address.to_bits() - 0x0A00_0001) as usize, InterfaceId(0))
            }
            (node, 1) if node == near => (near + 1, InterfaceId(0)),
            (node, 0) if node == near + 1 => (near, InterfaceId(1)),
            (node, _) if node == near + 1 => (near + 2, InterfaceId(0)),
            (node, _) if node == near + 2 => (near + 1, InterfaceId(1)),
            _ => (near, InterfaceId(0)),
        }
    }

    /// Delivers packets until none is under way.
    fn settle(&mut self) {
        while let Some((to, interface, mut packet)) = self.flying.pop_front() {
            let length = packet.wire_length();
            let host = &mut self.hosts[to];
            if host.route(self.now, interface, &mut packet, length) == Verdict::Local {
                host.handle_packet(self.now, interface, packet);
            }
            self.drain(to);
        }
    }

    /// Processes all events up to the end of the next step.
    fn step(&mut self) {
        self.now += STEP;
        for node in 0..self.hosts.len() {
            let host = &mut self.hosts[node];
            if host.poll_timeout().is_some_and(|at| at <= self.now) {
                host.handle_timeout(self.now);
                self.drain(node);
            }
        }
        self.settle();
    }

    fn open(&mut self, client: usize) -> SocketId {
        let profile = Profile::linux_6();
        let socket = self.hosts[client].tcp_connect(self.now, server(), &profile, None);
        self.drain(client);
        self.settle();
        self.send(client, socket);
        socket
    }

    fn send(&mut self, client: usize, socket: SocketId) {
        if let Some(connection) = self.hosts[client].connection_mut(socket) {
            connection.write_pattern(7, BYTES);
        }
        self.drain(client);
        self.settle();
    }

    fn quiet(&mut self) {
        let until = self.now + QUIET;
        while self.now < until {
            self.step();
        }
    }

    /// Returns the bytes freed by a host's removal.
    fn weigh(&mut self, node: usize) -> i64 {
        let before = counting::live_bytes();
        self.hosts[node] = end(client_address(0));
        before - counting::live_bytes()
    }
}

fn end(address: IpAddr) -> Host {
    let mut host = Host::new(address, [7; 16]);
    let interface = host.add_interface(1500);
    host.routes_mut().set_default(Some(interface));
    host
}

fn gateway(side: usize, clients: usize) -> Host {
    let mut host = Host::new(
        Ipv4Addr::from_bits(0x0AFF_00F0 + side as u32).into(),
        [8; 16],
    );
    let [to_clients, to_server] = [0, 1].map(|_| host.add_interface(1500));
    for number in 0..clients {
        host.routes_mut().set(client_address(number), to_clients);
    }
    host.routes_mut().set(server().address, to_server);
    let airborne = if side == 0 { to_server } else { to_clients };
    let rule = Rule {
        selector: Selector::default(),
        configuration: configuration(),
        profile: Profile::linux_6(),
    };
    let links = [(airborne, rate())];
    host.add_layer(AerotpGateway::new(&links, vec![rule], [side as u8; 16]));
    host
}

/// Opens so many connections, each of which carries some data, and leaves them idle.
pub fn measure(connections: usize) -> Taken {
    let begun = processor_seconds();
    let mut row = Row::new(connections.div_ceil(OF_A_CLIENT));
    let mut sockets = Vec::with_capacity(connections);
    for number in 0..connections {
        let client = number / OF_A_CLIENT;
        sockets.push((client, row.open(client)));
        if number % OF_A_STEP == 0 {
            row.step();
        }
    }
    row.quiet();
    let microseconds = (processor_seconds() - begun) * 1e6 / connections as f64;
    for &(client, socket) in &sockets {
        row.send(client, socket);
    }
    row.quiet();
    for &(client, socket) in &sockets {
        let connection = row.hosts[client].connection(socket).expect("it is there");
        assert_eq!(connection.bytes_acknowledged(), 2 * BYTES, "it has arrived");
    }
    let near = row.clients;
    for node in [near, near + 1] {
        let gateway = row.hosts[node].layer::<AerotpGateway>().expect("it is one");
        assert_eq!(gateway.connections(), connections);
    }
    let each = |bytes: i64| bytes as f64 / connections as f64;
    Taken {
        near_bytes: each(row.weigh(near)),
        far_bytes: each(row.weigh(near + 1)),
        microseconds,
    }
}

/// Returns the bytes of one of so many idle connections between two AeroTP hosts, at the opener.
pub fn native(connections: usize) -> f64 {
    let mut hosts = [end(client_address(0)), end(server().address)];
    hosts[1].aerotp_listen(PORT, configuration(), 1024, None);
    let mut now = Instant::ZERO;
    for _ in 0..connections {
        let socket = hosts[0].aerotp_connect(now, server(), configuration(), None);
        write(&mut hosts[0], socket);
        exchange(now, &mut hosts);
        now += STEP;
    }
    for _ in 0..QUIET.as_nanos() / STEP.as_nanos() {
        exchange(now, &mut hosts);
        now += STEP;
    }
    let before = counting::live_bytes();
    hosts[0] = end(client_address(0));
    (before - counting::live_bytes()) as f64 / connections as f64
}

fn write(host: &mut Host, socket: SocketId) {
    if let Some(connection) = host.aerotp_mut(socket) {
        connection.write(&Payload::Pattern {
            stream: 7,
            offset: 0,
            length: BYTES as u32,
        });
    }
}

/// Exchanges packets until there are none.
fn exchange(now: Instant, hosts: &mut [Host; 2]) {
    for host in &mut *hosts {
        if host.poll_timeout().is_some_and(|at| at <= now) {
            host.handle_timeout(now);
        }
    }
    loop {
        let mut quiet = true;
        for from in [0, 1] {
            while let Some(event) = hosts[from].poll_event() {
                if let HostEvent::Socket { socket, .. } = event
                    && let Some(connection) = hosts[from].aerotp_mut(socket)
                {
                    while connection.read(now, u64::MAX).is_some() {}
                }
            }
            while let Some((_, packet)) = hosts[from].poll_transmit(now) {
                quiet = false;
                hosts[1 - from].handle_packet(now, InterfaceId(0), packet);
            }
            while hosts[from].poll_changed().is_some() {}
        }
        if quiet {
            return;
        }
    }
}
