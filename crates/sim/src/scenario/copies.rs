//! Origins of copies: messages name the written table, and report a mistake that thousands of copies share only once.

use super::document::{Path, Step};
use std::collections::{BTreeMap, BTreeSet};

/// Names and places of copies. A copy's name tells its original and its number, counted from 1, so a fleet of a million
/// takes no more space here than one of two.
#[derive(Clone, Debug, Default)]
pub(super) struct Copies {
    /// Written names of tables that have copies, by their key, such as "links".
    tables: BTreeMap<String, BTreeSet<String>>,
    /// Originals of the elements of a list such as "flows": the written place, and number 0 for an element that is no
    /// copy.
    lists: BTreeMap<&'static str, Vec<(usize, u32)>>,
    /// Copies by the written names of nodes, links and flows.
    counts: BTreeMap<String, Count>,
}

/// Number of copies of a name, and of the numbers at the end of a copy's name.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    copies: u32,
    numbers: u32,
}

impl Copies {
    /// Notes the next copy of the table `written` under `key`.
    pub fn note_table(&mut self, key: &str, written: &str, number: u32) {
        if number == 1 {
            let tables = self.tables.entry(key.to_owned()).or_default();
            tables.insert(written.to_owned());
        }
        self.note_copies(written, number, 1);
    }

    /// Notes the place of the next element of the list under `key`, and its number as a copy, or 0.
    pub fn note_element(&mut self, key: &'static str, place: usize, number: u32) {
        self.lists.entry(key).or_default().push((place, number));
    }

    /// Notes that there are at least so many copies of a node, a link or a flow, with so many numbers behind the name.
    pub fn note_copies(&mut self, written: &str, copies: u32, numbers: u32) {
        if !self.counts.contains_key(written) {
            self.counts.insert(written.to_owned(), Count::default());
        }
        if let Some(count) = self.counts.get_mut(written) {
            count.copies = count.copies.max(copies);
            count.numbers = count.numbers.max(numbers);
        }
    }

    /// Returns the number of copies of a written name.
    pub fn count(&self, written: &str) -> Option<u32> {
        self.counts.get(written).map(|count| count.copies)
    }

    /// Finds the place where the value at `path` is written, and the number of its copy, or 0.
    pub fn written(&self, path: &Path) -> (Path, u32) {
        let mut path = path.clone();
        let mut number = 0;
        if let [Step::Key(key), place, ..] = path.0.as_mut_slice() {
            match place {
                Step::Key(name) => {
                    let tables = self.tables.get(key.as_str());
                    let original = self.original(name);
                    if let Some((written, copy)) = original
                        && tables.is_some_and(|tables| tables.contains(written))
                    {
                        (*name, number) = (written.to_owned(), copy);
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
    pub fn written_of<'a>(&self, name: &'a str) -> Option<&'a str> {
        self.original(name).map(|(written, _)| written)
    }

    /// Returns the written name of which `name` is a copy, and the last of the numbers behind it.
    fn original<'a>(&self, name: &'a str) -> Option<(&'a str, u32)> {
        let (mut written, mut last) = (name, None);
        for numbers in 1..=2 {
            let number;
            (written, number) = split(written)?;
            let last = *last.get_or_insert(number);
            let count = self.counts.get(written);
            if let Some(count) = count
                && numbers <= count.numbers
                && number <= count.copies
            {
                return Some((written, last));
            }
        }
        None
    }

    /// Returns the written name of a copy, otherwise `name` itself.
    pub fn name<'a>(&self, name: &'a str) -> &'a str {
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
        self.counts.is_empty()
    }
}

/// Splits a copy's name into the name before its last number and that number.
fn split(name: &str) -> Option<(&str, u32)> {
    let (written, number) = name.rsplit_once('-')?;
    let is_counted = number.starts_with(|first| ('1'..='9').contains(&first));
    let number = number.parse().ok().filter(|_| is_counted)?;
    Some((written, number))
}
