//! Handovers that a point of service is asked about first (IEEE 802.21), by mobiles that have one. An announced handover is
//! asked about when it is announced, other soft ones when they are due. A soft handover waits for the answer, a hard one for
//! nothing.

use super::policy::Due;
use super::{Attachment, Handover, Signal};
use crate::interface::InterfaceId;
use crate::time::Instant;

/// A handover that is being prepared.
#[derive(Debug)]
pub(super) struct Preparation {
    /// The interface to which the handover leads.
    pub to: InterfaceId,
    /// Time at which the point of service had answered, or the wait for it ended.
    over: Option<Instant>,
    /// The handover, as soon as that is due.
    due: Option<Due>,
}

impl Preparation {
    /// Returns the time at which the handover can be made.
    pub fn deadline(&self) -> Option<Instant> {
        self.over.filter(|_| self.due.is_some())
    }
}

impl Attachment {
    /// The point of service has answered, or is waited for no longer.
    pub(super) fn handle_prepared(&mut self, now: Instant) {
        if let Some(preparation) = &mut self.preparation {
            preparation.over = Some(now);
        }
    }

    /// Has the point of service asked about an interface that is not the one in use; returns whether it is.
    pub(super) fn prepare(&mut self, to: InterfaceId) -> bool {
        let usable = self.access(to).is_some_and(|access| access.is_usable());
        let moves = self.attached.is_some_and(|attached| attached != to);
        let asks = self.asks_point_of_service && usable && moves;
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

    /// Begins a handover that is due, unless it waits for the point of service.
    pub(super) fn decide_handover(&mut self, now: Instant, due: Due) {
        if let Some(due) = self.prepared(due) {
            self.begin_handover(now, due);
        }
    }

    /// Returns a handover that is due, unless it waits for the point of service, or leads back from where the mobile is not
    /// yet.
    fn prepared(&mut self, due: Due) -> Option<Due> {
        let is_soft = matches!(due.handover, Some(Handover::Soft { .. }));
        let is_hard = matches!(due.handover, Some(Handover::Hard { .. }));
        let asked = self.preparation.as_ref();
        if asked.is_some() && !is_hard && due.to.is_some() && due.to == self.attached {
            self.preparation = None;
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

    /// Takes the handover that waits no longer.
    pub(super) fn take_prepared(&mut self) -> Option<Due> {
        let is_over = |preparation: &mut Box<Preparation>| preparation.deadline().is_some();
        self.preparation.take_if(is_over)?.due
    }
}
