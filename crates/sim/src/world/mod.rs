//! A world: hosts, links and flows in simulated time.
//!
//! The way of a packet: a host's [`Host::poll_transmit`] gives it to [`World::offer`], a link holds it and
//! gives its fate to [`World::handle_fate`], which hands it to the next link or to the host that it is for.
//! Links that were touched stand in a list and are polled before the next event, so that what a packet sets
//! off at one moment has happened before the next moment begins.

mod build;
pub mod flow;
mod handover;
pub mod progress;
mod routing;
pub mod summary;
#[cfg(test)]
mod tests;
mod traffic;

use crate::captures::Captures;
use crate::kernel::{EventQueue, Timer};
use crate::link::{DropReason, End, Fate, Link, Outcome};
use crate::packets::{PacketId, Packets};
use crate::record::{PacketRecord, Quantity, RecordError, Recorder, Subject, Tables};
use crate::scenario::model::Scenario;
use baton_proto::host::{Host, HostEvent, InterfaceId, SocketId, Verdict};
use baton_proto::packet::Packet;
use baton_proto::time::Instant;
use flow::{FlowRun, Role};
use handover::MobileRun;
use std::collections::{BTreeMap, VecDeque};
use summary::Summary;

/// A scenario under way.
pub struct World {
    scenario: Scenario,
    now: Instant,
    queue: EventQueue<Event>,
    packets: Packets,
    nodes: Vec<Node>,
    wires: Vec<Wire>,
    flows: Vec<FlowRun>,
    mobiles: Vec<MobileRun>,
    recorder: Recorder,
    captures: Option<Captures>,
    /// Links to poll before the next event.
    touched: VecDeque<usize>,
    events: u64,
}

/// What can happen next.
#[derive(Clone, Copy, Debug)]
enum Event {
    Link(u32),
    Host(u32),
    Flow(u32),
    Change(u32),
    Mobile(u32),
}

/// A host and what hangs on it.
#[derive(Debug)]
struct Node {
    host: Host,
    timer: Timer,
    /// For each interface the link and this node's end of it.
    interfaces: Vec<(usize, End)>,
    /// For each socket the flow that it belongs to, and which of its two ends it is.
    sockets: Vec<Option<(usize, Role)>>,
    /// For each listening or bound port, and each identifier of pings, its flow.
    ports: BTreeMap<u16, usize>,
}

/// A link and what it joins.
#[derive(Debug)]
struct Wire {
    link: Link,
    timer: Timer,
    touched: bool,
    /// Node and interface at ends A and B.
    ends: [(usize, InterfaceId); 2],
    /// Whether routes lead over it: always, but for the access links that a mobile is not attached to.
    in_use: bool,
    /// The mobile whose access link it is.
    mobile: Option<usize>,
    /// Whether the scenario lets it work.
    works: bool,
    /// Whether a handover has broken it.
    broken: bool,
    subjects: [Subject; 2],
}

impl World {
    /// The moment up to which the world has run.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Events handled so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// When something happens next.
    pub fn next_time(&self) -> Option<Instant> {
        self.queue.next_time()
    }

    /// The scenario that runs here.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Fails if something could not be recorded.
    pub fn check_record(&self) -> Result<(), RecordError> {
        if let Some(captures) = &self.captures {
            captures.check()?;
        }
        self.recorder.check()
    }

    /// Runs everything that happens up to and including `limit`, and then stands there; or stops after
    /// `most_events` at the last one's time. Returns whether `limit` was reached.
    pub fn run_until(&mut self, limit: Instant, most_events: u64) -> bool {
        let stop = self.events.saturating_add(most_events);
        while self.events < stop {
            let Some((at, event)) = self.queue.pop_until(limit) else {
                self.now = self.now.max(limit);
                return true;
            };
            self.now = at;
            self.events += 1;
            self.handle(event);
        }
        false
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Link(link) => {
                let wire = &mut self.wires[link as usize];
                if wire.timer.fired(self.now) {
                    self.touch(link as usize);
                }
            }
            Event::Host(node) => {
                let node = node as usize;
                if self.nodes[node].timer.fired(self.now) {
                    self.nodes[node].host.handle_timeout(self.now);
                    self.pump(node);
                }
            }
            Event::Flow(flow) => self.run_source(flow as usize),
            Event::Change(change) => self.apply_change(change as usize),
            Event::Mobile(mobile) => self.run_mobile(mobile as usize),
        }
        self.settle();
    }

    fn touch(&mut self, link: usize) {
        if !self.wires[link].touched {
            self.wires[link].touched = true;
            self.touched.push_back(link);
        }
    }

    /// Polls the links that were touched until nothing more happens at this moment.
    fn settle(&mut self) {
        while let Some(link) = self.touched.pop_front() {
            self.wires[link].touched = false;
            while let Some(fate) = self.wires[link].link.poll(self.now) {
                self.handle_fate(link, fate);
            }
            self.record_queues(link);
            let wire = &mut self.wires[link];
            let deadline = wire.link.next_deadline();
            wire.timer
                .arm(&mut self.queue, deadline, Event::Link(link as u32));
        }
    }

    /// Hands a packet to the link behind an interface.
    fn offer(&mut self, node: usize, interface: InterfaceId, id: PacketId) {
        let (link, end) = self.nodes[node].interfaces[interface.0];
        let travelling = &mut self.packets[id];
        travelling.offered = self.now;
        travelling.on = (link, end);
        let length = travelling.packet.wire_length();
        if let Some(captures) = &mut self.captures {
            captures.sent(self.now, link, end, &travelling.packet);
        }
        let wire = &mut self.wires[link];
        wire.link.offer(self.now, end, id, length);
        self.touch(link);
    }

    /// Records what waits at both ends of a link that was touched, as it stands when all is done at this
    /// moment.
    fn record_queues(&mut self, link: usize) {
        if !self.recorder.records_series() {
            return;
        }
        let wire = &self.wires[link];
        for end in [End::A, End::B] {
            let (packets, bytes) = wire.link.queue(end);
            let subject = wire.subjects[end.index()];
            let mut put =
                |quantity, value| self.recorder.series(self.now, subject, quantity, value);
            put(Quantity::QueuePackets, f64::from(packets));
            put(Quantity::QueueBytes, bytes as f64);
        }
    }

    fn handle_fate(&mut self, link: usize, fate: Fate) {
        self.record_packet(link, &fate);
        match fate.outcome {
            Outcome::Delivered { bit_errors } => {
                let (node, _) = self.wires[link].ends[1 - fate.from.index()];
                if let Some(captures) = &mut self.captures {
                    captures.received(fate.at, link, fate.from, &self.packets[fate.packet].packet);
                }
                self.arrive(node, fate.packet, bit_errors);
            }
            Outcome::Dropped(reason) => {
                let packet = self.packets.remove(fate.packet);
                self.count_drop(link, reason, &packet);
            }
        }
    }

    fn record_packet(&mut self, link: usize, fate: &Fate) {
        let travelling = &self.packets[fate.packet];
        let dropped = match fate.outcome {
            Outcome::Delivered { .. } => None,
            Outcome::Dropped(reason) => Some(reason),
        };
        self.recorder.packet(&PacketRecord {
            number: travelling.number,
            link,
            from: fate.from,
            sent: travelling.offered,
            decided: Some(fate.at),
            dropped,
            packet: &travelling.packet,
        });
    }

    fn arrive(&mut self, node: usize, id: PacketId, bit_errors: Vec<u32>) {
        let packet = &mut self.packets[id].packet;
        packet.add_bit_errors(bit_errors);
        match self.nodes[node].host.route(packet) {
            Verdict::Forward(interface) => self.offer(node, interface, id),
            Verdict::Local => {
                let packet = self.packets.remove(id);
                self.nodes[node].host.handle_packet(self.now, packet);
                self.pump(node);
            }
            Verdict::Discard => {
                self.packets.remove(id);
                self.pump(node);
            }
        }
    }

    fn count_drop(&mut self, link: usize, reason: DropReason, packet: &Packet) {
        if let Some(flow) = packet.flow {
            self.flows[flow.0 as usize].dropped_packets += 1;
        }
        let wire = &self.wires[link];
        if let Some(mobile) = wire.mobile
            && matches!(reason, DropReason::LinkDown | DropReason::Discarded)
        {
            self.mobiles[mobile].lose(link, wire.works, packet.flow);
        }
    }

    /// Lets a host say and send all that it has to, and its applications answer.
    fn pump(&mut self, node: usize) {
        loop {
            if let Some(event) = self.nodes[node].host.poll_event() {
                self.handle_host_event(node, event);
            } else if let Some((interface, packet)) = self.nodes[node].host.poll_transmit(self.now)
            {
                self.send(node, interface, packet);
            } else {
                // What found no route here, or was too long for it, has made an event instead of a packet.
                let Some(event) = self.nodes[node].host.poll_event() else {
                    break;
                };
                self.handle_host_event(node, event);
            }
        }
        while let Some(socket) = self.nodes[node].host.poll_changed() {
            self.record_connection(node, socket);
        }
        let deadline = self.nodes[node].host.poll_timeout();
        self.nodes[node]
            .timer
            .arm(&mut self.queue, deadline, Event::Host(node as u32));
    }

    fn send(&mut self, node: usize, interface: InterfaceId, packet: Packet) {
        if let Some(flow) = packet.flow {
            self.flows[flow.0 as usize].sent_packets += 1;
        }
        let id = self.packets.insert(packet);
        self.offer(node, interface, id);
    }

    fn handle_host_event(&mut self, node: usize, event: HostEvent) {
        let Some((flow, role)) = self.owner(node, &event) else {
            return;
        };
        if let HostEvent::Accepted { socket, .. } = event {
            self.assign_socket(node, socket.0 as usize, flow, role);
        }
        let delivered =
            self.flows[flow].handle_event(self.now, &mut self.nodes[node].host, role, event);
        self.note_delivery(flow, delivered);
        self.arm_flow(flow);
    }

    /// The flow that an event is about, and which of its ends.
    fn owner(&self, node: usize, event: &HostEvent) -> Option<(usize, Role)> {
        let state = &self.nodes[node];
        let port = match event {
            HostEvent::Tcp { socket, .. } => {
                return *state.sockets.get(socket.0 as usize)?;
            }
            HostEvent::Accepted { port, .. } | HostEvent::Datagram { port, .. } => *port,
            HostEvent::EchoReply { echo } => echo.identifier,
            HostEvent::Undelivered { quoted, .. } => quoted.source_port,
        };
        let flow = *state.ports.get(&port)?;
        Some((flow, self.flows[flow].role_at(node)))
    }

    /// Records a sender's state after something has touched it.
    fn record_connection(&mut self, node: usize, socket: SocketId) {
        if !self.recorder.records_series() {
            return;
        }
        if let Some(&Some((flow, Role::Source))) = self.nodes[node].sockets.get(socket.0 as usize)
            && let Some(connection) = self.nodes[node].host.connection(socket)
        {
            self.flows[flow].record_connection(self.now, connection, &mut self.recorder);
        }
    }

    fn assign_socket(&mut self, node: usize, socket: usize, flow: usize, role: Role) {
        let sockets = &mut self.nodes[node].sockets;
        if sockets.len() <= socket {
            sockets.resize(socket + 1, None);
        }
        sockets[socket] = Some((flow, role));
    }

    fn run_source(&mut self, flow: usize) {
        if !self.flows[flow].timer.fired(self.now) {
            return;
        }
        let node = self.flows[flow].active_node();
        let opened = self.flows[flow].run(self.now, &mut self.nodes[node].host);
        if let Some(socket) = opened {
            let role = self.flows[flow].role_at(node);
            self.assign_socket(node, socket.0 as usize, flow, role);
        }
        self.pump(node);
        self.arm_flow(flow);
    }

    fn arm_flow(&mut self, flow: usize) {
        let run = &mut self.flows[flow];
        run.timer
            .arm(&mut self.queue, run.deadline(), Event::Flow(flow as u32));
    }

    /// Tells the record and the mobiles of bytes that have come to an application.
    fn note_delivery(&mut self, flow: usize, delivered: Option<flow::Delivered>) {
        let Some(delivered) = delivered else { return };
        for mobile in self.flows[flow].mobiles.iter().flatten() {
            self.mobiles[*mobile].deliver(self.now, flow, &delivered);
        }
        if self.recorder.records_series() {
            self.flows[flow].record_delivery(
                self.now,
                self.scenario.record.interval,
                &mut self.recorder,
            );
        }
    }

    /// Ends the run at the moment that it has reached: what is still under way is recorded as such, and
    /// what was recorded is closed.
    pub fn finish(mut self) -> Result<(Summary, Tables), RecordError> {
        for travelling in self.packets.iter() {
            let (link, from) = travelling.on;
            self.recorder.packet(&PacketRecord {
                number: travelling.number,
                link,
                from,
                sent: travelling.offered,
                decided: None,
                dropped: None,
                packet: &travelling.packet,
            });
        }
        (0..self.mobiles.len()).for_each(|mobile| self.close_last_record(mobile));
        for flow in self
            .flows
            .iter()
            .filter(|flow| flow.progress.delivered_bytes > 0)
        {
            flow.record_delivered_bytes(self.now, &mut self.recorder);
        }
        let summary = summary::summarise(&self);
        if let Some(captures) = self.captures {
            captures.finish()?;
        }
        Ok((summary, self.recorder.finish()?))
    }
}
