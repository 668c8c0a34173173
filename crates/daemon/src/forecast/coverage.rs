//! Coverage along a route: the places at which each uplink carries packets.

use super::gpsd::Fix;
use baton_proto::time::Duration;
use std::path::Path;

/// Mean radius of the Earth, in metres (International Union of Geodesy and Geophysics).
const EARTH_RADIUS_M: f64 = 6_371_008.8;
/// Maximum distance at which a sample applies, in metres (chosen). Farther away the coverage is unknown, and no loss is
/// forecast.
const FARTHEST_M: f64 = 1000.0;
/// Number of places to check between here and the one reached after the time ahead (chosen, so that a short gap is
/// found).
const STEPS: u32 = 8;

/// A place on the route.
#[derive(Clone, Debug)]
struct Sample {
    latitude_deg: f64,
    longitude_deg: f64,
    /// Coverage of each uplink, in the order of the names.
    is_covered: Box<[bool]>,
}

/// Samples of coverage.
#[derive(Clone, Debug)]
pub struct Coverage {
    /// Uplinks in the file.
    uplinks: Vec<String>,
    samples: Vec<Sample>,
}

impl Coverage {
    /// Reads a file for a router with these uplinks.
    ///
    /// # Errors
    /// The file, the line, the mistake, and the expected value.
    pub fn read(file: &Path, uplinks: &[String]) -> Result<Coverage, String> {
        let wrong = |message: String| format!("{}: {message}", file.display());
        let opened = std::fs::File::open(file).map_err(|error| wrong(error.to_string()))?;
        Coverage::parse(opened, uplinks).map_err(wrong)
    }

    /// Reads the lines of a file.
    ///
    /// # Errors
    /// As for [`read`](Self::read), without the file.
    pub fn parse(text: impl std::io::Read, uplinks: &[String]) -> Result<Coverage, String> {
        let mut reader = csv::Reader::from_reader(text);
        let header = reader.headers().map_err(|error| error.to_string())?;
        let mut names = header.iter();
        if (names.next(), names.next()) != (Some("latitude"), Some("longitude")) {
            return Err("line 1: expected the columns latitude, longitude, and one for each uplink that may be away".to_owned());
        }
        let known: Vec<String> = names.map(str::to_owned).collect();
        if let Some(name) = known.iter().find(|name| !uplinks.contains(name)) {
            let expected = uplinks.join(", ");
            return Err(format!(
                "line 1: \"{name}\" is not an uplink; expected some of: {expected}"
            ));
        }
        let mut samples = Vec::new();
        for record in reader.records() {
            samples.push(sample(&record.map_err(|error| error.to_string())?)?);
        }
        match samples.is_empty() {
            true => Err("expected at least one place".to_owned()),
            false => Ok(Coverage {
                uplinks: known,
                samples,
            }),
        }
    }

    /// Returns the time until a mobile that keeps its speed and course reaches a place without this uplink, if that is at
    /// most `ahead`: to an eighth of `ahead`.
    pub fn ends_in(&self, uplink: &str, fix: Fix, ahead: Duration) -> Option<Duration> {
        let column = self.uplinks.iter().position(|known| known == uplink)?;
        let after_s = (0..=STEPS).map(|step| {
            let share = f64::from(step) / f64::from(STEPS);
            ahead.as_secs_f64() * share
        });
        let mut ends = after_s.filter(|&after_s| {
            let sample = self.nearest(fix.after(after_s));
            sample.is_some_and(|sample| !sample.is_covered[column])
        });
        ends.next().map(Duration::from_secs_f64)
    }

    /// Returns the nearest sample, if it is near.
    fn nearest(&self, place: (f64, f64)) -> Option<&Sample> {
        let distance = |sample: &&Sample| {
            let there = (sample.latitude_deg, sample.longitude_deg);
            distance_m(place, there)
        };
        let samples = self.samples.iter();
        let nearest = samples.min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
        (distance(&nearest) <= FARTHEST_M).then_some(nearest)
    }
}

/// Returns the distance in metres of two nearby places, each given by latitude and longitude in degrees: on the plane
/// tangent to the Earth there.
pub(super) fn distance_m(a: (f64, f64), b: (f64, f64)) -> f64 {
    let north = (a.0 - b.0).to_radians();
    // The shorter direction around the globe.
    let east = (a.1 - b.1 + 540.0).rem_euclid(360.0) - 180.0;
    let east = east.to_radians() * a.0.to_radians().cos();
    north.hypot(east) * EARTH_RADIUS_M
}

/// Returns the place at a distance in metres, on a course in degrees from north to east.
pub(super) fn place_at(from: (f64, f64), distance_m: f64, course_deg: f64) -> (f64, f64) {
    let angle = (distance_m / EARTH_RADIUS_M).to_degrees();
    let course = course_deg.to_radians();
    // At a pole every course leads south; no mobile is there.
    let narrowing = from.0.to_radians().cos().max(1e-6);
    (
        from.0 + angle * course.cos(),
        from.1 + angle * course.sin() / narrowing,
    )
}

fn sample(record: &csv::StringRecord) -> Result<Sample, String> {
    let line = record.position().map_or(0, csv::Position::line);
    let degrees = |place: usize, most: f64| {
        let text = record.get(place).unwrap_or_default();
        let value = text.trim().parse::<f64>().ok();
        value.filter(|value| value.abs() <= most).ok_or_else(|| {
            format!("line {line}: \"{text}\": expected degrees from -{most} to {most}")
        })
    };
    let is_covered = record.iter().skip(2).map(|text| match text.trim() {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err(format!(
            "line {line}: \"{text}\": expected 1 where the uplink carries packets, 0 where it does not"
        )),
    });
    Ok(Sample {
        latitude_deg: degrees(0, 90.0)?,
        longitude_deg: degrees(1, 180.0)?,
        is_covered: is_covered.collect::<Result<_, _>>()?,
    })
}
