//! Reports of Multicast Listener Discovery, version 2 (RFC 3810), which inform the routers of a link that a node starts
//! or stops listening to an address. Address configuration needs no other message (RFC 4862 section 5.4.2); queries are
//! not implemented.

use super::{DecodeError, Words, expect_length, ipv6_at, u16_at};
use crate::packet::IpHeader;
use core::net::{IpAddr, Ipv6Addr};

/// Hop limit of all messages (section 5).
pub const HOP_LIMIT: u8 = 1;

/// Destination of reports: all MLDv2-capable routers, `ff02::16` (section 5.2.14).
pub const REPORT_DESTINATION: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 0x16);

/// A report (section 5.2). It follows a hop-by-hop header with a router alert (RFC 2711), which
/// [`Packet::encode`](crate::packet::Packet::encode) adds; routers ignore a report without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MulticastListenerReport {
    /// Records, one for each address; at most [`MAXIMUM_RECORDS`](Self::MAXIMUM_RECORDS) are sent.
    pub records: Vec<MulticastAddressRecord>,
}

impl MulticastListenerReport {
    /// Maximum of the record count field.
    pub const MAXIMUM_RECORDS: usize = u16::MAX as usize;

    /// Reports that the node starts listening to `address`, for any source.
    pub fn join(address: Ipv6Addr) -> MulticastListenerReport {
        MulticastListenerReport::of(RecordKind::ChangeToExclude, address)
    }

    /// Reports that the node stops listening to `address`.
    pub fn leave(address: Ipv6Addr) -> MulticastListenerReport {
        MulticastListenerReport::of(RecordKind::ChangeToInclude, address)
    }

    fn of(kind: RecordKind, address: Ipv6Addr) -> MulticastListenerReport {
        MulticastListenerReport {
            records: vec![MulticastAddressRecord {
                kind,
                address,
                sources: Vec::new(),
            }],
        }
    }
}

/// Record about one multicast address (sections 5.2.5 to 5.2.12).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MulticastAddressRecord {
    /// Record type.
    pub kind: RecordKind,
    /// The multicast address.
    pub address: Ipv6Addr,
    /// Sources that the record is about.
    pub sources: Vec<Ipv6Addr>,
}

/// Record types (section 5.2.12). Include: receive only from the listed sources; exclude: from all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// Answer to a query: the filter mode is "include".
    ModeIsInclude = 1,
    /// Answer to a query: the filter mode is "exclude".
    ModeIsExclude = 2,
    /// The filter mode has become "include"; without sources the node has left.
    ChangeToInclude = 3,
    /// The filter mode has become "exclude"; without sources the node has joined.
    ChangeToExclude = 4,
    /// Additional sources to receive from.
    AllowNewSources = 5,
    /// Sources no longer to receive from.
    BlockOldSources = 6,
}

/// ICMPv6 type of a report (section 5.2).
pub(crate) const REPORT: u8 = 143;

const HEADER: &str = "multicast listener report";

impl RecordKind {
    fn decode(kind: u8) -> Option<RecordKind> {
        Some(match kind {
            1 => RecordKind::ModeIsInclude,
            2 => RecordKind::ModeIsExclude,
            3 => RecordKind::ChangeToInclude,
            4 => RecordKind::ChangeToExclude,
            5 => RecordKind::AllowNewSources,
            6 => RecordKind::BlockOldSources,
            _ => return None,
        })
    }
}

impl MulticastListenerReport {
    /// Returns the length on the wire after the hop-by-hop header, in bytes.
    pub fn wire_length(&self) -> u32 {
        let records = self.records.iter().take(Self::MAXIMUM_RECORDS);
        8 + records
            .map(|record| 20 + 16 * record.sent().len() as u32)
            .sum::<u32>()
    }

    /// Appends the report with a checksum of zero.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let records = &self.records[..self.records.len().min(Self::MAXIMUM_RECORDS)];
        out.extend_from_slice(&[REPORT, 0, 0, 0, 0, 0]);
        out.extend_from_slice(&(records.len() as u16).to_be_bytes());
        for record in records {
            out.extend_from_slice(&[record.kind as u8, 0]);
            out.extend_from_slice(&(record.sent().len() as u16).to_be_bytes());
            out.extend_from_slice(&record.address.octets());
            for source in record.sent() {
                out.extend_from_slice(&source.octets());
            }
        }
    }

    /// Decodes the report that `ip` carries; the caller has checked the checksum, and that there are eight bytes. Skips
    /// auxiliary data and records of unknown types (sections 5.2.11 and 5.2.12).
    pub(super) fn decode(
        ip: &IpHeader,
        bytes: &[u8],
    ) -> Result<MulticastListenerReport, DecodeError> {
        let wrong = |field, value| DecodeError::Field {
            header: HEADER,
            field,
            value: u32::from(value),
        };
        // Section 6.2: reports from outside the link are discarded.
        let is_of_link = matches!(ip.source, IpAddr::V6(source) if source.is_unicast_link_local() || source.is_unspecified());
        if !is_of_link || ip.hop_limit != HOP_LIMIT {
            return Err(wrong("hop limit or source", ip.hop_limit));
        }
        let mut rest = &bytes[8..];
        let mut records = Vec::new();
        for _ in 0..u16_at(bytes, 6) {
            expect_length(HEADER, rest, 20)?;
            let sources = usize::from(u16_at(rest, 2));
            let auxiliary_at = 20 + 16 * sources;
            let end = auxiliary_at + 4 * usize::from(rest[1]);
            expect_length(HEADER, rest, end)?;
            if let Some(kind) = RecordKind::decode(rest[0]) {
                records.push(MulticastAddressRecord {
                    kind,
                    address: ipv6_at(rest, 4),
                    sources: (0..sources)
                        .map(|index| ipv6_at(rest, 20 + 16 * index))
                        .collect(),
                });
            }
            rest = &rest[end..];
        }
        Ok(MulticastListenerReport { records })
    }
}

impl MulticastAddressRecord {
    /// Returns the sources that fit the count field.
    fn sent(&self) -> &[Ipv6Addr] {
        &self.sources[..self.sources.len().min(usize::from(u16::MAX))]
    }
}

impl MulticastListenerReport {
    /// Describes the message.
    pub(super) fn words(&self) -> Words {
        let records = self.records.iter().map(|record| {
            let what = match record.kind {
                RecordKind::ChangeToExclude | RecordKind::ModeIsExclude => "listens to",
                RecordKind::ChangeToInclude if record.sources.is_empty() => "leaves",
                _ => "chooses senders of",
            };
            format!("{what} {}", record.address)
        });
        let details = records.collect::<Vec<_>>().join(", ");
        ("Multicast Listener Report", details)
    }
}
