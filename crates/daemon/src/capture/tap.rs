//! The tap of a daemon: a bounded queue of records for a capture.

use crate::operation::status::CaptureStatus;
use baton_linux::readiness::Waker;
use baton_pcapng::Direction;
use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Maximum size of packets that wait for the client, in bytes: 130 ms of 500 Mbit/s (chosen). The same amount may be in
/// transit to it.
const MOST_BYTES: usize = 8 << 20;
/// Maximum size of descriptions of events, in bytes. They have a limit of their own, since they are rare and matter
/// more than a packet.
const MOST_WORDS: usize = 1 << 20;
/// Memory of a record besides its data.
const RECORD: usize = size_of::<Record>();
/// Maximum time that an ending daemon waits for its client (chosen).
const FAREWELL: Duration = Duration::from_millis(500);

/// The tap of a daemon, shared by all clones.
#[derive(Clone, Debug, Default)]
pub struct Tap(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    is_open: AtomicBool,
    queue: Mutex<Queue>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    records: Vec<Record>,
    bytes: usize,
    counts: Counts,
    /// The capture under way.
    open: Option<Open>,
}

/// A capture under way.
#[derive(Debug)]
struct Open {
    waker: Waker,
    /// A moment by both clocks: times of a capture do not jump with the system clock.
    since_1970: Duration,
    begun: Instant,
    is_over: bool,
}

/// Counts of packets and events in a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets of each interface: all, and those dropped.
    pub packets: BTreeMap<Arc<str>, [u64; 2]>,
    /// Events: all, and those dropped.
    pub words: [u64; 2],
}

/// A record of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Unix time.
    pub at: Duration,
    /// Contents.
    pub content: Content,
}

/// Contents of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A packet at an interface, from its IP header on.
    Packet(Arc<str>, Direction, Box<[u8]>),
    /// Description of an event.
    Words(Box<str>),
}

impl Tap {
    /// Returns true if a capture is under way.
    pub fn is_open(&self) -> bool {
        self.0.is_open.load(Ordering::Relaxed)
    }

    /// Records a packet at an interface, if a capture is under way.
    pub fn packet(&self, interface: &Arc<str>, direction: Direction, bytes: &[u8]) {
        let Some(mut queue) = self.open_queue() else {
            return;
        };
        let fits = queue.bytes + bytes.len() + RECORD <= MOST_BYTES;
        let counts = match queue.counts.packets.get_mut(interface) {
            Some(counts) => counts,
            None => queue.counts.packets.entry(interface.clone()).or_default(),
        };
        counts[0] += 1;
        counts[1] += u64::from(!fits);
        if fits {
            let content = Content::Packet(interface.clone(), direction, bytes.into());
            queue.push(bytes.len(), content);
        }
    }

    /// Records an event, if a capture is under way.
    pub fn event(&self, words: &str) {
        let Some(mut queue) = self.open_queue() else {
            return;
        };
        let fits = queue.bytes + words.len() + RECORD <= MOST_BYTES + MOST_WORDS;
        queue.counts.words[0] += 1;
        queue.counts.words[1] += u64::from(!fits);
        if fits {
            queue.push(words.len(), Content::Words(words.into()));
        }
    }

    /// Opens the tap; `waker` wakes the thread that reads from it. Returns `None` if it is already open.
    pub fn open(&self, waker: Waker) -> Option<Source> {
        let mut queue = self.queue();
        if queue.open.is_some() {
            return None;
        }
        *queue = Queue {
            open: Some(Open {
                waker: waker.clone(),
                since_1970: SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default(),
                begun: Instant::now(),
                is_over: false,
            }),
            ..Queue::default()
        };
        self.0.is_open.store(true, Ordering::Relaxed);
        Some(Source {
            tap: self.clone(),
            waker,
        })
    }

    /// Returns the state of the capture under way.
    pub fn status(&self) -> Option<CaptureStatus> {
        let queue = self.queue();
        queue.open.as_ref()?;
        let packets = queue.counts.packets.values();
        let sums = packets.fold(queue.counts.words, |sums, counts| {
            [sums[0] + counts[0], sums[1] + counts[1]]
        });
        Some(CaptureStatus {
            records: sums[0],
            left_out: sums[1],
        })
    }

    /// Ends a capture because the daemon ends, and gives its client a moment to receive the rest.
    pub fn end(&self) {
        self.0.is_open.store(false, Ordering::Relaxed);
        let mut queue = self.queue();
        if let Some(open) = &mut queue.open {
            open.is_over = true;
            open.waker.wake();
        }
        let under_way = |queue: &mut Queue| queue.open.is_some();
        let waited = self.0.ended.wait_timeout_while(queue, FAREWELL, under_way);
        drop(waited);
    }

    /// Returns the queue, if it accepts records.
    fn open_queue(&self) -> Option<MutexGuard<'_, Queue>> {
        let queue = self.is_open().then(|| self.queue())?;
        let is_over = queue.open.as_ref().is_none_or(|open| open.is_over);
        (!is_over).then_some(queue)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn push(&mut self, length: usize, content: Content) {
        let Some(open) = &self.open else {
            return;
        };
        if self.records.is_empty() {
            open.waker.wake();
        }
        let at = open.since_1970 + open.begun.elapsed();
        self.records.push(Record { at, content });
        self.bytes += length + RECORD;
    }
}

/// The reading end of a tap, which closes with it.
#[derive(Debug)]
pub struct Source {
    tap: Tap,
    waker: Waker,
}

impl Source {
    /// Takes the records so far, in order; `None` if no more will come.
    pub fn take(&self) -> Option<Vec<Record>> {
        self.waker.clear();
        let mut queue = self.tap.queue();
        queue.bytes = 0;
        let records = core::mem::take(&mut queue.records);
        let is_over = queue.open.as_ref().is_none_or(|open| open.is_over);
        (!is_over || !records.is_empty()).then_some(records)
    }

    /// Stops the recording.
    pub fn stop(&self) {
        self.tap.0.is_open.store(false, Ordering::Relaxed);
        if let Some(open) = &mut self.tap.queue().open {
            open.is_over = true;
        }
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> Counts {
        self.tap.queue().counts.clone()
    }

    /// Returns the present time by the capture's clock.
    pub fn now(&self) -> Duration {
        let queue = self.tap.queue();
        let open = queue.open.as_ref();
        open.map_or(Duration::ZERO, |open| {
            open.since_1970 + open.begun.elapsed()
        })
    }
}

impl AsFd for Source {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.waker.as_fd()
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.tap.0.is_open.store(false, Ordering::Relaxed);
        *self.tap.queue() = Queue::default();
        self.tap.0.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_client_misses_packets_which_are_counted_and_then_gets_on() {
        let tap = Tap::default();
        let inside: Arc<str> = "baton0".into();
        tap.packet(&inside, Direction::Inbound, &[0; 1000]);
        let source = tap.open(Waker::new().unwrap()).unwrap();
        assert!(tap.open(Waker::new().unwrap()).is_none());
        for _ in 0..20_000 {
            tap.packet(&inside, Direction::Inbound, &[0; 1000]);
        }
        tap.event("it is full");
        let status = tap.status().unwrap();
        let kept = source.take().unwrap();
        assert_eq!(status.records, 20_001);
        assert_eq!(status.left_out + kept.len() as u64, 20_001);
        let packets: usize = kept.iter().map(length).sum();
        assert!(
            (MOST_BYTES * 3 / 4..=MOST_BYTES).contains(&packets),
            "{packets}"
        );
        assert_eq!(
            kept.last().unwrap().content,
            Content::Words("it is full".into())
        );
        assert_eq!(source.counts().packets[&inside], [20_000, status.left_out]);
        assert!(kept.windows(2).all(|two| two[0].at <= two[1].at));
        // There is room again.
        tap.packet(&inside, Direction::Outbound, &[0; 1000]);
        assert_eq!(source.take().unwrap().len(), 1);
        tap.event("the last");
        source.stop();
        tap.packet(&inside, Direction::Outbound, &[0; 1000]);
        assert_eq!(source.take().unwrap().len(), 1);
        assert_eq!(source.take(), None);
        drop(source);
        assert_eq!(tap.status(), None);
        assert!(tap.open(Waker::new().unwrap()).is_some());
    }

    fn length(record: &Record) -> usize {
        match &record.content {
            Content::Packet(.., bytes) => bytes.len(),
            Content::Words(_) => 0,
        }
    }
}
