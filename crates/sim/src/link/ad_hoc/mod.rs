//! A mobile ad hoc network between the two ends of a link: nodes that move, hear each other within a range, and forward
//! for each other by a [routing](Routing) protocol of `proto`.
//!
//! The ends are nodes 0 (A) and 1 (B); the others are relays inside the link. A node sends one frame at a time at the
//! link's rate, routing messages before datagrams, and all nodes within range at its end receive it, after the time that
//! light takes. The sender learns at once if a neighbour was out of range, as a link layer with acknowledgments does.
//! Each reception has bit errors of its own, found by a frame check.
//! Frames do not interfere: the medium access (study A's is TDMA) gives each node a channel of its own.

mod motion;
mod network;
mod noise;
pub mod scenario;
#[cfg(test)]
mod tests;

pub use motion::{Airspace, Course};
pub(super) use network::AdHoc;

pub use baton_proto::routing::aerorp::Keeping;

use baton_proto::wire::aeronp::TranslatedHeader;

/// Parameters of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct AdHocConfig {
    /// Routing protocol of all nodes.
    pub routing: Routing,
    /// Distance in metres up to which nodes hear each other.
    pub range_m: f64,
    /// Ways of the nodes: end A's, end B's, the relays'.
    pub courses: Vec<Course>,
}

/// AeroNP's header where a packet leaves the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// True if a node on the way had a congested queue.
    pub congestion: bool,
    /// True if a node on the way received the packet damaged.
    pub corruption: bool,
    /// The IP header that the packet comes without; `None` of a whole packet.
    pub translated: Option<TranslatedHeader>,
}

/// A routing protocol and its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    /// AeroRP.
    Aerorp {
        /// Treatment of datagrams without a better neighbour.
        keeping: Keeping,
        /// True if nodes send beacons.
        beacons: bool,
    },
    /// AODV.
    Aodv,
    /// DSDV.
    Dsdv,
}

impl Routing {
    /// Returns true if packets travel under AeroNP's header.
    pub const fn has_aeronp(self) -> bool {
        matches!(self, Routing::Aerorp { .. })
    }
}
