//! Control messages of a handover.

use crate::link::cells::{CellId, StationId};
use baton_proto::time::Instant;

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
