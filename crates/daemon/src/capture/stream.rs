//! The stream of a capture to its client.

use super::tap::{Content, Record, Source};
use baton_linux::readiness::wait_readable;
use baton_pcapng::{Capture, Frame, Interface};
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

/// A wait that has no end of its own.
const LONG: Duration = Duration::from_secs(3600);
/// The description of the file.
const ABOUT: &str = "a capture by batond: packets inside the tunnel, datagrams outside with headers written anew, and events";
/// The interface of events.
const EVENTS: &str = "events";

/// Streams a capture as pcapng until the client shuts its side of the stream, or the daemon ends.
///
/// # Errors
/// The client is gone.
pub fn send(caller: &UnixStream, source: &Source) -> io::Result<()> {
    let mut file = File::begin(BufWriter::new(caller))?;
    while let Some(records) = source.take() {
        file.write(records)?;
        let ready = wait_readable(&[source.as_fd(), caller.as_fd()], LONG)?;
        if ready[1] && (&mut &*caller).read(&mut [0; 64])? == 0 {
            source.stop();
        }
    }
    let counts = source.counts();
    file.end(source.now(), &counts.packets, counts.words)
}

/// The file that is being streamed.
struct File<W: Write> {
    capture: Capture<W>,
    events: Interface,
    /// Interfaces by their names.
    interfaces: BTreeMap<Arc<str>, Interface>,
}

impl<W: Write> File<W> {
    fn begin(out: W) -> io::Result<File<W>> {
        let mut capture = Capture::new(out, ABOUT)?;
        let events = capture.add_journal(EVENTS)?;
        capture.flush()?;
        Ok(File {
            capture,
            events,
            interfaces: BTreeMap::new(),
        })
    }

    fn interface(&mut self, name: &Arc<str>) -> io::Result<Interface> {
        if let Some(known) = self.interfaces.get(name) {
            return Ok(*known);
        }
        let added = self.capture.add_interface(name, None)?;
        self.interfaces.insert(name.clone(), added);
        Ok(added)
    }

    fn write(&mut self, records: Vec<Record>) -> io::Result<()> {
        for Record { at, content } in records {
            match content {
                Content::Words(words) => self.capture.write_words(self.events, at, &words)?,
                Content::Packet(name, direction, bytes) => {
                    let interface = self.interface(&name)?;
                    let frame = Frame {
                        at,
                        direction,
                        length: bytes.len(),
                        bytes: &bytes,
                    };
                    self.capture.write(interface, frame)?;
                }
            }
        }
        self.capture.flush()
    }

    /// Writes what has come of each interface, and what was left out.
    fn end(
        mut self,
        at: Duration,
        packets: &BTreeMap<Arc<str>, [u64; 2]>,
        [words, left_out]: [u64; 2],
    ) -> io::Result<()> {
        for (name, [received, dropped]) in packets {
            let interface = self.interface(name)?;
            let numbers = (*received, *dropped);
            self.capture.write_statistics(interface, at, numbers)?;
        }
        let events = self.events;
        self.capture
            .write_statistics(events, at, (words, left_out))?;
        self.capture.finish().map(|_| ())
    }
}
