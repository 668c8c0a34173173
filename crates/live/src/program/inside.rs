//! The two processes between the emulator and a program.

use super::{Ending, InsideSpec};
use crate::rights::map_identity;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{
    ForkResult, Gid, Pid, Uid, User, execvp, fork, getgid, getuid, initgroups, pipe2, read, setgid,
    sethostname, setuid, write,
};
use std::ffi::CString;
use std::fs::{self, File};
use std::io::Write;
use std::os::fd::{FromRawFd, OwnedFd};

/// Runs as the process in between; `spec` is the output of [`super::Program::start`]. Returns when the program has
/// ended.
pub fn inside(spec: &str) -> Result<(), String> {
    let spec: InsideSpec =
        serde_json::from_str(spec).map_err(|error| format!("inside: no specification: {error}"))?;
    // SAFETY: the parent opened both descriptors for this process, and names each once.
    let report = unsafe { OwnedFd::from_raw_fd(spec.report) };
    let namespace = unsafe { OwnedFd::from_raw_fd(spec.namespace) };
    let mut report = File::from(report);
    fcntl(&report, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))
        .map_err(|error| format!("inside: {error}"))?;
    let ended = enter(&spec, namespace).and_then(|()| first_process(&spec, &report));
    if let Err(error) = ended {
        tell(&mut report, Ending::NotStarted(error as i32));
    }
    Ok(())
}

/// Enters the host's network, and starts a PID namespace with the next child.
fn enter(spec: &InsideSpec, namespace: OwnedFd) -> nix::Result<()> {
    setns(namespace, CloneFlags::CLONE_NEWNET)?;
    unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWUTS)?;
    sethostname(&spec.hostname)
}

/// Forks the first process of the PID namespace, and waits for it.
fn first_process(spec: &InsideSpec, report: &File) -> nix::Result<()> {
    block_signals()?;
    // SAFETY: this process has one thread.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => {
            pass_on_until_exit(child, child);
            Ok(())
        }
        ForkResult::Child => {
            let mut report = report.try_clone().map_err(|_| Errno::EMFILE)?;
            let ending = run(spec).unwrap_or_else(|error| Ending::NotStarted(error as i32));
            tell(&mut report, ending);
            std::process::exit(0);
        }
    }
}

/// Runs as the first process: prepares files, starts the program, and waits for it.
fn run(spec: &InsideSpec) -> nix::Result<Ending> {
    set_pdeathsig(Signal::SIGKILL)?;
    mount_names(spec);
    let (failed, failure) = pipe2(OFlag::O_CLOEXEC)?;
    // SAFETY: this process has one thread.
    match unsafe { fork() }? {
        ForkResult::Child => {
            drop(failed);
            let error = become_program(spec);
            let _ = write(&failure, &(error as i32).to_le_bytes());
            std::process::exit(127);
        }
        ForkResult::Parent { child } => {
            drop(failure);
            let mut error = [0; 4];
            if read(&failed, &mut error) == Ok(4) {
                return Ok(Ending::NotStarted(i32::from_le_bytes(error)));
            }
            Ok(pass_on_until_exit(child, Pid::from_raw(-1)))
        }
    }
}

fn block_signals() -> nix::Result<()> {
    let mut signals = SigSet::empty();
    for signal in [
        Signal::SIGCHLD,
        Signal::SIGTERM,
        Signal::SIGINT,
        Signal::SIGHUP,
        Signal::SIGQUIT,
    ] {
        signals.add(signal);
    }
    signals.thread_block()
}

/// Waits for `child`, reaps others, and passes SIGTERM on to `target`. A terminal sends SIGINT to the program itself.
fn pass_on_until_exit(child: Pid, target: Pid) -> Ending {
    let mut waited = SigSet::empty();
    waited.add(Signal::SIGCHLD);
    waited.add(Signal::SIGTERM);
    loop {
        loop {
            match waitpid(Pid::from_raw(-1), Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, status)) if pid == child => {
                    return Ending::Status(status);
                }
                Ok(WaitStatus::Signaled(pid, signal, _)) if pid == child => {
                    return Ending::Signal(signal as i32);
                }
                Ok(WaitStatus::StillAlive) => break,
                Err(Errno::ECHILD) => return Ending::Lost,
                _ => {}
            }
        }
        if waited.wait() == Ok(Signal::SIGTERM) {
            let _ = kill(target, Signal::SIGTERM);
        }
    }
}

/// Gives the program its own /proc and its own name files. A container may forbid some of this: then the program sees
/// other processes' numbers, or finds its peers only by their addresses.
fn mount_names(spec: &InsideSpec) {
    const NONE: Option<&str> = None;
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    if mount(NONE, "/", NONE, private, NONE).is_err() {
        return;
    }
    let switches = fs::read_to_string("/etc/nsswitch.conf").unwrap_or_default();
    let switches: String = switches
        .lines()
        .filter(|line| !line.trim_start().starts_with("hosts:"))
        .map(|line| format!("{line}\n"))
        .collect();
    let files = [
        ("/etc/hosts", spec.hosts_file.clone()),
        // There is no server at that address: the lookup of a name that is in no file fails at once.
        ("/etc/resolv.conf", "nameserver 127.0.0.1\n".to_owned()),
        (
            "/etc/nsswitch.conf",
            format!("{switches}hosts: files dns\n"),
        ),
    ];
    // The files are on a temporarily mounted file system, and disappear with this namespace.
    let staging = "/proc";
    if mount(
        Some("baton"),
        staging,
        Some("tmpfs"),
        MsFlags::empty(),
        NONE,
    )
    .is_ok()
    {
        for (target, text) in files {
            let source = format!("{staging}/{}", target.replace('/', "_"));
            if fs::write(&source, text).is_ok() {
                let bind = MsFlags::MS_BIND;
                let _ = mount(Some(source.as_str()), target, NONE, bind, NONE);
            }
        }
        let _ = umount2(staging, MntFlags::MNT_DETACH);
    }
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    let _ = mount(Some("proc"), "/proc", Some("proc"), flags, NONE);
}

/// Executes the program; returns only on failure.
fn become_program(spec: &InsideSpec) -> Errno {
    let prepared = become_user(spec).and_then(|()| SigSet::all().thread_unblock());
    if let Err(error) = prepared {
        return error;
    }
    let argv: Result<Vec<CString>, _> = spec
        .argv
        .iter()
        .map(|argument| CString::new(argument.as_str()))
        .collect();
    match argv {
        Ok(argv) if !argv.is_empty() => match execvp(&argv[0], &argv) {
            Err(error) => error,
            Ok(never) => match never {},
        },
        _ => Errno::EINVAL,
    }
}

/// Switches to the invoking user, with that user's environment.
fn become_user(spec: &InsideSpec) -> nix::Result<()> {
    let (uid, gid) = (Uid::from_raw(spec.uid), Gid::from_raw(spec.gid));
    if spec.in_user_namespace {
        let (own_uid, own_gid) = (getuid(), getgid());
        unshare(CloneFlags::CLONE_NEWUSER)?;
        return map_identity(own_uid, own_gid, spec.uid, spec.gid)
            .map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or_default()));
    }
    if uid == getuid() {
        return Ok(());
    }
    if let Ok(Some(user)) = User::from_uid(uid) {
        let name = CString::new(user.name.clone()).map_err(|_| Errno::EINVAL)?;
        initgroups(&name, gid)?;
        // SAFETY: this process has one thread.
        unsafe {
            std::env::set_var("HOME", &user.dir);
            std::env::set_var("USER", &user.name);
            std::env::set_var("LOGNAME", &user.name);
        }
    }
    setgid(gid)?;
    setuid(uid)
}

/// Reports the end of the program to the emulator.
fn tell(report: &mut File, ending: Ending) {
    if let Ok(text) = serde_json::to_string(&ending) {
        let _ = report.write_all(text.as_bytes());
    }
}
