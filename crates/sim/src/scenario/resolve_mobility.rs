//! Resolution of mobiles: timetables and failback.

use super::document::Path;
use super::error::quoted;
use super::model::{
    AttachmentPolicy, CellId, Chosen, Failback, LinkIndex, LinkSpec, Mobile, NodeIndex,
    TimetableEntry, on_radio,
};
use super::profiles;
use super::raw::{
    Named, RawAttachment, RawDecision, RawFailback, RawHandover, RawMobile, RawOldQueue,
};
use super::resolve::{Report, node};
use super::resolve_behind;
use super::resolve_links::Links;
use crate::link::cells;
use crate::mobility::{Agents, Mobility, Surroundings, check_network_handovers};
use baton_proto::mobility::attachment::failback::FailbackTimes;
use baton_proto::mobility::attachment::{Handover, OldQueue};
use baton_proto::time::{Duration, Instant};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Resolves all mobiles.
pub(super) fn mobiles(
    raw: &Named<RawMobile>,
    (links, agents): (&Links, &Agents),
    end: Instant,
    report: &mut Report<'_>,
) -> Vec<Mobile> {
    let top = Path::default().key("mobiles");
    let moving: Vec<&str> = raw.0.iter().map(|(name, _)| name.as_str()).collect();
    let mut mobiles: Vec<Mobile> = Vec::new();
    for (name, mobile) in &raw.0 {
        let path = top.key(name);
        let Some(node) = node(name, &path, links, report) else {
            continue;
        };
        let access = Access { node, links };
        let Some(attachment) = attachment(mobile, &path, &access, end, report) else {
            continue;
        };
        let around = Surroundings {
            links,
            agents,
            others: &mobiles,
            moving: &moving,
        };
        check_radio(mobile, &attachment, &access, &path, report);
        let mobility = mobile
            .mobility
            .as_ref()
            .and_then(|raw| Mobility::resolve(raw, node, &path.key("mobility"), &around, report));
        if mobility.is_some() {
            refuse_outgoing_after(&attachment, &path.key("timetable"), report);
        }
        let home_agent = mobility.as_ref().map(|(own, _)| own.home_agent(agents));
        check_rerouting(
            (&attachment, home_agent),
            &path.key("timetable"),
            links,
            report,
        );
        let (mobility, network_prefix) = mobility.unzip();
        // A fleet's mobiles mostly have the same.
        let last = mobiles.last().and_then(|last| last.mobility.clone());
        let mobility = mobility.map(|own| match last {
            Some(last) if *last == own => last,
            _ => Arc::new(own),
        });
        let mut mobile = Mobile {
            node,
            attachment,
            mobility,
            network_prefix: network_prefix.flatten(),
            class: report.copies.written_of(name).map(Arc::from),
        };
        if let Some(last) = mobiles.last() {
            mobile.share_with(last);
        }
        resolve_behind::check(&mobile, (links, agents), &path, report);
        check_network_handovers(&mobile, links, &path, report);
        mobiles.push(mobile);
    }
    check_home_cells(&mobiles, (links, agents), report);
    mobiles
}

/// Checks that a home agent's mobiles have the same home cell on a radio network: a cell is one link with one prefix.
fn check_home_cells(
    mobiles: &[Mobile],
    (links, agents): (&Links, &Agents),
    report: &mut Report<'_>,
) {
    let home = |mobile: &Mobile| {
        let mobility = mobile.mobility.as_ref()?;
        Some((mobility.home_agent(agents), mobility.home_link()))
    };
    let mut cells: BTreeMap<_, (CellId, &Mobile)> = BTreeMap::new();
    for mobile in mobiles {
        if let Some((agent, Some(link))) = home(mobile)
            && let Some((radio, _, cell)) = on_radio(&links.radios, link)
        {
            cells.entry((radio, agent)).or_insert((cell, mobile));
        }
    }
    for mobile in mobiles.iter().filter(|_| !cells.is_empty()) {
        let Some((agent, link)) = home(mobile) else {
            continue;
        };
        let own = link.and_then(|link| on_radio(&links.radios, link));
        for radio in mobile.attachment.radios(&links.radios) {
            let Some(&(cell, other)) = cells.get(&(radio, agent)) else {
                continue;
            };
            if own.is_none_or(|(_, _, own)| own != cell) {
                let network = &links.radios[radio].config;
                let message = format!(
                    "is not \"{}.{}\", the home link of {}: a cell is the home link of all the mobiles of a home agent \
                     that may enter it, or of none; expected that one",
                    network.name,
                    network.cells[usize::from(cell.0)].name,
                    quoted(&links.nodes[other.node.0])
                );
                let path = Path::default()
                    .key("mobiles")
                    .key(&links.nodes[mobile.node.0]);
                report.wrong(&path.key("mobility").key("home_link"), message);
            }
        }
    }
}

/// Resolves the policy by which a mobile chooses its link, from the one given key of three.
fn attachment(
    mobile: &RawMobile,
    path: &Path,
    access: &Access<'_>,
    end: Instant,
    report: &mut Report<'_>,
) -> Option<AttachmentPolicy> {
    let beside = |key: &str, other: &str, report: &mut Report<'_>| {
        let message = format!("is set beside {other}; expected only one of them");
        report.wrong_key(&path.key(key), message);
        None
    };
    match (&mobile.timetable, &mobile.failback, &mobile.decision) {
        (Some(entries), None, None) => {
            let path = path.key("timetable");
            let entries = timetable(entries, &path, access, end, report);
            Some(AttachmentPolicy::Timetable(entries.into()))
        }
        (None, Some(failback), None) => {
            let path = path.key("failback");
            let failback = access.failback(failback, &path, report);
            Some(AttachmentPolicy::Failback(Box::new(failback)))
        }
        (None, None, Some(decision)) => access
            .decision(decision, &path.key("decision"), report)
            .map(|chosen| AttachmentPolicy::Decision(Box::new(chosen))),
        (Some(_), Some(_), _) => beside("failback", "a timetable", report),
        (Some(_), _, Some(_)) => beside("decision", "a timetable", report),
        (_, Some(_), Some(_)) => beside("decision", "failback", report),
        (None, None, None) => {
            let message = "has no timetable, failback or decision; expected one of them";
            report.wrong(path, message.to_owned());
            None
        }
    }
}

/// Refuses `outgoing_after` with a protocol, whose messages determine when the mobile's own packets leave the old link.
fn refuse_outgoing_after(attachment: &AttachmentPolicy, path: &Path, report: &mut Report<'_>) {
    let AttachmentPolicy::Timetable(entries) = attachment else {
        return;
    };
    for (index, entry) in entries.iter().enumerate() {
        if let Handover::Soft { outgoing_after, .. } = entry.handover
            && !outgoing_after.is_zero()
        {
            let message = "does not go with mobility, where the registration sets the time; expected only one of them";
            report.wrong_key(&path.index(index).key("outgoing_after"), message.to_owned());
        }
    }
}

/// Refuses rerouting for links that cannot hold packets back, and from a router that could not change their tunnel.
fn check_rerouting(
    (attachment, home_agent): (&AttachmentPolicy, Option<NodeIndex>),
    path: &Path,
    links: &Links,
    report: &mut Report<'_>,
) {
    let AttachmentPolicy::Timetable(entries) = attachment else {
        return;
    };
    for (index, pair) in entries.windows(2).enumerate() {
        let [before, entry] = pair else { continue };
        let (Handover::Soft { old_queue, .. } | Handover::Hard { old_queue, .. }) = entry.handover;
        if old_queue != OldQueue::Rerouted {
            continue;
        }
        let path = path.index(index + 1).key("old_queue");
        let Some(LinkIndex(old)) = before.link else {
            report.wrong(&path, "leaves no link".to_owned());
            continue;
        };
        // A radio network is always left softly, as reported.
        let Some(LinkSpec { config, ends, .. }) = links.specs.get(old) else {
            continue;
        };
        if let Some(home_agent) = home_agent
            && !ends.contains(&home_agent)
        {
            let message = format!(
                "packets before {} are in a tunnel to the address that the mobile leaves, and only its home agent {} can \
                 change that; expected \"discard\", \"reroute\" from a link of the home agent, or buffers of the home agent or \
                 of access routers",
                quoted(&config.name),
                quoted(&links.nodes[home_agent.0])
            );
            report.wrong(&path, message);
        }
        if !config.flow_controlled() {
            let message = format!(
                "no packet waits at IP before {}, whose own queue takes them all; expected flow_control at that link, like \"2 packets\"",
                quoted(&config.name)
            );
            report.wrong(&path, message);
        }
    }
}

/// Checks that a radio network is joined and left softly: it breaks links only at its own handovers.
fn check_radio(
    mobile: &RawMobile,
    attachment: &AttachmentPolicy,
    &Access { node, links }: &Access<'_>,
    path: &Path,
    report: &mut Report<'_>,
) {
    let chosen: Vec<LinkIndex> = match attachment {
        AttachmentPolicy::Timetable(entries) => {
            entries.iter().filter_map(|entry| entry.link).collect()
        }
        AttachmentPolicy::Failback(failback) => failback.prefer.clone(),
        AttachmentPolicy::Decision(chosen) => chosen.links.clone(),
    };
    if !chosen.iter().any(|&link| links.is_of_radio(link)) {
        let mut own = links.of(node).filter_map(|link| link.reception.as_ref());
        let asked = own.any(|along| along.mobile == node);
        let along = mobile.track.as_ref().and_then(|track| track.along.as_ref());
        // A mistake in a link along a line was reported with the link.
        let excused = along.is_some() && (asked || !report.is_clean()) || !links.failed.is_empty();
        if mobile.track.is_some() && !excused {
            let message = format!(
                "nothing uses the position of the mobile; expected a link of kind = \"{}\", in its timetable, failback or \
                 decision, or one with line_of_sight or coverage",
                cells::KIND
            );
            report.wrong_key(&path.key("track"), message);
        }
        return;
    }
    let AttachmentPolicy::Timetable(entries) = attachment else {
        return;
    };
    let plain = Handover::Soft {
        overlap: None,
        old_queue: OldQueue::Stays,
        outgoing_after: Duration::ZERO,
    };
    for (index, entry) in entries.iter().enumerate().skip(1) {
        if entry.handover != plain {
            let message = "a handover on a radio network is soft, and both links stay in use; expected handover = \"soft\" and nothing more";
            report.wrong(&path.key("timetable").index(index), message.to_owned());
        }
    }
}

/// A mobile and its possible attachments.
struct Access<'a> {
    node: NodeIndex,
    links: &'a Links,
}

impl Access<'_> {
    /// Returns the link called `name`, if it ends at the mobile.
    fn link(&self, name: &str, path: &Path, report: &mut Report<'_>) -> Option<LinkIndex> {
        if let Some(link) = self.links.find_radio(name, self.node) {
            return Some(link);
        }
        let link = self.links.find(name, path, report)?;
        if self.links.specs[link.0].ends.contains(&self.node) {
            return Some(link);
        }
        let plain = self.links.of(self.node);
        let plain = plain.map(|link| link.config.name.as_str());
        let own: Vec<&str> = plain.chain(self.links.radios_at(self.node)).collect();
        let message = format!(
            "link {} does not end at {} (valid: {})",
            quoted(name),
            quoted(&self.links.nodes[self.node.0]),
            own.join(", ")
        );
        report.wrong(path, message);
        None
    }

    /// Resolves links by name, each once.
    fn links(&self, names: &[String], path: &Path, report: &mut Report<'_>) -> Vec<LinkIndex> {
        let mut links = Vec::new();
        for (index, name) in names.iter().enumerate() {
            let here = path.index(index);
            let Some(link) = self.link(name, &here, report) else {
                continue;
            };
            if links.contains(&link) {
                report.wrong(&here, format!("{} is listed twice", quoted(name)));
            }
            links.push(link);
        }
        links
    }

    fn decision(&self, raw: &RawDecision, path: &Path, report: &mut Report<'_>) -> Option<Chosen> {
        let links = self.links(&raw.links, &path.key("links"), report);
        let brought = profiles::resolve_class(&raw.class, report.classes);
        match brought.and_then(|(class, classes)| classes.decision(class)) {
            Ok(decision) => Some(Chosen {
                decision,
                links,
                names: raw.links.clone(),
            }),
            Err(why) => {
                let message = format!("{} {why}", quoted(&raw.class));
                report.wrong(&path.key("class"), message);
                None
            }
        }
    }

    fn failback(&self, raw: &RawFailback, path: &Path, report: &mut Report<'_>) -> Failback {
        let prefer = self.links(&raw.prefer, &path.key("prefer"), report);
        let or = |time: Option<super::units::Time>, default| time.map_or(default, |time| time.0);
        let default = FailbackTimes::default();
        Failback {
            prefer,
            times: FailbackTimes {
                hold_time: or(raw.hold_time, default.hold_time),
                hysteresis: or(raw.hysteresis, default.hysteresis),
                longest_switch_time: or(raw.longest_switch_time, default.longest_switch_time),
            },
            breaks_first: raw.handover == Some(RawHandover::Hard),
        }
    }
}

fn timetable(
    raw: &[RawAttachment],
    path: &Path,
    access: &Access<'_>,
    end: Instant,
    report: &mut Report<'_>,
) -> Vec<TimetableEntry> {
    if raw.is_empty() {
        report.wrong(
            path,
            "is empty; expected a first entry at \"0 s\"".to_owned(),
        );
    }
    let mut entries: Vec<TimetableEntry> = Vec::with_capacity(raw.len());
    for (index, entry) in raw.iter().enumerate() {
        let path = path.index(index);
        check_time(entry, entries.last(), &path, report);
        let at = Instant::ZERO + entry.at.0;
        if at >= end {
            let message = "is not before the end of the run: it never happens".to_owned();
            report.warn(&path.key("at"), message);
        }
        let link = match entry.attach.as_str() {
            "none" => None,
            name => match access.link(name, &path.key("attach"), report) {
                Some(link) => Some(link),
                None => continue,
            },
        };
        let handover = handover(entry, index == 0, &path, report);
        if let (Handover::Soft { .. }, Some(last)) = (handover, entries.last())
            && last.link == link
        {
            let message = format!("already attached to {}", quoted(&entry.attach));
            report.wrong(&path.key("attach"), message);
        }
        let jitter = entry.jitter.map_or(Duration::ZERO, |jitter| jitter.0);
        entries.push(TimetableEntry {
            at,
            jitter,
            link,
            handover,
            announced: entry.announced.map(|time| time.0),
        });
    }
    entries
}

fn check_time(
    entry: &RawAttachment,
    last: Option<&TimetableEntry>,
    path: &Path,
    report: &mut Report<'_>,
) {
    let at = Instant::ZERO + entry.at.0;
    let Some(last) = last else {
        let path = path.key("at");
        if at != Instant::ZERO && path.0.contains(&super::document::Step::Index(0)) {
            let message = "the first entry gives the mobile's first link; expected \"0 s\"";
            report.wrong(&path, message.to_owned());
        }
        return;
    };
    let outage = match last.handover {
        Handover::Hard { outage, .. } => outage,
        Handover::Soft { .. } => Duration::ZERO,
    };
    check_announcement(entry, (last, outage), path, report);
    let path = path.key("at");
    let jitter = entry.jitter.map_or(Duration::ZERO, |jitter| jitter.0);
    let (earliest, latest) = (
        at.saturating_since(Instant::ZERO + jitter),
        last.at + last.jitter,
    );
    if at <= last.at {
        let message = format!("is not after the entry before it, at {}", seconds(last.at));
        report.wrong(&path, message);
    } else if Instant::ZERO + earliest < latest + outage || Instant::ZERO + earliest <= last.at {
        let message = format!(
            "may begin at {}, but the handover before it lasts until {}; expected a later time, or a shorter \
             outage or jitter",
            seconds(Instant::ZERO + earliest),
            seconds(latest + outage)
        );
        report.wrong(&path, message);
    }
}

/// Refuses an announcement at a time when the link is not in use.
fn check_announcement(
    entry: &RawAttachment,
    (last, outage): (&TimetableEntry, Duration),
    path: &Path,
    report: &mut Report<'_>,
) {
    let Some(announced) = entry.announced else {
        return;
    };
    let path = path.key("announced");
    if last.link.is_none() {
        let message = "leaves no link that could be announced as going down; expected an entry after one with a link";
        return report.wrong_key(&path, message.to_owned());
    }
    // The least distance in time between the two.
    let jitter = entry.jitter.map_or(Duration::ZERO, |jitter| jitter.0);
    let begun = last.at + last.jitter + outage + jitter;
    let longest = (Instant::ZERO + entry.at.0).saturating_since(begun);
    if announced.0 > longest {
        let message = format!(
            "is longer than the link is in use; expected at most \"{} s\"",
            longest.as_secs_f64()
        );
        report.wrong(&path, message);
    }
}

/// Returns seconds without needless zeros.
fn seconds(at: Instant) -> String {
    format!("\"{} s\"", at.as_secs_f64())
}

fn handover(raw: &RawAttachment, first: bool, path: &Path, report: &mut Report<'_>) -> Handover {
    let keys = [
        ("jitter", raw.jitter.is_some()),
        ("handover", raw.handover.is_some()),
        ("overlap", raw.overlap.is_some()),
        ("outgoing_after", raw.outgoing_after.is_some()),
        ("outage", raw.outage.is_some()),
        ("old_queue", raw.old_queue.is_some()),
        ("announced", raw.announced.is_some()),
    ];
    if first {
        report.misplaced(path, &keys, &[], "the first entry, which leaves no link");
    }
    let detaches = raw.attach == "none";
    let default = if detaches {
        RawHandover::Hard
    } else {
        RawHandover::Soft
    };
    match raw.handover.unwrap_or(default) {
        RawHandover::Soft => {
            let own = [
                "jitter",
                "handover",
                "overlap",
                "outgoing_after",
                "old_queue",
                "announced",
            ];
            report.misplaced(path, &keys, &own, "a soft handover");
            if raw.old_queue == Some(RawOldQueue::Keep) {
                wrong_queue(path, "a soft handover", "deliver", report);
            }
            Handover::Soft {
                overlap: raw.overlap.map(|overlap| overlap.0),
                old_queue: match raw.old_queue {
                    None | Some(RawOldQueue::Deliver | RawOldQueue::Keep) => OldQueue::Stays,
                    Some(RawOldQueue::Discard) => OldQueue::Discarded,
                    Some(RawOldQueue::Reroute) => OldQueue::Rerouted,
                },
                outgoing_after: raw.outgoing_after.map_or(Duration::ZERO, |time| time.0),
            }
        }
        RawHandover::Hard => {
            let own = ["jitter", "handover", "outage", "old_queue", "announced"];
            report.misplaced(path, &keys, &own, "a hard handover");
            if raw.old_queue == Some(RawOldQueue::Deliver) {
                wrong_queue(path, "a hard handover", "keep", report);
            }
            Handover::Hard {
                outage: raw.outage.map_or(Duration::ZERO, |outage| outage.0),
                old_queue: match raw.old_queue {
                    None | Some(RawOldQueue::Discard | RawOldQueue::Deliver) => OldQueue::Discarded,
                    Some(RawOldQueue::Keep) => OldQueue::Stays,
                    Some(RawOldQueue::Reroute) => OldQueue::Rerouted,
                },
            }
        }
    }
}

fn wrong_queue(path: &Path, context: &str, own: &str, report: &mut Report<'_>) {
    let message =
        format!("does not go with {context}; expected \"discard\", \"reroute\" or \"{own}\"");
    report.wrong(&path.key("old_queue"), message);
}
