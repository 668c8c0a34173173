//! Aircraft: radios tuned to one cell at a time.

use super::frame::Multiframe;
use super::queue::{Class, Ended};
use crate::link::cells::{CellId, Direction};
use crate::position::{Position, Track};
use baton_proto::time::Instant;
use std::sync::Arc;

/// An aircraft's state towards the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attachment {
    /// Without a cell; the aircraft listens for one at each superframe in which one can have come into reach.
    Searching,
    /// Entering a cell, in a handover from another one.
    Entering {
        /// New cell.
        to: CellId,
        /// Old cell.
        from: Option<CellId>,
        /// Failed random accesses.
        attempt: u32,
    },
    /// Registered in a cell.
    Registered {
        /// Serving cell.
        cell: CellId,
        /// Its place among the cell's aircraft, which determines its slots.
        place: u32,
        /// Progress of a handover.
        phase: Phase,
    },
}

/// Progress of a handover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Signal above Th1.
    Steady,
    /// Report below Th1; the base station will broadcast ACB and STB.
    Reported,
    /// Scanning of one neighbour per superframe, next this one.
    Scanning(u16),
    /// Decision of the base station, which sends HO_COM in this multiframe or later.
    Decided {
        /// New cell.
        to: CellId,
        /// Earliest multiframe.
        due: Multiframe,
    },
    /// HO_COM with the P-bit sent.
    Draining {
        /// New cell.
        to: CellId,
        /// True if the signal is below Th2.
        forced: bool,
    },
    /// HO_COM without the P-bit sent; there are no further grants.
    Leaving {
        /// New cell.
        to: CellId,
    },
}

/// An aircraft.
#[derive(Debug)]
pub struct Station {
    track: Arc<Track>,
    /// State towards the network.
    pub attachment: Attachment,
    /// Random accesses so far, for its draws.
    pub accesses: u32,
    /// True if Link_Going_Down was reported because no other cell is in sight.
    pub is_alone: bool,
    /// Time of its next measurement; a task of another time is stale.
    pub measures_at: Instant,
    /// True if it is on its cell's list of aircraft with data to request.
    pub wants: bool,
    queues: [Queue; 2],
}

/// Packets waiting in one direction.
#[derive(Debug)]
pub struct Queue {
    /// Classes by priority, the highest first.
    classes: Box<[Class]>,
    /// Multiframe in which the sender knows the latest fragment's fate.
    pub known: Multiframe,
    allowance_bits: u32,
    allowance_of: Multiframe,
}

impl Station {
    /// Creates an aircraft without a cell.
    pub fn new(track: Arc<Track>) -> Station {
        let queue = || Queue {
            classes: Box::default(),
            known: Multiframe(0),
            allowance_bits: 0,
            allowance_of: Multiframe(0),
        };
        Station {
            track,
            attachment: Attachment::Searching,
            accesses: 0,
            is_alone: false,
            measures_at: Instant::NEVER,
            wants: false,
            queues: [queue(), queue()],
        }
    }

    /// Returns its position.
    pub fn position(&self, at: Instant) -> Position {
        self.track.position(at)
    }

    /// Returns its track.
    pub fn track(&self) -> &Track {
        &self.track
    }

    /// Returns the queue of a direction.
    pub fn queue(&self, direction: Direction) -> &Queue {
        &self.queues[direction as usize]
    }

    /// Returns the queue of a direction.
    pub fn queue_mut(&mut self, direction: Direction) -> &mut Queue {
        &mut self.queues[direction as usize]
    }

    /// Returns the cell in which it is registered, and its place there.
    pub fn registration(&self) -> Option<(CellId, u32)> {
        match self.attachment {
            Attachment::Registered { cell, place, .. } => Some((cell, place)),
            _ => None,
        }
    }

    /// Returns the progress of its handover, if it is registered.
    pub fn phase_mut(&mut self) -> Option<&mut Phase> {
        match &mut self.attachment {
            Attachment::Registered { phase, .. } => Some(phase),
            _ => None,
        }
    }

    /// Returns true if the scheduler may give it a grant.
    pub fn is_served(&self) -> bool {
        match self.attachment {
            Attachment::Registered { phase, .. } => !matches!(phase, Phase::Leaving { .. }),
            _ => false,
        }
    }
}

impl Queue {
    /// Returns the class of a priority, creating it if needed.
    pub fn class_mut(&mut self, priority: u8) -> &mut Class {
        let place = self
            .classes
            .partition_point(|class| class.priority > priority);
        if self
            .classes
            .get(place)
            .is_none_or(|class| class.priority != priority)
        {
            let mut classes = core::mem::take(&mut self.classes).into_vec();
            // Mostly there is only this one.
            classes.reserve_exact(1);
            classes.insert(place, Class::new(priority));
            self.classes = classes.into();
        }
        &mut self.classes[place]
    }

    /// Returns the class of a priority, if a packet was ever offered there.
    pub fn class(&self, priority: u8) -> Option<&Class> {
        self.classes.iter().find(|class| class.priority == priority)
    }

    /// Returns all classes, the highest priority first.
    pub fn classes_mut(&mut self) -> impl Iterator<Item = &mut Class> {
        self.classes.iter_mut()
    }

    /// Returns true if no packet waits.
    pub fn is_empty(&self) -> bool {
        self.classes.iter().all(Class::is_empty)
    }

    /// Returns true if data must be requested.
    pub fn is_wanting(&self) -> bool {
        self.classes.iter().any(Class::is_wanting)
    }

    /// Returns the bytes not granted yet.
    pub fn waiting(&self) -> u32 {
        self.classes.iter().map(Class::waiting).sum()
    }

    /// Returns the packets and bytes that have not arrived.
    pub fn size(&self) -> (u32, u32) {
        let sizes = self.classes.iter().map(Class::size);
        sizes.fold((0, 0), |sum, size| (sum.0 + size.0, sum.1 + size.1))
    }

    /// Ends the transmissions of the old cell; see [`Class::leave`].
    pub fn leave(&mut self, now: Instant, kept: bool, wanting: bool, ended: &mut Vec<Ended>) {
        for class in &mut self.classes {
            class.leave(now, kept, wanting, ended);
        }
        self.known = Multiframe(0);
    }

    /// Returns the bytes that the aircraft's rate allows in a multiframe. Of the previous one's unused allowance less
    /// than a frame is carried over.
    pub fn allowance(&mut self, multiframe: Multiframe, quantum_bits: u32, frame_bits: u32) -> u32 {
        if self.allowance_of != multiframe {
            self.allowance_of = multiframe;
            self.allowance_bits = self.allowance_bits.min(frame_bits) + quantum_bits;
        }
        self.allowance_bits / 8
    }

    /// Deducts bytes from the allowance.
    pub fn use_allowance(&mut self, bytes: u32) {
        self.allowance_bits -= bytes * 8;
    }
}
