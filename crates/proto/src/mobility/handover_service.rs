//! Handovers with the help of a point of service in the network: the commands of IEEE 802.21 between a mobile and that.
//!
//! Ahead of a handover that it knows of, the mobile asks whether the candidate has room, and commits itself to it; when it is
//! registered over the new link, it says so. Without answers, or with refusals, it goes on without: the handover is the
//! mobile's own.

mod point_of_service;

pub use point_of_service::{PointOfService, PointOfServiceCounts};

use super::binding::Retransmission;
use super::{datagram, pop};
use crate::interface::InterfaceId;
use crate::packet::Packet;
use crate::time::{Duration, Instant};
use crate::wire::mih::{Content, LinkIdentifier, Mih, MihfId, PORT, Status, Step};
use core::net::Ipv6Addr;
use std::collections::VecDeque;

/// What is chosen for a mobile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandoverServiceSettings {
    /// Where its point of service is.
    pub point_of_service: Ipv6Addr,
    /// Who that is.
    pub service_identifier: MihfId,
    /// Who the mobile is.
    pub identifier: MihfId,
    /// The network at each of its interfaces.
    pub links: Vec<LinkIdentifier>,
}

/// From a request to its first repetition; then twice as long each time. Chosen: as for a binding update (RFC 6275).
const FIRST_TIMEOUT: Duration = Duration::from_secs(1);
/// The longest of these times: it is never reached.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(32);
/// How often a request is sent. Chosen: an exchange that nobody answers ends after 7 s.
const REQUESTS: u32 = 3;

/// What came of preparing a handover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandoverServiceEvent {
    /// The point of service has agreed.
    Prepared,
    /// It has not, or has not answered, or the link in use was lost.
    Unprepared,
}

/// Where the mobile speaks from: an interface, and its address there.
pub(super) type Place = (InterfaceId, Ipv6Addr);

/// A request that is not answered.
#[derive(Clone, Debug)]
struct Exchange {
    place: Place,
    request: Mih,
    retransmission: Retransmission,
}

/// The mobile's part.
#[derive(Clone, Debug, Default)]
pub(super) struct HandoverService {
    transaction: u16,
    /// The latest of each kind: what prepares a handover, and what completes one.
    under_way: Vec<Exchange>,
    /// The interface over which it was registered last.
    registered: Option<InterfaceId>,
    outbox: VecDeque<(InterfaceId, Packet)>,
    events: VecDeque<HandoverServiceEvent>,
}

impl HandoverService {
    /// Asks for a handover to the network at an interface, from where the mobile is.
    pub(super) fn prepare(
        &mut self,
        now: Instant,
        (place, candidate): (Option<Place>, InterfaceId),
        settings: &HandoverServiceSettings,
    ) {
        self.take(|exchange| exchange.request.step != Step::Complete);
        match (place, settings.links.get(candidate.0)) {
            (Some(place), Some(link)) => {
                self.ask(now, place, (Step::Query, link.clone()), settings);
            }
            _ => self.events.push_back(HandoverServiceEvent::Unprepared),
        }
    }

    /// The mobile is registered from this place; says so if it was registered over another link before.
    pub(super) fn complete(
        &mut self,
        now: Instant,
        place: Place,
        settings: &HandoverServiceSettings,
    ) {
        let before = self.registered.replace(place.0);
        self.take(|exchange| exchange.request.step == Step::Complete);
        if before.is_some_and(|before| before != place.0)
            && let Some(link) = settings.links.get(place.0.0)
        {
            self.ask(now, place, (Step::Complete, link.clone()), settings);
        }
    }

    /// The mobile is somewhere else: what was asked from another place is not answered.
    pub(super) fn follow(&mut self, place: Option<Place>) {
        while let Some(exchange) = self.take(|exchange| Some(exchange.place) != place) {
            self.end(exchange.request.step, HandoverServiceEvent::Unprepared);
        }
    }

    /// Ends an exchange.
    fn take(&mut self, which: impl Fn(&Exchange) -> bool) -> Option<Exchange> {
        let place = self.under_way.iter().position(which)?;
        Some(self.under_way.remove(place))
    }

    fn ask(
        &mut self,
        now: Instant,
        place: Place,
        (step, link): (Step, LinkIdentifier),
        settings: &HandoverServiceSettings,
    ) {
        self.transaction = self.transaction.wrapping_add(1) & 0x0FFF;
        let current = settings.links.get(place.0.0).cloned();
        let request = Mih {
            transaction: self.transaction,
            source: settings.identifier.clone(),
            destination: settings.service_identifier.clone(),
            mobile: None,
            step,
            current: current.filter(|_| step == Step::Query),
            content: Content::Request(link),
        };
        let exchange = Exchange {
            place,
            request,
            retransmission: Retransmission::begin(now, FIRST_TIMEOUT),
        };
        self.send(&exchange, settings);
        self.under_way.push(exchange);
    }

    fn send(&mut self, exchange: &Exchange, settings: &HandoverServiceSettings) {
        let (interface, address) = exchange.place;
        let ends = (address, settings.point_of_service);
        let packet = datagram(ends, PORT, exchange.request.encode());
        self.outbox.push_back((interface, packet));
    }

    /// Says what came of an exchange that prepares a handover.
    fn end(&mut self, step: Step, event: HandoverServiceEvent) {
        if step != Step::Complete {
            self.events.push_back(event);
        }
    }

    /// Takes in what the point of service has sent. Returns whether it was what was waited for.
    pub(super) fn handle_answer(
        &mut self,
        now: Instant,
        bytes: &[u8],
        settings: &HandoverServiceSettings,
    ) -> bool {
        let Ok(answer) = Mih::decode(bytes) else {
            return false;
        };
        let Content::Response { status, .. } = answer.content else {
            return false;
        };
        let answered = self.take(|exchange| answer == exchange.request.response(status));
        let Some(exchange) = answered else {
            return false;
        };
        match (exchange.request.step, exchange.request.content, status) {
            (Step::Query, Content::Request(link), Status::Success) => {
                self.ask(now, exchange.place, (Step::Commit, link), settings);
            }
            (step, _, Status::Success) => self.end(step, HandoverServiceEvent::Prepared),
            (step, ..) => self.end(step, HandoverServiceEvent::Unprepared),
        }
        true
    }

    /// When something is due.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let deadlines = self.under_way.iter();
        deadlines
            .map(|exchange| exchange.retransmission.deadline())
            .min()
    }

    /// Asks again, or goes on without.
    pub(super) fn handle_timeout(&mut self, now: Instant, settings: &HandoverServiceSettings) {
        let due = |exchange: &Exchange| exchange.retransmission.deadline() <= now;
        while let Some(mut exchange) = self.take(due) {
            if exchange.retransmission.sent() < REQUESTS {
                exchange.retransmission.again(now, LONGEST_TIMEOUT);
                self.send(&exchange, settings);
                self.under_way.push(exchange);
            } else {
                self.end(exchange.request.step, HandoverServiceEvent::Unprepared);
            }
        }
    }

    /// The next packet, and out of which interface.
    pub(super) fn poll_transmit(&mut self) -> Option<(InterfaceId, Packet)> {
        pop(&mut self.outbox)
    }

    /// What has happened.
    pub(super) fn poll_event(&mut self) -> Option<HandoverServiceEvent> {
        pop(&mut self.events)
    }
}
