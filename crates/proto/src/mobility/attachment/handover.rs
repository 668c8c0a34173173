//! Handovers as they are asked for, and as they begin.

use crate::time::Duration;

/// How an access link is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handover {
    /// Make before break: packets take the new link at once, and the old one goes on delivering what it holds.
    Soft {
        /// How long the old link still receives; `None` is until it is empty.
        overlap: Option<Duration>,
        /// The fate of packets that wait in the old link's queues.
        old_queue: OldQueue,
        /// For how long the node's own packets go on taking the old link.
        outgoing_after: Duration,
    },
    /// Break before make: nothing passes on any link of the mobile for a time.
    Hard {
        /// From the loss of the old link to the first packet on the new one.
        outage: Duration,
        /// The fate of what the old link holds, and of what it is offered meanwhile.
        old_queue: OldQueue,
    },
}

impl Handover {
    /// From a link that goes on delivering, at once and with all packets.
    pub(super) const MAKE_BEFORE_BREAK: Handover = Handover::Soft {
        overlap: None,
        old_queue: OldQueue::Stays,
        outgoing_after: Duration::ZERO,
    };
}

/// The fate of packets that wait in a link's queues when its mobile leaves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OldQueue {
    /// They stay there. A link that is left softly delivers them; one that breaks keeps them, what it is offered meanwhile and
    /// what was in flight, until the mobile attaches to it again.
    Stays,
    /// They are lost.
    Discarded,
    /// What waits at IP, by the link's flow control, takes the new way; what the link itself holds is delivered, or lost if
    /// it breaks.
    Rerouted,
}
