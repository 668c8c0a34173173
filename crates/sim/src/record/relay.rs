//! Transfer of records out of the thread that makes them: rows are gathered, and passed in chunks to a thread that
//! writes them. If that falls behind, the recording thread waits; or, where it must not wait, chunks without room in
//! memory are dropped and counted.

use super::RecordError;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

/// Entries in a chunk when the recording thread never waits: few enough to be gathered within milliseconds on a busy
/// link, and enough that passing them on costs little per entry.
const SMALL_CHUNK: usize = 256;
/// Entries in a chunk of a simulation, which fills one within a fraction of a millisecond.
const LARGE_CHUNK: usize = 2048;
/// Chunks by which a simulation may be ahead: two batches of a table, so that it continues while one is encoded.
const CHUNKS_AHEAD: usize = 64;
/// Most chunks waiting when the recording thread never waits; their bytes are limited too.
const MOST_CHUNKS: usize = 8192;
/// Emptied chunks kept for reuse.
const KEPT_CHUNKS: usize = 64;

/// Most bytes waiting for one writer. A live run has two, of tables and of captures.
const MOST_WAITING: usize = 128_000_000;

/// Rows and captured packets lost because they arrived faster than they could be written. All clones share one count.
#[derive(Clone, Debug, Default)]
pub struct LostRows(Arc<AtomicU64>);

impl LostRows {
    /// Returns their number so far.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn add(&self, rows: u64) {
        self.0.fetch_add(rows, Ordering::Relaxed);
    }
}

/// Fate of rows while the writer is behind.
#[derive(Clone, Debug)]
pub(crate) enum WhenBehind {
    /// The recording thread waits: every row is written.
    Wait,
    /// Rows without room in memory are lost, and counted here.
    Lose(LostRows),
}

/// Data that is gathered for a [`Writer`].
pub(crate) trait Load: Default + Send + 'static {
    /// Drops the rows, and keeps the data that later rows need. Returns the number of rows.
    fn drop_rows(&mut self) -> u64;
}

/// Writer at the far end of a relay.
pub(crate) trait Writer: Send + 'static {
    /// Data for the writer.
    type Load: Load;

    /// Writes `load` and leaves it empty for reuse. After a failure it is not called again.
    fn write(&mut self, load: &mut Self::Load) -> Result<(), RecordError>;
}

/// Relay of loads to a writer in a thread of its own.
pub(crate) struct Relay<W: Writer> {
    load: W::Load,
    entries: usize,
    bytes: usize,
    /// Entries at which a load is passed on.
    chunk: usize,
    most_waiting: usize,
    behind: WhenBehind,
    chunks: Option<SyncSender<(W::Load, usize)>>,
    emptied: Receiver<W::Load>,
    thread: Option<JoinHandle<W>>,
    shared: Arc<Shared>,
}

/// State shared by both threads.
#[derive(Default)]
struct Shared {
    /// Bytes passed on and not yet written.
    waiting: AtomicUsize,
    failure: OnceLock<RecordError>,
}

impl<W: Writer> Relay<W> {
    /// Starts a thread for `writer`.
    ///
    /// # Errors
    /// Fails if the system cannot start a thread.
    pub fn start(mut writer: W, behind: WhenBehind) -> Result<Relay<W>, RecordError> {
        let (chunk, most_chunks) = match behind {
            WhenBehind::Wait => (LARGE_CHUNK, CHUNKS_AHEAD),
            WhenBehind::Lose(_) => (SMALL_CHUNK, MOST_CHUNKS),
        };
        let (chunks, waiting) = mpsc::sync_channel::<(W::Load, usize)>(most_chunks);
        let (empty, emptied) = mpsc::sync_channel(KEPT_CHUNKS);
        let shared = Arc::new(Shared::default());
        let theirs = shared.clone();
        let thread = thread::Builder::new()
            .name("record".to_owned())
            .spawn(move || {
                for (mut load, bytes) in waiting {
                    if let Err(failure) = writer.write(&mut load) {
                        let _ = theirs.failure.set(failure);
                        break;
                    }
                    theirs.waiting.fetch_sub(bytes, Ordering::Relaxed);
                    // A surplus chunk is not kept.
                    let _ = empty.try_send(load);
                }
                writer
            })
            .map_err(|error| RecordError::NoThread(error.to_string()))?;
        Ok(Relay {
            load: W::Load::default(),
            entries: 0,
            bytes: 0,
            chunk,
            most_waiting: MOST_WAITING,
            behind,
            chunks: Some(chunks),
            emptied,
            thread: Some(thread),
            shared,
        })
    }

    /// Returns the load under construction. Report each row added to it by [`Relay::added`].
    #[inline]
    pub fn load(&mut self) -> &mut W::Load {
        &mut self.load
    }

    /// Notes a row of `bytes` bytes of memory added to the load.
    #[inline]
    pub fn added(&mut self, bytes: usize) {
        self.entries += 1;
        self.bytes += bytes;
        if self.entries >= self.chunk {
            self.flush();
        }
    }

    /// Passes on the gathered load. If too much waits already, waits or drops the rows.
    #[cold]
    pub fn flush(&mut self) {
        if self.entries == 0 {
            return;
        }
        let room = match self.behind {
            WhenBehind::Wait => true,
            WhenBehind::Lose(_) => {
                let waiting = self.shared.waiting.load(Ordering::Relaxed);
                waiting + self.bytes <= self.most_waiting
            }
        };
        if room {
            self.send(matches!(self.behind, WhenBehind::Wait));
        } else {
            self.lose();
        }
        self.entries = 0;
        self.bytes = 0;
    }

    /// Passes the load on. A load that the writer does not take is lost; after a failure that is every load.
    fn send(&mut self, wait: bool) {
        let next = self.emptied.try_recv().unwrap_or_default();
        let load = std::mem::replace(&mut self.load, next);
        self.shared.waiting.fetch_add(self.bytes, Ordering::Relaxed);
        let refused = match &self.chunks {
            Some(chunks) if wait => chunks.send((load, self.bytes)).err().map(|all| all.0.0),
            Some(chunks) => match chunks.try_send((load, self.bytes)) {
                Err(TrySendError::Full(all) | TrySendError::Disconnected(all)) => Some(all.0),
                Ok(()) => None,
            },
            None => Some(load),
        };
        if let Some(load) = refused {
            self.shared.waiting.fetch_sub(self.bytes, Ordering::Relaxed);
            self.load = load;
            self.lose();
        }
    }

    fn lose(&mut self) {
        let rows = self.load.drop_rows();
        if let WhenBehind::Lose(lost) = &self.behind {
            lost.add(rows);
        }
    }

    /// Fails if the writer has.
    pub fn check(&self) -> Result<(), RecordError> {
        self.shared.failure.get().cloned().map_or(Ok(()), Err)
    }

    /// Passes on the rest and waits until all is written. Returns the writer, to be closed.
    ///
    /// # Errors
    /// Error of the writer.
    pub fn finish(mut self) -> Result<W, RecordError> {
        // Waiting is allowed now: chunks without room in memory wait.
        self.send(true);
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
    /// Waits for the end of the writer, so that its folder can be removed afterwards.
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

    /// Disk that writes a load on command.
    struct Disk {
        told: Receiver<Result<(), RecordError>>,
        written: Gathered,
    }

    impl Writer for Disk {
        type Load = Gathered;
        fn write(&mut self, load: &mut Gathered) -> Result<(), RecordError> {
            // Once no more commands can come, all is written at once.
            self.told.recv().unwrap_or(Ok(()))?;
            self.written.names.append(&mut load.names);
            self.written.rows.append(&mut load.rows);
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
        let mut relay = Relay::start(disk, WhenBehind::Lose(lost.clone())).unwrap();
        relay.most_waiting = most_waiting;
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
        let chunk = SMALL_CHUNK as u32;
        let (mut relay, tell, lost) = relay(SMALL_CHUNK);
        relay.load().names.push("first");
        add(&mut relay, 0..chunk);
        // The disk stalls and the first chunk fills the memory: the recording thread does not wait for it.
        relay.load().names.push("second");
        add(&mut relay, chunk..3 * chunk);
        assert_eq!(lost.count(), 2 * u64::from(chunk));
        add(&mut relay, 3 * chunk..3 * chunk + 1);
        drop(tell);
        // Waiting is allowed at the end: all chunks not refused are written.
        let written = relay.finish().unwrap().written;
        assert_eq!(written.names, ["first", "second"]);
        assert!(written.rows.into_iter().eq((0..chunk).chain([3 * chunk])));
        assert_eq!(lost.count(), 2 * u64::from(chunk));
    }

    #[test]
    fn whoever_may_wait_loses_nothing() {
        let (tell, told) = mpsc::sync_channel(0);
        let written = Gathered::default();
        let mut relay = Relay::start(Disk { told, written }, WhenBehind::Wait).unwrap();
        let rows = 0..(CHUNKS_AHEAD as u32 + 10) * LARGE_CHUNK as u32 + 5;
        let disk = thread::spawn(move || while tell.send(Ok(())).is_ok() {});
        add(&mut relay, rows.clone());
        let written = relay.finish().unwrap().written;
        assert!(written.rows.into_iter().eq(rows));
        disk.join().unwrap();
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
