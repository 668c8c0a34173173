//! Locations of Mobile IPv6 mobiles, learned from binding updates and acknowledgements in transit, and encapsulation
//! towards them.

use super::{Mobile, PathAgents, Served};
use crate::mobility::binding::BindingSequence;
use crate::packet::{Body, Extended, Packet};
use crate::wire::mobility_header::{BindingUpdate, MobilityMessage};
use core::net::{IpAddr, Ipv6Addr};

/// The binding last accepted by the home agent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Binding {
    sequence: BindingSequence,
    /// Care-of address; `None` at home.
    pub care_of: Option<Ipv6Addr>,
}

/// A binding update and its retransmissions, not yet answered by the home agent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    home_agent: Ipv6Addr,
    first: BindingSequence,
    last: BindingSequence,
    care_of: Option<Ipv6Addr>,
}

impl Asked {
    fn is_answered_by(&self, home_agent: Ipv6Addr, sequence: BindingSequence) -> bool {
        let within = !self.first.is_after(sequence) && !sequence.is_after(self.last);
        self.home_agent == home_agent && within
    }
}

/// Encapsulation of a packet for a mobile that is away from home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrapping {
    /// A routing header, as used by a correspondent with a binding.
    Routing,
    /// The tunnel that begins at the home agent.
    Tunnel(Ipv6Addr),
}

impl Mobile {
    /// Returns true if a protocol reports the mobile's location.
    pub(super) fn is_bound(&self) -> bool {
        self.binding.is_some() || self.asked.is_some()
    }
}

impl PathAgents {
    /// Learns a mobile's location from a binding update to the home agent, once the acknowledgement has passed. Before,
    /// the mobile may not accept packets there (study D, section 6.1), and the home agent may refuse the update.
    pub(super) fn learn_binding(&mut self, packet: &Packet) {
        let (message, extended) = match &packet.body {
            Body::Mobility(message) => (message, None),
            Body::Extended(extended) => match &extended.body {
                Body::Mobility(message) => (message, Some(extended)),
                _ => return,
            },
            _ => return,
        };
        let (IpAddr::V6(source), IpAddr::V6(destination)) =
            (packet.ip.source, packet.ip.destination)
        else {
            return;
        };
        match &**message {
            MobilityMessage::BindingUpdate(update) if update.home_registration => {
                let home = extended.and_then(|extended| extended.home_address);
                self.note_update((home.unwrap_or(source), source), destination, update);
            }
            MobilityMessage::BindingAcknowledgement(answer) if answer.status.is_accepted() => {
                let home = extended.and_then(|extended| extended.routing_home_address);
                let home = home.unwrap_or(destination);
                self.note_acceptance(home, source, BindingSequence(answer.sequence));
            }
            _ => {}
        }
    }

    fn note_update(
        &mut self,
        (home, source): (Ipv6Addr, Ipv6Addr),
        home_agent: Ipv6Addr,
        update: &BindingUpdate,
    ) {
        let Some(mobile) = self.mobiles.get_mut(&home.into()) else {
            return;
        };
        let sequence = BindingSequence(update.sequence);
        let last = mobile.asked.map(|asked| asked.last);
        let last = last.or(mobile.binding.map(|binding| binding.sequence));
        if last.is_some_and(|last| !sequence.is_after(last)) {
            return;
        }
        let care_of = update.alternate_care_of_address.unwrap_or(source);
        let away = update.lifetime.units > 0 && care_of != home;
        let care_of = away.then_some(care_of);
        let again = mobile.asked.filter(|asked| asked.care_of == care_of);
        mobile.asked = Some(Asked {
            home_agent,
            first: again.map_or(sequence, |asked| asked.first),
            last: sequence,
            care_of,
        });
    }

    fn note_acceptance(&mut self, home: Ipv6Addr, home_agent: Ipv6Addr, sequence: BindingSequence) {
        let Some(mobile) = self.mobiles.get_mut(&home.into()) else {
            return;
        };
        let asked = mobile.asked;
        let Some(asked) = asked.filter(|asked| asked.is_answered_by(home_agent, sequence)) else {
            return;
        };
        mobile.asked = None;
        let before = mobile.binding.map(|before| before.care_of);
        mobile.binding = Some(Binding {
            sequence: asked.last,
            care_of: asked.care_of,
        });
        if let Some(old) = before.flatten() {
            self.by_care_of.remove(&IpAddr::V6(old));
        }
        if let Some(new) = asked.care_of {
            self.by_care_of.insert(new.into(), home.into());
        }
        // A refresh of the binding changes nothing.
        if core::mem::take(&mut mobile.is_lost) || before != Some(asked.care_of) {
            self.moved.push(home.into());
            self.stirred = true;
        }
    }

    /// Notes that a mobile is unreachable until its next binding.
    pub(super) fn note_loss(&mut self, mobile: &IpAddr) {
        if let Some(mobile) = self.mobiles.get_mut(mobile) {
            mobile.is_lost = true;
        }
    }

    /// Learns the encapsulation of a correspondent's packets from one of them in transit to a mobile.
    pub(super) fn learn_wrapping(&mut self, packet: &Packet, served: &Served) {
        let wrapping = match (&packet.body, packet.ip.source) {
            (Body::Extended(extended), _) if extended.routing_home_address.is_some() => {
                Wrapping::Routing
            }
            (Body::Tunnel(inner), IpAddr::V6(entry))
                if inner.upper_ip().destination == served.mobile =>
            {
                Wrapping::Tunnel(entry)
            }
            _ => return,
        };
        if let Some(flow) = self.flow_mut(served) {
            flow.wrapping = wrapping;
        }
    }

    /// Returns a departing packet of a split connection's half, encapsulated if it is for a mobile that is away.
    pub(super) fn handle_outgoing(&self, packet: Packet) -> Packet {
        let Some((served, _)) = self.find(&packet) else {
            return packet;
        };
        let IpAddr::V6(home) = served.mobile else {
            return packet;
        };
        let (Some(mobile), Some(flow)) = (self.mobiles.get(&served.mobile), self.flow(&served))
        else {
            return packet;
        };
        let care_of = mobile.binding.and_then(|binding| binding.care_of);
        match care_of.filter(|_| packet.ip.destination == served.mobile) {
            Some(care_of) => wrap(packet, (home, care_of), flow.wrapping),
            None => packet,
        }
    }
}

/// Encapsulates a packet for a mobile that is away.
fn wrap(mut packet: Packet, (home, care_of): (Ipv6Addr, Ipv6Addr), wrapping: Wrapping) -> Packet {
    match wrapping {
        Wrapping::Routing => {
            packet.ip.destination = care_of.into();
            packet.body = Body::Extended(Box::new(Extended {
                home_address: None,
                routing_home_address: Some(home),
                body: packet.body,
            }));
            packet
        }
        Wrapping::Tunnel(entry) => {
            let mut ip = packet.ip;
            (ip.source, ip.destination) = (entry.into(), care_of.into());
            Packet {
                ip,
                flow: packet.flow,
                retransmission: packet.retransmission,
                bit_errors: Default::default(),
                identity: packet.identity,
                body: Body::Tunnel(Box::new(packet)),
            }
        }
    }
}
