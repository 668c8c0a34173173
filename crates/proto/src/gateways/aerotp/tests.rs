//! A client, two gateways and a server in a row; 1 ms, 20 ms and 1 ms apart.

mod custody;
mod datagrams;
mod links;
mod losses;
mod many;
mod shares;

use super::rules::is_within;
use super::*;
use crate::aerotp::{Coding, Configuration};
use crate::host::{Backpressure, Host, HostEvent, SocketEvent};
use crate::interface::{LinkParameters, TransmitStatus};
use crate::packet::{Payload, pattern_byte};
use crate::tcp;
use crate::tcp::profile::Profile;
use crate::testing::{Entering, Hosts, Net, Passage, address, at};
use crate::time::Duration;
use crate::wire::aerotp::{Mode, ServiceClass};
use core::ops::Range;

const PORT: u16 = 80;

/// Rate of a link in bit/s.
const RATE: u64 = 5_000_000;

fn rules(mode: Mode) -> Vec<Rule> {
    let mut configuration = Configuration::new(DataRate::ZERO);
    configuration.mode = mode;
    configuration.coding = Coding::Adaptive;
    vec![Rule {
        selector: Selector::default(),
        configuration,
        profile: Profile::linux_6(),
    }]
}

/// Returns a row with gateways of the same rules.
fn row(rules: Vec<Rule>) -> Net {
    let mut row = Net::of(Hosts::row(&[1, 20, 1].map(Duration::from_millis)));
    for node in [1, 2] {
        let airborne = InterfaceId(usize::from(node == 1));
        let secret = [node as u8; 16];
        let links = [(airborne, DataRate::from_bits_per_second(RATE))];
        row.hosts[node].add_layer(AerotpGateway::new(&links, rules.clone(), secret));
    }
    row
}

/// Returns a row whose server listens, and its client, which has begun to connect.
fn connecting(mode: Mode) -> (Net, SocketId) {
    begin(row(rules(mode)))
}

fn begin(mut row: Net) -> (Net, SocketId) {
    row.hosts[3].tcp_listen(PORT, Profile::linux_6(), 16, None);
    let client = row.connect(&Profile::linux_6());
    (row, client)
}

/// Returns true for a packet between the gateways.
fn is_in_the_air(from: usize, to: usize) -> bool {
    from.min(to) == 1
}

/// Loses packets that enter the air link in a period.
fn outage(period: Range<Instant>) -> impl Fn(&mut Packet, Entering) -> Passage {
    move |_, entering| match is_in_the_air(entering.from, entering.to)
        && period.contains(&entering.at)
    {
        true => Passage::Lost,
        false => Passage::Arrives,
    }
}

/// Loses packets to or from the server.
fn server_is_down(_: &mut Packet, entering: Entering) -> Passage {
    match entering.from.max(entering.to) == 3 {
        true => Passage::Lost,
        false => Passage::Arrives,
    }
}

trait Row {
    /// Opens the client's connection to the server.
    fn connect(&mut self, profile: &Profile) -> SocketId;

    /// Returns the number of connections carried by a gateway.
    fn carried(&self, node: usize) -> usize;

    /// Reads all available data at an end and checks it from `position` of pattern 7 on.
    fn read(&mut self, node: usize, socket: SocketId, position: u64) -> u64;
}

impl Row for Net {
    fn connect(&mut self, profile: &Profile) -> SocketId {
        let (now, remote) = (self.now(), end(address(3), PORT));
        self.hosts[0].tcp_connect(now, remote, profile, None)
    }

    fn carried(&self, node: usize) -> usize {
        let gateway = self.hosts[node].layer::<AerotpGateway>();
        gateway.unwrap().connections()
    }

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

/// Has a client send and the server answer, over a link that damages packets, with an outage between.
fn there_and_back(mode: Mode) -> Net {
    let (mut row, client) = connecting(mode);
    let lose = outage(at(1_000)..at(4_000));
    row.decide(move |packet, entering| {
        let count = entering.number + 1;
        if is_in_the_air(entering.from, entering.to) && count.is_multiple_of(7) {
            let bit = (count * 7919) % u64::from(packet.wire_length() * 8);
            packet.bit_errors = vec![bit as u32].into();
        }
        lose(packet, entering)
    });
    row.run_until(at(500));
    assert!(row.seen(0, SocketEvent::Connected).is_some(), "{mode:?}");
    let server = row.accepted(3)[0];
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
        row.run_until(at(100 * tenth));
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
    assert!(
        row.seen(0, SocketEvent::PeerClosed).is_some()
            && row.seen(3, SocketEvent::PeerClosed).is_some()
    );
    row.run_until(at(200_000));
    for node in [1, 2] {
        assert_eq!(row.carried(node), 0, "{mode:?}");
    }
    row
}

#[test]
fn tcp_crosses_a_bad_link_whole() {
    for mode in [Mode::Reliable, Mode::NearReliable] {
        let row = there_and_back(mode);
        // Between the gateways there is AeroTP alone.
        for sent in &row.sent {
            let is_aerotp = matches!(sent.packet.body, Body::Aerotp(_));
            assert!(!is_in_the_air(sent.from, sent.to) || is_aerotp, "{sent:?}");
        }
    }
}

/// The gateway is the last node's AeroTP: of a packet between two hosts whose header is hit, it knows only the hosts.
#[test]
fn a_damaged_header_of_which_the_network_has_told_is_reported_as_damage() {
    for is_indicated in [true, false] {
        let (mut row, client) = connecting(Mode::Reliable);
        let mut crossing = 0;
        row.decide(move |packet, entering| {
            crossing += u64::from((entering.from, entering.to) == (1, 2) && packet.has_data());
            if (entering.from, crossing) == (1, 8) {
                crossing += 1;
                packet.bit_errors = vec![20 * 8 + 60].into();
                if is_indicated {
                    packet.bit_errors.indicate();
                }
            }
            Passage::Arrives
        });
        row.run_until(at(500));
        let connection = row.hosts[0].connection_mut(client).unwrap();
        connection.write_pattern(7, 60_000);
        row.run_until(at(5_000));
        assert_eq!(row.hosts[2].discarded().damaged, 1);
        let damaged = row.sent.iter().filter(|sent| match &sent.packet.body {
            Body::Aerotp(packet) if (sent.from, sent.to) == (2, 1) => {
                let mack = packet.header.mack.as_ref();
                mack.is_some_and(|mack| mack.missing.iter().any(|gap| gap.damaged))
            }
            _ => false,
        });
        assert_eq!(damaged.count(), usize::from(is_indicated));
        let server = row.accepted(3)[0];
        assert_eq!(row.read(3, server, 0), 60_000);
    }
}

#[test]
fn the_syn_is_answered_when_the_far_end_has() {
    let (mut row, _) = connecting(Mode::Reliable);
    row.run_until(at(5_000));
    let first = |row: &Net| row.log.iter().find(|logged| logged.host == 0).unwrap().at;
    // A round trip over the whole path.
    assert_eq!(first(&row), at(44));
    let (mut row, _) = connecting(Mode::NearReliable);
    row.run_until(at(5_000));
    // A round trip to the gateway.
    assert_eq!(first(&row), at(2));
}

#[test]
fn a_refusal_comes_back_as_a_reset() {
    for (mode, event) in [
        (Mode::Reliable, SocketEvent::Refused),
        (Mode::NearReliable, SocketEvent::Reset),
    ] {
        let mut row = row(rules(mode));
        row.connect(&Profile::linux_6());
        row.run_until(at(5_000));
        assert!(row.seen(0, event).is_some(), "{mode:?}");
        row.run_until(at(30_000));
        assert_eq!(row.carried(1), 0);
    }
}

/// In reliable mode the gateway does not answer if the server does not.
#[test]
fn a_far_end_that_is_down_is_not_spoken_for() {
    let mut row = row(rules(Mode::Reliable));
    row.decide(server_is_down);
    row.hosts[3].tcp_listen(PORT, Profile::linux_6(), 16, None);
    row.connect(&Profile::linux_6());
    row.run_until(at(10_000));
    assert!(row.log.is_empty());
    row.decide(|_, _| Passage::Arrives);
    row.run_until(at(20_000));
    assert!(row.seen(0, SocketEvent::Connected).is_some());
}

/// Options that one end does not offer are not offered to the other.
#[test]
fn options_are_those_that_both_ends_have() {
    let mut row = row(rules(Mode::Reliable));
    let mut plain = Profile::linux_6();
    plain.sack = false;
    plain.timestamps = false;
    plain.maximum_segment_size = 900;
    row.hosts[3].tcp_listen(PORT, plain, 16, None);
    let client = row.connect(&Profile::linux_6());
    row.run_until(at(1_000));
    let negotiated = *row.hosts[0]
        .connection(client)
        .unwrap()
        .negotiated()
        .unwrap();
    assert!(!negotiated.sack && !negotiated.timestamps);
    assert_eq!(negotiated.peer_segment_size, 900);
    let server = row.accepted(3)[0];
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
        let (mut row, client) = connecting(mode);
        row.run_until(at(1_000));
        row.hosts[0].connection_mut(client).unwrap().abort();
        row.run_until(at(2_000));
        assert!(row.seen(3, SocketEvent::Reset).is_some(), "{mode:?}");
    }
}

/// In near-reliable mode, data acknowledged but not yet delivered is in custody, which is bounded by the window.
#[test]
fn custody_is_bounded() {
    let mut rules = rules(Mode::NearReliable);
    rules[0].configuration.send_buffer = 50_000;
    let mut row = row(rules);
    row.decide(outage(at(500)..at(3_000)));
    row.hosts[3].tcp_listen(PORT, Profile::linux_6(), 16, None);
    let client = row.connect(&Profile::linux_6());
    row.run_until(at(600));
    let mut written = 0;
    let mut write = |row: &mut Net| {
        let connection = row.hosts[0].connection_mut(client).unwrap();
        written += connection.write_pattern(7, 400_000 - written);
    };
    for tenth in 6..30 {
        write(&mut row);
        row.run_until(at(100 * tenth));
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
        row.run_until(at(100 * tenth));
        if let [server] = row.accepted(3)[..] {
            there = row.read(3, server, there);
        }
    }
    assert_eq!(there, 400_000);
}

#[test]
fn datagrams_cross_in_each_mode() {
    for mode in Mode::ALL {
        let mut row = row(rules(mode));
        row.hosts[3].udp_bind(5000);
        row.hosts[0].udp_bind(6000);
        for number in 0..20 {
            let payload = Payload::Pattern {
                stream: 7,
                offset: number * 100,
                length: 100,
            };
            row.hosts[0].udp_send(6000, end(address(3), 5000), payload, None);
            row.run_until(at(10 * (number + 1)));
        }
        row.run_until(at(1_000));
        let here = |row: &Net, host: usize| {
            let arrived = row.log.iter().filter(|logged| logged.host == host);
            let is_datagram = |event: &HostEvent| matches!(event, HostEvent::Datagram { .. });
            arrived.filter(|logged| is_datagram(&logged.event)).count()
        };
        assert_eq!(here(&row, 3), 20, "{mode:?}");
        if mode.repeats() || mode == Mode::UnreliableDatagram {
            // And back.
            let payload = Payload::Pattern {
                stream: 7,
                offset: 0,
                length: 300,
            };
            row.hosts[3].udp_send(5000, end(address(0), 6000), payload, None);
            row.run_until(at(2_000));
            assert_eq!(here(&row, 0), 1, "{mode:?}");
        }
        row.run_until(at(500_000));
        assert_eq!(row.carried(1), 0, "{mode:?}");
    }
}

#[test]
fn what_no_rule_selects_passes_as_it_is() {
    let mut rules = rules(Mode::Reliable);
    rules[0].selector.port = Some(81);
    let mut row = row(rules);
    row.hosts[3].tcp_listen(PORT, Profile::linux_6(), 16, None);
    row.connect(&Profile::linux_6());
    row.run_until(at(1_000));
    assert!(row.seen(0, SocketEvent::Connected).is_some());
    assert!(
        row.sent
            .iter()
            .all(|sent| matches!(sent.packet.body, Body::Tcp(..)))
    );
}

#[test]
fn rules_select_by_network_and_code_point() {
    let network = Selector {
        destination: Some(([10, 0, 0, 0].into(), 24)),
        ..Selector::default()
    };
    assert!(is_within(address(76), network.destination.unwrap().0, 24));
    assert!(!is_within([10, 0, 1, 1].into(), address(0), 24));
    assert!(is_within([9, 9, 9, 9].into(), address(0), 0));
    assert!(!is_within("2001:db8::1".parse().unwrap(), address(0), 0));
}

/// The other gateway loses its state in the middle of a transfer, and answers what it does not know by resets, which it
/// cannot prove. Links without authentication leave the connection to its timeout, for anyone could send these.
#[test]
fn a_restart_of_the_other_gateway_resets_connections_over_authenticated_links_alone() {
    for is_authenticated in [true, false] {
        let rules = rules(Mode::NearReliable);
        let authenticate = |gateway: &mut AerotpGateway| {
            if is_authenticated {
                gateway.leave_authentication_to_links();
            }
        };
        let mut row = row(rules.clone());
        for gateway in [1, 2] {
            authenticate(row.hosts[gateway].layer_mut::<AerotpGateway>().unwrap());
        }
        let (mut row, client) = begin(row);
        row.run_until(at(500));
        let connection = row.hosts[0].connection_mut(client).unwrap();
        connection.write_pattern(7, 20_000);
        row.run_until(at(700));
        let links = [(InterfaceId(0), DataRate::from_bits_per_second(RATE))];
        let mut anew = AerotpGateway::new(&links, rules, [22; 16]);
        authenticate(&mut anew);
        *row.hosts[2].layer_mut::<AerotpGateway>().unwrap() = anew;
        let connection = row.hosts[0].connection_mut(client).unwrap();
        connection.write_pattern(7, 20_000);
        row.run_until(at(1_000));
        assert_eq!(row.seen(0, SocketEvent::Reset).is_some(), is_authenticated);
        assert_eq!(row.carried(1), usize::from(!is_authenticated));
    }
}

/// Both ends have their connection, and only wait. The client's gateway asks until the other one, of which it hears that it
/// has restarted, answers by a reset, and asks the server: its answer meets the client's reset. A connection that is still
/// there stays.
#[test]
fn ends_that_only_wait_learn_of_a_restart() {
    for is_lost in [true, false] {
        let rules = rules(Mode::NearReliable);
        let mut row = row(rules.clone());
        for node in [1, 2] {
            let gateway = row.hosts[node].layer_mut::<AerotpGateway>().unwrap();
            gateway.leave_authentication_to_links();
        }
        let (mut row, client) = begin(row);
        row.run_until(at(500));
        let connection = row.hosts[0].connection_mut(client).unwrap();
        connection.write_pattern(7, 1_000);
        row.run_until(at(10_000));
        let gateway = row.hosts[2].layer_mut::<AerotpGateway>().unwrap();
        if is_lost {
            let links = [(InterfaceId(0), DataRate::from_bits_per_second(RATE))];
            *gateway = AerotpGateway::new(&links, rules, [22; 16]);
            gateway.leave_authentication_to_links();
        }
        // The first question is lost.
        row.decide(outage(at(10_000)..at(10_030)));
        let gateway = row.hosts[1].layer_mut::<AerotpGateway>().unwrap();
        gateway.peer_restarted(at(10_000));
        row.run_until(at(11_000));
        for end in [0, 3] {
            assert_eq!(
                row.seen(end, SocketEvent::Reset).is_some(),
                is_lost,
                "{end}"
            );
        }
        assert_eq!(row.carried(1), usize::from(!is_lost));
    }
}

/// Openings without a second packet are dropped to make room; later connections still get in.
#[test]
fn a_flood_of_openings_is_bounded() {
    let mut row = row(rules(Mode::Reliable));
    row.decide(server_is_down);
    for _ in 0..3 * MOST_HALF_OPEN {
        row.connect(&Profile::linux_6());
    }
    row.run_until(at(100));
    for node in [1, 2] {
        assert!(row.carried(node) <= MOST_HALF_OPEN);
    }
    row.decide(|_, _| Passage::Arrives);
    row.hosts[3].tcp_listen(PORT, Profile::linux_6(), 4096, None);
    let legitimate = row.connect(&Profile::linux_6());
    row.run_until(at(3_000));
    let connection = row.hosts[0].connection(legitimate).unwrap();
    assert_eq!(connection.state(), tcp::State::Established);
}

/// Forged openings send one packet each, without a host behind them.
#[test]
fn a_flood_keeps_nobody_out_and_no_memory() {
    for mode in [Mode::Reliable, Mode::NearReliable] {
        let mut row = row(rules(mode));
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
            forger.tcp_connect(at(0), end(address(3), PORT), &Profile::linux_6(), None);
            assert_eq!(forger.poll_event(), None);
            let (_, syn) = forger.poll_transmit(at(0)).unwrap();
            row.hosts[1].handle_packet(at(0), InterfaceId(0), syn);
            while let Some((_, packet)) = row.hosts[1].poll_transmit(at(0)) {
                // The gateway's answer to the forger is lost.
                if matches!(packet.body, Body::Aerotp(_)) {
                    row.hosts[2].handle_packet(at(0), InterfaceId(0), packet);
                }
            }
            while row.hosts[2].poll_transmit(at(0)).is_some() {}
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
        row.run_until(at(1_000));
        assert!(row.seen(0, SocketEvent::Connected).is_some(), "{mode:?}");
        let connection = row.hosts[0].connection_mut(client).unwrap();
        connection.write_pattern(7, 10_000);
        row.run_until(at(2_000));
        let accepted = row.hosts[3].connection(row.accepted(3)[0]).unwrap();
        assert_eq!(accepted.readable(), 10_000, "{mode:?}");
    }
}

/// A machine behind one gateway opens connections in the name of hosts that do not exist, and does not answer. The other
/// gateway answers every one, and so does the server.
#[test]
fn a_flood_from_behind_a_gateway_is_bounded_at_both() {
    let forged = |number: u32| IpAddr::from([10, 9, (number >> 8) as u8, number as u8]);
    let syn = |number: u32, now: Instant| {
        let mut forger = Host::new(forged(number), [9; 16]);
        forger.add_interface(1500);
        forger.routes_mut().set_default(Some(InterfaceId(0)));
        forger.tcp_connect(now, end(address(3), PORT), &Profile::linux_6(), None);
        assert_eq!(forger.poll_event(), None);
        forger.poll_transmit(now).unwrap().1
    };
    let datagram = |number: u32, now: Instant| {
        let mut forger = Host::new(forged(number), [9; 16]);
        forger.add_interface(1500);
        forger.routes_mut().set_default(Some(InterfaceId(0)));
        forger.udp_bind(6000);
        let payload = Payload::Pattern {
            stream: 7,
            offset: 0,
            length: 100,
        };
        forger.udp_send(6000, end(address(3), 5000), payload, None);
        forger.poll_transmit(now).unwrap().1
    };
    let kinds: [&dyn Fn(u32, Instant) -> Packet; 2] = [&syn, &datagram];
    for (place, make) in kinds.into_iter().enumerate() {
        let mut row = row(rules(Mode::NearReliable));
        row.hosts[3].tcp_listen(PORT, Profile::linux_6(), 8192, None);
        row.hosts[3].udp_bind(5000);
        // The answers to the forged addresses are lost behind the first gateway.
        for node in [1, 2, 3] {
            row.hosts[node]
                .routes_mut()
                .set_default(Some(InterfaceId(0)));
        }
        for number in 0..4000 {
            let now = row.now();
            row.hosts[1].handle_packet(now, InterfaceId(0), make(number, now));
            row.settle();
            row.run_until(now + Duration::from_millis(1));
        }
        // What is on its way arrives.
        let now = row.now();
        row.run_until(now + Duration::from_secs(1));
        for node in [1, 2] {
            let gateway = row.hosts[node].layer::<AerotpGateway>().unwrap();
            let carried = gateway.connections();
            assert!(carried <= MOST_HALF_OPEN, "{place} {node}: {carried}");
        }
        let gateway = row.hosts[1].layer::<AerotpGateway>().unwrap();
        assert!(gateway.discards().half_open >= 4000 - MOST_HALF_OPEN as u64);
        let client = row.connect(&Profile::linux_6());
        let now = row.now();
        row.run_until(now + Duration::from_secs(1));
        let connection = row.hosts[0].connection_mut(client).unwrap();
        assert_eq!(connection.state(), tcp::State::Established, "{place}");
    }
}

/// Without answers, forged openings cannot be recognized, however many packets they send: the gateway keeps a bounded
/// number of all, and a connection in use stays.
#[test]
fn a_flood_that_comes_twice_is_bounded_in_modes_without_answers() {
    for mode in [Mode::QuasiReliable, Mode::UnreliableConnection] {
        let (mut row, mut now) = (row(rules(mode)), at(0));
        let configuration = rules(mode)[0].configuration.clone();
        let record = Payload::Pattern {
            stream: 1,
            offset: 0,
            length: 20,
        };
        let speaker = |own: IpAddr, now: Instant| {
            let mut host = Host::new(own, [9; 16]);
            host.add_interface(1500);
            host.routes_mut().set_default(Some(InterfaceId(0)));
            let server = end(address(3), PORT);
            let socket = host.aerotp_connect(now, server, configuration.clone(), None);
            (host, socket)
        };
        let (mut honest, socket) = speaker([10, 8, 0, 1].into(), now);
        let gateway = &mut row.hosts[2];
        let mut hears = |now: &mut Instant, host: &mut Host, socket| {
            assert!(host.aerotp_mut(socket).unwrap().write_record(&record));
            while host.poll_event().is_some() {}
            while let Some((_, packet)) = host.poll_transmit(*now) {
                gateway.handle_packet(*now, InterfaceId(0), packet);
            }
            while gateway.poll_transmit(*now).is_some() {}
            *now += Duration::from_millis(1);
        };
        for number in 0..3000_u32 {
            if number % 500 == 0 {
                hears(&mut now, &mut honest, socket);
            }
            let forged = [10, 9, (number >> 8) as u8, number as u8].into();
            let (mut forger, socket) = speaker(forged, now);
            hears(&mut now, &mut forger, socket);
            hears(&mut now, &mut forger, socket);
        }
        let gateway = row.hosts[2].layer::<AerotpGateway>().unwrap();
        assert_eq!(gateway.connections(), MOST_HALF_OPEN, "{mode:?}");
        let mut all = gateway.aerotp_connections();
        let theirs = all.find(|(ends, _)| ends.1.address == honest.address());
        // A connection that had made room and begun anew would miss the earlier data.
        let statistics = theirs.expect("it is in use").1.statistics();
        assert_eq!((statistics.skipped, statistics.refused), (0, 0), "{mode:?}");
    }
}

/// A queue before the link that fills lowers the link's rate. The gateway takes the queue's report to a source in whose
/// name it sends, and none to other sources.
#[test]
fn a_queue_that_fills_slows_the_link() {
    let mut row = row(rules(Mode::Reliable));
    row.hosts[3].tcp_listen(PORT, Profile::linux_6(), 16, None);
    let client = row.connect(&Profile::linux_6());
    row.run_until(at(500));
    let connection = row.hosts[0].connection_mut(client).unwrap();
    connection.write_pattern(7, 50_000);
    row.run_until(at(520));
    let last = row.sent.iter().rfind(|sent| (sent.from, sent.to) == (1, 2));
    let sent = last.unwrap().packet.clone();
    let airborne = InterfaceId(1);
    let rate = |row: &Net| {
        let gateway = row.hosts[1].layer::<AerotpGateway>().unwrap();
        gateway.rate(airborne).unwrap().bits_per_second()
    };
    assert_eq!(rate(&row), RATE);
    row.hosts[1].add_layer(Backpressure::default());
    let tell = |row: &mut Net, packet: &Packet| {
        // Of 3,158,000 bit/s the gateway uses 95 %: 3,000,100.
        let pressure = Some(DataRate::from_bits_per_second(3_158_000));
        let status = TransmitStatus::Queued { pressure };
        assert!(row.hosts[1].handle_transmit_status(at(520), airborne, packet, status));
    };
    let told = |row: &mut Net| {
        let told = core::iter::from_fn(|| row.hosts[1].poll_transmit(at(520)));
        let is_error = |packet: &Packet| matches!(packet.body, Body::Icmp(_));
        told.filter(|(_, packet)| is_error(packet)).count()
    };
    tell(&mut row, &sent);
    assert_eq!(told(&mut row), 0);
    assert_eq!(rate(&row), 3_000_100);
    // Packets of another source have no connection here: the message goes to that source.
    let mut other = sent.clone();
    other.ip.source = address(2);
    tell(&mut row, &other);
    assert_eq!(told(&mut row), 1);
}

/// The opening gateway chooses the class, whatever the other's rule; the TCP halves do not have it.
#[test]
fn the_class_of_the_gateway_that_opens_is_the_code_point_both_ways() {
    let mut near = rules(Mode::Reliable);
    near[0].configuration.class = ServiceClass::new(5).unwrap();
    let mut row = row(near);
    let links = [(InterfaceId(0), DataRate::from_bits_per_second(RATE))];
    let far = AerotpGateway::new(&links, rules(Mode::Reliable), [2; 16]);
    *row.hosts[2].layer_mut::<AerotpGateway>().unwrap() = far;
    row.hosts[3].tcp_listen(PORT, Profile::linux_6(), 16, None);
    let client = row.connect(&Profile::linux_6());
    row.run_until(at(500));
    let connection = row.hosts[0].connection_mut(client).unwrap();
    connection.write_pattern(7, 20_000);
    row.run_until(at(1_000));
    let on_air = |from: usize| {
        let sent = row.sent.iter();
        sent.filter(move |sent| sent.from == from && is_in_the_air(sent.from, sent.to))
    };
    assert!(on_air(1).count() > 10 && on_air(2).count() > 2);
    for sent in &row.sent {
        // Packets with data are ECN-capable.
        let octet = match &sent.packet.body {
            _ if !is_in_the_air(sent.from, sent.to) => 0,
            Body::Aerotp(packet) if !packet.payload.is_empty() => 0xa2,
            _ => 0xa0,
        };
        assert_eq!(sent.packet.ip.traffic_class, octet, "{sent:?}");
    }
}

/// A gateway acts on events of the link to the other gateway only, and sends at the rate that this link reports.
#[test]
fn a_gateway_hears_of_its_link() {
    let (mut row, client) = connecting(Mode::Reliable);
    row.run_until(at(500));
    let [aboard, airborne] = [0, 1].map(InterfaceId);
    let on_air = |row: &Net, since: Instant| {
        let sent = row.sent.iter().filter(|sent| sent.at >= since);
        sent.filter(|sent| (sent.from, sent.to) == (1, 2)).count()
    };
    let say = |row: &mut Net, interface, event| {
        let now = row.now();
        row.hosts[1].handle_link(now, interface, event);
        row.settle();
    };
    say(&mut row, airborne, LinkEvent::Down);
    let connection = row.hosts[0].connection_mut(client).unwrap();
    connection.write_pattern(7, 50_000);
    row.run_until(at(2_000));
    assert_eq!(on_air(&row, at(500)), 0);
    say(&mut row, aboard, LinkEvent::Up);
    row.run_until(at(3_000));
    assert_eq!(on_air(&row, at(2_000)), 0);
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
    let gateway = row.hosts[1].layer::<AerotpGateway>().unwrap();
    assert_eq!(gateway.rate(airborne), Some(rate(2_000_000)));
    row.run_until(at(4_000));
    assert!(on_air(&row, at(3_000)) >= 50_000 / 1500);
}
