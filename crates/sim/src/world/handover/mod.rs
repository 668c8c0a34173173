//! Handovers of mobiles between access links: the laboratory's part.
//!
//! A mobile's node decides, and signals to its own parts ([`Attachment`]). This module carries out its commands to
//! media, lets routes follow it if it has no mobility protocol, and records the effects of handovers on flows. For a
//! mobile with one link in use, only routes to it change; for others all routes of the world are recomputed, in time
//! proportional to nodes times links.

mod build;
mod media;
mod record;
mod unlisted;

pub use record::{Announcement, FlowAtHandover, FlowLosses, HandoverRecord, Losses};
pub(super) use unlisted::Unlisted;
pub use unlisted::UnlistedHandovers;

use super::agents::ProtocolRun;
use super::flow::Delivered;
use super::packet_counts::Way;
use super::wires::{CellPlace, LeadsTo, RadioPlace};
use super::{Net, World, routing};
use crate::link::number::LinkNumber;
use crate::record::{Quantity, Subject};
use crate::scenario::model::{LinkIndex, NodeIndex, StationId};
use baton_proto::interface::{InterfaceId, LinkCommand, LinkEvent};
use baton_proto::mobility::attachment::decision::Answer;
use baton_proto::mobility::attachment::{Begun, Handover, Input, Output, Refusal, Signal};
use baton_proto::packet::FlowId;
use baton_proto::time::Instant;

/// A mobile under way.
#[derive(Debug)]
pub struct MobileRun {
    pub node: NodeIndex,
    attached: Option<LinkNumber>,
    outgoing: Option<LinkNumber>,
    /// True while its node's outputs are being carried out: further outputs wait for their turn.
    pub is_driven: bool,
    /// The links whose reception the mobile measures, if it decides from outside.
    pub measured: Box<[usize]>,
    pub handovers: Vec<HandoverRecord>,
    /// The next handover, if it has been announced.
    pub announced: Option<Box<Announcement>>,
    /// Losses before a coming handover.
    pub lost_before: Option<Box<LostBefore>>,
    pub subject: Subject,
    /// Flows that begin or end here.
    pub flows: Vec<usize>,
    /// Its mobility protocol, if it has one.
    pub protocol: Option<ProtocolRun>,
}

/// Losses before a handover has begun.
#[derive(Debug, Default)]
pub struct LostBefore {
    /// Packets lost since the link in use went down.
    packets: Losses,
    /// Losses of flows at that time.
    flows: Option<FlowLosses>,
}

impl MobileRun {
    /// Returns the access link in use, by its place in the scenario, as far as its node's outputs have been carried out.
    pub fn attached(&self) -> Option<usize> {
        self.attached.map(LinkNumber::get)
    }

    /// Returns the old access link, as long as the mobile's own packets still take it.
    pub fn outgoing(&self) -> Option<usize> {
        self.outgoing.map(LinkNumber::get)
    }

    /// Counts a packet lost with `link` or its queue; `works` is true if the scenario lets that link work. If
    /// it does not, the handover away from it has yet to begin.
    pub fn lose(&mut self, link: usize, works: bool, flow: Option<FlowId>) {
        if !works && self.attached() == Some(link) {
            let before = self.lost_before.get_or_insert_default();
            before.packets.add(flow);
        } else if let Some(record) = self.handovers.last_mut() {
            record.lose(flow);
        }
    }

    /// Notes the arrival of a flow's packet at its end over one of this mobile's access links.
    pub fn arrive(&mut self, now: Instant, which: (usize, Way), over: usize) {
        if let Some(record) = self.handovers.last_mut() {
            record.arrive(now, which, over);
        }
    }

    /// Notes bytes of a flow delivered to the application.
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
}

impl World {
    /// Takes in a medium's event at a mobile's end of an access link.
    pub(super) fn tell_mobile(&mut self, number: usize, interface: InterfaceId, event: LinkEvent) {
        let node = self.net.mobiles[number].node.0;
        self.measure(node);
        let host = &mut self.net.nodes[node].host;
        host.handle_link(self.now, interface, event);
        self.pump(node);
    }

    /// Begins a handover on demand, now, as an entry of a timetable would.
    ///
    /// # Errors
    /// The reason for the mobile's refusal.
    pub fn request_handover(
        &mut self,
        node: NodeIndex,
        to: Option<LinkIndex>,
        handover: Handover,
    ) -> Result<(), String> {
        let name = &self.scenario.nodes[node.0];
        if self.net.mobile_at(node.0).is_none() {
            return Err(format!("{name} is not a mobile; expected one of `mobiles`"));
        }
        let joins = |leads_to: &LeadsTo| matches!((*leads_to, to), (LeadsTo::Link(link, _), Some(to)) if link as usize == to.0);
        let place = self.net.nodes[node.0].interfaces.iter().position(joins);
        // A missing interface leads to no access link.
        let interface = to.map(|_| InterfaceId(place.unwrap_or(usize::MAX)));
        let host = &mut self.net.nodes[node.0].host;
        host.request_handover(self.now, interface, handover)
            .map_err(|refusal| self.refused(node, to, refusal))?;
        self.pump(node.0);
        self.settle();
        Ok(())
    }

    /// Passes to a mobile the answer of its decision from outside, after the time that the decision took.
    pub fn answer(&mut self, node: NodeIndex, answer: Option<Answer>) {
        let host = &mut self.net.nodes[node.0].host;
        host.handle_input(self.now, Input::Answer(answer));
        self.pump(node.0);
        self.settle();
    }

    /// Returns the error for a handover on demand that a mobile refuses.
    fn refused(&self, node: NodeIndex, to: Option<LinkIndex>, refusal: Refusal) -> String {
        let name = &self.scenario.nodes[node.0];
        let wanted = to.and_then(|link| self.scenario.links.get(link.0));
        let wanted = wanted.map_or("that link", |spec| spec.config.name.as_str());
        let by_key = |key: &str| {
            format!(
                "{name} chooses its link by `{key}`; expected a mobile with a timetable, or a change of a link's state"
            )
        };
        match refusal {
            Refusal::ChoosesByPreference => by_key("prefer"),
            Refusal::ChoosesByDecision => by_key("decision"),
            Refusal::NoAccessLink => {
                let own = self.net.links_of(node).into_iter();
                let own = own.filter(|&link| self.net.wires[link].mobile().is_some());
                let own = own.map(|link| self.net.wires.config(link).name.as_str());
                let own: Vec<&str> = own.collect();
                format!(
                    "{wanted} is not an access link of {name}; expected one of: {}",
                    own.join(", ")
                )
            }
            Refusal::AttachedAlready => format!(
                "{name} is already attached to {wanted}; expected another link, or a hard handover"
            ),
        }
    }

    /// Carries out the outputs of a node's attachment, if it is a mobile, one after the other.
    #[inline]
    pub(super) fn drive(&mut self, node: usize) {
        if self.net.nodes[node].host.attachment().is_some()
            && let Some(number) = self.net.mobile_at(node)
            && !self.net.mobiles[number].is_driven
        {
            self.drive_mobile(number, node);
        }
    }

    fn drive_mobile(&mut self, number: usize, node: usize) {
        self.net.mobiles[number].is_driven = true;
        while let Some(output) = self.net.nodes[node].host.poll_attachment(self.now) {
            match output {
                Output::Command(interface, command) => {
                    let link = self.net.link_at(node, interface);
                    self.command(link, command);
                    // Packets on the link ignore this one.
                    if command != LinkCommand::GoingDown {
                        self.net.touch(link);
                    }
                }
                Output::Signal(signal) => self.follow(number, signal),
            }
        }
        self.net.mobiles[number].is_driven = false;
        self.announce(number);
        self.tell_networks();
    }

    /// Follows a signal of a mobile's attachment, after its own parts have heard it: they may have packets to send.
    fn follow(&mut self, number: usize, signal: Signal) {
        let node = self.net.mobiles[number].node.0;
        match signal {
            Signal::Announced => self.note_announcement(number),
            Signal::HandoverForeseen(_) => self.pump(node),
            Signal::Begun(begun) => self.begin_record(number, begun),
            Signal::Attached(interface) => {
                let link = interface.map(|interface| self.net.link_at(node, interface));
                let before = self.net.links_in_use(node);
                self.note_attached(number, link);
                // No route leads over the links of a mobile with a protocol: its agents decide.
                if self.net.mobiles[number].protocol.is_none()
                    && !self.net.follow_mobile(node, &before)
                {
                    self.net.install_routes();
                }
            }
            Signal::Outgoing(interface) => {
                let link = interface.map(|interface| self.net.link_at(node, interface));
                self.net.note_outgoing(number, link);
            }
            Signal::InUse(..) => self.pump(node),
            Signal::Link(interface, event) if self.net.mobiles[number].protocol.is_some() => {
                let link = self.net.link_at(node, interface);
                self.record_link_signal(node, link, event);
                self.pump(node);
            }
            Signal::Complete(interface) => {
                let link = interface.map(|interface| self.net.link_at(node, interface));
                self.complete_last_record(number, link);
                self.close_queues(number);
                self.pump(node);
            }
            // An attachment has no other outputs.
            _ => {}
        }
    }

    fn begin_record(&mut self, number: usize, begun: Begun) {
        let node = self.net.mobiles[number].node.0;
        let link = begun.to.map(|interface| self.net.link_at(node, interface));
        self.net.mobiles[number].outgoing = None;
        if let Some(link) = link {
            self.open_queues(link);
        }
        self.open_record(number, begun.at, link, begun.kind);
    }

    /// Lets routes lead over a mobile's access link, once they are installed. A mobile that has broken with its old link without
    /// a new one leaves them unchanged: packets sent there are lost or, if the link buffers, kept.
    fn note_attached(&mut self, number: usize, link: Option<usize>) {
        self.net.mobiles[number].attached = link.map(LinkNumber::new);
        for own in self.net.links_of(self.net.mobiles[number].node) {
            let wire = &mut self.net.wires[own];
            wire.in_use &= wire.mobile() != Some(number) || link.is_none() && wire.broken;
        }
        if let Some(link) = link {
            self.net.wires[link].in_use = self.scenario.mobiles[number].mobility.is_none();
        }
        let series = link.map_or(-1.0, |link| link as f64);
        let mobile = &self.net.mobiles[number];
        if !self.is_elsewhere(mobile.node.0) {
            let recorder = &mut self.probes.recorder;
            recorder.series(self.now, mobile.subject, Quantity::AttachedLink, series);
        }
    }

    /// Lets a mobile that decides from outside measure its received power and its position.
    pub(super) fn measure(&mut self, node: usize) {
        let Some(number) = self.net.mobile_at(node) else {
            return;
        };
        let mobile = &self.net.mobiles[number];
        for (place, &link) in mobile.measured.iter().enumerate() {
            let (Some(along), Some(run)) = (
                self.scenario.links[link].reception.as_ref(),
                self.script.runs.get(&link),
            ) else {
                continue;
            };
            let position_m = run.position_m(self.now);
            let received_dbm = along.reception.measured_dbm(position_m);
            let interface = self.net.interface(node, link);
            let host = &mut self.net.nodes[node].host;
            host.handle_input(self.now, Input::ReceivedPower(interface, received_dbm));
            if place == 0 {
                host.handle_input(self.now, Input::Position(position_m));
            }
        }
    }
}

impl Net {
    /// Returns the link behind an interface; for a radio network, the link to the cell of the network's last event.
    pub(super) fn link_at(&self, node: usize, interface: InterfaceId) -> usize {
        match self.nodes[node].interfaces[interface.0] {
            LeadsTo::Link(link, _) => link as usize,
            LeadsTo::Radio(aircraft) => self.spoken_of(aircraft),
            // No mobile has such an interface.
            LeadsTo::Cell(CellPlace { radio, cell }) => self.wires.number(RadioPlace {
                radio,
                station: StationId(0),
                cell,
            }),
        }
    }

    fn note_outgoing(&mut self, number: usize, link: Option<usize>) {
        let mobile = &mut self.mobiles[number];
        let old = mobile.outgoing();
        mobile.outgoing = link.map(LinkNumber::new);
        if let (Some(old), None) = (old, link) {
            self.touch(old);
        }
        self.install_routes();
    }

    /// Returns the links of a node over which routes lead.
    fn links_in_use(&self, node: usize) -> Vec<usize> {
        let links = self.links_of(NodeIndex(node)).into_iter();
        links.filter(|&link| self.wires[link].in_use).collect()
    }

    /// Lets routes follow a mobile whose links in use were others before. Returns false if that takes a search of all paths: the
    /// mobile is out of reach, or paths may lead through it.
    fn follow_mobile(&mut self, node: usize, before: &[usize]) -> bool {
        let present = self.links_in_use(node);
        let [link] = present[..] else {
            return false;
        };
        let (Some(routers), true) = (&self.routers, before.len() <= 1) else {
            return false;
        };
        let far = self.wires.far_from(link, node);
        let own = (node, self.interface(node, link));
        routing::follow(&mut self.nodes, routers, [far, own])
    }

    /// Gives every host its routes; a mobile whose own packets still take its old link sends them there.
    pub(super) fn install_routes(&mut self) {
        let behind_links = self.behind_links();
        let behind = (&behind_links[..], &self.behind_cells[..]);
        let places = (behind, &self.private_addresses[..]);
        self.routers = routing::install(&mut self.nodes, (&self.wires, &self.mobiles), places);
        for mobile in &self.mobiles {
            if let (Some(old), Some(new)) = (mobile.outgoing(), mobile.attached()) {
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
}
