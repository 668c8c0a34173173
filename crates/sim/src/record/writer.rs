//! The writer of a relay: builds tables from rows and writes them in batches.

use super::file::Closed;
use super::names::Growing;
use super::packets::{self, PacketRows};
use super::recorder::{RecordNames, RecordSettings, Sink, Tables};
use super::relay::{Load, Writer};
use super::rows::Rows;
use super::series::{self, SeriesRows};
use super::signals::{self, SignalRows};
use super::table::TableSink;
use super::{PACKETS_FILE, RecordError, SERIES_FILE, SIGNALS_FILE};

/// The tables of a run.
pub(super) struct TableWriter {
    series: Option<SeriesTable>,
    packets: Option<PacketTable>,
    signals: Option<SignalTable>,
}

struct SeriesTable {
    rows: SeriesRows,
    subjects: Growing,
    sink: TableSink,
}

struct PacketTable {
    rows: PacketRows,
    sink: TableSink,
}

struct SignalTable {
    rows: SignalRows,
    sink: TableSink,
}

impl TableWriter {
    /// Creates the tables of `settings`. Fails if a file cannot be created.
    pub(super) fn new(
        settings: RecordSettings,
        names: RecordNames,
        sink: &Sink,
    ) -> Result<TableWriter, RecordError> {
        let series = if !settings.series.is_empty() {
            let schema = series::schema(&series::dictionary()?);
            Some(SeriesTable {
                rows: SeriesRows::new(schema.clone()),
                subjects: Growing::new(Vec::new()),
                sink: TableSink::new(sink, SERIES_FILE, schema, &series::LAYOUT)?,
            })
        } else {
            None
        };
        let signals = if settings.signals {
            let schema = signals::schema(&signals::dictionary()?);
            Some(SignalTable {
                rows: SignalRows::new(schema.clone(), &names),
                sink: TableSink::new(sink, SIGNALS_FILE, schema, &signals::LAYOUT)?,
            })
        } else {
            None
        };
        let packets = if settings.packets {
            let schema = packets::schema(&packets::dictionary()?);
            Some(PacketTable {
                rows: PacketRows::new(schema.clone(), names),
                sink: TableSink::new(sink, PACKETS_FILE, schema, &packets::LAYOUT)?,
            })
        } else {
            None
        };
        Ok(TableWriter {
            series,
            packets,
            signals,
        })
    }

    /// Writes the remaining rows and closes the files.
    pub(super) fn finish(self) -> Result<Tables, RecordError> {
        let series = self.series.map(SeriesTable::close).transpose()?;
        let packets = self.packets.map(PacketTable::close).transpose()?;
        let signals = self.signals.map(SignalTable::close).transpose()?;
        let series = series.map(Closed::keep).transpose()?;
        let packets = packets.map(Closed::keep).transpose()?;
        let signals = signals.map(Closed::keep).transpose()?;
        Ok(Tables {
            series,
            packets,
            signals,
        })
    }
}

impl Writer for TableWriter {
    type Load = Rows;

    fn write(&mut self, load: &mut Rows) -> Result<(), RecordError> {
        if let Some(table) = &mut self.series {
            for name in load.subjects.drain(..) {
                table.subjects.add(name);
            }
            table.write(load)?;
        }
        if let Some(table) = &mut self.packets {
            for name in load.flows.drain(..) {
                table.rows.add_flow(name);
            }
            table.write(load)?;
        }
        if let Some(table) = &mut self.signals {
            table.write(load)?;
        }
        load.subjects.clear();
        load.flows.clear();
        load.drop_rows();
        Ok(())
    }
}

impl SeriesTable {
    fn write(&mut self, load: &Rows) -> Result<(), RecordError> {
        for row in &load.series {
            if self.rows.push(*row) {
                self.write_batch()?;
            }
        }
        Ok(())
    }

    fn write_batch(&mut self) -> Result<(), RecordError> {
        let batch = self.rows.take_batch(self.subjects.values())?;
        self.sink.write(batch)
    }

    fn close(mut self) -> Result<Closed, RecordError> {
        while self.rows.len() > 0 {
            self.write_batch()?;
        }
        self.sink.close()
    }
}

impl PacketTable {
    fn write(&mut self, load: &Rows) -> Result<(), RecordError> {
        let (mut packets, mut sack) = (&load.packets[..], &load.sack[..]);
        while !packets.is_empty() {
            (packets, sack) = self.rows.extend(packets, sack);
            if self.rows.is_full() {
                self.sink.write(self.rows.take_batch()?)?;
            }
        }
        Ok(())
    }

    fn close(mut self) -> Result<Closed, RecordError> {
        if !self.rows.is_empty() {
            self.sink.write(self.rows.take_batch()?)?;
        }
        self.sink.close()
    }
}

impl SignalTable {
    fn write(&mut self, load: &mut Rows) -> Result<(), RecordError> {
        for row in load.signals.drain(..) {
            if self.rows.push(row) {
                self.sink.write(self.rows.take_batch()?)?;
            }
        }
        Ok(())
    }

    fn close(mut self) -> Result<Closed, RecordError> {
        if !self.rows.is_empty() {
            self.sink.write(self.rows.take_batch()?)?;
        }
        self.sink.close()
    }
}
