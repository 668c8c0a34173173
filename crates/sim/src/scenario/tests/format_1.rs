//! Files of format 1.

use super::*;

const FLOW: &str = "name = \"x\"\nduration = \"1 s\"\nlinks.l = { between = [\"a\", \"b\"], kind = \"wired\" }\n\
                    [[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n";

/// Returns the messages about a flow with these keys.
fn refused(keys: &str) -> String {
    let parsed = parse(&format!("{FLOW}{keys}"), "test.toml", Path::new(""), &[]);
    parsed.expect_err("format 1").to_string()
}

#[test]
fn keys_that_have_moved_are_shown_in_their_table() {
    for (keys, expected) in [
        (
            "profile = \"rfc\"\ncongestion = \"cubic\"\nbytes = \"1 MB\"\ntcp = { sack = false }",
            "test.toml:8:1: flows.f.profile: \"profile\", \"congestion\", \"tcp\" have moved in format 2; write transport = { \
             profile = \"rfc\", congestion = \"cubic\", sack = false }\n\
             test.toml:10:1: flows.f.bytes: \"bytes\" has moved in format 2; write traffic = { bytes = \"1 MB\" }",
        ),
        (
            "transport = \"udp\"\ntraffic = \"constant\"\nrate = \"8 kbit/s\"\npacket_size = \"20 B\"",
            "test.toml:10:1: flows.f.rate: \"rate\", \"packet_size\" have moved in format 2; write traffic = { \
             kind = \"constant\", rate = \"8 kbit/s\", packet_size = \"20 B\" }",
        ),
        (
            "transport = \"aerotp\"\naerotp.mode = \"reliable\"",
            "test.toml:9:1: flows.f.aerotp: \"aerotp\" has moved in format 2; write transport = { kind = \"aerotp\", \
             mode = \"reliable\" }",
        ),
    ] {
        assert_eq!(refused(keys), expected);
    }
}

#[test]
fn recordings_are_shown_in_their_table() {
    let text = "name = \"x\"\nduration = \"1 s\"\n[links.l]\nbetween = [\"a\", \"b\"]\nkind = \"trace\"\n\
                down = { bandwidth = \"a.bw\", delay = \"a.delay\", at_end = \"hold\" }\n\
                up = { mahimahi = \"a.up\", delay = \"20 ms\" }\n";
    let refused = parse(text, "test.toml", Path::new(""), &[]);
    assert_eq!(
        refused.expect_err("format 1").to_string(),
        "test.toml:6:10: links.l.down.bandwidth: \"bandwidth\", \"delay\", \"at_end\" have moved in format 2; write recording = { \
         kind = \"leoreplayer\", bandwidth = \"a.bw\", delay = \"a.delay\", at_end = \"hold\" }\n\
         test.toml:7:8: links.l.up.mahimahi: \"mahimahi\" has moved in format 2; write recording = { kind = \"mahimahi\", file = \"a.up\" }"
    );
}

#[test]
fn the_tables_shown_are_valid() {
    let keys = "transport = \"aerotp\"\naerotp = { mode = \"unreliable-connection\" }\ntraffic = \"constant\"\nrate = \"8 kbit/s\"";
    let said = refused(keys);
    let now = said
        .lines()
        .map(|line| line.split_once("; write ").unwrap().1);
    let text = format!("{FLOW}{}", now.collect::<Vec<_>>().join("\n"));
    parsed(&text);
}
