//! Cells found by their places are those of a look at each.

use crate::link::cells::CellId;
use crate::link::ldacs1::CellConfig;
use crate::link::ldacs1::coverage::Cells;
use crate::position::Position;
use proptest::prelude::*;

fn place() -> impl Strategy<Value = Position> {
    // Coarse steps, so that places fall together; the poles and both sides of the date line are among them.
    (-18i32..=18, -36i32..=36, 0..=1u8).prop_map(|(north, east, up)| {
        let [north, east, up] = [5.0 * f64::from(north), 5.0 * f64::from(east), f64::from(up)];
        Position::new(north, east, 10_000.0 * up)
    })
}

fn cells() -> impl Strategy<Value = Cells> {
    let cell = (place(), 1..=40u32).prop_map(|(at, radius)| {
        let radius_m = 50e3 * f64::from(radius);
        CellConfig::new("cell", at, radius_m)
    });
    prop::collection::vec(cell, 1..60).prop_map(Cells::new)
}

fn ids(cells: &Cells) -> impl Iterator<Item = CellId> {
    (0..cells.len()).map(|number| CellId(number as u16))
}

proptest! {
    #[test]
    fn the_strongest_cell_is_that_of_a_look_at_all(cells in cells(), at in place()) {
        let received = |id: &CellId| cells[usize::from(id.0)].received_dbm(&at);
        let covering = ids(&cells).filter(|id| cells[usize::from(id.0)].beyond_radius_m(&at) <= 0.0);
        let strongest = covering.reduce(|best, id| if received(&id) > received(&best) { id } else { best });
        prop_assert_eq!(cells.strongest(&at), strongest);
    }

    #[test]
    fn the_nearest_cell_is_that_of_a_look_at_all(cells in cells(), at in place()) {
        let beyond = |id: CellId| cells[usize::from(id.0)].beyond_radius_m(&at);
        let nearest = ids(&cells).min_by(|&one, &other| beyond(one).total_cmp(&beyond(other)));
        let nearest = nearest.expect("at least one cell");
        prop_assert_eq!(cells.nearest(&at), (nearest, beyond(nearest)));
    }

    #[test]
    fn cells_overlap_as_their_radii_say(cells in cells()) {
        for id in ids(&cells) {
            let here = &cells[usize::from(id.0)];
            let overlaps = |&other: &CellId| {
                let there = &cells[usize::from(other.0)];
                other != id && here.position.slant_distance_m(&there.position) < here.radius_m + there.radius_m
            };
            prop_assert_eq!(cells.overlapping(id), ids(&cells).filter(overlaps).collect::<Vec<_>>());
        }
    }
}
