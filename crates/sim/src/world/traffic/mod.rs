//! Actions of applications: write, pause, ask, answer.
//!
//! Each kind keeps its own counters and decides what is due; this module turns it into writes, datagrams and
//! deliveries.

mod application;
mod blocks;
mod pages;
mod ping;
mod received;

pub use application::Application;

use super::flow::{Delivered, FlowRun, Role};
use crate::scenario::model::Transport;
use crate::transport::Datagram;
use application::Kind;
use baton_proto::host::{Host, Pattern, Socket};
use baton_proto::packet::Payload;
use baton_proto::tcp::Endpoint;
use baton_proto::time::Instant;
use baton_proto::wire::icmp::Echo;
use blocks::Block;
use pages::PageState;

/// Bytes of one write, as of the program that carries a flow in real time.
const LONGEST_WRITE: u64 = 256 * 1024;

impl FlowRun {
    /// Does what is due at the active end.
    pub(super) fn tick(&mut self, now: Instant, host: &mut Host) {
        let active = self.active();
        if self.spec.stop.is_some_and(|stop| now >= stop) && !self.application.is_stopped() {
            self.application.stop(active);
            self.stop_waiting_for_stream();
        }
        if !self.application.is_stopped() {
            match self.application.kind {
                Kind::Bulk => self.progress.start_waiting(now),
                Kind::Blocks(_) => self.send_blocks(now, host),
                Kind::Pages(_) => self.ask_for_page(now),
                Kind::Ping(_) => self.send_pings(now, host),
            }
        }
        let socket = self.sockets[active as usize];
        if let Some(socket) = socket.and_then(|socket| host.socket_mut(socket)) {
            self.fill(active, socket);
        }
    }

    /// Ends the wait for data that a stopped source will not write.
    fn stop_waiting_for_stream(&mut self) {
        let is_stream = matches!(self.application.kind, Kind::Bulk | Kind::Blocks(_))
            && self.spec.transport.connects();
        let accounted = self.progress.delivered_bytes + self.skipped;
        if is_stream && accounted >= self.application.stream_length() {
            self.progress.stop_waiting();
        }
    }

    fn send_blocks(&mut self, now: Instant, host: &mut Host) {
        let remote = self.remote(Role::Source);
        let Kind::Blocks(blocks) = &mut self.application.kind else {
            return;
        };
        let mut due = Vec::new();
        while let Some(block) = blocks.take_due(now) {
            self.progress.start_waiting(now);
            due.push(block);
        }
        let is_done = blocks.is_done();
        for block in due {
            match &self.spec.transport {
                Transport::Udp => {
                    let payload = block.payload(self.id.0);
                    host.udp_send(self.port, remote, payload, Some(self.id));
                }
                Transport::Other(transport) if !transport.connects() => {
                    let datagram = Datagram {
                        port: self.port,
                        to: remote,
                        payload: block.payload(self.id.0),
                        flow: self.id,
                    };
                    transport.send_datagram(now, host, datagram);
                }
                _ => {
                    let outbox = &mut self.application.outboxes[Role::Source as usize];
                    outbox.unwritten += u64::from(block.length);
                }
            }
        }
        self.application.outboxes[Role::Source as usize].closing |= is_done;
    }

    fn ask_for_page(&mut self, now: Instant) {
        if let Kind::Pages(pages) = &mut self.application.kind
            && let Some(request) = pages.ask(now)
        {
            self.application.outboxes[Role::Sink as usize].unwritten += request;
            self.progress.start_waiting(now);
        }
    }

    fn send_pings(&mut self, now: Instant, host: &mut Host) {
        let remote = self.remote(Role::Source);
        let Kind::Ping(ping) = &mut self.application.kind else {
            return;
        };
        while let Some(number) = ping.take_due(now) {
            self.progress.start_waiting(now);
            match &self.spec.transport {
                Transport::Tcp { .. } | Transport::Other(_) => {
                    let outbox = &mut self.application.outboxes[Role::Source as usize];
                    outbox.unwritten += u64::from(ping.size);
                }
                Transport::Udp => {
                    let request = Block {
                        offset: number * u64::from(ping.size),
                        length: ping.size,
                    };
                    let payload = request.payload(self.id.0);
                    host.udp_send(self.port, remote, payload, Some(self.id));
                }
                Transport::Icmp => {
                    let echo = Echo::counting(self.port, number as u16, ping.size);
                    host.ping(remote.address, echo, Some(self.id));
                }
            }
        }
    }

    /// Writes piece by piece for as long as the connection has room, and closes when that was all.
    pub(super) fn fill<S: Socket + ?Sized>(&mut self, role: Role, socket: &mut S) {
        let record = match &self.application.kind {
            Kind::Blocks(blocks) if socket.keeps_records() => Some(u64::from(blocks.size())),
            _ => None,
        };
        let outbox = &mut self.application.outboxes[role as usize];
        while outbox.unwritten > 0 {
            let length = outbox.unwritten.min(record.unwrap_or(LONGEST_WRITE));
            let taken = socket.write(Pattern {
                stream: self.id.0,
                offset: outbox.written,
                length,
                is_record: record.is_some(),
            });
            outbox.written += taken;
            outbox.unwritten -= taken;
            if taken < length || !socket.may_go_on_writing() {
                break;
            }
        }
        if outbox.unwritten == 0 && outbox.closing {
            socket.close();
        }
    }

    /// Takes in the other end's close: this one follows when it has written all that it owes.
    pub(super) fn handle_peer_closed<S: Socket + ?Sized>(
        &mut self,
        now: Instant,
        role: Role,
        socket: &mut S,
    ) -> Option<Delivered> {
        self.application.outboxes[role as usize].closing = true;
        let bytes = socket.read(now);
        let delivered = self.take_bytes(now, role, bytes, socket);
        self.fill(role, socket);
        // The last bytes may be among those left out.
        if socket.skipped().is_some() && self.stream_bytes.is_some() {
            self.complete(now);
            self.progress.give_up_waiting(now);
        }
        delivered
    }

    /// Bytes have come out of a connection.
    pub(super) fn take_bytes<S: Socket + ?Sized>(
        &mut self,
        now: Instant,
        role: Role,
        bytes: u64,
        socket: &mut S,
    ) -> Option<Delivered> {
        if bytes == 0 {
            return None;
        }
        let owed = &mut self.application.outboxes[role as usize].unwritten;
        let delivered = match (&mut self.application.kind, role) {
            (Kind::Pages(pages), Role::Source) => {
                *owed += pages.serve(bytes);
                None
            }
            (Kind::Ping(_), Role::Sink) => {
                *owed += bytes;
                None
            }
            (Kind::Pages(_), Role::Sink) => self.take_page(now, bytes),
            (Kind::Ping(_), Role::Source) => self.take_replies(now, bytes),
            (Kind::Bulk | Kind::Blocks(_), _) => Some(self.take_stream(now, bytes)),
        };
        self.fill(role, socket);
        delivered
    }

    fn take_stream(&mut self, now: Instant, bytes: u64) -> Delivered {
        let accounted = self.progress.delivered_bytes + self.skipped + bytes;
        let more = accounted < self.application.stream_length();
        let delivered = self.delivered(now, bytes, more);
        self.end_if_accounted(now);
        delivered
    }

    /// Ends a stream of known length if all its bytes have arrived or been left out.
    pub(super) fn end_if_accounted(&mut self, now: Instant) {
        let accounted = self.progress.delivered_bytes + self.skipped;
        if self.stream_bytes.is_some_and(|bytes| accounted >= bytes) {
            self.complete(now);
            self.progress.give_up_waiting(now);
        }
    }

    /// Notes the delivery of some of a number of bytes that the scenario may have fixed.
    fn deliver_of(&mut self, now: Instant, bytes: u64, more: bool) -> Delivered {
        let delivered = self.delivered(now, bytes, more);
        if self.stream_bytes == Some(self.progress.delivered_bytes) {
            self.complete(now);
        }
        delivered
    }

    fn take_page(&mut self, now: Instant, bytes: u64) -> Option<Delivered> {
        let Kind::Pages(pages) = &mut self.application.kind else {
            return None;
        };
        let state = pages.take(now, bytes);
        if state == PageState::Last {
            self.application.outboxes[Role::Sink as usize].closing = true;
            self.complete(now);
        }
        Some(self.delivered(now, bytes, state == PageState::Partial))
    }

    fn take_replies(&mut self, now: Instant, bytes: u64) -> Option<Delivered> {
        let Kind::Ping(ping) = &mut self.application.kind else {
            return None;
        };
        let replies = ping.take_bytes(now, bytes);
        self.note_replies(now, replies)
    }

    /// Takes in a datagram.
    pub(super) fn handle_datagram(
        &mut self,
        now: Instant,
        host: &mut Host,
        role: Role,
        from: Endpoint,
        payload: Payload,
    ) -> Option<Delivered> {
        let bytes = payload.length();
        let offset = match (&payload, &self.application.kind) {
            (Payload::Pattern { offset, .. }, _) => *offset,
            // Restored by a code across packets.
            (Payload::Bytes(bytes), Kind::Blocks(blocks)) => blocks.place_of(bytes, self.id.0)?,
            _ => return None,
        };
        match (&mut self.application.kind, role) {
            (Kind::Ping(_), Role::Sink) => {
                host.udp_send(self.port, from, payload, Some(self.id));
                None
            }
            (Kind::Ping(ping), Role::Source) => {
                let number = offset / u64::from(ping.size.max(1));
                self.handle_reply(now, number as u16)
            }
            (Kind::Blocks(blocks), Role::Sink) => {
                if !blocks.received.take(offset, bytes) {
                    return None;
                }
                let more = offset + u64::from(bytes) < blocks.emitted;
                Some(self.deliver_of(now, u64::from(bytes), more))
            }
            _ => None,
        }
    }

    /// Takes in the reply to a datagram or an echo request; `low_bits` are its number's.
    pub(super) fn handle_reply(&mut self, now: Instant, low_bits: u16) -> Option<Delivered> {
        let Kind::Ping(ping) = &mut self.application.kind else {
            return None;
        };
        let replies = u64::from(ping.answer(now, low_bits));
        self.note_replies(now, replies)
    }

    fn note_replies(&mut self, now: Instant, replies: u64) -> Option<Delivered> {
        let Kind::Ping(ping) = &self.application.kind else {
            return None;
        };
        let (bytes, waits) = (replies * u64::from(ping.size), ping.waits());
        if ping.is_done() {
            self.application.outboxes[Role::Source as usize].closing = true;
            self.complete(now);
        }
        (replies > 0).then(|| self.delivered(now, bytes, waits))
    }
}
