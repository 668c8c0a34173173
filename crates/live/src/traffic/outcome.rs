//! Outcome of a flow, as seen by its applications.

use baton_proto::time::Instant;
use baton_sim::applications::RoundTrip;
use baton_sim::run::SeenByApplication;
use baton_sim::world::summary::PingResult;
use std::io;

/// Outcome of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowOutcome {
    /// Index in the scenario's flows.
    pub number: usize,
    /// Outcomes at source and sink.
    pub ends: [EndOutcome; 2],
}

impl FlowOutcome {
    /// Creates an empty outcome.
    pub(super) fn new(number: usize) -> FlowOutcome {
        FlowOutcome {
            number,
            ends: Default::default(),
        }
    }

    /// Returns the results that only its applications saw, and not its packets; requests of a ping have `ping_size`
    /// bytes each.
    pub fn seen(&self, ping_size: Option<u32>) -> SeenByApplication {
        let source = &self.ends[0];
        let mean = |times: &[RoundTrip]| {
            let sum: f64 = times.iter().map(|trip| trip.time.as_secs_f64()).sum();
            (!times.is_empty()).then(|| sum / times.len() as f64)
        };
        let ping = ping_size.map(|size| PingResult {
            sent: source.written_bytes / u64::from(size.max(1)),
            answered: source.round_trips.len() as u64,
            mean_rtt_s: mean(&source.round_trips),
        });
        SeenByApplication {
            ping,
            failure: self.failure().map(ToString::to_string),
        }
    }

    /// Returns the failure that ended it early, the source's if both ends have one.
    pub fn failure(&self) -> Option<&Failure> {
        self.ends.iter().find_map(|end| end.failure.as_ref())
    }
}

/// Outcome of a flow at one end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EndOutcome {
    /// Payload bytes accepted by the kernel.
    pub written_bytes: u64,
    /// Payload bytes received.
    pub received_bytes: u64,
    /// Time of the last received byte, in the world's time.
    pub last_received: Option<Instant>,
    /// Datagrams refused by the kernel (no route, no room), which the simulator would count as sent and lost.
    pub unsent_datagrams: u64,
    /// Answered requests of a ping flow's source, in the order of the answers.
    pub round_trips: Vec<RoundTrip>,
    /// Failure of its socket.
    pub failure: Option<Failure>,
}

impl EndOutcome {
    /// Records received bytes.
    pub(super) fn receive(&mut self, now: Instant, bytes: usize) {
        self.received_bytes += bytes as u64;
        self.last_received = Some(now);
    }
}

/// Reason for a socket's failure, in the terms of a simulated run where possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Refused: nobody listens.
    #[error("the connection was refused")]
    Refused,
    /// Reset by the other end, or by the kernel.
    #[error("the connection was reset")]
    Reset,
    /// Timed out in the kernel.
    #[error("the connection timed out: the far end did not answer for longer than is permitted")]
    TimedOut,
    /// Any other error, with the kernel's message.
    #[error("{0}")]
    Other(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Failure::Refused,
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Failure::Reset,
            io::ErrorKind::TimedOut => Failure::TimedOut,
            _ => Failure::Other(error.to_string()),
        }
    }
}
