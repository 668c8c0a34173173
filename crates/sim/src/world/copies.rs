//! Which packets of flows are with agents of hosts on their way, and which copies agents have made of them.

use super::World;
use baton_proto::packet::{Identity, Packet};
use std::collections::{BTreeMap, BTreeSet};

/// Packets with agents, and the number of copies of each that has any.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// Packets and copies that agents have taken in and not sent on, by number and copy.
    with_agents: BTreeSet<(u64, u8)>,
    made: BTreeMap<u64, u8>,
    /// Packets with copies of which one has come to its receiver.
    arrived: BTreeSet<u64>,
}

fn key(identity: Identity) -> (u64, u8) {
    (identity.number(), identity.copy())
}

impl Copies {
    /// An agent takes a packet in.
    pub fn take_in(&mut self, identity: Identity) {
        self.with_agents.insert(key(identity));
    }

    /// What an agent does not hold and has not sent on has come to its end.
    pub fn end(&mut self, identity: Identity) {
        self.with_agents.remove(&key(identity));
    }

    /// An agent sends a packet that was sent before: that which it has taken in, or else a further copy, which is marked.
    pub fn send_on(&mut self, packet: &mut Packet) {
        let identity = packet.identity_within();
        if self.with_agents.remove(&key(identity)) {
            return;
        }
        let made = self.made.entry(identity.number()).or_default();
        *made = made.saturating_add(1);
        packet.identify(identity.with_copy(*made));
    }

    /// Whether none of the same packet has come to its receiver before. A copy that is made only then is taken for a first.
    #[inline]
    pub fn is_first(&mut self, identity: Identity) -> bool {
        !self.made.contains_key(&identity.number()) || self.arrived.insert(identity.number())
    }
}

impl World {
    /// Whether the agents of a node may hold a packet and send it later.
    pub(super) fn may_hold(&self, node: usize) -> bool {
        let agents = self.nodes[node].host.agents();
        agents.is_some_and(|agents| {
            let ipv4 = agents.ipv4.as_ref();
            agents.home_agent.is_some()
                || ipv4.is_some_and(|ipv4| ipv4.home_agent.is_some())
                || agents.routers.iter().next().is_some()
        })
    }
}
