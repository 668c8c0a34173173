//! Monitoring of the addresses of a network namespace's interfaces, whoever sets them: DHCP, PPP, router advertisements
//! (RTM_NEWADDR and RTM_DELADDR).

use crate::monitor::{Change, Monitor};
use crate::netlink::InterfaceIndex;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use std::net::IpAddr;

/// A monitor of one namespace's usable addresses. It first reports all existing ones.
pub type AddressMonitor = Monitor<AddressChange>;

/// RTNLGRP_IPV4_IFADDR and RTNLGRP_IPV6_IFADDR (linux/rtnetlink.h).
const ADDRESS_GROUPS: &[u32] = &[5, 9];

/// An address of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InterfaceAddress {
    /// Interface of the address.
    pub interface: InterfaceIndex,
    /// The interface's own address, not that of the peer, which PPP has, too.
    pub address: IpAddr,
}

/// A change of the addresses from which packets may be sent to other networks; link-local and loopback addresses are
/// left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressChange {
    /// A usable address, perhaps reported before.
    Is(InterfaceAddress),
    /// An address that is removed or deprecated (RFC 4862 section 5.5.4), or used by another node.
    Gone(InterfaceAddress),
}

impl Change for AddressChange {
    type Key = InterfaceAddress;
    const GROUPS: &'static [u32] = ADDRESS_GROUPS;

    fn list() -> RouteNetlinkMessage {
        RouteNetlinkMessage::GetAddress(AddressMessage::default())
    }

    fn read(message: RouteNetlinkMessage) -> Option<AddressChange> {
        match message {
            RouteNetlinkMessage::NewAddress(message) => {
                let own = own_address(&message)?;
                Some(if is_usable(&message) {
                    AddressChange::Is(own)
                } else {
                    AddressChange::Gone(own)
                })
            }
            RouteNetlinkMessage::DelAddress(message) => {
                own_address(&message).map(AddressChange::Gone)
            }
            _ => None,
        }
    }

    fn gone(address: InterfaceAddress) -> AddressChange {
        AddressChange::Gone(address)
    }

    fn subject(&self) -> (InterfaceAddress, bool) {
        match self {
            AddressChange::Is(address) => (*address, true),
            AddressChange::Gone(address) => (*address, false),
        }
    }
}

/// Returns an interface's own address, unless it is link-local or loopback. A message has a local address only if it
/// differs from the peer's.
fn own_address(message: &AddressMessage) -> Option<InterfaceAddress> {
    let (mut local, mut address) = (None, None);
    for attribute in &message.attributes {
        match attribute {
            AddressAttribute::Local(own) => local = Some(*own),
            AddressAttribute::Address(own) => address = Some(*own),
            _ => {}
        }
    }
    let address = local.or(address)?;
    let stays_here = match address {
        IpAddr::V4(address) => address.is_loopback() || address.is_link_local(),
        IpAddr::V6(address) => address.is_loopback() || address.is_unicast_link_local(),
    };
    (!stays_here).then_some(InterfaceAddress {
        interface: message.header.index,
        address,
    })
}

/// Returns true if packets may be sent from an address: it is neither a duplicate nor deprecated.
fn is_usable(message: &AddressMessage) -> bool {
    let unusable = AddressHeaderFlags::Tentative
        | AddressHeaderFlags::Dadfailed
        | AddressHeaderFlags::Deprecated;
    !message.header.flags.intersects(unusable)
}
