//! A run: from a scenario to tables, captures, a summary and a manifest, in a folder or in memory.
//!
//! [`Run::advance`] executes one slice at a time, so that its caller can show progress and stop early; [`Run::finish`]
//! closes everything, whatever time the run has reached.

mod engine;

use crate::captures::{CaptureSettings, Captures};
use crate::record::{
    LostRows, RadioNames, RecordError, RecordNames, RecordSettings, Recorder, ResultFolder, Sink,
    Table, Tables,
};
use crate::rng::Seed;
use crate::scenario::Loaded;
use crate::scenario::model::{Radio, Scenario};
use crate::world::World;
use crate::world::summary::{PingResult, Summary};
use baton_proto::time::Instant;
use engine::Engine;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Version of the layout of manifest and summary, which is raised when a reader of the old one would be wrong.
pub const FORMAT: u32 = 1;
/// Events in a slice: some milliseconds of work.
const SLICE: u64 = 50_000;
/// Most packets under way at once: more than a GB of memory, and far more than any network holds.
const MOST_UNDER_WAY: usize = 5_000_000;

/// Destination of the results, and their origin for the manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// The folder; without one, tables stay in memory and nothing is written.
    pub out: Option<PathBuf>,
    /// True to replace an existing folder.
    pub force: bool,
    /// Captures to write; only with a folder.
    pub captures: Option<CaptureSettings>,
    /// The scenario file, from the root, for the manifest.
    pub origin: String,
    /// The overrides as they were given, for the manifest.
    pub overrides: Vec<String>,
    /// The commit that this program was built from, if known, for the manifest.
    pub commit: Option<String>,
    /// True if the scenario's real hosts are real: the caller carries their packets, and the record never makes the
    /// world wait.
    pub live: bool,
    /// Threads on which the parts of the scenario's world run, if it can be cut; without, or with captures or in a live run, it is
    /// not cut. Results are the same for any number.
    pub threads: Option<NonZeroUsize>,
}

/// Reason that a run could not be performed or stored.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Results cannot be written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// More packets are under way than memory can hold: the load exceeds the links for long, and queues are almost
    /// unlimited.
    #[error(
        "{packets} packets are under way at {at_s} s, more than a run may hold ({MOST_UNDER_WAY}); choose shorter \
         queues, shorter delays, or a lower rate of the flows"
    )]
    TooManyPackets {
        /// Number of packets.
        packets: usize,
        /// Simulated time, in seconds.
        at_s: f64,
    },
    /// A small file of the results cannot be written.
    #[error("{}: cannot be written: {source}", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

/// Facts needed to repeat a run and to compare it.
#[derive(Clone, Debug, Serialize)]
pub struct Manifest {
    /// Layout of this file.
    pub format: u32,
    /// Version of Baton.
    pub version: &'static str,
    /// Commit that it was built from, with "-dirty" if the tree had changes; null outside a checkout.
    pub commit: Option<String>,
    /// `simulated`, or `live`: against a clock and with kernels, so that a repetition gives other data.
    pub mode: &'static str,
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of the run.
    pub seed: u64,
    /// True if the run reached its end and its record is whole. Otherwise it was interrupted at `simulated_s`, or a
    /// live run's record lost rows.
    pub complete: bool,
    /// Simulated time reached, in seconds.
    pub simulated_s: f64,
    /// The scenario file, from the root, so that a rerun from any folder finds its traces, which lie beside it.
    pub origin: String,
    /// The scenario with its overrides, as TOML.
    pub resolved: String,
    /// The overrides, as given.
    pub overrides: Vec<String>,
    /// SHA-256 of the traces that the scenario reads, by path.
    pub traces: BTreeMap<String, String>,
    /// Start of links' recordings that do not begin at their start, by name, in seconds.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub recordings_start_s: BTreeMap<String, f64>,
    /// Interfaces and lengths that were captured, if not all of every interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub captures: Option<CaptureSettings>,
    /// SHA-256 of the data files, by name.
    pub results: BTreeMap<String, String>,
    /// Of a live run: the kernel's release, and the settings of TCP that were read back from each real host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<serde_json::Value>,
    /// Number of parts of a world that was cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<usize>,
}

/// Results of a run.
#[derive(Debug)]
pub struct Results {
    /// Flows and handovers in numbers.
    pub summary: Summary,
    /// Series, packets and signals.
    pub tables: Tables,
    /// Facts that are needed to repeat the run.
    pub manifest: Manifest,
    /// The folder, if there is one.
    pub folder: Option<PathBuf>,
}

/// Observations of a flow's application that are not in its packets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeenByApplication {
    /// Round-trip times of a ping.
    pub ping: Option<PingResult>,
    /// Reason for an early end, in the kernel's words.
    pub failure: Option<String>,
}

/// Summary of a live run, besides the parts that every run has.
#[derive(Clone, Debug, Default)]
pub struct LiveSummary {
    /// True if the run ended with its program, before the scenario's end.
    pub ended: bool,
    /// Observations of applications on real hosts, by the flow's place in the scenario.
    pub flows: Vec<(usize, SeenByApplication)>,
    /// Its program, and how it ended.
    pub program: Option<serde_json::Value>,
    /// Its server.
    pub server: Option<serde_json::Value>,
    /// Figures of its fidelity.
    pub live: Option<serde_json::Value>,
}

/// Returns the start of links' recordings, for those that do not begin at their start.
fn recording_starts(scenario: &Scenario) -> BTreeMap<String, f64> {
    let seed = Seed(scenario.seed);
    let links = scenario.links.iter().map(|link| &link.config);
    let starts = links.map(|link| (link, link.start.resolved(link, seed)));
    let later = starts.filter(|(_, start)| !start.is_zero());
    later
        .map(|(link, start)| (link.name.clone(), start.as_secs_f64()))
        .collect()
}

/// Collects the names that the links of a radio network have in tables.
fn radio_names(radio: &Radio) -> RadioNames {
    let name = &radio.config.name;
    let cells = radio.config.cells.iter();
    let aircraft = radio.aircraft.iter();
    RadioNames {
        first_link: radio.first_link.0,
        cells: cells.map(|cell| format!("{name}.{}", cell.name)).collect(),
        mobiles: aircraft.map(|one| one.node.0 as u32).collect(),
    }
}

/// A text needed only at the end of a run. A fleet's scenario text is a large part of the fleet's cost.
struct DeflatedText(Vec<u8>);

impl DeflatedText {
    fn new(text: &str) -> DeflatedText {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        let written = encoder.write_all(text.as_bytes());
        let mut bytes = written
            .and_then(|()| encoder.finish())
            .expect("memory takes what is written");
        bytes.shrink_to_fit();
        DeflatedText(bytes)
    }

    fn inflate(&self) -> String {
        let mut text = String::new();
        DeflateDecoder::new(&self.0[..])
            .read_to_string(&mut text)
            .expect("what was deflated here");
        text
    }
}

/// A scenario under way.
pub struct Run {
    engine: Engine,
    end: Instant,
    folder: Option<ResultFolder>,
    /// The manifest, without the scenario's text.
    manifest: Manifest,
    text: DeflatedText,
    captures: Vec<String>,
    lost: LostRows,
}

impl Run {
    /// Prepares a run. Fails if the results cannot be stored.
    pub fn new(loaded: Loaded, options: &RunOptions) -> Result<Run, RunError> {
        let Loaded {
            scenario,
            resolved,
            traces,
            ..
        } = loaded;
        let folder = match &options.out {
            Some(target) => Some(ResultFolder::create(target, options.force)?),
            None => None,
        };
        let settings = RecordSettings {
            series: scenario.record.series,
            packets: scenario.record.packets,
            signals: scenario.has_signals()
                && (!scenario.record.series.is_empty() || scenario.record.packets),
        };
        let names = RecordNames {
            links: scenario
                .links
                .iter()
                .map(|link| link.config.name.clone())
                .collect(),
            radios: scenario.radios.iter().map(radio_names).collect(),
            flows: scenario
                .flows
                .iter()
                .map(|flow| flow.name.clone())
                .collect(),
            nodes: scenario.nodes.clone(),
        };
        let sink = folder.as_ref().map_or(Sink::Memory, |folder| {
            Sink::Folder(folder.path().to_owned())
        });
        let lost = LostRows::default();
        let recorder = if options.live {
            Recorder::live(settings, names, sink, lost.clone())?
        } else {
            Recorder::new(settings, names, sink)?
        };
        let captures = match (&folder, &options.captures) {
            (Some(folder), Some(settings)) => Some(if options.live {
                Captures::relayed(folder.path(), &scenario, settings, lost.clone())?
            } else {
                Captures::create(folder.path(), &scenario, settings)?
            }),
            _ => None,
        };
        let capture_files = captures.as_ref().map(Captures::files).unwrap_or_default();
        let mut manifest = Manifest {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION"),
            commit: options.commit.clone(),
            mode: if options.live { "live" } else { "simulated" },
            scenario: scenario.name.clone(),
            seed: scenario.seed,
            complete: false,
            simulated_s: 0.0,
            resolved: String::new(),
            origin: options.origin.clone(),
            overrides: options.overrides.clone(),
            traces: traces.into_iter().collect(),
            recordings_start_s: recording_starts(&scenario),
            captures: options
                .captures
                .clone()
                .filter(|chosen| *chosen != CaptureSettings::default()),
            results: BTreeMap::new(),
            kernel: None,
            parts: None,
        };
        let end = Instant::ZERO + scenario.duration;
        let engine = Engine::new(scenario, recorder, captures, options);
        manifest.parts = engine.parts();
        Ok(Run {
            engine,
            end,
            folder,
            manifest,
            text: DeflatedText::new(&resolved),
            captures: capture_files,
            lost,
        })
    }

    /// Returns the world, to observe it; of a world in parts, the first one.
    pub fn world(&self) -> &World {
        self.engine.world()
    }

    /// Returns the world, to exchange packets with it; of a world in parts, the first one.
    pub fn world_mut(&mut self) -> &mut World {
        self.engine.world_mut()
    }

    /// Returns the number of events handled so far, in all parts.
    pub fn events(&self) -> u64 {
        self.engine.events()
    }

    /// Hands on the rows that a live run has recorded so far.
    pub fn flush_record(&mut self) {
        self.world_mut().flush_record();
    }

    /// Returns the number of rows and captured packets that arrived faster than a live run's record could take them.
    pub fn lost_rows(&self) -> u64 {
        self.lost.count()
    }

    /// Returns the folder in which results are prepared.
    pub fn staging(&self) -> Option<&Path> {
        self.folder.as_ref().map(ResultFolder::path)
    }

    /// Returns the end time of the run.
    pub fn end(&self) -> Instant {
        self.end
    }

    /// Executes the next slice; returns true at the end. Fails as soon as the record does, or when the packets under
    /// way threaten to fill the memory.
    pub fn advance(&mut self) -> Result<bool, RunError> {
        let done = self.engine.run_until(self.end, SLICE);
        self.engine.check_record()?;
        let packets = self.engine.packets_under_way();
        if packets > MOST_UNDER_WAY {
            let at_s = self.world().now().as_secs_f64();
            return Err(RunError::TooManyPackets { packets, at_s });
        }
        Ok(done)
    }

    /// Returns the time of the next event, up to the end; `None` when nothing more happens.
    pub fn next_time(&mut self) -> Option<Instant> {
        self.engine.next_time().filter(|&time| time <= self.end)
    }

    /// Executes all events up to `limit`, for a caller that runs the world against a clock.
    pub fn advance_to(&mut self, limit: Instant) -> Result<(), RunError> {
        self.engine.run_until(limit.min(self.end), u64::MAX);
        Ok(self.engine.check_record()?)
    }

    /// Closes the files and puts the folder in its place. `wall_seconds` is the run's wall time, for the summary; the
    /// manifest records whether the run had reached its end.
    pub fn finish(self, wall_seconds: Option<f64>) -> Result<Results, RunError> {
        self.finish_live(wall_seconds, LiveSummary::default())
    }

    /// Finishes a live run like [`Run::finish`], with its further observations. `lost_rows` in `live` is filled in
    /// here, since the last rows come with the end.
    pub fn finish_live(
        self,
        wall_seconds: Option<f64>,
        live: LiveSummary,
    ) -> Result<Results, RunError> {
        let Run {
            engine,
            end,
            folder,
            mut manifest,
            text,
            captures,
            lost,
        } = self;
        let reached = engine.world().now();
        let ended = live.ended || reached >= end;
        manifest.simulated_s = reached.as_secs_f64();
        manifest.resolved = text.inflate();
        let (mut summary, tables) = engine.finish()?;
        manifest.complete = ended && lost.count() == 0;
        summary.wall_s = wall_seconds;
        for (flow, seen) in live.flows {
            let flow = &mut summary.flows[flow];
            flow.ping = seen.ping.or(flow.ping);
            flow.failure = seen.failure.or(flow.failure.take());
        }
        summary.program = live.program;
        summary.server = live.server;
        summary.live = live.live;
        if let Some(serde_json::Value::Object(live)) = &mut summary.live {
            if let (Some(release), Some(sysctls)) = (live.get("kernel"), live.get("sysctls")) {
                let told = serde_json::json!({ "release": release, "sysctls": sysctls });
                manifest.kernel = Some(told);
            }
            live.insert("lost_rows".to_owned(), lost.count().into());
        }
        let folder = match folder {
            Some(folder) => {
                let all = [&tables.series, &tables.packets, &tables.signals];
                for table in all.into_iter().flatten() {
                    if let Table::File { name, sha256, .. } = table {
                        let name = (*name).to_owned();
                        manifest.results.insert(name, sha256.clone());
                    }
                }
                for name in captures {
                    let sha256 = crate::record::sha256(&folder.path().join(&name))?;
                    manifest.results.insert(name, sha256);
                }
                write_json(&folder.path().join("summary.json"), &summary)?;
                write_json(&folder.path().join("manifest.json"), &manifest)?;
                Some(folder.commit()?)
            }
            None => None,
        };
        Ok(Results {
            summary,
            tables,
            manifest,
            folder,
        })
    }
}

fn write_json(file: &Path, value: &impl Serialize) -> Result<(), RunError> {
    let failed = |source| RunError::Write {
        file: file.to_owned(),
        source,
    };
    let mut text = serde_json::to_string_pretty(value).map_err(|error| failed(error.into()))?;
    text.push('\n');
    std::fs::write(file, text).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(live: bool, until: Instant) -> Results {
        let text = r#"
            name = "line"
            duration = "1 s"
            links.one = { between = ["a", "b"], kind = "wired", rate = "1 Mbit/s", delay = "1 ms" }
        "#;
        let loaded = crate::scenario::parse(text, "test.toml", Path::new(""), &[]).unwrap();
        let options = RunOptions {
            live,
            ..RunOptions::default()
        };
        let mut run = Run::new(loaded, &options).unwrap();
        run.advance_to(until).unwrap();
        run.flush_record();
        let summary = LiveSummary {
            live: live
                .then(|| serde_json::json!({ "trusted": true, "kernel": "6.18", "sysctls": {} })),
            ..LiveSummary::default()
        };
        run.finish_live(None, summary).unwrap()
    }

    #[test]
    fn a_manifest_says_how_the_run_was_made_and_whether_it_is_whole() {
        let end = Instant::from_secs(1);
        let simulated = finished(false, end);
        assert_eq!(
            (simulated.manifest.mode, simulated.manifest.complete),
            ("simulated", true)
        );
        assert_eq!(simulated.summary.live, None);
        let live = finished(true, end);
        assert_eq!((live.manifest.mode, live.manifest.complete), ("live", true));
        assert_eq!(live.summary.live.unwrap()["lost_rows"], 0);
        assert_eq!(
            live.manifest.kernel,
            Some(serde_json::json!({ "release": "6.18", "sysctls": {} }))
        );
        assert_eq!(simulated.manifest.kernel, None);
        assert!(!finished(true, Instant::from_millis(10)).manifest.complete);
    }
}
