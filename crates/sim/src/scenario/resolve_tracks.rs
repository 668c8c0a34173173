//! Resolution of tracks of mobiles.

use super::document::Path;
use super::model::Aircraft;
use super::raw_tracks::{RawPosition, RawTrack};
use super::resolve::Report;
use super::traces::Traces;
use crate::link::cells::{CellId, NetworkConfig};
use crate::position::{Position, Track};
use baton_proto::time::{Duration, Instant};

/// Resolves a point.
pub(crate) fn position(raw: &RawPosition) -> Position {
    let altitude_m = raw.altitude.map_or(0.0, |altitude| altitude.0);
    Position::new(raw.latitude, raw.longitude, altitude_m)
}

/// Resolves the track at `path`, and the largest delay of its start.
pub(crate) fn track(
    raw: &RawTrack,
    path: &Path,
    traces: &mut Traces<'_>,
    report: &mut Report<'_>,
) -> Option<(Track, Duration)> {
    if raw.along.is_some() {
        let message = "is not a place on the earth, as a radio network needs; expected position, legs, timetable, file or flights";
        report.wrong_key(&path.key("along"), message.to_owned());
        return None;
    }
    let kinds = [
        ("position", raw.position.is_some()),
        ("legs", raw.legs.is_some()),
        ("timetable", raw.timetable.is_some()),
        ("file", raw.file.is_some()),
        ("flights", raw.flights.is_some()),
    ];
    let mut given = kinds.iter().filter(|(_, given)| *given);
    let Some((kind, _)) = given.next() else {
        let message = "is empty; expected position, legs, timetable, file or flights";
        report.wrong(path, message.to_owned());
        return None;
    };
    if let Some((second, _)) = given.next() {
        let message = format!("is set beside \"{kind}\"; expected only one of them");
        report.wrong_key(&path.key(second), message);
        return None;
    }
    let others = [
        ("from", raw.from.is_some()),
        ("to", raw.to.is_some()),
        ("speed", raw.speed.is_some()),
        ("begin", raw.begin.is_some()),
        ("begin_jitter", raw.begin_jitter.is_some()),
        ("spacing", raw.spacing.is_some()),
    ];
    let own: &[&str] = match *kind {
        "position" | "flights" => &[],
        "legs" => &["speed", "begin", "begin_jitter", "spacing"],
        _ => &["begin", "begin_jitter", "spacing"],
    };
    report.misplaced(path, &others, own, &format!("\"{kind}\""));
    let track = shape(raw, path, traces, report)?;
    let or_zero = |time: Option<super::units::Time>| time.map_or(Duration::ZERO, |time| time.0);
    let track = track.delayed(or_zero(raw.begin)).advanced(raw.ahead);
    Some((track, or_zero(raw.begin_jitter)))
}

/// Resolves the track without its start time.
fn shape(
    raw: &RawTrack,
    path: &Path,
    traces: &mut Traces<'_>,
    report: &mut Report<'_>,
) -> Option<Track> {
    if raw.flights.is_some() {
        let [flight] = raw.flown.as_ref() else {
            let message = "stands for many mobiles; expected it as the track of a mobile";
            report.wrong_key(&path.key("flights"), message.to_owned());
            return None;
        };
        return Some(Track::clone(flight));
    }
    if let Some(name) = &raw.file {
        return traces.track(name, &path.key("file"), report);
    }
    if let Some(at) = &raw.position {
        return Some(Track::fixed(position(at)));
    }
    let (key, track) = match (&raw.timetable, &raw.legs, raw.speed) {
        (Some(entries), _, _) => {
            let places = entries.iter().map(|entry| {
                let at = Instant::ZERO + entry.at.0;
                (at, position(&entry.position))
            });
            ("timetable", Track::timetable(places.collect()))
        }
        (None, Some(points), Some(speed)) => {
            let points: Vec<Position> = points.iter().map(position).collect();
            ("legs", Track::legs(Instant::ZERO, &points, speed.0))
        }
        (None, _, _) => {
            let message = "key \"speed\" is missing; expected a number with m/s, km/h or kt, like \"800 km/h\"";
            report.wrong_key(path, message.to_owned());
            return None;
        }
    };
    track
        .map_err(|error| report.wrong(&path.key(key), error.to_string()))
        .ok()
}

/// Returns the first time before `end` at which an aircraft is outside all cells' radii, the nearest cell then, and the
/// distance outside it, in metres.
pub(super) fn first_outside(
    aircraft: &Aircraft,
    network: &NetworkConfig,
    end: Instant,
) -> Option<(Instant, CellId, f64)> {
    let found = |beyond| beyond > 0.0;
    first_place(&aircraft.track, network, end, found)
}

/// Returns true if a track comes into the radius of a cell before `end`.
pub(super) fn comes_inside(track: &Track, network: &NetworkConfig, end: Instant) -> bool {
    first_place(track, network, end, |beyond| beyond <= 0.0).is_some()
}

/// Returns the first time before `end` at which something exists and has a distance outside all cells' radii, negative
/// inside, that is sought; with it the nearest cell then, and that distance in metres.
fn first_place(
    track: &Track,
    network: &NetworkConfig,
    end: Instant,
    is_sought: impl Fn(f64) -> bool,
) -> Option<(Instant, CellId, f64)> {
    // Precise enough for a message, and bounded for flights of years.
    let step = Duration::from_nanos((end.as_nanos() / 100_000).max(1_000_000_000));
    let mut now = Instant::ZERO;
    while now < end {
        if !track.is_present(now) {
            now = track.earliest_change(now, 0.0);
            continue;
        }
        let (cell, beyond) = network.cells.nearest(&track.position(now));
        if is_sought(beyond) {
            return Some((now, cell, beyond));
        }
        now = track.earliest_change(now, beyond.abs()).max(now + step);
    }
    None
}
