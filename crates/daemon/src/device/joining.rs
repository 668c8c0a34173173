//! A TUN device with offloads that joins what it sends: successive segments of a TCP connection pass the kernel's network
//! layer as one.

use baton_linux::offload::{Coalescer, OffloadTun, Packets, Segmentation};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// The device, and the segments that wait to be joined.
#[derive(Debug)]
pub struct JoiningTun {
    tun: OffloadTun,
    coalescer: Coalescer,
    /// Packets that the kernel has not taken; joined ones count as one.
    lost: u64,
}

impl JoiningTun {
    /// Creates the device `name` in the calling thread's network namespace.
    ///
    /// # Errors
    /// As for [`OffloadTun::create`].
    pub fn create(name: &str) -> io::Result<JoiningTun> {
        Ok(JoiningTun {
            tun: OffloadTun::create(name)?,
            coalescer: Coalescer::default(),
            lost: 0,
        })
    }

    /// Reads the next packets from the kernel, as [`OffloadTun::receive`].
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn receive<'a>(&self, buffer: &'a mut [u8]) -> io::Result<Option<Packets<'a>>> {
        self.tun.receive(buffer)
    }

    /// Sends a packet, at once or joined with later ones: after the last packet, call [`flush`](Self::flush). `show` gets
    /// what the kernel takes.
    pub fn send(
        &mut self,
        (packet, segmentation): (&[u8], Option<Segmentation>),
        show: &mut impl FnMut(&[u8]),
    ) {
        if segmentation.is_some() {
            self.flush(show);
            self.lost += put(&self.tun, (packet, segmentation), show);
            return;
        }
        let (tun, lost) = (&self.tun, &mut self.lost);
        self.coalescer.add(packet, &mut |bytes, segmentation| {
            *lost += put(tun, (bytes, segmentation), show);
        });
    }

    /// Sends what waits to be joined.
    pub fn flush(&mut self, show: &mut impl FnMut(&[u8])) {
        let (tun, lost) = (&self.tun, &mut self.lost);
        self.coalescer.flush(&mut |bytes, segmentation| {
            *lost += put(tun, (bytes, segmentation), show);
        });
    }

    /// Returns the number of packets that the kernel has not taken.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Returns the number of unreadable frames, as [`OffloadTun::malformed`].
    pub fn malformed(&self) -> u64 {
        self.tun.malformed()
    }
}

/// Passes a packet to the kernel; returns the number of packets lost by that.
fn put(
    tun: &OffloadTun,
    (bytes, segmentation): (&[u8], Option<Segmentation>),
    show: &mut impl FnMut(&[u8]),
) -> u64 {
    match tun.send(bytes, segmentation) {
        Ok(true) => show(bytes),
        _ => return 1,
    }
    0
}

impl AsFd for JoiningTun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.tun.as_fd()
    }
}
