//! Progress of connections in bundles: each event triggers all work that is then possible.

use super::stream::{Half, Stream};
use super::{BundleGateway, MOST_STREAMS, end, segment_ends};
use crate::dtn::{Content, Record, StreamId};
use crate::host::SocketId;
use crate::host::layer::{Around, Step};
use crate::host::sockets::{Delivery, Opening};
use crate::packet::{Body, FlowId, Packet, Payload};
use crate::tcp::{self, State};
use crate::time::Instant;
use crate::wire::bundle::PORT;
use crate::wire::udp::UdpHeader;
use core::net::SocketAddr;
use core::ops::Bound;

/// Most bytes that a stream moves into custody in one turn. Chosen: about a bundle.
const PIECE: u64 = 1_400;

impl BundleGateway {
    /// Takes in a segment from this side: a SYN opens a stream, others go to their half. Returns false if nobody takes
    /// it.
    pub(super) fn take_segment(
        &mut self,
        now: Instant,
        around: &mut Around<'_>,
        packet: Packet,
    ) -> bool {
        let Some((ends, header)) = segment_ends(&packet) else {
            return false;
        };
        let Some(&stream) = self.by_ends.get(&ends) else {
            if self.streams.len() >= MOST_STREAMS {
                self.discarded.backlog += 1;
                return false;
            }
            let mtu = around.mtu_towards(ends.0.address);
            let (pair, flow) = ((ends.1, ends.0), packet.flow);
            let opening = Opening { pair, mtu, flow };
            let socket = self.sockets.accept(now, opening, &self.profile, header);
            let stream = StreamId {
                opened_here: true,
                number: self.next_stream,
            };
            self.next_stream += 1;
            let ends_of = [ends.0, ends.1].map(|end| SocketAddr::new(end.address, end.port));
            let content = Content::Open(ends_of);
            self.node.keep(now, Record { stream, content }, flow);
            self.seat(stream, Half { ends, socket, flow });
            return true;
        };
        self.touched.insert(stream);
        self.deliver(now, around, packet)
    }

    /// Passes a segment to its half; a closed one answers with a reset.
    fn deliver(&mut self, now: Instant, around: &mut Around<'_>, packet: Packet) -> bool {
        let Body::Tcp(header, payload) = packet.body else {
            return false;
        };
        let (local, remote) = (
            end(packet.ip.destination, header.destination_port),
            end(packet.ip.source, header.source_port),
        );
        let mtu = || around.mtu_towards(remote.address);
        match self
            .sockets
            .deliver(now, (local, remote), &header, payload, mtu)
        {
            Delivery::Taken | Delivery::Accepted(_) => true,
            Delivery::Nobody(reset) => {
                self.discarded.no_receiver += 1;
                if let Some(reset) = reset {
                    let ends = (local.address, remote.address);
                    let body = Body::Tcp(reset, Payload::EMPTY);
                    let packet = around.origin.packet(ends, body, packet.flow);
                    self.hand_out(packet);
                }
                false
            }
        }
    }

    /// Gives a stream its half.
    fn seat(&mut self, stream: StreamId, half: Half) {
        self.by_socket.insert(half.socket, stream);
        self.by_ends.insert(half.ends, stream);
        self.streams.entry(stream).or_default().half = Some(half);
        self.touched.insert(stream);
    }

    /// Takes in a datagram from the other gateway; returns false if it is of no use.
    pub(super) fn take_datagram(
        &mut self,
        now: Instant,
        around: &mut Around<'_>,
        packet: Packet,
    ) -> bool {
        let Body::Udp(_, payload) = &packet.body else {
            return false;
        };
        let mut bytes = Vec::with_capacity(payload.length() as usize);
        payload.copy_into(&mut bytes);
        let malformed = self.node.counts().malformed;
        let room = self.storage.saturating_sub(self.waiting);
        let (streams, sockets) = (&self.streams, &self.sockets);
        // The next bytes of a stream are taken without room in storage, as their half takes them at once: otherwise
        // data beyond a gap could fill storage, and keep out what closes the gap.
        let admit = |record: &Record| match &record.content {
            Content::Data { offset, .. } => {
                let length = record.length();
                let stream = streams.get(&record.stream);
                let half = stream.filter(|stream| stream.is_next(*offset));
                let half = half.and_then(|stream| stream.half);
                let tcp = half.and_then(|half| sockets.connection(half.socket));
                length <= room || tcp.is_some_and(|tcp| tcp.writable() >= length)
            }
            _ => true,
        };
        if let Some(record) = self.node.handle_datagram(now, &bytes, admit) {
            self.take_record(now, around, record, packet.flow);
        }
        self.node.counts().malformed == malformed
    }

    fn take_record(
        &mut self,
        now: Instant,
        around: &mut Around<'_>,
        record: Record,
        flow: Option<FlowId>,
    ) {
        let stream = record.stream;
        let is_new = !stream.opened_here && self.seen.insert(stream.number);
        if is_new {
            self.streams.insert(stream, Stream::default());
        }
        let Some(state) = self.streams.get_mut(&stream) else {
            // Of a stream that is over.
            return;
        };
        match record.content {
            Content::Open(ends) => {
                let [far, near] = ends.map(|of| end(of.ip(), of.port()));
                let mtu = around.mtu_towards(near.address);
                let opening = Opening {
                    pair: (far, near),
                    mtu,
                    flow,
                };
                let ends = (near, far);
                if let Some(&old) = self.by_ends.get(&ends) {
                    self.end_stream(old, true);
                }
                let socket = self.sockets.open(now, opening, &self.profile);
                self.seat(stream, Half { ends, socket, flow });
            }
            Content::Data { offset, bytes } => self.waiting += state.arrive(offset, bytes),
            Content::End(offset) => state.arrive_end(offset),
            Content::Reset => {
                self.node.abandon(stream);
                self.end_stream(stream, true);
                return;
            }
        }
        self.touched.insert(stream);
    }

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
        while let Some(outgoing) = self.sockets.poll_transmit(now) {
            let packet = outgoing.into_packet(&mut around.origin);
            self.hand_out(packet);
        }
        while self.sockets.poll_changed().is_some() {}
    }

    /// Sends a half's packet to the end on this side, which may be this host.
    fn hand_out(&mut self, packet: Packet) {
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
    fn end_stream(&mut self, stream: StreamId, reset: bool) {
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
