//! A line, such as a railway's, on which positions are measured in metres from its beginning, and a run along it.

use baton_proto::time::{Duration, Instant};

/// A stretch of a line, in metres from its beginning; `from_m` is not behind `to_m`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// Its beginning.
    pub from_m: f64,
    /// Its end.
    pub to_m: f64,
}

/// A span of time; its end no longer belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Beginning; zero if it began before the run.
    pub from: Instant,
    /// End; never if it does not end.
    pub to: Instant,
}

/// A run along a line at constant speed: it stands at one place until departure, and at the other after arrival.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineRun {
    /// Time of departure.
    pub begin: Instant,
    /// Place of departure, in metres from the line's beginning.
    pub from_m: f64,
    /// Destination, in metres from the line's beginning.
    pub to_m: f64,
    /// Its speed in m/s, above zero.
    pub speed_m_s: f64,
}

impl LineRun {
    /// Returns the same run, so much later.
    pub fn delayed(self, by: Duration) -> LineRun {
        LineRun {
            begin: self.begin + by,
            ..self
        }
    }

    /// Returns the same run, so much earlier; at time zero it is where it has got by then.
    pub fn advanced(self, by: Duration) -> LineRun {
        let from = Instant::ZERO + by;
        LineRun {
            begin: Instant::ZERO + self.begin.saturating_since(from),
            from_m: self.position_m(from),
            ..self
        }
    }

    /// Returns its position, in metres from the line's beginning.
    pub fn position_m(&self, at: Instant) -> f64 {
        let way = at.saturating_since(self.begin).as_secs_f64() * self.speed_m_s;
        let whole = self.to_m - self.from_m;
        self.from_m + way.min(whole.abs()).copysign(whole)
    }

    /// Returns the same run of something that far behind, as on a long train.
    pub fn behind(self, by_m: f64) -> LineRun {
        let back = by_m.copysign(self.from_m - self.to_m);
        LineRun {
            from_m: self.from_m + back,
            to_m: self.to_m + back,
            ..self
        }
    }

    /// Returns the times for which it is in one of these stretches, in order. Stretches that overlap or touch are one.
    pub fn times_in(&self, stretches: &[Stretch]) -> Vec<Span> {
        let inside = stretches.iter().filter_map(|stretch| self.time_in(stretch));
        together(inside.collect())
    }

    /// Returns the times for which it is in none of these stretches, in order.
    pub fn times_outside(&self, stretches: &[Stretch]) -> Vec<Span> {
        outside(&self.times_in(stretches))
    }

    /// Returns the time for which it is in a stretch, if it ever is.
    fn time_in(&self, stretch: &Stretch) -> Option<Span> {
        let inside = |place: f64| stretch.from_m <= place && place <= stretch.to_m;
        let (enters, leaves) = match self.to_m >= self.from_m {
            true => (stretch.from_m, stretch.to_m),
            false => (stretch.to_m, stretch.from_m),
        };
        let from = match inside(self.from_m) {
            true => Some(Instant::ZERO),
            false => self.time_at(enters),
        }?;
        let to = match inside(self.to_m) {
            true => Instant::NEVER,
            false => self.time_at(leaves)?,
        };
        (from < to).then_some(Span { from, to })
    }

    /// Returns the time at which it passes a place, if that is on its way.
    fn time_at(&self, place_m: f64) -> Option<Instant> {
        let (low, high) = (self.from_m.min(self.to_m), self.from_m.max(self.to_m));
        let way = (place_m - self.from_m).abs();
        (low..=high)
            .contains(&place_m)
            .then(|| self.begin + Duration::from_secs_f64(way / self.speed_m_s))
    }
}

/// Returns all time in any of these spans, in order. Spans that overlap or touch are one.
pub fn together(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| span.from);
    let mut merged: Vec<Span> = Vec::new();
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.from <= last.to => last.to = last.to.max(span.to),
            _ => merged.push(span),
        }
    }
    merged
}

/// Returns all time outside these spans, which come in order and do not overlap.
fn outside(spans: &[Span]) -> Vec<Span> {
    let mut rest = Vec::new();
    let mut from = Instant::ZERO;
    for span in spans {
        if span.from > from {
            rest.push(Span {
                from,
                to: span.from,
            });
        }
        from = span.to;
    }
    if from < Instant::NEVER {
        rest.push(Span {
            from,
            to: Instant::NEVER,
        });
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const TUNNEL: Stretch = Stretch {
        from_m: 30e3,
        to_m: 40.6e3,
    };

    fn at(seconds: f64) -> Instant {
        Instant::ZERO + Duration::from_secs_f64(seconds)
    }

    fn train(from_m: f64, to_m: f64) -> LineRun {
        LineRun {
            begin: at(10.0),
            from_m,
            to_m,
            speed_m_s: 320.0 / 3.6,
        }
    }

    #[test]
    fn a_tunnel_of_10_6_km_takes_119_25_s_at_320_km_h() {
        // 30 km at 88.889 m/s are 337.5 s; 10.6 km are 119.25 s (study S: "about 120 s").
        let there = train(0.0, 100e3).times_in(&[TUNNEL]);
        assert_eq!(there.len(), 1);
        let seconds = |moment: Instant| moment.as_secs_f64();
        assert!((seconds(there[0].from) - 347.5).abs() < 1e-6);
        assert!((seconds(there[0].to) - 466.75).abs() < 1e-6);
        // The way back enters at the other end.
        let back = train(100e3, 0.0).times_in(&[TUNNEL]);
        assert!((seconds(back[0].from) - 10.0 - 59.4e3 / 320.0 * 3.6).abs() < 1e-6);
        assert!((seconds(back[0].to) - seconds(back[0].from) - 119.25).abs() < 1e-6);
    }

    #[test]
    fn it_stands_before_it_begins_and_at_its_end() {
        let run = train(35e3, 50e3);
        assert_eq!(run.position_m(at(0.0)), 35e3);
        assert!((run.position_m(at(10.0 + 90.0)) - 43e3).abs() < 1e-6);
        assert_eq!(run.position_m(at(1e6)), 50e3);
        let inside = run.times_in(&[TUNNEL]);
        assert_eq!(inside[0].from, Instant::ZERO);
        let ends = train(0.0, 35e3).times_in(&[TUNNEL]);
        assert_eq!(ends[0].to, Instant::NEVER);
        assert_eq!(train(0.0, 20e3).times_in(&[TUNNEL]), []);
        assert_eq!(train(50e3, 60e3).times_in(&[TUNNEL]), []);
        let still = train(35e3, 35e3).times_in(&[TUNNEL]);
        assert_eq!(
            still,
            [Span {
                from: Instant::ZERO,
                to: Instant::NEVER
            }]
        );
        assert_eq!(outside(&still), []);
    }

    #[test]
    fn spans_agree_with_positions_and_the_rest_is_outside() {
        let near = Stretch {
            from_m: 39e3,
            to_m: 45e3,
        };
        let far = Stretch {
            from_m: 60e3,
            to_m: 61e3,
        };
        for run in [train(0.0, 100e3), train(100e3, 0.0), train(42e3, 60.5e3)] {
            let spans = run.times_in(&[far, near, TUNNEL]);
            let rest = outside(&spans);
            for second in 0..1200 {
                let moment = at(f64::from(second) + 0.123);
                let here = run.position_m(moment);
                let inside = [TUNNEL, near, far]
                    .iter()
                    .any(|stretch| stretch.from_m <= here && here <= stretch.to_m);
                let within = |spans: &[Span]| {
                    spans
                        .iter()
                        .any(|span| span.from <= moment && moment < span.to)
                };
                assert_eq!(within(&spans), inside, "{run:?} at {second} s");
                assert_eq!(within(&rest), !inside);
            }
        }
    }
}
