//! Motion of a node: along a track, or by the Gauss–Markov model in three dimensions.
//!
//! The model (Broyles, Jabbar and Sterbenz, "Design and analysis of a 3-D Gauss–Markov mobility model for highly-dynamic
//! airborne networks", ITC 2010): at each step, speed, direction and pitch are a weighted sum of their last value, their
//! mean and a normal deviate. At a face of the box the node is reflected, and its mean with it. The parameters are those
//! of ns-3's model by the same group: a step of 0.5 s, a memory of 0.85, a mean pitch of 0.05 rad, standard deviations
//! √0.2 rad of the direction and √0.02 rad of the pitch, each cut off at 0.4 and 0.04 rad; the speed is constant.

use crate::position::{Position, Track};
use crate::rng::Stream;
use baton_proto::time::{Duration, Instant};
use std::f64::consts::{PI, TAU};
use std::sync::Arc;

/// Position in metres from the earth's centre, and velocity in metres a second.
pub type Motion = ([f64; 3], [f64; 3]);

const STEP: Duration = Duration::from_millis(500);
const MEMORY: f64 = 0.85;
const MEAN_PITCH: f64 = 0.05;
/// Variance of the direction and bound of its deviates, in radians.
const DIRECTION: (f64, f64) = (0.2, 0.4);
/// Likewise of the pitch.
const PITCH: (f64, f64) = (0.02, 0.04);
/// Time between two points of a track from which a velocity follows.
const GLANCE: Duration = Duration::from_millis(100);

/// A box of air over a square of the ground, small enough to count as flat.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Airspace {
    /// Centre of its floor.
    pub centre: Position,
    /// Side of the square in metres.
    pub side_m: f64,
    /// Height in metres.
    pub height_m: f64,
    /// Speed of the nodes in it, in metres a second.
    pub speed_m_s: f64,
}

/// A node's way of moving.
#[derive(Clone, Debug, PartialEq)]
pub enum Course {
    /// A track.
    Track(Arc<Track>),
    /// The Gauss–Markov model, from a random place on.
    Wandering(Airspace),
}

/// A node under way. Its times never decrease.
#[derive(Debug)]
pub enum Flight {
    Track(Arc<Track>),
    Wandering(Box<Wanderer>),
}

impl Flight {
    /// Begins a course, with these draws.
    pub fn new(course: &Course, draws: Stream) -> Flight {
        match course {
            Course::Track(track) => Flight::Track(track.clone()),
            Course::Wandering(airspace) => {
                Flight::Wandering(Box::new(Wanderer::new(*airspace, draws)))
            }
        }
    }

    /// Returns the motion at a moment.
    pub fn at(&mut self, now: Instant) -> Motion {
        match self {
            Flight::Track(track) => {
                let [here, there] = [now, now + GLANCE].map(|at| track.position(at).cartesian_m());
                let seconds = GLANCE.as_secs_f64();
                let velocity = core::array::from_fn(|axis| (there[axis] - here[axis]) / seconds);
                (here, velocity)
            }
            Flight::Wandering(wanderer) => wanderer.at(now),
        }
    }
}

/// A node that moves by the Gauss–Markov model.
#[derive(Debug)]
pub struct Wanderer {
    airspace: Airspace,
    draws: Stream,
    /// Time of the step under way.
    since: Instant,
    /// Place at that time in metres, from the corner of the box: east, north, up.
    place_m: [f64; 3],
    direction: f64,
    pitch: f64,
    mean_direction: f64,
    mean_pitch: f64,
}

impl Wanderer {
    fn new(airspace: Airspace, mut draws: Stream) -> Wanderer {
        let Airspace {
            side_m, height_m, ..
        } = airspace;
        let place_m = [side_m, side_m, height_m].map(|length| length * draws.uniform());
        let direction = TAU * draws.uniform();
        Wanderer {
            airspace,
            draws,
            since: Instant::ZERO,
            place_m,
            direction,
            pitch: MEAN_PITCH,
            mean_direction: direction,
            mean_pitch: MEAN_PITCH,
        }
    }

    fn at(&mut self, now: Instant) -> Motion {
        while self.since + STEP <= now {
            self.step();
        }
        let velocity = self.velocity_m_s();
        let seconds = now.saturating_since(self.since).as_secs_f64();
        let place: [f64; 3] =
            core::array::from_fn(|axis| self.place_m[axis] + velocity[axis] * seconds);
        let Airspace { centre, side_m, .. } = self.airspace;
        let middle = [side_m / 2.0, side_m / 2.0, 0.0];
        let axes = centre.axes();
        let origin = centre.cartesian_m();
        let turned = |local: [f64; 3], axis: usize| -> f64 {
            (0..3).map(|index| local[index] * axes[index][axis]).sum()
        };
        let from_middle = core::array::from_fn(|axis| place[axis] - middle[axis]);
        (
            core::array::from_fn(|axis| origin[axis] + turned(from_middle, axis)),
            core::array::from_fn(|axis| turned(velocity, axis)),
        )
    }

    fn velocity_m_s(&self) -> [f64; 3] {
        let speed = self.airspace.speed_m_s;
        let level = speed * libm::cos(self.pitch);
        [
            level * libm::cos(self.direction),
            level * libm::sin(self.direction),
            speed * libm::sin(self.pitch),
        ]
    }

    /// Ends a step, and chooses the velocity of the next one, which stays in the box.
    fn step(&mut self) {
        let seconds = STEP.as_secs_f64();
        let velocity = self.velocity_m_s();
        let [side, height] = [self.airspace.side_m, self.airspace.height_m];
        for (axis, bound) in [side, side, height].into_iter().enumerate() {
            self.place_m[axis] = (self.place_m[axis] + velocity[axis] * seconds).clamp(0.0, bound);
        }
        self.since += STEP;
        let noise = (1.0 - MEMORY * MEMORY).sqrt();
        let mut next = |last: f64, mean: f64, spread: (f64, f64)| {
            let deviate = bounded_normal(&mut self.draws, spread);
            MEMORY * last + (1.0 - MEMORY) * mean + noise * deviate
        };
        self.direction = next(self.direction, self.mean_direction, DIRECTION);
        self.pitch = next(self.pitch, self.mean_pitch, PITCH);
        let velocity = self.velocity_m_s();
        let leaves = |axis: usize, bound: f64| {
            let there = self.place_m[axis] + velocity[axis] * seconds;
            !(0.0..=bound).contains(&there)
        };
        let [east, north, up] = [leaves(0, side), leaves(1, side), leaves(2, height)];
        if east {
            self.direction = PI - self.direction;
            self.mean_direction = PI - self.mean_direction;
        }
        if north {
            self.direction = -self.direction;
            self.mean_direction = -self.mean_direction;
        }
        if up {
            self.pitch = -self.pitch;
            self.mean_pitch = -self.mean_pitch;
        }
    }
}

/// Returns a normal deviate of this variance, drawn again until it is within the bound.
fn bounded_normal(draws: &mut Stream, (variance, bound): (f64, f64)) -> f64 {
    loop {
        // Box and Muller.
        let radius = (-2.0 * libm::log(1.0 - draws.uniform())).sqrt();
        let deviate = variance.sqrt() * radius * libm::cos(TAU * draws.uniform());
        if deviate.abs() <= bound {
            return deviate;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::position::EARTH_RADIUS_M;
    use crate::rng::Seed;

    fn airspace() -> Airspace {
        Airspace {
            centre: Position::new(50.0, 8.0, 0.0),
            side_m: 150e3,
            height_m: 10e3,
            speed_m_s: 1200.0,
        }
    }

    #[test]
    fn a_wanderer_stays_in_its_box_at_its_speed_and_goes_everywhere() {
        let centre = airspace().centre.cartesian_m();
        let up = airspace().centre.axes()[2];
        let (mut near, mut far) = (0, 0);
        for seed in 0..5 {
            let course = Course::Wandering(airspace());
            let mut flight = Flight::new(&course, Seed(seed).stream("test"));
            let mut before = flight.at(Instant::ZERO).0;
            for step in 1..4000 {
                let (place, velocity) = flight.at(Instant::from_millis(250 * step));
                let speed = velocity.iter().map(|part| part * part).sum::<f64>().sqrt();
                assert!((speed - 1200.0).abs() < 1e-6);
                let moved: [f64; 3] = core::array::from_fn(|axis| place[axis] - before[axis]);
                let moved = moved.iter().map(|part| part * part).sum::<f64>().sqrt();
                // Half a step; less only where a face of the box stopped it.
                assert!(moved <= 300.0 + 1e-6, "{moved}");
                before = place;
                let from_centre: [f64; 3] = core::array::from_fn(|axis| place[axis] - centre[axis]);
                let height: f64 = (0..3).map(|axis| from_centre[axis] * up[axis]).sum();
                assert!((-1e-6..=10_000.0 + 1e-6).contains(&height), "{height}");
                let distance = from_centre.iter().map(|part| part * part).sum::<f64>();
                let level = (distance - height * height).sqrt();
                assert!(level <= 150e3 / 2.0_f64.sqrt() + 1e-3);
                near += usize::from(level < 37_500.0);
                far += usize::from(level >= 75e3);
            }
        }
        // Of a square, π/16 lies within a quarter of its side of the centre, and 1 − π/4 beyond half of it. Reflected
        // nodes linger near the faces, so the first share is smaller.
        let share = |count: usize| count as f64 / 19_995.0;
        assert!((0.08..0.25).contains(&share(near)), "{}", share(near));
        assert!((0.15..0.45).contains(&share(far)), "{}", share(far));
    }

    #[test]
    fn a_track_has_the_velocity_of_its_legs() {
        let points = [
            Position::new(0.0, 0.0, 9000.0),
            Position::new(0.0, 1.0, 9000.0),
        ];
        let track = Track::legs(Instant::ZERO, &points, 250.0).unwrap();
        let mut flight = Flight::new(&Course::Track(Arc::new(track)), Seed(1).stream("test"));
        let (place, velocity) = flight.at(Instant::ZERO);
        assert_eq!(place, [EARTH_RADIUS_M + 9000.0, 0.0, 0.0]);
        // East; 250 m/s over the ground is a little more at 9 km.
        let aloft = 250.0 * (EARTH_RADIUS_M + 9000.0) / EARTH_RADIUS_M;
        assert!((velocity[1] - aloft).abs() < 1e-3, "{velocity:?}");
        assert!(velocity[0].abs() < 0.01 && velocity[2].abs() < 1e-6);
    }

    #[test]
    fn deviates_have_the_variance_of_a_normal_cut_off() {
        // A normal of σ² = 0.2 cut off at 0.4 = 0.8944 σ: σ² (1 − 2 a φ(a) / (2 Φ(a) − 1)), a = 0.8944: 0.2 × 0.2366.
        let mut draws = Seed(3).stream("test");
        let count = 40_000;
        let square: f64 = (0..count)
            .map(|_| bounded_normal(&mut draws, DIRECTION))
            .map(|deviate| deviate * deviate)
            .sum();
        let expected = 0.2 * 0.2366;
        assert!((square / f64::from(count) / expected - 1.0).abs() < 0.02);
    }
}
