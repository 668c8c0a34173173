//! Beside Linux's module. Its rules (`net/ipv4/tcp_bic.c`, Linux 2.6.14 and later) are stated here in whole segments,
//! with an acknowledgment for each; the windows were worked by hand from them.

use super::*;

/// "max_increment" and "smooth_part" of the module, and its "BICTCP_B", the part of the distance that it adds.
const MOST: u32 = 16;
const SMOOTH: u32 = 20;
const PART: u32 = 4;

/// The module's window, in segments.
#[derive(Default)]
struct Module {
    window: u32,
    /// "last_max_cwnd".
    maximum: u32,
    /// Acknowledgments since the window last grew.
    counted: u32,
}

impl Module {
    /// Returns the acknowledgments that a segment of growth takes, after the first loss.
    fn acknowledgments(&self) -> u32 {
        let (window, maximum) = (self.window, self.maximum);
        if window <= 14 {
            return window;
        }
        if window < maximum {
            return match (maximum - window) / PART {
                distance if distance > MOST => window / MOST,
                0 | 1 => window * SMOOTH / PART,
                distance => window / distance,
            };
        }
        match window - maximum {
            beyond if beyond < PART => window * SMOOTH / PART,
            beyond if beyond < MOST * (PART - 1) => window * (PART - 1) / beyond,
            _ => window / MOST,
        }
    }

    fn round(&mut self) {
        for _ in 0..self.window {
            self.counted += 1;
            if self.counted >= self.acknowledgments() {
                self.window += 1;
                self.counted = 0;
            }
        }
    }

    fn lose(&mut self) {
        self.maximum = match self.window < self.maximum {
            true => self.window * (1024 + 819) / 2048,
            false => self.window,
        };
        self.window = match self.window <= 14 {
            true => self.window / 2,
            false => self.window * 819 / 1024,
        };
    }
}

/// Ours with the module's constants: a fifth of the window, S_max 16, and a segment in five round trips.
struct Ours {
    bic: Bic,
    window: Window,
}

impl Ours {
    fn new(segments: f64) -> Ours {
        let bic = Bic::new(BicParameters {
            smallest_increment: 0.2,
            largest_increment: 16.0,
            decrease: 0.2,
        });
        let threshold = segments;
        Ours {
            bic,
            window: Window {
                segments,
                threshold,
            },
        }
    }

    fn round(&mut self) {
        for _ in 0..self.window.segments as u32 {
            self.bic.avoid_congestion(&mut self.window, 1.0);
        }
    }

    fn lose(&mut self) {
        self.window.segments = self.bic.after_loss(self.window.segments);
    }
}

/// Both have lost at so many segments.
fn after_a_loss(segments: u32) -> (Module, Ours) {
    let mut module = Module {
        window: segments,
        ..Module::default()
    };
    let mut ours = Ours::new(f64::from(segments));
    module.lose();
    ours.lose();
    (module, ours)
}

fn close(found: f64, expected: f64, tolerance: f64) {
    let difference = (found - expected).abs();
    assert!(difference <= tolerance, "{found}, expected {expected}");
}

/// Losses at 500, at 399, and at 319 below the lowered maximum. By the module's integers: 500 · 819 / 1024 = 399; 399 ·
/// 1843 / 2048 = 359 and 399 · 819 / 1024 = 319; 319 · 1843 / 2048 = 287 and 319 · 819 / 1024 = 255.
#[test]
fn losses_leave_the_module_s_window_and_maximum() {
    let (mut module, mut ours) = after_a_loss(500);
    for (window, maximum) in [(399, 500), (319, 359), (255, 287)] {
        assert_eq!((module.window, module.maximum), (window, maximum));
        close(ours.window.segments, f64::from(window), 1.5);
        close(ours.bic.maximum.unwrap(), f64::from(maximum), 1.5);
        module.lose();
        ours.lose();
    }
}

/// Far below the maximum both add 16 segments a round trip.
#[test]
fn far_below_the_maximum_both_add_s_max() {
    let (mut module, mut ours) = after_a_loss(1000);
    assert_eq!(module.window, 799);
    for round in 1..=8 {
        module.round();
        ours.round();
        // What is left of a window after whole segments counts in the next round trip.
        close(ours.window.segments, 800.0 + 16.0 * f64::from(round), 0.2);
        close(f64::from(module.window), ours.window.segments, 4.0);
    }
}

/// Nearer, the module goes for a quarter of the distance, segment by segment, so that a round trip leaves
/// e^(-1/4) of it, but for its quotients; ours halves it, by the paper's midpoint. Of 41 and 40 segments; the first step
/// of ours is S_max.
#[test]
fn the_module_searches_by_quarters_and_the_paper_by_halves() {
    let (mut module, mut ours) = after_a_loss(200);
    assert_eq!(module.window, 159);
    for (quarters, halves) in [(31.9, 24.0), (24.9, 12.0), (19.4, 6.0), (15.1, 3.0)] {
        module.round();
        ours.round();
        close(200.0 - f64::from(module.window), quarters, 1.5);
        close(200.0 - ours.window.segments, halves, 0.2);
    }
}

/// From 7 segments below the maximum to 4 above it, the module adds a segment in five round trips, 55 in all. The
/// paper's search halves 7 segments to S_min in five, and its probing doubles S_min to 4 in five more.
#[test]
fn the_module_stays_near_the_maximum_for_longer() {
    let mut rounds = [0, 0];
    let (mut module, mut ours) = after_a_loss(200);
    while module.window < 204 {
        module.round();
        rounds[0] += u32::from(module.window >= 193);
    }
    while ours.window.segments < 204.0 {
        ours.round();
        rounds[1] += u32::from(ours.window.segments >= 193.0);
    }
    assert!((52..=58).contains(&rounds[0]), "{rounds:?}");
    assert!((9..=14).contains(&rounds[1]), "{rounds:?}");
}

/// Beyond the maximum the module adds a third of the distance, segment by segment, so that a round trip multiplies it by
/// e^(1/3), but for its quotients; ours doubles it, as the paper does. Ours adds 16 from S_max on, the module from 48
/// segments on.
#[test]
fn beyond_the_maximum_the_module_adds_a_third_of_the_distance_and_the_paper_all_of_it() {
    let mut module = Module {
        window: 312,
        maximum: 300,
        counted: 0,
    };
    for beyond in [16.7, 23.4, 32.6, 45.5] {
        module.round();
        close(f64::from(module.window - 300), beyond, 3.0);
    }
    let mut ours = Ours::new(303.0);
    ours.bic.maximum = Some(300.0);
    for beyond in [6.0, 12.0, 24.0, 40.0, 56.0] {
        ours.round();
        close(ours.window.segments - 300.0, beyond, 0.7);
    }
    module.window = 360;
    module.round();
    close(f64::from(module.window), 376.0, 1.0);
}
