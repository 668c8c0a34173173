//! The strings of a dictionary-encoded column, numbered in the order of their first appearance.

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, StringArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, DataType};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The type of a dictionary-encoded string column. Keys are signed because pandas takes no others.
pub(super) fn data_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

/// Names that are given numbers as they come.
#[derive(Debug)]
pub(super) struct Names<Key: Ord> {
    numbers: BTreeMap<Key, i32>,
    names: Vec<String>,
    /// The names as an array, until the next one is added: batches share it.
    values: Option<ArrayRef>,
}

impl<Key: Ord> Names<Key> {
    pub(super) fn new() -> Names<Key> {
        Names {
            numbers: BTreeMap::new(),
            names: Vec::new(),
            values: None,
        }
    }

    /// The number of `key`; `name` is asked when it is new.
    pub(super) fn number(&mut self, key: Key, name: impl FnOnce(&Key) -> String) -> i32 {
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        let number = self.names.len() as i32;
        self.names.push(name(&key));
        self.numbers.insert(key, number);
        self.values = None;
        number
    }

    /// All names so far.
    pub(super) fn values(&mut self) -> ArrayRef {
        let names = &self.names;
        self.values
            .get_or_insert_with(|| Arc::new(StringArray::from_iter_values(names)))
            .clone()
    }
}

/// Names that have numbers by their places, to which others may be added.
#[derive(Debug)]
pub(super) struct Growing {
    names: Vec<String>,
    /// As in [`Names`].
    values: Option<ArrayRef>,
}

impl Growing {
    pub(super) fn new(names: Vec<String>) -> Growing {
        Growing {
            names,
            values: None,
        }
    }

    pub(super) fn add(&mut self, name: &str) {
        self.names.push(name.to_owned());
        self.values = None;
    }

    /// All names so far.
    pub(super) fn values(&mut self) -> ArrayRef {
        let names = &self.names;
        self.values
            .get_or_insert_with(|| Arc::new(StringArray::from_iter_values(names)))
            .clone()
    }
}

/// A column of `numbers` into `values`; where `valid` is false there is none.
pub(super) fn column(
    numbers: Vec<i32>,
    valid: Option<Vec<bool>>,
    values: ArrayRef,
) -> Result<ArrayRef, ArrowError> {
    let keys = Int32Array::new(numbers.into(), valid.map(NullBuffer::from));
    Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(
        keys, values,
    )?))
}

/// The names of a list that is known from the start, as dictionary values.
pub(super) fn fixed<'a>(names: impl IntoIterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(names))
}
