//! Mobility protocols and home agents.

use super::document::Path;
use super::error::{quoted, unknown};
use super::model::{Advertisements, HomeAgent, LinkIndex, Mobile, Mobility, NodeIndex};
use super::raw::Named;
use super::raw_mobility::{
    RawAdvertisements, RawBuffering, RawDetection, RawHomeAgent, RawMobility, RawOverflow,
    RawProtocol,
};
use super::resolve::{Report, node};
use super::resolve_links::Links;
use super::units::{PositiveTime, prefix};
use baton_proto::mobility::address_configuration::{DuplicateAddressDetection, Uniqueness};
use baton_proto::mobility::buffering::{BufferPolicy, Overflow};
use baton_proto::mobility::mobile_ipv6::Strategy;
use baton_proto::time::Duration;
use baton_proto::wire::mobility_header::BindingLifetime;

/// Resolves all home agents.
pub(super) fn home_agents(
    raw: &Named<RawHomeAgent>,
    links: &Links,
    report: &mut Report<'_>,
) -> Vec<HomeAgent> {
    let top = Path::default().key("home_agents");
    let mut agents: Vec<HomeAgent> = Vec::new();
    for (name, raw) in &raw.0 {
        let path = top.key(name);
        let (Some(node), Ok(prefix)) = (node(name, &path, links, report), prefix(&raw.prefix))
        else {
            continue;
        };
        let overlaps = |other: &&HomeAgent| {
            other.prefix.contains(prefix.address()) || prefix.contains(other.prefix.address())
        };
        if let Some(other) = agents.iter().find(overlaps) {
            let message = format!(
                "overlaps with the prefix of {}; expected another, since addresses are made of it",
                quoted(&links.nodes[other.node.0])
            );
            report.wrong(&path.key("prefix"), message);
        }
        agents.push(HomeAgent {
            node,
            prefix,
            detection: detection(raw.duplicate_address_detection),
            strategy: strategy(raw, &path, report),
            longest_lifetime: lifetime(raw.longest_lifetime, Duration::from_secs(18 * 3600)),
            clamp_segment_size: raw.clamp_segment_size.unwrap_or(false),
        });
    }
    agents
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

/// What a mobile's protocol is resolved with.
pub(super) struct Surroundings<'a> {
    pub links: &'a Links,
    pub agents: &'a [HomeAgent],
    /// Mobiles that are resolved already.
    pub others: &'a [Mobile],
}

/// Resolves the protocol of the mobile at `node`.
pub(super) fn mobility(
    raw: &RawMobility,
    node: NodeIndex,
    path: &Path,
    around: &Surroundings<'_>,
    report: &mut Report<'_>,
) -> Option<Mobility> {
    let home_agent = home_agent(&raw.home_agent, &path.key("home_agent"), around, report)?;
    let home_link = raw.home_link.as_ref().and_then(|name| {
        let ends = [around.agents[home_agent].node, node];
        home_link(name, ends, &path.key("home_link"), around.links, report)
    });
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
        let networks = others.filter_map(|mobile| mobile.mobility.as_ref()?.network_prefix);
        let homes = around.agents.iter().map(|agent| agent.prefix);
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
    Some(Mobility {
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
    })
}

fn home_agent(
    name: &str,
    path: &Path,
    around: &Surroundings<'_>,
    report: &mut Report<'_>,
) -> Option<usize> {
    let names = around
        .agents
        .iter()
        .map(|agent| around.links.nodes[agent.node.0].as_str());
    let names: Vec<&str> = names.collect();
    let found = names.iter().position(|known| *known == name);
    if found.is_none() {
        report.wrong(path, unknown("home agent", name, &names));
    }
    found
}

/// The link called `name`, if it joins a home agent and its mobile.
fn home_link(
    name: &str,
    [agent, mobile]: [NodeIndex; 2],
    path: &Path,
    links: &Links,
    report: &mut Report<'_>,
) -> Option<LinkIndex> {
    let cell = links.find_cell(name, mobile);
    let link = cell.or_else(|| links.find(name, path, report))?;
    let ends = links.specs[link.0].ends;
    if ends.contains(&agent) && ends.contains(&mobile) {
        return Some(link);
    }
    let message = format!(
        "link {} does not join {} with its home agent {}; expected one that does",
        quoted(name),
        quoted(&links.nodes[mobile.0]),
        quoted(&links.nodes[agent.0])
    );
    report.wrong(path, message);
    None
}
