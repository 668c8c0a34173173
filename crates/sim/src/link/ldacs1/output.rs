//! What a network tells: packets' fates, 802.21 events, and every control message of the handover.

use super::station::{CellId, Direction, StationId};
use crate::link::Outcome;
use crate::packets::PacketId;
use baton_proto::rate::DataRate;
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

/// An event of an aircraft's link, by IEEE 802.21's names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// When.
    pub at: Instant,
    /// Whose link.
    pub station: StationId,
    /// The cell that it speaks of.
    pub cell: CellId,
    /// What has happened.
    pub signal: Signal,
}

/// What has happened to a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Signal {
    /// Link_Detected: the aircraft hears this cell.
    Detected,
    /// Link_Up: it is registered there (CELL_RESP, or the poll of a handover of type 2).
    Up {
        /// The forward link's rate for it: its own limit, or that of the whole cell.
        rate: DataRate,
    },
    /// Link_Going_Down.
    GoingDown {
        /// HO_COM with the P-bit: the handover to this cell comes when the base station has nothing left. Without a cell
        /// the signal is below Th2, and no other cell was heard.
        to: Option<CellId>,
    },
    /// Link_Event_Rollback: after all, the signal is above Th2, or another cell takes the aircraft.
    Rollback,
    /// The base station has delivered all that it had (not in 802.21).
    QueueDrained,
    /// Link_Handover_Imminent: HO_COM without the P-bit.
    HandoverImminent {
        /// Where to.
        to: CellId,
    },
    /// Link_Down: the aircraft has left the cell or lost its signal.
    Down,
    /// Link_Handover_Complete, right after Link_Up.
    HandoverComplete {
        /// Where from.
        from: CellId,
    },
    /// Link_Parameters_Report: the signal has crossed Th1, in either direction.
    ParametersReport {
        /// Received power in dBm.
        received_dbm: f64,
        /// SNR with the safety margin taken off, in dB.
        snr_db: f64,
    },
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
