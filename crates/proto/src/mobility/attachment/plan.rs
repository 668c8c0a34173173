//! The rest of handovers that have begun.

use crate::interface::InterfaceId;
use crate::time::Instant;
use std::collections::VecDeque;

/// A step of a handover that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The outage is over: attach.
    Attach(Option<InterfaceId>),
    /// The node's own packets leave by the new interface, too.
    MoveOutgoing,
    /// The overlap is over: detach from the old link.
    Detach(InterfaceId),
}

/// The steps still to be done, in order of time.
#[derive(Debug, Default)]
pub(super) struct Plan {
    steps: VecDeque<(Instant, Step)>,
}

impl Plan {
    /// Adds a step, after those of the same time.
    pub fn add(&mut self, at: Instant, step: Step) {
        let place = self.steps.partition_point(|&(other, _)| other <= at);
        self.steps.insert(place, (at, step));
    }

    /// Forgets all but the ends of overlaps.
    pub fn forget_handover(&mut self) {
        self.steps
            .retain(|(_, step)| matches!(step, Step::Detach(_)));
    }

    /// Forgets the end of an overlap: the link is in use again.
    pub fn forget_overlap(&mut self, interface: InterfaceId) {
        self.steps
            .retain(|&(_, step)| step != Step::Detach(interface));
    }

    /// Returns the time of the next step.
    pub fn deadline(&self) -> Option<Instant> {
        self.steps.front().map(|&(at, _)| at)
    }

    /// Takes the next step that is due.
    pub fn pop_due(&mut self, now: Instant) -> Option<Step> {
        let &(_, step) = self.steps.front().filter(|&&(at, _)| at <= now)?;
        self.steps.pop_front();
        Some(step)
    }
}
