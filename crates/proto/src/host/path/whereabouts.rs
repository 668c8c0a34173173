//! Where mobiles of Mobile IPv6 are, as their binding updates tell that pass, and what leads packets there.

use super::{PathAgents, Served};
use crate::crosslayer::PathParameters;
use crate::host::RouteTable;
use crate::mobility::binding::BindingSequence;
use crate::packet::{Body, Extended, Packet};
use crate::wire::mobility_header::MobilityMessage;
use core::net::{IpAddr, Ipv6Addr};

/// What the last binding update to the home agent has said.
#[derive(Clone, Copy, Debug)]
pub(super) struct Binding {
    sequence: BindingSequence,
    /// Where the mobile is; `None` at home.
    pub care_of: Option<Ipv6Addr>,
}

/// What stands around a packet for a mobile that is away from home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrapping {
    /// A routing header, as a correspondent's that knows where it is.
    Routing,
    /// The tunnel that begins at the home agent.
    Tunnel(Ipv6Addr),
}

impl PathAgents {
    /// A binding update to a home agent tells where a mobile is. Whether it is genuine the home agent knows alone: a
    /// router on the path believes it, as it believes the addresses of what it forwards.
    pub(super) fn learn_binding(&mut self, packet: &Packet) {
        let (Body::Extended(extended), IpAddr::V6(source)) = (&packet.body, packet.ip.source)
        else {
            return;
        };
        let (Some(home), Body::Mobility(message)) = (extended.home_address, &extended.body) else {
            return;
        };
        let MobilityMessage::BindingUpdate(update) = &**message else {
            return;
        };
        let Some(mobile) = self.mobiles.get_mut(&home.into()) else {
            return;
        };
        let sequence = BindingSequence(update.sequence);
        let is_newer = mobile
            .binding
            .is_none_or(|last| sequence.is_after(last.sequence));
        if !update.home_registration || !is_newer {
            return;
        }
        let care_of = update.alternate_care_of_address.unwrap_or(source);
        let away = update.lifetime.units > 0 && care_of != home;
        let care_of = away.then_some(care_of);
        let is_elsewhere = mobile.binding.is_none_or(|last| last.care_of != care_of);
        mobile.binding = Some(Binding { sequence, care_of });
        // An update that only refreshes says nothing new.
        if is_elsewhere || core::mem::take(&mut mobile.is_lost) {
            mobile.is_lost = false;
            self.moved.push(home.into());
            self.stirred = true;
        }
    }

    /// Nothing reaches a mobile now: its next update says that something does.
    pub(in crate::host) fn note_loss(&mut self, mobile: &IpAddr) {
        if let Some(mobile) = self.mobiles.get_mut(mobile) {
            mobile.is_lost = true;
        }
    }

    /// A packet on its way to a mobile tells how its correspondent's packets get there.
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

    /// A packet of a half of a split connection as it leaves: to where the mobile is, if it is for one that is away.
    pub(in crate::host) fn handle_outgoing(&self, packet: Packet) -> Packet {
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

    /// The mobile that has moved, by a binding update that has passed, and what its new access link carries if that is
    /// here.
    pub(in crate::host) fn poll_moved(
        &mut self,
        routes: &RouteTable,
    ) -> Option<(IpAddr, Option<PathParameters>)> {
        let mobile = self.moved.pop()?;
        Some((mobile, self.path_to(&mobile, routes)))
    }

    /// What the access link carries by which packets for a mobile leave.
    pub(super) fn path_to(&self, mobile: &IpAddr, routes: &RouteTable) -> Option<PathParameters> {
        let interface = self.interface_towards(mobile, routes)?;
        self.mobiles.get(mobile)?.access.get(&interface).copied()
    }
}

/// Puts around a packet what leads it to a mobile that is away.
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
                body: Body::Tunnel(Box::new(packet)),
            }
        }
    }
}
