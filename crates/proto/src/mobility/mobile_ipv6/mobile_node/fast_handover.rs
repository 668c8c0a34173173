//! Forwarding by the routers of previous links: the mobile reports its location to each, and accepts the packets that
//! they tunnel to it (RFC 5568, reactive mode, section 3.3), unless it has told them [ahead](super::predicted) of its
//! move.

use super::predicted::Predicted;
use super::{MobileEvent, MobileNode};
use crate::mobility::address_configuration::{AddressConfiguration, Attachment};
use crate::mobility::binding::{BindingSequence, Retransmission};
use crate::mobility::mobile_ipv6::{addresses_v6, mobility_packet};
use crate::packet::Packet;
use crate::time::Instant;
use crate::wire::mobility_header::{
    BindingAcknowledgement, BindingLifetime, BindingUpdate, MobilityMessage,
};
use core::net::Ipv6Addr;
use std::collections::VecDeque;

/// Maximum number of previous routers whose packets are accepted: the latest ones. Chosen.
const MOST_ROUTERS: usize = 4;
/// Number of transmissions of an update. Chosen: with timeouts of 1 s, 2 s and 4 s.
pub(super) const MOST_ATTEMPTS: u32 = 3;
/// Lifetime of the forwarding. Chosen; the router has its own bound.
const LIFETIME: BindingLifetime = BindingLifetime::at_most(32);

/// A current or previous link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Left {
    /// The mobile's address on the link: a care-of address, or the home address.
    pub(super) address: Ipv6Addr,
    /// The router's address.
    pub(super) router: Ipv6Addr,
}

/// A router that the mobile has informed of its address on another link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    left: Left,
    /// The mobile's address in the report.
    pub(super) here: Ipv6Addr,
    pub(super) sequence: BindingSequence,
    pending: Option<Retransmission>,
}

/// The routers of the mobile's links.
#[derive(Clone, Debug, Default)]
pub(super) struct Routers {
    /// The current link, or the last one.
    pub(super) last: Option<Left>,
    /// Sequence number of the latest update.
    sequence: BindingSequence,
    /// Informed routers, the latest last.
    told: VecDeque<Told>,
    /// `None` if no move is prepared.
    pub(super) predicted: Option<Box<Predicted>>,
}

impl Routers {
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let pending = self.told.iter().filter_map(|told| told.pending.as_ref());
        let predicted = self.predicted.as_ref();
        let predicted = predicted.and_then(|predicted| predicted.poll_timeout());
        pending.map(Retransmission::deadline).chain(predicted).min()
    }

    /// Numbers a new report.
    pub(super) fn tell(&mut self, left: Left, here: Ipv6Addr) -> Told {
        self.sequence = self.sequence.next();
        Told {
            left,
            here,
            sequence: self.sequence,
            pending: None,
        }
    }

    /// Numbers the withdrawal of all reports to the router of a link, on which the mobile stays.
    pub(super) fn withdraw(&mut self, left: Left) -> Told {
        self.told.retain(|told| told.left != left);
        self.tell(left, left.address)
    }

    /// Accepts the packets that an informed router tunnels from now on.
    pub(super) fn add(&mut self, told: Told) {
        if self.told.len() >= MOST_ROUTERS {
            self.told.pop_front();
        }
        self.told.push_back(told);
    }

    fn has_told(&self, left: Left, here: Ipv6Addr) -> bool {
        let mut all = self.told.iter();
        all.any(|told| (told.left, told.here) == (left, here))
    }
}

impl MobileNode {
    /// Informs the router of the previous link after a change of attachment, or after deregistration at home.
    pub(super) fn leave_router(&mut self, now: Instant) {
        let here = match self.attachment() {
            Attachment::None => return,
            Attachment::Away(care_of) => care_of,
            // Until the binding is deleted, packets for the home address use the old tunnel.
            Attachment::Home if self.home.latest().is_some() => return,
            Attachment::Home => self.settings.home_address,
        };
        let now_at = self.router().map(|router| Left {
            address: here,
            router,
        });
        let Some(routers) = self.extras.routers_mut() else {
            return;
        };
        let before = core::mem::replace(&mut routers.last, now_at);
        // A link that is still up delivers its packets itself.
        let is_left = |left: &Left| left.address != here && !self.is_attached_as(left.address);
        let left = before.filter(is_left);
        // Without a home address nothing comes to the link that was left.
        let Some(left) = left.filter(|_| self.has_home_address()) else {
            return;
        };
        let Some(routers) = self.extras.routers_mut() else {
            return;
        };
        // The link that the mobile is on needs no forwarding.
        routers.told.retain(|told| told.left.address != here);
        if routers.has_told(left, here) {
            return;
        }
        let timeout = self.settings.fleet.binding_times.initial_timeout;
        let told = Told {
            pending: Some(Retransmission::begin(now, timeout)),
            ..routers.tell(left, here)
        };
        routers.add(told);
        self.send_fast_update(now, told);
    }

    fn is_attached_as(&self, address: Ipv6Addr) -> bool {
        let at_home = address == self.settings.home_address;
        let is_so = |one: &AddressConfiguration| {
            one.has(address) || at_home && one.attachment() == Attachment::Home
        };
        self.interfaces.position(is_so).is_some()
    }

    pub(super) fn send_fast_update(&mut self, now: Instant, told: Told) {
        let Told { left, here, .. } = told;
        let is_there = self.is_attached_as(left.address);
        let stays = here == left.address;
        let update = BindingUpdate {
            sequence: told.sequence.0,
            acknowledge: true,
            home_registration: true,
            lifetime: if stays {
                BindingLifetime::ZERO
            } else {
                LIFETIME
            },
            // Ahead of a move the source is the present address.
            alternate_care_of_address: Some(here).filter(|_| is_there && !stays),
            ..BindingUpdate::default()
        };
        let (to, sequence) = (left.router, told.sequence.0);
        let source = if is_there { left.address } else { here };
        let message = MobilityMessage::FastBindingUpdate(update);
        let packet = mobility_packet((source, to), (Some(left.address), None), message);
        self.events
            .push_back(MobileEvent::UpdateSent { to, sequence });
        self.send(now, packet);
    }

    /// Retransmits unanswered updates, except from places left since.
    pub(super) fn step_routers(&mut self, now: Instant) {
        self.step_preparation(now);
        let here = self.on_link_care_of();
        let here = here.unwrap_or(self.settings.home_address);
        let longest = self.settings.fleet.binding_times.longest_timeout;
        let count = self
            .extras
            .routers()
            .map_or(0, |routers| routers.told.len());
        for place in 0..count {
            let Some(routers) = self.extras.routers_mut() else {
                return;
            };
            let sequence = routers.sequence.next();
            let told = &mut routers.told[place];
            let Some(pending) = told.pending.as_mut().filter(|one| one.deadline() <= now) else {
                continue;
            };
            if told.here != here || pending.sent() >= MOST_ATTEMPTS {
                told.pending = None;
                continue;
            }
            pending.again(now, longest);
            told.sequence = sequence;
            let told = *told;
            routers.sequence = sequence;
            self.send_fast_update(now, told);
        }
    }

    /// Takes in a router's acknowledgment (RFC 5568 section 6.2.3).
    pub(super) fn handle_router_answer(
        &mut self,
        source: Ipv6Addr,
        answer: BindingAcknowledgement,
    ) {
        let forwards = answer.status.is_accepted();
        if self.handle_agreement(source, answer.sequence, forwards) {
            return;
        }
        let all = self
            .extras
            .routers_mut()
            .into_iter()
            .flat_map(|routers| &mut routers.told);
        let asked = all.into_iter().find(|told| {
            told.left.router == source
                && told.pending.is_some()
                && told.sequence.0 == answer.sequence
        });
        let Some(told) = asked else {
            self.counts_mut().unexpected += 1;
            return;
        };
        told.pending = None;
        self.events.push_back(MobileEvent::Forwarding(forwards));
    }

    /// Returns true for a packet tunnelled by an informed router, for the address that the mobile had on its link.
    pub(super) fn is_sent_after(
        &self,
        source: Ipv6Addr,
        destination: Ipv6Addr,
        inner: &Packet,
    ) -> bool {
        let Some((_, inside)) = addresses_v6(inner) else {
            return false;
        };
        let home = self.settings.home_address;
        let all = self
            .extras
            .routers()
            .into_iter()
            .flat_map(|routers| &routers.told);
        all.into_iter().any(|told| {
            let of_network = told.left.address == home && self.is_behind(inside.into());
            (told.left.router, told.here) == (source, destination)
                && (inside == told.left.address || of_network)
        })
    }
}
