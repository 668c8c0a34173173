//! Mobile IPv6 and NEMO.

use super::{Surroundings, home_link};
use crate::scenario::document::Path;
use crate::scenario::error::quoted;
use crate::scenario::model::{Advertisements, HomeAgent, Mobile, MobileIpv6, NodeIndex};
use crate::scenario::raw_mobility::{
    RawAdvertisements, RawBuffering, RawDetection, RawHomeAgent, RawMobility, RawOverflow,
    RawProtocol,
};
use crate::scenario::resolve::Report;
use crate::scenario::resolve_links::Links;
use crate::scenario::units::{PositiveTime, prefix};
use baton_proto::mobility::address_configuration::{DuplicateAddressDetection, Uniqueness};
use baton_proto::mobility::buffering::{BufferPolicy, Overflow};
use baton_proto::mobility::mobile_ipv6::Strategy;
use baton_proto::time::Duration;
use baton_proto::wire::mobility_header::BindingLifetime;
use baton_proto::wire::prefix::Ipv6Prefix;

/// Resolves the home agent at `node`.
pub(super) fn home_agent(
    raw: &RawHomeAgent,
    (node, prefix): (NodeIndex, Ipv6Prefix),
    path: &Path,
    (links, others): (&Links, &[HomeAgent]),
    report: &mut Report<'_>,
) -> HomeAgent {
    let overlaps = |other: &&HomeAgent| {
        other.prefix.contains(prefix.address()) || prefix.contains(other.prefix.address())
    };
    if let Some(other) = others.iter().find(overlaps) {
        let message = format!(
            "overlaps with the prefix of {}; expected another, since addresses are made of it",
            quoted(&links.nodes[other.node.0])
        );
        report.wrong(&path.key("prefix"), message);
    }
    HomeAgent {
        node,
        prefix,
        detection: detection(raw.duplicate_address_detection),
        strategy: strategy(raw, path, report),
        longest_lifetime: lifetime(raw.longest_lifetime, Duration::from_secs(18 * 3600)),
        clamp_segment_size: raw.clamp_segment_size.unwrap_or(false),
    }
}

fn strategy(raw: &RawHomeAgent, path: &Path, report: &mut Report<'_>) -> Strategy {
    match (&raw.buffering, raw.bicasting) {
        (None, None) => Strategy::Forward,
        (Some(buffering), None) => Strategy::Buffer(buffer_policy(buffering)),
        (None, Some(overlap)) => Strategy::Bicast { overlap: overlap.0 },
        (Some(_), Some(_)) => {
            let message = "stands beside buffering; expected one of them".to_owned();
            report.wrong_key(&path.key("bicasting"), message);
            Strategy::Forward
        }
    }
}

fn buffer_policy(raw: &RawBuffering) -> BufferPolicy {
    let size = raw.size.map_or(64_000, |size| size.0);
    BufferPolicy {
        bytes: u32::try_from(size).unwrap_or(u32::MAX),
        age: raw.age.map_or(Duration::from_secs(30), |age| age.0),
        overflow: match raw.overflow.unwrap_or(RawOverflow::DropNewest) {
            RawOverflow::DropNewest => Overflow::DropNewest,
            RawOverflow::DropOldest => Overflow::DropOldest,
        },
        pace: raw.pace.map(|pace| pace.0),
        drop_duplicates: raw.drop_duplicates.unwrap_or(true),
    }
}

fn detection(raw: Option<RawDetection>) -> DuplicateAddressDetection {
    match raw.unwrap_or(RawDetection::Perform) {
        RawDetection::Perform => DuplicateAddressDetection::STANDARD,
        RawDetection::IcaoAddress => DuplicateAddressDetection::NotNeeded(Uniqueness::IcaoAddress),
        RawDetection::UniquePrefix => {
            DuplicateAddressDetection::NotNeeded(Uniqueness::HomeNetworkPrefix)
        }
    }
}

fn lifetime(raw: Option<PositiveTime>, default: Duration) -> BindingLifetime {
    let seconds = raw.map_or(default, |time| time.0).as_nanos() / 1_000_000_000;
    BindingLifetime::at_most(u32::try_from(seconds).unwrap_or(u32::MAX))
}

/// Resolves the protocol of the mobile at `node`.
pub(super) fn mobility(
    raw: &RawMobility,
    (node, home_agent): (NodeIndex, usize),
    path: &Path,
    around: &Surroundings<'_>,
    report: &mut Report<'_>,
) -> MobileIpv6 {
    let home = around.agents.ipv6[home_agent].node;
    let home_link = home_link(raw, [home, node], path, around.links, report);
    let network_prefix = raw
        .network_prefix
        .as_ref()
        .and_then(|text| prefix(text).ok());
    let here = path.key("network_prefix");
    match (raw.protocol, network_prefix) {
        (RawProtocol::Nemo, None) => {
            let message = "key \"network_prefix\" is missing; expected the prefix of the network behind a mobile router";
            report.wrong_key(path, message.to_owned());
        }
        (RawProtocol::MobileIpv6, Some(_)) => {
            let message = "belongs to a mobile router; expected `protocol = \"nemo\"` beside it";
            report.wrong_key(&here, message.to_owned());
        }
        _ => {}
    }
    let taken = |prefix| {
        let others = around.others.iter();
        let networks = others.filter_map(|mobile: &Mobile| mobile.ipv6()?.network_prefix);
        let homes = around.agents.ipv6.iter().map(|agent| agent.prefix);
        networks.chain(homes).any(|other| other == prefix)
    };
    if network_prefix.is_some_and(taken) {
        let message = "is the prefix of another network; expected one of its own".to_owned();
        report.wrong(&here, message);
    }
    let lifetime = lifetime(raw.lifetime, Duration::from_secs(3600));
    if lifetime.units == 0 {
        let message = "is shorter than 4 s, in units of which a binding lives".to_owned();
        report.wrong(&path.key("lifetime"), message);
    }
    MobileIpv6 {
        home_agent,
        home_link,
        detection: detection(raw.duplicate_address_detection),
        advertisements: match raw.advertisements.unwrap_or(RawAdvertisements::AtLinkUp) {
            RawAdvertisements::AtLinkUp => Advertisements::AtLinkUp,
            RawAdvertisements::Frequent => Advertisements::Frequent,
            RawAdvertisements::Seldom => Advertisements::Seldom,
        },
        route_optimization: raw.route_optimization.unwrap_or(false),
        asks_for_buffering: raw.asks_for_buffering.unwrap_or(false),
        access_router_buffering: raw.access_router_buffering.as_ref().map(buffer_policy),
        lifetime,
        network_prefix,
        clamp_segment_size: raw.clamp_segment_size.unwrap_or(false),
    }
}
