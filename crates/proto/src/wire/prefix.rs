//! Prefixes of IPv6 addresses (RFC 4291 section 2.3), as options of several headers carry them.

use super::DecodeError;
use core::net::Ipv6Addr;

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

/// Returns a mask of the first `length` bits.
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
}
