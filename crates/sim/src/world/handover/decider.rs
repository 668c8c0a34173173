//! A mobile whose link is chosen by a decision from outside.

use super::{Chooser, Due};
use crate::scenario::model::{Handover, OldQueue};
use crate::world::World;
use baton_proto::interface::LinkEvent;
use baton_proto::mobility::decision::{Answer, Decision, LinkView, MobileView, Occasion};
use baton_proto::time::{Duration, Instant};

/// A decision is asked again this much later at the earliest, so that a run ends.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);

/// The decision, and what it is told of the links and has asked for.
#[derive(Debug)]
pub struct Decider {
    decision: Box<dyn Decision>,
    /// The links to choose from.
    links: Vec<usize>,
    known: Vec<Known>,
    /// The link to use, and how, as answered at a time.
    wanted: Option<(Instant, Wanted)>,
    /// When to ask again.
    ask_at: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Wanted {
    place: usize,
    handover: Handover,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    view: LinkView,
    /// Since when it is down, if it is.
    down_since: Option<Instant>,
}

impl Decider {
    pub fn new(decision: Box<dyn Decision>, links: Vec<usize>) -> Decider {
        let down = Known {
            view: LinkView::default(),
            down_since: Some(Instant::ZERO),
        };
        Decider {
            decision,
            known: vec![down; links.len()],
            links,
            wanted: None,
            ask_at: None,
        }
    }

    /// The links to choose from; one stands for a radio network.
    pub fn links(&self) -> &[usize] {
        &self.links
    }

    /// When it has something to do.
    pub fn deadline(&self) -> Option<Instant> {
        let wanted = self.wanted.map(|(at, _)| at);
        [wanted, self.ask_at].into_iter().flatten().min()
    }

    fn learn(&mut self, now: Instant, place: usize, event: LinkEvent) {
        let known = &mut self.known[place];
        match event {
            LinkEvent::Up => {
                (known.view.up, known.view.going_down) = (true, false);
                known.down_since = None;
            }
            LinkEvent::Down => {
                (known.view.up, known.view.going_down) = (false, false);
                known.down_since.get_or_insert(now);
            }
            LinkEvent::GoingDown => known.view.going_down = true,
            LinkEvent::Rollback => known.view.going_down = false,
            _ => {}
        }
    }

    fn ask(&mut self, occasion: Occasion, mobile: &MobileView) {
        match self.decision.on_event(occasion, mobile) {
            Some(Answer::Use { link, soft, outage }) if link < self.links.len() => {
                let handover = match soft {
                    true => Handover::Soft {
                        overlap: None,
                        old_queue: OldQueue::Stays,
                        outgoing_after: Duration::ZERO,
                    },
                    false => Handover::Hard {
                        outage,
                        old_queue: OldQueue::Discarded,
                    },
                };
                let wanted = Wanted {
                    place: link,
                    handover,
                };
                self.wanted = Some((mobile.now, wanted));
            }
            Some(Answer::AskAgain(after)) => {
                self.ask_at = Some(mobile.now + after.max(SHORTEST_WAIT));
            }
            Some(Answer::Use { .. }) | None => {}
        }
    }

    /// The handover that was answered, unless it leads to where the mobile is.
    fn due(&mut self, used: Option<usize>) -> Option<Due> {
        let (now, Wanted { place, handover }) = self.wanted.take()?;
        if used == Some(place) {
            return None;
        }
        // A link that was lost is left as such, whatever the answer says.
        let lost_at = used.and_then(|used| self.known[used].down_since);
        Some(Due {
            at: lost_at.unwrap_or(now),
            link: Some(self.links[place]),
            handover: lost_at.is_none().then_some(handover),
        })
    }
}

impl World {
    /// The link with which a mobile begins: the one that its decision names when it hears which links are up, or else the
    /// first that is.
    pub(in super::super) fn begin_decided(&self, decider: &mut Decider) -> Option<usize> {
        let up = |&place: &usize| self.wires[decider.links[place]].works;
        let up: Vec<usize> = (0..decider.links.len()).filter(up).collect();
        for &place in &up {
            decider.learn(Instant::ZERO, place, LinkEvent::Up);
            let view = self.view_for(decider, None);
            decider.ask(Occasion::Said(place, LinkEvent::Up), &view);
        }
        let named = decider.wanted.take().map(|(_, wanted)| wanted.place);
        let place = named.or_else(|| up.first().copied()).unwrap_or(0);
        decider.links.get(place).copied()
    }

    /// Tells the decision of a mobile, if it has one, what a link says.
    pub(super) fn tell_decision(&mut self, number: usize, link: usize, event: LinkEvent) {
        let now = self.now;
        if let Chooser::Decision(decider) = &mut self.mobiles[number].chooser
            && let Some(place) = decider.links.iter().position(|&known| known == link)
        {
            decider.learn(now, place, event);
            self.ask_decision(number, Occasion::Said(place, event));
        }
    }

    /// What a mobile's decision is told that a radio network's link receives, from now on.
    pub(in super::super) fn measured(&mut self, number: usize, link: usize, received_dbm: f64) {
        if let Chooser::Decision(decider) = &mut self.mobiles[number].chooser
            && let Some(place) = decider.links.iter().position(|&known| known == link)
        {
            decider.known[place].view.received_dbm = Some(received_dbm);
        }
    }

    /// The handover that a mobile's decision wants now, if any; it is asked first, if it wanted to be.
    pub(super) fn next_decided(&mut self, number: usize) -> Option<Due> {
        let now = self.now;
        let Chooser::Decision(decider) = &mut self.mobiles[number].chooser else {
            return None;
        };
        if decider.ask_at.is_some_and(|at| at <= now) {
            decider.ask_at = None;
            self.ask_decision(number, Occasion::Asked);
        }
        let used = self.place_in_use(number);
        match &mut self.mobiles[number].chooser {
            Chooser::Decision(decider) => decider.due(used),
            _ => None,
        }
    }

    fn ask_decision(&mut self, number: usize, occasion: Occasion) {
        let used = self.place_in_use(number);
        let Chooser::Decision(decider) = &self.mobiles[number].chooser else {
            return;
        };
        let view = self.view_for(decider, used);
        if let Chooser::Decision(decider) = &mut self.mobiles[number].chooser {
            decider.ask(occasion, &view);
        }
    }

    /// The place of the link in use, or that a handover under way leads to.
    fn place_in_use(&self, number: usize) -> Option<usize> {
        let mobile = &self.mobiles[number];
        let Chooser::Decision(decider) = &mobile.chooser else {
            return None;
        };
        let under_way = mobile
            .handovers
            .last()
            .filter(|last| last.completed.is_none());
        let link = match (&mobile.preparation, under_way) {
            (Some(preparation), _) => Some(preparation.link),
            (None, Some(handover)) => handover.links[1],
            (None, None) => mobile.attached,
        };
        let radio = mobile.radio;
        decider.links.iter().position(|&known| {
            let network = self.wires.place(known).map(|place| place.radio as usize);
            Some(known) == link || network.is_some() && network == radio
        })
    }

    fn view_for(&self, decider: &Decider, used: Option<usize>) -> MobileView {
        let place_and_power = |&link: &usize| {
            let along = self.scenario.links.get(link)?.reception.as_ref()?;
            let run = self.runs.get(&link)?;
            let position_m = run.position_m(self.now);
            Some((position_m, along.reception.measured_dbm(position_m)))
        };
        let seen: Vec<_> = decider.links.iter().map(place_and_power).collect();
        let known = decider.known.iter().zip(&seen);
        MobileView {
            now: self.now,
            used,
            position_m: seen
                .iter()
                .flatten()
                .map(|&(position_m, _)| position_m)
                .next(),
            links: known
                .map(|(known, seen)| LinkView {
                    received_dbm: match seen {
                        Some((_, power)) => *power,
                        None => known.view.received_dbm,
                    },
                    ..known.view
                })
                .collect(),
        }
    }
}
