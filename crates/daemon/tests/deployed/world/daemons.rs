//! The daemons as an operator runs them: processes of their own, with files.

use super::Namespace;
use baton_daemon::operation::status::Status;
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

/// Surroundings of a daemon.
#[derive(Debug, Default)]
pub struct Surroundings {
    /// A library that stands before the system's.
    pub preload: Option<PathBuf>,
    /// True if the file system of its socket is full, and what it says has no place either.
    pub is_full: bool,
}

/// Puts a file system of two pages over a folder, fills it, and becomes a daemon that has no other.
const IN_FULL: &str = r#"
mount -t tmpfs -o size=8k none "$1" && { head -c 64k /dev/zero > "$1/rest"; shift; exec "$@" 2> /dev/full; } 2> /dev/null
"#;

/// A daemon that runs. It is killed with this value.
pub struct Daemon {
    child: Child,
    name: &'static str,
    log: PathBuf,
    socket: PathBuf,
    /// Bytes of the log that a wait has passed.
    passed: usize,
}

impl Daemon {
    /// Starts a daemon in a namespace.
    pub fn start(
        inside: &Namespace,
        (role, config): (&'static str, &Path),
        surroundings: &Surroundings,
    ) -> Daemon {
        let mut number = 0..;
        let log = number
            .by_ref()
            .map(|n| config.with_extension(format!("{n}.log")));
        let log = log.into_iter().find(|log| !log.exists()).unwrap();
        let file = File::create(&log).unwrap();
        // Several daemons share the file system, but not the socket for commands.
        let own = log.with_extension("toml");
        let text = fs::read_to_string(config).unwrap();
        let folder = log.with_extension("run");
        fs::create_dir(&folder).unwrap();
        let socket = folder.join("control.sock");
        fs::write(&own, format!("control = {socket:?}\n{text}")).unwrap();
        let batond = env!("CARGO_BIN_EXE_batond");
        let mut command = match surroundings.is_full {
            true => Command::new("unshare"),
            false => Command::new(batond),
        };
        if surroundings.is_full {
            command.args(["--mount", "sh", "-c", IN_FULL, "sh"]);
            command.arg(&folder).arg(batond);
        }
        if let Some(library) = &surroundings.preload {
            command.env("LD_PRELOAD", library);
        }
        command.arg(role).arg(own).stderr(file);
        Daemon {
            child: inside.run(|| command.spawn().unwrap()),
            name: role,
            log,
            socket,
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
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Returns the path of its configuration.
    pub fn config(&self) -> PathBuf {
        self.log.with_extension("toml")
    }

    /// Returns the number of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
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

    /// Passes all that it has said so far.
    pub fn pass(&mut self) {
        self.passed = self.said().len();
    }

    /// Returns its state, as an operator asks for it; of one whose socket does not answer the words of who has asked.
    pub fn status(&self) -> String {
        let mut command = Command::new("nsenter");
        command.arg(format!("--mount=/proc/{}/ns/mnt", self.id()));
        command.args([env!("CARGO_BIN_EXE_batond"), "status", "--control"]);
        let output = command.arg(&self.socket).output().unwrap();
        let words = [output.stdout, output.stderr].concat();
        String::from_utf8_lossy(&words).into_owned()
    }

    /// Returns its state as programs read it.
    pub fn state(&self) -> Status {
        let output = self.command(&["status", "--json"]).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Returns the memory that it occupies, in bytes.
    pub fn memory(&self) -> u64 {
        let file = format!("/proc/{}/status", self.id());
        let text = fs::read_to_string(file).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.unwrap().trim().trim_end_matches(" kB");
        kilobytes.parse::<u64>().unwrap() << 10
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
