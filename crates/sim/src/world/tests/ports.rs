//! Real hosts in a world: the packets that they write and read, and the events for their kernels, at the times given by
//! the links' parameters.

use super::*;
use crate::captures::Captures;
use crate::record::{Quantities, RecordNames, RecordSettings, Recorder, Sink};
use crate::scenario::model::AddressPolicy;
use crate::scenario::model::{LinkIndex, NodeIndex};
use crate::world::World;
use crate::world::ports::{Delivery, InterfaceEvent, PortId};
use baton_proto::mobility::attachment::{Handover, OldQueue};
use baton_proto::packet::{BitErrors, Body, Identity, IpHeader, Packet, Payload};
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::icmp::{Echo, IcmpError, IcmpMessage};
use baton_proto::wire::udp::UdpHeader;
use core::net::IpAddr;
use proptest::prelude::*;

/// A server and a router, and from there two access links to the laptop, each of 1 Mbit/s, so that 1000 B take
/// 8 ms; the wire takes no time.
const LINKS: &str = r#"
    [links.wire]
    between = ["server", "router"]
    kind = "wired"
    rate = "1 Gbit/s"
    delay = "0 ms"
    [links.near]
    between = ["router", "laptop"]
    kind = "wired"
    rate = "1 Mbit/s"
    delay = "20 ms"
    [links.far]
    between = ["router", "laptop"]
    kind = "wired"
    rate = "1 Mbit/s"
    delay = "100 ms"
    mtu = "1280 B"
"#;
const SERVER: NodeIndex = NodeIndex(0);
const LAPTOP: NodeIndex = NodeIndex(2);
/// The server's port, and the laptop's on `near` and `far`.
const AT_SERVER: PortId = PortId(0);
const AT_NEAR: PortId = PortId(1);
const AT_FAR: PortId = PortId(2);

const LIVE: &str = "[live]\nhosts = [\"server\", \"laptop\"]\n";

pub(super) fn world(text: &str) -> World {
    let loaded = scenario::parse(text, "test", Path::new("."), &[])
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let settings = RecordSettings {
        series: Quantities::NONE,
        packets: false,
        signals: false,
    };
    let recorder = Recorder::new(settings, RecordNames::default(), Sink::Memory).unwrap();
    World::new_live(loaded.scenario, recorder, None::<Captures>)
}

/// Returns the laptop on `near`, then following `entries`.
fn laptop(entries: &str, address: AddressPolicy) -> World {
    laptop_behind(entries, address, false)
}

fn laptop_behind(entries: &str, address: AddressPolicy, nat: bool) -> World {
    let timetable = format!(
        "[mobiles.laptop]\ntimetable = [{{ at = \"0 s\", attach = \"near\" }}, {entries}]\n"
    );
    let address = match address {
        AddressPolicy::Kept => "kept",
        AddressPolicy::New => "new",
    };
    let live = format!("{LIVE}address = \"{address}\"\nnat = {nat}\n");
    world(&super::scenario(60, &[LINKS, &timetable, &live]))
}

/// Returns a datagram of `length` bytes in all, as a kernel would write it.
pub(super) fn datagram(source: IpAddr, destination: IpAddr, length: u32) -> Vec<u8> {
    let ip = IpHeader {
        source,
        destination,
        hop_limit: 64,
        traffic_class: 0,
        identification: 7,
        dont_fragment: true,
    };
    let ports = UdpHeader {
        source_port: 4000,
        destination_port: 5000,
    };
    let payload = Payload::Pattern {
        stream: 1,
        offset: 0,
        length: length - ip.wire_length() - 8,
    };
    let packet = Packet {
        ip,
        body: Body::Udp(ports, payload),
        flow: None,
        retransmission: false,
        bit_errors: BitErrors::NONE,
        identity: Identity::NONE,
    };
    bytes_of(&packet)
}

pub(super) fn bytes_of(packet: &Packet) -> Vec<u8> {
    let mut bytes = Vec::new();
    packet.encode_damaged(&mut bytes);
    bytes
}

pub(super) fn ms(milliseconds: u64) -> Instant {
    Instant::from_millis(milliseconds)
}

/// Runs up to a moment; returns the packets delivered by then, with their times in milliseconds.
pub(super) fn deliveries(world: &mut World, until: Instant) -> Vec<(u64, PortId, Packet)> {
    let mut found = Vec::new();
    let mut take = |world: &mut World| {
        while let Some(Delivery { port, packet, .. }) = world.poll_delivery() {
            found.push((world.now().as_nanos() / 1_000_000, port, packet));
        }
    };
    take(world);
    while let Some(next) = world.next_time().filter(|&next| next <= until) {
        world.run_until(next, u64::MAX);
        take(world);
    }
    world.run_until(until, u64::MAX);
    found
}

pub(super) fn events(world: &mut World) -> Vec<InterfaceEvent> {
    std::iter::from_fn(|| world.poll_interface_event()).collect()
}

fn default(port: PortId) -> InterfaceEvent {
    InterfaceEvent::Default { node: LAPTOP, port }
}

/// Runs up to a moment; returns the events for kernels by then, with their times in milliseconds.
fn told(world: &mut World, until: Instant) -> Vec<(u64, InterfaceEvent)> {
    let mut found: Vec<(u64, InterfaceEvent)> = Vec::new();
    while let Some(next) = world.next_time().filter(|&next| next <= until) {
        world.run_until(next, u64::MAX);
        let at = next.as_nanos() / 1_000_000;
        found.extend(events(world).into_iter().map(|event| (at, event)));
        while world.poll_delivery().is_some() {}
    }
    world.run_until(until, u64::MAX);
    found
}

#[test]
fn a_packet_arrives_when_the_links_say_and_as_it_was_written() {
    for v6 in [false, true] {
        let mut world = laptop("", AddressPolicy::Kept);
        assert_eq!(events(&mut world), [default(AT_NEAR)]);
        let [server, laptop] = [SERVER, LAPTOP].map(|node| world.address(node, v6));
        let port = &world.ports()[AT_NEAR.0];
        assert_eq!((port.node, port.link), (LAPTOP, Some(LinkIndex(1))));
        assert!(port.addresses.contains(&laptop));
        let mut sent = datagram(server, laptop, 1000);
        if v6 {
            // A flow label, which no checksum covers.
            sent[1..4].copy_from_slice(&[0x0d, 0x35, 0xff]);
        }
        world.run_until(ms(1000), u64::MAX);
        world.inject(AT_SERVER, &sent);
        // 8 µs on the wire, 8 ms and 20 ms on the access link.
        let expected = Instant::from_nanos(1_028_008_000);
        world.run_until(Instant::from_nanos(1_028_007_999), u64::MAX);
        assert!(world.poll_delivery().is_none());
        world.run_until(expected, u64::MAX);
        let Delivery { port, packet, .. } = world.poll_delivery().unwrap();
        assert_eq!((port, packet.ip.hop_limit), (AT_NEAR, 63));
        let received = bytes_of(&packet);
        assert!(Packet::decode(&received).is_ok());
        // Behind the header nothing has changed, nor has the flow label.
        assert_eq!(received[40..], sent[40..]);
        assert_eq!(received[..4], sent[..4]);
    }
}

#[test]
fn packets_that_are_not_for_the_world_are_counted() {
    let mut world = laptop("", AddressPolicy::Kept);
    let laptop = world.address(LAPTOP, false);
    for (source, destination) in [
        ("10.0.0.3", "224.0.0.1"),
        ("0.0.0.0", "255.255.255.255"),
        ("fe80::1", "ff02::2"),
        ("fe80::1", "fd62:6174:6f6e::1"),
    ] {
        let [source, destination] = [source, destination].map(|text| text.parse().unwrap());
        world.inject(AT_NEAR, &datagram(source, destination, 100));
    }
    world.inject(AT_NEAR, &[]);
    world.inject(AT_NEAR, &[0x45; 19]);
    let mut damaged = datagram(laptop, world.address(SERVER, false), 100);
    damaged[15] ^= 1;
    world.inject(AT_NEAR, &damaged);
    let counted = world.not_forwarded();
    assert_eq!((counted.not_routable, counted.malformed), (4, 3));
    assert_eq!(deliveries(&mut world, ms(1000)).len(), 0);
}

#[test]
fn a_kept_address_moves_its_default_route_only() {
    let entries = r#"{ at = "1 s", attach = "far" },
        { at = "2 s", attach = "near", handover = "hard", outage = "500 ms" },
        { at = "4 s", attach = "far", outgoing_after = "300 ms" }"#;
    let mut world = laptop(entries, AddressPolicy::Kept);
    assert_eq!(events(&mut world), [default(AT_NEAR)]);
    let expected = [
        (1000, default(AT_FAR)),
        (2500, default(AT_NEAR)),
        (4300, default(AT_FAR)),
    ];
    assert_eq!(told(&mut world, ms(10_000)), expected);
}

#[test]
fn the_old_link_goes_on_delivering_and_the_kernel_chooses_the_way_up() {
    let mut world = laptop(r#"{ at = "1 s", attach = "far" }"#, AddressPolicy::Kept);
    let [server, laptop] = [SERVER, LAPTOP].map(|node| world.address(node, false));
    world.run_until(ms(990), u64::MAX);
    world.inject(AT_SERVER, &datagram(server, laptop, 1000));
    world.run_until(ms(1000), u64::MAX);
    world.inject(AT_SERVER, &datagram(server, laptop, 1000));
    // A program bound to the old interface continues to use it.
    world.inject(AT_NEAR, &datagram(laptop, server, 1000));
    let times = deliveries(&mut world, ms(2000));
    let times: Vec<(u64, PortId)> = times.iter().map(|&(at, port, _)| (at, port)).collect();
    assert_eq!(times, [(1018, AT_NEAR), (1028, AT_SERVER), (1108, AT_FAR)]);
}

#[test]
fn new_addresses_come_and_go_with_the_links() {
    use InterfaceEvent::{Down, Up};
    let entries = r#"{ at = "1 s", attach = "far", handover = "hard", outage = "500 ms" },
        { at = "3 s", attach = "near", overlap = "200 ms" },
        { at = "5 s", attach = "none" },
        { at = "6 s", attach = "near" }"#;
    let mut world = laptop(entries, AddressPolicy::New);
    assert_eq!(events(&mut world), [Up(AT_NEAR), default(AT_NEAR)]);
    let expected = [
        (1000, Down(AT_NEAR)),
        (1500, Up(AT_FAR)),
        (1500, default(AT_FAR)),
        (3000, Up(AT_NEAR)),
        (3000, default(AT_NEAR)),
        (3200, Down(AT_FAR)),
        (5000, Down(AT_NEAR)),
        (6000, Up(AT_NEAR)),
        (6000, default(AT_NEAR)),
    ];
    assert_eq!(told(&mut world, ms(10_000)), expected);
}

#[test]
fn an_old_interface_stays_until_its_packets_have_arrived() {
    let mut world = laptop(r#"{ at = "1 s", attach = "far" }"#, AddressPolicy::New);
    events(&mut world);
    let server = world.address(SERVER, true);
    let [near, far] = [AT_NEAR, AT_FAR].map(|port| world.ports()[port.0].addresses[1]);
    assert_eq!(near, "fd62:6174:6f6e:1::1".parse::<IpAddr>().unwrap());
    assert_eq!(far, "fd62:6174:6f6e:1::2".parse::<IpAddr>().unwrap());
    world.run_until(ms(999), u64::MAX);
    world.inject(AT_SERVER, &datagram(server, near, 1000));
    world.run_until(ms(1001), u64::MAX);
    // To the old address, and therefore over the old link, but after the handover: it does not hold it up.
    world.inject(AT_SERVER, &datagram(server, near, 1000));
    world.inject(AT_SERVER, &datagram(server, far, 1000));
    assert_eq!(
        events(&mut world),
        [InterfaceEvent::Up(AT_FAR), default(AT_FAR)]
    );
    let ports = deliveries(&mut world, ms(2000));
    let ports: Vec<(u64, PortId)> = ports.iter().map(|&(at, port, _)| (at, port)).collect();
    // The old link's second would have arrived at 1035 ms.
    assert_eq!(ports, [(1027, AT_NEAR), (1109, AT_FAR)]);
    assert_eq!(events(&mut world), [InterfaceEvent::Down(AT_NEAR)]);
}

#[test]
fn kernels_learn_of_another_mtu_and_routers_answer_packets_that_are_too_big() {
    let change = "[[changes]]\nat = \"1 s\"\nlink = \"near\"\nmtu = \"1300 B\"\n";
    let timetable = "[mobiles.laptop]\ntimetable = [{ at = \"0 s\", attach = \"near\" }]\n";
    let mut world = world(&super::scenario(60, &[LINKS, timetable, change, LIVE]));
    let mtus: Vec<u32> = world.ports().iter().map(|port| port.mtu).collect();
    assert_eq!(mtus, [1500, 1500, 1280]);
    events(&mut world);
    let told = told(&mut world, ms(1000));
    assert_eq!(told, [(1000, InterfaceEvent::Mtu(AT_NEAR, 1300))]);
    for v6 in [false, true] {
        let [server, laptop] = [SERVER, LAPTOP].map(|node| world.address(node, v6));
        // The server's by the router, with a round trip on the wire; the laptop's own at once.
        for (port, bytes) in [
            (AT_SERVER, datagram(server, laptop, 1400)),
            (AT_NEAR, datagram(laptop, server, 1400)),
        ] {
            world.inject(port, &bytes);
            let until = world.now() + Duration::from_millis(50);
            let found = deliveries(&mut world, until);
            let [(_, at, answer)] = &found[..] else {
                panic!("one answer: {found:?}");
            };
            assert_eq!(*at, port);
            assert_eq!(answer.ip.source, world.address(NodeIndex(1), v6));
            let Body::Icmp(IcmpMessage::Error { kind, quoted }) = &answer.body else {
                panic!("not an error: {answer:?}");
            };
            assert_eq!(*kind, IcmpError::PacketTooBig { mtu: 1300 });
            assert_eq!((quoted.source_port, quoted.destination_port), (4000, 5000));
            assert_eq!(answer.ip.destination, quoted.source);
        }
    }
}

#[test]
fn a_handover_on_demand_is_one_of_a_timetable() {
    let mut world = laptop("", AddressPolicy::Kept);
    events(&mut world);
    world.run_until(ms(1000), u64::MAX);
    let soft = Handover::Soft {
        overlap: None,
        old_queue: OldQueue::Stays,
        outgoing_after: Duration::ZERO,
    };
    let hard = Handover::Hard {
        outage: Duration::from_secs(2),
        old_queue: OldQueue::Discarded,
    };
    let mut refusal = |node, to, kind| world.request_handover(node, to, kind).unwrap_err();
    assert!(refusal(SERVER, None, hard).contains("not a mobile"));
    let unknown = refusal(LAPTOP, Some(LinkIndex(0)), soft);
    assert!(unknown.ends_with("expected one of: near, far"), "{unknown}");
    assert!(refusal(LAPTOP, Some(LinkIndex(1)), soft).contains("already"));
    let far = Some(LinkIndex(2));
    world.request_handover(LAPTOP, far, hard).unwrap();
    assert_eq!(told(&mut world, ms(10_000)), [(3000, default(AT_FAR))]);
    let (summary, _) = world.finish().unwrap();
    let [record] = &summary.handovers[..] else {
        panic!("one handover");
    };
    assert_eq!((record.kind, record.at_s), ("hard", 1.0));
    assert_eq!(record.completed_s, Some(3.0));
}

/// Returns the source port of a datagram or source of a packet, as its receiver reads it.
fn source(packet: &Packet) -> (IpAddr, u16) {
    match Packet::decode(&bytes_of(packet))
        .expect("right checksums")
        .body
    {
        Body::Udp(ports, _) => (packet.ip.source, ports.source_port),
        other => panic!("not UDP: {other:?}"),
    }
}

/// Returns the answer to a datagram.
fn answer(packet: &Packet) -> Vec<u8> {
    let mut answer = Packet::decode(&bytes_of(packet)).unwrap();
    core::mem::swap(&mut answer.ip.source, &mut answer.ip.destination);
    if let Body::Udp(ports, _) = &mut answer.body {
        core::mem::swap(&mut ports.source_port, &mut ports.destination_port);
    }
    bytes_of(&answer)
}

#[test]
fn a_handover_rebinds_behind_translators_and_the_old_mapping_stays() {
    for v6 in [false, true] {
        for address in [AddressPolicy::Kept, AddressPolicy::New] {
            // In `new`, the old interface stays for the time of the overlap.
            let entries = r#"{ at = "1 s", attach = "far", overlap = "10 s" }"#;
            let mut world = laptop_behind(entries, address, true);
            let server = world.address(SERVER, v6);
            let mut seen = Vec::new();
            for (at, port) in [(0, AT_NEAR), (1000, AT_FAR)] {
                world.run_until(ms(at), u64::MAX);
                let own = world.ports()[port.0].addresses[usize::from(v6)];
                world.inject(port, &datagram(own, server, 100));
                let until = ms(at + 500);
                let found = deliveries(&mut world, until);
                let [(_, AT_SERVER, packet)] = &found[..] else {
                    panic!("one packet: {found:?}");
                };
                seen.push((port, own, packet.clone()));
            }
            let outside = |packet: &Packet| source(packet);
            let texts = match v6 {
                false => ["198.18.0.2", "198.18.0.3"],
                true => ["fd62:6174:6f6e:2::2", "fd62:6174:6f6e:2::3"],
            };
            for ((_, _, packet), text) in seen.iter().zip(texts) {
                assert_eq!(outside(packet).0, text.parse::<IpAddr>().unwrap());
            }
            assert_ne!(outside(&seen[0].2).1, outside(&seen[1].2).1);
            // Answers take the link of their mapping, whatever is in use.
            for (port, own, packet) in &seen {
                world.inject(AT_SERVER, &answer(packet));
                let until = world.now() + Duration::from_millis(500);
                let found = deliveries(&mut world, until);
                let [(_, at, received)] = &found[..] else {
                    panic!("one packet: {found:?}");
                };
                assert_eq!((at, received.ip.destination), (port, *own));
                assert!(Packet::decode(&bytes_of(received)).is_ok());
            }
            // No host is reached without a mapping, nor under its inside address.
            let own = world.ports()[AT_FAR.0].addresses[usize::from(v6)];
            world.inject(AT_SERVER, &datagram(server, own, 100));
            let mut elsewhere = seen[1].2.clone();
            elsewhere = Packet::decode(&bytes_of(&elsewhere)).unwrap();
            if let Body::Udp(ports, _) = &mut elsewhere.body {
                ports.source_port += 1;
            }
            world.inject(AT_SERVER, &answer(&elsewhere));
            let until = world.now() + Duration::from_millis(500);
            assert_eq!(deliveries(&mut world, until), []);
            assert_eq!(world.refused_by_nat().unmapped, 2);
        }
    }
}

#[test]
fn simulated_hosts_answer_a_kernels_ping_whatever_it_carries() {
    for v6 in [false, true] {
        let mut world = laptop_behind("", AddressPolicy::Kept, true);
        let [laptop, router] = [LAPTOP, NodeIndex(1)].map(|node| world.address(node, v6));
        let echo = Echo {
            identifier: 9,
            sequence: 1,
            data: Payload::Bytes((*b"time and whatever").into()),
        };
        let mut ping = Packet::decode(&datagram(laptop, router, 100)).unwrap();
        ping.body = Body::Icmp(IcmpMessage::EchoRequest(echo.clone()));
        world.inject(AT_NEAR, &bytes_of(&ping));
        let found = deliveries(&mut world, ms(1000));
        let [(_, AT_NEAR, reply)] = &found[..] else {
            panic!("one reply: {found:?}");
        };
        let reply = Packet::decode(&bytes_of(reply)).unwrap();
        assert_eq!((reply.ip.source, reply.ip.destination), (router, laptop));
        assert_eq!(reply.body, Body::Icmp(IcmpMessage::EchoReply(echo)));
    }
}

#[test]
fn a_hop_limit_that_runs_out_is_told_to_the_kernel() {
    for (v6, nat) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut world = laptop_behind("", AddressPolicy::Kept, nat);
        let [laptop, server, router] =
            [LAPTOP, SERVER, NodeIndex(1)].map(|node| world.address(node, v6));
        let mut packet = Packet::decode(&datagram(laptop, server, 100)).unwrap();
        packet.ip.hop_limit = 1;
        world.inject(AT_NEAR, &bytes_of(&packet));
        let found = deliveries(&mut world, ms(1000));
        let [(_, AT_NEAR, error)] = &found[..] else {
            panic!("one error: {found:?}");
        };
        let error = Packet::decode(&bytes_of(error)).unwrap();
        assert_eq!((error.ip.source, error.ip.destination), (router, laptop));
        let Body::Icmp(IcmpMessage::Error { kind, quoted }) = error.body else {
            panic!("not an error: {error:?}");
        };
        assert_eq!(kind, IcmpError::TimeExceeded);
        // As the laptop wrote it, before any translation.
        assert_eq!((quoted.source, quoted.source_port), (laptop, 4000));
    }
}

/// Returns the shipped moving network.
pub(super) fn train_network(live: &str) -> World {
    let text = include_str!("../../../../../scenarios/train-network.toml");
    world(&format!("{text}\n{live}"))
}

proptest! {
    /// Any packet at any interface, of hosts with and without agents in the scenario.
    #[test]
    fn no_packet_from_a_kernel_ends_the_run(
        packets in proptest::collection::vec((0_usize..9, 0_usize..14, 0_usize..14, any::<bool>(), any::<[u8; 24]>(), 0_u8..3), 1..20)
    ) {
        let live = "[live]\nhosts = [\"server\", \"train\", \"passenger\", \"home-agent\", \"cellular-router\"]\n";
        let mut world = train_network(live);
        let nodes = world.scenario().nodes.len();
        let ports = world.ports().len();
        for (port, from, to, v6, carried, kind) in packets {
            let [from, to] = [from, to].map(|node| world.address(NodeIndex(node % nodes), v6));
            let mut bytes = datagram(from, to, 40 + 8 + 24);
            let at = bytes.len() - carried.len();
            bytes[at..].copy_from_slice(&carried);
            if v6 && kind > 0 {
                bytes[6] = [17, 60, 135][usize::from(kind)];
            }
            world.inject(PortId(port % ports), &bytes);
            let until = world.now() + Duration::from_millis(20);
            deliveries(&mut world, until);
        }
    }
}
