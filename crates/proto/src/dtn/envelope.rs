//! The bundles around a record: its own, and the one that encapsulates it.

use super::Configuration;
use super::custody::Leaving;
use super::record::{Content, Record, StreamId};
use crate::time::Instant;
use crate::wire::bundle::{
    AdministrativeRecord, Bundle, CrcType, CreationTimestamp, DELETE_IF_NOT_PROCESSED,
    Encapsulated, EndpointId, PrimaryBlock, bundle_flags,
};

/// Service of administrative records (RFC 9171 section 4.2.5.1.2).
const ADMINISTRATIVE: u64 = 0;
/// Service of the records. Chosen.
const RECORDS: u64 = 1;

impl Configuration {
    /// Returns the bytes of a bundle that leaves, encapsulated.
    pub(super) fn encapsulate(
        &self,
        now: Instant,
        leaving: &Leaving<'_>,
        deadline: Instant,
    ) -> Vec<u8> {
        let unit = Encapsulated {
            transmission: leaving.transmission,
            retransmission_ms: self.dtn_time(deadline),
            bundle: self.bundle_of(leaving.taken, leaving.sequence, leaving.record),
        };
        let record = AdministrativeRecord::Encapsulated(unit);
        self.administrative(now, leaving.transmission, &record)
    }

    /// Returns the bytes of a record's bundle.
    fn bundle_of(&self, taken: Instant, sequence: u64, record: &Record) -> Vec<u8> {
        let mut payload = Vec::new();
        record.encode(&mut payload);
        let bundle = self.bundle(RECORDS, (taken, sequence), payload);
        let mut out = Vec::with_capacity(bundle.payload.len() + 64);
        bundle.encode(&mut out);
        out
    }

    /// Returns the bytes of an administrative bundle.
    pub(super) fn administrative(
        &self,
        now: Instant,
        sequence: u64,
        record: &AdministrativeRecord,
    ) -> Vec<u8> {
        let mut payload = Vec::new();
        record.encode(&mut payload);
        let mut bundle = self.bundle(ADMINISTRATIVE, (now, sequence), payload);
        bundle.primary.flags |= bundle_flags::ADMINISTRATIVE;
        let mut out = Vec::with_capacity(bundle.payload.len() + 64);
        bundle.encode(&mut out);
        out
    }

    fn bundle(
        &self,
        service: u64,
        (created, sequence): (Instant, u64),
        payload: Vec<u8>,
    ) -> Bundle {
        let endpoint = |node| EndpointId::Ipn { node, service };
        Bundle {
            primary: PrimaryBlock {
                flags: bundle_flags::MUST_NOT_FRAGMENT,
                crc: CrcType::Crc32c,
                destination: endpoint(self.peer),
                source: endpoint(self.node),
                report_to: EndpointId::None,
                created: CreationTimestamp {
                    time_ms: self.dtn_time(created),
                    sequence,
                },
                lifetime_ms: self.lifetime_ms(),
            },
            extensions: Vec::new(),
            payload_flags: 0,
            payload_crc: CrcType::Crc32c,
            payload,
        }
    }

    /// Returns the record of an administrative bundle from the other node.
    pub(super) fn read(&self, bytes: &[u8]) -> Option<AdministrativeRecord> {
        let bundle = self.bundle_of_peer(bytes, ADMINISTRATIVE)?;
        let is_administrative = bundle.primary.flags & bundle_flags::ADMINISTRATIVE != 0;
        let record = is_administrative.then(|| AdministrativeRecord::decode(&bundle.payload));
        record?.ok()
    }

    /// Returns the record in an encapsulated bundle from the other node, and the bundle's creation timestamp.
    pub(super) fn read_encapsulated(&self, bytes: &[u8]) -> Option<(CreationTimestamp, Record)> {
        let bundle = self.bundle_of_peer(bytes, RECORDS)?;
        let record = Record::decode(&bundle.payload).ok()?;
        Some((bundle.primary.created, record))
    }

    /// Returns a bundle, if it is from the other node's endpoint with this service to the same one here, and has no
    /// block without which it must not be processed.
    fn bundle_of_peer(&self, bytes: &[u8], service: u64) -> Option<Bundle> {
        let bundle = Bundle::decode(bytes).ok()?;
        let endpoint = |node| EndpointId::Ipn { node, service };
        let ends = (bundle.primary.source, bundle.primary.destination);
        let is_ours = ends == (endpoint(self.peer), endpoint(self.node));
        let mut blocks = bundle.extensions.iter();
        let is_plain = blocks.all(|block| block.flags & DELETE_IF_NOT_PROCESSED == 0);
        (is_ours && is_plain).then_some(bundle)
    }

    /// Returns true for a bundle from the other node whose lifetime is over. Both nodes have the same lifetime.
    pub(super) fn is_expired(&self, now: Instant, created: CreationTimestamp) -> bool {
        created.time_ms.saturating_add(self.lifetime_ms()) < self.dtn_time(now)
    }

    /// Returns the number of bytes that a datagram has besides a record's data, if all numbers have their longest form.
    pub(super) fn overhead(&self) -> usize {
        // The heads of four byte strings, around the data, the two payloads and the bundle, grow by two bytes each.
        const HEADS: usize = 4 * 2;
        let record = Record {
            stream: StreamId {
                opened_here: true,
                number: u64::MAX,
            },
            content: Content::Data {
                offset: u64::MAX,
                bytes: Vec::new(),
            },
        };
        let unit = Encapsulated {
            transmission: u64::MAX,
            retransmission_ms: u64::MAX,
            bundle: self.bundle_of(Instant::ZERO, u64::MAX, &record),
        };
        let record = AdministrativeRecord::Encapsulated(unit);
        self.administrative(Instant::ZERO, u64::MAX, &record).len() + HEADS
    }

    fn lifetime_ms(&self) -> u64 {
        self.lifetime.as_nanos() / 1_000_000
    }

    fn dtn_time(&self, at: Instant) -> u64 {
        self.epoch_ms.saturating_add(at.as_nanos() / 1_000_000)
    }
}
