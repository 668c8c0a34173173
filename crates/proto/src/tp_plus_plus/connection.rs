//! One TP++ connection: its calls, packets and deadlines. Its output is in [`super::output`].

use super::blocks::BlockSender;
use super::configuration::{Configuration, Mode};
use super::receiver::Receiver;
use super::sender::Sender;
use crate::packet::Payload;
use crate::rate::DataRate;
use crate::time::{Duration, Instant};
use crate::wire::tp_plus_plus::{Chunk, ConnectionLabel, Content, TpPlusPlusPacket};
use core::net::IpAddr;
use std::collections::VecDeque;

/// Time without an acknowledgment after which a sender gives up; chosen, as AeroTP's.
const LONGEST_SILENCE: Duration = Duration::from_secs(300);
/// Least MTU that an ICMP error can report: every link takes packets of that length (RFC 791).
const LEAST_MTU: u32 = 68;
/// Most paths of a connection.
const MOST_PATHS: usize = 8;

/// An event for the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The peer has answered for the first time.
    Connected,
    /// Chunks can be read.
    Readable,
    /// Data can be written again after a short write.
    Writable,
    /// Bytes were given up, and will not arrive.
    Skipped,
    /// All data of the peer has arrived or is given up.
    Finished,
    /// All data of this end is acknowledged or, without acknowledgments, sent.
    Closed,
    /// The peer has been silent for too long.
    TimedOut,
}

/// Counters of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Packets sent.
    pub packets: u64,
    /// Packets sent with retransmitted data.
    pub retransmitted: u64,
    /// Expiries of a TPDU's timer.
    pub timeouts: u64,
    /// Acknowledgments sent.
    pub acknowledgments: u64,
    /// Reports of the limit sent.
    pub limits: u64,
    /// TPDUs received with a wrong check.
    pub damaged: u64,
    /// TPDUs restored by the code.
    pub restored: u64,
    /// Packets received with chunks of a TPDU that had arrived.
    pub duplicates: u64,
    /// TPDUs refused, since they are beyond the limit.
    pub refused: u64,
    /// Bytes given up, without retransmission.
    pub skipped: u64,
}

/// A packet to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// Addresses of the path, own first.
    pub addresses: (IpAddr, IpAddr),
    /// The packet.
    pub packet: TpPlusPlusPacket,
    /// True for data that was sent before.
    pub retransmission: bool,
}

/// A path, with a rate of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    /// Own address and the peer's.
    pub addresses: (IpAddr, IpAddr),
    pub mtu: u32,
    pub rate: DataRate,
    /// Time of the next packet with data.
    pub next_at: Instant,
}

/// One TP++ connection.
#[derive(Debug)]
pub struct Connection {
    pub(super) configuration: Configuration,
    /// Label of the packets that this end sends.
    pub(super) label: ConnectionLabel,
    pub(super) paths: Vec<Path>,
    /// Addresses for control messages, own first: those of the latest packet from the peer.
    pub(super) answer_to: (IpAddr, IpAddr),
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    pub(super) blocks: Option<BlockSender>,
    /// TPDUs, or parts of one for a smaller MTU, that are sent next; true for retransmissions.
    pub(super) parts: VecDeque<(TpPlusPlusPacket, bool)>,
    /// TPDUs since the last acknowledgment.
    pub(super) unacknowledged: u64,
    pub(super) acknowledgment_at: Option<Instant>,
    /// True if the peer has asked for the limit.
    pub(super) is_asked: bool,
    /// Time of the next request of the limit, and the number of requests so far.
    pub(super) request_at: Option<Instant>,
    pub(super) requests: u32,
    pub(super) is_request_due: bool,
    /// Time since which an acknowledgment is awaited.
    pub(super) awaited_since: Option<Instant>,
    is_opener: bool,
    has_heard: bool,
    is_write_short: bool,
    is_finished: bool,
    is_over: bool,
    events: VecDeque<Event>,
    pub(super) statistics: Statistics,
}

impl Connection {
    /// Begins a connection with these addresses, own first, over a path that takes packets of `mtu` bytes. There is no
    /// handshake: the first packet carries data, and makes the state at the other end.
    pub fn connect(
        configuration: Configuration,
        label: ConnectionLabel,
        addresses: (IpAddr, IpAddr),
        mtu: u32,
    ) -> Connection {
        Connection {
            sender: Sender::new(&configuration),
            receiver: Receiver::new(&configuration),
            blocks: configuration.block.map(BlockSender::new),
            paths: vec![Path {
                addresses,
                mtu,
                rate: configuration.rate,
                next_at: Instant::ZERO,
            }],
            answer_to: addresses,
            configuration,
            label,
            parts: VecDeque::new(),
            unacknowledged: 0,
            acknowledgment_at: None,
            is_asked: false,
            request_at: None,
            requests: 0,
            is_request_due: false,
            awaited_since: None,
            is_opener: true,
            has_heard: false,
            is_write_short: false,
            is_finished: false,
            is_over: false,
            events: VecDeque::new(),
            statistics: Statistics::default(),
        }
    }

    /// Makes the state of the end that receives the first packet, which [`handle_packet`](Self::handle_packet) takes in
    /// next.
    pub fn accept(
        configuration: Configuration,
        label: ConnectionLabel,
        addresses: (IpAddr, IpAddr),
        mtu: u32,
    ) -> Connection {
        Connection {
            is_opener: false,
            has_heard: true,
            ..Connection::connect(configuration, label, addresses, mtu)
        }
    }

    /// Adds a path between these addresses, own first. At most eight are used.
    pub fn add_path(&mut self, addresses: (IpAddr, IpAddr), mtu: u32, rate: DataRate) {
        if self.paths.len() < MOST_PATHS {
            self.paths.push(Path {
                addresses,
                mtu,
                rate,
                next_at: Instant::ZERO,
            });
        }
    }

    /// Returns the settings.
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// Returns the addresses of the paths, own first.
    pub fn paths(&self) -> impl Iterator<Item = (IpAddr, IpAddr)> {
        self.paths.iter().map(|path| path.addresses)
    }

    /// Sets the largest packet between these addresses, if that is a path, as an ICMP error reports it.
    pub fn set_mtu(&mut self, addresses: (IpAddr, IpAddr), mtu: u32) {
        let known = self.paths.iter_mut();
        for path in known.filter(|path| path.addresses == addresses) {
            path.mtu = path.mtu.min(mtu.max(LEAST_MTU));
        }
    }

    /// Writes as much as fits; returns the number of bytes. A record, an external PDU of its own, is written as a whole
    /// or not at all.
    pub fn write(&mut self, payload: &Payload, is_record: bool) -> u64 {
        let taken = self.sender.write(payload, is_record);
        self.is_write_short |= taken < u64::from(payload.length());
        taken
    }

    /// Returns the bytes that fit into the send buffer.
    pub fn room(&self) -> u64 {
        self.sender.room()
    }

    /// Returns the next chunk that has arrived. They are in the order of arrival; their labels tell their places.
    pub fn read(&mut self) -> Option<Chunk> {
        self.receiver.read()
    }

    /// Ends this end's data. The end that was called and wrote nothing has nothing to end.
    pub fn close(&mut self) {
        if self.is_opener || self.sender.has_written() {
            self.sender.is_closing = true;
        }
    }

    /// Returns true once this end has sent all its data or, if it has none, received all of the peer's. The connection
    /// still answers what the peer sends again.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns true once a whole TPDU has arrived. Before that, a packet with a damaged label may have made this state.
    pub fn is_proven(&self) -> bool {
        self.receiver.accounted() > 0
    }

    /// Returns the bytes sent and not acknowledged.
    pub fn in_flight(&self) -> u64 {
        self.sender.in_flight()
    }

    /// Returns the retransmission timeout.
    pub fn retransmission_timeout(&self) -> Duration {
        self.sender.timeout.value(0)
    }

    /// Returns the smoothed round-trip time.
    pub fn smoothed_rtt(&self) -> Option<Duration> {
        self.sender.timeout.smoothed()
    }

    /// Returns the sum of the paths' rates.
    pub fn rate(&self) -> DataRate {
        let rates = self.paths.iter().map(|path| path.rate.bits_per_second());
        DataRate::from_bits_per_second(rates.fold(0, u64::saturating_add))
    }

    /// Returns the counters.
    pub fn statistics(&self) -> Statistics {
        let arrived = self.receiver.counters;
        Statistics {
            timeouts: self.sender.timeouts,
            damaged: arrived.damaged,
            restored: arrived.restored,
            duplicates: arrived.duplicates,
            refused: arrived.refused,
            skipped: arrived.skipped,
            ..self.statistics
        }
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Takes in a packet from the first address to the second.
    pub fn handle_packet(
        &mut self,
        now: Instant,
        (source, destination): (IpAddr, IpAddr),
        packet: TpPlusPlusPacket,
    ) {
        if packet.label != self.label.reversed() {
            return;
        }
        self.answer_to = (destination, source);
        if !self.has_heard {
            self.has_heard = true;
            self.events.push_back(Event::Connected);
        }
        match packet.content {
            Content::Data(tpdu) => {
                let known = self.receiver.counters.duplicates;
                let before = self.receiver.accounted();
                self.receiver.take(now, packet.label, &tpdu);
                let is_known = self.receiver.counters.duplicates > known;
                self.note_arrivals(now, self.receiver.accounted() - before, is_known);
            }
            Content::Repair(repair) => {
                let before = self.receiver.accounted();
                self.receiver.take_repair(now, packet.label, repair);
                self.note_arrivals(now, self.receiver.accounted() - before, false);
            }
            Content::Acknowledgment(acknowledgment) => {
                let has_room = self.sender.acknowledge(now, &acknowledgment);
                self.awaited_since = self.sender.awaits().then_some(now);
                if has_room && core::mem::take(&mut self.is_write_short) {
                    self.events.push_back(Event::Writable);
                }
            }
            Content::Limit(limit) => {
                self.sender.limit = self.sender.limit.max(limit);
                (self.request_at, self.requests) = (None, 0);
            }
            Content::Request => self.is_asked = true,
        }
        self.note_ends();
    }

    /// Notes TPDUs that have arrived: an acknowledgment covers several, but that of known ones and of the last is due at
    /// once.
    fn note_arrivals(&mut self, now: Instant, tpdus: u64, is_known: bool) {
        if tpdus > 0 {
            self.events.push_back(Event::Readable);
        }
        if self.configuration.mode == Mode::QuasiReliable {
            return;
        }
        self.unacknowledged += tpdus;
        let most = u64::from(self.configuration.tpdus_per_acknowledgment);
        if is_known || self.unacknowledged >= most || tpdus > 0 && self.receiver.is_finished() {
            self.acknowledgment_at = Some(now);
        } else if self.unacknowledged > 0 {
            let delayed = now + self.configuration.acknowledgment_delay;
            self.acknowledgment_at.get_or_insert(delayed);
        }
    }

    fn note_ends(&mut self) {
        if !self.is_finished && self.receiver.is_finished() {
            self.is_finished = true;
            self.events.push_back(Event::Finished);
        }
        let has_sent = self.sender.is_done() && self.parts.is_empty();
        let is_done = has_sent || !self.is_opener && self.is_finished && !self.sender.has_written();
        if !self.is_over && is_done {
            self.is_over = true;
            self.events.push_back(Event::Closed);
        }
    }

    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout).
    pub fn poll_timeout(&self) -> Option<Instant> {
        let pace = self.has_data().then(|| self.next_path().next_at);
        let block = self.blocks.as_ref().and_then(|blocks| blocks.closes_at);
        let silence = self.awaited_since.map(|since| since + LONGEST_SILENCE);
        let times = [
            pace,
            block,
            silence,
            self.acknowledgment_at,
            self.request_at,
            self.sender.poll_timeout(),
            self.receiver.poll_timeout(),
        ];
        times.into_iter().flatten().min()
    }

    /// Performs the actions due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self
            .awaited_since
            .is_some_and(|since| since + LONGEST_SILENCE <= now)
        {
            self.awaited_since = None;
            self.sender.abandon();
            self.is_over = true;
            self.events.push_back(Event::TimedOut);
        }
        self.sender.handle_timeout(now);
        if self.receiver.handle_timeout(now) {
            self.events.extend([Event::Skipped, Event::Readable]);
        }
        if let Some(blocks) = &mut self.blocks
            && blocks.closes_at.is_some_and(|at| at <= now)
        {
            blocks.close();
        }
        if self.request_at.is_some_and(|at| at <= now) {
            self.is_request_due = true;
            self.requests += 1;
            self.request_at = Some(now + self.sender.timeout.value(self.requests));
        }
        self.note_ends();
    }

    /// Notes after a packet was sent that without acknowledgments the data may have ended, and has room.
    pub(super) fn note_sent(&mut self) {
        self.note_ends();
        let frees = self.configuration.mode == Mode::QuasiReliable;
        if frees && self.sender.room() > 0 && core::mem::take(&mut self.is_write_short) {
            self.events.push_back(Event::Writable);
        }
    }
}
