//! Mobility anchor points (RFC 5380) in the laboratory: their keys, resolution and set-up.

use super::MobileIpv6;
use super::keys::RawDetection;
use super::resolve::{check_own, detection, lifetime, overlap};
use super::set_up::{PATH_MTU, address_in, long_secret};
use crate::mobility::Agents;
use crate::mobility::buffering::{RawBuffering, buffer_policy};
use crate::rng::Seed;
use crate::scenario::document::Path;
use crate::scenario::error::quoted;
use crate::scenario::model::{LinkIndex, Mobile, NodeIndex};
use crate::scenario::raw::{Named, RawScenario};
use crate::scenario::resolve::{Report, node};
use crate::scenario::resolve_links::Links;
use crate::scenario::units::{PositiveTime, prefix};
use crate::world::World;
use crate::world::ports::BehindLink;
use baton_proto::host::layer::Rank;
use baton_proto::mobility::address_configuration::{ConfigurationTimes, DuplicateAddressDetection};
use baton_proto::mobility::home_network::HomeNetwork;
use baton_proto::mobility::mobile_ipv6::{
    self, AnchorSettings, HomeAgentSettings, SharedKey, Strategy, Subscriber,
};
use baton_proto::time::Duration;
use baton_proto::wire::mobility_header::BindingLifetime;
use baton_proto::wire::neighbor_discovery::AnchorPoint as Advertised;
use baton_proto::wire::prefix::Ipv6Prefix;
use core::net::Ipv6Addr;
use schemars::JsonSchema;

/// Valid lifetime of an anchor point, in seconds: that of a prefix (RFC 4861 section 6.2.1).
const VALID_LIFETIME_S: u32 = 2_592_000;

/// A mobility anchor point of hierarchical Mobile IPv6 (RFC 5380): binds regional care-of addresses of mobiles to their
/// on-link ones, so that moves inside its domain are not reported to home agents.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawAnchorPoint {
    /// The prefix of regional care-of addresses, of 64 bits, like "2001:db8:9::/64"; its first address is the anchor
    /// point's own.
    #[schemars(extend("format" = "ipv6-prefix"))]
    pub prefix: String,
    /// Its domain: nodes at the far ends of access links, whose routers advertise it.
    pub access_routers: Vec<String>,
    /// Distance from its access routers: of several anchor points, mobiles choose the furthest. Default 1.
    #[schemars(range(min = 1, max = 15))]
    pub distance: Option<u8>,
    /// Preference, which decides between equal distances. Default 15.
    #[schemars(range(min = 1, max = 15))]
    pub preference: Option<u8>,
    /// Duplicate address detection for regional care-of addresses. Default "perform".
    pub duplicate_address_detection: Option<RawDetection>,
    /// Buffer for packets of mobiles that ask for it (`asks_for_buffering`), instead of the home agent's. Default: none.
    pub buffering: Option<RawBuffering>,
    /// The longest lifetime of a binding that it grants. Default "18 h".
    pub longest_lifetime: Option<PositiveTime>,
}

/// A mobility anchor point.
#[derive(Clone, Debug, PartialEq)]
pub struct AnchorPoint {
    node: NodeIndex,
    /// The prefix of regional care-of addresses, of 64 bits.
    pub(super) prefix: Ipv6Prefix,
    /// Nodes of the access routers that advertise it.
    access_routers: Vec<NodeIndex>,
    distance: u8,
    preference: u8,
    detection: DuplicateAddressDetection,
    strategy: Strategy,
    longest_lifetime: BindingLifetime,
}

impl AnchorPoint {
    /// Returns its node and its access routers.
    pub(in crate::mobility) fn nodes(&self) -> impl Iterator<Item = NodeIndex> {
        self.access_routers.iter().copied().chain([self.node])
    }
}

impl AnchorPoint {
    fn address(&self) -> Ipv6Addr {
        self.prefix.address_of(Ipv6Addr::from_bits(1))
    }

    fn advertised(&self) -> Advertised {
        Advertised {
            distance: self.distance,
            preference: self.preference,
            forms_addresses: true,
            valid_lifetime_s: VALID_LIFETIME_S,
            address: self.address(),
        }
    }
}

/// Resolves all anchor points.
pub(in crate::mobility) fn anchor_points(
    raw: &RawScenario,
    home_agents: &[super::HomeAgent],
    links: &Links,
    report: &mut Report<'_>,
) -> Vec<AnchorPoint> {
    let top = Path::default().key("mobility_anchor_points");
    let moving = |name: &str| raw.mobiles.0.iter().any(|(mobile, _)| mobile == name);
    let mut points: Vec<AnchorPoint> = Vec::new();
    for (name, own) in &raw.mobility_anchor_points.0 {
        let path = top.key(name);
        let (Some(place), Ok(prefix)) = (node(name, &path, links, report), prefix(&own.prefix))
        else {
            continue;
        };
        if moving(name) || home_agents.iter().any(|agent| agent.node == place) {
            let message = "is a mobile or a home agent; expected another node";
            report.wrong_key(&path, message.to_owned());
        }
        let here = path.key("prefix");
        if prefix.length() != 64 {
            let message = "is not of 64 bits, to which mobiles add their interface identifiers; expected a prefix like \
                           \"2001:db8:9::/64\"";
            report.wrong(&here, message.to_owned());
        }
        let homes = home_agents.iter().map(|agent| (agent.prefix, agent.node));
        let others = points.iter().map(|point| (point.prefix, point.node));
        if let Some((_, other)) = homes.chain(others).find(|one| overlap(one.0, prefix)) {
            let message = format!(
                "overlaps with the prefix of {}; expected another, as addresses are formed from it",
                quoted(&links.nodes[other.0])
            );
            report.wrong(&here, message);
        }
        check_own(prefix, &here, links, report);
        let here = path.key("access_routers");
        if own.access_routers.is_empty() {
            let message = "is empty; expected the far ends of access links";
            report.wrong(&here, message.to_owned());
        }
        let routers = own.access_routers.iter().enumerate();
        let routers =
            routers.filter_map(|(index, name)| node(name, &here.index(index), links, report));
        points.push(AnchorPoint {
            node: place,
            prefix,
            access_routers: routers.collect(),
            distance: own.distance.unwrap_or(1),
            preference: own.preference.unwrap_or(15),
            detection: detection(own.duplicate_address_detection),
            strategy: match &own.buffering {
                None => Strategy::Forward,
                Some(buffering) => Strategy::Buffer(buffer_policy(buffering)),
            },
            longest_lifetime: lifetime(own.longest_lifetime, Duration::from_secs(18 * 3600)),
        });
    }
    points
}

/// Reports access routers of anchor points at which no mobile with Mobile IPv6 can be, and mobiles with keys that need
/// their on-link addresses at the home agent.
pub(crate) fn check_anchor_points(
    raw: &Named<RawAnchorPoint>,
    (agents, mobiles): (&Agents, &[Mobile]),
    links: &Links,
    report: &mut Report<'_>,
) {
    let mut served = vec![false; links.nodes.len()];
    let advertises = |router: &NodeIndex| {
        let mut points = agents.anchor_points.iter();
        points.any(|point| point.access_routers.contains(router))
    };
    for mobile in mobiles {
        let Some(mobility) = MobileIpv6::of(mobile) else {
            continue;
        };
        let routers = routers_of(mobile, mobility, links);
        for (key, is_set) in [
            (
                "multicast_buffering",
                mobility.multicast_buffering.is_some(),
            ),
            (
                "predictive_binding_updates",
                mobility.predictive_binding_updates,
            ),
        ] {
            if is_set && routers.iter().any(advertises) {
                let message = "needs the mobile's address on its link at the home agent, which a mobility anchor point \
                               hides; expected only one of them";
                let path = Path::default().key("mobiles");
                let path = path.key(&links.nodes[mobile.node.0]).key("mobility");
                report.wrong_key(&path.key(key), message.to_owned());
            }
        }
        for router in routers {
            served[router.0] = true;
        }
    }
    let top = Path::default().key("mobility_anchor_points");
    for (name, own) in &raw.0 {
        let path = top.key(name).key("access_routers");
        for (index, router) in own.access_routers.iter().enumerate() {
            let place = links.nodes.iter().position(|node| node == router);
            if place.is_some_and(|place| !served[place]) {
                let message = format!(
                    "{} is at no access link of a mobile with Mobile IPv6 away from home; expected the far end of one",
                    quoted(router)
                );
                report.wrong(&path.index(index), message);
            }
        }
    }
}

/// Returns the nodes at the far ends of a mobile's foreign access links, and the base stations of its radio networks.
fn routers_of(mobile: &Mobile, mobility: &MobileIpv6, links: &Links) -> Vec<NodeIndex> {
    let mut routers = Vec::new();
    for LinkIndex(link) in mobile.attachment.access_links(&links.radios) {
        if mobility.home_link != Some(LinkIndex(link)) {
            let ends = links.specs[link].ends;
            routers.extend(ends.into_iter().filter(|&end| end != mobile.node));
        }
    }
    for radio in mobile.attachment.radios(&links.radios) {
        routers.extend(
            links.radios[radio]
                .stations
                .iter()
                .map(|station| station.node),
        );
    }
    routers
}

impl World {
    /// Gives hosts the anchor points.
    pub(super) fn add_anchor_points(&mut self) {
        for point in &self.scenario.agents.anchor_points {
            let settings = HomeAgentSettings {
                is_anchor_point: true,
                address: point.address(),
                home_prefix: point.prefix,
                home_interface: Rank::HomeNetwork.interface(),
                longest_lifetime: point.longest_lifetime,
                detection: point.detection,
                retransmission_time: ConfigurationTimes::default().retransmission_time,
                strategy: point.strategy,
                bicast_on_request: None,
                proven_care_of: None,
                path_mtu: PATH_MTU,
                clamp_segment_size: false,
            };
            let host = &mut self.net.nodes[point.node.0].host;
            host.add_address(point.address().into());
            host.add_layer(mobile_ipv6::HomeAgent::new(settings));
            host.layers_mut().get_or_add(HomeNetwork::default);
        }
    }

    /// Registers a mobile with all anchor points; returns its settings for them, if there are any.
    pub(super) fn enrol_at_anchor_points(
        &mut self,
        number: usize,
        name: &str,
    ) -> Option<Box<AnchorSettings>> {
        if self.scenario.agents.anchor_points.is_empty() {
            return None;
        }
        let key = SharedKey {
            security_parameter_index: 256 + number as u32,
            key: long_secret(
                Seed(self.scenario.seed),
                &format!("mobile {name} anchor key"),
            ),
        };
        for point in &self.scenario.agents.anchor_points {
            let regional = address_in(point.prefix, number);
            let host = &mut self.net.nodes[point.node.0].host;
            if let Some(agent) = host.layer_mut::<mobile_ipv6::HomeAgent>() {
                agent.subscribe(Subscriber {
                    home_address: regional,
                    key: Some(key),
                    prefixes: None,
                });
            }
            self.net.behind_links.push(BehindLink {
                address: regional.into(),
                far: (point.node.0, Rank::HomeNetwork.interface()),
            });
        }
        Some(Box::new(AnchorSettings { key: Some(key) }))
    }

    /// Returns the anchor points that the routers of a node advertise.
    pub(super) fn advertised_at(&self, router: usize) -> Box<[Advertised]> {
        let points = self.scenario.agents.anchor_points.iter();
        let own = points.filter(|point| point.access_routers.contains(&NodeIndex(router)));
        own.map(AnchorPoint::advertised).collect()
    }
}
