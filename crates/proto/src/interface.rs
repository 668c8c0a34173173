//! Interfaces of a node, events of the links behind them, and the node's commands to the media.

use crate::packet::FlowId;
use crate::rate::DataRate;
use crate::time::Duration;

/// An interface, by its index in its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfaceId(pub usize);

/// Number of the first virtual interface; lower numbers are interfaces to links.
const FIRST_VIRTUAL: usize = 0xFFFF_FF00;

impl InterfaceId {
    /// Returns the virtual interface with this number, such as the entry of a tunnel.
    pub const fn virtual_number(number: u8) -> InterfaceId {
        InterfaceId(FIRST_VIRTUAL + number as usize)
    }

    /// Returns true for an interface without a link.
    pub const fn is_virtual(self) -> bool {
        self.0 >= FIRST_VIRTUAL
    }
}

/// An event of a link, reported to the nodes at its ends (IEEE 802.21-2008, section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkEvent {
    /// Link_Detected: a signal is received.
    Detected,
    /// Link_Up: packets pass, perhaps at a new point of attachment.
    Up,
    /// Link_Parameters_Report: the received power has crossed a threshold.
    ParametersReport,
    /// Link_Going_Down.
    GoingDown,
    /// Link_Going_Down of a radio network's cell, to be replaced by another cell of the network.
    CellGoingDown,
    /// Link_Event_Rollback: the link stays up after all.
    Rollback,
    /// Link_Down.
    Down,
    /// Link_Handover_Imminent: this is the link, or the point of attachment, to use from now on.
    HandoverImminent,
    /// Link_Handover_Complete, right after Link_Up.
    HandoverComplete,
    /// The base station has delivered all packets that it held for the node (not in 802.21).
    QueueDrained,
    /// Link_Parameters_Report: new parameters of the link.
    Parameters(LinkParameters),
    /// SI-C-QUEUE_STATUS: new state of the queue of a flow at the link's entrance (not in 802.21).
    QueueStatus(FlowId, QueueStatus),
}

/// State of a queue at a link's entrance, for the node that feeds the link (ETSI TS 102 463's SI-C-QUEUE_STATUS; study S,
/// section 2): the lower layers' part of a queue's specification (QIDSPEC).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueStatus {
    /// The queue's identifier on its link (QID), from 1.
    pub queue: u16,
    /// Packets waiting.
    pub packets: u32,
    /// Full packets that the queue holds.
    pub capacity_packets: u32,
    /// Shortest round-trip time of the link.
    pub round_trip: Duration,
}

/// Status of a packet that a node has handed to a medium (IEEE 802.21's Link_PDU_Transmit_Status).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransmitStatus {
    /// The packet is queued.
    Queued {
        /// Service rate of the queue for full IP packets, if it is more than half full.
        pressure: Option<DataRate>,
    },
    /// A transmission attempt has failed; the medium tries again, or gives up.
    AttemptFailed,
    /// The packet was dropped: by a full queue, the queue manager, or a policer.
    Dropped,
}

/// The statuses that a node requests from media. Each costs time for every packet concerned.
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
    /// Returns the statuses requested by either.
    pub const fn or(self, other: StatusInterests) -> StatusInterests {
        StatusInterests {
            queued: self.queued || other.queued,
            failed_attempts: self.failed_attempts || other.failed_attempts,
            drops: self.drops || other.drops,
        }
    }
}

/// Parameters of a link, seen from one of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkParameters {
    /// Rate of full IP packets from this end.
    pub outgoing: DataRate,
    /// Rate of full IP packets to this end.
    pub incoming: DataRate,
    /// Shortest round-trip time.
    pub round_trip: Duration,
    /// Capacity of the queue at this end in full packets; `None` if unknown.
    pub outgoing_queue: Option<u32>,
    /// Capacity of the queue at the other end in full packets; `None` if unknown.
    pub incoming_queue: Option<u32>,
    /// MTU, in bytes.
    pub mtu: u32,
}

impl LinkParameters {
    /// Returns the longest round-trip time on the link with traffic one way: a full packet that finds the queue of its
    /// direction full, and a full packet that finds the other direction empty. A queue of unknown capacity counts as empty.
    pub fn longest_round_trip(self) -> Duration {
        let bits = u64::from(self.mtu) * 8;
        let time = |rate: DataRate, packets: Option<u32>| {
            let waiting =
                rate.transmission_time(bits.saturating_mul(u64::from(packets.unwrap_or(0))));
            waiting.unwrap_or(Duration::ZERO)
        };
        let there_and_back = time(self.outgoing, Some(1)) + time(self.incoming, Some(1));
        let out = time(self.outgoing, self.outgoing_queue);
        let back = time(self.incoming, self.incoming_queue);
        self.round_trip + there_and_back + out.max(back)
    }

    /// Returns the lower rate of both directions in kbit/s, at most 65,535.
    pub fn kilobits(self) -> u16 {
        let rate = self.outgoing.min(self.incoming).bits_per_second() / 1000;
        u16::try_from(rate).unwrap_or(u16::MAX)
    }

    /// Returns the parameters of the same link, seen from its other end.
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
    /// Returns the standard's name.
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
            LinkEvent::QueueStatus(..) => "SI-C-QUEUE_STATUS",
        }
    }
}

/// A command of a node to the medium at one of its interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkCommand {
    /// Carry the node's packets from now on, whenever the link is up.
    Attach,
    /// Block the link until the next [`Attach`](Self::Attach).
    Detach {
        /// True to keep the packets in the link, and those offered meanwhile, until then; false to discard them.
        keep_queue: bool,
    },
    /// Detach, and discard the packets in the link itself; packets that wait at IP, by the link's flow control, stay
    /// there for [`TakeFromIp`](Self::TakeFromIp). Without flow control none wait there.
    HoldAtIp,
    /// Send packets that wait at IP before the link by the present routes. Without `own`, do so again at the far end whenever
    /// a home agent there binds a mobile, until the next command to attach or to take all.
    TakeFromIp {
        /// True to include the node's own packets; false for those at the far end only.
        own: bool,
    },
    /// Drop the packets in the link's queues; those in transmission go on.
    DiscardQueue,
    /// Report [`LinkEvent::QueueDrained`] once all packets now in the link have left it.
    ReportDrained,
    /// Report [`LinkEvent::GoingDown`] at the far end: the node is about to leave.
    GoingDown,
}
