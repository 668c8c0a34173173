//! Records of a run: series and packets in columns, and the folder in which they end.
//!
//! [`Recorder`] takes rows as they happen, builds columns and hands them on in batches, into memory or
//! into Parquet files. Equal rows give equal bytes: the files hold no date and no path.

mod endpoints;
pub mod folder;
mod names;
mod packets;
mod quantity;
mod recorder;
mod series;
mod table;

pub use packets::PacketRecord;
pub use quantity::Quantity;
pub use recorder::{RecordNames, RecordSettings, Recorder, Sink, Tables};
pub use table::Table;

use baton_proto::time::Instant;
use std::path::PathBuf;

/// Version of the tables' columns and dictionaries. It changes when a reader of the old one would be wrong.
pub const SCHEMA_VERSION: u32 = 1;
/// Name of the file of series in a results folder.
pub const SERIES_FILE: &str = "series.parquet";
/// Name of the file of packets in a results folder.
pub const PACKETS_FILE: &str = "packets.parquet";
/// Key of the dictionary of series in the table's metadata.
pub const SERIES_KEY: &str = "baton.series";
/// Key of the dictionary of packets in the table's metadata.
pub const PACKETS_KEY: &str = "baton.packets";

/// Whom a series is about: a number given out by the recorder for a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject(pub u32);

/// What can go wrong with a record.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A file cannot be written. The run may go on; its record cannot.
    #[error("{}: cannot be written: {reason}{}", file.display(), if *full { "; free some space, choose another folder with --out, or record less ([record] packets = false)" } else { "" })]
    Write {
        /// Which file.
        file: PathBuf,
        /// What the system said.
        reason: String,
        /// Whether the disk, or the user's share of it, is full.
        full: bool,
    },
    /// A file cannot be read back.
    #[error("{}: cannot be read: {reason}", file.display())]
    Read {
        /// Which file.
        file: PathBuf,
        /// What the system or the decoder said.
        reason: String,
    },
    /// A row of a series came later than 65,536 younger ones, so that its place in the table had left.
    #[error(
        "series \"{series}\": a value at {time_ns} ns was recorded too late to be put in order"
    )]
    OutOfOrder {
        /// Which series.
        series: &'static str,
        /// Time of the row.
        time_ns: i64,
    },
    /// Columns do not make a table.
    #[error("columns do not make a table: {0}")]
    Columns(#[from] arrow_schema::ArrowError),
    /// A dictionary cannot be written as JSON.
    #[error("the dictionary of a table cannot be written: {0}")]
    Dictionary(#[from] serde_json::Error),
}

/// Nanoseconds as the tables hold them. A moment beyond 292 years stays there.
fn nanoseconds(at: Instant) -> i64 {
    i64::try_from(at.as_nanos()).unwrap_or(i64::MAX)
}
