//! Mobile IPv4 as it is written in a scenario.

use crate::mobility::buffering::RawBuffering;
use crate::scenario::document::Path;
use schemars::JsonSchema;

/// Mobile IPv4 (RFC 5944).
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawMobileNode {
    /// Source of care-of addresses. Default "foreign-agent".
    pub care_of_address: Option<RawCareOf>,
    /// With `care_of_address = "dhcp"`: time of the address conflict detection (RFC 5227; study T section 4.2). Default
    /// "before".
    pub conflict_check: Option<RawConflictCheck>,
    /// Delivery of the mobile's own packets that match no line of `policy`. Default "triangle".
    pub delivery: Option<RawDelivery>,
    /// Encapsulation in tunnels to the mobile and from it. Default "ip-in-ip".
    pub encapsulation: Option<RawEncapsulation>,
    /// Van Jacobson's compression of TCP headers on the link to a foreign agent, in both directions: 3 to 16 B instead of 40
    /// (RFC 1144; the V bit of RFC 2002). Default false.
    pub header_compression: Option<bool>,
    /// Message from which on the mobile's own packets leave by a new link, with an own care-of address there and but for
    /// reverse tunnels. Default "reply".
    pub outgoing_after: Option<RawOutgoingAfter>,
    /// Mobile policy table: delivery of the mobile's packets to some destinations (study T section 5.2). A line for a
    /// node takes precedence over one for all nodes, then a line with a port over one without, then the earlier line.
    /// Default: none.
    #[serde(default)]
    pub policy: Vec<RawPolicyRule>,
    /// Simultaneous bindings: earlier care-of addresses are kept, and each gets a copy of every packet (RFC 5944
    /// section 3.3). Default false.
    pub simultaneous_bindings: Option<bool>,
    /// Smooth handoff: the foreign agent that the mobile leaves forwards packets to its new care-of address. Default
    /// false.
    pub smooth_handoff: Option<bool>,
    /// Preregistration (RFC 4881): ahead of an announced or soft handover between links of foreign agents, the mobile
    /// registers at the next agent through the present one, and the home agent sends to both. Default false.
    pub preregistration: Option<bool>,
}

/// Source of care-of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RawCareOf {
    /// The foreign agent's address, on links to one; on other links as "known".
    ForeignAgent,
    /// The mobile's own address, known to it at once, as from PPP.
    Known,
    /// The mobile's own address, assigned by DHCP.
    Dhcp,
}

/// Message of a registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RawOutgoingAfter {
    /// The request, as in MosquitoNet (study T section 6): packets to the mobile follow a round trip later.
    Request,
    /// The reply, as study T changed it: both ways move together.
    Reply,
}

/// Time of address conflict detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RawConflictCheck {
    /// Before the address is used: 4 to 7 s.
    Before,
    /// While the address is used.
    Background,
}

/// Delivery of a mobile's own packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RawDelivery {
    /// From the home address, directly; answers come through the home agent.
    Triangle,
    /// From the home address, through a tunnel to the home agent (RFC 3024).
    ReverseTunnel,
    /// From the care-of address, without mobility: both ways are direct, and connections end with that address. With a
    /// foreign agent's address as "triangle".
    CareOfAddress,
}

/// Encapsulation in a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RawEncapsulation {
    /// A second IP header: 20 B more (RFC 2003).
    IpInIp,
    /// A minimal forwarding header: 12 B more (RFC 2004). Fragments go as IP in IP.
    Minimal,
    /// A second IP header and a GRE header: 24 B more (RFC 2784).
    Gre,
}

/// A line of a mobile policy table: packets to a node, to a port, or to a port of a node.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawPolicyRule {
    /// Destination of the packets. Default: any.
    pub to: Option<String>,
    /// Destination port of the packets, as a hint of the application. Default: any.
    pub port: Option<u16>,
    /// Delivery of these packets.
    pub delivery: RawDelivery,
}

/// A gateway, or several.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum RawGateways {
    /// One.
    One(String),
    /// Several.
    Several(#[schemars(length(min = 1, max = 61))] Vec<String>),
}

impl RawGateways {
    /// Returns the names, and the path of each.
    pub(super) fn names(&self, path: &Path) -> Vec<(&str, Path)> {
        match self {
            RawGateways::One(name) => vec![(name, path.clone())],
            RawGateways::Several(names) => {
                let names = names.iter().enumerate();
                names
                    .map(|(place, name)| (name.as_str(), path.index(place)))
                    .collect()
            }
        }
    }
}

/// A foreign agent (RFC 5944 section 3.7), on all access links of its node.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawForeignAgent {
    /// Gateway foreign agent above it (RFC 4857): another node of `foreign_agents`, with which moves below it are
    /// registered instead of with the home agent; or a list of such nodes, among which mobiles spread by their home
    /// addresses, as TeleMIP's mobility agents. Default: none.
    pub gateway: Option<RawGateways>,
    /// An address of its own that is routed below its gateways only, 192.168.0.1 and on in the order of the file (RFC 1918),
    /// as TeleMIP's local care-of addresses: beyond them a mobile is known by its gateway's address. Default false.
    pub private_address: Option<bool>,
    /// Copies of each visitor's latest packets, for mobiles with smooth handoff: when a mobile has left, it names packets
    /// that it has received, and the agent forwards the others. The keys are those of a home agent's buffering, without
    /// overflow and drop_duplicates. Default: none.
    pub buffering: Option<RawBuffering>,
}
