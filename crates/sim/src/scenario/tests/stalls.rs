//! Warnings of connections that stall forever.

use super::*;

const WORLD: &str = r#"
name = "stalls"
duration = "10 s"
links.home = { between = ["agent", "mobile"], kind = "wired" }
links.away = { between = ["visited", "mobile"], kind = "wired" }
links.ground = { between = ["visited", "agent"], kind = "wired" }
links.line = { between = ["server", "agent"], kind = "wired" }
mobiles.mobile.timetable = [{ at = "0 s", attach = "home" }, { at = "5 s", attach = "away" }]
"#;

fn warnings(added: &str) -> Vec<String> {
    let loaded = parse(&format!("{WORLD}{added}"), "stalls", Path::new("."), &[]);
    let warnings = loaded.expect("a scenario").warnings;
    let stalls = warnings.into_iter().map(|warning| warning.to_string());
    stalls.filter(|text| text.contains("for ever")).collect()
}

/// RFC 8200 section 5: every link takes 1280 B; RFC 2473 section 7.1: a tunnel adds 40 B to that.
#[test]
fn a_link_that_becomes_too_narrow_for_a_tunnel_is_warned_of() {
    let with = |mtu: &str, protocol: &str| {
        let change = format!("[[changes]]\nat = \"1 s\"\nlink = \"ground\"\nmtu = \"{mtu}\"\n");
        warnings(&format!("{change}{protocol}"))
    };
    let protocol = "[home_agents.agent]\nprefix = \"2001:db8:1::/64\"\n
        [mobiles.mobile.mobility]\nprotocol = \"mobile-ipv6\"\nhome_agent = \"agent\"\n";
    assert_eq!(with("1319 B", protocol).len(), 1);
    assert_eq!(with("1320 B", protocol).len(), 0);
    assert_eq!(with("1000 B", "").len(), 0);
}

#[test]
fn a_split_connection_whose_mobile_changes_its_gateway_is_warned_of() {
    let with = |remedy: &str| {
        warnings(&format!(
            "[[flows]]\nname = \"f\"\nfrom = \"server\"\nto = \"mobile\"\nremedies = \"{remedy}\"\n"
        ))
    };
    assert_eq!(with("split-connection").len(), 1);
    assert_eq!(with("satellite-pep").len(), 0);
}
