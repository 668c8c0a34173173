//! The mobile's binding at the home agent (RFC 6275 sections 11.7.1, 11.7.3 and 11.8): the pending update and the
//! latest accepted one. Bindings at correspondents use the same state.

use super::fast_handover::MOST_ATTEMPTS;
use super::{MobileEvent, MobileNode, MobileSettings};
use crate::mobility::address_configuration::Attachment;
use crate::mobility::binding::{BindingSequence, Retransmission, duration, refresh_after};
use crate::mobility::mobile_ipv6::{is_from_home, mobility_packet, sign_for_home};
use crate::time::{Duration, Instant};
use crate::wire::mobility_header::{
    BindingAcknowledgement, BindingLifetime, BindingStatus, BindingUpdate, Ipv4AddressStatus,
    Ipv4HomeAddress, MobilityMessage, PacketBuffering,
};
use crate::wire::prefix::Prefix;
use core::net::Ipv6Addr;

/// Purpose of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Register,
    /// Request to hold packets before a move.
    Buffer,
    /// Registration of the next care-of address ahead of a move.
    Announce,
    Deregister,
}

/// A pending update.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) purpose: Purpose,
    pub(super) care_of: Ipv6Addr,
    pub(super) retransmission: Retransmission,
    /// Times of its first and latest transmission.
    begun: Instant,
    sent: Instant,
    first_sequence: BindingSequence,
}

/// An accepted binding.
#[derive(Clone, Copy, Debug)]
struct Accepted {
    care_of: Ipv6Addr,
    /// True if the mobile is not there yet.
    is_ahead: bool,
    lifetime: BindingLifetime,
    expires: Instant,
    refresh_at: Instant,
}

/// An entry of the binding update list.
#[derive(Clone, Debug, Default)]
pub(super) struct Registration {
    /// Sequence number of the latest update.
    sequence: BindingSequence,
    /// Boxed, since mostly there is none.
    pub(super) pending: Option<Box<Pending>>,
    accepted: Option<Accepted>,
    /// Time of the next attempt after a refusal.
    retry_at: Option<Instant>,
    /// True if the receiver has reported that it has no binding.
    is_deleted: bool,
    /// True if packets may be held until the next regular update.
    pub(super) buffering: bool,
    /// True if no update since the accepted one is unanswered, so that the receiver's binding is known.
    is_certain: bool,
}

impl Registration {
    pub(super) fn pending(&self) -> Option<Pending> {
        self.pending.as_deref().copied()
    }

    pub(super) fn accepted(&self, now: Instant) -> Option<Ipv6Addr> {
        let accepted = self.accepted.filter(|accepted| accepted.expires > now)?;
        Some(accepted.care_of)
    }

    /// Returns the latest accepted care-of address, even if expired.
    pub(super) fn latest(&self) -> Option<Ipv6Addr> {
        self.accepted.map(|accepted| accepted.care_of)
    }

    /// Returns the lifetime of the accepted binding.
    pub(super) fn lifetime(&self) -> Option<BindingLifetime> {
        self.accepted.map(|accepted| accepted.lifetime)
    }

    /// Returns true if the receiver certainly forwards to this care-of address.
    pub(super) fn is_at(&self, now: Instant, care_of: Ipv6Addr) -> bool {
        self.accepted(now) == Some(care_of) && self.is_certain && !self.buffering
    }

    pub(super) const fn asked_for_buffering(&self) -> bool {
        self.buffering
    }

    pub(super) const fn is_deleted(&self) -> bool {
        self.is_deleted
    }

    /// Returns true while an announcement of the next care-of address is unanswered.
    pub(super) fn is_announcing(&self) -> bool {
        let pending = self.pending.as_ref();
        pending.is_some_and(|pending| pending.purpose == Purpose::Announce)
    }

    /// Returns the care-of address that was accepted ahead of a move there.
    pub(super) fn announced(&self) -> Option<Ipv6Addr> {
        let ahead = self.accepted.filter(|accepted| accepted.is_ahead)?;
        Some(ahead.care_of)
    }

    /// Notes the arrival at the accepted care-of address; returns true if it was accepted ahead.
    fn arrive(&mut self) -> bool {
        let accepted = self.accepted.as_mut();
        accepted.is_some_and(|accepted| core::mem::take(&mut accepted.is_ahead))
    }

    /// Returns the time of the next action. `refreshes`: the mobile is away, and refreshes its binding.
    pub(super) fn poll_timeout(&self, refreshes: bool) -> Option<Instant> {
        let pending = self.pending.as_ref();
        let pending = pending.map(|pending| pending.retransmission.deadline());
        let refresh = self.accepted.map(|accepted| match self.pending {
            None if refreshes => accepted.refresh_at.min(accepted.expires),
            _ => accepted.expires,
        });
        let times = [pending, refresh, self.retry_at];
        times.into_iter().flatten().min()
    }

    /// Starts a new update, and returns its sequence number.
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
        self.pending = Some(Box::new(Pending {
            purpose,
            care_of,
            retransmission: Retransmission::begin(now, timeout),
            begun: now,
            sent: now,
            first_sequence: self.sequence,
        }));
        self.sequence.0
    }

    /// Starts a retransmission, and returns its new sequence number (section 11.8).
    pub(super) fn again(&mut self, now: Instant, longest: Duration) -> u16 {
        self.sequence = self.sequence.next();
        if let Some(pending) = &mut self.pending {
            pending.retransmission.again(now, longest);
            pending.sent = now;
        }
        self.sequence.0
    }

    /// Returns the pending update if this sequence number acknowledges one of its transmissions.
    pub(super) fn answers(&self, sequence: u16) -> Option<Pending> {
        let pending = self.pending()?;
        let number = BindingSequence(sequence);
        let too_old = pending.first_sequence.is_after(number);
        let unknown = number.is_after(self.sequence);
        (!too_old && !unknown).then_some(pending)
    }

    /// Adopts the sequence number that the receiver accepted last; the next update comes after it.
    pub(super) fn follow(&mut self, last_accepted: u16) {
        self.sequence = BindingSequence(last_accepted);
        if let Some(pending) = &mut self.pending {
            pending.first_sequence = self.sequence.next();
        }
    }

    /// Records the acceptance of the pending update. Its lifetime begins with its transmission (sections 11.1 and
    /// 11.7.3): the latest one, if the answer is to that, otherwise the first.
    pub(super) fn accept(&mut self, pending: Pending, answer: &BindingAcknowledgement) {
        let lifetime = duration(answer.lifetime);
        let sent = match answer.sequence == self.sequence.0 {
            true => pending.sent,
            false => pending.begun,
        };
        // Binding refresh advice (section 6.2.4) may ask for an earlier refresh.
        let refresh = match answer.refresh_advice {
            Some(advice) if advice < answer.lifetime => duration(advice),
            _ => refresh_after(answer.lifetime),
        };
        self.pending = None;
        self.is_certain = true;
        self.buffering = pending.purpose == Purpose::Buffer;
        self.accepted = Some(Accepted {
            care_of: pending.care_of,
            is_ahead: pending.purpose == Purpose::Announce,
            lifetime: answer.lifetime,
            expires: sent + lifetime,
            refresh_at: sent + refresh,
        });
    }

    /// Records that the receiver has no binding.
    pub(super) fn clear(&mut self) {
        *self = Registration {
            sequence: self.sequence,
            is_deleted: true,
            ..Registration::default()
        };
    }

    /// Records that nothing is known of the receiver's binding.
    fn doubt(&mut self) {
        self.is_certain = false;
    }

    /// Records that the pending update was refused.
    pub(super) fn refuse(&mut self, retry_at: Instant) {
        self.pending = None;
        self.retry_at = Some(retry_at);
    }

    /// Returns true if no update is pending or scheduled.
    pub(super) fn is_idle(&self) -> bool {
        self.pending.is_none() && self.retry_at.is_none()
    }

    /// Returns true if a refresh is due.
    pub(super) fn wants_refresh(&self, now: Instant) -> bool {
        let due = |accepted: Accepted| accepted.refresh_at <= now;
        self.pending.is_none() && self.accepted.is_some_and(due)
    }

    /// Removes an expired binding; returns true if there was one.
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        let expired = self
            .accepted
            .is_some_and(|accepted| accepted.expires <= now);
        if expired {
            self.accepted = None;
        }
        expired
    }

    /// Skips the refresh, so that the binding expires.
    pub(super) fn hold_refresh(&mut self) {
        if let Some(accepted) = &mut self.accepted {
            accepted.refresh_at = accepted.expires;
        }
    }

    /// Makes the next refresh due now.
    pub(super) fn hurry(&mut self, now: Instant) {
        if let Some(accepted) = &mut self.accepted {
            accepted.refresh_at = now;
        }
    }
}

impl MobileSettings {
    /// Lists the prefixes of the network behind the mobile in an update, in explicit mode (RFC 3963 section 5.2, RFC 5555
    /// section 3.1.1).
    fn list_prefixes(&self, update: &mut BindingUpdate) {
        let explicit = self.router.as_ref().filter(|router| router.explicit);
        for prefix in explicit.iter().flat_map(|router| &router.prefixes) {
            match *prefix {
                Prefix::V6(prefix) => update.mobile_network_prefixes.push(prefix),
                Prefix::V4(prefix) => update.ipv4_home_addresses.push(Ipv4HomeAddress {
                    address: prefix.address(),
                    prefix_length: prefix.length(),
                    asks_for_prefix: true,
                }),
            }
        }
    }
}

impl MobileNode {
    /// Updates the registration after a change of attachment.
    pub(super) fn move_registration(&mut self, now: Instant) {
        self.end_announcement();
        match self.known_attachment() {
            Attachment::None => {
                // A pending update cannot be answered; a buffering request stays in force.
                self.home.pending = None;
                self.home.retry_at = None;
            }
            Attachment::Home if self.home.is_deleted => {}
            Attachment::Away(care_of) if self.home.is_at(now, care_of) => {
                if self.home.arrive() {
                    self.events.push_back(MobileEvent::Registered(care_of));
                    self.complete_handover(now);
                }
            }
            _ => self.register(now),
        }
    }

    /// Takes in a restart of the home agent, which then has no binding: registers again. A medium that knows its other
    /// end detects this long before the next refresh.
    pub fn home_agent_restarted(&mut self, now: Instant) {
        self.home.doubt();
        if self.care_of().is_some() {
            self.register(now);
        }
    }

    /// Registers the current attachment with the home agent, once there is a home address.
    pub(super) fn register(&mut self, now: Instant) {
        if !self.has_home_address() {
            return;
        }
        let times = self.settings.fleet.binding_times;
        // Section 11.8: before its first answer the home agent detects duplicates.
        let timeout = match self.home.accepted(now) {
            None => times.first_registration_timeout,
            Some(_) => times.initial_timeout,
        };
        match self.known_attachment() {
            Attachment::None => {}
            Attachment::Home => self.begin(now, Purpose::Deregister, timeout),
            Attachment::Away(_) => self.begin(now, Purpose::Register, timeout),
        }
    }

    pub(super) fn ask_for_buffering(&mut self, now: Instant) {
        let Some(request) = self.settings.fleet.buffering else {
            return;
        };
        if self.is_anchored() {
            return self.ask_anchor_for_buffering(now, request);
        }
        // Away only with a binding; at home always, since the home agent has no binding then.
        let bound = match self.known_attachment() {
            Attachment::None => false,
            Attachment::Home => true,
            Attachment::Away(care_of) => self.home.accepted(now) == Some(care_of),
        };
        if bound {
            self.begin(now, Purpose::Buffer, request.timeout);
        }
    }

    pub(super) fn announce_next(&mut self, now: Instant, next: Ipv6Addr) {
        let timeout = self.settings.fleet.binding_times.initial_timeout;
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
            _ => self.longest_lifetime(),
        };
        let mut update = BindingUpdate {
            sequence,
            acknowledge: true,
            home_registration: true,
            mobile_router: self.settings.router.is_some(),
            lifetime,
            alternate_care_of_address: (purpose == Purpose::Announce).then_some(care_of),
            packet_buffering: match purpose {
                Purpose::Buffer => Some(PacketBuffering::Buffer),
                Purpose::Register | Purpose::Announce => {
                    let asks = self.settings.fleet.asks_for_bicasting;
                    asks.then_some(PacketBuffering::Bicast)
                }
                Purpose::Deregister => None,
            },
            path_report: self.path_report(now),
            ..BindingUpdate::default()
        };
        if purpose != Purpose::Deregister {
            self.settings.list_prefixes(&mut update);
        }
        let mut message = MobilityMessage::BindingUpdate(update);
        if let Some(key) = &self.settings.key {
            sign_for_home(key, (care_of, home), &mut message);
        }
        // The current location, not the next one.
        let source = self.care_of().unwrap_or(home);
        let option = (source != home).then_some(home);
        let to = self.settings.fleet.home_agent;
        let packet = mobility_packet((source, to), (option, None), message);
        self.events
            .push_back(MobileEvent::UpdateSent { to, sequence });
        self.send(now, packet);
    }

    /// Takes in the home agent's acknowledgment (section 11.7.3).
    pub(super) fn handle_home_answer(&mut self, now: Instant, answer: BindingAcknowledgement) {
        if let Some(key) = &self.settings.key {
            let care_of = self.home.pending().map(|pending| pending.care_of);
            let care_of = care_of.unwrap_or(self.settings.home_address);
            let message = MobilityMessage::BindingAcknowledgement(answer.clone());
            if !is_from_home(key, (care_of, self.settings.home_address), &message) {
                self.counts_mut().unexpected += 1;
                return;
            }
        }
        if answer.status == BindingStatus::SEQUENCE_NUMBER_OUT_OF_WINDOW
            && let Some(pending) = self.home.pending()
        {
            self.home.follow(answer.sequence);
            let sequence = self
                .home
                .again(now, self.settings.fleet.binding_times.longest_timeout);
            self.send_update(now, (pending.purpose, pending.care_of), sequence);
            return;
        }
        let Some(pending) = self.home.answers(answer.sequence) else {
            self.counts_mut().unexpected += 1;
            return;
        };
        let deletes = pending.purpose == Purpose::Deregister;
        match answer.status {
            status if status.is_accepted() && deletes => self.handle_deleted(now),
            // There was no binding to delete.
            BindingStatus::NOT_HOME_AGENT if deletes => self.handle_deleted(now),
            status if status.is_accepted() => self.handle_accepted(now, pending, &answer),
            status => self.handle_refused(now, status),
        }
        self.step_peers(now);
    }

    fn handle_deleted(&mut self, now: Instant) {
        // Packets that left the home agent earlier still arrive there.
        self.former = self.home.latest();
        self.home.clear();
        self.events.push_back(MobileEvent::Deregistered);
        self.complete_handover(now);
        self.leave_router(now);
    }

    fn handle_accepted(&mut self, now: Instant, pending: Pending, answer: &BindingAcknowledgement) {
        // RFC 3963 section 5.3: without the flag, no packets reach the network behind.
        if self.settings.router.is_some() && !answer.mobile_router {
            return self.handle_refused(now, BindingStatus::MOBILE_ROUTER_NOT_PERMITTED);
        }
        let buffering = answer.packet_buffering == Some(PacketBuffering::Buffer);
        if pending.purpose == Purpose::Buffer {
            self.events.push_back(MobileEvent::Buffering(buffering));
            if pending.care_of == self.settings.home_address {
                // At home there is no binding to refresh; the next update registers the new location.
                self.home.pending = None;
                return;
            }
        }
        let before = self.home.accepted(now);
        if before != Some(pending.care_of) {
            self.former = before;
        }
        self.home.accept(pending, answer);
        match pending.purpose {
            Purpose::Register => {
                self.note_refused_networks(answer);
                self.events
                    .push_back(MobileEvent::Registered(pending.care_of));
                self.complete_handover(now);
            }
            Purpose::Announce => self.events.push_back(MobileEvent::Announced(true)),
            Purpose::Buffer | Purpose::Deregister => {}
        }
    }

    /// Reports the IPv4 networks that the home agent does not bind.
    fn note_refused_networks(&mut self, answer: &BindingAcknowledgement) {
        let explicit = self.settings.router.as_ref().filter(|one| one.explicit);
        for prefix in explicit.iter().flat_map(|router| &router.prefixes) {
            let &Prefix::V4(network) = prefix else {
                continue;
            };
            let mut answers = answer.ipv4_acknowledgements.iter();
            let found = answers.find(|one| one.address == network.address());
            let status = found.map(|one| one.status);
            if !status.is_some_and(Ipv4AddressStatus::is_accepted) {
                let event = MobileEvent::NetworkRefused { network, status };
                self.events.push_back(event);
            }
        }
    }

    fn handle_refused(&mut self, now: Instant, status: BindingStatus) {
        self.end_announcement();
        let retry_at = now + self.settings.fleet.binding_times.longest_timeout;
        self.home.refuse(retry_at);
        self.events.push_back(MobileEvent::Refused(status));
        self.doubt_prefix(now, status);
    }

    /// Retransmits, refreshes, and detects expiry.
    pub(super) fn step_registration(&mut self, now: Instant) {
        let expired = self.home.expire(now);
        if expired {
            self.events.push_back(MobileEvent::Expired);
            self.confirm_prefix(now);
        }
        if let Some(pending) = self.home.pending()
            && pending.retransmission.deadline() <= now
        {
            let request = self.settings.fleet.buffering;
            let most = request.map_or(0, |request| request.retransmissions);
            if pending.purpose == Purpose::Buffer && pending.retransmission.sent() > most {
                // Study D, section 6.1: the mobile then waits for the handover, without knowing whether the home agent
                // got a request.
                self.home.pending = None;
                self.events.push_back(MobileEvent::Buffering(false));
                return;
            }
            if pending.purpose == Purpose::Announce
                && pending.retransmission.sent() >= MOST_ATTEMPTS
            {
                self.end_announcement();
                return self.register(now);
            }
            let longest = self.settings.fleet.binding_times.longest_timeout;
            let sequence = self.home.again(now, longest);
            self.send_update(now, (pending.purpose, pending.care_of), sequence);
        }
        let retries = self.home.retry_at.is_some_and(|at| at <= now);
        let is_away = self.care_of().is_some();
        let refreshes = is_away && self.home.wants_refresh(now);
        // The acknowledgment came too late for the lifetime it granted.
        let lapsed = is_away && expired && self.home.is_idle();
        if refreshes && self.home.buffering {
            // A regular update would end the buffering.
            self.ask_for_buffering(now);
        } else if retries || refreshes || lapsed {
            self.register(now);
        }
    }
}
