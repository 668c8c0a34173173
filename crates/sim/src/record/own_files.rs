//! Rule for Baton's own files in a folder of results: those named in its manifest, and those that every run leaves.
//! Python has the same rule (`baton/own_files.py`).

use super::{MANIFEST_FILE, RecordError};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// Files beside the data of a run; the last one remains if writing the page was interrupted.
const ALWAYS: [&str; 5] = [
    MANIFEST_FILE,
    "summary.json",
    "server.log",
    "report.html",
    ".partial-report.html",
];
/// Folder of recordings in results.
const RECORDINGS: &str = "recordings";
/// Largest manifest to read, in bytes.
const LARGEST_MANIFEST: u64 = 100_000_000;

/// Part common to all manifests.
#[derive(Deserialize)]
struct Named {
    #[serde(rename = "format")]
    _format: u32,
    #[serde(rename = "resolved")]
    _resolved: IgnoredAny,
    results: BTreeMap<String, IgnoredAny>,
    traces: BTreeMap<String, IgnoredAny>,
}

/// Refuses a folder that must not be replaced: it has no results, or other files beside them.
pub(super) fn refuse_strangers(folder: &Path) -> Result<(), RecordError> {
    let not_results = || RecordError::NotResults(folder.to_owned());
    let found = names(folder, "").ok_or_else(not_results)?;
    if found.is_empty() {
        return Ok(());
    }
    let named = manifest(folder).ok_or_else(not_results)?;
    let mut ours: BTreeSet<String> = ALWAYS.map(str::to_owned).into();
    ours.extend(named.results.into_keys().chain(named.traces.into_keys()));
    match found.into_iter().find(|name| !ours.contains(name)) {
        None => Ok(()),
        Some(name) => Err(RecordError::Stranger {
            folder: folder.to_owned(),
            name,
        }),
    }
}

/// Returns the manifest in a folder; `None` if it is missing, damaged, no regular file, or larger than any of Baton's.
fn manifest(folder: &Path) -> Option<Named> {
    let path = folder.join(MANIFEST_FILE);
    if !fs::metadata(&path).ok()?.is_file() {
        return None;
    }
    let mut text = Vec::new();
    let file = File::open(&path).ok()?;
    file.take(LARGEST_MANIFEST).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Returns the names in a folder, each behind `prefix`, and those below the folder of recordings; another folder's name
/// ends in a slash. `None` if the folder cannot be read.
fn names(folder: &Path, prefix: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).ok()? {
        let entry = entry.ok()?;
        let own = entry.file_name();
        let name = format!("{prefix}{}", own.to_string_lossy());
        let is_folder = entry.file_type().ok()?.is_dir();
        if is_folder && prefix.is_empty() && own == RECORDINGS {
            let below = format!("{RECORDINGS}/");
            names.extend(self::names(&entry.path(), &below)?);
        } else {
            names.push(if is_folder { format!("{name}/") } else { name });
        }
    }
    names.sort();
    Some(names)
}
