//! Tasks of a base station in the common control channel of a multiframe.
//!
//! An idle cell does nothing. While anything waits, a cell works once per multiframe, at the beginning of its common
//! control channel, in this order: random access, missing acknowledgments, resource requests (RSRC_RQST) that aircraft
//! have sent in this multiframe's dedicated control channel, handover commands, the map of the return link, the map of
//! the forward link (RSRC_RESP, both).
//!
//! The forward link's map holds from the end of this common control channel to the next one, the return link's for the
//! data tiles of the next multiframe. The fate of each frame is drawn then; nothing can change it, since an aircraft
//! about to leave is granted nothing from its HO_COM on, and leaves a multiframe later. (An aircraft that loses the
//! signal altogether keeps the draws for its last multiframe.)
//!
//! With standing grants neither requests nor the return link's map exist: an aircraft sends what it has at the beginning
//! of a multiframe in that multiframe's data tiles.
//!
//! An aircraft acknowledges a fragment in its next slot of the dedicated control channel, a base station in its next
//! common control channel. Control messages are never lost (study D, section 5.5).

use super::air::{Air, Task};
use super::allocation::{
    ACKNOWLEDGMENT, CELL_RESPONSE, CONTROL_ALWAYS, CONTROL_MOST, HANDOVER_COMMAND, control_frames,
};
use super::cell::Cell;
use super::frame::{MULTIFRAMES, Multiframe, data_tiles};
use super::output::MessageKind;
use super::queue::{Ended, Retry};
use super::random_access;
use super::station::{Attachment, Phase, Station};
use crate::link::cells::{CellId, Direction, Event, StationId};
use baton_proto::interface::LinkEvent;
use baton_proto::time::Instant;

/// Does the tasks of the common control channel that begins now.
pub fn run(cell: &mut Cell, air: &mut Air, stations: &mut [Station], now: Instant) {
    Exchange::new(cell, air, stations, now).run();
}

/// Sends the data of aircraft with standing grants in the multiframe that begins now.
pub fn use_standing_grants(cell: &mut Cell, air: &mut Air, stations: &mut [Station], now: Instant) {
    let mut exchange = Exchange::new(cell, air, stations, now);
    exchange.hear_requests();
    let multiframe = exchange.multiframe;
    exchange.map_return(multiframe);
}

/// One common control channel.
pub struct Exchange<'a> {
    /// Multiframe of the channel.
    pub multiframe: Multiframe,
    /// Beginning of the channel.
    pub now: Instant,
    /// Bytes in the common control channel so far.
    pub control: u32,
    notices: Vec<Notice>,
    /// Ends of packets not yet reported.
    pub ended: Vec<Ended>,
    /// The base station's state.
    pub cell: &'a mut Cell,
    /// State shared by all.
    pub air: &'a mut Air,
    /// All aircraft.
    pub stations: &'a mut [Station],
}

/// Message sent at the end of the common control channel.
enum Notice {
    Command {
        station: StationId,
        to: CellId,
        packet_bit: bool,
    },
    Response {
        station: StationId,
        from: Option<CellId>,
        kind: MessageKind,
    },
}

impl<'a> Exchange<'a> {
    fn new(
        cell: &'a mut Cell,
        air: &'a mut Air,
        stations: &'a mut [Station],
        now: Instant,
    ) -> Exchange<'a> {
        Exchange {
            multiframe: Multiframe::containing(now),
            now,
            control: CONTROL_ALWAYS,
            notices: Vec::new(),
            ended: Vec::new(),
            cell,
            air,
            stations,
        }
    }

    fn run(&mut self) {
        self.resolve_access();
        self.poll_expected();
        self.repeat_lost();
        let standing_grant = self.air.config.standing_grant;
        if !standing_grant {
            self.hear_requests();
        }
        self.command_handovers();
        let bursts = self.cell.acknowledgments.remove(&self.multiframe);
        self.control += bursts.unwrap_or(0) * ACKNOWLEDGMENT;
        if !standing_grant {
            self.map_return(self.multiframe.next());
        }
        let grants = self.map(Direction::Forward, 0);
        let frames = control_frames(&self.air.config, self.control);
        self.send_forward(&grants, frames);
        self.announce(self.multiframe.forward_end(frames - 1));
    }

    /// Answers the random accesses of the superframe before, in the first multiframe of a superframe.
    fn resolve_access(&mut self) {
        if self.cell.contention.is_empty() || !self.multiframe.0.is_multiple_of(MULTIFRAMES) {
            return;
        }
        let superframe = self.multiframe.superframe();
        let (heard, collided) = random_access::resolve(&mut self.cell.contention, superframe);
        for station in collided {
            self.air
                .message(self.now, station, self.cell.id, MessageKind::Collision);
            if let Attachment::Entering { attempt, .. } =
                &mut self.stations[station.0 as usize].attachment
            {
                *attempt += 1;
            }
            self.air
                .schedule_access(self.stations, station, superframe + 1);
        }
        for station in heard {
            self.respond(station, MessageKind::CellResponse);
        }
    }

    fn poll_expected(&mut self) {
        let due = |expected: &(Multiframe, StationId)| expected.0 <= self.multiframe;
        let (due, later) = self
            .cell
            .expected
            .iter()
            .partition(|expected| due(expected));
        self.cell.expected = later;
        for (_, station) in due {
            self.respond(station, MessageKind::SynchronisationPoll);
        }
    }

    fn respond(&mut self, station: StationId, kind: MessageKind) {
        let Attachment::Entering { from, .. } = self.stations[station.0 as usize].attachment else {
            return;
        };
        self.control += CELL_RESPONSE;
        self.notices.push(Notice::Response {
            station,
            from,
            kind,
        });
    }

    /// Handles overdue acknowledgments.
    fn repeat_lost(&mut self) {
        while let Some(entry) = self.cell.lost.first_entry()
            && *entry.key() <= self.multiframe
        {
            for lost in entry.remove() {
                let station = &mut self.stations[lost.station.0 as usize];
                // Data sent here before the aircraft left no longer concerns this cell.
                if station
                    .registration()
                    .is_none_or(|(cell, _)| cell != self.cell.id)
                {
                    continue;
                }
                let wanting = lost.direction == Direction::Return;
                let class = station.queue_mut(lost.direction).class_mut(lost.priority);
                let retry = class.retry(&lost.fragment, self.now, wanting, &mut self.ended);
                self.air.end(
                    lost.station,
                    lost.direction,
                    Some(self.cell.id),
                    &mut self.ended,
                );
                match (retry, lost.direction) {
                    (Retry::GivenUp, _) => {}
                    (Retry::Again, Direction::Forward) => {
                        self.cell
                            .enlist(self.stations, lost.station, Direction::Forward);
                    }
                    (Retry::Again, Direction::Return) => {
                        self.cell.want(self.stations, lost.station)
                    }
                }
            }
        }
    }

    /// Distributes the return link's data tiles of a multiframe, and sends in them.
    fn map_return(&mut self, multiframe: Multiframe) {
        let tiles = data_tiles(self.cell.roster.len() as u32);
        let grants = self.map(Direction::Return, tiles);
        self.send_return(&grants, multiframe);
    }

    /// Takes in the resource requests of this multiframe's dedicated control channel. With a standing grant data is as
    /// good as requested when the multiframe begins.
    fn hear_requests(&mut self) {
        let wanting = core::mem::take(&mut self.cell.wanting);
        for id in wanting {
            let station = &mut self.stations[id.0 as usize];
            let begins = match station.registration() {
                Some(_) if self.air.config.standing_grant => Some(self.multiframe.start()),
                Some((_, place)) => {
                    let slot = self.cell.slot(place, self.multiframe);
                    slot.map(|slot| self.multiframe.dedicated_start(slot))
                }
                None => None,
            };
            let queue = station.queue_mut(Direction::Return);
            if let Some(begins) = begins {
                queue.classes_mut().for_each(|class| class.request(begins));
            }
            if queue.is_wanting() {
                self.cell.wanting.push(id);
            } else {
                station.wants = false;
            }
            self.cell.enlist(self.stations, id, Direction::Return);
        }
    }

    /// Sends HO_COM to aircraft whose handover is decided, or whose packets have drained.
    fn command_handovers(&mut self) {
        let commands = core::mem::take(&mut self.cell.commands);
        for id in commands {
            let station = &mut self.stations[id.0 as usize];
            let forward = station.queue(Direction::Forward);
            let drained = forward.is_empty() && forward.known <= self.multiframe;
            let packet_bit_allowed = self.air.config.packet_bit;
            let has_room = self.control + HANDOVER_COMMAND <= CONTROL_MOST;
            let Some(phase) = station.phase_mut() else {
                continue;
            };
            let command = match *phase {
                Phase::Decided { to, due } if due <= self.multiframe => {
                    Some((to, packet_bit_allowed && !drained))
                }
                Phase::Draining { to, forced } if drained || forced => Some((to, false)),
                _ => None,
            };
            let Some((to, packet_bit)) = command.filter(|_| has_room) else {
                self.cell.commands.push(id);
                continue;
            };
            if matches!(phase, Phase::Draining { .. }) && drained {
                let event = LinkEvent::QueueDrained;
                self.air
                    .event(Event::new(self.now, id, self.cell.id, event));
            }
            if packet_bit {
                *phase = Phase::Draining { to, forced: false };
                self.cell.commands.push(id);
            } else {
                *phase = Phase::Leaving { to };
            }
            self.control += HANDOVER_COMMAND;
            self.notices.push(Notice::Command {
                station: id,
                to,
                packet_bit,
            });
        }
    }

    /// Reports the messages that aircraft have received by the end of the common control channel.
    fn announce(&mut self, heard: Instant) {
        let cell = self.cell.id;
        for notice in core::mem::take(&mut self.notices) {
            match notice {
                Notice::Command {
                    station,
                    to,
                    packet_bit,
                } => {
                    let kind = MessageKind::HandoverCommand { to, packet_bit };
                    self.air.message(heard, station, cell, kind);
                    let event = match packet_bit {
                        true => LinkEvent::GoingDown,
                        false => LinkEvent::HandoverImminent,
                    };
                    self.air.event(Event {
                        other: Some(to),
                        ..Event::new(heard, station, cell, event)
                    });
                    if !packet_bit {
                        let place = self.stations[station.0 as usize].registration();
                        let from = self.multiframe.next().start();
                        let (multiframe, slot) =
                            self.cell.next_slot(place.map_or(0, |place| place.1), from);
                        self.air
                            .agenda
                            .push(multiframe.dedicated_end(slot), Task::Exit(station));
                    }
                }
                Notice::Response {
                    station,
                    from,
                    kind,
                } => {
                    self.cell.register(self.stations, station);
                    self.air.message(heard, station, cell, kind);
                    self.air
                        .event(Event::new(heard, station, cell, LinkEvent::Up));
                    self.air.schedule_measurement(self.stations, station, heard);
                    if let Some(from) = from {
                        let event = LinkEvent::HandoverComplete;
                        self.air.event(Event {
                            other: Some(from),
                            ..Event::new(heard, station, cell, event)
                        });
                    }
                }
            }
        }
    }
}
