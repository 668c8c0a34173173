//! Choice among an agent's gateways, as TeleMIP spreads mobiles over its mobility agents (S. Das, A. Misra, P. Agrawal,
//! S. K. Das, IEEE Personal Communications 7(4), 2000). The paper leaves the rule open. Chosen: the home address decides,
//! so that all agents of a domain lead a mobile to the same gateway, and consecutive addresses to each gateway in turn.

use super::MobileNode;
use crate::mobility::mobile_ipv4::discovery::Agent;
use crate::wire::mobile_ipv4::Purpose;
use core::net::Ipv4Addr;

impl MobileNode {
    /// Returns the gateway to use above an agent: the present one, if it is above this agent, too. Without an association
    /// with gateways the mobile uses none.
    pub(super) fn gateway_above(&self, agent: &Agent) -> Option<Ipv4Addr> {
        let gateways = agent.gateways();
        if gateways.is_empty() || self.config.foreign.is_none() {
            return None;
        }
        let mut present = self.bindings.iter().rev();
        let present =
            present.find_map(|bound| bound.point.gateway.filter(|own| gateways.contains(own)));
        let home_address = u64::from(self.config.home_address.to_bits());
        let place = (home_address + u64::from(self.gateways_left)) % gateways.len() as u64;
        present.or_else(|| gateways.get(place as usize).copied())
    }

    /// Directs the pending request to the next gateway of the agent, if there is another one, because the present one
    /// does not answer.
    pub(super) fn turn_to_next_gateway(&mut self) {
        let target = self.pending.as_ref().map(|pending| pending.target);
        let Some((target, silent)) =
            target.and_then(|target| Some((target, target.point.gateway?)))
        else {
            return;
        };
        let mut links = self.attachments.iter_mut();
        let link = links.find(|link| link.interface == target.point.interface);
        let agent = link.and_then(|link| link.discovery.choose().cloned());
        let Some(agent) = agent.filter(|agent| agent.gateways().len() > 1) else {
            return;
        };
        self.forget(silent);
        self.gateways_left = self.gateways_left.wrapping_add(1);
        if let (Some(next), Some(pending)) = (
            self.target_at(target.point.interface, &agent),
            &mut self.pending,
        ) {
            pending.target = next;
            pending.purpose = Purpose::Home;
        }
    }
}
