//! Mobiles and remedies around the kernels: the parts that the world models, and those that only a simulated TCP has.

use super::{Plan, Refusal};
use baton_proto::mobility::attachment::{Handover, OldQueue};
use baton_proto::remedies::{Kind, Scheme};
use baton_sim::scenario::model::{AddressPolicy, AttachmentPolicy, Flow, Mobile, Scenario};
use std::collections::BTreeSet;

impl Plan {
    /// Refuses features that a real mobile cannot have beside its agents, its radio or its translators.
    pub(super) fn refuse_for_mobiles(&mut self, scenario: &Scenario) {
        for mobile in &scenario.mobiles {
            if scenario.live.nat && reroutes(mobile) {
                let message = "what waits has an address that is translated on the old link, and cannot take another";
                let key = key_of(scenario, mobile, "timetable");
                self.refuse(&key, message, Some("live.nat = false"));
            }
            if scenario.live.hosts.contains(&mobile.node) {
                self.refuse_for_real(scenario, mobile);
            }
        }
    }

    fn refuse_for_real(&mut self, scenario: &Scenario, mobile: &Mobile) {
        let name = &scenario.nodes[mobile.node.0];
        let keeps = match &mobile.mobility {
            Some(_) => "a mobility protocol, by which its kernel knows its home address only",
            None if !mobile.attachment.radios(&scenario.radios).is_empty() => {
                "a radio network, whose cells its kernel takes for one link"
            }
            None => return,
        };
        if scenario.live.address == AddressPolicy::New {
            let message = format!("{name} has {keeps}");
            let refusal = Refusal::new("live.address", message, Some("\"kept\""));
            self.wrong.push(refusal);
        }
        if scenario.live.nat {
            let message = match &mobile.mobility {
                // RFC 5944's tunnels have no ports; to cross a translator takes those of RFC 3519 or RFC 5555.
                Some(_) => format!(
                    "{name} registers the address that it has on a link, which a translator would change, and tunnels \
                     have no ports by which one could tell mobiles apart"
                ),
                None => format!("{name} has {keeps}, and no translator on an access link"),
            };
            self.wrong
                .push(Refusal::new("live.nat", message, Some("false")));
        }
        let sends_from_care_of = mobile.mobility.as_deref();
        if sends_from_care_of.is_some_and(|mobility| mobility.sends_from_care_of_address()) {
            let message = "a conversation without mobility has the care-of address at its socket, and that is the \
                           agent's: the kernel has the home address only";
            let key = key_of(scenario, mobile, "mobility.delivery");
            let nearest = "\"triangle\" or \"reverse-tunnel\", also in the lines of `policy`";
            self.wrong.push(Refusal::new(&key, message, Some(nearest)));
        }
    }

    /// Refuses features of a flow between kernels that their transports would need.
    pub(super) fn refuse_at_ends(&mut self, scenario: &Scenario, flow: &Flow) {
        if let Some(transport) = flow.transport.other() {
            let key = format!("flows.{}.transport", flow.name);
            let message = format!("no kernel speaks \"{}\"", transport.name());
            let nearest = transport.in_place_of_kernels();
            self.wrong.push(Refusal::new(&key, message, Some(nearest)));
        }
        self.refuse_remedies(scenario, flow);
    }

    /// Refuses features of flows that programs in their place cannot have.
    pub(super) fn refuse_for_programs(&mut self, scenario: &Scenario) {
        let replaced = &scenario.live.replaced;
        for (number, flow) in replaced.iter().enumerate() {
            self.refuse_remedies(scenario, flow);
            let ends = |flow: &Flow| BTreeSet::from([flow.from, flow.to]);
            let mut before = replaced[..number].iter();
            let other = before.find(|other| {
                ends(other) == ends(flow)
                    && service_of(other).is_some_and(|service| Some(service) != service_of(flow))
            });
            if let (Some(other), Some(_)) = (other, service_of(flow)) {
                let message = format!(
                    "a gateway serves all connections of programs between two hosts alike, and flows.{} asks for another \
                     service",
                    other.name
                );
                let key = format!("flows.{}.remedies", flow.name);
                let nearest = "the same remedies in both flows, or no program";
                self.wrong.push(Refusal::new(&key, message, Some(nearest)));
            }
        }
    }

    fn refuse_remedies(&mut self, scenario: &Scenario, flow: &Flow) {
        let key = format!("flows.{}.remedies", flow.name);
        for scheme in &flow.remedies {
            if scheme.at_gateway().is_some() {
                self.refuse_behind_translator(scenario, &key, scheme.name());
                continue;
            }
            let message = format!(
                "\"{}\" works inside the TCP of an end, which is the kernel's",
                scheme.name()
            );
            let nearest =
                "\"ready-gateway\", which shapes the connection at the gateway by the link in use";
            self.refuse(&key, message, Some(nearest));
        }
    }

    /// Refuses a remedy at a gateway that knows the mobile by another address than its connections.
    fn refuse_behind_translator(&mut self, scenario: &Scenario, key: &str, remedy: &str) {
        let live = &scenario.live;
        let (setting, nearest) = match (live.nat, live.address) {
            (true, _) => ("live.nat", "live.nat = false"),
            (false, AddressPolicy::New) => ("live.address = \"new\"", "live.address = \"kept\""),
            (false, AddressPolicy::Kept) => return,
        };
        let message = format!(
            "\"{remedy}\" knows the mobile by its one address, which {setting} takes from it"
        );
        self.refuse(key, message, Some(nearest));
    }
}

/// Returns the published remedies of a flow with a part at gateways; `None` if there is no such part.
fn service_of(flow: &Flow) -> Option<Vec<Kind>> {
    let mut remedies = flow.remedies.iter();
    let has_part = remedies.any(|scheme| scheme.at_gateway().is_some());
    let published = flow.remedies.iter().filter_map(Scheme::published);
    has_part.then(|| published.collect())
}

fn key_of(scenario: &Scenario, mobile: &Mobile, key: &str) -> String {
    format!("mobiles.{}.{key}", scenario.nodes[mobile.node.0])
}

/// Returns true if a handover of a mobile reroutes waiting packets.
fn reroutes(mobile: &Mobile) -> bool {
    let AttachmentPolicy::Timetable(entries) = &mobile.attachment else {
        return false;
    };
    entries.iter().any(|entry| {
        let (Handover::Soft { old_queue, .. } | Handover::Hard { old_queue, .. }) = entry.handover;
        old_queue == OldQueue::Rerouted
    })
}
