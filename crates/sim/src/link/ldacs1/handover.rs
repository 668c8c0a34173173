//! Handover from cell to cell: the aircraft's measurements, and the base station's decision (study D, sections 2.3 and
//! 4).
//!
//! An aircraft measures at the beginning of a superframe, where SIB is sent, and reports in its next slot of the
//! dedicated control channel. Below Th1 it is told to scan (ACB and STB in the following broadcast channel); from the
//! broadcast channel after that it listens to one neighbour per superframe. When a neighbour is received better than
//! the serving cell, the base station sends HO_COM in the common control channel after the report. The aircraft
//! confirms with CELL_EXIT in its next slot, retunes, and registers in the new cell.
//!
//! Below Th2, if a round of scanning finds no other cell, the aircraft reports that its link is going down, so that
//! there is time to prepare another link before the signal is gone. Until then it looks for cells that its own cell
//! does not know of: within the radius of a better one it leaves, and registers there.
//!
//! A flight begins to look for a cell in the first superframe after its first point, and leaves its cell in the first one
//! after its last point.
//!
//! Redundant reports are left out: while the aircraft cannot have reached the place where Th1 is received, nothing is
//! measured. The times of measurements stay the same, so the decisions are those of a run with all reports.

use super::config::HandoverType;
use super::frame::{Multiframe, opportunity_at, superframe_from};
use super::network::Network;
use super::output::MessageKind;
use super::station::{Attachment, Phase};
use crate::link::cells::{CellId, Direction, Event, Measured, StationId};
use baton_proto::interface::LinkEvent;
use baton_proto::time::{Duration, Instant};

impl Network {
    /// Measures at the beginning of a superframe.
    pub(super) fn measure(&mut self, id: StationId, now: Instant) {
        let station = &mut self.stations[id.0 as usize];
        if station.measures_at != now {
            return;
        }
        station.measures_at = Instant::NEVER;
        if !station.track().is_present(now) {
            return self.stay_away(id, now);
        }
        match station.attachment {
            Attachment::Searching => self.search(id, now),
            Attachment::Entering { .. } => {}
            Attachment::Registered { cell, place, phase } => {
                self.report(id, cell, (place, phase), now)
            }
        }
    }

    /// Keeps an aircraft out of all cells while it does not exist; what waits for it or in it is lost.
    fn stay_away(&mut self, id: StationId, now: Instant) {
        if let Attachment::Registered { cell, place, .. } = self.stations[id.0 as usize].attachment
        {
            self.leave(id, cell, place, now);
            self.stations[id.0 as usize].attachment = Attachment::Searching;
            let mut ended = Vec::new();
            for direction in [Direction::Forward, Direction::Return] {
                let queue = self.stations[id.0 as usize].queue_mut(direction);
                queue.leave(now, false, false, &mut ended);
                self.air.end(id, direction, Some(cell), &mut ended);
            }
        }
        self.measure_after(id, now, 0.0);
    }

    fn received_dbm(&self, id: StationId, cell: CellId, now: Instant) -> f64 {
        let position = self.stations[id.0 as usize].position(now);
        self.air.config.cells[usize::from(cell.0)].received_dbm(&position)
    }

    /// Schedules the next measurement in the first superframe in which an aircraft can have moved by so much, at least
    /// one on.
    fn measure_after(&mut self, id: StationId, now: Instant, distance_m: f64) {
        let track = self.stations[id.0 as usize].track();
        let at = track.earliest_change(now, distance_m);
        if at != Instant::NEVER {
            let from = at.max(now + Duration::from_nanos(1));
            self.air.schedule_measurement(&mut self.stations, id, from);
        }
    }

    /// Schedules the next measurement in the next superframe.
    fn measure_next(&mut self, id: StationId, now: Instant) {
        let from = now + Duration::from_nanos(1);
        self.air.schedule_measurement(&mut self.stations, id, from);
    }

    /// Looks for the strongest cell whose radius covers the aircraft.
    fn search(&mut self, id: StationId, now: Instant) {
        let position = self.stations[id.0 as usize].position(now);
        let Some(to) = self.air.config.cells.strongest(&position) else {
            let (_, beyond) = self.air.config.cells.nearest(&position);
            return self.measure_after(id, now, beyond);
        };
        self.air
            .message(now, id, to, MessageKind::SystemIdentification);
        self.air.event(Event::new(now, id, to, LinkEvent::Detected));
        self.enter(id, to, None, now);
    }

    /// Measures the cell of a registered aircraft, and a neighbour if it was told to scan.
    fn report(&mut self, id: StationId, cell: CellId, (place, phase): (u32, Phase), now: Instant) {
        let received = self.received_dbm(id, cell, now);
        let config = &self.air.config.cells[usize::from(cell.0)];
        if received < config.sensitivity_dbm() || self.finds_better_alone(id, received, now) {
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
        let scanned = next == Phase::Scanning(0) && matches!(phase, Phase::Scanning(_));
        let is_alone = match next {
            Phase::Scanning(_) if received >= force_below => false,
            Phase::Scanning(_) if scanned => !self.hears_neighbour(id, cell, now),
            Phase::Scanning(_) | Phase::Reported => self.stations[id.0 as usize].is_alone,
            _ => false,
        };
        self.tell_alone(id, cell, is_alone, now);
        // All neighbours were measured in vain: for an aircraft that stands still, that will not change.
        let in_vain = next == Phase::Scanning(0) && phase != Phase::Reported;
        if in_vain {
            self.measure_after(id, now, 0.0);
        } else {
            self.measure_next(id, now);
        }
    }

    /// Returns true if an aircraft receives any neighbour of its own cell.
    fn hears_neighbour(&self, id: StationId, cell: CellId, now: Instant) -> bool {
        let mut neighbours = self.neighbours[usize::from(cell.0)].iter();
        neighbours.any(|&other| {
            let least = self.air.config.cells[usize::from(other.0)].sensitivity_dbm();
            self.received_dbm(id, other, now) >= least
        })
    }

    /// Returns true if an aircraft that receives no neighbour of its own cell is within the radius of a better cell: it
    /// goes there without a command, since no base station knows both.
    fn finds_better_alone(&self, id: StationId, received: f64, now: Instant) -> bool {
        let station = &self.stations[id.0 as usize];
        if !station.is_alone {
            return false;
        }
        let found = self.air.config.cells.strongest(&station.position(now));
        found.is_some_and(|better| self.received_dbm(id, better, now) > received)
    }

    /// Reports that an aircraft is about to lose its cell with no other in sight, or no longer is.
    fn tell_alone(&mut self, id: StationId, cell: CellId, is_alone: bool, now: Instant) {
        let station = &mut self.stations[id.0 as usize];
        if station.is_alone != is_alone {
            station.is_alone = is_alone;
            let event = match is_alone {
                true => LinkEvent::GoingDown,
                false => LinkEvent::Rollback,
            };
            self.air.event(Event::new(now, id, cell, event));
        }
    }

    fn report_parameters(&mut self, id: StationId, cell: CellId, received_dbm: f64, now: Instant) {
        let budget = &self.air.config.cells[usize::from(cell.0)].forward;
        let snr_db = budget.snr_db(received_dbm);
        self.air.event(Event {
            measured: Some(Measured {
                received_dbm,
                snr_db,
            }),
            ..Event::new(now, id, cell, LinkEvent::ParametersReport)
        });
    }

    /// Sends POW_REP in the next slot; returns the slot's multiframe.
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

    /// Listens to the next neighbour. If that is better, the base station decides on a handover.
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
        self.air
            .event(Event::new(now, id, other, LinkEvent::Detected));
        let serving = &mut self.cells[usize::from(cell.0)];
        serving.commands.push(id);
        serving.wake(&mut self.air, now);
        Phase::Decided { to: other, due }
    }

    /// Leaves the old cell after CELL_EXIT.
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

    /// Loses the signal: the aircraft looks for a cell as after switching on.
    fn lose(&mut self, id: StationId, cell: CellId, place: u32, now: Instant) {
        self.leave(id, cell, place, now);
        self.stations[id.0 as usize].attachment = Attachment::Searching;
        self.measure_next(id, now);
    }

    /// Ends a registration. Packets waiting in the aircraft stay there, those in the base station are forwarded or lost
    /// by the parameters.
    fn leave(&mut self, id: StationId, cell: CellId, place: u32, now: Instant) {
        self.cells[usize::from(cell.0)].remove(&mut self.stations, id, place);
        self.stations[id.0 as usize].is_alone = false;
        self.air.event(Event::new(now, id, cell, LinkEvent::Down));
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

    /// Sends CELL_RQST.
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
