//! Reports of Multicast Listener Discovery, version 2 (RFC 3810): what a node tells the routers of its link when it
//! begins or ceases to listen to an address. Hosts need nothing else of it to configure an address (RFC 4862
//! section 5.4.2); queries are not spoken here.

use super::{DecodeError, expect_length, ipv6_at, u16_at};
use crate::packet::IpHeader;
use core::net::{IpAddr, Ipv6Addr};

/// Hop limit of all its messages (section 5).
pub const HOP_LIMIT: u8 = 1;

/// The address `ff02::16` of all MLDv2-capable routers, to which reports go (section 5.2.14).
pub const REPORT_DESTINATION: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 0x16);

/// A report (section 5.2). It travels behind a hop-by-hop header with a router alert (RFC 2711), which
/// [`Packet::encode`](crate::packet::Packet::encode) puts there; without it no router reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MulticastListenerReport {
    /// One for each address; at most [`MAXIMUM_RECORDS`](Self::MAXIMUM_RECORDS) are sent.
    pub records: Vec<MulticastAddressRecord>,
}

impl MulticastListenerReport {
    /// What the count of records can say.
    pub const MAXIMUM_RECORDS: usize = u16::MAX as usize;

    /// The node begins to listen to `address`, whoever sends there.
    pub fn join(address: Ipv6Addr) -> MulticastListenerReport {
        MulticastListenerReport::of(RecordKind::ChangeToExclude, address)
    }

    /// The node no longer listens to `address`.
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

/// What a node says of one multicast address (sections 5.2.5 to 5.2.12).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MulticastAddressRecord {
    /// What it says.
    pub kind: RecordKind,
    /// The multicast address.
    pub address: Ipv6Addr,
    /// The senders that are meant.
    pub sources: Vec<Ipv6Addr>,
}

/// Types of records (section 5.2.12). Include: only the named sources are heard; exclude: all but they.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// Answer to a query: the filter is "include".
    ModeIsInclude = 1,
    /// Answer to a query: the filter is "exclude".
    ModeIsExclude = 2,
    /// The filter has become "include"; without sources the node has left.
    ChangeToInclude = 3,
    /// The filter has become "exclude"; without sources the node has joined.
    ChangeToExclude = 4,
    /// Further sources are heard.
    AllowNewSources = 5,
    /// These sources are no longer heard.
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
    /// Bytes on the wire after the hop-by-hop header.
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

    /// Reads a report that `ip` carries, of which the caller has checked the checksum and that eight bytes are there.
    /// Auxiliary data and records of unknown types are skipped (sections 5.2.11 and 5.2.12).
    pub(super) fn decode(
        ip: &IpHeader,
        bytes: &[u8],
    ) -> Result<MulticastListenerReport, DecodeError> {
        let wrong = |field, value| DecodeError::Field {
            header: HEADER,
            field,
            value: u32::from(value),
        };
        // Section 6.2: from elsewhere than the link it is not believed.
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
    /// The sources that the count can tell.
    fn sent(&self) -> &[Ipv6Addr] {
        &self.sources[..self.sources.len().min(usize::from(u16::MAX))]
    }
}
