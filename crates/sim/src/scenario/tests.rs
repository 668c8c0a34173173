//! From text to scenario, and from mistakes to messages.

mod aerotp;
mod aerotp_gateways;
mod aerotp_paths;
mod coding;
mod copies;
mod demand;
mod dtn_gateways;
mod flights;
mod format_1;
mod hints;
mod many;
mod messages;
mod radios;
mod reception;
mod stalls;
mod tdma;
mod tp_plus_plus;

use super::model::{AddressPolicy, AttachmentPolicy, LinkIndex, NodeIndex, Traffic, Transport};
use super::*;
use crate::link::config::{GilbertElliott, Medium, QueueLimit};
use crate::record::{Quantities, Quantity};
use baton_proto::mobility::attachment::{Handover, OldQueue, decision};
use baton_proto::rate::DataRate;
use baton_proto::remedies;
use baton_proto::tcp::profile::{Algorithm, Profile};
use baton_proto::time::{Duration, Instant};
use proptest::prelude::*;

/// Every part of the format once.
const EXAMPLE: &str = r#"
name = "wavelan-to-gsm"
description = "A download meets a handover from WaveLAN to GSM"
duration = "160 s"
seed = 7

[links.ethernet]
between = ["server", "home-agent"]
kind = "wired"
rate = "10 Mbit/s"
delay = "0.25 ms"
queue = "100 packets"

[links.wavelan]
between = ["home-agent", "laptop"]
kind = "wifi"
rate = "2 Mbit/s"
medium_access = false
delay = "1 ms"
up = { rate = "1 Mbit/s", packet_error_rate = 1e-3 }
down = { burst_loss = { mean_good = "10 s", mean_bad = "4 s" }, queue = { limit = "64 kB", management = "codel" } }

[links.gsm]
between = ["home-agent", "laptop"]
kind = "gsm"

[mobiles.laptop]
timetable = [
  { at = "0 s",  attach = "wavelan" },
  { at = "12 s", attach = "gsm", handover = "soft", overlap = "5 s" },
  { at = "1 min", attach = "wavelan", handover = "hard", outage = "2 s", old_queue = "keep" },
]

[[changes]]
at = "40 s"
link = "wavelan"
state = "up"

[[changes]]
at = "30 s"
link = "wavelan"
rate = "1 Mbit/s"
down = { burst_loss = "none" }
state = "down"

[[flows]]
name = "download"
from = "server"
to = "laptop"
transport.profile = "linux-2.0.36"
transport.congestion = "newreno"
traffic.bytes = "110 kB"
transport.receive_buffer = "16 kB"
transport.delayed_ack = "off"
transport.sender = { maximum_segment_size = "1420 B" }

[[flows]]
name = "voice"
from = "laptop"
to = "server"
transport = "udp"
traffic.kind = "on-off"
traffic.rate = "64 kbit/s"
traffic.packet_size = "160 B"
traffic.on = "1 s"
traffic.off = "1.35 s"
start = "2 s"
stop = "100 s"

[record]
packets = false
"#;

fn parsed(text: &str) -> Scenario {
    match parse(text, "test.toml", Path::new(""), &[]) {
        Ok(loaded) => loaded.scenario,
        Err(error) => panic!("{error}"),
    }
}

/// Breaks a correct scenario at one place after another, and checks the messages: each mistake is the replaced text,
/// its replacement, and the message.
fn assert_mistakes_are_named(right: &str, mistakes: &[(&str, &str, &str)]) {
    for (part, wrong, expected) in mistakes {
        assert!(right.contains(part), "{part}");
        let text = right.replace(part, wrong);
        let error = match parse(&text, "test.toml", Path::new(""), &[]) {
            Ok(_) => panic!("{wrong} is taken"),
            Err(error) => error.to_string(),
        };
        assert!(error.contains(expected), "{wrong}\n{error}");
    }
}

fn set(argument: &str) -> Override {
    argument.parse().expect("key=value")
}

#[test]
fn links_and_changes() {
    let scenario = parsed(EXAMPLE);
    assert_eq!(scenario.seed, 7);
    assert_eq!(scenario.duration, Duration::from_secs(160));
    assert_eq!(scenario.nodes, ["server", "home-agent", "laptop"]);
    let names: Vec<&str> = scenario
        .links
        .iter()
        .map(|link| link.config.name.as_str())
        .collect();
    assert_eq!(names, ["ethernet", "wavelan", "gsm"]);
    let wavelan = &scenario.links[1];
    assert_eq!(wavelan.ends, [NodeIndex(1), NodeIndex(2)]);
    assert_eq!(wavelan.config.medium, Medium::FullDuplex);
    let (down, up) = (&wavelan.config.down, &wavelan.config.up);
    assert_eq!(down.rate, DataRate::from_bits_per_second(2_000_000));
    assert_eq!(up.rate, DataRate::from_bits_per_second(1_000_000));
    assert_eq!(up.channel.packet_error_rate, 1e-3);
    assert_eq!(down.queue.limit, QueueLimit::Bytes(64_000));
    let bursts = GilbertElliott {
        mean_good: Duration::from_secs(10),
        mean_bad: Duration::from_secs(4),
        loss_good: 0.0,
        loss_bad: 1.0,
    };
    assert_eq!((down.channel.burst, up.channel.burst), (Some(bursts), None));

    // Changes come in order of time, each with all that changed before it.
    let [first, second] = scenario.changes.as_slice() else {
        panic!("two changes");
    };
    assert_eq!((first.at, first.up), (Instant::from_secs(30), false));
    assert_eq!((second.at, second.up), (Instant::from_secs(40), true));
    assert_eq!(
        second.config.down.rate,
        DataRate::from_bits_per_second(1_000_000)
    );
    assert_eq!(second.config.down.channel.burst, None);
}

#[test]
fn timetable() {
    let scenario = parsed(EXAMPLE);
    let AttachmentPolicy::Timetable(entries) = &scenario.mobiles[0].attachment else {
        panic!("a timetable");
    };
    let links: Vec<_> = entries.iter().map(|entry| entry.link).collect();
    assert_eq!(links, [1, 2, 1].map(|link| Some(LinkIndex(link))));
    let soft = Handover::Soft {
        overlap: Some(Duration::from_secs(5)),
        old_queue: OldQueue::Stays,
        outgoing_after: Duration::ZERO,
    };
    let hard = Handover::Hard {
        outage: Duration::from_secs(2),
        old_queue: OldQueue::Stays,
    };
    assert_eq!(
        (entries[1].at, entries[1].handover),
        (Instant::from_secs(12), soft)
    );
    assert_eq!(
        (entries[2].at, entries[2].handover),
        (Instant::from_secs(60), hard)
    );
}

#[test]
fn flows() {
    let scenario = parsed(EXAMPLE);
    let Transport::Tcp { sender, receiver } = &scenario.flows[0].transport else {
        panic!("TCP");
    };
    assert_eq!(
        scenario.flows[0].traffic,
        Traffic::Bulk {
            bytes: Some(110_000)
        }
    );
    assert_eq!(
        (&sender.congestion, receiver.receive_buffer),
        (&Algorithm::NewReno, 16_000)
    );
    assert_eq!(
        (sender.delayed_ack, sender.maximum_segment_size),
        (None, 1420)
    );
    assert_eq!(receiver.maximum_segment_size, 1460);
    let voice = &scenario.flows[1];
    assert_eq!(voice.transport, Transport::Udp);
    let traffic = Traffic::OnOff {
        rate: DataRate::from_bits_per_second(64_000),
        packet_size: 160,
        on: Duration::from_secs(1),
        off: Duration::from_millis(1350),
        random: true,
    };
    assert_eq!(voice.traffic, traffic);
    assert_eq!(
        (voice.start, voice.stop),
        (Instant::from_secs(2), Some(Instant::from_secs(100)))
    );
}

#[test]
fn values_from_code_make_the_scenario_that_the_text_makes() {
    let values: toml::Table = toml::from_str(EXAMPLE).expect("valid");
    let built = build(values.clone(), Path::new(""), &[], &Brought).expect("valid");
    let parsed = parse(EXAMPLE, "test.toml", Path::new(""), &[]).expect("valid");
    assert_eq!(built.scenario, parsed.scenario);
    let overrides = [set("links.gsm.rate=fast")];
    let error = build(values, Path::new(""), &overrides, &Brought).expect_err("no rate");
    assert!(
        error
            .to_string()
            .starts_with("--set links.gsm.rate=fast: links.gsm.rate: ")
    );
}

#[test]
fn a_tcp_outside_a_scenario_has_its_settings_and_messages() {
    let settings = |text: &str| tcp_profile(toml::from_str(text).expect("valid TOML"));
    let profile = settings("profile = \"ns2\"\nnagle = false").expect("valid");
    let expected = Profile {
        nagle: false,
        ..Profile::ns2()
    };
    assert_eq!(profile, expected);
    for (text, message) in [
        (
            "nagl = false",
            "tcp: nagl: unknown key \"nagl\"; did you mean \"nagle\"?",
        ),
        (
            "minimum_rto = \"2 min\"",
            "tcp: minimum_rto 120 s is above maximum_rto 60 s",
        ),
    ] {
        let error = settings(text).expect_err(text).to_string();
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn an_aerotp_outside_a_scenario_has_its_settings_and_messages() {
    let settings = |text: &str| aerotp_settings(toml::from_str(text).expect("valid TOML"));
    let given = settings("class = 5\nrate = \"2 Mbit/s\"").expect("valid");
    assert_eq!(given.configuration.class.number(), 5);
    assert_eq!(
        given.rate.map(|rate| rate.bits_per_second()),
        Some(2_000_000)
    );
    for (text, message) in [
        (
            "clas = 5",
            "aerotp: clas: unknown key \"clas\"; did you mean \"class\"?",
        ),
        (
            "mode = \"reliable\"\nreordering_wait = \"1 s\"",
            "aerotp: reordering_wait: ",
        ),
    ] {
        let error = settings(text).expect_err(text).to_string();
        assert!(error.starts_with(message), "{error}");
    }
}

/// Classes as provided by Python.
struct Brought;

impl PythonClasses for Brought {
    fn congestion(&self, class: &str) -> Result<Algorithm, String> {
        match class {
            "mine.Reno" => Ok(Algorithm::Reno),
            _ => Err("is unknown".to_owned()),
        }
    }

    fn remedy(&self, class: &str) -> Result<remedies::External, String> {
        let side = match class {
            "mine.AtMobile" => remedies::Side::Mobile,
            "mine.AtServer" => remedies::Side::Correspondent,
            _ => return Err("is unknown".to_owned()),
        };
        let path_window = remedies::Kind::PathWindow;
        let part = move |_| path_window.at_mobile(false).expect("has one");
        Ok(remedies::External::new(class, side, part))
    }

    fn decision(&self, _: &str) -> Result<decision::External, String> {
        Err("is unknown".to_owned())
    }
}

#[test]
fn a_class_as_a_remedy_must_be_able_to_hear_of_handovers() {
    let with = |remedies: &str| {
        let set = set(&format!("flows.download.remedies={remedies}"));
        parse_with(EXAMPLE, "test.toml", Path::new(""), &[set], &Brought)
    };
    let names = |loaded: Loaded| -> Vec<String> {
        let remedies = loaded.scenario.flows[0].remedies.iter();
        remedies.map(|scheme| scheme.name().to_owned()).collect()
    };
    let both = "[\"python:mine.AtMobile\", \"path-window\"]";
    assert_eq!(
        names(with(both).expect("valid")),
        ["mine.AtMobile", "path-window"]
    );
    // Without a binding update the notices of another class may reach it, and otherwise nothing.
    let told = "[\"python:mine.AtServer\", \"python:mine.AtMobile\"]";
    assert_eq!(
        names(with(told).expect("valid")),
        ["mine.AtServer", "mine.AtMobile"]
    );
    for (remedies, expected) in [
        (
            "python:mine.AtServer",
            "\"mine.AtServer\" learns of a handover from a binding update; expected mobility",
        ),
        ("python:mine.Nobody", "\"python:mine.Nobody\" is unknown"),
        (
            "python:mine",
            "\"python:mine\" does not name a class in a module",
        ),
    ] {
        let error = with(remedies).expect_err(remedies).to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_control_in_python_is_brought_by_whoever_has_one() {
    let text = EXAMPLE.replace("\"newreno\"", "\"python:mine.Reno\"");
    let loaded = parse_with(&text, "test.toml", Path::new(""), &[], &Brought);
    let scenario = loaded.expect("valid").scenario;
    let Transport::Tcp { sender, .. } = &scenario.flows[0].transport else {
        panic!("TCP");
    };
    assert_eq!(sender.congestion, Algorithm::Reno);
}

#[test]
fn the_resolved_text_gives_the_same_scenario() {
    let overrides = [
        set("flows.download.transport.congestion=cubic"),
        set("links.gsm.rate=19.2 kbit/s"),
        set("flows.download.transport.nagle=false"),
        set("links.gsm.down.delay='1 s'"),
        set("mobiles.laptop.timetable.1.at=13 s"),
        set("changes.0.at=41 s"),
        set("record.series=['queue bytes', 'parity']"),
        set("seed=9"),
    ];
    let first = parse(EXAMPLE, "test.toml", Path::new(""), &overrides).expect("valid");
    let again = parse(&first.resolved, "resolved", Path::new(""), &[]).expect("valid");
    assert_eq!(first.scenario, again.scenario);
    let scenario = first.scenario;
    let Transport::Tcp { sender, .. } = &scenario.flows[0].transport else {
        panic!("TCP");
    };
    assert_eq!(
        (&sender.congestion, sender.nagle),
        (&Algorithm::Cubic, false)
    );
    let gsm = &scenario.links[2].config;
    assert_eq!(gsm.up.rate, DataRate::from_bits_per_second(19_200));
    assert_eq!(gsm.down.delay, Duration::from_secs(1));
    assert_eq!(scenario.changes[1].at, Instant::from_secs(41));
    let series = Quantities::from_iter([Quantity::Parity, Quantity::QueueBytes]);
    assert_eq!((scenario.seed, scenario.record.series), (9, series));
}

/// A key of a table that the file shortened to a name or a size.
#[test]
fn overrides_write_a_short_form_out() {
    let text = EXAMPLE.replace("[[flows]]\nname = \"voice\"", "[[flows]]\nname = \"copy\"\nfrom = \"server\"\nto = \"laptop\"\ntransport = \"tcp\"\ntraffic = \"bulk\"\n\n[[flows]]\nname = \"voice\"");
    let overrides = [
        set("flows.copy.transport.congestion=cubic"),
        set("flows.copy.traffic.bytes=1 MB"),
        set("links.ethernet.queue.management=codel"),
    ];
    let loaded = parse(&text, "test.toml", Path::new(""), &overrides).expect("valid");
    let scenario = &loaded.scenario;
    let copy = scenario.flows.iter().find(|flow| flow.name == "copy");
    let copy = copy.expect("flow");
    let Transport::Tcp { sender, .. } = &copy.transport else {
        panic!("TCP");
    };
    assert_eq!(sender.congestion, Algorithm::Cubic);
    assert_eq!(
        copy.traffic,
        Traffic::Bulk {
            bytes: Some(1_000_000)
        }
    );
    let queue = &scenario.links[0].config.down.queue;
    assert_eq!(queue.limit, QueueLimit::Packets(100));
    assert_ne!(queue.management, crate::link::queue::Management::default());
}

#[test]
fn what_never_happens_is_a_warning() {
    let overrides = [set("duration=35 s")];
    let loaded = parse(EXAMPLE, "test.toml", Path::new(""), &overrides).expect("valid");
    let warnings: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
    let never = "is not before the end of the run: it never happens";
    assert_eq!(
        warnings,
        [
            format!("test.toml:35:6: changes[0].at: {never}"),
            format!("test.toml:31:10: mobiles.laptop.timetable[2].at: {never}"),
        ]
    );
}

/// Returns the names of `text`'s real hosts.
fn hosts(text: &str) -> Vec<String> {
    let scenario = parsed(text);
    let hosts = scenario.live.hosts.iter();
    hosts
        .map(|&NodeIndex(host)| scenario.nodes[host].clone())
        .collect()
}

#[test]
fn real_hosts_are_the_mobile_and_whom_flows_join_to_it() {
    assert_eq!(hosts(EXAMPLE), ["server", "laptop"]);
    // Through another host; hosts not connected to the mobile stay simulated.
    let relayed = EXAMPLE.replace("to = \"server\"", "to = \"home-agent\"");
    assert_eq!(hosts(&relayed), ["server", "home-agent", "laptop"]);
    let aside = relayed.replace(
        "from = \"server\"\nto = \"laptop\"",
        "from = \"home-agent\"\nto = \"server\"",
    );
    let aside = aside.replace(
        "from = \"laptop\"\nto = \"home-agent\"",
        "from = \"home-agent\"\nto = \"server\"",
    );
    // Without a flow at the mobile its peer is the node farthest from it.
    assert_eq!(hosts(&aside), ["server", "laptop"]);
    let chosen = format!("{EXAMPLE}\n[live]\nhosts = [\"laptop\", \"home-agent\"]");
    assert_eq!(hosts(&chosen), ["laptop", "home-agent"]);
}

#[test]
fn real_hosts_without_mobiles() {
    let links = r#"
        name = "line"
        duration = "1 s"
        links.one = { between = ["a", "b"], kind = "wired", rate = "1 Mbit/s", delay = "1 ms" }
        links.two = { between = ["b", "c"], kind = "wired", rate = "1 Mbit/s", delay = "1 ms" }
    "#;
    assert_eq!(hosts(links), ["a", "c"]);
    let flow = "[[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"";
    assert_eq!(hosts(&format!("{links}\n{flow}")), ["a", "b"]);
}

/// A mobile router is simulated; real are the hosts behind it that receive flows, and their peers.
#[test]
fn real_hosts_behind_a_mobile_router() {
    let text = include_str!("../../../../scenarios/train-network.toml");
    let loaded = parse(text, "test.toml", Path::new(""), &[]).expect("valid");
    let scenario = &loaded.scenario;
    let mut names: Vec<&str> = (scenario.live.hosts.iter())
        .map(|host| scenario.nodes[host.0].as_str())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["crew", "passenger", "sensor", "server"]);
    let behind = scenario.nodes_behind_mobiles().into_iter();
    let mut behind: Vec<&str> = behind.map(|node| scenario.nodes[node.0].as_str()).collect();
    behind.sort_unstable();
    assert_eq!(behind, ["crew", "passenger", "sensor", "switch"]);
}

#[test]
fn what_only_a_live_run_does_is_a_warning_in_a_simulated_one() {
    let text =
        format!("{EXAMPLE}\n[live]\naddress = \"new\"\nnat = true\nsample_interval = \"10 ms\"");
    let loaded = parse(&text, "test.toml", Path::new(""), &[]).expect("valid");
    let live = &loaded.scenario.live;
    assert_eq!((live.address, live.nat), (AddressPolicy::New, true));
    assert_eq!(live.sample_interval, Duration::from_millis(10));
    assert_eq!(live.lateness_bound, Duration::from_millis(1));
    let warnings: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "test.toml:74:11: live.address: only a live run (baton live) changes addresses; a simulated one keeps them",
            "test.toml:75:7: live.nat: only a live run (baton live) translates addresses; a simulated one leaves them",
        ]
    );
    assert_eq!(loaded.warnings_when_live().count(), 0);
    assert_eq!(loaded.document["live"]["nat"], toml::Value::Boolean(true));
}

#[test]
fn the_schema_describes_every_key() {
    fn described(schema: &serde_json::Value, path: &str) {
        for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{key}");
            assert!(
                inner["description"].is_string(),
                "{path} has no description"
            );
            described(inner, &path);
        }
        for inner in ["items", "additionalProperties"] {
            if schema[inner].is_object() {
                described(&schema[inner], path);
            }
        }
        for list in ["anyOf", "oneOf"] {
            for inner in schema[list].as_array().into_iter().flatten() {
                described(inner, path);
            }
        }
    }
    let schema = json_schema();
    described(schema, "");
    let text = schema.to_string();
    assert!(!text.contains("null"), "TOML has no null");
    assert!(!text.contains("$ref"), "types stand where they are used");
}

/// Scenarios that the project ships must parse; so must those of the studies.
#[test]
fn shipped_scenarios() {
    fn visit(directory: &Path, found: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                visit(&path, found);
            } else if is_scenario(&path) {
                found.push(path);
            }
        }
    }
    // The folder of a study also has files with the published results, reasons for differences, chosen parameters and
    // sweeps.
    const OTHERS: [&str; 5] = ["expected", "notes", "parameters", "sensitivity", "study"];
    fn is_scenario(path: &Path) -> bool {
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        path.extension()
            .is_some_and(|extension| extension == "toml")
            && stem.is_some_and(|stem| !OTHERS.contains(&stem))
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    visit(&root.join("scenarios"), &mut found);
    visit(&root.join("studies"), &mut found);
    assert!(!found.is_empty());
    // Scenarios with a class of Python's are read by Python's tests.
    let is_ours = |path: &std::path::PathBuf| {
        let text = std::fs::read_to_string(path).expect("a text");
        !text.contains("\"python:")
    };
    for path in found.into_iter().filter(is_ours) {
        match load(&path, &[]) {
            Ok(loaded) => assert_eq!(loaded.warnings, [], "{}", path.display()),
            Err(error) => panic!("{error}"),
        }
    }
}

proptest! {
    #[test]
    fn arbitrary_text_does_not_panic(text in ".{0,200}") {
        let _ = parse(&text, "test.toml", Path::new(""), &[]);
    }

    /// Mutations of a valid text reach deeper than random text does.
    #[test]
    fn a_damaged_scenario_does_not_panic(at in 0..EXAMPLE.len(), length in 0..20_usize, with in ".{0,8}") {
        let end = (at + length).min(EXAMPLE.len());
        if EXAMPLE.is_char_boundary(at) && EXAMPLE.is_char_boundary(end) {
            let text = format!("{}{with}{}", &EXAMPLE[..at], &EXAMPLE[end..]);
            let _ = parse(&text, "test.toml", Path::new(""), &[]);
        }
    }

    #[test]
    fn arbitrary_overrides_do_not_panic(key in "[a-z0-9.]{0,30}", value in ".{0,30}") {
        let overrides = [Override { key, value }];
        let _ = parse(EXAMPLE, "test.toml", Path::new(""), &overrides);
    }

    #[test]
    fn arbitrary_quantities_do_not_panic(text in "[-+0-9.e_]{0,30} ?[a-zA-Zµ/]{0,8}") {
        for format in &units::FORMATS {
            let _ = (format.check)(&text);
        }
    }
}
