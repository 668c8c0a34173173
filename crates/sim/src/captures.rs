//! Captures of the interfaces of a world.

use crate::link::End;
use crate::pcap::{Capture, Direction};
use crate::record::relay::{Load, Relay, WhenBehind, Writer};
use crate::record::{LostRows, RecordError};
use crate::scenario::error::unknown;
use crate::scenario::model::{LinkIndex, Scenario};
use baton_proto::packet::Packet;
use baton_proto::time::Instant;
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufWriter};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

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
    /// Captured ends of each link.
    chosen: Vec<[bool; 2]>,
    way: Way,
}

/// Path of packets into their files.
enum Way {
    /// Direct; the caller waits while the disk is slower than the run.
    Direct(Files),
    /// Through a thread; the caller never waits.
    Relayed(Relay<Files>),
}

/// The files of the captured ends of each link.
struct Files {
    links: Vec<[Option<Interface>; 2]>,
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
        if !self.chosen[link][end.index()] {
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
        let names = interface_names(scenario);
        refuse_unknown(&settings.interfaces, &names)?;
        let comment = format!("scenario {}, seed {}", scenario.name, scenario.seed);
        let begin = |name: &String| {
            if !settings.interfaces.is_empty() && !settings.interfaces.contains(name) {
                return Ok(None);
            }
            let file = folder.join(format!("capture-{name}.pcapng"));
            let opened = File::create(&file).and_then(|out| {
                Capture::new(BufWriter::new(out), name, &comment, settings.snap_length)
            });
            match opened {
                Ok(capture) => Ok(Some(Interface { file, capture })),
                Err(error) => Err(RecordError::write(&file, &error)),
            }
        };
        let mut links = Vec::with_capacity(names.len());
        for [a, b] in &names {
            links.push([begin(a)?, begin(b)?]);
        }
        Ok(Files {
            links,
            failure: None,
        })
    }

    fn names(&self) -> Vec<String> {
        let name = |interface: &Interface| {
            interface
                .file
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
        };
        let interfaces = self.links.iter().flatten().flatten();
        interfaces.filter_map(name).collect()
    }

    fn chosen(&self) -> Vec<[bool; 2]> {
        let links = self.links.iter();
        links
            .map(|ends| ends.each_ref().map(Option::is_some))
            .collect()
    }

    fn write(&mut self, at: Instant, link: usize, end: End, direction: Direction, packet: &Packet) {
        if self.failure.is_none()
            && let Some(interface) = &mut self.links[link][end.index()]
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
        for interface in self.links.into_iter().flatten().flatten() {
            let done: io::Result<_> = interface.capture.finish();
            done.map_err(|error| RecordError::write(&interface.file, &error))?;
        }
        Ok(())
    }
}

/// Returns the names of the interfaces at both ends of each link.
fn interface_names(scenario: &Scenario) -> Vec<[String; 2]> {
    let links = scenario.link_names().enumerate();
    links
        .map(|(number, name)| {
            let ends = scenario.link_ends(LinkIndex(number));
            ends.map(|end| format!("{}-{name}", scenario.nodes[end.0]))
        })
        .collect()
}

fn refuse_unknown(wanted: &[String], names: &[[String; 2]]) -> Result<(), RecordError> {
    let valid: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
    let strange = wanted.iter().find(|name| !valid.contains(&name.as_str()));
    strange.map_or(Ok(()), |name| {
        Err(RecordError::NoInterface(unknown("interface", name, &valid)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;
    use baton_proto::packet::{BitErrors, Body, Identity, IpHeader};

    /// Returns one link between two nodes.
    fn line() -> Scenario {
        let text = r#"
            name = "line"
            duration = "1 s"
            links.one = { between = ["a", "b"], kind = "wired", rate = "1 Mbit/s", delay = "1 ms" }
        "#;
        let loaded = scenario::parse(text, "test.toml", Path::new(""), &[]);
        loaded.unwrap().scenario
    }

    #[test]
    fn relayed_captures_have_the_bytes_of_direct_ones() {
        let scenario = line();
        let (lost, all) = (LostRows::default(), CaptureSettings::default());
        let written = ["direct", "relayed"].map(|way| {
            let name = format!("baton-captures-{way}-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&folder).unwrap();
            let mut captures = match way {
                "direct" => Captures::create(&folder, &scenario, &all).unwrap(),
                _ => Captures::relayed(&folder, &scenario, &all, lost.clone()).unwrap(),
            };
            for number in 0..1_000 {
                let packet = packet(number);
                let at = Instant::from_millis(u64::from(number));
                captures.sent(at, 0, End::A, &packet);
                captures.received(at, 0, End::A, &packet);
            }
            let files = captures.files();
            captures.finish().unwrap();
            let bytes: Vec<Vec<u8>> = files
                .iter()
                .map(|file| std::fs::read(folder.join(file)).unwrap())
                .collect();
            std::fs::remove_dir_all(&folder).unwrap();
            (files, bytes)
        });
        assert_eq!(
            written[0].0,
            ["capture-a-one.pcapng", "capture-b-one.pcapng"]
        );
        assert!(written[0] == written[1]);
        assert!(written[0].1.iter().all(|bytes| bytes.len() > 1_000 * 20));
        assert_eq!(lost.count(), 0);
    }

    #[test]
    fn only_the_interfaces_that_are_named_are_captured() {
        let scenario = line();
        let name = format!("baton-captures-chosen-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let of = |interface: &str| CaptureSettings {
            interfaces: vec![interface.to_owned()],
            snap_length: None,
        };
        let mut captures = Captures::create(&folder, &scenario, &of("b-one")).unwrap();
        captures.sent(Instant::ZERO, 0, End::A, &packet(1));
        captures.received(Instant::ZERO, 0, End::A, &packet(1));
        captures.finish().unwrap();
        let refused = Captures::create(&folder, &scenario, &of("b-on"))
            .err()
            .unwrap();
        let there: Vec<_> = std::fs::read_dir(&folder).unwrap().collect();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(there.len(), 1);
        assert_eq!(
            there[0].as_ref().unwrap().file_name(),
            "capture-b-one.pcapng"
        );
        assert_eq!(
            refused.to_string(),
            "captures: unknown interface \"b-on\"; did you mean \"b-one\"? (valid: a-one, b-one)"
        );
    }

    fn packet(identification: u16) -> Packet {
        Packet {
            ip: IpHeader {
                source: [10, 0, 0, 1].into(),
                destination: [10, 0, 0, 2].into(),
                hop_limit: 64,
                traffic_class: 0,
                identification,
                dont_fragment: true,
            },
            body: Body::Opaque {
                protocol: 50,
                fragment: 0,
                bytes: Box::new([7; 20]),
            },
            flow: None,
            retransmission: false,
            bit_errors: BitErrors::NONE,
            identity: Identity::NONE,
        }
    }
}
