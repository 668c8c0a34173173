//! Tasks and outputs in order of time.

use baton_proto::time::Instant;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Number of items for which an agenda keeps room.
const KEPT: usize = 1024;

/// Items by time, and by insertion at equal times.
#[derive(Debug)]
pub struct Agenda<T> {
    heap: BinaryHeap<Entry<T>>,
    inserted: u64,
}

#[derive(Debug)]
struct Entry<T> {
    at: Instant,
    number: u64,
    item: T,
}

impl<T> Agenda<T> {
    /// Creates an empty agenda.
    pub fn new() -> Agenda<T> {
        Agenda {
            heap: BinaryHeap::new(),
            inserted: 0,
        }
    }

    /// Inserts an item.
    pub fn push(&mut self, at: Instant, item: T) {
        let number = self.inserted;
        self.inserted += 1;
        self.heap.push(Entry { at, number, item });
    }

    /// Frees the capacity reserved for growth.
    pub fn shrink(&mut self) {
        self.heap.shrink_to_fit();
    }

    /// Returns the time of the first item.
    pub fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|entry| entry.at)
    }

    /// Takes the first item out if it is due.
    pub fn pop(&mut self, now: Instant) -> Option<(Instant, T)> {
        if self.next()? > now {
            return None;
        }
        let first = self.heap.pop()?;
        // After a moment at which all of a fleet did something.
        if self.heap.capacity() > KEPT.max(8 * self.heap.len()) {
            self.heap.shrink_to(KEPT.max(4 * self.heap.len()));
        }
        Some((first.at, first.item))
    }
}

impl<T> Ord for Entry<T> {
    /// Compares in reverse: the heap returns the largest, which is thus the earliest.
    fn cmp(&self, other: &Entry<T>) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Entry<T>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Entry<T>) -> bool {
        self.number == other.number
    }
}

impl<T> Eq for Entry<T> {}
