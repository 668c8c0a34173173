//! Radio networks: their cells, and the mobiles on them.

use super::document::Path;
use super::error::quoted;
use super::model::{Aircraft, BaseStation, LinkIndex, Radio};
use super::raw::{Named, RawMobile};
use super::raw_links::{RawDirection, RawLink};
use super::raw_reception::RawLine;
use super::resolve::Report;
use super::resolve_links::{Links, check_name, set_mtu, trace_keys};
use super::resolve_tracks::{first_outside, track};
use super::traces::Traces;
use crate::addresses::CellNetworks;
use crate::link::cells::{self, CellId, NetworkConfig, StationId};
use crate::position::Track;
use baton_proto::time::{Duration, Instant};
use std::sync::Arc;

/// Surroundings with which links are resolved that depend on the positions of mobiles.
pub(super) struct Sky<'a> {
    pub mobiles: &'a Named<RawMobile>,
    pub lines: &'a Named<RawLine>,
    pub end: Instant,
}

/// Makes the nodes at base stations.
pub(super) fn nodes((name, raw): (&str, &RawLink), links: &mut Links, report: &mut Report<'_>) {
    let path = Path::default().key("links").key(name).key("cells");
    for (name, cell) in raw.radio.cells.iter().flat_map(|cells| &cells.0) {
        check_name(&cell.node, &path.key(name).key("node"), report);
        links.node(&cell.node);
    }
}

/// Resolves the network called `name` and adds it to the others. Cells' nodes must be known.
pub(super) fn radio(
    (name, raw): (&str, &RawLink),
    sky: &Sky<'_>,
    links: &mut Links,
    traces: &mut Traces<'_>,
    report: &mut Report<'_>,
) {
    let path = Path::default().key("links").key(name);
    refuse_keys_of_links(raw, &path, report);
    let Some((config, nodes)) = cells::network((name, raw), &path, links, report) else {
        links.failed.insert(name.to_owned());
        return;
    };
    let mut aircraft = Vec::new();
    for (mobile, raw) in &sky.mobiles.0 {
        if attached(raw).any(|link| link == name) {
            let path = Path::default().key("mobiles").key(mobile);
            check_name(mobile, &path, report);
            let node = links.node(mobile);
            let known = track_of(raw, (mobile, name), &path, traces, report);
            let is_known = known.is_some();
            // So that what hangs on the mobile is not reported for its track's mistake.
            let somewhere = || (Track::fixed(config.cells[0].position), Duration::ZERO);
            let (track, jitter) = known.unwrap_or_else(somewhere);
            let flier = Aircraft {
                node,
                track: Arc::new(track),
                jitter,
            };
            if is_known && attached(raw).all(|link| link == name) {
                check_inside(&flier, &config, &path.key("track"), sky.end, report);
            }
            aircraft.push(flier);
        }
    }
    if aircraft.is_empty() {
        let message = "no mobile attaches to it: it does nothing".to_owned();
        report.warn(&path, message);
    }
    let mut stations = Vec::new();
    for (number, node) in nodes.into_iter().enumerate() {
        let mut link = config.link(CellId(number as u16));
        set_mtu(raw.mtu, &path, &mut link, report);
        let link = link.into();
        stations.push(BaseStation { node, link });
    }
    let number = links.radios.len();
    for (station, aircraft) in aircraft.iter().enumerate() {
        let station = StationId(station as u32);
        links.stations.insert((number, aircraft.node), station);
    }
    let networks = CellNetworks::new(links.free_ipv4(), 2 * aircraft.len() + 1);
    links.radios.push(Radio {
        first_link: LinkIndex(links.count()),
        first_cell: links.count_places(),
        config,
        stations,
        aircraft,
        networks,
    });
}

/// The track of a mobile on a radio network, and how much later it may begin.
fn track_of(
    raw: &RawMobile,
    (mobile, network): (&str, &str),
    path: &Path,
    traces: &mut Traces<'_>,
    report: &mut Report<'_>,
) -> Option<(Track, Duration)> {
    let Some(raw) = &raw.track else {
        let message = format!(
            "key \"track\" is missing; expected where {} is, since it uses radio network {}",
            quoted(mobile),
            quoted(network)
        );
        report.wrong_key(path, message);
        return None;
    };
    track(raw, &path.key("track"), traces, report)
}

/// The links that a mobile's timetable, preferences or decision name.
pub(super) fn attached(raw: &RawMobile) -> impl Iterator<Item = &str> {
    let entries = raw.timetable.iter().flatten();
    let preferred = raw.failback.iter().flat_map(|failback| &failback.prefer);
    let chosen = raw.decision.iter().flat_map(|decision| &decision.links);
    entries
        .map(|entry| entry.attach.as_str())
        .chain(preferred.chain(chosen).map(String::as_str))
}

/// Without another link, an aircraft outside all cells is out of reach.
fn check_inside(
    aircraft: &Aircraft,
    network: &NetworkConfig,
    path: &Path,
    end: Instant,
    report: &mut Report<'_>,
) {
    if let Some((at, cell, beyond)) = first_outside(aircraft, network, end) {
        let message = format!(
            "is outside all cells of {} at {:.0} s: the nearest, {}, ends {:.1} km before; expected a track inside them to the \
             end of the run, or another link in the mobile's timetable or failback",
            quoted(&network.name),
            at.as_secs_f64(),
            quoted(&network.cells[usize::from(cell.0)].name),
            beyond / 1e3
        );
        report.wrong(path, message);
    }
}

/// Refuses keys of other links, which a radio network does not have.
fn refuse_keys_of_links(raw: &RawLink, path: &Path, report: &mut Report<'_>) {
    let context = format!("kind = \"{}\"", cells::KIND);
    let own = [
        ("between", raw.between.is_some()),
        ("medium_access", raw.medium_access.is_some()),
        ("preamble", raw.preamble.is_some()),
        ("line_of_sight", raw.line_of_sight.is_some()),
        ("shadowing", raw.shadowing.is_some()),
        ("coverage", raw.coverage.is_some()),
        ("start", raw.start.is_some()),
        ("shapers", raw.shapers.is_some()),
        ("policers", raw.policers.is_some()),
    ];
    report.misplaced(path, &own, &[], &context);
    let layers = [
        (&raw.both, path.clone()),
        (&raw.down, path.key("down")),
        (&raw.up, path.key("up")),
    ];
    for (number, (layer, path)) in layers.iter().enumerate() {
        let mut keys = keys_of_direction(layer).to_vec();
        if number > 0 {
            keys.push(("queue", layer.queue.is_some()));
        }
        report.misplaced(path, &keys, &[], &context);
        report.misplaced(path, &trace_keys(layer), &[], &context);
    }
}

/// Keys of a direction that a radio network has not, and whether they are given.
fn keys_of_direction(raw: &RawDirection) -> [(&'static str, bool); 11] {
    [
        ("rate", raw.rate.is_some()),
        ("delay", raw.delay.is_some()),
        ("jitter", raw.jitter.is_some()),
        ("packet_error_rate", raw.packet_error_rate.is_some()),
        ("bit_error_rate", raw.bit_error_rate.is_some()),
        ("burst_loss", raw.burst_loss.is_some()),
        ("damaged", raw.damaged.is_some()),
        ("spares", raw.spares.is_some()),
        ("framing", raw.framing.is_some()),
        ("flow_control", raw.flow_control.is_some()),
        ("retransmission", raw.retransmission.is_some()),
    ]
}

/// Reports each key of radio networks that another kind of link has.
pub(super) fn refuse_keys_of_radios(raw: &RawLink, path: &Path, report: &mut Report<'_>) {
    let context = format!("this kind of link; only kind = \"{}\" has it", cells::KIND);
    report.misplaced(path, &raw.radio.written(), &[], &context);
}
