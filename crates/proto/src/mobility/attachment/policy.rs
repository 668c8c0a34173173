//! Policies for the choice of a mobile's interface.

use super::{Decider, Handover, Timetable};
use crate::interface::{InterfaceId, LinkEvent};
use crate::mobility::attachment::failback::{Failback, FailbackTimes};
use crate::time::Instant;

/// A policy.
#[derive(Debug)]
pub enum Policy {
    /// Handovers at known times.
    Timetable(Timetable),
    /// The most preferred link that is up.
    Preference(Box<Preference>),
    /// An external decision.
    Decision(Box<Decider>),
}

/// Preference, with rules for leaving and returning ([`failback`](crate::mobility::attachment::failback)).
#[derive(Debug)]
pub struct Preference {
    failback: Failback,
    /// Interfaces by rank.
    interfaces: Vec<InterfaceId>,
}

impl Preference {
    /// Creates a preference for `interfaces`, the best first.
    pub fn new(times: FailbackTimes, interfaces: Vec<InterfaceId>) -> Preference {
        Preference {
            failback: Failback::new(times, interfaces.len(), Instant::ZERO),
            interfaces,
        }
    }
}

impl Preference {
    /// Holds the mobile to an interface, as long as its link is up, or to none; returns false for an interface outside
    /// the preference.
    pub(super) fn hold_to(&mut self, now: Instant, interface: Option<InterfaceId>) -> bool {
        let rank_of = |interface| self.interfaces.iter().position(|known| *known == interface);
        let rank = interface.map(rank_of);
        if rank == Some(None) {
            return false;
        }
        self.failback.hold_to(now, rank.flatten());
        true
    }

    pub(super) fn set_times(&mut self, times: FailbackTimes) {
        self.failback.set_times(times);
    }
}

/// A handover that a policy wants.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    /// Start of the handover; if the link was lost, the time of the loss.
    pub at: Instant,
    pub to: Option<InterfaceId>,
    /// Course of the handover; `None` if the link is lost with all packets in it.
    pub handover: Option<Handover>,
}

/// The interface and the radio network in use, or about to be.
#[derive(Clone, Copy, Debug)]
pub(super) struct InUse {
    pub interface: Option<InterfaceId>,
    pub network: Option<InterfaceId>,
}

impl Policy {
    /// Returns the interface to begin with, among those whose links are `up`.
    pub(super) fn first(&mut self, now: Instant, up: &[InterfaceId]) -> Option<InterfaceId> {
        match self {
            Policy::Timetable(timetable) => timetable.first(),
            Policy::Preference(preference) => {
                let Preference {
                    failback,
                    interfaces,
                } = &mut **preference;
                for (rank, interface) in interfaces.iter().enumerate() {
                    failback.handle_link(now, rank, up.contains(interface));
                }
                interfaces.get(failback.begin()).copied()
            }
            Policy::Decision(decider) => decider.first(now, up),
        }
    }

    /// Takes in an event of a link.
    pub(super) fn handle_link(
        &mut self,
        now: Instant,
        (interface, event): (InterfaceId, LinkEvent),
        used: InUse,
    ) {
        match self {
            Policy::Timetable(_) => {}
            Policy::Preference(preference) => {
                let Preference {
                    failback,
                    interfaces,
                } = &mut **preference;
                let Some(rank) = interfaces.iter().position(|known| *known == interface) else {
                    return;
                };
                match event {
                    LinkEvent::Up => failback.handle_link(now, rank, true),
                    LinkEvent::Down => failback.handle_link(now, rank, false),
                    LinkEvent::GoingDown => failback.handle_going_down(now, rank, true),
                    LinkEvent::Rollback => failback.handle_going_down(now, rank, false),
                    _ => {}
                }
            }
            Policy::Decision(decider) => decider.handle_link(now, (interface, event), used),
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Policy::Timetable(timetable) => timetable.poll_timeout(),
            Policy::Preference(preference) => preference.failback.poll_timeout(),
            Policy::Decision(decider) => decider.poll_timeout(),
        }
    }

    /// Returns the handover that is due, if any, and counts it as made.
    pub(super) fn poll(&mut self, now: Instant, used: InUse) -> Option<Due> {
        match self {
            Policy::Timetable(timetable) => timetable.poll(now),
            Policy::Preference(preference) => {
                let Preference {
                    failback,
                    interfaces,
                } = &mut **preference;
                let switch = failback.poll(now)?;
                let is_soft = switch.lost_at.is_none();
                Some(Due {
                    at: switch.lost_at.unwrap_or(now),
                    to: interfaces.get(switch.to).copied(),
                    handover: is_soft.then_some(Handover::MAKE_BEFORE_BREAK),
                })
            }
            Policy::Decision(decider) => decider.poll(now, used),
        }
    }
}
