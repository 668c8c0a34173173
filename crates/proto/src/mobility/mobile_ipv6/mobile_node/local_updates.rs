//! Local binding updates of a mobile to its [anchor points](super::anchors), and their answers (RFC 5380 section 6.1).

use super::fast_handover::MOST_ATTEMPTS;
use super::registration::Purpose;
use super::{BufferingRequest, MobileEvent, MobileNode};
use crate::mobility::mobile_ipv6::{is_from_home, mobility_packet, sign_for_home};
use crate::packet::{Body, Extended};
use crate::time::{Duration, Instant};
use crate::wire::mobility_header::{
    BindingAcknowledgement, BindingLifetime, BindingStatus, BindingUpdate, MobilityMessage,
    PacketBuffering,
};
use core::net::Ipv6Addr;

/// Lifetime of the binding at an anchor point that the mobile has left, which forwards late packets. Chosen.
const FORWARDING_LIFETIME: BindingLifetime = BindingLifetime::at_most(32);

impl MobileNode {
    /// Registers the on-link care-of address at the anchor point in use.
    pub(super) fn register_at_anchor(&mut self, now: Instant) {
        let anchor = self.extras.anchors().and_then(|own| own.current());
        let (Some(anchor), Some(on_link)) = (anchor, self.on_link_care_of()) else {
            return;
        };
        let times = self.settings.fleet.binding_times;
        // Before its first answer the anchor point detects duplicates of the regional address (section 6.2).
        let timeout = match anchor.binding.accepted(now) {
            None => times.first_registration_timeout,
            Some(_) => times.initial_timeout,
        };
        self.begin_at(now, anchor.address, (Purpose::Register, on_link), timeout);
    }

    /// Asks the anchor point to hold packets, as a home agent would be asked.
    pub(super) fn ask_anchor_for_buffering(&mut self, now: Instant, request: BufferingRequest) {
        let anchor = self.extras.anchors().and_then(|own| own.current());
        let (Some(anchor), Some(on_link)) = (anchor, self.on_link_care_of()) else {
            return;
        };
        if anchor.binding.accepted(now) == Some(on_link) {
            let purpose = (Purpose::Buffer, on_link);
            self.begin_at(now, anchor.address, purpose, request.timeout);
        }
    }

    /// Ends the buffering of a mobile that stays.
    pub(super) fn end_buffering_at_anchor(&mut self, now: Instant) {
        let anchor = self.extras.anchors().and_then(|own| own.current());
        if anchor.is_some_and(|anchor| anchor.binding.asked_for_buffering()) {
            self.register_at_anchor(now);
        }
    }

    /// Starts an update.
    pub(super) fn begin_at(
        &mut self,
        now: Instant,
        to: Ipv6Addr,
        update: (Purpose, Ipv6Addr),
        timeout: Duration,
    ) {
        let own = self.extras.anchors_mut();
        let Some(anchor) = own.and_then(|own| own.find_mut(to)) else {
            return;
        };
        anchor.binding.buffering |= update.0 == Purpose::Buffer;
        let sequence = anchor.binding.begin(now, update, timeout);
        self.send_local_update(now, to, (update.0, sequence));
    }

    fn send_local_update(
        &mut self,
        now: Instant,
        to: Ipv6Addr,
        (purpose, sequence): (Purpose, u16),
    ) {
        let own = self.extras.anchors();
        let anchor = own.and_then(|own| own.find(to));
        let (Some(own), Some(anchor), Some(on_link)) = (own, anchor, self.on_link_care_of()) else {
            return;
        };
        let regional = anchor.regional;
        let lifetime = self.settings.fleet.lifetime;
        let lifetime = match own.current == Some(to) {
            true => lifetime,
            false => lifetime.min(FORWARDING_LIFETIME),
        };
        let mut message = MobilityMessage::BindingUpdate(BindingUpdate {
            sequence,
            acknowledge: true,
            anchor_registration: true,
            lifetime,
            packet_buffering: (purpose == Purpose::Buffer).then_some(PacketBuffering::Buffer),
            ..BindingUpdate::default()
        });
        if let Some(key) = self
            .settings
            .anchors
            .as_ref()
            .and_then(|anchors| anchors.key)
        {
            sign_for_home(&key, (on_link, regional), &mut message);
        }
        let packet = mobility_packet((on_link, to), (Some(regional), None), message);
        self.events
            .push_back(MobileEvent::UpdateSent { to, sequence });
        self.send(now, packet);
    }

    /// Takes in an acknowledgement for a regional care-of address; returns false for any other packet.
    pub(super) fn handle_anchor_message(
        &mut self,
        now: Instant,
        source: Ipv6Addr,
        extended: &Extended,
    ) -> bool {
        let anchor = self.extras.anchors().and_then(|own| own.find(source));
        let (Some(anchor), Body::Mobility(message)) = (anchor, &extended.body) else {
            return false;
        };
        let MobilityMessage::BindingAcknowledgement(answer) = &**message else {
            return false;
        };
        if extended.routing_home_address != Some(anchor.regional) || extended.home_address.is_some()
        {
            return false;
        }
        self.handle_anchor_answer(now, source, answer);
        true
    }

    fn handle_anchor_answer(
        &mut self,
        now: Instant,
        from: Ipv6Addr,
        answer: &BindingAcknowledgement,
    ) {
        let key = self
            .settings
            .anchors
            .as_ref()
            .and_then(|anchors| anchors.key);
        let longest = self.settings.fleet.binding_times.longest_timeout;
        let own = self.extras.anchors_mut();
        let Some(anchor) = own.and_then(|own| own.find_mut(from)) else {
            return;
        };
        let pending = anchor.binding.pending();
        if let Some(key) = key {
            let care_of = pending.map_or(anchor.regional, |pending| pending.care_of);
            let message = MobilityMessage::BindingAcknowledgement(answer.clone());
            if !is_from_home(&key, (care_of, anchor.regional), &message) {
                self.counts_mut().unexpected += 1;
                return;
            }
        }
        if answer.status == BindingStatus::SEQUENCE_NUMBER_OUT_OF_WINDOW
            && let Some(pending) = pending
        {
            anchor.binding.follow(answer.sequence);
            let sequence = anchor.binding.again(now, longest);
            return self.send_local_update(now, from, (pending.purpose, sequence));
        }
        let Some(pending) = anchor.binding.answers(answer.sequence) else {
            self.counts_mut().unexpected += 1;
            return;
        };
        if !answer.status.is_accepted() || answer.lifetime == BindingLifetime::ZERO {
            return self.lose_anchor(now, from);
        }
        let before = anchor.binding.accepted(now);
        if before != Some(pending.care_of) {
            anchor.former = before;
        }
        anchor.binding.accept(pending, answer);
        let buffering = answer.packet_buffering == Some(PacketBuffering::Buffer);
        if pending.purpose == Purpose::Buffer {
            self.events.push_back(MobileEvent::Buffering(buffering));
        } else if self.extras.anchors().and_then(|own| own.current) == Some(from) {
            self.events
                .push_back(MobileEvent::Anchored(pending.care_of));
            self.move_registration(now);
            if self.is_known() {
                self.complete_handover(now);
            }
            self.step_peers(now);
        }
    }

    /// Does without an anchor point that refuses or does not answer: uses another one, or none.
    fn lose_anchor(&mut self, now: Instant, lost: Ipv6Addr) {
        let Some(own) = self.extras.anchors_mut() else {
            return;
        };
        if let Some(anchor) = own.find_mut(lost) {
            anchor.binding.pending = None;
        }
        if own.current != Some(lost) {
            return;
        }
        own.lost.push(lost);
        self.events.push_back(MobileEvent::AnchorLost(lost));
        self.use_anchor(now);
        self.move_registration(now);
        self.move_peers(now);
    }

    /// Retransmits, refreshes, and detects expiry.
    pub(super) fn step_anchors(&mut self, now: Instant) {
        let own = self.extras.anchors().into_iter().flat_map(|own| &own.all);
        let known: Vec<Ipv6Addr> = own.map(|anchor| anchor.address).collect();
        for address in known {
            self.step_anchor(now, address);
        }
    }

    fn step_anchor(&mut self, now: Instant, address: Ipv6Addr) {
        let longest = self.settings.fleet.binding_times.longest_timeout;
        let request = self.settings.fleet.buffering;
        let on_link = self.on_link_care_of();
        let Some(own) = self.extras.anchors_mut() else {
            return;
        };
        let is_current = own.current == Some(address);
        let Some(anchor) = own.find_mut(address) else {
            return;
        };
        let expired = anchor.binding.expire(now);
        let pending = anchor.binding.pending();
        if let Some(pending) = pending.filter(|one| one.retransmission.deadline() <= now) {
            let sent = pending.retransmission.sent();
            if pending.purpose == Purpose::Buffer
                && request.is_none_or(|request| sent > request.retransmissions)
            {
                anchor.binding.pending = None;
                self.events.push_back(MobileEvent::Buffering(false));
                return;
            }
            if pending.purpose == Purpose::Register && sent >= MOST_ATTEMPTS {
                return self.lose_anchor(now, address);
            }
            let sequence = anchor.binding.again(now, longest);
            return self.send_local_update(now, address, (pending.purpose, sequence));
        }
        let is_due = anchor.binding.wants_refresh(now) || expired && anchor.binding.is_idle();
        if on_link.is_none() || !is_current || !is_due {
            return;
        }
        match request.filter(|_| anchor.binding.asked_for_buffering()) {
            Some(request) => self.ask_anchor_for_buffering(now, request),
            None => self.register_at_anchor(now),
        }
    }
}
