//! One-way delays of flows and of classes of flows, against closed forms and against the table of packets.

use super::*;

/// A UDP flow over [`PAIR`] at this rate, in datagrams of 972 B, which have 1000 B with their headers.
fn datagrams(name: &str, rate: &str, more: &str) -> String {
    format!(
        "[[flows]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\ntransport = \"udp\"\ntraffic = \"constant\"\n\
         rate = \"{rate}\"\npacket_size = \"972 B\"\n{more}\n"
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

/// Over the home agent: five links, of which the last three carry 40 B more.
#[test]
fn a_tunnel_s_delay_is_from_the_sender_to_the_mobile() {
    let flow_text = "[[flows]]\nname = \"f\"\nfrom = \"correspondent\"\nto = \"aircraft\"\ntransport = \"udp\"\n\
        traffic = \"constant\"\nrate = \"76160 bit/s\"\npacket_size = \"952 B\"\nstart = \"10 s\"\nstop = \"15 s\"\n";
    let (links, mobiles) = (tunnels::LINKS, tunnels::aircraft(false));
    let results = run(&scenario(20, &[links, &mobiles, flow_text]));
    let delay = flow(&results.summary, "f").delay.unwrap();
    assert_eq!(delay.packets, 50);
    let propagation = 4.0 * 0.005 + 0.020;
    let serialisation = 2.0 * 8e3 / 100e6 + 2.0 * 8.32e3 / 100e6 + 8.32e3 / 10e6;
    near(delay.mean_s, propagation + serialisation, 1e-8);
    near(delay.p50_s, propagation + serialisation, 1e-8);
}

#[test]
fn quantiles_of_a_download_are_those_of_its_packets() {
    let download = "[[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\nbytes = \"1 MB\"\n";
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
    // 1.2 Mbit/s where 1 Mbit/s goes: some are lost, and some under way when all ends.
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
