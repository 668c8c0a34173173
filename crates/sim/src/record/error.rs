//! Errors of a record and its folder.

use super::MANIFEST_FILE;
use std::io;
use std::path::{Path, PathBuf};

/// An error of a record or its folder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// A file cannot be written. The run may go on; its record cannot.
    #[error("{}: cannot be written: {reason}{}", file.display(), advice(*full))]
    Write {
        /// The file.
        file: PathBuf,
        /// The system's error.
        reason: String,
        /// True if the disk, or the user's share of it, is full.
        full: bool,
    },
    /// A file cannot be read back.
    #[error("{}: cannot be read: {reason}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// The error of the system or of the decoder.
        reason: String,
    },
    /// The target exists already.
    #[error("{}: exists already; choose another folder with --out, or overwrite it with --force", .0.display())]
    Exists(PathBuf),
    /// The target is no results folder; even force does not remove it.
    #[error("{}: holds no {MANIFEST_FILE}, so it is not a folder of results and is not overwritten; choose another folder with --out", .0.display())]
    NotResults(PathBuf),
    /// A file beside the results is not part of them.
    #[error("{}: holds {name}, which is not one of Baton's results, so the folder is not replaced; move {name} away, or choose another folder with --out", folder.display())]
    Stranger {
        /// The folder.
        folder: PathBuf,
        /// Name of the file or folder in it.
        name: String,
    },
    /// Another run is writing to the same target.
    #[error("{}: another run is writing there; wait for it, or choose another folder with --out", .0.display())]
    Busy(PathBuf),
    /// The target's name cannot be that of a folder, such as `/` or `..`.
    #[error("{}: is not a name for a folder of results; choose another with --out", .0.display())]
    NoName(PathBuf),
    /// No interface has the name of a requested capture.
    #[error("captures: {0}")]
    NoInterface(String),
    /// The system refused to create, move or remove a file or folder.
    #[error("{}: {reason}", path.display())]
    System {
        /// Its path.
        path: PathBuf,
        /// The system's error.
        reason: String,
    },
    /// A row of a series came after more than 65,536 younger ones, so that its place in the table had been written. A
    /// mistake in this crate.
    #[error(
        "series \"{series}\": a value at {time_ns} ns was recorded too late to be put in order"
    )]
    OutOfOrder {
        /// The series.
        series: &'static str,
        /// Time of the row.
        time_ns: i64,
    },
    /// The thread that encodes a file has stopped without an error.
    #[error("the record's writer has stopped")]
    WriterLost,
    /// The system cannot start a thread for writing.
    #[error("cannot start the thread that writes the record: {0}")]
    NoThread(String),
    /// The columns form no table: a row names a link or a flow that does not exist. A mistake in this crate.
    #[error("columns do not make a table: {0}")]
    Columns(String),
    /// A dictionary cannot be written as JSON.
    #[error("the dictionary of a table cannot be written: {0}")]
    Dictionary(String),
}

impl RecordError {
    /// Returns the error for a file that cannot be written, by the system's error.
    pub fn write(file: &Path, error: &io::Error) -> RecordError {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        RecordError::Write {
            file: file.to_owned(),
            reason: error.to_string(),
            full: matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge),
        }
    }
}

impl From<arrow_schema::ArrowError> for RecordError {
    fn from(error: arrow_schema::ArrowError) -> RecordError {
        RecordError::Columns(error.to_string())
    }
}

impl From<serde_json::Error> for RecordError {
    fn from(error: serde_json::Error) -> RecordError {
        RecordError::Dictionary(error.to_string())
    }
}

/// Returns advice for a full disk.
fn advice(full: bool) -> &'static str {
    if full {
        "; free some space, choose another folder with --out, or record less (packets = false in [record])"
    } else {
        ""
    }
}
