//! Pairs of AeroTP gateways, and the links between them.

use super::keys::{RawAerotpGateways, RawGatewayRule};
use super::resolve;
use crate::scenario::document::Path;
use crate::scenario::error::quoted;
use crate::scenario::model::{Flow, LinkIndex, LinkSpec, Mobile, NodeIndex};
use crate::scenario::raw::Named;
use crate::scenario::resolve::Report;
use crate::scenario::resolve_links::Links;
use baton_proto::aerotp::Configuration;
use baton_proto::gateways::aerotp::Selector;
use baton_proto::tcp::profile::Profile;
use core::net::IpAddr;

/// Two AeroTP gateways, and the links between them.
#[derive(Clone, Debug, PartialEq)]
pub struct AerotpGateways {
    /// The links, at least one, all between the same nodes.
    pub links: Vec<LinkIndex>,
    /// Rules of conversion, in order.
    pub rules: Vec<GatewayRule>,
}

impl AerotpGateways {
    /// Returns the two gateways.
    pub fn ends(&self, links: &[LinkSpec]) -> [NodeIndex; 2] {
        links[self.links[0].0].ends
    }
}

/// Conversion of some connections and datagrams on the links between gateways.
#[derive(Clone, Debug, PartialEq)]
pub struct GatewayRule {
    /// The packets that it applies to.
    pub selector: Selector,
    /// Settings of AeroTP; the links have the rates.
    pub configuration: Configuration,
    /// The gateways' TCP.
    pub profile: Profile,
}

/// Resolves the table `aerotp_gateways`.
pub(crate) fn gateways(
    raw: &Named<RawAerotpGateways>,
    links: &Links,
    users: (&[Mobile], &[Flow]),
    report: &mut Report<'_>,
) -> Vec<AerotpGateways> {
    let top = Path::default().key("aerotp_gateways");
    let mut taken: Vec<(NodeIndex, &str)> = Vec::new();
    let mut found = Vec::new();
    for (name, given) in &raw.0 {
        let path = top.key(name);
        let everything = [RawGatewayRule::default()];
        let (rules, rules_path) = (given.rules.as_deref(), path.key("rules"));
        let rules = rules.unwrap_or(&everything).iter().enumerate();
        let rules = rules.filter_map(|(index, raw)| rule(raw, &rules_path.index(index), report));
        let rules: Vec<GatewayRule> = rules.collect();
        let path = path.key("links");
        let between = links_between(&given.links, links, &path, report);
        let Some(&first) = between.first() else {
            continue;
        };
        let ends = links.specs[first.0].ends;
        for end in ends {
            if let Some((_, other)) = taken.iter().find(|(node, _)| *node == end) {
                let message = format!(
                    "{} is already a gateway of {}, and a node can be a gateway of one pair only; expected links between other nodes",
                    quoted(&links.nodes[end.0]),
                    quoted(other)
                );
                report.wrong(&path, message);
            }
        }
        taken.extend(ends.map(|end| (end, name.as_str())));
        check_ends((ends, &path), links, users, report);
        found.push(AerotpGateways {
            links: between,
            rules,
        });
    }
    found
}

/// Resolves the links of a pair of gateways, which must all join the same two nodes.
fn links_between(
    names: &[String],
    links: &Links,
    path: &Path,
    report: &mut Report<'_>,
) -> Vec<LinkIndex> {
    let mut found: Vec<LinkIndex> = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let path = path.index(index);
        let Some(link) = links.find(name, &path, report) else {
            continue;
        };
        if found.contains(&link) {
            let message = format!("{} is listed twice; expected another link", quoted(name));
            report.wrong(&path, message);
        }
        let first = found.first().copied().unwrap_or(link);
        let [between, here] = [first, link].map(|link| links.specs[link.0].ends);
        if here.iter().any(|end| !between.contains(end)) {
            let [one, other] = between.map(|end| quoted(&links.nodes[end.0]));
            let message = format!(
                "{} is not between {one} and {other}, as the first link is; expected links between the same two nodes",
                quoted(name)
            );
            report.wrong(&path, message);
        }
        found.push(link);
    }
    found
}

/// Reports gateways that are not between hosts, or whose links move.
fn check_ends(
    (ends, path): ([NodeIndex; 2], &Path),
    links: &Links,
    (mobiles, flows): (&[Mobile], &[Flow]),
    report: &mut Report<'_>,
) {
    for end in ends {
        let name = quoted(&links.nodes[end.0]);
        if mobiles.iter().any(|mobile| mobile.node == end) {
            let message = format!(
                "{name} is a mobile, and gateways do not move from link to link; expected links between two nodes that do not move"
            );
            report.wrong(path, message);
        }
        if let Some(flow) = (flows.iter()).find(|flow| [flow.from, flow.to].contains(&end)) {
            let message = format!(
                "{name} is an end of flow {}, and a gateway serves only flows that pass through it; expected links between two routers",
                quoted(&flow.name)
            );
            report.wrong(path, message);
        }
    }
    let over_aerotp = |flow: &&Flow| flow.transport.name() == "aerotp";
    if let Some(flow) = flows.iter().find(over_aerotp) {
        let message = format!(
            "a gateway takes all AeroTP packets for those of the other gateway, and flow {} uses AeroTP; expected flows \
             over \"tcp\", \"udp\" and \"icmp\"",
            quoted(&flow.name)
        );
        report.wrong(path, message);
    }
}

fn rule(raw: &RawGatewayRule, path: &Path, report: &mut Report<'_>) -> Option<GatewayRule> {
    let destination = raw.destination.as_deref().map(network).transpose();
    let destination = destination.unwrap_or_else(|message| {
        report.wrong(&path.key("destination"), message);
        None
    });
    let profile = Profile::named(raw.profile.as_deref().unwrap_or("linux-6"))?;
    Some(GatewayRule {
        selector: Selector {
            port: raw.port.and_then(|port| u16::try_from(port).ok()),
            code_point: raw.code_point.and_then(|point| u8::try_from(point).ok()),
            destination,
        },
        configuration: resolve::keys(&raw.aerotp, path, report)?,
        profile,
    })
}

/// Parses a network of any prefix length.
fn network(text: &str) -> Result<(IpAddr, u8), String> {
    let parsed = || {
        let (address, length) = text.split_once('/')?;
        let (address, length): (IpAddr, u8) = (address.parse().ok()?, length.parse().ok()?);
        let widest = if address.is_ipv4() { 32 } else { 128 };
        (length <= widest).then_some((address, length))
    };
    parsed().ok_or_else(|| {
        format!(
            "{} is not a network; expected an address with a prefix length, like \"10.0.0.4/32\" or \"2001:db8::/32\"",
            quoted(text)
        )
    })
}
