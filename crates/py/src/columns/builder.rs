//! A column put together from batches.

use super::Column;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float64Type, Int32Type, Int64Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Schema};
use pyo3::exceptions::PyValueError;
use pyo3::{PyErr, PyResult};
use std::collections::BTreeMap;

/// A column as its batches are read.
pub(super) struct Builder {
    name: String,
    kind: &'static str,
    rows: usize,
    values: Vec<u8>,
    /// A byte for each row; empty while all have a value.
    valid: Vec<u8>,
    names: Option<Vec<String>>,
    places: BTreeMap<String, i32>,
    offsets: Option<Vec<i64>>,
}

impl Builder {
    /// Begins a column. Fails if the table has none of this name, or it is of another type than Baton's tables have.
    pub(super) fn new(schema: &Schema, name: &str) -> PyResult<Builder> {
        let Ok(field) = schema.field_with_name(name) else {
            return Err(refused(name, "is missing in the table"));
        };
        let (item, is_list) = match field.data_type() {
            DataType::List(item) => (item.data_type(), true),
            other => (other, false),
        };
        let (kind, is_names) = match item {
            DataType::UInt32 => ("=u4", false),
            DataType::UInt64 => ("=u8", false),
            DataType::Int64 => ("=i8", false),
            DataType::Float64 => ("=f8", false),
            DataType::Boolean if !is_list => ("|b1", false),
            DataType::Utf8 if !is_list => ("=i4", true),
            DataType::Dictionary(keys, names)
                if !is_list && **keys == DataType::Int32 && **names == DataType::Utf8 =>
            {
                ("=i4", true)
            }
            other => {
                return Err(refused(
                    name,
                    &format!("has the type {other}, which no table of Baton has"),
                ));
            }
        };
        Ok(Builder {
            name: name.to_owned(),
            kind,
            rows: 0,
            values: Vec::new(),
            valid: Vec::new(),
            names: is_names.then(Vec::new),
            places: BTreeMap::new(),
            offsets: is_list.then(|| vec![0]),
        })
    }

    /// Returns the column.
    pub(super) fn finished(self) -> Column {
        Column {
            kind: self.kind,
            values: self.values,
            valid: Some(self.valid).filter(|valid| !valid.is_empty()),
            names: self.names,
            offsets: self.offsets,
        }
    }

    /// Adds the rows of a batch; of `chosen`, those whose byte is not zero.
    pub(super) fn add(&mut self, batch: &RecordBatch, chosen: Option<&[u8]>) -> PyResult<()> {
        let Some(array) = batch.column_by_name(&self.name) else {
            return Err(refused(&self.name, "is missing in a part of the table"));
        };
        let rows = Rows {
            count: array.len(),
            chosen,
        };
        match array.data_type() {
            DataType::Dictionary(..) => self.add_dictionary(array, rows),
            DataType::Utf8 => self.add_texts(array, rows),
            DataType::List(_) => self.add_lists(array, rows),
            _ => self.add_values(array, rows),
        }
        Ok(())
    }

    fn add_dictionary(&mut self, array: &ArrayRef, rows: Rows<'_>) {
        let column = array.as_dictionary::<Int32Type>();
        let names = column.values().as_string::<i32>();
        // The reader of a file may put an empty name into the dictionary for the rows without one.
        let codes: Vec<Option<i32>> = (0..names.len())
            .map(|place| names.value(place))
            .map(|name| (!name.is_empty()).then(|| self.code_of(name)))
            .collect();
        self.values.reserve(rows.count * size_of::<i32>());
        for row in rows.all() {
            let code = match column.key(row).and_then(|key| codes.get(key)) {
                Some(&code) => code.unwrap_or_else(|| self.code_of("")),
                None => -1,
            };
            self.values.extend_from_slice(&code.to_ne_bytes());
        }
    }

    fn add_texts(&mut self, array: &ArrayRef, rows: Rows<'_>) {
        let texts = array.as_string::<i32>();
        for row in rows.all() {
            let code = match texts.is_valid(row) {
                true => self.code_of(texts.value(row)),
                false => -1,
            };
            self.values.extend(code.to_ne_bytes());
        }
    }

    /// Returns the number of a name: that of its first appearance.
    fn code_of(&mut self, name: &str) -> i32 {
        if let Some(&code) = self.places.get(name) {
            return code;
        }
        let names = self.names.get_or_insert_default();
        let code = i32::try_from(names.len()).unwrap_or(-1);
        names.push(name.to_owned());
        self.places.insert(name.to_owned(), code);
        code
    }

    fn add_lists(&mut self, array: &ArrayRef, rows: Rows<'_>) {
        let lists = array.as_list::<i32>();
        let elements = Numbers::of(lists.values());
        let offsets = self.offsets.get_or_insert_default();
        let mut end = offsets.last().copied().unwrap_or(0);
        for row in rows.all() {
            if lists.is_valid(row) {
                let [from, to] = [row, row + 1].map(|place| lists.value_offsets()[place]);
                self.values
                    .extend_from_slice(elements.bytes(from as usize, to as usize));
                end += i64::from(to - from);
            }
            offsets.push(end);
        }
    }

    fn add_values(&mut self, array: &ArrayRef, rows: Rows<'_>) {
        if array.null_count() > 0 && self.valid.is_empty() {
            self.valid = vec![1; self.rows];
        }
        let is_known = array.null_count() > 0 || !self.valid.is_empty();
        let (bits, numbers) = (array.as_boolean_opt(), Numbers::of(array));
        if bits.is_none() && !is_known && rows.chosen.is_none() {
            // Most columns: all numbers of a batch at once.
            self.values.extend_from_slice(numbers.bytes(0, rows.count));
            self.rows += rows.count;
            return;
        }
        for row in rows.all() {
            match bits {
                Some(bits) => self.values.push(u8::from(bits.value(row))),
                None => self.values.extend_from_slice(numbers.bytes(row, row + 1)),
            }
            if is_known {
                self.valid.push(u8::from(array.is_valid(row)));
            }
            self.rows += 1;
        }
    }
}

/// Rows of a batch: all, or those whose byte in `chosen` is not zero.
#[derive(Clone, Copy)]
struct Rows<'a> {
    count: usize,
    chosen: Option<&'a [u8]>,
}

impl<'a> Rows<'a> {
    fn all(self) -> impl Iterator<Item = usize> + 'a {
        let is_chosen = move |row: usize| {
            self.chosen
                .is_none_or(|bytes| bytes.get(row).is_some_and(|&byte| byte > 0))
        };
        (0..self.count).filter(move |&row| is_chosen(row))
    }
}

/// The bytes of an array of numbers; none of any other.
struct Numbers {
    bytes: Buffer,
    width: usize,
}

impl Numbers {
    fn of(array: &ArrayRef) -> Numbers {
        fn of<T: ArrowPrimitiveType>(array: &ArrayRef) -> Numbers {
            Numbers {
                bytes: array.as_primitive::<T>().values().inner().clone(),
                width: size_of::<T::Native>(),
            }
        }
        match array.data_type() {
            DataType::UInt32 => of::<UInt32Type>(array),
            DataType::UInt64 => of::<UInt64Type>(array),
            DataType::Int64 => of::<Int64Type>(array),
            DataType::Float64 => of::<Float64Type>(array),
            _ => Numbers {
                bytes: Buffer::default(),
                width: 0,
            },
        }
    }

    /// Returns the bytes of the numbers from one place to another.
    fn bytes(&self, from: usize, to: usize) -> &[u8] {
        let bytes = self.bytes.as_slice();
        bytes
            .get(from * self.width..to * self.width)
            .unwrap_or_default()
    }
}

fn refused(name: &str, why: &str) -> PyErr {
    PyValueError::new_err(format!("the column {name} {why}"))
}
