//! Agents on the path: what a router does with TCP connections of others that pass it.
//!
//! A gateway, the router at the network's end of a mobile's access links, serves connections between the mobile and its
//! correspondents. It looks through tunnels and Mobile IPv6's extension headers: a connection is known by home addresses.
//!
//! - **Split** (`split.rs`): the gateway ends the connection in the name of the mobile and opens one in the name of the
//!   correspondent; these are sockets of this host like its own, bound to addresses of others.
//! - **Snoop** (`snooping.rs`): the connection stays whole; the gateway keeps copies of what passes and sends again what
//!   the last hop loses.
//!
//! Where packets for a mobile go that is away from home follows from its binding updates to the home agent, which pass here.

mod context;
mod snooping;
mod split;

pub use context::SplitContext;
pub use split::Split;

use super::sockets::{Pair, Sockets};
use super::{InterfaceId, RouteTable, SocketId};
use crate::crosslayer::PathParameters;
use crate::mobility::binding::BindingSequence;
use crate::packet::{Body, Extended, Packet};
use crate::tcp::Endpoint;
use crate::time::Instant;
use crate::wire::icmp::IcmpMessage;
use crate::wire::mobility_header::MobilityMessage;
use crate::wire::tcp::TcpFlags;
use core::net::{IpAddr, Ipv6Addr};
use snooping::Snooping;
use split::Relay;
use std::collections::BTreeMap;

/// Bytes that a tunnel adds, the most that stands around what is sent to a mobile.
const TUNNEL_HEADER: u32 = 40;

/// Connections of others that a gateway serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Served {
    /// The mobile's address; its home address, if it has one.
    pub mobile: IpAddr,
    /// The other end's address.
    pub correspondent: IpAddr,
    /// The port at which one of both listens.
    pub port: u16,
}

/// What is done with them.
#[derive(Debug)]
pub enum Service {
    /// What the last hop loses is sent again from copies.
    Snoop,
    /// Each is ended here, and another one opened.
    Split(Box<Split>),
}

/// The agents on the path of one router.
#[derive(Debug, Default)]
pub struct PathAgents {
    mobiles: BTreeMap<IpAddr, Mobile>,
    /// Halves of connections that are split.
    relays: BTreeMap<SocketId, Relay>,
    snooping: Snooping,
    /// Mobiles of which a binding update has just told that they are elsewhere.
    moved: Vec<IpAddr>,
    /// Whether something was learnt of a packet that went on.
    stirred: bool,
}

/// A mobile that is served.
#[derive(Debug, Default)]
struct Mobile {
    /// The interfaces to its access links, and what those carry.
    access: BTreeMap<InterfaceId, PathParameters>,
    binding: Option<Binding>,
    flows: BTreeMap<(IpAddr, u16), Flow>,
}

/// What the last binding update to the home agent has said.
#[derive(Clone, Copy, Debug)]
struct Binding {
    sequence: BindingSequence,
    /// Where the mobile is; `None` at home.
    care_of: Option<Ipv6Addr>,
}

#[derive(Debug)]
struct Flow {
    service: Service,
    /// How the correspondent's packets reach the mobile when it is away.
    wrapping: Wrapping,
}

/// What stands around a packet for a mobile that is away from home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrapping {
    /// A routing header, as a correspondent's that knows where it is.
    Routing,
    /// The tunnel that begins at the home agent.
    Tunnel(Ipv6Addr),
}

/// What is to be done with a packet that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// It goes on as if nobody had looked.
    Pass,
    /// An agent takes it in.
    Take,
    /// It ends here.
    Drop,
}

impl PathAgents {
    /// Serves connections.
    pub fn serve(&mut self, served: Served, service: Service) {
        let mobile = self.mobiles.entry(served.mobile).or_default();
        let flow = Flow {
            service,
            wrapping: Wrapping::Routing,
        };
        mobile
            .flows
            .insert((served.correspondent, served.port), flow);
    }

    /// An interface leads to an access link of a mobile, which carries so much.
    pub fn set_access(&mut self, mobile: IpAddr, interface: InterfaceId, path: PathParameters) {
        let mobile = self.mobiles.entry(mobile).or_default();
        mobile.access.insert(interface, path);
    }

    /// Looks at a packet that has arrived.
    pub(super) fn look(
        &mut self,
        now: Instant,
        packet: &Packet,
        (routes, sockets): (&RouteTable, &Sockets),
    ) -> Look {
        self.learn_binding(packet);
        let Some((served, pair)) = self.find(packet) else {
            return Look::Pass;
        };
        self.learn_wrapping(packet, &served);
        let Some(flow) = self.flow(&served) else {
            return Look::Pass;
        };
        match flow.service {
            Service::Split(_) if self.takes(packet, &served, &pair, (routes, sockets)) => {
                Look::Take
            }
            // It is to come, if the mobile has come from elsewhere.
            Service::Split(ref split)
                if split.transfers_context() && self.is_here(&served.mobile, routes) =>
            {
                Look::Drop
            }
            Service::Snoop if self.is_here(&served.mobile, routes) => {
                self.stirred = true;
                self.snooping.look(now, packet, &served, &pair)
            }
            _ => Look::Pass,
        }
    }

    /// Whether a packet belongs to a half of a split connection, or is to open one: only where the mobile's access link
    /// is the next hop, of several gateways on the way.
    fn takes(
        &self,
        packet: &Packet,
        served: &Served,
        pair: &Pair,
        (routes, sockets): (&RouteTable, &Sockets),
    ) -> bool {
        let opens = |packet: &Packet| {
            packet.segment_within().is_some_and(|segment| {
                let flags = segment.header.flags;
                flags.contains(TcpFlags::SYN)
                    && !flags.contains(TcpFlags::ACK)
                    && !flags.contains(TcpFlags::RST)
            })
        };
        sockets.is_open(pair) || opens(packet) && self.is_here(&served.mobile, routes)
    }

    /// Whether packets for a mobile leave by one of its access links.
    fn is_here(&self, mobile: &IpAddr, routes: &RouteTable) -> bool {
        self.interface_towards(mobile, routes).is_some()
    }

    /// The access link's interface by which packets for a mobile leave.
    fn interface_towards(&self, mobile: &IpAddr, routes: &RouteTable) -> Option<InterfaceId> {
        let known = self.mobiles.get(mobile)?;
        let care_of = known.binding.and_then(|binding| binding.care_of);
        let interface = routes.lookup(care_of.map_or(*mobile, IpAddr::V6))?;
        known.access.contains_key(&interface).then_some(interface)
    }

    /// Which connections a packet belongs to, and the ends of its own: the one that it is for first. An ICMP error is for
    /// the end that sent what it is about.
    fn find(&self, packet: &Packet) -> Option<(Served, Pair)> {
        let end = |address, port| Endpoint { address, port };
        let pair = if let Body::Icmp(IcmpMessage::Error { quoted, .. }) = &packet.body {
            let (source, destination) = quoted.transport_addresses();
            let local = end(source, quoted.source_port);
            (local, end(destination, quoted.destination_port))
        } else {
            let segment = packet.segment_within()?;
            let (ip, header) = (segment.ip, segment.header);
            let local = end(ip.destination, header.destination_port);
            (local, end(ip.source, header.source_port))
        };
        Some((self.served(pair.0, pair.1)?, pair))
    }

    /// Which connections two ends belong to.
    fn served(&self, one: Endpoint, other: Endpoint) -> Option<Served> {
        let between = |mobile: Endpoint, peer: Endpoint| {
            let flows = &self.mobiles.get(&mobile.address)?.flows;
            let mut ports = [peer.port, mobile.port].into_iter();
            let port = ports.find(|&port| flows.contains_key(&(peer.address, port)))?;
            Some(Served {
                mobile: mobile.address,
                correspondent: peer.address,
                port,
            })
        };
        between(one, other).or_else(|| between(other, one))
    }

    fn flow(&self, served: &Served) -> Option<&Flow> {
        let flows = &self.mobiles.get(&served.mobile)?.flows;
        flows.get(&(served.correspondent, served.port))
    }

    fn flow_mut(&mut self, served: &Served) -> Option<&mut Flow> {
        let flows = &mut self.mobiles.get_mut(&served.mobile)?.flows;
        flows.get_mut(&(served.correspondent, served.port))
    }

    /// A binding update to a home agent tells where a mobile is. Whether it is genuine the home agent knows alone: a
    /// router on the path believes it, as it believes the addresses of what it forwards.
    fn learn_binding(&mut self, packet: &Packet) {
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
        mobile.binding = Some(Binding {
            sequence,
            care_of: away.then_some(care_of),
        });
        self.moved.push(home.into());
        self.stirred = true;
    }

    /// Whether something was learnt since this was asked last.
    pub(super) fn take_stirred(&mut self) -> bool {
        core::mem::take(&mut self.stirred)
    }

    /// A packet on its way to a mobile tells how its correspondent's packets get there.
    fn learn_wrapping(&mut self, packet: &Packet, served: &Served) {
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

    /// When [`handle_timeout`](Self::handle_timeout) has something to do.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.snooping.poll_timeout()
    }

    /// Does what is due at `now`.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.snooping.handle_timeout(now);
    }

    /// The next packet that goes on because of what was seen; to where its mobile is now.
    pub(super) fn poll_transmit(&mut self) -> Option<Packet> {
        let mut packet = self.snooping.poll_transmit()?;
        let mobile = packet
            .segment_within()
            .and_then(|segment| self.mobiles.get(&segment.ip.destination));
        let care_of = mobile.and_then(|mobile| mobile.binding?.care_of);
        if let Some(care_of) = care_of
            && !matches!(packet.body, Body::Tcp(..))
        {
            packet.ip.destination = care_of.into();
        }
        Some(packet)
    }

    /// The mobile that has moved, by a binding update that has passed, and what its new access link carries if that is
    /// here.
    pub(super) fn poll_moved(
        &mut self,
        routes: &RouteTable,
    ) -> Option<(IpAddr, Option<PathParameters>)> {
        let mobile = self.moved.pop()?;
        Some((mobile, self.path_to(&mobile, routes)))
    }

    /// What the access link carries by which packets for a mobile leave.
    fn path_to(&self, mobile: &IpAddr, routes: &RouteTable) -> Option<PathParameters> {
        let interface = self.interface_towards(mobile, routes)?;
        self.mobiles.get(mobile)?.access.get(&interface).copied()
    }

    /// What may stand around a packet for this address.
    fn overhead(&self, address: &IpAddr) -> u32 {
        match self.mobiles.contains_key(address) && address.is_ipv6() {
            true => TUNNEL_HEADER,
            false => 0,
        }
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

#[cfg(test)]
mod tests;
