//! Several paths of one connection: an address of its host for each link, and routes to each address.

use super::agents::access_links;
use super::ports::BehindLink;
use super::{Net, World};
use crate::addresses::{PATHS, numbered};
use baton_proto::host::SocketId;
use core::net::IpAddr;

/// A path of a flow's connection.
#[derive(Clone, Copy, Debug)]
pub struct FlowPath {
    /// Address of source and sink.
    pub addresses: [IpAddr; 2],
}

impl World {
    /// Gives hosts an address for each of their links that is a path of a flow. The flow begins over its first one.
    pub(super) fn add_paths(&mut self) {
        for flow in 0..self.load.flows.len() {
            let Some(paths) = self.load.flows[flow].spec.paths.clone() else {
                continue;
            };
            self.net.nodes[paths.host.0].forwards = false;
            let role = self.load.flows[flow].role_at(paths.host.0);
            let mut addresses = self.load.flows[flow].addresses;
            for link in paths.links {
                let versions = addresses[role.other() as usize].is_ipv4();
                addresses[role as usize] = self.net.link_address(paths.host.0, link.0, versions);
                self.load.flows[flow].paths.push(FlowPath { addresses });
            }
            if let Some(first) = self.load.flows[flow].paths.first() {
                self.load.flows[flow].addresses = first.addresses;
            }
        }
    }

    /// Gives a mobile an address at each of its links, if one of its flows uses them.
    pub(super) fn add_link_addresses(&mut self) {
        for flow in 0..self.load.flows.len() {
            let run = &self.load.flows[flow];
            let transport = run.spec.transport.other();
            if !transport.is_some_and(|transport| transport.has_new_addresses()) {
                continue;
            }
            let is_ipv4 = run.addresses[0].is_ipv4();
            for number in run.mobiles.into_iter().flatten() {
                let mobile = &self.scenario.mobiles[number];
                let node = mobile.node.0;
                for link in access_links(&self.scenario, &mobile.attachment) {
                    self.net.link_address(node, link, is_ipv4);
                }
            }
        }
    }

    /// Opens the further paths of a connection that has just been opened over the first.
    pub(super) fn open_paths(&mut self, flow: usize, socket: SocketId) {
        let node = self.load.flows[flow].spec.from.0;
        for path in self.load.flows[flow].paths.clone() {
            let [local, remote] = path.addresses;
            let rate = self.slowest_on_way(flow, Some(&path));
            let host = &mut self.net.nodes[node].host;
            let run = &self.load.flows[flow];
            if path.addresses != run.addresses
                && let Some(transport) = run.spec.transport.other()
            {
                transport.add_path(self.now, host, socket, (local, remote), rate);
            }
        }
    }
}

impl Net {
    /// Returns the address of a node at one of its links; its packets arrive and leave over that link alone.
    fn link_address(&mut self, node: usize, link: usize, is_ipv4: bool) -> IpAddr {
        let end = self.wires.end_across(link, node).other();
        let versions = numbered(PATHS, 2 * link + end.index());
        let address = versions[usize::from(!is_ipv4)];
        let interface = self.interface(node, link);
        let host = &mut self.nodes[node].host;
        if host.addresses().all(|known| known != address) {
            host.add_interface_address(address, interface);
            let far = self.wires.far_from(link, node);
            self.behind_links.push(BehindLink { address, far });
        }
        address
    }
}
