//! Links, their ends and their changes.

use super::document::Path;
use super::error::{quoted, unknown};
use super::model::{LinkIndex, LinkSpec, NodeIndex};
use super::raw::Named;
use super::raw_links::{RawDirection, RawKind, RawLink, RawPreamble};
use super::resolve::Report;
use super::resolve_direction::{apply, check_direction};
use super::traces::Traces;
use super::units::{FORMATS, Size};
use crate::link::config::{DirectionConfig, LinkConfig, Medium};
use crate::link::presets;
use baton_proto::time::{Duration, Instant};

/// Nodes and links, by name and by index.
pub(super) struct Links {
    /// Names of nodes, in the order of their first appearance.
    pub nodes: Vec<String>,
    /// Links in the order of the file.
    pub specs: Vec<LinkSpec>,
    /// For each node, by its place in `nodes`, the island on which it lies: links lead, directly or through
    /// others, to all that lie on the same one. Asked for each flow, so that it is worked out once.
    islands: Vec<usize>,
}

impl Links {
    /// The link called `name`, which stands at `path`.
    pub fn find(&self, name: &str, path: &Path, report: &mut Report<'_>) -> Option<LinkIndex> {
        let found = self.specs.iter().position(|link| link.config.name == name);
        if found.is_none() {
            let names: Vec<&str> = self
                .specs
                .iter()
                .map(|link| link.config.name.as_str())
                .collect();
            report.wrong(path, unknown("link", name, &names));
        }
        found.map(LinkIndex)
    }

    /// Links that end at `node`.
    pub fn of(&self, node: NodeIndex) -> impl Iterator<Item = &LinkSpec> {
        self.specs
            .iter()
            .filter(move |link| link.ends.contains(&node))
    }

    /// Whether links lead from one node to another.
    pub fn join(&self, from: NodeIndex, to: NodeIndex) -> bool {
        self.islands[from.0] == self.islands[to.0]
    }
}

/// The island of each node; see [`Links`].
fn islands(nodes: usize, specs: &[LinkSpec]) -> Vec<usize> {
    let mut islands: Vec<usize> = (0..nodes).collect();
    let mut members: Vec<Vec<usize>> = (0..nodes).map(|node| vec![node]).collect();
    for spec in specs {
        let [a, b] = spec.ends.map(|end| islands[end.0]);
        if a != b {
            // The smaller one moves, so that no node moves more often than the number of nodes has bits.
            let (kept, gone) = if members[a].len() < members[b].len() {
                (b, a)
            } else {
                (a, b)
            };
            let moved = core::mem::take(&mut members[gone]);
            moved.iter().for_each(|&node| islands[node] = kept);
            members[kept].extend(moved);
        }
    }
    islands
}

/// Resolves all links.
pub(super) fn links(
    raw: &Named<RawLink>,
    end: Instant,
    traces: &mut Traces<'_>,
    report: &mut Report<'_>,
) -> Links {
    let mut links = Links {
        nodes: Vec::new(),
        specs: Vec::new(),
        islands: Vec::new(),
    };
    let top = Path::default().key("links");
    if raw.0.is_empty() {
        report.wrong(&top, "there is no link; expected at least one".to_owned());
    }
    for (name, link) in &raw.0 {
        let path = top.key(name);
        check_name(name, &path, report);
        if name == "none" {
            report.wrong_key(
                &path,
                "\"none\" cannot name a link: it detaches a mobile".to_owned(),
            );
        }
        let ends = ends(link, &path, &mut links.nodes, report);
        let config = config(name, link, &path, traces, report);
        for (key, direction) in [("down", &config.down), ("up", &config.up)] {
            check_direction(direction, &path.key(key), end, report);
        }
        links.specs.push(LinkSpec { config, ends });
    }
    links.islands = islands(links.nodes.len(), &links.specs);
    links
}

fn check_name(name: &str, path: &Path, report: &mut Report<'_>) {
    for format in FORMATS.iter().filter(|format| format.name == "name") {
        if let Err(why) = (format.check)(name) {
            report.wrong(
                path,
                format!("{} {why}; expected {}", quoted(name), format.expected),
            );
        }
    }
}

fn ends(
    link: &RawLink,
    path: &Path,
    nodes: &mut Vec<String>,
    report: &mut Report<'_>,
) -> [NodeIndex; 2] {
    let path = path.key("between");
    let [first, second] = &link.between;
    if first == second {
        report.wrong(
            &path,
            format!("joins {} to itself; expected two nodes", quoted(first)),
        );
    }
    [(0, first), (1, second)].map(|(index, name)| {
        check_name(name, &path.index(index), report);
        let place = nodes.iter().position(|node| node == name);
        NodeIndex(place.unwrap_or_else(|| {
            nodes.push(name.clone());
            nodes.len() - 1
        }))
    })
}

fn config(
    name: &str,
    raw: &RawLink,
    path: &Path,
    traces: &mut Traces<'_>,
    report: &mut Report<'_>,
) -> LinkConfig {
    let mut config = match raw.kind {
        RawKind::Wired => presets::wired::link(name),
        RawKind::Geo => presets::geo::link(name),
        RawKind::Wifi => presets::wifi::link(name),
        RawKind::Gsm => presets::gsm::link(name),
        RawKind::Trace => presets::traced::link(name),
    };
    medium(raw, path, &mut config, report);
    set_mtu(raw.mtu, path, &mut config, report);
    layers(&raw.both, &raw.down, &raw.up, path, &mut config, report);
    let layers = [
        (&raw.both, path.clone(), "both"),
        (&raw.down, path.key("down"), "down"),
        (&raw.up, path.key("up"), "up"),
    ];
    let mut unreadable = false;
    for (layer, path, which) in layers {
        if raw.kind != RawKind::Trace {
            let keys = trace_keys(layer);
            report.misplaced(
                &path,
                &keys,
                &[],
                "this kind of link; expected kind = \"trace\"",
            );
            continue;
        }
        let Some(trace) = traces.of_direction(layer, &path, report) else {
            unreadable |= trace_keys(layer).iter().any(|(_, given)| *given);
            continue;
        };
        if which != "up" {
            config.down.trace = Some(trace.clone());
        }
        if which != "down" {
            config.up.trace = Some(trace);
        }
    }
    if raw.kind == RawKind::Trace && !unreadable {
        for (key, own, direction) in [
            ("down", &raw.down, &config.down),
            ("up", &raw.up, &config.up),
        ] {
            let rate_is_given = own.rate.is_some() || raw.both.rate.is_some();
            check_capacity(direction, rate_is_given, &path.key(key), report);
        }
    }
    config
}

/// The default rate of a recorded link would go unnoticed.
fn check_capacity(
    direction: &DirectionConfig,
    rate_is_given: bool,
    path: &Path,
    report: &mut Report<'_>,
) {
    let recorded = direction
        .trace
        .as_ref()
        .is_some_and(|trace| trace.capacity.is_some());
    if !recorded && !rate_is_given {
        let message = "has neither a recorded rate nor a rate; expected mahimahi, bandwidth, \
                       a csv with rate_bps, or rate";
        report.wrong(path, message.to_owned());
    }
}

/// Keys of recordings, and whether they are given.
pub(super) fn trace_keys(raw: &RawDirection) -> [(&'static str, bool); 4] {
    [
        ("mahimahi", raw.mahimahi.is_some()),
        ("bandwidth", raw.bandwidth.is_some()),
        ("csv", raw.csv.is_some()),
        ("at_end", raw.at_end.is_some()),
    ]
}

fn medium(raw: &RawLink, path: &Path, config: &mut LinkConfig, report: &mut Report<'_>) {
    let keys = [
        ("medium_access", raw.medium_access.is_some()),
        ("preamble", raw.preamble.is_some()),
    ];
    if raw.kind != RawKind::Wifi {
        report.misplaced(
            path,
            &keys,
            &[],
            "this kind of link; only kind = \"wifi\" has it",
        );
        return;
    }
    if raw.medium_access == Some(false) {
        config.medium = Medium::FullDuplex;
        report.misplaced(path, &keys, &["medium_access"], "medium_access = false");
    } else if let (Medium::Dcf(dcf), Some(RawPreamble::Short)) = (&mut config.medium, raw.preamble)
    {
        dcf.preamble = Duration::from_micros(96);
    }
}

/// Sets a link's MTU, if `mtu` is given.
pub(super) fn set_mtu(
    mtu: Option<Size>,
    path: &Path,
    config: &mut LinkConfig,
    report: &mut Report<'_>,
) {
    // 68 B: the least that every IPv4 link must carry (RFC 791); 65 535 B: the largest IPv4 packet.
    match mtu {
        None => {}
        Some(Size(bytes @ 68..=65_535)) => config.mtu = bytes as u32,
        Some(Size(bytes)) => {
            let message = format!("{bytes} B is no MTU; expected 68 B to 65535 B");
            report.wrong(&path.key("mtu"), message);
        }
    }
}

/// Keys for both directions first, then those of each.
pub(super) fn layers(
    both: &RawDirection,
    down: &RawDirection,
    up: &RawDirection,
    path: &Path,
    config: &mut LinkConfig,
    report: &mut Report<'_>,
) {
    apply(both, path, &mut config.down, report);
    apply(both, path, &mut config.up, report);
    apply(down, &path.key("down"), &mut config.down, report);
    apply(up, &path.key("up"), &mut config.up, report);
}
