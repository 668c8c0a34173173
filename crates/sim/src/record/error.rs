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
    /// There is something at the target.
    #[error("{}: exists already; choose another folder with --out, or overwrite it with --force", .0.display())]
    Exists(PathBuf),
    /// There is something at the target that is no folder of results, which even force does not remove.
    #[error("{}: holds no {MANIFEST_FILE}, so it is not a folder of results and is not overwritten; choose another folder with --out", .0.display())]
    NotResults(PathBuf),
    /// There is something beside the results that is nobody's but the user's.
    #[error("{}: holds {name} beside the results, which is not Baton's, and so it is not replaced; move {name} away, or choose another folder with --out", folder.display())]
    Stranger {
        /// The folder.
        folder: PathBuf,
        /// Name of the thing in it.
        name: String,
    },
    /// Another run is writing to the same target.
    #[error("{}: another run is writing there; wait for it, or choose another folder with --out", .0.display())]
    Busy(PathBuf),
    /// The target has no name that a folder could take, such as `/` or `..`.
    #[error("{}: is not a name for a folder of results; choose another with --out", .0.display())]
    NoName(PathBuf),
    /// A capture is asked for of an interface that is not there.
    #[error("captures: {0}")]
    NoInterface(String),
    /// The system refused to make, move or remove something.
    #[error("{}: {reason}", path.display())]
    System {
        /// At which path.
        path: PathBuf,
        /// The system's error.
        reason: String,
    },
    /// A row of a series came later than 65,536 younger ones, so that its place in the table had left. A
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
    /// The thread that encodes a file has stopped without a word.
    #[error("the record's writer has stopped")]
    WriterLost,
    /// The system gives no thread to write in.
    #[error("there can be no thread that writes the record: {0}")]
    NoThread(String),
    /// Columns do not make a table: a row names a link or a flow that does not exist. A mistake in this crate.
    #[error("columns do not make a table: {0}")]
    Columns(String),
    /// A dictionary cannot be written as JSON.
    #[error("the dictionary of a table cannot be written: {0}")]
    Dictionary(String),
}

impl RecordError {
    /// A file cannot be written, because of what the system says.
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
