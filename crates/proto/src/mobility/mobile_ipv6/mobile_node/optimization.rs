//! Route optimisation: the mobile proves to a correspondent where it is and binds there (RFC 6275 sections 11.6 and
//! 11.7.2).

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

/// How often a test or an update is sent before the correspondent is left alone. Chosen: with timeouts from 1 s to
/// 32 s that is a minute.
const MOST_ATTEMPTS: u32 = 6;
/// For how long it is left alone. Chosen: as long as a binding there could last.
const LEFT_ALONE: Duration = Duration::from_secs(420);
/// So many correspondents are kept at most; further ones are spoken with through the tunnel. Chosen.
const MOST_PEERS: usize = 64;

/// One of the two tests.
#[derive(Clone, Copy, Debug, Default)]
struct Test {
    cookie: [u8; 8],
    pending: Option<Retransmission>,
    /// What came of it, by which address and when.
    token: Option<(RoutabilityTest, Ipv6Addr, Instant)>,
}

impl Test {
    fn token(&self, now: Instant, address: Ipv6Addr) -> Option<RoutabilityTest> {
        let (test, tested, at) = self.token?;
        (tested == address && at + TOKEN_LIFETIME > now).then_some(test)
    }
}

/// A correspondent.
#[derive(Clone, Debug, Default)]
pub(super) struct Peer {
    home: Test,
    care_of: Test,
    registration: Registration,
    /// The key of the latest update.
    key: Key,
    /// It does not answer, or cannot: it is left alone until then.
    left_alone: Option<Instant>,
    /// Packets went either way since the last update was accepted.
    used: bool,
}

impl Peer {
    /// When something is due. `refreshes`: the mobile could test and bind now.
    pub(super) fn poll_timeout(&self, refreshes: bool) -> Option<Instant> {
        let tests = [self.home.pending, self.care_of.pending];
        let test = tests.iter().flatten().map(Retransmission::deadline).min();
        // With a test under way the refresh is; who is left alone is not asked.
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
    /// A packet of this node came through the tunnel: it would be shorter to speak directly (section 11.7.2).
    pub(super) fn notice_peer(&mut self, now: Instant, peer: Ipv6Addr) {
        let known = self.peers.contains_key(&peer);
        let wanted = self.settings.optimizes_routes
            && is_routable(peer)
            && peer != self.settings.home_agent
            && self.peers.len() < MOST_PEERS;
        if known {
            self.note_use(peer);
        } else if wanted {
            self.peers.insert(peer, Peer::default());
            self.note_use(peer);
            self.step_peers(now);
        }
    }

    pub(super) fn note_use(&mut self, peer: Ipv6Addr) {
        if let Some(peer) = self.peers.get_mut(&peer) {
            peer.used = true;
        }
    }

    /// Whether packets to this node may go directly.
    pub(super) fn is_optimized(&self, now: Instant, peer: Ipv6Addr) -> bool {
        let accepted = self
            .peers
            .get(&peer)
            .and_then(|peer| peer.registration.accepted(now));
        accepted.is_some() && accepted == self.care_of()
    }

    /// Whether a correspondent sends directly to where the mobile is no longer.
    pub fn is_sought_elsewhere(&self, now: Instant, peer: Ipv6Addr) -> bool {
        let peer = self.peers.get(&peer);
        let accepted = peer.and_then(|peer| peer.registration.accepted(now));
        accepted.is_some() && accepted != self.care_of()
    }

    /// The mobile is somewhere else: what it has asked from elsewhere is asked anew.
    pub(super) fn move_peers(&mut self, now: Instant) {
        self.peers.values_mut().for_each(Peer::forget_pending);
        self.step_peers(now);
    }

    /// Takes each correspondent a step further.
    pub(super) fn step_peers(&mut self, now: Instant) {
        let known: Vec<Ipv6Addr> = self.peers.keys().copied().collect();
        for address in known {
            let Some(mut peer) = self.peers.remove(&address) else {
                continue;
            };
            if self.step_peer(now, address, &mut peer) {
                self.peers.insert(address, peer);
            }
        }
    }

    /// Returns whether the correspondent is still of interest.
    fn step_peer(&mut self, now: Instant, address: Ipv6Addr, peer: &mut Peer) -> bool {
        // Wherever the mobile is.
        peer.registration.expire(now);
        peer.left_alone = peer.left_alone.filter(|&until| until > now);
        if peer.left_alone.is_some() {
            return true;
        }
        let here = match self.attachment() {
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
            // Nobody speaks here any more: the binding may run out.
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

    /// Tests what is not proved, and then sends the update.
    fn bind(&mut self, now: Instant, (address, here): (Ipv6Addr, Ipv6Addr), peer: &mut Peer) {
        let home = self.settings.home_address;
        let at_home = here == home;
        if !at_home && self.home.accepted(now) != Some(here) {
            // The home test goes through the tunnel, which is not there.
            return peer.forget_pending();
        }
        let home_token = peer.home.token(now, home);
        let care_of_token = peer.care_of.token(now, here);
        if home_token.is_none() {
            self.test(now, (address, home), peer);
        }
        // It may have been asked often enough: then it is left alone, whatever else is not proved.
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
        let sequence = match peer.registration.pending {
            Some(pending) if pending.care_of == here => {
                if pending.retransmission.deadline() > now {
                    return;
                }
                if pending.retransmission.sent() >= MOST_ATTEMPTS {
                    return peer.leave_alone(now);
                }
                let longest = self.settings.binding_times.longest_timeout;
                peer.registration.again(now, longest)
            }
            _ => {
                let purpose = match at_home {
                    true => Purpose::Deregister,
                    false => Purpose::Register,
                };
                let timeout = self.settings.binding_times.initial_timeout;
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
            false => self.settings.lifetime.min(LONGEST_CORRESPONDENT_LIFETIME),
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
        self.send(packet);
    }

    /// Sends the test of an address, unless it has been sent lately.
    fn test(&mut self, now: Instant, (to, address): (Ipv6Addr, Ipv6Addr), peer: &mut Peer) {
        let is_home = address == self.settings.home_address;
        let times = self.settings.binding_times;
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
        // Section 11.6.1: the home test init goes by way of the home agent.
        match self.care_of() {
            Some(_) if is_home => {
                let sent = self.by_binding(now, packet);
                self.outbox.extend(sent);
            }
            _ => self.send(packet),
        }
    }

    /// A message from a correspondent.
    pub(super) fn handle_peer_message(
        &mut self,
        now: Instant,
        (source, destination): (Ipv6Addr, Ipv6Addr),
        message: MobilityMessage,
    ) {
        let Some(peer) = self.peers.get_mut(&source) else {
            self.counts.unexpected += 1;
            return;
        };
        let at_home = destination == self.settings.home_address;
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
        self.counts.unexpected += u64::from(!expected);
        self.step_peers(now);
    }

    fn handle_peer_answer(
        &mut self,
        now: Instant,
        source: Ipv6Addr,
        answer: BindingAcknowledgement,
    ) -> bool {
        let Some(peer) = self.peers.get_mut(&source) else {
            return false;
        };
        let Some(pending) = peer.registration.pending else {
            return false;
        };
        // Section 11.7.3: an answer that the nonces have expired cannot be signed.
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
        let message = MobilityMessage::BindingAcknowledgement(answer);
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
    /// Takes in an answer; returns whether it is one (section 11.6.2).
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
    /// What is under way is not waited for.
    fn forget_pending(&mut self) {
        self.home.pending = None;
        self.care_of.pending = None;
        self.registration.pending = None;
    }

    /// Nothing is sent to it for a while, and packets go through the tunnel.
    fn leave_alone(&mut self, now: Instant) {
        *self = Peer {
            left_alone: Some(now + LEFT_ALONE),
            ..Peer::default()
        };
    }
}
