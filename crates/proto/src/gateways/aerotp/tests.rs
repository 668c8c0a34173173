//! A client (10.0.0.1), two gateways, and a server (10.0.0.4) in a row; 1 ms, 20 ms and 1 ms apart.

mod losses;

use super::*;
use crate::aerotp::Coding;
use crate::host::{Backpressure, Host, HostEvent, Verdict};
use crate::interface::{LinkParameters, TransmitStatus};
use crate::packet::{Payload, pattern_byte};
use crate::tcp;
use crate::time::Duration;
use crate::wire::aerotp::ServiceClass;

const PORT: u16 = 80;

fn address(last: u8) -> IpAddr {
    [10, 0, 0, last].into()
}

struct Row {
    now: Instant,
    hosts: [Host; 4],
    flying: BTreeMap<(Instant, u64), (usize, usize, Packet)>,
    count: u64,
    /// Number of packets between the gateways of which one is damaged in one bit; zero for none.
    damages_each: u64,
    /// Start and end of an outage between the gateways.
    outage: (Instant, Instant),
    /// True while nothing passes to or from the server.
    server_is_down: bool,
    /// Lost packets, by their places in the log.
    lose: Vec<usize>,
    log: Vec<(Instant, usize, usize, Packet)>,
    events: Vec<(Instant, usize, HostEvent)>,
}

fn rules(mode: Mode) -> Vec<Rule> {
    let mut configuration = Configuration::new(DataRate::from_bits_per_second(5_000_000));
    configuration.mode = mode;
    configuration.coding = Coding::Adaptive;
    vec![Rule {
        selector: Selector::default(),
        configuration,
        profile: Profile::linux_6(),
    }]
}

impl Row {
    fn new(mode: Mode) -> Row {
        Row::with_rules(rules(mode))
    }

    fn with_rules(rules: Vec<Rule>) -> Row {
        let mut hosts = [1, 2, 3, 4].map(|last| Host::new(address(last), [last; 16]));
        for (node, host) in hosts.iter_mut().enumerate() {
            // Interface 0 leads to the lower numbers, 1 to the higher ones; ends have but one.
            host.add_interface(1500);
            if node == 1 || node == 2 {
                host.add_interface(1500);
                for last in 1..=4 {
                    let further = usize::from(last - 1) > node;
                    let interface = InterfaceId(usize::from(further));
                    host.routes_mut().set(address(last), interface);
                }
                let airborne = InterfaceId(usize::from(node == 1));
                let secret = [node as u8; 16];
                host.add_layer(AerotpGateway::new(airborne, rules.clone(), secret));
            } else {
                host.routes_mut().set_default(Some(InterfaceId(0)));
            }
        }
        Row {
            now: Instant::ZERO,
            hosts,
            flying: BTreeMap::new(),
            count: 0,
            damages_each: 0,
            outage: (Instant::NEVER, Instant::NEVER),
            server_is_down: false,
            lose: Vec::new(),
            log: Vec::new(),
            events: Vec::new(),
        }
    }

    fn send(&mut self, from: usize, interface: InterfaceId, mut packet: Packet) {
        let to = match (from, interface.0) {
            (0, _) => 1,
            (3, _) => 2,
            (node, 0) => node - 1,
            (node, _) => node + 1,
        };
        self.log.push((self.now, from, to, packet.clone()));
        self.count += 1;
        if self.lose.contains(&(self.log.len() - 1)) {
            return;
        }
        let in_the_air = from.min(to) == 1;
        if in_the_air {
            if self.outage.0 <= self.now && self.now < self.outage.1 {
                return;
            }
            if self.damages_each > 0 && self.count.is_multiple_of(self.damages_each) {
                let bit = (self.count * 7919) % u64::from(packet.wire_length() * 8);
                packet.bit_errors = vec![bit as u32].into();
            }
        } else if self.server_is_down && from.max(to) == 3 {
            return;
        }
        let delay = Duration::from_millis(if in_the_air { 20 } else { 1 });
        self.flying
            .insert((self.now + delay, self.count), (from, to, packet));
    }

    fn settle(&mut self) {
        for node in 0..4 {
            loop {
                let mut quiet = true;
                while let Some(event) = self.hosts[node].poll_event() {
                    quiet = false;
                    self.events.push((self.now, node, event));
                }
                while let Some((interface, packet)) = self.hosts[node].poll_transmit(self.now) {
                    quiet = false;
                    self.send(node, interface, packet);
                }
                if quiet {
                    break;
                }
            }
        }
    }

    fn arrive(&mut self, from: usize, to: usize, mut packet: Packet) {
        let interface = InterfaceId(usize::from((to == 1 || to == 2) && from > to));
        let length = packet.wire_length();
        match self.hosts[to].route(self.now, interface, &mut packet, length) {
            Verdict::Local => self.hosts[to].handle_packet(self.now, interface, packet),
            Verdict::Forward(interface) => self.send(to, interface, packet),
            Verdict::Discard => {}
        }
    }

    fn run(&mut self, seconds: f64) {
        let until = Instant::from_nanos((seconds * 1e9) as u64);
        self.settle();
        loop {
            let timers = self.hosts.iter_mut().filter_map(Host::poll_timeout).min();
            let arrival = self.flying.first_key_value().map(|(&(at, _), _)| at);
            let Some(next) = timers.into_iter().chain(arrival).min() else {
                break;
            };
            if next > until {
                break;
            }
            self.now = self.now.max(next);
            if arrival == Some(next) {
                let (_, (from, to, packet)) = self.flying.pop_first().unwrap();
                self.arrive(from, to, packet);
            }
            for host in &mut self.hosts {
                host.handle_timeout(self.now);
            }
            self.settle();
        }
        self.now = until;
    }

    fn connect(&mut self, profile: &Profile) -> SocketId {
        let remote = end(address(4), PORT);
        self.hosts[0].tcp_connect(self.now, remote, profile, None)
    }

    fn accepted(&self) -> Option<SocketId> {
        self.events.iter().find_map(|(_, node, event)| match event {
            HostEvent::Accepted { socket, .. } if *node == 3 => Some(*socket),
            _ => None,
        })
    }

    fn saw(&self, node: usize, wanted: tcp::Event) -> bool {
        self.events.iter().any(|(_, at, event)| {
            *at == node
                && matches!(event, HostEvent::Socket { event, .. } if *event == wanted.into())
        })
    }

    /// Reads all available data at an end and checks it from `position` of pattern 7 on.
    fn read(&mut self, node: usize, socket: SocketId, mut position: u64) -> u64 {
        let connection = self.hosts[node].connection_mut(socket).unwrap();
        let mut bytes = vec![0; 1 << 20];
        let count = connection.read(&mut bytes);
        for byte in &bytes[..count] {
            assert_eq!(*byte, pattern_byte(7, position), "at {position}");
            position += 1;
        }
        position
    }
}

/// Lets a client send and the server answer, over a link that damages packets, with an outage between.
fn there_and_back(mode: Mode) -> Row {
    let mut row = Row::new(mode);
    row.damages_each = 7;
    row.outage = (Instant::from_secs(1), Instant::from_secs(4));
    row.hosts[3].tcp_listen(PORT, Profile::linux_6(), 16, None);
    let client = row.connect(&Profile::linux_6());
    row.run(0.5);
    assert!(row.saw(0, tcp::Event::Connected), "{mode:?}");
    let server = row.accepted().unwrap();
    let (mut there, mut back) = (0, 0);
    let mut written = [0; 2];
    const BYTES: u64 = 300_000;
    for tenth in 6..100 {
        for (written, (node, socket)) in written.iter_mut().zip([(0, client), (3, server)]) {
            let connection = row.hosts[node].connection_mut(socket).unwrap();
            *written += connection.write_pattern(7, BYTES - *written);
            if *written == BYTES {
                connection.close();
            }
        }
        row.run(f64::from(tenth) / 10.0);
        there = row.read(3, server, there);
        back = row.read(0, client, back);
        if mode == Mode::Reliable {
            // Data acknowledged to the client has been acknowledged by the server's TCP.
            let told = row.hosts[0]
                .connection(client)
                .unwrap()
                .bytes_acknowledged();
            assert!(told <= there, "{told} > {there}");
        }
    }
    assert_eq!((there, back), (BYTES, BYTES), "{mode:?}");
    assert!(row.saw(0, tcp::Event::PeerClosed) && row.saw(3, tcp::Event::PeerClosed));
    row.run(200.0);
    for node in [1, 2] {
        assert_eq!(
            row.hosts[node]
                .layer::<AerotpGateway>()
                .unwrap()
                .connections(),
            0,
            "{mode:?}"
        );
    }
    row
}

#[test]
fn tcp_crosses_a_bad_link_whole() {
    for mode in [Mode::Reliable, Mode::NearReliable] {
        let row = there_and_back(mode);
        // Between the gateways there is AeroTP alone.
        for (at, from, to, packet) in &row.log {
            let is_aerotp = matches!(packet.body, Body::Aerotp(_));
            assert!(*from.min(to) != 1 || is_aerotp, "{at:?}: {packet:?}");
        }
    }
}

#[test]
fn the_syn_is_answered_when_the_far_end_has() {
    let mut row = Row::new(Mode::Reliable);
    row.hosts[3].tcp_listen(PORT, Profile::linux_6(), 16, None);
    row.connect(&Profile::linux_6());
    row.run(5.0);
    let connected = row.events.iter().find(|(_, node, _)| *node == 0).unwrap();
    // There and back over the whole way.
    assert_eq!(connected.0, Instant::from_millis(44));
    let mut row = Row::new(Mode::NearReliable);
    row.hosts[3].tcp_listen(PORT, Profile::linux_6(), 16, None);
    row.connect(&Profile::linux_6());
    row.run(5.0);
    let connected = row.events.iter().find(|(_, node, _)| *node == 0).unwrap();
    // To the gateway and back.
    assert_eq!(connected.0, Instant::from_millis(2));
}

#[test]
fn a_refusal_comes_back_as_a_reset() {
    for (mode, event) in [
        (Mode::Reliable, tcp::Event::Refused),
        (Mode::NearReliable, tcp::Event::Reset),
    ] {
        let mut row = Row::new(mode);
        row.connect(&Profile::linux_6());
        row.run(5.0);
        assert!(row.saw(0, event), "{mode:?}");
        row.run(30.0);
        assert_eq!(
            row.hosts[1].layer::<AerotpGateway>().unwrap().connections(),
            0
        );
    }
}

/// The gateway does not answer in reliable mode if the server does not.
#[test]
fn a_far_end_that_is_down_is_not_spoken_for() {
    let mut row = Row::new(Mode::Reliable);
    row.server_is_down = true;
    row.hosts[3].tcp_listen(PORT, Profile::linux_6(), 16, None);
    row.connect(&Profile::linux_6());
    row.run(10.0);
    assert!(row.events.is_empty());
    row.server_is_down = false;
    row.run(20.0);
    assert!(row.saw(0, tcp::Event::Connected));
}

/// Options that one end does not offer are not offered to the other.
#[test]
fn options_are_those_that_both_ends_have() {
    let mut row = Row::new(Mode::Reliable);
    let mut plain = Profile::linux_6();
    plain.sack = false;
    plain.timestamps = false;
    plain.maximum_segment_size = 900;
    row.hosts[3].tcp_listen(PORT, plain, 16, None);
    let client = row.connect(&Profile::linux_6());
    row.run(1.0);
    let negotiated = *row.hosts[0]
        .connection(client)
        .unwrap()
        .negotiated()
        .unwrap();
    assert!(!negotiated.sack && !negotiated.timestamps);
    assert_eq!(negotiated.peer_segment_size, 900);
    let server = row.accepted().unwrap();
    let negotiated = *row.hosts[3]
        .connection(server)
        .unwrap()
        .negotiated()
        .unwrap();
    assert!(!negotiated.sack && !negotiated.timestamps);
}

#[test]
fn a_reset_crosses() {
    for mode in [Mode::Reliable, Mode::NearReliable] {
        let mut row = Row::new(mode);
        row.hosts[3].tcp_listen(PORT, Profile::linux_6(), 16, None);
        let client = row.connect(&Profile::linux_6());
        row.run(1.0);
        row.hosts[0].connection_mut(client).unwrap().abort();
        row.run(2.0);
        assert!(row.saw(3, tcp::Event::Reset), "{mode:?}");
    }
}

/// In near-reliable mode, data acknowledged and not yet delivered is in custody, which its window bounds.
#[test]
fn custody_is_bounded() {
    let mut rules = rules(Mode::NearReliable);
    rules[0].configuration.send_buffer = 50_000;
    let mut row = Row::with_rules(rules);
    row.outage = (Instant::from_millis(500), Instant::from_secs(3));
    row.hosts[3].tcp_listen(PORT, Profile::linux_6(), 16, None);
    let client = row.connect(&Profile::linux_6());
    row.run(0.6);
    let mut written = 0;
    let mut write = |row: &mut Row| {
        let connection = row.hosts[0].connection_mut(client).unwrap();
        written += connection.write_pattern(7, 400_000 - written);
    };
    for tenth in 6..30 {
        write(&mut row);
        row.run(f64::from(tenth) / 10.0);
    }
    let told = row.hosts[0]
        .connection(client)
        .unwrap()
        .bytes_acknowledged();
    let gateway = row.hosts[1].layer::<AerotpGateway>().unwrap();
    assert_eq!(gateway.custody(), 50_000);
    // And the data in the receive buffer of the half here.
    assert!(told >= 50_000);
    let mut there = 0;
    for tenth in 30..150 {
        write(&mut row);
        row.run(f64::from(tenth) / 10.0);
        if let Some(server) = row.accepted() {
            there = row.read(3, server, there);
        }
    }
    assert_eq!(there, 400_000);
}

#[test]
fn datagrams_cross_in_each_mode() {
    for mode in Mode::ALL {
        let mut row = Row::new(mode);
        row.hosts[3].udp_bind(5000);
        row.hosts[0].udp_bind(6000);
        for number in 0..20 {
            let payload = Payload::Pattern {
                stream: 7,
                offset: number * 100,
                length: 100,
            };
            row.hosts[0].udp_send(6000, end(address(4), 5000), payload, None);
            row.run(0.01 * (number + 1) as f64);
        }
        row.run(1.0);
        let here = |row: &Row, at: usize| {
            let is_datagram = |event: &&(Instant, usize, HostEvent)| {
                event.1 == at && matches!(event.2, HostEvent::Datagram { .. })
            };
            row.events.iter().filter(is_datagram).count()
        };
        assert_eq!(here(&row, 3), 20, "{mode:?}");
        if mode.repeats() || mode == Mode::UnreliableDatagram {
            // And back.
            let payload = Payload::Pattern {
                stream: 7,
                offset: 0,
                length: 300,
            };
            row.hosts[3].udp_send(5000, end(address(1), 6000), payload, None);
            row.run(2.0);
            assert_eq!(here(&row, 0), 1, "{mode:?}");
        }
        row.run(500.0);
        assert_eq!(
            row.hosts[1].layer::<AerotpGateway>().unwrap().connections(),
            0,
            "{mode:?}"
        );
    }
}

#[test]
fn what_no_rule_selects_passes_as_it_is() {
    let mut rules = rules(Mode::Reliable);
    rules[0].selector.port = Some(81);
    let mut row = Row::with_rules(rules);
    row.hosts[3].tcp_listen(PORT, Profile::linux_6(), 16, None);
    row.connect(&Profile::linux_6());
    row.run(1.0);
    assert!(row.saw(0, tcp::Event::Connected));
    assert!(
        row.log
            .iter()
            .all(|(.., packet)| matches!(packet.body, Body::Tcp(..)))
    );
}

#[test]
fn rules_select_by_network_and_code_point() {
    let network = Selector {
        destination: Some((address(0), 24)),
        ..Selector::default()
    };
    assert!(is_within(address(77), network.destination.unwrap().0, 24));
    assert!(!is_within([10, 0, 1, 1].into(), address(0), 24));
    assert!(is_within([9, 9, 9, 9].into(), address(0), 0));
    assert!(!is_within("2001:db8::1".parse().unwrap(), address(0), 0));
}

/// Openings without a second packet make room; later connections still get in.
#[test]
fn a_flood_of_openings_is_bounded() {
    let mut row = Row::new(Mode::Reliable);
    row.server_is_down = true;
    for _ in 0..3 * MOST_HALF_OPEN {
        row.connect(&Profile::linux_6());
    }
    row.run(0.1);
    for node in [1, 2] {
        assert!(
            row.hosts[node]
                .layer::<AerotpGateway>()
                .unwrap()
                .connections()
                <= MOST_HALF_OPEN
        );
    }
    row.server_is_down = false;
    row.hosts[3].tcp_listen(PORT, Profile::linux_6(), 4096, None);
    let legitimate = row.connect(&Profile::linux_6());
    row.run(3.0);
    let connection = row.hosts[0].connection(legitimate).unwrap();
    assert_eq!(connection.state(), tcp::State::Established);
}

/// Forged openings send one packet each, without a host behind them.
#[test]
fn a_flood_keeps_nobody_out_and_no_memory() {
    for mode in [Mode::Reliable, Mode::NearReliable] {
        let mut row = Row::new(mode);
        row.hosts[3].tcp_listen(PORT, Profile::linux_6(), 16, None);
        // A route to the forgers: Linux does not count a connection as half open if it cannot send the answer.
        for node in [1, 2] {
            row.hosts[node]
                .routes_mut()
                .set_default(Some(InterfaceId(0)));
        }
        for number in 0..4000_u32 {
            let forged = [10, 9, (number >> 8) as u8, number as u8].into();
            let mut forger = Host::new(forged, [9; 16]);
            forger.add_interface(1500);
            forger.routes_mut().set_default(Some(InterfaceId(0)));
            forger.tcp_connect(row.now, end(address(4), PORT), &Profile::linux_6(), None);
            assert_eq!(forger.poll_event(), None);
            let (_, syn) = forger.poll_transmit(row.now).unwrap();
            row.hosts[1].handle_packet(row.now, InterfaceId(0), syn);
            while let Some((_, packet)) = row.hosts[1].poll_transmit(row.now) {
                // The gateway's answer to the forger is lost.
                if matches!(packet.body, Body::Aerotp(_)) {
                    row.hosts[2].handle_packet(row.now, InterfaceId(0), packet);
                }
            }
            while row.hosts[2].poll_transmit(row.now).is_some() {}
        }
        for node in [1, 2] {
            let host = &row.hosts[node];
            let gateway = host.layer::<AerotpGateway>().unwrap();
            assert_eq!(gateway.connections(), MOST_HALF_OPEN, "{mode:?} {node}");
            assert_eq!(gateway.discards().half_open, 4000 - MOST_HALF_OPEN as u64);
            let halves = gateway.halves();
            let waits = mode == Mode::Reliable && node == 1;
            let expected = if waits { 0..=0 } else { 1..=MOST_HALF_OPEN + 2 };
            assert!(expected.contains(&halves), "{mode:?} {node}: {halves}");
        }
        let client = row.connect(&Profile::linux_6());
        row.run(1.0);
        assert!(row.saw(0, tcp::Event::Connected), "{mode:?}");
        let connection = row.hosts[0].connection_mut(client).unwrap();
        connection.write_pattern(7, 10_000);
        row.run(2.0);
        let accepted = row.hosts[3].connection(row.accepted().unwrap()).unwrap();
        assert_eq!(accepted.readable(), 10_000, "{mode:?}");
    }
}

/// Without answers nothing shows which openings are forged, however many packets they send: the gateway keeps a bounded number of all,
/// and a connection in use stays.
#[test]
fn a_flood_that_comes_twice_is_bounded_in_modes_without_answers() {
    for mode in [Mode::QuasiReliable, Mode::UnreliableConnection] {
        let mut row = Row::new(mode);
        let configuration = rules(mode)[0].configuration.clone();
        let record = Payload::Pattern {
            stream: 1,
            offset: 0,
            length: 20,
        };
        let speaker = |address: IpAddr, now: Instant| {
            let mut host = Host::new(address, [9; 16]);
            host.add_interface(1500);
            host.routes_mut().set_default(Some(InterfaceId(0)));
            let server = end(self::address(4), PORT);
            let socket = host.aerotp_connect(now, server, configuration.clone(), None);
            (host, socket)
        };
        let (mut honest, socket) = speaker([10, 8, 0, 1].into(), row.now);
        let hears = |row: &mut Row, host: &mut Host, socket| {
            assert!(host.aerotp_mut(socket).unwrap().write_record(&record));
            while host.poll_event().is_some() {}
            while let Some((_, packet)) = host.poll_transmit(row.now) {
                row.hosts[2].handle_packet(row.now, InterfaceId(0), packet);
            }
            while row.hosts[2].poll_transmit(row.now).is_some() {}
            row.now += Duration::from_millis(1);
        };
        for number in 0..3000_u32 {
            if number % 500 == 0 {
                hears(&mut row, &mut honest, socket);
            }
            let forged = [10, 9, (number >> 8) as u8, number as u8].into();
            let (mut forger, socket) = speaker(forged, row.now);
            hears(&mut row, &mut forger, socket);
            hears(&mut row, &mut forger, socket);
        }
        let gateway = row.hosts[2].layer::<AerotpGateway>().unwrap();
        assert_eq!(gateway.connections(), MOST_HALF_OPEN, "{mode:?}");
        let mut all = gateway.aerotp_connections();
        let theirs = all.find(|(_, connection)| connection.addresses().1 == honest.address());
        // A connection that had made room and begun anew would miss the earlier data.
        let statistics = theirs.expect("it is in use").1.statistics();
        assert_eq!((statistics.skipped, statistics.refused), (0, 0), "{mode:?}");
    }
}

/// Connections of one source share the rate that a queue reports to it; reports to other sources are not for the gateway.
#[test]
fn a_queue_that_fills_slows_the_connections_of_its_source() {
    let mut row = Row::new(Mode::Reliable);
    row.hosts[3].tcp_listen(PORT, Profile::linux_6(), 16, None);
    let clients = [1, 2].map(|_| row.connect(&Profile::linux_6()));
    row.run(0.5);
    row.outage = (Instant::ZERO, Instant::NEVER);
    for client in clients {
        let connection = row.hosts[0].connection_mut(client).unwrap();
        connection.write_pattern(7, 50_000);
    }
    row.run(0.6);
    let last = |(_, from, to, packet): &(Instant, usize, usize, Packet)| {
        ((*from, *to) == (1, 2)).then(|| packet.clone())
    };
    let sent = row.log.iter().rev().find_map(last).unwrap();
    let rates = |row: &Row| {
        let gateway = row.hosts[1].layer::<AerotpGateway>().unwrap();
        let rate = |connection: &aerotp::Connection| connection.rate(aerotp::PathId(0)).unwrap();
        let all = gateway.aerotp_connections();
        let rates: Vec<u64> = all
            .map(|(_, connection)| rate(connection).bits_per_second())
            .collect();
        rates
    };
    assert_eq!(rates(&row), [5_000_000; 2]);
    row.hosts[1].add_layer(Backpressure::default());
    let tell = |row: &mut Row, packet: &Packet| {
        // Of 3,158,000 bit/s the sources get 95 %: 3000 kbit/s.
        let pressure = Some(DataRate::from_bits_per_second(3_158_000));
        let status = TransmitStatus::Queued { pressure };
        let airborne = InterfaceId(1);
        assert!(row.hosts[1].handle_transmit_status(row.now, airborne, packet, status));
    };
    tell(&mut row, &sent);
    row.settle();
    assert_eq!(rates(&row), [1_500_000; 2]);
    // Packets of another source are of no connection here: the message goes to that source.
    let mut other = sent.clone();
    other.ip.source = address(3);
    tell(&mut row, &other);
    let told = core::iter::from_fn(|| row.hosts[1].poll_transmit(row.now));
    let told: Vec<_> = told.collect();
    assert_eq!(rates(&row), [1_500_000; 2]);
    let told = told.into_iter();
    let is_error = |packet: &Packet| matches!(packet.body, Body::Icmp(_));
    assert_eq!(told.filter(|(_, packet)| is_error(packet)).count(), 1);
}

/// The gateway that opens decides the class, whatever the other's rule; the TCP halves do not have it.
#[test]
fn the_class_of_the_gateway_that_opens_is_the_code_point_both_ways() {
    let mut near = rules(Mode::Reliable);
    near[0].configuration.class = ServiceClass::new(5).unwrap();
    let mut row = Row::with_rules(near);
    let airborne = InterfaceId(0);
    let far = AerotpGateway::new(airborne, rules(Mode::Reliable), [2; 16]);
    *row.hosts[2].layer_mut::<AerotpGateway>().unwrap() = far;
    row.hosts[3].tcp_listen(PORT, Profile::linux_6(), 16, None);
    let client = row.connect(&Profile::linux_6());
    row.run(0.5);
    let connection = row.hosts[0].connection_mut(client).unwrap();
    connection.write_pattern(7, 20_000);
    row.run(1.0);
    let on_air = |from: usize| {
        row.log
            .iter()
            .filter(move |sent| sent.1 == from && sent.1.min(sent.2) == 1)
    };
    assert!(on_air(1).count() > 10 && on_air(2).count() > 2);
    for (_, from, to, packet) in &row.log {
        let octet = if *from.min(to) == 1 { 0xa0 } else { 0 };
        assert_eq!(packet.ip.traffic_class, octet, "{packet:?}");
    }
}

/// Connections of a gateway hear of the link to the other gateway, and of no other; later ones begin with its rate.
#[test]
fn a_gateway_hears_of_its_link() {
    let mut row = Row::new(Mode::Reliable);
    row.hosts[3].tcp_listen(PORT, Profile::linux_6(), 16, None);
    let client = row.connect(&Profile::linux_6());
    row.run(0.5);
    let [aboard, airborne] = [0, 1].map(InterfaceId);
    let on_air = |row: &Row, from: f64| {
        let from = Instant::from_nanos((from * 1e9) as u64);
        let log = row.log.iter();
        log.filter(|sent| sent.0 >= from && (sent.1, sent.2) == (1, 2))
            .count()
    };
    let say = |row: &mut Row, interface, event| {
        let now = row.now;
        row.hosts[1].handle_link(now, interface, event);
        row.settle();
    };
    say(&mut row, airborne, LinkEvent::Down);
    let connection = row.hosts[0].connection_mut(client).unwrap();
    connection.write_pattern(7, 50_000);
    row.run(2.0);
    assert_eq!(on_air(&row, 0.5), 0);
    say(&mut row, aboard, LinkEvent::Up);
    row.run(3.0);
    assert_eq!(on_air(&row, 2.0), 0);
    let rate = DataRate::from_bits_per_second;
    let carries = LinkParameters {
        outgoing: rate(2_000_000),
        incoming: rate(1_000_000),
        round_trip: Duration::from_millis(40),
        outgoing_queue: None,
        incoming_queue: None,
        mtu: 1500,
    };
    say(&mut row, airborne, LinkEvent::Parameters(carries));
    say(&mut row, airborne, LinkEvent::Up);
    let rates = |row: &Row| -> Vec<u64> {
        let gateway = row.hosts[1].layer::<AerotpGateway>().unwrap();
        let all = gateway.aerotp_connections();
        all.map(|(_, one)| one.rate(aerotp::PathId(0)).unwrap().bits_per_second())
            .collect()
    };
    assert_eq!(rates(&row), [2_000_000]);
    row.connect(&Profile::linux_6());
    row.run(3.01);
    assert_eq!(rates(&row), [2_000_000; 2]);
    row.run(4.0);
    assert!(on_air(&row, 3.0) >= 50_000 / 1500);
}
