//! Bundles from the other node: which have arrived, and the custody signals that are due.

use super::Counts;
use super::ranges::Ranges;
use super::record::Record;
use crate::time::{Duration, Instant};
use crate::wire::bundle::{CustodySignal, Disposition, Scope};
use std::collections::{BTreeMap, BTreeSet};

/// Longest delay of a custody signal, which answers all transmissions since. Chosen: few signals, and short beside the
/// round trip of a satellite.
pub const SIGNAL_DELAY: Duration = Duration::from_millis(10);
/// Scopes of one signal, the latest: a signal repeats what those before it said, since they may be lost. Chosen: with
/// each third bundle lost, scopes of three, these are the last six signals at 5 Mbit/s.
const SCOPES: usize = 8;

/// State of the receiving half.
#[derive(Debug, Default)]
pub struct Reception {
    /// Sequence numbers of the bundles of which this node has taken custody.
    arrived: Ranges,
    /// The latest transmissions of each disposition.
    answers: BTreeMap<Disposition, Ranges>,
    /// Dispositions with transmissions that no signal has answered.
    unanswered: BTreeSet<Disposition>,
    signal_at: Option<Instant>,
    signals: u64,
}

impl Reception {
    /// Takes in a bundle's record, by its transmission ID and its sequence number. Returns it if it is new and admitted.
    pub fn take(
        &mut self,
        now: Instant,
        (transmission, sequence): (u64, u64),
        record: Record,
        admit: impl FnOnce(&Record) -> bool,
        counts: &mut Counts,
    ) -> Option<Record> {
        let disposition = if self.arrived.contains(sequence) {
            counts.duplicates += 1;
            Disposition::Redundant
        } else if admit(&record) {
            self.arrived.insert(sequence);
            Disposition::Accepted
        } else {
            counts.refused += 1;
            counts.refused_bytes += record.length();
            Disposition::DepletedStorage
        };
        let answers = self.answers.entry(disposition).or_default();
        answers.insert(transmission);
        answers.keep_last(SCOPES);
        self.unanswered.insert(disposition);
        self.signal_at.get_or_insert(now + SIGNAL_DELAY);
        (disposition == Disposition::Accepted).then_some(record)
    }

    /// Returns the next signal that is due.
    pub fn poll_signal(&mut self, now: Instant) -> Option<CustodySignal> {
        self.signal_at.filter(|&at| at <= now)?;
        let disposition = self.unanswered.pop_first()?;
        if self.unanswered.is_empty() {
            self.signal_at = None;
        }
        let answers = self
            .answers
            .get(&disposition)
            .into_iter()
            .flat_map(Ranges::iter);
        let scope = answers.map(|(first, last)| Scope { first, last }).collect();
        self.signals += 1;
        Some(CustodySignal { disposition, scope })
    }

    /// Returns the time of the next signal.
    pub fn signal_at(&self) -> Option<Instant> {
        self.signal_at
    }

    /// Returns the number of signals so far.
    pub fn signals(&self) -> u64 {
        self.signals
    }
}
