//! From one cell to the next: what an aircraft measures, and when the base station decides (study D, sections 2.3
//! and 4).
//!
//! An aircraft measures at the beginning of a superframe, where SIB is sent, and reports in its next slot of the
//! dedicated control channel. Below Th1 it is told to scan (ACB and STB in the following broadcast channel); from the one
//! after that on it listens to one neighbour a superframe. When a neighbour is received better than the serving cell, the
//! base station sends HO_COM in the common control channel after the report. The aircraft confirms with CELL_EXIT in
//! its next slot, retunes, and registers in the new cell.
//!
//! Reports that cannot differ are left out: while the aircraft cannot have come to where Th1 is received, nothing is
//! measured. The moments of measuring stay the same, so what is decided is as if all had been sent.

use super::config::HandoverType;
use super::frame::{Multiframe, opportunity_at, superframe_from};
use super::network::Network;
use super::output::{MessageKind, Signal};
use super::station::{Attachment, CellId, Direction, Phase, StationId};
use baton_proto::time::{Duration, Instant};

impl Network {
    /// An aircraft measures, at the beginning of a superframe.
    pub(super) fn measure(&mut self, id: StationId, now: Instant) {
        let station = &mut self.stations[id.0 as usize];
        if station.measures_at != now {
            return;
        }
        station.measures_at = Instant::NEVER;
        match station.attachment {
            Attachment::Searching => self.search(id, now),
            Attachment::Entering { .. } => {}
            Attachment::Registered { cell, place, phase } => {
                self.report(id, cell, (place, phase), now)
            }
        }
    }

    fn received_dbm(&self, id: StationId, cell: CellId, now: Instant) -> f64 {
        let position = self.stations[id.0 as usize].position(now);
        self.air.config.cells[usize::from(cell.0)].received_dbm(&position)
    }

    /// The next superframe in which an aircraft can have moved by so much, at least one on.
    fn measure_after(&mut self, id: StationId, now: Instant, distance_m: f64) {
        let track = self.stations[id.0 as usize].track();
        let at = track.earliest_change(now, distance_m);
        if at != Instant::NEVER {
            let from = at.max(now + Duration::from_nanos(1));
            self.air.schedule_measurement(&mut self.stations, id, from);
        }
    }

    /// In the next superframe.
    fn measure_next(&mut self, id: StationId, now: Instant) {
        let from = now + Duration::from_nanos(1);
        self.air.schedule_measurement(&mut self.stations, id, from);
    }

    /// Looks for the strongest cell in whose radius it is.
    fn search(&mut self, id: StationId, now: Instant) {
        let position = self.stations[id.0 as usize].position(now);
        let mut nearest = f64::INFINITY;
        let mut best: Option<(f64, CellId)> = None;
        for (index, cell) in self.air.config.cells.iter().enumerate() {
            let beyond = cell.position.slant_distance_m(&position) - cell.radius_m;
            nearest = nearest.min(beyond);
            let received = cell.received_dbm(&position);
            if beyond <= 0.0 && best.is_none_or(|(most, _)| received > most) {
                best = Some((received, CellId(index as u16)));
            }
        }
        let Some((_, to)) = best else {
            return self.measure_after(id, now, nearest);
        };
        self.air
            .message(now, id, to, MessageKind::SystemIdentification);
        self.air.event(now, id, to, Signal::Detected);
        self.enter(id, to, None, now);
    }

    /// A registered aircraft measures its cell, and a neighbour if it is told to.
    fn report(&mut self, id: StationId, cell: CellId, (place, phase): (u32, Phase), now: Instant) {
        let received = self.received_dbm(id, cell, now);
        let config = &self.air.config.cells[usize::from(cell.0)];
        if received < config.sensitivity_dbm() {
            return self.lose(id, cell, place, now);
        }
        let (scan_below, force_below) = (config.scan_below_dbm, config.force_below_dbm);
        let next = match phase {
            Phase::Steady if received < scan_below => {
                self.report_parameters(id, cell, received, now);
                Phase::Reported
            }
            Phase::Steady => {
                let least = scan_below.max(config.sensitivity_dbm());
                let reach = config.forward.distance_m(least);
                let here = config.forward.distance_m(received);
                return self.measure_after(id, now, reach - here);
            }
            Phase::Reported | Phase::Scanning(_) if received >= scan_below => {
                self.report_parameters(id, cell, received, now);
                Phase::Steady
            }
            Phase::Reported => {
                self.air.message(now, id, cell, MessageKind::ScanningTable);
                Phase::Scanning(0)
            }
            Phase::Scanning(turn) => self.scan(id, cell, (place, turn), now),
            Phase::Draining { to, forced } => Phase::Draining {
                to,
                forced: forced || received < force_below,
            },
            Phase::Decided { .. } | Phase::Leaving { .. } => phase,
        };
        if matches!(phase, Phase::Scanning(_) | Phase::Draining { .. }) {
            self.report_power(id, (cell, place), (cell, received), now);
        }
        if let Some(phase) = self.stations[id.0 as usize].phase_mut() {
            *phase = next;
        }
        // All neighbours have been heard in vain: if it stands still, that will not change.
        let in_vain = next == Phase::Scanning(0) && phase != Phase::Reported;
        if in_vain {
            self.measure_after(id, now, 0.0);
        } else {
            self.measure_next(id, now);
        }
    }

    fn report_parameters(&mut self, id: StationId, cell: CellId, received_dbm: f64, now: Instant) {
        let budget = &self.air.config.cells[usize::from(cell.0)].forward;
        let snr_db = budget.snr_db(received_dbm);
        self.air.event(
            now,
            id,
            cell,
            Signal::ParametersReport {
                received_dbm,
                snr_db,
            },
        );
    }

    /// POW_REP in the next slot; returns the slot's multiframe.
    fn report_power(
        &mut self,
        id: StationId,
        (cell, place): (CellId, u32),
        (of, received_dbm): (CellId, f64),
        now: Instant,
    ) -> Multiframe {
        let (multiframe, slot) = self.cells[usize::from(cell.0)].next_slot(place, now);
        let kind = MessageKind::PowerReport { of, received_dbm };
        self.air
            .message(multiframe.dedicated_end(slot), id, cell, kind);
        multiframe
    }

    /// Listens to the neighbour whose turn it is. If it is better, the base station decides.
    fn scan(
        &mut self,
        id: StationId,
        cell: CellId,
        (place, turn): (u32, u16),
        now: Instant,
    ) -> Phase {
        let neighbours = &self.neighbours[usize::from(cell.0)];
        let Some(&other) = neighbours.get(usize::from(turn)) else {
            return Phase::Scanning(0);
        };
        let next = Phase::Scanning((turn + 1) % neighbours.len() as u16);
        let received = self.received_dbm(id, other, now);
        if received < self.air.config.cells[usize::from(other.0)].sensitivity_dbm() {
            return next;
        }
        self.air
            .message(now, id, other, MessageKind::SystemIdentification);
        let due = self.report_power(id, (cell, place), (other, received), now);
        if received <= self.received_dbm(id, cell, now) {
            return next;
        }
        self.air.event(now, id, other, Signal::Detected);
        let serving = &mut self.cells[usize::from(cell.0)];
        serving.commands.push(id);
        serving.wake(&mut self.air, now);
        Phase::Decided { to: other, due }
    }

    /// CELL_EXIT has been sent.
    pub(super) fn exit(&mut self, id: StationId, now: Instant) {
        let Attachment::Registered {
            cell,
            place,
            phase: Phase::Leaving { to },
        } = self.stations[id.0 as usize].attachment
        else {
            return;
        };
        self.air.message(now, id, cell, MessageKind::CellExit);
        self.leave(id, cell, place, now);
        self.enter(id, to, Some(cell), now);
    }

    /// The signal is lost: the aircraft looks for a cell like one that is switched on.
    fn lose(&mut self, id: StationId, cell: CellId, place: u32, now: Instant) {
        self.leave(id, cell, place, now);
        self.stations[id.0 as usize].attachment = Attachment::Searching;
        self.measure_next(id, now);
    }

    /// Ends a registration. What waits in the aircraft stays there, what waits in the base station as the parameters say.
    fn leave(&mut self, id: StationId, cell: CellId, place: u32, now: Instant) {
        self.cells[usize::from(cell.0)].remove(&mut self.stations, id, place);
        self.air.event(now, id, cell, Signal::Down);
        let mut ended = Vec::new();
        for (direction, kept) in [
            (Direction::Forward, self.air.config.forwards_queue),
            (Direction::Return, true),
        ] {
            let queue = self.stations[id.0 as usize].queue_mut(direction);
            queue.leave(now, kept, direction == Direction::Return, &mut ended);
            self.air.end(id, direction, Some(cell), &mut ended);
        }
    }

    fn enter(&mut self, id: StationId, to: CellId, from: Option<CellId>, now: Instant) {
        self.stations[id.0 as usize].attachment = Attachment::Entering {
            to,
            from,
            attempt: 0,
        };
        if from.is_some() && self.air.config.handover == HandoverType::Two {
            let cell = &mut self.cells[usize::from(to.0)];
            cell.expected.push((Multiframe::containing(now).next(), id));
            cell.wake(&mut self.air, now);
        } else {
            let superframe = superframe_from(now + Duration::from_nanos(1));
            self.air.schedule_access(&mut self.stations, id, superframe);
        }
    }

    /// CELL_RQST is on the air.
    pub(super) fn access(&mut self, id: StationId, now: Instant) {
        let Attachment::Entering { to, .. } = self.stations[id.0 as usize].attachment else {
            return;
        };
        let number = opportunity_at(now);
        let cell = &mut self.cells[usize::from(to.0)];
        cell.contention.push((number, id));
        cell.wake(&mut self.air, now);
        self.air.message(now, id, to, MessageKind::CellRequest);
    }
}
