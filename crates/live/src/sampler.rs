//! The kernel's own statistics of all TCP connections in a network namespace, whatever their program.
//!
//! A thread queries them at a set interval (sock_diag(7)) and receives a notice of every destroyed socket, so that a
//! connection that closes between two samples still gives its last values.

mod diag;
mod tcp_info;

use crate::waiting::{Stopper, Waiter, Woken, in_namespace, stop_signal};
use baton_proto::time::{Duration, Instant};
use baton_sim::observe::TcpInfoSample;
use baton_sim::scenario::model::NodeIndex;
use diag::{DestroyedSockets, Diag, DiagSocket, Family, Protocol};
use netlink_packet_sock_diag::inet::StateFlags;
use nix::poll::PollFlags;
use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use tcp_info::TcpInfo;

/// Minimum interval of samples.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);

/// A sampling thread.
#[derive(Debug)]
pub struct Sampler {
    stopper: Stopper,
    thread: JoinHandle<SamplerReport>,
}

/// Result of the sampling.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SamplerReport {
    /// Names of the congestion controls in use.
    pub congestion_controls: BTreeSet<String>,
    /// Kernel messages lost or not understood: the number of times that samples may be missing.
    pub lost_messages: u64,
    /// Reason for an early end, if there was one.
    pub failure: Option<String>,
}

impl Sampler {
    /// Samples every TCP connection of `node`, whose network namespace is given, at each `interval` (at least 1 ms) of
    /// the world's time, which begins at `zero`. Fails if the kernel does not support it.
    pub fn start(
        namespace: BorrowedFd<'_>,
        node: NodeIndex,
        zero: std::time::Instant,
        interval: Duration,
        samples: Sender<TcpInfoSample>,
    ) -> io::Result<Sampler> {
        let (mut diag, destroyed) = in_namespace(namespace, || {
            Ok((DiagSocket::open()?, DestroyedSockets::open()?))
        })?;
        for family in Family::BOTH {
            diag.dump(Protocol::Tcp, family, connections(), |_| {})?;
        }
        let (stopper, signal) = stop_signal()?;
        let sampling = Sampling {
            waiter: Waiter::new(zero, signal),
            diag,
            destroyed,
            node,
            samples,
            report: SamplerReport::default(),
        };
        let thread = std::thread::Builder::new().spawn(move || sampling.run(interval))?;
        Ok(Sampler { stopper, thread })
    }

    /// Takes a last sample and ends, within milliseconds.
    pub fn stop(self) -> SamplerReport {
        drop(self.stopper);
        self.thread.join().unwrap_or_else(|_| SamplerReport {
            failure: Some("the sampler panicked".to_owned()),
            ..SamplerReport::default()
        })
    }
}

/// Returns the states of connections with statistics.
fn connections() -> StateFlags {
    StateFlags::all() - StateFlags::LISTEN - StateFlags::TIME_WAIT - StateFlags::SYN_RECV
}

struct Sampling {
    waiter: Waiter,
    diag: DiagSocket,
    destroyed: DestroyedSockets,
    node: NodeIndex,
    samples: Sender<TcpInfoSample>,
    report: SamplerReport,
}

impl Sampling {
    fn run(mut self, interval: Duration) -> SamplerReport {
        if let Err(error) = self.sample_until_stopped(interval.max(SHORTEST_INTERVAL)) {
            self.report.failure = Some(format!("sampling TCP_INFO: {error}"));
        }
        self.report
    }

    fn sample_until_stopped(&mut self, interval: Duration) -> io::Result<()> {
        if !self.waiter.sleep_until(Instant::ZERO)? {
            return Ok(());
        }
        let mut next = Instant::ZERO;
        loop {
            let events = (self.destroyed.as_fd(), PollFlags::POLLIN);
            match self.waiter.wait(Some(events), Some(next))? {
                Woken::Ready(_) => self.take_destroyed()?,
                Woken::Due => {
                    self.sample()?;
                    // Missed samples are not made up for.
                    next = (next + interval).max(self.waiter.now());
                }
                Woken::Stopped => {
                    self.take_destroyed()?;
                    return self.sample();
                }
            }
        }
    }

    fn sample(&mut self) -> io::Result<()> {
        for family in Family::BOTH {
            let at = self.waiter.now();
            let (node, samples, report) = (self.node, &self.samples, &mut self.report);
            let missed = self
                .diag
                .dump(Protocol::Tcp, family, connections(), |diag| {
                    emit(at, node, diag, samples, report)
                })?;
            self.report.lost_messages += missed;
        }
        Ok(())
    }

    fn take_destroyed(&mut self) -> io::Result<()> {
        let at = self.waiter.now();
        let (node, samples, report) = (self.node, &self.samples, &mut self.report);
        let missed = self
            .destroyed
            .take(|diag| emit(at, node, diag, samples, report))?;
        self.report.lost_messages += missed;
        Ok(())
    }
}

/// Sends the kernel's report of a socket. If the receiver is gone, the run is over.
fn emit(
    at: Instant,
    node: NodeIndex,
    diag: Diag,
    samples: &Sender<TcpInfoSample>,
    report: &mut SamplerReport,
) {
    report.congestion_controls.extend(diag.congestion);
    // Sockets that were never connected have no statistics.
    if diag.remote.port == 0 {
        return;
    }
    let Some(info) = diag.tcp_info.as_deref().and_then(TcpInfo::parse) else {
        return;
    };
    let bytes = |segments: u32| segments.saturating_mul(info.segment_size);
    let _ = samples.send(TcpInfoSample {
        at,
        node,
        local: diag.local,
        remote: diag.remote,
        congestion_window: bytes(info.congestion_window),
        slow_start_threshold: info.slow_start_threshold.map(bytes),
        retransmission_timeout: info.retransmission_timeout,
        smoothed_rtt: info.smoothed_rtt,
        bytes_in_flight: bytes(info.unacknowledged),
        retransmitted: info.retransmitted.into(),
        timeouts: info.timeouts.map(u64::from),
    });
}

/// Returns true if a program in the namespace listens: on TCP, or on an unconnected UDP socket with a port.
pub fn listening(namespace: BorrowedFd<'_>) -> io::Result<bool> {
    in_namespace(namespace, || {
        let mut diag = DiagSocket::open()?;
        let mut found = false;
        for family in Family::BOTH {
            diag.dump(Protocol::Tcp, family, StateFlags::LISTEN, |_| found = true)?;
            diag.dump(Protocol::Udp, family, StateFlags::CLOSE, |diag| {
                found |= diag.local.port != 0
            })?;
        }
        Ok(found)
    })
}
