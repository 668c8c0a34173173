//! The recorder: takes rows as they happen, and passes them to a thread that writes them.

use super::packets::PacketRecord;
use super::relay::{Relay, WhenBehind};
use super::rows::{PacketRow, SeriesRow};
use super::series::LastValues;
use super::table::Table;
use super::writer::TableWriter;
use super::{LostRows, Quantity, RecordError, SignalRecord, Subject};
use baton_proto::time::Instant;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Recorded parts of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordSettings {
    /// Series.
    pub series: bool,
    /// One row for every packet on every link.
    pub packets: bool,
    /// One row for every signalling message, and for every signal inside a host.
    pub signals: bool,
}

/// Names for the numbers in [`PacketRecord`]s and [`SignalRecord`]s.
#[derive(Clone, Debug, Default)]
pub struct RecordNames {
    /// Names of the links between two nodes, by their numbers in the scenario.
    pub links: Vec<String>,
    /// Names of the links of aircraft to cells, numbered after these.
    pub radios: Vec<RadioNames>,
    /// Names of the flows, by their numbers in the scenario.
    pub flows: Vec<String>,
    /// Names of the nodes, by their numbers in the scenario.
    pub nodes: Vec<String>,
}

/// A radio network, whose links are "network.cell.mobile", mobile by mobile. Only links that appear in a table get a
/// name there, since there are so many.
#[derive(Clone, Debug, Default)]
pub struct RadioNames {
    /// Number of the first link.
    pub first_link: usize,
    /// Names of the cells, each preceded by that of the network and a dot.
    pub cells: Vec<String>,
    /// Nodes of the mobiles, by their numbers.
    pub mobiles: Vec<u32>,
}

impl RadioNames {
    /// Returns the name of a link, if it belongs to this network. `nodes` are the nodes' names.
    pub(super) fn link(&self, number: usize, nodes: &[String]) -> Option<String> {
        let place = number.checked_sub(self.first_link)?;
        let mobile = *self.mobiles.get(place / self.cells.len().max(1))?;
        let cell = &self.cells[place % self.cells.len()];
        Some(format!("{cell}.{}", nodes.get(mobile as usize)?))
    }
}

/// Destination of the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sink {
    /// In memory.
    Memory,
    /// Parquet files in this existing folder.
    Folder(PathBuf),
}

/// Tables of a run; one that was switched off is `None`.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Series, in order of time.
    pub series: Option<Table>,
    /// Packets, in the order in which they were recorded.
    pub packets: Option<Table>,
    /// Signals; messages in the order in which they ended.
    pub signals: Option<Table>,
}

/// Recorder of rows as they happen. It numbers subjects and drops repeated states by itself, so that the writing thread
/// returns nothing.
///
/// A failure (a full disk) ends the recording and is kept: call [`Recorder::check`] now and then, or get the failure
/// from [`Recorder::finish`]. Files get their names only in `finish`; a recorder dropped before that removes them.
pub struct Recorder {
    settings: RecordSettings,
    /// Writing thread, if anything is recorded.
    relay: Option<Relay<TableWriter>>,
    subjects: BTreeMap<String, Subject>,
    last: LastValues,
}

impl Recorder {
    /// Creates a recorder by `settings` that waits while the writing thread is far behind. Fails if a file cannot be
    /// created, or the thread cannot be started.
    pub fn new(
        settings: RecordSettings,
        names: RecordNames,
        sink: Sink,
    ) -> Result<Recorder, RecordError> {
        Recorder::start(settings, names, &sink, WhenBehind::Wait)
    }

    /// Creates a recorder whose callers never wait: rows that arrive faster than they can be written and memory allows
    /// are lost and counted in `lost`. Fails like [`Recorder::new`].
    pub fn live(
        settings: RecordSettings,
        names: RecordNames,
        sink: Sink,
        lost: LostRows,
    ) -> Result<Recorder, RecordError> {
        Recorder::start(settings, names, &sink, WhenBehind::Lose(lost))
    }

    fn start(
        settings: RecordSettings,
        names: RecordNames,
        sink: &Sink,
        behind: WhenBehind,
    ) -> Result<Recorder, RecordError> {
        let relay = if settings.series || settings.packets || settings.signals {
            let writer = TableWriter::new(settings, names, sink)?;
            Some(Relay::start(writer, behind)?)
        } else {
            None
        };
        Ok(Recorder {
            settings,
            relay,
            subjects: BTreeMap::new(),
            last: LastValues::default(),
        })
    }

    /// Returns the number of a subject, by its name: `flow download`, `link gsm down`, `mobile laptop`. The same name
    /// gives the same number; if nothing is recorded, names are not kept, and all have one number.
    pub fn subject(&mut self, name: &str) -> Subject {
        let Some(relay) = &mut self.relay else {
            return Subject(0);
        };
        if let Some(subject) = self.subjects.get(name) {
            return *subject;
        }
        let subject = Subject(self.subjects.len() as u32);
        self.subjects.insert(name.to_owned(), subject);
        relay.load().subjects.push(name.to_owned());
        subject
    }

    /// Adds a flow outside the scenario; its number follows the last flow's.
    pub fn add_flow(&mut self, name: &str) {
        if let Some(relay) = &mut self.relay {
            relay.load().flows.push(name.to_owned());
        }
    }

    /// Records that `quantity` of `subject` is `value` from `at` on.
    ///
    /// A state ([`Quantity::is_sample`] is false) that has not changed since its last row gives no row: callers may
    /// offer every state after every event. Samples always give one. Rows come out in order of time, and at equal times
    /// in order of the calls; a row may be late, but not by more than 65,536 younger ones.
    #[inline]
    pub fn series(&mut self, at: Instant, subject: Subject, quantity: Quantity, value: f64) {
        if self.settings.series
            && self.last.is_row(subject, quantity, value)
            && let Some(relay) = &mut self.relay
        {
            relay.load().push_series(at, subject, quantity, value);
            relay.added(size_of::<SeriesRow>());
        }
    }

    /// Records the fate of a packet on a link.
    #[inline]
    pub fn packet(&mut self, row: &PacketRecord) {
        if self.settings.packets
            && let Some(relay) = &mut self.relay
        {
            relay.load().push_packet(row);
            relay.added(size_of::<PacketRow>());
        }
    }

    /// Records a signal, if signals are recorded.
    pub fn signal(&mut self, row: SignalRecord) {
        if self.settings.signals
            && let Some(relay) = &mut self.relay
        {
            relay.load().signals.push(row);
            relay.added(size_of::<SignalRecord>());
        }
    }

    /// Returns true if signals are recorded, for callers that would have to search for one first.
    pub fn records_signals(&self) -> bool {
        self.settings.signals
    }

    /// Returns true if packets are recorded.
    #[inline]
    pub fn records_packets(&self) -> bool {
        self.settings.packets
    }

    /// Returns true if series are recorded, for callers that would have to compute a value first.
    #[inline]
    pub fn records_series(&self) -> bool {
        self.settings.series
    }

    /// Hands the gathered rows to the writing thread.
    pub fn flush(&mut self) {
        if let Some(relay) = &mut self.relay {
            relay.flush();
        }
    }

    /// Fails if an error has ended the recording.
    pub fn check(&self) -> Result<(), RecordError> {
        self.relay.as_ref().map_or(Ok(()), Relay::check)
    }

    /// Hands on the remaining rows and closes the files.
    pub fn finish(self) -> Result<Tables, RecordError> {
        match self.relay {
            Some(relay) => relay.finish()?.finish(),
            None => Ok(Tables {
                series: None,
                packets: None,
                signals: None,
            }),
        }
    }
}
