//! Kernels' packets through the agents of mobility protocols: at the moments, with the losses and through the tunnels of
//! simulated hosts' packets.

use super::ports::{bytes_of, datagram, deliveries, ms, world};
use super::*;
use crate::scenario::model::NodeIndex;
use crate::world::World;
use crate::world::ports::PortId;
use crate::world::summary::{AgentSummary, HandoverSummary};
use baton_proto::packet::{Body, Packet};
use core::net::IpAddr;

/// The place of a stream of datagrams in the world, and their lengths in bytes.
#[derive(Clone, Copy)]
struct Stream<'a> {
    from: &'a str,
    to: &'a str,
}

/// Milliseconds between two datagrams, and to the first one.
const INTERVAL: u64 = 20;
const START: u64 = 5_000;
/// The port of the only flow of a scenario.
const PORT: u16 = 5001;

impl Stream<'_> {
    /// Returns the stream as a flow of simulated hosts: 100 bytes every 20 ms.
    fn flow(&self) -> String {
        let Stream { from, to } = self;
        format!(
            "[[flows]]\nname = \"voice\"\nfrom = \"{from}\"\nto = \"{to}\"\ntransport = \"udp\"\n\
             traffic.kind = \"constant\"\ntraffic.rate = \"40 kbit/s\"\ntraffic.packet_size = \"100 B\"\nstart = \"5 s\"\n"
        )
    }

    fn live(&self) -> String {
        format!("[live]\nhosts = [\"{}\", \"{}\"]\n", self.from, self.to)
    }
}

/// Received packets of a stream.
#[derive(Debug, PartialEq)]
struct Outcome {
    /// Datagrams that were sent, delivered and lost.
    sent: u64,
    delivered: u64,
    lost: u64,
    longest_stall_s: f64,
    mean_delay_s: Option<f64>,
    /// Begin, completion and losses of each handover.
    handovers: Vec<(f64, Option<f64>, u64)>,
    /// Packets that agents held, released and sent twice.
    agents: Vec<(&'static str, u64, u64, u64)>,
}

fn outcome(summary: &Summary) -> Outcome {
    let voice = flow(summary, "voice");
    let to_sink = &voice.packets.to_sink;
    let delay = voice.packet_delay.to_sink.as_ref();
    let handover =
        |record: &HandoverSummary| (record.at_s, record.completed_s, record.lost_packets);
    let agent = |agent: &AgentSummary| (agent.agent, agent.held, agent.released, agent.copies);
    Outcome {
        sent: to_sink.sent,
        delivered: to_sink.delivered,
        lost: to_sink.lost,
        longest_stall_s: voice.longest_stall_s,
        mean_delay_s: delay.map(|delay| delay.mean_s),
        handovers: summary.handovers.iter().map(handover).collect(),
        agents: summary.agents.iter().map(agent).collect(),
    }
}

fn port_of(world: &World, name: &str) -> (PortId, IpAddr) {
    let nodes = &world.scenario().nodes;
    let node = NodeIndex(nodes.iter().position(|node| node == name).unwrap());
    let own = world
        .ports()
        .iter()
        .enumerate()
        .filter(|(_, port)| port.node == node);
    let own: Vec<_> = own.collect();
    let [(place, port)] = own[..] else {
        panic!("one port: {own:?}");
    };
    assert_eq!(
        (port.link, port.addresses.len()),
        (None, 1),
        "the one that stays"
    );
    (PortId(place), port.addresses[0])
}

/// Carries a stream of kernels' datagrams for so many seconds, written at the times at which a simulated host sends.
/// The receiver sees only the addresses of both hosts.
fn carried(text: &str, stream: Stream<'_>, seconds: u32) -> Outcome {
    let mut world = world(&format!("{text}{}", stream.live()));
    let [(from, source), (to, destination)] =
        [stream.from, stream.to].map(|name| port_of(&world, name));
    let headers = if source.is_ipv4() { 28 } else { 48 };
    let mut sent = Packet::decode(&datagram(source, destination, headers + 100)).unwrap();
    if let Body::Udp(ports, _) = &mut sent.body {
        (ports.source_port, ports.destination_port) = (PORT, PORT);
    }
    let sent = bytes_of(&sent);
    let check = |world: &mut World, until| {
        for (_, port, packet) in deliveries(world, until) {
            let received = Packet::decode(&bytes_of(&packet)).expect("right checksums");
            assert_eq!(
                (port, received.ip.source, received.ip.destination),
                (to, source, destination)
            );
            assert_eq!(
                bytes_of(&received)[headers as usize - 8..],
                sent[headers as usize - 8..]
            );
        }
    };
    for at in (START..=u64::from(seconds) * 1000).step_by(INTERVAL as usize) {
        check(&mut world, ms(at));
        world.inject(from, &sent);
    }
    check(&mut world, ms(u64::from(seconds) * 1000));
    let (summary, _) = world.finish().unwrap();
    outcome(&summary)
}

/// Asserts that kernels' datagrams fare as simulated hosts' do, and returns the results.
fn fares_alike(parts: &[&str], (stream, seconds): (Stream<'_>, u32)) -> Outcome {
    let flow = stream.flow();
    let text = scenario(seconds, &[parts, &[&flow]].concat());
    let simulated = outcome(&run(&text).summary);
    let carried = carried(&text, stream, seconds);
    assert_eq!(carried, simulated, "{text}");
    for (_, completed, _) in &carried.handovers {
        assert!(completed.is_some(), "{text}");
    }
    assert!(!carried.handovers.is_empty(), "{text}");
    carried
}

const AIRCRAFT: [Stream<'_>; 2] = [
    Stream {
        from: "correspondent",
        to: "aircraft",
    },
    Stream {
        from: "aircraft",
        to: "correspondent",
    },
];

/// Returns an aircraft that leaves its home cell at 20 s with this second entry of its timetable.
fn aircraft(agent: &str, entry: &str, keys: &str) -> String {
    format!(
        "[home_agents.home-agent]\nprefix = \"2001:db8:1::/64\"\nduplicate_address_detection = \"unique-prefix\"\n{agent}\n\
         [mobiles.aircraft]\ntimetable = [{{ at = \"0 s\", attach = \"home-cell\" }}, {{ at = \"20 s\", attach = \"foreign-cell\", {entry} }}]\n\
         mobility = {{ home_agent = \"home-agent\", home_link = \"home-cell\", duplicate_address_detection = \"icao-address\", {keys} }}\n"
    )
}

const HARD: &str = "handover = \"hard\", outage = \"300 ms\"";
const ANNOUNCED: &str = "handover = \"hard\", outage = \"300 ms\", announced = \"1 s\"";
const SOFT: &str = "handover = \"soft\", overlap = \"2 s\"";
const IPV6: &str = "protocol = \"mobile-ipv6\"";

fn links() -> String {
    let links = super::mobility::LINKS;
    links[..links.find("[home_agents").unwrap()].to_owned()
}

/// RFC 6275: a tunnel from the home agent, and back to it.
#[test]
fn a_kernel_at_a_mobile_node_keeps_its_home_address_through_the_tunnel() {
    let mobile = aircraft("", HARD, IPV6);
    let [down, up] = AIRCRAFT.map(|stream| fares_alike(&[&links(), &mobile], (stream, 30)));
    // 300 ms without a link, and an advertisement, update and acknowledgement: 50 ms and twice 70 ms.
    assert!((24..=28).contains(&down.lost), "{down:?}");
    assert!((24..=28).contains(&up.lost), "{up:?}");
}

/// A home agent that holds packets of an announced handover loses none (study D, proposal 2).
#[test]
fn a_home_agent_holds_a_kernels_packets() {
    let keys = format!("{IPV6}, asks_for_buffering = true");
    let mobile = aircraft("buffering = {}", ANNOUNCED, &keys);
    let [down, _] = AIRCRAFT.map(|stream| fares_alike(&[&links(), &mobile], (stream, 30)));
    assert_eq!(down.lost, 0);
    let (agent, held, released, _) = down.agents[0];
    assert!(
        agent == "home agent" && held > 15 && held == released,
        "{down:?}"
    );
}

#[test]
fn access_routers_hold_and_hand_out_a_kernels_packets() {
    for keys in [
        "access_router_buffering = { size = \"64 kB\" }",
        "multicast_buffering = { size = \"16 kB\" }",
    ] {
        let back = format!("{HARD} }}, {{ at = \"25 s\", attach = \"home-cell\", {HARD}");
        let mobile = aircraft("", &back, &format!("{IPV6}, {keys}"));
        let [down, _] = AIRCRAFT.map(|stream| fares_alike(&[&links(), &mobile], (stream, 35)));
        let handled: u64 = down
            .agents
            .iter()
            .map(|&(_, held, _, copies)| held + copies)
            .sum();
        assert!(handled > 10, "{down:?}");
    }
}

#[test]
fn a_home_agent_sends_a_kernels_packets_to_both_places() {
    let mobile = aircraft("bicasting = \"1 s\"", SOFT, IPV6);
    let [down, up] = AIRCRAFT.map(|stream| fares_alike(&[&links(), &mobile], (stream, 30)));
    assert_eq!((down.lost, up.lost), (0, 0));
    assert!(down.agents[0].3 > 40, "{down:?}");
}

/// RFC 6275 sections 6.3 and 6.4: the kernels at both ends know nothing of the home address option and the routing header.
#[test]
fn kernels_do_not_see_that_the_route_is_optimized() {
    // Packets through the tunnel make the mobile optimize the route.
    let [down, _] = AIRCRAFT;
    let [straight, round] = [true, false].map(|optimized| {
        let keys = format!("{IPV6}, route_optimization = {optimized}");
        fares_alike(&[&links(), &aircraft("", SOFT, &keys)], (down, 30)).mean_delay_s
    });
    // By way of the home agent the path is 20 ms longer, for ten of 25 s.
    near(
        round.unwrap() - straight.unwrap(),
        0.02 * 10.0 / 25.0,
        0.001,
    );
}

/// RFC 3963: hosts behind a mobile router, whose kernels know of nothing.
#[test]
fn kernels_behind_a_mobile_router_are_reached_through_its_tunnel() {
    let cabin =
        "[links.cabin]\nbetween = [\"aircraft\", \"seat\"]\nkind = \"wired\"\ndelay = \"1 ms\"\n";
    let keys = "protocol = \"nemo\", network_prefix = \"2001:db8:1:100::/64\"";
    for (agent, entry, more) in [
        ("", HARD, ""),
        ("buffering = {}", ANNOUNCED, ", asks_for_buffering = true"),
    ] {
        let mobile = aircraft(agent, entry, &format!("{keys}{more}"));
        for (from, to) in [("correspondent", "seat"), ("seat", "correspondent")] {
            let outcome = fares_alike(&[&links(), cabin, &mobile], (Stream { from, to }, 30));
            let is_held = !more.is_empty() && to == "seat";
            assert_eq!(outcome.lost == 0, is_held, "{outcome:?}");
        }
    }
}

const LAPTOP: [Stream<'_>; 2] = [
    Stream {
        from: "correspondent",
        to: "laptop",
    },
    Stream {
        from: "laptop",
        to: "correspondent",
    },
];

/// Returns a laptop that leaves WaveLAN for GSM at 10 s.
fn laptop(entry: &str, keys: &str) -> String {
    format!(
        "[mobiles.laptop]\ntimetable = [{{ at = \"0 s\", attach = \"wavelan\" }}, {{ at = \"10 s\", attach = \"gsm\", {entry} }}]\n\
         mobility = {{ protocol = \"mobile-ipv4\", home_agent = \"home-agent\", {keys} }}\n"
    )
}

/// RFC 5944, with addresses of the mobile's own and with foreign agents; directly back and through the tunnel (RFC
/// 3024).
#[test]
fn a_kernel_at_a_laptop_keeps_its_home_address_by_mobile_ipv4() {
    let links = super::mobile_ipv4::LINKS;
    for agents in ["", "foreign_agents = { near = {}, far = {} }\n"] {
        for delivery in ["triangle", "reverse-tunnel"] {
            for entry in [
                "handover = \"soft\"",
                "handover = \"hard\", outage = \"50 ms\"",
            ] {
                let mobile = laptop(entry, &format!("delivery = \"{delivery}\""));
                for stream in LAPTOP {
                    let outcome = fares_alike(&[agents, links, &mobile], (stream, 20));
                    // At least the packets sent in 50 ms, or on the way to the old place.
                    assert!(outcome.lost > 2 || entry.contains("soft"), "{outcome:?}");
                }
            }
        }
    }
}

/// RFC 4857 and the smooth handoff of foreign agents, simultaneous bindings, and addresses by DHCP.
#[test]
fn agents_of_mobile_ipv4_move_a_kernels_packets_in_every_way() {
    let links = super::mobile_ipv4::LINKS;
    let both = "foreign_agents = { near = {}, far = {} }\n";
    let below = "foreign_agents = { hub = {}, near = { gateway = \"hub\" }, far = { gateway = \"hub\" } }\n";
    let (soft, hard) = (
        "handover = \"soft\"",
        "handover = \"hard\", outage = \"50 ms\"",
    );
    for (agents, entry, keys) in [
        (both, hard, "smooth_handoff = true"),
        (below, soft, ""),
        (below, hard, ""),
        ("", soft, "simultaneous_bindings = true"),
        (
            "",
            soft,
            "care_of_address = \"dhcp\", conflict_check = \"background\"",
        ),
    ] {
        for stream in LAPTOP {
            fares_alike(&[agents, links, &laptop(entry, keys)], (stream, 20));
        }
    }
}
