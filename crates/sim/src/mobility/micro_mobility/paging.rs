//! Idle mobiles of a domain, and the routers that page them.

use super::Domain;
use super::keys::RawDomain;
use crate::scenario::document::Path;
use crate::scenario::error::quoted;
use crate::scenario::model::{LinkSpec, NodeIndex};
use crate::scenario::resolve::{Report, node};
use crate::scenario::resolve_links::Links;
use crate::world::World;
use baton_proto::interface::InterfaceId;
use baton_proto::mobility::micro_mobility::{IdleConfig, LIFETIME, PagingConfig};
use baton_proto::time::Duration;
use std::collections::BTreeMap;

/// Default time between paging updates: chosen, rare beside route updates.
const PAGING_UPDATE: Duration = Duration::from_secs(60);

/// Settings of paging.
#[derive(Clone, Debug, PartialEq)]
pub struct Paging {
    /// Time without packets after which a mobile is idle.
    active_timeout: Duration,
    /// Time between paging updates.
    update: Duration,
    /// Routers with paging entries beside the root.
    routers: Vec<NodeIndex>,
}

/// Resolves the keys of paging; `routers` are those of the domain without its root.
pub(super) fn paging(
    raw: &RawDomain,
    path: &Path,
    routers: &[NodeIndex],
    links: &Links,
    report: &mut Report<'_>,
) -> Option<Paging> {
    let Some(active_timeout) = &raw.active_timeout else {
        let others = [
            ("paging_update", raw.paging_update.is_some()),
            ("paging_routers", raw.paging_routers.is_some()),
        ];
        for (key, _) in others.into_iter().filter(|(_, is_set)| *is_set) {
            let message = "no mobile is ever idle; expected `active_timeout`, too".to_owned();
            report.wrong(&path.key(key), message);
        }
        return None;
    };
    let path = path.key("paging_routers");
    let mut paging = Paging {
        active_timeout: active_timeout.0,
        update: raw
            .paging_update
            .as_ref()
            .map_or(PAGING_UPDATE, |time| time.0),
        routers: Vec::new(),
    };
    for (index, name) in raw.paging_routers.iter().flatten().enumerate() {
        let here = path.index(index);
        match node(name, &here, links, report) {
            Some(router) if routers.contains(&router) => paging.routers.push(router),
            Some(_) => {
                let name = quoted(name);
                let message =
                    format!("{name} is not in `routers`; expected routers below the domain's root");
                report.wrong(&here, message);
            }
            None => {}
        }
    }
    Some(paging)
}

/// Returns, for each router of a domain but the root, the router above it and the link between them, on the way with the
/// fewest links.
fn tree(domain: &Domain, links: &[LinkSpec]) -> BTreeMap<usize, (usize, usize)> {
    let mut above = BTreeMap::new();
    let mut reached = vec![domain.root];
    let mut next = 0;
    while let Some(&router) = reached.get(next) {
        next += 1;
        for (number, link) in links.iter().enumerate() {
            let [a, b] = link.ends;
            let far = match router {
                end if end == a => b,
                end if end == b => a,
                _ => continue,
            };
            if domain.has(far) && !reached.contains(&far) {
                reached.push(far);
                above.insert(far.0, (router.0, number));
            }
        }
    }
    above
}

impl World {
    /// Returns the settings of a mobile that may be idle in a domain; `links` are its access links there, with their
    /// routers.
    pub(super) fn idleness(
        &self,
        domain: &Domain,
        links: &[(InterfaceId, usize)],
    ) -> Option<IdleConfig> {
        let paging = domain.paging.as_ref()?;
        let above = tree(domain, &self.scenario.links);
        // An area is named by its highest router.
        let area_of = |base_station: usize| {
            let mut area = base_station;
            while !paging.routers.contains(&NodeIndex(area))
                && let Some(&(router, _)) = above.get(&area)
                && router != domain.root.0
                && !paging.routers.contains(&NodeIndex(router))
            {
                area = router;
            }
            area
        };
        let areas = links.iter();
        Some(IdleConfig {
            active_timeout: paging.active_timeout,
            paging_update: paging.update,
            areas: areas
                .map(|&(interface, router)| (interface, area_of(router)))
                .collect(),
        })
    }

    /// Returns the settings of a router's paging.
    pub(super) fn paging_at(&self, domain: &Domain, node: usize) -> Option<PagingConfig> {
        let paging = domain.paging.as_ref()?;
        let has_entries = node == domain.root.0 || paging.routers.contains(&NodeIndex(node));
        let above = tree(domain, &self.scenario.links);
        let below = above.values().filter(|(router, _)| *router == node);
        Some(PagingConfig {
            lifetime: has_entries.then(|| paging.update.saturating_mul(LIFETIME)),
            below: below
                .map(|&(_, link)| self.net.interface(node, link))
                .collect(),
        })
    }
}
