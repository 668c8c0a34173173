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

/// Bytes that cells have carried.
#[derive(Debug)]
pub(super) struct Carried {
    stretch: Duration,
    /// Bytes of each cell and stretch, forward and back.
    bytes: Vec<[[u64; 2]; STRETCHES]>,
}

impl Carried {
    /// Creates the counts of so many cells for a run of this length.
    pub fn new(cells: usize, run: Duration) -> Carried {
        Carried {
            stretch: Duration::from_nanos(run.as_nanos().div_ceil(STRETCHES as u64).max(1)),
            bytes: vec![[[0; 2]; STRETCHES]; cells],
        }
    }

    /// Counts a packet that a cell has carried.
    pub fn add(&mut self, cell: CellId, direction: Direction, at: Instant, bytes: u32) {
        let number = (at.as_nanos() / self.stretch.as_nanos()) as usize;
        let stretch = &mut self.bytes[usize::from(cell.0)][number.min(STRETCHES - 1)];
        stretch[direction as usize] += u64::from(bytes);
    }

    /// Returns the load of each cell up to `now`.
    pub fn loads(&self, aircraft: &[AircraftRun], now: Instant) -> Vec<CellLoad> {
        let present = self.presence(aircraft, now);
        let lengths = (0..STRETCHES).map(|number| {
            let begin = self.begin(number);
            now.min(begin + self.stretch)
                .saturating_since(begin)
                .as_secs_f64()
        });
        let lengths: Vec<f64> = lengths.take_while(|&length| length > 0.0).collect();
        let rates = |values: &dyn Fn(usize) -> f64| {
            let stretches = lengths.iter().enumerate();
            let rates = stretches.map(|(number, length)| rounded(values(number) / length));
            rates.collect()
        };
        let cells = self.bytes.iter().zip(&present);
        cells
            .map(|(bytes, present)| CellLoad {
                stretch_s: self.stretch.as_secs_f64(),
                aircraft: rates(&|number| present[number]),
                forward_bps: rates(&|number| bytes[number][0] as f64 * 8.0),
                return_bps: rates(&|number| bytes[number][1] as f64 * 8.0),
            })
            .collect()
    }

    /// Returns the seconds that aircraft have been registered in each cell and stretch.
    fn presence(&self, aircraft: &[AircraftRun], now: Instant) -> Vec<[f64; STRETCHES]> {
        let mut seconds = vec![[0.0; STRETCHES]; self.bytes.len()];
        for run in aircraft {
            let ends = run.registered.iter().skip(1).map(|&(at, _)| at);
            for (&(from, cell), to) in run.registered.iter().zip(ends.chain([now])) {
                let Some(cell) = cell else { continue };
                let of_cell = &mut seconds[usize::from(cell.0)];
                let first = (from.as_nanos() / self.stretch.as_nanos()) as usize;
                for (number, sum) in of_cell.iter_mut().enumerate().skip(first) {
                    let begin = self.begin(number);
                    if begin >= to {
                        break;
                    }
                    let end = to.min(begin + self.stretch);
                    *sum += end.saturating_since(begin.max(from)).as_secs_f64();
                }
            }
        }
        seconds
    }

    fn begin(&self, number: usize) -> Instant {
        Instant::ZERO + self.stretch.saturating_mul(number as u64)
    }
}

/// Rounds to three places.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
