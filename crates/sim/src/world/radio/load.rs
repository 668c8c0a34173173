//! Loads of a radio network's cells over the run: aircraft, and data carried, in equal stretches of time.

use super::AircraftRun;
use crate::link::cells::{CellId, Direction};
use baton_proto::time::{Duration, Instant};
use serde::Serialize;

/// Number of equal stretches of the run.
const STRETCHES: usize = 96;

/// Load of a cell in equal stretches of the run. A stretch in which the run ended is shorter.
#[derive(Clone, Debug, Serialize)]
pub struct CellLoad {
    /// Length of a stretch in seconds.
    pub stretch_s: f64,
    /// Mean number of aircraft registered in each stretch.
    pub aircraft: Vec<f64>,
    /// Data delivered to aircraft in each stretch, in bits of IP packets per second.
    pub forward_bps: Vec<f64>,
    /// Data delivered by aircraft in each stretch, in bits of IP packets per second.
    pub return_bps: Vec<f64>,
}

/// Loads of cells so far: sums, since a fleet's registrations in hours take more memory than the fleet.
#[derive(Clone, Debug)]
pub(super) struct Loads {
    stretch: Duration,
    /// Sums of each cell and stretch.
    cells: Vec<[Sums; STRETCHES]>,
}

/// Load of a cell in a stretch.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    /// Bytes carried, forward and back.
    bytes: [u64; 2],
    /// Times that aircraft were registered there, all together.
    present: Duration,
}

impl Loads {
    /// Creates the sums of so many cells for a run of this length.
    pub fn new(cells: usize, run: Duration) -> Loads {
        Loads {
            stretch: Duration::from_nanos(run.as_nanos().div_ceil(STRETCHES as u64).max(1)),
            cells: vec![[Sums::default(); STRETCHES]; cells],
        }
    }

    /// Counts a packet that a cell has carried.
    pub fn add_packet(&mut self, cell: CellId, direction: Direction, at: Instant, bytes: u32) {
        let number = self.number(at).min(STRETCHES - 1);
        let sums = &mut self.cells[usize::from(cell.0)][number];
        sums.bytes[direction as usize] += u64::from(bytes);
    }

    /// Counts an aircraft's stay in a cell.
    pub fn add_stay(&mut self, cell: CellId, from: Instant, to: Instant) {
        for number in self.number(from)..STRETCHES {
            let begin = self.begin(number);
            if begin >= to {
                break;
            }
            let end = to.min(begin + self.stretch);
            let sums = &mut self.cells[usize::from(cell.0)][number];
            sums.present += end.saturating_since(begin.max(from));
        }
    }

    /// Returns the load of each cell up to `now`, with the present stays of aircraft.
    pub fn up_to(mut self, now: Instant, aircraft: &[AircraftRun]) -> Vec<CellLoad> {
        for one in aircraft {
            if let Some(cell) = one.cell {
                self.add_stay(cell, one.since, now);
            }
        }
        let lengths = (0..STRETCHES).map(|number| {
            let begin = self.begin(number);
            now.min(begin + self.stretch)
                .saturating_since(begin)
                .as_secs_f64()
        });
        let lengths: Vec<f64> = lengths.take_while(|&length| length > 0.0).collect();
        let rates = |sums: &[Sums; STRETCHES], value: fn(&Sums) -> f64| {
            let stretches = sums.iter().zip(&lengths);
            let rates = stretches.map(|(sums, length)| rounded(value(sums) / length));
            rates.collect()
        };
        let cells = self.cells.iter();
        cells
            .map(|sums| CellLoad {
                stretch_s: self.stretch.as_secs_f64(),
                aircraft: rates(sums, |sums| sums.present.as_secs_f64()),
                forward_bps: rates(sums, |sums| sums.bytes[0] as f64 * 8.0),
                return_bps: rates(sums, |sums| sums.bytes[1] as f64 * 8.0),
            })
            .collect()
    }

    fn number(&self, at: Instant) -> usize {
        (at.as_nanos() / self.stretch.as_nanos()) as usize
    }

    fn begin(&self, number: usize) -> Instant {
        Instant::ZERO + self.stretch.saturating_mul(number as u64)
    }
}

/// Rounds to three places.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
