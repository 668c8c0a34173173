//! The strings of a dictionary-encoded column, numbered in the order of their first appearance.

use super::recorder::{RadioNames, RecordNames};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, StringArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, DataType};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Returns the type of a dictionary-encoded string column. Keys are signed because pandas takes no others.
pub(super) fn data_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

/// Names numbered by their places; more may be added.
#[derive(Debug)]
pub(super) struct Growing {
    names: Vec<String>,
    /// The names as an array, shared by batches until the next name is added.
    values: Option<ArrayRef>,
}

impl Growing {
    pub(super) fn new(names: Vec<String>) -> Growing {
        Growing {
            names,
            values: None,
        }
    }

    /// Adds a name. Returns its number.
    pub(super) fn add(&mut self, name: String) -> i32 {
        self.names.push(name);
        self.values = None;
        self.names.len() as i32 - 1
    }

    /// Returns all names so far.
    pub(super) fn values(&mut self) -> ArrayRef {
        let names = &self.names;
        self.values
            .get_or_insert_with(|| Arc::new(StringArray::from_iter_values(names)))
            .clone()
    }
}

/// Names of links, by their numbers in the scenario. Links between two nodes are in the scenario's order, others in
/// that of their first appearance.
#[derive(Debug)]
pub(super) struct LinkNames {
    plain: usize,
    others: BTreeMap<usize, i32>,
    radios: Vec<RadioNames>,
    nodes: Vec<String>,
    names: Growing,
}

impl LinkNames {
    pub(super) fn new(names: &RecordNames) -> LinkNames {
        let has_radios = !names.radios.is_empty();
        LinkNames {
            plain: names.links.len(),
            others: BTreeMap::new(),
            radios: names.radios.clone(),
            nodes: if has_radios {
                names.nodes.clone()
            } else {
                Vec::new()
            },
            names: Growing::new(names.links.clone()),
        }
    }

    /// Returns the number of a link's name; a number without a name if there is no such link.
    #[inline]
    pub(super) fn number(&mut self, link: usize) -> i32 {
        if link < self.plain {
            return link as i32;
        }
        self.number_on_radio(link)
    }

    #[inline(never)]
    fn number_on_radio(&mut self, link: usize) -> i32 {
        if let Some(&known) = self.others.get(&link) {
            return known;
        }
        let mut radios = self.radios.iter();
        let Some(name) = radios.find_map(|radio| radio.link(link, &self.nodes)) else {
            return i32::MAX;
        };
        let number = self.names.add(name);
        self.others.insert(link, number);
        number
    }

    /// Returns all names so far.
    pub(super) fn values(&mut self) -> ArrayRef {
        self.names.values()
    }
}

/// Names of the values of a byte, numbered in order of appearance.
#[derive(Debug)]
pub(super) struct ByteNames {
    /// Number by byte; negative before the first appearance.
    numbers: [i32; 256],
    name: fn(u8) -> String,
    names: Growing,
}

impl ByteNames {
    pub(super) fn new(name: fn(u8) -> String) -> ByteNames {
        ByteNames {
            numbers: [-1; 256],
            name,
            names: Growing::new(Vec::new()),
        }
    }

    /// Returns the number of `byte`.
    #[inline]
    pub(super) fn number(&mut self, byte: u8) -> i32 {
        let number = &mut self.numbers[usize::from(byte)];
        if *number < 0 {
            *number = self.names.add((self.name)(byte));
        }
        *number
    }

    /// Returns all names so far.
    pub(super) fn values(&mut self) -> ArrayRef {
        self.names.values()
    }
}

/// Returns the rows in which a column has a value; `None` if all have one.
pub(super) fn valid(valid: Vec<bool>) -> Option<NullBuffer> {
    Some(NullBuffer::from(valid)).filter(|valid| valid.null_count() > 0)
}

/// Returns a column of `numbers` into `values`, null where it is not `valid`.
pub(super) fn column(
    numbers: Vec<i32>,
    valid: Option<NullBuffer>,
    values: ArrayRef,
) -> Result<ArrayRef, ArrowError> {
    let keys = Int32Array::try_new(numbers.into(), valid)?;
    Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(
        keys, values,
    )?))
}

/// Returns the names of a fixed list, as dictionary values.
pub(super) fn fixed<'a>(names: impl IntoIterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(names))
}
