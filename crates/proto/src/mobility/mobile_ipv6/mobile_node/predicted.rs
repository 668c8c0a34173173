//! Fast handovers ahead of a move (RFC 5568 section 3.2, predictive mode): the mobile asks its router for the router of
//! its next link, forms its address there, and has the two routers agree on it. When the link is up, the address is
//! ready at once. What fails ends in the reactive mode. A mobile that stays withdraws its report.

use super::fast_handover::{Left, MOST_ATTEMPTS, Told};
use super::{MobileEvent, MobileNode};
use crate::interface::InterfaceId;
use crate::mobility::address_configuration::Attachment;
use crate::mobility::binding::Retransmission;
use crate::mobility::discovery;
use crate::time::Instant;
use crate::wire::neighbor_discovery::{
    ALL_ROUTERS, LinkLayerAddress, NeighborDiscovery, ProxyAdvertisement, ProxyRouter,
    ProxySolicitation,
};
use core::net::Ipv6Addr;
use std::collections::BTreeMap;

/// Predictive handovers of a mobile.
#[derive(Clone, Debug, Default)]
pub(super) struct Predicted {
    /// Access points of interfaces.
    access_points: BTreeMap<InterfaceId, LinkLayerAddress>,
    preparation: Option<Preparation>,
    identifier: u16,
}

/// A move in preparation.
#[derive(Clone, Copy, Debug)]
struct Preparation {
    to: InterfaceId,
    /// The link that the mobile is about to leave.
    left: Left,
    step: Step,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// The router is asked for the next one.
    Asking(Retransmission, ProxySolicitation),
    /// The router is told of the next address.
    Telling(Retransmission, ProxyRouter, Told),
    /// The routers have agreed.
    Agreed(ProxyRouter),
    /// The router is told that the mobile stays.
    Withdrawing(Retransmission, Told),
}

impl Predicted {
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        match self.preparation?.step {
            Step::Asking(pending, _)
            | Step::Telling(pending, ..)
            | Step::Withdrawing(pending, _) => Some(pending.deadline()),
            Step::Agreed(_) => None,
        }
    }

    /// Ends the preparation for a link that is up; returns the router there if it expects the mobile.
    pub(super) fn arrive(&mut self, at: InterfaceId) -> Option<ProxyRouter> {
        let preparation = self.preparation.filter(|one| one.to == at)?;
        self.preparation = None;
        match preparation.step {
            Step::Agreed(router) => Some(router),
            _ => None,
        }
    }
}

impl MobileNode {
    /// Names the access point to which an interface leads, so that a move there can be prepared with the routers. Only
    /// for a mobile that [tells routers](super::FleetSettings::tells_routers) of its moves.
    pub fn set_access_point(&mut self, interface: InterfaceId, address: LinkLayerAddress) {
        if let Some(routers) = self.extras.routers_mut() {
            let predicted = routers.predicted.get_or_insert_default();
            predicted.access_points.insert(interface, address);
        }
    }

    /// Asks the present router for that of the next link (section 6.1.1), if moves are prepared.
    pub(super) fn ask_for_router(&mut self, now: Instant, to: InterfaceId) {
        let timeout = self.settings.fleet.binding_times.initial_timeout;
        // Without a home address nobody sends it anything yet.
        let leads_on = self.interface() != Some(to) && self.has_home_address();
        let Some(routers) = self.extras.routers_mut() else {
            return;
        };
        let (left, Some(predicted)) = (routers.last, &mut routers.predicted) else {
            return;
        };
        let access_point = predicted.access_points.get(&to).filter(|_| leads_on);
        let (Some(left), Some(&access_point)) = (left, access_point) else {
            self.end_preparation(false);
            return;
        };
        predicted.identifier = predicted.identifier.wrapping_add(1);
        let asked = ProxySolicitation {
            identifier: predicted.identifier,
            access_point,
        };
        let step = Step::Asking(Retransmission::begin(now, timeout), asked);
        predicted.preparation = Some(Preparation { to, left, step });
        self.send_solicitation(now, left.address, asked);
    }

    /// Ends the preparation of a mobile that has lost the link before the routers agreed, or is on a third one.
    pub(super) fn follow_preparation(&mut self) {
        let here = match self.attachment() {
            Attachment::None => None,
            Attachment::Home => Some(self.settings.home_address),
            Attachment::Away(care_of) => Some(care_of),
        };
        let preparation = self.extras.routers().and_then(|own| own.predicted.as_ref());
        let Some(Preparation { left, step, .. }) = preparation.and_then(|own| own.preparation)
        else {
            return;
        };
        match (step, here) {
            (_, Some(here)) if here == left.address => {}
            (Step::Agreed(_), None) => {}
            (Step::Agreed(_), Some(_)) | (Step::Withdrawing(..), _) => self.set_preparation(None),
            (Step::Asking(..) | Step::Telling(..), _) => self.end_preparation(false),
        }
    }

    /// Tells the router that the mobile stays on its link, if it may have sent packets ahead: by an update without a
    /// lifetime.
    pub(super) fn withdraw_preparation(&mut self, now: Instant) {
        let timeout = self.settings.fleet.binding_times.initial_timeout;
        let Some(routers) = self.extras.routers_mut() else {
            return;
        };
        let preparation = routers.predicted.as_ref().and_then(|own| own.preparation);
        let Some(Preparation { to, left, step }) = preparation else {
            return;
        };
        match step {
            Step::Asking(..) => self.set_preparation(None),
            Step::Withdrawing(..) => {}
            Step::Telling(..) | Step::Agreed(_) => {
                let told = routers.withdraw(left);
                let step = Step::Withdrawing(Retransmission::begin(now, timeout), told);
                self.set_preparation(Some(Preparation { to, left, step }));
                self.send_fast_update(now, told);
            }
        }
    }

    fn send_solicitation(&mut self, now: Instant, from: Ipv6Addr, asked: ProxySolicitation) {
        let message = NeighborDiscovery::ProxySolicitation(asked);
        let packet = discovery(from, ALL_ROUTERS, message);
        self.send(now, packet);
    }

    /// Takes in the router's answer (section 6.1.2): tells it of the next address.
    pub(super) fn handle_proxy_advertisement(&mut self, now: Instant, answer: &ProxyAdvertisement) {
        let timeout = self.settings.fleet.binding_times.initial_timeout;
        let Some(routers) = self.extras.routers_mut() else {
            return;
        };
        let asked = routers.predicted.as_ref().and_then(|own| own.preparation);
        let Some(Preparation {
            to,
            left,
            step: Step::Asking(_, asked),
        }) = asked
        else {
            return;
        };
        if (answer.identifier, answer.access_point) != (asked.identifier, asked.access_point) {
            return;
        }
        let home_prefix = self.settings.fleet.configuration.home_prefix;
        // At home the mobile deregisters, and its old router is told then.
        let usable = |router: &ProxyRouter| {
            router.prefix.length() == 64 && home_prefix != Some(router.prefix)
        };
        let Some(router) = answer.router.filter(usable) else {
            self.end_preparation(false);
            return;
        };
        let identifier = Ipv6Addr::from_bits(self.settings.interface_identifier.into());
        let told = routers.tell(left, router.prefix.address_of(identifier));
        let step = Step::Telling(Retransmission::begin(now, timeout), router, told);
        self.set_preparation(Some(Preparation { to, left, step }));
        self.send_fast_update(now, told);
    }

    fn set_preparation(&mut self, preparation: Option<Preparation>) {
        let routers = self.extras.routers_mut();
        if let Some(predicted) = routers.and_then(|own| own.predicted.as_mut()) {
            predicted.preparation = preparation;
        }
    }

    /// Takes in the present router's answer to the update (section 6.2.3); returns false if it answers another.
    pub(super) fn handle_agreement(&mut self, from: Ipv6Addr, sequence: u16, agreed: bool) -> bool {
        let Some(routers) = self.extras.routers_mut() else {
            return false;
        };
        let preparation = routers.predicted.as_ref().and_then(|own| own.preparation);
        let Some(Preparation { to, left, step }) = preparation else {
            return false;
        };
        let (Step::Telling(.., told) | Step::Withdrawing(_, told)) = step else {
            return false;
        };
        if (left.router, told.sequence.0) != (from, sequence) {
            return false;
        }
        let Step::Telling(_, router, _) = step else {
            self.set_preparation(None);
            return true;
        };
        if agreed {
            routers.add(told);
            let step = Step::Agreed(router);
            self.set_preparation(Some(Preparation { to, left, step }));
        }
        self.end_preparation(agreed);
        true
    }

    /// Retransmits unanswered messages, and gives up after the last.
    pub(super) fn step_preparation(&mut self, now: Instant) {
        let longest = self.settings.fleet.binding_times.longest_timeout;
        let Some(routers) = self.extras.routers_mut() else {
            return;
        };
        let preparation = routers.predicted.as_ref().and_then(|own| own.preparation);
        let Some(Preparation { to, left, step }) = preparation else {
            return;
        };
        let (Step::Asking(mut pending, _)
        | Step::Telling(mut pending, ..)
        | Step::Withdrawing(mut pending, _)) = step
        else {
            return;
        };
        if pending.deadline() > now {
            return;
        }
        if pending.sent() >= MOST_ATTEMPTS {
            match step {
                Step::Withdrawing(..) => self.set_preparation(None),
                _ => self.end_preparation(false),
            }
            return;
        }
        pending.again(now, longest);
        match step {
            Step::Telling(_, router, told) => {
                let told = routers.tell(left, told.here);
                let step = Step::Telling(pending, router, told);
                self.set_preparation(Some(Preparation { to, left, step }));
                self.send_fast_update(now, told);
            }
            Step::Asking(_, asked) => {
                let step = Step::Asking(pending, asked);
                self.set_preparation(Some(Preparation { to, left, step }));
                self.send_solicitation(now, left.address, asked);
            }
            Step::Withdrawing(..) => {
                let told = routers.withdraw(left);
                let step = Step::Withdrawing(pending, told);
                self.set_preparation(Some(Preparation { to, left, step }));
                self.send_fast_update(now, told);
            }
            Step::Agreed(_) => {}
        }
    }

    /// Reports the end of a preparation, and forgets one that failed.
    fn end_preparation(&mut self, agreed: bool) {
        if !agreed {
            self.set_preparation(None);
        }
        self.events.push_back(MobileEvent::FastHandover(agreed));
    }
}
