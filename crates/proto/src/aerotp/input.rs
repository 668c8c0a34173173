//! Input of a connection: the packets from the peer, their origin and their data. Its MACK is taken in by
//! [`super::macks`].

use super::Event;
use super::blocks::{BlockReceiver, Shard};
use super::connection::{Connection, MOST_PATHS};
use super::path::Path;
use super::receiver::Arrival;
use crate::packet::Payload;
use crate::time::Instant;
use crate::wire::aerotp::{AerotpHeader, AerotpPacket, Condition};
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::TcpFlags;
use core::net::IpAddr;

impl Connection {
    /// Takes in a packet that came from and to these addresses.
    pub fn handle_packet(
        &mut self,
        now: Instant,
        (from, to): (IpAddr, IpAddr),
        packet: AerotpPacket,
    ) {
        if self.is_over {
            return;
        }
        let header = &packet.header;
        let Some(path) = self.path_of((from, to), header) else {
            self.statistics.refused += 1;
            return;
        };
        if header.tcp_flags.contains(TcpFlags::RST) {
            return self.handle_reset(header);
        }
        if header.mode != self.configuration.mode || !self.take_opening(header) {
            self.statistics.refused += 1;
            return;
        }
        if !self.take_incarnation(now, header) || !self.is_plausible(header.sequence) {
            self.statistics.refused += 1;
            return;
        }
        self.heard_path = path;
        self.last_heard = now;
        self.measure(now, &packet);
        if let Some(mack) = &header.mack {
            let has_met_congestion = header.tcp_flags.contains(TcpFlags::ECE);
            self.handle_mack(now, mack, has_met_congestion);
        }
        self.handle_data(now, packet);
    }

    /// Returns true if a packet's position is in the window, or was sent not long ago. In modes without retransmission
    /// an outage can have swallowed any amount, so every position is valid.
    fn is_plausible(&self, number: SequenceNumber) -> bool {
        if self.peer.is_none() || !self.answers() {
            return true;
        }
        let distance = self.start_of(number) - self.receiver.next() as i64;
        let before = i64::from(self.configuration.receive_buffer);
        (-before..=self.receiver.window() as i64).contains(&distance)
    }

    /// Returns the path of a packet. A packet from another address is the peer's if it carries the token; the peer then
    /// has that address.
    fn path_of(&mut self, (from, to): (IpAddr, IpAddr), header: &AerotpHeader) -> Option<usize> {
        let known = |path: &Path| path.remote == from && path.local == to;
        if let Some(index) = self.paths.iter().position(known) {
            return Some(index);
        }
        let shown = header.token.or(header.opening.map(|opening| opening.token));
        if shown.is_none() || shown != self.peer_token() {
            return None;
        }
        if header.adds_path {
            if self.paths.len() >= MOST_PATHS {
                return None;
            }
            let (mtu, rate) = (self.paths[0].mtu, self.configuration.initial_rate);
            self.paths.push(Path::new((to, from), mtu, rate));
            return Some(self.paths.len() - 1);
        }
        // A late packet does not move the peer back.
        if !self.is_newer(header.timestamp) {
            return None;
        }
        let index = self.paths.iter().position(|path| path.local == to);
        let index = index.unwrap_or(0);
        self.paths[index].remote = from;
        Some(index)
    }

    /// Takes in a reset, which is valid with the peer's token, or in answer to a packet in flight before the peer knows
    /// this end. On paths that authenticate it, the peer may have lost what it knew; but one whose end is known has
    /// perhaps just left.
    fn handle_reset(&mut self, header: &AerotpHeader) {
        let proven = header.token.is_some() && header.token == self.peer_token();
        let position = self.position_of(header.sequence);
        let waiting = self.sender.acknowledged()..=self.sender.next();
        let answers = header.tcp_flags.contains(TcpFlags::ACK)
            && position.is_some_and(|position| waiting.contains(&position))
            && (!self.is_known || self.configuration.trusts_paths && !self.receiver.knows_end());
        if proven || answers {
            self.end(Event::Reset);
        } else {
            self.statistics.refused += 1;
        }
    }

    /// Returns the position of a sequence number in the written data.
    pub(super) fn position_of(&self, number: SequenceNumber) -> Option<u64> {
        let base = self.sender.acknowledged();
        let distance = number.distance_from(self.wire_sequence(base));
        base.checked_add_signed(i64::from(distance))
    }

    /// Returns the sequence number of a position.
    pub(super) fn wire_sequence(&self, position: u64) -> SequenceNumber {
        SequenceNumber(self.identity.initial.0.wrapping_add(position as u32))
    }

    fn take_opening(&mut self, header: &AerotpHeader) -> bool {
        match (header.opening, self.peer) {
            (Some(opening), None) => {
                self.peer = Some(opening);
                self.peer_offer = header.tcp_offer;
                if !self.is_known {
                    self.tell(Event::Established);
                }
                true
            }
            (Some(opening), Some(peer)) => {
                // The peer has lost what it knew, and opens the same connection anew.
                if opening != peer && self.configuration.trusts_paths {
                    self.end(Event::Reset);
                }
                opening == peer
            }
            (None, _) => true,
        }
    }

    /// Returns true if a timestamp is at least as new as all received ones, over any path.
    fn is_newer(&self, timestamp: u32) -> bool {
        let mut paths = self.paths.iter();
        paths.all(|path| path.arrivals.is_newer(timestamp))
    }

    fn measure(&mut self, now: Instant, packet: &AerotpPacket) {
        let bytes = packet.wire_length();
        let redundancy = packet.header.protection.strength.bytes() as u32;
        let length = match packet.condition {
            Condition::Damaged(payload) => {
                self.statistics.damaged += 1;
                bytes + payload
            }
            Condition::Corrected(symbols) => {
                self.statistics.corrected += u64::from(symbols);
                bytes
            }
            Condition::Clean => bytes,
        };
        let path = &mut self.paths[self.heard_path];
        let whole = length + path.ip_header();
        let arrivals = &mut path.arrivals;
        arrivals.meter.note(length, redundancy, packet.condition);
        arrivals.note(now, packet.header.timestamp, whole);
    }

    fn handle_data(&mut self, now: Instant, packet: AerotpPacket) {
        let AerotpPacket {
            header,
            payload,
            condition,
        } = packet;
        if self.peer.is_none() {
            return;
        }
        let shard = Shard::of(&header, &payload);
        let is_repair = header.block.is_some_and(|place| place.is_repair());
        let mut at_once = header.wants_mack || header.opening.is_some();
        at_once |= self.place_unreadable(header.sequence);
        if let Condition::Damaged(length) = condition {
            if !is_repair {
                let start = self.start_of(header.sequence);
                self.receiver.note_damaged(start, length);
            }
        } else if let Some(place) = header.block {
            let memory = self.configuration.receive_buffer;
            let blocks = self
                .peer_blocks
                .get_or_insert_with(|| Box::new(BlockReceiver::new(memory)));
            let restored = match is_repair {
                true => blocks.add_repair(place, &payload),
                false => blocks.add_source(place, &shard),
            };
            for shard in restored {
                at_once |= self.take_shard(shard);
            }
        }
        if !is_repair && !matches!(condition, Condition::Damaged(_)) {
            at_once |= self.take_shard(shard);
        }
        if !self.answers() {
            self.give_up_gaps(now);
        }
        self.after_arrival(now);
        let carries = !payload.is_empty() || condition != Condition::Clean;
        if self.answers() && (carries || at_once) {
            self.owe_mack(now, at_once || matches!(condition, Condition::Damaged(_)));
        }
    }

    /// Takes the gap before a packet for the unreadable ones that the network has told of, if it is no longer than they
    /// are; returns true if so. In a packet that shows no gap they carried nothing new, or were another connection's.
    fn place_unreadable(&mut self, sequence: SequenceNumber) -> bool {
        if self.unreadable == 0 {
            return false;
        }
        let frontier = self.receiver.frontier();
        let gap = self.start_of(sequence) - frontier as i64;
        if gap < 0 {
            return false;
        }
        let unreadable = core::mem::take(&mut self.unreadable);
        let is_theirs = gap > 0 && gap <= i64::from(unreadable);
        if is_theirs {
            self.receiver.note_damaged(frontier as i64, gap as u32);
        }
        is_theirs
    }

    /// Notes a packet that the next MACK has to report.
    fn owe_mack(&mut self, now: Instant, at_once: bool) {
        let arrivals = &mut self.paths[self.heard_path].arrivals;
        arrivals.unanswered = match at_once {
            true => u32::MAX,
            false => arrivals.unanswered.saturating_add(1),
        };
        if arrivals.unanswered >= u32::from(self.configuration.packets_per_mack.max(1)) {
            self.mack_due = Some(now);
        } else {
            self.expect_mack(now);
        }
    }

    /// Returns the position of a sequence number in the peer's data; it may lie before the first byte.
    pub(super) fn start_of(&self, number: SequenceNumber) -> i64 {
        let base = self.receiver.next();
        let initial = self.peer.map_or(0, |peer| peer.initial.0);
        let expected = SequenceNumber(initial.wrapping_add(base as u32));
        base as i64 + i64::from(number.distance_from(expected))
    }

    /// Takes in data, and its end; returns true if the peer should be answered at once.
    fn take_shard(&mut self, shard: Shard) -> bool {
        let start = self.start_of(shard.sequence);
        let end = start + i64::from(shard.payload.length());
        if shard.is_final
            && let Ok(end) = u64::try_from(end)
        {
            self.receiver.set_end(end);
        }
        if shard.payload.is_empty() {
            return shard.is_final;
        }
        self.take_data(start, shard.payload, shard.ends_record) || shard.is_final
    }

    /// Returns true if the peer should be answered at once.
    fn take_data(&mut self, start: i64, payload: Payload, ends_record: bool) -> bool {
        let had_gap = self.receiver.has_gap();
        if !self.answers() {
            let skipped = self.receiver.make_room(start, payload.length());
            self.note_skipped(skipped);
        }
        match self.receiver.accept(start, payload, ends_record) {
            Arrival::InOrder => {
                self.tell(Event::Readable);
                false
            }
            Arrival::Ahead => !had_gap,
            Arrival::Duplicate => {
                self.statistics.duplicates += 1;
                true
            }
            Arrival::Beyond => {
                self.statistics.refused += 1;
                true
            }
        }
    }

    pub(super) fn after_arrival(&mut self, now: Instant) {
        if !self.configuration.confirms {
            self.confirmed_here = self.receiver.next();
        }
        if !self.finished && self.receiver.is_complete() {
            self.finished = true;
            self.tell(Event::Finished);
        }
        self.settle(now);
    }

    pub(super) fn expect_mack(&mut self, now: Instant) {
        if self.answers() {
            let due = now + self.configuration.mack_delay;
            self.mack_due = Some(self.mack_due.map_or(due, |earlier| earlier.min(due)));
        }
    }
}
