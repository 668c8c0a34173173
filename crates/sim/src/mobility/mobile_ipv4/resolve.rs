//! Resolution of Mobile IPv4.

use super::keys::{
    RawCareOf, RawConflictCheck, RawDelivery, RawEncapsulation, RawForeignAgent, RawMobileNode,
    RawOutgoingAfter, RawPolicyRule,
};
use super::private_addresses::private_address;
use super::{CareOfSource, ForeignAgent, Ipv4HomeAgent, MobileIpv4, PolicyRule};
use crate::addresses::{NODES, on_access_link};
use crate::mobility::buffering::copies_policy;
use crate::mobility::resolve::{Surroundings, home_link};
use crate::mobility::{RawHomeAgent, RawMobility};
use crate::scenario::document::Path;
use crate::scenario::error::{quoted, unknown};
use crate::scenario::model::{Ipv4Prefix, NodeIndex};
use crate::scenario::raw::RawScenario;
use crate::scenario::resolve::{Report, node};
use crate::scenario::resolve_links::Links;
use crate::scenario::units::PositiveTime;
use baton_proto::mobility::mobile_ipv4::{ConflictCheck, Delivery};
use baton_proto::time::Duration;
use baton_proto::wire::encapsulation::Encapsulation;
use core::net::Ipv4Addr;

/// Longest finite lifetime, in seconds (RFC 5944 section 3.3).
const LONGEST_LIFETIME: u64 = 65_534;

/// Resolves the home agent at `node`.
pub(in crate::mobility) fn home_agent(
    raw: &RawHomeAgent,
    (node, prefix): (NodeIndex, Ipv4Prefix),
    path: &Path,
    (links, others): (&Links, &[Ipv4HomeAgent]),
    report: &mut Report<'_>,
) -> Ipv4HomeAgent {
    let here = path.key("prefix");
    if let Some(other) = others.iter().find(|other| other.prefix.overlaps(prefix)) {
        let message = format!(
            "overlaps with the prefix of {}; expected another, as addresses are formed from it",
            quoted(&links.nodes[other.node.0])
        );
        report.wrong(&here, message);
    }
    let taken = [
        (
            "nodes",
            Ipv4Addr::from_bits(NODES.0),
            links.nodes.len() as u32,
        ),
        (
            "access links",
            on_access_link(0, 0),
            (links.free_ipv4()).wrapping_sub(on_access_link(0, 0).to_bits()),
        ),
    ];
    for (whose, first, count) in taken {
        let last = Ipv4Addr::from_bits(first.to_bits().wrapping_add(count.max(1) - 1));
        if prefix.meets(first, last) {
            let message = format!(
                "contains addresses of {whose}, {first} to {last}; expected another, as addresses must be unique"
            );
            report.wrong(&here, message);
        }
    }
    Ipv4HomeAgent {
        node,
        prefix,
        longest_lifetime: lifetime(
            raw.longest_lifetime,
            Duration::from_secs(18 * 3600),
            &path.key("longest_lifetime"),
            report,
        ),
    }
}

/// Resolves all foreign agents.
pub(in crate::mobility) fn foreign_agents(
    raw: &RawScenario,
    links: &Links,
    home_agents: &[Ipv4HomeAgent],
    report: &mut Report<'_>,
) -> Vec<ForeignAgent> {
    let top = Path::default().key("foreign_agents");
    let mobiles = raw.mobiles.0.iter();
    let mobiles = mobiles
        .filter_map(|(name, _)| links.known_node(name))
        .collect::<Vec<_>>();
    let mut agents = Vec::new();
    for (number, (name, own)) in raw.foreign_agents.0.iter().enumerate() {
        let path = top.key(name);
        let Some(node) = node(name, &path, links, report) else {
            continue;
        };
        let gateways = gateways((name, own), &path.key("gateway"), (raw, links), report);
        let mut private = None;
        if own.private_address == Some(true) {
            let here = path.key("private_address");
            let around = (links, &mobiles[..], home_agents);
            private = private_address((number, node), &gateways, &here, around, report);
        }
        let here = path.key("buffering");
        let buffering = own.buffering.as_ref();
        let buffering =
            buffering.map(|raw| copies_policy(raw, (&here, "a foreign agent's buffering"), report));
        agents.push(ForeignAgent {
            node,
            gateways,
            private_address: private,
            buffering,
        });
    }
    agents
}

/// Resolves the gateways above a foreign agent.
fn gateways(
    (name, own): (&str, &RawForeignAgent),
    path: &Path,
    (raw, links): (&RawScenario, &Links),
    report: &mut Report<'_>,
) -> Vec<NodeIndex> {
    let all = &raw.foreign_agents.0;
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    let has_gateway = |wanted: &str| {
        let mut all = all.iter();
        all.any(|(name, raw)| name == wanted && raw.gateway.is_some())
    };
    let mut gateways = Vec::new();
    let written = own.gateway.as_ref().map(|written| written.names(path));
    for (above, here) in written.unwrap_or_default() {
        if !names.contains(&above) {
            report.wrong(&here, unknown("foreign agent", above, &names));
        } else if above == name || has_gateway(above) {
            let message = format!(
                "{} has a gateway itself; expected a foreign agent without one",
                quoted(above)
            );
            report.wrong(&here, message);
        } else if let Some(node) = node(above, &here, links, report) {
            if gateways.contains(&node) {
                let message = format!(
                    "{} is listed twice; expected each gateway once",
                    quoted(above)
                );
                report.wrong(&here, message);
            }
            gateways.push(node);
        }
    }
    gateways
}

/// Resolves Mobile IPv4 at the mobile at `node`.
pub(in crate::mobility) fn mobility(
    (raw, own): (&RawMobility, &RawMobileNode),
    (node, home_agent): (NodeIndex, usize),
    path: &Path,
    around: &Surroundings<'_>,
    report: &mut Report<'_>,
) -> MobileIpv4 {
    let home = &around.agents.ipv4.home_agents[home_agent];
    let home_link = home_link(raw, [home.node, node], path, around.links, report);
    // One for the agent, one for each mobile before this one, and one for this.
    if (home.prefix.hosts() as usize) < around.others.len() + 2 {
        let message = format!(
            "has no address left in {}; expected a shorter prefix there",
            home.prefix
        );
        report.wrong(&path.key("home_agent"), message);
    }
    let care_of = match own.care_of_address.unwrap_or(RawCareOf::ForeignAgent) {
        RawCareOf::ForeignAgent => CareOfSource::ForeignAgent,
        RawCareOf::Known => CareOfSource::Known,
        RawCareOf::Dhcp => CareOfSource::Acquired,
    };
    if own.conflict_check.is_some() && care_of != CareOfSource::Acquired {
        let message = "applies to addresses from a DHCP server; expected `care_of_address = \"dhcp\"` beside it";
        report.wrong_key(&path.key("conflict_check"), message.to_owned());
    }
    if own.smooth_handoff == Some(true)
        && (care_of != CareOfSource::ForeignAgent || around.agents.ipv4.foreign_agents.is_empty())
    {
        let message = "needs a foreign agent, which forwards packets to a mobile that has left; expected `care_of_address \
                       = \"foreign-agent\"` and \
                       a node in `foreign_agents`";
        report.wrong_key(&path.key("smooth_handoff"), message.to_owned());
    }
    let agents = &around.agents.ipv4.foreign_agents;
    if own.smooth_handoff == Some(true)
        && agents.iter().any(|agent| agent.private_address.is_some())
    {
        let message = "names the previous foreign agent to the next one, which does not reach a private address beyond its \
                       gateways; expected foreign agents without `private_address`";
        report.wrong_key(&path.key("smooth_handoff"), message.to_owned());
    }
    if own.header_compression == Some(true)
        && (care_of != CareOfSource::ForeignAgent || around.agents.ipv4.foreign_agents.is_empty())
    {
        let message = "needs a foreign agent, the other end of the compression; expected `care_of_address = \"foreign-agent\"` \
                       and a node in `foreign_agents`";
        report.wrong_key(&path.key("header_compression"), message.to_owned());
    }
    let preregistration = preregistration(own, care_of, path, around, report);
    let sends_at_request = own.outgoing_after == Some(RawOutgoingAfter::Request);
    if sends_at_request && care_of == CareOfSource::ForeignAgent {
        let message = "\"request\" needs an own care-of address: a foreign agent forwards for a mobile after the reply; expected \
                       `care_of_address = \"known\"` or \"dhcp\" beside it";
        report.wrong(&path.key("outgoing_after"), message.to_owned());
    }
    MobileIpv4 {
        home_agent,
        home_link,
        care_of,
        conflict_check: match own.conflict_check.unwrap_or(RawConflictCheck::Before) {
            RawConflictCheck::Before => ConflictCheck::Before,
            RawConflictCheck::Background => ConflictCheck::Background,
        },
        delivery: own.delivery.map_or(Delivery::Triangle, delivery),
        encapsulation: match own.encapsulation.unwrap_or(RawEncapsulation::IpInIp) {
            RawEncapsulation::IpInIp => Encapsulation::IpInIp,
            RawEncapsulation::Minimal => Encapsulation::Minimal,
            RawEncapsulation::Gre => Encapsulation::Generic,
        },
        header_compression: own.header_compression.unwrap_or(false),
        policy: policy(&own.policy, &path.key("policy"), around.links, report),
        simultaneous_bindings: own.simultaneous_bindings.unwrap_or(false),
        smooth_handoff: own.smooth_handoff.unwrap_or(false),
        preregistration,
        sends_at_request,
        lifetime: lifetime(
            raw.lifetime,
            Duration::from_secs(3600),
            &path.key("lifetime"),
            report,
        ),
        domain_prepares: around.agents.prepare_handovers(),
    }
}

fn preregistration(
    own: &RawMobileNode,
    care_of: CareOfSource,
    path: &Path,
    around: &Surroundings<'_>,
    report: &mut Report<'_>,
) -> bool {
    let agents = &around.agents.ipv4.foreign_agents;
    let wanted = own.preregistration == Some(true);
    let here = path.key("preregistration");
    if wanted && (care_of != CareOfSource::ForeignAgent || agents.is_empty()) {
        let message = "needs a foreign agent, through which the mobile registers with the next one; expected \
                       `care_of_address = \"foreign-agent\"` and a node in `foreign_agents`";
        report.wrong_key(&here, message.to_owned());
    }
    if wanted && agents.iter().any(|agent| !agent.gateways.is_empty()) {
        let message = "registers with the home agent, which a gateway keeps from learning of moves; expected foreign \
                       agents without `gateway`";
        report.wrong_key(&here, message.to_owned());
    }
    wanted
}

fn policy(
    raw: &[RawPolicyRule],
    path: &Path,
    links: &Links,
    report: &mut Report<'_>,
) -> Vec<PolicyRule> {
    let mut rules = Vec::new();
    for (index, raw) in raw.iter().enumerate() {
        let path = path.index(index);
        if raw.to.is_none() && raw.port.is_none() {
            let message = "selects no packets; expected \"to\", \"port\" or both (`delivery` is for all others)";
            report.wrong(&path, message.to_owned());
        }
        let to = raw.to.as_ref();
        rules.push(PolicyRule {
            to: to.and_then(|name| node(name, &path.key("to"), links, report)),
            port: raw.port,
            delivery: delivery(raw.delivery),
        });
    }
    rules
}

const fn delivery(raw: RawDelivery) -> Delivery {
    match raw {
        RawDelivery::Triangle => Delivery::Triangle,
        RawDelivery::ReverseTunnel => Delivery::ReverseTunnel,
        RawDelivery::CareOfAddress => Delivery::CareOfAddress,
    }
}

/// Returns a lifetime in whole seconds.
fn lifetime(
    raw: Option<PositiveTime>,
    default: Duration,
    path: &Path,
    report: &mut Report<'_>,
) -> u16 {
    let seconds = raw.map_or(default, |time| time.0).as_nanos() / 1_000_000_000;
    if !(1..=LONGEST_LIFETIME).contains(&seconds) {
        let message = "is not a registration lifetime; expected \"1 s\" to \"65534 s\"";
        report.wrong(path, message.to_owned());
    }
    u16::try_from(seconds).unwrap_or(u16::MAX)
}
