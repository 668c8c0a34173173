//! Order of service: static priorities, and deficit round robin with fragmentation inside each (study D, section 2.1;
//! Shreedhar and Varghese 1996).
//!
//! A class on the list gets a quantum of bytes in its turn and sends its ready data. The rest of a turn when the frame
//! is full is sent in the next frame; the rest when the class is empty lapses.

use super::queue::PRIORITIES;
use crate::link::cells::StationId;
use std::collections::VecDeque;

/// Capacity to be distributed by the scheduler, and its receivers.
pub trait Grants {
    /// Returns the bytes of a class ready to be granted.
    fn ready(&self, station: StationId, priority: u8) -> u32;
    /// Returns the class's deficit counter.
    fn deficit(&mut self, station: StationId, priority: u8) -> &mut u32;
    /// Grants up to so many bytes; fewer, or none, if a limit applies.
    fn grant(&mut self, station: StationId, priority: u8, at_most: u32) -> u32;
    /// Notes that the class has left the list.
    fn unlist(&mut self, station: StationId, priority: u8);
    /// Returns true if no further grant is possible.
    fn is_full(&self) -> bool;
}

/// Lists of one direction of a cell.
#[derive(Debug, Default)]
pub struct Scheduler {
    rounds: [VecDeque<StationId>; PRIORITIES as usize],
}

impl Scheduler {
    /// Appends a class to its list; it must be on none.
    pub fn enlist(&mut self, station: StationId, priority: u8) {
        self.rounds[usize::from(priority)].push_back(station);
    }

    /// Takes an aircraft off all lists.
    pub fn remove(&mut self, station: StationId) {
        for round in &mut self.rounds {
            round.retain(|&other| other != station);
        }
    }

    /// Returns true if no class waits.
    pub fn is_empty(&self) -> bool {
        self.rounds.iter().all(VecDeque::is_empty)
    }

    /// Distributes the capacity.
    pub fn run(&mut self, quantum: u32, grants: &mut impl Grants) {
        for priority in (0..PRIORITIES).rev() {
            self.run_priority(priority, quantum, grants);
        }
    }

    fn run_priority(&mut self, priority: u8, quantum: u32, grants: &mut impl Grants) {
        let round = &mut self.rounds[usize::from(priority)];
        // Consecutive aircraft without a grant, though there is room for others.
        let mut refused = 0;
        while refused < round.len() && !grants.is_full() {
            let Some(&station) = round.front() else {
                return;
            };
            let ready = grants.ready(station, priority);
            let deficit = grants.deficit(station, priority);
            if *deficit == 0 {
                *deficit = quantum;
            }
            let wish = ready.min(*deficit);
            let granted = grants.grant(station, priority, wish);
            let deficit = grants.deficit(station, priority);
            *deficit -= granted;
            if granted == ready {
                *deficit = 0;
                round.pop_front();
                grants.unlist(station, priority);
                refused = 0;
            } else if granted == wish {
                round.rotate_left(1);
                refused = 0;
            } else if !grants.is_full() {
                *grants.deficit(station, priority) = 0;
                round.rotate_left(1);
                refused = if granted > 0 { 0 } else { refused + 1 };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Aircraft with one class each: priority, waiting bytes, granted bytes.
    struct Pool {
        classes: Vec<(u8, u32, u32)>,
        deficits: Vec<u32>,
        left: u32,
        most_each: u32,
    }

    impl Grants for Pool {
        fn ready(&self, station: StationId, _: u8) -> u32 {
            self.classes[station.0 as usize].1
        }
        fn deficit(&mut self, station: StationId, _: u8) -> &mut u32 {
            &mut self.deficits[station.0 as usize]
        }
        fn grant(&mut self, station: StationId, _: u8, at_most: u32) -> u32 {
            let class = &mut self.classes[station.0 as usize];
            let bytes = at_most.min(self.left).min(self.most_each - class.2);
            self.left -= bytes;
            class.1 -= bytes;
            class.2 += bytes;
            bytes
        }
        fn unlist(&mut self, _: StationId, _: u8) {}
        fn is_full(&self) -> bool {
            self.left == 0
        }
    }

    /// Returns the bytes granted in frames of `frame` bytes.
    fn granted(classes: &[(u8, u32)], frames: u32, frame: u32, most_each: u32) -> Vec<u32> {
        let mut scheduler = Scheduler::default();
        for (index, &(priority, _)) in classes.iter().enumerate() {
            scheduler.enlist(StationId(index as u32), priority);
        }
        let mut pool = Pool {
            classes: classes
                .iter()
                .map(|&(priority, bytes)| (priority, bytes, 0))
                .collect(),
            deficits: vec![0; classes.len()],
            left: 0,
            most_each,
        };
        for _ in 0..frames {
            pool.left = frame;
            scheduler.run(91, &mut pool);
        }
        pool.classes.iter().map(|class| class.2).collect()
    }

    #[test]
    fn equals_share_equally_within_a_quantum() {
        // 10 frames of 24 x 91 B among seven with enough data: 3120 B each.
        let shares = granted(&[(0, 100_000); 7], 10, 24 * 91, u32::MAX);
        assert_eq!(shares.iter().sum::<u32>(), 21_840);
        assert!(
            shares.iter().all(|share| share.abs_diff(3120) <= 91),
            "{shares:?}"
        );
    }

    #[test]
    fn who_wants_less_gets_it_and_the_others_share_the_rest() {
        // Max-min fairness: 500 to the one with little data, (2184 - 500) / 2 to the others.
        let shares = granted(&[(0, 500), (0, 9000), (0, 9000)], 1, 2184, u32::MAX);
        assert_eq!(shares[0], 500);
        assert!(
            shares[1].abs_diff(842) <= 91 && shares[2].abs_diff(842) <= 91,
            "{shares:?}"
        );
        assert_eq!(shares.iter().sum::<u32>(), 2184);
    }

    #[test]
    fn a_higher_priority_goes_first() {
        assert_eq!(
            granted(&[(1, 5000), (6, 1500), (7, 300)], 1, 2184, u32::MAX),
            [384, 1500, 300]
        );
        assert_eq!(
            granted(&[(1, 5000), (6, 9000)], 1, 2184, u32::MAX),
            [0, 2184]
        );
    }

    #[test]
    fn who_may_have_no_more_stops_nobody() {
        assert_eq!(
            granted(&[(0, 5000), (0, 5000), (0, 5000)], 1, 2184, 400),
            [400, 400, 400]
        );
    }

    #[test]
    fn what_is_left_of_a_turn_is_sent_in_the_next_frame() {
        let shares = granted(&[(0, 9000), (0, 9000)], 1, 100, u32::MAX);
        assert_eq!(shares, [91, 9]);
        assert_eq!(
            granted(&[(0, 9000), (0, 9000)], 2, 100, u32::MAX),
            [109, 91]
        );
    }
}
