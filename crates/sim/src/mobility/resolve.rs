//! Steps common to the resolution of all mobility protocols.

use super::{Agents, RawMobility};
use crate::scenario::document::Path;
use crate::scenario::error::{quoted, unknown};
use crate::scenario::model::{LinkIndex, Mobile, NodeIndex};
use crate::scenario::resolve::Report;
use crate::scenario::resolve_links::Links;

/// Context in which a mobile's protocol is resolved.
pub(crate) struct Surroundings<'a> {
    pub links: &'a Links,
    pub agents: &'a Agents,
    /// Mobiles resolved so far.
    pub others: &'a [Mobile],
    /// Names of all mobiles.
    pub moving: &'a [&'a str],
}

/// Home agents of one version of IP.
pub(super) struct HomeAgents<'a> {
    pub version: &'static str,
    pub names: Vec<&'a str>,
}

impl HomeAgents<'_> {
    /// Finds the place of the home agent called `name`; reports if it is among the `others` or nowhere.
    pub fn find(
        &self,
        name: &str,
        others: &HomeAgents<'_>,
        path: &Path,
        report: &mut Report<'_>,
    ) -> Option<usize> {
        let found = self.names.iter().position(|known| *known == name);
        if found.is_none() {
            let message = match others.names.contains(&name) {
                true => format!(
                    "{} has an {} prefix; expected a home agent with an {} prefix",
                    quoted(name),
                    others.version,
                    self.version
                ),
                false => unknown("home agent", name, &self.names),
            };
            report.wrong(path, message);
        }
        found
    }
}

/// Finds the link on which a mobile is at home, if it joins the mobile with its home agent.
pub(super) fn home_link(
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
