//! Pairs of gateways that carry TCP in bundles.

use super::document::Path;
use super::error::quoted;
use super::model::{Mobile, NodeIndex};
use super::profiles;
use super::raw::Named;
use super::resolve::{Report, node};
use super::resolve_links::Links;
use super::units::{PositiveTime, Size};
use baton_proto::tcp::profile::Profile;
use baton_proto::time::Duration;
use schemars::JsonSchema;
use serde::Deserialize;

/// Most bytes of data in custody by default. Chosen: at 5 Mbit/s a hundred seconds.
const STORAGE: u64 = 64_000_000;
/// Lifetime of bundles by default: that of dtn7's command line.
const LIFETIME: Duration = Duration::from_secs(3600);

/// Two gateways that end TCP connections, and carry them to each other in bundles with custody.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RawDtnGateways {
    /// The two gateways, joined by a link; either may be a mobile without a mobility protocol, or an end of flows.
    pub between: [String; 2],
    /// Most data in custody at each gateway, and most that waits there for its receiver; without room, the sender's
    /// window closes. Default "64 MB".
    pub storage: Option<Size>,
    /// Time from a bundle's creation to its deletion, which resets its connection. Default "1 h".
    pub lifetime: Option<PositiveTime>,
    /// Profile of the gateways' TCP: the stack whose behaviour it follows. Default "linux-6".
    #[schemars(extend("oneOf" = profiles::profile_choices()))]
    pub profile: Option<String>,
}

/// Two gateways that exchange bundles.
#[derive(Clone, Debug, PartialEq)]
pub struct DtnGateways {
    /// Their nodes.
    pub nodes: [NodeIndex; 2],
    /// Most bytes of data in custody, and most that wait to be delivered, at each.
    pub storage: u64,
    /// Lifetime of bundles.
    pub lifetime: Duration,
    /// The gateways' TCP.
    pub profile: Profile,
}

/// Resolves the table `dtn_gateways`.
pub(super) fn gateways(
    raw: &Named<RawDtnGateways>,
    links: &Links,
    mobiles: &[Mobile],
    report: &mut Report<'_>,
) -> Vec<DtnGateways> {
    let top = Path::default().key("dtn_gateways");
    let mut found: Vec<DtnGateways> = Vec::new();
    for (name, given) in &raw.0 {
        let path = top.key(name).key("between");
        let [one, other] = &given.between;
        let one = node(one, &path.index(0), links, report);
        let other = node(other, &path.index(1), links, report);
        let (Some(one), Some(other)) = (one, other) else {
            continue;
        };
        let nodes = [one, other];
        if !check_nodes(nodes, &path, (links, mobiles), report) {
            continue;
        }
        let is_same = |pair: &&DtnGateways| nodes.iter().all(|node| pair.nodes.contains(node));
        if found.iter().any(|pair| is_same(&pair)) {
            let message = "these two are already gateways to each other; expected each pair once";
            report.wrong(&path, message.to_owned());
        }
        let Some(profile) = Profile::named(given.profile.as_deref().unwrap_or("linux-6")) else {
            continue;
        };
        found.push(DtnGateways {
            nodes,
            storage: given.storage.map_or(STORAGE, |size| size.0),
            lifetime: given.lifetime.map_or(LIFETIME, |time| time.0),
            profile,
        });
    }
    found
}

/// Returns true for two nodes that a link joins and that use no mobility protocol; reports others.
fn check_nodes(
    nodes: [NodeIndex; 2],
    path: &Path,
    (links, mobiles): (&Links, &[Mobile]),
    report: &mut Report<'_>,
) -> bool {
    let [one, other] = nodes.map(|node| quoted(&links.nodes[node.0]));
    if nodes[0] == nodes[1] {
        let message = format!("{one} cannot be a gateway to itself; expected two nodes");
        report.wrong(path, message);
        return false;
    }
    if !links.of(nodes[0]).any(|link| link.ends.contains(&nodes[1])) {
        let message = format!(
            "no link joins {one} and {other}; expected the two ends of a link, whose rate and state the gateways follow"
        );
        report.wrong(path, message);
        return false;
    }
    for node in nodes {
        let own = mobiles.iter().find(|mobile| mobile.node == node);
        if own.is_some_and(|mobile| mobile.mobility.is_some()) {
            let message = format!(
                "{} has a mobility protocol, whose tunnel hides the link from the gateways; expected a mobile without `mobility`",
                quoted(&links.nodes[node.0])
            );
            report.wrong(path, message);
            return false;
        }
    }
    true
}
