//! The point of service, also at the gateways of access networks.

use crate::host::Discarded;
use crate::host::layer::{self, Arrival, Counters, Layer, Rank};
use crate::mobility::{datagram, pop};
use crate::packet::{Body, Packet, Payload};
use crate::time::Instant;
use crate::wire::mih::{Content, LinkIdentifier, Mih, MihfId, PORT, Status, Step};
use core::net::{IpAddr, Ipv6Addr};
use std::collections::{BTreeMap, VecDeque};

/// Counts of discarded messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PointOfServiceCounts {
    /// Malformed messages, messages for another node, and responses to no pending request.
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
    /// The mobile's current link, as far as it has reported it.
    link: Option<LinkIdentifier>,
    /// The mobile's request relayed to another network.
    relayed: Option<Relayed>,
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
/// modelled. It has no timer: a mobile's retransmission repeats the request to the gateway.
///
/// Pass arriving packets to [`handle_packet`](Self::handle_packet) and drain [`poll_transmit`](Self::poll_transmit).
#[derive(Clone, Debug)]
pub struct PointOfService {
    own: Gateway,
    gateways: BTreeMap<LinkIdentifier, Gateway>,
    served: BTreeMap<MihfId, Served>,
    transaction: u16,
    counts: PointOfServiceCounts,
    outbox: VecDeque<Packet>,
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
            served: BTreeMap::new(),
            transaction: 0,
            counts: PointOfServiceCounts::default(),
            outbox: VecDeque::new(),
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

    /// Adds a mobile to serve.
    pub fn enrol(&mut self, mobile: MihfId) {
        self.served.insert(mobile, Served::default());
    }

    /// Returns the counts of discarded messages.
    pub fn counts(&self) -> PointOfServiceCounts {
        self.counts
    }

    /// Takes in a packet for this host. Returns it if it is not addressed to the point of service.
    pub fn handle_packet(&mut self, packet: Packet) -> Option<Packet> {
        let (IpAddr::V6(from), Body::Udp(ports, Payload::Bytes(bytes))) =
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
            Some(message) => self.handle_message(from, message),
            None => self.counts.unexpected += 1,
        }
        None
    }

    fn handle_message(&mut self, from: Ipv6Addr, message: Mih) {
        match (&message.content, &message.mobile) {
            (Content::Request(link), None) => {
                let link = link.clone();
                self.handle_mobile(from, message, link);
            }
            (Content::Request(link), Some(_)) => {
                let status = match self.is_own(link) || message.step == Step::Complete {
                    true => Status::Success,
                    false => Status::Rejected,
                };
                self.send(from, &message.response(status));
            }
            (Content::Response { status, .. }, Some(mobile)) => {
                let (status, mobile) = (*status, mobile.clone());
                self.handle_onward(&mobile, &message, status);
            }
            (Content::Response { .. }, None) => self.counts.unexpected += 1,
        }
    }

    fn is_own(&self, link: &LinkIdentifier) -> bool {
        let gateway = self.gateways.get(link);
        gateway.is_some_and(|gateway| *gateway == self.own)
    }

    /// Handles a mobile's request.
    fn handle_mobile(&mut self, from: Ipv6Addr, request: Mih, link: LinkIdentifier) {
        let Some(served) = self.served.get_mut(&request.source) else {
            return self.send(from, &request.response(Status::Unauthorized));
        };
        // A retransmission, which repeats the request to the gateway.
        if let Some(relayed) = &served.relayed
            && (&relayed.request, relayed.from) == (&request, from)
        {
            let (to, onward) = (relayed.to, relayed.onward.clone());
            return self.send(to, &onward);
        }
        served.relayed = None;
        let asked = match request.step {
            Step::Query => {
                served.link = request.current.clone();
                Some(link.clone())
            }
            Step::Commit => Some(link.clone()),
            // The mobile's previous link, if known.
            Step::Complete => {
                let before = served.link.replace(link.clone());
                before.filter(|before| *before != link)
            }
        };
        let known = self.gateways.contains_key(&link);
        let gateway = asked.and_then(|asked| self.gateways.get(&asked));
        match gateway.filter(|gateway| known && **gateway != self.own) {
            Some(gateway) => {
                let gateway = gateway.clone();
                self.relay(from, request, gateway);
            }
            None => {
                let status = match known {
                    true => Status::Success,
                    false => Status::Rejected,
                };
                self.send(from, &request.response(status));
            }
        }
    }

    /// Sends a request or report about a mobile to another network, and keeps the mobile's request for the response.
    fn relay(&mut self, from: Ipv6Addr, request: Mih, gateway: Gateway) {
        self.transaction = self.transaction.wrapping_add(1) & 0x0FFF;
        let onward = Mih {
            transaction: self.transaction,
            source: self.own.identifier.clone(),
            destination: gateway.identifier,
            mobile: Some(request.source.clone()),
            current: None,
            ..request.clone()
        };
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

    /// Takes in a response from another network and answers the mobile.
    fn handle_onward(&mut self, mobile: &MihfId, answer: &Mih, status: Status) {
        let answers = |relayed: &mut Relayed| *answer == relayed.onward.response(status);
        let served = self.served.get_mut(mobile);
        let relayed = served.and_then(|served| served.relayed.take_if(answers));
        match relayed {
            Some(relayed) => self.send(relayed.from, &relayed.request.response(status)),
            None => self.counts.unexpected += 1,
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

impl Layer for PointOfService {
    fn rank(&self) -> Rank {
        Rank::PointOfService
    }

    fn input(&mut self, _now: Instant, _arrival: Arrival, packet: Packet) -> Option<Packet> {
        self.handle_packet(packet)
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
