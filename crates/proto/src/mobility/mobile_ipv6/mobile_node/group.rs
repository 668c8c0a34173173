//! The routers around the mobile that get copies of its packets (multicast with intelligent buffering): it tells the one of
//! the link to which it comes which packet it received last, and the one before, if that is still there, that it serves no
//! more.

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

/// What the mobile knows of its group.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    /// The router that was asked last.
    asked: Option<Member>,
    /// Until it has answered.
    pending: Option<Retransmission>,
    /// When it is asked anew, since it serves for a lifetime only, and may have forgotten.
    renew_at: Option<Instant>,
    /// The router that served before.
    before: Option<Member>,
    /// Number of the first update to that router, and of the latest to any.
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

    /// A packet has come from a member.
    pub(super) fn note(&mut self, packet: &Packet) {
        self.last_received = Some(packet.clone());
    }
}

impl MobileNode {
    /// The mobile is somewhere else: if it is away, the router there is asked to serve.
    pub(super) fn ask_router(&mut self, now: Instant) {
        self.group.pending = None;
        self.group.renew_at = None;
        let (Some(care_of), Some(router)) = (self.care_of(), self.router()) else {
            return;
        };
        if !self.settings.has_group {
            return;
        }
        let asked = Member { router, care_of };
        let before = self.group.asked.replace(asked);
        if before != Some(asked) {
            self.group.before = before.or(self.group.before);
        }
        let timeout = self.settings.binding_times.initial_timeout;
        self.group.pending = Some(Retransmission::begin(now, timeout));
        self.group.first_sequence = self.group.sequence.next();
        self.send_request(asked);
    }

    /// Asks again who has not answered: nothing comes until it has. Asks anew who has, before its time is over.
    pub(super) fn step_group(&mut self, now: Instant) {
        if self.group.renew_at.is_some_and(|renew_at| renew_at <= now) {
            self.ask_router(now);
        }
        let longest = self.settings.binding_times.longest_timeout;
        let pending = self.group.pending.as_mut();
        if let Some(pending) = pending.filter(|pending| pending.deadline() <= now)
            && let Some(asked) = self.group.asked
        {
            pending.again(now, longest);
            self.send_request(asked);
        }
    }

    fn send_request(&mut self, asked: Member) {
        let last_received = self.group.last_received.as_ref().map(fingerprint);
        let update = BindingUpdate {
            acknowledge: true,
            lifetime: self.settings.lifetime,
            last_received,
            ..BindingUpdate::default()
        };
        self.send_to_member(asked, update);
    }

    /// Over the link where the mobile has the address that the member knows.
    fn send_to_member(&mut self, to: Member, mut update: BindingUpdate) {
        let Some(interface) = self.interfaces.position(|one| one.has(to.care_of)) else {
            return;
        };
        self.group.sequence = self.group.sequence.next();
        update.sequence = self.group.sequence.0;
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

    /// Takes in the answer of the router that was asked. With another one serving, the one before need not: by then
    /// both have sent for a while, so that nothing is missing.
    pub(super) fn handle_member_answer(&mut self, now: Instant, answer: BindingAcknowledgement) {
        let number = BindingSequence(answer.sequence);
        let (first, last) = (self.group.first_sequence, self.group.sequence);
        let is_other = first.is_after(number) || number.is_after(last);
        let granted = answer.lifetime.min(self.settings.lifetime);
        if !answer.status.is_accepted() || is_other || granted == BindingLifetime::ZERO {
            self.counts.unexpected += 1;
            return;
        }
        self.group.pending = None;
        self.group.renew_at = Some(now + refresh_after(granted));
        if let Some(before) = self.group.before.take() {
            let stand_by = BindingUpdate {
                lifetime: BindingLifetime::ZERO,
                ..BindingUpdate::default()
            };
            self.send_to_member(before, stand_by);
        }
    }

    /// Whether a packet comes from a member of the group: on a foreign link, for the mobile's own address.
    pub(super) fn is_handed_out(&self, interface: InterfaceId, destination: Ipv6Addr) -> bool {
        let away = |attachment| matches!(attachment, Attachment::Away(_));
        self.settings.has_group
            && self.is_own(destination)
            && self
                .interfaces
                .get(interface)
                .is_some_and(|one| away(one.attachment()))
    }
}
