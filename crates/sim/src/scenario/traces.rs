//! Recordings of a scenario: found, read, hashed.

use super::document::Path;
use super::raw_recordings::{RawAtEnd, RawFiles, RawRecording};
use super::resolve::Report;
use crate::link::trace::{self, AtEnd, LARGEST_FILE, Trace, TraceError};
use crate::position::Track;
use sha2::{Digest, Sha256};
use std::path::PathBuf;
use std::sync::Arc;

/// Reader of recordings, which keeps their hashes.
pub(crate) struct Traces<'a> {
    directory: &'a std::path::Path,
    /// Files by the scenario's names, with their SHA-256.
    pub hashes: Vec<(String, String)>,
}

impl<'a> Traces<'a> {
    /// Creates a reader of files in `directory`.
    pub fn new(directory: &'a std::path::Path) -> Traces<'a> {
        Traces {
            directory,
            hashes: Vec::new(),
        }
    }

    /// Reads the recording at `path`.
    pub fn of_direction(
        &mut self,
        raw: &RawRecording,
        path: &Path,
        report: &mut Report<'_>,
    ) -> Option<Arc<Trace>> {
        let at_end = match raw.at_end {
            Some(RawAtEnd::Hold) => AtEnd::Hold,
            Some(RawAtEnd::Repeat) | None => AtEnd::Repeat,
        };
        let (key, name) = raw.kind.first();
        let here = path.key(key);
        let file = self.open(name, &here, report)?;
        let trace = match &raw.kind {
            RawFiles::Mahimahi(_) => Trace::load_mahimahi(&file, at_end),
            RawFiles::Csv(_) => Trace::load_csv(&file, at_end),
            RawFiles::Leoreplayer(pair) => {
                let delay = self.open(&pair.delay, &path.key("delay"), report)?;
                Trace::load_leoreplayer(&file, &delay, at_end)
            }
        };
        match trace {
            Ok(trace) => Some(Arc::new(trace)),
            Err(error) => {
                report.wrong(&here, message(&error));
                None
            }
        }
    }

    /// Returns the recorded track in the file called `name`.
    pub fn track(&mut self, name: &str, path: &Path, report: &mut Report<'_>) -> Option<Track> {
        self.parsed((name, "track"), path, report, Track::parse_csv)
    }

    /// Returns the content of the file called `name`, by a parser of its name for messages and its text; `kind` begins
    /// the messages.
    pub fn parsed<T, E: std::fmt::Display>(
        &mut self,
        (name, kind): (&str, &str),
        path: &Path,
        report: &mut Report<'_>,
        parse: impl FnOnce(&str, &str) -> Result<T, E>,
    ) -> Option<T> {
        let file = self.open(name, path, report)?;
        let text = trace::read(&file).map_err(|error| error.to_string());
        let content =
            text.and_then(|(shown, text)| parse(&shown, &text).map_err(|error| error.to_string()));
        content
            .map_err(|why| report.wrong(path, format!("{kind} {why}")))
            .ok()
    }

    /// Returns the path of the file called `name`, checked to be readable.
    fn open(&mut self, name: &str, path: &Path, report: &mut Report<'_>) -> Option<PathBuf> {
        let file = self.directory.join(name);
        match hash(&file) {
            Ok(hash) => {
                if !self.hashes.iter().any(|(known, _)| known == name) {
                    self.hashes.push((name.to_owned(), hash));
                }
                Some(file)
            }
            Err(why) => {
                let message = format!("trace {}: {why}", file.display());
                report.wrong(path, message);
                None
            }
        }
    }
}

fn message(error: &TraceError) -> String {
    format!("trace {error}")
}

fn hash(file: &std::path::Path) -> Result<String, String> {
    let cannot = |error: std::io::Error| format!("cannot be read: {error}");
    let metadata = std::fs::metadata(file).map_err(cannot)?;
    // A pipe or a device may never end.
    if !metadata.is_file() {
        return Err("is not a regular file".to_owned());
    }
    if metadata.len() > LARGEST_FILE {
        return Err("is above 2 GB".to_owned());
    }
    let bytes = std::fs::read(file).map_err(cannot)?;
    let digest = Sha256::digest(&bytes);
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}
