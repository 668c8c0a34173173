//! Builds tables from rows and writes them in batches.

use super::names::Names;
use super::packets::{self, PacketRecord, PacketRows};
use super::recorder::{RecordNames, RecordSettings, Sink, Tables};
use super::series::{self, SeriesRows};
use super::table::{Closed, TableSink};
use super::{PACKETS_FILE, Quantity, RecordError, SERIES_FILE, Subject};
use baton_proto::time::Instant;

/// Takes rows where they are written. A failure ends the recording and is kept.
pub(super) struct TableWriter {
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

impl TableWriter {
    /// Tables of what `settings` ask for. Fails if a file cannot be created.
    pub(super) fn new(
        settings: RecordSettings,
        names: RecordNames,
        sink: Sink,
    ) -> Result<TableWriter, RecordError> {
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
        Ok(TableWriter {
            series,
            packets,
            subjects: Names::new(),
            failure: None,
        })
    }

    /// As [`super::Recorder::subject`].
    pub(super) fn subject(&mut self, name: &str) -> Subject {
        Subject(self.subjects.number(name.to_owned(), String::clone) as u32)
    }

    /// As [`super::Recorder::add_flow`].
    pub(super) fn add_flow(&mut self, name: &str) {
        if let Some(packets) = &mut self.packets {
            packets.rows.add_flow(name);
        }
    }

    /// As [`super::Recorder::series`].
    #[inline]
    pub(super) fn series(&mut self, at: Instant, subject: Subject, quantity: Quantity, value: f64) {
        if let Some(series) = &mut self.series
            && series.rows.push(at, subject, quantity, value)
        {
            self.write_series();
        }
    }

    /// Records the fate of a packet on a link.
    #[inline]
    pub(super) fn packet(&mut self, row: &PacketRecord) {
        if let Some(packets) = &mut self.packets
            && packets.rows.push(row)
        {
            self.write_packets();
        }
    }

    /// What is recorded, as long as nothing has failed.
    #[inline]
    pub(super) fn settings(&self) -> RecordSettings {
        RecordSettings {
            series: self.series.is_some(),
            packets: self.packets.is_some(),
        }
    }

    /// Fails if something has ended the recording.
    pub(super) fn check(&self) -> Result<(), RecordError> {
        self.failure.clone().map_or(Ok(()), Err)
    }

    /// Hands on what is left and closes the files.
    pub(super) fn finish(mut self) -> Result<Tables, RecordError> {
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
