//! The question whether an uplink still leads to the home agent, of which nothing tells but the link and unanswered updates.

use crate::time::{Duration, Instant};

/// Time for which an update may be unanswered (chosen: a mobile sends it again after 1 or 1.5 s, RFC 6275 section 11.8).
const DETECTION: Duration = Duration::from_secs(3);
/// Time after which a mobile that sends and gets nothing asks by an update, and between two such questions (chosen: traffic in one
/// direction then costs an update in ten seconds).
const QUIET: Duration = Duration::from_secs(1);
const QUESTION_INTERVAL: Duration = Duration::from_secs(10);
/// Time between two questions by an uplink that is up and does not lead to the home agent (chosen).
const PROBE_INTERVAL: Duration = Duration::from_secs(5);
/// Time from the return of an uplink to an update, as its entry in a translator may be another (chosen: the mobile mostly registers by
/// itself before).
const SETTLING: Duration = Duration::from_millis(100);

/// Something to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// The mobile shall send an update.
    Update,
    /// A question that changes no binding shall be sent.
    Probe,
    /// The uplink does not lead to the home agent.
    Dead,
}

/// Signs of life of an uplink.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Liveness {
    is_up: bool,
    /// First packet that was sent since something came.
    quiet_since: Option<Instant>,
    /// First update that was sent since one was answered.
    asked_since: Option<Instant>,
    /// Latest update that silence was the reason for.
    questioned: Option<Instant>,
    update_at: Option<Instant>,
    probe_at: Option<Instant>,
}

impl Liveness {
    /// Returns true if packets pass, as far as is known.
    pub(super) const fn is_up(&self) -> bool {
        self.is_up
    }

    /// Notes that the link is up, or that the home agent has answered by it. `returns`: the mobile has registered by it before.
    pub(super) fn up(&mut self, now: Instant, returns: bool) {
        *self = Liveness {
            is_up: true,
            update_at: returns.then_some(now + SETTLING),
            ..Liveness::default()
        };
    }

    /// Notes that the link is down.
    pub(super) fn down(&mut self) {
        *self = Liveness::default();
    }

    /// Notes that the home agent is to be asked where the mobile is, as its place has changed.
    pub(super) fn moved(&mut self, now: Instant) {
        self.update_at = Some(now);
    }

    /// Notes a packet that was sent.
    pub(super) fn sent(&mut self, now: Instant) {
        self.quiet_since.get_or_insert(now);
    }

    /// Notes a packet that came.
    pub(super) fn received(&mut self) {
        self.quiet_since = None;
    }

    /// Notes an update that was sent.
    pub(super) fn asked(&mut self, now: Instant) {
        self.update_at = None;
        self.asked_since.get_or_insert(now);
    }

    /// Notes an answer that is the home agent's.
    pub(super) fn answered(&mut self) {
        (self.quiet_since, self.asked_since) = (None, None);
    }

    /// Returns the time of the next action.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let dead = self.asked_since.map(|since| since + DETECTION);
        let times = [dead, self.question_at(), self.update_at, self.probe_at];
        times.into_iter().flatten().min()
    }

    /// Returns the time at which silence becomes a reason to ask.
    fn question_at(&self) -> Option<Instant> {
        let quiet = self.quiet_since.filter(|_| self.asked_since.is_none())? + QUIET;
        let next = self.questioned.map(|before| before + QUESTION_INTERVAL);
        Some(next.map_or(quiet, |next| next.max(quiet)))
    }

    /// Returns what is due.
    pub(super) fn handle_timeout(&mut self, now: Instant) -> Option<Action> {
        let is_due = |time: Option<Instant>| time.is_some_and(|time| time <= now);
        if is_due(self.asked_since.map(|since| since + DETECTION)) {
            *self = Liveness {
                probe_at: Some(now + PROBE_INTERVAL),
                ..Liveness::default()
            };
            return Some(Action::Dead);
        }
        if is_due(self.question_at()) {
            self.questioned = Some(now);
            (self.update_at, self.quiet_since) = (None, None);
            return Some(Action::Update);
        }
        if is_due(self.update_at) {
            self.update_at = None;
            return Some(Action::Update);
        }
        if is_due(self.probe_at) {
            self.probe_at = Some(now + PROBE_INTERVAL);
            return Some(Action::Probe);
        }
        None
    }
}
