//! Cuts of a world into parts that run at the same time.
//!
//! A world is cut at links with a long delay: within that delay nothing that happens in one part can reach another, so the
//! parts run on their own for that long, and then exchange the packets on the cut links (conservative synchronisation in
//! windows, as in ns-3's unison, Bai et al., EuroSys 2024). The cut follows from the scenario alone, and each part does its
//! work in the order of its own events, so that results do not depend on the number of threads.
//!
//! [`Cut::of`] finds the cut: nodes that share more than packets over a link stay together ([`bonds`]); of the links that are
//! left, those are cut whose parts are balanced best ([`balance`]). [`parts`] runs it.

mod balance;
mod bonds;
mod bridges;
mod crew;
mod groups;
pub(crate) mod parts;
mod windows;

use crate::scenario::model::{LinkIndex, NodeIndex, Scenario};
use balance::Balance;
use baton_proto::time::Duration;
use bonds::{Bonds, obstacles};
pub use parts::CutSummary;
use std::sync::Arc;

/// Least delay of a link that is cut (chosen): a window of this length has some hundred events of a busy part, against the
/// cost of some dozen for the threads' meeting.
const LEAST_DELAY: Duration = Duration::from_millis(1);
/// Largest share of the expected load that one part may have, in per cent (chosen): with more, a second thread gains less than
/// the meetings cost.
const LARGEST_SHARE: u64 = 90;
/// Most parts (chosen): each has all nodes, and so takes memory for the whole world.
const MOST_PARTS: usize = 8;
/// Most nodes in all parts together (chosen), unless there are only two parts.
const MOST_NODES: usize = 800_000;

/// Cut of a scenario's world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Parts, the most loaded first.
    pub parts: Vec<PartOfCut>,
    /// The cut links, ascending.
    pub links: Vec<LinkIndex>,
    /// The shortest delay of a cut link, twice the length of a window.
    pub delay: Duration,
    of_nodes: Arc<[u16]>,
}

/// A part of a cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartOfCut {
    /// Its nodes, ascending.
    pub nodes: Vec<NodeIndex>,
    /// Its share of the expected load, in per cent.
    pub share_percent: u64,
}

/// A cut, or the reasons why there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The cut.
    pub cut: Option<Cut>,
    /// Bonds between nodes, a line for each reason; without a cut, the reasons against one.
    pub limits: Vec<String>,
}

/// Most nodes of a part that a report names.
const NODES_NAMED: usize = 8;

/// A cut in the words of a scenario.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct CutReport {
    /// Parts, the most loaded first; fewer than two mean that the world is not cut.
    pub parts: Vec<PartReport>,
    /// Names of the cut links.
    pub links: Vec<String>,
    /// The shortest delay of a cut link, in seconds; null without a cut.
    pub delay_s: Option<f64>,
    /// Bonds between nodes, a line for each reason; without a cut, the reasons against one.
    pub limits: Vec<String>,
}

/// A part in the words of a scenario.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct PartReport {
    /// Number of its nodes.
    pub nodes: usize,
    /// Names of the first ones.
    pub names: Vec<String>,
    /// Its share of the expected load, in per cent.
    pub share_percent: u64,
}

impl CutReport {
    /// Finds the cut of a scenario.
    pub fn of(scenario: &Scenario) -> CutReport {
        let Found { cut, limits } = Cut::of(scenario);
        let name = |node: &NodeIndex| scenario.nodes[node.0].clone();
        let parts = cut.iter().flat_map(|cut| &cut.parts);
        let links = cut.iter().flat_map(|cut| &cut.links);
        CutReport {
            parts: parts
                .map(|part| PartReport {
                    nodes: part.nodes.len(),
                    names: part.nodes.iter().take(NODES_NAMED).map(name).collect(),
                    share_percent: part.share_percent,
                })
                .collect(),
            links: links
                .map(|link| scenario.link_name(*link).into_owned())
                .collect(),
            delay_s: cut.as_ref().map(|cut| cut.delay.as_secs_f64()),
            limits,
        }
    }
}

impl Cut {
    /// Finds the cut of a scenario.
    pub fn of(scenario: &Scenario) -> Found {
        let limits = obstacles(scenario);
        if !limits.is_empty() {
            return Found { cut: None, limits };
        }
        let bonds = Bonds::new(scenario, LEAST_DELAY);
        let most = (MOST_NODES / scenario.nodes.len().max(1)).clamp(2, MOST_PARTS);
        let balance = Balance::best(scenario, &bonds, most);
        let mut limits = bonds.why.lines();
        let Some(balance) = balance else {
            return Found { cut: None, limits };
        };
        if balance.largest_percent() > LARGEST_SHARE {
            let share = balance.largest_percent();
            limits.push(format!(
                "one part would have {share} % of the expected load: it is not worth a cut"
            ));
            return Found { cut: None, limits };
        }
        let cut = Some(balance.into_cut(scenario, &bonds));
        Found { cut, limits }
    }
}
