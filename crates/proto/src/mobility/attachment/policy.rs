//! Policies for the choice of a mobile's interface.

use super::{Decider, Handover, OldQueue, Timetable};
use crate::interface::{InterfaceId, LinkEvent, LinkParameters};
use crate::mobility::attachment::failback::{Failback, FailbackTimes, Preparation};
use crate::time::{Duration, Instant};

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
    /// Course of a handover from a link that works.
    handover: Handover,
}

impl Preference {
    /// Creates a preference for `interfaces`, the best first.
    pub fn new(times: FailbackTimes, interfaces: Vec<InterfaceId>) -> Preference {
        Preference {
            failback: Failback::new(times, interfaces.len(), Instant::ZERO),
            interfaces,
            handover: Handover::MAKE_BEFORE_BREAK,
        }
    }

    /// Makes the mobile break its link before it takes another, after an announcement to the node's other parts. The
    /// interval between the two is the longest round trip on the link that is left: its queue is full when the
    /// announcement comes, and is empty when the link breaks (study C, section IV: nothing is lost, and hardly any time).
    #[must_use]
    pub fn breaking_before_making(mut self) -> Preference {
        self.failback.prepare_switches();
        self.handover = Handover::Hard {
            outage: Duration::ZERO,
            old_queue: OldQueue::Discarded,
        };
        self
    }

    /// Takes in the parameters of an interface's link.
    fn handle_parameters(&mut self, interface: InterfaceId, link: LinkParameters) {
        if let Some(rank) = self.interfaces.iter().position(|known| *known == interface) {
            self.failback
                .set_preparation(rank, link.longest_round_trip());
        }
    }

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

/// A change in the announcement of the next handover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Announcement {
    /// The mobile will leave its link for this one, or for none.
    Leaves(Option<InterfaceId>),
    /// The mobile stays on its link after all.
    Stays,
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
                    ..
                } = &mut **preference;
                for (rank, interface) in interfaces.iter().enumerate() {
                    failback.handle_link(now, rank, up.contains(interface));
                }
                interfaces.get(failback.begin()).copied()
            }
            Policy::Decision(decider) => decider.first(now, up),
        }
    }

    /// Returns true if the mobile is on every link that is up, as a host with several interfaces is (RFC 6275 section
    /// 11.5.4: several care-of addresses, of which one is primary). A timetable says itself when the mobile comes to a link,
    /// and a mobile that breaks its link before it takes another is on one at a time.
    pub(super) fn keeps_links(&self) -> bool {
        match self {
            Policy::Timetable(_) => false,
            Policy::Preference(preference) => {
                matches!(preference.handover, Handover::Soft { .. })
            }
            Policy::Decision(_) => true,
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
                    ..
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

    /// Takes in the parameters of an interface's link.
    pub(super) fn handle_parameters(&mut self, interface: InterfaceId, link: LinkParameters) {
        if let Policy::Preference(preference) = self {
            preference.handle_parameters(interface, link);
        }
    }

    /// Returns the announcement that is due, or its withdrawal, once.
    pub(super) fn poll_announcement(&mut self, now: Instant) -> Option<Announcement> {
        match self {
            Policy::Timetable(timetable) => {
                timetable.poll_announcement(now).map(Announcement::Leaves)
            }
            Policy::Preference(preference) => {
                Some(match preference.failback.poll_preparation(now)? {
                    Preparation::Begins(rank) => {
                        Announcement::Leaves(preference.interfaces.get(rank).copied())
                    }
                    Preparation::Ends => Announcement::Stays,
                })
            }
            Policy::Decision(_) => None,
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
                let switch = preference.failback.poll(now)?;
                let works = switch.lost_at.is_none();
                Some(Due {
                    at: switch.lost_at.unwrap_or(now),
                    to: preference.interfaces.get(switch.to).copied(),
                    handover: works.then_some(preference.handover),
                })
            }
            Policy::Decision(decider) => decider.poll(now, used),
        }
    }
}
