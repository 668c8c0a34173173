//! The table of series: one row for each value of a quantity of a subject.

use super::file::Layout;
use super::names;
use super::rows::SeriesRow;
use super::table::{BATCH, Column};
use super::{Quantity, RecordError, Subject};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use serde::Serialize;
use std::sync::Arc;

const COLUMNS: [Column; 4] = [
    Column::new("time_ns", "ns", "Simulated time of the value"),
    Column::new(
        "subject",
        "",
        "Flow, direction of a link, or mobile that the value belongs to",
    ),
    Column::new(
        "series",
        "",
        "Name of the quantity, one of the list of series",
    ),
    Column::new("value", "", "The value, in the unit of its series"),
];

/// Layout of the table in a file.
pub(super) const LAYOUT: Layout = Layout {
    delta: &["time_ns"],
    plain: &["value"],
    ordered: &["time_ns"],
};

#[derive(Serialize)]
struct Dictionary {
    version: u32,
    columns: &'static [Column],
    series: Vec<SeriesEntry>,
}

#[derive(Serialize)]
struct SeriesEntry {
    name: &'static str,
    unit: &'static str,
    /// `state`: holds until the next row. `sample`: each row is an event.
    kind: &'static str,
    description: &'static str,
}

/// Returns the dictionary that ships with the table, as JSON.
pub(super) fn dictionary() -> Result<String, RecordError> {
    let series = Quantity::ALL
        .into_iter()
        .map(|quantity| SeriesEntry {
            name: quantity.name(),
            unit: quantity.unit(),
            kind: if quantity.is_sample() {
                "sample"
            } else {
                "state"
            },
            description: quantity.description(),
        })
        .collect();
    Ok(serde_json::to_string(&Dictionary {
        version: super::SCHEMA_VERSION,
        columns: &COLUMNS,
        series,
    })?)
}

pub(super) fn schema(dictionary: &str) -> SchemaRef {
    let types = [
        (DataType::Int64, false),
        (names::data_type(), false),
        (names::data_type(), false),
        (DataType::Float64, false),
    ];
    super::table::schema(&COLUMNS, types, super::SERIES_KEY, dictionary)
}

/// Last value of each quantity of each subject.
#[derive(Default)]
pub(super) struct LastValues {
    /// NaN, which equals nothing, before the first value.
    values: Vec<[f64; Quantity::ALL.len()]>,
}

impl LastValues {
    /// Takes in the value. Returns true if it makes a row, that is, unless it repeats a state.
    #[inline]
    pub(super) fn is_row(
        &mut self,
        Subject(subject): Subject,
        quantity: Quantity,
        value: f64,
    ) -> bool {
        let index = subject as usize;
        if index >= self.values.len() {
            self.values
                .resize(index + 1, [f64::NAN; Quantity::ALL.len()]);
        }
        let last = &mut self.values[index][quantity as usize];
        let repeats = *last == value && !quantity.is_sample();
        *last = value;
        !repeats
    }
}

/// Rows of series before their batches.
pub(super) struct SeriesRows {
    schema: SchemaRef,
    rows: Vec<SeriesRow>,
    /// Latest time written in a batch.
    left_until: i64,
    series_names: ArrayRef,
}

impl SeriesRows {
    pub(super) fn new(schema: SchemaRef) -> SeriesRows {
        SeriesRows {
            schema,
            rows: Vec::with_capacity(2 * BATCH),
            left_until: 0,
            series_names: names::fixed(Quantity::ALL.into_iter().map(Quantity::name)),
        }
    }

    /// Adds a row. Returns true if a batch is due.
    #[inline]
    pub(super) fn push(&mut self, row: SeriesRow) -> bool {
        self.rows.push(row);
        self.rows.len() == 2 * BATCH
    }

    /// Takes the `count` earliest rows. Rows recorded late are sorted in until their place has been written.
    fn take(&mut self, count: usize, subjects: ArrayRef) -> Result<RecordBatch, RecordError> {
        if !self.rows.is_sorted_by_key(|row| row.time) {
            self.rows.sort_by_key(|row| row.time);
        }
        if let Some(first) = self.rows.first()
            && first.time < self.left_until
        {
            return Err(RecordError::OutOfOrder {
                series: first.quantity.name(),
                time_ns: first.time,
            });
        }
        let rows = &self.rows[..count];
        self.left_until = rows.last().map_or(self.left_until, |row| row.time);
        let quantities = rows.iter().map(|row| row.quantity as i32).collect();
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from_iter_values(
                rows.iter().map(|row| row.time),
            )),
            names::column(
                rows.iter().map(|row| row.subject.0 as i32).collect(),
                None,
                subjects,
            )?,
            names::column(quantities, None, self.series_names.clone())?,
            Arc::new(Float64Array::from_iter_values(
                rows.iter().map(|row| row.value),
            )),
        ];
        self.rows.drain(..count);
        Ok(RecordBatch::try_new(self.schema.clone(), columns)?)
    }

    /// Takes the earliest full batch.
    pub(super) fn take_batch(&mut self, subjects: ArrayRef) -> Result<RecordBatch, RecordError> {
        self.take(BATCH.min(self.rows.len()), subjects)
    }

    /// Returns the number of waiting rows.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }
}
