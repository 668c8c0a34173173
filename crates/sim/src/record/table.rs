//! A table on its way into memory or into a Parquet file.

use super::{RecordError, Sink};
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use serde::Serialize;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, SyncSender};
use std::thread::{self, JoinHandle};

/// Rows of a batch.
pub(super) const BATCH: usize = 65_536;
/// Rows of a row group, the unit in which a Parquet file is compressed and can be skipped.
const ROW_GROUP: usize = 8 * BATCH;

/// A column as the dictionary describes it.
#[derive(Serialize)]
pub(super) struct Column {
    name: &'static str,
    unit: &'static str,
    description: &'static str,
}

impl Column {
    pub(super) const fn new(
        name: &'static str,
        unit: &'static str,
        description: &'static str,
    ) -> Column {
        Column {
            name,
            unit,
            description,
        }
    }
}

/// The schema of `columns`; each type comes with whether it may be null.
pub(super) fn schema<const N: usize>(
    columns: &[Column; N],
    types: [(DataType, bool); N],
    key: &str,
    dictionary: &str,
) -> SchemaRef {
    let fields: Vec<Field> = columns
        .iter()
        .zip(types)
        .map(|(column, (data_type, nullable))| Field::new(column.name, data_type, nullable))
        .collect();
    Arc::new(Schema::new(fields).with_metadata([(key, dictionary)]))
}

/// A finished table.
#[derive(Clone, Debug)]
pub enum Table {
    /// In memory.
    Batches {
        /// Columns, and the dictionary as metadata.
        schema: SchemaRef,
        /// Rows.
        batches: Vec<RecordBatch>,
    },
    /// In a Parquet file.
    File {
        /// Its name in the folder, which may have moved since it was written.
        name: &'static str,
        /// Number of rows.
        rows: u64,
    },
}

impl Table {
    /// Number of rows.
    pub fn rows(&self) -> u64 {
        match self {
            Table::Batches { batches, .. } => {
                batches.iter().map(|batch| batch.num_rows() as u64).sum()
            }
            Table::File { rows, .. } => *rows,
        }
    }
}

/// Reads the table of a Parquet file into memory.
pub fn read_table(path: &Path) -> Result<(SchemaRef, Vec<RecordBatch>), RecordError> {
    let read = || {
        let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?;
        let schema = builder.schema().clone();
        let reader = builder.with_batch_size(BATCH).build()?;
        Ok((schema, reader.collect::<Result<Vec<_>, _>>()?))
    };
    read().map_err(|error: ParquetError| RecordError::Read {
        file: path.to_owned(),
        reason: error.to_string(),
    })
}

/// Where the batches of one table go.
pub(super) enum TableSink {
    Memory(SchemaRef, Vec<RecordBatch>),
    File(Background),
}

impl TableSink {
    /// Opens the sink of one table. `name` is the file's, in a folder.
    pub(super) fn new(
        sink: &Sink,
        name: &'static str,
        schema: SchemaRef,
        layout: &Layout,
    ) -> Result<TableSink, RecordError> {
        Ok(match sink {
            Sink::Memory => TableSink::Memory(schema, Vec::new()),
            Sink::Folder(folder) => {
                let file = TableFile::create(folder, name, schema, layout)?;
                TableSink::File(Background::start(file)?)
            }
        })
    }

    pub(super) fn write(&mut self, batch: RecordBatch) -> Result<(), RecordError> {
        match self {
            TableSink::Memory(_, batches) => batches.push(batch),
            TableSink::File(file) => file.write(batch)?,
        }
        Ok(())
    }

    /// Ends the table; a file keeps its temporary name.
    pub(super) fn close(self) -> Result<Closed, RecordError> {
        match self {
            TableSink::Memory(schema, batches) => {
                Ok(Closed::Memory(Table::Batches { schema, batches }))
            }
            TableSink::File(mut file) => file.join()?.close(),
        }
    }
}

/// A file that is encoded by a thread of its own, a few batches behind: encoding takes longer than
/// gathering. What is written does not depend on how the threads take turns.
pub(super) struct Background {
    batches: Option<SyncSender<RecordBatch>>,
    writer: Option<JoinHandle<Result<TableFile, RecordError>>>,
}

/// Batches that may wait to be encoded, which bounds the memory of a run that is faster than its disk.
const WAITING_BATCHES: usize = 3;

impl Background {
    pub(super) fn start(mut file: TableFile) -> Result<Background, RecordError> {
        let complete = file.partial.complete.clone();
        let (batches, waiting) = mpsc::sync_channel::<RecordBatch>(WAITING_BATCHES);
        let writer = thread::Builder::new()
            .name("record".to_owned())
            .spawn(move || {
                for batch in waiting {
                    file.write(&batch)?;
                }
                Ok(file)
            })
            .map_err(|error| write_error(&complete, &error.into()))?;
        Ok(Background {
            batches: Some(batches),
            writer: Some(writer),
        })
    }

    /// Hands a batch over; waits while too many wait. Fails if an earlier one could not be written.
    fn write(&mut self, batch: RecordBatch) -> Result<(), RecordError> {
        match &self.batches {
            Some(batches) if batches.send(batch).is_ok() => Ok(()),
            _ => self.join().map(drop),
        }
    }

    /// Waits until everything is encoded, or nothing more can be.
    fn join(&mut self) -> Result<TableFile, RecordError> {
        self.batches = None;
        self.writer
            .take()
            .and_then(|writer| writer.join().ok())
            .unwrap_or(Err(RecordError::WriterLost))
    }
}

impl Drop for Background {
    /// The file's removal is waited for, so that its folder can be removed after it.
    fn drop(&mut self) {
        if self.writer.is_some() {
            let _ = self.join();
        }
    }
}

/// A Parquet file that bears its name only when it is complete.
pub(super) struct TableFile {
    writer: ArrowWriter<Box<dyn Write + Send>>,
    partial: Partial,
    rows: u64,
}

/// A file under a temporary name, removed unless it is completed.
pub(super) struct Partial {
    name: &'static str,
    path: PathBuf,
    complete: PathBuf,
}

impl Partial {
    pub(super) fn new(folder: &Path, name: &'static str) -> Partial {
        Partial {
            name,
            path: folder.join(format!(".partial-{name}")),
            complete: folder.join(name),
        }
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // After `keep` the file has another name and nothing is removed. A failure leaves a file whose
        // name and missing footer say what it is.
        let _ = fs::remove_file(&self.path);
    }
}

impl TableFile {
    /// Begins `folder/name`.
    pub(super) fn create(
        folder: &Path,
        name: &'static str,
        schema: SchemaRef,
        layout: &Layout,
    ) -> Result<TableFile, RecordError> {
        let partial = Partial::new(folder, name);
        let file = File::create(&partial.path)
            .map_err(|error| write_error(&partial.complete, &error.into()))?;
        TableFile::over(Box::new(file), partial, schema, layout)
    }

    /// Begins a file of which the bytes go to `out`.
    pub(super) fn over(
        out: Box<dyn Write + Send>,
        partial: Partial,
        schema: SchemaRef,
        layout: &Layout,
    ) -> Result<TableFile, RecordError> {
        let options = ArrowWriterOptions::new().with_properties(layout.properties(&schema));
        let writer = ArrowWriter::try_new_with_options(out, schema, options)
            .map_err(|error| write_error(&partial.complete, &error))?;
        Ok(TableFile {
            writer,
            partial,
            rows: 0,
        })
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), RecordError> {
        self.rows += batch.num_rows() as u64;
        self.writer
            .write(batch)
            .map_err(|error| write_error(&self.partial.complete, &error))
    }

    /// Writes the footer, and makes sure that all is on the disk.
    pub(super) fn close(self) -> Result<Closed, RecordError> {
        let TableFile {
            writer,
            partial,
            rows,
        } = self;
        let close = || {
            writer.close()?;
            Ok(File::open(&partial.path)?.sync_all()?)
        };
        close().map_err(|error: ParquetError| write_error(&partial.complete, &error))?;
        Ok(Closed::File(partial, rows))
    }
}

/// A table that is whole. All tables of a run are, before the first file gets its name.
pub(super) enum Closed {
    Memory(Table),
    File(Partial, u64),
}

impl Closed {
    /// Gives the file its name.
    pub(super) fn keep(self) -> Result<Table, RecordError> {
        match self {
            Closed::Memory(table) => Ok(table),
            Closed::File(partial, rows) => {
                fs::rename(&partial.path, &partial.complete)
                    .map_err(|error| write_error(&partial.complete, &error.into()))?;
                Ok(Table::File {
                    name: partial.name,
                    rows,
                })
            }
        }
    }
}

/// How a table is laid out in a Parquet file.
pub(super) struct Layout {
    /// Columns of which most values differ, so that a dictionary would only cost time.
    pub(super) plain: &'static [&'static str],
    /// Columns for which minima and maxima are kept, so that a reader can skip.
    pub(super) ordered: &'static [&'static str],
}

impl Layout {
    fn properties(&self, schema: &Schema) -> WriterProperties {
        // Arrow's readers take the dictionary from the Arrow schema that the writer embeds, others from here.
        let dictionaries = schema
            .metadata()
            .iter()
            .map(|(key, value)| KeyValue::new(key.clone(), value.clone()))
            .collect();
        let mut properties = WriterProperties::builder()
            .set_created_by(format!("baton {}", env!("CARGO_PKG_VERSION")))
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(ROW_GROUP))
            .set_statistics_enabled(EnabledStatistics::None)
            .set_key_value_metadata(Some(dictionaries));
        for column in self.plain {
            properties = properties.set_column_dictionary_enabled(column_path(column), false);
        }
        for column in self.ordered {
            properties = properties
                .set_column_statistics_enabled(column_path(column), EnabledStatistics::Chunk);
        }
        properties.build()
    }
}

fn write_error(file: &Path, error: &ParquetError) -> RecordError {
    let system = match error {
        ParquetError::External(error) => error.downcast_ref::<io::Error>(),
        _ => None,
    };
    let full = system.is_some_and(|error| {
        matches!(
            error.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
        )
    });
    RecordError::Write {
        file: file.to_owned(),
        reason: system.map_or_else(|| error.to_string(), io::Error::to_string),
        full,
    }
}

/// The path of a leaf column, written with dots.
fn column_path(dotted: &str) -> ColumnPath {
    ColumnPath::new(dotted.split('.').map(str::to_owned).collect())
}
