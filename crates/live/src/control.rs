//! Commands to a run in progress: `baton handover` and `baton set`.
//!
//! A run listens at the abstract Unix socket `@baton/<run>`, which disappears with its process. It accepts commands
//! only from root and from the user who started it, from several callers at a time.

use baton_sim::scenario::LinkEdit;
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::Uid;
use serde::Deserialize;
use serde_json::Value;
use std::io::{self, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// Maximum length of a command, in bytes.
const LONGEST_COMMAND: usize = 4096;
/// Maximum number of callers served at a time; others wait until one has been answered.
const MOST_CALLERS: usize = 16;
/// Maximum time for a caller's command, from its first byte to its last.
const PATIENCE: Duration = Duration::from_secs(2);

/// A handover on demand.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandoverCommand {
    /// Name of the link to go to.
    #[serde(rename = "handover")]
    pub link: String,
    /// Way of leaving the old link.
    #[serde(default)]
    pub kind: HandoverKind,
    /// Time for which nothing passes, in seconds; only with a hard handover.
    #[serde(default)]
    pub outage_s: f64,
}

/// Way of leaving a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HandoverKind {
    /// Both links work for a time.
    #[default]
    Soft,
    /// Break before make.
    Hard,
}

/// A command to a run.
#[derive(Debug)]
pub enum Command {
    /// A handover.
    Handover(HandoverCommand),
    /// A change of a link.
    Set(Box<LinkEdit>),
}

impl Command {
    /// Parses a line.
    fn parse(line: &[u8]) -> Result<Command, String> {
        let wrong = |error: serde_json::Error| {
            format!(
                "expected a line like {{\"handover\":\"LINK\",\"kind\":\"hard\",\"outage_s\":2}} or \
                 {{\"set\":\"links.LINK.rate=2 Mbit/s\"}}: {error}"
            )
        };
        let value: Value = serde_json::from_slice(line).map_err(wrong)?;
        if value.get("set").is_some() {
            let command: SetCommand = serde_json::from_value(value).map_err(wrong)?;
            return LinkEdit::parse(&command.change).map(|edit| Command::Set(Box::new(edit)));
        }
        let command: HandoverCommand = serde_json::from_value(value).map_err(wrong)?;
        if !(0.0..=1e6).contains(&command.outage_s) {
            return Err(format!(
                "outage_s = {}: expected 0 to 1e6",
                command.outage_s
            ));
        }
        Ok(Command::Handover(command))
    }

    /// Describes the command in the results.
    pub fn describe(&self) -> String {
        match self {
            Command::Set(edit) => edit.text().to_owned(),
            Command::Handover(command) if command.kind == HandoverKind::Soft => {
                format!("handover to {}", command.link)
            }
            Command::Handover(HandoverCommand { link, outage_s, .. }) => {
                format!("handover to {link}, hard, {outage_s} s")
            }
        }
    }
}

/// A change of a link on demand.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SetCommand {
    /// `links.NAME.KEY=VALUE`.
    #[serde(rename = "set")]
    change: String,
}

/// A command with its channel for the answer: the time of execution in seconds, or the reason for a refusal.
pub struct Request {
    /// The command.
    pub command: Command,
    answer: SyncSender<Result<f64, String>>,
}

impl Request {
    /// Sends the answer.
    pub fn answer(&self, answer: Result<f64, String>) {
        let _ = self.answer.try_send(answer);
    }
}

/// The socket of a run.
pub struct Control {
    /// Name of the run, unique among those in progress.
    pub name: String,
    requests: Receiver<Request>,
}

impl Control {
    /// Listens under `name`, or under `name-2` and so on if runs of that name are in progress. `wake` is called for
    /// each command.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn open(
        name: &str,
        invoker: Uid,
        wake: impl Fn() + Send + Sync + 'static,
    ) -> io::Result<Control> {
        let (name, listener) = bind(name)?;
        let (sender, requests) = channel();
        let (listener, wake) = (Arc::new(listener), Arc::new(wake));
        for _ in 0..MOST_CALLERS {
            let (listener, sender, wake) = (listener.clone(), sender.clone(), wake.clone());
            thread::Builder::new()
                .name("control".to_owned())
                .stack_size(64 << 10)
                .spawn(move || listen(&listener, invoker, &sender, &*wake))?;
        }
        Ok(Control { name, requests })
    }

    /// Returns the next command, if one waits.
    pub fn poll(&self) -> Option<Request> {
        self.requests.try_recv().ok()
    }
}

fn bind(wanted: &str) -> io::Result<(String, UnixListener)> {
    let mut number = 1;
    loop {
        let name = match number {
            1 => wanted.to_owned(),
            _ => format!("{wanted}-{number}"),
        };
        let address = SocketAddr::from_abstract_name(format!("baton/{name}"))?;
        match UnixListener::bind_addr(&address) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => number += 1,
            bound => return Ok((name, bound?)),
        }
    }
}

fn listen(listener: &UnixListener, invoker: Uid, sender: &Sender<Request>, wake: &dyn Fn()) {
    for stream in listener.incoming().flatten() {
        if let Err(error) = serve(&stream, invoker, sender, wake) {
            let mut stream = &stream;
            let answer = serde_json::json!({ "error": error });
            let _ = stream.write_all(format!("{answer}\n").as_bytes());
        }
    }
}

fn serve(
    mut stream: &UnixStream,
    invoker: Uid,
    sender: &Sender<Request>,
    wake: &dyn Fn(),
) -> Result<(), String> {
    let peer = getsockopt(&stream, PeerCredentials).map_err(|error| error.to_string())?;
    let peer = Uid::from_raw(peer.uid());
    if !peer.is_root() && peer != invoker {
        return Err("this run belongs to another user".to_owned());
    }
    let line = read_line(stream).map_err(|error| error.to_string())?;
    let command = Command::parse(&line)?;
    let (answer, answered) = sync_channel(1);
    let gone = || "the run has ended".to_owned();
    sender
        .send(Request { command, answer })
        .map_err(|_| gone())?;
    wake();
    let at = answered.recv_timeout(PATIENCE).map_err(|_| gone())??;
    let answer = serde_json::json!({ "ok": true, "at_s": at });
    let _ = stream.write_all(format!("{answer}\n").as_bytes());
    Ok(())
}

/// Reads up to the end of a line, within [`PATIENCE`] in all.
fn read_line(mut stream: &UnixStream) -> io::Result<Vec<u8>> {
    let deadline = Instant::now() + PATIENCE;
    let mut line = Vec::new();
    while !line.ends_with(b"\n") && line.len() < LONGEST_COMMAND {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let waited = format!("no complete line arrived within {} s", PATIENCE.as_secs());
            return Err(io::Error::new(io::ErrorKind::TimedOut, waited));
        }
        stream.set_read_timeout(Some(left))?;
        let mut more = [0; 512];
        match stream.read(&mut more) {
            Ok(0) => break,
            Ok(count) => line.extend_from_slice(&more[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::unistd::getuid;
    use std::io::{BufRead, BufReader};

    fn say(name: &str, line: &str) -> String {
        let address = SocketAddr::from_abstract_name(format!("baton/{name}")).unwrap();
        let mut stream = UnixStream::connect_addr(&address).unwrap();
        stream.write_all(line.as_bytes()).unwrap();
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).unwrap();
        answer
    }

    #[test]
    fn commands_are_parsed_answered_and_refused() {
        let name = format!("test-{}", std::process::id());
        let (woken, wakes) = channel();
        let control = Control::open(&name, getuid(), move || woken.send(()).unwrap()).unwrap();
        let second = Control::open(&name, getuid(), || ()).unwrap();
        assert_eq!(second.name, format!("{name}-2"));

        let asked = control.name.clone();
        let caller = thread::spawn(move || {
            say(
                &asked,
                "{\"handover\":\"wifi\",\"kind\":\"hard\",\"outage_s\":2}\n",
            )
        });
        wakes.recv().unwrap();
        let request = control.poll().unwrap();
        let Command::Handover(command) = &request.command else {
            panic!("a handover was asked for")
        };
        assert_eq!((command.link.as_str(), command.outage_s), ("wifi", 2.0));
        assert_eq!(command.kind, HandoverKind::Hard);
        request.answer(Ok(1.5));
        let answer: serde_json::Value = serde_json::from_str(&caller.join().unwrap()).unwrap();
        assert_eq!(answer, serde_json::json!({ "ok": true, "at_s": 1.5 }));

        for wrong in [
            "fly\n",
            "{\"handover\":\"wifi\",\"outage_s\":-1}\n",
            "{\"handover\":\"wifi\",\"how\":1}\n",
            "{\"set\":\"links.wifi.rate=fast\"}\n",
            "{\"set\":\"links.wifi.rate=1 Mbit/s\",\"how\":1}\n",
        ] {
            assert!(say(&name, wrong).contains("error"), "{wrong}");
        }
    }

    #[test]
    fn a_caller_that_dawdles_holds_up_nobody_and_is_sent_away() {
        let name = format!("test-dawdling-{}", std::process::id());
        let control = Control::open(&name, getuid(), || ()).unwrap();
        let address = SocketAddr::from_abstract_name(format!("baton/{name}")).unwrap();
        let mut slow = UnixStream::connect_addr(&address).unwrap();
        let dawdling = thread::spawn(move || {
            let mut heard = String::new();
            // A byte each half second: never a whole line, and never two seconds without a byte.
            while slow.write_all(b" ").is_ok() && heard.is_empty() {
                slow.set_read_timeout(Some(PATIENCE / 4)).unwrap();
                let _ = BufReader::new(&slow).read_line(&mut heard);
            }
            heard
        });
        let caller = thread::spawn(move || say(&name, "{\"handover\":\"wifi\"}\n"));
        let request = control.requests.recv().unwrap();
        assert!(!dawdling.is_finished());
        request.answer(Ok(1.0));
        assert!(caller.join().unwrap().contains("\"ok\":true"));
        assert!(
            dawdling
                .join()
                .unwrap()
                .contains("no complete line arrived")
        );
    }
}
