//! The point of service, and the same at gateways of access networks.

use crate::host::Discarded;
use crate::host::layer::{self, Arrival, Counters, Layer, Rank};
use crate::mobility::{datagram, pop};
use crate::packet::{Body, Packet, Payload};
use crate::time::Instant;
use crate::wire::mih::{Content, LinkIdentifier, Mih, MihfId, PORT, Status, Step};
use core::net::{IpAddr, Ipv6Addr};
use std::collections::{BTreeMap, VecDeque};

/// Messages that came to nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PointOfServiceCounts {
    /// What is no message, for somebody else, or an answer that nobody waits for.
    pub unexpected: u64,
}

/// Who is in charge of a link: its gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Gateway {
    identifier: MihfId,
    address: Ipv6Addr,
}

/// A mobile that is served.
#[derive(Clone, Debug, Default)]
struct Served {
    /// The link that it uses, as far as it has said so.
    link: Option<LinkIdentifier>,
    /// Its request that another network was asked about.
    relayed: Option<Relayed>,
}

#[derive(Clone, Debug)]
struct Relayed {
    request: Mih,
    /// Where the answer goes.
    from: Ipv6Addr,
    /// What the other network was asked.
    onward: Mih,
    to: Ipv6Addr,
}

/// Answers mobiles that it serves, and other points of service. It asks the gateway of a candidate link before it agrees, and
/// tells the gateway of the link that was left; a link of its own it knows itself. It agrees to every link that it knows: how
/// much room a network has is not modelled. It has no timer: a mobile that repeats its request has it asked again.
///
/// Hand in what comes ([`handle_packet`](Self::handle_packet)) and drain [`poll_transmit`](Self::poll_transmit).
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
    /// One at this address that knows no links and serves nobody.
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

    /// Who it is.
    pub fn identifier(&self) -> &MihfId {
        &self.own.identifier
    }

    /// Where it is.
    pub fn address(&self) -> Ipv6Addr {
        self.own.address
    }

    /// Lets it know a link, and whose gateway is in charge of it: perhaps this one.
    pub fn add_link(&mut self, link: LinkIdentifier, (identifier, address): (MihfId, Ipv6Addr)) {
        let gateway = Gateway {
            identifier,
            address,
        };
        self.gateways.insert(link, gateway);
    }

    /// Lets it serve a mobile.
    pub fn enrol(&mut self, mobile: MihfId) {
        self.served.insert(mobile, Served::default());
    }

    /// What went wrong so far.
    pub fn counts(&self) -> PointOfServiceCounts {
        self.counts
    }

    /// Takes in a packet for this host. Returns what is none of its business.
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

    /// A mobile asks.
    fn handle_mobile(&mut self, from: Ipv6Addr, request: Mih, link: LinkIdentifier) {
        let Some(served) = self.served.get_mut(&request.source) else {
            return self.send(from, &request.response(Status::Unauthorized));
        };
        // It has waited too long: the same is asked again.
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
            // Where the mobile was before, if it has said so.
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

    /// Asks or tells another network about a mobile, before the mobile is answered.
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

    /// Another network has answered: so is the mobile.
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

    /// The next packet to send, wherever routes lead.
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
