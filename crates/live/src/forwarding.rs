//! The forwarding thread's work: packets from the kernels to the world, and from the world to the kernels, each at its
//! time.

mod exit;

use crate::clock::{Lateness, RealClock};
use crate::namespace::RealHost;
use crate::priority;
use baton_linux::offload::LONGEST_FRAME;
use baton_linux::readiness::wait_readable;
use baton_proto::time::{Duration, Instant};
use baton_sim::run::{Run, RunError};
use baton_sim::world::ports::{InterfaceEvent, PortId};
use exit::Exit;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Number of packets taken from one interface after which the others have their turn.
const BATCH: usize = 16;
/// Maximum length of a packet from a kernel.
const LONGEST_PACKET: usize = 65_536;
/// Maximum time without a sleep. The kernel's guard against starvation would stop a real-time thread that never sleeps
/// for a twentieth of each second, so the thread pauses by itself, often and briefly: a fifteenth of its time.
const LONGEST_AWAKE: Duration = Duration::from_millis(1);
const PAUSE: std::time::Duration = std::time::Duration::from_micros(70);
/// Longest wait that is spun: the kernel wakes sleepers some tens of microseconds late.
const AWAKE: Duration = Duration::from_micros(150);

/// Reason for the failure of forwarding.
#[derive(Debug, thiserror::Error)]
pub enum ForwardingError {
    /// The world.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A device or an interface.
    #[error("a real host's interface fails: {0}")]
    Interface(#[from] io::Error),
    /// A Python class that decides.
    #[error("{0}")]
    Decision(String),
    /// The wait for packets or for programs.
    #[error(transparent)]
    Wait(io::Error),
}

/// Real hosts, and the place of each of the world's ports among them.
pub struct Hosts {
    /// The hosts.
    pub hosts: Vec<RealHost>,
    /// Host and interface of each port.
    pub places: Vec<(usize, usize)>,
    /// Host of each node of the scenario.
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
    /// Lateness of packets handed over.
    pub lateness: Lateness,
    /// Packets that a kernel did not take, because its interface was down.
    pub not_taken: u64,
    /// True if this thread has priority over others.
    pub has_priority: bool,
    /// Time of this thread's last sleep.
    rested: Instant,
    /// The ways out of the world, by port.
    exits: Vec<Exit>,
    /// A frame of a kernel, and one packet of it.
    incoming: Vec<u8>,
    segment: Vec<u8>,
    outgoing: Vec<u8>,
}

impl<'a> Forwarding<'a> {
    /// Creates the forwarding, by the calling thread, of a world at its time zero, which is the clock's.
    pub fn new(run: Run, hosts: &'a mut Hosts, clock: RealClock) -> Forwarding<'a> {
        let exits = hosts.places.iter().map(|_| Exit::default()).collect();
        Forwarding {
            run,
            hosts,
            clock,
            lateness: Lateness::default(),
            not_taken: 0,
            has_priority: priority::raise(),
            rested: Instant::ZERO,
            exits,
            incoming: vec![0; LONGEST_FRAME],
            segment: vec![0; LONGEST_PACKET],
            outgoing: Vec::with_capacity(LONGEST_PACKET),
        }
    }

    /// Does all work that is due; returns true if there was any.
    ///
    /// # Errors
    /// Errors of the world and of the interfaces.
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

    /// Sleeps until shortly before the world's next event, until a kernel sends a packet, or until one of the `others`
    /// is readable; at most for this time.
    ///
    /// # Errors
    /// The wait fails.
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

    /// Passes the world's output to the kernels.
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
            let exit = &mut self.exits[delivery.port.0];
            self.not_taken += exit.add(delivery.at, &self.outgoing, tun)?;
        }
        for (exit, &(host, interface)) in self.exits.iter_mut().zip(&self.hosts.places) {
            let tun = &self.hosts.hosts[host].interfaces[interface].tun;
            self.not_taken += exit.flush(tun)?;
        }
        Ok(busy)
    }

    /// Takes in a kernel's packets. Those that it passes as one frame enter the world one by one, at the same time: a
    /// link's queue, its losses and its rate act on each.
    fn take_in(&mut self, port: PortId) -> Result<bool, ForwardingError> {
        let (host, interface) = self.hosts.places[port.0];
        let mut taken = 0;
        while taken < BATCH {
            let tun = &self.hosts.hosts[host].interfaces[interface].tun;
            let Some(mut packets) = tun.receive(&mut self.incoming)? else {
                return Ok(taken > 0);
            };
            // Events due before this frame's arrival come before it.
            self.run.advance_to(self.clock.now())?;
            while let Some(length) = packets.write_next(&mut self.segment)? {
                self.run.world_mut().inject(port, &self.segment[..length]);
                taken += 1;
            }
        }
        Ok(true)
    }

    /// Returns the number of frames that kernels passed and that have no valid segmentation.
    pub fn malformed(&self) -> u64 {
        let interfaces = self.hosts.hosts.iter().flat_map(|host| &host.interfaces);
        interfaces.map(|interface| interface.tun.malformed()).sum()
    }
}

/// Applies the world's commands to real interfaces.
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
