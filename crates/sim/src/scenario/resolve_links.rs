//! Links, their ends and their changes.

use super::document::Path;
use super::error::quoted;
use super::model::{
    LinkIndex, LinkSpec, LinksAtNodes, Mobile, NodeIndex, Radio, ends as ends_of_link,
    nodes_behind, on_radio,
};
use super::raw::Named;
use super::raw_links::{RawDirection, RawLink};
use super::resolve::Report;
use super::resolve_direction::{apply, check_direction};
use super::resolve_radios::{self, Tracks};
use super::resolve_reception::{along_line, check_lines, shadowing};
use super::traces::Traces;
use super::units::{FORMATS, Size};
use crate::addresses::on_access_link;
use crate::link::ad_hoc;
use crate::link::cells::{CellId, StationId};
use crate::link::config::{DirectionConfig, LinkConfig, Start};
use crate::link::kinds::traced::RawStart;
use std::collections::{BTreeMap, BTreeSet};

/// Nodes and links, by name and by index.
pub(crate) struct Links {
    /// Names of nodes, in the order of their first appearance.
    pub nodes: Vec<String>,
    /// Links between two nodes, in the order of the file.
    pub specs: Vec<LinkSpec>,
    /// Radio networks in the order of the file.
    pub radios: Vec<Radio>,
    /// The island of each node, by its place in `nodes`: nodes on the same island are joined by links, directly or
    /// through others. Computed once, since each flow needs it.
    islands: Vec<usize>,
    /// Links that could not be resolved. References to them, or to a node that only they have, are no further mistakes.
    pub failed: BTreeSet<String>,
    /// Nodes and links of the file by their names.
    node_places: BTreeMap<String, NodeIndex>,
    pub link_places: BTreeMap<String, LinkIndex>,
    /// The aircraft of each radio network, by their nodes.
    pub stations: BTreeMap<(usize, NodeIndex), StationId>,
    /// The links of each node, once all are known.
    at_nodes: Option<LinksAtNodes>,
}

impl Links {
    /// Returns the link called `name`, which is written at `path`.
    pub fn find(&self, name: &str, path: &Path, report: &mut Report<'_>) -> Option<LinkIndex> {
        let found = self.link_places.get(name).copied();
        if self.radios.iter().any(|radio| radio.config.name == name) {
            let message = format!(
                "{} is a radio network; expected a link between two nodes or, as a home link, one of its cells, like \"{name}.CELL\"",
                quoted(name)
            );
            report.wrong(path, message);
        } else if found.is_none() && !self.failed.contains(name) {
            let name_of = |place: usize| self.specs[place].config.name.as_str();
            report.unknown(path, ("link", name), (self.specs.len(), &name_of));
        }
        found
    }

    /// Returns the link that names a radio network, its first, if the mobile at `node` is on that network.
    pub fn find_radio(&self, name: &str, node: NodeIndex) -> Option<LinkIndex> {
        let radio = self.radio(name)?;
        let is_on_it = self.stations.contains_key(&(radio, node));
        is_on_it.then(|| self.radios[radio].first_link)
    }

    /// Returns the link of the mobile at `node` to a cell written as "network.cell".
    pub fn find_cell(&self, name: &str, node: NodeIndex) -> Option<LinkIndex> {
        let (network, cell) = name.split_once('.')?;
        let radio = self.radio(network)?;
        let mut cells = self.radios[radio].config.cells.iter();
        let cell = cells.position(|known| known.name == cell)?;
        self.cell_link(radio, CellId(cell as u16), node)
    }

    fn radio(&self, name: &str) -> Option<usize> {
        let mut radios = self.radios.iter();
        radios.position(|radio| radio.config.name == name)
    }

    fn cell_link(&self, radio: usize, cell: CellId, node: NodeIndex) -> Option<LinkIndex> {
        let station = self.stations.get(&(radio, node)).copied()?;
        Some(self.radios[radio].link(station, cell))
    }

    /// Returns true if a link belongs to a radio network.
    pub fn is_of_radio(&self, link: LinkIndex) -> bool {
        on_radio(&self.radios, link).is_some()
    }

    /// Counts the links so far, those of aircraft to cells included.
    pub fn count(&self) -> usize {
        let last = self.radios.last();
        last.map_or(self.specs.len(), |radio| radio.links().end)
    }

    /// Counts the links between two nodes and the cells so far, each of which has a prefix of its own.
    pub fn count_places(&self) -> usize {
        let last = self.radios.last();
        last.map_or(self.specs.len(), |radio| {
            radio.first_cell + radio.stations.len()
        })
    }

    /// Returns the first IPv4 address beyond those of all access links and cells so far.
    pub fn free_ipv4(&self) -> u32 {
        let last = self.radios.last();
        last.map_or_else(
            || on_access_link(self.specs.len(), 0).to_bits(),
            |radio| radio.networks.end(radio.stations.len()),
        )
    }

    /// Returns the nodes at a link's ends A and B.
    pub fn ends(&self, link: LinkIndex) -> [NodeIndex; 2] {
        ends_of_link(&self.specs, &self.radios, link)
    }

    /// Returns the names of a mobile's radio networks.
    pub fn radios_at(&self, node: NodeIndex) -> impl Iterator<Item = &str> {
        let radios = self.radios.iter().enumerate();
        let own = radios.filter(move |(number, _)| self.stations.contains_key(&(*number, node)));
        own.map(|(_, radio)| radio.config.name.as_str())
    }

    /// Returns the nodes across a mobile's access links, and its base stations.
    pub fn gateways(&self, mobile: &Mobile) -> BTreeSet<NodeIndex> {
        let access = mobile.attachment.access_links(&self.radios);
        let plain = access.iter().flat_map(|link| self.specs[link.0].ends);
        let radios = mobile.attachment.radios(&self.radios).into_iter();
        let stations = radios.flat_map(|radio| &self.radios[radio].stations);
        let all = plain.chain(stations.map(|station| station.node));
        all.filter(|&end| end != mobile.node).collect()
    }

    /// Returns the base stations that a mobile on radio networks may use, and the mobiles that may use the base station
    /// at a node.
    pub fn across_radios(&self, node: NodeIndex) -> impl Iterator<Item = NodeIndex> {
        let radios = self.radios.iter().enumerate();
        radios.flat_map(move |(number, radio)| {
            let flies = self.stations.contains_key(&(number, node));
            let stands = radio.stations.iter().any(|station| station.node == node);
            let stations = radio.stations.iter().filter(move |_| flies);
            let aircraft = radio.aircraft.iter().filter(move |_| stands);
            let stations = stations.map(|station| station.node);
            stations.chain(aircraft.map(|aircraft| aircraft.node))
        })
    }

    /// Returns pairs of nodes from which it follows which nodes are joined.
    pub fn joins(&self) -> impl Iterator<Item = [NodeIndex; 2]> {
        let plain = self.specs.iter().map(|spec| spec.ends);
        let radios = self.radios.iter().flat_map(|radio| {
            let aircraft = radio.aircraft.iter().map(|aircraft| aircraft.node);
            let stations = radio.stations.iter().map(|station| station.node);
            let first = radio.aircraft.first().map(|aircraft| aircraft.node);
            let to_stations = stations.filter_map(move |station| Some([station, first?]));
            let station = radio.stations.first().map(|station| station.node);
            to_stations.chain(aircraft.filter_map(move |aircraft| Some([station?, aircraft])))
        });
        plain.chain(radios)
    }

    /// Returns the largest packet of any link at a node, in bytes.
    pub fn largest_mtu(&self, node: NodeIndex) -> Option<u32> {
        let plain = self.of(node).map(|link| link.config.mtu);
        let radios = self.radios.iter().enumerate();
        let radios = radios.filter(|(number, radio)| {
            self.stations.contains_key(&(*number, node))
                || radio.stations.iter().any(|station| station.node == node)
        });
        let stations = radios.flat_map(|(_, radio)| radio.stations.first());
        plain.chain(stations.map(|station| station.link.mtu)).max()
    }

    /// Returns the node called `name`, creating it if needed.
    pub fn node(&mut self, name: &str) -> NodeIndex {
        if let Some(&known) = self.node_places.get(name) {
            return known;
        }
        let new = NodeIndex(self.nodes.len());
        self.nodes.push(name.to_owned());
        self.node_places.insert(name.to_owned(), new);
        new
    }

    /// Returns the node called `name`.
    pub fn known_node(&self, name: &str) -> Option<NodeIndex> {
        self.node_places.get(name).copied()
    }

    /// Returns the nodes behind a mobile; its access links must be sorted.
    pub fn behind(&self, mobile: NodeIndex, access: &[LinkIndex]) -> Vec<NodeIndex> {
        let at_nodes = self.at_nodes.as_ref();
        at_nodes.map_or(Vec::new(), |at_nodes| {
            nodes_behind((&self.specs, at_nodes), mobile, access)
        })
    }

    /// Returns the places of links between two nodes that end at `node`, once all are known.
    pub fn places_of(&self, node: NodeIndex) -> &[LinkIndex] {
        self.at_nodes.as_ref().map_or(&[], |all| all.of(node))
    }

    /// Returns the links between two nodes that end at `node`.
    pub fn of(&self, node: NodeIndex) -> impl Iterator<Item = &LinkSpec> {
        let own = self.places_of(node).iter();
        own.map(|link| &self.specs[link.0])
    }

    /// Returns true if links lead from one node to another.
    pub fn join(&self, from: NodeIndex, to: NodeIndex) -> bool {
        self.islands[from.0] == self.islands[to.0]
    }
}

/// Returns the island of each node; see [`Links`].
fn islands(nodes: usize, joins: impl Iterator<Item = [NodeIndex; 2]>) -> Vec<usize> {
    let mut islands: Vec<usize> = (0..nodes).collect();
    let mut members: Vec<Vec<usize>> = (0..nodes).map(|node| vec![node]).collect();
    for ends in joins {
        let [a, b] = ends.map(|end| islands[end.0]);
        if a != b {
            // The smaller island moves, so that a node moves at most as often as the number of nodes has bits.
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
    sky: &Tracks<'_>,
    traces: &mut Traces<'_>,
    report: &mut Report<'_>,
) -> Links {
    let mut links = Links {
        nodes: Vec::new(),
        specs: Vec::new(),
        radios: Vec::new(),
        islands: Vec::new(),
        failed: BTreeSet::new(),
        node_places: BTreeMap::new(),
        link_places: BTreeMap::new(),
        stations: BTreeMap::new(),
        at_nodes: None,
    };
    let top = Path::default().key("links");
    if raw.0.is_empty() {
        report.wrong(&top, "there is no link; expected at least one".to_owned());
    }
    check_lines(sky, report);
    for (name, link) in &raw.0 {
        let path = top.key(name);
        check_name(name, &path, report);
        if name == "none" {
            report.wrong_key(
                &path,
                "\"none\" cannot name a link: it detaches a mobile".to_owned(),
            );
        }
        let Some(mut config) = config(name, link, &path, traces, report) else {
            continue;
        };
        let Some(ends) = ends(link, &path, &mut links, report) else {
            links.failed.insert(name.clone());
            continue;
        };
        ad_hoc::scenario::resolve(link, &path, &mut config, traces, report);
        for (key, direction) in [("down", &config.down), ("up", &config.up)] {
            check_direction(direction, &path.key(key), sky.end, report);
        }
        let reception = along_line(link, &path, &ends, sky, report);
        let along = reception.as_deref();
        shadowing(link, &path, (&mut config, along), sky.end, report);
        if let Some(last) = links.specs.last() {
            config.share(&last.config);
        }
        let place = LinkIndex(links.specs.len());
        links.link_places.insert(name.clone(), place);
        links.specs.push(LinkSpec {
            config: config.into(),
            ends,
            reception,
            ingress_filter: link.ingress_filter.unwrap_or(false),
        });
    }
    let radios = raw
        .0
        .iter()
        .filter(|(_, link)| link.kind.settings().radio().is_some());
    if links.specs.is_empty() {
        // Without other links there is none to join them to; with one, a cell's node must exist, so that a misspelt
        // name is found.
        for (name, link) in radios.clone() {
            resolve_radios::nodes((name, link), &mut links, report);
        }
    }
    for (name, link) in radios {
        resolve_radios::radio((name, link), sky, &mut links, traces, report);
    }
    links.at_nodes = Some(LinksAtNodes::new(links.nodes.len(), &links.specs));
    links.islands = islands(links.nodes.len(), links.joins());
    links
}

pub(crate) fn check_name(name: &str, path: &Path, report: &mut Report<'_>) {
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
    links: &mut Links,
    report: &mut Report<'_>,
) -> Option<[NodeIndex; 2]> {
    let Some([first, second]) = &link.between else {
        let message =
            "key \"between\" is missing; expected two nodes, like [\"server\", \"laptop\"]";
        report.wrong_key(path, message.to_owned());
        return None;
    };
    let path = path.key("between");
    if first == second {
        report.wrong(
            &path,
            format!("joins {} to itself; expected two nodes", quoted(first)),
        );
    }
    Some([(0, first), (1, second)].map(|(index, name)| {
        check_name(name, &path.index(index), report);
        links.node(name)
    }))
}

/// Returns a link's parameters; `None` for a radio network, which is no link between two nodes.
fn config(
    name: &str,
    raw: &RawLink,
    path: &Path,
    traces: &mut Traces<'_>,
    report: &mut Report<'_>,
) -> Option<LinkConfig> {
    let kind = raw.kind.settings();
    let mut config = kind.link(name)?;
    kind.check(&mut |key, message| report.wrong_key(&path.key(key), message));
    set_mtu(raw.mtu, path, &mut config, report);
    layers(&raw.both, &raw.down, &raw.up, path, &mut config, report);
    check_repeating(&config, path, report);
    let layers = [
        (&raw.both, path.clone(), "both"),
        (&raw.down, path.key("down"), "down"),
        (&raw.up, path.key("up"), "up"),
    ];
    start(raw, path, &mut config, report);
    let mut unreadable = false;
    for (layer, path, which) in layers {
        let Some(recording) = &layer.recording else {
            continue;
        };
        let path = path.key("recording");
        if kind.recorded().is_none() {
            let message = "does not go with this kind of link; expected kind = \"trace\"";
            report.wrong_key(&path, message.to_owned());
            continue;
        }
        let Some(trace) = traces.of_direction(recording, &path, report) else {
            unreadable = true;
            continue;
        };
        if which != "up" {
            config.down.trace = Some(trace.clone());
        }
        if which != "down" {
            config.up.trace = Some(trace);
        }
    }
    if kind.recorded().is_some() && !unreadable {
        for (key, own, direction) in [
            ("down", &raw.down, &config.down),
            ("up", &raw.up, &config.up),
        ] {
            let rate_is_given = own.rate.is_some() || raw.both.rate.is_some();
            check_capacity(direction, rate_is_given, &path.key(key), report);
        }
    }
    Some(config)
}

/// Resolves the place in its recordings at which a link begins.
fn start(raw: &RawLink, path: &Path, config: &mut LinkConfig, report: &mut Report<'_>) {
    let layers = [&raw.both, &raw.down, &raw.up];
    let recorded = raw.kind.settings().recorded();
    let Some(start) = recorded.and_then(|own| own.start.as_ref()) else {
        return;
    };
    if layers.iter().all(|layer| layer.recording.is_none()) {
        let message = "there is no recording to start; expected kind = \"trace\" with a recording";
        return report.wrong_key(&path.key("start"), message.to_owned());
    }
    config.start = match start {
        RawStart::Random(_) => Start::Random,
        RawStart::At(after) => Start::At(after.0),
    };
}

/// Reports retransmission on a medium whose access retransmits itself.
pub(super) fn check_repeating(config: &LinkConfig, path: &Path, report: &mut Report<'_>) {
    let codes = [&config.down, &config.up].map(|direction| direction.channel.coding);
    if config.medium.is_contended() && codes.iter().any(Option::is_some) {
        let message = "does not go with medium access, whose frames have no such code; expected medium_access = false, or no coding";
        report.wrong_key(&path.key("coding"), message.to_owned());
    }
    if config.medium.is_contended() && config.repeats() {
        let message = "medium access already retransmits lost frames; expected medium_access = false, or no retransmission";
        report.wrong_key(&path.key("retransmission"), message.to_owned());
    }
}

/// Reports a recorded link with a default rate, which would go unnoticed.
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
        let message = "has no rate; expected a recording (in a csv, with the column rate_bps) or the key rate";
        report.wrong(path, message.to_owned());
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
            let message = format!("{bytes} B is not an MTU; expected 68 B to 65535 B");
            report.wrong(&path.key("mtu"), message);
        }
    }
}

/// Applies the keys for both directions, then those of each.
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
