//! The group of routers around the mobile that get copies of its packets (multicast with intelligent buffering). The
//! mobile reports the last packet it received to the router of its new link, and ends the service of the previous
//! router, if that is still reachable.

use super::{MobileEvent, MobileNode, Towards};
use crate::interface::InterfaceId;
use crate::mobility::address_configuration::Attachment;
use crate::mobility::binding::{BindingSequence, Retransmission, refresh_after};
use crate::mobility::buffering::fingerprint;
use crate::mobility::mobile_ipv6::mobility_packet;
use crate::packet::Packet;
use crate::time::Instant;
use crate::wire::mobility_header::{
    BindingAcknowledgement, BindingLifetime, BindingUpdate, MobilityMessage,
};
use core::net::Ipv6Addr;

/// A router, and the mobile's address on its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Member {
    router: Ipv6Addr,
    care_of: Ipv6Addr,
}

/// The mobile's view of its group.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    /// The router asked last to serve the mobile.
    asked: Option<Member>,
    /// Retransmission of the unanswered request.
    pending: Option<Retransmission>,
    /// Time of the next request, since the service has a lifetime, and the router may have restarted.
    renew_at: Option<Instant>,
    /// The router that served before.
    before: Option<Member>,
    /// Sequence number of the first update to the asked router, and of the latest to any.
    first_sequence: BindingSequence,
    sequence: BindingSequence,
    last_received: Option<Packet>,
}

impl Group {
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let pending = self.pending.as_ref().map(Retransmission::deadline);
        pending.or(self.renew_at)
    }

    pub(super) fn asks(&self, router: Ipv6Addr) -> bool {
        self.pending.is_some() && self.asked.is_some_and(|asked| asked.router == router)
    }

    /// Records a packet from a member.
    pub(super) fn note(&mut self, packet: &Packet) {
        self.last_received = Some(packet.clone());
    }
}

impl MobileNode {
    /// Asks the router of a new foreign link to serve.
    pub(super) fn ask_router(&mut self, now: Instant) {
        let (care_of, router) = (self.care_of(), self.router());
        let Some(group) = self.extras.group_mut() else {
            return;
        };
        group.pending = None;
        group.renew_at = None;
        let (Some(care_of), Some(router)) = (care_of, router) else {
            return;
        };
        let asked = Member { router, care_of };
        let before = group.asked.replace(asked);
        if before != Some(asked) {
            group.before = before.or(group.before);
        }
        let timeout = self.settings.fleet.binding_times.initial_timeout;
        group.pending = Some(Retransmission::begin(now, timeout));
        group.first_sequence = group.sequence.next();
        self.send_request(asked);
    }

    /// Retransmits an unanswered request, since no packets come before the answer, and renews an answered one before
    /// its lifetime ends.
    pub(super) fn step_group(&mut self, now: Instant) {
        let renew_at = self.extras.group().and_then(|group| group.renew_at);
        if renew_at.is_some_and(|renew_at| renew_at <= now) {
            self.ask_router(now);
        }
        let longest = self.settings.fleet.binding_times.longest_timeout;
        if let Some(group) = self.extras.group_mut()
            && let Some(asked) = group.asked
            && let Some(pending) = &mut group.pending
            && pending.deadline() <= now
        {
            pending.again(now, longest);
            self.send_request(asked);
        }
    }

    fn send_request(&mut self, asked: Member) {
        let last_received = self
            .extras
            .group()
            .and_then(|group| group.last_received.as_ref());
        let last_received = last_received.map(fingerprint);
        let update = BindingUpdate {
            acknowledge: true,
            lifetime: self.settings.fleet.lifetime,
            last_received,
            ..BindingUpdate::default()
        };
        self.send_to_member(asked, update);
    }

    /// Sends an update over the link on which the mobile has the address that the member knows.
    fn send_to_member(&mut self, to: Member, mut update: BindingUpdate) {
        let interface = self.interfaces.position(|one| one.has(to.care_of));
        let (Some(interface), Some(group)) = (interface, self.extras.group_mut()) else {
            return;
        };
        group.sequence = group.sequence.next();
        update.sequence = group.sequence.0;
        self.events.push_back(MobileEvent::UpdateSent {
            to: to.router,
            sequence: update.sequence,
        });
        let home = Some(self.settings.home_address);
        let message = MobilityMessage::BindingUpdate(update);
        let packet = mobility_packet((to.care_of, to.router), (home, None), message);
        self.outbox
            .push_back((Towards::Interface(interface), packet));
    }

    /// Takes in the answer of the asked router, and ends the service of the previous one: both have sent for a while,
    /// so no packet is missing.
    pub(super) fn handle_member_answer(&mut self, now: Instant, answer: BindingAcknowledgement) {
        let Some(group) = self.extras.group_mut() else {
            return;
        };
        let number = BindingSequence(answer.sequence);
        let (first, last) = (group.first_sequence, group.sequence);
        let is_other = first.is_after(number) || number.is_after(last);
        let granted = answer.lifetime.min(self.settings.fleet.lifetime);
        if !answer.status.is_accepted() || is_other || granted == BindingLifetime::ZERO {
            self.counts_mut().unexpected += 1;
            return;
        }
        group.pending = None;
        group.renew_at = Some(now + refresh_after(granted));
        if let Some(before) = group.before.take() {
            let stand_by = BindingUpdate {
                lifetime: BindingLifetime::ZERO,
                ..BindingUpdate::default()
            };
            self.send_to_member(before, stand_by);
        }
    }

    /// Returns true if a packet comes from a member of the group: on a foreign link, for the mobile's own address.
    pub(super) fn is_handed_out(&self, interface: InterfaceId, destination: Ipv6Addr) -> bool {
        let away = |attachment| matches!(attachment, Attachment::Away(_));
        self.extras.group().is_some()
            && self.is_own(destination.into())
            && self
                .interfaces
                .get(interface)
                .is_some_and(|one| away(one.attachment()))
    }
}
