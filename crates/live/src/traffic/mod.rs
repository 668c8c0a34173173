//! The scenario's flows between real hosts, carried by the kernel's own stack.
//!
//! The applications are the simulator's (`baton_sim::applications`), one at each end: they write, pause, request and
//! answer at the same times, drawn from the same random streams, over the kernel's TCP, UDP and ICMP. Each end is a
//! separate thread with one socket, opened in the network namespace of its host.
//!
//! [`prepare`] opens and configures all sockets, so that each server listens before the first request;
//! [`Prepared::start`] starts the flows; [`TrafficHandle::stop`] ends them.

mod datagrams;
mod outcome;
mod socket;
mod stream;

pub use baton_sim::applications::RoundTrip;
pub use outcome::{EndOutcome, Failure, FlowOutcome};

use crate::waiting::{StopSignal, Stopper, Waiter, in_namespace, stop_signal};
use baton_sim::applications::Application;
use baton_sim::rng::Seed;
use baton_sim::scenario::model::{Flow, Traffic, Transport};
use baton_sim::world::flow::Role;
use socket::Socket;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;
use std::thread::JoinHandle;

/// Options of a socket, set before its use. `None` leaves the kernel's default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SocketOptions {
    /// Congestion control by the kernel's name (`TCP_CONGESTION`). TCP only.
    pub congestion: Option<String>,
    /// Maximum segment size in bytes (`TCP_MAXSEG`). TCP only.
    pub maximum_segment_size: Option<u16>,
    /// Receive buffer in bytes as `SO_RCVBUF` takes it: the kernel doubles it.
    pub receive_buffer: Option<u32>,
    /// Maximum advertised window, in bytes (`TCP_WINDOW_CLAMP`). TCP only. It is set again after each read, since the
    /// kernel lets the window grow as segments arrive (observed on Linux 6.18): up to the limit of the receive buffer,
    /// on a busy machine for some milliseconds. So limit that buffer too.
    pub window_clamp: Option<u32>,
    /// Send buffer in bytes as `SO_SNDBUF` takes it: the kernel doubles it.
    pub send_buffer: Option<u32>,
    /// True to send small segments at once (`TCP_NODELAY`). TCP only.
    pub no_delay: bool,
}

/// One end of a flow.
#[derive(Clone, Debug)]
pub struct EndSpec<'a> {
    /// Network namespace of its host.
    pub namespace: BorrowedFd<'a>,
    /// Address of its host at the start, to which the other end sends; both ends use the same IP version.
    pub address: IpAddr,
    /// Options of its socket.
    pub options: SocketOptions,
}

/// A flow to run.
#[derive(Clone, Debug)]
pub struct FlowSpec<'a> {
    /// Index in the scenario's flows.
    pub number: usize,
    /// The flow in the scenario, with its start's jitter drawn (as in `FlowRun::spec`).
    pub flow: Flow,
    /// Port of the listening or answering end; over UDP of both ends, over ICMP the identifier.
    pub port: u16,
    /// The run's seed, from which random times are drawn.
    pub seed: Seed,
    /// Source and sink.
    pub ends: [EndSpec<'a>; 2],
}

impl FlowSpec<'_> {
    /// Returns the end that opens the connection and keeps the time.
    fn active(&self) -> Role {
        match self.flow.traffic {
            Traffic::Pages { .. } => Role::Sink,
            _ => Role::Source,
        }
    }

    /// Returns the application at `role`. Its random times are those of a simulated run.
    fn application(&self, role: Role) -> Application {
        let stream = self
            .seed
            .stream(&format!("flow {} application", self.flow.name));
        let span = (self.flow.start, self.flow.stop);
        Application::new(&self.flow.traffic, span, role, stream)
    }

    /// Returns the address at which the end across from `role` listens or answers.
    fn remote(&self, role: Role) -> SocketAddr {
        SocketAddr::new(self.ends[role.other() as usize].address, self.port)
    }

    /// Returns true if the ends have IPv4 addresses.
    fn is_ipv4(&self) -> bool {
        self.ends[0].address.is_ipv4()
    }

    /// Returns true if `role` needs an end: the kernel itself answers ICMP echo.
    fn has_end(&self, role: Role) -> bool {
        role == Role::Source || !matches!(self.flow.transport, Transport::Icmp)
    }
}

/// A flow that could not be prepared.
#[derive(Debug, thiserror::Error)]
#[error("flow {flow:?}, its {end}: {source}")]
pub struct TrafficError {
    /// Name of the flow.
    pub flow: String,
    /// "source" or "sink".
    pub end: &'static str,
    /// The kernel's error, and the failed call.
    pub source: io::Error,
}

/// Flows that wait for the world's time zero. If dropped, they never run.
#[derive(Debug)]
pub struct Prepared {
    flows: Vec<FlowOutcome>,
    ends: Vec<End>,
}

/// A prepared end.
#[derive(Debug)]
struct End {
    /// Index in [`Prepared::flows`].
    place: usize,
    role: Role,
    work: Work,
}

#[derive(Debug)]
enum Work {
    Stream(stream::StreamEnd),
    Datagrams(datagrams::DatagramEnd),
}

/// Opens the sockets of all flows, sets their options, and listens. Needs the right to enter the namespaces.
pub fn prepare(flows: &[FlowSpec<'_>]) -> Result<Prepared, TrafficError> {
    let mut prepared = Prepared {
        flows: Vec::with_capacity(flows.len()),
        ends: Vec::with_capacity(2 * flows.len()),
    };
    for (place, spec) in flows.iter().enumerate() {
        prepared.flows.push(FlowOutcome::new(spec.number));
        for role in [Role::Sink, Role::Source] {
            if spec.has_end(role) {
                let work = work(spec, role).map_err(|source| TrafficError {
                    flow: spec.flow.name.clone(),
                    end: match role {
                        Role::Source => "source",
                        Role::Sink => "sink",
                    },
                    source,
                })?;
                prepared.ends.push(End { place, role, work });
            }
        }
    }
    Ok(prepared)
}

fn work(spec: &FlowSpec<'_>, role: Role) -> io::Result<Work> {
    let end = &spec.ends[role as usize];
    let socket = in_namespace(end.namespace, || socket::open(spec, role))?;
    Ok(match socket {
        Socket::Stream(opening) => Work::Stream(stream::StreamEnd::new(spec, role, opening)),
        Socket::Datagrams(sockets) => {
            Work::Datagrams(datagrams::DatagramEnd::new(spec, role, sockets))
        }
    })
}

impl Prepared {
    /// Starts the flows. `zero` is the world's time zero, preferably a little in the future.
    pub fn start(self, zero: std::time::Instant) -> io::Result<TrafficHandle> {
        let (stopper, signal) = stop_signal()?;
        let mut threads = Vec::with_capacity(self.ends.len());
        for end in self.ends {
            threads.push(RunningEnd {
                place: end.place,
                role: end.role,
                thread: spawn(end.work, zero, signal.clone())?,
            });
        }
        Ok(TrafficHandle {
            flows: self.flows,
            threads,
            stopper,
        })
    }
}

fn spawn(
    work: Work,
    zero: std::time::Instant,
    signal: StopSignal,
) -> io::Result<JoinHandle<EndOutcome>> {
    let waiter = Waiter::new(zero, signal);
    std::thread::Builder::new().spawn(move || match work {
        Work::Stream(end) => end.run(&waiter),
        Work::Datagrams(end) => end.run(&waiter),
    })
}

/// Flows in progress. If dropped, they end without a wait for them.
#[derive(Debug)]
pub struct TrafficHandle {
    flows: Vec<FlowOutcome>,
    threads: Vec<RunningEnd>,
    stopper: Stopper,
}

#[derive(Debug)]
struct RunningEnd {
    place: usize,
    role: Role,
    thread: JoinHandle<EndOutcome>,
}

impl TrafficHandle {
    /// Ends all flows, within milliseconds, and returns the outcome of each, in the order in which they were given.
    pub fn stop(self) -> Vec<FlowOutcome> {
        let mut flows = self.flows;
        drop(self.stopper);
        for RunningEnd {
            place,
            role,
            thread,
        } in self.threads
        {
            flows[place].ends[role as usize] = thread.join().unwrap_or_else(|_| EndOutcome {
                failure: Some(Failure::Other("its thread panicked".to_owned())),
                ..EndOutcome::default()
            });
        }
        flows
    }
}
