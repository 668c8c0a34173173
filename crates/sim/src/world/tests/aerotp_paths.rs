//! One AeroTP connection over two links of an aircraft at once.

use super::*;

/// Returns an aircraft with two links that meet again at the ground; rates in Mbit/s and delays in milliseconds.
fn links(satellite: (u32, u32), mast: (u32, u32)) -> String {
    let link = |name, ends, (rate, delay)| {
        format!(
            "[links.{name}]\nbetween = {ends}\nkind = \"wired\"\nrate = \"{rate} Mbit/s\"\ndelay = \"{delay} ms\"\nqueue = \"250 packets\"\n"
        )
    };
    [
        link("satellite", r#"["teleport", "aircraft"]"#, satellite),
        link("mast", r#"["station", "aircraft"]"#, mast),
        link("east", r#"["ground", "teleport"]"#, (1000, 1)),
        link("west", r#"["ground", "station"]"#, (1000, 1)),
    ]
    .concat()
}

fn file((from, to): (&str, &str), keys: &str) -> String {
    format!(
        "[[flows]]\nname = \"file\"\nfrom = \"{from}\"\nto = \"{to}\"\ntransport.kind = \"aerotp\"\n{keys}\n\
         transport.paths = [\"satellite\", \"mast\"]\n"
    )
}

fn outage(link: &str, from: &str, to: &str) -> String {
    format!(
        "[[changes]]\nat = \"{from}\"\nlink = \"{link}\"\nstate = \"down\"\n\
         [[changes]]\nat = \"{to}\"\nlink = \"{link}\"\nstate = \"up\"\n"
    )
}

const UP: (&str, &str) = ("aircraft", "ground");
const DOWN: (&str, &str) = ("ground", "aircraft");
const FOUR_MEGABYTES: &str = "traffic.bytes = \"4 MB\"\ntransport.coding = \"none\"";

/// Returns the number of packets with data that a link has delivered.
fn delivered(results: &Results, link: &str) -> usize {
    let rows = packets(results).into_iter();
    let of_link = |row: &PacketRow| row.link == link && row.payload > 0 && row.is_delivered();
    rows.filter(of_link).count()
}

/// 1 and 5 Mbit/s of packets of 1500 B with 1454 B of data carry 4 MB in 5.50 s; the last byte may take 0.27 s more.
#[test]
fn two_links_carry_the_sum_of_their_rates() {
    let least = 4e6 * 8.0 / (6e6 * 1454.0 / 1500.0);
    for ends in [UP, DOWN] {
        let results = run(&scenario(
            20,
            &[&links((1, 250), (5, 10)), &file(ends, FOUR_MEGABYTES)],
        ));
        let flow = super::flow(&results.summary, "file");
        assert_eq!(flow.delivered_bytes, 4_000_000);
        let took = flow.completion_s.unwrap();
        assert!((least..least + 0.35).contains(&took), "{took}");
        assert_eq!((flow.retransmitted.unwrap(), flow.lost_packets), (0, 0));
        // Each packet of data takes one of the two links, by their rates.
        let [satellite, mast] = ["satellite", "mast"].map(|link| delivered(&results, link) as f64);
        near(satellite / (satellite + mast), 1.0 / 6.0, 0.01);
        let [east, west] = ["east", "west"].map(|link| delivered(&results, link) as f64);
        assert_eq!((satellite, mast), (east, west));
    }
}

/// 5 of 6 Mbit/s are away for a second: 4 MB take 0.83 s longer, plus the time to notice. Each end learns of its own
/// link alone: the aircraft of the mast's, the ground of the western one.
#[test]
fn the_other_link_carries_on_alone() {
    let without = 4e6 * 8.0 / (6e6 * 1454.0 / 1500.0) + 5.0 / 6.0;
    for (ends, link) in [(UP, "mast"), (UP, "west"), (DOWN, "mast"), (DOWN, "west")] {
        let results = run(&scenario(
            20,
            &[
                &links((1, 250), (5, 10)),
                &file(ends, FOUR_MEGABYTES),
                &outage(link, "1 s", "2 s"),
            ],
        ));
        let flow = super::flow(&results.summary, "file");
        assert_eq!(flow.delivered_bytes, 4_000_000, "{link}");
        // The end needs 0.15 s to notice and 0.15 s to probe; lost packets take 0.5 s over the slower link.
        let took = flow.completion_s.unwrap() - without;
        assert!((0.0..0.8).contains(&took), "{link}: {took}");
        // The longest stall is the time of the lost packets over the satellite: 50 packets, and 0.25 s.
        assert!(
            flow.longest_stall_s < 1.2,
            "{link}: {}",
            flow.longest_stall_s
        );
        let rows = packets(&results);
        let between = |row: &&PacketRow| {
            row.link == "mast"
                && row.payload > 0
                && (1_400_000_000..2_000_000_000).contains(&row.sent)
        };
        assert_eq!(rows.iter().filter(between).count(), 0, "{link}");
        let after =
            |row: &&PacketRow| row.link == "mast" && row.payload > 0 && row.sent > 2_300_000_000;
        assert!(rows.iter().filter(after).count() > 1000, "{link}");
    }
}

/// Two links of the same rate take turns, and each carries four packets of a block of 4 and 4. No signal reports that
/// one is dead, and no peer answers.
#[test]
fn blocks_across_links_survive_the_silence_of_one() {
    let missing = |blocks: &str| {
        let keys = format!(
            "traffic.kind = \"constant\"\ntraffic.rate = \"800 kbit/s\"\ntraffic.packet_size = \"1000 B\"\ntraffic.bytes = \"2 MB\"\n\
             transport.mode = \"unreliable-connection\"\n{blocks}"
        );
        let results = run(&scenario(
            30,
            &[
                &links((5, 40), (5, 10)),
                &file(UP, &keys),
                &outage("west", "5 s", "15 s"),
            ],
        ));
        let flow = super::flow(&results.summary, "file").clone();
        let skipped = aerotp_of(&flow).skipped_bytes;
        assert_eq!(flow.delivered_bytes + skipped, 2_000_000);
        skipped
    };
    assert_eq!(missing("transport.blocks = { data = 4, repair = 4 }"), 0);
    // Half of the 100 packets in each of 10 s.
    near(missing("") as f64, 500_000.0, 5000.0);
}

#[test]
fn a_seed_decides_the_events_on_two_links() {
    let noisy = links((1, 250), (5, 10)).replace(
        "queue",
        "jitter = \"3 ms\"\npacket_error_rate = 0.02\nqueue",
    );
    let rows = |seed: u32| {
        let seed = format!("seed = {seed}");
        let results = run(&scenario(20, &[&seed, &noisy, &file(UP, FOUR_MEGABYTES)]));
        let flow = super::flow(&results.summary, "file");
        assert_eq!(flow.delivered_bytes, 4_000_000);
        format!("{:?}", packets(&results))
    };
    let [first, again, other] = [1, 1, 2].map(rows);
    assert!(first == again && first != other);
}

/// A host with paths is no router: the way from the station to the teleport is that over the ground.
#[test]
fn nothing_passes_through_a_host_with_paths() {
    let udp = "[[flows]]\nname = \"other\"\nfrom = \"station\"\nto = \"teleport\"\ntransport = \"udp\"\ntraffic.kind = \"constant\"\n\
               traffic.rate = \"80 kbit/s\"\ntraffic.packet_size = \"1000 B\"\ntraffic.bytes = \"10 kB\"";
    // With a longer way over the ground, that over the aircraft has fewer hops.
    let longer = links((1, 250), (5, 10))
        .replace(r#"["ground", "station"]"#, r#"["ground", "office"]"#)
        + "[links.last]\nbetween = [\"office\", \"station\"]\nkind = \"wired\"\nrate = \"1 Gbit/s\"\ndelay = \"1 ms\"\n";
    let results = run(&scenario(
        5,
        &[&longer, udp, &file(UP, "traffic.bytes = \"1 MB\"")],
    ));
    assert_eq!(
        super::flow(&results.summary, "other").delivered_bytes,
        10_000
    );
    let rows = packets(&results);
    let mut through = rows.iter().filter(|row| row.flow == "other");
    assert!(through.all(|row| !["satellite", "mast"].contains(&row.link.as_str())));
}

#[test]
fn the_shipped_scenario_meets_its_expectations() {
    let results = run(include_str!("../../../../../scenarios/two-links.toml"));
    let [recording, sensors] =
        ["recording", "sensors"].map(|name| super::flow(&results.summary, name).clone());
    assert_eq!(recording.delivered_bytes, 30_000_000, "{recording:?}");
    assert_eq!(sensors.delivered_bytes, 600_000, "{sensors:?}");
    assert!(recording.longest_stall_s < 1.0, "{recording:?}");
    assert!(sensors.longest_stall_s < 0.5, "{sensors:?}");
    // A packet that arrives after the code has restored it was sent once; one that was retransmitted although it had
    // arrived was sent in vain.
    assert_eq!(sensors.spurious_retransmitted, 0);
    assert!((1..=recording.retransmitted.unwrap()).contains(&recording.spurious_retransmitted));
}
