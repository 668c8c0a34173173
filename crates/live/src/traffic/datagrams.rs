//! One end of a flow over UDP, or the requesting end over ICMP echo.

use super::FlowSpec;
use super::outcome::EndOutcome;
use super::socket::Datagrams;
use crate::waiting::{Waiter, Woken};
use baton_proto::time::{Duration, Instant};
use baton_sim::applications::{Application, Due};
use baton_sim::scenario::model::Transport;
use baton_sim::world::flow::Role;
use nix::getsockopt_impl;
use nix::libc;
use nix::poll::PollFlags;
use nix::sys::socket::{getsockopt, sockopt};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::AsFd;

/// Maximum length of a datagram.
const LONGEST: usize = 65_535;

/// Maximum number of datagrams sent or received between two checks for the end of the run.
const BATCH: usize = 64;

/// Maximum time that a datagram waits for room in the socket before it counts as not sent.
const ROOM_WAIT: Duration = Duration::from_millis(100);

/// Length of the headers of ICMP echo and UDP.
const HEADER: usize = 8;

/// Type of an echo request over IPv4 and IPv6 (RFC 792, RFC 4443).
const ECHO_REQUEST: [u8; 2] = [8, 128];

/// Socket option: path MTU of a connected socket (ipv6(7)).
#[derive(Clone, Copy)]
struct PathMtuV6;
getsockopt_impl!(
    PathMtuV6,
    libc::IPPROTO_IPV6,
    libc::IPV6_MTU,
    i32,
    sockopt::GetStruct<i32>
);

/// An end with its socket.
#[derive(Debug)]
pub(super) struct DatagramEnd {
    sockets: Datagrams,
    remote: SocketAddr,
    start: Instant,
    is_icmp: bool,
    role: Role,
    application: Application,
}

impl DatagramEnd {
    pub fn new(spec: &FlowSpec<'_>, role: Role, sockets: Datagrams) -> DatagramEnd {
        DatagramEnd {
            sockets,
            remote: spec.remote(role),
            start: spec.flow.start,
            is_icmp: matches!(spec.flow.transport, Transport::Icmp),
            role,
            application: spec.application(role),
        }
    }

    /// Runs until the run is over, or a source has sent all its data.
    pub fn run(mut self, waiter: &Waiter) -> EndOutcome {
        let mut outcome = EndOutcome::default();
        outcome.failure = self.carry(waiter, &mut outcome).err().map(Into::into);
        outcome
    }

    fn carry(&mut self, waiter: &Waiter, outcome: &mut EndOutcome) -> io::Result<()> {
        let mut buffer = vec![0; LONGEST];
        if self.role == Role::Source && !waiter.sleep_until(self.start)? {
            return Ok(());
        }
        loop {
            let deadline = self.send_due(waiter, &mut buffer, outcome)?;
            if self.application.is_stream() && deadline.is_none() {
                return Ok(());
            }
            let socket = self.sockets.socket.as_fd();
            match waiter.wait(Some((socket, PollFlags::POLLIN)), deadline)? {
                Woken::Stopped => return Ok(()),
                Woken::Due => {}
                Woken::Ready(_) => self.receive(waiter, &mut buffer, outcome)?,
            }
        }
    }

    /// Sends the datagrams that are due, up to a batch; returns the time of the next call.
    fn send_due(
        &mut self,
        waiter: &Waiter,
        buffer: &mut [u8],
        outcome: &mut EndOutcome,
    ) -> io::Result<Option<Instant>> {
        let echo_request = self.echo_request();
        for _ in 0..BATCH {
            let now = waiter.now();
            let length = match self.application.take_datagram(now) {
                Some(Due::Block(block)) => Some(block.length as usize),
                Some(Due::Request { number, size }) => {
                    Some(request(number, size, echo_request, buffer))
                }
                None => None,
            };
            let Some(length) = length else {
                // All datagrams due before the stop have been sent.
                self.application.stop_if_due(now);
                break;
            };
            self.send(waiter, &buffer[..length], self.remote, outcome)?;
        }
        Ok(self.application.deadline())
    }

    /// Sends a datagram, or counts it as not sent.
    fn send(
        &mut self,
        waiter: &Waiter,
        datagram: &[u8],
        to: SocketAddr,
        outcome: &mut EndOutcome,
    ) -> io::Result<()> {
        let give_up = waiter.now() + ROOM_WAIT;
        loop {
            match self.sockets.socket.send_to(datagram, to) {
                Ok(bytes) => {
                    let headers = if self.is_icmp { HEADER } else { 0 };
                    outcome.written_bytes += bytes.saturating_sub(headers) as u64;
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let socket = (self.sockets.socket.as_fd(), PollFlags::POLLOUT);
                    if !matches!(waiter.wait(Some(socket), Some(give_up))?, Woken::Ready(_)) {
                        break;
                    }
                }
                Err(error) => {
                    if error.raw_os_error() == Some(libc::EMSGSIZE) {
                        self.shrink();
                    }
                    break;
                }
            }
        }
        outcome.unsent_datagrams += 1;
        Ok(())
    }

    /// Reduces the datagrams of a source of blocks to the path MTU, after one was too long.
    fn shrink(&mut self) {
        if let Some(probe) = &self.sockets.probe
            && probe.connect(self.remote).is_ok()
        {
            let (mtu, ip) = match self.remote.is_ipv4() {
                true => (getsockopt(probe, sockopt::IpMtu), 20),
                false => (getsockopt(probe, PathMtuV6), 40),
            };
            if let Ok(mtu) = mtu {
                let headers = ip + HEADER as u32;
                self.application
                    .shrink_to((mtu.max(0) as u32).saturating_sub(headers));
            }
        }
    }

    /// Returns the type of an echo request, over ICMP.
    fn echo_request(&self) -> Option<u8> {
        self.is_icmp
            .then_some(ECHO_REQUEST[usize::from(self.remote.is_ipv6())])
    }

    fn receive(
        &mut self,
        waiter: &Waiter,
        buffer: &mut [u8],
        outcome: &mut EndOutcome,
    ) -> io::Result<()> {
        for _ in 0..BATCH {
            match self.sockets.socket.recv_from(buffer) {
                Ok((length, from)) => self.take(waiter, &buffer[..length], from, outcome)?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn take(
        &mut self,
        waiter: &Waiter,
        datagram: &[u8],
        from: SocketAddr,
        outcome: &mut EndOutcome,
    ) -> io::Result<()> {
        let now = waiter.now();
        match self.role {
            Role::Sink => {
                outcome.receive(now, datagram.len());
                if self.application.is_echo() {
                    self.send(waiter, datagram, from, outcome)?;
                }
            }
            Role::Source => {
                if let Some((low, bits)) = reply_number(datagram, self.is_icmp)
                    && let Some(trip) = self.application.take_reply(now, low, bits)
                {
                    let size = self
                        .application
                        .requests()
                        .map_or(0, |requests| requests.size);
                    outcome.receive(now, size as usize);
                    outcome.round_trips.push(trip);
                }
            }
        }
        Ok(())
    }
}

/// Writes a request that can be told from neighbouring ones, over ICMP as a message of this type; returns its length
/// with the ICMP header, if it has one.
fn request(number: u64, size: u32, icmp: Option<u8>, buffer: &mut [u8]) -> usize {
    let size = (size as usize).min(LONGEST - HEADER);
    if let Some(kind) = icmp {
        // The kernel fills in checksum and identifier (icmp(7), "datagram ICMP sockets").
        buffer[..6].copy_from_slice(&[kind, 0, 0, 0, 0, 0]);
        buffer[6..HEADER].copy_from_slice(&(number as u16).to_be_bytes());
        return HEADER + size;
    }
    // A single byte has room for the lower half only.
    let low = (number as u16).to_le_bytes();
    let told = size.min(low.len());
    buffer[..told].copy_from_slice(&low[..told]);
    size
}

/// Returns the low bits of the number of the request that this answers, and how many bits they are; `None` if it is not
/// an answer.
fn reply_number(datagram: &[u8], is_icmp: bool) -> Option<(u16, u32)> {
    Some(match *datagram {
        [_, _, _, _, _, _, high, low, ..] if is_icmp => (u16::from_be_bytes([high, low]), 16),
        [low, high, ..] if !is_icmp => (u16::from_le_bytes([low, high]), 16),
        [low] if !is_icmp => (low.into(), 8),
        _ => return None,
    })
}
