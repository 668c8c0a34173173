//! Handovers as timelines.
//!
//! A server and a router, and from there two access links to the laptop: `fast` of 1 Mbit/s and 20 ms, `slow`
//! of 100 kbit/s and 100 ms. The steady flow is a datagram of 1000 B every 100 ms: 8 ms on `fast`, 80 ms on
//! `slow`, 0.08 ms on the wire before, which has no delay.

use super::*;
use crate::world::summary::HandoverSummary;

const LINKS: &str = r#"
    [links.wire]
    between = ["server", "router"]
    kind = "wired"
    rate = "100 Mbit/s"
    delay = "0 ms"
    [links.fast]
    between = ["router", "laptop"]
    kind = "wired"
    rate = "1 Mbit/s"
    delay = "20 ms"
    [links.slow]
    between = ["router", "laptop"]
    kind = "wired"
    rate = "100 kbit/s"
    delay = "100 ms"
"#;

const STEADY: &str = r#"
    [[flows]]
    name = "f"
    from = "server"
    to = "laptop"
    transport = "udp"
    traffic.kind = "constant"
    traffic.rate = "77760 bit/s"
    traffic.packet_size = "972 B"
"#;

/// Returns a laptop that starts on `first`, then follows `entries`.
fn laptop(first: &str, entries: &str) -> String {
    format!("[mobiles.laptop]\ntimetable = [{{ at = \"0 s\", attach = \"{first}\" }}, {entries}]\n")
}

fn handover(results: &Results, number: usize) -> &HandoverSummary {
    &results.summary.handovers[number]
}

/// Returns the arrivals at the laptop on a link, in seconds.
fn arrivals(rows: &[PacketRow], link: &str) -> Vec<f64> {
    rows.iter()
        .filter(|row| row.link == link && row.down && row.is_delivered())
        .map(PacketRow::decided_s)
        .collect()
}

#[test]
fn a_soft_handover_loses_nothing_and_overtakes() {
    let mobile = laptop("slow", r#"{ at = "4.05 s", attach = "fast" }"#);
    let flow = STEADY.replace("77760", "155520"); // 20 a second, 1.6 times what `slow` carries
    let results = run(&scenario(10, &[LINKS, &mobile, &flow]));
    let rows = packets(&results);
    assert!(
        rows.iter()
            .all(|row| row.is_delivered() || row.fate == "under way")
    );
    // 81 datagrams left by 4.0 s; the last of them arrives after 81 × 80 ms and 100 ms.
    let slow = arrivals(&rows, "slow");
    assert_eq!(slow.len(), 81);
    near(slow[80], 0.00008 + 81.0 * 0.08 + 0.1, 1e-6);
    near(
        arrivals(&rows, "fast")[0],
        4.05 + 0.00008 + 0.008 + 0.02,
        1e-6,
    );
    let record = handover(&results, 0);
    assert_eq!((record.kind, record.lost_packets), ("soft", 0));
    // The last one over the old link arrives 2.5 s after the first over the new.
    let interruption = record.flows[0].packet_interruption_s;
    let first_over_new = 4.05 + 0.00008 + 0.008 + 0.02;
    near(
        interruption.to_sink.unwrap(),
        first_over_new - slow[80],
        1e-9,
    );
    assert_eq!(interruption.to_source, None);
    assert_eq!((record.at_s, record.completed_s), (4.05, Some(4.05)));
    assert_eq!(
        (record.from.as_deref(), record.to.as_deref()),
        (Some("slow"), Some("fast"))
    );
}

#[test]
fn an_overlap_ends_and_loses_the_rest() {
    let mobile = laptop(
        "slow",
        r#"{ at = "4.01 s", attach = "fast", overlap = "1 s" }"#,
    );
    let flow = STEADY.replace("77760", "155520");
    let results = run(&scenario(10, &[LINKS, &mobile, &flow]));
    let rows = packets(&results);
    let slow = arrivals(&rows, "slow");
    // 81 datagrams were sent that way; 61 of them arrive by 5.01 s, number n at 0.1 + 0.08 n.
    assert_eq!(slow.len(), 61);
    let lost: Vec<&PacketRow> = rows.iter().filter(|row| row.fate == "link down").collect();
    assert_eq!(lost.len(), 20);
    assert!(lost.iter().all(|row| row.decided == Some(5_010_000_000)));
    assert_eq!(handover(&results, 0).lost_packets, 20);
    assert_eq!(handover(&results, 0).flows[0].lost_packets, 20);
}

#[test]
fn the_old_queue_is_discarded_but_not_what_has_left_it() {
    let mobile = laptop(
        "slow",
        r#"{ at = "4.01 s", attach = "fast", old_queue = "discard" }"#,
    );
    let flow = STEADY.replace("77760", "155520");
    let results = run(&scenario(10, &[LINKS, &mobile, &flow]));
    let rows = packets(&results);
    // Number n begins at 0.08 (n - 1): 51 have begun by 4.01 s, 81 were sent.
    assert_eq!(arrivals(&rows, "slow").len(), 51);
    let discarded = rows.iter().filter(|row| row.fate == "discarded");
    assert_eq!(discarded.count(), 30);
    assert_eq!(handover(&results, 0).lost_packets, 30);
}

#[test]
fn nothing_passes_in_an_outage() {
    let mobile = laptop(
        "fast",
        r#"{ at = "2.01 s", attach = "slow", handover = "hard", outage = "1 s" }"#,
    );
    let results = run(&scenario(10, &[LINKS, &mobile, STEADY]));
    let rows = packets(&results);
    for link in ["fast", "slow"] {
        let inside = |at: &&f64| (2.01..3.01).contains(*at);
        assert_eq!(arrivals(&rows, link).iter().filter(inside).count(), 0);
    }
    // The datagram of 2.0 s is in flight and lost; those of 2.1 to 3.0 s, ten, are sent into the dead link.
    let lost: Vec<i64> = rows
        .iter()
        .filter(|row| row.fate == "link down")
        .map(|row| row.decided.unwrap() / 10_000_000)
        .collect();
    assert_eq!(
        lost,
        [201, 210, 220, 230, 240, 250, 260, 270, 280, 290, 300]
    );
    let record = handover(&results, 0);
    assert_eq!((record.at_s, record.completed_s), (2.01, Some(3.01)));
    assert_eq!((record.kind, record.lost_packets), ("hard", 11));
    // The first on the new link is the one of 3.1 s, 180.08 ms later; the last on the old one, of 1.9 s, arrived 28.08
    // ms after it was sent: but until 2.0 s none was due.
    near(record.flows[0].stall_s, 3.1 + 0.18008 - 2.0, 1e-6);
    assert_eq!(record.flows[0].lost_packets, 11);
    let lost = record.flows[0].lost_by;
    assert_eq!((lost.to_sink.link_down, lost.to_sink.total()), (11, 11));
    assert_eq!(lost.to_source.total(), 0);
    let interruption = record.flows[0].packet_interruption_s.to_sink.unwrap();
    near(interruption, (3.1 + 0.18008) - (1.9 + 0.02808), 1e-6);
    let counts = flow(&results.summary, "f").packets.to_sink;
    // One every 100 ms for 10 s, that at the end included. The last two are on their way over the slow link.
    assert_eq!((counts.sent, counts.lost, counts.under_way), (101, 11, 2));
    assert_eq!(counts.lost_by.link_down, 11);
    assert_eq!(counts.delivered, 88);
}

/// Both ways, each for itself: a download's segments and its acknowledgments.
#[test]
fn an_interruption_is_told_of_each_way() {
    let mobile = laptop(
        "fast",
        r#"{ at = "2.01 s", attach = "slow", handover = "hard", outage = "1 s" }"#,
    );
    let download = "[[flows]]\nname = \"f\"\nfrom = \"server\"\nto = \"laptop\"\n";
    let results = run(&scenario(20, &[LINKS, &mobile, download]));
    let rows = packets(&results);
    let ends = |down: bool, link: &str| {
        // The wire between router and server has no delay, and for an ACK of 52 B, or of more with SACK, takes some microseconds.
        let of = rows.iter().filter(move |row| {
            row.link == link && row.down == down && row.is_delivered() && row.flow == "f"
        });
        of.map(PacketRow::decided_s).collect::<Vec<f64>>()
    };
    let interruption = handover(&results, 0).flows[0].packet_interruption_s;
    for (down, measured) in [
        (true, interruption.to_sink),
        (false, interruption.to_source),
    ] {
        let (old, new) = (ends(down, "fast"), ends(down, "slow"));
        near(measured.unwrap(), new[0] - old[old.len() - 1], 1e-5);
        assert!(measured.unwrap() > 1.0);
    }
}

#[test]
fn a_link_that_buffers_loses_nothing() {
    let mobile = laptop(
        "fast",
        r#"{ at = "2.01 s", attach = "fast", handover = "hard", outage = "1 s", old_queue = "keep" }"#,
    );
    let results = run(&scenario(10, &[LINKS, &mobile, STEADY]));
    let rows = packets(&results);
    let fast = arrivals(&rows, "fast");
    assert_eq!(rows.iter().filter(|row| row.fate == "link down").count(), 0);
    // Eleven wait at 3.01 s, are serialised anew and arrive 8 ms apart.
    assert!(fast.iter().all(|at| !(2.01..3.038).contains(at)));
    for (number, at) in fast.iter().filter(|at| **at > 3.0).take(11).enumerate() {
        near(*at, 3.01 + 0.008 * (number + 1) as f64 + 0.02, 1e-6);
    }
    assert_eq!(handover(&results, 0).lost_packets, 0);
    near(handover(&results, 0).flows[0].stall_s, 3.038 - 2.0, 0.0001);
}

#[test]
fn packets_kept_by_a_link_wait_until_the_mobile_returns() {
    let mobile = laptop(
        "slow",
        r#"{ at = "2.01 s", attach = "fast", handover = "hard", old_queue = "keep" }, { at = "5 s", attach = "slow" }"#,
    );
    let flow = STEADY.replace("77760", "155520");
    let results = run(&scenario(9, &[LINKS, &mobile, &flow]));
    let rows = packets(&results);
    // 41 were sent by 2.0 s; those with 0.1 + 0.08 n ≤ 2.01 have arrived: 23.
    let slow = arrivals(&rows, "slow");
    assert_eq!(slow.iter().filter(|at| **at < 5.0).count(), 23);
    near(slow[23], 5.0 + 0.08 + 0.1, 1e-6);
    assert_eq!(rows.iter().filter(|row| row.fate == "link down").count(), 0);
}

#[test]
fn a_detached_mobile_gets_nothing_until_it_attaches() {
    let mobile = laptop(
        "fast",
        r#"{ at = "2.01 s", attach = "none" }, { at = "4.01 s", attach = "slow" }"#,
    );
    let results = run(&scenario(8, &[LINKS, &mobile, STEADY]));
    let rows = packets(&results);
    assert!(arrivals(&rows, "fast").iter().all(|at| *at < 2.01));
    near(arrivals(&rows, "slow")[0], 4.1 + 0.18008, 1e-6);
    let attached: Vec<(f64, f64)> = series(&results, "mobile laptop", "attached link");
    assert_eq!(attached, [(0.0, 1.0), (2.01, -1.0), (4.01, 2.0)]);
    assert_eq!(handover(&results, 0).to, None);
    // In flight: 1; sent into the dead link from 2.1 to 4.0 s: 20.
    assert_eq!(handover(&results, 0).lost_packets, 21);
    assert_eq!(handover(&results, 1).from, None);
    assert_eq!(handover(&results, 1).lost_packets, 0);
}

#[test]
fn an_outage_silences_an_older_link_too() {
    // `slow` still delivers its queue when `fast` is left hard.
    let mobile = laptop(
        "slow",
        r#"{ at = "4.01 s", attach = "fast" }, { at = "4.51 s", attach = "fast", handover = "hard", outage = "0.5 s" }"#,
    );
    let flow = STEADY.replace("77760", "155520");
    let results = run(&scenario(8, &[LINKS, &mobile, &flow]));
    let rows = packets(&results);
    for link in ["fast", "slow"] {
        assert!(
            arrivals(&rows, link)
                .iter()
                .all(|at| !(4.51..5.01).contains(at))
        );
    }
}

#[test]
fn deliveries_count_from_the_announcement() {
    let mobile = laptop(
        "fast",
        r#"{ at = "2.01 s", attach = "slow", handover = "hard", outage = "0.5 s", announced = "1 s" }, { at = "5.01 s", attach = "fast" }"#,
    );
    let results = run(&scenario(8, &[LINKS, &mobile, STEADY]));
    let rows = packets(&results);
    let mut all = [arrivals(&rows, "fast"), arrivals(&rows, "slow")].concat();
    all.sort_by(f64::total_cmp);
    let between = |from: f64, to: f64| {
        let inside = all.iter().filter(|&&at| from < at && at <= to);
        inside.count() as u64 * 972
    };
    let of = |number: usize| handover(&results, number).flows[0].delivered_bytes;
    assert_eq!(of(0), between(1.01, 5.01));
    assert_eq!(of(1), between(5.01, 8.0));
    assert_eq!(handover(&results, 0).announced_s, Some(1.01));
    assert_eq!(handover(&results, 1).announced_s, None);
    // Links of 1 Mbit/s and 100 kbit/s, without framing.
    let rates = handover(&results, 0);
    assert_eq!(rates.old_rate_bps, Some(1_000_000));
    assert_eq!(rates.new_rate_bps, Some(100_000));
}

#[test]
fn tcp_reaches_the_new_links_rate() {
    let mobile = laptop("slow", r#"{ at = "20 s", attach = "fast" }"#);
    let flow = "[[flows]]\nname = \"f\"\nfrom = \"server\"\nto = \"laptop\"";
    let results = run(&scenario(60, &[LINKS, &mobile, flow]));
    let entry = &handover(&results, 0).flows[0];
    // Ten times the rate: not before the window of ten segments' time, 120 ms, nor later than some tens of
    // round trips of 40 ms.
    let time = entry.time_to_90_percent_s.unwrap();
    assert!((0.1..3.0).contains(&time), "{time}");
    // And never, on a link slower than the flow: a steady flow below the rate.
    let mobile = laptop("slow", r#"{ at = "5 s", attach = "fast" }"#);
    let results = run(&scenario(20, &[LINKS, &mobile, STEADY]));
    assert_eq!(handover(&results, 0).flows[0].time_to_90_percent_s, None);
}

#[test]
fn spurious_retransmissions_bring_nothing_new() {
    // From a round trip of 40 ms to one of more than 1 s, with the timer's floor lowered to 200 ms: the timer expires
    // although nothing is lost, and the retransmitted data was delivered.
    let slow = LINKS.replace("\"100 ms\"", "\"600 ms\"");
    let mobile = laptop("fast", r#"{ at = "5 s", attach = "slow" }"#);
    let flow = "[[flows]]\nname = \"f\"\nfrom = \"server\"\nto = \"laptop\"\ntraffic.bytes = \"800 kB\"\ntransport.receive_buffer = \"8 kB\"\ntransport.minimum_rto = \"200 ms\"";
    let results = run(&scenario(300, &[&slow, &mobile, flow]));
    let rows = packets(&results);
    assert!(rows.iter().all(PacketRow::is_delivered));
    // By the table: segments with data that end at or before the highest byte that had arrived before them. Without
    // loss or reordering these are the receiver's segments without new data.
    let mut arrived: Vec<&PacketRow> = rows
        .iter()
        .filter(|row| ["fast", "slow"].contains(&row.link.as_str()) && row.down && row.payload > 0)
        .collect();
    arrived.sort_by_key(|row| row.decided);
    let first = arrived[0].sequence;
    let (mut highest, mut nothing_new) = (0, 0);
    for row in arrived {
        let end = row.sequence.wrapping_sub(first) + row.payload;
        nothing_new += u64::from(end <= highest);
        highest = highest.max(end);
    }
    let flow = super::flow(&results.summary, "f");
    assert!(nothing_new > 0);
    assert_eq!(flow.spurious_retransmitted, nothing_new);
    assert_eq!(
        handover(&results, 0).flows[0].spurious_retransmissions,
        nothing_new
    );
    assert_eq!(flow.delivered_bytes, 800_000);
}

#[test]
fn the_mobiles_own_packets_may_follow_later() {
    let mobile = laptop(
        "fast",
        r#"{ at = "2.01 s", attach = "slow", outgoing_after = "0.5 s" }"#,
    );
    let upload = STEADY
        .replace("from = \"server\"", "from = \"laptop\"")
        .replace("to = \"laptop\"", "to = \"server\"");
    let results = run(&scenario(5, &[LINKS, &mobile, &upload]));
    let rows = packets(&results);
    let sent = |link: &str| {
        let own = rows.iter().filter(|row| row.link == link && !row.down);
        own.map(|row| row.sent / 1_000_000).collect::<Vec<_>>()
    };
    assert_eq!(sent("fast").last(), Some(&2500));
    assert_eq!(sent("slow").first(), Some(&2600));
    assert_eq!(handover(&results, 0).lost_packets, 0);
}

#[test]
fn an_overlap_that_has_not_ended_does_not_silence_a_link_in_use_again() {
    let mobile = laptop(
        "fast",
        r#"{ at = "2 s", attach = "slow", overlap = "3 s", outgoing_after = "2 s" },
           { at = "3 s", attach = "fast" }"#,
    );
    let results = run(&scenario(8, &[LINKS, &mobile, STEADY]));
    let rows = packets(&results);
    assert!(rows.iter().all(|row| row.fate != "link down"));
    near(*arrivals(&rows, "fast").last().unwrap(), 7.92808, 1e-6);
}

/// Data still delivered by a fast old link is no sign that a slow new one carries its rate.
#[test]
fn the_new_links_rate_is_not_reached_over_the_old_link() {
    let results = run(include_str!("../../../../../studies/T/download.toml"));
    let handover = &results.summary.handovers[0].flows[0];
    let reached = handover.time_to_90_percent_s.unwrap();
    // The rate is watched over ten full segments, 15.5 s on the GSM link: 90 % of that.
    assert!(reached > 13.9, "{reached}");
}

/// An outage long after the handover is not the handover's: it has the same interruption in a run that ends before.
#[test]
fn a_later_outage_is_no_interruption_by_the_handover() {
    let voice = "transport = \"udp\"\ntraffic.kind = \"constant\"\ntraffic.rate = \"64 kbit/s\"\ntraffic.packet_size = \"160 B\"\n";
    let text = |flow: &str, seconds: u32| {
        format!(
            "name = \"test\"\nduration = \"{seconds} s\"\n\
             [links.old]\nbetween = [\"server\", \"laptop\"]\nkind = \"wired\"\nrate = \"1 Mbit/s\"\ndelay = \"20 ms\"\n\
             [links.new]\nbetween = [\"server\", \"laptop\"]\nkind = \"wired\"\nrate = \"1 Mbit/s\"\ndelay = \"20 ms\"\n\
             [mobiles.laptop]\ntimetable = [{{ at = \"0 s\", attach = \"old\" }},\n\
             {{ at = \"10 s\", attach = \"new\", handover = \"hard\", outage = \"300 ms\" }}]\n\
             [[changes]]\nat = \"40 s\"\nlink = \"new\"\nstate = \"down\"\n\
             [[changes]]\nat = \"50 s\"\nlink = \"new\"\nstate = \"up\"\n\
             [[flows]]\nname = \"f\"\nfrom = \"server\"\nto = \"laptop\"\n{flow}"
        )
    };
    let record = |flow, seconds| run(&text(flow, seconds)).summary.handovers[0].flows[0].clone();
    // 300 ms, at most one interval of 20 ms before it and one after it, and the delay; of a download its timeout, too.
    for (flow, most) in [(voice, 0.37), ("", 2.0)] {
        let (short, long) = (record(flow, 30), record(flow, 90));
        assert_eq!(short.interruption_s, long.interruption_s, "{flow}");
        assert!((0.3..most).contains(&short.interruption_s), "{short:?}");
        assert!(long.stall_s >= 10.0, "{long:?}");
    }
}
