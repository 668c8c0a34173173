//! A TUN device: what the kernel routes to it is read here as IP packets, and what is written here the kernel
//! takes in. No offloads: a packet is what would stand on the wire. With them, it is [`crate::offload`].
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
        /// Makes an interface, or attaches to one.
        attach_to_interface,
        b'T',
        202
    );
}

/// Longest name of an interface, in bytes.
const LONGEST_NAME: usize = libc::IFNAMSIZ - 1;

/// A TUN device of this process. It goes with its last descriptor.
#[derive(Debug)]
pub struct Tun {
    device: OwnedFd,
}

impl Tun {
    /// Makes the device `name` in the calling thread's network namespace.
    ///
    /// # Errors
    /// No TUN driver (`NotFound`), no right (`PermissionDenied`), or a name that is taken or too long.
    pub fn create(name: &str) -> io::Result<Tun> {
        let device = make_interface(name, libc::IFF_TUN | libc::IFF_NO_PI)?;
        Ok(Tun { device })
    }

    /// Reads the next packet that the kernel has sent, its length in `buffer`; `None` if none waits.
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

    /// Hands a packet to the kernel; returns true if it was taken: an interface that is switched off takes none, nor one that has
    /// no room.
    ///
    /// # Errors
    /// Errors of the kernel, apart from these.
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

/// Makes an interface, of the kind that the flags name (linux/if_tun.h), and returns the device behind it.
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

/// Makes an interface's name of a link's: at most 15 bytes, none of which the kernel forbids, and other than `taken`.
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
