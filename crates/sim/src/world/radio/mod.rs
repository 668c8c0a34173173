//! Running radio networks: their packets and their events.
//!
//! A network is one medium. A base station has an interface to its cell, an aircraft one to the network; the medium finds the
//! aircraft that a packet on a cell's interface is for (`neighbors`). Results report the link between an aircraft and a cell like
//! other access links.

mod events;
mod load;
mod neighbors;
mod summary;

pub(crate) use neighbors::BehindCell;
pub(super) use neighbors::is_for_all;

pub use summary::RadioSummary;

use super::agents::Directory;
use super::wires::{self, AircraftPlace, RadioPlace};
use super::{Event, Net, World};
use crate::kernel::Timer;
use crate::link::cells::{
    self, CellId, Direction, Network, Offered, Output, SIGNALLING_PRIORITY, StationId, Way,
};
use crate::link::{End, Fate, Outcome};
use crate::packets::PacketId;
use crate::record::{Quantity, Subject};
use crate::rng::Seed;
use crate::scenario::model::{LinkIndex, RadioService, Scenario};
use baton_proto::time::{Duration, Instant};
use neighbors::Neighbors;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A running radio network.
#[derive(Debug)]
pub(super) struct RadioRun {
    timer: Timer,
    touched: bool,
    network: Network,
    aircraft: Vec<AircraftRun>,
    shown: summary::Shown,
    neighbors: Neighbors,
    loads: load::Loads,
    /// Packets offered at each cell's base station, and to it.
    offered: Vec<[u64; 2]>,
    /// Aircraft whose queues are to be recorded.
    to_record: BTreeSet<StationId>,
    /// Names, in series, of the links of those queues.
    subjects: BTreeMap<usize, [Subject; 2]>,
}

impl RadioRun {
    /// Returns the packets offered at each cell's base station, and to it.
    pub fn offered(&self) -> &[[u64; 2]] {
        &self.offered
    }

    /// Notes an aircraft's registration in a cell, or the end of it.
    fn note_cell(&mut self, now: Instant, station: StationId, cell: Option<CellId>) {
        let aircraft = &mut self.aircraft[station.0 as usize];
        if let Some(last) = aircraft.cell {
            self.loads.add_stay(last, aircraft.since, now);
        }
        (aircraft.cell, aircraft.since) = (cell, now);
        self.shown.note(now, station, cell);
    }

    /// Frees the capacity reserved for growth.
    pub fn shrink(&mut self) {
        self.network.shrink();
    }
}

/// An aircraft in a running network.
#[derive(Debug)]
struct AircraftRun {
    /// The mobile, by its place in the scenario.
    mobile: u32,
    /// The cell in which it has reported its registration, until it leaves.
    cell: Option<CellId>,
    /// Time since which it has been in that cell, or in none.
    since: Instant,
    /// The cell of the network's last event to it.
    spoken_of: CellId,
    /// True from HO_COM to the next registration.
    hands_over: bool,
}

impl World {
    /// Makes the networks; aircraft that are in a cell's radius are registered there from the start.
    pub(super) fn add_radios(&mut self) {
        let seed = Seed(self.scenario.seed);
        for number in 0..self.scenario.radios.len() {
            let run = run(&self.scenario, (number, &self.net.directory), seed);
            for (station, aircraft) in run.aircraft.iter().enumerate() {
                if let Some(cell) = aircraft.cell {
                    self.net.wires.move_to(RadioPlace {
                        radio: number as u32,
                        station: StationId(station as u32),
                        cell,
                    });
                }
            }
            self.net.radios.push(run);
            self.net.touch_radio(number);
            self.arm_radio(number);
        }
    }

    /// Sets the names of a link's directions in series; for a radio network they are created when needed.
    pub(super) fn subjects(&mut self, link: usize) -> [Subject; 2] {
        let Some(place) = self.net.wires.place(link) else {
            return self.net.wires.plain(link).subjects;
        };
        let known = &mut self.net.radios[place.radio as usize].subjects;
        *known.entry(link).or_insert_with(|| {
            let name = self.scenario.link_name(LinkIndex(link));
            wires::subjects(&mut self.probes.recorder, &name)
        })
    }

    fn arm_radio(&mut self, radio: usize) {
        let run = &mut self.net.radios[radio];
        let deadline = run.network.next_deadline();
        run.timer
            .arm(&mut self.queue, deadline, Event::Radio(radio as u32));
    }

    /// Runs a network at its deadline.
    pub(super) fn run_radio(&mut self, radio: usize) {
        if self.net.radios[radio].timer.fired(self.now) {
            self.net.touch_radio(radio);
        }
    }

    /// Hands a packet to the network behind an access link.
    #[inline(never)]
    pub(super) fn offer_to_radio(
        &mut self,
        (link, place): (usize, RadioPlace),
        end: End,
        id: PacketId,
    ) {
        let radio = place.radio as usize;
        self.net.radios[radio].offered[usize::from(place.cell.0)][end.index()] += 1;
        self.leave(link, end, id);
        let travelling = &self.net.packets[id];
        let is_signalling = travelling.packet.is_signalling();
        let flow = travelling.packet.flow;
        let flow = flow.and_then(|flow| self.load.flows.get(flow.0 as usize));
        let service = flow.map_or(RadioService::DEFAULT, |flow| flow.spec.radio_service);
        let offered = Offered {
            station: place.station,
            way: match end {
                End::A => Way::Forward(place.cell),
                End::B => Way::Return,
            },
            packet: id,
            length: travelling.length,
            // Mobility signalling must not be overtaken by the packets that depend on it.
            priority: if is_signalling {
                SIGNALLING_PRIORITY
            } else {
                service.priority
            },
            acknowledged: service.acknowledged,
        };
        let run = &mut self.net.radios[radio];
        run.network.offer(self.now, offered);
        if self.probes.recorder.records_queues() {
            run.to_record.insert(place.station);
        }
        self.net.touch_radio(radio);
    }

    /// Takes in all events of a network at this moment.
    pub(super) fn poll_radio(&mut self, radio: usize) {
        self.net.radios[radio].touched = false;
        while let Some(output) = self.net.radios[radio].network.poll(self.now) {
            match output {
                Output::Fate(fate) => self.end_on_radio(radio, fate),
                Output::Event(event) => self.handle_radio_event(radio, &event),
                Output::Message(message) => self.record_radio_message(radio, &message),
            }
        }
        while let Some(station) = self.net.radios[radio].to_record.pop_first() {
            self.record_radio_queues(radio, station);
        }
        self.arm_radio(radio);
    }

    /// Ends a packet's way by its fate on the link of the cell that carried it.
    fn end_on_radio(&mut self, radio: usize, fate: cells::Fate) {
        let link = match fate.cell {
            Some(cell) => self.net.radio_link(radio, fate.station, cell),
            None => self.net.packets[fate.packet].link.get(),
        };
        if let (Some(cell), Outcome::Delivered { .. }) = (fate.cell, &fate.outcome) {
            let bytes = self.net.packets[fate.packet].length;
            let loads = &mut self.net.radios[radio].loads;
            loads.add_packet(cell, fate.direction, fate.at, bytes);
        }
        if self.probes.recorder.records_queues() {
            self.net.radios[radio].to_record.insert(fate.station);
        }
        let from = match fate.direction {
            Direction::Forward => End::A,
            Direction::Return => End::B,
        };
        let fate = Fate {
            packet: fate.packet,
            from,
            at: fate.at,
            outcome: fate.outcome,
        };
        self.handle_fate(link, fate);
    }

    /// Records the packets waiting for an aircraft and in it, as the queues of its link to its present cell.
    fn record_radio_queues(&mut self, radio: usize, station: StationId) {
        let run = &self.net.radios[radio];
        let Some(cell) = run.aircraft[station.0 as usize].cell else {
            return;
        };
        let queues =
            [Direction::Forward, Direction::Return].map(|way| run.network.queue(station, way));
        let link = self.net.radio_link(radio, station, cell);
        self.record_radio_link(link, queues);
    }

    fn record_radio_link(&mut self, link: usize, queues: [(u32, u32); 2]) {
        if !self.probes.recorder.records_queues() {
            return;
        }
        for (subject, (packets, bytes)) in self.subjects(link).into_iter().zip(queues) {
            let mut put = |quantity, value| {
                self.probes
                    .recorder
                    .series(self.now, subject, quantity, value)
            };
            put(Quantity::QueuePackets, f64::from(packets));
            put(Quantity::QueueBytes, f64::from(bytes));
        }
    }
}

/// Creates a network of the scenario at time zero.
fn run(scenario: &Scenario, (number, directory): (usize, &Directory), seed: Seed) -> RadioRun {
    let radio = &scenario.radios[number];
    let mut network = Network::new(radio.config.clone(), seed);
    let mut aircraft = Vec::with_capacity(radio.aircraft.len());
    for flier in &radio.aircraft {
        let name = &scenario.nodes[flier.node.0];
        let mut track = flier.track.clone();
        if !flier.jitter.is_zero() {
            let mut draws = seed.stream(&format!("mobile {name} track"));
            let later = Duration::from_nanos(draws.below(flier.jitter.as_nanos()));
            track = Arc::new(track.delayed(later));
        }
        let is_present = track.is_present(Instant::ZERO);
        let here = || radio.config.cells.strongest(&track.position(Instant::ZERO));
        let cell = is_present.then(here).flatten();
        network.add_station(Instant::ZERO, track, cell);
        let mobile = directory.mobile_at(flier.node.0);
        aircraft.push(AircraftRun {
            mobile: mobile.map_or(u32::MAX, |mobile| mobile as u32),
            cell,
            since: Instant::ZERO,
            spoken_of: cell.unwrap_or(CellId(0)),
            hands_over: false,
        });
    }
    RadioRun {
        timer: Timer::default(),
        touched: false,
        network,
        shown: summary::Shown::new(&aircraft),
        aircraft,
        neighbors: Neighbors::new(radio),
        loads: load::Loads::new(radio.stations.len(), scenario.duration),
        offered: vec![[0; 2]; radio.stations.len()],
        to_record: BTreeSet::new(),
        subjects: BTreeMap::new(),
    }
}

impl Net {
    /// Returns true if a mobile is in a cell of the network that a link belongs to.
    pub(super) fn is_in_network(&self, link: usize) -> bool {
        self.wires.place(link).is_some_and(|place| {
            let network = &self.radios[place.radio as usize].network;
            network.serving_cell(place.station).is_some()
        })
    }

    /// Returns the link to the cell of a network's last event to an aircraft.
    pub(super) fn spoken_of(&self, AircraftPlace { radio, station }: AircraftPlace) -> usize {
        let run = &self.radios[radio as usize].aircraft[station.0 as usize];
        self.radio_link(radio as usize, station, run.spoken_of)
    }

    /// Returns the access link between an aircraft and a cell.
    fn radio_link(&self, radio: usize, station: StationId, cell: CellId) -> usize {
        self.wires.number(RadioPlace {
            radio: radio as u32,
            station,
            cell,
        })
    }

    fn touch_radio(&mut self, radio: usize) {
        let run = &mut self.radios[radio];
        if !run.touched {
            run.touched = true;
            self.touched_radios.push(radio);
        }
    }
}
