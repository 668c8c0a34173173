//! L-DACS1: the L-band Digital Aeronautical Communications System, option 1, from frame to handover.
//!
//! A [`Network`] is a state machine like a [`Link`](crate::link::Link), but joins many aircraft and several base
//! stations: packets are [offered](Network::offer) at a cell's base station or at an aircraft, and [`Network::poll`]
//! returns their fates, 802.21 events and the control messages of handovers. An aircraft is a radio that is tuned to
//! one cell at a time; its [`Track`](crate::position::Track) gives its position, and the protocol determines the
//! serving cell.
//!
//! The [`LinkEvent`](baton_proto::interface::LinkEvent)s of an aircraft's link to a cell: `Up` is registration
//! (CELL_RESP, or the poll of a handover of type 2). `GoingDown` is HO_COM with the P-bit, after which the handover
//! follows once the base station's queue is empty; or, without another cell, a signal below Th2 with no other in sight,
//! which ends with a `Rollback`. `HandoverImminent` is HO_COM without the P-bit. `Down` is the loss of the signal, or
//! CELL_EXIT. `ParametersReport` is a signal that has crossed Th1, in either direction.
//!
//! Sources: Ayaz et al., "Performance Evaluation of Network Mobility Handover over Future Aeronautical Data Link"
//! (study D), for the protocol, the link budget, error rates and handovers; public code of the later LDACS for the
//! lengths of frames and of control messages. The L-DACS1 specification itself was not at hand: values from neither
//! source are chosen, and marked so.

mod air;
mod allocation;
pub mod budget;
mod cell;
mod config;
mod coverage;
pub mod error_rate;
pub mod error_table;
mod exchange;
mod figures;
pub mod frame;
mod handover;
pub mod modulation;
mod network;
mod output;
mod preset;
mod queue;
mod random_access;
pub mod scenario;
mod scheduler;
mod station;
#[cfg(test)]
mod tests;
mod transmission;
mod words;

pub use config::{CellConfig, HandoverType, NetworkConfig};
pub use figures::{json_budget, json_figures};
pub use network::{HEADER_BYTES, Network};
pub use output::{Message, MessageKind};
pub use queue::SIGNALLING_PRIORITY;

/// Name of the kind in a scenario.
pub const KIND: &str = "ldacs1";
