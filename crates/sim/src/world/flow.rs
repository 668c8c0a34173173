//! A running flow: an application at each end, its transport, and its results.

use super::delays::WayDelays;
use super::observed::ObservedFlow;
use super::packet_counts::{LossCounts, PacketCounts, Way};
use super::part::Keeper;
use super::paths::FlowPath;
use super::progress::Progress;
use super::traffic::Received;
use crate::applications::Application;
use crate::kernel::Timer;
use crate::observe::Side;
use crate::record::{Quantity, Recorder, Subject};
use crate::scenario::model::{Flow, Traffic, Transport};
use crate::transport::Opening;
use baton_proto::host::{Host, HostEvent, Socket, SocketEvent, SocketId, SocketState};
use baton_proto::packet::{FlowId, IpHeader};
use baton_proto::rate::DataRate;
use baton_proto::tcp::Endpoint;
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::icmp::IcmpError;
use core::net::IpAddr;

/// End of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The end at the scenario's `from`.
    Source,
    /// The end at the scenario's `to`.
    Sink,
}

impl Role {
    /// Returns the opposite end.
    pub const fn other(self) -> Role {
        match self {
            Role::Source => Role::Sink,
            Role::Sink => Role::Source,
        }
    }
}

/// Bytes delivered to an application.
#[derive(Clone, Copy, Debug)]
pub struct Delivered {
    /// Number of bytes.
    pub bytes: u64,
    /// Time without a delivery while one was due.
    pub waited: Duration,
}

/// Returns the active end of an application, which keeps the time: it requests pages, or sends.
const fn active(traffic: &Traffic) -> Role {
    match traffic {
        Traffic::Pages { .. } => Role::Sink,
        _ => Role::Source,
    }
}

/// A running flow.
#[derive(Debug)]
pub struct FlowRun {
    /// Its number in the scenario.
    pub id: FlowId,
    /// The flow in the scenario. Boxed, since packets rarely need it.
    pub spec: Box<Flow>,
    /// Stop time of its source in the scenario; repeated here because every packet needs it.
    stop: Option<Instant>,
    /// Bytes of a complete stream in the scenario, if any; repeated here for the same reason.
    pub(super) stream_bytes: Option<u64>,
    /// The event of [`FlowRun::deadline`].
    pub timer: Timer,
    /// Node of source and sink, as the scenario says.
    pub(super) nodes: [usize; 2],
    /// Address of source and sink.
    pub addresses: [IpAddr; 2],
    /// Port of the listening or answering end; over UDP of both, over ICMP the identifier. No other flow of
    /// either host has it.
    pub port: u16,
    /// The end that opens the connection.
    pub(super) opener: Role,
    /// The mobiles at its ends.
    pub mobiles: [Option<usize>; 2],
    /// The mobiles whose handovers concern it: the ones at its ends, and routers whose networks contain its ends.
    pub movers: Vec<usize>,
    /// The connection at source and sink.
    pub sockets: [Option<SocketId>; 2],
    /// Paths of its connection, if it has several.
    pub(super) paths: Vec<FlowPath>,
    /// Bytes skipped by its transport.
    pub(super) skipped: u64,
    /// Progress of delivery.
    pub progress: Progress,
    /// True if gateways may hold its data, between the packets that bring and take it.
    pub(super) in_custody: bool,
    /// Counts of its packets, for each [`Way`].
    pub(super) packets: [PacketCounts; 2],
    /// Packets with payload that were sent to the sink.
    pub(super) data_to_sink: u64,
    /// Time and access link of the last arrival at the end of each direction.
    pub(super) arrivals: [Option<(Instant, usize)>; 2],
    /// Delays of its packets that have arrived at their end of it, for each [`Way`].
    pub(super) delays: [WayDelays; 2],
    /// Packets that links dropped, each copy separately.
    pub dropped_packets: u64,
    /// Time from the start to the delivery of the last byte, for a finite flow that has completed.
    pub completion: Option<Duration>,
    /// Reason for the connection's early end.
    pub failure: Option<SocketEvent>,
    /// Observations from its packets, if real hosts send them.
    pub observed: Option<Box<ObservedFlow>>,
    /// The applications at source and sink.
    pub(super) applications: [Application; 2],
    /// Blocks received by the sink in datagrams.
    pub(super) received: Received,
    subject: Subject,
    /// Time of the last record of delivered bytes.
    last_row: Option<Instant>,
    /// Round-trip samples of the source's connection that were recorded.
    recorded_samples: u64,
    started: bool,
    /// The part of the world that keeps its time.
    pub(super) keeper: Keeper,
}

impl FlowRun {
    /// Creates a flow between `addresses`, source first, that waits for its start.
    pub fn new(
        id: FlowId,
        spec: Flow,
        addresses: [IpAddr; 2],
        port: u16,
        applications: [Application; 2],
        subject: Subject,
    ) -> FlowRun {
        FlowRun {
            id,
            stop: spec.stop,
            stream_bytes: match spec.traffic {
                Traffic::Bulk { bytes } | Traffic::Constant { bytes, .. } => bytes,
                _ => None,
            },
            timer: Timer::default(),
            nodes: [spec.from.0, spec.to.0],
            addresses,
            port,
            opener: active(&spec.traffic),
            mobiles: [None; 2],
            movers: Vec::new(),
            sockets: [None; 2],
            paths: Vec::new(),
            skipped: 0,
            progress: Progress::default(),
            in_custody: false,
            packets: [PacketCounts::default(); 2],
            data_to_sink: 0,
            arrivals: [None; 2],
            delays: Default::default(),
            dropped_packets: 0,
            completion: None,
            failure: None,
            observed: None,
            applications,
            received: Received::default(),
            subject,
            last_row: None,
            recorded_samples: 0,
            started: false,
            keeper: Keeper::Here,
            spec: Box::new(spec),
        }
    }

    /// Returns the time of the next [`FlowRun::start`] or [`FlowRun::tick`].
    pub fn deadline(&self) -> Option<Instant> {
        if self.failure.is_some() || self.keeper == Keeper::Elsewhere {
            return None;
        }
        if !self.started {
            return Some(self.spec.start);
        }
        self.applications[self.active() as usize].deadline()
    }

    /// Returns true if the flow had begun and was not done during a handover from `at` to `completed`. An observed one is done with its
    /// last packet.
    pub fn was_under_way(&self, at: Instant, completed: Instant) -> bool {
        if let Some(observed) = &self.observed {
            return observed.conversation.last_sent_at() >= at;
        }
        let done = self
            .completion
            .map(|completion| self.spec.start + completion);
        self.spec.start <= completed && [done, self.stop].iter().flatten().all(|&end| end >= at)
    }

    /// Returns the end that keeps the time.
    pub fn active(&self) -> Role {
        active(&self.spec.traffic)
    }

    /// Returns the node at an end.
    pub fn node_of(&self, role: Role) -> usize {
        match role {
            Role::Source => self.spec.from.0,
            Role::Sink => self.spec.to.0,
        }
    }

    /// Returns the end at a node.
    pub fn role_at(&self, node: usize) -> Role {
        if self.spec.from.0 == node {
            Role::Source
        } else {
            Role::Sink
        }
    }

    /// Returns the direction of a packet by its first sender. A packet from one of its ends goes to the other. A
    /// gateway's packets show their direction by their addresses, one of which may be that of a mobile abroad.
    pub(super) fn way(&self, node: usize, ip: &IpHeader) -> Way {
        let is_from_source = match &self.observed {
            Some(observed) => observed.opener_sends(node, ip),
            None if self.nodes.contains(&node) => node == self.nodes[0],
            None => ip.source == self.addresses[0] || ip.destination == self.addresses[1],
        };
        match is_from_source {
            true => Way::ToSink,
            false => Way::ToSource,
        }
    }

    /// Returns a measure of each [`Way`], the data's source first: for conversations, that end is found from the packets.
    pub(super) fn source_first<T>(&self, [there, back]: [T; 2]) -> [T; 2] {
        match self.observation() {
            Some((_, Side::Responder)) => [back, there],
            _ => [there, back],
        }
    }

    /// Returns its losses so far, for each [`Way`].
    pub(super) fn losses(&self) -> [LossCounts; 2] {
        self.packets.map(|counts| counts.lost)
    }

    /// Returns the address and port at which the passive end listens or answers.
    pub fn remote(&self, of: Role) -> Endpoint {
        Endpoint {
            address: self.addresses[of.other() as usize],
            port: self.port,
        }
    }

    /// Returns the bytes of headers before the payload of a packet, without options.
    fn header_length(&self) -> u32 {
        match (&self.spec.transport, self.addresses[0]) {
            (Transport::Tcp { .. }, IpAddr::V4(_)) => 40,
            (Transport::Tcp { .. }, IpAddr::V6(_)) => 60,
            (Transport::Other(transport), IpAddr::V4(_)) => 20 + transport.header_length(),
            (Transport::Other(transport), IpAddr::V6(_)) => 40 + transport.header_length(),
            (_, IpAddr::V4(_)) => 28,
            (_, IpAddr::V6(_)) => 48,
        }
    }

    /// Returns the length of a full packet on a link with an MTU of `mtu` bytes, and of the payload in it.
    pub fn full_packet(&self, mtu: u32) -> (u32, u32) {
        let headers = self.header_length();
        let wanted = match (&self.spec.transport, self.spec.traffic) {
            (Transport::Tcp { sender, .. }, _) => u32::from(sender.maximum_segment_size),
            (_, Traffic::Constant { packet_size, .. } | Traffic::OnOff { packet_size, .. }) => {
                packet_size
            }
            (_, Traffic::Ping { size, .. }) => size,
            _ => u32::MAX,
        };
        let payload = wanted.min(mtu.saturating_sub(headers));
        (payload + headers, payload)
    }

    /// Prepares the passive end: a listener, or ports.
    pub fn prepare(&self, hosts: [&mut Host; 2]) {
        let [source, sink] = hosts;
        if let Some(code_point) = self.spec.code_point {
            source.set_code_point(self.id, code_point);
            sink.set_code_point(self.id, code_point);
        }
        match &self.spec.transport {
            Transport::Tcp { sender, receiver } => match self.opener {
                Role::Source => sink.tcp_listen(self.port, receiver.clone(), 16, Some(self.id)),
                Role::Sink => source.tcp_listen(self.port, sender.clone(), 16, Some(self.id)),
            },
            Transport::Udp => {
                source.udp_bind(self.port);
                sink.udp_bind(self.port);
            }
            Transport::Other(transport) => match self.opener {
                Role::Source => transport.listen(sink, self.port, self.id),
                Role::Sink => transport.listen(source, self.port, self.id),
            },
            Transport::Icmp => {}
        }
    }

    /// Returns true if it has yet to start.
    pub fn is_to_start(&self) -> bool {
        !self.started
    }

    /// Starts at the end that opens; returns the connection if there is one. `rate` is that of the slowest link on the flow's way.
    pub fn start(&mut self, now: Instant, host: &mut Host, rate: DataRate) -> Option<SocketId> {
        self.started = true;
        let opened = self.open(now, host, rate);
        self.sockets[self.opener as usize] = opened;
        opened
    }

    /// Follows what the source hands over in another part of the world, without sending it.
    pub(super) fn follow(&mut self, now: Instant) {
        self.started = true;
        let source = &mut self.applications[self.active() as usize];
        let is_due = match self.spec.transport.connects() {
            true => source.tick(now),
            false => {
                let mut is_due = false;
                while source.take_datagram(now).is_some() {
                    is_due = true;
                }
                is_due
            }
        };
        if is_due {
            self.progress.start_waiting(now);
        }
    }

    /// Takes over another part's half of this flow: what `ends` (source and sink) are there, and its progress if `measured`
    /// there.
    pub(super) fn take_over(&mut self, other: FlowRun, ends: [bool; 2], measured: bool) {
        let [source, sink] = other.applications;
        for (end, application) in [source, sink].into_iter().enumerate() {
            if ends[end] {
                self.applications[end] = application;
                self.sockets[end] = other.sockets[end];
            }
        }
        if measured {
            self.progress = other.progress;
            self.completion = other.completion;
            self.received = other.received;
            self.skipped = other.skipped;
        }
        for (own, their) in self.packets.iter_mut().zip(&other.packets) {
            own.add(their);
        }
        for (own, their) in self.delays.iter_mut().zip(&other.delays) {
            own.merge(their);
        }
        self.data_to_sink += other.data_to_sink;
        self.dropped_packets += other.dropped_packets;
        self.failure = self.failure.or(other.failure);
    }

    /// Opens the connection, if the transport has one.
    fn open(&self, now: Instant, host: &mut Host, rate: DataRate) -> Option<SocketId> {
        let role = self.opener;
        let remote = self.remote(role);
        match &self.spec.transport {
            Transport::Tcp { sender, receiver } => {
                let profile = match role {
                    Role::Source => sender,
                    Role::Sink => receiver,
                };
                Some(host.tcp_connect(now, remote, profile, Some(self.id)))
            }
            Transport::Other(transport) => {
                let has_paths = !self.paths.is_empty();
                let opening = Opening {
                    local: has_paths.then_some(self.addresses[role as usize]),
                    remote,
                    flow: self.id,
                    rate,
                };
                transport.connect(now, host, &opening)
            }
            Transport::Udp | Transport::Icmp => None,
        }
    }

    /// Takes in the events at one end; returns the data delivered there.
    pub fn handle_event(
        &mut self,
        now: Instant,
        host: &mut Host,
        role: Role,
        event: HostEvent,
    ) -> Option<Delivered> {
        match event {
            HostEvent::Accepted { socket, .. } => {
                self.sockets[role as usize] = Some(socket);
                None
            }
            // Called directly, not as a trait object: bulk data takes this path.
            HostEvent::Socket { socket, event } if socket.is_tcp() => {
                let connection = host.connection_mut(socket)?;
                self.handle_socket(now, role, event, connection)
            }
            HostEvent::Socket { socket, event } => {
                let socket = host.socket_mut(socket)?;
                self.handle_socket(now, role, event, socket)
            }
            HostEvent::Datagram { payload, from, .. } => {
                self.handle_datagram(now, host, role, from, payload)
            }
            HostEvent::EchoReply { echo } => self.handle_reply(now, echo.sequence),
            HostEvent::Undelivered {
                error: IcmpError::PacketTooBig { mtu },
                ..
            } => {
                let payload = mtu.saturating_sub(self.header_length());
                self.applications[Role::Source as usize].shrink_to(payload);
                None
            }
            HostEvent::Undelivered { .. }
            | HostEvent::AddressAcquired { .. }
            | HostEvent::MobileBound
            | HostEvent::Layer(_)
            | HostEvent::ForKernel(_) => None,
        }
    }

    fn handle_socket<S: Socket + ?Sized>(
        &mut self,
        now: Instant,
        role: Role,
        event: SocketEvent,
        socket: &mut S,
    ) -> Option<Delivered> {
        match event {
            SocketEvent::Connected | SocketEvent::Writable => {
                self.fill(role, socket);
                None
            }
            SocketEvent::Readable => {
                let bytes = socket.read(now);
                self.take_bytes(now, role, bytes, socket)
            }
            SocketEvent::Skipped => {
                self.skipped = socket.skipped().unwrap_or(0);
                self.end_if_accounted(now);
                None
            }
            SocketEvent::PeerClosed => self.handle_peer_closed(now, role, socket),
            SocketEvent::Closed => None,
            SocketEvent::Refused | SocketEvent::Reset | SocketEvent::TimedOut => {
                self.failure.get_or_insert(event);
                None
            }
        }
    }

    /// Notes the delivery of bytes to the application; `more` is true if others are to follow.
    pub(super) fn delivered(&mut self, now: Instant, bytes: u64, more: bool) -> Delivered {
        Delivered {
            bytes,
            waited: self.progress.deliver(now, bytes, more),
        }
    }

    /// Notes the delivery of the last byte.
    pub(super) fn complete(&mut self, now: Instant) {
        self.completion
            .get_or_insert(now.saturating_since(self.spec.start));
    }

    /// Returns the time without a delivery while one is due. If the last data may be lost for good and its holder does not report
    /// it, the stall ends with the source.
    pub fn open_stall(&self, now: Instant) -> Duration {
        if let Some(stall) = self.observed_stall(now) {
            return stall;
        }
        let until = match self.spec.stop {
            Some(stop) if self.spec.transport.loses() && !self.is_datagrams() => now.min(stop),
            _ => now,
        };
        self.progress.current_stall(until)
    }

    /// Returns true if all of its data under way is in separate datagrams: in no connection, not even between gateways.
    #[inline]
    fn is_datagrams(&self) -> bool {
        !self.spec.transport.connects() && !self.in_custody && self.observed.is_none()
    }

    /// Ends a wait for datagrams that will not arrive, since all are lost or delivered and the source rests. Returns
    /// its length.
    #[inline]
    pub(super) fn end_silence(&mut self, now: Instant) -> Option<Duration> {
        let ends = self.progress.is_waiting()
            && self.is_datagrams()
            && self.packets.iter().all(PacketCounts::are_settled)
            && self.applications[Role::Source as usize].rests();
        ends.then(|| self.progress.give_up_waiting(now))
    }

    /// Returns the subject of its series.
    pub fn subject(&self) -> Subject {
        self.subject
    }

    /// Records the state of the source's connection.
    pub fn record_socket(&mut self, now: Instant, state: SocketState, recorder: &mut Recorder) {
        let sample = state.rtt_sample;
        let is_new = |&(samples, _): &(u64, Duration)| samples != self.recorded_samples;
        let sample = sample.filter(is_new);
        let seconds = |time: Option<Duration>| time.map(Duration::as_secs_f64);
        let bytes = |bytes: Option<u64>| bytes.map(|bytes| bytes as f64);
        let rate = state.sending_rate.map(|rate| rate.bits_per_second() as f64);
        let values = [
            (Quantity::CongestionWindow, bytes(state.congestion_window)),
            (
                Quantity::SlowStartThreshold,
                bytes(state.slow_start_threshold),
            ),
            (Quantity::BytesInFlight, bytes(state.bytes_in_flight)),
            (
                Quantity::RetransmissionTimeout,
                seconds(state.retransmission_timeout),
            ),
            (Quantity::SendingRate, rate),
            (Quantity::SmoothedRoundTripTime, seconds(state.smoothed_rtt)),
            (
                Quantity::RoundTripTime,
                seconds(sample.map(|(_, sample)| sample)),
            ),
        ];
        for (quantity, value) in values {
            if let Some(value) = value {
                recorder.series(now, self.subject, quantity, value);
            }
        }
        if let Some((samples, _)) = sample {
            self.recorded_samples = samples;
        }
    }

    /// Records a delivery: the bytes so far, at most once in each interval, and the
    /// round-trip time of a ping. (Of a connection its own samples are recorded instead.)
    pub fn record_delivery(&mut self, now: Instant, interval: Duration, recorder: &mut Recorder) {
        if self.last_row.is_none_or(|last| now >= last + interval) {
            self.last_row = Some(now);
            self.record_delivered_bytes(now, recorder);
        }
        let requests = self.applications[Role::Source as usize].requests();
        if let Some(rtt) = requests.and_then(|requests| requests.latest)
            && !self.spec.transport.connects()
        {
            let rtt = rtt.as_secs_f64();
            recorder.series(now, self.subject, Quantity::RoundTripTime, rtt);
        }
    }

    /// Records the bytes delivered.
    pub fn record_delivered_bytes(&self, now: Instant, recorder: &mut Recorder) {
        let bytes = self.progress.delivered_bytes as f64;
        recorder.series(now, self.subject, Quantity::DeliveredBytes, bytes);
    }
}
