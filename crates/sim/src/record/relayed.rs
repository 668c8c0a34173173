//! Rows of tables on their way through a relay.

use super::direct::TableWriter;
use super::packets::PacketRecord;
use super::recorder::{RecordSettings, Tables};
use super::relay::{Load, LostRows, MOST_WAITING, Relay, Writer};
use super::series::LastValues;
use super::{Quantity, RecordError, Subject};
use crate::link::{DropReason, End};
use baton_proto::packet::Packet;
use baton_proto::time::Instant;
use std::collections::BTreeMap;

/// Takes rows without ever waiting. Numbers of subjects and repeated states are its own business, so that
/// nothing has to come back from the writer.
pub(super) struct RelayedRows {
    relay: Relay<TableWriter>,
    settings: RecordSettings,
    subjects: BTreeMap<String, Subject>,
    last: LastValues,
}

/// Rows, and the names that they are the first to need.
#[derive(Default)]
pub(super) struct Rows {
    subjects: Vec<String>,
    flows: Vec<String>,
    series: Vec<SeriesRow>,
    packets: Vec<PacketRow>,
}

struct SeriesRow {
    at: Instant,
    subject: Subject,
    quantity: Quantity,
    value: f64,
}

/// A [`PacketRecord`] with a packet of its own.
struct PacketRow {
    number: u64,
    link: usize,
    from: End,
    sent: Instant,
    decided: Option<Instant>,
    dropped: Option<DropReason>,
    packet: Packet,
}

impl RelayedRows {
    /// Starts the thread of `writer`, which has no subjects yet.
    pub(super) fn start(writer: TableWriter, lost: LostRows) -> Result<RelayedRows, RecordError> {
        Ok(RelayedRows {
            settings: writer.settings(),
            relay: Relay::start(writer, MOST_WAITING, lost)?,
            subjects: BTreeMap::new(),
            last: LastValues::default(),
        })
    }

    pub(super) fn settings(&self) -> RecordSettings {
        self.settings
    }

    pub(super) fn subject(&mut self, name: &str) -> Subject {
        if let Some(subject) = self.subjects.get(name) {
            return *subject;
        }
        let subject = Subject(self.subjects.len() as u32);
        self.subjects.insert(name.to_owned(), subject);
        self.relay.load().subjects.push(name.to_owned());
        subject
    }

    pub(super) fn add_flow(&mut self, name: &str) {
        self.relay.load().flows.push(name.to_owned());
    }

    #[inline]
    pub(super) fn series(&mut self, at: Instant, subject: Subject, quantity: Quantity, value: f64) {
        if self.settings.series && self.last.is_row(subject, quantity, value) {
            self.relay.load().series.push(SeriesRow {
                at,
                subject,
                quantity,
                value,
            });
            self.relay.added(size_of::<SeriesRow>());
        }
    }

    pub(super) fn packet(&mut self, row: &PacketRecord) {
        if self.settings.packets {
            self.relay.load().packets.push(PacketRow {
                number: row.number,
                link: row.link,
                from: row.from,
                sent: row.sent,
                decided: row.decided,
                dropped: row.dropped,
                packet: row.packet.clone(),
            });
            // Patterns and shared bytes take less: this is the most that it can be.
            let bytes = size_of::<PacketRow>() + row.packet.wire_length() as usize;
            self.relay.added(bytes);
        }
    }

    pub(super) fn flush(&mut self) {
        self.relay.flush();
    }

    pub(super) fn check(&self) -> Result<(), RecordError> {
        self.relay.check()
    }

    pub(super) fn finish(self) -> Result<Tables, RecordError> {
        self.relay.finish()?.finish()
    }
}

impl Load for Rows {
    fn drop_rows(&mut self) -> u64 {
        let rows = self.series.len() + self.packets.len();
        self.series.clear();
        self.packets.clear();
        rows as u64
    }
}

impl Writer for TableWriter {
    type Load = Rows;

    fn write(&mut self, load: Rows) -> Result<(), RecordError> {
        for name in &load.subjects {
            self.subject(name);
        }
        for name in &load.flows {
            self.add_flow(name);
        }
        for row in load.series {
            self.series(row.at, row.subject, row.quantity, row.value);
        }
        for row in &load.packets {
            self.packet(&PacketRecord {
                number: row.number,
                link: row.link,
                from: row.from,
                sent: row.sent,
                decided: row.decided,
                dropped: row.dropped,
                packet: &row.packet,
            });
        }
        self.check()
    }
}
