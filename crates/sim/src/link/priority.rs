//! Strict priority: who waits is served by the precedence of its packet, in order of arrival among equals.

/// Precedences: the first three bits of the traffic class (RFC 2474 section 4.2.2).
const PRECEDENCES: usize = 8;
/// Precedence of packets that have been in service, and of those that waited before there were priorities: they stand
/// before all others.
const FOREMOST: usize = PRECEDENCES;

/// Numbers of waiting packets by precedence. The queue holds them in the order in which they are served: the foremost,
/// then precedence 7, down to 0. So the numbers say where one ends and the next begins.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Priority {
    waiting: [usize; PRECEDENCES + 1],
}

impl Priority {
    /// For a queue in which `waiting` packets wait already, whose precedence nobody knows.
    pub fn new(waiting: usize) -> Priority {
        let mut priority = Priority::default();
        priority.put_back(waiting);
        priority
    }

    /// Takes in a packet of a precedence; says how many wait behind its place.
    pub fn enter(&mut self, precedence: u8) -> usize {
        let behind = self.below(precedence);
        self.waiting[level(precedence)] += 1;
        behind
    }

    /// Returns the number of waiting packets of a lower precedence: the last ones of the queue.
    pub fn below(&self, precedence: u8) -> usize {
        self.waiting[..level(precedence)].iter().sum()
    }

    /// So many have come back to the head of the queue.
    pub fn put_back(&mut self, packets: usize) {
        self.waiting[FOREMOST] += packets;
    }

    /// The first `packets` have left the queue.
    pub fn take_first(&mut self, packets: usize) {
        take(self.waiting.iter_mut().rev(), packets);
    }

    /// The last `packets` have left the queue.
    pub fn take_last(&mut self, packets: usize) {
        take(self.waiting.iter_mut(), packets);
    }
}

fn level(precedence: u8) -> usize {
    usize::from(precedence).min(PRECEDENCES - 1)
}

/// Takes `packets` from the levels in their order.
fn take<'a>(levels: impl Iterator<Item = &'a mut usize>, packets: usize) {
    let mut left = packets;
    for level in levels {
        let taken = left.min(*level);
        *level -= taken;
        left -= taken;
    }
}
