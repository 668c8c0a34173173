//! Outputs of an attachment.

use crate::crosslayer::Signal;
use crate::interface::{InterfaceId, LinkCommand};

/// An output, to be carried out before the next poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// A command to the medium at an interface.
    Command(InterfaceId, LinkCommand),
    /// A signal to the node's other parts.
    Signal(Signal),
}
