//! From what is written to what is meant. Values fit their types already; here names become indices,
//! defaults are filled in, and what contradicts itself is reported.

use super::copies::Copies;
use super::document::{Document, Path, Step};
use super::error::{
    Diagnostic, MOST_LISTED, Place, ScenarioError, nearest, quoted, seconds, unknown_of,
};
use super::model::{NodeIndex, Record, Scenario};
use super::profiles::PythonClasses;
use super::raw::{RawRecord, RawScenario};
use super::resolve_links::Links;
use super::resolve_radios::Sky;
use super::traces::Traces;
use super::{
    expectation, idle, resolve_changes, resolve_flows, resolve_links, resolve_live, resolve_losses,
    resolve_mobility, resolve_regulators, resolve_remedies,
};
use crate::mobility::{self, Agents};
use crate::transport::{self, aerotp};
use baton_proto::time::{Duration, Instant};
use std::collections::{BTreeMap, BTreeSet};

/// More of anything (packets of a flow, bins of a series, bursts) than this is taken for a run that would
/// never end.
pub(super) const MOST_EVENTS: u64 = 10_000_000_000;

/// Wrong names are compared with so many names in all, to find the ones that were meant.
const MOST_COMPARISONS: usize = 200_000;

/// Collects mistakes and warnings.
pub(crate) struct Report<'d> {
    document: &'d Document,
    diagnostics: Vec<Diagnostic>,
    /// The same, to find one again.
    known: BTreeSet<Diagnostic>,
    /// Names that are still compared with a wrong one.
    comparisons: usize,
    /// Source of classes in Python, where Python runs the scenario.
    pub classes: Option<&'d dyn PythonClasses>,
    /// Probable mistakes.
    pub warnings: Vec<Diagnostic>,
    /// Copies made of written tables.
    pub(super) copies: Copies,
    /// For each written value the number of the copy that was found wrong first, or warned of.
    told: BTreeMap<(Path, bool), u32>,
}

impl<'d> Report<'d> {
    /// Nothing is wrong so far.
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

    /// The value at `path` is wrong, or what it lacks.
    pub fn wrong(&mut self, path: &Path, message: String) {
        if let Some((path, message)) = self.in_words(path, message, false) {
            let place = self.document.place_of_value(&path);
            self.add(place, &path, message);
        }
    }

    /// The key at the end of `path` should not be there.
    pub fn wrong_key(&mut self, path: &Path, message: String) {
        if let Some((path, message)) = self.in_words(path, message, false) {
            let place = self.document.place_of_key(&path);
            self.add(place, &path, message);
        }
    }

    /// Returns the path of the value at `path` as the user wrote it, and the message in the user's names; `None` if
    /// another copy of the value was reported already.
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
        // A key for both directions is looked at twice.
        if self.known.insert(diagnostic.clone()) {
            self.diagnostics.push(diagnostic);
        }
    }

    /// The value at `path`, as it is written.
    pub fn written(&self, path: &Path) -> Option<&'d toml::Value> {
        let (path, _) = self.copies.written(path);
        let mut steps = path.0.iter();
        let Step::Key(first) = steps.next()? else {
            return None;
        };
        let top = self.document.table.get(first)?;
        steps.try_fold(top, |value, step| match step {
            Step::Key(key) => value.get(key),
            Step::Index(index) => value.get(*index),
        })
    }

    /// There is no `what` called `given`; there are `count`, whose names `name_of` tells. After very many mistakes no near
    /// name is looked for any more: a message shows the first ones only.
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
                "{} is there {copies} times, as {given}-1 to {given}-{copies}; expected one of them",
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

    /// The first names to list, and how many there are in all; copies have one name.
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

    /// The value at `path` is probably not meant.
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

    /// Returns true if nothing is wrong so far.
    pub fn is_clean(&self) -> bool {
        self.diagnostics.is_empty()
    }

    /// The error, where something is known to be wrong.
    pub fn into_error(self) -> ScenarioError {
        let mut diagnostics = self.diagnostics;
        // Stable: what the command line says comes first, then the file from top to bottom.
        diagnostics.sort_by_key(|diagnostic| diagnostic.place.position);
        ScenarioError { diagnostics }
    }
}

/// Makes the scenario. What is wrong stands in `report`; the scenario is of use only if nothing is.
pub(super) fn resolve(
    raw: &RawScenario,
    traces: &mut Traces<'_>,
    report: &mut Report<'_>,
) -> Scenario {
    let top = Path::default();
    let end = Instant::ZERO + raw.duration.0;
    let sky = Sky {
        mobiles: &raw.mobiles,
        lines: &raw.lines,
        end,
    };
    let mut links = resolve_links::links(&raw.links, &sky, traces, report);
    resolve_regulators::regulators(raw, &mut links, report);
    let changes = resolve_changes::changes(&raw.changes, &links, end, report);
    let agents = Agents::resolve(raw, &links, report);
    let mobiles = resolve_mobility::mobiles(&raw.mobiles, (&links, &agents), end, report);
    mobility::check_tunnels(&raw.changes, &mobiles, report);
    let protocols = mobiles.iter().any(|mobile| mobile.mobility.is_some());
    let losses = resolve_losses::losses(&raw.losses, protocols, report);
    let flows = resolve_flows::flows(&raw.flows, &links, end, report);
    let gateways = &raw.aerotp_gateways;
    let aerotp_gateways = aerotp::gateways::gateways(gateways, &links, (&mobiles, &flows), report);
    mobility::check_flows(raw, &flows, &mobiles, report);
    let around = resolve_remedies::Around {
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
        aerotp_gateways,
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
        series: raw.series.unwrap_or(true),
        packets: raw.packets.unwrap_or(true),
        interval,
    }
}

/// The node called `name`, which stands at `path`.
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
