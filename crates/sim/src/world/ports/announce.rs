//! Announcements of handovers and link events to the kernels of real hosts.

use super::{AddressPolicy, InterfaceEvent, PortId, RealHosts};
use crate::scenario::model::NodeIndex;
use crate::world::{Net, World};
use baton_proto::interface::LinkEvent;

impl World {
    /// Reports to a real mobile's kernel the changes since the last report.
    pub(in super::super) fn announce(&mut self, number: usize) {
        let node = self.net.mobiles[number].node;
        if !self.net.nodes[node.0].real {
            return;
        }
        let RealHosts {
            ports,
            states,
            events,
            ..
        } = &mut self.net.real;
        let attached = self.net.mobiles[number].attached();
        let outgoing = self.net.mobiles[number].outgoing().or(attached);
        let mine = |place: usize| (ports[place].node == node).then_some(ports[place].link?.0);
        let mine: Vec<(usize, usize)> = (0..ports.len())
            .filter_map(|place| Some((place, mine(place)?)))
            .collect();
        if self.scenario.live.address == AddressPolicy::New {
            for &(place, link) in &mine {
                if states[place].up && self.net.wires[link].broken {
                    (states[place].up, states[place].default) = (false, false);
                    events.push_back(InterfaceEvent::Down(PortId(place)));
                }
            }
            for &(place, link) in &mine {
                if attached == Some(link) && !states[place].up && !self.net.wires[link].broken {
                    states[place].up = true;
                    events.push_back(InterfaceEvent::Up(PortId(place)));
                }
            }
        }
        let chosen = mine
            .iter()
            .find(|&&(place, link)| outgoing == Some(link) && states[place].up);
        if let Some(&(chosen, _)) = chosen
            && !states[chosen].default
        {
            mine.iter()
                .for_each(|&(place, _)| states[place].default = false);
            states[chosen].default = true;
            let port = PortId(chosen);
            events.push_back(InterfaceEvent::Default { node, port });
        }
    }

    /// Reports to the kernels at both ends of a link its present MTU.
    pub(in super::super) fn announce_mtu(&mut self, link: usize) {
        for (node, _) in self.net.wires.ends(link) {
            let host = NodeIndex(node);
            let Some(port) = self.net.nodes[node].port().or(self.net.wires[link].port) else {
                continue;
            };
            if self.net.real.ports[port.0].node != host {
                continue;
            }
            let links = match self.net.real.ports[port.0].link {
                Some(link) => vec![link.0],
                None => self.net.links_of(host),
            };
            let largest = links.iter().map(|&link| self.net.wires.config(link).mtu);
            let Some(mtu) = largest.max() else { continue };
            if self.net.real.states[port.0].mtu != mtu {
                self.net.real.states[port.0].mtu = mtu;
                self.net
                    .real
                    .events
                    .push_back(InterfaceEvent::Mtu(port, mtu));
            }
        }
    }

    /// Notifies a mobile once all packets that its old access link held at the handover have left it.
    pub(in super::super) fn report_drained(&mut self, link: usize) {
        let wire = &mut self.net.wires[link];
        if let Some(number) = wire.mobile()
            && wire.leaving.take_if(|held| held.is_empty()).is_some()
        {
            let interface = self.net.interface(self.net.mobiles[number].node.0, link);
            self.tell_mobile(number, interface, LinkEvent::QueueDrained);
        }
    }
}

impl Net {
    /// Notes the packets on an old access link whose interface is to be removed when the link has drained.
    pub(in super::super) fn begin_leaving(&mut self, link: usize) {
        let held = self.packets.iter().filter(|held| held.link.get() == link);
        let held = held.map(|held| held.number()).collect();
        self.wires[link].leaving = Some(Box::new(held));
    }
}
