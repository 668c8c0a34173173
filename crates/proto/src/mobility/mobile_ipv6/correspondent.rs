//! A correspondent node (RFC 6275 section 9): answers return routability tests, keeps bindings, and sends directly to
//! care-of addresses.

use super::return_routability::{
    Key, NONCE_LIFETIME, Nonces, Test, binding_management_key, keygen_token,
};
use super::{
    addresses_v6, extend, is_from_correspondent, is_routable, mobility_packet,
    sign_for_correspondent,
};
use crate::crosslayer::PeerMoved;
use crate::mobility::binding::{BindingSequence, LONGEST_CORRESPONDENT_LIFETIME, duration};
use crate::packet::{Body, Packet};
use crate::time::{Duration, Instant};
use crate::wire::mobility_header::{
    BindingAcknowledgement, BindingError, BindingErrorStatus, BindingStatus, BindingUpdate,
    MobilityMessage, RoutabilityTest,
};
use crate::wire::protocol;
use core::net::{IpAddr, Ipv6Addr};
use std::collections::{BTreeMap, VecDeque};

/// Counts of refused messages and packets, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CorrespondentCounts {
    /// Binding updates with a missing or wrong authenticator, dropped silently (RFC 6275 section 9.5.1).
    pub unauthenticated: u64,
    /// Binding updates refused with a status.
    pub refused: u64,
    /// Packets with a home address option without a matching binding.
    pub unbound: u64,
    /// Other messages, not for a correspondent.
    pub unexpected: u64,
}

#[derive(Clone, Debug)]
struct Binding {
    care_of: Ipv6Addr,
    sequence: BindingSequence,
    /// End of the lifetime; in the past for a deleted binding.
    expires: Instant,
    /// Time at which the sequence number is forgotten: not before the nonces of the updates expire, which could
    /// otherwise restore the binding (RFC 6275 section 9.5.3).
    forgotten_at: Instant,
    /// Time of the binding refresh request; `None` if sent or not needed.
    refresh_at: Option<Instant>,
    /// True if the binding was used since the last update.
    used: bool,
}

/// The correspondent's agent.
#[derive(Clone, Debug)]
pub struct Correspondent {
    address: Ipv6Addr,
    node_key: Key,
    nonces: Nonces,
    bindings: BTreeMap<Ipv6Addr, Binding>,
    counts: CorrespondentCounts,
    outbox: VecDeque<Packet>,
    /// Home addresses of mobiles that have moved, with their path reports.
    moved: VecDeque<(Ipv6Addr, PeerMoved)>,
}

impl Correspondent {
    /// Creates a correspondent at `address`, with its node key Kcn and the secret of its nonces, both of which change
    /// with a restart.
    pub fn new(address: Ipv6Addr, node_key: Key, secret: [u8; 16]) -> Correspondent {
        Correspondent {
            address,
            node_key,
            nonces: Nonces::new(secret),
            bindings: BTreeMap::new(),
            counts: CorrespondentCounts::default(),
            outbox: VecDeque::new(),
            moved: VecDeque::new(),
        }
    }

    /// Returns the counts of refused messages and packets.
    pub const fn counts(&self) -> CorrespondentCounts {
        self.counts
    }

    /// Returns the next mobile that has moved, by its home address, and its path report.
    pub fn poll_moved(&mut self) -> Option<(Ipv6Addr, PeerMoved)> {
        self.moved.pop_front()
    }

    /// Returns the care-of address bound to a home address.
    pub fn care_of(&self, now: Instant, home: Ipv6Addr) -> Option<Ipv6Addr> {
        let binding = self.bindings.get(&home)?;
        (binding.expires > now).then_some(binding.care_of)
    }

    /// Takes in a packet for this node. Returns it if it is for the transports, with the home address in place of the
    /// care-of address.
    pub fn handle_packet(&mut self, now: Instant, mut packet: Packet) -> Option<Packet> {
        let Some((source, _)) = addresses_v6(&packet) else {
            return Some(packet);
        };
        let home = match &packet.body {
            Body::Extended(extended) => extended.home_address,
            _ => None,
        };
        if let Body::Extended(extended) = packet.body {
            packet.body = extended.body;
        }
        match packet.body {
            Body::Mobility(message) => {
                self.handle_message(now, source, home, *message);
                return None;
            }
            // An unknown message type (section 9.2).
            Body::Opaque { protocol, .. } if protocol == protocol::MOBILITY => {
                self.send_error(source, BindingErrorStatus::UnrecognizedType, None);
                return None;
            }
            _ => {}
        }
        if let Some(home) = home {
            // Section 9.3.1: a home address option needs a binding.
            let Some(binding) = self
                .bindings
                .get_mut(&home)
                .filter(|binding| binding.care_of == source && binding.expires > now)
            else {
                self.counts.unbound += 1;
                self.send_error(source, BindingErrorStatus::UnknownBinding, Some(home));
                return None;
            };
            binding.used = true;
            packet.ip.source = home.into();
        }
        Some(packet)
    }

    /// Addresses a packet of this node's transports, directly to the care-of address if there is a binding (section
    /// 9.3.2).
    pub fn handle_outgoing(&mut self, now: Instant, mut packet: Packet) -> Packet {
        if self.bindings.is_empty() || !packet.is_typed() {
            return packet;
        }
        let IpAddr::V6(home) = packet.ip.destination else {
            return packet;
        };
        if let Some(binding) = self.bindings.get_mut(&home)
            && binding.expires > now
            && !matches!(packet.body, Body::Mobility(_) | Body::Extended(_))
        {
            binding.used = true;
            packet.ip.destination = binding.care_of.into();
            packet.body = extend((None, Some(home)), packet.body);
        }
        packet
    }

    fn handle_message(
        &mut self,
        now: Instant,
        source: Ipv6Addr,
        home: Option<Ipv6Addr>,
        message: MobilityMessage,
    ) {
        match message {
            MobilityMessage::HomeTestInit { cookie } if home.is_none() => {
                let test = self.test(now, source, cookie, Test::Home);
                self.send(source, MobilityMessage::HomeTest(test));
            }
            MobilityMessage::CareOfTestInit { cookie } if home.is_none() => {
                let test = self.test(now, source, cookie, Test::CareOf);
                self.send(source, MobilityMessage::CareOfTest(test));
            }
            MobilityMessage::BindingUpdate(update) => {
                let home = home.unwrap_or(source);
                self.handle_update(now, (home, source), update);
            }
            _ => self.counts.unexpected += 1,
        }
    }

    fn test(
        &self,
        now: Instant,
        address: Ipv6Addr,
        cookie: [u8; 8],
        test: Test,
    ) -> RoutabilityTest {
        let nonce_index = self.nonces.index(now);
        // The current nonce is always valid.
        let nonce = self.nonces.get(now, nonce_index).unwrap_or_default();
        RoutabilityTest {
            nonce_index,
            cookie,
            keygen_token: keygen_token(&self.node_key, address, &nonce, test),
        }
    }

    /// Takes in a binding update, checked in an order that answers no unauthenticated sender except about expired
    /// nonces (section 9.5.1).
    fn handle_update(
        &mut self,
        now: Instant,
        (home, source): (Ipv6Addr, Ipv6Addr),
        update: BindingUpdate,
    ) {
        let care_of = update.alternate_care_of_address.unwrap_or(source);
        if !is_routable(home) || !is_routable(care_of) || update.nonce_indices.is_none() {
            self.counts.unauthenticated += 1;
            return;
        }
        let deletes = update.lifetime.units == 0 || care_of == home;
        let key = match self.key(now, (home, care_of), &update, deletes) {
            Ok(key) => key,
            Err(status) => return self.refuse((home, source), None, status, update.sequence),
        };
        let addresses = (care_of, self.address);
        let sequence = BindingSequence(update.sequence);
        let message = MobilityMessage::BindingUpdate(update);
        if !is_from_correspondent(&key, addresses, &message) {
            self.counts.unauthenticated += 1;
            return;
        }
        let MobilityMessage::BindingUpdate(update) = message else {
            return;
        };
        if update.home_registration {
            let status = BindingStatus::HOME_REGISTRATION_NOT_SUPPORTED;
            return self.refuse((home, source), Some(key), status, update.sequence);
        }
        let known = self.bindings.get(&home);
        if let Some(known) = known.filter(|known| known.forgotten_at > now)
            && !sequence.is_after(known.sequence)
        {
            let status = BindingStatus::SEQUENCE_NUMBER_OUT_OF_WINDOW;
            let last = known.sequence.0;
            return self.refuse((home, source), Some(key), status, last);
        }
        let mut lifetime = update.lifetime.min(LONGEST_CORRESPONDENT_LIFETIME);
        if deletes {
            lifetime.units = 0;
        }
        let expires = now + duration(lifetime);
        let seven_eighths = Duration::from_millis(u64::from(lifetime.seconds()) * 875);
        let binding = Binding {
            care_of,
            sequence,
            expires,
            forgotten_at: expires.max(now + NONCE_LIFETIME),
            // Chosen: an eighth before the end, later than the mobile's own refresh.
            refresh_at: (!deletes).then(|| now + seven_eighths),
            used: false,
        };
        let known = self.bindings.insert(home, binding);
        if known.is_none_or(|known| known.care_of != care_of) {
            let moved = update.path_report.map(|report| report.heard(now));
            self.moved.extend(moved.map(|moved| (home, moved)));
        }
        if update.acknowledge {
            let answer =
                BindingAcknowledgement::new(BindingStatus::ACCEPTED, update.sequence, lifetime);
            self.answer((home, source), Some(key), answer);
        }
    }

    /// Computes the key of the mobile's tokens.
    fn key(
        &self,
        now: Instant,
        (home, care_of): (Ipv6Addr, Ipv6Addr),
        update: &BindingUpdate,
        deletes: bool,
    ) -> Result<Key, BindingStatus> {
        let indices = update
            .nonce_indices
            .ok_or(BindingStatus::REASON_UNSPECIFIED)?;
        let home_nonce = self.nonces.get(now, indices.home);
        let care_of_nonce = self.nonces.get(now, indices.care_of);
        let token =
            |address, nonce: &[u8; 8], test| keygen_token(&self.node_key, address, nonce, test);
        match (home_nonce, care_of_nonce) {
            (Some(nonce), _) if deletes => Ok(binding_management_key(
                &token(home, &nonce, Test::Home),
                None,
            )),
            (None, _) if deletes => Err(BindingStatus::EXPIRED_HOME_NONCE_INDEX),
            (Some(of_home), Some(of_care_of)) => Ok(binding_management_key(
                &token(home, &of_home, Test::Home),
                Some(&token(care_of, &of_care_of, Test::CareOf)),
            )),
            (Some(_), None) => Err(BindingStatus::EXPIRED_CARE_OF_NONCE_INDEX),
            (None, Some(_)) => Err(BindingStatus::EXPIRED_HOME_NONCE_INDEX),
            (None, None) => Err(BindingStatus::EXPIRED_NONCES),
        }
    }

    fn refuse(
        &mut self,
        addresses: (Ipv6Addr, Ipv6Addr),
        key: Option<Key>,
        status: BindingStatus,
        sequence: u16,
    ) {
        self.counts.refused += 1;
        let answer = BindingAcknowledgement::new(status, sequence, Default::default());
        self.answer(addresses, key, answer);
    }

    fn answer(
        &mut self,
        (home, source): (Ipv6Addr, Ipv6Addr),
        key: Option<Key>,
        answer: BindingAcknowledgement,
    ) {
        let mut message = MobilityMessage::BindingAcknowledgement(answer);
        if let Some(key) = key {
            sign_for_correspondent(&key, (source, self.address), &mut message);
        }
        // Section 9.5.4: to the care-of address, with the home address in a routing header.
        let routing = (home != source).then_some(home);
        let packet = mobility_packet((self.address, source), (None, routing), message);
        self.outbox.push_back(packet);
    }

    fn send(&mut self, to: Ipv6Addr, message: MobilityMessage) {
        let packet = mobility_packet((self.address, to), (None, None), message);
        self.outbox.push_back(packet);
    }

    fn send_error(
        &mut self,
        to: Ipv6Addr,
        status: BindingErrorStatus,
        home_address: Option<Ipv6Addr>,
    ) {
        if is_routable(to) {
            let error = BindingError {
                status,
                home_address,
            };
            self.send(to, MobilityMessage::BindingError(error));
        }
    }

    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout).
    pub fn poll_timeout(&self) -> Option<Instant> {
        let due = |binding: &Binding| binding.refresh_at.unwrap_or(binding.forgotten_at);
        self.bindings.values().map(due).min()
    }

    /// Forgets old bindings, and sends refresh requests for those in use (section 9.5.5).
    pub fn handle_timeout(&mut self, now: Instant) {
        self.bindings
            .retain(|_, binding| binding.forgotten_at > now);
        let mut asked = Vec::new();
        for (&home, binding) in &mut self.bindings {
            if binding.refresh_at.is_some_and(|at| at <= now) {
                binding.refresh_at = None;
                if binding.used {
                    asked.push(home);
                }
            }
        }
        for home in asked {
            self.send(home, MobilityMessage::BindingRefreshRequest);
        }
    }

    /// Returns the next packet to send.
    pub fn poll_transmit(&mut self) -> Option<Packet> {
        self.outbox.pop_front()
    }
}
