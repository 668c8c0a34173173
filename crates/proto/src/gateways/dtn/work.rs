//! Progress of connections in bundles: each event triggers all work that is then possible.

use super::BundleGateway;
use crate::dtn::{Content, Record, StreamId};
use crate::host::SocketId;
use crate::host::layer::{Around, Step};
use crate::packet::{Body, Packet, Payload};
use crate::tcp::{self, State};
use crate::time::Instant;
use crate::wire::bundle::PORT;
use crate::wire::udp::UdpHeader;
use core::ops::Bound;

/// Most bytes that a stream moves into custody in one turn. Chosen: about a bundle.
const PIECE: u64 = 1_400;

impl BundleGateway {
    /// Works on all streams with events, takes data into custody, and sends bundles and segments.
    pub(super) fn work_streams(&mut self, now: Instant, around: &mut Around<'_>) {
        while let Some(stream) = self.node.poll_expired() {
            if self.streams.contains_key(&stream) {
                self.break_off(now, stream);
            }
        }
        loop {
            while let Some(stream) = self.next_stream_with_events() {
                self.work_stream(now, stream);
            }
            if !self.take_data(now) {
                break;
            }
        }
        while let Some(datagram) = self.node.poll_transmit(now) {
            let header = UdpHeader {
                source_port: PORT,
                destination_port: PORT,
            };
            let body = Body::Udp(header, Payload::Bytes(datagram.bytes.into()));
            let ends = (self.own, self.peer);
            let mut packet = around.origin.packet(ends, body, datagram.flow);
            packet.retransmission = datagram.retransmission;
            self.outbox.push_back(Step::Originate(packet));
        }
        while let Some(packet) = self.sockets.poll_transmit(now, &mut around.origin) {
            self.hand_out(packet);
        }
        while self.sockets.poll_changed().is_some() {}
    }

    /// Sends a half's packet to the end on this side, which may be this host.
    pub(super) fn hand_out(&mut self, packet: Packet) {
        let step = match packet.ip.destination == self.own {
            true => Step::Deliver(packet),
            false => Step::Originate(packet),
        };
        self.outbox.push_back(step);
    }

    fn next_stream_with_events(&mut self) -> Option<StreamId> {
        while let Some((socket, event)) = self.sockets.poll_event() {
            let Some(&stream) = self.by_socket.get(&socket) else {
                continue;
            };
            self.touched.insert(stream);
            if let Some(state) = self.streams.get_mut(&stream) {
                match event {
                    tcp::Event::PeerClosed => state.near_finished = true,
                    tcp::Event::Refused | tcp::Event::Reset | tcp::Event::TimedOut => {
                        state.near_failed = true;
                    }
                    _ => {}
                }
            }
        }
        self.touched.pop_first()
    }

    /// Does all work that is possible for a stream, except for taking its data into custody.
    fn work_stream(&mut self, now: Instant, stream: StreamId) {
        let Some(state) = self.streams.get_mut(&stream) else {
            return;
        };
        let Some(half) = state.half else {
            return;
        };
        if state.near_failed {
            return self.break_off(now, stream);
        }
        let Some(tcp) = self.sockets.connection_mut(half.socket) else {
            return;
        };
        self.waiting -= state.write(tcp);
        let is_over = matches!(tcp.state(), State::TimeWait | State::Closed);
        if tcp.readable() > 0 || state.near_finished && !state.is_ended {
            self.hungry.insert(stream);
        } else if state.is_ended && state.far_finished && is_over {
            self.end_stream(stream, false);
        }
    }

    /// Takes one piece of data into custody, of the stream whose turn it is, or the end of its data. Returns false if
    /// there is none, or no room.
    fn take_data(&mut self, now: Instant) -> bool {
        let after = self.turn.map_or(Bound::Unbounded, Bound::Excluded);
        let mut later = self.hungry.range((after, Bound::Unbounded));
        let Some(&stream) = later.next().or_else(|| self.hungry.first()) else {
            return false;
        };
        let room = self.node.room();
        let Some(state) = self.streams.get_mut(&stream) else {
            return self.hungry.remove(&stream);
        };
        let half = state.half;
        let tcp = half.and_then(|half| self.sockets.connection_mut(half.socket));
        let (Some(half), Some(tcp)) = (half, tcp) else {
            return self.hungry.remove(&stream);
        };
        if tcp.readable() > 0 {
            // One bundle's worth a turn.
            let Some(piece) = tcp.take(room.min(PIECE)) else {
                return false;
            };
            self.turn = Some(stream);
            let mut bytes = Vec::with_capacity(piece.length() as usize);
            piece.copy_into(&mut bytes);
            let offset = state.taken;
            state.taken += bytes.len() as u64;
            let content = Content::Data { offset, bytes };
            self.node.keep(now, Record { stream, content }, half.flow);
            return true;
        }
        if state.near_finished && !state.is_ended {
            state.is_ended = true;
            let content = Content::End(state.taken);
            self.node.keep(now, Record { stream, content }, half.flow);
        }
        self.touched.insert(stream);
        self.hungry.remove(&stream)
    }

    /// Ends a stream that cannot go on, here and at the other gateway.
    fn break_off(&mut self, now: Instant, stream: StreamId) {
        let flow = self.streams.get(&stream).and_then(|state| state.half);
        let flow = flow.and_then(|half| half.flow);
        self.node.abandon(stream);
        let content = Content::Reset;
        self.node.keep(now, Record { stream, content }, flow);
        self.end_stream(stream, true);
    }

    /// Forgets a stream; with `reset`, its half is reset if it is open.
    pub(super) fn end_stream(&mut self, stream: StreamId, reset: bool) {
        let Some(state) = self.streams.remove(&stream) else {
            return;
        };
        self.waiting -= state.waiting();
        self.hungry.remove(&stream);
        self.touched.remove(&stream);
        if let Some(half) = state.half {
            self.by_ends.remove(&half.ends);
            self.by_socket.remove(&half.socket);
            self.leave_half(half.socket, reset);
        }
    }

    fn leave_half(&mut self, socket: SocketId, reset: bool) {
        if let Some(tcp) = self.sockets.connection_mut(socket)
            && reset
        {
            tcp.abort();
        }
        self.sockets.abandon(socket);
    }
}
