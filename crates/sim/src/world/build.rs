//! Building of a world at time zero from a scenario.

use super::agents::{Directory, access_links};
use super::flow::{FlowRun, Role};
use super::observed::Observed;
use super::part::Part;
use super::ports::RealHosts;
use super::wires::{LeadsTo, Wires};
use super::{Event, Load, Net, Node, Probes, Script, World};
use crate::applications::Application;
use crate::captures::Captures;
use crate::kernel::{EventQueue, Timer};
use crate::packets::Packets;
use crate::record::Recorder;
use crate::rng::Seed;
use crate::scenario::model::{Flow, NodeIndex, Scenario};
use baton_proto::host::{Host, InlineVec};
use baton_proto::packet::FlowId;
use baton_proto::time::{Duration, Instant};
use std::collections::{BTreeMap, BTreeSet};

/// Port of the first flow of a host. Each further flow has the next port that is free at both its ends, so that a host
/// can distinguish its flows. This suffices for 60,535 flows of one host; with more, flows share ports and are confused
/// with one another.
const FIRST_PORT: u16 = 5001;

impl World {
    /// Creates a world at time zero. `captures` takes every packet at every interface, if given.
    pub fn new(scenario: Scenario, recorder: Recorder, captures: Option<Captures>) -> World {
        World::build(scenario, (recorder, captures), &[], None)
    }

    /// Creates one part of a world that is cut.
    pub(crate) fn new_part(scenario: Scenario, recorder: Recorder, part: Part) -> World {
        World::build(scenario, (recorder, None), &[], Some(Box::new(part)))
    }

    /// Creates a world at time zero in which the scenario's live hosts are real. Flows between two of them are left to
    /// their kernels.
    pub fn new_live(scenario: Scenario, recorder: Recorder, captures: Option<Captures>) -> World {
        let hosts = scenario.live.hosts.clone();
        World::build(scenario, (recorder, captures), &hosts, None)
    }

    fn build(
        scenario: Scenario,
        (mut recorder, captures): (Recorder, Option<Captures>),
        real: &[NodeIndex],
        part: Option<Box<Part>>,
    ) -> World {
        let seed = Seed(scenario.seed);
        let directory = Directory::new(&scenario);
        let mut nodes: Vec<Node> = (0..scenario.nodes.len())
            .map(|number| node(&scenario, &directory, number))
            .collect();
        let wires = Wires::new(&scenario, &mut nodes, seed, &mut recorder);
        let is_real = |node| real.contains(&node);
        real.iter().for_each(|host| nodes[host.0].real = true);
        let simulated = |flow: &Flow| !(is_real(flow.from) && is_real(flow.to));
        let started: Vec<bool> = scenario.flows.iter().map(simulated).collect();
        let flows = flows(
            (&scenario, &directory),
            &started,
            &mut nodes,
            seed,
            &mut recorder,
        );
        let signals = recorder.records_signals().then(Box::default);
        let net = Net {
            nodes,
            wires,
            packets: part.as_ref().map_or_else(Packets::default, |part| {
                Packets::of_part(part.number.into(), part.count.into())
            }),
            radios: Vec::new(),
            carriers: Vec::new(),
            coders: Vec::new(),
            queues: Vec::new(),
            mobiles: Vec::new(),
            real: RealHosts::default(),
            directory,
            behind_links: Vec::new(),
            behind_agents: Vec::new(),
            behind_cells: Vec::new(),
            private_addresses: Vec::new(),
            routers: None,
            touched: Vec::new(),
            touched_radios: Vec::new(),
            rerouting: Vec::new(),
            to_tell: Vec::new(),
        };
        let probes = Probes {
            recorder,
            captures,
            accounts: Default::default(),
            disturbed: Default::default(),
            observed: Observed::default(),
            drops: Default::default(),
            unlisted: Default::default(),
            arrived_over: None,
            signals,
        };
        let script = Script {
            notices: Vec::new(),
            runs: BTreeMap::new(),
            losses: scenario.losses.clone(),
        };
        let mut world = World {
            scenario,
            now: Instant::ZERO,
            queue: EventQueue::default(),
            events: 0,
            net,
            load: Load { flows },
            probes,
            script,
            part,
        };
        world.share_flows();
        world.introduce_links();
        world.add_radios();
        world.add_receptions();
        world.add_carriers();
        world.add_coders();
        world.add_queues();
        world.add_mobiles(real);
        world.add_agents();
        world.add_ports(real);
        world.add_path_agents();
        world.add_aerotp_gateways();
        world.add_dtn_gateways();
        world.add_paths();
        world.add_link_addresses();
        world.read_kernels();
        world.add_notifiers();
        world.add_ingress_filters();
        world.net.subscribe_to_media();
        world.net.install_routes();
        for (number, change) in world.scenario.changes.iter().enumerate() {
            world.queue.push(change.at, Event::Change(number as u32));
        }
        (0..world.load.flows.len())
            .filter(|&flow| started[flow])
            .for_each(|flow| world.arm_flow(flow));
        world.leave_to_others();
        world.start_agents();
        world.shrink();
        world
    }

    /// Frees the capacity reserved for growth.
    fn shrink(&mut self) {
        self.queue.shrink();
        self.net.packets.shrink();
        self.net.mobiles.shrink_to_fit();
        self.net.behind_agents.shrink_to_fit();
        if let Some(routers) = &mut self.net.routers {
            routers.shrink_to_fit();
        }
        for radio in &mut self.net.radios {
            radio.shrink();
        }
    }

    fn add_mobiles(&mut self, real: &[NodeIndex]) {
        let mut flows_at: BTreeMap<NodeIndex, Vec<usize>> = BTreeMap::new();
        for (number, flow) in self.load.flows.iter().enumerate() {
            for end in BTreeSet::from([flow.spec.from, flow.spec.to]) {
                flows_at.entry(end).or_default().push(number);
            }
        }
        let mobiles = self.scenario.mobiles.iter();
        let mobile_nodes: BTreeSet<NodeIndex> = mobiles.map(|mobile| mobile.node).collect();
        for number in 0..self.scenario.mobiles.len() {
            let mobile = &self.scenario.mobiles[number];
            let (node, is_router) = (mobile.node, mobile.is_router());
            // A mobile router has links besides, to the network behind it.
            let access = access_links(&self.scenario, &mobile.attachment);
            for link in self.net.links_of(node) {
                let of_radio = self.net.wires.place(link).is_some();
                if !is_router || of_radio || access.binary_search(&link).is_ok() {
                    let wire = &mut self.net.wires[link];
                    wire.belong_to(number);
                    wire.in_use = false;
                }
            }
            let behind = match is_router {
                true => self.net.nodes_behind(node.0, &mobile_nodes),
                false => Vec::new(),
            };
            let flows = self.load.take_flows(number, node, &behind, &flows_at);
            self.add_mobile(number, flows, real.contains(&node));
        }
    }
}

/// Returns the secret that keys a node's initial sequence numbers.
pub(super) fn node_secret(scenario: &Scenario, number: usize) -> [u8; 16] {
    let name = &scenario.nodes[number];
    Seed(scenario.seed).secret(&format!("node {name} secret"))
}

/// Creates a host at the address of its number, 10.0.0.1 and on, or at its home address.
fn node(scenario: &Scenario, directory: &Directory, number: usize) -> Node {
    let secret = node_secret(scenario, number);
    Node {
        host: Host::new(directory.ipv4(scenario, number).into(), secret),
        timer: Timer::default(),
        interfaces: InlineVec::default(),
        sockets: InlineVec::default(),
        apart: None,
        real: false,
        forwards: true,
    }
}

fn flows(
    (scenario, directory): (&Scenario, &Directory),
    started: &[bool],
    nodes: &mut [Node],
    seed: Seed,
    recorder: &mut Recorder,
) -> Vec<FlowRun> {
    let mut flows = Vec::with_capacity(scenario.flows.len());
    let mut next_ports = vec![FIRST_PORT; nodes.len()];
    for (number, spec) in scenario.flows.iter().enumerate() {
        let mut spec = spec.clone();
        let mut draws = seed.stream(&format!("flow {} start", spec.name));
        spec.start += Duration::from_nanos(draws.below(spec.start_jitter.as_nanos().max(1)));
        let [source, sink] = [spec.from.0, spec.to.0];
        let addresses = directory.flow_addresses(scenario, [source, sink]);
        let applications = [Role::Source, Role::Sink].map(|role| {
            let stream = seed.stream(&format!("flow {} application", spec.name));
            Application::new(&spec.traffic, (spec.start, spec.stop), role, stream)
        });
        let subject = recorder.subject(&format!("flow {}", spec.name));
        let port = next_ports[source].max(next_ports[sink]);
        next_ports[source] = port.checked_add(1).unwrap_or(FIRST_PORT);
        next_ports[sink] = next_ports[source];
        let id = FlowId(number as u32);
        let mut run = FlowRun::new(id, spec, addresses, port, applications, subject);
        if let Some(transport) = run.spec.transport.other()
            && transport.is_opened_by_mobile()
        {
            let is_mobile = |node| scenario.mobiles.iter().any(|mobile| mobile.node == node);
            let ends = [run.spec.from, run.spec.to].map(is_mobile);
            run.opener = match (run.active(), ends) {
                (Role::Sink, _) | (_, [false, true]) => Role::Sink,
                _ => Role::Source,
            };
        }
        run.in_custody = !scenario.aerotp_gateways.is_empty();
        for end in [source, sink] {
            nodes[end].apart().ports.insert(run.port, number);
        }
        if started[number]
            && let Ok([source, sink]) = nodes.get_disjoint_mut([source, sink])
        {
            run.prepare([&mut source.host, &mut sink.host]);
        }
        flows.push(run);
    }
    flows
}

impl Net {
    /// Returns the nodes of the network behind a mobile router, ascending: those reachable without a mobile's access
    /// links.
    fn nodes_behind(&self, router: usize, mobile_nodes: &BTreeSet<NodeIndex>) -> Vec<usize> {
        let mut reached = BTreeSet::from([router]);
        let mut next = vec![router];
        while let Some(node) = next.pop() {
            for &leads_to in self.nodes[node].interfaces.iter() {
                let LeadsTo::Link(link, _) = leads_to else {
                    continue;
                };
                let link = link as usize;
                let (far, _) = self.wires.far_from(link, node);
                let is_mobile = mobile_nodes.contains(&NodeIndex(far));
                if self.wires[link].mobile().is_none() && !is_mobile && reached.insert(far) {
                    next.push(far);
                }
            }
        }
        reached.remove(&router);
        reached.into_iter().collect()
    }
}

impl Load {
    /// Links a mobile to the flows concerned by its handovers: its own, and those of the nodes behind it. `flows_at` has the flows
    /// of each node.
    fn take_flows(
        &mut self,
        number: usize,
        node: NodeIndex,
        behind: &[usize],
        flows_at: &BTreeMap<NodeIndex, Vec<usize>>,
    ) -> Vec<usize> {
        let own = flows_at.get(&node).into_iter().flatten();
        for &flow in own.clone() {
            let slot = usize::from(self.flows[flow].mobiles[0].is_some());
            self.flows[flow].mobiles[slot] = Some(number);
        }
        let within = |end: NodeIndex| end == node || behind.binary_search(&end.0).is_ok();
        let of_others = behind
            .iter()
            .flat_map(|&inner| flows_at.get(&NodeIndex(inner)));
        let of_others = of_others.flatten().filter(|&&flow| {
            // Packets within the network are not affected.
            let spec = &self.flows[flow].spec;
            within(spec.from) != within(spec.to)
        });
        let taken: BTreeSet<usize> = own.chain(of_others).copied().collect();
        for &flow in &taken {
            self.flows[flow].movers.push(number);
        }
        taken.into_iter().collect()
    }
}
