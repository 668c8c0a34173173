//! Two links between the gateways: both are used, and one that is silent or about to go down is left by all connections.

use super::*;
use crate::aerotp::Blocks;
use crate::testing::Hop;

/// Interfaces of both gateways: to the host beside them, and to the two links.
const NEAR: InterfaceId = InterfaceId(0);
const LINKS: [InterfaceId; 2] = [InterfaceId(1), InterfaceId(2)];
/// One way over a link.
const DELAY: Duration = Duration::from_millis(20);

/// Returns a client, two gateways with two links of the same rate between them, and a server.
pub(super) fn two_links(rules: Vec<Rule>) -> Net {
    let host = |place: usize| {
        let mut host = Host::new(address(place), [place as u8 + 1; 16]);
        let is_gateway = place == 1 || place == 2;
        (0..if is_gateway { 3 } else { 1 }).for_each(|_| {
            host.add_interface(1500);
        });
        let routes = host.routes_mut();
        routes.set_default(Some(NEAR));
        if is_gateway {
            let across = if place == 1 { 2..4 } else { 0..2 };
            across.for_each(|other| routes.set(address(other), LINKS[0]));
            let links = LINKS.map(|link| (link, DataRate::from_bits_per_second(RATE)));
            host.add_layer(AerotpGateway::new(&links, rules.clone(), [place as u8; 16]));
        }
        host
    };
    let hosts = (0..4).map(host).collect();
    Net::of(Hosts::new(hosts, |from, interface, _| {
        let to = match (from, interface) {
            (0, _) => 1,
            (1, NEAR) => 0,
            (1, _) => 2,
            (2, NEAR) => 3,
            (2, _) => 1,
            _ => 2,
        };
        let delay = match interface {
            NEAR => Duration::from_millis(1),
            _ => DELAY,
        };
        Some(Hop {
            to,
            interface,
            delay,
        })
    }))
}

/// Oracle: half a round trip, and 100 B at the link's rate. A link of an unknown delay leaves the order as configured, and
/// so does reliable mode, where the hosts' TCP measures its path by that packet.
#[test]
fn the_first_packet_takes_the_link_over_which_it_arrives_first() {
    const NEAR: Mode = Mode::NearReliable;
    for (mode, round_trips_ms, rates_kbit, first) in [
        (NEAR, [580, 30], [20_000, 5_000], 1),
        (NEAR, [30, 580], [5_000, 20_000], 0),
        // 4 ms and 80 ms at the rate, beside 20 ms and 0.04 ms.
        (NEAR, [8, 40], [10, 20_000], 1),
        (NEAR, [40, 40], [20_000, 20_000], 0),
        (NEAR, [580, 0], [20_000, 5_000], 0),
        (Mode::Reliable, [580, 30], [20_000, 5_000], 0),
    ] {
        let mut row = two_links(rules(mode));
        for link in 0..2 {
            let rate = DataRate::from_bits_per_second(rates_kbit[link] * 1_000);
            let reported = LinkEvent::Parameters(LinkParameters {
                outgoing: rate,
                incoming: rate,
                round_trip: Duration::from_millis(round_trips_ms[link]),
                outgoing_queue: None,
                incoming_queue: None,
                mtu: 1500,
            });
            row.hosts[1].handle_link(Instant::ZERO, LINKS[link], reported);
        }
        row.hosts[3].tcp_listen(PORT, Profile::linux_6(), 16, None);
        row.connect(&Profile::linux_6());
        row.run_until(at(500));
        let mut sent = row.sent.iter();
        let opening = sent.find(|sent| is_in_the_air(sent.from, sent.to)).unwrap();
        assert_eq!(
            opening.interface, LINKS[first],
            "{mode:?} {round_trips_ms:?}"
        );
        assert_eq!(row.accepted(3).len(), 1);
    }
}

/// A download between hosts with two links, of which the wires lose all packets of one in a period.
struct Scene {
    row: Net,
    sockets: Vec<(SocketId, SocketId)>,
}

impl Scene {
    fn new(connections: usize) -> Scene {
        Scene::with(rules(Mode::NearReliable), connections)
    }

    fn with(rules: Vec<Rule>, connections: usize) -> Scene {
        let mut row = two_links(rules);
        row.hosts[3].tcp_listen(PORT, Profile::linux_6(), 16, None);
        let clients: Vec<SocketId> = (0..connections)
            .map(|_| row.connect(&Profile::linux_6()))
            .collect();
        row.run_until(at(500));
        let servers = row.accepted(3);
        let sockets = clients.into_iter().zip(servers).collect();
        Scene { row, sockets }
    }

    /// Has the client write on a connection.
    fn write(&mut self, number: usize, bytes: u64) {
        let client = self.sockets[number].0;
        let connection = self.row.hosts[0].connection_mut(client).unwrap();
        assert_eq!(connection.write_pattern(7, bytes), bytes);
    }

    /// Returns the bytes that the server has of a connection.
    fn came(&self, number: usize) -> u64 {
        let server = self.sockets[number].1;
        self.row.hosts[3].connection(server).unwrap().readable()
    }

    /// Reports an event of the first link to the client's gateway.
    fn say(&mut self, event: LinkEvent) {
        self.say_of(0, event);
    }

    /// Reports an event of a link to the client's gateway.
    fn say_of(&mut self, link: usize, event: LinkEvent) {
        let now = self.row.now();
        self.row.hosts[1].handle_link(now, LINKS[link], event);
        self.row.settle();
    }

    /// Writes 25 kB, and returns the number of repair packets in the next half second.
    fn repairs_of_more(&mut self) -> usize {
        let since = self.row.now();
        self.write(0, 25_000);
        self.row.run_until(since + Duration::from_millis(500));
        let sent = self.row.sent.iter().filter(|sent| sent.at >= since);
        let is_repair = |place: crate::wire::aerotp::BlockPlace| place.is_repair();
        sent.filter(|sent| match &sent.packet.body {
            Body::Aerotp(packet) => packet.header.block.is_some_and(is_repair),
            _ => false,
        })
        .count()
    }

    /// Returns the number of packets with data that left over each link since a time.
    fn data_over(&self, since: Instant) -> [usize; 2] {
        let over = |link: usize| {
            let sent = self.row.sent.iter();
            let here = sent.filter(|sent| sent.at >= since && (sent.from, sent.to) == (1, 2));
            here.filter(|sent| match &sent.packet.body {
                Body::Aerotp(packet) => {
                    packet.payload.length() > 0 && sent.interface == LINKS[link]
                }
                _ => false,
            })
            .count()
        };
        [over(0), over(1)]
    }
}

#[test]
fn both_links_are_used_at_their_rates() {
    let mut scene = Scene::new(1);
    scene.write(0, 60_000);
    scene.row.run_until(at(600));
    // 60 kB over 10 Mbit/s take 50 ms, and another 22 ms to the server.
    assert_eq!(scene.came(0), 60_000);
    let [one, other] = scene.data_over(at(500));
    assert!(
        one.abs_diff(other) <= 3 && one + other >= 41,
        "{one}, {other}"
    );
}

/// A bulk transfer notices that a link is silent. Data of another connection, which was idle, then takes the other
/// link at once.
#[test]
fn a_silence_found_by_one_connection_is_known_to_all() {
    let mut scene = Scene::new(2);
    scene.write(0, 60_000);
    scene.row.run_until(at(520));
    scene.row.decide(|_, entering| {
        match entering.from.min(entering.to) == 1 && entering.interface == LINKS[0] {
            true => Passage::Lost,
            false => Passage::Arrives,
        }
    });
    // An answer is due after 40 ms, four variations of at most half of that, and 10 ms; then half of that again.
    scene.row.run_until(at(520 + 195));
    let before = scene.row.now();
    scene.write(1, 20_000);
    scene.row.run_until(at(1_500));
    assert_eq!((scene.came(0), scene.came(1)), (60_000, 20_000));
    assert_eq!(scene.data_over(before)[0], 0);
}

#[test]
fn a_link_about_to_go_down_is_left_until_it_stays_after_all() {
    let mut scene = Scene::new(1);
    scene.say(LinkEvent::GoingDown);
    scene.write(0, 30_000);
    scene.row.run_until(at(1_000));
    assert_eq!(scene.data_over(at(500))[0], 0);
    scene.say(LinkEvent::Rollback);
    scene.write(0, 30_000);
    scene.row.run_until(at(1_500));
    let [one, other] = scene.data_over(at(1_000));
    assert!(one.abs_diff(other) <= 3, "{one}, {other}");
    assert_eq!(scene.came(0), 60_000);
}

/// Data in flight on a link that goes down leaves again over the other one at once: 30 kB at 5 Mbit/s, and a round
/// trip.
#[test]
fn data_in_flight_on_a_link_that_goes_down_leaves_again_over_the_other() {
    let mut scene = Scene::new(1);
    scene.write(0, 30_000);
    scene.row.run_until(at(515));
    scene.row.wires.lose_all();
    scene.say(LinkEvent::Down);
    scene.row.run_until(at(515 + 48 + 22 + 80));
    assert_eq!(scene.came(0), 30_000);
}

/// Without a loss there is no repair packet. Of a link that is about to go down a fifth is assumed to be lost, as long as
/// no other carries the data.
#[test]
fn repair_packets_are_raised_while_the_last_link_is_about_to_go_down() {
    let mut rules = rules(Mode::NearReliable);
    rules[0].configuration.blocks = Some(Blocks::Adaptive);
    let mut scene = Scene::with(rules, 1);
    assert_eq!(scene.repairs_of_more(), 0);
    scene.say_of(0, LinkEvent::GoingDown);
    assert_eq!(scene.repairs_of_more(), 0);
    scene.say_of(1, LinkEvent::Down);
    // 18 packets with data, and half as many at most.
    let raised = scene.repairs_of_more();
    assert!((4..=9).contains(&raised), "{raised}");
    scene.say_of(0, LinkEvent::Rollback);
    assert_eq!(scene.repairs_of_more(), 0);
    assert_eq!(scene.came(0), 100_000);
}
