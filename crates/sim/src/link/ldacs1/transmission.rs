//! Transmission of mapped data: the frames of each fragment, its arrival, and its loss.

use super::allocation::{Allocation, Grant};
use super::cell::Sent;
use super::exchange::Exchange;
use super::frame::{Multiframe, dedicated_tiles};
use super::queue::{Fragment, PRIORITIES};
use crate::link::cells::Direction;
use baton_proto::time::Instant;

/// Quantum of deficit round robin on the forward link, in bytes: one frame (chosen).
const FORWARD_QUANTUM: u32 = 91;
/// Quantum on the return link: six tiles, the length of study D's binding update (chosen).
const RETURN_QUANTUM: u32 = 84;

impl Exchange<'_> {
    /// Lets the scheduler distribute one link's capacity.
    pub fn map(&mut self, direction: Direction, tiles: u32) -> Vec<Grant> {
        let (scheduler, quantum) = match direction {
            Direction::Forward => (&mut self.cell.forward, FORWARD_QUANTUM),
            Direction::Return => (&mut self.cell.back, RETURN_QUANTUM),
        };
        if scheduler.is_empty() {
            return Vec::new();
        }
        let mut allocation = Allocation {
            cell: &self.air.config.cells[usize::from(self.cell.id.0)],
            config: &self.air.config,
            stations: self.stations,
            direction,
            multiframe: self.multiframe,
            control: self.control,
            tiles,
            grants: Vec::new(),
            frames: 0,
            bytes: [0; _],
        };
        scheduler.run(quantum, &mut allocation);
        self.control = allocation.control;
        allocation.grants
    }

    /// Sends in the frames after the common control channel, modulation by modulation.
    pub fn send_forward(&mut self, grants: &[Grant], control_frames: u32) {
        let mut order: Vec<&Grant> = grants.iter().collect();
        order.sort_by_key(|grant| grant.modulation);
        let mut first_frame = control_frames;
        for group in order.chunk_by(|a, b| a.modulation == b.modulation) {
            let frame_bytes = group[0].modulation.forward_bytes();
            let mut sent = 0;
            for grant in group {
                let loss = self
                    .air
                    .forward_loss(self.stations, grant, self.cell.id, self.now);
                for (priority, fragment) in self.cut(Direction::Forward, grant) {
                    let begins = first_frame + sent / frame_bytes;
                    sent += fragment.length;
                    let ends = first_frame + (sent - 1) / frame_bytes;
                    let lost = self.air.is_lost(
                        Direction::Forward,
                        grant.station,
                        self.multiframe,
                        begins..=ends,
                        loss,
                    );
                    let at = match self.air.config.slot_delivery {
                        true => self.multiframe.forward_slot_end(),
                        false => self.multiframe.forward_end(ends),
                    };
                    let place = self.stations[grant.station.0 as usize].registration();
                    let (known, _) = self.cell.next_slot(place.map_or(0, |place| place.1), at);
                    let queue =
                        self.stations[grant.station.0 as usize].queue_mut(Direction::Forward);
                    queue.known = queue.known.max(known);
                    let part = Sent {
                        station: grant.station,
                        direction: Direction::Forward,
                        priority,
                        fragment,
                    };
                    self.settle(part, at, lost, known);
                }
            }
            first_frame += sent.div_ceil(frame_bytes);
        }
    }

    /// Sends in the data tiles of a multiframe, aircraft by aircraft.
    pub fn send_return(&mut self, grants: &[Grant], multiframe: Multiframe) {
        let aircraft = self.cell.roster.len() as u32;
        let mut first_tile = 0;
        for grant in grants {
            let tile_bytes = grant.modulation.return_bytes();
            let tiles = grant.bytes.div_ceil(tile_bytes);
            let loss = self
                .air
                .return_loss(self.stations, grant, self.cell.id, self.now);
            let places = dedicated_tiles(aircraft) + first_tile;
            let burst_lost = self.air.config.joint_coding
                && self.air.is_lost(
                    Direction::Return,
                    grant.station,
                    multiframe,
                    places..=places,
                    loss,
                );
            let mut sent = 0;
            for (priority, fragment) in self.cut(Direction::Return, grant) {
                let begins = places + sent / tile_bytes;
                sent += fragment.length;
                let ends = (sent - 1) / tile_bytes;
                let lost = if self.air.config.joint_coding {
                    burst_lost
                } else {
                    self.air.is_lost(
                        Direction::Return,
                        grant.station,
                        multiframe,
                        begins..=places + ends,
                        loss,
                    )
                };
                let at = match self.air.config.slot_delivery {
                    true => multiframe.return_slot_end(),
                    false => multiframe.tile_end(aircraft, first_tile + ends),
                };
                let mut known = multiframe;
                if known.common_control() < at {
                    known = known.next();
                }
                let part = Sent {
                    station: grant.station,
                    direction: Direction::Return,
                    priority,
                    fragment,
                };
                self.settle(part, at, lost, known);
                if !lost && fragment.acknowledged {
                    *self.cell.acknowledgments.entry(known).or_default() += 1;
                }
            }
            first_tile += tiles;
        }
        // Acknowledgments from before the cell's idle time.
        self.cell.acknowledgments = self.cell.acknowledgments.split_off(&self.multiframe);
    }

    /// Returns the fragments of a grant, those of the highest priority first.
    fn cut(&mut self, direction: Direction, grant: &Grant) -> Vec<(u8, Fragment)> {
        let queue = self.stations[grant.station.0 as usize].queue_mut(direction);
        let mut cut = Vec::new();
        let mut fragments = Vec::new();
        for priority in (0..PRIORITIES).rev() {
            let bytes = grant.parts[usize::from(priority)];
            if bytes > 0 {
                queue.class_mut(priority).take(bytes, &mut fragments);
                cut.extend(fragments.drain(..).map(|fragment| (priority, fragment)));
            }
        }
        cut
    }

    /// Transmits a fragment, which arrives or is lost; its sender learns of a loss in multiframe `known`.
    fn settle(&mut self, part: Sent, at: Instant, lost: bool, known: Multiframe) {
        if lost && part.fragment.acknowledged {
            self.cell.lost.entry(known).or_default().push(part);
            return;
        }
        let station = &mut self.stations[part.station.0 as usize];
        let class = station.queue_mut(part.direction).class_mut(part.priority);
        class.settle(&part.fragment, at, lost, &mut self.ended);
        self.air.end(
            part.station,
            part.direction,
            Some(self.cell.id),
            &mut self.ended,
        );
    }
}
