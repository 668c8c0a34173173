//! The aircraft that a packet on a cell's interface is for, as link-layer address resolution would find it.

use super::super::wires::{AircraftPlace, CellPlace, NodeInterface, RadioPlace};
use super::super::{Net, World};
use crate::addresses::{CellNetworks, access_prefix};
use crate::mobility::mobile_of;
use crate::scenario::model::{CellId, Radio, StationId};
use baton_proto::wire::prefix::Ipv6Prefix;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::collections::BTreeMap;

/// Number of a cell's router among the hosts of its IPv4 network; the aircraft follow, and after them the addresses to be assigned.
const ROUTER: u32 = 1;

/// The networks of cells, and the aircraft with addresses. An aircraft's address in a cell consists of the cell's prefix and its own
/// identifier, so that no pairs of both are stored.
#[derive(Debug)]
pub(crate) struct Neighbors {
    prefixes: Vec<Ipv6Prefix>,
    networks: CellNetworks,
    aircraft: u32,
    /// Permanent and assigned addresses of aircraft.
    known: BTreeMap<IpAddr, StationId>,
}

/// A network that is behind a base station.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BehindCell {
    /// Its first and its last address.
    pub ends: [IpAddr; 2],
    /// The base station, and its interface to the cell.
    pub far: NodeInterface,
}

/// Returns true if an address reaches all nodes on a link.
pub(in super::super) fn is_for_all(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_multicast() || address.is_broadcast(),
        IpAddr::V6(address) => address.is_multicast(),
    }
}

impl Neighbors {
    /// Creates the addresses of a network without aircraft.
    pub fn new(radio: &Radio) -> Neighbors {
        let cells = 0..radio.stations.len();
        Neighbors {
            prefixes: cells
                .map(|cell| access_prefix(radio.first_cell + cell))
                .collect(),
            networks: radio.networks,
            aircraft: radio.aircraft.len() as u32,
            known: BTreeMap::new(),
        }
    }

    /// Returns the prefix of a cell.
    pub fn prefix(&self, cell: CellId) -> Ipv6Prefix {
        self.prefixes[usize::from(cell.0)]
    }

    /// Gives a cell another prefix, for a home link.
    pub fn set_prefix(&mut self, cell: CellId, prefix: Ipv6Prefix) {
        self.prefixes[usize::from(cell.0)] = prefix;
    }

    /// Adds addresses of aircraft, all at once, because a tree that grows in order is half empty.
    pub fn add_all(&mut self, addresses: impl Iterator<Item = (IpAddr, StationId)>) {
        self.known = addresses.collect();
    }

    /// Adds an address of an aircraft.
    pub fn add(&mut self, address: IpAddr, station: StationId) {
        self.known.insert(address, station);
    }

    /// Returns the address of a cell's router in its IPv4 network.
    pub fn router(&self, cell: CellId) -> Ipv4Addr {
        self.networks.address(usize::from(cell.0), ROUTER)
    }

    /// Returns the address of an aircraft in a cell's IPv4 network.
    pub fn address(&self, cell: CellId, station: StationId) -> Ipv4Addr {
        let number = ROUTER + 1 + station.0;
        self.networks.address(usize::from(cell.0), number)
    }

    /// Returns the first and the last address that can be assigned in a cell.
    pub fn given(&self, cell: CellId) -> [Ipv4Addr; 2] {
        let first = ROUTER + 1 + self.aircraft;
        let last = first + self.aircraft.max(1) - 1;
        [first, last].map(|number| self.networks.address(usize::from(cell.0), number))
    }

    /// Returns the prefix length of a cell's IPv4 network, in bits.
    pub fn length(&self) -> u8 {
        self.networks.length()
    }

    /// Returns the first and the last address of a cell's IPv4 network, and of its IPv6 one.
    pub fn ends(&self, cell: CellId) -> [[IpAddr; 2]; 2] {
        let prefix = self.prefix(cell);
        let last = prefix.address_of(Ipv6Addr::from_bits(u128::MAX));
        [
            self.networks.ends(usize::from(cell.0)).map(IpAddr::V4),
            [prefix.address(), last].map(IpAddr::V6),
        ]
    }

    fn find(
        &self,
        cell: CellId,
        address: IpAddr,
        station_of: impl Fn(usize) -> Option<StationId>,
    ) -> Option<StationId> {
        if let Some(&station) = self.known.get(&address) {
            return Some(station);
        }
        match address {
            IpAddr::V6(address) => {
                let is_local = address.is_unicast_link_local();
                let is_here = is_local || self.prefix(cell).contains(address);
                let mobile = mobile_of(address).filter(|_| is_here);
                mobile.and_then(station_of)
            }
            IpAddr::V4(address) => {
                let number = self.networks.number(usize::from(cell.0), address)?;
                let station = number.checked_sub(ROUTER + 1)?;
                (station < self.aircraft).then_some(StationId(station))
            }
        }
    }
}

impl World {
    /// Registers the addresses of aircraft, and of the nodes behind them.
    pub(in super::super) fn introduce_aircraft(&mut self) {
        for (radio, run) in self.scenario.radios.iter().zip(&mut self.net.radios) {
            let aircraft = radio.aircraft.iter().zip(&run.aircraft).enumerate();
            let addresses = aircraft.flat_map(|(station, (aircraft, state))| {
                let behind = self.net.directory.behind(state.mobile as usize).iter();
                let nodes = core::iter::once(&aircraft.node).chain(behind);
                let hosts = nodes.map(|node| &self.net.nodes[node.0].host);
                let addresses = hosts.flat_map(|host| host.addresses());
                addresses.map(move |address| (address, StationId(station as u32)))
            });
            run.neighbors.add_all(addresses);
        }
    }
}

impl Net {
    /// Returns the link from a cell to the aircraft that has an address.
    #[inline(never)]
    pub(in super::super) fn link_to_neighbor(
        &self,
        CellPlace { radio, cell }: CellPlace,
        to: IpAddr,
    ) -> Option<usize> {
        let run = &self.radios[radio as usize];
        let station_of = |mobile: usize| {
            let place = run
                .aircraft
                .binary_search_by_key(&(mobile as u32), |one| one.mobile);
            place.ok().map(|place| StationId(place as u32))
        };
        let station = run.neighbors.find(cell, to, station_of)?;
        Some(self.wires.number(RadioPlace {
            radio,
            station,
            cell,
        }))
    }

    /// Returns the links from a cell to all aircraft that are registered there.
    pub(in super::super) fn links_in(&self, CellPlace { radio, cell }: CellPlace) -> Vec<usize> {
        let registered = self.radios[radio as usize].network.registered(cell).iter();
        let links = registered.map(|&station| {
            self.wires.number(RadioPlace {
                radio,
                station,
                cell,
            })
        });
        links.collect()
    }

    /// Returns the addresses of a radio network.
    pub(crate) fn neighbors(&self, radio: u32) -> &Neighbors {
        &self.radios[radio as usize].neighbors
    }

    /// Returns the addresses of a radio network, to change them.
    pub(crate) fn neighbors_mut(&mut self, radio: u32) -> &mut Neighbors {
        &mut self.radios[radio as usize].neighbors
    }

    /// Notes the address assigned to an aircraft at an interface.
    pub(in super::super) fn learn_address(
        &mut self,
        AircraftPlace { radio, station }: AircraftPlace,
        address: IpAddr,
    ) {
        self.radios[radio as usize].neighbors.add(address, station);
    }
}
