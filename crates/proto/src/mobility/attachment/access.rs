//! An access link as its mobile knows it.

use super::AccessInterface;
use crate::interface::InterfaceId;
use crate::time::Instant;

/// An access link as its mobile knows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub id: InterfaceId,
    pub is_network: bool,
    /// True where the medium says that it works.
    pub up: bool,
    /// Time at which the network lost the mobile, if it has not come back.
    pub lost_at: Option<Instant>,
    /// True while a network hands the mobile over to another cell.
    pub changes_cell: bool,
    /// True where the mobility protocol was told that the link is up.
    pub told_up: bool,
    /// True where the mobility protocol has registered the mobile last.
    pub registered: bool,
    /// True after a command to let nothing pass.
    pub detached: bool,
    /// True where what waits at IP takes another way, and has not all gone.
    pub reroutes: bool,
    pub leaving: Leaving,
}

/// Progress of leaving a link that is detached once it has drained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaving {
    /// It is in use, or left as it is.
    No,
    /// It still holds packets.
    Draining,
    /// It has drained, and only the node's own packets keep it.
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

    /// True if the mobile can be attached to it: to a network only in one of its cells.
    pub fn is_usable(&self) -> bool {
        !self.is_network || self.up && !self.changes_cell
    }
}
