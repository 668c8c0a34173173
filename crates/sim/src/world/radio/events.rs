//! Events of a radio network about its aircraft's links: for their mobiles, for mobility protocols, and for the record.

use super::super::World;
use super::super::wires::RadioPlace;
use crate::link::cells::{Direction, Event, Measured, Message};
use crate::record::{SignalRecord, SignalWay};
use baton_proto::interface::LinkEvent;
use baton_proto::mobility::attachment::{Attachment, Input};
use baton_proto::packet;

impl World {
    pub(super) fn handle_radio_event(&mut self, radio: usize, event: &Event) {
        let station = event.station;
        let link = self.net.radio_link(radio, station, event.cell);
        match event.event {
            LinkEvent::Up => self.radio_up(radio, event),
            LinkEvent::Down => self.radio_down(radio, event),
            LinkEvent::GoingDown if event.other.is_some() => {
                self.describe_target(radio, event);
                self.tell_of_cell(link, LinkEvent::CellGoingDown);
            }
            LinkEvent::GoingDown | LinkEvent::Rollback => self.tell_of_cell(link, event.event),
            LinkEvent::HandoverImminent => {
                let Some(to) = event.other else { return };
                self.net.radios[radio].aircraft[station.0 as usize].hands_over = true;
                let new = self.net.radio_link(radio, station, to);
                self.tell_of_cell(new, event.event);
            }
            LinkEvent::QueueDrained => {
                let (node, _) = self.net.wires.ends(link)[0];
                self.record_link_signal(node, link, event.event);
            }
            LinkEvent::Detected | LinkEvent::HandoverComplete => {
                let [_, (node, _)] = self.net.wires.ends(link);
                self.record_link_signal(node, link, event.event);
            }
            LinkEvent::ParametersReport => self.report_power(link, event),
            // A network reports none of these.
            LinkEvent::CellGoingDown | LinkEvent::Parameters(_) | LinkEvent::QueueStatus(..) => {}
        }
    }

    /// Reports the power that an aircraft receives from a cell.
    fn report_power(&mut self, link: usize, event: &Event) {
        let Some(Measured {
            received_dbm,
            snr_db,
        }) = event.measured
        else {
            return;
        };
        let [_, (node, interface)] = self.net.wires.ends(link);
        let details = format!("{received_dbm:.2} dBm, SNR {snr_db:.2} dB");
        let signal = packet::Wording::new(event.event.name(), details);
        self.record_link(node, link, signal);
        let measured = Input::ReceivedPower(interface, Some(received_dbm));
        self.net.nodes[node].host.handle_input(self.now, measured);
        if let Some(mobile) = self.net.wires[link].mobile() {
            self.tell_mobile(mobile, interface, event.event);
        }
    }

    /// Takes in an aircraft's registration in a cell.
    fn radio_up(&mut self, radio: usize, event: &Event) {
        let link = self.net.radio_link(radio, event.station, event.cell);
        let run = &mut self.net.radios[radio];
        run.note_cell(self.now, event.station, Some(event.cell));
        run.aircraft[event.station.0 as usize].hands_over = false;
        self.net.wires.move_to(RadioPlace {
            radio: radio as u32,
            station: event.station,
            cell: event.cell,
        });
        self.net.wires[link].works = true;
        self.report_cell(link);
        self.tell_of_cell(link, LinkEvent::Up);
    }

    /// Notes that an aircraft has left a cell, or has lost it.
    fn radio_down(&mut self, radio: usize, event: &Event) {
        let link = self.net.radio_link(radio, event.station, event.cell);
        self.record_radio_link(link, [(0, 0); 2]);
        let run = &mut self.net.radios[radio];
        run.note_cell(self.now, event.station, None);
        let aircraft = &run.aircraft[event.station.0 as usize];
        let mobile = aircraft.mobile as usize;
        if !aircraft.hands_over {
            self.net.wires[link].works = false;
            self.note_turn(mobile, link, false);
        }
        self.tell_of_cell(link, LinkEvent::Down);
    }

    /// Reports an event of the link to a cell to a mobile, and records it where no protocol does.
    fn tell_of_cell(&mut self, link: usize, event: LinkEvent) {
        let (Some(place), Some(mobile)) =
            (self.net.wires.place(link), self.net.wires[link].mobile())
        else {
            return;
        };
        let [_, (node, network)] = self.net.wires.ends(link);
        let aircraft =
            &mut self.net.radios[place.radio as usize].aircraft[place.station.0 as usize];
        aircraft.spoken_of = place.cell;
        let host = &self.net.nodes[node].host;
        let uses = host.attachment().and_then(Attachment::network) == Some(network);
        let is_told = event != LinkEvent::HandoverImminent || uses;
        if self.net.mobiles[mobile].protocol.is_none() || !is_told {
            self.record_link_signal(node, link, event);
        }
        if event == LinkEvent::Up {
            self.describe_cell(mobile, place, network);
            // A mobile that uses another link would come to this cell.
            self.describe_next_cell(mobile, place, network);
        }
        self.tell_mobile(mobile, network, event);
        self.tell_network(link, event);
    }

    /// Informs a mobile's protocol of the target cell of a handover that the network foresees.
    fn describe_target(&mut self, radio: usize, event: &Event) {
        let link = self.net.radio_link(radio, event.station, event.cell);
        let (Some(cell), Some(mobile)) = (event.other, self.net.wires[link].mobile()) else {
            return;
        };
        let place = RadioPlace {
            radio: radio as u32,
            station: event.station,
            cell,
        };
        let [_, (_, network)] = self.net.wires.ends(link);
        self.describe_next_cell(mobile, place, network);
    }

    /// Records a control message between an aircraft and a base station.
    pub(super) fn record_radio_message(&mut self, radio: usize, message: &Message) {
        if self.probes.signals.is_none() {
            return;
        }
        let link = self.net.radio_link(radio, message.station, message.cell);
        let [(base_station, _), (aircraft, _)] = self.net.wires.ends(link);
        let (direction, signal) = message.words(&self.scenario.radios[radio].config.cells);
        let (sender, receiver) = match direction {
            Some(Direction::Forward) => (base_station, aircraft),
            Some(Direction::Return) => (aircraft, base_station),
            None => return self.record_link(base_station, link, signal),
        };
        self.probes.recorder.signal(SignalRecord {
            signal,
            sender,
            link: Some(link),
            sent: message.at,
            way: SignalWay::Message {
                packet: None,
                ended: Some((message.at, receiver)),
                dropped: None,
            },
        });
    }
}
