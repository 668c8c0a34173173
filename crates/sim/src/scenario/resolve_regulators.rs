//! Shapers and policers at links' entrances.

use super::document::Path;
use super::error::{quoted, unknown};
use super::raw::RawScenario;
use super::raw_links::RawLink;
use super::raw_regulators::{RawPolicer, RawShaper, RawWay};
use super::resolve::Report;
use super::resolve_links::Links;
use crate::link::End;
use crate::link::regulator::{Excess, Opening, RegulatorConfig};
use crate::scenario::model::{LinkIndex, Mobile};
use baton_proto::packet::FlowId;
use baton_proto::time::Duration;
use std::collections::BTreeSet;

/// Gives links their regulators.
pub(super) fn regulators(raw: &RawScenario, links: &mut Links, report: &mut Report<'_>) {
    let top = Path::default().key("links");
    let flows: Vec<&str> = raw.flows.iter().map(|flow| flow.name.as_str()).collect();
    for (name, link) in &raw.links.0 {
        let place = links.link_places.get(name);
        let Some(spec) = place.and_then(|place| links.specs.get_mut(place.0)) else {
            continue;
        };
        let found = of_link(link, (&top.key(name), spec.config.mtu), &flows, report);
        if !found.is_empty() {
            spec.config.regulators = found;
        }
    }
}

/// Resolves a link's regulators: shapers first.
fn of_link(
    raw: &RawLink,
    (path, mtu): (&Path, u32),
    flows: &[&str],
    report: &mut Report<'_>,
) -> Vec<RegulatorConfig> {
    let mut found: Vec<RegulatorConfig> = Vec::new();
    let shapers = raw.shapers.iter().flatten().map(Written::shaper);
    let policers = raw.policers.iter().flatten().map(Written::policer);
    let of = |key: &'static str| move |place| path.key(key).index(place);
    let places = (0..).map(of("shapers")).zip(shapers);
    for (path, written) in places.chain((0..).map(of("policers")).zip(policers)) {
        let config = written.resolve((&path, mtu), flows, report);
        for (index, flow) in config.flows.iter().enumerate() {
            let twice = config.flows[..index].contains(flow)
                || (found.iter())
                    .any(|other| other.from == config.from && other.flows.contains(flow));
            if twice {
                let message = format!(
                    "{} is already regulated in this direction; expected each flow once",
                    quoted(flows[flow.0 as usize])
                );
                report.wrong(&path.key("flows"), message);
            }
        }
        found.push(config);
    }
    found
}

/// Keys common to shapers and policers.
struct Written<'a> {
    flows: &'a [String],
    per_flow: Option<bool>,
    rate: super::units::Rate,
    burst: super::units::Size,
    excess: Excess,
    reports: bool,
    open_after_handover: Option<Duration>,
    follows_window: bool,
    direction: Option<RawWay>,
}

impl<'a> Written<'a> {
    fn shaper(raw: &'a RawShaper) -> Written<'a> {
        Written {
            flows: &raw.flows,
            per_flow: raw.per_flow,
            rate: raw.rate,
            burst: raw.burst,
            excess: Excess::Waits(raw.queue.0),
            reports: raw.reports.unwrap_or(false),
            open_after_handover: raw.open_after_handover.map(|time| time.0),
            follows_window: raw.follows_window.unwrap_or(false),
            direction: raw.direction,
        }
    }

    fn policer(raw: &'a RawPolicer) -> Written<'a> {
        Written {
            flows: &raw.flows,
            per_flow: raw.per_flow,
            rate: raw.rate,
            burst: raw.burst,
            excess: Excess::Dropped,
            reports: false,
            open_after_handover: None,
            follows_window: false,
            direction: raw.direction,
        }
    }

    fn resolve(
        &self,
        (path, mtu): (&Path, u32),
        flows: &[&str],
        report: &mut Report<'_>,
    ) -> RegulatorConfig {
        let mut known = Vec::new();
        for (index, name) in self.flows.iter().enumerate() {
            match flows.iter().position(|flow| flow == name) {
                Some(flow) => known.push(FlowId(flow as u32)),
                None => {
                    let path = path.key("flows").index(index);
                    report.wrong(&path, unknown("flow", name, flows));
                }
            }
        }
        if self.burst.0 < u64::from(mtu) {
            let message = format!(
                "a full packet of {mtu} B would never pass; expected at least the link's mtu, \"{mtu} B\""
            );
            report.wrong(&path.key("burst"), message);
        }
        RegulatorConfig {
            from: match self.direction {
                None | Some(RawWay::Down) => End::A,
                Some(RawWay::Up) => End::B,
            },
            flows: known,
            per_flow: self.per_flow.unwrap_or(false),
            rate: self.rate.0,
            burst: self.burst.0,
            excess: self.excess,
            reports: self.reports,
            opening: self.opening(path, report),
        }
    }

    fn opening(&self, path: &Path, report: &mut Report<'_>) -> Option<Opening> {
        if self.follows_window && self.open_after_handover.is_none() {
            let message = "is for a queue that is opened for handovers; expected open_after_handover beside it";
            report.wrong(&path.key("follows_window"), message.to_owned());
        }
        Some(Opening {
            closes_after: self.open_after_handover?,
            follows_window: self.follows_window,
        })
    }
}

/// Checks that queues for handovers are on links to which mobiles can be handed over.
pub(super) fn check_openings(links: &Links, mobiles: &[Mobile], report: &mut Report<'_>) {
    let access: BTreeSet<LinkIndex> = mobiles
        .iter()
        .flat_map(|mobile| mobile.attachment.access_links(&links.radios))
        .collect();
    for (number, spec) in links.specs.iter().enumerate() {
        let regulators = spec.config.regulators.iter();
        let waits = |one: &&RegulatorConfig| matches!(one.excess, Excess::Waits(_));
        for (place, _) in regulators
            .filter(waits)
            .enumerate()
            .filter(|(_, one)| one.opening.is_some())
            .filter(|_| !access.contains(&LinkIndex(number)))
        {
            let path = Path::default().key("links").key(&spec.config.name);
            let message = "is for handovers to the link, which is no mobile's access link; expected one that is";
            report.wrong(
                &path.key("shapers").index(place).key("open_after_handover"),
                message.to_owned(),
            );
        }
    }
}
