//! The event queue: events in the order (time, insertion).
//!
//! Events at the same time come out first in, first out. Timers are re-armed lazily: a [`Timer`] keeps one event in the
//! queue and moves its deadline without touching the queue as long as the deadline moves later; an event that comes out
//! too early is reinserted at the current deadline.

use baton_proto::time::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Number of events up to which superseded ones stay. Chosen: few runs have as many.
const KEPT: usize = 1 << 16;

/// Events of type `T` in order.
#[derive(Debug)]
pub struct EventQueue<T> {
    heap: BinaryHeap<Reverse<Entry<T>>>,
    /// True if the first event in the heap has been taken out. Most events cause another, which then takes its place:
    /// one pass through the heap instead of two.
    spent: bool,
    inserted: u64,
    /// Number of events at which superseded ones are to be dropped.
    crowded_at: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry<T> {
    at: Instant,
    number: u64,
    event: T,
}

impl<T> Entry<T> {
    /// Returns the key that orders the queue: time and number as one, so that a comparison does not branch.
    fn key(&self) -> u128 {
        u128::from(self.at.as_nanos()) << 64 | u128::from(self.number)
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl<T> Default for EventQueue<T> {
    fn default() -> Self {
        EventQueue {
            heap: BinaryHeap::new(),
            spent: false,
            inserted: 0,
            crowded_at: KEPT,
        }
    }
}

impl<T: Copy> EventQueue<T> {
    /// Adds an event.
    #[inline]
    pub fn push(&mut self, at: Instant, event: T) {
        let entry = Reverse(Entry {
            at,
            number: self.inserted,
            event,
        });
        self.inserted += 1;
        if core::mem::take(&mut self.spent)
            && let Some(mut first) = self.heap.peek_mut()
        {
            *first = entry;
        } else {
            self.heap.push(entry);
        }
    }

    /// Returns the time of the next event.
    pub fn next_time(&mut self) -> Option<Instant> {
        self.drop_spent();
        self.heap.peek().map(|Reverse(entry)| entry.at)
    }

    /// Takes out the next event if it is due at `limit` or before.
    #[inline]
    pub fn pop_until(&mut self, limit: Instant) -> Option<(Instant, T)> {
        self.drop_spent();
        let Reverse(first) = self.heap.peek()?;
        if first.at > limit {
            return None;
        }
        self.spent = true;
        Some((first.at, first.event))
    }

    #[inline]
    fn drop_spent(&mut self) {
        if core::mem::take(&mut self.spent) {
            self.heap.pop();
        }
    }

    /// Keeps the events for which `keeps` is true, in their order.
    pub fn retain(&mut self, mut keeps: impl FnMut(&T) -> bool) {
        self.drop_spent();
        self.heap.retain(|Reverse(entry)| keeps(&entry.event));
    }

    /// Returns true if superseded events are to be [dropped](Self::drop_superseded): there are many, and a quarter more than
    /// the last time.
    #[inline]
    pub fn is_crowded(&self) -> bool {
        self.heap.len() > self.crowded_at
    }

    /// Drops the events that nothing awaits at their times: their timers have an earlier one. At each handover a near deadline of
    /// a mobile supersedes the end of its binding, and so leaves an event for up to an hour.
    #[cold]
    pub fn drop_superseded(&mut self, awaits: impl Fn(Instant, &T) -> bool) {
        self.drop_spent();
        self.heap
            .retain(|Reverse(entry)| awaits(entry.at, &entry.event));
        let len = self.heap.len();
        self.crowded_at = KEPT.max(len + len / 4);
        self.heap.shrink_to(self.crowded_at + len / 4);
    }

    /// Frees the capacity reserved for growth.
    pub fn shrink(&mut self) {
        self.heap.shrink_to_fit();
    }

    /// Returns the number of events in the queue.
    pub fn len(&self) -> usize {
        self.heap.len() - usize::from(self.spent)
    }

    /// Returns true if there are no events.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The queue's side of a deadline that moves often: at most one live event represents it.
#[derive(Clone, Copy, Debug)]
pub struct Timer {
    /// Time of the event, or never.
    queued: Instant,
}

impl Default for Timer {
    fn default() -> Timer {
        Timer {
            queued: Instant::NEVER,
        }
    }
}

impl Timer {
    /// Ensures that an event comes at `deadline` or before.
    #[inline]
    pub fn arm<T: Copy>(&mut self, queue: &mut EventQueue<T>, deadline: Option<Instant>, event: T) {
        let Some(deadline) = deadline else { return };
        if deadline < self.queued {
            self.queued = deadline;
            queue.push(deadline, event);
        }
    }

    /// Returns true if its live event is at this time.
    pub fn awaits(&self, at: Instant) -> bool {
        self.queued == at
    }

    /// Takes in an event of this timer that comes out at `now`. Returns true if it is the live one, not one superseded
    /// by an earlier deadline.
    #[inline]
    pub fn fired(&mut self, now: Instant) -> bool {
        if self.queued != now {
            return false;
        }
        self.queued = Instant::NEVER;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(queue: &mut EventQueue<char>, limit: u64) -> String {
        std::iter::from_fn(|| {
            queue
                .pop_until(Instant::from_secs(limit))
                .map(|(_, event)| event)
        })
        .collect()
    }

    #[test]
    fn equal_times_are_first_in_first_out() {
        let mut queue = EventQueue::default();
        for (at, event) in [(2, 'd'), (1, 'a'), (2, 'e'), (1, 'b'), (3, 'f'), (1, 'c')] {
            queue.push(Instant::from_secs(at), event);
        }
        assert_eq!(drain(&mut queue, 2), "abcde");
        assert_eq!(queue.next_time(), Some(Instant::from_secs(3)));
    }

    #[test]
    fn an_event_added_while_another_is_handled_stands_where_its_time_puts_it() {
        let mut queue = EventQueue::default();
        for at in [1, 4, 6] {
            queue.push(Instant::from_secs(at), 'q');
        }
        assert_eq!(
            queue.pop_until(Instant::from_secs(9)).map(|(at, _)| at),
            Some(Instant::from_secs(1))
        );
        for at in [5, 4, 3] {
            queue.push(Instant::from_secs(at), 'p');
        }
        assert_eq!(queue.len(), 5);
        assert_eq!(queue.next_time(), Some(Instant::from_secs(3)));
        assert_eq!(drain(&mut queue, 9), "pqppq");
        assert!(queue.is_empty());
    }

    #[test]
    fn a_deadline_that_moves_later_costs_no_event() {
        let (mut queue, mut timer) = (EventQueue::default(), Timer::default());
        for deadline in 1..100 {
            timer.arm(&mut queue, Some(Instant::from_secs(deadline)), 't');
        }
        assert_eq!(queue.len(), 1);
        assert!(timer.fired(Instant::from_secs(1)));
    }

    #[test]
    fn a_deadline_that_moves_earlier_overtakes_the_queued_event() {
        let (mut queue, mut timer) = (EventQueue::default(), Timer::default());
        timer.arm(&mut queue, Some(Instant::from_secs(5)), 't');
        timer.arm(&mut queue, Some(Instant::from_secs(2)), 't');
        assert!(timer.fired(Instant::from_secs(2)));
        assert!(!timer.fired(Instant::from_secs(5)));
    }

    /// A deadline in an hour, and a nearer one each minute, which supersedes it.
    #[test]
    fn superseded_events_are_dropped_once_they_are_many() {
        let mut queue = EventQueue::default();
        let mut timers = vec![Timer::default(); 4 * KEPT / 10];
        let arm = |queue: &mut EventQueue<usize>, timers: &mut [Timer], second| {
            for (number, timer) in timers.iter_mut().enumerate() {
                timer.arm(queue, Some(Instant::from_secs(second)), number);
            }
        };
        let mut fired = 0;
        for minute in 0..30 {
            arm(&mut queue, &mut timers, 3600 + minute);
            arm(&mut queue, &mut timers, 60 * minute);
            if queue.is_crowded() {
                queue.drop_superseded(|at, &number| timers[number].awaits(at));
            }
            while let Some((at, number)) = queue.pop_until(Instant::from_secs(60 * minute)) {
                fired += usize::from(timers[number].fired(at));
            }
            assert!(
                queue.len() <= 2 * KEPT,
                "{} in minute {minute}",
                queue.len()
            );
            assert!(queue.heap.capacity() <= 4 * KEPT);
        }
        assert_eq!(fired, 30 * timers.len());
        arm(&mut queue, &mut timers, 3600);
        let mut last = 0;
        while let Some((at, number)) = queue.pop_until(Instant::from_secs(9999)) {
            last += usize::from(timers[number].fired(at));
        }
        assert_eq!(last, timers.len());
    }
}
