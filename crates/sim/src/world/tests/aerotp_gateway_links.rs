//! Gateways with several links between them, and the turns of the connections that share a link.

use super::*;

/// Returns two gateways with two links between them; rates in Mbit/s and delays in milliseconds.
fn two_links(satellite: (u32, u32), mast: (u32, u32)) -> String {
    let link = |name: &str, ends: &str, (rate, delay): (u32, u32)| {
        format!(
            "[links.{name}]\nbetween = {ends}\nkind = \"wired\"\nrate = \"{rate} Mbit/s\"\ndelay = \"{delay} ms\"\nqueue = \"250 packets\"\n"
        )
    };
    let across = r#"["aboard", "below"]"#;
    [
        link("front", r#"["client", "aboard"]"#, (10_000, 0)),
        link("satellite", across, satellite),
        link("mast", across, mast),
        link("back", r#"["below", "server"]"#, (10_000, 0)),
        "[aerotp_gateways.pair]\nlinks = [\"satellite\", \"mast\"]\nrules = [{ coding = \"none\" }]\n".to_owned(),
    ]
    .concat()
}

fn download(name: &str, megabytes: u32) -> String {
    format!(
        "[[flows]]\nname = \"{name}\"\nfrom = \"server\"\nto = \"client\"\ntraffic.bytes = \"{megabytes} MB\"\n\
         transport.profile = \"linux-6\"\n"
    )
}

fn change(at: &str, keys: &str) -> String {
    format!("[[changes]]\nat = \"{at}\"\nlink = \"satellite\"\n{keys}\n")
}

/// Links of 20 and 5 Mbit/s could carry so many megabytes of data in this time, in packets of 1500 B with 1454 B of
/// data.
fn possible_megabytes(seconds: f64) -> f64 {
    25.0 / 8.0 * seconds * 1454.0 / 1500.0
}

#[test]
fn one_download_and_many_get_nine_tenths_of_two_links() {
    for count in [1, 8] {
        let names: Vec<String> = (0..count).map(|number| format!("d{number}")).collect();
        let flows: Vec<String> = names
            .iter()
            .map(|name| download(name, 16 / count))
            .collect();
        let results = run(&scenario(
            30,
            &[&two_links((20, 40), (5, 10)), &flows.concat()],
        ));
        let flows = names.iter().map(|name| flow(&results.summary, name));
        let took: f64 = flows
            .map(|flow| {
                assert_eq!(flow.delivered_bytes, 16_000_000 / u64::from(count));
                // Nothing is lost, and no gap in a link's sequence is taken for a loss.
                assert_eq!(flow.lost_packets, 0);
                flow.completion_s.unwrap()
            })
            .fold(0.0, f64::max);
        let share = 16.0 / possible_megabytes(took);
        eprintln!("{count}: {took} s, {share}");
        assert!((0.9..1.0).contains(&share), "{count}: {share}");
    }
}

/// The faster link is away from 2 s to 6 s. Its state is reported, or all its packets are lost without a report. The near
/// gateway takes custody, so that both links are full by then.
#[test]
fn a_link_that_is_away_stalls_a_download_for_two_round_trips_at_most() {
    const ROUND_TRIP_S: f64 = 0.5;
    for (away, back) in [
        ("state = \"down\"", "state = \"up\""),
        ("packet_error_rate = 1.0", "packet_error_rate = 0.0"),
    ] {
        let parts = [
            &*two_links((20, 250), (5, 250))
                .replace("{ coding", "{ mode = \"near-reliable\", coding"),
            &download("file", 20),
            &change("2 s", away),
            &change("6 s", back),
        ];
        let results = run(&scenario(40, &parts));
        let flow = flow(&results.summary, "file");
        eprintln!(
            "{away}: {} s, {} s",
            flow.longest_stall_s,
            flow.completion_s.unwrap()
        );
        assert_eq!(flow.delivered_bytes, 20_000_000, "{away}");
        assert!(
            flow.longest_stall_s <= 2.0 * ROUND_TRIP_S,
            "{away}: {}",
            flow.longest_stall_s
        );
        let rows = packets(&results);
        let data = |from: f64, to: f64| {
            let of_link = rows
                .iter()
                .filter(|row| row.link == "satellite" && row.payload > 1000);
            of_link
                .filter(|row| (from..to).contains(&(row.sent as f64 / 1e9)))
                .count()
        };
        // Nothing but probes leaves over the dead link; over the link that is back, data leaves within a round trip
        // and the interval of the probes.
        assert_eq!(data(3.5, 6.0), 0, "{away}");
        assert!(data(6.0, 6.8) > 0, "{away}");
    }
}

/// In reliable mode the server's TCP has the acknowledgments of the client's: over 290 ms there, and by the mast's 15 ms back. From ten
/// segments it fills the links within seven such round trips, by doubling, and nothing makes it believe in a loss.
#[test]
fn a_reliable_download_fills_links_of_unequal_delay() {
    const ROUND_TRIP_S: f64 = 0.305;
    let parts = [&*two_links((20, 290), (5, 15)), &download("file", 10)];
    let results = run(&scenario(30, &parts));
    let flow = flow(&results.summary, "file");
    let (took, least) = (flow.completion_s.unwrap(), 10.0 / possible_megabytes(1.0));
    eprintln!("{took} s");
    assert!(took < least + 8.5 * ROUND_TRIP_S, "{took} s");
    assert_eq!((flow.retransmitted, flow.duplicate_acks), (Some(0), 0));
    assert_eq!(flow.lost_packets, 0);
}

/// Returns one link of 20 Mbit/s, and telemetry of 1 Mbit/s upwards in this class beside an upload that fills the link.
fn telemetry_beside_bulk(class: u8) -> String {
    let one = two_links((20, 40), (5, 10)).replace("[\"satellite\", \"mast\"]", "[\"satellite\"]");
    let rules = format!(
        "rules = [{{ code_point = 46, class = {class}, coding = \"none\" }}, {{ coding = \"none\" }}]"
    );
    let one = one.replace("rules = [{ coding = \"none\" }]", &rules);
    one + r#"
        [[flows]]
        name = "bulk"
        from = "client"
        to = "server"
        [[flows]]
        name = "telemetry"
        from = "client"
        to = "server"
        transport = "udp"
        code_point = 46
        traffic.kind = "constant"
        traffic.rate = "1 Mbit/s"
        traffic.packet_size = "1000 B"
        start = "2 s"
        stop = "6 s"
        "#
}

/// From the client's link to the server's: 40 ms, and two packets of 1500 B at 20 Mbit/s.
#[test]
fn telemetry_of_a_higher_class_waits_for_one_packet_of_a_bulk_transfer() {
    let waits = |class: u8| {
        let results = run(&scenario(7, &[&telemetry_beside_bulk(class)]));
        let rows = packets(&results);
        let own = |link: &'static str| {
            let of_link = rows
                .iter()
                .filter(move |row| row.link == link && row.flow == "telemetry");
            of_link.filter(|row| row.payload > 0)
        };
        let (left, came) = (own("front"), own("back"));
        let mut delays: Vec<f64> = left
            .zip(came)
            .map(|(left, came)| came.decided_s() - left.sent as f64 / 1e9)
            .collect();
        assert_eq!(delays.len(), 500);
        delays.sort_by(f64::total_cmp);
        let bulk = flow(&results.summary, "bulk").goodput_bps;
        eprintln!("class {class}: {} s, bulk {bulk}", delays[495]);
        assert!(bulk > 0.85 * 20e6, "{bulk}");
        delays[495]
    };
    let packet = 1500.0 * 8.0 / 20e6;
    assert!(waits(7) <= 0.04 + 2.0 * packet);
    // In the class of the transfer it waits for its turn among two connections, no longer for a queue.
    let equal = waits(0);
    assert!(
        (0.04 + packet..0.04 + 5.0 * packet).contains(&equal),
        "{equal}"
    );
}

/// Uploads that begin one after the other get equal shares of what remains.
#[test]
fn equal_bulk_transfers_share_a_link_equally() {
    let one = two_links((20, 40), (5, 10)).replace("[\"satellite\", \"mast\"]", "[\"satellite\"]");
    let flows = (0..4).map(|number| {
        format!(
            "[[flows]]\nname = \"u{number}\"\nfrom = \"client\"\nto = \"server\"\nstart = \"{} s\"\n",
            number
        )
    });
    let results = run(&scenario(12, &[&one, &flows.collect::<String>()]));
    let rows = packets(&results);
    let in_window = |row: &&PacketRow| {
        row.link == "back" && row.payload > 0 && (5.0..12.0).contains(&(row.sent as f64 / 1e9))
    };
    let share = |number: u32| {
        let own = rows.iter().filter(in_window);
        let own = own.filter(|row| row.flow == format!("u{number}"));
        own.map(|row| f64::from(row.payload)).sum::<f64>()
    };
    let shares: Vec<f64> = (0..4).map(share).collect();
    let sum: f64 = shares.iter().sum();
    eprintln!("{shares:?}");
    assert!(sum * 8.0 / 7.0 > 0.9 * 20e6 * 1454.0 / 1500.0);
    for share in shares {
        near(share / sum, 0.25, 0.02);
    }
}

#[test]
fn the_shipped_scenario_meets_its_expectations() {
    let results = run(include_str!("../../../../../scenarios/gateway-links.toml"));
    let download = flow(&results.summary, "download");
    assert_eq!(download.delivered_bytes, 40_000_000);
    assert!(
        download.completion_s.unwrap() < 30.0 && download.longest_stall_s < 1.2,
        "{download:?}"
    );
    let telemetry = flow(&results.summary, "telemetry");
    assert!(telemetry.lost_packets < 50, "{telemetry:?}");
}
