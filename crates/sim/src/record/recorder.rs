//! Takes rows as they happen and hands them on in batches.

use super::names::Names;
use super::packets::{self, PacketRecord, PacketRows};
use super::series::{self, SeriesRows};
use super::table::{Closed, Table, TableSink};
use super::{PACKETS_FILE, Quantity, RecordError, SERIES_FILE, Subject};
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
pub struct Recorder {
    series: Option<SeriesTable>,
    packets: Option<PacketTable>,
    subjects: Names<String>,
    failure: Option<RecordError>,
}

struct SeriesTable {
    rows: SeriesRows,
    sink: TableSink,
}

struct PacketTable {
    rows: PacketRows,
    sink: TableSink,
}

impl Recorder {
    /// A recorder of what `settings` ask for. Fails if a file cannot be created.
    pub fn new(
        settings: RecordSettings,
        names: RecordNames,
        sink: Sink,
    ) -> Result<Recorder, RecordError> {
        let series = if settings.series {
            let schema = series::schema(&series::dictionary()?);
            Some(SeriesTable {
                rows: SeriesRows::new(schema.clone()),
                sink: TableSink::new(&sink, SERIES_FILE, schema, &series::LAYOUT)?,
            })
        } else {
            None
        };
        let packets = if settings.packets {
            let schema = packets::schema(&packets::dictionary()?);
            Some(PacketTable {
                rows: PacketRows::new(schema.clone(), &names.links, &names.flows),
                sink: TableSink::new(&sink, PACKETS_FILE, schema, &packets::LAYOUT)?,
            })
        } else {
            None
        };
        Ok(Recorder {
            series,
            packets,
            subjects: Names::new(),
            failure: None,
        })
    }

    /// The number of a subject, by its name: `flow download`, `link gsm down`, `mobile laptop`. The same
    /// name gives the same number.
    pub fn subject(&mut self, name: &str) -> Subject {
        Subject(self.subjects.number(name.to_owned(), String::clone) as u32)
    }

    /// Adds a flow that is in no scenario; its number follows on the last flow's.
    pub fn add_flow(&mut self, name: &str) {
        if let Some(packets) = &mut self.packets {
            packets.rows.add_flow(name);
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
        if let Some(series) = &mut self.series
            && series.rows.push(at, subject, quantity, value)
        {
            self.write_series();
        }
    }

    /// Records the fate of a packet on a link.
    #[inline]
    pub fn packet(&mut self, row: &PacketRecord) {
        if let Some(packets) = &mut self.packets
            && packets.rows.push(row)
        {
            self.write_packets();
        }
    }

    /// Whether series are recorded, for callers who would have to compute a value first.
    #[inline]
    pub fn records_series(&self) -> bool {
        self.series.is_some()
    }

    /// Fails if something has ended the recording.
    pub fn check(&self) -> Result<(), RecordError> {
        self.failure.clone().map_or(Ok(()), Err)
    }

    /// Hands on what is left and closes the files.
    pub fn finish(mut self) -> Result<Tables, RecordError> {
        while self
            .series
            .as_ref()
            .is_some_and(|table| table.rows.len() > 0)
        {
            self.write_series();
        }
        if self
            .packets
            .as_ref()
            .is_some_and(|table| table.rows.len() > 0)
        {
            self.write_packets();
        }
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let series = self.series.map(|table| table.sink.close()).transpose()?;
        let packets = self.packets.map(|table| table.sink.close()).transpose()?;
        let series = series.map(Closed::keep).transpose()?;
        let packets = packets.map(Closed::keep).transpose()?;
        Ok(Tables { series, packets })
    }

    #[cold]
    fn write_series(&mut self) {
        let Some(table) = &mut self.series else {
            return;
        };
        let written = table
            .rows
            .take_batch(&mut self.subjects)
            .and_then(|batch| table.sink.write(batch));
        self.end_on_failure(written);
    }

    #[cold]
    fn write_packets(&mut self) {
        let Some(table) = &mut self.packets else {
            return;
        };
        let written = table
            .rows
            .take_batch()
            .and_then(|batch| table.sink.write(batch));
        self.end_on_failure(written);
    }

    /// The first failure ends both tables: half a record would not be noticed.
    fn end_on_failure(&mut self, written: Result<(), RecordError>) {
        if let Err(failure) = written {
            self.failure.get_or_insert(failure);
            self.series = None;
            self.packets = None;
        }
    }
}
