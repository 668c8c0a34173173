//! The binding at the home agent, as the mobile sees it (RFC 6275 sections 11.7.1, 11.7.3 and 11.8): the update that
//! is under way, and what was accepted last. A correspondent's is kept alike.

use super::{MobileEvent, MobileNode};
use crate::mobility::address_configuration::Attachment;
use crate::mobility::binding::{BindingSequence, Retransmission, duration, refresh_after};
use crate::mobility::mobile_ipv6::{is_from_home, mobility_packet, sign_for_home};
use crate::time::{Duration, Instant};
use crate::wire::mobility_header::{
    BindingAcknowledgement, BindingLifetime, BindingStatus, BindingUpdate, MobilityMessage,
    PacketBuffering,
};
use core::net::Ipv6Addr;

/// What an update asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Register,
    /// Hold packets: the mobile is about to move.
    Buffer,
    /// Register where the mobile will be next.
    Announce,
    Deregister,
}

/// An update that is not answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) purpose: Purpose,
    pub(super) care_of: Ipv6Addr,
    pub(super) retransmission: Retransmission,
    /// When it was sent first, and last.
    begun: Instant,
    sent: Instant,
    first_sequence: BindingSequence,
}

/// A binding that holds.
#[derive(Clone, Copy, Debug)]
struct Accepted {
    care_of: Ipv6Addr,
    expires: Instant,
    refresh_at: Instant,
}

/// An entry of the binding update list.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Registration {
    /// Number of the latest update.
    sequence: BindingSequence,
    pub(super) pending: Option<Pending>,
    accepted: Option<Accepted>,
    /// When to ask again after a refusal.
    retry_at: Option<Instant>,
    /// The receiver has no binding, so far as it has said.
    is_deleted: bool,
    /// Packets may be held until the next regular update.
    buffering: bool,
    /// Every update since the accepted one was answered: what was accepted is what the receiver knows.
    is_certain: bool,
}

impl Registration {
    pub(super) fn accepted(&self, now: Instant) -> Option<Ipv6Addr> {
        let accepted = self.accepted.filter(|accepted| accepted.expires > now)?;
        Some(accepted.care_of)
    }

    /// What was accepted, whether or not it has run out.
    pub(super) fn latest(&self) -> Option<Ipv6Addr> {
        self.accepted.map(|accepted| accepted.care_of)
    }

    pub(super) const fn asked_for_buffering(&self) -> bool {
        self.buffering
    }

    /// When something is due. `refreshes`: the mobile is away, so that it refreshes what was accepted.
    pub(super) fn poll_timeout(&self, refreshes: bool) -> Option<Instant> {
        let pending = self
            .pending
            .map(|pending| pending.retransmission.deadline());
        let refresh = self.accepted.map(|accepted| match self.pending {
            None if refreshes => accepted.refresh_at.min(accepted.expires),
            _ => accepted.expires,
        });
        let times = [pending, refresh, self.retry_at];
        times.into_iter().flatten().min()
    }

    /// An update is sent for the first time: the number that it bears.
    pub(super) fn begin(
        &mut self,
        now: Instant,
        (purpose, care_of): (Purpose, Ipv6Addr),
        timeout: Duration,
    ) -> u16 {
        self.sequence = self.sequence.next();
        self.retry_at = None;
        self.is_deleted = false;
        self.is_certain = false;
        self.pending = Some(Pending {
            purpose,
            care_of,
            retransmission: Retransmission::begin(now, timeout),
            begun: now,
            sent: now,
            first_sequence: self.sequence,
        });
        self.sequence.0
    }

    /// It is sent again, under a new number (section 11.8).
    pub(super) fn again(&mut self, now: Instant, longest: Duration) -> u16 {
        self.sequence = self.sequence.next();
        if let Some(pending) = &mut self.pending {
            pending.retransmission.again(now, longest);
            pending.sent = now;
        }
        self.sequence.0
    }

    /// Whether an answer of this number is to the update under way, or to an earlier sending of it.
    pub(super) fn answers(&self, sequence: u16) -> Option<Pending> {
        let pending = self.pending?;
        let number = BindingSequence(sequence);
        let too_old = pending.first_sequence.is_after(number);
        let unknown = number.is_after(self.sequence);
        (!too_old && !unknown).then_some(pending)
    }

    /// The number that the receiver has accepted last: the next update comes after it.
    pub(super) fn follow(&mut self, last_accepted: u16) {
        self.sequence = BindingSequence(last_accepted);
        if let Some(pending) = &mut self.pending {
            pending.first_sequence = self.sequence.next();
        }
    }

    /// The update under way was accepted. Its lifetime counts from when it was sent (sections 11.1 and 11.7.3): the last time, if
    /// that is what is answered, and else the first.
    pub(super) fn accept(&mut self, pending: Pending, answer: &BindingAcknowledgement) {
        let lifetime = duration(answer.lifetime);
        let sent = match answer.sequence == self.sequence.0 {
            true => pending.sent,
            false => pending.begun,
        };
        // Or when the home agent asks (section 6.2.4).
        let refresh = match answer.refresh_advice {
            Some(advice) if advice < answer.lifetime => duration(advice),
            _ => refresh_after(answer.lifetime),
        };
        self.pending = None;
        self.is_certain = true;
        self.buffering = pending.purpose == Purpose::Buffer;
        self.accepted = Some(Accepted {
            care_of: pending.care_of,
            expires: sent + lifetime,
            refresh_at: sent + refresh,
        });
    }

    /// The receiver has no binding.
    pub(super) fn clear(&mut self) {
        *self = Registration {
            sequence: self.sequence,
            is_deleted: true,
            ..Registration::default()
        };
    }

    /// The update under way was refused.
    pub(super) fn refuse(&mut self, retry_at: Instant) {
        self.pending = None;
        self.retry_at = Some(retry_at);
    }

    /// Whether nothing is asked, nor will be.
    fn is_idle(&self) -> bool {
        self.pending.is_none() && self.retry_at.is_none()
    }

    /// Whether a refresh is due.
    pub(super) fn wants_refresh(&self, now: Instant) -> bool {
        let due = |accepted: Accepted| accepted.refresh_at <= now;
        self.pending.is_none() && self.accepted.is_some_and(due)
    }

    /// What was accepted has run out, if it has; returns whether.
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        let expired = self
            .accepted
            .is_some_and(|accepted| accepted.expires <= now);
        if expired {
            self.accepted = None;
        }
        expired
    }

    /// It is not refreshed, but left to run out.
    pub(super) fn hold_refresh(&mut self) {
        if let Some(accepted) = &mut self.accepted {
            accepted.refresh_at = accepted.expires;
        }
    }

    /// The next refresh is due at once.
    pub(super) fn hurry(&mut self, now: Instant) {
        if let Some(accepted) = &mut self.accepted {
            accepted.refresh_at = now;
        }
    }
}

impl MobileNode {
    /// The mobile is somewhere else.
    pub(super) fn move_registration(&mut self, now: Instant) {
        match self.attachment() {
            Attachment::None => {
                // What is under way cannot be answered; a buffer stays asked for.
                self.home.pending = None;
                self.home.retry_at = None;
            }
            Attachment::Home if self.home.is_deleted => {}
            Attachment::Away(care_of)
                if self.home.accepted(now) == Some(care_of)
                    && self.home.is_certain
                    && !self.home.buffering => {}
            _ => self.register(now),
        }
    }

    /// Tells the home agent where the mobile is.
    pub(super) fn register(&mut self, now: Instant) {
        let times = self.settings.binding_times;
        // Section 11.8: the home agent detects duplicates before it answers for the first time.
        let timeout = match self.home.accepted(now) {
            None => times.first_registration_timeout,
            Some(_) => times.initial_timeout,
        };
        match self.attachment() {
            Attachment::None => {}
            Attachment::Home => self.begin(now, Purpose::Deregister, timeout),
            Attachment::Away(_) => self.begin(now, Purpose::Register, timeout),
        }
    }

    pub(super) fn ask_for_buffering(&mut self, now: Instant) {
        let Some(request) = self.settings.buffering else {
            return;
        };
        // Away only with a binding; at home always, since the home agent then has none.
        let bound = match self.attachment() {
            Attachment::None => false,
            Attachment::Home => true,
            Attachment::Away(care_of) => self.home.accepted(now) == Some(care_of),
        };
        if bound {
            self.begin(now, Purpose::Buffer, request.timeout);
        }
    }

    pub(super) fn announce_next(&mut self, now: Instant, next: Ipv6Addr) {
        let timeout = self.settings.binding_times.initial_timeout;
        let sequence = self.home.begin(now, (Purpose::Announce, next), timeout);
        self.send_update(now, (Purpose::Announce, next), sequence);
    }

    fn begin(&mut self, now: Instant, purpose: Purpose, timeout: Duration) {
        let care_of = self.care_of().unwrap_or(self.settings.home_address);
        self.home.buffering |= purpose == Purpose::Buffer;
        let sequence = self.home.begin(now, (purpose, care_of), timeout);
        self.send_update(now, (purpose, care_of), sequence);
    }

    fn send_update(
        &mut self,
        now: Instant,
        (purpose, care_of): (Purpose, Ipv6Addr),
        sequence: u16,
    ) {
        let home = self.settings.home_address;
        let lifetime = match purpose {
            Purpose::Deregister => BindingLifetime::ZERO,
            _ => self.settings.lifetime,
        };
        let explicit = self.settings.router.as_ref().filter(|one| one.explicit);
        let update = BindingUpdate {
            sequence,
            acknowledge: true,
            home_registration: true,
            mobile_router: self.settings.router.is_some(),
            lifetime,
            mobile_network_prefixes: match (purpose, explicit) {
                (Purpose::Deregister, _) | (_, None) => Vec::new(),
                (_, Some(router)) => router.prefixes.clone(),
            },
            alternate_care_of_address: (purpose == Purpose::Announce).then_some(care_of),
            packet_buffering: (purpose == Purpose::Buffer).then_some(PacketBuffering::Buffer),
            path_report: self.path_report(now),
            ..BindingUpdate::default()
        };
        let mut message = MobilityMessage::BindingUpdate(update);
        if let Some(key) = &self.settings.key {
            sign_for_home(key, (care_of, home), &mut message);
        }
        // Where the mobile is, not where it will be.
        let source = self.care_of().unwrap_or(home);
        let option = (source != home).then_some(home);
        let to = self.settings.home_agent;
        let packet = mobility_packet((source, to), (option, None), message);
        self.events
            .push_back(MobileEvent::UpdateSent { to, sequence });
        self.send(packet);
    }

    /// Takes in the home agent's answer (section 11.7.3).
    pub(super) fn handle_home_answer(&mut self, now: Instant, answer: BindingAcknowledgement) {
        if let Some(key) = &self.settings.key {
            let care_of = self.home.pending.map(|pending| pending.care_of);
            let care_of = care_of.unwrap_or(self.settings.home_address);
            let message = MobilityMessage::BindingAcknowledgement(answer);
            if !is_from_home(key, (care_of, self.settings.home_address), &message) {
                self.counts.unexpected += 1;
                return;
            }
        }
        if answer.status == BindingStatus::SEQUENCE_NUMBER_OUT_OF_WINDOW
            && let Some(pending) = self.home.pending
        {
            self.home.follow(answer.sequence);
            let sequence = self
                .home
                .again(now, self.settings.binding_times.longest_timeout);
            self.send_update(now, (pending.purpose, pending.care_of), sequence);
            return;
        }
        let Some(pending) = self.home.answers(answer.sequence) else {
            self.counts.unexpected += 1;
            return;
        };
        let deletes = pending.purpose == Purpose::Deregister;
        match answer.status {
            status if status.is_accepted() && deletes => self.handle_deleted(now),
            // There was none to delete.
            BindingStatus::NOT_HOME_AGENT if deletes => self.handle_deleted(now),
            status if status.is_accepted() => self.handle_accepted(now, pending, &answer),
            status => self.handle_refused(now, status),
        }
        self.step_peers(now);
    }

    fn handle_deleted(&mut self, now: Instant) {
        // What has left the home agent before still comes there.
        self.former = self.home.latest();
        self.home.clear();
        self.events.push_back(MobileEvent::Deregistered);
        self.complete_handover(now);
        self.leave_router(now);
    }

    fn handle_accepted(&mut self, now: Instant, pending: Pending, answer: &BindingAcknowledgement) {
        // RFC 3963 section 5.3: without the flag nothing leads to the network behind.
        if self.settings.router.is_some() && !answer.mobile_router {
            return self.handle_refused(now, BindingStatus::MOBILE_ROUTER_NOT_PERMITTED);
        }
        let buffering = answer.packet_buffering == Some(PacketBuffering::Buffer);
        if pending.purpose == Purpose::Buffer {
            self.events.push_back(MobileEvent::Buffering(buffering));
            if pending.care_of == self.settings.home_address {
                // At home there is nothing to refresh; the next update says where the mobile went.
                self.home.pending = None;
                return;
            }
        }
        let before = self.home.accepted(now);
        if before != Some(pending.care_of) {
            self.former = before;
        }
        self.home.accept(pending, answer);
        if pending.purpose == Purpose::Register {
            self.events
                .push_back(MobileEvent::Registered(pending.care_of));
            self.complete_handover(now);
        }
    }

    fn handle_refused(&mut self, now: Instant, status: BindingStatus) {
        let retry_at = now + self.settings.binding_times.longest_timeout;
        self.home.refuse(retry_at);
        self.events.push_back(MobileEvent::Refused(status));
    }

    /// Sends again, refreshes, and sees that a binding has run out.
    pub(super) fn step_registration(&mut self, now: Instant) {
        let expired = self.home.expire(now);
        if expired {
            self.events.push_back(MobileEvent::Expired);
        }
        if let Some(pending) = self.home.pending
            && pending.retransmission.deadline() <= now
        {
            let request = self.settings.buffering;
            let most = request.map_or(0, |request| request.retransmissions);
            if pending.purpose == Purpose::Buffer && pending.retransmission.sent() > most {
                // Study D, section 6.1: the mobile then waits for the handover. Whether the home agent has heard
                // it, it does not know.
                self.home.pending = None;
                self.events.push_back(MobileEvent::Buffering(false));
                return;
            }
            let longest = self.settings.binding_times.longest_timeout;
            let sequence = self.home.again(now, longest);
            self.send_update(now, (pending.purpose, pending.care_of), sequence);
        }
        let retries = self.home.retry_at.is_some_and(|at| at <= now);
        let is_away = self.care_of().is_some();
        let refreshes = is_away && self.home.wants_refresh(now);
        // The answer came too late for what it granted.
        let lapsed = is_away && expired && self.home.is_idle();
        if refreshes && self.home.buffering {
            // A regular update would end the holding.
            self.ask_for_buffering(now);
        } else if retries || refreshes || lapsed {
            self.register(now);
        }
    }
}
