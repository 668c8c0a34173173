//! Micro-mobility domains in the laboratory.

mod keys;
mod paging;
mod resolve;
mod set_up;

use crate::scenario::model::NodeIndex;
use baton_proto::mobility::micro_mobility::Protocol;
use baton_proto::time::Duration;
pub use keys::RawDomain;
pub use paging::Paging;
pub(super) use resolve::{check_mobiles, domains};

/// A domain.
#[derive(Clone, Debug, PartialEq)]
pub struct Domain {
    /// Its name.
    pub name: String,
    /// The protocol.
    pub protocol: Protocol,
    /// The root.
    pub root: NodeIndex,
    /// The other routers.
    pub routers: Vec<NodeIndex>,
    /// Time between route updates.
    pub refresh: Duration,
    /// Bytes that a base station keeps for a mobile whose link is down.
    pub buffer: u32,
    /// Settings of paging; `None` if mobiles are always active.
    pub paging: Option<Paging>,
}

impl Domain {
    /// Returns all its routers, the root first.
    fn all_routers(&self) -> impl Iterator<Item = NodeIndex> {
        core::iter::once(self.root).chain(self.routers.iter().copied())
    }

    /// Returns true for one of its routers.
    pub(super) fn has(&self, node: NodeIndex) -> bool {
        self.all_routers().any(|router| router == node)
    }

    /// Returns true if it prepares handovers.
    pub(super) fn prepares_handovers(&self) -> bool {
        self.protocol.prepares_handoffs()
    }
}
