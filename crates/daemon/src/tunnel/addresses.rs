//! Addresses that a home agent assigns to the routers' ends of paths.

use baton_proto::wire::prefix::Ipv6Prefix;
use core::net::Ipv6Addr;

/// Length of the prefix of all paths, in bits: paths with the same number, of all routers, share a network of 64 bits.
const LENGTH: u8 = 60;
/// Number of networks in a prefix, and so of path numbers.
pub const NETWORKS: u8 = 16;

/// The prefix of all paths of a home agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CareOfPrefix(Ipv6Prefix);

impl Default for CareOfPrefix {
    /// Returns a unique local prefix (RFC 4193), the same for all home agents, since no packet with such an address
    /// leaves a path.
    fn default() -> CareOfPrefix {
        const ADDRESS: Ipv6Addr = Ipv6Addr::new(0xFD62, 0x6174, 0x6F6E, 0, 0, 0, 0, 0);
        const PREFIX: Ipv6Prefix = match Ipv6Prefix::new(ADDRESS, LENGTH) {
            Some(prefix) => prefix,
            None => panic!("a length of at most 128"),
        };
        CareOfPrefix(PREFIX)
    }
}

impl CareOfPrefix {
    /// Reads an assigned prefix; returns `None` unless it has 60 bits.
    pub fn read(assigned: &[u8]) -> Option<CareOfPrefix> {
        let octets: [u8; 16] = assigned.try_into().ok()?;
        let address = Ipv6Addr::from(octets);
        let prefix = Ipv6Prefix::new(address, LENGTH)?;
        (prefix.address() == address).then_some(CareOfPrefix(prefix))
    }

    /// Returns the bytes that a handshake assigns.
    pub fn bytes(self) -> [u8; 16] {
        self.0.address().octets()
    }

    /// Returns the prefix of all paths.
    pub fn prefix(self) -> Ipv6Prefix {
        self.0
    }

    /// Returns the prefix of the paths with this number.
    pub fn network(self, path: u8) -> Option<Ipv6Prefix> {
        let base = self.0.address().to_bits();
        let network = base | u128::from(path) << 64;
        Ipv6Prefix::new(Ipv6Addr::from_bits(network), 64).filter(|_| path < NETWORKS)
    }

    /// Returns the care-of address on a path of the router whose home address has this interface identifier.
    pub fn care_of(self, path: u8, interface_identifier: u64) -> Option<Ipv6Addr> {
        let network = self.network(path)?.address().to_bits();
        Some(Ipv6Addr::from_bits(
            network | u128::from(interface_identifier),
        ))
    }

    /// Returns the path's number and the interface identifier of a care-of address; `None` for another address.
    pub fn of(self, address: Ipv6Addr) -> Option<(u8, u64)> {
        let bits = address.to_bits();
        let path = (bits >> 64) as u8 % NETWORKS;
        self.0.contains(address).then_some((path, bits as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_of_one_path_and_one_router() {
        let prefix = CareOfPrefix::read(&CareOfPrefix::default().bytes()).unwrap();
        assert_eq!(prefix, CareOfPrefix::default());
        for path in 0..NETWORKS {
            let address = prefix.care_of(path, 0x1234_5678_9ABC_DEF0).unwrap();
            assert_eq!(prefix.of(address), Some((path, 0x1234_5678_9ABC_DEF0)));
        }
        let address = prefix.care_of(3, 7).unwrap();
        assert_eq!(address.to_string(), "fd62:6174:6f6e:3::7");
        assert_eq!(prefix.care_of(16, 7), None);
        assert_eq!(prefix.of("2001:db8::7".parse().unwrap()), None);
        assert_eq!(CareOfPrefix::read(&[1; 15]), None);
        assert_eq!(CareOfPrefix::read(&[1; 16]), None);
    }
}
