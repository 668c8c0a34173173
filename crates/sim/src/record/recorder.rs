//! Takes rows as they happen, and writes them or hands them to a thread that does.

use super::direct::TableWriter;
use super::packets::PacketRecord;
use super::relayed::RelayedRows;
use super::table::Table;
use super::{LostRows, Quantity, RecordError, Subject};
use baton_proto::time::Instant;
use std::path::PathBuf;

/// What is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordSettings {
    /// Series.
    pub series: bool,
    /// A row for every packet on every link.
    pub packets: bool,
}

/// What the numbers in [`PacketRecord`]s stand for.
#[derive(Clone, Debug, Default)]
pub struct RecordNames {
    /// Names of the links, by their numbers in the scenario.
    pub links: Vec<String>,
    /// Names of the flows, by their numbers in the scenario.
    pub flows: Vec<String>,
}

/// Where the tables go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sink {
    /// Kept in memory.
    Memory,
    /// Parquet files in this folder, which exists.
    Folder(PathBuf),
}

/// The tables of a run; one that was switched off is `None`.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Series, in order of time.
    pub series: Option<Table>,
    /// Packets, in the order in which they were recorded.
    pub packets: Option<Table>,
}

/// Takes rows as they happen.
///
/// A failure (a full disk) ends the recording and is kept: ask [`Recorder::check`] now and then, or get it
/// from [`Recorder::finish`]. Files bear their names only after `finish`; a recorder that is dropped before
/// removes them.
pub struct Recorder(Way);

/// Which way rows take into their tables.
#[allow(
    clippy::large_enum_variant,
    reason = "there is one recorder a run, and every row passes it"
)]
enum Way {
    /// At once; the caller waits while the disk is slower than the run.
    Direct(TableWriter),
    /// Through a thread; the caller never waits.
    Relayed(RelayedRows),
}

impl Recorder {
    /// A recorder of what `settings` ask for. Fails if a file cannot be created.
    pub fn new(
        settings: RecordSettings,
        names: RecordNames,
        sink: Sink,
    ) -> Result<Recorder, RecordError> {
        TableWriter::new(settings, names, sink).map(|writer| Recorder(Way::Direct(writer)))
    }

    /// A recorder whose callers never wait: a thread writes, and rows that come faster than it can write and
    /// memory may hold are lost and counted in `lost`. Fails if there can be no thread.
    pub fn relayed(
        settings: RecordSettings,
        names: RecordNames,
        sink: Sink,
        lost: LostRows,
    ) -> Result<Recorder, RecordError> {
        let writer = TableWriter::new(settings, names, sink)?;
        RelayedRows::start(writer, lost).map(|rows| Recorder(Way::Relayed(rows)))
    }

    /// The number of a subject, by its name: `flow download`, `link gsm down`, `mobile laptop`. The same
    /// name gives the same number.
    pub fn subject(&mut self, name: &str) -> Subject {
        match &mut self.0 {
            Way::Direct(writer) => writer.subject(name),
            Way::Relayed(rows) => rows.subject(name),
        }
    }

    /// Adds a flow that is in no scenario; its number follows on the last flow's.
    pub fn add_flow(&mut self, name: &str) {
        match &mut self.0 {
            Way::Direct(writer) => writer.add_flow(name),
            Way::Relayed(rows) => rows.add_flow(name),
        }
    }

    /// Records that `quantity` of `subject` is `value` from `at` on.
    ///
    /// A state ([`Quantity::is_sample`] is false) that has not changed since its last row gives no row:
    /// callers may offer every state after every event. Samples always give one. Rows come out in order of
    /// time, and at equal times in order of the calls; one may be recorded late, but not after 65,536
    /// younger ones.
    #[inline]
    pub fn series(&mut self, at: Instant, subject: Subject, quantity: Quantity, value: f64) {
        match &mut self.0 {
            Way::Direct(writer) => writer.series(at, subject, quantity, value),
            Way::Relayed(rows) => rows.series(at, subject, quantity, value),
        }
    }

    /// Records the fate of a packet on a link.
    #[inline]
    pub fn packet(&mut self, row: &PacketRecord) {
        match &mut self.0 {
            Way::Direct(writer) => writer.packet(row),
            Way::Relayed(rows) => rows.packet(row),
        }
    }

    /// Whether series are recorded, for callers who would have to compute a value first.
    #[inline]
    pub fn records_series(&self) -> bool {
        match &self.0 {
            Way::Direct(writer) => writer.settings().series,
            Way::Relayed(rows) => rows.settings().series,
        }
    }

    /// Hands what has been gathered to the thread that writes, if there is one.
    pub fn flush(&mut self) {
        if let Way::Relayed(rows) = &mut self.0 {
            rows.flush();
        }
    }

    /// Fails if something has ended the recording.
    pub fn check(&self) -> Result<(), RecordError> {
        match &self.0 {
            Way::Direct(writer) => writer.check(),
            Way::Relayed(rows) => rows.check(),
        }
    }

    /// Hands on what is left and closes the files.
    pub fn finish(self) -> Result<Tables, RecordError> {
        match self.0 {
            Way::Direct(writer) => writer.finish(),
            Way::Relayed(rows) => rows.finish(),
        }
    }
}
