//! Ports: a node's interfaces, each with the medium behind it.

use crate::medium::Medium;

/// An interface of the node, and the medium behind it.
#[derive(Debug)]
pub struct Port {
    /// The name of the interface in the node's configuration.
    pub name: String,
    /// The longest packet, in bytes.
    pub mtu: u32,
    /// True if packets pass; `None` until the medium has said.
    pub is_up: Option<bool>,
    /// True until reading from the medium has failed: its device is gone.
    pub is_readable: bool,
    /// True while packets that come stay unread, in the kernel's queue: there is no way on for them.
    pub is_paused: bool,
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
            is_readable: true,
            is_paused: false,
            medium,
        }
    }

    /// Returns the interface's name, and its longest packet in bytes.
    pub fn described(&self) -> (&str, u32) {
        (&self.name, self.mtu)
    }
}
