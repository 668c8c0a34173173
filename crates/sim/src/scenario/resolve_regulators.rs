//! Shapers and policers at links' entrances.

use super::document::Path;
use super::error::{quoted, unknown};
use super::raw::RawScenario;
use super::raw_links::RawLink;
use super::raw_regulators::{RawPolicer, RawShaper, RawWay};
use super::resolve::Report;
use super::resolve_links::Links;
use crate::link::End;
use crate::link::regulator::{Excess, RegulatorConfig};
use baton_proto::packet::FlowId;

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
        }
    }
}
