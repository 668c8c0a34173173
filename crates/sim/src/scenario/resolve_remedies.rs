//! Remedies of flows: which they are, and whether they can act where they would be installed.

use super::document::Path;
use super::error::quoted;
use super::model::{Flow, Mobile, NodeIndex, Transport};
use super::raw::RawScenario;
use super::raw_flows::RawFlow;
use super::resolve::Report;
use super::resolve_links::Links;
use super::resolve_protocols::Agents;
use baton_proto::remedies::{GatewayPart, Kind, Place, Tells};

/// The remedies that a flow names.
pub(super) fn named(raw: &RawFlow, path: &Path, report: &mut Report<'_>) -> Vec<Kind> {
    let Some(given) = &raw.remedies else {
        return Vec::new();
    };
    let path = path.key("remedies");
    let mut kinds: Vec<Kind> = Vec::new();
    // The schema has taken no other names, and "none" is none.
    for kind in given.names().filter_map(Kind::named) {
        let other = kinds
            .iter()
            .find_map(|&other| Some((other, kind.contradicts(other)?)));
        if let Some((other, held)) = other {
            let message = format!(
                "{} and {} contradict each other: both set {}; expected one of them",
                quoted(other.name()),
                quoted(kind.name()),
                held.text()
            );
            report.wrong(&path, message);
        }
        kinds.push(kind);
    }
    kinds
}

/// What decides whether a remedy can act.
pub(super) struct Around<'a> {
    /// All links.
    pub links: &'a Links,
    /// All mobiles.
    pub mobiles: &'a [Mobile],
    /// The agents of their protocols.
    pub agents: &'a Agents,
}

/// Refuses remedies that cannot act.
pub(super) fn check(raw: &RawScenario, flows: &[Flow], around: &Around, report: &mut Report<'_>) {
    for flow in flows.iter().filter(|flow| !flow.remedies.is_empty()) {
        let place = raw.flows.iter().position(|raw| raw.name == flow.name);
        let path = Path::default().key("flows").index(place.unwrap_or(0));
        let path = path.key("remedies");
        for &kind in &flow.remedies {
            if let Err(why) = can_act(kind, flow, around) {
                report.wrong(&path, format!("{} {why}", quoted(kind.name())));
            }
        }
    }
}

/// Whether a remedy can act on a flow; if not, why, as the rest of a sentence.
fn can_act(kind: Kind, flow: &Flow, around: &Around) -> Result<(), String> {
    if !matches!(flow.transport, Transport::Tcp { .. }) {
        return Err("acts on TCP; expected transport \"tcp\"".to_owned());
    }
    let at = |node| around.mobiles.iter().find(|mobile| mobile.node == node);
    let (mobile, sends) = match (at(flow.from), at(flow.to)) {
        (Some(mobile), None) => (mobile, true),
        (None, Some(mobile)) => (mobile, false),
        (None, None) => {
            return Err(
                "needs an end that moves; expected from or to to be one of `mobiles`".to_owned(),
            );
        }
        (Some(_), Some(_)) => {
            return Err(
                "needs an end that stays; expected from or to to be none of `mobiles`".to_owned(),
            );
        }
    };
    match kind.place() {
        Place::MobileReceiver | Place::GatewayTowardsMobile if sends => {
            return Err("acts where the mobile receives; here it sends".to_owned());
        }
        Place::CorrespondentSender | Place::BothEnds if sends => {
            return Err("acts where the correspondent sends; here the mobile does".to_owned());
        }
        _ => {}
    }
    let correspondent = if sends { flow.to } else { flow.from };
    if kind.at_gateway().is_some() {
        return can_act_at_gateway(mobile, correspondent, around);
    }
    beside_split(kind, flow, sends)?;
    if kind.tells() != Tells::BindingUpdate {
        return Ok(());
    }
    let Some(mobility) = mobile.ipv6() else {
        return Err("hears of a handover by a binding update; expected mobility with protocol \"mobile-ipv6\" or \"nemo\" at the mobile".to_owned());
    };
    let mut home_agents = around.agents.ipv6.get(mobility.home_agent).into_iter();
    let is_home_agent = home_agents.any(|agent| agent.node == correspondent);
    if !is_home_agent && !mobility.route_optimization {
        return Err("hears of a handover by a binding update, which goes to the home agent alone; expected route_optimization = true, or a flow from the home agent".to_owned());
    }
    Ok(())
}

/// Whether the gateways of a mobile see what it exchanges with a correspondent.
fn can_act_at_gateway(
    mobile: &Mobile,
    correspondent: NodeIndex,
    around: &Around,
) -> Result<(), String> {
    if mobile.ipv4().is_some() {
        return Err("does not follow a mobile of Mobile IPv4; expected protocol \"mobile-ipv6\", or none, at the mobile".to_owned());
    }
    let access = mobile.attachment.access_links(&around.links.radios);
    let ends = access
        .iter()
        .flat_map(|link| around.links.specs[link.0].ends);
    if ends.into_iter().any(|end| end == correspondent) {
        return Err(
            "acts at the gateway, which is an end of this flow; expected a flow that passes it"
                .to_owned(),
        );
    }
    Ok(())
}

/// Whether a remedy hears of the mobile though another one splits the connection.
fn beside_split(kind: Kind, flow: &Flow, sends: bool) -> Result<(), String> {
    let mut others = flow.remedies.iter();
    let split = others.find(|other| other.at_gateway() == Some(GatewayPart::Split));
    match split {
        Some(split) if kind.at_correspondent(!sends).is_some() => Err(format!(
            "acts at the correspondent, whose connection {} ends at the gateway: it neither hears of the mobile's handover nor \
             reaches beyond; expected one of them",
            quoted(split.name())
        )),
        _ => Ok(()),
    }
}
