//! A mobile's track through time.

use super::{EARTH_RADIUS_M, Position};
use baton_proto::time::{Duration, Instant};
use std::sync::Arc;

/// A position at a time.
type Point = (Instant, Position);

/// Position at each moment. Before its first point it stands there, after the last one likewise; a flight exists only in
/// between.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    first: Point,
    /// Points of which the track has those from `next` on after its first, later and earlier by the two times. Aircraft that
    /// fly the same way, one behind the other, share them.
    shape: Arc<[Point]>,
    next: u32,
    later: Duration,
    earlier: Duration,
    /// True if it moves from point to point, false if it jumps.
    moves: bool,
    /// True if it exists only from its first point to its last.
    is_flight: bool,
    /// Upper bound of the speed between any two moments, in m/s; infinite where it jumps.
    fastest_m_s: f64,
}

/// Reason for rejecting a track.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum TrackError {
    /// The track has no position; give at least one point.
    #[error("{what}: expected at least one position, found none")]
    Empty {
        /// The track, or its file.
        what: String,
    },
    /// The points must be in order of time; sort or remove them.
    #[error("{what}: expected a time later than that of the point before, found {found_s} s")]
    Unordered {
        /// The track.
        what: String,
        /// Time that is not later than the one before, in seconds.
        found_s: f64,
    },
    /// A speed is not above zero; give one in m/s.
    #[error("{what}: expected a speed above 0 m/s, found {found_m_s}")]
    Speed {
        /// The track.
        what: String,
        /// Given speed, in m/s.
        found_m_s: f64,
    },
    /// A cell of a recorded track has no valid value for its column; correct it.
    #[error("{file}:{line}: column {column}: expected {expected}, found {found}")]
    Malformed {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: usize,
        /// The column's name.
        column: String,
        /// Values of the column.
        expected: String,
        /// Text found in the cell.
        found: String,
    },
}

impl Track {
    /// Creates a track that stands still.
    pub fn fixed(position: Position) -> Track {
        Track::new(((Instant::ZERO, position), &[]), false, 0.0)
    }

    fn new((first, others): (Point, &[Point]), moves: bool, fastest_m_s: f64) -> Track {
        Track {
            first,
            shape: others.into(),
            next: 0,
            later: Duration::ZERO,
            earlier: Duration::ZERO,
            moves,
            is_flight: false,
            fastest_m_s,
        }
    }

    /// Creates a timetable: at each time it jumps to a position, and stays until the next.
    pub fn timetable(points: Vec<(Instant, Position)>) -> Result<Track, TrackError> {
        Track::from_points("timetable", points, false)
    }

    /// Creates straight legs: from `begin` on it goes from point to point along great circles at `speed_m_s` over the
    /// ground.
    pub fn legs(begin: Instant, points: &[Position], speed_m_s: f64) -> Result<Track, TrackError> {
        if !(speed_m_s > 0.0 && speed_m_s.is_finite()) {
            return Err(TrackError::Speed {
                what: "legs".into(),
                found_m_s: speed_m_s,
            });
        }
        let mut at = begin;
        let mut timed: Vec<(Instant, Position)> = Vec::new();
        for &position in points {
            if let Some((_, before)) = timed.last() {
                at += Duration::from_secs_f64(before.ground_distance_m(&position) / speed_m_s);
            }
            timed.push((at, position));
        }
        Track::from_points("legs", timed, true)
    }

    /// Creates a recorded track, with even motion between its points.
    pub fn recorded(points: Vec<(Instant, Position)>) -> Result<Track, TrackError> {
        Track::from_points("track", points, true)
    }

    /// Creates a flight: a recorded track that exists only from its first point to its last.
    pub fn flight(points: Vec<(Instant, Position)>) -> Result<Track, TrackError> {
        Ok(Track {
            is_flight: true,
            ..Track::from_points("flight", points, true)?
        })
    }

    fn from_points(what: &str, points: Vec<Point>, moves: bool) -> Result<Track, TrackError> {
        let Some((&first, others)) = points.split_first() else {
            return Err(TrackError::Empty { what: what.into() });
        };
        let mut fastest_m_s: f64 = 0.0;
        for pair in points.windows(2) {
            let [(from, here), (to, there)] = [pair[0], pair[1]];
            if to <= from {
                return Err(TrackError::Unordered {
                    what: what.into(),
                    found_s: to.as_secs_f64(),
                });
            }
            let radius = EARTH_RADIUS_M + here.altitude_m().max(there.altitude_m());
            let climb = there.altitude_m() - here.altitude_m();
            let way = radius * here.angle(&there);
            let length = (way * way + climb * climb).sqrt();
            fastest_m_s = fastest_m_s.max(length / to.saturating_since(from).as_secs_f64());
        }
        if !moves && points.len() > 1 {
            fastest_m_s = f64::INFINITY;
        }
        Ok(Track::new((first, others), moves, fastest_m_s))
    }

    /// Shares the points with another track that has the same.
    pub fn share_with(&mut self, other: &Track) {
        if self.shape == other.shape {
            self.shape = Arc::clone(&other.shape);
        }
    }

    /// Returns the same track, so much later.
    pub fn delayed(&self, by: Duration) -> Track {
        let (at, position) = self.first;
        Track {
            first: (at + by, position),
            later: self.later + by,
            ..self.clone()
        }
    }

    /// Returns the same track, so much earlier; at time zero it is where it has got by then.
    pub fn advanced(&self, by: Duration) -> Track {
        if by.is_zero() {
            return self.clone();
        }
        let from = Instant::ZERO + by;
        let begin = (Instant::ZERO, self.position(from));
        let Some(passed) = self.points_until(from).checked_sub(1) else {
            let all = (0..).map_while(|place| self.point(place));
            let earlier =
                all.map(|(at, position)| (Instant::ZERO + at.saturating_since(from), position));
            return Track {
                first: begin,
                shape: earlier.collect(),
                next: 0,
                later: Duration::ZERO,
                earlier: Duration::ZERO,
                ..*self
            };
        };
        Track {
            first: begin,
            next: self.next + passed as u32,
            earlier: self.earlier + by,
            ..self.clone()
        }
    }

    /// Returns the number of points up to a time.
    fn points_until(&self, at: Instant) -> usize {
        if at < self.first.0 {
            return 0;
        }
        let others = &self.shape[self.next as usize..];
        1 + others.partition_point(|point| self.moved(point).0 <= at)
    }

    /// Returns a point, counted from the first.
    fn point(&self, place: usize) -> Option<Point> {
        match place.checked_sub(1) {
            None => Some(self.first),
            Some(other) => {
                let point = self.shape.get(self.next as usize + other)?;
                Some(self.moved(point))
            }
        }
    }

    /// Returns a point of the shape at its time on this track.
    fn moved(&self, &(at, position): &Point) -> Point {
        let since = (at + self.later).saturating_since(Instant::ZERO + self.earlier);
        (Instant::ZERO + since, position)
    }

    /// Returns its position.
    pub fn position(&self, at: Instant) -> Position {
        let after = self.points_until(at);
        let Some((from, here)) = after.checked_sub(1).and_then(|before| self.point(before)) else {
            return self.first.1;
        };
        match self.point(after) {
            Some((to, there)) if self.moves => {
                let whole = to.saturating_since(from).as_secs_f64();
                here.towards(&there, at.saturating_since(from).as_secs_f64() / whole)
            }
            _ => here,
        }
    }

    /// Returns the earliest time after `at` by which it can have come `distance_m` nearer to, or farther from,
    /// anything; never if it stands still from then on.
    pub fn earliest_change(&self, at: Instant, distance_m: f64) -> Instant {
        let after = self.points_until(at);
        let Some((next, _)) = self.point(after) else {
            return Instant::NEVER;
        };
        if !self.moves {
            return next;
        }
        let begins = if after == 0 { next } else { at };
        if self.is_flight && after == 0 {
            return begins;
        }
        let seconds = distance_m.max(0.0) / self.fastest_m_s;
        let changes = if seconds.is_finite() {
            begins + Duration::from_secs_f64(seconds)
        } else {
            Instant::NEVER
        };
        match self.is_flight {
            true => changes.min(self.span().1),
            false => changes,
        }
    }

    /// Returns true if it exists at this time: a flight before its last point and not before its first, others always.
    pub fn is_present(&self, at: Instant) -> bool {
        let (first, last) = self.span();
        !self.is_flight || (first <= at && at < last)
    }

    /// Returns the times between which it exists, up to `now`.
    pub fn present_until(&self, now: Instant) -> (Instant, Instant) {
        let (first, last) = match self.is_flight {
            true => self.span(),
            false => (Instant::ZERO, now),
        };
        (first.min(now), last.min(now))
    }

    /// Returns the upper bound of its speed in m/s; infinite where it jumps.
    pub fn fastest_m_s(&self) -> f64 {
        self.fastest_m_s
    }

    /// Returns the times of its first and last points.
    pub fn span(&self) -> (Instant, Instant) {
        let last = self.shape[self.next as usize..].last();
        let last = last.map_or(self.first, |point| self.moved(point));
        (self.first.0, last.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_equator(longitude_deg: f64) -> Position {
        Position::new(0.0, longitude_deg, 0.0)
    }

    #[test]
    fn a_timetable_jumps_and_legs_fly() {
        let points = vec![
            (Instant::from_secs(10), on_equator(0.0)),
            (Instant::from_secs(20), on_equator(1.0)),
        ];
        let timetable = Track::timetable(points).unwrap();
        assert_eq!(timetable.position(Instant::from_secs(19)), on_equator(0.0));
        assert_eq!(timetable.position(Instant::from_secs(20)), on_equator(1.0));
        assert_eq!(
            timetable.earliest_change(Instant::ZERO, 1e9),
            Instant::from_secs(10)
        );
        // 800 km/h over one degree (111 195 m) takes 500.4 s.
        let legs = Track::legs(
            Instant::from_secs(100),
            &[on_equator(0.0), on_equator(1.0), on_equator(0.5)],
            800.0 / 3.6,
        )
        .unwrap();
        let (first, last) = legs.span();
        assert_eq!(first, Instant::from_secs(100));
        assert!((last.as_secs_f64() - 100.0 - 750.57).abs() < 0.01);
        let halfway = legs.position(Instant::from_nanos(350_189_000_000));
        assert!((halfway.longitude_deg() - 0.5).abs() < 1e-5);
        assert_eq!(legs.position(Instant::from_secs(5000)), on_equator(0.5));
    }

    #[test]
    fn nothing_changes_sooner_than_the_bound_says() {
        let legs = Track::legs(
            Instant::from_secs(5),
            &[
                Position::new(50.0, 5.0, 0.0),
                Position::new(51.0, 8.0, 11_000.0),
            ],
            250.0,
        )
        .unwrap();
        let cell = Position::new(49.0, 6.0, 0.0);
        let here = legs.position(Instant::ZERO).slant_distance_m(&cell);
        for distance in [1e3, 20e3, 150e3] {
            let bound = legs.earliest_change(Instant::ZERO, distance);
            for step in 0..=100 {
                let at = Instant::from_nanos(bound.as_nanos() / 100 * step);
                let there = legs.position(at).slant_distance_m(&cell);
                assert!((there - here).abs() <= distance + 1e-3);
            }
        }
        assert_eq!(
            legs.earliest_change(Instant::from_secs(4000), 1.0),
            Instant::NEVER
        );
        let still = Track::fixed(cell);
        assert_eq!(still.earliest_change(Instant::ZERO, 0.0), Instant::NEVER);
    }

    #[test]
    fn a_track_moved_in_time_is_where_it_was_or_will_be() {
        let corners = [0.0, 1.0, 0.5].map(on_equator);
        let begin = Instant::from_secs(100);
        let legs = Track::legs(begin, &corners, 800.0 / 3.6).unwrap();
        let is_at = |track: &Track, at: Instant, there: Position| {
            let apart = track.position(at).longitude_deg() - there.longitude_deg();
            assert!(apart.abs() < 1e-6, "{apart} degrees apart at {at:?}");
        };
        // Before it begins, on its first and second legs, and after its end.
        for by in [40, 300, 700, 5000].map(Duration::from_secs) {
            let (delayed, advanced) = (legs.delayed(by), legs.advanced(by));
            let back = advanced.delayed(by);
            for at in (0..1000).step_by(10).map(Instant::from_secs) {
                is_at(&delayed, at + by, legs.position(at));
                is_at(&advanced, at, legs.position(at + by));
                is_at(&back, at + by, legs.position(at + by));
            }
            let end = legs.span().1;
            assert_eq!(delayed.span(), (begin + by, end + by));
            let left = (Instant::ZERO + by)
                .max(end)
                .saturating_since(Instant::ZERO + by);
            assert_eq!(advanced.span(), (Instant::ZERO, Instant::ZERO + left));
        }
        let mut same = Track::legs(begin, &corners, 800.0 / 3.6).unwrap();
        same.share_with(&legs.advanced(Duration::from_secs(300)));
        assert!(Arc::ptr_eq(&same.shape, &legs.shape));
        assert_eq!(same, legs);
    }

    #[test]
    fn mistakes_are_named() {
        let twice = vec![(Instant::from_secs(3), on_equator(0.0)); 2];
        let error = Track::recorded(twice).unwrap_err();
        let expected = "track: expected a time later than that of the point before, found 3 s";
        assert_eq!(error.to_string(), expected);
        assert!(Track::legs(Instant::ZERO, &[], 0.0).is_err());
        assert!(Track::timetable(Vec::new()).is_err());
    }
}
