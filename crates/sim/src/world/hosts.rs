//! Hosts and the flows' applications on them.

use super::flow::{Delivered, Role};
use super::part::Keeper;
use super::radio::is_for_all;
use super::{Event, LeadsTo, World};
use crate::link::End;
use crate::packets::PacketId;
use baton_proto::host::{HostEvent, Socket, SocketId};
use baton_proto::interface::InterfaceId;
use baton_proto::rate::DataRate;

impl World {
    /// Lets a host send everything that is due, and its applications answer.
    pub(super) fn pump(&mut self, node: usize) {
        self.drive(node);
        loop {
            while let Some(event) = self.net.nodes[node].host.poll_event() {
                self.handle_host_event(node, event);
            }
            self.transmit(node);
            // A packet without a route here, or too long for it, has made an event instead.
            if let Some(event) = self.net.nodes[node].host.poll_event() {
                self.handle_host_event(node, event);
            } else if !self.net.nodes[node].host.may_transmit() {
                break;
            }
        }
        self.drive(node);
        self.settle_accounts(node);
        while let Some(socket) = self.net.nodes[node].host.poll_changed() {
            self.record_socket(node, socket);
        }
        // A context from another gateway brings deadlines that passed on the way: time never decreases.
        let deadline = self.net.nodes[node].host.poll_timeout();
        let deadline = deadline.map(|deadline| deadline.max(self.now));
        self.net.nodes[node]
            .timer
            .arm(&mut self.queue, deadline, Event::Host(node as u32));
    }

    /// Sends all that a host has to send now.
    pub(super) fn transmit(&mut self, node: usize) {
        while let Some((interface, packet)) = self.net.nodes[node].host.poll_transmit(self.now) {
            // At once: a packet is large, and each function it passes through copies it.
            let id = self.net.packets.insert(packet);
            self.send(node, interface, id);
        }
    }

    /// Counts a host's own packet and hands it to the link behind an interface; a multicast or broadcast packet in a cell, to the link
    /// of each aircraft there.
    pub(super) fn send(&mut self, node: usize, interface: InterfaceId, id: PacketId) {
        let to = self.net.packets[id].packet.ip.destination;
        if let LeadsTo::Cell(cell) = self.net.nodes[node].interfaces[interface.0]
            && is_for_all(to)
        {
            let packet = self.net.packets.remove(id);
            for link in self.net.links_in(cell) {
                let id = self.net.packets.insert(packet.clone());
                self.send_by(node, Some((link, End::A)), id);
            }
            return;
        }
        let exit = self.net.exit(node, interface, to);
        self.send_by(node, exit, id);
    }

    fn send_by(&mut self, node: usize, exit: Option<(usize, End)>, id: PacketId) {
        let way = self.account_sent(node, id);
        // A packet out of a tunnel has crossed the tunnel's access link.
        let crossed = self.probes.arrived_over;
        let travelling = &mut self.net.packets[id];
        if let Some(link) = crossed
            && travelling.packet.identity_within().is_some()
        {
            travelling.cross_access(link);
        }
        self.net.packets.identify(id, self.now, way);
        let Some((link, end)) = exit else {
            return self.give_up(id);
        };
        if self.probes.signals.is_some() {
            self.begin_signal(node, link, id);
        }
        if !self.script.losses.is_empty() && self.is_to_be_lost(id) {
            return self.lose_at_sender((link, end), id);
        }
        self.offer_to((link, end), id);
    }

    fn handle_host_event(&mut self, node: usize, event: HostEvent) {
        if let HostEvent::Layer(words) = event {
            return self.record_layer_signal(node, words);
        }
        if let HostEvent::MobileBound = event {
            return self.reroute_at(node);
        }
        if let HostEvent::AddressAcquired { interface, address } = event {
            if let LeadsTo::Radio(aircraft) = self.net.nodes[node].interfaces[interface.0] {
                self.net.learn_address(aircraft, address);
            }
            return;
        }
        if self.net.nodes[node].host.has_kernel() {
            return self.handle_event_for_kernel(node, event);
        }
        let Some((flow, role)) = self.owner(node, &event) else {
            return;
        };
        if let HostEvent::Accepted { socket, .. } = event {
            self.assign_socket(node, socket, flow, role);
        }
        let delivered = self.load.flows[flow].handle_event(
            self.now,
            &mut self.net.nodes[node].host,
            role,
            event,
        );
        self.note_delivery(flow, delivered);
        self.arm_flow(flow);
    }

    #[cold]
    fn handle_event_for_kernel(&mut self, node: usize, event: HostEvent) {
        match event {
            HostEvent::ForKernel(packet) => self.deliver_above_agents(node, *packet),
            HostEvent::Undelivered { error, quoted } => self.tell_kernel(node, error, quoted),
            _ => {}
        }
    }

    /// Returns the flow that an event concerns, and its end here.
    fn owner(&self, node: usize, event: &HostEvent) -> Option<(usize, Role)> {
        let state = &self.net.nodes[node];
        let port = match event {
            HostEvent::Socket { socket, .. } => return state.flow_of(*socket),
            HostEvent::Accepted { port, .. } | HostEvent::Datagram { port, .. } => *port,
            HostEvent::EchoReply { echo } => echo.identifier,
            HostEvent::Undelivered { quoted, .. } => quoted.source_port,
            HostEvent::AddressAcquired { .. }
            | HostEvent::MobileBound
            | HostEvent::Layer(_)
            | HostEvent::ForKernel(_) => return None,
        };
        let flow = state.flow_at_port(port)?;
        Some((flow, self.load.flows[flow].role_at(node)))
    }

    /// Records a sender's state after an event.
    fn record_socket(&mut self, node: usize, socket: SocketId) {
        if !self.probes.recorder.records_series() {
            return;
        }
        let node = &self.net.nodes[node];
        if let Some((flow, Role::Source)) = node.flow_of(socket)
            && let Some(state) = node.host.socket(socket).map(Socket::state)
        {
            let recorder = &mut self.probes.recorder;
            self.load.flows[flow].record_socket(self.now, state, recorder);
        }
    }

    fn assign_socket(&mut self, node: usize, socket: SocketId, flow: usize, role: Role) {
        self.net.nodes[node].assign(socket, flow, role);
        if socket.is_tcp() {
            self.install_remedies(node, socket, flow, role);
        }
    }

    pub(super) fn run_source(&mut self, flow: usize) {
        if !self.load.flows[flow].timer.fired(self.now) {
            return;
        }
        if self.load.flows[flow].keeper != Keeper::Here {
            return self.follow_source(flow);
        }
        if self.load.flows[flow].is_to_start() {
            self.start_flow(flow);
        }
        let run = &mut self.load.flows[flow];
        let node = run.node_of(run.active());
        run.tick(self.now, &mut self.net.nodes[node].host);
        self.pump(node);
        if self.load.flows[flow].is_stopped() {
            self.end_silence(flow);
        }
        self.arm_flow(flow);
    }

    /// Opens a flow's connection, at the end that opens it.
    fn start_flow(&mut self, flow: usize) {
        let run = &self.load.flows[flow];
        let (role, node) = (run.opener, run.node_of(run.opener));
        let is_elsewhere = role != run.active();
        let rate = match run.spec.transport.other() {
            Some(_) => self.slowest_on_way(flow, run.paths.first()),
            None => DataRate::ZERO,
        };
        let host = &mut self.net.nodes[node].host;
        if let Some(socket) = self.load.flows[flow].start(self.now, host, rate) {
            self.assign_socket(node, socket, flow, role);
            self.open_paths(flow, socket);
        }
        if is_elsewhere {
            self.pump(node);
        }
    }

    pub(super) fn arm_flow(&mut self, flow: usize) {
        let run = &mut self.load.flows[flow];
        run.timer
            .arm(&mut self.queue, run.deadline(), Event::Flow(flow as u32));
    }

    /// Reports bytes delivered to an application to the record and the mobiles.
    pub(super) fn note_delivery(&mut self, flow: usize, delivered: Option<Delivered>) {
        let Some(delivered) = delivered else { return };
        for &mobile in &self.load.flows[flow].movers {
            self.net.mobiles[mobile].deliver(self.now, flow, &delivered, self.probes.arrived_over);
        }
        if self.probes.recorder.records_series() {
            self.load.flows[flow].record_delivery(
                self.now,
                self.scenario.record.interval,
                &mut self.probes.recorder,
            );
        }
    }
}
