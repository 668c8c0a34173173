//! Number of moving mobiles that one home agent serves, their size and speed, and the cost of a handover in whole
//! worlds of 500 and 5,000 aircraft: each figure beside its target.
//!
//! 100 000 aircraft, 180 to a pair of L-DACS1 cells, fly to and fro across the border of their two cells, once a
//! minute. Their radio decides each handover; their mobile nodes ask the home agent to hold packets (study D, proposal
//! 2), and register with it from the new cell. Each handover meets a train of twelve packets. Agents and radio are
//! driven directly, without hosts, links or records. An access router advertises only when an aircraft arrives, and
//! only to that one.

#[path = "../tests/counting/mod.rs"]
mod counting;
mod measured;

use baton_proto::host::layer::Neighbor;
use baton_proto::interface::{InterfaceId, LinkEvent};
use baton_proto::mobility::address_configuration::{
    ConfigurationSettings, ConfigurationTimes, DuplicateAddressDetection, Uniqueness,
    icao_interface_identifier,
};
use baton_proto::mobility::binding::BindingTimes;
use baton_proto::mobility::buffering::{BufferPolicy, Overflow};
use baton_proto::mobility::draws::Draws;
use baton_proto::mobility::mobile_ipv6::{
    AccessRouter, AdvertisingSettings, BufferingRequest, FleetSettings, HomeAgent, HomeAgentEvent,
    HomeAgentSettings, MobileEvent, MobileNode, MobileSettings, SharedKey, Strategy, Subscriber,
};
use baton_proto::packet::{BitErrors, Body, Identity, IpHeader, Packet, Payload};
use baton_proto::rate::DataRate;
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::mobility_header::BindingLifetime;
use baton_proto::wire::prefix::Ipv6Prefix;
use baton_proto::wire::udp::UdpHeader;
use baton_sim::link::Outcome;
use baton_sim::link::cells::{
    CellConfig, CellId, Direction, Event, Network, NetworkConfig, Offered, Output, StationId, Way,
};
use baton_sim::packets::PacketId;
use baton_sim::position::{Position, Track};
use baton_sim::rng::Seed;
use baton_sim::run::{Run, RunOptions};
use baton_sim::scenario;
use core::net::{IpAddr, Ipv6Addr};
use measured::{line, processor_seconds};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;
use std::sync::Arc;

const MOBILES: u32 = 100_000;
/// Ninety a cell, as in study D.
const MOBILES_OF_A_PAIR: u32 = 180;
const PAIRS: u32 = MOBILES.div_ceil(MOBILES_OF_A_PAIR);
/// Time from one handover of an aircraft to its next.
const LEG: u32 = 60;
const SPEED_M_S: f64 = 800.0 / 3.6;
const RADIUS_M: f64 = 20e3;
/// Distance from a base station to the border: a little nearer than Th1, so that a new cell is not left again at once.
const BORDER_M: f64 = 14.95e3;
const DEGREE_M: f64 = 111_195.0;
/// Delay of the ground between any two places.
const GROUND: Duration = Duration::from_millis(10);
/// Packets that each handover meets: of 1084 B, at about the rate of an aircraft's grants.
const TRAIN: u32 = 12;
const SPACING: Duration = Duration::from_millis(260);
const PAYLOAD: u32 = 1024;

/// Number of aircraft that change their cell in whole worlds, and of the worlds of one kind.
const MOVING: usize = 200;
const WORLDS: usize = 20;

const HOME_AGENT: u128 = 0x2001_0db8_0100_0000_0000_0000_0000_0001;
const CORRESPONDENT: u128 = 0x2001_0db8_0200_0000_0000_0000_0000_0005;
const CELL_PREFIXES: u128 = 0x2001_0db8_8000_0000_0000_0000_0000_0000;
const HOME_IDENTIFIERS: u32 = 0x40_0000;

fn main() {
    println!("{:<54} {:>12} {:>16}", "case", "figure", "target");
    let tracks: Vec<Arc<Track>> = (0..MOBILES).map(|number| Arc::new(track(number))).collect();
    let before = counting::live_bytes();
    let mut world = World::new();
    for number in 0..MOBILES {
        let at = Instant::from_millis(u64::from(number) * 30_000 / u64::from(MOBILES));
        world.agenda.push(at, Happening::Arrival(number));
    }
    let each = |bytes: i64| bytes as f64 / f64::from(MOBILES);
    world.run_until(&tracks, Instant::from_secs(60));
    let (begun, registered) = (processor_seconds(), world.registered);
    let mut most = 0;
    for second in 61..=120 {
        world.run_until(&tracks, Instant::from_secs(second));
        most = most.max(counting::live_bytes() - before);
    }
    let used = processor_seconds() - begun;
    let handovers = world.registered - registered;
    // The tracks end in the third minute; then nothing is under way any more.
    world.run_until(&tracks, Instant::from_secs(200));
    let quiet = counting::live_bytes() - before;
    line(
        "100 000 mobiles, a handover a minute each: memory of 1",
        &format!("{:.0} B", each(quiet)),
        "<= 4096",
    );
    line(
        "  packets under way and held at most, of 1",
        &format!("{:.0} B", each(most - quiet)),
        "",
    );
    line(
        "  simulated in a second",
        &format!("{:.1} s", 60.0 / used),
        "",
    );
    println!(
        "  {handovers} handovers in 60 s; {used:.1} s of processor time, {:.0} us a handover",
        used * 1e6 / handovers as f64
    );
    world.tell();
    tell_of_worlds();
}

/// Measures worlds in which a few aircraft go from cell to cell, and the others stand still in further cells: the cost
/// of a handover does not grow with their number.
fn tell_of_worlds() {
    type Text = fn(usize) -> String;
    let kinds: [(&str, Text); 3] = [
        ("aircraft", |mobiles| radio_text(mobiles, "none")),
        ("aircraft with NEMO", |mobiles| radio_text(mobiles, "nemo")),
        ("mobiles with links of their own", plain_text),
    ];
    for (kind, text) in kinds {
        let [few, many] = [500, 5_000].map(|mobiles| {
            let cost = cost_of_a_handover(&text(mobiles));
            let case = format!("handover in a world of {mobiles} {kind}");
            line(&case, &format!("{:.0} us", cost * 1e6), "");
            cost
        });
        line(
            "  of 5,000 to that of 500",
            &format!("{:.2}", many / few),
            "<= 1.5",
        );
    }
}

/// Returns the processor time of a handover in seconds, over several worlds, since the system counts in hundredths of a
/// second.
fn cost_of_a_handover(text: &str) -> f64 {
    let (mut used, mut completed) = (0.0, 0);
    for seed in 1..=WORLDS {
        let text = format!("seed = {seed}\n{text}");
        let loaded = scenario::parse(&text, "worlds", Path::new("."), &[]);
        let loaded = loaded.unwrap_or_else(|error| panic!("{error}"));
        let mut run = Run::new(loaded, &RunOptions::default()).expect("a run");
        run.advance_to(Instant::from_secs(100)).expect("no file");
        let begun = processor_seconds();
        run.advance_to(Instant::from_secs(240)).expect("no file");
        used += processor_seconds() - begun;
        let handovers = run.finish(None).expect("no file").summary.handovers;
        completed += handovers
            .iter()
            .filter(|one| one.completed_s.is_some())
            .count();
    }
    used / completed as f64
}

/// Returns mobiles that stand at twelve access points, each with a link of its own, except for the moving ones: these
/// have two, and go from one to the other and back between 115 s and 216 s.
fn plain_text(mobiles: usize) -> String {
    let mut text = String::from(
        "name = \"worlds\"\nduration = \"240 s\"\nrecord = { series = false, packets = false }\n",
    );
    let mut link = |name: String, ends: [&str; 2]| {
        text += &format!("[links.{name}]\nbetween = {ends:?}\nkind = \"wired\"\n");
    };
    for point in 0..12 {
        link(format!("ground{point}"), [&format!("p{point}"), "backbone"]);
    }
    for mobile in 0..mobiles {
        let node = format!("m{mobile}");
        link(format!("{node}a"), [&node, &format!("p{}", mobile % 12)]);
        if mobile < MOVING {
            link(
                format!("{node}b"),
                [&node, &format!("p{}", (mobile + 1) % 12)],
            );
        }
    }
    for mobile in 0..mobiles {
        text += &format!(
            "[mobiles.m{mobile}]\ntimetable = [{{ at = \"0 s\", attach = \"m{mobile}a\" }}"
        );
        if mobile < MOVING {
            for (entry, to) in ["b", "a"].into_iter().enumerate() {
                let at_ms = 115_000 + 500 * mobile + 1000 * entry;
                text += &format!(", {{ at = \"{at_ms} ms\", attach = \"m{mobile}{to}\" }}");
            }
        }
        text += "]\n";
    }
    text
}

fn radio_text(aircraft: usize, protocol: &str) -> String {
    let mut text = String::from(
        "name = \"worlds\"\nduration = \"240 s\"\nrecord = { series = false, packets = false }\n\
         home_agents.home = { prefix = \"2001:db8:1::/64\", duplicate_address_detection = \"unique-prefix\" }\n\
         [links.radio]\nkind = \"ldacs1\"\nuser_rate = \"31.5 kbit/s\"\n\
         [links.ground-home]\nbetween = [\"home\", \"backbone\"]\nkind = \"wired\"\n",
    );
    for cell in 0..12 {
        let longitude = f64::from(cell) * 3.147615;
        text += &format!(
            "[links.radio.cells.c{cell}]\nnode = \"c{cell}\"\nposition = {{ latitude = 0, longitude = {longitude} }}\n\
             [links.ground{cell}]\nbetween = [\"c{cell}\", \"backbone\"]\nkind = \"wired\"\n"
        );
    }
    let mut fleet = |name: &str, count: usize, network: usize, track: &str| {
        text += &format!(
            "[mobiles.{name}]\ncount = {count}\ntimetable = [{{ at = \"0 s\", attach = \"radio\" }}]\ntrack = {{ {track} }}\n"
        );
        if protocol == "nemo" {
            text += &format!(
                "[mobiles.{name}.mobility]\nprotocol = \"nemo\"\nhome_agent = \"home\"\n\
                 duplicate_address_detection = \"icao-address\"\nnetwork_prefix = \"2001:db8:{network}::/64\"\n"
            );
        }
    };
    // They pass the border from 115 s to 215 s on; nothing is advertised to all then.
    let legs = "legs = [{ latitude = 0, longitude = 1.144 }, { latitude = 0, longitude = 3 }]";
    let moving = format!(
        "{legs}, speed = \"800 km/h\", spacing = \"{} ms\"",
        100_000 / MOVING
    );
    fleet("moving", MOVING, 2, &moving);
    let standing = (aircraft - MOVING) / 10;
    for cell in 2..12 {
        let longitude = f64::from(cell) * 3.147615 + 0.1;
        let track = format!("position = {{ latitude = 0, longitude = {longitude} }}");
        fleet(
            &format!("standing{cell}"),
            standing,
            1 + cell as usize,
            &track,
        );
    }
    text
}

/// Returns the middle of the border between an aircraft's pair of cells: latitude and longitude.
fn border(pair: u32) -> (f64, f64) {
    (f64::from(pair / 30) - 9.0, f64::from(pair % 30) * 2.0)
}

/// Returns a place east of a pair's border.
fn place(pair: u32, east_m: f64) -> Position {
    let (latitude, longitude) = border(pair);
    let degrees = east_m / (DEGREE_M * latitude.to_radians().cos());
    Position::new(latitude, longitude + degrees, 0.0)
}

/// Returns a track to and fro across the border, one crossing per minute, those of a pair spread over two minutes.
fn track(number: u32) -> Track {
    let (pair, turn) = (number / MOBILES_OF_A_PAIR, number % MOBILES_OF_A_PAIR);
    let reach_m = SPEED_M_S * f64::from(LEG) / 2.0;
    // Position along the way from the western end to the eastern and back, of two legs.
    let along = 2.0 * f64::from(turn) / f64::from(MOBILES_OF_A_PAIR);
    let eastward = along < 1.0;
    let from_west = if eastward { along } else { 2.0 - along };
    let start = place(pair, (2.0 * from_west - 1.0) * reach_m);
    let ends = [place(pair, -reach_m), place(pair, reach_m)];
    let [first, second] = if eastward { [ends[1], ends[0]] } else { ends };
    // At an end there is no way left to it.
    let corners = if start.ground_distance_m(&first) < 1.0 {
        vec![first, second, first, second]
    } else {
        vec![start, first, second, first]
    };
    Track::legs(Instant::ZERO, &corners, SPEED_M_S).expect("the legs are right")
}

/// An event on the ground, or at a mobile node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    /// An aircraft is switched on.
    Arrival(u32),
    /// A mobile node has a task.
    Timeout(u32),
    /// A packet arrives at the home agent.
    AtHomeAgent(PacketNumber),
    /// A packet arrives at a base station.
    AtCell(u16, PacketNumber),
    /// The correspondent sends a mobile a packet, and so many more.
    Data(u32, u32),
}

type PacketNumber = u32;

/// Events by time, and by insertion at equal times.
#[derive(Default)]
struct Agenda {
    heap: BinaryHeap<Reverse<(Instant, u64, Happening)>>,
    inserted: u64,
}

impl Agenda {
    fn push(&mut self, at: Instant, happening: Happening) {
        self.heap.push(Reverse((at, self.inserted, happening)));
        self.inserted += 1;
    }

    fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    fn pop(&mut self, now: Instant) -> Option<(Instant, Happening)> {
        self.next().filter(|&at| at <= now)?;
        let Reverse((at, _, happening)) = self.heap.pop()?;
        Some((at, happening))
    }
}

/// Packets under way, by number.
#[derive(Default)]
struct Slab {
    packets: Vec<Option<Packet>>,
    free: Vec<PacketNumber>,
}

impl Slab {
    fn insert(&mut self, packet: Packet) -> PacketNumber {
        if let Some(number) = self.free.pop() {
            self.packets[number as usize] = Some(packet);
            return number;
        }
        self.packets.push(Some(packet));
        self.packets.len() as u32 - 1
    }

    fn take(&mut self, number: PacketNumber) -> Packet {
        self.free.push(number);
        self.packets[number as usize].take().expect("it is there")
    }
}

struct Mobile {
    node: MobileNode,
    /// Time of its next timeout on the agenda.
    due: Instant,
}

struct World {
    now: Instant,
    network: Network,
    home_agent: HomeAgent,
    routers: Vec<AccessRouter>,
    mobiles: Vec<Mobile>,
    packets: Slab,
    agenda: Agenda,
    /// Accepted registrations.
    registered: u64,
    asked: u64,
    delivered: u64,
    lost: u64,
}

impl World {
    fn new() -> World {
        let cells = (0..PAIRS).flat_map(|pair| {
            [-BORDER_M, BORDER_M]
                .map(|east_m| CellConfig::new("cell", place(pair, east_m), RADIUS_M))
        });
        let mut config = NetworkConfig::new("radio", cells.collect());
        config.user_rate = Some(DataRate::from_bits_per_second(31_500));
        config.packet_bit = true;
        World {
            now: Instant::ZERO,
            network: Network::new(config, Seed(1)),
            home_agent: home_agent(),
            routers: (0..2 * PAIRS).map(router).collect(),
            mobiles: Vec::with_capacity(MOBILES as usize),
            packets: Slab::default(),
            agenda: Agenda::default(),
            registered: 0,
            asked: 0,
            delivered: 0,
            lost: 0,
        }
    }

    fn tell(&self) {
        let held = self.home_agent.counts().buffered;
        println!(
            "  over 200 s: {} requests to hold, {} packets held, {} delivered, {} lost; {} mobiles registered",
            self.asked,
            held.held,
            self.delivered,
            self.lost + held.overflowed + held.expired,
            self.home_agent.registered()
        );
    }

    fn run_until(&mut self, tracks: &[Arc<Track>], end: Instant) {
        loop {
            let next = [
                self.network.next_deadline(),
                self.home_agent.poll_timeout(),
                self.agenda.next(),
            ];
            let Some(next) = next.into_iter().flatten().min().filter(|&at| at <= end) else {
                return;
            };
            self.now = self.now.max(next);
            while let Some(output) = self.network.poll(self.now) {
                self.handle_radio(output);
            }
            if self
                .home_agent
                .poll_timeout()
                .is_some_and(|at| at <= self.now)
            {
                self.home_agent.handle_timeout(self.now);
                self.drain_home_agent();
            }
            while let Some((at, happening)) = self.agenda.pop(self.now) {
                self.happen(tracks, at, happening);
            }
        }
    }

    fn happen(&mut self, tracks: &[Arc<Track>], at: Instant, happening: Happening) {
        match happening {
            Happening::Arrival(number) => self.arrive(number, &tracks[number as usize]),
            Happening::Timeout(number) => {
                let mobile = &mut self.mobiles[number as usize];
                if mobile.due == at {
                    mobile.due = Instant::NEVER;
                    mobile.node.handle_timeout(self.now);
                    self.drain_mobile(number);
                }
            }
            Happening::AtHomeAgent(packet) => {
                let packet = self.packets.take(packet);
                self.home_agent.handle_packet(self.now, packet);
                self.drain_home_agent();
            }
            Happening::AtCell(cell, packet) => self.send_down(CellId(cell), packet),
            Happening::Data(number, more) => {
                let packet = self.packets.insert(data(number));
                let at = self.now + GROUND;
                self.agenda.push(at, Happening::AtHomeAgent(packet));
                if more > 0 {
                    let at = self.now + SPACING;
                    self.agenda.push(at, Happening::Data(number, more - 1));
                }
            }
        }
    }

    fn arrive(&mut self, number: u32, track: &Arc<Track>) {
        let settings = mobile_settings(number);
        self.home_agent.subscribe(Subscriber {
            home_address: settings.home_address,
            key: settings.key,
            prefixes: None,
        });
        self.mobiles.push(Mobile {
            node: MobileNode::new(settings, 1, secret(number)),
            due: Instant::NEVER,
        });
        let pair = number / MOBILES_OF_A_PAIR;
        let here = track.position(self.now);
        let distance = |side: f64| here.ground_distance_m(&place(pair, side * BORDER_M));
        let eastern = distance(1.0) < distance(-1.0);
        let cell = CellId((2 * pair + u32::from(eastern)) as u16);
        self.network
            .add_station(self.now, track.clone(), Some(cell));
    }

    fn handle_radio(&mut self, output: Output) {
        match output {
            Output::Event(event) => self.handle_signal(event),
            Output::Fate(fate) => {
                let packet = self.packets.take(fate.packet.0);
                if fate.outcome != Outcome::UNDAMAGED {
                    self.lost += u64::from(matches!(packet.body, Body::Tunnel(_)));
                } else if fate.direction == Direction::Forward {
                    self.deliver(fate.station.0, packet);
                } else if let Some(cell) = fate.cell {
                    self.send_up(cell, packet);
                }
            }
            Output::Message(_) => {}
        }
    }

    fn handle_signal(&mut self, event: Event) {
        let number = event.station.0;
        let node = &mut self.mobiles[number as usize].node;
        let router = usize::from(event.cell.0);
        let neighbor = Neighbor {
            address: care_of(event.cell, number).into(),
            network: None,
            is_told: true,
            buffering: None,
        };
        match event.event {
            LinkEvent::Up => {
                node.link_up(self.now, InterfaceId(0));
                self.routers[router].handle_arrival(self.now, neighbor);
                while let Some((_, packet)) = self.routers[router].poll_transmit() {
                    let packet = self.packets.insert(packet);
                    self.offer(StationId(number), Way::Forward(event.cell), packet);
                }
            }
            LinkEvent::GoingDown => {
                self.asked += 1;
                node.link_going_down(self.now, InterfaceId(0));
            }
            LinkEvent::Down => {
                node.link_down(self.now, InterfaceId(0));
                self.routers[router].handle_loss(self.now, neighbor);
            }
            LinkEvent::ParametersReport => {
                // The signal falls below Th1: a handover is near.
                self.agenda
                    .push(self.now, Happening::Data(number, TRAIN - 1));
            }
            _ => return,
        }
        self.drain_mobile(number);
    }

    fn deliver(&mut self, number: u32, packet: Packet) {
        let IpAddr::V6(destination) = packet.ip.destination else {
            return;
        };
        let node = &mut self.mobiles[number as usize].node;
        if node.takes(destination.into()) {
            let received = node.handle_packet(self.now, InterfaceId(0), packet);
            self.delivered += u64::from(received.is_some());
            self.drain_mobile(number);
        }
    }

    /// Forwards a packet that a mobile has sent: to its router, or over the ground.
    fn send_up(&mut self, cell: CellId, packet: Packet) {
        let to_router = match packet.ip.destination {
            IpAddr::V6(address) => address.is_multicast() || address.is_unicast_link_local(),
            IpAddr::V4(_) => true,
        };
        if to_router {
            self.routers[usize::from(cell.0)].handle_packet(self.now, &packet);
        } else {
            let packet = self.packets.insert(packet);
            let at = self.now + GROUND;
            self.agenda.push(at, Happening::AtHomeAgent(packet));
        }
    }

    /// Takes in a packet for a care-of address at the base station that has its prefix.
    fn send_down(&mut self, cell: CellId, packet: PacketNumber) {
        let destination = self.packets.packets[packet as usize]
            .as_ref()
            .map(|packet| packet.ip.destination);
        if let Some(IpAddr::V6(address)) = destination {
            let number = address.to_bits() as u32 - HOME_IDENTIFIERS;
            self.offer(StationId(number), Way::Forward(cell), packet);
        }
    }

    fn offer(&mut self, station: StationId, way: Way, packet: PacketNumber) {
        let length = self.packets.packets[packet as usize]
            .as_ref()
            .map_or(0, Packet::wire_length);
        let offered = Offered {
            station,
            way,
            packet: PacketId(packet),
            length,
            priority: 0,
            acknowledged: true,
        };
        self.network.offer(self.now, offered);
    }

    fn drain_mobile(&mut self, number: u32) {
        let place = number as usize;
        while let Some((_, packet)) = self.mobiles[place].node.poll_transmit() {
            let packet = self.packets.insert(packet);
            self.offer(StationId(number), Way::Return, packet);
        }
        let mobile = &mut self.mobiles[place];
        while mobile.node.poll_received().is_some() {
            self.delivered += 1;
        }
        while let Some(event) = mobile.node.poll_event() {
            self.registered += u64::from(matches!(event, MobileEvent::Registered(_)));
        }
        if let Some(due) = mobile.node.poll_timeout()
            && due < mobile.due
        {
            mobile.due = due;
            self.agenda.push(due, Happening::Timeout(number));
        }
    }

    fn drain_home_agent(&mut self) {
        while let Some((_, packet)) = self.home_agent.poll_transmit() {
            let IpAddr::V6(destination) = packet.ip.destination else {
                continue;
            };
            let cell = (destination.to_bits() >> 64) as u16;
            let packet = self.packets.insert(packet);
            let at = self.now + GROUND;
            self.agenda.push(at, Happening::AtCell(cell, packet));
        }
        while let Some(event) = self.home_agent.poll_event() {
            if let HomeAgentEvent::Expired { home_address } = event {
                panic!("{home_address} is not refreshed");
            }
        }
    }
}

fn home_agent() -> HomeAgent {
    HomeAgent::new(HomeAgentSettings {
        is_anchor_point: false,
        address: Ipv6Addr::from_bits(HOME_AGENT),
        home_prefix: prefix(HOME_AGENT),
        home_interface: InterfaceId(0),
        longest_lifetime: BindingLifetime::at_most(3600),
        detection: DuplicateAddressDetection::NotNeeded(Uniqueness::HomeNetworkPrefix),
        retransmission_time: Duration::from_secs(1),
        strategy: Strategy::Buffer(BufferPolicy {
            bytes: 65_536,
            age: Duration::from_secs(30),
            overflow: Overflow::DropOldest,
            pace: None,
            drop_duplicates: true,
        }),
        bicast_on_request: None,
        proven_care_of: None,
        path_mtu: 1500,
        clamp_segment_size: false,
    })
}

fn mobile_settings(number: u32) -> MobileSettings {
    let interface_identifier = icao_interface_identifier(HOME_IDENTIFIERS + number);
    MobileSettings {
        home_address: home_address(number),
        key: Some(SharedKey {
            security_parameter_index: 256 + number,
            key: [number as u8; 20],
        }),
        anchors: None,
        router: None,
        interface_identifier,
        access: None,
        handover_service: None,
        fleet: Arc::new(FleetSettings {
            home_agent: Ipv6Addr::from_bits(HOME_AGENT),
            lifetime: BindingLifetime::at_most(600),
            is_prefix_assigned: false,
            configuration: Arc::new(ConfigurationSettings {
                detection: DuplicateAddressDetection::NotNeeded(Uniqueness::IcaoAddress),
                times: ConfigurationTimes::default(),
                home_prefix: Some(prefix(HOME_AGENT)),
            }),
            binding_times: BindingTimes::default(),
            buffering: Some(BufferingRequest::STUDY_D),
            asks_for_bicasting: false,
            tells_routers: false,
            has_group: false,
            optimizes_routes: false,
            sends_before_acknowledgement: false,
            path_mtu: 1500,
            clamp_segment_size: false,
        }),
    }
}

fn router(cell: u32) -> AccessRouter {
    let link_local = Ipv6Addr::from_bits((0xFE80 << 112) | u128::from(cell + 1));
    let settings = AdvertisingSettings::standard(InterfaceId(0), link_local, cell_prefix(cell));
    AccessRouter::new(Instant::ZERO, settings, Draws::new(secret(cell)))
}

fn cell_prefix(cell: u32) -> Ipv6Prefix {
    prefix(CELL_PREFIXES | u128::from(cell) << 64)
}

/// Returns the address of an aircraft in a cell.
fn care_of(cell: CellId, number: u32) -> Ipv6Addr {
    cell_prefix(u32::from(cell.0)).address_of(home_address(number))
}

fn prefix(address: u128) -> Ipv6Prefix {
    Ipv6Prefix::new(Ipv6Addr::from_bits(address), 64).expect("a length")
}

fn home_address(number: u32) -> Ipv6Addr {
    let identifier = u128::from(icao_interface_identifier(HOME_IDENTIFIERS + number));
    prefix(HOME_AGENT).address_of(Ipv6Addr::from_bits(identifier))
}

fn secret(number: u32) -> [u8; 16] {
    (u128::from(number) << 7).to_be_bytes()
}

/// Returns a packet of the correspondent's for a mobile.
fn data(number: u32) -> Packet {
    let header = UdpHeader {
        source_port: 1,
        destination_port: 2,
    };
    let payload = Payload::Pattern {
        stream: number,
        offset: 0,
        length: PAYLOAD,
    };
    Packet {
        ip: IpHeader {
            source: Ipv6Addr::from_bits(CORRESPONDENT).into(),
            destination: home_address(number).into(),
            hop_limit: 64,
            traffic_class: 0,
            identification: 0,
            dont_fragment: true,
        },
        flow: None,
        retransmission: false,
        bit_errors: BitErrors::NONE,
        identity: Identity::NONE,
        body: Body::Udp(header, payload),
    }
}
