//! Ports: a node's interfaces, each with the medium behind it.

use crate::medium::Medium;
use baton_proto::time::{Duration, Instant};

/// Time from a failed read of a medium to the next attempt (chosen: the longest acceptable delay after a modem has come
/// back).
const REST: Duration = Duration::from_secs(1);

/// An interface of the node, and the medium behind it.
#[derive(Debug)]
pub struct Port {
    /// The name of the interface in the node's configuration.
    pub name: String,
    /// MTU, in bytes.
    pub mtu: u32,
    /// True if packets pass, as last told to the node; `None` before the medium's first report.
    pub is_up: Option<bool>,
    /// True while arriving packets are left in the kernel's queue because there is no path for them.
    pub is_paused: bool,
    /// True if packets pass, as last reported by the medium; `None` before its first report.
    pub says_up: Option<bool>,
    /// Time of the next read after a failed one.
    pub rests_until: Option<Instant>,
    /// The medium.
    pub medium: Box<dyn Medium>,
}

impl Port {
    /// Creates an interface whose medium has not reported yet.
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

    /// Returns the interface's name, and its MTU in bytes.
    pub fn described(&self) -> (&str, u32) {
        (&self.name, self.mtu)
    }

    /// Notes a failed read; returns false if the one before had failed, too.
    pub fn rest(&mut self, now: Instant) -> bool {
        self.rests_until.replace(now + REST).is_none()
    }

    /// Returns the time of the next action: of the medium, or of its reader.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let due = self.medium.poll_timeout().into_iter();
        due.chain(self.rests_until).min()
    }
}
