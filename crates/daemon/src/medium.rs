//! Media behind a node's interfaces. A medium carries packets, and reports its state and its longest packet.

use crate::capture::Tap;
use crate::gateway::signals::LinkSignal;
use crate::home_agent::RouterConfig;
use crate::operation::status::Status;
use baton_linux::addresses::AddressChange;
use baton_linux::links::LinkChange;
use baton_linux::netlink::RouteSocket;
use baton_proto::interface::LinkParameters;
use baton_proto::packet::Packet;
use baton_proto::time::Instant;
use baton_proto::wire::DecodeError;
use core::fmt;
use std::io;
use std::os::fd::BorrowedFd;

/// An event of a medium.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MediumEvent {
    /// Packets pass.
    Up,
    /// Packets do not pass.
    Down,
    /// The node at the other end has restarted, and has perhaps lost what it knew of this one.
    Restarted,
    /// The longest packet has changed, in bytes.
    Mtu(u32),
    /// The link is expected to go down at this time, or (`None`) to stay up.
    LossExpected(Option<Instant>),
    /// The link's parameters.
    Parameters(LinkParameters),
    /// News only for the node's operator.
    News(News),
}

/// News for a node's operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// The path concerned, if the medium has several.
    pub path: Option<String>,
    /// The news as text, with the path as its subject.
    pub words: String,
}

impl News {
    /// Creates news of the medium as a whole.
    pub fn of(words: impl Into<String>) -> News {
        News {
            path: None,
            words: words.into(),
        }
    }
}

impl fmt::Display for News {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{path} ")?;
        }
        f.write_str(&self.words)
    }
}

/// A received packet, or the fault in its header.
pub type Received = Result<Packet, DecodeError>;

/// The medium behind an interface of the node: a kernel device, or paths to other nodes.
pub trait Medium: fmt::Debug + Send {
    /// Returns the descriptors that become readable when packets arrive.
    fn descriptors(&self) -> Vec<BorrowedFd<'_>>;

    /// Reads the next arrival: a packet, one that stands for several, or an invalid one; `None` if nothing waits.
    ///
    /// # Errors
    /// Errors of the kernel: the device is gone, and the medium down.
    fn receive(&mut self, now: Instant) -> io::Result<Option<Received>>;

    /// Sends a packet, or all for which it stands; returns false if one of them could not be sent and is lost.
    fn send(&mut self, now: Instant, packet: &Packet) -> bool;

    /// Takes in a change of the kernel's interfaces.
    fn handle_link(&mut self, now: Instant, change: &LinkChange);

    /// Takes in a change of the addresses of the kernel's interfaces.
    fn handle_address(&mut self, _now: Instant, _change: &AddressChange) {}

    /// Returns the next event.
    fn poll_event(&mut self) -> Option<MediumEvent>;

    /// Sends packets that wait to be sent together, and the medium's own.
    fn flush(&mut self, _now: Instant) {}

    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout), after which packets may have arrived.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// Performs the actions that are due.
    fn handle_timeout(&mut self, _now: Instant) {}

    /// Takes in a signal about a gateway's link; returns false for another medium, which knows nothing of signals.
    fn take_signal(&mut self, _now: Instant, _signal: LinkSignal) -> bool {
        false
    }

    /// Connects the medium to captures, as an interface with this name.
    fn set_tap(&mut self, _name: &str, _tap: &Tap) {}

    /// Adds the medium's part to a state.
    fn report(&mut self, _now: Instant, _status: &mut Status) {}

    /// Replaces the routers that may have paths; returns false for a medium without routers.
    ///
    /// # Errors
    /// A key that cannot be read.
    fn set_routers(&mut self, _routers: &[RouterConfig]) -> Result<bool, String> {
        Ok(false)
    }

    /// Returns the number of packets that the kernel dropped before they were read, since the last call or since the
    /// creation of the device.
    ///
    /// # Errors
    /// Errors of the kernel, such as for a device that is gone.
    fn dropped_unread(&self, kernel: &mut RouteSocket) -> io::Result<u64>;
}
