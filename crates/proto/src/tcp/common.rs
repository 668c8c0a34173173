//! State shared by all parts of a connection.

use super::clock::TimestampClock;
use super::options::{Negotiated, TIMESTAMPS_LENGTH};
use super::profile::{Profile, Recovery};
use super::timer::TimerTable;
use super::{Event, Statistics};
use crate::time::{Duration, Instant};

/// Profile, negotiated options, timers, events and counters, lent to each part of the connection.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Common {
    pub(super) events: Events,
    pub(super) negotiated: Negotiated,
    pub(super) timers: TimerTable,
    pub(super) clock: TimestampClock,
    pub(super) profile: Profile,
    pub(super) statistics: Statistics,
}

impl Common {
    pub(super) fn new(profile: &Profile, now: Instant, timestamp_origin: u32) -> Common {
        Common {
            events: Events::default(),
            negotiated: Negotiated {
                peer_segment_size: u16::MAX,
                ..Negotiated::default()
            },
            timers: TimerTable::new(profile),
            clock: TimestampClock::new(now, timestamp_origin),
            profile: profile.clone(),
            statistics: Statistics::default(),
        }
    }

    pub(super) fn recovers_as_linux(&self) -> bool {
        self.profile.recovery == Recovery::Linux
    }

    /// Returns the length of the timestamps option in each segment, in bytes.
    pub(super) fn timestamps_length(&self) -> u32 {
        match self.negotiated.timestamps {
            true => TIMESTAMPS_LENGTH,
            false => 0,
        }
    }

    /// Returns Linux's shortest delay of an ACK, where its rules apply.
    pub(super) fn quick_acks(&self) -> Option<Duration> {
        self.profile.delayed_ack.filter(|_| self.profile.quick_acks)
    }
}

/// Events in the order of their report.
const EVENT_ORDER: [Event; 8] = [
    Event::Connected,
    Event::Readable,
    Event::Writable,
    Event::PeerClosed,
    Event::Closed,
    Event::Refused,
    Event::Reset,
    Event::TimedOut,
];

/// Events not yet reported to the application, each at most once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Events(u16);

impl Events {
    pub(super) fn report(&mut self, event: Event) {
        if let Some(index) = EVENT_ORDER.iter().position(|known| *known == event) {
            self.0 |= 1 << index;
        }
    }

    /// Takes the first one.
    pub(super) fn poll(&mut self) -> Option<Event> {
        let index = self.0.trailing_zeros() as usize;
        let event = EVENT_ORDER.get(index).copied()?;
        self.0 &= !(1 << index);
        Some(event)
    }
}
