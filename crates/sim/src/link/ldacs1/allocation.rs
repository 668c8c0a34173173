//! Map of one common control channel: the share of each sender in the frames.
//!
//! *Forward link.* Each modulation has its own frames, the most robust first; within them aircraft follow one another
//! byte by byte. *Return link.* Each aircraft has its own tiles.
//!
//! The map must fit the common control channel itself, at most eight frames: aircraft without an entry wait. Its
//! messages have the lengths of public code of the later LDACS.

use super::config::{CellConfig, NetworkConfig};
use super::frame::{COMMON_CONTROL_MOST, FORWARD_FRAMES, Multiframe, superframe_start};
use super::modulation::Modulation;
use super::queue::PRIORITIES;
use super::scheduler::Grants;
use super::station::Station;
use crate::link::cells::{Direction, StationId};
use baton_proto::rate::DataRate;
use baton_proto::time::Duration;

/// Bytes of SLOT_DESC and DCCH_DESC, which are always sent.
pub const CONTROL_ALWAYS: u32 = 2 + 5;
/// Bytes of CELL_RESP.
pub const CELL_RESPONSE: u32 = 12;
/// Bytes of HO_COM (chosen: like DCCH_DESC).
pub const HANDOVER_COMMAND: u32 = 5;
/// Bytes of an acknowledgment of a return link's burst.
pub const ACKNOWLEDGMENT: u32 = 6;
const FORWARD_MAP: u32 = 7;
const RETURN_MAP: u32 = 6;
/// Most bytes of all messages: the control channel has the most robust coding.
pub const CONTROL_MOST: u32 = COMMON_CONTROL_MOST * Modulation::QpskHalf.forward_bytes();
/// A multiframe's share of a superframe.
const MEAN_MULTIFRAME: Duration = Duration::from_micros(60_000);

/// Share of one aircraft.
#[derive(Clone, Copy, Debug)]
pub struct Grant {
    /// The aircraft.
    pub station: StationId,
    /// Modulation of the aircraft.
    pub modulation: Modulation,
    /// Bytes to send.
    pub bytes: u32,
    /// Bytes per priority.
    pub parts: [u32; PRIORITIES as usize],
}

/// Map of one direction, under construction.
pub struct Allocation<'a> {
    /// The network's parameters.
    pub config: &'a NetworkConfig,
    /// State of the cell.
    pub cell: &'a CellConfig,
    /// All aircraft.
    pub stations: &'a mut [Station],
    /// Direction to map.
    pub direction: Direction,
    /// Multiframe of the common control channel.
    pub multiframe: Multiframe,
    /// Bytes in the common control channel so far.
    pub control: u32,
    /// Data tiles of the return link.
    pub tiles: u32,
    /// Grants, in the order in which aircraft first got one.
    pub grants: Vec<Grant>,
    /// Frames used so far.
    pub frames: u32,
    /// Bytes per modulation so far, on the forward link.
    pub bytes: [u32; Modulation::ALL.len()],
}

/// Returns the frames of a common control channel that holds so many bytes.
pub fn control_frames(config: &NetworkConfig, bytes: u32) -> u32 {
    let needed = bytes.div_ceil(Modulation::QpskHalf.forward_bytes());
    needed.clamp(
        config.common_control_frames.clamp(1, COMMON_CONTROL_MOST),
        COMMON_CONTROL_MOST,
    )
}

impl Allocation<'_> {
    fn frame_bytes(&self, modulation: Modulation) -> u32 {
        match self.direction {
            Direction::Forward => modulation.forward_bytes(),
            Direction::Return => modulation.return_bytes(),
        }
    }

    /// Returns the frames available if the common control channel holds so many bytes.
    fn capacity(&self, control: u32) -> u32 {
        match self.direction {
            Direction::Forward => FORWARD_FRAMES - control_frames(self.config, control),
            Direction::Return => self.tiles,
        }
    }

    /// Returns the frames that others use, and the bytes in those that `grant`, or one with its modulation, can share.
    fn used(&self, modulation: Modulation, known: Option<usize>) -> (u32, u32) {
        match self.direction {
            Direction::Forward => {
                let shared = self.bytes[modulation as usize];
                (
                    self.frames - shared.div_ceil(self.frame_bytes(modulation)),
                    shared,
                )
            }
            Direction::Return => {
                let own = known.map_or(0, |place| self.grants[place].bytes);
                (
                    self.frames - own.div_ceil(self.frame_bytes(modulation)),
                    own,
                )
            }
        }
    }

    /// Counts bytes of a grant.
    fn add(&mut self, place: usize, bytes: u32) {
        let modulation = self.grants[place].modulation;
        let frame_bytes = self.frame_bytes(modulation);
        let sharing = match self.direction {
            Direction::Forward => &mut self.bytes[modulation as usize],
            Direction::Return => &mut self.grants[place].bytes,
        };
        let before = sharing.div_ceil(frame_bytes);
        *sharing += bytes;
        self.frames += sharing.div_ceil(frame_bytes) - before;
        if self.direction == Direction::Forward {
            self.grants[place].bytes += bytes;
        }
    }

    /// Returns the modulation that an aircraft's last power report allows, or the network's fixed one.
    fn modulation(&self, station: StationId) -> Modulation {
        self.config.modulation.unwrap_or_else(|| {
            let reported = superframe_start(self.multiframe.superframe());
            let position = self.stations[station.0 as usize].position(reported);
            let distance = self.cell.position.slant_distance_m(&position);
            let budget = match self.direction {
                Direction::Forward => &self.cell.forward,
                Direction::Return => &self.cell.back,
            };
            let snr_db = budget.snr_db(budget.received_dbm(distance));
            self.config.errors.fastest(self.direction, snr_db)
        })
    }

    /// Returns the largest grant of an aircraft here.
    fn user_rate(&self) -> Option<DataRate> {
        self.cell.user_rate.or(self.config.user_rate)
    }

    /// Returns the bytes that an aircraft's own rate allows.
    fn allowance(&mut self, station: StationId, frame_bytes: u32) -> u32 {
        let Some(rate) = self.user_rate() else {
            return u32::MAX;
        };
        let quantum = rate.bits_in(MEAN_MULTIFRAME).min(1 << 30) as u32;
        let queue = self.stations[station.0 as usize].queue_mut(self.direction);
        queue.allowance(self.multiframe, quantum, frame_bytes * 8)
    }
}

impl Grants for Allocation<'_> {
    fn ready(&self, station: StationId, priority: u8) -> u32 {
        let queue = self.stations[station.0 as usize].queue(self.direction);
        queue.class(priority).map_or(0, |class| class.ready())
    }

    fn deficit(&mut self, station: StationId, priority: u8) -> &mut u32 {
        let queue = self.stations[station.0 as usize].queue_mut(self.direction);
        &mut queue.class_mut(priority).deficit
    }

    fn grant(&mut self, station: StationId, priority: u8, at_most: u32) -> u32 {
        if !self.stations[station.0 as usize].is_served() {
            return 0;
        }
        let known = self
            .grants
            .iter()
            .position(|grant| grant.station == station);
        let (modulation, control) = match known {
            Some(place) => (self.grants[place].modulation, self.control),
            None => {
                let map = match self.direction {
                    Direction::Forward => FORWARD_MAP,
                    // A standing grant stands in no map.
                    Direction::Return if self.config.standing_grant => 0,
                    Direction::Return => RETURN_MAP,
                };
                (self.modulation(station), self.control + map)
            }
        };
        if control > CONTROL_MOST {
            return 0;
        }
        let frame_bytes = self.frame_bytes(modulation);
        let (frames, shared) = self.used(modulation, known);
        let room = self.capacity(control).saturating_sub(frames) * frame_bytes;
        let allowance = self.allowance(station, frame_bytes);
        let bytes = at_most.min(room.saturating_sub(shared)).min(allowance);
        if bytes == 0 {
            return 0;
        }
        let place = known.unwrap_or_else(|| {
            self.control = control;
            self.grants.push(Grant {
                station,
                modulation,
                bytes: 0,
                parts: [0; PRIORITIES as usize],
            });
            self.grants.len() - 1
        });
        self.add(place, bytes);
        self.grants[place].parts[usize::from(priority)] += bytes;
        let limited = self.user_rate().is_some();
        let queue = self.stations[station.0 as usize].queue_mut(self.direction);
        queue.class_mut(priority).reserve(bytes);
        if limited {
            queue.use_allowance(bytes);
        }
        bytes
    }

    fn unlist(&mut self, station: StationId, priority: u8) {
        let queue = self.stations[station.0 as usize].queue_mut(self.direction);
        queue.class_mut(priority).listed = false;
    }

    fn is_full(&self) -> bool {
        // A new grant needs a whole frame; on the forward link others' last frames may be filled up.
        let full = self.frames >= self.capacity(self.control);
        let gaps = Modulation::ALL.into_iter().any(|modulation| {
            !self.bytes[modulation as usize].is_multiple_of(self.frame_bytes(modulation))
        });
        full && !gaps
    }
}
