//! Sums in the summary of a flow's packets, which must add up and fit the packets that crossed the links.

use super::rows::Row;
use super::{Verdict, ensure};
use baton_sim::run::Results;
use baton_sim::world::packet_counts::{LossCounts, PacketSummary};
use baton_sim::world::summary::{FlowSummary, Summary};
use std::collections::{BTreeMap, BTreeSet};

/// Checks all flows.
pub fn check(results: &Results, rows: &[Row]) -> Verdict {
    let summary = &results.summary;
    for (index, flow) in summary.flows.iter().enumerate() {
        for way in [flow.packets.to_sink, flow.packets.to_source] {
            check_sums(&flow.name, &way)?;
        }
        let own: Vec<&Row> = rows.iter().filter(|row| row.flow == Some(index)).collect();
        check_rows(flow, &own)?;
        check_handovers(summary, flow)?;
    }
    Ok(())
}

/// Checks that every packet is sent once, and then is delivered, lost for one reason, or under way.
fn check_sums(name: &str, way: &PacketSummary) -> Verdict {
    ensure!(
        way.sent == way.delivered + way.lost + way.under_way,
        "{name}: packets do not add up: {way:?}"
    );
    ensure!(
        way.lost == way.lost_by.total(),
        "{name}: losses do not add up: {way:?}"
    );
    Ok(())
}

/// Checks the causes known to links, from the table of packets.
fn check_rows(flow: &FlowSummary, rows: &[&Row]) -> Verdict {
    let ways = [flow.packets.to_sink, flow.packets.to_source];
    let sum = |of: fn(&PacketSummary) -> u64| ways.iter().map(of).sum::<u64>();
    let numbers: BTreeSet<u64> = rows.iter().map(|row| row.number).collect();
    let (sent, on_links) = (sum(|way| way.sent), numbers.len() as u64);
    let by_hosts = sum(|way| way.lost_by.host);
    ensure!(
        on_links <= sent && sent - on_links <= by_hosts,
        "{}: {sent} sent, {on_links} of them on links, {by_hosts} given up by hosts",
        flow.name
    );
    let fates = |wanted: &[&str]| {
        let of = rows.iter().filter(|row| wanted.contains(&&*row.fate));
        of.count() as u64
    };
    let queue = fates(&["queue full", "queue management", "policer"]);
    let down = fates(&["link down", "discarded", "no route"]);
    let channel = fates(&["channel error", "burst loss", "shadowing", "retry limit"]);
    let under_way = fates(&["under way"]);
    let counted = [
        (sum(|way| way.lost_by.queue), queue),
        (sum(|way| way.lost_by.link_down), down),
    ];
    let under_way_in_all = sum(|way| way.under_way);
    // A packet that a link lost is not lost while a buffer holds a copy of it, and lost by the buffer if that drops it.
    let in_buffers = (under_way_in_all + sum(|way| way.lost_by.buffer)).saturating_sub(under_way);
    let has_copies = rows.iter().any(|row| row.copy > 0);
    // Buffers hold packets besides those on links, and checksums lose more than channels do.
    let fits = has_copies
        || counted
            .iter()
            .all(|(counted, rows)| counted <= rows && rows - counted <= in_buffers)
            && sum(|way| way.lost_by.channel) + in_buffers >= channel
            && under_way_in_all >= under_way;
    ensure!(
        fits,
        "{}: the table has queue {queue}, link down {down}, channel {channel}, under way {under_way}: {ways:?}",
        flow.name
    );
    check_delays(flow)
}

/// Checks that every packet with a delay was delivered. At gateways more are delivered.
fn check_delays(flow: &FlowSummary) -> Verdict {
    let ways = flow.packet_delay;
    let [of_data, there, back] = [flow.delay, ways.to_sink, ways.to_source]
        .map(|delay| delay.map_or(0, |delay| delay.packets));
    let delivered = [flow.packets.to_sink, flow.packets.to_source].map(|way| way.delivered);
    ensure!(
        of_data <= there && there <= delivered[0] && back <= delivered[1],
        "{}: delays of {of_data} packets with data, of {there} there and {back} back: {delivered:?} delivered",
        flow.name
    );
    Ok(())
}

/// Checks that a mobile's handovers have lost no more packets than were lost in all.
fn check_handovers(summary: &Summary, flow: &FlowSummary) -> Verdict {
    let all = [flow.packets.to_sink, flow.packets.to_source].map(|way| way.lost_by);
    let mut of_mobiles: BTreeMap<&str, [Vec<LossCounts>; 2]> = BTreeMap::new();
    for handover in &summary.handovers {
        let of_mobile = of_mobiles.entry(&handover.mobile).or_default();
        let here = handover.flows.iter().filter(|one| one.name == flow.name);
        for one in here {
            of_mobile[0].push(one.lost_by.to_sink);
            of_mobile[1].push(one.lost_by.to_source);
        }
    }
    for (mobile, ways) in of_mobiles {
        for (lost, all) in ways.iter().zip(all) {
            let causes: [fn(&LossCounts) -> u64; 5] = [
                |counts| counts.queue,
                |counts| counts.channel,
                |counts| counts.link_down,
                |counts| counts.buffer,
                |counts| counts.host,
            ];
            let within =
                |cause: &fn(&LossCounts) -> u64| lost.iter().map(cause).sum::<u64>() <= cause(&all);
            ensure!(
                causes.iter().all(within),
                "{}: handovers of {mobile} lost {lost:?} of {all:?}",
                flow.name
            );
        }
    }
    Ok(())
}
