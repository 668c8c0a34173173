//! Commands to a running daemon over a Unix socket: a line of JSON each way. File permissions control access.

use super::status::Status;
use crate::capture::{Tap, stream};
use crate::gateway::signals::LinkWord;
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

/// Maximum length of a command, in bytes.
const LONGEST: u64 = 4096;
/// Maximum time for a caller, and for the daemon.
const PATIENCE: Duration = Duration::from_secs(2);
/// Folder of the sockets, created by a service manager.
pub const FOLDER: &str = "/run/batond";

/// A command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Report the state.
    Status,
    /// Hold the router to an uplink, by its device; or let it choose.
    Switch(Option<String>),
    /// Take in a word about a gateway's link.
    Link(LinkWord),
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
    /// The command was refused, with the reason.
    Refused(String),
}

/// A command that awaits its answer.
pub struct Request {
    /// Command.
    pub command: Command,
    answer: SyncSender<Answer>,
}

impl Request {
    /// Answers the caller, unless it has gone.
    pub fn answer(self, answer: Answer) {
        let _ = self.answer.send(answer);
    }
}

/// A handle to send commands to the daemon from another thread.
#[derive(Clone)]
pub struct Asker {
    requests: Sender<Request>,
    waker: Waker,
}

impl Asker {
    /// Creates a channel for requests to the thread that waits for the waker.
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

/// A command socket, removed with this value.
pub struct Control(PathBuf);

impl Control {
    /// Listens at a path, and replaces a stale socket there.
    ///
    /// # Errors
    /// The path, and the kernel's message.
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
                // If a caller fails, there is nobody to report it to.
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
            &Answer::Refused(format!("not a command: {error}")),
        ),
    }
}

fn answer(caller: &mut UnixStream, answer: &Answer) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    caller.write_all(&line)
}

/// Streams a capture from a separate thread, so that other callers need not wait.
fn begin_capture(mut caller: UnixStream, tap: &Tap) -> io::Result<()> {
    let Some(source) = tap.open(Waker::new()?) else {
        let refused = "another capture is running: stop that first".to_owned();
        return answer(&mut caller, &Answer::Refused(refused));
    };
    answer(&mut caller, &Answer::Done)?;
    caller.set_read_timeout(None)?;
    caller.set_write_timeout(None)?;
    thread::spawn(move || {
        // If the caller has gone, there is nobody to report it to.
        let _ = stream::send(&caller, source);
    });
    Ok(())
}

/// Sends a command to a daemon, and returns its answer.
///
/// # Errors
/// The socket, and advice.
pub fn call(path: &Path, command: &Command) -> Result<Answer, String> {
    read_answer(path, &mut connect(path, command)?)
}

/// Sends a command to a daemon.
///
/// # Errors
/// The socket, and advice.
pub fn connect(path: &Path, command: &Command) -> Result<BufReader<UnixStream>, String> {
    let wrong = |error: io::Error| format!("{}: {error}; is the daemon running?", path.display());
    let mut stream = UnixStream::connect(path).map_err(wrong)?;
    stream.set_read_timeout(Some(2 * PATIENCE)).map_err(wrong)?;
    let mut line = serde_json::to_vec(command).map_err(|error| error.to_string())?;
    line.push(b'\n');
    stream.write_all(&line).map_err(wrong)?;
    Ok(BufReader::new(stream))
}

/// Reads the line of an answer, which a capture may follow.
///
/// # Errors
/// As for [`call`].
pub fn read_answer(path: &Path, stream: &mut impl BufRead) -> Result<Answer, String> {
    let wrong = |error: io::Error| format!("{}: {error}; is the daemon running?", path.display());
    let mut line = Vec::new();
    stream.read_until(b'\n', &mut line).map_err(wrong)?;
    serde_json::from_slice(&line).map_err(|error| format!("{}: {error}", path.display()))
}

/// Finds the only socket in the folder.
///
/// # Errors
/// There is no socket, or there are several.
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
            "{FOLDER}: {} daemons have sockets there; name one with --control PATH",
            several.len()
        )),
    }
}
