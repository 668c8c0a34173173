//! One conversation: the packets that its two ends send, and their arrivals.

use super::PacketView;
use super::numbering::{At, Numbering};
use super::outcome::{Arrival, Arrived, Counters, End, Sending, Side};
use super::stream::{Stream, Stretch};
use super::view::TcpFields;
use super::wait::Wait;
use crate::world::progress::Progress;
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::tcp::TcpFlags;

/// Least share of the longest datagram in its direction at which a datagram's payload counts as data...
const DATA_SHARE: u32 = 4;
/// ...or at least this long, in bytes: more than acknowledgments, keep-alives and their like have under QUIC, or with
/// TCP in a tunnel. Chosen: an acknowledgment of QUIC with fifty gaps.
const CERTAINLY_DATA: u32 = 200;
/// Time for which an end is heard and sends only short datagrams, after which it will no longer retransmit lost data:
/// three times the first probe timeout of QUIC (RFC 9002 section 6.2.2, about 1 s).
const REPAIRS_WITHIN: Duration = Duration::from_secs(3);

/// One direction, over any transport.
#[derive(Clone, Debug, Default)]
struct Direction {
    counters: Counters,
    wait: Wait,
    /// Number of the latest packet sent, and of the latest received.
    last_sent: Option<u64>,
    last_received: Option<u64>,
    /// The same for datagrams long enough for data, the last of which may have been given up.
    last_data_sent: Option<u64>,
    last_data_received: Option<u64>,
    /// Payload of the longest datagram sent, in bytes.
    longest_payload: u32,
    /// Time since which only short datagrams, younger than the last data, have arrived.
    heard_without_data: Option<Instant>,
    /// State of a TCP stream, from its first segment on.
    stream: Option<Stream>,
    /// Latest window advertised to the sender.
    window: Option<u16>,
    /// Window shift advertised by the sender of this direction; only if both ends offer one.
    window_scale: Option<u8>,
}

/// A conversation under way. Both ends' packets are passed in in the order in which they are sent and arrive.
#[derive(Clone, Debug)]
pub struct Conversation {
    directions: [Direction; 2],
    /// End at which the last packet arrived.
    last_receiver: Option<Side>,
    last_sent_at: Instant,
    end: Option<End>,
    reset_by: Option<Side>,
    /// Numbering of a connection that a gateway may terminate and continue.
    numbering: Option<Box<Numbering>>,
}

impl Conversation {
    /// Creates a conversation, before the opener's first packet is passed in.
    pub fn new(now: Instant) -> Conversation {
        Conversation {
            directions: Default::default(),
            last_receiver: None,
            last_sent_at: now,
            end: None,
            reset_by: None,
            numbering: None,
        }
    }

    /// Allows a gateway to terminate the connection and continue with its own. The gateway may let the sender send more
    /// than the receiver has room for, and hold data that the sender knows to have arrived.
    pub fn pass_gateway(&mut self) {
        self.numbering = Some(Box::default());
    }

    /// Returns a segment's fields with numbers that are the same at both ends.
    fn numbered(&mut self, from: Side, at: At, tcp: TcpFields) -> TcpFields {
        match &mut self.numbering {
            Some(numbering) => numbering.translate(from, at, tcp),
            None => tcp,
        }
    }

    /// Returns true if a packet that `from` sends with this conversation's 5-tuple begins another one: a SYN with a
    /// sequence number of its own.
    pub fn is_over_with(&self, from: Side, view: &PacketView) -> bool {
        let Some(tcp) = view.tcp else { return false };
        let stream = self.directions[from as usize].stream.as_ref();
        tcp.flags.contains(TcpFlags::SYN)
            && !tcp.flags.contains(TcpFlags::ACK)
            && stream.is_some_and(|stream| !stream.has_syn(tcp.sequence))
    }

    /// Takes in packet `number`, sent by an end; numbers ascend in each direction. Also returns the bytes that the
    /// packet's acknowledgment reports as arrived at this end unseen.
    pub fn sent(
        &mut self,
        now: Instant,
        from: Side,
        number: u64,
        view: &PacketView,
    ) -> (Sending, Option<Arrived>) {
        self.last_sent_at = now;
        let direction = &mut self.directions[from as usize];
        direction.counters.packets += 1;
        direction.last_sent = Some(number);
        let (sending, unseen) = match view.tcp {
            None => {
                direction.send_datagram(number, view.payload_bytes());
                self.give_up_unrepaired(now);
                (Sending::New, None)
            }
            Some(tcp) => {
                let tcp = self.numbered(from, At::Sender, tcp);
                self.sent_segment(now, from, tcp, view.payload_bytes())
            }
        };
        let counters = &mut self.directions[from as usize].counters;
        match sending {
            Sending::New | Sending::Retransmission => {
                counters.retransmitted += u64::from(sending == Sending::Retransmission);
                let answers = self.answers(from);
                for direction in &mut self.directions {
                    direction.wait.begin(now, answers);
                }
            }
            Sending::KeepAlive | Sending::WindowProbe => counters.probes += 1,
            Sending::Impossible => counters.impossible += 1,
            Sending::Acknowledgment => {}
        }
        (sending, unseen)
    }

    fn sent_segment(
        &mut self,
        now: Instant,
        from: Side,
        tcp: TcpFields,
        payload: u32,
    ) -> (Sending, Option<Arrived>) {
        if tcp.flags.contains(TcpFlags::RST) {
            self.reset(now, from);
            return (Sending::Acknowledgment, None);
        }
        let mut unseen = 0;
        if tcp.flags.contains(TcpFlags::ACK)
            && let Some(stream) = &mut self.directions[from.other() as usize].stream
        {
            let position = stream.position(tcp.acknowledgment);
            unseen = stream.receiver_acknowledges(position);
        }
        let unseen = (unseen > 0).then(|| self.deliver(now, from.other(), unseen));
        self.allow(from, tcp);
        let has_gateway = self.numbering.is_some();
        let direction = &mut self.directions[from as usize];
        let closed_window = direction.window == Some(0);
        let (stream, stretch) = direction.stretch(tcp, payload);
        if !stream.may_reach(stretch) && !has_gateway {
            return (Sending::Impossible, unseen);
        }
        let sending = if is_keep_alive(stream, stretch, tcp) {
            if closed_window {
                Sending::WindowProbe
            } else {
                Sending::KeepAlive
            }
        } else if stretch.is_empty() {
            Sending::Acknowledgment
        } else if closed_window && payload == 1 && stretch.start == stream.acknowledged {
            Sending::WindowProbe
        } else if stretch.start < stream.sent {
            Sending::Retransmission
        } else {
            Sending::New
        };
        if sending != Sending::KeepAlive {
            stream.send(stretch, tcp.flags.contains(TcpFlags::FIN));
        }
        (sending, unseen)
    }

    /// Takes in the undamaged arrival at the other end of packet `number`, sent by `from`.
    pub fn received(
        &mut self,
        now: Instant,
        from: Side,
        number: u64,
        view: &PacketView,
    ) -> Arrival {
        let direction = &mut self.directions[from as usize];
        let reordered = direction.last_received > Some(number);
        direction.last_received = direction.last_received.max(Some(number));
        direction.counters.reordered += u64::from(reordered);
        self.last_receiver = Some(from.other());
        let payload = view.payload_bytes();
        let (arrived, spurious) = match view.tcp {
            None => (
                Some(self.received_datagram(now, from, number, payload)),
                false,
            ),
            Some(tcp) => {
                let tcp = self.numbered(from, At::Receiver, tcp);
                let (bytes, spurious) = self.received_segment(now, from, tcp, payload);
                (bytes.map(|bytes| self.deliver(now, from, bytes)), spurious)
            }
        };
        self.directions[from as usize].counters.spurious += u64::from(spurious);
        if !self.waits() {
            self.rest(now);
        }
        Arrival {
            arrived,
            spurious,
            reordered,
        }
    }

    /// Takes in a datagram's arrival: data ends a wait; a short datagram only shows that its sender is heard.
    fn received_datagram(
        &mut self,
        now: Instant,
        from: Side,
        number: u64,
        payload: u32,
    ) -> Arrived {
        let bytes = u64::from(payload);
        let direction = &mut self.directions[from as usize];
        if payload >= direction.data_from_bytes() {
            direction.last_data_received = direction.last_data_received.max(Some(number));
            return self.deliver(now, from, bytes);
        }
        if Some(number) > direction.last_data_sent {
            direction.heard_without_data.get_or_insert(now);
        }
        direction.wait.progress.delivered_bytes += bytes;
        self.give_up_unrepaired(now);
        Arrived {
            from,
            bytes,
            waited: None,
        }
    }

    /// Stops waiting for datagrams that their sender has had time to retransmit and has not.
    fn give_up_unrepaired(&mut self, now: Instant) {
        for direction in &mut self.directions {
            let heard = direction.heard_without_data;
            if heard.is_some_and(|since| now >= since + REPAIRS_WITHIN) {
                direction.last_data_received = direction.last_data_sent;
            }
        }
        if !self.waits() {
            self.rest(now);
        }
    }

    /// Returns the new bytes, if any, and true if the segment was spurious.
    fn received_segment(
        &mut self,
        now: Instant,
        from: Side,
        tcp: TcpFields,
        payload: u32,
    ) -> (Option<u64>, bool) {
        if tcp.flags.contains(TcpFlags::RST) {
            self.reset(now, from);
            return (None, false);
        }
        self.directions[from.other() as usize].hear(tcp, payload);
        let direction = &mut self.directions[from as usize];
        let fin = tcp.flags.contains(TcpFlags::FIN);
        let (stream, stretch) = direction.stretch(tcp, payload);
        let may_reach = stream.may_reach(stretch) || self.numbering.is_some();
        if !may_reach || is_keep_alive(stream, stretch, tcp) {
            return (None, false);
        }
        stream.send(stretch, fin);
        let (bytes, new) = stream.receive(stretch);
        direction.counters.forgotten_ranges = stream.forgotten();
        let finished = |direction: &Direction| {
            let stream = direction.stream.as_ref();
            stream.is_some_and(Stream::is_finished)
        };
        if self.directions.iter().all(finished) {
            self.end.get_or_insert(End::Finished);
        }
        let spurious = (payload > 0 || fin) && !new;
        ((bytes > 0).then_some(bytes), spurious)
    }

    /// Takes in a reset, after which nothing more is delivered: the end that sent it has no connection.
    fn reset(&mut self, now: Instant, from: Side) {
        let answered = self.directions[Side::Responder as usize].stream.is_some();
        let end = if from == Side::Responder && !answered {
            End::Refused
        } else {
            End::Reset
        };
        if self.end.is_none() {
            (self.end, self.reset_by) = (Some(end), Some(from));
        }
        self.rest(now);
    }

    /// Moves the limit of the other end's data to the window that `from` advertises.
    fn allow(&mut self, from: Side, tcp: TcpFields) {
        if tcp.flags.contains(TcpFlags::SYN) {
            self.directions[from as usize].window_scale = tcp.window_scale;
        }
        let scales = self
            .directions
            .each_ref()
            .map(|direction| direction.window_scale);
        let scale = match scales {
            [Some(_), Some(_)] if !tcp.flags.contains(TcpFlags::SYN) => scales[from as usize],
            _ => None,
        };
        let window = u64::from(tcp.window) << scale.unwrap_or(0);
        if tcp.flags.contains(TcpFlags::ACK)
            && let Some(stream) = &mut self.directions[from.other() as usize].stream
        {
            let position = stream.position(tcp.acknowledgment);
            if position <= stream.sent {
                stream.allow(position + window);
            }
        }
    }

    fn deliver(&mut self, now: Instant, from: Side, bytes: u64) -> Arrived {
        let waited = Some(self.directions[from as usize].wait.deliver(now, bytes));
        if !self.has_outstanding(from.other()) {
            self.directions[from.other() as usize].wait.start_anew(now);
        }
        Arrived {
            from,
            bytes,
            waited,
        }
    }

    fn rest(&mut self, now: Instant) {
        for direction in &mut self.directions {
            direction.wait.rest(now);
        }
    }

    /// Returns true if a packet sent by `from` now responds to one that arrived there.
    pub fn answers(&self, from: Side) -> bool {
        self.last_receiver == Some(from)
    }

    /// Returns true if anything is outstanding in either direction.
    pub fn waits(&self) -> bool {
        self.has_outstanding(Side::Opener) || self.has_outstanding(Side::Responder)
    }

    /// Returns true if anything is outstanding in one direction.
    pub fn has_outstanding(&self, from: Side) -> bool {
        let direction = &self.directions[from as usize];
        match (&direction.stream, self.end) {
            (_, Some(End::Reset | End::Refused)) => false,
            (Some(stream), _) => {
                stream.has_unacknowledged() || self.numbering.is_some() && stream.has_undelivered()
            }
            (None, _) => {
                direction.last_received < direction.last_sent
                    || direction.last_data_received < direction.last_data_sent
            }
        }
    }

    /// Returns the progress of one direction. Its longest stall excludes the one under way.
    pub fn progress(&self, from: Side) -> &Progress {
        &self.directions[from as usize].wait.progress
    }

    /// Returns the present stall of one direction.
    pub fn open_stall(&self, from: Side, now: Instant) -> Duration {
        let streams = self.directions.each_ref();
        let mut streams = streams.map(|direction| direction.stream.as_ref());
        let wait = &self.directions[from as usize].wait;
        if streams.iter().all(Option::is_none) {
            wait.current(now.min(self.last_sent_at))
        } else if self.end.is_none()
            && streams
                .iter_mut()
                .flatten()
                .any(|stream| stream.has_undelivered())
        {
            wait.current(now)
        } else {
            Duration::ZERO
        }
    }

    /// Returns the direction with more delivered bytes; the opener's if both are equal.
    pub fn main_direction(&self) -> Side {
        let bytes = |side| self.progress(side).delivered_bytes;
        if bytes(Side::Responder) > bytes(Side::Opener) {
            Side::Responder
        } else {
            Side::Opener
        }
    }

    /// Returns the time at which either end last sent a packet.
    pub fn last_sent_at(&self) -> Instant {
        self.last_sent_at
    }

    /// Returns true if all data of one direction has arrived, its FIN included.
    pub fn is_finished(&self, from: Side) -> bool {
        let stream = self.directions[from as usize].stream.as_ref();
        stream.is_some_and(Stream::is_finished)
    }

    /// Returns its end, if it has ended.
    pub fn end(&self) -> Option<End> {
        self.end
    }

    /// Returns the end that reset it, if one did.
    pub fn reset_by(&self) -> Option<Side> {
        self.reset_by
    }

    /// Returns the payload from which a datagram of one direction counts as data, in bytes.
    pub fn data_from_bytes(&self, from: Side) -> u32 {
        self.directions[from as usize].data_from_bytes()
    }

    /// Returns the counts of one direction.
    pub fn counters(&self, from: Side) -> &Counters {
        &self.directions[from as usize].counters
    }
}

impl Direction {
    fn data_from_bytes(&self) -> u32 {
        self.longest_payload
            .div_ceil(DATA_SHARE)
            .min(CERTAINLY_DATA)
    }

    fn send_datagram(&mut self, number: u64, payload: u32) {
        self.longest_payload = self.longest_payload.max(payload);
        if payload >= self.data_from_bytes() {
            self.last_data_sent = Some(number);
            self.heard_without_data = None;
        }
    }

    /// Takes in the acknowledgment and the window of a segment from the other end that has arrived at this direction's
    /// sender.
    fn hear(&mut self, tcp: TcpFields, payload: u32) {
        let window = self.window.replace(tcp.window);
        let bare = TcpFlags::SYN.0 | TcpFlags::FIN.0;
        if tcp.flags.contains(TcpFlags::ACK)
            && let Some(stream) = &mut self.stream
        {
            let position = stream.position(tcp.acknowledgment);
            let repeats = position == stream.acknowledged && stream.has_unacknowledged();
            let empty = payload == 0 && tcp.flags.0 & bare == 0;
            self.counters.duplicate_acks +=
                u64::from(repeats && empty && window == Some(tcp.window));
            stream.acknowledge(position);
        }
    }

    /// Returns the stream, and the part of it that a segment carries.
    fn stretch(&mut self, tcp: TcpFields, payload: u32) -> (&mut Stream, Stretch) {
        let syn = tcp.flags.contains(TcpFlags::SYN);
        let fin = tcp.flags.contains(TcpFlags::FIN);
        let stream = self
            .stream
            .get_or_insert_with(|| Stream::new(tcp.sequence, syn));
        // Packets before it belonged to an older connection between the same ports.
        if syn && !stream.has_syn(tcp.sequence) && stream.has_come_to_nothing() {
            *stream = Stream::new(tcp.sequence, syn);
        }
        let start = stream.position(tcp.sequence);
        let end = start + u64::from(payload) + u64::from(syn) + u64::from(fin);
        (stream, Stretch { start, end })
    }
}

/// Returns true for a keep-alive, which repeats the last acknowledged number with at most one byte (RFC 9293 section
/// 3.8.4); a probe of a closed window may look the same.
fn is_keep_alive(stream: &Stream, stretch: Stretch, tcp: TcpFields) -> bool {
    let flags = TcpFlags(tcp.flags.0 & (TcpFlags::SYN.0 | TcpFlags::FIN.0));
    let length = stretch.end - stretch.start;
    let idle = length == 0 || (length == 1 && !stream.has_unacknowledged());
    idle && flags.0 == 0 && stretch.start + 1 == stream.acknowledged
}
