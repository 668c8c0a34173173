//! State shared by all cells and aircraft.

use super::allocation::Grant;
use super::config::NetworkConfig;
use super::frame::{Multiframe, access_opportunity, superframe_from, superframe_start};
use super::output::{Message, MessageKind};
use super::queue::Ended;
use super::random_access;
use super::station::{Attachment, Station};
use crate::link::agenda::Agenda;
use crate::link::cells::{CellId, Direction, Event, Fate, Output, StationId};
use crate::rng::{Keyed, Seed};
use baton_proto::time::Instant;
use std::ops::RangeInclusive;

/// A task, due at a moment.
#[derive(Clone, Copy, Debug)]
pub enum Task {
    /// Beginning of a cell's common control channel.
    CommonControl(CellId),
    /// Beginning of a multiframe in which aircraft with standing grants send to a cell.
    StandingGrants(CellId),
    /// Measurement by an aircraft.
    Measure(StationId),
    /// End of an aircraft's CELL_EXIT.
    Exit(StationId),
    /// Random access of an aircraft: CELL_RQST.
    Access(StationId),
}

/// State shared by all parts: parameters, draws, the agenda, and the outputs.
#[derive(Debug)]
pub struct Air {
    /// The network's parameters.
    pub config: NetworkConfig,
    /// Tasks that are due later.
    pub agenda: Agenda<Task>,
    /// Outputs not yet reported.
    pub outputs: Agenda<Output>,
    frame_draws: [Keyed; 2],
    access_draws: Keyed,
}

impl Air {
    /// Creates the state with an empty agenda.
    pub fn new(config: NetworkConfig, seed: Seed) -> Air {
        let draws = |what: &str| seed.keyed(&format!("link {} {what}", config.name));
        Air {
            frame_draws: [draws("forward frames"), draws("return frames")],
            access_draws: draws("random access"),
            agenda: Agenda::new(),
            outputs: Agenda::new(),
            config,
        }
    }

    /// Outputs an event.
    pub fn event(&mut self, event: Event) {
        self.outputs.push(event.at, Output::Event(event));
    }

    /// Outputs a control message.
    pub fn message(&mut self, at: Instant, station: StationId, cell: CellId, kind: MessageKind) {
        let message = Message {
            at,
            station,
            cell,
            kind,
        };
        self.outputs.push(at, Output::Message(message));
    }

    /// Outputs packets' fates.
    pub fn end(
        &mut self,
        station: StationId,
        direction: Direction,
        cell: Option<CellId>,
        ended: &mut Vec<Ended>,
    ) {
        for (packet, at, outcome) in ended.drain(..) {
            let fate = Fate {
                packet,
                at,
                station,
                direction,
                cell,
                outcome,
            };
            self.outputs.push(at, Output::Fate(fate));
        }
    }

    /// Lets an aircraft measure at the first superframe that begins at `from` or later.
    pub fn schedule_measurement(&mut self, stations: &mut [Station], id: StationId, from: Instant) {
        let at = superframe_start(superframe_from(from));
        stations[id.0 as usize].measures_at = at;
        self.agenda.push(at, Task::Measure(id));
    }

    /// Chooses a random-access opportunity, from a superframe on.
    pub fn schedule_access(&mut self, stations: &mut [Station], id: StationId, superframe: u64) {
        let station = &mut stations[id.0 as usize];
        let Attachment::Entering { attempt, .. } = station.attachment else {
            return;
        };
        let draw = (u64::from(id.0) << 32) | u64::from(station.accesses);
        station.accesses += 1;
        let number = random_access::opportunity(self.access_draws, draw, superframe, attempt);
        self.agenda
            .push(access_opportunity(number), Task::Access(id));
    }

    /// Returns the probability that a frame of this grant is lost.
    pub fn forward_loss(
        &self,
        stations: &[Station],
        grant: &Grant,
        cell: CellId,
        now: Instant,
    ) -> f64 {
        let cell = &self.config.cells[usize::from(cell.0)];
        let received = cell.received_dbm(&stations[grant.station.0 as usize].position(now));
        let snr_db = cell.forward.snr_db(received);
        self.config.errors.forward(grant.modulation, snr_db)
    }

    /// Returns the probability that a tile of this grant is lost, or with joint coding the burst.
    pub fn return_loss(
        &self,
        stations: &[Station],
        grant: &Grant,
        cell: CellId,
        now: Instant,
    ) -> f64 {
        let cell = &self.config.cells[usize::from(cell.0)];
        let position = stations[grant.station.0 as usize].position(now);
        let received = cell
            .back
            .received_dbm(cell.position.slant_distance_m(&position));
        let snr_db = cell.back.snr_db(received);
        if self.config.joint_coding {
            let tiles = grant.bytes.div_ceil(grant.modulation.return_bytes());
            self.config.errors.burst(grant.modulation, snr_db, tiles)
        } else {
            self.config.errors.tile(grant.modulation, snr_db)
        }
    }

    /// Draws whether any of these frames is lost. A frame's draw depends on the aircraft and on its place in time,
    /// counted from the beginning of a multiframe's common control channel (forward) or of its dedicated control
    /// channel (return).
    pub fn is_lost(
        &self,
        direction: Direction,
        station: StationId,
        multiframe: Multiframe,
        mut frames: RangeInclusive<u32>,
        loss: f64,
    ) -> bool {
        let key = (u64::from(station.0) << 40) | (multiframe.0 << 8);
        let draws = self.frame_draws[direction as usize];
        loss > 0.0 && frames.any(|frame| draws.uniform(key | u64::from(frame)) < loss)
    }
}
