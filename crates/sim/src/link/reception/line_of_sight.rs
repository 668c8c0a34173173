//! A satellite, in sight wherever no tunnel hides it, and gap fillers that repeat it inside tunnels.
//!
//! A train may carry several antennas along its length, any of which suffices: a tunnel hides the satellite from the
//! moment its last antenna enters until its first one leaves.

use crate::position::line::{LineRun, Span, Stretch, together};
use baton_proto::interface::LinkEvent;
use baton_proto::time::{Duration, Instant};

/// A satellite, in sight wherever nothing hides it.
#[derive(Clone, Debug, PartialEq)]
pub struct LineOfSight {
    /// Tunnels, with the shadows at their ends.
    pub hidden: Vec<Stretch>,
    /// Stretches in which gap fillers are received.
    pub filled: Vec<Stretch>,
    /// Antennas of the mobile.
    pub antennas: Antennas,
    /// Time from line of sight until an antenna points to the satellite. One that receives gap fillers does not point.
    pub repointing: Duration,
    /// Time from the end of pointing until the link is up.
    pub synchronisation: Duration,
    /// Time before it is out of sight at which the link reports that it is going down; zero: no report.
    pub announced: Duration,
}

/// Antennas along a train, the first one at its head.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Antennas {
    /// Their number, at least one.
    pub count: u32,
    /// Distance between neighbours, in metres.
    pub spacing_m: f64,
}

/// Time with a signal from one source at one antenna.
struct Signal {
    /// Its time.
    span: Span,
    /// Time until it is of use.
    ready_after: Duration,
}

impl LineOfSight {
    /// Returns the events of a run, not in order.
    pub(super) fn events(&self, run: &LineRun) -> Vec<(Instant, LinkEvent)> {
        let signals = self.signals(run);
        let spans =
            |of: fn(&Signal) -> Option<Span>| together(signals.iter().filter_map(of).collect());
        let ready = spans(Signal::ready);
        let mut told = Vec::new();
        if ready.first().is_none_or(|first| first.from > Instant::ZERO) {
            told.push((Instant::ZERO, LinkEvent::Down));
        }
        for span in spans(|signal| Some(signal.span)) {
            if span.from > Instant::ZERO {
                told.push((span.from, LinkEvent::Detected));
            }
        }
        for span in ready {
            if span.from > Instant::ZERO {
                told.push((span.from, LinkEvent::Up));
            }
            if span.to == Instant::NEVER {
                continue;
            }
            if !self.announced.is_zero() {
                let ahead = span.to.saturating_since(Instant::ZERO + self.announced);
                let at = span.from.max(Instant::ZERO + ahead);
                told.push((at, LinkEvent::GoingDown));
            }
            told.push((span.to, LinkEvent::Down));
        }
        told
    }

    /// Returns all signals of a run: each antenna's of the satellite and of gap fillers.
    fn signals(&self, run: &LineRun) -> Vec<Signal> {
        let mut signals = Vec::new();
        for antenna in 0..self.antennas.count {
            let behind_m = f64::from(antenna) * self.antennas.spacing_m;
            let run = run.behind(behind_m);
            let mut add = |spans: Vec<Span>, ready_after| {
                signals.extend(spans.into_iter().map(|span| Signal { span, ready_after }));
            };
            add(
                run.times_outside(&self.hidden),
                self.repointing + self.synchronisation,
            );
            add(run.times_in(&self.filled), self.synchronisation);
        }
        signals
    }
}

impl Signal {
    /// Returns the time in which it is of use, if there is any. One that is there at the start is of use at once.
    fn ready(&self) -> Option<Span> {
        let mut span = self.span;
        if span.from > Instant::ZERO {
            span.from += self.ready_after;
        }
        (span.from < span.to).then_some(span)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Reception;
    use super::super::tests::{RUN, told};
    use super::*;

    /// A tunnel from 10 to 20 km.
    const TUNNEL: Stretch = Stretch {
        from_m: 10e3,
        to_m: 20e3,
    };

    fn sight() -> LineOfSight {
        LineOfSight {
            hidden: vec![TUNNEL],
            filled: Vec::new(),
            antennas: Antennas {
                count: 1,
                spacing_m: 0.0,
            },
            repointing: Duration::from_millis(500),
            synchronisation: Duration::from_millis(50),
            announced: Duration::ZERO,
        }
    }

    fn satellite(announced: f64) -> Reception {
        Reception::LineOfSight(LineOfSight {
            announced: Duration::from_secs_f64(announced),
            ..sight()
        })
    }

    #[test]
    fn a_satellite_is_back_when_the_antenna_points_to_it_again() {
        let plain = [
            (100.0, LinkEvent::Down),
            (200.0, LinkEvent::Detected),
            (200.55, LinkEvent::Up),
        ];
        assert_eq!(told(&satellite(0.0), &RUN), plain);
        let mut announced = plain.to_vec();
        announced.insert(0, (98.0, LinkEvent::GoingDown));
        assert_eq!(told(&satellite(2.0), &RUN), announced);
    }

    #[test]
    fn a_run_that_begins_in_the_tunnel_has_no_satellite() {
        let run = LineRun {
            from_m: 15e3,
            ..RUN
        };
        let expected = [
            (0.0, LinkEvent::Down),
            (50.0, LinkEvent::Detected),
            (50.55, LinkEvent::Up),
        ];
        assert_eq!(told(&satellite(0.0), &run), expected);
        let stays = LineRun { to_m: 16e3, ..run };
        assert_eq!(told(&satellite(0.0), &stays), [(0.0, LinkEvent::Down)]);
    }

    #[test]
    fn two_antennas_shorten_a_tunnel_by_their_distance() {
        // 200 m apart at 100 m/s: the second enters 2 s after the first, which is out again at 200 s.
        let antennas = Antennas {
            count: 2,
            spacing_m: 200.0,
        };
        let both = LineOfSight {
            antennas,
            ..sight()
        };
        let expected = [
            (102.0, LinkEvent::Down),
            (200.0, LinkEvent::Detected),
            (200.55, LinkEvent::Up),
        ];
        assert_eq!(told(&Reception::LineOfSight(both), &RUN), expected);
        // A train that runs back has its head at the other end.
        let back = LineRun {
            from_m: 30e3,
            to_m: 0.0,
            ..RUN
        };
        let both = LineOfSight {
            antennas,
            ..sight()
        };
        assert_eq!(told(&Reception::LineOfSight(both), &back), expected);
        // An obstacle that is shorter than the train hides nothing.
        let short = LineOfSight {
            hidden: vec![Stretch {
                to_m: 10_199.0,
                ..TUNNEL
            }],
            antennas: Antennas {
                spacing_m: 300.0,
                ..antennas
            },
            ..sight()
        };
        assert_eq!(told(&Reception::LineOfSight(short), &RUN), []);
    }

    /// Returns the events with a shadow of 127 m before the tunnel, and gap fillers that reach as far as `reach_m`.
    fn with_gap_fillers(reach_m: f64) -> Vec<(f64, LinkEvent)> {
        let filled = LineOfSight {
            hidden: vec![Stretch {
                from_m: TUNNEL.from_m - 127.0,
                ..TUNNEL
            }],
            filled: vec![Stretch {
                from_m: TUNNEL.from_m - reach_m,
                to_m: TUNNEL.to_m + reach_m,
            }],
            ..sight()
        };
        told(&Reception::LineOfSight(filled), &RUN)
    }

    #[test]
    fn gap_fillers_that_reach_beyond_both_ends_leave_no_gap() {
        // Before the tunnel 127 m and 5 m of synchronising are needed, behind it 55 m of pointing and synchronising.
        assert_eq!(with_gap_fillers(132.0), []);
    }

    #[test]
    fn gap_fillers_that_do_not_reach_far_enough_leave_gaps_at_the_ends() {
        let expected = [
            (98.73, LinkEvent::Down),
            (100.0, LinkEvent::Detected),
            (100.05, LinkEvent::Up),
            (200.0, LinkEvent::Down),
            (200.55, LinkEvent::Up),
        ];
        assert_eq!(with_gap_fillers(0.0), expected[..]);
        let expected = [
            (98.73, LinkEvent::Down),
            (99.46, LinkEvent::Detected),
            (99.51, LinkEvent::Up),
            (200.54, LinkEvent::Down),
            (200.55, LinkEvent::Up),
        ];
        assert_eq!(with_gap_fillers(54.0), expected[..]);
    }
}
