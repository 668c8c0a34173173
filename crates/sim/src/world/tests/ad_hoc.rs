//! Congestion in a mobile ad hoc network, which AeroNP's header reports and routers' messages cannot: its relays are no
//! hosts.

use super::*;

/// Two nodes, each in range of a relay between them alone. Both send as fast as a node can, 5 Mbit/s, and the relay sends as
/// fast as one of them: each can have a half.
fn two_ways(keys: &str) -> Summary {
    let place = |name: &str, longitude: &str| {
        format!(
            "[links.air.tracks.{name}]\nposition = {{ latitude = 0, longitude = {longitude}, altitude = \"1 km\" }}\n"
        )
    };
    let flow = |name: &str, [from, to]: [&str; 2]| {
        format!(
            "[[flows]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\nstart = \"7 s\"\nstop = \"60 s\"\n\
             transport = {{ kind = \"aerotp\", mode = \"reliable\" }}\n"
        )
    };
    let link = format!(
        "[links.air]\nbetween = [\"ground\", \"article\"]\nkind = \"ad-hoc\"\nqueue = \"40 packets\"\n{keys}\n"
    );
    let text = scenario(
        60,
        &[
            &link,
            &place("ground", "0"),
            &place("relay", "0.2"),
            &place("article", "0.4"),
            &flow("up", ["ground", "article"]),
            &flow("down", ["article", "ground"]),
        ],
    );
    run(&text).summary
}

/// Returns packets lost at queues, goodput in Mbit/s of both flows, and the mean delay of packets in milliseconds.
fn measures(summary: &Summary) -> (u64, f64, f64) {
    let ways = |flow: &FlowSummary| [flow.packets.to_sink, flow.packets.to_source];
    let flows = &summary.flows;
    let queue = flows.iter().flat_map(ways).map(|way| way.lost_by.queue);
    let goodput = flows.iter().map(|flow| flow.goodput_bps).sum::<f64>() / 1e6;
    let delays = flows.iter().filter_map(|flow| flow.delay);
    let delay = delays.map(|delay| delay.mean_s * 1e3).sum::<f64>() / flows.len() as f64;
    (queue.sum(), goodput, delay)
}

#[test]
fn a_relay_s_congestion_indicator_replaces_losses_at_its_queue() {
    let indicated = measures(&two_ways("routing = \"aerorp\""));
    // AODV has no header in which a relay could tell.
    let silent = measures(&two_ways("routing = \"aodv\""));
    let ((lost, goodput, delay), (lost_silently, silent_goodput, silent_delay)) =
        (indicated, silent);
    assert!(lost_silently > 10_000, "{lost_silently}");
    assert!(4 * lost < lost_silently, "{lost} of {lost_silently}");
    assert!(
        goodput > 0.95 * silent_goodput,
        "{goodput} and {silent_goodput} Mbit/s"
    );
    assert!(delay < 0.8 * silent_delay, "{delay} and {silent_delay} ms");
}
