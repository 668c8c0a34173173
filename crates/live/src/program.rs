//! Programs on real hosts: each in its host's network, with its own process numbers, hostname and name files, as the
//! invoking user. All descendants of a program end with it, and it ends with this process, however that ends: the first
//! process of the program's PID namespace is killed with its parent, and the kernel then kills the rest.
//!
//! Between this process and the program are two processes of the same binary ([`inside`]): one that enters the
//! namespaces, and its child, the first process of the PID namespace, which reaps orphans.
#![allow(unsafe_code)]

mod inside;

pub use inside::inside;

use crate::rights::{Invoker, Rights};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, pipe2};
use serde::{Deserialize, Serialize};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// Argument that makes this binary one of the two processes in between.
pub const INSIDE: &str = "inside";

/// A program to start.
pub struct ProgramSpec<'a> {
    /// Name and arguments of the program.
    pub argv: &'a [String],
    /// Hostname visible to the program.
    pub hostname: &'a str,
    /// Network namespace.
    pub namespace: BorrowedFd<'a>,
    /// Contents of /etc/hosts.
    pub hosts_file: &'a str,
    /// Additional environment.
    pub environment: &'a [(String, String)],
    /// Standard input, output and error.
    pub stdio: [Stdio; 3],
    /// User to run as.
    pub invoker: Invoker,
    /// Source of this process's right to make namespaces.
    pub rights: Rights,
}

/// Arguments of the process in between.
#[derive(Serialize, Deserialize)]
struct InsideSpec {
    argv: Vec<String>,
    hostname: String,
    hosts_file: String,
    uid: u32,
    gid: u32,
    /// True if the caller is root of a user namespace.
    in_user_namespace: bool,
    namespace: i32,
    report: i32,
}

/// End of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// Exited with this status.
    Status(i32),
    /// Killed by this signal.
    Signal(i32),
    /// Not started, because of this kernel error.
    NotStarted(i32),
    /// One of the processes between it and this one was killed.
    Lost,
}

impl Ending {
    /// Returns true if the program ended with exit status 0.
    pub fn is_success(self) -> bool {
        self == Ending::Status(0)
    }

    /// Describes the end, as a continuation of "the program ".
    pub fn describe(self) -> String {
        match self {
            Ending::Status(status) => format!("ended with status {status}"),
            Ending::Signal(number) => match Signal::try_from(number) {
                Ok(signal) => format!("was killed by {signal}"),
                Err(_) => format!("was killed by signal {number}"),
            },
            Ending::NotStarted(number) => {
                format!("could not be started: {}", Errno::from_raw(number).desc())
            }
            Ending::Lost => "was lost: a process that held its namespaces was killed".to_owned(),
        }
    }
}

/// A started program.
pub struct Program {
    between: Child,
    /// Readable when the program has ended: poll for it.
    pub report: OwnedFd,
    ending: Option<Ending>,
}

impl Program {
    /// Starts a program. Call it from a thread that lives until the end: the program is killed with that thread.
    ///
    /// # Errors
    /// This binary cannot be started again. A failure to start the program itself is [`Ending::NotStarted`].
    pub fn start(spec: ProgramSpec<'_>) -> io::Result<Program> {
        let (report, told) = pipe2(OFlag::O_CLOEXEC)?;
        let inside = InsideSpec {
            argv: spec.argv.to_vec(),
            hostname: spec.hostname.to_owned(),
            hosts_file: spec.hosts_file.to_owned(),
            uid: spec.invoker.uid.as_raw(),
            gid: spec.invoker.gid.as_raw(),
            in_user_namespace: spec.rights == Rights::UserNamespace,
            namespace: spec.namespace.as_raw_fd(),
            report: told.as_raw_fd(),
        };
        let [stdin, stdout, stderr] = spec.stdio;
        let mut command = Command::new("/proc/self/exe");
        command
            .arg0("baton-emulator")
            .arg(INSIDE)
            .arg(serde_json::to_string(&inside)?)
            .envs(spec.environment.iter().map(|(name, value)| (name, value)))
            .stdin(stdin)
            .stdout(stdout)
            .stderr(stderr);
        let passed = [inside.namespace, inside.report];
        // SAFETY: between fork and exec only system calls are made, on values copied before.
        unsafe {
            command.pre_exec(move || {
                set_pdeathsig(Signal::SIGKILL)?;
                for descriptor in passed {
                    let descriptor = BorrowedFd::borrow_raw(descriptor);
                    fcntl(descriptor, FcntlArg::F_SETFD(FdFlag::empty()))?;
                }
                Ok(())
            });
        }
        let between = command.spawn()?;
        Ok(Program {
            between,
            report,
            ending: None,
        })
    }

    /// Waits until the program has ended.
    pub fn wait(&mut self) -> Ending {
        if let Some(ending) = self.ending {
            return ending;
        }
        let mut text = String::new();
        let report = self.report.try_clone().map(std::fs::File::from);
        let read = report.and_then(|mut report| report.read_to_string(&mut text));
        let ending = read.ok().and_then(|_| serde_json::from_str(&text).ok());
        let _ = self.between.wait();
        *self.ending.insert(ending.unwrap_or(Ending::Lost))
    }

    /// Asks the program and all its descendants to end.
    pub fn terminate(&self) {
        if self.ending.is_none() {
            let _ = kill(self.process(), Signal::SIGTERM);
        }
    }

    /// Kills the program and all its descendants.
    pub fn kill(&mut self) {
        if self.ending.is_none() {
            let _ = self.between.kill();
            let _ = self.between.wait();
        }
    }

    fn process(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.between.id()).unwrap_or(i32::MAX))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}
