//! A TUN device: packets that the kernel routes to it are read here, and packets written here go to the kernel. Without
//! offloads, for which see [`crate::offload`]: each packet is as on the wire.
#![allow(unsafe_code)]

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::libc;
use nix::sys::stat::Mode;
use nix::unistd::{read, write};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

mod request {
    // TUNSETIFF (linux/if_tun.h).
    nix::ioctl_write_int!(
        /// Creates an interface, or attaches to one.
        attach_to_interface,
        b'T',
        202
    );
}

/// Longest name of an interface, in bytes.
const LONGEST_NAME: usize = libc::IFNAMSIZ - 1;

/// A TUN device of this process. It exists as long as its last descriptor.
#[derive(Debug)]
pub struct Tun {
    device: OwnedFd,
}

impl Tun {
    /// Creates the device `name` in the calling thread's network namespace.
    ///
    /// # Errors
    /// No TUN driver (`NotFound`), no permission (`PermissionDenied`), or a name in use or too long.
    pub fn create(name: &str) -> io::Result<Tun> {
        let device = make_interface(name, libc::IFF_TUN | libc::IFF_NO_PI)?;
        Ok(Tun { device })
    }

    /// Reads the next packet from the kernel into `buffer`, and returns its length; `None` if none is queued.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match read(&self.device, buffer) {
            Ok(length) => Ok(Some(length)),
            Err(Errno::EAGAIN) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends a packet to the kernel; returns true if it was accepted. An interface that is switched off or has no room
    /// accepts none.
    ///
    /// # Errors
    /// Other errors of the kernel.
    pub fn send(&self, packet: &[u8]) -> io::Result<bool> {
        match write(&self.device, packet) {
            Ok(_) => Ok(true),
            Err(Errno::EIO | Errno::ENETDOWN | Errno::EINVAL | Errno::EAGAIN) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

/// Creates an interface of the kind given by the flags (linux/if_tun.h), and returns the device behind it.
pub(crate) fn make_interface(name: &str, flags: libc::c_int) -> io::Result<OwnedFd> {
    if name.is_empty() || name.len() > LONGEST_NAME {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mode = OFlag::O_RDWR | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let device = open("/dev/net/tun", mode, Mode::empty())?;
    // SAFETY: all-zero is a valid `ifreq`, a plain structure of integers.
    let mut wanted: libc::ifreq = unsafe { core::mem::zeroed() };
    for (place, byte) in wanted.ifr_name.iter_mut().zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
    wanted.ifr_ifru.ifru_flags = flags as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes an `ifreq` at this address, which outlives the call.
    unsafe { request::attach_to_interface(device.as_raw_fd(), &raw mut wanted as libc::c_ulong) }?;
    Ok(device)
}

/// Returns an interface name for a link: at most 15 bytes, without characters that the kernel forbids, and not in
/// `taken`.
pub fn interface_name(link: &str, taken: &[String]) -> String {
    let mut name: String = link
        .chars()
        .filter(|character| character.is_ascii_alphanumeric() || "-_".contains(*character))
        .take(LONGEST_NAME)
        .collect();
    if name.is_empty() || name == "lo" {
        name = "link".to_owned();
    }
    for number in 2.. {
        if !taken.contains(&name) {
            break;
        }
        let suffix = format!("-{number}");
        name.truncate(LONGEST_NAME - suffix.len());
        name.push_str(&suffix);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_the_kernel_and_differ() {
        let mut taken = Vec::new();
        for link in [
            "satellite",
            "a-very-long-link-name",
            "a-very-long-link-nose",
            "lo",
            "é/",
        ] {
            let name = interface_name(link, &taken);
            assert!((1..=15).contains(&name.len()), "{name}");
            assert!(!taken.contains(&name) && name != "lo");
            taken.push(name);
        }
        assert_eq!(taken[0], "satellite");
        assert_eq!(taken[1], "a-very-long-lin");
        assert_eq!(taken[2], "a-very-long-l-2");
    }
}
