//! One end of a flow over TCP.

use super::FlowSpec;
use super::SocketOptions;
use super::application::Application;
use super::outcome::EndOutcome;
use super::socket::{Opening, clamp_window};
use crate::waiting::{Waiter, Woken};
use baton_proto::time::Instant;
use baton_sim::world::flow::Role;
use nix::errno::Errno;
use nix::libc;
use nix::poll::PollFlags;
use nix::sys::socket::{SockaddrStorage, connect, setsockopt, sockopt};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Bytes of one write or read.
const CHUNK: usize = 256 * 1024;

/// Data to write. Nobody looks at it.
static DATA: [u8; CHUNK] = [0; CHUNK];

/// An end that has its socket.
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
            application: Application::new(&spec.flow, role, spec.seed),
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
                stream,
                options: self.options,
                application: self.application,
                peer_closed: false,
                closed: false,
            };
            connection.carry(waiter, &mut outcome)
        });
        // At the end of the run the other end may be gone first.
        if !waiter.is_stopped() {
            outcome.failure = carried.err().map(Into::into);
        }
        outcome
    }
}

/// Waits for a connection; nothing if none comes before the end of the run.
fn accept(listener: &TcpListener, waiter: &Waiter) -> io::Result<Option<TcpStream>> {
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(true)?;
                return Ok(Some(stream));
            }
            // A connection that was given up before it was accepted is none.
            Err(error) if is_passing(&error) || error.kind() == ErrorKind::ConnectionAborted => {}
            Err(error) => return Err(error),
        }
        let socket = (listener.as_fd(), PollFlags::POLLIN);
        if waiter.wait(Some(socket), None)? == Woken::Stopped {
            return Ok(None);
        }
    }
}

/// Opens a connection at `start`; nothing if it does not stand before the end of the run.
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

/// A connection that stands.
struct Connection {
    stream: TcpStream,
    options: SocketOptions,
    application: Application,
    peer_closed: bool,
    closed: bool,
}

impl Connection {
    /// Carries the application's data until both ends have closed or the run is over.
    fn carry(&mut self, waiter: &Waiter, outcome: &mut EndOutcome) -> io::Result<()> {
        let mut buffer = vec![0; CHUNK];
        while !(self.peer_closed && self.closed) {
            self.application.tick(waiter.now());
            self.close_if_done()?;
            let mut wanted = PollFlags::empty();
            wanted.set(PollFlags::POLLIN, !self.peer_closed);
            wanted.set(PollFlags::POLLOUT, self.application.unwritten > 0);
            let socket = Some((self.stream.as_fd(), wanted));
            let ready = match waiter.wait(socket, self.application.deadline())? {
                Woken::Stopped => return self.reset(),
                Woken::Due => continue,
                Woken::Ready(flags) => flags,
            };
            if ready.contains(PollFlags::POLLERR)
                && let Some(error) = self.stream.take_error()?
            {
                return Err(error);
            }
            if !self.peer_closed {
                self.read(waiter, &mut buffer, outcome)?;
            }
            self.write(outcome)?;
        }
        Ok(())
    }

    /// The run is over: nothing is left behind. A connection that closed in good order would keep its namespace
    /// alive until the last byte is acknowledged, or for minutes if that never comes.
    fn reset(&self) -> io::Result<()> {
        let no_time = libc::linger {
            l_onoff: 1,
            l_linger: 0,
        };
        Ok(setsockopt(&self.stream, sockopt::Linger, &no_time)?)
    }

    fn close_if_done(&mut self) -> io::Result<()> {
        if !self.closed && self.application.closing && self.application.unwritten == 0 {
            self.stream.shutdown(Shutdown::Write)?;
            self.closed = true;
        }
        Ok(())
    }

    fn read(
        &mut self,
        waiter: &Waiter,
        buffer: &mut [u8],
        outcome: &mut EndOutcome,
    ) -> io::Result<()> {
        match self.stream.read(buffer) {
            // The other end has closed: this one follows when it has written what it owes.
            Ok(0) => {
                self.peer_closed = true;
                self.application.closing = true;
            }
            Ok(bytes) => {
                let now = waiter.now();
                outcome.receive(now, bytes);
                let trips = &mut outcome.round_trips;
                self.application.take(now, bytes as u64, trips);
                clamp_window(&self.stream, &self.options)?;
            }
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn write(&mut self, outcome: &mut EndOutcome) -> io::Result<()> {
        let most = self.application.unwritten.min(CHUNK as u64) as usize;
        if most == 0 || self.closed {
            return Ok(());
        }
        match self.stream.write(&DATA[..most]) {
            Ok(bytes) => {
                self.application.unwritten -= bytes as u64;
                outcome.written_bytes += bytes as u64;
                Ok(())
            }
            Err(error) if is_passing(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Returns true if it is worth trying again.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
