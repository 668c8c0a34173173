//! Interfaces of a node, the events of the links behind them, and the node's commands to those.

use crate::rate::DataRate;
use crate::time::Duration;

/// An interface by its place in its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfaceId(pub usize);

/// Number of the first virtual interface; all others are those of links.
const FIRST_VIRTUAL: usize = 0xFFFF_FF00;

impl InterfaceId {
    /// The virtual interface with this number, such as the entry of a tunnel.
    pub const fn virtual_number(number: u8) -> InterfaceId {
        InterfaceId(FIRST_VIRTUAL + number as usize)
    }

    /// True for an interface that has no link behind it.
    pub const fn is_virtual(self) -> bool {
        self.0 >= FIRST_VIRTUAL
    }
}

/// An event of a link, told to the nodes at its ends (IEEE 802.21-2008, section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkEvent {
    /// Link_Detected: there is a signal.
    Detected,
    /// Link_Up: packets pass, perhaps at another point of attachment than before.
    Up,
    /// Link_Parameters_Report: the received power has crossed a bound.
    ParametersReport,
    /// Link_Going_Down.
    GoingDown,
    /// Link_Going_Down of a radio network's cell, which another cell of the network will replace.
    CellGoingDown,
    /// Link_Event_Rollback: the link stays after all.
    Rollback,
    /// Link_Down.
    Down,
    /// Link_Handover_Imminent: this is the link, or the point of attachment, to use from now on.
    HandoverImminent,
    /// Link_Handover_Complete, right after Link_Up.
    HandoverComplete,
    /// The base station has delivered all that it held for the node (not in 802.21).
    QueueDrained,
    /// Link_Parameters_Report: the link carries so much from now on.
    Parameters(LinkParameters),
}

/// A status of a packet that a node has given to a medium (IEEE 802.21's Link_PDU_Transmit_Status).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransmitStatus {
    /// The medium has taken it in.
    Queued {
        /// Rate of full IP packets at which the queue is served, if it is more than half full.
        pressure: Option<DataRate>,
    },
    /// An attempt to get it across has failed; the medium tries again, or gives up.
    AttemptFailed,
    /// The queue had no room for it, its manager chose it, or a policer did.
    Dropped,
}

/// The statuses that a node asks media for, each of which costs time for every packet that it concerns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusInterests {
    /// [`TransmitStatus::Queued`].
    pub queued: bool,
    /// [`TransmitStatus::AttemptFailed`].
    pub failed_attempts: bool,
    /// [`TransmitStatus::Dropped`].
    pub drops: bool,
}

impl StatusInterests {
    /// The statuses that one of two asks for.
    pub const fn or(self, other: StatusInterests) -> StatusInterests {
        StatusInterests {
            queued: self.queued || other.queued,
            failed_attempts: self.failed_attempts || other.failed_attempts,
            drops: self.drops || other.drops,
        }
    }
}

/// A report of what a link carries, seen from one of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkParameters {
    /// Rate of full IP packets from this end.
    pub outgoing: DataRate,
    /// Rate of full IP packets to this end.
    pub incoming: DataRate,
    /// Shortest round-trip time.
    pub round_trip: Duration,
    /// Full packets that the queue at this end holds; `None` if the medium does not say.
    pub outgoing_queue: Option<u32>,
    /// Full packets that the queue at the other end holds; `None` if the medium does not say.
    pub incoming_queue: Option<u32>,
    /// Largest packet, in bytes.
    pub mtu: u32,
}

impl LinkParameters {
    /// The same link, seen from its other end.
    pub const fn from_other_end(self) -> LinkParameters {
        LinkParameters {
            outgoing: self.incoming,
            incoming: self.outgoing,
            outgoing_queue: self.incoming_queue,
            incoming_queue: self.outgoing_queue,
            ..self
        }
    }
}

impl LinkEvent {
    /// The standard's name.
    pub const fn name(self) -> &'static str {
        match self {
            LinkEvent::Detected => "Link_Detected",
            LinkEvent::Up => "Link_Up",
            LinkEvent::ParametersReport | LinkEvent::Parameters(_) => "Link_Parameters_Report",
            LinkEvent::GoingDown | LinkEvent::CellGoingDown => "Link_Going_Down",
            LinkEvent::Rollback => "Link_Event_Rollback",
            LinkEvent::Down => "Link_Down",
            LinkEvent::HandoverImminent => "Link_Handover_Imminent",
            LinkEvent::HandoverComplete => "Link_Handover_Complete",
            LinkEvent::QueueDrained => "Queue drained",
        }
    }
}

/// A command of a node to the medium at one of its interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkCommand {
    /// Carry the node's packets from now on, whenever the link works.
    Attach,
    /// Let nothing pass until the next [`Attach`](Self::Attach).
    Detach {
        /// True to keep what the link holds, and what it is offered meanwhile, for that moment; false to lose it.
        keep_queue: bool,
    },
    /// Detach, and lose what the link itself holds; what waits at IP, by the link's flow control, stays there for
    /// [`TakeFromIp`](Self::TakeFromIp). Without flow control nothing waits there.
    HoldAtIp,
    /// Send what waits at IP before the link where routes lead now.
    TakeFromIp {
        /// True to send the node's own packets too; false for those at the far end alone.
        own: bool,
    },
    /// Drop what waits in the link's queues; what has left them goes on.
    DiscardQueue,
    /// Say [`LinkEvent::QueueDrained`] once all that the link holds now has left it.
    ReportDrained,
    /// Say [`LinkEvent::GoingDown`] at the far end: the node is about to leave.
    GoingDown,
}
