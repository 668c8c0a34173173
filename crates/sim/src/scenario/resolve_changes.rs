//! Changes of links.

use super::document::Path;
use super::model::LinkChange;
use super::raw_links::{RawChange, RawState};
use super::resolve::Report;
use super::resolve_direction::check_direction;
use super::resolve_links::{Links, check_repeating, layers, set_mtu};
use crate::link::ad_hoc;
use crate::link::config::{Access, LinkConfig, Shared};
use crate::link::tdma::scenario::check_slots;
use baton_proto::time::Instant;

/// Resolves the changes and puts them in order of time.
pub(super) fn changes(
    raw: &[RawChange],
    links: &Links,
    end: Instant,
    report: &mut Report<'_>,
) -> Vec<LinkChange> {
    let top = Path::default().key("changes");
    let mut order: Vec<usize> = (0..raw.len()).collect();
    order.sort_by_key(|index| raw[*index].at.0);
    let mut present: Vec<(Shared<LinkConfig>, bool)> = links
        .specs
        .iter()
        .map(|link| (link.config.clone(), true))
        .collect();
    let mut changes = Vec::new();
    for index in order {
        let (change, path) = (&raw[index], top.index(index));
        let at = Instant::ZERO + change.at.0;
        if at >= end {
            report.warn(
                &path.key("at"),
                "is not before the end of the run: it never happens".to_owned(),
            );
        }
        let Some(link) = links.find(&change.link, &path.key("link"), report) else {
            continue;
        };
        let (config, up) = &mut present[link.0];
        if change.state.is_some() && links.specs[link.0].reception.is_some() {
            let message = "follows from the mobile's position; expected no change of it";
            report.wrong_key(&path.key("state"), message.to_owned());
        }
        change_config(change, &path, config, report);
        for (key, direction) in [("down", &config.down), ("up", &config.up)] {
            check_direction(direction, &path.key(key), end, report);
        }
        *up = change.state.map_or(*up, |state| state == RawState::Up);
        changes.push(LinkChange {
            at,
            link,
            config: config.clone(),
            up: *up,
        });
    }
    changes
}

/// Applies a change to a link's parameters.
pub(super) fn change_config(
    raw: &RawChange,
    path: &Path,
    config: &mut LinkConfig,
    report: &mut Report<'_>,
) {
    let layers_of = [
        (&raw.both, path.clone()),
        (&raw.down, path.key("down")),
        (&raw.up, path.key("up")),
    ];
    for (layer, path) in layers_of {
        if layer.recording.is_some() {
            let message = "does not go with a change: a recording runs to its end";
            report.wrong_key(&path.key("recording"), message.to_owned());
        }
    }
    set_mtu(raw.mtu, path, config, report);
    let before = config.clone();
    layers(&raw.both, &raw.down, &raw.up, path, config, report);
    ad_hoc::scenario::check_change(&before, config, path, report);
    if config.up.access == Access::OnDemand && config.up.rate != before.up.rate {
        let message = "changes the rate of a carrier with capacity on demand, which is fixed";
        report.wrong(path, message.to_owned());
    }
    check_repeating(config, path, report);
    check_slots(config, path, report);
}
