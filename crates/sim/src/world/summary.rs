//! Results of a run, as `baton run --json` prints them.

use super::classes::ClassSummary;
use super::delays::{DelaySummary, Delays, WayDelays};
use super::flow::FlowRun;
use super::handover::{FlowAtHandover, UnlistedHandovers};
use super::observed::ObservedSummary;
use super::overload::Overload;
use super::packet_counts::{BothWays, LossCounts, PacketSummary, Way};
use super::radio::RadioSummary;
use super::{Net, World};
use crate::applications::Requests;
use crate::cut::CutSummary;
use crate::link::number::LinkNumber;
use crate::run::FORMAT;
use crate::scenario::model::LinkIndex;
use crate::transport::TransportResult;
use baton_proto::host::layer::Counters;
use baton_proto::host::{Discarded, Socket, SocketEvent};
use baton_proto::mobility::buffering::BufferCounts;
use baton_proto::time::{Duration, Instant};
use serde::Serialize;
use serde_json::Value;

/// A run's results.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Version of this layout: [`FORMAT`].
    pub format: u32,
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of the run.
    pub seed: u64,
    /// Simulated time, in seconds.
    pub simulated_s: f64,
    /// Wall time of the run, in seconds; null where it was not measured.
    pub wall_s: Option<f64>,
    /// Events handled.
    pub events: u64,
    /// Packets sent by all hosts.
    pub packets: u64,
    /// Flows, in the order of the scenario; of more than `record.flows` as many or fewer, spread evenly over all.
    pub flows: Vec<FlowSummary>,
    /// Number of flows that are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub unlisted_flows: usize,
    /// Classes of flows, by name.
    pub classes: Vec<ClassSummary>,
    /// Handovers, in order of time for each mobile.
    pub handovers: Vec<HandoverSummary>,
    /// Handovers after the first `record.handovers`, which are not listed, by class of the mobiles.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unlisted_handovers: Vec<UnlistedHandovers>,
    /// Packets that hosts and routers gave up.
    pub discarded: DiscardedSummary,
    /// Places that gave up packets by the thousand, the most first.
    pub overloads: Vec<Overload>,
    /// Packets for moving mobiles at agents of mobility protocols; only agents that held or copied some.
    pub agents: Vec<AgentSummary>,
    /// Radio networks, and the positions of aircraft.
    pub radios: Vec<RadioSummary>,
    /// Parts of a run on several threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<CutSummary>,
    /// The program of a live run, and how it ended; null if none was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<Value>,
    /// The server of a live run; null if none was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<Value>,
    /// Fidelity and platform of a live run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<Value>,
}

/// Packets that hosts and routers gave up, by cause.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct DiscardedSummary {
    /// No route to the destination.
    pub no_route: u64,
    /// Stopped by an ingress filter.
    pub ingress_filter: u64,
    /// Larger than the next link takes.
    pub too_big: u64,
    /// Hop limit used up.
    pub hop_limit: u64,
    /// Damaged beyond their checksums.
    pub damaged: u64,
    /// No receiver at the port.
    pub no_receiver: u64,
    /// Refused by a full listen queue.
    pub backlog: u64,
    /// Messages to mobility agents and between gateways that were unreadable, unexpected, or failed authentication, and contexts of
    /// split connections that did not reach another gateway.
    pub messages: u64,
    /// Out of a tunnel with no receiver there, or about to loop in one.
    pub tunnelled: u64,
}

impl From<Discarded> for DiscardedSummary {
    fn from(discarded: Discarded) -> DiscardedSummary {
        DiscardedSummary {
            no_route: discarded.no_route,
            ingress_filter: discarded.ingress_filter,
            too_big: discarded.too_big,
            hop_limit: discarded.hop_limit,
            damaged: discarded.damaged,
            no_receiver: discarded.no_receiver,
            backlog: discarded.backlog,
            messages: discarded.messages,
            tunnelled: discarded.tunnelled,
        }
    }
}

/// Packets for moving mobiles at one agent.
#[derive(Clone, Debug, Default, Serialize)]
pub struct AgentSummary {
    /// Node of the agent.
    pub node: String,
    /// "home agent", "mobility anchor point", "access router", "domain router" or "DTN gateway", whose packets are bundles in
    /// custody.
    pub agent: &'static str,
    /// Packets that it held.
    pub held: u64,
    /// Packets sent on later.
    pub released: u64,
    /// Packets dropped because a buffer was full.
    pub overflowed: u64,
    /// Their bytes.
    pub overflowed_bytes: u64,
    /// Packets dropped because they had waited too long.
    pub expired: u64,
    /// Segments dropped because they were held already, and copies because the mobile had received them from another
    /// router.
    pub duplicates: u64,
    /// Most bytes held at once for one mobile.
    pub most_bytes: u32,
    /// Copies sent to a second place, or to further routers.
    pub copies: u64,
}

impl AgentSummary {
    fn new(node: &str, agent: &'static str, counters: &Counters) -> AgentSummary {
        let buffered = counters.buffered;
        AgentSummary {
            node: node.to_owned(),
            agent,
            held: buffered.held,
            released: buffered.released,
            overflowed: buffered.overflowed,
            overflowed_bytes: buffered.overflowed_bytes,
            expired: buffered.expired,
            duplicates: buffered.duplicates,
            most_bytes: buffered.most_bytes,
            copies: counters.copies,
        }
    }
}

/// A flow's results.
#[derive(Clone, Debug, Serialize)]
pub struct FlowSummary {
    /// Name in the scenario.
    pub name: String,
    /// Class in the scenario; only for a flow with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_class: Option<String>,
    /// "tcp", "udp", "icmp", or the name of another transport.
    pub transport: &'static str,
    /// Payload bytes delivered to the application at the far end.
    pub delivered_bytes: u64,
    /// Time from the start to the last byte, in seconds; null if unfinished or endless.
    pub completion_s: Option<f64>,
    /// Payload delivered per second from the start to the completion; without one, to the stop, to the
    /// last delivery if that is later, or to the end of the run; for a flow outside the scenario, to its
    /// last packet.
    pub goodput_bps: f64,
    /// TCP segments or AeroTP packets that the source sent, retransmissions and bare acknowledgments included; without a
    /// connection the packets of both ends.
    pub segments_sent: u64,
    /// Number of retransmissions among these; null if real hosts send and not over TCP: they cannot be told apart.
    pub retransmitted: Option<u64>,
    /// Segments with data or FIN that brought no new data to the far end.
    pub spurious_retransmitted: u64,
    /// Expiries of the retransmission timer; null if a kernel sends and does not report them, or a program retransmits by itself.
    pub timeouts: Option<u64>,
    /// Losses found by duplicate ACKs; null if a kernel sends.
    pub fast_retransmits: Option<u64>,
    /// Duplicate acknowledgments that the source received.
    pub duplicate_acks: u64,
    /// Duplicate datagrams at the far end, as copies are; they are not delivered twice.
    pub copies_received: u64,
    /// Longest time without new data for the application while some was due: from the last delivery, or
    /// from the time at which the source had data to deliver, to the next delivery, to the time from which no data is
    /// due, or to the end of the run.
    pub longest_stall_s: f64,
    /// Packets of both directions that links dropped, each copy for itself: what the table of packets has.
    pub lost_packets: u64,
    /// Packets of the flow, each counted once: sent is delivered, lost and under way.
    pub packets: BothWays<PacketSummary>,
    /// One-way delays of its packets with payload, from source to sink; null if none arrived, and over ICMP.
    pub delay: Option<DelaySummary>,
    /// One-way delays of all packets that came to the flow's own ends, with payload or without; null for a way on which none
    /// did.
    pub packet_delay: BothWays<Option<DelaySummary>>,
    /// Round-trip times of a ping flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ping: Option<PingResult>,
    /// Results that only its transport has, under the transport's name; absent for most.
    #[serde(flatten)]
    pub own: Option<TransportResult>,
    /// Reason for the connection's early end; null otherwise.
    pub failure: Option<String>,
    /// Results of a flow between real hosts; absent for others.
    #[serde(flatten)]
    pub observed: Option<ObservedSummary>,
}

/// A ping flow's results.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PingResult {
    /// Requests sent.
    pub sent: u64,
    /// Replies received.
    pub answered: u64,
    /// Mean round-trip time in seconds.
    pub mean_rtt_s: Option<f64>,
}

/// A handover's results.
#[derive(Clone, Debug, Serialize)]
pub struct HandoverSummary {
    /// Start, in seconds.
    pub at_s: f64,
    /// Announcement by the old link that it would go down, in seconds; null if there was none.
    pub announced_s: Option<f64>,
    /// Name of the mobile.
    pub mobile: String,
    /// Class of the mobile in the scenario; only for one of several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mobile_class: Option<String>,
    /// Old access link; null for none.
    pub from: Option<String>,
    /// New access link; null for none.
    pub to: Option<String>,
    /// "soft" or "hard".
    pub kind: &'static str,
    /// Time at which the new link was taken into use, in seconds; null if the run ended before.
    pub completed_s: Option<f64>,
    /// True if it was completed while a flow of the mobile was under way.
    pub active: bool,
    /// Rate at which the old link carries full packets to the mobile, in bits of IP packets per second; null for none.
    pub old_rate_bps: Option<u64>,
    /// Rate at which the new link carries full packets to the mobile, in bits of IP packets per second; null for none.
    pub new_rate_bps: Option<u64>,
    /// Packets lost with the old link or with its queue.
    pub lost_packets: u64,
    /// Flows of the mobile, from this handover to the next.
    pub flows: Vec<HandoverFlowSummary>,
}

/// Effects of a handover on a flow.
#[derive(Clone, Debug, Serialize)]
pub struct HandoverFlowSummary {
    /// Name of the flow.
    pub name: String,
    /// Payload bytes delivered since the handover was announced or, if it was not, since it began.
    pub delivered_bytes: u64,
    /// Longest time without new data, until the next handover.
    pub stall_s: f64,
    /// Longest time without new data up to the first new data over the new link: the interruption by the handover itself.
    pub interruption_s: f64,
    /// Time from the last packet over the old link to the first one over the new, in seconds; negative if that came
    /// before; null if one of them did not come.
    pub packet_interruption_s: BothWays<Option<f64>>,
    /// Packets of it lost with the old link or with its queue.
    pub lost_packets: u64,
    /// Packets of it that were lost, by cause, since the handover was announced or, if it was not, since it began.
    pub lost_by: BothWays<LossCounts>,
    /// Spurious retransmissions.
    pub spurious_retransmissions: u64,
    /// Time from the handover until the flow got 90 % of the new link's rate; null if it never did.
    pub time_to_90_percent_s: Option<f64>,
}

/// Sums up a world at the moment that it has reached.
pub fn summarise(world: &World) -> Summary {
    let mut discarded = Discarded::default();
    for node in &world.net.nodes {
        discarded.add(node.host.discarded());
    }
    let count = world.load.flows.len();
    let mut under_way = vec![[0; 2]; count];
    world.for_each_under_way(|flow, way, _| under_way[flow.0 as usize][way as usize] += 1);
    let every = match world.scenario.record.flows {
        0 => usize::MAX,
        most => count.div_ceil(most).max(1),
    };
    let listed = world.load.flows.iter().zip(under_way).step_by(every);
    let listed = listed.take(world.scenario.record.flows);
    let flows: Vec<FlowSummary> = listed
        .map(|(flow, under_way)| flow_summary(world, flow, under_way))
        .collect();
    Summary {
        format: FORMAT,
        scenario: world.scenario.name.clone(),
        seed: world.scenario.seed,
        simulated_s: world.now.as_secs_f64(),
        wall_s: None,
        events: world.events,
        packets: world.net.packets.numbered(),
        unlisted_flows: count - flows.len(),
        flows,
        classes: world.classes(),
        handovers: handovers(world),
        unlisted_handovers: world.unlisted_handovers(),
        discarded: discarded.into(),
        overloads: world.overloads(),
        agents: agents(world),
        radios: world.radio_summaries(),
        cut: None,
        program: None,
        server: None,
        live: None,
    }
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

fn agents(world: &World) -> Vec<AgentSummary> {
    let mut all = Vec::new();
    for (node, name) in world.net.nodes.iter().zip(&world.scenario.nodes) {
        for (rank, counters) in node.host.layer_counters() {
            if (counters.buffered, counters.copies) != (BufferCounts::default(), 0) {
                all.push(AgentSummary::new(name, rank.name(), &counters));
            }
        }
    }
    all
}

fn flow_summary(world: &World, flow: &FlowRun, under_way: [u64; 2]) -> FlowSummary {
    let [source, sink] = [0, 1].map(|end| world.net.socket(flow, end));
    let counters = source.map(Socket::counters);
    let counted = counters.unwrap_or_default();
    let packets_of_both = || flow.packets.iter().map(|counts| counts.sent).sum();
    let requests = flow.applications[0].requests();
    let ping = requests.map(Requests::summary).map(|ping| PingResult {
        sent: ping.sent,
        answered: ping.answered,
        mean_rtt_s: ping.mean_rtt.map(Duration::as_secs_f64),
    });
    let stall = flow.progress.longest_stall.max(flow.open_stall(world.now));
    let delays = flow.source_first(flow.delays.each_ref());
    let simulated = FlowSummary {
        name: flow.spec.name.clone(),
        flow_class: flow.spec.class.clone(),
        transport: flow.spec.transport.name(),
        delivered_bytes: flow.progress.delivered_bytes,
        completion_s: flow.completion.map(Duration::as_secs_f64),
        goodput_bps: goodput(flow, world.now),
        segments_sent: counters.map_or_else(packets_of_both, |counters| counters.packets_sent),
        retransmitted: Some(counted.retransmitted),
        spurious_retransmitted: world.spurious_retransmissions(flow.id.0 as usize),
        timeouts: counters.map_or(Some(0), |counters| counters.timeouts),
        fast_retransmits: counters.map_or(Some(0), |counters| counters.fast_retransmits),
        duplicate_acks: counted.duplicate_acks,
        copies_received: flow.received.again,
        longest_stall_s: stall.as_secs_f64(),
        lost_packets: flow.dropped_packets,
        packets: packets(flow, under_way),
        delay: delays[0].of_data().and_then(Delays::summary),
        packet_delay: delays.map(WayDelays::summary).into(),
        ping,
        own: flow
            .spec
            .transport
            .other()
            .zip(source)
            .and_then(|(transport, source)| transport.result(source, sink)),
        failure: flow.failure.map(|event| failure(event).to_owned()),
        observed: None,
    };
    match flow.observation() {
        Some((observed, main)) => observed.summary(world, flow, main, simulated),
        None => simulated,
    }
}

/// Returns the summary of a flow's packets, with these numbers still under way.
fn packets(flow: &FlowRun, under_way: [u64; 2]) -> BothWays<PacketSummary> {
    let of_way = |way: usize| {
        let counts = &flow.packets[way];
        PacketSummary {
            sent: counts.sent,
            delivered: counts.delivered,
            lost: counts.lost.total(),
            under_way: under_way[way],
            lost_by: counts.lost,
        }
    };
    flow.source_first([of_way(0), of_way(1)]).into()
}

pub(super) fn failure(event: SocketEvent) -> &'static str {
    match event {
        SocketEvent::Refused => "the connection was refused",
        SocketEvent::Reset => "the connection was reset",
        SocketEvent::TimedOut => {
            "the connection timed out: the far end did not answer for longer than is permitted"
        }
        _ => "the connection ended",
    }
}

fn goodput(flow: &FlowRun, now: Instant) -> f64 {
    let last = flow.progress.last_delivery.unwrap_or_default();
    let end = match (&flow.observed, flow.spec.stop) {
        // Its intended end is unknown.
        (Some(observed), None) if !observed.in_scenario => {
            observed.conversation.last_sent_at().max(last).min(now)
        }
        (_, stop) => stop.map_or(now, |stop| stop.max(last).min(now)),
    };
    let time = flow
        .completion
        .unwrap_or(end.saturating_since(flow.spec.start))
        .as_secs_f64();
    if time > 0.0 {
        flow.progress.delivered_bytes as f64 * 8.0 / time
    } else {
        0.0
    }
}

fn handovers(world: &World) -> Vec<HandoverSummary> {
    let name = |link: Option<LinkNumber>| {
        let link = LinkIndex(link?.get());
        Some(world.scenario.link_name(link).into_owned())
    };
    let mut all = Vec::new();
    for (number, mobile) in world.net.mobiles.iter().enumerate() {
        for record in mobile.handovers.iter().filter(|record| record.is_listed) {
            let rate = |link: Option<LinkNumber>| {
                let path = world.net.path_parameters(number, link?.get());
                Some(path.to_mobile.bits_per_second())
            };
            let crossings =
                |entry: &FlowAtHandover| entry.crossings.map(|crossing| crossing.interruption_s());
            let flows = record.flows.iter().map(|entry| HandoverFlowSummary {
                packet_interruption_s: world.load.flows[entry.flow]
                    .source_first(crossings(entry))
                    .into(),
                lost_by: world.load.flows[entry.flow].source_first(entry.lost).into(),
                name: world.load.flows[entry.flow].spec.name.clone(),
                delivered_bytes: entry.delivered,
                stall_s: entry.longest_stall.as_secs_f64(),
                interruption_s: entry.interruption.as_secs_f64(),
                lost_packets: entry.lost_packets,
                spurious_retransmissions: entry.spurious,
                time_to_90_percent_s: entry
                    .watch
                    .as_ref()
                    .and_then(|watch| watch.reached)
                    .map(|reached| reached.saturating_since(record.at).as_secs_f64()),
            });
            all.push(HandoverSummary {
                at_s: record.at.as_secs_f64(),
                announced_s: record.announced.map(Instant::as_secs_f64),
                mobile: world.scenario.nodes[mobile.node.0].clone(),
                mobile_class: world.scenario.mobiles[number]
                    .class
                    .as_deref()
                    .map(str::to_owned),
                from: name(record.links[0]),
                to: name(record.links[1]),
                kind: record.kind.name(),
                completed_s: record.completed.map(Instant::as_secs_f64),
                active: record.active,
                old_rate_bps: rate(record.links[0]),
                new_rate_bps: rate(record.links[1]),
                lost_packets: record.lost_packets,
                flows: flows.collect(),
            });
        }
    }
    all
}

impl World {
    /// Returns the number of segments without new data that came to a flow's sink.
    pub(super) fn spurious_retransmissions(&self, flow: usize) -> u64 {
        let flow = &self.load.flows[flow];
        if let Some((observed, main)) = flow.observation() {
            return observed.conversation.counters(main).spurious;
        }
        let [source, sink] = [0, 1].map(|end| self.net.socket(flow, end));
        match (sink, flow.spec.transport.other()) {
            (Some(sink), Some(transport)) => {
                let lost = flow.losses()[Way::ToSink as usize].total();
                transport.spurious(source, sink, lost)
            }
            (Some(sink), None) => sink.counters().duplicates_received,
            (None, _) => 0,
        }
    }
}

impl Net {
    fn socket(&self, flow: &FlowRun, end: usize) -> Option<&dyn Socket> {
        let node = [flow.spec.from.0, flow.spec.to.0][end];
        self.nodes[node].host.socket(flow.sockets[end]?)
    }
}
