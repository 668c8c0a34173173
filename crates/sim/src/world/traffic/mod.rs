//! Applications of a flow on their hosts: writes, datagrams and deliveries.

mod received;

pub(super) use received::Received;

use super::flow::{Delivered, FlowRun, Role};
use crate::applications::{Block, Due, Heard, PageState};
use crate::scenario::model::Transport;
use crate::transport::Datagram;
use baton_proto::host::{Host, Socket};
use baton_proto::packet::Payload;
use baton_proto::tcp::Endpoint;
use baton_proto::time::Instant;
use baton_proto::wire::icmp::Echo;

impl FlowRun {
    /// Performs the due actions of the active end.
    pub(super) fn tick(&mut self, now: Instant, host: &mut Host) {
        let active = self.active();
        let was_stopped = self.is_stopped();
        match self.spec.transport.connects() {
            true => {
                if self.applications[active as usize].tick(now) {
                    self.progress.start_waiting(now);
                }
            }
            false => self.send_datagrams(now, host),
        }
        if self.is_stopped() && !was_stopped {
            self.stop_waiting_for_stream();
        }
        let socket = self.sockets[active as usize];
        if let Some(socket) = socket.and_then(|socket| host.socket_mut(socket)) {
            self.fill(active, socket);
        }
    }

    /// Returns true once the stop of its active end has passed.
    pub(super) fn is_stopped(&self) -> bool {
        self.applications[self.active() as usize].is_stopped()
    }

    /// Ends the wait for data that a stopped source will not write.
    fn stop_waiting_for_stream(&mut self) {
        let source = &self.applications[Role::Source as usize];
        let is_stream = source.is_stream() && self.spec.transport.connects();
        let accounted = self.progress.delivered_bytes + self.skipped;
        if is_stream && accounted >= source.length() {
            self.progress.stop_waiting();
        }
    }

    fn send_datagrams(&mut self, now: Instant, host: &mut Host) {
        while let Some(due) = self.applications[Role::Source as usize].take_datagram(now) {
            self.progress.start_waiting(now);
            self.send_datagram(now, host, due);
        }
        self.applications[Role::Source as usize].stop_if_due(now);
    }

    fn send_datagram(&self, now: Instant, host: &mut Host, due: Due) {
        let (to, flow) = (self.remote(Role::Source), Some(self.id));
        let block = match due {
            Due::Block(block) => block,
            Due::Request { number, size } => Block {
                offset: number * u64::from(size),
                length: size,
            },
        };
        let payload = block.payload(self.id.0);
        match (&self.spec.transport, due) {
            (Transport::Icmp, Due::Request { number, size }) => {
                let echo = Echo::counting(self.port, number as u16, size);
                host.ping(to.address, echo, flow);
            }
            (Transport::Other(transport), _) => {
                let datagram = Datagram {
                    port: self.port,
                    to,
                    payload,
                    flow: self.id,
                };
                transport.send_datagram(now, host, datagram);
            }
            _ => host.udp_send(self.port, to, payload, flow),
        }
    }

    /// Writes while the connection has room, and closes at the end of the data.
    pub(super) fn fill<S: Socket + ?Sized>(&mut self, role: Role, socket: &mut S) {
        self.applications[role as usize].fill(socket, self.id.0);
    }

    /// Takes in the other end's close: this one follows when it has written all data that it owes.
    pub(super) fn handle_peer_closed<S: Socket + ?Sized>(
        &mut self,
        now: Instant,
        role: Role,
        socket: &mut S,
    ) -> Option<Delivered> {
        self.applications[role as usize].closing = true;
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

    /// Takes in bytes received over a connection.
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
        let delivered = match self.applications[role as usize].take(now, bytes) {
            Heard::Request => None,
            Heard::Data => Some(self.take_stream(now, bytes)),
            Heard::Page(state) => {
                if state == PageState::Last {
                    self.complete(now);
                }
                Some(self.delivered(now, bytes, state == PageState::Partial))
            }
            Heard::Replies(replies) => self.note_replies(now, replies.len() as u64),
        };
        self.fill(role, socket);
        delivered
    }

    fn take_stream(&mut self, now: Instant, bytes: u64) -> Delivered {
        let accounted = self.progress.delivered_bytes + self.skipped + bytes;
        let more = accounted < self.applications[Role::Source as usize].length();
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
        let emitted = self.applications[Role::Source as usize].emitted();
        let offset = match (&payload, emitted) {
            (Payload::Pattern { offset, .. }, _) => *offset,
            // Restored by a code across packets.
            (Payload::Bytes(bytes), Some(emitted)) => {
                self.received.place_of(bytes, self.id.0, emitted)?
            }
            _ => return None,
        };
        if self.applications[role as usize].is_echo() {
            host.udp_send(self.port, from, payload, Some(self.id));
            return None;
        }
        match (emitted, role) {
            (Some(emitted), Role::Sink) => {
                if !self.received.take(offset, bytes) {
                    return None;
                }
                let more = offset + u64::from(bytes) < emitted;
                let delivered = self.delivered(now, u64::from(bytes), more);
                if self.stream_bytes == Some(self.progress.delivered_bytes) {
                    self.complete(now);
                }
                Some(delivered)
            }
            (None, Role::Source) => {
                let size = self.applications[role as usize].requests()?.size;
                self.handle_reply(now, (offset / u64::from(size.max(1))) as u16)
            }
            _ => None,
        }
    }

    /// Takes in the reply to a datagram or an echo request; `low_bits` are its number's.
    pub(super) fn handle_reply(&mut self, now: Instant, low_bits: u16) -> Option<Delivered> {
        let source = &mut self.applications[Role::Source as usize];
        let reply = source.take_reply(now, low_bits, u16::BITS);
        self.note_replies(now, u64::from(reply.is_some()))
    }

    fn note_replies(&mut self, now: Instant, replies: u64) -> Option<Delivered> {
        let requests = self.applications[Role::Source as usize].requests()?;
        let (bytes, waits) = (replies * u64::from(requests.size), requests.waits());
        if requests.is_done() {
            self.complete(now);
        }
        (replies > 0).then(|| self.delivered(now, bytes, waits))
    }
}
