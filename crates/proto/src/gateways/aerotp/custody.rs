//! Custody: data that the gateway has acknowledged to its sender, or is about to, and that the far end may not have.
//!
//! One bound holds for all connections together. Beyond it no connection takes data from its half, whose window closes;
//! nothing is dropped. With a *journal*, custody survives the gateway: a half acknowledges data only when the journal
//! has it, the other gateway gets only such data, and keeps what it sends until the receiver's TCP has it. After a restart
//! the halves return ([`returning`]), and the AeroTP connections go on ([`crate::aerotp::Past`]).

mod carrying;
mod journal;
mod record;
mod restoring;
mod returning;
#[cfg(test)]
mod tests;

pub(super) use carrying::Journaled;
pub use journal::Damage;
pub use record::{Recovered, WallTime};
pub(super) use returning::Returning;

use super::{AerotpGateway, Pair, Splice};
use crate::time::{Duration, Instant};
use journal::Writer;
use record::Record;
use std::collections::BTreeSet;

/// Free bytes below the bound at which connections take data again: less would wake them for single packets.
const USEFUL: u64 = 64 << 10;
/// Most bytes of records that wait for the journal; a slower disk closes the windows.
const MOST_WAITING: usize = 8 << 20;
/// Bytes of a file beyond twice those in custody at which it is written anew (chosen: seldom, and soon read).
const SLACK: u64 = 16 << 20;

/// Custody of a gateway.
#[derive(Debug)]
pub(super) struct Custody {
    /// Most bytes of all connections.
    limit: u64,
    /// Bytes of all connections, as of the latest work on each.
    bytes: u64,
    /// Connections that wait for room.
    waiting: BTreeSet<Pair>,
    counts: CustodyCounts,
    pub(super) journal: Option<Box<Journal>>,
}

/// Counts of custody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CustodyCounts {
    /// Times that a connection took no more data, because of the bound or of the journal.
    pub closed_windows: u64,
    /// Connections ended because their custody was too old.
    pub expired: u64,
}

/// Settings of a journal.
#[derive(Clone, Copy, Debug)]
pub struct JournalSettings {
    /// Longest custody of data, after which its connection is reset.
    pub age: Duration,
    /// Time at instant zero.
    pub zero: WallTime,
    /// Random bytes that mark the file's batches.
    pub salt: [u8; 8],
}

/// A step of the journal, which is to be durable before the next one is polled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalStep {
    /// Append these bytes to the file.
    Append(Vec<u8>),
    /// Replace the file by one with these bytes, at once.
    Replace(Vec<u8>),
}

/// The journal.
#[derive(Debug)]
pub(super) struct Journal {
    age: Duration,
    zero: WallTime,
    writer: Writer,
    /// Number of this start of the gateway, from 1 on.
    starts: u32,
    /// Records made so far, those of the step under way, and those that are durable.
    made: u64,
    under_way: Option<u64>,
    durable: u64,
    /// Connections with records that are not durable.
    touched: BTreeSet<Pair>,
    /// True while the disk takes nothing.
    is_stuck: bool,
    /// Connections to restore at the first work.
    recovered: Option<Recovered>,
}

impl Custody {
    pub(super) fn new() -> Custody {
        Custody {
            limit: u64::MAX,
            bytes: 0,
            waiting: BTreeSet::new(),
            counts: CustodyCounts::default(),
            journal: None,
        }
    }

    /// Returns the bytes that a connection may take with the room of its own, and notes that it waits if there are none.
    pub(super) fn room(&mut self, splice: &Splice, own: u64) -> u64 {
        let others = self.bytes.saturating_sub(splice.counted);
        let free = self.limit.saturating_sub(others + splice.custody());
        let writes = self.journal.as_ref();
        let is_slow = writes
            .is_some_and(|journal| journal.is_stuck || journal.writer.waiting() > MOST_WAITING);
        if free > 0 && !is_slow || own == 0 {
            return own.min(free);
        }
        if self.waiting.insert(splice.ends) {
            self.counts.closed_windows += 1;
        }
        0
    }

    /// Counts a connection's bytes, or those of one that ends; returns connections that may take data again.
    pub(super) fn count(&mut self, splice: &mut Splice, stays: bool) -> BTreeSet<Pair> {
        let present = if stays { splice.custody() } else { 0 };
        self.bytes = self.bytes.saturating_sub(splice.counted) + present;
        splice.counted = present;
        if !stays {
            self.waiting.remove(&splice.ends);
        }
        self.woken()
    }

    fn woken(&mut self) -> BTreeSet<Pair> {
        let is_slow =
            |journal: &Journal| journal.is_stuck || journal.writer.waiting() > MOST_WAITING / 2;
        let useful = USEFUL.min(self.limit / 2).max(1);
        if self.limit.saturating_sub(self.bytes) < useful
            || self.journal.as_deref().is_some_and(is_slow)
        {
            return BTreeSet::new();
        }
        core::mem::take(&mut self.waiting)
    }
}

impl Journal {
    /// Adds a record of a connection; returns its number.
    fn add(&mut self, ends: &Pair, record: &Record) -> u64 {
        self.writer.add(record);
        self.touched.insert(*ends);
        self.made += 1;
        self.made
    }

    fn wall_time(&self, now: Instant) -> WallTime {
        WallTime(self.zero.0 + now.as_nanos() / 1_000_000)
    }
}

impl AerotpGateway {
    /// Bounds the custody of all connections together, in bytes. A connection may exceed it by what its half has
    /// received and not passed on.
    pub fn limit_custody(&mut self, bytes: u64) {
        self.custody.limit = bytes;
    }

    /// Keeps a journal of connections in near-reliable mode, and restores those of the last one when the node runs.
    /// Returns the first file, which is to be durable before that. The caller polls
    /// [`poll_journal`](Self::poll_journal) after each turn.
    ///
    /// # Errors
    /// A connection without a rule in near-reliable mode.
    pub fn keep_journal(
        &mut self,
        settings: JournalSettings,
        recovered: Recovered,
    ) -> Result<Vec<u8>, MissingRule> {
        self.check_rules(&recovered)?;
        let starts = recovered.starts.wrapping_add(1);
        let mut writer = Writer::new(settings.salt);
        let mut file = Vec::new();
        writer.add(&Record::Start(starts));
        for (&number, replayed) in &recovered.connections {
            replayed.write(number, |record| writer.add_to(&mut file, record));
        }
        file.extend(writer.batch());
        self.custody.journal = Some(Box::new(Journal {
            age: settings.age,
            // The clock of a machine without a battery may be behind after a restart.
            zero: settings.zero.max(recovered.latest),
            writer,
            starts,
            made: 0,
            under_way: None,
            durable: 0,
            touched: BTreeSet::new(),
            is_stuck: false,
            recovered: Some(recovered),
        }));
        Ok(file)
    }

    /// Returns the next step of the journal; none while one is under way.
    pub fn poll_journal(&mut self) -> Option<JournalStep> {
        let bytes = self.custody.bytes;
        let journal = self.custody.journal.as_mut()?;
        if journal.under_way.is_some() || journal.recovered.is_some() {
            return None;
        }
        if journal.writer.length() > 2 * bytes + SLACK {
            let file = self.snapshot()?;
            return Some(JournalStep::Replace(file));
        }
        if journal.writer.is_empty() {
            return None;
        }
        journal.under_way = Some(journal.made);
        Some(JournalStep::Append(journal.writer.batch()))
    }

    /// Takes in that the step under way is durable.
    pub fn journal_is_durable(&mut self) {
        let Some(journal) = &mut self.custody.journal else {
            return;
        };
        journal.durable = journal.under_way.take().unwrap_or(journal.durable);
        let touched = match journal.writer.is_empty() {
            true => core::mem::take(&mut journal.touched),
            false => journal.touched.clone(),
        };
        self.touched.extend(touched);
        self.touched.extend(self.custody.woken());
    }

    /// Takes in that the disk takes nothing at present, or (false) takes data again. Meanwhile windows are closed.
    pub fn set_journal_stuck(&mut self, is_stuck: bool) {
        let Some(journal) = &mut self.custody.journal else {
            return;
        };
        if journal.is_stuck != is_stuck {
            journal.is_stuck = is_stuck;
            let journaled = self.splices.values().filter(|it| it.journaled.is_some());
            self.touched.extend(journaled.map(|splice| splice.ends));
            self.touched.extend(self.custody.woken());
        }
    }

    /// Returns a new file with the present state of all connections, which is under way from now on.
    fn snapshot(&mut self) -> Option<Vec<u8>> {
        let journal = self.custody.journal.as_mut()?;
        let (writer, mut file) = (&mut journal.writer, Vec::new());
        writer.begin_file();
        writer.add(&Record::Start(journal.starts));
        for splice in self.splices.values() {
            if let Some(journaled) = &splice.journaled {
                journaled.write(splice, |record| writer.add_to(&mut file, record));
            }
        }
        file.extend(writer.batch());
        journal.under_way = Some(journal.made);
        Some(file)
    }

    /// Returns the bound of all custody, in bytes.
    pub fn custody_limit(&self) -> u64 {
        self.custody.limit
    }

    /// Returns the counts of custody.
    pub fn custody_counts(&self) -> CustodyCounts {
        self.custody.counts
    }

    /// Returns the number of connections that take no data, because of the bound or of the journal.
    pub fn closed_windows(&self) -> usize {
        self.custody.waiting.len()
    }
}

/// A connection in a journal whose rule is not configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingRule {
    /// Ends of the connection, own side first.
    pub ends: Pair,
}

impl Recovered {
    /// Reads a journal.
    ///
    /// # Errors
    /// Damage anywhere but at the end, which a crash may have torn.
    pub fn read(file: &[u8]) -> Result<Recovered, Damage> {
        let mut recovered = Recovered::default();
        journal::read(file, |record| recovered.take(record))?;
        Ok(recovered)
    }
}
