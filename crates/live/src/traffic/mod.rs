//! The scenario's flows between real hosts, carried by the kernel's own stack.
//!
//! The applications are the simulator's (`baton_sim::applications`), one at each end: they write, pause, ask and answer at
//! the same times, drawn from the same streams, over the kernel's TCP, UDP and ICMP. Each end is a
//! thread of its own with one socket, opened in the network namespace of its host.
//!
//! [`prepare`] opens and configures all sockets, so that whoever is asked for listens before anyone asks;
//! [`Prepared::start`] lets the flows run; [`TrafficHandle::stop`] ends them.

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

/// Options of a socket, set before it is used. `None` is the kernel's own choice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SocketOptions {
    /// Congestion control by the kernel's name (`TCP_CONGESTION`). TCP only.
    pub congestion: Option<String>,
    /// Largest segment in bytes (`TCP_MAXSEG`). TCP only.
    pub maximum_segment_size: Option<u16>,
    /// Receive buffer in bytes as `SO_RCVBUF` takes it: the kernel doubles it.
    pub receive_buffer: Option<u32>,
    /// Largest window that is advertised, in bytes (`TCP_WINDOW_CLAMP`). TCP only. It is set again after each
    /// read, for the kernel lets it grow as segments come (seen on Linux 6.18): up to what the receive buffer
    /// allows, on a busy machine for some milliseconds. So bound that buffer too.
    pub window_clamp: Option<u32>,
    /// Send buffer in bytes as `SO_SNDBUF` takes it: the kernel doubles it.
    pub send_buffer: Option<u32>,
    /// True if small segments are sent at once (`TCP_NODELAY`). TCP only.
    pub no_delay: bool,
}

/// One end of a flow.
#[derive(Clone, Debug)]
pub struct EndSpec<'a> {
    /// The network namespace of its host.
    pub namespace: BorrowedFd<'a>,
    /// Its host's address at the start, to which the other end sends; of the same version at both ends.
    pub address: IpAddr,
    /// Options of its socket.
    pub options: SocketOptions,
}

/// A flow to be run.
#[derive(Clone, Debug)]
pub struct FlowSpec<'a> {
    /// Its place in the scenario's flows.
    pub number: usize,
    /// The flow as the scenario describes it, its start with its jitter drawn (as in `FlowRun::spec`).
    pub flow: Flow,
    /// Port of the end that listens or answers; over UDP of both, over ICMP the identifier.
    pub port: u16,
    /// The run's seed, from which random times are drawn.
    pub seed: Seed,
    /// Source and sink.
    pub ends: [EndSpec<'a>; 2],
}

impl FlowSpec<'_> {
    /// The end that opens the connection and keeps the time.
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

    /// Returns true if the ends have addresses of IPv4.
    fn is_ipv4(&self) -> bool {
        self.ends[0].address.is_ipv4()
    }

    /// Returns true if there is anything to do at `role`: the kernel itself answers ICMP echo.
    fn has_end(&self, role: Role) -> bool {
        role == Role::Source || !matches!(self.flow.transport, Transport::Icmp)
    }
}

/// A flow could not be made ready.
#[derive(Debug, thiserror::Error)]
#[error("flow {flow:?}, its {end}: {source}")]
pub struct TrafficError {
    /// Its name.
    pub flow: String,
    /// "source" or "sink".
    pub end: &'static str,
    /// The kernel's error, and the call that it came from.
    pub source: io::Error,
}

/// Flows that wait for the world's time zero. Dropped, they are never run.
#[derive(Debug)]
pub struct Prepared {
    flows: Vec<FlowOutcome>,
    ends: Vec<End>,
}

/// An end that is ready.
#[derive(Debug)]
struct End {
    /// Place in [`Prepared::flows`].
    place: usize,
    role: Role,
    work: Work,
}

#[derive(Debug)]
enum Work {
    Stream(stream::StreamEnd),
    Datagrams(datagrams::DatagramEnd),
}

/// Opens the sockets of all flows, sets their options and listens. Needs the right to enter the namespaces.
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
    /// Lets the flows run. `zero` is the world's time zero, best a little ahead.
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

/// Flows under way. Dropped, they end, but nobody waits for that.
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
    /// Ends all flows, within milliseconds, and says what came of each, in the order in which they were given.
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
