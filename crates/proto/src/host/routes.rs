//! Routes of a host: to single addresses, to networks, and a default.

use super::InterfaceId;
use crate::wire::prefix::Prefix;
use core::net::{IpAddr, Ipv6Addr};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum number of entries for which a row reserves exactly the memory it needs.
const FEW: usize = 4;

/// Values by ascending number. A router with routes to thousands of hosts looks one up for every packet. The numbers
/// are mostly consecutive, so that the distance to the first gives the index without a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Row(Vec<(u32, u32)>);

impl Row {
    fn set(&mut self, number: u32, value: u32) {
        match self.search(number) {
            Ok(place) => self.0[place].1 = value,
            Err(place) => {
                if self.0.len() < FEW {
                    self.0.reserve_exact(1);
                }
                self.0.insert(place, (number, value));
            }
        }
    }

    #[inline]
    fn of(&self, number: u32) -> Option<u32> {
        let &(first, _) = self.0.first()?;
        // The row usually lacks one number, the router's own.
        let guess = number.wrapping_sub(first) as usize;
        for place in [guess, guess.wrapping_sub(1)] {
            if let Some(&(found, value)) = self.0.get(place)
                && found == number
            {
                return Some(value);
            }
        }
        let place = self.search(number).ok()?;
        Some(self.0[place].1)
    }

    /// Replaces an interface by another in all entries.
    fn redirect(&mut self, from: InterfaceId, to: InterfaceId) {
        redirect(self.0.iter_mut().map(|(_, value)| value), from, to);
    }

    /// Returns the index of a number, or the index at which to insert it.
    #[inline(never)]
    fn search(&self, number: u32) -> Result<usize, usize> {
        self.0.binary_search_by_key(&number, |&(known, _)| known)
    }
}

/// Values of addresses, and of disjoint networks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Addresses {
    v4: Row,
    v6: BTreeMap<u128, u32>,
    /// Last address and value of each network, by its first address; IPv4 addresses are mapped to IPv6.
    networks: BTreeMap<u128, (u128, u32)>,
}

impl Addresses {
    fn set(&mut self, address: IpAddr, value: u32) {
        match address {
            IpAddr::V4(address) => self.v4.set(address.to_bits(), value),
            IpAddr::V6(address) => {
                self.v6.insert(address.to_bits(), value);
            }
        }
    }

    fn set_network(&mut self, [first, last]: [IpAddr; 2], value: u32) {
        self.networks.insert(mapped(first), (mapped(last), value));
    }

    #[inline]
    fn of(&self, address: IpAddr) -> Option<u32> {
        match address {
            IpAddr::V4(address) => self.v4.of(address.to_bits()),
            IpAddr::V6(address) => self.search_v6(address),
        }
    }

    #[inline(never)]
    fn search_v6(&self, address: Ipv6Addr) -> Option<u32> {
        self.v6.get(&address.to_bits()).copied()
    }

    /// Frees spare memory: a tree that grows in order is half empty.
    fn shrink(&mut self) {
        self.v6 = core::mem::take(&mut self.v6).into_iter().collect();
    }

    /// Returns the value of the network that contains an address.
    #[inline]
    fn of_network(&self, address: IpAddr) -> Option<u32> {
        match self.networks.is_empty() {
            true => None,
            false => self.search_networks(address),
        }
    }

    #[inline(never)]
    fn search_networks(&self, address: IpAddr) -> Option<u32> {
        let address = mapped(address);
        let (_, &(last, value)) = self.networks.range(..=address).next_back()?;
        (address <= last).then_some(value)
    }
}

fn mapped(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// Places of addresses, shared by many tables: a table needs only a route to each place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places(Addresses);

impl Places {
    /// Frees spare memory.
    pub fn shrink(&mut self) {
        self.0.shrink();
    }

    /// Assigns an address to a place.
    pub fn set(&mut self, address: IpAddr, place: u32) {
        self.0.set(address, place);
    }

    /// Assigns a network, from its first address to its last, to a place, except for addresses that are assigned
    /// elsewhere.
    pub fn set_network(&mut self, ends: [IpAddr; 2], place: u32) {
        self.0.set_network(ends, place);
    }
}

/// A routing table.
#[derive(Clone, Debug, Default)]
pub struct RouteTable {
    /// `None` while empty: most hosts of a fleet have only a default route.
    own: Option<Box<OwnRoutes>>,
    places: Option<Arc<Places>>,
    /// Routes to places.
    ways: Row,
    default: Option<u32>,
}

/// Routes that are not shared.
#[derive(Clone, Debug, Default)]
struct OwnRoutes {
    /// Routes to single addresses, which precede routes to places, and to networks.
    addresses: Addresses,
    /// Routes to prefixes, the longest first.
    prefixes: Vec<(Prefix, InterfaceId)>,
}

impl OwnRoutes {
    #[cold]
    fn lookup_prefix(&self, destination: IpAddr) -> Option<InterfaceId> {
        let mut prefixes = self.prefixes.iter();
        let found = prefixes.find(|(prefix, _)| prefix.contains(destination))?;
        Some(found.1)
    }

    fn redirect(&mut self, from: InterfaceId, to: InterfaceId) {
        let addresses = &mut self.addresses;
        addresses.v4.redirect(from, to);
        let networks = addresses.networks.values_mut();
        let networks = networks.map(|(_, interface)| interface);
        redirect(addresses.v6.values_mut().chain(networks), from, to);
        for (_, interface) in &mut self.prefixes {
            if *interface == from {
                *interface = to;
            }
        }
    }
}

impl RouteTable {
    fn own(&mut self) -> &mut OwnRoutes {
        self.own.get_or_insert_default()
    }

    /// Routes packets for `destination` to `interface`.
    pub fn set(&mut self, destination: IpAddr, interface: InterfaceId) {
        self.own().addresses.set(destination, number_of(interface));
    }

    /// Routes packets for a network, from its first address to its last, to `interface`, except for addresses with a
    /// route of their own or a known place.
    pub fn set_network(&mut self, ends: [IpAddr; 2], interface: InterfaceId) {
        let addresses = &mut self.own().addresses;
        addresses.set_network(ends, number_of(interface));
    }

    /// Frees spare memory.
    pub fn shrink(&mut self) {
        if let Some(own) = &mut self.own {
            own.addresses.shrink();
        }
    }

    /// Uses these places from now on.
    pub fn share(&mut self, places: &Arc<Places>) {
        self.places = Some(Arc::clone(places));
    }

    /// Routes packets for all addresses at a place to `interface`, except for those with a route of their own.
    pub fn set_way(&mut self, place: u32, interface: InterfaceId) {
        self.ways.set(place, number_of(interface));
    }

    /// Routes packets for a prefix to `interface`, except for those of a longer prefix and those with a route of their
    /// own (RFC 1812 section 5.2.4.3, RFC 7608).
    pub fn set_prefix(&mut self, prefix: Prefix, interface: InterfaceId) {
        let prefixes = &mut self.own().prefixes;
        prefixes.retain(|(known, _)| *known != prefix);
        let longer = |known: &(Prefix, _)| known.0.length() >= prefix.length();
        let place = prefixes.partition_point(longer);
        prefixes.insert(place, (prefix, interface));
    }

    /// Routes packets without another route to `interface`, or nowhere.
    pub fn set_default(&mut self, interface: Option<InterfaceId>) {
        self.default = interface.map(number_of);
    }

    /// Replaces interface `from` by interface `to` in all routes.
    pub fn redirect(&mut self, from: InterfaceId, to: InterfaceId) {
        if let Some(own) = &mut self.own {
            own.redirect(from, to);
        }
        self.ways.redirect(from, to);
        redirect(self.default.iter_mut(), from, to);
    }

    /// Removes all routes.
    pub fn clear(&mut self) {
        *self = RouteTable::default();
    }

    /// Returns the interface for packets to `destination`.
    // Called once a hop: the compiler does not inline it by itself, and a call costs a hundredth of all instructions.
    #[inline(always)]
    pub fn lookup(&self, destination: IpAddr) -> Option<InterfaceId> {
        // Usual tables: only a default route, or routes to shared places.
        if self.own.is_none() {
            if self.ways.0.is_empty() {
                return self.default.map(interface_of);
            }
            if let Some(places) = &self.places
                && let Some(place) = places.0.of(destination)
                && let Some(number) = self.ways.of(place)
            {
                return Some(interface_of(number));
            }
        }
        self.search(destination)
    }

    #[inline(never)]
    fn search(&self, destination: IpAddr) -> Option<InterfaceId> {
        let places = self.places.as_deref();
        let own = self.own.as_deref();
        let found = own
            .and_then(|own| own.addresses.of(destination))
            .or_else(|| self.ways.of(places?.0.of(destination)?))
            .or_else(|| own?.addresses.of_network(destination))
            .or_else(|| self.ways.of(places?.0.of_network(destination)?));
        if let (None, Some(own)) = (found, own)
            && !own.prefixes.is_empty()
            && let Some(interface) = own.lookup_prefix(destination)
        {
            return Some(interface);
        }
        found.or(self.default).map(interface_of)
    }
}

/// Replaces an interface by another in all `numbers`.
fn redirect<'a>(numbers: impl Iterator<Item = &'a mut u32>, from: InterfaceId, to: InterfaceId) {
    let (old, new) = (number_of(from), number_of(to));
    numbers
        .filter(|number| **number == old)
        .for_each(|number| *number = new);
}

/// Returns an interface's number in a table.
fn number_of(interface: InterfaceId) -> u32 {
    u32::try_from(interface.0).unwrap_or(u32::MAX)
}

fn interface_of(number: u32) -> InterfaceId {
    InterfaceId(number as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_is_found_whether_addresses_are_in_a_row_or_not() {
        let interface = |number: u32| Some(InterfaceId((number % 1000) as usize));
        let mut table = RouteTable::default();
        let address = |number: u32| IpAddr::from(number.to_be_bytes());
        let known = [7, 5, 6, 9, u32::MAX, 0, 8, 100, 1, 2, 3];
        for number in known {
            table.set(address(number), interface(number).unwrap());
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

    #[test]
    fn a_network_s_route_is_for_those_of_its_addresses_that_have_none() {
        let parse = |text: &str| text.parse::<IpAddr>().unwrap();
        let mut places = Places::default();
        places.set_network([parse("2001:db8:1::"), parse("2001:db8:1::ffff")], 3);
        places.set_network([parse("172.16.4.0"), parse("172.16.4.255")], 3);
        places.set(parse("2001:db8:1::7"), 4);
        let mut table = RouteTable::default();
        table.share(&Arc::new(places));
        table.set_way(3, InterfaceId(1));
        table.set_way(4, InterfaceId(2));
        table.set_default(Some(InterfaceId(9)));
        table.set(parse("2001:db8:1::8"), InterfaceId::virtual_number(3));
        table.set_network([parse("10.1.0.0"), parse("10.1.255.255")], InterfaceId(5));
        for (address, interface) in [
            ("2001:db8:1::", 1),
            ("2001:db8:1::6", 1),
            ("2001:db8:1::7", 2),
            ("2001:db8:1::8", InterfaceId::virtual_number(3).0),
            ("2001:db8:1::1:0", 9),
            ("2001:db8::ffff", 9),
            ("172.16.4.200", 1),
            ("172.16.5.0", 9),
            ("10.1.255.255", 5),
            ("10.2.0.0", 9),
            ("::10.1.0.1", 9),
        ] {
            let found = table.lookup(parse(address));
            assert_eq!(found, Some(InterfaceId(interface)), "{address}");
        }
    }

    #[test]
    fn an_address_of_its_own_comes_before_its_place_and_that_before_the_default() {
        let [own, shared, other] = [1u8, 2, 3].map(|last| IpAddr::from([10, 0, 0, last]));
        let far: IpAddr = "2001:db8::1".parse().unwrap();
        let mut places = Places::default();
        for address in [own, shared, far] {
            places.set(address, 7);
        }
        let mut table = RouteTable::default();
        table.share(&Arc::new(places));
        table.set_default(Some(InterfaceId(9)));
        assert_eq!(table.lookup(shared), Some(InterfaceId(9)));
        table.set_way(7, InterfaceId(4));
        table.set(own, InterfaceId::virtual_number(3));
        let found = [own, shared, far, other].map(|address| table.lookup(address).unwrap());
        let wanted = [
            InterfaceId::virtual_number(3),
            InterfaceId(4),
            InterfaceId(4),
            InterfaceId(9),
        ];
        assert_eq!(found, wanted);
        table.redirect(InterfaceId(4), InterfaceId(5));
        assert_eq!(table.lookup(far), Some(InterfaceId(5)));
        table.redirect(InterfaceId::virtual_number(3), InterfaceId(6));
        assert_eq!(table.lookup(own), Some(InterfaceId(6)));
    }

    /// Longest-prefix match (RFC 1812 section 5.2.4.3, RFC 7608) does not depend on the order in which routes were set.
    #[test]
    fn the_longest_prefix_counts_after_a_single_address_and_before_the_default() {
        let network = |text: &str, length| Prefix::new(text.parse().unwrap(), length).unwrap();
        let mut table = RouteTable::default();
        table.set_default(Some(InterfaceId(0)));
        table.set_prefix(network("2001:db8::", 32), InterfaceId(1));
        table.set_prefix(network("2001:db8:7:8::", 64), InterfaceId(2));
        table.set_prefix(network("2001:db8:7::", 48), InterfaceId(9));
        table.set_prefix(network("2001:db8:7::", 48), InterfaceId(3));
        table.set_prefix(network("10.0.0.0", 8), InterfaceId(7));
        table.set_prefix(network("10.0.128.0", 17), InterfaceId(6));
        table.set("2001:db8:7:8::5".parse().unwrap(), InterfaceId(4));
        let way = |table: &RouteTable, text: &str| table.lookup(text.parse().unwrap()).unwrap().0;
        let destinations = [
            "2001:db8:7:8::5",
            "2001:db8:7:8::6",
            "2001:db8:7:9::5",
            "2001:db8:8::5",
            "2001:db9::5",
            "10.0.127.5",
            "10.0.128.5",
            "11.0.0.5",
        ];
        let ways = destinations.map(|to| way(&table, to));
        assert_eq!(ways, [4, 2, 3, 1, 0, 7, 6, 0]);
        table.redirect(InterfaceId(3), InterfaceId(5));
        table.redirect(InterfaceId(6), InterfaceId(8));
        let ways = destinations.map(|to| way(&table, to));
        assert_eq!(ways, [4, 2, 5, 1, 0, 7, 8, 0]);
    }
}
