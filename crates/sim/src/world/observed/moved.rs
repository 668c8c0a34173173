//! QUIC connections whose client has changed its address.

use super::super::Load;
use super::ObservedFlow;
use crate::observe::{PacketView, Side};
use baton_proto::wire::protocol;

/// A flow that a datagram between unknown ends may belong to.
pub(super) enum Moved {
    /// The packet carries one of the flow's connection IDs.
    Surely(usize),
    /// The packet begins in the middle of some connection of these two hosts, and this flow spoke last.
    Perhaps(usize),
}

impl Load {
    /// Returns the QUIC connection that a node continues from another address or port.
    pub(super) fn moved(&self, node: usize, view: &PacketView) -> Option<Moved> {
        // A new connection would begin with a long header.
        if view.protocol != protocol::UDP || view.payload.first()? & 0x80 != 0 {
            return None;
        }
        let server = (view.destination, view.ports.1);
        let mut candidates = self.flows.iter().enumerate().filter_map(|(flow, run)| {
            let observed = run.observed.as_deref()?;
            let ids = observed.connection_ids.as_deref()?;
            let same_ends = observed.side_of(node) == Side::Opener && observed.server == server;
            same_ends.then_some((flow, observed, ids))
        });
        let sure = candidates
            .clone()
            .find(|(_, _, ids)| ids.bears(view.payload));
        let spoke_last =
            |(_, observed, _): &(usize, &ObservedFlow, _)| observed.conversation.last_sent_at();
        match sure {
            Some((flow, ..)) => Some(Moved::Surely(flow)),
            None => candidates
                .by_ref()
                .max_by_key(spoke_last)
                .map(|(flow, ..)| Moved::Perhaps(flow)),
        }
    }
}
