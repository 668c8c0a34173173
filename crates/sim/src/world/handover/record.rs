//! Effects of handovers on flows.

use super::super::flow::{Delivered, FlowRun};
use super::super::observed::ObservedFlow;
use super::super::packet_counts::{LossCounts, Way};
use super::super::progress::RateWatch;
use super::super::{Net, World};
use crate::link::End;
use crate::link::number::LinkNumber;
use crate::scenario::model::Transport;
use baton_proto::mobility::attachment::Kind;
use baton_proto::packet::FlowId;
use baton_proto::rate::DataRate;
use baton_proto::time::{Duration, Instant};

/// Share of the new link's rate that counts as reaching it.
const FULL_RATE: f64 = 0.9;
/// Fewest segments over which a rate is measured.
const RATE_SEGMENTS: u64 = 10;
/// Length of an acknowledgment of TCP without options, over IPv4.
const ACKNOWLEDGMENT_LENGTH: u32 = 40;

/// A handover and its effects.
#[derive(Clone, Debug)]
pub struct HandoverRecord {
    /// Time of the old link's announcement that it would go down, if there was one.
    pub announced: Option<Instant>,
    /// Start of the handover; if the link was lost, the time of the loss.
    pub at: Instant,
    /// Time at which the new link was taken into use.
    pub completed: Option<Instant>,
    /// Old and new link.
    pub links: [Option<LinkNumber>; 2],
    /// Soft or hard.
    pub kind: Kind,
    /// True if the old link had failed when the handover began.
    pub after_loss: bool,
    /// Packets that were lost with the old link or with its queue.
    pub lost_packets: u64,
    /// True if a flow was under way during it: one that had begun before its completion, and that sent
    /// data after its start. Filled in when the next handover begins.
    pub active: bool,
    /// True if the results list it.
    pub is_listed: bool,
    /// The mobile's flows, ascending.
    pub flows: Vec<FlowAtHandover>,
}

/// Effects of a handover on a flow, until the next one.
#[derive(Clone, Debug)]
pub struct FlowAtHandover {
    /// Number of the flow.
    pub flow: usize,
    /// Longest time without new data that ended after the handover began.
    pub longest_stall: Duration,
    /// Longest time without new data that ended after the handover began, up to the first new data over the new link.
    pub interruption: Duration,
    /// True once new data has arrived over the new link.
    pub settled: bool,
    /// Packets of it that were lost with the old link or with its queue.
    pub lost_packets: u64,
    /// Losses in each direction before the handover was announced or, if it was not, before it began.
    pub lost_before: [LossCounts; 2],
    /// Its losses since then; filled in when the next handover is announced or begins.
    pub lost: [LossCounts; 2],
    /// Arrivals of packets at the end of each direction over the old and the new link.
    pub crossings: [Crossing; 2],
    /// True if it began after the handover was complete.
    pub came_later: bool,
    /// Spurious retransmissions before the handover.
    pub spurious_before: u64,
    /// Spurious retransmissions since the handover; filled in when the next handover begins.
    pub spurious: u64,
    /// Payload bytes delivered before the handover was announced or, if it was not, before it began.
    pub delivered_before: u64,
    /// Payload bytes delivered since then; filled in when the next handover is announced or begins.
    pub delivered: u64,
    /// Waits for 90 % of the new link's rate.
    pub watch: Option<RateWatch>,
}

impl FlowAtHandover {
    /// Notes a time without new data.
    fn note_wait(&mut self, waited: Duration) {
        self.longest_stall = self.longest_stall.max(waited);
        if !self.settled {
            self.interruption = self.interruption.max(waited);
        }
    }
}

/// Arrivals of a flow's packets in one direction around a handover.
#[derive(Clone, Copy, Debug, Default)]
pub struct Crossing {
    /// Arrival of the last packet that had crossed the old link.
    last_over_old: Option<Instant>,
    /// Arrival of the first packet that had crossed the new link.
    first_over_new: Option<Instant>,
}

impl Crossing {
    /// Returns the seconds from the last packet over the old link to the first one over the new, negative if that came before.
    pub fn interruption_s(&self) -> Option<f64> {
        let (last, first) = (self.last_over_old?, self.first_over_new?);
        let ahead = last.saturating_since(first).as_secs_f64();
        Some(first.saturating_since(last).as_secs_f64() - ahead)
    }
}

/// An announced handover that has not begun.
#[derive(Clone, Debug)]
pub struct Announcement {
    /// Time of the announcement.
    pub at: Instant,
    /// Flows, and the payload bytes that each had delivered.
    pub delivered: Vec<(usize, u64)>,
    /// Losses of each flow.
    pub lost: FlowLosses,
}

/// Losses of flows in each direction.
pub type FlowLosses = Vec<(usize, [LossCounts; 2])>;

/// Packets that went with a link, by flow.
#[derive(Clone, Debug, Default)]
pub struct Losses {
    /// All of them.
    pub total: u64,
    flows: Vec<(FlowId, u64)>,
}

impl Losses {
    /// Counts a packet.
    pub fn add(&mut self, flow: Option<FlowId>) {
        self.total += 1;
        let Some(flow) = flow else { return };
        match self.flows.iter_mut().find(|(known, _)| *known == flow) {
            Some((_, count)) => *count += 1,
            None => self.flows.push((flow, 1)),
        }
    }

    fn of(&self, flow: usize) -> u64 {
        let flow = FlowId(flow as u32);
        self.flows
            .iter()
            .find(|(known, _)| *known == flow)
            .map_or(0, |&(_, count)| count)
    }
}

impl HandoverRecord {
    /// Counts a packet lost with the old link or its queue.
    pub fn lose(&mut self, flow: Option<FlowId>) {
        let mut losses = Losses::default();
        losses.add(flow);
        self.add_losses(&losses);
    }

    /// Notes packets lost with the old link before the handover was decided.
    pub fn add_losses(&mut self, losses: &Losses) {
        self.lost_packets += losses.total;
        for entry in &mut self.flows {
            entry.lost_packets += losses.of(entry.flow);
        }
    }

    /// Notes a flow's wait that ended without a delivery.
    pub fn note_wait(&mut self, flow: usize, waited: Duration) {
        if let Ok(place) = self.flows.binary_search_by_key(&flow, |entry| entry.flow) {
            self.flows[place].note_wait(waited);
        }
    }

    /// Notes the arrival of a flow's packet at its end over this access link.
    pub fn arrive(&mut self, now: Instant, (flow, way): (usize, Way), over: usize) {
        let Ok(place) = self.flows.binary_search_by_key(&flow, |entry| entry.flow) else {
            return;
        };
        let crossing = &mut self.flows[place].crossings[way as usize];
        let [old, new] = self.links.map(|link| link == Some(LinkNumber::new(over)));
        // With a handover to the same link, packets count as over the new one once it is in use.
        if new && !(old && self.completed.is_none()) {
            crossing.first_over_new.get_or_insert(now);
        } else if old {
            crossing.last_over_old = Some(now);
        }
    }

    /// Notes bytes of a flow delivered to the application, released by a packet that came over the access link `over`.
    /// Data still delivered by the old link says nothing about the new one's rate.
    pub fn deliver(
        &mut self,
        now: Instant,
        flow: usize,
        delivered: &Delivered,
        over: Option<usize>,
    ) {
        let over = over.map(LinkNumber::new);
        if let Ok(place) = self.flows.binary_search_by_key(&flow, |entry| entry.flow) {
            let entry = &mut self.flows[place];
            entry.note_wait(delivered.waited);
            if !entry.settled {
                let is_new = over.is_some() && over == self.links[1];
                entry.settled = is_new && self.completed.is_some();
            }
            if let Some(watch) = entry.watch.as_mut().filter(|_| over == self.links[1]) {
                watch.deliver(now, delivered.bytes);
            }
        }
    }
}

impl World {
    /// Begins the record of a handover that began at `at`.
    pub(super) fn open_record(
        &mut self,
        number: usize,
        at: Instant,
        to: Option<usize>,
        kind: Kind,
    ) {
        self.close_last_record(number);
        self.count_unlisted(number);
        let most = self.scenario.record.handovers;
        let is_listed = self.probes.unlisted.lists_another(most);
        let old = self.net.mobiles[number].attached();
        let flows = self.flows_at_handover(number);
        let mobile = &mut self.net.mobiles[number];
        let announced = mobile.announced.take();
        let mut record = HandoverRecord {
            announced: announced.map(|announcement| announcement.at),
            at,
            completed: None,
            links: [old, to].map(|link| link.map(LinkNumber::new)),
            kind,
            after_loss: old.is_some_and(|link| !self.net.wires[link].works),
            lost_packets: 0,
            active: false,
            is_listed,
            flows,
        };
        if let Some(before) = mobile.lost_before.take() {
            record.add_losses(&before.packets);
        }
        if mobile.handovers.is_empty() {
            // Most mobiles of a fleet have few.
            mobile.handovers.reserve_exact(1);
        }
        mobile.handovers.push(record);
    }

    /// Returns the flows that a handover of a mobile may affect: all except ended conversations.
    fn flows_at_handover(&self, number: usize) -> Vec<FlowAtHandover> {
        let flows = self.net.mobiles[number].flows.iter();
        flows
            .filter(|&&flow| {
                let observed = self.load.flows[flow].observed.as_deref();
                !observed.is_some_and(ObservedFlow::is_over)
            })
            .map(|&flow| FlowAtHandover {
                delivered_before: self.delivered_before(number, flow),
                lost_before: self.lost_before(number, flow),
                crossings: self.crossings_before(number, flow),
                ..self.flow_at_handover(flow)
            })
            .collect()
    }

    /// Notes the bytes delivered by the flows of a mobile when its next handover is announced.
    pub(super) fn note_announcement(&mut self, number: usize) {
        let flows = self.net.mobiles[number].flows.iter();
        let bytes = |&flow: &usize| (flow, self.load.flows[flow].progress.delivered_bytes);
        self.net.mobiles[number].announced = Some(Box::new(Announcement {
            at: self.now,
            delivered: flows.map(bytes).collect(),
            lost: self.losses_of(number),
        }));
    }

    /// Returns the losses of a mobile's flows so far.
    pub(super) fn losses_of(&self, number: usize) -> FlowLosses {
        let flows = self.net.mobiles[number].flows.iter();
        flows
            .map(|&flow| (flow, self.load.flows[flow].losses()))
            .collect()
    }

    /// Returns a flow's losses before the next handover was announced, or before its mobile's link went down, or else until now.
    fn lost_before(&self, number: usize, flow: usize) -> [LossCounts; 2] {
        let mobile = &self.net.mobiles[number];
        let announced = mobile.announced.as_ref().map(|next| &next.lost);
        let known = announced.or_else(|| mobile.lost_before.as_ref()?.flows.as_ref());
        let mut known = known.into_iter().flatten();
        let known = known.find(|(known, _)| *known == flow);
        known.map_or_else(|| self.load.flows[flow].losses(), |&(_, losses)| losses)
    }

    /// Returns the arrivals of a flow's last packets at its ends, if they came over the link that its mobile is leaving.
    fn crossings_before(&self, number: usize, flow: usize) -> [Crossing; 2] {
        let old = self.net.mobiles[number].attached();
        self.load.flows[flow].arrivals.map(|arrival| {
            let arrival = arrival.filter(|&(_, over)| Some(over) == old);
            Crossing {
                last_over_old: arrival.map(|(at, _)| at),
                first_over_new: None,
            }
        })
    }

    /// Returns the payload bytes that a flow delivered before the next handover was announced, or else until now.
    fn delivered_before(&self, number: usize, flow: usize) -> u64 {
        let announced = self.net.mobiles[number].announced.iter();
        announced
            .flat_map(|announcement| &announcement.delivered)
            .find(|(known, _)| *known == flow)
            .map_or(
                self.load.flows[flow].progress.delivered_bytes,
                |&(_, bytes)| bytes,
            )
    }

    /// Adds a conversation that has begun since the last handover to that handover's record.
    pub(in super::super) fn add_to_last_record(&mut self, number: usize, flow: usize) {
        let Some(mut record) = self.net.mobiles[number].handovers.pop() else {
            return;
        };
        if let Err(place) = record.flows.binary_search_by_key(&flow, |entry| entry.flow) {
            let mut entry = self.flow_at_handover(flow);
            if record.completed.is_some() {
                entry.came_later = true;
                let new = record.links[1];
                entry.watch = new.and_then(|link| self.rate_watch(flow, link.get()));
            }
            record.flows.insert(place, entry);
        }
        self.net.mobiles[number].handovers.push(record);
    }

    fn flow_at_handover(&self, flow: usize) -> FlowAtHandover {
        FlowAtHandover {
            flow,
            longest_stall: Duration::ZERO,
            interruption: Duration::ZERO,
            settled: false,
            lost_packets: 0,
            lost_before: self.load.flows[flow].losses(),
            lost: Default::default(),
            crossings: Default::default(),
            came_later: false,
            spurious_before: self.spurious_retransmissions(flow),
            spurious: 0,
            delivered_before: self.load.flows[flow].progress.delivered_bytes,
            delivered: 0,
            watch: None,
        }
    }

    /// Notes that the mobile's new link is in use: from now on rates are watched there.
    pub(super) fn complete_last_record(&mut self, number: usize, link: Option<usize>) {
        let Some(mut record) = self.net.mobiles[number].handovers.pop() else {
            return;
        };
        record.completed = Some(self.now);
        for entry in &mut record.flows {
            entry.watch = link.and_then(|link| self.rate_watch(entry.flow, link));
        }
        self.net.mobiles[number].handovers.push(record);
    }

    /// Fills in the parts of the last handover's record that were unknown before the next began.
    pub(in super::super) fn close_last_record(&mut self, number: usize) {
        let Some(mut record) = self.net.mobiles[number].handovers.pop() else {
            return;
        };
        let at = record.at;
        record.active = record.completed.is_some_and(|completed| {
            let mut flows = record.flows.iter().filter(|entry| !entry.came_later);
            flows.any(|entry| self.load.flows[entry.flow].was_under_way(at, completed))
        });
        for entry in &mut record.flows {
            entry.spurious = self.spurious_retransmissions(entry.flow);
            // An observed flow may have changed its main direction since.
            entry.spurious = entry.spurious.saturating_sub(entry.spurious_before);
            let open = self.load.flows[entry.flow].open_stall(self.now);
            entry.note_wait(open);
            let lost = self.lost_before(number, entry.flow);
            entry.lost = [0, 1].map(|way| lost[way].since(&entry.lost_before[way]));
            entry.delivered = self.delivered_before(number, entry.flow);
            entry.delivered = entry.delivered.saturating_sub(entry.delivered_before);
        }
        self.net.mobiles[number].handovers.push(record);
    }

    /// Returns a watch for 90 % of the rate at which a link can carry a flow's data, over two round trips of the path or the time of
    /// ten full segments, whichever is longer, so that one burst of slow start does not count as a rate.
    fn rate_watch(&self, flow: usize, link: usize) -> Option<RateWatch> {
        let run = &self.load.flows[flow];
        let route = self.route(run.spec.from.0, run.spec.to.0);
        let &(_, from) = route.iter().find(|&&(crossed, _)| crossed == link)?;
        let (segment_time, payload) = self.net.segment_time(run, link, from)?;
        let rate = u64::from(payload) * 8 * 1_000_000_000 / segment_time.as_nanos().max(1);
        let round_trip = route.iter().fold(Duration::ZERO, |sum, &(link, _)| {
            sum + self.net.wires.config(link).round_trip_delay()
        });
        let window = (round_trip + round_trip).max(segment_time.saturating_mul(RATE_SEGMENTS));
        let full = (rate as f64 * FULL_RATE) as u64;
        Some(RateWatch::new(DataRate::from_bits_per_second(full), window))
    }

    /// Returns the links from one node to another by the hosts' present routes, each with the end at which packets
    /// enter; an incomplete route ends early.
    fn route(&self, from: usize, to: usize) -> Vec<(usize, End)> {
        let mut destination = self.net.nodes[to].host.address();
        let mut route = Vec::new();
        let mut node = from;
        while node != to && route.len() < self.net.nodes.len() {
            let interface = match self.agents_route(node, to, destination) {
                Some((towards, interface)) => {
                    destination = towards;
                    interface
                }
                None => match self.net.nodes[node].host.routes().lookup(destination) {
                    Some(interface) if !interface.is_virtual() => interface,
                    _ => break,
                },
            };
            let Some((link, end)) = self.net.exit(node, interface, destination) else {
                break;
            };
            route.push((link, end));
            node = self.net.wires.ends(link)[1 - end.index()].0;
        }
        route
    }
}

impl Net {
    /// Returns the time that a link spends on a full packet of a flow, and the payload in it. On a shared medium that includes
    /// the ACKs.
    fn segment_time(&self, run: &FlowRun, link: usize, from: End) -> Option<(Duration, u32)> {
        let config = self.wires.config(link);
        let (length, payload) = run.full_packet(config.mtu);
        let mut time = config.service_time(from, length)?;
        if let Transport::Tcp { receiver, .. } = &run.spec.transport
            && config.medium.is_contended()
        {
            let acknowledgment = config.service_time(from.other(), ACKNOWLEDGMENT_LENGTH)?;
            let acknowledgment = acknowledgment.as_nanos();
            let segments = 1 + u64::from(receiver.delayed_ack.is_some());
            time += Duration::from_nanos(acknowledgment / segments);
        }
        Some((time, payload))
    }
}
