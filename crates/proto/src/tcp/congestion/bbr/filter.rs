//! The highest of the last ten round trips: Linux's `win_minmax.c`, after Kathleen Nichols.

/// Round trips that a maximum stands for: `bbr_bw_rtts`.
const ROUNDS: u64 = 10;

/// The best, the second and the third best of the window, each later than the one before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MaximumOfRounds {
    best: [(u64, f64); 3],
}

impl MaximumOfRounds {
    pub(super) fn maximum(&self) -> f64 {
        self.best[0].1
    }

    pub(super) fn update(&mut self, round: u64, value: f64) {
        let new = (round, value);
        let best = &mut self.best;
        if value >= best[0].1 || round - best[2].0 > ROUNDS {
            *best = [new; 3];
            return;
        }
        if value >= best[1].1 {
            best[1] = new;
            best[2] = new;
        } else if value >= best[2].1 {
            best[2] = new;
        }
        let age = round - best[0].0;
        if age > ROUNDS {
            *best = [best[1], best[2], new];
            if round - best[0].0 > ROUNDS {
                *best = [best[1], best[2], new];
            }
        } else if best[1].0 == best[0].0 && age > ROUNDS / 4 {
            best[1] = new;
            best[2] = new;
        } else if best[2].0 == best[1].0 && age > ROUNDS / 2 {
            best[2] = new;
        }
    }
}
