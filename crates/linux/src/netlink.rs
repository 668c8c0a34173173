//! A namespace's interfaces, addresses, routes and rules, through the kernel's route netlink (rtnetlink(7)).
//!
//! A socket stays in the namespace in which it was opened, so that one opened at the start can be used from any thread.
//! A handover costs the forwarding thread some tens of microseconds.

mod messages;
mod routes;

pub use messages::Link;
pub(crate) use messages::{Answer, parts, request};
pub use routes::{MAIN_TABLE, Prefix, Route, Rule, Way};

use netlink_packet_core::{NLM_F_ACK, NLM_F_CREATE, NLM_F_REPLACE, NLM_F_REQUEST};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::RouteMetric;
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use nix::errno::Errno;
use std::io;
use std::net::IpAddr;

/// An interface by the kernel's number.
pub type InterfaceIndex = u32;

/// Packets dropped by an interface since its creation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterfaceCounters {
    /// Packets that the kernel could not queue for the reader of the device.
    pub dropped_outgoing: u64,
    /// Packets that the kernel could not accept.
    pub dropped_incoming: u64,
}

/// A route netlink socket of one namespace.
pub struct RouteSocket {
    socket: Socket,
    sequence: u32,
}

impl RouteSocket {
    /// Opens a socket in the calling thread's network namespace.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn open() -> io::Result<RouteSocket> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(RouteSocket {
            socket,
            sequence: 0,
        })
    }

    /// Switches an interface on or off.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn set_up(&mut self, interface: InterfaceIndex, up: bool) -> io::Result<()> {
        self.change_link(interface, Some(up), Vec::new())
    }

    /// Sets an interface's largest packet, in bytes.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn set_mtu(&mut self, interface: InterfaceIndex, mtu: u32) -> io::Result<()> {
        self.change_link(interface, None, vec![LinkAttribute::Mtu(mtu)])
    }

    /// Sets the most packets queued for the reader of the device.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn set_queue_length(&mut self, interface: InterfaceIndex, packets: u32) -> io::Result<()> {
        let attributes = vec![LinkAttribute::TxQueueLen(packets)];
        self.change_link(interface, None, attributes)
    }

    fn change_link(
        &mut self,
        interface: InterfaceIndex,
        up: Option<bool>,
        attributes: Vec<LinkAttribute>,
    ) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = interface;
        if let Some(up) = up {
            message.header.change_mask = LinkFlags::Up;
            message.header.flags = if up {
                LinkFlags::Up
            } else {
                LinkFlags::empty()
            };
        }
        message.attributes = attributes;
        self.request(RouteNetlinkMessage::SetLink(message), 0)
    }

    /// Gives an interface an address of its own, without a network around it. An IPv6 address is used at once, without
    /// duplicate address detection, since no other node can have it here.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn add_address(&mut self, interface: InterfaceIndex, address: IpAddr) -> io::Result<()> {
        let mut message = address_message(interface, address);
        if address.is_ipv6() {
            message.header.flags = AddressHeaderFlags::Nodad;
        }
        self.request(
            RouteNetlinkMessage::NewAddress(message),
            NLM_F_CREATE | NLM_F_REPLACE,
        )
    }

    /// Removes an address from an interface, if it is there.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn delete_address(&mut self, interface: InterfaceIndex, address: IpAddr) -> io::Result<()> {
        let message = address_message(interface, address);
        let deleted = self.request(RouteNetlinkMessage::DelAddress(message), 0);
        unless(Errno::EADDRNOTAVAIL, deleted)
    }

    /// Sends everything of `source`'s IP version out of an interface, with `source` as the default source address.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn set_default_route(
        &mut self,
        interface: InterfaceIndex,
        source: IpAddr,
        metrics: &[RouteMetric],
    ) -> io::Result<()> {
        self.set_route(&Route {
            destination: Prefix::all(source),
            table: MAIN_TABLE,
            metric: 1,
            way: Way::Device {
                interface,
                source: Some(source),
                metrics,
            },
        })
    }

    /// Returns the description of the interface with a name.
    ///
    /// # Errors
    /// Errors of the kernel: without such an interface ENODEV.
    pub fn link(&mut self, name: &str) -> io::Result<Link> {
        let mut message = LinkMessage::default();
        message.attributes = vec![LinkAttribute::IfName(name.to_owned())];
        let mut found = None;
        self.exchange(RouteNetlinkMessage::GetLink(message), NLM_F_ACK, |answer| {
            if let RouteNetlinkMessage::NewLink(link) = answer {
                found = Link::of(&link);
            }
        })?;
        found.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Returns the packets dropped by an interface.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn counters(&mut self, interface: InterfaceIndex) -> io::Result<InterfaceCounters> {
        let mut message = LinkMessage::default();
        message.header.index = interface;
        let mut counters = InterfaceCounters::default();
        self.exchange(RouteNetlinkMessage::GetLink(message), NLM_F_ACK, |answer| {
            if let RouteNetlinkMessage::NewLink(link) = answer {
                for attribute in &link.attributes {
                    if let LinkAttribute::Stats64(stats) = attribute {
                        counters.dropped_outgoing = stats.tx_dropped;
                        counters.dropped_incoming = stats.rx_dropped;
                    }
                }
            }
        })?;
        Ok(counters)
    }

    fn request(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.exchange(message, NLM_F_ACK | flags, |_| ())
    }

    /// Sends a request and takes in its answers up to the netlink acknowledgment.
    fn exchange(
        &mut self,
        message: RouteNetlinkMessage,
        flags: u16,
        mut take: impl FnMut(RouteNetlinkMessage),
    ) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let bytes = request(message, NLM_F_REQUEST | flags, self.sequence);
        self.socket.send(&bytes, 0)?;
        loop {
            let (message, _) = self.socket.recv_from_full()?;
            for part in parts(&message) {
                let (sequence, answer) = part?;
                match answer {
                    _ if sequence != self.sequence => {}
                    Answer::Failed(error) => return Err(error),
                    Answer::Done => return Ok(()),
                    Answer::Message(message) => take(message),
                }
            }
        }
    }
}

/// Treats one error, for a state that already exists, as success.
fn unless(known: Errno, result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.raw_os_error() == Some(known as i32) => Ok(()),
        other => other,
    }
}

fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}

fn address_message(interface: InterfaceIndex, address: IpAddr) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header.family = family(address);
    message.header.prefix_len = if address.is_ipv4() { 32 } else { 128 };
    message.header.index = interface;
    message.attributes = vec![AddressAttribute::Local(address)];
    message.attributes.push(AddressAttribute::Address(address));
    message
}
