//! Bundles in custody: those that wait, those on their way, and their custody timers.

use super::record::{Content, Record, StreamId};
use super::round_trip::RoundTrip;
use crate::packet::FlowId;
use crate::time::{Duration, Instant};
use crate::wire::bundle::CustodySignal;
use core::ops::Bound;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The bundles in custody.
#[derive(Debug, Default)]
pub struct Custody {
    /// By sequence number, and so by age.
    kept: BTreeMap<u64, Kept>,
    /// Bytes of data in them.
    bytes: u64,
    /// Bundles that have not left, by stream. Streams take turns.
    waiting: BTreeMap<StreamId, VecDeque<u64>>,
    /// The stream whose turn was last.
    turn: Option<StreamId>,
    /// Bundles whose custody timer has expired. They go first.
    lost: BTreeSet<u64>,
    /// Sequence number and departure of each transmission of a bundle in custody.
    transmissions: BTreeMap<u64, (u64, Instant)>,
    /// Custody timers: the latest transmission of each bundle on its way.
    timers: BTreeSet<(Instant, u64)>,
    next_sequence: u64,
    /// ID of the latest transmission; 0 means "no custody".
    last_transmission: u64,
    expired: VecDeque<StreamId>,
}

#[derive(Debug)]
struct Kept {
    record: Record,
    taken: Instant,
    flow: Option<FlowId>,
    transmissions: Vec<u64>,
    /// The custody timer, while it runs.
    timer: Option<Instant>,
}

/// A bundle that leaves.
pub struct Leaving<'a> {
    pub record: &'a Record,
    pub taken: Instant,
    pub sequence: u64,
    pub transmission: u64,
    pub flow: Option<FlowId>,
    pub retransmission: bool,
}

impl Custody {
    /// Returns the bytes of data in custody.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns true if a bundle can leave.
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty() || !self.lost.is_empty()
    }

    /// Returns the time at which the oldest bundle was taken in.
    pub fn oldest(&self) -> Option<Instant> {
        self.kept.first_key_value().map(|(_, kept)| kept.taken)
    }

    /// Returns the time of the next custody timer.
    pub fn next_timer(&self) -> Option<Instant> {
        self.timers.first().map(|&(at, _)| at)
    }

    /// Returns the next stream of which a bundle has expired.
    pub fn poll_expired(&mut self) -> Option<StreamId> {
        self.expired.pop_front()
    }

    /// Takes in a record, in bundles of at most `most` bytes of data; returns the number of new bundles.
    pub fn keep(&mut self, now: Instant, record: Record, flow: Option<FlowId>, most: usize) -> u64 {
        let first = self.next_sequence;
        let stream = record.stream;
        match record.content {
            Content::Data { mut offset, bytes } => {
                self.bytes += bytes.len() as u64;
                let joined = self.join(stream, offset, &bytes, most);
                offset += joined as u64;
                for piece in bytes[joined..].chunks(most) {
                    let bytes = piece.to_vec();
                    let content = Content::Data { offset, bytes };
                    self.add(now, Record { stream, content }, flow);
                    offset += piece.len() as u64;
                }
            }
            content => self.add(now, Record { stream, content }, flow),
        }
        self.next_sequence - first
    }

    /// Appends data to the stream's last bundle, if that waits and ends there; returns the number of bytes.
    fn join(&mut self, stream: StreamId, offset: u64, bytes: &[u8], most: usize) -> usize {
        let last = self.waiting.get(&stream).and_then(|waiting| waiting.back());
        let kept = last.and_then(|sequence| self.kept.get_mut(sequence));
        let Some(Content::Data {
            offset: start,
            bytes: present,
        }) = kept.map(|kept| &mut kept.record.content)
        else {
            return 0;
        };
        if *start + present.len() as u64 != offset {
            return 0;
        }
        let count = most.saturating_sub(present.len()).min(bytes.len());
        present.extend_from_slice(&bytes[..count]);
        count
    }

    fn add(&mut self, now: Instant, record: Record, flow: Option<FlowId>) {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.waiting
            .entry(record.stream)
            .or_default()
            .push_back(sequence);
        let kept = Kept {
            record,
            taken: now,
            flow,
            transmissions: Vec::new(),
            timer: None,
        };
        self.kept.insert(sequence, kept);
    }

    /// Returns the next bundle to leave, whose custody timer expires at `deadline`.
    pub fn next(&mut self, now: Instant, deadline: Instant) -> Option<Leaving<'_>> {
        let lost = self.lost.pop_first();
        let sequence = lost.or_else(|| self.next_waiting())?;
        let kept = self.kept.get_mut(&sequence)?;
        self.last_transmission += 1;
        let transmission = self.last_transmission;
        self.transmissions.insert(transmission, (sequence, now));
        self.timers.insert((deadline, transmission));
        kept.transmissions.push(transmission);
        kept.timer = Some(deadline);
        Some(Leaving {
            record: &kept.record,
            taken: kept.taken,
            sequence,
            transmission,
            flow: kept.flow,
            retransmission: lost.is_some(),
        })
    }

    /// Takes the next bundle of the stream whose turn it is.
    fn next_waiting(&mut self) -> Option<u64> {
        let after = self.turn.map_or(Bound::Unbounded, Bound::Excluded);
        let mut later = self.waiting.range((after, Bound::Unbounded));
        let turn = later.next().or_else(|| self.waiting.first_key_value());
        let stream = *turn?.0;
        self.turn = Some(stream);
        let waiting = self.waiting.get_mut(&stream)?;
        let sequence = waiting.pop_front();
        if waiting.is_empty() {
            self.waiting.remove(&stream);
        }
        sequence
    }

    /// Takes in a custody signal: gives up the bundles of which the other node has custody, and samples the round trip.
    /// A refused bundle is sent again when its timer expires. Returns the number of bundles given up.
    pub fn handle_signal(
        &mut self,
        (now, round_trip): (Instant, &mut RoundTrip),
        signal: &CustodySignal,
    ) -> u64 {
        if !signal.disposition.releases() {
            return 0;
        }
        let mut released = 0;
        for scope in &signal.scope {
            let answered = self.transmissions.range(scope.first..=scope.last);
            let answered: Vec<(u64, Instant)> = answered.map(|(_, &about)| about).collect();
            if let Some(&(_, sent)) = answered.first() {
                round_trip.sample(sent, now);
            }
            for (sequence, _) in answered {
                released += u64::from(self.remove(sequence).is_some());
            }
        }
        released
    }

    /// Takes a bundle out of custody.
    fn remove(&mut self, sequence: u64) -> Option<Kept> {
        let kept = self.kept.remove(&sequence)?;
        self.bytes -= kept.record.length();
        self.lost.remove(&sequence);
        if let (Some(at), Some(&transmission)) = (kept.timer, kept.transmissions.last()) {
            self.timers.remove(&(at, transmission));
        }
        for transmission in &kept.transmissions {
            self.transmissions.remove(transmission);
        }
        if kept.transmissions.is_empty()
            && let Some(waiting) = self.waiting.get_mut(&kept.record.stream)
        {
            waiting.retain(|&other| other != sequence);
            if waiting.is_empty() {
                self.waiting.remove(&kept.record.stream);
            }
        }
        Some(kept)
    }

    /// Deletes the bundles of a stream; returns their number.
    pub fn abandon(&mut self, stream: StreamId) -> u64 {
        let kept = self.kept.iter();
        let of_stream = kept.filter(|(_, kept)| kept.record.stream == stream);
        let of_stream: Vec<u64> = of_stream.map(|(&sequence, _)| sequence).collect();
        // All at once: one by one, each would search the rest.
        self.waiting.remove(&stream);
        for &sequence in &of_stream {
            self.remove(sequence);
        }
        of_stream.len() as u64
    }

    /// Deletes the bundles whose lifetime is over; returns their number.
    pub fn expire(&mut self, now: Instant, lifetime: Duration) -> u64 {
        let mut count = 0;
        while let Some((&sequence, kept)) = self.kept.first_key_value()
            && kept.taken + lifetime <= now
        {
            if let Some(kept) = self.remove(sequence)
                && self.expired.back() != Some(&kept.record.stream)
            {
                self.expired.push_back(kept.record.stream);
            }
            count += 1;
        }
        count
    }

    /// Takes note of the bundles whose custody timer has expired.
    pub fn handle_timers(&mut self, now: Instant) {
        while let Some(&(at, transmission)) = self.timers.first()
            && at <= now
        {
            self.timers.pop_first();
            if let Some(&(sequence, _)) = self.transmissions.get(&transmission)
                && let Some(kept) = self.kept.get_mut(&sequence)
            {
                kept.timer = None;
                self.lost.insert(sequence);
            }
        }
    }

    /// Stops all custody timers.
    pub fn stop_timers(&mut self) {
        for (_, transmission) in core::mem::take(&mut self.timers) {
            if let Some((sequence, _)) = self.transmissions.get(&transmission)
                && let Some(kept) = self.kept.get_mut(sequence)
            {
                kept.timer = None;
            }
        }
    }

    /// Gives each bundle on its way a timer that expires at `deadline`.
    pub fn restart_timers(&mut self, deadline: Instant) {
        self.stop_timers();
        for (sequence, kept) in &mut self.kept {
            if let Some(&last) = kept.transmissions.last()
                && !self.lost.contains(sequence)
            {
                kept.timer = Some(deadline);
                self.timers.insert((deadline, last));
            }
        }
    }
}
