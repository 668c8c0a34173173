//! Handovers assisted by a point of service in the network: IEEE 802.21 between it and a mobile.
//!
//! Before a predicted handover the mobile queries the resources of the candidate network and commits to it; once
//! registered over the new link, it reports completion. Without an answer, or after a refusal, the handover goes ahead
//! all the same: the mobile decides. A mobile with further services requests them at its first place: it registers,
//! subscribes to events of the network's links, and queries the networks around. A registered mobile answers the point
//! of service's queries and commands about its links, and makes the handovers that it orders.

mod own_links;
mod point_of_service;
mod services;

pub use point_of_service::{Offload, PointOfService, PointOfServiceCounts};

use super::binding::Retransmission;
use super::{datagram, pop};
use crate::crosslayer::{NetworkInformation, RemoteEvent};
use crate::interface::{InterfaceId, LinkEvent};
use crate::packet::Packet;
use crate::time::{Duration, Instant};
use crate::wire::mih::{
    Body, Content, Handover, LinkIdentifier, Mih, MihfId, PORT, Response, Status, Step,
};
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
    /// Link that carries the messages before a handover.
    pub signalling: Signalling,
    /// True to query the networks around (information service).
    pub information: bool,
    /// Links of the point of service whose events to subscribe to, if it knows them (event service).
    pub remote_links: Vec<LinkIdentifier>,
    /// Data rate of these links, in kbit/s, at which a report is due, if any.
    pub rate_threshold: Option<u16>,
    /// True to register for handovers that the network begins.
    pub obeys: bool,
    /// Time at which the mobile ends its subscriptions and its registration, if ever.
    pub services_until: Option<Instant>,
}

/// Link that carries the messages before a handover (study S, section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signalling {
    /// The link in use.
    Backward,
    /// The new link, once the mobile has an address there.
    Forward,
}

/// Initial retransmission time, doubled for each further request. Chosen: as for a binding update (RFC 6275).
const FIRST_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum retransmission time; never reached.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(32);
/// Number of transmissions of a request or indication. Chosen: an unanswered exchange ends after 7 s.
const REQUESTS: u32 = 3;
/// Longest wait for an address on a new link. Chosen: as long as for an answer.
const LONGEST_WAIT: Duration = Duration::from_secs(7);

/// Event of the services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandoverServiceEvent {
    /// The point of service has agreed to a handover.
    Prepared,
    /// The point of service has refused a handover or not answered, or the link of the messages was lost.
    Unprepared,
    /// Information about the network at an interface.
    Information(InterfaceId, NetworkInformation),
    /// An event of one of the settings' remote links.
    Remote(RemoteEvent),
    /// The point of service has ordered a handover to this interface.
    Ordered(InterfaceId),
    /// The point of service has had this interface's link disconnected or powered down.
    Released(InterfaceId),
}

/// Interface and address from which the mobile sends.
pub(super) type Place = (InterfaceId, Ipv6Addr);

/// Purpose of a request. There is one request of each at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// Query and commitment before a handover.
    Preparation,
    /// Report after a handover.
    Completion,
    /// Registration and further services.
    Services,
}

/// A pending request.
#[derive(Clone, Debug)]
struct Exchange {
    place: Place,
    request: Mih,
    retransmission: Retransmission,
}

impl Exchange {
    fn purpose(&self) -> Purpose {
        match &self.request.body {
            Body::Handover(handover) if handover.step == Step::Complete => Purpose::Completion,
            Body::Handover(_) => Purpose::Preparation,
            _ => Purpose::Services,
        }
    }
}

/// The mobile's client.
#[derive(Clone, Debug, Default)]
pub(super) struct HandoverService {
    transaction: u16,
    /// The latest exchange of each purpose.
    under_way: Vec<Exchange>,
    /// Link of the latest registration at the home agent.
    registered: Option<LinkIdentifier>,
    services: services::Services,
    own_links: own_links::OwnLinks,
    /// Interface to which a handover is prepared once the mobile has an address there, and the end of the wait.
    awaited: Option<(InterfaceId, Instant)>,
    outbox: VecDeque<(InterfaceId, Packet)>,
    events: VecDeque<HandoverServiceEvent>,
}

impl HandoverService {
    /// Starts the preparation of a handover from the interface in use to another one's network, by messages from this
    /// place of the mobile.
    pub(super) fn prepare(
        &mut self,
        now: Instant,
        (used, candidate): (Option<InterfaceId>, InterfaceId),
        place: Option<Place>,
        settings: &HandoverServiceSettings,
    ) {
        self.take(|exchange| exchange.purpose() == Purpose::Preparation);
        self.awaited = None;
        match (place, settings.links.get(candidate.0)) {
            (Some(place), Some(link)) => {
                let current = used.and_then(|used| settings.links.get(used.0));
                let query = command(current.cloned(), (Step::Query, link.clone()));
                self.ask(now, place, query, settings);
            }
            _ => self.events.push_back(HandoverServiceEvent::Unprepared),
        }
    }

    /// Waits for an address at an interface, to prepare a handover from there.
    pub(super) fn await_place(&mut self, now: Instant, interface: InterfaceId) {
        self.take(|exchange| exchange.purpose() == Purpose::Preparation);
        self.awaited = Some((interface, now + LONGEST_WAIT));
    }

    /// Returns the interface at which an address is awaited.
    pub(super) fn awaited(&self) -> Option<InterfaceId> {
        self.awaited.map(|(interface, _)| interface)
    }

    /// Records a registration from this place, and reports completion if the interface has changed.
    pub(super) fn complete(
        &mut self,
        now: Instant,
        place: Place,
        settings: &HandoverServiceSettings,
    ) {
        self.take(|exchange| exchange.purpose() == Purpose::Completion);
        let Some(link) = settings.links.get(place.0.0) else {
            return;
        };
        self.own_links.note_use(place.0);
        let before = self.registered.replace(link.clone());
        if let Some(before) = before.filter(|before| before != link) {
            let report = command(Some(before), (Step::Complete, link.clone()));
            self.ask(now, place, report, settings);
        }
    }

    /// Takes in a medium's event at an interface.
    pub(super) fn handle_medium(&mut self, interface: InterfaceId, event: LinkEvent) {
        self.own_links.note(interface, event);
    }

    /// Notes that the mobile has moved.
    pub(super) fn note_move(&mut self) {
        self.services.resume();
    }

    /// Ends the exchanges begun at a place that the mobile has left, since they can no longer be answered.
    pub(super) fn follow(&mut self, is_there: impl Fn(Place) -> bool) {
        while let Some(exchange) = self.take(|exchange| !is_there(exchange.place)) {
            self.end(exchange.purpose(), HandoverServiceEvent::Unprepared);
        }
    }

    /// Removes and returns the first exchange that matches.
    fn take(&mut self, which: impl Fn(&Exchange) -> bool) -> Option<Exchange> {
        let place = self.under_way.iter().position(which)?;
        Some(self.under_way.remove(place))
    }

    fn ask(&mut self, now: Instant, place: Place, body: Body, settings: &HandoverServiceSettings) {
        self.transaction = self.transaction.wrapping_add(1) & 0x0FFF;
        let ends = [&settings.identifier, &settings.service_identifier].map(Clone::clone);
        let exchange = Exchange {
            place,
            request: Mih::new(self.transaction, ends, body),
            retransmission: Retransmission::begin(now, FIRST_TIMEOUT),
        };
        self.send(exchange.place, &exchange.request, settings);
        self.under_way.push(exchange);
    }

    fn send(&mut self, place: Place, message: &Mih, settings: &HandoverServiceSettings) {
        let (interface, address) = place;
        let ends = (address, settings.point_of_service);
        let packet = datagram(ends, PORT, message.encode());
        self.outbox.push_back((interface, packet));
    }

    /// Emits the result of a preparation; gives up on services that were requested in vain.
    fn end(&mut self, purpose: Purpose, event: HandoverServiceEvent) {
        match purpose {
            Purpose::Preparation => self.events.push_back(event),
            Purpose::Completion => {}
            Purpose::Services => self.services.give_up(),
        }
    }

    /// Takes in a message from the point of service to this place. Returns true if it answers a pending request, is a
    /// request or an indication to this mobile, or is an event of a subscribed link.
    pub(super) fn handle_message(
        &mut self,
        now: Instant,
        place: Place,
        bytes: &[u8],
        settings: &HandoverServiceSettings,
    ) -> bool {
        let Ok(message) = Mih::decode(bytes) else {
            return false;
        };
        match &message.body {
            Body::Handover(Handover {
                content: Content::Response { status, .. },
                ..
            }) => return self.handle_response(now, &message, *status, settings),
            Body::Response(response) => {
                return self.handle_grant(now, &message, response, settings);
            }
            _ => {}
        }
        let ends = [&message.source, &message.destination];
        if ends != [&settings.service_identifier, &settings.identifier] {
            return false;
        }
        match &message.body {
            Body::Event(_) | Body::Push(_) => self.handle_indication(place, &message, settings),
            Body::Request(_) | Body::Order(_) => self.handle_request(place, &message, settings),
            _ => false,
        }
    }

    /// Answers a request of the point of service from this place. Returns false if the mobile has no such service.
    fn handle_request(
        &mut self,
        place: Place,
        message: &Mih,
        settings: &HandoverServiceSettings,
    ) -> bool {
        let used = self.registered.as_ref();
        let (answer, events) = match self.own_links.answer(message, used, settings) {
            Some(answered) => answered,
            None => return false,
        };
        self.send(place, &answer, settings);
        self.events.extend(events);
        true
    }

    /// Takes in the response to a request of a service, and requests the next one.
    fn handle_grant(
        &mut self,
        now: Instant,
        message: &Mih,
        response: &Response,
        settings: &HandoverServiceSettings,
    ) -> bool {
        let answers = |exchange: &Exchange| match &exchange.request.body {
            Body::Request(request) => {
                request.service() == response.service()
                    && *message == exchange.request.answer(message.body.clone())
            }
            _ => false,
        };
        let Some(exchange) = self.take(answers) else {
            return false;
        };
        match response {
            Response::Granted(answer) => {
                self.events.extend(self.services.learn(answer, settings));
                self.request_services(now, exchange.place, settings);
            }
            Response::Refused(..) => self.services.give_up(),
        }
        true
    }

    /// Takes in a remote event or pushed information, and acknowledges it from this place.
    fn handle_indication(
        &mut self,
        place: Place,
        message: &Mih,
        settings: &HandoverServiceSettings,
    ) -> bool {
        let news = match &message.body {
            Body::Event(event) => match services::remote_event(event, settings) {
                Some(remote) => vec![HandoverServiceEvent::Remote(remote)],
                None => return false,
            },
            Body::Push(networks) => services::news(networks, settings),
            _ => return false,
        };
        if message.wants_acknowledgement {
            self.send(place, &message.acknowledgement(), settings);
        }
        if self.services.is_new(message.transaction) {
            self.events.extend(news);
        }
        true
    }

    /// Takes in the response to a command.
    fn handle_response(
        &mut self,
        now: Instant,
        message: &Mih,
        status: Status,
        settings: &HandoverServiceSettings,
    ) -> bool {
        let answers =
            |exchange: &Exchange| exchange.request.response(status).as_ref() == Some(message);
        let Some(exchange) = self.take(answers) else {
            return false;
        };
        let purpose = exchange.purpose();
        match (exchange.request.body, status) {
            (
                Body::Handover(Handover {
                    step: Step::Query,
                    content: Content::Request(link),
                    ..
                }),
                Status::Success,
            ) => {
                let commitment = command(None, (Step::Commit, link));
                self.ask(now, exchange.place, commitment, settings);
            }
            (_, Status::Success) => self.end(purpose, HandoverServiceEvent::Prepared),
            _ => self.end(purpose, HandoverServiceEvent::Unprepared),
        }
        true
    }

    /// Requests the next of the settings' services that the mobile does not have yet, unless a request is pending.
    pub(super) fn request_services(
        &mut self,
        now: Instant,
        place: Place,
        settings: &HandoverServiceSettings,
    ) {
        let mut pending = self.under_way.iter();
        if pending.any(|exchange| exchange.purpose() == Purpose::Services) {
            return;
        }
        if let Some(request) = self.services.next_request(settings) {
            self.ask(now, place, Body::Request(request), settings);
        }
    }

    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout).
    pub(super) fn poll_timeout(&self, settings: &HandoverServiceSettings) -> Option<Instant> {
        let deadlines = self.under_way.iter();
        let deadlines = deadlines.map(|exchange| exchange.retransmission.deadline());
        let deadlines = deadlines.chain(self.awaited.map(|(_, end)| end));
        deadlines.chain(self.services.end(settings)).min()
    }

    /// Retransmits the requests that are due, or ends their exchanges.
    pub(super) fn handle_timeout(&mut self, now: Instant, settings: &HandoverServiceSettings) {
        if self.services.end(settings).is_some_and(|end| end <= now) {
            self.services.begin_end();
        }
        if self.awaited.take_if(|(_, end)| *end <= now).is_some() {
            self.end(Purpose::Preparation, HandoverServiceEvent::Unprepared);
        }
        let due = |exchange: &Exchange| exchange.retransmission.deadline() <= now;
        while let Some(mut exchange) = self.take(due) {
            if exchange.retransmission.sent() < REQUESTS {
                exchange.retransmission.again(now, LONGEST_TIMEOUT);
                self.send(exchange.place, &exchange.request, settings);
                self.under_way.push(exchange);
            } else {
                self.end(exchange.purpose(), HandoverServiceEvent::Unprepared);
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

/// Builds a command about a link; a query has the link in use, and a report of completion the link that was left.
fn command(current: Option<LinkIdentifier>, (step, link): (Step, LinkIdentifier)) -> Body {
    Body::Handover(Handover {
        mobile: None,
        step,
        current,
        content: Content::Request(link),
    })
}
