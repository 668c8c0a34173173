//! Forwarding by the routers of previous links: the mobile reports its location to each, and accepts the packets that
//! they tunnel to it (RFC 5568, reactive mode, section 3.3).

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
const MOST_ATTEMPTS: u32 = 3;
/// Lifetime of the forwarding. Chosen; the router has its own bound.
const LIFETIME: BindingLifetime = BindingLifetime::at_most(32);

/// A current or previous link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Left {
    /// The mobile's address on the link: a care-of address, or the home address.
    address: Ipv6Addr,
    /// The router's address.
    router: Ipv6Addr,
}

/// A previous router that the mobile has informed.
#[derive(Clone, Copy, Debug)]
struct Told {
    left: Left,
    /// The mobile's address in the report.
    here: Ipv6Addr,
    sequence: BindingSequence,
    pending: Option<Retransmission>,
}

/// The routers of the mobile's links.
#[derive(Clone, Debug, Default)]
pub(super) struct Routers {
    /// The current link, or the last one.
    last: Option<Left>,
    /// Sequence number of the latest update.
    sequence: BindingSequence,
    /// Informed routers, the latest last.
    told: VecDeque<Told>,
}

impl Routers {
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let pending = self.told.iter().filter_map(|told| told.pending.as_ref());
        pending.map(Retransmission::deadline).min()
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
        let Some(routers) = &mut self.routers else {
            return;
        };
        let before = core::mem::replace(&mut routers.last, now_at);
        // A link that is still up delivers its packets itself.
        let is_left = |left: &Left| left.address != here && !self.is_attached_as(left.address);
        let Some(left) = before.filter(is_left) else {
            return;
        };
        let Some(routers) = &mut self.routers else {
            return;
        };
        // The link that the mobile is on needs no forwarding.
        routers.told.retain(|told| told.left.address != here);
        if routers.told.len() >= MOST_ROUTERS {
            routers.told.pop_front();
        }
        routers.sequence = routers.sequence.next();
        let told = Told {
            left,
            here,
            sequence: routers.sequence,
            pending: Some(Retransmission::begin(
                now,
                self.settings.fleet.binding_times.initial_timeout,
            )),
        };
        routers.told.push_back(told);
        self.send_fast_update(told);
    }

    fn is_attached_as(&self, address: Ipv6Addr) -> bool {
        let at_home = address == self.settings.home_address;
        let is_so = |one: &AddressConfiguration| {
            one.has(address) || at_home && one.attachment() == Attachment::Home
        };
        self.interfaces.position(is_so).is_some()
    }

    fn send_fast_update(&mut self, told: Told) {
        let update = BindingUpdate {
            sequence: told.sequence.0,
            acknowledge: true,
            home_registration: true,
            lifetime: LIFETIME,
            ..BindingUpdate::default()
        };
        let (to, sequence) = (told.left.router, told.sequence.0);
        let message = MobilityMessage::FastBindingUpdate(update);
        let packet = mobility_packet((told.here, to), (Some(told.left.address), None), message);
        self.events
            .push_back(MobileEvent::UpdateSent { to, sequence });
        self.send(packet);
    }

    /// Retransmits unanswered updates, except from places left since.
    pub(super) fn step_routers(&mut self, now: Instant) {
        let here = self.care_of().unwrap_or(self.settings.home_address);
        let longest = self.settings.fleet.binding_times.longest_timeout;
        let count = self
            .routers
            .as_ref()
            .map_or(0, |routers| routers.told.len());
        for place in 0..count {
            let Some(routers) = &mut self.routers else {
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
            self.send_fast_update(told);
        }
    }

    /// Takes in a router's acknowledgment (RFC 5568 section 6.2.3).
    pub(super) fn handle_router_answer(
        &mut self,
        source: Ipv6Addr,
        answer: BindingAcknowledgement,
    ) {
        let all = self
            .routers
            .iter_mut()
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
        let forwards = answer.status.is_accepted();
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
        let all = self.routers.iter().flat_map(|routers| &routers.told);
        all.into_iter().any(|told| {
            let of_network = told.left.address == home && self.is_behind(inside.into());
            (told.left.router, told.here) == (source, destination)
                && (inside == told.left.address || of_network)
        })
    }
}
