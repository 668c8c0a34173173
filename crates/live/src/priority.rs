//! Punctuality: the forwarding thread has priority over others, and the kernel does not batch its wake-ups.
#![allow(unsafe_code)]

use nix::libc;

/// The best niceness, for use if the real-time class is forbidden.
const NICE: libc::c_int = -20;
/// The lowest real-time priority, which precedes every ordinary thread.
const PRIORITY: libc::c_int = 1;

/// Raises the calling thread's priority, but not that of the processes it starts; returns true if the kernel permits
/// it.
pub fn raise() -> bool {
    let class = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    let parameters = libc::sched_param {
        sched_priority: PRIORITY,
    };
    // SAFETY: the calls take numbers, and a structure that outlives them; zero is the calling thread.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
        libc::sched_setscheduler(0, class, &raw const parameters) == 0
            || libc::setpriority(libc::PRIO_PROCESS, 0, NICE) == 0
    }
}
