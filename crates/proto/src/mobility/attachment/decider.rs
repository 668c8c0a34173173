//! A decision from outside as a policy: the view that it gets, and its answers as handovers.

use super::policy::{Due, InUse};
use super::{Handover, OldQueue};
use crate::interface::{InterfaceId, LinkEvent};
use crate::mobility::attachment::decision::{Answer, Decision, LinkView, MobileView, Occasion};
use crate::time::{Duration, Instant};

/// Shortest time until a decision is asked again, so that a run ends.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);

/// A decision from outside, and its view of the links.
#[derive(Debug)]
pub struct Decider {
    decision: Box<dyn Decision>,
    links: Vec<Known>,
    position_m: Option<f64>,
    /// The answer, and when it came.
    wanted: Option<(Instant, Wanted)>,
    /// Time of the next question.
    ask_at: Option<Instant>,
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
    /// Since when it is down, if it is.
    down_since: Option<Instant>,
}

impl Decider {
    /// Lets a decision choose among interfaces, which it knows by their places.
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
        }
    }

    pub(super) fn set_received_power(&mut self, interface: InterfaceId, dbm: Option<f64>) {
        if let Some(place) = self.place_of(interface) {
            self.links[place].view.received_dbm = dbm;
        }
    }

    pub(super) fn set_position(&mut self, metres: f64) {
        self.position_m = Some(metres);
    }

    /// Returns the link that the decision names when it hears which are up, or else the first that is.
    pub(super) fn first(&mut self, now: Instant, up: &[InterfaceId]) -> Option<InterfaceId> {
        let is_up = |&place: &usize| up.contains(&self.links[place].interface);
        let up: Vec<usize> = (0..self.links.len()).filter(is_up).collect();
        for &place in &up {
            self.learn(now, place, LinkEvent::Up);
            self.ask(now, Occasion::Said(place, LinkEvent::Up), None);
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

    /// The handover that was answered, unless it leads to where the mobile is. The decision is asked first, if it wanted to
    /// be.
    pub(super) fn poll(&mut self, now: Instant, used: InUse) -> Option<Due> {
        let used = self.place_used(used);
        if self.ask_at.take_if(|at| *at <= now).is_some() {
            self.ask(now, Occasion::Asked, used);
        }
        let (answered, Wanted { place, handover }) = self.wanted.take()?;
        if used == Some(place) {
            return None;
        }
        // A link that was lost is left as such, whatever the answer says.
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

    fn ask(&mut self, now: Instant, occasion: Occasion, used: Option<usize>) {
        let view = MobileView {
            now,
            used,
            position_m: self.position_m,
            links: self.links.iter().map(|known| known.view).collect(),
        };
        match self.decision.on_event(occasion, &view) {
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
            Some(Answer::AskAgain(after)) => self.ask_at = Some(now + after.max(SHORTEST_WAIT)),
            Some(Answer::Use { .. }) | None => {}
        }
    }
}
