//! Radio networks with cells: media that join mobiles, their stations, with the base stations of their cells, and hand the stations
//! over themselves. What all kinds have in common is here; of the one kind that there is, the network, its parameters and its keys.

pub use super::ldacs1::scenario::{RawCell, RawRadio};
pub(crate) use super::ldacs1::scenario::{json_defaults, network};
pub use super::ldacs1::{
    CellConfig, KIND, Message, Network, NetworkConfig, SIGNALLING_PRIORITY, json_budget,
    json_figures,
};

use super::Outcome;
use crate::packets::PacketId;
use baton_proto::interface::LinkEvent;
use baton_proto::time::Instant;

/// An aircraft, by its place in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StationId(pub u32);

/// A cell, by its place in the network's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CellId(pub u16);

/// A direction of transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From base station to aircraft.
    Forward,
    /// From aircraft to base station.
    Return,
}

/// A packet that is handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offered {
    /// The aircraft that it is for, or that sends it.
    pub station: StationId,
    /// Whither. Forward, from the base station of which cell.
    pub way: Way,
    /// The packet.
    pub packet: PacketId,
    /// Its bytes, from the first of the IP header on.
    pub length: u32,
    /// Its priority, 0 to 7 or that of signalling; the highest goes first. Larger ones count as that.
    pub priority: u8,
    /// True if what is lost is sent again.
    pub acknowledged: bool,
}

/// Place at which a packet is handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// At the base station of a cell. It is lost if the aircraft is not registered there.
    Forward(CellId),
    /// At the aircraft. Without a cell it waits.
    Return,
}

/// Something that a network tells, at its moment.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// A packet has arrived or is lost.
    Fate(Fate),
    /// The link of an aircraft has changed.
    Event(Event),
    /// A control message was sent.
    Message(Message),
}

/// The fate of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fate {
    /// The packet.
    pub packet: PacketId,
    /// The moment of its arrival or loss.
    pub at: Instant,
    /// The aircraft that sent or awaits it.
    pub station: StationId,
    /// Its direction.
    pub direction: Direction,
    /// The cell that carried it; `None` if there was none.
    pub cell: Option<CellId>,
    /// Its arrival, or its loss and why.
    pub outcome: Outcome,
}

/// An event of an aircraft's link to a cell; both ends hear it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// Time of the event.
    pub at: Instant,
    /// The aircraft.
    pub station: StationId,
    /// The cell that it speaks of.
    pub cell: CellId,
    /// The event: [`Up`](LinkEvent::Up) is registration in the cell, [`Down`](LinkEvent::Down) the end of it,
    /// [`ParametersReport`](LinkEvent::ParametersReport) a report of the received power.
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
