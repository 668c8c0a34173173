//! Punctuality: the forwarding thread goes before others, and the kernel does not put its wake-ups together.
#![allow(unsafe_code)]

use nix::libc;

/// The best niceness, where the real-time class is forbidden.
const NICE: libc::c_int = -20;
/// The lowest of the real-time priorities goes before every ordinary thread.
const PRIORITY: libc::c_int = 1;

/// Raises the calling thread's priority, but not that of processes that it starts; returns whether the kernel allowed
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
