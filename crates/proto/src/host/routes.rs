//! Where packets go: routes to single addresses, and one for all others.

use super::InterfaceId;
use core::net::IpAddr;
use std::collections::BTreeMap;

/// A routing table.
#[derive(Clone, Debug, Default)]
pub struct RouteTable {
    /// Routes to IPv4 addresses, as numbers, ascending. A router with a route to each of thousands of hosts is
    /// asked for every packet, and addresses are mostly given out in a row: then the place of one follows from
    /// its distance to the first, and nothing is searched for.
    v4: Vec<(u32, InterfaceId)>,
    v6: BTreeMap<u128, InterfaceId>,
    default: Option<InterfaceId>,
}

impl RouteTable {
    /// Sends packets for `destination` out of `interface`.
    pub fn set(&mut self, destination: IpAddr, interface: InterfaceId) {
        match destination {
            IpAddr::V4(address) => {
                let address = address.to_bits();
                match self.place(address) {
                    Ok(place) => self.v4[place].1 = interface,
                    Err(place) => self.v4.insert(place, (address, interface)),
                }
            }
            IpAddr::V6(address) => {
                self.v6.insert(address.to_bits(), interface);
            }
        }
    }

    /// Sends packets without a route of their own out of `interface`, or nowhere.
    pub fn set_default(&mut self, interface: Option<InterfaceId>) {
        self.default = interface;
    }

    /// Sends out of interface `to` all that would go out of `from`.
    pub fn redirect(&mut self, from: InterfaceId, to: InterfaceId) {
        let v4 = self.v4.iter_mut().map(|(_, interface)| interface);
        let all = v4.chain(self.v6.values_mut()).chain(self.default.as_mut());
        all.filter(|interface| **interface == from)
            .for_each(|interface| *interface = to);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = RouteTable::default();
    }

    /// Where a packet for `destination` goes.
    #[inline]
    pub fn lookup(&self, destination: IpAddr) -> Option<InterfaceId> {
        let own = match destination {
            IpAddr::V4(address) => {
                let place = self.place(address.to_bits()).ok();
                place.map(|place| self.v4[place].1)
            }
            IpAddr::V6(address) => self.v6.get(&address.to_bits()).copied(),
        };
        own.or(self.default)
    }

    /// Where the route to an IPv4 address stands, or else where it would.
    #[inline]
    fn place(&self, address: u32) -> Result<usize, usize> {
        let Some(&(first, _)) = self.v4.first() else {
            return Err(0);
        };
        // The row mostly misses one address, the router's own.
        let guess = address.wrapping_sub(first) as usize;
        for place in [guess, guess.wrapping_sub(1)] {
            if let Some(&(found, _)) = self.v4.get(place)
                && found == address
            {
                return Ok(place);
            }
        }
        self.search(address)
    }

    #[inline(never)]
    fn search(&self, address: u32) -> Result<usize, usize> {
        self.v4.binary_search_by_key(&address, |&(known, _)| known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_is_found_whether_addresses_are_in_a_row_or_not() {
        let interface = |number: u32| Some(InterfaceId(number as usize));
        let mut table = RouteTable::default();
        let address = |number: u32| IpAddr::from(number.to_be_bytes());
        let known = [7, 5, 6, 9, u32::MAX, 0, 8, 100, 1, 2, 3];
        for number in known {
            table.set(address(number), InterfaceId(number as usize));
        }
        for number in known {
            assert_eq!(table.lookup(address(number)), interface(number));
        }
        assert_eq!(table.lookup(address(10)), None);
        table.set(address(6), InterfaceId(1));
        table.set_default(interface(2));
        table.redirect(InterfaceId(9), InterfaceId(3));
        assert_eq!(table.lookup(address(6)), interface(1));
        assert_eq!(table.lookup(address(9)), interface(3));
        assert_eq!(table.lookup(address(10)), interface(2));
        assert_eq!(table.lookup("::6".parse().unwrap()), interface(2));
        table.set("::6".parse().unwrap(), InterfaceId(4));
        assert_eq!(table.lookup("::6".parse().unwrap()), interface(4));
    }
}
