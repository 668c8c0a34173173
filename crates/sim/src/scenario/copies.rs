//! Origins of copies: messages name the written table, and report a mistake that thousands of copies share only once.

use super::document::{Path, Step};
use std::collections::BTreeMap;

/// Names and places of copies: the original of each, and its number, counted from 1.
#[derive(Clone, Debug, Default)]
pub(super) struct Copies {
    /// Originals of tables under a key such as "links", by the copies' names.
    tables: BTreeMap<(String, String), (String, u32)>,
    /// Originals of the elements of a list such as "flows": the written place, and number 0 for an element that is no
    /// copy.
    lists: BTreeMap<&'static str, Vec<(usize, u32)>>,
    /// Written names of nodes, links and flows.
    names: BTreeMap<String, String>,
    /// Number of copies by the written name.
    counts: BTreeMap<String, u32>,
}

impl Copies {
    /// Notes that the table `name` under `key` is a copy.
    pub fn note_table(&mut self, key: &str, name: &str, (written, number): (&str, u32)) {
        let place = (key.to_owned(), name.to_owned());
        self.tables.insert(place, (written.to_owned(), number));
        self.note_name(name, written, number);
    }

    /// Notes the place of the next element of the list under `key`, and its number as a copy, or 0.
    pub fn note_element(&mut self, key: &'static str, place: usize, number: u32) {
        self.lists.entry(key).or_default().push((place, number));
    }

    /// Notes that a node, a link or a flow has the name of a copy.
    pub fn note_name(&mut self, name: &str, written: &str, number: u32) {
        self.names.insert(name.to_owned(), written.to_owned());
        let count = self.counts.entry(written.to_owned()).or_default();
        *count = number.max(*count);
    }

    /// Returns the number of copies of a written name.
    pub fn count(&self, written: &str) -> Option<u32> {
        self.counts.get(written).copied()
    }

    /// Finds the place where the value at `path` is written, and the number of its copy, or 0.
    pub fn written(&self, path: &Path) -> (Path, u32) {
        let mut path = path.clone();
        let mut number = 0;
        if let [Step::Key(key), place, ..] = path.0.as_mut_slice() {
            match place {
                Step::Key(name) => {
                    let found = self.tables.get(&(key.clone(), name.clone()));
                    if let Some((written, copy)) = found {
                        (*name, number) = (written.clone(), *copy);
                    }
                }
                Step::Index(index) => {
                    let list = self.lists.get(key.as_str());
                    if let Some(&(written, copy)) = list.and_then(|list| list.get(*index)) {
                        (*index, number) = (written, copy);
                    }
                }
            }
        }
        (path, number)
    }

    /// Returns the written name of which `name` is a copy.
    pub fn written_of(&self, name: &str) -> Option<&str> {
        self.names.get(name).map(String::as_str)
    }

    /// Returns the written name of a copy, otherwise `name` itself.
    pub fn name<'a>(&'a self, name: &'a str) -> &'a str {
        self.written_of(name).unwrap_or(name)
    }

    /// Returns `message` with written names in place of copies'.
    pub fn in_words(&self, message: &str) -> String {
        let of_name = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        let (mut text, mut rest) = (String::new(), message);
        while let Some(begin) = rest.find(of_name) {
            let (before, from) = rest.split_at(begin);
            let end = from.find(|letter| !of_name(letter)).unwrap_or(from.len());
            text += before;
            text += self.name(&from[..end]);
            rest = &from[end..];
        }
        text + rest
    }

    /// Returns true if there are no copies.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}
