//! Flights: mobiles of which a file of tracks makes so many, each for the time of its flight.

use super::document::Path;
use super::raw::RawScenario;
use super::raw_flows::RawFlow;
use super::resolve::Report;
use super::traces::Traces;
use super::units::Time;
use crate::position::{JUMP_M_S, Track, parse_flights};
use baton_proto::time::{Duration, Instant};
use std::sync::Arc;

/// Reads the files of flights, and gives each of their mobiles the flights that begin before the end of the run, up to
/// its count, and their number as its count.
pub(super) fn read(raw: &mut RawScenario, traces: &mut Traces<'_>, report: &mut Report<'_>) {
    let end = Instant::ZERO + raw.duration.0;
    for (name, mobile) in &mut raw.mobiles.0 {
        let Some(track) = &mut mobile.track else {
            continue;
        };
        let Some(file) = &track.flights else { continue };
        let path = Path::default().key("mobiles").key(name).key("track");
        let path = path.key("flights");
        let Some(all) = traces.parsed((file, "flights"), &path, report, parse_flights) else {
            continue;
        };
        let begun = all.into_iter().filter(|flight| flight.span().0 < end);
        let most = mobile.count.map_or(usize::MAX, |count| count as usize);
        let flights: Vec<Track> = begun.take(most).collect();
        if flights.is_empty() {
            let message = "has no flight that begins before the end of the run; expected times in seconds from its start";
            report.wrong(&path, message.to_owned());
        }
        warn_of_jumps(&flights, &path, report);
        mobile.count = Some(flights.len() as u32);
        track.flown = flights.into_iter().map(Arc::new).collect();
    }
}

fn warn_of_jumps(flights: &[Track], path: &Path, report: &mut Report<'_>) {
    let speeds = flights.iter().map(Track::fastest_m_s);
    let jumps: Vec<f64> = speeds.filter(|&speed| speed > JUMP_M_S).collect();
    let fastest = jumps.iter().copied().fold(0.0, f64::max);
    let found = match jumps.len() {
        0 => return,
        1 => "1 flight that jumps: between two points it moves".to_owned(),
        count => format!("{count} flights that jump: between two points one of them moves"),
    };
    let message = format!(
        "has {found} at {fastest:.0} m/s, expected at most {JUMP_M_S} m/s; `baton air-traffic import` cuts such tracks"
    );
    report.warn(path, message);
}

/// Lets a flow's times count from the beginning of a flight, and ends it with the flight at the latest. Returns false if
/// the flow never starts: after the flight, or after the run of length `run`.
pub(super) fn fly_with(flow: &mut RawFlow, flight: &Track, run: Duration) -> bool {
    let (first, last) = flight.span();
    let from = |time: Duration| first + time;
    let start = from(flow.start.map_or(Duration::ZERO, |start| start.0));
    let stop = flow.stop.map_or(last, |stop| from(stop.0).min(last));
    let since = |at: Instant| Time(at.saturating_since(Instant::ZERO));
    (flow.start, flow.stop) = (Some(since(start)), Some(since(stop)));
    start < stop && start < Instant::ZERO + run
}
