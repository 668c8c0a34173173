//! Access control of a visited network: a mobile's care-of address needs the consent of an AAA server (study C, section
//! III-A: "an AAA server will require the negotiation of MN credentials before allowing access to the new network").
//!
//! The mobile itself sends the RADIUS requests, from the care-of address, to which its router admits nothing else. In
//! real networks the router sends them; the messages travel the same path.

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

/// Secret shared by a mobile and an AAA server.
pub type AccessSecret = [u8; 16];

/// Settings of a mobile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessSettings {
    /// Address of the AAA server.
    pub server: Ipv6Addr,
    /// User name of the mobile at the server.
    pub user_name: Box<[u8]>,
    /// Secret shared with the server.
    pub secret: AccessSecret,
}

/// IRT: initial retransmission time, doubled for each further request (RFC 5080 section 2.2.1). Without the RFC's
/// jitter, which spreads the requests of many clients.
const FIRST_TIMEOUT: Duration = Duration::from_secs(2);
/// MRT: maximum retransmission time.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(16);
/// MRC: maximum number of requests.
const REQUESTS: u32 = 5;
/// Time from a refusal, or from the last unanswered request's timeout, to the next attempt. Chosen: MRD.
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// Result of a request for access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessEvent {
    /// Access granted for this care-of address.
    Granted(Ipv6Addr),
    /// Access refused for this care-of address.
    Refused(Ipv6Addr),
    /// No answer for this care-of address.
    Unanswered(Ipv6Addr),
}

/// Access state of a care-of address.
#[derive(Clone, Debug)]
enum State {
    Asking {
        request: Box<Radius>,
        retransmission: Retransmission,
    },
    Granted,
    /// Refused or unanswered until `retry_at`.
    Denied {
        retry_at: Instant,
    },
}

/// The mobile's client: the care-of address and access state of each interface.
#[derive(Clone, Debug, Default)]
pub(super) struct NetworkAccess {
    asked: BTreeMap<InterfaceId, (Ipv6Addr, State)>,
    identifier: u8,
    outbox: VecDeque<(InterfaceId, Packet)>,
    events: VecDeque<AccessEvent>,
}

impl NetworkAccess {
    /// Returns true if the attached interface may be used.
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

    /// Follows an interface's attachment, and requests access for a new care-of address.
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

    /// Takes in a message that arrived at an interface and address. Returns true if it answers the pending request.
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

    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout).
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let due = |(_, state): &(Ipv6Addr, State)| match state {
            State::Asking { retransmission, .. } => Some(retransmission.deadline()),
            State::Granted => None,
            State::Denied { retry_at } => Some(*retry_at),
        };
        self.asked.values().filter_map(due).min()
    }

    /// Retransmits or repeats the requests that are due.
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

    /// Returns the request to retransmit on an interface, or `None` if [`REQUESTS`] have been sent.
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

    /// Gives up a request until the next attempt, or makes that attempt.
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

    /// Returns the next packet and its outgoing interface.
    pub(super) fn poll_transmit(&mut self) -> Option<(InterfaceId, Packet)> {
        pop(&mut self.outbox)
    }

    /// Returns the next event.
    pub(super) fn poll_event(&mut self) -> Option<AccessEvent> {
        pop(&mut self.events)
    }
}
