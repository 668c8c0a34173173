//! A watch over the addresses of a network namespace's interfaces, whoever sets them: DHCP, PPP, router advertisements
//! (RTM_NEWADDR and RTM_DELADDR).

use crate::monitor::{Change, Monitor};
use crate::netlink::InterfaceIndex;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use std::net::IpAddr;

/// A watch over the usable addresses of one namespace. It first tells of all that there are.
pub type AddressMonitor = Monitor<AddressChange>;

/// RTNLGRP_IPV4_IFADDR and RTNLGRP_IPV6_IFADDR (linux/rtnetlink.h).
const ADDRESS_GROUPS: &[u32] = &[5, 9];

/// An address of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InterfaceAddress {
    /// The interface.
    pub interface: InterfaceIndex,
    /// Its own address; not that of the other end, as PPP has one.
    pub address: IpAddr,
}

/// A change of the addresses from which packets may be sent to other networks: those of a link or of this machine only are not
/// told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressChange {
    /// An address is usable; perhaps it was so before.
    Is(InterfaceAddress),
    /// An address is gone, or deprecated (RFC 4862 section 5.5.4), or another node has it.
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

/// Reads an interface's own address, if it is one for other networks. Only where the two differ is it told as local.
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

/// Tells whether packets may be sent from an address: no other node has it, and it is not about to go.
fn is_usable(message: &AddressMessage) -> bool {
    let unusable = AddressHeaderFlags::Tentative
        | AddressHeaderFlags::Dadfailed
        | AddressHeaderFlags::Deprecated;
    !message.header.flags.intersects(unusable)
}
