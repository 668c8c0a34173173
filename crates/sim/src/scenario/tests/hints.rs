//! Words of other tools, and worlds without traffic.

use super::*;
use crate::link::config::DirectionConfig;

/// Returns the message with which `text` is refused.
fn refusal(text: &str) -> String {
    match parse(text, "test.toml", Path::new(""), &[]) {
        Ok(_) => panic!("is taken:\n{text}"),
        Err(error) => error.to_string(),
    }
}

fn warnings(text: &str) -> Vec<String> {
    let loaded = parse(text, "test.toml", Path::new(""), &[]).expect("valid");
    loaded.warnings.iter().map(ToString::to_string).collect()
}

#[test]
fn words_of_other_tools_are_answered_with_ours() {
    let wired = "rate = \"10 Mbit/s\"";
    let mistakes = [
        (
            wired,
            "bandwidth = \"10 Mbit/s\"",
            "links.ethernet.bandwidth: unknown key \"bandwidth\"; here it is \"rate\" (valid: kind, between,",
        ),
        (
            "kind = \"gsm\"",
            "kind = \"trace\"\nbandwidth = \"4 Mbit/s\"",
            "links.gsm.bandwidth: unknown key \"bandwidth\"; here it is \"rate\" (valid: kind, between,",
        ),
        (
            wired,
            "latency = \"10 ms\"",
            "links.ethernet.latency: unknown key \"latency\"; here it is \"delay\" (valid: kind, between, mtu, ingress_filter, shapers, policers, rate, delay,",
        ),
        (
            wired,
            "down = { Loss = 0.1 }",
            "links.ethernet.down.Loss: unknown key \"Loss\"; here it is \"packet_error_rate\"",
        ),
        (
            wired,
            "packet_error_rate = \"1 %\"",
            "links.ethernet.packet_error_rate: \"1 %\" is a percentage; expected a fraction, here 0.01",
        ),
        (
            wired,
            "packet_error_rate = \"much\"",
            "\"much\" does not fit; expected a number from 0 to 1",
        ),
        (
            "transport = \"udp\"",
            "transport.kind = \"http3\"",
            "unknown kind \"http3\": write \"quic\", with traffic.kind = \"pages\" (valid: tcp,",
        ),
        (
            "kind = \"gsm\"",
            "kind = \"satellite\"",
            "unknown kind \"satellite\": a geostationary satellite is \"geo\"; one in low orbit is \"starlink\"",
        ),
        (
            "kind = \"gsm\"",
            "kind = \"manet\"",
            "unknown kind \"manet\": here it is \"ad-hoc\"",
        ),
        (
            "transport.congestion = \"newreno\"",
            "transport.congestion = \"bbr3\"",
            "unknown congestion \"bbr3\": only the first version of BBR is modelled",
        ),
        (
            "transport.congestion = \"newreno\"",
            "ecn = true",
            "flows.download.ecn: unknown key \"ecn\": explicit congestion notification is not modelled (valid: name,",
        ),
        (
            "transport.congestion = \"newreno\"",
            "protocol = \"udp\"",
            "flows.download.protocol: unknown key \"protocol\"; here it is \"transport\"",
        ),
    ];
    assert_mistakes_are_named(EXAMPLE, &mistakes);
}

#[test]
fn a_link_s_valid_keys_are_those_of_its_kind() {
    let of_kind = |kind: &str| {
        refusal(&format!(
            "name = \"x\"\nduration = \"1 s\"\n[links.a]\nbetween = [\"a\", \"b\"]\nkind = \"{kind}\"\nzzz = 1\n"
        ))
    };
    let [wired, geo, trace, radio] = ["wired", "geo", "trace", "ldacs1"].map(of_kind);
    assert!(
        !wired.contains("recording") && !wired.contains("cells"),
        "{wired}"
    );
    assert!(
        geo.contains("line_of_sight") && !geo.contains("coverage"),
        "{geo}"
    );
    assert!(trace.contains("recording"), "{trace}");
    let own = "(valid: kind, mtu, queue, cells, user_rate, handover_type, packet_bit, base_station_buffering, modulation, errors, \
               error_table, joint_coding, standing_grant, slot_delivery, common_control_frames)";
    assert!(radio.contains(own), "{radio}");
}

#[test]
fn single_brackets_are_answered_with_double_ones() {
    let top = "name = \"x\"\nduration = \"1 s\"\nlinks.a = { between = [\"a\", \"b\"], kind = \"wired\" }\n";
    let cases = [
        (
            "[flows]\nname = \"f\"",
            "test.toml:4:2: flows: is a table; write [[flows]], with two brackets",
        ),
        (
            "[flows.download]\nfrom = \"a\"",
            "flows: is a table; write [[flows]], with two brackets and name = \"download\" in it",
        ),
        (
            "[changes]\nat = \"1 s\"",
            "changes: is a table; write [[changes]], with two brackets",
        ),
        (
            "[mobiles.b.timetable]\nat = \"0 s\"",
            "mobiles.b.timetable: is a table; write [[mobiles.b.timetable]], with two brackets",
        ),
    ];
    for (text, expected) in cases {
        let message = refusal(&format!("{top}{text}\n"));
        assert!(message.contains(expected), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

#[test]
fn what_is_no_utf8_is_named_by_line_and_column() {
    let file = std::env::temp_dir().join(format!("baton-latin1-{}.toml", std::process::id()));
    std::fs::write(&file, b"name = \"x\"\ndescription = \"M\xfcnchen\"\n").expect("written");
    let message = load(&file, &[]).expect_err("no UTF-8").to_string();
    std::fs::remove_file(&file).expect("removed");
    let expected = format!("{}:2:17: is not UTF-8 from here on", file.display());
    assert!(message.starts_with(&expected), "{message}");
}

/// A pipe or a device has no length, and may have no end.
#[cfg(unix)]
#[test]
fn a_scenario_without_an_end_is_refused() {
    let message = load(Path::new("/dev/zero"), &[])
        .expect_err("no end")
        .to_string();
    assert!(message.contains("is above 10 MB"), "{message}");
}

const IDLE: &str = r#"
name = "idle"
duration = "10 s"
[links.wifi]
between = ["server", "laptop"]
kind = "wired"
queue = "100 packets"
[links.cell]
between = ["server", "laptop"]
kind = "wired"
[mobiles.laptop]
timetable = [{ at = "0 s", attach = "wifi" }, { at = "5 s", attach = "cell", handover = "hard", outage = "1 s" }]
[[flows]]
name = "download"
from = "server"
to = "laptop"
"#;

#[test]
fn worlds_in_which_nothing_happens_are_warned_of() {
    assert_eq!(warnings(IDLE), Vec::<String>::new());
    let mobile = IDLE.find("[mobiles").expect("there");
    let flow = IDLE.find("[[flows").expect("there");
    let without = |cut: std::ops::Range<usize>| warnings(&IDLE.replace(&IDLE[cut], ""));
    assert_eq!(
        without(mobile..flow),
        [
            "test.toml:8:8: links.cell: is a second path from \"server\" to \"laptop\", but no mobile chooses between the two: packets take one of them and no handover happens; expected [mobiles.NODE] for the node that moves"
        ]
    );
    assert_eq!(
        without(flow..IDLE.len()),
        ["test.toml:1:1: flows: there is no flow, so nothing is sent; expected [[flows]]"]
    );
    assert_eq!(
        warnings(&IDLE.replace("100 packets", "100 B")),
        [
            "test.toml:7:9: links.wifi.queue: holds 100 B, less than one packet of 1500 B: such a packet is lost if it cannot leave at once"
        ]
    );
    assert_eq!(
        warnings(&IDLE.replace("\"1 s\"", "\"1 min\"")),
        [
            "test.toml:12:106: mobiles.laptop.timetable[1].outage: lasts until the end of the run, at 10 s: nothing passes after the handover"
        ]
    );
    // In a live run programs send.
    let loaded = parse(&IDLE[..flow], "test.toml", Path::new(""), &[]).expect("valid");
    assert_eq!(loaded.warnings_when_live().count(), 0);
}

/// The published figures: see `docs/models/presets.md`.
#[test]
fn links_of_today_are_as_measured_and_may_be_changed() {
    let link = |kind: &str, keys: &str| {
        let text = format!(
            "name = \"x\"\nduration = \"1 s\"\n[links.a]\nbetween = [\"a\", \"b\"]\nkind = \"{kind}\"\n{keys}\n"
        );
        let mut scenario = parsed(&text);
        scenario.links.remove(0).config
    };
    let figures = [
        ("wifi6", 720.0, 720.0, 4),
        ("lte", 32.0, 7.4, 21),
        ("5g", 166.0, 21.0, 19),
        ("starlink", 105.0, 15.0, 26),
    ];
    for (kind, down, up, round_trip_ms) in figures {
        let config = link(kind, "");
        let rate = |direction: &DirectionConfig| direction.rate.bits_per_second() as f64 / 1e6;
        assert_eq!((rate(&config.down), rate(&config.up)), (down, up), "{kind}");
        assert_eq!(
            config.round_trip_delay(),
            Duration::from_millis(round_trip_ms),
            "{kind}"
        );
        assert_eq!(config.medium, Medium::FullDuplex);
    }
    let changed = link("5g", "delay = \"30 ms\"\nup = { rate = \"5 Mbit/s\" }");
    assert_eq!(changed.down.delay, Duration::from_millis(30));
    let [down, up] = [&changed.down, &changed.up].map(|way| way.rate.bits_per_second());
    assert_eq!((down, up), (166_000_000, 5_000_000));
}
