//! What a network tells: packets' fates, 802.21 events, and every control message of the handover.

use super::station::{CellId, Direction, StationId};
use crate::link::Outcome;
use crate::packets::PacketId;
use baton_proto::interface::LinkEvent;
use baton_proto::time::Instant;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Something that the network tells, at its moment.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// A packet has arrived or is lost.
    Fate(Fate),
    /// The link of an aircraft has changed.
    Event(Event),
    /// A control message was sent.
    Message(Message),
}

/// What has become of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fate {
    /// The packet.
    pub packet: PacketId,
    /// When it was decided.
    pub at: Instant,
    /// Whose packet.
    pub station: StationId,
    /// Which way it went.
    pub direction: Direction,
    /// The cell that carried it; `None` if there was none.
    pub cell: Option<CellId>,
    /// What was decided.
    pub outcome: Outcome,
}

/// An event of an aircraft's link to a cell; both ends hear it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// When.
    pub at: Instant,
    /// Whose link.
    pub station: StationId,
    /// The cell that it speaks of.
    pub cell: CellId,
    /// The event: [`Up`](LinkEvent::Up) is registration in the cell (CELL_RESP, or the poll of a handover of type 2);
    /// [`GoingDown`](LinkEvent::GoingDown) HO_COM with the P-bit, after which the handover comes when the base station has nothing
    /// left, or without another cell a signal below Th2 where no other is heard, which ends with a
    /// [`Rollback`](LinkEvent::Rollback); [`HandoverImminent`](LinkEvent::HandoverImminent) HO_COM without the P-bit;
    /// [`Down`](LinkEvent::Down) the loss of the signal, or CELL_EXIT; [`ParametersReport`](LinkEvent::ParametersReport) a signal
    /// that has crossed Th1, in either direction.
    pub event: LinkEvent,
    /// The cell to which a handover leads, or for [`HandoverComplete`](LinkEvent::HandoverComplete) from which it came.
    pub other: Option<CellId>,
    /// The received signal that a parameters report tells of.
    pub measured: Option<Measured>,
}

/// A measured signal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Received power in dBm.
    pub received_dbm: f64,
    /// SNR with the safety margin taken off, in dB.
    pub snr_db: f64,
}

impl Event {
    /// An event that speaks of one cell and of no measurement.
    pub const fn new(at: Instant, station: StationId, cell: CellId, event: LinkEvent) -> Event {
        Event {
            at,
            station,
            cell,
            event,
            other: None,
            measured: None,
        }
    }
}

/// A control message on its way between an aircraft and a base station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Message {
    /// When its last bit was sent.
    pub at: Instant,
    /// The aircraft that sent it or that it is for.
    pub station: StationId,
    /// The cell.
    pub cell: CellId,
    /// What it says.
    pub kind: MessageKind,
}

/// Control messages, by the specification's names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MessageKind {
    /// ACB and STB, from the base station: listen to these neighbours.
    ScanningTable,
    /// SIB of a neighbouring base station, as the aircraft measures it.
    SystemIdentification,
    /// POW_REP, from the aircraft: the power that it receives of `of`.
    PowerReport {
        /// The cell that was measured.
        of: CellId,
        /// Received power in dBm.
        received_dbm: f64,
    },
    /// HO_COM, from the base station.
    HandoverCommand {
        /// Where to.
        to: CellId,
        /// Whether packets are waiting still.
        packet_bit: bool,
    },
    /// CELL_EXIT, from the aircraft.
    CellExit,
    /// CELL_RQST by random access, from the aircraft.
    CellRequest,
    /// Two CELL_RQST met, of which this is one: nobody hears it.
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
    /// An empty one.
    pub fn new() -> Agenda<T> {
        Agenda {
            heap: BinaryHeap::new(),
            inserted: 0,
        }
    }

    /// Puts an item in.
    pub fn push(&mut self, at: Instant, item: T) {
        let number = self.inserted;
        self.inserted += 1;
        self.heap.push(Entry { at, number, item });
    }

    /// When the first is due.
    pub fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|entry| entry.at)
    }

    /// Takes the first out if it is due.
    pub fn pop(&mut self, now: Instant) -> Option<(Instant, T)> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|entry| (entry.at, entry.item))
    }
}

impl<T> Ord for Entry<T> {
    /// The heap gives the largest, so that the earliest is.
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
