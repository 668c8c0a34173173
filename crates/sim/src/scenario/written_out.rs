//! Copies written out: a mobile with a `count` becomes so many, each with its own parts; a flow with `copies`, or to or
//! from such a mobile, becomes so many.

use super::copies::Copies;
use super::counted::{Fleets, name_of};
use super::document::Path;
use super::error::quoted;
use super::flights;
use super::raw::{Named, RawMobile, RawScenario};
use super::raw_flows::RawFlow;
use super::raw_links::RawLink;
use super::resolve::Report;
use super::tagged::NameOr;
use super::units::prefix;
use crate::position::Track;
use baton_proto::time::Duration;
use core::net::Ipv6Addr;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Most copies of one flow: as many as a host has ports for.
const MOST_FLOWS: u64 = 60_000;

/// Returns the scenario with all copies written out; `report` gets their origins. `None` if there are none, or if there
/// are mistakes.
pub(super) fn written_out(raw: &RawScenario, report: &mut Report<'_>) -> Option<RawScenario> {
    let counted = raw
        .mobiles
        .0
        .iter()
        .any(|(_, mobile)| mobile.count.is_some());
    if !counted && raw.flows.iter().all(|flow| flow.copies.is_none()) {
        return None;
    }
    let fleets = Fleets::of(raw, report);
    let mut writer = Writer {
        raw,
        fleets,
        flows: BTreeMap::new(),
        copies: Copies::default(),
    };
    check_flows(raw, &writer.fleets, report);
    if !report.is_clean() {
        return None;
    }
    let whole = writer.write(report);
    writer.check_names(report);
    report.copies = writer.copies;
    report.is_clean().then_some(whole)
}

/// Reports spacing of a mobile without a count.
pub(super) fn refuse_spacing(raw: &RawScenario, report: &mut Report<'_>) {
    for (name, mobile) in &raw.mobiles.0 {
        let spacing = mobile.track.as_ref().and_then(|track| track.spacing);
        if spacing.is_some() && mobile.count.is_none() {
            let path = Path::default().key("mobiles").key(name).key("track");
            let message =
                "is a distance between several mobiles; expected a count beside the track";
            report.wrong_key(&path.key("spacing"), message.to_owned());
        }
    }
}

/// Checks that a flow belongs to the mobiles of one fleet, and has no more copies than hosts can distinguish.
fn check_flows(raw: &RawScenario, fleets: &Fleets<'_>, report: &mut Report<'_>) {
    for (index, flow) in raw.flows.iter().enumerate() {
        let path = Path::default().key("flows").index(index);
        let ends = [&flow.from, &flow.to].map(|end| fleets.of_node(end));
        if let [Some(from), Some(to)] = ends
            && from != to
        {
            let message = format!(
                "both {} and {} have several copies; expected a node without copies at one end",
                quoted(&flow.from),
                quoted(&flow.to)
            );
            report.wrong(&path.key("to"), message);
        }
        let of_fleet = fleets.copies(ends[0].or(ends[1])).count() as u64;
        let count = of_fleet * u64::from(flow.copies.unwrap_or(1));
        if count > MOST_FLOWS {
            let message = format!(
                "makes {count} flows; expected at most {MOST_FLOWS} in all, {} for each mobile",
                MOST_FLOWS / of_fleet
            );
            report.wrong(&path.key("copies"), message);
        }
    }
}

/// A copy of a written flow.
struct Written {
    /// Fleet and mobile to which it belongs.
    mobile: Option<(usize, u32)>,
    name: String,
}

struct Writer<'r> {
    raw: &'r RawScenario,
    fleets: Fleets<'r>,
    /// Copies of each flow, by its name.
    flows: BTreeMap<&'r str, Vec<Written>>,
    copies: Copies,
}

impl<'r> Writer<'r> {
    fn write(&mut self, report: &mut Report<'_>) -> RawScenario {
        let mut whole = self.raw.clone();
        for (node, count) in self.fleets.all_nodes() {
            self.copies.note_copies(node, count, 1);
        }
        // Regulators of links name flows.
        whole.flows = self.flows();
        whole.links = Named(self.links());
        whole.mobiles = Named(self.mobiles(report));
        whole.changes.clear();
        for (place, change) in self.raw.changes.iter().enumerate() {
            for number in self.fleets.copies_of_link(&change.link) {
                let mut copy = change.clone();
                self.link(number, &mut copy.link);
                self.copies.note_element("changes", place, number);
                whole.changes.push(copy);
            }
        }
        whole.aerotp_gateways.0.clear();
        for (name, gateways) in &self.raw.aerotp_gateways.0 {
            let mut links = gateways.links.iter();
            let fleet = links.find_map(|link| self.fleets.of_link(link));
            for number in self.fleets.copies(fleet) {
                let mut copy = gateways.clone();
                copy.links
                    .iter_mut()
                    .for_each(|link| self.link(number, link));
                let named = self.note_table("aerotp_gateways", name, number);
                whole.aerotp_gateways.0.push((named, copy));
            }
        }
        whole.dtn_gateways.0.clear();
        for (name, gateways) in &self.raw.dtn_gateways.0 {
            let mut nodes = gateways.between.iter();
            let fleet = nodes.find_map(|node| self.fleets.of_node(node));
            for number in self.fleets.copies(fleet) {
                let mut copy = gateways.clone();
                copy.between
                    .iter_mut()
                    .for_each(|node| self.node(number, node));
                let named = self.note_table("dtn_gateways", name, number);
                whole.dtn_gateways.0.push((named, copy));
            }
        }
        if let Some(hosts) = &self.raw.live.hosts {
            let all = hosts.iter().flat_map(|host| {
                let copies = self.fleets.copies(self.fleets.of_node(host));
                copies.map(move |number| numbered(host, number))
            });
            whole.live.hosts = Some(all.collect());
        }
        whole
    }

    /// Adds to a link's name the number of its mobile, if it belongs to one.
    fn link(&self, number: u32, name: &mut String) {
        if self.fleets.of_link(name).is_some() {
            *name = numbered(name, number);
        }
    }

    /// Adds to a node's name the number of its mobile, if it belongs to one.
    fn node(&self, number: u32, name: &mut String) {
        if self.fleets.of_node(name).is_some() {
            *name = numbered(name, number);
        }
    }

    /// Returns the name of a table's copy, or of a table without copies its own, and notes it.
    fn note_table(&mut self, key: &str, name: &str, number: u32) -> String {
        let named = numbered(name, number);
        if number > 0 {
            self.copies.note_table(key, name, number);
        }
        named
    }

    /// Returns the flight of a mobile of a fleet, if that has flights.
    fn flight(&self, fleet: Option<usize>, number: u32) -> Option<&'r Arc<Track>> {
        let fleet = &self.fleets.all[fleet?];
        let mobile = self.raw.mobiles.0.iter();
        let mut mobile = mobile.filter(|(name, _)| name == fleet.mobile);
        let track = mobile.next()?.1.track.as_ref()?;
        track.flown.get(number.checked_sub(1)? as usize)
    }

    fn flows(&mut self) -> Vec<RawFlow> {
        let mut all = Vec::new();
        for (place, flow) in self.raw.flows.iter().enumerate() {
            let fleet = self
                .fleets
                .of_node(&flow.from)
                .or(self.fleets.of_node(&flow.to));
            if fleet.is_none() && flow.copies.is_none() {
                self.copies.note_element("flows", place, 0);
                all.push(flow.clone());
                continue;
            }
            let mut written = Vec::new();
            let numbers = u32::from(fleet.is_some()) + u32::from(flow.copies.is_some());
            for number in self.fleets.copies(fleet) {
                let mut copy = flow.clone();
                copy.class.get_or_insert_with(|| flow.name.clone());
                copy.name = numbered(&flow.name, number);
                if let Some(flight) = self.flight(fleet, number)
                    && !flights::fly_with(&mut copy, flight, self.raw.duration.0)
                {
                    continue;
                }
                self.node(number, &mut copy.from);
                self.node(number, &mut copy.to);
                if let Some(NameOr(transport)) = &mut copy.transport {
                    let links = transport.links_mut();
                    links.iter_mut().for_each(|link| self.link(number, link));
                }
                let again = flow.copies.map_or(0..=0, |copies| 1..=copies);
                for each in again {
                    let mut copy = copy.clone();
                    copy.name = numbered(&copy.name, each);
                    written.push(Written {
                        mobile: fleet.map(|fleet| (fleet, number)),
                        name: copy.name.clone(),
                    });
                    let all_so_far = written.len() as u32;
                    self.copies.note_copies(&flow.name, all_so_far, numbers);
                    self.copies.note_element("flows", place, all_so_far);
                    all.push(copy);
                }
            }
            self.flows.insert(&flow.name, written);
        }
        all
    }

    fn links(&mut self) -> Vec<(String, RawLink)> {
        let mut all = Vec::new();
        for (name, link) in &self.raw.links.0 {
            let fleet = self.fleets.of_link(name);
            for number in self.fleets.copies(fleet) {
                let mut copy = link.clone();
                let ends = copy.between.iter_mut().flatten();
                ends.for_each(|end| self.node(number, end));
                let shapers = copy.shapers.iter_mut().flatten();
                shapers.for_each(|shaper| self.regulated((fleet, number), &mut shaper.flows));
                let policers = copy.policers.iter_mut().flatten();
                policers.for_each(|policer| self.regulated((fleet, number), &mut policer.flows));
                let named = self.note_table("links", name, number);
                all.push((named, copy));
            }
        }
        all
    }

    /// Puts the copies of each flow in its place: at a mobile's own link those of that mobile.
    fn regulated(&self, (fleet, number): (Option<usize>, u32), flows: &mut Vec<String>) {
        let names = core::mem::take(flows);
        for name in names {
            let Some(written) = self.flows.get(name.as_str()) else {
                flows.push(name);
                continue;
            };
            let passes = |flow: &&Written| match (flow.mobile, fleet) {
                (Some((own, mobile)), Some(fleet)) => own != fleet || mobile == number,
                _ => true,
            };
            flows.extend(written.iter().filter(passes).map(|flow| flow.name.clone()));
        }
    }

    fn mobiles(&mut self, report: &mut Report<'_>) -> Vec<(String, RawMobile)> {
        let mut all = Vec::new();
        for (name, mobile) in &self.raw.mobiles.0 {
            let networks = Networks::of(name, mobile, report);
            for number in self.fleets.copies(self.fleets.of_node(name)) {
                let mut copy = mobile.clone();
                copy.count = None;
                let entries = copy.timetable.iter_mut().flatten();
                entries.for_each(|entry| self.link(number, &mut entry.attach));
                let preferred = copy
                    .failback
                    .iter_mut()
                    .flat_map(|failback| &mut failback.prefer);
                preferred.for_each(|link| self.link(number, link));
                let chosen = copy
                    .decision
                    .iter_mut()
                    .flat_map(|decision| &mut decision.links);
                chosen.for_each(|link| self.link(number, link));
                if let Some(track) = &mut copy.track {
                    let spacing = track.spacing.map_or(Duration::ZERO, |spacing| spacing.0);
                    if let Some(flight) = self.flight(self.fleets.of_node(name), number) {
                        track.flown = Arc::from([Arc::clone(flight)]);
                    }
                    track.ahead = spacing.saturating_mul(u64::from(number.saturating_sub(1)));
                }
                if let Some(mobility) = &mut copy.mobility {
                    mobility
                        .home_link
                        .iter_mut()
                        .for_each(|link| self.link(number, link));
                    let nodes = mobility.nodes_mut();
                    nodes.for_each(|node| self.node(number, node));
                    if let Some(networks) = &networks
                        && let Some(prefix) = mobility.network_prefix_mut()
                    {
                        *prefix = networks.text(number);
                    }
                }
                let named = self.note_table("mobiles", name, number);
                all.push((named, copy));
            }
        }
        all
    }

    /// Reports each copy whose name exists already.
    fn check_names(&self, report: &mut Report<'_>) {
        let links = self.raw.links.0.iter();
        let ends = links
            .clone()
            .flat_map(|(_, link)| link.between.iter().flatten());
        let cells = links.clone().flat_map(|(_, link)| link.cells());
        let nodes: BTreeSet<&str> = ends
            .map(String::as_str)
            .chain(cells.map(|(_, cell)| cell.node.as_str()))
            .collect();
        let links: BTreeSet<&str> = links.map(|(name, _)| name.as_str()).collect();
        for fleet in &self.fleets.all {
            let path = Path::default()
                .key("mobiles")
                .key(fleet.mobile)
                .key("count");
            let made = fleet.own().flat_map(|(own, is_link)| {
                (1..=fleet.count).map(move |number| (name_of(own, number), is_link))
            });
            let known = |is_link: bool| if is_link { &links } else { &nodes };
            let mut twice = made.filter(|(name, is_link)| known(*is_link).contains(name.as_str()));
            if let Some((name, _)) = twice.next() {
                let message = format!(
                    "makes {}, which already exists; expected another name for that one",
                    quoted(&name)
                );
                report.wrong(&path, message);
            }
        }
    }
}

fn numbered(written: &str, number: u32) -> String {
    match number {
        0 => written.to_owned(),
        number => name_of(written, number),
    }
}

/// Prefixes of the networks behind several mobile routers: the written one and its successors.
struct Networks {
    first: u128,
    length: u8,
}

impl Networks {
    /// Returns the prefixes of the networks behind a mobile with a count; `None` if there are none, or if they do not
    /// all fit behind the first.
    fn of(name: &str, mobile: &RawMobile, report: &mut Report<'_>) -> Option<Networks> {
        let count = mobile.count?;
        let text = mobile.mobility.as_ref()?.network_prefix()?;
        let first = prefix(text).ok()?;
        let networks = Networks {
            first: first.address().to_bits(),
            length: first.length(),
        };
        if prefix(&networks.text(count)).is_err() {
            let path = Path::default().key("mobiles").key(name).key("mobility");
            let message = format!(
                "does not leave room for {count} consecutive networks of its length; expected a longer prefix, like a \"/64\""
            );
            report.wrong(&path.key("network_prefix"), message);
            return None;
        }
        Some(networks)
    }

    /// Returns the network of a copy.
    fn text(&self, number: u32) -> String {
        let step = 1u128.checked_shl(128 - u32::from(self.length)).unwrap_or(0);
        let further = step.saturating_mul(u128::from(number.saturating_sub(1)));
        let address = Ipv6Addr::from_bits(self.first.saturating_add(further));
        format!("{address}/{}", self.length)
    }
}
