//! Private addresses of foreign agents below gateways, as TeleMIP's local care-of addresses (S. Das, A. Misra, P. Agrawal,
//! S. K. Das, IEEE Personal Communications 7(4), 2000).

use super::{Ipv4HomeAgent, PrivateAddress};
use crate::addresses::private_agent;
use crate::scenario::document::Path;
use crate::scenario::error::quoted;
use crate::scenario::model::NodeIndex;
use crate::scenario::resolve::Report;
use crate::scenario::resolve_links::Links;

/// Resolves the private address of the agent at `node`, the one with this number in the file.
pub(super) fn private_address(
    (number, node): (usize, NodeIndex),
    gateways: &[NodeIndex],
    path: &Path,
    (links, mobiles, home_agents): (&Links, &[NodeIndex], &[Ipv4HomeAgent]),
    report: &mut Report<'_>,
) -> Option<PrivateAddress> {
    if gateways.is_empty() {
        let message = "needs a gateway, by whose address a mobile is known outside; expected `gateway` beside it";
        report.wrong_key(path, message.to_owned());
        return None;
    }
    let address = private_agent(number);
    let domain = domain(node, gateways, links, mobiles);
    for agent in home_agents {
        if domain.contains(&agent.node) {
            let message = format!(
                "no gateway stands between it and the home agent {}, where private addresses are not routed; expected gateways \
                 on all ways out of its domain",
                quoted(&links.nodes[agent.node.0])
            );
            report.wrong(path, message);
            return None;
        }
        if agent.prefix.meets(address, address) {
            let message = format!(
                "{address} is in the prefix of the home agent {}; expected another prefix there",
                quoted(&links.nodes[agent.node.0])
            );
            report.wrong(path, message);
            return None;
        }
    }
    Some(PrivateAddress { address, domain })
}

/// Returns the nodes that an agent reaches without passing a gateway or a mobile, and the gateways reached.
fn domain(
    agent: NodeIndex,
    gateways: &[NodeIndex],
    links: &Links,
    mobiles: &[NodeIndex],
) -> Vec<NodeIndex> {
    let mut domain = vec![agent];
    let mut next = 0;
    while let Some(&node) = domain.get(next) {
        next += 1;
        if gateways.contains(&node) {
            continue;
        }
        for far in links.of(node).flat_map(|link| link.ends) {
            if !domain.contains(&far) && !mobiles.contains(&far) {
                domain.push(far);
            }
        }
    }
    domain
}
