//! A table: its columns, its rows in memory or in a file.

use super::file::{Closed, Layout, TableFile};
use super::{RecordError, Sink};
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use serde::Serialize;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows of a batch.
pub(super) const BATCH: usize = 65_536;
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

/// Returns the schema of `columns`; each type comes with true if it may be null.
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
        /// SHA-256 of its bytes, in hexadecimal.
        sha256: String,
    },
}

impl Table {
    /// Returns the number of rows.
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
    let file = TableReader::open(path)?;
    let schema = file.schema().clone();
    let names: Vec<&str> = schema
        .fields()
        .iter()
        .map(|field| field.name().as_str())
        .collect();
    let batches = file.batches(&names)?.collect::<Result<Vec<_>, _>>()?;
    Ok((schema, batches))
}

/// A table in a Parquet file, of which columns are read.
#[derive(Debug)]
pub struct TableReader {
    path: PathBuf,
    metadata: ArrowReaderMetadata,
}

impl TableReader {
    /// Reads the footer of a file.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn open(path: &Path) -> Result<TableReader, RecordError> {
        let read = || -> Result<_, ParquetError> {
            ArrowReaderMetadata::load(&File::open(path)?, ArrowReaderOptions::default())
        };
        Ok(TableReader {
            metadata: read().map_err(|error| read_error(path, &error))?,
            path: path.to_owned(),
        })
    }

    /// Returns columns and metadata.
    pub fn schema(&self) -> &SchemaRef {
        self.metadata.schema()
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        let rows = self.metadata.metadata().file_metadata().num_rows();
        usize::try_from(rows).unwrap_or(0)
    }

    /// Begins to read the named columns, of those that there are.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn batches(&self, names: &[&str]) -> Result<TableBatches, RecordError> {
        let fields = self.schema().fields().iter().enumerate();
        let chosen = fields.filter(|(_, field)| names.contains(&field.name().as_str()));
        let columns = self.metadata.metadata().file_metadata().schema_descr();
        let mask = ProjectionMask::roots(columns, chosen.map(|(place, _)| place));
        let open = || -> Result<_, ParquetError> {
            let file = File::open(&self.path)?;
            ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone())
                .with_projection(mask)
                .with_batch_size(BATCH)
                .build()
        };
        Ok(TableBatches {
            reader: open().map_err(|error| read_error(&self.path, &error))?,
            path: self.path.clone(),
        })
    }
}

/// Columns of a file, in batches of consecutive rows.
#[derive(Debug)]
pub struct TableBatches {
    reader: ParquetRecordBatchReader,
    path: PathBuf,
}

impl Iterator for TableBatches {
    type Item = Result<RecordBatch, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.reader.next()?;
        Some(batch.map_err(|error| read_error(&self.path, &error)))
    }
}

fn read_error(path: &Path, error: &impl ToString) -> RecordError {
    RecordError::Read {
        file: path.to_owned(),
        reason: error.to_string(),
    }
}

/// Destination of the batches of one table.
pub(super) enum TableSink {
    Memory(SchemaRef, Vec<RecordBatch>),
    File(Box<TableFile>),
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
                TableSink::File(Box::new(TableFile::create(folder, name, schema, layout)?))
            }
        })
    }

    pub(super) fn write(&mut self, batch: RecordBatch) -> Result<(), RecordError> {
        match self {
            TableSink::Memory(_, batches) => batches.push(batch),
            TableSink::File(file) => file.write(&batch)?,
        }
        Ok(())
    }

    /// Ends the table; a file keeps its temporary name.
    pub(super) fn close(self) -> Result<Closed, RecordError> {
        match self {
            TableSink::Memory(schema, batches) => {
                Ok(Closed::Memory(Table::Batches { schema, batches }))
            }
            TableSink::File(file) => file.close(),
        }
    }
}
