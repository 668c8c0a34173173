//! Commands to a daemon under way, by a Unix socket: a line of JSON each way. File permissions say who may.

use super::status::Status;
use crate::capture::{Tap, stream};
use baton_linux::readiness::Waker;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Duration;

/// Longest command, in bytes.
const LONGEST: u64 = 4096;
/// Longest time that a caller, or the daemon, may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// The folder of sockets, which a service manager makes.
pub const FOLDER: &str = "/run/batond";

/// A command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Tell the state.
    Status,
    /// Hold the router to an uplink, by its device; or let it choose.
    Switch(Option<String>),
    /// Stream a capture behind the answer.
    Capture,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The state.
    Status(Box<Status>),
    /// The command was carried out.
    Done,
    /// It was not, and why.
    Refused(String),
}

/// A command that waits for its answer.
pub struct Request {
    /// The command.
    pub command: Command,
    answer: SyncSender<Answer>,
}

impl Request {
    /// Answers; whoever asked may have gone.
    pub fn answer(self, answer: Answer) {
        let _ = self.answer.send(answer);
    }
}

/// The means to ask the daemon from another thread.
#[derive(Clone)]
pub struct Asker {
    requests: Sender<Request>,
    waker: Waker,
}

impl Asker {
    /// Makes a way for requests to the thread that waits for the waker.
    pub fn new(waker: Waker) -> (Asker, Receiver<Request>) {
        let (requests, receiver) = channel();
        (Asker { requests, waker }, receiver)
    }

    /// Returns the daemon's answer.
    pub fn ask(&self, command: Command) -> Answer {
        let (answer, answers) = sync_channel(1);
        let asked = self.requests.send(Request { command, answer });
        self.waker.wake();
        let answered = asked
            .ok()
            .and_then(|()| answers.recv_timeout(PATIENCE).ok());
        answered.unwrap_or_else(|| Answer::Refused("the daemon does not answer".to_owned()))
    }
}

/// A socket for commands, which goes with this value.
pub struct Control(PathBuf);

impl Control {
    /// Listens at a path, where a socket that nobody serves any more may be.
    ///
    /// # Errors
    /// The path, and the words of the kernel.
    pub fn open(path: &Path, asker: Asker, tap: Tap) -> Result<Control, String> {
        let wrong = |error: io::Error| format!("control socket {}: {error}", path.display());
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(wrong)?;
        }
        if UnixStream::connect(path).is_ok() {
            return Err(wrong(io::ErrorKind::AddrInUse.into()));
        }
        if path.exists() {
            fs::remove_file(path).map_err(wrong)?;
        }
        let listener = UnixListener::bind(path).map_err(wrong)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o660)).map_err(wrong)?;
        thread::spawn(move || {
            for caller in listener.incoming().flatten() {
                // A caller that fails has nobody to be told.
                let _ = serve(caller, &asker, &tap);
            }
        });
        Ok(Control(path.to_owned()))
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn serve(mut caller: UnixStream, asker: &Asker, tap: &Tap) -> io::Result<()> {
    caller.set_read_timeout(Some(PATIENCE))?;
    caller.set_write_timeout(Some(PATIENCE))?;
    let mut line = Vec::new();
    BufReader::new((&caller).take(LONGEST)).read_until(b'\n', &mut line)?;
    match serde_json::from_slice(&line) {
        Ok(Command::Capture) => begin_capture(caller, tap),
        Ok(command) => answer(&mut caller, &asker.ask(command)),
        Err(error) => answer(
            &mut caller,
            &Answer::Refused(format!("no command: {error}")),
        ),
    }
}

fn answer(caller: &mut UnixStream, answer: &Answer) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    caller.write_all(&line)
}

/// Streams a capture from a thread of its own, so that other callers need not wait.
fn begin_capture(mut caller: UnixStream, tap: &Tap) -> io::Result<()> {
    let Some(source) = tap.open(Waker::new()?) else {
        let refused = "another capture is under way: end that first".to_owned();
        return answer(&mut caller, &Answer::Refused(refused));
    };
    answer(&mut caller, &Answer::Done)?;
    caller.set_read_timeout(None)?;
    caller.set_write_timeout(None)?;
    thread::spawn(move || {
        // A caller that has gone has nobody to be told.
        let _ = stream::send(&caller, source);
    });
    Ok(())
}

/// Sends a command to a daemon, and returns its answer.
///
/// # Errors
/// The socket, and what helps.
pub fn call(path: &Path, command: &Command) -> Result<Answer, String> {
    read_answer(path, &mut connect(path, command)?)
}

/// Sends a command to a daemon.
///
/// # Errors
/// The socket, and what helps.
pub fn connect(path: &Path, command: &Command) -> Result<BufReader<UnixStream>, String> {
    let wrong = |error: io::Error| format!("{}: {error}; is the daemon running?", path.display());
    let mut stream = UnixStream::connect(path).map_err(wrong)?;
    stream.set_read_timeout(Some(2 * PATIENCE)).map_err(wrong)?;
    let mut line = serde_json::to_vec(command).map_err(|error| error.to_string())?;
    line.push(b'\n');
    stream.write_all(&line).map_err(wrong)?;
    Ok(BufReader::new(stream))
}

/// Reads the line of an answer. Behind it a capture begins.
///
/// # Errors
/// As of [`call`].
pub fn read_answer(path: &Path, stream: &mut impl BufRead) -> Result<Answer, String> {
    let wrong = |error: io::Error| format!("{}: {error}; is the daemon running?", path.display());
    let mut line = Vec::new();
    stream.read_until(b'\n', &mut line).map_err(wrong)?;
    serde_json::from_slice(&line).map_err(|error| format!("{}: {error}", path.display()))
}

/// Finds the only socket of the folder.
///
/// # Errors
/// There is none, or there are several.
pub fn find() -> Result<PathBuf, String> {
    let entries =
        fs::read_dir(FOLDER).map_err(|error| format!("{FOLDER}: {error}; is a daemon running?"))?;
    let paths = entries.flatten().map(|entry| entry.path());
    let sockets: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "sock"))
        .collect();
    match &sockets[..] {
        [one] => Ok(one.clone()),
        [] => Err(format!(
            "{FOLDER}: there is no socket; is a daemon running?"
        )),
        several => Err(format!(
            "{FOLDER}: {} daemons have sockets there; name one by --control PATH",
            several.len()
        )),
    }
}
