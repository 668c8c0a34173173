//! The links over which one connection spreads its packets, of AeroTP or TP++.

use super::AerotpSettings;
use super::keys::RawFlowAerotp;
use crate::scenario::document::Path;
use crate::scenario::error::{quoted, seconds};
use crate::scenario::model::{Flow, FlowPaths, LinkIndex, Mobile, NodeIndex};
use crate::scenario::raw::RawScenario;
use crate::scenario::raw_flows::RawFlow;
use crate::scenario::resolve::Report;
use crate::scenario::resolve_links::Links;
use crate::scenario::tagged::NameOr;
use baton_proto::wire::aerotp::Mode;
use core::any::Any;

/// Resolves the links that a flow names, all at one of its ends.
pub(crate) fn paths(
    raw: &RawFlow,
    ends: [NodeIndex; 2],
    links: &Links,
    path: &Path,
    report: &mut Report<'_>,
) -> Option<FlowPaths> {
    let NameOr(transport) = raw.transport.as_ref()?;
    let (names, has_rate) = transport.paths()?;
    let path = path.key("transport").key("paths");
    let mut found: Vec<LinkIndex> = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let link = links.find(name, &path.index(index), report)?;
        if found.contains(&link) {
            let message = format!("{} is listed twice; expected another link", quoted(name));
            report.wrong(&path.index(index), message);
        }
        found.push(link);
    }
    let joins = |node: &NodeIndex| {
        let mut found = found.iter();
        found.all(|link| links.specs[link.0].ends.contains(node))
    };
    let host = ends.into_iter().find(joins);
    if host.is_none() {
        let message = format!(
            "they do not all end at {}, nor all at {}; expected links of one of the two",
            quoted(&raw.from),
            quoted(&raw.to)
        );
        report.wrong(&path, message);
    }
    if has_rate {
        let message = "each of several paths has a rate of its own, that of its slowest link; expected no `rate` beside `paths`";
        report.wrong(&path, message.to_owned());
    }
    Some(FlowPaths {
        host: host?,
        links: found,
    })
}

/// Reports paths that lead nowhere, or that another part of the scenario would change.
pub(crate) fn check(
    raw: &RawScenario,
    (flows, mobiles): (&[Flow], &[Mobile]),
    links: &Links,
    report: &mut Report<'_>,
) {
    let hosts: Vec<NodeIndex> = flows
        .iter()
        .filter_map(|flow| Some(flow.paths.as_ref()?.host))
        .collect();
    if hosts.is_empty() {
        return;
    }
    let name = |node: NodeIndex| quoted(&links.nodes[node.0]);
    for flow in flows {
        let place = raw.flows.iter().position(|raw| raw.name == flow.name);
        let path = Path::default().key("flows").index(place.unwrap_or(0));
        let between = hosts.iter().find(|host| {
            let others = [**host];
            links.join(flow.from, flow.to) && !reaches(links, [flow.from, flow.to], &others)
        });
        if let Some(&host) = between {
            let message = format!(
                "the path from {} to {} leads through {}, which has `paths` in its flow's transport and is not a router; \
                 expected another path",
                name(flow.from),
                name(flow.to),
                name(host)
            );
            report.wrong(&path.key("to"), message);
        }
        let Some(paths) = &flow.paths else { continue };
        let path = path.key("transport").key("paths");
        let is_end = |mobile: &&Mobile| [flow.from, flow.to].contains(&mobile.node);
        if let Some(mobile) = mobiles.iter().find(is_end) {
            let message = format!(
                "{} is a mobile, which uses one link at a time; expected ends that are not in `mobiles`",
                name(mobile.node)
            );
            report.wrong(&path, message);
        }
        let mut ends = [flow.from, flow.to].into_iter();
        let peer = ends.find(|node| *node != paths.host);
        for (index, link) in paths.links.iter().enumerate() {
            let mut ends = links.specs[link.0].ends.into_iter();
            let far = ends.find(|node| *node != paths.host);
            if let (Some(far), Some(peer)) = (far, peer)
                && !reaches(links, [far, peer], &[paths.host])
            {
                let message = format!(
                    "links from {} lead to {} only through {}; expected a link over which it can be reached",
                    name(far),
                    name(peer),
                    name(paths.host)
                );
                report.wrong(&path.index(index), message);
            }
        }
        warn_of_late(flow, paths, links, &path, report);
    }
}

/// Returns true if links lead from one node to another without passing any of `hosts`.
fn reaches(links: &Links, [from, to]: [NodeIndex; 2], hosts: &[NodeIndex]) -> bool {
    let mut reached = vec![from];
    let mut next = 0;
    while let Some(&node) = reached.get(next) {
        next += 1;
        if node != from && hosts.contains(&node) {
            continue;
        }
        let plain = links.of(node).flat_map(|link| link.ends);
        for end in plain.chain(links.across_radios(node)) {
            if !reached.contains(&end) {
                reached.push(end);
            }
        }
    }
    reached.contains(&to)
}

/// Warns of a path, in a mode without retransmission, whose data arrives later than the wait for a gap allows.
fn warn_of_late(
    flow: &Flow,
    paths: &FlowPaths,
    links: &Links,
    path: &Path,
    report: &mut Report<'_>,
) {
    let settings: Option<&AerotpSettings> = flow
        .transport
        .other()
        .and_then(|transport| (transport as &dyn Any).downcast_ref());
    let Some(AerotpSettings { configuration, .. }) = settings else {
        return;
    };
    let delays = paths.links.iter();
    let delays = delays.map(|link| links.specs[link.0].config.round_trip_delay().as_nanos() / 2);
    let (Some(longest), Some(shortest)) = (delays.clone().max(), delays.min()) else {
        return;
    };
    let late = baton_proto::time::Duration::from_nanos(longest - shortest);
    if !configuration.mode.repeats() && late >= configuration.reordering_wait {
        let message = format!(
            "one of the links is {} longer than another, and the receiver waits {} for a gap: data over the longer link \
             mostly comes too late; consider a longer reordering_wait",
            seconds(late),
            seconds(configuration.reordering_wait)
        );
        report.warn(path, message);
    }
}

/// Reports paths in a mode without a connection.
pub(super) fn check_mode(own: &RawFlowAerotp, mode: Mode, path: &Path, report: &mut Report<'_>) {
    if own.paths.is_some() && mode == Mode::UnreliableDatagram {
        let message = "paths belong to a connection, and mode \"unreliable-datagram\" has none; expected another mode";
        report.wrong(&path.key("paths"), message.to_owned());
    }
}
