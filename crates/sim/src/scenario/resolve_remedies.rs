//! Resolution of remedies of flows, and checks that they can act.

use super::document::Path;
use super::error::quoted;
use super::model::{Flow, Mobile, NodeIndex, Transport};
use super::profiles;
use super::raw::RawScenario;
use super::raw_flows::RawFlow;
use super::resolve::Report;
use super::resolve_links::Links;
use crate::mobility::{self, Agents, Mobility};
use baton_proto::remedies::{GatewayPart, Kind, Place, Scheme, Side, Tells};
use baton_proto::tcp::profile::Recovery;
use serde_json::{Value, json};

/// Returns the facts about each remedy, as JSON, for comparisons.
pub fn json_remedies() -> Value {
    let told = |kind: &Kind| {
        let encrypted = kind.encrypted();
        json!({
            "name": kind.name(),
            "about": kind.about(),
            "installed": kind.place().for_downloads(),
            "quic": encrypted.quic,
            "ipsec": encrypted.ipsec,
            "own": kind.is_own(),
        })
    };
    Kind::ALL.iter().map(told).collect()
}

/// Resolves the remedies that a flow names.
pub(super) fn named(raw: &RawFlow, path: &Path, report: &mut Report<'_>) -> Vec<Scheme> {
    let Some(given) = &raw.remedies else {
        return Vec::new();
    };
    let path = path.key("remedies");
    let mut schemes: Vec<Scheme> = Vec::new();
    for name in given.names().iter().filter(|name| *name != "none") {
        // The schema allows no other names.
        let Some(kind) = Kind::named(name) else {
            let brought = profiles::resolve_class(name, report.classes);
            match brought.and_then(|(class, classes)| classes.remedy(class)) {
                Ok(external) => schemes.push(Scheme::External(external)),
                Err(why) => report.wrong(&path, format!("{} {why}", quoted(name))),
            }
            continue;
        };
        refuse_contradiction(kind, &schemes, &path, report);
        schemes.push(Scheme::Published(kind));
    }
    schemes
}

fn refuse_contradiction(kind: Kind, others: &[Scheme], path: &Path, report: &mut Report<'_>) {
    let contradicts = |other: &Scheme| match other {
        Scheme::Published(other) => Some((*other, kind.contradicts(*other)?)),
        // The controls of a class are unknown.
        Scheme::External(_) => None,
    };
    if let Some((other, held)) = others.iter().find_map(contradicts) {
        let message = format!(
            "{} and {} contradict each other: both set {}; expected one of them",
            quoted(other.name()),
            quoted(kind.name()),
            held.text()
        );
        report.wrong(path, message);
    }
}

/// Parts of a scenario that decide whether a remedy can act.
pub(super) struct RemedyContext<'a> {
    /// All links.
    pub links: &'a Links,
    /// All mobiles.
    pub mobiles: &'a [Mobile],
    /// The agents of their protocols.
    pub agents: &'a Agents,
}

/// Reports remedies that cannot act.
pub(super) fn check(
    raw: &RawScenario,
    flows: &[Flow],
    around: &RemedyContext,
    report: &mut Report<'_>,
) {
    for flow in flows.iter().filter(|flow| !flow.remedies.is_empty()) {
        let place = raw.flows.iter().position(|raw| raw.name == flow.name);
        let path = Path::default().key("flows").index(place.unwrap_or(0));
        let path = path.key("remedies");
        for scheme in &flow.remedies {
            if let Err(why) = can_act(scheme, flow, around) {
                report.wrong(&path, format!("{} {why}", quoted(scheme.name())));
            }
            if *scheme == Scheme::Published(Kind::SplitConnection) && changes_gateway(flow, around)
            {
                let message = "\"split-connection\" stays at the old gateway when the mobile moves to another: unless the \
                               old one is still on the path, the connection stalls for ever; \"satellite-pep\" moves with \
                               the mobile";
                report.warn(&path, message.to_owned());
            }
        }
    }
}

/// Returns true if the access links of a flow's mobile lead to several gateways.
fn changes_gateway(flow: &Flow, around: &RemedyContext) -> bool {
    let mut mobiles = around.mobiles.iter();
    let mobile = mobiles.find(|mobile| [flow.from, flow.to].contains(&mobile.node));
    let Some(mobile) = mobile else { return false };
    around.links.gateways(mobile).len() > 1
}

/// Reports remedies that need the help of a base station and cannot have it.
pub(super) fn check_base_stations(
    raw: &RawScenario,
    (flows, mobiles): (&[Flow], &[Mobile]),
    links: &Links,
    report: &mut Report<'_>,
) {
    let repeats = links.specs.iter().any(|link| link.config.repeats());
    let written = raw.flows.iter().enumerate();
    for (index, written) in written.filter(|(_, flow)| flow.remedies.is_some()) {
        let Some(flow) = flows.iter().find(|flow| flow.name == written.name) else {
            continue;
        };
        let speaks = |mobile: &Mobile| {
            mobile.mobility.is_some() && [flow.from, flow.to].contains(&mobile.node)
        };
        let why = if !repeats {
            "needs a link with link-layer retransmission; expected `retransmission` at one of `links`"
        } else if mobiles.iter().any(speaks) {
            "is notified by a base station, which can reach only the entry of a tunnel, not the sender in it; expected no \
             mobility at the flow's mobile"
        } else {
            continue;
        };
        for scheme in &flow.remedies {
            if *scheme == Scheme::Published(Kind::Ebsn) {
                let path = Path::default().key("flows").index(index).key("remedies");
                report.wrong(&path, format!("{} {why}", quoted(scheme.name())));
            }
        }
    }
}

/// Checks that a remedy can act on a flow; an error is the rest of a sentence.
fn can_act(scheme: &Scheme, flow: &Flow, around: &RemedyContext) -> Result<(), String> {
    let Transport::Tcp { sender, receiver } = &flow.transport else {
        return Err("acts on TCP; expected transport \"tcp\"".to_owned());
    };
    if *scheme == Scheme::Published(Kind::Ebsn) {
        // Its sender may be anywhere: see `check_base_stations`.
        return Ok(());
    }
    let at = |node| around.mobiles.iter().find(|mobile| mobile.node == node);
    let (mobile, sends) = match (at(flow.from), at(flow.to)) {
        (Some(mobile), None) => (mobile, true),
        (None, Some(mobile)) => (mobile, false),
        (None, None) => {
            return Err(
                "needs a mobile end; expected `from` or `to` to be one of `mobiles`".to_owned(),
            );
        }
        (Some(_), Some(_)) => {
            return Err(
                "needs a fixed end; expected only one of `from` and `to` to be one of `mobiles`"
                    .to_owned(),
            );
        }
    };
    match scheme {
        Scheme::Published(kind) => match kind.place() {
            Place::MobileReceiver if sends => {
                return Err("acts when the mobile receives; here it sends".to_owned());
            }
            Place::CorrespondentSender | Place::BothEnds if sends => {
                return Err("acts when the correspondent sends; here the mobile does".to_owned());
            }
            _ => {}
        },
        // The notices of a class at the mobile may reach it.
        Scheme::External(_) if flow.remedies.iter().any(is_class_at_mobile) => return Ok(()),
        Scheme::External(_) => {}
    }
    let repairs_by_sack = matches!(sender.recovery, Recovery::Sack | Recovery::Linux);
    let takes_sack = sender.sack && receiver.sack && repairs_by_sack;
    if sends && scheme.at_gateway() == Some(GatewayPart::Watch) && !takes_sack {
        return Err("reports gaps to a sending mobile by selective acknowledgments; expected sack = true at both ends of \
                    the flow and recovery \"sack\" or \"linux\" at the mobile, or a profile that has them".to_owned());
    }
    let correspondent = if sends { flow.to } else { flow.from };
    if scheme.at_gateway().is_some() {
        return can_act_at_gateway(mobile, correspondent, around);
    }
    beside_split(scheme, flow, sends)?;
    if scheme.tells() != Tells::BindingUpdate {
        return Ok(());
    }
    mobility::check_binding_updates(mobile.mobility.as_deref(), correspondent, around.agents)
}

fn is_class_at_mobile(scheme: &Scheme) -> bool {
    matches!(scheme, Scheme::External(external) if external.side() == Side::Mobile)
}

/// Checks that the gateways of a mobile see its packets to and from a correspondent.
fn can_act_at_gateway(
    mobile: &Mobile,
    correspondent: NodeIndex,
    around: &RemedyContext,
) -> Result<(), String> {
    mobile
        .mobility
        .as_deref()
        .map_or(Ok(()), Mobility::check_gateways)?;
    if around.links.gateways(mobile).contains(&correspondent) {
        return Err(
            "acts at the gateway, which is an end of this flow; expected a flow that passes through it"
                .to_owned(),
        );
    }
    Ok(())
}

/// Checks that a remedy learns of the mobile's handovers although another one splits the connection.
fn beside_split(scheme: &Scheme, flow: &Flow, sends: bool) -> Result<(), String> {
    let mut others = flow.remedies.iter();
    let split = others.find(|other| other.at_gateway() == Some(GatewayPart::Split));
    match split {
        Some(split) if scheme.part(Side::Correspondent, !sends).is_some() => Err(format!(
            "acts at the correspondent, whose connection {} ends at the gateway: it does not learn of the mobile's \
             handover, nor reach the mobile; expected only one of them",
            quoted(split.name())
        )),
        _ => Ok(()),
    }
}
