//! Liveness of an uplink's path to the home agent, known only from link events and unanswered updates.

use crate::time::{Duration, Instant};

/// Time for which an update may be unanswered (chosen: a mobile retransmits it after 1 or 1.5 s, RFC 6275 section
/// 11.8).
const DETECTION: Duration = Duration::from_secs(3);
/// Time after which a mobile that sends, but receives nothing, checks the path by an update, and minimum time between
/// two such checks (chosen: one-way traffic then costs an update in ten seconds).
const QUIET: Duration = Duration::from_secs(1);
const QUESTION_INTERVAL: Duration = Duration::from_secs(10);
/// Interval of probes over an uplink that is up without a path to the home agent (chosen).
const PROBE_INTERVAL: Duration = Duration::from_secs(5);
/// Time from the return of an uplink to an update, since the translator's entry may have changed (chosen: the mobile
/// usually registers by itself before).
const SETTLING: Duration = Duration::from_millis(100);

/// An action that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// The mobile is to send an update.
    Update,
    /// A probe that changes no binding is to be sent.
    Probe,
    /// The uplink does not reach the home agent.
    Dead,
}

/// Signs of life of an uplink.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Liveness {
    is_up: bool,
    /// Time of the first packet sent since the last one received.
    quiet_since: Option<Instant>,
    /// Time of the first update sent since the last answer.
    asked_since: Option<Instant>,
    /// Time of the latest update caused by silence.
    questioned: Option<Instant>,
    update_at: Option<Instant>,
    probe_at: Option<Instant>,
}

impl Liveness {
    /// Returns true if packets are believed to pass.
    pub(super) const fn is_up(&self) -> bool {
        self.is_up
    }

    /// Notes that the link is up, or that the home agent has answered over it. `returns`: the mobile has registered
    /// over it before.
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

    /// Notes that the mobile's address has changed, so that the home agent needs an update.
    pub(super) fn moved(&mut self, now: Instant) {
        self.update_at = Some(now);
    }

    /// Notes a sent packet.
    pub(super) fn sent(&mut self, now: Instant) {
        self.quiet_since.get_or_insert(now);
    }

    /// Notes a received packet.
    pub(super) fn received(&mut self) {
        self.quiet_since = None;
    }

    /// Notes a sent update.
    pub(super) fn asked(&mut self, now: Instant) {
        self.update_at = None;
        self.asked_since.get_or_insert(now);
    }

    /// Notes an authenticated answer of the home agent.
    pub(super) fn answered(&mut self) {
        (self.quiet_since, self.asked_since) = (None, None);
    }

    /// Returns the time of the next action.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let dead = self.asked_since.map(|since| since + DETECTION);
        let times = [dead, self.question_at(), self.update_at, self.probe_at];
        times.into_iter().flatten().min()
    }

    /// Returns the time at which silence calls for a check.
    fn question_at(&self) -> Option<Instant> {
        let quiet = self.quiet_since.filter(|_| self.asked_since.is_none())? + QUIET;
        let next = self.questioned.map(|before| before + QUESTION_INTERVAL);
        Some(next.map_or(quiet, |next| next.max(quiet)))
    }

    /// Returns the action that is due.
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
