//! Route optimisation: return routability and bindings at correspondents (RFC 6275 sections 11.6 and 11.7.2).

use super::registration::{Purpose, Registration};
use super::{MobileEvent, MobileNode};
use crate::mobility::address_configuration::Attachment;
use crate::mobility::binding::{LONGEST_CORRESPONDENT_LIFETIME, Retransmission};
use crate::mobility::mobile_ipv6::return_routability::{
    Key, TOKEN_LIFETIME, binding_management_key,
};
use crate::mobility::mobile_ipv6::{
    is_from_correspondent, is_routable, mobility_packet, sign_for_correspondent,
};
use crate::mobility::packet;
use crate::packet::Body;
use crate::time::{Duration, Instant};
use crate::wire::mobility_header::{
    BindingAcknowledgement, BindingErrorStatus, BindingLifetime, BindingStatus, BindingUpdate,
    MobilityMessage, NonceIndices, RoutabilityTest,
};
use core::net::Ipv6Addr;
use std::collections::btree_map::Entry;

/// Maximum number of transmissions of a test or update to an unresponsive correspondent. Chosen: with timeouts from 1 s
/// to 32 s that is a minute.
const MOST_ATTEMPTS: u32 = 6;
/// Pause after an unresponsive or refusing correspondent. Chosen: the maximum lifetime of a binding there.
const LEFT_ALONE: Duration = Duration::from_secs(420);
/// Maximum number of correspondents with route optimisation; others use the tunnel. Chosen.
const MOST_PEERS: usize = 64;

/// State of one of the two tests.
#[derive(Clone, Copy, Debug, Default)]
struct Test {
    cookie: [u8; 8],
    pending: Option<Retransmission>,
    /// Result of the test, with the tested address and the time.
    token: Option<(RoutabilityTest, Ipv6Addr, Instant)>,
}

impl Test {
    fn token(&self, now: Instant, address: Ipv6Addr) -> Option<RoutabilityTest> {
        let (test, tested, at) = self.token?;
        (tested == address && at + TOKEN_LIFETIME > now).then_some(test)
    }
}

/// State of a correspondent.
#[derive(Clone, Debug, Default)]
pub(super) struct Peer {
    home: Test,
    care_of: Test,
    registration: Registration,
    /// Key of the latest update.
    key: Key,
    /// End of the pause; the correspondent does not answer, or refuses.
    left_alone: Option<Instant>,
    /// True if packets went either way since the last accepted update.
    used: bool,
}

impl Peer {
    /// Returns the time of the next action. `refreshes`: the mobile could test and bind now.
    pub(super) fn poll_timeout(&self, refreshes: bool) -> Option<Instant> {
        let tests = [self.home.pending, self.care_of.pending];
        let test = tests.iter().flatten().map(Retransmission::deadline).min();
        // A pending test is part of the refresh; during a pause there is none.
        let refreshes = refreshes && test.is_none() && self.left_alone.is_none();
        [
            test,
            self.registration.poll_timeout(refreshes),
            self.left_alone,
        ]
        .into_iter()
        .flatten()
        .min()
    }
}

impl MobileNode {
    /// Considers route optimisation with a node whose packet came through the tunnel (section 11.7.2).
    pub(super) fn notice_peer(&mut self, now: Instant, peer: Ipv6Addr) {
        let Some(peers) = self.extras.peers_mut() else {
            return;
        };
        let wanted =
            is_routable(peer) && peer != self.settings.fleet.home_agent && peers.len() < MOST_PEERS;
        match peers.entry(peer) {
            Entry::Occupied(_) => self.note_use(peer),
            Entry::Vacant(place) if wanted => {
                place.insert(Peer::default());
                self.note_use(peer);
                self.step_peers(now);
            }
            Entry::Vacant(_) => {}
        }
    }

    fn peer(&self, address: Ipv6Addr) -> Option<&Peer> {
        self.extras.peers()?.get(&address)
    }

    fn peer_mut(&mut self, address: Ipv6Addr) -> Option<&mut Peer> {
        self.extras.peers_mut()?.get_mut(&address)
    }

    pub(super) fn note_use(&mut self, peer: Ipv6Addr) {
        if let Some(peer) = self.peer_mut(peer) {
            peer.used = true;
        }
    }

    /// Returns true if packets to this node may go directly.
    pub(super) fn is_optimized(&self, now: Instant, peer: Ipv6Addr) -> bool {
        let accepted = self
            .peer(peer)
            .and_then(|peer| peer.registration.accepted(now));
        accepted.is_some() && accepted == self.care_of()
    }

    /// Returns true if a correspondent sends directly to a former care-of address.
    pub fn is_sought_elsewhere(&self, now: Instant, peer: Ipv6Addr) -> bool {
        let accepted = self
            .peer(peer)
            .and_then(|peer| peer.registration.accepted(now));
        accepted.is_some() && accepted != self.care_of()
    }

    /// Restarts pending tests and updates from the new attachment.
    pub(super) fn move_peers(&mut self, now: Instant) {
        let peers = self
            .extras
            .peers_mut()
            .into_iter()
            .flat_map(|peers| peers.values_mut());
        peers.for_each(Peer::forget_pending);
        self.step_peers(now);
    }

    /// Performs the next step for each correspondent.
    pub(super) fn step_peers(&mut self, now: Instant) {
        let known = self
            .extras
            .peers()
            .into_iter()
            .flat_map(|peers| peers.keys());
        let known: Vec<Ipv6Addr> = known.copied().collect();
        for address in known {
            let peers = self.extras.peers_mut();
            let Some(mut peer) = peers.and_then(|peers| peers.remove(&address)) else {
                continue;
            };
            if self.step_peer(now, address, &mut peer)
                && let Some(peers) = self.extras.peers_mut()
            {
                peers.insert(address, peer);
            }
        }
    }

    /// Returns false if the correspondent can be forgotten.
    fn step_peer(&mut self, now: Instant, address: Ipv6Addr, peer: &mut Peer) -> bool {
        // Regardless of the attachment.
        peer.registration.expire(now);
        peer.left_alone = peer.left_alone.filter(|&until| until > now);
        if peer.left_alone.is_some() {
            return true;
        }
        let here = match self.known_attachment() {
            Attachment::None => {
                peer.forget_pending();
                return true;
            }
            Attachment::Home => self.settings.home_address,
            Attachment::Away(care_of) => care_of,
        };
        let accepted = peer.registration.accepted(now);
        let at_home = here == self.settings.home_address;
        if at_home && accepted.is_none() {
            return false;
        }
        let refreshes = peer.registration.wants_refresh(now);
        if refreshes && !peer.used {
            // No recent traffic: let the binding expire.
            peer.registration.hold_refresh();
        }
        let current = accepted == Some(here) && !(refreshes && peer.used);
        if current && peer.registration.pending.is_none() {
            return true;
        }
        if accepted.is_none() && !peer.used && peer.registration.pending.is_none() {
            return false;
        }
        self.bind(now, (address, here), peer);
        true
    }

    /// Runs the missing tests, and then sends the update.
    fn bind(&mut self, now: Instant, (address, here): (Ipv6Addr, Ipv6Addr), peer: &mut Peer) {
        let home = self.settings.home_address;
        let at_home = here == home;
        if !at_home && self.home.accepted(now) != Some(here) {
            // The home test needs the tunnel, which is not there.
            return peer.forget_pending();
        }
        let home_token = peer.home.token(now, home);
        let care_of_token = peer.care_of.token(now, here);
        if home_token.is_none() {
            self.test(now, (address, home), peer);
        }
        // The home test may just have started a pause.
        if care_of_token.is_none() && !at_home && peer.left_alone.is_none() {
            self.test(now, (address, here), peer);
        }
        if peer.left_alone.is_some() {
            return;
        }
        let (Some(home_token), true) = (home_token, at_home || care_of_token.is_some()) else {
            peer.registration.pending = None;
            return;
        };
        let care_of_token = care_of_token.filter(|_| !at_home);
        let sequence = match peer.registration.pending() {
            Some(pending) if pending.care_of == here => {
                if pending.retransmission.deadline() > now {
                    return;
                }
                if pending.retransmission.sent() >= MOST_ATTEMPTS {
                    return peer.leave_alone(now);
                }
                let longest = self.settings.fleet.binding_times.longest_timeout;
                peer.registration.again(now, longest)
            }
            _ => {
                let purpose = match at_home {
                    true => Purpose::Deregister,
                    false => Purpose::Register,
                };
                let timeout = self.settings.fleet.binding_times.initial_timeout;
                peer.registration.begin(now, (purpose, here), timeout)
            }
        };
        let care_of_bytes = care_of_token.map(|token| token.keygen_token);
        peer.key = binding_management_key(&home_token.keygen_token, care_of_bytes.as_ref());
        let indices = NonceIndices {
            home: home_token.nonce_index,
            care_of: care_of_token.map_or(0, |token| token.nonce_index),
        };
        self.send_peer_update(now, (address, here), (sequence, indices), peer.key);
    }

    fn send_peer_update(
        &mut self,
        now: Instant,
        (to, here): (Ipv6Addr, Ipv6Addr),
        (sequence, indices): (u16, NonceIndices),
        key: Key,
    ) {
        let home = self.settings.home_address;
        let lifetime = match here == home {
            true => BindingLifetime::ZERO,
            false => self.longest_lifetime().min(LONGEST_CORRESPONDENT_LIFETIME),
        };
        let mut message = MobilityMessage::BindingUpdate(BindingUpdate {
            sequence,
            acknowledge: true,
            lifetime,
            nonce_indices: Some(indices),
            path_report: self.path_report(now),
            ..BindingUpdate::default()
        });
        sign_for_correspondent(&key, (here, to), &mut message);
        let option = (here != home).then_some(home);
        let packet = mobility_packet((here, to), (option, None), message);
        self.events
            .push_back(MobileEvent::UpdateSent { to, sequence });
        self.send(now, packet);
    }

    /// Sends a test message for an address, unless one was sent recently.
    fn test(&mut self, now: Instant, (to, address): (Ipv6Addr, Ipv6Addr), peer: &mut Peer) {
        let is_home = address == self.settings.home_address;
        let times = self.settings.fleet.binding_times;
        let cookie = self.draws.bits().to_be_bytes();
        let test = match is_home {
            true => &mut peer.home,
            false => &mut peer.care_of,
        };
        match &mut test.pending {
            Some(pending) if pending.deadline() > now => return,
            Some(pending) if pending.sent() >= MOST_ATTEMPTS => return peer.leave_alone(now),
            Some(pending) => pending.again(now, times.longest_timeout),
            None => test.pending = Some(Retransmission::begin(now, times.initial_timeout)),
        }
        test.cookie = cookie;
        let message = match is_home {
            true => MobilityMessage::HomeTestInit { cookie },
            false => MobilityMessage::CareOfTestInit { cookie },
        };
        let body = Body::Mobility(Box::new(message));
        let packet = packet(address.into(), to.into(), body);
        // Section 11.6.1: the home test init goes through the home agent.
        match self.care_of() {
            Some(_) if is_home => {
                let sent = self.by_binding(now, packet);
                self.outbox.extend(sent);
            }
            _ => self.send(now, packet),
        }
    }

    /// Takes in a message from a correspondent.
    pub(super) fn handle_peer_message(
        &mut self,
        now: Instant,
        (source, destination): (Ipv6Addr, Ipv6Addr),
        message: MobilityMessage,
    ) {
        let at_home = destination == self.settings.home_address;
        let Some(peer) = self.peer_mut(source) else {
            self.counts_mut().unexpected += 1;
            return;
        };
        let expected = match message {
            MobilityMessage::HomeTest(test) if at_home => peer.home.take(now, destination, test),
            MobilityMessage::CareOfTest(test) if !at_home => {
                peer.care_of.take(now, destination, test)
            }
            MobilityMessage::BindingAcknowledgement(answer) => {
                self.handle_peer_answer(now, source, answer)
            }
            MobilityMessage::BindingRefreshRequest => {
                peer.used = true;
                peer.registration.hurry(now);
                true
            }
            MobilityMessage::BindingError(error) => {
                match error.status {
                    BindingErrorStatus::UnknownBinding => peer.registration.clear(),
                    BindingErrorStatus::UnrecognizedType => peer.leave_alone(now),
                }
                true
            }
            _ => false,
        };
        self.counts_mut().unexpected += u64::from(!expected);
        self.step_peers(now);
    }

    fn handle_peer_answer(
        &mut self,
        now: Instant,
        source: Ipv6Addr,
        answer: BindingAcknowledgement,
    ) -> bool {
        let Some(peer) = self.peer_mut(source) else {
            return false;
        };
        let Some(pending) = peer.registration.pending() else {
            return false;
        };
        // Section 11.7.3: an answer that reports expired nonces cannot be authenticated.
        let expired = [
            BindingStatus::EXPIRED_HOME_NONCE_INDEX,
            BindingStatus::EXPIRED_CARE_OF_NONCE_INDEX,
            BindingStatus::EXPIRED_NONCES,
        ];
        if expired.contains(&answer.status) && peer.registration.answers(answer.sequence).is_some()
        {
            if answer.status != BindingStatus::EXPIRED_CARE_OF_NONCE_INDEX {
                peer.home.token = None;
            }
            if answer.status != BindingStatus::EXPIRED_HOME_NONCE_INDEX {
                peer.care_of.token = None;
            }
            peer.registration.pending = None;
            return true;
        }
        let message = MobilityMessage::BindingAcknowledgement(answer.clone());
        if !is_from_correspondent(&peer.key, (pending.care_of, source), &message) {
            return false;
        }
        if answer.status == BindingStatus::SEQUENCE_NUMBER_OUT_OF_WINDOW {
            peer.registration.follow(answer.sequence);
            peer.registration.pending = None;
            return true;
        }
        if peer.registration.answers(answer.sequence).is_none() {
            return false;
        }
        if !answer.status.is_accepted() {
            peer.leave_alone(now);
        } else if pending.purpose == Purpose::Deregister {
            peer.registration.clear();
        } else {
            peer.registration.accept(pending, &answer);
            peer.used = false;
            self.events.push_back(MobileEvent::Optimized(source));
        }
        true
    }
}

impl Test {
    /// Takes in a test answer; returns true if it was expected (section 11.6.2).
    fn take(&mut self, now: Instant, address: Ipv6Addr, test: RoutabilityTest) -> bool {
        let asked = self.pending.is_some() && test.cookie == self.cookie;
        if asked {
            self.pending = None;
            self.token = Some((test, address, now));
        }
        asked
    }
}

impl Peer {
    /// Cancels the pending tests and update.
    fn forget_pending(&mut self) {
        self.home.pending = None;
        self.care_of.pending = None;
        self.registration.pending = None;
    }

    /// Starts a pause, in which packets use the tunnel.
    fn leave_alone(&mut self, now: Instant) {
        *self = Peer {
            left_alone: Some(now + LEFT_ALONE),
            ..Peer::default()
        };
    }
}
