//! DTN gateways in scenario files.

use super::*;
use baton_proto::tcp::profile::Profile;
use baton_proto::time::Duration;

const RIGHT: &str = r#"
name = "bundles"
duration = "10 s"

[links]
back = { between = ["server", "ground"], kind = "wired" }
satellite = { between = ["ground", "train"], kind = "geo" }
wifi = { between = ["ground", "train"], kind = "wifi" }

[mobiles.train]
timetable = [{ at = "0 s", attach = "satellite" }]

[dtn_gateways.train]
between = ["ground", "train"]
storage = "1 MB"
lifetime = "5 min"
profile = "rfc"

[[flows]]
name = "f"
from = "server"
to = "train"
"#;

#[test]
fn a_pair_is_read() {
    let scenario = parsed(RIGHT);
    let [pair] = &scenario.dtn_gateways[..] else {
        panic!("one pair");
    };
    let names = pair.nodes.map(|node| scenario.nodes[node.0].as_str());
    assert_eq!(names, ["ground", "train"]);
    assert_eq!(pair.storage, 1_000_000);
    assert_eq!(pair.lifetime, Duration::from_secs(300));
    assert_eq!(pair.profile, Profile::rfc());
    let plain = RIGHT.replace(
        "storage = \"1 MB\"\nlifetime = \"5 min\"\nprofile = \"rfc\"\n",
        "",
    );
    let pair = &parsed(&plain).dtn_gateways[0];
    assert_eq!(pair.storage, 64_000_000);
    assert_eq!(pair.lifetime, Duration::from_secs(3600));
    assert_eq!(pair.profile, Profile::linux_6());
}

/// Each train of a fleet gets a gateway of its own.
#[test]
fn a_fleet_has_pairs() {
    let fleet = RIGHT.replace("timetable", "count = 3\ntimetable");
    let scenario = parsed(&fleet);
    let pairs = scenario.dtn_gateways.iter();
    let trains = pairs.map(|pair| scenario.nodes[pair.nodes[1].0].as_str());
    assert_eq!(
        trains.collect::<Vec<_>>(),
        ["train-1", "train-2", "train-3"]
    );
}

/// Replaces the first by the second in [`RIGHT`], and checks for a part of the message.
const WRONG: &[(&str, &str, &str)] = &[
    (
        "[\"ground\", \"train\"]\nstorage",
        "[\"ground\", \"trian\"]\nstorage",
        r#"dtn_gateways.train.between[1]: unknown node "trian"; did you mean "train"?"#,
    ),
    (
        "[\"ground\", \"train\"]\nstorage",
        "[\"train\", \"train\"]\nstorage",
        r#"dtn_gateways.train.between: "train" cannot be a gateway to itself; expected two nodes"#,
    ),
    (
        "[\"ground\", \"train\"]\nstorage",
        "[\"server\", \"train\"]\nstorage",
        r#"dtn_gateways.train.between: no link joins "server" and "train"; expected the two ends of a link"#,
    ),
    (
        "[[flows]]",
        "[dtn_gateways.again]\nbetween = [\"train\", \"ground\"]\n[[flows]]",
        "dtn_gateways.again.between: these two are already gateways to each other; expected each pair once",
    ),
    (
        "[dtn_gateways.train]",
        "mobility = { protocol = \"mobile-ipv6\", home_agent = \"server\" }\n[home_agents.server]\n\
         prefix = \"2001:db8:1::/64\"\n[dtn_gateways.train]",
        r#"dtn_gateways.train.between: "train" has a mobility protocol, whose tunnel hides the link from the gateways"#,
    ),
    (
        "\"rfc\"",
        "\"rcf\"",
        r#"dtn_gateways.train.profile: unknown profile "rcf"; did you mean "rfc"?"#,
    ),
    (
        "storage =",
        "store =",
        r#"unknown key "store"; did you mean "storage"?"#,
    ),
];

#[test]
fn mistakes_are_named() {
    assert_mistakes_are_named(RIGHT, WRONG);
}
