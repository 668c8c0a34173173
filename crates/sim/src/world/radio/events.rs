//! What a radio network tells of its aircraft's links: to their mobiles, to mobility protocols, and for the record.

use super::super::World;
use super::super::handover::{Chooser, Losses};
use super::super::wires::RadioPlace;
use crate::link::ldacs1::{Event, Measured, Message, MessageKind};
use crate::record::{SignalRecord, SignalWay};
use crate::scenario::model::LinkIndex;
use baton_proto::interface::LinkEvent;
use baton_proto::packet;

impl World {
    /// What a mobile takes that is to use this link from now on: it itself, or of a radio network the link to the cell in
    /// which the mobile is; `None` if it is in none, and the network will say when it is.
    pub(in super::super) fn choose(
        &mut self,
        number: usize,
        link: Option<usize>,
    ) -> Option<Option<usize>> {
        let place = link.and_then(|link| self.wires.place(link));
        self.mobiles[number].radio = place.map(|place| place.radio as usize);
        match link {
            Some(link) => self.usable(link).map(Some),
            None => Some(None),
        }
    }

    /// The link to use in place of this one: of a radio network the one to the cell in which the aircraft is registered, if it
    /// is.
    pub(in super::super) fn usable(&self, link: usize) -> Option<usize> {
        let Some(place) = self.wires.place(link) else {
            return Some(link);
        };
        let radio = place.radio as usize;
        let aircraft = &self.radios[radio].aircraft[place.station.0 as usize];
        let cell = aircraft.cell.filter(|_| !aircraft.hands_over)?;
        Some(self.radio_link(radio, place.station, cell))
    }

    pub(super) fn handle_radio_event(&mut self, radio: usize, event: &Event) {
        let station = event.station;
        let link = self.radio_link(radio, station, event.cell);
        let mobile = self.radios[radio].aircraft[station.0 as usize].mobile;
        match event.event {
            LinkEvent::Up => self.radio_up(radio, event),
            LinkEvent::Down => self.radio_down(radio, event),
            LinkEvent::GoingDown => {
                self.tell_mobile(mobile, link, LinkEvent::GoingDown);
                if event.other.is_none() {
                    self.tell_of_network(mobile, radio, LinkEvent::GoingDown);
                }
            }
            LinkEvent::Rollback => {
                self.tell_mobile(mobile, link, LinkEvent::Rollback);
                self.tell_of_network(mobile, radio, LinkEvent::Rollback);
            }
            LinkEvent::HandoverImminent => {
                let Some(to) = event.other else { return };
                self.radios[radio].aircraft[station.0 as usize].hands_over = true;
                let new = self.radio_link(radio, station, to);
                if self.mobiles[mobile].radio == Some(radio) {
                    self.open_record(mobile, self.now, Some(new), "hard");
                    self.tell_mobile(mobile, new, LinkEvent::HandoverImminent);
                } else {
                    let node = self.mobiles[mobile].node.0;
                    self.record_link_signal(node, new, LinkEvent::HandoverImminent);
                }
            }
            LinkEvent::QueueDrained => {
                let (node, _) = self.wires.ends(link)[0];
                self.record_link_signal(node, link, event.event);
            }
            LinkEvent::Detected | LinkEvent::HandoverComplete => {
                let node = self.mobiles[mobile].node.0;
                self.record_link_signal(node, link, event.event);
            }
            LinkEvent::ParametersReport => {
                let Some(Measured {
                    received_dbm,
                    snr_db,
                }) = event.measured
                else {
                    return;
                };
                let details = format!("{received_dbm:.2} dBm, SNR {snr_db:.2} dB");
                let signal = packet::Signal::new(event.event.name(), details);
                self.record_link(self.mobiles[mobile].node.0, link, signal);
                if let Some(link) = self.link_for_network(mobile, radio) {
                    self.measured(mobile, link, received_dbm);
                    self.tell_chooser(mobile, link, LinkEvent::ParametersReport);
                }
            }
            // A network says neither.
            LinkEvent::CellGoingDown | LinkEvent::Parameters(_) => {}
        }
    }

    /// An aircraft is registered in a cell. A mobile that uses the network uses this link from now on.
    fn radio_up(&mut self, radio: usize, event: &Event) {
        let link = self.radio_link(radio, event.station, event.cell);
        let aircraft = &mut self.radios[radio].aircraft[event.station.0 as usize];
        aircraft.cell = Some(event.cell);
        aircraft.registered.push((self.now, aircraft.cell));
        aircraft.hands_over = false;
        let (mobile, lost_at) = (aircraft.mobile, aircraft.lost_at.take());
        self.wires.move_to(RadioPlace {
            radio: radio as u32,
            station: event.station,
            cell: event.cell,
        });
        self.wires[link].works = true;
        self.report_cell(link);
        let uses = self.mobiles[mobile].radio == Some(radio);
        if uses && self.mobiles[mobile].attached != Some(link) {
            let last = self.mobiles[mobile].handovers.last();
            let is_open =
                last.is_some_and(|last| last.links[1] == Some(link) && last.completed.is_none());
            if !is_open {
                self.open_record(mobile, lost_at.unwrap_or(self.now), Some(link), "hard");
                self.tell_mobile(mobile, link, LinkEvent::HandoverImminent);
            }
            self.use_link(mobile, Some(link));
            if self.mobiles[mobile].protocol.is_none() {
                self.complete_last_record(mobile, Some(link));
            }
        }
        self.tell_mobile(mobile, link, LinkEvent::Up);
        self.tell_of_network(mobile, radio, LinkEvent::Up);
    }

    /// An aircraft has left a cell, or has lost it.
    fn radio_down(&mut self, radio: usize, event: &Event) {
        let link = self.radio_link(radio, event.station, event.cell);
        self.record_radio_link(link, [(0, 0); 2]);
        let now = self.now;
        let aircraft = &mut self.radios[radio].aircraft[event.station.0 as usize];
        let mobile = aircraft.mobile;
        aircraft.cell = None;
        aircraft.registered.push((now, None));
        let lost = !aircraft.hands_over;
        if lost {
            aircraft.lost_at = Some(now);
            self.wires[link].works = false;
            if self.mobiles[mobile].attached == Some(link) {
                let lost = self.losses_of(mobile);
                self.mobiles[mobile].losses_before = Losses::default();
                self.mobiles[mobile].lost_before = Some(lost);
            }
        }
        self.tell_mobile(mobile, link, LinkEvent::Down);
        if lost {
            self.tell_of_network(mobile, radio, LinkEvent::Down);
        }
    }

    /// Tells the ends of an access link, or the record alone where no protocol listens.
    fn tell_mobile(&mut self, mobile: usize, link: usize, signal: LinkEvent) {
        if self.mobiles[mobile].protocol.is_some() {
            self.signal(mobile, link, signal);
        } else {
            let node = self.mobiles[mobile].node.0;
            self.record_link_signal(node, link, signal);
        }
    }

    /// Tells a mobile that chooses what it can expect of a network: as of the link that stands for it.
    fn tell_of_network(&mut self, mobile: usize, radio: usize, event: LinkEvent) {
        if let Some(link) = self.link_for_network(mobile, radio) {
            self.tell_chooser(mobile, link, event);
        }
    }

    /// The link that stands for a radio network where a mobile chooses.
    fn link_for_network(&self, mobile: usize, radio: usize) -> Option<usize> {
        let network = &self.scenario.radios[radio];
        let links = match &self.mobiles[mobile].chooser {
            Chooser::Timetable(_) => return None,
            Chooser::Failback(_, links) => links,
            Chooser::Decision(decider) => decider.links(),
        };
        let is_of = |&&link: &&usize| network.ends(LinkIndex(link)).is_some();
        links.iter().find(is_of).copied()
    }

    /// A control message, between an aircraft and a base station.
    pub(super) fn record_radio_message(&mut self, radio: usize, message: &Message) {
        if self.signals.is_none() {
            return;
        }
        let link = self.radio_link(radio, message.station, message.cell);
        let [(base_station, _), (aircraft, _)] = self.wires.ends(link);
        let cells = &self.scenario.radios[radio].config.cells;
        let name = |cell: crate::link::ldacs1::CellId| cells[usize::from(cell.0)].name.as_str();
        let (up, name, details) = match message.kind {
            MessageKind::ScanningTable => (false, "ACB and STB", String::new()),
            MessageKind::SystemIdentification => (false, "SIB", String::new()),
            MessageKind::PowerReport { of, received_dbm } => (
                true,
                "POW_REP",
                format!("{} {received_dbm:.2} dBm", name(of)),
            ),
            MessageKind::HandoverCommand { to, packet_bit } => {
                let bit = if packet_bit { "P-bit, " } else { "" };
                (false, "HO_COM", format!("{bit}to {}", name(to)))
            }
            MessageKind::CellExit => (true, "CELL_EXIT", String::new()),
            MessageKind::CellRequest => (true, "CELL_RQST", String::new()),
            MessageKind::CellResponse => (false, "CELL_RESP", String::new()),
            MessageKind::SynchronisationPoll => (false, "SYNC_POLL", String::new()),
            MessageKind::Collision => {
                let signal = packet::Signal::new("Collision", String::new());
                return self.record_link(base_station, link, signal);
            }
        };
        let (sender, receiver) = if up {
            (aircraft, base_station)
        } else {
            (base_station, aircraft)
        };
        self.recorder.signal(SignalRecord {
            signal: packet::Signal::new(name, details),
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
