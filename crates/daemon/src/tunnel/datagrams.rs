//! Datagrams and packets between sockets and a node.

use crate::capture::{Direction, View};
use baton_linux::udp::{Batch, MOST_BYTES, MOST_DATAGRAMS, ReceiveBuffer, UdpSocket};
use core::net::SocketAddr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Maximum number of datagrams read before the node gets their packets (chosen: as many as one call sends).
pub const MOST_READ: usize = MOST_DATAGRAMS;

/// Sockets of one end of paths, at most one of each IP version.
#[derive(Debug, Default)]
pub struct Sockets {
    v4: Option<Bound>,
    v6: Option<Bound>,
    /// Their view for a capture.
    pub view: View,
}

/// A socket with its configured address.
#[derive(Debug)]
struct Bound {
    socket: UdpSocket,
    local: SocketAddr,
}

impl Sockets {
    /// Opens a socket at each address, which sends by this device only, if given.
    ///
    /// # Errors
    /// The address, and the kernel's message.
    pub fn open(&mut self, local: &[SocketAddr], device: Option<&str>) -> io::Result<()> {
        for &address in local {
            let opened = UdpSocket::open(address, device).and_then(|socket| {
                let local = socket.local_address()?;
                Ok(Bound { socket, local })
            });
            let opened = opened
                .map_err(|error| io::Error::new(error.kind(), format!("UDP {address}: {error}")))?;
            *self.place(address) = Some(opened);
        }
        Ok(())
    }

    /// Sends and takes datagrams without the checksum of UDP, so that damaged ones arrive.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn leave_out_checksums(&self) -> io::Result<()> {
        self.all().try_for_each(UdpSocket::leave_out_checksums)
    }

    /// Closes all sockets.
    pub fn close(&mut self) {
        (self.v4, self.v6) = (None, None);
    }

    /// Returns true if no socket is open.
    pub fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    fn place(&mut self, address: SocketAddr) -> &mut Option<Bound> {
        match address {
            SocketAddr::V4(_) => &mut self.v4,
            SocketAddr::V6(_) => &mut self.v6,
        }
    }

    /// Returns the sockets.
    pub fn all(&self) -> impl Iterator<Item = &UdpSocket> {
        let all = self.v4.iter().chain(&self.v6);
        all.map(|bound| &bound.socket)
    }

    /// Returns the descriptors that become readable when datagrams arrive.
    pub fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.all().map(UdpSocket::as_fd).collect()
    }

    /// Receives the next datagrams of a socket, given by number; `None` if none waits, or there is no such socket.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn receive<'a>(
        &mut self,
        number: usize,
        buffer: &'a mut ReceiveBuffer,
    ) -> io::Result<Option<Batch<'a>>> {
        let Some(bound) = self.v4.iter().chain(&self.v6).nth(number) else {
            return Ok(None);
        };
        let batch = bound.socket.receive(buffer)?;
        if let Some(batch) = &batch {
            let ends = (bound.local, batch.sender);
            let datagrams = (&*batch.bytes, batch.segment);
            self.view
                .show(Direction::Inbound, ends, batch.traffic_class, datagrams);
        }
        Ok(batch)
    }

    /// Returns the number of received datagrams that the kernel dropped.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn dropped_unread(&self) -> io::Result<u64> {
        let dropped = self.all().map(UdpSocket::dropped_unread);
        dropped.map(|dropped| dropped.map(u64::from)).sum()
    }

    fn send(&mut self, to: SocketAddr, traffic_class: u8, bytes: &[u8], segment: usize) -> bool {
        let Some(Bound { socket, local }) = self.place(to) else {
            return false;
        };
        let (local, sent) = (*local, socket.send(to, traffic_class, bytes, segment));
        let is_sent = matches!(sent, Ok(true));
        if is_sent {
            let (ends, datagrams) = ((local, to), (bytes, segment));
            self.view
                .show(Direction::Outbound, ends, traffic_class, datagrams);
        }
        is_sent
    }
}

/// Datagrams to send together: to one address, and of one length except the last.
#[derive(Debug, Default)]
pub struct Outgoing {
    bytes: Vec<u8>,
    /// The address, and the byte of DSCP and ECN.
    to: Option<(SocketAddr, u8)>,
    segment: usize,
    count: usize,
    /// Datagrams not taken by the kernel.
    lost: u64,
}

impl Outgoing {
    /// Adds the datagram that `write` appends to its argument, with the destination that it returns; first sends the
    /// waiting datagrams if this one does not go with them. Returns the value of `write`.
    ///
    /// # Errors
    /// The error of `write`: then there is no datagram.
    pub fn add<T, E>(
        &mut self,
        sockets: &mut Sockets,
        traffic_class: u8,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(SocketAddr, T), E>,
    ) -> Result<T, E> {
        let before = self.bytes.len();
        let (to, written) = write(&mut self.bytes).inspect_err(|_| self.bytes.truncate(before))?;
        let length = self.bytes.len() - before;
        let to = Some((to, traffic_class));
        let is_last_full = before == self.count * self.segment;
        let joins = self.to == to
            && length <= self.segment
            && is_last_full
            && self.count < MOST_DATAGRAMS
            && self.bytes.len() <= MOST_BYTES;
        if !joins {
            self.send(sockets, before);
            self.bytes.drain(..before);
            (self.to, self.segment, self.count) = (to, length, 0);
        }
        self.count += 1;
        Ok(written)
    }

    /// Sends the waiting datagrams, and then each one that `poll` appends to its argument with the destination that it
    /// returns, until `poll` has no more.
    pub fn flush(
        &mut self,
        sockets: &mut Sockets,
        mut poll: impl FnMut(&mut Vec<u8>) -> Option<SocketAddr>,
    ) {
        let mut say = |out: &mut Vec<u8>| Ok((poll(out).ok_or(())?, ()));
        while let Ok::<(), ()>(()) = self.add(sockets, 0, &mut say) {}
        self.send(sockets, self.bytes.len());
        self.bytes.clear();
        (self.to, self.count) = (None, 0);
    }

    fn send(&mut self, sockets: &mut Sockets, length: usize) {
        let Some((to, traffic_class)) = self.to.filter(|_| self.count > 0) else {
            return;
        };
        if !sockets.send(to, traffic_class, &self.bytes[..length], self.segment) {
            self.lost += self.count as u64;
        }
    }

    /// Returns the number of datagrams not taken by the kernel.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}
