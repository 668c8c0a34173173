//! Resolution of handovers that the network begins (IEEE 802.21).

use super::keys::{RawMih, RawNetworkHandover};
use super::{MobileIpv6, NetworkHandover};
use crate::scenario::document::Path;
use crate::scenario::error::quoted;
use crate::scenario::model::{AttachmentPolicy, LinkIndex, Mobile, NodeIndex};
use crate::scenario::resolve::Report;
use crate::scenario::resolve_links::Links;

/// Resolves the rules of a mobile; `ends` are the point of service and the mobile.
pub(super) fn network_handovers(
    raw: &RawMih,
    ends: [NodeIndex; 2],
    path: &Path,
    links: &Links,
    report: &mut Report<'_>,
) -> Vec<NetworkHandover> {
    let mut found: Vec<NetworkHandover> = Vec::new();
    let all = raw.network_handovers.iter().flatten().enumerate();
    for (number, rule) in all {
        let path = path.key("network_handovers").index(number);
        let Some(rule) = resolve(rule, ends, &path, links, report) else {
            continue;
        };
        if found.iter().any(|other| other.from == rule.from) {
            let message = "is left by another rule; expected each link once".to_owned();
            report.wrong(&path.key("from"), message);
        }
        found.push(rule);
    }
    found
}

fn resolve(
    raw: &RawNetworkHandover,
    [service, mobile]: [NodeIndex; 2],
    path: &Path,
    links: &Links,
    report: &mut Report<'_>,
) -> Option<NetworkHandover> {
    let from = links.find(&raw.from, &path.key("from"), report)?;
    let to = links.find(&raw.to, &path.key("to"), report)?;
    if links.ends(from) != [service, mobile] {
        let message = format!(
            "{} does not lead from the point of service, which watches its queue, to the mobile; expected \
             between = [{}, {}]",
            quoted(&raw.from),
            quoted(&links.nodes[service.0]),
            quoted(&links.nodes[mobile.0])
        );
        report.wrong(&path.key("from"), message);
    }
    if from == to {
        let message = "is the link that is left; expected another".to_owned();
        report.wrong(&path.key("to"), message);
    }
    Some(NetworkHandover {
        from,
        to,
        overloaded_for: raw.overloaded_for.0,
        powers_down: raw.powers_down.unwrap_or(false),
    })
}

/// Checks that a mobile can obey its rules: it may use their links, and does not decide by itself.
pub(crate) fn check(mobile: &Mobile, links: &Links, path: &Path, report: &mut Report<'_>) {
    let services = MobileIpv6::of(mobile).and_then(|own| own.mih.as_ref());
    let rules = services.map_or(&[][..], |services| &services.network_handovers);
    let path = path.key("mobility").key("mih").key("network_handovers");
    if !rules.is_empty() && matches!(mobile.attachment, AttachmentPolicy::Decision(_)) {
        let message =
            "is for a mobile with a timetable or failback; expected one of them, not a decision";
        report.wrong_key(&path, message.to_owned());
    }
    let access = mobile.attachment.access_links(&links.radios);
    for (number, rule) in rules.iter().enumerate() {
        for (key, link) in [("from", rule.from), ("to", rule.to)] {
            check_access(link, &access, &path.index(number).key(key), report);
        }
    }
}

fn check_access(link: LinkIndex, access: &[LinkIndex], path: &Path, report: &mut Report<'_>) {
    if !access.contains(&link) {
        let message = "is no access link of the mobile; expected a link of its timetable or failback \
                       that is not a radio network";
        report.wrong(path, message.to_owned());
    }
}
