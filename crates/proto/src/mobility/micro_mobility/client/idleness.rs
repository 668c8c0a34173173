//! Idleness of a mobile: after a time without packets it refreshes no path, and is paged.

use super::LIFETIME;
use crate::interface::InterfaceId;
use crate::time::{Duration, Instant};

/// Settings of a mobile that may be idle.
#[derive(Clone, Debug)]
pub struct IdleConfig {
    /// Time without packets after which the mobile is idle; above zero.
    pub active_timeout: Duration,
    /// Time between the paging updates of an idle mobile; above zero.
    pub paging_update: Duration,
    /// Paging area of each access interface within the domain, as from its base station's beacons.
    pub areas: Vec<(InterfaceId, usize)>,
}

/// State of a mobile that may be idle.
#[derive(Debug)]
pub(super) struct Idleness {
    config: IdleConfig,
    is_idle: bool,
    last_packet: Instant,
    /// Time of the next look at the last packet's; `None` while the mobile is idle.
    check_at: Option<Instant>,
    /// Time until which routers may have entries of the last path.
    routed_until: Instant,
    /// Area and time of the last paging update.
    told: Option<(usize, Instant)>,
}

impl Idleness {
    pub fn new(config: IdleConfig) -> Idleness {
        Idleness {
            config,
            is_idle: false,
            last_packet: Instant::ZERO,
            check_at: None,
            routed_until: Instant::ZERO,
            told: None,
        }
    }

    pub fn is_idle(&self) -> bool {
        self.is_idle
    }

    /// Takes in a packet of the mobile, or a handoff: it is active. Returns true if it was idle.
    pub fn be_active(&mut self, now: Instant) -> bool {
        self.last_packet = now;
        let timeout = self.config.active_timeout;
        self.check_at.get_or_insert(now + timeout);
        core::mem::take(&mut self.is_idle)
    }

    /// Notes that a path has been set up or refreshed.
    pub fn note_path(&mut self, now: Instant, refresh: Duration) {
        // One interval more, for a message on its way.
        self.routed_until = now + refresh.saturating_mul(LIFETIME + 1);
    }

    /// Returns true if the mobile may move without a handoff: it is idle, and no router has an entry that would be wrong.
    pub fn moves_freely(&self, now: Instant) -> bool {
        self.is_idle && self.routed_until <= now
    }

    /// Returns the time of the next paging update after a move to an interface: at once in another area.
    pub fn next_update(&self, now: Instant, interface: InterfaceId) -> Instant {
        match self.told {
            Some((area, at)) if Some(area) == self.area(interface) => {
                now.max(at + self.config.paging_update)
            }
            _ => now,
        }
    }

    /// Notes a paging update, and returns the time of the next.
    pub fn note_update(&mut self, now: Instant, interface: InterfaceId) -> Instant {
        self.told = self.area(interface).map(|area| (area, now));
        now + self.config.paging_update
    }

    fn area(&self, interface: InterfaceId) -> Option<usize> {
        let mut areas = self.config.areas.iter();
        let found = areas.find(|(known, _)| *known == interface);
        found.map(|&(_, area)| area)
    }

    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout).
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.check_at
    }

    /// Ends the mobile's activity if its last packet was long ago, and returns true if so. A mobile that `is_busy`
    /// setting up a path stays active.
    pub fn handle_timeout(&mut self, now: Instant, is_busy: bool) -> bool {
        if self.check_at.is_none_or(|at| now < at) {
            return false;
        }
        let timeout = self.config.active_timeout;
        let end = self.last_packet + timeout;
        self.is_idle = end <= now && !is_busy;
        self.check_at = match self.is_idle {
            true => None,
            false if end <= now => Some(now + timeout),
            false => Some(end),
        };
        self.is_idle
    }
}
