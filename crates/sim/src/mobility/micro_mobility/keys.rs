//! Micro-mobility domains as they are written in a scenario.

use crate::scenario::tagged::{self, Kind, Tag};
use crate::scenario::units::{PositiveTime, Size};
use schemars::{JsonSchema, Schema};

/// A domain in which mobiles of Mobile IPv4 keep one care-of address: they have it on all access links of its routers.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
#[schemars(transform = add_protocols)]
pub struct RawDomain {
    /// The protocol, with its own keys.
    #[serde(flatten)]
    #[schemars(skip)]
    pub protocol: RawDomainProtocol,
    /// The root: HAWAII's domain root router, Cellular IP's gateway. Packets from outside for the mobiles reach this node
    /// first.
    pub root: String,
    /// The other routers of the domain, base stations included: each has a path of domain routers to the root.
    pub routers: Vec<String>,
    /// Time between a mobile's route updates; entries live for three times as long. Default "1 s"; with HAWAII "30 s".
    pub refresh: Option<PositiveTime>,
    /// Time without packets after which a mobile is idle: it refreshes no path, and is paged. Default: mobiles are always
    /// active.
    pub active_timeout: Option<PositiveTime>,
    /// Time between an idle mobile's paging updates; paging entries live for three times as long. Default "60 s".
    pub paging_update: Option<PositiveTime>,
    /// Routers with paging entries beside the root. The branches below each of them are paging areas; a router without
    /// entries sends what is for an idle mobile to all routers below. Default: none.
    pub paging_routers: Option<Vec<String>>,
}

fn add_protocols(schema: &mut Schema) {
    let protocol = Tag {
        key: "protocol",
        about: "The protocol.",
        default: None,
    };
    let kinds = [
        Kind::of::<RawHawaii>("hawaii"),
        Kind::of::<RawCellularIp>("cellular-ip"),
    ];
    tagged::add_to(schema, protocol, &kinds);
}

/// A micro-mobility protocol.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(tag = "protocol", rename_all = "kebab-case")]
pub enum RawDomainProtocol {
    /// HAWAII.
    Hawaii(RawHawaii),
    /// Cellular IP.
    CellularIp(RawCellularIp),
}

/// HAWAII (draft-ietf-mobileip-hawaii-01).
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawHawaii {
    /// Path set-up scheme. Default "unf".
    pub path_setup: Option<RawPathSetup>,
    /// Bytes that a base station keeps for a mobile whose link there is down, until its path leads elsewhere. Default:
    /// none.
    pub buffer: Option<Size>,
}

/// Path set-up scheme: the order in which routers change their entries at a handoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RawPathSetup {
    /// Multicast non-forwarding: as "unf", but for 100 ms the crossover router sends to both base stations; an announced
    /// handover is prepared as a semisoft one of Cellular IP.
    Mnf,
    /// Multiple stream forwarding: from the old base station on, which forwards what still reaches it.
    Msf,
    /// Single stream forwarding: all packets turn round at the old base station, in their order, until the path is set up.
    Ssf,
    /// Unicast non-forwarding: from the new base station on, so that the crossover router diverts packets early.
    Unf,
}

/// Cellular IP (draft-ietf-mobileip-cellularip-00).
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawCellularIp {
    /// Kind of handoffs. Default "hard".
    pub handoff: Option<RawHandoff>,
}

/// Kind of a handoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RawHandoff {
    /// A route update from the new base station.
    Hard,
    /// Ahead of an announced or soft handover, copies of all packets go to the new base station, too.
    Semisoft,
}
