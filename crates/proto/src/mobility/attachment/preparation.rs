//! Handover preparation with a point of service (IEEE 802.21), with the routers of both links (RFC 5568) or with the
//! home agent (study D, table 3), for mobiles that have them. An announced handover is prepared at its announcement,
//! other soft handovers when they are due. A soft handover waits for the answer; a hard handover does not wait.

use super::access::Access;
use super::policy::Due;
use super::{Attachment, Handover, Policy, Signal};
use crate::interface::{InterfaceId, LinkCommand, LinkEvent};
use crate::mobility::handover_service::Signalling;
use crate::time::Instant;

/// A handover in preparation.
#[derive(Debug)]
pub(super) struct Preparation {
    /// The handover's destination.
    pub to: InterfaceId,
    /// Time of the answer, or of the end of the wait for it.
    over: Option<Instant>,
    /// The handover, once due.
    due: Option<Due>,
}

impl Preparation {
    /// Returns the time at which the handover can be made.
    pub fn deadline(&self) -> Option<Instant> {
        self.over.filter(|_| self.due.is_some())
    }
}

impl Attachment {
    /// Takes in the answer, or the end of the wait for it.
    pub(super) fn handle_prepared(&mut self, now: Instant) {
        if let Some(preparation) = &mut self.preparation {
            preparation.over = Some(now);
        }
    }

    /// Has a handover to an interface that is not in use prepared; returns true if it is.
    pub(super) fn prepare(&mut self, to: InterfaceId) -> bool {
        let usable = self.access(to).is_some_and(|access| access.is_usable());
        let moves = self.attached.is_some_and(|attached| attached != to);
        let asks = self.signalling.is_some() && usable && moves;
        if asks && self.signalling == Some(Signalling::Forward) {
            self.join(to);
        }
        if asks {
            self.preparation = Some(Box::new(Preparation {
                to,
                over: None,
                due: None,
            }));
            self.signal(Signal::HandoverForeseen(to));
        }
        asks
    }

    /// Begins the soft handover that a point of service has ordered, which needs no preparation. A mobile with a preference
    /// keeps to the link from then on, as long as that is up; one with an external decision does not obey. An order that
    /// is repeated changes nothing.
    pub(super) fn obey(&mut self, now: Instant, to: InterfaceId) {
        if self.access(to).is_none() || self.in_use().interface == Some(to) {
            return;
        }
        self.preparation = None;
        let used = self.in_use();
        let due = match &mut self.policy {
            Policy::Timetable(_) => Some(Due {
                at: now,
                to: Some(to),
                handover: Some(Handover::MAKE_BEFORE_BREAK),
            }),
            Policy::Preference(preference) => {
                preference.hold_to(now, Some(to));
                self.policy.poll(now, used)
            }
            Policy::Decision(_) => None,
        };
        if let Some(due) = due {
            self.begin_handover(now, due);
        }
    }

    /// Makes a link usable beside the link in use, so that the mobile gets an address there.
    pub(super) fn join(&mut self, interface: InterfaceId) {
        let Some(access) = self
            .access_mut(interface)
            .filter(|access| !access.is_network)
        else {
            return;
        };
        let is_new = access.up && !access.told_up;
        access.detached = false;
        self.command(interface, LinkCommand::Attach);
        if is_new {
            self.say_up(interface);
        }
    }

    /// Makes all links usable that are up.
    pub(super) fn join_unused(&mut self) {
        for place in 0..self.interfaces.len() {
            let Access {
                id, up, told_up, ..
            } = self.interfaces[place];
            if up && !told_up {
                self.join(id);
            }
        }
    }

    /// Begins a handover that is due, unless it waits for its preparation.
    pub(super) fn decide_handover(&mut self, now: Instant, due: Due) {
        if let Some(due) = self.prepared(due) {
            self.begin_handover(now, due);
        }
    }

    /// Returns a handover that is due, unless it waits for its preparation, or leads back to the present interface
    /// before the mobile has left it.
    fn prepared(&mut self, due: Due) -> Option<Due> {
        let is_soft = matches!(due.handover, Some(Handover::Soft { .. }));
        let is_hard = matches!(due.handover, Some(Handover::Hard { .. }));
        let asked = self.preparation.as_ref();
        if asked.is_some()
            && !is_hard
            && let Some(here) = self.attached.filter(|_| due.to == self.attached)
        {
            self.preparation = None;
            // The protocol may have sent packets ahead.
            self.signal(Signal::Link(here, LinkEvent::Rollback));
            return None;
        }
        let asked = asked.is_some_and(|preparation| Some(preparation.to) == due.to);
        let waits = due.to.filter(|_| is_soft);
        if !waits.is_some_and(|to| asked || self.prepare(to)) {
            self.preparation = None;
            return Some(due);
        }
        self.preparation.as_mut()?.due = Some(due);
        self.take_prepared()
    }

    /// Takes the handover whose wait has ended.
    pub(super) fn take_prepared(&mut self) -> Option<Due> {
        let is_over = |preparation: &mut Box<Preparation>| preparation.deadline().is_some();
        self.preparation.take_if(is_over)?.due
    }
}
