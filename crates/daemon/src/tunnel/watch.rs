//! The device of a path, as the kernel reports it: whether datagrams can leave by it, and their source.

use baton_linux::addresses::{AddressChange, InterfaceAddress};
use baton_linux::links::LinkChange;
use baton_linux::netlink::InterfaceIndex;
use std::collections::BTreeSet;

/// A device that is watched. It need not exist yet.
#[derive(Debug)]
pub struct Watch {
    device: String,
    index: Option<InterfaceIndex>,
    /// True if the kernel says that the device is up.
    is_up: bool,
    /// This machine's addresses of the path's IP version, of all devices: the kernel may report an address before its
    /// device is known here.
    addresses: BTreeSet<InterfaceAddress>,
    is_ipv4: bool,
}

/// A change of a device that concerns a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The device is up or down, or has another source address.
    State,
    /// The device is gone, or another has its name: sockets at it are of no use.
    Device,
}

impl Watch {
    /// Creates a watch of a device for datagrams of an IP version.
    pub fn new(device: &str, is_ipv4: bool) -> Watch {
        Watch {
            device: device.to_owned(),
            index: None,
            is_up: false,
            addresses: BTreeSet::new(),
            is_ipv4,
        }
    }

    /// Returns the device's name.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Returns true if the device is up and has an address from which the path's far end can be reached.
    pub fn can_send(&self) -> bool {
        let mut addresses = self.addresses.iter();
        self.is_up && addresses.any(|address| Some(address.interface) == self.index)
    }

    /// Takes in a change of the kernel's interfaces; returns the change of this device.
    pub fn handle_link(&mut self, change: &LinkChange) -> Option<Change> {
        match change {
            LinkChange::Is(link) if link.name == self.device => {
                self.is_up = link.is_up;
                let is_same = self.index.replace(link.index) == Some(link.index);
                Some(if is_same {
                    Change::State
                } else {
                    Change::Device
                })
            }
            LinkChange::Gone(index) if self.index == Some(*index) => {
                self.index = None;
                self.is_up = false;
                Some(Change::Device)
            }
            _ => None,
        }
    }

    /// Takes in a change of the addresses of the kernel's interfaces; returns true for a change of this device's.
    pub fn handle_address(&mut self, change: &AddressChange) -> bool {
        let (AddressChange::Is(address) | AddressChange::Gone(address)) = change;
        if address.address.is_ipv4() != self.is_ipv4 {
            return false;
        }
        let has_changed = match change {
            AddressChange::Is(_) => self.addresses.insert(*address),
            AddressChange::Gone(_) => self.addresses.remove(address),
        };
        has_changed && Some(address.interface) == self.index
    }
}
