//! One AeroTP connection: its calls, and the effects of packets and deadlines. Its output is in [`super::output`].

use super::blocks::{BlockReceiver, BlockSender};
use super::configuration::{Configuration, Identity};
use super::path::{Path, PathId};
use super::receiver::Receiver;
use super::resumption::Incarnations;
use super::sender::Sender;
use super::{Event, Measurement, Received, State};
use crate::packet::Payload;
use crate::rate::DataRate;
use crate::time::{Duration, Instant};
use crate::wire::aerotp::{ErrorRate, Mode, Opening, TcpOffer};
use core::net::IpAddr;
use std::collections::VecDeque;

/// Bytes that may be sent before the peer has reported its window.
pub(super) const FIRST_WINDOW: u64 = 256 << 10;

/// Most paths of a connection, which limits what a peer can make this end store.
pub(super) const MOST_PATHS: usize = 8;

/// Counters of a connection: packets sent and received, and packets refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Packets sent.
    pub packets: u64,
    /// Packets sent with retransmitted data.
    pub retransmitted: u64,
    /// Packets sent with a MACK alone.
    pub macks: u64,
    /// Probes sent for lack of an answer.
    pub probes: u64,
    /// Packets received with a payload beyond repair.
    pub damaged: u64,
    /// Bytes corrected by a code.
    pub corrected: u64,
    /// Packets restored by the code across packets.
    pub restored: u64,
    /// Blocks of that code that could not be restored.
    pub failed_blocks: u64,
    /// Packets received with old data only.
    pub duplicates: u64,
    /// Bytes skipped, in modes without retransmission.
    pub skipped: u64,
    /// Packets refused: another mode or opening, a MACK of data never sent, a reset without proof, data beyond the
    /// window.
    pub refused: u64,
}

/// Probes of a peer that has not answered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probing {
    pub at: Option<Instant>,
    /// Probes since the last packet from the peer.
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
    /// Time to repeat the AFIN, if it is not answered.
    pub repeat_at: Option<Instant>,
    /// The peer has all data (AFINACK).
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
    /// A TCP's offer, sent with the opening at a gateway.
    pub(super) offer: Option<TcpOffer>,
    /// Opening of the peer's packets.
    pub(super) peer: Option<Opening>,
    /// A TCP's offer from the peer's gateway, if there was one.
    pub(super) peer_offer: Option<TcpOffer>,
    /// True if the peer has reported that it received packets of this end.
    pub(super) is_known: bool,
    /// Time at which the next MACK is due.
    pub(super) mack_due: Option<Instant>,
    /// Time at which a confirmation is due over the quickest path.
    pub(super) confirmation_due: Option<Instant>,
    pub(super) probing: Probing,
    pub(super) ending: Ending,
    /// The encoder; only with a code across packets.
    pub(super) blocks: Option<Box<BlockSender>>,
    /// The decoder, created with the peer's first packet of a block.
    pub(super) peer_blocks: Option<Box<BlockReceiver>>,
    /// Packets that the peer has restored.
    pub(super) restored_there: u32,
    /// Bytes of packets that arrived damaged beyond reading, as the network says, until a later one shows their place.
    pub(super) unreadable: u32,
    /// The path of the latest packet from the peer.
    pub(super) heard_path: usize,
    pub(super) last_heard: Instant,
    /// Time since which an answer is awaited, if one is.
    pub(super) awaited_since: Instant,
    /// True until the peer answers, if it has perhaps lost the connection.
    pub(super) is_doubtful: bool,
    pub(super) confirmed_here: u64,
    pub(super) confirmed_there: u64,
    pub(super) write_blocked: bool,
    pub(super) finished: bool,
    pub(super) over_at: Option<Instant>,
    pub(super) reset_due: bool,
    pub(super) is_over: bool,
    pub(super) opening_sent: bool,
    /// True if other connections use the links of the paths, too, and the caller keeps their pace.
    pub(super) shares_links: bool,
    /// The latest measurement not yet polled.
    pub(super) measured: Option<Measurement>,
    pub(super) incarnations: Incarnations,
    is_opener: bool,
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
            sender: Sender::new(
                (
                    configuration.send_buffer,
                    configuration.keeps_until_confirmed,
                ),
                window,
            ),
            receiver: Receiver::new(configuration.receive_buffer),
            peer: None,
            offer: None,
            peer_offer: None,
            is_known: false,
            mack_due: None,
            confirmation_due: None,
            probing: Probing::default(),
            ending: Ending::default(),
            blocks: configuration
                .blocks
                .map(|blocks| Box::new(BlockSender::new(blocks))),
            peer_blocks: None,
            restored_there: 0,
            unreadable: 0,
            heard_path: 0,
            last_heard: now,
            awaited_since: now,
            is_doubtful: false,
            confirmed_here: 0,
            confirmed_there: 0,
            write_blocked: false,
            finished: false,
            over_at: None,
            reset_due: false,
            is_over: false,
            opening_sent: false,
            shares_links: false,
            measured: None,
            incarnations: Incarnations::FIRST,
            is_opener: true,
            events: VecDeque::new(),
            statistics: Statistics::default(),
            configuration,
        }
    }

    /// Answers a packet that can open a connection: one with an opening. Then pass in the packet itself.
    pub fn accept(
        now: Instant,
        configuration: Configuration,
        identity: Identity,
        addresses: (IpAddr, IpAddr),
        mtu: u32,
    ) -> Connection {
        let mut connection = Connection::connect(now, configuration, identity, addresses, mtu);
        // This end has nothing to send before a packet arrives.
        connection.opening_sent = true;
        connection.is_opener = false;
        connection
    }

    /// Returns true if this end opened the connection.
    pub fn is_opener(&self) -> bool {
        self.is_opener
    }

    /// Adds a path; packets are spread over all paths that are up, each at its own rate. Packets carry the token there
    /// until the peer answers, and on the first path too if its packets may arrive after those on the new one. `None`
    /// if the connection has its maximum of paths.
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
        if !self.is_known {
            for known in &mut self.paths {
                known.shown_since.get_or_insert(now);
                known.is_added = true;
            }
        }
        self.paths.push(path);
        Some(PathId((self.paths.len() - 1) as u8))
    }

    /// Leaves the pace and the silence of the links to the caller, who sends over them for other connections, too: the
    /// caller polls [`poll_at_once`](Self::poll_at_once) after each event, and when a link is free
    /// [`poll_transmit`](Self::poll_transmit) of one connection that [is ready](Self::is_ready).
    pub fn share_links(&mut self) {
        self.shares_links = true;
    }

    /// Sets the time at which the link of a path is free, if it is [shared](Self::share_links).
    pub fn set_free_at(&mut self, path: PathId, free_at: Instant) {
        if let Some(path) = self.paths.get_mut(usize::from(path.0)) {
            path.free_at = free_at;
        }
    }

    /// Returns true if data counts as confirmed when the application [says so](Self::confirm), not when it is stored.
    pub const fn is_confirming(&self) -> bool {
        self.configuration.confirms
    }

    /// Sets the time that the first packet would take over a path's link once it is free, if that is known.
    pub fn expect_arrival(&mut self, path: PathId, takes: Option<Duration>) {
        if let Some(path) = self.paths.get_mut(usize::from(path.0)) {
            path.takes = takes;
        }
    }

    /// Sets the share of packets that the links lose, 0 to 1, if they are [shared](Self::share_links): adaptive blocks
    /// follow it.
    pub fn set_loss(&mut self, loss: f64) {
        if let Some(blocks) = &mut self.blocks {
            blocks.set_loss(loss);
        }
    }

    /// Returns the latest measurement of a path since the last call.
    pub fn poll_measurement(&mut self) -> Option<Measurement> {
        self.measured.take()
    }

    /// Changes this end's address on a path. Packets carry the token until the peer answers there.
    pub fn move_to(&mut self, now: Instant, path: PathId, local: IpAddr) {
        if let Some(path) = self.paths.get_mut(usize::from(path.0)) {
            path.local = local;
            path.shown_since = Some(now);
        }
        self.probe_at_once();
    }

    /// Takes in that a path's link is up, with this rate if known, or is a new link. Packets in flight over the old
    /// link count as lost.
    pub fn link_up(&mut self, path: PathId, rate: Option<DataRate>) {
        let index = usize::from(path.0);
        if let Some(path) = self.paths.get_mut(index) {
            path.is_up = true;
            path.is_leaving = false;
            path.silent = None;
            path.free_at = Instant::ZERO;
            if let Some(rate) = rate {
                path.rate.set_limit(rate);
            }
            self.sender.lose_path(index, path);
        }
        self.probe_at_once();
        if self.peer.is_some() && self.answers() {
            // A sending peer learns at once that it can send, and which data is missing.
            self.mack_due = Some(self.last_heard);
        }
    }

    /// Takes in that a path's link is down: nothing is sent over it. If others are up, packets in flight over it count
    /// as lost.
    pub fn link_down(&mut self, path: PathId) {
        let index = usize::from(path.0);
        let Some(path) = self.paths.get_mut(index) else {
            return;
        };
        path.is_up = false;
        if self.paths.iter().any(|path| path.is_up) {
            self.sender.lose_path(index, &mut self.paths[index]);
        }
    }

    /// Takes in that a path's link is about to go down, or stays up after all. Data leaves over other paths, if one is
    /// up; data in flight may still arrive.
    pub fn link_going_down(&mut self, path: PathId, is_leaving: bool) {
        if let Some(path) = self.paths.get_mut(usize::from(path.0)) {
            path.is_leaving = is_leaving;
        }
    }

    /// Sets the largest packet of a path.
    pub fn set_mtu(&mut self, path: PathId, mtu: u32) {
        /// Every IPv4 link takes at least this (RFC 791).
        const LEAST: u32 = 68;
        if let Some(path) = self.paths.get_mut(usize::from(path.0)) {
            path.mtu = mtu.max(LEAST);
        }
    }

    /// Takes in a router's report of the rate at which it can forward this connection's packets on a path.
    pub fn backpressure(&mut self, now: Instant, path: PathId, rate: DataRate) {
        if let Some(path) = self.paths.get_mut(usize::from(path.0)) {
            path.rate.backpressure(now, rate);
        }
    }

    /// Takes in that the packet just passed in was marked with congestion. The next MACK tells the peer.
    pub fn note_congestion(&mut self) {
        self.paths[self.heard_path].arrivals.congestion = self.answers();
    }

    /// Takes in the network's word that a packet of so many bytes between these ends arrived damaged beyond reading, of
    /// this connection or another of the two hosts. With several paths the next packet does not show its place.
    pub fn note_corruption(&mut self, bytes: u32) {
        if self.answers() && self.paths.len() == 1 {
            self.unreadable = self.unreadable.saturating_add(bytes);
        }
    }

    /// Takes in that the peer has restarted, and has perhaps lost the connection: asks it from `at` on until it answers,
    /// by a MACK or a reset.
    pub fn doubt_peer(&mut self, at: Instant) {
        self.is_doubtful = self.is_known && self.configuration.mode.repeats();
        if self.waits_for_peer() && self.probing.at.is_none() {
            self.probing.at = Some(at);
            self.awaited_since = at;
        }
    }

    fn probe_at_once(&mut self) {
        self.probing.tries = 0;
        self.probing.due = self.waits_for_peer();
    }

    /// Writes part of a stream; returns how many bytes were taken. [`Event::Writable`] follows when there is room again.
    pub fn write(&mut self, payload: &Payload) -> u64 {
        if !self.may_write() {
            return 0;
        }
        let taken = self.sender.write(payload);
        self.write_blocked |= taken < u64::from(payload.length());
        taken
    }

    /// Writes a record, which the peer reads as one. Returns false, and takes nothing, if there is no room for all of
    /// it or it is too long for one packet of some path.
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

    /// Returns the next data to read, of at most so many bytes.
    pub fn read(&mut self, now: Instant, at_most: u64) -> Option<Received> {
        let before = self.receiver.window();
        let read = self.receiver.take(at_most)?;
        // A peer whose window was almost closed learns that there is room.
        if before < u64::from(self.configuration.receive_buffer) / 4 && self.answers() {
            self.mack_due = Some(now);
        }
        Some(read)
    }

    /// Returns the number of bytes that can be read.
    pub fn readable(&self) -> u64 {
        self.receiver.readable_bytes()
    }

    /// Returns true if this end may still write: it is neither closed nor over.
    pub fn may_write(&self) -> bool {
        !self.ending.closed && !self.is_over
    }

    /// Returns the number of bytes that can be written now.
    pub fn room(&self) -> u64 {
        self.sender.room()
    }

    /// Returns the number of bytes written and not acknowledged by the peer, or not confirmed if they are
    /// [kept](Configuration::keeps_until_confirmed) until then; at a gateway its custody.
    pub fn held(&self) -> u64 {
        self.sender.held()
    }

    /// Returns the number of bytes written in all.
    pub fn written(&self) -> u64 {
        self.sender.written()
    }

    /// Returns the number of bytes sent, without retransmissions.
    pub fn sent(&self) -> u64 {
        self.sender.next()
    }

    /// Returns copies of the written data that is held.
    pub fn held_data(&self) -> Vec<Payload> {
        self.sender.held_data()
    }

    /// Returns the opening of the peer, once it was heard.
    pub fn peer_opening(&self) -> Option<Opening> {
        self.peer
    }

    /// Returns the number of bytes in flight: sent, neither acknowledged nor lost.
    pub fn in_flight(&self) -> u64 {
        self.sender.in_flight()
    }

    /// Returns the number of bytes written that the far end has confirmed: stored in order, or at a gateway
    /// acknowledged by the TCP beyond it.
    pub fn confirmed(&self) -> u64 {
        self.confirmed_there
    }

    /// Returns the number of bytes acknowledged by the peer.
    pub fn acknowledged(&self) -> u64 {
        self.sender.acknowledged()
    }

    /// Confirms so many bytes in all of the data read; only with [`Configuration::confirms`].
    pub fn confirm(&mut self, now: Instant, bytes: u64) {
        let bytes = bytes.min(self.receiver.next());
        if bytes > self.confirmed_here {
            self.confirmed_here = bytes;
            let due = now + self.configuration.mack_delay;
            self.confirmation_due.get_or_insert(due);
            self.settle(now);
        }
    }

    /// Closes this direction: no more data will be written.
    pub fn close(&mut self) {
        self.ending.closed = true;
    }

    /// Aborts the connection, with a reset if the peer may know of it.
    pub fn abort(&mut self) {
        if !self.is_over {
            self.reset_due = self.peer.is_some() || self.opening_sent;
            self.end(Event::Closed);
        }
    }

    /// Returns the state by the names of study A's Table II.
    pub fn state(&self) -> State {
        if self.is_over {
            State::Closed
        } else if self.ending.sent > 0 {
            State::AfinSent
        } else if self.receiver.knows_end() {
            State::AfinReceived
        } else if self.is_known || self.peer.is_some() || !self.configuration.mode.repeats() {
            State::Established
        } else {
            State::AsynSent
        }
    }

    /// Returns true if the peer has reported that it received packets of this end: it is at its packets' source
    /// address.
    pub fn is_known(&self) -> bool {
        self.is_known
    }

    /// Returns the counters.
    pub fn statistics(&self) -> Statistics {
        let blocks = self.peer_blocks.as_ref();
        Statistics {
            restored: blocks.map_or(0, |blocks| blocks.restored().into()),
            failed_blocks: blocks.map_or(0, |blocks| blocks.failed()),
            ..self.statistics
        }
    }

    /// Returns the ends of the first path: own address, and the peer's.
    pub fn addresses(&self) -> (IpAddr, IpAddr) {
        self.paths[0].addresses()
    }

    /// Returns the ends of each path: own address, and the peer's.
    pub fn paths(&self) -> impl Iterator<Item = (PathId, (IpAddr, IpAddr))> {
        let numbers = (0..).map(PathId);
        numbers.zip(self.paths.iter().map(Path::addresses))
    }

    /// Returns the time at which the peer was last heard; of the beginning if never.
    pub fn last_heard(&self) -> Instant {
        self.last_heard
    }

    /// Returns the present sending rate of a path.
    pub fn rate(&self, path: PathId) -> Option<DataRate> {
        self.paths
            .get(usize::from(path.0))
            .map(|path| path.rate.rate())
    }

    /// Returns a path's smoothed round-trip time.
    pub fn smoothed_rtt(&self, path: PathId) -> Option<Duration> {
        self.paths
            .get(usize::from(path.0))
            .and_then(|path| path.rate.smoothed())
    }

    /// Returns the bit error rate towards the peer, as the peer measures it; of several paths the worst.
    pub fn error_rate_there(&self) -> ErrorRate {
        let rates = self.paths.iter().map(|path| path.peer_error_rate);
        rates.max().unwrap_or(ErrorRate::NONE)
    }

    /// Returns the bit error rate towards this end.
    pub fn error_rate_here(&self) -> ErrorRate {
        let rates = self.paths.iter().map(|path| path.arrivals.meter.rate());
        rates.max().unwrap_or(ErrorRate::NONE)
    }

    /// Returns the share of packets that the code of its links may lose, in millionths; `None` if it has means of its own
    /// against errors, or is over (study A, section III-D).
    pub fn tolerated_loss(&self) -> Option<u32> {
        let relies = self.configuration.mode == Mode::UnreliableConnection && !self.is_over;
        relies.then_some(self.configuration.tolerated_loss_ppm)
    }

    /// Returns its configuration.
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// Returns its identity.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Sends a TCP's offer to the peer's gateway, with the opening.
    pub fn set_offer(&mut self, offer: TcpOffer) {
        self.offer = Some(offer);
    }

    /// Returns the TCP's offer from the peer's gateway.
    pub fn peer_offer(&self) -> Option<TcpOffer> {
        self.peer_offer
    }

    /// Returns the peer's token, by which its packets are recognized from any address.
    pub fn peer_token(&self) -> Option<u32> {
        self.peer.map(|peer| peer.token)
    }

    /// Returns the memory in use, in bytes, without data.
    pub fn memory(&self) -> usize {
        let paths: usize = self.paths.iter().map(Path::memory).sum();
        size_of::<Connection>() + paths + self.events.capacity() * size_of::<Event>()
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    pub(super) fn tell(&mut self, event: Event) {
        if self.events.back() != Some(&event) {
            self.events.push_back(event);
        }
    }

    /// Reports room to a writer that could not write all of its data, once there is some.
    pub(super) fn tell_of_room(&mut self) {
        if self.write_blocked && self.sender.room() > 0 {
            self.write_blocked = false;
            self.tell(Event::Writable);
        }
    }

    pub(super) fn end(&mut self, event: Event) {
        self.tell(event);
        if event != Event::Closed {
            self.tell(Event::Closed);
        }
        self.is_over = true;
    }

    /// Returns true if MACKs are sent: modes without retransmission need no return channel.
    pub(super) fn answers(&self) -> bool {
        self.configuration.mode.repeats()
    }

    /// Returns true if anything sent is not yet acknowledged by the peer.
    pub(super) fn waits_for_peer(&self) -> bool {
        self.configuration.mode.repeats()
            && !self.is_over
            && (self.sender.waits()
                || self.sender.is_shut()
                || self.is_unconfirmed()
                || self.is_doubtful
                || self.ending.sent > 0 && !self.ending.delivered
                || self.opening_sent && !self.is_known)
    }

    /// Returns true if received data is not yet confirmed by the far end.
    pub(super) fn is_unconfirmed(&self) -> bool {
        self.confirmed_there < self.sender.acknowledged()
    }
}

/// Returns a time in header format: microseconds modulo 2^32.
pub const fn timestamp(at: Instant) -> u32 {
    (at.as_nanos() / 1000) as u32
}
