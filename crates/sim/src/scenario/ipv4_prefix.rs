//! Prefixes of IPv4 networks.

use super::error::quoted;
use core::net::Ipv4Addr;

/// An IPv4 prefix of 1 to 30 bits, with at least two hosts. Bits beyond its length are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4Prefix {
    address: Ipv4Addr,
    length: u8,
}

impl Ipv4Prefix {
    /// Returns the prefix of `length` bits of `address`; `None` for lengths that no network has.
    pub const fn new(address: Ipv4Addr, length: u8) -> Option<Ipv4Prefix> {
        if length < 1 || length > 30 {
            return None;
        }
        let address = Ipv4Addr::from_bits(address.to_bits() & (u32::MAX << (32 - length)));
        Some(Ipv4Prefix { address, length })
    }

    /// Parses a prefix such as `10.1.0.0/16`.
    pub(super) fn parse(text: &str) -> Result<Ipv4Prefix, String> {
        let (address, length) = text
            .split_once('/')
            .ok_or("has no prefix length after a \"/\"")?;
        let address: Ipv4Addr = address
            .parse()
            .map_err(|_| format!("{} is not an IPv4 address", quoted(address)))?;
        let prefix = length.parse().ok();
        let prefix = prefix.and_then(|length| Ipv4Prefix::new(address, length));
        let prefix = prefix
            .ok_or_else(|| format!("{} is not a prefix length from 1 to 30", quoted(length)))?;
        match prefix.address == address {
            true => Ok(prefix),
            false => Err("has host bits set".to_owned()),
        }
    }

    /// Returns the number of leading bits that all its addresses share.
    pub const fn length(self) -> u8 {
        self.length
    }

    /// Returns true if the two have an address in common.
    pub const fn overlaps(self, other: Ipv4Prefix) -> bool {
        let length = if self.length < other.length {
            self.length
        } else {
            other.length
        };
        (self.address.to_bits() ^ other.address.to_bits()).leading_zeros() >= length as u32
    }

    /// Returns true if any of its addresses lies from `first` to `last`.
    pub const fn meets(self, first: Ipv4Addr, last: Ipv4Addr) -> bool {
        let own = self.address.to_bits();
        own <= last.to_bits() && first.to_bits() <= own | (u32::MAX >> self.length)
    }

    /// Returns true if routers may forward to all its addresses: none is of this network, loopback, multicast or
    /// reserved (RFC 1122 section 3.2.1.3, RFC 1112 section 4).
    pub(super) fn is_for_hosts(self) -> bool {
        let block = |first: u8, last: u8| {
            self.meets(
                Ipv4Addr::new(first, 0, 0, 0),
                Ipv4Addr::new(last, 255, 255, 255),
            )
        };
        !block(0, 0) && !block(127, 127) && !block(224, 255)
    }

    /// Returns the addresses for hosts: all but the first, the network's, and the last, for broadcast.
    pub const fn hosts(self) -> u32 {
        (u32::MAX >> self.length) - 1
    }

    /// Returns address `number` for hosts, counted from one.
    pub const fn host(self, number: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.address.to_bits().wrapping_add(number))
    }
}

impl core::fmt::Display for Ipv4Prefix {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_holds_the_hosts_of_its_network() {
        let prefix = |text| Ipv4Prefix::parse(text);
        let home = prefix("192.0.2.0/24").expect("a prefix");
        assert_eq!((home.hosts(), home.length()), (254, 24));
        assert_eq!(home.host(254), Ipv4Addr::new(192, 0, 2, 254));
        assert_eq!(prefix("192.0.2.4/30").map(Ipv4Prefix::hosts), Ok(2));
        assert_eq!(home.to_string(), "192.0.2.0/24");
        for (other, overlaps) in [
            ("192.0.2.128/25", true),
            ("192.0.0.0/16", true),
            ("192.0.3.0/24", false),
        ] {
            let other = prefix(other).expect("a prefix");
            assert_eq!(
                (home.overlaps(other), other.overlaps(home)),
                (overlaps, overlaps)
            );
            assert_eq!(other.meets(home.host(0), home.host(255)), overlaps);
        }
        for wrong in [
            "192.0.2.0",
            "192.0.2.1/24",
            "192.0.2.0/31",
            "0.0.0.0/0",
            "2001:db8::/64",
        ] {
            assert!(prefix(wrong).is_err(), "{wrong}");
        }
    }
}
