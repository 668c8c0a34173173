//! Messages of IEEE 802.21 as text.

use super::super::Words;
use super::{
    Answer, Body, Content, Event, LinkChange, LinkIdentifier, Mih, Network, PORT, REQUEST,
    RESPONSE, Request, Response,
};

/// Describes the message in a UDP datagram, if its ports are this protocol's.
pub(in super::super) fn words(ports: [u16; 2], datagram: &[u8]) -> Option<Words> {
    if !ports.contains(&PORT) {
        return None;
    }
    Mih::decode(datagram).ok().map(|message| message.words())
}

impl Mih {
    /// Returns the standard's name of the message.
    pub fn name(&self) -> &'static str {
        match &self.body {
            Body::Handover(handover) => handover.name(),
            Body::Order(order) => order.name(),
            Body::Request(request) => request.service().name(REQUEST),
            Body::Response(response) => response.service().name(RESPONSE),
            Body::Event(event) => event.name(),
            Body::Push(_) => "MIH_Push_Information indication",
            Body::Acknowledgement(_) => "MIH acknowledgement",
        }
    }

    fn words(&self) -> Words {
        let details = match &self.body {
            Body::Handover(handover) => handover.content.words(),
            Body::Order(order) => order.content.words(),
            Body::Request(request) => request.words(),
            Body::Response(Response::Granted(answer)) => answer.words(),
            Body::Response(Response::Refused(_, status)) => status.text().to_owned(),
            Body::Event(event) => event.words(),
            Body::Push(networks) => networks_of(networks),
            Body::Acknowledgement(_) => format!("transaction {}", self.transaction),
        };
        (self.name(), details)
    }
}

impl Content {
    fn words(&self) -> String {
        match self {
            Content::Request(link) => link.words(),
            Content::Response { status, link } => match link {
                Some(link) => format!("{}, {}", status.text(), link.words()),
                None => status.text().to_owned(),
            },
        }
    }
}

impl LinkIdentifier {
    fn words(&self) -> String {
        format!("link {}", String::from_utf8_lossy(self.address()))
    }
}

impl Request {
    fn words(&self) -> String {
        match self {
            Request::Discover | Request::Deregister | Request::GetInformation(_) => String::new(),
            Request::Register(links) | Request::GetParameters(links) => links_of(links),
            Request::Subscribe(link, _)
            | Request::Unsubscribe(link, _)
            | Request::ConfigureThresholds(link, _) => link.words(),
            Request::Act(actions) => {
                let all = actions.iter();
                let all = all.map(|one| format!("{}, {}", one.link.words(), one.kind.text()));
                all.collect::<Vec<_>>().join("; ")
            }
        }
    }
}

impl Answer {
    fn words(&self) -> String {
        match self {
            Answer::Capabilities(own) => links_of(&own.links),
            Answer::Registered | Answer::Deregistered => String::new(),
            Answer::Subscribed(link, _)
            | Answer::Unsubscribed(link, _)
            | Answer::Configured(link, _) => link.words(),
            Answer::Parameters(all) => {
                let links = all.iter().map(|one| one.link.clone());
                links_of(&links.collect::<Vec<_>>())
            }
            Answer::Acted(results) => {
                let all = results.iter();
                let all = all.map(|one| format!("{}, {}", one.link.words(), one.outcome.text()));
                all.collect::<Vec<_>>().join("; ")
            }
            Answer::Information(networks) => networks_of(networks),
        }
    }
}

impl Event {
    fn words(&self) -> String {
        match self.change {
            LinkChange::Rate { rate, .. } => format!("{}, {rate} kbit/s", self.link.words()),
            _ => self.link.words(),
        }
    }
}

/// Describes the links of networks.
fn networks_of(networks: &[Network]) -> String {
    let links = networks.iter().map(|network| network.link.clone());
    links_of(&links.collect::<Vec<_>>())
}

/// Describes a list of links.
fn links_of(links: &[LinkIdentifier]) -> String {
    let names: Vec<_> = links
        .iter()
        .map(|link| String::from_utf8_lossy(link.address()))
        .collect();
    match names.len() {
        1 => format!("link {}", names[0]),
        _ => format!("links {}", names.join(", ")),
    }
}
