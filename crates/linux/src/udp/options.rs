//! Options of a UDP socket for tunnels (socket(7), ip(7), ipv6(7), udp(7)).
#![allow(unsafe_code)]

use nix::libc;
use nix::sys::socket::{setsockopt, sockopt};
use nix::{getsockopt_impl, setsockopt_impl, sockopt_impl};
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;

/// Size of the socket's buffers, in bytes: an eighth of a second at 500 Mbit/s.
const BUFFER: usize = 8 << 20;
/// Count of the kernel's numbers about a socket's memory (SK_MEMINFO_VARS, linux/sock_diag.h).
const MEMORY_NUMBERS: usize = 9;
/// Index of the number of dropped datagrams among them (SK_MEMINFO_DROPS).
pub(super) const DROPS: usize = 8;

/// Numbers of options (linux/udp.h).
const UDP_NO_CHECK6_TX: libc::c_int = 101;
const UDP_NO_CHECK6_RX: libc::c_int = 102;

sockopt_impl!(
    /// DF setting for IPv4.
    Ipv4MtuDiscovery,
    SetOnly,
    libc::IPPROTO_IP,
    libc::IP_MTU_DISCOVER,
    libc::c_int
);
sockopt_impl!(
    /// DF setting for IPv6, which has no such bit: no fragments.
    Ipv6MtuDiscovery,
    SetOnly,
    libc::IPPROTO_IPV6,
    libc::IPV6_MTU_DISCOVER,
    libc::c_int
);
sockopt_impl!(
    /// Numbers about the socket's memory and its drops. Unlike SO_RXQ_OVFL, they are available at any time.
    MemoryInformation,
    GetOnly,
    libc::SOL_SOCKET,
    libc::SO_MEMINFO,
    [u32; MEMORY_NUMBERS]
);

sockopt_impl!(
    /// Datagrams over IPv4 without a checksum (RFC 768 permits it).
    Ipv4WithoutChecksum,
    SetOnly,
    libc::SOL_SOCKET,
    libc::SO_NO_CHECK,
    bool
);
sockopt_impl!(
    /// Datagrams sent over IPv6 without a checksum (RFC 6936).
    Ipv6SendWithoutChecksum,
    SetOnly,
    libc::IPPROTO_UDP,
    UDP_NO_CHECK6_TX,
    bool
);
sockopt_impl!(
    /// Datagrams received over IPv6 without a checksum (RFC 6936).
    Ipv6ReceiveWithoutChecksum,
    SetOnly,
    libc::IPPROTO_UDP,
    UDP_NO_CHECK6_RX,
    bool
);

/// Sends datagrams without a checksum, and takes those without one, so that damaged ones arrive.
pub(super) fn leave_out_checksums(socket: &OwnedFd, is_ipv4: bool) -> io::Result<()> {
    if is_ipv4 {
        setsockopt(socket, Ipv4WithoutChecksum, &true)?;
    } else {
        setsockopt(socket, Ipv6SendWithoutChecksum, &true)?;
        setsockopt(socket, Ipv6ReceiveWithoutChecksum, &true)?;
    }
    Ok(())
}

/// Sets the options to set before the address: with a device, another socket may have the same address at another
/// device.
pub(super) fn set(socket: &OwnedFd, is_ipv4: bool, device: Option<&str>) -> io::Result<()> {
    if let Some(device) = device {
        setsockopt(socket, sockopt::BindToDevice, &OsString::from(device))?;
    }
    if is_ipv4 {
        setsockopt(socket, Ipv4MtuDiscovery, &libc::IP_PMTUDISC_PROBE)?;
        setsockopt(socket, sockopt::IpRecvTos, &true)?;
    } else {
        setsockopt(socket, sockopt::Ipv6V6Only, &true)?;
        setsockopt(socket, Ipv6MtuDiscovery, &libc::IPV6_PMTUDISC_PROBE)?;
        setsockopt(socket, sockopt::Ipv6RecvTClass, &true)?;
    }
    setsockopt(socket, sockopt::UdpGroSegment, &true)?;
    // Without CAP_NET_ADMIN, up to the system's limit.
    setsockopt(socket, sockopt::RcvBufForce, &BUFFER)
        .or_else(|_| setsockopt(socket, sockopt::RcvBuf, &BUFFER))?;
    setsockopt(socket, sockopt::SndBufForce, &BUFFER)
        .or_else(|_| setsockopt(socket, sockopt::SndBuf, &BUFFER))?;
    Ok(())
}
