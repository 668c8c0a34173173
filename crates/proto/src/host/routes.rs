//! Where packets go: routes to single addresses, and one for all others.

use super::InterfaceId;
use core::net::IpAddr;
use std::collections::BTreeMap;

/// A routing table.
#[derive(Clone, Debug, Default)]
pub struct RouteTable {
    /// By address as a number, of which a comparison takes an instruction or two.
    hosts: BTreeMap<u128, InterfaceId>,
    default: Option<InterfaceId>,
}

impl RouteTable {
    /// Sends packets for `destination` out of `interface`.
    pub fn set(&mut self, destination: IpAddr, interface: InterfaceId) {
        self.hosts.insert(number(destination), interface);
    }

    /// Sends packets without a route of their own out of `interface`, or nowhere.
    pub fn set_default(&mut self, interface: Option<InterfaceId>) {
        self.default = interface;
    }

    /// Sends out of interface `to` all that would go out of `from`.
    pub fn redirect(&mut self, from: InterfaceId, to: InterfaceId) {
        let all = self.hosts.values_mut().chain(self.default.as_mut());
        all.filter(|interface| **interface == from)
            .for_each(|interface| *interface = to);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = RouteTable::default();
    }

    /// Where a packet for `destination` goes.
    pub fn lookup(&self, destination: IpAddr) -> Option<InterfaceId> {
        if self.hosts.is_empty() {
            return self.default;
        }
        self.hosts
            .get(&number(destination))
            .copied()
            .or(self.default)
    }
}

/// An address of either version as one number: IPv4's among IPv6's multicast groups, to which no route leads.
fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::MAX - u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    }
}
