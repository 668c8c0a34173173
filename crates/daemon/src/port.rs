//! Ports: a node's interfaces, each with the medium behind it.

use crate::medium::Medium;
use baton_proto::time::{Duration, Instant};

/// Time after which a medium that could not be read is read again (chosen: nobody waits longer for a modem to come back).
const REST: Duration = Duration::from_secs(1);

/// An interface of the node, and the medium behind it.
#[derive(Debug)]
pub struct Port {
    /// The name of the interface in the node's configuration.
    pub name: String,
    /// The longest packet, in bytes.
    pub mtu: u32,
    /// True if packets pass, as the node knows it; `None` until the medium has said.
    pub is_up: Option<bool>,
    /// True while packets that come stay unread, in the kernel's queue: there is no way on for them.
    pub is_paused: bool,
    /// True if packets pass, as the medium has said last; `None` until it has.
    pub says_up: Option<bool>,
    /// The time from which on the medium is read again, after reading has failed.
    pub rests_until: Option<Instant>,
    /// The medium.
    pub medium: Box<dyn Medium>,
}

impl Port {
    /// Makes an interface whose medium has not said anything.
    pub fn new(name: &str, mtu: u32, medium: Box<dyn Medium>) -> Port {
        Port {
            name: name.to_owned(),
            mtu,
            is_up: None,
            is_paused: false,
            says_up: None,
            rests_until: None,
            medium,
        }
    }

    /// Returns the interface's name, and its longest packet in bytes.
    pub fn described(&self) -> (&str, u32) {
        (&self.name, self.mtu)
    }

    /// Notes that reading has failed; returns false if it had before.
    pub fn rest(&mut self, now: Instant) -> bool {
        self.rests_until.replace(now + REST).is_none()
    }

    /// Returns the time at which there is something to do: of the medium, or of its reader.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let due = self.medium.poll_timeout().into_iter();
        due.chain(self.rests_until).min()
    }
}
