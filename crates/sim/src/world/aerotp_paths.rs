//! Several paths of one AeroTP connection: an address of its host for each link, routes to that, and what the ends of a link
//! tell of it.

use super::World;
use super::flow::Role;
use super::ports::BehindLink;
use crate::addresses::{PATHS, numbered};
use baton_proto::host::AerotpId;
use core::net::IpAddr;

/// A path of a flow's connection.
#[derive(Clone, Copy, Debug)]
pub struct FlowPath {
    /// The link of the flow's host with several.
    pub link: usize,
    /// Address of source and sink.
    pub addresses: [IpAddr; 2],
}

impl World {
    /// Gives hosts an address for each of their links that is a path of a flow. The flow begins over its first one.
    pub(super) fn add_aerotp_paths(&mut self) {
        for flow in 0..self.flows.len() {
            let Some(paths) = self.flows[flow].spec.paths.clone() else {
                continue;
            };
            self.nodes[paths.host.0].forwards = false;
            let role = self.flows[flow].role_at(paths.host.0);
            let mut addresses = self.flows[flow].addresses;
            for link in paths.links {
                let versions = addresses[role.other() as usize].is_ipv4();
                addresses[role as usize] = self.link_address(paths.host.0, link.0, versions);
                let path = FlowPath {
                    link: link.0,
                    addresses,
                };
                self.flows[flow].aerotp.paths.push(path);
            }
            if let Some(first) = self.flows[flow].aerotp.paths.first() {
                self.flows[flow].addresses = first.addresses;
            }
        }
    }

    /// The address of a node at one of its links, which is reached over that alone and sends over that alone.
    fn link_address(&mut self, node: usize, link: usize, is_ipv4: bool) -> IpAddr {
        let end = self.wires[link].end_across(node).other();
        let versions = numbered(PATHS, 2 * link + end.index());
        let address = versions[usize::from(!is_ipv4)];
        let interface = self.interface(node, link);
        let host = &mut self.nodes[node].host;
        if host.addresses().all(|known| known != address) {
            host.add_interface_address(address, interface);
            let far = self.wires[link].far_from(node);
            self.behind_links.push(BehindLink { address, far });
        }
        address
    }

    /// Opens the further paths of a connection that has just been opened over the first.
    pub(super) fn open_aerotp_paths(&mut self, flow: usize, socket: AerotpId) {
        let node = self.flows[flow].spec.from.0;
        for path in self.flows[flow].aerotp.paths.clone() {
            let [local, remote] = path.addresses;
            let rate = self.slowest_on_way(flow, Some(&path));
            let host = &mut self.nodes[node].host;
            if path.addresses != self.flows[flow].addresses {
                host.aerotp_add_path(self.now, socket, (local, remote), rate);
            }
            if !self.wires[path.link].works {
                self.tell_aerotp_path(flow, Role::Source, &path);
            }
        }
    }

    /// Tells the connections whose paths begin or end at a link that a change has turned it, or has given it another rate.
    pub(super) fn tell_aerotp_paths(&mut self, link: usize) {
        for flow in 0..self.flows.len() {
            let mut paths = self.flows[flow].aerotp.paths.iter();
            let Some(path) = paths.find(|path| path.link == link).copied() else {
                continue;
            };
            for (role, node) in [
                (Role::Source, self.flows[flow].spec.from.0),
                (Role::Sink, self.flows[flow].spec.to.0),
            ] {
                let ends = self.wires[link].ends;
                if ends.iter().any(|&(end, _)| end == node) {
                    self.tell_aerotp_path(flow, role, &path);
                    self.pump(node);
                }
            }
        }
    }

    /// Tells one end of a connection of the link of a path as it is now.
    fn tell_aerotp_path(&mut self, flow: usize, role: Role, path: &FlowPath) {
        let rate = self.slowest_on_way(flow, Some(path));
        let run = &self.flows[flow];
        let node = [run.spec.from.0, run.spec.to.0][role as usize];
        let Some(socket) = run.aerotp.sockets[role as usize] else {
            return;
        };
        let Some(connection) = self.nodes[node].host.aerotp_mut(socket) else {
            return;
        };
        let ends = (
            path.addresses[role as usize],
            path.addresses[role.other() as usize],
        );
        let Some((number, _)) = connection.paths().find(|&(_, known)| known == ends) else {
            return;
        };
        match self.wires[path.link].works {
            // The sink writes nothing.
            true => connection.link_up(number, (role == Role::Source).then_some(rate)),
            false => connection.link_down(number),
        }
    }
}
