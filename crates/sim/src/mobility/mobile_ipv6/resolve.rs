//! Resolution of Mobile IPv6 and NEMO.

use super::keys::{
    RawAdvertisements, RawDetection, RawFastHandovers, RawMih, RawMobileNode, RawSignalling,
};
use super::network_handovers::network_handovers;
use super::{AccessControl, Advertisements, HandoverServices, HomeAgent, MobileIpv6};
use crate::addresses::{ACCESS_PREFIXES, NODES};
use crate::mobility::buffering::{buffer_policy, copies_policy};
use crate::mobility::resolve::{Surroundings, home_link};
use crate::mobility::{RawHomeAgent, RawMobility};
use crate::scenario::document::Path;
use crate::scenario::error::quoted;
use crate::scenario::model::{Mobile, NodeIndex};
use crate::scenario::raw_links::RawChange;
use crate::scenario::resolve::{Report, node};
use crate::scenario::resolve_links::Links;
use crate::scenario::units::{PositiveTime, prefix};
use baton_proto::mobility::address_configuration::{DuplicateAddressDetection, Uniqueness};
use baton_proto::mobility::buffering::BufferPolicy;
use baton_proto::mobility::handover_service::Signalling;
use baton_proto::mobility::mobile_ipv6::Strategy;
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::mobility_header::BindingLifetime;
use baton_proto::wire::prefix::Ipv6Prefix;
use core::net::Ipv6Addr;

/// Resolves the home agent at `node`.
pub(in crate::mobility) fn home_agent(
    raw: &RawHomeAgent,
    (node, prefix): (NodeIndex, Ipv6Prefix),
    path: &Path,
    (links, others): (&Links, &[HomeAgent]),
    report: &mut Report<'_>,
) -> HomeAgent {
    let here = path.key("prefix");
    let is_in_use = |other: &&HomeAgent| {
        let pool = other.prefix_pool.is_some_and(|pool| overlap(pool, prefix));
        pool || overlap(other.prefix, prefix)
    };
    if let Some(other) = others.iter().find(is_in_use) {
        let message = format!(
            "overlaps with the prefix of {}; expected another, as addresses are formed from it",
            quoted(&links.nodes[other.node.0])
        );
        report.wrong(&here, message);
    }
    check_own(prefix, &here, links, report);
    HomeAgent {
        node,
        prefix,
        prefix_pool: prefix_pool(raw, prefix, path, (links, others), report),
        detection: detection(raw.ipv6.duplicate_address_detection),
        strategy: strategy(raw, path, report),
        longest_lifetime: lifetime(raw.longest_lifetime, Duration::from_secs(18 * 3600)),
        clamp_segment_size: raw.ipv6_tunnels.clamp_segment_size.unwrap_or(false),
    }
}

pub(super) fn overlap(one: Ipv6Prefix, other: Ipv6Prefix) -> bool {
    one.contains(other.address()) || other.contains(one.address())
}

/// Resolves the pool of home network prefixes, which has to be apart from the home agents' prefixes and other pools.
fn prefix_pool(
    raw: &RawHomeAgent,
    own: Ipv6Prefix,
    path: &Path,
    (links, others): (&Links, &[HomeAgent]),
    report: &mut Report<'_>,
) -> Option<Ipv6Prefix> {
    let pool = prefix(raw.ipv6.prefix_pool.as_ref()?).ok()?;
    let here = path.key("prefix_pool");
    let all = others.iter();
    let mut taken = all.flat_map(|other| other.prefix_pool.into_iter().chain([other.prefix]));
    if overlap(own, pool) || taken.any(|other| overlap(other, pool)) {
        let message = "overlaps with a prefix or pool of a home agent; expected a pool of its own, as addresses must be unique";
        report.wrong(&here, message.to_owned());
    }
    if pool.length() == 0 {
        let message =
            "is not a pool; expected an IPv6 prefix of 1 to 64 bits, like \"2001:db8:8::/48\"";
        report.wrong(&here, message.to_owned());
    }
    check_own(pool, &here, links, report);
    Some(pool)
}

/// Reports a prefix with addresses that Baton assigns to nodes and mobiles by itself.
pub(super) fn check_own(prefix: Ipv6Prefix, path: &Path, links: &Links, report: &mut Report<'_>) {
    let taken = [
        ("nodes", NODES.1, links.nodes.len() as u128),
        (
            "access links",
            ACCESS_PREFIXES,
            (links.count_places() as u128) << 64,
        ),
    ];
    let top = prefix.address_of(Ipv6Addr::from_bits(u128::MAX));
    for (whose, first, count) in taken {
        let last = Ipv6Addr::from_bits(first + count.max(1) - 1);
        let first = Ipv6Addr::from_bits(first);
        if prefix.address() <= last && first <= top {
            let message = format!(
                "contains addresses of {whose}, {first} to {last}; expected another, as addresses must be unique"
            );
            report.wrong(path, message);
        }
    }
}

fn strategy(raw: &RawHomeAgent, path: &Path, report: &mut Report<'_>) -> Strategy {
    match (&raw.ipv6.buffering, raw.ipv6.bicasting) {
        (None, None) => Strategy::Forward,
        (Some(buffering), None) => Strategy::Buffer(buffer_policy(buffering)),
        (None, Some(overlap)) => Strategy::Bicast { overlap: overlap.0 },
        (Some(_), Some(_)) => {
            let message = "is set beside buffering; expected only one of them".to_owned();
            report.wrong_key(&path.key("bicasting"), message);
            Strategy::Forward
        }
    }
}

/// Returns the buffering policy of a group's members.
fn multicast_buffering(
    own: &RawMobileNode,
    path: &Path,
    report: &mut Report<'_>,
) -> Option<BufferPolicy> {
    let buffering = own.multicast_buffering.as_ref()?;
    let here = path.key("multicast_buffering");
    let policy = copies_policy(buffering, (&here, "multicast buffering"), report);
    if own.access_router_buffering.is_some() {
        let message = "is set beside access_router_buffering; expected only one of them".to_owned();
        report.wrong_key(&here, message);
    }
    if own.route_optimization == Some(true) {
        let message = "needs the home agent, which `route_optimization = true` bypasses; expected only one of them";
        report.wrong_key(&here, message.to_owned());
    }
    Some(policy)
}

fn predicts_handovers(own: &RawMobileNode, path: &Path, report: &mut Report<'_>) -> bool {
    if own.fast_handovers.is_some() && own.access_router_buffering.is_none() {
        let message = "goes with access_router_buffering, the routers' buffer for the mobile; expected \
                       access_router_buffering = {} beside it";
        report.wrong_key(&path.key("fast_handovers"), message.to_owned());
    }
    own.fast_handovers == Some(RawFastHandovers::Predictive)
}

fn predictive_binding_updates(
    own: &RawMobileNode,
    strategy: Strategy,
    path: &Path,
    report: &mut Report<'_>,
) -> bool {
    if own.predictive_binding_updates != Some(true) {
        return false;
    }
    let here = path.key("predictive_binding_updates");
    if !matches!(strategy, Strategy::Bicast { .. }) {
        let message = "would send the mobile's packets to its next link alone; expected bicasting = \"2 s\" or the like at \
                       its home agent";
        report.wrong_key(&here, message.to_owned());
    }
    for (key, is_set) in [
        ("asks_for_buffering", own.asks_for_buffering == Some(true)),
        ("multicast_buffering", own.multicast_buffering.is_some()),
    ] {
        if is_set {
            let message = format!("is set beside {key}; expected only one of them");
            report.wrong_key(&here, message);
        }
    }
    true
}

/// Resolves the AAA server and its processing time.
fn access_control(
    own: &RawMobileNode,
    path: &Path,
    around: &Surroundings<'_>,
    report: &mut Report<'_>,
) -> Option<AccessControl> {
    let raw = own.aaa.as_ref()?;
    Some(AccessControl {
        server: fixed_node(&raw.server, &path.key("server"), around, report)?,
        processing: raw.processing.map_or(Duration::ZERO, |time| time.0),
    })
}

/// Resolves the services of IEEE 802.21.
fn handover_services(
    own: &RawMobileNode,
    mobile: NodeIndex,
    path: &Path,
    around: &Surroundings<'_>,
    report: &mut Report<'_>,
) -> Option<HandoverServices> {
    let raw = own.mih.as_ref()?;
    let name = &raw.point_of_service;
    let point_of_service = fixed_node(name, &path.key("point_of_service"), around, report)?;
    let ends = [point_of_service, mobile];
    Some(HandoverServices {
        point_of_service,
        signalling: match raw.signalling.unwrap_or(RawSignalling::Backward) {
            RawSignalling::Backward => Signalling::Backward,
            RawSignalling::Forward => Signalling::Forward,
        },
        information: raw.information_service.unwrap_or(false),
        remote_events: raw.remote_events.unwrap_or(false),
        rate_threshold: rate_threshold(raw, &path.key("rate_threshold"), report),
        network_handovers: network_handovers(raw, ends, path, around.links, report),
        services_until: raw.services_until.map(|time| Instant::ZERO + time.0),
    })
}

/// Resolves the data rate at which a remote link reports its parameters, in kbit/s.
fn rate_threshold(raw: &RawMih, path: &Path, report: &mut Report<'_>) -> Option<u16> {
    let rate = raw.rate_threshold?.0;
    if raw.remote_events != Some(true) {
        let message = "is for remote events; expected remote_events = true".to_owned();
        report.wrong(path, message);
    }
    let threshold = u16::try_from(rate.bits_per_second() / 1000).ok();
    let threshold = threshold.filter(|&threshold| threshold > 0);
    if threshold.is_none() {
        let message =
            "does not fit a message; expected \"1 kbit/s\" to \"65.535 Mbit/s\"".to_owned();
        report.wrong(path, message);
    }
    threshold
}

/// Resolves a node that does not move.
fn fixed_node(
    name: &str,
    path: &Path,
    around: &Surroundings<'_>,
    report: &mut Report<'_>,
) -> Option<NodeIndex> {
    let found = node(name, path, around.links, report)?;
    if around.moving.contains(&name) {
        let message = format!(
            "{} is a mobile; expected a node that does not move",
            quoted(name)
        );
        report.wrong(path, message);
    }
    Some(found)
}

pub(super) fn detection(raw: Option<RawDetection>) -> DuplicateAddressDetection {
    match raw.unwrap_or(RawDetection::Perform) {
        RawDetection::Perform => DuplicateAddressDetection::STANDARD,
        RawDetection::IcaoAddress => DuplicateAddressDetection::NotNeeded(Uniqueness::IcaoAddress),
        RawDetection::UniquePrefix => {
            DuplicateAddressDetection::NotNeeded(Uniqueness::HomeNetworkPrefix)
        }
    }
}

pub(super) fn lifetime(raw: Option<PositiveTime>, default: Duration) -> BindingLifetime {
    let seconds = raw.map_or(default, |time| time.0).as_nanos() / 1_000_000_000;
    BindingLifetime::at_most(u32::try_from(seconds).unwrap_or(u32::MAX))
}

/// Resolves the protocol of the mobile at `node`.
pub(in crate::mobility) fn mobility(
    (raw, own): (&RawMobility, &RawMobileNode),
    (node, home_agent): (NodeIndex, usize),
    path: &Path,
    around: &Surroundings<'_>,
    report: &mut Report<'_>,
) -> MobileIpv6 {
    let home = around.agents.ipv6[home_agent].node;
    let home_link = home_link(raw, [home, node], path, around.links, report);
    if around.agents.ipv6[home_agent].prefix_pool.is_some() {
        check_assignment(raw, own, path, report);
    }
    let lifetime = lifetime(raw.lifetime, Duration::from_secs(3600));
    if lifetime.units == 0 {
        let message = "is shorter than 4 s, the unit of binding lifetimes".to_owned();
        report.wrong(&path.key("lifetime"), message);
    }
    MobileIpv6 {
        home_agent,
        home_link,
        detection: detection(own.duplicate_address_detection),
        advertisements: match own.advertisements.unwrap_or(RawAdvertisements::AtLinkUp) {
            RawAdvertisements::AtLinkUp => Advertisements::AtLinkUp,
            RawAdvertisements::Frequent => Advertisements::Frequent,
            RawAdvertisements::Seldom => Advertisements::Seldom,
        },
        aaa: access_control(own, &path.key("aaa"), around, report),
        mih: handover_services(own, node, &path.key("mih"), around, report),
        route_optimization: own.route_optimization.unwrap_or(false),
        asks_for_buffering: own.asks_for_buffering.unwrap_or(false),
        predictive_binding_updates: predictive_binding_updates(
            own,
            around.agents.ipv6[home_agent].strategy,
            path,
            report,
        ),
        access_router_buffering: own.access_router_buffering.as_ref().map(buffer_policy),
        predicts_handovers: predicts_handovers(own, path, report),
        multicast_buffering: multicast_buffering(own, path, report),
        lifetime,
        clamp_segment_size: own.clamp_segment_size.unwrap_or(false),
    }
}

/// Reports keys of a mobile with an assigned prefix that need its home address before.
fn check_assignment(raw: &RawMobility, own: &RawMobileNode, path: &Path, report: &mut Report<'_>) {
    let keys = [
        (
            "home_link",
            raw.home_link.is_some(),
            "no link has the mobile's home network prefix",
        ),
        (
            "multicast_buffering",
            own.multicast_buffering.is_some(),
            "routers know the mobile by its home address",
        ),
    ];
    for (key, is_set, reason) in keys {
        if is_set {
            let message = format!(
                "does not go with prefix_pool at the home agent, since {reason}; expected only one of them"
            );
            report.wrong_key(&path.key(key), message);
        }
    }
}

/// Reports the prefix of a network behind a mobile router that another network has.
pub(in crate::mobility) fn check_network(
    network: Ipv6Prefix,
    path: &Path,
    around: &Surroundings<'_>,
    report: &mut Report<'_>,
) {
    check_own(network, path, around.links, report);
    let others = around.others.iter();
    let mut networks = others.filter_map(|mobile: &Mobile| mobile.network_prefix);
    // The network may be a part of the home prefix if it contains no mobile's home address (RFC 4887).
    let mut homes = around.agents.ipv6.iter().map(|agent| agent.prefix);
    let mut pools = around
        .agents
        .ipv6
        .iter()
        .filter_map(|agent| agent.prefix_pool);
    let mut anchors = around.agents.anchor_points.iter();
    if networks.any(|other| overlap(other, network))
        || homes.any(|home| network.contains(home.address()))
        || pools.any(|pool| overlap(pool, network))
        || anchors.any(|anchor| overlap(anchor.prefix, network))
    {
        let message = "is the prefix of another network; expected one of its own".to_owned();
        report.wrong(path, message);
    }
}

/// MTU that a tunnel requires of every link: IPv6's minimum and the tunnel's header (RFC 2473 section 7.1).
const LEAST_UNDER_TUNNELS: u32 = 1280 + 40;

/// Warns of links too narrow for tunnels of mobiles: a tunnel's entry never reports less than 1280 B to a source.
pub(crate) fn check_tunnels(raw: &[RawChange], mobiles: &[Mobile], report: &mut Report<'_>) {
    if mobiles
        .iter()
        .all(|mobile| MobileIpv6::of(mobile).is_none())
    {
        return;
    }
    for (index, change) in raw.iter().enumerate() {
        let narrow = change
            .mtu
            .as_ref()
            .is_some_and(|mtu| mtu.0 < LEAST_UNDER_TUNNELS.into());
        if narrow {
            let message = format!(
                "is less than the {LEAST_UNDER_TUNNELS} B that tunnels of Mobile IPv6 and NEMO need: TCP in a tunnel over \
                 this link stalls for ever"
            );
            let path = Path::default().key("changes").index(index).key("mtu");
            report.warn(&path, message);
        }
    }
}
