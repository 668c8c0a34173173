//! Access points along a line, of which the nearest serves.

use super::two_ray::TwoRay;
use crate::position::line::{LineRun, Span, Stretch};
use baton_proto::interface::LinkEvent;
use baton_proto::time::{Duration, Instant};

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

impl Coverage {
    /// Returns the events of a run, not in order.
    pub(super) fn events(&self, run: &LineRun) -> Vec<(Instant, LinkEvent)> {
        let received = run.times_in(&self.around(self.threshold_dbm));
        let strong = run.times_in(&self.around(self.threshold_dbm + self.margin_db));
        let mut told = Vec::new();
        if received
            .first()
            .is_none_or(|first| first.from > Instant::ZERO)
        {
            told.push((Instant::ZERO, LinkEvent::Down));
        }
        for span in &received {
            self.tell(*span, &strong, &mut told);
        }
        told
    }

    /// Adds the events of a time with a signal, `span`; `strong` is all time with a good signal.
    fn tell(&self, span: Span, strong: &[Span], told: &mut Vec<(Instant, LinkEvent)>) {
        let mut up = span.from;
        if span.from > Instant::ZERO {
            told.push((span.from, LinkEvent::Detected));
            up += self.ready_after;
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
            if good.from > Instant::ZERO {
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

    /// Returns the power in dBm that a mobile receives at a place.
    pub(super) fn received_dbm(&self, position_m: f64) -> f64 {
        let places = &self.access_points_m;
        let behind = places.partition_point(|&place| place < position_m);
        let around = places[behind.saturating_sub(1)..].iter().take(2);
        let distances = around.map(|place| (place - position_m).abs());
        let nearest = distances.fold(f64::INFINITY, f64::min);
        self.radio.received_dbm(nearest)
    }

    /// Returns that power if it suffices to be measured.
    pub(super) fn measured_dbm(&self, position_m: f64) -> Option<f64> {
        Some(self.received_dbm(position_m)).filter(|&power| power >= self.threshold_dbm)
    }

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
    use super::super::Reception;
    use super::super::tests::{RUN, at, told};
    use super::*;

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
