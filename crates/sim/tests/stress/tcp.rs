//! The rules of TCP, judged from outside by the packets on the links: those that each end sent, and those received by
//! then.

use super::patience::{Patience, delivers_damaged};
use super::rows::{Row, Tcp};
use super::{Verdict, ensure};
use baton_proto::tcp::profile::Profile;
use baton_sim::run::Results;
use baton_sim::scenario::model::{Scenario, Traffic, Transport};

/// One end of a connection, as seen by an observer beside it.
#[derive(Default)]
struct End {
    shift: u32,
    /// Initial sequence number, once its SYN was seen.
    initial: Option<u32>,
    /// The first position never sent; 0 is the SYN.
    next: i64,
    /// Highest acknowledgment received from the peer.
    confirmed: i64,
    /// Highest right edge of the windows received.
    edge: i64,
    /// Latest acknowledgment sent and the right edge of its own window.
    acknowledged: i64,
    offered: i64,
    /// Received data: disjoint ranges of the peer's positions, ascending.
    arrived: Vec<(i64, i64)>,
}

impl End {
    /// Returns the position of a sequence number of this end's.
    fn position(&self, number: u32) -> Option<i64> {
        let initial = self.initial?;
        let near = initial.wrapping_add(self.next as u32);
        Some(self.next + i64::from(number.wrapping_sub(near) as i32))
    }

    fn take(&mut self, start: i64, end: i64) {
        let (mut start, mut end) = (start, end);
        self.arrived.retain(|&(s, e)| {
            let apart = e < start || s > end;
            if !apart {
                start = start.min(s);
                end = end.max(e);
            }
            apart
        });
        let place = self.arrived.partition_point(|&(s, _)| s < start);
        self.arrived.insert(place, (start, end));
    }

    /// Returns true if something is unacknowledged. An end that has not received the answer to its SYN may give up
    /// silently.
    fn has_out(&self) -> bool {
        self.confirmed > 0 && self.next > self.confirmed
    }

    /// Returns the position up to which everything has been received.
    fn in_order(&self) -> i64 {
        self.arrived
            .first()
            .filter(|(start, _)| *start <= 0)
            .map_or(0, |(_, end)| *end)
    }
}

/// Returns the smallest shift with which the buffer fits the field (RFC 7323 section 2.2).
fn shift(ends: [&Profile; 2], end: usize) -> u32 {
    if !ends.iter().all(|profile| profile.window_scaling) {
        return 0;
    }
    (0..14)
        .find(|shift| ends[end].receive_buffer >> shift <= 0xFFFF)
        .unwrap_or(14)
}

/// Checks both directions of a flow.
pub fn check(scenario: &Scenario, results: &Results, rows: &[Row], flow: usize) -> Verdict {
    let spec = &scenario.flows[flow];
    let Transport::Tcp { sender, receiver } = &spec.transport else {
        return Ok(());
    };
    let mut ends = [End::default(), End::default()];
    for (index, end) in ends.iter_mut().enumerate() {
        end.shift = shift([&**sender, &**receiver], index);
    }
    let nodes = [spec.from.0, spec.to.0];
    let discarded = &results.summary.discarded;
    // A segment without a way out of its host is on no link, and missing here.
    let whole = discarded.no_route == 0 && discarded.too_big == 0;
    let own: Vec<&Row> = rows
        .iter()
        .filter(|row| row.flow == Some(flow) && row.tcp.is_some())
        .collect();
    // An end that gave up its half-open connection answers the next SYN with another one.
    let anew = |node: usize| {
        let syns = own
            .iter()
            .filter(|row| row.from == node && row.tcp.as_ref().is_some_and(|tcp| tcp.syn));
        let mut numbers: Vec<u32> = syns
            .filter_map(|row| Some(row.tcp.as_ref()?.sequence))
            .collect();
        numbers.dedup();
        numbers.len() > 1
    };
    if nodes.into_iter().any(anew) {
        return Ok(());
    }
    let summary = &results.summary.flows[flow];
    // An end without a route out waits for one, and a failed end reports its failure.
    let unwell = summary.failure.is_some() || delivers_damaged(scenario);
    // Remedies hold acknowledgments back, stop a sender, and shrink a window that a receiver has offered.
    let steered = !spec.remedies.is_empty();
    let excused = !whole || unwell || steered;
    let mut patience = [&**sender, &**receiver].map(Patience::new);
    for (at, _, row, side) in events(&own, nodes) {
        let tcp = row.tcp.as_ref().expect("chosen so");
        if !excused {
            let (Side::Reached(index) | Side::Sent(index)) = side;
            owes(&patience, &ends, index, at).map_err(|why| format!("{why}: {}", spec.name))?;
            match side {
                Side::Reached(_) => patience[index].reached(at, row, tcp),
                Side::Sent(_) => patience[index].sent(at, tcp),
            }
        }
        match side {
            Side::Sent(index) => {
                let [first, second] = &mut ends;
                let (own, peer) = if index == 0 {
                    (first, second)
                } else {
                    (second, first)
                };
                if steered {
                    own.offered = 0;
                }
                sent(own, peer, row, tcp, whole)
                    .map_err(|why| format!("{why}: {} sent {row:?}", spec.name))?;
            }
            Side::Reached(index) => reached(&mut ends, index, row, tcp),
        }
    }
    let end = scenario.duration.as_nanos() as i64;
    for index in (0..2).filter(|_| !excused) {
        owes(&patience, &ends, index, end).map_err(|why| format!("{why}: {}", spec.name))?;
    }
    if matches!(spec.traffic, Traffic::Pages { .. }) {
        return Ok(());
    }
    let sink = &ends[1];
    // The positions of the SYN, and perhaps the FIN, are not data.
    let delivered = summary.delivered_bytes as i64;
    ensure!(
        delivered < sink.in_order().max(1),
        "{} delivers {delivered} bytes, of which {} have arrived",
        spec.name,
        sink.in_order()
    );
    ensure!(
        sink.acknowledged - 2 <= delivered,
        "{} acknowledges {} and delivers {delivered}",
        spec.name,
        sink.acknowledged
    );
    Ok(())
}

/// Returns true if an end has let its peer wait too long. Only the sender is known to have failed when it gives up.
fn owes(patience: &[Patience; 2], ends: &[End; 2], index: usize, now: i64) -> Verdict {
    let out = index == 0 && ends[index].has_out();
    patience[index].check(now, out)
}

#[derive(Clone, Copy)]
enum Side {
    Reached(usize),
    Sent(usize),
}

/// Returns arrivals at and departures from both ends in order of time; at one time arrivals first.
fn events<'a>(rows: &[&'a Row], nodes: [usize; 2]) -> Vec<(i64, u64, &'a Row, Side)> {
    let mut events = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    let mut ordered = rows.to_vec();
    ordered.sort_by_key(|row| (row.number, row.sent));
    for row in ordered {
        for (index, node) in nodes.into_iter().enumerate() {
            // The first link of a packet is the one at its sender.
            if row.from == node && seen.insert(row.number) {
                events.push((row.sent, row.number, row, Side::Sent(index)));
            }
        }
        for (index, node) in nodes.into_iter().enumerate() {
            let ours = events
                .iter()
                .rev()
                .find(|(_, number, ..)| *number == row.number);
            let sender = ours.map(|(.., side)| *side);
            if let (Some(at), Some(Side::Sent(from))) =
                (row.decided.filter(|_| row.is_delivered()), sender)
                && from != index
                && row.to == node
            {
                events.push((at, row.number, row, Side::Reached(index)));
            }
        }
    }
    events.sort_by_key(|(at, number, _, side)| (*at, matches!(side, Side::Sent(_)), *number));
    events
}

fn reached(ends: &mut [End; 2], index: usize, row: &Row, tcp: &Tcp) {
    let length = i64::from(row.payload) + i64::from(tcp.syn) + i64::from(tcp.fin);
    let peer = &ends[1 - index];
    let shift = if tcp.syn { 0 } else { peer.shift };
    let start = peer.position(tcp.sequence);
    let end = &mut ends[index];
    if let Some(start) = start.filter(|_| length > 0) {
        end.take(start, start + length);
    }
    let acknowledged = tcp.acknowledgment.and_then(|number| end.position(number));
    end.confirmed = end.confirmed.max(acknowledged.unwrap_or(0));
    let base = acknowledged.unwrap_or(i64::from(tcp.syn));
    end.edge = end.edge.max(base + (i64::from(tcp.window) << shift));
}

fn sent(own: &mut End, peer: &End, row: &Row, tcp: &Tcp, whole: bool) -> Verdict {
    if tcp.rst {
        return Ok(());
    }
    if tcp.syn {
        let initial = *own.initial.get_or_insert(tcp.sequence);
        ensure!(initial == tcp.sequence, "a SYN with another number");
    }
    let length = i64::from(row.payload) + i64::from(tcp.syn) + i64::from(tcp.fin);
    let Some(start) = own.position(tcp.sequence) else {
        // Its SYN found no way out.
        own.initial = Some(tcp.sequence.wrapping_sub(1));
        own.next = 1;
        return Ok(());
    };
    ensure!(
        start <= own.next || !whole,
        "left out {} bytes",
        start - own.next
    );
    if length > 0 && start + length > own.next {
        ensure!(start >= own.next, "old and new in one");
        ensure!(!row.retransmission || !whole, "new, and called old");
        let within = start + length <= own.edge || tcp.syn || length == 1;
        ensure!(within, "{} beyond the window", start + length - own.edge);
        own.next = start + length;
    } else {
        ensure!(
            row.retransmission || length == 0 || !whole,
            "old, and called new"
        );
    }
    let Some(acknowledged) = tcp.acknowledgment.and_then(|number| peer.position(number)) else {
        return Ok(());
    };
    ensure!(
        acknowledged <= own.in_order(),
        "acknowledges {acknowledged}, of which {} have arrived",
        own.in_order()
    );
    ensure!(
        acknowledged >= own.acknowledged,
        "the acknowledgment moved back"
    );
    own.acknowledged = acknowledged;
    let offered = acknowledged + (i64::from(tcp.window) << if tcp.syn { 0 } else { own.shift });
    // The window of a retransmitted SYN cannot express a scaled window sent meanwhile.
    ensure!(
        offered >= own.offered || tcp.syn,
        "the right edge of the window moved back"
    );
    own.offered = own.offered.max(offered);
    Ok(())
}
