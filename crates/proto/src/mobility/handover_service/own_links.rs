//! Answers of a mobile to its point of service: its consent to a handover, the handover itself, and the parameters and
//! actions of its links.

use super::{HandoverServiceEvent, HandoverServiceSettings};
use crate::interface::{InterfaceId, LinkEvent};
use crate::wire::mih::{
    ActionKind, ActionOutcome, ActionResult, Answer, Body, Content, DetectedLink, LinkAction,
    LinkIdentifier, LinkStatus, Mih, OperationMode, OrderStep, Request, Response, Status,
};

/// Signal strength of a link that is up, in per cent. Chosen: a mobile knows only that it receives the link.
const RECEIVED: u8 = 100;

/// A mobile's links by interface, as their media report them.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnLinks(Vec<OwnLink>);

#[derive(Clone, Copy, Debug, Default)]
struct OwnLink {
    is_down: bool,
    is_powered_down: bool,
    /// Data rate in kbit/s, once reported: the lower one of both directions.
    rate: Option<u16>,
}

impl OwnLink {
    fn is_received(self) -> bool {
        !self.is_down && !self.is_powered_down
    }
}

/// An answer, and the events that follow from it.
type Answered = (Mih, Vec<HandoverServiceEvent>);

impl OwnLinks {
    /// Takes in a medium's event.
    pub fn note(&mut self, interface: InterfaceId, event: LinkEvent) {
        let link = self.link_mut(interface);
        match event {
            LinkEvent::Up => link.is_down = false,
            LinkEvent::Down => link.is_down = true,
            LinkEvent::Parameters(parameters) => link.rate = Some(parameters.kilobits()),
            _ => {}
        }
    }

    /// Notes that the mobile uses a link, which is powered up for that.
    pub fn note_use(&mut self, interface: InterfaceId) {
        self.link_mut(interface).is_powered_down = false;
    }

    fn link_mut(&mut self, InterfaceId(place): InterfaceId) -> &mut OwnLink {
        if self.0.len() <= place {
            self.0.resize(place + 1, OwnLink::default());
        }
        &mut self.0[place]
    }

    fn link(&self, InterfaceId(place): InterfaceId) -> OwnLink {
        self.0.get(place).copied().unwrap_or_default()
    }

    /// Answers a request of the point of service to a mobile that uses this link; `None` if the mobile has no such service.
    pub fn answer(
        &mut self,
        message: &Mih,
        used: Option<&LinkIdentifier>,
        settings: &HandoverServiceSettings,
    ) -> Option<Answered> {
        match &message.body {
            Body::Order(order) => {
                let Content::Request(link) = &order.content else {
                    return None;
                };
                let (status, event) = self.obey((order.step, link), used, settings);
                let mut answer = order.response(status);
                if order.step == OrderStep::Query {
                    answer.current = used.cloned();
                }
                let events = event.into_iter().collect();
                Some((message.answer(Body::Order(answer)), events))
            }
            Body::Request(Request::GetParameters(links)) => {
                let known = links.iter();
                let known = known.filter_map(|link| self.status(link, settings));
                let answer = Answer::Parameters(known.collect());
                Some((granted(message, answer), vec![]))
            }
            Body::Request(Request::Act(actions)) => {
                let (mut results, mut events) = (vec![], vec![]);
                for action in actions {
                    let (result, event) = self.act(action, used, settings);
                    results.push(result);
                    events.extend(event);
                }
                Some((granted(message, Answer::Acted(results)), events))
            }
            Body::Request(request) => {
                let refusal = Response::Refused(request.service(), Status::Rejected);
                Some((message.answer(Body::Response(refusal)), vec![]))
            }
            _ => None,
        }
    }

    /// Consents to a handover, or makes it, unless the link cannot be used. A repeated order succeeds after the handover.
    fn obey(
        &self,
        (step, link): (OrderStep, &LinkIdentifier),
        used: Option<&LinkIdentifier>,
        settings: &HandoverServiceSettings,
    ) -> (Status, Option<HandoverServiceEvent>) {
        let interface = interface_of(link, settings);
        let interface = interface.filter(|&interface| self.link(interface).is_received());
        match (interface, step) {
            _ if !settings.obeys => (Status::Rejected, None),
            (None, _) => (Status::Rejected, None),
            (Some(_), OrderStep::Commit) if used == Some(link) => (Status::Success, None),
            (Some(_), OrderStep::Query) if used == Some(link) => (Status::Rejected, None),
            (Some(_), OrderStep::Query) => (Status::Success, None),
            (Some(interface), OrderStep::Commit) => (
                Status::Success,
                Some(HandoverServiceEvent::Ordered(interface)),
            ),
        }
    }

    fn status(
        &self,
        link: &LinkIdentifier,
        settings: &HandoverServiceSettings,
    ) -> Option<LinkStatus> {
        let own = self.link(interface_of(link, settings)?);
        Some(LinkStatus {
            link: link.clone(),
            mode: Some(match own.is_powered_down {
                true => OperationMode::PoweredDown,
                false => OperationMode::Normal,
            }),
            rate: own.rate,
        })
    }

    /// Carries out an action. The link in use is neither disconnected nor powered down.
    fn act(
        &mut self,
        action: &LinkAction,
        used: Option<&LinkIdentifier>,
        settings: &HandoverServiceSettings,
    ) -> (ActionResult, Option<HandoverServiceEvent>) {
        let in_use = used == Some(&action.link);
        let interface = interface_of(&action.link, settings);
        let (outcome, event) = match (interface, action.kind) {
            (None, _) | (_, ActionKind::LowPower) => (ActionOutcome::Incapable, None),
            (_, ActionKind::None) => (ActionOutcome::Success, None),
            (Some(interface), ActionKind::PowerUp) => {
                self.link_mut(interface).is_powered_down = false;
                (ActionOutcome::Success, None)
            }
            (_, ActionKind::Disconnect | ActionKind::PowerDown) if in_use => {
                (ActionOutcome::Refused, None)
            }
            (Some(interface), kind) => {
                let link = self.link_mut(interface);
                link.is_powered_down |= kind == ActionKind::PowerDown;
                let event = HandoverServiceEvent::Released(interface);
                (ActionOutcome::Success, Some(event))
            }
        };
        let found = |interface| {
            let received = self.link(interface).is_received();
            received.then(|| DetectedLink::new(action.link.address(), b"", RECEIVED))
        };
        let result = ActionResult {
            link: action.link.clone(),
            outcome,
            scan: (action.scans && interface.is_some())
                .then(|| interface.and_then(found).into_iter().collect()),
        };
        (result, event)
    }
}

fn granted(request: &Mih, answer: Answer) -> Mih {
    request.answer(Body::Response(Response::Granted(answer)))
}

/// Returns the interface to one of the mobile's links.
fn interface_of(link: &LinkIdentifier, settings: &HandoverServiceSettings) -> Option<InterfaceId> {
    let place = settings.links.iter().position(|known| known == link)?;
    Some(InterfaceId(place)).filter(|_| link.link_type != 0)
}
