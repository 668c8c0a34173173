//! Sleeping until something happens: a packet from a kernel, a deadline, a signal, a command, a program's end.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeSpec;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

/// SIGINT and SIGTERM as something to wait for.
pub struct Signals {
    descriptor: SignalFd,
}

impl Signals {
    /// From now on these signals only wait here. Call it before other threads are started, which inherit it.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn take() -> nix::Result<Signals> {
        let mut wanted = SigSet::empty();
        wanted.add(Signal::SIGINT);
        wanted.add(Signal::SIGTERM);
        wanted.thread_block()?;
        let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
        Ok(Signals {
            descriptor: SignalFd::with_flags(&wanted, flags)?,
        })
    }

    /// Whether one has come.
    pub fn poll(&self) -> bool {
        matches!(self.descriptor.read_signal(), Ok(Some(_)))
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Wakes the forwarding thread from another one.
#[derive(Clone)]
pub struct Waker {
    descriptor: Arc<EventFd>,
}

impl Waker {
    /// A waker.
    ///
    /// # Errors
    /// Those of the kernel.
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

/// Waits until one of `descriptors` is readable or hung up, at most `most`; says which ones are.
pub fn wait_readable(descriptors: &[BorrowedFd<'_>], most: Duration) -> Vec<bool> {
    let mut polled: Vec<PollFd<'_>> = descriptors
        .iter()
        .map(|&descriptor| PollFd::new(descriptor, PollFlags::POLLIN))
        .collect();
    match ppoll(&mut polled, Some(TimeSpec::from(most)), None) {
        Ok(_) | Err(Errno::EINTR) => {}
        Err(_) => return vec![false; descriptors.len()],
    }
    polled
        .iter()
        .map(|polled| polled.any().unwrap_or(false))
        .collect()
}
