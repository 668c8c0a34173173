//! Where aircraft were and in which cell, for a map.

use super::{AircraftRun, World};
use crate::link::cells::CellConfig;
use baton_proto::time::Instant;
use serde::Serialize;

/// Of each way so many equal stretches of time.
const STRETCHES: u64 = 100;
/// Of a network's aircraft the first so many.
const MOST_AIRCRAFT: usize = 100;

/// A radio network: its cells, and the ways of its aircraft.
#[derive(Clone, Debug, Serialize)]
pub struct RadioSummary {
    /// Name of the link in the scenario.
    pub link: String,
    /// Its cells, in the order of the scenario.
    pub cells: Vec<CellSummary>,
    /// The mobiles on it; of more than 100 the first.
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
    /// How far away aircraft may register, in metres.
    pub radius_m: f64,
}

/// A mobile's way until the end of the run.
#[derive(Clone, Debug, Serialize)]
pub struct AircraftSummary {
    /// Name of its node.
    pub mobile: String,
    /// Where it was, at equal intervals and whenever it came into a cell or left one.
    pub track: Vec<PlaceSummary>,
}

/// Where a mobile was at a moment.
#[derive(Clone, Debug, Serialize)]
pub struct PlaceSummary {
    /// When, in seconds.
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

impl World {
    /// Where aircraft were, and in which cell, up to now.
    pub(in super::super) fn radio_summaries(&self) -> Vec<RadioSummary> {
        let radios = self.scenario.radios.iter().zip(&self.net.radios);
        radios
            .map(|(radio, run)| {
                let cells = &radio.config.cells;
                let aircraft = radio.aircraft.iter().zip(&run.aircraft);
                RadioSummary {
                    link: radio.config.name.clone(),
                    cells: cells.iter().map(cell_summary).collect(),
                    aircraft: aircraft
                        .take(MOST_AIRCRAFT)
                        .map(|(flier, run)| AircraftSummary {
                            mobile: self.scenario.nodes[flier.node.0].clone(),
                            track: track(run, cells, self.now),
                        })
                        .collect(),
                }
            })
            .collect()
    }
}

fn cell_summary(cell: &CellConfig) -> CellSummary {
    CellSummary {
        cell: cell.name.clone(),
        latitude: rounded(cell.position.latitude_deg()),
        longitude: rounded(cell.position.longitude_deg()),
        radius_m: cell.radius_m,
    }
}

fn track(run: &AircraftRun, cells: &[CellConfig], now: Instant) -> Vec<PlaceSummary> {
    let step = now.as_nanos() / STRETCHES;
    let mut moments: Vec<Instant> = (0..STRETCHES)
        .map(|count| Instant::from_nanos(step * count))
        .collect();
    moments.extend(run.registered.iter().map(|&(at, _)| at));
    moments.push(now);
    moments.sort();
    moments.dedup();
    let places = moments.into_iter().map(|at| {
        let position = run.track.position(at);
        let known = run.registered.partition_point(|&(since, _)| since <= at);
        let cell = known.checked_sub(1).and_then(|last| run.registered[last].1);
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

/// To five places, about a metre on the ground.
fn rounded(degrees: f64) -> f64 {
    (degrees * 1e5).round() / 1e5
}
