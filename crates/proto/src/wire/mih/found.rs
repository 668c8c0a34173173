//! TLVs of a received message.

use super::values::Reader;
use super::{Content, LinkIdentifier, Status, Step, field, tlv};
use crate::wire::DecodeError;

/// TLV values by number; the last of repeated ones.
pub(super) struct Found<'a>([Option<&'a [u8]>; tlv::END]);

impl<'a> Found<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Found<'a>, DecodeError> {
        let mut found = Found([None; tlv::END]);
        let mut reader = Reader(bytes);
        while !reader.0.is_empty() {
            let kind = reader.byte()?;
            let length = reader.length()?;
            let value = reader.take(length)?;
            if let Some(place) = found.0.get_mut(usize::from(kind)) {
                *place = Some(value);
            }
        }
        Ok(found)
    }

    pub(super) fn value(&self, kind: u8) -> Option<Reader<'a>> {
        self.0.get(usize::from(kind)).copied().flatten().map(Reader)
    }

    pub(super) fn needed(&self, kind: u8) -> Result<Reader<'a>, DecodeError> {
        self.value(kind)
            .ok_or_else(|| field("missing TLV", u32::from(kind)))
    }

    /// Decodes the link, from the TLV that `Mih::write_link` uses.
    pub(super) fn link(
        &self,
        step: Step,
        between_networks: bool,
        is_request: bool,
    ) -> Result<LinkIdentifier, DecodeError> {
        let kind = match (step, between_networks) {
            (Step::Query, false) if !is_request => tlv::PREFERRED,
            (Step::Query, _) => tlv::CANDIDATES,
            (Step::Commit, true) => tlv::MOBILE_LINK,
            (Step::Commit, false) => {
                let link_type = self.needed(tlv::LINK_TYPE)?.byte()?;
                return LinkIdentifier::read_target(link_type, &mut self.needed(tlv::TARGET)?);
            }
            (Step::Complete, _) => tlv::LINK_IDENTIFIER,
        };
        let mut value = self.needed(kind)?;
        if step == Step::Query {
            // The first of the list; further ones would leave a choice to the mobile.
            let count = value.byte()?;
            if count == 0 {
                return Err(field("candidates", 0));
            }
        }
        LinkIdentifier::read(&mut value)
    }

    pub(super) fn response(
        &self,
        step: Step,
        between_networks: bool,
    ) -> Result<Content, DecodeError> {
        let number = self.needed(tlv::STATUS)?.byte()?;
        let status = Status::ALL.get(usize::from(number)).copied();
        let status = status.ok_or_else(|| field("status", u32::from(number)))?;
        let link = match status {
            Status::Success => Some(self.link(step, between_networks, false)?),
            _ => None,
        };
        Ok(Content::Response { status, link })
    }
}
