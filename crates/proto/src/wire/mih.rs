//! MIH messages by which a mobile, its point of service and other networks prepare and complete a handover: commands of
//! IEEE 802.21-2008 (clause 8) over UDP (RFC 5677).
//!
//! Header, message and TLV numbers, and data types are as in Wireshark and ODTONE; the TLVs of each message (clause
//! 8.6.3) are from memory. Messages with acknowledgement or fragmentation are rejected: every request gets a response,
//! which suffices as acknowledgement, and no message is long. Unknown TLVs are skipped.

mod found;
mod values;
mod words;

pub use values::{LONGEST_NAME, LinkIdentifier, MihfId};
pub(super) use words::words;

use super::{DecodeError, expect_length, u16_at};
use found::Found;

/// UDP port (RFC 5677 section 8).
pub const PORT: u16 = 4551;

const HEADER: &str = "MIH";
const HEADER_LENGTH: usize = 8;
const VERSION: u8 = 1;
const COMMAND_SERVICE: u16 = 3;
const REQUEST: u16 = 1;
const RESPONSE: u16 = 2;

/// TLV numbers (IEEE 802.21-2008, annex L).
mod tlv {
    pub const SOURCE: u8 = 1;
    pub const DESTINATION: u8 = 2;
    pub const STATUS: u8 = 3;
    pub const LINK_TYPE: u8 = 4;
    pub const LINK_IDENTIFIER: u8 = 13;
    pub const CANDIDATES: u8 = 31;
    pub const PREFERRED: u8 = 32;
    pub const RESOURCES_ASKED: u8 = 33;
    pub const HANDOVER_RESULT: u8 = 40;
    pub const RESOURCE_STATUS: u8 = 41;
    pub const RETENTION: u8 = 42;
    pub const MOBILE: u8 = 52;
    pub const REPORT_RESOURCES: u8 = 53;
    pub const TARGET: u8 = 55;
    pub const ASSIGNED: u8 = 57;
    pub const MOBILE_LINK: u8 = 59;
    pub const POINT_OF_ATTACHMENT: u8 = 60;
    pub const REQUESTED: u8 = 63;
    /// Bound of the decoded TLV numbers.
    pub const END: usize = 64;
}

/// Subject of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Query of a candidate's resources: MN_HO_Candidate_Query, N2N_HO_Query_Resources.
    Query,
    /// Commitment to a handover: MN_HO_Commit, N2N_HO_Commit.
    Commit,
    /// Completion of a handover: MN_HO_Complete, N2N_HO_Complete.
    Complete,
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

/// Contents of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A request about this link: the candidate, the target or the new one.
    Request(LinkIdentifier),
    /// The response, about the same link; a refusal may omit it.
    Response {
        /// Result of the request.
        status: Status,
        /// The link.
        link: Option<LinkIdentifier>,
    },
}

/// An MIH message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mih {
    /// Transaction ID, 12 bits, which matches a response to its request.
    pub transaction: u16,
    /// Sender.
    pub source: MihfId,
    /// Receiver.
    pub destination: MihfId,
    /// The mobile, in a message between networks; a mobile's own messages have none.
    pub mobile: Option<MihfId>,
    /// Subject.
    pub step: Step,
    /// Link in use by the mobile, in its candidate query.
    pub current: Option<LinkIdentifier>,
    /// Contents.
    pub content: Content,
}

impl Mih {
    /// Builds the response to this request; with the link if it succeeds.
    pub fn response(&self, status: Status) -> Mih {
        let (Content::Request(link)
        | Content::Response {
            link: Some(link), ..
        }) = &self.content
        else {
            return self.clone();
        };
        Mih {
            source: self.destination.clone(),
            destination: self.source.clone(),
            current: None,
            content: Content::Response {
                status,
                link: (status == Status::Success).then(|| link.clone()),
            },
            ..self.clone()
        }
    }

    fn is_request(&self) -> bool {
        matches!(self.content, Content::Request(_))
    }

    /// Returns the standard's name.
    pub fn name(&self) -> &'static str {
        match (self.step, self.mobile.is_some(), self.is_request()) {
            (Step::Query, false, true) => "MN_HO_Candidate_Query request",
            (Step::Query, false, false) => "MN_HO_Candidate_Query response",
            (Step::Query, true, true) => "N2N_HO_Query_Resources request",
            (Step::Query, true, false) => "N2N_HO_Query_Resources response",
            (Step::Commit, false, true) => "MN_HO_Commit request",
            (Step::Commit, false, false) => "MN_HO_Commit response",
            (Step::Commit, true, true) => "N2N_HO_Commit request",
            (Step::Commit, true, false) => "N2N_HO_Commit response",
            (Step::Complete, false, true) => "MN_HO_Complete request",
            (Step::Complete, false, false) => "MN_HO_Complete response",
            (Step::Complete, true, true) => "N2N_HO_Complete request",
            (Step::Complete, true, false) => "N2N_HO_Complete response",
        }
    }

    /// Returns the action identifier.
    fn action(&self) -> u16 {
        match (self.step, self.mobile.is_some()) {
            (Step::Query, false) => 5,
            (Step::Query, true) => 6,
            (Step::Commit, false) => 7,
            (Step::Commit, true) => 9,
            (Step::Complete, false) => 10,
            (Step::Complete, true) => 11,
        }
    }

    /// Encodes the message as a UDP payload.
    pub fn encode(&self) -> Vec<u8> {
        let operation = if self.is_request() { REQUEST } else { RESPONSE };
        let message = COMMAND_SERVICE << 12 | operation << 10 | self.action();
        let mut out = vec![VERSION << 4, 0];
        out.extend_from_slice(&message.to_be_bytes());
        out.extend_from_slice(&(self.transaction & 0x0FFF).to_be_bytes());
        out.extend_from_slice(&[0; 2]);
        let mut write = |kind: u8, value: &[u8]| {
            out.extend_from_slice(&[kind, value.len() as u8]);
            out.extend_from_slice(value);
        };
        write(tlv::SOURCE, &self.source.value());
        write(tlv::DESTINATION, &self.destination.value());
        if let Content::Response { status, .. } = self.content {
            write(tlv::STATUS, &[status.number()]);
        }
        if let Some(mobile) = &self.mobile {
            write(tlv::MOBILE, &mobile.value());
        }
        if let (true, Some(current)) = (self.has_current(), &self.current) {
            write(tlv::LINK_IDENTIFIER, &current.value());
        }
        match &self.content {
            Content::Request(link)
            | Content::Response {
                link: Some(link), ..
            } => self.write_link(link, &mut write),
            Content::Response { link: None, .. } => {}
        }
        let length = (out.len() - HEADER_LENGTH) as u16;
        out[6..8].copy_from_slice(&length.to_be_bytes());
        out
    }

    /// Returns true if the message may name the link in use.
    fn has_current(&self) -> bool {
        self.step == Step::Query && self.mobile.is_none() && self.is_request()
    }

    /// Writes the link in this message's form, with the accompanying TLVs. Resources are empty: no class of service.
    fn write_link(&self, link: &LinkIdentifier, write: &mut impl FnMut(u8, &[u8])) {
        match (self.step, self.mobile.is_some(), self.is_request()) {
            (Step::Query, between_networks, true) => {
                write(tlv::CANDIDATES, &link.as_candidates());
                write(tlv::RESOURCES_ASKED, &values::NO_SERVICE_QUALITY);
                if !between_networks {
                    write(tlv::REPORT_RESOURCES, &[1]);
                }
            }
            (Step::Query, false, false) => write(tlv::PREFERRED, &link.as_preferred()),
            (Step::Query, true, false) => {
                write(tlv::RESOURCE_STATUS, &[1]);
                write(tlv::CANDIDATES, &link.as_candidates());
            }
            (Step::Commit, false, _) => {
                write(tlv::LINK_TYPE, &[link.link_type]);
                write(tlv::TARGET, &link.as_target());
            }
            (Step::Commit, true, true) => {
                write(tlv::MOBILE_LINK, &link.value());
                write(tlv::POINT_OF_ATTACHMENT, &link.address_value());
                write(tlv::REQUESTED, &values::NOTHING_REQUESTED);
            }
            (Step::Commit, true, false) => {
                write(tlv::MOBILE_LINK, &link.value());
                write(tlv::ASSIGNED, &values::NOTHING_ASSIGNED);
            }
            (Step::Complete, _, is_request) => {
                write(tlv::LINK_IDENTIFIER, &link.value());
                // Success, or no resource retention.
                let kind = match is_request {
                    true => tlv::HANDOVER_RESULT,
                    false => tlv::RETENTION,
                };
                write(kind, &[0]);
            }
        }
    }

    /// Decodes a UDP payload. Bytes after the message's length are ignored.
    ///
    /// # Errors
    /// Too few bytes; another version, service, operation or action; flags; a TLV that is missing or too long.
    pub fn decode(bytes: &[u8]) -> Result<Mih, DecodeError> {
        expect_length(HEADER, bytes, HEADER_LENGTH)?;
        if bytes[0] >> 4 != VERSION {
            return Err(field("version", u32::from(bytes[0] >> 4)));
        }
        if bytes[0] & 0x0F != 0 || bytes[1] >> 1 != 0 {
            return Err(field("flags", u32::from(u16_at(bytes, 0) & 0x0FFF)));
        }
        let message = u16_at(bytes, 2);
        let (step, between_networks) = match message & 0x03FF {
            5 => (Step::Query, false),
            6 => (Step::Query, true),
            7 => (Step::Commit, false),
            9 => (Step::Commit, true),
            10 => (Step::Complete, false),
            11 => (Step::Complete, true),
            other => return Err(field("action", u32::from(other))),
        };
        if message >> 12 != COMMAND_SERVICE {
            return Err(field("service", u32::from(message >> 12)));
        }
        let end = HEADER_LENGTH + usize::from(u16_at(bytes, 6));
        expect_length(HEADER, bytes, end)?;
        let found = Found::read(&bytes[HEADER_LENGTH..end])?;
        let mut read = Mih {
            transaction: u16_at(bytes, 4) & 0x0FFF,
            source: MihfId::read(&mut found.needed(tlv::SOURCE)?)?,
            destination: MihfId::read(&mut found.needed(tlv::DESTINATION)?)?,
            mobile: match between_networks {
                true => Some(MihfId::read(&mut found.needed(tlv::MOBILE)?)?),
                false => None,
            },
            step,
            current: None,
            content: match message >> 10 & 3 {
                REQUEST => Content::Request(found.link(step, between_networks, true)?),
                RESPONSE => found.response(step, between_networks)?,
                other => return Err(field("operation", u32::from(other))),
            },
        };
        if read.has_current()
            && let Some(mut current) = found.value(tlv::LINK_IDENTIFIER)
        {
            read.current = Some(LinkIdentifier::read(&mut current)?);
        }
        Ok(read)
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
