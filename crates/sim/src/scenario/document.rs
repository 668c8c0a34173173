//! The scenario as TOML values, and their places in the text.

use super::error::{Diagnostic, Place, ScenarioError};
use std::collections::BTreeMap;
use std::fmt;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

/// Largest number of reported mistakes in the syntax.
const MOST_SYNTAX_ERRORS: usize = 20;

/// A step from a value into one within it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    /// Into a table.
    Key(String),
    /// Into an array.
    Index(usize),
}

/// The path from the top of the document to a value.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Path(pub Vec<Step>);

impl Path {
    /// Returns the path to the value under `key` of this table.
    pub fn key(&self, key: &str) -> Path {
        self.with(Step::Key(key.to_owned()))
    }

    /// Returns the path to element `index` of this array.
    pub fn index(&self, index: usize) -> Path {
        self.with(Step::Index(index))
    }

    fn with(&self, step: Step) -> Path {
        let mut steps = self.0.clone();
        steps.push(step);
        Path(steps)
    }
}

/// A key set on the command line.
#[derive(Clone, Debug)]
pub(crate) struct Set {
    /// The key that was set.
    pub path: Path,
    /// `--set key=value`, as given.
    pub argument: String,
}

/// The scenario as TOML values, and their places in the text.
pub(crate) struct Document {
    /// The values, overrides applied.
    pub table: Table,
    /// Settings of the command line, in its order.
    pub sets: Vec<Set>,
    origin: String,
    /// The text of the file; `None` if the values came from code.
    text: Option<Text>,
    /// Offsets of keys (for tables) and values (for the rest) in the text.
    offsets: BTreeMap<Path, (usize, usize)>,
}

impl Document {
    /// Parses `text`; `origin` names it in messages.
    pub fn parse(text: &str, origin: &str) -> Result<Document, ScenarioError> {
        let mut document = Document {
            table: Table::new(),
            sets: Vec::new(),
            origin: origin.to_owned(),
            text: Some(Text::new(text)),
            offsets: BTreeMap::new(),
        };
        let (root, errors) = DeTable::parse_recoverable(text);
        // The second parse finds mistakes that the first leaves to its reader, such as numbers beyond 64 bits.
        let second = toml::from_str::<Table>(text);
        match second {
            Ok(table) if errors.is_empty() => document.table = table,
            Ok(_) => return Err(document.syntax(&errors)),
            Err(error) if errors.is_empty() => return Err(document.too_large(&error)),
            Err(_) => return Err(document.syntax(&errors)),
        }
        document.note_table(&Path::default(), root.get_ref());
        Ok(document)
    }

    /// Creates a document of values without a text; `origin` names it in messages.
    pub fn of_values(table: Table, origin: &str) -> Document {
        Document {
            table,
            sets: Vec::new(),
            origin: origin.to_owned(),
            text: None,
            offsets: BTreeMap::new(),
        }
    }

    fn note_table(&mut self, path: &Path, table: &DeTable<'_>) {
        for (key, value) in table {
            self.note(path.key(key.get_ref()), key.span().start, value);
        }
    }

    fn note(&mut self, path: Path, key_offset: usize, value: &Spanned<DeValue<'_>>) {
        match value.get_ref() {
            DeValue::Table(table) => self.note_table(&path, table),
            DeValue::Array(elements) => {
                for (index, element) in elements.iter().enumerate() {
                    self.note(path.index(index), element.span().start, element);
                }
            }
            _ => {}
        }
        let value_offset = match value.get_ref() {
            // The span of a table is that of its header or of its first dotted key: use its name's.
            DeValue::Table(_) => key_offset,
            _ => value.span().start,
        };
        self.offsets.insert(path, (key_offset, value_offset));
    }

    fn syntax(&self, errors: &[toml::de::Error]) -> ScenarioError {
        // Each costs a walk through the text, and most later mistakes are consequences of the first few.
        let diagnostics = errors
            .iter()
            .take(MOST_SYNTAX_ERRORS)
            .map(|error| Diagnostic {
                place: self.at(error.span().map_or(0, |span| span.start)),
                key: String::new(),
                message: format!("not valid TOML: {}", error.message()),
            })
            .collect();
        ScenarioError { diagnostics }
    }

    /// Returns the error for a text that the parser accepts but whose values do not fit.
    fn too_large(&self, error: &toml::de::Error) -> ScenarioError {
        ScenarioError {
            diagnostics: vec![Diagnostic {
                place: self.at(error.span().map_or(0, |span| span.start)),
                key: String::new(),
                message: "integer out of range; expected -2^63 to 2^63 - 1".to_owned(),
            }],
        }
    }

    fn at(&self, offset: usize) -> Place {
        Place {
            origin: self.origin.clone(),
            position: self.text.as_ref().map(|text| text.position(offset)),
        }
    }

    /// Returns the place of the value at `path`, or else of the nearest table around it, or else the top of the file.
    pub fn place_of_value(&self, path: &Path) -> Place {
        self.place(path, |offsets| offsets.1)
    }

    /// Returns the place of the key at the end of `path`.
    pub fn place_of_key(&self, path: &Path) -> Place {
        self.place(path, |offsets| offsets.0)
    }

    fn place(&self, path: &Path, which: fn(&(usize, usize)) -> usize) -> Place {
        let by_file = self.offsets.contains_key(path);
        if let Some(set) = self.sets.iter().rfind(|set| {
            // Tables that only the command line names include those on the path to the key that it sets.
            path.0.starts_with(&set.path.0) || (!by_file && set.path.0.starts_with(&path.0))
        }) {
            return Place {
                origin: set.argument.clone(),
                position: None,
            };
        }
        let mut path = path.clone();
        while !path.0.is_empty() {
            if let Some(offsets) = self.offsets.get(&path) {
                return self.at(which(offsets));
            }
            path.0.pop();
        }
        self.at(0)
    }

    /// Returns `path` as a user writes it: elements of arrays by their names if they have any.
    pub fn describe(&self, path: &Path) -> String {
        let mut text = String::new();
        let mut value = None;
        for step in &path.0 {
            value = match step {
                Step::Key(key) => {
                    push_key(&mut text, key);
                    match value {
                        None if text == *key => self.table.get(key),
                        None => None,
                        Some(value) => Value::get(value, key.as_str()),
                    }
                }
                Step::Index(index) => {
                    let element = value.and_then(|value| value.get(*index));
                    match element.and_then(|element| element.get("name")) {
                        Some(Value::String(name)) => push_key(&mut text, name),
                        _ => text += &format!("[{index}]"),
                    }
                    element
                }
            };
        }
        text
    }
}

/// Returns line and column of the byte at `offset`, both from 1.
pub(super) fn position(text: &str, offset: usize) -> (usize, usize) {
    Text::new(text).position(offset)
}

/// A text with fast look-up of many places.
struct Text {
    bytes: Vec<u8>,
    /// Offset of each line's beginning.
    lines: Vec<usize>,
    /// Number of characters that begin before each block.
    characters: Vec<usize>,
}

/// Bytes per block.
const BLOCK: usize = 1024;

impl Text {
    fn new(text: &str) -> Text {
        let bytes = text.as_bytes().to_vec();
        let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let lines = core::iter::once(0).chain(ends.map(|(end, _)| end + 1));
        let lines = lines.collect();
        let mut characters = vec![0];
        for (block, bytes) in bytes.chunks(BLOCK).enumerate() {
            characters.push(characters[block] + characters_in(bytes));
        }
        Text {
            bytes,
            lines,
            characters,
        }
    }

    /// Returns line and column of the byte at `offset`, both from 1.
    fn position(&self, offset: usize) -> (usize, usize) {
        let offset = offset.min(self.bytes.len());
        let line = self.lines.partition_point(|&start| start <= offset);
        let column = self.characters_before(offset) - self.characters_before(self.lines[line - 1]);
        (line, column + 1)
    }

    fn characters_before(&self, offset: usize) -> usize {
        let block = offset / BLOCK;
        self.characters[block] + characters_in(&self.bytes[block * BLOCK..offset])
    }
}

/// Returns the number of UTF-8 characters that begin in these bytes.
fn characters_in(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count()
}

fn push_key(text: &mut String, key: &str) {
    if !text.is_empty() {
        text.push('.');
    }
    text.push_str(key);
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document")
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}
