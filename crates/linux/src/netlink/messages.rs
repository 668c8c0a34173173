//! Messages of route netlink: requests to the kernel as bytes, and its answers.

use super::InterfaceIndex;
use netlink_packet_core::{NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use std::io;

/// An interface as the kernel describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Interface number.
    pub index: InterfaceIndex,
    /// Interface name.
    pub name: String,
    /// True if packets pass: it is switched on, and has a carrier (IFF_UP and IFF_RUNNING; Documentation/networking/operstates.rst).
    pub is_up: bool,
    /// Largest packet, in bytes.
    pub mtu: u32,
    /// True if nodes have addresses on this link, as on Ethernet.
    pub has_link_address: bool,
}

impl Link {
    /// Reads a description; `None` from a message about anything but the interface itself.
    pub(crate) fn of(message: &LinkMessage) -> Option<Link> {
        let (mut name, mut mtu, mut has_link_address) = (None, None, false);
        for attribute in &message.attributes {
            match attribute {
                LinkAttribute::IfName(given) => name = Some(given.clone()),
                LinkAttribute::Mtu(bytes) => mtu = Some(*bytes),
                LinkAttribute::Address(address) => has_link_address = !address.is_empty(),
                _ => {}
            }
        }
        Some(Link {
            index: message.header.index,
            name: name?,
            is_up: (message.header.flags).contains(LinkFlags::Up | LinkFlags::Running),
            mtu: mtu?,
            has_link_address,
        })
    }
}

/// Writes a request.
pub(crate) fn request(message: RouteNetlinkMessage, flags: u16, sequence: u32) -> Vec<u8> {
    let mut header = NetlinkHeader::default();
    header.flags = flags;
    header.sequence_number = sequence;
    let mut request = NetlinkMessage::new(header, NetlinkPayload::from(message));
    request.finalize();
    let mut bytes = vec![0; request.buffer_len()];
    request.serialize(&mut bytes);
    bytes
}

/// A part of a message from the kernel.
pub(crate) enum Answer {
    /// A notification, or the requested description.
    Message(RouteNetlinkMessage),
    /// Success of the request, or the end of the list.
    Done,
    /// Refusal of the request.
    Failed(io::Error),
}

/// Reads the parts of a message, each with the sequence number of its request.
pub(crate) fn parts(message: &[u8]) -> impl Iterator<Item = io::Result<(u32, Answer)>> {
    let mut rest = message;
    core::iter::from_fn(move || {
        while !rest.is_empty() {
            let part = match NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest) {
                Ok(part) => part,
                Err(error) => {
                    rest = &[];
                    return Some(Err(io::Error::other(format!("route netlink: {error}"))));
                }
            };
            let length = (part.header.length as usize).next_multiple_of(4);
            rest = rest.get(length.max(16)..).unwrap_or_default();
            let answer = match part.payload {
                NetlinkPayload::Error(error) if error.code.is_some() => {
                    Answer::Failed(error.to_io())
                }
                NetlinkPayload::Error(_) | NetlinkPayload::Done(_) => Answer::Done,
                NetlinkPayload::InnerMessage(message) => Answer::Message(message),
                _ => continue,
            };
            return Some(Ok((part.header.sequence_number, answer)));
        }
        None
    })
}
