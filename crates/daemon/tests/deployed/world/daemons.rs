//! The daemons as an operator runs them: processes of their own, with files.

use super::Namespace;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// A wait that takes longer hangs.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A folder that goes with this value.
pub struct Folder(pub PathBuf);

impl Folder {
    /// Makes a folder that nobody else has.
    pub fn new() -> Folder {
        let thread = format!("{:?}", std::thread::current().id());
        let number: String = thread.chars().filter(char::is_ascii_digit).collect();
        let name = format!("batond-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Makes a private key, and returns the public one.
pub fn make_key(file: &Path) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_batond"));
    let output = command.arg("key").arg(file).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A daemon that runs. It is killed with this value.
pub struct Daemon {
    child: Child,
    name: &'static str,
    log: PathBuf,
    /// Bytes of the log that a wait has passed.
    passed: usize,
}

impl Daemon {
    /// Starts a daemon in a namespace.
    pub fn start(inside: &Namespace, role: &'static str, config: &Path) -> Daemon {
        let mut number = 0..;
        let log = number
            .by_ref()
            .map(|n| config.with_extension(format!("{n}.log")));
        let log = log.into_iter().find(|log| !log.exists()).unwrap();
        let file = File::create(&log).unwrap();
        // Several daemons share the file system, but not the socket for commands.
        let own = log.with_extension("toml");
        let text = fs::read_to_string(config).unwrap();
        let socket = log.with_extension("sock");
        fs::write(&own, format!("control = {socket:?}\n{text}")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_batond"));
        command.arg(role).arg(own).stderr(file);
        Daemon {
            child: inside.run(|| command.spawn().unwrap()),
            name: role,
            log,
            passed: 0,
        }
    }

    /// Kills it, as `kill -9` does.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Begins a command to it, in which its socket is named.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_batond"));
        command.args(words).arg("--control").arg(self.socket());
        command
    }

    /// Returns the path of its socket for commands.
    pub fn socket(&self) -> PathBuf {
        self.log.with_extension("sock")
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
    }

    /// Returns all that it has said.
    pub fn said(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap()).into_owned()
    }

    /// Waits until it says something, after what was waited for before; returns when.
    pub fn until(&mut self, words: &str) -> Instant {
        let begun = Instant::now();
        loop {
            let said = self.said();
            let found = said[self.passed..].find(words);
            if let Some(place) = found {
                self.passed += place + words.len();
                return Instant::now();
            }
            assert!(begun.elapsed() < PATIENCE, "not \"{words}\" in:\n{said}");
            assert!(self.child.try_wait().unwrap().is_none(), "ended:\n{said}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Returns how often it has said something.
    pub fn times(&self, words: &str) -> usize {
        self.said().matches(words).count()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("{}:\n{}", self.name, self.said());
        }
    }
}
