//! Queries to the kernel about the sockets of a network namespace (sock_diag(7)).

use baton_proto::tcp::Endpoint;
use netlink_packet_core::{
    NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP, IPPROTO_UDP};
use netlink_packet_sock_diag::inet::nlas::Nla;
use netlink_packet_sock_diag::inet::{
    ExtensionFlags, InetRequest, InetResponse, SocketId, StateFlags,
};
use netlink_sys::protocols::NETLINK_SOCK_DIAG;
use netlink_sys::{Socket, SocketAddr};
use nix::libc;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

/// Size of the buffer for a kernel message, which has 32 KiB at most.
const BUFFER: usize = 64 * 1024;

/// Size of the buffer for notices of destroyed sockets not yet read, in bytes.
const DESTROYED_BUFFER: libc::c_int = 1024 * 1024;

/// SKNLGRP_INET_TCP_DESTROY and SKNLGRP_INET6_TCP_DESTROY (linux/sock_diag.h).
const DESTROYED_TCP: [u32; 2] = [1, 3];

/// Protocol of the queried sockets.
#[derive(Clone, Copy, Debug)]
pub(super) enum Protocol {
    Tcp,
    Udp,
}

/// IP version of the queried sockets.
#[derive(Clone, Copy, Debug)]
pub(super) enum Family {
    V4,
    V6,
}

impl Family {
    pub const BOTH: [Family; 2] = [Family::V4, Family::V6];
}

/// The kernel's answer about a socket.
#[derive(Debug)]
pub(super) struct Diag {
    pub local: Endpoint,
    pub remote: Endpoint,
    /// Name of the congestion control.
    pub congestion: Option<String>,
    /// `struct tcp_info`, at the length that the kernel supports.
    pub tcp_info: Option<Vec<u8>>,
}

impl From<InetResponse> for Diag {
    fn from(response: InetResponse) -> Diag {
        let id = response.header.socket_id;
        let mut diag = Diag {
            local: endpoint(id.source_address, id.source_port),
            remote: endpoint(id.destination_address, id.destination_port),
            congestion: None,
            tcp_info: None,
        };
        for attribute in response.nlas {
            match attribute {
                Nla::TcpInfo(bytes) => diag.tcp_info = Some(bytes),
                Nla::Congestion(name) => diag.congestion = Some(name),
                _ => {}
            }
        }
        diag
    }
}

/// Returns an end with its IPv4 address, if an IPv6 socket carries IPv4: its addresses have the form `::ffff:10.0.0.1`.
fn endpoint(address: IpAddr, port: u16) -> Endpoint {
    Endpoint {
        address: address.to_canonical(),
        port,
    }
}

/// A socket for queries about the namespace in which it was opened.
#[derive(Debug)]
pub(super) struct DiagSocket {
    socket: Socket,
    buffer: Vec<u8>,
}

impl DiagSocket {
    pub fn open() -> io::Result<DiagSocket> {
        let mut socket = Socket::new(NETLINK_SOCK_DIAG)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(DiagSocket {
            socket,
            buffer: Vec::with_capacity(BUFFER),
        })
    }

    /// Passes all sockets in the given states to `each`; returns the number of messages not understood.
    pub fn dump(
        &mut self,
        protocol: Protocol,
        family: Family,
        states: StateFlags,
        mut each: impl FnMut(Diag),
    ) -> io::Result<u64> {
        self.socket.send(&request(protocol, family, states), 0)?;
        let mut missed = 0;
        loop {
            receive(&self.socket, &mut self.buffer)?;
            let told = read_messages(&self.buffer, &mut each).map_err(|error| {
                io::Error::new(
                    error.kind(),
                    format!(
                        "the kernel does not report its {protocol:?} sockets (inet_diag): {error}"
                    ),
                )
            })?;
            missed += told.missed;
            if told.is_last {
                return Ok(missed);
            }
        }
    }
}

/// A socket for notices of TCP sockets destroyed in the namespace in which it was opened.
#[derive(Debug)]
pub(super) struct DestroyedSockets {
    socket: Socket,
    buffer: Vec<u8>,
}

impl DestroyedSockets {
    pub fn open() -> io::Result<DestroyedSockets> {
        let mut socket = Socket::new(NETLINK_SOCK_DIAG)?;
        socket.set_non_blocking(true)?;
        socket.set_rx_buf_sz(DESTROYED_BUFFER)?;
        socket.bind_auto()?;
        for group in DESTROYED_TCP {
            socket.add_membership(group)?;
        }
        Ok(DestroyedSockets {
            socket,
            buffer: Vec::with_capacity(BUFFER),
        })
    }

    /// Passes those destroyed since the last call to `each`; returns the number of messages not understood, plus the
    /// number of times that messages were lost.
    pub fn take(&mut self, mut each: impl FnMut(Diag)) -> io::Result<u64> {
        let mut missed = 0;
        loop {
            match receive(&self.socket, &mut self.buffer) {
                Ok(()) => missed += read_messages(&self.buffer, &mut each)?.missed,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(missed),
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => missed += 1,
                Err(error) => return Err(error),
            }
        }
    }
}

impl AsFd for DestroyedSockets {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn request(protocol: Protocol, family: Family, states: StateFlags) -> Vec<u8> {
    let (family, socket_id) = match family {
        Family::V4 => (AF_INET, SocketId::new_v4()),
        Family::V6 => (AF_INET6, SocketId::new_v6()),
    };
    let question = InetRequest {
        family,
        protocol: match protocol {
            Protocol::Tcp => IPPROTO_TCP,
            Protocol::Udp => IPPROTO_UDP,
        },
        extensions: ExtensionFlags::INFO | ExtensionFlags::CONG,
        states,
        socket_id,
    };
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    let mut message = NetlinkMessage::new(header, SockDiagMessage::InetRequest(question).into());
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}

fn receive(socket: &Socket, buffer: &mut Vec<u8>) -> io::Result<()> {
    loop {
        buffer.clear();
        match socket.recv(buffer, 0) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result.map(drop),
        }
    }
}

/// Outcome of reading the messages in a buffer.
struct Told {
    /// Messages not understood.
    missed: u64,
    /// True if they end the answer.
    is_last: bool,
}

fn read_messages(mut bytes: &[u8], each: &mut impl FnMut(Diag)) -> io::Result<Told> {
    let mut told = Told {
        missed: 0,
        is_last: false,
    };
    while let Some(length) = message_length(bytes) {
        match NetlinkMessage::<SockDiagMessage>::deserialize(&bytes[..length]) {
            Ok(message) => match message.payload {
                NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(response)) => {
                    each((*response).into());
                }
                NetlinkPayload::Done(done) if done.code < 0 => {
                    return Err(io::Error::from_raw_os_error(done.code.saturating_neg()));
                }
                NetlinkPayload::Done(_) => told.is_last = true,
                NetlinkPayload::Error(error) if error.code.is_some() => return Err(error.to_io()),
                _ => {}
            },
            Err(_) => told.missed += 1,
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    told.missed += u64::from(!bytes.is_empty());
    Ok(told)
}

/// Returns the length of the message at the start of `bytes`, if it is complete.
fn message_length(bytes: &[u8]) -> Option<usize> {
    let length = u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
    (16..=bytes.len()).contains(&length).then_some(length)
}
