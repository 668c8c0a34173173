//! One AeroTP connection: its calls, and what a packet or a deadline does to it. What it sends is in [`super::output`].

use super::adaptation::Choice;
use super::blocks::{BlockReceiver, BlockSender, Shard};
use super::configuration::{Configuration, Identity};
use super::error_meter::ErrorMeter;
use super::path::{Path, PathId};
use super::receiver::{Arrival, Receiver};
use super::sender::Sender;
use super::{Event, Received, State};
use crate::packet::Payload;
use crate::rate::DataRate;
use crate::time::{Duration, Instant};
use crate::wire::aerotp::{
    AerotpHeader, AerotpPacket, Condition, ErrorRate, Mack, Opening, TcpOffer,
};
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::TcpFlags;
use core::net::IpAddr;
use std::collections::VecDeque;

/// Bytes that may be sent before the peer has said how many it takes.
const FIRST_WINDOW: u64 = 256 << 10;

/// A peer cannot make us keep more paths than this.
const MOST_PATHS: usize = 8;

/// What a connection has done, and what it has been sent that was of no use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Packets sent.
    pub packets: u64,
    /// Of these with data that was sent before.
    pub retransmitted: u64,
    /// Of these with nothing but a MACK.
    pub macks: u64,
    /// Probes: sent since nobody had answered.
    pub probes: u64,
    /// Packets received with a payload beyond repair.
    pub damaged: u64,
    /// Bytes that a code has put right.
    pub corrected: u64,
    /// Packets whose data was there before.
    pub duplicates: u64,
    /// Bytes that were left out, in modes that repeat nothing.
    pub skipped: u64,
    /// Packets refused: another mode or opening, a MACK of what was never sent, a reset without proof, data beyond the window.
    pub refused: u64,
}

/// What is to be told in the next MACK, and when.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MackState {
    /// Packets received since the last.
    pub packets: u32,
    pub due: Option<Instant>,
    /// Timestamp of the newest packet, and when it came.
    pub echo: Option<(u32, Instant)>,
    /// Bytes with IP headers since the arrival rate was last worked out, and since when.
    pub bytes: u64,
    pub since: Option<Instant>,
    /// When the last packet came.
    pub last: Option<Instant>,
    pub arrival_rate: DataRate,
}

/// Questions to a peer that has not answered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probing {
    pub at: Option<Instant>,
    /// Probes since the peer was last heard.
    pub tries: u32,
    pub due: bool,
}

/// The end of what is sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ending {
    /// The application writes no more.
    pub closed: bool,
    /// AFINs sent.
    pub sent: u8,
    /// When to repeat it, where nobody answers.
    pub repeat_at: Option<Instant>,
    /// The peer has all (AFINACK).
    pub delivered: bool,
}

/// One AeroTP connection.
#[derive(Debug)]
pub struct Connection {
    pub(super) configuration: Configuration,
    pub(super) identity: Identity,
    pub(super) paths: Vec<Path>,
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    /// What goes with the opening at a gateway.
    pub(super) offer: Option<TcpOffer>,
    /// What the peer's packets began with.
    pub(super) peer: Option<Opening>,
    /// What the peer's gateway was offered by a TCP, if it told.
    peer_offer: Option<TcpOffer>,
    /// Whether the peer has said that it has heard of this end.
    pub(super) is_known: bool,
    pub(super) mack: MackState,
    pub(super) probing: Probing,
    pub(super) ending: Ending,
    /// Only with a code across packets.
    pub(super) blocks: Option<Box<BlockSender>>,
    /// Made when the peer's first packet of a block comes.
    peer_blocks: Option<Box<BlockReceiver>>,
    meter: ErrorMeter,
    pub(super) peer_error_rate: ErrorRate,
    pub(super) choice: Option<((ErrorRate, u32), Choice)>,
    /// The path over which the peer was last heard.
    pub(super) heard_path: usize,
    last_heard: Instant,
    confirmed_here: u64,
    confirmed_there: u64,
    write_blocked: bool,
    finished: bool,
    over_at: Option<Instant>,
    pub(super) reset_due: bool,
    pub(super) is_over: bool,
    pub(super) opening_sent: bool,
    events: VecDeque<Event>,
    pub(super) statistics: Statistics,
}

impl Connection {
    /// Begins a connection over a path with these addresses, own first, that takes packets of `mtu` bytes. Data may be written
    /// at once and leaves with the first packet.
    pub fn connect(
        now: Instant,
        configuration: Configuration,
        identity: Identity,
        addresses: (IpAddr, IpAddr),
        mtu: u32,
    ) -> Connection {
        let window = match configuration.mode.repeats() {
            true => FIRST_WINDOW,
            false => u64::MAX,
        };
        Connection {
            identity,
            paths: vec![Path::new(addresses, mtu, configuration.initial_rate)],
            sender: Sender::new(configuration.send_buffer, window),
            receiver: Receiver::new(configuration.receive_buffer),
            peer: None,
            offer: None,
            peer_offer: None,
            is_known: false,
            mack: MackState::default(),
            probing: Probing::default(),
            ending: Ending::default(),
            blocks: configuration
                .blocks
                .map(|size| Box::new(BlockSender::new(size))),
            peer_blocks: None,
            meter: ErrorMeter::default(),
            peer_error_rate: ErrorRate::NONE,
            choice: None,
            heard_path: 0,
            last_heard: now,
            confirmed_here: 0,
            confirmed_there: 0,
            write_blocked: false,
            finished: false,
            over_at: None,
            reset_due: false,
            is_over: false,
            opening_sent: false,
            events: VecDeque::new(),
            statistics: Statistics::default(),
            configuration,
        }
    }

    /// Answers a packet that can open a connection: one with an opening. The packet itself is then to be handed in.
    pub fn accept(
        now: Instant,
        configuration: Configuration,
        identity: Identity,
        addresses: (IpAddr, IpAddr),
        mtu: u32,
    ) -> Connection {
        let mut connection = Connection::connect(now, configuration, identity, addresses, mtu);
        // It has nothing to say before it is spoken to.
        connection.opening_sent = true;
        connection
    }

    /// Adds a path; packets are spread over all that are up, each at its own rate.
    /// The peer is shown the token there until it answers. `None` if there are as many as there can be.
    pub fn add_path(
        &mut self,
        now: Instant,
        addresses: (IpAddr, IpAddr),
        mtu: u32,
        rate: DataRate,
    ) -> Option<PathId> {
        if self.paths.len() >= MOST_PATHS {
            return None;
        }
        let mut path = Path::new(addresses, mtu, rate);
        path.shown_since = Some(now);
        path.is_added = true;
        self.paths.push(path);
        Some(PathId((self.paths.len() - 1) as u8))
    }

    /// This end has another address on a path. The peer is shown the token until it answers there.
    pub fn move_to(&mut self, now: Instant, path: PathId, local: IpAddr) {
        if let Some(path) = self.paths.get_mut(usize::from(path.0)) {
            path.local = local;
            path.shown_since = Some(now);
        }
        self.probe_at_once();
    }

    /// A path's link is up, with this rate if it says one, or is a new link. What was under way over the old one counts as lost.
    pub fn link_up(&mut self, path: PathId, rate: Option<DataRate>) {
        if let Some(path) = self.paths.get_mut(usize::from(path.0)) {
            path.is_up = true;
            path.free_at = Instant::ZERO;
            if let Some(rate) = rate {
                path.rate.set_limit(rate);
            }
        }
        self.sender.lose_oldest(u64::MAX);
        self.probe_at_once();
    }

    /// A path's link is down: nothing is sent over it.
    pub fn link_down(&mut self, path: PathId) {
        if let Some(path) = self.paths.get_mut(usize::from(path.0)) {
            path.is_up = false;
        }
    }

    /// A path takes packets of at most so many bytes.
    pub fn set_mtu(&mut self, path: PathId, mtu: u32) {
        /// Less than this no link of IPv4 takes (RFC 791).
        const LEAST: u32 = 68;
        if let Some(path) = self.paths.get_mut(usize::from(path.0)) {
            path.mtu = mtu.max(LEAST);
        }
    }

    /// A router on a path can pass on so much of this connection.
    pub fn backpressure(&mut self, now: Instant, path: PathId, rate: DataRate) {
        if let Some(path) = self.paths.get_mut(usize::from(path.0)) {
            path.rate.backpressure(now, rate);
        }
    }

    fn probe_at_once(&mut self) {
        self.probing.tries = 0;
        self.probing.due = self.waits_for_peer();
    }

    /// Writes part of a stream; returns how many bytes were taken. [`Event::Writable`] follows when there is room again.
    pub fn write(&mut self, payload: &Payload) -> u64 {
        if self.ending.closed || self.is_over {
            return 0;
        }
        let taken = self.sender.write(payload);
        self.write_blocked |= taken < u64::from(payload.length());
        taken
    }

    /// Writes a record, which the peer reads as one. Refused (`false`) if there is no room for all of it or it is longer than a
    /// packet of the first path.
    pub fn write_record(&mut self, payload: &Payload) -> bool {
        let length = u64::from(payload.length());
        if length == 0 || length > u64::from(self.largest_record()) || self.sender.room() < length {
            self.write_blocked |= self.sender.room() < length;
            return false;
        }
        if self.write(payload) < length {
            return false;
        }
        self.sender.end_record();
        true
    }

    /// What can be read next, of at most so many bytes.
    pub fn read(&mut self, now: Instant, at_most: u64) -> Option<Received> {
        let before = self.receiver.window();
        let read = self.receiver.take(at_most)?;
        // A peer that has little room left hears that there is more.
        if before < u64::from(self.configuration.receive_buffer) / 4 && self.answers() {
            self.mack.due = Some(now);
        }
        Some(read)
    }

    /// Bytes that can be read.
    pub fn readable(&self) -> u64 {
        self.receiver.readable_bytes()
    }

    /// Bytes that can be written.
    pub fn room(&self) -> u64 {
        self.sender.room()
    }

    /// Bytes written that the peer has not acknowledged; a gateway's custody.
    pub fn held(&self) -> u64 {
        self.sender.written() - self.sender.acknowledged()
    }

    /// Bytes sent that have neither arrived nor been found lost.
    pub fn in_flight(&self) -> u64 {
        self.sender.in_flight()
    }

    /// Bytes written that the far end has confirmed: stored in order, or at a gateway acknowledged by the TCP beyond it.
    pub fn confirmed(&self) -> u64 {
        self.confirmed_there
    }

    /// Bytes acknowledged by the peer.
    pub fn acknowledged(&self) -> u64 {
        self.sender.acknowledged()
    }

    /// Of what was read, so many bytes in all are confirmed; only with [`Configuration::confirms`].
    pub fn confirm(&mut self, now: Instant, bytes: u64) {
        let bytes = bytes.min(self.receiver.next());
        if bytes > self.confirmed_here {
            self.confirmed_here = bytes;
            self.expect_mack(now);
        }
    }

    /// Nothing more will be written.
    pub fn close(&mut self) {
        self.ending.closed = true;
    }

    /// Ends the connection at once; the peer is told.
    pub fn abort(&mut self) {
        if !self.is_over {
            self.reset_due = self.peer.is_some() || self.opening_sent;
            self.end(Event::Closed);
        }
    }

    /// Its state in the words of study A's Table II.
    pub fn state(&self) -> State {
        if self.is_over {
            State::Closed
        } else if self.ending.sent > 0 {
            State::AfinSent
        } else if self.finished {
            State::AfinReceived
        } else if self.is_known || self.peer.is_some() || !self.configuration.mode.repeats() {
            State::Established
        } else {
            State::AsynSent
        }
    }

    /// Whether the peer has said that it has heard of this end: it is where its packets say.
    pub fn is_known(&self) -> bool {
        self.is_known
    }

    /// What has been counted.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// The rate at which a path sends now.
    pub fn rate(&self, path: PathId) -> Option<DataRate> {
        self.paths
            .get(usize::from(path.0))
            .map(|path| path.rate.rate())
    }

    /// A path's smoothed round-trip time.
    pub fn smoothed_rtt(&self, path: PathId) -> Option<Duration> {
        self.paths
            .get(usize::from(path.0))
            .and_then(|path| path.rate.smoothed())
    }

    /// The bit error rate of the way to the peer, as the peer measures it.
    pub fn error_rate_there(&self) -> ErrorRate {
        self.peer_error_rate
    }

    /// That of the way to this end.
    pub fn error_rate_here(&self) -> ErrorRate {
        self.meter.rate()
    }

    /// What is chosen for it.
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// Its ends.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Tells the peer's gateway, with the opening, what a TCP has offered.
    pub fn set_offer(&mut self, offer: TcpOffer) {
        self.offer = Some(offer);
    }

    /// What the peer's gateway was offered by a TCP.
    pub fn peer_offer(&self) -> Option<TcpOffer> {
        self.peer_offer
    }

    /// The peer's token, by which its packets are known from any address.
    pub fn peer_token(&self) -> Option<u32> {
        self.peer.map(|peer| peer.token)
    }

    /// Bytes of memory that it takes now, data aside.
    pub fn memory(&self) -> usize {
        let paths: usize = self.paths.iter().map(Path::memory).sum();
        size_of::<Connection>() + paths + self.events.capacity() * size_of::<Event>()
    }

    /// What has happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn tell(&mut self, event: Event) {
        if self.events.back() != Some(&event) {
            self.events.push_back(event);
        }
    }

    fn end(&mut self, event: Event) {
        self.tell(event);
        if event != Event::Closed {
            self.tell(Event::Closed);
        }
        self.is_over = true;
    }

    /// Whether MACKs are sent at all: modes that repeat nothing need no return channel.
    pub(super) fn answers(&self) -> bool {
        self.configuration.mode.repeats()
    }

    /// Whether there is something of which the peer has yet to say that it has arrived.
    pub(super) fn waits_for_peer(&self) -> bool {
        self.configuration.mode.repeats()
            && !self.is_over
            && (self.sender.waits()
                || self.sender.is_shut()
                || self.ending.sent > 0 && !self.ending.delivered
                || self.opening_sent && !self.is_known)
    }

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
        self.heard_path = path;
        self.note_heard(now, header.timestamp);
        self.measure(now, &packet);
        if let Some(mack) = &header.mack {
            self.handle_mack(now, mack);
        }
        self.handle_data(now, packet);
    }

    /// The path of a packet. One from elsewhere is the peer's if it shows the token, and the peer is there from now on.
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
        let index = self.paths.iter().position(|path| path.local == to);
        let index = index.unwrap_or(0);
        self.paths[index].remote = from;
        Some(index)
    }

    /// A reset counts with the peer's token, or if it answers something that is on its way.
    fn handle_reset(&mut self, header: &AerotpHeader) {
        let proven = header.token.is_some() && header.token == self.peer_token();
        let position = self.position_of(header.sequence);
        let waiting = self.sender.acknowledged()..=self.sender.next();
        let answers = header.tcp_flags.contains(TcpFlags::ACK)
            && position.is_some_and(|position| waiting.contains(&position))
            && !self.is_known;
        if proven || answers {
            self.end(Event::Reset);
        } else {
            self.statistics.refused += 1;
        }
    }

    /// Where in what was written a sequence number is.
    fn position_of(&self, number: SequenceNumber) -> Option<u64> {
        let base = self.sender.acknowledged();
        let distance = number.distance_from(self.wire_sequence(base));
        base.checked_add_signed(i64::from(distance))
    }

    /// The sequence number of a position.
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
            (Some(opening), Some(peer)) => opening == peer,
            (None, _) => true,
        }
    }

    fn note_heard(&mut self, now: Instant, timestamp: u32) {
        self.last_heard = now;
        let newer = |(echo, _): (u32, Instant)| timestamp.wrapping_sub(echo) as i32 >= 0;
        if self.mack.echo.is_none_or(newer) {
            self.mack.echo = Some((timestamp, now));
        }
    }

    fn measure(&mut self, now: Instant, packet: &AerotpPacket) {
        const PAUSE: Duration = Duration::from_millis(100);

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
        self.meter.note(length, redundancy, packet.condition);
        self.mack.bytes += u64::from(length + self.paths[self.heard_path].ip_header());
        // A pause says nothing of the path.
        if self
            .mack
            .last
            .is_none_or(|last| now.saturating_since(last) > PAUSE)
        {
            self.mack.since = Some(now);
            self.mack.bytes = 0;
        }
        self.mack.last = Some(now);
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
        if let Condition::Damaged(length) = condition {
            if !is_repair {
                let start = self.start_of(header.sequence);
                self.receiver.note_damaged(start, length);
            }
        } else if let Some(place) = header.block {
            let blocks = self.peer_blocks.get_or_insert_default();
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

    /// A packet has come of which a MACK is to tell.
    fn owe_mack(&mut self, now: Instant, at_once: bool) {
        self.mack.packets += 1;
        let full = self.mack.packets >= u32::from(self.configuration.packets_per_mack.max(1));
        if at_once || full {
            self.mack.due = Some(now);
        } else {
            self.expect_mack(now);
        }
    }

    /// Where in what the peer writes a sequence number is; it may lie before the first byte.
    fn start_of(&self, number: SequenceNumber) -> i64 {
        let base = self.receiver.next();
        let initial = self.peer.map_or(0, |peer| peer.initial.0);
        let expected = SequenceNumber(initial.wrapping_add(base as u32));
        base as i64 + i64::from(number.distance_from(expected))
    }

    /// Takes in data, and the end of it; returns whether the peer should hear of it at once.
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

    /// Returns whether the peer should hear of it at once.
    fn take_data(&mut self, start: i64, payload: Payload, ends_record: bool) -> bool {
        let had_gap = self.receiver.has_gap();
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

    fn after_arrival(&mut self, now: Instant) {
        if !self.configuration.confirms {
            self.confirmed_here = self.receiver.next();
        }
        if !self.finished && self.receiver.is_complete() {
            self.finished = true;
            self.tell(Event::Finished);
        }
        self.settle(now);
    }

    fn expect_mack(&mut self, now: Instant) {
        if self.answers() {
            let due = now + self.configuration.mack_delay;
            self.mack.due = Some(self.mack.due.map_or(due, |earlier| earlier.min(due)));
        }
    }

    fn handle_mack(&mut self, now: Instant, mack: &Mack) {
        let Some(cumulative) = self.position_of(mack.cumulative) else {
            self.statistics.refused += 1;
            return;
        };
        let place = |distance: u32| cumulative + u64::from(distance);
        let ends = mack.received.iter().map(|range| range.end());
        let ends = ends.chain(mack.missing.iter().map(|missing| missing.range.end()));
        let highest = place(ends.max().unwrap_or(0));
        if highest > self.sender.next() || u64::from(mack.unconfirmed) > cumulative {
            self.statistics.refused += 1;
            return;
        }
        if !self.is_known {
            self.is_known = true;
            if self.peer.is_none() {
                self.tell(Event::Established);
            }
        }
        self.probing = Probing::default();
        self.peer_error_rate = mack.error_rate;
        let mut new = self
            .sender
            .arrived((self.sender.acknowledged(), cumulative), &mut self.paths);
        for range in &mack.received {
            new += self
                .sender
                .arrived((place(range.start), place(range.end())), &mut self.paths);
        }
        self.sender.acknowledge(cumulative);
        let window_end = cumulative + u64::from(mack.window);
        self.sender.window_end = self.sender.window_end.max(window_end);
        self.learn_from_echo(now, mack);
        self.find_lost(now, mack, cumulative);
        let confirmed = cumulative - u64::from(mack.unconfirmed);
        if confirmed > self.confirmed_there {
            self.confirmed_there = confirmed;
            self.tell(Event::Confirmed);
        }
        if new > 0 && self.write_blocked && self.sender.room() > 0 {
            self.write_blocked = false;
            self.tell(Event::Writable);
        }
        if mack.is_complete
            && self.ending.sent > 0
            && self.sender.is_done()
            && !self.ending.delivered
        {
            self.ending.delivered = true;
            self.tell(Event::Delivered);
        }
        self.settle(now);
        self.arm_probe(now);
    }

    /// When the packet that the peer echoes left.
    fn echoed(now: Instant, mack: &Mack) -> Instant {
        let ago = timestamp(now).wrapping_sub(mack.echo);
        Instant::from_nanos(now.as_nanos().saturating_sub(u64::from(ago) * 1000))
    }

    fn learn_from_echo(&mut self, now: Instant, mack: &Mack) {
        let since = now.saturating_since(Self::echoed(now, mack));
        let rtt = since.saturating_sub(Duration::from_micros(u64::from(mack.held_for)));
        let arrival_rate = DataRate::from_bits_per_second(u64::from(mack.arrival_rate) * 1000);
        let carried = |path: &&mut Path| {
            path.sent.iter().any(|&(at, _)| timestamp(at) == mack.echo)
                || path
                    .newest_arrived
                    .is_some_and(|at| timestamp(at) == mack.echo)
        };
        let path = match &mut self.paths[..] {
            [only] => Some(only),
            several => several.iter_mut().find(carried),
        };
        if let Some(path) = path {
            path.rate.measured(now, rtt, arrival_rate);
            let left = now.as_nanos().saturating_sub(since.as_nanos());
            if path
                .shown_since
                .is_some_and(|shown| left >= shown.as_nanos())
            {
                path.shown_since = None;
            }
        }
    }

    fn find_lost(&mut self, now: Instant, mack: &Mack, cumulative: u64) {
        let echoed = Self::echoed(now, mack);
        let overtaking = |path: &Path| {
            let smoothed = path.rate.smoothed().unwrap_or(Duration::ZERO);
            Duration::from_nanos(smoothed.as_nanos() / 8)
        };
        for missing in &mack.missing {
            let range = missing.range;
            let range = (
                cumulative + u64::from(range.start),
                cumulative + u64::from(range.end()),
            );
            let until = match missing.damaged {
                true => echoed,
                false => {
                    let longest = self
                        .paths
                        .iter()
                        .map(overtaking)
                        .max()
                        .unwrap_or(Duration::ZERO);
                    Instant::from_nanos(echoed.as_nanos().saturating_sub(longest.as_nanos()))
                }
            };
            self.sender.missing(range, until);
        }
        for path in &mut self.paths {
            let overtaking = overtaking(path);
            self.sender.find_lost(path, overtaking);
        }
    }

    /// Sets the time of the next probe, if an answer is waited for.
    pub(super) fn arm_probe(&mut self, now: Instant) {
        if !self.waits_for_peer() {
            self.probing.at = None;
            return;
        }
        if self.probing.at.is_some() {
            return;
        }
        /// A peer that does not answer is asked at least this often, or once a round trip if that is longer: little of a
        /// contact is lost, and little is sent in vain.
        const LONGEST: Duration = Duration::from_millis(150);
        let path = self
            .paths
            .iter()
            .find(|path| path.is_up)
            .unwrap_or(&self.paths[0]);
        let first = path.rate.answer_within(self.configuration.mack_delay);
        let doubled = first.saturating_mul(1 << self.probing.tries.min(16));
        self.probing.at = Some(now + doubled.min(first.max(LONGEST)));
    }

    fn give_up_gaps(&mut self, now: Instant) {
        let skipped = self
            .receiver
            .give_up_gaps(now, self.configuration.reordering_wait);
        self.note_skipped(skipped);
    }

    fn note_skipped(&mut self, skipped: u64) {
        if skipped > 0 {
            self.statistics.skipped += skipped;
            self.tell(Event::Skipped(skipped));
            self.tell(Event::Readable);
        }
    }

    /// In a mode that expects no answer the last AFIN has left: the close timer is over.
    pub(super) fn finish_one_way(&mut self) {
        self.end(Event::Closed);
    }

    pub(super) fn confirmed_here(&self) -> u64 {
        self.confirmed_here
    }

    /// Closes what is over.
    fn settle(&mut self, now: Instant) {
        let sent_all = self.ending.delivered || self.ending.sent > 0 && !self.answers();
        if self.over_at.is_none() && self.finished && (sent_all || !self.answers()) {
            self.over_at = Some(now + self.configuration.listen_timeout);
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do, or there is something to send.
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.is_over {
            return None;
        }
        let waits = self.waits_for_peer();
        let give_up = waits.then(|| self.last_heard + self.configuration.close_timeout);
        let probe = self
            .probing
            .at
            .filter(|_| waits && self.paths.iter().any(|path| path.is_up));
        [
            self.mack.due,
            probe,
            give_up,
            self.receiver.gap_until(),
            self.ending.repeat_at,
            self.blocks
                .as_ref()
                .and_then(|blocks| blocks.poll_timeout()),
            self.over_at,
            self.next_departure(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if self.is_over {
            return;
        }
        if due(self.probing.at) {
            self.probing.at = None;
            if self.waits_for_peer() {
                self.probing.due = true;
                // One packet: what it brings back tells what else is missing.
                self.sender.lose_oldest(1);
                self.probing.tries += 1;
                self.arm_probe(now);
            }
        }
        if let Some(blocks) = &mut self.blocks {
            blocks.handle_timeout(now);
        }
        if due(self.receiver.gap_until()) {
            self.give_up_gaps(now);
            self.after_arrival(now);
        }
        if self.waits_for_peer() && self.last_heard + self.configuration.close_timeout <= now {
            self.end(Event::TimedOut);
        } else if due(self.over_at) {
            self.end(Event::Closed);
        }
    }
}

/// A time as it stands in headers: microseconds modulo 2^32.
pub(super) const fn timestamp(at: Instant) -> u32 {
    (at.as_nanos() / 1000) as u32
}
