//! Mobile IPv4 as it is written in a scenario.

use schemars::JsonSchema;

/// Keys of a mobile that are Mobile IPv4's alone.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawMobileNode {
    /// IPv4: source of care-of addresses. Default "foreign-agent".
    pub care_of_address: Option<RawCareOf>,
    /// IPv4, `care_of_address = "dhcp"`: time of the check that nobody else has the address (RFC 5227; study T section
    /// 4.2). Default "before".
    pub conflict_check: Option<RawConflictCheck>,
    /// IPv4: delivery of the mobile's own packets that match no line of `policy`. Default "triangle".
    pub delivery: Option<RawDelivery>,
    /// IPv4: mobile policy table: delivery of the mobile's packets to some destinations (study T section 5.2). A line
    /// for a node goes before one for all, among those one with a port, among those the first. Default: none.
    #[serde(default)]
    pub policy: Vec<RawPolicyRule>,
    /// IPv4: simultaneous bindings: earlier care-of addresses are kept, and each gets a copy of every packet (RFC 5944
    /// section 3.3). Default false.
    pub simultaneous_bindings: Option<bool>,
    /// IPv4: smooth handoff: the foreign agent that the mobile leaves sends its packets after it. Default false.
    pub smooth_handoff: Option<bool>,
}

impl RawMobileNode {
    /// Lists the keys, and which of them are written.
    pub(in crate::mobility) fn written(&self) -> Vec<(&'static str, bool)> {
        vec![
            ("care_of_address", self.care_of_address.is_some()),
            ("conflict_check", self.conflict_check.is_some()),
            ("delivery", self.delivery.is_some()),
            ("policy", !self.policy.is_empty()),
            (
                "simultaneous_bindings",
                self.simultaneous_bindings.is_some(),
            ),
            ("smooth_handoff", self.smooth_handoff.is_some()),
        ]
    }
}

/// Source of care-of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RawCareOf {
    /// They are the foreign agent's, on links to one; on other links as "known".
    ForeignAgent,
    /// They are the mobile's own, and known to it at once, as from PPP.
    Known,
    /// They are the mobile's own, and asked for by DHCP.
    Dhcp,
}

/// The moment of the check that nobody else has an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RawConflictCheck {
    /// Before it is used: 4 to 7 s.
    Before,
    /// While it is used.
    Background,
}

/// Delivery of a mobile's own packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RawDelivery {
    /// From the home address, straight; answers come through the home agent.
    Triangle,
    /// From the home address, through a tunnel to the home agent (RFC 3024).
    ReverseTunnel,
    /// From the care-of address, without mobility: both ways are straight, and end with that address. With a foreign
    /// agent's address as "triangle".
    CareOfAddress,
}

/// A line of a mobile policy table: packets to a node, to a port, or to a port of a node.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawPolicyRule {
    /// The node that packets are for. Default: any.
    pub to: Option<String>,
    /// The destination port of packets, as a hint of the application. Default: any.
    pub port: Option<u16>,
    /// Delivery of these packets.
    pub delivery: RawDelivery,
}

/// A node that takes visiting mobiles in (RFC 5944 section 3.7), on all its access links.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawForeignAgent {
    /// The gateway foreign agent above it (RFC 4857): another node of `foreign_agents`, which moves below it are told to
    /// instead of the home agent. Default: none.
    pub gateway: Option<String>,
}
