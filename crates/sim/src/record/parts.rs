//! Rows of the parts of a world, put into one order.

use super::recorder::Recorder;
use super::rows::{PacketRow, Rows};
use super::{SignalRecord, SignalWay, Subject, nanoseconds};

/// The subjects of each part's series, as the whole numbers them.
#[derive(Debug, Default)]
pub(crate) struct Subjects(Vec<Vec<Subject>>);

/// A row of packets, and the edges of its SACK blocks.
type PacketAndEdges<'a> = (&'a PacketRow, &'a [u32]);

impl Recorder {
    /// Takes in the rows that the recorders of a world's parts have kept, in order of time; at equal times those of the first
    /// part come first.
    pub(crate) fn take_in<'a>(
        &mut self,
        parts: impl Iterator<Item = &'a mut Recorder>,
        subjects: &mut Subjects,
    ) {
        let mut rows: Vec<Rows> = parts.map(Recorder::take_rows).collect();
        subjects.0.resize_with(rows.len(), Vec::new);
        for (part, known) in rows.iter().zip(&mut subjects.0) {
            known.extend(part.subjects.iter().map(|name| self.subject(name)));
        }
        let Some(load) = self.load() else {
            return;
        };
        let numbered = rows.iter().zip(&subjects.0);
        let series = numbered.flat_map(|(part, known)| {
            let mut series = part.series.clone();
            for row in &mut series {
                row.subject = known[row.subject.0 as usize];
            }
            series
        });
        let first = load.series.len();
        load.series.extend(series);
        load.series[first..].sort_by_key(|row| row.time);
        let mut packets: Vec<PacketAndEdges<'_>> = rows.iter().flat_map(packets_of).collect();
        packets.sort_by_key(|(row, _)| row.decided.unwrap_or(i64::MAX));
        for (row, edges) in packets {
            load.packets.push(*row);
            load.sack.extend_from_slice(edges);
        }
        let first = load.signals.len();
        load.signals
            .extend(rows.iter_mut().flat_map(|part| part.signals.drain(..)));
        load.signals[first..].sort_by_key(noted);
        self.pass_on();
    }
}

/// Returns the packets of a part with the edges of their SACK blocks.
fn packets_of(rows: &Rows) -> impl Iterator<Item = PacketAndEdges<'_>> {
    let mut sack = &rows.sack[..];
    rows.packets.iter().map(move |row| {
        let edges = row.tcp.map_or(0, |tcp| usize::from(tcp.sack_edges));
        let (own, rest) = sack.split_at(edges.min(sack.len()));
        sack = rest;
        (row, own)
    })
}

/// Returns the time at which a signal was recorded: its end, or else its beginning.
fn noted(signal: &SignalRecord) -> i64 {
    match signal.way {
        SignalWay::Message {
            ended: Some((at, _)),
            ..
        } => nanoseconds(at),
        SignalWay::Message { ended: None, .. } => i64::MAX,
        SignalWay::Link | SignalWay::Agent => nanoseconds(signal.sent),
    }
}
