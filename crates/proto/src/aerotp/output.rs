//! Output of a connection: its packets, and their times.

use super::Transmission;
use super::adaptation::Choice;
use super::blocks::{REPAIR_OVERHEAD, Shard};
use super::configuration::Coding;
use super::connection::{Connection, timestamp};
use super::path::PathId;
use super::sender::Chunk;
use crate::fec::interleaved::Strength;
use crate::packet::Payload;
use crate::time::{Duration, Instant};
use crate::wire::aerotp::{AerotpHeader, AerotpPacket, Mack, Mode, Opening, Protection};
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::TcpFlags;

/// Bytes of a header without extensions, prelude and check included.
pub(super) const PLAIN_HEADER: u32 = 22;
/// Bytes of the payload's check.
const PAYLOAD_CRC: u32 = 4;
/// Most ranges of received data in a MACK, chosen: a MACK for four packets then takes a twelfth of their bytes.
const MOST_RANGES: usize = 32;
/// Most bytes of a range of received data and one of missing data.
const RANGE_BYTES: usize = 16;
/// Most bytes of a packet with a MACK but without ranges.
const LONGEST_WITHOUT_RANGES: u32 = 80;
/// Most AFINs sent without an answer.
const FINALS: u8 = 3;
/// The pause between them.
const BETWEEN_FINALS: Duration = Duration::from_millis(200);
/// Unanswered probes after which only probes are sent.
const SILENT_AFTER: u32 = 2;

impl Connection {
    /// Returns the next packet to send.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmission> {
        self.poll(now, true)
    }

    /// Returns the next packet that waits for no rate: an opening, an end, a probe, a MACK or a reset.
    pub fn poll_at_once(&mut self, now: Instant) -> Option<Transmission> {
        self.poll(now, false)
    }

    fn poll(&mut self, now: Instant, with_data: bool) -> Option<Transmission> {
        if self.reset_due {
            self.reset_due = false;
            return Some(self.reset(now));
        }
        if self.is_over {
            return None;
        }
        if let Some(question) = self.ask_silent(now) {
            return Some(question);
        }
        if let Some(path) = self.path_to_send(now, with_data) {
            let probe = core::mem::take(&mut self.probing.due);
            self.statistics.probes += u64::from(probe);
            if !probe && let Some(sent) = self.send_repair(now, path) {
                return Some(sent);
            }
            if let Some(sent) = self.send_data(now, path, probe) {
                return Some(sent);
            }
            if probe || self.owes_end(now) || !self.opening_sent {
                return Some(self.send_control(now, path, probe));
            }
        }
        if self.is_mack_due(now) {
            return self.send_mack(now);
        }
        None
    }

    /// Returns true if the peer has not answered for so long that only probes are sent.
    fn is_silent(&self) -> bool {
        self.probing.tries >= SILENT_AFTER
    }

    /// Returns true if the AFIN is to be sent now.
    fn owes_end(&self, now: Instant) -> bool {
        let due = match self.ending.sent {
            0 => true,
            _ => self.ending.repeat_at.is_some_and(|at| at <= now),
        };
        self.ending.closed && self.sender.is_drained() && due
    }

    /// Returns true if a packet waits for a path's rate.
    fn has_data(&self) -> bool {
        let has_repairs = self
            .blocks
            .as_ref()
            .is_some_and(|blocks| blocks.has_repairs());
        (self.sender.is_ready() || has_repairs) && !self.is_silent()
    }

    /// Returns true if a packet waits for a path's rate, and some path is up.
    pub fn is_ready(&self) -> bool {
        self.has_data() && !self.is_over && self.next_path().is_some()
    }

    /// Returns the path that is free first, or for the first packet the quickest, if a packet is to be sent over it now.
    fn path_to_send(&self, now: Instant, with_data: bool) -> Option<usize> {
        let (index, free_at) = match self.opening_sent {
            true => self.next_path(),
            false => self.first_path(now),
        }?;
        let pressing = self.probing.due || self.owes_end(now) || !self.opening_sent;
        (pressing || with_data && self.has_data() && free_at <= now).then_some(index)
    }

    /// Returns the time at which the next packet with data may leave, if the caller does not keep the pace.
    pub(super) fn next_departure(&self) -> Option<Instant> {
        if self.shares_links {
            return None;
        }
        let (_, free_at) = self.next_path()?;
        let at_once = self.probing.due
            || !self.opening_sent
            || self.ending.closed && self.ending.sent == 0 && self.sender.is_drained();
        if at_once {
            return Some(Instant::ZERO);
        }
        self.has_data().then_some(free_at)
    }

    /// Returns the largest record that fits one packet of any path, in bytes.
    pub fn largest_record(&self) -> u32 {
        // With an opening, a place in a block, and the overhead of its repair packets.
        self.packet_room()
            .saturating_sub(PLAIN_HEADER + PAYLOAD_CRC + 8 + 5 + REPAIR_OVERHEAD)
    }

    /// Returns the present format of a path's packets, with or without data.
    fn choice(&mut self, path: usize, with_data: bool) -> Choice {
        let path = &mut self.paths[path];
        match self.configuration.coding {
            Coding::Fixed(protection) => Choice {
                protection,
                packet: path.mtu,
            },
            Coding::Adaptive => path.choice(with_data),
        }
    }

    fn send_data(&mut self, now: Instant, path: usize, probe: bool) -> Option<Transmission> {
        let may = self.has_data() && self.paths[path].free_at <= now;
        let has_some = may || probe && self.sender.is_ready();
        if !has_some {
            return None;
        }
        let Choice { protection, packet } = self.choice(path, true);
        // A record needs the room that a MACK would take.
        let mut header = match self.sender.has_records() {
            true => self.plain_header(now, path, protection),
            false => self.header(now, path, protection),
        };
        header.wants_mack = probe;
        let is_leaving = self.leaves_all_links();
        let blocks = self.blocks.as_mut();
        header.block = blocks.and_then(|blocks| blocks.place(is_leaving));
        let spare = header.block.map_or(0, |_| REPAIR_OVERHEAD);
        let around = header.wire_length() + PAYLOAD_CRC + spare;
        let [least, own] =
            [self.packet_room(), self.paths[path].room()].map(|room| room.saturating_sub(around));
        let fitting = packet.saturating_sub(self.paths[path].ip_header() + around);
        let fitting = fitting.saturating_sub(protection.strength.bytes() as u32);
        // A repair packet is as long as the longest of its block, and fits any path.
        let wanted = match header.block {
            Some(_) => fitting.min(least),
            None => fitting,
        };
        let chunk = self.sender.take((wanted, least), probe)?;
        // A record that is larger than planned leaves less room for the code.
        let left = own - chunk.payload.length().min(own);
        let words = u32::from(protection.strength.words()).min(left / 4) as u16;
        header.protection.strength = Strength::from_words(words).unwrap_or(Strength::NONE);
        header.sequence = self.wire_sequence(chunk.start);
        header.ends_record = chunk.ends_record;
        let end = chunk.start + u64::from(chunk.payload.length());
        if self.ending.closed && end == self.sender.written() {
            header.is_final = true;
            self.note_end_sent(now);
        }
        if let Some(blocks) = self.blocks.as_mut().filter(|_| header.block.is_some()) {
            let wait = self.configuration.reordering_wait;
            let rtt = self.paths[path].rate.smoothed();
            blocks.add(now, &Shard::of(&header, &chunk.payload), (wait, rtt));
        }
        let repeats = self.configuration.mode.repeats();
        self.sender
            .note_sent(now, &chunk, (path as u8, &mut self.paths[path]), repeats);
        if !repeats {
            self.tell_of_room();
        }
        Some(self.transmission(now, path, header, chunk))
    }

    /// Makes a repair packet of a block.
    fn send_repair(&mut self, now: Instant, path: usize) -> Option<Transmission> {
        if self.paths[path].free_at > now {
            return None;
        }
        let (place, payload) = self.blocks.as_mut()?.take_repair()?;
        let protection = self.choice(path, true).protection;
        let mut header = self.plain_header(now, path, protection);
        header.sequence = self.wire_sequence(self.sender.next());
        header.block = Some(place);
        let taken = header.wire_length() + PAYLOAD_CRC + payload.length();
        // The path's MTU may have decreased since.
        let left = self.paths[path].room().checked_sub(taken)?;
        let words = u32::from(protection.strength.words()).min(left / 4) as u16;
        header.protection.strength = Strength::from_words(words).unwrap_or(Strength::NONE);
        let chunk = Chunk::of_repair(self.sender.next(), payload);
        Some(self.transmission(now, path, header, chunk))
    }

    /// Makes a packet without data: an opening, an AFIN, or a probe when no data is outstanding.
    fn send_control(&mut self, now: Instant, path: usize, probe: bool) -> Transmission {
        let protection = self.control_protection(path);
        let mut header = self.header(now, path, protection);
        header.wants_mack = probe;
        header.sequence = self.wire_sequence(self.sender.next());
        if self.ending.closed && self.sender.is_drained() {
            header.is_final = true;
            self.note_end_sent(now);
        }
        self.transmission(now, path, header, Chunk::nothing_at(self.sender.next()))
    }

    /// Makes a packet without data that is to be answered at once.
    pub(super) fn send_question(&mut self, now: Instant, path: usize) -> Transmission {
        let protection = self.control_protection(path);
        let mut header = self.header(now, path, protection);
        header.wants_mack = true;
        header.sequence = self.wire_sequence(self.sender.next());
        self.transmission(now, path, header, Chunk::nothing_at(self.sender.next()))
    }

    fn note_end_sent(&mut self, now: Instant) {
        self.ending.sent = self.ending.sent.saturating_add(1);
        if self.answers() {
            return;
        }
        let again = self.ending.sent < FINALS;
        self.ending.repeat_at = again.then(|| now + BETWEEN_FINALS);
        if !again {
            self.finish_one_way(now);
        }
    }

    /// Makes a packet with a MACK alone.
    fn send_mack(&mut self, now: Instant) -> Option<Transmission> {
        let path = self.mack_path(now)?;
        let protection = self.control_protection(path);
        let mut header = self.header(now, path, protection);
        header.sequence = self.wire_sequence(self.sender.next());
        self.statistics.macks += 1;
        self.statistics.packets += 1;
        Some(Transmission {
            path: PathId(path as u8),
            addresses: self.paths[path].addresses(),
            packet: AerotpPacket::new(header, Payload::EMPTY),
            retransmission: false,
        })
    }

    /// Returns the protection of packets without data: as strong as one code word of packets with data, if these have
    /// their header inside.
    fn control_protection(&mut self, path: usize) -> Protection {
        let protection = self.choice(path, false).protection;
        if !protection.covers_header {
            return Protection::default();
        }
        let code_words = self.paths[path].mtu.div_ceil(255) as u16;
        let words = protection.strength.words().div_ceil(code_words);
        Protection {
            strength: Strength::from_words(words).unwrap_or(Strength::NONE),
            covers_header: true,
        }
    }

    /// Makes a header with a MACK, if one is due over this path.
    fn header(&mut self, now: Instant, path: usize, protection: Protection) -> AerotpHeader {
        let is_due = self.is_mack_due(now) && self.mack_path(now) == Some(path);
        let mack = is_due.then(|| Box::new(self.take_mack(now, path)));
        let congestion = &mut self.paths[path].arrivals.congestion;
        let tcp_flags = match is_due && core::mem::take(congestion) {
            true => TcpFlags::ECE,
            false => TcpFlags::NONE,
        };
        AerotpHeader {
            mack,
            tcp_flags,
            ..self.plain_header(now, path, protection)
        }
    }

    /// Makes a header with the options that are repeated until the peer has answered.
    fn plain_header(&self, now: Instant, path: usize, protection: Protection) -> AerotpHeader {
        let is_shown = self.paths[path].shown_since.is_some();
        AerotpHeader {
            source_port: self.identity.local_port,
            destination_port: self.identity.remote_port,
            sequence: self.identity.initial,
            timestamp: timestamp(now),
            mode: self.configuration.mode,
            class: self.configuration.class,
            is_final: false,
            ends_record: false,
            wants_mack: false,
            tcp_flags: TcpFlags::NONE,
            protection,
            opening: (!self.is_known).then_some(Opening {
                initial: self.identity.initial,
                token: self.identity.token,
            }),
            tcp_offer: self.offer.filter(|_| !self.is_known),
            mack: None,
            token: is_shown.then_some(self.identity.token),
            adds_path: is_shown && self.paths[path].is_added,
            block: None,
            is_odd_incarnation: self.incarnations.is_odd(),
            resumption: self.resumption(),
        }
    }

    fn take_mack(&mut self, now: Instant, path: usize) -> Mack {
        self.paths[path].arrivals.unanswered = 0;
        if self.quickest_path() == Some(path) {
            self.confirmation_due = None;
        }
        let at_once = u32::from(self.configuration.packets_per_mack.max(1));
        let mut up = self.paths.iter().filter(|path| path.is_up);
        let more = up.any(|path| path.arrivals.unanswered >= at_once);
        self.mack_due = more.then_some(now);
        let arrivals = &mut self.paths[path].arrivals;
        let (arrival_rate, error_rate) = (arrivals.take_rate(now), arrivals.meter.rate());
        // If no packet has arrived over this path, the latest timestamp of any path is used.
        let heard = arrivals
            .newest
            .or(self.paths[self.heard_path].arrivals.newest);
        let (echo, at) = heard.unwrap_or((0, now));
        let next = self.receiver.next();
        let initial = self.peer.map_or(0, |peer| peer.initial.0);
        let all = self.configuration.mode == Mode::NearReliable;
        // A lossy path of many packets has more ranges than fit: successive MACKs take turns.
        let room = self.paths[path].room();
        let most = room.saturating_sub(LONGEST_WITHOUT_RANGES) as usize / RANGE_BYTES;
        let reported_to = &mut self.paths[path].arrivals.reported_to;
        let (received, mut missing) = self
            .receiver
            .report(all, most.min(MOST_RANGES), reported_to);
        missing.truncate(most);
        Mack {
            cumulative: SequenceNumber(initial.wrapping_add(next as u32)),
            unconfirmed: u32::try_from(next - self.confirmed_here()).unwrap_or(u32::MAX),
            window: u32::try_from(self.receiver.window()).unwrap_or(u32::MAX),
            echo,
            held_for: (now.saturating_since(at).as_nanos() / 1000) as u32,
            error_rate,
            arrival_rate: (arrival_rate.bits_per_second() / 1000) as u32,
            is_complete: self.receiver.is_complete(),
            restored: self.peer_blocks.as_ref().map_or(0, |it| it.restored()),
            received,
            missing,
        }
    }

    fn transmission(
        &mut self,
        now: Instant,
        path: usize,
        header: AerotpHeader,
        chunk: Chunk,
    ) -> Transmission {
        self.opening_sent = true;
        self.statistics.packets += 1;
        self.statistics.retransmitted += u64::from(chunk.again);
        let packet = AerotpPacket::new(header, chunk.payload);
        if !self.shares_links {
            self.paths[path].take(now, packet.wire_length());
        }
        self.arm_probe(now);
        Transmission {
            path: PathId(path as u8),
            addresses: self.paths[path].addresses(),
            packet,
            retransmission: chunk.again,
        }
    }

    fn reset(&mut self, now: Instant) -> Transmission {
        let path = self.next_path().map_or(0, |(path, _)| path);
        let mut header = self.header(now, path, Protection::default());
        header.tcp_flags = TcpFlags::RST;
        header.token = Some(self.identity.token);
        header.sequence = self.wire_sequence(self.sender.next());
        self.statistics.packets += 1;
        Transmission {
            path: PathId(path as u8),
            addresses: self.paths[path].addresses(),
            packet: AerotpPacket::new(header, Payload::EMPTY),
            retransmission: false,
        }
    }
}

/// Makes the reset that answers a packet without a connection; none to a reset, and none in modes that expect no
/// answer.
pub fn reset_reply(header: &AerotpHeader, now: Instant) -> Option<AerotpPacket> {
    if header.tcp_flags.contains(TcpFlags::RST) || !header.mode.repeats() {
        return None;
    }
    let reset = AerotpHeader {
        source_port: header.destination_port,
        destination_port: header.source_port,
        timestamp: timestamp(now),
        is_final: false,
        ends_record: false,
        wants_mack: false,
        tcp_flags: TcpFlags::RST.with(TcpFlags::ACK),
        protection: Protection::default(),
        opening: None,
        tcp_offer: None,
        mack: None,
        token: None,
        adds_path: false,
        block: None,
        resumption: None,
        ..header.clone()
    };
    Some(AerotpPacket::new(reset, Payload::EMPTY))
}
