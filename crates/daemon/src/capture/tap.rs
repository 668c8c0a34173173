//! The tap of a daemon: a bounded queue of what a capture shows.

use crate::operation::status::CaptureStatus;
use baton_linux::readiness::Waker;
use baton_pcapng::Direction;
use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Bytes of packets that wait for the client: 130 ms of 500 Mbit/s (chosen). As many may be on their way to it.
const MOST_BYTES: usize = 8 << 20;
/// Bytes for words about events beside them, which are rare and count more than one packet.
const MOST_WORDS: usize = 1 << 20;
/// The memory that a record takes beside its bytes.
const RECORD: usize = size_of::<Record>();
/// The longest time that a daemon which ends waits for its client (chosen).
const FAREWELL: Duration = Duration::from_millis(500);

/// The tap of a daemon. All clones are one.
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
    /// The capture that is under way.
    open: Option<Open>,
}

/// A capture that is under way.
#[derive(Debug)]
struct Open {
    waker: Waker,
    /// A moment by the two clocks: times of a capture do not jump with the system's.
    since_1970: Duration,
    begun: Instant,
    is_over: bool,
}

/// Packets and words of a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets of each interface that have come, and those of them that were left out.
    pub packets: BTreeMap<Arc<str>, [u64; 2]>,
    /// Words about events that have come, and those of them that were left out.
    pub words: [u64; 2],
}

/// An entry of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The time since 1970.
    pub at: Duration,
    /// The entry itself.
    pub content: Content,
}

/// The content of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A packet at an interface, from its IP header on.
    Packet(Arc<str>, Direction, Box<[u8]>),
    /// An event in words.
    Words(Box<str>),
}

impl Tap {
    /// Returns true if somebody captures.
    pub fn is_open(&self) -> bool {
        self.0.is_open.load(Ordering::Relaxed)
    }

    /// Takes a packet at an interface, if somebody captures.
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

    /// Takes an event in words, if somebody captures.
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

    /// Opens the tap; the waker wakes whoever takes from it. Returns nothing if somebody has opened it already.
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

    /// Ends a capture because the daemon ends, and gives its client a moment to have the rest.
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

    /// Returns the queue, if something may come into it.
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

/// The end of a tap from which a capture is taken. The tap closes with it.
#[derive(Debug)]
pub struct Source {
    tap: Tap,
    waker: Waker,
}

impl Source {
    /// Takes what has come, in its order; `None` if nothing more will.
    pub fn take(&self) -> Option<Vec<Record>> {
        self.waker.clear();
        let mut queue = self.tap.queue();
        queue.bytes = 0;
        let records = core::mem::take(&mut queue.records);
        let is_over = queue.open.as_ref().is_none_or(|open| open.is_over);
        (!is_over || !records.is_empty()).then_some(records)
    }

    /// Lets nothing more come.
    pub fn stop(&self) {
        self.tap.0.is_open.store(false, Ordering::Relaxed);
        if let Some(open) = &mut self.tap.queue().open {
            open.is_over = true;
        }
    }

    /// Returns the numbers so far.
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
