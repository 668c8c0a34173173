//! A TUN device with offloads: the kernel leaves segmentation and checksums of TCP and UDP to this process, and accepts
//! many packets of a TCP connection as one. Each such packet passes the kernel's network layer once, whatever its
//! length.
#![allow(unsafe_code)]

mod checksum;
mod coalesce;
mod headers;
mod split;
mod virtio;

pub use coalesce::Coalescer;
pub use split::{Packets, Segmentation};

use crate::tun::make_interface;
use nix::errno::Errno;
use nix::libc;
use nix::sys::uio::writev;
use nix::unistd::read;
use split::Plan;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

mod request {
    // TUNSETOFFLOAD (linux/if_tun.h).
    nix::ioctl_write_int!(
        /// Sets the offloads that the process behind the device performs.
        set_offload,
        b'T',
        208
    );
}

/// Longest frame of a device: a header, and the longest IP packet.
pub const LONGEST_FRAME: usize = virtio::LENGTH + 65_535;

/// Checksums, and segmentation of TCP, also with congestion marks (RFC 3168).
const TCP: libc::c_uint =
    libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
/// Segmentation of UDP, from Linux 6.2 on.
const UDP: libc::c_uint = libc::TUN_F_USO4 | libc::TUN_F_USO6;

/// Reads a frame of a device: a header with the segmentation (`struct virtio_net_hdr`, linux/virtio_net.h), and an IP
/// packet; `None` if the header does not fit the packet.
pub fn read_frame(frame: &mut [u8]) -> Option<Packets<'_>> {
    let plan = Plan::read(frame)?;
    Some(Packets::new(frame.get(virtio::LENGTH..)?, plan))
}

/// A TUN device with offloads. It exists as long as its last descriptor. Several threads may use it at once.
#[derive(Debug)]
pub struct OffloadTun {
    device: OwnedFd,
    malformed: AtomicU64,
}

impl OffloadTun {
    /// Creates the device `name` in the calling thread's network namespace.
    ///
    /// # Errors
    /// No TUN driver (`NotFound`), no permission (`PermissionDenied`), or a name in use or too long.
    pub fn create(name: &str) -> io::Result<OffloadTun> {
        let flags = libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
        let device = make_interface(name, flags)?;
        let set = |offloads: libc::c_uint| {
            // SAFETY: TUNSETOFFLOAD takes a number.
            unsafe { request::set_offload(device.as_raw_fd(), offloads.into()) }
        };
        match set(TCP | UDP) {
            Err(Errno::EINVAL) => set(TCP)?,
            done => done?,
        };
        Ok(OffloadTun {
            device,
            malformed: AtomicU64::new(0),
        })
    }

    /// Reads the next packets from the kernel, all with the same headers; `None` if none is queued. The buffer needs at
    /// least [`LONGEST_FRAME`] bytes.
    ///
    /// # Errors
    /// A shorter buffer (`InvalidInput`), errors of the kernel.
    pub fn receive<'a>(&self, buffer: &'a mut [u8]) -> io::Result<Option<Packets<'a>>> {
        if buffer.len() < LONGEST_FRAME {
            let what = format!(
                "a buffer of {} bytes; expected at least {LONGEST_FRAME}",
                buffer.len()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let (length, plan) = loop {
            let length = match read(&self.device, &mut *buffer) {
                Ok(length) => length,
                Err(Errno::EAGAIN) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            match Plan::read(&mut buffer[..length]) {
                Some(plan) => break (length, plan),
                None => self.malformed.fetch_add(1, Ordering::Relaxed),
            };
        };
        Ok(Some(Packets::new(&buffer[virtio::LENGTH..length], plan)))
    }

    /// Sends a packet to the kernel, with its checksums unless it is to be segmented; returns true if it was accepted.
    /// An interface that is switched off or has no room accepts none.
    ///
    /// # Errors
    /// Other errors of the kernel.
    pub fn send(&self, packet: &[u8], segmentation: Option<Segmentation>) -> io::Result<bool> {
        let header = segmentation.map(|segmentation| virtio::Header::of(packet, segmentation));
        let header = header.map_or([0; virtio::LENGTH], virtio::Header::write);
        let parts = [IoSlice::new(&header), IoSlice::new(packet)];
        match writev(&self.device, &parts) {
            Ok(_) => Ok(true),
            Err(Errno::EIO | Errno::ENETDOWN | Errno::EINVAL | Errno::EAGAIN) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the number of the kernel's frames dropped because of headers without valid segmentation: programs can
    /// pass such frames to a device, bypassing the kernel's IP.
    pub fn malformed(&self) -> u64 {
        self.malformed.load(Ordering::Relaxed)
    }
}

impl AsFd for OffloadTun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}
