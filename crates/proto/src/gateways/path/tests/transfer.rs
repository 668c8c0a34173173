//! Gateways that transfer a mobile's connections among themselves: a server, gateways 1 to 3, and a mobile whose
//! packets go through its present gateway.

use super::*;
use crate::interface::LinkEvent;
use crate::remedies::Kind;
use crate::testing::{Hop, Hosts, Sent};
use crate::wire::split_context::{Message, PORT as GATEWAY_PORT, TcpContext};

const SERVER: usize = 0;
const MOBILE: usize = 4;

/// The ground network that joins all gateways, and the mobile's access links.
struct Ground {
    net: Net,
    /// Delay from gateway to gateway.
    between: Duration,
}

fn is_gateway(node: usize) -> bool {
    (SERVER + 1..MOBILE).contains(&node)
}

/// Returns the wires while the mobile is at a gateway.
fn wires(at: usize, between: Duration) -> impl Fn(usize, InterfaceId, &Packet) -> Option<Hop> {
    move |from, interface, packet| {
        let destination = packet.ip.destination;
        let is_access = interface == InterfaceId(1);
        let (to, delay) = match from {
            MOBILE => (at, ms(50)),
            SERVER => (at, ms(10)),
            _ if is_access && from != at => return None,
            _ if is_access => (MOBILE, ms(50)),
            _ if destination == address(SERVER) => (SERVER, ms(10)),
            _ => {
                let gateway = (SERVER + 1..MOBILE).find(|&to| address(to) == destination);
                (gateway.unwrap_or(at), between)
            }
        };
        let interface = InterfaceId(usize::from(from == MOBILE));
        Some(Hop {
            to,
            interface,
            delay,
        })
    }
}

impl Ground {
    /// Creates a ground with the mobile at gateway 1, and a delay of `between` from gateway to gateway.
    fn new(profile: &Profile, steering: &[Kind], between: Duration) -> Ground {
        let mut hosts: Vec<Host> = (SERVER..=MOBILE)
            .map(|node| Host::new(address(node), [node as u8; 16]))
            .collect();
        let served = Served {
            mobile: address(MOBILE),
            correspondent: address(SERVER),
            port: Some(PORT),
        };
        for (node, host) in hosts.iter_mut().enumerate() {
            let ground = host.add_interface(1500);
            host.routes_mut().set_default(Some(ground));
            if is_gateway(node) {
                let access = host.add_interface(1500);
                let split = Split::new(profile.clone(), profile.clone(), steering.to_vec());
                let mut agents = PathAgents::new([node as u8; 16]);
                agents.serve(served, Service::Split(Box::new(split)));
                agents.add_access(address(MOBILE), access);
                let others = (SERVER + 1..MOBILE).filter(|other| *other != node);
                others.for_each(|peer| agents.add_peer(address(node), address(peer)));
                host.add_layer(agents);
                let carries = LinkEvent::Parameters(carries(node as u64 * 1_000_000));
                host.handle_link(Instant::ZERO, access, carries);
            }
        }
        let net = Net::of(Hosts::new(hosts, wires(1, between)));
        let mut ground = Ground { net, between };
        ground.move_to(1);
        ground
    }

    /// Moves the mobile to a gateway, whose link reports it.
    fn move_to(&mut self, gateway: usize) {
        self.net.rewire(wires(gateway, self.between));
        for node in SERVER + 1..MOBILE {
            let towards = InterfaceId(usize::from(node == gateway));
            let routes = self.net.hosts[node].routes_mut();
            routes.set(address(MOBILE), towards);
        }
        let neighbor = Neighbor::new(address(MOBILE));
        let (now, access) = (self.net.now(), InterfaceId(1));
        self.net.hosts[gateway].handle_neighbor(now, access, LinkEvent::Up, neighbor);
    }

    /// Loses those packets between gateways for which `is_lost` returns true.
    fn lose(&mut self, is_lost: fn(&Packet) -> bool) {
        self.net.decide(move |packet, Entering { from, to, .. }| {
            match is_gateway(from) && is_gateway(to) && is_lost(packet) {
                true => Passage::Lost,
                false => Passage::Arrives,
            }
        });
    }

    /// Returns the packets sent between gateways.
    fn said(&self) -> impl Iterator<Item = &Sent> {
        let sent = self.net.sent.iter();
        sent.filter(|sent| is_gateway(sent.from) && is_gateway(sent.to))
    }

    /// Returns the connection of an end, which is its first.
    fn connection(&mut self, node: usize) -> &mut Connection {
        self.net.hosts[node].connection_mut(SocketId(0)).unwrap()
    }

    /// Opens the server's connection to the mobile.
    fn begin(&mut self, profile: &Profile) {
        self.net.hosts[MOBILE].tcp_listen(PORT, profile.clone(), 1, None);
        let remote = Endpoint {
            address: address(MOBILE),
            port: PORT,
        };
        let now = self.net.now();
        self.net.hosts[SERVER].tcp_connect(now, remote, profile, None);
        self.net.run_for(ms(500));
    }

    /// Returns the bytes in the buffers of the halves at a gateway, and the number of halves.
    fn held(&mut self, gateway: usize) -> (u64, usize) {
        let halves = self.halves(gateway);
        let held = halves.iter().map(|half| {
            let beyond = half.beyond_gap.iter().map(|(_, run)| run);
            let runs = half.unacknowledged_bytes.iter().chain(&half.unread);
            let lengths = runs.chain(beyond).map(Payload::length);
            lengths.map(u64::from).sum::<u64>()
        });
        (held.sum(), halves.len())
    }

    /// Returns the contexts of the halves at a gateway.
    fn halves(&mut self, gateway: usize) -> Vec<TcpContext> {
        let agents = self.net.hosts[gateway].layer::<PathAgents>().unwrap();
        let connections = agents
            .relays
            .keys()
            .filter_map(|&half| agents.sockets.connection(half));
        connections
            .filter_map(|half| half.context(self.net.now()))
            .collect()
    }

    /// Has both ends write until all buffers are full.
    fn fill(&mut self, left: &mut [Vec<u8>; 2]) {
        for _ in 0..400 {
            for (end, node) in [SERVER, MOBILE].into_iter().enumerate() {
                let taken = self.connection(node).write(&left[end]);
                left[end].drain(..taken);
            }
            self.net.run_for(ms(20));
        }
    }

    /// Has both ends write and read all they can, and close, until no data is left.
    fn finish(&mut self, mut left: [Vec<u8>; 2], mut heard: [Vec<u8>; 2]) -> [Vec<u8>; 2] {
        let limit = self.net.now() + Duration::from_secs(3_000);
        let mut buffer = vec![0; 1 << 20];
        while self.net.now() < limit {
            for (end, node) in [SERVER, MOBILE].into_iter().enumerate() {
                let connection = self.connection(node);
                let taken = connection.write(&left[end]);
                left[end].drain(..taken);
                if left[end].is_empty() {
                    connection.close();
                }
                let count = connection.read(&mut buffer);
                heard[1 - end].extend_from_slice(&buffer[..count]);
            }
            let states = [SERVER, MOBILE].map(|node| self.connection(node).state());
            if states
                .iter()
                .all(|state| matches!(state, State::Closed | State::TimeWait))
            {
                break;
            }
            self.net.run_for(ms(20));
        }
        heard
    }
}

fn bytes(stream: u32, length: usize) -> Vec<u8> {
    (0..length as u64)
        .map(|place| pattern_byte(stream, place))
        .collect()
}

/// Returns a profile with buffers that a few hundred packets fill.
fn small_buffers(name: &str) -> Profile {
    let mut profile = Profile::named(name).unwrap();
    (profile.receive_buffer, profile.send_buffer) = (60_000, 60_000);
    profile.data_retries = 400;
    profile.maximum_rto = Duration::from_secs(4);
    profile
}

/// Both ends write more than all buffers hold, and read nothing before the mobile has moved: the new gateway has the
/// data that the old one had acknowledged, and both streams are complete.
#[test]
fn a_connection_with_full_buffers_goes_along_and_loses_nothing() {
    for name in Profile::NAMES {
        for seconds in [0, 5] {
            let profile = small_buffers(name);
            let mut ground = Ground::new(&profile, &[Kind::SatellitePep], ms(30));
            ground.begin(&profile);
            let streams = [bytes(1, 400_000), bytes(2, 300_000)];
            let mut left = streams.clone();
            ground.fill(&mut left);
            let (before, halves) = ground.held(1);
            assert!(before > 60_000 && halves == 2, "{name}: {before}");
            ground.move_to(2);
            ground.net.run_for(Duration::from_secs(seconds));
            if seconds > 0 {
                assert_eq!(ground.held(1), (0, 0), "{name}");
                // And perhaps what less than a third of a send buffer had room for: a writer is not told of that.
                let (after, halves) = ground.held(2);
                let filled = before..before + 60_000 / 3;
                assert!(
                    filled.contains(&after) && halves == 2,
                    "{name}: {before} {after}"
                );
            }
            let heard = ground.finish(left, Default::default());
            assert!(
                heard == streams,
                "{name}: {:?}",
                heard.map(|heard| heard.len())
            );
            for gateway in [1, 2, 3] {
                assert_eq!(ground.net.hosts[gateway].discarded().messages, 0, "{name}");
                let own = ground
                    .net
                    .log
                    .iter()
                    .filter(|logged| logged.host == gateway);
                assert_eq!(own.count(), 0, "{name}: nobody else's business");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    /// Connections follow their mobile wherever it goes, even if it returns before they have arrived.
    #[test]
    fn connections_follow_a_mobile_that_does_not_wait_for_them(
        moves in prop::collection::vec((1_usize..4, 0_u64..1_500), 1..8),
        lengths in [0_usize..200_000, 0_usize..200_000],
        (name, between) in (0_usize..Profile::NAMES.len(), 1_u64..200),
    ) {
        let profile = small_buffers(Profile::NAMES[name]);
        let mut ground = Ground::new(&profile, &[Kind::SatellitePep], ms(between));
        ground.begin(&profile);
        let streams = [bytes(1, lengths[0]), bytes(2, lengths[1])];
        let mut left = streams.clone();
        let mut heard = [Vec::new(), Vec::new()];
        for (gateway, wait) in moves {
            for (end, node) in [SERVER, MOBILE].into_iter().enumerate() {
                let taken = ground.connection(node).write(&left[end]);
                left[end].drain(..taken);
                let mut buffer = [0; 5_000];
                let count = ground.connection(node).read(&mut buffer);
                heard[1 - end].extend_from_slice(&buffer[..count]);
            }
            ground.move_to(gateway);
            // A request takes one and a half round trips to arrive; if gateways claim a mobile at the same time,
            // neither can know which is right.
            ground.net.run_for(ms(4 * between + wait));
        }
        let heard = ground.finish(left, heard);
        prop_assert!(heard == streams, "{:?}", heard.map(|heard| heard.len()));
    }
}

/// A connection on its way to the mobile's last gateway follows the mobile back if it returns.
#[test]
fn a_connection_on_its_way_turns_round_with_its_mobile() {
    let profile = small_buffers("rfc");
    let between = ms(200);
    let mut ground = Ground::new(&profile, &[Kind::SatellitePep], between);
    ground.begin(&profile);
    let streams = [bytes(1, 400_000), Vec::new()];
    let mut left = streams.clone();
    ground.fill(&mut left);
    let (before, _) = ground.held(1);
    ground.move_to(2);
    // The request has arrived after 600 ms; of an answer of 120,000 bytes, ten segments go in the first round trip and
    // twenty in the second.
    ground.net.run_for(ms(1_000));
    assert_eq!((ground.held(1), ground.held(2)), ((0, 0), (0, 0)));
    ground.move_to(1);
    ground.net.run_for(Duration::from_secs(10));
    assert!(ground.held(1).0 >= before && ground.held(2) == (0, 0));
    let heard = ground.finish(left, Default::default());
    assert!(heard == streams);
}

/// Contexts lost on the way are gone: the ends find no connection, and the delivered data is a part of the sent data.
#[test]
fn what_the_way_loses_is_gone_and_counted() {
    let mut profile = small_buffers("rfc");
    profile.data_retries = 3;
    let mut ground = Ground::new(&profile, &[Kind::SatellitePep], ms(30));
    ground.begin(&profile);
    let stream = bytes(1, 60_000);
    assert_eq!(ground.connection(SERVER).write(&stream), 60_000);
    ground.net.run_for(ms(200));
    // All packets with data except the request.
    ground.lose(|packet| packet.segment_within().unwrap().payload.length() >= 100);
    ground.move_to(2);
    ground.net.run_for(Duration::from_secs(4_000));
    assert_eq!(ground.held(1), (0, 0));
    assert_eq!(ground.held(2), (0, 0));
    assert_eq!(ground.net.hosts[1].discarded().messages, 1, "a context");
    let mut heard = vec![0; 100_000];
    let count = ground.connection(MOBILE).read(&mut heard);
    assert!(count < stream.len() && heard[..count] == stream[..count]);
    // An absent gateway does not keep connections from continuing elsewhere.
    let mut again = Ground::new(&profile, &[Kind::SatellitePep], ms(30));
    again.begin(&profile);
    again.lose(|_| true);
    again.move_to(2);
    again.net.run_for(Duration::from_secs(1));
    again.move_to(1);
    let heard = again.finish([stream.clone(), Vec::new()], Default::default());
    assert!(heard[0] == stream);
}

/// A gateway trusts only its peers, and accepts from them only contexts that it has requested.
#[test]
fn strangers_get_nothing_and_peers_no_more_than_they_ask_for() {
    let profile = small_buffers("rfc");
    let mut ground = Ground::new(&profile, &[Kind::SatellitePep], ms(30));
    ground.begin(&profile);
    let ask = |ground: &mut Ground, from: usize, said: &[u8]| {
        let remote = Endpoint {
            address: address(1),
            port: GATEWAY_PORT,
        };
        let now = ground.net.now();
        let socket = ground.net.hosts[from].tcp_connect(now, remote, &Profile::rfc(), None);
        ground.net.hosts[from]
            .connection_mut(socket)
            .unwrap()
            .write(said);
        ground.net.run_for(Duration::from_secs(2));
        ground.net.hosts[from].connection(socket).unwrap().state()
    };
    let request = Message::Request(address(MOBILE)).encode();
    let before = ground.held(1);
    assert_eq!(ask(&mut ground, SERVER, &request), State::Closed);
    for wrong in [&[9; 20][..], &[1, 2, 0, 0, 0, 0, 0, 1, 0]] {
        assert_eq!(ask(&mut ground, 2, wrong), State::Closed, "{wrong:?}");
    }
    assert_eq!(ground.net.hosts[1].discarded().messages, 3);
    assert_eq!(ground.held(1), before);
    // The same from a peer, which asks twice.
    let twice = [&request[..], &request].concat();
    ask(&mut ground, 2, &twice);
    assert_eq!(ground.held(1), (0, 0));
    assert_eq!(ground.net.hosts[1].discarded().messages, 4);
}

/// Without a mobility protocol, a Link_Up shows that the mobile has arrived; no gateway asks for a mobile whose
/// connections do not move.
#[test]
fn gateways_ask_only_for_what_may_move() {
    let profile = small_buffers("rfc");
    for (steering, moves) in [
        (&[Kind::SplitConnection], false),
        (&[Kind::SatellitePep], true),
    ] {
        let mut ground = Ground::new(&profile, steering, ms(30));
        ground.net.run_for(Duration::from_secs(1));
        let before = ground.said().count();
        assert_eq!(before > 0, moves);
        ground.begin(&profile);
        ground.move_to(2);
        ground.net.run_for(Duration::from_secs(1));
        let asks = ground.said().skip(before).filter(|sent| {
            let segment = sent.packet.segment_within().unwrap();
            sent.from == 2 && segment.header.flags == TcpFlags::SYN
        });
        assert_eq!(asks.count(), if moves { 2 } else { 0 });
    }
}

/// Remedies of a half learn of the new link when the half has arrived: Baton's own remedy caps the bytes in flight at
/// the link's capacity.
#[test]
fn remedies_of_the_half_hear_of_the_new_link() {
    let profile = Profile::rfc();
    let steering = [Kind::SatellitePep, Kind::ReadyGateway];
    let mut ground = Ground::new(&profile, &steering, ms(30));
    ground.begin(&profile);
    // The half towards the server has no link parameters.
    let threshold = |ground: &mut Ground, gateway: usize| {
        let halves = ground.halves(gateway);
        let thresholds = halves.iter().map(|half| half.slow_start_threshold);
        thresholds.min().unwrap()
    };
    let pipe = |gateway: u32| gateway * 1_000_000 / 8 / 10;
    let first = threshold(&mut ground, 1);
    assert!((pipe(1)..2 * pipe(1)).contains(&first), "{first}");
    ground.move_to(3);
    ground.net.run_for(Duration::from_secs(1));
    let then = threshold(&mut ground, 3);
    assert!((pipe(3)..2 * pipe(3)).contains(&then), "{then}");
}
