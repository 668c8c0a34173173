//! Monitoring of the interfaces of a network namespace and their states (RTM_NEWLINK and RTM_DELLINK).

use crate::monitor::{Change, Monitor};
use crate::netlink::{InterfaceIndex, Link};
use netlink_packet_route::link::LinkMessage;
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

/// A monitor of one namespace's interfaces. It first reports all existing ones.
pub type LinkMonitor = Monitor<LinkChange>;

/// RTNLGRP_LINK (linux/rtnetlink.h).
const LINK_GROUP: u32 = 1;

/// A change of the interfaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkChange {
    /// An interface with its description, perhaps reported before.
    Is(Link),
    /// An interface that was removed, or moved to another namespace.
    Gone(InterfaceIndex),
}

impl Change for LinkChange {
    type Key = InterfaceIndex;
    const GROUPS: &'static [u32] = &[LINK_GROUP];

    fn list() -> RouteNetlinkMessage {
        RouteNetlinkMessage::GetLink(LinkMessage::default())
    }

    // Bridges report their ports by the same messages, in another address family.
    fn read(message: RouteNetlinkMessage) -> Option<LinkChange> {
        match message {
            RouteNetlinkMessage::NewLink(message)
                if message.header.interface_family == AddressFamily::Unspec =>
            {
                Link::of(&message).map(LinkChange::Is)
            }
            RouteNetlinkMessage::DelLink(message)
                if message.header.interface_family == AddressFamily::Unspec =>
            {
                Some(LinkChange::Gone(message.header.index))
            }
            _ => None,
        }
    }

    fn gone(index: InterfaceIndex) -> LinkChange {
        LinkChange::Gone(index)
    }

    fn subject(&self) -> (InterfaceIndex, bool) {
        match self {
            LinkChange::Is(link) => (link.index, true),
            LinkChange::Gone(index) => (*index, false),
        }
    }
}
