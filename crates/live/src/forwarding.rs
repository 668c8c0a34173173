//! The forwarding thread's work: packets from the kernels into the world, packets from the world to the kernels,
//! each at its time.

use crate::clock::{Lateness, RealClock};
use crate::namespace::RealHost;
use crate::priority;
use baton_linux::readiness::wait_readable;
use baton_proto::time::{Duration, Instant};
use baton_sim::run::{Run, RunError};
use baton_sim::world::ports::{InterfaceEvent, PortId};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Packets taken from one interface before the others have their turn.
const BATCH: usize = 16;
/// Longest packet that a kernel may send.
const LONGEST_PACKET: usize = 65_536;
/// A thread of the real-time class that never sleeps would be stopped for a twentieth of a second in each second, by
/// the kernel's guard against starving others. So it pauses by itself, often and shortly: a fifteenth of its time.
const LONGEST_AWAKE: Duration = Duration::from_millis(1);
const PAUSE: std::time::Duration = std::time::Duration::from_micros(70);
/// Longest wait that is spent awake: the kernel wakes sleepers some tens of microseconds late.
const AWAKE: Duration = Duration::from_micros(150);

/// Reason for the end of forwarding.
#[derive(Debug, thiserror::Error)]
pub enum ForwardingError {
    /// The world.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A device or an interface.
    #[error("a real host's interface fails: {0}")]
    Interface(#[from] io::Error),
    /// A class in Python that decides.
    #[error("{0}")]
    Decision(String),
    /// The wait for packets or for programs.
    #[error(transparent)]
    Wait(io::Error),
}

/// Real hosts, and where each port of the world stands among them.
pub struct Hosts {
    /// The hosts.
    pub hosts: Vec<RealHost>,
    /// For each port its host and interface.
    pub places: Vec<(usize, usize)>,
    /// For each node of the scenario its host.
    pub of_node: Vec<Option<usize>>,
}

/// Forwards between a world and real hosts.
pub struct Forwarding<'a> {
    /// The world.
    pub run: Run,
    /// The hosts.
    pub hosts: &'a mut Hosts,
    /// Real time.
    pub clock: RealClock,
    /// Lateness with which packets were handed over.
    pub lateness: Lateness,
    /// Packets that a kernel did not take: its interface was down.
    pub not_taken: u64,
    /// True if this thread goes before others.
    pub has_priority: bool,
    /// Time of this thread's last sleep.
    rested: Instant,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
}

impl<'a> Forwarding<'a> {
    /// A world at its time zero, which is the clock's, forwarded by the calling thread.
    pub fn new(run: Run, hosts: &'a mut Hosts, clock: RealClock) -> Forwarding<'a> {
        Forwarding {
            run,
            hosts,
            clock,
            lateness: Lateness::default(),
            not_taken: 0,
            has_priority: priority::raise(),
            rested: Instant::ZERO,
            incoming: vec![0; LONGEST_PACKET],
            outgoing: Vec::with_capacity(LONGEST_PACKET),
        }
    }

    /// Does all that is due; returns whether there was anything.
    ///
    /// # Errors
    /// The world's and the interfaces'.
    pub fn turn(&mut self) -> Result<bool, ForwardingError> {
        let now = self.clock.now();
        if now.saturating_since(self.rested) > LONGEST_AWAKE {
            std::thread::sleep(PAUSE);
            self.rested = now;
        }
        self.run.advance_to(self.clock.now())?;
        let mut busy = self.hand_over()?;
        for port in 0..self.hosts.places.len() {
            busy |= self.take_in(PortId(port))?;
        }
        Ok(busy)
    }

    /// Sleeps until shortly before the next thing that the world has to do, a packet from a kernel, or one of the
    /// `others` is readable; at most for this time.
    ///
    /// # Errors
    /// A wait that fails.
    pub fn rest(
        &mut self,
        others: &[BorrowedFd<'_>],
        most: Duration,
    ) -> Result<(), ForwardingError> {
        let now = self.clock.now();
        let left = match self.run.next_time() {
            Some(due) => due.saturating_since(now).min(most),
            None => most,
        };
        if left <= AWAKE {
            return Ok(());
        }
        let interfaces = self.hosts.hosts.iter().flat_map(|host| &host.interfaces);
        let devices = interfaces.map(|interface| interface.tun.as_fd());
        let waited: Vec<BorrowedFd<'_>> = others.iter().copied().chain(devices).collect();
        let time = std::time::Duration::from_nanos((left - AWAKE).as_nanos());
        wait_readable(&waited, time).map_err(ForwardingError::Wait)?;
        self.rested = self.clock.now();
        Ok(())
    }

    /// Hands over what has come out of the world.
    fn hand_over(&mut self) -> Result<bool, ForwardingError> {
        let mut busy = false;
        while let Some(event) = self.run.world_mut().poll_interface_event() {
            busy = true;
            apply(self.hosts, event)?;
        }
        while let Some(delivery) = self.run.world_mut().poll_delivery() {
            busy = true;
            self.outgoing.clear();
            delivery.packet.encode_damaged(&mut self.outgoing);
            let (host, interface) = self.hosts.places[delivery.port.0];
            let tun = &self.hosts.hosts[host].interfaces[interface].tun;
            self.lateness
                .note(self.clock.now().saturating_since(delivery.at));
            if !tun.send(&self.outgoing)? {
                self.not_taken += 1;
            }
        }
        Ok(busy)
    }

    /// Takes in what a kernel has sent.
    fn take_in(&mut self, port: PortId) -> Result<bool, ForwardingError> {
        let (host, interface) = self.hosts.places[port.0];
        for taken in 0..BATCH {
            let tun = &self.hosts.hosts[host].interfaces[interface].tun;
            let Some(length) = tun.receive(&mut self.incoming)? else {
                return Ok(taken > 0);
            };
            // Events that were due before this packet came happen before it.
            self.run.advance_to(self.clock.now())?;
            self.run.world_mut().inject(port, &self.incoming[..length]);
        }
        Ok(true)
    }
}

/// Does with real interfaces what the world has decided.
fn apply(hosts: &mut Hosts, event: InterfaceEvent) -> io::Result<()> {
    let place = |port: PortId| hosts.places[port.0];
    match event {
        InterfaceEvent::Up(port) => {
            let (host, interface) = place(port);
            hosts.hosts[host].raise(interface)
        }
        InterfaceEvent::Down(port) => {
            let (host, interface) = place(port);
            hosts.hosts[host].lower(interface)
        }
        InterfaceEvent::Default { port, .. } => {
            let (host, interface) = place(port);
            hosts.hosts[host].set_default_route(interface)
        }
        InterfaceEvent::Mtu(port, mtu) => {
            let (host, interface) = place(port);
            hosts.hosts[host].set_mtu(interface, mtu)
        }
    }
}
