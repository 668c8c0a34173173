//! Windows of time that the parts of a world run through, each at its own pace.
//!
//! A window is half as long as the shortest delay of a cut link. So a packet that leaves in one window arrives after the next
//! one, and its part takes it in as it begins the window after that. For this it is enough that all parts have ended the last
//! window but one: no part waits for another that is less than a window behind.
//!
//! The limit of a window, and the packets that a part takes in before it, follow from windows that all parts have ended. So they
//! depend neither on threads nor on the order in which parts run.

use crate::world::part::Crossing;
use baton_proto::time::{Duration, Instant};
use std::collections::VecDeque;

/// Packets on cut links, by the receiving part and then by the sending one.
pub(super) type Waiting = Vec<Vec<Vec<Crossing>>>;

/// Windows of the parts.
pub(super) struct Windows {
    length: Duration,
    /// Limit of the last window.
    end: Instant,
    /// Number of events from which on no window is added.
    most_events: u64,
    parts: Vec<Progress>,
    /// Packets sent in each window that have not been taken in, by the receiving part and then by the sending one.
    sent: Vec<Vec<VecDeque<Vec<Crossing>>>>,
    /// The windows in which parts are, at their numbers modulo two.
    open: [Window; 2],
    /// Number of windows so far, the open ones included.
    count: usize,
    /// Beginning of the next one, at the earliest.
    next: Instant,
    /// Number of windows that all parts have ended.
    ended: usize,
    /// Events of those.
    events: u64,
    /// Earliest time of what comes after those.
    coming: Instant,
    /// Earliest arrival of a packet that was sent in the last one of those.
    arrival: Instant,
    /// The longest chain in those.
    longest: u64,
}

/// Progress of a part.
#[derive(Clone, Copy, Default)]
struct Progress {
    /// Number of windows that it has ended.
    ended: usize,
    is_running: bool,
    /// The longest chain that ends with its last window.
    longest: u64,
}

/// A window that not all parts have ended.
#[derive(Clone, Copy)]
struct Window {
    limit: Instant,
    /// The longest chain in the windows that all parts have ended before they begin this one.
    longest_before: u64,
    /// Number of parts that have ended it.
    ended: usize,
    /// Events in it, so far.
    events: u64,
    /// Earliest time of what comes after it, so far.
    coming: Instant,
    /// Earliest arrival of a packet sent in it, so far.
    arrival: Instant,
    /// The longest chain that ends with it, so far.
    longest: u64,
}

/// A part's run through a window.
pub(super) struct Task {
    pub part: usize,
    /// Time up to and including which the part runs.
    pub limit: Instant,
    /// Packets to take in before, by the sending part.
    pub packets: Vec<Vec<Crossing>>,
}

/// Outcome of a part's run through a window.
pub(super) struct Done {
    pub part: usize,
    /// Packets sent, by the receiving part.
    pub sent: Vec<Vec<Crossing>>,
    /// Earliest time of what comes next.
    pub coming: Instant,
    /// Number of events handled.
    pub events: u64,
}

/// Outcome of all windows.
pub(super) struct Outcome {
    /// True if the limit of the last window has been reached.
    pub done: bool,
    /// Number of windows.
    pub windows: u64,
    /// Events of the longest chain: of runs each of which could not begin before the end of the one before.
    pub longest: u64,
    /// Earliest time of what comes next.
    pub coming: Instant,
    /// Packets that wait to be taken in.
    pub waiting: Waiting,
}

impl Windows {
    /// Prepares windows from `coming`, the time of the first event, up to and including `end`, or until the parts have handled
    /// `most_events`. `delay` is the shortest one of a cut link.
    pub fn new(
        waiting: Waiting,
        delay: Duration,
        (coming, end): (Instant, Instant),
        most_events: u64,
    ) -> Windows {
        // The first window takes in all that waits, the second one nothing.
        let queue = |packets| VecDeque::from([packets, Vec::new()]);
        let queues = |to: Vec<_>| to.into_iter().map(queue).collect();
        let mut windows = Windows {
            length: delay.half(),
            end,
            most_events,
            parts: vec![Progress::default(); waiting.len()],
            sent: waiting.into_iter().map(queues).collect(),
            open: [Window::new(end, 0); 2],
            count: 0,
            next: Instant::ZERO,
            ended: 0,
            events: 0,
            coming,
            arrival: Instant::NEVER,
            longest: 0,
        };
        windows.add();
        windows.add();
        windows
    }

    /// Adds a window after the last one, unless that reaches the end. If nothing comes before some later time, the last one is
    /// empty, and this one begins at that time: a long silence takes two windows.
    fn add(&mut self) {
        if self.next > self.end {
            return;
        }
        self.next = self.next.max(self.coming) + self.length;
        let before_next = self.next.saturating_since(Instant::from_nanos(1));
        let limit = self.end.min(Instant::ZERO + before_next);
        self.open[self.count % 2] = Window::new(limit, self.longest);
        self.count += 1;
    }

    /// Returns true if all parts have ended all windows.
    pub fn are_over(&self) -> bool {
        self.ended == self.count
    }

    /// Returns a part that can begin a window: of those that are the furthest behind, the most loaded one.
    pub fn next_part(&self) -> Option<usize> {
        self.ready().min_by_key(|&part| self.parts[part].ended)
    }

    /// Returns the parts that can begin a window.
    pub fn ready(&self) -> impl Iterator<Item = usize> {
        let parts = self.parts.iter().enumerate();
        let ready = parts.filter(|(_, part)| !part.is_running && part.ended < self.count);
        ready.map(|(number, _)| number)
    }

    /// Begins a window of a part that can do so.
    pub fn begin(&mut self, part: usize) -> Task {
        self.parts[part].is_running = true;
        // Of each part those of one window, though it may have sent more.
        let packets = self.sent[part].iter_mut().filter_map(VecDeque::pop_front);
        Task {
            part,
            limit: self.open[self.parts[part].ended % 2].limit,
            packets: packets.collect(),
        }
    }

    /// Ends a part's window.
    pub fn end(&mut self, done: Done) {
        let part = &mut self.parts[done.part];
        let window = &mut self.open[part.ended % 2];
        part.ended += 1;
        part.is_running = false;
        part.longest = part.longest.max(window.longest_before) + done.events;
        window.longest = window.longest.max(part.longest);
        window.events += done.events;
        window.coming = window.coming.min(done.coming);
        let arrivals = done.sent.iter().flatten().map(|packet| packet.arrival);
        window.arrival = arrivals.fold(window.arrival, Instant::min);
        for (to, packets) in done.sent.into_iter().enumerate() {
            self.sent[to][done.part].push_back(packets);
        }
        window.ended += 1;
        if window.ended == self.parts.len() {
            self.close();
        }
    }

    /// Closes the earlier open window, which all parts have ended, and adds one if there are to be more.
    fn close(&mut self) {
        let closed = self.open[self.ended % 2];
        self.ended += 1;
        self.events += closed.events;
        self.longest = closed.longest;
        // Packets of the window before are taken in by the next one.
        self.coming = closed.coming.min(self.arrival);
        self.arrival = closed.arrival;
        if self.events < self.most_events {
            self.add();
        }
    }

    /// Returns the outcome of windows that are over.
    pub fn outcome(self) -> Outcome {
        let all = |queue: VecDeque<Vec<_>>| queue.into_iter().flatten().collect();
        let queues = |to: Vec<_>| to.into_iter().map(all).collect();
        Outcome {
            done: self.next > self.end,
            windows: self.count as u64,
            longest: self.longest,
            coming: self.coming,
            waiting: self.sent.into_iter().map(queues).collect(),
        }
    }
}

impl Window {
    fn new(limit: Instant, longest_before: u64) -> Window {
        Window {
            limit,
            longest_before,
            ended: 0,
            events: 0,
            coming: Instant::NEVER,
            arrival: Instant::NEVER,
            longest: 0,
        }
    }
}
