//! Handovers that the network begins: a mobile whose link is overloaded is ordered to another one.
//!
//! The point of service asks the mobile for the other link's parameters (MIH_Link_Get_Parameters), has it powered up if
//! need be (MIH_Link_Actions), asks for consent (Net_HO_Candidate_Query), has the other link's gateway agree
//! (N2N_HO_Query_Resources, N2N_HO_Commit), and commits the mobile to the handover (Net_HO_Commit). The mobile's report of
//! completion ends it. Each request is retransmitted like a mobile's; a refusal, or no answer, ends the attempt, and the
//! next one follows when the link has been overloaded for the same time again.

use super::{FIRST_TIMEOUT, LONGEST_TIMEOUT, PointOfService, REQUESTS};
use crate::interface::{InterfaceId, TransmitStatus};
use crate::mobility::binding::Retransmission;
use crate::packet::Wording;
use crate::time::{Duration, Instant};
use crate::wire::mih::{
    ActionKind, ActionOutcome, Answer, Body, Content, Handover, LinkAction, LinkIdentifier, Mih,
    MihfId, OperationMode, Order, OrderStep, Request, Response, Status, Step,
};
use core::net::Ipv6Addr;
use std::collections::BTreeMap;

/// Rule for a mobile's link that is overloaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offload {
    /// The mobile.
    pub mobile: MihfId,
    /// Its link, at one of the point of service's interfaces.
    pub from: LinkIdentifier,
    /// The link to use instead.
    pub to: LinkIdentifier,
    /// Time for which all packets must have found the link's queue more than half full.
    pub after: Duration,
    /// True to have the link that is left powered down once the handover is complete.
    pub powers_down: bool,
}

/// A link with a rule.
#[derive(Clone, Debug)]
struct Watched {
    rule: Offload,
    overloaded_since: Option<Instant>,
}

/// Stage of a handover that the network begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Query of the new link's parameters.
    Parameters,
    /// The new link is powered up.
    PowerUp,
    /// Query of the mobile's consent.
    Consent,
    /// Query of the new gateway's resources.
    Resources,
    /// Commitment of the new gateway.
    Reservation,
    /// Commitment of the mobile.
    Commitment,
    /// The mobile is on its way.
    Completion,
    /// The old link is powered down.
    PowerDown,
}

/// A handover of a mobile that the network has begun.
#[derive(Clone, Debug)]
struct Begun {
    rule: Offload,
    stage: Stage,
    /// The request on its way, its destination, and its timer.
    sent: Option<(Mih, Ipv6Addr, Retransmission)>,
}

/// Rules, and the handovers begun by them.
#[derive(Clone, Debug, Default)]
pub(super) struct Orders {
    watched: BTreeMap<InterfaceId, Watched>,
    begun: BTreeMap<MihfId, Begun>,
}

impl Orders {
    /// Returns true if the queues of links are watched.
    pub fn watch(&self) -> bool {
        !self.watched.is_empty()
    }

    pub fn poll_timeout(&self) -> Option<Instant> {
        let sent = self.begun.values().filter_map(|begun| begun.sent.as_ref());
        sent.map(|(.., timer)| timer.deadline()).min()
    }
}

/// Result of a stage.
enum Outcome {
    Next(Stage),
    /// The attempt has failed, for this reason.
    Failed(&'static str),
    Done,
}

impl PointOfService {
    /// Adds a rule for the link at one of its own interfaces.
    pub fn add_offload(&mut self, interface: InterfaceId, rule: Offload) {
        let watched = Watched {
            rule,
            overloaded_since: None,
        };
        self.orders.watched.insert(interface, watched);
    }

    /// Takes in the status of a packet at one of its own interfaces. Returns true if a handover begins.
    pub fn handle_status(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        status: TransmitStatus,
    ) -> bool {
        let TransmitStatus::Queued { pressure } = status else {
            return false;
        };
        let Some(watched) = self.orders.watched.get_mut(&interface) else {
            return false;
        };
        if pressure.is_none() {
            watched.overloaded_since = None;
            return false;
        }
        let since = *watched.overloaded_since.get_or_insert(now);
        if since + watched.rule.after > now {
            return false;
        }
        watched.overloaded_since = None;
        let rule = watched.rule.clone();
        if self
            .orders
            .begun
            .get(&rule.mobile)
            .is_some_and(|begun| begun.sent.is_some())
        {
            return false;
        }
        self.note("Link Overloaded", words(&rule.from));
        let mobile = rule.mobile.clone();
        self.begin(now, rule, Stage::Parameters);
        self.orders.begun.contains_key(&mobile)
    }

    fn note(&mut self, name: &'static str, details: String) {
        self.events.push_back(Wording::new(name, details));
    }

    /// Sends the request of a stage.
    fn begin(&mut self, now: Instant, rule: Offload, stage: Stage) {
        let Some((destination, address)) = self.destination(&rule, stage) else {
            self.orders.begun.remove(&rule.mobile);
            return self.note(
                "Handover Not Ordered",
                "the mobile is not registered".to_owned(),
            );
        };
        let sent = request(&rule, stage).map(|body| {
            self.transaction = self.transaction.wrapping_add(1) & 0x0FFF;
            let ends = [self.own.identifier.clone(), destination];
            let message = Mih::new(self.transaction, ends, body);
            self.send(address, &message);
            (message, address, Retransmission::begin(now, FIRST_TIMEOUT))
        });
        let mobile = rule.mobile.clone();
        self.orders
            .begun
            .insert(mobile, Begun { rule, stage, sent });
    }

    /// Returns the receiver of a stage's request: the new link's gateway, or the mobile, if it is registered.
    fn destination(&self, rule: &Offload, stage: Stage) -> Option<(MihfId, Ipv6Addr)> {
        if matches!(stage, Stage::Resources | Stage::Reservation) {
            let gateway = self.gateways.get(&rule.to)?;
            return Some((gateway.identifier.clone(), gateway.address));
        }
        let registration = self.served.get(&rule.mobile)?.registration.as_ref()?;
        Some((rule.mobile.clone(), registration.subscriptions.address))
    }

    /// Takes in a response to a request of a handover that the network has begun, and takes the next step.
    pub(super) fn handle_answer(&mut self, now: Instant, message: &Mih) {
        let mut all = self.orders.begun.values();
        let answered = all.find(|begun| {
            let sent = begun.sent.as_ref();
            sent.is_some_and(|(request, ..)| request.is_answered_by(message))
        });
        let Some(begun) = answered.cloned() else {
            self.counts.unexpected += 1;
            return;
        };
        let is_own = self.is_own(&begun.rule.to);
        match outcome(begun.stage, &begun.rule.to, &message.body, is_own) {
            Outcome::Next(stage) => {
                if stage == Stage::Completion {
                    self.note("Handover Ordered", words(&begun.rule.to));
                }
                self.begin(now, begun.rule, stage);
            }
            Outcome::Failed(reason) => self.give_up(&begun.rule.mobile, reason),
            Outcome::Done => {
                self.orders.begun.remove(&begun.rule.mobile);
            }
        }
    }

    fn give_up(&mut self, mobile: &MihfId, reason: &str) {
        if self.orders.begun.remove(mobile).is_some() {
            self.note("Handover Not Ordered", reason.to_owned());
        }
    }

    /// Takes in a mobile's report, from its new address, that it is registered over a link.
    pub(super) fn note_arrival(
        &mut self,
        now: Instant,
        (address, mobile): (Ipv6Addr, &MihfId),
        link: &LinkIdentifier,
    ) {
        let here = |begun: &Begun| {
            matches!(begun.stage, Stage::Commitment | Stage::Completion) && begun.rule.to == *link
        };
        let Some(begun) = self
            .orders
            .begun
            .get(mobile)
            .filter(|begun| here(begun))
            .cloned()
        else {
            return;
        };
        if begun.stage == Stage::Commitment {
            self.note("Handover Ordered", words(link));
        }
        self.orders.begun.remove(mobile);
        if let Some(own) = self.subscriptions(mobile) {
            own.address = address;
        }
        if begun.rule.powers_down {
            self.begin(now, begun.rule, Stage::PowerDown);
        }
    }

    /// Retransmits the requests that are due, or gives up on them.
    pub(super) fn repeat_orders(&mut self, now: Instant) {
        let due = |begun: &&Begun| {
            let sent = begun.sent.as_ref();
            sent.is_some_and(|(.., timer)| timer.deadline() <= now)
        };
        let due: Vec<MihfId> = self
            .orders
            .begun
            .values()
            .filter(due)
            .map(|begun| begun.rule.mobile.clone())
            .collect();
        for mobile in due {
            let begun = self.orders.begun.get_mut(&mobile);
            let Some((message, address, timer)) = begun.and_then(|begun| begun.sent.as_mut())
            else {
                continue;
            };
            if timer.sent() == REQUESTS {
                self.give_up(&mobile, "no answer");
                continue;
            }
            timer.again(now, LONGEST_TIMEOUT);
            let (message, address) = (message.clone(), *address);
            self.send(address, &message);
        }
    }
}

/// Builds the request of a stage, if it has one.
fn request(rule: &Offload, stage: Stage) -> Option<Body> {
    let act = |link: &LinkIdentifier, kind| {
        let action = LinkAction {
            link: link.clone(),
            kind,
            scans: false,
        };
        Body::Request(Request::Act(vec![action]))
    };
    let between = |step| {
        Body::Handover(Handover {
            mobile: Some(rule.mobile.clone()),
            step,
            current: None,
            content: Content::Request(rule.to.clone()),
        })
    };
    Some(match stage {
        Stage::Parameters => Body::Request(Request::GetParameters(vec![rule.to.clone()])),
        Stage::PowerUp => act(&rule.to, ActionKind::PowerUp),
        Stage::Consent => Body::Order(Order::request(OrderStep::Query, rule.to.clone())),
        Stage::Resources => between(Step::Query),
        Stage::Reservation => between(Step::Commit),
        Stage::Commitment => Body::Order(Order::request(OrderStep::Commit, rule.to.clone())),
        Stage::Completion => return None,
        Stage::PowerDown => act(&rule.from, ActionKind::PowerDown),
    })
}

/// Returns the result of a stage by its response; a gateway of its own need not be asked.
fn outcome(stage: Stage, to: &LinkIdentifier, body: &Body, is_own: bool) -> Outcome {
    let status = match body {
        Body::Order(Order {
            content: Content::Response { status, .. },
            ..
        })
        | Body::Handover(Handover {
            content: Content::Response { status, .. },
            ..
        })
        | Body::Response(Response::Refused(_, status)) => *status,
        _ => Status::Success,
    };
    if status != Status::Success {
        return Outcome::Failed(status.text());
    }
    match (stage, body) {
        (Stage::Parameters, Body::Response(Response::Granted(Answer::Parameters(all)))) => {
            match all.iter().find(|one| one.link == *to) {
                Some(one) if one.mode == Some(OperationMode::PoweredDown) => {
                    Outcome::Next(Stage::PowerUp)
                }
                Some(_) => Outcome::Next(Stage::Consent),
                None => Outcome::Failed("the mobile does not have the link"),
            }
        }
        (Stage::PowerUp, Body::Response(Response::Granted(Answer::Acted(results)))) => {
            match results
                .iter()
                .all(|one| one.outcome == ActionOutcome::Success)
            {
                true => Outcome::Next(Stage::Consent),
                false => Outcome::Failed("the link was not powered up"),
            }
        }
        (Stage::Consent, _) if is_own => Outcome::Next(Stage::Commitment),
        (Stage::Consent, _) => Outcome::Next(Stage::Resources),
        (Stage::Resources, _) => Outcome::Next(Stage::Reservation),
        (Stage::Reservation, _) => Outcome::Next(Stage::Commitment),
        (Stage::Commitment, _) => Outcome::Next(Stage::Completion),
        _ => Outcome::Done,
    }
}

fn words(link: &LinkIdentifier) -> String {
    format!("link {}", String::from_utf8_lossy(link.address()))
}
