//! The point of service, also at the gateways of access networks.

mod orders;
mod subscriptions;

pub use orders::Offload;

use super::{FIRST_TIMEOUT, LONGEST_TIMEOUT, REQUESTS};
use crate::crosslayer::Signal;
use crate::host::Discarded;
use crate::host::layer::{self, Arrival, Counters, Layer, Rank};
use crate::interface::{InterfaceId, LinkEvent, LinkParameters, StatusInterests, TransmitStatus};
use crate::mobility::{datagram, pop};
use crate::packet::{Body as PacketBody, Packet, Payload, Wording};
use crate::time::Instant;
use crate::wire::mih::{
    Answer, Body, Capabilities, Content, Events, Handover, LinkIdentifier, Mih, MihfId, Network,
    PORT, Query, Request, Response, Status, Step,
};
use core::net::{IpAddr, Ipv6Addr};
use orders::Orders;
use std::collections::{BTreeMap, VecDeque};
use subscriptions::{Indication, OwnLink, Subscriptions};

/// Counts of discarded messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PointOfServiceCounts {
    /// Malformed messages, fragments, messages for another node, and responses to no pending request.
    pub unexpected: u64,
}

/// A point of service in charge of links.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Gateway {
    identifier: MihfId,
    address: Ipv6Addr,
}

/// A mobile that is served.
#[derive(Clone, Debug, Default)]
struct Served {
    /// The mobile's request relayed to another network.
    relayed: Option<Relayed>,
    /// The mobile's registration for further services, if any.
    registration: Option<Box<Registration>>,
}

/// A mobile's registration.
#[derive(Clone, Debug)]
struct Registration {
    /// The mobile's links.
    links: Vec<LinkIdentifier>,
    /// True if the mobile has queried the networks of its links, and is told of changes.
    is_informed: bool,
    subscriptions: Subscriptions,
}

#[derive(Clone, Debug)]
struct Relayed {
    request: Mih,
    /// The mobile's address, for the response.
    from: Ipv6Addr,
    /// The request to the other network.
    onward: Mih,
    to: Ipv6Addr,
}

/// A point of service, for the mobiles it serves and for other points of service. Before it agrees to a mobile's
/// request it asks the gateway of the candidate link, and after a handover it informs the gateway of the old link; it
/// decides about its own links itself. It agrees to every known link, since the resources of a network are not
/// modelled: a mobile's retransmission repeats the request to the gateway.
///
/// A mobile that has registered gets the networks of its links on request, their changes, and the events of the point of
/// service's own links that it subscribes to, one after the other: each is retransmitted until it is acknowledged. If it
/// has an [`Offload`], the point of service orders it to another link when its link is overloaded.
///
/// Pass arriving packets to [`handle_packet`](Self::handle_packet) and link events to
/// [`handle_link`](Self::handle_link), call [`handle_timeout`](Self::handle_timeout) at
/// [`poll_timeout`](Self::poll_timeout), and drain [`poll_transmit`](Self::poll_transmit).
#[derive(Clone, Debug)]
pub struct PointOfService {
    own: Gateway,
    gateways: BTreeMap<LinkIdentifier, Gateway>,
    networks: BTreeMap<LinkIdentifier, Network>,
    links: BTreeMap<InterfaceId, OwnLink>,
    /// Access links at its own interfaces.
    access: BTreeMap<InterfaceId, LinkIdentifier>,
    orders: Orders,
    served: BTreeMap<MihfId, Served>,
    /// Mobiles to which an event is on its way, and the time of its retransmission.
    unacknowledged: BTreeMap<MihfId, Instant>,
    transaction: u16,
    counts: PointOfServiceCounts,
    outbox: VecDeque<Packet>,
    events: VecDeque<Wording>,
}

impl PointOfService {
    /// Creates a point of service at this address, without links and mobiles.
    pub fn new(identifier: MihfId, address: Ipv6Addr) -> PointOfService {
        PointOfService {
            own: Gateway {
                identifier,
                address,
            },
            gateways: BTreeMap::new(),
            networks: BTreeMap::new(),
            links: BTreeMap::new(),
            access: BTreeMap::new(),
            orders: Orders::default(),
            served: BTreeMap::new(),
            unacknowledged: BTreeMap::new(),
            transaction: 0,
            counts: PointOfServiceCounts::default(),
            outbox: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// Returns its MIHF identifier.
    pub fn identifier(&self) -> &MihfId {
        &self.own.identifier
    }

    /// Returns its address.
    pub fn address(&self) -> Ipv6Addr {
        self.own.address
    }

    /// Adds a link and the point of service in charge of it, which may be this one.
    pub fn add_link(&mut self, link: LinkIdentifier, (identifier, address): (MihfId, Ipv6Addr)) {
        let gateway = Gateway {
            identifier,
            address,
        };
        self.gateways.insert(link, gateway);
    }

    /// Adds information about a network.
    pub fn add_network(&mut self, network: Network) {
        self.networks.insert(network.link.clone(), network);
    }

    /// Adds a link at one of its own interfaces, whose events mobiles may subscribe to.
    pub fn add_own_link(&mut self, interface: InterfaceId, link: LinkIdentifier) {
        self.links.insert(interface, OwnLink::new(link));
    }

    /// Adds an access link at one of its own interfaces, whose changes it pushes to mobiles.
    pub fn add_access_link(&mut self, interface: InterfaceId, link: LinkIdentifier) {
        self.access.insert(interface, link);
    }

    /// Adds a mobile to serve.
    pub fn enrol(&mut self, mobile: MihfId) {
        self.served.insert(mobile, Served::default());
    }

    /// Returns the counts of discarded messages.
    pub fn counts(&self) -> PointOfServiceCounts {
        self.counts
    }

    /// Takes in a packet for this host. Returns it if it is not addressed to the point of service.
    pub fn handle_packet(&mut self, now: Instant, packet: Packet) -> Option<Packet> {
        let (IpAddr::V6(from), PacketBody::Udp(ports, Payload::Bytes(bytes))) =
            (packet.ip.source, &packet.body)
        else {
            return Some(packet);
        };
        let is_here = packet.ip.destination == IpAddr::V6(self.own.address);
        if !is_here || ports.destination_port != PORT {
            return Some(packet);
        }
        let message = Mih::decode(bytes).ok();
        match message.filter(|message| message.destination == self.own.identifier) {
            Some(message) => self.handle_message(now, from, message),
            None => self.counts.unexpected += 1,
        }
        None
    }

    fn handle_message(&mut self, now: Instant, from: Ipv6Addr, message: Mih) {
        match &message.body {
            Body::Handover(handover) => {
                let handover = handover.clone();
                self.handle_command(now, from, message, handover);
            }
            Body::Request(request) => {
                let response = match self.grant(from, &message.source, request) {
                    Ok(answer) => Response::Granted(answer),
                    Err(status) => Response::Refused(request.service(), status),
                };
                self.send(from, &message.answer(Body::Response(response)));
            }
            Body::Acknowledgement(_) => self.handle_acknowledgement(now, &message),
            Body::Response(_) | Body::Order(_) => self.handle_answer(now, &message),
            Body::Event(_) | Body::Push(_) => self.counts.unexpected += 1,
        }
    }

    fn handle_command(&mut self, now: Instant, from: Ipv6Addr, message: Mih, handover: Handover) {
        match (&handover.content, &handover.mobile) {
            (Content::Request(link), None) => {
                let link = link.clone();
                let arrived = (handover.step == Step::Complete)
                    .then(|| (message.source.clone(), link.clone()));
                self.handle_mobile(from, (message, handover), link);
                if let Some((mobile, link)) = arrived {
                    self.note_arrival(now, (from, &mobile), &link);
                }
            }
            (Content::Request(link), Some(_)) => {
                let status = match self.is_own(link) || handover.step == Step::Complete {
                    true => Status::Success,
                    false => Status::Rejected,
                };
                self.respond(from, &message, status);
            }
            (Content::Response { status, .. }, Some(mobile)) => {
                if !self.handle_onward(mobile, &message, *status) {
                    self.handle_answer(now, &message);
                }
            }
            (Content::Response { .. }, None) => self.counts.unexpected += 1,
        }
    }

    /// Grants a mobile's request of a further service, or refuses it.
    fn grant(
        &mut self,
        from: Ipv6Addr,
        mobile: &MihfId,
        request: &Request,
    ) -> Result<Answer, Status> {
        let served = self.served.get_mut(mobile);
        let known = |link: &LinkIdentifier| {
            let is_known = self.links.values().any(|own| own.is(link));
            is_known.then_some(()).ok_or(Status::Rejected)
        };
        Ok(match request {
            Request::Discover => {
                let links = self.links.values().map(|own| own.identifier().clone());
                Answer::Capabilities(Capabilities {
                    links: links.collect(),
                    events: Events::ALL,
                })
            }
            Request::Register(links) => {
                let registration = Registration {
                    links: links.clone(),
                    is_informed: false,
                    subscriptions: Subscriptions::new(from),
                };
                served.ok_or(Status::Unauthorized)?.registration = Some(Box::new(registration));
                Answer::Registered
            }
            // A repeated request succeeds, too.
            Request::Deregister => {
                served.ok_or(Status::Unauthorized)?.registration = None;
                self.unacknowledged.remove(mobile);
                Answer::Deregistered
            }
            Request::GetInformation(Query::Rdf) => return Err(Status::Rejected),
            Request::GetInformation(Query::Binary) => {
                let own = registered(served)?;
                own.is_informed = true;
                let links = own.links.iter();
                let networks = links.filter_map(|link| self.networks.get(link));
                Answer::Information(networks.cloned().collect())
            }
            Request::Unsubscribe(link, events) => {
                let own = registered(served)?;
                own.subscriptions.unsubscribe(link, *events);
                Answer::Unsubscribed(link.clone(), *events)
            }
            // For mobiles.
            Request::GetParameters(_) | Request::Act(_) => return Err(Status::Rejected),
            Request::Subscribe(link, events) => {
                let own = registered(served)?;
                known(link)?;
                let events = events.and(Events::ALL);
                own.subscriptions.subscribe(link, events);
                Answer::Subscribed(link.clone(), events)
            }
            Request::ConfigureThresholds(link, thresholds) => {
                let own = registered(served)?;
                known(link)?;
                own.subscriptions.configure(link, thresholds);
                Answer::Configured(link.clone(), thresholds.clone())
            }
        })
    }

    /// Takes in an event of the link at one of its own interfaces, and reports it to subscribed mobiles.
    pub fn handle_link(&mut self, now: Instant, interface: InterfaceId, event: LinkEvent) {
        if let LinkEvent::Parameters(parameters) = event {
            self.push(now, interface, parameters);
        }
        let Some(link) = self.links.get_mut(&interface) else {
            return;
        };
        let before = link.rate();
        link.note(event);
        let mut concerned = Vec::new();
        for (mobile, served) in &mut self.served {
            if let Some(registration) = &mut served.registration
                && registration.subscriptions.report(link, (before, event))
            {
                concerned.push(mobile.clone());
            }
        }
        for mobile in concerned {
            self.send_event(now, &mobile);
        }
    }

    /// Notes the rate of an access link, and pushes it to the mobiles that have queried the link's network.
    fn push(&mut self, now: Instant, interface: InterfaceId, parameters: LinkParameters) {
        let link = self.access.get(&interface);
        let Some(network) = link.and_then(|link| self.networks.get_mut(link)) else {
            return;
        };
        let rate = parameters.outgoing.min(parameters.incoming);
        let rate = u32::try_from(rate.bits_per_second() / 1000).unwrap_or(u32::MAX);
        if core::mem::replace(&mut network.rate, rate) == rate {
            return;
        }
        let mut concerned = Vec::new();
        for (mobile, served) in &mut self.served {
            if let Some(own) = &mut served.registration
                && own.is_informed
                && own.links.contains(&network.link)
            {
                let news = Indication::Push(vec![network.clone()]);
                own.subscriptions.add(news);
                concerned.push(mobile.clone());
            }
        }
        for mobile in concerned {
            self.send_event(now, &mobile);
        }
    }

    /// Takes in a mobile's acknowledgement of an event, and sends it the next one.
    fn handle_acknowledgement(&mut self, now: Instant, message: &Mih) {
        let own = self.subscriptions(&message.source);
        if own.is_some_and(|own| own.handle_acknowledgement(message)) {
            self.send_event(now, &message.source);
        } else {
            self.counts.unexpected += 1;
        }
    }

    /// Sends a mobile its next event, unless one is not acknowledged.
    fn send_event(&mut self, now: Instant, mobile: &MihfId) {
        let transaction = self.transaction.wrapping_add(1) & 0x0FFF;
        let ends = [&self.own.identifier, mobile].map(Clone::clone);
        let Some(own) = self.subscriptions(mobile) else {
            return;
        };
        if let Some(message) = own.next_event(now, transaction, ends) {
            let address = own.address;
            self.transaction = transaction;
            self.send(address, &message);
        }
        self.note_unacknowledged(mobile);
    }

    /// Notes if an event is on its way to a mobile.
    fn note_unacknowledged(&mut self, mobile: &MihfId) {
        let deadline = self.subscriptions(mobile).and_then(|own| own.deadline());
        match deadline {
            Some(at) => self.unacknowledged.insert(mobile.clone(), at),
            None => self.unacknowledged.remove(mobile),
        };
    }

    fn subscriptions(&mut self, mobile: &MihfId) -> Option<&mut Subscriptions> {
        let registration = self.served.get_mut(mobile)?.registration.as_mut()?;
        Some(&mut registration.subscriptions)
    }

    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout).
    pub fn poll_timeout(&self) -> Option<Instant> {
        let events = self.unacknowledged.values().copied();
        events.chain(self.orders.poll_timeout()).min()
    }

    /// Retransmits the events that are due, or gives up on them and sends the next ones.
    pub fn handle_timeout(&mut self, now: Instant) {
        let due = self.unacknowledged.iter().filter(|(_, at)| **at <= now);
        let due: Vec<MihfId> = due.map(|(mobile, _)| mobile.clone()).collect();
        for mobile in due {
            if let Some(own) = self.subscriptions(&mobile)
                && let Some(message) = own.retransmit(now)
            {
                let address = own.address;
                self.send(address, &message);
            }
            self.send_event(now, &mobile);
        }
        self.repeat_orders(now);
    }

    fn is_own(&self, link: &LinkIdentifier) -> bool {
        let gateway = self.gateways.get(link);
        gateway.is_some_and(|gateway| *gateway == self.own)
    }

    /// Handles a mobile's command.
    fn handle_mobile(
        &mut self,
        from: Ipv6Addr,
        (request, handover): (Mih, Handover),
        link: LinkIdentifier,
    ) {
        let Some(served) = self.served.get_mut(&request.source) else {
            return self.respond(from, &request, Status::Unauthorized);
        };
        // A retransmission, which repeats the request to the gateway.
        if let Some(relayed) = &served.relayed
            && (&relayed.request, relayed.from) == (&request, from)
        {
            let (to, onward) = (relayed.to, relayed.onward.clone());
            return self.send(to, &onward);
        }
        served.relayed = None;
        let asked = match handover.step {
            Step::Query | Step::Commit => Some(link.clone()),
            // The link that the mobile has left.
            Step::Complete => {
                if let Some(registration) = &mut served.registration {
                    registration.subscriptions.address = from;
                }
                handover.current.clone().filter(|before| *before != link)
            }
        };
        let known = self.gateways.contains_key(&link);
        let gateway = asked.and_then(|asked| self.gateways.get(&asked));
        match gateway.filter(|gateway| known && **gateway != self.own) {
            Some(gateway) => {
                let gateway = gateway.clone();
                self.relay(from, (request, handover), gateway);
            }
            None => {
                let status = match known {
                    true => Status::Success,
                    false => Status::Rejected,
                };
                self.respond(from, &request, status);
            }
        }
    }

    /// Sends a request or report about a mobile to another network, and keeps the mobile's request for the response.
    fn relay(&mut self, from: Ipv6Addr, (request, handover): (Mih, Handover), gateway: Gateway) {
        self.transaction = self.transaction.wrapping_add(1) & 0x0FFF;
        let handover = Handover {
            mobile: Some(request.source.clone()),
            current: handover.current.filter(|_| handover.step == Step::Complete),
            ..handover
        };
        let ends = [self.own.identifier.clone(), gateway.identifier];
        let onward = Mih::new(self.transaction, ends, Body::Handover(handover));
        self.send(gateway.address, &onward);
        if let Some(served) = self.served.get_mut(&request.source) {
            served.relayed = Some(Relayed {
                request,
                from,
                onward,
                to: gateway.address,
            });
        }
    }

    /// Takes in a response from another network and answers the mobile. Returns false if the mobile has not asked.
    fn handle_onward(&mut self, mobile: &MihfId, answer: &Mih, status: Status) -> bool {
        let answers =
            |relayed: &mut Relayed| relayed.onward.response(status).as_ref() == Some(answer);
        let served = self.served.get_mut(mobile);
        let relayed = served.and_then(|served| served.relayed.take_if(answers));
        if let Some(relayed) = &relayed {
            self.respond(relayed.from, &relayed.request, status);
        }
        relayed.is_some()
    }

    /// Responds to a command.
    fn respond(&mut self, to: Ipv6Addr, request: &Mih, status: Status) {
        if let Some(response) = request.response(status) {
            self.send(to, &response);
        }
    }

    fn send(&mut self, to: Ipv6Addr, message: &Mih) {
        let packet = datagram((self.own.address, to), PORT, message.encode());
        self.outbox.push_back(packet);
    }

    /// Returns the next packet to send, by the host's routes.
    pub fn poll_transmit(&mut self) -> Option<Packet> {
        pop(&mut self.outbox)
    }
}

fn registered(served: Option<&mut Served>) -> Result<&mut Registration, Status> {
    let registration = served.and_then(|served| served.registration.as_deref_mut());
    registration.ok_or(Status::Unauthorized)
}

impl Layer for PointOfService {
    fn rank(&self) -> Rank {
        Rank::PointOfService
    }

    fn input(&mut self, now: Instant, _arrival: Arrival, packet: Packet) -> Option<Packet> {
        self.handle_packet(now, packet)
    }

    fn handle_signal(&mut self, now: Instant, signal: &Signal) {
        if let Signal::Link(interface, event) = *signal {
            self.handle_link(now, interface, event);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        PointOfService::poll_timeout(self)
    }

    fn handle_timeout(&mut self, now: Instant) {
        PointOfService::handle_timeout(self, now);
    }

    fn status_interests(&self) -> StatusInterests {
        StatusInterests {
            queued: self.orders.watch(),
            ..StatusInterests::default()
        }
    }

    fn handle_transmit_status(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        _packet: &Packet,
        status: TransmitStatus,
    ) -> bool {
        self.handle_status(now, interface, status)
    }

    fn poll_event(&mut self) -> Option<Wording> {
        pop(&mut self.events)
    }

    fn poll_step(&mut self) -> Option<layer::Step> {
        self.poll_transmit().map(layer::Step::Forward)
    }

    fn counters(&self) -> Counters {
        let discarded = Discarded {
            messages: self.counts().unexpected,
            ..Discarded::default()
        };
        Counters {
            discarded,
            ..Counters::default()
        }
    }
}
