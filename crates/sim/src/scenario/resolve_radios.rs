//! Resolution of radio networks: their cells, and the mobiles on them.

use super::document::Path;
use super::error::quoted;
use super::model::{Aircraft, BaseStation, LinkIndex, Radio};
use super::raw::{Named, RawMobile};
use super::raw_links::RawLink;
use super::raw_reception::RawLine;
use super::resolve::Report;
use super::resolve_links::{Links, check_name, set_mtu};
use super::resolve_tracks::{comes_inside, first_outside, track};
use super::traces::Traces;
use crate::addresses::CellNetworks;
use crate::link::cells::{self, CellId, NetworkConfig, StationId};
use crate::link::number::LinkNumber;
use crate::position::Track;
use baton_proto::time::{Duration, Instant};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Context for the resolution of links that depend on the positions of mobiles.
pub(super) struct Tracks<'a> {
    pub mobiles: &'a Named<RawMobile>,
    pub lines: &'a Named<RawLine>,
    pub end: Instant,
}

/// Creates the nodes at base stations.
pub(super) fn nodes((name, raw): (&str, &RawLink), links: &mut Links, report: &mut Report<'_>) {
    let path = Path::default().key("links").key(name).key("cells");
    for (name, cell) in raw.cells() {
        check_name(&cell.node, &path.key(name).key("node"), report);
        links.node(&cell.node);
    }
}

/// Resolves the network called `name` and adds it to the others. The cells' nodes must exist.
pub(super) fn radio(
    (name, raw): (&str, &RawLink),
    sky: &Tracks<'_>,
    links: &mut Links,
    traces: &mut Traces<'_>,
    report: &mut Report<'_>,
) {
    let path = Path::default().key("links").key(name);
    let Some((config, nodes)) = cells::network((name, raw), &path, links, traces, report) else {
        links.failed.insert(name.to_owned());
        return;
    };
    let mut aircraft: Vec<Aircraft> = Vec::new();
    let mut coverage: BTreeMap<String, Coverage> = BTreeMap::new();
    for (mobile, raw) in &sky.mobiles.0 {
        if attached(raw).any(|link| link == name) {
            let path = Path::default().key("mobiles").key(mobile);
            check_name(mobile, &path, report);
            let node = links.node(mobile);
            let known = track_of(raw, (mobile, name), &path, traces, report);
            let is_known = known.is_some();
            // A track's mistake must not cause further reports about the mobile.
            let somewhere = || (Track::fixed(config.cells[0].position), Duration::ZERO);
            let (mut track, jitter) = known.unwrap_or_else(somewhere);
            if let Some(other) = aircraft.last() {
                track.share_with(&other.track);
            }
            let flier = Aircraft {
                node,
                track: Arc::new(track),
                jitter,
            };
            let track = raw.track.as_ref();
            if track.is_some_and(|track| track.flights.is_some()) {
                let written = report.copies.name(mobile).to_owned();
                let coverage = coverage.entry(written).or_default();
                coverage.count(&flier, &config, sky.end);
            } else if is_known && attached(raw).all(|link| link == name) {
                check_inside(&flier, &config, &path.key("track"), sky.end, report);
            }
            aircraft.push(flier);
        }
    }
    for (mobile, coverage) in &coverage {
        let path = Path::default().key("mobiles").key(mobile).key("track");
        coverage.check(name, &path.key("flights"), report);
    }
    if aircraft.is_empty() {
        let message = "no mobile attaches to it, so it has no effect".to_owned();
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
    if links.count() > LinkNumber::MOST {
        let message =
            "has more than 2^40 pairs of a mobile and a cell; expected fewer mobiles or cells";
        report.wrong(&path, message.to_owned());
    }
}

/// Returns the track of a mobile on a radio network, and the largest delay of its start.
fn track_of(
    raw: &RawMobile,
    (mobile, network): (&str, &str),
    path: &Path,
    traces: &mut Traces<'_>,
    report: &mut Report<'_>,
) -> Option<(Track, Duration)> {
    let Some(raw) = &raw.track else {
        let message = format!(
            "key \"track\" is missing; expected the position of {}, which uses radio network {}",
            quoted(mobile),
            quoted(network)
        );
        report.wrong_key(path, message);
        return None;
    };
    track(raw, &path.key("track"), traces, report)
}

/// Returns the links named in a mobile's timetable, preferences or decision.
pub(super) fn attached(raw: &RawMobile) -> impl Iterator<Item = &str> {
    let entries = raw.timetable.iter().flatten();
    let preferred = raw.failback.iter().flat_map(|failback| &failback.prefer);
    let chosen = raw.decision.iter().flat_map(|decision| &decision.links);
    entries
        .map(|entry| entry.attach.as_str())
        .chain(preferred.chain(chosen).map(String::as_str))
}

/// Flights of a mobile, and those of them that cells do not cover.
#[derive(Default)]
struct Coverage {
    flights: usize,
    /// Flights that are outside all cells for a time.
    leave: usize,
    /// Flights that never come into a cell.
    never_inside: usize,
}

impl Coverage {
    fn count(&mut self, flier: &Aircraft, network: &NetworkConfig, end: Instant) {
        self.flights += 1;
        if first_outside(flier, network, end).is_some() {
            self.leave += 1;
            self.never_inside += usize::from(!comes_inside(&flier.track, network, end));
        }
    }

    /// Warns of flights outside the cells, or refuses cells in which no flight comes.
    fn check(&self, network: &str, path: &Path, report: &mut Report<'_>) {
        let Coverage {
            flights,
            leave,
            never_inside,
        } = self;
        let network = quoted(network);
        if never_inside == flights {
            let message = format!(
                "no flight comes into a cell of {network}; expected cells under the flights, as `baton air-traffic cells` plans them"
            );
            report.wrong(path, message);
        } else if *leave > 0 {
            let message = format!(
                "{leave} of {flights} flights are outside all cells of {network} for a time, {never_inside} of them always, without a link then"
            );
            report.warn(path, message);
        }
    }
}

/// Warns of an aircraft that leaves all cells without another link.
fn check_inside(
    aircraft: &Aircraft,
    network: &NetworkConfig,
    path: &Path,
    end: Instant,
    report: &mut Report<'_>,
) {
    if let Some((at, cell, beyond)) = first_outside(aircraft, network, end) {
        let message = format!(
            "is outside all cells of {} at {:.0} s: the edge of the nearest, {}, is {:.1} km away; expected a track inside \
             them to the end of the run, or another link in the mobile's timetable or failback",
            quoted(&network.name),
            at.as_secs_f64(),
            quoted(&network.cells[usize::from(cell.0)].name),
            beyond / 1e3
        );
        report.wrong(path, message);
    }
}
