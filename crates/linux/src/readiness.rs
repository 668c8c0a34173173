//! The wait for an event: a packet from the kernel, a deadline, a signal, a command, the end of a program.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeSpec;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Signals of the system to wait for.
pub struct Signals {
    descriptor: SignalFd,
}

impl Signals {
    /// Blocks SIGINT and SIGTERM, which from now on are only read here. Call it before other threads are started, which
    /// inherit the mask.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn take() -> nix::Result<Signals> {
        Signals::of(&[Signal::SIGINT, Signal::SIGTERM])
    }

    /// Blocks SIGHUP, the request to a daemon to reload its configuration, which from now on is only read here. Call it
    /// before other threads are started.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn hangups() -> nix::Result<Signals> {
        Signals::of(&[Signal::SIGHUP])
    }

    fn of(signals: &[Signal]) -> nix::Result<Signals> {
        let mut wanted = SigSet::empty();
        signals.iter().for_each(|&signal| wanted.add(signal));
        wanted.thread_block()?;
        let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
        Ok(Signals {
            descriptor: SignalFd::with_flags(&wanted, flags)?,
        })
    }

    /// Takes a pending signal; returns true if there was one.
    pub fn poll(&self) -> bool {
        matches!(self.descriptor.read_signal(), Ok(Some(_)))
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Lets this thread's timed waits end so much late, so that fewer of them are needed.
///
/// # Errors
/// Errors of the kernel.
pub fn set_slack(slack: Duration) -> io::Result<()> {
    let nanoseconds = u64::try_from(slack.as_nanos()).unwrap_or(u64::MAX);
    Ok(nix::sys::prctl::set_timerslack(nanoseconds)?)
}

/// A waker of the forwarding thread, for other threads.
#[derive(Clone, Debug)]
pub struct Waker {
    descriptor: Arc<EventFd>,
}

impl Waker {
    /// Creates a waker.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn new() -> nix::Result<Waker> {
        let flags = EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC;
        Ok(Waker {
            descriptor: Arc::new(EventFd::from_flags(flags)?),
        })
    }

    /// Ends the present or the next wait.
    pub fn wake(&self) {
        let _ = self.descriptor.write(1);
    }

    /// Clears the wake-ups so far.
    pub fn clear(&self) {
        let _ = self.descriptor.read();
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Waits until one of `descriptors` is readable or hung up, at most `most`, even if signals interrupt the wait. Returns
/// for each whether it is. A closed descriptor counts as readable (POLLNVAL): reading it gives the error.
///
/// # Errors
/// Errors of the kernel: no memory, more descriptors than the process may have, or a time out of the range of
/// `timespec`.
pub fn wait_readable(descriptors: &[BorrowedFd<'_>], most: Duration) -> io::Result<Vec<bool>> {
    let mut polled: Vec<PollFd<'_>> = descriptors
        .iter()
        .map(|&descriptor| PollFd::new(descriptor, PollFlags::POLLIN))
        .collect();
    let begun = Instant::now();
    loop {
        let left = most.saturating_sub(begun.elapsed());
        match ppoll(&mut polled, Some(TimeSpec::from(left)), None) {
            Ok(_) => break,
            Err(Errno::EINTR) => {}
            Err(errno) => {
                let error = io::Error::from(errno);
                let what = format!("waiting for {} descriptors: {error}", descriptors.len());
                return Err(io::Error::new(error.kind(), what));
            }
        }
    }
    // An event unknown here is an event all the same.
    let ready = polled.iter().map(|polled| polled.any().unwrap_or(true));
    Ok(ready.collect())
}
