//! Administrative records of custody: bundle-in-bundle encapsulation (draft-ietf-dtn-bibect-03).
//!
//! RFC 9171 has no custody transfer. The draft has: a bundle travels in the payload of another with a transmission ID,
//! and the receiver signals what it did with the bundles of these IDs, many at a time. The draft leaves the codes of its
//! records open; those here are the ones of NASA's DTNME.

use super::super::DecodeError;
use super::cbor::{Reader, write_array, write_bytes, write_unsigned, wrong};

const ENCAPSULATED: u64 = 3;
const CUSTODY_SIGNAL: u64 = 4;

/// Payload of an administrative bundle (RFC 9171 section 6.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdministrativeRecord {
    /// BIBE protocol data unit.
    Encapsulated(Encapsulated),
    /// Custody signal.
    CustodySignal(CustodySignal),
}

/// BIBE protocol data unit: a bundle for whose custody its sender asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encapsulated {
    /// Number of this transmission, new for each retransmission; 0 if no custody is requested.
    pub transmission: u64,
    /// DTN time in milliseconds at which the sender will retransmit.
    pub retransmission_ms: u64,
    /// The bundle's bytes.
    pub bundle: Vec<u8>,
}

/// Custody signal: one disposition of many transmissions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustodySignal {
    /// Fate of the bundles at the receiver.
    pub disposition: Disposition,
    /// The transmissions.
    pub scope: Vec<Scope>,
}

/// Consecutive transmissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// ID of the first.
    pub first: u64,
    /// ID of the last.
    pub last: u64,
}

/// Disposition of a bundle at the receiver. The codes are those of RFC 5050 section 6.1.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Disposition {
    /// Custody accepted.
    Accepted,
    /// Refused without a reason.
    Refused,
    /// The receiver has the bundle already.
    Redundant,
    /// The receiver has no room.
    DepletedStorage,
    /// The destination is unintelligible.
    DestinationUnintelligible,
    /// No route to the destination.
    NoRoute,
    /// No timely contact with the next node.
    NoTimelyContact,
    /// A block is unintelligible.
    BlockUnintelligible,
}

impl Disposition {
    const ALL: [(Disposition, u64); 8] = [
        (Disposition::Accepted, 0),
        (Disposition::Refused, 1),
        (Disposition::Redundant, 3),
        (Disposition::DepletedStorage, 4),
        (Disposition::DestinationUnintelligible, 5),
        (Disposition::NoRoute, 6),
        (Disposition::NoTimelyContact, 7),
        (Disposition::BlockUnintelligible, 8),
    ];

    /// Returns true if the receiver has the bundle, so that the sender may give up its own.
    pub const fn releases(self) -> bool {
        matches!(self, Disposition::Accepted | Disposition::Redundant)
    }

    fn code(self) -> u64 {
        let mut all = Disposition::ALL.iter();
        let found = all.find(|(disposition, _)| *disposition == self);
        found.map_or(1, |&(_, code)| code)
    }
}

impl AdministrativeRecord {
    /// Appends the record's bytes to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        write_array(out, 2);
        match self {
            AdministrativeRecord::Encapsulated(unit) => {
                write_unsigned(out, ENCAPSULATED);
                write_array(out, 3);
                write_unsigned(out, unit.transmission);
                write_unsigned(out, unit.retransmission_ms);
                write_bytes(out, &unit.bundle);
            }
            AdministrativeRecord::CustodySignal(signal) => {
                write_unsigned(out, CUSTODY_SIGNAL);
                write_array(out, 2);
                write_unsigned(out, signal.disposition.code());
                write_array(out, signal.scope.len() as u64);
                for scope in &signal.scope {
                    write_array(out, 2);
                    write_unsigned(out, scope.first);
                    write_unsigned(
                        out,
                        scope.last.saturating_sub(scope.first).saturating_add(1),
                    );
                }
            }
        }
    }

    /// Decodes a record that takes all bytes.
    ///
    /// # Errors
    /// Bytes are missing or left over, a number is not in its shortest form, the record type or the disposition is
    /// unknown, or a scope is empty or ends beyond 2^64.
    pub fn decode(bytes: &[u8]) -> Result<AdministrativeRecord, DecodeError> {
        let mut reader = Reader::new(bytes);
        reader.array_of(2, "administrative record")?;
        let record = match reader.unsigned("administrative record type")? {
            ENCAPSULATED => {
                reader.array_of(3, "encapsulated bundle")?;
                AdministrativeRecord::Encapsulated(Encapsulated {
                    transmission: reader.unsigned("transmission ID")?,
                    retransmission_ms: reader.unsigned("retransmission time")?,
                    bundle: reader.bytes("encapsulated bundle")?.to_vec(),
                })
            }
            CUSTODY_SIGNAL => {
                AdministrativeRecord::CustodySignal(CustodySignal::decode(&mut reader)?)
            }
            other => return Err(wrong("administrative record type", other)),
        };
        reader.end("end of the administrative record")?;
        Ok(record)
    }
}

impl CustodySignal {
    fn decode(reader: &mut Reader<'_>) -> Result<CustodySignal, DecodeError> {
        reader.array_of(2, "custody signal")?;
        let code = reader.unsigned("disposition")?;
        let mut all = Disposition::ALL.iter();
        let disposition = all.find(|(_, known)| *known == code);
        let &(disposition, _) = disposition.ok_or_else(|| wrong("disposition", code))?;
        let count = reader.array("disposition scope report")?;
        let mut scope = Vec::new();
        for _ in 0..count {
            reader.array_of(2, "scope")?;
            let first = reader.unsigned("first transmission ID")?;
            let length = reader.unsigned("length of the scope")?;
            let last = length
                .checked_sub(1)
                .and_then(|more| first.checked_add(more));
            let last = last.ok_or_else(|| wrong("length of the scope", length))?;
            scope.push(Scope { first, last });
        }
        Ok(CustodySignal { disposition, scope })
    }
}
