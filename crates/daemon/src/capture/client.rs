//! The client of a capture: writes the daemon's stream to a file.

use crate::operation::control::{self, Answer, Command};
use baton_linux::readiness::{Signals, wait_readable};
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// A wait without a time limit.
const LONG: Duration = Duration::from_secs(3600);

/// Writes a capture to a file, or to standard output for "-", until SIGINT or SIGTERM, or for a time.
///
/// # Errors
/// The socket or the file, and advice.
pub fn save(socket: &Path, file: &Path, most: Option<Duration>) -> Result<(), String> {
    let is_output = file == Path::new("-");
    if is_output && io::stdout().is_terminal() {
        return Err(
            "a capture is binary, and not for a terminal; expected a file, or `-` with a pipe, such as into \
             `tshark -r -`"
                .to_owned(),
        );
    }
    let signals = Signals::take().map_err(|error| format!("signals: {error}"))?;
    let mut stream = control::connect(socket, &Command::Capture)?;
    match control::read_answer(socket, &mut stream)? {
        Answer::Done => {}
        Answer::Refused(message) => return Err(message),
        Answer::Status(_) => return Err(format!("{}: an unexpected answer", socket.display())),
    }
    let wrong = |error: io::Error| format!("{}: {error}", file.display());
    let mut out: Box<dyn Write> = match is_output {
        true => Box::new(io::stdout()),
        false => Box::new(create(file).map_err(wrong)?),
    };
    let until = most.and_then(|most| Instant::now().checked_add(most));
    // The beginning of the capture may have arrived with the answer.
    let begun = out.write_all(stream.buffer());
    let copied = begun.and_then(|()| copy(&mut stream.into_inner(), &mut out, (&signals, until)));
    match copied {
        // The reader of the pipe has closed it.
        Err(error) if is_output && error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        copied => copied.map_err(wrong),
    }
}

/// Creates the file, readable by its owner only: it contains the tunnel's packets in the clear.
fn create(file: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(file)
}

/// Copies the stream to its end, which it requests after a signal or at a time.
fn copy(
    stream: &mut UnixStream,
    out: &mut impl Write,
    (signals, mut until): (&Signals, Option<Instant>),
) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let left = until.map_or(LONG, |until| {
            until.saturating_duration_since(Instant::now())
        });
        let ready = wait_readable(&[stream.as_fd(), signals.as_fd()], left)?;
        if signals.poll() || until.is_some_and(|until| until <= Instant::now()) {
            until = None;
            // The daemon may already have closed it.
            let _ = stream.shutdown(Shutdown::Write);
        }
        if ready[0] {
            let length = stream.read(&mut buffer)?;
            if length == 0 {
                return out.flush();
            }
            out.write_all(&buffer[..length])?;
            out.flush()?;
        }
    }
}
