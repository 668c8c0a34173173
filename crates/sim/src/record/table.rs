//! A table on its way into memory or into a Parquet file.

use super::RecordError;
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
        /// Which file.
        path: PathBuf,
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

    /// Reads the table of a Parquet file into memory.
    pub fn read(path: &Path) -> Result<Table, RecordError> {
        let failed = |reason: String| RecordError::Read {
            file: path.to_owned(),
            reason,
        };
        let file = File::open(path).map_err(|error| failed(error.to_string()))?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(file)
            .map_err(|error| failed(error.to_string()))?;
        let schema = builder.schema().clone();
        let reader = builder
            .with_batch_size(BATCH)
            .build()
            .map_err(|error| failed(error.to_string()))?;
        let batches = reader
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| failed(error.to_string()))?;
        Ok(Table::Batches { schema, batches })
    }
}

/// Where the batches of one table go.
pub(super) enum TableSink {
    Memory(SchemaRef, Vec<RecordBatch>),
    File(TableFile),
}

impl TableSink {
    pub(super) fn write(&mut self, batch: RecordBatch) -> Result<(), RecordError> {
        match self {
            TableSink::Memory(_, batches) => batches.push(batch),
            TableSink::File(file) => file.write(&batch)?,
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Table, RecordError> {
        match self {
            TableSink::Memory(schema, batches) => Ok(Table::Batches { schema, batches }),
            TableSink::File(file) => file.finish(),
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
struct Partial {
    path: PathBuf,
    complete: PathBuf,
}

impl Drop for Partial {
    fn drop(&mut self) {
        // After `finish` the file has another name and nothing is removed. A failure leaves a file whose
        // name and missing footer say what it is.
        let _ = fs::remove_file(&self.path);
    }
}

impl TableFile {
    /// Begins `folder/name`. `sorted_by` names the columns for which minima and maxima are kept, so that
    /// readers can skip; `key` and the schema's metadata give the dictionary.
    pub(super) fn create(
        folder: &Path,
        name: &str,
        schema: SchemaRef,
        layout: &Layout,
    ) -> Result<TableFile, RecordError> {
        let partial = Partial {
            path: folder.join(format!(".partial-{name}")),
            complete: folder.join(name),
        };
        let file = File::create(&partial.path)
            .map_err(|error| write_error(&partial.complete, &error.into()))?;
        TableFile::over(Box::new(file), partial, schema, layout)
    }

    fn over(
        out: Box<dyn Write + Send>,
        partial: Partial,
        schema: SchemaRef,
        layout: &Layout,
    ) -> Result<TableFile, RecordError> {
        let options = ArrowWriterOptions::new().with_properties(layout.properties(&schema));
        // The dictionary stands in the file's metadata; the schema need not repeat it.
        let schema = Arc::new(Schema::new(schema.fields().clone()));
        let writer = ArrowWriter::try_new_with_options(out, schema, options)
            .map_err(|error| write_error(&partial.complete, &error))?;
        Ok(TableFile {
            writer,
            partial,
            rows: 0,
        })
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<(), RecordError> {
        self.rows += batch.num_rows() as u64;
        self.writer
            .write(batch)
            .map_err(|error| write_error(&self.partial.complete, &error))
    }

    /// Writes the footer, makes sure that all is on the disk, and gives the file its name.
    fn finish(self) -> Result<Table, RecordError> {
        let TableFile {
            writer,
            partial,
            rows,
        } = self;
        let finish = || -> Result<(), ParquetError> {
            drop(writer.into_inner()?);
            File::open(&partial.path)?.sync_all()?;
            Ok(fs::rename(&partial.path, &partial.complete)?)
        };
        finish().map_err(|error| write_error(&partial.complete, &error))?;
        Ok(Table::File {
            path: partial.complete.clone(),
            rows,
        })
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
            properties = properties.set_column_dictionary_enabled(ColumnPath::from(*column), false);
        }
        for column in self.ordered {
            properties = properties
                .set_column_statistics_enabled(ColumnPath::from(*column), EnabledStatistics::Chunk);
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
