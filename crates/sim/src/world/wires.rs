//! The links of a running world, by their numbers in the scenario.
//!
//! An aircraft has one link to its radio network, whose end A moves with it from base station to base station. Results have a
//! number for the link to each cell; each such number leads here to the aircraft's one link.

use super::Node;
use crate::kernel::Timer;
use crate::link::config::{LinkConfig, Shared};
use crate::link::{End, Link};
use crate::record::{Recorder, Subject};
use crate::rng::Seed;
use crate::scenario::model::{CellId, NodeIndex, Radio, Scenario, StationId};
use baton_proto::interface::{InterfaceId, StatusInterests};
use baton_proto::time::Instant;
use core::ops::{Deref, DerefMut, Index, IndexMut, Range};
use std::collections::BTreeSet;

use super::ports::PortId;

/// A node and one of its interfaces.
pub(crate) type NodeInterface = (usize, InterfaceId);

/// A node and interface in the form that a link keeps: a fleet has thousands.
#[derive(Clone, Copy, Debug)]
struct Joint {
    node: u32,
    interface: u32,
}

impl From<NodeInterface> for Joint {
    fn from((node, InterfaceId(interface)): NodeInterface) -> Joint {
        Joint {
            node: node as u32,
            interface: interface as u32,
        }
    }
}

impl From<Joint> for NodeInterface {
    #[inline]
    fn from(joint: Joint) -> NodeInterface {
        (joint.node as usize, InterfaceId(joint.interface as usize))
    }
}

/// The medium behind an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeadsTo {
    /// A link between two nodes, at this end.
    Link(u32, End),
    /// The aircraft in a cell, from its base station.
    Cell(CellPlace),
    /// The base stations of a radio network, from an aircraft.
    Radio(AircraftPlace),
}

/// A cell of a radio network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CellPlace {
    /// The network, by its place in the scenario.
    pub radio: u32,
    /// The cell.
    pub cell: CellId,
}

/// An aircraft on a radio network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AircraftPlace {
    /// The network, by its place in the scenario.
    pub radio: u32,
    /// The aircraft.
    pub station: StationId,
}

/// The aircraft and the cell of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RadioPlace {
    /// The network, by its place in the scenario.
    pub radio: u32,
    /// The aircraft at end B.
    pub station: StationId,
    /// The cell at end A.
    pub cell: CellId,
}

/// A link and its ends. Fields used at every hop come first.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Wire {
    pub timer: Timer,
    /// Node and interface at ends A and B; for an aircraft's link, end A is at its present or last cell.
    ends: [Joint; 2],
    /// The mobile, if this is its access link.
    mobile: Option<u32>,
    /// Packets offered at ends A and B.
    pub offered: [u64; 2],
    pub touched: bool,
    /// True if it reports failed attempts or the state of queues at its entrance.
    pub reports: bool,
    /// The kinds of packet status that the nodes at ends A and B want.
    pub interests: [StatusInterests; 2],
    /// True if routes lead over it: always, but for the access links that a mobile is not attached to.
    pub in_use: bool,
    /// True if the scenario lets it work.
    pub works: bool,
    /// True if a handover has broken it.
    pub broken: bool,
    /// For an access link, true if its last report to the network's end was the mobile's arrival.
    pub told_up: bool,
    /// Numbers of the packets held since the handover, while its mobile leaves it and its interface is to be removed
    /// once it has drained.
    #[expect(
        clippy::box_collection,
        reason = "nearly all links have none, and so pay for a pointer only"
    )]
    pub leaving: Option<Box<BTreeSet<u64>>>,
    /// The port of the mobile's kernel, if this is the access link of a real mobile.
    pub port: Option<PortId>,
}

/// A link between two nodes, with the state machine that carries its packets. A radio network itself carries those of its
/// aircraft.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct PlainWire {
    wire: Wire,
    pub link: Link,
    pub subjects: [Subject; 2],
}

impl PlainWire {
    /// Returns true if a packet just offered makes it tell something at this moment: a fate, or its state to a mobile or to
    /// those that want reports.
    #[inline]
    pub fn has_to_tell(&self, now: Instant) -> bool {
        let is_due = self.link.next_deadline().is_some_and(|due| due <= now);
        is_due || self.reports || self.mobile().is_some()
    }
}

impl Deref for PlainWire {
    type Target = Wire;
    #[inline]
    fn deref(&self) -> &Wire {
        &self.wire
    }
}

impl DerefMut for PlainWire {
    #[inline]
    fn deref_mut(&mut self) -> &mut Wire {
        &mut self.wire
    }
}

impl Wire {
    fn new(ends: [NodeInterface; 2], config: &LinkConfig) -> Wire {
        Wire {
            reports: config.reports(),
            timer: Timer::default(),
            touched: false,
            offered: [0; 2],
            interests: Default::default(),
            ends: ends.map(Joint::from),
            in_use: true,
            mobile: None,
            works: true,
            broken: false,
            told_up: false,
            port: None,
            leaving: None,
        }
    }

    /// Returns the mobile, if this is its access link.
    #[inline]
    pub fn mobile(&self) -> Option<usize> {
        self.mobile.map(|mobile| mobile as usize)
    }

    /// Makes it an access link of a mobile.
    pub fn belong_to(&mut self, mobile: usize) {
        self.mobile = Some(mobile as u32);
    }

    /// Returns node and interface at one of the present ends.
    #[inline]
    pub fn present_end(&self, end: End) -> NodeInterface {
        self.ends[end.index()].into()
    }

    /// Returns node and interface at the present ends A and B.
    #[inline]
    pub fn present_ends(&self) -> [NodeInterface; 2] {
        self.ends.map(NodeInterface::from)
    }
}

/// A radio network's links: its cells, and the places of its aircraft's links.
#[derive(Debug)]
struct RadioWires {
    first_link: usize,
    cells: Vec<CellWire>,
    /// The present or last cell of each aircraft.
    at: Vec<CellId>,
    /// The place of the first aircraft's link.
    first_aircraft: usize,
}

#[derive(Debug)]
struct CellWire {
    /// Node and interface of the base station.
    end: NodeInterface,
    config: Shared<LinkConfig>,
}

/// All links.
#[derive(Debug)]
pub(crate) struct Wires {
    plain: Vec<PlainWire>,
    /// The links of aircraft, ordered by network.
    aircraft: Vec<Wire>,
    radios: Vec<RadioWires>,
}

impl Wires {
    /// Makes the links of a scenario, with the interfaces at their ends.
    pub fn new(
        scenario: &Scenario,
        nodes: &mut [Node],
        seed: Seed,
        recorder: &mut Recorder,
    ) -> Wires {
        let mut plain = Vec::with_capacity(scenario.links.len());
        for (number, spec) in scenario.links.iter().enumerate() {
            let mtu = spec.config.mtu;
            let mut join = |node: NodeIndex, end: End| {
                add_interface(nodes, node, LeadsTo::Link(number as u32, end), mtu)
            };
            let ends = [join(spec.ends[0], End::A), join(spec.ends[1], End::B)];
            plain.push(PlainWire {
                wire: Wire::new(ends, &spec.config),
                link: Link::new(spec.config.clone(), seed),
                subjects: subjects(recorder, &spec.config.name),
            });
        }
        let mut wires = Wires {
            plain,
            aircraft: Vec::with_capacity(
                scenario
                    .radios
                    .iter()
                    .map(|radio| radio.aircraft.len())
                    .sum(),
            ),
            radios: Vec::new(),
        };
        for radio in &scenario.radios {
            wires.add_radio(radio, nodes);
        }
        wires
    }

    fn add_radio(&mut self, radio: &Radio, nodes: &mut [Node]) {
        let number = self.radios.len() as u32;
        let cells = radio.stations.iter().enumerate().map(|(cell, station)| {
            let place = CellPlace {
                radio: number,
                cell: CellId(cell as u16),
            };
            let (leads_to, mtu) = (LeadsTo::Cell(place), station.link.mtu);
            CellWire {
                end: add_interface(nodes, station.node, leads_to, mtu),
                config: station.link.clone(),
            }
        });
        let cells: Vec<CellWire> = cells.collect();
        let first_aircraft = self.aircraft.len();
        for (station, aircraft) in radio.aircraft.iter().enumerate() {
            let place = AircraftPlace {
                radio: number,
                station: StationId(station as u32),
            };
            let (leads_to, mtu) = (LeadsTo::Radio(place), cells[0].config.mtu);
            let own = add_interface(nodes, aircraft.node, leads_to, mtu);
            let wire = Wire::new([cells[0].end, own], &cells[0].config);
            self.aircraft.push(wire);
        }
        self.radios.push(RadioWires {
            first_link: radio.first_link.0,
            cells,
            at: vec![CellId(0); radio.aircraft.len()],
            first_aircraft,
        });
    }

    /// Returns the links between two nodes.
    pub fn all_plain(&self) -> &[PlainWire] {
        &self.plain
    }

    /// Returns the links between two nodes, to change them.
    pub fn all_plain_mut(&mut self) -> &mut [PlainWire] {
        &mut self.plain
    }

    /// Returns a link between two nodes.
    ///
    /// # Panics
    /// Panics if there is no such link, or if a radio network carries it.
    #[inline]
    pub fn plain(&self, link: usize) -> &PlainWire {
        &self.plain[link]
    }

    /// Returns a link between two nodes, to use it.
    ///
    /// # Panics
    /// Panics if there is no such link, or if a radio network carries it.
    #[inline]
    pub fn plain_mut(&mut self, link: usize) -> &mut PlainWire {
        &mut self.plain[link]
    }

    /// Returns a link to use it, unless a radio network carries it.
    #[inline]
    pub fn find_plain(&mut self, link: usize) -> Option<&mut PlainWire> {
        self.plain.get_mut(link)
    }

    /// Returns the base stations' ends of all cells, and the parameters of each cell.
    pub fn cells(&self) -> impl Iterator<Item = (NodeInterface, &LinkConfig)> {
        let cells = self.radios.iter().flat_map(|radio| &radio.cells);
        cells.map(|cell| (cell.end, &*cell.config))
    }

    /// Returns all links, those between two nodes first.
    pub fn iter(&self) -> impl Iterator<Item = &Wire> {
        let plain = self.plain.iter().map(|plain| &plain.wire);
        plain.chain(&self.aircraft)
    }

    /// Returns the present ends of all links, those between two nodes first, and the parameters with which each begins; an
    /// aircraft's link has those of the first cell.
    pub fn ends_with_configs(&self) -> impl Iterator<Item = ([NodeInterface; 2], &LinkConfig)> {
        let plain = self.plain.iter();
        let plain = plain.map(|plain| (plain.present_ends(), plain.link.config()));
        let aircraft = self.radios.iter().flat_map(|radio| {
            let of_radio = self.aircraft[radio.first_aircraft..].iter();
            let of_radio = of_radio.take(radio.at.len());
            of_radio.map(|wire| (wire.present_ends(), &*radio.cells[0].config))
        });
        plain.chain(aircraft)
    }

    /// Returns the aircraft and the cell of a link, if the link belongs to a radio network.
    #[inline]
    pub fn place(&self, link: usize) -> Option<RadioPlace> {
        match link < self.plain.len() {
            true => None,
            false => self.radio_place(link),
        }
    }

    #[inline(never)]
    fn radio_place(&self, link: usize) -> Option<RadioPlace> {
        let mut radios = self.radios.iter().enumerate();
        radios.find_map(|(number, radio)| {
            let place = link.checked_sub(radio.first_link)?;
            let (station, cell) = (place / radio.cells.len(), place % radio.cells.len());
            (station < radio.at.len()).then_some(RadioPlace {
                radio: number as u32,
                station: StationId(station as u32),
                cell: CellId(cell as u16),
            })
        })
    }

    /// Returns the number of an aircraft's link to a cell.
    pub fn number(&self, place: RadioPlace) -> usize {
        let radio = &self.radios[place.radio as usize];
        let before = place.station.0 as usize * radio.cells.len();
        radio.first_link + before + usize::from(place.cell.0)
    }

    /// Returns the number of an aircraft's link to its present or last cell.
    pub fn present(&self, AircraftPlace { radio, station }: AircraftPlace) -> usize {
        let cell = self.radios[radio as usize].at[station.0 as usize];
        self.number(RadioPlace {
            radio,
            station,
            cell,
        })
    }

    /// Returns the numbers of an aircraft's links to all cells, of which one is given; for another link its own number.
    pub fn to_all_cells(&self, link: usize) -> Range<usize> {
        match self.place(link) {
            Some(place) => {
                let first = self.number(RadioPlace {
                    cell: CellId(0),
                    ..place
                });
                first..first + self.radios[place.radio as usize].cells.len()
            }
            None => link..link + 1,
        }
    }

    /// Moves an aircraft's link to this cell.
    pub fn move_to(&mut self, place: RadioPlace) {
        let radio = &mut self.radios[place.radio as usize];
        radio.at[place.station.0 as usize] = place.cell;
        let end = radio.cells[usize::from(place.cell.0)].end;
        let wire = radio.first_aircraft + place.station.0 as usize;
        self.aircraft[wire].ends[0] = end.into();
    }

    /// Returns node and interface of a cell's base station.
    pub fn base_station(&self, place: CellPlace) -> NodeInterface {
        self.radios[place.radio as usize].cells[usize::from(place.cell.0)].end
    }

    /// Returns node and interface at the ends of a link.
    #[inline]
    pub fn ends(&self, link: usize) -> [NodeInterface; 2] {
        match self.plain.get(link) {
            Some(wire) => wire.present_ends(),
            None => self.radio_ends(link),
        }
    }

    #[inline(never)]
    fn radio_ends(&self, link: usize) -> [NodeInterface; 2] {
        let [present, own] = self[link].present_ends();
        let cell = self
            .radio_place(link)
            .map(|RadioPlace { radio, cell, .. }| self.base_station(CellPlace { radio, cell }));
        [cell.unwrap_or(present), own]
    }

    /// Returns node and interface at the end across from a node.
    pub fn far_from(&self, link: usize, node: usize) -> NodeInterface {
        self.ends(link)[self.end_across(link, node).index()]
    }

    /// Returns the end across from a node.
    pub fn end_across(&self, link: usize, node: usize) -> End {
        if self.ends(link)[0].0 == node {
            End::B
        } else {
            End::A
        }
    }

    /// Takes over the links of another part of the world, with both ends at its nodes. A cut link keeps the state of this
    /// part, and counts what both have offered.
    pub fn take_over(&mut self, other: Wires, is_theirs: impl Fn(usize) -> bool) {
        let theirs = |wire: &Wire| wire.present_ends().map(|(node, _)| is_theirs(node));
        for (own, their) in self.plain.iter_mut().zip(other.plain) {
            match theirs(own) {
                [true, true] => *own = their,
                [false, false] => {}
                _ => {
                    own.offered[0] += their.offered[0];
                    own.offered[1] += their.offered[1];
                }
            }
        }
        for (own, their) in self.aircraft.iter_mut().zip(other.aircraft) {
            if theirs(own) == [true; 2] {
                *own = their;
            }
        }
        for (own, their) in self.radios.iter_mut().zip(other.radios) {
            if own.cells.iter().any(|cell| is_theirs(cell.end.0)) {
                *own = their;
            }
        }
    }

    /// Returns a link's parameters.
    pub fn config(&self, link: usize) -> &LinkConfig {
        match self.place(link) {
            Some(RadioPlace { radio, cell, .. }) => {
                &self.radios[radio as usize].cells[usize::from(cell.0)].config
            }
            None => self.plain[link].link.config(),
        }
    }

    fn aircraft_at(&self, link: usize) -> usize {
        let place = self.radio_place(link).expect("the number of a link");
        self.radios[place.radio as usize].first_aircraft + place.station.0 as usize
    }
}

/// # Panics
/// Panics if there is no such link.
impl Index<usize> for Wires {
    type Output = Wire;
    #[inline]
    fn index(&self, link: usize) -> &Wire {
        match self.plain.get(link) {
            Some(plain) => &plain.wire,
            None => &self.aircraft[self.aircraft_at(link)],
        }
    }
}

impl IndexMut<usize> for Wires {
    #[inline]
    fn index_mut(&mut self, link: usize) -> &mut Wire {
        if link < self.plain.len() {
            return &mut self.plain[link].wire;
        }
        let place = self.aircraft_at(link);
        &mut self.aircraft[place]
    }
}

fn add_interface(
    nodes: &mut [Node],
    NodeIndex(node): NodeIndex,
    leads_to: LeadsTo,
    mtu: u32,
) -> NodeInterface {
    nodes[node].interfaces.push(leads_to);
    (node, nodes[node].host.add_interface(mtu))
}

/// Creates the names of the directions of a link in series.
pub(super) fn subjects(recorder: &mut Recorder, name: &str) -> [Subject; 2] {
    ["down", "up"].map(|way| recorder.subject(&format!("link {name} {way}")))
}
