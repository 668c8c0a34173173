//! State of a base station: registered aircraft, their slots, and pending tasks.

use super::air::{Air, Task};
use super::exchange;
use super::frame::{DEDICATED_MOST, Multiframe};
use super::queue::Fragment;
use super::scheduler::Scheduler;
use super::station::{Attachment, Phase, Station};
use crate::link::cells::{CellId, Direction, StationId};
use baton_proto::time::Instant;
use std::collections::BTreeMap;

/// A base station's state.
#[derive(Debug)]
pub struct Cell {
    /// Number of the cell.
    pub id: CellId,
    /// Registered aircraft, by their places.
    pub roster: Vec<StationId>,
    /// Random accesses on the air: opportunity and sender.
    pub contention: Vec<(u64, StationId)>,
    /// Aircraft whose handover waits for a common control channel.
    pub commands: Vec<StationId>,
    /// Aircraft arriving by a handover of type 2, and the multiframe from which they can be polled.
    pub expected: Vec<(Multiframe, StationId)>,
    /// Aircraft with data to request.
    pub wanting: Vec<StationId>,
    /// Scheduler of the forward link.
    pub forward: Scheduler,
    /// Scheduler of the return link.
    pub back: Scheduler,
    /// Lost fragments, by the multiframe in which their senders learn of it.
    pub lost: BTreeMap<Multiframe, Vec<Sent>>,
    /// Bursts of the return link to acknowledge, by multiframe.
    pub acknowledgments: BTreeMap<Multiframe, u32>,
    /// True if the next common control channel is on the agenda.
    awake: bool,
    /// True if the next multiframe's standing grants are on the agenda.
    has_senders: bool,
}

/// A transmitted fragment.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Receiving or sending aircraft.
    pub station: StationId,
    /// Direction of the fragment.
    pub direction: Direction,
    /// Class of the fragment.
    pub priority: u8,
    /// The fragment.
    pub fragment: Fragment,
}

impl Cell {
    /// Creates a cell without aircraft.
    pub fn new(id: CellId) -> Cell {
        Cell {
            id,
            roster: Vec::new(),
            contention: Vec::new(),
            commands: Vec::new(),
            expected: Vec::new(),
            wanting: Vec::new(),
            forward: Scheduler::default(),
            back: Scheduler::default(),
            lost: BTreeMap::new(),
            acknowledgments: BTreeMap::new(),
            awake: false,
            has_senders: false,
        }
    }

    /// Puts the next common control channel on the agenda, unless it is there, and if aircraft with standing grants have
    /// data, the next multiframe.
    pub fn wake(&mut self, air: &mut Air, now: Instant) {
        if !self.awake {
            self.awake = true;
            let at = Multiframe::deciding_after(now).common_control();
            air.agenda.push(at, Task::CommonControl(self.id));
        }
        let senders = !(self.wanting.is_empty() && self.back.is_empty());
        if air.config.standing_grant && senders && !self.has_senders {
            self.has_senders = true;
            let at = Multiframe::beginning_after(now).start();
            air.agenda.push(at, Task::StandingGrants(self.id));
        }
    }

    fn has_work(&self) -> bool {
        !(self.contention.is_empty()
            && self.commands.is_empty()
            && self.expected.is_empty()
            && self.wanting.is_empty()
            && self.lost.is_empty()
            && self.forward.is_empty()
            && self.back.is_empty())
    }

    /// Returns the slot of a place in a multiframe's dedicated control channel: with more than 52 aircraft, a place has
    /// a slot in some multiframes only.
    pub fn slot(&self, place: u32, multiframe: Multiframe) -> Option<u32> {
        let aircraft = self.roster.len() as u64;
        if aircraft <= u64::from(DEDICATED_MOST) {
            return Some(place);
        }
        let first = multiframe.0 % aircraft * u64::from(DEDICATED_MOST) % aircraft;
        let slot = (u64::from(place) + aircraft - first) % aircraft;
        (slot < u64::from(DEDICATED_MOST)).then_some(slot as u32)
    }

    /// Returns the first slot of a place that begins at `from` or later: its multiframe, and its number.
    pub fn next_slot(&self, place: u32, from: Instant) -> (Multiframe, u32) {
        let mut multiframe = Multiframe::containing(from);
        loop {
            if let Some(slot) = self.slot(place, multiframe)
                && multiframe.dedicated_start(slot) >= from
            {
                return (multiframe, slot);
            }
            multiframe = multiframe.next();
        }
    }

    /// Puts an aircraft's classes with ready data on the scheduler's list.
    pub fn enlist(&mut self, stations: &mut [Station], id: StationId, direction: Direction) {
        let scheduler = match direction {
            Direction::Forward => &mut self.forward,
            Direction::Return => &mut self.back,
        };
        for class in stations[id.0 as usize].queue_mut(direction).classes_mut() {
            if class.ready() > 0 && !class.listed {
                class.listed = true;
                scheduler.enlist(id, class.priority);
            }
        }
    }

    /// Notes that an aircraft has data to request.
    pub fn want(&mut self, stations: &mut [Station], id: StationId) {
        let station = &mut stations[id.0 as usize];
        if !station.wants {
            station.wants = true;
            self.wanting.push(id);
        }
    }

    /// Registers an aircraft.
    pub fn register(&mut self, stations: &mut [Station], id: StationId) {
        let place = self.roster.len() as u32;
        self.roster.push(id);
        stations[id.0 as usize].attachment = Attachment::Registered {
            cell: self.id,
            place,
            phase: Phase::Steady,
        };
        self.enlist(stations, id, Direction::Forward);
        if stations[id.0 as usize]
            .queue(Direction::Return)
            .is_wanting()
        {
            self.want(stations, id);
        }
    }

    /// Takes an aircraft off all lists. The last place's aircraft moves to the freed place.
    pub fn remove(&mut self, stations: &mut [Station], id: StationId, place: u32) {
        self.roster.swap_remove(place as usize);
        if let Some(moved) = self.roster.get(place as usize)
            && let Attachment::Registered { place: old, .. } =
                &mut stations[moved.0 as usize].attachment
        {
            *old = place;
        }
        self.wanting.retain(|&other| other != id);
        self.commands.retain(|&other| other != id);
        self.forward.remove(id);
        self.back.remove(id);
        stations[id.0 as usize].wants = false;
    }

    /// Lets aircraft send by their standing grants in the multiframe that begins now.
    pub fn use_standing_grants(&mut self, air: &mut Air, stations: &mut [Station], now: Instant) {
        exchange::use_standing_grants(self, air, stations, now);
        self.has_senders = false;
        self.wake(air, now);
    }

    /// Does the tasks of a common control channel.
    pub fn common_control(&mut self, air: &mut Air, stations: &mut [Station], now: Instant) {
        exchange::run(self, air, stations, now);
        self.awake = false;
        if self.has_work() {
            self.wake(air, now);
        }
    }
}
