//! A return carrier: its terminals' requests, and the network control centre's burst time plans.

use super::slots::{Assignment, Grid};
use crate::scenario::model::LinkIndex;
use baton_proto::rate::DataRate;
use baton_proto::time::Instant;
use std::collections::VecDeque;

/// Nanoseconds in a second: constant rates are counted in bits times nanoseconds per second, without rounding.
const SECOND: u128 = 1_000_000_000;

/// A carrier and its terminals.
#[derive(Clone, Debug, PartialEq)]
pub struct CarrierConfig {
    /// Its slots.
    pub grid: Grid,
    /// Superframes from a request to the superframe for which it counts, at least one.
    pub control_loop: u32,
    /// Its terminals. Their constant rates together do not exceed the carrier's.
    pub terminals: Vec<TerminalConfig>,
}

/// A terminal's capacity categories (EN 301 790, section 6.4).
#[derive(Clone, Debug, PartialEq)]
pub struct TerminalConfig {
    /// Link at whose end B it is.
    pub link: LinkIndex,
    /// Constant rate assignment: capacity in each superframe, without a request.
    pub cra: DataRate,
    /// Rate-based dynamic capacity; `None`: it may not ask for a rate.
    pub rbdc: Option<Rbdc>,
    /// True if it may ask for volume-based dynamic capacity.
    pub vbdc: bool,
    /// True if it takes part in the free capacity assignment.
    pub fca: bool,
}

/// Rate-based dynamic capacity: each request replaces the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rbdc {
    /// Highest rate, in slots a superframe.
    pub maximum: u32,
    /// Superframes for which a request counts without another.
    pub timeout: u32,
}

/// A terminal's part of a superframe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its slots.
    pub assignment: Assignment,
    /// Slots for which it asks now, by rate and by volume.
    pub requested: u64,
}

/// A running carrier.
#[derive(Debug)]
pub struct Carrier {
    config: CarrierConfig,
    terminals: Vec<Terminal>,
    /// Burst time plans of this superframe and those for which all requests are made.
    plans: VecDeque<Vec<Slice>>,
    /// Superframes begun so far.
    begun: u64,
    /// Plans made so far.
    planned: u64,
}

/// A terminal, and the NCC's account of it.
#[derive(Debug)]
struct Terminal {
    config: TerminalConfig,
    /// At the NCC: constant rate not yet turned into whole slots.
    credit: u128,
    /// At the NCC: slots a superframe by the last rate request.
    rate: u32,
    /// At the NCC: superframes since that request.
    age: u32,
    /// At the NCC: slots requested by volume and not assigned.
    volume: u64,
    /// At the terminal: slots that it asked for by rate, for each superframe from the present one on.
    asked: VecDeque<u32>,
    /// At the terminal: slots that it asked for by volume and has not seen in a plan.
    open_volume: u64,
}

/// Slots of a terminal in a plan, by category.
#[derive(Clone, Copy, Debug, Default)]
struct Slice {
    constant: u32,
    by_rate: u32,
    by_volume: u32,
    free: u32,
}

impl Slice {
    fn total(&self) -> u32 {
        self.constant + self.by_rate + self.by_volume + self.free
    }
}

impl Carrier {
    /// Creates a carrier whose terminals have not asked for anything.
    pub fn new(config: CarrierConfig) -> Carrier {
        let control_loop = config.control_loop.max(1) as usize;
        let terminal = |config: &TerminalConfig| Terminal {
            config: config.clone(),
            credit: 0,
            rate: 0,
            age: 0,
            volume: 0,
            asked: VecDeque::from(vec![0; control_loop]),
            open_volume: 0,
        };
        let terminals = config.terminals.iter().map(terminal).collect();
        let mut carrier = Carrier {
            config,
            terminals,
            plans: VecDeque::new(),
            begun: 0,
            planned: 0,
        };
        for _ in 0..control_loop {
            let plan = carrier.plan();
            carrier.plans.push_back(plan);
        }
        carrier
    }

    /// Returns its parameters.
    pub fn config(&self) -> &CarrierConfig {
        &self.config
    }

    /// Returns the beginning of the next superframe.
    pub fn next_superframe(&self) -> Instant {
        Instant::ZERO + self.config.grid.superframe.saturating_mul(self.begun)
    }

    /// Begins the next superframe. Each terminal has so many bits to send; one without a number is down. Returns their
    /// parts, in the order of the terminals.
    pub fn begin(&mut self, backlogs: &[Option<u64>]) -> Vec<Part> {
        let (start, grid) = (self.next_superframe(), self.config.grid);
        self.begun += 1;
        let present = self.plans.pop_front().unwrap_or_default();
        let mut first = 0;
        let mut parts = Vec::with_capacity(self.terminals.len());
        for ((terminal, slice), backlog) in self.terminals.iter_mut().zip(present).zip(backlogs) {
            let slots = backlog.map(|bits| bits.div_ceil(grid.slot_bits()));
            let requested = terminal.request(slots, slice);
            let count = slice.total();
            let assignment = Assignment {
                start,
                grid,
                first,
                count,
            };
            first += count;
            parts.push(Part {
                assignment,
                requested,
            });
        }
        let plan = self.plan();
        self.plans.push_back(plan);
        parts
    }

    /// Makes the next plan: constant rates first, then requested rates, then volumes, at last what is free. Slots that
    /// do not suffice for a category are shared max-min fairly.
    fn plan(&mut self) -> Vec<Slice> {
        let turn = self.planned as usize;
        self.planned += 1;
        let grid = self.config.grid;
        let mut left = grid.slots;
        let mut plan = vec![Slice::default(); self.terminals.len()];
        for (terminal, slice) in self.terminals.iter_mut().zip(&mut plan) {
            slice.constant = terminal.constant(&grid).min(left);
            left -= slice.constant;
        }
        let rates = self.terminals.iter_mut().map(Terminal::standing_rate);
        let rates: Vec<u64> = rates.collect();
        for (slice, granted) in plan.iter_mut().zip(max_min(&mut left, &rates, turn)) {
            slice.by_rate = granted;
        }
        let volumes: Vec<u64> = self.terminals.iter().map(|one| one.volume).collect();
        let granted = max_min(&mut left, &volumes, turn);
        for ((terminal, slice), granted) in self.terminals.iter_mut().zip(&mut plan).zip(granted) {
            slice.by_volume = granted;
            terminal.volume -= u64::from(granted);
        }
        let taking_part = |one: &Terminal| if one.config.fca { u64::MAX } else { 0 };
        let taking_part: Vec<u64> = self.terminals.iter().map(taking_part).collect();
        for (slice, granted) in plan.iter_mut().zip(max_min(&mut left, &taking_part, turn)) {
            slice.free = granted;
        }
        plan
    }
}

impl Terminal {
    /// Asks for the slots that it lacks, by rate as far as allowed and by volume beyond. It lacks what is neither
    /// assigned in the present superframe nor asked for before. Returns the slots for which it asks.
    fn request(&mut self, backlog: Option<u64>, present: Slice) -> u64 {
        self.asked.pop_front();
        self.open_volume = self.open_volume.saturating_sub(present.by_volume.into());
        let Some(backlog) = backlog else {
            self.asked.push_back(0);
            return 0;
        };
        let expected = self
            .asked
            .iter()
            .map(|&slots| u64::from(slots))
            .sum::<u64>();
        let covered = u64::from(present.total()) + expected + self.open_volume;
        let lacking = backlog.saturating_sub(covered);
        let maximum = self.config.rbdc.map_or(0, |rbdc| rbdc.maximum);
        let by_rate = u32::try_from(lacking).unwrap_or(u32::MAX).min(maximum);
        self.asked.push_back(by_rate);
        (self.rate, self.age) = (by_rate, 0);
        let by_volume = match self.config.vbdc {
            true => lacking - u64::from(by_rate),
            false => 0,
        };
        self.open_volume += by_volume;
        self.volume += by_volume;
        u64::from(by_rate) + by_volume
    }

    /// Returns the whole slots of its constant rate in the next superframe; fractions add up.
    fn constant(&mut self, grid: &Grid) -> u32 {
        let slot = u128::from(grid.slot_bits()) * SECOND;
        self.credit +=
            u128::from(self.config.cra.bits_per_second()) * u128::from(grid.superframe.as_nanos());
        let slots = self.credit / slot;
        self.credit %= slot;
        u32::try_from(slots).unwrap_or(u32::MAX)
    }

    /// Returns the requested slots a superframe, zero if the request has expired, and ages the request.
    fn standing_rate(&mut self) -> u64 {
        let timeout = self.config.rbdc.map_or(0, |rbdc| rbdc.timeout);
        let stands = self.age < timeout;
        self.age = self.age.saturating_add(1);
        if stands { self.rate.into() } else { 0 }
    }
}

/// Shares slots max-min fairly: nobody gets more than it wants, and what one does not want is shared by the others.
/// Slots that do not divide go to the terminals whose turn it is. Takes the shared slots away from `left`.
fn max_min(left: &mut u32, wanted: &[u64], turn: usize) -> Vec<u32> {
    let mut granted = vec![0u32; wanted.len()];
    loop {
        let count = wanted.len();
        let order = (0..count).map(|place| (place + turn) % count);
        let unsatisfied: Vec<usize> = order
            .filter(|&one| u64::from(granted[one]) < wanted[one])
            .collect();
        if *left == 0 || unsatisfied.is_empty() {
            return granted;
        }
        let share = (*left / unsatisfied.len() as u32).max(1);
        for one in unsatisfied {
            let missing = wanted[one] - u64::from(granted[one]);
            let more = u32::try_from(missing).unwrap_or(u32::MAX);
            let more = more.min(share).min(*left);
            granted[one] += more;
            *left -= more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_textbook_s_example_of_max_min_fairness() {
        // Keshav 1997, An Engineering Approach to Computer Networking, section 9.2: demands of 2, 2.6, 4 and 5 share 10
        // as 2, 2.6, 2.7 and 2.7. Here in tenths.
        let mut left = 100;
        assert_eq!(max_min(&mut left, &[20, 26, 40, 50], 0), [20, 26, 27, 27]);
        assert_eq!(left, 0);
    }

    #[test]
    fn indivisible_slots_go_round_and_unwanted_ones_are_left() {
        let mut left = 7;
        assert_eq!(max_min(&mut left, &[9, 9, 9], 1), [2, 3, 2]);
        let mut left = 7;
        assert_eq!(max_min(&mut left, &[1, 0, 2], 0), [1, 0, 2]);
        assert_eq!(left, 4);
        assert!(max_min(&mut 3, &[], 5).is_empty());
    }
}
