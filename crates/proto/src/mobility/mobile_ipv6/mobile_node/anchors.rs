//! The mobile's bindings at mobility anchor points (RFC 5380 section 6.1): an anchor point binds the on-link care-of
//! address to a regional one, by which the home agent and correspondents know the mobile. So a move inside the anchor
//! point's domain is reported to the anchor point alone. Without an anchor point that answers, the home agent gets the
//! on-link care-of address.

use super::fast_handover::MOST_ATTEMPTS;
use super::registration::{Purpose, Registration};
use super::{BufferingRequest, MobileEvent, MobileNode, Received, Towards};
use crate::interface::InterfaceId;
use crate::mobility::address_configuration::Attachment;
use crate::mobility::mobile_ipv6::{
    addresses_v6, is_from_home, is_routable, mobility_packet, sign_for_home,
};
use crate::mobility::tunnel::{Refusal, error_about};
use crate::packet::{Body, Extended, Packet};
use crate::time::{Duration, Instant};
use crate::wire::icmp::{IcmpError, IcmpMessage};
use crate::wire::mobility_header::{
    BindingAcknowledgement, BindingLifetime, BindingStatus, BindingUpdate, MobilityMessage,
    PacketBuffering,
};
use crate::wire::neighbor_discovery::AnchorPoint;
use crate::wire::prefix::Ipv6Prefix;
use core::net::{IpAddr, Ipv6Addr};

/// Maximum number of anchor points with a binding: the latest ones. Chosen.
const MOST_ANCHORS: usize = 4;
/// Lifetime of the binding at an anchor point that the mobile has left, which forwards late packets. Chosen.
const FORWARDING_LIFETIME: BindingLifetime = BindingLifetime::at_most(32);

/// A mobility anchor point, and the mobile's binding there.
#[derive(Clone, Debug)]
pub(super) struct Anchor {
    address: Ipv6Addr,
    /// Regional care-of address: the home address of the binding.
    pub(super) regional: Ipv6Addr,
    binding: Registration,
    /// On-link care-of address before the accepted one, to which the anchor point may still send for a while.
    former: Option<Ipv6Addr>,
}

impl Anchor {
    /// Returns the on-link care-of address that the anchor point has accepted.
    pub(super) fn accepted(&self) -> Option<Ipv6Addr> {
        self.binding.latest()
    }

    fn knows(&self, on_link: Ipv6Addr) -> bool {
        [self.accepted(), self.former].contains(&Some(on_link))
    }
}

/// The mobile's anchor points.
#[derive(Clone, Debug, Default)]
pub(super) struct Anchors {
    /// Anchor points, the latest last.
    all: Vec<Anchor>,
    /// Address of the one in use.
    current: Option<Ipv6Addr>,
    /// End of its validity.
    until: Instant,
    /// Anchor points that have refused the mobile on this link, or have not answered.
    lost: Vec<Ipv6Addr>,
}

impl Anchors {
    fn find(&self, address: Ipv6Addr) -> Option<&Anchor> {
        self.all.iter().find(|anchor| anchor.address == address)
    }

    fn find_mut(&mut self, address: Ipv6Addr) -> Option<&mut Anchor> {
        self.all.iter_mut().find(|anchor| anchor.address == address)
    }

    /// Returns the anchor point in use.
    pub(super) fn current(&self) -> Option<&Anchor> {
        self.find(self.current?)
    }

    /// Returns the anchor point of a regional care-of address.
    pub(super) fn with(&self, regional: Ipv6Addr) -> Option<&Anchor> {
        self.all.iter().find(|anchor| anchor.regional == regional)
    }

    /// Returns true for an on-link care-of address to which an anchor point may send.
    pub(super) fn knows(&self, on_link: Ipv6Addr) -> bool {
        self.all.iter().any(|anchor| anchor.knows(on_link))
    }

    /// Returns the time of the next action. `is_away`: the mobile has an on-link care-of address.
    pub(super) fn poll_timeout(&self, is_away: bool) -> Option<Instant> {
        let current = self.current.filter(|_| is_away);
        let bindings = self.all.iter().filter_map(|anchor| {
            let refreshes = current == Some(anchor.address);
            anchor.binding.poll_timeout(refreshes)
        });
        bindings.chain(current.map(|_| self.until)).min()
    }

    /// Uses an anchor point from now on. A known one keeps its sequence numbers.
    fn choose(&mut self, address: Ipv6Addr, regional: Ipv6Addr, until: Instant) {
        self.until = until;
        self.current = Some(address);
        if self.find(address).is_some() {
            return;
        }
        if self.all.len() >= MOST_ANCHORS {
            self.all.remove(0);
        }
        self.all.push(Anchor {
            address,
            regional,
            binding: Registration::default(),
            former: None,
        });
    }
}

impl MobileNode {
    /// Returns true while the mobile uses an anchor point.
    pub(super) fn is_anchored(&self) -> bool {
        let current = self.anchors.as_ref().and_then(|own| own.current());
        current.is_some() && self.on_link_care_of().is_some()
    }

    /// Returns true for the address of an anchor point.
    pub(super) fn is_anchor(&self, address: IpAddr) -> bool {
        let IpAddr::V6(address) = address else {
            return false;
        };
        let own = self.anchors.as_ref();
        own.is_some_and(|own| own.find(address).is_some())
    }

    /// Returns the longest lifetime of a binding of the care-of address: that of the regional address (section 6.1).
    pub(super) fn longest_lifetime(&self) -> BindingLifetime {
        let anchor = self.anchors.as_ref().and_then(|own| own.current());
        let regional = anchor.and_then(|anchor| anchor.binding.lifetime());
        let wanted = self.settings.fleet.lifetime;
        regional.map_or(wanted, |regional| regional.min(wanted))
    }

    /// Follows a change of attachment. While there is none, the anchor point stays in use.
    pub(super) fn move_to_anchor(&mut self, now: Instant) {
        let Some(own) = &mut self.anchors else {
            return;
        };
        own.lost.clear();
        for anchor in &mut own.all {
            anchor.binding.pending = None;
        }
        if self.attachment() != Attachment::None {
            self.use_anchor(now);
        }
    }

    /// Follows a change of the anchor points that the router advertises.
    pub(super) fn follow_anchor_points(&mut self, now: Instant) {
        if self.on_link_care_of().is_none() {
            return;
        }
        let wanted = self.wanted_anchor(now);
        let Some(own) = &mut self.anchors else {
            return;
        };
        match (wanted, own.current) {
            (Some((address, until)), Some(current)) if address == current => {
                own.until = until;
                return;
            }
            (None, None) => return,
            (_, lost) => {
                let lost = lost.map(MobileEvent::AnchorLost);
                self.events.extend(lost);
            }
        }
        self.use_anchor(now);
        self.move_registration(now);
        self.move_peers(now);
    }

    /// Returns the anchor point for this link, and the end of its validity: the one in use if it is still advertised,
    /// otherwise the furthest that is available (section 7.1). It stays until the router has advertised itself.
    fn wanted_anchor(&self, now: Instant) -> Option<(Ipv6Addr, Instant)> {
        let own = self.anchors.as_ref()?;
        self.on_link_care_of()?;
        let configuration = self.interfaces.get(self.interface()?)?;
        let Some((points, heard)) = configuration.anchor_points() else {
            return Some((own.current?, own.until)).filter(|&(_, until)| until > now);
        };
        let until =
            |point: &AnchorPoint| heard + Duration::from_secs(u64::from(point.valid_lifetime_s));
        let is_usable = |point: &&AnchorPoint| {
            let regional = self.regional(point.address);
            point.forms_addresses
                && point.preference > 0
                && until(point) > now
                && is_routable(point.address)
                && regional != point.address
                && !self.is_own(regional.into())
                && !own.lost.contains(&point.address)
        };
        // The last of equals is chosen.
        let usable = points.iter().filter(is_usable).rev();
        let wanted = usable.max_by_key(|point| {
            let is_current = own.current == Some(point.address);
            (is_current, point.distance, point.preference)
        })?;
        Some((wanted.address, until(wanted)))
    }

    /// Returns the regional care-of address at an anchor point: its first 64 bits, and the mobile's identifier.
    fn regional(&self, anchor: Ipv6Addr) -> Ipv6Addr {
        let identifier = Ipv6Addr::from_bits(self.settings.interface_identifier.into());
        Ipv6Prefix::new(anchor, 64).map_or(anchor, |prefix| prefix.address_of(identifier))
    }

    /// Binds the mobile at the anchor point for this link.
    fn use_anchor(&mut self, now: Instant) {
        let wanted = self.wanted_anchor(now);
        let chosen = wanted.map(|(address, until)| (address, self.regional(address), until));
        let Some(own) = &mut self.anchors else {
            return;
        };
        let before = own.current.take();
        if let Some((address, regional, until)) = chosen {
            own.choose(address, regional, until);
        }
        let current = own.current;
        if let Some(left) = before.filter(|_| before != current) {
            self.leave_anchor(now, left);
        }
        let anchor = self.anchors.as_ref().and_then(|own| own.current());
        let is_at = |on_link| anchor.is_none_or(|anchor| anchor.binding.is_at(now, on_link));
        if self
            .on_link_care_of()
            .is_some_and(|on_link| !is_at(on_link))
        {
            self.register_at_anchor(now);
        }
    }

    /// Lets the previous anchor point forward late packets (section 6.1), unless the link that it knows is up.
    fn leave_anchor(&mut self, now: Instant, left: Ipv6Addr) {
        let Some(on_link) = self.on_link_care_of() else {
            return;
        };
        let own = self.anchors.as_ref();
        let is_lost = own.is_some_and(|own| own.lost.contains(&left));
        let anchor = own.and_then(|own| own.find(left));
        let bound = anchor.and_then(|anchor| anchor.binding.accepted(now));
        let is_needed = bound.is_some_and(|bound| {
            let there = self.interfaces.position(|one| one.has(bound));
            there.is_none() && !is_lost
        });
        if is_needed {
            let timeout = self.settings.fleet.binding_times.initial_timeout;
            self.begin_at(now, left, (Purpose::Register, on_link), timeout);
        }
    }

    fn register_at_anchor(&mut self, now: Instant) {
        let anchor = self.anchors.as_ref().and_then(|own| own.current());
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
        let anchor = self.anchors.as_ref().and_then(|own| own.current());
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
        let anchor = self.anchors.as_ref().and_then(|own| own.current());
        if anchor.is_some_and(|anchor| anchor.binding.asked_for_buffering()) {
            self.register_at_anchor(now);
        }
    }

    fn begin_at(
        &mut self,
        now: Instant,
        to: Ipv6Addr,
        update: (Purpose, Ipv6Addr),
        timeout: Duration,
    ) {
        let own = self.anchors.as_mut();
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
        let own = self.anchors.as_ref();
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
        if let Some(key) = self.settings.anchors.and_then(|anchors| anchors.key) {
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
        let anchor = self.anchors.as_ref().and_then(|own| own.find(source));
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
        let key = self.settings.anchors.and_then(|anchors| anchors.key);
        let longest = self.settings.fleet.binding_times.longest_timeout;
        let own = self.anchors.as_mut();
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
        } else if self.anchors.as_ref().and_then(|own| own.current) == Some(from) {
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
        let Some(own) = &mut self.anchors else {
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
        let own = self.anchors.iter().flat_map(|own| &own.all);
        let known: Vec<Ipv6Addr> = own.map(|anchor| anchor.address).collect();
        for address in known {
            self.step_anchor(now, address);
        }
    }

    fn step_anchor(&mut self, now: Instant, address: Ipv6Addr) {
        let longest = self.settings.fleet.binding_times.longest_timeout;
        let request = self.settings.fleet.buffering;
        let on_link = self.on_link_care_of();
        let Some(own) = &mut self.anchors else {
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

    /// Returns true for a packet from an anchor point's tunnel, for its regional care-of address.
    pub(super) fn is_from_anchor(
        &self,
        (source, destination): (Ipv6Addr, Ipv6Addr),
        inner: &Packet,
    ) -> bool {
        let anchor = self.anchors.as_ref().and_then(|own| own.find(source));
        let is_of_link = matches!(
            inner.body,
            Body::Icmp(IcmpMessage::NeighborDiscovery(_) | IcmpMessage::MulticastListenerReport(_))
        );
        anchor.is_some_and(|anchor| {
            let inside = addresses_v6(inner).map(|(_, inside)| inside);
            anchor.knows(destination) && inside == Some(anchor.regional) && !is_of_link
        })
    }

    /// Sends a packet over an interface; from a regional care-of address through the tunnel to its anchor point, by the
    /// on-link care-of address that this knows.
    pub(super) fn leave(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        packet: Packet,
    ) -> Option<(Towards, Packet)> {
        let anchor = match packet.ip.source {
            IpAddr::V6(source) => self.anchors.as_ref().and_then(|own| own.with(source)),
            IpAddr::V4(_) => None,
        };
        let Some(anchor) = anchor else {
            return Some((Towards::Interface(interface), packet));
        };
        let (regional, exit) = (anchor.regional, anchor.address);
        let place = (anchor.accepted(), self.interface_with(regional));
        let (Some(on_link), Some(interface)) = place else {
            self.counts_mut().unreachable += 1;
            return None;
        };
        let ends = (on_link.into(), exit.into());
        match self.tunnels.encapsulate(now, packet, ends, false) {
            Ok(outer) => Some((Towards::Interface(interface), outer)),
            Err(Refusal::TooBig {
                mtu,
                quoted: Some(quoted),
            }) => {
                let error = match self.tunnels_to(quoted.destination) {
                    true => self.handle_too_big(now, regional, (quoted, mtu)),
                    false => {
                        let kind = IcmpError::PacketTooBig { mtu };
                        self.deliver(error_about(regional, kind, quoted))
                    }
                };
                self.received.extend(error.map(Received::Local));
                None
            }
            Err(_) => None,
        }
    }
}
