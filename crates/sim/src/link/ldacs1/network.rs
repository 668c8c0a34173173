//! The network: all cells and all aircraft under one clock.

use super::air::{Air, Task};
use super::cell::Cell;
use super::config::NetworkConfig;
use super::queue::PRIORITIES;
use super::station::{Attachment, Station};
use crate::link::cells::{CellId, Direction, Event, Offered, Output, StationId, Way};
use crate::link::{DropReason, Outcome};
use crate::position::Track;
use crate::rng::Seed;
use baton_proto::interface::LinkEvent;
use baton_proto::time::Instant;
use std::sync::Arc;

/// Bytes that L-DACS1 adds to a packet (study D, section 5.4). The overhead of further fragments is not counted.
pub const HEADER_BYTES: u32 = 7;

/// L-DACS1 network as a state machine.
///
/// After [`add_station`](Network::add_station), [`offer`](Network::offer) and at every
/// [`next_deadline`](Network::next_deadline), call [`poll`](Network::poll) until it returns `None`, then ask for the
/// next deadline. `now` never decreases from call to call.
#[derive(Debug)]
pub struct Network {
    pub(super) air: Air,
    pub(super) cells: Vec<Cell>,
    pub(super) stations: Vec<Station>,
    /// Cells that overlap each cell: the neighbours to which its aircraft are told to listen.
    pub(super) neighbours: Vec<Vec<CellId>>,
}

impl Network {
    /// Creates a network without aircraft. Its random draws depend on `seed` and on its name.
    pub fn new(config: NetworkConfig, seed: Seed) -> Network {
        let ids = || (0..config.cells.len()).map(|index| CellId(index as u16));
        Network {
            neighbours: ids().map(|cell| config.cells.overlapping(cell)).collect(),
            cells: ids().map(Cell::new).collect(),
            stations: Vec::new(),
            air: Air::new(config, seed),
        }
    }

    /// Adds an aircraft, which is registered in a cell at once, or looks for one.
    ///
    /// # Panics
    /// Panics if the network has no such cell.
    pub fn add_station(
        &mut self,
        now: Instant,
        track: Arc<Track>,
        cell: Option<CellId>,
    ) -> StationId {
        self.catch_up(now);
        let id = StationId(self.stations.len() as u32);
        self.stations.push(Station::new(track));
        if let Some(cell) = cell {
            self.cells[usize::from(cell.0)].register(&mut self.stations, id);
            self.air.event(Event::new(now, id, cell, LinkEvent::Up));
        }
        self.air.schedule_measurement(&mut self.stations, id, now);
        id
    }

    /// Frees the capacity that lists have reserved for more aircraft.
    pub fn shrink(&mut self) {
        self.stations.shrink_to_fit();
        self.air.agenda.shrink();
        self.air.outputs.shrink();
    }

    /// Offers a packet. A packet offered at the moment of a control channel comes after that.
    pub fn offer(&mut self, now: Instant, offered: Offered) {
        self.catch_up(now);
        let Offered {
            station: id,
            packet,
            acknowledged,
            ..
        } = offered;
        let (direction, cell) = match offered.way {
            Way::Forward(cell) => (Direction::Forward, Some(cell)),
            Way::Return => (Direction::Return, self.serving_cell(id)),
        };
        let length = offered.length + HEADER_BYTES;
        let takes = direction == Direction::Return || self.takes_forward(id, cell);
        let station = &mut self.stations[id.0 as usize];
        let queue = station.queue_mut(direction);
        let refusal = if !takes {
            Some(DropReason::LinkDown)
        } else if queue.waiting() + length > self.air.config.queue_bytes {
            Some(DropReason::QueueFull)
        } else {
            None
        };
        if let Some(reason) = refusal {
            let mut ended = vec![(packet, now, Outcome::Dropped(reason))];
            return self.air.end(id, direction, cell, &mut ended);
        }
        let wanting = (direction == Direction::Return).then_some(now);
        let class = queue.class_mut(offered.priority.min(PRIORITIES - 1));
        class.push(packet, length, acknowledged, wanting);
        let Some((cell, _)) = station.registration() else {
            return;
        };
        let cell = &mut self.cells[usize::from(cell.0)];
        match direction {
            Direction::Forward => cell.enlist(&mut self.stations, id, Direction::Forward),
            Direction::Return => cell.want(&mut self.stations, id),
        }
        cell.wake(&mut self.air, now);
    }

    /// Returns true if a base station has this aircraft registered, or keeps packets for it during a handover.
    fn takes_forward(&self, id: StationId, at: Option<CellId>) -> bool {
        match self.stations[id.0 as usize].attachment {
            Attachment::Registered { cell, .. } => at == Some(cell),
            Attachment::Entering { from, .. } => self.air.config.forwards_queue && at == from,
            Attachment::Searching => false,
        }
    }

    /// Returns the outputs up to `now`, one at a time, in order of time.
    pub fn poll(&mut self, now: Instant) -> Option<Output> {
        self.catch_up(now);
        self.air.outputs.pop(now).map(|(_, output)| output)
    }

    /// Returns the time of the next poll, unless something else happens before; `None` if no event is pending.
    pub fn next_deadline(&self) -> Option<Instant> {
        crate::link::earlier(self.air.agenda.next(), self.air.outputs.next())
    }

    /// Returns the cell in which an aircraft is registered.
    pub fn serving_cell(&self, id: StationId) -> Option<CellId> {
        self.stations[id.0 as usize]
            .registration()
            .map(|(cell, _)| cell)
    }

    /// Returns an aircraft's track.
    pub fn track(&self, id: StationId) -> &Track {
        self.stations[id.0 as usize].track()
    }

    /// Returns the packets and bytes not yet delivered in an aircraft's direction, as of the last call.
    pub fn queue(&self, id: StationId, direction: Direction) -> (u32, u32) {
        self.stations[id.0 as usize].queue(direction).size()
    }

    /// Returns the aircraft registered in a cell.
    pub fn registered(&self, cell: CellId) -> &[StationId] {
        &self.cells[usize::from(cell.0)].roster
    }

    /// Returns the present parameters.
    pub fn config(&self) -> &NetworkConfig {
        &self.air.config
    }

    fn catch_up(&mut self, now: Instant) {
        while let Some((at, task)) = self.air.agenda.pop(now) {
            match task {
                Task::CommonControl(cell) => {
                    self.cells[usize::from(cell.0)].common_control(
                        &mut self.air,
                        &mut self.stations,
                        at,
                    );
                }
                Task::StandingGrants(cell) => {
                    self.cells[usize::from(cell.0)].use_standing_grants(
                        &mut self.air,
                        &mut self.stations,
                        at,
                    );
                }
                Task::Measure(station) => self.measure(station, at),
                Task::Exit(station) => self.exit(station, at),
                Task::Access(station) => self.access(station, at),
            }
        }
    }
}
