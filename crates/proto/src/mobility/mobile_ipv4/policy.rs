//! The mobile policy table of study T (section 5.2, after MosquitoNet), which decides the path of packets to a
//! destination.

use core::net::Ipv4Addr;

/// Path of a mobile's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// From the home address, directly to the destination; answers come through the home agent.
    Triangle,
    /// From the home address, through a tunnel to the home agent (RFC 3024).
    ReverseTunnel,
    /// From the care-of address, without mobility: both directions are direct, and end with the care-of address.
    CareOfAddress,
}

/// An entry of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyRule {
    /// Prefix of the destination.
    pub destination: Ipv4Addr,
    /// Prefix length in bits, at most 32; zero matches every destination.
    pub prefix_length: u8,
    /// Destination port to match, as a hint of the application; `None` matches any.
    pub port: Option<u16>,
    /// Path of the matching packets.
    pub delivery: Delivery,
}

/// The table. The longest prefix wins; among equal ones a rule with a port, and then the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyTable {
    rules: Vec<PolicyRule>,
    otherwise: Delivery,
}

impl PolicyTable {
    /// Creates a table of these rules, with `otherwise` for packets that match none.
    pub fn new(mut rules: Vec<PolicyRule>, otherwise: Delivery) -> PolicyTable {
        rules.sort_by_key(|rule| core::cmp::Reverse((rule.prefix_length, rule.port.is_some())));
        PolicyTable { rules, otherwise }
    }

    /// Returns the path of packets to a destination; `port` is the destination port, if there is one.
    pub fn lookup(&self, destination: Ipv4Addr, port: Option<u16>) -> Delivery {
        let rule = self.rules.iter().find(|rule| {
            same_network(rule.destination, destination, rule.prefix_length)
                && (rule.port.is_none() || rule.port == port)
        });
        rule.map_or(self.otherwise, |rule| rule.delivery)
    }

    /// Returns true if any packet may take the reverse tunnel.
    pub fn uses_reverse_tunnel(&self) -> bool {
        let mut all = self.rules.iter().map(|rule| rule.delivery);
        self.otherwise == Delivery::ReverseTunnel || all.any(|way| way == Delivery::ReverseTunnel)
    }
}

/// Returns true if two addresses share their first `prefix_length` bits.
pub(super) fn same_network(one: Ipv4Addr, other: Ipv4Addr, prefix_length: u8) -> bool {
    let different = one.to_bits() ^ other.to_bits();
    different.leading_zeros() >= u32::from(prefix_length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_particular_rule_decides() {
        let rule = |destination: [u8; 4], prefix_length, port, delivery| PolicyRule {
            destination: destination.into(),
            prefix_length,
            port,
            delivery,
        };
        let table = PolicyTable::new(
            vec![
                rule([0; 4], 0, Some(80), Delivery::CareOfAddress),
                rule([192, 0, 2, 0], 24, None, Delivery::ReverseTunnel),
                rule([192, 0, 2, 0], 24, Some(23), Delivery::Triangle),
                rule([192, 0, 2, 9], 32, None, Delivery::CareOfAddress),
            ],
            Delivery::Triangle,
        );
        for (destination, port, delivery) in [
            ([198, 51, 100, 1], Some(80), Delivery::CareOfAddress),
            ([198, 51, 100, 1], Some(81), Delivery::Triangle),
            ([198, 51, 100, 1], None, Delivery::Triangle),
            ([192, 0, 2, 1], Some(80), Delivery::ReverseTunnel),
            ([192, 0, 2, 1], Some(23), Delivery::Triangle),
            ([192, 0, 2, 9], Some(23), Delivery::CareOfAddress),
            ([192, 0, 3, 1], Some(23), Delivery::Triangle),
        ] {
            assert_eq!(table.lookup(destination.into(), port), delivery);
        }
        assert!(table.uses_reverse_tunnel());
        assert!(!PolicyTable::new(Vec::new(), Delivery::Triangle).uses_reverse_tunnel());
    }
}
