//! Several paths of an AeroTP connection in scenario files.

use super::*;

const RIGHT: &str = r#"
name = "telemetry"
duration = "10 s"
links.satellite = { between = ["teleport", "aircraft"], kind = "geo" }
links.mast = { between = ["station", "aircraft"], kind = "wired" }
links.east = { between = ["ground", "teleport"], kind = "wired" }
links.west = { between = ["ground", "station"], kind = "wired" }

[[flows]]
name = "f"
from = "aircraft"
to = "ground"
transport.kind = "aerotp"
transport.mode = "reliable"
transport.paths = ["satellite", "mast"]
"#;

#[test]
fn paths_are_links_of_one_end() {
    for (from, to) in [("aircraft", "ground"), ("ground", "aircraft")] {
        let text = RIGHT.replace(r#"from = "aircraft""#, &format!("from = \"{from}\""));
        let text = text.replace(r#"to = "ground""#, &format!("to = \"{to}\""));
        let scenario = parsed(&text);
        let paths = scenario.flows[0].paths.as_ref().unwrap();
        assert_eq!(scenario.nodes[paths.host.0], "aircraft");
        let names = paths
            .links
            .iter()
            .map(|link| &scenario.links[link.0].config.name);
        assert_eq!(names.collect::<Vec<_>>(), ["satellite", "mast"]);
    }
}

/// Replaces the first by the second in [`RIGHT`], and checks for a part of the message.
const WRONG: &[(&str, &str, &str)] = &[
    (
        r#"["satellite", "mast"]"#,
        r#"["satelite", "mast"]"#,
        r#"unknown link "satelite"; did you mean "satellite"?"#,
    ),
    (
        r#"["satellite", "mast"]"#,
        r#"["satellite"]"#,
        "flows.f.transport.paths: ",
    ),
    (
        r#"["satellite", "mast"]"#,
        r#"["mast", "mast"]"#,
        r#""mast" is listed twice; expected another link"#,
    ),
    (
        r#"["satellite", "mast"]"#,
        r#"["satellite", "west"]"#,
        r#"flows.f.transport.paths: they do not all end at "aircraft", nor all at "ground"; expected links of one of the two"#,
    ),
    (
        r#"mode = "reliable""#,
        "mode = \"reliable\"\ntransport.rate = \"1 Mbit/s\"",
        "flows.f.transport.paths: each of several paths has a rate of its own, that of its slowest link; expected no `rate` beside `paths`",
    ),
    (
        r#"transport.mode = "reliable""#,
        "traffic.kind = \"constant\"\ntraffic.rate = \"1 Mbit/s\"\ntransport.mode = \"unreliable-datagram\"",
        r#"flows.f.transport.paths: paths belong to a connection, and mode "unreliable-datagram" has none; expected another mode"#,
    ),
    (
        "[[flows]]",
        "mobiles.aircraft.timetable = [{ at = \"0 s\", attach = \"mast\" }]\n[[flows]]",
        r#"flows.f.transport.paths: "aircraft" is a mobile, which uses one link at a time; expected ends that are not in `mobiles`"#,
    ),
    (
        r#"links.west = { between = ["ground", "station"]"#,
        r#"links.west = { between = ["ground", "aircraft"]"#,
        r#"links from "station" lead to "ground" only through "aircraft"; expected a link over which it can be reached"#,
    ),
    (
        "[[flows]]",
        "links.aboard = { between = [\"aircraft\", \"crew\"], kind = \"wired\" }\n\
         [[flows]]\nname = \"g\"\nfrom = \"crew\"\nto = \"ground\"\n[[flows]]",
        r#"flows.g.to: the path from "crew" to "ground" leads through "aircraft", which has `paths` in its flow's transport and is not a router"#,
    ),
    (
        "[[flows]]",
        "links.lan = { between = [\"one\", \"east-gateway\"], kind = \"wired\" }\n\
         links.air = { between = [\"east-gateway\", \"west-gateway\"], kind = \"wired\" }\n\
         aerotp_gateways.a = { links = [\"air\"], rules = [{ mode = \"reliable\", paths = [\"satellite\", \"mast\"] }] }\n[[flows]]",
        r#"aerotp_gateways.a.rules[0].paths: unknown key "paths""#,
    ),
];

#[test]
fn mistakes_are_named() {
    assert_mistakes_are_named(RIGHT, WRONG);
}

#[test]
fn a_link_that_is_too_late_for_the_receiver_is_told_of() {
    let text = RIGHT.replace(r#""reliable""#, r#""quasi-reliable""#);
    let warnings = |text: &str| {
        let loaded = parse(text, "test.toml", Path::new(""), &[]).unwrap();
        let warnings = loaded.warnings.iter();
        warnings.map(ToString::to_string).collect::<Vec<_>>()
    };
    let told = warnings(&text);
    assert!(
        told.len() == 1 && told[0].contains("consider a longer reordering_wait"),
        "{told:?}"
    );
    let longer = "\"quasi-reliable\"\ntransport.reordering_wait = \"1 s\"";
    assert!(warnings(&RIGHT.replace(r#""reliable""#, longer)).is_empty());
    assert!(warnings(RIGHT).is_empty());
}
