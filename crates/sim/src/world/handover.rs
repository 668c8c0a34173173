//! Mobiles changing their access links, and what that did to the flows.

use super::flow::Delivered;
use super::progress::RateWatch;
use super::{Event, World, routing};
use crate::kernel::Timer;
use crate::link::End;
use crate::record::{Quantity, Subject};
use crate::scenario::model::{Attachment, Handover, NodeIndex};
use baton_proto::mobility::failback::Failback;
use baton_proto::packet::FlowId;
use baton_proto::rate::DataRate;
use baton_proto::time::{Duration, Instant};
use std::collections::VecDeque;

/// Share of the new link's rate that counts as having arrived there.
const FULL_RATE: f64 = 0.9;
/// Segments over which, at least, a rate is measured.
const RATE_SEGMENTS: u64 = 10;

/// A mobile under way.
#[derive(Debug)]
pub struct MobileRun {
    pub node: NodeIndex,
    pub timer: Timer,
    /// The access link in use, by its place in the scenario.
    pub attached: Option<usize>,
    /// The old access link, as long as the mobile's own packets still take it.
    pub outgoing: Option<usize>,
    pub chooser: Chooser,
    /// What is still to be done for handovers that have begun, in order of time.
    pub steps: VecDeque<(Instant, Step)>,
    pub handovers: Vec<HandoverRecord>,
    pub subject: Subject,
    /// Flows that begin or end here.
    pub flows: Vec<usize>,
}

/// Who decides.
#[derive(Debug)]
pub enum Chooser {
    /// What is left of the timetable.
    Timetable(VecDeque<Attachment>),
    /// The policy, and the links by rank.
    Failback(Failback, Vec<usize>),
}

/// The rest of a handover that has begun.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Use this link.
    Attach(Option<usize>),
    /// The mobile's own packets take the link in use, too.
    MoveOutgoing,
    /// The old interface no longer receives.
    Silence(usize),
}

/// A handover and what it did.
#[derive(Clone, Debug)]
pub struct HandoverRecord {
    /// When it began.
    pub at: Instant,
    /// When the new link was taken into use.
    pub completed: Option<Instant>,
    /// Old and new link.
    pub links: [Option<usize>; 2],
    /// "soft" or "hard".
    pub kind: &'static str,
    /// Packets that were lost with the old link or with its queue.
    pub lost_packets: u64,
    /// The mobile's flows.
    pub flows: Vec<FlowAtHandover>,
}

/// What a handover did to a flow, until the next one.
#[derive(Clone, Debug)]
pub struct FlowAtHandover {
    /// The flow's number.
    pub flow: usize,
    /// Longest time without new data.
    pub longest_stall: Duration,
    /// Packets of it that were lost with the old link or with its queue.
    pub lost_packets: u64,
    /// Its spurious retransmissions before the handover.
    pub spurious_before: u64,
    /// Its spurious retransmissions since; filled in when the next handover begins.
    pub spurious: u64,
    /// Waits for 90 % of the new link's rate.
    pub watch: Option<RateWatch>,
}

impl MobileRun {
    /// A packet was lost with a link or its queue.
    pub fn lose(&mut self, flow: Option<FlowId>) {
        let Some(record) = self.handovers.last_mut() else {
            return;
        };
        record.lost_packets += 1;
        if let Some(entry) = record
            .flows
            .iter_mut()
            .find(|entry| Some(FlowId(entry.flow as u32)) == flow)
        {
            entry.lost_packets += 1;
        }
    }

    /// A flow's bytes have come to the application.
    pub fn deliver(&mut self, now: Instant, flow: usize, delivered: &Delivered) {
        let Some(record) = self.handovers.last_mut() else {
            return;
        };
        if let Some(entry) = record.flows.iter_mut().find(|entry| entry.flow == flow) {
            entry.longest_stall = entry.longest_stall.max(delivered.waited);
            if record.completed.is_some()
                && let Some(watch) = &mut entry.watch
            {
                watch.deliver(now, delivered.bytes);
            }
        }
    }

    /// When this mobile has something to do.
    pub fn deadline(&self) -> Option<Instant> {
        let choice = match &self.chooser {
            Chooser::Timetable(entries) => entries.front().map(|entry| entry.at),
            Chooser::Failback(failback, _) => failback.poll_timeout(),
        };
        let step = self.steps.front().map(|&(at, _)| at);
        [choice, step].into_iter().flatten().min()
    }

    fn plan(&mut self, at: Instant, step: Step) {
        let place = self.steps.partition_point(|&(other, _)| other <= at);
        self.steps.insert(place, (at, step));
    }
}

impl World {
    /// Does what is due for a mobile: first what earlier handovers left to do, then the next one.
    pub(super) fn run_mobile(&mut self, number: usize) {
        if !self.mobiles[number].timer.fired(self.now) {
            return;
        }
        while let Some((_, step)) = self.mobiles[number]
            .steps
            .pop_front_if(|&mut (at, _)| at <= self.now)
        {
            match step {
                Step::Attach(link) => self.attach(number, link),
                Step::MoveOutgoing => self.move_outgoing(number),
                Step::Silence(link) => self.silence(number, link),
            }
        }
        while let Some(attachment) = self.next_attachment(number) {
            self.begin_handover(number, &attachment);
        }
        self.arm_mobile(number);
    }

    pub(super) fn arm_mobile(&mut self, number: usize) {
        let mobile = &mut self.mobiles[number];
        let deadline = mobile.deadline();
        mobile
            .timer
            .arm(&mut self.queue, deadline, Event::Mobile(number as u32));
    }

    /// The handover that is due now, if any.
    fn next_attachment(&mut self, number: usize) -> Option<Attachment> {
        let now = self.now;
        match &mut self.mobiles[number].chooser {
            Chooser::Timetable(entries) => entries.pop_front_if(|entry| entry.at <= now),
            Chooser::Failback(failback, links) => {
                let switch = failback.poll(now)?;
                let link = Some(crate::scenario::model::LinkIndex(links[switch.to]));
                let handover = match switch.lost_at {
                    // The old link is dead already, and what it held with it.
                    Some(_) => Handover::Hard {
                        outage: Duration::ZERO,
                        keep_queue: false,
                    },
                    None => Handover::Soft {
                        overlap: None,
                        discard_queue: false,
                        outgoing_after: Duration::ZERO,
                    },
                };
                Some(Attachment {
                    at: switch.lost_at.unwrap_or(now),
                    jitter: Duration::ZERO,
                    link,
                    handover,
                })
            }
        }
    }

    fn begin_handover(&mut self, number: usize, attachment: &Attachment) {
        self.close_last_record(number);
        let old = self.mobiles[number].attached;
        let new = attachment.link.map(|link| link.0);
        let kind = match attachment.handover {
            Handover::Soft { .. } => "soft",
            Handover::Hard { .. } => "hard",
        };
        let flows = self.mobiles[number]
            .flows
            .iter()
            .map(|&flow| self.flow_at_handover(flow, new))
            .collect();
        let record = HandoverRecord {
            at: attachment.at,
            completed: None,
            links: [old, new],
            kind,
            lost_packets: 0,
            flows,
        };
        self.mobiles[number].handovers.push(record);
        match attachment.handover {
            Handover::Soft {
                overlap,
                discard_queue,
                outgoing_after,
            } => {
                self.mobiles[number].outgoing = old.filter(|_| !outgoing_after.is_zero());
                if self.mobiles[number].outgoing.is_some() {
                    self.mobiles[number].plan(self.now + outgoing_after, Step::MoveOutgoing);
                }
                self.attach(number, new);
                if let Some(old) = old.filter(|_| discard_queue) {
                    self.wires[old].link.discard_queue(self.now);
                    self.touch(old);
                }
                if let (Some(old), Some(overlap)) = (old, overlap) {
                    self.mobiles[number].plan(self.now + overlap, Step::Silence(old));
                }
            }
            Handover::Hard { outage, keep_queue } => {
                self.mobiles[number].outgoing = None;
                if let Some(old) = old {
                    self.wires[old].broken = true;
                    self.wires[old].link.set_down(self.now, keep_queue);
                    self.touch(old);
                }
                if outage.is_zero() {
                    self.attach(number, new);
                } else {
                    self.mobiles[number].plan(self.now + outage, Step::Attach(new));
                }
            }
        }
    }

    /// Takes a link into use: routes of all hosts lead over it from now on.
    fn attach(&mut self, number: usize, link: Option<usize>) {
        let old = core::mem::replace(&mut self.mobiles[number].attached, link);
        if let Some(old) = old {
            self.wires[old].in_use = link.is_none();
        }
        if let Some(link) = link {
            for wire in self
                .wires
                .iter_mut()
                .filter(|wire| wire.mobile == Some(number))
            {
                wire.in_use = false;
            }
            let wire = &mut self.wires[link];
            wire.in_use = true;
            wire.broken = false;
            if wire.works && !wire.link.is_up() {
                wire.link.set_up(self.now);
            }
            self.touch(link);
        }
        self.install_routes();
        if let Some(record) = self.mobiles[number].handovers.last_mut() {
            record.completed = Some(self.now);
        }
        self.record_attachment(number);
    }

    fn move_outgoing(&mut self, number: usize) {
        self.mobiles[number].outgoing = None;
        self.install_routes();
    }

    /// Gives every host its routes; a mobile whose own packets still take its old link sends them there.
    pub(super) fn install_routes(&mut self) {
        routing::install(&mut self.nodes, &self.wires);
        for mobile in &self.mobiles {
            if let (Some(old), Some(new)) = (mobile.outgoing, mobile.attached) {
                let node = mobile.node.0;
                let at_mobile =
                    |link: usize| self.wires[link].ends.iter().find(|end| end.0 == node);
                if let (Some(&(_, old)), Some(&(_, new))) = (at_mobile(old), at_mobile(new)) {
                    self.nodes[node].host.routes_mut().redirect(new, old);
                }
            }
        }
    }

    fn silence(&mut self, number: usize, link: usize) {
        if self.mobiles[number].attached != Some(link) {
            self.wires[link].broken = true;
            self.wires[link].link.set_down(self.now, false);
            self.touch(link);
        }
    }

    pub(super) fn record_attachment(&mut self, number: usize) {
        let mobile = &self.mobiles[number];
        let link = mobile.attached.map_or(-1.0, |link| link as f64);
        self.recorder
            .series(self.now, mobile.subject, Quantity::AttachedLink, link);
    }

    /// Changes a link's parameters or state as the scenario says.
    pub(super) fn apply_change(&mut self, number: usize) {
        let change = self.scenario.changes[number].clone();
        let wire = &mut self.wires[change.link.0];
        wire.link.reconfigure(self.now, change.config);
        for (node, interface) in wire.ends {
            self.nodes[node]
                .host
                .set_mtu(interface, wire.link.config().mtu);
        }
        let turned = wire.works != change.up;
        wire.works = change.up;
        if turned && !change.up && wire.link.is_up() {
            wire.link.set_down(self.now, false);
        } else if turned && change.up && !wire.broken {
            wire.link.set_up(self.now);
        }
        let mobile = wire.mobile;
        self.touch(change.link.0);
        if let (Some(number), true) = (mobile, turned) {
            if let Chooser::Failback(failback, links) = &mut self.mobiles[number].chooser
                && let Some(rank) = links.iter().position(|&link| link == change.link.0)
            {
                failback.handle_link(self.now, rank, change.up);
            }
            self.arm_mobile(number);
        }
    }

    fn flow_at_handover(&self, flow: usize, new: Option<usize>) -> FlowAtHandover {
        FlowAtHandover {
            flow,
            longest_stall: Duration::ZERO,
            lost_packets: 0,
            spurious_before: self.spurious_retransmissions(flow),
            spurious: 0,
            watch: new.and_then(|link| self.rate_watch(flow, link)),
        }
    }

    /// Fills in what the last handover's record could not know before the next began.
    pub(super) fn close_last_record(&mut self, number: usize) {
        let now = self.now;
        let Some(mut record) = self.mobiles[number].handovers.pop() else {
            return;
        };
        for entry in &mut record.flows {
            entry.spurious = self.spurious_retransmissions(entry.flow) - entry.spurious_before;
            let open = self.flows[entry.flow].progress.current_stall(now);
            entry.longest_stall = entry.longest_stall.max(open);
        }
        self.mobiles[number].handovers.push(record);
    }

    /// Waits for 90 % of what a link carries of a flow's data, over two round trips of the path or the time of
    /// ten full segments, whichever is longer, so that one burst of slow start does not count as a rate.
    fn rate_watch(&self, flow: usize, link: usize) -> Option<RateWatch> {
        let wire = &self.wires[link];
        let run = &self.flows[flow];
        let towards_mobile = self.mobiles[wire.mobile?].node == run.spec.to;
        // End B need not be the mobile's: the scenario may name the nodes in either order.
        let mobile_at_b = wire.ends[End::B.index()].0 == self.mobiles[wire.mobile?].node.0;
        let from = if towards_mobile == mobile_at_b {
            End::A
        } else {
            End::B
        };
        let length = wire.link.config().mtu;
        let payload = run.payload_of(length);
        let segment_time = wire.link.config().service_time(from, length)?;
        let rate = u64::from(payload) * 8 * 1_000_000_000 / segment_time.as_nanos().max(1);
        let path: Duration = self
            .wires
            .iter()
            .filter(|wire| wire.mobile.is_none())
            .fold(wire.link.config().round_trip_delay(), |sum, wire| {
                sum + wire.link.config().round_trip_delay()
            });
        let window = (path + path).max(segment_time.saturating_mul(RATE_SEGMENTS));
        let full = (rate as f64 * FULL_RATE) as u64;
        Some(RateWatch::new(DataRate::from_bits_per_second(full), window))
    }
}
