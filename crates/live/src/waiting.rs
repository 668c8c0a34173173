//! Waiting for a socket, a moment or the end of the run, whichever comes first; and work inside a network namespace.

use baton_proto::time::Instant;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sched::{CloneFlags, setns};
use nix::sys::time::TimeSpec;
use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// Handle that, when dropped, ends the waiting of all [`Waiter`]s made with it.
#[derive(Debug)]
pub(crate) struct Stopper(PipeWriter);

impl Drop for Stopper {
    fn drop(&mut self) {
        // Closing the pipe would suffice, if processes forked meanwhile did not still hold it. An empty pipe accepts a
        // byte.
        let _ = self.0.write_all(&[0]);
    }
}

/// Signal by which a [`Stopper`] announces the end.
#[derive(Clone, Debug)]
pub(crate) struct StopSignal(Arc<PipeReader>);

/// Creates a stopper and its signal.
pub(crate) fn stop_signal() -> io::Result<(Stopper, StopSignal)> {
    let (reader, writer) = io::pipe()?;
    Ok((Stopper(writer), StopSignal(Arc::new(reader))))
}

/// A waiter in the world's time.
#[derive(Clone, Debug)]
pub(crate) struct Waiter {
    zero: std::time::Instant,
    stop: StopSignal,
}

/// Reason for the end of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    /// The run is over.
    Stopped,
    /// The socket is ready for these flags.
    Ready(PollFlags),
    /// The moment has come.
    Due,
}

impl Waiter {
    /// Creates a waiter; `zero` is the world's time zero, and may be in the future.
    pub fn new(zero: std::time::Instant, stop: StopSignal) -> Waiter {
        Waiter { zero, stop }
    }

    /// Returns the world's time; zero until it begins.
    pub fn now(&self) -> Instant {
        Instant::from_nanos(u64::try_from(self.zero.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Waits until the end, until `until` or, given a socket, until that is ready for the flags (or in error).
    pub fn wait(
        &self,
        socket: Option<(BorrowedFd<'_>, PollFlags)>,
        until: Option<Instant>,
    ) -> io::Result<Woken> {
        let mut polled = vec![PollFd::new(self.stop.0.as_fd(), PollFlags::POLLIN)];
        polled.extend(socket.map(|(socket, flags)| PollFd::new(socket, flags)));
        loop {
            match ppoll(&mut polled, self.time_left(until), None) {
                Ok(0) => return Ok(Woken::Due),
                Ok(_) => break,
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if polled[0].any() != Some(false) {
            return Ok(Woken::Stopped);
        }
        let ready = polled.get(1).and_then(PollFd::revents);
        Ok(Woken::Ready(ready.unwrap_or(PollFlags::POLLERR)))
    }

    /// Returns true if the run is over.
    pub fn is_stopped(&self) -> bool {
        let mut polled = [PollFd::new(self.stop.0.as_fd(), PollFlags::POLLIN)];
        ppoll(&mut polled, Some(TimeSpec::new(0, 0)), None).is_ok_and(|ready| ready > 0)
    }

    /// Sleeps until `until`; returns false if the run is over before.
    pub fn sleep_until(&self, until: Instant) -> io::Result<bool> {
        Ok(self.wait(None, Some(until))? == Woken::Due)
    }

    /// Returns the time left; `None` for an unlimited wait.
    fn time_left(&self, until: Option<Instant>) -> Option<TimeSpec> {
        let until = std::time::Duration::from_nanos(until?.as_nanos());
        let left = self
            .zero
            .checked_add(until)?
            .saturating_duration_since(std::time::Instant::now());
        Some(TimeSpec::from_duration(left))
    }
}

/// Runs `work` in a separate thread that has entered a network namespace. Sockets opened there stay in that namespace,
/// whoever uses them afterwards.
pub(crate) fn in_namespace<T: Send>(
    namespace: BorrowedFd<'_>,
    work: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().spawn_scoped(scope, || {
            setns(namespace, CloneFlags::CLONE_NEWNET)?;
            work()
        })?;
        worker
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("work in a network namespace panicked")))
    })
}
