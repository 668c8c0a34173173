//! The file of the journal, and the thread that writes it: a step, then `fdatasync`, then the next one, which has all
//! that came meanwhile.

use crate::operation::status::JournalStatus;
use baton_linux::readiness::Waker;
use baton_proto::gateways::aerotp::JournalStep;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Pause before a step that failed is tried again.
const PAUSE: Duration = Duration::from_millis(500);

/// The journal's file and its thread.
#[derive(Debug)]
pub(super) struct Store {
    directory: PathBuf,
    steps: Sender<JournalStep>,
    durable: Receiver<()>,
    state: Arc<Mutex<State>>,
    /// Held as long as the daemon runs.
    _lock: File,
}

/// State shared with the thread.
#[derive(Debug, Default)]
struct State {
    /// The file, once the first one is there, and its length up to the last whole step.
    file: Option<(File, u64)>,
    status: JournalStatus,
}

/// Returns the path of the journal in a folder.
pub(super) fn path(directory: &Path) -> PathBuf {
    directory.join("custody.journal")
}

impl Store {
    /// Opens the journal's folder, made if there is none, for this process alone; returns the contents of the file.
    ///
    /// # Errors
    /// The folder or file, the kernel's message, and advice.
    pub(super) fn open(directory: &Path, waker: &Waker) -> Result<(Store, Vec<u8>), String> {
        let shown = directory.display();
        let failed = |error: io::Error| {
            format!("custody: {shown}: {error}; expected a folder that the daemon may write")
        };
        fs::create_dir_all(directory).map_err(failed)?;
        let lock = create(&directory.join("custody.lock")).map_err(failed)?;
        lock.try_lock().map_err(|error| {
            format!("custody: {shown}: {error}; expected a folder that no other daemon uses")
        })?;
        let contents = match fs::read(path(directory)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read.map_err(failed)?,
        };
        let (steps, to_do) = channel();
        let (done, durable) = channel();
        let state = Arc::new(Mutex::new(State::default()));
        let writer = Writer {
            directory: directory.to_owned(),
            state: state.clone(),
            waker: waker.clone(),
        };
        thread::spawn(move || writer.run(&to_do, &done));
        let store = Store {
            directory: directory.to_owned(),
            steps,
            durable,
            state,
            _lock: lock,
        };
        Ok((store, contents))
    }

    /// Writes the first file, and waits for it.
    ///
    /// # Errors
    /// The folder, the kernel's message, and advice.
    pub(super) fn begin(&self, file: &[u8]) -> Result<(), String> {
        let replaced = replace(&self.directory, file).map_err(|error| {
            let shown = self.directory.display();
            format!("custody: {shown}: {error}; expected room for the journal")
        })?;
        lock(&self.state).file = Some((replaced, file.len() as u64));
        Ok(())
    }

    /// Has the thread write a step.
    pub(super) fn write(&self, step: JournalStep) {
        // The thread ends only with this end of its channel.
        let _ = self.steps.send(step);
    }

    /// Returns true if a step has become durable since the last call.
    pub(super) fn poll_durable(&self) -> bool {
        self.durable.try_recv().is_ok()
    }

    /// Returns the error of a step that fails at present.
    pub(super) fn trouble(&self) -> Option<String> {
        lock(&self.state).status.trouble.clone()
    }

    pub(super) fn status(&self) -> JournalStatus {
        let state = lock(&self.state);
        let file_bytes = state.file.as_ref().map_or(0, |(_, length)| *length);
        JournalStatus {
            file_bytes,
            ..state.status.clone()
        }
    }
}

fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens a file that only its owner may read.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600);
    options.open(path)
}

/// Puts a file in the place of the journal, durable with its name.
fn replace(directory: &Path, contents: &[u8]) -> io::Result<File> {
    let new = directory.join("custody.journal.new");
    let file = create(&new)?;
    file.set_len(0)?;
    file.write_all_at(contents, 0)?;
    file.sync_data()?;
    fs::rename(&new, path(directory))?;
    File::open(directory)?.sync_all()?;
    Ok(file)
}

/// The thread's part.
struct Writer {
    directory: PathBuf,
    state: Arc<Mutex<State>>,
    waker: Waker,
}

impl Writer {
    fn run(&self, steps: &Receiver<JournalStep>, done: &Sender<()>) {
        for step in steps {
            while let Err(error) = self.take(&step) {
                self.note_failure(&error);
                thread::sleep(PAUSE);
            }
            let mut state = lock(&self.state);
            state.status.trouble = None;
            state.status.writes += 1;
            drop(state);
            if done.send(()).is_err() {
                return;
            }
            self.waker.wake();
        }
    }

    fn note_failure(&self, error: &io::Error) {
        let mut state = lock(&self.state);
        state.status.failed_writes += 1;
        let shown = path(&self.directory);
        state.status.trouble = Some(format!("custody: {}: {error}", shown.display()));
        drop(state);
        self.waker.wake();
    }

    /// Makes a step durable. A failed one has changed nothing: it is written again as a whole, since the kernel may have
    /// dropped what it could not write.
    fn take(&self, step: &JournalStep) -> io::Result<()> {
        let taken = match step {
            JournalStep::Replace(contents) => {
                (replace(&self.directory, contents)?, contents.len() as u64)
            }
            JournalStep::Append(bytes) => {
                let open = lock(&self.state)
                    .file
                    .as_ref()
                    .map(|(file, length)| (file.try_clone(), *length));
                let Some((file, length)) = open else {
                    return Err(io::ErrorKind::NotFound.into());
                };
                let file = file?;
                if let Err(error) = file
                    .write_all_at(bytes, length)
                    .and_then(|()| file.sync_data())
                {
                    // What was written of it may take the last of the room.
                    let _ = file.set_len(length);
                    return Err(error);
                }
                (file, length + bytes.len() as u64)
            }
        };
        lock(&self.state).file = Some(taken);
        Ok(())
    }
}
