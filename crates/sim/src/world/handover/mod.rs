//! Mobiles changing their access links.
//!
//! At each change all routes of the world are computed anew, in time proportional to nodes times links; not where an aircraft
//! changes its cell: then those to it alone change.

mod decider;
mod preparation;
mod record;
mod reroute;

pub use decider::Decider;
pub use preparation::Preparation;
pub use record::{Announcement, FlowAtHandover, FlowLosses, HandoverRecord, Losses};

use super::agents::ProtocolRun;
use super::flow::Delivered;
use super::packet_counts::Way;
use super::wires::Wire;
use super::{Event, World, routing};
use crate::kernel::Timer;
use crate::record::{Quantity, Subject};
use crate::scenario::model::{Attachment, Handover, LinkIndex, NodeIndex, OldQueue};
use baton_proto::interface::LinkEvent;
use baton_proto::mobility::failback::Failback;
use baton_proto::packet::FlowId;
use baton_proto::time::{Duration, Instant};
use std::collections::VecDeque;

/// A mobile under way.
#[derive(Debug)]
pub struct MobileRun {
    pub node: NodeIndex,
    pub timer: Timer,
    /// The access link in use, by its place in the scenario.
    pub attached: Option<usize>,
    /// The radio network in use, whose cells are its access links.
    pub radio: Option<usize>,
    /// The old access link, as long as the mobile's own packets still take it.
    pub outgoing: Option<usize>,
    pub chooser: Chooser,
    /// What is still to be done for handovers that have begun, in order of time.
    pub steps: VecDeque<(Instant, Step)>,
    pub handovers: Vec<HandoverRecord>,
    /// The next handover, if it was announced.
    pub announced: Option<Announcement>,
    /// The next handover, if a point of service is asked about it.
    pub preparation: Option<Preparation>,
    /// Packets lost since the link in use went down, for the handover that this may lead to.
    pub losses_before: Losses,
    /// What its flows had lost when the link in use went down, for the handover that this may lead to.
    pub lost_before: Option<FlowLosses>,
    pub subject: Subject,
    /// Flows that begin or end here.
    pub flows: Vec<usize>,
    /// What keeps it reachable, if that is a protocol.
    pub protocol: Option<ProtocolRun>,
}

/// Who decides.
#[derive(Debug)]
pub enum Chooser {
    /// What is left of the timetable.
    Timetable(VecDeque<Attachment>),
    /// The policy, and the links by rank.
    Failback(Failback, Vec<usize>),
    /// A decision from outside.
    Decision(Decider),
}

/// A handover that is due.
#[derive(Debug)]
pub struct Due {
    /// When it began: of a link that was lost, when that was.
    at: Instant,
    link: Option<usize>,
    /// How the old link is left; `None` if it is lost, and what it held with it.
    handover: Option<Handover>,
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

impl MobileRun {
    /// A packet was lost with `link` or its queue; `works` says whether the scenario lets that link work. If
    /// it does not, the handover away from it has yet to begin.
    pub fn lose(&mut self, link: usize, works: bool, flow: Option<FlowId>) {
        if !works && self.attached == Some(link) {
            self.losses_before.add(flow);
        } else if let Some(record) = self.handovers.last_mut() {
            record.lose(flow);
        }
    }

    /// A flow's packet has come to the end of its way over one of this mobile's access links.
    pub fn arrive(&mut self, now: Instant, which: (usize, Way), over: usize) {
        if let Some(record) = self.handovers.last_mut() {
            record.arrive(now, which, over);
        }
    }

    /// A flow's bytes have come to the application.
    pub fn deliver(
        &mut self,
        now: Instant,
        flow: usize,
        delivered: &Delivered,
        over: Option<usize>,
    ) {
        if let Some(record) = self.handovers.last_mut() {
            record.deliver(now, flow, delivered, over);
        }
    }

    /// When this mobile has something to do.
    pub fn deadline(&self) -> Option<Instant> {
        let choice = match &self.chooser {
            Chooser::Timetable(entries) => entries.front().map(next_moment),
            Chooser::Failback(failback, _) => failback.poll_timeout(),
            Chooser::Decision(decider) => decider.deadline(),
        };
        let step = self.steps.front().map(|&(at, _)| at);
        let prepared = self.preparation.as_ref().and_then(Preparation::deadline);
        [choice, step, prepared].into_iter().flatten().min()
    }

    fn plan(&mut self, at: Instant, step: Step) {
        let place = self.steps.partition_point(|&(other, _)| other <= at);
        self.steps.insert(place, (at, step));
    }
}

/// When a timetable's entry asks for something: to be announced, and then to begin.
fn next_moment(entry: &Attachment) -> Instant {
    let ahead = entry.announced.unwrap_or_default();
    Instant::ZERO + entry.at.saturating_since(Instant::ZERO + ahead)
}

/// Takes out the first of a queue if it is as wanted.
fn pop_if<T>(queue: &mut VecDeque<T>, wanted: impl Fn(&T) -> bool) -> Option<T> {
    if queue.front().is_some_and(wanted) {
        queue.pop_front()
    } else {
        None
    }
}

impl World {
    /// Does what is due for a mobile: first what earlier handovers left to do, then the next one.
    pub(super) fn run_mobile(&mut self, number: usize) {
        if !self.mobiles[number].timer.fired(self.now) {
            return;
        }
        let now = self.now;
        while let Some((_, step)) = pop_if(&mut self.mobiles[number].steps, |&(at, _)| at <= now) {
            match step {
                Step::Attach(link) => self.attach(number, link),
                Step::MoveOutgoing => self.move_outgoing(number),
                Step::Silence(link) => self.silence(number, link),
            }
        }
        self.say_going_down(number);
        while let Some(due) = self.next_handover(number) {
            self.decide_handover(number, due);
        }
        if let Some(due) = self.next_prepared(number) {
            self.begin_handover(number, &due);
        }
        self.announce(number);
        self.arm_mobile(number);
    }

    /// Begins a handover that is due, or lets it wait for the point of service.
    fn decide_handover(&mut self, number: usize, due: Due) {
        if let Some(due) = self.prepared(number, due) {
            self.begin_handover(number, &due);
        }
    }

    /// Lets the link in use say that it is going down, if the next entry of the timetable is to be announced now.
    fn say_going_down(&mut self, number: usize) {
        let mobile = &mut self.mobiles[number];
        if let Chooser::Timetable(entries) = &mut mobile.chooser
            && let Some(entry) = entries.front_mut()
            && entry.announced.is_some()
            && next_moment(entry) <= self.now
        {
            entry.announced = None;
            let (attached, next) = (mobile.attached, entry.link);
            self.note_announcement(number);
            if let Some(link) = attached {
                self.signal(number, link, LinkEvent::GoingDown);
            }
            if let Some(LinkIndex(link)) = next {
                self.prepare(number, link);
            }
        }
    }

    /// Begins a handover on demand, now, as an entry of a timetable would.
    ///
    /// # Errors
    /// Why the mobile cannot.
    pub fn request_handover(
        &mut self,
        node: NodeIndex,
        to: Option<LinkIndex>,
        handover: Handover,
    ) -> Result<(), String> {
        let number = self.movable(node, to, handover)?;
        let due = Due {
            at: self.now,
            link: to.map(|link| link.0),
            handover: Some(handover),
        };
        self.decide_handover(number, due);
        self.announce(number);
        self.arm_mobile(number);
        self.settle();
        Ok(())
    }

    /// The number of the mobile at a node, if it can be handed over to a link on demand.
    fn movable(
        &self,
        node: NodeIndex,
        to: Option<LinkIndex>,
        handover: Handover,
    ) -> Result<usize, String> {
        let name = &self.scenario.nodes[node.0];
        let Some(number) = self.mobile_at(node.0) else {
            return Err(format!("{name} is not a mobile; expected one of `mobiles`"));
        };
        let mobile = &self.mobiles[number];
        let by = match mobile.chooser {
            Chooser::Timetable(_) => None,
            Chooser::Failback(..) => Some("prefer"),
            Chooser::Decision(_) => Some("decision"),
        };
        if let Some(key) = by {
            return Err(format!(
                "{name} chooses its link by `{key}`; expected a mobile with a timetable, or a change of a link's state"
            ));
        }
        let Some(LinkIndex(link)) = to else {
            return Ok(number);
        };
        let is_own = |wire: &Wire| wire.mobile == Some(number);
        if !self.wires.get(link).is_some_and(is_own) {
            let own = self.links_of(node).into_iter();
            let own = own
                .map(|link| &self.wires[link])
                .filter(|wire| is_own(wire));
            let own: Vec<&str> = own.map(|wire| wire.link.config().name.as_str()).collect();
            let wanted = self.scenario.links.get(link);
            let wanted = wanted.map_or("that link", |spec| spec.config.name.as_str());
            return Err(format!(
                "{wanted} is not an access link of {name}; expected one of: {}",
                own.join(", ")
            ));
        }
        let wire = &self.wires[link];
        if matches!(handover, Handover::Soft { .. })
            && mobile.attached == Some(link)
            && !wire.broken
        {
            let link = &wire.link.config().name;
            return Err(format!(
                "{name} is attached to {link} already; expected another link, or a hard handover"
            ));
        }
        Ok(number)
    }

    pub(super) fn arm_mobile(&mut self, number: usize) {
        let mobile = &mut self.mobiles[number];
        let deadline = mobile.deadline();
        mobile
            .timer
            .arm(&mut self.queue, deadline, Event::Mobile(number as u32));
    }

    /// The handover that is due now, if any.
    fn next_handover(&mut self, number: usize) -> Option<Due> {
        let now = self.now;
        match &mut self.mobiles[number].chooser {
            Chooser::Timetable(entries) => {
                let entry = pop_if(entries, |entry| entry.at <= now)?;
                Some(Due {
                    at: now,
                    link: entry.link.map(|link| link.0),
                    handover: Some(entry.handover),
                })
            }
            Chooser::Failback(failback, links) => {
                let switch = failback.poll(now)?;
                let soft = Handover::Soft {
                    overlap: None,
                    old_queue: OldQueue::Stays,
                    outgoing_after: Duration::ZERO,
                };
                Some(Due {
                    at: switch.lost_at.unwrap_or(now),
                    link: Some(links[switch.to]),
                    handover: switch.lost_at.is_none().then_some(soft),
                })
            }
            Chooser::Decision(_) => self.next_decided(number),
        }
    }

    /// Begins the record of a handover that began at `at`, and forgets what the one before had planned.
    pub(super) fn open_record(
        &mut self,
        number: usize,
        at: Instant,
        to: Option<usize>,
        kind: &'static str,
    ) {
        self.close_last_record(number);
        let old = self.mobiles[number].attached;
        let flows = self.flows_at_handover(number);
        let mobile = &mut self.mobiles[number];
        let announced = mobile.announced.take();
        // Of what the last handover had planned, only the end of its overlap stays.
        mobile.outgoing = None;
        mobile
            .steps
            .retain(|(_, step)| matches!(step, Step::Silence(_)));
        let mut record = HandoverRecord {
            announced: announced.map(|announcement| announcement.at),
            at,
            completed: None,
            links: [old, to],
            kind,
            lost_packets: 0,
            active: false,
            flows,
        };
        record.add_losses(&core::mem::take(&mut mobile.losses_before));
        mobile.lost_before = None;
        mobile.handovers.push(record);
    }

    fn begin_handover(&mut self, number: usize, due: &Due) {
        let Some(link) = self.choose(number, due.link) else {
            return;
        };
        let old = self.mobiles[number].attached;
        let kind = match due.handover {
            Some(Handover::Soft { .. }) => "soft",
            Some(Handover::Hard { .. }) | None => "hard",
        };
        self.open_record(number, due.at, link, kind);
        match due.handover {
            None => {
                self.attach(number, link);
                // A kernel whose addresses come and go loses those of the lost link for good.
                if let Some(old) = old.filter(|_| self.changes_address(number)) {
                    self.silence(number, old);
                }
            }
            Some(Handover::Soft {
                overlap,
                old_queue,
                outgoing_after,
            }) => {
                self.attach(number, link);
                if let Some(old) = old {
                    self.leave_softly(number, old, overlap, old_queue);
                    self.keep_outgoing(number, old, outgoing_after);
                    self.reroute(number);
                }
            }
            Some(Handover::Hard { outage, old_queue }) => {
                self.break_links(number, old_queue);
                if outage.is_zero() {
                    self.attach(number, link);
                } else {
                    let attach = Step::Attach(link);
                    self.mobiles[number].plan(self.now + outage, attach);
                }
            }
        }
    }

    fn leave_softly(
        &mut self,
        number: usize,
        old: usize,
        overlap: Option<Duration>,
        old_queue: OldQueue,
    ) {
        match old_queue {
            OldQueue::Stays => {}
            OldQueue::Discarded => {
                self.wires[old].link.discard_queue(self.now);
                self.touch(old);
            }
            OldQueue::Rerouted => self.wires[old].reroutes = true,
        }
        if overlap.is_none() && self.changes_address(number) {
            self.begin_leaving(old);
        }
        if let Some(overlap) = overlap {
            self.mobiles[number].plan(self.now + overlap, Step::Silence(old));
        }
    }

    /// Sends the mobile's own packets over the old link for some time yet.
    fn keep_outgoing(&mut self, number: usize, old: usize, time: Duration) {
        if !time.is_zero() {
            self.mobiles[number].outgoing = Some(old);
            self.mobiles[number].plan(self.now + time, Step::MoveOutgoing);
            self.install_routes();
        }
    }

    fn move_outgoing(&mut self, number: usize) {
        if let Some(old) = self.mobiles[number].outgoing.take() {
            self.touch(old);
        }
        self.install_routes();
        self.reroute(number);
    }

    /// Lets nothing pass on any link of a mobile, an old one that still delivers included.
    fn break_links(&mut self, number: usize, old_queue: OldQueue) {
        let changes_address = self.changes_address(number);
        for link in self.links_of(self.mobiles[number].node) {
            let wire = &mut self.wires[link];
            let own = wire.mobile == Some(number);
            // An interface that goes with its link goes, too, if the scenario has that link down.
            wire.broken |= own && changes_address;
            if own && wire.link.is_up() {
                wire.broken = true;
                wire.leaving = None;
                wire.reroutes =
                    old_queue == OldQueue::Rerouted && wire.link.config().flow_controlled();
                if wire.reroutes {
                    wire.link.hold_at_ip(self.now);
                } else {
                    wire.link.set_down(self.now, old_queue == OldQueue::Stays);
                }
                self.touch(link);
                self.signal(number, link, LinkEvent::Down);
            }
        }
    }

    /// Takes a link into use: routes of all hosts lead over it from now on. A mobile that has broken with its
    /// old link and takes no other leaves the routes as they are: nobody knows, and what is sent there is
    /// lost or, by a link that buffers, kept.
    fn attach(&mut self, number: usize, link: Option<usize>) {
        self.use_link(number, link);
        match link {
            // The protocol says when it is complete.
            Some(link) if self.mobiles[number].protocol.is_some() => {
                self.report_path(number, link);
                self.signal(number, link, LinkEvent::HandoverImminent);
                self.signal_up(number, link);
            }
            _ => self.complete_last_record(number, link),
        }
    }

    /// Lets routes lead over a link.
    pub(super) fn use_link(&mut self, number: usize, link: Option<usize>) {
        let before = core::mem::replace(&mut self.mobiles[number].attached, link);
        let has_protocol = self.mobiles[number].protocol.is_some();
        for own in self.links_of(self.mobiles[number].node) {
            let wire = &mut self.wires[own];
            wire.in_use &= wire.mobile != Some(number) || link.is_none() && wire.broken;
        }
        if let Some(link) = link {
            let wire = &mut self.wires[link];
            wire.in_use = !has_protocol;
            wire.broken = false;
            wire.leaving = None;
            wire.reroutes = false;
            if wire.works && !wire.link.is_up() {
                wire.link.set_up(self.now);
            }
            self.touch(link);
            // An earlier overlap of this link must not end it now.
            self.mobiles[number]
                .steps
                .retain(|(_, step)| !matches!(step, Step::Silence(old) if *old == link));
        }
        // Over the links of a mobile with a protocol no route leads: its agents decide.
        if !has_protocol && !self.follow(before, link) {
            self.install_routes();
        }
        if link.is_some() {
            self.reroute(number);
        }
        self.record_attachment(number);
    }

    /// Lets routes follow an aircraft from cell to cell, or into its first one. Returns whether that is what has happened.
    fn follow(&mut self, before: Option<usize>, link: Option<usize>) -> bool {
        let Some(link) = link.filter(|&link| self.wires.place(link).is_some()) else {
            return false;
        };
        let radio = |link: usize| self.wires.place(link).map(|place| place.radio);
        let stays = before.is_none_or(|before| radio(before) == radio(link));
        stays && routing::follow(&mut self.nodes, &self.routers, self.wires.ends(link))
    }

    /// Gives every host its routes; a mobile whose own packets still take its old link sends them there.
    pub(super) fn install_routes(&mut self) {
        let behind = (&self.behind_links[..], &self.behind_cells[..]);
        self.routers = routing::install(&mut self.nodes, &self.wires, behind);
        for mobile in &self.mobiles {
            if let (Some(old), Some(new)) = (mobile.outgoing, mobile.attached) {
                let node = mobile.node.0;
                let at_mobile = |link: usize| {
                    let mut ends = self.wires.ends(link).into_iter();
                    ends.find(|end| end.0 == node)
                };
                if let (Some((_, old)), Some((_, new))) = (at_mobile(old), at_mobile(new)) {
                    self.nodes[node].host.routes_mut().redirect(new, old);
                }
            }
        }
    }

    pub(super) fn silence(&mut self, number: usize, link: usize) {
        if self.mobiles[number].outgoing == Some(link) {
            self.move_outgoing(number);
        }
        self.wires[link].broken = true;
        self.wires[link].link.set_down(self.now, false);
        self.touch(link);
        self.signal(number, link, LinkEvent::Down);
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
        let is_new = wire.works != change.up || *wire.link.config() != *change.config;
        wire.repeats = change.config.repeats();
        wire.link.reconfigure(self.now, change.config);
        self.touch(change.link.0);
        self.announce_mtu(change.link.0);
        if is_new {
            self.report_parameters(change.link.0);
        }
        self.turn(change.link.0, change.up);
        if is_new {
            self.report_state(change.link.0);
        }
    }

    /// Lets a link work or not from now on, and tells its mobile if that is new.
    pub(super) fn turn(&mut self, link: usize, up: bool) {
        let wire = &mut self.wires[link];
        let turned = wire.works != up;
        wire.works = up;
        if turned && !up && wire.link.is_up() {
            wire.link.set_down(self.now, false);
        } else if turned && up && !wire.broken {
            wire.link.set_up(self.now);
        }
        let mobile = wire.mobile;
        self.touch(link);
        if let (Some(number), true) = (mobile, turned) {
            if self.mobiles[number].attached == Some(link) {
                let lost = (!up).then(|| self.losses_of(number));
                self.mobiles[number].losses_before = Losses::default();
                self.mobiles[number].lost_before = lost;
                let signal = if up { LinkEvent::Up } else { LinkEvent::Down };
                self.signal(number, link, signal);
            }
            let event = if up { LinkEvent::Up } else { LinkEvent::Down };
            self.tell_chooser(number, link, event);
        }
    }

    /// Tells what decides which link a mobile uses what one of its links says.
    pub(super) fn tell_chooser(&mut self, number: usize, link: usize, event: LinkEvent) {
        let now = self.now;
        if let Chooser::Failback(failback, links) = &mut self.mobiles[number].chooser
            && let Some(rank) = links.iter().position(|&known| known == link)
        {
            match event {
                LinkEvent::Up => failback.handle_link(now, rank, true),
                LinkEvent::Down => failback.handle_link(now, rank, false),
                LinkEvent::GoingDown => failback.handle_going_down(now, rank, true),
                LinkEvent::Rollback => failback.handle_going_down(now, rank, false),
                _ => {}
            }
        }
        self.tell_decision(number, link, event);
        self.arm_mobile(number);
    }
}
