//! One-way delays of flows and of classes of flows, against closed forms and against the table of packets.

use super::*;

/// Returns a UDP flow over [`PAIR`] at this rate, in datagrams of 972 B, which have 1000 B with their headers.
fn datagrams(name: &str, rate: &str, more: &str) -> String {
    format!(
        "[[flows]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\ntransport = \"udp\"\ntraffic.kind = \"constant\"\n\
         traffic.rate = \"{rate}\"\ntraffic.packet_size = \"972 B\"\n{more}\n"
    )
}

/// Delays of a flow's packets with payload over [`PAIR`] from `a` to `b`, in order.
fn sorted(results: &Results, flow: &str) -> Vec<f64> {
    let rows = packets(results);
    let of = rows
        .iter()
        .filter(|row| row.flow == flow && row.down && row.payload > 0 && row.is_delivered());
    let mut delays: Vec<i64> = of.map(|row| row.decided.unwrap() - row.sent).collect();
    delays.sort_unstable();
    delays.iter().map(|&nanos| nanos as f64 / 1e9).collect()
}

#[test]
fn on_an_idle_path_all_is_propagation_and_serialisation() {
    let text = scenario(20, &[PAIR, &datagrams("f", "9720 bit/s", "stop = \"8 s\"")]);
    let delay = flow(&run(&text).summary, "f").delay.unwrap();
    assert_eq!(delay.packets, 10);
    // 1000 B at 1 Mbit/s, and 10 ms.
    for value in [
        delay.mean_s,
        delay.p5_s,
        delay.p50_s,
        delay.p99_9_s,
        delay.largest_s,
    ] {
        near(value, 0.018, 1e-9);
    }
    let late = "start = \"19.99 s\"";
    let text = scenario(20, &[PAIR, &datagrams("f", "9720 bit/s", late)]);
    assert_eq!(flow(&run(&text).summary, "f").delay, None);
}

/// A link with 1 Mbit/s and 10 ms from `a` to `b`, and a slower way back: 100 kbit/s and 40 ms.
const UNEQUAL: &str = r#"
    [links.path]
    between = ["a", "b"]
    kind = "wired"
    queue = "1000 packets"
    down = { rate = "1 Mbit/s", delay = "10 ms" }
    up = { rate = "100 kbit/s", delay = "40 ms" }
"#;

/// Each way over the link takes its own propagation, and 800 bits at its own rate.
#[test]
fn requests_and_answers_have_the_delay_of_their_own_way() {
    let (there, back) = (0.010 + 800.0 / 1e6, 0.040 + 800.0 / 1e5);
    for (ends, transport, [to_sink, to_source]) in [
        ("from = \"a\"\nto = \"b\"", "udp", [there, back]),
        ("from = \"a\"\nto = \"b\"", "icmp", [there, back]),
        ("from = \"b\"\nto = \"a\"", "udp", [back, there]),
    ] {
        let ping = format!(
            "[[flows]]\nname = \"f\"\n{ends}\ntransport.kind = \"{transport}\"\ntraffic.kind = \"ping\"\n\
             traffic.size = \"72 B\"\ntraffic.count = 5\n"
        );
        let results = run(&scenario(20, &[UNEQUAL, &ping]));
        let flow = flow(&results.summary, "f");
        let ways = [
            (flow.packet_delay.to_sink, to_sink),
            (flow.packet_delay.to_source, to_source),
        ];
        for (delay, expected) in ways {
            let delay = delay.unwrap();
            assert_eq!(delay.packets, 5);
            for value in [delay.mean_s, delay.p5_s, delay.p99_9_s, delay.largest_s] {
                near(value, expected, 1e-9);
            }
        }
        // Echoes carry no transport's payload.
        let of_data = flow.delay.map(|delay| delay.packets);
        assert_eq!(of_data, (transport == "udp").then_some(5));
    }
}

#[test]
fn a_way_without_packets_has_no_delay() {
    let text = scenario(20, &[UNEQUAL, &datagrams("f", "9720 bit/s", "")]);
    let results = run(&text);
    let flow = flow(&results.summary, "f");
    assert_eq!(flow.packet_delay.to_sink, flow.delay);
    assert_eq!(flow.packet_delay.to_source, None);
}

/// Acknowledgments without options: 40 B each, which find the way back idle.
#[test]
fn acknowledgments_are_packets_of_the_way_back() {
    let download = "[[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntraffic.bytes = \"1 MB\"\ntransport.profile = \"rfc\"\n\
        transport.timestamps = false\n";
    let results = run(&scenario(60, &[UNEQUAL, download]));
    let flow = flow(&results.summary, "f");
    let (there, back) = (flow.packet_delay.to_sink, flow.packet_delay.to_source);
    let (there, back) = (there.unwrap(), back.unwrap());
    for value in [back.p5_s, back.p50_s, back.p95_s] {
        near(value, 0.040 + 320.0 / 1e5, 0.01 * 0.0432);
    }
    assert_eq!(back.packets, flow.packets.to_source.delivered);
    let rows = packets(&results);
    let empty = rows.iter().filter(|row| row.down && row.payload == 0);
    let empty = empty.count() as u64;
    // At least the SYN, and the acknowledgment of its answer.
    assert!(empty >= 2);
    assert_eq!(there.packets, flow.delay.unwrap().packets + empty);
    assert_eq!(there.packets, flow.packets.to_sink.delivered);
    let took = |row: &PacketRow| (row.decided.unwrap() - row.sent) as f64 / 1e9;
    let of_back = rows.iter().filter(|row| !row.down).map(took);
    near(
        back.mean_s,
        of_back.clone().sum::<f64>() / back.packets as f64,
        1e-9,
    );
    near(back.largest_s, of_back.fold(0.0, f64::max), 1e-9);
}

/// Over the home agent: five links, of which the last three carry 40 B more.
#[test]
fn a_tunnel_s_delay_is_from_the_sender_to_the_mobile() {
    let flow_text = "[[flows]]\nname = \"f\"\nfrom = \"correspondent\"\nto = \"aircraft\"\ntransport = \"udp\"\n\
        traffic.kind = \"constant\"\ntraffic.rate = \"76160 bit/s\"\ntraffic.packet_size = \"952 B\"\nstart = \"10 s\"\nstop = \"15 s\"\n";
    let (links, mobiles) = (tunnels::LINKS, tunnels::aircraft(false));
    let results = run(&scenario(20, &[links, &mobiles, flow_text]));
    let delay = flow(&results.summary, "f").delay.unwrap();
    assert_eq!(delay.packets, 50);
    let propagation = 4.0 * 0.005 + 0.020;
    let serialisation = 2.0 * 8e3 / 100e6 + 2.0 * 8.32e3 / 100e6 + 8.32e3 / 10e6;
    near(delay.mean_s, propagation + serialisation, 1e-8);
    near(delay.p50_s, propagation + serialisation, 1e-8);
}

/// The answers go through the tunnel, too, and up a cell that is slower than down.
#[test]
fn a_tunnel_s_delay_back_is_from_the_mobile_to_the_sender() {
    let links = tunnels::LINKS.replacen(
        "delay = \"20 ms\"",
        "down.delay = \"20 ms\"\nup.delay = \"60 ms\"",
        1,
    );
    let ping = "[[flows]]\nname = \"f\"\nfrom = \"correspondent\"\nto = \"aircraft\"\ntransport = \"udp\"\n\
        traffic.kind = \"ping\"\ntraffic.size = \"952 B\"\nstart = \"10 s\"\ntraffic.count = 5\n";
    let results = run(&scenario(20, &[&links, &tunnels::aircraft(false), ping]));
    let ways = flow(&results.summary, "f").packet_delay;
    let serialisation = 2.0 * 8e3 / 100e6 + 2.0 * 8.32e3 / 100e6 + 8.32e3 / 10e6;
    for (delay, cell) in [(ways.to_sink, 0.020), (ways.to_source, 0.060)] {
        let delay = delay.unwrap();
        assert_eq!(delay.packets, 5);
        near(delay.mean_s, 4.0 * 0.005 + cell + serialisation, 1e-8);
    }
}

#[test]
fn quantiles_of_a_download_are_those_of_its_packets() {
    let download = "[[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntraffic.bytes = \"1 MB\"\n";
    let results = run(&scenario(20, &[PAIR, download]));
    let exact = sorted(&results, "f");
    let delay = flow(&results.summary, "f").delay.unwrap();
    assert_eq!(delay.packets, exact.len() as u64);
    let ranked = |share: f64| exact[(share * exact.len() as f64).ceil() as usize - 1];
    for (value, share) in [
        (delay.p5_s, 0.05),
        (delay.p50_s, 0.5),
        (delay.p95_s, 0.95),
        (delay.p99_s, 0.99),
        (delay.p99_9_s, 0.999),
    ] {
        near(value, ranked(share), 0.01 * ranked(share));
    }
    // The queue grows with the window: quantiles lie apart.
    assert!(delay.p95_s > 2.0 * delay.p5_s, "{delay:?}");
    near(delay.largest_s, ranked(1.0), 1e-9);
    near(
        delay.mean_s,
        exact.iter().sum::<f64>() / exact.len() as f64,
        1e-9,
    );
}

#[test]
fn a_class_sums_up_its_flows() {
    let path = PAIR.replace("1000 packets", "20 packets");
    let class = "class = \"voice\"";
    // 1.2 Mbit/s on a link of 1 Mbit/s: some packets are lost, and some are under way at the end.
    let flows = [
        datagrams("one", "500 kbit/s", class),
        datagrams("two", "300 kbit/s", class),
        datagrams("other", "400 kbit/s", ""),
    ];
    let results = run(&scenario(10, &[&path, &flows.concat()]));
    let [class] = &results.summary.classes[..] else {
        panic!("{:?}", results.summary.classes)
    };
    assert_eq!((class.name.as_str(), class.flows), ("voice", 2));
    let rows = packets(&results);
    let of_class = |row: &&PacketRow| row.flow == "one" || row.flow == "two";
    let count = |fates: &dyn Fn(&PacketRow) -> bool| {
        rows.iter()
            .filter(of_class)
            .filter(|row| fates(row))
            .count() as u64
    };
    let under_way = count(&|row| row.decided.is_none());
    assert!(under_way > 0);
    assert_eq!(class.sent_packets, count(&|_| true));
    assert_eq!(class.delivered_packets, count(&PacketRow::is_delivered));
    assert_eq!(
        class.lost_packets,
        count(&|row| row.decided.is_some() && !row.is_delivered())
    );
    assert!(class.lost_packets > 10);
    let mut both = sorted(&results, "one");
    both.extend(sorted(&results, "two"));
    let delay = class.delay.unwrap();
    assert_eq!(delay.packets, both.len() as u64);
    near(
        delay.mean_s,
        both.iter().sum::<f64>() / both.len() as f64,
        1e-9,
    );
    near(
        delay.largest_s,
        both.iter().copied().fold(0.0, f64::max),
        1e-9,
    );
}
