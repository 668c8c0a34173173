//! A UDP socket for tunnels: of one IP version, optionally bound to one device, with several datagrams in each call
//! (UDP_SEGMENT and UDP_GRO, udp(7)) and the traffic class of each.
//!
//! No datagram is fragmented, here or on its way: each has DF set, whatever path MTU the kernel knows, to allow probing
//! (RFC 8899).

mod batch;
mod options;
mod source;

pub use batch::{Batch, ReceiveBuffer};
pub use source::source_towards;

use batch::described;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, ControlMessage, MsgFlags, SockFlag, SockType, SockaddrStorage, bind,
    getsockname, getsockopt, recvmsg, sendmsg, socket,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Most datagrams sent by one call: the lowest limit of kernels with UDP segmentation (UDP_MAX_SEGMENTS).
pub const MOST_DATAGRAMS: usize = 64;
/// Most bytes sent by one call, which fit an IP packet beside its headers.
pub const MOST_BYTES: usize = 65_000;

/// A non-blocking UDP socket. Several threads may use it at once.
#[derive(Debug)]
pub struct UdpSocket {
    socket: OwnedFd,
    is_ipv4: bool,
    /// False once the kernel has refused segmentation into datagrams.
    segments: AtomicBool,
    unreachable: AtomicU64,
}

impl UdpSocket {
    /// Opens a socket of `local`'s IP version at that address in the calling thread's network namespace. Bound to a
    /// device, it sends and receives by that device only; another socket may then use the same port at another device.
    ///
    /// # Errors
    /// An address in use (`AddrInUse`) or not of this machine (`AddrNotAvailable`), no such device (ENODEV), other
    /// errors of the kernel.
    pub fn open(local: SocketAddr, device: Option<&str>) -> io::Result<UdpSocket> {
        let (family, is_ipv4) = match local {
            SocketAddr::V4(_) => (AddressFamily::Inet, true),
            SocketAddr::V6(_) => (AddressFamily::Inet6, false),
        };
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let socket = socket(family, SockType::Datagram, flags, None)?;
        options::set(&socket, is_ipv4, device)?;
        bind(socket.as_raw_fd(), &SockaddrStorage::from(local))?;
        Ok(UdpSocket {
            socket,
            is_ipv4,
            segments: AtomicBool::new(true),
            unreachable: AtomicU64::new(0),
        })
    }

    /// Sends datagrams without the checksum of UDP, and takes those without one: for links that deliver damaged datagrams
    /// (RFC 6936), whose payload has a code of its own. The kernel then does not segment.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn leave_out_checksums(&self) -> io::Result<()> {
        options::leave_out_checksums(&self.socket, self.is_ipv4)?;
        self.segments.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the socket's address, with the port chosen by the kernel if none was given.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        address_of(Some(&getsockname(self.socket.as_raw_fd())?))
    }

    /// Receives the next datagrams; `None` if none is queued.
    ///
    /// # Errors
    /// Errors of the kernel, except those of the network, which are counted.
    pub fn receive<'a>(&self, buffer: &'a mut ReceiveBuffer) -> io::Result<Option<Batch<'a>>> {
        let ReceiveBuffer { bytes, control } = buffer;
        let descriptor = self.socket.as_raw_fd();
        let (length, sender, segment, traffic_class) = loop {
            let mut place = [IoSliceMut::new(bytes)];
            let control = Some(&mut control.0[..]);
            match recvmsg::<SockaddrStorage>(descriptor, &mut place, control, MsgFlags::empty()) {
                Ok(message) => {
                    let (segment, traffic_class) = described(&message)?;
                    break (message.bytes, message.address, segment, traffic_class);
                }
                Err(Errno::EAGAIN) => return Ok(None),
                Err(error) => self.count(error)?,
            }
        };
        Ok(Some(Batch {
            sender: address_of(sender.as_ref())?,
            traffic_class,
            segment: segment.unwrap_or(length),
            bytes: &mut bytes[..length],
        }))
    }

    /// Sends the consecutive datagrams in `datagrams`, each `segment` bytes long, the last one possibly shorter: at
    /// most [`MOST_DATAGRAMS`] and [`MOST_BYTES`] in all. Returns false if some were not sent: the socket has no room
    /// for them, or the network is unreachable, which is counted.
    ///
    /// # Errors
    /// EMSGSIZE if they exceed the device's MTU; too many datagrams (`InvalidInput`); other errors of the kernel.
    pub fn send(
        &self,
        to: SocketAddr,
        traffic_class: u8,
        datagrams: &[u8],
        segment: usize,
    ) -> io::Result<bool> {
        let (length, most) = (datagrams.len(), segment.saturating_mul(MOST_DATAGRAMS));
        if length > most.min(MOST_BYTES) {
            let what = format!(
                "{length} bytes in datagrams of {segment}; expected at most {MOST_DATAGRAMS} datagrams and {MOST_BYTES} bytes"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let to = SockaddrStorage::from(to);
        if length <= segment {
            return self.send_at_once(&to, traffic_class, datagrams, None);
        }
        if self.segments.load(Ordering::Relaxed) {
            let sent = self.send_at_once(&to, traffic_class, datagrams, Some(segment as u16));
            match sent {
                // Older kernels return EINVAL for datagrams that are too long, too: single sends distinguish the cases.
                Err(error) if refuses_segments(&error) => {}
                sent => return sent,
            }
        }
        let mut sent = true;
        for datagram in datagrams.chunks(segment) {
            sent &= self.send_at_once(&to, traffic_class, datagram, None)?;
        }
        if sent {
            self.segments.store(false, Ordering::Relaxed);
        }
        Ok(sent)
    }

    fn send_at_once(
        &self,
        to: &SockaddrStorage,
        traffic_class: u8,
        bytes: &[u8],
        segment: Option<u16>,
    ) -> io::Result<bool> {
        let class = i32::from(traffic_class);
        let class = match self.is_ipv4 {
            true => ControlMessage::Ipv4Tos(&traffic_class),
            false => ControlMessage::Ipv6TClass(&class),
        };
        let with_segment = segment.as_ref().map(ControlMessage::UdpGsoSegments);
        let control = [class, with_segment.unwrap_or(class)];
        let control = &control[..1 + usize::from(segment.is_some())];
        let parts = [IoSlice::new(bytes)];
        let descriptor = self.socket.as_raw_fd();
        match sendmsg(descriptor, &parts, control, MsgFlags::empty(), Some(to)) {
            Ok(_) => Ok(true),
            Err(Errno::EAGAIN | Errno::ENOBUFS) => Ok(false),
            Err(error) => self.count(error).map(|()| false),
        }
    }

    /// Returns the number of errors by which the kernel reported an unreachable or forbidden network, host or port.
    pub fn unreachable(&self) -> u64 {
        self.unreachable.load(Ordering::Relaxed)
    }

    /// Returns the number of times since the socket was opened that the kernel dropped arrived data, mostly for lack of
    /// room: datagrams, or several of one sender at once. The count wraps at 2^32.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn dropped_unread(&self) -> io::Result<u32> {
        Ok(getsockopt(&self.socket, options::MemoryInformation)?[options::DROPS])
    }

    /// Counts a network error; any other error is returned.
    fn count(&self, error: Errno) -> io::Result<()> {
        match error {
            Errno::ECONNREFUSED
            | Errno::ENETUNREACH
            | Errno::EHOSTUNREACH
            | Errno::ENETDOWN
            | Errno::EHOSTDOWN
            | Errno::EADDRNOTAVAIL
            | Errno::ENODEV
            | Errno::ENXIO
            // A packet filter forbids it.
            | Errno::EPERM
            | Errno::EACCES => {
                self.unreachable.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            Errno::EINTR => Ok(()),
            error => Err(error.into()),
        }
    }
}

impl AsFd for UdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn address_of(address: Option<&SockaddrStorage>) -> io::Result<SocketAddr> {
    let ipv4 = address.and_then(|address| address.as_sockaddr_in());
    let ipv6 = address.and_then(|address| address.as_sockaddr_in6());
    match (ipv4, ipv6) {
        (Some(address), _) => Ok(SocketAddrV4::from(*address).into()),
        (_, Some(address)) => Ok(SocketAddrV6::from(*address).into()),
        (None, None) => Err(io::Error::other(
            "a UDP socket's address is neither IPv4 nor IPv6",
        )),
    }
}

/// Returns true if the kernel refuses segmentation into datagrams, as with a device without checksum offload.
fn refuses_segments(error: &io::Error) -> bool {
    let refusals = [Errno::EIO, Errno::EINVAL].map(|errno| errno as i32);
    error
        .raw_os_error()
        .is_some_and(|error| refusals.contains(&error))
}
