//! Domain routers and mobiles in a world.

use super::Domain;
use crate::addresses::{MOBILE, on_access_link};
use crate::rng::Seed;
use crate::scenario::model::{LinkIndex, NodeIndex};
use crate::world::World;
use crate::world::agents::access_links;
use crate::world::ports::BehindLink;
use baton_proto::host::layer::Rank;
use baton_proto::interface::InterfaceId;
use baton_proto::mobility::clock::Clock;
use baton_proto::mobility::micro_mobility::{
    Client, ClientConfig, DomainRouter, DomainRouterConfig, LIFETIME, Protocol,
};
use baton_proto::wire::micro_mobility::mobile_key;
use core::net::Ipv4Addr;
use std::collections::BTreeMap;

/// A mobile in a domain.
struct Visit {
    /// Its address there.
    address: Ipv4Addr,
    /// Its access links there, each with the base station and that one's interface.
    links: Vec<(usize, usize, InterfaceId)>,
}

impl World {
    /// Returns a mobile's stay in a domain; `None` for a mobile without Mobile IPv4 or an access link there. On its home
    /// link the mobile is at home.
    fn visit(&self, number: usize, domain: &Domain) -> Option<Visit> {
        let mobile = &self.scenario.mobiles[number];
        let mobility = mobile.mobility.as_deref().filter(|own| !own.is_ipv6())?;
        let links = access_links(&self.scenario, &mobile.attachment).into_iter();
        let links: Vec<_> = links
            .filter(|&link| mobility.home_link() != Some(LinkIndex(link)))
            .map(|link| (link, self.net.wires.far_from(link, mobile.node.0)))
            .filter(|(_, (router, _))| domain.has(NodeIndex(*router)))
            .map(|(link, (router, interface))| (link, router, interface))
            .collect();
        let &(first, ..) = links.first()?;
        Some(Visit {
            // As assigned on its first link there.
            address: on_access_link(first, MOBILE),
            links,
        })
    }

    /// Returns a mobile's care-of address on an access link, if the link's router is in a domain.
    pub(in crate::mobility) fn domain_address(
        &self,
        number: usize,
        link: usize,
    ) -> Option<Ipv4Addr> {
        let domains = self.scenario.agents.domains.iter();
        let mut visits = domains.filter_map(|domain| self.visit(number, domain));
        let visit = visits.find(|visit| visit.links.iter().any(|&(known, ..)| known == link))?;
        Some(visit.address)
    }

    /// Returns a mobile's part in each domain that it may visit.
    pub(in crate::mobility) fn domain_clients(&self, number: usize) -> Vec<Client> {
        let node = self.scenario.mobiles[number].node.0;
        let address_of = |node| self.net.directory.ipv4(&self.scenario, node);
        let client = |domain: &Domain| {
            let visit = self.visit(number, domain)?;
            let links = visit.links.iter();
            let links = links.map(|&(link, router, _)| (self.net.interface(node, link), router));
            let links: Vec<_> = links.collect();
            let base_stations = links.iter();
            let base_stations =
                base_stations.map(|&(interface, router)| (interface, address_of(router)));
            Some(Client::new(ClientConfig {
                address: visit.address,
                root: address_of(domain.root.0),
                key: mobile_key(&self.network_key(domain), visit.address),
                protocol: domain.protocol,
                refresh: domain.refresh,
                base_stations: base_stations.collect(),
                idle: self.idleness(domain, &links),
                clock: Clock::default(),
            }))
        };
        let domains = self.scenario.agents.domains.iter();
        domains.filter_map(client).collect()
    }

    fn network_key(&self, domain: &Domain) -> [u8; 16] {
        Seed(self.scenario.seed).secret(&format!("domain {}", domain.name))
    }

    /// Gives the routers of all domains their layers, and leads mobiles' addresses to the roots.
    pub(in crate::mobility) fn add_domain_routers(&mut self) {
        for domain in self.scenario.agents.domains.clone() {
            let numbers = 0..self.scenario.mobiles.len();
            let visits = numbers.filter_map(|number| self.visit(number, &domain));
            let visits: Vec<Visit> = visits.collect();
            for visit in &visits {
                self.net.behind_links.push(BehindLink {
                    address: visit.address.into(),
                    far: (domain.root.0, Rank::DomainRouter.interface()),
                });
            }
            for NodeIndex(node) in domain.all_routers() {
                let mobiles = visits.iter().map(|visit| {
                    let mut links = visit.links.iter();
                    let own = links.find(|&&(_, router, _)| router == node);
                    (visit.address, own.map(|&(_, _, interface)| interface))
                });
                let config = self.domain_router(&domain, node, mobiles.collect());
                let host = &mut self.net.nodes[node].host;
                host.add_layer(DomainRouter::new(config));
            }
        }
    }

    fn domain_router(
        &self,
        domain: &Domain,
        node: usize,
        mobiles: BTreeMap<Ipv4Addr, Option<InterfaceId>>,
    ) -> DomainRouterConfig {
        let address_of = |node| self.net.directory.ipv4(&self.scenario, node);
        DomainRouterConfig {
            address: address_of(node),
            root: address_of(domain.root.0),
            path_setup: match domain.protocol {
                Protocol::Hawaii(scheme) => Some(scheme),
                Protocol::CellularIp { .. } => None,
            },
            network_key: self.network_key(domain),
            mobiles,
            route_lifetime: domain.refresh.saturating_mul(LIFETIME),
            buffer: domain.buffer,
            paging: self.paging_at(domain, node),
            clock: Clock::default(),
        }
    }
}
