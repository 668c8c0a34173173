//! An external decision as a policy: its view of the mobile, and its answers turned into handovers.

use super::policy::{Due, InUse};
use super::{Handover, OldQueue};
use crate::crosslayer::{NetworkInformation, RemoteEvent};
use crate::interface::{InterfaceId, LinkEvent};
use crate::mobility::attachment::decision::{
    Answer, Decision, LinkView, MobileView, Occasion, Response,
};
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// Minimum time to the next question, so that a run ends.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);

/// An external decision, and its view of the links.
///
/// The decision answers one question at a time. Further questions wait, with the links as they were at the event; the
/// link in use is the one at the time of asking, so that each question reflects the answers before it.
#[derive(Debug)]
pub struct Decider {
    decision: Box<dyn Decision>,
    links: Vec<Known>,
    position_m: Option<f64>,
    /// The answer, and the time of its arrival.
    wanted: Option<(Instant, Wanted)>,
    /// Time of the next question.
    ask_at: Option<Instant>,
    /// Time of the question whose answer is outstanding.
    unanswered: Option<Instant>,
    waiting: VecDeque<Question>,
}

#[derive(Debug)]
struct Question {
    at: Instant,
    occasion: Occasion,
    position_m: Option<f64>,
    links: Vec<LinkView>,
}

#[derive(Clone, Copy, Debug)]
struct Wanted {
    place: usize,
    handover: Handover,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    interface: InterfaceId,
    view: LinkView,
    /// Time of the loss; `None` while up.
    down_since: Option<Instant>,
}

impl Decider {
    /// Creates the policy of a decision among these interfaces, which it knows by their indices.
    pub fn new(decision: Box<dyn Decision>, interfaces: Vec<InterfaceId>) -> Decider {
        let links = interfaces.into_iter().map(|interface| Known {
            interface,
            view: LinkView::default(),
            down_since: Some(Instant::ZERO),
        });
        Decider {
            decision,
            links: links.collect(),
            position_m: None,
            wanted: None,
            ask_at: None,
            unanswered: None,
            waiting: VecDeque::new(),
        }
    }

    pub(super) fn set_received_power(&mut self, interface: InterfaceId, dbm: Option<f64>) {
        if let Some(place) = self.place_of(interface) {
            self.links[place].view.received_dbm = dbm;
        }
    }

    /// Takes in information about the network at an interface.
    pub(super) fn inform(&mut self, interface: InterfaceId, network: NetworkInformation) {
        if let Some(place) = self.place_of(interface) {
            self.links[place].view.network = Some(network);
        }
    }

    /// Takes in an event of a link elsewhere.
    pub(super) fn handle_remote(&mut self, now: Instant, event: RemoteEvent, used: InUse) {
        let RemoteEvent { link, event, rate } = event;
        self.ask(
            now,
            Occasion::Remote(link, event, rate),
            self.place_used(used),
        );
    }

    pub(super) fn set_position(&mut self, metres: f64) {
        self.position_m = Some(metres);
    }

    /// Returns the link that the decision names when told which links are up, or else the first link that is up. Waits
    /// for its answers.
    pub(super) fn first(&mut self, now: Instant, up: &[InterfaceId]) -> Option<InterfaceId> {
        let is_up = |&place: &usize| up.contains(&self.links[place].interface);
        let up: Vec<usize> = (0..self.links.len()).filter(is_up).collect();
        for &place in &up {
            self.learn(now, place, LinkEvent::Up);
            let question = self.question(now, Occasion::Said(place, LinkEvent::Up));
            let (occasion, view) = question.put(None);
            let answer = self.decision.on_event(occasion, &view);
            self.take(now, now, answer);
        }
        let named = self.wanted.take().map(|(_, wanted)| wanted.place);
        let place = named.or_else(|| up.first().copied()).unwrap_or(0);
        self.links.get(place).map(|known| known.interface)
    }

    pub(super) fn handle_link(
        &mut self,
        now: Instant,
        (interface, event): (InterfaceId, LinkEvent),
        used: InUse,
    ) {
        if let Some(place) = self.place_of(interface) {
            self.learn(now, place, event);
            self.ask(now, Occasion::Said(place, event), self.place_used(used));
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let wanted = self.wanted.map(|(at, _)| at);
        [wanted, self.ask_at].into_iter().flatten().min()
    }

    /// Takes in a delayed answer. It holds from now on, except that a delay counts from the question.
    pub(super) fn handle_answer(&mut self, now: Instant, answer: Option<Answer>, used: InUse) {
        let Some(asked) = self.unanswered.take() else {
            return;
        };
        self.take(now, asked, answer);
        if self.wanted.is_none() {
            self.ask_waiting(self.place_used(used));
        }
    }

    /// Returns the handover that the decision has chosen, unless it leads to the link in use. Asks the decision first
    /// if it is time to ask again.
    pub(super) fn poll(&mut self, now: Instant, used: InUse) -> Option<Due> {
        let used = self.place_used(used);
        if self.ask_at.take_if(|at| *at <= now).is_some() {
            self.ask(now, Occasion::Asked, used);
        }
        let due = self.take_due(used);
        if due.is_none() {
            self.ask_waiting(used);
        }
        due
    }

    fn take_due(&mut self, used: Option<usize>) -> Option<Due> {
        let (answered, Wanted { place, handover }) = self.wanted.take()?;
        if used == Some(place) {
            return None;
        }
        // A lost link is left as lost, whatever the answer.
        let lost_at = used.and_then(|used| self.links[used].down_since);
        Some(Due {
            at: lost_at.unwrap_or(answered),
            to: Some(self.links[place].interface),
            handover: lost_at.is_none().then_some(handover),
        })
    }

    fn place_of(&self, interface: InterfaceId) -> Option<usize> {
        let mut links = self.links.iter();
        links.position(|known| known.interface == interface)
    }

    fn place_used(&self, used: InUse) -> Option<usize> {
        let mut links = self.links.iter();
        links.position(|known| [used.interface, used.network].contains(&Some(known.interface)))
    }

    fn learn(&mut self, now: Instant, place: usize, event: LinkEvent) {
        let known = &mut self.links[place];
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

    fn question(&self, at: Instant, occasion: Occasion) -> Question {
        Question {
            at,
            occasion,
            position_m: self.position_m,
            links: self.links.iter().map(|known| known.view).collect(),
        }
    }

    fn ask(&mut self, now: Instant, occasion: Occasion, used: Option<usize>) {
        let question = self.question(now, occasion);
        self.waiting.push_back(question);
        self.ask_waiting(used);
    }

    /// Asks the waiting questions, up to the first one whose answer is delayed.
    fn ask_waiting(&mut self, used: Option<usize>) {
        while self.unanswered.is_none()
            && let Some(question) = self.waiting.pop_front()
        {
            let at = question.at;
            let (occasion, view) = question.put(used);
            match self.decision.ask(occasion, &view) {
                Response::Now(answer) => self.take(at, at, answer),
                Response::Later => self.unanswered = Some(at),
            }
        }
    }

    /// Takes in an answer at `now` to a question asked at `asked`.
    fn take(&mut self, now: Instant, asked: Instant, answer: Option<Answer>) {
        match answer {
            Some(Answer::Use { link, soft, outage }) if link < self.links.len() => {
                let handover = match soft {
                    true => Handover::MAKE_BEFORE_BREAK,
                    false => Handover::Hard {
                        outage,
                        old_queue: OldQueue::Discarded,
                    },
                };
                let wanted = Wanted {
                    place: link,
                    handover,
                };
                self.wanted = Some((now, wanted));
            }
            Some(Answer::AskAgain(after)) => {
                self.ask_at = Some((asked + after.max(SHORTEST_WAIT)).max(now));
            }
            Some(Answer::Use { .. }) | None => {}
        }
    }
}

impl Question {
    /// Returns the question to the decision of a mobile that uses this link.
    fn put(self, used: Option<usize>) -> (Occasion, MobileView) {
        let view = MobileView {
            now: self.at,
            used,
            position_m: self.position_m,
            links: self.links,
        };
        (self.occasion, view)
    }
}
