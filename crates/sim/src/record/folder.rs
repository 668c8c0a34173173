//! The folder of a run's results: prepared under another name, and put in its place when complete.

use super::RecordError;
use super::own_files::refuse_strangers;
use sha2::{Digest, Sha256};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// File that every folder of results has.
pub const MANIFEST_FILE: &str = "manifest.json";
/// Lock file of the process that writes a staging folder, released when the process ends.
const LOCK_FILE: &str = ".lock";

/// A folder of results that is being written. It is beside its target under the name `.partial-<name>` until
/// [`ResultFolder::commit`]; dropping it before that removes it. A killed process leaves it behind, and the next run to
/// the same target removes it.
#[derive(Debug)]
pub struct ResultFolder {
    target: PathBuf,
    staging: PathBuf,
    force: bool,
    /// Lock against other processes while it is open. Systems without locks do without.
    lock: Option<File>,
    committed: bool,
}

impl ResultFolder {
    /// Begins a folder for `target`. Without `force` the target must not exist; with it, the target may be a folder of
    /// results without other files, or an empty one, which [`ResultFolder::commit`] then replaces.
    pub fn create(target: &Path, force: bool) -> Result<ResultFolder, RecordError> {
        let target = &real(target)?;
        let staging = beside(target, ".partial-")?;
        let old = beside(target, ".old-")?;
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(at(parent))?;
        }
        if old.exists() && !target.exists() {
            // A run was killed between the two renames of its commit: its predecessor is still complete.
            fs::rename(&old, target).map_err(at(&old))?;
        }
        refuse_target(target, force)?;
        let lock = claim(target, &staging)?;
        Ok(ResultFolder {
            target: target.to_owned(),
            staging,
            force,
            lock,
            committed: false,
        })
    }

    /// Returns the folder to write to until the commit.
    pub fn path(&self) -> &Path {
        &self.staging
    }

    /// Puts the folder in its place, in one step as seen from outside. With force, the previous folder is removed only
    /// now.
    pub fn commit(mut self) -> Result<PathBuf, RecordError> {
        refuse_target(&self.target, self.force)?;
        let lock = self.staging.join(LOCK_FILE);
        if self.lock.is_some() {
            fs::remove_file(&lock).map_err(at(&lock))?;
        }
        let old = beside(&self.target, ".old-")?;
        let replaces = self.target.exists();
        if replaces {
            remove_results(&old)?;
            fs::rename(&self.target, &old).map_err(at(&self.target))?;
        }
        if let Err(error) = fs::rename(&self.staging, &self.target) {
            if replaces {
                fs::rename(&old, &self.target).map_err(at(&old))?;
            }
            return Err(at(&self.target)(error));
        }
        self.committed = true;
        if replaces {
            remove_results(&old)?;
        }
        Ok(self.target.clone())
    }
}

impl Drop for ResultFolder {
    fn drop(&mut self) {
        if !self.committed {
            // A folder that cannot be removed is recognizable by its name.
            let _ = fs::remove_dir_all(&self.staging);
        }
    }
}

/// Returns the SHA-256 of a file's bytes (FIPS 180-4), in hexadecimal.
pub fn sha256(path: &Path) -> Result<String, RecordError> {
    let mut file = File::open(path).map_err(at(path))?;
    let mut hash = Hashed::new(io::sink());
    io::copy(&mut file, &mut hash).map_err(at(path))?;
    Ok(hash.digest())
}

/// Writer that hashes all bytes on their way.
pub(super) struct Hashed<Out> {
    out: Out,
    hash: Sha256,
}

impl<Out> Hashed<Out> {
    pub(super) fn new(out: Out) -> Hashed<Out> {
        let hash = Sha256::new();
        Hashed { out, hash }
    }

    /// Returns the SHA-256 of all bytes so far, in hexadecimal.
    pub(super) fn digest(&self) -> String {
        let digest = self.hash.clone().finalize();
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl<Out: io::Write> io::Write for Hashed<Out> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Returns the path beside `target` whose name is `target`'s after `prefix`.
fn beside(target: &Path, prefix: &str) -> Result<PathBuf, RecordError> {
    let name = target
        .file_name()
        .ok_or_else(|| RecordError::NoName(target.to_owned()))?;
    let parts: [&OsStr; 2] = [prefix.as_ref(), name];
    Ok(target.with_file_name(parts.into_iter().collect::<OsString>()))
}

fn refuse_target(target: &Path, force: bool) -> Result<(), RecordError> {
    if fs::symlink_metadata(target).is_err() {
        return Ok(());
    }
    if !force {
        return Err(RecordError::Exists(target.to_owned()));
    }
    refuse_strangers(target)
}

/// Returns the path of `target` without links and `..`, so that its replacement is in the same folder.
fn real(target: &Path) -> Result<PathBuf, RecordError> {
    match fs::canonicalize(target) {
        Ok(real) => Ok(real),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(target.to_owned()),
        Err(error) => Err(at(target)(error)),
    }
}

/// Creates the staging folder and locks it. An unlocked one was left by a killed run.
fn claim(target: &Path, staging: &Path) -> Result<Option<File>, RecordError> {
    let lock_path = staging.join(LOCK_FILE);
    if staging.exists() {
        if let Ok(lock) = File::open(&lock_path)
            && let Err(TryLockError::WouldBlock) = lock.try_lock()
        {
            return Err(RecordError::Busy(target.to_owned()));
        }
        remove_if_there(staging)?;
    }
    fs::create_dir(staging).map_err(at(staging))?;
    let lock = File::create(&lock_path).map_err(at(&lock_path))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(RecordError::Busy(target.to_owned())),
        // On a file system without locks two runs to one target are not noticed.
        Err(TryLockError::Error(_)) => {}
    }
    Ok(Some(lock))
}

/// Removes results that were moved aside, unless other files have been added meanwhile.
fn remove_results(folder: &Path) -> Result<(), RecordError> {
    match folder.exists() {
        true => refuse_strangers(folder).and_then(|()| remove_if_there(folder)),
        false => Ok(()),
    }
}

fn remove_if_there(path: &Path) -> Result<(), RecordError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at(path)(error)),
        _ => Ok(()),
    }
}

fn at(path: &Path) -> impl Fn(io::Error) -> RecordError {
    let path = path.to_owned();
    move |error| RecordError::System {
        path: path.clone(),
        reason: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::temporary;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn appears_only_when_complete() {
        let folder = temporary("appears");
        let target = folder.join("results/run-1");
        let results = ResultFolder::create(&target, false).unwrap();
        fs::write(results.path().join(MANIFEST_FILE), "{}").unwrap();
        assert!(!target.exists());
        assert_eq!(results.commit().unwrap(), target);
        assert_eq!(names(&target), [MANIFEST_FILE]);
        assert_eq!(names(&folder.join("results")), ["run-1"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn leaves_nothing_without_commit() {
        let folder = temporary("nothing");
        let results = ResultFolder::create(&folder.join("run"), false).unwrap();
        fs::write(results.path().join("series.parquet"), "half").unwrap();
        drop(results);
        assert!(names(&folder).is_empty());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn force_replaces_results_at_the_commit_and_nothing_else() {
        let folder = temporary("force");
        let target = folder.join("run");
        fs::create_dir(&target).unwrap();
        fs::write(target.join("thesis.tex"), "years of work").unwrap();
        assert!(matches!(
            ResultFolder::create(&target, false),
            Err(RecordError::Exists(_))
        ));
        assert!(matches!(
            ResultFolder::create(&target, true),
            Err(RecordError::NotResults(_))
        ));

        // A manifest alone does not make a folder of results: other files stay.
        fs::write(target.join(MANIFEST_FILE), OLD).unwrap();
        let refused = ResultFolder::create(&target, true).unwrap_err().to_string();
        assert!(
            refused.contains("holds thesis.tex, which is not one of Baton's results"),
            "{refused}"
        );
        fs::rename(target.join("thesis.tex"), folder.join("thesis.tex")).unwrap();
        fs::create_dir(target.join("recordings")).unwrap();
        fs::write(target.join("recordings/leo-1234abcd.bw"), "1").unwrap();
        let results = ResultFolder::create(&target, true).unwrap();
        fs::write(results.path().join(MANIFEST_FILE), "new").unwrap();
        assert_eq!(
            fs::read(target.join(MANIFEST_FILE)).unwrap(),
            OLD.as_bytes()
        );
        results.commit().unwrap();
        assert_eq!(fs::read(target.join(MANIFEST_FILE)).unwrap(), b"new");
        assert_eq!(names(&folder), ["run", "thesis.tex"]);
        fs::remove_dir_all(folder).unwrap();
    }

    /// Smallest manifest by which a folder of results is recognized.
    const OLD: &str = r#"{ "format": 2, "resolved": "", "results": { "series.parquet": "ab" },
        "traces": { "recordings/leo-1234abcd.bw": "cd" } }"#;

    #[test]
    fn what_is_no_manifest_of_ours_makes_no_results() {
        let folder = temporary("others");
        let target = folder.join("extension");
        for manifest in ["{}", "old", r#"{"format":2,"resolved":"","results":[]}"#] {
            fs::create_dir_all(target.join("src")).unwrap();
            fs::write(target.join(MANIFEST_FILE), manifest).unwrap();
            let refused = ResultFolder::create(&target, true);
            assert!(
                matches!(refused, Err(RecordError::NotResults(_))),
                "{manifest}"
            );
        }
        fs::write(target.join(MANIFEST_FILE), OLD).unwrap();
        let refused = ResultFolder::create(&target, true).unwrap_err();
        assert!(
            refused
                .to_string()
                .contains("holds src/, which is not one of Baton's results"),
            "{refused}"
        );
        fs::remove_dir_all(folder).unwrap();
    }

    /// A device has no end.
    #[cfg(unix)]
    #[test]
    fn a_manifest_without_an_end_is_none() {
        let folder = temporary("endless");
        let target = folder.join("run");
        fs::create_dir(&target).unwrap();
        std::os::unix::fs::symlink("/dev/zero", target.join(MANIFEST_FILE)).unwrap();
        let refused = ResultFolder::create(&target, true);
        assert!(matches!(refused, Err(RecordError::NotResults(_))));
        fs::remove_dir_all(folder).unwrap();
    }

    /// Results are replaced in place, also through links.
    #[cfg(unix)]
    #[test]
    fn a_target_that_leads_through_itself_is_replaced() {
        let folder = temporary("through");
        let target = folder.join("run");
        std::os::unix::fs::symlink("run", folder.join("link")).unwrap();
        for way in ["run/../run", "link"] {
            fs::create_dir_all(&target).unwrap();
            fs::write(target.join(MANIFEST_FILE), OLD).unwrap();
            let results = ResultFolder::create(&folder.join(way), true).unwrap();
            fs::write(results.path().join(MANIFEST_FILE), way).unwrap();
            results.commit().unwrap();
            assert_eq!(
                fs::read(target.join(MANIFEST_FILE)).unwrap(),
                way.as_bytes()
            );
            assert_eq!(names(&folder), ["link", "run"]);
        }
        fs::remove_dir_all(folder).unwrap();
    }

    /// Files that a user puts there during the run do not belong to it.
    #[test]
    fn files_that_come_during_a_run_stay_and_the_old_results_too() {
        let folder = temporary("meanwhile");
        let target = folder.join("run");
        fs::create_dir(&target).unwrap();
        fs::write(target.join(MANIFEST_FILE), OLD).unwrap();
        let results = ResultFolder::create(&target, true).unwrap();
        fs::write(target.join("notes.txt"), "mine").unwrap();
        assert!(matches!(
            results.commit(),
            Err(RecordError::Stranger { .. })
        ));
        assert_eq!(names(&target), [MANIFEST_FILE, "notes.txt"]);
        assert_eq!(names(&folder), ["run"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_killed_runs_leavings_are_removed_but_a_living_ones_are_not() {
        let folder = temporary("stale");
        let target = folder.join("run");
        let staging = folder.join(".partial-run");
        fs::create_dir(&staging).unwrap();
        fs::write(staging.join(LOCK_FILE), "").unwrap();
        fs::write(staging.join("series.parquet"), "half").unwrap();

        let living = ResultFolder::create(&target, false).unwrap();
        assert_eq!(names(&staging), [LOCK_FILE]);
        assert!(matches!(
            ResultFolder::create(&target, false),
            Err(RecordError::Busy(_))
        ));
        living.commit().unwrap();
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_commit_that_was_cut_short_loses_nothing() {
        let folder = temporary("cut-short");
        let target = folder.join("run");
        fs::create_dir(folder.join(".old-run")).unwrap();
        fs::write(folder.join(".old-run").join(MANIFEST_FILE), "old").unwrap();
        assert!(matches!(
            ResultFolder::create(&target, false),
            Err(RecordError::Exists(_))
        ));
        assert_eq!(fs::read(target.join(MANIFEST_FILE)).unwrap(), b"old");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn names_that_are_none_are_refused() {
        assert!(matches!(
            ResultFolder::create(Path::new("/"), true),
            Err(RecordError::NoName(_))
        ));
    }

    /// FIPS 180-4's example, as published by NIST.
    #[test]
    fn hashes_as_published() {
        let folder = temporary("hash");
        let file = folder.join("abc");
        fs::write(&file, "abc").unwrap();
        assert_eq!(
            sha256(&file).unwrap(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        fs::remove_dir_all(folder).unwrap();
    }
}
