//! Handovers assisted by a point of service in the network: IEEE 802.21 commands between it and a mobile.
//!
//! Before a predicted handover the mobile queries the resources of the candidate network and commits to it; once
//! registered over the new link, it reports completion. Without an answer, or after a refusal, the handover goes ahead
//! all the same: the mobile decides.

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

/// Settings of a mobile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandoverServiceSettings {
    /// Address of the mobile's point of service.
    pub point_of_service: Ipv6Addr,
    /// MIHF identifier of the point of service.
    pub service_identifier: MihfId,
    /// MIHF identifier of the mobile.
    pub identifier: MihfId,
    /// Link identifier at each of the mobile's interfaces; of a radio network that of the cell.
    pub links: Vec<LinkIdentifier>,
}

/// Initial retransmission time, doubled for each further request. Chosen: as for a binding update (RFC 6275).
const FIRST_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum retransmission time; never reached.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(32);
/// Number of transmissions of a request. Chosen: an unanswered exchange ends after 7 s.
const REQUESTS: u32 = 3;

/// Result of preparing a handover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandoverServiceEvent {
    /// The point of service has agreed.
    Prepared,
    /// The point of service has refused or not answered, or the link in use was lost.
    Unprepared,
}

/// Interface and address from which the mobile sends.
pub(super) type Place = (InterfaceId, Ipv6Addr);

/// A pending request.
#[derive(Clone, Debug)]
struct Exchange {
    place: Place,
    request: Mih,
    retransmission: Retransmission,
}

/// The mobile's client.
#[derive(Clone, Debug, Default)]
pub(super) struct HandoverService {
    transaction: u16,
    /// The latest exchange of each kind: preparation and completion.
    under_way: Vec<Exchange>,
    /// Link of the latest registration.
    registered: Option<LinkIdentifier>,
    outbox: VecDeque<(InterfaceId, Packet)>,
    events: VecDeque<HandoverServiceEvent>,
}

impl HandoverService {
    /// Starts the preparation of a handover to an interface's network, from the mobile's current place.
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

    /// Records a registration from this place, and reports completion if the interface has changed.
    pub(super) fn complete(
        &mut self,
        now: Instant,
        place: Place,
        settings: &HandoverServiceSettings,
    ) {
        self.take(|exchange| exchange.request.step == Step::Complete);
        let Some(link) = settings.links.get(place.0.0) else {
            return;
        };
        let before = self.registered.replace(link.clone());
        if before.is_some_and(|before| before != *link) {
            self.ask(now, place, (Step::Complete, link.clone()), settings);
        }
    }

    /// Ends the exchanges begun at another place, which can no longer be answered.
    pub(super) fn follow(&mut self, place: Option<Place>) {
        while let Some(exchange) = self.take(|exchange| Some(exchange.place) != place) {
            self.end(exchange.request.step, HandoverServiceEvent::Unprepared);
        }
    }

    /// Removes and returns the first exchange that matches.
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

    /// Emits the result of a preparation.
    fn end(&mut self, step: Step, event: HandoverServiceEvent) {
        if step != Step::Complete {
            self.events.push_back(event);
        }
    }

    /// Takes in a message from the point of service. Returns true if it answers a pending request.
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

    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout).
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let deadlines = self.under_way.iter();
        deadlines
            .map(|exchange| exchange.retransmission.deadline())
            .min()
    }

    /// Retransmits the requests that are due, or ends their exchanges.
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

    /// Returns the next packet and its outgoing interface.
    pub(super) fn poll_transmit(&mut self) -> Option<(InterfaceId, Packet)> {
        pop(&mut self.outbox)
    }

    /// Returns the next event.
    pub(super) fn poll_event(&mut self) -> Option<HandoverServiceEvent> {
        pop(&mut self.events)
    }
}
