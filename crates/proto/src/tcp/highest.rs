//! The highest value within a moving window: Linux's `win_minmax.c`, after Kathleen Nichols. It keeps three values, and
//! is exact for values that rise or stay; when the highest expires, the best later value replaces it.

/// The best, the second and the third best value of the window, each later than the one before, with their times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Highest {
    best: [(u64, f64); 3],
}

impl Default for Highest {
    fn default() -> Highest {
        Highest {
            best: [(0, f64::NEG_INFINITY); 3],
        }
    }
}

impl Highest {
    /// Returns the highest value; minus infinity before the first.
    pub(super) fn value(&self) -> f64 {
        self.best[0].1
    }

    /// Takes in a value of time `at`; values older than `window`, in the same unit, expire.
    pub(super) fn update(&mut self, window: u64, at: u64, value: f64) {
        let new = (at, value);
        let best = &mut self.best;
        if value >= best[0].1 || at - best[2].0 > window {
            *best = [new; 3];
            return;
        }
        if value >= best[1].1 {
            best[1] = new;
            best[2] = new;
        } else if value >= best[2].1 {
            best[2] = new;
        }
        let age = at - best[0].0;
        if age > window {
            *best = [best[1], best[2], new];
            if at - best[0].0 > window {
                *best = [best[1], best[2], new];
            }
        } else if best[1].0 == best[0].0 && age > window / 4 {
            best[1] = new;
            best[2] = new;
        } else if best[2].0 == best[1].0 && age > window / 2 {
            best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Highest;

    #[test]
    fn it_is_that_of_ten_rounds() {
        let mut highest = Highest::default();
        highest.update(10, 1, 100.0);
        for round in 2..=11 {
            highest.update(10, round, 50.0 + round as f64 / 100.0);
            assert_eq!(highest.value(), 100.0, "{round}");
        }
        highest.update(10, 12, 50.0);
        assert!((50.0..51.0).contains(&highest.value()));
    }
}
