//! Punctuality: the forwarding thread goes before others, and the kernel does not put its wake-ups together.
#![allow(unsafe_code)]

use nix::libc;

/// The best priority among ordinary threads. A real-time class would be stopped for twentieths of a second by the
/// kernel's own guard when a world is busy, and then be later than without it.
const NICE: libc::c_int = -20;

/// Raises the calling thread's priority; returns whether the kernel allowed it.
pub fn raise() -> bool {
    // SAFETY: both calls take numbers alone; zero is the calling thread.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
        libc::setpriority(libc::PRIO_PROCESS, 0, NICE) == 0
    }
}
