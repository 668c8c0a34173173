//! Mobiles at time zero.

use super::MobileRun;
use crate::mobility::Mobility;
use crate::rng::Seed;
use crate::scenario::model::{
    AddressPolicy, AttachmentPolicy, LinkIndex, Mobile, Scenario, TimetableEntry, on_radio,
};
use crate::world::flow::FlowRun;
use crate::world::wires::LeadsTo;
use crate::world::{Load, Net, World};
use baton_proto::interface::InterfaceId;
use baton_proto::mobility::attachment::{
    AccessInterface, Attachment, Decider, Entry, Output, Policy, Preference, Settings, Signal,
    Timetable,
};
use baton_proto::remedies::{Scheme, Tells};
use baton_proto::time::{Duration, Instant};

impl World {
    /// Makes a node a mobile whose access links are known, and attaches it to its first one. `is_real` is true if a live run
    /// drives its kernel.
    pub(in crate::world) fn add_mobile(&mut self, number: usize, flows: Vec<usize>, is_real: bool) {
        let mobile = self.scenario.mobiles[number].clone();
        let node = mobile.node.0;
        let remote = self.scenario.remote_names(&mobile);
        let policy = policy(&mobile.attachment, &self.scenario, (self, node), &remote);
        let machine = Attachment::new(Settings {
            interfaces: self.net.access_interfaces(number, node),
            policy,
            registers: mobile.mobility.is_some(),
            signalling: mobile.mobility.as_deref().and_then(Mobility::signalling),
            detaches_old: is_real && self.scenario.live.address == AddressPolicy::New,
        });
        let reports_paths = self.load.reports_paths(&mobile, &flows);
        let host = &mut self.net.nodes[node].host;
        host.set_attachment(machine, reports_paths);
        let subject = self
            .probes
            .recorder
            .subject(&format!("mobile {}", self.scenario.nodes[node]));
        let measured = self.measured(&mobile.attachment);
        self.net.mobiles.push(MobileRun {
            node: mobile.node,
            attached: None,
            outgoing: None,
            is_driven: false,
            measured: measured.into(),
            handovers: Vec::new(),
            announced: None,
            lost_before: None,
            subject,
            flows,
            protocol: None,
        });
        self.begin(number, node);
    }

    /// Returns the links whose reception a mobile measures, if it decides from outside.
    fn measured(&self, policy: &AttachmentPolicy) -> Vec<usize> {
        let AttachmentPolicy::Decision(chosen) = policy else {
            return Vec::new();
        };
        let links = chosen.links.iter().map(|link| link.0);
        links
            .filter(|&link| {
                let spec = self.scenario.links.get(link);
                spec.is_some_and(|spec| spec.reception.is_some())
            })
            .collect()
    }

    /// Attaches a mobile to its first link. Signals to its parts and the far ends wait until the world is complete.
    fn begin(&mut self, number: usize, node: usize) {
        self.measure(node);
        let mut up = Vec::new();
        for AccessInterface { id, is_network } in self.net.access_interfaces(number, node) {
            let link = self.net.link_at(node, id);
            let is_up = match is_network {
                true => self.net.is_in_network(link),
                false => self.net.wires[link].works,
            };
            if is_up {
                up.push(id);
            }
        }
        if let Some(own) = self.net.nodes[node].host.attachment_mut() {
            own.begin(self.now, &up);
        }
        while let Some(output) = self.net.nodes[node].host.poll_attachment(self.now) {
            match output {
                Output::Command(interface, command) => {
                    let link = self.net.link_at(node, interface);
                    self.command(link, command);
                }
                Output::Signal(Signal::Attached(interface)) => {
                    let link = interface.map(|interface| self.net.link_at(node, interface));
                    return self.note_attached(number, link);
                }
                Output::Signal(_) => {}
            }
        }
    }
}

/// Returns the policy of a mobile at a node.
fn policy(
    chosen: &AttachmentPolicy,
    scenario: &Scenario,
    (world, node): (&World, usize),
    remote: &[String],
) -> Policy {
    let interface = |link: &LinkIndex| {
        let radio = on_radio(&scenario.radios, *link);
        let own = radio.map_or(link.0, |(radio, ..)| world.net.present_in(radio, node));
        world.net.interface(node, own)
    };
    match chosen {
        AttachmentPolicy::Timetable(entries) => {
            let name = &scenario.nodes[node];
            let mut draws = Seed(scenario.seed).stream(&format!("mobile {name} timetable"));
            let mut entries = entries.iter();
            let first = entries.next().and_then(|entry| entry.link);
            let entry = |entry: &TimetableEntry| {
                let span = entry.jitter + entry.jitter;
                let shift = Duration::from_nanos(draws.below(span.as_nanos().max(1)));
                let latest = entry.at + shift;
                Entry {
                    at: Instant::ZERO + latest.saturating_since(Instant::ZERO + entry.jitter),
                    to: entry.link.as_ref().map(interface),
                    handover: entry.handover,
                    announced: entry.announced,
                }
            };
            let entries = entries.map(entry).collect();
            Policy::Timetable(Timetable::new(first.as_ref().map(interface), entries))
        }
        AttachmentPolicy::Failback(failback) => {
            let interfaces = failback.prefer.iter().map(interface).collect();
            let preference = Preference::new(failback.times, interfaces);
            Policy::Preference(Box::new(match failback.breaks_first {
                true => preference.breaking_before_making(),
                false => preference,
            }))
        }
        AttachmentPolicy::Decision(chosen) => {
            let interfaces = chosen.links.iter().map(interface).collect();
            let decision = chosen
                .decision
                .build(&scenario.nodes[node], &chosen.names, remote);
            Policy::Decision(Box::new(Decider::new(decision, interfaces)))
        }
    }
}

impl Net {
    /// Returns the interfaces to a mobile's access links.
    fn access_interfaces(&self, number: usize, node: usize) -> Vec<AccessInterface> {
        let interfaces = self.nodes[node].interfaces.iter().enumerate();
        let access = interfaces.filter_map(|(place, &leads_to)| {
            let (link, is_network) = match leads_to {
                LeadsTo::Link(link, _) => (link as usize, false),
                LeadsTo::Radio(aircraft) => (self.wires.present(aircraft), true),
                LeadsTo::Cell(_) => return None,
            };
            let own = self.wires[link].mobile() == Some(number);
            own.then_some(AccessInterface {
                id: InterfaceId(place),
                is_network,
            })
        });
        access.collect()
    }
}

impl Load {
    /// Returns true if a mobile's binding updates report the parameters of its link, because one of its flows uses them: by a
    /// remedy, or by a transport that follows links.
    fn reports_paths(&self, mobile: &Mobile, flows: &[usize]) -> bool {
        let by_update = |scheme: &Scheme| scheme.tells() == Tells::BindingUpdate;
        let wants = |flow: &FlowRun| {
            let transport = flow.spec.transport.other();
            transport.is_some_and(|transport| transport.follows_links())
                || flow.spec.remedies.iter().any(by_update)
        };
        mobile
            .mobility
            .as_deref()
            .is_some_and(Mobility::reports_paths)
            && flows.iter().any(|&flow| wants(&self.flows[flow]))
    }
}
