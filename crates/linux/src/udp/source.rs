//! The source address of datagrams.

use nix::libc;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, connect, getsockname, setsockopt, socket,
    sockopt,
};
use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;

/// Returns the source address of this machine's datagrams to `remote`, by a device if one is given: the kernel chooses
/// it by its routes, and nothing is sent.
///
/// # Errors
/// No route or no address (ENETUNREACH), no such device (ENODEV), other errors of the kernel.
pub fn source_towards(remote: SocketAddr, device: Option<&str>) -> io::Result<IpAddr> {
    let family = match remote {
        SocketAddr::V4(_) => AddressFamily::Inet,
        SocketAddr::V6(_) => AddressFamily::Inet6,
    };
    let socket = socket(family, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    if let Some(device) = device {
        setsockopt(&socket, sockopt::BindToDevice, &OsString::from(device))?;
    }
    connect(socket.as_raw_fd(), &SockaddrStorage::from(remote))?;
    let local = super::address_of(Some(&getsockname(socket.as_raw_fd())?))?.ip();
    match local.is_unspecified() {
        true => Err(io::Error::from_raw_os_error(libc::ENETUNREACH)),
        false => Ok(local),
    }
}
