//! Events that the emulator sends to its caller, as JSON lines on a descriptor.
#![allow(unsafe_code)]

use serde_json::{Value, json};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, FromRawFd, OwnedFd, RawFd};

use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;

/// Destination of events.
pub struct Events {
    out: Option<File>,
}

impl Events {
    /// Sends events to the descriptor of this number, which the caller has opened for this process; the run then ends
    /// with its caller. Without one, warnings and errors go to standard error, results to standard output, and all
    /// other events are dropped.
    pub fn open(number: Option<RawFd>) -> Events {
        let out = number.map(|number| {
            let _ = set_pdeathsig(Signal::SIGTERM);
            // SAFETY: the caller guarantees that the descriptor is open and for this process's use; it is taken once.
            let out = unsafe { OwnedFd::from_raw_fd(number) };
            let _ = fcntl(&out, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC));
            File::from(out)
        });
        Events { out }
    }

    /// Sends a warning to the caller.
    pub fn warn(&mut self, message: &str) {
        if self.out.is_some() {
            self.tell(&json!({ "event": "warning", "message": message }));
        } else {
            eprintln!("baton-emulator: warning: {message}");
        }
    }

    /// Reports that the emulator is ready: the run's name, and its real hosts' addresses.
    pub fn ready(&mut self, run: &str, hosts: &Value) {
        self.tell(&json!({ "event": "ready", "run": run, "hosts": hosts }));
    }

    /// Reports time zero.
    pub fn started(&mut self) {
        self.tell(&json!({ "event": "started" }));
    }

    /// Sends a progress message. Dropped at once if nobody reads: forwarding does not wait.
    pub fn progress(&mut self, at_seconds: f64, news: &str) {
        if let Some(out) = &self.out {
            let flags = |flags| fcntl(out.as_fd(), FcntlArg::F_SETFL(flags));
            let _ = flags(OFlag::O_NONBLOCK);
            self.tell(&json!({ "event": "progress", "at_s": at_seconds, "news": news }));
            if let Some(out) = &self.out {
                let _ = fcntl(out.as_fd(), FcntlArg::F_SETFL(OFlag::empty()));
            }
        }
    }

    /// Sends the results.
    pub fn done(&mut self, summary: &Value, folder: Option<&str>, complete: bool) {
        if self.out.is_some() {
            self.tell(&json!({ "event": "done", "summary": summary, "folder": folder, "complete": complete }));
        } else {
            println!("{summary:#}");
        }
    }

    /// Sends the reason for the lack of results.
    pub fn failed(&mut self, message: &str, exit_status: u8) {
        if self.out.is_some() {
            self.tell(&json!({ "event": "error", "message": message, "exit_status": exit_status }));
        } else {
            eprintln!("baton-emulator: {message}");
        }
    }

    fn tell(&mut self, event: &Value) {
        if let Some(out) = &mut self.out {
            // The reader may have gone; the run does not depend on it.
            let _ = out.write_all(format!("{event}\n").as_bytes());
        }
    }
}
