//! Messages of media-independent handover functions over UDP (IEEE 802.21-2008 clause 8, RFC 5677): management, events,
//! commands and information.
//!
//! Header, message and TLV numbers, and data types are as in Wireshark and ODTONE, the TLVs of each message as in
//! ODTONE; N2N_HO_Query_Resources also names the mobile. Fragments are rejected, since no message is long. Unknown TLVs
//! and information elements are skipped.

mod event;
mod found;
mod handover;
mod information;
mod links;
mod order;
mod service;
mod values;
mod words;

pub use event::{Event, Events, LinkChange};
pub use handover::{Content, Handover, Step};
pub use information::Network;
pub use links::{
    ActionKind, ActionOutcome, ActionResult, DetectedLink, LinkAction, LinkStatus, OperationMode,
};
pub use order::{Order, OrderStep};
pub use service::{Answer, Capabilities, Query, Request, Response, Service};
pub use values::{Crossing, LONGEST_NAME, LinkIdentifier, MihfId, Threshold};
pub(super) use words::words;

use super::{DecodeError, expect_length, u16_at};
use found::Found;
use values::Writer;

/// UDP port (RFC 5677 section 8).
pub const PORT: u16 = 4551;
/// Longest list of information in a response, in bytes. Chosen: with the headers, a message fits IPv6's smallest MTU.
pub const LONGEST_INFORMATION: usize = 1100;

const HEADER: &str = "MIH";
const HEADER_LENGTH: usize = 8;
const VERSION: u8 = 1;
/// Flags: acknowledgement requested, acknowledgement.
const ACK_REQUEST: u8 = 0x08;
const ACK_RESPONSE: u8 = 0x04;
/// Service identifiers.
const MANAGEMENT: u16 = 1;
const EVENTS: u16 = 2;
const COMMANDS: u16 = 3;
const INFORMATION: u16 = 4;
/// Operation codes.
const REQUEST: u16 = 1;
const RESPONSE: u16 = 2;
const INDICATION: u16 = 3;
/// Action of MIH_Push_Information.
const PUSH: u16 = 2;

/// TLV numbers (IEEE 802.21-2008, annex L).
mod tlv {
    pub const SOURCE: u8 = 1;
    pub const DESTINATION: u8 = 2;
    pub const STATUS: u8 = 3;
    pub const LINK_TYPE: u8 = 4;
    pub const EVENT_LIST: u8 = 5;
    pub const COMMAND_LIST: u8 = 6;
    pub const QUERY_TYPES: u8 = 7;
    pub const TRANSPORTS: u8 = 8;
    pub const LINK_ADDRESSES: u8 = 9;
    pub const REGISTER_CODE: u8 = 11;
    pub const VALID_TIME: u8 = 12;
    pub const LINK_IDENTIFIER: u8 = 13;
    pub const NEW_LINK_IDENTIFIER: u8 = 14;
    pub const LINK_DOWN_REASON: u8 = 20;
    pub const TIME_INTERVAL: u8 = 21;
    pub const GOING_DOWN_REASON: u8 = 22;
    pub const PARAMETER_REPORTS: u8 = 23;
    pub const LINK_IDENTIFIERS: u8 = 25;
    pub const STATUS_REQUEST: u8 = 27;
    pub const STATUS_RESPONSES: u8 = 28;
    pub const THRESHOLDS: u8 = 29;
    pub const THRESHOLD_STATUS: u8 = 30;
    pub const CANDIDATES: u8 = 31;
    pub const PREFERRED: u8 = 32;
    pub const RESOURCES_ASKED: u8 = 33;
    pub const HANDOVER_STATUS: u8 = 34;
    pub const LINK_ACTIONS: u8 = 38;
    pub const LINK_ACTION_RESULTS: u8 = 39;
    pub const HANDOVER_RESULT: u8 = 40;
    pub const RESOURCE_STATUS: u8 = 41;
    pub const RETENTION: u8 = 42;
    pub const QUERY: u8 = 43;
    pub const RDF_QUERY: u8 = 44;
    pub const RDF_SCHEMA_URL: u8 = 45;
    pub const RDF_SCHEMA: u8 = 46;
    pub const LONGEST_RESPONSE: u8 = 47;
    pub const INFORMATION: u8 = 48;
    pub const MOBILE: u8 = 52;
    pub const REPORT_RESOURCES: u8 = 53;
    pub const TARGET: u8 = 55;
    pub const TARGETS: u8 = 56;
    pub const ASSIGNED: u8 = 57;
    pub const MOBILE_LINK: u8 = 59;
    pub const POINT_OF_ATTACHMENT: u8 = 60;
    pub const REQUESTED: u8 = 63;
    /// Bound of the decoded TLV numbers.
    pub const END: usize = 64;
}

/// Result of a request (IEEE 802.21's STATUS).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Success.
    Success,
    /// Unspecified failure.
    Failure,
    /// Rejected.
    Rejected,
    /// Authorization failure.
    Unauthorized,
    /// Network error.
    NetworkError,
}

impl Status {
    const ALL: [Status; 5] = [
        Status::Success,
        Status::Failure,
        Status::Rejected,
        Status::Unauthorized,
        Status::NetworkError,
    ];

    const fn number(self) -> u8 {
        self as u8
    }

    /// Describes the status.
    pub const fn text(self) -> &'static str {
        match self {
            Status::Success => "success",
            Status::Failure => "unspecified failure",
            Status::Rejected => "rejected",
            Status::Unauthorized => "authorization failure",
            Status::NetworkError => "network error",
        }
    }
}

/// Message identifier: service, operation and action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageId(u16);

impl MessageId {
    const fn new(service: u16, operation: u16, action: u16) -> MessageId {
        MessageId(service << 12 | operation << 10 | action)
    }

    const fn parts(self) -> (u16, u16, u16) {
        (self.0 >> 12, self.0 >> 10 & 3, self.0 & 0x03FF)
    }
}

/// Contents of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// A handover command of a mobile or between points of service, or its response.
    Handover(Handover),
    /// A handover command of the network to a mobile, or its response.
    Order(Order),
    /// A request of another service.
    Request(Request),
    /// The response to it.
    Response(Response),
    /// The indication of a remote event.
    Event(Event),
    /// Networks around, pushed to a mobile (MIH_Push_Information).
    Push(Vec<Network>),
    /// The acknowledgement of a message with this identifier (clause 8.2.2).
    Acknowledgement(MessageId),
}

/// An MIH message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mih {
    /// Transaction ID, 12 bits, which matches a response or acknowledgement to its message.
    pub transaction: u16,
    /// True to request an acknowledgement.
    pub wants_acknowledgement: bool,
    /// Sender.
    pub source: MihfId,
    /// Receiver.
    pub destination: MihfId,
    /// Contents.
    pub body: Body,
}

impl Mih {
    /// Creates a message that requests no acknowledgement, from the first function to the second.
    pub fn new(transaction: u16, [source, destination]: [MihfId; 2], body: Body) -> Mih {
        Mih {
            transaction,
            wants_acknowledgement: false,
            source,
            destination,
            body,
        }
    }

    /// Creates the answer to this message, with the same transaction.
    pub fn answer(&self, body: Body) -> Mih {
        let ends = [self.destination.clone(), self.source.clone()];
        Mih::new(self.transaction, ends, body)
    }

    /// Creates the response to this handover command; `None` for another message.
    pub fn response(&self, status: Status) -> Option<Mih> {
        let body = match &self.body {
            Body::Handover(handover) => Body::Handover(handover.response(status)),
            Body::Order(order) => Body::Order(order.response(status)),
            _ => return None,
        };
        Some(self.answer(body))
    }

    /// Creates the acknowledgement of this message.
    pub fn acknowledgement(&self) -> Mih {
        self.answer(Body::Acknowledgement(self.identifier()))
    }

    /// Returns true for a response to this request: with its transaction, between the same functions, and about the same.
    pub fn is_answered_by(&self, response: &Mih) -> bool {
        let (service, _, action) = self.identifier().parts();
        let ends = [&self.destination, &self.source];
        response.transaction == self.transaction
            && [&response.source, &response.destination] == ends
            && response.identifier() == MessageId::new(service, RESPONSE, action)
    }

    fn identifier(&self) -> MessageId {
        match &self.body {
            Body::Handover(handover) => handover.identifier(),
            Body::Order(order) => order.identifier(),
            Body::Request(request) => request.service().identifier(REQUEST),
            Body::Response(response) => response.service().identifier(RESPONSE),
            Body::Event(event) => MessageId::new(EVENTS, INDICATION, event.action()),
            Body::Push(_) => MessageId::new(INFORMATION, INDICATION, PUSH),
            Body::Acknowledgement(of) => *of,
        }
    }

    /// Encodes the message as a UDP payload.
    pub fn encode(&self) -> Vec<u8> {
        let acknowledges = matches!(self.body, Body::Acknowledgement(_));
        let mut first = VERSION << 4;
        first |= if self.wants_acknowledgement {
            ACK_REQUEST
        } else {
            0
        };
        first |= if acknowledges { ACK_RESPONSE } else { 0 };
        let mut out = Writer(vec![first, 0]);
        out.bytes(&self.identifier().0.to_be_bytes());
        out.bytes(&(self.transaction & 0x0FFF).to_be_bytes());
        out.bytes(&[0; 2]);
        out.tlv(tlv::SOURCE, &self.source.value());
        out.tlv(tlv::DESTINATION, &self.destination.value());
        match &self.body {
            Body::Handover(handover) => handover.write(&mut out),
            Body::Order(order) => order.write(&mut out),
            Body::Request(request) => request.write(&mut out),
            Body::Response(response) => response.write(&mut out),
            Body::Event(event) => event.write(&mut out),
            Body::Push(networks) => out.tlv(tlv::INFORMATION, &information::write(networks)),
            Body::Acknowledgement(_) => {}
        }
        let length = u16::try_from(out.0.len() - HEADER_LENGTH).unwrap_or(u16::MAX);
        out.0[6..8].copy_from_slice(&length.to_be_bytes());
        out.0
    }

    /// Decodes a UDP payload. Bytes after the message's length are ignored.
    ///
    /// # Errors
    /// Too few bytes; another version, service, operation or action; a fragment; a TLV that is missing or too long.
    pub fn decode(bytes: &[u8]) -> Result<Mih, DecodeError> {
        expect_length(HEADER, bytes, HEADER_LENGTH)?;
        if bytes[0] >> 4 != VERSION {
            return Err(field("version", u32::from(bytes[0] >> 4)));
        }
        if bytes[0] & 0x0F & !(ACK_REQUEST | ACK_RESPONSE) != 0 || bytes[1] >> 1 != 0 {
            return Err(field("flags", u32::from(u16_at(bytes, 0) & 0x0FFF)));
        }
        let acknowledges = bytes[0] & ACK_RESPONSE != 0;
        let identifier = MessageId(u16_at(bytes, 2));
        let end = HEADER_LENGTH + usize::from(u16_at(bytes, 6));
        expect_length(HEADER, bytes, end)?;
        let found = Found::read(&bytes[HEADER_LENGTH..end])?;
        let ends = [
            MihfId::read(&mut found.needed(tlv::SOURCE)?)?,
            MihfId::read(&mut found.needed(tlv::DESTINATION)?)?,
        ];
        let body = match acknowledges && found.has_only_ends() {
            true => Body::Acknowledgement(identifier),
            false => Body::read(identifier, &found)?,
        };
        Ok(Mih {
            wants_acknowledgement: bytes[0] & ACK_REQUEST != 0,
            ..Mih::new(u16_at(bytes, 4) & 0x0FFF, ends, body)
        })
    }
}

impl Body {
    fn read(identifier: MessageId, found: &Found<'_>) -> Result<Body, DecodeError> {
        let (service, operation, action) = identifier.parts();
        match (service, operation) {
            (MANAGEMENT | COMMANDS | INFORMATION, REQUEST | RESPONSE) => {
                if let Some(step) = OrderStep::of(service, action) {
                    return Order::read(step, operation == REQUEST, found).map(Body::Order);
                }
                let Some(known) = Service::of(service, action) else {
                    return Handover::read(identifier, found).map(Body::Handover);
                };
                match operation {
                    REQUEST => Request::read(known, found).map(Body::Request),
                    _ => Response::read(known, found).map(Body::Response),
                }
            }
            (EVENTS, INDICATION) => Event::read(action, found).map(Body::Event),
            (INFORMATION, INDICATION) if action == PUSH => {
                information::read(found.needed(tlv::INFORMATION)?).map(Body::Push)
            }
            (MANAGEMENT..=INFORMATION, _) => Err(field("operation", u32::from(operation))),
            _ => Err(field("service", u32::from(service))),
        }
    }
}

fn field(field: &'static str, value: u32) -> DecodeError {
    DecodeError::Field {
        header: HEADER,
        field,
        value,
    }
}

#[cfg(test)]
mod tests;
