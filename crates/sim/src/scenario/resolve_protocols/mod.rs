//! Mobility protocols and their agents.

mod ipv4;
mod ipv6;

use super::document::Path;
use super::error::{quoted, unknown};
use super::model::{Flow, HomeAgent, Ipv4Agents, LinkIndex, Mobile, Mobility, NodeIndex};
use super::raw::RawScenario;
use super::raw_mobility::{RawHomeAgent, RawMobility, RawProtocol};
use super::resolve::{Report, node};
use super::resolve_links::Links;
use super::units::{HomePrefix, home_prefix};

/// The agents of a scenario.
#[derive(Default)]
pub(super) struct Agents {
    pub ipv6: Vec<HomeAgent>,
    pub ipv4: Ipv4Agents,
}

/// What a mobile's protocol is resolved with.
pub(super) struct Surroundings<'a> {
    pub links: &'a Links,
    pub agents: &'a Agents,
    /// Mobiles that are resolved already.
    pub others: &'a [Mobile],
    /// Names of all mobiles.
    pub moving: &'a [&'a str],
}

/// Resolves all agents.
pub(super) fn agents(raw: &RawScenario, links: &Links, report: &mut Report<'_>) -> Agents {
    let mut agents = Agents::default();
    let top = Path::default().key("home_agents");
    for (name, raw) in &raw.home_agents.0 {
        let path = top.key(name);
        let (Some(node), Ok(prefix)) = (node(name, &path, links, report), home_prefix(&raw.prefix))
        else {
            continue;
        };
        match prefix {
            HomePrefix::Ipv6(prefix) => {
                let around = (links, agents.ipv6.as_slice());
                let agent = ipv6::home_agent(raw, (node, prefix), &path, around, report);
                agents.ipv6.push(agent);
            }
            HomePrefix::Ipv4(prefix) => {
                refuse_ipv6_keys(raw, &path, report);
                let around = (links, agents.ipv4.home_agents.as_slice());
                let agent = ipv4::home_agent(raw, (node, prefix), &path, around, report);
                agents.ipv4.home_agents.push(agent);
            }
        }
    }
    agents.ipv4.foreign_agents = ipv4::foreign_agents(&raw.foreign_agents, links, report);
    agents
}

fn refuse_ipv6_keys(raw: &RawHomeAgent, path: &Path, report: &mut Report<'_>) {
    let keys = [
        (
            "duplicate_address_detection",
            raw.duplicate_address_detection.is_some(),
        ),
        ("buffering", raw.buffering.is_some()),
        ("bicasting", raw.bicasting.is_some()),
        ("clamp_segment_size", raw.clamp_segment_size.is_some()),
    ];
    let own = ["prefix", "longest_lifetime"];
    report.misplaced(path, &keys, &own, "an IPv4 prefix");
}

/// Resolves the protocol of the mobile at `node`.
pub(super) fn mobility(
    raw: &RawMobility,
    node: NodeIndex,
    path: &Path,
    around: &Surroundings<'_>,
    report: &mut Report<'_>,
) -> Option<Mobility> {
    refuse_other_keys(raw, path, report);
    let home_agent = home_agent(raw, &path.key("home_agent"), around, report)?;
    Some(match raw.protocol {
        RawProtocol::MobileIpv6 | RawProtocol::Nemo => {
            let mobility = ipv6::mobility(raw, (node, home_agent), path, around, report);
            Mobility::Ipv6(mobility)
        }
        RawProtocol::MobileIpv4 => {
            let mobility = ipv4::mobility(raw, (node, home_agent), path, around, report);
            Mobility::Ipv4(mobility)
        }
    })
}

/// Reports keys that belong to another protocol.
fn refuse_other_keys(raw: &RawMobility, path: &Path, report: &mut Report<'_>) {
    let of_ipv6 = [
        (
            "duplicate_address_detection",
            raw.duplicate_address_detection.is_some(),
        ),
        ("advertisements", raw.advertisements.is_some()),
        ("aaa", raw.aaa.is_some()),
        ("mih", raw.mih.is_some()),
        ("route_optimization", raw.route_optimization.is_some()),
        ("asks_for_buffering", raw.asks_for_buffering.is_some()),
        (
            "access_router_buffering",
            raw.access_router_buffering.is_some(),
        ),
        ("multicast_buffering", raw.multicast_buffering.is_some()),
        ("network_prefix", raw.network_prefix.is_some()),
        ("clamp_segment_size", raw.clamp_segment_size.is_some()),
    ];
    let of_ipv4 = [
        ("care_of_address", raw.care_of_address.is_some()),
        ("conflict_check", raw.conflict_check.is_some()),
        ("delivery", raw.delivery.is_some()),
        ("policy", !raw.policy.is_empty()),
        ("simultaneous_bindings", raw.simultaneous_bindings.is_some()),
        ("smooth_handoff", raw.smooth_handoff.is_some()),
    ];
    let (keys, own) = match raw.protocol {
        RawProtocol::MobileIpv4 => (of_ipv6.as_slice(), of_ipv4.as_slice()),
        RawProtocol::MobileIpv6 | RawProtocol::Nemo => (of_ipv4.as_slice(), of_ipv6.as_slice()),
    };
    let own: Vec<&str> = own.iter().map(|&(key, _)| key).collect();
    let context = match raw.protocol {
        RawProtocol::MobileIpv4 => "protocol \"mobile-ipv4\"",
        RawProtocol::MobileIpv6 => "protocol \"mobile-ipv6\"",
        RawProtocol::Nemo => "protocol \"nemo\"",
    };
    report.misplaced(path, keys, &own, context);
}

/// The home agent of a mobile, among those of its protocol.
fn home_agent(
    raw: &RawMobility,
    path: &Path,
    around: &Surroundings<'_>,
    report: &mut Report<'_>,
) -> Option<usize> {
    let name_of = |node: NodeIndex| around.links.nodes[node.0].as_str();
    let ipv6 = around.agents.ipv6.iter();
    let ipv6: Vec<&str> = ipv6.map(|agent| name_of(agent.node)).collect();
    let ipv4 = around.agents.ipv4.home_agents.iter();
    let ipv4: Vec<&str> = ipv4.map(|agent| name_of(agent.node)).collect();
    let (own, others, versions) = match raw.protocol {
        RawProtocol::MobileIpv4 => (ipv4, ipv6, ["IPv4", "IPv6"]),
        RawProtocol::MobileIpv6 | RawProtocol::Nemo => (ipv6, ipv4, ["IPv6", "IPv4"]),
    };
    let name = raw.home_agent.as_str();
    let found = own.iter().position(|known| *known == name);
    if found.is_none() {
        let message = match others.contains(&name) {
            true => format!(
                "{} has an {} prefix; expected a home agent with an {} prefix",
                quoted(name),
                versions[1],
                versions[0]
            ),
            false => unknown("home agent", name, &own),
        };
        report.wrong(path, message);
    }
    found
}

/// The link on which a mobile is at home, if it joins the mobile with its home agent.
fn home_link(
    raw: &RawMobility,
    [agent, mobile]: [NodeIndex; 2],
    path: &Path,
    links: &Links,
    report: &mut Report<'_>,
) -> Option<LinkIndex> {
    let name = raw.home_link.as_ref()?;
    let path = path.key("home_link");
    let cell = links.find_cell(name, mobile);
    let link = cell.or_else(|| links.find(name, &path, report))?;
    let ends = links.ends(link);
    if ends.contains(&agent) && ends.contains(&mobile) {
        return Some(link);
    }
    let message = format!(
        "link {} does not join {} with its home agent {}; expected one that does",
        quoted(name),
        quoted(&links.nodes[mobile.0]),
        quoted(&links.nodes[agent.0])
    );
    report.wrong(&path, message);
    None
}

/// A flow has addresses of one version: of Mobile IPv4's mobiles IPv4, of Mobile IPv6's mobiles IPv6.
pub(super) fn check_flows(
    raw: &RawScenario,
    flows: &[Flow],
    mobiles: &[Mobile],
    report: &mut Report<'_>,
) {
    let protocol_at = |node: NodeIndex| mobiles.iter().find(|mobile| mobile.node == node);
    for flow in flows {
        let ends = [flow.from, flow.to].map(protocol_at);
        let of = |version: fn(&Mobile) -> bool| ends.iter().flatten().any(|mobile| version(mobile));
        if of(|mobile| mobile.ipv4().is_some()) && of(|mobile| mobile.ipv6().is_some()) {
            let place = raw.flows.iter().position(|raw| raw.name == flow.name);
            let path = Path::default().key("flows").index(place.unwrap_or(0));
            let message = "joins a mobile with Mobile IPv4 to one with Mobile IPv6; expected ends that speak one version of IP";
            report.wrong(&path, message.to_owned());
        }
    }
}
