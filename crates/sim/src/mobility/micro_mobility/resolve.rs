//! Resolution of micro-mobility domains.

use super::Domain;
use super::keys::{RawDomain, RawDomainProtocol, RawHandoff, RawPathSetup};
use super::paging::paging;
use crate::scenario::document::Path;
use crate::scenario::error::quoted;
use crate::scenario::model::{LinkIndex, Mobile, NodeIndex};
use crate::scenario::raw::Named;
use crate::scenario::resolve::{Report, node};
use crate::scenario::resolve_links::Links;
use baton_proto::mobility::micro_mobility::{PathSetup, Protocol};
use baton_proto::time::Duration;

/// Default time between route updates of Cellular IP: chosen, in the order of a second.
const CELLULAR_IP_REFRESH: Duration = Duration::from_secs(1);
/// The same of HAWAII: chosen, as refreshes of RSVP (RFC 2205 section 3.7).
const HAWAII_REFRESH: Duration = Duration::from_secs(30);

/// Resolves all domains.
pub(in crate::mobility) fn domains(
    raw: &Named<RawDomain>,
    links: &Links,
    report: &mut Report<'_>,
) -> Vec<Domain> {
    let top = Path::default().key("micro_mobility");
    let mut domains: Vec<Domain> = Vec::new();
    for (name, raw) in &raw.0 {
        let path = top.key(name);
        let Some(root) = node(&raw.root, &path.key("root"), links, report) else {
            continue;
        };
        let routers = routers(raw, &path, (root, &domains), links, report);
        let (protocol, refresh, buffer) = match &raw.protocol {
            RawDomainProtocol::Hawaii(own) => {
                let scheme = match own.path_setup.unwrap_or(RawPathSetup::Unf) {
                    RawPathSetup::Mnf => PathSetup::MulticastNonForwarding,
                    RawPathSetup::Msf => PathSetup::MultipleStreamForwarding,
                    RawPathSetup::Ssf => PathSetup::SingleStreamForwarding,
                    RawPathSetup::Unf => PathSetup::UnicastNonForwarding,
                };
                let buffer = own.buffer.map_or(0, |size| size.0);
                (Protocol::Hawaii(scheme), HAWAII_REFRESH, buffer)
            }
            RawDomainProtocol::CellularIp(own) => {
                let semisoft = own.handoff == Some(RawHandoff::Semisoft);
                (Protocol::CellularIp { semisoft }, CELLULAR_IP_REFRESH, 0)
            }
        };
        domains.push(Domain {
            name: name.clone(),
            protocol,
            root,
            paging: paging(raw, &path, &routers, links, report),
            routers,
            refresh: raw.refresh.map_or(refresh, |time| time.0),
            buffer: u32::try_from(buffer).unwrap_or(u32::MAX),
        });
    }
    domains
}

/// Resolves the routers below a root: each in one domain, once, and joined with the root.
fn routers(
    raw: &RawDomain,
    path: &Path,
    (root, others): (NodeIndex, &[Domain]),
    links: &Links,
    report: &mut Report<'_>,
) -> Vec<NodeIndex> {
    let mut routers = vec![root];
    let taken = |node| others.iter().find(|other| other.has(node));
    let in_other = |name: &str, other: &Domain| {
        let other = quoted(&other.name);
        format!(
            "{} is a router of {other}; expected a node in one domain",
            quoted(name)
        )
    };
    if let Some(other) = taken(root) {
        report.wrong(&path.key("root"), in_other(&raw.root, other));
    }
    let path = &path.key("routers");
    for (index, name) in raw.routers.iter().enumerate() {
        let here = path.index(index);
        let Some(router) = node(name, &here, links, report) else {
            continue;
        };
        if routers.contains(&router) {
            let message = format!(
                "{} is listed twice, or is the root; expected each router once",
                quoted(name)
            );
            report.wrong(&here, message);
        } else if let Some(other) = taken(router) {
            report.wrong(&here, in_other(name, other));
        } else {
            routers.push(router);
        }
    }
    let joined = joined(&routers, links);
    for router in routers.iter().filter(|router| !joined.contains(router)) {
        let message = format!(
            "no links lead from {} to the root over routers of the domain alone; expected the routers between them, too",
            quoted(&links.nodes[router.0])
        );
        report.wrong(path, message);
    }
    routers.remove(0);
    routers
}

/// Returns the routers that are joined with the first by links between them.
fn joined(routers: &[NodeIndex], links: &Links) -> Vec<NodeIndex> {
    let mut joined: Vec<NodeIndex> = routers.first().copied().into_iter().collect();
    let mut next = 0;
    while let Some(&node) = joined.get(next) {
        next += 1;
        for far in links.of(node).flat_map(|link| link.ends) {
            if routers.contains(&far) && !joined.contains(&far) {
                joined.push(far);
            }
        }
    }
    joined
}

/// Reports domains that no mobile of Mobile IPv4 visits, or with a mobile among their routers.
pub(in crate::mobility) fn check_mobiles(
    domains: &[Domain],
    mobiles: &[Mobile],
    links: &Links,
    report: &mut Report<'_>,
) {
    for domain in domains {
        let path = Path::default().key("micro_mobility").key(&domain.name);
        if let Some(mobile) = mobiles.iter().find(|mobile| domain.has(mobile.node)) {
            let name = quoted(&links.nodes[mobile.node.0]);
            let message = format!("{name} is a mobile; expected routers that do not move");
            report.wrong(&path, message);
            continue;
        }
        let visits = |mobile: &Mobile| {
            let mobility = mobile.mobility.as_ref();
            let mut access = mobile.attachment.access_links(&links.radios).into_iter();
            mobility.is_some_and(|own| !own.is_ipv6())
                && access.any(|LinkIndex(link)| {
                    let ends = links.specs.get(link).map(|link| link.ends);
                    ends.is_some_and(|ends| ends.iter().any(|&end| domain.has(end)))
                })
        };
        if !mobiles.iter().any(visits) {
            let message = "no mobile with Mobile IPv4 has a link to one of its routers; expected a mobile with `mobility = \
                           { protocol = \"mobile-ipv4\", … }`, and its routers in `routers`";
            report.wrong(&path, message.to_owned());
        }
    }
}
