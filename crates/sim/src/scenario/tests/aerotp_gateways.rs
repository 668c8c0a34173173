//! AeroTP gateways in scenario files.

use super::*;
use baton_proto::gateways::aerotp::Selector;
use baton_proto::tcp::profile::Profile;
use baton_proto::wire::aerotp::Mode;

const RIGHT: &str = r#"
name = "gateways"
duration = "10 s"

[links]
front = { between = ["client", "aboard"], kind = "wired" }
radio = { between = ["aboard", "below"], kind = "wired" }
back = { between = ["below", "server"], kind = "wired" }

[aerotp_gateways.air]
links = ["radio"]
rules = [
  { port = 5001, mode = "near-reliable", profile = "classic" },
  { destination = "2001:db8::/32", code_point = 46, mode = "unreliable-datagram" },
  { coding = "none", packets_per_mack = 2 },
]

[[flows]]
name = "f"
from = "client"
to = "server"
"#;

#[test]
fn rules_are_read() {
    let scenario = parsed(RIGHT);
    let gateways = &scenario.aerotp_gateways[0];
    assert_eq!(gateways.links, [LinkIndex(1)]);
    let modes = [Mode::NearReliable, Mode::UnreliableDatagram, Mode::Reliable];
    let read: Vec<Mode> = (gateways.rules.iter())
        .map(|rule| rule.configuration.mode)
        .collect();
    assert_eq!(read, modes);
    let [first, second, last] = &gateways.rules[..] else {
        panic!("three rules");
    };
    assert_eq!(first.selector.port, Some(5001));
    assert_eq!(Some(&first.profile), Profile::named("classic").as_ref());
    assert_eq!(second.selector.code_point, Some(46));
    let network = ("2001:db8::".parse().unwrap(), 32);
    assert_eq!(second.selector.destination, Some(network));
    assert_eq!(last.selector, Selector::default());
    assert_eq!(last.profile, Profile::linux_6());
    assert_eq!(last.configuration.packets_per_mack, 2);
}

/// Replaces the first by the second in [`RIGHT`], and checks for a part of the message.
const WRONG: &[(&str, &str, &str)] = &[
    (
        "links = [\"radio\"]",
        "links = [\"radios\"]",
        r#"aerotp_gateways.air.links[0]: unknown link "radios"; did you mean "radio"?"#,
    ),
    (
        "links = [\"radio\"]",
        "links = [\"back\"]",
        r#"aerotp_gateways.air.links: "server" is an end of flow "f", and a gateway serves only flows that pass through it"#,
    ),
    (
        "links = [\"radio\"]",
        "links = [\"radio\", \"radio\"]",
        r#"aerotp_gateways.air.links[1]: "radio" is listed twice; expected another link"#,
    ),
    (
        "links = [\"radio\"]",
        "links = [\"radio\", \"back\"]",
        r#"aerotp_gateways.air.links[1]: "back" is not between "aboard" and "below", as the first link is"#,
    ),
    (
        "links = [\"radio\"]",
        "links = []",
        "aerotp_gateways.air.links: ",
    ),
    (
        "coding = \"none\"",
        "rate = \"2 Mbit/s\"",
        r#"unknown key "rate""#,
    ),
    (
        "[[flows]]",
        "[aerotp_gateways.more]\nlinks = [\"radio\"]\n[[flows]]",
        r#"aerotp_gateways.more.links: "aboard" is already a gateway of "air""#,
    ),
    (
        "[[flows]]",
        "[mobiles.aboard]\ntimetable = [{ at = \"0 s\", attach = \"radio\" }]\n[[flows]]",
        r#"aerotp_gateways.air.links: "aboard" is a mobile, and gateways do not move from link to link"#,
    ),
    (
        "to = \"server\"",
        "to = \"server\"\ntransport = \"aerotp\"",
        r#"a gateway takes all AeroTP packets for those of the other gateway, and flow "f" uses AeroTP"#,
    ),
    (
        "2001:db8::/32",
        "2001:db8::/129",
        r#"aerotp_gateways.air.rules[1].destination: "2001:db8::/129" is not a network; expected an address with a prefix length"#,
    ),
    (
        "code_point = 46",
        "code_point = 64",
        "aerotp_gateways.air.rules[1].code_point: 64 is out of range; expected a whole number from 0 to 63",
    ),
    (
        "port = 5001",
        "port = 0",
        "aerotp_gateways.air.rules[0].port: 0 is out of range",
    ),
    (
        "\"classic\"",
        "\"clasic\"",
        r#"aerotp_gateways.air.rules[0].profile: unknown profile "clasic"; did you mean "classic"?"#,
    ),
    (
        "coding = \"none\"",
        "codign = \"none\"",
        r#"unknown key "codign"; did you mean "coding"?"#,
    ),
    (
        "code_point = 46",
        "code_point = 46, mack_delay = \"1 ms\"",
        r#""mack_delay" does not go with mode = "unreliable-datagram""#,
    ),
];

#[test]
fn mistakes_are_named() {
    assert_mistakes_are_named(RIGHT, WRONG);
}
