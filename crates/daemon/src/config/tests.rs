//! Parsing of configurations, and errors for invalid ones.

use super::*;
use baton_proto::time::Duration;

const MOBILE: &str = r#"
[interfaces.inside]
kind = "tun"
[interfaces.wifi]
kind = "packet"
device = "wlan0"
[interfaces.cellular]
kind = "tun"
mtu = 1400
[routes]
"2001:db8:7::/64" = "inside"
[mobile_node]
home_address = "2001:db8:100::a"
home_prefix = "2001:db8:100::/64"
home_agent = "2001:db8:100::1"
failback = { prefer = ["wifi", "cellular"] }
networks = ["2001:db8:7::/64"]
key = "00112233445566778899aabbccddeeff0123FEDC"
"#;

#[test]
fn keys_that_are_left_out_have_their_defaults() {
    let config = parse::<Config>(MOBILE, "m.toml").unwrap();
    let in_order: Vec<(&str, &str, u32)> = config
        .interfaces_in_order()
        .into_iter()
        .map(|(name, interface)| (name, interface.device(name), interface.mtu()))
        .collect();
    let expected = [
        ("wifi", "wlan0", 1500),
        ("cellular", "cellular", 1400),
        ("inside", "inside", 1500),
    ];
    assert_eq!(in_order, expected);
    let mobile = config.mobile_node.unwrap();
    assert_eq!(mobile.lifetime.0.seconds(), 600);
    // docs/reference/scenario/mobiles-failback.md.
    let times = FailbackTimes {
        hold_time: Duration::from_secs(5),
        hysteresis: Duration::ZERO,
        longest_switch_time: Duration::from_millis(100),
    };
    assert_eq!(mobile.failback.times(), times);
    assert!(mobile.duplicate_address_detection);
    assert_eq!(mobile.key.0[..3], [0x00, 0x11, 0x22]);
    assert_eq!(mobile.key.0[18..], [0xFE, 0xDC]);
    // A secret does not appear where configurations are printed.
    assert!(!format!("{:?}", mobile.key).contains("17"));
}

#[test]
fn times_are_written_as_in_a_scenario() {
    let times = "prefer = [\"wifi\"], hold_time = \"1.5 min\", hysteresis = \"2h\", longest_switch_time = \"250 us\"";
    let text = MOBILE.replace("prefer = [\"wifi\", \"cellular\"]", times);
    let text = text.replace("networks", "lifetime = \"72 h\"\nnetworks");
    let mobile = parse::<Config>(&text, "m.toml")
        .unwrap()
        .mobile_node
        .unwrap();
    let times = FailbackTimes {
        hold_time: Duration::from_secs(90),
        hysteresis: Duration::from_secs(7200),
        longest_switch_time: Duration::from_micros(250),
    };
    assert_eq!(mobile.failback.times(), times);
    assert_eq!(mobile.lifetime.0.seconds(), 259_200);
}

/// Replaces one text of the file in each case, and checks the message.
#[test]
fn a_mistake_is_named_by_file_line_and_key_with_what_was_expected() {
    let cases = [
        (
            "kind = \"packet\"",
            "kind = \"tap\"",
            "m.toml:5: kind: unknown variant `tap`, expected `tun` or `packet`",
        ),
        (
            "mtu = 1400",
            "mtu = 1200",
            "m.toml:9: mtu: 1200: expected bytes from 1280 to 65535",
        ),
        (
            "mtu = 1400",
            "mtuu = 1400",
            "m.toml:9: unknown field `mtuu`, expected one of `kind`, `device`, `mtu`",
        ),
        (
            "device = \"wlan0\"",
            "mtu = 1400",
            "m.toml: interfaces.wifi.mtu: an interface of kind \"packet\" has the MTU of its device; leave the key out",
        ),
        (
            "\"2001:db8:100::1\"",
            "\"2001:db8:100:1\"",
            "m.toml:15: home_agent: \"2001:db8:100:1\": expected an IPv6 address, such as \"2001:db8::1\"",
        ),
        (
            "home_prefix = \"2001:db8:100::/64\"",
            "home_prefix = \"2001:db8:100::1/64\"",
            "m.toml:14: home_prefix: \"2001:db8:100::1/64\": expected an IPv6 prefix with its length and no host bits set, such as \"2001:db8:1::/64\"",
        ),
        (
            "FEDC",
            "FEDX",
            "m.toml:18: key: expected 40 hexadecimal digits, such as `openssl rand -hex 20` prints",
        ),
        (
            "= \"inside\"",
            "= \"outside\"",
            "m.toml: routes.\"2001:db8:7::/64\": there is no interface \"outside\"; expected one of: cellular, inside, wifi",
        ),
        (
            "[\"wifi\", \"cellular\"]",
            "[\"wifi\", \"wifi\"]",
            "m.toml: mobile_node.failback.prefer: expected one interface or more, each once",
        ),
        (
            "[\"wifi\", \"cellular\"]",
            "[\"wifi\"], hold_time = \"5\"",
            "m.toml:16: failback: \"5\": expected a number with ns, us, ms, s, min, h or d, up to ten years, such as \"100 ms\"",
        ),
        (
            "[\"wifi\", \"cellular\"]",
            "[\"wifi\"], hold_time = \"-5 s\"",
            "m.toml:16: failback: \"-5 s\": expected a number with ns, us, ms, s, min, h or d, up to ten years, such as \"100 ms\"",
        ),
        (
            "networks =",
            "lifetime = \"3 s\"\nnetworks =",
            "m.toml:17: lifetime: \"3 s\": expected a time from \"4 s\" to \"262140 s\"",
        ),
        (
            "device = \"wlan0\"",
            "device = \"cellular\"",
            "m.toml: interfaces.wifi.device: the device \"cellular\" belongs to the interface \"cellular\"; expected another",
        ),
        (
            "device = \"wlan0\"",
            "device = \"tun%d\"",
            "m.toml: interfaces.wifi.device: \"tun%d\" is not the name of a device; expected 1 to 15 bytes without spaces, \"/\", \":\" and \"%\", or another name by the key `device`",
        ),
        (
            "home_address = \"2001:db8:100::a\"",
            "home_address = \"2001:db8:101::a\"",
            "m.toml: mobile_node.home_address: 2001:db8:101::a is not in the home prefix, 2001:db8:100::/64; expected an address of it",
        ),
        (
            "networks = [\"2001:db8:7::/64\"]",
            "networks = [\"2001:db8:8::/64\"]",
            "m.toml: mobile_node.networks: no route leads to 2001:db8:8::/64; expected the key routes.\"2001:db8:8::/64\"",
        ),
        (
            "networks = [\"2001:db8:7::/64\"]",
            "networks = [\"10.1.0.1/16\"]",
            "m.toml:17: networks: \"10.1.0.1/16\": expected an IPv4 or IPv6 prefix with its length and no host bits set, such as \"10.1.0.0/16\" or \"2001:db8:1::/64\"",
        ),
        (
            "networks = [\"2001:db8:7::/64\"]",
            "networks = [\"10.1.0.0/16\"]",
            "m.toml: mobile_node.networks: no route leads to 10.1.0.0/16; expected the key routes.\"10.1.0.0/16\"",
        ),
        (
            "home_prefix = \"2001:db8:100::/64\"",
            "home_prefix = \"10.1.0.0/16\"",
            "m.toml:14: home_prefix: \"10.1.0.0/16\": expected an IPv6 prefix with its length and no host bits set, such as \"2001:db8:1::/64\"",
        ),
        (
            "[mobile_node]",
            "[home_agent]\naddress = \"2001:db8:100::1\"\nhome_prefix = \"2001:db8:100::/64\"\nmobiles = [{ home_address = \"2001:db8:99::a\", key = \"00112233445566778899aabbccddeeff01234567\" }]\n[mobile_node]",
            "m.toml: home_agent.mobiles[0].home_address: 2001:db8:99::a is not in the home prefix, 2001:db8:100::/64; expected an address of it",
        ),
        (
            "[mobile_node]",
            "[access_routers.wifi]\nprefix = \"2001:db8::/48\"\n[mobile_node]",
            "m.toml: access_routers.wifi.prefix: 2001:db8::/48 has another length; expected 64 bits, as addresses are formed from it",
        ),
        (
            "[mobile_node]",
            "[access_routers.wifi]\nprefix = \"2001:db8::/64\"\nlink_local = \"2001:db8::1\"\n[mobile_node]",
            "m.toml: access_routers.wifi.link_local: 2001:db8::1 is not link-local; expected one of fe80::/10",
        ),
    ];
    for (text, instead, expected) in cases {
        assert!(MOBILE.contains(text), "{text}");
        let wrong = parse::<Config>(&MOBILE.replacen(text, instead, 1), "m.toml");
        assert_eq!(wrong.unwrap_err().to_string(), expected);
    }
    let nothing = parse::<Config>("[interfaces]\n", "m.toml").unwrap_err();
    assert_eq!(
        nothing.to_string(),
        "m.toml: interfaces: expected at least one"
    );
    let no_address = "[interfaces.a]\nkind = \"tun\"\n";
    let no_address = parse::<Config>(no_address, "m.toml").unwrap_err();
    let expected = "m.toml: addresses: the node has no address, nor has any of its layers; expected at least one";
    assert_eq!(no_address.to_string(), expected);
}
