//! The kernel's end of a connection: a socket in a network namespace. It never blocks.

#![allow(unsafe_code)] // getsockopt(TCP_INFO)

use baton_live::namespace::{HostSpec, InterfaceSpec, RealHost};
use baton_live::plan::Sysctl;
use baton_sim::run::Run;
use baton_sim::scenario::model::NodeIndex;
use nix::errno::Errno;
use nix::libc;
use nix::sched::{CloneFlags, setns};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrStorage, bind, connect, listen, setsockopt,
    socket, sockopt,
};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

/// A host of the kernel's at the world's ports of `node`, and for each port the interface to which it leads. Answers
/// to what is out of place come without the kernel's limit of two a second.
pub fn build(
    run: &Run,
    node: NodeIndex,
    sysctls: &[(&str, &str)],
) -> (RealHost, Vec<Option<usize>>) {
    let unlimited = ("tcp_invalid_ratelimit", "0");
    let sysctls = sysctls.iter().copied().chain([unlimited]);
    let sysctls = sysctls.map(|(name, value)| Sysctl {
        path: format!("net/ipv4/{name}"),
        value: value.to_owned(),
    });
    let mut specs = Vec::new();
    let mut interfaces = Vec::new();
    for port in run.world().ports() {
        interfaces.push((port.node == node).then_some(specs.len()));
        if port.node == node {
            specs.push(InterfaceSpec {
                name: format!("link{}", specs.len()),
                mtu: port.mtu,
                addresses: port.addresses.clone(),
            });
        }
    }
    let count = specs.len();
    let mut real = RealHost::build(HostSpec {
        name: "kernel".to_owned(),
        interfaces: specs,
        sysctls: sysctls.collect(),
        metrics: Vec::new(),
        group: 0,
    })
    .unwrap();
    for interface in (0..count).rev() {
        real.raise(interface).unwrap();
        real.set_default_route(interface).unwrap();
    }
    (real, interfaces)
}

/// The socket, and what became of it.
pub struct KernelEnd {
    receive_buffer: Option<usize>,
    listener: Option<TcpListener>,
    connecting: Option<TcpStream>,
    stream: Option<TcpStream>,
    /// The kernel's error when the connection failed.
    pub error: Option<ErrorKind>,
    /// The other side has closed, and all that it sent was read.
    pub ended: bool,
}

impl KernelEnd {
    pub fn new(receive_buffer: Option<usize>) -> KernelEnd {
        KernelEnd {
            receive_buffer,
            listener: None,
            connecting: None,
            stream: None,
            error: None,
            ended: false,
        }
    }

    fn socket(&self, namespace: BorrowedFd<'_>, address: SocketAddr) -> OwnedFd {
        let family = match address {
            SocketAddr::V4(_) => AddressFamily::Inet,
            SocketAddr::V6(_) => AddressFamily::Inet6,
        };
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        // A socket stays in the namespace in which it was made, whoever uses it.
        let made = std::thread::scope(|scope| {
            let inside = scope.spawn(|| {
                setns(namespace, CloneFlags::CLONE_NEWNET)?;
                socket(family, SockType::Stream, flags, None)
            });
            inside.join().unwrap()
        })
        .unwrap();
        if let Some(bytes) = self.receive_buffer {
            setsockopt(&made, sockopt::RcvBuf, &bytes).unwrap();
        }
        made
    }

    pub fn listen(&mut self, namespace: BorrowedFd<'_>, address: SocketAddr) {
        let socket = self.socket(namespace, address);
        bind(socket.as_raw_fd(), &SockaddrStorage::from(address)).unwrap();
        listen(&socket, Backlog::new(16).unwrap()).unwrap();
        self.listener = Some(TcpListener::from(socket));
    }

    pub fn connect(&mut self, namespace: BorrowedFd<'_>, address: SocketAddr) {
        let socket = self.socket(namespace, address);
        let begun = connect(socket.as_raw_fd(), &SockaddrStorage::from(address));
        assert_eq!(begun, Err(Errno::EINPROGRESS));
        self.connecting = Some(TcpStream::from(socket));
    }

    pub fn connect_from(
        &mut self,
        namespace: BorrowedFd<'_>,
        local: SocketAddr,
        address: SocketAddr,
    ) {
        let socket = self.socket(namespace, address);
        bind(socket.as_raw_fd(), &SockaddrStorage::from(local)).unwrap();
        let begun = connect(socket.as_raw_fd(), &SockaddrStorage::from(address));
        assert_eq!(begun, Err(Errno::EINPROGRESS));
        self.connecting = Some(TcpStream::from(socket));
    }

    /// Notices a connection that has come to stand, or failed to.
    pub fn accept(&mut self) {
        if let Some(listener) = &self.listener
            && let Ok((stream, _)) = listener.accept()
        {
            stream.set_nonblocking(true).unwrap();
            self.stream = Some(stream);
            self.listener = None;
        }
        if let Some(stream) = &self.connecting {
            if let Some(error) = stream.take_error().unwrap() {
                self.error = Some(error.kind());
                self.connecting = None;
            } else if stream.peer_addr().is_ok() {
                self.stream = self.connecting.take();
            }
        }
    }

    pub fn is_open(&self) -> bool {
        self.stream.is_some()
    }

    fn stream(&mut self) -> &mut TcpStream {
        self.stream.as_mut().expect("the kernel's end is open")
    }

    /// Writes what the kernel takes; how much that was.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        let written = self.stream().write(bytes);
        self.judge(written)
    }

    /// Reads what there is; how much that was.
    pub fn read(&mut self, buffer: &mut [u8]) -> usize {
        let read = self.stream().read(buffer);
        self.ended |= matches!(read, Ok(0));
        self.judge(read)
    }

    fn judge(&mut self, result: std::io::Result<usize>) -> usize {
        match result {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            Err(error) => {
                self.error = Some(error.kind());
                0
            }
        }
    }

    /// Ends the kernel's direction.
    pub fn finish(&mut self) {
        self.stream().shutdown(Shutdown::Write).unwrap();
    }

    /// Ends the connection at once, with a reset.
    pub fn abort(&mut self) {
        let no_time = libc::linger {
            l_onoff: 1,
            l_linger: 0,
        };
        setsockopt(self.stream(), sockopt::Linger, &no_time).unwrap();
        self.stream = None;
    }

    /// Reads the kernel's figures of the connection.
    pub fn info(&mut self) -> libc::tcp_info {
        // SAFETY: all-zero is a valid tcp_info, a plain structure of integers.
        let mut info: libc::tcp_info = unsafe { core::mem::zeroed() };
        let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes, the size of `info`.
        let result = unsafe {
            libc::getsockopt(
                self.stream().as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                (&raw mut info).cast(),
                &mut length,
            )
        };
        assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
        info
    }
}
