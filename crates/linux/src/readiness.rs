//! The wait until something happens: a packet from a kernel, a deadline, a signal, a command, a program's end.

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

/// Signals of the system as something to wait for.
pub struct Signals {
    descriptor: SignalFd,
}

impl Signals {
    /// Lets SIGINT and SIGTERM only wait here from now on. Call it before other threads are started, which inherit it.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn take() -> nix::Result<Signals> {
        Signals::of(&[Signal::SIGINT, Signal::SIGTERM])
    }

    /// Lets SIGHUP only wait here from now on, by which a daemon is asked to read its configuration anew. Call it before other threads
    /// are started.
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

    /// Takes one that has come; returns true if there was one.
    pub fn poll(&self) -> bool {
        matches!(self.descriptor.read_signal(), Ok(Some(_)))
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// The means to wake the forwarding thread from another one.
#[derive(Clone, Debug)]
pub struct Waker {
    descriptor: Arc<EventFd>,
}

impl Waker {
    /// Makes a waker.
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

    /// Takes the wake-ups so far.
    pub fn clear(&self) {
        let _ = self.descriptor.read();
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Waits until one of `descriptors` is readable or hung up, at most `most`, also where signals interrupt the wait. Returns which
/// ones are. One that is not open counts as readable (POLLNVAL): reading it names the error.
///
/// # Errors
/// Errors of the kernel: no memory, more descriptors than the process may have, or a time that is no `timespec`.
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
    // An event that has no name here is one all the same.
    let ready = polled.iter().map(|polled| polled.any().unwrap_or(true));
    Ok(ready.collect())
}
