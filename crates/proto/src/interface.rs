//! Interfaces of a node, and the events of the links behind them.

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
}

impl LinkEvent {
    /// The standard's name.
    pub const fn name(self) -> &'static str {
        match self {
            LinkEvent::Detected => "Link_Detected",
            LinkEvent::Up => "Link_Up",
            LinkEvent::ParametersReport => "Link_Parameters_Report",
            LinkEvent::GoingDown => "Link_Going_Down",
            LinkEvent::Rollback => "Link_Event_Rollback",
            LinkEvent::Down => "Link_Down",
            LinkEvent::HandoverImminent => "Link_Handover_Imminent",
            LinkEvent::HandoverComplete => "Link_Handover_Complete",
            LinkEvent::QueueDrained => "Queue drained",
        }
    }
}
