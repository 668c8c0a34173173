//! The choice of the link that a mobile uses.

use baton_proto::host::Host;
use baton_proto::interface::{InterfaceId, LinkEvent};
use baton_proto::time::Instant;

/// The choice of the first of a mobile's links that is up.
#[derive(Clone, Debug)]
pub struct FirstUp {
    /// Whether each access link is up, the preferred one first; their interfaces are the node's first.
    up: Vec<bool>,
    chosen: Option<InterfaceId>,
}

impl FirstUp {
    /// A choice between the node's first so many interfaces, none of which is up.
    pub fn new(access_links: usize) -> FirstUp {
        FirstUp {
            up: vec![false; access_links],
            chosen: None,
        }
    }

    /// Hears that the device of an interface is up or down; returns the link to use if that is another from now on.
    // This stands in for the attachment layer: it is the only place that decides which link is used.
    pub fn handle_device(
        &mut self,
        now: Instant,
        host: &mut Host,
        (interface, is_up): (InterfaceId, bool),
    ) -> Option<InterfaceId> {
        *self.up.get_mut(interface.0)? = is_up;
        let best = self.up.iter().position(|&up| up).map(InterfaceId);
        if best == self.chosen {
            return None;
        }
        self.chosen = best;
        host.handle_link(now, best?, LinkEvent::HandoverImminent);
        best
    }
}
