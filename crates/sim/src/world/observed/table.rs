//! Assignment of packets to conversations.

use super::super::flow::{FlowRun, Role};
use super::super::{Net, Node, World};
use super::moved::Moved;
use super::{NoConversation, ObservedFlow};
use crate::applications::Application;
use crate::observe::{FiveTuple, PacketView};
use crate::rng::Seed;
use crate::scenario::model::{Flow, NodeIndex, RadioService, Traffic, Transport};
use baton_proto::packet::FlowId;
use baton_proto::tcp::profile::Profile;
use baton_proto::time::Duration;
use baton_proto::wire::protocol;
use core::net::IpAddr;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Most conversations with a flow of their own. Later ones share one flow, [`OTHERS`].
const MOST_CONVERSATIONS: usize = 10_000;
/// Name of the common flow of all further conversations.
const OTHERS: &str = "others";

/// Packets at real hosts that belong to no conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unassigned {
    /// Fragments other than the first of their packet.
    pub later_fragments: u64,
    /// ICMP other than echo.
    pub control: u64,
    /// Shorter than their headers say.
    pub malformed: u64,
    /// Delivered with bit errors, so that the receiving kernel drops them.
    pub damaged: u64,
}

impl Unassigned {
    pub(super) fn count(&mut self, reason: NoConversation) {
        match reason {
            NoConversation::LaterFragment => self.later_fragments += 1,
            NoConversation::Control => self.control += 1,
            NoConversation::Malformed => self.malformed += 1,
        }
    }
}

/// The conversations, by 5-tuple.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub unassigned: Unassigned,
    /// Flows by the 5-tuples of their packets at either end.
    flows: BTreeMap<FiveTuple, usize>,
    /// The 5-tuple found last, with its flow: packets come in trains.
    last: Option<(FiveTuple, usize)>,
    /// Number of conversations with a flow.
    conversations: usize,
    others: Option<usize>,
    /// Number of conversations of each protocol and server's port.
    ordinals: BTreeMap<(u8, u16), u32>,
}

impl Table {
    pub fn find(&mut self, tuple: FiveTuple) -> Option<usize> {
        if let Some((last, flow)) = self.last
            && last == tuple
        {
            return Some(flow);
        }
        let flow = *self.flows.get(&tuple)?;
        self.last = Some((tuple, flow));
        Some(flow)
    }

    fn insert(&mut self, tuple: FiveTuple, flow: usize) {
        self.flows.insert(tuple, flow);
        self.last = Some((tuple, flow));
    }
}

impl World {
    /// Returns the flow of a packet that a real host sends; a new one for the first of a conversation.
    pub(super) fn flow_of(&mut self, node: usize, view: &PacketView) -> usize {
        let tuple = FiveTuple::of(view);
        if let Some(flow) = self.probes.observed.table.find(tuple)
            && let Some(observed) = self.load.flows[flow].observed.as_deref()
            && !observed
                .conversation
                .is_over_with(observed.side_of(node), view)
        {
            return flow;
        }
        let moved = self.load.moved(node, view);
        if let Some(Moved::Surely(flow)) = moved {
            self.probes.observed.table.insert(tuple, flow);
            if let Some(observed) = self.load.flows[flow].observed.as_deref_mut() {
                observed.moves += 1;
            }
            return flow;
        }
        let flow = match self.scenario_flow(node, view) {
            Some(flow) => flow,
            None if self.probes.observed.table.conversations >= MOST_CONVERSATIONS => {
                return self.others(node, view);
            }
            None => {
                let name = self.conversation_name(view);
                let mut observed = self.begin_conversation(node, view);
                if let Some(Moved::Perhaps(flow)) = moved {
                    observed.may_continue = Some(flow);
                }
                self.probes.observed.table.conversations += 1;
                self.add_flow(name, observed, view)
            }
        };
        self.probes.observed.table.insert(tuple, flow);
        flow
    }

    fn begin_conversation(&self, node: usize, view: &PacketView) -> ObservedFlow {
        let mut observed = ObservedFlow::new(self.now, node, view);
        observed.nodes[1] = self.net.node_at(view.destination).filter(|&to| to != node);
        observed.towards_mobile = self.net.leads_to_mobile(&observed);
        if self.net.real.meet_gateways {
            observed.conversation.pass_gateway();
        }
        observed
    }

    /// Returns the scenario's flow whose port a new conversation uses between that flow's hosts, unless that flow has
    /// had its conversation.
    fn scenario_flow(&mut self, node: usize, view: &PacketView) -> Option<usize> {
        let port = view.ports.1;
        let flow = self.net.nodes[node].flow_at_port(port)?;
        let run = &self.load.flows[flow];
        let carried = match &run.spec.transport {
            Transport::Tcp { .. } => view.protocol == protocol::TCP,
            Transport::Udp => view.protocol == protocol::UDP,
            Transport::Other(transport) => view.protocol == transport.protocol(),
            Transport::Icmp => matches!(view.protocol, protocol::ICMP | protocol::ICMPV6),
        };
        let ends = [run.spec.from.0, run.spec.to.0];
        let to = self.net.node_at(view.destination)?;
        let fresh = run.observed.as_deref().is_none_or(ObservedFlow::is_unused);
        if !carried || !fresh || !ends.contains(&node) || !ends.contains(&to) || to == node {
            return None;
        }
        let mut observed = self.begin_conversation(node, view);
        observed.in_scenario = true;
        self.load.flows[flow].observed = Some(Box::new(observed));
        Some(flow)
    }

    fn others(&mut self, node: usize, view: &PacketView) -> usize {
        if let Some(flow) = self.probes.observed.table.others {
            return flow;
        }
        let mut observed = self.begin_conversation(node, view);
        observed.mixed = true;
        let flow = self.add_flow(OTHERS.to_owned(), observed, view);
        self.probes.observed.table.others = Some(flow);
        flow
    }

    /// Returns a conversation's name: transport, the server's port, and its number among those.
    fn conversation_name(&mut self, view: &PacketView) -> String {
        let (stem, key) = match view.protocol {
            protocol::TCP => (format!("tcp-{}", view.ports.1), view.ports.1),
            protocol::UDP => (format!("udp-{}", view.ports.1), view.ports.1),
            protocol::ICMP | protocol::ICMPV6 => ("icmp".to_owned(), 0),
            other => (format!("protocol-{other}"), 0),
        };
        let ordinal = self
            .probes
            .observed
            .table
            .ordinals
            .entry((view.protocol, key));
        let ordinal = ordinal.or_default();
        loop {
            *ordinal += 1;
            let name = format!("{stem}-{ordinal}");
            if !self.scenario.flows.iter().any(|flow| flow.name == name) {
                return name;
            }
        }
    }

    /// Makes a flow of a conversation, known to the record and to the mobiles at its ends.
    fn add_flow(&mut self, name: String, observed: ObservedFlow, view: &PacketView) -> usize {
        let number = self.load.flows.len();
        let [from, to] = observed.nodes;
        let from = NodeIndex(from.unwrap_or(0));
        let spec = Flow {
            from,
            to: to.map_or(from, NodeIndex),
            start: self.now,
            start_jitter: Duration::ZERO,
            stop: None,
            transport: transport(view.protocol),
            traffic: Traffic::Bulk { bytes: None },
            code_point: None,
            radio_service: RadioService::DEFAULT,
            remedies: Vec::new(),
            paths: None,
            gateway: None,
            class: None,
            name,
        };
        let subject = self.probes.recorder.subject(&format!("flow {}", spec.name));
        self.probes.recorder.add_flow(&spec.name);
        let stream = Seed(self.scenario.seed).stream(&spec.name);
        let span = (spec.start, spec.stop);
        let applications = [Role::Source, Role::Sink]
            .map(|role| Application::new(&spec.traffic, span, role, stream.clone()));
        let addresses = [view.source, view.destination];
        let id = FlowId(number as u32);
        let mut run = FlowRun::new(id, spec, addresses, view.ports.1, applications, subject);
        run.observed = Some(Box::new(observed));
        self.load.flows.push(run);
        for node in [from, NodeIndex(to.unwrap_or(from.0))] {
            self.add_to_mobile(number, node.0);
        }
        number
    }

    /// Notes the node at a conversation's other end when a first packet has arrived there.
    pub(super) fn learn_responder(&mut self, flow: usize, node: usize) {
        if let Some(observed) = self.load.flows[flow].observed.as_deref_mut() {
            observed.nodes[1] = Some(node);
        }
        if let Some(observed) = self.load.flows[flow].observed.as_deref() {
            let towards = self.net.leads_to_mobile(observed);
            if let Some(observed) = self.load.flows[flow].observed.as_deref_mut() {
                observed.towards_mobile = towards;
            }
        }
        self.add_to_mobile(flow, node);
    }

    /// Notes the other 5-tuple of a conversation whose addresses are translated on the way.
    pub(super) fn learn_alias(&mut self, flow: usize, tuple: FiveTuple) {
        let table = &mut self.probes.observed.table;
        let mixed = table.others == Some(flow);
        let own = self.load.flows[flow].observed.as_deref().map(|o| o.tuple);
        if !mixed && own != Some(tuple) && table.find(tuple) != Some(flow) {
            table.insert(tuple, flow);
        }
    }

    /// Informs the mobile at a node, or the one whose network contains it, of a flow, and so its last handover.
    fn add_to_mobile(&mut self, flow: usize, node: usize) {
        let Some(number) = self.net.moved_by(node) else {
            return;
        };
        if self.load.flows[flow].movers.contains(&number) {
            return;
        }
        if self.net.mobiles[number].node.0 == node {
            let slot = usize::from(self.load.flows[flow].mobiles[0].is_some());
            self.load.flows[flow].mobiles[slot] = Some(number);
        }
        self.load.flows[flow].movers.push(number);
        let flows = &mut self.net.mobiles[number].flows;
        let place = flows.partition_point(|&other| other < flow);
        flows.insert(place, flow);
        self.add_to_last_record(number, flow);
    }
}

/// Returns the transport of a conversation outside the scenario. Its segments are as long as its links take.
fn transport(carried: u8) -> Transport {
    match carried {
        protocol::TCP => {
            let profile = Arc::new(Profile {
                maximum_segment_size: u16::MAX,
                ..Profile::rfc()
            });
            Transport::Tcp {
                sender: Arc::clone(&profile),
                receiver: profile,
            }
        }
        protocol::ICMP | protocol::ICMPV6 => Transport::Icmp,
        _ => Transport::Udp,
    }
}

impl Net {
    /// Returns true if the responder is a mobile and the opener is not.
    fn leads_to_mobile(&self, observed: &ObservedFlow) -> bool {
        let [opener, responder] = observed
            .nodes
            .map(|node| node.is_some_and(|node| self.moved_by(node).is_some()));
        responder && !opener
    }

    /// Returns the mobile that moves a node: the one at the node, or the one whose network contains it.
    fn moved_by(&self, node: usize) -> Option<usize> {
        let contains = |mobile: &usize| self.directory.behind(*mobile).contains(&NodeIndex(node));
        let at = self.mobile_at(node);
        at.or_else(|| (0..self.mobiles.len()).find(contains))
    }

    /// Returns the node that has an address.
    fn node_at(&self, address: IpAddr) -> Option<usize> {
        let has = |node: &Node| node.host.addresses().any(|own| own == address);
        self.nodes.iter().position(has)
    }
}
