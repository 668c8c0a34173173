//! Links of a mobile with a protocol besides its access links: for a mobile router those to the network behind it; for
//! any other mobile a link that it never uses.

use super::document::Path;
use super::error::quoted;
use super::model::Mobile;
use super::resolve::Report;
use super::resolve_links::Links;
use crate::mobility::Agents;

/// Reports links of a mobile with a protocol that are neither access links nor of a network behind it.
pub(super) fn check(
    mobile: &Mobile,
    (links, agents): (&Links, &Agents),
    path: &Path,
    report: &mut Report<'_>,
) {
    let Some(mobility) = &mobile.mobility else {
        return;
    };
    let access = mobile.attachment.access_links(&links.radios);
    let name = quoted(&links.nodes[mobile.node.0]);
    if !mobile.is_router() {
        for place in links.places_of(mobile.node) {
            let link = &links.specs[place.0];
            if access.binary_search(place).is_err() {
                let message = format!(
                    "link {} is never used: {name} never attaches to it; a network behind a mobile needs \
                     `protocol = \"nemo\"`",
                    quoted(&link.config.name)
                );
                report.warn(path, message);
            }
        }
        return;
    }
    let mut outside = links.gateways(mobile);
    outside.insert(mobility.home_agent(agents));
    outside.remove(&mobile.node);
    let behind = links.behind(mobile.node, &access);
    if let Some(node) = behind.iter().find(|node| outside.contains(node)) {
        let message = format!(
            "the network behind {name} leads to {}, which is outside; expected every link of {name} that leads there \
             in its timetable or `prefer`",
            quoted(&links.nodes[node.0])
        );
        report.wrong(path, message);
    }
}
