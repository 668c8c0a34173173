//! Radio networks with cells: media that join mobiles, their stations, with the base stations of their cells, and
//! perform the stations' handovers. This file has the parts common to all kinds, and dispatches to the one kind that
//! there is: its network, parameters and keys.

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

/// A packet to transmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offered {
    /// Receiving or sending aircraft.
    pub station: StationId,
    /// Direction; forward, with the cell whose base station sends it.
    pub way: Way,
    /// The packet.
    pub packet: PacketId,
    /// Bytes of the IP packet, header included.
    pub length: u32,
    /// Priority, 0 to 7 or that of signalling; the highest goes first. Larger values count as that of signalling.
    pub priority: u8,
    /// True for acknowledged mode, in which lost fragments are retransmitted.
    pub acknowledged: bool,
}

/// Place at which a packet is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Base station of a cell. The packet is lost if the aircraft is not registered there.
    Forward(CellId),
    /// Aircraft. Without a cell the packet waits.
    Return,
}

/// Output of a network, due at its moment.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// A packet that has arrived or is lost.
    Fate(Fate),
    /// A change of an aircraft's link.
    Event(Event),
    /// A control message that was sent.
    Message(Message),
}

/// The fate of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fate {
    /// The packet.
    pub packet: PacketId,
    /// Time of arrival or loss.
    pub at: Instant,
    /// Sending or receiving aircraft.
    pub station: StationId,
    /// Direction of the packet.
    pub direction: Direction,
    /// Cell that carried it; `None` if there was none.
    pub cell: Option<CellId>,
    /// Arrival, or loss and its reason.
    pub outcome: Outcome,
}

/// An event of an aircraft's link to a cell, for both ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// Time of the event.
    pub at: Instant,
    /// The aircraft.
    pub station: StationId,
    /// Cell whose link the event concerns.
    pub cell: CellId,
    /// The event: [`Up`](LinkEvent::Up) is registration in the cell, [`Down`](LinkEvent::Down) the end of it,
    /// [`ParametersReport`](LinkEvent::ParametersReport) a report of the received power.
    pub event: LinkEvent,
    /// Target cell of a handover; for [`HandoverComplete`](LinkEvent::HandoverComplete) the old cell.
    pub other: Option<CellId>,
    /// Received signal, in a parameters report.
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
    /// Creates an event of one cell, without a measurement.
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
