//! Agents on the path: what a router does with TCP connections of others that pass it.
//!
//! A gateway, the router at the network's end of a mobile's access links, serves connections between the mobile and its
//! correspondents. It looks through tunnels and Mobile IPv6's extension headers: a connection is known by home addresses.
//!
//! - **Split** (`split.rs`): the gateway ends the connection in the name of the mobile and opens one in the name of the
//!   correspondent; these are sockets of this host like its own, bound to addresses of others.
//! - **Snoop** (`snooping.rs`): the connection stays whole; the gateway keeps copies of what passes to the mobile and sends again
//!   what the last hop loses, and tells the mobile of what it has lost of the mobile's.
//!
//! Where packets for a mobile go that is away from home follows from its binding updates and the home agent's answers, which pass here
//! or, where the home agent is this router, leave from here.

mod context;
mod snooping;
mod split;
mod whereabouts;

pub use context::SplitContext;
pub use split::Split;

use super::sockets::{Pair, Sockets};
use super::{InterfaceId, RouteTable, SocketId};
use crate::packet::{Body, Packet};
use crate::tcp::Endpoint;
use crate::time::Instant;
use crate::wire::icmp::IcmpMessage;
use crate::wire::tcp::TcpFlags;
use core::net::IpAddr;
use snooping::Snooping;
use split::Relay;
use std::collections::{BTreeMap, BTreeSet};
use whereabouts::{Asked, Binding, Wrapping};

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
    /// What the last hop loses is sent again from copies, or the mobile is told of it.
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
    /// Mobiles that have just been bound elsewhere.
    moved: Vec<IpAddr>,
    /// Whether something was learnt of a packet that went on.
    stirred: bool,
}

/// A mobile that is served.
#[derive(Debug, Default)]
struct Mobile {
    /// The interfaces to its access links.
    access: BTreeSet<InterfaceId>,
    binding: Option<Binding>,
    asked: Option<Asked>,
    /// Whether nothing reaches it.
    is_lost: bool,
    flows: BTreeMap<(IpAddr, u16), Flow>,
}

#[derive(Debug)]
struct Flow {
    service: Service,
    /// How the correspondent's packets reach the mobile when it is away.
    wrapping: Wrapping,
}

/// What is to be done with a packet that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// It goes on as if nobody had looked.
    Pass,
    /// An agent takes it in.
    Take,
    /// It ends here: an agent has taken in what it says, and may say it in other words.
    Absorb,
    /// It is dropped.
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

    /// Notes that an interface leads to an access link of a mobile.
    pub fn add_access(&mut self, mobile: IpAddr, interface: InterfaceId) {
        let mobile = self.mobiles.entry(mobile).or_default();
        mobile.access.insert(interface);
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
            Service::Snoop
                if self.is_here(&served.mobile, routes)
                    && self.crosses_access(packet, (&served, &pair), routes) =>
            {
                self.stirred = true;
                self.snooping.look(now, packet, &served, &pair)
            }
            _ => Look::Pass,
        }
    }

    /// A queue of this router's had no room for a packet. Who repairs losses of the last hop is not to hide that one.
    pub fn handle_drop(&mut self, now: Instant, packet: &Packet) {
        if let Some((served, pair)) = self.find(packet)
            && pair.0.address == served.mobile
        {
            self.snooping.handle_drop(now, packet, &pair);
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

    /// Whether a packet goes to a mobile's access link or comes from there. One in a tunnel may pass twice, on its way to the
    /// tunnel's end and from there: what the mobile says must not count twice.
    fn crosses_access(
        &self,
        packet: &Packet,
        (served, pair): (&Served, &Pair),
        routes: &RouteTable,
    ) -> bool {
        let to_mobile = pair.0.address == served.mobile;
        let side = match to_mobile {
            true => packet.ip.destination,
            false => packet.ip.source,
        };
        let is_access = |interface: InterfaceId| {
            let known = self.mobiles.get(&served.mobile);
            // A home agent of this host's own takes it to where the mobile is.
            known.is_some_and(|mobile| mobile.access.contains(&interface))
                || to_mobile && interface.is_virtual()
        };
        routes.lookup(side).is_some_and(is_access)
    }

    /// Whether packets for a mobile leave by one of its access links.
    fn is_here(&self, mobile: &IpAddr, routes: &RouteTable) -> bool {
        self.interface_towards(mobile, routes).is_some()
    }

    /// The access link's interface by which packets for a mobile leave.
    pub(super) fn interface_towards(
        &self,
        mobile: &IpAddr,
        routes: &RouteTable,
    ) -> Option<InterfaceId> {
        let known = self.mobiles.get(mobile)?;
        let care_of = known.binding.and_then(|binding| binding.care_of);
        let interface = routes.lookup(care_of.map_or(*mobile, IpAddr::V6))?;
        known.access.contains(&interface).then_some(interface)
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

    /// Whether something was learnt since this was asked last.
    pub(super) fn take_stirred(&mut self) -> bool {
        core::mem::take(&mut self.stirred)
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

    /// What may stand around a packet for this address.
    fn overhead(&self, address: &IpAddr) -> u32 {
        match self.mobiles.contains_key(address) && address.is_ipv6() {
            true => TUNNEL_HEADER,
            false => 0,
        }
    }
}

#[cfg(test)]
mod tests;
