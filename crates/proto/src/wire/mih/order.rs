//! Handover commands of the network to a mobile (Net_HO).

use super::found::Found;
use super::handover::Content;
use super::values::{LinkIdentifier, NOTHING_ASSIGNED, Reader, Writer};
use super::{COMMANDS, MessageId, REQUEST, RESPONSE, Status, field, tlv};
use crate::wire::DecodeError;

/// HO_STATUS: the handover is permitted.
const PERMITTED: u8 = 0;
/// HO_STATUS: the handover is declined.
const DECLINED: u8 = 1;
/// TIME_INTERVAL: the handover is due at once.
const AT_ONCE: [u8; 2] = [0; 2];

/// Subject of a command of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderStep {
    /// Query of the mobile's consent: Net_HO_Candidate_Query.
    Query,
    /// Commitment to a handover, which the mobile then makes: Net_HO_Commit.
    Commit,
}

impl OrderStep {
    pub(super) const ALL: [OrderStep; 2] = [OrderStep::Query, OrderStep::Commit];

    const fn action(self) -> u16 {
        match self {
            OrderStep::Query => 4,
            OrderStep::Commit => 8,
        }
    }

    /// Returns the step of a service identifier and an action, if they are those of a command of the network.
    pub(super) fn of(service: u16, action: u16) -> Option<OrderStep> {
        let mut all = OrderStep::ALL.into_iter();
        all.find(|step| (service, action) == (COMMANDS, step.action()))
    }
}

/// A command of the network to a mobile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// Subject.
    pub step: OrderStep,
    /// Link in use by the mobile, in its response to a query.
    pub current: Option<LinkIdentifier>,
    /// Contents: the candidate or the target. A declined query counts as rejected.
    pub content: Content,
}

impl Order {
    /// Creates a request about a link.
    pub fn request(step: OrderStep, link: LinkIdentifier) -> Order {
        Order {
            step,
            current: None,
            content: Content::Request(link),
        }
    }

    /// Creates the response to this request; with the link if it succeeds.
    pub fn response(&self, status: Status) -> Order {
        Order {
            current: None,
            content: self.content.answered(status),
            ..self.clone()
        }
    }

    /// Returns the standard's name.
    pub(super) fn name(&self) -> &'static str {
        match (self.step, self.content.is_request()) {
            (OrderStep::Query, true) => "Net_HO_Candidate_Query request",
            (OrderStep::Query, false) => "Net_HO_Candidate_Query response",
            (OrderStep::Commit, true) => "Net_HO_Commit request",
            (OrderStep::Commit, false) => "Net_HO_Commit response",
        }
    }

    pub(super) fn identifier(&self) -> MessageId {
        let operation = match self.content.is_request() {
            true => REQUEST,
            false => RESPONSE,
        };
        MessageId::new(COMMANDS, operation, self.step.action())
    }

    pub(super) fn write(&self, out: &mut Writer) {
        match (&self.content, self.step) {
            (Content::Request(link), OrderStep::Query) => {
                out.tlv(tlv::CANDIDATES, &link.as_candidates());
                out.tlv(tlv::REPORT_RESOURCES, &[0]);
            }
            (Content::Request(link), OrderStep::Commit) => {
                out.tlv(tlv::LINK_TYPE, &[link.link_type]);
                out.tlv(tlv::TARGETS, &[&[1], &*link.as_target()].concat());
                out.tlv(tlv::ASSIGNED, &NOTHING_ASSIGNED);
                out.tlv(tlv::TIME_INTERVAL, &AT_ONCE);
            }
            (Content::Response { status, link }, step) => {
                out.tlv(tlv::STATUS, &[status.number()]);
                match step {
                    OrderStep::Query => self.write_consent(link.as_ref(), out),
                    OrderStep::Commit => write_target(link.as_ref(), out),
                }
            }
        }
    }

    fn write_consent(&self, link: Option<&LinkIdentifier>, out: &mut Writer) {
        if let Some(current) = &self.current {
            out.tlv(tlv::LINK_IDENTIFIER, &current.as_tuple());
        }
        match link {
            Some(link) => {
                out.tlv(tlv::HANDOVER_STATUS, &[PERMITTED]);
                out.tlv(tlv::PREFERRED, &link.as_preferred());
            }
            None => out.tlv(tlv::HANDOVER_STATUS, &[DECLINED]),
        }
    }

    pub(super) fn read(
        step: OrderStep,
        is_request: bool,
        found: &Found<'_>,
    ) -> Result<Order, DecodeError> {
        let content = match (is_request, step) {
            (true, OrderStep::Query) => Content::Request(first(found.needed(tlv::CANDIDATES)?)?),
            (true, OrderStep::Commit) => Content::Request(target(found, tlv::TARGETS)?),
            (false, OrderStep::Query) => read_consent(found)?,
            (false, OrderStep::Commit) => {
                let status = found.status()?;
                let link = match status {
                    Status::Success => Some(target(found, tlv::TARGET)?),
                    _ => None,
                };
                Content::Response { status, link }
            }
        };
        let current = match (is_request, step) {
            (false, OrderStep::Query) => found.value(tlv::LINK_IDENTIFIER),
            _ => None,
        };
        Ok(Order {
            step,
            current: current
                .map(|mut value| LinkIdentifier::read(&mut value))
                .transpose()?,
            content,
        })
    }
}

fn write_target(link: Option<&LinkIdentifier>, out: &mut Writer) {
    if let Some(link) = link {
        out.tlv(tlv::LINK_TYPE, &[link.link_type]);
        out.tlv(tlv::TARGET, &link.as_target());
    }
}

/// Reads the mobile's answer to a query. A handover that is declined with success counts as rejected.
fn read_consent(found: &Found<'_>) -> Result<Content, DecodeError> {
    let status = found.status()?;
    let declined = match found.value(tlv::HANDOVER_STATUS) {
        Some(mut value) => value.byte()? != PERMITTED,
        None => false,
    };
    Ok(match (status, declined) {
        (Status::Success, false) => Content::Response {
            status,
            link: Some(first(found.needed(tlv::PREFERRED)?)?),
        },
        (Status::Success, true) => Content::Response {
            status: Status::Rejected,
            link: None,
        },
        _ => Content::Response { status, link: None },
    })
}

/// Reads the first link of a list, which has one at least.
pub(super) fn first(mut value: Reader<'_>) -> Result<LinkIdentifier, DecodeError> {
    match value.length()? {
        0 => Err(field("candidates", 0)),
        _ => LinkIdentifier::read(&mut value),
    }
}

/// Reads a target, or the first of a list of targets.
fn target(found: &Found<'_>, kind: u8) -> Result<LinkIdentifier, DecodeError> {
    let link_type = found.needed(tlv::LINK_TYPE)?.byte()?;
    let mut value = found.needed(kind)?;
    if kind == tlv::TARGETS && value.length()? == 0 {
        return Err(field("targets", 0));
    }
    LinkIdentifier::read_target(link_type, &mut value)
}
