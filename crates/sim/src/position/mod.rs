//! Positions of mobiles on the earth, and tracks between them.
//!
//! The earth is a sphere of radius 6371.0088 km (the mean radius of the International Union of Geodesy and Geophysics).
//! Distances are slant: straight through the air between two points, heights included.

mod flights;
pub mod line;
mod recorded;
mod track;

pub use flights::{JUMP_M_S, parse_flights};
pub use track::{Track, TrackError};

/// Mean radius of the earth in metres.
pub const EARTH_RADIUS_M: f64 = 6_371_008.8;

/// A point on or above the earth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Position {
    /// Direction from the earth's centre, of length one.
    direction: [f64; 3],
    /// Height above the sphere in metres.
    altitude_m: f64,
}

impl Position {
    /// Creates a position from latitude (−90 to 90, north positive) and longitude (−180 to 180, east positive) in
    /// degrees, and the height in metres.
    pub fn new(latitude_deg: f64, longitude_deg: f64, altitude_m: f64) -> Position {
        let latitude = latitude_deg.to_radians();
        let longitude = longitude_deg.to_radians();
        let ring = libm::cos(latitude);
        Position {
            direction: [
                ring * libm::cos(longitude),
                ring * libm::sin(longitude),
                libm::sin(latitude),
            ],
            altitude_m,
        }
    }

    /// Returns the latitude in degrees.
    pub fn latitude_deg(&self) -> f64 {
        let [x, y, z] = self.direction;
        libm::atan2(z, (x * x + y * y).sqrt()).to_degrees()
    }

    /// Returns the longitude in degrees.
    pub fn longitude_deg(&self) -> f64 {
        libm::atan2(self.direction[1], self.direction[0]).to_degrees()
    }

    /// Returns the height in metres.
    pub fn altitude_m(&self) -> f64 {
        self.altitude_m
    }

    /// Returns the axes at the position, each of length one: east, north, and up from the earth's centre.
    pub(crate) fn axes(&self) -> [[f64; 3]; 3] {
        let up = self.direction;
        let longitude = libm::atan2(up[1], up[0]);
        let east = [-libm::sin(longitude), libm::cos(longitude), 0.0];
        let north = [
            up[1] * east[2] - up[2] * east[1],
            up[2] * east[0] - up[0] * east[2],
            up[0] * east[1] - up[1] * east[0],
        ];
        [east, north, up]
    }

    /// Returns its place in metres from the earth's centre, the third axis to the north pole, the first to longitude 0.
    pub(crate) fn cartesian_m(&self) -> [f64; 3] {
        let radius = EARTH_RADIUS_M + self.altitude_m;
        self.direction.map(|part| part * radius)
    }

    /// Returns the slant distance to another point in metres.
    pub fn slant_distance_m(&self, other: &Position) -> f64 {
        let [from, to] = [self, other].map(|point| EARTH_RADIUS_M + point.altitude_m);
        let square: f64 = (0..3)
            .map(|axis| self.direction[axis] * from - other.direction[axis] * to)
            .map(|difference| difference * difference)
            .sum();
        square.sqrt()
    }

    /// Returns the distance over the ground in metres, along the great circle.
    pub fn ground_distance_m(&self, other: &Position) -> f64 {
        self.angle(other) * EARTH_RADIUS_M
    }

    /// Returns the angle between the two, seen from the earth's centre.
    fn angle(&self, other: &Position) -> f64 {
        let [a, b] = [self.direction, other.direction];
        let cross = [
            a[1] * b[2] - a[2] * b[1],
            a[2] * b[0] - a[0] * b[2],
            a[0] * b[1] - a[1] * b[0],
        ];
        let dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        let sine = (cross[0] * cross[0] + cross[1] * cross[1] + cross[2] * cross[2]).sqrt();
        libm::atan2(sine, dot)
    }

    /// Returns the point at a share (0 to 1) of the way along the great circle, the height changing evenly.
    pub(crate) fn towards(&self, other: &Position, share: f64) -> Position {
        let angle = self.angle(other);
        let sine = libm::sin(angle);
        // Close together, or on opposite sides, where the way is not unique: a straight line will do.
        let (here, there) = if sine < 1e-9 {
            (1.0 - share, share)
        } else {
            (
                libm::sin((1.0 - share) * angle) / sine,
                libm::sin(share * angle) / sine,
            )
        };
        let mut direction = [0.0; 3];
        for (axis, part) in direction.iter_mut().enumerate() {
            *part = self.direction[axis] * here + other.direction[axis] * there;
        }
        let length = direction.iter().map(|part| part * part).sum::<f64>().sqrt();
        Position {
            direction: direction.map(|part| part / length.max(f64::MIN_POSITIVE)),
            altitude_m: self.altitude_m + (other.altitude_m - self.altitude_m) * share,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_distances() {
        // A quarter of the equator, and a degree of latitude (111.195 km on this sphere).
        let origin = Position::new(0.0, 0.0, 0.0);
        let quarter = Position::new(0.0, 90.0, 0.0);
        assert!((origin.ground_distance_m(&quarter) - 10_007_557.0).abs() < 1.0);
        let degree = Position::new(1.0, 0.0, 0.0);
        assert!((origin.ground_distance_m(&degree) - 111_195.08).abs() < 0.01);
        // Straight up, and the chord of a quarter circle.
        assert!((origin.slant_distance_m(&Position::new(0.0, 0.0, 10e3)) - 10e3).abs() < 1e-6);
        let chord = EARTH_RADIUS_M * 2.0_f64.sqrt();
        assert!((origin.slant_distance_m(&quarter) - chord).abs() < 1e-3);
    }

    #[test]
    fn coordinates_come_back_and_a_way_is_walked_evenly() {
        let maastricht = Position::new(50.85, 5.69, 0.0);
        let oslo = Position::new(59.91, 10.75, 10_000.0);
        assert!((maastricht.latitude_deg() - 50.85).abs() < 1e-9);
        assert!((oslo.longitude_deg() - 10.75).abs() < 1e-9);
        let third = maastricht.towards(&oslo, 1.0 / 3.0);
        let whole = maastricht.ground_distance_m(&oslo);
        assert!((maastricht.ground_distance_m(&third) - whole / 3.0).abs() < 1e-3);
        assert!((third.altitude_m() - 10_000.0 / 3.0).abs() < 1e-9);
        let same = maastricht.towards(&maastricht, 0.5);
        assert!(same.slant_distance_m(&maastricht) < 1e-6);
    }
}
