//! A capture of every interface of a world.

use crate::link::End;
use crate::pcap::{Capture, Direction};
use crate::record::RecordError;
use crate::scenario::model::Scenario;
use baton_proto::packet::Packet;
use baton_proto::time::Instant;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// Captures of both ends of every link.
pub struct Captures {
    links: Vec<[Interface; 2]>,
    failure: Option<RecordError>,
}

struct Interface {
    file: PathBuf,
    capture: Capture<BufWriter<File>>,
}

impl Captures {
    /// Begins a file `capture-<node>-<link>.pcapng` in `folder` for each interface.
    ///
    /// # Errors
    /// If one cannot be created.
    pub fn create(folder: &Path, scenario: &Scenario) -> Result<Captures, RecordError> {
        let mut links = Vec::with_capacity(scenario.links.len());
        for spec in &scenario.links {
            let interface = |end: End| {
                let node = &scenario.nodes[spec.ends[end.index()].0];
                let name = format!("{node}-{}", spec.config.name);
                let file = folder.join(format!("capture-{name}.pcapng"));
                let comment = format!("scenario {}, seed {}", scenario.name, scenario.seed);
                let opened = File::create(&file)
                    .and_then(|out| Capture::new(BufWriter::new(out), &name, &comment));
                match opened {
                    Ok(capture) => Ok(Interface { file, capture }),
                    Err(error) => Err(RecordError::write(&file, &error)),
                }
            };
            links.push([interface(End::A)?, interface(End::B)?]);
        }
        Ok(Captures {
            links,
            failure: None,
        })
    }

    /// Names of the files.
    pub fn files(&self) -> Vec<String> {
        let name = |interface: &Interface| {
            interface
                .file
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
        };
        self.links.iter().flatten().filter_map(name).collect()
    }

    /// A packet left the node at `end` of a link.
    pub fn sent(&mut self, at: Instant, link: usize, end: End, packet: &Packet) {
        self.write(at, link, end, Direction::Outbound, packet);
    }

    /// A packet that was offered at `from` has come out at the other end.
    pub fn received(&mut self, at: Instant, link: usize, from: End, packet: &Packet) {
        let end = match from {
            End::A => End::B,
            End::B => End::A,
        };
        self.write(at, link, end, Direction::Inbound, packet);
    }

    fn write(&mut self, at: Instant, link: usize, end: End, direction: Direction, packet: &Packet) {
        let interface = &mut self.links[link][end.index()];
        if self.failure.is_none()
            && let Err(error) = interface.capture.write(at, direction, packet)
        {
            self.failure = Some(RecordError::write(&interface.file, &error));
        }
    }

    /// Fails once a file could not be written.
    ///
    /// # Errors
    /// The first failure.
    pub fn check(&self) -> Result<(), RecordError> {
        self.failure.clone().map_or(Ok(()), Err)
    }

    /// Ends all files.
    ///
    /// # Errors
    /// If one cannot be written to its end.
    pub fn finish(self) -> Result<(), RecordError> {
        self.check()?;
        for interface in self.links.into_iter().flatten() {
            let done: io::Result<_> = interface.capture.finish();
            done.map_err(|error| RecordError::write(&interface.file, &error))?;
        }
        Ok(())
    }
}
