//! Outputs of an attachment.

use super::Begun;
use crate::interface::{InterfaceId, LinkCommand, LinkEvent};

/// An output, to be carried out before the next is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// A command to the medium at an interface.
    Command(InterfaceId, LinkCommand),
    /// A signal to the node's other parts.
    Signal(Signal),
}

/// A signal to the node's other parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The next handover is known ahead of its time.
    Announced,
    /// The point of service is to be asked about a handover to this interface;
    /// [`Attachment::handle_prepared`](super::Attachment::handle_prepared) takes the answer.
    Prepare(InterfaceId),
    /// A handover has begun, and ends whatever the one before had left to do, but for its overlap.
    Begun(Begun),
    /// Routes lead over this interface from now on, also those of the node's own packets; `None`: over none.
    Attached(Option<InterfaceId>),
    /// The node's own packets still leave by this interface; `None`: no longer.
    Outgoing(Option<InterfaceId>),
    /// An event of the link in use, for the node's transports. An [`Up`](LinkEvent::Up) while a handover is under way is
    /// none: [`Complete`](Self::Complete) follows.
    InUse(InterfaceId, LinkEvent),
    /// An event of a link, for the node's mobility protocol.
    Link(InterfaceId, LinkEvent),
    /// The handover is complete: packets come and go by this interface.
    Complete(Option<InterfaceId>),
}
