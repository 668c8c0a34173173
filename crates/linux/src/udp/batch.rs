//! Datagrams received by one call.

use nix::sys::socket::{ControlMessageOwned, RecvMsg, SockaddrStorage, cmsg_space};
use std::io;
use std::net::SocketAddr;

/// Bytes that one call may receive at most, the limit of an IP packet.
const RECEIVED_AT_ONCE: usize = 65_536;
/// Control messages of one call: the traffic class and the segments' length, each an int.
const CONTROL_SPACE: usize = 2 * cmsg_space::<i32>();

/// A buffer for the datagrams of one call, reusable for any number of calls.
#[derive(Debug)]
pub struct ReceiveBuffer {
    pub(super) bytes: Vec<u8>,
    pub(super) control: Control,
}

/// A buffer for control messages, which are aligned (cmsg(3)).
#[derive(Debug)]
#[repr(align(8))]
pub(super) struct Control(pub(super) [u8; CONTROL_SPACE]);

/// Datagrams of one sender, received by one call.
#[derive(Debug)]
pub struct Batch<'a> {
    /// Address of the sender.
    pub sender: SocketAddr,
    /// Byte with DSCP (RFC 2474) and ECN (RFC 3168), the same in all datagrams.
    pub traffic_class: u8,
    /// Length of each datagram in bytes; the last one may be shorter.
    pub segment: usize,
    /// Bytes of the datagrams, one after the other.
    pub bytes: &'a mut [u8],
}

impl Default for ReceiveBuffer {
    fn default() -> ReceiveBuffer {
        ReceiveBuffer {
            bytes: vec![0; RECEIVED_AT_ONCE],
            control: Control([0; CONTROL_SPACE]),
        }
    }
}

impl Batch<'_> {
    /// Returns the datagrams one by one, for instance to decrypt each in place. Empty ones are left out.
    pub fn datagrams(&mut self) -> impl Iterator<Item = &mut [u8]> {
        self.bytes.chunks_mut(self.segment.max(1))
    }
}

/// Reads the length of the datagrams in a message, if there are several, and their traffic class.
pub(super) fn described(
    message: &RecvMsg<'_, '_, SockaddrStorage>,
) -> io::Result<(Option<usize>, u8)> {
    let (mut segment, mut traffic_class) = (None, 0);
    for control in message.cmsgs()? {
        match control {
            ControlMessageOwned::UdpGroSegments(length) => segment = usize::try_from(length).ok(),
            ControlMessageOwned::Ipv4Tos(byte) => traffic_class = byte,
            ControlMessageOwned::Ipv6TClass(class) => traffic_class = class as u8,
            _ => {}
        }
    }
    Ok((segment, traffic_class))
}
