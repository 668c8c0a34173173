//! Timelines and statistics of whole networks. Oracles: study D, the published latencies of L-DACS1, closed forms.

mod coverage;
mod handover;
mod latency;
mod sharing;

use super::error_rate::ErrorRates;
use super::*;
use crate::link::Outcome;
use crate::link::cells::*;
use crate::packets::PacketId;
use crate::position::{Position, Track};
use crate::rng::Seed;
use baton_proto::interface::LinkEvent;
use baton_proto::time::Instant;
use std::sync::Arc;

/// A network and its outputs so far.
struct Lab {
    network: Network,
    outputs: Vec<Output>,
    offered: u32,
}

impl Lab {
    fn new(config: NetworkConfig, seed: u64) -> Lab {
        Lab {
            network: Network::new(config, Seed(seed)),
            outputs: Vec::new(),
            offered: 0,
        }
    }

    /// Returns one perfect cell with so many aircraft, 100 km away.
    fn one_cell(aircraft: u32, change: impl FnOnce(&mut NetworkConfig)) -> Lab {
        let cell = CellConfig::new("cell", Position::new(0.0, 0.0, 0.0), 225e3);
        let mut config = NetworkConfig::new("radio", vec![cell]);
        config.errors = ErrorRates::Perfect;
        // Each frame's and tile's own time can be seen.
        config.slot_delivery = false;
        change(&mut config);
        let mut lab = Lab::new(config, 1);
        let track = Arc::new(Track::fixed(Position::new(0.9, 0.0, 0.0)));
        for _ in 0..aircraft {
            lab.network
                .add_station(Instant::ZERO, track.clone(), Some(CellId(0)));
        }
        lab
    }

    /// Returns two cells 350 km apart on the equator and an aircraft at 800 km/h that is midway after `midway_s`.
    fn two_cells(midway_s: f64, change: impl FnOnce(&mut NetworkConfig)) -> Lab {
        let at = |kilometres: f64| Position::new(0.0, kilometres / 111.19508, 0.0);
        let cell = |name, kilometres| CellConfig::new(name, at(kilometres), 225e3);
        let mut config =
            NetworkConfig::new("radio", vec![cell("home", 0.0), cell("foreign", 350.0)]);
        config.errors = ErrorRates::Perfect;
        // Each frame's and tile's own time can be seen.
        config.slot_delivery = false;
        change(&mut config);
        let mut lab = Lab::new(config, 1);
        let begin = 175.0 - midway_s * 800.0 / 3600.0;
        let track = Track::legs(Instant::ZERO, &[at(begin), at(360.0)], 800.0 / 3.6).unwrap();
        lab.network
            .add_station(Instant::ZERO, Arc::new(track), Some(CellId(0)));
        lab
    }

    fn offer(&mut self, now: Instant, station: u32, way: Way, length: u32) -> PacketId {
        self.offer_with(now, station, way, length, (0, true))
    }

    fn offer_with(
        &mut self,
        now: Instant,
        station: u32,
        way: Way,
        length: u32,
        (priority, acknowledged): (u8, bool),
    ) -> PacketId {
        self.run_until(now);
        let packet = PacketId(self.offered);
        self.offered += 1;
        let station = StationId(station);
        let offered = Offered {
            station,
            way,
            packet,
            length,
            priority,
            acknowledged,
        };
        self.network.offer(now, offered);
        packet
    }

    /// Polls at every deadline up to `end`.
    fn run_until(&mut self, end: Instant) {
        while let Some(deadline) = self.network.next_deadline().filter(|&at| at <= end) {
            while let Some(output) = self.network.poll(deadline) {
                self.outputs.push(output);
            }
        }
    }

    fn fates(&self) -> impl Iterator<Item = &Fate> {
        self.outputs.iter().filter_map(|output| match output {
            Output::Fate(fate) => Some(fate),
            _ => None,
        })
    }

    fn fate(&self, packet: PacketId) -> &Fate {
        self.fates()
            .find(|fate| fate.packet == packet)
            .expect("it has ended")
    }

    fn events(&self) -> Vec<(Instant, CellId, LinkEvent)> {
        let events = self.outputs.iter().filter_map(|output| match output {
            Output::Event(event) => Some((event.at, event.cell, event.event)),
            _ => None,
        });
        events.collect()
    }

    /// Returns the names and times in milliseconds of events and handover messages, measurements left out.
    fn ladder(&self) -> Vec<(&'static str, f64)> {
        let lines = self.outputs.iter().filter_map(|output| {
            let (name, at) = match output {
                Output::Fate(_) => return None,
                Output::Event(event) => (event.event.name(), event.at),
                Output::Message(message) => (message_name(message.kind)?, message.at),
            };
            Some((name, at.as_secs_f64() * 1e3))
        });
        lines.collect()
    }
}

fn message_name(kind: MessageKind) -> Option<&'static str> {
    match kind {
        MessageKind::ScanningTable => Some("STB"),
        MessageKind::SystemIdentification | MessageKind::PowerReport { .. } => None,
        MessageKind::HandoverCommand {
            packet_bit: true, ..
        } => Some("HO_COM P"),
        MessageKind::HandoverCommand { .. } => Some("HO_COM"),
        MessageKind::CellExit => Some("CELL_EXIT"),
        MessageKind::CellRequest => Some("CELL_RQST"),
        MessageKind::Collision => Some("collision"),
        MessageKind::CellResponse => Some("CELL_RESP"),
        MessageKind::SynchronisationPoll => Some("SYNC_POLL"),
    }
}

const HOME: Way = Way::Forward(CellId(0));

fn ms(milliseconds: f64) -> Instant {
    Instant::from_nanos((milliseconds * 1e6).round() as u64)
}

fn delivered(fate: &Fate) -> bool {
    fate.outcome == Outcome::UNDAMAGED
}
