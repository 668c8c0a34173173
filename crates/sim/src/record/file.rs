//! A table in a Parquet file.

use super::folder::Hashed;
use super::name_column::NameColumn;
use super::table::{BATCH, Table};
use super::{RecordError, names};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{
    ArrowColumnWriter, ArrowRowGroupWriterFactory, ArrowWriterOptions, compute_leaves,
};
use parquet::basic::{Compression, Encoding};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Rows of a row group, the unit in which a reader of a Parquet file can skip.
const ROW_GROUP: usize = 8 * BATCH;

/// A Parquet file that gets its name only when it is complete.
pub(super) struct TableFile {
    file: SerializedFileWriter<Hashed<Box<dyn Write + Send>>>,
    factory: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
    /// Encoder of the row group under way; none before its first batch.
    columns: Vec<ColumnWriter>,
    /// Rows in that group.
    gathered: usize,
    partial: Partial,
    rows: u64,
}

/// Encoder of a column.
enum ColumnWriter {
    Names(NameColumn),
    Values(Box<ArrowColumnWriter>),
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
        // After `keep` the file has another name and nothing is removed. A failure leaves a file that is recognizable
        // by its name and missing footer.
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

    /// Begins a file whose bytes go to `out`.
    pub(super) fn over(
        out: Box<dyn Write + Send>,
        partial: Partial,
        schema: SchemaRef,
        layout: &Layout,
    ) -> Result<TableFile, RecordError> {
        let options = ArrowWriterOptions::new().with_properties(layout.properties(&schema));
        let (file, factory) =
            ArrowWriter::try_new_with_options(Hashed::new(out), schema.clone(), options)
                .and_then(ArrowWriter::into_serialized_writer)
                .map_err(|error| write_error(&partial.complete, &error))?;
        Ok(TableFile {
            file,
            factory,
            schema,
            columns: Vec::new(),
            gathered: 0,
            partial,
            rows: 0,
        })
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), RecordError> {
        self.rows += batch.num_rows() as u64;
        self.gather(batch)
            .map_err(|error| write_error(&self.partial.complete, &error))
    }

    fn gather(&mut self, batch: &RecordBatch) -> Result<(), ParquetError> {
        if self.columns.is_empty() {
            self.columns = self.column_writers()?;
        }
        let fields = self.schema.fields().iter();
        for ((writer, field), column) in self.columns.iter_mut().zip(fields).zip(batch.columns()) {
            writer.write(field, column)?;
        }
        self.gathered += batch.num_rows();
        if self.gathered >= ROW_GROUP {
            self.end_row_group()?;
        }
        Ok(())
    }

    fn column_writers(&self) -> Result<Vec<ColumnWriter>, ParquetError> {
        let row_group = self.file.flushed_row_groups().len();
        let writers = self.factory.create_column_writers(row_group)?;
        let fields = self.schema.fields().iter();
        let columns = self.file.schema_descr().columns().iter();
        // Every column has one leaf in the file, lists too.
        let all = fields.zip(columns).zip(writers);
        Ok(all
            .map(|((field, column), writer)| {
                if *field.data_type() == names::data_type() {
                    ColumnWriter::Names(NameColumn::new(column.clone()))
                } else {
                    ColumnWriter::Values(Box::new(writer))
                }
            })
            .collect())
    }

    fn end_row_group(&mut self) -> Result<(), ParquetError> {
        let mut row_group = self.file.next_row_group()?;
        for column in self.columns.drain(..) {
            match column {
                ColumnWriter::Names(names) => names.append_to(&mut row_group)?,
                ColumnWriter::Values(values) => {
                    values.close()?.append_to_row_group(&mut row_group)?;
                }
            }
        }
        row_group.close()?;
        self.gathered = 0;
        Ok(())
    }

    /// Writes the footer, and ensures that all bytes are on the disk.
    pub(super) fn close(mut self) -> Result<Closed, RecordError> {
        match self.end_file() {
            Ok(sha256) => Ok(Closed::File {
                partial: self.partial,
                rows: self.rows,
                sha256,
            }),
            Err(error) => Err(write_error(&self.partial.complete, &error)),
        }
    }

    /// Returns the file's hash.
    fn end_file(&mut self) -> Result<String, ParquetError> {
        if self.gathered > 0 {
            self.end_row_group()?;
        }
        self.file.finish()?;
        File::open(&self.partial.path)?.sync_all()?;
        Ok(self.file.inner().digest())
    }
}

impl ColumnWriter {
    fn write(&mut self, field: &Field, column: &ArrayRef) -> Result<(), ParquetError> {
        match self {
            ColumnWriter::Names(names) => names.write(column),
            ColumnWriter::Values(values) => compute_leaves(field, column)?
                .iter()
                .try_for_each(|leaf| values.write(leaf)),
        }
    }
}

/// A complete table. All tables of a run are complete before the first file gets its name.
pub(super) enum Closed {
    Memory(Table),
    File {
        partial: Partial,
        rows: u64,
        sha256: String,
    },
}

impl Closed {
    /// Gives the file its name.
    pub(super) fn keep(self) -> Result<Table, RecordError> {
        match self {
            Closed::Memory(table) => Ok(table),
            Closed::File {
                partial,
                rows,
                sha256,
            } => {
                fs::rename(&partial.path, &partial.complete)
                    .map_err(|error| write_error(&partial.complete, &error.into()))?;
                Ok(Table::File {
                    name: partial.name,
                    rows,
                    sha256,
                })
            }
        }
    }
}

/// Layout of a table in a Parquet file.
pub(super) struct Layout {
    /// Columns of numbers stored as differences: these take few bits, and need no compression.
    pub(super) delta: &'static [&'static str],
    /// Columns of mostly distinct values, where a dictionary would only cost time.
    pub(super) plain: &'static [&'static str],
    /// Columns with minima and maxima, which let a reader skip.
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
            .set_offset_index_disabled(true)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_key_value_metadata(Some(dictionaries));
        for column in self.delta {
            let path = column_path(column);
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path.clone(), Encoding::DELTA_BINARY_PACKED)
                .set_column_compression(path, Compression::UNCOMPRESSED);
        }
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

/// Returns the path of a leaf column, written with dots.
fn column_path(dotted: &str) -> ColumnPath {
    ColumnPath::new(dotted.split('.').map(str::to_owned).collect())
}
