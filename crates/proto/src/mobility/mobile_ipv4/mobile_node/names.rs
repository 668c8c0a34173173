//! Names of packets that the mobile has received through a foreign agent, for the notification to that agent after a
//! move.

use crate::interface::InterfaceId;
use crate::packet::{Packet, PacketName};
use crate::wire::mobile_ipv4::MOST_NAMED;
use core::net::Ipv4Addr;
use std::collections::VecDeque;

/// Names of the packets received last from one agent.
#[derive(Debug, Default)]
pub(super) struct Names {
    agent: Option<Ipv4Addr>,
    /// Link to the agent; `None` once the mobile has left it.
    link: Option<InterfaceId>,
    /// The names, the latest last.
    latest: VecDeque<PacketName>,
}

impl Names {
    /// Notes a packet that came by an interface.
    pub(super) fn note(&mut self, interface: InterfaceId, packet: &Packet) {
        if self.link == Some(interface)
            && let Some(name) = PacketName::of(packet)
        {
            if self.latest.len() == MOST_NAMED {
                self.latest.pop_front();
            }
            self.latest.push_back(name);
        }
    }

    /// Notes that the mobile is registered with an agent, or with none.
    pub(super) fn begin(&mut self, agent: Option<Ipv4Addr>, link: InterfaceId) {
        if self.agent != agent {
            self.latest.clear();
        }
        self.agent = agent;
        self.link = agent.map(|_| link);
    }

    /// Notes that the mobile has left a link. Packets that come over the next one are not from the agent.
    pub(super) fn leave(&mut self, link: InterfaceId) {
        self.link = self.link.filter(|&known| known != link);
    }

    /// Returns the names of the packets received from `agent`.
    pub(super) fn received_from(&self, agent: Ipv4Addr) -> Box<[PacketName]> {
        let latest = self.latest.iter().copied();
        match self.agent == Some(agent) {
            true => latest.collect(),
            false => Box::default(),
        }
    }
}
