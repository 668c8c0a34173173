//! A timetable of handovers.

use super::Handover;
use super::policy::Due;
use crate::host::burst::Burst;
use crate::interface::InterfaceId;
use crate::time::{Duration, Instant};

/// A handover of a timetable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Start of the handover.
    pub at: Instant,
    /// The destination; `None` detaches.
    pub to: Option<InterfaceId>,
    /// Course of the handover.
    pub handover: Handover,
    /// Time from the old link's announcement of going down to the handover; `None` without an announcement.
    pub announced: Option<Duration>,
}

impl Entry {
    /// Returns the time of the entry's next action: the announcement, or else the start.
    fn next_moment(&self) -> Instant {
        let ahead = self.announced.unwrap_or_default();
        Instant::ZERO + self.at.saturating_since(Instant::ZERO + ahead)
    }
}

/// A timetable of handovers.
#[derive(Clone, Debug)]
pub struct Timetable {
    first: Option<InterfaceId>,
    entries: Burst<Entry>,
}

impl Timetable {
    /// Creates a timetable that begins at interface `first` and follows `entries`, ascending in time, with their jitter
    /// already drawn.
    pub fn new(first: Option<InterfaceId>, entries: Vec<Entry>) -> Timetable {
        Timetable {
            first,
            entries: entries.into(),
        }
    }

    pub(super) fn first(&self) -> Option<InterfaceId> {
        self.first
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.entries.front().map(Entry::next_moment)
    }

    /// Returns the destination of the next entry, once, when its announcement is due.
    pub(super) fn poll_announcement(&mut self, now: Instant) -> Option<Option<InterfaceId>> {
        let next = self.entries.front_mut()?;
        if next.announced.is_none() || next.next_moment() > now {
            return None;
        }
        next.announced = None;
        Some(next.to)
    }

    /// Returns the handover that is due.
    pub(super) fn poll(&mut self, now: Instant) -> Option<Due> {
        let entry = *self.entries.front().filter(|entry| entry.at <= now)?;
        self.entries.pop_front();
        Some(Due {
            at: now,
            to: entry.to,
            handover: Some(entry.handover),
        })
    }
}
