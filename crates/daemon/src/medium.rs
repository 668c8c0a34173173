//! Media: what a node's interfaces lead to. A medium carries packets, and says when it is up and how long they may be.

use crate::capture::Tap;
use crate::home_agent::RouterConfig;
use crate::operation::status::Status;
use baton_linux::addresses::AddressChange;
use baton_linux::links::LinkChange;
use baton_linux::netlink::RouteSocket;
use baton_proto::packet::Packet;
use baton_proto::time::Instant;
use baton_proto::wire::DecodeError;
use core::fmt;
use std::io;
use std::os::fd::BorrowedFd;

/// News of a medium.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MediumEvent {
    /// Packets pass.
    Up,
    /// Packets do not pass.
    Down,
    /// The home agent at the other end was started anew, and knows nothing of this node.
    Restarted,
    /// The longest packet is another, in bytes.
    Mtu(u32),
    /// Something that concerns the node's operator only.
    News(News),
}

/// News for a node's operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// The path that they are about, where the medium has several.
    pub path: Option<String>,
    /// The news in words, which say something of the path.
    pub words: String,
}

impl News {
    /// Says something of the medium as a whole.
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

/// A packet that has come, or what is wrong with its header.
pub type Received = Result<Packet, DecodeError>;

/// The medium behind an interface of the node: a device of the kernel, or paths to other nodes.
pub trait Medium: fmt::Debug + Send {
    /// Returns the descriptors that become readable when something comes.
    fn descriptors(&self) -> Vec<BorrowedFd<'_>>;

    /// Reads what has come next: a packet, one that stands for several, or what is none; `None` if nothing waits.
    ///
    /// # Errors
    /// Errors of the kernel: the device is gone, and the medium down.
    fn receive(&mut self, now: Instant) -> io::Result<Option<Received>>;

    /// Sends a packet, or all for which it stands; returns false if one could not be sent, which is its loss.
    fn send(&mut self, now: Instant, packet: &Packet) -> bool;

    /// Hears of a change of the kernel's interfaces.
    fn handle_link(&mut self, now: Instant, change: &LinkChange);

    /// Hears of a change of the addresses of the kernel's interfaces.
    fn handle_address(&mut self, _now: Instant, _change: &AddressChange) {}

    /// Returns the next news.
    fn poll_event(&mut self) -> Option<MediumEvent>;

    /// Sends what waits to be sent together, and what the medium has to say itself.
    fn flush(&mut self, _now: Instant) {}

    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout), after which packets may have come.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// Does what is due.
    fn handle_timeout(&mut self, _now: Instant) {}

    /// Lets captures see what passes the medium, which is an interface with this name.
    fn set_tap(&mut self, _name: &str, _tap: &Tap) {}

    /// Adds what is known of the medium to a state.
    fn report(&mut self, _now: Instant, _status: &mut Status) {}

    /// Replaces the routers that may have paths; returns false for a medium without routers.
    ///
    /// # Errors
    /// A key that cannot be read.
    fn set_routers(&mut self, _routers: &[RouterConfig]) -> Result<bool, String> {
        Ok(false)
    }

    /// Returns the number of packets that the kernel could not keep until they were read, since this was asked last or since the
    /// device was made.
    ///
    /// # Errors
    /// Errors of the kernel, such as for a device that is gone.
    fn dropped_unread(&self, kernel: &mut RouteSocket) -> io::Result<u64>;
}
