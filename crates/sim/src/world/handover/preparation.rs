//! Handovers that a point of service is asked about first (IEEE 802.21), by mobiles whose protocol has one. What is announced
//! is asked about when that is said, other soft handovers when they are due. A soft handover waits for the end of it, a
//! hard one for nothing.

use super::Due;
use crate::scenario::model::Handover;
use crate::world::World;
use baton_proto::mobility::mobile_ipv6::MobileNode;
use baton_proto::time::Instant;

/// A handover that is being prepared.
#[derive(Debug)]
pub struct Preparation {
    /// Where it leads.
    pub link: usize,
    /// When the point of service had answered, or was waited for no longer.
    over: Option<Instant>,
    /// The handover, as soon as that is due.
    due: Option<Due>,
}

impl Preparation {
    /// When the handover can be made.
    pub fn deadline(&self) -> Option<Instant> {
        self.over.filter(|_| self.due.is_some())
    }
}

impl World {
    /// Lets a mobile ask its point of service about a link that is not the one in use; returns whether it does.
    pub(super) fn prepare(&mut self, number: usize, link: usize) -> bool {
        let mobility = self.scenario.mobiles[number].ipv6();
        let asks = mobility.is_some_and(|own| own.point_of_service.is_some());
        let attached = self.mobiles[number].attached;
        let candidate = self.usable(link).filter(|_| asks && attached.is_some());
        let Some(candidate) = candidate.filter(|_| attached != candidate) else {
            return false;
        };
        self.mobiles[number].preparation = Some(Preparation {
            link,
            over: None,
            due: None,
        });
        let node = self.mobiles[number].node.0;
        let interface = self.interface(node, candidate);
        if let Some(mobile) = self.nodes[node].host.layer_mut::<MobileNode>() {
            mobile.prepare_handover(self.now, interface);
        }
        self.pump(node);
        true
    }

    /// A handover is due: returns it, unless it waits for the point of service, or leads back from where the mobile is not yet.
    pub(super) fn prepared(&mut self, number: usize, due: Due) -> Option<Due> {
        let is_soft = matches!(due.handover, Some(Handover::Soft { .. }));
        let is_hard = matches!(due.handover, Some(Handover::Hard { .. }));
        let asked = self.mobiles[number].preparation.as_ref();
        let target = due.link.and_then(|link| self.usable(link));
        let returns = target.is_some() && target == self.mobiles[number].attached;
        if asked.is_some() && returns && !is_hard {
            self.mobiles[number].preparation = None;
            return None;
        }
        let asked = asked.is_some_and(|preparation| Some(preparation.link) == due.link);
        let waits = due.link.filter(|_| is_soft);
        if !waits.is_some_and(|link| asked || self.prepare(number, link)) {
            self.mobiles[number].preparation = None;
            return Some(due);
        }
        let mobile = &mut self.mobiles[number];
        mobile.preparation.as_mut()?.due = Some(due);
        self.next_prepared(number)
    }

    /// The handover that waits no longer.
    pub(super) fn next_prepared(&mut self, number: usize) -> Option<Due> {
        let is_over = |preparation: &mut Preparation| preparation.deadline().is_some();
        self.mobiles[number].preparation.take_if(is_over)?.due
    }

    /// The point of service has answered, or is waited for no longer.
    pub(in super::super) fn end_preparation(&mut self, number: usize) {
        if let Some(preparation) = &mut self.mobiles[number].preparation {
            preparation.over = Some(self.now);
            self.arm_mobile(number);
        }
    }
}
