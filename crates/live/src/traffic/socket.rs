//! The sockets of a flow's ends, opened and configured in the namespace that the caller has entered.

use super::{FlowSpec, SocketOptions};
use baton_sim::scenario::model::Transport;
use baton_sim::world::flow::Role;
use nix::libc;
use nix::setsockopt_impl;
use nix::sys::socket::{
    AddressFamily, Backlog, GetSockOpt, SetSockOpt, SockFlag, SockProtocol, SockType,
    SockaddrStorage, bind, getsockopt, listen, setsockopt, socket, sockopt,
};
use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Largest window that is advertised, in bytes (tcp(7)).
#[derive(Clone, Copy)]
struct WindowClamp;
setsockopt_impl!(
    WindowClamp,
    libc::IPPROTO_TCP,
    libc::TCP_WINDOW_CLAMP,
    u32,
    sockopt::SetStruct<u32>
);

/// Socket option that decides whether datagrams may be fragmented (ip(7)).
#[derive(Clone, Copy)]
struct MtuDiscovery;
setsockopt_impl!(
    MtuDiscovery,
    libc::IPPROTO_IP,
    libc::IP_MTU_DISCOVER,
    i32,
    sockopt::SetStruct<i32>
);

/// The same over IPv6 (ipv6(7)).
#[derive(Clone, Copy)]
struct MtuDiscoveryV6;
setsockopt_impl!(
    MtuDiscoveryV6,
    libc::IPPROTO_IPV6,
    libc::IPV6_MTU_DISCOVER,
    i32,
    sockopt::SetStruct<i32>
);

/// Connections that may wait to be accepted, as a simulated listener's.
const BACKLOG: i32 = 16;

/// Sockets with which an end begins.
#[derive(Debug)]
pub(super) enum Socket {
    Stream(Opening),
    Datagrams(Datagrams),
}

/// Way in which an end comes by its connection. The sockets do not block.
#[derive(Debug)]
pub(super) enum Opening {
    /// By waiting for one.
    Accept(TcpListener),
    /// By opening one.
    Connect(OwnedFd),
}

/// The sockets of an end of datagrams. They do not block.
#[derive(Debug)]
pub(super) struct Datagrams {
    /// Sends and receives.
    pub socket: UdpSocket,
    /// Over UDP is used to ask for the path's MTU, which the kernel tells of connected sockets only.
    pub probe: Option<UdpSocket>,
}

/// The socket of `role`, bound to the flow's port where the other end sends to it. It is bound to no address,
/// so that it works with whatever address its host has when it is used.
pub(super) fn open(spec: &FlowSpec<'_>, role: Role) -> io::Result<Socket> {
    let options = &spec.ends[role as usize].options;
    match spec.flow.transport {
        Transport::Tcp { .. } => open_stream(spec, role, options).map(Socket::Stream),
        Transport::Udp => {
            let socket = open_datagrams(spec, SockProtocol::Udp, options)?;
            let probe = new_socket(spec, SockType::Datagram, SockProtocol::Udp)?;
            Ok(Socket::Datagrams(Datagrams {
                socket,
                probe: Some(UdpSocket::from(probe)),
            }))
        }
        // The plan refuses it before.
        Transport::Other(_) => Err(io::ErrorKind::Unsupported.into()),
        Transport::Icmp => {
            let protocol = match spec.is_ipv4() {
                true => SockProtocol::Icmp,
                false => SockProtocol::IcmpV6,
            };
            let socket = open_datagrams(spec, protocol, options)
                .map_err(|error| said(error, "an ICMP echo socket (net.ipv4.ping_group_range)"))?;
            Ok(Socket::Datagrams(Datagrams {
                socket,
                probe: None,
            }))
        }
    }
}

fn open_stream(spec: &FlowSpec<'_>, role: Role, options: &SocketOptions) -> io::Result<Opening> {
    let socket = new_socket(spec, SockType::Stream, SockProtocol::Tcp)?;
    // Accepted sockets have the options of their listener.
    set_stream_options(&socket, options)?;
    if role == spec.active() {
        return Ok(Opening::Connect(socket));
    }
    bind_to(&socket, spec)?;
    listen(&socket, Backlog::new(BACKLOG)?).map_err(|error| said(error, "listening"))?;
    Ok(Opening::Accept(TcpListener::from(socket)))
}

fn open_datagrams(
    spec: &FlowSpec<'_>,
    protocol: SockProtocol,
    options: &SocketOptions,
) -> io::Result<UdpSocket> {
    let socket = new_socket(spec, SockType::Datagram, protocol)?;
    set_buffers(&socket, options)?;
    // As in the simulator, what is too long for the path is not sent.
    match spec.is_ipv4() {
        true => set(
            &socket,
            MtuDiscovery,
            &libc::IP_PMTUDISC_DO,
            "IP_MTU_DISCOVER",
        )?,
        false => set(
            &socket,
            MtuDiscoveryV6,
            &libc::IPV6_PMTUDISC_DO,
            "IPV6_MTU_DISCOVER",
        )?,
    }
    bind_to(&socket, spec)?;
    Ok(UdpSocket::from(socket))
}

fn new_socket(spec: &FlowSpec<'_>, kind: SockType, protocol: SockProtocol) -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let family = match spec.is_ipv4() {
        true => AddressFamily::Inet,
        false => AddressFamily::Inet6,
    };
    Ok(socket(family, kind, flags, protocol)?)
}

fn bind_to(fd: &OwnedFd, spec: &FlowSpec<'_>) -> io::Result<()> {
    let any: IpAddr = match spec.is_ipv4() {
        true => Ipv4Addr::UNSPECIFIED.into(),
        false => Ipv6Addr::UNSPECIFIED.into(),
    };
    let address = SockaddrStorage::from(SocketAddr::new(any, spec.port));
    bind(fd.as_raw_fd(), &address).map_err(|error| said(error, &format!("port {}", spec.port)))
}

fn set_stream_options(socket: &OwnedFd, options: &SocketOptions) -> io::Result<()> {
    if let Some(name) = &options.congestion {
        let wanted = format!("TCP_CONGESTION {name:?}");
        set(
            socket,
            sockopt::TcpCongestion,
            &OsString::from(name),
            &wanted,
        )?;
    }
    if let Some(bytes) = options.maximum_segment_size {
        set(
            socket,
            sockopt::TcpMaxSeg,
            &bytes.into(),
            &format!("TCP_MAXSEG {bytes}"),
        )?;
    }
    if options.no_delay {
        set(socket, sockopt::TcpNoDelay, &true, "TCP_NODELAY")?;
    }
    set_buffers(socket, options)?;
    clamp_window(socket, options)
}

/// Limits the window that is advertised, if the options do. What they ask for holds until the next read.
pub(super) fn clamp_window(socket: &impl AsFd, options: &SocketOptions) -> io::Result<()> {
    let Some(bytes) = options.window_clamp else {
        return Ok(());
    };
    set(
        socket,
        WindowClamp,
        &bytes,
        &format!("TCP_WINDOW_CLAMP {bytes}"),
    )
}

fn set_buffers(socket: &OwnedFd, options: &SocketOptions) -> io::Result<()> {
    if let Some(bytes) = options.receive_buffer {
        // Only a privileged process may go beyond net.core.rmem_max; what came of it is read back.
        if setsockopt(socket, sockopt::RcvBufForce, &(bytes as usize)).is_err() {
            set(socket, sockopt::RcvBuf, &(bytes as usize), "SO_RCVBUF")?;
        }
        check_buffer(socket, sockopt::RcvBuf, bytes, "receive buffer", "rmem_max")?;
    }
    if let Some(bytes) = options.send_buffer {
        if setsockopt(socket, sockopt::SndBufForce, &(bytes as usize)).is_err() {
            set(socket, sockopt::SndBuf, &(bytes as usize), "SO_SNDBUF")?;
        }
        check_buffer(socket, sockopt::SndBuf, bytes, "send buffer", "wmem_max")?;
    }
    Ok(())
}

/// The kernel doubles what it is asked for, and cuts it to its limit without a word.
fn check_buffer(
    socket: &OwnedFd,
    option: impl GetSockOpt<Val = usize>,
    bytes: u32,
    name: &str,
    limit: &str,
) -> io::Result<()> {
    let got = getsockopt(socket, option)? / 2;
    if got >= bytes as usize {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "the kernel gives a {name} of {got} B instead of {bytes} B; expected at most net.core.{limit}: raise that, or ask for less"
    )))
}

fn set<O: SetSockOpt>(socket: &impl AsFd, option: O, value: &O::Val, what: &str) -> io::Result<()> {
    setsockopt(socket, option, value).map_err(|error| said(error, what))
}

/// Puts the name of the failed call before the kernel's error.
fn said(error: impl Into<io::Error>, what: &str) -> io::Error {
    let error = error.into();
    io::Error::new(error.kind(), format!("{what}: {error}"))
}
