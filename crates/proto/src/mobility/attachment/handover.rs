//! Handovers: the requested course, and the start.

use crate::time::Duration;

/// Course of a handover from an access link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handover {
    /// Make before break: packets take the new link at once, and the old one still delivers its queue.
    Soft {
        /// Time for which the old link still receives; `None` until it has drained.
        overlap: Option<Duration>,
        /// Treatment of packets in the old link's queues.
        old_queue: OldQueue,
        /// Time for which the node's own packets still take the old link.
        outgoing_after: Duration,
    },
    /// Break before make: all links of the mobile are blocked for a time.
    Hard {
        /// Time from the loss of the old link to the first packet on the new one.
        outage: Duration,
        /// Treatment of packets that the old link holds, and of packets offered to it meanwhile.
        old_queue: OldQueue,
    },
}

impl Handover {
    /// Handover from a link that keeps delivering: at once, for all packets.
    pub(super) const MAKE_BEFORE_BREAK: Handover = Handover::Soft {
        overlap: None,
        old_queue: OldQueue::Stays,
        outgoing_after: Duration::ZERO,
    };
}

/// Treatment of packets in a link's queues when its mobile leaves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OldQueue {
    /// They stay there. A soft handover's old link delivers them. A broken link keeps them, with the packets in flight
    /// and those offered meanwhile, until the mobile attaches to it again.
    Stays,
    /// They are discarded.
    Discarded,
    /// Packets that wait at IP, by the link's flow control, take the new path; packets in the link itself are delivered, or lost if
    /// it breaks.
    Rerouted,
}
