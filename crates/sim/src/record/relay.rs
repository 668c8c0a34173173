//! The way of records out of a thread that must not wait: what it records is gathered, and handed in chunks to
//! a thread that writes it. If that falls so far behind that memory would fill, chunks are dropped and counted.

use super::RecordError;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

/// Entries in a chunk: few enough to be gathered within milliseconds on a busy link, and enough that handing
/// them over costs each of them little.
const CHUNK: usize = 256;

/// Bytes that may wait for one writer. A run has two, of tables and of captures.
pub(crate) const MOST_WAITING: usize = 128_000_000;

/// Rows and captured packets that were lost because they came faster than they could be written. Copies count
/// together.
#[derive(Clone, Debug, Default)]
pub struct LostRows(Arc<AtomicU64>);

impl LostRows {
    /// How many so far.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn add(&self, rows: u64) {
        self.0.fetch_add(rows, Ordering::Relaxed);
    }
}

/// What is gathered for a [`Writer`].
pub(crate) trait Load: Default + Send + 'static {
    /// Drops the rows, and keeps what later rows need. Returns how many there were.
    fn drop_rows(&mut self) -> u64;
}

/// What writes at the far end of a relay.
pub(crate) trait Writer: Send + 'static {
    /// What it is handed.
    type Load: Load;

    /// Writes `load`. After a failure it is not called again.
    fn write(&mut self, load: Self::Load) -> Result<(), RecordError>;
}

/// Hands loads to a writer in a thread of its own.
pub(crate) struct Relay<W: Writer> {
    load: W::Load,
    entries: usize,
    bytes: usize,
    most_waiting: usize,
    chunks: Option<Sender<(W::Load, usize)>>,
    thread: Option<JoinHandle<W>>,
    shared: Arc<Shared>,
    lost: LostRows,
}

/// What both threads look at.
#[derive(Default)]
struct Shared {
    /// Bytes that have been handed over and not been written.
    waiting: AtomicUsize,
    failure: OnceLock<RecordError>,
}

impl<W: Writer> Relay<W> {
    /// Starts a thread for `writer`, for which at most `most_waiting` bytes may wait.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub fn start(
        mut writer: W,
        most_waiting: usize,
        lost: LostRows,
    ) -> Result<Relay<W>, RecordError> {
        let (chunks, waiting) = mpsc::channel::<(W::Load, usize)>();
        let shared = Arc::new(Shared::default());
        let theirs = shared.clone();
        let thread = thread::Builder::new()
            .name("record relay".to_owned())
            .spawn(move || {
                for (load, bytes) in waiting {
                    if let Err(failure) = writer.write(load) {
                        let _ = theirs.failure.set(failure);
                        break;
                    }
                    theirs.waiting.fetch_sub(bytes, Ordering::Relaxed);
                }
                writer
            })
            .map_err(|error| RecordError::NoThread(error.to_string()))?;
        Ok(Relay {
            load: W::Load::default(),
            entries: 0,
            bytes: 0,
            most_waiting,
            chunks: Some(chunks),
            thread: Some(thread),
            shared,
            lost,
        })
    }

    /// What is being gathered. Each row in it is announced by [`Relay::added`].
    #[inline]
    pub fn load(&mut self) -> &mut W::Load {
        &mut self.load
    }

    /// A row of `bytes` bytes of memory has been added to the load.
    #[inline]
    pub fn added(&mut self, bytes: usize) {
        self.entries += 1;
        self.bytes += bytes;
        if self.entries >= CHUNK {
            self.flush();
        }
    }

    /// Hands over what has been gathered, or drops its rows if too much waits already or nothing is written
    /// any more.
    pub fn flush(&mut self) {
        if self.entries == 0 {
            return;
        }
        let waiting = self.shared.waiting.load(Ordering::Relaxed);
        if waiting + self.bytes <= self.most_waiting {
            self.send();
        } else {
            self.lost.add(self.load.drop_rows());
        }
        self.entries = 0;
        self.bytes = 0;
    }

    fn send(&mut self) {
        let load = std::mem::take(&mut self.load);
        self.shared.waiting.fetch_add(self.bytes, Ordering::Relaxed);
        let sent = match &self.chunks {
            Some(chunks) => chunks
                .send((load, self.bytes))
                .map_err(|refused| refused.0.0),
            None => Err(load),
        };
        if let Err(mut load) = sent {
            self.lost.add(load.drop_rows());
            self.load = load;
        }
    }

    /// Fails if the writer has.
    pub fn check(&self) -> Result<(), RecordError> {
        self.shared.failure.get().cloned().map_or(Ok(()), Err)
    }

    /// Hands over the rest and waits until all is written. Gives the writer back, to be closed.
    ///
    /// # Errors
    /// That of the writer.
    pub fn finish(mut self) -> Result<W, RecordError> {
        // Now there is time: what memory had no room for waits.
        self.send();
        let writer = self.join();
        self.check()?;
        writer.ok_or(RecordError::WriterLost)
    }

    fn join(&mut self) -> Option<W> {
        self.chunks = None;
        self.thread.take().and_then(|thread| thread.join().ok())
    }
}

impl<W: Writer> Drop for Relay<W> {
    /// The writer's end is waited for, so that a folder in which it writes can be removed after it.
    fn drop(&mut self) {
        let _ = self.join();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, SyncSender};

    #[derive(Default)]
    struct Gathered {
        names: Vec<&'static str>,
        rows: Vec<u32>,
    }

    impl Load for Gathered {
        fn drop_rows(&mut self) -> u64 {
            self.rows.drain(..).count() as u64
        }
    }

    /// A disk that writes a load when it is told to.
    struct Disk {
        told: Receiver<Result<(), RecordError>>,
        written: Gathered,
    }

    impl Writer for Disk {
        type Load = Gathered;
        fn write(&mut self, load: Gathered) -> Result<(), RecordError> {
            // Once nobody tells any more, all is written at once.
            self.told.recv().unwrap_or(Ok(()))?;
            self.written.names.extend(load.names);
            self.written.rows.extend(load.rows);
            Ok(())
        }
    }

    fn relay(most_waiting: usize) -> (Relay<Disk>, SyncSender<Result<(), RecordError>>, LostRows) {
        let (tell, told) = mpsc::sync_channel(10);
        let lost = LostRows::default();
        let disk = Disk {
            told,
            written: Gathered::default(),
        };
        let relay = Relay::start(disk, most_waiting, lost.clone()).unwrap();
        (relay, tell, lost)
    }

    fn add(relay: &mut Relay<Disk>, rows: std::ops::Range<u32>) {
        for row in rows {
            relay.load().rows.push(row);
            relay.added(1);
        }
    }

    #[test]
    fn rows_that_find_no_room_are_lost_and_counted_and_names_are_not() {
        let chunk = CHUNK as u32;
        let (mut relay, tell, lost) = relay(CHUNK);
        relay.load().names.push("first");
        add(&mut relay, 0..chunk);
        // The disk stands still and the first chunk fills the memory: whoever records does not wait for it.
        relay.load().names.push("second");
        add(&mut relay, chunk..3 * chunk);
        assert_eq!(lost.count(), 2 * u64::from(chunk));
        add(&mut relay, 3 * chunk..3 * chunk + 1);
        drop(tell);
        // There is time at the end: what has not been refused is written.
        let written = relay.finish().unwrap().written;
        assert_eq!(written.names, ["first", "second"]);
        assert!(written.rows.into_iter().eq((0..chunk).chain([3 * chunk])));
        assert_eq!(lost.count(), 2 * u64::from(chunk));
    }

    #[test]
    fn a_writers_failure_is_told() {
        let (mut relay, tell, _) = relay(MOST_WAITING);
        assert_eq!(relay.check(), Ok(()));
        add(&mut relay, 0..1);
        relay.flush();
        tell.send(Err(RecordError::WriterLost)).unwrap();
        while relay.check().is_ok() {
            std::thread::yield_now();
        }
        assert_eq!(relay.finish().err(), Some(RecordError::WriterLost));
    }
}
