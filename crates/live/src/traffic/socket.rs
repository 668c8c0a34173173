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

/// Socket option: maximum advertised window, in bytes (tcp(7)).
#[derive(Clone, Copy)]
struct WindowClamp;
setsockopt_impl!(
    WindowClamp,
    libc::IPPROTO_TCP,
    libc::TCP_WINDOW_CLAMP,
    u32,
    sockopt::SetStruct<u32>
);

/// Socket option: fragmentation of datagrams (ip(7)).
#[derive(Clone, Copy)]
struct MtuDiscovery;
setsockopt_impl!(
    MtuDiscovery,
    libc::IPPROTO_IP,
    libc::IP_MTU_DISCOVER,
    i32,
    sockopt::SetStruct<i32>
);

/// The same option over IPv6 (ipv6(7)).
#[derive(Clone, Copy)]
struct MtuDiscoveryV6;
setsockopt_impl!(
    MtuDiscoveryV6,
    libc::IPPROTO_IPV6,
    libc::IPV6_MTU_DISCOVER,
    i32,
    sockopt::SetStruct<i32>
);

/// Maximum number of connections that wait to be accepted, as at a simulated listener.
const BACKLOG: i32 = 16;

/// Initial sockets of an end.
#[derive(Debug)]
pub(super) enum Socket {
    Stream(Opening),
    Datagrams(Datagrams),
}

/// Means by which an end gets its connection. The sockets are non-blocking.
#[derive(Debug)]
pub(super) enum Opening {
    /// Waits for a connection.
    Accept(TcpListener),
    /// Opens a connection.
    Connect(OwnedFd),
}

/// Sockets of a datagram end, non-blocking.
#[derive(Debug)]
pub(super) struct Datagrams {
    /// The socket that sends and receives.
    pub socket: UdpSocket,
    /// A connected UDP socket to query the path MTU, which the kernel reports for connected sockets only.
    pub probe: Option<UdpSocket>,
}

/// Opens the socket of `role`, bound to the flow's port if the other end sends to it. It is not bound to an address, so
/// that it works with any address that its host has later.
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
        // The plan has already refused it.
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
    // Accepted sockets inherit the options of their listener.
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
    // As in the simulator, a datagram that is too long for the path is not sent.
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

/// Limits the advertised window, if requested. The limit holds until the next read.
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
        // Only a privileged process may exceed net.core.rmem_max; the result is read back.
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

/// Checks the size of a buffer: the kernel doubles the request, and silently cuts it to its limit.
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

/// Prefixes the kernel's error with the name of the failed call.
fn said(error: impl Into<io::Error>, what: &str) -> io::Error {
    let error = error.into();
    io::Error::new(error.kind(), format!("{what}: {error}"))
}
