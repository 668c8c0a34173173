//! Settings of a live run alone: real hosts, and the effects of a handover visible to them.

use super::document::Path;
use super::error::{quoted, seconds};
use super::model::{AddressPolicy, Flow, Live, Mobile, NodeIndex};
use super::raw::{RawAddress, RawLive};
use super::resolve::{Report, node};
use super::resolve_links::Links;
use baton_proto::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

/// Shortest interval between samples of the kernel's connections: shorter ones would cost more than the world does.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);

/// Resolves the table `live`.
pub(super) fn live(
    raw: &RawLive,
    links: &Links,
    mobiles: &[Mobile],
    flows: &[Flow],
    report: &mut Report<'_>,
) -> Live {
    let path = Path::default().key("live");
    let hosts = match &raw.hosts {
        Some(names) => named_hosts(names, &path.key("hosts"), links, report),
        None => default_hosts(links, mobiles, flows),
    };
    if raw.address == Some(RawAddress::New) {
        let message = "only a live run (baton live) changes addresses; a simulated one keeps them";
        report.warn(&path.key("address"), message.to_owned());
    }
    if raw.nat == Some(true) {
        let message =
            "only a live run (baton live) translates addresses; a simulated one leaves them";
        report.warn(&path.key("nat"), message.to_owned());
    }
    let sample_interval = raw
        .sample_interval
        .map_or(Duration::from_millis(50), |interval| interval.0);
    if sample_interval < SHORTEST_INTERVAL {
        let message = format!(
            "{} is too short; expected at least \"1 ms\"",
            seconds(sample_interval)
        );
        report.wrong(&path.key("sample_interval"), message);
    }
    Live {
        hosts,
        address: match raw.address {
            None | Some(RawAddress::Kept) => AddressPolicy::Kept,
            Some(RawAddress::New) => AddressPolicy::New,
        },
        nat: raw.nat.unwrap_or(false),
        sample_interval,
        replaced: Vec::new(),
        lateness_bound: raw
            .lateness_bound
            .map_or(Duration::from_millis(1), |bound| bound.0),
    }
}

fn named_hosts(
    names: &[String],
    path: &Path,
    links: &Links,
    report: &mut Report<'_>,
) -> Vec<NodeIndex> {
    let mut hosts = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let here = path.index(index);
        let Some(host) = node(name, &here, links, report) else {
            continue;
        };
        if hosts.contains(&host) {
            report.wrong(&here, format!("{} is listed twice", quoted(name)));
        }
        hosts.push(host);
    }
    hosts
}

/// Returns the first mobile, or for a router the first end of a flow in the network behind it, or else the destination
/// of the first flow, or else the last node; and all nodes that flows join to it. A host without flows gets the node
/// farthest from it as its peer.
fn default_hosts(links: &Links, mobiles: &[Mobile], flows: &[Flow]) -> Vec<NodeIndex> {
    let first = match (mobiles, flows) {
        ([mobile, ..], _) => end_behind(links, mobile, flows).unwrap_or(mobile.node),
        ([], [flow, ..]) => flow.to,
        // Without a link there is no node; that is reported with the links.
        ([], []) => NodeIndex(links.nodes.len().saturating_sub(1)),
    };
    let flow_ends = flows.iter().map(|flow| [flow.from, flow.to]);
    let joined = outwards(first, &flow_ends.collect::<Vec<_>>());
    if joined.len() > 1 {
        let hosts: BTreeSet<NodeIndex> = joined.into_iter().map(|(host, _)| host).collect();
        return hosts.into_iter().collect();
    }
    let reached = outwards(first, &links.joins().collect::<Vec<_>>());
    let most = reached.iter().map(|(_, hops)| *hops).max().unwrap_or(0);
    let farthest = reached.iter().filter(|(_, hops)| *hops == most);
    let peer = farthest.map(|(host, _)| *host).min().unwrap_or(first);
    let hosts: BTreeSet<NodeIndex> = [first, peer].into();
    hosts.into_iter().collect()
}

/// Returns the first end of a flow in the network behind a mobile router.
fn end_behind(links: &Links, mobile: &Mobile, flows: &[Flow]) -> Option<NodeIndex> {
    if !mobile.is_router() {
        return None;
    }
    let access = mobile.attachment.access_links(&links.radios);
    let behind = links.behind(mobile.node, &access);
    let mut ends = flows.iter().flat_map(|flow| [flow.to, flow.from]);
    ends.find(|end| behind.contains(end))
}

/// Returns the nodes that `edges` join to `start`, directly or through others, each with the number of edges on the way
/// to it.
fn outwards(start: NodeIndex, edges: &[[NodeIndex; 2]]) -> Vec<(NodeIndex, usize)> {
    let mut neighbours: BTreeMap<NodeIndex, Vec<NodeIndex>> = BTreeMap::new();
    for &[a, b] in edges {
        neighbours.entry(a).or_default().push(b);
        neighbours.entry(b).or_default().push(a);
    }
    let mut seen = BTreeSet::from([start]);
    let mut found = vec![(start, 0)];
    let mut next = 0;
    while let Some(&(here, hops)) = found.get(next) {
        next += 1;
        for &there in neighbours.get(&here).into_iter().flatten() {
            if seen.insert(there) {
                found.push((there, hops + 1));
            }
        }
    }
    found
}
