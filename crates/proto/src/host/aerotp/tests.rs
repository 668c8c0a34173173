//! AeroTP connections between hosts: admission, answers, and lookup after a move.

use super::*;
use crate::host::{Backpressure, Host, HostEvent, SocketEvent, SocketId};
use crate::interface::{InterfaceId, LinkEvent, LinkParameters, TransmitStatus};
use crate::packet::{Body, Packet};
use crate::rate::DataRate;
use crate::time::Duration;
use crate::wire::icmp::IcmpError;
use core::net::Ipv4Addr;

const PORT: u16 = 5001;

fn address(third: u8, last: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, third, last))
}

fn host(third: u8, last: u8) -> Host {
    let mut host = Host::new(address(third, last), [last; 16]);
    let interface = host.add_interface(1500);
    host.routes_mut().set_default(Some(interface));
    host
}

fn configuration(mode: Mode) -> Configuration {
    let mut configuration = Configuration::new(DataRate::from_bits_per_second(5_000_000));
    configuration.mode = mode;
    configuration.coding = aerotp::Coding::Fixed(Protection::default());
    configuration
}

fn server() -> Endpoint {
    Endpoint {
        address: address(0, 2),
        port: PORT,
    }
}

fn data(bytes: u32) -> Payload {
    Payload::Pattern {
        stream: 1,
        offset: 0,
        length: bytes,
    }
}

/// Returns a host's events and the packets that it sends.
fn drain(host: &mut Host, now: Instant) -> (Vec<HostEvent>, Vec<Packet>) {
    let (mut events, mut packets) = (Vec::new(), Vec::new());
    loop {
        let before = events.len() + packets.len();
        events.extend(core::iter::from_fn(|| host.poll_event()));
        packets.extend(core::iter::from_fn(|| host.poll_transmit(now)).map(|(_, packet)| packet));
        if events.len() + packets.len() == before {
            return (events, packets);
        }
    }
}

/// Exchanges the packets of two hosts from `now` on, with a delay of 5 ms, for `milliseconds`; returns the events of
/// both.
fn talk(now: Instant, milliseconds: u64, hosts: &mut [Host; 2]) -> [Vec<HostEvent>; 2] {
    let mut events = [Vec::new(), Vec::new()];
    let mut under_way: VecDeque<(Instant, usize, Packet)> = VecDeque::new();
    for step in 0..=milliseconds {
        let now = now + Duration::from_millis(step);
        while under_way.front().is_some_and(|&(at, ..)| at <= now) {
            let (_, to, packet) = under_way.pop_front().unwrap();
            hosts[to].handle_packet(now, InterfaceId(0), packet);
        }
        for side in 0..2 {
            if hosts[side].poll_timeout().is_some_and(|at| at <= now) {
                hosts[side].handle_timeout(now);
            }
            let (said, sent) = drain(&mut hosts[side], now);
            events[side].extend(said);
            let arrives = now + Duration::from_millis(5);
            under_way.extend(sent.into_iter().map(|packet| (arrives, 1 - side, packet)));
        }
    }
    events
}

fn accepted(events: &[HostEvent]) -> Vec<SocketId> {
    let of = |event: &HostEvent| match event {
        HostEvent::Accepted { socket, port: PORT } => Some(*socket),
        _ => None,
    };
    events.iter().filter_map(of).collect()
}

fn readable(host: &Host, socket: SocketId) -> u64 {
    host.aerotp(socket).map_or(0, Connection::readable)
}

#[test]
fn data_leaves_with_the_first_packet_and_arrives_without_a_handshake() {
    let mut hosts = [host(0, 1), host(0, 2)];
    hosts[1].aerotp_listen(PORT, configuration(Mode::Reliable), 4, None);
    let now = Instant::ZERO;
    let socket = hosts[0].aerotp_connect(now, server(), configuration(Mode::Reliable), None);
    hosts[0].aerotp_mut(socket).unwrap().write(&data(1000));
    // Little more than the one-way delay: no time for an answer.
    let events = talk(now, 6, &mut hosts);
    let [there] = accepted(&events[1])[..] else {
        panic!("{events:?}");
    };
    assert_eq!(readable(&hosts[1], there), 1000);
}

#[test]
fn a_flood_of_openings_keeps_nobody_out_and_no_memory() {
    let mut hosts = [host(0, 1), host(0, 2)];
    hosts[1].aerotp_listen(PORT, configuration(Mode::Reliable), 4, None);
    let mut socket = None;
    let mut there = Vec::new();
    for round in 0..250_u64 {
        let now = Instant::from_millis(round);
        // An opening from an address without a host.
        let mut forger = host(1 + (round / 200) as u8, (round % 200) as u8);
        forger.aerotp_connect(now, server(), configuration(Mode::Reliable), None);
        let (_, forged) = drain(&mut forger, now);
        assert_eq!(forged.len(), 1);
        for packet in forged {
            hosts[1].handle_packet(now, InterfaceId(0), packet);
        }
        if round == 100 {
            let mine = configuration(Mode::Reliable);
            let id = hosts[0].aerotp_connect(now, server(), mine, None);
            hosts[0].aerotp_mut(id).unwrap().write(&data(20_000));
            socket = Some(id);
        }
        // Between two forged openings there is a whole round trip only for packets already under way.
        let events = talk_once(now, &mut hosts);
        there.extend(accepted(&events));
    }
    let mine = hosts[0].aerotp(socket.unwrap()).unwrap();
    assert_eq!(mine.acknowledged(), 20_000);
    assert_eq!(there.len(), 251);
    let kept = there.iter().filter(|&&id| hosts[1].aerotp(id).is_some());
    // Four half-open connections, and one that is not.
    assert_eq!(kept.count(), 5);
    assert_eq!(hosts[1].discarded().backlog, 246);
}

/// Exchanges packets without delay; returns the second host's events.
fn talk_once(now: Instant, hosts: &mut [Host; 2]) -> Vec<HostEvent> {
    let mut events = Vec::new();
    for host in &mut *hosts {
        if host.poll_timeout().is_some_and(|at| at <= now) {
            host.handle_timeout(now);
        }
    }
    loop {
        let (_, packets) = drain(&mut hosts[0], now);
        let none = packets.is_empty();
        for packet in packets {
            hosts[1].handle_packet(now, InterfaceId(0), packet);
        }
        let (said, packets) = drain(&mut hosts[1], now);
        events.extend(said);
        let mine = |packet: &Packet| packet.ip.destination == address(0, 1);
        let packets: Vec<Packet> = packets.into_iter().filter(mine).collect();
        if none && packets.is_empty() {
            return events;
        }
        for packet in packets {
            hosts[0].handle_packet(now, InterfaceId(0), packet);
        }
    }
}

#[test]
fn datagrams_need_no_connection_and_get_no_answer() {
    let mut hosts = [host(0, 1), host(0, 2)];
    hosts[1].aerotp_bind(PORT);
    for port in [PORT, PORT + 1] {
        let datagram = AerotpDatagram {
            source_port: 4000,
            to: Endpoint { port, ..server() },
            class: ServiceClass::default(),
            protection: Protection::default(),
            payload: data(700),
        };
        hosts[0].aerotp_send_datagram(Instant::ZERO, datagram, None);
    }
    let events = talk(Instant::ZERO, 30, &mut hosts);
    let from = Endpoint {
        address: address(0, 1),
        port: 4000,
    };
    let expected = HostEvent::Datagram {
        port: PORT,
        from,
        payload: data(700),
    };
    assert_eq!(events, [vec![], vec![expected]]);
    assert_eq!(hosts[1].discarded().no_receiver, 1);
}

#[test]
fn who_writes_to_nobody_is_told_and_in_a_mode_without_answers_is_not() {
    for (mode, told) in [(Mode::Reliable, true), (Mode::QuasiReliable, false)] {
        let mut hosts = [host(0, 1), host(0, 2)];
        hosts[1].aerotp_bind(PORT + 1);
        let socket = hosts[0].aerotp_connect(Instant::ZERO, server(), configuration(mode), None);
        hosts[0].aerotp_mut(socket).unwrap().write(&data(100));
        let events = talk(Instant::ZERO, 30, &mut hosts);
        let reset = HostEvent::Socket {
            socket,
            event: SocketEvent::Reset,
        };
        assert_eq!(events[0].contains(&reset), told, "{mode:?}");
        assert_eq!(hosts[1].discarded().no_receiver, 1);
    }
}

#[test]
fn a_peer_that_has_moved_is_found_by_its_token() {
    let mut hosts = [host(0, 1), host(0, 2)];
    hosts[1].aerotp_listen(PORT, configuration(Mode::Reliable), 4, None);
    let mine = configuration(Mode::Reliable);
    let socket = hosts[0].aerotp_connect(Instant::ZERO, server(), mine, None);
    hosts[0].aerotp_mut(socket).unwrap().write(&data(5000));
    let events = talk(Instant::ZERO, 100, &mut hosts);
    let there = accepted(&events[1])[0];
    let now = Instant::from_millis(101);
    hosts[0].add_address(address(7, 7));
    hosts[0].aerotp_move(now, socket, address(7, 7));
    hosts[0].aerotp_mut(socket).unwrap().write(&data(5000));
    let events = talk(now, 100, &mut hosts);
    assert_eq!(accepted(&events[1]), []);
    assert_eq!(readable(&hosts[1], there), 10_000);
    assert_eq!(hosts[0].aerotp(socket).unwrap().acknowledged(), 10_000);
    assert_eq!(hosts[1].peers().collect::<Vec<_>>(), [address(7, 7)]);
    // Without the token, anyone could move the connection to another address.
    let mut thief = host(9, 9);
    thief.aerotp_connect(now, server(), configuration(Mode::Reliable), None);
    for packet in drain(&mut thief, now).1 {
        hosts[1].handle_packet(now, InterfaceId(0), packet);
    }
    assert_eq!(hosts[1].peers().count(), 2);
}

#[test]
fn a_damaged_payload_reaches_the_connection_and_a_damaged_header_does_not() {
    let mut hosts = [host(0, 1), host(0, 2)];
    hosts[1].aerotp_listen(PORT, configuration(Mode::Reliable), 4, None);
    let mine = configuration(Mode::Reliable);
    let socket = hosts[0].aerotp_connect(Instant::ZERO, server(), mine, None);
    hosts[0].aerotp_mut(socket).unwrap().write(&data(1000));
    let (_, packets) = drain(&mut hosts[0], Instant::ZERO);
    let [packet] = &packets[..] else {
        panic!("{packets:?}");
    };
    let mut header = packet.clone();
    header.bit_errors = vec![20 * 8 + 60].into();
    hosts[1].handle_packet(Instant::ZERO, InterfaceId(0), header);
    assert_eq!(hosts[1].discarded().damaged, 1);
    assert_eq!(accepted(&drain(&mut hosts[1], Instant::ZERO).0), []);
    let mut payload = packet.clone();
    payload.bit_errors = vec![(packet.headers_length() + 100) * 8].into();
    hosts[1].handle_packet(Instant::ZERO, InterfaceId(0), payload);
    assert_eq!(hosts[1].discarded().damaged, 1);
    let (events, answers) = drain(&mut hosts[1], Instant::ZERO);
    let there = hosts[1].aerotp(accepted(&events)[0]).unwrap();
    assert_eq!(there.statistics().damaged, 1);
    let snack = |packet: &Packet| match &packet.body {
        Body::Aerotp(packet) => packet.header.mack.as_ref().map(|mack| mack.missing.len()),
        _ => None,
    };
    assert_eq!(answers.iter().filter_map(snack).collect::<Vec<_>>(), [1]);
}

/// With the network's word, the gap before the next packet is damage, which is sent again at once; without it a loss.
#[test]
fn a_damaged_header_of_which_the_network_has_told_is_no_loss() {
    for is_indicated in [true, false] {
        let mut hosts = [host(0, 1), host(0, 2)];
        hosts[1].aerotp_listen(PORT, configuration(Mode::Reliable), 4, None);
        let mine = configuration(Mode::Reliable);
        let socket = hosts[0].aerotp_connect(Instant::ZERO, server(), mine, None);
        let mut reported = Vec::new();
        for number in 0..3 {
            let now = Instant::from_millis(20 * number);
            hosts[0].aerotp_mut(socket).unwrap().write(&data(1000));
            for mut packet in drain(&mut hosts[0], now).1 {
                if number == 1 {
                    packet.bit_errors = vec![20 * 8 + 60].into();
                }
                if is_indicated {
                    packet.bit_errors.indicate();
                }
                hosts[1].handle_packet(now, InterfaceId(0), packet);
            }
            for answer in drain(&mut hosts[1], now).1 {
                if let Body::Aerotp(packet) = &answer.body
                    && let Some(mack) = &packet.header.mack
                {
                    let damaged = mack.missing.iter().filter(|gap| gap.damaged);
                    reported.extend(damaged.map(|gap| gap.range.length));
                }
                hosts[0].handle_packet(now, InterfaceId(0), answer);
            }
        }
        assert_eq!(hosts[1].discarded().damaged, 1);
        let expected: &[u32] = if is_indicated { &[1000] } else { &[] };
        assert_eq!(reported, expected);
    }
}

#[test]
fn routers_are_heard_by_all_connections_to_the_destination() {
    let mut hosts = [host(0, 1), host(0, 2)];
    let mut connect = |to: u8| {
        let remote = Endpoint {
            address: address(0, to),
            port: PORT,
        };
        let mine = configuration(Mode::Reliable);
        let socket = hosts[0].aerotp_connect(Instant::ZERO, remote, mine, None);
        hosts[0].aerotp_mut(socket).unwrap().write(&data(100_000));
        socket
    };
    let sockets = [connect(2), connect(2), connect(3)];
    let (_, packets) = drain(&mut hosts[0], Instant::ZERO);
    let about = packets
        .iter()
        .find(|packet| packet.ip.destination == address(0, 2));
    let about = about.unwrap().clone();
    let mut router = host(0, 9);
    router.add_layer(Backpressure::default());
    let pressure = Some(DataRate::from_bits_per_second(2_105_300));
    let status = TransmitStatus::Queued { pressure };
    router.handle_transmit_status(Instant::ZERO, InterfaceId(0), &about, status);
    let too_big = router.error_about(&about, IcmpError::PacketTooBig { mtu: 600 });
    let (_, mut messages) = drain(&mut router, Instant::ZERO);
    messages.extend(too_big);
    for message in messages {
        // As bytes, since the quotation has no ports.
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        let message = Packet::decode(&bytes).unwrap();
        hosts[0].handle_packet(Instant::ZERO, InterfaceId(0), message);
    }
    let rates = sockets.map(|socket| {
        let rate = hosts[0].aerotp(socket).unwrap().rate(PATH).unwrap();
        rate.bits_per_second()
    });
    // Two sending connections share the router's rate for their host: 95 %.
    assert_eq!(rates, [1_000_000, 1_000_000, 5_000_000]);
    let later = Instant::from_millis(20);
    let (_, packets) = drain(&mut hosts[0], later);
    for packet in packets {
        let small = packet.ip.destination == address(0, 2);
        assert!(!small || packet.wire_length() <= 600);
    }
}

/// RFC 2474 section 4.2.2: class selectors are the class times eight, in the first six bits of the octet.
#[test]
fn a_connection_s_class_is_the_code_point_of_all_its_packets_in_both_directions() {
    for (class, octet) in [(0, 0x00), (1, 0x20), (5, 0xa0), (7, 0xe0)] {
        let mut hosts = [host(0, 1), host(0, 2)];
        // The listener's class differs: the opening end decides.
        let mut theirs = configuration(Mode::Reliable);
        theirs.class = ServiceClass::new(3).unwrap();
        hosts[1].aerotp_listen(PORT, theirs, 4, None);
        let mut mine = configuration(Mode::Reliable);
        mine.class = ServiceClass::new(class).unwrap();
        let socket = hosts[0].aerotp_connect(Instant::ZERO, server(), mine, None);
        hosts[0].aerotp_mut(socket).unwrap().write(&data(3000));
        let (_, sent) = drain(&mut hosts[0], Instant::ZERO);
        for packet in sent.clone() {
            hosts[1].handle_packet(Instant::ZERO, InterfaceId(0), packet);
        }
        let (_, answers) = drain(&mut hosts[1], Instant::ZERO);
        assert!(!sent.is_empty() && !answers.is_empty());
        for packet in sent.iter().chain(&answers) {
            let has_data = matches!(&packet.body, Body::Aerotp(it) if !it.payload.is_empty());
            // Packets with data are ECN-capable (RFC 3168 section 5).
            let capable = if has_data { 0b10 } else { 0 };
            assert_eq!(packet.ip.traffic_class, octet | capable);
        }
    }
}

#[test]
fn resets_and_datagrams_have_the_class_of_whom_they_are_for() {
    let mut hosts = [host(0, 1), host(0, 2)];
    hosts[1].aerotp_bind(PORT + 1);
    let mut mine = configuration(Mode::Reliable);
    mine.class = ServiceClass::new(6).unwrap();
    hosts[0].aerotp_connect(Instant::ZERO, server(), mine, None);
    hosts[0].aerotp_send_datagram(
        Instant::ZERO,
        AerotpDatagram {
            source_port: 9,
            to: server(),
            class: ServiceClass::new(2).unwrap(),
            protection: Protection::default(),
            payload: data(10),
        },
        None,
    );
    let (_, sent) = drain(&mut hosts[0], Instant::ZERO);
    let octets = |packets: &[Packet]| -> Vec<u8> {
        packets
            .iter()
            .map(|packet| packet.ip.traffic_class)
            .collect()
    };
    assert_eq!(octets(&sent), [0x40, 0xc0]);
    // Nobody listens: a reset answers the opening.
    for packet in sent {
        hosts[1].handle_packet(Instant::ZERO, InterfaceId(0), packet);
    }
    assert_eq!(octets(&drain(&mut hosts[1], Instant::ZERO).1), [0xc0]);
}

/// With two interfaces and an address on each, packets leave by the interface of their source address, and the peer's
/// packets arrive at either.
#[test]
fn a_connection_over_two_interfaces_is_one_at_both_ends() {
    let mut sender = host(0, 1);
    let second = sender.add_interface(1200);
    let elsewhere = address(7, 7);
    sender.add_interface_address(elsewhere, second);
    let mut hosts = [sender, host(0, 2)];
    hosts[1].aerotp_listen(PORT, configuration(Mode::Reliable), 4, None);
    let now = Instant::ZERO;
    let mine = configuration(Mode::Reliable);
    let rate = mine.initial_rate;
    // The first packet leaves by the interface other than that of the default route.
    let ends = (elsewhere, server());
    let socket = hosts[0].aerotp_connect_from(now, ends, mine, None);
    let ends = (address(0, 1), server().address);
    hosts[0].aerotp_add_path(now, socket, ends, rate);
    hosts[0].aerotp_mut(socket).unwrap().write(&data(20_000));
    hosts[0].aerotp_mut(socket).unwrap().close();
    while hosts[0].poll_event().is_some() {}
    let sent: Vec<_> = core::iter::from_fn(|| hosts[0].poll_transmit(now)).collect();
    let over = |interface| sent.iter().filter(move |(over, _)| *over == interface);
    assert!(over(second).all(|(_, packet)| packet.ip.source == elsewhere));
    assert!(over(second).count() > 0 && over(InterfaceId(0)).count() > 0);
    // Packets are as long as their interface takes.
    let longest = |interface| over(interface).map(|(_, it)| it.wire_length()).max();
    assert_eq!(longest(second), Some(1200));
    assert!(longest(InterfaceId(0)) > Some(1200));
    for (_, packet) in sent {
        hosts[1].handle_packet(now, InterfaceId(0), packet);
    }
    let [_, events] = talk(now, 1000, &mut hosts);
    let [socket] = accepted(&events)[..] else {
        panic!("not one connection: {events:?}");
    };
    let peer = hosts[1].aerotp(socket).unwrap();
    assert_eq!((peer.readable(), peer.paths().count()), (20_000, 2));
    assert_eq!(peer.statistics().refused, 0);
    assert_eq!(hosts.map(|host| host.discarded().no_receiver), [0, 0]);
}

/// Returns the event of a link of 3 Mbit/s from this end.
fn carries() -> LinkEvent {
    let rate = DataRate::from_bits_per_second;
    LinkEvent::Parameters(LinkParameters {
        outgoing: rate(3_000_000),
        incoming: rate(1_000_000),
        round_trip: Duration::from_millis(10),
        outgoing_queue: None,
        incoming_queue: None,
        mtu: 1200,
    })
}

/// Returns the number of packets of a megabyte that leave by each interface within a second without an answer.
fn sent_over(host: &mut Host, socket: SocketId) -> [usize; 2] {
    host.aerotp_mut(socket).unwrap().write(&data(1_000_000));
    let mut counts = [0; 2];
    for step in 0..100 {
        let now = Instant::from_millis(10 * step);
        if host.poll_timeout().is_some_and(|at| at <= now) {
            host.handle_timeout(now);
        }
        while host.poll_event().is_some() {}
        while let Some((interface, _)) = host.poll_transmit(now) {
            counts[interface.0] += 1;
        }
    }
    counts
}

/// A path belongs to the interface of its address: it gets events of that link, before and after it is opened, and of
/// no other.
#[test]
fn a_path_hears_of_its_own_link() {
    let now = Instant::ZERO;
    let open = |before: Option<LinkEvent>| {
        let mut sender = host(0, 1);
        let second = sender.add_interface(1200);
        let elsewhere = [address(7, 6), address(7, 7)];
        sender.add_interface_address(elsewhere[0], InterfaceId(0));
        sender.add_interface_address(elsewhere[1], second);
        if let Some(event) = before {
            sender.handle_link(now, second, event);
        }
        let mine = configuration(Mode::Reliable);
        let rate = mine.initial_rate;
        let ends = (elsewhere[0], server());
        let socket = sender.aerotp_connect_from(now, ends, mine, None);
        let ends = (elsewhere[1], server().address);
        sender.aerotp_add_path(now, socket, ends, rate);
        (sender, socket, second)
    };
    let (mut sender, socket, _) = open(None);
    let [first, second] = sent_over(&mut sender, socket);
    assert!(first > 10 && second > 10, "{first} {second}");
    // Down when the path is opened, or afterwards.
    for before in [true, false] {
        let (mut sender, socket, second) = open(before.then_some(LinkEvent::Down));
        if !before {
            sender.handle_link(now, second, LinkEvent::Down);
        }
        let [first, second] = sent_over(&mut sender, socket);
        assert!(first > 10 && second == 0, "{before}: {first} {second}");
    }
    // At the rate set before, until the link is up.
    let (mut sender, socket, second) = open(None);
    let rates = |sender: &Host| {
        let connection = sender.aerotp(socket).unwrap();
        [0, 1].map(|path| connection.rate(PathId(path)).unwrap().bits_per_second())
    };
    sender.handle_link(now, second, carries());
    assert_eq!(rates(&sender), [5_000_000; 2]);
    sender.handle_link(now, second, LinkEvent::Up);
    assert_eq!(rates(&sender), [5_000_000, 3_000_000]);
}

/// Each of two paths to two addresses of a peer follows its route; a connection with one path is not bound to any.
#[test]
fn paths_of_one_address_hear_of_the_links_that_routes_lead_to() {
    let now = Instant::ZERO;
    for paths in [1, 2] {
        let mut sender = host(0, 1);
        let second = sender.add_interface(1500);
        sender.routes_mut().set(address(0, 3), second);
        let mine = configuration(Mode::Reliable);
        let rate = mine.initial_rate;
        let remote = Endpoint {
            address: address(0, 3),
            port: PORT,
        };
        let socket = sender.aerotp_connect(now, remote, mine, None);
        if paths == 2 {
            let ends = (address(0, 1), address(0, 2));
            sender.aerotp_add_path(now, socket, ends, rate);
        }
        sender.handle_link(now, second, carries());
        sender.handle_link(now, second, LinkEvent::Up);
        let connection = sender.aerotp(socket).unwrap();
        let rates: Vec<u64> = connection
            .paths()
            .map(|(path, _)| connection.rate(path).unwrap().bits_per_second())
            .collect();
        match paths {
            1 => assert_eq!(rates, [5_000_000]),
            _ => assert_eq!(rates, [3_000_000, 5_000_000]),
        }
    }
}

/// A packet too long for the first link is reported at once (RFC 8201). Here a report gives the MTU.
#[test]
fn a_report_says_how_long_packets_may_be() {
    let mut sender = host(0, 1);
    let interface = InterfaceId(0);
    assert_eq!(sender.fit(interface, 1500), Ok(interface));
    sender.handle_link(Instant::ZERO, interface, carries());
    let too_big = IcmpError::PacketTooBig { mtu: 1200 };
    assert_eq!(sender.fit(interface, 1201), Err(too_big));
    assert_eq!(sender.fit(interface, 1200), Ok(interface));
}
