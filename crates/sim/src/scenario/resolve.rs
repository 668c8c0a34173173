//! Resolution of a written scenario. Values have valid types already; here names become indices, defaults are filled
//! in, and contradictions are reported.

use super::copies::Copies;
use super::document::{Document, Path};
use super::error::{
    Diagnostic, MOST_LISTED, Place, ScenarioError, nearest, quoted, seconds, unknown, unknown_of,
};
use super::model::{NodeIndex, Record, Scenario};
use super::profiles::PythonClasses;
use super::raw::{RawRecord, RawScenario, RawSeries};
use super::resolve_links::Links;
use super::resolve_radios::Tracks;
use super::traces::Traces;
use super::{
    dtn_gateways, expectation, idle, resolve_changes, resolve_flows, resolve_links, resolve_live,
    resolve_losses, resolve_mobility, resolve_regulators, resolve_remedies,
};
use crate::link::demand::scenario as demand;
use crate::link::tdma::scenario as tdma;
use crate::mobility::{self, Agents};
use crate::record::{Quantities, Quantity};
use crate::transport::{self, aerotp};
use baton_proto::time::{Duration, Instant};
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of anything (packets of a flow, bins of a series, bursts): beyond it a run is taken to be endless.
pub(crate) const MOST_EVENTS: u64 = 10_000_000_000;

/// Largest number of comparisons with wrong names, in all.
const MOST_COMPARISONS: usize = 200_000;

/// Collector of mistakes and warnings.
pub(crate) struct Report<'d> {
    document: &'d Document,
    diagnostics: Vec<Diagnostic>,
    /// Index of the mistakes, for look-ups.
    known: BTreeSet<Diagnostic>,
    /// Remaining comparisons of wrong names.
    comparisons: usize,
    /// Source of classes in Python, if Python runs the scenario.
    pub classes: Option<&'d dyn PythonClasses>,
    /// Probable mistakes.
    pub warnings: Vec<Diagnostic>,
    /// Copies made of written tables.
    pub(super) copies: Copies,
    /// Number of the first copy of each written value that was found wrong, or warned of.
    told: BTreeMap<(Path, bool), u32>,
}

impl<'d> Report<'d> {
    /// Creates an empty report.
    pub fn new(document: &'d Document, classes: Option<&'d dyn PythonClasses>) -> Report<'d> {
        Report {
            document,
            classes,
            diagnostics: Vec::new(),
            known: BTreeSet::new(),
            comparisons: MOST_COMPARISONS,
            warnings: Vec::new(),
            copies: Copies::default(),
            told: BTreeMap::new(),
        }
    }

    /// Reports that the value at `path` is wrong, or incomplete.
    pub fn wrong(&mut self, path: &Path, message: String) {
        if let Some((path, message)) = self.in_words(path, message, false) {
            let place = self.document.place_of_value(&path);
            self.add(place, &path, message);
        }
    }

    /// Reports that the key at the end of `path` should not exist.
    pub fn wrong_key(&mut self, path: &Path, message: String) {
        if let Some((path, message)) = self.in_words(path, message, false) {
            let place = self.document.place_of_key(&path);
            self.add(place, &path, message);
        }
    }

    /// Returns the written path of the value at `path`, and the message with written names; `None` if another copy of
    /// the value was reported already.
    fn in_words(
        &mut self,
        path: &Path,
        message: String,
        is_warning: bool,
    ) -> Option<(Path, String)> {
        if self.copies.is_empty() {
            return Some((path.clone(), message));
        }
        let (path, number) = self.copies.written(path);
        let first = self.told.entry((path.clone(), is_warning));
        if *first.or_insert(number) != number {
            return None;
        }
        let mut message = self.copies.in_words(&message);
        if number > 1 {
            message += &format!(" (copy {number})");
        }
        Some((path, message))
    }

    fn add(&mut self, place: Place, path: &Path, message: String) {
        let diagnostic = Diagnostic {
            place,
            key: self.document.describe(path),
            message,
        };
        // A key for both directions is checked twice.
        if self.known.insert(diagnostic.clone()) {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Reports that no `what` is called `given`; there are `count`, whose names `name_of` returns. After very many
    /// mistakes near names are no longer searched for: a message lists the first names only.
    pub fn unknown<'n>(
        &mut self,
        path: &Path,
        (what, given): (&str, &str),
        (count, name_of): (usize, &dyn Fn(usize) -> &'n str),
    ) {
        let (written, number) = self.copies.written(path);
        let told = self.told.get(&(written.clone(), false));
        if told.is_some_and(|first| *first != number) {
            return;
        }
        if let Some(copies) = self.copies.count(given) {
            let message = format!(
                "{} has {copies} copies, {given}-1 to {given}-{copies}; expected one of them",
                quoted(given)
            );
            let place = self.document.place_of_value(&written);
            self.told.insert((written.clone(), false), number);
            return self.add(place, &written, message);
        }
        let searched = count.min(self.comparisons);
        self.comparisons -= searched;
        let known = (0..searched).map(|place| self.copies.name(name_of(place)));
        let near = nearest(given, known).map(str::to_owned);
        let (listed, count) = self.names_in_words(count, name_of);
        let listed: Vec<&str> = listed.iter().map(String::as_str).collect();
        let message = unknown_of((what, given), near.as_deref(), (&listed, count));
        self.wrong(path, message);
    }

    /// Returns the first names to list, and the number of all; copies share one name.
    fn names_in_words<'n>(
        &self,
        count: usize,
        name_of: &dyn Fn(usize) -> &'n str,
    ) -> (Vec<String>, usize) {
        if self.copies.is_empty() {
            let listed = (0..count.min(MOST_LISTED)).map(name_of);
            return (listed.map(str::to_owned).collect(), count);
        }
        let (mut known, mut listed) = (BTreeSet::new(), Vec::new());
        for place in 0..count {
            let name = self.copies.name(name_of(place));
            if known.insert(name) && listed.len() < MOST_LISTED {
                listed.push(name.to_owned());
            }
        }
        (listed, known.len())
    }

    /// Warns that the value at `path` is probably a mistake.
    pub fn warn(&mut self, path: &Path, message: String) {
        if let Some((path, message)) = self.in_words(path, message, true) {
            self.warnings.push(Diagnostic {
                place: self.document.place_of_value(&path),
                key: self.document.describe(&path),
                message,
            });
        }
    }

    /// Reports each of `keys` that is given but not among `allowed`.
    pub fn misplaced(
        &mut self,
        path: &Path,
        keys: &[(&str, bool)],
        allowed: &[&str],
        context: &str,
    ) {
        for (key, given) in keys {
            if *given && !allowed.contains(key) {
                let hint = match allowed {
                    [] => String::new(),
                    _ => format!(" (its own: {})", allowed.join(", ")),
                };
                self.wrong_key(
                    &path.key(key),
                    format!("\"{key}\" does not go with {context}{hint}"),
                );
            }
        }
    }

    /// Returns true if there are no mistakes so far.
    pub fn is_clean(&self) -> bool {
        self.diagnostics.is_empty()
    }

    /// Returns the error, if there are mistakes.
    pub fn into_error(self) -> ScenarioError {
        let mut diagnostics = self.diagnostics;
        // A stable sort: mistakes on the command line come first, then those of the file from top to bottom.
        diagnostics.sort_by_key(|diagnostic| diagnostic.place.position);
        ScenarioError { diagnostics }
    }
}

/// Makes the scenario. Mistakes go to `report`; the scenario is usable only without mistakes.
pub(super) fn resolve(
    raw: &RawScenario,
    traces: &mut Traces<'_>,
    report: &mut Report<'_>,
) -> Scenario {
    let top = Path::default();
    let end = Instant::ZERO + raw.duration.0;
    let sky = Tracks {
        mobiles: &raw.mobiles,
        lines: &raw.lines,
        end,
    };
    let mut links = resolve_links::links(&raw.links, &sky, traces, report);
    resolve_regulators::regulators(raw, &mut links, report);
    tdma::frames(&raw.links, &mut links, report);
    let carriers = demand::carriers(&raw.links, &mut links, end, report);
    let changes = resolve_changes::changes(&raw.changes, &links, end, report);
    let agents = Agents::resolve(raw, &links, report);
    let mobiles = resolve_mobility::mobiles(&raw.mobiles, (&links, &agents), end, report);
    resolve_regulators::check_openings(&links, &mobiles, report);
    mobility::check_tunnels(&raw.changes, &mobiles, report);
    mobility::check_domains(&agents, &mobiles, &links, report);
    let anchor_points = &raw.mobility_anchor_points;
    mobility::check_anchor_points(anchor_points, (&agents, &mobiles), &links, report);
    let protocols = mobiles.iter().any(|mobile| mobile.mobility.is_some());
    let losses = resolve_losses::losses(&raw.losses, protocols, report);
    let flows = resolve_flows::flows(&raw.flows, &links, end, report);
    let gateways = &raw.aerotp_gateways;
    let aerotp_gateways = aerotp::gateways::gateways(gateways, &links, (&mobiles, &flows), report);
    let dtn_gateways = dtn_gateways::gateways(&raw.dtn_gateways, &links, &mobiles, report);
    mobility::check_flows(raw, &flows, &mobiles, report);
    let around = resolve_remedies::RemedyContext {
        links: &links,
        mobiles: &mobiles,
        agents: &agents,
    };
    resolve_remedies::check(raw, &flows, &around, report);
    resolve_remedies::check_base_stations(raw, (&flows, &mobiles), &links, report);
    transport::check(raw, (&flows, &mobiles), &links, report);
    let live = resolve_live::live(&raw.live, &links, &mobiles, &flows, report);
    for (index, expectation) in raw.expect.iter().enumerate() {
        if let Err(message) = expectation::check(expectation, &flows) {
            report.wrong(&top.key("expect").index(index), message);
        }
    }
    let scenario = Scenario {
        name: raw.name.clone(),
        description: raw.description.clone(),
        duration: raw.duration.0,
        seed: raw.seed,
        record: record(&raw.record, raw.duration.0, report),
        nodes: links.nodes,
        links: links.specs,
        radios: links.radios,
        carriers,
        aerotp_gateways,
        dtn_gateways,
        changes,
        mobiles,
        agents,
        losses,
        flows,
        live,
        expectations: raw.expect.clone(),
    };
    idle::warn(&scenario, raw, report);
    scenario
}

/// Most handovers, and flows, that results list. Chosen: some hundreds of megabytes; no run of less than a million notices.
const MOST_IN_RESULTS: usize = 1_000_000;

fn record(raw: &RawRecord, duration: Duration, report: &mut Report<'_>) -> Record {
    let interval = raw
        .interval
        .map_or(Duration::from_millis(100), |interval| interval.0);
    let bins = duration.as_nanos() / interval.as_nanos().max(1);
    if bins > MOST_EVENTS / 100 {
        let top = Path::default();
        let path = match raw.interval {
            Some(_) => top.key("record").key("interval"),
            None => top.key("duration"),
        };
        report.wrong(
            &path,
            format!(
                "would make {bins} bins in {}; choose a longer record.interval (now {}), or a shorter duration",
                seconds(duration),
                seconds(interval)
            ),
        );
    }
    Record {
        series: series(raw.series.as_ref(), report),
        packets: raw.packets.unwrap_or(true),
        interval,
        handovers: raw.handovers.map_or(MOST_IN_RESULTS, |most| most as usize),
        flows: raw.flows.map_or(MOST_IN_RESULTS, |most| most as usize),
    }
}

/// Returns the series to record.
fn series(raw: Option<&RawSeries>, report: &mut Report<'_>) -> Quantities {
    let names = match raw {
        None | Some(RawSeries::Every(true)) => return Quantities::ALL,
        Some(RawSeries::Every(false)) => return Quantities::NONE,
        Some(RawSeries::Named(names)) => names,
    };
    let path = Path::default().key("record").key("series");
    let quantity = |(place, name): (usize, &String)| {
        let found = Quantity::ALL.into_iter().find(|each| each.name() == name);
        if found.is_none() {
            let valid = Quantity::ALL.map(Quantity::name);
            report.wrong(&path.index(place), unknown("series", name, &valid));
        }
        found
    };
    names.iter().enumerate().filter_map(quantity).collect()
}

/// Returns the node called `name`, which is written at `path`.
pub(crate) fn node(
    name: &str,
    path: &Path,
    links: &Links,
    report: &mut Report<'_>,
) -> Option<NodeIndex> {
    let index = links.known_node(name);
    if index.is_none() && links.failed.is_empty() {
        let name_of = |place: usize| links.nodes[place].as_str();
        report.unknown(path, ("node", name), (links.nodes.len(), &name_of));
    }
    index
}
