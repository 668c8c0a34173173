//! The recorder: takes rows as they happen, and passes them to a thread that writes them.

use super::packets::PacketRecord;
use super::relay::{Relay, WhenBehind};
use super::rows::{PacketRow, Rows, SeriesRow};
use super::series::LastValues;
use super::table::Table;
use super::writer::TableWriter;
use super::{LostRows, Quantities, Quantity, RecordError, SignalRecord, Subject};
use baton_proto::time::Instant;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Recorded parts of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordSettings {
    /// Series, by their quantities.
    pub series: Quantities,
    /// One row for every packet on every link.
    pub packets: bool,
    /// One row for every signalling message, and for every signal inside a host.
    pub signals: bool,
}

impl RecordSettings {
    /// Returns true if anything is recorded.
    const fn any(self) -> bool {
        !self.series.is_empty() || self.packets || self.signals
    }
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
    /// Where rows go, if anything is recorded.
    rows: Option<Destination>,
    subjects: BTreeMap<String, Subject>,
    last: LastValues,
}

/// Destination of rows.
enum Destination {
    /// The writing thread.
    Writer(Relay<TableWriter>),
    /// Memory, until the rows of all parts of a world are put in order.
    Part(Rows),
}

impl Destination {
    #[inline]
    fn load(&mut self) -> &mut Rows {
        match self {
            Destination::Writer(relay) => relay.load(),
            Destination::Part(rows) => rows,
        }
    }

    #[inline]
    fn added(&mut self, bytes: usize) {
        if let Destination::Writer(relay) = self {
            relay.added(bytes);
        }
    }
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
        let relay = if settings.any() {
            let writer = TableWriter::new(settings, names, sink)?;
            Some(Relay::start(writer, behind)?)
        } else {
            None
        };
        Ok(Recorder {
            settings,
            rows: relay.map(Destination::Writer),
            subjects: BTreeMap::new(),
            last: LastValues::default(),
        })
    }

    /// Creates the recorder of one of several parts of a world, which keeps the rows for [`take_rows`](Self::take_rows).
    pub(crate) fn of_part(&self) -> Recorder {
        Recorder {
            settings: self.settings,
            rows: self
                .settings
                .any()
                .then(|| Destination::Part(Rows::default())),
            subjects: BTreeMap::new(),
            last: LastValues::default(),
        }
    }

    /// Returns the rows under construction, if anything is recorded.
    pub(super) fn load(&mut self) -> Option<&mut Rows> {
        self.rows.as_mut().map(Destination::load)
    }

    /// Passes on the rows that [`load`](Self::load) has got, however many.
    pub(super) fn pass_on(&mut self) {
        if let Some(rows) = &mut self.rows {
            rows.added(0);
            self.flush();
        }
    }

    /// Takes out the rows of a part.
    pub(super) fn take_rows(&mut self) -> Rows {
        match &mut self.rows {
            Some(Destination::Part(rows)) => core::mem::take(rows),
            _ => Rows::default(),
        }
    }

    /// Returns the number of a subject, by its name: `flow download`, `link gsm down`, `mobile laptop`. The same name
    /// gives the same number; if nothing is recorded, names are not kept, and all have one number.
    pub fn subject(&mut self, name: &str) -> Subject {
        let Some(rows) = &mut self.rows else {
            return Subject(0);
        };
        if let Some(subject) = self.subjects.get(name) {
            return *subject;
        }
        let subject = Subject(self.subjects.len() as u32);
        self.subjects.insert(name.to_owned(), subject);
        rows.load().subjects.push(name.to_owned());
        subject
    }

    /// Adds a flow outside the scenario; its number follows the last flow's.
    pub fn add_flow(&mut self, name: &str) {
        if let Some(rows) = &mut self.rows {
            rows.load().flows.push(name.to_owned());
        }
    }

    /// Records that `quantity` of `subject` is `value` from `at` on.
    ///
    /// A state ([`Quantity::is_sample`] is false) that has not changed since its last row gives no row: callers may
    /// offer every state after every event. Samples always give one. Rows come out in order of time, and at equal times
    /// in order of the calls; a row may be late, but not by more than 65,536 younger ones.
    #[inline]
    pub fn series(&mut self, at: Instant, subject: Subject, quantity: Quantity, value: f64) {
        if self.settings.series.contains(quantity)
            && self.last.is_row(subject, quantity, value)
            && let Some(rows) = &mut self.rows
        {
            rows.load().push_series(at, subject, quantity, value);
            rows.added(size_of::<SeriesRow>());
        }
    }

    /// Records the fate of a packet on a link.
    #[inline]
    pub fn packet(&mut self, row: &PacketRecord) {
        if self.settings.packets
            && let Some(rows) = &mut self.rows
        {
            rows.load().push_packet(row);
            rows.added(size_of::<PacketRow>());
        }
    }

    /// Records a signal, if signals are recorded.
    pub fn signal(&mut self, row: SignalRecord) {
        if self.settings.signals
            && let Some(rows) = &mut self.rows
        {
            rows.load().signals.push(row);
            rows.added(size_of::<SignalRecord>());
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

    /// Returns true if any series is recorded, for callers that would have to compute a value first.
    #[inline]
    pub fn records_series(&self) -> bool {
        !self.settings.series.is_empty()
    }

    /// Returns true if queues are recorded, by packets or bytes.
    #[inline]
    pub fn records_queues(&self) -> bool {
        let series = self.settings.series;
        series.contains(Quantity::QueuePackets) || series.contains(Quantity::QueueBytes)
    }

    /// Hands the gathered rows to the writing thread.
    pub fn flush(&mut self) {
        if let Some(Destination::Writer(relay)) = &mut self.rows {
            relay.flush();
        }
    }

    /// Fails if an error has ended the recording.
    pub fn check(&self) -> Result<(), RecordError> {
        match &self.rows {
            Some(Destination::Writer(relay)) => relay.check(),
            _ => Ok(()),
        }
    }

    /// Hands on the remaining rows and closes the files.
    pub fn finish(self) -> Result<Tables, RecordError> {
        match self.rows {
            Some(Destination::Writer(relay)) => relay.finish()?.finish(),
            _ => Ok(Tables {
                series: None,
                packets: None,
                signals: None,
            }),
        }
    }
}
