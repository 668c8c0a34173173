//! Prefixes of IPv4 addresses (RFC 4632) and of IPv6 addresses (RFC 4291 section 2.3), as in options of several
//! headers.

use super::DecodeError;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A prefix of addresses of either version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Prefix {
    /// IPv4 prefix.
    V4(Ipv4Prefix),
    /// IPv6 prefix.
    V6(Ipv6Prefix),
}

impl Prefix {
    /// Returns the prefix of `length` bits that contains `address`; `None` if the address has fewer bits.
    pub fn new(address: IpAddr, length: u8) -> Option<Prefix> {
        match address {
            IpAddr::V4(address) => Ipv4Prefix::new(address, length).map(Prefix::V4),
            IpAddr::V6(address) => Ipv6Prefix::new(address, length).map(Prefix::V6),
        }
    }

    /// Returns the prefix that contains one address alone.
    pub const fn single(address: IpAddr) -> Prefix {
        match address {
            IpAddr::V4(address) => Prefix::V4(Ipv4Prefix {
                address,
                length: 32,
            }),
            IpAddr::V6(address) => Prefix::V6(Ipv6Prefix {
                address,
                length: 128,
            }),
        }
    }

    /// Returns the lowest address of the prefix.
    pub const fn address(&self) -> IpAddr {
        match self {
            Prefix::V4(prefix) => IpAddr::V4(prefix.address),
            Prefix::V6(prefix) => IpAddr::V6(prefix.address),
        }
    }

    /// Returns the prefix length in bits.
    pub const fn length(&self) -> u8 {
        match self {
            Prefix::V4(prefix) => prefix.length,
            Prefix::V6(prefix) => prefix.length,
        }
    }

    /// Returns true if the prefix contains an address.
    pub const fn contains(&self, address: IpAddr) -> bool {
        match (self, address) {
            (Prefix::V4(prefix), IpAddr::V4(address)) => prefix.contains(address),
            (Prefix::V6(prefix), IpAddr::V6(address)) => prefix.contains(address),
            _ => false,
        }
    }

    /// Returns true if the prefix contains all addresses of `other`.
    pub const fn includes(&self, other: &Prefix) -> bool {
        self.length() <= other.length() && self.contains(other.address())
    }
}

impl From<Ipv4Prefix> for Prefix {
    fn from(prefix: Ipv4Prefix) -> Prefix {
        Prefix::V4(prefix)
    }
}

impl From<Ipv6Prefix> for Prefix {
    fn from(prefix: Ipv6Prefix) -> Prefix {
        Prefix::V6(prefix)
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address(), self.length())
    }
}

/// An IPv4 prefix. The bits after the prefix are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ipv4Prefix {
    address: Ipv4Addr,
    length: u8,
}

impl Ipv4Prefix {
    /// Returns the prefix of `length` bits that contains `address`; `None` if `length` exceeds 32.
    pub const fn new(address: Ipv4Addr, length: u8) -> Option<Ipv4Prefix> {
        if length > 32 {
            return None;
        }
        let address = Ipv4Addr::from_bits(address.to_bits() & mask_v4(length));
        Some(Ipv4Prefix { address, length })
    }

    /// Returns the lowest address of the prefix.
    pub const fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Returns the prefix length in bits, at most 32.
    pub const fn length(&self) -> u8 {
        self.length
    }

    /// Returns true if the prefix contains an address.
    pub const fn contains(&self, address: Ipv4Addr) -> bool {
        address.to_bits() & mask_v4(self.length) == self.address.to_bits()
    }
}

/// An IPv6 prefix. The bits after the prefix are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ipv6Prefix {
    address: Ipv6Addr,
    length: u8,
}

impl Ipv6Prefix {
    /// Returns the prefix of `length` bits that contains `address`; `None` if `length` exceeds 128.
    pub const fn new(address: Ipv6Addr, length: u8) -> Option<Ipv6Prefix> {
        if length > 128 {
            return None;
        }
        let address = Ipv6Addr::from_bits(address.to_bits() & mask(length));
        Some(Ipv6Prefix { address, length })
    }

    /// Returns the lowest address of the prefix.
    pub const fn address(&self) -> Ipv6Addr {
        self.address
    }

    /// Returns the prefix length in bits, at most 128.
    pub const fn length(&self) -> u8 {
        self.length
    }

    /// Returns true if the prefix contains an address.
    pub const fn contains(&self, address: Ipv6Addr) -> bool {
        address.to_bits() & mask(self.length) == self.address.to_bits()
    }

    /// Combines the prefix with the low bits of `interface`, as in stateless address configuration (RFC 4862 section
    /// 5.5.3).
    pub const fn address_of(&self, interface: Ipv6Addr) -> Ipv6Addr {
        Ipv6Addr::from_bits(self.address.to_bits() | (interface.to_bits() & !mask(self.length)))
    }

    /// Decodes a prefix of `length` bits from an option of `header`.
    pub(super) fn decode(
        header: &'static str,
        address: Ipv6Addr,
        length: u8,
    ) -> Result<Ipv6Prefix, DecodeError> {
        Ipv6Prefix::new(address, length).ok_or(DecodeError::Field {
            header,
            field: "prefix length",
            value: u32::from(length),
        })
    }
}

/// Returns a mask of the first `length` bits, at most 32.
const fn mask_v4(length: u8) -> u32 {
    match length {
        0 => 0,
        length => u32::MAX << (32 - length as u32),
    }
}

/// Returns a mask of the first `length` bits, at most 128.
const fn mask(length: u8) -> u128 {
    match length {
        0 => 0,
        length => u128::MAX << (128 - length as u32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_holds_the_addresses_that_begin_with_it() {
        let address = |text: &str| text.parse::<Ipv6Addr>().expect("an address");
        let prefix = Ipv6Prefix::new(address("2001:db8:7:ffff::9"), 47).expect("a length");
        assert_eq!(prefix.address(), address("2001:db8:6::"));
        assert!(prefix.contains(address("2001:db8:7::1")));
        assert!(!prefix.contains(address("2001:db8:8::1")));
        let link_local = address("fe80::200:5eff:fe00:5301");
        let subnet = Ipv6Prefix::new(address("2001:db8:6:1::"), 64).expect("a length");
        assert_eq!(
            subnet.address_of(link_local),
            address("2001:db8:6:1:200:5eff:fe00:5301")
        );
        let [all, one] = [0, 128].map(|length| Ipv6Prefix::new(link_local, length));
        assert!(all.is_some_and(|all| all.contains(address("::1"))));
        assert_eq!(
            one.map(|one| one.address_of(address("::1"))),
            Some(link_local)
        );
        assert_eq!(Ipv6Prefix::new(link_local, 129), None);
    }

    #[test]
    fn a_prefix_of_either_version_holds_addresses_of_its_own() {
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        let prefix = |text, length| Prefix::new(address(text), length).expect("a length");
        let network = prefix("10.1.255.9", 15);
        assert_eq!(network.to_string(), "10.0.0.0/15");
        assert!(network.contains(address("10.1.0.1")));
        assert!(!network.contains(address("10.2.0.1")));
        // An IPv4 prefix does not contain the IPv6 address with the same bits, nor the other way round.
        assert!(!network.contains(address("::ffff:10.1.0.1")));
        assert!(!prefix("::", 0).contains(address("10.1.0.1")));
        assert!(prefix("0.0.0.0", 0).contains(address("255.255.255.255")));
        assert!(network.includes(&prefix("10.1.2.0", 24)));
        assert!(network.includes(&network));
        assert!(!network.includes(&prefix("10.0.0.0", 14)));
        assert!(!network.includes(&prefix("::", 128)));
        let one = Prefix::single(address("192.0.2.7"));
        assert_eq!(one, prefix("192.0.2.7", 32));
        assert!(!one.contains(address("192.0.2.6")));
        assert_eq!(Prefix::single(address("::7")), prefix("::7", 128));
        assert_eq!(Prefix::new(address("10.0.0.0"), 33), None);
    }
}
