//! Random scenarios as text. Blocks are divided by blank lines, and every key has its own line, so that a failing
//! scenario can be shrunk.

use baton_proto::remedies::{Kind, Place, Tells};
use baton_sim::rng::{Seed, Stream};
use std::fmt::Write;

/// Time, in seconds, until which things change and endless flows last; then the network is left in peace.
pub const RESTLESS_S: u64 = 20;
/// End of the run: all finite data has long been delivered by then.
pub const END_S: u64 = 4_000;

struct Generator {
    draws: Stream,
    /// Separate draws for links along a line, so that the rest of a seed's scenario is the same as without them.
    line_draws: Stream,
    /// Separate draws for remedies, announcements and T/TCP, for the same reason.
    remedy_draws: Stream,
    /// True if the flows of this scenario open with T/TCP.
    transactions: bool,
    /// Separate draws for the network's measures against losses and handovers.
    network_draws: Stream,
    /// Separate draws for TP++ in the place of UDP.
    transport_draws: Stream,
    text: String,
}

/// Returns the scenario of a seed.
pub fn scenario(seed: u64) -> String {
    let mut remedy_draws = Seed(seed).stream("stress remedy");
    let mut generator = Generator {
        transactions: remedy_draws.below(100) < 20,
        remedy_draws,
        draws: Seed(seed).stream("stress"),
        line_draws: Seed(seed).stream("stress line"),
        network_draws: Seed(seed).stream("stress network"),
        transport_draws: Seed(seed).stream("stress TP++"),
        text: String::new(),
    };
    generator.all(seed);
    generator.text
}

impl Generator {
    fn below(&mut self, bound: u64) -> u64 {
        self.draws.below(bound)
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn pick<'a>(&mut self, values: &[&'a str]) -> &'a str {
        values[self.below(values.len() as u64) as usize]
    }

    fn line(&mut self, line: &str) {
        self.text += line;
        self.text.push('\n');
    }

    /// Writes `key = value` with one of a few values, one time in `of`.
    fn sometimes(&mut self, percent: u64, key: &str, values: &[&str]) {
        if self.chance(percent) {
            let value = self.pick(values);
            self.line(&format!("{key} = {value}"));
        }
    }

    fn all(&mut self, seed: u64) {
        let end = if self.chance(60) {
            END_S
        } else {
            20 + self.below(60)
        };
        self.line(&format!(
            "name = \"stress\"\nseed = {seed}\nduration = \"{end} s\""
        ));
        let cores = 1 + self.below(4);
        for core in 1..cores {
            let before = self.below(core);
            self.link(
                &format!("core{core}"),
                &format!("n{before}"),
                &format!("n{core}"),
            );
        }
        if cores > 2 && self.chance(30) {
            self.link("round", "n0", &format!("n{}", cores - 1));
        }
        let mut nodes: Vec<String> = (0..cores).map(|core| format!("n{core}")).collect();
        let mobiles = if cores == 1 {
            1 + self.below(2)
        } else {
            self.below(3)
        };
        let mut access = Vec::new();
        if mobiles > 0 {
            self.line("\n[lines.rails]\ntunnels = [{ from = \"600 m\", to = \"900 m\" }, { from = \"1 km\", to = \"1.1 km\", shadow_behind = \"20 m\" }]");
        }
        for mobile in 0..mobiles {
            let links = 2 + self.below(2);
            for link in 0..links {
                let core = self.below(cores);
                let name = format!("m{mobile}l{link}");
                self.link(&name, &format!("n{core}"), &format!("m{mobile}"));
            }
            nodes.push(format!("m{mobile}"));
            access.push((mobile, links));
        }
        if mobiles == 0 && cores == 2 {
            self.link("beside", "n1", "n0");
        }
        for (mobile, links) in access {
            self.mobile(mobile, links);
        }
        self.changes();
        for flow in 0..1 + self.below(5) {
            self.flow(flow, &nodes);
        }
    }

    fn link(&mut self, name: &str, from: &str, to: &str) {
        self.line(&format!(
            "\n[links.{name}]\nbetween = [\"{from}\", \"{to}\"]"
        ));
        let kind = self.pick(&["wired", "wired", "wired", "geo", "wifi", "gsm", "trace"]);
        self.line(&format!("kind = \"{kind}\""));
        match kind {
            "wifi" if self.chance(30) => self.line("medium_access = false"),
            "wifi" => self.sometimes(30, "preamble", &["\"long\"", "\"short\""]),
            "trace" => {
                let file = self.pick(&[
                    "recording.kind = \"csv\"\nrecording.file = \"drive.csv\"",
                    "recording.kind = \"mahimahi\"\nrecording.file = \"cell\"",
                    "recording.kind = \"leoreplayer\"\nrecording.bandwidth = \"cell\"\nrecording.delay = \"delays\"",
                ]);
                self.line(file);
                self.sometimes(30, "recording.at_end", &["\"repeat\""]);
                if file.contains("rate") || file.contains("cell") {
                    self.sometimes(50, "jitter", &["\"3 ms\""]);
                }
            }
            _ => {}
        }
        self.reception(kind, to);
        self.network(kind, to);
        if kind == "wired" || self.chance(20) && kind != "trace" {
            self.direction();
        } else if kind != "trace" {
            self.noise();
        }
        self.sometimes(
            15,
            "mtu",
            &["\"576 B\"", "\"9000 B\"", "\"296 B\"", "\"1280 B\""],
        );
        for side in ["down", "up"] {
            if kind != "trace" && self.chance(20) {
                self.line(&format!("\n[links.{name}.{side}]"));
                self.direction();
            }
        }
    }

    /// Writes shadows, and links whose state follows from their mobile's position: received from some place on to the
    /// end.
    fn reception(&mut self, kind: &str, to: &str) {
        let draw = self.line_draws.below(100);
        let is_access = to.starts_with('m');
        let key = match kind {
            "geo" if draw < 20 => "shadowing = { mean_clear = \"5 s\", mean_shadow = \"60 ms\" }",
            "geo" if draw < 40 && is_access => "line_of_sight = {}",
            "geo" if draw < 60 && is_access => "line_of_sight = { announced = \"1 s\" }",
            "wifi" if draw < 40 && is_access => {
                "coverage = { from = \"700 m\", to = \"100 km\", spacing = \"940 m\" }"
            }
            _ => return,
        };
        self.line(key);
    }

    /// Writes links with retransmission, flow control before access links, shapers and policers.
    fn network(&mut self, kind: &str, to: &str) {
        let draw = self.network_draws.below(100);
        if kind != "wifi" && draw < 25 {
            self.line("retransmission = { attempts = 5, pause = \"3 ms\" }");
        }
        if to.starts_with('m') {
            self.line("flow_control = \"2 packets\"");
        }
        let bucket = "flows = [\"f0\"], rate = \"300 kbit/s\", burst = \"9 kB\"";
        match self.network_draws.below(100) {
            0..10 => self.line(&format!(
                "shapers = [{{ {bucket}, queue = \"20 packets\" }}]"
            )),
            10..20 => self.line(&format!("policers = [{{ {bucket}, direction = \"up\" }}]")),
            _ => {}
        }
    }

    /// Returns the way of leaving a link, now and then with rerouting of packets that wait at IP.
    fn rerouted(&mut self, how: &'static str) -> String {
        let draw = self.network_draws.below(100);
        match how {
            _ if draw >= 40 || how.contains("old_queue") => how.to_owned(),
            how => format!("{how}, old_queue = \"reroute\""),
        }
    }

    /// Writes keys of a direction.
    fn direction(&mut self) {
        let rates = [
            "\"9.6 kbit/s\"",
            "\"64 kbit/s\"",
            "\"300 kbit/s\"",
            "\"2 Mbit/s\"",
            "\"10 Mbit/s\"",
            "\"1 Gbit/s\"",
        ];
        self.sometimes(85, "rate", &rates);
        self.sometimes(
            70,
            "delay",
            &["\"0 s\"", "\"1 ns\"", "\"5 ms\"", "\"60 ms\"", "\"300 ms\""],
        );
        self.sometimes(
            20,
            "framing",
            &["{ bytes_per_packet = 8 }", "{ bits_per_byte = 10 }"],
        );
        self.noise();
    }

    /// Writes queue and channel.
    fn noise(&mut self) {
        let queues = [
            "\"1 packets\"",
            "\"5 packets\"",
            "\"100 packets\"",
            "\"2 kB\"",
            "\"64 kB\"",
            "{ limit = \"50 packets\", management = \"red\", minimum_threshold = 2, maximum_threshold = 10 }",
            "{ limit = \"20 kB\", management = \"red\", weight = 1.0, maximum_probability = 1.0 }",
            "{ management = \"codel\" }",
            "{ management = \"priority\" }",
            "{ limit = \"4 kB\", management = \"priority\" }",
            "{ limit = \"30 packets\", management = \"codel\", target = \"1 ms\", interval = \"20 ms\" }",
        ];
        self.sometimes(50, "queue", &queues);
        self.sometimes(20, "jitter", &["\"1 ms\"", "\"40 ms\""]);
        self.sometimes(20, "packet_error_rate", &["0.001", "0.03"]);
        if self.chance(12) {
            self.line("bit_error_rate = 1e-6");
            self.sometimes(60, "damaged", &["\"delivered\"", "\"dropped\""]);
        }
        let bursts = [
            "{ mean_good = \"3 s\", mean_bad = \"200 ms\" }",
            "{ mean_good = \"500 ms\", mean_bad = \"20 ms\", loss_good = 0.01, loss_bad = 0.5 }",
        ];
        self.sometimes(12, "burst_loss", &bursts);
    }

    fn mobile(&mut self, mobile: u64, links: u64) {
        self.line(&format!("\n[mobiles.m{mobile}]"));
        if (0..links).any(|link| self.is_along_line(&format!("m{mobile}l{link}"))) {
            self.line("track = { along = \"rails\", speed = \"100 m/s\", begin_jitter = \"1 s\" }");
        }
        if self.chance(25) {
            let names: Vec<String> = (0..links)
                .map(|link| format!("\"m{mobile}l{link}\""))
                .collect();
            let mut keys = format!("prefer = [{}]", names.join(", "));
            for (key, values) in [
                ("hold_time", ["0 s", "2 s"]),
                ("hysteresis", ["0 s", "5 s"]),
                ("longest_switch_time", ["0 s", "1 s"]),
            ] {
                if self.chance(50) {
                    let _ = write!(keys, ", {key} = \"{}\"", self.pick(&values));
                }
            }
            return self.line(&format!("failback = {{ {keys} }}"));
        }
        self.line("timetable = [");
        let mut present = self.below(links);
        self.line(&format!(
            "  {{ at = \"0 s\", attach = \"m{mobile}l{present}\" }},"
        ));
        let mut at_ms = 0;
        let mut attached = true;
        while self.chance(75) || !attached {
            at_ms += 2_000 + self.below(4_000);
            if at_ms >= RESTLESS_S * 1_000 - 3_000 {
                break;
            }
            if attached && self.chance(10) {
                attached = false;
                self.line(&format!("  {{ at = \"{at_ms} ms\", attach = \"none\" }},"));
                continue;
            }
            let others = (present + 1 + self.below(links - 1)) % links;
            present = others;
            let leaves = core::mem::replace(&mut attached, true);
            let how = self.pick(&[
                "",
                ", handover = \"soft\", overlap = \"300 ms\"",
                ", handover = \"soft\", old_queue = \"discard\"",
                ", handover = \"soft\", outgoing_after = \"150 ms\"",
                ", handover = \"hard\"",
                ", handover = \"hard\", outage = \"900 ms\"",
                ", handover = \"hard\", outage = \"50 ms\", old_queue = \"keep\"",
                ", jitter = \"400 ms\"",
            ]);
            let announced = match self.remedy_draws.below(100) {
                0..20 if leaves && !how.contains("jitter") => ", announced = \"300 ms\"",
                20..40 if leaves && !how.contains("jitter") => ", announced = \"1 s\"",
                _ => "",
            };
            let how = match leaves {
                true => self.rerouted(how),
                false => how.to_owned(),
            };
            self.line(&format!(
                "  {{ at = \"{at_ms} ms\", attach = \"m{mobile}l{present}\"{how}{announced} }},"
            ));
        }
        if !attached {
            let at_ms = RESTLESS_S * 1_000 - 1_500;
            self.line(&format!(
                "  {{ at = \"{at_ms} ms\", attach = \"m{mobile}l0\" }},"
            ));
        }
        self.line("]");
    }

    /// Returns true if a link's state follows from the position of its mobile.
    fn is_along_line(&self, link: &str) -> bool {
        let head = format!("[links.{link}]");
        let mut own = self.text.lines().skip_while(|line| *line != head).skip(1);
        let mut keys = own.by_ref().take_while(|line| !line.starts_with('['));
        keys.any(|line| line.starts_with("line_of_sight") || line.starts_with("coverage"))
    }

    /// Writes outages that end, and changes of parameters.
    fn changes(&mut self) {
        let names: Vec<String> = self
            .text
            .lines()
            .filter_map(|line| {
                line.strip_prefix("[links.")?
                    .strip_suffix(']')
                    .map(str::to_owned)
            })
            .filter(|name| !name.contains('.'))
            .collect();
        for name in names {
            while self.chance(15) {
                let at = self.below((RESTLESS_S - 4) * 1_000);
                if self.chance(50) {
                    let until = at + 1 + self.below(4_000);
                    if self.is_along_line(&name) {
                        continue;
                    }
                    for (at, state) in [(at, "down"), (until, "up")] {
                        self.line(&format!("\n[[changes]]\nat = \"{at} ms\"\nlink = \"{name}\"\nstate = \"{state}\""));
                    }
                } else {
                    self.line(&format!(
                        "\n[[changes]]\nat = \"{at} ms\"\nlink = \"{name}\""
                    ));
                    self.sometimes(
                        60,
                        "rate",
                        &["\"20 kbit/s\"", "\"1 Mbit/s\"", "\"100 Mbit/s\""],
                    );
                    self.sometimes(30, "jitter", &["\"0 s\"", "\"10 ms\""]);
                    self.sometimes(30, "mtu", &["\"576 B\"", "\"1500 B\""]);
                    self.sometimes(30, "queue", &["\"2 packets\"", "\"10 kB\""]);
                    self.sometimes(30, "packet_error_rate", &["0", "0.02"]);
                }
            }
        }
    }

    fn flow(&mut self, number: u64, nodes: &[String]) {
        let count = nodes.len() as u64;
        let from = self.below(count);
        let to = (from + 1 + self.below(count - 1)) % count;
        let (from, to) = (&nodes[from as usize], &nodes[to as usize]);
        self.line(&format!(
            "\n[[flows]]\nname = \"f{number}\"\nfrom = \"{from}\"\nto = \"{to}\""
        ));
        if self.chance(40) {
            let start = self.below(10_000);
            self.line(&format!("start = \"{start} ms\""));
            self.sometimes(30, "start_jitter", &["\"500 ms\""]);
        }
        self.sometimes(30, "code_point", &["8", "46", "63"]);
        match self.below(10) {
            0..=5 => {
                if self.chance(85) {
                    self.sometimes(
                        100,
                        "traffic.bytes",
                        &[
                            "\"1 B\"",
                            "\"1459 B\"",
                            "\"20 kB\"",
                            "\"100 kB\"",
                            "\"150 kB\"",
                        ],
                    );
                } else {
                    self.line(&format!("stop = \"{RESTLESS_S} s\""));
                }
                self.remedies(from, to);
                self.tcp();
            }
            6 => {
                self.line("traffic.kind = \"pages\"\ntraffic.page = \"9 kB\"");
                self.sometimes(80, "traffic.count", &["1", "7"]);
                self.sometimes(50, "traffic.think_time", &["\"0 s\"", "\"300 ms\""]);
                self.line(&format!("stop = \"{RESTLESS_S} s\""));
                self.remedies(from, to);
                self.tcp();
            }
            7 => {
                self.line("traffic.kind = \"ping\"");
                self.sometimes(30, "transport", &["\"udp\"", "\"icmp\""]);
                self.sometimes(50, "traffic.interval", &["\"40 ms\"", "\"333 ms\""]);
                self.sometimes(50, "traffic.size", &["\"1 B\"", "\"200 B\""]);
                self.line(&format!("stop = \"{RESTLESS_S} s\""));
            }
            _ => {
                let udp = self.chance(70);
                if udp {
                    let transport = match self.transport_draws.below(100) {
                        0..12 => "transport = \"tp++\"",
                        12..20 => {
                            "transport = { kind = \"tp++\", blocks = { data = 4, repair = 2 } }"
                        }
                        20..28 => "transport = { kind = \"tp++\", mode = \"quasi-reliable\" }",
                        _ => "transport = \"udp\"",
                    };
                    self.line(transport);
                }
                self.sometimes(
                    100,
                    "traffic.rate",
                    &["\"8 kbit/s\"", "\"50 kbit/s\"", "\"200 kbit/s\""],
                );
                self.sometimes(
                    100,
                    "traffic.packet_size",
                    &["\"20 B\"", "\"160 B\"", "\"260 B\""],
                );
                if self.chance(50) {
                    self.line("traffic.kind = \"on-off\"\ntraffic.on = \"700 ms\"");
                    self.sometimes(100, "traffic.off", &["\"0 s\"", "\"2 s\""]);
                    self.sometimes(50, "traffic.random", &["true", "false"]);
                } else {
                    self.line("traffic.kind = \"constant\"");
                }
                self.line(&format!("stop = \"{RESTLESS_S} s\""));
                if !udp {
                    self.tcp();
                }
            }
        }
    }

    /// Writes one or two remedies that can act on a flow between these nodes and do not contradict each other.
    fn remedies(&mut self, from: &str, to: &str) {
        let [sends, receives] = [from, to].map(|node| node.starts_with('m'));
        if sends == receives || self.remedy_draws.below(100) >= 50 {
            return;
        }
        let acts = |kind: &&Kind| match kind.place() {
            Place::MobileReceiver | Place::CorrespondentSender | Place::BothEnds if sends => false,
            // These remedies need links of their own choice, and change the traffic on them.
            Place::SenderAndBaseStation | Place::Gateway => false,
            // No host speaks Mobile IPv6 here; such remedies are tested in `tcp/tests/remedies.rs` of `proto`.
            _ => kind.tells() != Tells::BindingUpdate,
        };
        let kinds: Vec<Kind> = Kind::ALL.iter().filter(acts).copied().collect();
        let mut draw = || kinds[self.remedy_draws.below(kinds.len() as u64) as usize];
        let (one, two) = (draw(), draw());
        let names = match one.contradicts(two) {
            Some(_) => format!("\"{}\"", one.name()),
            None => format!("\"{}\", \"{}\"", one.name(), two.name()),
        };
        self.line(&format!("remedies = [{names}]"));
    }

    fn tcp(&mut self) {
        if self.transactions {
            self.line("transport.transaction_opening = true");
        }
        let profiles = [
            "\"rfc\"",
            "\"ns2\"",
            "\"linux-2.0.36\"",
            "\"linux-6\"",
            "\"classic\"",
            "\"scps-tp\"",
        ];
        self.sometimes(70, "transport.profile", &profiles);
        let controls = [
            "\"reno\"",
            "\"newreno\"",
            "\"cubic\"",
            "\"westwood\"",
            "{ kind = \"westwood\", minimum_rtt_window = \"5 s\" }",
            "\"scalable\"",
            "{ kind = \"bic\", smallest_increment = 0.25, decrease = 0.2 }",
            "\"vegas\"",
            "\"hybla\"",
        ];
        self.sometimes(50, "transport.congestion", &controls);
        for end in ["", "sender.", "receiver."] {
            if !self.chance(if end.is_empty() { 50 } else { 15 }) {
                continue;
            }
            for (key, values) in TCP_KEYS {
                self.sometimes(12, &format!("transport.{end}{key}"), values);
            }
        }
    }
}

/// Settings of TCP, and values for them.
const TCP_KEYS: &[(&str, &[&str])] = &[
    (
        "recovery",
        &["\"reno\"", "\"newreno\"", "\"sack\"", "\"linux-2.0\""],
    ),
    ("window_arithmetic", &["\"rfc\"", "\"linux-2.0\""]),
    (
        "maximum_segment_size",
        &["\"64 B\"", "\"536 B\"", "\"8960 B\""],
    ),
    ("initial_window", &["1", "3", "40"]),
    (
        "initial_slow_start_threshold",
        &["\"off\"", "\"1 B\"", "\"8 kB\""],
    ),
    (
        "receive_buffer",
        &["\"700 B\"", "\"4 kB\"", "\"70 kB\"", "\"16 MB\""],
    ),
    ("send_buffer", &["\"700 B\"", "\"9 kB\"", "\"1 MB\""]),
    ("window_scaling", &["true", "false"]),
    ("timestamps", &["true", "false"]),
    ("sack", &["true", "false"]),
    ("delayed_ack", &["\"off\"", "\"40 ms\"", "\"500 ms\""]),
    ("delay_by_gaps", &["true", "false"]),
    ("nagle", &["true", "false"]),
    ("limited_transmit", &["true", "false"]),
    ("duplicate_ack_threshold", &["\"off\"", "1", "3", "9"]),
    ("initial_rto", &["\"200 ms\"", "\"3 s\""]),
    ("minimum_rto", &["\"1 ms\"", "\"200 ms\"", "\"1 s\""]),
    ("tick", &["\"0 s\"", "\"10 ms\"", "\"500 ms\""]),
    ("rto_arithmetic", &["\"rfc6298\"", "\"linux-2.0\""]),
    ("threshold_from_window", &["true", "false"]),
    ("idle_restart", &["true", "false"]),
    ("time_wait", &["\"0 s\"", "\"1 s\""]),
];
