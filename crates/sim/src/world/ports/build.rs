//! Ports and addresses of real hosts at time zero.

use super::{AddressPolicy, Port, PortId, PortState};
use crate::addresses::numbered;
use crate::scenario::model::{LinkIndex, NodeIndex};
use crate::world::wires::LeadsTo;
use crate::world::{Net, World};
use baton_proto::gateways::nat::{Nat, Translator};
use baton_proto::interface::InterfaceId;
use core::net::IpAddr;

/// First address of a mobile on one of its access links: 172.16.0.1 and fd62:6174:6f6e:1::1.
const ACCESS: (u32, u128) = (0xac10_0001, 0xfd62_6174_6f6e_0001_0000_0000_0000_0001);

/// First outside address of a translator on an access link: 198.18.0.1 (RFC 2544) and fd62:6174:6f6e:2::1.
const OUTSIDE: (u32, u128) = (0xc612_0001, 0xfd62_6174_6f6e_0002_0000_0000_0000_0001);

/// First port assigned by the first link's translator, and the distance to the first of the next link's, so
/// that a handover changes the port, too.
const FIRST_PORT: u16 = 20_000;
const PORTS_APART: u16 = 1_000;

/// An address behind one interface only: an access link, or a home agent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BehindLink {
    pub address: IpAddr,
    /// The node that leads there, and its interface.
    pub far: (usize, InterfaceId),
}

/// A node whose first addresses are behind its home agent.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct BehindAgent {
    pub node: u32,
    pub addresses: u32,
    /// The home agent, and its interface.
    pub far: (usize, InterfaceId),
}

impl World {
    /// Makes hosts real: gives them ports, and all nodes the addresses by which real hosts know each other.
    pub(in super::super) fn add_ports(&mut self, hosts: &[NodeIndex]) {
        if hosts.is_empty() {
            return;
        }
        for number in 0..self.net.nodes.len() {
            let host = &mut self.net.nodes[number].host;
            for address in self.net.directory.live_addresses(&self.scenario, number) {
                if !host.has_address(address) {
                    host.add_address(address);
                }
            }
        }
        let access = self.net.access_addresses();
        for &host in hosts {
            let own = &mut self.net.nodes[host.0].host;
            let has_agents = own.layers().is_some();
            if has_agents {
                own.leave_transports_to_kernel();
            }
            if !has_agents && self.net.is_mobile_between_links(host) {
                for link in self.net.links_of(host) {
                    let own = access.iter().find(|entry| entry.0 == (host, link));
                    self.add_access_port(host, link, own.map(|entry| entry.1));
                }
            } else {
                let links = self.net.links_of(host).into_iter();
                let mtu = links.map(|link| self.net.wires.config(link).mtu).max();
                self.net.nodes[host.0].apart().port = Some(PortId(self.net.real.ports.len()));
                let addresses = self.net.directory.live_addresses(&self.scenario, host.0);
                self.push_port(host, None, mtu.unwrap_or(0), addresses);
            }
        }
        (0..self.net.mobiles.len()).for_each(|mobile| self.announce(mobile));
    }

    /// Makes layers read what kernels write, if any layer needs it.
    pub(in super::super) fn read_kernels(&mut self) {
        self.net.real.are_read = self.scenario.has_protocols() || self.net.real.meet_gateways;
    }

    /// Adds a port of a mobile at an access link; under [`AddressPolicy::New`] with addresses of its `own`.
    fn add_access_port(&mut self, host: NodeIndex, link: usize, own: Option<[IpAddr; 2]>) {
        let new = self.scenario.live.address == AddressPolicy::New;
        let addresses = match own.filter(|_| new) {
            Some(own) => {
                for address in own {
                    self.net.nodes[host.0].host.add_address(address);
                }
                self.net.put_behind(host, link, own);
                own.to_vec()
            }
            None => self.net.directory.live_addresses(&self.scenario, host.0),
        };
        let mobile = self.net.wires[link].mobile();
        // A mobile router also has links to the network behind it.
        let is_access = mobile.is_some_and(|number| self.net.mobiles[number].node == host);
        if is_access && self.scenario.live.nat {
            self.net.add_translator(host, link);
        }
        self.net.wires[link].port = Some(PortId(self.net.real.ports.len()));
        let mtu = self.net.wires.config(link).mtu;
        self.push_port(host, Some(LinkIndex(link)), mtu, addresses);
    }

    fn push_port(
        &mut self,
        node: NodeIndex,
        link: Option<LinkIndex>,
        mtu: u32,
        addresses: Vec<IpAddr>,
    ) {
        self.net.real.ports.push(Port {
            node,
            link,
            mtu,
            addresses,
        });
        self.net.real.states.push(PortState {
            mtu,
            up: link.is_none() || self.scenario.live.address == AddressPolicy::Kept,
            default: false,
        });
    }
}

impl Net {
    /// Returns true for a mobile whose kernel chooses among its access links: a radio network's cells are one link to it.
    fn is_mobile_between_links(&self, host: NodeIndex) -> bool {
        let mut interfaces = self.nodes[host.0].interfaces.iter();
        self.mobile_at(host.0).is_some()
            && !interfaces.any(|leads_to| matches!(leads_to, LeadsTo::Radio(_)))
    }

    /// Returns all addresses behind one interface only.
    pub(in super::super) fn behind_links(&self) -> Vec<BehindLink> {
        let agents = self.behind_agents.iter();
        let of_agents = agents.flat_map(
            |&BehindAgent {
                 node,
                 addresses,
                 far,
             }| {
                let own = self.nodes[node as usize].host.addresses();
                own.take(addresses as usize)
                    .map(move |address| BehindLink { address, far })
            },
        );
        self.behind_links.iter().copied().chain(of_agents).collect()
    }

    /// Returns the addresses of mobiles on their access links, numbered through all mobiles and their links.
    fn access_addresses(&self) -> Vec<((NodeIndex, usize), [IpAddr; 2])> {
        let nodes = self.mobiles.iter().map(|mobile| mobile.node);
        nodes
            .flat_map(|node| {
                self.links_of(node)
                    .into_iter()
                    .map(move |link| (node, link))
            })
            .enumerate()
            .map(|(number, pair)| (pair, numbered(ACCESS, number)))
            .collect()
    }

    /// Gives the node at the network's end of an access link a translator there, with an address and ports of its own.
    fn add_translator(&mut self, host: NodeIndex, link: usize) {
        let outside = numbered(OUTSIDE, link);
        let first_port = FIRST_PORT.wrapping_add(PORTS_APART.wrapping_mul(link as u16));
        let (far, interface) = self.wires.far_from(link, host.0);
        let translator = Translator::new(interface, Nat::new(outside, first_port));
        self.nodes[far].host.add_layer(translator);
        self.put_behind(host, link, outside);
    }

    /// Makes addresses known that are reached over one access link of a host.
    fn put_behind(&mut self, host: NodeIndex, link: usize, addresses: [IpAddr; 2]) {
        let far = self.wires.far_from(link, host.0);
        let behind = addresses.map(|address| BehindLink { address, far });
        self.behind_links.extend(behind);
    }
}
