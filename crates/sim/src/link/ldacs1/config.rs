//! Parameters of a radio network and of its cells.

use super::allocation::control_frames;
use super::budget::LinkBudget;
use super::coverage::Cells;
use super::error_rate::ErrorRates;
use super::frame::{FORWARD_FRAMES, data_tiles};
use super::modulation::{Modulation, TARGET_SNR_DB};
use crate::link::cells::{CellId, Direction};
use crate::position::Position;
use baton_proto::rate::DataRate;

/// A network: cells between which aircraft move.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkConfig {
    /// Name of the network, on which its random draws depend.
    pub name: String,
    /// Its cells, at least one, at most 65 536.
    pub cells: Cells,
    /// Largest grant of one aircraft in each direction, unless its cell has one; `None`: no limit but the capacity left
    /// by others.
    pub user_rate: Option<DataRate>,
    /// Least number of frames of the common control channel, 1 to 8; more where its messages need them. With 3 the
    /// forward link has 24 data frames, study D's 291 kbit/s.
    pub common_control_frames: u32,
    /// Modulation of all aircraft; `None`: the fastest that each one's last power report allows.
    pub modulation: Option<Modulation>,
    /// Source of frames' error rates.
    pub errors: ErrorRates,
    /// True if an aircraft's tiles of one multiframe are coded jointly.
    pub joint_coding: bool,
    /// True if each aircraft has its rate on the return link in every multiframe, without requests.
    pub standing_grant: bool,
    /// True if a receiver has data at the end of a multiframe's data slot, as latencies of the link's authors have it;
    /// false: of their own frames.
    pub slot_delivery: bool,
    /// Type of a handover between two cells.
    pub handover: HandoverType,
    /// True if the base station announces a handover while it still has packets for the aircraft, and lets them drain
    /// first (study D's P-bit).
    pub packet_bit: bool,
    /// True if packets waiting in the old base station, or arriving there during the handover, are forwarded to the new
    /// one (base-station buffering). Otherwise they are lost.
    pub forwards_queue: bool,
    /// Most bytes waiting for one aircraft in each direction.
    pub queue_bytes: u32,
}

/// Type of a handover, by the side that prepares it (study D, section 2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandoverType {
    /// Prepared by the aircraft alone: it registers in the new cell by random access.
    One,
    /// Prepared by the base stations: the new one assigns a code and a slot beforehand. The specification's details
    /// were not at hand; here the aircraft skips the random access and is polled in the first common control channel a
    /// multiframe after its exit.
    Two,
}

impl NetworkConfig {
    /// Creates study D's radio: QPSK ½, its two error rates everywhere, no limit per user, handover type 1, no P-bit,
    /// and a queue that no transfer of the study fills.
    pub fn new(name: &str, cells: Vec<CellConfig>) -> NetworkConfig {
        NetworkConfig {
            name: name.into(),
            cells: Cells::new(cells),
            user_rate: None,
            common_control_frames: 3,
            modulation: Some(Modulation::QpskHalf),
            errors: ErrorRates::AtTarget,
            joint_coding: false,
            standing_grant: false,
            slot_delivery: true,
            handover: HandoverType::One,
            packet_bit: false,
            forwards_queue: false,
            queue_bytes: 1_000_000,
        }
    }

    /// Returns the rate of one aircraft alone in a cell: its own limit, or the rate of QPSK ½ or of the fixed
    /// modulation.
    pub fn nominal_rate(&self, cell: CellId, direction: Direction) -> DataRate {
        let modulation = self.modulation.unwrap_or(Modulation::QpskHalf);
        let frames = FORWARD_FRAMES - control_frames(self, 0);
        self.user_rate_in(cell).unwrap_or(match direction {
            Direction::Forward => modulation.forward_rate(frames),
            Direction::Return => modulation.return_rate(data_tiles(1)),
        })
    }

    /// Returns the largest grant of one aircraft in a cell, if that is limited.
    pub fn user_rate_in(&self, cell: CellId) -> Option<DataRate> {
        let own = self.cells[usize::from(cell.0)].user_rate;
        own.or(self.user_rate)
    }
}

/// A base station and its two frequencies.
#[derive(Clone, Debug, PartialEq)]
pub struct CellConfig {
    /// Its name.
    pub name: String,
    /// Position of its antenna.
    pub position: Position,
    /// Radius in which aircraft may register, in metres.
    pub radius_m: f64,
    /// Forward link's budget, with its frequency.
    pub forward: LinkBudget,
    /// Return link's budget, with its frequency.
    pub back: LinkBudget,
    /// Th1 in dBm: aircraft that receive less are told to scan for other cells.
    pub scan_below_dbm: f64,
    /// Th2 in dBm: below it a handover waits no longer for packets to drain.
    pub force_below_dbm: f64,
    /// Largest grant of one aircraft here in each direction; `None`: that of the network.
    pub user_rate: Option<DataRate>,
}

impl CellConfig {
    /// Creates a cell with study D's budgets. Th1 is the power received at three quarters of the radius, Th2 that at
    /// the radius (both chosen: the study does not print them).
    pub fn new(name: &str, position: Position, radius_m: f64) -> CellConfig {
        let forward = LinkBudget::FORWARD;
        CellConfig {
            name: name.into(),
            position,
            radius_m,
            forward,
            back: LinkBudget::RETURN,
            scan_below_dbm: forward.received_dbm(0.75 * radius_m),
            force_below_dbm: forward.received_dbm(radius_m),
            user_rate: None,
        }
    }

    /// Returns the distance of a position beyond the radius, in metres; negative inside.
    pub fn beyond_radius_m(&self, at: &Position) -> f64 {
        self.position.slant_distance_m(at) - self.radius_m
    }

    /// Returns the power that an aircraft receives there.
    pub fn received_dbm(&self, at: &Position) -> f64 {
        self.forward
            .received_dbm(self.position.slant_distance_m(at))
    }

    /// Returns the received power below which there is no link.
    pub fn sensitivity_dbm(&self) -> f64 {
        self.forward.sensitivity_dbm(TARGET_SNR_DB)
    }
}
