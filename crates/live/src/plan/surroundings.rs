//! Mobiles and remedies around the kernels: what of them has its place in the world, and what only a simulated TCP has.

use super::{Plan, Refusal};
use baton_proto::mobility::attachment::{Handover, OldQueue};
use baton_sim::scenario::model::{
    AddressPolicy, AttachmentPolicy, Flow, Mobile, Scenario, Transport,
};

impl Plan {
    /// Refuses what a real mobile cannot have beside its agents, its radio or its translators.
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
            let message = format!("{name} has {keeps}, and no translator on an access link");
            self.wrong
                .push(Refusal::new("live.nat", message, Some("false")));
        }
        let sends_from_care_of = mobile.mobility.as_deref();
        if sends_from_care_of.is_some_and(|mobility| mobility.sends_from_care_of_address()) {
            let message = "the kernel sends from its home address only";
            let key = key_of(scenario, mobile, "mobility.delivery");
            let nearest = "\"triangle\" or \"reverse-tunnel\", also in the lines of `policy`";
            self.wrong.push(Refusal::new(&key, message, Some(nearest)));
        }
    }

    /// Refuses what a flow between kernels would need in their transports.
    pub(super) fn refuse_at_ends(&mut self, flow: &Flow) {
        if let Transport::Aerotp(_) = flow.transport {
            let key = format!("flows.{}.transport", flow.name);
            let message = "kernels do not speak AeroTP";
            let nearest = "\"tcp\" or \"udp\", across a link with `aerotp_gateways`";
            self.wrong.push(Refusal::new(&key, message, Some(nearest)));
        }
        for scheme in &flow.remedies {
            if scheme.at_gateway().is_some() {
                continue;
            }
            let key = format!("flows.{}.remedies", flow.name);
            let message = format!(
                "\"{}\" works inside the TCP of an end, which is the kernel's",
                scheme.name()
            );
            let nearest =
                "\"ready-gateway\", which shapes the connection at the gateway by the link in use";
            self.refuse(&key, message, Some(nearest));
        }
    }
}

fn key_of(scenario: &Scenario, mobile: &Mobile, key: &str) -> String {
    format!("mobiles.{}.{key}", scenario.nodes[mobile.node.0])
}

/// Returns true if a handover of a mobile sends what waits by another way.
fn reroutes(mobile: &Mobile) -> bool {
    let AttachmentPolicy::Timetable(entries) = &mobile.attachment else {
        return false;
    };
    entries.iter().any(|entry| {
        let (Handover::Soft { old_queue, .. } | Handover::Hard { old_queue, .. }) = entry.handover;
        old_queue == OldQueue::Rerouted
    })
}
