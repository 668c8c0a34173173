//! Captures of the interfaces of a world.

use crate::link::End;
use crate::pcap::{Capture, Direction};
use crate::record::relay::{Load, Relay, WhenBehind, Writer};
use crate::record::{LostRows, RecordError};
use crate::scenario::error::unknown_among;
use crate::scenario::model::{LinkIndex, Scenario};
use baton_proto::packet::Packet;
use baton_proto::time::Instant;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

/// Interfaces among which a name close to an unknown one is looked for.
const MOST_COMPARED: usize = 10_000;

/// Captured interfaces, and the captured part of each packet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CaptureSettings {
    /// Interfaces, as `<node>-<link>`; empty for all.
    pub interfaces: Vec<String>,
    /// Captured bytes of each packet, IP header included; `None` for all.
    pub snap_length: Option<NonZeroU32>,
}

/// Captures of interfaces; a link has one at each end.
pub struct Captures {
    files: Vec<String>,
    /// Captured ends by their link.
    chosen: BTreeMap<usize, [bool; 2]>,
    way: Way,
}

/// Path of packets into their files.
enum Way {
    /// Direct; the caller waits while the disk is slower than the run.
    Direct(Files),
    /// Through a thread; the caller never waits.
    Relayed(Relay<Files>),
}

/// The files of the captured ends, by their link.
struct Files {
    links: BTreeMap<usize, [Option<Interface>; 2]>,
    failure: Option<RecordError>,
}

struct Interface {
    file: PathBuf,
    capture: Capture<BufWriter<File>>,
}

/// A packet at an interface.
struct Seen {
    at: Instant,
    link: usize,
    end: End,
    direction: Direction,
    packet: Packet,
}

impl Captures {
    /// Begins a file `capture-<node>-<link>.pcapng` in `folder` for each captured interface.
    ///
    /// # Errors
    /// Fails if one cannot be created, or no interface has a given name.
    pub fn create(
        folder: &Path,
        scenario: &Scenario,
        settings: &CaptureSettings,
    ) -> Result<Captures, RecordError> {
        let files = Files::create(folder, scenario, settings)?;
        Ok(Captures {
            files: files.names(),
            chosen: files.chosen(),
            way: Way::Direct(files),
        })
    }

    /// Begins the same files, but callers never wait: a thread writes, and packets that arrive faster than it can write
    /// and memory allows are lost and counted in `lost`.
    ///
    /// # Errors
    /// Fails if a file cannot be created, no interface has a given name, or the thread cannot be started.
    pub fn relayed(
        folder: &Path,
        scenario: &Scenario,
        settings: &CaptureSettings,
        lost: LostRows,
    ) -> Result<Captures, RecordError> {
        let files = Files::create(folder, scenario, settings)?;
        Ok(Captures {
            files: files.names(),
            chosen: files.chosen(),
            way: Way::Relayed(Relay::start(files, WhenBehind::Lose(lost))?),
        })
    }

    /// Returns the names of the files.
    pub fn files(&self) -> Vec<String> {
        self.files.clone()
    }

    /// Notes that a packet left the node at `end` of a link.
    pub fn sent(&mut self, at: Instant, link: usize, end: End, packet: &Packet) {
        self.see(at, link, end, Direction::Outbound, packet);
    }

    /// Notes that a packet offered at `from` has arrived at the other end.
    pub fn received(&mut self, at: Instant, link: usize, from: End, packet: &Packet) {
        self.see(at, link, from.other(), Direction::Inbound, packet);
    }

    fn see(&mut self, at: Instant, link: usize, end: End, direction: Direction, packet: &Packet) {
        let ends = self.chosen.get(&link);
        if !ends.is_some_and(|ends| ends[end.index()]) {
            return;
        }
        match &mut self.way {
            Way::Direct(files) => files.write(at, link, end, direction, packet),
            Way::Relayed(relay) => {
                relay.load().push(Seen {
                    at,
                    link,
                    end,
                    direction,
                    packet: packet.clone(),
                });
                // An upper bound: patterns and shared bytes take less.
                relay.added(size_of::<Seen>() + packet.wire_length() as usize);
            }
        }
    }

    /// Hands the gathered packets to the writing thread, if there is one.
    pub fn flush(&mut self) {
        if let Way::Relayed(relay) = &mut self.way {
            relay.flush();
        }
    }

    /// Fails once a file could not be written.
    ///
    /// # Errors
    /// The first failure.
    pub fn check(&self) -> Result<(), RecordError> {
        match &self.way {
            Way::Direct(files) => files.check(),
            Way::Relayed(relay) => relay.check(),
        }
    }

    /// Ends all files.
    ///
    /// # Errors
    /// Fails if one cannot be written to its end.
    pub fn finish(self) -> Result<(), RecordError> {
        match self.way {
            Way::Direct(files) => files.finish(),
            Way::Relayed(relay) => relay.finish()?.finish(),
        }
    }
}

impl Load for Vec<Seen> {
    fn drop_rows(&mut self) -> u64 {
        let packets = self.len() as u64;
        self.clear();
        packets
    }
}

impl Writer for Files {
    type Load = Vec<Seen>;

    fn write(&mut self, load: &mut Vec<Seen>) -> Result<(), RecordError> {
        for seen in load.drain(..) {
            Files::write(
                self,
                seen.at,
                seen.link,
                seen.end,
                seen.direction,
                &seen.packet,
            );
        }
        self.check()
    }
}

impl Files {
    fn create(
        folder: &Path,
        scenario: &Scenario,
        settings: &CaptureSettings,
    ) -> Result<Files, RecordError> {
        // All names first: a wrong one leaves no file behind.
        let named = settings.interfaces.iter().map(|name| {
            let found = interface_named(scenario, name);
            found
                .map(|(link, end)| (link, end, name))
                .ok_or_else(|| strange(scenario, name))
        });
        let named = named.collect::<Result<Vec<_>, _>>()?;
        let mut files = Files {
            links: BTreeMap::new(),
            failure: None,
        };
        let comment = format!("scenario {}, seed {}", scenario.name, scenario.seed);
        let begin = |name: &str| {
            let file = folder.join(format!("capture-{name}.pcapng"));
            let opened = File::create(&file).and_then(|out| {
                Capture::new(BufWriter::new(out), name, &comment, settings.snap_length)
            });
            match opened {
                Ok(capture) => Ok(Interface { file, capture }),
                Err(error) => Err(RecordError::write(&file, &error)),
            }
        };
        for (link, end, name) in named {
            let ends = files.links.entry(link).or_default();
            if ends[end.index()].is_none() {
                ends[end.index()] = Some(begin(name)?);
            }
        }
        if settings.interfaces.is_empty() {
            for (link, end, name) in interfaces(scenario) {
                let ends = files.links.entry(link).or_default();
                ends[end.index()] = Some(begin(&name)?);
            }
        }
        Ok(files)
    }

    fn names(&self) -> Vec<String> {
        let name = |interface: &Interface| {
            interface
                .file
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
        };
        let interfaces = self.links.values().flatten().flatten();
        interfaces.filter_map(name).collect()
    }

    fn chosen(&self) -> BTreeMap<usize, [bool; 2]> {
        let links = self.links.iter();
        links
            .map(|(&link, ends)| (link, ends.each_ref().map(Option::is_some)))
            .collect()
    }

    fn write(&mut self, at: Instant, link: usize, end: End, direction: Direction, packet: &Packet) {
        if self.failure.is_none()
            && let Some(ends) = self.links.get_mut(&link)
            && let Some(interface) = &mut ends[end.index()]
            && let Err(error) = interface.capture.write(at, direction, packet)
        {
            self.failure = Some(RecordError::write(&interface.file, &error));
        }
    }

    fn check(&self) -> Result<(), RecordError> {
        self.failure.clone().map_or(Ok(()), Err)
    }

    fn finish(self) -> Result<(), RecordError> {
        self.check()?;
        for interface in self.links.into_values().flatten().flatten() {
            let done: io::Result<_> = interface.capture.finish();
            done.map_err(|error| RecordError::write(&interface.file, &error))?;
        }
        Ok(())
    }
}

/// Iterates over all interfaces: link, end and name. An aircraft has a link to each cell, so there can be very many.
fn interfaces(scenario: &Scenario) -> impl Iterator<Item = (usize, End, String)> {
    (0..scenario.link_count()).flat_map(|number| {
        let link = LinkIndex(number);
        let (ends, name) = (scenario.link_ends(link), scenario.link_name(link));
        End::ALL.map(|end| {
            let node = &scenario.nodes[ends[end.index()].0];
            (number, end, format!("{node}-{name}"))
        })
    })
}

/// Returns the link and the end of an interface.
fn interface_named(scenario: &Scenario, name: &str) -> Option<(usize, End)> {
    name.match_indices('-').find_map(|(dash, _)| {
        let link = scenario.link_named(&name[dash + 1..])?;
        let ends = scenario.link_ends(link);
        let at_node = |end: &End| scenario.nodes[ends[end.index()].0] == name[..dash];
        Some((link.0, End::ALL.into_iter().find(at_node)?))
    })
}

/// Returns the error for an interface that is not there.
fn strange(scenario: &Scenario, name: &str) -> RecordError {
    let known: Vec<String> = interfaces(scenario)
        .take(MOST_COMPARED)
        .map(|(_, _, name)| name)
        .collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let count = 2 * scenario.link_count();
    RecordError::NoInterface(unknown_among("interface", name, &known, count))
}

#[cfg(test)]
mod tests;
