//! Packets for a mobile without a binding wait at its home agent as at any router that resolves an address (RFC 4861
//! section 7.2.2).

use super::signals::{first, signals};
use super::*;

/// Returns a world with a correspondent 20 ms from the home agent, which is 70 ms from the mobile. The cell is down
/// until `up`.
fn world(protocol: &str, up: &str) -> String {
    let (agent, mobility) = match protocol {
        "mobile-ipv6" => (
            "prefix = \"2001:db8:1::/64\"\nduplicate_address_detection = \"unique-prefix\"",
            ", duplicate_address_detection = \"icao-address\"",
        ),
        _ => ("prefix = \"192.0.2.0/24\"", ""),
    };
    let link = |name: &str, from: &str, to: &str, rate: &str, delay: &str| {
        format!(
            "[links.{name}]\nbetween = [\"{from}\", \"{to}\"]\nkind = \"wired\"\nrate = \"{rate}\"\ndelay = \"{delay}\"\n"
        )
    };
    [
        link("cell", "router", "mobile", "1 Mbit/s", "50 ms"),
        link("access-ground", "router", "hub", "100 Mbit/s", "10 ms"),
        link("home-ground", "home-agent", "hub", "100 Mbit/s", "10 ms"),
        link("ground", "correspondent", "hub", "100 Mbit/s", "10 ms"),
        format!("[home_agents.home-agent]\n{agent}\n"),
        format!(
            "[mobiles.mobile]\ntimetable = [{{ at = \"0 s\", attach = \"cell\" }}]\n\
             mobility = {{ protocol = \"{protocol}\", home_agent = \"home-agent\"{mobility} }}\n"
        ),
        "[[changes]]\nat = \"0 s\"\nlink = \"cell\"\nstate = \"down\"\n".to_owned(),
        format!("[[changes]]\nat = \"{up}\"\nlink = \"cell\"\nstate = \"up\"\n"),
        "[[flows]]\nname = \"download\"\nfrom = \"correspondent\"\nto = \"mobile\"\ntransport.profile = \"linux-6\"\n\
         traffic.bytes = \"100 kB\"\nstart = \"5 s\"\n"
            .to_owned(),
    ]
    .concat()
}

fn on<'a>(rows: &'a [PacketRow], link: &str) -> Vec<&'a PacketRow> {
    let of_flow = |row: &&PacketRow| row.link == link && row.flow == "download";
    rows.iter().filter(of_flow).collect()
}

#[test]
fn what_comes_before_the_first_binding_waits_for_it() {
    for (protocol, answer) in [
        ("mobile-ipv6", "Binding Acknowledgement"),
        ("mobile-ipv4", "Registration Reply"),
    ] {
        let results = run(&scenario(20, &[&world(protocol, "6 s")]));
        let rows = packets(&results);
        let bound = first(&signals(&results), answer, 6.0).sent_s;
        assert!((6.05..7.0).contains(&bound), "{bound}");
        // Both SYNs that have arrived by then (`tcp_syn_linear_timeouts`) continue with the answer.
        let waited = on(&rows, "home-ground");
        let waited: Vec<_> = waited.iter().filter(|row| !row.down).collect();
        assert!(waited.len() >= 2);
        let syns = on(&rows, "cell");
        let sent = syns[0].sent as f64 / 1e9;
        near(sent - bound, 0.02, 0.001);
        assert!(syns[0].is_delivered());
        let download = flow(&results.summary, "download");
        assert_eq!(
            (&download.failure, download.delivered_bytes),
            (&None, 100_000)
        );
        assert_eq!(results.summary.discarded.no_route, 0);
    }
}

/// A download that Linux gives up: three SYNs, a second apart, wait for three seconds from the first one's arrival on.
#[test]
fn what_nobody_comes_for_is_answered_after_three_seconds() {
    for protocol in ["mobile-ipv6", "mobile-ipv4"] {
        let results = run(&scenario(20, &[&world(protocol, "19 s")]));
        let rows = packets(&results);
        let home = on(&rows, "home-ground");
        let (syns, answers): (Vec<_>, Vec<_>) = home
            .into_iter()
            .partition(|row: &&PacketRow| row.decided_s() < 8.0);
        assert_eq!((syns.len(), answers.len()), (3, 3));
        for answer in answers {
            assert_eq!(answer.sent, syns[0].decided.unwrap() + 3_000_000_000);
        }
        assert!(on(&rows, "cell").is_empty());
        let download = flow(&results.summary, "download");
        assert!(download.failure.is_some(), "{download:?}");
        assert_eq!(results.summary.discarded.no_route, 3);
        let sent = download.packets.to_sink;
        assert_eq!((sent.sent, sent.lost_by.buffer, sent.under_way), (3, 3, 0));
    }
}
