//! Admission to a visited network: an AAA server is asked before a care-of address is used (study C, section III-A: "an
//! AAA server will require the negotiation of MN credentials before allowing access to the new network").
//!
//! The mobile asks itself, by RADIUS from the care-of address, for which its router lets nothing else through. In the field
//! the router asks for it; the messages go the same way, there and back.

mod server;

pub use server::{AccessServer, AccessServerCounts, AccessUser};

use super::address_configuration::Attachment;
use super::binding::Retransmission;
use super::draws::Draws;
use super::{datagram, pop};
use crate::interface::InterfaceId;
use crate::packet::Packet;
use crate::time::{Duration, Instant};
use crate::wire::radius::{Code, PORT, Radius};
use core::net::Ipv6Addr;
use std::collections::{BTreeMap, VecDeque};

/// The secret that a mobile and an AAA server share.
pub type AccessSecret = [u8; 16];

/// What is chosen for a mobile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessSettings {
    /// The AAA server.
    pub server: Ipv6Addr,
    /// By what name the server knows the mobile.
    pub user_name: Box<[u8]>,
    /// The secret that they share.
    pub secret: AccessSecret,
}

/// IRT: from a request to its first repetition; then twice as long each time (RFC 5080 section 2.2.1). Without its jitter,
/// which is for many who ask at once.
const FIRST_TIMEOUT: Duration = Duration::from_secs(2);
/// MRT: the longest of these times.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(16);
/// MRC: requests in all.
const REQUESTS: u32 = 5;
/// From a refusal, or the last request without an answer, to the next. Chosen: MRD, the time that requests take at most.
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// What came of asking for a care-of address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessEvent {
    /// It may be used.
    Granted(Ipv6Addr),
    /// It may not.
    Refused(Ipv6Addr),
    /// Nobody has answered.
    Unanswered(Ipv6Addr),
}

/// How it stands with a care-of address.
#[derive(Clone, Debug)]
enum State {
    Asking {
        request: Box<Radius>,
        retransmission: Retransmission,
    },
    Granted,
    /// Not for now.
    Denied {
        retry_at: Instant,
    },
}

/// The mobile's part: for each interface its care-of address, and whether that may be used.
#[derive(Clone, Debug, Default)]
pub(super) struct NetworkAccess {
    asked: BTreeMap<InterfaceId, (Ipv6Addr, State)>,
    identifier: u8,
    outbox: VecDeque<(InterfaceId, Packet)>,
    events: VecDeque<AccessEvent>,
}

impl NetworkAccess {
    /// Whether an interface may be used as it is attached.
    pub(super) fn admits(&self, interface: InterfaceId, attachment: Attachment) -> bool {
        match attachment {
            Attachment::None => false,
            Attachment::Home => true,
            Attachment::Away(care_of) => self
                .asked
                .get(&interface)
                .is_some_and(|(asked, state)| *asked == care_of && matches!(state, State::Granted)),
        }
    }

    /// An interface is attached like this: asks, if that is new.
    pub(super) fn follow(
        &mut self,
        now: Instant,
        (interface, attachment): (InterfaceId, Attachment),
        settings: &AccessSettings,
        draws: &mut Draws,
    ) {
        let Attachment::Away(care_of) = attachment else {
            self.asked.remove(&interface);
            return;
        };
        if self
            .asked
            .get(&interface)
            .is_none_or(|(asked, _)| *asked != care_of)
        {
            self.ask(now, (interface, care_of), settings, draws);
        }
    }

    fn ask(
        &mut self,
        now: Instant,
        (interface, care_of): (InterfaceId, Ipv6Addr),
        settings: &AccessSettings,
        draws: &mut Draws,
    ) {
        self.identifier = self.identifier.wrapping_add(1);
        let random = [draws.bits(), draws.bits()].map(u64::to_be_bytes);
        let random = core::array::from_fn(|place| random[place / 8][place % 8]);
        let unique = (self.identifier, random);
        let request = Radius::request(unique, &settings.user_name, care_of, &settings.secret);
        self.send(interface, (care_of, settings.server), &request);
        let state = State::Asking {
            request: Box::new(request),
            retransmission: Retransmission::begin(now, FIRST_TIMEOUT),
        };
        self.asked.insert(interface, (care_of, state));
    }

    fn send(
        &mut self,
        interface: InterfaceId,
        (care_of, server): (Ipv6Addr, Ipv6Addr),
        request: &Radius,
    ) {
        let packet = datagram((care_of, server), PORT, request.encode());
        self.outbox.push_back((interface, packet));
    }

    /// Takes in an answer that came over an interface to an address. Returns whether it was one that was waited for.
    pub(super) fn handle_answer(
        &mut self,
        now: Instant,
        (interface, destination): (InterfaceId, Ipv6Addr),
        bytes: &[u8],
        settings: &AccessSettings,
    ) -> bool {
        let Some((care_of, state)) = self.asked.get_mut(&interface) else {
            return false;
        };
        let State::Asking { request, .. } = state else {
            return false;
        };
        let Ok(answer) = Radius::decode(bytes) else {
            return false;
        };
        if *care_of != destination || !answer.answers(request, &settings.secret) {
            return false;
        }
        let (after, event) = match answer.code {
            Code::Accept => (State::Granted, AccessEvent::Granted(*care_of)),
            _ => {
                let retry_at = now + RETRY_AFTER;
                (State::Denied { retry_at }, AccessEvent::Refused(*care_of))
            }
        };
        *state = after;
        self.events.push_back(event);
        true
    }

    /// When something is due.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let due = |(_, state): &(Ipv6Addr, State)| match state {
            State::Asking { retransmission, .. } => Some(retransmission.deadline()),
            State::Granted => None,
            State::Denied { retry_at } => Some(*retry_at),
        };
        self.asked.values().filter_map(due).min()
    }

    /// Asks again.
    pub(super) fn handle_timeout(
        &mut self,
        now: Instant,
        settings: &AccessSettings,
        draws: &mut Draws,
    ) {
        let due: Vec<(InterfaceId, Ipv6Addr)> = self
            .asked
            .iter()
            .filter(|(_, (_, state))| match state {
                State::Asking { retransmission, .. } => retransmission.deadline() <= now,
                State::Granted => false,
                State::Denied { retry_at } => *retry_at <= now,
            })
            .map(|(&interface, &(care_of, _))| (interface, care_of))
            .collect();
        for (interface, care_of) in due {
            match self.repeat(now, interface) {
                Some(request) => self.send(interface, (care_of, settings.server), &request),
                None => self.step_on(now, (interface, care_of), settings, draws),
            }
        }
    }

    /// The request of an interface that is to be sent again, unless it was sent often enough.
    fn repeat(&mut self, now: Instant, interface: InterfaceId) -> Option<Radius> {
        let (_, state) = self.asked.get_mut(&interface)?;
        match state {
            State::Asking {
                request,
                retransmission,
            } if retransmission.sent() < REQUESTS => {
                retransmission.again(now, LONGEST_TIMEOUT);
                Some(Radius::clone(request))
            }
            _ => None,
        }
    }

    /// Gives up for now, or begins anew.
    fn step_on(
        &mut self,
        now: Instant,
        (interface, care_of): (InterfaceId, Ipv6Addr),
        settings: &AccessSettings,
        draws: &mut Draws,
    ) {
        match self.asked.get_mut(&interface) {
            Some((_, state @ State::Asking { .. })) => {
                let retry_at = now + RETRY_AFTER;
                *state = State::Denied { retry_at };
                self.events.push_back(AccessEvent::Unanswered(care_of));
            }
            _ => self.ask(now, (interface, care_of), settings, draws),
        }
    }

    /// The next packet, and out of which interface.
    pub(super) fn poll_transmit(&mut self) -> Option<(InterfaceId, Packet)> {
        pop(&mut self.outbox)
    }

    /// What has happened.
    pub(super) fn poll_event(&mut self) -> Option<AccessEvent> {
        pop(&mut self.events)
    }
}
