//! Link choice by preference: failover from a lost link and fail-back to a better one.
//!
//! - A link in use that goes down is left after at most `longest_switch_time`, unless it comes back before.
//! - The mobile returns to a better link once that has been up for `hold_time` without a break, and at least
//!   `hysteresis` after its last return, so that it does not follow an unstable link.
//! - A link that announces that it is going down is left at once, while it still works, for the best link that stays
//!   up. It counts as up again once it withdraws the announcement or comes up again.
//! - A link to which an operator holds the mobile is the best of all while it stays up, and is returned to at once.
//! - With no link up, the mobile stays on its link until one comes up, and then takes the best of them at once.
//! - A mobile that breaks before it makes prepares for each switch from a link that works, for a time that depends on
//!   the link, and gives up a switch whose reason ends meanwhile.

use crate::time::{Duration, Instant};

/// Delays of leaving and returning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailbackTimes {
    /// Time for which a better link must have been up.
    pub hold_time: Duration,
    /// Minimum time between two returns to a better link.
    pub hysteresis: Duration,
    /// Time from the loss of the link in use to leaving it.
    pub longest_switch_time: Duration,
}

/// Five seconds, no hysteresis, 100 ms. Chosen: a link that flickers every few seconds is not returned to, and a break
/// that a transport hardly notices is waited out.
impl Default for FailbackTimes {
    fn default() -> FailbackTimes {
        FailbackTimes {
            hold_time: Duration::from_secs(5),
            hysteresis: Duration::ZERO,
            longest_switch_time: Duration::from_millis(100),
        }
    }
}

/// A change of link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch {
    /// Rank of the link to use; 0 is the best.
    pub to: usize,
    /// Time at which the old link was lost; `None` if it still works.
    pub lost_at: Option<Instant>,
}

/// A change in the preparation of a switch from a link that works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preparation {
    /// The mobile will leave its link for the one of this rank.
    Begins(usize),
    /// The mobile stays on its link after all.
    Ends,
}

/// The state machine: call [`Failback::handle_link`] when a link's state changes, then [`Failback::poll_preparation`]
/// and [`Failback::poll`], and again at [`Failback::poll_timeout`].
#[derive(Clone, Debug)]
pub struct Failback {
    times: FailbackTimes,
    /// State of each link, by rank.
    links: Vec<LinkState>,
    used: usize,
    last_return: Option<Instant>,
    /// The link to which an operator holds the mobile, and the time of that command.
    held: Option<(usize, Instant)>,
    /// True if the mobile prepares for a switch from a link that works.
    prepares: bool,
    /// The preparation for a switch.
    preparation: Option<Prepared>,
}

/// A preparation under way.
#[derive(Clone, Copy, Debug)]
struct Prepared {
    since: Instant,
    /// True if the link in use has announced that it is going down, so that no one needs to be told.
    announced_by_link: bool,
}

#[derive(Clone, Copy, Debug)]
struct LinkState {
    up: bool,
    /// True if the link is up and has announced that it is going down.
    going_down: bool,
    since: Instant,
    /// Time for which the mobile prepares before it leaves the link while it works.
    preparation: Duration,
}

impl LinkState {
    fn stays_up(&self) -> bool {
        self.up && !self.going_down
    }
}

impl Failback {
    /// Starts on the best of `links` links, all of them up since `now`.
    pub fn new(times: FailbackTimes, links: usize, now: Instant) -> Failback {
        Failback {
            times,
            links: vec![
                LinkState {
                    up: true,
                    going_down: false,
                    since: now,
                    preparation: Duration::ZERO,
                };
                links
            ],
            used: 0,
            last_return: None,
            held: None,
            prepares: false,
            preparation: None,
        }
    }

    /// Makes the mobile prepare for each switch from a link that works.
    pub fn prepare_switches(&mut self) {
        self.prepares = true;
    }

    /// Sets the time that the mobile needs to prepare before it leaves a link.
    pub fn set_preparation(&mut self, rank: usize, time: Duration) {
        if let Some(link) = self.links.get_mut(rank) {
            link.preparation = time;
        }
    }

    /// Holds the mobile to a link, or to none, from now on.
    pub fn hold_to(&mut self, now: Instant, rank: Option<usize>) {
        self.held = rank
            .filter(|&rank| rank < self.links.len())
            .map(|rank| (rank, now));
    }

    /// Replaces the delays.
    pub fn set_times(&mut self, times: FailbackTimes) {
        self.times = times;
    }

    /// Chooses the first link and returns its rank: the best link that is up, or the best of all if none is. Call it
    /// once the links that are down have been reported.
    pub fn begin(&mut self) -> usize {
        self.used = self.links.iter().position(|link| link.up).unwrap_or(0);
        self.used
    }

    /// Returns the rank of the link in use.
    pub fn used(&self) -> usize {
        self.used
    }

    /// Records that a link went up or down.
    pub fn handle_link(&mut self, now: Instant, rank: usize, up: bool) {
        if let Some(link) = self.links.get_mut(rank)
            && (link.up != up || link.going_down)
        {
            *link = LinkState {
                up,
                going_down: false,
                since: now,
                ..*link
            };
            if rank == self.used && !up {
                self.preparation = None;
            }
        }
    }

    /// Records that a link that is up announces going down, or withdraws the announcement.
    pub fn handle_going_down(&mut self, now: Instant, rank: usize, going_down: bool) {
        if let Some(link) = self.links.get_mut(rank)
            && link.up
            && link.going_down != going_down
        {
            link.going_down = going_down;
            link.since = now;
        }
    }

    /// Returns the time of the next switch, if no link changes before.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let next = self.next_switch();
        match self.preparation {
            None => next.map(|(at, _)| at),
            Some(prepared) => match next {
                Some((at, _)) if at <= prepared.since => Some(self.prepared_at(prepared)),
                _ => Some(prepared.since),
            },
        }
    }

    /// Returns the beginning or the end of a preparation at `now`, if the node's other parts are to be told: a link that
    /// is going down has told them itself.
    pub fn poll_preparation(&mut self, now: Instant) -> Option<Preparation> {
        let next = self.next_switch().filter(|&(at, _)| at <= now);
        let wanted = next.filter(|(_, switch)| self.prepares && switch.lost_at.is_none());
        match (wanted, self.preparation) {
            (Some((_, switch)), None) => {
                let announced_by_link = self.links[self.used].going_down;
                self.preparation = Some(Prepared {
                    since: now,
                    announced_by_link,
                });
                (!announced_by_link).then_some(Preparation::Begins(switch.to))
            }
            (None, Some(prepared)) => {
                self.preparation = None;
                (!prepared.announced_by_link).then_some(Preparation::Ends)
            }
            _ => None,
        }
    }

    fn prepared_at(&self, prepared: Prepared) -> Instant {
        prepared.since + self.links[self.used].preparation
    }

    /// Returns the switch due at `now`, if any, and makes it.
    pub fn poll(&mut self, now: Instant) -> Option<Switch> {
        let (_, switch) = self.next_switch().filter(|&(at, _)| at <= now)?;
        if self.prepares && switch.lost_at.is_none() {
            self.preparation
                .filter(|prepared| self.prepared_at(*prepared) <= now)?;
        }
        self.preparation = None;
        if switch.lost_at.is_none() && switch.to < self.used {
            self.last_return = Some(now);
        }
        self.used = switch.to;
        Some(switch)
    }

    /// Returns the next switch that the links' states ask for, and its time without preparation.
    fn next_switch(&self) -> Option<(Instant, Switch)> {
        let used = self.links.get(self.used)?;
        let held = self.held.filter(|&(rank, _)| self.links[rank].stays_up());
        if !used.up {
            let held = held.map(|(rank, _)| rank);
            let to = held.or_else(|| self.links.iter().position(LinkState::stays_up));
            let to = to.or_else(|| self.links.iter().position(|link| link.up))?;
            let leave = used.since + self.times.longest_switch_time;
            let at = leave.max(self.links[to].since);
            return Some((
                at,
                Switch {
                    to,
                    lost_at: Some(used.since),
                },
            ));
        }
        if let Some((to, since)) = held {
            let at = since.max(self.links[to].since);
            return (to != self.used).then_some((at, Switch { to, lost_at: None }));
        }
        if used.going_down
            && let Some(to) = self.links.iter().position(LinkState::stays_up)
        {
            let at = used.since.max(self.links[to].since);
            return Some((at, Switch { to, lost_at: None }));
        }
        let returns = |(rank, link): (usize, &LinkState)| {
            let held = link.since + self.times.hold_time;
            let spaced = self
                .last_return
                .map_or(Instant::ZERO, |last| last + self.times.hysteresis);
            (held.max(spaced), rank)
        };
        let better = self.links[..self.used]
            .iter()
            .enumerate()
            .filter(|(_, link)| link.stays_up());
        let (at, to) = better.map(returns).min()?;
        Some((at, Switch { to, lost_at: None }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: FailbackTimes = FailbackTimes {
        hold_time: Duration::from_secs(5),
        hysteresis: Duration::from_secs(60),
        longest_switch_time: Duration::from_millis(100),
    };

    fn at(milliseconds: u64) -> Instant {
        Instant::from_millis(milliseconds)
    }

    fn lost(to: usize, since: u64) -> Option<Switch> {
        Some(Switch {
            to,
            lost_at: Some(at(since)),
        })
    }

    #[test]
    fn a_lost_link_is_left_at_the_bound() {
        let mut mobile = Failback::new(TIMES, 2, at(0));
        assert_eq!(mobile.poll_timeout(), None);
        mobile.handle_link(at(1000), 0, false);
        assert_eq!(mobile.poll_timeout(), Some(at(1100)));
        assert_eq!(mobile.poll(at(1099)), None);
        assert_eq!(mobile.poll(at(1100)), lost(1, 1000));
        assert_eq!(mobile.poll_timeout(), None);
    }

    #[test]
    fn it_begins_with_the_best_link_that_is_up() {
        let mut mobile = Failback::new(TIMES, 3, at(0));
        mobile.handle_link(at(0), 0, false);
        assert_eq!(mobile.begin(), 1);
        assert_eq!(mobile.poll_timeout(), None);
        mobile.handle_link(at(1000), 0, true);
        assert_eq!(mobile.poll_timeout(), Some(at(6000)));
        let mut nowhere = Failback::new(TIMES, 1, at(0));
        nowhere.handle_link(at(0), 0, false);
        assert_eq!(nowhere.begin(), 0);
    }

    #[test]
    fn a_short_break_is_not_followed() {
        let mut mobile = Failback::new(TIMES, 2, at(0));
        mobile.handle_link(at(1000), 0, false);
        mobile.handle_link(at(1050), 0, true);
        assert_eq!(mobile.poll_timeout(), None);
    }

    #[test]
    fn a_better_link_is_returned_to_after_the_hold_time_without_a_break() {
        let mut mobile = Failback::new(TIMES, 2, at(0));
        mobile.handle_link(at(1000), 0, false);
        assert_eq!(mobile.poll(at(1100)), lost(1, 1000));
        mobile.handle_link(at(2000), 0, true);
        assert_eq!(mobile.poll_timeout(), Some(at(7000)));
        mobile.handle_link(at(6999), 0, false);
        assert_eq!(mobile.poll_timeout(), None);
        mobile.handle_link(at(8000), 0, true);
        assert_eq!(
            mobile.poll(at(13_000)),
            Some(Switch {
                to: 0,
                lost_at: None
            })
        );
    }

    #[test]
    fn returns_are_apart_by_the_hysteresis() {
        let mut mobile = Failback::new(TIMES, 2, at(0));
        mobile.handle_link(at(1000), 0, false);
        mobile.poll(at(1100));
        mobile.handle_link(at(2000), 0, true);
        assert!(mobile.poll(at(7000)).is_some());
        mobile.handle_link(at(8000), 0, false);
        assert_eq!(mobile.poll(at(8100)), lost(1, 8000));
        mobile.handle_link(at(9000), 0, true);
        assert_eq!(mobile.poll_timeout(), Some(at(67_000)));
    }

    #[test]
    fn a_link_that_is_going_down_is_left_at_once_and_returned_to_when_it_stays() {
        let mut mobile = Failback::new(TIMES, 2, at(0));
        mobile.handle_going_down(at(1000), 0, true);
        let left = Switch {
            to: 1,
            lost_at: None,
        };
        assert_eq!(mobile.poll(at(1000)), Some(left));
        // Neither the old link that still works nor its end is a reason to switch.
        assert_eq!(mobile.poll_timeout(), None);
        mobile.handle_link(at(2000), 0, false);
        assert_eq!(mobile.poll_timeout(), None);
        mobile.handle_link(at(3000), 0, true);
        assert_eq!(mobile.poll_timeout(), Some(at(8000)));
        mobile.handle_going_down(at(4000), 0, true);
        assert_eq!(mobile.poll_timeout(), None);
        mobile.handle_going_down(at(5000), 0, false);
        // Leaving was not a return, so the hysteresis of a minute does not apply.
        let back = Switch {
            to: 0,
            lost_at: None,
        };
        assert_eq!(mobile.poll_timeout(), Some(at(10_000)));
        assert_eq!(mobile.poll(at(10_000)), Some(back));
    }

    #[test]
    fn an_operator_s_link_is_kept_while_it_is_up_and_returned_to_at_once() {
        let mut mobile = Failback::new(TIMES, 3, at(0));
        mobile.hold_to(at(1000), Some(2));
        let to = |to| Some(Switch { to, lost_at: None });
        assert_eq!(mobile.poll(at(1000)), to(2));
        assert_eq!(mobile.poll_timeout(), None);
        mobile.handle_link(at(2000), 2, false);
        assert_eq!(mobile.poll(at(2100)), lost(0, 2000));
        mobile.handle_link(at(3000), 2, true);
        assert_eq!(mobile.poll(at(3000)), to(2));
        mobile.hold_to(at(6000), None);
        // The better links have been up for the hold time.
        assert_eq!(mobile.poll(at(6000)), to(0));
        mobile.hold_to(at(7000), Some(7));
        assert_eq!(mobile.poll_timeout(), None);
    }

    #[test]
    fn with_nothing_up_the_first_to_come_is_taken() {
        let mut mobile = Failback::new(TIMES, 3, at(0));
        for rank in 0..3 {
            mobile.handle_link(at(1000), rank, false);
        }
        assert_eq!(mobile.poll_timeout(), None);
        mobile.handle_link(at(3000), 2, true);
        assert_eq!(mobile.poll(at(3000)), lost(2, 1000));
        // The middle link is better, but must first stay up for the hold time.
        mobile.handle_link(at(4000), 1, true);
        assert_eq!(
            mobile.poll(at(9000)),
            Some(Switch {
                to: 1,
                lost_at: None
            })
        );
    }

    /// Returns a mobile on the second of two links, whose switches from there take 500 ms to prepare; the first link is
    /// down.
    fn preparing() -> Failback {
        let times = FailbackTimes {
            hold_time: Duration::ZERO,
            ..TIMES
        };
        let mut mobile = Failback::new(times, 2, at(0));
        mobile.prepare_switches();
        mobile.set_preparation(0, Duration::from_millis(20));
        mobile.set_preparation(1, Duration::from_millis(500));
        mobile.handle_link(at(0), 0, false);
        assert_eq!(mobile.begin(), 1);
        mobile
    }

    fn working(to: usize) -> Option<Switch> {
        Some(Switch { to, lost_at: None })
    }

    #[test]
    fn a_found_link_is_taken_after_the_preparation() {
        let mut mobile = preparing();
        mobile.handle_link(at(1000), 0, true);
        assert_eq!(mobile.poll_timeout(), Some(at(1000)));
        assert_eq!(mobile.poll(at(1000)), None);
        assert_eq!(
            mobile.poll_preparation(at(1000)),
            Some(Preparation::Begins(0))
        );
        assert_eq!(mobile.poll_preparation(at(1000)), None);
        assert_eq!(mobile.poll_timeout(), Some(at(1500)));
        assert_eq!(mobile.poll(at(1499)), None);
        assert_eq!(mobile.poll(at(1500)), working(0));
        assert_eq!(mobile.poll_timeout(), None);
    }

    #[test]
    fn a_link_that_is_going_down_has_told_the_others_itself() {
        let mut mobile = preparing();
        mobile.handle_link(at(1000), 0, true);
        mobile.poll_preparation(at(1000));
        assert_eq!(mobile.poll(at(1500)), working(0));
        mobile.handle_going_down(at(2000), 0, true);
        assert_eq!(mobile.poll_timeout(), Some(at(2000)));
        assert_eq!(mobile.poll_preparation(at(2000)), None);
        assert_eq!(mobile.poll_timeout(), Some(at(2020)));
        assert_eq!(mobile.poll(at(2020)), working(1));
    }

    #[test]
    fn a_preparation_ends_with_its_reason() {
        let mut mobile = preparing();
        mobile.handle_link(at(1000), 0, true);
        mobile.poll_preparation(at(1000));
        mobile.handle_link(at(1200), 0, false);
        // Overdue: the others are to be told now.
        assert_eq!(mobile.poll_timeout(), Some(at(1000)));
        assert_eq!(mobile.poll_preparation(at(1200)), Some(Preparation::Ends));
        assert_eq!(mobile.poll_timeout(), None);
        assert_eq!(mobile.poll(at(1500)), None);
    }

    #[test]
    fn a_link_that_is_lost_in_the_preparation_is_left_at_the_bound() {
        let mut mobile = preparing();
        mobile.handle_link(at(1000), 0, true);
        mobile.poll_preparation(at(1000));
        mobile.handle_link(at(1100), 1, false);
        assert_eq!(mobile.poll_preparation(at(1100)), None);
        assert_eq!(mobile.poll_timeout(), Some(at(1200)));
        assert_eq!(mobile.poll(at(1200)), lost(0, 1100));
    }

    #[test]
    fn a_link_that_is_back_is_prepared_for_anew() {
        let mut mobile = preparing();
        mobile.handle_link(at(1000), 0, true);
        mobile.poll_preparation(at(1000));
        mobile.handle_link(at(1100), 1, false);
        mobile.handle_link(at(1150), 1, true);
        assert_eq!(
            mobile.poll_preparation(at(1150)),
            Some(Preparation::Begins(0))
        );
        assert_eq!(mobile.poll_timeout(), Some(at(1650)));
        assert_eq!(mobile.poll(at(1600)), None);
        assert_eq!(mobile.poll(at(1650)), working(0));
    }
}
