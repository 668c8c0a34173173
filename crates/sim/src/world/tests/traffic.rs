//! Applications: counts and times by hand.

use super::*;

/// On the path of [`PAIR`] a UDP packet with 972 B of payload has 1000 B, and takes 8 ms and the delay of 10 ms.
const DATAGRAM: &str = r#"
    [[flows]]
    name = "f"
    from = "a"
    to = "b"
    transport = "udp"
"#;

#[test]
fn constant_datagrams_come_at_their_times() {
    // 9720 bit/s in blocks of 972 B: one every 0.8 s, from 1 s on while before 9 s: ten.
    let traffic = "traffic.kind = \"constant\"\ntraffic.rate = \"9720 bit/s\"\ntraffic.packet_size = \"972 B\"\nstart = \"1 s\"\nstop = \"9 s\"";
    let results = run(&scenario(20, &[PAIR, DATAGRAM, traffic]));
    let flow = flow(&results.summary, "f");
    assert_eq!((flow.delivered_bytes, flow.segments_sent), (9720, 10));
    // No wait was longer than the 18 ms that a datagram takes.
    near(flow.longest_stall_s, 0.018, 1e-9);
    near(flow.goodput_bps, 9720.0, 1e-6);
    let arrivals: Vec<f64> = packets(&results).iter().map(PacketRow::decided_s).collect();
    for (number, arrival) in arrivals.iter().enumerate() {
        near(*arrival, 1.018 + 0.8 * number as f64, 1e-9);
    }
}

#[test]
fn a_number_of_bytes_ends_with_a_short_datagram() {
    let traffic = "traffic.kind = \"constant\"\ntraffic.rate = \"8 kbit/s\"\ntraffic.packet_size = \"100 B\"\ntraffic.bytes = \"250 B\"";
    let results = run(&scenario(5, &[PAIR, DATAGRAM, traffic]));
    let flow = flow(&results.summary, "f");
    assert_eq!((flow.delivered_bytes, flow.segments_sent), (250, 3));
    // The last leaves at 0.2 s with 50 + 28 B: 0.624 ms and 10 ms.
    near(flow.completion_s.unwrap(), 0.210624, 1e-9);
}

#[test]
fn exact_on_and_off_times() {
    // On for 1 s at ten datagrams a second, off for 2 s: 30 datagrams in 9 s.
    let traffic = "traffic.kind = \"on-off\"\ntraffic.rate = \"8 kbit/s\"\ntraffic.packet_size = \"100 B\"\ntraffic.on = \"1 s\"\ntraffic.off = \"2 s\"\ntraffic.random = false";
    let results = run(&scenario(9, &[PAIR, DATAGRAM, traffic]));
    assert_eq!(flow(&results.summary, "f").delivered_bytes, 3000);
    let sent: Vec<i64> = packets(&results)
        .iter()
        .map(|row| row.sent / 1_000_000)
        .collect();
    assert_eq!(sent[..3], [0, 100, 200]);
    assert_eq!(sent[9..12], [900, 3000, 3100]);
}

/// Returns the longest stall of ten datagrams of 18 ms in the first second, one every 100 ms, and the next ten from 11
/// s on. The path is down for a while.
fn longest_stall_of_spurts(down_s: f64, up_s: f64) -> f64 {
    let traffic = "traffic.kind = \"on-off\"\ntraffic.rate = \"77760 bit/s\"\ntraffic.packet_size = \"972 B\"\ntraffic.on = \"1 s\"\ntraffic.off = \"10 s\"\ntraffic.random = false";
    let changes = [(down_s, "down"), (up_s, "up")].map(|(at, state)| {
        format!("[[changes]]\nat = \"{at} s\"\nlink = \"path\"\nstate = \"{state}\"\n")
    });
    let results = run(&scenario(20, &[PAIR, DATAGRAM, traffic, &changes.concat()]));
    let flow = flow(&results.summary, "f");
    let lost = flow.packets.to_sink.lost;
    assert_eq!(
        (flow.packets.to_sink.sent, flow.packets.to_sink.delivered),
        (20, 20 - lost)
    );
    flow.longest_stall_s
}

#[test]
fn the_silence_after_a_spurt_is_no_stall_though_its_last_datagram_is_lost() {
    // The datagram of 0.9 s meets a link that is down, and is lost at once: no receiver waits for it.
    near(longest_stall_of_spurts(0.85, 5.0), 0.018, 1e-9);
    // Lost on its way, 5 ms before its arrival.
    near(longest_stall_of_spurts(0.913, 5.0), 0.018, 1e-9);
}

#[test]
fn an_outage_within_a_spurt_is_a_stall() {
    // The datagrams of 0.4, 0.5 and 0.6 s are lost: the stall lasts from the first of them to the arrival of the one of
    // 0.7 s.
    near(longest_stall_of_spurts(0.35, 0.65), 0.7 + 0.018 - 0.4, 1e-9);
    // All from 0.4 s on are lost, the last one at 0.9 s: then nothing is under way any more.
    near(longest_stall_of_spurts(0.35, 5.0), 0.5, 1e-9);
}

#[test]
fn an_outage_until_the_end_lasts_until_the_source_stops() {
    let traffic = "traffic.kind = \"constant\"\ntraffic.rate = \"77760 bit/s\"\ntraffic.packet_size = \"972 B\"\nstop = \"2.05 s\"";
    let outage = "[[changes]]\nat = \"1.05 s\"\nlink = \"path\"\nstate = \"down\"\n";
    let results = run(&scenario(20, &[PAIR, DATAGRAM, traffic, outage]));
    let flow = flow(&results.summary, "f");
    // From the datagram of 1.1 s on nothing arrives.
    near(flow.longest_stall_s, 0.95, 1e-9);
    let counts = flow.packets.to_sink;
    assert_eq!(
        (counts.sent, counts.delivered, counts.lost_by.link_down),
        (21, 11, 10)
    );
}

#[test]
fn random_on_and_off_times_have_their_mean() {
    let traffic = "traffic.kind = \"on-off\"\ntraffic.rate = \"80 kbit/s\"\ntraffic.packet_size = \"100 B\"\ntraffic.on = \"1 s\"\ntraffic.off = \"3 s\"\n[record]\nseries = false\npackets = false";
    let results = run(&scenario(20_000, &[PAIR, DATAGRAM, traffic]));
    // The source is on for a quarter of the time. Over n = 5000 cycles the share's standard error is 0.25 × 0.75 × √2 /
    // √n, 0.0038 of 0.25 s; three of them. A block more for each time on: it begins with one.
    let share = flow(&results.summary, "f").goodput_bps / 80_000.0;
    near(share, 0.25 + 0.5 * 0.01 / 4.0, 0.0115);
}

#[test]
fn pings_measure_the_path_there_and_back() {
    let ping = |transport: &str, stack: &str| {
        let flow = format!(
            "[[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntraffic.kind = \"ping\"\ntransport.kind = \"{transport}\"\ntraffic.interval = \"0.5 s\"\ntraffic.size = \"72 B\"\ntraffic.count = 4\nstart = \"0.1 s\"\n{stack}"
        );
        run(&scenario(5, &[PAIR, &flow])).summary.flows.remove(0)
    };
    // 72 B and 28 B of headers, or 40 of TCP's: 0.8 or 0.896 ms each way, and 10 ms.
    for (transport, rtt) in [("icmp", 0.0216), ("udp", 0.0216)] {
        let flow = ping(transport, "");
        let result = flow.ping.unwrap();
        assert_eq!((result.sent, result.answered), (4, 4));
        near(result.mean_rtt_s.unwrap(), rtt, 1e-9);
        near(flow.completion_s.unwrap(), 1.5 + rtt, 1e-9);
        near(flow.longest_stall_s, rtt, 1e-9);
    }
    // Over TCP the first waits for the handshake: SYN and SYN ACK of 40 to 60 B add 20.64 to 20.96 ms.
    let result = ping("tcp", "transport.profile = \"rfc\"").ping.unwrap();
    assert_eq!((result.sent, result.answered), (4, 4));
    near(result.mean_rtt_s.unwrap(), 0.021792 + 0.0208 / 4.0, 0.0001);
}

#[test]
fn lost_pings_are_counted() {
    let flow = "[[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntraffic.kind = \"ping\"\ntraffic.interval = \"1 s\"\ntraffic.count = 10\n[[changes]]\nat = \"2.5 s\"\nlink = \"path\"\nstate = \"down\"\n[[changes]]\nat = \"4.5 s\"\nlink = \"path\"\nstate = \"up\"";
    let results = run(&scenario(20, &[PAIR, flow]));
    let flow = super::flow(&results.summary, "f");
    let result = flow.ping.unwrap();
    // The pings of 3 s and 4 s are lost.
    assert_eq!(
        (result.sent, result.answered, flow.lost_packets),
        (10, 8, 2)
    );
    assert_eq!(flow.completion_s, None);
    // From the request at 3 s to the reply to the one at 5 s: 84 B take 0.672 ms each way.
    near(flow.longest_stall_s, 2.021344, 1e-9);
    let samples = series(&results, "flow f", "round-trip time");
    assert_eq!(samples.len(), 8);
    assert!(
        samples
            .iter()
            .all(|&(_, rtt)| (rtt - 0.021344).abs() < 1e-9)
    );
}

#[test]
fn pages_take_a_request_and_a_transfer_each() {
    let flow = "[[flows]]\nname = \"f\"\nfrom = \"b\"\nto = \"a\"\ntraffic.kind = \"pages\"\ntraffic.request = \"160 B\"\ntraffic.page = \"1060 B\"\ntraffic.think_time = \"2 s\"\ntraffic.count = 3\ntransport.sack = false\ntransport.window_scaling = false\ntransport.delayed_ack = \"off\"";
    let results = run(&scenario(20, &[PAIR, flow]));
    let flow = super::flow(&results.summary, "f");
    assert_eq!(flow.delivered_bytes, 3180);
    // A page: request of 200 B (1.6 ms), answer of 1100 B (8.8 ms), and 10 ms each way; of the answer's
    // server the acknowledgment of the request goes ahead in 40 B (0.32 ms). The handshake before the first:
    // SYN and SYN ACK of 44 B (0.352 ms each), 20 ms, and the ACK (0.32 ms) ahead of the request.
    let page = 0.0016 + 0.0088 + 0.020;
    let first = 2.0 * 0.000352 + 0.020 + 0.00032 + page;
    near(
        flow.completion_s.unwrap(),
        first + 2.0 * (2.0 + page),
        0.0011,
    );
    near(flow.longest_stall_s, first, 0.0011);
}

#[test]
fn a_constant_rate_over_tcp() {
    let flow = "[[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntransport.profile = \"rfc\"\ntraffic.kind = \"constant\"\ntraffic.rate = \"80 kbit/s\"\ntraffic.packet_size = \"1000 B\"\ntraffic.bytes = \"20 kB\"\ntransport.nagle = false";
    let results = run(&scenario(10, &[PAIR, flow]));
    let flow = super::flow(&results.summary, "f");
    assert_eq!(flow.delivered_bytes, 20_000);
    // The last block leaves at 1.9 s with 1040 B: 8.32 ms and 10 ms.
    near(flow.completion_s.unwrap(), 1.91832, 1e-6);
}

#[test]
fn a_stopped_transfer_delivers_its_written_data_and_closes() {
    let flow = "[[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\nstop = \"3 s\"\ntransport.send_buffer = \"20 kB\"";
    let results = run(&scenario(60, &[PAIR, flow]));
    let flow = super::flow(&results.summary, "f");
    // 1 Mbit/s for 3 s, the window's slow start included, and at most a buffer of 20 kB more.
    near(
        flow.delivered_bytes as f64,
        375_000.0 * 1460.0 / 1500.0,
        21_000.0,
    );
    assert!(flow.longest_stall_s < 0.5, "{}", flow.longest_stall_s);
    assert_eq!(flow.failure, None);
    let last = packets(&results).iter().map(|row| row.sent).max().unwrap();
    assert!(last < 4_000_000_000, "{last}");
}

#[test]
fn starts_are_spread_over_their_jitter() {
    let flows: String = (0..200)
        .map(|n| format!("[[flows]]\nname = \"f{n}\"\nfrom = \"a\"\nto = \"b\"\ntransport = \"udp\"\ntraffic.kind = \"constant\"\ntraffic.rate = \"8 kbit/s\"\ntraffic.bytes = \"10 B\"\nstart = \"1 s\"\nstart_jitter = \"2 s\"\n"))
        .collect();
    let sent: Vec<f64> = packets(&run(&scenario(10, &[PAIR, &flows])))
        .iter()
        .map(|row| row.sent as f64 / 1e9)
        .collect();
    assert!(sent.iter().all(|at| (1.0..3.0).contains(at)));
    // The mean of 200 uniform draws over 2 s: standard error 2 / √12 / √200 = 0.041 s; four of them.
    near(sent.iter().sum::<f64>() / 200.0, 2.0, 0.164);
}

#[test]
fn an_unreachable_port_is_reported_in_words() {
    let flow = "[[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntransport.profile = \"rfc\"\ntraffic.bytes = \"10 kB\"\ntransport.syn_retries = 2\n[[changes]]\nat = \"0 s\"\nlink = \"path\"\nstate = \"down\"";
    let results = run(&scenario(60, &[PAIR, flow]));
    let flow = super::flow(&results.summary, "f");
    // SYNs at 0, 1 and 3 s (RFC 6298: 1 s, doubled each time), given up at 7 s.
    assert_eq!((flow.segments_sent, flow.timeouts), (3, Some(3)));
    assert!(flow.failure.as_deref().unwrap().contains("timed out"));
    near(flow.longest_stall_s, 60.0, 1e-9);
}

/// RFC 1644: hosts that have communicated before open a connection with the request. Over a satellite, 580 ms there and
/// back, the second of two pages arrives after one round trip instead of two; the first, and both without T/TCP, shake
/// hands.
#[test]
fn a_short_transaction_saves_a_round_trip() {
    let completions = |setting: &str| {
        let page = |name: &str, start: &str| {
            format!(
                "[[flows]]\nname = \"{name}\"\nfrom = \"server\"\nto = \"client\"\nstart = \"{start}\"\ntraffic.kind = \"pages\"\ntraffic.page = \"900 B\"\ntraffic.count = 1\n{setting}"
            )
        };
        let link = "[links.satellite]\nbetween = [\"server\", \"client\"]\nkind = \"wired\"\nrate = \"1 Gbit/s\"\ndelay = \"290 ms\"";
        let results = run(&scenario(
            20,
            &[link, &page("first", "0 s"), &page("second", "5 s")],
        ));
        ["first", "second"].map(|name| flow(&results.summary, name).completion_s.unwrap())
    };
    for profile in ["rfc", "linux-6", "ns2", "scps-tp"] {
        let plain = format!("transport.profile = \"{profile}\"");
        let [first, second] = completions(&plain);
        near(first, 1.160, 1e-3);
        near(second, 1.160, 1e-3);
        let [first, second] =
            completions(&format!("{plain}\ntransport.transaction_opening = true"));
        near(first, 1.160, 1e-3);
        near(second, 0.580, 1e-3);
    }
}
