//! Access links in the view of their mobile.

use super::AccessInterface;
use crate::interface::InterfaceId;
use crate::time::Instant;

/// An access link in the view of its mobile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub id: InterfaceId,
    pub is_network: bool,
    /// True if the medium reports the link up.
    pub up: bool,
    /// Time at which the network lost the mobile; `None` if it did not, or once the mobile is back.
    pub lost_at: Option<Instant>,
    /// True while the network hands the mobile over to another cell.
    pub changes_cell: bool,
    /// True if the mobility protocol was told that the link is up.
    pub told_up: bool,
    /// True if the mobility protocol's latest registration was here.
    pub registered: bool,
    /// True if the mobile is not on the link: it was not yet, or has blocked it.
    pub detached: bool,
    /// True while packets that wait at IP are rerouted.
    pub reroutes: bool,
    pub leaving: Leaving,
}

/// Progress of leaving a link that is to be detached once drained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaving {
    /// The link is in use, or left in its state.
    No,
    /// The link still holds packets.
    Draining,
    /// The link has drained, and only the node's own packets still use it.
    Drained,
}

impl Access {
    pub fn new(interface: AccessInterface) -> Access {
        Access {
            id: interface.id,
            is_network: interface.is_network,
            up: false,
            lost_at: None,
            changes_cell: false,
            told_up: false,
            registered: false,
            detached: false,
            reroutes: false,
            leaving: Leaving::No,
        }
    }

    /// Returns true if the mobile can attach here: to a network only while it is in one of its cells.
    pub fn is_usable(&self) -> bool {
        !self.is_network || self.up && !self.changes_cell
    }
}
