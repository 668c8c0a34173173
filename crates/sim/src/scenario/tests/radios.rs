//! Radio networks and tracks in scenario files.

use super::*;
use crate::link::cells::{CellId, StationId};
use crate::link::ldacs1::HandoverType;
use crate::link::ldacs1::modulation::Modulation;
use crate::position::Position;

/// Two cells 350 km apart, and an aircraft that flies from one to the other.
const RIGHT: &str = r#"
name = "flight"
duration = "10 min"

[links.radio]
kind = "ldacs1"
user_rate = "31.5 kbit/s"
handover_type = 2
packet_bit = true
queue = "64 kB"
mtu = "1280 B"

[links.radio.cells.west]
node = "router"
position = { latitude = 0, longitude = 0, altitude = "100 ft" }
radius = "200 km"
scan_below = "-90.5 dBm"

[links.radio.cells.east]
node = "router"
position = { latitude = 0, longitude = 3.14 }
user_rate = "158 kbit/s"

[links.ground]
between = ["router", "operations"]
kind = "wired"

[links.satellite]
between = ["router", "aircraft"]
kind = "geo"

[mobiles.aircraft]
timetable = [{ at = "0 s", attach = "radio" }, { at = "9 min", attach = "satellite" }]
track = { legs = [{ latitude = 0, longitude = 1 }, { latitude = 0, longitude = 2 }], speed = "720 km/h", begin = "5 s" }
"#;

#[test]
fn a_network_s_cells_are_links_of_each_mobile_on_it() {
    let scenario = parsed(RIGHT);
    let names: Vec<_> = scenario.link_names().collect();
    assert_eq!(
        names,
        [
            "ground",
            "satellite",
            "radio.west.aircraft",
            "radio.east.aircraft"
        ]
    );
    let radio = &scenario.radios[0];
    let [aircraft, router] = ["aircraft", "router"].map(|name| {
        let place = scenario.nodes.iter().position(|node| node == name);
        NodeIndex(place.unwrap())
    });
    assert_eq!(scenario.link_ends(LinkIndex(3)), [router, aircraft]);
    assert_eq!(scenario.link_config(LinkIndex(3)).mtu, 1280);
    assert_eq!(radio.link(StationId(0), CellId(1)), LinkIndex(3));
    assert_eq!(radio.ends(LinkIndex(2)), Some((StationId(0), CellId(0))));
    assert_eq!(radio.ends(LinkIndex(1)), None);
    let policy = &scenario.mobiles[0].attachment;
    assert_eq!(policy.access_links(&scenario.radios), [LinkIndex(1)]);
    assert_eq!(policy.radios(&scenario.radios), [0]);
    let AttachmentPolicy::Timetable(entries) = &scenario.mobiles[0].attachment else {
        panic!("a timetable");
    };
    assert_eq!(entries[0].link, Some(LinkIndex(2)));

    let network = &radio.config;
    let rate = |rate: u64| Some(DataRate::from_bits_per_second(rate));
    assert_eq!(network.user_rate_in(CellId(0)), rate(31_500));
    assert_eq!(network.user_rate_in(CellId(1)), rate(158_000));
    assert_eq!(
        (network.handover, network.packet_bit, network.queue_bytes),
        (HandoverType::Two, true, 64_000)
    );
    let west = &network.cells[0];
    assert_eq!((west.radius_m, west.scan_below_dbm), (200e3, -90.5));
    assert_eq!(west.force_below_dbm, west.forward.received_dbm(200e3));
    assert_eq!(west.position, Position::new(0.0, 0.0, 30.48));
    assert_eq!(network.cells[1].radius_m, 225e3);
    // A degree of the equator is 111 195 m; 200 m/s from 5 s on.
    let (first, last) = radio.aircraft[0].track.span();
    assert_eq!(first, Instant::from_secs(5));
    let took = last.as_secs_f64() - 5.0;
    assert!((took - 555.975).abs() < 0.01, "{took}");
}

#[test]
fn every_kind_of_track_is_read() {
    let legs = RIGHT
        .find("track = ")
        .map(|begin| RIGHT[begin..].trim_end())
        .unwrap();
    let folder = std::env::temp_dir().join(format!("baton-track-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let csv = "time,latitude,longitude,altitude\n100,0,1,9000\n110,0,1.01,9000\n";
    std::fs::write(folder.join("flight.csv"), csv).unwrap();
    let longitude = |track: &str, seconds: u64| {
        let text = RIGHT.replace(legs, track);
        let loaded =
            parse(&text, "test.toml", &folder, &[]).unwrap_or_else(|error| panic!("{error}"));
        let aircraft = &loaded.scenario.radios[0].aircraft[0];
        let at = aircraft.track.position(Instant::from_secs(seconds));
        (at.longitude_deg() * 1e6).round() / 1e6
    };
    let fixed = "track = { position = { latitude = 0, longitude = 1.5 } }";
    assert_eq!(longitude(fixed, 100), 1.5);
    let timetable = "track = { timetable = [{ at = \"0 s\", latitude = 0, longitude = 1 }, { at = \"5 s\", latitude = 0, longitude = 1.1 }] }";
    assert_eq!([4, 5].map(|at| longitude(timetable, at)), [1.0, 1.1]);
    let file = "track = { file = \"flight.csv\", begin = \"1 s\" }";
    assert_eq!([1, 6, 60].map(|at| longitude(file, at)), [1.0, 1.005, 1.01]);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn error_rates_come_from_a_table_next_to_the_scenario() {
    let folder = std::env::temp_dir().join(format!("baton-tables-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let header = "direction,modulation,snr_db,frame_error_rate\n";
    let rows = "forward,qpsk-1/2,8,1e-3\nreturn,qpsk-1/2,8,0.25\n";
    std::fs::write(folder.join("errors.csv"), format!("{header}{rows}")).unwrap();
    let half = format!("{header}forward,qpsk-1/2,8,1e-3\n");
    std::fs::write(folder.join("half.csv"), half).unwrap();
    std::fs::write(folder.join("wrong.csv"), format!("{header}{rows}up\n")).unwrap();
    let load = |keys: &str| {
        let text = RIGHT.replace(
            "packet_bit = true\n",
            &format!("packet_bit = true\n{keys}\n"),
        );
        parse(&text, "test.toml", &folder, &[]).map_err(|error| error.to_string())
    };
    let [own, computed] = ["error_table = \"errors.csv\"", "errors = \"computed\""].map(|keys| {
        let loaded = load(keys).unwrap_or_else(|error| panic!("{error}"));
        let errors = loaded.scenario.radios[0].config.errors.clone();
        (errors.tile(Modulation::QpskHalf, 8.7), loaded.traces.len())
    });
    assert!((own.0 - 0.25).abs() < 1e-12 && own.1 == 1);
    assert!(computed.0 > 0.0 && computed.0 < 1.0 && computed.1 == 0);
    for (keys, message) in [
        (
            "error_table = \"half.csv\"",
            "error_table: has no rows of return,qpsk-1/2; expected rows of both directions",
        ),
        (
            "error_table = \"errors.csv\"\nmodulation = \"adaptive\"",
            "error_table: has no rows of forward,qpsk-2/3; expected",
        ),
        (
            "error_table = \"wrong.csv\"",
            "wrong.csv:4: column direction: expected forward or return, found `up`",
        ),
        ("error_table = \"none.csv\"", "none.csv: cannot be read"),
        (
            "error_table = \"errors.csv\"\nerrors = \"fixed\"",
            "error_table: is set beside another source of error rates; expected errors = \"by-signal\"",
        ),
        (
            "error_table = \"errors.csv\"\njoint_coding = true",
            "error_table: is set beside joint_coding",
        ),
        (
            "errors = \"computed\"\njoint_coding = true",
            "errors: is set beside joint_coding",
        ),
    ] {
        let told = load(keys).expect_err("a mistake");
        assert!(told.contains(message), "{told}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn cells_alone_make_their_nodes() {
    let scenario = parsed(
        r#"
        name = "alone"
        duration = "1 min"
        links.radio = { kind = "ldacs1", cells.only = { node = "base", position = { latitude = 0, longitude = 0 } } }
        [mobiles.aircraft]
        timetable = [{ at = "0 s", attach = "radio" }]
        track = { position = { latitude = 0, longitude = 0.5 } }
        [[flows]]
        name = "weather"
        from = "base"
        to = "aircraft"
        "#,
    );
    assert_eq!(scenario.nodes, ["base", "aircraft"]);
}

/// Returns the message for the text with one part replaced by another.
fn told(found: &str, replacement: &str) -> String {
    assert!(RIGHT.contains(found), "{found}");
    let text = RIGHT.replace(found, replacement);
    let error = parse(&text, "test.toml", Path::new("."), &[]).err();
    error.expect("a mistake").to_string()
}

#[test]
fn mistakes_are_told() {
    let track = RIGHT.lines().last().unwrap();
    let satellite = r#", { at = "9 min", attach = "satellite" }"#;
    let cases: &[(&str, &str, &str)] = &[
        (
            "user_rate = \"31.5 kbit/s\"",
            "standing_grant = true",
            "links.radio.standing_grant: goes with \"user_rate\", the rate that is granted, of the network or of each cell",
        ),
        (
            "node = \"router\"\nposition = { latitude = 0, longitude = 3.14 }",
            "position = { latitude = 0, longitude = 3.14 }",
            "links.radio.cells.east: key \"node\" is missing",
        ),
        (
            "node = \"router\"\nposition = { latitude = 0, longitude = 3.14 }",
            "node = \"ruoter\"\nposition = { latitude = 0, longitude = 3.14 }",
            "links.radio.cells.east.node: unknown node \"ruoter\"; did you mean \"router\"?",
        ),
        (
            track,
            "",
            "mobiles.aircraft: key \"track\" is missing; expected the position of \"aircraft\", which uses radio network \"radio\"",
        ),
        (
            "attach = \"radio\"",
            "attach = \"satellite\"",
            "mobiles.aircraft.track: nothing uses the position of the mobile; expected a link of kind = \"ldacs1\"",
        ),
        (
            "speed = \"720 km/h\", ",
            "",
            "mobiles.aircraft.track: key \"speed\" is missing; expected a number with m/s, km/h or kt, like \"800 km/h\"",
        ),
        (
            "track = { ",
            "track = { position = { latitude = 0, longitude = 1 }, ",
            "mobiles.aircraft.track.legs: is set beside \"position\"; expected only one of them",
        ),
        (
            "track = { legs = [{ latitude = 0, longitude = 1 }, { latitude = 0, longitude = 2 }], ",
            "track = { ",
            "mobiles.aircraft.track: is empty; expected position, legs, timetable, file or flights",
        ),
        (
            track,
            "track = { file = \"nowhere.csv\" }",
            "mobiles.aircraft.track.file: trace ./nowhere.csv: cannot be read",
        ),
        (
            "kind = \"ldacs1\"",
            "kind = \"ldacs1\"\nrate = \"1 Mbit/s\"",
            "links.radio.rate: \"rate\" does not go with kind = \"ldacs1\"",
        ),
        (
            "kind = \"ldacs1\"",
            "kind = \"wired\"",
            "links.radio.user_rate: \"user_rate\" does not go with kind = \"wired\"; it goes with \"ldacs1\"",
        ),
        (
            "kind = \"geo\"",
            "kind = \"geo\"\npacket_bit = true",
            "links.satellite.packet_bit: \"packet_bit\" does not go with kind = \"geo\" (its own: line_of_sight, shadowing, demand)",
        ),
        (
            "queue = \"64 kB\"",
            "queue = \"10 packets\"",
            "links.radio.queue: a radio network counts bytes; expected a size, like \"64 kB\"",
        ),
        (
            "attach = \"satellite\"",
            "attach = \"satellite\", handover = \"hard\"",
            "mobiles.aircraft.timetable[1]: a handover on a radio network is soft",
        ),
        (
            "scan_below = \"-90.5 dBm\"",
            "scan_below = \"-90.5\"",
            "links.radio.cells.west.scan_below: \"-90.5\" does not have the unit dBm; expected a number with dBm",
        ),
        (
            "latitude = 0, longitude = 3.14",
            "latitude = 90.1, longitude = 3.14",
            "links.radio.cells.east.position.latitude: 90.1 is out of range; expected a number from -90 to 90",
        ),
    ];
    for (found, replacement, expected) in cases {
        let message = told(found, replacement);
        assert!(
            message.contains(expected),
            "{message}\nexpected: {expected}"
        );
    }
    // Without the satellite it must stay inside the cells: the west cell ends at 200 km, where the east cell, now of
    // 50 km, has not begun.
    let text = RIGHT
        .replace(satellite, "")
        .replace("user_rate = \"158 kbit/s\"", "radius = \"50 km\"");
    let error = parse(&text, "test.toml", Path::new("."), &[]).err();
    let message = error.expect("a mistake").to_string();
    // 200 km are 88.8 km of the way, at 200 m/s from 5 s on; found within a second.
    assert!(
        message.contains("mobiles.aircraft.track: is outside all cells of \"radio\" at 450 s")
            && message.contains("the edge of the nearest, \"west\", is 0."),
        "{message}"
    );
    let change = "[[changes]]\nat = \"1 s\"\nlink = \"radio\"\nstate = \"down\"\n";
    let error = parse(
        &format!("{RIGHT}{change}"),
        "test.toml",
        Path::new("."),
        &[],
    )
    .err();
    let message = error.expect("a mistake").to_string();
    assert!(
        message.contains(
            "changes[0].link: \"radio\" is a radio network; expected a link between two nodes"
        ),
        "{message}"
    );
}

/// Timetables, flows and links of the mobile depend on its track, and are correct.
#[test]
fn a_mistake_in_a_track_is_one_mistake() {
    let lines = |text: &str| {
        let error = parse(text, "test.toml", Path::new(""), &[]).expect_err("a mistake");
        error
            .diagnostics
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    let flow = "[[flows]]\nname = \"voice\"\nfrom = \"operations\"\nto = \"aircraft\"\n";
    let right = format!("{RIGHT}\n{flow}");
    parsed(&right);
    let track = right
        .lines()
        .find(|line| line.starts_with("track"))
        .expect("there");
    let told = lines(&right.replace(track, "track = { file = \"nowhere.csv\" }"));
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains("mobiles.aircraft.track.file: "),
        "{told:?}"
    );
    let told = lines(&right.replace(track, ""));
    assert_eq!(told.len(), 1, "{told:?}");
    // The same for a network without cells, and a link without ends.
    let told = lines(&right.replace(
        "node = \"router\"\nposition = { latitude = 0, longitude = 3.14 }",
        "node = \"rooter\"\nposition = { latitude = 0, longitude = 3.14 }",
    ));
    assert_eq!(told.len(), 1, "{told:?}");
    let told = lines(&right.replace("between = [\"router\", \"aircraft\"]\n", ""));
    assert_eq!(told.len(), 1, "{told:?}");
}
