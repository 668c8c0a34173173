//! What else is joined to a mobile with a protocol, beside its access links: of a mobile router the network behind it;
//! of any other mobile a link that it never uses.

use super::document::Path;
use super::error::quoted;
use super::model::{HomeAgent, LinkIndex, LinkSpec, Mobile, NodeIndex};
use super::resolve::Report;
use super::resolve_links::Links;

/// The nodes of the network behind a mobile: those that its links lead to, but for its access links.
pub(crate) fn nodes_behind(
    links: &[LinkSpec],
    mobile: NodeIndex,
    access: &[LinkIndex],
) -> Vec<NodeIndex> {
    let mut reached = vec![mobile];
    let mut next = 0;
    while let Some(&node) = reached.get(next) {
        next += 1;
        for (number, link) in links.iter().enumerate() {
            let [a, b] = link.ends;
            let far = if a == node { b } else { a };
            if (a == node || b == node)
                && !access.contains(&LinkIndex(number))
                && !reached.contains(&far)
            {
                reached.push(far);
            }
        }
    }
    reached.split_off(1)
}

/// Reports links of a mobile with a protocol that are neither access links nor of a network behind it.
pub(super) fn check(
    mobile: &Mobile,
    (links, agents): (&Links, &[HomeAgent]),
    path: &Path,
    report: &mut Report<'_>,
) {
    let Some(mobility) = &mobile.mobility else {
        return;
    };
    let access = mobile.attachment.links();
    let ends_here = |link: &LinkSpec| link.ends.contains(&mobile.node);
    let name = quoted(&links.nodes[mobile.node.0]);
    if mobility.network_prefix.is_none() {
        for (number, link) in links.specs.iter().enumerate() {
            if ends_here(link) && !access.contains(&LinkIndex(number)) {
                let message = format!(
                    "link {} is never used: {name} attaches to it nowhere; a network behind a mobile needs \
                     `protocol = \"nemo\"`",
                    quoted(&link.config.name)
                );
                report.warn(path, message);
            }
        }
        return;
    }
    let routers = access.iter().flat_map(|link| links.specs[link.0].ends);
    let home = agents[mobility.home_agent].node;
    let mut outside: Vec<NodeIndex> = routers.chain([home]).collect();
    outside.retain(|&node| node != mobile.node);
    let behind = nodes_behind(&links.specs, mobile.node, &access);
    if let Some(node) = behind.iter().find(|node| outside.contains(node)) {
        let message = format!(
            "the network behind {name} leads to {}, which is outside; expected every link of {name} that leads there \
             in its timetable or `prefer`",
            quoted(&links.nodes[node.0])
        );
        report.wrong(path, message);
    }
}
