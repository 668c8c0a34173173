//! Invariants of the results of any scenario.

use super::generate::END_S;
use super::rows::{self, Row};
use super::{Verdict, batches, counts, ensure, queues, tcp};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use baton_proto::mobility::attachment::{Handover, OldQueue};
use baton_proto::rate::DataRate;
use baton_proto::time::Duration;
use baton_sim::link::config::{DirectionConfig, LinkConfig, Medium};
use baton_sim::run::Results;
use baton_sim::scenario::model::{AttachmentPolicy, NodeIndex, Scenario, Traffic, Transport};
use std::collections::BTreeMap;

/// Checks everything.
pub fn check(scenario: &Scenario, results: &Results) -> Verdict {
    let rows = rows::read(scenario, results);
    check_ways(scenario, results, &rows)?;
    check_links(scenario, &rows)?;
    counts::check(results, &rows)?;
    check_series(results)?;
    queues::check(scenario, results, &rows)?;
    for flow in 0..scenario.flows.len() {
        check_flow(scenario, results, &rows, flow)?;
        let spec = &scenario.flows[flow];
        // A packet that takes another way after waiting has a row of the time of that change: the time at which its
        // host sent it is unknown.
        let timed = !reroutes(scenario, spec.from.0) && !reroutes(scenario, spec.to.0);
        if timed && matches!(spec.transport, Transport::Tcp { .. }) {
            tcp::check(scenario, results, &rows, flow)?;
        }
    }
    Ok(())
}

/// Checks that every packet goes from link to link without a gap in place or time, and ends at its destination, or in a
/// count.
fn check_ways(scenario: &Scenario, results: &Results, rows: &[Row]) -> Verdict {
    let end = (scenario.duration.as_nanos()) as i64;
    let mut ways: BTreeMap<u64, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        let on_its_way = &*row.fate == "under way";
        ensure!(
            row.decided.is_none() == on_its_way,
            "a fate without a time: {row:?}"
        );
        let decided = row.decided.unwrap_or(end);
        ensure!(
            0 <= row.sent && row.sent <= decided && decided <= end,
            "a time out of order: {row:?}"
        );
        ways.entry(row.number).or_default().push(row);
    }
    let summary = &results.summary;
    ensure!(
        ways.len() as u64 == summary.packets,
        "{} packets on links, {} in the summary",
        ways.len(),
        summary.packets
    );
    let homes = homes(scenario, &mut ways)?;
    let mut given_up = 0;
    for way in ways.values() {
        for pair in way.windows(2) {
            let (first, next) = (pair[0], pair[1]);
            ensure!(first.is_delivered(), "goes on after it was lost: {way:?}");
            ensure!(
                first.decided == Some(next.sent)
                    || first.decided < Some(next.sent) && reroutes(scenario, next.from),
                "waits between links: {way:?}"
            );
            ensure!(first.to == next.from, "jumps between links: {way:?}");
        }
        let last = way[way.len() - 1];
        let home = homes.get(address(&last.destination));
        given_up += u64::from(last.is_delivered() && home.is_some_and(|home| *home != last.to));
    }
    let discarded = &summary.discarded;
    let counted = discarded.no_route + discarded.too_big + discarded.hop_limit;
    ensure!(
        given_up <= counted,
        "routers gave up {given_up} packets and counted {counted}"
    );
    for (index, flow) in summary.flows.iter().enumerate() {
        let lost = rows.iter().filter(|row| row.flow == Some(index));
        let lost = lost
            .filter(|row| row.decided.is_some() && !row.is_delivered())
            .count();
        ensure!(
            lost as u64 == flow.lost_packets,
            "{lost} rows of {} lost, {} counted",
            flow.name,
            flow.lost_packets
        );
    }
    Ok(())
}

/// Returns the address of an endpoint without its port.
fn address(endpoint: &str) -> &str {
    endpoint
        .rsplit_once(':')
        .map_or(endpoint, |(address, _)| address)
}

/// Returns the node of every sending address: the place of its packets' first appearance.
fn homes<'a>(
    scenario: &Scenario,
    ways: &mut BTreeMap<u64, Vec<&'a Row>>,
) -> Result<BTreeMap<&'a str, usize>, String> {
    let mut homes = BTreeMap::new();
    for way in ways.values_mut() {
        way.sort_by_key(|row| (row.sent, row.decided.is_none(), row.decided));
        let first = way[0];
        let source = address(&first.source);
        let home = *homes.entry(source).or_insert(first.from);
        ensure!(
            home == first.from,
            "{source} is at two nodes, {} and {}",
            scenario.nodes[home],
            scenario.nodes[first.from]
        );
    }
    Ok(homes)
}

/// Checks that no packet overtakes another where it must not, nothing is faster than the link, and nothing denser than
/// its rate.
fn check_links(scenario: &Scenario, rows: &[Row]) -> Verdict {
    for (index, link) in scenario.links.iter().enumerate() {
        let mut configs: Vec<&LinkConfig> = vec![&link.config];
        configs.extend(
            scenario
                .changes
                .iter()
                .filter(|change| change.link.0 == index)
                .map(|change| &*change.config),
        );
        for direction in 0..2 {
            let configs: Vec<&DirectionConfig> = configs
                .iter()
                .map(|config| &**[&config.down, &config.up][direction])
                .collect();
            let delivered = rows.iter().filter(|row| {
                (row.link, row.direction) == (index, direction) && row.is_delivered()
            });
            let mut delivered: Vec<&Row> = delivered.collect();
            // Past a shaper, and where the queue serves by precedence, one flow may overtake another.
            let keep_order = |config: &&DirectionConfig| config.queue.management.keeps_order();
            let reorders = !configs.iter().all(keep_order) || !link.config.regulators.is_empty();
            delivered.sort_by_key(|row| (if reorders { 0 } else { row.sent }, row.decided));
            check_direction(
                &configs,
                &delivered,
                matches!(link.config.medium, Medium::FullDuplex),
            )?;
        }
    }
    Ok(())
}

fn check_direction(configs: &[&DirectionConfig], delivered: &[&Row], plain: bool) -> Verdict {
    let delay = configs
        .iter()
        .map(|config| config.delay)
        .min()
        .unwrap_or(Duration::ZERO);
    let rate = configs
        .iter()
        .map(|config| config.rate)
        .max()
        .unwrap_or(DataRate::ZERO);
    let jitter = configs.iter().any(|config| !config.jitter.is_zero());
    let steady = configs.iter().all(|config| config.delay == delay) && !jitter;
    let recorded = configs.iter().any(|config| config.trace.is_some());
    let time = |row: &Row| {
        let bits = configs.iter().map(|config| {
            let framing = &config.framing;
            u64::from(row.wire_bytes + framing.bytes_per_packet) * u64::from(framing.bits_per_byte)
        });
        let time = rate.transmission_time(bits.min().unwrap_or(0));
        // Rounding may take a nanosecond.
        (time.map_or(0, Duration::as_nanos) as i64 - 1).max(0)
    };
    for row in delivered {
        if plain && !recorded {
            let took = row.decided.unwrap_or(0) - row.sent;
            let least = time(row) + delay.as_nanos() as i64;
            ensure!(
                took >= least,
                "faster than the link, {took} ns of at least {least}: {row:?}"
            );
        }
    }
    for pair in delivered.windows(2) {
        let gap = pair[1].decided.unwrap_or(0) - pair[0].decided.unwrap_or(0);
        ensure!(gap >= 0, "overtakes: {pair:?}");
        if plain && steady && !recorded {
            ensure!(
                gap >= time(pair[1]),
                "denser than the link's rate, {gap} ns: {pair:?}"
            );
        }
    }
    Ok(())
}

/// Checks that series are in order of time, with plausible values.
fn check_series(results: &Results) -> Verdict {
    let mut before = 0;
    for batch in batches(results.tables.series.clone()) {
        let column = |name: &str| batch.column_by_name(name).expect("the column is there");
        let times = column("time_ns").as_primitive::<Int64Type>();
        let values = column("value").as_primitive::<Float64Type>();
        for (&time, &value) in times.values().iter().zip(values.values().iter()) {
            ensure!(
                time >= before,
                "series run backwards: {time} after {before}"
            );
            ensure!(
                value.is_finite() && value >= -1.0,
                "a series holds {value} at {time}"
            );
            before = time;
        }
    }
    Ok(())
}

/// Checks that the summary of a flow fits the packets that crossed the links.
fn check_flow(scenario: &Scenario, results: &Results, rows: &[Row], index: usize) -> Verdict {
    let (spec, flow) = (&scenario.flows[index], &results.summary.flows[index]);
    let name = &flow.name;
    ensure!(
        flow.retransmitted <= Some(flow.segments_sent),
        "{name} resent more than it sent"
    );
    ensure!(
        flow.goodput_bps.is_finite() && flow.longest_stall_s >= 0.0,
        "{name}: {flow:?}"
    );
    if let Some(ping) = flow.ping {
        ensure!(
            ping.answered <= ping.sent,
            "{name}: {} of {} pings answered",
            ping.answered,
            ping.sent
        );
    } else if !matches!(spec.transport, Transport::Tcp { .. }) {
        let arrived = rows
            .iter()
            .filter(|row| row.flow == Some(index) && row.to == spec.to.0 && row.is_delivered());
        let arrived: u64 = arrived
            .filter(|row| !row.source.is_empty())
            .map(|row| u64::from(row.payload))
            .sum();
        ensure!(
            flow.delivered_bytes <= arrived,
            "{name} delivers {} of {arrived} bytes",
            flow.delivered_bytes
        );
    }
    let total = match spec.traffic {
        Traffic::Bulk { bytes } | Traffic::Constant { bytes, .. } => bytes,
        _ => None,
    };
    let Some(total) = total else {
        return Ok(());
    };
    ensure!(
        flow.delivered_bytes <= total,
        "{name} delivers {} of {total} bytes",
        flow.delivered_bytes
    );
    let complete = flow.completion_s.is_some();
    ensure!(
        !complete || flow.delivered_bytes == total,
        "{name} is complete with {} of {total} bytes",
        flow.delivered_bytes
    );
    let waited = scenario.duration == Duration::from_secs(END_S);
    ensure!(
        !waited || complete || flow.failure.is_some() || advances(rows, index, spec.to.0),
        "{name} is stuck: {} of {total} bytes, and no word of a failure",
        flow.delivered_bytes
    );
    Ok(())
}

/// Returns true if a transfer is still progressing at the end: behind others on a slow link it may take longer than the
/// run. The receiver's acknowledgment must have changed in the second half.
fn advances(rows: &[Row], flow: usize, receiver: usize) -> bool {
    let half = (Duration::from_secs(END_S).as_nanos() / 2) as i64;
    let acknowledgments = rows
        .iter()
        .filter(|row| row.flow == Some(flow) && row.from == receiver)
        .filter_map(|row| Some((row.sent, row.tcp.as_ref()?.acknowledgment?)));
    let (mut before, mut last) = (None, None);
    for (sent, acknowledgment) in acknowledgments {
        last = Some(acknowledgment);
        if sent < half {
            before = last;
        }
    }
    before != last
}

/// Returns true if a mobile leaves a link at this node such that packets waiting there are rerouted.
fn reroutes(scenario: &Scenario, node: usize) -> bool {
    scenario.mobiles.iter().any(|mobile| {
        let AttachmentPolicy::Timetable(entries) = &mobile.attachment else {
            return false;
        };
        entries.windows(2).any(|pair| {
            let (Handover::Soft { old_queue, .. } | Handover::Hard { old_queue, .. }) =
                pair[1].handover;
            let left = pair[0].link.map(|link| &scenario.links[link.0].ends);
            old_queue == OldQueue::Rerouted
                && left.is_some_and(|ends| ends.contains(&NodeIndex(node)))
        })
    })
}
