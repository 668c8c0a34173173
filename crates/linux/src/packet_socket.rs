//! A packet socket on a device without link-layer addresses (packet(7), SOCK_DGRAM): packets that arrive at the device
//! are read here, and packets written here leave by it, bypassing the kernel's IP.
#![allow(unsafe_code)]

use crate::netlink::InterfaceIndex;
use nix::errno::Errno;
use nix::libc;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// A packet socket bound to one device.
#[derive(Debug)]
pub struct PacketSocket {
    socket: OwnedFd,
    index: InterfaceIndex,
}

impl PacketSocket {
    /// Opens a socket on a device of the calling thread's network namespace. It does not read packets that other
    /// programs send by the device.
    ///
    /// # Errors
    /// No permission (`PermissionDenied`), or no such device.
    pub fn open(index: InterfaceIndex) -> io::Result<PacketSocket> {
        let kind = libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // Protocol 0: nothing is read before the socket is bound to its device.
        // SAFETY: no pointer is passed.
        let socket = Errno::result(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
        // SAFETY: the descriptor was opened here, and has no other owner.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        let ignore: libc::c_int = 1;
        // SAFETY: the option is an int, whose address and length are given.
        Errno::result(unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_IGNORE_OUTGOING,
                (&raw const ignore).cast(),
                size_of_val(&ignore) as libc::socklen_t,
            )
        })?;
        let address = link_address(index, libc::ETH_P_ALL);
        // SAFETY: the address is a whole sockaddr_ll, whose length is given.
        Errno::result(unsafe {
            libc::bind(
                socket.as_raw_fd(),
                (&raw const address).cast(),
                size_of_val(&address) as libc::socklen_t,
            )
        })?;
        Ok(PacketSocket { socket, index })
    }

    /// Reads the next packet that has arrived by the device, its length in `buffer`; `None` if none is queued.
    ///
    /// # Errors
    /// Errors of the kernel, except that the device was switched off.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let read = match nix::unistd::read(&self.socket, buffer) {
            // The device was off since the last call; packets may be queued all the same.
            Err(Errno::ENETDOWN) => nix::unistd::read(&self.socket, buffer),
            read => read,
        };
        match read {
            Ok(length) => Ok(Some(length)),
            Err(Errno::EAGAIN | Errno::ENETDOWN) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends an IP packet by the device; returns false if the device is switched off or its queue is full.
    ///
    /// # Errors
    /// Other errors of the kernel.
    pub fn send(&self, packet: &[u8]) -> io::Result<bool> {
        let sent = match self.try_send(packet) {
            // The device may have been off since the last call, which the kernel reports once.
            Err(Errno::ENETDOWN) => self.try_send(packet),
            sent => sent,
        };
        match sent {
            Ok(_) => Ok(true),
            Err(Errno::ENETDOWN | Errno::ENOBUFS | Errno::EAGAIN) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn try_send(&self, packet: &[u8]) -> nix::Result<isize> {
        let protocol = match packet.first() {
            Some(first) if first >> 4 == 4 => libc::ETH_P_IP,
            _ => libc::ETH_P_IPV6,
        };
        let address = link_address(self.index, protocol);
        // SAFETY: the packet and the address are given with their lengths, and outlive the call.
        Errno::result(unsafe {
            libc::sendto(
                self.socket.as_raw_fd(),
                packet.as_ptr().cast(),
                packet.len(),
                0,
                (&raw const address).cast(),
                size_of_val(&address) as libc::socklen_t,
            )
        })
    }

    /// Returns the number of packets dropped since the last call because the socket's buffer was full.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn take_dropped(&self) -> io::Result<u64> {
        // SAFETY: all-zero is a valid tpacket_stats, two integers.
        let mut statistics: libc::tpacket_stats = unsafe { core::mem::zeroed() };
        let mut length = size_of_val(&statistics) as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes at this address, which outlives the call.
        Errno::result(unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut statistics).cast(),
                &raw mut length,
            )
        })?;
        Ok(u64::from(statistics.tp_drops))
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Returns the address of a protocol at a device without link-layer addresses.
fn link_address(index: InterfaceIndex, protocol: libc::c_int) -> libc::sockaddr_ll {
    libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as libc::c_ushort,
        sll_protocol: (protocol as u16).to_be(),
        sll_ifindex: index as libc::c_int,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    }
}
