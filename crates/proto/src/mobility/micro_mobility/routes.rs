//! Host routes of a domain router: soft state, one entry for each mobile.

use crate::interface::InterfaceId;
use crate::mobility::clock::REPLAY_TOLERANCE;
use crate::time::{Duration, Instant};
use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet};

/// Ways to a mobile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Interface by which packets leave.
    pub interface: InterfaceId,
    /// Interface by which a copy of each leaves, ahead of a semisoft handoff and after one with MNF.
    pub second: Option<InterfaceId>,
    /// Interface of packets that have turned round below, and the one by which they leave (SSF).
    pub turned: Option<(InterfaceId, InterfaceId)>,
}

impl Route {
    /// Returns a route by one interface.
    pub const fn by(interface: InterfaceId) -> Route {
        Route {
            interface,
            second: None,
            turned: None,
        }
    }

    /// Returns the interface by which a packet leaves that has come by another.
    pub fn after(&self, arrived: InterfaceId) -> InterfaceId {
        match self.turned {
            Some((from, to)) if from == arrived => to,
            _ => self.interface,
        }
    }
}

/// The entries of a router, which live for a time after each message.
#[derive(Debug)]
pub(super) struct Routes {
    lifetime: Duration,
    entries: BTreeMap<Ipv4Addr, Entry>,
    deadlines: BTreeSet<(Instant, Ipv4Addr)>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// None after its expiry: only the timestamp is kept.
    route: Option<Route>,
    /// Time of the last copy, if copies end before the route.
    copies_until: Option<Instant>,
    timestamp: u64,
    /// Time of the expiry, and then of the end of the entry.
    deadline: Instant,
}

impl Routes {
    pub fn new(lifetime: Duration) -> Routes {
        Routes {
            lifetime,
            entries: BTreeMap::new(),
            deadlines: BTreeSet::new(),
        }
    }

    /// Returns the route to a mobile.
    pub fn get(&self, mobile: Ipv4Addr) -> Option<Route> {
        self.entries.get(&mobile)?.route
    }

    /// Returns the route of a packet to a mobile, without a second interface whose time is over.
    pub fn look_up(&mut self, now: Instant, mobile: Ipv4Addr) -> Option<Route> {
        let entry = self.entries.get_mut(&mobile)?;
        let route = entry.route.as_mut()?;
        if entry.copies_until.is_some_and(|until| until <= now) {
            route.second = None;
        }
        Some(*route)
    }

    /// Returns true if a timestamp is later than that of the last change of the mobile's entry.
    pub fn is_news(&self, mobile: Ipv4Addr, timestamp: u64) -> bool {
        let entry = self.entries.get(&mobile);
        entry.is_none_or(|entry| entry.timestamp < timestamp)
    }

    /// Leads packets for a mobile to an interface alone.
    pub fn set(&mut self, now: Instant, mobile: Ipv4Addr, timestamp: u64, interface: InterfaceId) {
        self.put(now, mobile, timestamp, Route::by(interface));
    }

    /// Leads packets for a mobile to an interface, and copies to a second one until a time.
    pub fn set_both(
        &mut self,
        now: Instant,
        mobile: Ipv4Addr,
        timestamp: u64,
        (interface, second): (InterfaceId, InterfaceId),
        until: Instant,
    ) {
        let route = Route {
            second: Some(second),
            ..Route::by(interface)
        };
        self.put(now, mobile, timestamp, route);
        if let Some(entry) = self.entries.get_mut(&mobile) {
            entry.copies_until = Some(until);
        }
    }

    /// Leads packets that have come back by the interface of the route to another one; all others stay. Packets of a
    /// mobile that has its route elsewhere, or none, go to the other one, too.
    pub fn turn(
        &mut self,
        now: Instant,
        mobile: Ipv4Addr,
        timestamp: u64,
        (back, to): (InterfaceId, InterfaceId),
    ) {
        let route = match self.get(mobile) {
            Some(route) if route.interface == back => Route {
                turned: Some((back, to)),
                ..Route::by(back)
            },
            _ => Route::by(to),
        };
        self.put(now, mobile, timestamp, route);
    }

    /// Leads copies of packets for a mobile to an interface, too.
    pub fn add(&mut self, now: Instant, mobile: Ipv4Addr, timestamp: u64, interface: InterfaceId) {
        let route = match self.get(mobile) {
            Some(route) if route.interface != interface => Route {
                second: Some(interface),
                ..route
            },
            _ => Route::by(interface),
        };
        self.put(now, mobile, timestamp, route);
    }

    fn put(&mut self, now: Instant, mobile: Ipv4Addr, timestamp: u64, route: Route) {
        let entry = Entry {
            route: Some(route),
            copies_until: None,
            timestamp,
            deadline: now + self.lifetime,
        };
        if let Some(before) = self.entries.insert(mobile, entry) {
            self.deadlines.remove(&(before.deadline, mobile));
        }
        self.deadlines.insert((entry.deadline, mobile));
    }

    /// Returns the time of the next expiry.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.deadlines.first().map(|&(at, _)| at)
    }

    /// Expires routes, and returns the mobiles that have lost theirs. A timestamp outlives its route for as long as its
    /// message could be replayed.
    pub fn expire(&mut self, now: Instant) -> Vec<Ipv4Addr> {
        let mut lost = Vec::new();
        while let Some(&(at, mobile)) = self.deadlines.first()
            && at <= now
        {
            self.deadlines.pop_first();
            let Some(entry) = self.entries.get_mut(&mobile) else {
                continue;
            };
            match entry.route.take() {
                Some(_) => {
                    entry.deadline = at + REPLAY_TOLERANCE + REPLAY_TOLERANCE;
                    self.deadlines.insert((entry.deadline, mobile));
                    lost.push(mobile);
                }
                None => {
                    self.entries.remove(&mobile);
                }
            }
        }
        lost
    }
}
