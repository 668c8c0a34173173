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

/// A wait without a time limit.
const LONG: Duration = Duration::from_secs(3600);
/// Description of the file.
const ABOUT: &str = "a capture by batond: packets inside the tunnel, datagrams outside with headers written anew, and events";
/// Name of the interface for events.
const EVENTS: &str = "events";

/// Streams a capture as pcapng until the client shuts down its side of the stream, or the daemon ends. Closes the tap
/// before the stream, so that a client that sees the end can start anew.
///
/// # Errors
/// The client is gone.
pub fn send(caller: &UnixStream, source: Source) -> io::Result<()> {
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

/// The file being streamed.
struct File<W: Write> {
    capture: Capture<W>,
    events: Interface,
    /// Interfaces by name.
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

    /// Writes each interface's statistics: all its packets, and those dropped.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::{Direction, Tap};
    use baton_linux::readiness::Waker;
    use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
    use pcap_file::pcapng::{Block, PcapNgReader};
    use std::net::Shutdown;

    /// Returns the interfaces' names, and for each frame its interface and its data or its comment.
    fn read(mut file: &[u8]) -> (Vec<String>, Vec<(u32, Vec<u8>)>) {
        let mut reader = PcapNgReader::new(&mut file).unwrap();
        let (mut names, mut frames) = (Vec::new(), Vec::new());
        while let Some(block) = reader.next_block() {
            match block.unwrap() {
                Block::InterfaceDescription(interface) => {
                    names.push(format!("{:?}", interface.options[0]));
                }
                Block::EnhancedPacket(frame) => frames.push(match &frame.options[0] {
                    EnhancedPacketOption::Comment(words) => {
                        (frame.interface_id, words.as_bytes().to_vec())
                    }
                    _ => (frame.interface_id, frame.data.to_vec()),
                }),
                _ => {}
            }
        }
        (names, frames)
    }

    #[test]
    fn what_came_before_the_client_had_enough_is_in_the_file_in_its_order() {
        let tap = Tap::default();
        let (mut client, caller) = UnixStream::pair().unwrap();
        let source = tap.open(Waker::new().unwrap()).unwrap();
        let streaming = std::thread::spawn(move || send(&caller, source));
        let names: [Arc<str>; 2] = ["wlan0", "baton0"].map(Arc::from);
        tap.packet(&names[0], Direction::Outbound, &[1]);
        tap.event("wlan0 is down");
        tap.packet(&names[1], Direction::Inbound, &[2; 2]);
        tap.packet(&names[0], Direction::Inbound, &[3; 3]);
        client.shutdown(Shutdown::Write).unwrap();
        let mut file = Vec::new();
        client.read_to_end(&mut file).unwrap();
        streaming.join().unwrap().unwrap();
        let (interfaces, frames) = read(&file);
        for (said, name) in interfaces.iter().zip(["events", "wlan0", "baton0"]) {
            assert!(said.contains(name), "{interfaces:?}");
        }
        let expected: [(u32, &[u8]); 4] =
            [(1, &[1]), (0, b"wlan0 is down"), (2, &[2; 2]), (1, &[3; 3])];
        let frames: Vec<(u32, &[u8])> = frames
            .iter()
            .map(|(interface, data)| (*interface, &data[..]))
            .collect();
        assert_eq!(frames, expected);
        assert!(!tap.is_open() && tap.status().is_none());
    }

    #[test]
    fn a_client_that_is_gone_closes_the_tap() {
        let tap = Tap::default();
        let (client, caller) = UnixStream::pair().unwrap();
        let source = tap.open(Waker::new().unwrap()).unwrap();
        drop(client);
        assert!(send(&caller, source).is_err());
        assert!(!tap.is_open() && tap.status().is_none());
    }
}
