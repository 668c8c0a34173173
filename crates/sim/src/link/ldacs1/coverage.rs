//! The cells of a network by their places: a search looks at those nearby, however many there are.

use super::config::CellConfig;
use crate::link::cells::CellId;
use crate::position::Position;
use core::ops::Deref;
use rstar::RTree;
use rstar::primitives::GeomWithData;

/// Metres by which a search reaches further than it must, far more than what two ways of computing a distance differ by.
const MARGIN_M: f64 = 1.0;

/// Cells in the order of the scenario.
#[derive(Clone, Debug)]
pub struct Cells {
    configs: Box<[CellConfig]>,
    /// Places of their antennas in metres from the earth's centre, with their numbers.
    places: RTree<GeomWithData<[f64; 3], u16>>,
    largest_radius_m: f64,
}

impl Cells {
    /// Creates the cells of a network, at most 65 536.
    pub fn new(configs: Vec<CellConfig>) -> Cells {
        let places = (0..).zip(&configs);
        let places =
            places.map(|(number, cell)| GeomWithData::new(cell.position.cartesian_m(), number));
        Cells {
            places: RTree::bulk_load(places.collect()),
            largest_radius_m: configs.iter().map(|cell| cell.radius_m).fold(0.0, f64::max),
            configs: configs.into(),
        }
    }

    /// Returns the strongest of the cells whose radius covers a position, the first of equals.
    pub fn strongest(&self, at: &Position) -> Option<CellId> {
        let mut best: Option<(f64, CellId)> = None;
        for id in self.near(at, self.largest_radius_m) {
            let cell = &self[usize::from(id.0)];
            if cell.beyond_radius_m(at) <= 0.0 {
                let received = cell.received_dbm(at);
                if best.is_none_or(|(most, _)| received > most) {
                    best = Some((received, id));
                }
            }
        }
        best.map(|(_, cell)| cell)
    }

    /// Returns the cell with the least distance of a position beyond its radius, the first of equals, and that distance
    /// in metres; negative inside.
    pub fn nearest(&self, at: &Position) -> (CellId, f64) {
        let mut best = (CellId(0), f64::INFINITY);
        for (place, square) in self
            .places
            .nearest_neighbor_iter_with_distance_2(at.cartesian_m())
        {
            if square.sqrt() - self.largest_radius_m - MARGIN_M > best.1 {
                break;
            }
            let beyond = self.configs[usize::from(place.data)].beyond_radius_m(at);
            if (beyond, place.data) < (best.1, best.0.0) {
                best = (CellId(place.data), beyond);
            }
        }
        best
    }

    /// Returns the cells that overlap one, in their order.
    pub fn overlapping(&self, cell: CellId) -> Vec<CellId> {
        let here = &self[usize::from(cell.0)];
        let mut others = self.near(&here.position, here.radius_m + self.largest_radius_m);
        others.retain(|&id| {
            let other = &self[usize::from(id.0)];
            let apart_m = here.position.slant_distance_m(&other.position);
            id != cell && apart_m < here.radius_m + other.radius_m
        });
        others
    }

    /// Returns all cells within a distance of a position, and maybe some a little further, in their order.
    fn near(&self, at: &Position, distance_m: f64) -> Vec<CellId> {
        let reach = distance_m + MARGIN_M;
        let found = self
            .places
            .locate_within_distance(at.cartesian_m(), reach * reach);
        let mut cells: Vec<CellId> = found.map(|place| CellId(place.data)).collect();
        cells.sort_unstable();
        cells
    }
}

impl Deref for Cells {
    type Target = [CellConfig];

    fn deref(&self) -> &[CellConfig] {
        &self.configs
    }
}

impl PartialEq for Cells {
    fn eq(&self, other: &Cells) -> bool {
        self.configs == other.configs
    }
}
