//! Service management, thresholds and the information service: requests and responses.

use super::event::Events;
use super::found::Found;
use super::information::{self, Network};
use super::values::{DATA_RATE, LinkIdentifier, Threshold, Writer};
use super::{
    COMMANDS, INFORMATION, LONGEST_INFORMATION, MANAGEMENT, MessageId, REQUEST, Status, field, tlv,
};
use crate::wire::DecodeError;

/// MIH_CMD_LIST: Link_Configure_Thresholds, the commands between networks, and those of mobiles.
const COMMANDS_KNOWN: [u8; 4] = [0b0101_1000, 0, 0, 0];
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
    /// MIH_Event_Subscribe.
    Subscription,
    /// MIH_Link_Configure_Thresholds.
    Thresholds,
    /// MIH_Get_Information.
    Information,
}

impl Service {
    pub(super) const ALL: [Service; 5] = [
        Service::Discovery,
        Service::Registration,
        Service::Subscription,
        Service::Thresholds,
        Service::Information,
    ];

    /// Returns the service identifier and the action.
    const fn numbers(self) -> (u16, u16) {
        match self {
            Service::Discovery => (MANAGEMENT, 1),
            Service::Registration => (MANAGEMENT, 2),
            Service::Subscription => (MANAGEMENT, 4),
            Service::Thresholds => (COMMANDS, 2),
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
            (Service::Subscription, true) => "MIH_Event_Subscribe request",
            (Service::Subscription, false) => "MIH_Event_Subscribe response",
            (Service::Thresholds, true) => "MIH_Link_Configure_Thresholds request",
            (Service::Thresholds, false) => "MIH_Link_Configure_Thresholds response",
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
    /// Subscription to events of a link.
    Subscribe(LinkIdentifier, Events),
    /// Thresholds of a link's data rate, at which Link_Parameters_Report is due.
    ConfigureThresholds(LinkIdentifier, Vec<Threshold>),
    /// Query of the networks around.
    GetInformation,
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
    /// The subscription to events of a link, as far as the function knows them.
    Subscribed(LinkIdentifier, Events),
    /// The thresholds of a link are set.
    Configured(LinkIdentifier, Vec<Threshold>),
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
            Request::Subscribe(..) => Service::Subscription,
            Request::ConfigureThresholds(..) => Service::Thresholds,
            Request::GetInformation => Service::Information,
        }
    }

    pub(super) fn write(&self, out: &mut Writer) {
        match self {
            Request::Discover => {}
            Request::Register(links) => {
                out.tlv(tlv::LINK_IDENTIFIERS, &list(links, LinkIdentifier::value));
                out.tlv(tlv::REGISTER_CODE, &[NEW_REGISTRATION]);
            }
            Request::Subscribe(link, events) => {
                out.tlv(tlv::LINK_IDENTIFIER, &link.as_tuple());
                out.tlv(tlv::EVENT_LIST, &events.0.to_be_bytes());
            }
            Request::ConfigureThresholds(link, thresholds) => {
                out.tlv(tlv::LINK_IDENTIFIER, &link.as_tuple());
                // One parameter, without a time interval.
                let head = [1, DATA_RATE[0], DATA_RATE[1], 0, NORMAL_THRESHOLD];
                let all = list(thresholds, |one| one.value().to_vec());
                out.tlv(tlv::THRESHOLDS, &[&head[..], &all].concat());
            }
            Request::GetInformation => {
                out.tlv(tlv::QUERY, &information::query());
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
            Service::Subscription => Request::Subscribe(link(found)?, events(found)?),
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
            Service::Information => {
                found.needed(tlv::QUERY)?;
                Request::GetInformation
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
                Answer::Subscribed(..) => Service::Subscription,
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
            Answer::Subscribed(link, events) => {
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
            Service::Subscription => Answer::Subscribed(link(found)?, events(found)?),
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
