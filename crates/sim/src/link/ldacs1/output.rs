//! Control messages of a handover, and the queue of tasks and outputs in order of time.

use crate::link::cells::{CellId, StationId};
use baton_proto::time::Instant;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A control message on its way between an aircraft and a base station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Message {
    /// Time at which its last bit was sent.
    pub at: Instant,
    /// Sending or receiving aircraft.
    pub station: StationId,
    /// Cell of the message.
    pub cell: CellId,
    /// Kind of message.
    pub kind: MessageKind,
}

/// Control messages, by the specification's names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MessageKind {
    /// ACB and STB, from the base station: listen to these neighbours.
    ScanningTable,
    /// SIB of a neighbouring base station, as the aircraft measures it.
    SystemIdentification,
    /// POW_REP, from the aircraft: received power of the cell `of`.
    PowerReport {
        /// Measured cell.
        of: CellId,
        /// Received power in dBm.
        received_dbm: f64,
    },
    /// HO_COM, from the base station.
    HandoverCommand {
        /// The new cell.
        to: CellId,
        /// True if packets are still waiting.
        packet_bit: bool,
    },
    /// CELL_EXIT, from the aircraft.
    CellExit,
    /// CELL_RQST by random access, from the aircraft.
    CellRequest,
    /// A CELL_RQST that collided with another and is not received.
    Collision,
    /// CELL_RESP, from the base station.
    CellResponse,
    /// SYNC_POLL, from the new base station in a handover of type 2.
    SynchronisationPoll,
}

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
        self.heap.pop().map(|entry| (entry.at, entry.item))
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
