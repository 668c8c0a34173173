//! Networks for tests. A [`Net`] carries messages among machines and jumps from event to event, so that a test reads
//! as a timeline. Its machines may be of any size: whole hosts ([`Hosts`]), the two ends of a connection, or the agents
//! of a protocol.

mod hosts;

pub use hosts::{Arriving, Entering, Hop, Hosts, Logged, Passage, Sent, address};

use crate::time::{Duration, Instant};
use core::ops::{Deref, DerefMut};
use std::collections::BTreeMap;

/// Most steps without a passing of time: more are a storm.
const MOST_STEPS_AT_ONCE: u32 = 10_000;

/// Machines of a network, and the ways between them.
pub trait Machines {
    /// A message under way, with the place of its arrival.
    type Message;

    /// Returns the earliest deadline of all machines.
    fn poll_timeout(&mut self) -> Option<Instant>;

    /// Serves all deadlines that are due.
    fn handle_timeout(&mut self, now: Instant);

    /// Delivers a message.
    fn handle_arrival(&mut self, message: Self::Message, wires: &mut Wires<Self::Message>);

    /// Drains all machines: sends what they have to send, and records their events.
    fn settle(&mut self, wires: &mut Wires<Self::Message>);
}

/// Messages under way, in order of arrival; of those that arrive together, the first sent is the first.
pub struct Wires<M> {
    now: Instant,
    sent: u64,
    under_way: BTreeMap<(Instant, u64), M>,
}

/// Machines, the messages between them, and the present time. A test calls the machines as the fields and methods of
/// the network, then lets it run.
pub struct Net<M: Machines = Hosts> {
    /// Messages under way.
    pub wires: Wires<M::Message>,
    machines: M,
    steps_at_once: u32,
}

/// Returns the time of so many milliseconds.
pub fn at(milliseconds: u64) -> Instant {
    Instant::from_millis(milliseconds)
}

impl<M> Wires<M> {
    /// Returns the present time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Sends a message that arrives after this time.
    pub fn send(&mut self, message: M, after: Duration) {
        self.under_way
            .insert((self.now + after, self.sent), message);
        self.sent += 1;
    }

    /// Loses the message that would arrive next.
    pub fn lose_next(&mut self) {
        self.under_way.pop_first();
    }

    /// Loses all messages.
    pub fn lose_all(&mut self) {
        self.under_way.clear();
    }

    /// Returns the messages under way, in order of arrival.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut M> {
        self.under_way.values_mut()
    }

    fn next_arrival(&self) -> Option<Instant> {
        self.under_way.keys().next().map(|&(at, _)| at)
    }

    /// Removes a message that is due.
    fn arrived(&mut self) -> Option<M> {
        let first = self.under_way.first_entry()?;
        (first.key().0 <= self.now).then(|| first.remove())
    }
}

impl<M: Machines> Net<M> {
    /// Creates a network of these machines at time zero.
    pub fn of(machines: M) -> Net<M> {
        Net {
            wires: Wires {
                now: Instant::ZERO,
                sent: 0,
                under_way: BTreeMap::new(),
            },
            machines,
            steps_at_once: 0,
        }
    }

    /// Returns the present time.
    pub fn now(&self) -> Instant {
        self.wires.now
    }

    /// Delivers a message at the present time.
    pub fn arrive(&mut self, message: M::Message) {
        self.machines.handle_arrival(message, &mut self.wires);
        self.settle();
    }

    /// Drains all machines at the present time.
    pub fn settle(&mut self) {
        self.machines.settle(&mut self.wires);
    }

    /// Runs until a time.
    pub fn run_until(&mut self, until: Instant) {
        while self.step(until) {}
    }

    /// Runs for a duration.
    pub fn run_for(&mut self, time: Duration) {
        self.run_until(self.now() + time);
    }

    /// Runs until nothing more happens, which must be before a time.
    pub fn run_to_rest(&mut self, limit: Instant) {
        while self.advance(limit) {}
        let left = self.wires.under_way.len();
        assert!(
            left == 0,
            "not at rest at {limit}: {left} messages under way"
        );
    }

    /// Runs to the next arrival or deadline; if there is none up to `until`, runs to that time and returns false.
    pub fn step(&mut self, until: Instant) -> bool {
        let has_advanced = self.advance(until);
        if !has_advanced {
            self.wires.now = self.wires.now.max(until);
        }
        has_advanced
    }

    fn advance(&mut self, until: Instant) -> bool {
        self.settle();
        let next = [self.wires.next_arrival(), self.machines.poll_timeout()];
        let Some(next) = next
            .into_iter()
            .flatten()
            .min()
            .filter(|&next| next <= until)
        else {
            return false;
        };
        self.steps_at_once = match next > self.now() {
            true => 0,
            false => self.steps_at_once + 1,
        };
        assert!(
            self.steps_at_once < MOST_STEPS_AT_ONCE,
            "no time passes at {}",
            self.now()
        );
        self.wires.now = self.wires.now.max(next);
        while let Some(message) = self.wires.arrived() {
            self.arrive(message);
        }
        self.machines.handle_timeout(self.wires.now);
        true
    }
}

impl<M: Machines> Deref for Net<M> {
    type Target = M;

    fn deref(&self) -> &M {
        &self.machines
    }
}

impl<M: Machines> DerefMut for Net<M> {
    fn deref_mut(&mut self) -> &mut M {
        &mut self.machines
    }
}
