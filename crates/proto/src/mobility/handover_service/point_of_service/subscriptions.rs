//! Events of a point of service's own links, and a mobile's subscriptions to them.

use super::{FIRST_TIMEOUT, LONGEST_TIMEOUT, REQUESTS};
use crate::interface::LinkEvent;
use crate::mobility::binding::Retransmission;
use crate::time::Instant;
use crate::wire::mih::{
    Body, Crossing, Event, Events, LinkChange, LinkIdentifier, Mih, MihfId, Network, Threshold,
};
use core::net::Ipv6Addr;
use std::collections::{BTreeMap, VecDeque};

/// Number of events that wait for a mobile's acknowledgement; later ones are dropped. Chosen.
const MOST_WAITING: usize = 32;

/// A link at one of the point of service's interfaces.
#[derive(Clone, Debug)]
pub(super) struct OwnLink {
    identifier: LinkIdentifier,
    /// Data rate in kbit/s, once reported: the lower one of both directions.
    rate: Option<u16>,
}

impl OwnLink {
    pub fn new(identifier: LinkIdentifier) -> OwnLink {
        OwnLink {
            identifier,
            rate: None,
        }
    }

    pub fn identifier(&self) -> &LinkIdentifier {
        &self.identifier
    }

    pub fn is(&self, link: &LinkIdentifier) -> bool {
        self.identifier == *link
    }

    pub fn rate(&self) -> Option<u16> {
        self.rate
    }

    /// Takes in an event.
    pub fn note(&mut self, event: LinkEvent) {
        if let LinkEvent::Parameters(parameters) = event {
            self.rate = Some(parameters.kilobits());
        }
    }
}

/// An indication to a mobile.
#[derive(Clone, Debug)]
pub(super) enum Indication {
    /// An event that it has subscribed to.
    Event(Event),
    /// New information about networks.
    Push(Vec<Network>),
}

/// A mobile's subscriptions, and the events on their way to it.
#[derive(Clone, Debug)]
pub(super) struct Subscriptions {
    /// Address of the mobile.
    pub address: Ipv6Addr,
    links: BTreeMap<LinkIdentifier, Subscription>,
    waiting: VecDeque<Indication>,
    /// The event that is not acknowledged.
    sent: Option<(Mih, Retransmission)>,
}

#[derive(Clone, Debug, Default)]
struct Subscription {
    events: Events,
    thresholds: Vec<Threshold>,
}

impl Subscriptions {
    /// Creates the subscriptions, none, of a mobile at this address.
    pub fn new(address: Ipv6Addr) -> Subscriptions {
        Subscriptions {
            address,
            links: BTreeMap::new(),
            waiting: VecDeque::new(),
            sent: None,
        }
    }

    /// Subscribes to these events of a link.
    pub fn subscribe(&mut self, link: &LinkIdentifier, events: Events) {
        self.links.entry(link.clone()).or_default().events = events;
    }

    /// Ends the subscription to these events of a link.
    pub fn unsubscribe(&mut self, link: &LinkIdentifier, events: Events) {
        if let Some(own) = self.links.get_mut(link) {
            own.events = own.events.without(events);
        }
    }

    /// Adds an indication to those that wait.
    pub fn add(&mut self, indication: Indication) {
        if self.waiting.len() < MOST_WAITING {
            self.waiting.push_back(indication);
        }
    }

    /// Replaces the thresholds of a link.
    pub fn configure(&mut self, link: &LinkIdentifier, thresholds: &[Threshold]) {
        self.links.entry(link.clone()).or_default().thresholds = thresholds.to_vec();
    }

    /// Takes in an event of a link whose data rate was `before`. Returns true if the mobile is to be told.
    pub fn report(&mut self, link: &OwnLink, (before, event): (Option<u16>, LinkEvent)) -> bool {
        let Some(own) = self.links.get(&link.identifier) else {
            return false;
        };
        let changes: Vec<LinkChange> = match event {
            LinkEvent::Up => vec![LinkChange::Up],
            LinkEvent::Down => vec![LinkChange::Down],
            LinkEvent::GoingDown => vec![LinkChange::GoingDown],
            LinkEvent::Parameters(_) => own.crossed(before, link.rate),
            _ => return false,
        };
        let wanted = changes.into_iter();
        let wanted = wanted.filter(|change| !own.events.is_disjoint(change.event()));
        let events: Vec<Event> = wanted
            .map(|change| Event {
                link: link.identifier.clone(),
                change,
            })
            .collect();
        for event in events {
            self.add(Indication::Event(event));
        }
        !self.waiting.is_empty()
    }

    /// Starts the transmission of the next event, unless one is not acknowledged; returns its message.
    pub fn next_event(&mut self, now: Instant, transaction: u16, ends: [MihfId; 2]) -> Option<Mih> {
        if self.sent.is_some() {
            return None;
        }
        let body = match self.waiting.pop_front()? {
            Indication::Event(event) => Body::Event(event),
            Indication::Push(networks) => Body::Push(networks),
        };
        let message = Mih {
            wants_acknowledgement: true,
            ..Mih::new(transaction, ends, body)
        };
        let retransmission = Retransmission::begin(now, FIRST_TIMEOUT);
        self.sent = Some((message.clone(), retransmission));
        Some(message)
    }

    /// Takes in an acknowledgement; returns false if it is for no event on its way.
    pub fn handle_acknowledgement(&mut self, message: &Mih) -> bool {
        let is_right = |sent: &mut (Mih, Retransmission)| sent.0.acknowledgement() == *message;
        self.sent.take_if(is_right).is_some()
    }

    /// Returns the time of the next [`retransmit`](Self::retransmit).
    pub fn deadline(&self) -> Option<Instant> {
        self.sent.as_ref().map(|(_, timer)| timer.deadline())
    }

    /// Returns the event to retransmit, if it is due; gives up on it after the last time.
    pub fn retransmit(&mut self, now: Instant) -> Option<Mih> {
        let (message, timer) = self.sent.as_mut()?;
        if timer.deadline() > now {
            return None;
        }
        if timer.sent() == REQUESTS {
            self.sent = None;
            return None;
        }
        timer.again(now, LONGEST_TIMEOUT);
        Some(message.clone())
    }
}

impl Subscription {
    /// Returns a report for each threshold that the data rate has crossed.
    fn crossed(&self, before: Option<u16>, rate: Option<u16>) -> Vec<LinkChange> {
        let (Some(before), Some(rate)) = (before, rate) else {
            return Vec::new();
        };
        let crosses = |threshold: &&Threshold| match threshold.crossing {
            Crossing::Above => before < threshold.rate && rate >= threshold.rate,
            Crossing::Below => before >= threshold.rate && rate < threshold.rate,
        };
        let crossed = self.thresholds.iter().filter(crosses);
        crossed
            .map(|&threshold| LinkChange::Rate { rate, threshold })
            .collect()
    }
}
