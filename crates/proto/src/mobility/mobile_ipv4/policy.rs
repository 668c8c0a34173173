//! The mobile policy table of study T (section 5.2, after MosquitoNet): how packets to a destination travel.

use core::net::Ipv4Addr;

/// How a mobile's packets travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// From the home address, straight to the destination; answers come through the home agent.
    Triangle,
    /// From the home address, through a tunnel to the home agent (RFC 3024).
    ReverseTunnel,
    /// From the care-of address, without mobility: both ways are straight, and end with the care-of address.
    CareOfAddress,
}

/// A line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyRule {
    /// Destinations whose first bits are those of this address.
    pub destination: Ipv4Addr,
    /// How many bits, at most 32; zero is every destination.
    pub prefix_length: u8,
    /// Only this destination port, as a hint of the application.
    pub port: Option<u16>,
    /// How packets to there travel.
    pub delivery: Delivery,
}

/// The table. The longest prefix decides, among equal ones a rule with a port, among those the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyTable {
    rules: Vec<PolicyRule>,
    otherwise: Delivery,
}

impl PolicyTable {
    /// A table with these rules; `otherwise` is for what none of them names.
    pub fn new(mut rules: Vec<PolicyRule>, otherwise: Delivery) -> PolicyTable {
        rules.sort_by_key(|rule| core::cmp::Reverse((rule.prefix_length, rule.port.is_some())));
        PolicyTable { rules, otherwise }
    }

    /// How packets to a destination travel; `port` is that of the destination, if there are ports.
    pub fn lookup(&self, destination: Ipv4Addr, port: Option<u16>) -> Delivery {
        let rule = self.rules.iter().find(|rule| {
            same_network(rule.destination, destination, rule.prefix_length)
                && (rule.port.is_none() || rule.port == port)
        });
        rule.map_or(self.otherwise, |rule| rule.delivery)
    }

    /// Whether any packet may take the reverse tunnel.
    pub fn uses_reverse_tunnel(&self) -> bool {
        let mut all = self.rules.iter().map(|rule| rule.delivery);
        self.otherwise == Delivery::ReverseTunnel || all.any(|way| way == Delivery::ReverseTunnel)
    }
}

/// Whether two addresses have their first `prefix_length` bits in common.
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
