//! Addresses that Baton assigns where a scenario gives none.

use baton_proto::wire::neighbor_discovery::LinkLayerAddress;
use baton_proto::wire::prefix::{Ipv4Prefix, Ipv6Prefix};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// First address of nodes: 10.0.0.1 and fd62:6174:6f6e::1 (a unique local prefix, RFC 4193).
pub const NODES: (u32, u128) = (0x0a00_0001, 0xfd62_6174_6f6e_0000_0000_0000_0000_0001);
/// First address of hosts at links that are paths of a connection: two for each link, 10.192.0.1 and
/// fd62:6174:6f6e:4000::1 and on.
pub const PATHS: (u32, u128) = (0x0ac0_0001, 0xfd62_6174_6f6e_4000_0000_0000_0000_0001);
/// First prefix, of 64 bits, of access links with Mobile IPv6; each link has the next one, and after these each cell.
pub const ACCESS_PREFIXES: u128 = 0xfd62_6174_6f6e_8000_0000_0000_0000_0000;
/// First network of access links with Mobile IPv4: 172.16.0.0/24; each link has the next one. Those of
/// [cells](CellNetworks) follow.
pub const ACCESS_NETWORKS: u32 = 0xac10_0000;
/// Prefix length of an access link's network, in bits.
pub const ACCESS_LENGTH: u8 = 24;
/// Number of the router among the hosts of an access link's network.
pub const ROUTER: u32 = 1;
/// Number of the mobile among them.
pub const MOBILE: u32 = 2;
/// Addresses of an access link's network.
pub const ACCESS_SIZE: u32 = 1 << (32 - ACCESS_LENGTH);

/// Private addresses of foreign agents, which only their domains route: 192.168.0.1 and on (RFC 1918).
pub const PRIVATE_AGENTS: Ipv4Prefix =
    Ipv4Prefix::new(Ipv4Addr::new(192, 168, 0, 0), 16).expect("no host bits are set");

/// Returns the private address of a foreign agent, by its number in the file.
pub fn private_agent(number: usize) -> Ipv4Addr {
    let first = PRIVATE_AGENTS.address().to_bits() + 1;
    Ipv4Addr::from_bits(first.wrapping_add(number as u32))
}

/// Returns the address of a link's access point.
pub fn access_point(link: usize) -> LinkLayerAddress {
    locally_administered(0, link)
}

/// Returns the address of a node as a station of access points.
pub fn station(node: usize) -> LinkLayerAddress {
    locally_administered(0x10, node)
}

fn locally_administered(kind: u8, number: usize) -> LinkLayerAddress {
    let [.., a, b, c, d] = (number as u64).to_be_bytes();
    LinkLayerAddress([2, kind, a, b, c, d])
}

/// Returns the IPv4 and IPv6 address `number` places after the first ones.
pub fn numbered(first: (u32, u128), number: usize) -> [IpAddr; 2] {
    [
        Ipv4Addr::from_bits(first.0.wrapping_add(number as u32)).into(),
        Ipv6Addr::from_bits(first.1.wrapping_add(number as u128)).into(),
    ]
}

/// Returns the addresses of a node: IPv4 for all nodes, and IPv6 in a world with real hosts.
pub fn node_addresses(node: usize) -> [IpAddr; 2] {
    numbered(NODES, node)
}

/// Returns address `number` for hosts of an access link's network.
pub fn on_access_link(link: usize, number: u32) -> Ipv4Addr {
    let network = ACCESS_NETWORKS.wrapping_add((link as u32).wrapping_mul(ACCESS_SIZE));
    Ipv4Addr::from_bits(network.wrapping_add(number))
}

/// Returns the prefix of an access link with Mobile IPv6, or after the links that of a cell.
pub fn access_prefix(number: usize) -> Ipv6Prefix {
    let address = Ipv6Addr::from_bits(ACCESS_PREFIXES + ((number as u128) << 64));
    Ipv6Prefix::new(address, 64).expect("64 bits are not too many")
}

/// The IPv4 networks of a radio network's cells, consecutive and of one size that fits all its aircraft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellNetworks {
    first: u32,
    length: u8,
}

impl CellNetworks {
    /// Creates networks with `hosts` assignable addresses each, the first of which begins at `free` or later.
    pub fn new(free: u32, hosts: usize) -> CellNetworks {
        // The first and the last address are not for hosts.
        let size = (hosts as u32 + 2).next_power_of_two().max(ACCESS_SIZE);
        CellNetworks {
            first: free.next_multiple_of(size),
            length: 32 - size.ilog2() as u8,
        }
    }

    /// Bits of a network.
    pub const fn length(self) -> u8 {
        self.length
    }

    const fn size(self) -> u32 {
        1 << (32 - self.length)
    }

    /// Returns the first address behind the networks of so many cells.
    pub fn end(self, cells: usize) -> u32 {
        self.first
            .wrapping_add((cells as u32).wrapping_mul(self.size()))
    }

    /// Returns address `number` of a cell's network.
    pub fn address(self, cell: usize, number: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.end(cell).wrapping_add(number))
    }

    /// Returns the first and the last address of a cell's network.
    pub fn ends(self, cell: usize) -> [Ipv4Addr; 2] {
        [0, self.size() - 1].map(|number| self.address(cell, number))
    }

    /// Returns the number of an address in a cell's network, if it is there.
    pub fn number(self, cell: usize, address: Ipv4Addr) -> Option<u32> {
        let number = address.to_bits().checked_sub(self.end(cell))?;
        (number < self.size()).then_some(number)
    }
}
