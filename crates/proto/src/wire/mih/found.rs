//! TLVs of a received message.

use super::values::Reader;
use super::{Status, field, tlv};
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

    /// Returns true for a message that names its ends only.
    pub(super) fn has_only_ends(&self) -> bool {
        let ends = [tlv::SOURCE, tlv::DESTINATION].map(usize::from);
        let mut rest = self.0.iter().enumerate();
        rest.all(|(kind, value)| value.is_none() || ends.contains(&kind))
    }

    pub(super) fn status(&self) -> Result<Status, DecodeError> {
        let number = self.needed(tlv::STATUS)?.byte()?;
        let status = Status::ALL.get(usize::from(number)).copied();
        status.ok_or_else(|| field("status", u32::from(number)))
    }
}
