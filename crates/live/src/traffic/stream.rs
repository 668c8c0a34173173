//! One end of a flow over TCP.

use super::FlowSpec;
use super::SocketOptions;
use super::outcome::EndOutcome;
use super::socket::{Opening, clamp_window};
use crate::waiting::{Waiter, Woken};
use baton_proto::host::{Pattern, Socket, SocketCounters, SocketState};
use baton_proto::time::Instant;
use baton_sim::applications::{Application, Heard, LONGEST_WRITE};
use baton_sim::world::flow::Role;
use nix::errno::Errno;
use nix::libc;
use nix::poll::PollFlags;
use nix::sys::socket::{SockaddrStorage, connect, setsockopt, sockopt};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Size of a write or read, in bytes.
const CHUNK: usize = LONGEST_WRITE as usize;

/// Data to write, never inspected.
static DATA: [u8; CHUNK] = [0; CHUNK];

/// An end with its socket.
#[derive(Debug)]
pub(super) struct StreamEnd {
    opening: Opening,
    remote: SocketAddr,
    start: Instant,
    options: SocketOptions,
    application: Application,
}

impl StreamEnd {
    pub fn new(spec: &FlowSpec<'_>, role: Role, opening: Opening) -> StreamEnd {
        StreamEnd {
            opening,
            remote: spec.remote(role),
            start: spec.flow.start,
            options: spec.ends[role as usize].options.clone(),
            application: spec.application(role),
        }
    }

    /// Runs until both ends have closed, the connection fails or the run is over.
    pub fn run(self, waiter: &Waiter) -> EndOutcome {
        let mut outcome = EndOutcome::default();
        let opened = match self.opening {
            Opening::Accept(listener) => accept(&listener, waiter),
            Opening::Connect(socket) => open(socket, self.remote, self.start, waiter),
        };
        let carried = opened.and_then(|stream| {
            let Some(stream) = stream else { return Ok(()) };
            let mut connection = Connection {
                socket: KernelSocket::new(stream, self.options),
                application: self.application,
            };
            connection.carry(waiter, &mut outcome)
        });
        // At the end of the run the other end may have gone first.
        if !waiter.is_stopped() {
            outcome.failure = carried.err().map(Into::into);
        }
        outcome
    }
}

/// Waits for a connection; `None` if none arrives before the end of the run.
fn accept(listener: &TcpListener, waiter: &Waiter) -> io::Result<Option<TcpStream>> {
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(true)?;
                return Ok(Some(stream));
            }
            // A connection aborted before it was accepted does not count.
            Err(error) if is_passing(&error) || error.kind() == ErrorKind::ConnectionAborted => {}
            Err(error) => return Err(error),
        }
        let socket = (listener.as_fd(), PollFlags::POLLIN);
        if waiter.wait(Some(socket), None)? == Woken::Stopped {
            return Ok(None);
        }
    }
}

/// Opens a connection at `start`; `None` if it is not established before the end of the run.
fn open(
    socket: OwnedFd,
    remote: SocketAddr,
    start: Instant,
    waiter: &Waiter,
) -> io::Result<Option<TcpStream>> {
    if !waiter.sleep_until(start)? {
        return Ok(None);
    }
    match connect(socket.as_raw_fd(), &SockaddrStorage::from(remote)) {
        Ok(()) | Err(Errno::EINPROGRESS) => {}
        Err(error) => return Err(error.into()),
    }
    let stream = TcpStream::from(socket);
    if waiter.wait(Some((stream.as_fd(), PollFlags::POLLOUT)), None)? == Woken::Stopped {
        return Ok(None);
    }
    match stream.take_error()? {
        Some(error) => Err(error),
        None => Ok(Some(stream)),
    }
}

/// An established connection, with its application.
struct Connection {
    socket: KernelSocket,
    application: Application,
}

impl Connection {
    /// Carries the application's data until both ends have closed or the run is over.
    fn carry(&mut self, waiter: &Waiter, outcome: &mut EndOutcome) -> io::Result<()> {
        while !self.socket.is_over() {
            self.application.tick(waiter.now());
            self.fill(outcome)?;
            let mut wanted = PollFlags::empty();
            wanted.set(PollFlags::POLLIN, !self.socket.peer_closed);
            wanted.set(PollFlags::POLLOUT, self.application.unwritten > 0);
            let socket = Some((self.socket.stream.as_fd(), wanted));
            let ready = match waiter.wait(socket, self.application.deadline())? {
                Woken::Stopped => return self.socket.reset(),
                Woken::Due => continue,
                Woken::Ready(flags) => flags,
            };
            if ready.contains(PollFlags::POLLERR)
                && let Some(error) = self.socket.stream.take_error()?
            {
                return Err(error);
            }
            if !self.socket.peer_closed {
                self.read(waiter, outcome)?;
            }
        }
        Ok(())
    }

    fn read(&mut self, waiter: &Waiter, outcome: &mut EndOutcome) -> io::Result<()> {
        let now = waiter.now();
        let bytes = self.socket.read(now);
        self.socket.check()?;
        if bytes > 0 {
            outcome.receive(now, bytes as usize);
            if let Heard::Replies(replies) = self.application.take(now, bytes) {
                outcome.round_trips.extend(replies);
            }
        }
        // This end closes when it has written all its data.
        self.application.closing |= self.socket.peer_closed;
        Ok(())
    }

    fn fill(&mut self, outcome: &mut EndOutcome) -> io::Result<()> {
        let before = self.application.written;
        self.application.fill(&mut self.socket, 0);
        outcome.written_bytes += self.application.written - before;
        self.socket.check()
    }
}

/// A kernel's connection as a socket of its application. Failed calls keep the error.
#[derive(Debug)]
struct KernelSocket {
    stream: TcpStream,
    options: SocketOptions,
    buffer: Vec<u8>,
    peer_closed: bool,
    closed: bool,
    error: Option<io::Error>,
}

impl KernelSocket {
    fn new(stream: TcpStream, options: SocketOptions) -> KernelSocket {
        KernelSocket {
            stream,
            options,
            buffer: vec![0; CHUNK],
            peer_closed: false,
            closed: false,
            error: None,
        }
    }

    fn is_over(&self) -> bool {
        self.peer_closed && self.closed
    }

    /// Returns the error of a call since the last check.
    fn check(&mut self) -> io::Result<()> {
        self.error.take().map_or(Ok(()), Err)
    }

    /// Resets the connection at the end of the run, so that nothing remains. An orderly close would keep the namespace
    /// alive until the last byte is acknowledged, or for minutes if it never is.
    fn reset(&self) -> io::Result<()> {
        let no_time = libc::linger {
            l_onoff: 1,
            l_linger: 0,
        };
        Ok(setsockopt(&self.stream, sockopt::Linger, &no_time)?)
    }

    /// Returns a call's value, or keeps its error unless it is temporary.
    fn keep<T>(&mut self, result: io::Result<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                if !is_passing(&error) {
                    self.error.get_or_insert(error);
                }
                None
            }
        }
    }
}

impl Socket for KernelSocket {
    fn write(&mut self, pattern: Pattern) -> u64 {
        if self.closed {
            return 0;
        }
        let most = pattern.length.min(LONGEST_WRITE) as usize;
        let written = self.stream.write(&DATA[..most]);
        self.keep(written).unwrap_or(0) as u64
    }

    /// Returns false, so that each write is followed by reading.
    fn may_go_on_writing(&mut self) -> bool {
        false
    }

    fn read(&mut self, _: Instant) -> u64 {
        let read = self.stream.read(&mut self.buffer);
        let Some(bytes) = self.keep(read) else {
            return 0;
        };
        self.peer_closed = bytes == 0;
        if bytes > 0 {
            let clamped = clamp_window(&self.stream, &self.options);
            self.keep(clamped);
        }
        bytes as u64
    }

    fn close(&mut self) {
        if !self.closed {
            self.closed = true;
            let shut = self.stream.shutdown(Shutdown::Write);
            self.keep(shut);
        }
    }

    /// Returns no measures: the sampler queries the kernel from outside.
    fn state(&self) -> SocketState {
        SocketState::default()
    }

    /// Returns zeros, for the same reason as [`state`](Socket::state).
    fn counters(&self) -> SocketCounters {
        SocketCounters::default()
    }
}

/// Returns true for a temporary error.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
