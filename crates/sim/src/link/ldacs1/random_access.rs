//! Random access: the request of aircraft without a slot for one.
//!
//! A superframe has two opportunities. Two aircraft in one collide, and neither is received. An aircraft that finds no
//! CELL_RESP in the common control channel that follows tries again after an exponential backoff. For its attempt
//! number `n` (from 0) it chooses uniformly among the next 2 · 2^n opportunities, at most 64 (the growth is the
//! specification's, the first window and the cap are chosen).

use super::frame::ACCESS_OPPORTUNITIES;
use crate::link::cells::StationId;
use crate::rng::Keyed;

/// Most doublings of the window.
const DOUBLINGS_MOST: u32 = 5;

/// Returns the opportunity of an attempt, among those from superframe `superframe` on. `draw` is the number of its
/// draw.
pub fn opportunity(draws: Keyed, draw: u64, superframe: u64, attempt: u32) -> u64 {
    let window = ACCESS_OPPORTUNITIES << attempt.min(DOUBLINGS_MOST);
    let choice = draws.stream(draw).below(window);
    superframe * ACCESS_OPPORTUNITIES + choice
}

/// Separates the successful accesses from the collided ones, each in order of arrival. Takes only accesses sent before
/// the end of a superframe.
pub fn resolve(
    contention: &mut Vec<(u64, StationId)>,
    superframe: u64,
) -> (Vec<StationId>, Vec<StationId>) {
    let end = (superframe + 1) * ACCESS_OPPORTUNITIES;
    let alone = |number: u64| contention.iter().filter(|sent| sent.0 == number).count() == 1;
    let sent = contention.iter().filter(|&&(number, _)| number < end);
    let (heard, collided): (Vec<_>, Vec<_>) = sent.partition(|&&(number, _)| alone(number));
    let stations = |sent: Vec<&(u64, StationId)>| sent.into_iter().map(|sent| sent.1).collect();
    let parted = (stations(heard), stations(collided));
    contention.retain(|&(number, _)| number >= end);
    parted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Seed;

    #[test]
    fn windows_double_up_to_a_cap() {
        let draws = Seed(3).keyed("test");
        for (attempt, window) in [(0, 2), (1, 4), (4, 32), (5, 64), (6, 64), (60, 64)] {
            let choices: Vec<u64> = (0..4000)
                .map(|draw| opportunity(draws, draw, 10, attempt))
                .collect();
            assert!(
                choices
                    .iter()
                    .all(|&choice| (20..20 + window).contains(&choice))
            );
            // Every opportunity of the window occurs about equally often: mean of a discrete uniform.
            let mean = choices.iter().sum::<u64>() as f64 / 4000.0 - 20.0;
            let expected = (window - 1) as f64 / 2.0;
            let error = 4.0 * ((window * window - 1) as f64 / 12.0 / 4000.0).sqrt();
            assert!((mean - expected).abs() < error, "{attempt}: {mean}");
        }
    }

    #[test]
    fn two_in_one_opportunity_are_not_heard() {
        let [a, b, c, d] = [1, 2, 3, 4].map(StationId);
        let mut contention = vec![(6, a), (7, b), (6, c), (9, d)];
        assert_eq!(resolve(&mut contention, 3), (vec![b], vec![a, c]));
        assert_eq!(contention, [(9, d)]);
    }
}
