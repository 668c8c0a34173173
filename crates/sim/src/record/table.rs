//! A table: its columns, its rows in memory or in a file.

use super::file::{Closed, Layout, TableFile};
use super::{RecordError, Sink};
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::errors::ParquetError;
use serde::Serialize;
use std::fs::File;
use std::path::Path;
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
