//! Further services of a mobile: discovery, registration, subscription to remote events, and information; and their end.

use super::{HandoverServiceEvent, HandoverServiceSettings};
use crate::crosslayer::{NetworkInformation, RemoteEvent};
use crate::interface::{InterfaceId, LinkEvent};
use crate::rate::DataRate;
use crate::time::Instant;
use crate::wire::mih::{
    Answer, Crossing, Event, Events, LinkChange, LinkIdentifier, Network, Query, Request, Threshold,
};

/// Number of indications that are recognised when they come again. Chosen: the point of service sends the next one
/// after the acknowledgement, so that only duplicates of the network can be older than the last.
const REMEMBERED: usize = 8;

/// Services that a mobile has been granted.
#[derive(Clone, Debug, Default)]
pub(super) struct Services {
    /// The point of service's links and events, once known.
    discovered: Option<(Vec<LinkIdentifier>, Events)>,
    is_registered: bool,
    is_informed: bool,
    /// Number of the settings' remote links with a subscription, or without one since the point of service does not know
    /// them.
    subscribed: usize,
    /// Number of those with thresholds.
    configured: usize,
    /// Transactions of the latest indications.
    indications: Vec<u16>,
    /// True after a refusal or without an answer, until the mobile moves.
    has_given_up: bool,
    /// True once the services are to end.
    ends: bool,
}

impl Services {
    /// Returns the request for the next service of the settings, if one is left.
    pub(super) fn next_request(&mut self, settings: &HandoverServiceSettings) -> Option<Request> {
        let wants_some =
            settings.information || settings.obeys || !settings.remote_links.is_empty();
        if !wants_some || self.has_given_up {
            return None;
        }
        if self.ends {
            return self.next_end(settings);
        }
        let Some((links, events)) = &self.discovered else {
            return Some(Request::Discover);
        };
        if !self.is_registered {
            let own = settings.links.iter().filter(|link| link.link_type != 0);
            return Some(Request::Register(own.cloned().collect()));
        }
        if settings.information && !self.is_informed {
            return Some(Request::GetInformation(Query::Binary));
        }
        let is_known = |link: &&LinkIdentifier| links.contains(link);
        let mut known = settings.remote_links.iter().filter(is_known);
        if let Some(link) = known.clone().nth(self.subscribed) {
            return Some(Request::Subscribe(link.clone(), *events));
        }
        let rate = settings.rate_threshold?;
        let thresholds = [Crossing::Above, Crossing::Below]
            .map(|crossing| Threshold { rate, crossing })
            .to_vec();
        let link = known.nth(self.configured)?;
        Some(Request::ConfigureThresholds(link.clone(), thresholds))
    }

    /// Returns the request that ends the next service: the latest subscription first, and last the registration.
    fn next_end(&self, settings: &HandoverServiceSettings) -> Option<Request> {
        let (links, events) = self.discovered.as_ref()?;
        let is_known = |link: &&LinkIdentifier| links.contains(link);
        let mut known = settings.remote_links.iter().filter(is_known);
        let subscribed = self.subscribed.checked_sub(1);
        match subscribed.and_then(|latest| known.nth(latest)) {
            Some(link) => Some(Request::Unsubscribe(link.clone(), *events)),
            None => self.is_registered.then_some(Request::Deregister),
        }
    }

    /// Returns the time of the end of the services, until it has come.
    pub fn end(&self, settings: &HandoverServiceSettings) -> Option<Instant> {
        settings.services_until.filter(|_| !self.ends)
    }

    /// Begins to end the services.
    pub fn begin_end(&mut self) {
        (self.ends, self.has_given_up) = (true, false);
    }

    /// Gives up on the services that are left until the mobile [moves](Self::resume).
    pub(super) fn give_up(&mut self) {
        self.has_given_up = true;
    }

    /// Requests what is left again, since the mobile has moved.
    pub(super) fn resume(&mut self) {
        self.has_given_up = false;
    }

    /// Takes in a granted request; returns the news.
    pub(super) fn learn(
        &mut self,
        answer: &Answer,
        settings: &HandoverServiceSettings,
    ) -> Vec<HandoverServiceEvent> {
        match answer {
            Answer::Capabilities(capabilities) => {
                let events = capabilities.events.and(Events::ALL);
                self.discovered = Some((capabilities.links.clone(), events));
            }
            Answer::Registered => self.is_registered = true,
            Answer::Deregistered => self.is_registered = false,
            Answer::Subscribed(..) => self.subscribed += 1,
            Answer::Unsubscribed(..) => self.subscribed -= 1,
            Answer::Configured(..) => self.configured += 1,
            Answer::Information(networks) => {
                self.is_informed = true;
                return news(networks, settings);
            }
            // Asked of mobiles only.
            Answer::Parameters(_) | Answer::Acted(_) => {}
        }
        Vec::new()
    }

    /// Notes an indication; returns false if it has come before.
    pub(super) fn is_new(&mut self, transaction: u16) -> bool {
        let is_new = !self.indications.contains(&transaction);
        if is_new {
            let excess = (self.indications.len() + 1).saturating_sub(REMEMBERED);
            self.indications.drain(..excess);
            self.indications.push(transaction);
        }
        is_new
    }
}

/// Returns the news in information about networks.
pub(super) fn news(
    networks: &[Network],
    settings: &HandoverServiceSettings,
) -> Vec<HandoverServiceEvent> {
    let known = networks.iter();
    known
        .flat_map(|network| news_of(network, settings))
        .collect()
}

/// Returns the information about a network for each interface that leads there.
fn news_of(
    network: &Network,
    settings: &HandoverServiceSettings,
) -> impl Iterator<Item = HandoverServiceEvent> {
    let information = NetworkInformation {
        rate: kilobits(network.rate),
        channel_khz: network.channel,
        router: network.router,
    };
    let links = settings.links.iter().enumerate();
    let there = links.filter(move |(_, link)| **link == network.link);
    there.map(move |(place, _)| HandoverServiceEvent::Information(InterfaceId(place), information))
}

/// Returns the event of one of the settings' remote links.
pub(super) fn remote_event(
    event: &Event,
    settings: &HandoverServiceSettings,
) -> Option<RemoteEvent> {
    let mut links = settings.remote_links.iter();
    let link = links.position(|link| *link == event.link)?;
    let (event, rate) = match event.change {
        LinkChange::Up => (LinkEvent::Up, None),
        LinkChange::Down => (LinkEvent::Down, None),
        LinkChange::GoingDown => (LinkEvent::GoingDown, None),
        LinkChange::Rate { rate, .. } => (LinkEvent::ParametersReport, Some(kilobits(rate.into()))),
    };
    Some(RemoteEvent { link, event, rate })
}

fn kilobits(rate: u32) -> DataRate {
    DataRate::from_bits_per_second(u64::from(rate) * 1000)
}
