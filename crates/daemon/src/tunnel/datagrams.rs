//! Datagrams and packets on their way between sockets and a node.

use baton_linux::udp::{MOST_BYTES, MOST_DATAGRAMS, UdpSocket};
use core::net::SocketAddr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Datagrams after which the node gets what has come (chosen: as many as one call sends).
pub const MOST_READ: usize = MOST_DATAGRAMS;

/// Sockets of one end of paths, at most one of each IP version.
#[derive(Debug, Default)]
pub struct Sockets {
    v4: Option<UdpSocket>,
    v6: Option<UdpSocket>,
}

impl Sockets {
    /// Opens a socket at each address, which sends by this device only, if one is named.
    ///
    /// # Errors
    /// The address, and the words of the kernel.
    pub fn open(local: &[SocketAddr], device: Option<&str>) -> io::Result<Sockets> {
        let mut sockets = Sockets::default();
        for &address in local {
            let opened = UdpSocket::open(address, device);
            let opened = opened
                .map_err(|error| io::Error::new(error.kind(), format!("UDP {address}: {error}")))?;
            match address {
                SocketAddr::V4(_) => sockets.v4 = Some(opened),
                SocketAddr::V6(_) => sockets.v6 = Some(opened),
            }
        }
        Ok(sockets)
    }

    /// Returns the sockets.
    pub fn all(&self) -> impl Iterator<Item = &UdpSocket> {
        self.v4.iter().chain(&self.v6)
    }

    /// Returns what becomes readable when datagrams come.
    pub fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.all().map(UdpSocket::as_fd).collect()
    }

    /// Returns how often the kernel dropped datagrams that had come.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn dropped_unread(&self) -> io::Result<u64> {
        let dropped = self.all().map(UdpSocket::dropped_unread);
        dropped.map(|dropped| dropped.map(u64::from)).sum()
    }

    fn send(&self, to: SocketAddr, traffic_class: u8, bytes: &[u8], segment: usize) -> bool {
        let socket = match to {
            SocketAddr::V4(_) => &self.v4,
            SocketAddr::V6(_) => &self.v6,
        };
        let sent = socket
            .as_ref()
            .map(|socket| socket.send(to, traffic_class, bytes, segment));
        matches!(sent, Some(Ok(true)))
    }
}

/// Datagrams to be sent together: to one address, of one length, but for the last.
#[derive(Debug, Default)]
pub struct Outgoing {
    bytes: Vec<u8>,
    /// The address, and the byte of DSCP and ECN.
    to: Option<(SocketAddr, u8)>,
    segment: usize,
    count: usize,
    /// Datagrams that the kernel did not take.
    lost: u64,
}

impl Outgoing {
    /// Adds the datagram that `write` appends to its argument, and whose destination it returns with a value; what cannot be sent
    /// together with it is sent before. Returns the value.
    ///
    /// # Errors
    /// The error of `write`: then there is no datagram.
    pub fn add<T, E>(
        &mut self,
        sockets: &Sockets,
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

    /// Sends what waits, and behind it each datagram that `poll` appends to its argument and whose destination it returns, until it
    /// has no more.
    pub fn flush(
        &mut self,
        sockets: &Sockets,
        mut poll: impl FnMut(&mut Vec<u8>) -> Option<SocketAddr>,
    ) {
        let mut say = |out: &mut Vec<u8>| Ok((poll(out).ok_or(())?, ()));
        while let Ok::<(), ()>(()) = self.add(sockets, 0, &mut say) {}
        self.send(sockets, self.bytes.len());
        self.bytes.clear();
        (self.to, self.count) = (None, 0);
    }

    fn send(&mut self, sockets: &Sockets, length: usize) {
        let Some((to, traffic_class)) = self.to.filter(|_| self.count > 0) else {
            return;
        };
        if !sockets.send(to, traffic_class, &self.bytes[..length], self.segment) {
            self.lost += self.count as u64;
        }
    }

    /// Returns the number of datagrams that the kernel did not take.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}
