//! Remaining steps of handovers that have begun.

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

/// The remaining steps, in order of time.
#[derive(Debug, Default)]
pub(super) struct Plan {
    #[expect(
        clippy::box_collection,
        reason = "nearly all have none, and so pay for a pointer only"
    )]
    steps: Option<Box<VecDeque<(Instant, Step)>>>,
}

impl Plan {
    /// Adds a step, after earlier ones of the same time.
    pub fn add(&mut self, at: Instant, step: Step) {
        let steps = self.steps.get_or_insert_default();
        let place = steps.partition_point(|&(other, _)| other <= at);
        steps.insert(place, (at, step));
    }

    /// Discards all steps but the ends of overlaps.
    pub fn forget_handover(&mut self) {
        self.retain(|step| matches!(step, Step::Detach(_)));
    }

    /// Discards the end of an overlap: the link is in use again.
    pub fn forget_overlap(&mut self, interface: InterfaceId) {
        self.retain(|step| step != Step::Detach(interface));
    }

    fn retain(&mut self, keeps: impl Fn(Step) -> bool) {
        if let Some(steps) = &mut self.steps {
            steps.retain(|&(_, step)| keeps(step));
        }
    }

    /// Returns the time of the next step.
    pub fn deadline(&self) -> Option<Instant> {
        self.steps.as_ref()?.front().map(|&(at, _)| at)
    }

    /// Takes the next step that is due.
    pub fn pop_due(&mut self, now: Instant) -> Option<Step> {
        let steps = self.steps.as_mut()?;
        let &(_, step) = steps.front().filter(|&&(at, _)| at <= now)?;
        steps.pop_front();
        if steps.is_empty() {
            self.steps = None;
        }
        Some(step)
    }
}
