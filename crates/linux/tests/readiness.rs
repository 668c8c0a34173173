//! The wait for descriptors, under signals and with what cannot be waited for.
#![allow(unsafe_code)]

use baton_linux::readiness::{Waker, wait_readable};
use nix::libc;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::thread::JoinHandleExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A wait that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);
/// Signals after which a thread that began to wait is surely in its wait.
const MANY: usize = 1_000;

/// Signals that have been handled.
static HANDLED: AtomicUsize = AtomicUsize::new(0);

extern "C" fn note(_: libc::c_int) {
    HANDLED.fetch_add(1, Ordering::SeqCst);
}

/// Lets SIGUSR1 interrupt a wait.
fn handle_signals() {
    // SAFETY: all-zero is a valid `sigaction`: no flags, an empty mask.
    let mut action: libc::sigaction = unsafe { core::mem::zeroed() };
    action.sa_sigaction = note as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // SAFETY: the handler only adds to an atomic number, which is safe in a handler.
    let done = unsafe { libc::sigaction(libc::SIGUSR1, &raw const action, core::ptr::null_mut()) };
    assert_eq!(done, 0);
}

/// Interrupts a thread until it has ended, at most so many times, each time after it has handled the last one.
fn interrupt<T>(thread: &JoinHandle<T>, most: usize) {
    let begun = Instant::now();
    for _ in 0..most {
        let before = HANDLED.load(Ordering::SeqCst);
        if thread.is_finished() {
            return;
        }
        // SAFETY: the thread is not joined yet, so that its handle names it.
        unsafe { libc::pthread_kill(thread.as_pthread_t(), libc::SIGUSR1) };
        while HANDLED.load(Ordering::SeqCst) == before && !thread.is_finished() {
            assert!(begun.elapsed() < PATIENCE, "the wait never ends");
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_signal_neither_ends_a_wait_nor_lengthens_it() {
    handle_signals();
    let waker = Waker::new().unwrap();
    let waiting = waker.clone();
    let wait = std::thread::spawn(move || wait_readable(&[waiting.as_fd()], PATIENCE).unwrap());
    interrupt(&wait, MANY);
    waker.wake();
    assert_eq!(wait.join().unwrap(), [true]);
    // Interrupted more often than its time is long, it ends all the same.
    waker.clear();
    let time = Duration::from_millis(50);
    let wait = std::thread::spawn(move || wait_readable(&[waker.as_fd()], time).unwrap());
    interrupt(&wait, usize::MAX);
    assert_eq!(wait.join().unwrap(), [false]);
}

#[test]
fn a_descriptor_that_is_not_open_counts_as_readable() {
    let waker = Waker::new().unwrap();
    // SAFETY: nothing is done with the descriptor, which no process may have, but to ask of it.
    let none = unsafe { BorrowedFd::borrow_raw(i32::MAX) };
    let ready = wait_readable(&[waker.as_fd(), none], PATIENCE).unwrap();
    assert_eq!(ready, [false, true]);
}

#[test]
fn a_wait_that_fails_says_why() {
    let waker = Waker::new().unwrap();
    // More seconds than a `timespec` holds: ppoll(2) says EINVAL.
    let error = wait_readable(&[waker.as_fd()], Duration::MAX).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    let said = error.to_string();
    assert!(said.starts_with("waiting for 1 descriptors: "), "{said}");
}
