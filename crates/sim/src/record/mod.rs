//! Records of a run: series, packets and signals in columns, and their folder.
//!
//! [`Recorder`] takes rows as they happen and passes them through a [`relay`] to a thread of its own, which builds
//! columns and writes them in batches to memory or Parquet files. Equal rows give equal bytes, whatever the scheduling
//! of the threads: the files contain no date and no path.

mod endpoints;
mod error;
mod file;
mod folder;
mod name_column;
mod names;
mod own_files;
mod packets;
pub(crate) mod parts;
mod quantity;
mod recorder;
pub(crate) mod relay;
mod rows;
mod series;
mod signals;
mod table;
#[cfg(test)]
mod tests;
mod writer;

pub use error::RecordError;
pub use folder::{MANIFEST_FILE, ResultFolder, sha256};
pub use packets::PacketRecord;
pub use quantity::{Quantities, Quantity};
pub use recorder::{RadioNames, RecordNames, RecordSettings, Recorder, Sink, Tables};
pub use relay::LostRows;
pub use signals::{SignalRecord, SignalWay};
pub use table::{Table, TableBatches, TableReader, read_table};

use baton_proto::time::Instant;

/// Version of the tables' columns and dictionaries. It is raised when a reader of the old one would be wrong.
pub const SCHEMA_VERSION: u32 = 1;
/// Name of the file of series in a results folder.
pub const SERIES_FILE: &str = "series.parquet";
/// Name of the file of packets in a results folder.
pub const PACKETS_FILE: &str = "packets.parquet";
/// Name of the file of signals in a results folder.
pub const SIGNALS_FILE: &str = "signals.parquet";
/// Key of the dictionary of series in the table's metadata.
pub const SERIES_KEY: &str = "baton.series";
/// Key of the dictionary of packets in the table's metadata.
pub const PACKETS_KEY: &str = "baton.packets";
/// Key of the dictionary of signals in the table's metadata.
pub const SIGNALS_KEY: &str = "baton.signals";

/// Subject of a series: a number that the recorder assigns to a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject(pub u32);

/// Returns the nanoseconds stored in the tables. Times beyond 292 years are capped.
fn nanoseconds(at: Instant) -> i64 {
    i64::try_from(at.as_nanos()).unwrap_or(i64::MAX)
}
