//! Arrivals at a gateway: segments from this side, and bundles from the other gateway.

use super::stream::{Half, Stream};
use super::{BundleGateway, MOST_STREAMS};
use crate::dtn::{Content, Record, StreamId};
use crate::gateways::halves::{Outcome, deliver, end, segment_ends};
use crate::host::layer::Around;
use crate::host::sockets::Opening;
use crate::packet::{Body, FlowId, Packet};
use crate::time::Instant;
use core::net::SocketAddr;

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
        let Outcome::Nobody(reset) = deliver(&mut self.sockets, now, around, packet) else {
            return true;
        };
        self.discarded.no_receiver += 1;
        if let Some(reset) = reset {
            self.hand_out(reset);
        }
        false
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
}
