//! Recordings that a scenario names: found, read, hashed.

use super::document::Path;
use super::error::quoted;
use super::raw_links::{RawAtEnd, RawDirection};
use super::resolve::Report;
use super::units;
use crate::link::trace::{self, AtEnd, LARGEST_FILE, Trace, TraceError};
use crate::position::Track;
use sha2::{Digest, Sha256};
use std::path::PathBuf;
use std::sync::Arc;

/// Reads recordings and keeps their hashes.
pub(super) struct Traces<'a> {
    directory: &'a std::path::Path,
    /// Files as the scenario names them, with their SHA-256.
    pub hashes: Vec<(String, String)>,
}

impl<'a> Traces<'a> {
    /// Files are looked for in `directory`.
    pub fn new(directory: &'a std::path::Path) -> Traces<'a> {
        Traces {
            directory,
            hashes: Vec::new(),
        }
    }

    /// The recording that the direction keys at `path` name, if they name one that can be read.
    pub fn of_direction(
        &mut self,
        raw: &RawDirection,
        path: &Path,
        report: &mut Report<'_>,
    ) -> Option<Arc<Trace>> {
        let at_end = match raw.at_end {
            Some(RawAtEnd::Hold) => AtEnd::Hold,
            Some(RawAtEnd::Repeat) | None => AtEnd::Repeat,
        };
        let given = [
            ("mahimahi", &raw.mahimahi),
            ("bandwidth", &raw.bandwidth),
            ("csv", &raw.csv),
        ];
        let mut given = given
            .iter()
            .filter_map(|(key, name)| Some((*key, name.as_deref()?)));
        let Some((key, name)) = given.next() else {
            if raw.at_end.is_some() {
                let message =
                    "there is no recording beside it; expected mahimahi, bandwidth or csv";
                report.wrong_key(&path.key("at_end"), message.to_owned());
            }
            return None;
        };
        if let Some((second, _)) = given.next() {
            let message = format!("stands beside \"{key}\"; expected one of them");
            report.wrong_key(&path.key(second), message);
            return None;
        }
        let here = path.key(key);
        if key == "bandwidth" && units::rate(name).is_ok() {
            let name = quoted(name);
            let message =
                format!("{name} is a rate, and bandwidth names a recording; say rate = {name}");
            report.wrong_key(&here, message);
            return None;
        }
        let file = self.open(name, &here, report)?;
        let trace = match (key, &raw.delay) {
            ("mahimahi", _) => Trace::load_mahimahi(&file, at_end),
            ("csv", _) => Trace::load_csv(&file, at_end),
            (_, Some(delay)) => {
                let delay = self.open(delay, &path.key("delay"), report)?;
                Trace::load_leoreplayer(&file, &delay, at_end)
            }
            (_, None) => {
                let message = "is half of a pair; expected delay = \"FILE\" beside it";
                report.wrong(&here, message.to_owned());
                return None;
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

    /// The recorded track in the file called `name`.
    pub fn track(&mut self, name: &str, path: &Path, report: &mut Report<'_>) -> Option<Track> {
        let file = self.open(name, path, report)?;
        let text = trace::read(&file).map_err(|error| error.to_string());
        let track = text.and_then(|(shown, text)| {
            Track::parse_csv(&shown, &text).map_err(|error| error.to_string())
        });
        track
            .map_err(|why| report.wrong(path, format!("track {why}")))
            .ok()
    }

    /// The path of the file called `name`, once it is known to be readable.
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
        return Err("is no regular file".to_owned());
    }
    if metadata.len() > LARGEST_FILE {
        return Err("is above 2 GB".to_owned());
    }
    let bytes = std::fs::read(file).map_err(cannot)?;
    let digest = Sha256::digest(&bytes);
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}
