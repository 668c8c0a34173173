//! Routes in the tables of a namespace, and the rules that choose a packet's table (rtnetlink(7), RTM_NEWROUTE and
//! RTM_NEWRULE).

use super::{InterfaceIndex, RouteSocket, unless};
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol,
    RouteScope, RouteType,
};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use nix::errno::Errno;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The routing table for packets that no rule directs to another one (RT_TABLE_MAIN).
pub const MAIN_TABLE: u32 = RouteHeader::RT_TABLE_MAIN as u32;

/// A prefix of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

/// A route to a prefix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Route<'a> {
    /// Destination addresses.
    pub destination: Prefix,
    /// Number of its table.
    pub table: u32,
    /// Preference among routes to the same prefix: the lowest is used. For IPv6, 0 stands for 1024.
    pub metric: u32,
    /// Outgoing device, or unreachability.
    pub way: Way<'a>,
}

/// The way that a route's packets take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Way<'a> {
    /// A device, for destinations on its link or at its other end.
    Device {
        /// Outgoing device.
        interface: InterfaceIndex,
        /// Default source address.
        source: Option<IpAddr>,
        /// Further properties, such as the path MTU.
        metrics: &'a [RouteMetric],
    },
    /// No device: the sender learns that the destination is unreachable, and no other table is searched.
    Unreachable,
}

/// A rule that chooses the routing table of some packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule<'a> {
    /// Place among the rules: the lowest is tried first. The kernel's own are 0 (this machine's addresses) and 32766
    /// (the main table).
    pub priority: u32,
    /// Source addresses of the packets. Their IP version is the rule's.
    pub from: Prefix,
    /// Name of the incoming interface, if it matters; `lo` for packets of this machine.
    pub incoming: Option<&'a str>,
    /// Protocol of the packets, if it matters: the number in the IP header.
    pub protocol: Option<u8>,
    /// Number of the table.
    pub table: u32,
    /// Longest prefix of the routes that are ignored in the table: 0 ignores default routes.
    pub suppressed_length: Option<u8>,
}

impl Prefix {
    /// All IPv4 addresses.
    pub const ALL_IPV4: Prefix = Prefix {
        address: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        length: 0,
    };
    /// The source address of a packet whose source is not chosen yet.
    pub const UNSPECIFIED_IPV4: Prefix = Prefix {
        address: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        length: 32,
    };
    /// All IPv6 addresses.
    pub const ALL_IPV6: Prefix = Prefix {
        address: IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        length: 0,
    };

    /// Returns the prefix of the given length that contains an address; `None` if addresses have fewer bits.
    pub fn of(address: IpAddr, length: u8) -> Option<Prefix> {
        let address = match address {
            IpAddr::V4(address) => {
                let rest = 32_u32.checked_sub(length.into())?;
                let mask = u32::MAX.checked_shl(rest).unwrap_or(0);
                Ipv4Addr::from_bits(address.to_bits() & mask).into()
            }
            IpAddr::V6(address) => {
                let rest = 128_u32.checked_sub(length.into())?;
                let mask = u128::MAX.checked_shl(rest).unwrap_or(0);
                Ipv6Addr::from_bits(address.to_bits() & mask).into()
            }
        };
        Some(Prefix { address, length })
    }

    /// Returns the prefix of all addresses of an address's IP version.
    pub const fn all(version_of: IpAddr) -> Prefix {
        match version_of {
            IpAddr::V4(_) => Prefix::ALL_IPV4,
            IpAddr::V6(_) => Prefix::ALL_IPV6,
        }
    }

    const fn family(self) -> AddressFamily {
        match self.address {
            IpAddr::V4(_) => AddressFamily::Inet,
            IpAddr::V6(_) => AddressFamily::Inet6,
        }
    }
}

impl RouteSocket {
    /// Sets a route, and replaces one to the same prefix with the same metric in this table. The kernel removes a route
    /// when its device is switched off.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn set_route(&mut self, route: &Route<'_>) -> io::Result<()> {
        let message = RouteNetlinkMessage::NewRoute(route_message(route));
        self.request(message, NLM_F_CREATE | NLM_F_REPLACE)
    }

    /// Removes a route, if it is there.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn delete_route(&mut self, route: &Route<'_>) -> io::Result<()> {
        let message = RouteNetlinkMessage::DelRoute(route_message(route));
        unless(Errno::ESRCH, self.request(message, 0))
    }

    /// Adds a rule, if it is not there.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn add_rule(&mut self, rule: &Rule<'_>) -> io::Result<()> {
        let message = RouteNetlinkMessage::NewRule(rule_message(rule));
        let added = self.request(message, NLM_F_CREATE | NLM_F_EXCL);
        unless(Errno::EEXIST, added)
    }

    /// Removes a rule, if it is there.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn delete_rule(&mut self, rule: &Rule<'_>) -> io::Result<()> {
        let message = RouteNetlinkMessage::DelRule(rule_message(rule));
        unless(Errno::ENOENT, self.request(message, 0))
    }
}

fn route_message(route: &Route<'_>) -> RouteMessage {
    let Prefix { address, length } = route.destination;
    let mut message = RouteMessage::default();
    message.header.address_family = route.destination.family();
    message.header.destination_prefix_length = length;
    message.header.protocol = RouteProtocol::Static;
    message.header.scope = RouteScope::Universe;
    message.attributes = vec![
        RouteAttribute::Destination(address.into()),
        RouteAttribute::Table(route.table),
        RouteAttribute::Priority(route.metric),
    ];
    match route.way {
        Way::Unreachable => message.header.kind = RouteType::Unreachable,
        Way::Device {
            interface,
            source,
            metrics,
        } => {
            message.header.kind = RouteType::Unicast;
            let source = source.map(RouteAddress::from);
            message.attributes.push(RouteAttribute::Oif(interface));
            (message.attributes).extend(source.map(RouteAttribute::PrefSource));
            if !metrics.is_empty() {
                let metrics = RouteAttribute::Metrics(metrics.to_vec());
                message.attributes.push(metrics);
            }
        }
    }
    message
}

fn rule_message(rule: &Rule<'_>) -> RuleMessage {
    let Prefix { address, length } = rule.from;
    let mut message = RuleMessage::default();
    message.header.family = rule.from.family();
    message.header.src_len = length;
    message.header.action = RuleAction::ToTable;
    message.attributes = vec![
        RuleAttribute::Priority(rule.priority),
        RuleAttribute::Table(rule.table),
    ];
    if length > 0 {
        message.attributes.push(RuleAttribute::Source(address));
    }
    if let Some(name) = rule.incoming {
        let name = RuleAttribute::Iifname(name.to_owned());
        message.attributes.push(name);
    }
    if let Some(protocol) = rule.protocol {
        let protocol = RuleAttribute::IpProtocol(i32::from(protocol).into());
        message.attributes.push(protocol);
    }
    if let Some(length) = rule.suppressed_length {
        let length = RuleAttribute::SuppressPrefixLen(length.into());
        message.attributes.push(length);
    }
    message
}
