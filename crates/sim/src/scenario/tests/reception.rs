//! Lines, and links that are up where they are received, in scenario files.

use super::*;
use crate::link::config::Shadowing;
use crate::link::reception::Reception;
use crate::position::line::Stretch;

/// A tunnel, a satellite and access points.
const RIGHT: &str = r#"
name = "train"
duration = "10 min"

[lines.valley]
tunnels = [{ from = "30 km", to = "40.6 km", shadow_before = "130 m" }]

[links.satellite]
between = ["gateway", "train"]
kind = "geo"
line_of_sight = { repointing = "1 s", announced = "3 s" }
shadowing = { mean_clear = "10 s", mean_shadow = "100 ms" }

[links.tunnel]
between = ["gateway", "train"]
kind = "wifi"
coverage = { from = "29 km", to = "41 km", spacing = "900 m", margin_db = 6 }

[mobiles.train]
failback = { prefer = ["tunnel", "satellite"] }
track = { along = "valley", from = "20 km", speed = "320 km/h", begin = "5 s", begin_jitter = "1 s" }
"#;

#[test]
fn links_along_a_line_are_read() {
    let scenario = parsed(RIGHT);
    let [satellite, tunnel] = [0, 1].map(|link| scenario.links[link].reception.clone().unwrap());
    assert_eq!(satellite.run.position_m(Instant::from_secs(5)), 20e3);
    assert_eq!(satellite.run, tunnel.run);
    assert_eq!(satellite.jitter, Duration::from_secs(1));
    let Reception::LineOfSight(sight) = &satellite.reception else {
        panic!("a satellite");
    };
    let hidden = Stretch {
        from_m: 29_870.0,
        to_m: 40_600.0,
    };
    assert_eq!(sight.hidden, [hidden]);
    assert_eq!(sight.filled, []);
    assert_eq!(sight.antennas.count, 1);
    assert_eq!(sight.repointing, Duration::from_secs(1));
    assert_eq!(sight.synchronisation, Duration::from_millis(50));
    assert_eq!(sight.announced, Duration::from_secs(3));
    let Reception::Coverage(coverage) = &tunnel.reception else {
        panic!("access points");
    };
    // 12 km in 14 gaps of at most 900 m.
    assert_eq!(coverage.access_points_m.len(), 15);
    let [first, second, .., last] = coverage.access_points_m[..] else {
        panic!("three at least");
    };
    assert_eq!((first, last), (29e3, 41e3));
    assert!((second - first - 12e3 / 14.0).abs() < 1e-6);
    assert_eq!(coverage.margin_db, 6.0);
    // Study S's radio by default: 474 m.
    assert!((coverage.radio.range_m(coverage.threshold_dbm) - 474.34).abs() < 0.01);
    let shadowing = Some(Shadowing {
        mean_clear: Duration::from_secs(10),
        mean_shadow: Duration::from_millis(100),
        antennas: 1,
        antennas_apart: Duration::ZERO,
    });
    let satellite = &scenario.links[0].config;
    assert_eq!(satellite.down.channel.shadowing, shadowing);
    assert_eq!(satellite.up.channel.shadowing, shadowing);
    assert!(scenario.has_positions());
}

#[test]
fn gap_fillers_and_antennas_are_read() {
    let with = RIGHT
        .replace("shadow_before = \"130 m\"", "gap_filler_reach = \"200 m\"")
        .replace(
            "announced = \"3 s\"",
            "antennas = { count = 3, spacing = \"40 m\" }",
        );
    let scenario = parsed(&with);
    let satellite = &scenario.links[0];
    let Some(Reception::LineOfSight(sight)) =
        satellite.reception.as_deref().map(|along| &along.reception)
    else {
        panic!("a satellite");
    };
    let filled = Stretch {
        from_m: 29_800.0,
        to_m: 40_800.0,
    };
    assert_eq!(sight.filled, [filled]);
    assert_eq!((sight.antennas.count, sight.antennas.spacing_m), (3, 40.0));
    // 40 m at 320 km/h are 0.45 s.
    let shadowing = satellite.config.down.channel.shadowing.unwrap();
    assert_eq!(
        (shadowing.antennas, shadowing.antennas_apart),
        (3, Duration::from_millis(450))
    );
}

#[test]
fn mistakes_are_told() {
    let track = RIGHT.lines().last().unwrap();
    let sight = "line_of_sight = { repointing = \"1 s\", announced = \"3 s\" }";
    let coverage = RIGHT
        .lines()
        .find(|line| line.starts_with("coverage"))
        .unwrap();
    let cases: &[(&str, &str, &str)] = &[
        (
            track,
            "",
            "links.satellite.line_of_sight: depends on the mobile's position, which is not given; expected [mobiles.train] with track = { along = LINE, speed = \"320 km/h\" }",
        ),
        (
            "along = \"valley\"",
            "along = \"vally\"",
            "mobiles.train.track.along: unknown line \"vally\"; did you mean \"valley\"?",
        ),
        (
            "announced = \"3 s\"",
            "antennas = { count = 1, spacing = \"40 m\" }",
            "links.satellite.line_of_sight.antennas.count: 1 is out of range; expected a whole number from 2 to 16",
        ),
        (
            "announced = \"3 s\" }\nshadowing = { mean_clear = \"10 s\", mean_shadow = \"100 ms\" }",
            "antennas = { count = 16, spacing = \"100000 km\" } }\nshadowing = { mean_clear = \"1 us\", mean_shadow = \"1 us\" }",
            "links.satellite.shadowing: would occur 8437800000000 times until the last antenna has met them",
        ),
        (
            ", speed = \"320 km/h\"",
            "",
            "mobiles.train.track: key \"speed\" is missing; expected a number with m/s, km/h or kt, like \"320 km/h\"",
        ),
        (
            "track = { ",
            "track = { file = \"x.csv\", ",
            "mobiles.train.track.file: \"file\" does not go with \"along\"",
        ),
        (
            "to = \"40.6 km\"",
            "to = \"29 km\"",
            "lines.valley.tunnels[0].to: is not beyond the tunnel's `from`",
        ),
        (
            "kind = \"geo\"",
            "kind = \"wired\"",
            "links.satellite.line_of_sight: \"line_of_sight\" does not go with kind = \"wired\"; it goes with \"geo\"",
        ),
        (
            "kind = \"wifi\"",
            "kind = \"gsm\"",
            "links.tunnel.coverage: \"coverage\" does not go with kind = \"gsm\"; it goes with \"wifi\"",
        ),
        (
            ", spacing = \"900 m\"",
            "",
            "links.tunnel.coverage: key \"spacing\" is missing; expected a distance, like \"400 m\"",
        ),
        (
            "to = \"41 km\", ",
            "",
            "links.tunnel.coverage.spacing: goes with \"to\", the position of the last access point",
        ),
        (
            "to = \"41 km\"",
            "to = \"28 km\"",
            "links.tunnel.coverage.to: is before the first access point",
        ),
        (
            "spacing = \"900 m\"",
            "spacing = \"0 m\"",
            "links.tunnel.coverage.spacing: would make more than 10000 access points",
        ),
        (
            "margin_db = 6",
            "mobile_height = \"0 m\"",
            "links.tunnel.coverage.mobile_height: is on the ground, where nothing is received",
        ),
        (
            "margin_db = 6",
            "threshold = \"30 dBm\"",
            "links.tunnel.coverage: reaches 0.003 m; expected a transmit_power and a threshold",
        ),
        (
            "mean_shadow = \"100 ms\"",
            "mean_shadow = \"0 s\"",
            "links.satellite.shadowing.mean_shadow: \"0 s\" is zero",
        ),
        (
            "along = \"valley\", from = \"20 km\", ",
            "legs = [{ latitude = 0, longitude = 0 }], ",
            "links.satellite.line_of_sight: depends on the mobile's position",
        ),
    ];
    for (found, replacement, expected) in cases {
        assert!(RIGHT.contains(found), "{found}");
        refused(&RIGHT.replace(found, replacement), expected);
    }
    let change = "[[changes]]\nat = \"1 s\"\nlink = \"satellite\"\nstate = \"down\"\n";
    refused(
        &format!("{RIGHT}{change}"),
        "changes[0].state: follows from the mobile's position; expected no change of it",
    );
    let nobody = RIGHT.replace(sight, "").replace(coverage, "");
    refused(
        &nobody,
        "mobiles.train.track: nothing uses the position of the mobile",
    );
    let radio = RIGHT.replace(
        "[links.tunnel]\nbetween = [\"gateway\", \"train\"]\nkind = \"wifi\"\n",
        "[links.tunnel]\nkind = \"ldacs1\"\ncells.c = { node = \"gateway\", position = { latitude = 0, longitude = 0 } }\n",
    );
    refused(
        &radio.replace(coverage, ""),
        "mobiles.train.track.along: is not a place on the earth, as a radio network needs",
    );
}

fn refused(text: &str, expected: &str) {
    let error = parse(text, "test.toml", Path::new("."), &[]).err();
    let message = error.expect("a mistake").to_string();
    assert!(
        message.contains(expected),
        "{message}\nexpected: {expected}"
    );
}
