//! Capacity on demand: the return link of DVB-RCS (ETSI EN 301 790), whose slots a network control centre (NCC) assigns
//! to terminals, superframe by superframe.
//!
//! A terminal is the transmitter at end B of a link; the terminals of several links can share a [`Carrier`]. At the
//! beginning of each superframe a terminal asks for capacity; the request crosses the satellite, the NCC answers with a
//! burst time plan, which crosses it again, and the plan holds for the first superframe that begins after that. Both the
//! NCC and the terminals are computed at the beginning of a superframe, since a plan is known as soon as its last
//! request is made; a terminal uses only what has come to it.
//!
//! Scope: requests and plans are never lost and take no capacity; no random access, no logon, no change of modulation.

mod carrier;
pub(crate) mod scenario;
mod slots;

pub use carrier::{Carrier, CarrierConfig, Part, Rbdc, TerminalConfig};
pub(super) use slots::Slots;
pub use slots::{Assignment, Grid};

use super::{End, Link};
use baton_proto::time::Instant;

impl Link {
    /// Returns the bits to be sent from end B, the link's framing included; `None` while the link is down, when its
    /// terminal asks for nothing.
    pub fn backlog_bits(&mut self, now: Instant) -> Option<u64> {
        self.catch_up(now);
        let framing = self.ways[End::B.index()].framing;
        let directions = self.directions.of(&self.config, self.seed);
        let backlog = directions[End::B.index()].backlog_bits(framing);
        self.is_up().then_some(backlog)
    }

    /// Gives the terminal at end B its slots of the superframe that begins now. Those of the last one that it has not
    /// used are lost.
    pub fn assign(&mut self, now: Instant, assignment: Assignment) {
        self.catch_up(now);
        let directions = self.directions.of(&self.config, self.seed);
        directions[End::B.index()].assign(assignment);
        if self.is_up() {
            self.start(now, End::B);
        }
        self.note_deadline(End::B);
    }
}
