//! The sockets of one transport at one host: places, lookup by a connection's ends, ports, deadlines, and lists of connections with
//! events or packets to send.
//!
//! To drive a table, after any call that takes `&mut self`:
//! 1. Drain [`SocketTable::poll_event`].
//! 2. Send what each connection in [`SocketTable::ready`] has. One that has nothing more ends its turn, and rests until its deadline, until
//!    it is touched, or for ever.
//!
//! Only [`SocketTable::iter`] and [`SocketTable::touch_if`] walk all connections.

use super::inline_vec::InlineQueue;
use crate::tcp::Endpoint;
use crate::time::Instant;
use core::cmp::Reverse;
use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// First port given to connections that this host opens (IANA's dynamic ports begin here, RFC 6335).
pub const FIRST_EPHEMERAL_PORT: u16 = 49152;

/// A connection's two ends, the local one first.
pub type Pair = (Endpoint, Endpoint);

/// A connection in a [`SocketTable`].
pub trait Timed {
    /// Returns the time of the next action, as of the latest call.
    fn poll_timeout(&mut self) -> Option<Instant>;
}

/// A place in a table. Fields used for every packet come first.
#[derive(Debug)]
#[repr(C)]
struct Slot<C> {
    /// True while it is in the list of connections that may have an event.
    touched: bool,
    /// True while it is in the list of connections that may have a packet to send.
    ready: bool,
    connection: C,
    /// Deadline of its entry in the heap, if any.
    queued_deadline: Option<Instant>,
}

/// Connections of type `C`, numbered from zero, listeners of type `L`, and rarely used state `X` of their transport,
/// which is boxed to keep a host within a few cache lines. Fields used for every packet come first.
#[derive(Debug)]
#[repr(C)]
pub struct SocketTable<C, L, X = ()> {
    slots: Vec<Slot<C>>,
    touched: InlineQueue<u32>,
    ready: InlineQueue<u32>,
    /// Connections whose state may have changed.
    changed: InlineQueue<u32>,
    /// `None` until there is a connection, a listener or a bound port: most hosts of a fleet have none.
    tables: Option<Box<Tables<L, X>>>,
}

/// Tables of connections and ports.
#[derive(Debug)]
struct Tables<L, X> {
    /// Deadlines of all connections, if there are several.
    deadlines: BinaryHeap<Reverse<(Instant, u32)>>,
    by_pair: BTreeMap<Pair, u32>,
    /// Boxed, since a map makes room for eleven at once, and most hosts have one.
    listeners: BTreeMap<u16, Box<L>>,
    bound: BTreeSet<u16>,
    next_port: u16,
    /// Free places, for reuse.
    free: Vec<u32>,
    rare: X,
}

impl<L, X: Default> Default for Tables<L, X> {
    fn default() -> Tables<L, X> {
        Tables {
            deadlines: BinaryHeap::new(),
            by_pair: BTreeMap::new(),
            listeners: BTreeMap::new(),
            bound: BTreeSet::new(),
            next_port: FIRST_EPHEMERAL_PORT,
            free: Vec::new(),
            rare: X::default(),
        }
    }
}

impl<C, L, X> Default for SocketTable<C, L, X> {
    fn default() -> SocketTable<C, L, X> {
        SocketTable {
            slots: Vec::new(),
            touched: InlineQueue::default(),
            ready: InlineQueue::default(),
            changed: InlineQueue::default(),
            tables: None,
        }
    }
}

impl<C: Timed, L, X: Default> SocketTable<C, L, X> {
    fn tables(&mut self) -> &mut Tables<L, X> {
        self.tables.get_or_insert_default()
    }

    /// Returns the rarely used state, mutably.
    pub fn rare(&mut self) -> &mut X {
        &mut self.tables().rare
    }

    /// Adds a connection, and touches it.
    pub fn add(&mut self, connection: C) -> u32 {
        let slot = Slot {
            touched: false,
            ready: false,
            connection,
            queued_deadline: None,
        };
        let number = match self.tables().free.pop() {
            Some(number) => {
                self.slots[number as usize] = slot;
                number
            }
            None => {
                self.slots.push(slot);
                self.slots.len() as u32 - 1
            }
        };
        // While the first connection was the only one, the heap had no entry for it.
        if number == 1 && self.slots.len() == 2 {
            self.queue_deadline(0);
        }
        self.touch(number);
        number
    }

    /// Frees the place of a connection that is in no list any more, for the next connection that is added.
    pub fn free(&mut self, number: u32) {
        self.tables().free.push(number);
    }

    /// Returns a connection.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&C> {
        self.slots.get(number as usize).map(|slot| &slot.connection)
    }

    /// Returns a connection, mutably; it may have to be touched afterwards.
    #[inline]
    pub fn get_mut(&mut self, number: u32) -> Option<&mut C> {
        let slot = self.slots.get_mut(number as usize);
        slot.map(|slot| &mut slot.connection)
    }

    /// Returns two different connections, mutably.
    pub fn two_mut(&mut self, one: u32, other: u32) -> Option<[&mut C; 2]> {
        let places = [one as usize, other as usize];
        let slots = self.slots.get_disjoint_mut(places).ok()?;
        Some(slots.map(|slot| &mut slot.connection))
    }

    /// Returns all connections in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &C> {
        self.slots.iter().map(|slot| &slot.connection)
    }

    /// Applies a function to all connections in the order of their numbers, and touches those for which it returns true.
    pub fn touch_if(&mut self, mut act: impl FnMut(&mut C) -> bool) {
        for number in 0..self.slots.len() {
            if act(&mut self.slots[number].connection) {
                self.touch(number as u32);
            }
        }
    }

    /// Notes that a connection may have events, and then packets to send.
    #[inline]
    pub fn touch(&mut self, number: u32) {
        if let Some(slot) = self.slots.get_mut(number as usize)
            && !slot.touched
        {
            slot.touched = true;
            self.touched.push_back(number);
        }
    }

    /// Returns true for a connection that may have events.
    pub fn is_touched(&self, number: u32) -> bool {
        let slot = self.slots.get(number as usize);
        slot.is_some_and(|slot| slot.touched)
    }

    /// Returns the connection between two ends; the newest if there were several.
    pub fn find(&self, pair: &Pair) -> Option<u32> {
        self.tables.as_ref()?.by_pair.get(pair).copied()
    }

    /// Makes a connection findable by its ends.
    pub fn link(&mut self, pair: Pair, number: u32) {
        self.tables().by_pair.insert(pair, number);
    }

    /// Removes a connection from the lookup by these ends.
    pub fn unlink(&mut self, pair: &Pair, number: u32) {
        if self.find(pair) == Some(number) {
            self.tables().by_pair.remove(pair);
        }
    }

    /// Returns the next port for connections that this host opens, cyclically.
    pub fn next_port(&mut self) -> u16 {
        let next = &mut self.tables().next_port;
        let port = *next;
        *next = port.checked_add(1).unwrap_or(FIRST_EPHEMERAL_PORT);
        port
    }

    /// Returns a local port without a connection to `remote`; if all are in use, the oldest is taken over,
    /// which RFC 9293 section 3.4.2 allows once its sequence space has moved on.
    pub fn free_port(&mut self, address: IpAddr, remote: Endpoint) -> u16 {
        for _ in FIRST_EPHEMERAL_PORT..=u16::MAX {
            let port = self.next_port();
            if self.find(&(Endpoint { address, port }, remote)).is_none() {
                return port;
            }
        }
        self.tables().next_port
    }

    /// Binds a port.
    pub fn bind(&mut self, port: u16) {
        self.tables().bound.insert(port);
    }

    /// Returns true for a port that is bound.
    pub fn is_bound(&self, port: u16) -> bool {
        let tables = self.tables.as_ref();
        tables.is_some_and(|tables| tables.bound.contains(&port))
    }

    /// Puts a listener at a port; replaces the present one.
    pub fn listen(&mut self, port: u16, listener: L) {
        self.tables().listeners.insert(port, Box::new(listener));
    }

    /// Returns the listener at a port.
    pub fn listener(&self, port: u16) -> Option<&L> {
        self.tables.as_ref()?.listeners.get(&port).map(Box::as_ref)
    }

    /// Returns the listener at a port, mutably.
    pub fn listener_mut(&mut self, port: u16) -> Option<&mut L> {
        let tables = self.tables.as_mut()?;
        tables.listeners.get_mut(&port).map(Box::as_mut)
    }

    /// Returns all listeners.
    pub fn listeners(&self) -> impl Iterator<Item = &L> {
        let tables = self.tables.iter();
        tables.flat_map(|one| one.listeners.values().map(Box::as_ref))
    }

    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout).
    pub fn poll_timeout(&mut self) -> Option<Instant> {
        if let [only] = &mut self.slots[..] {
            return only.connection.poll_timeout();
        }
        while let Some(&Reverse((at, number))) = self.tables.as_ref()?.deadlines.peek() {
            let slot = &mut self.slots[number as usize];
            if slot.queued_deadline != Some(at) {
                self.pop_deadline();
                continue;
            }
            match slot.connection.poll_timeout() {
                Some(deadline) if deadline <= at => return Some(at),
                // The deadline has since become later: queue it again.
                later => {
                    slot.queued_deadline = None;
                    self.pop_deadline();
                    if later.is_some() {
                        self.queue_deadline(number);
                    }
                }
            }
        }
        None
    }

    /// Runs the actions of each connection with a deadline up to `now`, once.
    pub fn handle_timeout(&mut self, now: Instant, mut act: impl FnMut(&mut C)) {
        while self.poll_timeout().is_some_and(|at| at <= now) {
            let queued = self.pop_deadline();
            // The heap is empty if there is only one connection.
            let number = queued.unwrap_or(0);
            let slot = &mut self.slots[number as usize];
            slot.queued_deadline = None;
            act(&mut slot.connection);
            self.touch(number);
            if queued.is_none() {
                return;
            }
        }
    }

    /// Returns true if a connection may have an event.
    #[inline]
    pub fn may_have_event(&self) -> bool {
        self.touched.front().is_some()
    }

    /// Returns the next event; asks touched connections by `poll`.
    // See `Sockets::poll_event`.
    #[inline(always)]
    pub fn poll_event<E>(&mut self, mut poll: impl FnMut(&mut C) -> Option<E>) -> Option<(u32, E)> {
        while let Some(number) = self.touched.front() {
            let slot = &mut self.slots[number as usize];
            if let Some(event) = poll(&mut slot.connection) {
                return Some((number, event));
            }
            self.touched.pop_front();
            slot.touched = false;
            if !slot.ready {
                slot.ready = true;
                self.ready.push_back(number);
            }
        }
        None
    }

    /// Returns true if a connection may have a packet to send.
    #[inline]
    pub fn may_transmit(&self) -> bool {
        self.ready.front().is_some()
    }

    /// Returns the next connection that may have a packet to send.
    #[inline]
    pub fn ready(&mut self) -> Option<(u32, &mut C)> {
        let number = self.ready.front()?;
        Some((number, &mut self.slots[number as usize].connection))
    }

    /// Ends the turn of the connection that [`ready`](Self::ready) returns: it has nothing to send.
    #[inline]
    pub fn end_turn(&mut self) {
        if let Some(number) = self.ready.pop_front() {
            self.slots[number as usize].ready = false;
        }
    }

    /// Notes that a connection has changed and sends nothing before its deadline. [`poll_changed`](Self::poll_changed)
    /// returns it after those noted earlier.
    pub fn rest(&mut self, number: u32) {
        self.changed.push_back(number);
        self.queue_deadline(number);
    }

    /// Does the same as [`rest`](Self::rest), but [`poll_changed`](Self::poll_changed) returns this connection first.
    pub(super) fn rest_first(&mut self, number: u32) {
        self.changed.push_front(number);
        self.queue_deadline(number);
    }

    /// Returns a connection whose state may have changed since its last return here.
    #[inline]
    pub fn poll_changed(&mut self) -> Option<u32> {
        self.changed.pop_front()
    }

    fn pop_deadline(&mut self) -> Option<u32> {
        let Reverse((_, number)) = self.tables.as_mut()?.deadlines.pop()?;
        Some(number)
    }

    /// Ensures that the heap has an entry no later than the connection's deadline; a single connection needs none.
    #[inline]
    fn queue_deadline(&mut self, number: u32) {
        if self.slots.len() > 1 {
            self.push_deadline(number);
        }
    }

    fn push_deadline(&mut self, number: u32) {
        let slot = &mut self.slots[number as usize];
        let Some(deadline) = slot.connection.poll_timeout() else {
            return;
        };
        if slot.queued_deadline.is_none_or(|queued| deadline < queued) {
            slot.queued_deadline = Some(deadline);
            self.tables().deadlines.push(Reverse((deadline, number)));
        }
    }
}
