//! Reception of a link by a mobile on a line: of a satellite in sight, or of nearby access points.
//!
//! The state follows from the position alone, so that it is a function of time. The link's events are those of 802.21:
//! detected; up when the mobile is ready to use it; a parameters report when the power has the margin; going down when
//! the power loses the margin, or when the mobile knows of a tunnel ahead; rollback; down.

pub mod two_ray;

use crate::position::line::{LineRun, Span, Stretch, outside};
use baton_proto::interface::LinkEvent;
use baton_proto::time::{Duration, Instant};
use two_ray::TwoRay;

/// Reception of a link along a line.
#[derive(Clone, Debug, PartialEq)]
pub enum Reception {
    /// A satellite.
    LineOfSight(LineOfSight),
    /// Access points along the line.
    Coverage(Coverage),
}

/// A satellite, in sight wherever nothing hides it.
#[derive(Clone, Debug, PartialEq)]
pub struct LineOfSight {
    /// Tunnels, with the shadows at their ends.
    pub hidden: Vec<Stretch>,
    /// Time from line of sight until the link is up: pointing of the antenna, and synchronisation.
    pub ready_after: Duration,
    /// Time before a tunnel at which the link reports that it is going down; zero: no report.
    pub announced: Duration,
}

/// Access points, of which the nearest serves. Changes between them take no time.
#[derive(Clone, Debug, PartialEq)]
pub struct Coverage {
    /// Their positions, in metres from the line's beginning, in ascending order; at least one.
    pub access_points_m: Vec<f64>,
    /// Fading of their signal.
    pub radio: TwoRay,
    /// Power in dBm below which nothing is received.
    pub threshold_dbm: f64,
    /// Margin above the threshold, in dB; with less the link is going down.
    pub margin_db: f64,
    /// Time from the first signal until the link is up: synchronisation.
    pub ready_after: Duration,
}

/// An event of a link, with its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceptionEvent {
    /// Time of the event; zero for a link that is not received at the start.
    pub at: Instant,
    /// The event.
    pub news: LinkEvent,
    /// Power received by the mobile then, if known.
    pub received_dbm: Option<f64>,
}

impl Reception {
    /// Returns all events that a link reports to a mobile on this run, in order of time. A link is up at the start
    /// unless it reports at once that it is down.
    pub fn events(&self, run: &LineRun) -> Vec<ReceptionEvent> {
        let (received, strong, ready_after) = match self {
            Reception::LineOfSight(sight) => {
                let seen = outside(&run.times_in(&sight.hidden));
                let strong = seen.iter().map(|span| Span {
                    to: match span.to {
                        Instant::NEVER => Instant::NEVER,
                        end => {
                            let ahead = end.saturating_since(Instant::ZERO + sight.announced);
                            span.from.max(Instant::ZERO + ahead)
                        }
                    },
                    ..*span
                });
                (seen.clone(), strong.collect(), sight.ready_after)
            }
            Reception::Coverage(coverage) => (
                run.times_in(&coverage.around(coverage.threshold_dbm)),
                run.times_in(&coverage.around(coverage.threshold_dbm + coverage.margin_db)),
                coverage.ready_after,
            ),
        };
        let mut told = Vec::new();
        if received
            .first()
            .is_none_or(|first| first.from > Instant::ZERO)
        {
            told.push((Instant::ZERO, LinkEvent::Down));
        }
        for span in &received {
            self.tell(*span, &strong, ready_after, &mut told);
        }
        told.sort_by_key(|&(at, _)| at);
        let event = |(at, news)| ReceptionEvent {
            at,
            news,
            received_dbm: self.received_dbm(run.position_m(at)),
        };
        told.into_iter().map(event).collect()
    }

    /// Adds the events of a time with a signal, `span`; `strong` is all time with a good signal.
    fn tell(
        &self,
        span: Span,
        strong: &[Span],
        ready_after: Duration,
        told: &mut Vec<(Instant, LinkEvent)>,
    ) {
        let mut up = span.from;
        if span.from > Instant::ZERO {
            told.push((span.from, LinkEvent::Detected));
            up += ready_after;
            if up >= span.to {
                return;
            }
            told.push((up, LinkEvent::Up));
        }
        let first = strong.partition_point(|good| good.to < span.from);
        let within = strong[first..]
            .iter()
            .take_while(|good| good.from < span.to);
        let mut going_down = false;
        for good in within {
            if self.reports() && good.from > Instant::ZERO {
                told.push((good.from, LinkEvent::ParametersReport));
            }
            if going_down && good.to > up {
                told.push((good.from.max(up), LinkEvent::Rollback));
                going_down = false;
            }
            if good.to < span.to && !going_down {
                told.push((good.to.max(up), LinkEvent::GoingDown));
                going_down = true;
            }
        }
        if span.to < Instant::NEVER {
            told.push((span.to, LinkEvent::Down));
        }
    }

    /// Returns true if its power is known and reported.
    fn reports(&self) -> bool {
        matches!(self, Reception::Coverage(_))
    }

    /// Returns the power in dBm that a mobile receives at a place, if known.
    pub fn received_dbm(&self, position_m: f64) -> Option<f64> {
        let Reception::Coverage(coverage) = self else {
            return None;
        };
        let places = &coverage.access_points_m;
        let behind = places.partition_point(|&place| place < position_m);
        let around = places[behind.saturating_sub(1)..].iter().take(2);
        let distances = around.map(|place| (place - position_m).abs());
        let nearest = distances.fold(f64::INFINITY, f64::min);
        Some(coverage.radio.received_dbm(nearest))
    }
}

impl Reception {
    /// Returns that power if it suffices to be measured.
    pub fn measured_dbm(&self, position_m: f64) -> Option<f64> {
        let Reception::Coverage(coverage) = self else {
            return None;
        };
        self.received_dbm(position_m)
            .filter(|&power| power >= coverage.threshold_dbm)
    }
}

impl Coverage {
    /// Returns the stretches in which at least this power is received.
    fn around(&self, power_dbm: f64) -> Vec<Stretch> {
        let range_m = self.radio.range_m(power_dbm);
        let around = |&place: &f64| Stretch {
            from_m: place - range_m,
            to_m: place + range_m,
        };
        self.access_points_m.iter().map(around).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> Instant {
        Instant::ZERO + Duration::from_secs_f64(seconds)
    }

    /// Run at 100 m/s from the beginning of the line.
    const RUN: LineRun = LineRun {
        begin: Instant::ZERO,
        from_m: 0.0,
        to_m: 1e6,
        speed_m_s: 100.0,
    };

    /// Returns the events and their times, to a millisecond.
    fn told(reception: &Reception, run: &LineRun) -> Vec<(f64, LinkEvent)> {
        let events = reception.events(run).into_iter();
        events
            .map(|event| ((event.at.as_secs_f64() * 1e3).round() / 1e3, event.news))
            .collect()
    }

    fn satellite(announced: f64) -> Reception {
        Reception::LineOfSight(LineOfSight {
            hidden: vec![Stretch {
                from_m: 10e3,
                to_m: 20e3,
            }],
            ready_after: Duration::from_millis(550),
            announced: Duration::from_secs_f64(announced),
        })
    }

    fn access_points(places: &[f64]) -> Reception {
        Reception::Coverage(Coverage {
            access_points_m: places.to_vec(),
            radio: TwoRay {
                transmit_power_dbm: 20.0,
                frequency_hz: 2.4e9,
                heights_m: [1.5, 1.5],
            },
            threshold_dbm: -80.0,
            margin_db: 3.0,
            ready_after: Duration::from_millis(50),
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
    fn an_access_point_is_received_within_its_range() {
        // 474.342 m at the threshold, 399.11 m with 3 dB of margin.
        let expected = [
            (0.0, LinkEvent::Down),
            (45.257, LinkEvent::Detected),
            (45.307, LinkEvent::Up),
            (46.009, LinkEvent::ParametersReport),
            (53.991, LinkEvent::GoingDown),
            (54.743, LinkEvent::Down),
        ];
        let one = access_points(&[5e3]);
        assert_eq!(told(&one, &RUN), expected);
        let powers: Vec<f64> = one
            .events(&RUN)
            .iter()
            .filter_map(|event| event.received_dbm)
            .collect();
        for (found, expected) in powers[1..].iter().zip([-80.0, -79.8, -77.0, -77.0, -80.0]) {
            assert!((found - expected).abs() < 0.05, "{powers:?}");
        }
    }

    #[test]
    fn between_access_points_it_stays_or_fades_or_is_lost() {
        // 800 m apart: between them never below the margin. 900 m: below it, but above the threshold.
        let near = told(&access_points(&[5e3, 5.79e3]), &RUN);
        let turns = |told: &[(f64, LinkEvent)]| told.iter().map(|told| told.1).collect::<Vec<_>>();
        let once = [
            LinkEvent::Down,
            LinkEvent::Detected,
            LinkEvent::Up,
            LinkEvent::ParametersReport,
            LinkEvent::GoingDown,
            LinkEvent::Down,
        ];
        assert_eq!(turns(&near), once);
        let fading = told(&access_points(&[5e3, 5.9e3]), &RUN);
        assert_eq!(
            turns(&fading)[3..],
            [
                LinkEvent::ParametersReport,
                LinkEvent::GoingDown,
                LinkEvent::ParametersReport,
                LinkEvent::Rollback,
                LinkEvent::GoingDown,
                LinkEvent::Down
            ]
        );
        let apart = told(&access_points(&[5e3, 6e3]), &RUN);
        assert_eq!(turns(&apart)[..6], once);
        assert_eq!(turns(&apart)[6..], once[1..]);
    }

    #[test]
    fn a_mobile_that_is_not_ready_in_time_has_no_link() {
        // 9.486 s in range.
        let Reception::Coverage(mut coverage) = access_points(&[5e3]) else {
            panic!("it is one");
        };
        coverage.ready_after = Duration::from_secs(10);
        let expected = [(0.0, LinkEvent::Down), (45.257, LinkEvent::Detected)];
        assert_eq!(told(&Reception::Coverage(coverage.clone()), &RUN), expected);
        // Ready when the margin is gone: up and going down at once.
        coverage.ready_after = Duration::from_secs(9);
        let late = told(&Reception::Coverage(coverage), &RUN);
        assert_eq!(
            late[2..],
            [
                (46.009, LinkEvent::ParametersReport),
                (54.257, LinkEvent::Up),
                (54.257, LinkEvent::GoingDown),
                (54.743, LinkEvent::Down)
            ]
        );
    }

    #[test]
    fn whoever_stands_in_range_at_the_start_has_the_link() {
        let run = LineRun {
            begin: at(20.0),
            from_m: 5e3,
            ..RUN
        };
        let expected = [(23.991, LinkEvent::GoingDown), (24.743, LinkEvent::Down)];
        assert_eq!(told(&access_points(&[5e3]), &run), expected);
    }
}
