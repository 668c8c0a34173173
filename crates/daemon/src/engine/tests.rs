//! A mobile and its routers, joined in memory, over time: the link in use when links go down, come back, and flap.

use super::*;
use crate::config::{self, Config};
use crate::node;
use baton_proto::time::Duration;
use std::collections::{BTreeSet, VecDeque};

const MOBILE: &str = r#"
[interfaces.wifi]
kind = "tun"
[interfaces.cellular]
kind = "tun"
[mobile_node]
home_address = "2001:db8:100::a"
home_prefix = "2001:db8:100::/64"
home_agent = "2001:db8:100::1"
failback = { prefer = ["wifi", "cellular"] }
key = "00112233445566778899aabbccddeeff01234567"
"#;

const ROUTERS: &str = r#"
[interfaces.wifi]
kind = "packet"
[interfaces.cellular]
kind = "packet"
[access_routers.wifi]
prefix = "2001:db8:1::/64"
[access_routers.cellular]
prefix = "2001:db8:2::/64"
[home_agent]
address = "2001:db8:100::1"
home_prefix = "2001:db8:100::/64"
[[home_agent.mobiles]]
home_address = "2001:db8:100::a"
key = "00112233445566778899aabbccddeeff01234567"
"#;

/// One-way delay of a link.
const DELAY: Duration = Duration::from_millis(10);

/// A node at one end of the links.
struct Side {
    engine: Engine,
    log: Log,
    outgoing: Outgoing,
}

/// Events of a node.
struct Log {
    /// Names of the node's interfaces.
    names: Vec<String>,
    /// Lines, each with its time in milliseconds.
    said: Vec<(u64, String)>,
}

impl Log {
    fn say(&mut self, now: Instant, words: String) {
        self.said.push((now.as_nanos() / 1_000_000, words));
    }
}

/// Packets that have left a node.
#[derive(Default)]
struct Outgoing(Vec<(InterfaceId, Packet)>);

impl Outlet for Outgoing {
    fn send(&mut self, interface: InterfaceId, packet: &Packet) {
        self.0.push((interface, packet.clone()));
    }
}

impl Owner for Log {
    fn handle_event(&mut self, now: Instant, _host: &mut Host, event: HostEvent) {
        if let HostEvent::Layer(signal) = event
            && ["Registered", "Buffering"].contains(&signal.name)
        {
            let words = format!("{}, {}", signal.name.to_lowercase(), signal.details);
            self.say(now, words.trim_end_matches(", ").to_owned());
        }
    }

    fn handle_attachment(&mut self, now: Instant, signal: Signal) {
        let (words, interface) = match signal {
            Signal::Attached(Some(interface)) => ("uses", interface),
            Signal::Complete(Some(interface)) => ("has changed over to", interface),
            _ => return,
        };
        self.say(now, format!("{words} {}", self.names[interface.0]));
    }

    fn handle_link(&mut self, _: Instant, _: (InterfaceId, bool)) {}
}

impl Side {
    fn new(text: &str, secret: u8) -> Side {
        let config = config::parse::<Config>(text, "node.toml").unwrap();
        let interfaces = config.interfaces_in_order().into_iter();
        let names: Vec<String> = interfaces.map(|(name, _)| name.to_owned()).collect();
        let interfaces: Vec<(&str, u32)> = names.iter().map(|name| (&name[..], 1500)).collect();
        let host = node::host(&config, &interfaces, || Ok([secret; 16])).unwrap();
        Side {
            engine: Engine::new(host),
            log: Log {
                names,
                said: Vec::new(),
            },
            outgoing: Outgoing::default(),
        }
    }

    fn interface(&self, link: &str) -> InterfaceId {
        let mut names = self.log.names.iter();
        InterfaceId(names.position(|name| name == link).unwrap())
    }

    fn turn(&mut self, now: Instant, link: &str, is_up: bool) {
        let link = (self.interface(link), is_up);
        let (log, outgoing) = (&mut self.log, &mut self.outgoing);
        self.engine.handle_link(now, link, log, outgoing);
    }

    fn advance(&mut self, now: Instant) {
        let (log, outgoing) = (&mut self.log, &mut self.outgoing);
        self.engine.advance(now, log, outgoing);
    }

    fn arrive(&mut self, now: Instant, link: &str, bytes: &[u8]) {
        let arrived = (self.interface(link), Packet::verbatim(bytes).unwrap());
        let (log, outgoing) = (&mut self.log, &mut self.outgoing);
        self.engine.handle_packet(now, arrived, log, outgoing);
    }
}

/// A packet in flight: the time and place of its arrival, and its link.
struct OnTheWay {
    at: Instant,
    /// Number of the side.
    to: usize,
    link: String,
    bytes: Vec<u8>,
}

/// Two nodes with two links between them.
struct Bench {
    now: Instant,
    /// The mobile, and its routers.
    sides: [Side; 2],
    wire: VecDeque<OnTheWay>,
    down: BTreeSet<&'static str>,
}

impl Bench {
    /// Brings both links up at time zero, and registers the mobile, first where it first has an address.
    fn new() -> Bench {
        let mut bench = Bench {
            now: Instant::ZERO,
            sides: [Side::new(MOBILE, 1), Side::new(ROUTERS, 2)],
            wire: VecDeque::new(),
            down: BTreeSet::new(),
        };
        bench.turn(0, "wifi", true);
        bench.turn(0, "cellular", true);
        let said = bench.said(19_999);
        assert_eq!(said[0], (0, "uses wifi".to_owned()));
        let registered = said.iter().rev().find(|(_, words)| words != ON_WIFI);
        assert_eq!(registered.unwrap().1, AT_WIFI);
        bench
    }

    /// Switches a link at a time, in milliseconds.
    fn turn(&mut self, at: u64, link: &'static str, is_up: bool) {
        self.run(Instant::from_millis(at));
        match is_up {
            true => self.down.remove(link),
            false => self.down.insert(link),
        };
        for side in 0..2 {
            self.sides[side].turn(self.now, link, is_up);
            self.carry(side);
        }
    }

    /// Tells the mobile, at a time in milliseconds, that a link is expected to go down soon, or (false) no longer.
    fn foresee(&mut self, at: u64, link: &'static str, goes_down: bool) {
        self.run(Instant::from_millis(at));
        let side = &mut self.sides[0];
        let loss = goes_down.then(|| self.now + Duration::from_secs(2));
        let link = (side.interface(link), loss);
        let (log, outgoing) = (&mut side.log, &mut side.outgoing);
        side.engine.foresee(self.now, link, log, outgoing);
        self.carry(0);
    }

    /// Runs to a time.
    fn run(&mut self, until: Instant) {
        loop {
            let [mobile, routers] = &mut self.sides;
            let due = [mobile, routers].map(|side| side.engine.poll_timeout());
            let arrival = self.wire.front().map(|packet| packet.at);
            let next = due.into_iter().chain([arrival]).flatten().min();
            let Some(next) = next.filter(|at| *at <= until) else {
                break;
            };
            self.now = next.max(self.now);
            for side in 0..2 {
                self.sides[side].advance(self.now);
                self.carry(side);
            }
            while self.wire.front().is_some_and(|packet| packet.at <= next) {
                self.arrive();
            }
        }
        self.now = until;
    }

    /// Delivers the next packet in flight, if its link is up.
    fn arrive(&mut self) {
        let packet = self.wire.pop_front().unwrap();
        if !self.down.contains(&packet.link[..]) {
            self.sides[packet.to].arrive(self.now, &packet.link, &packet.bytes);
            self.carry(packet.to);
        }
    }

    /// Puts a side's outgoing packets on the links.
    fn carry(&mut self, from: usize) {
        let side = &mut self.sides[from];
        for (interface, packet) in side.outgoing.0.drain(..) {
            let mut bytes = Vec::new();
            packet.encode(&mut bytes);
            self.wire.push_back(OnTheWay {
                at: self.now + DELAY,
                to: 1 - from,
                link: side.log.names[interface.0].clone(),
                bytes,
            });
        }
    }

    /// Returns the mobile's lines up to a time, in milliseconds, since the last call.
    fn said(&mut self, until: u64) -> Vec<(u64, String)> {
        self.run(Instant::from_millis(until));
        core::mem::take(&mut self.sides[0].log.said)
    }
}

fn lines(expected: &[(u64, &str)]) -> Vec<(u64, String)> {
    let lines = expected.iter();
    lines.map(|&(at, words)| (at, words.to_owned())).collect()
}

const AT_WIFI: &str = "registered, care-of address 2001:db8:1::a";
const AT_CELLULAR: &str = "registered, care-of address 2001:db8:2::a";
const ON_WIFI: &str = "has changed over to wifi";
const ON_CELLULAR: &str = "has changed over to cellular";
/// Lines of a mobile that loses its WiFi at 20 s.
const LEFT: [(u64, &str); 3] = [
    (20_020, AT_CELLULAR),
    (20_100, "uses cellular"),
    (20_100, ON_CELLULAR),
];

/// An address is ready on the other link: it is registered a round trip after the loss. The lost link is left after the
/// longest switch time, 100 ms, and returned to when it has been up for the hold time, 5 s.
#[test]
fn a_lost_link_is_left_at_once_and_returned_to_after_the_hold_time() {
    let mut bench = Bench::new();
    bench.turn(20_000, "wifi", false);
    let left = lines(&LEFT);
    assert_eq!(bench.said(29_999), left);
    bench.turn(30_000, "wifi", true);
    let back = lines(&[(35_000, "uses wifi"), (35_020, AT_WIFI), (35_020, ON_WIFI)]);
    assert_eq!(bench.said(39_999), back);
    // The other link is not needed any more.
    bench.turn(40_000, "cellular", false);
    assert_eq!(bench.said(49_999), lines(&[]));
}

#[test]
fn a_break_within_the_longest_switch_time_does_not_change_the_choice() {
    let mut bench = Bench::new();
    bench.turn(20_000, "wifi", false);
    bench.turn(20_050, "wifi", true);
    // The other link serves until there is an address again, after a random part of some seconds.
    let said = bench.said(24_999);
    assert_eq!(said[0], (20_020, AT_CELLULAR.to_owned()));
    assert_eq!(said[1].1, AT_WIFI);
    assert_eq!(said.len(), 2);
}

#[test]
fn a_break_within_the_hold_time_begins_it_anew() {
    let mut bench = Bench::new();
    bench.turn(20_000, "wifi", false);
    bench.turn(22_000, "wifi", true);
    bench.turn(26_999, "wifi", false);
    bench.turn(28_000, "wifi", true);
    let back = [(33_000, "uses wifi"), (33_020, AT_WIFI), (33_020, ON_WIFI)];
    assert_eq!(bench.said(39_999), lines(&[LEFT, back].concat()));
}

#[test]
fn with_no_link_up_the_first_to_come_is_used_at_once() {
    let mut bench = Bench::new();
    bench.turn(20_000, "wifi", false);
    bench.turn(20_050, "cellular", false);
    bench.turn(25_000, "cellular", true);
    // The binding of that link's address is still valid.
    let expected = lines(&[
        (20_020, AT_CELLULAR),
        (25_000, "uses cellular"),
        (25_000, ON_CELLULAR),
    ]);
    assert_eq!(bench.said(29_999), expected);
}

/// The mobile is bound over the other link a round trip later, long before the first one goes down, and returns to it
/// when it has been up for the hold time.
#[test]
fn a_link_that_is_expected_to_go_is_left_before_it_does() {
    let mut bench = Bench::new();
    bench.foresee(20_000, "wifi", true);
    let left = [
        (20_000, "uses cellular"),
        (20_020, AT_CELLULAR),
        (20_020, ON_CELLULAR),
    ];
    assert_eq!(bench.said(21_999), lines(&left));
    bench.turn(22_000, "wifi", false);
    bench.turn(25_000, "wifi", true);
    bench.foresee(26_000, "wifi", false);
    let back = [(30_000, "uses wifi"), (30_020, AT_WIFI), (30_020, ON_WIFI)];
    assert_eq!(bench.said(39_999), lines(&back));
}

/// The home agent holds packets from a round trip later until the mobile is bound again.
#[test]
fn without_another_link_the_home_agent_is_asked_to_hold_packets() {
    let mut bench = Bench::new();
    bench.turn(15_000, "cellular", false);
    bench.said(19_999);
    bench.foresee(20_000, "wifi", true);
    assert_eq!(bench.said(20_999), lines(&[(20_020, "buffering")]));
    bench.foresee(21_000, "wifi", false);
    assert_eq!(bench.said(29_999), lines(&[(21_020, AT_WIFI)]));
}
