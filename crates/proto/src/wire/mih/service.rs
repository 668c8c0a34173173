//! Service management, commands about links and the information service: requests and responses.

use super::event::Events;
use super::found::Found;
use super::information::{self, Network};
use super::links::{ActionResult, LinkAction, LinkStatus, STATUS_REQUEST};
use super::values::{DATA_RATE, LinkIdentifier, Threshold, Writer};
use super::{
    COMMANDS, INFORMATION, LONGEST_INFORMATION, MANAGEMENT, MessageId, REQUEST, Status, field, tlv,
};
use crate::wire::DecodeError;

/// MIH_CMD_LIST: Link_Get_Parameters, Link_Configure_Thresholds, Link_Actions, the commands of networks and between
/// them, and those of mobiles.
const COMMANDS_KNOWN: [u8; 4] = [0b1111_1000, 0, 0, 0];
/// MIH_IQ_TYPE_LST: binary queries.
const BINARY_QUERIES: [u8; 8] = [0x80, 0, 0, 0, 0, 0, 0, 0];
/// MIH_TRANS_LST: UDP.
const UDP: [u8; 2] = [0x80, 0];
/// REG_REQUEST_CODE: a new registration.
const NEW_REGISTRATION: u8 = 0;
/// Lifetime of a registration without an end.
const ENDLESS: [u8; 4] = [0; 4];
/// TH_ACTION: a normal threshold, which stays.
const NORMAL_THRESHOLD: u8 = 0;
/// Largest number of links or thresholds in a list. Chosen: with the longest names, a message fits IPv6's smallest MTU.
pub(super) const MOST_LISTED: usize = 16;

/// A service that one MIH function requests of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// MIH_Capability_Discover.
    Discovery,
    /// MIH_Register.
    Registration,
    /// MIH_DeRegister.
    Deregistration,
    /// MIH_Event_Subscribe.
    Subscription,
    /// MIH_Event_Unsubscribe.
    Unsubscription,
    /// MIH_Link_Get_Parameters.
    Parameters,
    /// MIH_Link_Configure_Thresholds.
    Thresholds,
    /// MIH_Link_Actions.
    Actions,
    /// MIH_Get_Information.
    Information,
}

impl Service {
    pub(super) const ALL: [Service; 9] = [
        Service::Discovery,
        Service::Registration,
        Service::Deregistration,
        Service::Subscription,
        Service::Unsubscription,
        Service::Parameters,
        Service::Thresholds,
        Service::Actions,
        Service::Information,
    ];

    /// Returns the service identifier and the action.
    const fn numbers(self) -> (u16, u16) {
        match self {
            Service::Discovery => (MANAGEMENT, 1),
            Service::Registration => (MANAGEMENT, 2),
            Service::Deregistration => (MANAGEMENT, 3),
            Service::Subscription => (MANAGEMENT, 4),
            Service::Unsubscription => (MANAGEMENT, 5),
            Service::Parameters => (COMMANDS, 1),
            Service::Thresholds => (COMMANDS, 2),
            Service::Actions => (COMMANDS, 3),
            Service::Information => (INFORMATION, 1),
        }
    }

    pub(super) fn of(service: u16, action: u16) -> Option<Service> {
        let mut all = Service::ALL.into_iter();
        all.find(|one| one.numbers() == (service, action))
    }

    pub(super) const fn identifier(self, operation: u16) -> MessageId {
        let (service, action) = self.numbers();
        MessageId::new(service, operation, action)
    }

    /// Returns the standard's name of a request or response.
    pub(super) const fn name(self, operation: u16) -> &'static str {
        match (self, operation == REQUEST) {
            (Service::Discovery, true) => "MIH_Capability_Discover request",
            (Service::Discovery, false) => "MIH_Capability_Discover response",
            (Service::Registration, true) => "MIH_Register request",
            (Service::Registration, false) => "MIH_Register response",
            (Service::Deregistration, true) => "MIH_DeRegister request",
            (Service::Deregistration, false) => "MIH_DeRegister response",
            (Service::Subscription, true) => "MIH_Event_Subscribe request",
            (Service::Subscription, false) => "MIH_Event_Subscribe response",
            (Service::Unsubscription, true) => "MIH_Event_Unsubscribe request",
            (Service::Unsubscription, false) => "MIH_Event_Unsubscribe response",
            (Service::Parameters, true) => "MIH_Link_Get_Parameters request",
            (Service::Parameters, false) => "MIH_Link_Get_Parameters response",
            (Service::Thresholds, true) => "MIH_Link_Configure_Thresholds request",
            (Service::Thresholds, false) => "MIH_Link_Configure_Thresholds response",
            (Service::Actions, true) => "MIH_Link_Actions request",
            (Service::Actions, false) => "MIH_Link_Actions response",
            (Service::Information, true) => "MIH_Get_Information request",
            (Service::Information, false) => "MIH_Get_Information response",
        }
    }
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Discovery of the other function's capabilities.
    Discover,
    /// Registration of a mobile that has these links.
    Register(Vec<LinkIdentifier>),
    /// End of the registration.
    Deregister,
    /// Subscription to events of a link.
    Subscribe(LinkIdentifier, Events),
    /// End of the subscription to events of a link.
    Unsubscribe(LinkIdentifier, Events),
    /// Query of the operation mode and the data rate of links.
    GetParameters(Vec<LinkIdentifier>),
    /// Thresholds of a link's data rate, at which Link_Parameters_Report is due.
    ConfigureThresholds(LinkIdentifier, Vec<Threshold>),
    /// Actions of links.
    Act(Vec<LinkAction>),
    /// Query of the networks around.
    GetInformation(Query),
}

/// Form of a query of information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    /// Binary: all networks.
    Binary,
    /// A query in SPARQL of an RDF database, or for its schema; the contents are not read.
    Rdf,
}

/// Capabilities of an MIH function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Links whose events it knows.
    pub links: Vec<LinkIdentifier>,
    /// The events.
    pub events: Events,
}

/// A granted request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The function's capabilities.
    Capabilities(Capabilities),
    /// The mobile is registered, without an end.
    Registered,
    /// The mobile is not registered any more.
    Deregistered,
    /// The subscription to events of a link, as far as the function knows them.
    Subscribed(LinkIdentifier, Events),
    /// The end of the subscription to events of a link.
    Unsubscribed(LinkIdentifier, Events),
    /// The parameters of links.
    Parameters(Vec<LinkStatus>),
    /// The thresholds of a link are set.
    Configured(LinkIdentifier, Vec<Threshold>),
    /// The results of actions.
    Acted(Vec<ActionResult>),
    /// The networks around.
    Information(Vec<Network>),
}

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// Success.
    Granted(Answer),
    /// Another status.
    Refused(Service, Status),
}

impl Request {
    /// Returns the requested service.
    pub const fn service(&self) -> Service {
        match self {
            Request::Discover => Service::Discovery,
            Request::Register(_) => Service::Registration,
            Request::Deregister => Service::Deregistration,
            Request::Subscribe(..) => Service::Subscription,
            Request::Unsubscribe(..) => Service::Unsubscription,
            Request::GetParameters(_) => Service::Parameters,
            Request::ConfigureThresholds(..) => Service::Thresholds,
            Request::Act(_) => Service::Actions,
            Request::GetInformation(_) => Service::Information,
        }
    }

    pub(super) fn write(&self, out: &mut Writer) {
        match self {
            Request::Discover | Request::Deregister => {}
            Request::Register(links) => {
                out.tlv(tlv::LINK_IDENTIFIERS, &list(links, LinkIdentifier::value));
                out.tlv(tlv::REGISTER_CODE, &[NEW_REGISTRATION]);
            }
            Request::Subscribe(link, events) | Request::Unsubscribe(link, events) => {
                out.tlv(tlv::LINK_IDENTIFIER, &link.as_tuple());
                out.tlv(tlv::EVENT_LIST, &events.0.to_be_bytes());
            }
            Request::GetParameters(links) => {
                out.tlv(tlv::LINK_IDENTIFIERS, &list(links, LinkIdentifier::value));
                out.tlv(tlv::STATUS_REQUEST, &STATUS_REQUEST);
            }
            Request::ConfigureThresholds(link, thresholds) => {
                out.tlv(tlv::LINK_IDENTIFIER, &link.as_tuple());
                // One parameter, without a time interval.
                let head = [1, DATA_RATE[0], DATA_RATE[1], 0, NORMAL_THRESHOLD];
                let all = list(thresholds, |one| one.value().to_vec());
                out.tlv(tlv::THRESHOLDS, &[&head[..], &all].concat());
            }
            Request::Act(actions) => {
                out.tlv(tlv::LINK_ACTIONS, &list(actions, LinkAction::value));
            }
            Request::GetInformation(query) => {
                match query {
                    Query::Binary => out.tlv(tlv::QUERY, &information::query()),
                    // A list of none: nothing here sends such queries.
                    Query::Rdf => out.tlv(tlv::RDF_QUERY, &[0]),
                }
                out.tlv(
                    tlv::LONGEST_RESPONSE,
                    &(LONGEST_INFORMATION as u16).to_be_bytes(),
                );
            }
        }
    }

    pub(super) fn read(service: Service, found: &Found<'_>) -> Result<Request, DecodeError> {
        Ok(match service {
            Service::Discovery => Request::Discover,
            Service::Registration => {
                let mut links = found.needed(tlv::LINK_IDENTIFIERS)?;
                Request::Register(links.list(MOST_LISTED, LinkIdentifier::read)?)
            }
            Service::Deregistration => Request::Deregister,
            Service::Subscription => Request::Subscribe(link(found)?, events(found)?),
            Service::Unsubscription => Request::Unsubscribe(link(found)?, events(found)?),
            Service::Parameters => {
                found.needed(tlv::STATUS_REQUEST)?;
                let mut links = found.needed(tlv::LINK_IDENTIFIERS)?;
                Request::GetParameters(links.list(MOST_LISTED, LinkIdentifier::read)?)
            }
            Service::Thresholds => {
                let mut value = found.needed(tlv::THRESHOLDS)?;
                let count = value.length()?;
                if count != 1 || value.take(4)? != [DATA_RATE[0], DATA_RATE[1], 0, NORMAL_THRESHOLD]
                {
                    return Err(field("configured parameters", count as u32));
                }
                let thresholds = value.list(MOST_LISTED, Threshold::read)?;
                Request::ConfigureThresholds(link(found)?, thresholds)
            }
            Service::Actions => {
                let mut actions = found.needed(tlv::LINK_ACTIONS)?;
                Request::Act(actions.list(MOST_LISTED, LinkAction::read)?)
            }
            Service::Information => {
                let rdf = [tlv::RDF_QUERY, tlv::RDF_SCHEMA_URL, tlv::RDF_SCHEMA];
                let is_rdf = rdf.into_iter().any(|kind| found.value(kind).is_some());
                match (found.needed(tlv::QUERY), is_rdf) {
                    (Ok(_), _) => Request::GetInformation(Query::Binary),
                    (Err(_), true) => Request::GetInformation(Query::Rdf),
                    (Err(missing), false) => return Err(missing),
                }
            }
        })
    }
}

impl Response {
    /// Returns the service that the response is about.
    pub const fn service(&self) -> Service {
        match self {
            Response::Granted(answer) => match answer {
                Answer::Capabilities(_) => Service::Discovery,
                Answer::Registered => Service::Registration,
                Answer::Deregistered => Service::Deregistration,
                Answer::Subscribed(..) => Service::Subscription,
                Answer::Unsubscribed(..) => Service::Unsubscription,
                Answer::Parameters(_) => Service::Parameters,
                Answer::Acted(_) => Service::Actions,
                Answer::Configured(..) => Service::Thresholds,
                Answer::Information(_) => Service::Information,
            },
            Response::Refused(service, _) => *service,
        }
    }

    pub(super) fn write(&self, out: &mut Writer) {
        let status = match self {
            Response::Granted(_) => Status::Success,
            Response::Refused(_, status) => *status,
        };
        out.tlv(tlv::STATUS, &[status.number()]);
        let Response::Granted(answer) = self else {
            return;
        };
        match answer {
            Answer::Capabilities(own) => {
                let links = list(&own.links, LinkIdentifier::as_network_address);
                out.tlv(tlv::LINK_ADDRESSES, &links);
                out.tlv(tlv::EVENT_LIST, &own.events.0.to_be_bytes());
                out.tlv(tlv::COMMAND_LIST, &COMMANDS_KNOWN);
                out.tlv(tlv::QUERY_TYPES, &BINARY_QUERIES);
                out.tlv(tlv::TRANSPORTS, &UDP);
            }
            Answer::Registered => out.tlv(tlv::VALID_TIME, &ENDLESS),
            Answer::Deregistered => {}
            Answer::Parameters(all) => {
                out.tlv(tlv::STATUS_RESPONSES, &list(all, LinkStatus::value));
            }
            Answer::Acted(results) => {
                out.tlv(
                    tlv::LINK_ACTION_RESULTS,
                    &list(results, ActionResult::value),
                );
            }
            Answer::Subscribed(link, events) | Answer::Unsubscribed(link, events) => {
                out.tlv(tlv::LINK_IDENTIFIER, &link.as_tuple());
                out.tlv(tlv::EVENT_LIST, &events.0.to_be_bytes());
            }
            Answer::Configured(link, thresholds) => {
                out.tlv(tlv::LINK_IDENTIFIER, &link.as_tuple());
                let status = |one: &Threshold| [&DATA_RATE[..], &one.value(), &[1]].concat();
                out.tlv(tlv::THRESHOLD_STATUS, &list(thresholds, status));
            }
            Answer::Information(networks) => {
                out.tlv(tlv::INFORMATION, &information::write(networks));
            }
        }
    }

    pub(super) fn read(service: Service, found: &Found<'_>) -> Result<Response, DecodeError> {
        let status = found.status()?;
        if status != Status::Success {
            return Ok(Response::Refused(service, status));
        }
        Ok(Response::Granted(match service {
            Service::Discovery => Answer::Capabilities(Capabilities {
                links: match found.value(tlv::LINK_ADDRESSES) {
                    Some(mut links) => {
                        links.list(MOST_LISTED, LinkIdentifier::read_network_address)?
                    }
                    None => Vec::new(),
                },
                events: match found.value(tlv::EVENT_LIST) {
                    Some(_) => events(found)?,
                    None => Events::default(),
                },
            }),
            Service::Registration => Answer::Registered,
            Service::Deregistration => Answer::Deregistered,
            Service::Subscription => Answer::Subscribed(link(found)?, events(found)?),
            Service::Unsubscription => Answer::Unsubscribed(link(found)?, events(found)?),
            Service::Parameters => {
                let mut all = found.needed(tlv::STATUS_RESPONSES)?;
                Answer::Parameters(all.list(MOST_LISTED, LinkStatus::read)?)
            }
            Service::Actions => {
                let mut results = found.needed(tlv::LINK_ACTION_RESULTS)?;
                Answer::Acted(results.list(MOST_LISTED, ActionResult::read)?)
            }
            Service::Thresholds => {
                let mut value = found.needed(tlv::THRESHOLD_STATUS)?;
                let all = value.list(MOST_LISTED, |value| {
                    value.take(2)?;
                    let threshold = Threshold::read(value)?;
                    Ok((value.byte()? == 1).then_some(threshold))
                })?;
                Answer::Configured(link(found)?, all.into_iter().flatten().collect())
            }
            Service::Information => {
                Answer::Information(information::read(found.needed(tlv::INFORMATION)?)?)
            }
        }))
    }
}

/// Encodes a list of up to [`MOST_LISTED`] elements.
fn list<T>(elements: &[T], encode: impl Fn(&T) -> Vec<u8>) -> Vec<u8> {
    let elements = &elements[..elements.len().min(MOST_LISTED)];
    let mut out = vec![elements.len() as u8];
    out.extend(elements.iter().flat_map(encode));
    out
}

fn link(found: &Found<'_>) -> Result<LinkIdentifier, DecodeError> {
    LinkIdentifier::read(&mut found.needed(tlv::LINK_IDENTIFIER)?)
}

fn events(found: &Found<'_>) -> Result<Events, DecodeError> {
    found.needed(tlv::EVENT_LIST)?.u32().map(Events)
}
