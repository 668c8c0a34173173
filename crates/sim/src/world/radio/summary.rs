//! Positions and cells of aircraft, for a map.

use super::load::CellLoad;
use super::{AircraftRun, World};
use crate::link::cells::{CellConfig, CellId, StationId};
use crate::position::Track;
use baton_proto::time::{Duration, Instant};
use serde::Serialize;

/// Number of equal stretches of time into which each track is divided.
const STRETCHES: u64 = 100;
/// Most aircraft of a network that are reported, evenly spread over the order of the scenario.
const MOST_AIRCRAFT: usize = 100;

/// A radio network: its cells, and the tracks of its aircraft.
#[derive(Clone, Debug, Serialize)]
pub struct RadioSummary {
    /// Name of the link in the scenario.
    pub link: String,
    /// Cells, in the order of the scenario.
    pub cells: Vec<CellSummary>,
    /// Mobiles on it; of more than 100 as many, evenly spread over them.
    pub aircraft: Vec<AircraftSummary>,
}

/// A cell of a radio network.
#[derive(Clone, Debug, Serialize)]
pub struct CellSummary {
    /// Name in the scenario.
    pub cell: String,
    /// Degrees, north positive.
    pub latitude: f64,
    /// Degrees, east positive.
    pub longitude: f64,
    /// Largest distance at which aircraft may register, in metres.
    pub radius_m: f64,
    /// Its load over the run.
    pub load: CellLoad,
}

/// Track of a mobile until the end of the run, of a flight only while it exists.
#[derive(Clone, Debug, Serialize)]
pub struct AircraftSummary {
    /// Name of its node.
    pub mobile: String,
    /// Positions at equal intervals and at each entry into a cell or departure from one.
    pub track: Vec<PlaceSummary>,
}

/// Position of a mobile at a moment.
#[derive(Clone, Debug, Serialize)]
pub struct PlaceSummary {
    /// Time in seconds.
    pub at_s: f64,
    /// Degrees, north positive, to about a metre.
    pub latitude: f64,
    /// Degrees, east positive, to about a metre.
    pub longitude: f64,
    /// Height in whole metres.
    pub altitude_m: f64,
    /// The cell in which it was registered from then on; null for none.
    pub cell: Option<String>,
}

/// Registrations of the aircraft that are reported.
#[derive(Debug)]
pub(super) struct Shown {
    /// One in so many aircraft, the first included.
    every: usize,
    /// Times from which each was registered in a cell or in none.
    registered: Vec<Vec<(Instant, Option<CellId>)>>,
}

impl Shown {
    /// Begins with the aircraft's registrations at time zero.
    pub fn new(aircraft: &[AircraftRun]) -> Shown {
        let every = aircraft.len().div_ceil(MOST_AIRCRAFT).max(1);
        let shown = aircraft.iter().step_by(every);
        Shown {
            every,
            registered: shown.map(|one| vec![(one.since, one.cell)]).collect(),
        }
    }

    /// Notes an aircraft's registration in a cell or the end of it, if that aircraft is reported.
    pub fn note(&mut self, now: Instant, StationId(station): StationId, cell: Option<CellId>) {
        let station = station as usize;
        if !station.is_multiple_of(self.every) {
            return;
        }
        let registered = &mut self.registered[station / self.every];
        // Registrations from the start are reported, too.
        if registered.last() != Some(&(now, cell)) {
            registered.push((now, cell));
        }
    }
}

impl World {
    /// Returns the positions and cells of aircraft up to now.
    pub(in super::super) fn radio_summaries(&self) -> Vec<RadioSummary> {
        let radios = self.scenario.radios.iter().zip(&self.net.radios);
        radios
            .map(|(radio, run)| {
                let cells = &radio.config.cells;
                let aircraft = radio.aircraft.iter().enumerate().step_by(run.shown.every);
                let aircraft = aircraft.zip(&run.shown.registered);
                let loads = run.loads.clone().up_to(self.now, &run.aircraft);
                RadioSummary {
                    link: radio.config.name.clone(),
                    cells: cells.iter().zip(loads).map(cell_summary).collect(),
                    aircraft: aircraft
                        .map(|((station, flier), registered)| AircraftSummary {
                            mobile: self.scenario.nodes[flier.node.0].clone(),
                            track: track(
                                run.network.track(StationId(station as u32)),
                                (registered, cells),
                                self.now,
                            ),
                        })
                        .collect(),
                }
            })
            .collect()
    }
}

fn cell_summary((cell, load): (&CellConfig, CellLoad)) -> CellSummary {
    CellSummary {
        cell: cell.name.clone(),
        latitude: rounded(cell.position.latitude_deg()),
        longitude: rounded(cell.position.longitude_deg()),
        radius_m: cell.radius_m,
        load,
    }
}

fn track(
    track: &Track,
    (registered, cells): (&[(Instant, Option<CellId>)], &[CellConfig]),
    now: Instant,
) -> Vec<PlaceSummary> {
    let (begin, end) = track.present_until(now);
    let step = end.saturating_since(begin).as_nanos() / STRETCHES;
    let mut moments: Vec<Instant> = (0..STRETCHES)
        .map(|count| begin + Duration::from_nanos(step * count))
        .collect();
    moments.extend(registered.iter().map(|&(at, _)| at));
    moments.push(end);
    moments.retain(|at| (begin..=end).contains(at));
    moments.sort();
    moments.dedup();
    let places = moments.into_iter().map(|at| {
        let position = track.position(at);
        let known = registered.partition_point(|&(since, _)| since <= at);
        let cell = known.checked_sub(1).and_then(|last| registered[last].1);
        PlaceSummary {
            at_s: at.as_secs_f64(),
            latitude: rounded(position.latitude_deg()),
            longitude: rounded(position.longitude_deg()),
            altitude_m: position.altitude_m().round(),
            cell: cell.map(|cell| cells[usize::from(cell.0)].name.clone()),
        }
    });
    places.collect()
}

/// Rounds to five places, about a metre on the ground.
fn rounded(degrees: f64) -> f64 {
    (degrees * 1e5).round() / 1e5
}
