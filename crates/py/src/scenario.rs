//! Scenarios and their runs, for Python.

use crate::classes::{self, Classes};
use crate::errors::{from_run, from_scenario, guarded, input_error};
use crate::result::{Result, pathlib};
use crate::values;
use baton_sim::captures::CaptureSettings;
use baton_sim::cut::CutReport;
use baton_sim::run::{Run, RunOptions};
use baton_sim::scenario::{self, Loaded, Override, PythonClasses};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// From one look at signals, and one call of `progress`, to the next.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A scenario that can be run. It does not change: runs of it may go on in several threads at once.
#[pyclass(frozen, module = "baton")]
pub(crate) struct Scenario {
    loaded: Loaded,
    origin: String,
    overrides: Vec<String>,
}

impl Scenario {
    pub(crate) fn loaded(&self) -> &Loaded {
        &self.loaded
    }
}

#[pymethods]
impl Scenario {
    /// Reads a scenario file; for a live run, in which a flow may have any congestion control of the kernel's, and only
    /// decisions may be classes in Python.
    ///
    /// `overrides` are texts like `"flows.download.transport.congestion=cubic"`; of two for one key the later holds.
    /// Raises `ScenarioError`, also for a file that cannot be read.
    #[staticmethod]
    #[pyo3(signature = (path, overrides = Vec::new(), *, live = false))]
    fn load(
        py: Python<'_>,
        path: PathBuf,
        overrides: Vec<String>,
        live: bool,
    ) -> PyResult<Scenario> {
        let changes = parse_overrides(&overrides)?;
        let directory = path.parent().unwrap_or(Path::new(""));
        let classes = Classes(directory);
        let loaded = py
            .detach(|| {
                if live {
                    scenario::load_live(&path, &changes, &|class| classes.decision(class))
                } else {
                    scenario::load_with(&path, &changes, &classes)
                }
            })
            .map_err(from_scenario)?;
        Ok(Scenario {
            loaded,
            origin: absolute(&path),
            overrides,
        })
    }

    /// Reads a scenario from TOML text.
    ///
    /// Files that it names are looked for in `directory` (by default the current one), and messages name it
    /// as `scenario.toml` there. Raises `ScenarioError`.
    #[staticmethod]
    #[pyo3(signature = (text, directory = PathBuf::new(), overrides = Vec::new()))]
    fn parse(
        py: Python<'_>,
        text: &str,
        directory: PathBuf,
        overrides: Vec<String>,
    ) -> PyResult<Scenario> {
        let changes = parse_overrides(&overrides)?;
        // Named as a file would be: messages read alike, and the manifest says where recordings lie.
        let origin = directory.join("scenario.toml");
        let name = origin.display().to_string();
        let classes = Classes(&directory);
        let loaded = py
            .detach(|| scenario::parse_with(text, &name, &directory, &changes, &classes))
            .map_err(from_scenario)?;
        Ok(Scenario {
            loaded,
            origin: absolute(&origin),
            overrides,
        })
    }

    /// Makes a scenario of Python values, with the names of the scenario file's keys.
    ///
    /// Tables are dictionaries, arrays lists, and quantities have their units as in the file:
    /// `Scenario.build(name="short", duration="10 s", links={"lan": {"rate": "2 Mbit/s", ...}}, flows=[{...}])`.
    /// `directory` and `overrides` as in `parse`. Raises `ScenarioError`, whose text names the key.
    #[staticmethod]
    #[pyo3(signature = (*, directory = PathBuf::new(), overrides = Vec::new(), **keys))]
    fn build(
        py: Python<'_>,
        directory: PathBuf,
        overrides: Vec<String>,
        keys: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Scenario> {
        let changes = parse_overrides(&overrides)?;
        let values = match keys {
            Some(keys) => values::table(keys, "scenario")?,
            None => toml::Table::new(),
        };
        let classes = Classes(&directory);
        let loaded = py
            .detach(|| scenario::build(values, &directory, &changes, &classes))
            .map_err(from_scenario)?;
        Ok(Scenario {
            loaded,
            origin: absolute(&directory.join("scenario.toml")),
            overrides,
        })
    }

    /// The same scenario with other values: `overrides` are texts like `"links.lan.rate=1 Mbit/s"`, and hold above
    /// those before. Raises `ScenarioError`.
    fn with_overrides(&self, py: Python<'_>, overrides: Vec<String>) -> PyResult<Scenario> {
        let changes = parse_overrides(&overrides)?;
        let directory = Path::new(&self.origin).parent().unwrap_or(Path::new(""));
        let classes = Classes(directory);
        let text = &self.loaded.resolved;
        let loaded = py
            .detach(|| scenario::parse_with(text, &self.origin, directory, &changes, &classes))
            .map_err(from_scenario)?;
        Ok(Scenario {
            loaded,
            origin: self.origin.clone(),
            overrides: [self.overrides.as_slice(), &overrides].concat(),
        })
    }

    /// Short name.
    #[getter]
    fn name(&self) -> &str {
        &self.loaded.scenario.name
    }

    /// One line for people; may be empty.
    #[getter]
    fn description(&self) -> &str {
        &self.loaded.scenario.description
    }

    /// Simulated time that a run lasts, in seconds.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.loaded.scenario.duration.as_secs_f64()
    }

    /// Seed of all randomness, unless `run` is given another.
    #[getter]
    fn seed(&self) -> u64 {
        self.loaded.scenario.seed
    }

    /// Names of the flows, in the order of the file.
    #[getter]
    fn flow_names(&self) -> Vec<&str> {
        let flows = self.loaded.scenario.flows.iter();
        flows.map(|flow| flow.name.as_str()).collect()
    }

    /// Names of the classes of flows, sorted.
    #[getter]
    fn class_names(&self) -> Vec<&str> {
        let flows = self.loaded.scenario.flows.iter();
        let names: BTreeSet<&str> = flows.filter_map(|flow| flow.class.as_deref()).collect();
        names.into_iter().collect()
    }

    /// Number of the links, those of each mobile to each cell of a radio network included.
    #[getter]
    fn link_count(&self) -> usize {
        self.loaded.scenario.link_count()
    }

    /// Names of the links, in the order of the file.
    #[getter]
    fn link_names(&self) -> Vec<String> {
        let names = self.loaded.scenario.link_names();
        names.map(Cow::into_owned).collect()
    }

    /// Expectations that the scenario holds itself to, as written.
    #[getter]
    fn expectations(&self) -> Vec<String> {
        self.loaded.scenario.expectations.clone()
    }

    /// Probable mistakes, such as a change after the end of the run.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        let warnings = self.loaded.warnings.iter();
        warnings.map(ToString::to_string).collect()
    }

    /// The scenario as TOML, with the overrides applied.
    #[getter]
    fn resolved(&self) -> &str {
        &self.loaded.resolved
    }

    /// Folder in which the files that the scenario names are looked for.
    #[getter]
    fn directory(&self) -> PathBuf {
        let origin = Path::new(&self.origin);
        origin.parent().unwrap_or(Path::new("")).to_owned()
    }

    /// SHA-256 of the recordings that the scenario reads, by path as the scenario names them.
    #[getter]
    fn traces(&self) -> BTreeMap<&str, &str> {
        let traces = self.loaded.traces.iter();
        traces
            .map(|(path, hash)| (path.as_str(), hash.as_str()))
            .collect()
    }

    /// The parts in which `run` with `threads` runs it, as a dictionary; `baton.parts.Cut` has the keys.
    #[getter]
    fn cut<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let report = py.detach(|| CutReport::of(&self.loaded.scenario));
        let text = serde_json::to_string(&report)
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        py.import("json")?.call_method1("loads", (text,))
    }

    /// Returns the HTML that a notebook shows.
    fn _repr_html_(slf: &Bound<'_, Self>) -> PyResult<String> {
        let notebook = slf.py().import("baton.notebook")?;
        notebook.call_method1("scenario_html", (slf,))?.extract()
    }

    fn __repr__(&self) -> String {
        format!(
            "<baton.Scenario {:?}, {} s>",
            self.name(),
            self.duration_s()
        )
    }

    /// Runs the scenario; other threads go on meanwhile.
    ///
    /// Without `out`, tables stay in memory and nothing is written. With it, the results appear as the folder
    /// `out` when the run has ended; one that exists already is refused unless `force` is true, and even then
    /// replaced only if it is empty or holds results; `FolderError` says so. `pcap` adds captures of every
    /// interface, in a folder; with `pcap_interfaces`, only of those, as `laptop-wifi`; with `snap_length`, of the
    /// first so many bytes of each packet. Raises `InputError` for an interface that is not there.
    ///
    /// `progress` is called with the simulated seconds and a word on what is going on, about twenty times a
    /// second; an exception in it ends the run, nothing is kept, and it is raised here.
    ///
    /// Ctrl-C ends the run early. With `out`, what there is by then is kept, and the result's `complete` is
    /// false; without, `KeyboardInterrupt` is raised. Raises `RunError` if the results cannot be kept.
    ///
    /// An exception in a class in Python that the scenario names ends the run, nothing is kept, and it is raised here. So is
    /// the `KeyboardInterrupt` of a Ctrl-C that meets the class at work.
    ///
    /// With `threads`, the parts into which `cut` divides the scenario run on so many threads, if there are any. The results
    /// are the same for any number, also one, but events at the same moment may have another order than without `threads`.
    /// Such a run writes no captures: `InputError`.
    #[pyo3(signature = (out = None, *, seed = None, force = false, pcap = false, snap_length = None, pcap_interfaces = Vec::new(), progress = None, threads = None))]
    #[allow(clippy::too_many_arguments)] // Python's are keywords.
    fn run(
        slf: &Bound<'_, Self>,
        py: Python<'_>,
        out: Option<PathBuf>,
        seed: Option<u64>,
        force: bool,
        pcap: bool,
        snap_length: Option<NonZeroU32>,
        pcap_interfaces: Vec<String>,
        progress: Option<Py<PyAny>>,
        threads: Option<NonZeroUsize>,
    ) -> PyResult<Result> {
        let begun = Instant::now();
        let this = slf.get();
        let mut loaded = this.loaded.clone();
        loaded.scenario.seed = seed.unwrap_or(loaded.scenario.seed);
        let into_folder = out.is_some();
        let chosen = CaptureSettings {
            interfaces: pcap_interfaces,
            snap_length,
        };
        let captured = pcap || chosen != CaptureSettings::default();
        if captured && threads.is_some() {
            return Err(input_error(
                "captures and threads: a run on threads writes no captures; expected one of them",
            ));
        }
        let options = RunOptions {
            out,
            force,
            captures: captured.then_some(chosen),
            origin: this.origin.clone(),
            overrides: this.overrides.clone(),
            commit: crate::build_commit().map(str::to_owned),
            live: false,
            threads,
        };
        let results = py.detach(|| {
            guarded(|| {
                // State that an earlier run left when it ended otherwise.
                classes::take_failure();
                let mut run = Run::new(loaded, &options).map_err(from_run)?;
                work(&mut run, progress.as_ref(), into_folder)?;
                run.finish(Some(begun.elapsed().as_secs_f64()))
                    .map_err(from_run)
            })
        })?;
        if let Some(folder) = &results.folder {
            // Recordings are put beside the manifest, which then names no folder of this machine.
            let file = pathlib(py, Path::new(&this.origin))?;
            py.import("baton.travel")?
                .call_method1("make_portable", (pathlib(py, folder)?, file, slf))?;
        }
        Result::new(py, results)
    }
}

/// Works until the end, or until Python raises something: Ctrl-C, which is no error if what there is by then
/// is kept, or an exception in `progress` or in a class that the scenario names.
fn work(run: &mut Run, progress: Option<&Py<PyAny>>, keep_interrupted: bool) -> PyResult<()> {
    let mut looked = Instant::now();
    loop {
        let done = run.advance().map_err(from_run)?;
        if let Some(error) = classes::take_failure() {
            // Never kept: the slice has gone on with the class as it stood when it failed.
            return Err(error);
        }
        if done {
            return Ok(());
        }
        if looked.elapsed() >= LOOK_EVERY {
            let looked_at = Python::attach(|py| {
                py.check_signals()?;
                report(py, run, progress)
            });
            match looked_at {
                Err(error) if keep_interrupted && is_interrupt(&error) => return Ok(()),
                other => other?,
            }
            looked = Instant::now();
        }
    }
}

fn report(py: Python<'_>, run: &Run, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    if let Some(progress) = progress {
        let world = run.world();
        progress.call1(py, (world.now().as_secs_f64(), world.status()))?;
    }
    Ok(())
}

fn is_interrupt(error: &PyErr) -> bool {
    Python::attach(|py| error.is_instance_of::<PyKeyboardInterrupt>(py))
}

/// Returns the place of a file, whatever folder a later run is started from; the file as it was named, if that cannot
/// be told.
fn absolute(path: &Path) -> String {
    let absolute = std::path::absolute(path);
    absolute.as_deref().unwrap_or(path).display().to_string()
}

fn parse_overrides(overrides: &[String]) -> PyResult<Vec<Override>> {
    overrides
        .iter()
        .map(|text| text.parse().map_err(from_scenario))
        .collect()
}
