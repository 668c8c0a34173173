//! Handover commands: between a mobile and its point of service (MN_HO), and between points of service (N2N_HO).

use super::found::Found;
use super::order::first;
use super::values::{
    LinkIdentifier, MihfId, NO_SERVICE_QUALITY, NOTHING_ASSIGNED, NOTHING_REQUESTED, Writer,
};
use super::{COMMANDS, MessageId, REQUEST, RESPONSE, Status, field, tlv};
use crate::wire::DecodeError;

/// Subject of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Query of a candidate's resources: MN_HO_Candidate_Query, N2N_HO_Query_Resources.
    Query,
    /// Commitment to a handover: MN_HO_Commit, N2N_HO_Commit.
    Commit,
    /// Completion of a handover: MN_HO_Complete, N2N_HO_Complete.
    Complete,
}

/// Request or response of a command.
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

/// A handover command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handover {
    /// The mobile, in a message between networks; a mobile's own messages have none.
    pub mobile: Option<MihfId>,
    /// Subject.
    pub step: Step,
    /// Link in use by the mobile, in its candidate query and the response; in a report of completion, and its response,
    /// the link that was left.
    pub current: Option<LinkIdentifier>,
    /// Contents.
    pub content: Content,
}

impl Content {
    /// Returns the response to this request; with the link if it succeeds.
    pub(super) fn answered(&self, status: Status) -> Content {
        let link = match self {
            Content::Request(link) => Some(link.clone()),
            Content::Response { link, .. } => link.clone(),
        };
        Content::Response {
            status,
            link: link.filter(|_| status == Status::Success),
        }
    }

    pub(super) fn is_request(&self) -> bool {
        matches!(self, Content::Request(_))
    }
}

impl Handover {
    /// Creates the response to this request; with the links if it succeeds.
    pub fn response(&self, status: Status) -> Handover {
        Handover {
            current: self.current.clone().filter(|_| status == Status::Success),
            content: self.content.answered(status),
            ..self.clone()
        }
    }

    fn is_request(&self) -> bool {
        self.content.is_request()
    }

    /// Returns the standard's name.
    pub(super) fn name(&self) -> &'static str {
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

    pub(super) fn identifier(&self) -> MessageId {
        let action = match (self.step, self.mobile.is_some()) {
            (Step::Query, false) => 5,
            (Step::Query, true) => 6,
            (Step::Commit, false) => 7,
            (Step::Commit, true) => 9,
            (Step::Complete, false) => 10,
            (Step::Complete, true) => 11,
        };
        let operation = if self.is_request() { REQUEST } else { RESPONSE };
        MessageId::new(COMMANDS, operation, action)
    }

    /// Returns true if the message may name the link in use, or the link that was left.
    pub(super) fn has_current(&self) -> bool {
        match self.step {
            Step::Query => self.mobile.is_none(),
            Step::Commit => false,
            Step::Complete => true,
        }
    }

    pub(super) fn write(&self, out: &mut Writer) {
        if let Content::Response { status, .. } = self.content {
            out.tlv(tlv::STATUS, &[status.number()]);
        }
        if let Some(mobile) = &self.mobile {
            out.tlv(tlv::MOBILE, &mobile.value());
        }
        if let (true, Some(current)) = (self.has_current(), &self.current) {
            out.tlv(tlv::LINK_IDENTIFIER, &current.as_tuple());
        }
        match &self.content {
            Content::Request(link)
            | Content::Response {
                link: Some(link), ..
            } => self.write_link(link, out),
            Content::Response { link: None, .. } => {}
        }
    }

    /// Writes the link in this message's form, with the accompanying TLVs. Resources are empty: no class of service.
    fn write_link(&self, link: &LinkIdentifier, out: &mut Writer) {
        match (self.step, self.mobile.is_some(), self.is_request()) {
            (Step::Query, false, true) => {
                out.tlv(tlv::CANDIDATES, &link.as_candidates());
                out.tlv(tlv::RESOURCES_ASKED, &NO_SERVICE_QUALITY);
            }
            (Step::Query, true, true) => {
                out.tlv(tlv::RESOURCES_ASKED, &NO_SERVICE_QUALITY);
                out.tlv(tlv::LINK_IDENTIFIERS, &[&[1], &*link.value()].concat());
            }
            (Step::Query, false, false) => out.tlv(tlv::PREFERRED, &link.as_preferred()),
            (Step::Query, true, false) => {
                out.tlv(tlv::RESOURCE_STATUS, &[1]);
                out.tlv(tlv::PREFERRED, &link.as_preferred());
            }
            (Step::Commit, false, _) => {
                out.tlv(tlv::LINK_TYPE, &[link.link_type]);
                out.tlv(tlv::TARGET, &link.as_target());
            }
            (Step::Commit, true, true) => {
                out.tlv(tlv::MOBILE_LINK, &link.value());
                out.tlv(tlv::POINT_OF_ATTACHMENT, &link.address_value());
                out.tlv(tlv::REQUESTED, &NOTHING_REQUESTED);
            }
            (Step::Commit, true, false) => {
                out.tlv(tlv::LINK_IDENTIFIER, &link.as_tuple());
                out.tlv(tlv::ASSIGNED, &NOTHING_ASSIGNED);
            }
            (Step::Complete, between_networks, is_request) => {
                out.tlv(tlv::NEW_LINK_IDENTIFIER, &link.as_tuple());
                // Success, or no resource retention.
                match (is_request, between_networks) {
                    (true, _) => out.tlv(tlv::HANDOVER_RESULT, &[0]),
                    (false, true) => out.tlv(tlv::RETENTION, &[0]),
                    (false, false) => {}
                }
            }
        }
    }

    pub(super) fn read(identifier: MessageId, found: &Found<'_>) -> Result<Handover, DecodeError> {
        let (service, operation, action) = identifier.parts();
        let (step, between_networks) = match (service, action) {
            (COMMANDS, 5) => (Step::Query, false),
            (COMMANDS, 6) => (Step::Query, true),
            (COMMANDS, 7) => (Step::Commit, false),
            (COMMANDS, 9) => (Step::Commit, true),
            (COMMANDS, 10) => (Step::Complete, false),
            (COMMANDS, 11) => (Step::Complete, true),
            (_, other) => return Err(field("action", u32::from(other))),
        };
        let is_request = operation == REQUEST;
        let mut read = Handover {
            mobile: match between_networks {
                true => Some(MihfId::read(&mut found.needed(tlv::MOBILE)?)?),
                false => None,
            },
            step,
            current: None,
            content: match is_request {
                true => Content::Request(link(found, step, between_networks, true)?),
                false => response(found, step, between_networks)?,
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

fn response(found: &Found<'_>, step: Step, between_networks: bool) -> Result<Content, DecodeError> {
    let status = found.status()?;
    let link = match status {
        Status::Success => Some(link(found, step, between_networks, false)?),
        _ => None,
    };
    Ok(Content::Response { status, link })
}

/// Decodes the link, from the TLV that [`Handover::write_link`] uses.
fn link(
    found: &Found<'_>,
    step: Step,
    between_networks: bool,
    is_request: bool,
) -> Result<LinkIdentifier, DecodeError> {
    let kind = match (step, between_networks, is_request) {
        (Step::Query, false, true) => return first(found.needed(tlv::CANDIDATES)?),
        (Step::Query, true, true) => return first(found.needed(tlv::LINK_IDENTIFIERS)?),
        (Step::Query, _, false) => return first(found.needed(tlv::PREFERRED)?),
        (Step::Commit, true, true) => tlv::MOBILE_LINK,
        (Step::Commit, true, false) => tlv::LINK_IDENTIFIER,
        (Step::Commit, false, _) => {
            let link_type = found.needed(tlv::LINK_TYPE)?.byte()?;
            return LinkIdentifier::read_target(link_type, &mut found.needed(tlv::TARGET)?);
        }
        (Step::Complete, ..) => tlv::NEW_LINK_IDENTIFIER,
    };
    LinkIdentifier::read(&mut found.needed(kind)?)
}
