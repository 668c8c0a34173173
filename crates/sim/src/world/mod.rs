//! A world: hosts, links and flows in simulated time.
//!
//! The way of a packet: [`World::offer`] gets it from a host's [`Host::poll_transmit`], a link holds it and passes its
//! fate to [`World::handle_fate`], which hands it to the next link or to its destination host. Touched links are in a
//! list and are polled before the next event, so that all effects of a packet at one moment occur before the next
//! moment begins.

mod accounts;
mod ad_hoc;
mod aerotp_gateways;
pub(crate) mod agents;
mod association;
mod build;
mod by_hand;
mod carriers;
mod classes;
mod coders;
mod delays;
mod disturbed;
mod dtn_gateways;
pub mod flow;
mod gateways;
mod handover;
mod hosts;
mod ingress_filters;
mod losses;
mod media;
mod notifiers;
pub mod observed;
pub mod overload;
pub mod packet_counts;
pub(crate) mod part;
mod paths;
pub mod ports;
pub mod progress;
pub(crate) mod radio;
mod reception;
mod remedies;
pub(crate) mod routing;
mod service_access;
mod signals;
mod status;
pub mod summary;

impl Net {
    /// Returns the mobile at a node.
    pub(crate) fn mobile_at(&self, node: usize) -> Option<usize> {
        self.directory.mobile_at(node)
    }

    /// Returns the links of a node, in the order of the scenario; for an aircraft on a radio network, its link to its present cell. Cells
    /// do not count among their base station's links.
    fn links_of(&self, node: NodeIndex) -> Vec<usize> {
        let interfaces = self.nodes[node.0].interfaces.iter();
        let links = interfaces.filter_map(|&leads_to| match leads_to {
            LeadsTo::Link(link, _) => Some(link as usize),
            LeadsTo::Radio(aircraft) => Some(self.wires.present(aircraft)),
            LeadsTo::Cell(_) => None,
        });
        links.collect()
    }

    /// Returns the link of the mobile at a node to its present or last cell of a radio network that it is on.
    pub(crate) fn present_in(&self, radio: usize, node: usize) -> usize {
        let mut interfaces = self.nodes[node].interfaces.iter();
        let aircraft = interfaces.find_map(|&leads_to| match leads_to {
            LeadsTo::Radio(aircraft) if aircraft.radio as usize == radio => Some(aircraft),
            _ => None,
        });
        self.wires
            .present(aircraft.expect("a mobile on the network"))
    }

    /// Returns the link, and its end, by which a packet for a neighbour leaves an interface; none if no neighbour has the address.
    // Once a hop: the compiler does not inline it by itself.
    #[inline(always)]
    fn exit(&self, node: usize, interface: InterfaceId, to: IpAddr) -> Option<(usize, End)> {
        match self.nodes[node].interfaces[interface.0] {
            LeadsTo::Link(link, end) => Some((link as usize, end)),
            LeadsTo::Radio(aircraft) => Some((self.wires.present(aircraft), End::B)),
            LeadsTo::Cell(cell) => Some((self.link_to_neighbor(cell, to)?, End::A)),
        }
    }

    // Twice a hop: the compiler does not inline it by itself.
    #[inline(always)]
    fn touch(&mut self, link: usize) {
        let wire = &mut self.wires[link];
        if !wire.touched {
            wire.touched = true;
            self.touched.push(link);
        }
    }
}

#[cfg(test)]
mod tests;
mod traffic;
mod transit;
pub(crate) mod wires;

use crate::captures::Captures;
use crate::kernel::{EventQueue, Timer};
use crate::link::End;
use crate::link::demand::Carrier;
use crate::packets::Packets;
use crate::position::line::LineRun;
use crate::record::{PacketRecord, RecordError, Recorder, Tables};
use crate::scenario::model::{NodeIndex, Scenario, SignallingLoss};
use agents::Directory;
use baton_proto::host::{Host, InlineVec, SocketId};
use baton_proto::interface::{InterfaceId, LinkEvent};
use baton_proto::time::Instant;
use core::net::IpAddr;
use flow::{FlowRun, Role};
use handover::{MobileRun, Unlisted};
use observed::Observed;
use overload::Drops;
use part::Part;
use ports::{BehindAgent, BehindLink, PortId, RealHosts};
use radio::BehindCell;
use radio::RadioRun;
use reception::ScheduledLinkEvent;
use signals::SignalsUnderWay;
use std::collections::BTreeMap;
use summary::Summary;
use wires::{LeadsTo, Wires};

/// A running scenario.
pub struct World {
    pub(crate) scenario: Scenario,
    pub(crate) now: Instant,
    queue: EventQueue<Event>,
    /// Events handled so far.
    events: u64,
    pub(crate) net: Net,
    load: Load,
    probes: Probes,
    script: Script,
    /// The part of the world that this is, if it is cut.
    part: Option<Box<Part>>,
}

/// Nodes, links and packets, and their connections.
pub(crate) struct Net {
    pub(crate) nodes: Vec<Node>,
    pub(crate) wires: Wires,
    packets: Packets,
    radios: Vec<RadioRun>,
    carriers: Vec<Carrier>,
    /// Links whose codes follow the bit error rate.
    coders: Vec<coders::Coder>,
    /// Queues at links' entrances that are open for handovers only.
    queues: Vec<service_access::Queue>,
    /// Mobiles, whose routes follow them, with the record of their handovers.
    pub(crate) mobiles: Vec<MobileRun>,
    real: RealHosts,
    /// Locations of mobiles and addresses.
    pub(crate) directory: Directory,
    /// Addresses behind one interface, whatever link is in use.
    pub(crate) behind_links: Vec<BehindLink>,
    behind_agents: Vec<BehindAgent>,
    /// Networks behind one cell, in the same way.
    pub(crate) behind_cells: Vec<BehindCell>,
    /// Addresses that are routed in a domain only.
    pub(crate) private_addresses: Vec<routing::InDomain>,
    /// Nodes whose routes follow mobiles; none if an address is at several nodes.
    routers: Option<Vec<usize>>,
    /// Links to poll before the next event, in this order; those at the front may be done.
    touched: Vec<usize>,
    /// Radio networks to poll when the links are done.
    touched_radios: Vec<usize>,
    /// Links that mobiles have left, whose waiting packets follow each binding at a home agent there.
    rerouting: Vec<usize>,
    /// Events that access links have to report to the network's ends.
    to_tell: Vec<(usize, LinkEvent)>,
}

/// Applications, each with both ends of its flow.
struct Load {
    flows: Vec<FlowRun>,
}

/// Probes, which only observe.
struct Probes {
    recorder: Recorder,
    captures: Option<Captures>,
    accounts: accounts::Accounts,
    disturbed: disturbed::Disturbed,
    observed: Observed,
    drops: Drops,
    /// Handovers that are only counted.
    unlisted: Unlisted,
    /// The access link over which the packet being processed by a host came.
    arrived_over: Option<usize>,
    /// Messages under way, where signals are recorded.
    signals: Option<Box<SignalsUnderWay>>,
}

/// The scenario's script, except for its changes, which are in the scenario.
struct Script {
    /// Coming events of links whose state follows from their mobile's position.
    notices: Vec<ScheduledLinkEvent>,
    /// The runs of those links' mobiles, as drawn.
    runs: BTreeMap<usize, LineRun>,
    /// Signalling messages still to be lost.
    losses: Vec<SignallingLoss>,
}

/// A possible next event.
#[derive(Clone, Copy, Debug)]
enum Event {
    Link(u32),
    Host(u32),
    Flow(u32),
    Change(u32),
    Radio(u32),
    Notice(u32),
    Carrier(u32),
    Coder(u32),
    Queue(u32),
}

/// A host and its connections. Fields used for every packet come first, beside the first fields of the host.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Node {
    timer: Timer,
    /// Medium behind each interface.
    pub(crate) interfaces: InlineVec<LeadsTo>,
    /// Flow and end of each TCP connection.
    sockets: InlineVec<Option<(u32, Role)>>,
    /// True if a kernel takes its place.
    real: bool,
    /// True if it forwards packets: every node except hosts with several paths.
    forwards: bool,
    pub(crate) host: Host,
    /// `None` while it is empty.
    apart: Option<Box<Apart>>,
}

const _: () = assert!(size_of::<Node>() == 448, "seven cache lines");

/// State that most nodes of a fleet do not have: of flows that end there, or of a kernel.
#[derive(Debug, Default)]
struct Apart {
    /// Flow of each listening or bound port, and of each identifier of pings.
    ports: BTreeMap<u16, usize>,
    /// Flow and end of each connection beside TCP's.
    sockets: BTreeMap<SocketId, (u32, Role)>,
    /// The kernel's interface, if the node is real and not a mobile.
    port: Option<PortId>,
}

impl Node {
    fn apart(&mut self) -> &mut Apart {
        self.apart.get_or_insert_default()
    }

    fn port(&self) -> Option<PortId> {
        self.apart.as_ref()?.port
    }

    fn flow_at_port(&self, port: u16) -> Option<usize> {
        self.apart.as_ref()?.ports.get(&port).copied()
    }

    /// Returns the flow of a connection, and its end here.
    fn flow_of(&self, socket: SocketId) -> Option<(usize, Role)> {
        let (flow, role) = match socket.is_tcp() {
            true => (*self.sockets.get(socket.0 as usize)?)?,
            false => *self.apart.as_ref()?.sockets.get(&socket)?,
        };
        Some((flow as usize, role))
    }

    /// Notes the flow of a connection, and its end here.
    fn assign(&mut self, socket: SocketId, flow: usize, role: Role) {
        let owner = (flow as u32, role);
        if !socket.is_tcp() {
            self.apart().sockets.insert(socket, owner);
            return;
        }
        let place = socket.0 as usize;
        while self.sockets.len() <= place {
            self.sockets.push(None);
        }
        self.sockets[place] = Some(owner);
    }
}

impl World {
    /// Returns the time up to which the world has run.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Returns the number of events handled so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Returns the time of the next event.
    pub fn next_time(&mut self) -> Option<Instant> {
        self.queue.next_time()
    }

    /// Returns the scenario that runs here.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Returns an error if a record could not be written.
    pub fn check_record(&self) -> Result<(), RecordError> {
        if let Some(captures) = &self.probes.captures {
            captures.check()?;
        }
        self.probes.recorder.check()
    }

    /// Hands on the rows recorded so far, if a thread of its own writes them.
    pub fn flush_record(&mut self) {
        if let Some(captures) = &mut self.probes.captures {
            captures.flush();
        }
        self.probes.recorder.flush();
    }

    /// Runs all events up to and including `limit`, and then stays there; or stops after
    /// `most_events` at the last one's time. Returns true if `limit` was reached.
    pub fn run_until(&mut self, limit: Instant, most_events: u64) -> bool {
        let stop = self.events.saturating_add(most_events);
        while self.events < stop {
            if self.queue.is_crowded() {
                self.drop_superseded();
            }
            let Some((at, event)) = self.queue.pop_until(limit) else {
                self.now = self.now.max(limit);
                return true;
            };
            debug_assert!(
                at >= self.now,
                "time runs back from {:?} to {at:?}",
                self.now
            );
            self.now = at;
            self.events += 1;
            self.handle(event);
        }
        false
    }

    fn drop_superseded(&mut self) {
        let net = &self.net;
        self.queue.drop_superseded(|at, event| match *event {
            Event::Link(link) => net.wires.plain(link as usize).timer.awaits(at),
            Event::Host(node) => net.nodes[node as usize].timer.awaits(at),
            // A world has few of the others.
            _ => true,
        });
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Link(link) => {
                let link = link as usize;
                if self.net.wires.plain_mut(link).timer.fired(self.now) {
                    self.settle_link(link);
                }
            }
            Event::Host(node) => {
                let node = node as usize;
                if self.net.nodes[node].timer.fired(self.now) {
                    self.measure(node);
                    self.net.nodes[node].host.handle_timeout(self.now);
                    self.pump(node);
                }
            }
            Event::Flow(flow) => self.run_source(flow as usize),
            Event::Change(change) => self.apply_change(change as usize),
            Event::Radio(radio) => self.run_radio(radio as usize),
            Event::Notice(number) => self.handle_scheduled_event(number as usize),
            Event::Carrier(carrier) => self.run_carrier(carrier as usize),
            Event::Coder(coder) => self.run_coder(coder as usize),
            Event::Queue(queue) => self.run_queue(queue as usize),
        }
        self.settle();
    }

    /// Polls the links and radio networks that were touched until no more events happen at this moment.
    // Once an event: the compiler does not inline it by itself.
    #[inline(always)]
    fn settle(&mut self) {
        self.settle_links();
        while let Some(radio) = self.net.touched_radios.pop() {
            self.poll_radio(radio);
            self.settle_links();
        }
    }

    // Once an event: the compiler does not inline it by itself.
    #[inline(always)]
    fn settle_links(&mut self) {
        let mut done = 0;
        while let Some(&link) = self.net.touched.get(done) {
            done += 1;
            match self.net.wires.find_plain(link) {
                Some(wire) => {
                    wire.touched = false;
                    self.settle_link(link);
                }
                None => self.settle_aircraft(link),
            }
        }
        self.net.touched.clear();
    }

    /// Takes out what a link between two nodes has to tell at this moment, and notes when it has more.
    fn settle_link(&mut self, link: usize) {
        // Looked up again only after a call that may change it: most touched links have nothing to tell.
        let mut wire = self.net.wires.plain_mut(link);
        let is_access = wire.mobile().is_some();
        let reports = wire.reports;
        if reports {
            self.tell_failures(link);
            wire = self.net.wires.plain_mut(link);
        }
        while let Some(fate) = wire.link.poll(self.now) {
            self.handle_fate(link, fate);
            wire = self.net.wires.plain_mut(link);
        }
        if reports || is_access || self.probes.recorder.records_queues() {
            self.report_settled(link, reports, is_access);
            wire = self.net.wires.plain_mut(link);
        }
        let deadline = wire.link.next_deadline();
        wire.timer
            .arm(&mut self.queue, deadline, Event::Link(link as u32));
    }

    /// Settles an aircraft's link, which has nothing to poll.
    #[cold]
    fn settle_aircraft(&mut self, link: usize) {
        let wire = &mut self.net.wires[link];
        wire.touched = false;
        let is_access = wire.mobile().is_some();
        self.report_settled(link, false, is_access);
    }

    /// Reports the state of a polled link to those that want it.
    fn report_settled(&mut self, link: usize, reports: bool, is_access: bool) {
        if reports {
            self.tell_queues(link);
        }
        if is_access {
            self.report_drained(link);
        }
        if self.probes.recorder.records_queues() {
            self.record_queues(link);
        }
    }

    /// Ends the run at the time that it has reached, and closes the record.
    pub fn finish(mut self) -> Result<(Summary, Tables), RecordError> {
        self.record_end();
        let summary = self.summary();
        if let Some(captures) = self.probes.captures {
            captures.finish()?;
        }
        Ok((summary, self.probes.recorder.finish()?))
    }

    /// Records the packets and messages still under way at the end of the run, and the end of flows and handovers.
    pub(crate) fn record_end(&mut self) {
        for travelling in self.net.packets.iter() {
            self.probes.recorder.packet(&PacketRecord {
                number: travelling.number(),
                link: travelling.link.get(),
                from: travelling.from,
                sent: travelling.offered,
                decided: None,
                dropped: None,
                packet: &travelling.packet,
            });
        }
        self.probes.end_signals();
        (0..self.net.mobiles.len()).for_each(|mobile| self.close_last_record(mobile));
        for flow in self
            .load
            .flows
            .iter()
            .filter(|flow| flow.progress.delivered_bytes > 0)
        {
            flow.record_delivered_bytes(self.now, &mut self.probes.recorder);
        }
    }

    /// Sums up the world at the moment that it has reached.
    pub(crate) fn summary(&self) -> Summary {
        summary::summarise(self)
    }

    /// Returns the recorder.
    pub(crate) fn recorder_mut(&mut self) -> &mut Recorder {
        &mut self.probes.recorder
    }
}
