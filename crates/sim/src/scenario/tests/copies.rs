//! Mobiles and flows with copies.

use super::*;
use crate::position::Position;

/// Mobile routers on a radio network, each with a cabin; a line from the ground to a server.
const FLEET: &str = r#"
name = "fleet"
duration = "10 min"
[links.radio]
kind = "ldacs1"
[links.radio.cells.west]
node = "ground"
position = { latitude = 50, longitude = 8 }
[links.line]
between = ["ground", "home"]
kind = "wired"
policers = [{ flows = ["weather"], rate = "1 Mbit/s", burst = "3 kB", direction = "up" }]
[links.cabin]
between = ["aircraft", "seat"]
kind = "wired"
[home_agents.home]
prefix = "2001:db8:1::/64"
[mobiles.aircraft]
count = 3
timetable = [{ at = "0 s", attach = "radio" }]
track = { legs = [{ latitude = 50, longitude = 7 }, { latitude = 50, longitude = 9 }], speed = "200 m/s", spacing = "60 s" }
[mobiles.aircraft.mobility]
protocol = "nemo"
home_agent = "home"
network_prefix = "2001:db8:2::/64"
[[flows]]
name = "weather"
from = "home"
to = "seat"
traffic.kind = "constant"
transport = "udp"
traffic.rate = "1 kbit/s"
start_jitter = "1 s"
"#;

fn loaded(text: &str, overrides: &[&str]) -> Loaded {
    let overrides: Vec<Override> = overrides.iter().map(|one| one.parse().unwrap()).collect();
    parse(text, "fleet.toml", Path::new("."), &overrides).unwrap_or_else(|error| panic!("{error}"))
}

fn told(text: &str) -> String {
    parse(text, "fleet.toml", Path::new("."), &[])
        .expect_err("a mistake")
        .to_string()
}

fn replaced(found: &str, replacement: &str) -> String {
    assert!(FLEET.contains(found), "{found}");
    FLEET.replace(found, replacement)
}

/// Returns the same three aircraft, each written separately.
fn by_hand() -> String {
    let (head, rest) = FLEET.split_once("[links.cabin]").unwrap();
    let mut text = head.replace(
        "[\"weather\"]",
        "[\"weather-1\", \"weather-2\", \"weather-3\"]",
    );
    text += "[home_agents.home]\nprefix = \"2001:db8:1::/64\"\n";
    let (_, mobile) = rest.split_once("[mobiles.aircraft]").unwrap();
    for number in 1..=3 {
        text += &format!(
            "[links.cabin-{number}]\nbetween = [\"aircraft-{number}\", \"seat-{number}\"]\nkind = \"wired\"\n"
        );
    }
    let (mobile, flow) = mobile.split_once("[[flows]]").unwrap();
    for (number, longitude_m) in [(1, 0), (2, 12_000), (3, 24_000)] {
        let mobile = mobile
            .replace("count = 3\n", "")
            .replace(", spacing = \"60 s\"", "");
        let mobile = mobile.replace(":2::/64", &format!(":2:{}::/64", number - 1));
        let begin = Position::new(50.0, 7.0, 0.0).towards(
            &Position::new(50.0, 9.0, 0.0),
            f64::from(longitude_m) / whole_m(),
        );
        let mobile = mobile.replace(
            "longitude = 7",
            &format!("longitude = {}", begin.longitude_deg()),
        );
        let mobile = mobile.replacen(
            "latitude = 50",
            &format!("latitude = {}", begin.latitude_deg()),
            1,
        );
        text += &format!(
            "[mobiles.aircraft-{number}]{}",
            mobile.replace("mobiles.aircraft.", &format!("mobiles.aircraft-{number}."))
        );
    }
    for number in 1..=3 {
        let flow = flow.replace("\"weather\"", &format!("\"weather-{number}\""));
        text += &format!(
            "[[flows]]{}class = \"weather\"\n",
            flow.replace("\"seat\"", &format!("\"seat-{number}\""))
        );
    }
    text
}

fn whole_m() -> f64 {
    Position::new(50.0, 7.0, 0.0).ground_distance_m(&Position::new(50.0, 9.0, 0.0))
}

#[test]
fn three_aircraft_are_those_that_one_would_write_one_by_one() {
    let (short, long) = (loaded(FLEET, &[]), loaded(&by_hand(), &[]));
    let (short, long) = (&short.scenario, &long.scenario);
    assert_eq!(short.nodes, long.nodes);
    assert_eq!(short.nodes[2..4], ["aircraft-1", "seat-1"]);
    let links = |scenario: &model::Scenario| format!("{:#?}", scenario.links);
    assert_eq!(links(short), links(long));
    let mobiles = |scenario: &model::Scenario| {
        let mobiles = scenario.mobiles.iter().cloned();
        let unnamed = mobiles.map(|mobile| model::Mobile {
            class: None,
            ..mobile
        });
        unnamed.collect::<Vec<_>>()
    };
    assert_eq!(mobiles(short), mobiles(long));
    assert_eq!(short.mobiles[2].class.as_deref(), Some("aircraft"));
    let flows = |scenario: &model::Scenario| format!("{:#?}", scenario.flows);
    assert_eq!(flows(short), flows(long));
    for (one, other) in short.radios[0]
        .aircraft
        .iter()
        .zip(&long.radios[0].aircraft)
    {
        for second in [0, 100, 599] {
            let at = Instant::from_secs(second);
            let apart = one
                .track
                .position(at)
                .ground_distance_m(&other.track.position(at));
            assert!(apart < 1.0, "{apart} m at {second} s");
        }
    }
}

#[test]
fn the_text_that_is_kept_is_as_short_as_the_one_that_was_written() {
    let loaded = loaded(FLEET, &["mobiles.aircraft.count=500"]);
    assert_eq!(loaded.scenario.mobiles.len(), 500);
    assert!(
        loaded.resolved.contains("count = 500"),
        "{}",
        loaded.resolved
    );
    assert!(loaded.resolved.len() < 1200, "{}", loaded.resolved);
    let again = parse(&loaded.resolved, "again", Path::new("."), &[]).unwrap();
    assert_eq!(again.scenario.nodes, loaded.scenario.nodes);
    assert_eq!(
        loaded.flow_as_written(499).unwrap()["name"].as_str(),
        Some("weather")
    );
}

#[test]
fn a_count_of_one_has_the_names_that_more_would_have() {
    let loaded = loaded(FLEET, &["mobiles.aircraft.count=1"]);
    assert_eq!(loaded.scenario.flows[0].name, "weather-1");
    let without = loaded_without_count();
    assert_eq!(without.scenario.flows[0].name, "weather");
    assert_eq!(without.scenario.flows[0].class, None);
}

fn loaded_without_count() -> Loaded {
    let text = replaced("count = 3\n", "").replace(", spacing = \"60 s\"", "");
    loaded(&text, &[])
}

/// Access links lead to one node for all mobiles, as a laptop's server.
#[test]
fn mobiles_share_what_their_access_links_lead_to() {
    let text = r#"
        name = "hall"
        duration = "10 s"
        links.wifi = { between = ["server", "laptop"], kind = "wifi" }
        links.lte = { between = ["server", "laptop"], kind = "lte" }
        changes = [{ at = "1 s", link = "wifi", state = "down" }]
        live.hosts = ["laptop", "server"]
        [mobiles.laptop]
        count = 2
        failback = { prefer = ["wifi", "lte"] }
        [[flows]]
        name = "download"
        from = "server"
        to = "laptop"
        copies = 2
        [[flows]]
        name = "other"
        from = "server"
        to = "laptop-2"
        copies = 2
        class = "rest"
        "#;
    let scenario = loaded(text, &[]).scenario;
    assert_eq!(scenario.nodes, ["server", "laptop-1", "laptop-2"]);
    let links: Vec<&str> = scenario
        .links
        .iter()
        .map(|link| link.config.name.as_str())
        .collect();
    assert_eq!(links, ["wifi-1", "wifi-2", "lte-1", "lte-2"]);
    let changed: Vec<LinkIndex> = scenario.changes.iter().map(|change| change.link).collect();
    assert_eq!(changed, [LinkIndex(0), LinkIndex(1)]);
    let hosts: Vec<usize> = scenario.live.hosts.iter().map(|host| host.0).collect();
    assert_eq!(hosts, [1, 2, 0]);
    let named = |flow: &model::Flow| {
        format!(
            "{} to {} of {}",
            flow.name,
            scenario.nodes[flow.to.0],
            flow.class.as_ref().unwrap()
        )
    };
    let flows: Vec<String> = scenario.flows.iter().map(named).collect();
    let of_each = [
        "download-1-1 to laptop-1",
        "download-1-2 to laptop-1",
        "download-2-1 to laptop-2",
        "download-2-2 to laptop-2",
    ];
    assert_eq!(
        flows[..4],
        of_each.map(|name| format!("{name} of download"))
    );
    assert_eq!(
        flows[4..],
        ["other-1 to laptop-2 of rest", "other-2 to laptop-2 of rest"]
    );
}

#[test]
fn what_is_wrong_with_thousands_is_told_once_in_the_words_of_the_file() {
    let many = replaced("count = 3", "count = 5000");
    let cases: &[(&str, &str, &str)] = &[
        (
            "attach = \"radio\"",
            "attach = \"rodio\"",
            "mobiles.aircraft.timetable[0].attach: unknown link \"rodio\" (valid: line, cabin)",
        ),
        (
            "to = \"seat\"",
            "to = \"seet\"",
            "flows.weather.to: unknown node \"seet\"; did you mean \"seat\"? (valid: ground, home, aircraft, seat)",
        ),
        (
            "longitude = 9 }",
            "longitude = 12 }",
            "mobiles.aircraft.track: is outside all cells of \"radio\" at",
        ),
        (
            "2001:db8:2::/64",
            "fe7f:ffff:ffff:f000::/52",
            "mobiles.aircraft.mobility.network_prefix: does not leave room for 5000 consecutive networks of its length; expected a longer prefix, like a \"/64\"",
        ),
    ];
    for (found, replacement, expected) in cases {
        let text = many.replace(found, replacement);
        assert_ne!(text, many, "{found}");
        let told = told(&text);
        let key = expected.split(": ").next().unwrap();
        assert!(told.contains(expected), "{told}");
        let of_key = told.lines().filter(|line| line.contains(key));
        assert_eq!(of_key.count(), 1, "{told}");
        assert!(told.starts_with("fleet.toml:"), "{told}");
    }
    // Only the last ones are outside.
    let spaced = many
        .replace("count = 5000", "count = 40")
        .replace("spacing = \"60 s\"", "spacing = \"100 s\"");
    let spaced = spaced.replace("longitude = 9 }", "longitude = 13 }");
    let told = told(&spaced);
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(told.contains("(copy "), "{told}");
}

#[test]
fn counts_that_cannot_be_are_told() {
    let cases: &[(&str, &str, &str)] = &[
        (
            "count = 3",
            "count = 0",
            "mobiles.aircraft.count: 0 is out of range; expected a whole number from 1 to 1000000",
        ),
        (
            "count = 3",
            "count = 1000001",
            "mobiles.aircraft.count: 1000001 is out of range",
        ),
        (
            "count = 3\n",
            "",
            "mobiles.aircraft.track.spacing: is a distance between several mobiles; expected a count beside the track",
        ),
        (
            "start_jitter = \"1 s\"",
            "copies = 20001",
            "flows.weather.copies: makes 60003 flows; expected at most 60000 in all, 20000 for each mobile",
        ),
        (
            "[\"ground\", \"home\"]",
            "[\"ground\", \"aircraft-2\"]",
            "mobiles.aircraft.count: makes \"aircraft-2\", which already exists",
        ),
        (
            "[links.line]",
            "[links.cabin-3]",
            "mobiles.aircraft.count: makes \"cabin-3\", which already exists",
        ),
        (
            "legs = [{ latitude = 50, longitude = 7 }, { latitude = 50, longitude = 9 }], speed = \"200 m/s\"",
            "position = { latitude = 50, longitude = 7 }",
            "mobiles.aircraft.track.spacing: \"spacing\" does not go with \"position\"",
        ),
        (
            "[home_agents.home]",
            "[foreign_agents.aircraft]\n[home_agents.home]",
            "\"aircraft\" has 3 copies, aircraft-1 to aircraft-3; expected one of them",
        ),
        (
            "duration = \"10 min\"",
            "duration = \"10 min\"\nexpect = [\"flows.weather.longest_stall_s < 1\"]",
            "\"weather\" is a class of 3 flows; expected one of them, or classes.weather",
        ),
        (
            "[mobiles.aircraft.mobility]",
            "[mobiles.seat]\ncount = 2\ntimetable = [{ at = \"0 s\", attach = \"cabin\" }]\n[mobiles.aircraft.mobility]",
            "also belongs to another mobile with a count",
        ),
    ];
    for (found, replacement, expected) in cases {
        let told = told(&replaced(found, replacement));
        assert!(told.contains(expected), "{replacement}: {told}");
    }
}

#[test]
fn a_name_with_a_number_is_no_copy_beyond_their_count() {
    let mut text = FLEET.to_owned();
    text += "[mobiles.aircraft-4]\ntimetable = [{ at = \"0 s\", attach = \"radio\" }]\ntrack = { position = { latitude = 50, longitude = 8 } }\n";
    let scenario = loaded(&text, &[]).scenario;
    let classes = scenario
        .mobiles
        .iter()
        .map(|mobile| mobile.class.as_deref());
    let classes: Vec<Option<&str>> = classes.collect();
    let one = Some("aircraft");
    assert_eq!(classes, [one, one, one, None]);
    // Its own mistake is not taken for a copy's.
    let wrong = told(&text.replace("longitude = 8 } }", "longitude = 800 } }"));
    assert!(wrong.contains("mobiles.aircraft-4.track"), "{wrong}");
}
